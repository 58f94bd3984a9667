"""Small competitions built by hand, for the tests of submissions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from matchfit.competition.problem import Competition, Items, MetricChoice, Problem
from matchfit.competition.submission import join_key


def competition_of(
    form: str,
    task: str,
    sample: dict[str, list[str]] | None,
    *,
    ids: tuple[str, ...] = ("id",),
    targets: tuple[str, ...] = ("label",),
    predicted: tuple[str, ...] | None = None,
    classes: tuple[str, ...] = (),
    test: dict[str, list[str]] | None = None,
    metric: str = "accuracy",
    **more: Any,
) -> Competition:
    """A competition whose test items are the sample's rows in another order (reversed), unless `test` says otherwise."""
    table = pl.DataFrame(sample) if sample is not None else pl.DataFrame(test)
    test_table = (pl.DataFrame(test) if test is not None else table.select(ids).reverse()) if ids or test else table
    columns = tuple(table.columns) if sample is not None else (*ids, *(predicted or targets))
    predicted = predicted or tuple(name for name in columns if name not in ids)
    problem = Problem(
        name="made-up",
        modality=more.pop("modality", "tabular"),
        task=task,  # type: ignore[arg-type]
        id_columns=ids,
        targets=targets,
        classes=classes,
        submission_columns=columns,
        prediction_columns=predicted,
        submission_form=form,  # type: ignore[arg-type]
        metric=MetricChoice(name=metric, direction="maximize", guessed=False),
        **more,
    )
    keys = join_key(test_table, ids) if ids else pl.Series([str(place) for place in range(len(test_table))])
    items = Items(ids=keys.alias("id"), table=test_table)
    return Competition(
        problem=problem,
        folder=Path(),
        train=items,
        test=items,
        target_table=pl.DataFrame(),
        sample=None if sample is None else table,
    )


IDS = [f"{number:05d}" for number in range(30)]


def labels(**more: Any) -> Competition:
    return competition_of("label", "multiclass", {"id": IDS, "label": ["cat"] * 30}, classes=("cat", "dog", "bird, big"), **more)


def probability(**more: Any) -> Competition:
    return competition_of("probability", "binary", {"id": IDS, "p": ["0.5"] * 30}, classes=("no", "yes"), **more)


def class_scores(**more: Any) -> Competition:
    third = [repr(1 / 3)] * 30
    sample = {"id": IDS, "dog": third, "bird": third, "cat": third}
    return competition_of("class_scores", "multiclass", sample, classes=("bird", "cat", "dog"), **more)


def values(**more: Any) -> Competition:
    return competition_of("value", "regression", {"id": IDS, "count": ["0"] * 30}, targets=("count",), **more)


def composite() -> Competition:
    sample = {"trip": [f"t{place // 3}" for place in range(30)], "step": [str(place % 3) for place in range(30)], "x": ["0.0"] * 30}
    return competition_of("value", "regression", sample, ids=("trip", "step"), targets=("x",), metric="rmse")


def label_list() -> Competition:
    return competition_of(
        "label_list", "multilabel", {"id": IDS, "tags": ["a"] * 30}, targets=("tags",), classes=("a", "b", "c d"), separator=","
    )


def ranked_list() -> Competition:
    sample = {"id": IDS, "best": ["a b c"] * 30}
    return competition_of("ranked_list", "ranking", sample, targets=("best",), classes=("a", "b", "c", "d"), list_length=3)


def random_scores(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(columns), rows)
