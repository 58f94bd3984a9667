"""The preprocessing record: hashed, written, read; the same numbers for a file wherever it is used."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from PIL import Image

from matchfit.media import MediaError, Preprocessing, prepare, to_input
from matchfit.media.resize import FILTERS, fit_image

PICTURE = np.random.default_rng(1).integers(0, 256, (48, 64, 3), np.uint8)


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def test_a_record_survives_json_and_every_field_is_in_its_hash() -> None:
    record = Preprocessing(size_HW=(24, 32), fit="pad", mean=(0.5, 0.5, 0.5))
    again = Preprocessing.from_json(json.loads(json.dumps(record.to_json())))
    assert again == record
    assert again.hash == record.hash
    changes = {
        "size_HW": (24, 33),
        "fit": "crop",
        "filter": "lanczos",
        "mean": (0.1, 0.5, 0.5),
        "std": (1.0, 1.0, 1.0),
        "scale": 1.0,
    }
    changes |= {"background": (0, 0, 0), "pad_colour": (1, 1, 1), "max_pixels": 10}
    for key, value in changes.items():
        other = Preprocessing.from_json({**record.to_json(), key: value})
        assert other.hash != record.hash, key
        assert (other.pixels_hash != record.pixels_hash) == (key not in {"mean", "std", "scale"}), key


@pytest.mark.parametrize(
    "change",
    [
        {"size_HW": [0, 3]},
        {"fit": "stretch"},
        {"filter": "best"},
        {"std": [0, 1, 1]},
        {"decode_rule": 99},
        {"schema": 2},
        {"colour": 1},
        {"background": [1, 2, 300]},
    ],
)
def test_records_without_meaning_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(MediaError, match="record"):
        Preprocessing.from_json({**Preprocessing(size_HW=(8, 8)).to_json(), **change})


def test_to_input_is_the_formula_channels_first_and_the_same_alone_and_in_a_batch() -> None:
    record = Preprocessing(size_HW=(48, 64))
    pixels = prepare(png(PICTURE), record)
    np.testing.assert_array_equal(pixels, PICTURE)
    one = to_input(pixels, record)
    assert one.shape == (3, 48, 64)
    assert one.dtype == np.float32
    expected = (PICTURE / 255 - np.array(record.mean)) / np.array(record.std)
    np.testing.assert_allclose(one, expected.transpose(2, 0, 1), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(to_input(np.stack([pixels, pixels]), record)[1], one)
    grey_mean = Preprocessing(size_HW=(48, 64), mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    np.testing.assert_allclose(to_input(pixels, grey_mean), expected_half(PICTURE), atol=1e-6)


def expected_half(pixels: np.ndarray) -> np.ndarray:
    return (pixels / 127.5 - 1).transpose(2, 0, 1)


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("fit", ["squash", "crop", "pad"])
@pytest.mark.parametrize("size", [(24, 32), (32, 32), (50, 20), (100, 130), (1, 1)])
def test_every_fit_gives_the_size(filter: str, fit: str, size: tuple[int, int]) -> None:
    assert fit_image(PICTURE, size, fit=fit, filter=filter).shape == (*size, 3)  # type: ignore[arg-type]


def test_crop_keeps_the_centre_and_pad_keeps_everything() -> None:
    halves = np.zeros((40, 80, 3), np.uint8)
    halves[:, 20:60] = 200
    np.testing.assert_array_equal(fit_image(halves, (40, 40), fit="crop", filter="bilinear"), np.full((40, 40, 3), 200, np.uint8))
    padded = fit_image(halves, (80, 80), fit="pad", filter="bilinear", pad_colour=(7, 8, 9))
    np.testing.assert_array_equal(padded[20:60], halves)
    assert (padded[:20] == [7, 8, 9]).all()
    assert (padded[60:] == [7, 8, 9]).all()


def test_shrinking_is_antialiased() -> None:
    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[:, ::2] = 255
    small = fit_image(stripes, (16, 16), fit="squash", filter="bilinear")
    assert np.abs(small.astype(int) - 128).max() < 24
