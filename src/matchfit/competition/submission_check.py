"""`check`: does a file keep the host's rules? Bytes first, then header, ids, cells; a rule that cannot be tested any more is not guessed at.

Shapes: R rows of the submission.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from matchfit.competition.problem import KEY_SEPARATOR, Competition, Problem
from matchfit.competition.submission_faults import CODES, Faults, SubmissionReport
from matchfit.competition.submission_file import Rows, read_rows
from matchfit.competition.submission_rules import check_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def check_submission(path: Path, competition: Competition) -> SubmissionReport:
    """All faults of a submission file, each with a code of `CODES`, the row (data rows from 1) and the column.

    Ids are matched as text with those of the sample submission (without one: the test items). A rule on the range or the sum of
    probabilities that the host's own sample breaks is not applied. SubmissionError when there is no such file.
    """
    faults = Faults()
    rows = read_rows(path, faults, may_be_empty=not len(competition.test))
    if rows is not None:
        columns = _check_header(rows, competition.problem, faults)
        _check_ids(rows, columns, competition, faults)
        table = pl.DataFrame(
            [
                rows.table.to_series(place).alias(name)
                for name, place in columns.items()
                if name in competition.problem.prediction_columns
            ]
        )
        check_cells(table, rows.rows_N, competition, faults)
    return faults.report()


def _check_header(rows: Rows, problem: Problem, faults: Faults) -> dict[str, int]:
    """Position in the file of every expected column that is there."""
    header, wanted = rows.header, problem.submission_columns
    if header == wanted:
        return {name: place for place, name in enumerate(wanted)}
    rule = f"the columns are {', '.join(map(repr, wanted[:8]))}{' …' if len(wanted) > 8 else ''}"
    found = ",".join(header)
    if not set(header) & set(wanted):
        faults.add("header", row=0, value=found, rule=rule)
        return {}
    repeated = sorted({name for name in header if header.count(name) > 1})
    missing = [name for name in wanted if name not in header]
    extra = [name for name in header if name not in wanted]
    for names, what in ((repeated, "stands there once"), (missing, "is missing"), (extra, "is not asked for")):
        values = [found if what == "is missing" else name for name in names]
        for name, value in zip(names[:20], values, strict=False):
            faults.add("header", row=0, column=name, value=value, rule=f"{rule}; {name!r} {what}")
        if len(names) > 20:
            faults.add("header", row=0, value=f"… and {len(names) - 20} more", rule=f"{rule}; {what}")
    if not (repeated or missing or extra):
        faults.add("header", row=0, value=found, rule=f"{rule}, in that order (matched by name here)", warning=True)
    return {name: header.index(name) for name in wanted if name in header and name not in repeated}


def _keys(table: pl.DataFrame) -> pl.Series:
    return table.select(
        pl.concat_str([pl.col(name).fill_null("") for name in table.columns], separator=KEY_SEPARATOR).alias("key")
    )["key"]


def _plain(key: object) -> str:
    return str(key).replace(KEY_SEPARATOR, ",")


def _check_ids(rows: Rows, columns: dict[str, int], competition: Competition, faults: Faults) -> None:
    problem, sample = competition.problem, competition.sample
    # without an id, columns that are copied from test (a date, the text itself) tell the rows apart
    names = problem.id_columns or tuple(name for name in problem.submission_columns if name not in problem.prediction_columns)
    if names and all(name in columns for name in names):
        expected = _expected(names, competition)
        if expected is not None:
            table = pl.DataFrame([rows.table.to_series(columns[name]).alias(name) for name in names])
            _match(table, rows, expected, names, problem, faults)
            return
    if not names and columns:
        wanted = len(sample) if sample is not None else len(competition.test)
        if len(rows.rows_N) + rows.num_ragged != wanted:
            faults.add("row_count", value=len(rows.rows_N), rule=f"there are {wanted} rows, one an item")


def _expected(names: tuple[str, ...], competition: Competition) -> pl.Series | None:
    sample, test = competition.sample, competition.test
    if sample is not None:
        return _keys(sample.select(pl.col(name).cast(pl.String) for name in names))
    if competition.problem.id_columns:
        return test.ids.cast(pl.String)
    if all(name in test.table.columns for name in names):
        return _keys(test.table.select(names))
    return None


def _match(table: pl.DataFrame, rows: Rows, expected: pl.Series, names: tuple[str, ...], problem: Problem, faults: Faults) -> None:
    keys = _keys(table)
    column = names[0] if len(names) == 1 else None
    if len(keys) == len(expected) and keys.sort().equals(expected.sort()):
        moved = keys != expected
        if moved.any():
            place = int(moved.arg_max() or 0)
            rule = f"{CODES['order']}; here {_plain(expected[place])!r} stands in the sample"
            faults.add("order", row=int(rows.rows_N[place]), column=column, value=_plain(keys[place]), rule=rule, warning=True)
        return
    blank = table.select(pl.all_horizontal(pl.all().str.strip_chars() == ""))[table.columns[0]]
    numbers = pl.Series("row", rows.rows_N)
    have = pl.DataFrame({"key": keys, "row": numbers}).with_columns(pl.int_range(pl.len()).over("key").alias("nth"))
    counts = pl.DataFrame({"key": expected}).group_by("key").len("wanted")
    have = have.join(counts, on="key", how="left", maintain_order="left").with_columns(
        blank=blank, wanted=pl.col("wanted").fill_null(0)
    )
    lost = _lost_form(expected)
    blanks = have.filter(pl.col("blank") & (pl.col("wanted") == 0))
    extra = have.filter(~pl.col("blank") & (pl.col("wanted") == 0))
    repeated = have.filter((pl.col("wanted") > 0) & (pl.col("nth") >= pl.col("wanted")))
    _add("blank_id", blanks, column, faults, CODES["blank_id"])
    _add("extra_id", extra, column, faults, lambda key: f"the id is one of the sample submission's{lost(key)}")
    # several mask lines of one image are usual, so a repeated id is only told there
    _add("duplicate_id", repeated, column, faults, CODES["duplicate_id"], warning=problem.task == "segmentation")
    found = have.group_by("key").len("found")
    wanted = pl.DataFrame({"key": expected}).with_columns(pl.int_range(pl.len()).over("key").alias("nth"))
    wanted = wanted.join(found, on="key", how="left", maintain_order="left").filter(pl.col("nth") >= pl.col("found").fill_null(0))
    # rows that could not be read are told as such already; their ids are not missing
    if len(wanted) > rows.num_ragged:
        faults.add_rows("missing_id", None, map(_plain, wanted["key"]), len(wanted), rule=CODES["missing_id"], column=column)


def _add(
    code: str, found: pl.DataFrame, column: str | None, faults: Faults, rule: str | Callable[[str], str], *, warning: bool = False
) -> None:
    places: Sequence[int] = found["row"].head(20).to_list()
    faults.add_rows(code, places, map(_plain, found["key"].head(20)), len(found), rule=rule, column=column, warning=warning)


def _lost_form(expected: pl.Series) -> Callable[[str], str]:
    """A hint where an id is known in another form: without leading zeros, as a float, with blanks, with another case or extension."""
    forms: dict[str, str] = {}

    def plain(key: str) -> str:
        text = key.strip().casefold().rsplit(".", 1)[0] if not key.replace(".", "", 1).isdecimal() else key.removesuffix(".0")
        return text.lstrip("0") or "0"

    def hint(key: str) -> str:
        if not forms:
            forms.update((plain(_plain(known)), _plain(known)) for known in expected)
        known = forms.get(plain(key))
        return f"; written there as {known!r}" if known is not None else ""

    return hint
