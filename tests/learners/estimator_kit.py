"""What every estimator must keep to, whatever it fits; used by the tests of TF-IDF and of trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from matchfit.competition.problem import Feature, Items, MetricChoice, Predictions, Problem, Targets
from matchfit.learners.base import Context, Fold, Learner
from matchfit.learners.config import TrainConfig


def make_problem(task, features, *, classes=(), targets=("y",), metric="accuracy", direction="maximize", modality="text"):
    return Problem(
        name="toy",
        modality=modality,
        task=task,
        id_columns=("id",),
        targets=targets,
        classes=tuple(classes),
        submission_columns=("id", *targets),
        prediction_columns=targets,
        submission_form="value" if not classes else "label",
        metric=MetricChoice(name=metric, direction=direction, guessed=False),
        features=tuple(Feature(name=name, kind=kind) for name, kind in features),
    )


def make_items(columns: dict[str, list[str | None]]) -> Items:
    table = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return Items(ids=pl.Series("id", [f"{row:05d}" for row in range(table.height)]), table=table)


def context_in(folder: Path, **more) -> Context:
    return Context(directory=folder, cache=folder, seed=0, score=lambda *_: 0.0, say=lambda _: None, **more)


def halves(size: int, **more) -> Fold:
    """Odd rows held out."""
    rows = np.arange(size)
    return Fold(index=0, train=rows[rows % 2 == 0], valid=rows[rows % 2 == 1], **more)


def check_contract(cls: type[Learner], problem: Problem, items: Items, targets: Targets, folder: Path, **more) -> Predictions:
    """Fit on half, twice, with the held-out targets spoilt the second time: same predictions, also after loading; proper scores."""
    fold, context = halves(len(items), **more), context_in(folder)
    learner = cls(problem, TrainConfig())
    state = learner.fit(items, targets, fold, context)
    predicted = learner.predict(state, items, context, fold.valid)
    assert predicted.columns == problem.score_columns
    assert predicted.scores_NK.shape == (len(fold.valid), len(problem.score_columns))
    assert predicted.scores_NK.dtype == np.float64
    assert np.isfinite(predicted.scores_NK).all()
    if problem.classes:
        assert (predicted.scores_NK >= 0).all()
        assert (predicted.scores_NK <= 1).all()
        if problem.task != "multilabel":
            np.testing.assert_allclose(predicted.scores_NK.sum(axis=1), 1, atol=1e-9)
    learner.save(state, folder / "learner")
    assert not list((folder / "learner").glob("*.pkl"))
    fresh = cls(problem, TrainConfig())
    loaded = fresh.predict(fresh.load(folder / "learner"), items, context, fold.valid)
    np.testing.assert_allclose(loaded.scores_NK, predicted.scores_NK, rtol=0, atol=1e-12)
    spoilt = targets.values.copy()
    spoilt[fold.valid] = spoilt[fold.valid][::-1]
    again = Targets(task=targets.task, classes=targets.classes, values=spoilt)
    state = learner.fit(items, again, fold, context)
    np.testing.assert_array_equal(learner.predict(state, items, context, fold.valid).scores_NK, predicted.scores_NK)
    whole = learner.predict(state, items, context)
    np.testing.assert_allclose(whole.scores_NK[fold.valid], predicted.scores_NK, rtol=0, atol=1e-12)
    return predicted


def accuracy(predicted: Predictions, targets: Targets) -> float:
    return float((predicted.scores_NK.argmax(axis=1) == targets.values[1::2]).mean())
