"""One fold's fit, put together: the questions and the actions of the loop. Shapes: N items, K outputs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from matchfit.competition.problem import Predictions, Targets
from matchfit.core.console import Bar
from matchfit.core.console import progress as bar_of
from matchfit.core.errors import BudgetError, MetricError, RunError
from matchfit.core.seeds import derive_seed
from matchfit.learners.base import Context
from matchfit.learners.torch import checkpoint
from matchfit.learners.torch.ema import ModelEma
from matchfit.learners.torch.hyper import Hyper
from matchfit.learners.torch.infer import closing_if_it_can, infer
from matchfit.learners.torch.optimizers import state_tensors
from matchfit.learners.torch.pace import Pace
from matchfit.learners.torch.precision import Choice
from matchfit.learners.torch.progress import Progress, epoch_line
from matchfit.learners.torch.schedules import rate
from matchfit.learners.torch.step import Stepper
from matchfit.learners.torch.tracking import Tracker
from matchfit.modalities.base import Batch, TorchModality

Rows = npt.NDArray[np.int64]
LAST, BEST = "last.safetensors", "best.safetensors"
HOLD_OUT, VALID = "hold-out", "valid"
LOGS_PER_EPOCH = 10
FAST_DEV_BATCHES = 2
REPLAN_SHARE = 0.05  # a deadline's plan is looked at again after each such share of the run


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What does not change during a fit.

    `watched` holds the rows that are scored at each epoch's end, by part: VALID for information; HOLD_OUT (with `patience`) decides.
    `train` and `watched` are without unreadable items.
    """

    name: str
    index: int
    context: Context
    hyper: Hyper
    identity: dict[str, Any]
    modality: TorchModality[Any]
    source: Any
    targets: Targets
    target_tensor: torch.Tensor
    train: Rows
    watched: dict[str, Rows]
    choice: Choice
    save_every: int


class Job:
    """The moving parts of a fit. `progress` says where it stands."""

    def __init__(self, parts: Parts, stepper: Stepper, ema: ModelEma | None, progress: Progress, trackers: list[Tracker]) -> None:
        self.parts, self.stepper, self.ema, self.progress, self.trackers = parts, stepper, ema, progress, trackers
        self.say = parts.context.say
        self.metric = parts.modality.problem.metric
        self.pace = Pace(parts.choice.step_seconds)
        self._log_every = max(1, progress.steps_per_epoch // LOGS_PER_EPOCH)
        self._rate = 0.0
        self._bar: Bar | None = None
        self._bar_stack = ExitStack()

    # ---- the questions of the loop -------------------------------------------------------------------------------------------

    def evaluation_is_due(self) -> bool:
        return self.progress.epoch_ends and self.progress.evaluated_step != self.progress.step

    def save_is_due(self) -> bool:
        progress, every = self.progress, self.parts.save_every
        if progress.step == progress.saved_step:
            return False
        return progress.epoch_ends or (every > 0 and progress.step % every == 0)

    def is_over(self) -> bool:
        progress, patience = self.progress, self.parts.hyper.patience
        waited = patience > 0 and HOLD_OUT in self.parts.watched and progress.stale_epochs >= patience
        return waited or progress.step >= progress.total_steps

    # ---- its actions ---------------------------------------------------------------------------------------------------------

    def watch_the_clock(self) -> None:
        """Let the run end, and its schedule with it, where the deadline allows it to. Raises BudgetError when no step fits in."""
        progress, deadline = self.progress, self.parts.context.deadline
        if math.isinf(deadline.left()) or progress.step >= progress.total_steps:
            return
        step_seconds = self.pace.step_seconds()
        evaluation = self.pace.evaluation_seconds or self._expected_evaluation(step_seconds or 0.0)
        left = (
            deadline.left() - 3 * evaluation
        )  # the last evaluation, both final scores and the predictions come after the last step
        if left <= 0:
            self._stop_now(deadline.left())
        elif step_seconds and progress.step % max(1, int(REPLAN_SHARE * progress.total_steps)) == 0:
            cost = step_seconds + evaluation / progress.steps_per_epoch
            affordable = min(progress.planned_steps, progress.step + max(1, int(left / cost)))
            early = progress.step < progress.total_steps / 2
            if affordable < 0.98 * progress.total_steps or (early and affordable > 1.05 * progress.total_steps):
                self._plan(affordable, "planned_by_time")

    def step(self, batches: list[Batch]) -> None:
        parts, progress = self.parts, self.progress
        self._open_bar()
        self._rate = rate(parts.hyper.schedule, progress.step, progress.total_steps, parts.hyper.warmup, parts.hyper.lr)
        self.stepper.step(batches, lr=self._rate, seed=derive_seed(parts.context.seed, "step", parts.index, progress.step))
        if self.ema is not None:
            self.ema.update(progress.step)
        progress.step += 1

    def log(self) -> None:
        """Ten points an epoch: reading the sums waits for the device, so not at every step."""
        progress = self.progress
        note = ""
        if progress.step % self._log_every == 0 and not progress.epoch_ends:
            averages = progress.averages(self.stepper.read())
            self.record("step", lr=self._rate, **averages)
            note = "" if averages["loss"] is None else f"loss {averages['loss']:.4f}"
        progress.epoch_seconds += self.pace.stepped(warm_up=progress.step == 1)
        if self._bar is not None:
            self._bar.advance(1, note)

    def evaluate(self) -> None:
        """The epoch's line. Targets of `valid` are looked at for it and decide nothing; those of the hold-out decide when to stop."""
        self._close_bar()
        progress = self.progress
        sums = self.stepper.read()
        progress.epoch_seconds += self.pace.stepped(warm_up=True)
        row: dict[str, Any] = {"epochs_done": progress.epochs_done, "lr": self._rate, **progress.averages(sums)}
        row["items_per_second"] = sums["rows"] / progress.epoch_seconds if progress.epoch_seconds else 0.0
        for part, rows in self.parts.watched.items():
            row[f"{part}_loss"], row[f"{part}_score"] = self.score(self.averaged_model, rows)
        row["seconds"] = {"train": progress.epoch_seconds, "evaluate": self.pace.evaluated()}
        progress.skipped += int(sums["skipped"])
        progress.clipped += int(sums["clipped"])
        progress.train_seconds += progress.epoch_seconds
        progress.evaluate_seconds += row["seconds"]["evaluate"]
        progress.epoch_seconds = 0.0
        progress.evaluated_step = progress.step
        self.stepper.reset()
        best = self._note_best(row)
        self.record("epoch", best=best, **row)
        if row["skipped"]:
            self.record("event", event="non_finite_gradients", detail=f"{row['skipped']} steps skipped")
        self.say(
            epoch_line(
                row, metric=self.metric.name, fold=self.parts.name, num_epochs=self._num_epochs(), left=self._left(), best=best
            )
        )

    def save(self) -> None:
        """Everything that a resumed run needs, in one file, in one step."""
        progress, stepper = self.progress, self.stepper
        progress.saved_step, progress.micro, progress.counters = progress.step, stepper.micro, stepper.counters.tolist()
        tensors = checkpoint.prefixed("model", stepper.model.state_dict().items())
        if self.ema is not None:
            tensors |= checkpoint.prefixed("ema", self.ema.model.state_dict().items())
        tensors |= checkpoint.prefixed("optimizer", state_tensors(stepper.optimizer, stepper.model))
        record = {
            "identity": self.parts.identity,
            "settings": self.parts.modality.settings(),
            "hyper": self.parts.hyper.as_json(),
            "precision": {"name": self.parts.choice.name, "reason": self.parts.choice.reason},
            "scaler": None if stepper.scaler is None else stepper.scaler.state_dict(),
            "progress": progress.as_json(),
        }
        checkpoint.write(self.parts.context.directory / LAST, tensors, record, as_laid_out=True)
        self.pace.restart()

    # ---- what they are made of -----------------------------------------------------------------------------------------------

    @contextmanager
    def feed(self) -> Iterator[Iterator[list[Batch]]]:
        """The batches of every coming step, from where the progress stands. Leaving it ends bar and workers."""
        batches = self._batches()
        self.pace.restart()
        try:
            yield batches
        finally:
            self._close_bar()
            batches.close()

    def _batches(self) -> Generator[list[Batch], None, None]:
        parts, progress, accumulate = self.parts, self.progress, self.parts.hyper.accumulate
        while True:
            epoch, done = progress.epoch, progress.step_in_epoch
            stream = parts.modality.batches(
                parts.source,
                parts.train,
                parts.target_tensor,
                batch_size=parts.hyper.batch_size,
                epoch_seed=derive_seed(parts.context.seed, "epoch", parts.index, epoch),
                skip=done * accumulate,
            )
            with closing_if_it_can(stream):  # ends its thread or workers
                while group := list(itertools.islice(stream, accumulate)):
                    yield group
                    done += 1
            if done != progress.steps_per_epoch:
                raise RunError(
                    "batches",
                    rule=f"an epoch must have {progress.steps_per_epoch} steps",
                    found=str(done),
                    todo="This is a fault of the modality.",
                )

    @property
    def averaged_model(self) -> torch.nn.Module:
        """The model that is evaluated and kept: the moving average, where there is one."""
        return self.stepper.model if self.ema is None else self.ema.model

    def score(self, model: torch.nn.Module, rows: Rows) -> tuple[float | None, float | None]:
        """(mean loss, metric) of `model` on `rows`, None where one is not defined: that is an event with a name, said and recorded."""
        parts, stepper = self.parts, self.stepper
        outputs_NK, got = infer(
            model,
            parts.modality,
            parts.source,
            rows,
            batch_size=parts.hyper.batch_size,
            precision=stepper.precision,
            channels_last=stepper.channels_last,
            num_batches=FAST_DEV_BATCHES if parts.context.fast_dev_run else None,
        )
        with torch.inference_mode():
            targets = parts.target_tensor[torch.from_numpy(got)].to(stepper.device)
            loss = float(stepper.loss(outputs_NK.to(stepper.device), targets).mean())
        predictions = Predictions(columns=parts.modality.problem.score_columns, scores_NK=parts.modality.scores(outputs_NK))
        try:
            score = float(parts.context.score(parts.targets.take(got), predictions))
            fault = "" if math.isfinite(score) else f"{self.metric.name} is {score}"
        except MetricError as error:
            score, fault = math.nan, str(error)
        if fault:
            self.say(f"{parts.name}: metric undefined: {fault}")
            self.record("event", event="metric_undefined", detail=fault)
        return loss if math.isfinite(loss) else None, score if math.isfinite(score) else None

    def record(self, kind: str, **content: Any) -> None:
        """Into the history, which the next checkpoint keeps, and to the trackers."""
        record = {"kind": kind, "step": self.progress.step, "fold": self.parts.index, **content}
        self.progress.history.append(record)
        for tracker in self.trackers:
            tracker.log(record)

    def close(self) -> None:
        for tracker in self.trackers:
            tracker.close()

    def _note_best(self, row: dict[str, Any]) -> bool:
        """Keep the weights of the best epoch: on the hold-out they are what is used, on `valid` they are for information."""
        part = next((name for name in (HOLD_OUT, VALID) if name in self.parts.watched), None)
        if part is None or not self.progress.note_score(row[f"{part}_score"], maximize=self.metric.direction == "maximize"):
            return False
        facts = {
            "step": self.progress.step,
            "epochs_done": self.progress.epochs_done,
            "by": part,
            "score": self.progress.best_score,
        }
        checkpoint.write(self.parts.context.directory / BEST, self.averaged_model.state_dict(), facts)
        return True

    def _stop_now(self, seconds_left: float) -> None:
        if self.progress.step == 0:
            raise BudgetError(
                "--max-time",
                rule="must leave time for one training step at least",
                found=f"{max(seconds_left, 0.0):.1f} s for {self.parts.name}",
                todo="Allow more time, take fewer folds (--folds 0), a smaller --model or smaller inputs.",
            )
        self._plan(self.progress.step, "stopped_by_time")

    def _plan(self, total_steps: int, event: str) -> None:
        progress = self.progress
        progress.total_steps = total_steps
        planned = progress.planned_steps / progress.steps_per_epoch
        detail = f"the time allows {self._num_epochs():.3g} of {planned:.3g} epochs"
        self.record("event", event=event, detail=detail)
        self.say(f"{self.parts.name}: {detail}; the schedule ends there")

    def _expected_evaluation(self, step_seconds: float) -> float:
        """Before the first evaluation: a forward pass is about a third of a step."""
        rows = sum(len(rows) for rows in self.parts.watched.values())
        return step_seconds / 3 * rows / (self.parts.hyper.batch_size * self.parts.hyper.accumulate)

    def _num_epochs(self) -> float:
        return self.progress.total_steps / self.progress.steps_per_epoch

    def _left(self) -> float:
        progress = self.progress
        steps = max(progress.total_steps - progress.step, 0)
        cost = (self.pace.step_seconds() or 0.0) + (self.pace.evaluation_seconds or 0.0) / progress.steps_per_epoch
        return steps * cost

    def _open_bar(self) -> None:
        if self._bar is None:
            progress = self.progress
            last = min(progress.steps_per_epoch, progress.total_steps - progress.epoch * progress.steps_per_epoch)
            self._bar = self._bar_stack.enter_context(bar_of(last, f"{self.parts.name}, epoch {progress.epoch + 1}"))
            if progress.step_in_epoch:
                self._bar.advance(progress.step_in_epoch)

    def _close_bar(self) -> None:
        self._bar = None
        self._bar_stack.close()
