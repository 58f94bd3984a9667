"""Scores per fold and out of fold, with an interval that says what it covers.

The interval has two parts:
1. the draw of the scored items: a bootstrap of the out-of-fold rows, whole groups where there are groups (Efron & Tibshirani 1993, ch. 6 and
   8). Beyond 10,000 rows fewer units are drawn and deviations are scaled by sqrt(drawn / all) (m out of n: Bickel, Götze & van Zwet 1997);
2. the draw of the training items: n_valid / n_train times the variance of the fold scores (Nadeau & Bengio 2003, "Inference for the
   generalization error", eq. 7, whose other term, 1 / folds times that variance, is what part 1 estimates from all rows).
The variances are added, the degrees of freedom by Welch and Satterthwaite, and the bootstrap's quantiles, centred on the score, are stretched to
that width, so that a skewed metric keeps its skew. The result is careful: in simulations (nearest centroid; 60 to 400 items, single or in 10 to
40 groups; 300 to 400 trials each) the 90 % interval held the procedure's mean score on new data in 93 to 99 % of the trials, the bootstrap
alone in 83 to 92 %.

Shapes: N items.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from matchfit.competition.problem import Predictions, Targets
from matchfit.core.errors import MetricError
from matchfit.core.seeds import generator

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
MetricFunction = Callable[[Targets, Predictions], float]

ROWS_DRAWN = 10_000  # more tells nothing about the width
RESAMPLES = (1000, 500, 250, 100)  # as many as the time allows, so that a slightly slower machine does the same
LEVEL = 0.9


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A score, or the name of what made it undefined."""

    value: float | None
    event: str = ""


def evaluate(metric: MetricFunction, targets: Targets, predictions: Predictions) -> Outcome:
    """The metric, with a MetricError or a result that is no number turned into an event."""
    try:
        value = float(metric(targets, predictions))
    except MetricError as error:
        return Outcome(value=None, event=str(error))
    return Outcome(value=value) if math.isfinite(value) else Outcome(value=None, event=f"the metric returned {value}")


def summarise(
    metric: MetricFunction,
    targets: Targets,
    predictions: Predictions,
    fold_N: Int64,
    *,
    group_N: Int64 | None = None,
    unit: str = "groups",
    ran: Sequence[int] | None = None,
    valid_over_train: float | None = None,
    level: float = LEVEL,
    seed: int = 0,
    max_seconds: float = 30.0,
) -> dict[str, Any]:
    """Scores of a run whose items were validated in the folds `fold_N`; rows of folds that did not run are ignored.

    `predictions` and `targets` cover all N items. `group_N`, `unit`: what the bootstrap draws whole, as `Folds.resampling_units()` says; None:
    single items. `ran`: the folds that ran (None: all in `fold_N`). `valid_over_train`:
    `Folds.valid_over_train()` (None: as for folds that learn from everything else). Keys of the result: `oof` (all rows that ran, at once),
    `folds` and `fold_indices`, `mean`, `sd` (with n - 1), `rows`, `interval` [low, high] or None, `interval_level`, `interval_method`,
    `interval_omits`, `interval_units`, `interval_resamples`, `events`. Undefined scores are None and have an event.
    """
    indices = sorted({int(fold) for fold in np.unique(fold_N) if fold >= 0} if ran is None else set(ran))
    events: list[dict[str, str]] = []
    scores: list[float | None] = []
    for index in indices:
        outcome = _on(metric, targets, predictions, np.flatnonzero(fold_N == index))
        scores.append(outcome.value)
        if outcome.event:
            events.append({"name": "metric_undefined", "where": f"fold {index}", "message": outcome.event})
    rows = np.flatnonzero(np.isin(fold_N, indices))
    oof = _on(metric, targets, predictions, rows)
    if oof.event:
        events.append({"name": "metric_undefined", "where": "out of fold", "message": oof.event})
    known = [score for score in scores if score is not None]
    result: dict[str, Any] = {
        "oof": oof.value,
        "folds": scores,
        "fold_indices": indices,
        "mean": float(np.mean(known)) if known else None,
        "sd": float(np.std(known, ddof=1)) if len(known) > 1 else None,
        "rows": len(rows),
    }
    if valid_over_train is None:
        sizes = [int((fold_N == index).sum()) for index in indices]
        valid_over_train = float(np.mean([size / max(len(fold_N) - size, 1) for size in sizes])) if sizes else 0.0
    interval = _interval(
        metric,
        targets.take(rows),
        predictions.take(rows),
        None if group_N is None else group_N[rows],
        "items" if group_N is None else unit,
        oof.value,
        known,
        valid_over_train,
        level=level,
        seed=seed,
        max_seconds=max_seconds,
        events=events,
    )
    return {**result, **interval, "events": events}


def _on(metric: MetricFunction, targets: Targets, predictions: Predictions, rows: Int64) -> Outcome:
    if not len(rows):
        return Outcome(value=None, event="no items")
    return evaluate(metric, targets.take(rows), predictions.take(rows))


def _interval(
    metric: MetricFunction,
    targets: Targets,
    predictions: Predictions,
    group_N: Int64 | None,
    unit: str,
    score: float | None,
    fold_scores: list[float],
    valid_over_train: float,
    *,
    level: float,
    seed: int,
    max_seconds: float,
    events: list[dict[str, str]],
) -> dict[str, Any]:
    units = _Units(len(targets), group_N)
    with_folds = len(fold_scores) > 1
    facts: dict[str, Any] = {
        "interval": None,
        "interval_level": level,
        "interval_method": f"bootstrap over {units.count} {unit} of the out-of-fold rows"
        + (", widened by n_valid/n_train x variance of the fold scores (Nadeau & Bengio 2003)" if with_folds else ""),
        "interval_omits": "choices made after looking at this score; a test drawn from elsewhere or later"
        + ("" if with_folds else "; the draw of the training items (one fold)"),
        "interval_units": units.count,
        "interval_resamples": 0,
    }
    if score is None or units.count < 2:
        return facts
    draws_R, tried = _bootstrap(metric, targets, predictions, units, seed, max_seconds)
    facts["interval_resamples"] = len(draws_R)
    if len(draws_R) < max(20, tried // 2):
        message = f"the metric is undefined on {tried - len(draws_R)} of {tried} resamples"
        events.append({"name": "interval_undefined", "where": "out of fold", "message": message})
        return facts
    deviation_R = (draws_R - draws_R.mean()) * units.scale
    variance_items = float(deviation_R.var(ddof=1))
    variance_training = valid_over_train * float(np.var(fold_scores, ddof=1)) if with_folds else 0.0
    total = variance_items + variance_training
    if total == 0:
        facts["interval"] = [score, score]
        return facts
    freedom = total**2 / (variance_items**2 / (units.count - 1) + variance_training**2 / max(len(fold_scores) - 1, 1))
    low, high = _stretched(deviation_R, variance_items, total, freedom, level)
    bounds = getattr(metric, "range", (-math.inf, math.inf))
    facts["interval"] = [max(score + low, min(bounds[0], score)), min(score + high, max(bounds[1], score))]
    return facts


def _stretched(deviation_R: Float64, variance_items: float, total: float, freedom: float, level: float) -> tuple[float, float]:
    """Offsets (low <= 0 <= high): the bootstrap's centred quantiles, stretched to `total` variance and Student's t."""
    from scipy.stats import norm, t

    tail = (1 - level) / 2
    student, normal = float(t.ppf(1 - tail, freedom)), float(norm.ppf(1 - tail))
    if variance_items == 0:
        half = student * math.sqrt(total)
        return -half, half
    stretch = math.sqrt(total / variance_items) * student / normal
    low, high = np.quantile(deviation_R, [tail, 1 - tail]) * stretch
    return min(float(low), 0.0), max(float(high), 0.0)


class _Units:
    """What is drawn: single rows, or groups of rows. `drawn` units a resample; deviations are then too large by 1 / `scale`."""

    def __init__(self, num_rows: int, group_N: Int64 | None) -> None:
        self.order_N: Int64 | None = None
        self.count = num_rows
        if group_N is not None:
            _, compact_N, sizes = np.unique(group_N, return_inverse=True, return_counts=True)
            self.order_N = np.argsort(compact_N, kind="stable")
            self.start_U, self.size_U, self.count = np.cumsum(sizes) - sizes, sizes, len(sizes)
        self.drawn = self.count
        if num_rows > ROWS_DRAWN:
            self.drawn = min(self.count, max(math.ceil(self.count * ROWS_DRAWN / num_rows), 200))
        self.scale = math.sqrt(self.drawn / self.count) if self.count else 1.0

    def draw(self, random: np.random.Generator) -> Int64:
        """Row positions of one resample."""
        unit = random.integers(0, self.count, self.drawn)
        if self.order_N is None:
            return unit
        size = self.size_U[unit]
        within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        return np.asarray(self.order_N[np.repeat(self.start_U[unit], size) + within], dtype=np.int64)


def _bootstrap(
    metric: MetricFunction, targets: Targets, predictions: Predictions, units: _Units, seed: int, max_seconds: float
) -> tuple[Float64, int]:
    """(scores of the resamples where the metric is defined, number of resamples).

    Resample r depends on (seed, r) alone; their number is one of RESAMPLES, by the time that the first five took.
    """
    began = time.perf_counter()
    scores: list[float] = []
    planned = RESAMPLES[0]
    tried = 0
    while tried < planned:
        rows = units.draw(generator(seed, "bootstrap", tried))
        if (value := evaluate(metric, targets.take(rows), predictions.take(rows)).value) is not None:
            scores.append(value)
        tried += 1
        if tried == 5:
            affordable = max_seconds / max((time.perf_counter() - began) / tried, 1e-9)
            planned = next((number for number in RESAMPLES if number <= affordable), RESAMPLES[-1])
    return np.asarray(scores), tried
