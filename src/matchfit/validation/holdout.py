"""A hold-out inside a training part: for early stopping and thresholds that never look at the validation items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from matchfit.competition.problem import Targets
from matchfit.validation.balance import deal
from matchfit.validation.clusters import merged
from matchfit.validation.strata import strata_of

Int64 = npt.NDArray[np.int64]


def inner_split(
    train_indices: Int64,
    group_N: Int64 | None = None,
    order_N: npt.NDArray[np.float64] | None = None,
    targets: Targets | None = None,
    fraction: float = 0.1,
    seed: int = 0,
) -> tuple[Int64, Int64]:
    """(fit, hold): the positions in `train_indices` divided in two, ascending; about `fraction` of them are held out.

    `group_N`, `order_N` and `targets` cover all N items. With `order_N` the latest part is held out (equal times together) and what shares a
    group with it is left out of both; else groups are not split and classes are balanced, single members of a class stay in `fit`.
    When nothing can be held out (one group, one item) `hold` is empty and `fit` is everything.
    """
    if not 0 < fraction <= 0.5:
        raise ValueError(f"fraction must be above 0 and at most 0.5, not {fraction}")
    train = np.sort(np.asarray(train_indices, dtype=np.int64))
    if order_N is not None and (divided := _latest(train, group_N, order_N, fraction)) is not None:
        return divided
    group = np.arange(len(train), dtype=np.int64) if group_N is None else merged(group_N[train])
    num_parts = min(round(1 / fraction), int(group.max(initial=-1)) + 1)
    if num_parts < 2:
        return train, train[:0]
    strata = None if targets is None else strata_of(targets.take(train), num_parts)
    pinned = np.zeros(len(train), dtype=np.bool_)
    if strata is not None and strata.class_N is not None:
        alone, _ = strata.rare(2)
        pinned = alone if not alone.all() else pinned
    part = deal(
        num_parts,
        seed,
        unit_N=group,
        class_N=None if strata is None else strata.class_N,
        labels_NL=None if strata is None else strata.labels_NL,
    )
    held = (part == 0) & ~np.isin(group, group[pinned])
    if not held.any() or held.all():
        return train, train[:0]
    return train[~held], train[held]


def _latest(train: Int64, group_N: Int64 | None, order_N: npt.NDArray[np.float64], fraction: float) -> tuple[Int64, Int64] | None:
    """The latest part held out; None when all known times are equal."""
    time = order_N[train]
    known = ~np.isnan(time)
    distinct = np.unique(time[known])
    if len(distinct) < 2:
        return None
    cut = np.quantile(time[known], 1 - fraction, method="lower")
    held = known & (time > cut)
    if not held.any():
        held = known & (time >= cut)
    if held.sum() == known.sum():
        held = known & (time > distinct[0])
    fit = known & ~held
    if group_N is not None:
        fit &= ~np.isin(group_N[train], group_N[train][held])
    if not fit.any():
        return None
    return train[fit], train[held]
