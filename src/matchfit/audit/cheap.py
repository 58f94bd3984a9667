"""Cheap features in which train and test may differ: columns of the table, properties of the media, properties and words of the texts.

Shapes: N sampled rows of both parts together (train first), F features.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.audit.statistics import numbers
from matchfit.audit.subject import Part, Subject
from matchfit.audit.texts import SCRIPTS, URL, tokens

MAX_COLUMNS = 100
MAX_NAMES = 200  # a category with more levels is a name (a user, a product), not a property
NUM_WORDS = 60

Matrix = npt.NDArray[np.float64]


def cheap_features(subject: Subject, train: npt.NDArray[np.int64], test: npt.NDArray[np.int64]) -> tuple[Matrix, list[str]]:
    """(matrix (N, F), names): shared columns of the table, properties of the media, properties and frequent words
    of the texts. Never ids, names or times."""
    columns: dict[str, Matrix] = {**_table_features(subject, train, test), **_media_features(subject, train, test)}
    columns.update(_text_features(subject, train, test))
    varied = {name: values for name, values in columns.items() if np.unique(values[:: max(1, len(values) // 2000)]).size > 1}
    if not varied:
        return np.empty((len(train) + len(test), 0)), []
    return np.stack(list(varied.values()), axis=1), list(varied)


def _table_features(subject: Subject, train: npt.NDArray[np.int64], test: npt.NDArray[np.int64]) -> dict[str, Matrix]:
    tables = subject.competition.train.table, subject.competition.test.table
    names = subject.competition.problem.feature_names("number", "category")[:MAX_COLUMNS]
    categories = set(subject.competition.problem.feature_names("category"))
    features: dict[str, Matrix] = {}
    for name in names:
        if any(name not in table.columns for table in tables):
            continue
        cells = pl.concat([tables[0][name][train].cast(pl.String), tables[1][name][test].cast(pl.String)])
        if name in categories and cells.n_unique() > MAX_NAMES:
            continue
        values = numbers(cells)
        if np.isfinite(values).sum() < 0.9 * (len(cells) - cells.null_count()):
            # Frequent categories by frequency; rare ones share a code, since a code of its own would name the part that it was drawn into.
            counts = cells.value_counts(sort=True).filter(pl.col("count") >= 20)[name].drop_nulls().head(100).to_list()
            values = cells.replace_strict(
                {value: n for n, value in enumerate(counts)}, default=-1, return_dtype=pl.Float64
            ).to_numpy()
        features[name] = values
    return features


def _media_features(subject: Subject, train: npt.NDArray[np.int64], test: npt.NDArray[np.int64]) -> dict[str, Matrix]:
    parts: list[tuple[Part, npt.NDArray[np.int64]]] = [("train", train), ("test", test)]
    if any(part not in subject.scans for part, _ in parts):
        return {}
    scans = [(subject.scans[part], rows) for part, rows in parts]

    def joined(name: str) -> Matrix:
        return np.concatenate([getattr(scan, name)[rows] for scan, rows in scans]).astype(np.float64)

    features = {"size in bytes": joined("num_bytes")}
    if all(len(scan.thumbs) for scan, _ in scans):
        thumbs = np.concatenate([scan.thumbs[rows] for scan, rows in scans]).astype(np.float32)
        width, height = joined("width"), joined("height")
        features |= {"width": width, "height": height, "width / height": width / np.maximum(height, 1)}
        features["bytes a pixel"] = features["size in bytes"] / np.maximum(width * height, 1)
        means = thumbs.mean((1, 2)).astype(np.float64)
        features |= {f"mean {colour}": means[:, n] for n, colour in enumerate(("red", "green", "blue"))}
        grey = thumbs.mean(3)
        features["contrast"] = grey.std((1, 2)).astype(np.float64)
        features["detail"] = np.abs(np.diff(grey, axis=2)).mean((1, 2)).astype(np.float64)
        features["saturation"] = (thumbs.max(3) - thumbs.min(3)).mean((1, 2)).astype(np.float64)
        features["edge brightness"] = (grey[:, [0, -1]].mean((1, 2)) + grey[:, :, [0, -1]].mean((1, 2))).astype(np.float64) / 2
    faulty = ~np.concatenate([scan.ok[rows] for scan, rows in scans])
    return {name: np.where(faulty, np.nan, values) for name, values in features.items()}


def _text_features(subject: Subject, train: npt.NDArray[np.int64], test: npt.NDArray[np.int64]) -> dict[str, Matrix]:
    whole = subject.texts("train"), subject.texts("test")
    if whole[0] is None or whole[1] is None:
        return {}
    texts = pl.concat([whole[0][train], whole[1][test]])
    lengths = np.maximum(texts.str.len_chars().to_numpy().astype(np.float64), 1)
    patterns = {"digits": r"\p{N}", "capitals": r"\p{Lu}", "signs": r"[^\s\p{L}\p{M}\p{N}]", "blanks": r"\s"}
    patterns |= {script: rf"\p{{{script}}}" for script in SCRIPTS}
    features = {f"share of {name}": texts.str.count_matches(p).to_numpy() / lengths for name, p in patterns.items()}
    features |= {"characters": lengths, "tokens": tokens(texts).to_numpy().astype(np.float64)}
    features["links"] = texts.str.contains(URL).to_numpy().astype(np.float64)
    lowered = texts.str.to_lowercase()
    words = lowered.str.extract_all(r"[\p{L}\p{M}]+").list.unique().explode().drop_nulls()
    for word in words.value_counts(sort=True).head(NUM_WORDS).to_series(0).to_list():
        if len(word) <= 20:
            features[f"word {word!r}"] = (
                lowered.str.contains(rf"(^|[^\p{{L}}\p{{M}}]){word}([^\p{{L}}\p{{M}}]|$)").to_numpy().astype(np.float64)
            )
    return features
