"""Heads: losses against plain formulas, scores that are probabilities or values in the target's unit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from matchfit.competition.problem import MetricChoice, Problem, Targets
from matchfit.core.errors import ConfigError
from matchfit.modalities.heads import make_head

RNG = np.random.default_rng(0)


def problem(task: str, num: int = 3, metric: str = "accuracy") -> Problem:
    names = tuple(f"c{number}" for number in range(num))
    values = task in {"regression", "multiregression"}
    return Problem(
        name="made",
        modality="image",
        task=task,  # type: ignore[arg-type]
        id_columns=("id",),
        targets=names if values or task == "multilabel" else ("label",),
        classes=() if values else names,
        submission_columns=("id", "label"),
        prediction_columns=("label",),
        submission_form="label",
        metric=MetricChoice(name=metric, direction="maximize", guessed=True),
    )


def values(task: str, array: np.ndarray) -> Targets:
    return Targets(task=task, classes=(), values=array)  # type: ignore[arg-type]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_classes_smoothed_and_soft(smoothing: float) -> None:
    head = make_head(problem("multiclass"), smoothing)
    outputs = torch.from_numpy(RNG.normal(size=(5, 3)).astype(np.float32))
    labels = torch.tensor([0, 1, 2, 1, 0])
    logs = torch.log_softmax(outputs, 1)
    wanted = -(1 - smoothing) * logs[torch.arange(5), labels] - smoothing * logs.mean(1)
    torch.testing.assert_close(head.loss(outputs, labels), wanted)
    votes = torch.nn.functional.one_hot(labels, 3).double() * 4
    torch.testing.assert_close(head.loss(outputs, votes), wanted)
    np.testing.assert_allclose(head.scores(outputs.double().numpy()), torch.softmax(outputs.double(), 1).numpy())


def test_binary_has_two_columns_and_survives_large_outputs() -> None:
    head = make_head(problem("binary", 2), 0.0)
    assert head.num_outputs == 2
    scores = head.scores(np.array([[1000.0, -1000.0], [0.0, 0.0]]))
    np.testing.assert_allclose(scores, [[1, 0], [0.5, 0.5]])


def test_ordinal_scores_are_probabilities_also_from_crossing_outputs() -> None:
    head = make_head(problem("ordinal", 5), 0.0)
    assert head.num_outputs == 4
    scores = head.scores(RNG.normal(size=(50, 4)) * 4)
    assert scores.shape == (50, 5)
    assert scores.min() >= 0
    np.testing.assert_allclose(scores.sum(1), 1)
    sure = head.scores(np.array([[9.0, 9.0, -9.0, -9.0]]))
    assert sure.argmax() == 2
    losses = head.loss(torch.tensor([[9.0, 9.0, -9.0, -9.0]] * 5), torch.arange(5))
    assert losses.argmin() == 2
    assert losses[1] < losses[0]
    hot = torch.eye(5)[:5]
    torch.testing.assert_close(head.loss(torch.tensor([[9.0, 9.0, -9.0, -9.0]] * 5), hot), losses)


def test_labels_are_independent() -> None:
    head = make_head(problem("multilabel"), 0.0)
    np.testing.assert_allclose(head.scores(np.array([[0.0, 800.0, -800.0]])), [[0.5, 1, 0]])
    loss = head.loss(torch.zeros(2, 3), torch.tensor([[1.0, 0, 1], [0, 0, 0]]))
    torch.testing.assert_close(loss, torch.full((2,), float(np.log(2))))


@pytest.mark.parametrize("metric", ["rmse", "mae", "rmsle", "mcrmse"])
def test_values_come_back_in_their_unit_and_the_state_restores(metric: str) -> None:
    truth = np.exp(RNG.normal(size=(40, 2)) + 5)
    head = make_head(problem("multiregression", 2, metric), 0.0)
    head.fit(values("multiregression", truth))
    transformed = np.log1p(truth) if metric == "rmsle" else truth
    outputs = (transformed - transformed.mean(0)) / transformed.std(0)
    np.testing.assert_allclose(head.scores(outputs), truth, rtol=1e-9)
    losses = head.loss(torch.from_numpy(outputs).float(), torch.from_numpy(truth))
    assert losses.shape == (40,)
    assert float(losses.max()) < 1e-9
    other = make_head(problem("multiregression", 2, metric), 0.0)
    other.restore(head.state())
    np.testing.assert_array_equal(other.scores(outputs), head.scores(outputs))


def test_one_target_in_one_dimension_and_without_spread() -> None:
    head = make_head(problem("regression", 1, "rmse"), 0.0)
    head.fit(values("regression", np.full((6, 1), 7.0)))
    assert head.scores(np.zeros((2, 1))).tolist() == [[7.0], [7.0]]
    assert head.loss(torch.zeros(6, 1), torch.full((6,), 7.0)).tolist() == [0.0] * 6


def test_large_targets_with_small_differences_are_learnt_exactly() -> None:
    truth = 1e8 + np.arange(10.0)[:, None]
    head = make_head(problem("regression", 1, "rmse"), 0.0)
    head.fit(values("regression", truth))
    wanted = (truth - truth.mean()) / truth.std()
    assert float(head.loss(torch.from_numpy(wanted).float(), torch.from_numpy(truth)).max()) < 1e-9


def test_what_has_no_head_or_no_effect_is_refused() -> None:
    with pytest.raises(ConfigError, match="detection"):
        make_head(problem("detection"), 0.0)
    with pytest.raises(ConfigError, match="label_smoothing"):
        make_head(problem("regression", 1), 0.1)
    with pytest.raises(ConfigError, match="logarithmic"):
        make_head(problem("regression", 1, "rmsle"), 0.0).fit(values("regression", np.array([[-2.0]])))
