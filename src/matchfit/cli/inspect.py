"""`matchfit inspect`: what is this folder, what is wrong with it, how should it be validated?"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from matchfit.cli.options import Folder, Json, Set, WorkspaceDir


def inspect(
    folder: Folder,
    workspace: WorkspaceDir = None,
    settings: Set = None,
    as_json: Json = False,
    all_rows: Annotated[bool, typer.Option("--all-rows", help="List every item id of a finding, not the first few.")] = False,
) -> None:
    """Read a competition folder: what is asked, what is wrong with the data, how to validate. Writes matchfit.yaml into the workspace."""
    from matchfit import api

    inspection = api.inspect(folder, workspace=workspace, assignments=settings or [])
    if as_json:
        typer.echo(json.dumps(inspection.as_json(), ensure_ascii=False))
    else:
        typer.echo(inspection.as_text(all_rows=all_rows))
