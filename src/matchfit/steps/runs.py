"""Finding runs: by their folder, or the best finished one of a competition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matchfit.core.errors import RunError
from matchfit.core.records import read_record
from matchfit.core.workspace import Workspace, workspace_for
from matchfit.learners.records import RECORD_SCHEMA


def find_run(path: Path, workspace: Path | None) -> Path:
    """`path` when it is a finished run's folder, else the best finished run of the competition folder `path`.

    Best: by the out-of-fold score of the metric of the latest run, among finished runs that scored the same folds' items. Raises RunError.
    """
    if (path / "record.json").exists():
        return path
    if (path / "run.json").exists():
        raise RunError(
            str(path),
            rule="must be a finished run",
            found="one that was cut short",
            todo="Finish it with: matchfit train … --resume",
        )
    if not path.is_dir():
        raise RunError(
            str(path),
            rule="must be a run's folder, or a competition folder with a finished run",
            found="a file" if path.exists() else "nothing there",
            todo="Look at the spelling; `matchfit train` prints its run's folder.",
        )
    entries = _finished(workspace_for(path, workspace))
    if not entries:
        raise RunError(
            str(path), rule="must be a run, or a folder with a finished run", found="neither", todo="Run matchfit train first."
        )
    latest = entries[-1]
    rivals = [
        entry for entry in entries if entry["metric"] == latest["metric"] and entry["scored"] == max(e["scored"] for e in entries)
    ]
    sign = 1 if latest["direction"] == "maximize" else -1
    best = max(rivals or [latest], key=lambda entry: sign * entry["oof"])
    return Path(best["run"])


def unfinished_run(workspace: Workspace) -> Path:
    """The latest run that started in this workspace and has no record; raises RunError when there is none."""
    for entry in reversed(workspace.entries()):
        path = Path(entry.get("run", ""))
        if entry.get("event") == "started" and (path / "run.json").exists() and not _is_finished(path):
            return path
    raise RunError(
        "--resume",
        rule="needs a run that was cut short",
        found=f"none in {workspace.root}",
        todo="Name one with --out, or start a new run.",
    )


def _is_finished(path: Path) -> bool:
    try:
        return bool(read_record(path / "record.json", schema=RECORD_SCHEMA)["finished"])
    except RunError:
        return False


def _finished(workspace: Workspace) -> list[dict[str, Any]]:
    entries = [entry for entry in workspace.entries() if entry.get("event") == "finished" and not entry.get("fast_dev_run")]
    return [entry for entry in entries if entry.get("oof") is not None and (Path(entry["run"]) / "record.json").exists()]
