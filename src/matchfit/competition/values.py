"""What the cells of one text column look like: numbers, whole numbers, words, lists. All tests are over all rows unless said otherwise."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
INTEGER = r"^\s*[+-]?\d+(\.0*)?\s*$"
MISSING_WORDS = ("", "NA", "N/A", "n/a", "na", "nan", "NaN", "null", "NULL", "None", "none", "?", "-", "inf", "-inf")
SEPARATORS = (",", ";", "|", " ")


@dataclass(frozen=True)
class Shape:
    """Counts over the non-empty cells of a column."""

    rows: int  # all, with the empty ones
    filled: int
    distinct: int
    numeric: bool  # every filled cell is a number
    whole: bool  # every filled cell is a whole number (also written `3.0`)
    mean_chars: float
    mean_words: float

    @property
    def unique(self) -> bool:
        return self.filled > 0 and self.distinct == self.filled


def numeric_share(column: pl.Series) -> float:
    """Share of the filled cells that are finite numbers."""
    filled = column.drop_nulls()
    return float(filled.str.contains(NUMBER).mean() or 0.0) if len(filled) else 0.0  # type: ignore[arg-type]


def placeholders(column: pl.Series, *, few: int) -> pl.Series | None:
    """Which cells of a column of measured numbers stand for a missing one (`NA`, `inf`, …); None where there are none.

    At most `few` different whole numbers may be classes, and `NA` one of them: that is no such column.
    """
    filled = column.drop_nulls()
    words = filled.filter(~filled.str.contains(NUMBER)).unique()
    if not len(words) or not bool(words.str.strip_chars().is_in(MISSING_WORDS).all()):
        return None
    numbers = shape(filled.filter(~filled.is_in(words.implode())))
    if not numbers.numeric or (numbers.whole and numbers.distinct <= few) or numbers.filled < 0.5 * len(filled):
        return None
    return column.is_in(words.implode()).fill_null(False)


def shape(column: pl.Series) -> Shape:
    filled = column.drop_nulls()
    distinct = filled.unique()
    count = len(filled)
    numeric = count > 0 and bool(distinct.str.contains(NUMBER).all())
    look = filled if count <= 5000 else filled.gather_every(max(count // 5000, 1))
    return Shape(
        rows=len(column),
        filled=count,
        distinct=len(distinct),
        numeric=numeric,
        whole=numeric and bool(distinct.str.contains(INTEGER).all()),
        mean_chars=_mean(look.str.len_chars()),
        mean_words=_mean(look.str.strip_chars().str.count_matches(r"\s+") + 1),
    )


def _mean(counts: pl.Series) -> float:
    value = counts.mean()
    return float(value) if isinstance(value, int | float) else 0.0


def separator_of_lists(column: pl.Series, *, vocabulary: frozenset[str] = frozenset()) -> str | None:
    """The separator, when cells are lists of labels (`scab frog_eye`, `Bark,Run`), else None.

    Names with blanks (`golden retriever`) and sentences are told apart by recombination: the tokens of lists are few, return in other
    lists or stand alone, and never twice in one cell. `vocabulary`: names known to be labels (class columns of the sample submission).
    """
    named = bool(re.search(r"(?i)(s|list)$", column.name)) and not column.name.lower().endswith(("ss", "class", "species"))
    values = column.drop_nulls().unique()
    if len(values) > 20_000:
        values = values.sample(20_000, seed=0)
    if vocabulary and values.is_in(list(vocabulary)).all():
        return None
    for separator in SEPARATORS:
        parts = values.str.strip_chars().str.split(separator)
        many = parts.list.len() > 1
        if not many.any():
            continue
        flat = parts.explode(empty_as_null=True, keep_nulls=True).str.strip_chars()
        if vocabulary:
            if float(flat.is_in(list(vocabulary)).mean() or 0.0) > 0.9:  # type: ignore[arg-type]
                return separator
            continue
        if _recombined(values, parts, many, flat) >= (0.65 if separator == " " else 0.5) - 0.2 * named:
            return separator
    return None


def _recombined(values: pl.Series, parts: pl.Series, many: pl.Series, flat: pl.Series) -> float:
    """How much the tokens of lists look like labels, 0..1: the share of those that stand alone somewhere, or return in another list."""
    table = flat.drop_nulls().value_counts(name="n")
    longest = parts.list.len().max()
    if table.height < 2 or (isinstance(longest, int) and longest > 40) or _mean(parts.list.n_unique() != parts.list.len()) > 0.02:
        return 0.0
    if numeric_share(flat) == 1.0 and not bool(flat.str.contains(r"^\d+$").all()):
        return 0.0  # coordinates
    tokens = parts.filter(many).explode(empty_as_null=True, keep_nulls=True).str.strip_chars().unique()
    alone = values.filter(~many).str.strip_chars()
    again = table.filter(pl.col("n") > 1)[table.columns[0]]
    known = tokens.is_in(alone.implode()) | tokens.is_in(again.implode())
    returns = table.height <= 0.7 * len(values)
    if not (len(alone) or returns):
        return 0.0
    written = tokens.str.contains(r"\w[_-]\w").any()  # names of several words are joined by marks, so blanks separate names
    share = _mean(known)
    return share if returns else share + 0.2 * written - 0.1
