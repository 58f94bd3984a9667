"""A submission's raw bytes → header and rows, strictly: a host does not guess encodings, so neither does this.

Shapes: B bytes, L records (rows with the header).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from matchfit.competition.submission_faults import CODES, Faults
from matchfit.core.errors import SubmissionError

if TYPE_CHECKING:
    import numpy.typing as npt

_UTF8_BOM = b"\xef\xbb\xbf"
_FOREIGN = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a parquet file",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_NEWLINE, _COMMA, _QUOTE = 10, 44, 34


@dataclass(frozen=True)
class Rows:
    """`table`: the rows that are whole, as text (empty cells ""), a column for each header cell, named by its position.
    `rows_N`: their row numbers in the file, from 1; `num_ragged` rows were left out."""

    header: tuple[str, ...]
    table: pl.DataFrame
    rows_N: npt.NDArray[np.int64]
    num_ragged: int


def read_rows(path: Path, faults: Faults, *, may_be_empty: bool = False) -> Rows | None:
    """The file's rows; None, with faults that say why, when it cannot be read as a csv. SubmissionError when there is no such file.

    `may_be_empty`: there is nothing to predict, so a header alone is all that is asked.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SubmissionError(
            str(path), rule="must be a file", found=error.strerror or str(error), todo="Give the path of a csv file."
        ) from None
    if data.startswith(_UTF8_BOM):
        faults.add("bom", row=0, value=_UTF8_BOM.hex(" "), rule=CODES["bom"])
        data = data[len(_UTF8_BOM) :]
    if not data.strip():
        faults.add("empty_file", value="", rule=CODES["empty_file"])
        return None
    if not _is_text(data, faults):
        return None
    starts_L, ends_L, cells_L = _records(data)
    header = tuple(_cells(data[starts_L[0] : ends_L[0]].decode("utf-8").removesuffix("\r")))
    if len(starts_L) == 1 and b"\n" in data[: ends_L[0]].strip():  # a quote of the header swallows the rows
        faults.add("ragged_row", row=0, value=",".join(header), rule="quotes are closed in their line")
        return None
    if len(starts_L) == 1 and may_be_empty:
        none = pl.DataFrame(schema={str(place): pl.String for place in range(len(header))})
        return Rows(header, none, np.empty(0, dtype=np.int64), 0)
    if len(starts_L) == 1:
        faults.add("empty_file", value="only a header", rule=CODES["empty_file"])
        return None
    kept_L, num_ragged = _whole(data, starts_L, ends_L, cells_L, len(header), faults)
    if not kept_L.any():
        return None
    rows = np.flatnonzero(kept_L)
    lines = [data[starts_L[row + 1] : ends_L[row + 1]] for row in rows] if len(rows) < len(kept_L) or b'"' in data else None
    body = data[starts_L[1] : ends_L[-1]] if lines is None else b"\n".join(lines)
    return Rows(header, _parse(body, lines, len(rows), len(header)), rows.astype(np.int64) + 1, num_ragged)


def _is_text(data: bytes, faults: Faults) -> bool:
    for mark, what in _FOREIGN.items():
        if data.startswith(mark):
            faults.add("encoding", row=0, value=what, rule=CODES["encoding"])
            return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start)
        line = data[data.rfind(b"\n", 0, error.start) + 1 : error.end + 20].split(b"\n")[0]
        faults.add("encoding", row=row, value=repr(line)[2:-1], rule=CODES["encoding"])
        return False
    if b"\x00" in data:
        faults.add("encoding", row=data.count(b"\n", 0, data.index(b"\x00")), value="a zero byte", rule=CODES["encoding"])
        return False
    if b"\n" not in data and b"\r" in data:
        faults.add("encoding", row=0, value="lines that end with a carriage return alone", rule=CODES["encoding"])
        return False
    return True


def _records(data: bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(start, end without line break, number of cells) of every record, blank lines at the end left out.

    Separators and line breaks inside quotes do not count: a byte is inside when an odd number of quotes stands before it (a doubled
    quote leaves and enters again).
    """
    bytes_B = np.frombuffer(data, dtype=np.uint8)
    breaks_B, commas_B = bytes_B == _NEWLINE, bytes_B == _COMMA
    quotes_B = bytes_B == _QUOTE
    if quotes_B.any():
        outside_B = np.cumsum(quotes_B, dtype=np.uint8) & 1 == 0
        breaks_B, commas_B = breaks_B & outside_B, commas_B & outside_B
    ends = np.flatnonzero(breaks_B)
    if len(ends) == 0 or ends[-1] != len(data) - 1:
        ends = np.append(ends, len(data))
    starts = np.append(0, ends[:-1] + 1)
    commas = np.flatnonzero(commas_B)
    cells = np.searchsorted(commas, ends) - np.searchsorted(commas, starts) + 1
    last = len(starts)
    while last > 1 and not data[starts[last - 1] : ends[last - 1]].strip():
        last -= 1
    return starts[:last], ends[:last], cells[:last]


def _cells(line: str) -> list[str]:
    """The cells of one record, split where `_records` counts; a quote that neither opens nor closes a cell stays in its text."""
    parts = line.split(",")
    cells: list[str] = []
    while parts:
        cell = parts.pop(0)
        while cell.count('"') % 2 and parts:
            cell += "," + parts.pop(0)
        cells.append(cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell)
    return cells


def _whole(
    data: bytes,
    starts_L: npt.NDArray[np.int64],
    ends_L: npt.NDArray[np.int64],
    cells_L: npt.NDArray[np.int64],
    width: int,
    faults: Faults,
) -> tuple[npt.NDArray[np.bool_], int]:
    """(L - 1,) which rows have as many cells as the header, and how many have not: those become faults. A blank line is a warning, since
    readers skip it."""
    blank = np.array([], dtype=np.int64)
    short = np.flatnonzero(ends_L[1:] - starts_L[1:] <= 1)
    if len(short):
        blank = np.array([row for row in short if not data[starts_L[row + 1] : ends_L[row + 1]].strip()], dtype=np.int64)
    kept_L = np.array(cells_L[1:] == width, dtype=np.bool_)
    kept_L[blank] = False
    if data.count(b'"') % 2:  # a quote that is opened and never closed swallows all that follows
        kept_L[-1] = False
    ragged = np.setdiff1d(np.flatnonzero(~kept_L), blank)
    lines = (data[starts_L[row + 1] : ends_L[row + 1]].decode("utf-8").rstrip("\r") for row in ragged)
    rule = f"every row has {width} cells, as the header, and its quotes are closed"
    faults.add_rows("ragged_row", [int(row) + 1 for row in ragged], lines, len(ragged), rule=rule)
    faults.add_rows(
        "ragged_row",
        [int(row) + 1 for row in blank],
        ("" for _ in blank),
        len(blank),
        rule="no blank lines between rows",
        warning=True,
    )
    return kept_L, len(ragged)


def _parse(body: bytes, lines: list[bytes] | None, num_rows: int, width: int) -> pl.DataFrame:
    """The rows as text. Quotes that are not where they belong are read record by record, so that every row stays in its place."""
    names = [str(place) for place in range(width)]
    try:
        table = pl.read_csv(
            body,
            has_header=False,
            schema=dict.fromkeys(names, pl.String),
            quote_char='"' if b'"' in body else None,
            raise_if_empty=False,
        )
    except pl.exceptions.PolarsError:
        table = pl.DataFrame()
    if table.shape != (num_rows, width):
        lines = body.split(b"\n") if lines is None else lines
        cells = [_cells(line.decode("utf-8").removesuffix("\r")) for line in lines]
        table = pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row")
    return table.with_columns(pl.col(names).fill_null("").str.strip_suffix("\r"))
