"""`matchfit predict`: score a test folder with a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matchfit.cli.options import Set, WorkspaceDir


def predict(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A finished run's folder, or a competition folder: its best run.", show_default=False),
    ],
    data: Annotated[Path, typer.Option("--data", metavar="FOLDER", help="The folder with the test items.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="CSV", help="The submission to write.", show_default=False)],
    workspace: WorkspaceDir = None,
    settings: Set = None,
) -> None:
    """Score the test items of a folder with a finished run and write a submission."""
    from matchfit import api

    written = api.predict(run, data, out, workspace=workspace, assignments=settings or [])
    typer.echo(f"{out}: {written.rows} rows from {written.members} model(s) of {written.run}")
