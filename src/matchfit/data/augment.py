"""The first augmentations: `none` and `light`, on uint8 batches, each row's randomness a function of (epoch seed, row).

An augmentation reads rows of the cache and returns pixels of the same size. Members of the family are made from the `Subject`: what is
known about the pictures and the task. `light` is mirror, shift (mirrored at the border) and, for small pictures, one blank square.

Shapes: N cached pictures, B rows of a batch, H rows, W columns, 3 channels.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from matchfit.core.families import Family
from matchfit.data.randomness import integers, uniforms

Pixels = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]
SMALL_PIXELS = 64


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What an augmentation may know: the size of the pictures, the names that are predicted, whether weights were pretrained, and the
    colour (RGB bytes) that becomes 0 after normalisation."""

    size_HW: tuple[int, int]
    names: tuple[str, ...] = ()
    pretrained: bool = False
    neutral: tuple[int, int, int] = (124, 116, 104)


class Augmentation(Protocol):
    """Pickles (it goes to worker processes). `remark` says for people what is done and why; empty when there is nothing to say."""

    @property
    def remark(self) -> str: ...

    def __call__(self, pixels_NHWC: Pixels, rows_B: Rows, epoch_seed: int) -> Pixels:
        """uint8 (B, H, W, 3), newly allocated."""
        ...


AUGMENTATIONS: Family[Callable[[Subject], Augmentation]] = Family("augmentation", "augmentations")


@dataclass(frozen=True)
class NoAugmentation:
    remark: str = ""

    def __call__(self, pixels_NHWC: Pixels, rows_B: Rows, epoch_seed: int) -> Pixels:
        return np.asarray(pixels_NHWC[rows_B])


@AUGMENTATIONS.entry("none")
def no_augmentation(subject: Subject) -> Augmentation:
    return NoAugmentation()


@dataclass(frozen=True, kw_only=True)
class LightAugmentation:
    """`shift_HW`: largest shift in pixels each way. `blank`: side of the blank square in pixels, 0 for none. `mirror`: left-right, for
    every second picture."""

    mirror: bool
    shift_HW: tuple[int, int]
    blank: int = 0
    neutral: tuple[int, int, int] = (124, 116, 104)
    remark: str = ""

    def __call__(self, pixels_NHWC: Pixels, rows_B: Rows, epoch_seed: int) -> Pixels:
        height, width = pixels_NHWC.shape[1:3]
        draws = uniforms(epoch_seed, rows_B, 5)
        down = integers(draws[:, 0], -self.shift_HW[0], self.shift_HW[0])
        right = integers(draws[:, 1], -self.shift_HW[1], self.shift_HW[1])
        y_BH = _mirrored(np.arange(height) + down[:, None], height)
        x_BW = _mirrored(np.arange(width) + right[:, None], width)
        if self.mirror:
            flipped = draws[:, 2] < 0.5
            x_BW[flipped] = x_BW[flipped, ::-1]
        batch = np.asarray(pixels_NHWC[rows_B[:, None, None], y_BH[:, :, None], x_BW[:, None, :]])
        if self.blank:
            self._blank(batch, draws[:, 3:])
        return batch

    def _blank(self, batch_BHWC: Pixels, draws_B2: npt.NDArray[np.float64]) -> None:
        """One square a picture, its centre anywhere, as in DeVries and Taylor, 2017 (Cutout)."""
        height, width = batch_BHWC.shape[1:3]
        top = integers(draws_B2[:, 0], 0, height - 1) - self.blank // 2
        left = integers(draws_B2[:, 1], 0, width - 1) - self.blank // 2
        y, x = np.arange(height), np.arange(width)
        inside_y = (y >= top[:, None]) & (y < top[:, None] + self.blank)
        inside_x = (x >= left[:, None]) & (x < left[:, None] + self.blank)
        batch_BHWC[inside_y[:, :, None] & inside_x[:, None, :]] = np.array(self.neutral, np.uint8)


def _mirrored(index: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Positions outside 0..size-1 reflected at the border pixel (which is not doubled)."""
    if size == 1:
        return np.zeros_like(index)
    period = 2 * (size - 1)
    folded = np.abs(index) % period
    return np.asarray(np.where(folded >= size, period - folded, folded))


@AUGMENTATIONS.entry("light")
def light_augmentation(subject: Subject) -> Augmentation:
    """Shift by an eighth of a small picture or a sixteenth of a large one; mirror unless the names forbid it."""
    height, width = subject.size_HW
    small = max(height, width) <= SMALL_PIXELS
    share = 8 if small else 16
    reason = unmirrored_because(subject.names)
    mirror = not reason
    blank = min(height, width) // 4 if small and min(height, width) >= 24 and mirror else 0
    return LightAugmentation(
        mirror=mirror,
        shift_HW=(max(1, height // share) if height > 1 else 0, max(1, width // share) if width > 1 else 0),
        blank=blank,
        neutral=subject.neutral,
        remark="" if mirror else f"pictures are not mirrored: {reason}",
    )


_SIDES = re.compile(
    r"(?<![a-z])(left|right|clockwise|counterclockwise|anticlockwise|cw|ccw|east|west|yaw|heading|steering|angle)(?![a-z])"
)
_DIGIT_WORDS = frozenset(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])


def unmirrored_because(names: tuple[str, ...]) -> str:
    """Why a mirrored picture would change what is predicted, judged by the names of classes or targets; '' when nothing speaks against it.

    Ten digits, or single letters of more than a handful of classes, are characters to be read; fewer numbers are levels or codes.
    """
    lowered = [name.strip().lower() for name in names]
    if sided := [name for name, low in zip(names, lowered, strict=True) if _SIDES.search(low.replace("_", " "))]:
        return f"{sided[0]!r} names a side or a direction"
    characters = [low for low in lowered if len(low) == 1 and low.isalnum()]
    digits = {low for low in lowered if low.isascii() and low.isdigit() and len(low) == 1}
    letters = [low for low in characters if low.isalpha()]
    if len(digits) == 10 or set(lowered) >= _DIGIT_WORDS or (len(letters) >= 10 and len(letters) >= len(lowered) // 2):
        return "the classes are digits or letters"
    return ""
