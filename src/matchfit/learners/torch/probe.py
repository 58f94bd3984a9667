"""Which precision: asked for, remembered, or timed on copies of the model. And what one step costs, when a deadline asks."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from matchfit.learners.torch import precision
from matchfit.learners.torch.hyper import Hyper
from matchfit.learners.torch.optimizers import adamw
from matchfit.learners.torch.precision import Choice, Precision
from matchfit.learners.torch.step import Loss, Stepper
from matchfit.modalities.base import Batch


class StepTrial:
    """Real steps of one precision on its own copy of the model; the model itself stays as it is."""

    def __init__(
        self, model: nn.Module, loss: Loss, hyper: Hyper, name: str, batches: list[Batch], say: Callable[[str], None]
    ) -> None:
        copied = copy.deepcopy(model)
        self._device = next(copied.parameters()).device
        self._stepper = Stepper(
            copied,
            loss,
            adamw(copied, lr=hyper.lr, weight_decay=hyper.weight_decay),
            Precision(name, self._device.type),
            clip_grad=hyper.clip_grad,
            channels_last=hyper.channels_last,
            say=say,
        )
        self._batches = itertools.cycle(batches)
        self._first = batches[0]
        self._lr = hyper.lr / 25
        self._accumulate = hyper.accumulate

    def first_loss(self) -> float:
        """With batch statistics, which the untrained running ones are no match for, but without dropout, whose masks differ by precision."""
        model = self._stepper.model.eval()
        for module in model.modules():
            if isinstance(module, _NormBase):
                module.train()
        value = self._stepper.loss_on(self._first)
        model.train()
        return value

    def step(self) -> float:
        """Seconds of an optimizer step, all of its accumulation."""
        batch = next(self._batches)
        return self._accumulate * precision.timed(self._device, lambda: self._stepper.step([batch], lr=self._lr, seed=0))


def settle_precision(
    asked: str,
    *,
    model: nn.Module,
    loss: Loss,
    hyper: Hyper,
    batches: Callable[[], list[Batch]],
    cache: Path,
    say: Callable[[str], None],
    must_time: bool,
    fast_dev_run: bool,
) -> Choice:
    """The precision of this fit and the reason. A choice of `auto` is remembered in `cache` for this chip, model and these shapes.

    `must_time`: somebody needs `step_seconds`, also where the precision was asked for by name.
    """
    device = next(model.parameters()).device
    rounds = 1 if fast_dev_run else precision.ROUNDS
    if asked != "auto":
        if not must_time:
            return Choice(name=asked, reason="asked for")
        measured = precision.choose([asked], _trials(model, loss, hyper, batches(), say), rounds=rounds)
        return Choice(name=asked, reason=f"asked for; {measured.reason}", step_seconds=measured.step_seconds)
    first = batches()
    key = precision.key_of(
        device,
        inputs=_signature(first[0]),
        model=[type(model).__name__, [[name, list(value.shape)] for name, value in model.state_dict().items()]],
        hyper=[hyper.batch_size, hyper.accumulate, hyper.clip_grad, hyper.channels_last],
    )
    known = precision.remembered(cache, key)
    if known is not None:
        return Choice(
            name=known.name, reason=f"remembered for this machine and model: {known.reason}", step_seconds=known.step_seconds
        )
    names = precision.candidates(device)
    choice = precision.choose(names, _trials(model, loss, hyper, first, say), rounds=rounds)
    if not fast_dev_run:
        precision.remember(cache, key, choice)
    return choice


def _signature(batch: Batch) -> list[Any]:
    """What is the same in every fold: the size of pictures, but not the length of the texts that happen to come first."""
    if isinstance(batch.inputs, dict):
        return [[name, value.ndim] for name, value in sorted(batch.inputs.items())]
    return list(batch.inputs.shape[1:])


def _trials(
    model: nn.Module, loss: Loss, hyper: Hyper, batches: list[Batch], say: Callable[[str], None]
) -> Callable[[str], precision.Trial]:
    return lambda name: StepTrial(model, loss, hyper, name, batches, say)


def restored(record: dict[str, Any]) -> Choice:
    """The choice that a checkpoint holds: a resumed run does not choose again."""
    return Choice(name=record["name"], reason=record["reason"])
