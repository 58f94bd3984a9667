"""Columns of a table: constant, mostly missing, placeholders for missing, numbers with units, ids, copies, new categories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from matchfit.audit.subject import Subject, share, shown
from matchfit.core.findings import Finding

MOSTLY_MISSING = 0.5
MANY_LEVELS = 100
MIN_ROWS = 20
PLACEHOLDERS = (
    "?",
    "-",
    "--",
    "n/a",
    "na",
    "nan",
    "none",
    "null",
    "nil",
    "missing",
    "#n/a",
    "#value!",
    "unknown",
    ".",
    "inf",
    "-inf",
)
SENTINELS = (-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0, 999999.0)
SENTINEL_SHARE = 0.01
LOOKED_AT = 100_000
NUMBER_WITH_UNIT = r"^\s*[$€£¥]?\s*[-+]?\d[\d,.' ]*\s*(%|[a-zA-Z°µ/²³]{1,6})?\s*$"
PLAIN_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


@dataclass(frozen=True, kw_only=True)
class _Column:
    """A feature of train, as text. `values` is whole, `looked_at` a sample of rows without the empty cells, `num_distinct` counted in it."""

    name: str
    kind: str
    values: pl.Series
    looked_at: pl.Series
    num_distinct: int
    num_rows: int  # of the sample, empty cells too

    @property
    def num_empty(self) -> int:
        return self.values.null_count()


def check_tables(subject: Subject) -> Iterator[Finding]:
    """`constant_columns`, `missing_values`, `placeholder_values`, `sentinel_values`, `numbers_as_text`, `id_like_columns`,
    `duplicated_columns`, `many_categories`, `new_categories`. What counts values looks at LOOKED_AT rows at most."""
    table = subject.competition.train.table
    present = frozenset(table.columns)
    features = [feature for feature in subject.competition.problem.features if feature.name in present]
    if table.height < MIN_ROWS or not features:
        return
    rows = subject.sample("train", "tables", LOOKED_AT)
    columns = []
    for feature in features:
        values = table[feature.name].cast(pl.String)
        sampled = values if len(rows) == table.height else values[rows]
        filled = sampled.drop_nulls()
        columns.append(
            _Column(
                name=feature.name,
                kind=feature.kind,
                values=values,
                looked_at=filled,
                num_distinct=len(filled) if feature.kind == "text" else filled.n_unique(),
                num_rows=len(rows),
            )
        )
    yield from _constant(columns, table.height)
    yield from _missing(columns, table.height)
    yield from _placeholders(columns)
    yield from _sentinels(columns)
    yield from _units(columns)
    yield from _like_ids(columns, table.height)
    yield from _copies(columns)
    yield from _levels(subject, columns)


def _constant(columns: list[_Column], height: int) -> Iterator[Finding]:
    candidates = [c for c in columns if c.num_distinct <= 1 and c.num_empty in {0, height}]
    names = [c.name for c in candidates if c.num_rows == height or c.values.n_unique() == 1]
    if names:
        yield Finding(
            code="constant_columns",
            severity="info",
            message=f"{len(names):,} columns have one value alone: {shown(names, 10)}.",
            todo="They tell nothing; they are not learnt from.",
        )


def _missing(columns: list[_Column], height: int) -> Iterator[Finding]:
    missing = {c.name: c.num_empty for c in columns if c.num_empty}
    mostly = [name for name, number in missing.items() if number >= MOSTLY_MISSING * height]
    if missing:
        listed = (f"{name} {100 * missing[name] / height:.3g} %" for name in sorted(missing, key=lambda n: -missing[n]))
        yield Finding(
            code="missing_values",
            severity="warning" if mostly else "info",
            message=f"{len(missing):,} of {len(columns):,} columns have empty cells: {shown(listed, 10)}.",
            todo=f"Mostly empty: {shown(mostly)}; that a cell is filled may tell more than its value."
            if mostly
            else "Trees take them as they are.",
        )


def _placeholders(columns: list[_Column]) -> Iterator[Finding]:
    for column in columns:
        if column.kind == "text" or column.num_distinct <= 2:
            continue
        lowered = column.looked_at.str.strip_chars().str.to_lowercase()
        counts = dict(lowered.filter(lowered.is_in(PLACEHOLDERS)).value_counts().iter_rows())
        if counts and len(counts) < column.num_distinct:
            number = sum(counts.values())
            yield Finding(
                code="placeholder_values",
                severity="info",
                message=f"Column {column.name} has {share(number, column.num_rows)} cells{_of_sample(column)} that stand for a missing value: "
                f"{shown(f'{value!r} ({count:,})' for value, count in counts.items())}.",
                todo="In a column of numbers they count as missing; in one of categories they are a category of their own.",
            )


def _sentinels(columns: list[_Column]) -> Iterator[Finding]:
    for column in columns:
        if column.kind != "number" or column.num_distinct <= 3:
            continue
        values = column.looked_at.str.strip_chars().cast(pl.Float64, strict=False).drop_nulls().to_numpy()
        values = values[np.isfinite(values)]
        for sentinel in SENTINELS:
            number = int((values == sentinel).sum())
            rest = values[values != sentinel]
            if number < max(2, SENTINEL_SHARE * len(values)) or not len(rest):
                continue
            low, high = np.quantile(rest, [0.01, 0.99])
            gap = max(rest.min() - sentinel, sentinel - rest.max())
            if gap > max(high - low, 1e-12) or (sentinel == -1 and rest.min() >= 0 and number >= 5 and len(np.unique(rest)) > 20):
                yield Finding(
                    code="sentinel_values",
                    severity="info",
                    message=f"Column {column.name} has {share(number, len(values))} cells{_of_sample(column)} of {sentinel:g}, apart from all others "
                    f"({rest.min():g} to {rest.max():g}): it may stand for a missing value.",
                    todo="Trees can split it off; a linear model would take it for a number.",
                )


def _units(columns: list[_Column]) -> Iterator[Finding]:
    for column in columns:
        if column.kind not in {"category", "text", "identifier"} or not len(column.looked_at):
            continue
        sample = column.looked_at.head(2000)
        # Groups of digits that look like dates, versions or codes are no numbers: one sign of one kind at most.
        with_unit = (sample.str.contains(NUMBER_WITH_UNIT) & ~sample.str.contains(PLAIN_NUMBER)).mean() or 0.0
        plain = sample.str.contains(PLAIN_NUMBER).mean() or 0.0
        units = sample.str.extract(r"([^\d.,' ]+)\s*$", 1).drop_nulls().n_unique()
        if with_unit >= 0.5 and with_unit + plain >= 0.95 and units <= 5:  # type: ignore[operator]
            yield Finding(
                code="numbers_as_text",
                severity="info",
                message=f"Column {column.name} holds numbers written with a unit, a sign or separators, such as {sample[0]!r}.",
                todo="Write them as plain numbers in one unit; until then each spelling is a category.",
            )


def _like_ids(columns: list[_Column], height: int) -> Iterator[Finding]:
    names = []
    for column in columns:
        if (
            column.kind not in {"number", "category", "identifier"}
            or column.num_distinct < 0.99 * height
            or len(column.looked_at) < height
        ):
            continue
        if column.kind == "number" and not column.looked_at.str.contains(r"^\d+$").all():
            continue  # measured values are distinct by nature
        names.append(column.name)
    if names:
        yield Finding(
            code="id_like_columns",
            severity="info",
            message=f"{len(names):,} columns have (nearly) a value of its own in each row, like an id: {shown(names)}.",
            todo="Learnt by heart they help no test row; leave out what is a name (competition.drop_columns).",
        )


def _copies(columns: list[_Column]) -> Iterator[Finding]:
    seen: dict[tuple[int, int], _Column] = {}
    pairs = []
    for column in columns:
        if column.num_distinct <= 1:
            continue
        first = seen.setdefault((column.num_empty, int(column.looked_at.hash(seed=0).sum() or 0)), column)
        if first is not column and first.values.equals(column.values, check_names=False, null_equal=True):
            pairs.append(f"{column.name} = {first.name}")
    if pairs:
        yield Finding(
            code="duplicated_columns",
            severity="info",
            message=f"{len(pairs):,} columns repeat another one cell by cell: {shown(pairs, 10)}.",
            todo="One of each pair is enough.",
        )


def _levels(subject: Subject, columns: list[_Column]) -> Iterator[Finding]:
    categories = [column for column in columns if column.kind == "category"]
    many = [f"{c.name} ({c.num_distinct:,})" for c in categories if c.num_distinct > MANY_LEVELS]
    if many:
        yield Finding(
            code="many_categories",
            severity="info",
            message=f"{len(many):,} columns have more than {MANY_LEVELS} categories: {shown(many, 10)}.",
            todo="Rare categories are learnt by heart easily; encodings by target must be fitted inside the fold.",
        )
    test = subject.competition.test.table
    new = []
    for column in categories:
        if column.name in test.columns and test.height:
            cells = test[column.name].cast(pl.String).drop_nulls()
            number = int((~cells.is_in(column.values.drop_nulls().unique().implode())).sum())
            if number:
                new.append(f"{column.name} {share(number, test.height)}")
    if new:
        yield Finding(
            code="new_categories",
            severity="info",
            message=f"Test rows have categories that train never shows: {shown(new, 10)}.",
            todo="They are predicted as unknown.",
        )


def _of_sample(column: _Column) -> str:
    return f" of {column.num_rows:,} rows looked at" if column.num_rows < len(column.values) else ""
