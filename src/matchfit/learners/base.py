"""The learner contract: items in, predictions out, one record, one way to be saved. Nothing here knows torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from matchfit.competition.problem import Items, Predictions, Problem, Targets
from matchfit.core.durations import Deadline

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from matchfit.learners.config import TrainConfig

State = TypeVar("State")
Score = Callable[[Targets, Predictions], float]


@dataclass(frozen=True, kw_only=True)
class Fold:
    """One fit: which items are learnt from, which are held out, and where the fit may keep its files.

    `train` and `valid` are int64 positions into the items; `valid` may be empty (a fit on everything). `group` (N,) are integer
    group labels or None: a learner that needs a hold-out inside its training part (early stopping, thresholds) cuts it along
    these groups.
    `time_ordered` asks that such a hold-out be the latest part of `order` (N,) instead.
    """

    index: int
    train: npt.NDArray[np.int64]
    valid: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64] | None = None
    order: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """What surrounds a fit and is no part of the problem.

    `directory` is the fold's folder in the run (checkpoints, logs), `cache` a folder shared by all runs of the competition. `score`
    evaluates the competition's metric. `say` prints one line for people. `resume` continues from what `directory` holds.
    """

    directory: Path
    cache: Path
    seed: int
    score: Score
    say: Callable[[str], None]
    deadline: Deadline = field(default_factory=Deadline)
    resume: bool = False
    fast_dev_run: bool = False


class Learner(ABC, Generic[State]):
    """What fits one fold and scores items.

    Everything that is fitted (vocabulary, scaler, encodings, stopping point, thresholds) is fitted on `fold.train` only. The
    items of
    `fold.valid` may be scored for a progress line, but their targets never decide anything about the state that is returned.
    """

    name: ClassVar[str]
    uses: ClassVar[frozenset[str]]  # the fields of TrainConfig that it reads; any other that a user gives is an error

    def __init__(self, problem: Problem, config: TrainConfig) -> None:
        self.problem, self.config = problem, config

    @abstractmethod
    def fit(self, items: Items, targets: Targets, fold: Fold, context: Context) -> State:
        """Fit on the items at `fold.train`. Raises BudgetError when the deadline leaves nothing usable."""

    @abstractmethod
    def predict(self, state: State, items: Items, context: Context, rows: npt.NDArray[np.int64] | None = None) -> Predictions:
        """Score the items at the positions `rows`, in that order; all of them without `rows`. A learner prepares (decodes, tokenises)
        `items` as a whole and keeps that in `context.cache`, so that scoring the rows of one fold shares the work of training on the others.
        Unreadable media get the prior, and are counted in a `say` line."""

    @abstractmethod
    def save(self, state: State, directory: Path) -> None:
        """Write what `load` needs; no pickles. The record of the learner (`learner.json`) is written last."""

    @abstractmethod
    def load(self, directory: Path) -> State:
        """Read what `save` wrote, strictly."""

    def describe(self, state: State) -> dict[str, Any]:
        """Facts for the run's record (epochs, best iteration, parameters …)."""
        return {}
