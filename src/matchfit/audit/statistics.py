"""The few statistics that checks need, in numpy: ranks, AUC with an interval, and how well one column tells another.

Shapes: N items, K classes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MAX_BINS = 64
MAX_LEVELS = 512  # categories beyond the most frequent ones are one
MAX_CLASSES = 30
PSEUDO_ROWS = 0.1  # at the whole mean, in each cell
Z95 = 1.959964


def midranks(values_N: Floats) -> Floats:
    """Ranks from 1, ties share their mean."""
    _, inverse, counts = np.unique(values_N, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[inverse]
    return ranks


def auc(scores_N: Floats, positive_N: npt.NDArray[np.bool_]) -> float:
    """Area under the ROC curve by ranks; 0.5 when a side is empty."""
    num_positive, num_negative = int(positive_N.sum()), int((~positive_N).sum())
    if not num_positive or not num_negative:
        return 0.5
    total = midranks(scores_N)[positive_N].sum()
    return float((total - num_positive * (num_positive + 1) / 2) / (num_positive * num_negative))


def auc_interval(scores_N: Floats, positive_N: npt.NDArray[np.bool_]) -> tuple[float, float, float]:
    """(AUC, low, high): 95 % interval by the variance of DeLong, DeLong and Clarke-Pearson (1988)."""
    positive, negative = scores_N[positive_N], scores_N[~positive_N]
    if len(positive) < 2 or len(negative) < 2:
        return 0.5, 0.0, 1.0
    ranks = midranks(scores_N)
    above = (ranks[positive_N] - midranks(positive)) / len(negative)
    below = 1 - (ranks[~positive_N] - midranks(negative)) / len(positive)
    value = float(above.mean())
    deviation = float(np.sqrt(above.var(ddof=1) / len(positive) + below.var(ddof=1) / len(negative)))
    return value, max(0.0, value - Z95 * deviation), min(1.0, value + Z95 * deviation)


def numbers(column: pl.Series) -> Floats:
    """A text column as numbers, NaN where it is not one."""
    cast = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    return cast.fill_null(float("nan")).to_numpy().astype(np.float64)


def cells(column: pl.Series) -> Ints:
    """(N,) integer cells of a text column: at most MAX_BINS quantile bins when (nearly) all values are numbers of many values, else the
    MAX_LEVELS most frequent texts; empty is a cell of its own."""
    values = numbers(column)
    finite = np.isfinite(values)
    filled = column.len() - column.null_count()
    if filled and finite.sum() >= 0.95 * filled:
        return bins(values)
    codes = column.cast(pl.String).fill_null("").rank("dense").to_numpy().astype(np.int64) - 1
    counts = np.bincount(codes)
    frequent = np.argsort(-counts, kind="stable")[:MAX_LEVELS]
    place = np.full(len(counts), len(frequent), np.int64)
    place[frequent] = np.arange(len(frequent))
    result: Ints = place[codes]
    return result


def bins(values_N: Floats) -> Ints:
    """(N,) each distinct value its own bin when there are few, else quantile bins of 20 rows or more, MAX_BINS at most; not finite is bin 0."""
    most = min(MAX_BINS, max(8, len(values_N) // 20))
    finite = np.isfinite(values_N)
    result = np.zeros(len(values_N), np.int64)
    if not finite.any():
        return result
    present = values_N[finite]
    distinct = np.unique(present)
    edges = distinct if len(distinct) <= most else np.unique(np.quantile(present, np.linspace(0, 1, most + 1)[:-1]))
    result[finite] = np.searchsorted(edges, present, side="right")
    return result


def told(cells_N: Ints, targets_N: Floats | Ints, *, num_classes: int, half_N: npt.NDArray[np.bool_]) -> float:
    """How well a column alone gives the target away, on rows that it was not fitted on (two halves, each judged by the other).

    Classes (`num_classes` > 0, targets int): mean one-against-rest AUC of the cells' class shares, over the MAX_CLASSES most frequent
    classes: 0.5 tells nothing, 1 everything. Numbers: R² of the cells' means on the ranks of the target.
    """
    if num_classes:
        counts = np.bincount(targets_N.astype(np.int64), minlength=num_classes)
        chosen = [int(c) for c in np.argsort(-counts, kind="stable")[:MAX_CLASSES] if counts[c] >= 4]
        if num_classes == 2:
            chosen = chosen[:1]
        scores = []
        for target_class in chosen:
            positive = targets_N == target_class
            scores.append(auc(_means(cells_N, positive.astype(np.float64), half_N), positive))
        return float(np.mean(scores)) if scores else 0.5
    ranks = midranks(targets_N.astype(np.float64))
    spread = float(((ranks - ranks.mean()) ** 2).sum())
    return float(1 - ((ranks - _means(cells_N, ranks, half_N)) ** 2).sum() / spread) if spread else 0.0


def _means(cells_N: Ints, values_N: Floats, half_N: npt.NDArray[np.bool_]) -> Floats:
    """The mean of each row's cell, of the rows of the other half; a cell without any has the whole mean."""
    result = np.empty(len(cells_N))
    number = int(cells_N.max(initial=0)) + 1
    for side in (half_N, ~half_N):
        prior = values_N[side].mean() if side.any() else 0.0
        sums = np.bincount(cells_N[side], values_N[side], minlength=number)
        counts = np.bincount(cells_N[side], minlength=number)
        result[~side] = ((sums + PSEUDO_ROWS * prior) / (counts + PSEUDO_ROWS))[cells_N[~side]]
    return result
