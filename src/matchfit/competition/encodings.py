"""Which encoding a text file has, and its bytes as plain UTF-8.

Strictly tried: UTF-8, then byte order marks, then UTF-16 without a mark, then what charset-normalizer finds most plausible among the
encodings that hosts use. A guess that does not decode the whole file is not taken.
"""

from __future__ import annotations

import codecs
import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from matchfit.core.findings import Finding

CHUNK_BYTES = 8 << 20
SAMPLE_BYTES = 64 << 10
MARKS = (  # UTF-32 before UTF-16: its little-endian mark starts like that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# candidates of the last step; on a tie the first wins
CANDIDATES = (
    "gb18030",
    "cp1252",
    "cp932",
    "big5hkscs",
    "euc_kr",
    "cp874",
    "cp1251",
    "cp1250",
    "cp1254",
    "cp1256",
    "cp1255",
    "cp1253",
)
DAMAGE_RATIO = 20  # so many good characters outside ASCII a bad byte make a damaged UTF-8 file rather than another encoding


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """`name` as Python calls it, the length of the byte order mark, whether single bytes do not decode (they become U+FFFD), NUL bytes."""

    name: str
    mark_bytes: int = 0
    damaged: bool = False
    num_nul: int = 0

    @property
    def is_plain(self) -> bool:
        """True when the file can be read as UTF-8 where it lies."""
        return self.name == "utf-8" and not self.damaged


def detect(path: Path, *, preferred: str = "") -> Encoding:
    """The encoding of a text file, after reading all of it; memory is bounded. `preferred` goes before other guesses where it decodes."""
    with path.open("rb") as handle:
        head = handle.read(4)
    for mark, name in MARKS:
        if head.startswith(mark):
            num_nul = 0 if name.startswith(("utf-16", "utf-32")) else _count(path, b"\0")
            return Encoding(name=name, mark_bytes=len(mark), damaged=not _decodes(path, name, skip=len(mark)), num_nul=num_nul)
    num_nul = _count(path, b"\0")
    is_utf8 = _decodes(path, "utf-8")
    if num_nul and (wide := _wide_without_mark(path)):
        return Encoding(name=wide, damaged=not _decodes(path, wide))
    if is_utf8:
        return Encoding(name="utf-8", num_nul=num_nul)
    if _is_damaged_utf8(path):
        return Encoding(name="utf-8", damaged=True, num_nul=num_nul)
    for name in ([preferred] if preferred else []) + _plausible(path):
        if _decodes(path, name):
            return Encoding(name=name, num_nul=num_nul)
    return Encoding(name="latin-1", num_nul=num_nul)


@contextlib.contextmanager
def as_utf8(path: Path, spill: Path, *, preferred: str = "") -> Iterator[tuple[Path, Encoding]]:
    """The file as UTF-8 (a mark may remain in front): itself when it is that already, else a temporary copy in `spill`."""
    encoding = detect(path, preferred=preferred)
    if encoding.is_plain:
        yield path, encoding
        return
    with tempfile.NamedTemporaryFile(dir=spill, suffix=".txt") as copy:
        for text in _texts(path, encoding.name, skip=encoding.mark_bytes, errors="replace"):
            copy.write(text.encode("utf-8", "replace"))
        copy.flush()
        yield Path(copy.name), encoding


def encoding_findings(name: str, encoding: Encoding) -> list[Finding]:
    """What a user should know about how a file is written."""
    found = []
    if encoding.mark_bytes:
        found.append(
            Finding(code="bom", severity="info", message=f"{name} starts with a byte order mark ({encoding.name}); it was removed.")
        )
    if encoding.name != "utf-8":
        found.append(
            Finding(
                code="encoding",
                severity="warning",
                message=f"{name} is not UTF-8; it was read as {encoding.name}.",
                todo="Look at a few texts; save the file as UTF-8 if they are wrong.",
            )
        )
    if encoding.damaged:
        found.append(
            Finding(
                code="encoding_damaged",
                severity="warning",
                message=f"{name} holds bytes that are not {encoding.name}; they became U+FFFD.",
                todo="Repair the file if the affected rows matter.",
            )
        )
    if encoding.num_nul:
        found.append(
            Finding(
                code="nul_bytes",
                severity="warning",
                message=f"{name} holds {encoding.num_nul} NUL bytes inside text; they were kept.",
                todo="Download the file again if it may be damaged.",
            )
        )
    return found


def _texts(path: Path, name: str, *, skip: int = 0, errors: str = "strict") -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(name)(errors)
    with path.open("rb") as handle:
        handle.seek(skip)
        while chunk := handle.read(CHUNK_BYTES):
            yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _decodes(path: Path, name: str, *, skip: int = 0) -> bool:
    try:
        for _ in _texts(path, name, skip=skip):
            pass
    except UnicodeDecodeError:
        return False
    return True


def _count(path: Path, byte: bytes) -> int:
    with path.open("rb") as handle:
        return sum(chunk.count(byte) for chunk in iter(lambda: handle.read(CHUNK_BYTES), b""))


def _wide_without_mark(path: Path) -> str:
    """`utf-16-le` or `utf-16-be` when the head of the file decodes as such, with line ends and without NUL characters; else ''."""
    with path.open("rb") as handle:
        head = handle.read(SAMPLE_BYTES)
    head = head[: len(head) // 2 * 2]
    lines = {}
    for name in ("utf-16-le", "utf-16-be"):
        text = head.decode(name, "ignore")
        plausible = "\0" not in text and all(sign.isprintable() or sign in "\r\n\t" for sign in text[:2000])
        lines[name] = text.count("\n") if plausible else 0
    best = max(lines, key=lambda name: lines[name])
    return best if lines[best] else ""


def _is_damaged_utf8(path: Path) -> bool:
    bad = good = 0
    for text in _texts(path, "utf-8", errors="replace"):
        replaced = text.count("\ufffd")
        bad += replaced
        good += len(text) - len(text.encode("ascii", "ignore")) - replaced
    return good >= DAMAGE_RATIO * bad


def _plausible(path: Path) -> list[str]:
    """Encodings for the lines that are not ASCII, the most plausible first."""
    from charset_normalizer import from_bytes

    sample = b""
    with path.open("rb") as handle:
        for line in handle.read(CHUNK_BYTES).split(b"\n"):
            if not line.isascii() and len(sample) < SAMPLE_BYTES:
                sample += line[:SAMPLE_BYTES] + b"\n"
    matches = from_bytes(sample, cp_isolation=list(CANDIDATES))
    order = {name: place for place, name in enumerate(CANDIDATES)}
    ranked = sorted(
        matches,
        key=lambda match: (
            _half_width(str(match)),
            round(match.chaos, 2),
            -round(match.coherence, 1),
            order.get(match.encoding, 99),
        ),
    )
    return [match.encoding for match in ranked]


def _half_width(text: str) -> bool:
    """Mostly half-width katakana: what nearly any other bytes become in cp932, and what nobody writes at length."""
    wide = [sign for sign in text if not sign.isascii()]
    return 2 * sum("\uff61" <= sign <= "\uff9f" for sign in wide) > len(wide)
