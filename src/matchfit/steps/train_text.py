"""A run's record as text for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matchfit.core.console import number
from matchfit.core.durations import format_duration


def result_text(directory: Path, record: dict[str, Any]) -> str:
    """Fold scores, the out-of-fold score with its interval, other metrics, seconds per phase, files."""
    score, seconds = record["score"], record["seconds"]
    folds = ", ".join(_number(fold) for fold in score["folds"])
    interval = score["interval"]
    spread = "" if score.get("sd") is None else f"; mean {_number(score['mean'])} ± {_number(score['sd'])} (sd)"
    others = ", ".join(f"{name} {_number(value)}" for name, value in record["other_scores"].items() if isinstance(value, float))
    lines = [
        f"{score['metric']} per fold: {folds}{spread}",
        f"{score['metric']} out of fold: {_number(score['oof'])} on {record['rows']['scored']} items"
        + (f", {score['interval_level']:.0%} interval {_number(interval[0])} to {_number(interval[1])}" if interval else ""),
        f"  interval: {score['interval_method']}; it leaves out: {score['interval_omits']}",
        *(f"  {event['name']} ({event['where']}): {event['message']}" for event in score["events"]),
        *([f"other metrics: {others}"] if others else []),
        "seconds: " + ", ".join(f"{name} {format_duration(value)}" for name, value in seconds.items()),
        f"{directory / 'submission.csv'}: {record['rows']['test']} rows, checked against the sample submission",
        f"{directory / 'record.json'}: all of it; oof.csv, oof.parquet and test.parquet are beside it",
    ]
    if record["run"]["fast_dev_run"]:
        lines.append("--fast-dev-run: two batches only; these scores mean nothing")
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "not defined" if value is None else number(value)
