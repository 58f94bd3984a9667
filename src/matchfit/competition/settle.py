"""Which columns are ids and which are targets, with what folders and files add to the tables."""

from __future__ import annotations

import polars as pl

from matchfit.competition import asking, overrides
from matchfit.competition.asking import asks_masks
from matchfit.competition.builtids import Keys, same_column
from matchfit.competition.keys import find_keys
from matchfit.competition.layouts.folders import read_folders
from matchfit.competition.layouts.pairs import TARGET as MASK_FILE
from matchfit.competition.layouts.pairs import mask_files
from matchfit.competition.layouts.parts import LABEL
from matchfit.competition.matching import TargetPlan, find_targets
from matchfit.competition.single import derive_sample
from matchfit.competition.sources import Reading, known_labels
from matchfit.core.errors import DataError


def settle_keys(reading: Reading) -> tuple[Keys, tuple[str, ...]]:
    """The keys and the columns to predict; without a sample submission both follow from train, test and the media."""
    parts, log, config = reading.parts, reading.log, reading.config
    if reading.sample is None:
        log.notes["sample"] = "none in the folder: ids and targets follow from train and test"
        keys = derive_sample(reading.train, reading.test, reading.media, config, parts)
    else:
        test = reading.test
        if test is not None and parts is not None and parts.key == "file" and test.width <= 2:
            test = None  # the test files' names are matched as files are, with or without suffix
        keys = find_keys(reading.sample, test, reading.train, reading.media, config.id)
        if test is None and parts is not None and parts.key == "file":
            reading.test = None
        if test is not None and not keys.test_columns and not keys.by_row and not config.test_table:
            what = reading.roles.test.path if reading.roles.test is not None else "the test part"
            log.notes["test"] = f"the sample submission's rows; {what} is set aside: no column of it holds their ids"
            reading.test = None
    log.notes["id"] = f"{', '.join(map(repr, keys.ids)) or 'none'}: {keys.note}"
    if parts is not None and not (keys.train_columns and all(name in reading.train.columns for name in keys.train_columns)):
        keys = overrides.with_train_key(keys, (parts.key,))
    return keys, keys.predictions


def settle_targets(reading: Reading, keys: Keys, predictions: tuple[str, ...]) -> TargetPlan:
    """The target columns; a train table without any falls back on class folders."""
    filled = _filled_columns(reading.test, reading.train, predictions)
    suffixes = keys.suffixes
    ids = tuple(dict.fromkeys((*keys.train_columns, *(name for name in keys.ids if name not in predictions))))
    known = reading.parts.targets if reading.parts is not None else ()
    if not known and keys.train_columns and asks_masks(predictions):
        known = _mask_target(reading, keys, predictions)
    if reading.parts is not None and reading.parts.boxes:
        known = ()
    try:
        plan = find_targets(
            reading.train, filled, ids, reading.sample, predictions, suffixes=suffixes, known=known, wanted=reading.config.targets
        )
    except DataError:
        if reading.config.targets or not _labels_from_folders(reading, keys):
            raise
        plan = find_targets(reading.train, filled, ids, reading.sample, predictions, known=(LABEL,))
    if plan.note:
        reading.log.notes["targets"] = f"{', '.join(map(repr, plan.targets[:8]))}: {plan.note}"
    elif reading.parts is not None:
        reading.log.notes["targets"] = f"{', '.join(map(repr, plan.targets))}: from the layout"
    return plan


def _labels_from_folders(reading: Reading, keys: Keys) -> bool:
    """Give a train table that lists files the names of their class folders as labels; False when it does not fit."""
    parts = read_folders(reading.media, known_labels(reading.sample)) if reading.parts is None and keys.train_columns else None
    if parts is None:
        return False
    stem = pl.col("key").str.replace(r"^.*/", "").str.replace(r"\.[A-Za-z0-9]{2,5}$", "")
    labels = parts.train.select(pl.col("file").alias("key"), LABEL).with_columns(stem).unique("key")
    own = pl.DataFrame({"key": reading.train[keys.train_columns[0]]}).with_columns(stem)
    found = own.join(labels, on="key", how="left", maintain_order="left")[LABEL]
    if found.null_count():
        return False
    reading.train = reading.train.with_columns(found)
    reading.log.notes["train"] += f"; {parts.notes['train']}"
    return True


def _mask_target(reading: Reading, keys: Keys, predictions: tuple[str, ...]) -> tuple[str, ...]:
    """The column of mask files, added to train when its tables have no masks."""
    if any(same_column(name, reading.train.columns) for name in predictions) or MASK_FILE in reading.train.columns:
        return ()
    if any(asking.is_mask(reading.train[name], name, ()) for name in reading.train.columns):
        return ()
    masks = mask_files(reading.train[keys.train_columns[0]].fill_null(""), reading.media)
    if masks is None:
        return ()
    reading.train = reading.train.with_columns(masks.alias(MASK_FILE))
    reading.log.notes["masks"] = f"files such as {masks.drop_nulls()[0]}"
    return (MASK_FILE,)


def _filled_columns(test: pl.DataFrame | None, train: pl.DataFrame, predictions: tuple[str, ...]) -> frozenset[str]:
    """Test's columns that hold something; a column that is asked and blank or constant there is the target's empty place."""
    if test is None:
        return frozenset()
    asked = {own for name in predictions if (own := same_column(name, train.columns)) is not None}
    blank = {name for name in asked if name in test.columns and test[name].drop_nulls().n_unique() <= 1}
    return frozenset(
        name
        for name in test.columns
        if name not in blank and not (test.height and test[name].null_count() == test.height and name in asked)
    )
