"""Exact copies: equal pixels, equal recordings, equal texts, equal rows of features; inside train, across the parts, against the labels.

A content key is a 64-bit hash of what an item shows, 0 where there is nothing to compare. Shapes: N items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.audit.subject import PARTS, Part, Subject, share
from matchfit.core.findings import Finding

Keys = npt.NDArray[np.uint64]
CONTENTS = "contents"
RICH = 0.9  # share of distinct feature rows from which two equal rows are copies and not two of a kind


@dataclass(frozen=True, kw_only=True)
class Contents:
    """Content keys of train and test. `noun` names the items; `telling`: equal keys mean copies, not merely items of a kind."""

    noun: str
    keys: dict[Part, Keys]
    telling: bool

    def groups(self) -> Keys:
        """Keys that several train items share."""
        keys = self.keys["train"]
        found, counts = np.unique(keys[keys > 0], return_counts=True)
        return found[counts > 1]


def contents(subject: Subject) -> Contents | None:
    """What can be compared in this competition: media first, then texts, then rows of features. Found once for each subject."""
    if CONTENTS not in subject.kept:
        subject.kept[CONTENTS] = _contents(subject)
    found: Contents | None = subject.kept[CONTENTS]
    return found


def _contents(subject: Subject) -> Contents | None:
    if subject.scans:
        keys = {part: _media_keys(subject, part) for part in PARTS}
        noun = "images" if any(len(scan.thumbs) for scan in subject.scans.values()) else "recordings"
        return Contents(noun=noun, keys=keys, telling=True)
    if subject.text_columns and subject.competition.problem.modality == "text":
        return Contents(noun="texts", keys={part: text_keys(subject.texts(part)) for part in PARTS}, telling=True)
    return _rows(subject)


def _media_keys(subject: Subject, part: Part) -> Keys:
    scan = subject.scans.get(part)
    if scan is None:
        return np.zeros(len(subject.items(part)), np.uint64)
    return np.where(scan.pixel_hash > 0, scan.pixel_hash, scan.bytes_hash)


def normalised(texts: pl.Series) -> pl.Series:
    """NFC, runs of blanks as one, ends stripped: what no reader can tell apart is equal."""
    return texts.str.normalize("NFC").str.replace_all(r"\s+", " ").str.strip_chars()


def text_keys(texts: pl.Series | None) -> Keys:
    if texts is None:
        return np.zeros(0, np.uint64)
    plain = normalised(texts)
    return np.where((plain == "").to_numpy(), 0, plain.hash(seed=0).to_numpy() | np.uint64(1)).astype(np.uint64)


def _rows(subject: Subject) -> Contents | None:
    names = list(subject.competition.problem.feature_names("number", "category", "text", "time"))
    if not names:
        return None
    keys: dict[Part, Keys] = {}
    for part in PARTS:
        table = subject.items(part).table
        usable = set(names) <= set(table.columns) and table.height
        keys[part] = (
            table.select(names).hash_rows(seed=0).to_numpy() | np.uint64(1) if usable else np.zeros(table.height, np.uint64)
        )
    num_train = len(keys["train"])
    rich = num_train > 0 and len(np.unique(keys["train"])) >= RICH * num_train
    return Contents(noun="rows of features", keys=keys, telling=rich)


def check_duplicates(subject: Subject) -> Iterator[Finding]:
    """`exact_duplicates`, `exact_duplicates_across`, `contradicting_labels`."""
    found = contents(subject)
    if found is None or not len(found.keys["train"]):
        return
    groups = found.groups()
    keys = found.keys["train"]
    if len(groups):
        members = np.flatnonzero(np.isin(keys, groups))
        yield Finding(
            code="exact_duplicates",
            severity="warning" if found.telling else "info",
            message=f"{share(len(members), len(keys))} train {found.noun} are copies of another one, in {len(groups):,} groups"
            f"{_byte_identical(subject, members)}. For example {_example(subject, keys, members)}.",
            todo="Copies are kept in one fold, so that the validation score does not count what was learnt by heart."
            if found.telling
            else "So few distinct rows that equal ones are to be expected; nothing to do.",
            rows=subject.ids("train", members),
        )
    yield from _contradictions(subject, found, groups)
    yield from _across(subject, found)


def _example(subject: Subject, keys: Keys, members: npt.NDArray[np.int64]) -> str:
    return " = ".join(subject.ids("train", np.flatnonzero(keys == keys[members[0]])[:3]))


def _byte_identical(subject: Subject, members: npt.NDArray[np.int64]) -> str:
    """How many of the pixel copies are the same file; the others were written again."""
    scan = subject.scans.get("train")
    if scan is None or not scan.pixel_hash.any():
        return ""
    _, inverse, counts = np.unique(scan.bytes_hash[members], return_inverse=True, return_counts=True)
    same = int((counts[inverse] > 1).sum())
    return ", byte for byte" if same == len(members) else f" ({same:,} of them byte for byte, the others pixel for pixel)"


def _contradictions(subject: Subject, found: Contents, groups: Keys) -> Iterator[Finding]:
    labels = subject.labels
    if labels is None or not len(groups):
        return
    keys = found.keys["train"]
    members = np.flatnonzero(np.isin(keys, groups))
    frame = pl.DataFrame({"key": keys[members], "position": members, "label": labels[members]})
    frame = frame.filter(pl.col("label").n_unique().over("key") > 1).sort("position")
    if not frame.height:
        return
    positions = frame["position"].to_numpy()
    first = frame.filter(pl.col("key") == frame["key"][0])
    example = ", ".join(
        f"{name} is {str(label)!r}"
        for name, label in zip(subject.ids("train", first["position"].to_numpy()[:3]), first["label"][:3], strict=True)
    )
    yield Finding(
        code="contradicting_labels",
        severity="warning" if found.telling else "info",
        message=f"{len(positions):,} train {found.noun} are copies of one another with different labels, in {frame['key'].n_unique():,} "
        f"groups. For example {example}.",
        todo="At most one label of each group is right: correct them, or leave the groups out. No model can score all of them.",
        rows=subject.ids("train", positions),
    )


def _across(subject: Subject, found: Contents) -> Iterator[Finding]:
    train, test = found.keys["train"], found.keys["test"]
    shared = np.intersect1d(train[train > 0], test[test > 0])
    if not len(shared):
        return
    in_test, in_train = np.flatnonzero(np.isin(test, shared)), np.flatnonzero(np.isin(train, shared))
    twin = in_train[train[in_train] == test[in_test[0]]][:1]
    example = f"test {subject.ids('test', in_test[:1])[0]} = train {subject.ids('train', twin)[0]}"
    yield Finding(
        code="exact_duplicates_across",
        severity="warning" if found.telling else "info",
        message=f"{share(len(in_test), len(test))} test {found.noun} are copies of train ones. For example {example}.",
        todo="The public score counts what was learnt by heart on these; do not expect it to hold elsewhere.",
        rows=subject.ids("test", in_test) + subject.ids("train", in_train),
    )
