"""Scores, undefined ones as events, and an interval that covers what it says."""

from __future__ import annotations

import numpy as np
import pytest

from matchfit.competition.problem import Predictions, Targets
from matchfit.core.errors import MetricError
from matchfit.validation.scores import summarise


def accuracy(targets: Targets, predictions: Predictions) -> float:
    return float((predictions.scores_NK.argmax(axis=1) == targets.values).mean())


def recall_of_yes(targets: Targets, predictions: Predictions) -> float:
    yes = targets.values == 1
    if not yes.any():
        raise MetricError("recall", rule="needs a positive item", found="none", todo="Score more.")
    return float((predictions.scores_NK[yes].argmax(axis=1) == 1).mean())


def case(hits: np.ndarray, values: np.ndarray | None = None) -> tuple[Targets, Predictions]:
    values = np.zeros(len(hits), dtype=np.int64) if values is None else values
    said = np.where(hits, values, 1 - values)
    targets = Targets(task="binary", classes=("no", "yes"), values=values)
    return targets, Predictions(columns=("no", "yes"), scores_NK=np.eye(2)[said])


def test_folds_mean_sd_and_out_of_fold_score():
    hits = np.r_[np.ones(8), np.zeros(2), np.ones(9), np.zeros(1), np.zeros(5)].astype(bool)
    fold_N = np.r_[np.zeros(10), np.ones(10), np.full(5, -1)].astype(np.int64)
    summary = summarise(accuracy, *case(hits), fold_N)
    assert summary["folds"] == [0.8, 0.9]
    assert summary["fold_indices"] == [0, 1]
    assert summary["oof"] == pytest.approx(0.85)
    assert summary["sd"] == pytest.approx(np.std([0.8, 0.9], ddof=1))
    assert summary["rows"] == 20
    assert summary["events"] == []
    low, high = summary["interval"]
    assert low < 0.85 < high
    assert summarise(accuracy, *case(hits), fold_N) == summary
    alone = summarise(accuracy, *case(hits), fold_N, ran=[1])
    assert (alone["folds"], alone["rows"], alone["sd"]) == ([0.9], 10, None)
    assert "training items" in alone["interval_omits"]


def test_an_undefined_fold_is_an_event_with_a_name_and_the_rest_stands():
    values = np.r_[np.zeros(10), np.ones(10)].astype(np.int64)
    fold_N = np.repeat([0, 1], 10)
    summary = summarise(recall_of_yes, *case(np.ones(20, dtype=bool), values), fold_N)
    assert summary["folds"] == [None, 1.0]
    assert summary["oof"] == 1.0
    assert summary["events"][0]["name"] == "metric_undefined"
    assert summary["events"][0]["where"] == "fold 0"
    assert "positive item" in summary["events"][0]["message"]


def test_a_metric_that_returns_nan_is_an_event_too():
    summary = summarise(lambda targets, predictions: float("nan"), *case(np.ones(8, dtype=bool)), np.arange(8) % 2)
    assert summary["oof"] is None
    assert summary["interval"] is None
    assert len(summary["events"]) == 3


def test_a_metric_that_is_mostly_undefined_on_resamples_has_no_interval():
    fold_N = np.arange(40) % 2

    def only_whole(targets: Targets, predictions: Predictions) -> float:
        if len(np.unique(predictions.scores_NK[:, 0])) < 38 and len(targets) == 40:
            raise MetricError("m", rule="r", found="f", todo="t")
        return 1.0

    targets, predictions = case(np.ones(40, dtype=bool))
    different = Predictions(columns=predictions.columns, scores_NK=np.random.default_rng(0).random((40, 2)))
    summary = summarise(only_whole, targets, different, fold_N)
    assert summary["interval"] is None
    assert summary["events"][-1]["name"] == "interval_undefined"


def test_groups_widen_the_interval():
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 50)
    hits = np.repeat(random.random(20) < 0.7, 50)
    fold_N = group % 5
    plain, grouped = (summarise(accuracy, *case(hits), fold_N, group_N=g, valid_over_train=0.0)["interval"] for g in (None, group))
    assert grouped[1] - grouped[0] > 4 * (plain[1] - plain[0])
    assert "over 20 users of" in summarise(accuracy, *case(hits), fold_N, group_N=group, unit="users")["interval_method"]


def test_many_rows_are_subsampled_and_the_width_is_right():
    random = np.random.default_rng(0)
    hits = random.random(60_000) < 0.8
    summary = summarise(accuracy, *case(hits), np.arange(60_000) % 5, valid_over_train=0.0)
    low, high = summary["interval"]
    exact = 2 * 1.645 * np.sqrt(0.16 / 60_000)
    assert high - low == pytest.approx(exact, rel=0.12)


def test_the_interval_stays_in_the_range_of_the_metric():
    class Bounded:
        range = (0.0, 1.0)

        def __call__(self, targets: Targets, predictions: Predictions) -> float:
            return accuracy(targets, predictions)

    hits = np.ones(40, dtype=bool)
    hits[3] = False
    low, high = summarise(Bounded(), *case(hits), np.arange(40) % 5)["interval"]
    assert low < 0.975 < high <= 1.0


@pytest.mark.slow  # 150 simulated competitions
def test_coverage_of_the_interval_when_the_training_draw_matters():
    """Nearest centroid on few items: does the 90 % interval hold the mean score that this procedure reaches on new data?"""
    random = np.random.default_rng(0)
    covered, trials, width = 0, 150, 0.0
    for _ in range(trials):
        labels = np.arange(100) % 2
        features = random.normal(size=(100, 5)) + labels[:, None] * 0.5
        fold_N = random.permutation(100) % 5
        said, truth = np.zeros(100, dtype=np.int64), []
        for k in range(5):
            train = fold_N != k
            centres = np.array([features[train & (labels == c)].mean(axis=0) for c in (0, 1)])
            said[~train] = ((features[~train, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
            fresh = random.normal(size=(4000, 5)) + (np.arange(4000) % 2)[:, None] * 0.5
            truth.append((((fresh[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1) == np.arange(4000) % 2).mean())
        low, high = summarise(accuracy, *case(said == labels, labels), fold_N, max_seconds=0.0)["interval"]  # the fewest resamples
        covered += low <= np.mean(truth) <= high
        width += (high - low) / trials
    assert covered / trials >= 0.88
    items_alone = 2 * 1.645 * np.sqrt(0.69 * 0.31 / 100)
    assert items_alone < width < 2 * items_alone  # careful, and still of use
