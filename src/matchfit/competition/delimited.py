"""csv, tsv and their relatives as text cells, byte for byte.

The fast way is polars' reader on the file itself, after a scan that proves that it cannot err: quotes stand where they should and
every line has as many cells as the header. What fails the proof goes cell by cell through Python's csv module.

A field without characters is null, quoted or not (writers that quote everything cannot write the difference); blanks are text.
"""

from __future__ import annotations

import csv
import io
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from matchfit.core.errors import DataError
from matchfit.core.findings import Finding

DELIMITERS = (",", "\t", ";", "|")
CHUNK_BYTES = 8 << 20
HEAD_BYTES = 256 << 10
HEAD_RECORDS = 200
BATCH_ROWS = 50_000
STAND_IN = "\ue00d"  # for a carriage return inside a line, which the csv module would take for a line end
MARK = "\ufeff".encode()


@dataclass
class Facts:
    """What a scan of a whole file found, outside quoted cells unless stated otherwise."""

    records: int = 0  # lines with content, the header among them
    delimiters: int = 0
    blank_lines: int = 0
    line_feeds: int = 0  # also inside quotes
    returns: int = 0  # also inside quotes
    return_feeds: int = 0  # also inside quotes
    lone_returns: int = 0  # carriage returns in the midst of a line that ends with a line feed
    quotes: int = 0
    empty_quoted: bool = False
    loose_quotes: bool = False  # a quote within an unquoted cell, or text after a closing quote, or one that never closes

    @property
    def line_end(self) -> str:
        return "\r" if self.returns and not self.line_feeds else "\n"


@dataclass(frozen=True, kw_only=True)
class Delimited:
    """A table of text cells, its delimiter ('' for a single column), and what was noticed."""

    frame: pl.DataFrame
    delimiter: str
    findings: tuple[Finding, ...] = ()


def read_delimited(
    path: Path, name: str, *, columns: list[str] | None = None, limit: int | None = None, has_header: bool = True
) -> Delimited:
    """The table in a UTF-8 file; `name` is how messages call it. Raises DataError with the line number for ragged rows."""
    if path.stat().st_size <= len(MARK) and path.read_bytes().strip(MARK).strip() == b"":
        return Delimited(frame=pl.DataFrame(), delimiter="")
    delimiter = sniff_delimiter(path, name)
    facts = scan(path, delimiter)
    head = next(_records(path, Variant(delimiter=delimiter, line_end=facts.line_end)), None)
    if head is None:
        return Delimited(frame=pl.DataFrame(), delimiter=delimiter)
    names, findings = _column_names(head if has_header else [f"column_{i}" for i in range(1, len(head) + 1)], name)
    if columns is not None and (missing := [column for column in columns if column not in names]):
        raise DataError(name, rule=f"must have the columns {missing}", found=f"columns {names}", todo="Name columns that exist.")
    regular = facts.delimiters == facts.records * (len(names) - 1)
    if not facts.loose_quotes and not facts.lone_returns and regular:
        frame = _read_fast(path, facts, delimiter, names, columns=columns, limit=limit, has_header=has_header)
    else:
        frame, more = _read_loosely(path, name, facts, delimiter, names, limit=limit, has_header=has_header)
        findings += more
        frame = frame if columns is None else frame.select(columns)
    return Delimited(frame=frame, delimiter=delimiter, findings=(*findings, *_line_findings(name, facts)))


def sniff_delimiter(path: Path, name: str) -> str:
    """The delimiter that gives most of the first lines as many cells as the header; '' when there is a single column.

    The header is the judge: commas in texts do not count where the header has none.
    """
    with path.open("rb") as handle:
        raw = handle.read(HEAD_BYTES)
    text = raw.decode("utf-8", "ignore").removeprefix("\ufeff")
    if len(raw) == HEAD_BYTES:  # the last line is cut
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
    order = ("\t", ",", ";", "|") if name.lower().rstrip(".gzbxip2").endswith((".tsv", ".tab")) else DELIMITERS
    best, best_score = "", (0.5, 0)
    for delimiter in order:
        records = _head_records(text, delimiter)
        width = len(records[0]) if records else 1
        if width == 1:
            continue
        body = records[1:] or records
        score = (sum(len(record) == width for record in body) / len(body), width)
        if score > best_score:
            best, best_score = delimiter, score
    if not best:  # a ragged table is still a table: let its header decide
        first = text.lstrip("\r\n").splitlines()[:1]
        counts = {delimiter: first[0].count(delimiter) for delimiter in order} if first else {}
        best = max(counts, key=lambda delimiter: counts[delimiter], default="")
        best = best if counts.get(best) else ""
    return best


def _head_records(text: str, delimiter: str) -> list[list[str]]:
    _lift_field_limit()
    lines = io.StringIO(text, newline="\n" if "\n" in text else "")
    try:
        reader = csv.reader((_protected(line) for line in lines), delimiter=delimiter)
        records = [record for record in itertools.islice(reader, HEAD_RECORDS) if record]
    except csv.Error:
        return []
    if len(records) > 1 and "\n" in records[-1][-1]:  # an open quote ran to the end of the sample
        records = records[:-1]
    return records


def scan(path: Path, delimiter: str) -> Facts:
    """Count what matters, with quotes respected, in chunks: bounded memory, about a second a gigabyte where there are no quotes."""
    facts = Facts()
    with path.open("rb") as handle:
        for chunk in iter(lambda: handle.read(CHUNK_BYTES), b""):
            facts.line_feeds += chunk.count(b"\n")
            facts.returns += chunk.count(b"\r")
            facts.quotes += chunk.count(b'"')
    end = ord(facts.line_end)
    inside, tail = 0, b""  # tail: up to two bytes before the chunk, at first the virtual line end before the file
    with path.open("rb") as handle:
        if handle.read(3) != MARK:
            handle.seek(0)
        position, size = handle.tell(), path.stat().st_size
        tail = bytes([end])
        while position < size:
            chunk = handle.read(CHUNK_BYTES)
            ahead = handle.read(1)  # a closing quote is judged by the byte after it
            handle.seek(-len(ahead), io.SEEK_CUR)
            position += len(chunk)
            inside = _scan_chunk(facts, chunk, tail, ahead, ord(delimiter or "\x00"), end, inside, bool(delimiter))
            tail = (tail + chunk)[-2:]
        if tail[-1] != end:
            facts.records += 1
    facts.loose_quotes |= bool(inside)
    facts.records -= facts.blank_lines
    return facts


def _scan_chunk(facts: Facts, chunk: bytes, tail: bytes, ahead: bytes, delimiter: int, end: int, inside: int, counted: bool) -> int:
    """Add one chunk to the facts; returns 1 when it ends inside a quoted cell."""
    returns_matter = facts.returns and end == 10
    if returns_matter:
        joined = tail[-1:] + chunk
        facts.return_feeds += joined.count(b"\r\n")
    if b'"' not in chunk and not inside:
        facts.delimiters += chunk.count(delimiter) if counted else 0
        facts.records += chunk.count(end)
        if returns_matter:
            lone = (chunk + ahead).count(b"\r") - (chunk + ahead).count(b"\r\n") - (ahead == b"\r")
            facts.lone_returns += lone - ((chunk + ahead).endswith(b"\r") and not ahead)
        if bytes([end, end]) in tail[-1:] + chunk or (returns_matter and b"\n\r\n" in tail + chunk):
            codes = np.frombuffer(tail + chunk, dtype=np.uint8)
            facts.blank_lines += _blank_lines(codes == end, codes, len(tail))
        return 0
    codes = np.frombuffer(tail + chunk + ahead, dtype=np.uint8)
    quotes = codes == 34
    quotes[: len(tail)] = False
    if ahead:
        quotes[-1] = False
    odd = ((np.cumsum(quotes, dtype=np.uint8) + inside) & 1).astype(bool)  # True: inside a quoted cell after this byte
    own = np.zeros(len(codes), dtype=bool)
    own[len(tail) : len(tail) + len(chunk)] = True
    outside = ~odd & own
    ends = (codes == end) & outside
    facts.records += int(ends.sum())
    facts.delimiters += int(((codes == delimiter) & outside).sum()) if counted else 0
    _judge_quotes(facts, codes, quotes, odd, delimiter if counted else end, end, last=not ahead)
    if returns_matter:
        after = np.append(codes[1:], np.uint8(end))
        facts.lone_returns += int(((codes == 13) & outside & (after != 10)).sum())
    facts.blank_lines += _blank_lines(
        ends | ((codes == end) & (np.arange(len(codes)) < len(tail)) & ~bool(inside)), codes, len(tail)
    )
    return int(odd[len(tail) + len(chunk) - 1])


def _judge_quotes(facts: Facts, codes: Any, quotes: Any, odd: Any, delimiter: int, end: int, *, last: bool) -> None:
    """An opening quote follows a delimiter, a line end or a quote; a closing one stands before one of them."""
    places = np.flatnonzero(quotes)
    opening, closing = places[odd[places]], places[~odd[places]]
    before, good = codes[opening - 1], (delimiter, end, 34)
    facts.loose_quotes |= bool((~np.isin(before, good)).any())
    after = codes[np.minimum(closing + 1, len(codes) - 1)]
    at_end = (closing == len(codes) - 1) if last else np.zeros(len(closing), dtype=bool)
    facts.loose_quotes |= bool((~np.isin(after, (*good, 13)) & ~at_end).any())
    if len(opening) and len(closing):
        pairs = np.isin(opening + 1, closing)
        edge = codes[np.minimum(opening + 2, len(codes) - 1)]
        facts.empty_quoted |= bool((pairs & (before != 34) & (edge != 34)).any()) or bool(
            (pairs & (opening + 2 >= len(codes))).any()
        )


def _blank_lines(ends: Any, codes: Any, skip: int) -> int:
    """Lines without a character among the own bytes of a chunk (those after `skip`)."""
    places = np.flatnonzero(ends)
    if len(places) < 2:
        return 0
    own, gap = places[1:] >= skip, np.diff(places)
    blank = (gap == 1) | ((gap == 2) & (codes[np.maximum(places[1:] - 1, 0)] == 13))
    return int((blank & own).sum())


def _column_names(header: list[str], name: str) -> tuple[list[str], list[Finding]]:
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


def _read_fast(
    path: Path,
    facts: Facts,
    delimiter: str,
    names: list[str],
    *,
    columns: list[str] | None,
    limit: int | None,
    has_header: bool,
) -> pl.DataFrame:
    if facts.records <= int(has_header):
        return pl.DataFrame({column: [] for column in names}, schema=dict.fromkeys(names, pl.String)).select(columns or names)
    skip = _leading_blank_lines(path, facts.line_end)
    blanks = facts.blank_lines > skip
    frame = pl.read_csv(
        path,
        has_header=has_header,
        infer_schema=False,
        separator=delimiter or "\x1f",
        quote_char='"' if facts.quotes else None,
        eol_char=facts.line_end,
        columns=None if columns is None or blanks else [names.index(column) for column in columns],
        n_rows=None if blanks else limit,
        skip_lines=skip,
    )
    frame.columns = names if columns is None or blanks else [column for column in names if column in columns]
    if facts.empty_quoted:
        frame = frame.with_columns(pl.when(pl.col(column) != "").then(pl.col(column)).alias(column) for column in frame.columns)
    if blanks:
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
        frame = frame if limit is None else frame.head(limit)
    return frame if columns is None else frame.select(columns)


def _leading_blank_lines(path: Path, line_end: str) -> int:
    with path.open("rb") as handle:
        head = handle.read(4096).removeprefix(MARK)
    return (head[: len(head) - len(head.lstrip(b"\r\n"))]).count(line_end.encode())


def _line_findings(name: str, facts: Facts) -> list[Finding]:
    found = []
    styles = [facts.return_feeds > 0, facts.line_feeds > facts.return_feeds, facts.lone_returns > 0]
    if facts.line_feeds and sum(styles) > 1 and not (facts.quotes and facts.lone_returns == 0):
        message = f"{name} mixes line ends: {facts.return_feeds} CRLF, {facts.line_feeds - facts.return_feeds} LF, {facts.lone_returns} CR."
        found.append(
            Finding(
                code="mixed_line_ends", severity="info", message=message, todo="Nothing to do when the number of rows is right."
            )
        )
    if facts.blank_lines:
        message = f"{name} has {facts.blank_lines} blank lines; they were skipped."
        found.append(Finding(code="blank_lines", severity="info", message=message))
    return found


# -- cell by cell ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way in which a file may be written."""

    delimiter: str
    line_end: str = "\n"  # '' takes LF, CRLF and CR all for line ends
    quoting: bool = True
    skip_blanks: bool = False  # after delimiters: `1, "a, b"`
    backslash: bool = False  # `\"` inside quotes


def _records(path: Path, variant: Variant) -> Iterator[list[str]]:
    """The records of a UTF-8 file that are not blank lines. Raises csv.Error."""
    for _, record in _numbered_records(path, variant):
        yield record


def _numbered_records(path: Path, variant: Variant) -> Iterator[tuple[int, list[str]]]:
    _lift_field_limit()
    options: dict[str, Any] = {"delimiter": variant.delimiter or "\x1f", "skipinitialspace": variant.skip_blanks}
    if variant.backslash:
        options |= {"doublequote": False, "escapechar": "\\"}
    if not variant.quoting:
        options |= {"quoting": csv.QUOTE_NONE, "quotechar": None}
    with path.open(encoding="utf-8-sig", newline=variant.line_end) as lines:
        reader = csv.reader((_protected(line) for line in lines) if variant.line_end == "\n" else lines, **options)
        for record in reader:
            if not record:
                continue
            if any(STAND_IN in cell for cell in record):
                record = [cell.replace(STAND_IN, "\r") for cell in record]
            yield reader.line_num, record if variant.quoting else [_unquoted(cell) for cell in record]


def _protected(line: str) -> str:
    if "\r" not in line:
        return line
    body, end = (line[:-2], "\r\n") if line.endswith("\r\n") else (line, "")
    return body.replace("\r", STAND_IN) + end


def _unquoted(cell: str) -> str:
    """A cell that is quoted by the rules loses its quotes, also where quotes elsewhere in the file follow none."""
    if len(cell) >= 2 and cell[0] == cell[-1] == '"' and '"' not in (inner := cell[1:-1]).replace('""', ""):
        return inner.replace('""', '"')
    return cell


def _lift_field_limit() -> None:
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
    except csv.Error as error:
        shape.num_bad = shape.rows + 1
        shape.bad = [(shape.rows, 0)] if not shape.bad else shape.bad
        del error
    return shape


def _read_loosely(
    path: Path, name: str, facts: Facts, delimiter: str, names: list[str], *, limit: int | None, has_header: bool
) -> tuple[pl.DataFrame, list[Finding]]:
    """The first way of writing under which every row fits the header. Raises DataError with the lines that fit under none."""
    base = Variant(delimiter=delimiter, line_end=facts.line_end)
    variants = [base, Variant(delimiter=delimiter, line_end=facts.line_end, skip_blanks=True)]
    variants.append(Variant(delimiter=delimiter, line_end=facts.line_end, backslash=True))
    plain = Variant(delimiter=delimiter, line_end=facts.line_end, quoting=False)
    variants = [plain, *variants] if facts.loose_quotes else [*variants, plain]
    if facts.lone_returns:
        variants.append(Variant(delimiter=delimiter, line_end=""))
    first: _Shape | None = None
    for variant in variants:
        width = len(next(_records(path, variant), []))
        shape = _shape(path, variant, width, has_header)
        nameless = shape.rows > 0 and shape.one_more == shape.rows and shape.num_bad > 0
        if shape.num_bad == 0 or nameless:
            header = next(_records(path, variant)) if has_header else names
            header = ["", *header] if nameless else header
            columns, _ = _column_names(header, name)
            frame = _frame(path, variant, columns, limit, has_header)
            return frame, _loose_findings(name, facts, shape, nameless)
        if variant == base or first is None:
            first = shape
    assert first is not None
    raise _ragged(name, first, len(names))


def _frame(path: Path, variant: Variant, names: list[str], limit: int | None, has_header: bool) -> pl.DataFrame:
    rows = itertools.islice(_records(path, variant), int(has_header), None if limit is None else limit + int(has_header))
    schema = dict.fromkeys(names, pl.String)
    parts = [pl.DataFrame(schema=schema)]
    while batch := list(itertools.islice(rows, BATCH_ROWS)):
        data = {column: [record[place] or None for record in batch] for place, column in enumerate(names)}
        parts.append(pl.DataFrame(data, schema=schema))
    return pl.concat(parts)


def _loose_findings(name: str, facts: Facts, shape: _Shape, nameless: bool) -> list[Finding]:
    found = []
    if facts.loose_quotes:
        message = f"{name} has quotes that do not enclose a cell; they were kept as text."
        found.append(Finding(code="loose_quotes", severity="info", message=message, todo="Look at a few texts with quotes."))
    if nameless:
        message = f"{name} has one cell more in every row than in the header; the first column was read without a name."
        found.append(Finding(code="ragged_rows", severity="warning", message=message, todo="Give the first column a name."))
    elif shape.trailing:
        message = f"{name} has {shape.trailing} rows with empty cells beyond the header; they were dropped."
        found.append(Finding(code="ragged_rows", severity="info", message=message))
    return found


def _ragged(name: str, shape: _Shape, width: int) -> DataError:
    where = ", ".join(f"line {line} with {cells}" for line, cells in shape.bad or [])
    return DataError(
        name,
        rule=f"every row must have as many cells as the header ({width})",
        found=f"{shape.num_bad} rows that do not: {where}",
        todo="Repair these lines (an unquoted delimiter or line end in a text is the usual cause), or download the file again.",
    )
