"""The members of a tar with the places of their content, by `tarfile`."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO, NamedTuple


class Entry(NamedTuple):
    """One member: its name, bytes, the offset of its content in the unpacked stream, and the target of a hard link ('' otherwise)."""

    name: str
    size: int
    offset: int
    is_file: bool
    link: str


def tar_entries(stream: IO[bytes]) -> Iterator[Entry]:
    """Members in storage order. Raises ValueError for what is no tar, EOFError where the stream ends inside a member."""
    try:
        archive = tarfile.open(fileobj=stream, mode="r:", encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
        while (member := archive.next()) is not None:
            archive.members = []  # type: ignore[attr-defined]  # or it keeps all of them
            link = _text(member.linkname) if member.islnk() else ""
            yield Entry(_text(member.name), member.size, member.offset_data, member.isfile() and not link, link)
    except tarfile.ReadError as error:
        if "end of data" in str(error) or "truncated" in str(error):
            raise EOFError("the archive ends inside a member") from error
        raise ValueError(str(error)) from error


def _text(name: str) -> str:
    """Names are UTF-8, or GBK as Windows writes them in China, or single bytes."""
    raw = name.encode("utf-8", "surrogateescape")
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")
