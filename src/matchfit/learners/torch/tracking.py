"""Where the numbers of a fit go: `metrics.jsonl` always, TensorBoard and Weights & Biases when asked.

The history stands in the checkpoint and is the truth. A tracker is given all of it when it opens, and starts its files anew from that, so
a resumed run has every step once, whatever was written after the last checkpoint.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from matchfit.core.errors import missing_dependency
from matchfit.core.records import jsonable, write_text

Record = Mapping[str, Any]


class Tracker(Protocol):
    def log(self, record: Record) -> None: ...

    def close(self) -> None: ...


def open_trackers(
    directory: Path, history: Sequence[Record], *, tensorboard: bool, wandb: bool, title: str, settings: Record
) -> list[Tracker]:
    """The trackers that are asked for, already holding `history`."""
    trackers: list[Tracker] = [JsonLines(directory / "metrics.jsonl", history)]
    if tensorboard:
        trackers.append(TensorBoard(directory / "tensorboard"))
    if wandb:
        trackers.append(WeightsAndBiases(directory, title, settings))
    for tracker in trackers[1:]:
        for record in history:
            tracker.log(record)
    return trackers


class JsonLines:
    """One JSON object a line, flushed at once. `kind` is `step`, `epoch` or `event`."""

    def __init__(self, path: Path, history: Sequence[Record]) -> None:
        write_text(path, "".join(_line(record) for record in history))
        self._file = path.open("a", encoding="utf-8")

    def log(self, record: Record) -> None:
        self._file.write(_line(record))
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _line(record: Record) -> str:
    return json.dumps(jsonable(record), ensure_ascii=False, allow_nan=False) + "\n"


def _numbers(record: Record) -> dict[str, float]:
    """`epoch/valid_loss`: the numbers of a record, named after its kind."""
    left_out = {"kind", "step", "fold"}
    return {
        f"{record['kind']}/{key}": float(value)
        for key, value in record.items()
        if key not in left_out and isinstance(value, (int, float)) and not isinstance(value, bool)
    }


class TensorBoard:
    """Event files under `tensorboard/`; those of a broken run are replaced."""

    def __init__(self, directory: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise missing_dependency("tensorboard", extra="all", needed_for="train.tensorboard") from error
        shutil.rmtree(directory, ignore_errors=True)
        self._writer = SummaryWriter(str(directory))

    def log(self, record: Record) -> None:
        for name, value in _numbers(record).items():
            self._writer.add_scalar(name, value, int(record["step"]))

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases:
    """Offline unless WANDB_MODE says otherwise: a run never stops to ask for a key. `wandb sync` sends it later."""

    def __init__(self, directory: Path, title: str, settings: Record) -> None:
        try:
            import wandb
        except ImportError as error:
            raise missing_dependency("wandb", extra="tracking", needed_for="train.wandb") from error
        import os

        os.environ.setdefault("WANDB_MODE", "offline")
        shutil.rmtree(directory / "wandb", ignore_errors=True)
        self._run = wandb.init(project="matchfit", name=title, dir=str(directory), config=jsonable(settings), reinit="create_new")

    def log(self, record: Record) -> None:
        numbers = _numbers(record)
        if numbers:
            self._run.log(numbers, step=int(record["step"]))

    def close(self) -> None:
        self._run.finish()
