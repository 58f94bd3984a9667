"""Metrics of ranked classes. Ties in the scores are broken by the declared order of the classes, as in a ranked submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from matchfit.competition.metrics.base import CLASS_TASKS, METRICS, Case, Metric, Parameter
from matchfit.competition.metrics.decode import ranked

if TYPE_CHECKING:
    import numpy.typing as npt

RANKED_TASKS = (*CLASS_TASKS, "multilabel", "ranking")
_LENGTH = Parameter(name="the list's length", default=5, low=1, high=1e6, integer=True)


def _relevant(case: Case) -> npt.NDArray[np.bool_]:
    """(N, L) whether the class at each place of the ranked list is true."""
    places_NL = ranked(case.scores_NK, int(case.number))
    if case.targets.values.ndim == 1:
        return np.asarray(places_NL == case.true_labels()[:, None])
    return np.asarray(np.take_along_axis(case.true_sets(), places_NL, axis=1))


def _num_true(case: Case) -> npt.NDArray[np.float64]:
    if case.targets.values.ndim == 1:
        return np.ones(len(case.targets))
    return np.asarray(case.true_sets().sum(axis=1), dtype=np.float64)


def _top_k(case: Case) -> float:
    """Share of items with a true class among the k highest scores."""
    return case.mean(np.asarray(_relevant(case).any(axis=1)))


def _map(case: Case) -> float:
    """Mean over items of the average precision of the first k classes, divided by min(k, number of true classes); an item without a
    true class counts zero (Kaggle). With one true class it is 1 / its place."""
    relevant_NL = _relevant(case)
    precision_NL = np.cumsum(relevant_NL, axis=1) / np.arange(1, relevant_NL.shape[1] + 1)
    best_N = np.minimum(_num_true(case), case.number)
    return case.mean((precision_NL * relevant_NL).sum(axis=1) / np.maximum(best_N, 1.0))


def _lwlrap(case: Case) -> float:
    """Label-weighted label-ranking average precision (DCASE 2019, task 2): the mean over all true labels of the precision at their place,
    labels of equal score sharing the lowest place. Items without a true label take no part."""
    truth_NK = case.true_sets()
    order_NK = np.argsort(-case.scores_NK, axis=1, kind="stable")
    sorted_NK = np.take_along_axis(case.scores_NK, order_NK, axis=1)
    hits_NK = np.take_along_axis(truth_NK, order_NK, axis=1)
    num_classes = hits_NK.shape[1]
    is_end_NK = np.append(sorted_NK[:, 1:] != sorted_NK[:, :-1], np.ones((len(hits_NK), 1), np.bool_), axis=1)
    ends_NK = np.where(is_end_NK, np.arange(num_classes), num_classes)
    last_NK = np.minimum.accumulate(ends_NK[:, ::-1], axis=1)[:, ::-1]
    precision_NK = np.take_along_axis(np.cumsum(hits_NK, axis=1), last_NK, axis=1) / (last_NK + 1.0)
    rows = np.ones(len(hits_NK)) if case.weights_N is None else case.weights_N
    total = rows @ hits_NK.sum(axis=1)
    if total <= 0:
        raise case.undefined("no label is true", "only empty label sets")
    return float(rows @ (precision_NK * hits_NK).sum(axis=1) / total)


METRICS.add(
    "top_k",
    Metric(name="top_k", direction="maximize", needs="ranks", tasks=RANKED_TASKS, compute=_top_k, parameter=_LENGTH),
    aliases=("top_k_accuracy", "topk", "top_k_categorical_accuracy"),
)
METRICS.add(
    "map",
    Metric(name="map", direction="maximize", needs="ranks", tasks=RANKED_TASKS, compute=_map, parameter=_LENGTH),
    aliases=("map_k", "mapk", "mean_average_precision"),
)
METRICS.add(
    "lwlrap",
    Metric(name="lwlrap", direction="maximize", needs="ranks", tasks=("multilabel", "multiclass"), compute=_lwlrap),
    aliases=("label_weighted_lrap", "label_weighted_label_ranking_average_precision"),
)
