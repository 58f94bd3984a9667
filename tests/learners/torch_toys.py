"""A tiny modality for tests of the torch learner: rows of numbers, a network with BatchNorm and dropout, noise as augmentation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import torch
from torch import nn

from matchfit.competition.problem import Items, MetricChoice, Problem, Targets
from matchfit.core.durations import Deadline
from matchfit.core.seeds import generator
from matchfit.learners.base import Context, Fold
from matchfit.learners.config import TrainConfig
from matchfit.learners.torch.learner import TorchLearner
from matchfit.modalities.base import Batch, Recipe, TorchModality

CLASSES = ("a", "b", "c")


class ToyDataset(torch.utils.data.Dataset):
    def __init__(self, source, order, targets, batch_size, epoch_seed):
        self.parts = source, order, targets, batch_size, epoch_seed

    def __len__(self):
        return -(-len(self.parts[1]) // self.parts[3])

    def __getitem__(self, number):
        source, order, targets, size, seed = self.parts
        rows = order[number * size : (number + 1) * size]
        inputs = torch.from_numpy(source[rows])
        if seed is not None:
            noise = np.stack([generator(seed, int(row)).normal(size=source.shape[1]) for row in rows])
            inputs = inputs + 0.05 * torch.from_numpy(noise.astype(np.float32))
        return Batch(inputs=inputs, rows=rows, targets=None if targets is None else targets[torch.from_numpy(rows)])


def same(batch):
    return batch


class ToyModality(TorchModality[np.ndarray]):
    """Columns `x0` … of the items' table; an empty cell in `x0` makes the item unreadable."""

    def plan(self, items, fit_rows, say):
        self.width = sum(name.startswith("x") for name in items.table.columns)

    def restore(self, settings):
        self.width = settings["width"]

    def settings(self):
        return {"width": self.width, "kind": "toy"}

    def recipe(self, num_train):
        return Recipe(epochs=3, batch_size=16, lr=0.01, weight_decay=0.01)

    def source(self, items, cache, say):
        columns = [items.table[f"x{number}"].cast(pl.Float32).to_numpy() for number in range(self.width)]
        return np.stack(columns, axis=1).astype(np.float32)

    def readable(self, source):
        return ~np.isnan(source[:, 0])

    def model(self, *, pretrained):
        outputs = len(self.problem.score_columns)
        return nn.Sequential(
            nn.Linear(self.width, 24),
            nn.BatchNorm1d(24),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(24, 24),
            nn.ReLU(),
            nn.Linear(24, outputs),
        )

    def batches(self, source, rows, targets, *, batch_size, epoch_seed, skip=0) -> Iterator[Batch]:
        order = rows if epoch_seed is None else rows[generator(epoch_seed, "order").permutation(len(rows))]
        data = ToyDataset(source, order, targets, batch_size, epoch_seed)
        numbers = range(skip, len(data))
        if not self.config.workers:
            yield from (data[number] for number in numbers)
            return
        loader = torch.utils.data.DataLoader(
            data, batch_size=None, sampler=numbers, num_workers=self.config.workers, collate_fn=same, generator=torch.Generator()
        )
        yield from loader

    def num_batches(self, num_rows, batch_size):
        return -(-num_rows // batch_size)

    def loss(self, targets):
        if self.problem.classes:
            return lambda outputs, truth: nn.functional.cross_entropy(outputs, truth, reduction="none")
        return lambda outputs, truth: ((outputs - truth) ** 2).mean(dim=1)

    def scores(self, outputs):
        return (outputs.double().softmax(dim=1) if self.problem.classes else outputs.double()).numpy()


def toy_problem(task="multiclass"):
    classes = CLASSES if task == "multiclass" else ()
    return Problem(
        name="toy",
        modality="tabular",
        task=task,
        id_columns=("id",),
        targets=("y",),
        classes=classes,
        submission_columns=("id", "y"),
        prediction_columns=("y",),
        submission_form="label" if classes else "value",
        metric=MetricChoice(name="accuracy" if classes else "rmse", direction="maximize" if classes else "minimize", guessed=False),
    )


def toy_data(num_rows=150, *, unreadable=(), task="multiclass"):
    """(items, targets): three noisy clouds, or a line with noise."""
    random = generator("toy", num_rows)
    label = random.integers(0, 3, num_rows)
    table = {f"x{number}": random.normal(size=num_rows) + (label == number) * 1.5 for number in range(4)}
    frame = pl.DataFrame(table).cast(pl.Float32).cast(pl.String)
    empty = pl.Series("row", np.isin(np.arange(num_rows), list(unreadable)))
    frame = frame.with_columns(pl.when(empty).then(None).otherwise(pl.col("x0")).alias("x0"))
    items = Items(ids=pl.Series([f"{number:04d}" for number in range(num_rows)]), table=frame)
    values = label if task == "multiclass" else label[:, None].astype(np.float64)
    return items, Targets(task=task, classes=CLASSES if task == "multiclass" else (), values=values)


def toy_fold(num_rows=150, valid=30):
    return Fold(index=0, train=np.arange(valid, num_rows), valid=np.arange(valid))


def accuracy(targets, predictions):
    if targets.classes:
        return float((predictions.scores_NK.argmax(axis=1) == targets.values).mean())
    return float(np.sqrt(((predictions.scores_NK - targets.values) ** 2).mean()))


def toy_context(directory: Path, *, score=accuracy, seconds=None, lines=None, resume=False, fast_dev_run=False, cache=None, seed=0):
    said = [] if lines is None else lines
    return Context(
        directory=directory,
        cache=cache or directory / "cache",
        seed=seed,
        score=score,
        say=said.append,
        deadline=Deadline(seconds),
        resume=resume,
        fast_dev_run=fast_dev_run,
    )


def toy_config(**settings):
    return TrainConfig(**{"tensorboard": False, "precision": "fp32", "device": "cpu", **settings})


def toy_learner(task="multiclass", modality=ToyModality, **settings):
    return TorchLearner(toy_problem(task), toy_config(**settings), modality=modality)
