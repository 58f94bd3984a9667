"""From a problem, items and a fold to a `Job` that is ready to run, fresh or from a checkpoint; and from a finished job to a state."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from matchfit.competition.problem import Items, Targets
from matchfit.competition.stored import problem_to_json
from matchfit.core.errors import DataError
from matchfit.core.records import content_hash, jsonable
from matchfit.core.seeds import derive_seed
from matchfit.learners.base import Context, Fold
from matchfit.learners.config import TrainConfig
from matchfit.learners.torch import checkpoint, probe
from matchfit.learners.torch.ema import ModelEma
from matchfit.learners.torch.hyper import Hyper, identity, refuse_other, resolve_device, settle
from matchfit.learners.torch.infer import as_tensor, closing_if_it_can, prior
from matchfit.learners.torch.job import BEST, FAST_DEV_BATCHES, HOLD_OUT, LAST, VALID, Job, Parts, Rows
from matchfit.learners.torch.optimizers import adamw, restore_state
from matchfit.learners.torch.precision import Choice, Precision
from matchfit.learners.torch.progress import Progress
from matchfit.learners.torch.state import TorchState
from matchfit.learners.torch.step import Loss, Stepper
from matchfit.learners.torch.tracking import open_trackers
from matchfit.modalities.base import Batch, TorchModality

HOLD_OUT_SHARE = 0.1
LONGEST_FACT = 2000  # characters
Saved = tuple[dict[str, torch.Tensor], dict[str, Any]]


def prepare(
    modality: TorchModality[Any],
    config: TrainConfig,
    items: Items,
    targets: Targets,
    fold: Fold,
    context: Context,
    open_source: Callable[[TorchModality[Any], Items, Context], Any],
) -> Job:
    """Everything up to the first step. Raises RunError when a checkpoint of other settings is to be resumed."""
    who = identity(config, _problem_hash(modality), _fold_hash(items, targets, fold), context.seed, context.fast_dev_run)
    saved = _saved(context)
    if saved is not None:
        modality.restore(saved[1]["settings"])
    else:
        modality.plan(items, fold.train, context.say)
    hyper = settle(config, modality.recipe(len(fold.train)))
    if saved is not None:
        refuse_other(who, saved[1]["identity"], hyper.epochs, saved[1]["hyper"]["epochs"])
    source = open_source(modality, items, context)
    train, watched = _divide(modality.readable(source), targets, fold, hyper, context)
    device = resolve_device(config.device)
    torch.manual_seed(derive_seed(context.seed, "init", fold.index))
    model = modality.model(pretrained=saved is None)
    model = model.to(device)
    if hyper.channels_last:
        model = model.to(memory_format=torch.channels_last)
    loss = modality.loss(targets.take(train))
    target_tensor = as_tensor(targets)
    first = _first_batches(modality, source, train, target_tensor, hyper, derive_seed(context.seed, "epoch", fold.index, 0))
    choice = _choice(config, model.train(), loss, hyper, first, modality, context, saved)
    parts = Parts(
        name=f"fold {fold.index}" if len(fold.valid) else "all items",
        index=fold.index,
        context=context,
        hyper=hyper,
        identity=who,
        modality=modality,
        source=source,
        targets=targets,
        target_tensor=target_tensor,
        train=train,
        watched=watched,
        choice=choice,
        save_every=config.save_every,
    )
    return _assemble(parts, model, loss, config, saved)


def _assemble(parts: Parts, model: nn.Module, loss: Loss, config: TrainConfig, saved: Saved | None) -> Job:
    hyper, context = parts.hyper, parts.context
    optimizer = adamw(model, lr=hyper.lr, weight_decay=hyper.weight_decay)
    precision = Precision(parts.choice.name, next(model.parameters()).device.type)
    ema = ModelEma(model, hyper.ema_decay) if hyper.model_ema else None
    stepper = Stepper(
        model, loss, optimizer, precision, clip_grad=hyper.clip_grad, channels_last=hyper.channels_last, say=context.say
    )
    progress = _progress(parts, saved)
    if saved is not None:
        tensors, record = saved
        checkpoint.load_model(model, checkpoint.under("model", tensors), name=LAST)
        if ema is not None:
            checkpoint.load_model(ema.model, checkpoint.under("ema", tensors), name=LAST)
        restore_state(optimizer, model, checkpoint.under("optimizer", tensors))
        if stepper.scaler is not None:
            stepper.scaler.load_state_dict(record["scaler"])
        stepper.micro = progress.micro
        stepper.counters.copy_(torch.tensor(progress.counters, dtype=stepper.counters.dtype))
        context.say(f"{parts.name}: resumed at step {progress.step} of {progress.total_steps}, epoch {progress.epochs_done:.4g}")
    trackers = open_trackers(
        context.directory,
        progress.history,
        tensorboard=config.tensorboard,
        wandb=config.wandb,
        title=f"{parts.modality.problem.name} {parts.name}",
        settings={**parts.identity, **hyper.as_json()},
    )
    return Job(parts, stepper, ema, progress, trackers)


def finish(job: Job) -> TorchState:
    """The state of a job whose loop has ended: the average of the weights (or the weights), of the best hold-out epoch under `patience`."""
    parts, progress, stepper = job.parts, job.progress, job.stepper
    chosen_step = progress.step
    scores = _final_scores(job)
    model = job.averaged_model
    if parts.hyper.patience and HOLD_OUT in parts.watched and progress.best_step is not None:
        tensors, _ = checkpoint.read(parts.context.directory / BEST)
        checkpoint.load_model(model, tensors, name=BEST)
        chosen_step = progress.best_step
        parts.context.say(f"{parts.name}: weights of epoch {chosen_step / progress.steps_per_epoch:.4g}, the best on the hold-out")
    steps_done = max(progress.step - progress.skipped, 1)
    facts = {
        "learner": "torch",
        "model": _short_settings(parts.modality),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "device": str(stepper.device),
        "precision": parts.choice.name,
        "precision_reason": parts.choice.reason,
        "settings": parts.hyper.as_json(),
        "micro_batch": stepper.micro or parts.hyper.batch_size,
        "epochs": progress.epochs_done,
        "steps": progress.step,
        "chosen_epoch": chosen_step / progress.steps_per_epoch,
        "train_rows": len(parts.train),
        "skipped_steps": progress.skipped,
        "clipped_share": progress.clipped / steps_done,
        "seconds": {"train": progress.train_seconds, "evaluate": progress.evaluate_seconds},
        **scores,
        "events": [record for record in progress.history if record["kind"] == "event"],
    }
    return TorchState(
        modality=parts.modality,
        model=model.eval(),
        precision=parts.choice.name,
        batch_size=parts.hyper.batch_size,
        channels_last=parts.hyper.channels_last,
        prior=prior(parts.targets.take(parts.train), len(parts.modality.problem.score_columns)),
        facts=facts,
    )


def _short_settings(modality: TorchModality[Any]) -> dict[str, Any]:
    """The settings without long ones (a vocabulary), which `learner.json` holds: a record is for reading."""
    return {key: value for key, value in modality.settings().items() if len(json.dumps(jsonable(value))) <= LONGEST_FACT}


def _final_scores(job: Job) -> dict[str, Any]:
    """Both scores on `valid`, of the last weights and of their average; said aloud, deciding nothing."""
    rows = job.parts.watched.get(VALID)
    last_epoch = next((record for record in reversed(job.progress.history) if record["kind"] == "epoch"), None)
    if rows is None or last_epoch is None:
        return {"score_final": None, "score_ema": None}
    kept = last_epoch[f"{VALID}_score"]
    if job.ema is None:
        return {"score_final": kept, "score_ema": None}
    final = job.score(job.stepper.model, rows)[1]
    shown = " / ".join("undefined" if value is None else f"{value:.4f}" for value in (final, kept))
    job.say(f"{job.parts.name}: {job.metric.name} of the last weights / of their average: {shown} (the average is used)")
    return {"score_final": final, "score_ema": kept}


def _progress(parts: Parts, saved: Saved | None) -> Progress:
    hyper = parts.hyper
    steps_per_epoch = math.ceil(parts.modality.num_batches(len(parts.train), hyper.batch_size) / hyper.accumulate)
    total = max(1, round(hyper.epochs * steps_per_epoch))
    if parts.context.fast_dev_run:
        total = min(total, math.ceil(FAST_DEV_BATCHES / hyper.accumulate))
    if saved is None:
        return Progress(steps_per_epoch=steps_per_epoch, total_steps=total, planned_steps=total)
    progress = Progress(**saved[1]["progress"])
    progress.total_steps = progress.planned_steps = total
    return progress


def _choice(
    config: TrainConfig,
    model: nn.Module,
    loss: Loss,
    hyper: Hyper,
    batches: Callable[[], list[Batch]],
    modality: TorchModality[Any],
    context: Context,
    saved: Saved | None,
) -> Choice:
    if saved is not None:
        return probe.restored(saved[1]["precision"])
    choice = probe.settle_precision(
        config.precision,
        model=model,
        loss=loss,
        hyper=hyper,
        batches=batches,
        cache=context.cache,
        say=context.say,
        must_time=math.isfinite(context.deadline.left()),
        fast_dev_run=context.fast_dev_run,
    )
    context.say(f"precision {choice.name}: {choice.reason}")
    return choice


def _first_batches(
    modality: TorchModality[Any], source: Any, train: Rows, targets: torch.Tensor, hyper: Hyper, epoch_seed: int
) -> Callable[[], list[Batch]]:
    """Two batches of the first epoch, for timing; prepared only when somebody asks."""

    def batches() -> list[Batch]:
        stream = modality.batches(source, train, targets, batch_size=hyper.batch_size, epoch_seed=epoch_seed)
        with closing_if_it_can(stream):
            return list(itertools.islice(stream, 2))

    return batches


def _divide(
    readable_N: npt.NDArray[np.bool_], targets: Targets, fold: Fold, hyper: Hyper, context: Context
) -> tuple[Rows, dict[str, Rows]]:
    """(rows to learn from, rows to watch by part), without unreadable items. The hold-out of `patience` is cut from the training part."""
    train, watched = fold.train, {}
    if hyper.patience:
        from matchfit.validation.folds import inner_split

        seed = derive_seed(context.seed, "hold-out", fold.index)
        train, hold = inner_split(fold.train, fold.group, fold.order, targets, HOLD_OUT_SHARE, seed)
        watched[HOLD_OUT] = hold[readable_N[hold]]
        if not len(watched[HOLD_OUT]):
            context.say("patience: nothing can be held out of the training part, so training runs to its end")
    watched[VALID] = fold.valid[readable_N[fold.valid]]
    kept = train[readable_N[train]]
    if len(kept) < len(train):
        context.say(f"{len(train) - len(kept)} unreadable items are not learnt from")
    if not len(kept):
        raise DataError(
            "train",
            rule="must hold items that can be read",
            found=f"none of {len(train)}",
            todo="Run `matchfit inspect`: it lists what is wrong with them.",
        )
    return kept, {name: rows for name, rows in watched.items() if len(rows)}


def _saved(context: Context) -> Saved | None:
    """The checkpoint to go on from. A fresh start clears what an earlier fit left, so that nobody resumes from that later."""
    checkpoint.sweep(context.directory)
    last = context.directory / LAST
    if context.resume:
        return checkpoint.read(last) if last.exists() else None
    for name in (LAST, BEST, "metrics.jsonl"):
        (context.directory / name).unlink(missing_ok=True)
    shutil.rmtree(context.directory / "tensorboard", ignore_errors=True)
    return None


def _problem_hash(modality: TorchModality[Any]) -> str:
    """The metric decides nothing about the weights, but for the epoch that `patience` takes."""
    values = problem_to_json(modality.problem)
    if not modality.config.patience:
        values.pop("metric", None)
    return content_hash(values)


def _fold_hash(items: Items, targets: Targets, fold: Fold) -> str:
    digest = hashlib.sha256()
    for text in items.ids.to_list():
        digest.update(str(text).encode("utf-8") + b"\0")
    for array in (fold.train, fold.valid, targets.values):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
