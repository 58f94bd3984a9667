"""One decoding rule for every format and mode; broken files are errors by name."""

from __future__ import annotations

import io
import threading
import warnings

import numpy as np
import pytest
from PIL import Image, ImageFile

from matchfit.media import MediaError, count_facts, decode_image

RNG = np.random.default_rng(0)
PICTURE = np.kron(RNG.integers(0, 256, (6, 8, 3), np.uint8), np.ones((8, 8, 1), np.uint8))  # 48 x 64, blocks survive JPEG

LZW = {"compression": "tiff_lzw"}


def encoded(image: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def picture() -> Image.Image:
    return Image.fromarray(PICTURE)


@pytest.mark.parametrize(("form", "options"), [("PNG", {}), ("BMP", {}), ("TIFF", {}), ("WEBP", {"lossless": True}), ("PPM", {})])
def test_lossless_formats_come_back_as_they_were(form: str, options: dict[str, object]) -> None:
    decoded = decode_image(encoded(picture(), form, **options))
    assert decoded.pixels_HWC.dtype == np.uint8
    assert decoded.pixels_HWC.flags.c_contiguous
    np.testing.assert_array_equal(decoded.pixels_HWC, PICTURE)
    assert (decoded.facts.width, decoded.facts.height, decoded.facts.conversions) == (64, 48, ())


@pytest.mark.parametrize(
    ("form", "options", "bound"), [("JPEG", {"quality": 95, "subsampling": 0}, 3), ("WEBP", {"quality": 95}, 25)]
)
def test_lossy_formats_are_close(form: str, options: dict[str, object], bound: float) -> None:
    difference = np.abs(decode_image(encoded(picture(), form, **options)).pixels_HWC.astype(int) - PICTURE)
    assert difference.mean() < bound


@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("flag", range(1, 9))
def test_orientation_is_applied_once_in_every_format(form: str, flag: int) -> None:
    undo = {
        1: lambda p: p,
        2: np.fliplr,
        3: lambda p: np.rot90(p, 2),
        4: np.flipud,
        5: lambda p: p.transpose(1, 0, 2),
        6: lambda p: np.rot90(p, 1),
        7: lambda p: np.rot90(p, 2).transpose(1, 0, 2),
        8: lambda p: np.rot90(p, -1),
    }
    exif = Image.Exif()
    exif[0x0112] = flag
    stored = Image.fromarray(np.ascontiguousarray(undo[flag](PICTURE)))
    options = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"lossless": True}}.get(form, {})
    decoded = decode_image(encoded(stored, form, exif=exif, **options))
    assert decoded.pixels_HWC.shape == PICTURE.shape
    assert np.abs(decoded.pixels_HWC.astype(int) - PICTURE).mean() < 3
    assert decoded.facts.orientation == flag
    assert ("oriented" in decoded.facts.conversions) == (flag != 1)


def test_grey_one_bit_and_palette() -> None:
    grey = decode_image(encoded(picture().convert("L"), "PNG"))
    np.testing.assert_array_equal(grey.pixels_HWC, np.repeat(np.asarray(picture().convert("L"))[..., None], 3, axis=2))
    assert grey.facts.conversions == ("grey",)
    bits = decode_image(encoded(picture().convert("1"), "PNG"))
    assert set(np.unique(bits.pixels_HWC)) == {0, 255}
    assert (bits.facts.conversions, bits.facts.bit_depth) == (("one-bit",), 1)
    palette = picture().convert("P", palette=Image.Palette.ADAPTIVE)
    decoded = decode_image(encoded(palette, "GIF"))
    np.testing.assert_array_equal(decoded.pixels_HWC, np.asarray(palette.convert("RGB")))
    assert decoded.facts.conversions == ("palette",)


def test_alpha_lies_over_the_background() -> None:
    alpha = np.zeros((48, 64, 1), np.uint8)
    alpha[:, 32:], alpha[:, 16:32] = 255, 128
    data = encoded(Image.fromarray(np.concatenate([PICTURE, alpha], axis=2)), "PNG")
    over_white = decode_image(data).pixels_HWC
    assert (over_white[:, :16] == 255).all()
    np.testing.assert_array_equal(over_white[:, 32:], PICTURE[:, 32:])
    mixed = np.round(PICTURE[:, 16:32] * (128 / 255) + 255 * (127 / 255))
    assert np.abs(over_white[:, 16:32] - mixed).max() <= 1
    over_black = decode_image(data, background=(0, 0, 0))
    assert (over_black.pixels_HWC[:, :16] == 0).all()
    assert over_black.facts.conversions == ("alpha",)
    grey = Image.merge("LA", (Image.new("L", (4, 4), 10), Image.new("L", (4, 4), 0)))
    grey.putpixel((0, 0), (10, 255))
    decoded = decode_image(encoded(grey, "PNG"))
    assert decoded.pixels_HWC[0, 0].tolist() == [10, 10, 10]
    assert decoded.pixels_HWC[3, 3].tolist() == [255, 255, 255]


def test_an_alpha_of_zero_everywhere_is_a_writers_mistake() -> None:
    data = encoded(Image.fromarray(np.concatenate([PICTURE, np.zeros((48, 64, 1), np.uint8)], axis=2)), "PNG")
    decoded = decode_image(data)
    np.testing.assert_array_equal(decoded.pixels_HWC, PICTURE)
    assert decoded.facts.conversions == ("alpha-ignored",)


@pytest.mark.parametrize("mode", ["P", "RGB", "L"])
def test_transparency_without_an_alpha_channel(mode: str) -> None:
    image = Image.new(mode, (4, 4), 1 if mode != "RGB" else (9, 9, 9))
    if mode == "P":
        image.putpalette([0, 0, 0, 200, 0, 0])
    image.putpixel((0, 0), 0 if mode != "RGB" else (0, 0, 0))
    data = encoded(image, "PNG", transparency=0 if mode != "RGB" else (0, 0, 0))
    pixels = decode_image(data).pixels_HWC
    assert pixels[0, 0].tolist() == [255, 255, 255]
    assert pixels[1, 1].tolist() != [255, 255, 255]


def test_cmyk_jpeg_keeps_its_colours() -> None:
    red = Image.new("RGB", (16, 16), (220, 30, 20)).convert("CMYK")
    decoded = decode_image(encoded(red, "JPEG", quality=95))
    assert np.abs(decoded.pixels_HWC.reshape(-1, 3).mean(0) - [220, 30, 20]).max() < 4
    assert decoded.facts.conversions == ("cmyk",)


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_16_bit_grey_by_its_full_range(form: str) -> None:
    values = np.linspace(0, 65535, 48 * 64).reshape(48, 64).astype(np.uint16)
    decoded = decode_image(encoded(Image.fromarray(values), form))
    np.testing.assert_array_equal(decoded.pixels_HWC[..., 1], np.floor(values * (255 / 65535) + 0.5))
    assert decoded.facts.bit_depth == 16
    assert "16-bit" in decoded.facts.conversions


def test_integers_and_floats() -> None:
    small = decode_image(encoded(Image.fromarray(np.full((4, 4), 65535, np.int32)), "TIFF"))
    assert (small.pixels_HWC == 255).all()
    ramp = np.linspace(-1000, 3000, 16).reshape(4, 4)
    wide = decode_image(encoded(Image.fromarray(ramp.astype(np.int32)), "TIFF"))
    assert (wide.pixels_HWC.min(), wide.pixels_HWC.max()) == (0, 255)
    assert "stretched" in wide.facts.conversions
    unit = decode_image(encoded(Image.fromarray(np.full((4, 4), 0.5, np.float32)), "TIFF"))
    assert (unit.pixels_HWC == 128).all()
    holes = decode_image(encoded(Image.fromarray(np.array([[np.nan, 100.0]], np.float32)), "TIFF"))
    assert holes.pixels_HWC[0, :, 0].tolist() == [0, 100]
    assert "not-finite" in holes.facts.conversions


@pytest.mark.parametrize("form", ["GIF", "TIFF", "WEBP", "PNG"])
def test_the_first_frame_counts(form: str) -> None:
    first, second = Image.new("RGB", (8, 8), (250, 0, 0)), Image.new("RGB", (8, 8), (0, 0, 250))
    decoded = decode_image(encoded(first, form, save_all=True, append_images=[second]))
    assert decoded.pixels_HWC[4, 4, 0] > 200
    assert "first-frame" in decoded.facts.conversions


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("PNG", {}),
        ("BMP", {}),
        ("GIF", {}),
        ("WEBP", {}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
    ],
)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_truncated_files_are_errors_even_if_somebody_switched_that_off(
    form: str, options: dict[str, object], share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    noise = Image.fromarray(RNG.integers(0, 256, (64, 64, 3), np.uint8))
    data = encoded(noise, form, **options)
    with pytest.raises(MediaError) as caught:
        decode_image(data[: int(len(data) * share)])
    assert caught.value.fault in {"broken", "not_an_image"}


@pytest.mark.parametrize(
    ("data", "fault"),
    [(b"", "empty"), (b"<html>404</html>", "not_an_image"), (b"\x89PNG\r\n\x1a\n", "not_an_image"), (bytes(100), "not_an_image")],
)
def test_what_is_no_picture(data: bytes, fault: str) -> None:
    with pytest.raises(MediaError) as caught:
        decode_image(data)
    assert caught.value.fault == fault


def test_formats_that_run_other_programs_are_refused() -> None:
    with pytest.raises(MediaError) as caught:
        decode_image(encoded(picture(), "EPS"))
    assert caught.value.fault == "unsupported"


def test_random_damage_is_an_error_or_a_picture_never_another_exception() -> None:
    for form in ("JPEG", "PNG", "GIF", "TIFF", "WEBP", "BMP"):
        whole = encoded(picture(), form)
        for _ in range(30):
            damaged = bytearray(whole)
            for position in RNG.integers(0, len(whole), 6):
                damaged[position] = int(RNG.integers(0, 256))
            try:
                pixels = decode_image(bytes(damaged), max_pixels=1_000_000).pixels_HWC
            except MediaError:
                continue
            assert pixels.ndim == 3


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    data = encoded(Image.new("1", (14000, 14000)), "PNG")
    assert len(data) < 100_000
    with pytest.raises(MediaError) as caught:
        decode_image(data)
    assert caught.value.fault == "too_large"
    with pytest.raises(MediaError) as caught:
        decode_image(encoded(picture(), "PNG"), max_pixels=1000)
    assert caught.value.fault == "too_large"


def test_warnings_become_facts_in_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    large = encoded(Image.new("1", (40, 40)), "PNG")  # over Pillow's limit for a warning, under twice that, its limit for an error
    found: list[tuple[str, ...]] = []
    threads = [threading.Thread(target=lambda: found.append(decode_image(large).facts.warnings)) for _ in range(2)]
    before = warnings.showwarning
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(texts) for texts in found] == [1, 1]
    assert "DecompressionBombWarning" in found[0][0]
    assert warnings.showwarning is before


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_npy_arrays() -> None:
    np.testing.assert_array_equal(decode_image(npy(PICTURE)).pixels_HWC, PICTURE)
    np.testing.assert_array_equal(decode_image(npy(PICTURE.transpose(2, 0, 1))).pixels_HWC, PICTURE)
    assert decode_image(npy(np.full((5, 7), 65535, np.uint16))).pixels_HWC.shape == (5, 7, 3)
    for array, fault in (
        (np.zeros((6, 20, 20)), "unsupported"),
        (np.array([object()]), "broken"),
        (np.zeros((0, 3)), "unsupported"),
    ):
        with pytest.raises(MediaError) as caught:
            decode_image(npy(array))
        assert caught.value.fault == fault


def test_facts_are_counted() -> None:
    facts = [decode_image(encoded(picture().convert(mode), "PNG")).facts for mode in ("RGB", "L", "L")]
    assert count_facts(facts) == {"format PNG": 3, "grey": 2, "mode L": 2, "mode RGB": 1, "size 64x48": 3}
