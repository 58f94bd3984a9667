"""Trees: the contract for every task, and what must survive: odd names, odd cells, unseen values, many values, time."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from estimator_kit import accuracy, check_contract, context_in, halves, make_items, make_problem

from matchfit.competition.problem import Targets
from matchfit.core.durations import Deadline
from matchfit.core.errors import BudgetError, DataError, RunError
from matchfit.learners.config import TrainConfig
from matchfit.learners.estimators.boosting import objective_for
from matchfit.learners.estimators.columns import time_parts
from matchfit.learners.estimators.encodings import encode_training, fit_encoder
from matchfit.learners.estimators.times import seconds_of, time_form
from matchfit.learners.estimators.trees import TreesLearner

SIZE = 400
NUMBERS = (("x", "number"), ("z", "number"))


def table(seed: int = 0, size: int = SIZE) -> tuple[dict[str, list[str | None]], np.ndarray]:
    random = np.random.default_rng(seed)
    values = random.normal(size=(size, 2))
    return {"x": [f"{v:.4f}" for v in values[:, 0]], "z": [f"{v:.4f}" for v in values[:, 1]]}, values


def tabular(task, features=NUMBERS, **more):
    return make_problem(task, features, modality="tabular", **more)


def test_binary(tmp_path):
    columns, values = table()
    targets = Targets(task="binary", classes=("no", "yes"), values=(values[:, 0] * values[:, 1] > 0).astype(np.int64))
    problem = tabular("binary", classes=("no", "yes"))
    assert accuracy(check_contract(TreesLearner, problem, make_items(columns), targets, tmp_path), targets) > 0.9


@pytest.mark.parametrize("task", ["multiclass", "ordinal"])
def test_classes_and_one_that_training_lacks(task, tmp_path):
    columns, values = table()
    classes = ("0", "1", "never", "2")
    truth = np.array([0, 1, 3])[np.digitize(values[:, 0], [-0.5, 0.5])]
    targets = Targets(task=task, classes=classes, values=truth)
    predicted = check_contract(TreesLearner, tabular(task, classes=classes), make_items(columns), targets, tmp_path)
    assert accuracy(predicted, targets) > 0.9
    assert (predicted.scores_NK[:, 2] == 0).all()


def test_labels_with_a_constant_one(tmp_path):
    columns, values = table()
    labels = np.column_stack([values > 0, np.zeros(SIZE)]).astype(np.float64)
    targets = Targets(task="multilabel", classes=("ETT - Abnormal", 'a"[b]{c}:,', "c"), values=labels)
    predicted = check_contract(TreesLearner, tabular("multilabel", classes=targets.classes), make_items(columns), targets, tmp_path)
    assert ((predicted.scores_NK > 0.5) == labels[1::2]).mean() > 0.95
    assert (predicted.scores_NK[:, 2] == 0).all()


def test_values_in_their_unit(tmp_path):
    columns, values = table()
    goal = np.column_stack([np.exp(3 + values[:, 0]), np.full(SIZE, 7.0)])
    targets = Targets(task="multiregression", classes=(), values=goal)
    problem = tabular("multiregression", targets=("u", "v"), metric="mcrmsle", direction="minimize")
    predicted = check_contract(TreesLearner, problem, make_items(columns), targets, tmp_path)
    assert np.sqrt(np.mean((np.log1p(predicted.scores_NK[:, 0]) - np.log1p(goal[1::2, 0])) ** 2)) < 0.25
    assert (predicted.scores_NK[:, 1] == 7).all()


def test_soft_labels(tmp_path):
    columns, values = table()
    share = 1 / (1 + np.exp(-3 * values[:, 0]))
    targets = Targets(task="multiclass", classes=("a", "b"), values=np.column_stack([share, 1 - share]))
    predicted = check_contract(TreesLearner, tabular("multiclass", classes=("a", "b")), make_items(columns), targets, tmp_path)
    assert np.abs(predicted.scores_NK - targets.values[1::2]).mean() < 0.06


def test_odd_names_and_odd_cells(tmp_path):
    columns, values = table()
    truth = (values[:, 0] > 0).astype(np.int64)
    names = ("ETT - Abnormal", 'a"[b]{c}:,', "a b c", "ü\tñ", "a_b_c", "a,b,c")
    first = [None if k % 50 == 0 else "?" if k % 51 == 0 else "inf" if k % 52 == 0 else cell for k, cell in enumerate(columns["x"])]
    odd = {
        names[0]: first,
        names[1]: columns["z"],
        names[2]: ["NA", "null", None, "a,b"] * (SIZE // 4),
        names[3]: ["2020-01-0" + str(k % 9 + 1) for k in range(SIZE)],
        names[4]: columns["z"],
        names[5]: [f"only here {k}" if k % 2 else "both" for k in range(SIZE)],
    }
    kinds = ("number", "number", "category", "time", "number", "category")
    targets = Targets(task="binary", classes=("no", "yes"), values=truth)
    problem = tabular("binary", tuple(zip(names, kinds, strict=True)), classes=("no", "yes"))
    assert accuracy(check_contract(TreesLearner, problem, make_items(odd), targets, tmp_path), targets) > 0.9


def test_text_columns_count(tmp_path):
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, SIZE)
    texts = [" ".join([("wool", "silk")[k], *random.choice(["cap", "red", "old"], 3)]) for k in truth]
    targets = Targets(task="binary", classes=("no", "yes"), values=truth)
    problem = tabular("binary", (("t", "text"),), classes=("no", "yes"))
    assert accuracy(check_contract(TreesLearner, problem, make_items({"t": texts}), targets, tmp_path), targets) > 0.95


def test_ratings_of_users_and_films(tmp_path):
    random = np.random.default_rng(0)
    user, film = random.integers(0, 250, 6000), random.integers(0, 300, 6000)
    taste, fame = random.normal(size=250), random.normal(size=300)
    rating = 3 + taste[user] + fame[film] + 0.3 * random.normal(size=6000)
    items = make_items({"userId": [f"u{k}" for k in user], "movieId": [str(k) for k in film]})
    targets = Targets(task="regression", classes=(), values=rating[:, None])
    problem = make_problem(
        "regression", (("userId", "category"), ("movieId", "category")), metric="rmse", direction="minimize", modality="recommender"
    )
    learner, context, fold = TreesLearner(problem, TrainConfig(max_rounds=200)), context_in(tmp_path), halves(6000)
    state = learner.fit(items, targets, fold, context)
    predicted = learner.predict(state, items, context, fold.valid)
    assert np.sqrt(np.mean((predicted.scores_NK[:, 0] - rating[1::2]) ** 2)) < 0.65  # 1.4 without the encodings' help
    learner.save(state, tmp_path / "learner")
    loaded = learner.predict(learner.load(tmp_path / "learner"), items, context, fold.valid)
    np.testing.assert_allclose(loaded.scores_NK, predicted.scores_NK, rtol=0, atol=1e-12)


def test_an_encoded_row_never_meets_its_own_target():
    random = np.random.default_rng(0)
    codes, goal, parts = np.arange(200)[:, None], random.normal(size=(200, 1)), np.arange(200) % 10
    numbers = encode_training(codes, goal, (200,), parts)  # every value once: nothing can be known
    assert abs(np.corrcoef(numbers[:, 1], goal[:, 0])[0, 1]) < 0.3
    assert np.abs(numbers[:, 2]).max() == 0
    codes = codes % 20
    changed = goal.copy()
    changed[7] += 100
    before, after = (encode_training(codes, one, (20,), parts) for one in (goal, changed))
    np.testing.assert_array_equal(before[parts == 7], after[parts == 7])
    assert not np.array_equal(before[parts == 6], after[parts == 6])


def test_additive_model_finds_both_sides():
    random = np.random.default_rng(0)
    codes = np.column_stack([random.integers(0, 10, 3000), random.integers(0, 15, 3000)])
    left, right = random.normal(size=10), random.normal(size=15)
    goal = (left[codes[:, 0]] + right[codes[:, 1]])[:, None]
    additive = fit_encoder(codes, goal, (10, 15)).numbers(codes)[:, -1]
    assert np.abs(additive - goal[:, 0]).mean() < 0.1


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["2011-01-20 13:05:00", "2012-02-03 00:00:00"], (2011, 1, 20, 3, 13)),
        (["2011-01-20T13:05:00Z", None], (2011, 1, 20, 3, 13)),
        (["20.01.2011", "21.01.2011"], (2011, 1, 20, 3, 0)),
        (["01/20/2011 1:05 PM", "02/03/2011 12:00 AM"], (2011, 1, 20, 3, 13)),
        (["20/01/2011", "03/02/2011"], (2011, 1, 20, 3, 0)),
        (["20110120", "20110203"], (2011, 1, 20, 3, 0)),
        (["1295528700", "1295528701"], (2011, 1, 20, 3, 13)),
        (["1295528700000", "1295528701000"], (2011, 1, 20, 3, 13)),
        (["2011-01-20 13:05:00+02:00", "x"], (2011, 1, 20, 3, 13)),
    ],
)
def test_times(cells, first):
    column = pl.Series("t", cells, dtype=pl.String)
    parts = time_parts(seconds_of(column, time_form(column)))
    assert tuple(int(parts[name][0]) for name in ("year", "month", "day", "weekday", "hour")) == first


@pytest.mark.parametrize(
    ("metric", "objective", "logarithm"),
    [
        ("rmse", "regression", False),
        ("rmsle", "regression", True),
        ("mae", "regression_l1", False),
        ("mape", "mape", False),
        ("pinball@0.9", "quantile", False),
    ],
)
def test_objective_follows_the_metric(metric, objective, logarithm):
    found = objective_for(tabular("regression", metric=metric, direction="minimize"), np.arange(5.0))
    assert (found.parameters["objective"], found.logarithm) == (objective, logarithm)
    assert found.parameters.get("alpha", 0.9) == 0.9


def test_the_hold_out_is_the_latest_part_and_rounds_are_kept(tmp_path):
    columns, values = table()
    targets = Targets(task="regression", classes=(), values=values[:, :1])
    problem = tabular("regression", metric="rmse", direction="minimize")
    learner = TreesLearner(problem, TrainConfig(max_rounds=7))
    state = learner.fit(make_items(columns), targets, halves(SIZE, order=np.arange(SIZE, dtype=np.float64)), context_in(tmp_path))
    fact = learner.describe(state)["models"][0]
    assert fact["rounds"] <= 7
    assert fact["hold_out_rows"] == pytest.approx(0.15 * SIZE / 2, abs=2)


def test_nothing_to_read_no_time_and_damaged_files_are_told(tmp_path):
    columns, values = table(size=60)
    targets = Targets(task="regression", classes=(), values=values[:, :1])
    problem = tabular("regression", metric="rmse", direction="minimize")
    no_column = tabular("regression", (("x", "identifier"),), metric="rmse", direction="minimize")
    with pytest.raises(DataError, match="identifier"):
        TreesLearner(no_column, TrainConfig()).fit(make_items(columns), targets, halves(60), context_in(tmp_path))
    learner = TreesLearner(problem, TrainConfig(max_rounds=5))
    with pytest.raises(BudgetError):
        learner.fit(make_items(columns), targets, halves(60), context_in(tmp_path, deadline=Deadline(1e-9)))
    learner.save(learner.fit(make_items(columns), targets, halves(60), context_in(tmp_path)), tmp_path / "learner")
    model = tmp_path / "learner" / "model-0.txt"
    model.write_text(model.read_text()[:-400])
    with pytest.raises(RunError, match="model that was trained"):
        learner.load(tmp_path / "learner")


@pytest.mark.parametrize(
    "cells", [["28 December 2019 14:05", "3 May 2020 00:00"], ["Dec 28, 2019 02:05 PM", "May 3, 2020 12:00 AM"]]
)
def test_times_with_named_months_become_seconds(cells: list[str]) -> None:
    column = pl.Series("when", cells)
    assert seconds_of(column, time_form(column)).tolist() == [1577541900.0, 1588464000.0]
