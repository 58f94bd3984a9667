"""Where a fit stands: the one record that, with the tensors, is all that a resumed run needs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from matchfit.core.durations import format_duration


@dataclass(kw_only=True)
class Progress:
    """Counted in optimizer steps. `total_steps` may be changed by a deadline or, on resume, by more epochs.

    `best_score` is the best of the `watched` part (`valid`: for information, `hold-out`: it decides, see `patience`).
    """

    steps_per_epoch: int
    total_steps: int
    step: int = 0
    evaluated_step: int = 0
    saved_step: int = 0
    best_score: float | None = None
    best_step: int | None = None
    stale_epochs: int = 0
    skipped: int = 0
    clipped: int = 0
    micro: int | None = None
    planned_steps: int = 0  # before any deadline
    epoch_seconds: float = 0.0  # of the running epoch
    train_seconds: float = 0.0
    evaluate_seconds: float = 0.0
    counters: list[float] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def epoch(self) -> int:
        """The epoch (from 0) that the next step belongs to."""
        return self.step // self.steps_per_epoch

    @property
    def step_in_epoch(self) -> int:
        return self.step % self.steps_per_epoch

    @property
    def epoch_ends(self) -> bool:
        """The step before was an epoch's last, or the run's."""
        return self.step > 0 and (self.step_in_epoch == 0 or self.step >= self.total_steps)

    @property
    def epochs_done(self) -> float:
        return self.step / self.steps_per_epoch

    def averages(self, sums: dict[str, float]) -> dict[str, Any]:
        """Means over the steps that `sums` (see `step.COUNTERS`) are about; None where there were none."""
        steps, rows = sums["steps"], sums["rows"]
        return {
            "loss": sums["loss"] / rows if rows else None,
            "grad_norm": sums["norm"] / steps if steps else None,
            "clipped_share": sums["clipped"] / steps if steps else 0.0,
            "skipped": int(sums["skipped"]),
        }

    def note_score(self, score: float | None, *, maximize: bool) -> bool:
        """Is this the best score so far? An undefined one is none, and counts as an epoch without gain."""
        better = score is not None and (
            self.best_score is None or (score > self.best_score if maximize else score < self.best_score)
        )
        self.stale_epochs = 0 if better else self.stale_epochs + 1
        if better:
            self.best_score, self.best_step = score, self.step
        return better

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def epoch_line(record: dict[str, Any], *, metric: str, num_epochs: float, fold: str, left: float, best: bool) -> str:
    """One line for people: losses, metric, rate, gradients, pace, time left, and a star for the best so far."""
    parts = [f"{fold}: epoch {record['epochs_done']:.4g}/{num_epochs:.4g}", f"loss {_number(record['loss'])}"]
    for part in ("valid", "hold-out"):
        if part + "_loss" not in record:
            continue
        parts.append(f"{part} loss {_number(record[part + '_loss'])}")
        parts.append(f"{part} {metric} {_number(record[part + '_score'])}")
    if best:
        parts[-1] += " *"
    parts.append(f"lr {record['lr']:.2e}")
    parts.append(f"gradient {_number(record['grad_norm'])}, {record['clipped_share']:.0%} clipped")
    if record["skipped"]:
        parts.append(f"{record['skipped']} steps skipped: non-finite gradients")
    parts.append(f"{record['items_per_second']:.0f} items/s")
    parts.append(f"{format_duration(left)} left")
    return " · ".join(parts)


def _number(value: float | None) -> str:
    return "undefined" if value is None or not math.isfinite(value) else f"{value:.4f}"
