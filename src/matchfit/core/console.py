"""What people see: one progress bar on a terminal, plain lines elsewhere. Results go to stdout, progress and remarks to stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from matchfit.core.durations import format_duration

PLAIN_INTERVAL_SECONDS = 30.0  # between two lines of one bar on a pipe: a log stays short, and an hour is never silent


def say(line: str) -> None:
    """One remark for people, at once, without markup."""
    print(line, file=sys.stderr, flush=True)


def number(value: float) -> str:
    """A score for people: five decimals, or six digits where those would show nothing or too much."""
    return f"{value:.5f}" if value == 0 or 1e-3 <= abs(value) < 1e7 else f"{value:.6g}"


class Bar(Protocol):
    """A bar that counts."""

    def advance(self, amount: int = 1, note: str = "") -> None: ...


class _PlainBar:
    """Lines of the form `label: 512 of 1895 (27 %), 12.0 s left`, at most one every PLAIN_INTERVAL_SECONDS."""

    def __init__(self, total: int, label: str) -> None:
        self._total, self._label, self._done = total, label, 0
        self._started = self._spoke = time.monotonic()

    def advance(self, amount: int = 1, note: str = "") -> None:
        self._done += amount
        now = time.monotonic()
        if now - self._spoke < PLAIN_INTERVAL_SECONDS or self._done >= self._total:
            return
        self._spoke = now
        left = (now - self._started) / max(self._done, 1) * (self._total - self._done)
        share = f"{self._done} of {self._total} ({self._done / max(self._total, 1):.0%})"
        say(f"{self._label}: {share}, {format_duration(left)} left{', ' + note if note else ''}")


class _RichBar:
    def __init__(self, progress: object, task: object) -> None:
        self._progress, self._task = progress, task

    def advance(self, amount: int = 1, note: str = "") -> None:
        self._progress.update(self._task, advance=amount, note=note)  # type: ignore[attr-defined]


@contextmanager
def progress(total: int, label: str) -> Iterator[Bar]:
    """A bar over `total` units. On a terminal it is drawn and removed at the end; on a pipe it is a plain line now and then."""
    if not sys.stderr.isatty():
        yield _PlainBar(total, label)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        yield _RichBar(drawn, drawn.add_task(label, total=total, note=""))


def table(rows: Sequence[tuple[str, ...]], *, header: tuple[str, ...]) -> str:
    """Aligned plain text: first column left, the rest left as well; numbers are formatted by the caller."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)
