"""From what a user or a folder says to a metric: names with parameters, the usual metric of a submission form, who fits which task."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from matchfit.competition.metrics.base import METRICS, Direction, Metric
from matchfit.competition.metrics.user import load_metric
from matchfit.competition.problem import MetricChoice, Problem, Targets
from matchfit.core.errors import ConfigError, nearest, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER = r"(\d+(?:\.\d*)?(?:e[-+]?\d+)?)"
_PARAMETER = re.compile(rf"(.+?)(?:@|:)(?:[a-z_]+=)?{_NUMBER}")
_SPELLINGS = (  # forms in which people write the number inside the name
    (re.compile(r"top_?(\d+)(?:_(?:accuracy|acc))?"), "top_k"),
    (re.compile(r"(?:top_k|acc|accuracy)_?(?:at|@)_?(\d+)"), "top_k"),
    (re.compile(r"m(?:ean_)?a(?:verage_)?p(?:recision)?(?:_at_?|_)?(\d+)"), "map"),
    (re.compile(r"f(\d+(?:\.\d+)?)(?:_score)?"), "f_beta"),
    (re.compile(r"f(\d+(?:\.\d+)?)_(?:score_)?(macro|micro|weighted|samples)"), "f_beta"),
    (re.compile(r"(macro|micro|weighted|samples)_f(\d+(?:\.\d+)?)"), "f_beta"),
)


def parse_name(name: str) -> tuple[str, float | None]:
    """(name in the family, parameter): `map@5`, `MAP@5`, `top5_accuracy`, `f2_macro`, `fbeta:2`, `log_loss:eps=1e-15`, `macro-F1`."""
    plain = re.sub(r"[\s\-/]+", "_", name.strip().lower()) if not re.search(r"\de-\d", name) else name.strip().lower()
    plain = plain.replace("+", "").replace("²", "2").strip("_")
    if plain in METRICS:
        return METRICS.get(plain).name, None
    if found := _PARAMETER.fullmatch(plain):
        base = found[1].rstrip("_")
        if base in METRICS:
            return METRICS.get(base).name, float(found[2])
    for pattern, base in _SPELLINGS:
        if found := pattern.fullmatch(plain):
            averages = [part for part in found.groups() if part.isalpha()]
            return "_".join([base, *averages]), float(next(part for part in found.groups() if not part.isalpha()))
    return METRICS.get(plain).name, None  # the family's own error, or an entry point of another package


def get_metric(choice: MetricChoice | str, problem: Problem | None = None, *, folder: Path | None = None) -> Metric:
    """The metric that a name or a choice means.

    ConfigError: unknown name (with the nearest), bad parameter, a direction that contradicts the metric, a metric that does not fit
    `problem.task`. A choice with a `file` loads that file each time (relative to `folder`), and nothing keeps it.
    """
    name, file = (choice, "") if isinstance(choice, str) else (choice.name, choice.file)
    if file:
        metric = load_metric((folder or Path()) / file, problem)
    else:
        base, value = parse_name(name)
        metric = METRICS.get(base).with_value(value)
    if isinstance(choice, MetricChoice) and choice.direction != metric.direction:
        raise ConfigError(
            "competition.metric_direction",
            rule=f"the metric {metric.name} is to {metric.direction}",
            found=choice.direction,
            todo="Leave the key out.",
        )
    if problem is not None and not metric.fits(problem.task):
        raise ConfigError(
            f"metric {name!r}",
            rule=f"must fit the task {problem.task}",
            found=f"a metric for {', '.join(metric.tasks)}",
            todo=sentence(nearest(name, metrics_for(problem))),
        )
    return metric


def settle_metric(
    name: str | None, file: str | None, direction: Direction | None, usual: MetricChoice, *, folder: Path | None = None
) -> MetricChoice:
    """The choice that the keys `metric`, `metric_file`, `metric_direction` make; `usual` where they say nothing.

    The file (relative to the competition's `folder`, else to where the program runs) is loaded once here, so that a fault in it is told
    before anything long; the choice keeps its absolute path. ConfigError where keys contradict each other.
    """
    path = Path() if file is None else _find(file, folder)
    if file is not None and name is not None:
        raise ConfigError(
            "competition.metric_file",
            rule="excludes competition.metric",
            found="both",
            todo="Keep the one that scores this competition.",
        )
    if file is not None:
        metric = load_metric(path)
    elif name is not None:
        base, value = parse_name(name)
        metric = METRICS.get(base).with_value(value)
    else:
        metric = None
    said = usual.direction if metric is None else metric.direction
    if direction is not None and direction != said:
        owner = usual.name if metric is None else metric.name
        raise ConfigError(
            "competition.metric_direction", rule=f"the metric {owner} is to {said}", found=direction, todo="Leave the key out."
        )
    if metric is None:
        return usual
    return MetricChoice(name=metric.name, direction=metric.direction, guessed=False, file=str(path) if file else "")


def _find(file: str, folder: Path | None) -> Path:
    beside = ((folder or Path()) / file).absolute()
    return beside if beside.exists() else Path(file).absolute()


def metrics_for(problem: Problem | str) -> list[str]:
    """The names of the built-in metrics for a problem (or a task), each ready for `get_metric`; those that need a parameter are left out."""
    task = problem if isinstance(problem, str) else problem.task
    metrics = [METRICS.get(name) for name in METRICS]
    return [metric.name for metric in metrics if task in metric.tasks and not (metric.parameter and metric.parameter.required)]


def usual_metric(task: str, form: str, *, targets: Targets | None = None, list_length: int = 5) -> MetricChoice:
    """The metric that competitions with this task and submission form usually have, marked as a guess.

    `targets` help where the form leaves it open: counts with a long tail are scored by RMSLE, rows that are shares by KL divergence.
    Detection and segmentation get the name of their usual measure.
    """
    name = _usual_name(task, form, targets, list_length)
    direction: Direction = METRICS.get(parse_name(name)[0]).direction if task != "detection" else "maximize"
    return MetricChoice(name=name, direction=direction, guessed=True)


def _usual_name(task: str, form: str, targets: Targets | None, list_length: int) -> str:
    if task == "detection":
        return "box_map@0.5"
    if task == "segmentation":
        return "dice"
    if form == "ranked_list" or task == "ranking":
        length = float(max(list_length, 1))
        return METRICS.get("map").with_value(length).name
    if task in ("regression", "multiregression"):
        return _usual_value_metric(task, targets)
    if form == "label_list":
        return "f1_samples"
    if form == "probability":
        return "roc_auc"
    if form == "class_scores":
        return "roc_auc" if task == "multilabel" else "log_loss"
    if task == "ordinal":
        return "qwk"
    if task == "other":
        return "exact_match"
    return "accuracy"


def _usual_value_metric(task: str, targets: Targets | None) -> str:
    if targets is not None and len(targets):
        values = np.asarray(targets.values, dtype=np.float64).reshape(len(targets), -1)
        finite = bool(np.isfinite(values).all())
        if finite and values.shape[1] > 1 and (values >= 0).all() and np.allclose(values.sum(axis=1), 1.0, atol=1e-3):
            return "kl_divergence"
        counts = finite and (values >= 0).all() and (values == np.floor(values)).all()
        if counts and values.max() > 50 and (values.mean(axis=0) > 1.2 * np.median(values, axis=0)).all():
            return "rmsle" if values.shape[1] == 1 else "mcrmsle"
    return "rmse" if task == "regression" else "mcrmse"


def listing() -> Sequence[tuple[str, Direction, str, str]]:
    """(name, direction, needs, tasks) of every built-in metric, for help and documentation."""
    metrics = [METRICS.get(name) for name in METRICS]
    return [(metric.name, metric.direction, metric.needs, ", ".join(metric.tasks)) for metric in metrics]
