"""Columns that say which items belong together: patients, speakers, molecules, sentences …

Two kinds of evidence. What train and test do with the values: had the host divided single items at random, groups of two and more would lie on
both sides; where (almost) none does, whole groups were divided, and validation must do the same. And the name of the column, which has to be
enough where test lacks it. A column whose values train and test share is a property of items, not a group to keep apart.

Shapes: V distinct values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from matchfit.competition.problem import Competition
from matchfit.validation.clusters import prefix
from matchfit.validation.timeline import looks_like_date

# fmt: off
GROUP_WORDS = frozenset({
    "patient", "subject", "participant", "person", "individual", "speaker", "singer", "user", "customer", "client",
    "player", "driver", "rider", "reader", "student", "writer", "site", "location", "station", "hospital", "clinic", "camera",
    "device", "machine", "engine", "molecule", "compound", "protein", "sentence", "document", "essay", "prompt", "question",
    "session", "trip", "ride", "breath", "study", "series", "scan", "slide", "specimen", "video", "clip", "recording",
    "record", "eeg", "event", "track", "game", "match", "household", "family", "group", "cluster", "batch", "plate",
    "field", "farm", "plot", "animal", "dog", "cat", "horse", "whale", "donor", "case", "volume", "sequence", "segment",
    "experiment", "run", "building", "house", "school", "worker",
})
STRONG_WORDS = frozenset({  # enough by themselves where test has no such column
    "patient", "subject", "participant", "person", "individual", "speaker", "singer", "user", "customer", "site",
    "location", "station", "hospital", "clinic", "camera", "molecule", "sentence", "session", "trip", "breath", "study",
    "series", "slide", "video", "recording", "household", "family", "group", "cluster", "donor", "animal",
})
ID_WORDS = frozenset({
    "id", "ids", "uid", "guid", "uuid", "key", "code", "name", "no", "nr", "num", "number", "hash", "index", "idx",
    "instance", "label", "anon", "anonymized",
})
# fmt: on
FOLD_WORDS = frozenset({"fold", "folds", "kfold", "cvfold", "cv", "split"})

MIN_REPEATED = 0.2  # share of train items that are in a group of two or more
MAX_SPLIT_NAMED = 0.5  # groups on both sides, relative to a division of single items at random
MAX_SPLIT_UNNAMED = 0.1
MIN_EXPECTED_NAMED = 2.0  # groups that would be on both sides
MIN_EXPECTED_UNNAMED = 5.0
MIN_TEST = 10  # test items; hosts of code competitions ship a few rows as a pattern
MANY_COLUMNS = 200

Where = Literal["apart", "absent", "shared"]


@dataclass(frozen=True, kw_only=True)
class GroupColumn:
    """A column that defines groups in train. `where`: its values in test are others (`apart`), unknown (`absent`) or the same (`shared`).

    `split_ratio`: groups on both sides / groups that a random division of items would leave on both sides.
    """

    by: str
    where: Where
    named: bool
    num_groups: int
    num_items: int
    largest: int
    split_ratio: float = 0.0
    num_test_groups: int = 0

    @property
    def mean_size(self) -> float:
        return self.num_items / self.num_groups

    @property
    def why(self) -> str:
        figures = f"{self.by} makes {self.num_groups:,} groups of {self.mean_size:.3g} items on average"
        if self.where == "absent":
            unknown = (
                "is too small to say whether it holds the same" if self.num_test_groups else "does not say which of them it holds"
            )
            return f"{figures}, and test {unknown}"
        if self.where == "shared":
            return f"{figures}, and test holds the same groups"
        if self.split_ratio == 0:
            return f"{figures}, and test holds none of them but {self.num_test_groups:,} others"
        return f"{figures}, and test shares {100 * self.split_ratio:.0f} % of what a random division would share"


def words(name: str) -> list[str]:
    """Lower-case words of a column name: `StudyInstanceUID` gives study, instance, uid."""
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z]+)([A-Z][a-z])", r"\1\3 \2\4", name)
    return [word for word in re.split(r"[^a-z]+", spaced.lower()) if word]


def is_group_name(name: str, among: frozenset[str] = GROUP_WORDS) -> bool:
    """True when the name is a word for a group, with nothing but words for ids beside it: `patient_id`, not `patient_age`."""
    found = [word if word in among or word in ID_WORDS else word.removesuffix("id").removesuffix("s") for word in words(name)]
    return any(word in among for word in found) and all(word in among or word in ID_WORDS or word in GROUP_WORDS for word in found)


def group_columns(competition: Competition) -> list[GroupColumn]:
    """Columns (and `prefix(id)`) that define groups, the most telling first; columns that train and test share come last."""
    found = [column for name, train, test in _candidates(competition) if (column := _judged(name, train, test, competition))]
    return sorted(
        found, key=lambda column: (("apart", "absent", "shared").index(column.where), not column.named, column.num_groups)
    )


def fold_column(competition: Competition) -> str | None:
    """A column of train with the host's own folds, which test lacks."""
    for name in competition.train_only:
        if name in competition.train.table.columns and set(words(name)) <= FOLD_WORDS | {"id", "k"}:
            number = competition.train.table[name].n_unique()
            if words(name) and 2 <= number <= 50:
                return name
    return None


def _candidates(competition: Competition) -> Iterator[tuple[str, pl.Series, pl.Series | None]]:
    """(what to write into split.by, values in train, values in test or None)."""
    problem, train, test = competition.problem, competition.train.table, competition.test.table
    outputs = {*problem.targets, *problem.prediction_columns, *problem.classes}
    kinds = {feature.name: feature.kind for feature in problem.features}
    for name in train.columns:
        if name in outputs and name not in kinds:
            continue
        if not is_group_name(name) and (
            train.width > MANY_COLUMNS
            or kinds.get(name) in ("constant", "time")
            or _fractional(train[name])
            or name not in test.columns
        ):
            continue
        yield name, train[name], test[name] if name in test.columns else None
    # an id of several columns has them in the table already
    name = problem.id_columns[0] if len(problem.id_columns) == 1 and problem.id_columns[0] in train.columns else "id"
    if len(problem.id_columns) <= 1:
        in_train = train[name] if name in train.columns else competition.train.ids
        in_test = test[name] if name in test.columns else competition.test.ids
        yield f"prefix({name})", prefix(in_train.cast(pl.String)), prefix(in_test.cast(pl.String))


def _fractional(values: pl.Series) -> bool:
    """True for measurements: numbers with a fraction."""
    sample = values.drop_nulls().head(1000)
    return bool(sample.str.contains(r"^-?\d*\.\d*[1-9]\d*$|[eE]-\d+$").sum() > len(sample) // 2) if len(sample) else True


def _judged(name: str, train: pl.Series, test: pl.Series | None, competition: Competition) -> GroupColumn | None:
    counts = train.drop_nulls().value_counts(name="train")
    present, num_groups = int(counts["train"].sum() or 0), counts.height
    if not 2 <= num_groups <= 0.95 * present or present < 0.5 * len(train):
        return None
    repeated = int(counts.filter(pl.col("train") > 1)["train"].sum())
    if repeated < MIN_REPEATED * present:
        return None
    is_prefix = name.startswith("prefix(")
    if (is_prefix and not _telling_prefix(counts, competition)) or looks_like_date(train):
        return None
    largest = int(counts["train"].to_numpy().max(initial=0))
    facts: dict[str, Any] = {"by": name, "num_groups": num_groups, "num_items": present, "largest": largest}
    named = is_group_name(name) and not is_prefix
    if test is None:
        return GroupColumn(where="absent", named=True, **facts) if is_group_name(name, STRONG_WORDS) else None
    ratio, expected, num_test = _split_ratio(counts, test)
    enough = (
        expected >= (MIN_EXPECTED_NAMED if named else MIN_EXPECTED_UNNAMED) and (num_test >= 3 or named) and len(test) >= MIN_TEST
    )
    facts |= {"split_ratio": ratio, "num_test_groups": num_test}
    if is_prefix and num_test < 3:  # ids of test are written in another way
        return GroupColumn(where="absent", named=False, **{**facts, "num_test_groups": 0}) if _hashed(competition) else None
    if named and not enough:
        return GroupColumn(where="absent", named=True, **facts) if is_group_name(name, STRONG_WORDS) else None
    if (
        enough
        and ratio <= (MAX_SPLIT_NAMED if named else MAX_SPLIT_UNNAMED)
        and (named or is_prefix or not _just_later(train, test))
    ):
        return GroupColumn(where="apart", named=named, **facts)
    return GroupColumn(where="shared", named=True, **facts) if named else None


def _telling_prefix(counts: pl.DataFrame, competition: Competition) -> bool:
    """False for prefixes that every file has (`img_001`) or that name the class (`cat_001`)."""
    values = counts.to_series(0)
    classes = {name.lower() for name in competition.problem.classes}
    least = 2 if _hashed(competition) else 10
    return counts.height >= least and not any(value.lower() in classes for value in values.head(1000).to_list())


def _hashed(competition: Competition) -> bool:
    """True for file names in which a hash of the speaker stands before `_nohash_`, as in Speech Commands."""
    return bool(competition.train.ids.head(100).cast(pl.String).str.contains("_nohash_").mean() or 0.0)


def _split_ratio(counts: pl.DataFrame, test: pl.Series) -> tuple[float, float, int]:
    """(groups on both sides / expected number, that expected number, groups of test).

    Expected when single items are divided at random in the proportion of train and test: a group of T items is on both sides with probability
    1 - f^T - (1 - f)^T, f the share of train.
    """
    key = counts.columns[0]
    in_test = test.drop_nulls().alias(key).value_counts(name="test")
    both = counts.join(in_test, on=key, how="full", coalesce=True).with_columns(pl.col("train", "test").fill_null(0))
    train_V, test_V = both["train"].to_numpy().astype(np.float64), both["test"].to_numpy().astype(np.float64)
    if not test_V.sum():
        return 0.0, 0.0, 0
    share = train_V.sum() / (train_V.sum() + test_V.sum())
    total_V = train_V + test_V
    expected = float((1 - share**total_V - (1 - share) ** total_V).sum())
    observed = int(((train_V > 0) & (test_V > 0)).sum())
    return (observed / expected if expected else 0.0), expected, in_test.height


def _just_later(train: pl.Series, test: pl.Series) -> bool:
    """True for numbers of which test has only higher ones than train: a counter or a time, which the audit of times judges."""
    in_train, in_test = (values.drop_nulls().cast(pl.Float64, strict=False) for values in (train, test))
    if in_train.null_count() or in_test.null_count() or in_test.is_empty():
        return False
    later = (in_test > in_train.max()).mean()
    return isinstance(later, float) and later > 0.9 and in_train.n_unique() < 200
