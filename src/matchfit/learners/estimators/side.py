"""Columns beside the text as one-hot rows: categories by value, numbers and times by tenth of their distribution. All of it learnt in the fold.

Shapes: N items, V one-hot columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.competition.problem import FeatureKind
from matchfit.learners.estimators.times import seconds_of, time_form

if TYPE_CHECKING:
    import scipy.sparse as sparse

MAX_VALUES = 2000  # of one category column, the most frequent ones
NUM_BINS = 10


@dataclass(frozen=True)
class Encoding:
    """The column `name`: `values` of a category, or the inner `edges` of a number's (`form` "number") or time's bins. An empty, unknown or odd
    cell has no one-hot column."""

    name: str
    values: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    form: str = ""

    @property
    def width(self) -> int:
        return len(self.edges) + 1 if self.form else len(self.values)

    def codes(self, cells: pl.Series) -> npt.NDArray[np.int64]:
        """(N,) one-hot column of each cell, or -1."""
        if not self.form:
            table = dict(zip(self.values, range(len(self.values)), strict=True))
            return np.array([table.get(cell, -1) for cell in cells.to_list()], dtype=np.int64)
        numbers = _numbers(cells, self.form)
        return np.where(np.isfinite(numbers), np.searchsorted(np.array(self.edges), numbers, side="right"), -1)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Encoding:
        return cls(content["name"], tuple(content["values"]), tuple(content["edges"]), content["form"])


def _numbers(cells: pl.Series, form: str) -> npt.NDArray[np.float64]:
    if cells.dtype != pl.String:
        return cells.to_numpy().astype(np.float64)
    if form != "number":
        return seconds_of(cells, form)
    return cells.str.strip_chars().cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy().astype(np.float64)


def learn_encoding(cells: pl.Series, kind: FeatureKind) -> Encoding:
    if kind == "category":
        counts = (
            cells.drop_nulls()
            .value_counts(name="rows_of_it")
            .sort(["rows_of_it", cells.name], descending=[True, False])
            .head(MAX_VALUES)
        )
        return Encoding(cells.name, values=tuple(counts.filter(pl.col("rows_of_it") > 1)[cells.name].to_list()))
    form = time_form(cells) if kind == "time" else "number"
    numbers = _numbers(cells, form)
    numbers = numbers[np.isfinite(numbers)]
    edges = np.unique(np.quantile(numbers, np.arange(1, NUM_BINS) / NUM_BINS)) if len(numbers) else np.empty(0)
    return Encoding(cells.name, edges=tuple(edges.tolist()), form=form)


def one_hot(columns: Sequence[pl.Series], encodings: Sequence[Encoding], num_items: int, *, weight: float) -> sparse.csr_matrix:
    """(N, V): each row has length `weight` at most."""
    import scipy.sparse as sparse

    blocks = [sparse.csr_matrix((num_items, 0))]
    value = weight / max(len(encodings), 1) ** 0.5
    for cells, encoding in zip(columns, encodings, strict=True):
        code = encoding.codes(cells)
        row = np.flatnonzero(code >= 0)
        blocks.append(sparse.csr_matrix((np.full(len(row), value), (row, code[row])), shape=(num_items, encoding.width)))
    return sparse.hstack(blocks, format="csr")
