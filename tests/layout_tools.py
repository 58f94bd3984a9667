"""Tools for the synthetic competition folders of `layouts`: what is expected of a reader, and tiny real media."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import tarfile
import wave
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The right answer for a folder. A tuple under `modality`, `task`, `form`, `split` lists answers that can all be defended; None: not asserted.

    `train` and `test` count items. `by` are the columns of a group or time split. `train_only` are columns that must not be features
    because test lacks them. `train_ids` and `test_ids` are ids that must be there as text. `media` counts (train, test) files found.
    """

    modality: str | tuple[str, ...]
    task: str | tuple[str, ...]
    id: tuple[str, ...] | None
    targets: tuple[str, ...] | None
    classes: tuple[str, ...] | None = ()
    submission_columns: tuple[str, ...] | None = None
    prediction_columns: tuple[str, ...] | None = None
    form: str | tuple[str, ...] | None = None
    train: int | None = None
    test: int | None = None
    split: str | tuple[str, ...] | None = None
    by: tuple[str, ...] | None = None
    train_only: tuple[str, ...] | None = None
    train_ids: tuple[str, ...] = ()
    test_ids: tuple[str, ...] = ()
    media: tuple[int, int] | None = None
    separator: str | None = None


def accepts(expected: str | tuple[str, ...] | None, found: str) -> bool:
    """Whether an answer is among the ones that can be defended."""
    return expected is None or found == expected or (isinstance(expected, tuple) and found in expected)


def asked(ids: Iterable[str], predictions: Iterable[str], **rest: Any) -> dict[str, Any]:
    """`id`, `prediction_columns` and `submission_columns` of a sample that has the ids first."""
    ids, predictions = tuple(ids), tuple(predictions)
    return {"id": ids, "prediction_columns": predictions, "submission_columns": (*ids, *predictions), **rest}


def table_text(header: Sequence[str], rows: Iterable[Sequence[Any]], *, delimiter: str = ",") -> str:
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return sink.getvalue()


def write_table(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]], *, delimiter: str = ",", encoding: str = "utf-8"
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(table_text(header, rows, delimiter=delimiter).encode(encoding))


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def picture(key: Any, *, kind: str = "jpg", size: tuple[int, int] = (20, 16), base: tuple[int, int, int] | None = None) -> bytes:
    """A small image that depends on `key` alone: a few coloured blocks and noise, so that no two are near-duplicates."""
    rng = np.random.default_rng(abs(hash_key(key)))
    blocks = rng.integers(0, 256, (4, 5, 3))
    if base is not None:
        blocks = (blocks + 2 * np.array(base)) // 3
    image = np.kron(blocks, np.ones((-(-size[1] // 4), -(-size[0] // 5), 1)))[: size[1], : size[0]]
    pixels = np.clip(image + rng.normal(0, 12, image.shape), 0, 255).astype(np.uint8)
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, {"jpg": "JPEG", "png": "PNG", "tif": "TIFF", "tiff": "TIFF"}[kind.lower()])
    return sink.getvalue()


def sound(key: Any, *, pitch: float = 440.0, seconds: float = 0.1, rate: int = 8000) -> bytes:
    """A short mono wav: a tone and noise that depend on `key`."""
    rng = np.random.default_rng(abs(hash_key(key)))
    time = np.arange(int(seconds * rate)) / rate
    samples = 0.3 * np.sin(2 * np.pi * pitch * time) + rng.normal(0, 0.02, len(time))
    sink = io.BytesIO()
    with wave.open(sink, "wb") as handle:
        handle.setnchannels(1)
        handle.setsampwidth(2)
        handle.setframerate(rate)
        handle.writeframes((samples * 32767).clip(-32768, 32767).astype("<i2").tobytes())
    return sink.getvalue()


def array(shape: tuple[int, ...], key: Any) -> bytes:
    """A .npy file."""
    sink = io.BytesIO()
    np.save(sink, np.random.default_rng(abs(hash_key(key))).random(shape).astype(np.float32))
    return sink.getvalue()


def hash_key(key: Any) -> int:
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:6], "big")


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def put_all(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        put(folder / name, content)


def zip_all(path: Path, files: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def tar_all(path: Path, files: dict[str, bytes], mode: str = "w:xz") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def hex_ids(prefix: str, count: int, length: int = 12) -> list[str]:
    """Ids like `0a74c5e2b9d1`, the same in every run."""
    return [f"{hash_key((prefix, number)):016x}"[-length:] for number in range(count)]


TALE = """the old house stood near a dark river and nobody dared to cross its rotten bridge after night fell over our quiet valley
while children laughed about ghosts that whispered from beneath cold stones a merchant counted silver coins in candle light
she wrote long letters describing strange dreams of distant mountains where winter never ended and wolves sang to pale moons"""
WORDS = tuple(TALE.replace("\n", " ").split(" "))


def sentence(rng: random.Random, *, low: int = 6, high: int = 18, extra: Sequence[str] = ()) -> str:
    """A sentence of common words with one of `extra` inside."""
    words = [rng.choice(WORDS) for _ in range(rng.randint(low, high))]
    if extra:
        words.insert(rng.randrange(len(words)), rng.choice(list(extra)))
    return " ".join(words).capitalize() + "."


def spread(classes: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """`count` labels in a shuffled order, every class several times."""
    labels = [classes[place % len(classes)] for place in range(count)]
    rng.shuffle(labels)
    return labels
