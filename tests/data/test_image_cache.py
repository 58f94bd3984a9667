"""The decode-once cache: right pixels, faults listed, verified, bounded, safe against interruption and company."""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import tarfile
import time
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from matchfit.competition.files import FileTree
from matchfit.competition.problem import Items
from matchfit.core.errors import BudgetError, DataError
from matchfit.data import cache as cache_module
from matchfit.data.cache import PIXELS, ImageCache, build_cache
from matchfit.data.housekeeping import IN_USE_SECONDS, STALE_SECONDS, draft_folder, make_room
from matchfit.media import Preprocessing, prepare

RECORD = Preprocessing(size_HW=(12, 16))


def png(seed: int, size_HW: tuple[int, int] = (24, 32)) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (*size_HW, 3), np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def folder_items(folder: Path, num: int = 7) -> Items:
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for number in range(num):
        (folder / "pictures" / f"{number}.png").write_bytes(png(number))
    return make_items(folder, [f"pictures/{number}.png" for number in range(num)])


def make_items(folder: Path, references: list[str | None], scratch: Path | None = None) -> Items:
    ids = pl.Series("id", [f"id{number}" for number in range(len(references))])
    media = pl.Series("media", references, dtype=pl.String)
    return Items(ids=ids, table=pl.DataFrame({"id": ids}), media=media, files=FileTree(folder, scratch=scratch))


def build(items: Items, folder: Path, **options: object) -> tuple[ImageCache, list[str]]:
    lines: list[str] = []
    return build_cache(items, RECORD, folder, say=lines.append, **options), lines  # type: ignore[arg-type]


def test_pixels_are_those_of_prepare_and_a_second_call_opens_them(tmp_path: Path) -> None:
    items = folder_items(tmp_path / "data")
    built, lines = build(items, tmp_path / "cache", workers=3)
    assert built.pixels_NHWC.shape == (7, 12, 16, 3)
    for number in range(7):
        np.testing.assert_array_equal(built.pixels_NHWC[number], prepare(png(number), RECORD))
    assert built.readable_N.all()
    assert built.facts["format PNG"] == 7
    assert len(lines) == 1
    again, lines = build(items, tmp_path / "cache")
    assert lines == []
    assert again.folder == built.folder
    np.testing.assert_array_equal(again.pixels_NHWC, built.pixels_NHWC)
    with pytest.raises(ValueError, match="read-only"):
        again.pixels_NHWC[0] = 0


def test_faults_are_marked_listed_and_stop_nothing(tmp_path: Path) -> None:
    items = folder_items(tmp_path / "data", num=4)
    (tmp_path / "data/pictures/1.png").write_bytes(png(1)[:400])
    (tmp_path / "data/pictures/2.png").write_bytes(b"")
    references = [*items.media.to_list(), None, "pictures/absent.png"]  # type: ignore[union-attr]
    built, lines = build(make_items(tmp_path / "data", references), tmp_path / "cache")
    assert built.readable_N.tolist() == [True, False, False, True, False, False]
    assert sorted(built.faults) == [1, 2, 4, 5]
    assert not built.pixels_NHWC[1].any()
    text = "\n".join(lines)
    assert all(f"'id{number}'" in text for number in (1, 2, 4, 5))
    assert "decoded 2 of 6" in text


@pytest.mark.parametrize("kind", ["zip", "tar.xz"])
def test_archives_in_any_order_give_the_same_pixels(tmp_path: Path, kind: str) -> None:
    (tmp_path / "data").mkdir()
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "data/train.zip", "w") as archive:
            for number in range(5):
                archive.writestr(f"train/{number}.png", png(number))
    else:
        with tarfile.open(tmp_path / "data/train.tar.xz", "w:xz") as archive:
            for number in range(5):
                info = tarfile.TarInfo(f"train/{number}.png")
                info.size = len(png(number))
                archive.addfile(info, io.BytesIO(png(number)))
    order = [3, 0, 4, 1, 2]
    built, _ = build(make_items(tmp_path / "data", [f"train.{kind}!/train/{n}.png" for n in order]), tmp_path / "cache")
    for row, number in enumerate(order):
        np.testing.assert_array_equal(built.pixels_NHWC[row], prepare(png(number), RECORD))


def test_a_changed_file_or_record_gives_another_cache_and_a_mean_does_not(tmp_path: Path) -> None:
    items = folder_items(tmp_path / "data", num=2)
    first, _ = build(items, tmp_path / "cache")
    other_mean = Preprocessing(size_HW=(12, 16), mean=(0.5, 0.5, 0.5))
    same = build_cache(items, other_mean, tmp_path / "cache", say=lambda line: None)
    assert same.folder == first.folder
    smaller = build_cache(items, Preprocessing(size_HW=(6, 8)), tmp_path / "cache", say=lambda line: None)
    assert smaller.folder != first.folder
    (tmp_path / "data/pictures/0.png").write_bytes(png(99))
    changed, _ = build(items, tmp_path / "cache")
    assert changed.folder != first.folder
    np.testing.assert_array_equal(changed.pixels_NHWC[0], prepare(png(99), RECORD))


@pytest.mark.parametrize("damage", ["flip", "cut", "index"])
def test_damage_is_found_and_repaired(tmp_path: Path, damage: str) -> None:
    items = folder_items(tmp_path / "data", num=3)
    built, _ = build(items, tmp_path / "cache")
    path = built.folder / (PIXELS if damage != "index" else "index.json")
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[5] ^= 1
    path.write_bytes(content if damage == "flip" else content[:-7])
    again, lines = build(items, tmp_path / "cache")
    assert "damaged" in lines[0]
    np.testing.assert_array_equal(again.pixels_NHWC[0], prepare(png(0), RECORD))


def test_an_interrupted_build_leaves_nothing_that_looks_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = folder_items(tmp_path / "data", num=3)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cache_module, "write_record", stop)
    with pytest.raises(KeyboardInterrupt):
        build(items, tmp_path / "cache")
    assert list((tmp_path / "cache/images").iterdir()) == []
    monkeypatch.undo()
    killed = tmp_path / "cache/images" / f".draft-{os.uname().nodename}-999999999-x"
    killed.mkdir()
    (killed / PIXELS).write_bytes(b"half")
    built, _ = build(items, tmp_path / "cache")
    assert [entry.name for entry in (tmp_path / "cache/images").iterdir()] == [built.folder.name]


def _build_in_process(data: str, cache: str, start: float) -> None:
    time.sleep(max(0.0, start - time.time()))
    items = make_items(Path(data), [f"pictures/{number}.png" for number in range(7)])
    built, _ = build(items, Path(cache))
    assert built.readable_N.all()


def test_two_processes_at_once_agree(tmp_path: Path) -> None:
    folder_items(tmp_path / "data")
    context = multiprocessing.get_context("spawn")
    arguments = (str(tmp_path / "data"), str(tmp_path / "cache"), time.time() + 1.0)
    processes = [context.Process(target=_build_in_process, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert len([entry for entry in (tmp_path / "cache/images").iterdir() if not entry.name.startswith(".")]) == 1


def test_a_cache_travels_as_its_path(tmp_path: Path) -> None:
    built, _ = build(folder_items(tmp_path / "data"), tmp_path / "cache")
    sent = pickle.dumps(built)
    assert len(sent) < 1000
    np.testing.assert_array_equal(pickle.loads(sent).pixels_NHWC, built.pixels_NHWC)


def test_the_budget_removes_the_longest_unused_and_spares_what_is_in_use(tmp_path: Path) -> None:
    items = folder_items(tmp_path / "data")
    size = 7 * 12 * 16 * 3
    now = time.time()
    for name, idle in (("old", 3 * IN_USE_SECONDS), ("older", 9 * IN_USE_SECONDS), ("busy", 1.0)):
        entry = tmp_path / "cache/images" / name
        entry.mkdir(parents=True)
        (entry / PIXELS).write_bytes(bytes(size))
        os.utime(entry / PIXELS, (now - idle, now - idle))
        os.utime(entry, (now - idle, now - idle))
    built, lines = build(items, tmp_path / "cache", budget_bytes=3 * size)
    left = {entry.name for entry in (tmp_path / "cache/images").iterdir()}
    assert left == {"old", "busy", built.folder.name}
    assert "older" in lines[0]
    with pytest.raises(BudgetError, match="image_size"):
        build_cache(items, Preprocessing(size_HW=(13, 16)), tmp_path / "cache", say=lines.append, budget_bytes=size)


def test_leftovers_of_other_machines_go_by_age(tmp_path: Path) -> None:
    for name, idle in ((".draft-elsewhere-1-a", 2 * STALE_SECONDS), (".draft-elsewhere-1-b", 5.0)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - idle, time.time() - idle))
    with draft_folder(tmp_path) as own:
        make_room(tmp_path, 1, 1000, lambda line: None)
        assert {entry.name for entry in tmp_path.iterdir()} == {".draft-elsewhere-1-b", own.name}


def test_nothing_to_decode(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    empty, _ = build(make_items(tmp_path / "data", []), tmp_path / "cache")
    assert len(empty) == 0
    assert len(build(make_items(tmp_path / "data", []), tmp_path / "cache")[0]) == 0
    bare = Items(ids=pl.Series(["a"]), table=pl.DataFrame({"id": ["a"]}))
    with pytest.raises(DataError):
        build(bare, tmp_path / "cache")
