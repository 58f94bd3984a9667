"""Metrics of decided labels and label sets. Counts come from `bincount`, never from a K x K matrix, so ten thousand classes are fine.

Absent classes: as in scikit-learn, and so in most hosts' scores, a class that occurs neither in the truth nor in the predictions takes no part in a
macro mean of a one-label problem, one that is only predicted counts zero; in a multi-label problem every declared label counts (zero where 0 / 0).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from matchfit.competition.metrics.base import CLASS_TASKS, LABEL_TASKS, METRICS, Case, Metric, Parameter

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def _accuracy(case: Case) -> float:
    """Share of items whose label, or whose whole label set, is right."""
    if case.targets.task == "multilabel":
        return case.mean((case.true_sets() == case.predicted_sets()).all(axis=1))
    return case.mean(case.true_labels() == case.predicted_labels())


def _counts(case: Case) -> tuple[Floats, Floats, Floats]:
    """(true positives, items of the class, items predicted as the class), each (K,) and weighted."""
    weights = case.weights_N
    if case.targets.task == "multilabel":
        true_NK, predicted_NK = case.true_sets(), case.predicted_sets()
        rows = np.ones(len(true_NK)) if weights is None else weights
        return rows @ (true_NK & predicted_NK), rows @ true_NK, rows @ predicted_NK
    true_N, predicted_N, size = case.true_labels(), case.predicted_labels(), case.num_classes
    hit_N = true_N == predicted_N
    hits_K = np.bincount(true_N[hit_N], None if weights is None else weights[hit_N], minlength=size)
    in_truth_K = np.bincount(true_N, weights, minlength=size)
    return (
        hits_K.astype(np.float64),
        in_truth_K.astype(np.float64),
        np.bincount(predicted_N, weights, minlength=size).astype(np.float64),
    )


def _ratio(above: Floats, below: Floats) -> Floats:
    """above / below, zero where below is zero."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _balanced_accuracy(case: Case) -> float:
    """Mean recall of the classes that occur in the truth."""
    hits_K, truth_K, _ = _counts(case)
    present_K = truth_K > 0
    return float((hits_K[present_K] / truth_K[present_K]).mean())


def _f_beta(case: Case, *, average: str, beta: float | None = None) -> float:
    """F-beta: (1 + b²) hits / (b² true + predicted), averaged as scikit-learn's `average` of the same name."""
    squared = (case.number if beta is None else beta) ** 2
    if average == "samples":
        true_NK, predicted_NK = case.true_sets(), case.predicted_sets()
        hits_N = (true_NK & predicted_NK).sum(axis=1).astype(np.float64)
        return case.mean(_ratio((1 + squared) * hits_N, squared * true_NK.sum(axis=1) + predicted_NK.sum(axis=1)))
    hits_K, truth_K, predicted_K = _counts(case)
    below_K = squared * truth_K + predicted_K
    if average == "micro":
        return float(_ratio((1 + squared) * hits_K.sum(keepdims=True), below_K.sum(keepdims=True))[0])
    scores_K = _ratio((1 + squared) * hits_K, below_K)
    if average == "binary":
        if below_K[1] == 0:
            raise case.undefined("the positive class is neither true nor predicted", case.targets.classes[1])
        return float(scores_K[1])
    if average == "weighted":
        if truth_K.sum() == 0:
            raise case.undefined("no label is true", "only empty label sets")
        return float(scores_K @ truth_K / truth_K.sum())
    counted_K = below_K > 0 if case.targets.task != "multilabel" else np.ones(len(below_K), dtype=np.bool_)
    return float(scores_K[counted_K].mean())


def _mcc(case: Case) -> float:
    """Matthews correlation, Gorodkin's R_K for several classes (2004). Zero when everything is predicted as one class."""
    hits_K, truth_K, predicted_K = _counts(case)
    total = truth_K.sum()
    true_spread, predicted_spread = total**2 - truth_K @ truth_K, total**2 - predicted_K @ predicted_K
    if true_spread <= 0:
        raise case.undefined("one class only in truth", case.targets.classes[int(truth_K.argmax())])
    if predicted_spread <= 0:
        return 0.0
    return float((hits_K.sum() * total - truth_K @ predicted_K) / np.sqrt(true_spread * predicted_spread))


def _cohen_kappa(case: Case) -> float:
    """Cohen's kappa (1960): agreement beyond chance."""
    hits_K, truth_K, predicted_K = _counts(case)
    total = truth_K.sum()
    by_chance = truth_K @ predicted_K / total**2
    if by_chance >= 1:
        raise case.undefined("truth and predictions are one and the same class", case.targets.classes[int(truth_K.argmax())])
    return float((hits_K.sum() / total - by_chance) / (1 - by_chance))


def _levels(case: Case) -> tuple[Floats, Floats]:
    """True and predicted levels (N,): the classes' own integers where all are integers, their positions otherwise; rounded values
    for a regression."""
    if case.targets.task == "regression":
        truth_NK, scores_NK = case.pair()
        return np.floor(truth_NK[:, 0] + 0.5), np.floor(scores_NK[:, 0] + 0.5)
    names = case.targets.classes
    integers = all(name.removeprefix("-").isdecimal() and name.isascii() for name in names)
    levels_K = np.array([int(name) for name in names] if integers else range(len(names)), dtype=np.float64)
    return levels_K[case.true_labels()], levels_K[case.predicted_labels()]


def _quadratic_weighted_kappa(case: Case) -> float:
    """Quadratic weighted kappa. With quadratic weights the expected disagreement is var(x) + var(y) + (mean x - mean y)², so no matrix
    is needed and the value does not depend on which levels occur."""
    true_N, predicted_N = _levels(case)
    true_mean, predicted_mean = case.mean(true_N), case.mean(predicted_N)
    true_spread, predicted_spread = case.mean((true_N - true_mean) ** 2), case.mean((predicted_N - predicted_mean) ** 2)
    expected = true_spread + predicted_spread + (true_mean - predicted_mean) ** 2
    if expected == 0:
        raise case.undefined("truth and predictions are one and the same level", f"{true_mean:g}")
    return 1 - case.mean((true_N - predicted_N) ** 2) / expected


def _jaccard(case: Case, *, average: str) -> float:
    """|A and B| / |A or B| of label sets: an item at a time (0 / 0 counts zero, as in scikit-learn), or a class at a time (`macro`)."""
    if average == "samples":
        true_NK, predicted_NK = case.true_sets(), case.predicted_sets()
        both_N = (true_NK & predicted_NK).sum(axis=1).astype(np.float64)
        return case.mean(_ratio(both_N, (true_NK | predicted_NK).sum(axis=1).astype(np.float64)))
    hits_K, truth_K, predicted_K = _counts(case)
    either_K = truth_K + predicted_K - hits_K
    counted_K = either_K > 0 if case.targets.task != "multilabel" else np.ones(len(either_K), dtype=np.bool_)
    return float(_ratio(hits_K, either_K)[counted_K].mean())


def _dice(case: Case) -> float:
    """Global Dice: 2 |A and B| / (|A| + |B|) over all items at once (of the positive class in a binary problem)."""
    hits_K, truth_K, predicted_K = _counts(case)
    if case.targets.task == "binary":
        hits_K, truth_K, predicted_K = hits_K[1:], truth_K[1:], predicted_K[1:]
    if truth_K.sum() + predicted_K.sum() == 0:
        raise case.undefined("nothing is true and nothing is predicted", "only empty sets")
    return float(2 * hits_K.sum() / (truth_K.sum() + predicted_K.sum()))


def _add(
    name: str,
    compute: Callable[[Case], float],
    tasks: tuple[str, ...],
    aliases: tuple[str, ...] = (),
    *,
    low: float = 0.0,
    also: tuple[str, ...] = (),
    parameter: Parameter | None = None,
) -> None:
    METRICS.add(
        name,
        Metric(
            name=name,
            direction="maximize",
            needs="labels",
            tasks=tasks,
            also=also,
            compute=compute,
            range=(low, 1.0),
            parameter=parameter,
        ),
        aliases=aliases,
    )


_add("accuracy", _accuracy, LABEL_TASKS, ("acc", "categorization_accuracy", "subset_accuracy", "top_1_accuracy"))
_add("balanced_accuracy", _balanced_accuracy, CLASS_TASKS, ("bacc", "mean_recall", "mean_class_accuracy"))
_add("mcc", _mcc, CLASS_TASKS, ("matthews", "matthews_corrcoef", "matthews_correlation"), low=-1.0)
_add("cohen_kappa", _cohen_kappa, CLASS_TASKS, ("kappa", "cohens_kappa"), low=-1.0)
_add(
    "qwk",
    _quadratic_weighted_kappa,
    CLASS_TASKS,
    ("quadratic_weighted_kappa", "weighted_kappa", "quadratic_kappa"),
    low=-1.0,
    also=("regression",),
)
_add("jaccard", partial(_jaccard, average="samples"), LABEL_TASKS, ("jaccard_samples", "mean_jaccard", "iou_labels"))
_add("jaccard_macro", partial(_jaccard, average="macro"), LABEL_TASKS, ("macro_jaccard", "mean_iou", "miou"))
_add("dice", _dice, ("binary", "multilabel"), ("global_dice", "dice_coefficient"))

_BETA = Parameter(name="beta", low=1e-6, high=1e6, required=True)
_add("f1", partial(_f_beta, average="binary", beta=1.0), ("binary",), ("f1_binary", "f1_score", "binary_f1"))
_add("f_beta", partial(_f_beta, average="binary"), ("binary",), ("fbeta", "fbeta_binary", "f_beta_binary"), parameter=_BETA)
for _average, _tasks in (("macro", LABEL_TASKS), ("micro", LABEL_TASKS), ("weighted", LABEL_TASKS), ("samples", ("multilabel",))):
    _names = (f"{_average}_f1", f"f1_score_{_average}") + (("mean_f1",) if _average == "samples" else ())
    _add(f"f1_{_average}", partial(_f_beta, average=_average, beta=1.0), _tasks, _names)
    _names = (f"fbeta_{_average}", f"{_average}_fbeta", f"{_average}_f_beta")
    _add(f"f_beta_{_average}", partial(_f_beta, average=_average), _tasks, _names, parameter=_BETA)
