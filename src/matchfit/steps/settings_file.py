"""The text of `matchfit.yaml` as `inspect` writes it: what was decided, why, and where to change it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from matchfit.learners.config import TrainConfig

if TYPE_CHECKING:
    from matchfit.steps.inspect import Inspection


def settings_text(inspection: Inspection) -> str:
    """Decisions about the folder as comments (they are found again each time), the split as settings, the keys of `train` with defaults."""
    problem, notes = inspection.competition.problem, inspection.competition.notes
    guess = "a guess from the submission's format: set the host's metric here" if problem.metric.guessed else "as the folder says"
    found: list[tuple[str, Any, str]] = [
        ("modality", problem.modality, notes.get("modality", "")),
        ("task", problem.task, notes.get("task", "")),
        ("id", list(problem.id_columns), notes.get("id", "")),
        ("targets", list(problem.targets), notes.get("targets", "")),
        ("metric", problem.metric.name, guess),
    ]
    lines = [
        f"# Settings of {_one_line(problem.name)}, written by `matchfit inspect`.",
        "# Edit it as you like: a file that you changed is never overwritten. Remove a `# ` to settle a decision yourself.",
        "",
        "competition:",
        *(f"  # {key}: {_value(value)}{_comment(why)}" for key, value, why in found),
        "",
        "split:",
        f"  kind: {inspection.split_kind}{_comment(inspection.split_why)}",
        f"  by: {_value(list(inspection.split_by))}",
        "  # num_folds: 5",
        "  # seed: 0",
        "  # near_duplicates: true  # copies and near-copies stay in one fold",
        "",
        "train:  # null: the learner's own default for this data",
        *(f"  # {name}: {_value(value)}" for name, value in TrainConfig().model_dump(mode="json").items()),
    ]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """JSON is YAML; non-ASCII text stays readable."""
    return value if isinstance(value, str) and value.isidentifier() else json.dumps(value, ensure_ascii=False)


def _comment(why: str) -> str:
    return f"  # {_one_line(why)}" if why else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
