"""Precision and recall of near-duplicate images, measured on planted copies. One JSON line for each collection and kind of copy.

    python -m benchmarks.near_duplicates FOLDER... [--half report] [--number 300]

Copies of known pictures of a competition are added to it: resized, written again as JPEG, cropped by 2 to 5 % on each side, made lighter or darker,
and all of it together. Recall: share of the copies that are paired with their original. Precision: share of the pairs with a copy in them that are
of one original; `unexplained` are the wrong pairs less those whose two originals are a pair themselves (a real near-duplicate). Pairs among
the originals are counted apart: with labels, the share of them that agrees is printed beside the share that chance would give.

The bars in `matchfit.audit.similar` were set on `--half tune` (pictures at even places); what is reported comes from the others
(they were looked at once before the bars were final).
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from matchfit.audit.similar import SIDE, near_pairs
from matchfit.competition.config import CompetitionConfig
from matchfit.competition.files import FileTree
from matchfit.competition.problem import Items
from matchfit.competition.read import read_competition
from matchfit.core.seeds import generator
from matchfit.media import MediaError, decode_image

Picture = Image.Image
Planter = Callable[[Picture, np.random.Generator], Picture]


def resized(picture: Picture, random: np.random.Generator) -> Picture:
    factor = random.uniform(0.4, 0.8)
    size = [max(8, round(side * factor)) for side in picture.size]
    return picture.resize((size[0], size[1]), Image.Resampling.BICUBIC)


def written_again(picture: Picture, random: np.random.Generator) -> Picture:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=int(random.integers(30, 75)))
    return Image.open(buffer).convert("RGB")


def cropped(picture: Picture, random: np.random.Generator) -> Picture:
    width, height = picture.size
    left, top, right, bottom = random.uniform(0.02, 0.05, 4)
    return picture.crop((round(width * left), round(height * top), width - round(width * right), height - round(height * bottom)))


def lightened(picture: Picture, random: np.random.Generator) -> Picture:
    pixels = np.asarray(picture) * random.uniform(0.75, 1.25)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def all_together(picture: Picture, random: np.random.Generator) -> Picture:
    return lightened(written_again(resized(cropped(picture, random), random), random), random)


KINDS: dict[str, Planter] = {
    "resized": resized,
    "jpeg": written_again,
    "cropped": cropped,
    "brightness": lightened,
    "all": all_together,
}


def thumb(picture: Picture) -> npt.NDArray[np.uint8]:
    """As the audit makes it."""
    return np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR))


def load(items: Items) -> list[Picture]:
    """All pictures that can be read, in the order of the items."""
    assert isinstance(items.files, FileTree)
    assert items.media is not None
    found: dict[int, Picture] = {}
    for position, content in items.files.stream(items.media):
        if isinstance(content, bytes):
            try:
                found[position] = Image.fromarray(decode_image(content).pixels_HWC)
            except MediaError as error:
                print(json.dumps({"left_out": str(items.ids[position]), "because": str(error)}))
    return [found[position] for position in sorted(found)]


def measure(folder: Path, half: str, number: int, seed: int) -> list[dict[str, object]]:
    competition = read_competition(folder, CompetitionConfig())
    train = load(competition.train)
    originals = train + load(competition.test)
    places = np.arange(0 if half == "tune" else 1, len(originals), 2)
    places = generator(seed, half, folder.name).permutation(places)[:number]
    base = np.stack([thumb(picture) for picture in originals])
    known = near_pairs(base)
    same = set(map(tuple, known.tolist()))
    labels = competition.target_table.to_series().to_list()
    lines: list[dict[str, object]] = [{"originals": len(originals), **_among(labels, len(train), known)}]
    for kind, plant in KINDS.items():
        copies = [plant(originals[place], generator(seed, kind, int(place))) for place in places]
        started = time.perf_counter()
        pairs = near_pairs(
            np.concatenate([base, np.stack([thumb(copy) for copy in copies])]),
        )
        seconds = time.perf_counter() - started
        source = np.concatenate([np.arange(len(base)), places])
        of_copies = pairs[(pairs >= len(base)).any(1)]
        right = source[of_copies[:, 0]] == source[of_copies[:, 1]]
        lines.append(
            {
                "kind": kind,
                "copies": len(copies),
                "recall": round(int(right.sum()) / len(copies), 4),
                "precision": round(float(right.mean()), 4) if len(right) else None,
                "wrong_pairs": int((~right).sum()),
                "unexplained": sum(tuple(sorted(pair)) not in same for pair in source[of_copies[~right]].tolist()),
                "seconds": round(seconds, 2),
            }
        )
    return [{"collection": folder.name, "half": half, "seed": seed, **line} for line in lines]


def _among(labels: list[str], num_train: int, pairs: npt.NDArray[np.int64]) -> dict[str, object]:
    """How many pairs there are among the originals, and how many of those in train have one label."""
    inside = pairs[(pairs < num_train).all(1)]
    if len(labels) != num_train or not len(inside):
        return {"pairs_among_originals": len(pairs)}
    names = np.array(labels)
    _, counts = np.unique(names, return_counts=True)
    return {
        "pairs_among_originals": len(pairs),
        "pairs_in_train": len(inside),
        "same_label": round(float((names[inside[:, 0]] == names[inside[:, 1]]).mean()), 4),
        "same_label_by_chance": round(float(((counts / len(names)) ** 2).sum()), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--half", choices=("tune", "report"), default="report")
    parser.add_argument("--number", type=int, default=300, help="copies of each kind")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for folder in arguments.folders:
        for line in measure(folder, arguments.half, arguments.number, arguments.seed):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
