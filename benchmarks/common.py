"""What benchmarks share: pictures to work on, and one JSON line a figure in `results.jsonl`."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from matchfit.competition.files import FileTree
from matchfit.competition.problem import Items, MetricChoice, Problem, Targets
from matchfit.core import machine
from matchfit.core.records import jsonable

RESULTS = Path(__file__).with_name("results.jsonl")


def append(benchmark: str, **figures: Any) -> None:
    """One line: the figures, the machine, the commit, the day."""
    import torch

    row = {
        "benchmark": benchmark,
        **figures,
        "chip": machine.chip(),
        "cores": machine.cores(),
        "torch": str(torch.__version__),
        "commit": machine.commit(),
        "day": time.strftime("%Y-%m-%d"),
    }
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(jsonable(row), ensure_ascii=False) + "\n")


def spread(values: list[float]) -> dict[str, float]:
    """Median, smallest, largest, and how many."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)}


def pictures(folder: Path, num_items: int, size: int, num_classes: int = 10) -> tuple[Problem, Items, Targets]:
    """A competition of noise pictures (PNG, `size` × `size`) whose brightness tells the class: what is timed does not depend on more."""
    from PIL import Image

    random = np.random.default_rng(0)
    label = random.integers(0, num_classes, num_items)
    folder.mkdir(parents=True, exist_ok=True)
    for number, value in enumerate(label):
        pixels = random.integers(0, 128, (size, size, 3)) + int(value) * 12
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number}.png", compress_level=1)
    classes = tuple(str(number) for number in range(num_classes))
    problem = Problem(
        name="pictures",
        modality="image",
        task="multiclass",
        id_columns=("id",),
        targets=("label",),
        classes=classes,
        submission_columns=("id", "label"),
        prediction_columns=("label",),
        submission_form="label",
        metric=MetricChoice(name="accuracy", direction="maximize", guessed=False),
    )
    names = [f"{number}.png" for number in range(num_items)]
    items = Items(ids=pl.Series(names), table=pl.DataFrame({"id": names}), media=pl.Series(names), files=FileTree(folder))
    return problem, items, Targets(task="multiclass", classes=classes, values=label)
