"""Targets that are files: a mask or a clean picture for each training file, in a folder beside it or in the item's own folder."""

from __future__ import annotations

import polars as pl

from matchfit.competition.layouts.parts import MEDIA_COLUMN, Parts
from matchfit.competition.names import tokens

TARGET_WORDS = frozenset(
    [
        "mask",
        "masks",
        "cleaned",
        "clean",
        "gt",
        "groundtruth",
        "segmentation",
        "segmentations",
        "annotation",
        "annotations",
        "label",
        "labels",
        "target",
        "targets",
    ]
)
TARGET = "mask"


def read_pairs(media: pl.DataFrame) -> Parts | None:
    """Train files with a target file of the same name in a sibling folder (`train` and `train_cleaned`); None where there is none."""
    train = media.filter((pl.col("side") != "test") & pl.col("kind").is_in(["image", "array"]))
    marked = _marked(train)
    if marked.is_empty() or marked.height == train.height:
        return None
    inputs = train.join(marked.select("reference"), on="reference", how="anti")
    pairs = inputs.join(_keyed(marked), on="stem", how="inner", maintain_order="left").unique("reference", maintain_order=True)
    if pairs.height < 0.5 * marked.height:
        return None
    frame = pairs.sort("path").select(file=pl.col("name"), **{TARGET: pl.col("target"), MEDIA_COLUMN: pl.col("reference")})
    test = media.filter((pl.col("side") == "test") & (pl.col("kind") == pairs["kind"][0])).sort("path")
    tests = test.select(file=pl.col("name"), **{MEDIA_COLUMN: pl.col("reference")}) if test.height else None
    note = f"pairs of files: {pairs['path'][0]} and {pairs['target'][0]}"
    return Parts(frame, tests, key="file", targets=(TARGET,), kind=str(pairs["kind"][0]), notes={"train": note})


def mask_files(ids: pl.Series, media: pl.DataFrame) -> pl.Series | None:
    """The mask file of every train item: of the item's name in a folder of masks, or called so in the item's own folder."""
    marked = _marked(media.filter(pl.col("side") != "test"))
    if marked.is_empty():
        return None
    own = marked.with_columns(folder_name=pl.col("folder").str.extract(r"([^/]+)$", 1))
    keyed = pl.concat(
        [own.select(key="folder_name", target="reference", path="path"), own.select(key="stem", target="reference", path="path")]
    )
    keyed = keyed.drop_nulls("key").sort("path").unique("key", keep="first")
    plain_ids = pl.DataFrame({"key": ids.str.replace(r"^.*/", "").str.replace(r"\.[A-Za-z]\w{1,4}$", "")})
    found = plain_ids.join(keyed.select("key", "target"), on="key", how="left", maintain_order="left")["target"]
    return found if found.null_count() < 0.5 * len(found) else None


def without_masks(media: pl.DataFrame) -> pl.DataFrame:
    """The files that are no targets, where some are and some are not."""
    marked = _marked(media)
    return media.join(marked.select("reference"), on="reference", how="anti") if 0 < marked.height < media.height else media


def _marked(media: pl.DataFrame) -> pl.DataFrame:
    """Files whose folder, or whose own name, says that they are targets."""
    folders = {folder: bool(set(tokens(folder.split("/")[-1])) & TARGET_WORDS) for folder in media["folder"].unique()}
    by_folder = pl.col("folder").replace_strict(folders, default=False, return_dtype=pl.Boolean)
    by_name = pl.col("stem").str.to_lowercase().str.contains(r"(^|[_\W])(masks?|gt|segmentation)([_\W]|$)")
    return media.filter((by_folder | by_name) & (pl.col("kind") != "series")) if folders else media


def _keyed(marked: pl.DataFrame) -> pl.DataFrame:
    """Targets by the name of their input: `1_mask.png` belongs to `1.png`."""
    stem = pl.col("stem").str.replace(r"(?i)[_\W](masks?|gt|segmentation|cleaned|clean|label|target)$", "")
    return marked.sort("path").select(stem=stem, target=pl.col("reference")).unique("stem", keep="first")
