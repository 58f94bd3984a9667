"""Linear models over sparse rows: one support vector machine a class, on features scaled by naive Bayes log-count ratios or as they are; ridge
regression.

The scaling is that of Wang and Manning, "Baselines and Bigrams" (ACL 2012): a feature counts as much as it tells the class from the rest. It
pays where classes are few and large.

Shapes: N rows, V features, K classes or targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import scipy.sparse as sparse

Float64 = npt.NDArray[np.float64]
Float32 = npt.NDArray[np.float32]

SMOOTHING = 1.0  # added to the counts of every feature before the ratio is taken
ABSENT = -1.0  # decision value of a class that the rows do not have


@dataclass(frozen=True)
class Machines:
    """`ratio_VK`: the scaling of each class's features; `weights_VK` of the scaled features; `shift_K`. A class without a machine has only
    zeros, and its constant decision value as shift. `ratio_VK` has no columns when features are taken as they are. Stored as float32, computed
    in float64."""

    ratio_VK: Float32
    weights_VK: Float32
    shift_K: Float64

    def decisions(self, rows_NV: sparse.csr_matrix) -> Float64:
        """(N, K): signed distances; each row is scaled to length one for each class."""
        if not self.ratio_VK.shape[1]:
            return np.asarray(rows_NV @ self.weights_VK.astype(np.float64) + self.shift_K, dtype=np.float64)
        ratio = self.ratio_VK.astype(np.float64)
        length_NK = np.sqrt(rows_NV.multiply(rows_NV).tocsr() @ ratio**2)
        value_NK = rows_NV @ (ratio * self.weights_VK)
        return np.asarray(value_NK / np.maximum(length_NK, 1e-12) + self.shift_K, dtype=np.float64)


def fit_machines(
    rows_NV: sparse.csr_matrix, member_NK: npt.NDArray[np.bool_], *, scaled: bool, strength: float, seed: int
) -> Machines:
    """One machine for each column of `member_NK` (the class against the rest); two columns that exclude each other share one.

    `scaled`: by naive Bayes ratios. `strength` is liblinear's C: higher fits closer.
    """
    num_features, num_classes = rows_NV.shape[1], member_NK.shape[1]
    ratio = np.zeros((num_features, num_classes if scaled else 0), dtype=np.float32)
    weights = np.zeros((num_features, num_classes), dtype=np.float32)
    shift = np.full(num_classes, ABSENT)
    paired = num_classes == 2 and bool((member_NK[:, 0] != member_NK[:, 1]).all())
    for column in range(num_classes):
        positive = member_NK[:, column]
        if positive.all() or not positive.any():
            shift[column] = ABSENT if not positive.any() else -ABSENT
        elif paired and column == 1:
            weights[:, 1], shift[1] = -weights[:, 0], -shift[0]
            if scaled:
                ratio[:, 1] = ratio[:, 0]
        else:
            rows = rows_NV
            if scaled:
                ratio[:, column] = _ratio(rows_NV, positive)
                rows = _scaled(rows_NV, ratio[:, column])
            weights[:, column], shift[column] = _machine(rows, positive, strength, seed)
    return Machines(ratio, weights, shift)


def _ratio(rows_NV: sparse.csr_matrix, positive_N: npt.NDArray[np.bool_]) -> Float32:
    """|log| of the feature's share among the positives over its share among the others."""
    inside = np.asarray(rows_NV[np.flatnonzero(positive_N)].sum(axis=0)).ravel() + SMOOTHING
    outside = np.asarray(rows_NV[np.flatnonzero(~positive_N)].sum(axis=0)).ravel() + SMOOTHING
    ratio = np.abs(np.log((inside / inside.sum()) / (outside / outside.sum())))
    return np.asarray(ratio, dtype=np.float32)


def _scaled(rows_NV: sparse.csr_matrix, ratio_V: Float32) -> sparse.csr_matrix:
    """Features times their ratio, rows of length one."""
    import scipy.sparse as sparse

    row = np.repeat(np.arange(rows_NV.shape[0]), np.diff(rows_NV.indptr))
    value = rows_NV.data * ratio_V.astype(np.float64)[rows_NV.indices]
    length = np.sqrt(np.bincount(row, weights=value**2, minlength=rows_NV.shape[0]))
    value /= np.maximum(length, 1e-12)[row]
    return sparse.csr_matrix((value, rows_NV.indices, rows_NV.indptr), shape=rows_NV.shape)


def _machine(rows_NV: sparse.csr_matrix, positive_N: npt.NDArray[np.bool_], strength: float, seed: int) -> tuple[Float32, float]:
    from sklearn.svm import LinearSVC

    model = LinearSVC(C=strength, random_state=seed % 2**31, max_iter=3000, tol=1e-3)
    model.fit(rows_NV, positive_N.astype(np.int64))
    return model.coef_[0].astype(np.float32), float(model.intercept_[0])


@dataclass(frozen=True)
class Ridge:
    """Values = rows · weights + shift, kept within what was seen (`low_K`, `high_K`). Stored as float32, computed in float64."""

    weights_VK: Float32
    shift_K: Float64
    low_K: Float64
    high_K: Float64

    def values(self, rows_NV: sparse.csr_matrix) -> Float64:
        found = rows_NV @ self.weights_VK.astype(np.float64) + self.shift_K
        return np.asarray(np.clip(found, self.low_K, self.high_K), dtype=np.float64)


def fit_ridge(rows_NV: sparse.csr_matrix, values_NK: Float64, *, penalty: float) -> Ridge:
    """Least squares with `penalty` on the squares of the weights; by conjugate gradients on centred targets, no random start."""
    from sklearn.linear_model import Ridge as Solver

    spread = values_NK.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    centre = values_NK.mean(axis=0)
    model = Solver(alpha=penalty, solver="sparse_cg", tol=1e-5, max_iter=1000)
    model.fit(rows_NV, (values_NK - centre) / spread)
    weights = np.atleast_2d(model.coef_).T * spread
    return Ridge(
        weights.astype(np.float32),
        np.ravel(model.intercept_) * spread + centre,
        values_NK.min(axis=0),
        values_NK.max(axis=0),
    )
