"""From scores to decisions, by one rule that the metrics, the out-of-fold table and the submission share.

Shapes: N items, K classes, L names in a ranked list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

THRESHOLD = 0.5  # a label of a multi-label problem is given above it


def most_likely(scores_NK: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """(N,) the class of the highest score; a tie goes to the class that is declared first."""
    return np.asarray(scores_NK.argmax(axis=1), dtype=np.int64)


def expected_level(scores_NK: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """(N,) the rounded expected level of ordinal classes, halves up: sum over k of k * score_k, the rows being rescaled to one.

    It minimises the squared distance in levels, which quadratic weighted kappa and RMSE punish; the most likely level does not.
    """
    total_N = scores_NK.sum(axis=1)
    expected_N = scores_NK @ np.arange(scores_NK.shape[1], dtype=np.float64) / np.where(total_N > 0, total_N, 1.0)
    return np.clip(np.floor(expected_N + 0.5), 0, scores_NK.shape[1] - 1).astype(np.int64)


def above_threshold(scores_NK: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """(N, K) which labels are given: those whose score is above one half. A row may end without any label."""
    return np.asarray(scores_NK > THRESHOLD)


def ranked(scores_NK: npt.NDArray[np.float64], length: int) -> npt.NDArray[np.int64]:
    """(N, L) the classes of the L = min(length, K) highest scores, best first; ties in the declared order of the classes."""
    length = min(length, scores_NK.shape[1])
    return np.asarray(np.argsort(-scores_NK, axis=1, kind="stable")[:, :length], dtype=np.int64)


def decode(task: str, scores_NK: npt.NDArray[np.float64]) -> npt.NDArray[np.int64] | npt.NDArray[np.bool_]:
    """(N,) class indices for binary, multiclass and ordinal problems (any other kind: the most likely), (N, K) booleans for multilabel."""
    if task == "multilabel":
        return above_threshold(scores_NK)
    return expected_level(scores_NK) if task == "ordinal" else most_likely(scores_NK)
