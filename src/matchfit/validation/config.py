"""The `split` section of `matchfit.yaml`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

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

    @model_validator(mode="after")
    def _columns_need_a_kind(self) -> SplitConfig:
        if self.by and self.kind is None:
            raise ValueError("by has no effect without kind: name group, stratified_group, time or column too")
        if self.by and self.kind in ("stratified", "random"):
            raise ValueError(
                f"by has no effect on a {self.kind} split: remove it, or choose group, stratified_group, time or column"
            )
        if not self.by and self.kind in ("group", "stratified_group", "time", "column"):
            raise ValueError(f"a {self.kind} split needs by, the columns that it follows: by: [column]")
        return self
