"""uint8 pixels → float32 network inputs, through a table of 256 values a channel.

The table is computed in float64 and rounded once, so that numpy, torch and any other runtime that looks values up get the same bits;
a multiply-add would depend on whether the chip fuses it.

Shapes: N pictures, H rows, W columns, C channels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def normalise_table(scale: float, mean: Sequence[float], std: Sequence[float]) -> npt.NDArray[np.float32]:
    """(C, 256): the input value of every byte, (byte * scale - mean) / std."""
    bytes_256 = np.arange(256, dtype=np.float64) * scale
    table = (bytes_256[None, :] - np.asarray(mean, np.float64)[:, None]) / np.asarray(std, np.float64)[:, None]
    return table.astype(np.float32)


def normalise(pixels_NHWC: npt.NDArray[np.uint8], table_C256: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """float32 (…, H, W, C) in the same layout; a leading batch axis is optional."""
    if (table_C256 == table_C256[:1]).all():
        same: npt.NDArray[np.float32] = table_C256[0][pixels_NHWC]
        return same
    output = np.empty(pixels_NHWC.shape, np.float32)
    for channel, table_256 in enumerate(table_C256):
        output[..., channel] = table_256[pixels_NHWC[..., channel]]
    return output
