"""Resize uint8 pictures with Pillow's antialiased filters, and three ways to fit a picture into a given size.

Every way samples the picture once: the crop is a box in source coordinates, handed to the same call that resizes. JPEG files are
decoded in full (no `draft` mode), so that the pixels do not depend on the format of the file.

Shapes: H rows, W columns, 3 channels.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from PIL import Image

from matchfit.media.errors import MediaError

Filter = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
Fit = Literal["squash", "crop", "pad"]
FILTERS: tuple[str, ...] = get_args(Filter)
FITS: tuple[str, ...] = get_args(Fit)
_PILLOW = {name: Image.Resampling[name.upper()] for name in FILTERS}

Pixels = npt.NDArray[np.uint8]


def fit_image(
    pixels_HWC: Pixels, size_HW: tuple[int, int], *, fit: Fit, filter: Filter, pad_colour: tuple[int, int, int] = (0, 0, 0)
) -> Pixels:
    """A picture of exactly `size_HW`.

    `squash` changes the aspect, `crop` scales until both sides are covered and keeps the centre, `pad` scales until the whole picture
    is inside and centres it on `pad_colour`.
    """
    height, width = pixels_HWC.shape[:2]
    target_height, target_width = size_HW
    if fit == "squash":
        return _resize(pixels_HWC, size_HW, filter, None)
    if fit == "crop":
        scale = max(target_height / height, target_width / width)
        box_height, box_width = min(height, target_height / scale), min(width, target_width / scale)
        top, left = (height - box_height) / 2, (width - box_width) / 2
        return _resize(pixels_HWC, size_HW, filter, (left, top, left + box_width, top + box_height))
    if fit == "pad":
        scale = min(target_height / height, target_width / width)
        inner = (min(target_height, max(1, round(height * scale))), min(target_width, max(1, round(width * scale))))
        canvas = np.empty((*size_HW, 3), np.uint8)
        canvas[:] = np.array(pad_colour, np.uint8)
        top, left = (target_height - inner[0]) // 2, (target_width - inner[1]) // 2
        canvas[top : top + inner[0], left : left + inner[1]] = _resize(pixels_HWC, inner, filter, None)
        return canvas
    raise MediaError("record", f"fit must be one of {', '.join(FITS)}, got {fit!r}")


def _resize(pixels: Pixels, size_HW: tuple[int, int], filter: Filter, box: tuple[float, float, float, float] | None) -> Pixels:
    if filter not in _PILLOW:
        raise MediaError("record", f"filter must be one of {', '.join(FILTERS)}, got {filter!r}")
    height, width = pixels.shape[:2]
    if (height, width) == size_HW and (box is None or box == (0, 0, width, height)):
        return pixels
    image = Image.fromarray(pixels).resize((size_HW[1], size_HW[0]), _PILLOW[filter], box=box)
    return np.asarray(image)
