"""One run: every fold fitted, scored and stored; then the out-of-fold score, the test predictions and the submission.

A run's folder holds `run.json` (all that decides its bits, written before the first fit), a folder for every fit, and at the end `oof.csv`,
`oof.parquet`, `test.parquet`, `submission.csv` and, last, `record.json`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchfit.competition.metrics import get_metric
from matchfit.competition.problem import Competition, Predictions, Problem, Targets
from matchfit.competition.stored import problem_to_json
from matchfit.core.console import number
from matchfit.core.durations import Deadline, format_duration
from matchfit.core.errors import BudgetError, MatchfitError
from matchfit.core.records import content_hash, write_record
from matchfit.learners.base import Context, Fold, Learner
from matchfit.learners.config import TrainConfig
from matchfit.learners.fold_files import FoldResult, read_fold, write_fold
from matchfit.learners.members import make_learner
from matchfit.learners.outputs import write_outputs
from matchfit.learners.records import RUN_SCHEMA
from matchfit.validation.folds import Folds, verify

if TYPE_CHECKING:
    from matchfit.competition.metrics import Metric

# Keys of the train section that may change between a run and its resumption without changing what is computed, and `epochs`, which extends it.
FREE_ON_RESUME = frozenset({"workers", "save_every", "tensorboard", "wandb", "device", "epochs"})


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that decides a run's bits, but for the data: what `run.json` keeps and a resumed run must repeat."""

    problem: Problem
    learner: str
    config: TrainConfig
    folds_hash: str
    ran: tuple[int, ...]
    fast_dev_run: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "problem": problem_to_json(self.problem),
            "learner": self.learner,
            "train": self.config.model_dump(mode="json"),
            "folds_hash": self.folds_hash,
            "folds": list(self.ran),
            "fast_dev_run": self.fast_dev_run,
        }

    def fingerprint(self, index: int) -> str:
        """Hash of what decides fit `index`: two fits with equal fingerprints on one machine have equal bits."""
        kept = self.config.model_dump(mode="json", exclude=set(FREE_ON_RESUME - {"epochs"}))
        problem = {key: value for key, value in problem_to_json(self.problem).items() if key != "metric"}
        return content_hash([problem, self.learner, kept, self.folds_hash, index, self.fast_dev_run])


@dataclass
class Clock:
    """Seconds per phase of a run."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """What a run came to: its record as written, and the fits that are missing (the deadline came first)."""

    directory: Path
    record: dict[str, Any]
    missing: tuple[int, ...]


def run_folds(
    plan: Plan,
    competition: Competition,
    targets: Targets,
    folds: Folds,
    *,
    directory: Path,
    cache: Path,
    deadline: Deadline,
    say: Callable[[str], None],
    clock: Clock,
    resume: bool,
) -> RunOutcome:
    """Fit every fold of `plan.ran`, then write all outputs. Fits that an earlier process finished are taken as they are.

    Raises BudgetError when the deadline passes before one fit is there; when some are there the outputs are written from those and
    `missing` names the rest.
    """
    write_record(directory / "run.json", schema=RUN_SCHEMA, **plan.as_json())
    metric = get_metric(plan.problem.metric, plan.problem)
    fits = list(plan.ran) + ([folds.num_folds] if folds.block_N is not None else [])
    results: list[FoldResult] = []
    for done, index in enumerate(fits):
        share = None if deadline.seconds is None else max(deadline.left(), 0.0) / (len(fits) - done)
        context = Context(
            directory=directory / f"fold-{index}",
            cache=cache,
            seed=plan.config.seed,
            score=metric,
            say=say,
            deadline=Deadline(share),
            resume=resume,
            fast_dev_run=plan.fast_dev_run,
        )
        if finished := read_fold(context.directory, plan.fingerprint(index)):
            say(f"{_fit_name(index, folds)}: already finished, taken as it is")
            results.append(finished)
            continue
        if deadline.passed():
            break
        try:
            results.append(_fit_fold(plan, competition, targets, folds, index, context, metric, clock))
        except BudgetError as error:
            say(f"{_fit_name(index, folds)}: {error}")
            break
    if not any(len(result.valid) for result in results):
        raise BudgetError(
            "--max-time",
            rule="must leave time for one fold at least",
            found="none finished",
            todo="Allow more time; --resume goes on.",
        )
    missing = tuple(index for index in fits if index not in {result.index for result in results})
    held_out = [result for result in results if len(result.valid)]
    ran = [result.index for result in held_out]
    verify(folds, ran, _concatenated(held_out))
    with clock.phase("write"):
        record = write_outputs(
            plan, competition, targets, folds, metric, results, directory=directory, clock=clock, missing=missing
        )
    return RunOutcome(directory=directory, record=record, missing=missing)


def _concatenated(results: list[FoldResult]) -> Any:
    import numpy as np

    return np.concatenate([result.valid for result in results])


def _fit_name(index: int, folds: Folds) -> str:
    return f"fold {index}" if index < folds.num_folds else "all items"


def _fit_fold(
    plan: Plan,
    competition: Competition,
    targets: Targets,
    folds: Folds,
    index: int,
    context: Context,
    metric: Metric,
    clock: Clock,
) -> FoldResult:
    """Fit, score the held-out and the test items, save; the fold's record is written last."""
    import numpy as np

    if index < folds.num_folds:
        train, valid = folds.fold(index)
    else:  # a time split's folds each miss the latest items: the test part is predicted by a fit on everything
        train, valid = np.arange(len(folds)), np.empty(0, dtype=np.int64)
    name = _fit_name(index, folds)
    context.say(f"{name}: {len(train)} items to learn from, {len(valid)} held out")
    learner: Learner[Any] = make_learner(plan.learner, plan.problem, plan.config)
    started = time.perf_counter()
    with clock.phase("fit"):
        fold = Fold(index=index, train=train, valid=valid, group=folds.group_N, order=folds.order_N)
        state = learner.fit(competition.train, targets, fold, context)
    with clock.phase("predict"):
        valid_predictions = learner.predict(state, competition.train, context, valid)
        test_predictions = learner.predict(state, competition.test, context)
    with clock.phase("write"):
        learner.save(state, context.directory / "learner")
        facts = {
            **learner.describe(state),
            "seconds": time.perf_counter() - started,
            "train_items": len(train),
            "valid_items": len(valid),
        }
        result = FoldResult(
            index=index, valid=valid, valid_predictions=valid_predictions, test_predictions=test_predictions, facts=facts
        )
        write_fold(context.directory, result, plan.fingerprint(index))
    if len(valid):
        score = _shown_score(metric, targets.take(valid), valid_predictions)
        context.say(f"{name}: {metric.name} {score}, {format_duration(time.perf_counter() - started)}")
    return result


def _shown_score(metric: Metric, targets: Targets, predictions: Predictions) -> str:
    try:
        return number(metric(targets, predictions))
    except MatchfitError as error:
        return f"not defined ({error.found})"
