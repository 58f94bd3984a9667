"""Near-duplicate images from small thumbnails: candidates by one matrix product, then alignment and a bar on what is left.

Method (ours, from textbook parts): thumbnails are described by 8x8 colour cells, partially whitened by the principal axes of the collection
(what all images share counts less), and compared by cosine in float32 blocks. Each candidate pair is aligned by Gauss-Newton steps over scale and
shift in both axes, brightness and contrast (Lucas and Kanade 1981), so that a crop or an exposure change does not matter, and is kept only when the
aligned thumbnails agree in colour and in fine structure (the thumbnail less its blur): look-alikes on one background agree in the first alone.
Where distinct images agree by nature (drawings of letters), the bars rise.

Shapes: N images, D descriptor axes, P pairs, S thumbnail side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]  # float32 throughout; numpy's stubs lose the width
Pairs = npt.NDArray[np.int64]

SIDE = 32  # thumbnails are SIDE x SIDE x 3, whatever the aspect ratio
CELLS = 8
NUM_AXES = 64
CANDIDATE_COSINE = 0.80
CANDIDATES_EACH = 8  # candidate pairs an image that are aligned at most, and
MAX_CANDIDATES = 60_000  # in all (about 20 s); the cosine bar is raised to stay below both
BLOCK = 2048
STEPS = 6
COLOUR_BAR = 0.96
STRUCTURE_BAR = 0.85
REFERENCE_ROWS, NEIGHBOUR, BAR_GAP = 512, 5, 0.8
FLAT_SD = 3.0  # grey levels; below, a thumbnail is a plain surface and only exact comparison means anything
MAX_SCALE = 0.16
MAX_SHIFT = 3.0  # thumbnail pixels


def near_pairs(thumbs_N: npt.NDArray[np.uint8], say: Callable[[str], None] = lambda _: None) -> Pairs:
    """(P, 2) pairs i < j of near-duplicates among `thumbs_N` (N, S, S, 3) uint8. Flat images never match."""
    if len(thumbs_N) < 2:
        return np.empty((0, 2), np.int64)
    if len(thumbs_N) > 10_000:
        say(f"comparing {len(thumbs_N):,} images with one another")
    described_ND = describe(thumbs_N)
    pairs_P = candidates(described_ND)
    colour_bar, structure_bar = bars(thumbs_N, described_ND)
    kept = []
    for chunk in np.array_split(pairs_P, len(pairs_P) // 512 + 1):
        colour_P, structure_P = agreement(thumbs_N[chunk[:, 0]], thumbs_N[chunk[:, 1]])
        kept.append(chunk[(colour_P >= colour_bar) & (structure_P >= structure_bar)])
    return np.concatenate(kept)


def bars(thumbs_N: npt.NDArray[np.uint8], described_ND: Floats, *, seed: int = 0) -> tuple[float, float]:
    """The least correlations (colour, structure) of a copy in this collection.

    Drawings of one letter, or scans of one organ, agree by nature. How much is seen from images that are hardly copies: a sample of images
    and the neighbour of each that is NEIGHBOUR-th by descriptor (the second in small
    collections). A copy must close BAR_GAP of the median distance from there to 1.
    """
    sample = np.random.default_rng(seed).permutation(len(thumbs_N))[:REFERENCE_ROWS]
    if len(thumbs_N) < 2 * NEIGHBOUR:
        return COLOUR_BAR, STRUCTURE_BAR
    place = NEIGHBOUR if len(thumbs_N) >= 100 * NEIGHBOUR else 2  # the fifth of few is far away; place 0 is the image itself
    nearest = np.argpartition(-(described_ND[sample] @ described_ND.T), place, axis=1)[:, place]
    colour, structure = (float(np.median(values)) for values in agreement(thumbs_N[sample], thumbs_N[nearest]))
    return max(COLOUR_BAR, 1 - (1 - BAR_GAP) * (1 - colour)), max(STRUCTURE_BAR, 1 - (1 - BAR_GAP) * (1 - structure))


def describe(thumbs_N: npt.NDArray[np.uint8]) -> Floats:
    """(N, D) unit vectors; zero for flat images."""
    side = SIDE // CELLS
    cells = np.empty((len(thumbs_N), CELLS * CELLS * 3), np.float32)
    for start in range(0, len(thumbs_N), BLOCK):
        block = thumbs_N[start : start + BLOCK].astype(np.float32)
        cells[start : start + BLOCK] = block.reshape(-1, CELLS, side, CELLS, side, 3).mean((2, 4)).reshape(len(block), -1)
    cells -= cells.mean(1, keepdims=True)
    norms_N = np.linalg.norm(cells, axis=1)
    flat_N = norms_N < FLAT_SD * np.sqrt(cells.shape[1])
    cells /= np.maximum(norms_N, 1e-6)[:, None]
    # Second moments without centring: a collection of almost equal images must not be reduced to its noise.
    values, axes = np.linalg.eigh((cells.T @ cells / len(cells)).astype(np.float64))
    top = slice(-NUM_AXES, None)
    weights = np.maximum(values[top], values[-1] * 1e-4) ** -0.25 if len(cells) >= 4 * NUM_AXES else 1.0
    described = (cells @ (axes[:, top] * weights).astype(np.float32)).astype(np.float32)
    described /= np.maximum(np.linalg.norm(described, axis=1, keepdims=True), 1e-9)
    described[flat_N] = 0.0
    return described


def candidates(described_ND: Floats, *, seed: int = 0) -> Pairs:
    """(P, 2) pairs i < j whose cosine passes a bar that leaves at most about CANDIDATES_EACH pairs an image."""
    bar = _bar(described_ND, seed)
    found: list[Pairs] = []
    for start in range(0, len(described_ND), BLOCK):
        rows = described_ND[start : start + BLOCK]
        for other in range(start, len(described_ND), BLOCK):
            first, second = np.nonzero(rows @ described_ND[other : other + BLOCK].T > bar)
            pairs = np.stack([first + start, second + other], axis=1)
            found.append(pairs[pairs[:, 0] < pairs[:, 1]])
    return np.concatenate(found)


def _bar(described_ND: Floats, seed: int) -> float:
    num_images = len(described_ND)
    sample = np.random.default_rng(seed).permutation(num_images)[:512]
    cosines = np.sort((described_ND[sample] @ described_ND.T).ravel())[::-1]
    each = min(CANDIDATES_EACH, MAX_CANDIDATES / num_images)
    allowed = int(len(sample) * (1 + 2 * each))  # itself, and each pair is seen from both ends
    return float(max(CANDIDATE_COSINE, cosines[min(allowed, len(cosines) - 1)]))


def agreement(first_P: npt.NDArray[np.uint8], second_P: npt.NDArray[np.uint8]) -> tuple[Floats, Floats]:
    """(colour, structure): correlations (P,) of the aligned thumbnails, of all three channels and of the grey image less its blur."""
    if not len(first_P):
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    # A slight blur: a copy that was made smaller and is small has lost its sharpness, not its picture.
    target, source = (_blur(images.astype(np.float32).transpose(0, 3, 1, 2), 1) for images in (first_P, second_P))
    grey_target, grey_source = target.mean(1), source.mean(1)
    warp_P4 = _align(grey_target, grey_source)
    rows, columns = _positions(warp_P4)
    inside = _inside(rows, columns)[:, None]
    plausible_P = (np.abs(warp_P4) <= np.array([MAX_SCALE, MAX_SHIFT] * 2, np.float32)).all(1)
    colour_P = _correlation(target, _sample(source, rows, columns), inside)
    fine_target, fine_source = grey_target - _blur(grey_target, 3), grey_source - _blur(grey_source, 3)
    structure_P = _correlation(fine_target[:, None], _sample(fine_source[:, None], rows, columns), inside)
    return colour_P * plausible_P, structure_P * plausible_P


_GRID = np.arange(SIDE, dtype=np.float32)
_ARM = _GRID - np.float32((SIDE - 1) / 2)  # distance of a pixel from the middle


def _positions(warp_P4: Floats) -> tuple[Floats, Floats]:
    """Where row r and column c of the target lie in the source, in pixels: (P, S) each; the warp is separable."""
    return _GRID + warp_P4[:, :1] * _ARM + warp_P4[:, 1:2], _GRID + warp_P4[:, 2:3] * _ARM + warp_P4[:, 3:]


def _inside(rows_PS: Floats, columns_PS: Floats) -> Floats:
    """(P, S, S) 1 where the target pixel lies inside the source, else 0."""
    valid_rows, valid_columns = ((at >= 0) & (at <= SIDE - 1) for at in (rows_PS, columns_PS))
    return (valid_rows[:, :, None] & valid_columns[:, None, :]).astype(np.float32)


def _align(target_P: Floats, source_P: Floats) -> Floats:
    """(P, 4) row scale, row shift, column scale, column shift that carry the target's grid into the source."""
    num_pairs = len(target_P)
    warp = np.zeros((num_pairs, 4), np.float32)
    by_row, by_column = np.gradient(source_P, axis=(1, 2))
    layers = np.stack([source_P, by_row.astype(np.float32), by_column.astype(np.float32)], axis=1)
    limits = np.array([0.08, 1.5, 0.08, 1.5], np.float32)
    small = 1e-3 * np.eye(6, dtype=np.float32)
    design = np.empty((num_pairs, 6, SIDE, SIDE), np.float32)
    for _ in range(STEPS):
        rows, columns = _positions(warp)
        inside = _inside(rows, columns)
        value, by_row, by_column = (_sample(layers, rows, columns) * inside[:, None]).transpose(1, 0, 2, 3)
        design[:, 0], design[:, 1] = by_row * _ARM[:, None], by_row
        design[:, 2], design[:, 3] = by_column * _ARM, by_column
        design[:, 4], design[:, 5] = value / 64, inside
        flat = design.reshape(num_pairs, 6, -1)
        normal = flat @ flat.transpose(0, 2, 1)
        wanted = flat @ (target_P * inside).reshape(num_pairs, -1, 1)
        ridge = np.einsum("pii->p", normal)[:, None, None] * np.float32(1e-6) * np.eye(6, dtype=np.float32) + small
        solution = np.linalg.solve(normal + ridge, wanted)[..., 0]
        gain = solution[:, 4:5] / 64
        step = np.where(gain > 0.2, solution[:, :4] / np.maximum(gain, 0.2), 0)
        warp = np.clip(warp + np.clip(step, -limits, limits), -4 * limits, 4 * limits)
    return warp


def _sample(images_PCSS: Floats, rows_PS: Floats, columns_PS: Floats) -> Floats:
    """Bilinear samples (P, C, S, S) of images (P, C, S, S) on a separable grid, edges held."""

    def hat(at_PS: Floats) -> Floats:
        weights: Floats = np.maximum(1 - np.abs(np.clip(at_PS, 0, SIDE - 1)[:, :, None] - _GRID), 0)
        return weights

    sampled: Floats = hat(rows_PS)[:, None] @ images_PCSS @ hat(columns_PS).transpose(0, 2, 1)[:, None]
    return sampled


def _blur(images: Floats, radius: int) -> Floats:
    """Box mean over (2 radius + 1)² pixels of the last two axes, edges held."""
    width = 2 * radius + 1
    blurred = np.asarray(images)
    for axis in (-2, -1):
        padding = [(0, 0)] * images.ndim
        padding[axis] = (radius + 1, radius)
        sums: Floats = np.cumsum(np.pad(blurred, padding, mode="edge"), axis=axis, dtype=np.float32)
        length = images.shape[axis]
        upper, lower = sums.take(range(width, width + length), axis), sums.take(range(length), axis)
        blurred = (upper - lower) / width
    return blurred


def _correlation(first: Floats, second: Floats, inside: Floats) -> Floats:
    """(P,) correlation over the valid pixels and channels of (P, C, S, S); one mean for all channels, so that colour counts."""
    total = np.maximum(inside.sum((1, 2, 3)) * first.shape[1], 1)

    def centred(images: Floats) -> Floats:
        without_mean: Floats = (images - ((images * inside).sum((1, 2, 3)) / total)[:, None, None, None]) * inside
        return without_mean

    left, right = centred(first), centred(second)
    power = np.sqrt((left**2).sum((1, 2, 3)) * (right**2).sum((1, 2, 3)))
    result: Floats = (left * right).sum((1, 2, 3)) / np.maximum(power, 1e-6)
    return result
