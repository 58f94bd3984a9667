"""Times in text columns as numbers, and blocks along them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

TimeForm = Literal["datetime", "epoch", "number"]

_DATES = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%m-%d-%Y",
    "%d-%m-%Y",
    "%d-%b-%Y",
    "%d %b %Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%d-%B-%Y",
    "%B %d, %Y",
    "%Y年%m月%d日",
)
_CLOCKS = (" %H:%M:%S", " %H:%M", "", " %I:%M:%S %p", " %I:%M %p")
_COMPACT = ("%Y%m%d%H%M%S", "%Y%m%d", "%Y%m%d %H%M%S", "%a %b %d %H:%M:%S %Y")
_SHORT_DATES = ("%m/%d/%y", "%d/%m/%y", "%d.%m.%y")
_EPOCH_DIVISORS = (1.0, 1e3, 1e6, 1e9)  # seconds, milli-, micro-, nanoseconds
_EPOCH_RANGE = (315_532_800.0, 2_208_988_800.0)  # 1980 to 2040, seconds
_SAMPLE = 2_000
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, kw_only=True)
class Times:
    """`seconds_N` float64, NaN where there is none; for `number` in the column's own unit (a year, a week, a step)."""

    form: TimeForm
    seconds_N: Float64
    pattern: str = ""


def parse_times(values: pl.Series, *, numbers: bool = True) -> Times | None:
    """Times of a text column; None when it does not hold times throughout (empty cells are allowed).

    Understood: dates with or without clock in one common pattern, seconds to nanoseconds since 1970 between 1980 and 2040, and, when
    `numbers`, plain numbers. A column that fits both day/month and month/day is read as month/day.
    """
    text = values.cast(pl.String).str.strip_chars()
    text = text.set(text.str.len_bytes() == 0, None) if (text.str.len_bytes() == 0).any() else text
    present = text.drop_nulls()
    if present.is_empty():
        return None
    step = max(1, len(present) // _SAMPLE)
    number = text.cast(pl.Float64, strict=False)
    is_number = number.null_count() == text.null_count() and bool(number.drop_nulls().is_finite().all())
    pattern = _pattern(_normalised(present.gather_every(step)), compact_only=is_number)
    if pattern is not None:
        parsed = _normalised(text).str.to_datetime(pattern, strict=False, time_unit="us")
        if parsed.null_count() == text.null_count():
            seconds_N = (parsed.dt.epoch("us").cast(pl.Float64) / 1e6).fill_null(float("nan")).to_numpy()
            return Times(form="datetime", seconds_N=np.array(seconds_N), pattern=pattern)
    if not is_number:
        return None
    value_N = np.array(number.fill_null(float("nan")).to_numpy(), dtype=np.float64)
    low, high = float(np.nanmin(value_N)), float(np.nanmax(value_N))
    for divisor in _EPOCH_DIVISORS:
        if _EPOCH_RANGE[0] <= low / divisor and high / divisor <= _EPOCH_RANGE[1]:
            return Times(form="epoch", seconds_N=value_N / divisor)
    return Times(form="number", seconds_N=value_N) if numbers else None


def looks_like_date(values: pl.Series) -> bool:
    """A quick look before the whole column is parsed: digits with date separators, eight digits or more."""
    sample = values.drop_nulls().head(20)
    parted = r"^\d{1,4}[-/.年 ](\d{1,2}|[A-Za-z]{3,9})[-/.月 ]\d{1,4}"
    pattern = parted + r"|^(19|20)\d{2}(0\d|1[0-2])[0-3]\d(\d{6})?Z?$|^[A-Z][a-z]{2,8} \d{1,2}, \d{4}"
    return len(sample) > 0 and bool(sample.str.contains(pattern).all())


def _normalised(text: pl.Series) -> pl.Series:
    """Without time zone, fraction of a second and the `T` of ISO 8601: for the order of items a second is fine enough."""
    return (
        text.str.replace(r"^(\d{4}-\d{1,2}-\d{1,2})T", "$1 ")
        .str.replace(r"( ?(UTC|GMT)|(\d)Z|(:\d{2}) ?[+-]\d{2}:?\d{2})$", "$3$4")
        .str.replace(r"(:\d{2})[.,]\d+$", "$1")
    )


def _pattern(sample: pl.Series, *, compact_only: bool) -> str | None:
    if compact_only:
        lengths = sample.str.len_bytes().unique().to_list()
        candidates = [pattern for pattern, length in (("%Y%m%d%H%M%S", 14), ("%Y%m%d", 8)) if lengths == [length]]
    else:
        candidates = [date + clock for date in (*_DATES, *_SHORT_DATES) for clock in _CLOCKS] + list(_COMPACT)
    first = sample.head(1)
    for pattern in candidates:
        if _fits(first, pattern) and _fits(sample, pattern):
            return pattern
    return None


def _fits(sample: pl.Series, pattern: str) -> bool:
    parsed = sample.str.to_datetime(pattern, strict=False, time_unit="us")
    if parsed.null_count():
        return False
    years = parsed.dt.year()
    return bool(((years >= 1900) & (years <= 2100)).all())


def time_blocks(order_N: Float64, num_blocks: int) -> Int64:
    """Blocks 0 … num_blocks - 1 of about equal size along `order_N`; equal times share a block. NaN gets `num_blocks`.

    Raises ValueError when there are fewer distinct times than blocks.
    """
    block_N = np.full(len(order_N), num_blocks, dtype=np.int64)
    known = np.flatnonzero(~np.isnan(order_N))
    distinct, inverse, counts = np.unique(order_N[known], return_inverse=True, return_counts=True)
    if len(distinct) < num_blocks:
        raise ValueError(f"{len(distinct)} distinct times")
    end_D = np.cumsum(counts)
    start_of_block = [0]
    for block in range(1, num_blocks):
        ideal = int(np.searchsorted(end_D, block * len(known) / num_blocks, side="left")) + 1
        start_of_block.append(min(max(ideal, start_of_block[-1] + 1), len(distinct) - (num_blocks - block)))
    block_D = np.searchsorted(np.asarray(start_of_block), np.arange(len(distinct)), side="right") - 1
    block_N[known] = block_D[inverse]
    return block_N


def user_blocks(user_N: Int64, order_N: Float64, num_blocks: int) -> tuple[Int64, Float64]:
    """(block_N, position_N): every user's items cut in time into blocks of about equal size, and the relative position in [0, 1) there.

    Items of a user at one time share a block (that of the first of them). Users with fewer items than blocks keep their first in block 0, the
    others go to blocks spread over the users, so that no block runs dry. Items without a time get block `num_blocks` and position NaN.
    """
    block_N = np.full(len(order_N), num_blocks, dtype=np.int64)
    position_N = np.full(len(order_N), np.nan)
    known = np.flatnonzero(~np.isnan(order_N))
    known = known[np.lexsort((order_N[known], user_N[known]))]
    user, time = user_N[known], order_N[known]
    new_user = np.r_[True, user[1:] != user[:-1]] if len(known) else np.zeros(0, dtype=np.bool_)
    new_time = new_user | np.r_[True, time[1:] != time[:-1]] if len(known) else new_user
    place = np.arange(len(known))
    first_of_user = np.maximum.accumulate(np.where(new_user, place, 0))
    rank = np.maximum.accumulate(np.where(new_time, place, 0)) - first_of_user
    size = np.diff(np.r_[np.flatnonzero(new_user), len(known)]).repeat(np.diff(np.r_[np.flatnonzero(new_user), len(known)]))
    position_N[known] = rank / size
    shift = user * _GOLDEN % 1.0  # another one for every user, evenly spread
    short = 1 + np.floor((rank - 1 + shift) * (num_blocks - 1) / np.maximum(size - 1, 1)).astype(np.int64)
    block_N[known] = np.where(size >= num_blocks, rank * num_blocks // size, np.where(rank == 0, 0, short))
    return block_N, position_N
