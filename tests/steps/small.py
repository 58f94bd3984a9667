"""Small competitions of the three kinds that `train` knows, quick enough for the fast tests."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image

WORDS = {
    "refund": ["money", "back", "return", "charged"],
    "card": ["card", "pin", "lost", "blocked"],
    "rate": ["exchange", "rate", "currency", "fee"],
}


def write_csv(path: Path, header: list[str], rows: list[list[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def make_images(folder: Path, *, train: int = 48, test: int = 15) -> Path:
    """Two colours of 16-pixel squares; ids have leading zeros, one test picture is broken and one is missing."""
    random = np.random.default_rng(0)
    rows = []
    for number in range(train + test):
        label = ("red", "blue")[number % 2]
        pixels = random.integers(0, 90, (16, 16, 3), dtype=np.uint8)
        pixels[4:12, 4:12, 0 if label == "red" else 2] = 220
        path = folder / "images" / f"{number:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        if number == train:
            path.write_bytes(b"\x89PNG\r\n\x1a\nbroken")
        elif number != train + 1:
            Image.fromarray(pixels).save(path)
        rows.append([f"{number:04d}", label])
    write_csv(folder / "train.csv", ["id", "label"], rows[:train])
    write_csv(folder / "test.csv", ["id"], [[name] for name, _ in rows[train:]])
    write_csv(folder / "sample_submission.csv", ["id", "label"], [[name, "red"] for name, _ in rows[train:]])
    return folder


def make_texts(folder: Path, *, train: int = 90, test: int = 20) -> Path:
    """Three intents told by their words."""
    random = np.random.default_rng(1)
    rows = []
    for number in range(train + test):
        label = list(WORDS)[number % 3]
        words = [*random.choice(WORDS[label], 3), *random.choice(["please", "my", "the", "why", "is"], 4)]
        rows.append([f"t{number}", " ".join(random.permutation(words)) + f" {number}", label])
    write_csv(folder / "train.csv", ["id", "text", "label"], rows[:train])
    write_csv(folder / "test.csv", ["id", "text"], [row[:2] for row in rows[train:]])
    write_csv(folder / "sample_submission.csv", ["id", "label"], [[row[0], "card"] for row in rows[train:]])
    return folder


def make_table(folder: Path, *, train: int = 120, test: int = 30) -> Path:
    """A price from a number, a category and a column with gaps; odd column names."""
    random = np.random.default_rng(2)
    rows = []
    for number in range(train + test):
        size, kind = random.uniform(20, 200), ("flat", "house")[int(random.integers(2))]
        gap = "" if number % 7 == 0 else f"{random.normal():.3f}"
        price = 3 * size + (80 if kind == "house" else 0) + random.normal() * 5
        rows.append([f"{number:05d}", f"{size:.2f}", kind, gap, f"{price:.2f}"])
    header = ["Id", "size [m2]", "kind, of: home", "noise"]
    write_csv(folder / "train.csv", [*header, "price"], rows[:train])
    write_csv(folder / "test.csv", header, [row[:4] for row in rows[train:]])
    write_csv(folder / "sample_submission.csv", ["Id", "price"], [[row[0], "0"] for row in rows[train:]])
    return folder


MAKERS = {"images": make_images, "texts": make_texts, "table": make_table}
