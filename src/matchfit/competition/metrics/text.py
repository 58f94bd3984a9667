"""Metrics of texts. `Metric.on_texts(truth, predicted)` scores free texts; called with dense scores, they compare class names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from matchfit.competition.metrics.base import LABEL_TASKS, METRICS, Case, Metric

TEXT_TASKS = ("other",)


def levenshtein_distance(left: str, right: str) -> int:
    """Insertions, deletions and substitutions of characters that turn one text into the other.

    Bit-parallel (Myers 1999, in the form of Hyyrö 2003), the whole column in one Python integer: 100 characters take microseconds.
    """
    if len(left) < len(right):
        left, right = right, left
    if not right:
        return len(left)
    places: dict[str, int] = {}
    for place, character in enumerate(right):
        places[character] = places.get(character, 0) | (1 << place)
    full, last = (1 << len(right)) - 1, 1 << (len(right) - 1)
    plus, minus, distance = full, 0, len(right)
    for character in left:
        matches = places.get(character, 0)
        zero = (((matches & plus) + plus) ^ plus) | matches | minus
        up, down = minus | ~(zero | plus) & full, plus & zero
        if up & last:
            distance += 1
        elif down & last:
            distance -= 1
        up, down = (up << 1) | 1, down << 1
        plus, minus = (down | ~(zero | up)) & full, up & zero
    return distance


def word_jaccard(left: str, right: str) -> float:
    """Shared words over all words, lower case, split at blanks; two empty texts agree."""
    words, others = set(left.lower().split()), set(right.lower().split())
    return len(words & others) / len(words | others) if words | others else 1.0


def order_agreement(truth: Sequence[str], predicted: Sequence[str]) -> tuple[int, int]:
    """(inversions, most inversions possible) of a predicted order against the true one; both hold the same tokens once."""
    place = {token: index for index, token in enumerate(truth)}
    ranks = [place[token] for token in predicted]
    seen: list[int] = []
    inversions = 0
    from bisect import bisect_left, insort

    for rank in ranks:
        inversions += len(seen) - bisect_left(seen, rank)
        insort(seen, rank)
    return inversions, len(ranks) * (len(ranks) - 1) // 2


def _texts(case: Case) -> tuple[Sequence[str], Sequence[str]]:
    """True and predicted texts (N,): those given, or class names (label sets joined by blanks)."""
    if case.texts is not None:
        return case.texts
    names = case.targets.classes
    if not names:
        raise case.undefined("it compares texts", "scores without class names", "Score texts with on_texts.")
    if case.targets.task == "multilabel":
        return (
            [" ".join(name for name, given in zip(names, row, strict=True) if given) for row in case.true_sets()],
            [" ".join(name for name, given in zip(names, row, strict=True) if given) for row in case.predicted_sets()],
        )
    return [names[label] for label in case.true_labels()], [names[label] for label in case.predicted_labels()]


def _levenshtein(case: Case) -> float:
    """Mean Levenshtein distance, in characters."""
    pairs = zip(*_texts(case), strict=True)
    return case.mean(np.array([levenshtein_distance(truth, predicted) for truth, predicted in pairs], dtype=np.float64))


def _jaccard_words(case: Case) -> float:
    """Mean word Jaccard."""
    return case.mean(np.array([word_jaccard(truth, predicted) for truth, predicted in zip(*_texts(case), strict=True)]))


def _exact_match(case: Case) -> float:
    """Share of equal texts."""
    return case.mean(np.array([truth == predicted for truth, predicted in zip(*_texts(case), strict=True)]))


def _order_kendall(case: Case) -> float:
    """1 - 2 inversions / possible inversions, summed over items before dividing (AI4Code); texts are tokens separated by blanks."""
    inversions = possible = 0.0
    weights = np.ones(len(_texts(case)[0])) if case.weights_N is None else case.weights_N
    for truth, predicted, weight in zip(*_texts(case), weights, strict=True):
        tokens, others = truth.split(), predicted.split()
        if len(set(tokens)) != len(tokens) or sorted(tokens) != sorted(others):
            raise case.undefined("orders hold the same tokens, each once", f"{predicted[:60]!r}", "Order the tokens of the item.")
        wrong, most = order_agreement(tokens, others)
        inversions, possible = inversions + weight * wrong, possible + weight * most
    if possible == 0:
        raise case.undefined("no item has two tokens", "nothing to order")
    return 1 - 2 * inversions / possible


METRICS.add(
    "levenshtein",
    Metric(
        name="levenshtein",
        direction="minimize",
        needs="text",
        tasks=TEXT_TASKS,
        also=LABEL_TASKS,
        compute=_levenshtein,
        range=(0.0, np.inf),
    ),
    aliases=("levenshtein_mean", "mean_levenshtein_distance", "edit_distance"),
)
METRICS.add(
    "jaccard_words",
    Metric(name="jaccard_words", direction="maximize", needs="text", tasks=TEXT_TASKS, also=LABEL_TASKS, compute=_jaccard_words),
    aliases=("word_jaccard", "word_level_jaccard"),
)
METRICS.add(
    "exact_match",
    Metric(name="exact_match", direction="maximize", needs="text", tasks=TEXT_TASKS, also=LABEL_TASKS, compute=_exact_match),
)
METRICS.add(
    "order_kendall",
    Metric(name="order_kendall", direction="maximize", needs="text", tasks=("other",), compute=_order_kendall, range=(-1.0, 1.0)),
    aliases=("ai4code_kendall",),
)
