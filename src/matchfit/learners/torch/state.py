"""What a finished fit leaves: the weights that predict, how items become tensors, and facts for the record."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from matchfit.core.records import read_record, write_record
from matchfit.learners.torch import checkpoint
from matchfit.modalities.base import TorchModality

SCHEMA = 1
WEIGHTS, RECORD = "model.safetensors", "learner.json"


@dataclass(kw_only=True)
class TorchState:
    """`model` is in evaluation mode. `prior` (K,) is the prediction for items that cannot be read."""

    modality: TorchModality[Any]
    model: nn.Module
    precision: str
    batch_size: int
    channels_last: bool
    prior: npt.NDArray[np.float64]
    facts: dict[str, Any] = field(default_factory=dict)


def save(state: TorchState, directory: Path) -> None:
    """Weights first, the record last."""
    checkpoint.write(directory / WEIGHTS, state.model.state_dict(), {})
    write_record(
        directory / RECORD,
        schema=SCHEMA,
        settings=state.modality.settings(),
        precision=state.precision,
        batch_size=state.batch_size,
        channels_last=state.channels_last,
        prior=state.prior,
        facts=state.facts,
    )


def load(directory: Path, modality: TorchModality[Any]) -> TorchState:
    """The inverse, on the CPU; `modality` is a fresh one of the same problem. Raises RunError for anything that does not fit."""
    record = read_record(directory / RECORD, schema=SCHEMA)
    modality.restore(record["settings"])
    model = modality.model(pretrained=False)
    tensors, _ = checkpoint.read(directory / WEIGHTS)
    checkpoint.load_model(model, tensors, name=str(directory / WEIGHTS))
    return TorchState(
        modality=modality,
        model=model.eval(),
        precision=record["precision"],
        batch_size=record["batch_size"],
        channels_last=record["channels_last"],
        prior=np.asarray(record["prior"], dtype=np.float64),
        facts=record["facts"],
    )
