"""COCO json: `images`, `annotations` and `categories` in one object (herbarium, iWildCam, iNaturalist)."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from matchfit.competition.files import FileTree
from matchfit.competition.layouts.parts import Parts
from matchfit.competition.names import TEST_WORDS, TRAIN_WORDS, VALID_WORDS, bare, tokens
from matchfit.competition.tables import read_json
from matchfit.core.errors import DataError

MAX_JSON_BYTES = 2 << 30


def read_coco(tree: FileTree, members: pl.DataFrame) -> Parts | None:
    """Train and test from all COCO files of the folder; None when no json file holds `images` with `annotations`."""
    trains: list[tuple[str, dict[str, Any]]] = []
    tests: list[tuple[str, dict[str, Any]]] = []
    for reference, path, size in members.select("reference", "path", "size").iter_rows():
        if not bare(path).endswith(".json") or path.count("/") > 2 or size > MAX_JSON_BYTES:
            continue
        content = _object(tree, reference)
        if content is None:
            continue
        words = {word for part in PurePosixPath(path).parts for word in tokens(part)}
        is_test = bool(words & TEST_WORDS) and not words & (TRAIN_WORDS | VALID_WORDS)
        if is_test or not content.get("annotations"):
            tests.append((path, content))
        else:
            trains.append((path, content))
    if not trains:
        return None
    frames = [_annotated(content) for _, content in trains]
    train = pl.concat(frames, how="diagonal")
    test = pl.concat([_images(content) for _, content in tests], how="diagonal") if tests else None
    target = "category_id" if "category_id" in train.columns else ""
    names = {
        str(item.get("id", item.get("category_id"))): str(item.get("name"))
        for _, content in trains
        for item in content.get("categories", [])
    }
    return Parts(
        train,
        test,
        key="image_id",
        targets=(target,) if target else (),
        boxes="bbox" in train.columns,
        names=names,
        notes={
            "train": "COCO json: " + ", ".join(path for path, _ in trains),
            **({"test": "COCO json: " + ", ".join(path for path, _ in tests)} if tests else {}),
        },
    )


def _object(tree: FileTree, reference: str) -> dict[str, Any] | None:
    try:
        with tree.open(reference) as stream:
            start = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        if not start.startswith(b"{"):
            return None
        content = read_json(tree, reference)
    except (DataError, ValueError):  # json lines, broken json: tables.py says what is wrong with it
        return None
    if isinstance(content, dict) and isinstance(content.get("images"), list) and content["images"]:
        return content if isinstance(content["images"][0], dict) else None
    return None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"[{', '.join(str(_text(item)) for item in value)}]"
    return json.dumps(value) if isinstance(value, dict | bool) else str(value)


def _frame(rows: list[dict[str, Any]], rename: dict[str, str]) -> pl.DataFrame:
    names = list(dict.fromkeys(key for row in rows[:1000] for key in row))
    return pl.DataFrame(
        {rename.get(name, name): [_text(row.get(name)) for row in rows] for name in names},
        schema={rename.get(name, name): pl.String for name in names},
    )


def _images(content: dict[str, Any]) -> pl.DataFrame:
    rows = content["images"]
    return _frame(rows, {} if "image_id" in rows[0] else {"id": "image_id"})


def _annotated(content: dict[str, Any]) -> pl.DataFrame:
    """One row an annotation, with its image's columns and its category's name."""
    images = _images(content)
    notes = [{key: value for key, value in row.items() if key not in ("id", "segmentation")} for row in content["annotations"]]
    frame = images.join(_frame(notes, {}), on="image_id", how="left", maintain_order="left", suffix="_annotation")
    categories = content.get("categories") or []
    if categories and "category_id" in frame.columns:
        names = _frame(categories, {} if "category_id" in categories[0] else {"id": "category_id"})
        spelled = next((name for name in names.columns if "name" in name.lower()), None)
        if spelled is not None and "category_id" in names.columns:
            names = names.select("category_id", pl.col(spelled).alias("category_name")).unique("category_id")
            frame = frame.join(names, on="category_id", how="left", maintain_order="left")
    return frame.filter(pl.col("category_id").is_not_null()) if "category_id" in frame.columns else frame
