"""What a metric is: a name, a direction, what it needs, and one pure function over all items.

Shapes: N items, K classes or targets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from matchfit.competition.metrics.decode import decode
from matchfit.competition.problem import Predictions, Targets
from matchfit.core.errors import ConfigError, MetricError
from matchfit.core.families import Family

if TYPE_CHECKING:
    import numpy.typing as npt

Direction = Literal["maximize", "minimize"]
Needs = Literal["labels", "probabilities", "values", "ranks", "text"]
CLASS_TASKS = ("binary", "multiclass", "ordinal")
LABEL_TASKS = (*CLASS_TASKS, "multilabel")
VALUE_TASKS = ("regression", "multiregression")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """The one number that a metric may take after `@` (`map@5`). `default` None: the metric works without it unless `required`."""

    name: str
    default: float | None = None
    low: float = -math.inf
    high: float = math.inf
    integer: bool = False
    required: bool = False


@dataclass(frozen=True)
class Case:
    """One call of a metric: checked truth and predictions, and the forms of them that metrics ask for."""

    name: str
    targets: Targets
    scores_NK: npt.NDArray[np.float64]
    weights_N: npt.NDArray[np.float64] | None
    value: float | None
    texts: tuple[Sequence[str], Sequence[str]] | None = None

    def undefined(self, why: str, found: str, todo: str = "Score more items, or choose another metric.") -> MetricError:
        return MetricError(self.name, rule=f"is undefined: {why}", found=found, todo=todo)

    @property
    def number(self) -> float:
        """The metric's parameter."""
        assert self.value is not None
        return self.value

    @property
    def num_classes(self) -> int:
        return len(self.targets.classes) or int(self.scores_NK.shape[1])

    def true_labels(self) -> npt.NDArray[np.int64]:
        """(N,) class indices; soft labels count for their largest share."""
        values = self.targets.values
        return np.asarray(values if values.ndim == 1 else values.argmax(axis=1), dtype=np.int64)

    def predicted_labels(self) -> npt.NDArray[np.int64]:
        """(N,) class indices by the shared rule of `decode`."""
        return np.asarray(decode(self.targets.task, self.scores_NK), dtype=np.int64)

    def shares(self) -> npt.NDArray[np.float64]:
        """(N, K) the truth as 0 / 1 or soft shares."""
        values = self.targets.values
        if values.ndim == 2:
            return np.asarray(values, dtype=np.float64)
        return np.eye(self.num_classes, dtype=np.float64)[values.astype(np.int64)]

    def true_sets(self) -> npt.NDArray[np.bool_]:
        """(N, K) which labels are true (soft labels: above one half; one-label problems: one-hot)."""
        if self.targets.task == "multilabel":
            return np.asarray(self.targets.values.astype(np.float64) > 0.5)
        return _one_hot(self.true_labels(), self.num_classes)

    def predicted_sets(self) -> npt.NDArray[np.bool_]:
        """(N, K) which labels are predicted, by the shared rule of `decode`."""
        if self.targets.task == "multilabel":
            return np.asarray(decode("multilabel", self.scores_NK), dtype=np.bool_)
        return _one_hot(self.predicted_labels(), self.num_classes)

    def true_values(self) -> npt.NDArray[np.float64]:
        values = np.asarray(self.targets.values, dtype=np.float64)
        return values[:, None] if values.ndim == 1 else values

    def pair(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """True and predicted values (N, K) of the same K; raises MetricError when their numbers differ."""
        truth_NK = self.true_values()
        if truth_NK.shape != self.scores_NK.shape:
            raise self.undefined(
                "it compares as many predicted as true columns",
                f"{self.scores_NK.shape[1]} against {truth_NK.shape[1]}",
                "Predict every target.",
            )
        return truth_NK, self.scores_NK

    def distributions(self) -> npt.NDArray[np.float64]:
        """(N, K) scores as probabilities, rows rescaled to one as hosts do; raises MetricError on a negative score or an empty row."""
        if (self.scores_NK < 0).any():
            raise self.undefined("probabilities are not negative", f"{self.scores_NK.min():.6g}", "Correct the predictions.")
        total_N1 = self.scores_NK.sum(axis=1, keepdims=True)
        if not (total_N1 > 0).all():
            raise self.undefined("a row of probabilities is above zero somewhere", "a row of zeros", "Correct the predictions.")
        return np.asarray(self.scores_NK / total_N1)

    def mean(self, values_N: npt.NDArray[np.generic]) -> float:
        """The (weighted) mean over items."""
        values = np.asarray(values_N, dtype=np.float64)
        return float(values.mean() if self.weights_N is None else values @ self.weights_N / self.weights_N.sum())


def _one_hot(labels_N: npt.NDArray[np.int64], num_classes: int) -> npt.NDArray[np.bool_]:
    sets_NK = np.zeros((len(labels_N), num_classes), dtype=np.bool_)
    sets_NK[np.arange(len(labels_N)), labels_N] = True
    return sets_NK


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric over all items, in float64. `range` is (lowest, highest) possible value.

    `compute` is pure and gets a checked `Case`. Declared classes: an index of the truth always means the class at that place of
    `targets.classes`, also where some classes do not occur; each metric's text says what an absent class does.
    """

    name: str
    direction: Direction
    needs: Needs
    tasks: tuple[str, ...]
    compute: Callable[[Case], float]
    range: tuple[float, float] = (0.0, 1.0)
    parameter: Parameter | None = None
    value: float | None = None
    weighted: bool = True
    also: tuple[str, ...] = ()  # tasks that it scores when it is asked for by name, and is not listed for

    def fits(self, task: str) -> bool:
        return task in self.tasks or task in self.also

    @property
    def best(self) -> float:
        return self.range[1] if self.direction == "maximize" else self.range[0]

    def with_value(self, value: float | None) -> Metric:
        """This metric with its parameter set; raises ConfigError when it has none or the value is out of range."""
        parameter = self.parameter
        if parameter is None:
            if value is None:
                return self
            raise ConfigError(
                f"metric {self.name}@{value:g}", rule="takes no parameter", found=f"{value:g}", todo=f"Write {self.name}."
            )
        value = parameter.default if value is None else value
        if value is None:
            if not parameter.required:
                return self
            raise ConfigError(
                f"metric {self.name}", rule=f"needs {parameter.name}", found="none", todo=f"Write it like {self.name}@2."
            )
        if not parameter.low <= value <= parameter.high or (parameter.integer and value != int(value)):
            kind = "a whole number" if parameter.integer else "a number"
            bounds = f"between {parameter.low:g} and {parameter.high:g}"
            raise ConfigError(
                f"metric {self.name}@{value:g}",
                rule=f"{parameter.name} is {kind} {bounds}",
                found=f"{value:g}",
                todo="Correct it.",
            )
        # one name a metric: a list's length is always written, any other default never
        written = f"{value:g}" if float(f"{value:g}") == value else repr(float(value))
        name = self.name if value == parameter.default and not parameter.integer else f"{self.name}@{written}"
        return replace(self, name=name, value=float(value))

    def __call__(self, targets: Targets, predictions: Predictions, weights_N: npt.NDArray[np.float64] | None = None) -> float:
        """The score. Raises MetricError, named, where it is undefined or a prediction is not finite; never returns NaN.

        `weights_N` are non-negative item weights; a metric that has no weighted form refuses them.
        """
        scores_NK = self._aligned(targets, predictions)
        case = Case(self.name, targets, scores_NK, self._weights(len(targets), weights_N), self.value)
        self._check_finite(case)
        return self._finished(case)

    def on_texts(
        self, truth_N: Sequence[str], predicted_N: Sequence[str], weights_N: npt.NDArray[np.float64] | None = None
    ) -> float:
        """The score of free texts, for metrics that need `text`; raises ConfigError for the others."""
        if self.needs != "text":
            raise ConfigError(
                f"metric {self.name}",
                rule=f"needs {self.needs}",
                found="texts",
                todo="Choose a metric of texts, such as levenshtein.",
            )
        if len(truth_N) != len(predicted_N) or len(truth_N) == 0:
            raise MetricError(
                self.name,
                rule="compares as many predicted as true texts, at least one",
                found=f"{len(predicted_N)} against {len(truth_N)}",
                todo="Predict every item.",
            )
        nothing = Targets(task="other", classes=(), values=np.zeros(len(truth_N)))
        weights = self._weights(len(truth_N), weights_N)
        return self._finished(Case(self.name, nothing, np.zeros((len(truth_N), 1)), weights, self.value, (truth_N, predicted_N)))

    def _finished(self, case: Case) -> float:
        with np.errstate(all="ignore"):
            result = float(self.compute(case))
        if not math.isfinite(result):
            raise case.undefined("the result is not a finite number", repr(result))
        return result

    def _aligned(self, targets: Targets, predictions: Predictions) -> npt.NDArray[np.float64]:
        """(N, K) scores in the order of `targets.classes`, matched by name."""
        scores_NK = np.asarray(predictions.scores_NK, dtype=np.float64)
        if len(targets) != len(scores_NK) or scores_NK.ndim != 2 or len(targets) == 0:
            raise MetricError(
                self.name,
                rule="needs one row of scores for every item, and at least one item",
                found=f"scores of shape {scores_NK.shape} for {len(targets)} items",
                todo="Predict every item.",
            )
        if not self.fits(targets.task):
            raise MetricError(
                self.name, rule=f"is a metric for {', '.join(self.tasks)}", found=targets.task, todo="Choose another metric."
            )
        if not targets.classes or predictions.columns == targets.classes:
            return scores_NK
        if sorted(predictions.columns) != sorted(targets.classes):
            strange = sorted(set(predictions.columns) ^ set(targets.classes))[:5]
            raise MetricError(
                self.name,
                rule="predictions have one column for every declared class",
                found=f"no match for {', '.join(map(repr, strange))}",
                todo="Predict the classes of the truth.",
            )
        return scores_NK[:, [predictions.columns.index(name) for name in targets.classes]]

    def _weights(self, num_items: int, weights_N: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64] | None:
        if weights_N is None:
            return None
        if not self.weighted:
            raise MetricError(self.name, rule="has no weighted form", found="weights", todo="Leave the weights out.")
        weights = np.asarray(weights_N, dtype=np.float64)
        if weights.shape != (num_items,) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
            raise MetricError(
                self.name,
                rule="weights are one finite number of at least zero an item, not all zero",
                found=f"shape {weights.shape} for {num_items} items",
                todo="Correct the weights.",
            )
        return weights

    def _check_finite(self, case: Case) -> None:
        for what, values in (("predictions", case.scores_NK), ("truth", case.targets.values)):
            finite = np.isfinite(values.astype(np.float64, copy=False))
            if not finite.all():
                bad = int((~finite).reshape(len(values), -1).any(axis=1).sum())
                raise case.undefined(f"NaN or infinity in the {what}", f"{bad} of {len(values)} items", f"Correct the {what}.")


@dataclass(frozen=True)
class Score:
    """A score, or the name of what made it undefined: exactly one of the two is there."""

    value: float | None
    event: str | None = None


METRICS: Family[Metric] = Family("metric", "metrics")


def score(metric: Metric, targets: Targets, predictions: Predictions, weights_N: npt.NDArray[np.float64] | None = None) -> Score:
    """The score, a MetricError turned into an event."""
    try:
        return Score(metric(targets, predictions, weights_N))
    except MetricError as error:
        return Score(None, f"{error.name}: {error.rule.removeprefix('is undefined: ')}")


def better(metric: Metric, left: float | None, right: float | None) -> bool:
    """Whether `left` beats `right`. An undefined score (None) never beats anything, and any score beats an undefined one."""
    if left is None:
        return False
    if right is None:
        return True
    return left > right if metric.direction == "maximize" else left < right
