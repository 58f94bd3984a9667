"""Records: small JSON files with a schema number that a stage leaves for the next.

Everything is written to a temporary name in the same folder, flushed to disk, then renamed, so that a reader sees the old file
or the new one and never half of either. A stage writes its record last.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from matchfit.core.errors import RunError


def write_atomically(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Call `write` with a binary file that becomes `path` in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def write_text(path: Path, text: str) -> None:
    """UTF-8 without BOM, line ends as given."""
    write_atomically(path, lambda file: _write_all(file, text.encode("utf-8")))


def _write_all(file: BinaryIO, data: bytes) -> None:
    file.write(data)


def write_record(path: Path, *, schema: int, **content: Any) -> None:
    """Write a record; NaN and infinity become null, since JSON has neither."""
    write_text(path, json.dumps({"schema": schema, **jsonable(content)}, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def read_record(path: Path, *, schema: int) -> dict[str, Any]:
    """Read a record; raises RunError when it is absent, unreadable, or of another schema."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(
            str(path), rule="must be a record", found="no such file", todo="Run the stage that writes it first."
        ) from None
    except (ValueError, UnicodeDecodeError) as error:
        raise RunError(
            str(path), rule="must be a JSON record", found=str(error), todo="Run the stage that writes it again."
        ) from error
    if not isinstance(record, dict) or record.get("schema") != schema:
        found = f"schema {record.get('schema')!r}" if isinstance(record, dict) else type(record).__name__
        raise RunError(
            str(path), rule=f"must be a record of schema {schema}", found=found, todo="Run the stage again with this version."
        )
    return record


def jsonable(value: Any) -> Any:
    """Plain JSON values: paths as text, tuples and sets as lists, numpy scalars as numbers, NaN and infinity as None."""
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(jsonable(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # numpy arrays and scalars, without importing numpy
        return jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def content_hash(value: Any) -> str:
    """SHA-256 (hex) of a value's canonical JSON: the same content gives the same hash on every machine."""
    text = json.dumps(jsonable(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
