"""The learners by name, and which one a problem gets. Nothing heavy is imported until one is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from matchfit.competition.problem import Problem
from matchfit.core.errors import ConfigError, DataError
from matchfit.core.families import Family
from matchfit.learners.base import Learner
from matchfit.learners.config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class Member:
    """Where a learner's class lives (`module:Class`), what it reads, and what it is, in a line."""

    target: str
    modalities: tuple[str, ...]
    summary: str


LEARNERS: Family[Member] = Family("learner", "learners")
LEARNERS.add(
    "image",
    Member(
        target="matchfit.learners.torch.learner:ImageLearner",
        modalities=("image",),
        summary="a timm backbone or the small-image network, trained by the torch loop",
    ),
)
LEARNERS.add(
    "transformer",
    Member(
        target="matchfit.learners.torch.learner:TextLearner",
        modalities=("text",),
        summary="a pretrained Transformer, fine-tuned by the torch loop",
    ),
)
LEARNERS.add(
    "tfidf",
    Member(
        target="matchfit.learners.estimators.tfidf:TfidfLearner",
        modalities=("text",),
        summary="TF-IDF of words and characters with a linear model",
    ),
)
LEARNERS.add(
    "lightgbm",
    Member(
        target="matchfit.learners.estimators.trees:TreesLearner",
        modalities=("tabular", "recommender"),
        summary="gradient-boosted trees",
    ),
)


def choose_learner(problem: Problem, config: TrainConfig) -> tuple[str, str]:
    """(name of the learner, the reason). `config.model` may name a learner, or a model that one of them knows.

    Raises DataError for a modality or task that no learner knows, ConfigError for a learner that does not read this modality.
    """
    fitting = [name for name in LEARNERS if problem.modality in LEARNERS.get(name).modalities]
    trainable = problem.task in {"binary", "multiclass", "multilabel", "regression", "multiregression", "ordinal"}
    if not fitting or not (trainable or (problem.task == "ranking" and problem.classes)):
        raise DataError(
            problem.name,
            rule="`train` knows images, texts, tables and ratings, for classification and regression",
            found=f"modality {problem.modality}, task {problem.task}",
            todo="If that was read wrongly, set competition.modality and competition.task in matchfit.yaml.",
        )
    if problem.submission_form == "other":
        raise DataError(
            problem.name,
            rule="`train` writes labels, probabilities, values, and lists of names, a row an item",
            found=f"a submission with the columns {', '.join(problem.submission_columns[:6])} that has another form",
            todo="Set competition.id and competition.targets in matchfit.yaml when the folder was read wrongly.",
        )
    model = config.model
    if model is not None and model in LEARNERS:
        if model not in fitting:
            raise ConfigError(
                f"--model {model}",
                rule=f"must read {problem.modality} items",
                found=f"it reads {', '.join(LEARNERS.get(model).modalities)}",
                todo=f"For {problem.modality} there is: {', '.join(fitting)}.",
            )
        return model, "named by --model"
    if problem.modality == "text":
        if model is not None:
            return "transformer", f"--model {model} is a Transformer"
        return "tfidf", "the default for text: strong in every language, minutes at most"
    if problem.modality in {"tabular", "recommender"} and model is not None:
        raise ConfigError(
            f"--model {model}",
            rule="must name a learner for tables",
            found="no such learner",
            todo=f"There is: {', '.join(fitting)}.",
        )
    return fitting[0], f"the default for {problem.modality} items"


def make_learner(name: str, problem: Problem, config: TrainConfig) -> Learner[Any]:
    """An instance of a learner by its name."""
    module, _, attribute = LEARNERS.get(name).target.partition(":")
    made: Learner[Any] = getattr(import_module(module), attribute)(problem, config)
    return made


def refuse_unused(learner: Learner[Any], given: Iterable[str]) -> None:
    """Raises ConfigError for a key that the user gave and this learner does not read: an option without effect is an error."""
    for key in sorted(given):
        if key not in learner.uses:
            raise ConfigError(
                f"train.{key}",
                rule=f"must have an effect on the learner {learner.name!r}",
                found="it reads no such key",
                todo=f"Leave it out, or choose another --model. {learner.name!r} reads: {', '.join(sorted(learner.uses))}",
            )
