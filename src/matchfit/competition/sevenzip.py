"""7z archives by py7zr, an optional package.

py7zr unpacks all members in one pass, so they are written once to one file and read from their places in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, cast

from matchfit.competition.archives import (
    Member,
    Slice,
    Unpacked,
    broken,
    is_junk,
    is_unsafe,
    refuse_bomb,
    replaced_when_done,
    scratch_name,
)
from matchfit.core.errors import DataError, missing_dependency


class SevenZipArchive(Unpacked):
    """A 7z, unpacked once into one file of `scratch` (needed: 7z cannot be read by position)."""

    def __init__(self, path: Path, label: str, scratch: Path | None) -> None:
        try:
            import py7zr
            from py7zr.exceptions import ArchiveError
        except ImportError as error:
            raise missing_dependency("py7zr", extra="archives", needed_for=f"reading {label}") from error
        if scratch is None:
            raise ValueError("a 7z needs a scratch folder")
        self.fault: DataError | None = None
        self._path, self._label, self._scratch, self._error = path, label, scratch, ArchiveError
        try:
            with py7zr.SevenZipFile(path) as archive:
                self._protected = bool(archive.needs_password())
                infos = [info for info in archive.list() if not info.is_directory]
        except ArchiveError as error:
            raise broken(label, error) from error
        self._members: list[Member] = []
        self._places: dict[str, int] = {}
        offset = 0
        for info in infos:
            self._places[info.filename] = offset
            name = info.filename.replace("\\", "/")
            if not is_unsafe(name) and not is_junk(name):
                self._members.append(Member(name, int(info.uncompressed or 0), offset))
            offset += int(info.uncompressed or 0)
        self._total = offset

    def members(self) -> list[Member]:
        return self._members

    def open(self, member: Member) -> IO[bytes]:
        label = f"{self._label}!/{member.name}"
        if self._protected:
            raise DataError(
                label, rule="must not be protected by a password", found="an encrypted archive", todo="Unpack the archive yourself."
            )
        refuse_bomb(label, size=self._total, packed=self._path.stat().st_size)
        if self._bytes is None:
            self._bytes = self._unpack().open("rb")
        self._bytes.seek(member.offset)
        return cast("IO[bytes]", Slice(self._bytes, member.size))

    def _unpack(self) -> Path:
        import py7zr

        target = scratch_name(self._path, self._scratch)
        if not target.exists():
            with replaced_when_done(target) as draft, draft.open("wb") as sink:
                try:
                    with py7zr.SevenZipFile(self._path) as archive:
                        archive.extractall(factory=_Places(sink, self._places))
                except self._error as error:
                    raise broken(self._label, error) from error
        return target


class _Places:
    """py7zr's writer factory: every member is written at its own place of one file."""

    def __init__(self, sink: IO[bytes], places: dict[str, int]) -> None:
        self._sink, self._places = sink, places

    def create(self, filename: str) -> _Place:
        return _Place(self._sink, self._places[filename])


class _Place:
    def __init__(self, sink: IO[bytes], start: int) -> None:
        self._sink, self._start, self._written = sink, start, 0

    def write(self, data: bytes | bytearray) -> int:
        self._sink.seek(self._start + self._written)
        self._written += len(data)
        return self._sink.write(data)

    def read(self, size: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return offset

    def flush(self) -> None: ...

    def size(self) -> int:
        return self._written

    def close(self) -> None: ...
