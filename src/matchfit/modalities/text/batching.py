"""Which rows go into a batch together: rows of like length, so that little is padding; drawn anew each epoch.

Shapes: R rows of an epoch.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from matchfit.core.seeds import generator

Int64 = npt.NDArray[np.int64]

POOL_BATCHES = 50  # rows are sorted by length within pools of this many batches
JITTER = 0.1  # lengths are multiplied by 1 ± this before they are sorted, so that batches differ from epoch to epoch


def batches_of(rows_R: Int64, lengths_R: Int64, batch_size: int, epoch_seed: int | None) -> list[Int64]:
    """The rows in batches of `batch_size`, the last smaller one kept. Without a seed: the longest first, ties as given. With one: shuffled,
    sorted by length within pools, batches in random order; a function of (rows, lengths, batch_size, epoch_seed) alone."""
    if epoch_seed is None:
        order = np.argsort(-lengths_R, kind="stable")
        return [rows_R[order[start : start + batch_size]] for start in range(0, len(order), batch_size)]
    random = generator(epoch_seed, "batches")
    order = random.permutation(len(rows_R))
    jittered = lengths_R * (1 + JITTER * random.uniform(-1, 1, len(rows_R)))
    batches: list[Int64] = []
    for start in range(0, len(order), batch_size * POOL_BATCHES):
        pool = order[start : start + batch_size * POOL_BATCHES]
        pool = pool[np.argsort(jittered[pool], kind="stable")]
        batches += [rows_R[pool[at : at + batch_size]] for at in range(0, len(pool), batch_size)]
    return [batches[number] for number in random.permutation(len(batches))]
