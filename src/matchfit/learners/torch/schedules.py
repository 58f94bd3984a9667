"""Learning-rate schedules: pure functions (step, total, warm-up share) → share of the peak rate. No state, so nothing to save.

Since a rate follows from the step alone, a run that is resumed with more epochs simply has, from the resumed step on, the rate that
the longer run has at that step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

ONE_CYCLE_START = 1 / 25  # share of the peak at the first step; `div_factor` of torch's OneCycleLR
ONE_CYCLE_END = 1e-4 / 25  # share of the peak at the last step; `final_div_factor` there


def _fraction(step: int, total: int, warmup: float) -> tuple[float, bool]:
    """(fraction of the phase done, is it the warm-up): the last warm-up step reaches the peak, the last step the end."""
    rise = round(warmup * total)
    if step < rise:
        return (step + 1) / (rise + 1), True
    return (step - rise) / max(total - 1 - rise, 1), False


def one_cycle(step: int, total: int, warmup: float) -> float:
    """Cosine up to the peak, cosine down to almost nothing (Smith & Topin, Super-Convergence, arXiv:1708.07120)."""
    fraction, rising = _fraction(step, total, warmup)
    wave = (1 - math.cos(math.pi * min(fraction, 1.0))) / 2
    return ONE_CYCLE_START + (1 - ONE_CYCLE_START) * wave if rising else 1 + (ONE_CYCLE_END - 1) * wave


def cosine(step: int, total: int, warmup: float) -> float:
    """Straight line up to the peak, half a cosine down to 0 (Loshchilov & Hutter, SGDR, arXiv:1608.03983)."""
    fraction, rising = _fraction(step, total, warmup)
    return fraction if rising else (1 + math.cos(math.pi * min(fraction, 1.0))) / 2


def constant(step: int, total: int, warmup: float) -> float:
    """Straight line up to the peak, then the peak."""
    fraction, rising = _fraction(step, total, warmup)
    return fraction if rising else 1.0


SCHEDULES: Mapping[str, Callable[[int, int, float], float]] = {"one-cycle": one_cycle, "cosine": cosine, "constant": constant}


def rate(schedule: str, step: int, total: int, warmup: float, peak: float) -> float:
    """The learning rate of optimizer step `step` (from 0) of `total`."""
    return peak * SCHEDULES[schedule](step, total, warmup)
