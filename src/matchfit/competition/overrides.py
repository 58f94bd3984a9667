"""What the user's `competition` section changes, and the errors for keys that would change nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from matchfit.competition.asking import Asked, list_classes, sorted_classes
from matchfit.competition.builtids import Keys
from matchfit.competition.config import CompetitionConfig
from matchfit.competition.gather import Log
from matchfit.competition.matching import TargetPlan
from matchfit.competition.media import place_of
from matchfit.competition.metrics import METRICS, parse_name, usual_metric
from matchfit.competition.metrics import settle_metric as settle
from matchfit.competition.problem import MetricChoice, Problem, SubmissionForm, Targets
from matchfit.competition.targets import encode_targets
from matchfit.competition.values import separator_of_lists, shape
from matchfit.core.errors import ConfigError, DataError, nearest, sentence


def check_media(config: CompetitionConfig, media: pl.DataFrame) -> None:
    """The folders that `train_media` and `test_media` name must hold files."""
    for key, wanted in (("train_media", config.train_media), ("test_media", config.test_media)):
        if not wanted:
            continue
        folders = media["folder"].unique().to_list()
        if not any(f"/{folder}/".lower().find(f"/{place_of(wanted)}/") >= 0 for folder in folders):
            raise DataError(
                f"competition.{key} = {wanted!r}",
                rule="must be a folder or archive with media files in the competition folder",
                found="no media there",
                todo=sentence(nearest(wanted, [folder or "." for folder in folders][:30])),
            )


def check_modality(modality: str, kind: str) -> None:
    needed = {"image": ("image", "array"), "audio": ("audio",), "detection": ("image", "array"), "segmentation": ("image", "array")}
    if modality in needed and kind not in needed[modality]:
        raise DataError(
            f"competition.modality = {modality!r}",
            rule=f"items must have {modality if modality == 'audio' else 'image'} files",
            found=f"{kind} files" if kind else "no files that match the ids",
            todo="Name their folders with competition.train_media and competition.test_media, or remove the key.",
        )


def with_train_key(keys: Keys, columns: tuple[str, ...]) -> Keys:
    return replace(keys, train_columns=columns)


def first_key(keys: Keys) -> Keys:
    """Several rows an image: the first id column names the item."""
    return replace(keys, item_ids=keys.ids[:1], test_columns=keys.test_columns[:1], train_columns=keys.train_columns[:1])


def file_form(train: pl.DataFrame, keys: Keys, media: pl.DataFrame) -> str:
    """`name` or `stem`: as train's ids write file names, so test's are written."""
    if not keys.train_columns or keys.train_columns[0] not in train.columns:
        return "name"
    own = train[keys.train_columns[0]].drop_nulls().head(200)
    return "name" if float(own.str.contains(r"\.[A-Za-z]\w{1,4}$").mean() or 0.0) > 0.5 else "stem"  # type: ignore[arg-type]


def apply(asked: Asked, config: CompetitionConfig, train: pl.DataFrame, plan: TargetPlan, predictions: tuple[str, ...]) -> Asked:
    """The user's `task` and `classes` in place of what was found; DataError where the data cannot bear them."""
    if config.task is not None and config.task != asked.task:
        asked = _forced(asked, config.task, train, plan, predictions)
    if config.classes is not None:
        if not asked.classes:
            raise ConfigError(
                "competition.classes",
                rule=f"has no effect on the task {asked.task}",
                found=", ".join(config.classes[:5]),
                todo="Set competition.task as well, or remove the key.",
            )
        unknown = [name for name in asked.classes if name not in config.classes]
        if unknown:
            raise DataError(
                "competition.classes",
                rule="must hold every label of train",
                found=f"no {unknown[0]!r} in it",
                todo=sentence(nearest(unknown[0], config.classes)),
            )
        asked = replace(asked, classes=config.classes, note=asked.note + "; classes from matchfit.yaml")
    return asked


def _forced(asked: Asked, task: str, train: pl.DataFrame, plan: TargetPlan, predictions: tuple[str, ...]) -> Asked:
    column = train[plan.targets[0]]
    several = len(plan.targets) > 1
    note = f"matchfit.yaml (without it: {asked.task})"
    form: SubmissionForm = asked.form
    if task in ("regression", "multiregression"):
        if not all(shape(train[name]).numeric for name in plan.targets) or (task == "regression") == several:
            raise _cannot(task, "one column of numbers" if task == "regression" else "several columns of numbers", plan)
        return Asked(task=task, form="values" if several else "value", note=note)  # type: ignore[arg-type]
    if task in ("binary", "multiclass", "ordinal"):
        classes = asked.classes or (plan.targets if several else sorted_classes(column))
        if task == "binary" and len(classes) != 2:
            raise _cannot(task, f"two classes, not {len(classes)}", plan)
        if form not in ("class_scores", "probability", "label") or (form == "probability" and task != "binary"):
            form = "class_scores" if len(predictions) > 1 else "label"
        return Asked(task=task, form=form, classes=classes, note=note)  # type: ignore[arg-type]
    if task == "multilabel":
        if several:
            return Asked(task="multilabel", form="class_scores", classes=plan.targets, note=note)
        separator = plan.separator or separator_of_lists(column) or _any_separator(column)
        classes = plan.classes or list_classes(column, separator)
        return Asked(
            task="multilabel",
            form="class_scores" if len(predictions) > 1 else "label_list",
            classes=classes,
            separator=separator,
            note=note,
        )
    if task == "ranking":
        return Asked(
            task="ranking",
            form="ranked_list",
            classes=asked.classes or sorted_classes(column),
            list_length=max(asked.list_length, 5),
            note=note,
        )
    return Asked(task=task, form="other", classes=asked.classes, note=note)  # type: ignore[arg-type]


def _any_separator(column: pl.Series) -> str:
    return next((mark for mark in ",;|" if bool(column.drop_nulls().str.contains(mark, literal=True).any())), " ")


def _cannot(task: str, needs: str, plan: TargetPlan) -> DataError:
    return DataError(
        f"competition.task = {task!r}",
        rule=f"needs {needs}",
        found=f"targets {', '.join(map(repr, plan.targets[:6]))}",
        todo="Correct competition.task or competition.targets in matchfit.yaml.",
    )


def settle_metric(problem: Problem, targets: pl.DataFrame, config: CompetitionConfig, folder: Path, log: Log) -> Problem:
    """The problem with its metric: the user's, or the usual one for the task and form, marked as a guess.

    A metric of labels on one 0/1 column means that the host wants labels there, not probabilities.
    """
    form = problem.submission_form
    if form == "probability" and config.metric and METRICS.get(parse_name(config.metric)[0]).needs == "labels":
        form = "label"
    usual = usual_metric(
        problem.task, _scored_form(problem, form), targets=_numbers(problem, targets), list_length=problem.list_length
    )
    if problem.task == "multiclass" and len(problem.targets) > 1 and not _one_hot(targets):
        usual = MetricChoice(name="kl_divergence", direction="minimize", guessed=True)
    choice = settle(config.metric, config.metric_file, config.metric_direction, usual, folder=folder)
    log.notes["metric"] = f"{choice.name}: " + (
        "the usual one for this task and submission (a guess)" if choice.guessed else "matchfit.yaml"
    )
    return replace(problem, metric=choice, submission_form=form)


def _scored_form(problem: Problem, form: SubmissionForm) -> SubmissionForm:
    """Long submissions ask for probabilities too."""
    if form == "other" and problem.task in ("binary", "multiclass", "multilabel"):
        return "probability" if problem.task == "binary" else "class_scores"
    return form


def _one_hot(targets: pl.DataFrame) -> bool:
    return bool(targets.select(pl.all_horizontal(pl.all().is_in(["0", "1", "0.0", "1.0"])).all()).item())


def _numbers(problem: Problem, targets: pl.DataFrame) -> Targets | None:
    if problem.task not in ("regression", "multiregression"):
        return None
    try:
        return encode_targets(problem, targets)
    except DataError:  # an empty or odd cell is told when training needs the targets
        return None
