"""Each metric pinned by a value from elsewhere: scikit-learn or scipy on random cases, a host's published example, or numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import sklearn.metrics as sk
from metric_cases import example
from scipy import stats

from matchfit.competition.metrics import METRICS, get_metric, score
from matchfit.competition.problem import Predictions, Targets
from matchfit.core.errors import MetricError

Array = np.ndarray


def one_label(
    truth: list[int], scores: list[list[float]] | Array, task: str = "multiclass", names: str = "abcdefgh"
) -> tuple[Targets, Predictions]:
    array = np.asarray(scores, dtype=np.float64)
    classes = tuple(names[: array.shape[1]])
    values = np.array(truth, dtype=np.int64)
    return Targets(task=task, classes=classes, values=values), Predictions(columns=classes, scores_NK=array)  # type: ignore[arg-type]


def decided(truth: list[int], predicted: list[int], size: int, task: str = "multiclass") -> tuple[Targets, Predictions]:
    return one_label(truth, np.eye(size)[predicted], task)


def label_sets(truth: list[list[int]], predicted: list[list[float]] | Array) -> tuple[Targets, Predictions]:
    array = np.asarray(predicted, dtype=np.float64)
    classes = tuple("abcdefgh"[: array.shape[1]])
    return Targets(task="multilabel", classes=classes, values=np.array(truth, dtype=np.float64)), Predictions(
        columns=classes, scores_NK=array
    )


def numbers(truth: list[float], predicted: list[float]) -> tuple[Targets, Predictions]:
    return (
        Targets(task="regression", classes=(), values=np.array(truth, dtype=np.float64)[:, None]),
        Predictions(columns=("y",), scores_NK=np.array(predicted, dtype=np.float64)[:, None]),
    )


def test_by_hand_labels() -> None:
    case = decided([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 2, 2], 3)
    assert get_metric("accuracy")(*case) == pytest.approx(4 / 6)
    assert get_metric("balanced_accuracy")(*case) == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    f1 = [2 * 2 / (3 + 2), 2 * 1 / (2 + 2), 2 * 1 / (1 + 2)]
    assert get_metric("f1_macro")(*case) == pytest.approx(sum(f1) / 3)
    assert get_metric("f1_weighted")(*case) == pytest.approx((3 * f1[0] + 2 * f1[1] + f1[2]) / 6)
    assert get_metric("f1_micro")(*case) == pytest.approx(4 / 6)
    by_chance = (3 * 2 + 2 * 2 + 1 * 2) / 36
    assert get_metric("cohen_kappa")(*case) == pytest.approx((4 / 6 - by_chance) / (1 - by_chance))
    binary = decided([1, 1, 1, 0, 0], [1, 0, 0, 1, 0], 2, "binary")
    precision, recall = 1 / 2, 1 / 3
    assert get_metric("f1")(*binary) == pytest.approx(2 * precision * recall / (precision + recall))
    assert get_metric("f2")(*binary) == pytest.approx(5 * precision * recall / (4 * precision + recall))
    assert get_metric("mcc")(*binary) == pytest.approx((1 * 1 - 1 * 2) / math.sqrt(2 * 3 * 2 * 3))
    assert get_metric("dice")(*binary) == pytest.approx(2 * 1 / (3 + 2))


def test_quadratic_weighted_kappa_by_hand() -> None:
    # levels 1..3; observed disagreement 1 + 4 over 4; expected from the margins (2, 1, 1) and (1, 2, 1)
    case = one_label([0, 0, 1, 2], np.eye(3)[[0, 1, 1, 0]], "multiclass", "123")
    truth, predicted = [2, 1, 1], [2, 2, 0]
    observed = 1 + 4
    expected = sum(truth[i] * predicted[j] / 4 * (i - j) ** 2 for i in range(3) for j in range(3))
    assert get_metric("qwk")(*case) == pytest.approx(1 - observed / expected)


def test_ordinal_labels_are_the_rounded_expected_level() -> None:
    truth, predictions = one_label([2, 0], [[0.45, 0.0, 0.0, 0.55], [0.9, 0.1, 0.0, 0.0]], "ordinal", "0123")
    assert get_metric("accuracy")(truth, predictions) == 1.0  # 1.65 is 2, though level 3 is the likeliest
    truth, predictions = one_label([2, 0], [[0.5, 0.0, 0.0, 0.5], [1.0, 0.0, 0.0, 0.0]], "ordinal", "0123")
    assert get_metric("accuracy")(truth, predictions) == 1.0, "halves go up"


def test_uneven_levels_count_by_their_numbers() -> None:
    values = np.array([0, 1, 2, 2])
    classes = ("0", "1", "10")
    scores = np.eye(3)[[0, 1, 2, 1]]
    metric = get_metric("qwk")(
        Targets(task="ordinal", classes=classes, values=values), Predictions(columns=classes, scores_NK=scores)
    )
    truth, predicted = np.array([0, 1, 10, 10.0]), np.array([0, 1, 10, 1.0])
    spread = truth.var() + predicted.var() + (truth.mean() - predicted.mean()) ** 2
    assert metric == pytest.approx(1 - 81 / 4 / spread)


def test_log_loss_and_its_clipping() -> None:
    case = one_label([1, 0, 1], [[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]], "binary")
    assert get_metric("log_loss")(*case) == pytest.approx(-(math.log(0.8) + math.log(0.6) + math.log(0.5)) / 3)
    wrong = one_label([0], [[0.0, 1.0]], "binary")
    assert get_metric("log_loss@1e-15")(*wrong) == pytest.approx(34.538776394910684)  # -ln 1e-15, Kaggle's worst
    assert get_metric("log_loss")(*wrong) == pytest.approx(36.04365338911715)  # -ln of float64's eps, as in scikit-learn
    unscaled = one_label([0, 1], [[2.0, 2.0, 4.0], [1.0, 1.0, 0.0]])
    assert get_metric("log_loss")(*unscaled) == pytest.approx((math.log(4) + math.log(2)) / 2)
    sets = label_sets([[1, 0]], [[0.8, 0.4]])
    assert get_metric("log_loss")(*sets) == pytest.approx(-(math.log(0.8) + math.log(0.6)) / 2)
    soft = Targets(task="multiclass", classes=("a", "b"), values=np.array([[0.25, 0.75]]))
    value = get_metric("log_loss")(soft, Predictions(columns=("a", "b"), scores_NK=np.array([[0.5, 0.5]])))
    assert value == pytest.approx(math.log(2))


def test_kl_divergence_by_hand() -> None:
    soft = Targets(task="multiclass", classes=("a", "b", "c"), values=np.array([[3.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    predictions = Predictions(columns=("a", "b", "c"), scores_NK=np.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]))
    expected = (0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.25) + math.log(2)) / 2
    assert get_metric("kl_divergence")(soft, predictions) == pytest.approx(expected)


def test_ranks_by_hand() -> None:
    case = one_label([0, 1, 2], [[0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]])
    assert get_metric("map@2")(*case) == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert get_metric("map@5")(*case) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert get_metric("top2_accuracy")(*case) == pytest.approx(2 / 3)
    # Kaggle's formula: precision at each hit over min(k, number of true labels)
    sets = label_sets([[1, 0, 1, 1], [0, 0, 0, 0]], [[0.9, 0.8, 0.7, 0.1], [0.9, 0.8, 0.7, 0.1]])
    assert get_metric("map@3")(*sets) == pytest.approx((1 + 2 / 3) / 3 / 2)
    assert get_metric("map@2")(*sets) == pytest.approx(1 / 2 / 2)


def test_lwlrap_by_hand_and_with_ties() -> None:
    case = label_sets([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]])
    assert get_metric("lwlrap")(*case) == pytest.approx((1 + 2 / 3 + 1 / 2) / 3)
    rng = np.random.default_rng(0)
    truth = (rng.random((200, 7)) < 0.3).astype(np.float64)
    scores = rng.integers(0, 4, truth.shape) / 3  # many ties
    expected = sk.label_ranking_average_precision_score(truth, scores, sample_weight=truth.sum(axis=1))
    assert get_metric("lwlrap")(*label_sets(truth.tolist(), scores)) == pytest.approx(expected)


def test_values_by_hand() -> None:
    case = numbers([1, 2, 4, 8], [2, 2, 2, 10])
    assert get_metric("mse")(*case) == pytest.approx(9 / 4)
    assert get_metric("rmse")(*case) == pytest.approx(1.5)
    assert get_metric("mae")(*case) == pytest.approx(5 / 4)
    assert get_metric("median_ae")(*case) == pytest.approx(1.5)
    assert get_metric("mape")(*case) == pytest.approx((1 + 0 + 0.5 + 0.25) / 4)
    assert get_metric("smape")(*case) == pytest.approx(200 * (1 / 3 + 0 + 2 / 6 + 2 / 18) / 4)
    assert get_metric("r2")(*case) == pytest.approx(1 - 9 / (85 - 4 * 3.75**2))
    assert get_metric("pinball@0.9")(*case) == pytest.approx((0.1 * 1 + 0 + 0.9 * 2 + 0.1 * 2) / 4)
    assert get_metric("rmsle")(*numbers([0, math.e - 1], [math.e - 1, 0])) == pytest.approx(1.0)
    both_zero = numbers([0, 1], [0, 1])
    assert get_metric("smape")(*both_zero) == 0.0


def test_several_columns_by_hand() -> None:
    truth = Targets(task="multiregression", classes=(), values=np.array([[0.0, 0.0], [0.0, 0.0]]))
    predictions = Predictions(columns=("u", "v"), scores_NK=np.array([[1.0, 3.0], [1.0, 3.0]]))
    assert get_metric("mcrmse")(truth, predictions) == pytest.approx(2.0)
    assert get_metric("rmse")(truth, predictions) == pytest.approx(math.sqrt(5))
    assert get_metric("mcmae")(truth, predictions) == pytest.approx(2.0)
    assert get_metric("mcrmsle")(truth, predictions) == pytest.approx((math.log(2) + math.log(4)) / 2)


def test_laplace_log_likelihood_by_hand() -> None:
    truth = Targets(task="regression", classes=(), values=np.array([[2000.0], [3000.0]]))
    predictions = Predictions(columns=("FVC", "Confidence"), scores_NK=np.array([[2100.0, 100.0], [1000.0, 10.0]]))
    first = -math.sqrt(2) * 100 / 100 - math.log(math.sqrt(2) * 100)
    second = -math.sqrt(2) * 1000 / 70 - math.log(math.sqrt(2) * 70)
    assert METRICS.get("laplace_log_likelihood")(truth, predictions) == pytest.approx((first + second) / 2)
    one = Predictions(columns=("FVC",), scores_NK=np.array([[2100.0], [3000.0]]))
    value = get_metric("laplace_log_likelihood@100")(truth, one)
    assert value == pytest.approx((first - math.log(math.sqrt(2) * 100)) / 2)
    with pytest.raises(MetricError, match="needs a value and its sigma"):
        METRICS.get("laplace_log_likelihood")(truth, one)


def test_alaska_area_by_hand() -> None:
    # a score without information: below 0.4 the area is 0.08 + 0.24, above it 0.18; (2 * 0.32 + 0.18) / 1.4
    flat = one_label([0, 1, 0, 1], [[0.5, 0.5]] * 4, "binary")
    assert get_metric("roc_auc_tpr_weighted")(*flat) == pytest.approx(0.82 / 1.4)
    # curve (0, 0), (0, 0.5), (0.5, 0.5), (0.5, 1), (1, 1): 0.4 below everywhere; above it 0.1 for half, 0.6 for half
    steps = one_label([1, 0, 1, 0], [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]], "binary")
    assert get_metric("roc_auc_tpr_weighted")(*steps) == pytest.approx((2 * 0.4 + 0.35) / 1.4)
    perfect = one_label([1, 1, 0, 0], [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]], "binary")
    assert get_metric("roc_auc_tpr_weighted")(*perfect) == pytest.approx(1.0)


TEXTS = [
    ("kitten", "sitting", 3),
    ("", "abc", 3),
    ("flaw", "lawn", 2),
    ("ภาษาไทย", "ภาษา", 3),
    ("same", "same", 0),
    ("a" * 200, "b" * 150, 200),
]


@pytest.mark.parametrize(("left", "right", "distance"), TEXTS)
def test_levenshtein_of_known_pairs(left: str, right: str, distance: int) -> None:
    assert get_metric("levenshtein").on_texts([left], [right]) == distance
    assert get_metric("levenshtein").on_texts([right], [left]) == distance


def test_levenshtein_against_the_plain_table() -> None:
    def table(left: str, right: str) -> int:
        row = list(range(len(right) + 1))
        for i, a in enumerate(left, 1):
            new = [i]
            for j, b in enumerate(right, 1):
                new.append(min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (a != b)))
            row = new
        return row[-1]

    rng = np.random.default_rng(0)
    for _ in range(60):
        left, right = ("".join(rng.choice(list("abcd"), rng.integers(0, 90))) for _ in range(2))
        assert get_metric("levenshtein").on_texts([left], [right]) == table(left, right)


def test_word_metrics_by_hand() -> None:
    assert get_metric("word_jaccard").on_texts(["I love you", ""], ["love You too", ""]) == pytest.approx((2 / 4 + 1) / 2)
    assert get_metric("exact_match").on_texts(["a", "b"], ["a", "B"]) == 0.5
    # one swap of neighbours of three, and a reversed pair: 2 inversions of 3 + 1 possible
    assert get_metric("order_kendall").on_texts(["a b c", "x y"], ["b a c", "y x"]) == pytest.approx(1 - 2 * 2 / 4)
    with pytest.raises(MetricError, match="same tokens"):
        get_metric("order_kendall").on_texts(["a b"], ["a c"])


def _indices(case: tuple[Targets, Predictions]) -> tuple[Array, Array]:
    return case[0].values, case[1].scores_NK.argmax(axis=1)


def _sets(case: tuple[Targets, Predictions]) -> tuple[Array, Array]:
    return case[0].values > 0.5, case[1].scores_NK > 0.5


def _columns(case: tuple[Targets, Predictions]) -> tuple[Array, Array]:
    return case[0].values, case[1].scores_NK


def _hot(case: tuple[Targets, Predictions]) -> tuple[Array, Array]:
    return np.eye(case[1].scores_NK.shape[1])[case[0].values], case[1].scores_NK


def _positive(case: tuple[Targets, Predictions]) -> tuple[Array, Array]:
    return case[0].values, case[1].scores_NK[:, 1]


Peer = tuple[str, str, Callable[..., tuple[Array, Array]], Callable[[Array, Array], float]]
AVERAGES = ("macro", "micro", "weighted", "samples")
PEERS: list[Peer] = [
    ("accuracy", "multiclass", _indices, sk.accuracy_score),
    ("accuracy", "multilabel", _sets, sk.accuracy_score),
    ("balanced_accuracy", "multiclass", _indices, sk.balanced_accuracy_score),
    ("f1", "binary", _indices, sk.f1_score),
    ("f_beta@0.5", "binary", _indices, lambda t, p: sk.fbeta_score(t, p, beta=0.5)),
    *((f"f1_{a}", "multiclass", _indices, lambda t, p, a=a: sk.f1_score(t, p, average=a)) for a in ("macro", "micro", "weighted")),
    *((f"f1_{a}", "multiclass", _indices, partial(sk.f1_score, average=a)) for a in AVERAGES[:3]),
    *((f"f1_{a}", "multilabel", _sets, partial(sk.f1_score, average=a, zero_division=0)) for a in AVERAGES),
    *((f"f_beta_{a}@2", "multilabel", _sets, partial(sk.fbeta_score, beta=2, average=a, zero_division=0)) for a in AVERAGES),
    ("mcc", "multiclass", _indices, sk.matthews_corrcoef),
    ("cohen_kappa", "multiclass", _indices, sk.cohen_kappa_score),
    ("qwk", "multiclass", _indices, lambda t, p: sk.cohen_kappa_score(t, p, weights="quadratic")),
    ("jaccard", "multilabel", _sets, lambda t, p: sk.jaccard_score(t, p, average="samples", zero_division=0)),
    ("jaccard_macro", "multiclass", _indices, lambda t, p: sk.jaccard_score(t, p, average="macro")),
    ("dice", "multilabel", _sets, lambda t, p: sk.f1_score(t.ravel(), p.ravel())),
    ("log_loss", "multiclass", _columns, sk.log_loss),
    ("log_loss", "binary", _columns, sk.log_loss),
    ("roc_auc", "binary", _positive, sk.roc_auc_score),
    ("roc_auc", "multiclass", _hot, sk.roc_auc_score),
    ("roc_auc", "multilabel", _columns, sk.roc_auc_score),
    ("roc_auc_weighted", "multiclass", _columns, lambda t, p: sk.roc_auc_score(t, p, multi_class="ovr", average="weighted")),
    ("average_precision", "binary", _positive, sk.average_precision_score),
    ("average_precision", "multilabel", _columns, sk.average_precision_score),
    ("brier", "binary", _positive, sk.brier_score_loss),
    ("top_k@2", "multiclass", _columns, lambda t, p: sk.top_k_accuracy_score(t, p, k=2)),
    ("mse", "multiregression", _columns, sk.mean_squared_error),
    ("rmse", "regression", _columns, sk.root_mean_squared_error),
    ("mcrmse", "multiregression", _columns, sk.root_mean_squared_error),
    ("rmsle", "regression", _columns, sk.root_mean_squared_log_error),
    ("mcrmsle", "multiregression", _columns, sk.root_mean_squared_log_error),
    ("mae", "multiregression", _columns, sk.mean_absolute_error),
    ("median_ae", "regression", _columns, sk.median_absolute_error),
    ("mape", "regression", _columns, sk.mean_absolute_percentage_error),
    ("r2", "multiregression", _columns, sk.r2_score),
    ("pinball@0.2", "regression", _columns, lambda t, p: sk.mean_pinball_loss(t, p, alpha=0.2)),
    ("pearson", "regression", _columns, lambda t, p: stats.pearsonr(t[:, 0], p[:, 0]).statistic),
    ("spearman", "regression", _columns, lambda t, p: stats.spearmanr(t, p).statistic),
    (
        "spearman",
        "multiregression",
        _columns,
        lambda t, p: np.mean([stats.spearmanr(a, b).statistic for a, b in zip(t.T, p.T, strict=True)]),
    ),
    ("kendall", "regression", _columns, lambda t, p: stats.kendalltau(t, p).statistic),
]


@pytest.mark.parametrize(("name", "task", "form", "peer"), PEERS, ids=[f"{case[0]}-{case[1]}" for case in PEERS])
def test_against_scikit_learn_or_scipy(
    name: str, task: str, form: Callable[..., tuple[Array, Array]], peer: Callable[[Array, Array], float]
) -> None:
    for seed in range(3):
        truth, noisy, _ = example(task, 80, seed)
        assert get_metric(name)(truth, noisy) == pytest.approx(float(peer(*form((truth, noisy)))), rel=1e-10)


@pytest.mark.parametrize(("name", "peer"), [("roc_auc", sk.roc_auc_score), ("average_precision", sk.average_precision_score)])
def test_curves_with_ties_and_weights(name: str, peer: Callable[..., float]) -> None:
    rng = np.random.default_rng(0)
    truth, grades, weights = rng.integers(0, 2, 300), rng.integers(0, 6, 300) / 5, rng.random(300)
    case = one_label(truth.tolist(), np.stack([1 - grades, grades], axis=1), "binary")
    assert get_metric(name)(*case) == pytest.approx(peer(truth, grades))
    assert get_metric(name)(case[0], case[1], weights) == pytest.approx(peer(truth, grades, sample_weight=weights))


def test_absent_classes_follow_the_declared_ones() -> None:
    # `d` is neither true nor predicted: it leaves the macro mean alone. `c` is only predicted: it counts zero.
    case = decided([0, 0, 1, 1], [0, 0, 1, 2], 4)
    f1 = [1.0, 2 / 3, 0.0]
    assert get_metric("f1_macro")(*case) == pytest.approx(sum(f1) / 3)
    assert get_metric("f1_macro")(*case) == pytest.approx(sk.f1_score([0, 0, 1, 1], [0, 0, 1, 2], average="macro"))
    # the place in the declared classes is the meaning: without class 0 in the truth nothing shifts
    late = one_label([1, 1, 2], [[0.2, 0.7, 0.1], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]])
    assert get_metric("log_loss")(*late) == pytest.approx(-(math.log(0.7) + math.log(0.4) + math.log(0.8)) / 3)
    assert get_metric("accuracy")(*late) == 1.0
    assert score(get_metric("roc_auc"), *late).event == "roc_auc: one class only in truth"
    # in a label set every declared label counts, as scikit-learn has it
    sets = label_sets([[1, 0], [1, 0]], [[0.9, 0.1], [0.9, 0.1]])
    assert get_metric("f1_macro")(*sets) == 0.5


EVENTS = [
    ("roc_auc", one_label([1, 1], [[0.5, 0.5]] * 2, "binary"), "one class only in truth"),
    ("average_precision", one_label([0, 0], [[0.5, 0.5]] * 2, "binary"), "one class only in truth"),
    ("mcc", decided([1, 1], [1, 0], 2), "one class only in truth"),
    ("cohen_kappa", decided([1, 1], [1, 1], 2), "one and the same class"),
    ("qwk", decided([1, 1], [1, 1], 2), "one and the same level"),
    ("f1", decided([0, 0], [0, 0], 2, "binary"), "neither true nor predicted"),
    ("log_loss", one_label([0], [[-0.1, 1.1]], "binary"), "not negative"),
    ("log_loss", one_label([0], [[0.0, 0.0]], "binary"), "above zero somewhere"),
    ("log_loss", label_sets([[1, 0]], [[1.5, 0.1]]), "between 0 and 1"),
    ("rmsle", numbers([1, 2], [1, -0.5]), "a negative value in the predictions"),
    ("rmsle", numbers([-1, 2], [1, 1]), "a negative value in the truth"),
    ("mape", numbers([0, 2], [1, 1]), "a true value is zero"),
    ("r2", numbers([2, 2], [1, 1]), "a true column is constant"),
    ("pearson", numbers([1, 2], [1, 1]), "a constant column in the predictions"),
    ("spearman", numbers([2, 2], [1, 3]), "a constant column in the truth"),
    ("kendall", numbers([2, 2], [1, 3]), "a constant column"),
    ("dice", label_sets([[0, 0]], [[0.1, 0.1]]), "nothing is predicted"),
    ("lwlrap", label_sets([[0, 0]], [[0.1, 0.1]]), "no label is true"),
    ("f1_weighted", label_sets([[0, 0]], [[0.1, 0.1]]), "no label is true"),
    ("kl_divergence", label_sets([[0, 0]], [[0.1, 0.1]]), "a distribution"),
    ("rmse", numbers([np.nan, 1], [1, 1]), "NaN or infinity in the truth"),
    ("rmse", numbers([1e200, 1], [-1e200, 1]), "not a finite number"),
]


@pytest.mark.parametrize(("name", "case", "why"), EVENTS)
def test_undefined_scores_have_a_name(name: str, case: tuple[Targets, Predictions], why: str) -> None:
    outcome = score(get_metric(name), *case)
    assert outcome.value is None
    assert outcome.event is not None
    assert outcome.event.startswith(f"{name}: ")
    assert why in outcome.event


def test_every_member_is_pinned() -> None:
    pinned = {get_metric(case[0]).compute for case in PEERS}
    by_hand = {"kl_divergence", "map", "lwlrap", "smape", "mcmae", "laplace_log_likelihood", "roc_auc_tpr_weighted", "levenshtein"}
    by_hand |= {"jaccard_words", "exact_match", "order_kendall"}
    assert {name for name in METRICS if METRICS.get(name).compute not in pinned} <= by_hand


@pytest.mark.parametrize("average", ["micro", "weighted", "macro"])
def test_f_beta_of_one_is_f1(average: str) -> None:
    truth, noisy, _ = example("multiclass")
    assert get_metric(f"f_beta_{average}@1")(truth, noisy) == get_metric(f"f1_{average}")(truth, noisy)
    two = sk.fbeta_score(truth.values, noisy.scores_NK.argmax(axis=1), beta=2, average=average)
    assert get_metric(f"f_beta_{average}@2")(truth, noisy) == pytest.approx(two)
