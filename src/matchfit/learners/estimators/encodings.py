"""Categories of many values (users, films, post codes) as numbers: how the target was on average where they stood.

A row of the training part never meets its own target: it is encoded by what the other nine tenths of the training part say (ten fixed parts);
all other rows by the whole training part. Means are drawn towards the overall mean as if STRENGTH rows had it. With two such columns or
more there is an additive model too (overall mean + a deviation for each value, fitted in turns), the usual baseline for ratings
(Koren, Bell and Volinsky, "Matrix Factorization Techniques for Recommender Systems", 2009, section on biases).

Shapes: N items, C columns, T encoded targets, U values of a column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

STRENGTH = 8.0
NUM_PARTS = 10
TURNS = 10


@dataclass(frozen=True)
class Encoder:
    """For each column: `counts[c]` (U,), `means[c]` (U, T) and `deviations[c]` (U, T); `centre_T`."""

    centre_T: Float64
    counts: tuple[Float64, ...]
    means: tuple[Float64, ...]
    deviations: tuple[Float64, ...]

    def numbers(self, codes_NC: Int64) -> Float64:
        """(N, C·(1 + 2T) + T): for each column log(1 + count), means and deviations; last the additive model. Code -1 is an unknown value."""
        blocks: list[Float64] = []
        total = np.tile(self.centre_T, (len(codes_NC), 1))
        for column in range(codes_NC.shape[1]):
            code, known = codes_NC[:, column], codes_NC[:, column] >= 0
            at = np.where(known, code, 0)
            mean = np.where(known[:, None], self.means[column][at], self.centre_T)
            deviation = np.where(known[:, None], self.deviations[column][at], 0.0)
            total += deviation
            blocks += [np.log1p(np.where(known, self.counts[column][at], 0.0))[:, None], mean, deviation]
        return np.hstack([*blocks, total])


def fit_encoder(codes_NC: Int64, target_NT: Float64, sizes: tuple[int, ...]) -> Encoder:
    """`sizes`: number of values of each column."""
    centre = target_NT.mean(axis=0)
    counts, means = [], []
    for column, size in enumerate(sizes):
        count, total = _sums(codes_NC[:, column], target_NT, size)
        counts.append(count)
        means.append((total + STRENGTH * centre) / (count + STRENGTH)[:, None])
    deviations = [np.zeros((size, target_NT.shape[1])) for size in sizes]
    for _ in range(TURNS if len(sizes) > 1 else 1):
        for column, size in enumerate(sizes):
            rest = target_NT - centre
            for other in range(len(sizes)):
                if other != column:
                    rest = rest - _at(deviations[other], codes_NC[:, other])
            _, total = _sums(codes_NC[:, column], rest, size)
            deviations[column] = total / (counts[column] + STRENGTH)[:, None]
    return Encoder(centre, tuple(counts), tuple(means), tuple(deviations))


def encode_training(codes_NC: Int64, target_NT: Float64, sizes: tuple[int, ...], parts_N: Int64) -> Float64:
    """The numbers of the training rows, each part encoded by the other parts."""
    numbers: Float64 | None = None
    for part in np.unique(parts_N):
        inside = parts_N == part
        if inside.all():  # one group, and no other to learn from: every value is unknown
            return fit_encoder(codes_NC, target_NT, sizes).numbers(np.full_like(codes_NC, -1))
        encoder = fit_encoder(codes_NC[~inside], target_NT[~inside], sizes)
        unseen = np.stack(
            [np.where(encoder.counts[c][np.maximum(codes_NC[:, c], 0)] > 0, codes_NC[:, c], -1) for c in range(len(sizes))], axis=1
        )
        found = encoder.numbers(unseen[inside])
        if numbers is None:
            numbers = np.empty((len(codes_NC), found.shape[1]))
        numbers[inside] = found
    assert numbers is not None
    return numbers


def _sums(code_N: Int64, values_NT: Float64, size: int) -> tuple[Float64, Float64]:
    known = code_N >= 0
    count = np.bincount(code_N[known], minlength=size).astype(np.float64)
    total = [np.bincount(code_N[known], weights=column[known], minlength=size) for column in values_NT.T]
    return count, np.column_stack(total)


def _at(values_UT: Float64, code_N: Int64) -> Float64:
    return np.where((code_N >= 0)[:, None], values_UT[np.maximum(code_N, 0)], 0.0)
