"""json and jsonl files as tables of text. Numbers keep the digits of the source: `1e5` and 64-bit ids come through unchanged."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from matchfit.core.errors import DataError

BATCH_ROWS = 20_000
BLANKS = re.compile(r"[ \t\r\n]*")
WRAPPERS = ("data", "records", "rows", "items", "train", "test", "results", "examples", "annotations")


class Number(str):
    """A number or a constant of a json file as its source text; apart from `str` so that nested values print right."""

    __slots__ = ()


DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number)


FLAT_DECODER = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=str
)  # twice as fast, for lines without nested values


def parse_json(text: str) -> Any:
    """A json value with every number as `Number`. Raises ValueError."""
    return DECODER.decode(text)


def cell_text(value: Any) -> str | None:
    """A json value as a table cell: null for null and the empty text, `true` / `false`, nested values as json."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return str(value)
    return nested_text(value)


def nested_text(value: Any) -> str:
    """A json value as json, numbers by their source text."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(nested_text(part) for part in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key, ensure_ascii=False)}: {nested_text(part)}' for key, part in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)


def read_json_table(path: Path, name: str, *, lines: bool, limit: int | None) -> pl.DataFrame:
    """The table in a UTF-8 json file: an array of records, columns, records by key, pandas' `split`, or a record a line.

    Arrays and lines are turned into columns batch by batch, so that a million records cost little more than their text.
    Raises DataError when the file is not json (with the line) or holds no table (as COCO files do not).
    """
    if lines:
        return _batched(_line_records(path, name), limit)
    text = path.read_text(encoding="utf-8-sig")
    start = text.lstrip()[:1]
    if not start:
        return pl.DataFrame()
    try:
        if start == "[":
            return _batched(_array_records(text), limit)
        value = parse_json(text)
    except ValueError as error:
        if str(error).startswith("Extra data"):
            return _batched(_line_records(path, name), limit)  # json lines under the name .json
        raise _not_json(name, str(error)) from error
    frame = _table(value)
    if frame is None:
        raise DataError(
            name,
            rule="must hold one table: a list of records, a dict of columns, a dict of records, or a record a line",
            found=_describe(value),
            todo="Name another table in matchfit.yaml (competition.train_table).",
        )
    return frame if limit is None else frame.head(limit)


def _line_records(path: Path, name: str) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig", newline="\n") as handle:  # U+2028 inside a text ends no line
        for number, line in enumerate(handle, start=1):
            if not line.strip():
                continue
            try:
                flat = "[" not in line and line.count("{") == 1
                yield FLAT_DECODER.decode(line) if flat else parse_json(line)
            except ValueError as error:
                raise _not_json(f"{name}, line {number}", str(error)) from error


def _array_records(text: str) -> Iterator[Any]:
    """The elements of the array that `text` is, one at a time. Raises ValueError."""
    place = BLANKS.match(text, text.index("[") + 1).end()  # type: ignore[union-attr]
    while text[place : place + 1] != "]":
        value, place = DECODER.raw_decode(text, place)
        yield value
        place = BLANKS.match(text, place).end()  # type: ignore[union-attr]
        if text[place : place + 1] == ",":
            place = BLANKS.match(text, place + 1).end()  # type: ignore[union-attr]
        elif text[place : place + 1] != "]":
            raise json.JSONDecodeError("Expecting ',' or ']'", text, place)
    if text[place + 1 :].strip():
        raise json.JSONDecodeError("Extra data", text, place + 1)


def _batched(records: Iterator[Any], limit: int | None) -> pl.DataFrame:
    records = itertools.islice(records, limit)
    parts = []
    while batch := list(itertools.islice(records, BATCH_ROWS)):
        parts.append(_frame(batch))
    return pl.concat(parts, how="diagonal") if parts else pl.DataFrame()


def _not_json(name: str, found: str) -> DataError:
    return DataError(name, rule="must be json", found=found, todo="Download the file again, or repair it.")


def _describe(value: Any) -> str:
    if isinstance(value, dict):
        return f"a dict with the keys {list(value)[:6]}"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, list) else "")


def _table(value: Any) -> pl.DataFrame | None:
    if isinstance(value, list):
        return _frame(value)
    if not isinstance(value, dict):
        return None
    inner = list(value.values())
    if {"columns", "data"} <= set(value) and isinstance(value["columns"], list) and isinstance(value["data"], list):
        return _frame([dict(zip(map(str, value["columns"]), row, strict=False)) for row in value["data"]])
    lists = [key for key, part in value.items() if isinstance(part, list) and part and isinstance(part[0], dict)]
    if len(lists) == 1 and (len(value) == 1 or lists[0] in WRAPPERS):
        return _frame(value[lists[0]])
    if lists:
        return None
    if inner and all(isinstance(part, list) for part in inner) and len({len(part) for part in inner}) == 1:
        return _columns({str(key): [cell_text(cell) for cell in part] for key, part in value.items()})
    if inner and all(isinstance(part, dict) for part in inner):
        return _dict_of_dicts(value)
    if inner and len(inner) > 1 and not any(isinstance(part, (dict, list)) for part in inner):
        return _columns({"id": list(map(str, value)), "value": [cell_text(part) for part in inner]})
    return None


def _dict_of_dicts(value: dict[str, dict[str, Any]]) -> pl.DataFrame:
    """Columns when the inner keys are the row numbers 0, 1, 2 … (pandas' default), records by key otherwise."""
    keys = list(next(iter(value.values())))
    if keys == [str(number) for number in range(len(keys))] and all(list(part) == keys for part in value.values()):
        return _columns({column: [cell_text(part[key]) for key in keys] for column, part in value.items()})
    names = {name for part in value.values() for name in part}
    key_name = next(name for name in ("id", "key", "_key") if name not in names)
    return _frame([{key_name: key, **part} for key, part in value.items()])


def _frame(records: list[Any]) -> pl.DataFrame:
    """Records in order; columns in the order of their first appearance; what a record lacks is null."""
    if not records:
        return pl.DataFrame()
    if not all(isinstance(record, dict) for record in records):
        rows = [record if isinstance(record, list) else [record] for record in records]
        width = max(map(len, rows))
        records = [{f"column_{place + 1}": cell for place, cell in enumerate([*row, *[None] * (width - len(row))])} for row in rows]
    names = list(dict.fromkeys(itertools.chain.from_iterable(records)))
    cells = {name: [record.get(name) for record in records] for name in names}
    return _columns({name: [v if v.__class__ is str and v else cell_text(v) for v in column] for name, column in cells.items()})


def _columns(data: dict[str, list[str | None]]) -> pl.DataFrame:
    return pl.DataFrame(data, schema=dict.fromkeys(data, pl.String))


def read_json_value(path: Path, name: str) -> Any:
    """Any json file, numbers as `Number` (text). Raises DataError."""
    try:
        return parse_json(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise _not_json(name, str(error)) from error
