"""How a row of the sample submission names an item: by one column, several, a text built of several, or not at all."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from matchfit.competition import media as media_files
from matchfit.competition.builtids import (
    ENOUGH,
    Keys,
    composite,
    long_parts,
    long_rows,
    loosely_named,
    member_share,
    numbered,
    renamed,
    rest_of,
    rows_of_items,
    same_column,
)
from matchfit.competition.names import tokens
from matchfit.competition.values import shape
from matchfit.core.errors import DataError, nearest, sentence

ID_WORDS = frozenset(["id", "ids", "uid", "uuid", "guid", "key", "index", "no", "number"])


def find_keys(
    sample: pl.DataFrame, test: pl.DataFrame | None, train: pl.DataFrame | None, media: pl.DataFrame, wanted: tuple[str, ...] | None
) -> Keys:
    """Decide the id columns; `wanted` is the user's `id`. Raises DataError when no column is left to predict."""
    if wanted is not None:
        for name in wanted:
            if name not in sample.columns:
                raise DataError(
                    f"competition.id = {name!r}",
                    rule="must be a column of the sample submission",
                    found="no such column",
                    todo=sentence(nearest(name, sample.columns)),
                )
    found = _against_table(sample, test, train, wanted) if test is not None else None
    if found is not None and train is not None and wanted is None:
        found = rows_of_items(found, test, train) or found
    found = found or _without_table(sample, train, media, wanted)
    if not found.predictions:
        raise DataError(
            "sample submission",
            rule="must have a column to predict besides the ids",
            found=f"only {', '.join(map(repr, sample.columns))}",
            todo="Name the id columns with competition.id in matchfit.yaml, or another file with competition.sample_submission.",
        )
    if not found.train_columns and train is not None and not found.by_row:
        found = replace(found, train_columns=_train_columns(found, train, media))
    return found


# -- with a test table ------------------------------------------------------------------------------------------------------------------


def _against_table(
    sample: pl.DataFrame, test: pl.DataFrame, train: pl.DataFrame | None, wanted: tuple[str, ...] | None
) -> Keys | None:
    shared = {name: column for name in sample.columns if (column := same_column(name, test.columns)) is not None}
    if (
        not shared
        and sample.height == test.height
        and train is not None
        and all(same_column(name, train.columns) for name in sample.columns)
    ):
        return Keys(
            ids=(), predictions=tuple(sample.columns), by_row=True, note="no id: the rows of the submission are the rows of test"
        )
    blank = {
        name
        for name, column in shared.items()
        if _is_blank(test[column]) and train is not None and same_column(name, train.columns)
    }
    same = {
        name: column for name, column in shared.items() if name not in blank and _same_values(sample, name, test[column], train)
    }
    if len(same) == sample.width:
        same.pop(
            sample.columns[-1]
            if train is None
            else next((n for n in sample.columns if _only_placeholder(sample[n])), sample.columns[-1])
        )
    ids = wanted if wanted is not None else _shortest_key(sample, tuple(same))
    if ids and all(name in same for name in ids):
        echoes = tuple(name for name in same if name not in ids)
        named = bool(set(tokens(ids[0])) & ID_WORDS)
        if wanted is None and any(_is_prose(sample[name]) for name in (ids if named else same)):
            return Keys(
                ids=(),
                echoes=tuple(same),
                predictions=rest_of(sample, tuple(same)),
                by_row=True,
                note="no id: the submission repeats columns of test in the order of its rows",
            )
        return Keys(
            ids=ids,
            echoes=echoes,
            predictions=rest_of(sample, ids, echoes),
            test_columns=tuple(same[name] for name in ids),
            note="columns of the sample submission whose values stand in test",
        )
    if wanted == ():
        return Keys(ids=(), echoes=tuple(same), predictions=rest_of(sample, tuple(same)), by_row=True, note="no id (matchfit.yaml)")
    for name in ids if wanted else [name for name in sample.columns[:2] if sample[name].n_unique() > 0.5 * sample.height]:
        key = (
            renamed(sample, name, test)
            or loosely_named(sample, name, test)
            or numbered(sample, name, test)
            or composite(sample, name, test)
            or long_rows(sample, name, test, train)
        )
        if key is not None:
            return key
    return None


def _same_values(sample: pl.DataFrame, name: str, column: pl.Series, train: pl.DataFrame | None) -> bool:
    """The sample repeats test's column; a constant that train knows by this name is rather the place of a prediction."""
    constant = sample.height > 1 and _only_placeholder(sample[name])
    if constant and name != sample.columns[0] and train is not None and same_column(name, train.columns):
        return column.n_unique() == 1
    return sample.is_empty() or sample[name].null_count() > 0 or member_share(sample[name], column) >= ENOUGH


def _only_placeholder(column: pl.Series) -> bool:
    return column.drop_nulls().n_unique() <= 1


def _is_blank(column: pl.Series) -> bool:
    """Nothing stands in the column: the host left the target's place in test."""
    values = column.drop_nulls()
    return not len(values) or (values.n_unique() == 1 and str(values[0]).strip() in ("", "?", "-1", "0", "NA", "nan"))


def _is_prose(column: pl.Series) -> bool:
    facts = shape(column)
    return facts.mean_words >= 4 and facts.mean_chars >= 20


def _shortest_key(sample: pl.DataFrame, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The first columns that together tell all rows apart; all of them when none do."""
    for name in columns[:1]:
        if sample[name].n_unique() == sample.height and sample[name].null_count() == 0:
            return (name,)
    for count in range(2, len(columns) + 1):
        if sample.select(columns[:count]).n_unique() == sample.height:
            return columns[:count]
    return columns


# -- without ----------------------------------------------------------------------------------------------------------------------------


def _without_table(sample: pl.DataFrame, train: pl.DataFrame | None, media: pl.DataFrame, wanted: tuple[str, ...] | None) -> Keys:
    if wanted is not None:
        return Keys(ids=wanted, predictions=rest_of(sample, wanted), by_row=not wanted, note="matchfit.yaml")
    for name in sample.columns:
        if media_files.match(sample[name].fill_null(""), media, wanted="test") is not None:
            return Keys(ids=(name,), predictions=rest_of(sample, (name,)), note=f"values of {name!r} are names of test files")
    files = media_files.item_names(media, "test")
    for name in sample.columns[:2]:
        found = long_parts(sample[name].fill_null(""), files) if sample.height else None
        if found is not None:
            note = f"{name!r} is the name of a test file and further parts, joined by {found[0]!r}: several rows an item"
            return Keys(ids=(name,), predictions=rest_of(sample, (name,)), joint=found[0], suffixes=found[1], note=note)
    if sample.is_empty() and train is not None:  # the host shows the columns only
        shown = [name for name in sample.columns if same_column(name, train.columns)]
        ids = tuple(shown) if len(shown) < sample.width else sample.columns[:1]
        return Keys(
            ids=tuple(ids),
            predictions=rest_of(sample, tuple(ids)),
            note="the sample submission has no rows: by the names of its columns",
        )
    known = [name for name in sample.columns if train is not None and same_column(name, train.columns)]
    first = known[:1] if known and known[0] == sample.columns[0] else []
    candidates = [*first, *(name for name in sample.columns if name not in first)][: max(sample.width - 1, 1)]
    ids = _shortest_key(sample, tuple(candidates)) if sample.height > 1 else ()
    if not ids or len(ids) > 3 or (_only_placeholder(sample[ids[-1]]) and sample.height > 1):
        ids = tuple(candidates[:1])
    if sample.width > 1 and len(ids) == sample.width:
        ids = ids[:-1]
    return Keys(
        ids=ids,
        predictions=rest_of(sample, ids),
        note="the first column of the sample submission" if len(ids) == 1 else "tells rows apart",
    )


# -- train's side -----------------------------------------------------------------------------------------------------------------------


def _train_columns(keys: Keys, train: pl.DataFrame, media: pl.DataFrame) -> tuple[str, ...]:
    """Train's columns for the ids: those that test uses, else those that the submission names, those that name train's files, `train_id`."""
    for names in (keys.test_columns, keys.ids):
        found = [same_column(name, train.columns) for name in names]
        if found and all(found) and not any(column in keys.predictions and column not in keys.ids for column in found):
            return tuple(column for column in found if column)
    free = [name for name in train.columns if name not in keys.predictions and train[name].n_unique() == train.height]
    for name in free:
        cells = train[name].fill_null("")
        if any(search(cells, media, wanted="train") is not None for search in (media_files.match, media_files.slices)):
            return (name,)
    return next(((name,) for name in free if {"train", "id"} <= set(tokens(name))), ())
