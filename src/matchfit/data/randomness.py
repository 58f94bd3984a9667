"""Random numbers of whole batches as a function of (seed, row, draw): no generator object, no order, no state.

SplitMix64 (Steele, Lea and Flood, 2014) as a hash: the finalizer is applied to a mix of seed, row and draw number.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_GOLDEN, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mix(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    with np.errstate(over="ignore"):  # arithmetic modulo 2**64 is the point
        words = (words ^ (words >> np.uint64(30))) * _FIRST
        words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))


def uniforms(seed: int, rows_B: npt.NDArray[np.int64], draws: int) -> npt.NDArray[np.float64]:
    """(B, draws) numbers in [0, 1); the line of a row does not depend on the other rows."""
    with np.errstate(over="ignore"):
        start = _mix(np.asarray([seed], np.int64).astype(np.uint64) + _GOLDEN)
        by_row = _mix((rows_B.astype(np.uint64) + np.uint64(1)) * _GOLDEN ^ start)
        steps = np.arange(1, draws + 1, dtype=np.uint64) * _GOLDEN
        words = _mix(by_row[:, None] + steps[None, :])
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def integers(uniform: npt.NDArray[np.float64], low: int, high: int) -> npt.NDArray[np.int64]:
    """Whole numbers from `low` to `high`, both included, from numbers in [0, 1)."""
    return low + np.floor(uniform * (high - low + 1)).astype(np.int64)
