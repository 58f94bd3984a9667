"""The table of predictions in full: one layout for out-of-fold and test predictions, read back strictly.

Columns, in this order: `id:<column>` (text; `id:row` where the competition has no id), `fold` (int64; null in a test table),
`target:<column>` (text as the host wrote it; none in a test table), `score:<column>` (float64, a column of `Predictions`).

Shapes: N items, K columns of scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.competition.problem import KEY_SEPARATOR, Predictions
from matchfit.core.errors import RunError
from matchfit.core.records import write_atomically

Int64 = npt.NDArray[np.int64]

ROW = "row"
_TODO = "Run the folds again; tables of different runs are not mixed by hand."


@dataclass(frozen=True, kw_only=True)
class OofTable:
    """What was read: items in the order of the file, or of the ids that were asked for. `fold_N` is -1 in a test table."""

    ids: pl.Series
    fold_N: Int64
    target_table: pl.DataFrame
    predictions: Predictions


def oof_frame(
    ids: pl.Series,
    id_columns: tuple[str, ...],
    fold_N: Int64 | None,
    target_table: pl.DataFrame | None,
    predictions: Predictions,
) -> pl.DataFrame:
    """The table of N items; for test items `fold_N` and `target_table` are None. Raises RunError when lengths or ids do not fit."""
    lengths = {"ids": len(ids), "scores": len(predictions)}
    if fold_N is not None:
        lengths["folds"] = len(fold_N)
    if target_table is not None and target_table.width:
        lengths["targets"] = target_table.height
    if len(set(lengths.values())) > 1:
        raise _fault("prediction table", "must have one row an item", ", ".join(f"{name} {size}" for name, size in lengths.items()))
    _check_filled(ids, "prediction table")
    columns = [
        *_id_series(ids.cast(pl.String), id_columns or (ROW,)),
        pl.Series("fold", [None] * len(ids) if fold_N is None else fold_N, dtype=pl.Int64),
        *(column.cast(pl.String).alias(f"target:{column.name}") for column in (target_table if target_table is not None else ())),
        *(pl.Series(f"score:{name}", predictions.scores_NK[:, k], dtype=pl.Float64) for k, name in enumerate(predictions.columns)),
    ]
    return pl.DataFrame(columns)


def write_oof(path: Path, frame: pl.DataFrame) -> None:
    """Write a table of `oof_frame` as parquet, in one step."""
    write_atomically(path, lambda file: frame.write_parquet(file))


def read_oof(path: Path, ids: pl.Series | None = None, *, columns: tuple[str, ...] | None = None, subset: bool = False) -> OofTable:
    """Read a table; with `ids` the rows are put in their order.

    Raises RunError when an id is there twice, when the ids are not exactly `ids` (with `subset`: not among `ids`; then the result holds the ids
    that are there, in the order of `ids`), when the score columns are not `columns`, or a score is not finite.
    """
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _fault(str(path), "must be a prediction table", str(error)) from None
    names = {kind: [name for name in frame.columns if name.startswith(f"{kind}:")] for kind in ("id", "target", "score")}
    if not names["id"] or not names["score"] or "fold" not in frame.columns:
        raise _fault(str(path), "must have id:, fold and score: columns", ", ".join(frame.columns[:10]))
    key = frame.select(pl.concat_str(names["id"], separator=KEY_SEPARATOR).alias("id")).to_series()
    _check_filled(key, str(path))
    if ids is not None:
        frame, key = _ordered(frame, key, ids.cast(pl.String), str(path), subset)
    found = tuple(name.removeprefix("score:") for name in names["score"])
    if columns is not None and found != columns:
        raise _fault(str(path), f"must have scores for {', '.join(columns)}", ", ".join(found))
    scores_NK = np.ascontiguousarray(frame.select(names["score"]).to_numpy(), dtype=np.float64)
    if not np.isfinite(scores_NK).all():
        bad = key.gather(np.flatnonzero(~np.isfinite(scores_NK).all(axis=1))[:1]).to_list()
        raise _fault(str(path), "scores must be finite", f"NaN or infinity for item {bad[0]!r}")
    return OofTable(
        ids=key,
        fold_N=np.array(frame["fold"].fill_null(-1).to_numpy(), dtype=np.int64),
        target_table=frame.select(pl.col(name).alias(name.removeprefix("target:")) for name in names["target"]),
        predictions=Predictions(columns=found, scores_NK=scores_NK),
    )


def _ordered(frame: pl.DataFrame, key: pl.Series, ids: pl.Series, source: str, subset: bool) -> tuple[pl.DataFrame, pl.Series]:
    place = pl.DataFrame({"id": _told_apart(ids)}).join(
        pl.DataFrame({"id": _told_apart(key)}).with_row_index("place"), on="id", how="left", maintain_order="left"
    )
    held = place.drop_nulls("place")
    extra, missing = len(key) - held.height, len(ids) - held.height
    if extra or (missing and not subset):
        rule = "must hold exactly the items of the competition"
        raise _fault(source, rule, f"{missing} missing, {extra} unknown or repeated ids")
    position = held["place"].cast(pl.Int64)
    return frame[position.to_numpy()], key[position.to_numpy()]


def _id_series(ids: pl.Series, names: tuple[str, ...]) -> list[pl.Series]:
    if len(names) == 1:
        return [ids.alias(f"id:{names[0]}")]
    parts = ids.str.split_exact(KEY_SEPARATOR, len(names) - 1).struct.unnest()
    if parts.null_count().sum_horizontal().item():
        raise _fault("prediction table", f"every id must have {len(names)} parts", "an id with fewer")
    return [part.alias(f"id:{name}") for part, name in zip(parts, names, strict=True)]


def _check_filled(ids: pl.Series, source: str) -> None:
    if ids.null_count():
        raise _fault(source, "every item must have an id", f"{ids.null_count()} without")


def _told_apart(ids: pl.Series) -> pl.Series:
    """Ids with their number of occurrence: some hosts repeat an id, and then the rows of one id are told apart by their order."""
    if ids.n_unique() == len(ids):
        return ids
    frame = pl.DataFrame({"id": ids})
    number = pl.int_range(pl.len()).over("id").cast(pl.String)
    return frame.select(pl.when(number == "0").then(pl.col("id")).otherwise(pl.col("id") + KEY_SEPARATOR + "#" + number))["id"]


def _fault(name: str, rule: str, found: str) -> RunError:
    return RunError(name, rule=rule, found=found, todo=_TODO)
