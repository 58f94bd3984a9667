"""fp32, bf16, or fp16 with a scaled loss; `auto` times real steps in each and takes the fastest whose first losses agree with fp32."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from matchfit.core import machine
from matchfit.core.errors import RunError
from matchfit.core.records import content_hash, read_record, write_record

SCHEMA = 1
ORDER = ("fp32", "bf16", "fp16")  # near-ties go to the first of these
NEAR_TIE = 0.05
LOSS_BOUND = 0.02  # largest relative difference of the first losses from those of fp32 …
LOSS_FLOOR = 0.01  # … or absolute, where the loss itself is small
HOPELESS = 3.0  # a candidate whose first step takes this many times that of fp32 is not timed further (bf16 on an old chip)
ROUNDS = 3
_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Precision:
    """How the forward pass computes; weights, gradients, loss and optimizer are float32 in every case."""

    name: str
    device_type: str

    def autocast(self) -> AbstractContextManager[Any]:
        dtype = _DTYPES.get(self.name)
        return torch.autocast(self.device_type, dtype=dtype or torch.bfloat16, enabled=dtype is not None)

    def scaler(self) -> torch.amp.GradScaler | None:
        """fp16 alone needs one: bf16 has the range of float32."""
        return torch.amp.GradScaler(self.device_type) if self.name == "fp16" else None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A precision, why it was taken, and the seconds of one step where they were measured."""

    name: str
    reason: str
    step_seconds: float | None = None


class Trial(Protocol):
    """One candidate on its own copy of the model."""

    def first_loss(self) -> float:
        """The loss of a fixed batch at the initial weights, without dropout."""

    def step(self) -> float:
        """One real training step; returns its seconds."""


def candidates(device: torch.device) -> tuple[str, ...]:
    """What `auto` tries. On CPUs fp16 has no fast kernels to win with, so it is there only when asked for by name."""
    if device.type == "cuda":
        return ORDER if torch.cuda.is_bf16_supported(including_emulation=False) else ("fp32", "fp16")
    return ("fp32", "bf16") if device.type == "cpu" else ("fp32",)


def chip(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else machine.chip()


def key_of(device: torch.device, **facts: Any) -> str:
    """The name under which a choice is remembered: the same chip, versions, model and shapes get the same choice."""
    return content_hash(
        {
            "chip": chip(device),
            "torch": str(torch.__version__),
            "threads": torch.get_num_threads() if device.type == "cpu" else 0,
            **facts,
        }
    )


def remembered(cache: Path, key: str) -> Choice | None:
    path = cache / "choices" / f"precision-{key[:24]}.json"
    if not path.exists():
        return None
    try:
        record = read_record(path, schema=SCHEMA)
    except RunError:  # torn or old: chosen again
        return None
    return Choice(name=record["name"], reason=record["reason"], step_seconds=record["step_seconds"])


def remember(cache: Path, key: str, choice: Choice) -> None:
    path = cache / "choices" / f"precision-{key[:24]}.json"
    write_record(path, schema=SCHEMA, name=choice.name, reason=choice.reason, step_seconds=choice.step_seconds)


def choose(names: Sequence[str], make_trial: Callable[[str], Trial], *, rounds: int = ROUNDS) -> Choice:
    """Time `names` (fp32 among them unless it is the only one) in interleaved rounds, so that a busy machine slows all alike."""
    trials = {name: make_trial(name) for name in names}
    losses = {name: trial.first_loss() for name, trial in trials.items()}
    first = {name: trial.step() for name, trial in trials.items()}  # also warms up kernels and allocators
    refused = _refusals(losses, first)
    running = [name for name in names if name not in refused]
    seconds: dict[str, list[float]] = {name: [] for name in running}
    for _ in range(rounds):
        for name in running:
            seconds[name].append(trials[name].step())
    choice = decide({name: min(values) for name, values in seconds.items()}, losses, refused)  # the quietest moment of each
    return replace(choice, step_seconds=statistics.median(seconds[choice.name]))


def _refusals(losses: dict[str, float], first: dict[str, float]) -> dict[str, str]:
    refused = {}
    base = losses.get("fp32")
    for name, loss in losses.items():
        if name == "fp32" or base is None:
            continue
        difference = abs(loss - base)
        if not difference <= max(LOSS_BOUND * abs(base), LOSS_FLOOR):  # so written that NaN is refused
            refused[name] = f"its first loss {loss:.4g} is not that of fp32, {base:.4g} (bound {LOSS_BOUND:.0%})"
        elif first[name] > HOPELESS * first["fp32"]:
            refused[name] = f"its first step took {first[name] / first['fp32']:.1f} times as long as that of fp32"
    return refused


def decide(seconds: dict[str, float], losses: dict[str, float], refused: dict[str, str]) -> Choice:
    """The fastest; among those within NEAR_TIE of it the first in ORDER."""
    fastest = min(seconds.values())
    name = min((name for name, value in seconds.items() if value <= fastest * (1 + NEAR_TIE)), key=ORDER.index)
    timed = ", ".join(f"{other} {value * 1000:.1f} ms" for other, value in sorted(seconds.items(), key=lambda pair: pair[1]))
    parts = [f"a step takes {timed}"]
    if name != min(seconds, key=lambda other: seconds[other]):
        parts.append(f"within {NEAR_TIE:.0%} the order {' '.join(ORDER)} decides")
    if name != "fp32" and "fp32" in losses:
        parts.append(f"first loss {losses[name]:.4f} against {losses['fp32']:.4f} in fp32 (bound {LOSS_BOUND:.0%})")
    parts += [f"{other} refused: {why}" for other, why in refused.items()]
    return Choice(name=name, reason="; ".join(parts), step_seconds=seconds[name])


def timed(device: torch.device, work: Callable[[], None]) -> float:
    """Seconds that `work` takes, the device's queue included."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    started = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - started
