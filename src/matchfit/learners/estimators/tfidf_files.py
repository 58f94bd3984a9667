"""A TF-IDF state on disk: `weights.safetensors` (arrays) and `learner.json` (the rest, written last). Nothing is executed on loading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from matchfit.core.errors import RunError
from matchfit.core.records import read_record, write_atomically, write_record
from matchfit.learners.estimators.calibrate import Calibrator
from matchfit.learners.estimators.linear import Machines, Ridge
from matchfit.learners.estimators.textfeatures import from_parts, to_parts

if TYPE_CHECKING:
    from matchfit.learners.estimators.tfidf import TfidfState

SCHEMA = 1
WEIGHTS = "weights.safetensors"
RECORD = "learner.json"
MACHINE_PARTS = ("ratio_VK", "weights_VK", "shift_K")


def save(state: TfidfState, directory: Path) -> None:
    from safetensors.numpy import save as to_bytes

    record, arrays = to_parts(state.features)
    for number, machines in enumerate(state.machines):
        arrays |= {f"machines.{number}.{name}": getattr(machines, name) for name in MACHINE_PARTS}
    if state.ridge is not None:
        arrays |= {f"ridge.{name}": getattr(state.ridge, name) for name in ("weights_VK", "shift_K", "low_K", "high_K")}
    for number, calibrator in enumerate(state.calibrators):
        arrays |= {f"calibrator.{number}.weights": calibrator.weights_KF, f"calibrator.{number}.shift": calibrator.shift_K}
    content = to_bytes({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    write_atomically(directory / WEIGHTS, lambda file: write_all(file, content))
    write_record(
        directory / RECORD,
        schema=SCHEMA,
        learner="tfidf",
        kind=state.kind,
        features=record,
        logarithm=state.logarithm,
        num_machines=len(state.machines),
        num_calibrators=len(state.calibrators),
        arrays=sorted(arrays),
        facts=state.facts,
    )


def write_all(file: BinaryIO, content: bytes) -> None:
    file.write(content)


def load(directory: Path) -> TfidfState:
    """Raises RunError when a part is absent, unknown or unreadable."""
    from matchfit.learners.estimators.tfidf import TfidfState

    record = read_record(directory / RECORD, schema=SCHEMA)
    arrays = read_arrays(directory / WEIGHTS, record["arrays"])
    machines = tuple(
        Machines(*(arrays[f"machines.{number}.{name}"] for name in MACHINE_PARTS)) for number in range(record["num_machines"])
    )
    ridge = None
    if "ridge.shift_K" in arrays:
        ridge = Ridge(*(arrays[f"ridge.{name}"] for name in ("weights_VK", "shift_K", "low_K", "high_K")))
    calibrators = tuple(
        Calibrator(arrays[f"calibrator.{number}.weights"], arrays[f"calibrator.{number}.shift"])
        for number in range(record["num_calibrators"])
    )
    return TfidfState(
        kind=record["kind"],
        features=from_parts(record["features"], arrays),
        machines=machines,
        ridge=ridge,
        calibrators=calibrators,
        logarithm=record["logarithm"],
        facts=record["facts"],
    )


def read_arrays(path: Path, names: list[str]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a safetensors file, which must be exactly those named."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays: dict[str, npt.NDArray[Any]] = load_file(path)
    except (OSError, SafetensorError) as error:
        raise RunError(str(path), rule="must be a readable safetensors file", found=str(error), todo="Train again.") from error
    if sorted(arrays) != sorted(names):
        odd = sorted(set(arrays) ^ set(names))
        raise RunError(
            str(path),
            rule="must hold the arrays that its record names",
            found=f"a difference in {', '.join(odd)}",
            todo="Train again.",
        )
    return arrays
