"""Made-up truths and predictions of every task, for the tests of metrics."""

from __future__ import annotations

import numpy as np

from matchfit.competition.metrics import METRICS, Metric
from matchfit.competition.problem import Predictions, Targets

CLASSES = ("ant", "bee", "cat", "dog")


def metric_of(name: str) -> Metric:
    """The family's member with a parameter that fits."""
    metric = METRICS.get(name)
    if metric.parameter is None:
        return metric
    value = metric.parameter.default
    if value is None:
        value = 2.0 if metric.parameter.required else 100.0
    if metric.parameter.integer:
        value = 3.0
    return metric.with_value(value)


def example(task: str, num_items: int = 60, seed: int = 0) -> tuple[Targets, Predictions, Predictions]:
    """(truth, a noisy prediction, a perfect prediction); every class occurs, every row of labels has one at least."""
    rng = np.random.default_rng(seed)
    if task in ("regression", "multiregression"):
        columns = ("y",) if task == "regression" else ("y1", "y2", "y3")
        values = rng.integers(1, 300, (num_items, len(columns))).astype(np.float64)
        if task == "multiregression":  # shares, so that a divergence fits as well
            values = values / values.sum(axis=1, keepdims=True)
        noisy = values * rng.uniform(0.5, 1.5, values.shape)
        truth = Targets(task=task, classes=(), values=values)
        return truth, Predictions(columns=columns, scores_NK=noisy), Predictions(columns=columns, scores_NK=values.copy())
    classes = ("no", "yes") if task == "binary" else ("1", "2", "3", "4") if task == "ordinal" else CLASSES
    size = len(classes)
    if task == "multilabel":
        sets = rng.random((num_items, size)) < 0.4
        sets[np.arange(num_items), rng.integers(0, size, num_items)] = True
        sets[:size] = np.eye(size, dtype=np.bool_)
        truth = Targets(task=task, classes=classes, values=sets.astype(np.float64))
        noisy = np.clip(0.3 + 0.4 * sets + rng.normal(0, 0.3, sets.shape), 0.001, 0.999)
        return truth, Predictions(columns=classes, scores_NK=noisy), Predictions(columns=classes, scores_NK=sets.astype(np.float64))
    labels = np.concatenate([np.arange(size), rng.integers(0, size, num_items - size)])
    one_hot = np.eye(size)[labels]
    noisy = rng.dirichlet(np.ones(size), num_items) + 0.4 * one_hot
    noisy /= noisy.sum(axis=1, keepdims=True)
    truth = Targets(task=task, classes=classes, values=labels.astype(np.int64))
    return truth, Predictions(columns=classes, scores_NK=noisy), Predictions(columns=classes, scores_NK=one_hot)
