"""Tables as text: one reader for csv, tsv, txt, json, jsonl and parquet, plain, packed or inside an archive.

Everything is text, byte for byte: `00123`, `1e5`, `true`, `NA` and blanks stay as they are. Null is a field without characters, nothing else.
Parquet has types, so its values are written as hosts write csv: `7`, `0.5`, `True`, `2011-01-20 00:00:00`; whole floats lose their `.0`,
because that is what a column of integers with a gap becomes.
"""

from __future__ import annotations

import base64
import codecs
import contextlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from matchfit.competition.archives import (
    BROKEN,
    COPY_BYTES,
    archive_suffix,
    broken,
    open_packed,
    refuse_bomb,
)
from matchfit.competition.csvscan import scan
from matchfit.competition.delimited import read_delimited, sniff_delimiter
from matchfit.competition.encodings import as_utf8, encoding_findings
from matchfit.competition.files import INSIDE, FileTree
from matchfit.competition.jsontables import read_json_table, read_json_value
from matchfit.core.errors import DataError
from matchfit.core.findings import Finding

HEAD_BYTES = 16 << 20  # of a large file, when only its first rows are wanted
PACKED_SUFFIXES = (".gz", ".bz2", ".xz")
STAND_INS = {
    b"version https://git-lfs.github.com/spec/": "a pointer of Git LFS (`git lfs pull` fetches the file)",
    b"<!doctype html": "a web page, such as a message of the server",
    b"<html": "a web page, such as a message of the server",
}
KINDS = {
    ".csv": "delimited",
    ".tsv": "delimited",
    ".tab": "delimited",
    ".txt": "delimited",
    ".dat": "delimited",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table as the host wrote it: `frame` has text columns only, names as in the file; `delimiter` is '' where there is none."""

    frame: pl.DataFrame
    findings: tuple[Finding, ...] = ()
    encoding: str = "utf-8"
    delimiter: str = ""

    def __len__(self) -> int:
        return self.frame.height


def table_kind(name: str) -> str:
    """`delimited`, `json`, `jsonl` or `parquet` by the extension, under any packing and in any letters; '' for other files."""
    return KINDS.get(PurePosixPath(_unpacked_name(name)).suffix.lower(), "")


def table_stem(name: str) -> str:
    """The bare name of a table: `train` for `data.zip!/Train/train.csv.gz`."""
    return PurePosixPath(_unpacked_name(name)).stem


def _unpacked_name(name: str) -> str:
    base = PurePosixPath(name).name
    lowered = base.lower()
    for suffix in (archive_suffix(lowered), *PACKED_SUFFIXES):
        if suffix and lowered.endswith(suffix):
            return base[: -len(suffix)]
    return base


def read_table(
    tree: FileTree,
    reference: str,
    *,
    columns: list[str] | None = None,
    limit: int | None = None,
    has_header: bool = True,
    encoding: str = "",
) -> Table:
    """The table at `reference` (also an archive that holds a single table), at most `limit` rows, only `columns` if given; `encoding` is tried
    before other guesses where the file is neither UTF-8 nor marked.

    An empty file gives a frame without columns. Raises DataError: unknown extension, damaged file, a web page or a pointer in its place,
    ragged rows, a column that is not there.
    """
    reference = _single_member(tree, reference)
    kind = table_kind(reference)
    if kind == "parquet":
        with _unpacked(tree, reference) as path:
            return _parquet(path, reference, columns, limit)
    if not kind:
        raise DataError(
            reference, rule=f"must be a table ({', '.join(KINDS)})", found="another extension", todo="Name another file."
        )
    if kind == "delimited" and limit is not None and (head := _read_head(tree, reference, columns, limit, has_header)):
        return head
    with _unpacked(tree, reference) as packed, as_utf8(packed, tree.spill_folder(), preferred=encoding) as (path, written):
        _refuse_stand_in(path, reference)
        delimiter, found = "", encoding_findings(reference, written)
        if kind == "delimited":
            table = read_delimited(path, reference, columns=columns, limit=limit, has_header=has_header)
            frame, delimiter, found = table.frame, table.delimiter, [*found, *table.findings]
        else:
            frame = read_json_table(path, reference, lines=kind == "jsonl", limit=limit)
            frame = frame if columns is None else _select(frame, columns, reference)
    return Table(frame=frame, findings=tuple(found), encoding=written.name, delimiter=delimiter)


def _refuse_stand_in(path: Path, reference: str) -> None:
    """Raises DataError for what downloads leave in a table's place: a pointer of Git LFS, a web page."""
    with path.open("rb") as handle:
        head = handle.read(256).removeprefix(codecs.BOM_UTF8).lstrip().lower()
    found = next((what for start, what in STAND_INS.items() if head.startswith(start)), None)
    if found is not None:
        raise DataError(reference, rule="must be the table itself", found=found, todo="Download the file again.")


def _read_head(tree: FileTree, reference: str, columns: list[str] | None, limit: int, has_header: bool) -> Table | None:
    """The first rows of a large plain file from its first bytes alone; None when these do not tell."""
    if INSIDE in reference or reference.lower().endswith(PACKED_SUFFIXES):
        return None
    with tree.on_disk(reference) as path, tempfile.NamedTemporaryFile(dir=tree.spill_folder()) as copy:
        if path.stat().st_size <= 4 * HEAD_BYTES:
            return None
        with path.open("rb") as handle:
            head = handle.read(HEAD_BYTES)
        copy.write(head[: head.rfind(b"\n") + 1])
        copy.flush()
        with as_utf8(Path(copy.name), tree.spill_folder()) as (text, encoding), contextlib.suppress(DataError):
            table = read_delimited(text, reference, columns=columns, limit=limit, has_header=has_header)
            cut = any(finding.code == "loose_quotes" for finding in table.findings)  # the head may end inside a quoted cell
            if encoding.name == "utf-8" and len(table.frame) == limit and not cut:
                found = (*encoding_findings(reference, encoding), *table.findings)
                return Table(frame=table.frame, findings=found, delimiter=table.delimiter)
    return None


def read_lines(tree: FileTree, reference: str) -> pl.Series:
    """A text file as one text a line, split at LF alone (a CR before it is dropped); U+2028 and other separators stay inside. Blank lines
    are empty texts; the line end at the end of the file opens no further line."""
    with _unpacked(tree, reference) as packed, as_utf8(packed, tree.spill_folder()) as (path, _):
        text = path.read_bytes().decode("utf-8-sig")
    if "\n" not in text and "\r" in text:
        text = text.replace("\r", "\n")
    lines = text.removesuffix("\n").split("\n") if text else []
    return pl.Series("text", [line.removesuffix("\r") for line in lines], dtype=pl.String)


def read_json(tree: FileTree, reference: str) -> Any:
    """Any json file (COCO, say); numbers come as text with the digits of the source. Raises DataError."""
    reference = _single_member(tree, reference)
    with _unpacked(tree, reference) as packed, as_utf8(packed, tree.spill_folder()) as (path, _):
        return read_json_value(path, reference)


def count_rows(tree: FileTree, reference: str) -> int:
    """Rows of data in a table, without building it where the format allows."""
    reference = _single_member(tree, reference)
    kind = table_kind(reference)
    if kind == "delimited":
        with _unpacked(tree, reference) as packed, as_utf8(packed, tree.spill_folder()) as (path, _):
            facts = scan(path, sniff_delimiter(path, reference))
            if not facts.loose_quotes and not facts.lone_returns:
                return max(facts.records - 1, 0)
    if kind == "parquet":
        with _unpacked(tree, reference) as path:
            return int(pl.scan_parquet(path).select(pl.len()).collect().item())
    return len(read_table(tree, reference))


def guess_header(tree: FileTree, reference: str) -> bool:
    """Whether the first line of a delimited file names columns: no numbers, no repeats, no cell that occurs again below itself."""
    with contextlib.suppress(DataError):
        frame = read_table(tree, reference, limit=500, has_header=False).frame
        if frame.height == 0:
            return True
        first, body = frame.row(0), frame[1:]
        if any(cell is None for cell in first[1:]) or len(set(first)) < len(first):
            return False
        for cell, column in zip(first, body.columns, strict=True):
            if cell is not None and (_is_number(cell) or (body[column] == cell).any()):
                return False
        return all(len(cell or "") < 200 for cell in first)
    return True


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _select(frame: pl.DataFrame, columns: list[str], reference: str) -> pl.DataFrame:
    if missing := [column for column in columns if column not in frame.columns]:
        raise DataError(
            reference, rule=f"must have the columns {missing}", found=f"columns {frame.columns}", todo="Name columns that exist."
        )
    return frame.select(columns)


def _single_member(tree: FileTree, reference: str) -> str:
    """An archive reference stands for the one table in it."""
    if not archive_suffix(reference):
        return reference
    inside = tree.members().filter(pl.col("archive") == reference)["reference"]
    tables = [name for name in inside if table_kind(name)]
    if len(tables) != 1:
        found = f"{len(tables)} tables" if len(inside) else "no readable archive"
        raise DataError(
            reference, rule="must hold exactly one table", found=found, todo=f"Name one of them, as {reference}{INSIDE}NAME."
        )
    return str(tables[0])


@contextlib.contextmanager
def _unpacked(tree: FileTree, reference: str) -> Iterator[Path]:
    """The file on disk without gz, bz2 or xz around it; bounded."""
    with tree.on_disk(reference) as path:
        if not reference.lower().endswith(PACKED_SUFFIXES):
            yield path
            return
        with tempfile.NamedTemporaryFile(dir=tree.spill_folder(), suffix=".table") as copy:
            size, packed = 0, path.stat().st_size
            try:
                with open_packed(path) as source:
                    while chunk := source.read(COPY_BYTES):
                        size += len(chunk)
                        refuse_bomb(reference, size=size, packed=packed)
                        copy.write(chunk)
            except BROKEN as error:
                raise broken(reference, error) from error
            copy.flush()
            yield Path(copy.name)


def _parquet(path: Path, reference: str, columns: list[str] | None, limit: int | None) -> Table:
    try:
        frame = pl.read_parquet(path, n_rows=limit)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise broken(reference, error) from error
    if columns is not None:
        frame = _select(frame, columns, reference)
    return Table(frame=frame.select(_as_text(frame[name]) for name in frame.columns), encoding="utf-8")


def _as_text(values: pl.Series) -> pl.Series:
    kind, name = values.dtype, values.name
    if kind.is_float():
        whole = values.is_finite() & (values == values.round(0)) & (values.abs() < 1 << 53)
        if bool(whole.fill_null(True).all()):
            return values.cast(pl.Int64).cast(pl.String)
        return values.cast(pl.String)
    if kind == pl.Boolean:
        return values.replace_strict({True: "True", False: "False"}, return_dtype=pl.String)
    if isinstance(kind, pl.Datetime):
        fraction = bool((values.dt.truncate("1s") != values).any())
        return values.dt.to_string("%Y-%m-%d %H:%M:%S%.f" if fraction else "%Y-%m-%d %H:%M:%S")
    if kind == pl.Binary:
        return pl.Series(name, [_bytes_text(value) for value in values], dtype=pl.String)
    if kind.is_nested():
        texts = [None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values.to_list()]
        return pl.Series(name, texts, dtype=pl.String)
    text = values.cast(pl.String)
    return text.set(text == "", None)


def _bytes_text(value: bytes | None) -> str | None:
    """Text when the bytes are text, base64 otherwise."""
    if not value:
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(value).decode("ascii")
