"""Texts (and the columns beside them) as sparse rows: a block of TF-IDF for each text column and kind of gram, one-hot columns, and for
texts that come in pairs how much they share.

Shapes: N items, V features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.competition.problem import Problem
from matchfit.learners.estimators.grams import Counts, GramSpec, Vocabulary, clean, counted, learn_vocabulary, weighted
from matchfit.learners.estimators.side import Encoding, learn_encoding, one_hot

if TYPE_CHECKING:
    import scipy.sparse as sparse

BUDGET_GRAMS = 80_000_000  # grams to be counted in the training part; beyond it shorter grams, then fewer rows
SIDE_WEIGHT = 0.7
MAX_PAIR_COLUMNS = 3
UNSPACED = r"[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3040-\u30FF\u3400-\u9FFF]"
PAIR_SPECS = (GramSpec(kind="word", low=1, high=1), GramSpec(kind="char", low=2, high=4))


@dataclass(frozen=True)
class Block:
    """One kind of gram of one column."""

    column: str
    spec: GramSpec
    vocabulary: Vocabulary

    def rows(self, parts: list[Counts], num_texts: int) -> sparse.csr_matrix:
        return weighted(parts, num_texts, self.spec, self.vocabulary)


@dataclass(frozen=True)
class TextFeatures:
    """What was learnt in the fold. `pair_blocks`: one vocabulary for all text columns and each of PAIR_SPECS (none: no pairs)."""

    columns: tuple[str, ...]
    blocks: tuple[Block, ...]
    encodings: tuple[Encoding, ...]
    pair_blocks: tuple[Block, ...]
    pair_encodings: tuple[Encoding, ...]

    @property
    def width(self) -> int:
        grams = sum(len(block.vocabulary) for block in self.blocks)
        return grams + sum(encoding.width for encoding in self.encodings + self.pair_encodings)

    def rows(self, table: pl.DataFrame) -> sparse.csr_matrix:
        """(N, V) features of the table's rows."""
        import scipy.sparse as sparse

        texts = {name: [clean(cell) for cell in table[name].to_list()] for name in self.columns}
        blocks = [block.rows(list(counted(texts[block.column], block.spec, block.column)), table.height) for block in self.blocks]
        blocks.append(self._side(table, texts))
        return sparse.hstack(blocks, format="csr")

    def _side(self, table: pl.DataFrame, texts: dict[str, list[str]]) -> sparse.csr_matrix:
        cells = [table[encoding.name] for encoding in self.encodings] + shared(self.columns, texts, self.pair_blocks)
        return one_hot(cells, self.encodings + self.pair_encodings, table.height, weight=SIDE_WEIGHT)


def learn(
    problem: Problem, table: pl.DataFrame, *, max_grams: int, say: Callable[[str], None]
) -> tuple[TextFeatures, sparse.csr_matrix]:
    """The features learnt from the table's rows, and those rows' features (counted once)."""
    import scipy.sparse as sparse

    columns = problem.feature_names("text")
    texts = {name: [clean(cell) for cell in table[name].to_list()] for name in columns}
    blocks: list[Block] = []
    matrices: list[sparse.csr_matrix] = []
    for name in columns:
        for spec in specs_for(texts[name], say):
            parts = list(counted(texts[name], spec, name))
            share = max_grams // (2 * len(columns))
            block = Block(name, spec, learn_vocabulary(parts, table.height, spec, max_grams=max(share, 1000)))
            if len(block.vocabulary):
                blocks.append(block)
                matrices.append(block.rows(parts, table.height))
    encodings = tuple(
        learn_encoding(table[feature.name], feature.kind)
        for feature in problem.features
        if feature.kind in ("category", "number", "time")
    )
    pairs = _learn_pairs(columns, texts)
    shares = shared(columns, texts, pairs)
    pair_encodings = tuple(learn_encoding(values, "number") for values in shares)
    features = TextFeatures(columns, tuple(blocks), encodings, pairs, pair_encodings)
    matrices.append(features._side(table, texts))
    return features, sparse.hstack(matrices, format="csr")


def specs_for(texts: list[str], say: Callable[[str], None]) -> tuple[GramSpec, ...]:
    """Words of one and two and characters of one to five; no word block where most letters are of a script without blanks (what stands between
    two blanks there is a phrase); characters of two to four where the texts are many and long."""
    size = sum(map(len, texts))
    look = pl.Series(texts[:: max(len(texts) // 2000, 1)], dtype=pl.String)
    letters, unspaced_letters = (sum(look.str.count_matches(pattern).to_list()) for pattern in (r"\p{L}|\p{M}", UNSPACED))
    unspaced = unspaced_letters > 0.5 * letters
    short = 5 * size > BUDGET_GRAMS
    if short:
        say(f"{size:,} characters: n-grams of 2 to 4 characters instead of 1 to 5")
    characters = GramSpec(kind="char", low=2, high=4, min_texts=5) if short else GramSpec(kind="char", low=1, high=5)
    if unspaced:
        return (characters,)
    return (GramSpec(kind="word", low=1, high=2, min_texts=3 if short else 1, weight=0.7), characters)


def rows_within_budget(
    table: pl.DataFrame, columns: tuple[str, ...], rows: npt.NDArray[np.int64], seed: int
) -> npt.NDArray[np.int64]:
    """The rows to learn from: all, or, of very many characters, as many drawn rows as the memory is meant for."""
    from matchfit.core.seeds import generator

    sizes = sum(
        (table[name].fill_null("").str.len_chars().to_numpy() for name in columns), start=np.zeros(table.height, dtype=np.int64)
    )
    total = 4 * int(np.asarray(sizes)[rows].sum())
    if total <= 2 * BUDGET_GRAMS:
        return rows
    drawn = generator(seed, "tfidf rows").choice(
        len(rows), size=max(int(len(rows) * 2 * BUDGET_GRAMS / total), 1000), replace=False
    )
    return np.sort(rows[drawn])


def _learn_pairs(columns: tuple[str, ...], texts: dict[str, list[str]]) -> tuple[Block, ...]:
    if len(columns) < 2:
        return ()
    used = [text for name in columns[:MAX_PAIR_COLUMNS] for text in texts[name]]
    return tuple(
        Block("", spec, learn_vocabulary(counted(used, spec, "pair"), len(used), spec, max_grams=200_000)) for spec in PAIR_SPECS
    )


def shared(columns: tuple[str, ...], texts: dict[str, list[str]], blocks: tuple[Block, ...]) -> list[pl.Series]:
    """For each pair of text columns: cosines of words and of characters, ratio of lengths, and whether the texts are equal."""
    values: list[pl.Series] = []
    if not blocks:
        return values
    used = columns[:MAX_PAIR_COLUMNS]
    matrices = {
        name: [block.rows(list(counted(texts[name], block.spec, "pair")), len(texts[name])) for block in blocks] for name in used
    }
    for left, right in combinations(used, 2):
        for kind, (first, second) in enumerate(zip(matrices[left], matrices[right], strict=True)):
            cosine = np.asarray(first.multiply(second).sum(axis=1)).ravel()
            values.append(pl.Series(f"{left}|{right}|cosine {kind}", cosine))
        lengths = np.array(
            [[len(a) + 1, len(b) + 1] for a, b in zip(texts[left], texts[right], strict=True)], dtype=np.float64
        ).reshape(-1, 2)
        values.append(pl.Series(f"{left}|{right}|length", np.log(lengths[:, 0] / lengths[:, 1])))
        equal = [float(a == b) for a, b in zip(texts[left], texts[right], strict=True)]
        values.append(pl.Series(f"{left}|{right}|equal", equal, dtype=pl.Float64))
    return values


def to_parts(features: TextFeatures) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """(JSON, arrays) that `from_parts` reads."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    listed: dict[str, list[dict[str, Any]]] = {}
    for kind, blocks in (("blocks", features.blocks), ("pair_blocks", features.pair_blocks)):
        listed[kind] = [{"column": block.column, "spec": block.spec.to_json()} for block in blocks]
        for number, block in enumerate(blocks):
            arrays[f"{kind}.{number}.grams"] = block.vocabulary.grams_V
            arrays[f"{kind}.{number}.idf"] = block.vocabulary.idf_V
    record = {
        "columns": list(features.columns),
        **listed,
        "encodings": [encoding.to_json() for encoding in features.encodings],
        "pair_encodings": [encoding.to_json() for encoding in features.pair_encodings],
    }
    return record, arrays


def from_parts(record: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> TextFeatures:
    blocks = {
        kind: tuple(
            Block(
                entry["column"],
                GramSpec(**entry["spec"]),
                Vocabulary(arrays[f"{kind}.{number}.grams"], arrays[f"{kind}.{number}.idf"]),
            )
            for number, entry in enumerate(record[kind])
        )
        for kind in ("blocks", "pair_blocks")
    }
    return TextFeatures(
        tuple(record["columns"]),
        blocks["blocks"],
        tuple(Encoding.from_json(entry) for entry in record["encodings"]),
        blocks["pair_blocks"],
        tuple(Encoding.from_json(entry) for entry in record["pair_encodings"]),
    )
