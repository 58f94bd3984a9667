"""Predictions → the host's submission file: rows matched by id, columns by name, never by position.

Shapes: N items, K classes or targets, R rows of the submission.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
import polars as pl

from matchfit.competition.metrics.decode import above_threshold, decode, ranked
from matchfit.competition.problem import KEY_SEPARATOR, Items, Predictions, Problem
from matchfit.competition.submission_check import check_submission
from matchfit.competition.submission_faults import Fault, SubmissionReport
from matchfit.core.errors import SubmissionError, nearest
from matchfit.core.records import write_atomically

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Fault", "SubmissionReport", "check_submission", "join_key", "submission_frame", "write_submission"]


def join_key(table: pl.DataFrame, columns: tuple[str, ...]) -> pl.Series:
    """The ids of a table's rows as text, the parts of a composite id joined by KEY_SEPARATOR; empty cells as ""."""
    parts = [pl.col(column).cast(pl.String).fill_null("") for column in columns]
    return table.select(pl.concat_str(parts, separator=KEY_SEPARATOR).alias("key"))["key"]


def submission_frame(
    problem: Problem, sample: pl.DataFrame | None, test: Items | pl.Series, predictions: Predictions
) -> pl.DataFrame:
    """The submission as text, R rows, the columns `problem.submission_columns`.

    Rows follow the sample's order, matched by id (an id that repeats: first to first, second to second); without a sample the order of
    `test`. Columns that are neither ids nor predictions are copied from the sample, or from test's table. Probabilities of one label are
    rescaled to sum to one. SubmissionError: a sample row without prediction, a score that is not finite, a form that dense scores cannot fill.
    """
    ids = test.ids if isinstance(test, Items) else test
    if len(ids) != len(predictions):
        raise _error("predictions", f"one row for each of {len(ids)} test items", f"{len(predictions)} rows")
    if not np.isfinite(predictions.scores_NK).all():
        bad = np.flatnonzero(~np.isfinite(predictions.scores_NK).all(axis=1))
        raise _error(
            "predictions", "scores are finite numbers", f"NaN or infinity for {len(bad)} items, the first {ids[int(bad[0])]!r}"
        )
    rows_R = _places(problem, sample, ids)
    scores_RK = _scores(problem, predictions)[rows_R]
    written = _cells(problem, scores_RK)
    table = test.table if isinstance(test, Items) else None
    columns: dict[str, pl.Series] = {}
    keys = ids[rows_R]
    for name in problem.submission_columns:
        if name in problem.id_columns:
            columns[name] = _key_part(keys, problem.id_columns.index(name), len(problem.id_columns))
        elif name in written:
            columns[name] = written[name]
        elif sample is not None and name in sample.columns:
            columns[name] = sample[name].cast(pl.String)
        elif table is not None and name in table.columns:
            columns[name] = table[name][rows_R].cast(pl.String)
        else:
            raise _error(f"submission column {name!r}", "is an id, a prediction, or a column to copy", "none of them")
    return pl.DataFrame([series.alias(name) for name, series in columns.items()])


def write_submission(path: Path, frame: pl.DataFrame) -> None:
    """Write a csv in one step: UTF-8 without BOM, lines end with a line feed, quotes only where needed, empty cells without quotes."""
    texts = [pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name, kind in frame.schema.items() if kind == pl.String]

    def write(file: BinaryIO) -> None:
        frame.with_columns(texts).write_csv(file, include_bom=False, line_terminator="\n", quote_style="necessary")

    write_atomically(path, write)


def _error(name: str, rule: str, found: str, todo: str = "Score the test items again.") -> SubmissionError:
    return SubmissionError(name, rule=rule, found=found, todo=todo)


def _places(problem: Problem, sample: pl.DataFrame | None, ids: pl.Series) -> npt.NDArray[np.int64]:
    """(R,) the position in `ids` of every submission row."""
    if sample is None:
        return np.arange(len(ids), dtype=np.int64)
    if not problem.id_columns:
        if len(sample) != len(ids):
            raise _error(
                "sample submission", f"without an id, has as many rows as test has items ({len(ids)})", f"{len(sample)} rows"
            )
        return np.arange(len(ids), dtype=np.int64)
    repeated = ids.n_unique() < len(ids)
    occurrence = (pl.int_range(pl.len()).over("key") if repeated else pl.lit(0, dtype=pl.Int64)).alias("nth")
    wanted = pl.DataFrame({"key": join_key(sample, problem.id_columns)}).with_columns(occurrence)
    have = pl.DataFrame({"key": ids.cast(pl.String)}).with_columns(occurrence).with_row_index("place")
    places = wanted.join(have, on=["key", "nth"], how="left", maintain_order="left")["place"]
    if places.null_count():
        absent = wanted["key"].filter(places.is_null()).to_list()
        shown = ", ".join(repr(key.replace(KEY_SEPARATOR, ", ")) for key in absent[:5])
        raise _error(
            "predictions",
            "there is one for every id of the sample submission",
            f"none for {len(absent)} ids: {shown}",
            "Check competition.id and the test items in matchfit.yaml.",
        )
    return places.to_numpy().astype(np.int64)


def _key_part(keys: pl.Series, place: int, parts: int) -> pl.Series:
    if parts == 1:
        return keys.cast(pl.String)
    return keys.cast(pl.String).str.split_exact(KEY_SEPARATOR, parts - 1).struct.field(f"field_{place}")


def _scores(problem: Problem, predictions: Predictions) -> npt.NDArray[np.float64]:
    """(N, K) in the order of `problem.score_columns`, matched by name."""
    if predictions.columns == problem.score_columns:
        return predictions.scores_NK
    if sorted(predictions.columns) != sorted(problem.score_columns):
        strange = sorted(set(predictions.columns) ^ set(problem.score_columns))[:5]
        raise _error("predictions", "have one column for each of the problem's", f"no match for {', '.join(map(repr, strange))}")
    return predictions.scores_NK[:, [predictions.columns.index(name) for name in problem.score_columns]]


def _cells(problem: Problem, scores_RK: npt.NDArray[np.float64]) -> dict[str, pl.Series]:
    """The prediction columns as text, by name."""
    forms: dict[str, Callable[[Problem, npt.NDArray[np.float64]], dict[str, pl.Series]]] = {
        "label": _label,
        "probability": _probability,
        "class_scores": _class_scores,
        "label_list": _label_list,
        "ranked_list": _ranked_list,
        "value": _values,
        "values": _values,
    }
    if problem.submission_form not in forms:
        raise _error(
            f"submission form {problem.submission_form!r}",
            "dense scores fill labels, probabilities, lists and values",
            problem.modality,
            f"Set competition.task to what is asked; {nearest('', forms)}.",
        )
    return forms[problem.submission_form](problem, scores_RK)


def _one_column(problem: Problem) -> str:
    if len(problem.prediction_columns) != 1:
        raise _error(
            "submission columns", f"the form {problem.submission_form} has one column", f"{len(problem.prediction_columns)} columns"
        )
    return problem.prediction_columns[0]


def _numbers(values_R: npt.NDArray[np.float64]) -> pl.Series:
    """Shortest text that reads back as the same number; -0.0 as 0.0."""
    return pl.Series(values_R + 0.0).cast(pl.String)


def _label(problem: Problem, scores_RK: npt.NDArray[np.float64]) -> dict[str, pl.Series]:
    names = pl.Series(problem.classes, dtype=pl.String)
    return {_one_column(problem): names[cast("Any", decode(problem.task, scores_RK))]}


def _probability(problem: Problem, scores_RK: npt.NDArray[np.float64]) -> dict[str, pl.Series]:
    if len(problem.classes) != 2:
        raise _error(
            "classes", "one probability column needs two classes", f"{len(problem.classes)}", "Correct competition.classes."
        )
    return {_one_column(problem): _numbers(_probabilities(scores_RK, shares=True)[:, 1])}


def _class_scores(problem: Problem, scores_RK: npt.NDArray[np.float64]) -> dict[str, pl.Series]:
    shares_RK = _probabilities(scores_RK, shares=problem.task != "multilabel")
    absent = [name for name in problem.prediction_columns if name not in problem.classes]
    if absent:
        raise _error(
            f"submission column {absent[0]!r}",
            "is the name of a class",
            nearest(absent[0], problem.classes),
            "Correct competition.classes.",
        )
    return {name: _numbers(shares_RK[:, problem.classes.index(name)]) for name in problem.prediction_columns}


def _probabilities(scores_RK: npt.NDArray[np.float64], *, shares: bool) -> npt.NDArray[np.float64]:
    low, high = float(scores_RK.min(initial=0.0)), float(scores_RK.max(initial=0.0))
    if low < -1e-6 or high > 1 + 1e-6:
        raise _error("predictions", "probabilities lie between 0 and 1", f"{low:.6g} to {high:.6g}")
    clipped_RK = np.clip(scores_RK, 0.0, 1.0)
    if not shares:
        return clipped_RK
    total_R1 = clipped_RK.sum(axis=1, keepdims=True)
    if not (total_R1 > 0).all():
        raise _error("predictions", "the probabilities of an item are above zero somewhere", "a row of zeros")
    return np.asarray(np.clip(clipped_RK / total_R1, 0.0, 1.0))


def _label_list(problem: Problem, scores_RK: npt.NDArray[np.float64]) -> dict[str, pl.Series]:
    """Names in the declared order of the classes; a row without any label is an empty cell."""
    names = np.array(problem.classes, dtype=object)
    cells = [problem.separator.join(names[row]) for row in above_threshold(scores_RK)]
    return {_one_column(problem): pl.Series(cells, dtype=pl.String)}


def _ranked_list(problem: Problem, scores_RK: npt.NDArray[np.float64]) -> dict[str, pl.Series]:
    names = np.array(problem.classes, dtype=object)
    cells = [problem.separator.join(names[row]) for row in ranked(scores_RK, problem.list_length)]
    return {_one_column(problem): pl.Series(cells, dtype=pl.String)}


def _values(problem: Problem, scores_RK: npt.NDArray[np.float64]) -> dict[str, pl.Series]:
    """Values in the order of the targets: renamed target columns stand in that order in the submission, equal names go by name."""
    columns, targets = problem.prediction_columns, problem.score_columns
    if problem.classes:
        if problem.task != "ordinal":
            raise _error(
                "classes", "a value column is for a regression or ordinal levels", problem.task, "Correct competition.task."
            )
        return _label(problem, scores_RK)
    if set(columns) <= set(targets):
        return {name: _numbers(scores_RK[:, targets.index(name)]) for name in columns}
    if len(columns) != len(targets):
        raise _error("submission columns", "there is one for each target", f"{len(columns)} for {len(targets)} targets")
    return {name: _numbers(scores_RK[:, place]) for place, name in enumerate(columns)}
