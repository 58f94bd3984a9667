"""Folds on disk: one parquet file, written once a competition and shared by all of its runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from matchfit.core.errors import RunError
from matchfit.core.records import write_atomically
from matchfit.validation.assignment import Folds, hash_items

SCHEMA = 1
_KEY = "matchfit_folds"
_AGAIN = "Delete the file to make new folds; runs on the old ones can then not be compared or blended with new ones."


def write_folds(path: Path, folds: Folds) -> None:
    """Write the folds; the same folds again change nothing, other folds in the same place raise RunError."""
    if path.exists():
        record = _record(path)
        if record.get("hash") == folds.hash:
            return
        raise RunError(
            str(path),
            rule="folds are written once a competition",
            found=f"a {record.get('kind')} split into {record.get('num_folds')}, not this {folds.kind} split into {folds.num_folds}",
            todo=_AGAIN,
        )
    columns = {"fold": folds.fold_N, "block": folds.block_N, "order": folds.order_N, "group": folds.group_N, "user": folds.user_N}
    frame = pl.DataFrame({name: values for name, values in columns.items() if values is not None})
    record = {
        "schema": SCHEMA,
        "hash": folds.hash,
        "kind": folds.kind,
        "by": folds.by,
        "num_folds": folds.num_folds,
        "seed": folds.seed,
        "item_hash": folds.item_hash,
        "notes": folds.notes,
    }
    write_atomically(path, lambda file: frame.write_parquet(file, metadata={_KEY: json.dumps(record, ensure_ascii=False)}))


def read_folds(path: Path, ids: pl.Series) -> Folds:
    """The folds in `path`; raises RunError when they were made for other items, or the file is not what was written."""
    record = _record(path)
    if record["item_hash"] != hash_items(ids):
        raise RunError(
            str(path),
            rule="folds must be of the items that train has",
            found="folds made for other ids or another order",
            todo=_AGAIN,
        )
    frame = pl.read_parquet(path)
    arrays = {name: np.array(frame[name].to_numpy()) for name in frame.columns}
    folds = Folds(
        kind=record["kind"],
        by=tuple(record["by"]),
        num_folds=record["num_folds"],
        seed=record["seed"],
        fold_N=arrays["fold"],
        item_hash=record["item_hash"],
        block_N=arrays.get("block"),
        order_N=arrays.get("order"),
        group_N=arrays.get("group"),
        user_N=arrays.get("user"),
        notes=tuple(record["notes"]),
    )
    if folds.hash != record["hash"]:
        raise RunError(str(path), rule="must hold the folds that were written", found="another hash", todo=_AGAIN)
    return folds


def _record(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise RunError(str(path), rule="must be a file of folds", found="no such file", todo="Plan the folds first.")
    try:
        record = json.loads(pl.read_parquet_metadata(path)[_KEY])
    except (pl.exceptions.PolarsError, KeyError, ValueError, OSError) as error:
        raise RunError(str(path), rule="must be a file of folds", found=str(error), todo=_AGAIN) from None
    if record.get("schema") != SCHEMA:
        raise RunError(str(path), rule=f"must be folds of schema {SCHEMA}", found=f"schema {record.get('schema')!r}", todo=_AGAIN)
    return dict(record)
