"""One small hierarchy of errors.

Every message has four parts: the name that the user typed, the rule, the value that was found, and the next thing to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_LISTED = 60  # names in one message


class MatchfitError(Exception):
    """A fault that the user can act upon.

    `name` is what the user typed (a flag, a key, a file), `rule` what must hold, `found` what was there instead and
    `todo` the next thing to do. The command line prints the four parts and exits with `exit_status`.
    """

    exit_status = 2

    def __init__(self, name: str, *, rule: str, found: str, todo: str) -> None:
        super().__init__(f"{name}: {rule}; found {found}. {todo}")
        self.name, self.rule, self.found, self.todo = name, rule, found, todo

    def __reduce__(self) -> tuple[object, ...]:  # keyword-only arguments do not pickle by themselves
        return _rebuild, (type(self), self.name, self.rule, self.found, self.todo)


def _rebuild(kind: type[MatchfitError], name: str, rule: str, found: str, todo: str) -> MatchfitError:
    return kind(name, rule=rule, found=found, todo=todo)


class ConfigError(MatchfitError):
    """A flag, a key of `matchfit.yaml` or `--set` is wrong, or has no effect on this run."""


class DataError(MatchfitError):
    """The competition folder, or a file in it, cannot be understood."""


class SubmissionError(MatchfitError):
    """A submission breaks the host's rules."""


class MetricError(MatchfitError):
    """A metric is not defined on what it was given (one class only, NaN in the predictions, a negative count)."""


class BudgetError(MatchfitError):
    """Time, memory or bytes ran out before all that was asked was there."""

    exit_status = 3


class RunError(MatchfitError):
    """A run's folder is in use, incomplete, or belongs to other settings."""


class MissingDependencyError(MatchfitError):
    """An optional package is needed and not installed."""


def nearest(name: str, choices: Iterable[str]) -> str:
    """The part of a message that lists what there is, the nearest name first: `did you mean 'lr'? one of: …`.

    Of many names only the nearest are listed, with how many there are.
    """
    names = sorted(set(choices))
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    shown = names
    if len(names) > MOST_LISTED:
        near = difflib.get_close_matches(name, names, n=6, cutoff=0.3)
        shown = [*near, *(other for other in names if other not in near)][:6]
    rest = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    listed = f"one of: {', '.join(shown)}{rest}"
    return f"did you mean {close[0]!r}? {listed}" if close else listed


def file_fault(error: OSError) -> RunError:
    """What the machine refused about a file (no room, no permission, no such folder) as one of our errors."""
    return RunError(
        str(error.filename) if error.filename is not None else "a file",
        rule="the machine must let us read and write here",
        found=error.strerror or str(error),
        todo="Look at permissions and free space, or choose another folder.",
    )


def sentence(text: str) -> str:
    """`text` with a capital at its start and nothing else changed: names in it stay as they are (`str.capitalize` would lower them)."""
    return text[:1].upper() + text[1:]


def missing_dependency(package: str, *, extra: str, needed_for: str) -> MissingDependencyError:
    """The error for an optional package that is absent, with the command that installs it."""
    return MissingDependencyError(
        package,
        rule=f"{needed_for} needs this package",
        found="it is not installed",
        todo=f"Install it with: pip install 'matchfit[{extra}]'",
    )
