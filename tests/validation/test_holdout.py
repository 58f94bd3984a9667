"""The hold-out inside a training part follows groups, time and classes, and never touches anything else."""

from __future__ import annotations

import numpy as np
import pytest

from matchfit.competition.problem import Targets
from matchfit.validation.folds import inner_split


def test_classes_are_even_and_nothing_but_the_training_part_is_used():
    targets = Targets(task="binary", classes=("n", "y"), values=(np.arange(400) % 4 == 0).astype(np.int64))
    train = np.arange(0, 400, 2)
    fit, hold = inner_split(train, targets=targets, fraction=0.2, seed=1)
    assert np.sort(np.r_[fit, hold]).tolist() == train.tolist()
    assert len(hold) == 40
    assert targets.values[hold].mean() == targets.values[train].mean()


def test_groups_are_not_split():
    group = np.repeat(np.arange(30), 10)
    fit, hold = inner_split(np.arange(300), group, fraction=0.1)
    assert not np.intersect1d(group[fit], group[hold]).size
    assert len(hold) == 30


def test_the_latest_part_is_held_out_and_its_groups_are_not_learnt_from():
    order = np.random.default_rng(0).permutation(100).astype(np.float64)
    order[order > 96] = 96.0  # ties at the end
    group = np.arange(100)
    group[np.argmin(order)] = group[np.argmax(order)]
    fit, hold = inner_split(np.arange(100), group, order, fraction=0.1)
    assert order[fit].max() < order[hold].min()
    assert 8 <= len(hold) <= 14
    assert np.argmin(order) not in np.r_[fit, hold]


def test_a_single_member_of_a_class_is_never_held_out():
    values = np.zeros(50, dtype=np.int64)
    values[13] = 1
    targets = Targets(task="binary", classes=("n", "y"), values=values)
    assert all(13 in inner_split(np.arange(50), targets=targets, fraction=0.5, seed=seed)[0] for seed in range(10))


def test_where_nothing_can_be_held_out_everything_is_learnt_from():
    fit, hold = inner_split(np.arange(10), np.zeros(10, dtype=np.int64))
    assert (len(fit), len(hold)) == (10, 0)
    fit, hold = inner_split(np.array([4]))
    assert (len(fit), len(hold)) == (1, 0)


def test_equal_times_fall_back_to_a_random_part():
    fit, hold = inner_split(np.arange(20), None, np.ones(20), fraction=0.25)
    assert (len(fit), len(hold)) == (15, 5)


@pytest.mark.parametrize("fraction", [0.0, 0.6])
def test_a_senseless_fraction_is_refused(fraction: float):
    with pytest.raises(ValueError, match="fraction"):
        inner_split(np.arange(10), fraction=fraction)
