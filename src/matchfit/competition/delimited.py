"""csv, tsv and their relatives as text cells, byte for byte.

The fast way is polars' reader on the file itself, after a scan that proves that it cannot err: quotes stand where they should and
every line has as many cells as the header. What fails the proof goes cell by cell through Python's csv module.

A field without characters is null, quoted or not (writers that quote everything cannot write the difference); blanks are text.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from matchfit.competition.csvcells import Variant, column_names, lift_field_limit, loose_findings, protected, read_loosely, records
from matchfit.competition.csvscan import MARK, Facts, scan
from matchfit.core.errors import DataError
from matchfit.core.findings import Finding

DELIMITERS = (",", "\t", ";", "|")
HEAD_BYTES = 256 << 10
HEAD_RECORDS = 200


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
    head = next(records(path, Variant(delimiter=delimiter, line_end=facts.line_end)), None)
    if head is None:
        return Delimited(frame=pl.DataFrame(), delimiter=delimiter)
    names, findings = column_names(head if has_header else [f"column_{i}" for i in range(1, len(head) + 1)], name)
    if columns is not None and (missing := [column for column in columns if column not in names]):
        raise DataError(name, rule=f"must have the columns {missing}", found=f"columns {names}", todo="Name columns that exist.")
    frame: pl.DataFrame | None = None
    regular = not facts.loose_quotes and facts.delimiters == facts.records * (len(names) - 1)
    unquoted = facts.loose_quotes and _fits_without_quotes(path, facts, len(names))
    if (regular or unquoted) and not facts.lone_returns:
        with contextlib.suppress(pl.exceptions.ComputeError):  # a long row that makes up for a short one passes the count
            frame = _read_fast(path, facts, delimiter, names, columns=columns, limit=limit, has_header=has_header, quoting=regular)
            findings += loose_findings(name, facts)
    if frame is None:
        frame, more = read_loosely(path, name, facts, delimiter, names, limit=limit, has_header=has_header)
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
        found = _head_records(text, delimiter)
        width = len(found[0]) if found else 1
        if width == 1:
            continue
        body = found[1:] or found
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
    lift_field_limit()
    lines = io.StringIO(text, newline="\n" if "\n" in text else "")
    try:
        reader = csv.reader((protected(line) for line in lines), delimiter=delimiter)
        found = [record for record in itertools.islice(reader, HEAD_RECORDS) if record]
    except csv.Error:
        return []
    if len(found) > 1 and "\n" in found[-1][-1]:  # an open quote ran to the end of the sample
        found = found[:-1]
    return found


def _fits_without_quotes(path: Path, facts: Facts, width: int) -> bool:
    """Whether every line has the cells of the header when quotes mean nothing."""
    lines = facts.line_feeds or facts.returns
    with path.open("rb") as handle:
        handle.seek(-1, io.SEEK_END)
        lines += handle.read(1) != facts.line_end.encode()
    return width > 1 and facts.all_delimiters == lines * (width - 1)


def _read_fast(
    path: Path,
    facts: Facts,
    delimiter: str,
    names: list[str],
    *,
    columns: list[str] | None,
    limit: int | None,
    has_header: bool,
    quoting: bool,
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
        quote_char='"' if facts.quotes and quoting else None,
        eol_char=facts.line_end,
        columns=None if columns is None or blanks else sorted(names.index(column) for column in columns),
        n_rows=None if blanks else limit,
        skip_lines=skip,
    )
    frame.columns = names if columns is None or blanks else [column for column in names if column in columns]
    if not quoting:  # a cell that is quoted by the rules loses its quotes all the same, as in `csvcells`
        inner = pl.all().str.slice(1).str.head(-1).str.replace_all('""', '"', literal=True)
        frame = frame.with_columns(pl.when(pl.all().str.contains(r'(?s)\A"(?:[^"]|"")*"\z')).then(inner).otherwise(pl.all()))
    if facts.doubled_quotes or not quoting:
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
