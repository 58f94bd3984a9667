"""Columns of a table as the numbers that trees read, everything learnt on the training part of a fold.

numbers: as they are, anything that is no number is missing. categories of few values: codes; a value that training did not have is missing.
categories of many values: see `encodings`. times: what repeats (hour, weekday, day, month, day of the year), the year, and days elapsed.
texts: lengths, and a few directions of their TF-IDF. identifiers and constants are left out.

Shapes: N items, F numbers an item.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.competition.problem import Feature, FeatureKind
from matchfit.learners.estimators.times import seconds_of, time_form

Float64 = npt.NDArray[np.float64]

FEW_VALUES = 200  # categories of more values are encoded by their targets
DAY_SECONDS = 86_400.0
TIME_PARTS = ("days", "year", "month", "day", "weekday", "yearday", "hour", "minute")
TEXT_COUNTS = ("characters", "words", "digits", "capitals", "signs")


@dataclass(frozen=True)
class Column:
    """What was learnt of one column. `values`: of a category, by frequency. `form`: of a time. `parts`: the numbers it becomes."""

    name: str
    kind: FeatureKind
    values: tuple[str, ...] = ()
    form: str = ""
    parts: tuple[str, ...] = ("",)

    @property
    def categorical(self) -> bool:
        return self.kind == "category"

    def numbers(self, table: pl.DataFrame) -> Float64:
        """(N, number of parts); missing is NaN."""
        cells = table[self.name]
        if self.kind == "number":
            return as_numbers(cells)[:, None]
        if self.kind == "category":
            return codes_of(cells, self.values)[:, None]
        parts = time_parts(seconds_of(cells, self.form)) if self.kind == "time" else text_counts(cells)
        return np.column_stack([parts[part] for part in self.parts]) if self.parts else np.empty((len(cells), 0))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Column:
        return cls(content["name"], content["kind"], tuple(content["values"]), content["form"], tuple(content["parts"]))


def as_numbers(cells: pl.Series) -> Float64:
    numbers = cells.str.strip_chars().cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy().astype(np.float64)
    return np.where(np.isinf(numbers), np.nan, numbers)


def codes_of(cells: pl.Series, values: tuple[str, ...]) -> Float64:
    """(N,) position of each cell in `values`; NaN for an empty cell and for a value that is not there."""
    codes = cells.replace_strict(
        pl.Series(list(values), dtype=pl.String),
        pl.Series(np.arange(len(values), dtype=np.float64)),
        default=None,
        return_dtype=pl.Float64,
    )
    return np.asarray(codes.fill_null(float("nan")).to_numpy(), dtype=np.float64)


def time_parts(seconds_N: Float64) -> dict[str, Float64]:
    """By name, see TIME_PARTS; weekday 0 is Monday."""
    known = np.isfinite(seconds_N) & (np.abs(seconds_N) < 1e11)
    whole = np.where(known, np.floor(seconds_N), 0).astype(np.int64)
    moment = pl.Series(whole * 1_000_000).cast(pl.Datetime("us"))
    parts = {
        "days": seconds_N / DAY_SECONDS,
        "year": moment.dt.year(),
        "month": moment.dt.month(),
        "day": moment.dt.day(),
        "weekday": moment.dt.weekday() - 1,
        "yearday": moment.dt.ordinal_day(),
        "hour": moment.dt.hour(),
        "minute": moment.dt.minute(),
    }
    return {name: np.where(known, np.asarray(values, dtype=np.float64), np.nan) for name, values in parts.items()}


def text_counts(cells: pl.Series) -> dict[str, Float64]:
    text = cells.fill_null("")
    counts = {
        "characters": text.str.len_chars(),
        "words": text.str.count_matches(r"\S+"),
        "digits": text.str.count_matches(r"\d"),
        "capitals": text.str.count_matches(r"\p{Lu}"),
        "signs": text.str.count_matches(r"[^\w\s]"),
    }
    return {name: np.asarray(values.to_numpy(), dtype=np.float64) for name, values in counts.items()}


def learn_column(feature: Feature, table: pl.DataFrame) -> Column | None:
    """None for what trees do not read: identifiers, constants, categories of many values (`encodings` reads those)."""
    cells = table[feature.name]
    if feature.kind == "number":
        return Column(feature.name, "number")
    if feature.kind == "category":
        values = category_values(cells)
        return Column(feature.name, "category", values=tuple(values)) if len(values) <= FEW_VALUES else None
    if feature.kind == "time":
        form = time_form(cells)
        parts = time_parts(seconds_of(cells, form))
        varied = tuple(name for name in TIME_PARTS if len(np.unique(parts[name][np.isfinite(parts[name])])) > 1)
        return Column(feature.name, "time", form=form, parts=varied)
    if feature.kind == "text":
        return Column(feature.name, "text", parts=TEXT_COUNTS)
    return None


def category_values(cells: pl.Series) -> list[str]:
    """The values, the most frequent first (ties by their text)."""
    counts = cells.drop_nulls().to_frame("value").group_by("value").len("rows").sort(["rows", "value"], descending=[True, False])
    return counts["value"].to_list()
