"""The `split` section of `matchfit.yaml`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from matchfit.core.config import Section

SplitKind = Literal["stratified", "group", "stratified_group", "time", "random", "column"]


class SplitConfig(Section):
    """How items are divided into folds. None means: as advised by the audit.

    `by`: the columns that define groups (group kinds), the user column(s) and last the time column (time), or the fold column
    (column).
    `near_duplicates`: keep copies and near-copies in one fold.
    """

    kind: SplitKind | None = None
    by: tuple[str, ...] = ()
    num_folds: int = Field(default=5, ge=2)
    seed: int = 0
    near_duplicates: bool = True
