"""The real competitions beside the checkout are read without configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from matchfit.competition.config import CompetitionConfig
from matchfit.competition.read import read_competition

pytestmark = pytest.mark.peers

DIGITS = tuple("0123456789")
CIFAR = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
EXPECTED = {
    "adult-income": ("tabular", "binary", "label", ("id",), ("income",), ("<=50K", ">50K"), 32561, 16281),
    "banking77": ("text", "multiclass", "label", ("id",), ("label",), None, 10003, 3080),
    "bccd-detection": ("detection", "detection", "other", ("image_id",), None, ("Platelets", "RBC", "WBC"), 292, 72),
    "bike-sharing-demand": ("tabular", "regression", "value", ("datetime",), ("count",), (), 10886, 6493),
    "cifar10-mini": ("image", "multiclass", "label", ("id",), ("label",), CIFAR, 5000, 2000),
    "fsdd-speakers": ("audio", "multiclass", "label", ("id",), ("label",), DIGITS, 2000, 1000),
    "movielens-small-rating": ("recommender", "regression", "value", ("id",), ("rating",), (), 80896, 19940),
    "trashnet": ("image", "multiclass", "label", ("image_id",), ("label",), ("cardboard", "glass", "metal", "paper", "plastic", "trash"), 1895, 632),
    "wisesight-th": ("text", "multiclass", "label", ("id",), ("label",), ("neg", "neu", "pos", "q"), 24064, 2674),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_real_competition(name: str, real_competition: Callable[[str], Path]) -> None:
    read = read_competition(real_competition(name), CompetitionConfig())
    modality, task, form, ids, targets, classes, train, test = EXPECTED[name]
    problem = read.problem
    assert (problem.modality, problem.task, problem.submission_form, problem.id_columns) == (modality, task, form, ids)
    assert targets is None or problem.targets == targets
    assert classes is None or problem.classes == classes
    assert (len(read.train), len(read.test)) == (train, test)
    for side in (read.train, read.test):
        assert side.media is None or side.media.null_count() == 0
    assert not [finding for finding in read.findings if finding.severity == "error"]


def test_columns_of_train_alone_are_no_features(real_competition: Callable[[str], Path]) -> None:
    read = read_competition(real_competition("bike-sharing-demand"), CompetitionConfig())
    assert read.train_only == ("casual", "registered")
    assert read.problem.feature_names("time") == ("datetime",)
    read = read_competition(real_competition("trashnet"), CompetitionConfig())
    assert read.train_only == ("group",)
    assert read.train.table["group"].null_count() == 0
