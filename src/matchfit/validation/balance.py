"""Even folds: items or groups are dealt so that every fold gets its share of items and of every label.

Three cases share one idea, the sum over labels of the squared relative distance from an even share:
- groups and clusters, largest first, each to the fold where that sum grows least (as scikit-learn's StratifiedGroupKFold, with a cost that
  only touches the labels of the group, so that a million rows take seconds);
- single items of one class each: the folds with the fewest of that class are filled first, which is exact;
- single items with several labels: iterative stratification (Sechidis, Tsoumakas & Vlahavas 2011, "On the stratification of multi-label
  data"), after most items of every frequent label set were dealt evenly.

Shapes: N items, F folds, L labels (classes), U units (groups or single items).
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from matchfit.core.seeds import generator

Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

HELD_BACK = 0.1  # share of a label set that iterative stratification places one by one


def deal(num_folds: int, seed: int, *, unit_N: Int64 | None, class_N: Int64 | None = None, labels_NL: Bool | None = None) -> Int64:
    """Folds (N,) for N items; items of one unit share a fold. At most one of `class_N` and `labels_NL` is given.

    `unit_N` None: every item is its own unit (then N comes from the labels). The result depends on the arguments alone.
    """
    num_items = next(len(values) for values in (unit_N, class_N, labels_NL) if values is not None)
    generator_ = generator(seed, "folds", num_folds)
    if labels_NL is None:
        class_N = np.zeros(num_items, dtype=np.int64) if class_N is None else class_N
        num_labels = int(class_N.max(initial=0)) + 1
    else:
        num_labels = labels_NL.shape[1]
    fold_N = np.full(num_items, -1, dtype=np.int64)
    counts_FL = np.zeros((num_folds, num_labels))
    sizes_F = np.zeros(num_folds)
    if unit_N is not None:
        _deal_units(fold_N, unit_N, class_N, labels_NL, counts_FL, sizes_F, generator_)
    single = np.flatnonzero(fold_N < 0)
    single = single[np.argsort(generator_.random(single.size), kind="stable")]
    if labels_NL is not None:
        _deal_label_sets(fold_N, single, labels_NL, counts_FL, sizes_F)
    else:
        assert class_N is not None
        _fill_classes(fold_N, single, class_N, counts_FL, sizes_F)
    return fold_N


def _deal_units(
    fold_N: Int64,
    unit_N: Int64,
    class_N: Int64 | None,
    labels_NL: Bool | None,
    counts_FL: npt.NDArray[np.float64],
    sizes_F: npt.NDArray[np.float64],
    random: np.random.Generator,
) -> None:
    """Place the units of two items or more, in place."""
    num_folds, num_labels = counts_FL.shape
    _, compact_N, size_U = np.unique(unit_N, return_inverse=True, return_counts=True)
    item_E, label_E = (np.arange(len(unit_N)), class_N) if labels_NL is None else np.nonzero(labels_NL)
    assert label_E is not None
    share_L = np.maximum(np.bincount(label_E, minlength=num_labels) / num_folds, 1e-9)
    share = len(unit_N) / num_folds
    entries, amounts = np.unique(compact_N[item_E] * num_labels + label_E, return_counts=True)
    entry_unit, entry_label = entries // num_labels, entries % num_labels
    start_U = np.searchsorted(entry_unit, np.arange(size_U.size + 1))
    order = np.lexsort((random.random(size_U.size), -size_U))
    plain = num_labels == 1
    heap = [(0.0, fold) for fold in range(num_folds)]
    placed_U = np.full(size_U.size, -1, dtype=np.int64)
    for unit in order[: int((size_U > 1).sum())]:
        size = size_U[unit]
        if plain:  # sizes only: the smallest fold, as scikit-learn's GroupKFold
            _, fold = heapq.heappop(heap)
            heapq.heappush(heap, (sizes_F[fold] + size, fold))
            counts_FL[fold, 0] += size
        else:
            entry = slice(start_U[unit], start_U[unit + 1])
            label, amount = entry_label[entry], amounts[entry]
            growth_F = ((2 * counts_FL[:, label] + amount) * (amount / share_L[label] ** 2)).sum(axis=1)
            growth_F += (2 * sizes_F + size) * size / share**2
            fold = int(np.argmin(growth_F))
            counts_FL[fold, label] += amount
        sizes_F[fold] += size
        placed_U[unit] = fold
    fold_N[:] = placed_U[compact_N]


def _fill_classes(
    fold_N: Int64, single: Int64, class_N: Int64, counts_FL: npt.NDArray[np.float64], sizes_F: npt.NDArray[np.float64]
) -> None:
    """Place single items of one class each, in place: every class as even as it can be, then the sizes."""
    single = single[np.argsort(class_N[single], kind="stable")]
    bounds = np.searchsorted(class_N[single], np.arange(counts_FL.shape[1] + 1))
    for label in np.flatnonzero(np.diff(bounds)):
        items = single[bounds[label] : bounds[label + 1]]
        quota_F = _quota(counts_FL[:, label], sizes_F, len(items))
        fold_N[items] = np.repeat(np.arange(len(quota_F)), quota_F)
        counts_FL[:, label] += quota_F
        sizes_F += quota_F


def _quota(held_F: npt.NDArray[np.float64], sizes_F: npt.NDArray[np.float64], amount: int) -> Int64:
    """How many of `amount` items each fold gets so that its total is as even as possible; the odd ones go to the smallest folds."""
    order = np.lexsort((sizes_F, held_F))
    level, filled = 0.0, len(order)
    for filled in range(len(order), 0, -1):
        lowest = held_F[order[:filled]]
        level = (lowest.sum() + amount) / filled
        if level >= lowest[-1]:
            break
    quota_F = np.zeros(len(order), dtype=np.int64)
    quota_F[order[:filled]] = np.floor(level - held_F[order[:filled]] + 1e-9).astype(np.int64)
    rest = amount - int(quota_F.sum())
    smallest = sorted(order[:filled], key=lambda fold: (held_F[fold] + quota_F[fold], sizes_F[fold] + quota_F[fold], fold))
    quota_F[smallest[:rest]] += 1
    return quota_F


def _deal_label_sets(
    fold_N: Int64, single: Int64, labels_NL: Bool, counts_FL: npt.NDArray[np.float64], sizes_F: npt.NDArray[np.float64]
) -> None:
    """Place single items with several labels, in place."""
    num_folds = len(sizes_F)
    packed = np.packbits(labels_NL[single], axis=1)
    keys = packed.view([("", packed.dtype)] * packed.shape[1]).ravel()
    _, first, pattern, amount = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    even = (amount * (1 - HELD_BACK) / num_folds).astype(np.int64)
    by_pattern = np.argsort(pattern, kind="stable")
    rank = np.arange(single.size) - np.repeat(np.cumsum(amount) - amount, amount)
    dealt = rank < np.repeat(even * num_folds, amount)
    fold_N[single[by_pattern[dealt]]] = rank[dealt] % num_folds
    counts_FL += (even[:, None] * labels_NL[single[first]]).sum(axis=0)
    sizes_F += even.sum()
    _iterative(fold_N, single[by_pattern[~dealt]], labels_NL, counts_FL, sizes_F)


def _iterative(
    fold_N: Int64, items: Int64, labels_NL: Bool, counts_FL: npt.NDArray[np.float64], sizes_F: npt.NDArray[np.float64]
) -> None:
    """Iterative stratification: the rarest label left, its items one by one to the fold that wants it most."""
    num_folds = len(sizes_F)
    left_L = labels_NL[items].sum(axis=0).astype(np.float64)
    wanted_FL = (counts_FL.sum(axis=0) + left_L) / num_folds - counts_FL
    wanted_F = (sizes_F.sum() + len(items)) / num_folds - sizes_F
    waiting = np.ones(len(items), dtype=np.bool_)
    local_NL = labels_NL[items]

    def place(position: int, desire_F: npt.NDArray[np.float64]) -> None:
        best = np.flatnonzero(desire_F >= desire_F.max() - 1e-9)
        fold = int(best[np.argmax(wanted_F[best])])
        labels = np.flatnonzero(local_NL[position])
        fold_N[items[position]] = fold
        wanted_FL[fold, labels] -= 1
        counts_FL[fold, labels] += 1
        left_L[labels] -= 1
        wanted_F[fold] -= 1
        sizes_F[fold] += 1
        waiting[position] = False

    while (left_L > 0).any():
        label = int(np.argmin(np.where(left_L > 0, left_L, np.inf)))
        for position in np.flatnonzero(waiting & local_NL[:, label]):
            place(int(position), wanted_FL[:, label])
    for position in np.flatnonzero(waiting):
        place(int(position), wanted_F)
