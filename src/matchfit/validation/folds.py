"""Planning folds: from a resolved `SplitConfig` and the data to `Folds`. The door of the room for everything about folds.

Shapes: N items, L labels.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.competition.problem import Targets
from matchfit.core.errors import ConfigError, DataError
from matchfit.validation.assignment import NEVER, Folds, group_overlap, hash_items, verify
from matchfit.validation.balance import deal
from matchfit.validation.clusters import column, labels_of, merged, near_duplicate_labels
from matchfit.validation.config import SplitConfig
from matchfit.validation.fold_store import read_folds, write_folds
from matchfit.validation.holdout import inner_split
from matchfit.validation.strata import Strata, strata_of
from matchfit.validation.timeline import parse_times, time_blocks, user_blocks

__all__ = ["NEVER", "Folds", "group_overlap", "inner_split", "plan_folds", "read_folds", "verify", "write_folds"]

Int64 = npt.NDArray[np.int64]

PINNED_GROUPS_LIMIT = 0.1  # share of all items that may be kept in training because they share a group with a rare class
LARGE_GROUP = 0.5  # share of all items in one group that is worth a word


def plan_folds(
    ids: pl.Series,
    targets: Targets | None,
    split: SplitConfig,
    table: pl.DataFrame,
    near_duplicate_N: Int64 | None = None,
) -> Folds:
    """Folds for N items whose columns, as text, are `table`; the same for the same arguments on every machine.

    `split.kind` must be resolved. `near_duplicate_N`: cluster labels, negative for items without a near-duplicate; used when
    `split.near_duplicates`. Raises ConfigError or DataError when the folds cannot be what was asked.
    """
    _check(ids, split, table)
    copies_N = near_duplicate_labels(near_duplicate_N) if near_duplicate_N is not None and split.near_duplicates else None
    if split.kind == "time":
        return _time_folds(ids, split, table, copies_N)
    if split.kind == "column":
        return _column_folds(ids, split, table, copies_N)
    notes: list[str] = []
    group_N = copies_N
    if split.kind in ("group", "stratified_group"):
        group_N = _groups(ids, split, table, copies_N, notes)
    if group_N is not None:
        group_N = merged(group_N)
        split = _enough_groups(group_N, split, notes)
    stratified = split.kind in ("stratified", "stratified_group")
    strata = strata_of(targets, split.num_folds) if targets is not None and stratified else None
    if strata is None and stratified:
        notes.append("There are no classes or values to stratify by: folds are random.")
    pinned_N = _pinned(strata, group_N, split, len(ids), notes)
    fold_N = np.full(len(ids), NEVER, dtype=np.int64)
    rest = np.flatnonzero(~pinned_N)
    unit_N = np.arange(len(rest), dtype=np.int64) if group_N is None else group_N[rest]
    fold_N[rest] = deal(
        split.num_folds,
        split.seed,
        unit_N=unit_N,
        class_N=None if strata is None or strata.class_N is None else strata.class_N[rest],
        labels_NL=None if strata is None or strata.labels_NL is None else strata.labels_NL[rest],
    )
    alone = group_N is None or int(group_N.max(initial=-1)) + 1 == len(ids)
    return _checked(ids, split, fold_N, notes, group_N=None if alone else group_N)


def _check(ids: pl.Series, split: SplitConfig, table: pl.DataFrame) -> None:
    if split.kind is None:
        raise ConfigError(
            "split.kind", rule="must be settled before folds are made", found="none", todo="Name a kind, for example stratified."
        )
    if len(ids) != table.height:
        raise DataError(
            "train", rule="must have one table row an item", found=f"{len(ids)} ids, {table.height} rows", todo="Report this."
        )
    if split.kind == "column" and len(split.by) > 1:
        raise ConfigError("split.by", rule="must be one fold column", found=", ".join(split.by), todo="Name that column alone.")
    if len(ids) < split.num_folds + int(split.kind == "time"):
        raise ConfigError(
            "split.num_folds",
            rule="must not exceed the number of items",
            found=f"{split.num_folds} for {len(ids)} items",
            todo="Lower it.",
        )


def _groups(ids: pl.Series, split: SplitConfig, table: pl.DataFrame, copies_N: Int64 | None, notes: list[str]) -> Int64:
    label_N, num_empty = labels_of(pl.DataFrame([column(name, table, ids).alias(name) for name in split.by]))
    named = ", ".join(split.by)
    num_groups = len(np.unique(label_N))
    if num_empty:
        notes.append(f"{num_empty} items have no value in {named}: each stands alone.")
    if copies_N is None:
        notes.append(f"{num_groups} groups by {named}.")
        return label_N
    joined_N = merged(label_N, copies_N)
    num_joined = int(joined_N.max(initial=-1)) + 1
    linked = f", merged to {num_joined} where near-duplicates link them" if num_joined < num_groups else ""
    notes.append(f"{num_groups} groups by {named}{linked}.")
    return joined_N


def _enough_groups(group_N: Int64, split: SplitConfig, notes: list[str]) -> SplitConfig:
    """The split, with one fold a group where nobody asked for a number of folds and there are fewer groups than usual."""
    sizes = np.bincount(group_N)
    what = f"groups by {', '.join(split.by)}" if split.by else "items that are no near-duplicates of each other"
    if sizes.max(initial=0) > LARGE_GROUP * len(group_N):
        notes.append(f"One group holds {sizes.max()} of {len(group_N)} items: folds are very uneven.")
    if len(sizes) >= split.num_folds:
        return split
    if len(sizes) >= 2 and "num_folds" not in split.model_fields_set:
        notes.append(f"{len(sizes)} folds instead of {split.num_folds}: there are no more {what}.")
        return split.model_copy(update={"num_folds": len(sizes)})
    raise ConfigError(
        "split.num_folds",
        rule=f"must not exceed the number of {what}",
        found=f"{split.num_folds} folds, {len(sizes)} {what}",
        todo=f"Set split.num_folds={len(sizes)}." if len(sizes) >= 2 else "Choose another kind of split.",
    )


def _pinned(
    strata: Strata | None, group_N: Int64 | None, split: SplitConfig, num_items: int, notes: list[str]
) -> npt.NDArray[np.bool_]:
    """Items (N,) that stay in training: those of classes with fewer members than folds, and what is grouped with them."""
    if strata is None:
        return np.zeros(num_items, dtype=np.bool_)
    rare_N, names = strata.rare(split.num_folds)
    if not names:
        return rare_N
    listed = ", ".join(repr(name) for name in names[:5]) + (", …" if len(names) > 5 else "")
    told = f"{len(names)} class{'es' if len(names) > 1 else ''} with fewer than {split.num_folds} members ({listed})"
    pinned_N = rare_N if group_N is None else np.isin(group_N, group_N[rare_N])
    whole = strata.labels_NL is not None or split.by
    if strata.validated_classes(~pinned_N) < 2 or (whole and pinned_N.mean() > PINNED_GROUPS_LIMIT):
        notes.append(f"{told}: spread over the folds, since too little would be left to validate; some folds lack them.")
        return np.zeros_like(rare_N)
    notes.append(f"{told}: their {int(pinned_N.sum())} items stay in training and are validated in no fold.")
    return pinned_N


def _time_folds(ids: pl.Series, split: SplitConfig, table: pl.DataFrame, copies_N: Int64 | None) -> Folds:
    """Expanding window: num_folds + 1 blocks in time, fold k learns from blocks 0 … k and validates block k + 1.

    With user columns the blocks are cut within every user: no item that is learnt from is as late as a validated item of the same user;
    items of other users may be later on the clock, as they are when the test holds every user's last items.
    """
    *user_columns, time_column = split.by
    values = column(time_column, table, ids)
    times = parse_times(values)
    if times is None:
        raise DataError(
            f"split.by {time_column!r}",
            rule="must hold dates, seconds since 1970 or numbers throughout",
            found=repr(values.drop_nulls().head(1).to_list()[:1]),
            todo="Name another time column.",
        )
    notes = [f"Blocks of about equal size along {time_column}; the first is only learnt from."]
    if untimed := int(np.isnan(times.seconds_N).sum()):
        notes.append(f"{untimed} items have no {time_column}: in no fold, since nobody knows what they are later than.")
    order_N, num_blocks, user_N = times.seconds_N, split.num_folds + 1, None
    if user_columns:
        user_N, num_empty = labels_of(pl.DataFrame([column(name, table, ids).alias(name) for name in user_columns]))
        block_N, order_N = user_blocks(user_N, times.seconds_N, num_blocks)
        named = ", ".join(user_columns)
        notes.append(f"Cut within each {named}: nothing is learnt from that is as late as a validated item of the same {named}.")
        if num_empty:
            notes.append(f"{num_empty} items have no {named}: each stands alone.")
    else:
        try:
            block_N = time_blocks(order_N, num_blocks)
        except ValueError as error:
            raise ConfigError(
                "split.num_folds",
                rule=f"must be below the number of distinct values of {time_column}",
                found=str(error),
                todo="Lower it.",
            ) from None
    fold_N = np.where(block_N < num_blocks, block_N - 1, NEVER)
    group_N = _apart(copies_N, fold_N, notes)
    return _checked(ids, split, fold_N, notes, block_N=block_N, order_N=order_N, group_N=group_N, user_N=user_N)


def _column_folds(ids: pl.Series, split: SplitConfig, table: pl.DataFrame, copies_N: Int64 | None) -> Folds:
    """The user's own folds: one a distinct value, in numeric or else text order; empty cells and -1 stay in training."""
    values = column(split.by[0], table, ids).str.strip_chars()
    values = values.set(values.is_in(["-1", "-1.0", ""]).fill_null(True), None)
    distinct = values.drop_nulls().unique()
    as_number = distinct.cast(pl.Float64, strict=False)
    names = distinct.gather((as_number if as_number.null_count() == 0 else distinct).arg_sort()).to_list()
    if len(names) < 2:
        raise DataError(
            f"split.by {split.by[0]!r}",
            rule="a fold column must have two values or more",
            found=f"{names}",
            todo="Name another column.",
        )
    if len(names) > max(100, split.num_folds) or ("num_folds" in split.model_fields_set and split.num_folds != len(names)):
        raise ConfigError(
            "split.num_folds",
            rule=f"must be the number of values in the fold column {split.by[0]!r}",
            found=f"{split.num_folds}, and {len(names)} values",
            todo=f"Set split.num_folds={len(names)}, or name another column.",
        )
    fold_N = np.array(values.replace_strict(names, list(range(len(names))), default=NEVER, return_dtype=pl.Int64).to_numpy())
    notes = [f"Folds are the values of {split.by[0]}: {', '.join(names[:20])}{', …' if len(names) > 20 else ''}."]
    if kept := int((fold_N == NEVER).sum()):
        notes.append(f"{kept} items have none and stay in training.")
    group_N = _apart(copies_N, fold_N, notes)
    return _checked(ids, split.model_copy(update={"num_folds": len(names)}), fold_N, notes, group_N=group_N)


def _apart(copies_N: Int64 | None, fold_N: Int64, notes: list[str]) -> Int64 | None:
    """The clusters of near-duplicates where the folds are given and copies may lie in different ones."""
    if copies_N is None:
        return None
    group_N = merged(copies_N)
    if int(group_N.max(initial=-1)) + 1 == len(group_N):
        return None
    folds_of_group = np.unique(np.stack([group_N, fold_N]), axis=1)[0]
    if straddling := int((np.bincount(folds_of_group) > 1).sum()):
        notes.append(
            f"{straddling} clusters of near-duplicates lie in several folds: copies of validated items are not learnt from."
        )
    return group_N


def _checked(
    ids: pl.Series,
    split: SplitConfig,
    fold_N: Int64,
    notes: list[str],
    *,
    block_N: Int64 | None = None,
    order_N: npt.NDArray[np.float64] | None = None,
    group_N: Int64 | None = None,
    user_N: Int64 | None = None,
) -> Folds:
    assert split.kind is not None
    folds = Folds(
        kind=split.kind,
        by=split.by,
        num_folds=split.num_folds,
        seed=split.seed,
        fold_N=fold_N.astype(np.int64),
        item_hash=hash_items(ids),
        block_N=block_N,
        order_N=order_N,
        group_N=group_N,
        user_N=user_N,
        notes=tuple(notes),
    )
    for index, (num_train, num_valid) in enumerate(folds.sizes()):
        if not num_valid or not num_train:
            _refuse_empty(index, split, "validates" if not num_valid else "learns from")
    return folds


def _refuse_empty(index: int, split: SplitConfig, what: str) -> NoReturn:
    raise ConfigError(
        "split.num_folds",
        rule="every fold must learn from items and validate items",
        found=f"fold {index} of {split.num_folds} {what} none",
        todo="Lower split.num_folds, or choose another kind of split.",
    )
