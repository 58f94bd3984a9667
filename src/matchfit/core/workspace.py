"""The workspace of a competition: `matchfit.yaml`, the folds, the caches, the ledger and the runs."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from matchfit.core.errors import DataError, RunError
from matchfit.core.records import jsonable

RUN_SCHEMA = 1


@dataclass(frozen=True)
class Workspace:
    """Paths inside the workspace's folder; nothing is created before it is written to."""

    root: Path

    @property
    def settings(self) -> Path:
        return self.root / "matchfit.yaml"

    @property
    def folds(self) -> Path:
        return self.root / "folds"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.jsonl"

    def new_run(self, label: str) -> Path:
        """A folder for a run that nobody has taken yet: time and label, with a number when two start in one second."""
        stem = f"{datetime.now():%Y%m%d-%H%M%S}-{_slug(label)}"
        for number in range(1, 1000):
            path = self.runs / (stem if number == 1 else f"{stem}-{number}")
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
            return path
        raise RunError(str(self.runs), rule="must have room for a run", found=f"a thousand runs named {stem}", todo="Use --out.")

    def register(self, **entry: Any) -> None:
        """Append one line to the ledger; a line is written in one call, so that parallel runs do not mix."""
        self.root.mkdir(parents=True, exist_ok=True)
        line = json.dumps(jsonable({"at": datetime.now().isoformat(timespec="seconds"), **entry}), ensure_ascii=False) + "\n"
        with self.ledger.open("ab", buffering=0) as file:
            file.write(line.encode("utf-8"))

    def entries(self) -> list[dict[str, Any]]:
        """All lines of the ledger, oldest first; a half line of a process that died is passed over."""
        if not self.ledger.exists():
            return []
        found = []
        for line in self.ledger.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found


def workspace_for(folder: Path, override: Path | None) -> Workspace:
    """`--workspace DIR`, or `runs/<competition>` below the current folder.

    Two competition folders of the same name must not share a workspace in silence: the first one leaves its path in the ledger's
    folder and another path gets a name with a number.
    """
    if override is not None:
        return Workspace(override)
    name = _slug(folder.resolve().name) or "competition"
    for number in range(1, 1000):
        root = Path("runs") / (name if number == 1 else f"{name}-{number}")
        owner = root / ".folder"
        if not root.exists() or (owner.exists() and owner.read_text(encoding="utf-8") == str(folder.resolve())):
            return Workspace(root)
        if not owner.exists() and not (root / "matchfit.yaml").exists():
            return Workspace(root)
    raise RunError(
        str(folder), rule="must have a workspace", found="a thousand of its name in runs/", todo="Name one with --workspace."
    )


def claim(workspace: Workspace, folder: Path) -> None:
    """Note which competition folder the workspace belongs to; raises DataError where it cannot be written."""
    try:
        workspace.root.mkdir(parents=True, exist_ok=True)
        probe = workspace.root / f".probe-{os.getpid()}"
        probe.write_text("", encoding="utf-8")
        probe.unlink()
    except OSError as error:
        raise DataError(
            str(workspace.root),
            rule="the workspace must be a folder that can be written",
            found=str(error),
            todo="Choose one with --workspace.",
        ) from error
    owner = workspace.root / ".folder"
    if not owner.exists():
        owner.write_text(str(folder.resolve()), encoding="utf-8")


def _slug(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:60]
