"""Outputs for many rows, in their order. Shapes: N rows, K outputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from matchfit.competition.problem import Targets
from matchfit.core.errors import BudgetError, RunError
from matchfit.learners.torch.precision import Precision
from matchfit.learners.torch.step import forward, pieces, place
from matchfit.modalities.base import Batch, TorchModality


def infer(
    model: nn.Module,
    modality: TorchModality[Any],
    source: Any,
    rows: npt.NDArray[np.int64],
    *,
    batch_size: int,
    precision: Precision,
    channels_last: bool,
    num_batches: int | None = None,
    advance: Callable[[int], None] | None = None,
) -> tuple[torch.Tensor, npt.NDArray[np.int64]]:
    """(outputs_NK float32 on the CPU, the rows that they belong to): all of `rows` in their order, or the rows of the first `num_batches`.

    The model is in evaluation mode meanwhile, so that a row's outputs do not depend on its neighbours; kernels may still round otherwise for
    another batch size (within 1e-5 of a probability in fp32, 1e-2 in bf16 and fp16). Out of memory: smaller pieces.
    """
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    found: list[torch.Tensor] = []
    seen: list[npt.NDArray[np.int64]] = []
    micro: int | None = None
    try:
        with torch.inference_mode():
            batches = modality.batches(source, rows, None, batch_size=batch_size, epoch_seed=None)
            with closing_if_it_can(batches):
                for batch in itertools.islice(batches, num_batches):
                    outputs, micro = _outputs(model, batch, micro, device, precision, channels_last)
                    found.append(outputs)
                    seen.append(batch.rows)
                    if advance is not None:
                        advance(len(batch.rows))
    finally:
        model.train(was_training)
    if not found:
        return torch.zeros((0, 1)), np.zeros(0, dtype=np.int64)
    outputs_NK, got = torch.cat(found).float().cpu(), np.concatenate(seen)
    return _in_order(outputs_NK, got, rows, whole=num_batches is None)


@contextmanager
def closing_if_it_can(batches: Iterator[Batch]) -> Iterator[None]:
    """End what prepares batches ahead, where the iterator has such a thing."""
    try:
        yield
    finally:
        close = getattr(batches, "close", None)
        if close is not None:
            close()


def _outputs(
    model: nn.Module, batch: Batch, micro: int | None, device: torch.device, precision: Precision, channels_last: bool
) -> tuple[torch.Tensor, int | None]:
    while True:
        try:
            with precision.autocast():
                parts = [forward(model, place(inputs, device, channels_last)).float() for inputs, _ in pieces(batch, micro)]
            return torch.cat(parts), micro
        except torch.OutOfMemoryError:
            pass
        rows = min(micro or len(batch.rows), len(batch.rows))
        if rows <= 1:
            raise BudgetError(
                "memory",
                rule="one item must fit into the device's memory",
                found=f"out of memory while predicting a single item on {device}",
                todo="Take smaller inputs or a smaller --model.",
            )
        micro = (rows + 1) // 2


def _in_order(
    outputs_NK: torch.Tensor, got: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], *, whole: bool
) -> tuple[torch.Tensor, npt.NDArray[np.int64]]:
    if whole and np.array_equal(got, rows):
        return outputs_NK, rows
    place_of = {int(row): number for number, row in enumerate(got)}
    wanted = rows if whole else rows[np.isin(rows, got)]
    missing = len(wanted) - sum(int(row) in place_of for row in wanted)
    if missing or len(got) != len(wanted):
        raise RunError(
            "batches",
            rule="must hold every row exactly once",
            found=f"{len(got)} rows for {len(wanted)}",
            todo="This is a fault of the modality.",
        )
    return outputs_NK[torch.tensor([place_of[int(row)] for row in wanted], dtype=torch.long)], wanted


def prior(targets: Targets, num_columns: int) -> npt.NDArray[np.float64]:
    """What is known without looking at an item: class frequencies, or the mean of each target, of the training part (K,)."""
    values = targets.values
    if values.ndim == 1:
        counts: npt.NDArray[np.float64] = np.bincount(values.astype(np.int64), minlength=num_columns).astype(np.float64)
        counts /= max(counts.sum(), 1.0)
        return counts
    means: npt.NDArray[np.float64] = np.asarray(values, dtype=np.float64).mean(axis=0)
    return means


def as_tensor(targets: Targets) -> torch.Tensor:
    """Class numbers as int64 (N,), everything else as float32 (N, K)."""
    values = np.ascontiguousarray(targets.values)
    return torch.from_numpy(values.astype(np.int64) if values.ndim == 1 else values.astype(np.float32))
