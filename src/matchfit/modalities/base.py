"""What the torch learner asks of a modality: items → batches, a model, a loss, outputs → predictions.

Shapes: B rows of a batch, K classes or targets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from matchfit.competition.problem import Items, Problem, Targets

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch
    from torch import nn

    from matchfit.learners.config import TrainConfig

Source = TypeVar("Source")


@dataclass(frozen=True)
class Batch:
    """`inputs`: what the model is called with (a tensor, or a dict of tensors passed as keywords), on the CPU.
    `rows` (B,): positions in the source that the rows came from. `targets` (B, …) or None."""

    inputs: torch.Tensor | dict[str, torch.Tensor]
    rows: npt.NDArray[np.int64]
    targets: torch.Tensor | None = None


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The defaults of a modality and model for data of this size, where the user left a key at None."""

    epochs: float
    batch_size: int
    lr: float
    weight_decay: float
    label_smoothing: float = 0.0
    drop_path: float = 0.0


class TorchModality(ABC, Generic[Source]):
    """One modality for one run. `settings()` is a plain dict that, with the problem, rebuilds it: it goes into every checkpoint."""

    def __init__(self, problem: Problem, config: TrainConfig) -> None:
        self.problem, self.config = problem, config

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """All that decides how an item becomes a tensor and what network reads it (the preprocessing record, the model's name, sizes).
        Available after `plan`."""

    @abstractmethod
    def plan(self, items: Items, fit_rows: npt.NDArray[np.int64], say: Callable[[str], None]) -> None:
        """Settle what depends on the data (input size, model, maximal length), looking at inputs of `fit_rows` only."""

    @abstractmethod
    def restore(self, settings: dict[str, Any]) -> None:
        """Settle the same from a checkpoint's `settings()` instead."""

    @abstractmethod
    def recipe(self, num_train: int) -> Recipe: ...

    @abstractmethod
    def source(self, items: Items, cache: Path, say: Callable[[str], None]) -> Source:
        """Items made ready for fast random access (a memory-mapped cache of uint8 pixels, token ids)."""

    @abstractmethod
    def readable(self, source: Source) -> npt.NDArray[np.bool_]:
        """(N,) False where the item could not be read: it is not trained on, and gets the prior as its prediction."""

    @abstractmethod
    def model(self, *, pretrained: bool) -> nn.Module:
        """The network, its head for this problem; with `pretrained`, the weights that `config.pretrained` asks for. The caller seeds torch."""

    @abstractmethod
    def batches(
        self,
        source: Source,
        rows: npt.NDArray[np.int64],
        targets: torch.Tensor | None,
        *,
        batch_size: int,
        epoch_seed: int | None,
        skip: int = 0,
    ) -> Iterator[Batch]:
        """The rows in the order given (for evaluation; the modality may group by length and must then return `rows` truly), or, with an
        `epoch_seed`, shuffled and augmented, each row's randomness a function of (epoch_seed, row) alone; the last smaller batch
        is kept.
        `skip` leaves out that many first batches without preparing them (resume in the middle of an epoch). `config.workers`
        processes prepare batches; their number changes nothing in the result."""

    @abstractmethod
    def num_batches(self, num_rows: int, batch_size: int) -> int: ...

    @abstractmethod
    def loss(self, targets: Targets) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        """(outputs (B, K), targets (B, …)) → losses (B,), in float32. `targets` are those of the training part (class counts, scale)."""

    @abstractmethod
    def scores(self, outputs: torch.Tensor) -> npt.NDArray[np.float64]:
        """Model outputs (B, K) → `Predictions.scores_NK` rows (probabilities, or values in the unit of the target)."""
