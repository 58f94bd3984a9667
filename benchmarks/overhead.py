"""What our loop costs over a bare PyTorch loop with the same model, precision and batches: `python -m benchmarks.overhead`.

An epoch of one and an epoch of the other take turns within one process, so that a busy machine slows both alike. Ours has all that
`train` does by default: clipping, moving average, counting, logs, checkpoints. The bare loop has none of that: forward, backward, step.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from benchmarks.common import append, pictures, spread
from matchfit.core.seeds import derive_seed
from matchfit.learners.base import Context, Fold
from matchfit.learners.config import TrainConfig
from matchfit.learners.torch.job import Job
from matchfit.learners.torch.learner import ImageLearner
from matchfit.learners.torch.loop import train
from matchfit.learners.torch.precision import Precision
from matchfit.learners.torch.setup import prepare


class OneEpoch(Job):
    """A job whose loop returns at the end of each epoch."""

    def is_over(self) -> bool:
        return self.progress.epoch_ends and self.progress.step == self.until

    until = 0

    def run(self) -> None:
        self.until = (self.progress.epoch + 1) * self.progress.steps_per_epoch
        train(self)


def bare_epoch(job: Job, model: nn.Module, optimizer: torch.optim.Optimizer, epoch: int) -> None:
    """The loop of a tutorial."""
    parts = job.parts
    precision = Precision(parts.choice.name, job.stepper.device.type)
    model.train()
    seed = derive_seed(0, "epoch", 0, epoch)
    batches = parts.modality.batches(
        parts.source, parts.train, parts.target_tensor, batch_size=parts.hyper.batch_size, epoch_seed=seed
    )
    for batch in batches:
        assert isinstance(batch.inputs, torch.Tensor)
        assert batch.targets is not None
        inputs = batch.inputs.to(job.stepper.device, memory_format=torch.channels_last)
        optimizer.zero_grad()
        with precision.autocast():
            outputs = model(inputs)
        loss = nn.functional.cross_entropy(outputs.float(), batch.targets.to(job.stepper.device))
        loss.backward()
        optimizer.step()


def seconds_of(work: Callable[[], None]) -> tuple[float, float]:
    """(wall-clock seconds, seconds of processor time): the second hardly sees what else the machine is doing."""
    started, cpu = time.perf_counter(), time.process_time()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - started, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--items", type=int, default=1024)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measure(asked, Path(scratch))


def measure(asked: argparse.Namespace, scratch: Path) -> None:
    problem, items, targets = pictures(scratch / "pictures", asked.items, asked.size)
    config = TrainConfig(
        model=asked.model,
        pretrained="none",
        image_size=asked.size,
        batch_size=asked.batch_size,
        epochs=float(asked.rounds + 1),
        precision=asked.precision,
    )
    learner = ImageLearner(problem, config)
    context = Context(directory=scratch / "fold", cache=scratch / "cache", seed=0, score=lambda *_: 0.0, say=print)
    fold = Fold(index=0, train=np.arange(len(items)), valid=np.arange(0))
    made = prepare(learner._new_modality(), config, items, targets, fold, context, learner._source)
    ours = OneEpoch(made.parts, made.stepper, made.ema, made.progress, made.trackers)
    model = made.parts.modality.model(pretrained=False).to(made.stepper.device)
    model = model.to(memory_format=torch.channels_last)
    bare = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ours.run()  # kernels and files warm up
    bare_epoch(ours, model, bare, 0)
    seconds: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
    for number in range(1, asked.rounds + 1):
        work = {"ours": ours.run, "bare": functools.partial(bare_epoch, ours, model, bare, number)}
        for name in sorted(work, reverse=number % 2 == 0):  # who goes first alternates
            seconds[name].append(seconds_of(work[name]))
    ours.close()
    figures = {}
    for place, kind in enumerate(("wall", "processor")):
        ratios = [a[place] / b[place] for a, b in zip(seconds["ours"], seconds["bare"], strict=True)]
        figures[kind] = spread(ratios)
        typical = {name: statistics.median(value[place] for value in values) for name, values in seconds.items()}
        print(f"{kind} time of an epoch: ours {typical['ours']:.2f} s, bare {typical['bare']:.2f} s")
        print(f"  ratio: median {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}, n = {len(ratios)}")
    settings = {**vars(asked), "precision": made.parts.choice.name, "device": str(made.stepper.device)}
    append("overhead", ratio=figures, settings=settings, threads=torch.get_num_threads())


if __name__ == "__main__":
    main()
