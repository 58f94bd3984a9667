"""The program: the verbs in the order in which a competition is worked on, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import typer

from matchfit import __version__
from matchfit.cli import check, demo, inspect, predict, train
from matchfit.core.errors import MatchfitError, file_fault

EPILOG = "A competition, from the folder to the submission: demo → inspect → train → check. Every verb explains itself with --help."

app = typer.Typer(
    name="matchfit",
    help="Train models for competitions, with validation that can be trusted.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)

VERBS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "inspect": inspect.inspect,
    "train": train.train,
    "predict": predict.predict,
    "check": check.check,
}
for _name, _verb in VERBS.items():
    app.command(_name)(_verb)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"matchfit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
) -> None:
    """Train models for competitions, with validation that can be trusted."""


def main() -> None:
    """Run the command line; a fault of the user ends in one message and the error's exit status, an interruption in 130."""
    try:
        app(prog_name="matchfit")
    except MatchfitError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(error.exit_status)
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # the reader of our output went away, for example `| head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(141)
        if error.errno is None:  # no file's fault
            raise
        told = file_fault(error)
        typer.echo(f"{type(told).__name__}: {told}", err=True)
        sys.exit(told.exit_status)
    except KeyboardInterrupt:
        typer.echo("Interrupted. What was computed is kept; `--resume` goes on.", err=True)
        sys.exit(130)
