"""From decision values to class probabilities, fitted on rows that the decision values were not fitted on.

softmax(s · d + U d + b): temperature scaling (Guo et al. 2017) and, for few classes, a matrix and a shift drawn towards zero.
Binary problems and labels use the same with two columns (0, d), which is Platt's sigmoid.

Shapes: N rows, K classes, F decision values (the first K belong to the classes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]

FULL_CLASSES = 12  # a matrix and a shift up to here; beyond, the scale alone: a hold-out has too few rows of each of many classes
PENALTY = 1.0  # on the squares of U and b, against the sum of log losses
START_SCALE = 3.0  # of margins; also used where there is nothing to fit on


@dataclass(frozen=True)
class Calibrator:
    """`weights_KF` and `shift_K` of the logits."""

    weights_KF: Float64
    shift_K: Float64

    def probabilities(self, decisions_NF: Float64) -> Float64:
        """(N, K), rows sum to one."""
        return softmax(decisions_NF @ self.weights_KF.T + self.shift_K)


def softmax(logits_NK: Float64) -> Float64:
    shifted = np.exp(logits_NK - logits_NK.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), dtype=np.float64)


def uncalibrated(num_classes: int, num_values: int) -> Calibrator:
    """A fixed scale, for where no rows are left to fit one on."""
    return Calibrator(START_SCALE * np.eye(num_classes, num_values), np.zeros(num_classes))


def fit_calibrator(decisions_NF: Float64, truth_N: npt.NDArray[np.int64], num_classes: int) -> Calibrator:
    """The calibrator of least penalised log loss on these rows (convex, so the same on every run)."""
    from scipy.optimize import minimize

    rows, values = decisions_NF.shape
    if rows < 10:
        return uncalibrated(num_classes, values)
    full = num_classes <= FULL_CLASSES
    size = num_classes * values if full else 0
    truth_NK = np.eye(num_classes)[truth_N]

    def unpacked(parameters: Float64) -> tuple[Float64, Float64]:
        weights = parameters[0] * np.eye(num_classes, values)
        if full:
            weights = weights + parameters[1 : 1 + size].reshape(num_classes, values)
        return weights, parameters[1 + size :] if full else np.zeros(num_classes)

    def loss(parameters: Float64) -> tuple[float, Float64]:
        weights, shift = unpacked(parameters)
        probability = softmax(decisions_NF @ weights.T + shift)
        value = -np.log(np.maximum(probability[np.arange(rows), truth_N], 1e-300)).sum() + PENALTY / 2 * (parameters[1:] ** 2).sum()
        error = probability - truth_NK
        slope = error.T @ decisions_NF
        gradient = np.concatenate([[np.trace(slope[:, :num_classes])], *((slope.ravel(), error.sum(axis=0)) if full else ())])
        gradient[1:] += PENALTY * parameters[1:]
        return float(value) / rows, gradient / rows

    start = np.zeros(1 + (size + num_classes if full else 0))
    start[0] = START_SCALE
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return Calibrator(*unpacked(found.x))
