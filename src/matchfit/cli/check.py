"""`matchfit check`: would the host accept this submission?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from matchfit.cli.options import Folder, Json, Set, WorkspaceDir


def check(
    submission: Annotated[Path, typer.Argument(metavar="SUBMISSION", help="The csv file to be checked.", show_default=False)],
    folder: Folder,
    workspace: WorkspaceDir = None,
    settings: Set = None,
    as_json: Json = False,
) -> None:
    """Check a submission against the competition's rules. Exit status 0: valid; 1: invalid."""
    from matchfit import api

    report = api.check(submission, folder, workspace=workspace, assignments=settings or [])
    if as_json:
        typer.echo(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        for fault in report.errors:
            place = f": {fault.place}" if fault.place else ""
            typer.echo(f"{fault.severity}: {fault.code}{place}: {fault.value!r}; {fault.rule}")
        typer.echo(f"{submission}: {'valid' if report.valid else 'invalid'}")
    raise typer.Exit(0 if report.valid else 1)
