"""What every check is given, and the few things that all of them do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.audit.scan import MediaScan
from matchfit.competition.problem import KEY_SEPARATOR, Competition, Items, Targets
from matchfit.core.seeds import generator

Part = Literal["train", "test"]
PARTS: tuple[Part, Part] = ("train", "test")
MAX_ROWS = 10_000  # ids that a finding lists at most; the message has the full number
CLASS_TASKS = frozenset({"binary", "multiclass", "ordinal", "multilabel"})
SAMPLE = 20_000  # rows on which a statistic is computed at most


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A competition under audit. `scans` has the parts whose media were read; `properties` collects figures for people and for the report."""

    competition: Competition
    targets: Targets | None
    scans: dict[Part, MediaScan]
    seed: int
    num_folds: int
    say: Callable[[str], None]
    properties: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)  # what one check found and another needs

    def items(self, part: Part) -> Items:
        return self.competition.train if part == "train" else self.competition.test

    def ids(self, part: Part, positions: Iterable[int] | npt.NDArray[np.int64]) -> tuple[str, ...]:
        """Ids of the items at these positions, MAX_ROWS at most; the parts of a composite id are joined by `|`."""
        chosen = np.asarray(list(positions), np.int64)[:MAX_ROWS]
        return tuple(str(name).replace(KEY_SEPARATOR, "|") for name in self.items(part).ids[chosen])

    def sample(self, part: Part, purpose: str, limit: int = SAMPLE) -> npt.NDArray[np.int64]:
        """Positions (ascending) of at most `limit` items, drawn by the seed."""
        number = len(self.items(part))
        if number <= limit:
            return np.arange(number)
        return np.sort(generator(self.seed, "audit", purpose, part).choice(number, limit, replace=False))

    def texts(self, part: Part) -> pl.Series | None:
        """The text of each item: its text columns joined by a line end, missing as empty. None when nothing is text."""
        names = self.text_columns
        table = self.items(part).table
        present = [name for name in names if name in table.columns]
        if not present or not table.height:
            return None
        return table.select(pl.concat_str([pl.col(name).fill_null("") for name in present], separator="\n").alias("text"))["text"]

    @cached_property
    def text_columns(self) -> tuple[str, ...]:
        return self.competition.problem.feature_names("text")

    @cached_property
    def labels(self) -> pl.Series | None:
        """The classes of train items as text (several target columns joined by blanks), for comparison; None for other tasks."""
        table = self.competition.target_table
        if not table.width or table.height != len(self.competition.train) or self.competition.problem.task not in CLASS_TASKS:
            return None
        return table.select(pl.concat_str([pl.col(name).fill_null("") for name in table.columns], separator=" ").alias("l"))["l"]


def share(part: int, whole: int) -> str:
    """`12 (3.4 %)`."""
    return f"{part:,} ({100 * part / whole:.3g} %)" if whole else "0"


def shown(names: Iterable[str], limit: int = 5) -> str:
    """The first few names, and how many more."""
    listed = [str(name) for name in names]
    more = f" and {len(listed) - limit:,} more" if len(listed) > limit else ""
    return ", ".join(listed[:limit]) + more
