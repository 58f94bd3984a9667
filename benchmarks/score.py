"""Score a submission against answers that only a judge has.

usage: python -m benchmarks.score SUBMISSION SOLUTION --metric NAME

Both files are matched by id. The solution's `Usage` column (Public, Private) divides the items where there is one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl

from matchfit.competition.metrics import get_metric
from matchfit.competition.problem import Predictions, Targets
from matchfit.core.errors import SubmissionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("submission", type=Path)
    parser.add_argument("solution", type=Path)
    parser.add_argument("--metric", required=True)
    args = parser.parse_args()
    print(json.dumps(scores(args.submission, args.solution, args.metric)))


def scores(submission: Path, solution: Path, metric_name: str) -> dict[str, float]:
    """Scores of one predicted column: a label, a probability of the last class, or a value."""
    predicted, truth = (pl.read_csv(path, infer_schema=False) for path in (submission, solution))
    key, column = truth.columns[:2]
    joined = truth.join(
        predicted.select(pl.col(predicted.columns[0]).alias(key), pl.col(predicted.columns[1]).alias("predicted")), on=key
    )
    if len(joined) != len(truth) or len(predicted) != len(truth):
        raise SubmissionError(
            str(submission), rule="must have the solution's ids", found=f"{len(joined)} common", todo="Check the file."
        )
    usage = joined["Usage"].to_list() if "Usage" in joined.columns else ["all"] * len(joined)
    metric = get_metric(metric_name)
    targets, predictions = _numbers(joined[column], joined["predicted"], metric.needs)
    found = {"all": metric(targets, predictions)}
    for part in sorted(set(usage) - {"all"}):
        rows = np.flatnonzero(np.array(usage) == part)
        found[part.lower()] = metric(targets.take(rows), predictions.take(rows))
    return found


def _numbers(truth: pl.Series, predicted: pl.Series, needs: str) -> tuple[Targets, Predictions]:
    if needs == "values":
        values_N1 = truth.cast(pl.Float64).to_numpy()[:, None]
        return (
            Targets(task="regression", classes=(), values=values_N1),
            Predictions(columns=("value",), scores_NK=predicted.cast(pl.Float64).to_numpy()[:, None]),
        )
    classes = tuple(sorted(set(truth.to_list())))
    index = {name: number for number, name in enumerate(classes)}
    labels_N = np.array([index[name] for name in truth.to_list()])
    task = "binary" if len(classes) == 2 else "multiclass"
    if needs == "probabilities":
        positive_N = predicted.cast(pl.Float64).to_numpy()
        scores_NK = np.stack([1 - positive_N, positive_N], axis=1)
    else:
        scores_NK = np.zeros((len(labels_N), len(classes)))
        for row, name in enumerate(predicted.to_list()):
            if name in index:  # a class that never occurs in the answers is wrong wherever it is predicted
                scores_NK[row, index[name]] = 1.0
            else:
                scores_NK[row, (labels_N[row] + 1) % len(classes)] = 1.0
    return Targets(task=task, classes=classes, values=labels_N), Predictions(columns=classes, scores_NK=scores_NK)


if __name__ == "__main__":
    main()
