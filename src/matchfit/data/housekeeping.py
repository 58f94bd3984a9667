"""Folders that appear whole, disappear whole, and stay within a budget of bytes."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from matchfit.core.durations import format_duration
from matchfit.core.errors import BudgetError

DEFAULT_BUDGET_BYTES = 64 << 30
IN_USE_SECONDS = 3600.0  # a cache touched within this time is not removed
STALE_SECONDS = 24 * 3600.0  # a draft of another machine that nobody wrote to
DRAFT, TRASH = ".draft-", ".trash-"


@contextlib.contextmanager
def draft_folder(parent: Path) -> Iterator[Path]:
    """A new folder below `parent` to be filled and renamed by the caller; removed when it still has its draft name at the end."""
    parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{DRAFT}{socket.gethostname()}-{os.getpid()}-", dir=parent))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder so that nobody ever sees half of it under its name."""
    with contextlib.suppress(FileNotFoundError):
        trash = Path(tempfile.mkdtemp(prefix=TRASH, dir=folder.parent))
        folder.rename(trash / folder.name)
        shutil.rmtree(trash, ignore_errors=True)


def make_room(folder: Path, needed_bytes: int, budget_bytes: int, say: Callable[[str], None]) -> None:
    """Remove drafts of dead processes, then the longest unused entries, until `needed_bytes` more stay within the budget.

    Entries used within the last hour stay, even if that exceeds the budget for a while. Raises BudgetError when the new entry alone is
    larger than the budget or than what is free on the disk.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(folder)
    if needed_bytes > budget_bytes:
        raise _no_room(folder, needed_bytes, f"a budget of {budget_bytes:,}")
    entries = sorted((_last_use(entry), entry) for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    sizes = {entry: _size(entry) for _, entry in entries}
    total = sum(sizes.values())
    for used, entry in entries:
        free = shutil.disk_usage(folder).free
        if total + needed_bytes <= budget_bytes and needed_bytes <= free:
            break
        idle = time.time() - used
        if idle < IN_USE_SECONDS:
            continue
        remove_folder(entry)
        total -= sizes[entry]
        say(f"removed the decode cache {entry.name} ({sizes[entry]:,} bytes, unused for {format_duration(idle)}) to make room")
    if needed_bytes > (free := shutil.disk_usage(folder).free):
        raise _no_room(folder, needed_bytes, f"{free:,} free")


def _no_room(folder: Path, needed_bytes: int, found: str) -> BudgetError:
    return BudgetError(
        str(folder),
        rule=f"must have room for {needed_bytes:,} bytes of decoded pictures",
        found=found,
        todo="Free some space, put the workspace elsewhere (--workspace), or choose a smaller image_size.",
    )


def _last_use(entry: Path) -> float:
    with contextlib.suppress(OSError):
        return max(file.stat().st_mtime for file in (*entry.iterdir(), entry))
    return 0.0


def _size(entry: Path) -> int:
    with contextlib.suppress(OSError):
        return sum(file.stat().st_size for file in entry.iterdir())
    return 0


def _remove_leftovers(folder: Path) -> None:
    """Drafts and trash of processes that are gone: of this machine by their number, of others by age."""
    own = f"{DRAFT}{socket.gethostname()}-"
    for entry in folder.iterdir():
        if entry.name.startswith(own):
            number = entry.name.removeprefix(own).split("-", 1)[0]
            if not (number.isdigit() and _alive(int(number))):
                shutil.rmtree(entry, ignore_errors=True)
        elif entry.name.startswith((DRAFT, TRASH)) and time.time() - _last_use(entry) > STALE_SECONDS:
            shutil.rmtree(entry, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
