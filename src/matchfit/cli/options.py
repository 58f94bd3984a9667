"""Arguments and options that several verbs share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The competition folder, as the host ships it.", show_default=False)]
WorkspaceDir = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads this annotation at run time
    typer.Option(
        "--workspace", metavar="DIR", help="Where matchfit.yaml, folds, caches and runs live.  [default: runs/<competition>]"
    ),
]
Set = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--set", metavar="KEY=VALUE", help="Any key of matchfit.yaml; may be given several times."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")]
