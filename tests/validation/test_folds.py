"""Folds keep together what belongs together, are even, verified, hashed, and written once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchfit.competition.problem import Targets
from matchfit.core.config import validated
from matchfit.core.errors import ConfigError, DataError, RunError
from matchfit.validation.config import SplitConfig
from matchfit.validation.folds import Folds, group_overlap, plan_folds, read_folds, verify, write_folds


def names(count: int) -> pl.Series:
    return pl.Series("id", [f"{index:05d}" for index in range(count)])


def classes(values: list[int] | np.ndarray, *, task: str = "multiclass") -> Targets:
    labels = np.asarray(values, dtype=np.int64)
    return Targets(task=task, classes=tuple(f"c{k}" for k in range(int(labels.max()) + 1)), values=labels)


def plan(
    kind: str, targets: Targets | None = None, near: np.ndarray | None = None, *, n: int | None = None, **columns: list
) -> Folds:
    settings_ = {name: columns.pop(name) for name in ("by", "num_folds", "seed", "near_duplicates") if name in columns}
    count = n if n is not None else len(targets) if targets is not None else len(next(iter(columns.values())))
    table = pl.DataFrame({name: [None if v is None else str(v) for v in values] for name, values in columns.items()})
    table = table if columns else pl.DataFrame({"x": [""] * count})
    return plan_folds(names(count), targets, SplitConfig(kind=kind, **settings_), table, near)


def covered(folds: Folds) -> np.ndarray:
    return np.concatenate([folds.fold(k)[1] for k in range(folds.num_folds)])


def test_stratified_folds_are_even_in_size_and_in_every_class():
    labels = np.random.default_rng(0).choice(5, 997, p=[0.6, 0.2, 0.1, 0.07, 0.03])
    folds = plan("stratified", classes(labels))
    per_class = np.array([np.bincount(labels[folds.fold_N == k], minlength=5) for k in range(5)])
    assert np.ptp(per_class, axis=0).max() <= 1
    assert np.ptp(per_class.sum(axis=1)) <= 1
    assert verify(folds, range(5), covered(folds)) == 997
    assert folds.group_N is None


def test_the_same_seed_gives_the_same_folds_and_another_seed_others():
    labels = classes(np.arange(200) % 3)
    first, again, other = plan("stratified", labels), plan("stratified", labels), plan("stratified", labels, seed=1)
    assert first.hash == again.hash
    assert (first.fold_N == again.fold_N).all()
    assert (first.fold_N != other.fold_N).any()
    # pinned: the assignment must be equal on every machine and with every version
    assert first.fold_N[:12].tolist() == [0, 4, 3, 0, 0, 0, 4, 1, 2, 4, 4, 0]


def test_rare_classes_stay_in_training_and_are_told():
    labels = classes([0] * 50 + [1] * 50 + [2] * 3)
    folds = plan("stratified", labels)
    assert (folds.fold_N[100:] == -1).all()
    assert all(set(range(100, 103)) <= set(folds.fold(k)[0].tolist()) for k in range(5))
    assert "'c2'" in folds.notes[0]
    assert "fewer than 5" in folds.notes[0]


def test_a_binary_problem_with_a_rare_class_is_still_validated_on_both_classes():
    folds = plan("stratified", classes([0] * 50 + [1] * 3, task="binary"))
    assert (folds.fold_N >= 0).all()
    assert len(set(folds.fold_N[50:].tolist())) == 3
    assert "spread" in folds.notes[0]


def test_near_duplicates_share_a_fold_unless_that_is_turned_off():
    labels = classes(np.arange(300) % 4)
    near = np.full(300, -1)
    near[:60] = np.repeat(np.arange(20), 3)
    folds = plan("stratified", labels, near)
    assert all(len(set(folds.fold_N[near == cluster].tolist())) == 1 for cluster in range(20))
    assert group_overlap(folds) == 0
    per_class = np.array([np.bincount(labels.values[folds.fold_N == k], minlength=4) for k in range(5)])
    assert np.ptp(per_class, axis=0).max() <= 1
    apart = plan("stratified", labels, near, near_duplicates=False)
    assert any(len(set(apart.fold_N[near == cluster].tolist())) > 1 for cluster in range(20))


def test_a_cluster_that_links_two_groups_merges_them():
    group = [index // 10 for index in range(200)]
    near = np.full(200, -1)
    near[[5, 15, 25]] = 7  # links groups 0, 1 and 2
    folds = plan("group", None, near, g=group, by=("g",))
    assert len(set(folds.fold_N[:30].tolist())) == 1
    assert len(np.unique(folds.group_N)) == 18
    assert "merged to 18" in folds.notes[0]
    assert group_overlap(folds) == 0


def test_stratified_groups_are_whole_and_close_to_even():
    random = np.random.default_rng(3)
    group = random.integers(0, 120, 3000)
    labels = classes((random.random(3000) < 0.1 + 0.3 * (group % 3 == 0)).astype(int), task="binary")
    folds = plan("stratified_group", labels, g=group.tolist(), by=("g",))
    assert group_overlap(folds) == 0
    assert all(len(set(folds.fold_N[group == g].tolist())) == 1 for g in range(120))
    rates = [labels.values[folds.fold_N == k].mean() for k in range(5)]
    assert np.ptp(rates) < 0.02
    assert np.ptp(np.bincount(folds.fold_N)) < 30


def test_stratified_groups_are_no_less_even_than_those_of_scikit_learn():
    from sklearn.model_selection import StratifiedGroupKFold

    ours, theirs = [], []
    for seed in range(5):
        random = np.random.default_rng(seed)
        group = random.integers(0, 40, 500)
        labels = (random.random(500) < 0.1 + 0.3 * (group % 3 == 0)).astype(np.int64)
        fold_N = plan("stratified_group", classes(labels), g=group.tolist(), by=("g",)).fold_N
        splitter = StratifiedGroupKFold(5, shuffle=True, random_state=0)
        ours.append(np.std([labels[fold_N == k].sum() for k in range(5)]))
        theirs.append(np.std([labels[valid].sum() for _, valid in splitter.split(labels, labels, group)]))
    assert np.mean(ours) <= np.mean(theirs)


def test_empty_group_cells_stand_alone():
    folds = plan("group", None, g=[None] * 40 + ["a"] * 10, by=("g",))
    assert len(set(folds.fold_N[40:].tolist())) == 1
    assert np.bincount(folds.fold_N).tolist() == [10] * 5
    assert "40 items have no value" in folds.notes[0]


def test_few_groups_make_few_folds_unless_a_number_was_asked_for():
    folds = plan("group", None, g=["a", "b", "c"] * 20, by=("g",))
    assert folds.num_folds == 3
    assert folds.notes[-1].startswith("3 folds instead of 5")


def test_groups_by_a_prefix_of_the_id_or_of_a_file_name():
    table = pl.DataFrame({"PassengerId": [f"{index // 4:04d}_{index % 4:02d}" for index in range(80)]})
    folds = plan_folds(table["PassengerId"], None, SplitConfig(kind="group", by=("prefix(PassengerId)",)), table)
    assert all(len(set(folds.fold_N[4 * g : 4 * g + 4].tolist())) == 1 for g in range(20))
    paths = pl.Series([f"{'bed' if index % 2 else 'cat'}/{index // 8:03x}_nohash_0.wav" for index in range(80)])
    folds = plan_folds(paths, None, SplitConfig(kind="group", by=("prefix(id)",)), pl.DataFrame({"x": ["1"] * 80}))
    assert len(np.unique(folds.group_N)) == 10


@pytest.mark.parametrize("seed", range(3))
def test_multilabel_folds_are_even_in_every_label(seed: int):
    random = np.random.default_rng(seed)
    labels_NL = random.random((1000, 8)) < np.array([0.4, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.3])
    labels_NL[:, 7] &= labels_NL[:, 0]
    targets = Targets(task="multilabel", classes=tuple("abcdefgh"), values=labels_NL.astype(np.float64))
    folds = plan("stratified", targets)
    counts = np.array([labels_NL[folds.fold_N == k].sum(axis=0) for k in range(5)])
    assert np.ptp(counts, axis=0).max() <= 3
    assert np.ptp(np.bincount(folds.fold_N)) <= 4
    shuffled = random.permutation(np.arange(1000) % 5)
    at_random = np.array([labels_NL[shuffled == k].sum(axis=0) for k in range(5)])
    assert counts.std(axis=0).sum() < at_random.std(axis=0).sum() / 3


def test_regression_folds_have_even_quantiles():
    values = np.random.default_rng(0).lognormal(size=(500, 1))
    values[:100] = 0.0  # many ties
    folds = plan("stratified", Targets(task="regression", classes=(), values=values))
    means = [np.log1p(values[folds.fold_N == k]).mean() for k in range(5)]
    assert np.ptp(means) < 0.05
    assert [int((values[folds.fold_N == k] == 0).sum()) for k in range(5)] == [20] * 5


def test_soft_labels_are_stratified_by_their_largest_class():
    values = np.eye(3)[np.arange(60) % 3] * 0.8 + 0.05
    folds = plan("stratified", Targets(task="multiclass", classes=("a", "b", "c"), values=values))
    assert np.array([np.bincount(np.argmax(values[folds.fold_N == k], axis=1)) for k in range(5)]).tolist() == [[4, 4, 4]] * 5


def test_time_folds_never_learn_from_the_future_or_the_same_moment():
    days = [f"2024-{1 + index % 12:02d}-{1 + index % 28:02d}" for index in range(600)]
    folds = plan("time", None, day=days, by=("day",))
    for k in range(5):
        train, valid = folds.fold(k)
        assert folds.order_N[train].max() < folds.order_N[valid].min()
    blocks = np.bincount(folds.block_N, minlength=6)
    assert np.ptp(blocks) < 40
    assert (folds.fold_N[folds.block_N == 0] == -1).all()
    assert verify(folds, range(5), covered(folds)) == 600 - blocks[0]


def test_time_within_users_never_learns_from_a_users_own_future():
    random = np.random.default_rng(1)
    user = random.integers(0, 40, 2000)
    when = random.integers(1_000_000_000, 1_000_000_000 + 3000, 2000)  # ties within users
    folds = plan("time", None, u=user.tolist(), t=when.tolist(), by=("u", "t"))
    for k in range(5):
        train, valid = folds.fold(k)
        for who in np.unique(user[valid]):
            own = train[user[train] == who]
            assert own.size
            assert when[own].max() < when[valid[user[valid] == who]].min()
    assert "within each u" in folds.notes[1]


def test_what_a_bootstrap_draws_whole():
    folds = plan("time", None, t=list(range(600))[::-1], by=("t",))
    units, name = folds.resampling_units()
    assert name == "stretches of time"
    assert np.bincount(units).tolist() == [5] * 120
    assert all(np.ptp(folds.order_N[units == unit]) == 4 for unit in range(120))
    user = [index % 7 for index in range(300)]
    units, name = plan("time", None, u=user, t=list(range(300)), by=("u", "t")).resampling_units()
    assert name == "users"
    assert len(np.unique(units)) == 7
    assert len(set(zip(units.tolist(), user, strict=True))) == 7
    assert plan("random", None, n=20).resampling_units() == (None, "groups")


def test_copies_of_validated_items_are_not_learnt_from_where_folds_are_given():
    near = np.full(60, -1)
    near[[0, 59]] = 3
    folds = plan("time", None, near, t=list(range(60)), by=("t",))
    train, valid = folds.fold(4)
    assert 59 in valid
    assert 0 not in train
    assert 1 in train
    assert group_overlap(folds) == 0
    assert "1 clusters" in folds.notes[-1]


def test_items_without_a_time_are_in_no_fold_at_all():
    folds = plan("time", None, t=[None, *range(59)], by=("t",))
    assert all(0 not in np.concatenate(folds.fold(k)) for k in range(5))


def test_the_users_own_fold_column():
    column = [index % 3 for index in range(30)]
    column[7] = -1
    folds = plan("column", None, f=column, by=("f",))
    assert folds.num_folds == 3
    assert (folds.fold_N == np.array(column)).all()
    assert folds.fold_N[7] == -1
    with pytest.raises(ConfigError, match=r"Set split\.num_folds=3"):
        plan("column", None, f=column, by=("f",), num_folds=4)


@pytest.mark.parametrize(
    ("kind", "options", "error", "match"),
    [
        ("group", {"g": ["a", "b"] * 20, "by": ("g",), "num_folds": 5}, ConfigError, r"Set split\.num_folds=2"),
        ("group", {"g": ["a"] * 20, "by": ("g",)}, ConfigError, "another kind"),
        ("group", {"g": ["a"] * 20, "by": ("h",)}, ConfigError, "no such column"),
        ("random", {"g": ["a"] * 3}, ConfigError, "5 for 3 items"),
        ("time", {"t": ["yesterday"] * 20, "by": ("t",)}, DataError, "yesterday"),
        ("time", {"t": [1, 2, 3] * 10, "by": ("t",)}, ConfigError, "3 distinct times"),
        ("column", {"f": [1] * 20, "by": ("f",)}, DataError, "two values"),
        ("column", {"f": [1, 2] * 20, "by": ("f", "f")}, ConfigError, "one fold column"),
        ("time", {"u": list(range(20)), "t": list(range(20)), "by": ("u", "t")}, ConfigError, "validates none"),
    ],
)
def test_what_cannot_be_is_refused_early(kind: str, options: dict, error: type[Exception], match: str):
    with pytest.raises(error, match=match):
        plan(kind, None, **options)


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"by": ["g"]}, "without kind"),
        ({"kind": "random", "by": ["g"]}, "no effect on a random split"),
        ({"kind": "group"}, "a group split needs by"),
        ({"num_folds": 1}, "greater than or equal to 2"),
        ({"kind": "groups"}, "stratified_group"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_before_anything_is_read(values: dict, match: str):
    with pytest.raises(ConfigError, match=match):
        validated(SplitConfig, values, source="matchfit.yaml")


def test_verify_names_what_is_wrong():
    folds = plan("random", None, n=20)
    everything = covered(folds)
    assert verify(folds, [1], np.flatnonzero(folds.fold_N == 1)) == 4
    for broken, words in ((everything[1:], "1 missing"), (np.r_[everything, 3], "1 more than once")):
        with pytest.raises(RunError, match=words):
            verify(folds, range(5), broken)
    with pytest.raises(RunError, match="16 of other folds"):
        verify(folds, [0], everything)


def test_overlap_is_counted_where_it_exists():
    broken = Folds(
        kind="random", by=(), num_folds=2, seed=0, fold_N=np.array([0, 1, 0, 1]), item_hash="", group_N=np.array([0, 0, 1, 2])
    )
    assert group_overlap(broken) == 0  # the item that shares a group is left out of training
    assert broken.fold(0)[0].tolist() == [3]


def test_folds_are_written_once_and_read_strictly(tmp_path: Path):
    path = tmp_path / "folds.parquet"
    user, when = [index % 6 for index in range(120)], list(range(120))
    folds = plan("time", None, np.r_[np.zeros(2, dtype=int), np.full(118, -1)], u=user, t=when, by=("u", "t"))
    write_folds(path, folds)
    write_folds(path, folds)
    back = read_folds(path, names(120))
    assert back.hash == folds.hash
    assert back.notes == folds.notes
    assert all((a == b).all() for k in range(5) for a, b in zip(back.fold(k), folds.fold(k), strict=True))
    with pytest.raises(RunError, match="written once"):
        write_folds(path, plan("random", None, n=120))
    with pytest.raises(RunError, match="other ids"):
        read_folds(path, names(120).reverse())
    pl.read_parquet(path).with_columns(pl.lit(0, dtype=pl.Int64).alias("fold")).write_parquet(
        path, metadata=pl.read_parquet_metadata(path)
    )
    with pytest.raises(RunError, match="another hash"):
        read_folds(path, names(120))
    path.write_bytes(b"torn")
    with pytest.raises(RunError, match="must be a file of folds"):
        read_folds(path, names(120))
    with pytest.raises(RunError, match="no such file"):
        read_folds(tmp_path / "none.parquet", names(120))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 15), st.integers(-1, 6)), min_size=12, max_size=80),
    st.sampled_from(["stratified", "group", "stratified_group", "random"]),
    st.integers(2, 4),
)
def test_whatever_the_data_no_group_is_split_and_every_item_is_placed(rows, kind, num_folds):
    label, group, near = (list(part) for part in zip(*rows, strict=True))
    by = ("g",) if "group" in kind else ()
    try:
        folds = plan(kind, classes(label), np.array(near), g=group, by=by, num_folds=num_folds)
    except ConfigError:
        return  # fewer groups than folds
    assert group_overlap(folds) == 0
    together = [np.array(near)] + ([np.array(group)] if by else [])
    for labels in together:
        for value in np.unique(labels[labels >= 0]):
            assert len(set(folds.fold_N[labels == value].tolist())) == 1
    for k in range(num_folds):
        train, valid = folds.fold(k)
        assert np.sort(np.concatenate([train, valid])).tolist() == list(range(len(rows)))
    assert verify(folds, range(num_folds), covered(folds)) == int((folds.fold_N >= 0).sum())
