"""Which items belong together: columns that define groups, and near-duplicates, merged."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.core.errors import ConfigError, nearest

Int64 = npt.NDArray[np.int64]

PREFIX = re.compile(r"prefix\((?P<column>.+)\)")
ID = "id"  # stands for the items' ids where the table has no column of that name


def column(name: str, table: pl.DataFrame, ids: pl.Series) -> pl.Series:
    """A column of `table` by name as text; `id` means the ids, `prefix(NAME)` the part of a value before its first `_` or `-`.

    The prefix is taken from the file name when the value is a path: `bed/0017_nohash_2.wav` gives `0017`.
    """
    if name in table.columns:
        return table[name].cast(pl.String)
    if matched := PREFIX.fullmatch(name):
        return prefix(column(matched["column"], table, ids))
    if name == ID:
        return ids.cast(pl.String)
    raise ConfigError(
        f"split.by {name!r}", rule="must be a column of train", found="no such column", todo=nearest(name, table.columns)
    )


def prefix(values: pl.Series) -> pl.Series:
    """The part of each value's last path component before the first `_` or `-`; null where there is none."""
    return values.str.extract(r"([^/\\]+)$", 1).str.extract(r"^([^_-]+)[_-]", 1)


def labels_of(values: pl.DataFrame) -> tuple[Int64, int]:
    """Integer labels (N,) of the distinct rows, and the number of rows with an empty cell, each of which stands alone."""
    text = values.select(pl.concat_str(pl.all(), separator="\x1f")).to_series()  # null where any part is
    empty_N = text.is_null().to_numpy()
    label_N = text.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    label_N[empty_N] = int(label_N.max(initial=0)) + 1 + np.arange(int(empty_N.sum()))
    return label_N, int(empty_N.sum())


def near_duplicate_labels(near_duplicate_N: Int64) -> Int64:
    """Cluster labels in which a negative label (no near-duplicate) becomes a label of its own."""
    label_N = np.array(near_duplicate_N, dtype=np.int64)
    alone_N = label_N < 0
    label_N[alone_N] = int(label_N.max(initial=0)) + 1 + np.arange(int(alone_N.sum()))
    return label_N


def merged(*labels: Int64) -> Int64:
    """Labels of the finest partition that is coarser than all given ones: what shares any label, directly or in a chain, is together."""
    if len(labels) == 1:
        return _compact(labels[0])
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    num_items, offset, rows, columns = len(labels[0]), len(labels[0]), [], []
    for label_N in labels:
        compact_N = _compact(label_N)
        rows.append(np.arange(num_items))
        columns.append(compact_N + offset)
        offset += int(compact_N.max(initial=0)) + 1
    row, col = np.concatenate(rows), np.concatenate(columns)
    graph = coo_array((np.ones(len(row), dtype=np.int8), (row, col)), shape=(offset, offset))
    return _compact(connected_components(graph, directed=False)[1][:num_items].astype(np.int64))


def _compact(label_N: Int64) -> Int64:
    """Labels 0, 1, … in the order of first appearance, so that they do not depend on how they were numbered."""
    _, first, inverse = np.unique(label_N, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse].astype(np.int64)
