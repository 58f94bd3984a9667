"""Time columns as numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

LOOK_ROWS = 4000
UNIX_UNITS = ((4.1e9, 1.0), (4.1e12, 1e3), (4.1e15, 1e6), (4.1e18, 1e9))  # numbers below the bound are in seconds, ms, µs, ns
_NAMED_MONTHS = ("%d %B %Y", "%d-%B-%Y", "%B %d, %Y")  # reading takes `Dec` for `%B` too
FORMATS = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d %H:%M:%S%.f",
    "%Y/%m/%d %H:%M",
    "%Y.%m.%d %H:%M:%S%.f",
    "%Y%m%d%H%M%S",
    "%m/%d/%Y %H:%M:%S%.f",
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S%.f",
    "%d/%m/%Y %H:%M",
    "%d.%m.%Y %H:%M:%S%.f",
    "%d.%m.%Y %H:%M",
    "%d-%m-%Y %H:%M:%S%.f",
    "%d-%m-%Y %H:%M",
    *(f"{day} {clock}" for day in _NAMED_MONTHS for clock in ("%H:%M:%S%.f", "%H:%M", "%I:%M:%S %p", "%I:%M %p")),
)
# fmt: off
DAY_FORMATS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m/%d/%y", "%d.%m.%y", *_NAMED_MONTHS,
)
# fmt: on
_MARKS = r"\s*(Z|UTC|[+-]\d{2}:?\d{2})$"  # the host's local hour is what repeats: the offset is dropped, not applied


def time_form(cells: pl.Series) -> str:
    """How the cells write a time: `unix:UNIT` (units a second), or the one format that reads most of them (month first before day first,
    when both do)."""
    filled = cells.drop_nulls().str.strip_chars()
    if len(filled) > LOOK_ROWS:
        filled = filled.gather_every(len(filled) // LOOK_ROWS)
    numbers = filled.cast(pl.Float64, strict=False).drop_nulls()
    if len(numbers) > 0.5 * len(filled) and not _packed(filled):
        middle = float(np.median(np.abs(numbers.to_numpy())))
        return f"unix:{next((unit for bound, unit in UNIX_UNITS if middle < bound), 1e9):g}"
    best, unread = FORMATS[0], len(filled) + 1
    for form in FORMATS + DAY_FORMATS:
        missing = _read(filled, form).null_count()
        if missing < unread:
            best, unread = form, missing
        if not unread:
            break
    return best


def seconds_of(cells: pl.Series, form: str) -> npt.NDArray[np.float64]:
    """(N,) seconds since 1970 of the times as written, see `time_form`; NaN where a cell is empty or no time."""
    filled = cells.str.strip_chars()
    if form.startswith("unix:"):
        numbers = filled.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy().astype(np.float64)
        return np.asarray(numbers / float(form[5:]), dtype=np.float64)
    micros = _read(filled, form).dt.epoch("us").cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return np.asarray(micros / 1e6, dtype=np.float64)


def _read(filled: pl.Series, form: str) -> pl.Series:
    kind = pl.Date if form in DAY_FORMATS else pl.Datetime("us")
    text = filled.str.replace("T", " ", literal=True).str.replace(_MARKS, "")
    return text.str.strptime(kind, form, strict=False).cast(pl.Datetime("us"))


def _packed(filled: pl.Series) -> bool:
    """`20110120` and `20110120093000`: digits that spell a date."""
    return bool(len(filled)) and bool(filled.str.contains(r"^(19|20)\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])(\d{6})?$").all())
