"""From tables and files to items: one row an item, side tables joined, media matched, shared columns told from train's own."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from matchfit.competition.builtids import Keys, key_series, loose, member_share, same_column, split_long
from matchfit.competition.catalog import Sheet
from matchfit.competition.names import TEST_WORDS, TRAIN_WORDS
from matchfit.competition.roles import ANSWER_WORDS
from matchfit.core.findings import Finding

REPEATED = 0.1  # share of rows that repeat an id before several rows are taken for one item
EXCERPT = 0.5  # a sample submission with fewer than this share of test's rows is an excerpt
CELLS_JOINED = ";"
SHOWN = 20


@dataclass
class Side:
    """Train or test on the way to `Items`: `ids` N texts, `table` N rows."""

    ids: pl.Series
    table: pl.DataFrame
    media: pl.Series | None = None
    kind: str = ""


@dataclass
class Log:
    notes: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def find(self, code: str, message: str, *, rows: list[str] | None = None, todo: str = "", severity: str = "warning") -> None:
        self.findings.append(Finding(code=code, severity=severity, message=message, todo=todo, rows=tuple(rows or ())))  # type: ignore[arg-type]


def train_side(train: pl.DataFrame, keys: Keys, targets: tuple[str, ...], *, lists: bool, average: bool, log: Log) -> Side:
    """One row an item. `lists`: the targets of several rows are one item's boxes or masks, joined; `average`: they are votes."""
    if not keys.train_columns:
        return Side(pl.int_range(train.height, eager=True).cast(pl.String).alias("id"), train)
    ids = key_series(train, keys.train_columns[:1] if lists else keys.train_columns, keys.joint)
    repeated = 1.0 - ids.n_unique() / max(len(ids), 1)
    if not lists and repeated <= REPEATED:
        return Side(ids, train)
    keyed = train.with_columns(ids.alias("\x1fid"))
    groups = keyed.group_by("\x1fid", maintain_order=True)
    if lists:
        joined = [pl.col(name).fill_null("").str.join(CELLS_JOINED) for name in targets]
        others = [pl.col(name).first() for name in train.columns if name not in targets]
    elif average:
        joined = [pl.col(name).cast(pl.Float64, strict=False).mean().cast(pl.String) for name in targets]
        others = [pl.col(name).first() for name in train.columns if name not in targets]
    else:
        same = (
            groups.agg([pl.col(name).n_unique() for name in targets]).select(pl.max_horizontal(pl.col(list(targets)))).to_series()
        )
        if float((same == 1).mean() or 0.0) < 0.9:  # type: ignore[arg-type]
            log.notes["items"] = f"{100 * repeated:.0f} % of the train rows repeat an id, with other targets: each row is an item"
            return Side(ids, train)
        joined, others = [], [pl.col(name).first() for name in train.columns]
    table = groups.agg([*joined, *others])
    how = "joined" if lists else ("averaged" if average else "the first of equals")
    if table.height < train.height:
        log.notes["items"] = f"{train.height} train rows are {table.height} items (several rows an id; targets {how})"
    return Side(table["\x1fid"].alias("id"), table.select(train.columns))


def test_side(test: pl.DataFrame | None, sample: pl.DataFrame | None, keys: Keys, log: Log) -> Side:
    """The items that the submission asks for, in its order; test's own rows where the sample is an excerpt or absent."""
    table = test
    if table is not None and keys.by_row:
        ids = key_series(sample, keys.ids, keys.joint) if sample is not None and keys.ids else _row_numbers(table)
        return Side(ids, table)
    own = key_series(table, keys.test_columns, keys.joint) if table is not None and keys.test_columns else None
    if sample is None or sample.is_empty():
        if own is None or table is None:
            return Side(pl.Series("id", [], dtype=pl.String), pl.DataFrame())
        return Side(*_unique(own, table))
    if keys.expand and table is not None:
        return _expanded(sample, table, keys)
    if keys.loosely and own is not None and table is not None:
        spelled = pl.DataFrame({"key": loose(sample[keys.ids[0]].fill_null("")), "spelled": sample[keys.ids[0]]})
        both = pl.DataFrame({"key": loose(own), "own": own}).join(spelled, on="key", how="left", maintain_order="left")
        own = both.select(pl.coalesce("spelled", "own").alias("id"))["id"]
    asked = _asked_ids(sample, own, table, keys)
    if own is None or table is None:
        table = _id_table(sample, keys, asked)
        return Side(asked, table)
    if own.equals(asked) and own.n_unique() == len(own):
        return Side(asked, table)
    if len(asked) < EXCERPT * own.n_unique() and member_share(asked, own) > 0.9:
        log.find(
            "sample_excerpt",
            f"The sample submission has {len(asked)} items, test has {own.n_unique()}: it is taken for an excerpt.",
            todo="Remove rows from test, or set competition.test_table, if only the sample's items are asked.",
            severity="info",
        )
        return Side(*_unique(own, table))
    first_ids, first = _unique(own, table)
    absent = asked.filter(~asked.is_in(first_ids.implode()))
    if len(absent):
        log.find(
            "missing_test_rows",
            f"{len(absent)} items of the sample submission have no row in test; their columns are empty.",
            rows=absent.head(SHOWN).to_list(),
            todo="Complete the test table, or set competition.test_table.",
        )
    beyond = first.height - (len(asked) - len(absent))
    if beyond > 0:
        log.find("unasked_test_rows", f"{beyond} test rows are not in the sample submission and are left out.", severity="info")
    joined = pl.DataFrame({"\x1fid": asked}).join(
        first.with_columns(first_ids.alias("\x1fid")), on="\x1fid", how="left", maintain_order="left"
    )
    return Side(asked, joined.drop("\x1fid"))


def _expanded(sample: pl.DataFrame, table: pl.DataFrame, keys: Keys) -> Side:
    """A test row a patient, a submission row a patient and week: the patient's columns, with the week of the id."""
    ids = key_series(sample, keys.ids, keys.joint)
    item, beside = keys.test_columns
    head = split_long(ids, table[item], keys.joint)
    tail = pl.DataFrame({"id": ids, "head": head}).select(pl.col("id").str.slice(pl.col("head").str.len_chars() + len(keys.joint)))[
        "id"
    ]
    first = table.unique(item, keep="first", maintain_order=True).drop(beside, strict=False)
    joined = pl.DataFrame({item: head, beside: tail}).join(first, on=item, how="left", maintain_order="left")
    return Side(
        ids,
        joined.select(
            [name for name in table.columns if name in joined.columns] + [n for n in joined.columns if n not in table.columns]
        ),
    )


def _asked_ids(sample: pl.DataFrame, own: pl.Series | None, table: pl.DataFrame | None, keys: Keys) -> pl.Series:
    ids = key_series(sample, keys.item_ids or keys.ids, keys.joint)
    if keys.item_ids:
        return ids.unique(maintain_order=True)
    if keys.lookup and own is not None and table is not None:
        rows = pl.DataFrame({"id": table[keys.lookup], "item": own}).unique("id")
        found = pl.DataFrame({"id": ids}).join(rows, on="id", how="left", maintain_order="left")["item"]
        return found.drop_nulls().unique(maintain_order=True).alias("id")
    if keys.suffixes and own is not None:
        return split_long(ids, own, keys.joint).unique(maintain_order=True).alias("id")
    return ids


def _row_numbers(table: pl.DataFrame) -> pl.Series:
    return pl.int_range(table.height, eager=True).cast(pl.String).alias("id")


def _unique(ids: pl.Series, table: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    if ids.n_unique() == len(ids):
        return ids, table
    first = ids.is_first_distinct()
    return ids.filter(first), table.filter(first)


def _id_table(sample: pl.DataFrame, keys: Keys, ids: pl.Series) -> pl.DataFrame:
    """The columns that ids alone give: themselves, under train's names."""
    if len(keys.ids) == len(keys.train_columns) and not keys.suffixes:
        return sample.select([pl.col(name).alias(own) for name, own in zip(keys.ids, keys.train_columns, strict=True)])
    return pl.DataFrame({keys.ids[0] if keys.ids else "id": ids})


# -- side tables ------------------------------------------------------------------------------------------------------------------------


def join_side_tables(train: Side, test: Side, train_key: str | None, test_key: str | None, others: list[Sheet], log: Log) -> None:
    """Columns of further tables that are keyed by the items' id: to both sides, or to train alone (then for splits, not for learning)."""
    said = []
    for sheet in others:
        name = next(
            (column for key in (train_key, test_key) if key and (column := same_column(key, sheet.columns)) is not None), None
        )
        if name is None or (sheet.words & ANSWER_WORDS and not sheet.words & TRAIN_WORDS):
            continue
        frame = sheet.frame()
        fresh = [column for column in frame.columns if column != name]
        if not fresh:
            continue
        if frame[name].n_unique() < frame.height:
            said.append(f"{sheet.path} (several rows an id: not joined)")
            continue
        sides = []
        for side, word in ((train, TRAIN_WORDS), (test, TEST_WORDS)):
            other_word = TEST_WORDS if word is TRAIN_WORDS else TRAIN_WORDS
            if sheet.words & other_word and not sheet.words & word:
                continue
            if member_share(side.ids, frame[name]) >= 0.5:
                sides.append("train" if word is TRAIN_WORDS else "test")
                _join(side, frame, name, [column for column in fresh if column not in side.table.columns])
        if sides:
            said.append(f"{sheet.path} (joined to {' and '.join(sides)}: {', '.join(map(repr, fresh[:4]))})")
    if said:
        log.notes["side_tables"] = "; ".join(said)


def _join(side: Side, frame: pl.DataFrame, name: str, fresh: list[str]) -> None:
    keyed = pl.DataFrame({"\x1fid": side.ids}).join(
        frame.select(pl.col(name).alias("\x1fid"), *fresh), on="\x1fid", how="left", maintain_order="left"
    )
    side.table = side.table.hstack(keyed.drop("\x1fid").get_columns())
