"""Folds: which item is validated where, checked, hashed, and the same for every run of a competition.

Shapes: N items.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.core.errors import ConfigError, RunError
from matchfit.core.records import content_hash
from matchfit.validation.config import SplitKind

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

NEVER = -1  # in `fold_N`: validated in no fold
STRETCHES = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Folds:
    """The assignment of N items to folds.

    `fold_N`: the fold that validates an item; -1: none, the item is always learnt from (rare classes, the user's own -1) or, in a time
    split, belongs to the first block or has no time. `block_N` (time splits only): 0 … num_folds in time, fold k validates block k + 1 and
    learns from blocks 0 … k; num_folds + 1 is for items without a time, which are never learnt from. `order_N`: what "later" means, seconds
    or, within users, the relative position in the user's history. `group_N`: labels of items that belong together (groups and near-duplicates,
    merged), None when all stand alone. `user_N` (time within users): whose history an item is part of.
    """

    kind: SplitKind
    by: tuple[str, ...]
    num_folds: int
    seed: int
    fold_N: Int64
    item_hash: str
    block_N: Int64 | None = None
    order_N: Float64 | None = None
    group_N: Int64 | None = None
    user_N: Int64 | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.fold_N.shape[0])

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the items, the assignment and the settings; the same on every machine."""
        parts = {
            "kind": self.kind,
            "by": self.by,
            "num_folds": self.num_folds,
            "seed": self.seed,
            "items": self.item_hash,
            "fold": _digest(self.fold_N, "<i8"),
            "block": _digest(self.block_N, "<i8"),
            "order": _digest(self.order_N, "<f8"),
            "group": _digest(self.group_N, "<i8"),
            "user": _digest(self.user_N, "<i8"),
        }
        return content_hash(parts)

    def fold(self, index: int) -> tuple[Int64, Int64]:
        """(train, valid): positions of the items that fold `index` learns from and is scored on, ascending.

        Time splits learn from earlier blocks only. Where the assignment could not keep copies together (time, the user's own fold column),
        an item that is grouped with a validated one is left out of this fold's training part.
        """
        if not 0 <= index < self.num_folds:
            raise ConfigError(
                f"fold {index}", rule=f"must be between 0 and {self.num_folds - 1}", found=str(index), todo="Choose another fold."
            )
        valid_N = self.fold_N == index
        train_N = ~valid_N if self.block_N is None else self.block_N <= index
        if self.group_N is not None:
            train_N &= ~np.isin(self.group_N, self.group_N[valid_N])
        return np.flatnonzero(train_N), np.flatnonzero(valid_N)

    def sizes(self) -> list[tuple[int, int]]:
        """(items learnt from, items validated) of every fold."""
        pairs = (self.fold(index) for index in range(self.num_folds))
        return [(len(train), len(valid)) for train, valid in pairs]

    def resampling_units(self) -> tuple[Int64 | None, str]:
        """(labels (N,), their name) of what is independent of each other, to be drawn whole by a bootstrap; None: single items.

        Along time neighbours resemble each other: stretches are drawn, 20 a block (a block bootstrap, Künsch 1989); within users, users.
        """
        if self.user_N is not None:
            return self.user_N, "users"
        if self.block_N is None or self.order_N is None:
            return self.group_N, "groups"
        by_time = np.lexsort((self.order_N, self.block_N))
        block = self.block_N[by_time]
        sizes = np.bincount(block)
        rank = np.arange(len(block)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        stretch_N = np.empty(len(block), dtype=np.int64)
        stretch_N[by_time] = block * STRETCHES + rank * STRETCHES // sizes[block]
        return stretch_N, "stretches of time"

    def valid_over_train(self) -> float:
        """Mean over the folds of (validated items / items learnt from), for the variance of cross-validation."""
        return float(np.mean([valid / max(train, 1) for train, valid in self.sizes()]))


def hash_items(ids: pl.Series) -> str:
    """SHA-256 over the ids in their order."""
    digest = hashlib.sha256()
    encoded = ids.cast(pl.String).fill_null("")
    digest.update(encoded.str.len_bytes().to_numpy().astype("<i8").tobytes())
    digest.update("".join(encoded.to_list()).encode("utf-8"))
    return digest.hexdigest()


def verify(folds: Folds, ran: Sequence[int], covered: Int64) -> int:
    """Check that `covered`, the positions scored by the folds `ran`, hold every item of those folds exactly once; returns their number."""
    expected = np.flatnonzero(np.isin(folds.fold_N, np.asarray(list(ran), dtype=np.int64)))
    found, counts = np.unique(np.asarray(covered, dtype=np.int64), return_counts=True)
    faults = []
    if missing := np.setdiff1d(expected, found).size:
        faults.append(f"{missing} missing")
    if extra := np.setdiff1d(found, expected).size:
        faults.append(f"{extra} of other folds")
    if twice := int((counts > 1).sum()):
        faults.append(f"{twice} more than once")
    if len(set(ran)) != len(ran):
        faults.append("a fold listed twice")
    if faults:
        raise RunError(
            f"out-of-fold items of folds {', '.join(map(str, ran))}",
            rule=f"must hold each of the {expected.size} items of those folds exactly once",
            found=", ".join(faults),
            todo="Run these folds again.",
        )
    return int(expected.size)


def group_overlap(folds: Folds) -> int:
    """Number of (fold, group) pairs with items both learnt from and validated; 0 in every honest assignment."""
    if folds.group_N is None:
        return 0
    pairs = (folds.fold(index) for index in range(folds.num_folds))
    return sum(int(np.intersect1d(folds.group_N[train], folds.group_N[valid]).size) for train, valid in pairs)


def _digest(values: npt.NDArray[np.generic] | None, dtype: str) -> str:
    return "" if values is None else hashlib.sha256(np.ascontiguousarray(values, dtype=dtype).tobytes()).hexdigest()
