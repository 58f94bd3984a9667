"""What depends on the data: input size, model, pretrained weights, recipe. Pure decisions with their reason.

Figures behind the constants are in docs/log.md (images).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from matchfit.competition.problem import Items
from matchfit.core.errors import ConfigError, DataError
from matchfit.media import MediaError, decode_image
from matchfit.modalities.base import Recipe
from matchfit.modalities.image import weights
from matchfit.modalities.image.models import SMALL_WIDTHS, is_ours, size_step

if TYPE_CHECKING:
    from matchfit.learners.config import TrainConfig

SMALL_SIDE = 64  # pixels; up to here pictures keep their size and get the small network
PROBED = 64  # pictures that are looked at
AREA = {"cpu": (96 * 128, 128 * 160), "gpu": (224 * 224, 224 * 224)}  # pixels of an input: from scratch, pretrained
PACKAGED_MODEL, PLAIN_MODEL = "tf_efficientnet_lite0", "resnet18"
SMALL_EPOCH_SAMPLES = {"cpu": 200_000, "gpu": 1_500_000}
DEEP_EPOCH_SAMPLES = {"cpu": 30_000, "gpu": 500_000}
NARROW_PIXELS = (2_000 * 32 * 32, 30_000 * 32 * 32)  # of all training rows: with less a wide network is wasted, with more too slow
FEW_ROWS = 2_000


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The settled choices; `reason` is one line for people."""

    model: str
    pretrained: str
    size_HW: tuple[int, int]
    reason: str


def device_kind(device: str) -> str:
    """`gpu` or `cpu`, for defaults only."""
    import torch

    return "gpu" if device.startswith(("cuda", "mps")) or (device == "auto" and torch.cuda.is_available()) else "cpu"


def probe_sizes(items: Items, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(P, 2) heights and widths, upright, of up to PROBED evenly spaced readable pictures; DataError when there is none."""
    if items.media is None or items.files is None:
        raise DataError("images", rule="items need files", found="no file for any item", todo="Check the image folder's name.")
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), PROBED)).astype(np.int64))] if len(rows) else rows
    sizes: list[tuple[int, int]] = []
    for _, content in items.files.stream(items.media[chosen]):
        if isinstance(content, bytes):
            try:
                height, width = decode_image(content).pixels_HWC.shape[:2]
            except MediaError:
                continue
            sizes.append((height, width))
    if not sizes:
        raise DataError(
            "images",
            rule="at least one picture must be readable",
            found=f"none of {len(chosen)} looked at",
            todo="Run matchfit inspect.",
        )
    return np.array(sorted(sizes), np.int64)


def make_plan(config: TrainConfig, items: Items, fit_rows: npt.NDArray[np.int64]) -> Plan:
    """Model, weights and size from the settings and the pictures at `fit_rows`."""
    sizes = probe_sizes(items, fit_rows)
    height, width = (int(value) for value in np.median(sizes, axis=0))
    kind = device_kind(config.device)
    given = _given_size(config.image_size)
    seen = given or (height, width)
    small = max(seen) <= SMALL_SIDE
    model = config.model or _default_model(config.pretrained, small, len(fit_rows) * seen[0] * seen[1], kind)
    pretrained = settle_pretrained(config.pretrained, model)
    size_HW = given or _input_size((height, width), model, pretrained != weights.NONE, kind)
    reason = f"{model}, {_weights_words(pretrained, model)}, input {size_HW[0]}x{size_HW[1]} (pictures are {height}x{width} by the median)"
    return Plan(model=model, pretrained=pretrained, size_HW=size_HW, reason=reason)


def _given_size(size: tuple[int, int] | int | None) -> tuple[int, int] | None:
    if size is None:
        return None
    height, width = (size, size) if isinstance(size, int) else size
    if min(height, width) < 1:
        raise ConfigError("image_size", rule="must be above zero", found=repr(size), todo="Give a side, or height and width.")
    return height, width


def _default_model(pretrained: str | None, small: bool, pixels: int, kind: str) -> str:
    if pretrained == weights.PACKAGED:
        return PACKAGED_MODEL
    if small and pretrained in {None, weights.NONE}:
        if kind == "gpu":
            return f"resnet9-{SMALL_WIDTHS[2]}"
        return f"resnet9-{SMALL_WIDTHS[1] if NARROW_PIXELS[0] <= pixels <= NARROW_PIXELS[1] else SMALL_WIDTHS[0]}"
    return PACKAGED_MODEL if pretrained is None and weights.packaged_available(PACKAGED_MODEL) else PLAIN_MODEL


def settle_pretrained(asked: str | None, model: str) -> str:
    """`none`, `packaged`, `hub` or a path. Without a wish: the best that this machine has for the model, without the network."""
    if asked is not None:
        if asked in {weights.PACKAGED, weights.HUB} and is_ours(model):
            raise ConfigError(
                "pretrained",
                rule=f"{model} has no pretrained weights",
                found=repr(asked),
                todo="Choose none, a file, or a timm model.",
            )
        return asked
    if is_ours(model):
        return weights.NONE
    if weights.packaged_available(model):
        return weights.PACKAGED
    return weights.HUB if weights.hub_cached(model) else weights.NONE


def _weights_words(pretrained: str, model: str) -> str:
    if pretrained == weights.NONE:
        return "trained from scratch"
    if pretrained == weights.PACKAGED:
        return f"pretrained weights of the package {weights.PACKAGES.get(model, '?')}"
    return "pretrained weights of the hub" if pretrained == weights.HUB else f"pretrained weights of {pretrained}"


def _input_size(native_HW: tuple[int, int], model: str, pretrained: bool, kind: str) -> tuple[int, int]:
    """Native for small pictures and the small network's kind; else the aspect kept at a fixed area, sides in whole steps.

    Pictures are not enlarged, except that a pretrained network sees small ones at up to twice their size.
    """
    height, width = native_HW
    if is_ours(model):
        scale = min(1.0, SMALL_SIDE / max(height, width))
        return max(1, round(height * scale)), max(1, round(width * scale))
    step = size_step(model)
    aspect = min(2.0, max(0.5, height / width))
    area = min(AREA[kind][pretrained], height * width * (4 if pretrained else 1))
    ideal = (area * aspect) ** 0.5, (area / aspect) ** 0.5
    sides = [max(step, round(side / step) * step) for side in ideal]
    return sides[0], sides[1]


def make_recipe(plan: Plan, num_train: int, metric: str, task: str, kind: str) -> Recipe:
    """Defaults for a model of this kind and this many training rows."""
    calibrated = any(word in metric for word in ("log_loss", "brier", "kl"))
    smoothing = 0.1 if task in {"binary", "multiclass"} and not calibrated else 0.0
    rows = max(num_train, 1)
    if is_ours(plan.model):
        epochs = float(np.clip(round(SMALL_EPOCH_SAMPLES[kind] / rows), 10, 25 if rows < FEW_ROWS else 50))
        return Recipe(
            epochs=epochs,
            batch_size=_batch(rows, 64 if rows < FEW_ROWS else 128 if rows < 20_000 else 256),
            lr=5e-3,
            weight_decay=0.05,
            label_smoothing=smoothing,
        )
    wide = any(word in plan.model for word in ("vit", "deit", "convnext", "swin", "beit", "eva", "mixer"))
    batch_size = _batch(rows, 32 if kind == "cpu" or rows < 5_000 else 128)
    if plan.pretrained == weights.NONE:
        epochs = float(np.clip(round(DEEP_EPOCH_SAMPLES[kind] / rows), 10, 60))
        return Recipe(epochs=epochs, batch_size=batch_size, lr=5e-4 if wide else 3e-3, weight_decay=0.05, label_smoothing=smoothing)
    epochs = float(np.clip(round(12_000 / rows), 4, 20)) if kind == "cpu" else 12.0
    return Recipe(epochs=epochs, batch_size=batch_size, lr=1e-4 if wide else 1.5e-3, weight_decay=0.05, label_smoothing=smoothing)


def _batch(rows: int, usual: int) -> int:
    """At least eight steps an epoch where the data allow it."""
    return int(min(usual, max(8, rows // 8)))
