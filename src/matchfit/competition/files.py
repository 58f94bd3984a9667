"""The files of a competition folder, also those inside archives, behind one kind of reference.

A reference is text: `train_images/1.jpg` (a path below the folder, with `/`) or `train.zip!/train/1.jpg` (a member of a zip, tar,
packed tar or 7z; archives in archives: `all.zip!/train.zip!/1.jpg`). The folder is only ever read.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

import polars as pl

from matchfit.competition.archives import (
    BROKEN,
    COPY_BYTES,
    MAX_MEMBER_BYTES,
    Archive,
    Member,
    archive_suffix,
    broken,
    is_junk,
    open_archive,
    refuse_bomb,
    replaced_when_done,
    scratch_name,
    stem,
)
from matchfit.core.errors import DataError, MissingDependencyError, nearest, sentence
from matchfit.core.findings import Finding

INSIDE = "!/"
Row = tuple[str, str, str, int]
MAX_DEPTH = 3  # archives within archives
SCHEMA = {"reference": pl.String, "path": pl.String, "archive": pl.String, "size": pl.Int64}


class FileTree:
    """Every file below `folder`, read by reference. Pickles as its two paths; a copy opens archives for itself, also after a fork.

    `scratch` takes what must be unpacked to be read (packed tars, 7z, archives in archives); without it, packed tars are streamed and
    the rest goes to a temporary folder that dies with this object.
    """

    def __init__(self, folder: Path, *, scratch: Path | None = None) -> None:
        self.folder, self.scratch = Path(folder), scratch
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._archives: dict[str, Archive | DataError | MissingDependencyError] = {}
        self._indices: dict[str, dict[str, Member]] = {}
        self._members: pl.DataFrame | None = None
        self._odd_names: dict[str, bytes] = {}
        self._temporary: Path | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "scratch": self.scratch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.folder, self.scratch = state["folder"], state["scratch"]
        self._reset()

    # -- listing ----------------------------------------------------------------------------------------------------------------

    def members(self) -> pl.DataFrame:
        """All files, sorted by path: `reference`, `path` (logical: an archive stands as a folder of its name, and a member folder of
        that same name is not doubled: `train.zip!/train/1.jpg` is `train/1.jpg`), `archive` (reference of the archive, or ''), `size` in bytes.

        Left out: hidden files, what operating systems leave behind, archive members that point out of the archive, and archives that
        could be opened (their members are listed instead). Raises DataError when the folder is none.
        """
        if self._members is None:
            if not self.folder.is_dir():
                raise DataError(
                    str(self.folder), rule="must be a folder", found="no folder there", todo="Give the competition's folder."
                )
            rows: list[Row] = []
            for reference, size in self._scan():
                if not (archive_suffix(reference) and self._list_archive(reference, reference, rows, depth=1)):
                    rows.append((reference, reference, "", size))
            self._members = pl.DataFrame(rows, schema=SCHEMA, orient="row").sort("path", "reference")
        return self._members

    def findings(self) -> tuple[Finding, ...]:
        """Archives that could not be opened, or end too early (known after `members`)."""
        self.members()
        faults = [
            (name, opened if isinstance(opened, Exception) else opened.fault) for name, opened in sorted(self._archives.items())
        ]
        return tuple(
            Finding(
                code="archive_unreadable",
                severity="error",
                message=f"{fault.name}: {fault.rule}; found {fault.found}.",
                todo=fault.todo,
                rows=(name,),
            )
            for name, fault in faults
            if fault is not None
        )

    def _scan(self) -> Iterator[tuple[str, int]]:
        """Plain files below the folder with their sizes. Links are followed as the user made them; a ring of links is entered once."""
        pending, seen = [("", os.fspath(self.folder))], set()
        while pending:
            prefix, place = pending.pop()
            facts = Path(place).stat()
            if (facts.st_dev, facts.st_ino) in seen:
                continue
            seen.add((facts.st_dev, facts.st_ino))
            with contextlib.suppress(PermissionError), os.scandir(place) as entries:
                for entry in entries:
                    reference = prefix + self._readable(entry)
                    if is_junk(reference):
                        continue
                    with contextlib.suppress(OSError):  # a link to nowhere, a file that vanished
                        if entry.is_dir():
                            pending.append((f"{reference}/", entry.path))
                        elif entry.is_file():
                            yield reference, entry.stat().st_size

    def _readable(self, entry: os.DirEntry[str]) -> str:
        """The entry's name as text; names that are not UTF-8 are decoded as GB18030 or latin-1, and remembered."""
        if entry.name.isprintable() or entry.name.isascii():
            return entry.name
        raw = os.fsencode(entry.name)
        for encoding in ("utf-8", "gb18030", "latin-1"):
            with contextlib.suppress(UnicodeDecodeError):
                name = raw.decode(encoding)
                if encoding != "utf-8":
                    self._odd_names[name] = raw
                return name
        raise AssertionError("latin-1 decodes everything")

    def _list_archive(self, reference: str, path: str, rows: list[Row], *, depth: int) -> bool:
        """Append the members of one archive; False when it cannot be opened (then it is listed as the file that it is)."""
        try:
            archive = self._archive(reference)
        except (DataError, MissingDependencyError):
            return False
        names = [member.name for member in archive.members()]
        place = str(PurePosixPath(path).with_name(stem(path)))
        wrapper = _wrapper(names, stem(path))
        for member in archive.members():
            inner, logical = f"{reference}{INSIDE}{member.name}", f"{place}/{member.name.removeprefix(wrapper)}"
            if len(names) == 1 and member.name == PurePosixPath(place).name:
                logical = place  # train.csv.zip with train.csv in it
            if depth < MAX_DEPTH and archive_suffix(member.name) and self._list_archive(inner, logical, rows, depth=depth + 1):
                continue
            rows.append((inner, logical, reference, member.size))
        return True

    # -- reading ----------------------------------------------------------------------------------------------------------------

    def read(self, reference: str) -> bytes:
        """The content of one file. Raises DataError that names the file and the rule: absent, corrupt, protected, too large."""
        with self._lock, self.open(reference) as stream:
            try:
                return stream.read()
            except BROKEN as error:
                raise broken(reference, error) from error

    def open(self, reference: str) -> IO[bytes]:
        """A stream of one file's bytes; one stream of an archive at a time. Raises DataError as `read` does; reading from the stream may
        raise the errors of `archives.BROKEN`."""
        archive, inside = self._split(reference)
        try:
            if not archive:
                path = self._plain(reference)
                refuse_bomb(reference, size=path.stat().st_size, packed=MAX_MEMBER_BYTES)
                return path.open("rb")
            opened = self._archive(archive)
            return opened.open(self._member(archive, opened, inside))
        except BROKEN as error:
            raise broken(reference, error) from error

    def stream(self, references: pl.Series) -> Iterator[tuple[int, bytes | DataError]]:
        """(position in `references`, content) for each, in the order in which the files are stored: each archive once, from front to back.

        A file that cannot be read, and a null, yields its DataError in place of the content.
        """
        groups: dict[str, list[tuple[int, int, str]]] = {}
        for position, reference in enumerate(references):
            if reference is None:
                yield position, _absent("a file", "no reference", "")
                continue
            archive, inside = self._split(reference)
            offset = position
            if archive:
                try:
                    offset = self._member(archive, self._archive(archive), inside).offset
                except (DataError, MissingDependencyError) as error:
                    yield position, broken(reference, error)
                    continue
            groups.setdefault(archive, []).append((offset, position, reference))
        for group in groups.values():
            for _, position, reference in sorted(group):
                try:
                    content: bytes | DataError = self.read(reference)
                except DataError as error:
                    content = error
                yield position, content

    @contextlib.contextmanager
    def on_disk(self, reference: str) -> Iterator[Path]:
        """A path with the file's bytes: the file itself when it is plain, a temporary copy when it is a member of an archive."""
        archive, _ = self._split(reference)
        if not archive:
            yield self._plain(reference)
            return
        with tempfile.NamedTemporaryFile(dir=self.spill_folder(), suffix=PurePosixPath(reference).suffix) as copy:
            try:
                with self._lock, self.open(reference) as stream:
                    shutil.copyfileobj(stream, copy, COPY_BYTES)
            except BROKEN as error:
                raise broken(reference, error) from error
            copy.flush()
            yield Path(copy.name)

    def spill_folder(self) -> Path:
        """Where large intermediate files may be written: `scratch`, or a temporary folder that goes when this object does."""
        if self.scratch is not None:
            self.scratch.mkdir(parents=True, exist_ok=True)
            return self.scratch
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="matchfit-"))
            weakref.finalize(self, _remove, self._temporary, os.getpid())
        return self._temporary

    # -- finding one's way ------------------------------------------------------------------------------------------------------

    def _split(self, reference: str) -> tuple[str, str]:
        """(archive, member) of a reference; the archive is '' for a plain file."""
        head, separator, tail = reference.rpartition(INSIDE)
        while separator and not archive_suffix(head):  # `!/` may stand in a plain name
            head, separator, rest = head.rpartition(INSIDE)
            tail = f"{rest}{INSIDE}{tail}"
        return (head, tail) if separator else ("", reference)

    def _plain(self, reference: str) -> Path:
        parts = PurePosixPath(reference).parts
        if not parts or ".." in parts or reference.startswith("/"):
            raise DataError(
                repr(reference), rule="must be a path below the competition folder", found="another path", todo="Write it relative."
            )
        path = self.folder / reference
        if not path.is_file():
            if not reference.isascii() and self._members is None:
                self.members()  # learns the names that are not UTF-8
            path = Path(
                os.fsdecode(b"/".join([os.fsencode(self.folder), *(self._odd_names.get(part, part.encode()) for part in parts)]))
            )
        if not path.is_file():
            siblings = [entry.name for entry in path.parent.iterdir()][:2000] if path.parent.is_dir() else []
            raise _absent(reference, "no such file", nearest(path.name, siblings).split(" one of:")[0] if siblings else "")
        return path

    def _archive(self, reference: str) -> Archive:
        """The opened archive, opened once a process: a file position shared with a forked worker would mix their bytes."""
        with self._lock:
            if self._process != os.getpid():
                self._process, self._archives, self._indices = os.getpid(), {}, {}
            if reference not in self._archives:
                try:
                    path = self._archive_path(reference)
                    scratch = self.spill_folder() if archive_suffix(reference).lower() == ".7z" else self.scratch
                    self._archives[reference] = open_archive(path, reference, scratch)
                except (DataError, MissingDependencyError) as error:
                    self._archives[reference] = error
            opened = self._archives[reference]
        if isinstance(opened, Exception):
            raise opened
        return opened

    def _archive_path(self, reference: str) -> Path:
        """The archive as a file on disk; one that lies inside another is copied out once."""
        outer, _ = self._split(reference)
        if not outer:
            return self._plain(reference)
        place = self.spill_folder()
        name = scratch_name(self._archive_path(outer), place).stem + f"-{abs(hash_text(reference)):x}{archive_suffix(reference)}"
        target = place / name
        if not target.exists():
            with replaced_when_done(target) as draft, self.on_disk(reference) as copy:
                shutil.copyfile(copy, draft)
        return target

    def _member(self, reference: str, archive: Archive, inside: str) -> Member:
        if reference not in self._indices:
            self._indices[reference] = {member.name: member for member in archive.members()}
        member = self._indices[reference].get(inside)
        if member is None:
            raise _absent(f"{reference}{INSIDE}{inside}", "no such member", "")
        return member


def hash_text(text: str) -> int:
    """A hash of text that is the same in every process."""
    import zlib

    return zlib.crc32(text.encode())


def _wrapper(names: list[str], name: str) -> str:
    """`train/` when all members of `train.zip` lie in a folder `train`."""
    return f"{name}/" if names and all(member.startswith(f"{name}/") for member in names) else ""


def _absent(name: str, found: str, todo: str) -> DataError:
    return DataError(name, rule="must exist", found=found, todo=sentence(todo) or "Look at the spelling and the extension.")


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a forked worker must not take the folder away from its parent
        shutil.rmtree(folder, ignore_errors=True)
