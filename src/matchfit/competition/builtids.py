"""Ids that are not simply a column of test: renamed, spelled differently, built of several columns, several submission rows an item."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from matchfit.competition.names import plain, tokens
from matchfit.competition.problem import KEY_SEPARATOR
from matchfit.competition.values import numeric_share

JOINTS = ("_", "-", ".", ":", "/", "|", " ", "")
ENOUGH = 0.5
NEARLY = 0.9


@dataclass(frozen=True, kw_only=True)
class Keys:
    """`ids`, `echoes`, `predictions` partition the sample's columns; echoes are copied from test and identify nothing.

    `test_columns`, `train_columns`: the columns whose values, joined by `joint`, are the item's id; empty where there is no such column
    (ids are row numbers, or come from files). `suffixes` (long format): a sample row is an item and one of these, `<item><joint><suffix>`.
    """

    ids: tuple[str, ...]
    predictions: tuple[str, ...]
    echoes: tuple[str, ...] = ()
    test_columns: tuple[str, ...] = ()
    train_columns: tuple[str, ...] = ()
    joint: str = KEY_SEPARATOR
    suffixes: tuple[str, ...] = ()
    lookup: str = ""  # test's column of the submission's ids, where test's rows are parts of an item
    item_ids: tuple[str, ...] = ()  # those of `ids` that name the item, when not all do
    expand: bool = False  # the first of two key columns has a row in test, the second only stands in the submission's ids
    loosely: bool = False  # ids of test and submission are the same but for suffixes and zeros
    by_row: bool = False
    note: str = ""


def key_series(frame: pl.DataFrame, columns: tuple[str, ...], joint: str) -> pl.Series:
    """The ids of a table's rows: N texts."""
    if len(columns) == 1:
        return frame[columns[0]].fill_null("").alias("id")
    return frame.select(pl.concat_str([pl.col(name).fill_null("") for name in columns], separator=joint).alias("id"))["id"]


def rest_of(sample: pl.DataFrame, *taken: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in sample.columns if not any(name in group for group in taken))


def member_share(values: pl.Series, pool: pl.Series) -> float:
    """Share of `values` that stand in `pool`."""
    return float(values.is_in(pool.implode()).mean() or 0.0) if len(values) else 0.0  # type: ignore[arg-type]


def same_column(name: str, columns: list[str]) -> str | None:
    """The column of that name, exactly or with case and punctuation ignored."""
    if name in columns:
        return name
    return next((column for column in columns if plain(column) == plain(name)), None)


def renamed(sample: pl.DataFrame, name: str, test: pl.DataFrame) -> Keys | None:
    shares = [(member_share(sample[name], test[column]), column) for column in test.columns]
    share, column = max(shares, key=lambda item: item[0], default=(0.0, ""))
    if share < NEARLY or test[column].n_unique() < NEARLY * test.height:
        return None
    return Keys(
        ids=(name,),
        predictions=rest_of(sample, (name,)),
        test_columns=(column,),
        note=f"values of {name!r} stand in the column {column!r} of test",
    )


def loose(ids: pl.Series) -> pl.Series:
    """Ids without what programs add or take away: the suffix of a file, leading zeros, `.0`."""
    bare = ids.str.to_lowercase().str.replace(
        r"\.(jpe?g|png|bmp|gif|tiff?|webp|dcm|dicom|wav|mp3|flac|ogg|csv|txt|npy|json|parquet)$", ""
    )
    return bare.str.replace(r"^(\d+)\.0$", "$1").str.replace(r"^0+(\d)", "$1")


def loosely_named(sample: pl.DataFrame, name: str, test: pl.DataFrame) -> Keys | None:
    asked = loose(sample[name].fill_null(""))
    if asked.n_unique() < sample.height:
        return None
    own = same_column(name, test.columns)
    for column in [own] if own else test.columns:
        if member_share(asked, loose(test[column].fill_null(""))) >= NEARLY and test[column].n_unique() >= NEARLY * test.height:
            note = f"values of {name!r} stand in {column!r} of test, written differently (suffixes, zeros)"
            return Keys(ids=(name,), predictions=rest_of(sample, (name,)), test_columns=(column,), loosely=True, note=note)
    return None


def composite(sample: pl.DataFrame, name: str, test: pl.DataFrame) -> Keys | None:
    """`<a>_<b>` of two or three columns of test."""
    look = sample[name].drop_nulls().head(50).to_list()
    columns = list(test.columns)[:40]
    pools = {column: set(test[column].drop_nulls().to_list()) for column in columns}
    for joint in JOINTS[:-1]:
        if not all(joint in str(value) for value in look[:5]):
            continue
        pairs = [(a, b) for a in columns for b in columns if a != b and look and _splits(str(look[0]), joint, pools[a], pools[b])]
        for pair in pairs:
            if all(_splits(str(value), joint, pools[pair[0]], pools[pair[1]]) for value in look):
                joined = key_series(test, pair, joint)
                if member_share(sample[name], joined) >= NEARLY:
                    return Keys(
                        ids=(name,),
                        predictions=rest_of(sample, (name,)),
                        test_columns=pair,
                        joint=joint,
                        note=f"{name!r} is {pair[0]!r} and {pair[1]!r} of test, joined by {joint!r}",
                    )
    return None


def _splits(value: str, joint: str, first: set[str], second: set[str]) -> bool:
    pieces = value.split(joint)
    return any(joint.join(pieces[:at]) in first and joint.join(pieces[at:]) in second for at in range(1, len(pieces)))


def long_rows(sample: pl.DataFrame, name: str, test: pl.DataFrame, train: pl.DataFrame | None) -> Keys | None:
    """`<item>_<what>`: several sample rows an item; `what` is a target, a position, or a value of a train column."""
    for column in test.columns:
        found = long_parts(sample[name], test[column])
        if found is None:
            continue
        joint, suffixes = found
        beside = _named_part(name, column, train.columns) if train is not None else None
        if beside is not None and train is not None and column in train.columns and _alike(pl.Series(suffixes), train[beside]):
            return Keys(
                ids=(name,),
                predictions=rest_of(sample, (name,)),
                test_columns=(column, beside),
                train_columns=(column, beside),
                joint=joint,
                expand=True,
                note=f"{name!r} is {column!r} and {beside!r}, joined by {joint!r}",
            )
        return Keys(
            ids=(name,),
            predictions=rest_of(sample, (name,)),
            test_columns=(column,),
            joint=joint,
            suffixes=suffixes,
            note=f"{name!r} is {column!r} and one of {len(suffixes)} suffixes, joined by {joint!r}: several rows an item",
        )
    return None


def long_parts(ids: pl.Series, pool: pl.Series) -> tuple[str, tuple[str, ...]] | None:
    """(joint, suffixes in order) when nearly all ids are `<pool value><joint><suffix>`, with several rows a value."""
    known = pool.drop_nulls().unique()
    if known.is_empty() or len(known) >= len(ids):
        return None
    for joint in JOINTS[:4]:
        for greedy in (True, False):
            if greedy:
                head, tail = ids.str.replace(rf"\{joint}[^\{joint}]*$", ""), ids.str.extract(rf"\{joint}([^\{joint}]*)$", 1)
            else:
                head, tail = ids.str.extract(rf"^([^\{joint}]*)\{joint}", 1), ids.str.replace(rf"^[^\{joint}]*\{joint}", "")
            if member_share(head.drop_nulls(), known) >= NEARLY and tail.null_count() == 0:
                return joint, tuple(tail.unique(maintain_order=True).to_list())
    number = ids.cast(pl.Int64, strict=False)
    for digits in (1, 2, 3, 4):
        if number.null_count() == 0 and member_share((number // 10**digits).cast(pl.String), known) == 1.0:
            suffixes = (number % 10**digits).unique(maintain_order=True)
            if 1 < len(suffixes) <= 10**digits and len(suffixes) * len(known) >= NEARLY * len(ids):
                return f"*{10**digits}+", tuple(str(value) for value in suffixes.to_list())
    return None


def split_long(ids: pl.Series, pool: pl.Series, joint: str) -> pl.Series:
    """The item of every long id."""
    if joint.startswith("*"):
        return (ids.cast(pl.Int64) // int(joint[1:-1])).cast(pl.String)
    head = ids.str.replace(rf"\{joint}[^\{joint}]*$", "")
    return head if member_share(head, pool) >= NEARLY else ids.str.extract(rf"^([^\{joint}]*)\{joint}", 1)


def rows_of_items(keys: Keys, test: pl.DataFrame | None, train: pl.DataFrame) -> Keys | None:
    """Test has a row for each item and target, train a row an item with the targets as columns (long submission, wide train)."""
    if test is None or len(keys.test_columns) != 1 or same_column(keys.test_columns[0], train.columns):
        return None
    items = [name for name in test.columns if name in train.columns and train[name].n_unique() == train.height]
    for item in items:
        for what in test.columns:
            values = test[what].drop_nulls().unique(maintain_order=True)
            if what != item and 1 < len(values) <= train.width and member_share(values, pl.Series(train.columns)) == 1.0:
                return replace(
                    keys,
                    test_columns=(item,),
                    train_columns=(item,),
                    lookup=keys.test_columns[0],
                    suffixes=tuple(values.to_list()),
                    note=f"a row for each {item!r} and each of the train columns that {what!r} names",
                )
    return None


def _alike(values: pl.Series, pool: pl.Series) -> bool:
    """The same values, or numbers on both sides."""
    return member_share(values, pool) >= ENOUGH or (numeric_share(values) == 1.0 and numeric_share(pool) == 1.0)


def _named_part(name: str, column: str, columns: list[str]) -> str | None:
    """The train column that the built id's name speaks of: `Patient_Week` beside `Patient` → `Weeks`."""
    left = [word for word in tokens(name) if word not in tokens(column)]
    for other in columns:
        stemmed = plain(other)
        if other != column and left and any(stemmed.startswith(word) or word.startswith(stemmed) for word in left if len(word) > 2):
            return other
    return None


def numbered(sample: pl.DataFrame, name: str, test: pl.DataFrame) -> Keys | None:
    """Ids that are the row numbers of test, from 0 or 1."""
    if sample.height != test.height or sample.is_empty():
        return None
    numbers = sample[name].cast(pl.Int64, strict=False)
    if numbers.null_count() or numbers[0] not in (0, 1):
        return None
    if not bool((numbers.diff().drop_nulls() == 1).all()):
        return None
    return Keys(ids=(name,), predictions=rest_of(sample, (name,)), by_row=True, note=f"{name!r} counts the rows of test")
