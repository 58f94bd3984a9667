"""`check`: would the host accept this submission?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matchfit.core.workspace import workspace_for
from matchfit.settings import load_settings, refuse_ineffective

if TYPE_CHECKING:
    from matchfit.competition.submission import SubmissionReport


def check(
    submission: Path | str, folder: Path | str, *, workspace: Path | str | None = None, assignments: Sequence[str] = ()
) -> SubmissionReport:
    """Hold a submission against the rules of the competition in `folder`. Raises DataError when the folder cannot be understood."""
    from matchfit.competition.read import read_competition
    from matchfit.competition.submission import check_submission

    refuse_ineffective(assignments, sections=("competition",), verb="check")
    place = workspace_for(Path(folder), None if workspace is None else Path(workspace))
    settings = load_settings(place.settings, assignments)
    return check_submission(Path(submission), read_competition(Path(folder), settings.competition, scratch=place.cache / "files"))
