"""A moving average of the weights, whose decay warms up, and whose BatchNorm statistics fit its weights."""

from __future__ import annotations

import copy

import torch
from torch import nn


def decay_at(update: int, decay: float) -> float:
    """min(decay, (1 + t) / (10 + t)): a short run averages about its last tenth, a long one its last 1 / (1 - decay) steps.

    The warm-up is that of TensorFlow's ExponentialMovingAverage (`num_updates`); timm and diffusers have it too.
    """
    return min(decay, (1 + update) / (10 + update))


class ModelEma:
    """The average lives in a second model, so that it can be evaluated as it stands.

    Running means and variances of BatchNorm are averaged with the same decay, as in timm's ModelEmaV3 and Ultralytics: copies of the
    latest ones would belong to weights that the average does not have. Counts are copied.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay
        ours, theirs = self._tensors(self.model), self._tensors(model)
        floating = [index for index, value in enumerate(ours) if value.is_floating_point()]
        self._mine, self._source = [ours[i] for i in floating], [theirs[i] for i in floating]
        others = sorted(set(range(len(ours))) - set(floating))
        self._counts = [(ours[i], theirs[i]) for i in others]

    @staticmethod
    def _tensors(model: nn.Module) -> list[torch.Tensor]:
        return [*(parameter.data for parameter in model.parameters()), *model.buffers()]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after optimizer step `step` (from 0)."""
        torch._foreach_lerp_(self._mine, self._source, 1 - decay_at(step, self.decay))
        for mine, source in self._counts:
            mine.copy_(source)
