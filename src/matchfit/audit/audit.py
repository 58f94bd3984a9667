"""All checks of a competition's data, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matchfit.audit.drift import check_drift
from matchfit.audit.duplicates import check_duplicates
from matchfit.audit.images import check_images
from matchfit.audit.labels import check_labels
from matchfit.audit.leaks import check_leaks
from matchfit.audit.media import check_media
from matchfit.audit.near import near_duplicates
from matchfit.audit.scan import MediaScan, scan_media
from matchfit.audit.subject import PARTS, Part, Subject
from matchfit.audit.tables import check_tables
from matchfit.audit.texts import check_texts
from matchfit.competition.problem import Competition, Targets
from matchfit.core.findings import Finding

Check = Callable[[Subject], Iterator[Finding]]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("media", check_media),
    ("images", check_images),
    ("duplicates", check_duplicates),
    ("labels", check_labels),
    ("leaks", check_leaks),
    ("tables", check_tables),
    ("texts", check_texts),
    ("drift", check_drift),
)
_SEVERITIES = ("error", "warning", "info")
_WITH_IMAGES = frozenset({"image", "detection", "segmentation"})


@dataclass(frozen=True, kw_only=True)
class Audit:
    """`near_duplicate_N`: cluster of each train item among exact and near copies, -1 where it has none; None when items cannot be compared.
    `properties`: figures by subject (images, texts, drift, seconds of each check, …) for the report."""

    findings: tuple[Finding, ...]
    near_duplicate_N: npt.NDArray[np.int64] | None = None
    properties: dict[str, Any] = field(default_factory=dict)


def audit_competition(
    competition: Competition,
    *,
    targets: Targets | None,
    say: Callable[[str], None],
    num_folds: int = 5,
    seed: int = 0,
    cache: Path | None = None,
) -> Audit:
    """Look at everything once. Findings come sorted by severity, then in the order of the checks.

    `targets` are those of train (None where the task has none that are numbers), `num_folds` is what rare classes are measured by, `cache` a
    folder that keeps the pass over the media. Reads the competition's files; writes to `cache` alone.
    """
    seconds: dict[str, float] = {}
    started = time.monotonic()
    subject = Subject(
        competition=competition,
        targets=targets,
        scans=_scans(competition, cache, say),
        seed=seed,
        num_folds=num_folds,
        say=say,
    )
    seconds["scan"] = time.monotonic() - started
    findings: list[Finding] = []
    for name, check in CHECKS:
        started = time.monotonic()
        findings += check(subject)
        seconds[name] = time.monotonic() - started
    started = time.monotonic()
    clusters, near = near_duplicates(subject)
    seconds["near_duplicates"] = time.monotonic() - started
    findings = sorted([*findings, *near], key=lambda finding: _SEVERITIES.index(finding.severity))
    subject.properties["seconds"] = {name: round(value, 2) for name, value in seconds.items()}
    return Audit(findings=tuple(findings), near_duplicate_N=clusters, properties=subject.properties)


def _scans(competition: Competition, cache: Path | None, say: Callable[[str], None]) -> dict[Part, MediaScan]:
    images = competition.problem.modality in _WITH_IMAGES
    scans: dict[Part, MediaScan] = {}
    for part in PARTS:
        items = competition.train if part == "train" else competition.test
        scan = scan_media(items, images=images, cache=cache, say=say, part=part)
        if scan is not None:
            scans[part] = scan
    return scans
