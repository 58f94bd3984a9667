"""What a file is by its first bytes, against what its name says."""

from __future__ import annotations

import io
import wave
from pathlib import PurePosixPath

NO_FORMAT = ""

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF8", "gif"),
    (b"BM", "bmp"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"\x93NUMPY", "npy"),
    (b"fLaC", "flac"),
    (b"OggS", "ogg"),
    (b"ID3", "mp3"),
    (b"\xff\xfb", "mp3"),
    (b"\xff\xf3", "mp3"),
    (b"%PDF", "pdf"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"<?xml", "xml"),
    (b"<svg", "svg"),
    (b"<!DOCTYPE", "html"),
    (b"<html", "html"),
    (b"\x00\x00\x00\x0cjP  ", "jpeg2000"),
)
_RIFF = {b"WAVE": "wav", b"WEBP": "webp"}
_BY_EXTENSION = {
    ".jpg": "jpeg",
    ".jpeg": "jpeg",
    ".jpe": "jpeg",
    ".jfif": "jpeg",
    ".png": "png",
    ".gif": "gif",
    ".bmp": "bmp",
    ".tif": "tiff",
    ".tiff": "tiff",
    ".webp": "webp",
    ".npy": "npy",
    ".jp2": "jpeg2000",
    ".wav": "wav",
    ".flac": "flac",
    ".ogg": "ogg",
    ".mp3": "mp3",
}
_SAME = {"mpo": "jpeg", "apng": "png", "dib": "bmp"}  # what a decoder may call the same thing


def format_of(content: bytes) -> str:
    """`jpeg`, `png`, `wav`, … by the first bytes; empty when unknown."""
    head = content[:16]
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12], NO_FORMAT)
    return next((name for magic, name in _MAGIC if head.startswith(magic)), NO_FORMAT)


def is_mislabelled(reference: str, found: str) -> bool:
    """Whether the extension promises another format than the content has; unknown extensions and contents promise nothing."""
    promised = _BY_EXTENSION.get(PurePosixPath(reference).suffix.lower(), NO_FORMAT)
    return bool(promised and found and promised != _SAME.get(found, found))


def audio_fault(content: bytes, reference: str) -> tuple[str, str]:
    """(status, detail) of a recording, both empty when nothing is wrong. Only the WAV container is looked into: its header must be whole, and
    the samples that it announces must be there."""
    if not content:
        return "empty", "the file has no bytes"
    if format_of(content) != "wav":
        if PurePosixPath(reference).suffix.lower() == ".wav":
            return "broken", f"no WAV header in {len(content)} bytes that start with {content[:12]!r}"
        return "", ""
    try:
        with wave.open(io.BytesIO(content)) as sound:
            announced = sound.getnframes() * sound.getnchannels() * sound.getsampwidth()
            found = len(sound.readframes(sound.getnframes()))
    except wave.Error as error:
        # The standard library knows integer samples alone; float samples are no fault.
        return ("", "") if "unknown format" in str(error) else ("broken", str(error))
    except (EOFError, ValueError, ZeroDivisionError) as error:
        return "broken", f"the header is damaged: {type(error).__name__} {error}".strip()
    if announced == 0:
        return "empty", "a WAV file without samples"
    return ("broken", f"{found:,} bytes of samples of {announced:,} announced") if found < announced else ("", "")
