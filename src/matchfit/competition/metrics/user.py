"""A user's own metric: one Python file with `metric(truth, prediction) -> float`, `direction` and `needs`.

What the function gets, by `needs` (N items, K classes or targets):
  labels         arrays (N,) of class names as text; multi-label: two arrays (N, K) of 0 and 1
  probabilities  truth (N,) class positions, or (N, K) of 0 and 1 for multi-label; prediction (N, K), or (N,) for a binary problem
  ranks          truth as for probabilities; prediction (N, K) class positions, best first
  values         two arrays of float64, (N,) for one target, (N, K) for several
"""

from __future__ import annotations

import inspect
import math
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np

from matchfit.competition.metrics.base import LABEL_TASKS, METRICS, VALUE_TASKS, Case, Direction, Metric, Needs
from matchfit.competition.metrics.decode import ranked
from matchfit.competition.problem import Predictions, Problem, Targets
from matchfit.core.errors import ConfigError, MetricError

DIRECTIONS = ("maximize", "minimize")
MOST_REHEARSED = 1000  # classes; the made-up case has a row of scores for three items of each
NEEDS = ("labels", "probabilities", "ranks", "values")
_TODO = "See docs/adding-a-metric.md for a file that works."


def load_metric(path: Path, problem: Problem | None = None) -> Metric:
    """The metric in a file, read afresh on every call and entered nowhere, so that two files cannot be taken for each other.

    Checked at once: the file runs, the constants are right, the function takes (truth, prediction), and, with a `problem`, it scores
    a small made-up case, the perfect prediction not worse than a wrong one. ConfigError names what is amiss.
    """
    module = _run(path)
    function = getattr(module, "metric", None)
    if not callable(function):
        raise _fault(path, "defines a function metric(truth, prediction)", "no such function")
    if not _takes_two(function):
        raise _fault(path, "metric takes two arguments: truth and prediction", f"metric{inspect.signature(function)}")
    direction = _constant(path, module, "direction", DIRECTIONS)
    needs = _constant(path, module, "needs", NEEDS)
    name = path.stem
    if name.lower() in METRICS:
        raise _fault(
            path, "has a name of its own, so that scores cannot be confused", f"{name!r}, a built-in metric", "Rename the file."
        )
    metric = Metric(
        name=name,
        direction=cast(Direction, direction),
        needs=cast(Needs, needs),
        tasks=VALUE_TASKS if needs == "values" else LABEL_TASKS,
        compute=_compute(path, function, needs),
        range=(-math.inf, math.inf),
        weighted=False,
    )
    if problem is not None and metric.fits(problem.task) and len(problem.score_columns) <= MOST_REHEARSED:
        _rehearse(path, metric, problem)
    return metric


def _fault(path: Path, rule: str, found: str, todo: str = _TODO) -> ConfigError:
    return ConfigError(f"metric file {path}", rule=rule, found=found, todo=todo)


def _run(path: Path) -> ModuleType:
    try:
        source = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _fault(path, "must be a readable Python file", str(error), "Correct competition.metric_file.") from None
    module = ModuleType(f"matchfit_user_metric_{path.stem}")
    module.__file__ = str(path)
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except Exception as error:
        raise _fault(path, "must run without an error", _where(error, path)) from error
    return module


def _where(error: Exception, path: Path) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = lines[-1] if lines else getattr(error, "lineno", None)
    place = f" in line {line}" if line else ""
    return f"{type(error).__name__}{place}: {error}"


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    return True


def _constant(path: Path, module: ModuleType, name: str, choices: tuple[str, ...]) -> str:
    value = getattr(module, name, None)
    if value not in choices:
        found = "none" if value is None else repr(value)
        raise _fault(path, f"has a line {name} = one of {', '.join(map(repr, choices))}", found)
    return str(value)


def _compute(path: Path, function: Callable[[Any, Any], Any], needs: str) -> Callable[[Case], float]:
    def compute(case: Case) -> float:
        truth, prediction = _arguments(case, needs)
        try:
            value = function(truth, prediction)
            result = float(value)
        except Exception as error:
            raise MetricError(
                case.name, rule=f"{path.name} must score without an error", found=_where(error, path), todo="Correct the file."
            ) from error
        return result

    return compute


def _arguments(case: Case, needs: str) -> tuple[Any, Any]:
    """Fresh arrays, so that the function may change them."""
    several = case.targets.task == "multilabel"
    if needs == "values":
        truth_NK, scores_NK = case.pair()
        return (truth_NK[:, 0].copy(), scores_NK[:, 0].copy()) if scores_NK.shape[1] == 1 else (truth_NK.copy(), scores_NK.copy())
    if needs == "labels":
        if several:
            return case.true_sets().astype(np.int64), case.predicted_sets().astype(np.int64)
        names_K = np.array(case.targets.classes, dtype=object)
        return names_K[case.true_labels()], names_K[case.predicted_labels()]
    truth = case.true_sets().astype(np.int64) if several else case.true_labels().copy()
    if needs == "ranks":
        return truth, ranked(case.scores_NK, case.num_classes)
    return truth, (case.scores_NK[:, 1] if case.targets.task == "binary" else case.scores_NK).copy()


def _rehearse(path: Path, metric: Metric, problem: Problem) -> None:
    """Score made-up items once right and once wrong."""
    targets, right, wrong = _made_up(problem)
    scores = []
    for predictions in (right, wrong):
        try:
            scores.append(metric(targets, predictions))
        except MetricError as error:
            raise _fault(path, f"must score {len(targets)} made-up items of this competition", error.found, error.todo) from error
    if scores[0] != scores[1] and (scores[0] > scores[1]) != (metric.direction == "maximize"):
        raise _fault(
            path,
            f"direction = {metric.direction!r} must make the perfect prediction the best",
            f"{scores[0]:.6g} for a perfect and {scores[1]:.6g} for a wrong one",
            "Turn the direction.",
        )


def _made_up(problem: Problem) -> tuple[Targets, Predictions, Predictions]:
    columns = problem.score_columns
    if problem.task in VALUE_TASKS:
        values_NK = np.linspace(1.0, 12.0, 12)[:, None] * np.ones((1, len(columns)))
        targets = Targets(task=problem.task, classes=(), values=values_NK)
        return (
            targets,
            Predictions(columns=columns, scores_NK=values_NK.copy()),
            Predictions(columns=columns, scores_NK=values_NK[::-1].copy()),
        )
    labels_N = np.arange(3 * len(columns)) % len(columns)
    one_hot_NK = np.eye(len(columns))[labels_N]
    if problem.task == "multilabel":
        targets = Targets(task=problem.task, classes=problem.classes, values=one_hot_NK)
        right_NK = 0.1 + 0.8 * one_hot_NK
        return targets, Predictions(columns=columns, scores_NK=right_NK), Predictions(columns=columns, scores_NK=1 - right_NK)
    targets = Targets(task=problem.task, classes=problem.classes, values=labels_N.astype(np.int64))
    right_NK = 0.1 / len(columns) + 0.9 * one_hot_NK
    wrong_NK = 0.1 / len(columns) + 0.9 * np.roll(one_hot_NK, 1, axis=1)
    return targets, Predictions(columns=columns, scores_NK=right_NK), Predictions(columns=columns, scores_NK=wrong_NK)
