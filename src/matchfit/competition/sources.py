"""Train and test as tables: from the host's tables, or from a layout that needs none."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from matchfit.competition.asking import asks_masks
from matchfit.competition.builtids import same_column
from matchfit.competition.catalog import Catalog
from matchfit.competition.config import CompetitionConfig
from matchfit.competition.files import FileTree
from matchfit.competition.gather import Log
from matchfit.competition.layouts.coco import read_coco
from matchfit.competition.layouts.folders import read_folders
from matchfit.competition.layouts.lines import read_line_files
from matchfit.competition.layouts.pairs import read_pairs
from matchfit.competition.layouts.parts import Parts
from matchfit.competition.media import match, slices
from matchfit.competition.roles import Roles
from matchfit.competition.single import split_one_table
from matchfit.core.errors import DataError
from matchfit.core.findings import Finding


@dataclass
class Reading:
    """The state of one reading, from the files to the parts."""

    tree: FileTree
    config: CompetitionConfig
    members: pl.DataFrame
    catalog: Catalog
    media: pl.DataFrame
    roles: Roles
    log: Log = field(default_factory=Log)
    parts: Parts | None = None
    sample: pl.DataFrame | None = None
    train: pl.DataFrame = field(default_factory=pl.DataFrame)
    test: pl.DataFrame | None = None


def read_parts(reading: Reading) -> None:
    """Fill `sample`, `train`, `test` from the tables, or from a layout that needs none."""
    roles, log = reading.roles, reading.log
    log.notes.update(roles.notes)
    if roles.sample is not None:
        reading.sample = roles.sample.frame()
    if roles.test is not None:
        reading.test = roles.test.frame()
    parts = _layout(reading) if roles.train and roles.weak_train and not _lists_files(reading) else None
    if parts is not None and parts.train.height > 2 * sum(sheet.frame().height for sheet in roles.train):
        log.notes["train"] = f"not {roles.train[0].path}, which is short and lacks what is asked"
        roles.train = []
        _take_parts(reading, parts)
        return
    if roles.train:
        frames = [sheet.frame() for sheet in roles.train]
        if len(frames) > 1:
            mark = "table" if all("table" not in frame.columns for frame in frames) else "\x1ftable"
            names = [sheet.path for sheet in roles.train]
            frames = [
                _same_names(frame, frames[0]).with_columns(pl.lit(name).alias(mark))
                for frame, name in zip(frames, names, strict=True)
            ]
            reading.train = pl.concat(frames, how="diagonal")
        else:
            reading.train = frames[0]
        if reading.test is None:
            reading.train, reading.test, note = split_one_table(reading.train, reading.sample, reading.media)
            if note:
                log.notes["test"] = note
        return
    reading.parts = _layout(reading)
    if reading.parts is None:
        raise nothing_found(reading)
    _take_parts(reading, reading.parts)


def _lists_files(reading: Reading) -> bool:
    """The train table names the training files, or their folders, and most of them."""
    frame = reading.roles.train[0].frame()
    files = reading.media.filter(pl.col("side") == "train")
    if frame.height < 0.5 * min(files.height, files["folder"].n_unique()):
        return False
    columns = [frame[name].fill_null("") for name in frame.columns]
    return any(search(column, files, wanted="train") is not None for column in columns for search in (match, slices))


def _take_parts(reading: Reading, parts: Parts) -> None:
    reading.parts, reading.train = parts, parts.train
    if reading.test is None:
        reading.test = parts.test
    said = reading.log.notes.get("train")
    reading.log.notes.update(parts.notes)
    if said:
        reading.log.notes["train"] += f" ({said})"


def _same_names(frame: pl.DataFrame, first: pl.DataFrame) -> pl.DataFrame:
    return frame.rename(
        {name: own for name in frame.columns if (own := same_column(name, first.columns)) is not None and own != name}
    )


def _layout(reading: Reading) -> Parts | None:
    return (
        read_coco(reading.tree, reading.members)
        or (read_pairs(reading.media) if _asks_pixels(reading.sample) else None)
        or read_folders(reading.media, known_labels(reading.sample))
        or read_line_files(reading.tree, reading.members, reading.sample)
    )


def _asks_pixels(sample: pl.DataFrame | None) -> bool:
    """Masks, or a row a pixel, are asked."""
    if sample is None or sample.is_empty():
        return False
    return asks_masks(tuple(sample.columns[1:])) or bool(sample[:, 0].str.contains(r"_\d+_\d+$").all())


def known_labels(sample: pl.DataFrame | None) -> frozenset[str]:
    """Names that may be classes: columns of the sample submission, and the cells of its last column."""
    if sample is None or sample.width < 2:
        return frozenset()
    cells = sample[:, -1].drop_nulls().unique().head(2000).to_list()
    return frozenset([*sample.columns[1:], *cells])


def nothing_found(reading: Reading) -> DataError:
    sheets = ", ".join(sheet.path + ("" if len(sheet.head) else " (no rows)") for sheet in reading.catalog.sheets[:8]) or "no table"
    files = dict(reading.media["kind"].value_counts().iter_rows())
    kinds = ", ".join(f"{count} {kind} files" for kind, count in files.items()) or "no media"
    refused = "; ".join(f"{path} could not be read ({reason})" for path, reason in list(reading.catalog.refused.items())[:3])
    return DataError(
        str(reading.tree.folder),
        rule="must hold labelled training items: a train table, COCO json, class folders, labels in file names, or files of lines",
        found=f"{sheets}; {kinds}" + (f"; {refused}" if refused else ""),
        todo="Name the table with competition.train_table in matchfit.yaml, or the folder of training files with competition.train_media.",
    )


def table_findings(roles: Roles) -> list[Finding]:
    sheets = [sheet for sheet in (roles.sample, *roles.train, roles.test) if sheet is not None]
    return [finding for sheet in sheets for finding in sheet.findings]
