"""The ONE preprocessing record: everything that decides which numbers a network sees for a file.

Training, validation, test, calibration and a shipped package use the same record and the same two functions: `prepare` (bytes →
uint8 pixels, what the cache keeps) and `to_input` (pixels → float32).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from matchfit.media.decode import DECODE_RULE, MAX_PIXELS, WHITE, Decoded, decode_image
from matchfit.media.errors import MediaError
from matchfit.media.normalise import normalise, normalise_table
from matchfit.media.resize import FILTERS, FITS, Filter, Fit, fit_image

SCHEMA = 1
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
Triple = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """Frozen and hashed. Raises MediaError when a value has no meaning.

    `size_HW` in pixels; `background` lies under transparent pixels and `pad_colour` around a padded picture (RGB); the network's input is
    (byte * scale - mean) / std in `channel_order`, channels first.
    """

    size_HW: tuple[int, int]
    fit: Fit = "squash"
    filter: Filter = "bilinear"
    mean: Triple = IMAGENET_MEAN
    std: Triple = IMAGENET_STD
    scale: float = 1 / 255
    background: tuple[int, int, int] = WHITE
    pad_colour: tuple[int, int, int] = (0, 0, 0)
    channel_order: Literal["rgb"] = "rgb"
    orientation: Literal["exif"] = "exif"
    decoder: Literal["pillow"] = "pillow"
    decode_rule: int = DECODE_RULE
    max_pixels: int = MAX_PIXELS

    def __post_init__(self) -> None:
        _check(self.decoder == "pillow" and self.decode_rule == DECODE_RULE, f"decoding rule must be pillow {DECODE_RULE}", self)
        _check(self.orientation == "exif" and self.channel_order == "rgb", "orientation must be exif and channels rgb", self)
        _check(len(self.size_HW) == 2 and min(self.size_HW) >= 1, "size_HW must be two numbers above zero", self)
        _check(self.fit in FITS, f"fit must be one of {', '.join(FITS)}", self)
        _check(self.filter in FILTERS, f"filter must be one of {', '.join(FILTERS)}", self)
        _check(
            len(self.mean) == 3 and len(self.std) == 3 and min(self.std) > 0, "mean and std are three numbers, std above zero", self
        )
        _check(self.scale > 0 and self.max_pixels >= 1, "scale and max_pixels must be above zero", self)
        for colour in (self.background, self.pad_colour):
            _check(len(colour) == 3 and all(0 <= part <= 255 for part in colour), "colours are three numbers within 0..255", self)

    @property
    def hash(self) -> str:
        """SHA-256 (hex) of the canonical JSON: all that decides the network's input."""
        return _digest(self.to_json())

    @property
    def pixels_hash(self) -> str:
        """The same without what only `to_input` uses, so that one cache of pixels serves networks with other means."""
        content = self.to_json()
        return _digest({key: value for key, value in content.items() if key not in {"mean", "std", "scale"}})

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            **{key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()},
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Preprocessing:
        """The record that `to_json` wrote; raises MediaError for another schema or an unknown key."""
        values = dict(content)
        schema = values.pop("schema", None)
        if schema != SCHEMA:
            raise MediaError("record", f"preprocessing record must have schema {SCHEMA}, got {schema!r}")
        known = {item.name for item in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise MediaError("record", f"unknown key {unknown[0]!r} in a preprocessing record; known: {', '.join(sorted(known))}")
        plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
        return cls(**plain)


def prepare(data: bytes, record: Preprocessing) -> npt.NDArray[np.uint8]:
    """One file as uint8 RGB (H, W, 3) of `record.size_HW`. Raises MediaError."""
    return prepare_decoded(decode(data, record), record)


def decode(data: bytes, record: Preprocessing) -> Decoded:
    """The upright picture at its own size, with the facts about the file."""
    return decode_image(data, background=record.background, max_pixels=record.max_pixels)


def prepare_decoded(decoded: Decoded, record: Preprocessing) -> npt.NDArray[np.uint8]:
    """The second half of `prepare`, for who needs the facts too."""
    return fit_image(decoded.pixels_HWC, record.size_HW, fit=record.fit, filter=record.filter, pad_colour=record.pad_colour)


def to_input(pixels: npt.NDArray[np.uint8], record: Preprocessing) -> npt.NDArray[np.float32]:
    """float32 (3, H, W), or (N, 3, H, W) for a batch, from uint8 (H, W, 3) or (N, H, W, 3).

    The result is a view whose memory stays channels-last: `torch.from_numpy` makes a channels-last tensor of it without a copy.
    """
    return np.moveaxis(normalise(pixels, normalise_table(record.scale, record.mean, record.std)), -1, -3)


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode("utf-8")).hexdigest()


def _check(holds: bool, rule: str, record: Preprocessing) -> None:
    if not holds:
        raise MediaError("record", f"{rule}; got {record!r}")
