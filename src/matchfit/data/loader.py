"""Batches of cached pictures, with the same bits for any number of worker processes.

A batch is a function of its number: order and augmentation follow from (epoch seed, row). Workers get the path of the cache and integer
arrays, never lists of Python objects, so that memory does not grow with them.

Shapes: N cached pictures, R rows of an epoch, B rows of a batch.
"""

from __future__ import annotations

import queue
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from matchfit.core.seeds import generator
from matchfit.data.augment import Augmentation
from matchfit.data.cache import ImageCache

Value = TypeVar("Value")
SHARED_MEMORY = "/dev/shm"
PREFETCH = 2  # batches kept ready, by the thread and by each worker
_END = object()


@dataclass(frozen=True, kw_only=True)
class PixelBatches:
    """The batches of one pass, by number: `self[i]` is (uint8 (B, H, W, 3), rows (B,)). Also a torch map-style dataset."""

    cache: ImageCache
    order_R: npt.NDArray[np.int64]
    batch_size: int
    augmentation: Augmentation | None
    epoch_seed: int | None

    def __len__(self) -> int:
        return -(-len(self.order_R) // self.batch_size)

    def __getitem__(self, number: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        if not 0 <= number < len(self):
            raise IndexError(number)
        rows = self.order_R[number * self.batch_size : (number + 1) * self.batch_size]
        if self.augmentation is None or self.epoch_seed is None:
            return np.asarray(self.cache.pixels_NHWC[rows]), rows
        return self.augmentation(self.cache.pixels_NHWC, rows, self.epoch_seed), rows


def epoch_order(rows_R: npt.NDArray[np.int64], epoch_seed: int | None) -> npt.NDArray[np.int64]:
    """The rows as given, or shuffled by the epoch's seed."""
    return rows_R if epoch_seed is None else rows_R[generator(epoch_seed, "order").permutation(len(rows_R))]


def pixel_batches(
    batches: PixelBatches, *, skip: int, workers: int, say: Callable[[str], None]
) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]]:
    """Batches `skip`, `skip` + 1, … in order, prepared by `workers` processes, or by this one when it is 0."""
    numbers = range(skip, len(batches))
    workers = min(workers, len(numbers))
    if workers:
        batch_bytes = batches.batch_size * int(np.prod(batches.cache.pixels_NHWC.shape[1:]))
        workers = workers_that_fit(workers, batch_bytes, say)
    if not workers:
        yield from (batches[number] for number in numbers)
        return
    import torch
    from torch.utils.data import DataLoader

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create")  # more workers than cores: the user's choice
        loader: DataLoader[Any] = DataLoader(
            batches,  # type: ignore[arg-type]  # a sequence is all that a map-style dataset is asked for
            batch_size=None,
            sampler=numbers,
            num_workers=workers,
            prefetch_factor=PREFETCH,
            collate_fn=_as_tensors,
            generator=torch.Generator(),  # the loader draws a number when it starts; not from the run's stream
        )
        ready = iter(loader)
    for pixels, rows in ready:
        yield pixels.numpy(), rows.numpy()


def _as_tensors(batch: Any) -> Any:
    import torch

    return torch.from_numpy(batch[0]), torch.from_numpy(np.ascontiguousarray(batch[1]))


def workers_that_fit(workers: int, batch_bytes: int, say: Callable[[str], None], *, free_bytes: int | None = None) -> int:
    """As many workers as shared memory has room for; a bus error would end the run. `say` tells when that is fewer than asked."""
    if free_bytes is None:
        try:
            free_bytes = shutil.disk_usage(SHARED_MEMORY).free
        except OSError:
            return workers
    fitting = min(workers, int(free_bytes * 0.8) // max(1, batch_bytes * (PREFETCH + 1)))
    if fitting < workers:
        say(f"{fitting} instead of {workers} workers: {SHARED_MEMORY} has {free_bytes:,} bytes free, a batch takes {batch_bytes:,}")
    return fitting


def prefetched(values: Iterator[Value], depth: int = PREFETCH) -> Iterator[Value]:
    """The same values, produced ahead by a thread. The thread ends when the consumer stops; its error is raised where it would have been."""
    ready: queue.Queue[object] = queue.Queue(depth)
    stopped = threading.Event()

    def put(value: object) -> bool:
        while not stopped.is_set():
            try:
                ready.put(value, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def produce() -> None:
        try:
            for value in values:
                if not put(value):
                    return
            put(_END)
        except BaseException as error:  # handed to the consumer
            put(_Failed(error))

    thread = threading.Thread(target=produce, name="prefetch", daemon=True)
    thread.start()
    try:
        while (value := ready.get()) is not _END:
            if isinstance(value, _Failed):
                raise value.error
            yield value  # type: ignore[misc]  # the queue holds values, _END or _Failed
    finally:
        stopped.set()
        thread.join()


@dataclass(frozen=True)
class _Failed:
    error: BaseException
