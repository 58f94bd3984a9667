"""Labels without a table: one folder a class (`train/glass/1.jpg`) or the class in the file's name (`train/cat.0.jpg`)."""

from __future__ import annotations

import re

import polars as pl

from matchfit.competition.layouts.parts import LABEL, MEDIA_COLUMN, Parts

_SPLIT = re.compile(r"[._\-\s]+")


def read_folders(media: pl.DataFrame, known: frozenset[str]) -> Parts | None:
    """Train items from media files that carry their label in a folder's or in their own name; None when neither does.

    `known`: labels that the sample submission names (class columns, label values); they settle doubtful cases. Files of the test side
    are never train. Folders that start with `_` or `.` (`_background_noise_`) are no classes.
    """
    pool = media.filter(pl.col("kind").is_in(["image", "audio"]))
    if pool.is_empty():  # a text file an item
        pool = media.filter((pl.col("suffix") == "txt") & (pl.col("folder") != ""))
    if pool.is_empty():
        return None
    kind = str(pool["kind"].mode()[0])
    pool = pool.filter(pl.col("kind") == kind)
    sides = set(pool["side"].to_list())
    train = pool.filter(pl.col("side") == "train") if "train" in sides else pool.filter(pl.col("side") == "")
    if train.is_empty():
        return None
    test = pool.filter(pl.col("side") == "test").sort("path")
    made = _class_folders(train, known) or _file_names(train, known)
    if made is None:
        return None
    frame, where, skipped = made
    notes = {"train": where + (f"; no classes: {', '.join(skipped)}" if skipped else "")}
    return Parts(frame, _test_frame(test), key="file", targets=(LABEL,), kind=kind, notes=notes)


def _test_frame(test: pl.DataFrame) -> pl.DataFrame | None:
    if test.is_empty():
        return None
    return test.select(file=_shortest_unique(test), **{MEDIA_COLUMN: pl.col("reference")})


def _shortest_unique(files: pl.DataFrame) -> pl.Expr:
    """The file's name where names are unique in the part, else its path."""
    return pl.col("name" if files["name"].n_unique() == files.height else "path")


def _class_folders(train: pl.DataFrame, known: frozenset[str]) -> tuple[pl.DataFrame, str, list[str]] | None:
    frame = train.with_columns(
        label=pl.col("folder").str.extract(r"([^/]+)$", 1), parent=pl.col("folder").str.replace(r"/?[^/]+$", "")
    )
    skipped = sorted({str(label) for label in frame["label"].unique() if label and re.match(r"^[_.]", str(label))})
    frame = frame.filter(pl.col("label").is_not_null() & ~pl.col("label").is_in(skipped))
    labels = set(frame["label"].to_list())
    if len(labels) < 2:
        return None
    hits = len(labels & known) / max(len(labels), 1)
    if not hits and frame.height < 2 * len(labels):
        return None  # a folder for each file is no class
    frame = frame.sort("path")
    table = frame.select(file=_shortest_unique(frame), **{LABEL: pl.col("label"), MEDIA_COLUMN: pl.col("reference")})
    shown = ", ".join(sorted(labels)[:4]) + (", …" if len(labels) > 4 else "")
    return table, f"one folder a class: {shown}", skipped


def _file_names(train: pl.DataFrame, known: frozenset[str]) -> tuple[pl.DataFrame, str, list[str]] | None:
    """The part of the file names that has few values: `cat` in `cat.0.jpg`, `7` in `7_jackson_0.wav` when the sample names 7."""
    frame = train.sort("path")
    parts = [_SPLIT.split(name) for name in frame["stem"].to_list()]
    width = min(map(len, parts), default=0)
    if width == 1:  # cat0.jpg
        parts = [list(re.findall(r"[^\W\d]+|\d+", name)) or [name] for name in frame["stem"].to_list()]
        width = min(map(len, parts), default=0)
    if width < 2:
        return None
    lengths = {len(part) for part in parts}
    best: tuple[float, int, list[str]] | None = None
    for position in range(width):
        values = [part[position] for part in parts]
        distinct = set(values)
        if not 2 <= len(distinct) <= max(2, len(values) // 2):
            continue
        words = sum(not value.isdigit() for value in distinct) / len(distinct)
        hits = len(distinct & known) / len(distinct) if known else 0.0
        score = 2.0 * hits + words - 0.1 * position
        if (hits > 0.5 or words > 0.9) and (best is None or score > best[0]):
            best = (score, position, values)
    if best is None or (len(lengths) > 2 and best[1] > 0):
        return None
    table = frame.select(file=_shortest_unique(frame), **{MEDIA_COLUMN: pl.col("reference")}).with_columns(
        pl.Series(LABEL, best[2])
    )
    return table, f"the label is part {best[1] + 1} of the file names, as in {frame['name'][0]}", []
