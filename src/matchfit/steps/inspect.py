"""`inspect`: read the folder, look at the data, advise, and write the advice into the workspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchfit.competition.problem import Competition, Targets
from matchfit.core.console import say as say_aloud
from matchfit.core.errors import DataError
from matchfit.core.findings import Finding
from matchfit.core.records import content_hash, write_record, write_text
from matchfit.core.workspace import Workspace, claim, workspace_for
from matchfit.settings import Settings, load_settings, refuse_ineffective

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

INSPECTION_SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What `inspect` found: the competition as read, findings, and the split to validate with.

    `near_duplicate_N` (N,) int64: clusters of copies among the train items, None when there are none or nobody looked.
    """

    competition: Competition
    targets: Targets | None
    findings: tuple[Finding, ...]
    split_kind: str
    split_by: tuple[str, ...]
    split_why: str
    near_duplicate_N: npt.NDArray[np.int64] | None
    workspace: Workspace
    settings_kept: bool

    def as_json(self) -> dict[str, Any]:
        """The object that `inspect --json` prints."""
        problem = self.competition.problem
        metric = problem.metric
        return {
            "name": problem.name,
            "modality": problem.modality,
            "task": problem.task,
            "id": list(problem.id_columns),
            "targets": list(problem.targets),
            "classes": list(problem.classes),
            "submission_columns": list(problem.submission_columns),
            "submission_form": problem.submission_form,
            "metric": {"name": metric.name, "direction": metric.direction, "guessed": metric.guessed},
            "split": {"kind": self.split_kind, "by": list(self.split_by), "why": self.split_why},
            "rows": {"train": len(self.competition.train), "test": len(self.competition.test)},
            "features": {feature.name: feature.kind for feature in problem.features},
            "train_only": list(self.competition.train_only),
            "findings": [finding.as_json() for finding in self.findings],
            "notes": dict(self.competition.notes),
            "workspace": str(self.workspace.root),
        }

    def as_text(self, *, all_rows: bool = False) -> str:
        """The same for people."""
        from matchfit.steps.inspect_text import inspection_text

        return inspection_text(self, all_rows=all_rows)


def inspect(
    folder: Path | str,
    *,
    workspace: Path | str | None = None,
    assignments: Sequence[str] = (),
    say: Callable[[str], None] = say_aloud,
) -> Inspection:
    """Read a competition folder and look at its data.

    Writes `matchfit.yaml` (never over a user's edits) and the inspection's record into the workspace; the folder itself is only read.
    Raises DataError when the folder cannot be understood, ConfigError for a wrong setting.
    """
    refuse_ineffective(assignments, sections=("competition", "split"), verb="inspect")
    folder = Path(folder)
    place = workspace_for(folder, None if workspace is None else Path(workspace))
    edited = settings_edited(place)
    settings = load_settings(place.settings if edited else None, assignments)
    return inspect_with(folder, place, settings, say=say)


def inspect_with(folder: Path, place: Workspace, settings: Settings, *, say: Callable[[str], None]) -> Inspection:
    """`inspect` with settings that are loaded already."""
    from matchfit.audit.advice import advise_split
    from matchfit.audit.audit import audit_competition
    from matchfit.competition.read import read_competition
    from matchfit.steps.settings_file import settings_text

    check_folder(folder)
    claim(place, folder)
    competition = read_competition(folder, settings.competition, scratch=place.cache / "files")
    unusable: tuple[Finding, ...] = ()
    try:
        targets = encoded_targets(competition)
    except DataError as error:  # described all the same; training is what needs numbers
        targets, unusable = None, (Finding(code="unusable_targets", severity="error", message=str(error), todo=error.todo),)
    audit = audit_competition(
        competition,
        targets=targets,
        say=say,
        num_folds=settings.split.num_folds,
        seed=settings.split.seed,
        cache=place.cache / "audit",
    )
    advice = advise_split(competition, targets, audit.near_duplicate_N)
    kind, by, why = str(advice.kind), advice.by, advice.why
    if settings.split.kind is not None:
        differs = "" if (settings.split.kind, settings.split.by) == (kind, by) else f"; advised would be {kind}: {why}"
        kind, by, why = settings.split.kind, settings.split.by, f"as set in matchfit.yaml or with --set{differs}"
    kept = settings_edited(place)
    inspection = Inspection(
        competition=competition,
        targets=targets,
        findings=(*unusable, *competition.findings, *audit.findings, *advice.findings),
        split_kind=kind,
        split_by=tuple(by),
        split_why=why,
        near_duplicate_N=audit.near_duplicate_N,
        workspace=place,
        settings_kept=kept,
    )
    _write(inspection, None if kept else settings_text(inspection))
    return inspection


def check_folder(folder: Path) -> None:
    """Raises DataError unless `folder` is a folder with something in it."""
    if not folder.is_dir():
        found = "a file" if folder.is_file() else "nothing there"
        raise DataError(
            str(folder),
            rule="must be the competition's folder",
            found=found,
            todo="Give the folder that holds the host's files, unpacked once.",
        )
    if not any(folder.iterdir()):
        raise DataError(str(folder), rule="must hold the host's files", found="an empty folder", todo="Put the host's files there.")


def encoded_targets(competition: Competition) -> Targets | None:
    """The targets as numbers; None for tasks whose targets are boxes, masks or texts."""
    from matchfit.competition.targets import encode_targets

    if competition.problem.task in {"detection", "segmentation", "other"}:
        return None
    if competition.problem.task == "ranking" and not competition.problem.classes:
        return None
    return encode_targets(competition.problem, competition.target_table)


def settings_edited(place: Workspace) -> bool:
    """True when `matchfit.yaml` is there and is not, letter for letter, what `inspect` wrote."""
    from matchfit.core.errors import RunError
    from matchfit.core.records import read_record

    if not place.settings.exists():
        return False
    try:
        written = read_record(place.root / "inspection.json", schema=INSPECTION_SCHEMA)["settings_hash"]
    except RunError:
        return True
    try:
        return bool(written != content_hash(place.settings.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):  # whoever loads it says what is wrong
        return True


def _write(inspection: Inspection, settings_text: str | None) -> None:
    import polars as pl

    from matchfit.core.records import write_atomically
    from matchfit.validation.assignment import hash_items

    root = inspection.workspace.root
    if settings_text is not None:
        write_text(inspection.workspace.settings, settings_text)
    clusters = inspection.near_duplicate_N
    if clusters is not None:
        frame = pl.DataFrame({"cluster": clusters})
        write_atomically(root / "near_duplicates.parquet", lambda file: frame.write_parquet(file))
    kept = None if settings_text is None else content_hash(settings_text)
    write_record(
        root / "inspection.json",
        schema=INSPECTION_SCHEMA,
        settings_hash=kept,
        item_hash=hash_items(inspection.competition.train.ids),
        near_duplicates=clusters is not None,
        **inspection.as_json(),
    )
