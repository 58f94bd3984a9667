"""Folders with less than usual: one table for train and test, or no sample submission."""

from __future__ import annotations

import polars as pl

from matchfit.competition import media as media_files
from matchfit.competition.asking import is_mask
from matchfit.competition.builtids import Keys, member_share
from matchfit.competition.config import CompetitionConfig
from matchfit.competition.layouts.parts import Parts
from matchfit.competition.matching import CLASS_WORDS, box_columns
from matchfit.competition.names import TEST_WORDS, TRAIN_WORDS, VALID_WORDS, plain, tokens
from matchfit.core.errors import DataError, nearest, sentence

MARKER_NAMES = frozenset(
    {"split", "set", "part", "subset", "fold", "usage", "istest", "istrain", "partition", "source", "datatype", "phase", "mode"}
)
ID_NAMES = ("id", "index", "key", "uid", "uuid", "filename", "file", "image", "imageid", "fname", "rowid")


def split_one_table(
    table: pl.DataFrame, sample: pl.DataFrame | None, media: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame | None, str]:
    """(train, test, note): rows that the sample names, or that a marker column calls test, are test. Test is None for an ordinary train."""
    for name in table.columns:
        if plain(name) in MARKER_NAMES:
            values = table[name].drop_nulls().unique().to_list()
            tests = [value for value in values if set(tokens(value)) & TEST_WORDS]
            trains = [value for value in values if set(tokens(value)) & (TRAIN_WORDS | VALID_WORDS)]
            if tests and trains:
                at = table[name].is_in(tests).fill_null(False)
                return table.filter(~at), table.filter(at), f"rows of the train table with {name} = {', '.join(tests)}"
    if sample is None or sample.is_empty():
        return table, None, ""
    for name in sample.columns[:2]:
        column = next((own for own in table.columns if plain(own) == plain(name)), None)
        if column is None or sample[name].n_unique() < sample.height or table[column].n_unique() < 0.99 * table.height:
            continue
        if member_share(sample[name], table[column]) < 0.99 or media_files.match(sample[name], media, wanted="test") is not None:
            continue
        at = table[column].is_in(sample[name].implode()).fill_null(False)
        if bool(at.all()):
            continue
        return table.filter(~at), table.filter(at), "rows of the train table that the sample submission names"
    return table, None, ""


def derive_sample(
    train: pl.DataFrame, test: pl.DataFrame | None, media: pl.DataFrame, config: CompetitionConfig, parts: Parts | None
) -> Keys:
    """Ids and predictions where the host gives no sample submission: what train has and test lacks is asked."""
    own = _own_key(train, test, media, config, parts)
    free = [name for name in train.columns if name not in own and (test is None or name not in test.columns) and "\x1f" not in name]
    if config.targets is not None:
        predictions = config.targets
    elif parts is not None and parts.targets and not parts.boxes:
        predictions = parts.targets
    else:
        predictions = _asked(train, free, own)
    if not predictions:
        raise DataError(
            "targets",
            rule="without a sample submission the target must be a column that train has and test lacks",
            found=f"candidates: {', '.join(map(repr, free[:12])) or 'none'}",
            todo="Name the column with competition.targets in matchfit.yaml, or give a sample submission.",
        )
    names = own or ("id",)
    return Keys(
        ids=tuple(name if parts is None else "id" for name in names),
        predictions=predictions,
        test_columns=own if test is not None and all(name in test.columns for name in own) else (),
        train_columns=own,
        by_row=not own and test is not None,
        note="by its name and because it tells the rows apart" if own else "rows are numbered",
    )


def _own_key(
    train: pl.DataFrame, test: pl.DataFrame | None, media: pl.DataFrame, config: CompetitionConfig, parts: Parts | None
) -> tuple[str, ...]:
    if config.id is not None:
        for name in config.id:
            if name not in train.columns:
                raise DataError(
                    f"competition.id = {name!r}",
                    rule="must be a column of train (there is no sample submission)",
                    found="no such column",
                    todo=sentence(nearest(name, train.columns)),
                )
        return config.id
    if parts is not None:
        return (parts.key,)
    pool = [name for name in train.columns if test is None or name in test.columns]
    for name in pool:
        if train[name].null_count() == 0 and media_files.match(train[name], media, wanted="train") is not None:
            return (name,)
    for name in pool:
        named = plain(name) in ID_NAMES or plain(name).endswith("id")
        if named and train[name].n_unique() == train.height and (test is None or test[name].n_unique() == test.height):
            return (name,)
    return ()


def _asked(train: pl.DataFrame, free: list[str], own: tuple[str, ...]) -> tuple[str, ...]:
    """What is predicted, of the columns that only train has: the one that looks like a target, a group of equals, boxes, a mask.

    Several that might be meant give nothing: then the user is asked.
    """
    repeated = bool(own) and train[own[0]].n_unique() < train.height
    if repeated and box_columns(train):
        return ("PredictionString",)
    masks = [name for name in free if is_mask(train[name], name, ())]
    if len(masks) == 1:
        return (masks[0],)
    if len(free) == 1:
        return (free[0],)
    exact = [name for name in free if plain(name) in ("target", "label", "labels", "class", "y", "category")]
    if len(exact) == 1:
        return (exact[0],)
    equals = [name for name in free if _zero_or_one(train[name])]
    prefixed = [name for name in free if tokens(name)[:1] and tokens(name)[0] in ("target", "label", "y")]
    for group in (prefixed, equals):
        if len(group) >= 2:
            return tuple(group)
    named = [name for name in free if set(tokens(name)) & CLASS_WORDS]
    return (named[0],) if len(named) == 1 else ()


def _zero_or_one(column: pl.Series) -> bool:
    return column.null_count() == 0 and set(column.unique().to_list()) == {"0", "1"}
