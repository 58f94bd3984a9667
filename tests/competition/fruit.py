"""A small table of numbers and fruit, for tests of reading folders."""

from __future__ import annotations

import random
from pathlib import Path

from matchfit.competition.config import CompetitionConfig
from matchfit.competition.problem import Competition
from matchfit.competition.read import read_competition

TRAIN, TEST = 40, 10
FRUIT = ["apple", "banana", "cherry"]


def read(folder: Path, **config: object) -> Competition:
    return read_competition(folder, CompetitionConfig(**config))  # type: ignore[arg-type]


def labels(count: int = TRAIN, names: list[str] = FRUIT) -> list[str]:
    return [names[n % len(names)] for n in range(count)]


def numbers(seed: int, count: int) -> list[tuple[float, int]]:
    rng = random.Random(seed)
    return [(round(rng.gauss(0, 1), 3), rng.randint(0, 9)) for _ in range(count)]


def shape_of(found: Competition) -> tuple[object, ...]:
    problem = found.problem
    return problem.modality, problem.task, problem.id_columns, problem.targets, len(found.train), len(found.test)
