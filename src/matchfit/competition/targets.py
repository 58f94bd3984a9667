"""From target cells to numbers and back, with declared classes: never by what happens to be in a fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from matchfit.competition.metrics.decode import decode, ranked
from matchfit.competition.problem import Predictions, Problem, Targets
from matchfit.core.errors import DataError, nearest, sentence

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CLASS_TASKS = ("binary", "multiclass", "ordinal", "ranking")


def encode_targets(problem: Problem, target_table: pl.DataFrame, ids: pl.Series | None = None) -> Targets:
    """The truth as numbers, in the order of the rows; see `Targets` for shapes.

    `ids` name the rows in messages (else they are counted from 0). Raises DataError for an empty target, a label that is not among the
    declared classes, a cell that is no number, and for tasks whose truth is no array (boxes, masks, free text).
    """
    names = ids if ids is not None else pl.int_range(target_table.height, eager=True).cast(pl.String)
    if problem.task in CLASS_TASKS and len(problem.targets) == 1:
        return Targets(
            task=problem.task, classes=problem.classes, values=_indices(problem, target_table[problem.targets[0]], names)
        )
    if problem.task == "multilabel" and len(problem.targets) == 1 and problem.classes:
        return Targets(task=problem.task, classes=problem.classes, values=_lists(problem, target_table[problem.targets[0]], names))
    if problem.task in ("multiclass", "binary", "multilabel", "regression", "multiregression", "ordinal"):
        return _columns(problem, target_table, names)
    raise DataError(
        f"task {problem.task!r}",
        rule="must be a classification or regression to have its targets as an array",
        found=f"targets {', '.join(map(repr, problem.targets))}",
        todo="Set competition.task in matchfit.yaml when this was taken for the wrong task.",
    )


def _empty(problem: Problem, column: pl.Series, names: pl.Series) -> None:
    if column.null_count():
        row = names.filter(column.is_null())[0]
        raise DataError(
            f"target {column.name!r}, item {row!r}",
            rule="must not be empty",
            found=f"{column.null_count()} empty cells",
            todo="Remove the rows from train, or name another column with competition.targets.",
        )


def _indices(problem: Problem, column: pl.Series, names: pl.Series) -> npt.NDArray[np.int64]:
    _empty(problem, column, names)
    codes = column.replace_strict(list(problem.classes), list(range(len(problem.classes))), default=None, return_dtype=pl.Int64)
    if codes.null_count():
        at = codes.is_null()
        raise _unknown(column.filter(at)[0], names.filter(at)[0], problem)
    return codes.to_numpy().copy()


def _unknown(label: str, row: str, problem: Problem) -> DataError:
    return DataError(
        f"target {problem.targets[0]!r}, item {row!r}",
        rule="must be one of the declared classes",
        found=repr(label),
        todo=sentence(nearest(str(label), problem.classes[:50])),
    )


def _lists(problem: Problem, column: pl.Series, names: pl.Series) -> npt.NDArray[np.float64]:
    """An empty cell is an item without any label."""
    import numpy as np

    position = {name: index for index, name in enumerate(problem.classes)}
    values_NK = np.zeros((len(column), len(position)))
    for row, cell in enumerate(column.to_list()):
        for label in (cell or "").split(problem.separator):
            label = label.strip()
            if not label:
                continue
            if label not in position:
                raise _unknown(label, names[row], problem)
            values_NK[row, position[label]] = 1.0
    return values_NK


def _columns(problem: Problem, table: pl.DataFrame, names: pl.Series) -> Targets:
    import numpy as np

    for name in problem.targets:
        _empty(problem, table[name], names)
    numbers = table.select([pl.col(name).str.strip_chars().cast(pl.Float64, strict=False) for name in problem.targets])
    for name in problem.targets:
        odd = numbers[name].is_null() | ~numbers[name].is_finite().fill_null(False)
        if odd.any():
            raise DataError(
                f"target {name!r}, item {names.filter(odd)[0]!r}",
                rule=f"must be a finite number ({problem.task})",
                found=repr(table[name].filter(odd)[0]),
                todo="Correct the cell, or set competition.task in matchfit.yaml when these are classes.",
            )
    values_NK = np.ascontiguousarray(numbers.to_numpy(), dtype=np.float64)
    if problem.task in ("multiclass", "binary", "ordinal"):
        if bool(np.isin(values_NK, (0.0, 1.0)).all() and (values_NK.sum(axis=1) == 1).all()):
            return Targets(task=problem.task, classes=problem.classes, values=values_NK.argmax(axis=1).astype(np.int64))
        total_N1 = values_NK.sum(axis=1, keepdims=True)
        if (values_NK < 0).any() or (total_N1 <= 0).any():
            row = int(np.flatnonzero((values_NK < 0).any(axis=1) | (total_N1[:, 0] <= 0))[0])
            raise DataError(
                f"targets of item {names[row]!r}",
                rule="votes must not be negative and must not all be 0",
                found=str(values_NK[row].tolist()),
                todo="Set competition.task to multilabel or multiregression when these columns are no votes.",
            )
        values_NK = values_NK / total_N1
    return Targets(task=problem.task, classes=problem.classes, values=values_NK)


def prior(targets: Targets) -> npt.NDArray[np.float64]:
    """(K,) what is predicted without looking at the item: class shares, label shares, or mean values."""
    import numpy as np

    values = np.asarray(targets.values)
    if values.ndim == 1:
        counts = np.bincount(values.astype(np.int64), minlength=len(targets.classes)).astype(np.float64)
        return np.asarray(counts / max(counts.sum(), 1.0))
    return np.asarray(values.astype(np.float64).mean(axis=0))


def decode_labels(problem: Problem, predictions: Predictions, *, always_one: bool = False) -> pl.Series:
    """The cell of a submission in label form, for every item.

    The decisions are those of `metrics.decode`: the most probable class, the level nearest to the expected level, the labels above one
    half, joined by the problem's separator; with `always_one` (every train item has a label) the most probable one where none is.
    Ranked lists hold the best `list_length` classes in order.
    """
    import numpy as np

    scores_NK = predictions.scores_NK
    classes = np.asarray(problem.classes, dtype=object)
    if problem.submission_form == "ranked_list":
        return _joined(problem, [classes[row] for row in ranked(scores_NK, problem.list_length)])
    decided = decode(problem.task, scores_NK)
    if problem.task != "multilabel":
        return pl.Series(list(classes[decided]), dtype=pl.String)
    if always_one and scores_NK.shape[1]:
        rows = np.flatnonzero(~decided.any(axis=1))
        decided[rows, scores_NK[rows].argmax(axis=1)] = True
    return _joined(problem, [classes[row] for row in decided])


def _joined(problem: Problem, rows: list[npt.NDArray[np.object_]]) -> pl.Series:
    return pl.Series([problem.separator.join(row) for row in rows], dtype=pl.String)
