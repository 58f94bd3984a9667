"""Augmentation as a function of (epoch seed, row), and batches that do not depend on who prepares them."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from matchfit.core.errors import ConfigError
from matchfit.data.augment import AUGMENTATIONS, LightAugmentation, Subject, unmirrored_because
from matchfit.data.cache import ImageCache
from matchfit.data.loader import PixelBatches, epoch_order, pixel_batches, prefetched, workers_that_fit
from matchfit.data.randomness import integers, uniforms
from matchfit.media import Preprocessing

PIXELS = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), np.uint8)


def light(names: tuple[str, ...] = ("cat", "dog"), size_HW: tuple[int, int] = (32, 32)) -> LightAugmentation:
    made = AUGMENTATIONS.get("light")(Subject(size_HW=size_HW, names=names))
    assert isinstance(made, LightAugmentation)
    return made


def test_uniforms_are_even_independent_and_functions_of_their_row() -> None:
    rows = np.arange(20_000)
    draws = uniforms(7, rows, 4)
    assert draws.min() >= 0
    assert draws.max() < 1
    np.testing.assert_allclose(draws.mean(0), 0.5, atol=0.01)
    np.testing.assert_allclose(draws.var(0), 1 / 12, atol=0.002)
    correlation = np.corrcoef(np.concatenate([draws.T, uniforms(8, rows, 2).T, draws[1:, :1].T[:, [*range(19_999), 0]]]))
    assert np.abs(correlation - np.eye(7)).max() < 0.03
    np.testing.assert_array_equal(uniforms(7, rows[[5, 3]], 2), draws[[5, 3], :2])
    assert set(integers(draws[:, 0], -2, 2).tolist()) == {-2, -1, 0, 1, 2}


def test_light_is_a_function_of_seed_and_row_alone() -> None:
    augment = light()
    together = augment(PIXELS, np.array([4, 9, 30]), 11)
    np.testing.assert_array_equal(augment(PIXELS, np.array([9]), 11)[0], together[1])
    np.testing.assert_array_equal(augment(PIXELS, np.array([30, 9, 4]), 11)[::-1], together)
    assert (augment(PIXELS, np.array([4, 9, 30]), 12) != together).any()
    assert together.dtype == np.uint8


def test_light_mirrors_shifts_and_reflects() -> None:
    picture = np.arange(5 * 6, dtype=np.uint8).reshape(1, 5, 6, 1).repeat(3, axis=3)
    only_mirror = LightAugmentation(mirror=True, shift_HW=(0, 0))
    results = {only_mirror(picture, np.array([0]), seed).tobytes() for seed in range(40)}
    assert results == {picture[0].tobytes(), picture[0, :, ::-1].tobytes()}
    padded = np.pad(picture[0], ((1, 1), (1, 1), (0, 0)), mode="reflect")
    allowed = {padded[y : y + 5, x : x + 6].tobytes() for y in range(3) for x in range(3)}
    only_shift = LightAugmentation(mirror=False, shift_HW=(1, 1))
    results = {only_shift(picture, np.array([0]), seed).tobytes() for seed in range(200)}
    assert results == allowed


def test_the_blank_square_has_its_size_and_colour() -> None:
    blank = LightAugmentation(mirror=False, shift_HW=(0, 0), blank=8, neutral=(1, 2, 3))
    plain = np.full((50, 32, 32, 3), 200, np.uint8)
    changed = (blank(plain, np.arange(50), 3) == [1, 2, 3]).all(-1)
    areas = changed.sum((1, 2))
    assert areas.max() == 64
    assert areas.min() >= 16
    assert areas.std() > 0


def test_small_and_large_pictures_get_their_own_shift_and_no_square_on_digits() -> None:
    assert light().shift_HW == (4, 4)
    assert light().blank == 8
    large = light(size_HW=(96, 128))
    assert (large.shift_HW, large.blank) == ((6, 8), 0)
    digits = light(tuple("0123456789"), (8, 8))
    assert (digits.mirror, digits.blank, digits.shift_HW) == (False, 0, (1, 1))
    assert "digits" in digits.remark
    assert AUGMENTATIONS.get("light")(Subject(size_HW=(1, 1)))(PIXELS[:, :1, :1], np.array([0]), 0).shape == (1, 1, 1, 3)


@pytest.mark.parametrize(
    ("names", "mirrored"),
    [
        (("cat", "dog"), True),
        (("0", "1"), True),
        (tuple("01234"), True),
        (tuple("0123456789"), False),
        (tuple("abcdefghijklmnopqrstuvwxyz"), False),
        (("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"), False),
        (("turn left", "turn right"), False),
        (("hand_left",), False),
        (("steering_angle",), False),
        (("bright", "leftover", "copyright"), True),
        (("triangle", "rectangle"), True),
        (("A", "B", "C"), True),
    ],
)
def test_what_speaks_against_mirroring(names: tuple[str, ...], mirrored: bool) -> None:
    assert (unmirrored_because(names) == "") == mirrored


def test_an_unknown_augmentation_lists_the_choices() -> None:
    with pytest.raises(ConfigError, match="light, none"):
        AUGMENTATIONS.get("ligth")


@pytest.fixture
def cache(tmp_path: Path) -> ImageCache:
    from matchfit.core.records import write_record
    from matchfit.data.cache import INDEX, READABLE, SCHEMA
    from matchfit.data.cache import PIXELS as PIXELS_NAME

    PIXELS.tofile(tmp_path / PIXELS_NAME)
    np.save(tmp_path / READABLE, np.ones(len(PIXELS), np.bool_))
    record = Preprocessing(size_HW=(32, 32)).to_json()
    write_record(tmp_path / INDEX, schema=SCHEMA, shape=PIXELS.shape, preprocessing=record, faults={}, facts={})
    from matchfit.data.cache import _open

    return _open(tmp_path)


def collect(cache: ImageCache, *, workers: int, skip: int = 0, epoch_seed: int | None = 5) -> list[tuple[np.ndarray, np.ndarray]]:
    order = epoch_order(np.arange(3, 38), epoch_seed)
    batches = PixelBatches(cache=cache, order_R=order, batch_size=8, augmentation=light(), epoch_seed=epoch_seed)
    return list(pixel_batches(batches, skip=skip, workers=workers, say=lambda line: None))


def test_bits_do_not_depend_on_workers_nor_on_skip(cache: ImageCache) -> None:
    plain = collect(cache, workers=0)
    assert [len(rows) for _, rows in plain] == [8, 8, 8, 8, 3]
    assert sorted(np.concatenate([rows for _, rows in plain]).tolist()) == list(range(3, 38))
    for workers, skip in ((1, 0), (4, 0), (2, 2), (0, 3), (1, 5)):
        other = collect(cache, workers=workers, skip=skip)
        assert len(other) == 5 - skip
        for (pixels, rows), (expected_pixels, expected_rows) in zip(other, plain[skip:], strict=True):
            np.testing.assert_array_equal(rows, expected_rows)
            np.testing.assert_array_equal(pixels, expected_pixels)


def test_workers_leave_the_random_stream_of_the_run_alone(cache: ImageCache) -> None:
    import torch

    torch.manual_seed(3)
    collect(cache, workers=1)
    drawn = torch.rand(1)
    torch.manual_seed(3)
    collect(cache, workers=0)
    assert torch.equal(drawn, torch.rand(1))


def test_evaluation_keeps_order_and_pixels(cache: ImageCache) -> None:
    pixels, rows = collect(cache, workers=0, epoch_seed=None)[0]
    np.testing.assert_array_equal(rows, np.arange(3, 11))
    np.testing.assert_array_equal(pixels, PIXELS[3:11])
    assert collect(cache, workers=0, epoch_seed=6)[0][1].tolist() != collect(cache, workers=0)[0][1].tolist()


def test_fewer_workers_where_shared_memory_is_small() -> None:
    lines: list[str] = []
    assert workers_that_fit(4, 1000, lines.append, free_bytes=10_000) == 2
    assert workers_that_fit(4, 1000, lines.append, free_bytes=1_000) == 0
    assert len(lines) == 2
    assert workers_that_fit(4, 1000, lines.append, free_bytes=1_000_000) == 4
    assert len(lines) == 2


def test_prefetch_keeps_order_hands_over_errors_and_stops() -> None:
    assert list(prefetched(iter(range(50)))) == list(range(50))

    def failing() -> object:
        yield 1
        raise KeyError("inside")

    values = prefetched(failing())  # type: ignore[var-annotated, arg-type]
    assert next(values) == 1
    with pytest.raises(KeyError, match="inside"):
        next(values)
    endless = prefetched(iter(int, 1))
    next(endless)
    endless.close()
    for _ in range(100):
        if not any(thread.name == "prefetch" for thread in threading.enumerate()):
            break
        time.sleep(0.02)
    assert not any(thread.name == "prefetch" for thread in threading.enumerate())
