"""One pass over a delimited file that counts what decides how it may be read: cells, lines, quotes, line ends."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CHUNK_BYTES = 8 << 20
MARK = "\ufeff".encode()


@dataclass
class Facts:
    """What a scan of a whole file found, outside quoted cells unless stated otherwise."""

    records: int = 0  # lines with content, the header among them
    delimiters: int = 0
    blank_lines: int = 0
    line_feeds: int = 0  # also inside quotes
    returns: int = 0  # also inside quotes
    return_feeds: int = 0  # also inside quotes
    lone_returns: int = 0  # carriage returns in the midst of a line that ends with a line feed
    quotes: int = 0
    all_delimiters: int = 0  # also inside quotes
    doubled_quotes: bool = False  # `""`: an escaped quote, or an empty cell
    loose_quotes: bool = False  # a quote within an unquoted cell, or text after a closing quote, or one that never closes

    @property
    def line_end(self) -> str:
        return "\r" if self.returns and not self.line_feeds else "\n"


def scan(path: Path, delimiter: str) -> Facts:
    """Count what matters, with quotes respected, in chunks: bounded memory, about a second a gigabyte where there are no quotes."""
    facts = Facts()
    with path.open("rb") as handle:
        for chunk in iter(lambda: handle.read(CHUNK_BYTES), b""):
            facts.line_feeds += chunk.count(b"\n")
            facts.returns += chunk.count(b"\r")
            facts.quotes += chunk.count(b'"')
            facts.all_delimiters += chunk.count(delimiter.encode()) if delimiter else 0
    end = ord(facts.line_end)
    inside, tail = 0, b""  # tail: up to two bytes before the chunk, at first the virtual line end before the file
    with path.open("rb") as handle:
        if handle.read(3) != MARK:
            handle.seek(0)
        position, size = handle.tell(), path.stat().st_size
        tail = bytes([end])
        while position < size:
            chunk = handle.read(CHUNK_BYTES)
            ahead = handle.read(1)  # a closing quote is judged by the byte after it
            handle.seek(-len(ahead), io.SEEK_CUR)
            position += len(chunk)
            inside = _scan_chunk(facts, chunk, tail, ahead, ord(delimiter or "\x00"), end, inside, bool(delimiter))
            tail = (tail + chunk)[-2:]
        if tail[-1] != end:
            facts.records += 1
    facts.loose_quotes |= bool(inside)
    facts.records -= facts.blank_lines
    return facts


def _scan_chunk(facts: Facts, chunk: bytes, tail: bytes, ahead: bytes, delimiter: int, end: int, inside: int, counted: bool) -> int:
    """Add one chunk to the facts; returns 1 when it ends inside a quoted cell."""
    returns_matter = facts.returns and end == 10
    if returns_matter:
        joined = tail[-1:] + chunk
        facts.return_feeds += joined.count(b"\r\n")
    maybe_blank = bytes([end, end]) in tail[-1:] + chunk or (returns_matter and b"\n\r\n" in tail + chunk)
    if b'"' not in chunk and not inside:
        facts.delimiters += chunk.count(delimiter) if counted else 0
        facts.records += chunk.count(end)
        if returns_matter:
            lone = (chunk + ahead).count(b"\r") - (chunk + ahead).count(b"\r\n") - (ahead == b"\r")
            facts.lone_returns += lone - ((chunk + ahead).endswith(b"\r") and not ahead)
        if maybe_blank:
            codes = np.frombuffer(tail + chunk, dtype=np.uint8)
            facts.blank_lines += _blank_lines(codes == end, codes, len(tail))
        return 0
    facts.doubled_quotes |= b'""' in tail[-1:] + chunk
    codes = np.frombuffer(tail + chunk + ahead, dtype=np.uint8)
    quotes = codes == 34
    quotes[: len(tail)] = False
    if ahead:
        quotes[-1] = False
    odd = ((np.cumsum(quotes, dtype=np.uint8) + inside) & 1).astype(bool)  # True: inside a quoted cell after this byte
    outside = ~odd
    outside[: len(tail)] = False
    outside[len(tail) + len(chunk) :] = False
    ends = (codes == end) & outside
    facts.records += int(ends.sum())
    facts.delimiters += int(((codes == delimiter) & outside).sum()) if counted else 0
    _judge_quotes(facts, codes, quotes, odd, delimiter if counted else end, end, last=not ahead)
    if returns_matter:
        after = np.append(codes[1:], np.uint8(end))
        facts.lone_returns += int(((codes == 13) & outside & (after != 10)).sum())
    if maybe_blank:
        before = (codes == end)[: len(tail)] & (not inside)
        facts.blank_lines += _blank_lines(np.concatenate([before, ends[len(tail) :]]), codes, len(tail))
    return int(odd[len(tail) + len(chunk) - 1])


def _judge_quotes(facts: Facts, codes: Any, quotes: Any, odd: Any, delimiter: int, end: int, *, last: bool) -> None:
    """An opening quote follows a delimiter, a line end or a quote; a closing one stands before one of them."""
    places = np.flatnonzero(quotes)
    opening, closing = places[odd[places]], places[~odd[places]]
    good = np.zeros(256, dtype=bool)
    good[[delimiter, end, 34]] = True
    facts.loose_quotes |= not good[codes[opening - 1]].all()
    good[13] = True
    at_end = (closing == len(codes) - 1) if last else np.zeros(len(closing), dtype=bool)
    facts.loose_quotes |= not (good[codes[np.minimum(closing + 1, len(codes) - 1)]] | at_end).all()


def _blank_lines(ends: Any, codes: Any, skip: int) -> int:
    """Lines without a character among the own bytes of a chunk (those after `skip`)."""
    places = np.flatnonzero(ends)
    if len(places) < 2:
        return 0
    own, gap = places[1:] >= skip, np.diff(places)
    blank = (gap == 1) | ((gap == 2) & (codes[np.maximum(places[1:] - 1, 0)] == 13))
    return int((blank & own).sum())
