"""One process per run: a second one is refused, a dead one's lock is not in the way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from matchfit.core.errors import RunError


@contextmanager
def exclusive(directory: Path, *, purpose: str) -> Iterator[None]:
    """Hold `directory` for this process; raises RunError while another living process does.

    The lock is the operating system's (`flock`, or `msvcrt.locking`), so it ends with its process however that ends; the file's
    text only tells people who holds it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / ".lock"
    with path.open("a+", encoding="utf-8") as file:
        if not _try_lock(file):
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise RunError(
                str(directory),
                rule=f"one process at a time may {purpose}",
                found=f"{holder} at work",
                todo="Wait for it, or choose another folder with --out.",
            )
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()}")
        file.flush()
        yield


def _try_lock(file: IO[str]) -> bool:
    """True when the file is now locked by us. A forked worker inherits nothing: Python opens files non-inheritable across exec, and
    data workers that are forked are daemons that end with us."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        except OSError:
            return False
        return True
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # POSIX locks are not inherited by forked children
    except OSError:
        return False
    return True
