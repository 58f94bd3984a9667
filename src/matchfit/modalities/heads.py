"""One head a task: how many outputs the network has, the loss of a row, and outputs → scores.

Shapes: B rows, N training rows, K classes or targets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from matchfit.competition.problem import Problem, Targets
from matchfit.core.errors import ConfigError

Scores = npt.NDArray[np.float64]
ABSOLUTE_METRICS = frozenset({"mae", "mcmae", "median_ae", "mape", "smape", "pinball", "laplace_log_likelihood"})
LOG_METRICS = frozenset({"rmsle", "mcrmsle"})
ABSOLUTE_KINK = 0.1  # standard deviations; within it the absolute loss is quadratic, so that steps get smaller


class Head(ABC):
    """`fit` looks at the targets of the training part; what it learns is in `state`, which goes into checkpoints."""

    num_outputs: int

    def fit(self, targets: Targets) -> None:  # noqa: B027 - most heads learn nothing
        """Learn what the loss and the scores need (scale of a regression)."""

    @abstractmethod
    def loss(self, outputs_BK: torch.Tensor, targets_B: torch.Tensor) -> torch.Tensor:
        """(B,) float32."""

    @abstractmethod
    def scores(self, outputs_BK: Scores) -> Scores:
        """Rows of `Predictions.scores_NK`."""

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:  # noqa: B027
        """Take what `state` gave."""


class ClassHead(Head):
    """Binary and multi-class: cross-entropy over K outputs; targets are indices (B,) or soft labels (B, K)."""

    def __init__(self, num_classes: int, label_smoothing: float) -> None:
        self.num_outputs, self.label_smoothing = num_classes, label_smoothing

    def loss(self, outputs_BK: torch.Tensor, targets_B: torch.Tensor) -> torch.Tensor:
        if targets_B.ndim == 2:
            soft_BK = targets_B.float()
            targets_B = soft_BK / soft_BK.sum(1, keepdim=True).clamp_min(1e-12)  # votes become shares
        return F.cross_entropy(outputs_BK.float(), targets_B, reduction="none", label_smoothing=self.label_smoothing)

    def scores(self, outputs_BK: Scores) -> Scores:
        exponents = np.exp(outputs_BK - outputs_BK.max(axis=1, keepdims=True))
        return np.asarray(exponents / exponents.sum(axis=1, keepdims=True))


class OrdinalHead(Head):
    """Levels in an order: K - 1 outputs, each the log-odds that the level is higher (Frank and Hall, 2001, with one shared network).

    The probabilities of the levels are differences of neighbours, after the curve is made to fall (running minimum).
    """

    def __init__(self, num_classes: int) -> None:
        self.num_classes, self.num_outputs = num_classes, num_classes - 1

    def loss(self, outputs_BK: torch.Tensor, targets_B: torch.Tensor) -> torch.Tensor:
        levels = torch.arange(self.num_outputs, device=outputs_BK.device)
        if targets_B.ndim == 2:
            shares_BK = targets_B.float() / targets_B.float().sum(1, keepdim=True).clamp_min(1e-12)
            above_BK = 1 - shares_BK.cumsum(1)[:, :-1]
        else:
            above_BK = (targets_B[:, None] > levels).float()
        return F.binary_cross_entropy_with_logits(outputs_BK.float(), above_BK, reduction="none").mean(1)

    def scores(self, outputs_BK: Scores) -> Scores:
        above = np.minimum.accumulate(_sigmoid(outputs_BK), axis=1)
        ends = np.ones((len(above), 1))
        return np.asarray(np.concatenate([ends, above], axis=1) - np.concatenate([above, 0 * ends], axis=1))


class LabelsHead(Head):
    """Multi-label: K independent probabilities, binary cross-entropy, its mean over the labels."""

    def __init__(self, num_labels: int) -> None:
        self.num_outputs = num_labels

    def loss(self, outputs_BK: torch.Tensor, targets_B: torch.Tensor) -> torch.Tensor:
        return F.binary_cross_entropy_with_logits(outputs_BK.float(), targets_B.float(), reduction="none").mean(1)

    def scores(self, outputs_BK: Scores) -> Scores:
        return _sigmoid(outputs_BK)


class ValuesHead(Head):
    """Regression of K values, standardised by the training part; after log(1 + y) for logarithmic metrics. The loss is squared, or
    absolute (smooth near 0) for absolute metrics."""

    def __init__(self, num_targets: int, metric: str) -> None:
        name = metric.split("@", 1)[0]
        self.num_outputs, self.absolute, self.logarithmic = num_targets, name in ABSOLUTE_METRICS, name in LOG_METRICS
        self.mean_K, self.std_K = np.zeros(num_targets), np.ones(num_targets)

    def fit(self, targets: Targets) -> None:
        values_NK = np.asarray(targets.values, np.float64).reshape(len(targets), -1)
        if self.logarithmic:
            if values_NK.min(initial=0.0) <= -1:
                raise ConfigError(
                    "metric",
                    rule="a logarithmic metric needs targets above -1",
                    found=f"{values_NK.min()}",
                    todo="Choose another metric.",
                )
            values_NK = np.log1p(values_NK)
        self.mean_K, spread = values_NK.mean(axis=0), values_NK.std(axis=0)
        self.std_K = np.where(spread > 0, spread, 1.0)

    def loss(self, outputs_BK: torch.Tensor, targets_B: torch.Tensor) -> torch.Tensor:
        values_BK = targets_B.double().reshape(outputs_BK.shape)  # large values keep their small differences
        if self.logarithmic:
            values_BK = values_BK.log1p()
        mean, std = (torch.as_tensor(part, device=values_BK.device) for part in (self.mean_K, self.std_K))
        wanted_BK = ((values_BK - mean) / std).float()
        if self.absolute:
            return F.smooth_l1_loss(outputs_BK.float(), wanted_BK, reduction="none", beta=ABSOLUTE_KINK).mean(1)
        return F.mse_loss(outputs_BK.float(), wanted_BK, reduction="none").mean(1)

    def scores(self, outputs_BK: Scores) -> Scores:
        values_BK = outputs_BK * self.std_K + self.mean_K
        return np.maximum(np.expm1(values_BK), 0.0) if self.logarithmic else values_BK

    def state(self) -> dict[str, Any]:
        return {"mean": self.mean_K.tolist(), "std": self.std_K.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        self.mean_K, self.std_K = np.asarray(state["mean"], np.float64), np.asarray(state["std"], np.float64)


def _sigmoid(values: Scores) -> Scores:
    return np.asarray(np.exp(-np.logaddexp(0.0, -values)))


def make_head(problem: Problem, label_smoothing: float) -> Head:
    """The head for a task; ConfigError for a task that has none, or an option without effect."""
    task, num_columns = problem.task, len(problem.score_columns)
    if label_smoothing and task not in {"binary", "multiclass"}:
        raise ConfigError(
            "label_smoothing", rule="is for binary and multi-class tasks", found=f"a task of kind {task}", todo="Leave it out."
        )
    if task in {"binary", "multiclass"}:
        return ClassHead(num_columns, label_smoothing)
    if task == "ordinal":
        return OrdinalHead(num_columns)
    if task == "multilabel":
        return LabelsHead(num_columns)
    if task in {"regression", "multiregression"}:
        return ValuesHead(num_columns, problem.metric.name)
    raise ConfigError(
        "task",
        rule="networks are trained for classes, labels and values",
        found=task,
        todo="Set competition.task in matchfit.yaml.",
    )
