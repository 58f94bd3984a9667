"""What one finished fit leaves in its folder: predictions in full precision, the saved learner, and `done.json`, written last."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from matchfit.competition.problem import Predictions
from matchfit.core.records import read_record, write_atomically, write_record, write_text
from matchfit.learners.records import FOLD_SCHEMA

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class FoldResult:
    """One fit's outcome. `valid` (V,) are the positions of the held-out items that `valid_predictions` is about."""

    index: int
    valid: npt.NDArray[np.int64]
    valid_predictions: Predictions
    test_predictions: Predictions
    facts: dict[str, Any]


def write_fold(directory: Path, result: FoldResult, fingerprint: str) -> None:
    """Write the predictions, then the record that makes them count. `fingerprint` is the hash of all that decided them."""
    _write_scores(directory / "valid.parquet", result.valid_predictions, result.valid)
    _write_scores(directory / "test.parquet", result.test_predictions, None)
    write_record(directory / "done.json", schema=FOLD_SCHEMA, index=result.index, fingerprint=fingerprint, facts=result.facts)


def read_fold(directory: Path, fingerprint: str) -> FoldResult | None:
    """The outcome, or None when the fit has not finished or was decided by something else."""
    if not (directory / "done.json").exists():
        return None
    record = read_record(directory / "done.json", schema=FOLD_SCHEMA)
    if record["fingerprint"] != fingerprint:
        return None
    valid_predictions, valid = _read_scores(directory / "valid.parquet")
    test_predictions, _ = _read_scores(directory / "test.parquet")
    return FoldResult(
        index=record["index"],
        valid=valid,
        valid_predictions=valid_predictions,
        test_predictions=test_predictions,
        facts=record["facts"],
    )


def _write_scores(path: Path, predictions: Predictions, positions: npt.NDArray[np.int64] | None) -> None:
    import numpy as np

    rows = np.arange(len(predictions)) if positions is None else positions
    # Columns are numbered: class names may be anything, even equal to `position`. Their names stand in the run's problem.
    scores = {f"score:{number}": predictions.scores_NK[:, number] for number in range(len(predictions.columns))}
    frame = pl.DataFrame({"position": rows, **scores})
    write_text(path.with_suffix(".columns.json"), json.dumps(list(predictions.columns), ensure_ascii=False))
    write_atomically(path, lambda file: frame.write_parquet(file))


def _read_scores(path: Path) -> tuple[Predictions, npt.NDArray[np.int64]]:
    frame = pl.read_parquet(path)
    names = json.loads(path.with_suffix(".columns.json").read_text(encoding="utf-8"))
    scores_NK = frame.select(pl.col("^score:.*$")).to_numpy().astype("float64", copy=False)
    return Predictions(columns=tuple(names), scores_NK=scores_NK.reshape(len(frame), len(names))), frame["position"].to_numpy()
