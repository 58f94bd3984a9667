"""Which split does validation need? Advice from the data alone, with the reason and its figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matchfit.audit.groups import GroupColumn, fold_column, group_columns
from matchfit.audit.times import TimeColumn, still_in_stretches, time_columns
from matchfit.competition.problem import Competition, Targets
from matchfit.core.findings import Finding
from matchfit.validation.clusters import column, labels_of
from matchfit.validation.config import SplitConfig, SplitKind

ENOUGH_TO_BALANCE = 2  # groups a fold, from which on classes can be balanced over whole groups


@dataclass(frozen=True, kw_only=True)
class SplitAdvice:
    """`kind` and `by` as in `SplitConfig`; `num_folds` is lower than usual where there are fewer groups; `why` is one sentence."""

    kind: SplitKind
    by: tuple[str, ...]
    why: str
    num_folds: int
    findings: tuple[Finding, ...] = ()


def advise_split(
    competition: Competition,
    targets: Targets | None,
    near_duplicates: npt.NDArray[np.int64] | None = None,
    *,
    num_folds: int | None = None,
) -> SplitAdvice:
    """The split that mirrors how the host divided train and test.

    `near_duplicates`: clusters of train items, negative where an item has no copy. In this order: time where test is later (or in stretches of its
    own), time within users, groups that test does not share, else balanced folds. Near-duplicates share a fold in all of them.
    """
    usual = SplitConfig.model_fields["num_folds"].default if num_folds is None else num_folds
    times = time_columns(competition)
    groups = [group for group in group_columns(competition) if group.by not in {found.name for found in times}]
    findings = (*_time_findings(times), *_group_findings(groups, competition, targets), *_fold_findings(competition))
    copies = _copies(near_duplicates)
    if (
        times
        and times[0].relation in ("later", "later_in_user", "stretches")
        and not _made_by_groups(times[0], groups, competition)
    ):
        return SplitAdvice(kind="time", by=times[0].by, why=f"{times[0].why}{copies}", num_folds=usual, findings=findings)
    if group := next((group for group in groups if group.where != "shared"), None):
        group = _coarsest(group, groups, competition)
        folds = min(usual, group.num_groups)
        balance = targets is not None and bool(targets.classes) and group.num_groups >= ENOUGH_TO_BALANCE * folds
        fewer = f"; {folds} folds, one a group" if folds < usual else ""
        kind: SplitKind = "stratified_group" if balance else "group"
        return SplitAdvice(kind=kind, by=(group.by,), why=f"{group.why}{fewer}{copies}", num_folds=folds, findings=findings)
    reason = f"no column of groups that test does not share{'' if times else ' and no column of times'} was found"
    if targets is None:
        return SplitAdvice(
            kind="random", by=(), why=f"{reason}, and there are no classes{copies}", num_folds=usual, findings=findings
        )
    balanced = "classes are balanced over the folds" if targets.classes else "quantiles of the target are balanced over the folds"
    return SplitAdvice(kind="stratified", by=(), why=f"{reason}: {balanced}{copies}", num_folds=usual, findings=findings)


def _copies(near_duplicates: npt.NDArray[np.int64] | None) -> str:
    if near_duplicates is None:
        return ""
    _, sizes = np.unique(near_duplicates[near_duplicates >= 0], return_counts=True)
    sizes = sizes[sizes > 1]
    return f"; {len(sizes):,} clusters of near-duplicates ({int(sizes.sum()):,} items) stay together" if len(sizes) else ""


def _made_by_groups(time: TimeColumn, groups: list[GroupColumn], competition: Competition) -> bool:
    """True when stretches in time are there only because whole groups, each close in time, were divided."""
    apart = [group.by for group in groups if group.where == "apart"]
    if time.relation != "stretches" or not apart:
        return False
    train, test = competition.train, competition.test
    return not still_in_stretches(
        competition, time.name, column(apart[0], train.table, train.ids), column(apart[0], test.table, test.ids)
    )


def _coarsest(chosen: GroupColumn, groups: list[GroupColumn], competition: Competition) -> GroupColumn:
    """The column whose groups hold whole groups of `chosen` (patients hold studies), among those that test does not share."""
    ids, table = competition.train.ids, competition.train.table
    for other in groups:
        if other.where == "shared" or other.num_groups >= chosen.num_groups or (chosen.named and not other.named):
            continue
        pair = table.select(column(name, table, ids).alias(role) for name, role in ((chosen.by, "inner"), (other.by, "outer")))
        if pair.drop_nulls().unique().height == pair["inner"].drop_nulls().n_unique() and other.num_groups >= 2:
            chosen = other
    return chosen


def _time_findings(times: list[TimeColumn]) -> Iterator[Finding]:
    for found in times:
        split = found.relation in ("later", "later_in_user", "stretches")
        order = "; the rows of train are in time order" if found.in_order else ""
        yield Finding(
            code="time_column",
            severity="warning" if split else "info",
            message=f"{found.name} holds times: {found.why}{order}.",
            todo="Validate in time: random folds would let the model see the future."
            if split
            else f"To validate in time all the same, set split.kind=time and split.by=[{found.name}].",
        )


def _group_findings(groups: list[GroupColumn], competition: Competition, targets: Targets | None) -> Iterator[Finding]:
    for found in groups:
        apart = found.where != "shared"
        yield Finding(
            code="group_column" if apart else "group_column_shared",
            severity="warning" if apart else "info",
            message=f"{found.why}{_same_answer(found, competition, targets)}.",
            todo="Keep each group in one fold: otherwise the model is scored on groups that it has seen."
            if apart
            else f"Known groups are no leak here; to validate on unseen ones, set split.kind=group and split.by=[{found.by}].",
        )


def _same_answer(found: GroupColumn, competition: Competition, targets: Targets | None) -> str:
    """How often all items of a group have one class, where that is nearly always."""
    if targets is None or not targets.classes or targets.values.ndim != 1 or len(targets) != len(competition.train):
        return ""
    table = competition.train.table
    label_N, _ = labels_of(table.select(column(found.by, table, competition.train.ids).alias("group")))
    pairs = np.unique(np.stack([label_N, targets.values.astype(np.int64)]), axis=1)[0]
    of_several = np.flatnonzero(np.bincount(label_N) > 1)
    if not len(of_several):
        return ""
    share = float((np.bincount(pairs, minlength=int(label_N.max()) + 1)[of_several] == 1).mean())
    return f"; in {100 * share:.0f} % of the groups all items have one answer" if share > 0.9 else ""


def _fold_findings(competition: Competition) -> Iterator[Finding]:
    if name := fold_column(competition):
        yield Finding(
            code="fold_column",
            severity="info",
            message=f"{name} looks like the host's own folds.",
            todo=f"To use them, set split.kind=column and split.by=[{name}].",
        )
