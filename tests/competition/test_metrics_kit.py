"""The kit that every member of the family passes: being listed is being tested."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from metric_cases import example, metric_of

from matchfit.competition.metrics import METRICS, Score, better, get_metric, metrics_for, score
from matchfit.competition.problem import TASKS, Predictions, Targets
from matchfit.core.errors import ConfigError, MetricError

MEMBERS = [(name, task) for name in METRICS for task in TASKS if METRICS.get(name).fits(task) and task != "other"]
TEXTS = [name for name in METRICS if METRICS.get(name).needs == "text"]


@pytest.mark.parametrize(("name", "task"), MEMBERS)
def test_value_is_a_number_in_its_range(name: str, task: str) -> None:
    metric = metric_of(name)
    truth, noisy, _ = example(task)
    value = metric(truth, noisy)
    assert type(value) is float
    assert metric.range[0] <= value <= metric.range[1]
    assert metric(truth, noisy) == value, "a metric has no memory"


@pytest.mark.parametrize(("name", "task"), MEMBERS)
def test_perfect_prediction_is_the_best(name: str, task: str) -> None:
    metric = metric_of(name)
    if name.startswith("laplace"):
        metric = METRICS.get(name).with_value(70.0)
    truth, noisy, perfect = example(task)
    best = metric(truth, perfect)
    assert best == pytest.approx(metric.best, abs=1e-9)
    assert better(metric, best, metric(truth, noisy)) or metric(truth, noisy) == best
    if name != "top_k":
        assert metric(truth, noisy) != best


@pytest.mark.parametrize(("name", "task"), MEMBERS)
def test_the_order_of_items_does_not_matter(name: str, task: str) -> None:
    metric = metric_of(name)
    truth, noisy, _ = example(task)
    order = np.random.default_rng(1).permutation(len(truth))
    assert metric(truth.take(order), noisy.take(order)) == pytest.approx(metric(truth, noisy), rel=1e-12)


@pytest.mark.parametrize(("name", "task"), [pair for pair in MEMBERS if pair[1] not in ("regression", "multiregression")])
def test_columns_are_matched_by_name(name: str, task: str) -> None:
    metric = metric_of(name)
    truth, noisy, _ = example(task)
    turned = Predictions(columns=noisy.columns[::-1], scores_NK=noisy.scores_NK[:, ::-1])
    assert metric(truth, turned) == metric(truth, noisy)
    strange = dataclasses.replace(noisy, columns=("zebra", *noisy.columns[1:]))
    with pytest.raises(MetricError, match="zebra"):
        metric(truth, strange)


@pytest.mark.parametrize(("name", "task"), MEMBERS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_prediction_that_is_no_number_is_an_event(name: str, task: str, value: float) -> None:
    metric = metric_of(name)
    truth, noisy, _ = example(task)
    scores = noisy.scores_NK.copy()
    scores[3, 0] = value
    outcome = score(metric, truth, Predictions(columns=noisy.columns, scores_NK=scores))
    assert outcome.value is None
    assert outcome.event == f"{metric.name}: NaN or infinity in the predictions"


@pytest.mark.parametrize(("name", "task"), MEMBERS)
def test_weights_count_like_repeated_items_or_are_refused(name: str, task: str) -> None:
    metric = metric_of(name)
    truth, noisy, _ = example(task)
    counts = np.random.default_rng(2).integers(1, 4, len(truth))
    if not metric.weighted:
        with pytest.raises(MetricError, match="no weighted form"):
            metric(truth, noisy, counts.astype(np.float64))
        return
    rows = np.repeat(np.arange(len(truth)), counts)
    weighted = metric(truth, noisy, counts.astype(np.float64))
    assert weighted == pytest.approx(metric(truth.take(rows), noisy.take(rows)), rel=1e-9)
    assert metric(truth, noisy, np.ones(len(truth))) == pytest.approx(metric(truth, noisy), rel=1e-12)
    for bad in (np.ones(len(truth) - 1), np.zeros(len(truth)), -np.ones(len(truth)), np.full(len(truth), np.nan)):
        with pytest.raises(MetricError, match="weights"):
            metric(truth, noisy, bad)


@pytest.mark.parametrize(("name", "task"), MEMBERS)
def test_inputs_stay_as_they_were(name: str, task: str) -> None:
    truth, noisy, _ = example(task)
    before = truth.values.copy(), noisy.scores_NK.copy()
    metric_of(name)(truth, noisy)
    assert np.array_equal(before[0], truth.values)
    assert np.array_equal(before[1], noisy.scores_NK)


@pytest.mark.parametrize("name", list(METRICS))
def test_other_tasks_and_missing_rows_are_refused(name: str) -> None:
    metric = metric_of(name)
    for task in ("binary", "multiclass", "multilabel", "regression"):
        truth, noisy, _ = example(task)
        if not metric.fits(task):
            with pytest.raises(MetricError, match="is a metric for"):
                metric(truth, noisy)
            continue
        with pytest.raises(MetricError, match="one row of scores for every item"):
            metric(truth, noisy.take(np.arange(len(truth) - 1)))
        with pytest.raises(MetricError, match="at least one item"):
            metric(truth.take(np.arange(0)), noisy.take(np.arange(0)))


@pytest.mark.parametrize("name", list(METRICS))
def test_the_written_name_leads_back(name: str) -> None:
    metric = metric_of(name)
    again = get_metric(metric.name)
    assert (again.name, again.value, again.compute) == (metric.name, metric.value, metric.compute)
    assert metric.direction in ("maximize", "minimize")
    assert metric.tasks
    assert set(metric.tasks) <= set(TASKS)
    assert metric.compute.__doc__ or metric.compute.func.__doc__  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    metric = METRICS.get(name)
    truth = ["a b c", "b a", "c a d"]
    assert metric.on_texts(truth, truth) == metric.best
    assert better(metric, metric.best, metric.on_texts(truth, ["c b a", "a b", "d a c"])) or name == "jaccard_words"
    with pytest.raises(MetricError, match="as many"):
        metric.on_texts(truth, truth[1:])


def test_dense_metrics_refuse_texts() -> None:
    with pytest.raises(ConfigError, match="needs values"):
        METRICS.get("rmse").on_texts(["1"], ["1"])


def test_undefined_scores_never_win() -> None:
    high, low = METRICS.get("accuracy"), METRICS.get("rmse")
    assert better(high, 0.9, 0.8)
    assert not better(high, 0.8, 0.8)
    assert better(low, 0.1, 0.2)
    for metric in (high, low):
        assert better(metric, 0.0, None)
        assert not better(metric, None, 0.0)
        assert not better(metric, None, None)


def test_a_score_is_a_value_or_an_event() -> None:
    truth = Targets(task="binary", classes=("no", "yes"), values=np.zeros(3, np.int64))
    predictions = Predictions(columns=("no", "yes"), scores_NK=np.full((3, 2), 0.5))
    assert score(METRICS.get("roc_auc"), truth, predictions) == Score(None, "roc_auc: one class only in truth")
    assert score(METRICS.get("accuracy"), truth, predictions) == Score(1.0)


def test_every_common_task_has_metrics() -> None:
    for task in TASKS:
        assert metrics_for(task) or task in ("detection", "segmentation")
