"""Near-equal texts: MinHash over character shingles, then the exact Jaccard index of what collides (Broder 1997).

Texts are compared without case, blanks and punctuation, so that it works in scripts without blanks too. Conservative: short texts must be equal in
that form, longer ones share 85 % of their shingles.

Shapes: N texts, C characters of a block of texts, H hash functions, P pairs.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from matchfit.core.seeds import generator

Int64 = npt.NDArray[np.int64]

SHINGLE = 5  # characters
NUM_BANDS, ROWS_EACH = 16, 4  # a pair of Jaccard 0.85 collides in some band with probability 0.9999
JACCARD_BAR = 0.85
MIN_LETTERS = 20  # below, only equality counts
MIN_EQUAL = 8  # letters; below, equal texts are no news
BLOCK_LETTERS = 2_000_000
MAX_SHINGLES = 30_000_000  # above, shingles are thinned by their hash, which leaves the Jaccard index as it is in expectation
_SIGNS = re.compile(r"[\W_]+")


def letters(text: str) -> str:
    """The text without case, blanks and punctuation (marks of Thai and Indic vowels are kept: `\\w` leaves some of them out)."""
    folded = text.casefold()
    return (
        _SIGNS.sub("", folded)
        if folded.isascii()
        else "".join(c for c in folded if c.isalnum() or (ord(c) > 0x2FF and not c.isspace()))
    )


def near_text_pairs(texts_N: list[str]) -> Int64:
    """(P, 2) pairs i < j of near-equal texts; of many equal ones each is paired with the first only."""
    plain = [letters(text) for text in texts_N]
    equal = _equal_pairs(plain)
    repeats = set(equal[:, 1].tolist())
    long = np.array([n for n, text in enumerate(plain) if len(text) >= MIN_LETTERS and n not in repeats], np.int64)
    if len(long) < 2:
        return equal
    chosen = [plain[n] for n in long]
    signature = signatures(chosen)
    pairs = _colliding(signature)
    alike = (signature[pairs[:, 0]] == signature[pairs[:, 1]]).mean(1) >= JACCARD_BAR - 0.15
    near = [pair for pair in pairs[alike].tolist() if _jaccard(chosen[pair[0]], chosen[pair[1]]) >= JACCARD_BAR]
    return np.concatenate([equal, long[np.array(near, np.int64).reshape(-1, 2)]])


def _equal_pairs(plain: list[str]) -> Int64:
    first: dict[str, int] = {}
    pairs = [(first[text], n) for n, text in enumerate(plain) if len(text) >= MIN_EQUAL and first.setdefault(text, n) != n]
    return np.array(pairs, np.int64).reshape(-1, 2)


def signatures(plain: list[str]) -> npt.NDArray[np.uint32]:
    """(N, H) MinHash values of texts of at least SHINGLE letters."""
    random = generator("audit", "minhash")
    factors = random.integers(1, 2**63, NUM_BANDS * ROWS_EACH, dtype=np.uint64) | np.uint64(1)
    total = sum(map(len, plain))
    thinning = np.uint64(max(1, -(-total // MAX_SHINGLES)))
    result = np.empty((len(plain), len(factors)), np.uint32)
    start = 0
    while start < len(plain):
        stop, size = start, 0
        while stop < len(plain) and (stop == start or size + len(plain[stop]) <= BLOCK_LETTERS):
            size += len(plain[stop])
            stop += 1
        result[start:stop] = _block_signatures(plain[start:stop], factors, thinning)
        start = stop
    return result


def _block_signatures(block: list[str], factors: npt.NDArray[np.uint64], thinning: np.uint64) -> npt.NDArray[np.uint32]:
    codes_C = np.frombuffer("".join(block).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    lengths = np.array([len(text) for text in block])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    hashes = np.zeros(len(codes_C) - SHINGLE + 1, np.uint64)
    for offset in range(SHINGLE):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + codes_C[offset : offset + len(hashes)]
    hashes = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    within = np.ones(len(hashes), np.bool_)  # no shingle may reach into the next text
    for back in range(1, SHINGLE):
        within[(starts[1:] - back)[starts[1:] - back < len(hashes)]] = False
    if thinning > 1:
        kept = (hashes >> np.uint64(40)) % thinning == 0
        kept[starts] = True  # a text keeps one shingle at least
        within &= kept
    owner = np.repeat(np.arange(len(block)), lengths)[: len(hashes)][within]
    hashes = hashes[within]
    first = np.searchsorted(owner, np.arange(len(block)))
    columns = [np.minimum.reduceat((hashes * factor) >> np.uint64(32), first).astype(np.uint32) for factor in factors]
    return np.stack(columns, axis=1)


def _colliding(signature_NH: npt.NDArray[np.uint32]) -> Int64:
    """(P, 2) pairs i < j with an equal band: neighbours in the order of the band, and each with the first of its bucket."""
    found = []
    for band in range(NUM_BANDS):
        part = signature_NH[:, band * ROWS_EACH : (band + 1) * ROWS_EACH].astype(np.uint64)
        key = np.zeros(len(part), np.uint64)
        for column in part.T:
            key = (key ^ column) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(31)
        order = np.argsort(key, kind="stable")
        ordered = key[order]
        same = np.flatnonzero(ordered[1:] == ordered[:-1])
        head = order[np.searchsorted(ordered, ordered[same + 1])]
        found += [np.stack([order[same], order[same + 1]], 1), np.stack([head, order[same + 1]], 1)]
    pairs = np.concatenate(found)
    return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)


def _jaccard(first: str, second: str) -> float:
    a = {first[n : n + SHINGLE] for n in range(len(first) - SHINGLE + 1)}
    b = {second[n : n + SHINGLE] for n in range(len(second) - SHINGLE + 1)}
    return len(a & b) / len(a | b)
