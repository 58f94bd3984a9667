"""A network for pictures of up to 64 pixels.

The layout is the ResNet-9 that David Page built for DAWNBench (How to train your ResNet, 2018): a stem, three stages that double the
channels and halve the picture, a residual pair of convolutions in the first and last stage, a global maximum, a linear head whose
outputs are scaled by 1/8. Written anew; `width` scales all channels (64 in the original).

Shapes: B pictures, C channels, H rows, W columns, K outputs.
"""

from __future__ import annotations

import torch
from torch import nn

OUTPUT_SCALE = 0.125
SMALLEST_HALVED = 4  # pixels; a stage leaves a smaller picture at its size


def _convolution(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class _Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(_convolution(channels, channels), _convolution(channels, channels))

    def forward(self, inputs_BCHW: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = inputs_BCHW + self.body(inputs_BCHW)
        return result


class SmallNet(nn.Module):
    """(B, 3, H, W) → (B, K). `size_HW` decides how often the picture is halved (three times from 16 pixels on)."""

    def __init__(self, *, width: int, num_outputs: int, size_HW: tuple[int, int]) -> None:
        super().__init__()
        stages: list[nn.Module] = [_convolution(3, width)]
        side = min(size_HW)
        for number, (inputs, outputs) in enumerate(((width, 2 * width), (2 * width, 4 * width), (4 * width, 8 * width))):
            stages.append(_convolution(inputs, outputs))
            if side >= SMALLEST_HALVED:
                stages.append(nn.MaxPool2d(2))
                side //= 2
            if number != 1:
                stages.append(_Residual(outputs))
        self.body = nn.Sequential(*stages)
        self.head = nn.Linear(8 * width, num_outputs)

    def forward(self, images_BCHW: torch.Tensor) -> torch.Tensor:
        features_BC = self.body(images_BCHW).amax((2, 3))
        outputs: torch.Tensor = self.head(features_BC) * OUTPUT_SCALE
        return outputs
