"""Metrics of probabilities: log losses, areas under curves, divergence.

Absent classes: the area under a curve of a class without positives, or without negatives, does not exist; then the whole mean is
undefined and says which class, since a mean over fewer columns would be another number under the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from matchfit.competition.metrics.base import CLASS_TASKS, LABEL_TASKS, METRICS, Case, Direction, Metric, Parameter

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

FLOAT64_EPS = float(np.finfo(np.float64).eps)


def _log_loss(case: Case) -> float:
    """Cross-entropy with natural logarithm. Rows are rescaled to one, then clipped to [eps, 1 - eps] (scikit-learn: float64's eps;
    Kaggle's classic: 1e-15). A multi-label problem has the mean over its binary columns."""
    eps = case.number
    if case.targets.task == "multilabel":
        if (case.scores_NK < 0).any() or (case.scores_NK > 1).any():
            raise case.undefined("probabilities lie between 0 and 1", f"{case.scores_NK.min():.6g} to {case.scores_NK.max():.6g}")
        positive_NK, truth_NK = np.clip(case.scores_NK, eps, 1 - eps), case.shares()
        return case.mean(-(truth_NK * np.log(positive_NK) + (1 - truth_NK) * np.log1p(-positive_NK)).mean(axis=1))
    clipped_NK = np.clip(case.distributions(), eps, 1 - eps)
    values = case.targets.values
    if values.ndim == 1:
        return case.mean(-np.log(clipped_NK[np.arange(len(values)), case.true_labels()]))
    return case.mean(-(case.shares() * np.log(clipped_NK)).sum(axis=1))


def _kl_divergence(case: Case) -> float:
    """Mean over items of sum t ln(t / p), both rescaled to one, p clipped below at eps."""
    truth_NK = case.shares() if case.targets.classes else case.true_values()
    if truth_NK.shape != case.scores_NK.shape or (truth_NK < 0).any() or not (truth_NK.sum(axis=1) > 0).all():
        raise case.undefined("the truth is a distribution an item", "negative or empty rows, or another number of columns")
    truth_NK = truth_NK / truth_NK.sum(axis=1, keepdims=True)
    predicted_NK = np.clip(case.distributions(), case.number, None)
    logs_NK = np.log(np.where(truth_NK > 0, truth_NK, 1.0)) - np.log(predicted_NK)
    return case.mean((truth_NK * logs_NK).sum(axis=1))


def _curve(case: Case, positive_N: npt.NDArray[np.bool_], scores_N: Floats, column: str) -> tuple[Floats, Floats]:
    """Weights of negatives and of positives above each distinct score, descending, cumulated, starting from 0."""
    order = np.argsort(-scores_N, kind="stable")
    sorted_N = scores_N[order]
    ends = np.flatnonzero(np.append(sorted_N[1:] != sorted_N[:-1], True))
    hit_N = positive_N[order]
    if case.weights_N is None:
        above = np.cumsum(hit_N, dtype=np.int64)[ends].astype(np.float64)
        below = ends + 1.0 - above
    else:
        weights = case.weights_N[order]
        above, below = np.cumsum(weights * hit_N)[ends], np.cumsum(weights * ~hit_N)[ends]
    if above[-1] <= 0 or below[-1] <= 0:
        raise case.undefined("one class only in truth", f"{'no' if above[-1] <= 0 else 'only'} items of {column!r}")
    return np.append(0.0, below), np.append(0.0, above)


def _trapezoid(x: Floats, y: Floats) -> float:
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2)


def _area(case: Case, positive_N: npt.NDArray[np.bool_], scores_N: Floats, column: str) -> float:
    below, above = _curve(case, positive_N, scores_N, column)
    return _trapezoid(below, above) / float(below[-1] * above[-1])


def _columns(case: Case) -> list[tuple[npt.NDArray[np.bool_], Floats, str]]:
    """(is positive (N,), scores (N,), name) of every column that is scored: the positive class of a binary problem, all else."""
    names = case.targets.classes
    if case.targets.task == "binary":
        return [(case.true_labels() == 1, case.scores_NK[:, 1], names[1])]
    sets_NK = case.true_sets()
    return [(sets_NK[:, k], case.scores_NK[:, k], name) for k, name in enumerate(names)]


def _roc_auc(case: Case) -> float:
    """Binary: area under the ROC curve of `classes[1]`. Multi-class: mean of one-vs-rest areas. Multi-label: mean over columns."""
    return float(np.mean([_area(case, *column) for column in _columns(case)]))


def _roc_auc_weighted(case: Case) -> float:
    """The areas of all classes, one against the rest, weighted by how often each is true."""
    columns = _columns(case)
    rows = np.ones(len(case.targets)) if case.weights_N is None else case.weights_N
    return float(np.average([_area(case, *column) for column in columns], weights=[rows @ column[0] for column in columns]))


def _roc_auc_tpr_weighted(case: Case) -> float:
    """Area under the ROC curve in which the part below a true positive rate of 0.4 counts twice, divided by 1.4 (ALASKA2).

    The area of each band is exact (the curve clipped to the band), without the padding of the host's notebook.
    """
    below, above = _curve(case, *_columns(case)[0])
    false_rate, true_rate = below / below[-1], above / above[-1]
    place = int(np.searchsorted(true_rate, 0.4))
    if true_rate[place] > 0.4:  # the clipped curve bends inside this segment
        part = (0.4 - true_rate[place - 1]) / (true_rate[place] - true_rate[place - 1])
        bend = false_rate[place - 1] + part * (false_rate[place] - false_rate[place - 1])
        false_rate, true_rate = np.insert(false_rate, place, bend), np.insert(true_rate, place, 0.4)
    low = _trapezoid(false_rate, np.minimum(true_rate, 0.4))
    high = _trapezoid(false_rate, np.maximum(true_rate - 0.4, 0.0))
    return (2 * low + high) / (2 * 0.4 + 0.6)


def _average_precision(case: Case) -> float:
    """Sum of precision times gain in recall over distinct scores, without interpolation; several columns: their mean."""
    areas = []
    for positive_N, scores_N, column in _columns(case):
        if not positive_N.any():
            raise case.undefined("one class only in truth", f"no items of {column!r}")
        if positive_N.all():
            areas.append(1.0)
            continue
        below, above = _curve(case, positive_N, scores_N, column)
        precision = np.divide(above[1:], below[1:] + above[1:], out=np.zeros(len(above) - 1), where=below[1:] + above[1:] > 0)
        areas.append(float(np.sum(np.diff(above) * precision) / above[-1]))
    return float(np.mean(areas))


def _brier(case: Case) -> float:
    """Binary: mean squared distance of the probability of `classes[1]`. Several classes: summed over classes. Multi-label: mean over columns."""
    truth_NK = case.shares()
    if case.targets.task == "multilabel":
        return case.mean(((case.scores_NK - truth_NK) ** 2).mean(axis=1))
    squares_N = ((case.distributions() - truth_NK) ** 2).sum(axis=1)
    return case.mean(squares_N) / (2 if case.targets.task == "binary" else 1)


def _add(
    name: str,
    compute: Callable[[Case], float],
    tasks: tuple[str, ...],
    aliases: tuple[str, ...],
    *,
    direction: Direction = "maximize",
    high: float = 1.0,
    parameter: Parameter | None = None,
) -> None:
    METRICS.add(
        name,
        Metric(
            name=name,
            direction=direction,
            needs="probabilities",
            tasks=tasks,
            compute=compute,
            range=(0.0, high),
            parameter=parameter,
        ),
        aliases=aliases,
    )


_add(
    "log_loss",
    _log_loss,
    LABEL_TASKS,
    (
        "logloss",
        "cross_entropy",
        "multiclass_log_loss",
        "multi_class_log_loss",
        "binary_log_loss",
        "mean_columnwise_log_loss",
        "nll",
    ),
    direction="minimize",
    high=np.inf,
    parameter=Parameter(name="eps", default=FLOAT64_EPS, low=1e-300, high=0.1),
)
_add(
    "kl_divergence",
    _kl_divergence,
    (*CLASS_TASKS, "multilabel", "multiregression"),
    ("kl", "kullback_leibler", "kl_div"),
    direction="minimize",
    high=np.inf,
    parameter=Parameter(name="eps", default=1e-15, low=1e-300, high=0.1),
)
_add(
    "roc_auc",
    _roc_auc,
    LABEL_TASKS,
    (
        "auc",
        "auroc",
        "auc_roc",
        "roc_auc_ovr",
        "roc_auc_macro",
        "macro_auc",
        "mean_auc",
        "mean_columnwise_auc",
        "mean_columnwise_roc_auc",
        "column_mean_auc",
    ),
)
_add("roc_auc_weighted", _roc_auc_weighted, ("multiclass", "ordinal", "multilabel"), ("roc_auc_ovr_weighted",))
_add("roc_auc_tpr_weighted", _roc_auc_tpr_weighted, ("binary",), ("weighted_auc", "weighted_roc_auc", "alaska2_weighted_auc"))
_add("average_precision", _average_precision, LABEL_TASKS, ("ap", "pr_auc", "average_precision_macro", "macro_average_precision"))
_add("brier", _brier, LABEL_TASKS, ("brier_score", "brier_score_loss"), direction="minimize", high=2.0)
