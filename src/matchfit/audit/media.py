"""Media that are missing, empty, unreadable, or not what their name says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from matchfit.audit.scan import MISSING, OK, MediaScan
from matchfit.audit.sniff import is_mislabelled
from matchfit.audit.subject import Part, Subject, share, shown
from matchfit.core.findings import Finding, Severity

GRAVE_SHARE = 0.2  # from here on it is the reading of the folder that is wrong, not a few files
_CONSEQUENCE: dict[Part, str] = {
    "train": "They are left out of training; repair them or remove their rows.",
    "test": "They are still predicted (with the average prediction), so that the submission stays complete.",
}


def check_media(subject: Subject) -> Iterator[Finding]:
    """`missing_media`, `empty_media`, `unreadable_media`, `mislabelled_media`, each for train and for test."""
    for part, scan in subject.scans.items():
        known = {finding.code for finding in subject.competition.findings}
        if "missing_media" not in known:
            yield from _faulty(subject, part, scan.status == MISSING, "missing_media", "have no file")
        yield from _faulty(subject, part, scan.status == "empty", "empty_media", "are empty files")
        broken = ~np.isin(scan.status, [OK, MISSING, "empty"])
        yield from _faulty(subject, part, broken, "unreadable_media", "cannot be read")
        yield from _mislabelled(subject, part, scan)


def _faulty(subject: Subject, part: Part, faulty_N: npt.NDArray[np.bool_], code: str, what: str) -> Iterator[Finding]:
    positions = np.flatnonzero(faulty_N)
    if not len(positions):
        return
    scan = subject.scans[part]
    severity: Severity = "error" if len(positions) >= GRAVE_SHARE * len(scan) else "warning"
    kinds = Counter(str(kind) for kind in scan.status[positions])
    faults = (
        "" if len(kinds) == 1 and code != "unreadable_media" else ": " + ", ".join(f"{n:,} {kind}" for kind, n in kinds.items())
    )
    ids = subject.ids(part, positions)
    detail = str(scan.detail[positions[0]])
    yield Finding(
        code=code,
        severity=severity,
        message=f"{share(len(positions), len(scan))} {part} items {what}{faults}. For example {ids[0]}: {detail or 'no such file'}.",
        todo=_CONSEQUENCE[part],
        rows=ids,
    )


def _mislabelled(subject: Subject, part: Part, scan: MediaScan) -> Iterator[Finding]:
    media = subject.items(part).media
    assert media is not None
    references = media.to_list()
    positions = [
        n for n, reference in enumerate(references) if scan.status[n] == OK and is_mislabelled(reference, str(scan.format[n]))
    ]
    if positions:
        kinds = Counter(f"{references[n].rpartition('.')[2].lower()} is {scan.format[n]}" for n in positions)
        yield Finding(
            code="mislabelled_media",
            severity="info",
            message=f"{share(len(positions), len(scan))} {part} files are of another format than their extension says "
            f"({shown(f'{number:,} {kind}' for kind, number in kinds.most_common())}).",
            todo="They are read by their content; tools that trust the extension will fail on them.",
            rows=subject.ids(part, positions),
        )
