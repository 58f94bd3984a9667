"""Bytes of an image file → uint8 RGB pixels, by one rule for every format and mode.

The rule (`DECODE_RULE` is its version; it is part of every preprocessing record):

* Pillow decodes; `.npy` arrays are read too. A file that ends early or is damaged is an error, never a half grey picture.
* The first frame counts. The orientation flag (EXIF or XMP) is applied.
* Grey and 1-bit are repeated over three channels. Palettes are looked up. Alpha is laid over `background`; where alpha is 0 in the
  whole picture it is taken for a mistake of the writer and left out.
* CMYK JPEG files are taken as Adobe writes them (inverted) and become RGB by (1 - C)(1 - K); colour profiles are not applied.
* 16-bit grey is divided by its full range (65535 → 255), not by the brightest pixel, so that two pictures stay comparable. 32-bit
  integers that fit 16 bits are treated the same. Floats within 0..1 are multiplied by 255, within 0..255 taken as they are. All other
  integers and floats are stretched from their own minimum to their own maximum; NaN and infinity become 0.

Shapes: H rows, W columns, C channels.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFile, UnidentifiedImageError

from matchfit.media.errors import MediaError
from matchfit.media.warned import collected_warnings

DECODE_RULE = 1
MAX_PIXELS = 178_956_970  # 512 MiB of RGB; twice the size at which Pillow starts to warn
WHITE = (255, 255, 255)
RUN_PROGRAMS = frozenset({"EPS", "WMF"})  # Pillow hands these to Ghostscript or to the system: not for files of strangers

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What was found in a file. `width` and `height` are as stored, before the orientation flag was applied.

    `bit_depth`: bits a channel. `conversions`: what had to be done to get RGB: `grey`, `one-bit`, `palette`, `alpha`, `alpha-ignored`,
    `cmyk`, `colour-space`, `16-bit`, `stretched`, `not-finite`, `oriented`, `first-frame`. `warnings`: texts of the decoder.
    """

    format: str
    mode: str
    width: int
    height: int
    bit_depth: int = 8
    orientation: int = 1
    conversions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decoded:
    """`pixels_HWC`: uint8 RGB, upright, contiguous."""

    pixels_HWC: Pixels
    facts: Facts


@dataclass
class _Notes:
    conversions: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        if name not in self.conversions:
            self.conversions.append(name)


def decode_image(data: bytes, *, background: tuple[int, int, int] = WHITE, max_pixels: int = MAX_PIXELS) -> Decoded:
    """Decode one image file. Raises MediaError (see `Fault`) for everything that is not a whole picture."""
    if not data:
        raise MediaError("empty", "the file has no bytes")
    if data[:6] == b"\x93NUMPY":
        return _decode_array(data, max_pixels)
    with collected_warnings() as texts:
        try:
            return _decode_pillow(data, background, max_pixels, texts)
        except MediaError:
            raise
        except UnidentifiedImageError:
            raise MediaError("not_an_image", f"no known image format in {len(data)} bytes that start with {data[:12]!r}") from None
        except Image.DecompressionBombError as error:
            raise MediaError("too_large", str(error)) from None
        except MemoryError:
            raise MediaError("too_large", "not enough memory to decode it") from None
        except Exception as error:  # a damaged file can raise anything inside a decoder; all of it means the same here
            raise MediaError("broken", f"{type(error).__name__}: {error}") from error


def count_facts(all_facts: Iterable[Facts]) -> dict[str, int]:
    """How many pictures share each fact: `format JPEG`, `mode RGB`, `size 32x32` (width x height), and each conversion by its name."""
    counts: Counter[str] = Counter()
    for facts in all_facts:
        counts.update([f"format {facts.format}", f"mode {facts.mode}", f"size {facts.width}x{facts.height}", *facts.conversions])
        if facts.warnings:
            counts["decoder-warning"] += 1
    return dict(sorted(counts.items()))


def _decode_pillow(data: bytes, background: tuple[int, int, int], max_pixels: int, texts: list[str]) -> Decoded:
    ImageFile.LOAD_TRUNCATED_IMAGES = False  # another library may have asked Pillow for half grey pictures
    notes = _Notes()
    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
        _check_size(width, height, max_pixels)
        if image.format in RUN_PROGRAMS:
            raise MediaError("unsupported", f"{image.format} files are drawn by another program")
        mode, bits = image.mode, _bit_depth(image, data)
        flag = _orientation(image)
        image.load()
        remaining = _orientation(image)  # the TIFF reader turns the picture itself and takes the flag away
        pixels = _upright(_to_rgb(image, background, notes), remaining)
        if flag != 1 or remaining != 1:
            notes.add("oriented")
        if _has_more_frames(image):
            notes.add("first-frame")
        form = image.format or "unknown"
    if bits == 16:
        notes.add("16-bit")
    facts = Facts(
        format=form,
        mode=mode,
        width=width,
        height=height,
        bit_depth=bits,
        orientation=flag if flag != 1 else remaining,
        conversions=tuple(notes.conversions),
        warnings=tuple(dict.fromkeys(texts)),
    )
    return Decoded(np.ascontiguousarray(pixels), facts)


def _check_size(width: int, height: int, max_pixels: int) -> None:
    if width < 1 or height < 1:
        raise MediaError("broken", f"a picture of {width}x{height} pixels")
    if width * height > max_pixels:
        raise MediaError("too_large", f"{width}x{height} pixels, more than {max_pixels:,}")


def _orientation(image: Image.Image) -> int:
    try:
        flag = image.getexif().get(0x0112, 1)
    except Exception:  # damaged metadata beside a whole picture
        return 1
    return flag if isinstance(flag, int) and 1 <= flag <= 8 else 1


def _has_more_frames(image: Image.Image) -> bool:
    try:
        return bool(getattr(image, "is_animated", False))
    except Exception:  # a damaged second frame does not concern the first
        return True


def _bit_depth(image: Image.Image, data: bytes) -> int:
    if image.mode == "1":
        return 1
    if image.mode in {"I", "F"}:
        return 32
    if image.mode.startswith("I;16"):
        return 16
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) > 24:
        return data[24]
    if image.format == "TIFF":
        bits = getattr(image, "tag_v2", {}).get(258, 8)
        return int(bits[0] if isinstance(bits, tuple) else bits)
    return 8


def _to_rgb(image: Image.Image, background: tuple[int, int, int], notes: _Notes) -> Pixels:
    """Pixels of a loaded picture in RGB, not yet turned upright."""
    mode = image.mode
    if mode in {"I", "F"} or mode.startswith("I;16"):
        notes.add("grey")
        return _grey_to_rgb(_to_uint8(np.asarray(image), notes))
    if mode in {"P", "PA"}:
        notes.add("palette")
    elif mode in {"1", "L", "LA", "La"}:
        notes.add("one-bit" if mode == "1" else "grey")
    elif mode == "CMYK":
        notes.add("cmyk")
    elif mode not in {"RGB", "RGBA", "RGBa", "RGBX"}:
        notes.add("colour-space")
    if mode in {"LA", "La", "PA", "RGBA", "RGBa"} or "transparency" in image.info:
        return _over(np.asarray(image.convert("RGBA")), background, notes)
    return np.asarray(_lab_to_rgb(image) if mode == "LAB" else image.convert("RGB"))


def _lab_to_rgb(image: Image.Image) -> Image.Image:
    from PIL import ImageCms

    turned = ImageCms.profileToProfile(image, ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB"), outputMode="RGB")
    if turned is None:
        raise MediaError("unsupported", "a LAB picture that cannot be turned to RGB")
    return turned


def _over(pixels_HW4: Pixels, background: tuple[int, int, int], notes: _Notes) -> Pixels:
    alpha_HW1 = pixels_HW4[..., 3:].astype(np.uint16)
    colour = pixels_HW4[..., :3]
    if not alpha_HW1.any():
        notes.add("alpha-ignored")
        return colour
    if alpha_HW1.min() == 255:
        return colour
    notes.add("alpha")
    mixed = colour * alpha_HW1 + np.array(background, np.uint16) * (255 - alpha_HW1)  # at most 255 * 255: fits uint16
    return ((mixed.astype(np.uint32) + 127) // 255).astype(np.uint8)


def _grey_to_rgb(grey_HW: Pixels) -> Pixels:
    return np.repeat(grey_HW[..., None], 3, axis=2)


def _to_uint8(values: npt.NDArray[np.generic], notes: _Notes) -> Pixels:
    """Any numbers as 0..255 by the rule at the top of this file."""
    if values.dtype == np.uint8:
        return values.astype(np.uint8, copy=False)
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * np.uint8(255)
    if values.dtype.kind not in "iuf":
        raise MediaError("unsupported", f"pixels of type {values.dtype}")
    numbers = values.astype(np.float64)
    finite = np.isfinite(numbers)
    if not finite.all():
        notes.add("not-finite")
        numbers = np.where(finite, numbers, 0.0)
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)
    scaled: npt.NDArray[np.float64]
    if values.dtype.kind in "iu" and low >= 0 and high <= 65535:
        notes.add("16-bit")
        scaled = numbers * (255.0 / 65535.0)
    elif values.dtype.kind == "f" and low >= 0 and high <= 255:
        scaled = numbers * 255.0 if high <= 1 else numbers
    else:
        notes.add("stretched")
        scaled = (numbers - low) * (255.0 / (high - low)) if high > low else np.zeros_like(numbers)
    return np.floor(scaled + 0.5).astype(np.uint8)


def _upright(pixels: Pixels, flag: int) -> Pixels:
    """Apply an EXIF orientation flag; 5 to 8 swap height and width."""
    if flag in {5, 6, 7, 8}:
        pixels = pixels.transpose(1, 0, 2)
    if flag in {2, 3, 6, 7}:
        pixels = pixels[:, ::-1]
    if flag in {3, 4, 7, 8}:
        pixels = pixels[::-1]
    return pixels


def _decode_array(data: bytes, max_pixels: int) -> Decoded:
    """A `.npy` file: (H, W), (H, W, C) or (C, H, W) with 1, 3 or 4 channels; the fourth is left out."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception as error:
        raise MediaError("broken", f"a .npy file: {error}") from None
    shape = array.shape
    if array.ndim == 3 and shape[2] not in {1, 3, 4} and shape[0] in {1, 3, 4}:
        array = np.moveaxis(array, 0, 2)
    if array.ndim == 2:
        array = array[..., None]
    if array.ndim != 3 or array.shape[2] not in {1, 3, 4} or 0 in array.shape:
        raise MediaError("unsupported", f"an array of shape {shape}; pictures have 1, 3 or 4 channels")
    height, width, channels = array.shape
    _check_size(width, height, max_pixels)
    notes = _Notes()
    pixels = _to_uint8(array, notes)
    if channels == 1:
        notes.add("grey")
        pixels = np.repeat(pixels, 3, axis=2)
    elif channels == 4:
        notes.add("alpha-ignored")
    bits = array.dtype.itemsize * 8
    facts = Facts(
        format="NPY", mode=str(array.dtype), width=width, height=height, bit_depth=bits, conversions=tuple(notes.conversions)
    )
    return Decoded(np.ascontiguousarray(pixels[..., :3]), facts)
