"""Which rows go into a batch together: rows of like length, so that little is padding; drawn anew each epoch.

Shapes: R rows of an epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from matchfit.core.seeds import generator
from matchfit.modalities.text.tokens import TokenSource

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


@dataclass(frozen=True, kw_only=True)
class PaddedBatches:
    """Batch i is (ids, mask, types, each (B, W, L), rows (B,)): a function of i alone, so that worker processes cannot matter. Also a torch
    map-style dataset."""

    source: TokenSource
    batches: list[Int64]
    pad_id: int
    left: bool

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, number: int) -> tuple[Int64, Int64, Int64, Int64]:
        rows_B = self.batches[number]
        return *self.source.padded(rows_B, pad_id=self.pad_id, left=self.left), rows_B


def in_order(padded: PaddedBatches, *, skip: int, workers: int) -> Iterator[tuple[Int64, Int64, Int64, Int64]]:
    """Batches `skip`, `skip` + 1, … prepared by `workers` processes, or (padding takes little) by this one when it is 0."""
    numbers = range(skip, len(padded))
    workers = min(workers, len(numbers))
    if not workers:
        yield from (padded[number] for number in numbers)
        return
    import torch
    from torch.utils.data import DataLoader

    loader: DataLoader[Any] = DataLoader(
        padded,  # type: ignore[arg-type]  # a sequence is all that a map-style dataset is asked for
        batch_size=None,
        sampler=numbers,
        num_workers=workers,
        collate_fn=_as_tensors,
        generator=torch.Generator(),  # the loader draws a number when it starts; not from the run's stream
    )
    for parts in loader:
        ids, mask, types, rows_B = (part.numpy() for part in parts)
        yield ids, mask, types, rows_B


def _as_tensors(parts: Any) -> Any:
    import torch

    return tuple(torch.from_numpy(np.ascontiguousarray(part)) for part in parts)
