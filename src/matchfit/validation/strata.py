"""What folds are balanced by: classes, label sets, or bins of a number.

Shapes: N items, L labels, K targets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matchfit.competition.problem import Targets

Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

MAX_BINS = 10


@dataclass(frozen=True, kw_only=True)
class Strata:
    """Either `class_N` (one stratum an item) or `labels_NL` (several). `names` are class names; empty for bins, which are never rare."""

    class_N: Int64 | None = None
    labels_NL: Bool | None = None
    names: tuple[str, ...] = ()

    def rare(self, num_folds: int) -> tuple[Bool, list[str]]:
        """Items (N,) of classes that have members, but fewer than folds, and the names of these classes."""
        counts_L = self._counts()
        rare_L = (counts_L > 0) & (counts_L < num_folds) if self.names else np.zeros(len(counts_L), dtype=np.bool_)
        names = [self.names[index] for index in np.flatnonzero(rare_L)]
        if self.labels_NL is not None:
            return np.asarray((self.labels_NL & rare_L).any(axis=1), dtype=np.bool_), names
        assert self.class_N is not None
        return rare_L[self.class_N], names

    def validated_classes(self, kept_N: Bool) -> int:
        """Number of classes (label sets: number of distinct label rows, up to 2) among the items kept for validation."""
        if self.labels_NL is not None:
            kept = self.labels_NL[kept_N]
            return 0 if not len(kept) else 1 + int((kept != kept[0]).any())
        assert self.class_N is not None
        return len(np.unique(self.class_N[kept_N]))

    def _counts(self) -> Int64:
        if self.labels_NL is not None:
            return np.asarray(self.labels_NL.sum(axis=0), dtype=np.int64)
        assert self.class_N is not None
        return np.bincount(self.class_N, minlength=len(self.names)).astype(np.int64)


def strata_of(targets: Targets, num_folds: int) -> Strata | None:
    """Strata of the targets; None when there is nothing to stratify by.

    Soft labels count as their largest class; a number as its quantile bin (up to 10, equal values together); several numbers as the bin
    of their mean rank.
    """
    values = targets.values
    if not len(values):
        return None
    if targets.task == "multilabel":
        return Strata(labels_NL=np.asarray(values, dtype=np.float64) > 0.5, names=targets.classes)
    if targets.classes:
        if values.ndim == 1:
            return Strata(class_N=values.astype(np.int64), names=targets.classes)
        return Strata(
            class_N=np.argmax(np.nan_to_num(np.asarray(values, dtype=np.float64)), axis=1).astype(np.int64), names=targets.classes
        )
    if targets.task in ("regression", "multiregression"):
        number_N = _mean_rank(np.asarray(values, dtype=np.float64).reshape(len(values), -1))
        return Strata(class_N=_bins(number_N, min(MAX_BINS, len(values) // num_folds)))
    return None


def _mean_rank(values_NK: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The value itself for one target, else the mean over the targets of the dense rank; NaN (no target) sorts last."""
    if values_NK.shape[1] == 1:
        return values_NK[:, 0]
    ranks = [np.searchsorted(np.sort(column_N), column_N).astype(np.float64) for column_N in values_NK.T]
    return np.asarray(np.mean(ranks, axis=0), dtype=np.float64)


def _bins(number_N: npt.NDArray[np.float64], num_bins: int) -> Int64:
    ordered = np.sort(number_N)
    if num_bins < 2:
        return np.zeros(len(number_N), dtype=np.int64)
    edges = np.unique(ordered[(np.arange(1, num_bins) * len(ordered)) // num_bins])
    return np.searchsorted(edges, number_N, side="right").astype(np.int64)
