"""N-grams of words and characters as 64-bit hashes, counted with numpy alone: fast, the same everywhere, nothing to pickle.

A gram is named by 44 bits of a hash of its code points (a polynomial over scrambled code points, modulo 2**64, scrambled once more with the
name of its kind), so that a vocabulary is a sorted array of numbers. In a vocabulary of 500,000 no two grams share a name, 99 times in 100.

Shapes: N texts, V grams of the vocabulary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from matchfit.core.seeds import derive_seed
from matchfit.media.text import normalise_text

if TYPE_CHECKING:
    import scipy.sparse as sparse

UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]

GRAM_BITS = 44  # of a gram's hash; the other 20 bits of a sorting key number the texts of a chunk
CHUNK_CHARACTERS = 2_000_000  # bounds the memory of one pass, about 100 bytes a character, and the texts of a chunk to 2**20
MAX_CHARACTERS = 20_000  # of one text; the rest of it is left out
_MULTIPLIER = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2**64
_INVERSE = pow(_MULTIPLIER, -1, 1 << 64)
_LONG_RUN = re.compile(r"(.)\1{3,}", re.DOTALL)
_TERMS_KEPT = 20_000_000  # distinct grams held while counting; beyond it the ones seen once so far are dropped


@dataclass(frozen=True, kw_only=True)
class GramSpec:
    """`word`: runs of letters, marks and digits, and single other signs. `char`: characters within words, a blank at both ends of each.

    Grams of `low` to `high` units that are in at least `min_texts` texts are kept; `weight` multiplies the block.
    """

    kind: Literal["word", "char"]
    low: int
    high: int
    min_texts: int = 2
    weight: float = 1.0

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": self.low, "high": self.high, "min_texts": self.min_texts, "weight": self.weight}


def clean(text: str | None) -> str:
    """What is counted: the text by the common rule, lower case, runs of one sign cut to three (`haaaaappy`, `55555`)."""
    return _LONG_RUN.sub(r"\1\1\1", normalise_text(text)[:MAX_CHARACTERS].lower())


@dataclass(frozen=True)
class Counts:
    """How often each gram is in each text: parallel arrays, sorted by text, then gram."""

    text: npt.NDArray[np.int32]
    gram: UInt64
    count: npt.NDArray[np.float32]


def counted(texts: Sequence[str], spec: GramSpec, salt: str) -> Iterator[Counts]:
    """The counts of cleaned texts, one chunk of texts after the other. `salt` keeps the grams of different columns apart."""
    for start, chunk in _chunks(texts):
        symbols = _Symbols(chunk)
        found = _words(symbols, spec) if spec.kind == "word" else _characters(symbols, spec)
        keys = []  # text and gram as one number: sorting one array is many times faster than sorting two
        for order, text, gram in found:
            named = _scramble(gram ^ np.uint64(derive_seed(salt, spec.kind, order))) >> np.uint64(64 - GRAM_BITS)
            keys.append((text.astype(np.uint64) << np.uint64(GRAM_BITS)) | named)
        key = np.sort(np.concatenate(keys)) if keys else np.empty(0, dtype=np.uint64)
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.empty(0, dtype=np.int64)
        count = np.diff(np.append(first, len(key))).astype(np.float32)
        key = key[first]
        text_of = (key >> np.uint64(GRAM_BITS)).astype(np.int32) + np.int32(start)
        yield Counts(text_of, key & np.uint64((1 << GRAM_BITS) - 1), count)


@dataclass(frozen=True)
class Vocabulary:
    """`grams_V` ascending, and the inverse document frequency of each, smoothed as scikit-learn does: ln((1 + N) / (1 + n)) + 1."""

    grams_V: UInt64
    idf_V: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.grams_V)


def learn_vocabulary(parts: Iterable[Counts], num_texts: int, spec: GramSpec, *, max_grams: int) -> Vocabulary:
    """The grams in at least `min_texts` of the texts; the `max_grams` most frequent ones of them (ties: the smaller name)."""
    grams = np.empty(0, dtype=np.uint64)
    frequency = np.empty(0, dtype=np.int64)
    pending: list[UInt64] = []
    held = 0
    for part in parts:
        pending.append(part.gram)
        held += len(part.gram)
        if held > _TERMS_KEPT:
            grams, frequency = _tallied(grams, frequency, pending)
            pending, held = [], 0
            if len(grams) > _TERMS_KEPT:
                grams, frequency = grams[frequency > 1], frequency[frequency > 1]
    grams, frequency = _tallied(grams, frequency, pending)
    kept = frequency >= min(spec.min_texts, max(num_texts // 2, 1))
    grams, frequency = grams[kept], frequency[kept]
    if len(grams) > max_grams:
        best = np.sort(np.lexsort((grams, -frequency))[:max_grams])
        grams, frequency = grams[best], frequency[best]
    return Vocabulary(grams, np.log((1 + num_texts) / (1 + frequency)) + 1)


def _tallied(grams: UInt64, frequency: Int64, pending: list[UInt64]) -> tuple[UInt64, Int64]:
    if not pending:
        return grams, frequency
    ordered = np.sort(np.concatenate(pending))
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else np.empty(0, dtype=np.int64)
    new, counts = ordered[first], np.diff(np.append(first, len(ordered)))
    if not len(grams):
        return new, counts
    merged, place = np.unique(np.concatenate([grams, new]), return_inverse=True)
    total = np.zeros(len(merged), dtype=np.int64)
    np.add.at(total, place, np.concatenate([frequency, counts]))
    return merged, total


def weighted(parts: Iterable[Counts], num_texts: int, spec: GramSpec, vocabulary: Vocabulary) -> sparse.csr_matrix:
    """(N, V) rows of (1 + ln count) · idf, each row scaled to the length `weight` (a text without known grams: zero): float64."""
    import scipy.sparse as sparse

    rows, columns, values = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.float64)]
    for part in parts if len(vocabulary) else ():
        place = np.minimum(np.searchsorted(vocabulary.grams_V, part.gram), len(vocabulary) - 1)
        known = np.flatnonzero(vocabulary.grams_V[place] == part.gram)
        place = place[known]
        rows.append(part.text[known])
        columns.append(place.astype(np.int32))
        values.append((1 + np.log(part.count[known].astype(np.float64))) * vocabulary.idf_V[place])
    row, column, value = np.concatenate(rows), np.concatenate(columns), np.concatenate(values)
    length_N = np.sqrt(np.bincount(row, weights=value**2, minlength=num_texts))
    value *= spec.weight / length_N[row]
    starts = np.searchsorted(row, np.arange(num_texts + 1))
    return sparse.csr_matrix((value, column, starts), shape=(num_texts, len(vocabulary)))


class _Symbols:
    """A chunk of texts as one row of code points, a blank before and after each text."""

    def __init__(self, texts: Sequence[str]) -> None:
        joined = "".join(f" {text} " for text in texts)
        self.codes = np.frombuffer(joined.encode("utf-32-le", errors="replace"), dtype=np.uint32)
        lengths = np.fromiter((len(text) + 2 for text in texts), dtype=np.int64, count=len(texts))
        self.text = np.repeat(np.arange(len(texts), dtype=np.int64), lengths)
        points, self.point = np.unique(self.codes, return_inverse=True)
        self.scrambled = _scramble(points.astype(np.uint64))[self.point]
        self.blank = self.codes == 32
        self._points = points

    def in_words(self) -> npt.NDArray[np.bool_]:
        """Whether a symbol is a letter, a mark, a digit or `_`."""
        kinds = [unicodedata.category(chr(point))[0] in "LMN" or point == 95 for point in self._points]
        return np.array(kinds, dtype=np.bool_)[self.point]


def _characters(symbols: _Symbols, spec: GramSpec) -> Iterator[tuple[int, Int64, UInt64]]:
    """Grams within one word and the blanks beside it: a blank is never inside."""
    size = len(symbols.codes)
    blanks = np.concatenate([[0], np.cumsum(symbols.blank)])
    gram = np.zeros(size, dtype=np.uint64)
    for order in range(1, spec.high + 1):
        span = size - order + 1
        if span <= 0:
            return
        gram = gram[:span] * np.uint64(_MULTIPLIER) + symbols.scrambled[order - 1 :]
        if order < spec.low:
            continue
        at = np.arange(span)
        whole = (blanks[at + order - 1] == blanks[np.minimum(at + 1, at + order - 1)]) & (
            symbols.text[:span] == symbols.text[order - 1 :]
        )
        if order < 3:  # a blank alone, or the two between neighbouring texts
            whole &= ~(symbols.blank[:span] & symbols.blank[order - 1 :])
        start = np.flatnonzero(whole)
        yield order, symbols.text[start], gram[start]


def _words(symbols: _Symbols, spec: GramSpec) -> Iterator[tuple[int, Int64, UInt64]]:
    """Grams of neighbouring words of one text."""
    inside = symbols.in_words()
    starts = ~symbols.blank
    starts[1:] &= ~(inside[1:] & inside[:-1])
    start = np.flatnonzero(starts)
    if not len(start):
        return
    powers = np.cumprod(np.full(len(symbols.codes), _MULTIPLIER, dtype=np.uint64))
    inverse = np.cumprod(np.full(len(symbols.codes), _INVERSE, dtype=np.uint64))
    written = np.where(symbols.blank, np.uint64(0), symbols.scrambled)
    total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(written * powers, dtype=np.uint64)])
    end = np.append(start[1:], len(symbols.codes))
    word = _scramble((total[end] - total[start]) * inverse[start])
    text = symbols.text[start]
    gram = np.zeros(len(word), dtype=np.uint64)
    for order in range(1, spec.high + 1):
        span = len(word) - order + 1
        if span <= 0:
            return
        gram = gram[:span] * np.uint64(_MULTIPLIER) + word[order - 1 :]
        if order >= spec.low:
            at = np.flatnonzero(text[:span] == text[order - 1 :])
            yield order, text[at], gram[at]


def _scramble(values: UInt64) -> UInt64:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014): neighbouring numbers become unrelated ones."""
    values = (values + np.uint64(_MULTIPLIER)).astype(np.uint64)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _chunks(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    start, size = 0, 0
    for index, text in enumerate(texts):
        if size and size + len(text) > CHUNK_CHARACTERS:
            yield start, texts[start:index]
            start, size = index, 0
        size += len(text) + 2
    if start < len(texts):
        yield start, texts[start:]
