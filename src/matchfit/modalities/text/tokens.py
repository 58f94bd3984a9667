"""Texts as tokens: windows over long texts, kept in one cached file.

Shapes: N items, V windows of all items, T tokens of all windows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.core.records import content_hash, write_atomically
from matchfit.media.text import normalise_text

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]

MAX_WINDOWS = 8  # of one text; what lies behind them is left out, and said
OVERLAP = 0.25  # of a window with the next
CHUNK_ROWS = 2000


@dataclass(frozen=True, kw_only=True)
class TokenSource:
    """`ids_T` and `types_T` of all windows; window v is `starts_V1[v]:starts_V1[v + 1]`, the windows of item n are
    `first_N1[n]:first_N1[n + 1]`. `cut`: items of which something was left out; `windowed`: items of several windows."""

    ids_T: Int32
    types_T: npt.NDArray[np.uint8]
    starts_V1: Int64
    first_N1: Int64
    cut: int
    windowed: int

    def __len__(self) -> int:
        return len(self.first_N1) - 1

    @property
    def lengths(self) -> Int64:
        """(N,) tokens of each item, over its windows."""
        return np.diff(self.starts_V1[self.first_N1])

    def padded(self, rows_B: Int64, *, pad_id: int, left: bool) -> tuple[Int64, Int64, Int64]:
        """(ids, mask, types) of (B, W, L), as wide as these rows need."""
        windows = [range(self.first_N1[row], self.first_N1[row + 1]) for row in rows_B]
        width = max(map(len, windows), default=1)
        longest = max((int(self.starts_V1[v + 1] - self.starts_V1[v]) for some in windows for v in some), default=1)
        shape = (len(rows_B), max(width, 1), max(longest, 1))
        ids, mask, types = np.full(shape, pad_id, dtype=np.int64), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, some in enumerate(windows):
            for column, window in enumerate(some):
                start, end = int(self.starts_V1[window]), int(self.starts_V1[window + 1])
                place = slice(longest - (end - start), longest) if left else slice(0, end - start)
                ids[row, column, place], types[row, column, place] = self.ids_T[start:end], self.types_T[start:end]
                mask[row, column, place] = 1
        return ids, mask, types


@contextmanager
def one_thread_of_tokenizers() -> Iterator[None]:
    """The Rust tokenizers' threads are off where nobody chose: a process that forks after them (data workers) would be warned, or hang."""
    before = os.environ.get("TOKENIZERS_PARALLELISM")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("TOKENIZERS_PARALLELISM", None)


def texts_of(table: pl.DataFrame, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """For each row the texts of its columns, by the common rule; an empty cell is the empty text."""
    return list(zip(*([normalise_text(cell) for cell in table[name].to_list()] for name in columns), strict=True))


def token_counts(tokenizer: Any, texts: list[tuple[str, ...]]) -> Int64:
    """(N,) tokens of each row as the model would see it whole."""
    counts: list[int] = []
    with one_thread_of_tokenizers():
        for start in range(0, len(texts), CHUNK_ROWS):
            first, second = _arguments(tokenizer, texts[start : start + CHUNK_ROWS])
            counts += map(len, tokenizer(first, second, truncation=False, verbose=False)["input_ids"])
    return np.array(counts, dtype=np.int64)


def tokenise(
    tokenizer: Any, texts: list[tuple[str, ...]], max_length: int, cache: Path, key: str, say: Callable[[str], None]
) -> TokenSource:
    """The tokens, from the cache when these texts were tokenised by the same rule before (`key` names the rule)."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file
    from safetensors.numpy import save as to_bytes

    path = cache / "tokens" / f"{content_hash([key, max_length, MAX_WINDOWS, OVERLAP, texts])[:32]}.safetensors"
    try:
        return _from_arrays(load_file(path))
    except (OSError, SafetensorError, KeyError):
        pass
    source = _tokenised(tokenizer, texts, max_length)
    if source.windowed:
        say(f"{source.windowed:,} of {len(texts):,} texts are longer than {max_length} tokens and are read in overlapping windows")
    if source.cut:
        say(f"{source.cut:,} of {len(texts):,} texts ({source.cut / len(texts):.1%}) are cut: longer than the model is shown")
    content = to_bytes(
        {
            "ids": source.ids_T,
            "types": source.types_T,
            "starts": source.starts_V1,
            "first": source.first_N1,
            "counts": np.array([source.cut, source.windowed], dtype=np.int64),
        }
    )
    write_atomically(path, lambda file: _write(file, content))
    return source


def _write(file: Any, content: bytes) -> None:
    file.write(content)


def _from_arrays(arrays: dict[str, Any]) -> TokenSource:
    cut, windowed = map(int, arrays["counts"])
    return TokenSource(
        ids_T=arrays["ids"],
        types_T=arrays["types"],
        starts_V1=arrays["starts"],
        first_N1=arrays["first"],
        cut=cut,
        windowed=windowed,
    )


def _arguments(tokenizer: Any, texts: list[tuple[str, ...]]) -> tuple[list[str], list[str] | None]:
    """What a tokenizer is called with: a text, a pair of texts, or more texts joined by its separator."""
    if texts and len(texts[0]) == 2:
        return [row[0] for row in texts], [row[1] for row in texts]
    joint = f" {tokenizer.sep_token or tokenizer.eos_token or ''} "
    return [joint.join(row) for row in texts], None


def _tokenised(tokenizer: Any, texts: list[tuple[str, ...]], max_length: int) -> TokenSource:
    """Windows for a text alone; a pair is cut to `max_length`, the longer text first."""
    ids: list[Int32] = []
    types: list[npt.NDArray[np.uint8]] = []
    windows_N = np.zeros(len(texts), dtype=np.int64)
    cut = 0
    for start in range(0, len(texts), CHUNK_ROWS):
        chunk = texts[start : start + CHUNK_ROWS]
        first, second = _arguments(tokenizer, chunk)
        with one_thread_of_tokenizers():
            if second is None:
                room = max_length - tokenizer.num_special_tokens_to_add()
                found = tokenizer(
                    first,
                    truncation=True,
                    max_length=max_length,
                    stride=min(int(OVERLAP * max_length), room - 1),
                    return_overflowing_tokens=True,
                    return_token_type_ids=True,
                )
                owners = found["overflow_to_sample_mapping"]
            else:
                found = tokenizer(first, second, truncation="longest_first", max_length=max_length, return_token_type_ids=True)
                cut += int((token_counts(tokenizer, chunk) > max_length).sum())
                owners = range(len(chunk))
        for owner, row, kinds in zip(owners, found["input_ids"], found["token_type_ids"], strict=True):
            if windows_N[start + owner] == MAX_WINDOWS:
                cut += 1
            windows_N[start + owner] += 1
            if windows_N[start + owner] <= MAX_WINDOWS:
                ids.append(np.array(row, dtype=np.int32))
                types.append(np.array(kinds, dtype=np.uint8))
    windows_N = np.minimum(windows_N, MAX_WINDOWS)
    sizes = np.array([len(row) for row in ids], dtype=np.int64)
    return TokenSource(
        ids_T=np.concatenate(ids) if ids else np.empty(0, dtype=np.int32),
        types_T=np.concatenate(types) if types else np.empty(0, dtype=np.uint8),
        starts_V1=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        first_N1=np.concatenate([[0], np.cumsum(windows_N)]).astype(np.int64),
        cut=cut,
        windowed=int((windows_N > 1).sum()),
    )
