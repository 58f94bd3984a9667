"""Warnings of a decoder turned into facts, for several threads at once.

`warnings.catch_warnings` swaps global state, so that two threads that use it side by side restore each other's filters. Here the
first thread that enters swaps the hook and the last one that leaves puts it back; each thread keeps its own list.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_local = threading.local()
_depth = 0
_outer: Any = None


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """A list that fills with the texts of the warnings that this thread raises inside the block; nothing is printed or raised."""
    _enter()
    notes: list[str] = []
    previous = getattr(_local, "notes", None)
    _local.notes = notes
    try:
        yield notes
    finally:
        _local.notes = previous
        _leave()


def _enter() -> None:
    global _depth, _outer
    with _lock:
        if _depth == 0:
            _outer = warnings.catch_warnings()
            _outer.__enter__()
            shown = warnings.showwarning

            def note(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
                notes = getattr(_local, "notes", None)
                if notes is None:  # a thread that is not decoding keeps its own warning
                    shown(message, category, *rest, **named)
                else:
                    notes.append(f"{category.__name__}: {message}")

            warnings.simplefilter("always")
            warnings.showwarning = note
        _depth += 1


def _leave() -> None:
    global _depth, _outer
    with _lock:
        _depth -= 1
        if _depth == 0:
            _outer.__exit__(None, None, None)
            _outer = None
