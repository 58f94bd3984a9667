"""The settings of one fit, settled: what the user gave, else the modality's recipe. And which of them a resumed run must repeat."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch

from matchfit.core.errors import ConfigError, RunError
from matchfit.learners.config import TrainConfig
from matchfit.modalities.base import Recipe

# Keys of the train section that change nothing in the arithmetic of a step.
FREE = frozenset({"epochs", "save_every", "workers", "tensorboard", "wandb", "device"})


@dataclass(frozen=True, kw_only=True)
class Hyper:
    """Settled settings of the loop."""

    epochs: float
    batch_size: int
    lr: float
    weight_decay: float
    accumulate: int
    schedule: str
    warmup: float
    clip_grad: float
    model_ema: bool
    ema_decay: float
    patience: int
    channels_last: bool

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def settle(config: TrainConfig, recipe: Recipe) -> Hyper:
    def pick(given: float | None, usual: float) -> float:
        return usual if given is None else given

    return Hyper(
        epochs=pick(config.epochs, recipe.epochs),
        batch_size=int(pick(config.batch_size, recipe.batch_size)),
        lr=pick(config.lr, recipe.lr),
        weight_decay=pick(config.weight_decay, recipe.weight_decay),
        accumulate=config.accumulate,
        schedule=config.schedule,
        warmup=config.warmup,
        clip_grad=config.clip_grad,
        model_ema=config.model_ema,
        ema_decay=config.ema_decay,
        patience=config.patience,
        channels_last=config.channels_last,
    )


def resolve_device(name: str) -> torch.device:
    """`auto`: cuda, else mps, else cpu. Raises ConfigError for one that this machine lacks."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(
            f"train.device={name}",
            rule="must be a device of this machine",
            found=str(error).splitlines()[0],
            todo="Leave it at auto, or name cpu, cuda or cuda:1.",
        ) from error
    return device


def identity(config: TrainConfig, problem_hash: str, data_hash: str, seed: int, fast_dev_run: bool) -> dict[str, Any]:
    """What decides the bits of a fit, apart from its length."""
    kept = {f"train.{key}": value for key, value in config.model_dump(mode="json").items() if key not in FREE}
    return {**kept, "seed": seed, "problem": problem_hash, "folds": data_hash, "fast_dev_run": fast_dev_run}


def refuse_other(ours: dict[str, Any], theirs: dict[str, Any], epochs: float, trained_epochs: float) -> None:
    """Raises RunError that names the first setting in which a resumed run differs from its checkpoint. More epochs are allowed."""
    for key in sorted(ours):
        if ours[key] != theirs.get(key):
            raise RunError(
                f"--resume: {key}",
                rule="must be as in the run that is resumed",
                found=f"{_short(ours[key])}; the run has {_short(theirs.get(key))}",
                todo="Set it back, or train into a new --out.",
            )
    if epochs < trained_epochs:
        raise RunError(
            "--resume: train.epochs",
            rule="may be raised, not lowered",
            found=f"{epochs:g}; the run has {trained_epochs:g}",
            todo="Set it back or higher, or train into a new --out.",
        )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:16] + "…"
