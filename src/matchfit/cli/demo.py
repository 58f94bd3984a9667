"""`matchfit demo`: write a built-in competition."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer


def demo(
    name: Annotated[Optional[str], typer.Argument(help="Which one; without it, what there is.", show_default=False)] = None,  # noqa: UP045
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where to write it.  [default: NAME]", show_default=False)
    ] = None,
) -> None:
    """Write a built-in competition: DIR for the contestant, DIR-solution for the judge."""
    from matchfit.competition.demos import DEMOS, write_demo
    from matchfit.core.console import table

    if name is None:
        rows = [(key, DEMOS.get(key).metric, DEMOS.get(key).summary) for key in DEMOS]
        typer.echo(table(rows, header=("name", "metric", "what")))
        return
    contestant, judge = write_demo(name, folder or Path(name))
    typer.echo(f"{contestant}: the competition\n{judge / 'solution.csv'}: the answers, for a judge only")
    typer.echo(f"Next: matchfit inspect {contestant}")
