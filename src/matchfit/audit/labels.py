"""The answers of train: empty, rare, unequal in number, written in two ways, or unknown to the sample submission."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.audit.subject import CLASS_TASKS, Subject, share, shown
from matchfit.core.findings import Finding

IMBALANCE, STRONG_IMBALANCE = 3.0, 20.0  # most frequent over rarest class


def check_labels(subject: Subject) -> Iterator[Finding]:
    """`empty_targets`, `label_variants`, `unknown_classes`, `absent_classes`, `rare_classes`, `imbalance`, `constant_target`."""
    yield from _empty(subject)
    task = subject.competition.problem.task
    if task in CLASS_TASKS:
        yield from _variants(subject)
        yield from _unknown(subject)
        yield from _counts(subject)
    elif task in {"regression", "multiregression"}:
        yield from _constant(subject)


def _empty(subject: Subject) -> Iterator[Finding]:
    table = subject.competition.target_table
    if not table.width or table.height != len(subject.competition.train):
        return
    if subject.competition.problem.task == "multilabel" and table.width == 1:
        return  # an item without any label is an answer
    empty = table.select(pl.any_horizontal(pl.all().is_null() | (pl.all().cast(pl.String).str.strip_chars() == ""))).to_series()
    positions = np.flatnonzero(empty.to_numpy())
    if len(positions):
        yield Finding(
            code="empty_targets",
            severity="warning",
            message=f"{share(len(positions), table.height)} train items have no answer in {shown(table.columns)}.",
            todo="They cannot be learnt from; fill them in or remove them.",
            rows=subject.ids("train", positions),
        )


def _variants(subject: Subject) -> Iterator[Finding]:
    """Class names that differ in case or blanks alone. Names that are single letters are taken at their word."""
    problem, table = subject.competition.problem, subject.competition.target_table
    if table.width != 1 or problem.submission_form == "label_list" or table.height != len(subject.competition.train):
        return
    written = table.to_series().cast(pl.String).fill_null("")
    counts = dict(written.value_counts().iter_rows())
    alike: dict[str, list[str]] = {}
    for name in sorted(counts):
        alike.setdefault(" ".join(name.casefold().split()), []).append(name)
    pairs = {key: names for key, names in alike.items() if len(names) > 1 and len(key) > 1}
    if not pairs:
        return
    rarer = [name for names in pairs.values() for name in sorted(names, key=lambda n: (-counts[n], n))[1:]]
    positions = np.flatnonzero(written.is_in(rarer).to_numpy())
    examples = "; ".join(" and ".join(f"{name!r} ({counts[name]:,})" for name in names) for names in list(pairs.values())[:3])
    yield Finding(
        code="label_variants",
        severity="warning",
        message=f"{len(pairs):,} class names are written in several ways that differ in case or blanks alone: {examples}.",
        todo="If they mean the same, write them alike in the train table; until then they are different classes.",
        rows=subject.ids("train", positions),
    )


def _unknown(subject: Subject) -> Iterator[Finding]:
    """Classes that the sample submission names and train does not."""
    competition = subject.competition
    problem, sample = competition.problem, competition.sample
    if sample is None or competition.target_table.width != 1 or not competition.target_table.height:
        return
    known = set(competition.target_table.to_series().drop_nulls().cast(pl.String).to_list())
    if problem.submission_form == "label" and problem.prediction_columns[0] in sample.columns:
        named = set(sample[problem.prediction_columns[0]].drop_nulls().cast(pl.String).to_list()) - {""}
        placeholder = len(named) == 1 and not named & known  # a sample filled with one word shows a format, not a class
    elif problem.submission_form == "class_scores" and problem.task != "multilabel":
        named, placeholder = set(problem.prediction_columns), False
    else:
        return
    unknown = sorted(named - known)
    if unknown and not placeholder and named & known:
        yield Finding(
            code="unknown_classes",
            severity="warning",
            message=f"The sample submission names {len(unknown):,} classes that no train item has: {shown(unknown)}.",
            todo="They cannot be learnt; in columns of probabilities they get next to nothing.",
        )


def class_counts(subject: Subject) -> npt.NDArray[np.int64] | None:
    """(K,) items of each class of `targets.classes`; for several labels an item, items with the label."""
    targets = subject.targets
    if targets is None or not targets.classes:
        return None
    if targets.values.ndim == 2:
        return np.asarray((targets.values.astype(np.float64) > 0).sum(0), np.int64)
    return np.bincount(targets.values.astype(np.int64), minlength=len(targets.classes)).astype(np.int64)


def _counts(subject: Subject) -> Iterator[Finding]:
    counts, targets = class_counts(subject), subject.targets
    if counts is None or targets is None or not counts.sum():
        return
    number = {name: int(count) for name, count in zip(targets.classes, counts, strict=True)}
    subject.properties["classes"] = number
    absent = [name for name, count in number.items() if count == 0]
    if absent:
        yield Finding(
            code="absent_classes",
            severity="warning",
            message=f"{len(absent):,} of {len(counts):,} classes have no train item: {shown(absent)}.",
            todo="They cannot be learnt, and no score can be measured for them.",
        )
    rare = [name for name, count in number.items() if 0 < count < subject.num_folds]
    if rare:
        few = np.flatnonzero((counts > 0) & (counts < subject.num_folds))
        values = targets.values
        hit = (values[:, few].astype(np.float64) > 0).any(1) if values.ndim == 2 else np.isin(values, few)
        yield Finding(
            code="rare_classes",
            severity="warning",
            message=f"{len(rare):,} of {len(counts):,} classes have fewer items than the {subject.num_folds} folds: "
            f"{shown(f'{name} ({number[name]})' for name in sorted(rare, key=number.__getitem__))}.",
            todo="They cannot be in every fold: some folds train without them or are not measured on them. Fewer folds, or more items, help.",
            rows=subject.ids("train", np.flatnonzero(hit)),
        )
    yield from _imbalance(number, len(targets), multilabel=targets.values.ndim == 2)


def _imbalance(number: dict[str, int], num_items: int, *, multilabel: bool) -> Iterator[Finding]:
    present = {name: count for name, count in number.items() if count}
    most, least = max(present, key=present.__getitem__), min(present, key=present.__getitem__)
    ratio = present[most] / present[least]
    if ratio < IMBALANCE or len(present) < 2:
        return
    yield Finding(
        code="imbalance",
        severity="warning" if ratio >= STRONG_IMBALANCE else "info",
        message=f"The most frequent {'label' if multilabel else 'class'} {most} has {share(present[most], num_items)} items, the rarest, {least}, "
        f"{share(present[least], num_items)}: a ratio of {ratio:.3g}.",
        todo="Folds are stratified. Look at scores by class; a plain accuracy hides the rare ones.",
    )


def _constant(subject: Subject) -> Iterator[Finding]:
    table = subject.competition.target_table
    constant = [name for name in table.columns if table.height > 1 and table[name].drop_nulls().n_unique() == 1]
    if constant:
        yield Finding(
            code="constant_target",
            severity="error" if len(constant) == table.width else "warning",
            message=f"Target {shown(constant)} has one value alone.",
            todo="There is nothing to learn for it; is the right column taken (competition.targets)?",
        )
