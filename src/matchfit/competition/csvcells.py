"""Delimited files cell by cell, for those that follow other rules than the ones that polars' reader trusts."""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from matchfit.competition.csvscan import Facts
from matchfit.core.errors import DataError
from matchfit.core.findings import Finding

BATCH_ROWS = 50_000
STAND_IN = "\ue00d"  # for a carriage return inside a line, which the csv module would take for a line end


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way in which a file may be written."""

    delimiter: str
    line_end: str = "\n"  # '' takes LF, CRLF and CR all for line ends
    quoting: bool = True
    skip_blanks: bool = False  # after delimiters: `1, "a, b"`
    backslash: bool = False  # `\"` inside quotes


def records(path: Path, variant: Variant) -> Iterator[list[str]]:
    """The records of a UTF-8 file that are not blank lines. Raises csv.Error."""
    for _, record in _numbered_records(path, variant):
        yield record


def _numbered_records(path: Path, variant: Variant) -> Iterator[tuple[int, list[str]]]:
    lift_field_limit()
    options: dict[str, Any] = {"delimiter": variant.delimiter or "\x1f", "skipinitialspace": variant.skip_blanks}
    if variant.backslash:
        options |= {"doublequote": False, "escapechar": "\\"}
    if not variant.quoting:
        options |= {"quoting": csv.QUOTE_NONE, "quotechar": None}
    with path.open(encoding="utf-8-sig", newline=variant.line_end) as lines:
        reader = csv.reader((protected(line) for line in lines) if variant.line_end == "\n" else lines, **options)
        for record in reader:
            if not record:
                continue
            if any(STAND_IN in cell for cell in record):
                record = [cell.replace(STAND_IN, "\r") for cell in record]
            yield reader.line_num, record if variant.quoting else [_unquoted(cell) for cell in record]


def protected(line: str) -> str:
    if "\r" not in line:
        return line
    body, end = (line[:-2], "\r\n") if line.endswith("\r\n") else (line, "")
    return body.replace("\r", STAND_IN) + end


def _unquoted(cell: str) -> str:
    """A cell that is quoted by the rules loses its quotes, also where quotes elsewhere in the file follow none."""
    if len(cell) >= 2 and cell[0] == cell[-1] == '"' and '"' not in (inner := cell[1:-1]).replace('""', ""):
        return inner.replace('""', '"')
    return cell


def lift_field_limit() -> None:
    csv.field_size_limit(sys.maxsize)  # texts are longer than the csv module's 128 KiB


@dataclass
class _Shape:
    """How the rows of one variant fit the header."""

    rows: int = 0
    trailing: int = 0  # rows with more cells, all of them empty
    one_more: int = 0  # rows with exactly one more cell
    bad: list[tuple[int, int]] | None = None  # (line, cells) of the first rows that do not fit
    num_bad: int = 0


def _shape(path: Path, variant: Variant, width: int, has_header: bool) -> _Shape:
    shape = _Shape(bad=[])
    try:
        for line, record in itertools.islice(_numbered_records(path, variant), int(has_header), None):
            shape.rows += 1
            cells = len(record)
            shape.one_more += cells == width + 1
            if cells == width:
                continue
            if cells > width and not any(record[width:]):
                shape.trailing += 1
                continue
            shape.num_bad += 1
            if shape.bad is not None and len(shape.bad) < 5:
                shape.bad.append((line, cells))
    except csv.Error:
        shape.num_bad += 1
    return shape


def read_loosely(
    path: Path, name: str, facts: Facts, delimiter: str, names: list[str], *, limit: int | None, has_header: bool
) -> tuple[pl.DataFrame, list[Finding]]:
    """The table under the first way of writing in which every row fits the header.

    Raises DataError with the lines that fit in none. One cell more in every row than in the header is R's way to write row names.
    """
    base = Variant(delimiter=delimiter, line_end=facts.line_end)
    plain = replace(base, quoting=False)
    others = [replace(base, skip_blanks=True), replace(base, backslash=True)]
    variants = [plain, base, *others] if facts.loose_quotes else [base, *others, plain]
    if facts.lone_returns:
        variants.append(replace(base, line_end=""))
    shapes: dict[Variant, _Shape] = {}
    for variant in variants:
        header = next(records(path, variant), [])
        shapes[variant] = _shape(path, variant, len(header), has_header)
        if shapes[variant].num_bad == 0:
            columns, _ = column_names(header if has_header else names, name)
            return _frame(path, variant, columns, limit, has_header), [
                *loose_findings(name, facts),
                *_shape_findings(name, shapes[variant], nameless=False),
            ]
    if shapes[base].rows and shapes[base].one_more == shapes[base].rows:
        columns, _ = column_names(["", *names], name)
        return _frame(path, base, columns, limit, has_header), [
            *loose_findings(name, facts),
            *_shape_findings(name, shapes[base], nameless=True),
        ]
    raise _ragged(name, shapes[base], len(names))


def _frame(path: Path, variant: Variant, names: list[str], limit: int | None, has_header: bool) -> pl.DataFrame:
    rows = itertools.islice(records(path, variant), int(has_header), None if limit is None else limit + int(has_header))
    schema = dict.fromkeys(names, pl.String)
    parts = [pl.DataFrame(schema=schema)]
    while batch := list(itertools.islice(rows, BATCH_ROWS)):
        data = {column: [record[place] or None for record in batch] for place, column in enumerate(names)}
        parts.append(pl.DataFrame(data, schema=schema))
    return pl.concat(parts)


def loose_findings(name: str, facts: Facts) -> list[Finding]:
    if not facts.loose_quotes:
        return []
    message = f"{name} has quotes that do not enclose a cell; they were kept as text."
    return [Finding(code="loose_quotes", severity="info", message=message, todo="Look at a few texts with quotes.")]


def _shape_findings(name: str, shape: _Shape, *, nameless: bool) -> list[Finding]:
    if nameless:
        message = f"{name} has one cell more in every row than in the header; the first column was read without a name."
        return [Finding(code="ragged_rows", severity="warning", message=message, todo="Give the first column a name.")]
    if shape.trailing:
        message = f"{name} has {shape.trailing} rows with empty cells beyond the header; they were dropped."
        return [Finding(code="ragged_rows", severity="info", message=message)]
    return []


def _ragged(name: str, shape: _Shape, width: int) -> DataError:
    where = ", ".join(f"line {line} with {cells}" for line, cells in shape.bad or [])
    return DataError(
        name,
        rule=f"every row must have as many cells as the header ({width})",
        found=f"{shape.num_bad} rows that do not: {where}",
        todo="Repair these lines (an unquoted delimiter or line end in a text is the usual cause), or download the file again.",
    )


def column_names(header: list[str], name: str) -> tuple[list[str], list[Finding]]:
    """Names as the host wrote them; a name that comes again gets ` (2)`, because columns are found by name."""
    names: list[str] = []
    for column in header:
        candidate, count = column, 1
        while candidate in names:
            count += 1
            candidate = f"{column} ({count})"
        names.append(candidate)
    again = sorted({column for column in header if header.count(column) > 1}) if len(set(header)) < len(header) else []
    if not again:
        return names, []
    message = f"{name} has the column names {again} more than once; later ones were renamed, as in '{again[0]} (2)'."
    return names, [Finding(code="duplicate_columns", severity="warning", message=message, todo="Tell the columns apart by hand.")]
