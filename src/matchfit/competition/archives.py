"""Archives of a competition folder as lists of members: zip, tar (plain, gz, xz, bz2) and 7z.

Nothing is ever unpacked by name, so a member called `../x` cannot land anywhere: members are read as bytes, by position.
Sizes are bounded (see `refuse_bomb`), and every fault of an archive becomes a DataError that names the archive and the member.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, Protocol, cast

from matchfit.competition.tarheaders import tar_entries
from matchfit.core.errors import DataError

TAR_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tbz")
ARCHIVE_SUFFIXES = (".zip", ".7z", *TAR_SUFFIXES)
MAX_MEMBER_BYTES = 4 << 30
BOMB_BYTES, BOMB_RATIO = 1 << 30, 1000
COPY_BYTES = 1 << 20
JUNK_FOLDERS = frozenset({"__MACOSX", "__pycache__", "$RECYCLE.BIN", "System Volume Information"})
JUNK_FILES = frozenset({"thumbs.db", "desktop.ini", "icon\r"})
BROKEN = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)


class Member(NamedTuple):
    """One file of an archive: its decoded name with `/`, its size in bytes, and its place in storage order."""

    name: str
    size: int
    offset: int


class Archive(Protocol):
    """What a file tree needs of an archive. `fault` is set when listing met the end too early; what came before is listed."""

    fault: DataError | None

    def members(self) -> list[Member]: ...

    def open(self, member: Member) -> IO[bytes]:
        """A stream of the member's bytes; raises one of BROKEN or DataError, also while it is read."""
        ...


def archive_suffix(name: str) -> str:
    """The suffix that makes `name` an archive (`.tar.gz`), in its own letters; '' when it is none."""
    lowered = name.lower()
    hits = [suffix for suffix in ARCHIVE_SUFFIXES if lowered.endswith(suffix) and len(lowered) > len(suffix)]
    return name[-len(max(hits, key=len)) :] if hits else ""


def is_junk(path: str) -> bool:
    """Files that an operating system left behind, and hidden ones."""
    *folders, name = path.split("/")
    return (
        name.startswith(".") or name.lower() in JUNK_FILES or any(part in JUNK_FOLDERS or part.startswith(".") for part in folders)
    )


def is_unsafe(name: str) -> bool:
    """A member name that points out of its archive."""
    return name.startswith("/") or ".." in name.split("/") or (len(name) > 1 and name[1] == ":" and name[0].isalpha())


def refuse_bomb(label: str, *, size: int, packed: int) -> None:
    """DataError for a member above 4 GiB, or one that unpacks to more than 1 GiB and 1,000 times its packed size."""
    if size > MAX_MEMBER_BYTES or (size > BOMB_BYTES and size > BOMB_RATIO * max(packed, 1)):
        raise DataError(
            label,
            rule="a packed file may not exceed 4 GiB, nor grow by more than 1,000 times to over 1 GiB",
            found=f"{size:,} bytes from {packed:,}",
            todo="Unpack it yourself when you trust it.",
        )


def open_archive(path: Path, label: str, scratch: Path | None) -> Archive:
    """The archive at `path`; `label` is how messages call it. Raises DataError when it cannot be opened, MissingDependencyError for 7z."""
    suffix = archive_suffix(path.name).lower()
    try:
        if suffix == ".zip":
            return ZipArchive(path, label)
        if suffix == ".7z":
            from matchfit.competition.sevenzip import SevenZipArchive  # builds on this module

            return SevenZipArchive(path, label, scratch)
        return TarArchive(path, label, scratch)
    except BROKEN as error:
        raise broken(label, error) from error


def broken(label: str, error: BaseException) -> DataError:
    """The DataError for a file that cannot be read to its end."""
    if isinstance(error, DataError):
        return error
    return DataError(
        label,
        rule="must be a complete, readable file",
        found=f"{type(error).__name__}: {str(error) or 'no more data'}"[:300],
        todo="Download it again, or leave it out.",
    )


class ZipArchive:
    """Random access by the central directory."""

    def __init__(self, path: Path, label: str) -> None:
        self.fault: DataError | None = None
        self._label = label
        self._zip = zipfile.ZipFile(path)
        infos = [info for info in self._zip.infolist() if not info.is_dir() and not info.filename.endswith("\\")]
        decode = _name_decoder(infos)
        self._by_offset: dict[int, zipfile.ZipInfo] = {}
        self._members: list[Member] = []
        for info in infos:
            name = decode(info)
            if is_unsafe(name) or is_junk(name):
                continue
            self._by_offset[info.header_offset] = info
            self._members.append(Member(name, info.file_size, info.header_offset))

    def members(self) -> list[Member]:
        return self._members

    def open(self, member: Member) -> IO[bytes]:
        info = self._by_offset[member.offset]
        label = f"{self._label}!/{member.name}"
        if info.flag_bits & 1:
            raise DataError(
                label, rule="must not be protected by a password", found="an encrypted member", todo="Unpack the archive yourself."
            )
        refuse_bomb(label, size=info.file_size, packed=info.compress_size)
        return self._zip.open(info)


def _name_decoder(infos: list[zipfile.ZipInfo]) -> Any:
    """A function from entry to name. Names without the UTF-8 flag are bytes that zipfile showed as cp437: they are looked at together."""
    raw = [info.filename.encode("cp437") for info in infos if not info.flag_bits & 0x800 and not info.filename.isascii()]
    encoding = _guess_name_encoding(b"\n".join(raw)) if raw else "cp437"

    def decode(info: zipfile.ZipInfo) -> str:
        name = info.filename
        if not name.isascii() and not info.flag_bits & 0x800 and encoding != "cp437":
            name = name.encode("cp437").decode(encoding, "replace")
        return name.replace("\\", "/").removeprefix("./")

    return decode


def _guess_name_encoding(raw: bytes) -> str:
    """UTF-8 before Shift-JIS (it must show kana) before GB18030 (all signs Chinese or full-width) before cp866 (Russian) before cp437."""
    for encoding, low, high in (("utf-8", "\x80", "\U0010ffff"), ("cp932", "\u3040", "\u30ff"), ("gb18030", "\u4e00", "\u9fff")):
        with contextlib.suppress(UnicodeDecodeError):
            signs = [sign for sign in raw.decode(encoding) if not sign.isascii()]
            fitting = sum(low <= sign <= high for sign in signs)
            if fitting >= (0.3 if encoding == "cp932" else 0.7) * len(signs):
                return encoding
    russian = raw.decode("cp866")
    whole_words = not re.search("[a-zA-Z][\u0400-\u04ff]|[\u0400-\u04ff][a-zA-Z]", russian)
    return "cp866" if whole_words and all(sign.isascii() or "\u0400" <= sign <= "\u04ff" for sign in russian) else "cp437"


class Unpacked:
    """What tar and 7z share: one open file with the bytes of all members."""

    _bytes: IO[bytes] | None = None

    def __del__(self) -> None:  # as zipfile does: whoever drops the archive drops its file
        if self._bytes is not None:
            self._bytes.close()


class TarArchive(Unpacked):
    """A tar as offsets into its unpacked bytes.

    A packed tar is unpacked once into `scratch` as one file; without scratch it is read as a stream whose position is kept: reading
    in storage order is one pass, a step back starts again.
    """

    def __init__(self, path: Path, label: str, scratch: Path | None) -> None:
        self.fault: DataError | None = None
        self._path, self._label, self._scratch = path, label, scratch
        with path.open("rb") as handle:
            magic = handle.read(6)
        self._packed = magic[:2] == b"\x1f\x8b" or magic[:3] == b"BZh" or magic == b"\xfd7zXZ\x00"
        self._members = self._list()

    def members(self) -> list[Member]:
        return self._members

    def _list(self) -> list[Member]:
        """The members, from one pass over the unpacked bytes (from `scratch` where the archive may be unpacked to it)."""
        packed = self._path.stat().st_size if self._packed else 1 << 62
        found: dict[str, Member] = {}
        try:
            if self._packed and self._scratch is not None:
                with contextlib.suppress(*BROKEN):  # a cut archive is listed as far as it goes, as a stream
                    self._bytes = unpacked_once(self._path, self._scratch, self._label).open("rb")
            length = 1 << 62 if self._packed else self._path.stat().st_size
            with self._bytes or open_packed(self._path) as stream:
                for entry in tar_entries(stream):
                    name = entry.name.removeprefix("./")
                    if self._packed:
                        refuse_bomb(f"{self._label}!/{name}", size=entry.size, packed=packed)
                    if is_unsafe(name) or is_junk(name):
                        continue
                    target = found.get(entry.link.removeprefix("./")) if entry.link else None
                    if entry.is_file and entry.offset + entry.size > length:
                        self.fault = broken(self._label, EOFError("the archive ends inside a member"))
                    if entry.is_file or target:
                        found[name] = Member(name, *((target.size, target.offset) if target else (entry.size, entry.offset)))
        except (*BROKEN, DataError) as error:
            self.fault = broken(self._label, error)
            if not found:
                raise self.fault from error
        finally:
            self._bytes = None
        return list(found.values())

    def open(self, member: Member) -> IO[bytes]:
        refuse_bomb(f"{self._label}!/{member.name}", size=member.size, packed=member.size)
        if self._bytes is None:
            self._bytes = self._open_bytes()
        self._bytes.seek(member.offset)
        return cast("IO[bytes]", Slice(self._bytes, member.size))

    def _open_bytes(self) -> IO[bytes]:
        if self._packed and self._scratch is not None and self.fault is None:
            return unpacked_once(self._path, self._scratch, self._label).open("rb")
        return open_packed(self._path)


class Slice:
    """The next `size` bytes of a stream, as a stream; EOFError when the stream ends before."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream, self._left = stream, size

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        content = self._stream.read(wanted)
        if len(content) < wanted:
            raise EOFError(f"{self._left - len(content):,} bytes are missing at the end")
        self._left -= len(content)
        return content

    def __enter__(self) -> Slice:
        return self

    def __exit__(self, *_: object) -> None: ...


def open_packed(path: Path) -> IO[bytes]:
    """A seekable stream of the unpacked bytes of a gz, xz or bz2 file (told by its first bytes); of the file itself otherwise."""
    with path.open("rb") as handle:
        magic = handle.read(6)
    if magic[:2] == b"\x1f\x8b":
        return cast("IO[bytes]", gzip.open(path))
    if magic[:3] == b"BZh":
        return cast("IO[bytes]", bz2.open(path))
    if magic == b"\xfd7zXZ\x00":
        return cast("IO[bytes]", lzma.open(path))
    return path.open("rb")


def scratch_name(path: Path, scratch: Path) -> Path:
    """Where the unpacked bytes of a file live; another name as soon as the file changes."""
    facts = path.stat()
    key = f"{path.resolve()}\n{facts.st_size}\n{facts.st_mtime_ns}"
    return scratch / f"{hashlib.sha256(os.fsencode(key)).hexdigest()[:24]}.unpacked"


@contextlib.contextmanager
def replaced_when_done(target: Path) -> Iterator[Path]:
    """A draft beside `target` that takes its name at the end, so that no other process ever sees half a file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f"{target.name}.{os.getpid()}.draft")
    try:
        yield draft
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def unpacked_once(path: Path, scratch: Path, label: str) -> Path:
    """The unpacked bytes of a gz, xz or bz2 file in `scratch`; raises BROKEN errors, and DataError for a bomb."""
    target = scratch_name(path, scratch)
    if not target.exists():
        packed, size = path.stat().st_size, 0
        with replaced_when_done(target) as draft, open_packed(path) as source, draft.open("wb") as sink:
            while chunk := source.read(COPY_BYTES):
                size += len(chunk)
                if size > BOMB_BYTES:
                    refuse_bomb(label, size=min(size, MAX_MEMBER_BYTES), packed=packed)
                sink.write(chunk)
    return target


def stem(name: str) -> str:
    """The name of an archive without its suffix."""
    base = PurePosixPath(name).name
    return base[: len(base) - len(archive_suffix(base))]
