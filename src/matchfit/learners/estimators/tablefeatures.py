"""A table as the matrix that trees read: plain columns, encoded categories, directions of texts.

Shapes: N items, F features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.competition.problem import Problem
from matchfit.core.seeds import derive_seed, generator
from matchfit.learners.estimators.columns import Column, as_numbers, category_values, codes_of, learn_column
from matchfit.learners.estimators.encodings import NUM_PARTS, Encoder, encode_training, fit_encoder
from matchfit.learners.estimators.grams import Vocabulary, clean, counted, learn_vocabulary, weighted
from matchfit.learners.estimators.textfeatures import Block, specs_for

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

DIRECTIONS = 16  # of a text column's TF-IDF
MAX_TEXT_GRAMS = 50_000
MAX_ENCODED_TARGETS = 10


@dataclass(frozen=True)
class Directions:
    """The largest singular directions of one text column's TF-IDF: `weights_VD`."""

    block: Block
    weights_VD: Float64

    def numbers(self, table: pl.DataFrame) -> Float64:
        texts = [clean(cell) for cell in table[self.block.column].to_list()]
        rows = self.block.rows(list(counted(texts, self.block.spec, self.block.column)), len(texts))
        return np.asarray(rows @ self.weights_VD, dtype=np.float64)


@dataclass(frozen=True)
class TableFeatures:
    """`names` of the F features (for people; LightGBM never sees them, so that any column name will do)."""

    columns: tuple[Column, ...]
    directions: tuple[Directions, ...]
    encoded: tuple[str, ...]  # the category columns of many values
    values: tuple[tuple[str, ...], ...]  # their values
    encoder: Encoder | None

    @property
    def names(self) -> list[str]:
        names = [f"{column.name} {part}".strip() for column in self.columns for part in column.parts]
        names += [f"{part.block.column} direction {k}" for part in self.directions for k in range(part.weights_VD.shape[1])]
        if self.encoder is not None:
            num_targets = len(self.encoder.centre_T)
            for name in self.encoded:
                names += [f"{name} count"] + [f"{name} {kind} {k}" for kind in ("mean", "deviation") for k in range(num_targets)]
            names += [f"additive {k}" for k in range(num_targets)] + [f"{name} number" for name in self.encoded]
        return names

    @property
    def categorical(self) -> list[int]:
        """Positions of the features that are codes."""
        flags = [column.categorical for column in self.columns for _ in column.parts]
        return [position for position, flag in enumerate(flags) if flag]

    def rows(self, table: pl.DataFrame) -> Float64:
        """(N, F); missing is NaN."""
        blocks = self._plain(table)
        if self.encoder is not None:
            blocks += [self.encoder.numbers(self.codes(table)), *self._as_numbers(table)]
        return np.hstack([np.empty((table.height, 0)), *blocks])

    def codes(self, table: pl.DataFrame) -> Int64:
        codes = [codes_of(table[name], values) for name, values in zip(self.encoded, self.values, strict=True)]
        return np.nan_to_num(np.column_stack(codes), nan=-1).astype(np.int64)

    def _plain(self, table: pl.DataFrame) -> list[Float64]:
        return [column.numbers(table) for column in self.columns] + [part.numbers(table) for part in self.directions]

    def _as_numbers(self, table: pl.DataFrame) -> list[Float64]:
        """Encoded categories that are numbers (film 5 came before film 50,000): the number too."""
        return [as_numbers(table[name])[:, None] for name in self.encoded]


def learn(
    problem: Problem,
    table: pl.DataFrame,
    encoded_NT: Float64,
    group_N: Int64 | None,
    *,
    seed: int,
    say: Callable[[str], None],
) -> tuple[TableFeatures, Float64]:
    """The features learnt from the rows of `table`, and those rows' own matrix, in which no row has met its target, nor that of its group.
    `encoded_NT`: the targets that categories of many values are encoded by (classes as 0 and 1)."""
    columns, encoded = [], []
    for feature in problem.features:
        column = learn_column(feature, table)
        if column is not None:
            columns.append(column)
        elif feature.kind == "category":
            encoded.append(feature.name)
    directions = tuple(
        found for name in problem.feature_names("text") if (found := _learn_directions(name, table, seed, say)) is not None
    )
    values = tuple(tuple(category_values(table[name])) for name in encoded)
    features = TableFeatures(tuple(columns), directions, tuple(encoded), values, None)
    if not encoded:
        return features, features.rows(table)
    codes, sizes = features.codes(table), tuple(map(len, values))
    features = TableFeatures(tuple(columns), directions, tuple(encoded), values, fit_encoder(codes, encoded_NT, sizes))
    unit_N = np.arange(table.height) if group_N is None else np.unique(group_N, return_inverse=True)[1]
    parts_N = (generator(seed, "encoding").permutation(int(unit_N.max()) + 1) % NUM_PARTS)[unit_N]
    blocks = [*features._plain(table), encode_training(codes, encoded_NT, sizes, parts_N), *features._as_numbers(table)]
    return features, np.hstack(blocks)


def _learn_directions(name: str, table: pl.DataFrame, seed: int, say: Callable[[str], None]) -> Directions | None:
    """None for a column with too few grams."""
    from scipy.sparse.linalg import svds

    texts = [clean(cell) for cell in table[name].to_list()]
    spec = specs_for(texts, say)[0]
    parts = list(counted(texts, spec, name))
    vocabulary = learn_vocabulary(parts, len(texts), spec, max_grams=MAX_TEXT_GRAMS)
    size = min(DIRECTIONS, min(len(texts), len(vocabulary)) - 1)
    if size < 1:
        return None
    rows = weighted(parts, len(texts), spec, vocabulary)
    start = generator(seed, "directions").normal(size=min(rows.shape))
    _, _, right = svds(rows, k=size, v0=start, random_state=derive_seed(seed, "svds") % 2**31)
    right = right * np.sign(right[np.arange(size), np.abs(right).argmax(axis=1)])[:, None]
    return Directions(Block(name, spec, Vocabulary(vocabulary.grams_V, vocabulary.idf_V)), np.ascontiguousarray(right.T[:, ::-1]))


def to_parts(features: TableFeatures) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """(JSON, arrays) that `from_parts` reads."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for number, part in enumerate(features.directions):
        arrays[f"directions.{number}.grams"] = part.block.vocabulary.grams_V
        arrays[f"directions.{number}.idf"] = part.block.vocabulary.idf_V
        arrays[f"directions.{number}.weights"] = part.weights_VD
    if features.encoder is not None:
        arrays["encoder.centre"] = features.encoder.centre_T
        for number in range(len(features.encoded)):
            arrays[f"encoder.{number}.counts"] = features.encoder.counts[number]
            arrays[f"encoder.{number}.means"] = features.encoder.means[number]
            arrays[f"encoder.{number}.deviations"] = features.encoder.deviations[number]
    record = {
        "columns": [column.to_json() for column in features.columns],
        "directions": [{"column": part.block.column, "spec": part.block.spec.to_json()} for part in features.directions],
        "encoded": list(features.encoded),
        "values": [list(values) for values in features.values],
        "names": features.names,
    }
    return record, arrays


def from_parts(record: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> TableFeatures:
    from matchfit.learners.estimators.grams import GramSpec

    directions = tuple(
        Directions(
            Block(
                entry["column"],
                GramSpec(**entry["spec"]),
                Vocabulary(arrays[f"directions.{number}.grams"], arrays[f"directions.{number}.idf"]),
            ),
            arrays[f"directions.{number}.weights"],
        )
        for number, entry in enumerate(record["directions"])
    )
    encoded = tuple(record["encoded"])
    encoder = None
    if encoded:
        parts = [
            tuple(arrays[f"encoder.{number}.{name}"] for number in range(len(encoded)))
            for name in ("counts", "means", "deviations")
        ]
        encoder = Encoder(arrays["encoder.centre"], *parts)
    return TableFeatures(
        tuple(Column.from_json(entry) for entry in record["columns"]),
        directions,
        encoded,
        tuple(tuple(values) for values in record["values"]),
        encoder,
    )
