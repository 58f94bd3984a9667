"""One pass over all images or recordings of a competition: every check of media reads its result, no check opens a file again.

Shapes: N items of one part; S side of a thumbnail.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from matchfit.audit.similar import SIDE
from matchfit.audit.sniff import NO_FORMAT, audio_fault, format_of
from matchfit.competition.problem import Items
from matchfit.core.errors import DataError
from matchfit.core.records import write_atomically
from matchfit.media import MediaError, decode_image

SCAN_SCHEMA = 1
OK, MISSING, UNREADABLE = "ok", "missing", "unreadable"
IN_FLIGHT = 32  # files that wait for a thread at most: bounds memory
SAY_EVERY_SECONDS = 10.0


class FileFacts(NamedTuple):
    """What one file is. Hashes are the first 64 bits of BLAKE2b; 0 where there is nothing to hash. Sizes are as stored (not turned)."""

    status: str
    detail: str = ""
    bytes_hash: int = 0
    pixel_hash: int = 0
    num_bytes: int = 0
    width: int = 0
    height: int = 0
    bit_depth: int = 0
    orientation: int = 0
    mode: str = ""
    format: str = NO_FORMAT
    conversions: str = ""


@dataclass(frozen=True, kw_only=True)
class MediaScan:
    """Facts as arrays (N,), in the order of the items; `thumbs` (N, S, S, 3) uint8 for images, (0, S, S, 3) for recordings.

    `status`: `ok`, `missing` (no reference, or no such file), `unreadable` (the archive or the disk), or a media fault (`empty`, `not_an_image`,
    `broken`, `too_large`, `unsupported`)."""

    status: npt.NDArray[np.str_]
    detail: npt.NDArray[np.str_]
    bytes_hash: npt.NDArray[np.uint64]
    pixel_hash: npt.NDArray[np.uint64]
    num_bytes: npt.NDArray[np.int64]
    width: npt.NDArray[np.int64]
    height: npt.NDArray[np.int64]
    bit_depth: npt.NDArray[np.int64]
    orientation: npt.NDArray[np.int64]
    mode: npt.NDArray[np.str_]
    format: npt.NDArray[np.str_]
    conversions: npt.NDArray[np.str_]
    thumbs: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.status)

    @property
    def ok(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.status == OK)


def scan_media(items: Items, *, images: bool, cache: Path | None, say: Callable[[str], None], part: str) -> MediaScan | None:
    """Read every medium of `items` once, in the order of storage; None when the items have none.

    With a `cache` folder the result is kept there under a key of references, sizes and modification times, and read back the next time.
    """
    if items.media is None or items.files is None or not len(items):
        return None
    kept = None if cache is None else cache / f"scan-{_key(items, images)}.npz"
    if kept is not None and (found := _load(kept, len(items))) is not None:
        return found
    scan = _gather(items, images, say, part)
    if kept is not None:
        arrays = {field.name: getattr(scan, field.name) for field in fields(scan)}
        write_atomically(kept, lambda file: np.savez(file, **arrays))
    return scan


def _gather(items: Items, images: bool, say: Callable[[str], None], part: str) -> MediaScan:
    thumbs = np.zeros((len(items) if images else 0, SIDE, SIDE, 3), np.uint8)
    all_facts: list[FileFacts] = [FileFacts(MISSING)] * len(items)
    last_said = time.monotonic()
    for done, (position, facts, thumb) in enumerate(_examined(items, images)):
        all_facts[position] = facts
        if thumb is not None:
            thumbs[position] = thumb
        if time.monotonic() - last_said > SAY_EVERY_SECONDS:
            last_said = time.monotonic()
            say(f"reading {part} media: {done + 1:,} of {len(items):,}")
    columns = {name: np.array(values) for name, values in zip(FileFacts._fields, zip(*all_facts, strict=True), strict=True)}
    for name in ("bytes_hash", "pixel_hash"):
        columns[name] = columns[name].astype(np.uint64)
    return MediaScan(**columns, thumbs=thumbs)


Examined = tuple[int, FileFacts, npt.NDArray[np.uint8] | None]


def _examined(items: Items, images: bool) -> Iterator[Examined]:
    """Files are read here, in order, and decoded in threads: Pillow, zlib and hashlib work without the interpreter's lock."""
    assert items.files is not None
    assert items.media is not None
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        waiting: deque[Future[Examined]] = deque()
        for position, content in items.files.stream(items.media):
            if isinstance(content, DataError):
                status = MISSING if content.rule == "must exist" else UNREADABLE
                yield position, FileFacts(status, f"{content.rule}; found {content.found}"), None
                continue
            waiting.append(pool.submit(_examine, position, content, items.media[position], images))
            if len(waiting) >= IN_FLIGHT:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _examine(position: int, content: bytes, reference: str, images: bool) -> Examined:
    facts = FileFacts(OK, bytes_hash=_hash(content) if content else 0, num_bytes=len(content), format=format_of(content))
    if not images:
        fault, detail = audio_fault(content, reference)
        return position, facts._replace(status=fault or OK, detail=detail), None
    try:
        decoded = decode_image(content)
    except MediaError as error:
        return position, facts._replace(status=error.fault, detail=error.detail), None
    found, pixels = decoded.facts, decoded.pixels_HWC
    facts = facts._replace(
        pixel_hash=_hash(repr(pixels.shape).encode(), pixels.data),
        width=found.width,
        height=found.height,
        bit_depth=found.bit_depth,
        orientation=found.orientation,
        mode=found.mode,
        format=found.format.lower(),
        conversions=" ".join(found.conversions),
    )
    # Bilinear in Pillow averages over the whole source area when it shrinks: no aliasing, and cheap.
    thumb = np.asarray(Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BILINEAR))
    return position, facts, thumb


def _hash(*parts: bytes | memoryview) -> int:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part)
    return int.from_bytes(digest.digest(), "little") or 1


def _key(items: Items, images: bool) -> str:
    """Content of the key: schema, references, sizes and modification times (of the outermost archive for members)."""
    assert items.files is not None
    assert items.media is not None
    members = items.files.members()
    size_of = dict(zip(members["reference"].to_list(), members["size"].to_list(), strict=True))
    stamps: dict[str, int] = {}
    digest = hashlib.blake2b(f"{SCAN_SCHEMA} {SIDE} {images}".encode(), digest_size=16)
    for reference in items.media:
        outer = "" if reference is None else reference.split("!/", 1)[0]
        if outer not in stamps:
            stamps[outer] = 0
            with contextlib.suppress(OSError):
                stamps[outer] = (items.files.folder / outer).stat().st_mtime_ns
        digest.update(f"{reference}\x00{size_of.get(reference)}\x00{stamps[outer]}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _load(path: Path, num_items: int) -> MediaScan | None:
    """A kept scan; None when there is none, or it is damaged (it is made again)."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            scan = MediaScan(**{name: arrays[name] for name in arrays.files})
    except (OSError, ValueError, TypeError, KeyError, EOFError):
        return None
    except Exception as error:  # zipfile.BadZipFile, zlib.error: a damaged archive has many names
        if type(error).__module__ not in {"zipfile", "zlib"}:
            raise
        return None
    return scan if len(scan) == num_items else None
