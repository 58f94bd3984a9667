"""Decode once: a memory-mapped file of uint8 pixels at the training size, shared by folds, runs and processes.

A cache is a folder named by its key: the hash of the pixel part of the preprocessing record, Pillow's version, the references of
the items and the size and time of the files behind them. It is built in a draft folder (rows written by position, so that the
order in which files are streamed changes nothing), the index record is written last, and the folder is renamed to its key: who sees
the name sees the whole. Two processes that build the same cache at once both finish a draft; the first rename wins and the
second takes what is there.

Pillow gives up the interpreter lock while it decodes and resizes, so that threads build in parallel (1.9 times as fast with two on
two cores) without copying files between processes.

Shapes: N items, H rows, W columns, 3 channels.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL

from matchfit.competition.problem import Items
from matchfit.core.console import progress
from matchfit.core.durations import format_duration
from matchfit.core.errors import BudgetError, DataError, MatchfitError
from matchfit.core.machine import cores
from matchfit.core.records import read_record, write_atomically, write_record
from matchfit.data.housekeeping import DEFAULT_BUDGET_BYTES, draft_folder, make_room, remove_folder
from matchfit.media import Facts, MediaError, Preprocessing, count_facts, decode, prepare_decoded

SCHEMA = 1
BLOCK_BYTES = 16 << 20  # pixels under one checksum
VERIFY_BYTES = 1 << 30  # checksums read when a cache is opened; a larger cache is sampled in evenly spaced blocks
PIXELS, READABLE, INDEX = "pixels.u8", "readable.npy", "index.json"

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ImageCache:
    """N prepared pictures. Pickles as its folder: a worker process maps the file again instead of copying it.

    `readable_N` is False where an item has no picture; its pixels are 0. `faults` says why, by position. `facts` counts what the files
    were like (see `media.count_facts`).
    """

    folder: Path
    record: Preprocessing
    pixels_NHWC: npt.NDArray[np.uint8]
    readable_N: npt.NDArray[np.bool_]
    faults: dict[int, str]
    facts: dict[str, int]

    def __len__(self) -> int:
        return len(self.readable_N)

    def touch(self) -> None:
        """Mark the cache as in use, so that making room for another one passes it over."""
        with contextlib.suppress(OSError):  # read-only, or removed while it is mapped: it serves all the same
            os.utime(self.folder / INDEX)

    def __reduce__(self) -> tuple[Any, ...]:
        return _open, (self.folder,)


def build_cache(
    items: Items,
    record: Preprocessing,
    folder: Path,
    *,
    say: Say,
    workers: int | None = None,
    budget_bytes: int = DEFAULT_BUDGET_BYTES,
) -> ImageCache:
    """The cache of `items` below `folder`, opened and verified, or built now.

    Items whose file is missing or broken are marked, listed by `say`, and never stop the work. Raises BudgetError when the pixels do not
    fit on the disk or into `budget_bytes`, DataError when the items have no files at all.
    """
    if items.media is None or items.files is None:
        raise DataError("images", rule="items need files", found="no file for any item", todo="Check the image folder's name.")
    key = _key(items, record)
    place = folder / "images" / key
    if place.exists():
        if (cache := _open_verified(place, say)) is not None:
            return cache
        remove_folder(place)
    height, width = record.size_HW
    needed = len(items) * height * width * 3
    make_room(folder / "images", needed, budget_bytes, say)
    with draft_folder(folder / "images") as draft:
        _fill(draft, items, record, key, say, workers or cores())
        try:
            draft.rename(place)
        except OSError:  # another process was first; its cache has the same key, hence the same pixels
            if not (place / INDEX).exists():
                raise
    return _open(place)


def _fill(draft: Path, items: Items, record: Preprocessing, key: str, say: Say, workers: int) -> None:
    """Write pixels, mask and index of all items into the draft folder."""
    started = time.monotonic()
    height, width = record.size_HW
    shape = (len(items), height, width, 3)
    readable_N = np.zeros(len(items), np.bool_)
    faults: dict[int, str] = {}
    found: Counter[str] = Counter()
    pixels_NHWC = _allocate(draft / PIXELS, shape)
    with progress(len(items), f"decoding to {height}x{width}") as bar:
        for position, outcome in _prepared(items, record, pixels_NHWC, workers):
            if isinstance(outcome, Facts):
                readable_N[position] = True
                found.update(count_facts([outcome]))
            else:
                faults[position] = outcome
            bar.advance()
    if isinstance(pixels_NHWC, np.memmap):
        pixels_NHWC.flush()
    write_atomically(draft / READABLE, lambda file: np.save(file, readable_N))
    write_record(
        draft / INDEX,
        schema=SCHEMA,
        key=key,
        shape=shape,
        preprocessing=record.to_json(),
        pillow=PIL.__version__,
        faults={str(position): faults[position] for position in sorted(faults)},
        facts=dict(sorted(found.items())),
        block_bytes=BLOCK_BYTES,
        checksums=[_checksum(block) for block in _blocks(pixels_NHWC, BLOCK_BYTES)],
    )
    took = format_duration(time.monotonic() - started)
    say(
        f"decoded {int(readable_N.sum()):,} of {len(items):,} pictures to {height}x{width} pixels in {took}, kept in {draft.parent}"
    )
    _report(items, faults, say)


def _report(items: Items, faults: dict[int, str], say: Say) -> None:
    """Every item without a picture, one line each up to twenty."""
    for position in sorted(faults)[:20]:
        say(f"  no picture for {items.ids[position]!r}: {faults[position]}")
    if len(faults) > 20:
        say(f"  … and {len(faults) - 20:,} more; `matchfit inspect` lists them all")


def _prepared(
    items: Items, record: Preprocessing, pixels_NHWC: npt.NDArray[np.uint8], workers: int
) -> Iterator[tuple[int, Facts | str]]:
    """Write each item's pixels to its row; yields (position, facts, or the fault as text) in no particular order."""

    def work(position: int, data: bytes) -> tuple[int, Facts | str]:
        try:
            decoded = decode(data, record)
            pixels_NHWC[position] = prepare_decoded(decoded, record)
        except MediaError as error:
            return position, str(error)
        return position, decoded.facts

    assert items.files is not None and items.media is not None  # noqa: PT018 - checked by the caller
    waiting: set[Future[tuple[int, Facts | str]]] = set()
    with ThreadPoolExecutor(workers, thread_name_prefix="decode") as pool:
        for position, content in items.files.stream(items.media):
            if isinstance(content, MatchfitError):
                yield position, f"{content.rule}; found {content.found}"
                continue
            waiting.add(pool.submit(work, position, content))
            if len(waiting) >= 4 * workers:  # bounds the bytes in memory
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        for future in waiting:
            yield future.result()


def _allocate(path: Path, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """A memory-mapped file whose blocks exist: a hole in a full disk would kill the process at the first write."""
    size = int(np.prod(shape))
    if size == 0:
        path.touch()
        return np.zeros(shape, np.uint8)
    with path.open("wb") as file:
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
        except OSError as error:
            raise BudgetError(
                str(path.parent.parent),
                rule=f"must have room for {size:,} bytes of decoded pictures",
                found=str(error),
                todo="Free some space, put the workspace elsewhere (--workspace), or choose a smaller image_size.",
            ) from error
    return np.memmap(path, np.uint8, "r+", shape=shape)


def _key(items: Items, record: Preprocessing) -> str:
    assert items.files is not None and items.media is not None  # noqa: PT018 - checked by the caller
    digest = hashlib.sha256(f"{SCHEMA}\n{record.pixels_hash}\n{PIL.__version__}\n".encode())
    stamps: dict[str, str] = {}
    for reference in items.media:
        if reference is None:
            digest.update(b"\0\n")
            continue
        outer = reference.split("!/", 1)[0]
        if outer not in stamps:
            stamps[outer] = _stamp(items.files.folder / outer)
        digest.update(f"{reference}\x1f{stamps[outer]}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _stamp(path: Path) -> str:
    try:
        facts = path.stat()
    except OSError:
        return "absent"
    return f"{facts.st_size}:{facts.st_mtime_ns}"


def _open_verified(place: Path, say: Say) -> ImageCache | None:
    """The cache at `place`; None, with a remark, when it is damaged."""
    try:
        cache = _open(place)
        index = read_record(place / INDEX, schema=SCHEMA)
        blocks = list(_blocks(cache.pixels_NHWC, index["block_bytes"]))
        if len(blocks) != len(index["checksums"]):
            raise ValueError("another number of blocks")
        step = max(1, -(-cache.pixels_NHWC.size // VERIFY_BYTES))
        for number in range(0, len(blocks), step):
            if _checksum(blocks[number]) != index["checksums"][number]:
                raise ValueError(f"block {number} has other bytes than when it was written")
    except (OSError, ValueError, KeyError, MatchfitError) as error:
        say(f"the decode cache {place} is damaged ({error}); it is built again")
        return None
    cache.touch()
    return cache


def _open(place: Path) -> ImageCache:
    index = read_record(place / INDEX, schema=SCHEMA)
    shape = tuple(index["shape"])
    if (place / PIXELS).stat().st_size != int(np.prod(shape)):
        raise ValueError("the file of pixels has another size")
    pixels = np.memmap(place / PIXELS, np.uint8, "r", shape=shape) if shape[0] else np.zeros(shape, np.uint8)
    return ImageCache(
        folder=place,
        record=Preprocessing.from_json(index["preprocessing"]),
        pixels_NHWC=pixels,
        readable_N=np.load(place / READABLE, allow_pickle=False),
        faults={int(position): text for position, text in index["faults"].items()},
        facts=index["facts"],
    )


def _blocks(pixels_NHWC: npt.NDArray[np.uint8], block_bytes: int) -> Iterator[npt.NDArray[np.uint8]]:
    flat = pixels_NHWC.reshape(-1)
    return (flat[start : start + block_bytes] for start in range(0, flat.size, block_bytes))


def _checksum(block: npt.NDArray[np.uint8]) -> str:
    return hashlib.blake2b(block.data, digest_size=16).hexdigest()
