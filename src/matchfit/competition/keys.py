"""How a row of the sample submission names an item: by one column, several, a text built of several, or not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from matchfit.competition import media as media_files
from matchfit.competition.names import plain, tokens
from matchfit.competition.problem import KEY_SEPARATOR
from matchfit.competition.values import numeric_share, shape
from matchfit.core.errors import DataError, nearest

JOINTS = ("_", "-", ".", ":", "/", "|", " ", "")
ENOUGH = 0.5
NEARLY = 0.9
ID_WORDS = frozenset(["id", "ids", "uid", "uuid", "guid", "key", "index", "no", "number"])


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
                    todo=nearest(name, sample.columns).capitalize(),
                )
    found = _against_table(sample, test, train, wanted) if test is not None else None
    if found is not None and train is not None and wanted is None:
        found = _rows_of_items(found, test, train) or found
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


def _rest(sample: pl.DataFrame, *taken: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in sample.columns if not any(name in group for group in taken))


def member_share(values: pl.Series, pool: pl.Series) -> float:
    """Share of `values` that stand in `pool`."""
    return float(values.is_in(pool.implode()).mean() or 0.0) if len(values) else 0.0  # type: ignore[arg-type]


def same_column(name: str, columns: list[str]) -> str | None:
    """The column of that name, exactly or with case and punctuation ignored."""
    if name in columns:
        return name
    return next((column for column in columns if plain(column) == plain(name)), None)


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
                predictions=_rest(sample, tuple(same)),
                by_row=True,
                note="no id: the submission repeats columns of test in the order of its rows",
            )
        return Keys(
            ids=ids,
            echoes=echoes,
            predictions=_rest(sample, ids, echoes),
            test_columns=tuple(same[name] for name in ids),
            note="columns of the sample submission whose values stand in test",
        )
    if wanted == ():
        return Keys(ids=(), echoes=tuple(same), predictions=_rest(sample, tuple(same)), by_row=True, note="no id (matchfit.yaml)")
    for name in ids if wanted else [name for name in sample.columns[:2] if sample[name].n_unique() > 0.5 * sample.height]:
        key = (
            _renamed(sample, name, test)
            or _loosely(sample, name, test)
            or _numbered(sample, name, test)
            or _composite(sample, name, test)
            or _long(sample, name, test, train)
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


def _renamed(sample: pl.DataFrame, name: str, test: pl.DataFrame) -> Keys | None:
    shares = [(member_share(sample[name], test[column]), column) for column in test.columns]
    share, column = max(shares, key=lambda item: item[0], default=(0.0, ""))
    if share < NEARLY or test[column].n_unique() < NEARLY * test.height:
        return None
    return Keys(
        ids=(name,),
        predictions=_rest(sample, (name,)),
        test_columns=(column,),
        note=f"values of {name!r} stand in the column {column!r} of test",
    )


def loose(ids: pl.Series) -> pl.Series:
    """Ids without what programs add or take away: the suffix of a file, leading zeros, `.0`."""
    bare = ids.str.to_lowercase().str.replace(
        r"\.(jpe?g|png|bmp|gif|tiff?|webp|dcm|dicom|wav|mp3|flac|ogg|csv|txt|npy|json|parquet)$", ""
    )
    return bare.str.replace(r"^(\d+)\.0$", "$1").str.replace(r"^0+(\d)", "$1")


def _loosely(sample: pl.DataFrame, name: str, test: pl.DataFrame) -> Keys | None:
    asked = loose(sample[name].fill_null(""))
    if asked.n_unique() < sample.height:
        return None
    own = same_column(name, test.columns)
    for column in [own] if own else test.columns:
        if member_share(asked, loose(test[column].fill_null(""))) >= NEARLY and test[column].n_unique() >= NEARLY * test.height:
            note = f"values of {name!r} stand in {column!r} of test, written differently (suffixes, zeros)"
            return Keys(ids=(name,), predictions=_rest(sample, (name,)), test_columns=(column,), loosely=True, note=note)
    return None


def _composite(sample: pl.DataFrame, name: str, test: pl.DataFrame) -> Keys | None:
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
                        predictions=_rest(sample, (name,)),
                        test_columns=pair,
                        joint=joint,
                        note=f"{name!r} is {pair[0]!r} and {pair[1]!r} of test, joined by {joint!r}",
                    )
    return None


def _splits(value: str, joint: str, first: set[str], second: set[str]) -> bool:
    pieces = value.split(joint)
    return any(joint.join(pieces[:at]) in first and joint.join(pieces[at:]) in second for at in range(1, len(pieces)))


def _long(sample: pl.DataFrame, name: str, test: pl.DataFrame, train: pl.DataFrame | None) -> Keys | None:
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
                predictions=_rest(sample, (name,)),
                test_columns=(column, beside),
                train_columns=(column, beside),
                joint=joint,
                expand=True,
                note=f"{name!r} is {column!r} and {beside!r}, joined by {joint!r}",
            )
        return Keys(
            ids=(name,),
            predictions=_rest(sample, (name,)),
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


def _rows_of_items(keys: Keys, test: pl.DataFrame | None, train: pl.DataFrame) -> Keys | None:
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


def _numbered(sample: pl.DataFrame, name: str, test: pl.DataFrame) -> Keys | None:
    """Ids that are the row numbers of test, from 0 or 1."""
    if sample.height != test.height or sample.is_empty():
        return None
    numbers = sample[name].cast(pl.Int64, strict=False)
    if numbers.null_count() or numbers[0] not in (0, 1):
        return None
    if not bool((numbers.diff().drop_nulls() == 1).all()):
        return None
    return Keys(ids=(name,), predictions=_rest(sample, (name,)), by_row=True, note=f"{name!r} counts the rows of test")


# -- without ----------------------------------------------------------------------------------------------------------------------------


def _without_table(sample: pl.DataFrame, train: pl.DataFrame | None, media: pl.DataFrame, wanted: tuple[str, ...] | None) -> Keys:
    if wanted is not None:
        return Keys(ids=wanted, predictions=_rest(sample, wanted), by_row=not wanted, note="matchfit.yaml")
    for name in sample.columns:
        if media_files.match(sample[name].fill_null(""), media, wanted="test") is not None:
            return Keys(ids=(name,), predictions=_rest(sample, (name,)), note=f"values of {name!r} are names of test files")
    files = media_files.item_names(media, "test")
    for name in sample.columns[:2]:
        found = long_parts(sample[name].fill_null(""), files) if sample.height else None
        if found is not None:
            note = f"{name!r} is the name of a test file and further parts, joined by {found[0]!r}: several rows an item"
            return Keys(ids=(name,), predictions=_rest(sample, (name,)), joint=found[0], suffixes=found[1], note=note)
    if sample.is_empty() and train is not None:  # the host shows the columns only
        shown = [name for name in sample.columns if same_column(name, train.columns)]
        ids = tuple(shown) if len(shown) < sample.width else sample.columns[:1]
        return Keys(
            ids=tuple(ids),
            predictions=_rest(sample, tuple(ids)),
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
        predictions=_rest(sample, ids),
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
