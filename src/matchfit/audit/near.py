"""Near-copies of images and texts, as clusters of train items for the split and as findings.

Shapes: N items, P pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from matchfit.audit.duplicates import Contents, contents
from matchfit.audit.similar import near_pairs
from matchfit.audit.subject import PARTS, Subject, share
from matchfit.audit.textpairs import near_text_pairs
from matchfit.core.findings import Finding

Int64 = npt.NDArray[np.int64]
MAX_TEXTS = 100_000
GIANT_NUMBER, GIANT_SHARE = 50, 0.1


def near_duplicates(subject: Subject) -> tuple[Int64 | None, list[Finding]]:
    """(clusters (N,) of train, findings). A cluster holds exact and near copies, directly or in a chain; -1 for items without any.

    None when items have nothing by which copies can be told (rows of a table with few distinct values). The findings are `near_duplicates`,
    `near_duplicates_across`, `near_contradicting_labels`, about pairs that are not exact copies.
    """
    found = contents(subject)
    if found is None or not found.telling or not len(found.keys["train"]):
        return None, []
    num_train = len(found.keys["train"])
    keys = np.concatenate([found.keys[part] for part in PARTS])
    pairs = _pairs(subject, found, keys)
    inside = pairs[(pairs < num_train).all(1)]
    across = pairs[(pairs[:, 0] < num_train) & (pairs[:, 1] >= num_train)]
    # Equal short texts are groups too: the same sentence on both sides of a split is learnt by heart, whoever said it.
    limit = max(GIANT_NUMBER, GIANT_SHARE * num_train)
    exact = _links(_few(keys[:num_train], limit))
    clusters = cluster(num_train, np.concatenate([exact, inside]))
    giant = int(np.bincount(clusters[clusters >= 0], minlength=1).max())
    chained = giant > limit and len(inside) > 0
    if chained:  # frames of one camera, filled-in forms: all are alike, and a fold that holds them all is no fold
        clusters = cluster(num_train, exact)
    subject.properties["near_duplicates"] = {"inside": len(inside), "across": len(across)}
    findings = [*_inside(subject, found, inside, clusters, giant if chained else 0), *_across(subject, found, across, num_train)]
    return clusters, findings


def _pairs(subject: Subject, found: Contents, keys: npt.NDArray[np.uint64]) -> Int64:
    """(P, 2) near pairs i < j over train and test (test counted on), between items of different content.

    Each distinct content is compared once; a pair of contents then stands for its first members in each part.
    """
    if found.noun not in {"images", "texts"}:
        return np.empty((0, 2), np.int64)
    num_train = len(found.keys["train"])
    part_of = (np.arange(len(keys)) >= num_train).astype(np.uint64)
    order = np.unique(np.stack([part_of, keys], axis=1), axis=0, return_index=True)[1] if len(keys) else np.empty(0, np.int64)
    first = np.sort(order[keys[order] > 0])  # one item for each content in each part
    if found.noun == "images":
        thumbs = [scan.thumbs for part in PARTS if (scan := subject.scans.get(part)) is not None]
        readable = np.concatenate([scan.ok for part in PARTS if (scan := subject.scans.get(part)) is not None])
        first = first[readable[first]]
        pairs = first[near_pairs(np.concatenate(thumbs)[first], subject.say)]
    elif found.noun == "texts" and len(first) <= MAX_TEXTS:
        texts = [text for part in PARTS if (text := subject.texts(part)) is not None]
        every = texts[0].append(texts[1]) if len(texts) > 1 else texts[0]
        pairs = first[near_text_pairs(every[first].to_list())]
    else:
        return np.empty((0, 2), np.int64)
    different: Int64 = pairs[keys[pairs[:, 0]] != keys[pairs[:, 1]]]
    return different


def _few(keys_N: npt.NDArray[np.uint64], limit: float) -> npt.NDArray[np.uint64]:
    """The keys, 0 in place of those that more than `limit` items share: a blank page or "n/a" is no copy of anything."""
    _, inverse, counts = np.unique(keys_N, return_inverse=True, return_counts=True)
    return np.where(counts[inverse] > limit, 0, keys_N).astype(np.uint64)


def _links(keys_N: npt.NDArray[np.uint64]) -> Int64:
    """(P, 2) each item with the next one of equal content."""
    order = np.argsort(keys_N, kind="stable")
    same = (keys_N[order[1:]] == keys_N[order[:-1]]) & (keys_N[order[1:]] > 0)
    return np.stack([order[:-1][same], order[1:][same]], axis=1)


def cluster(number: int, pairs: Int64) -> Int64:
    """(N,) cluster numbers of the connected components of `pairs` (P, 2), counted from 0 by first member; -1 for items in no pair."""
    label = np.arange(number)
    while len(pairs):
        low = np.minimum(label[pairs[:, 0]], label[pairs[:, 1]])
        before = label.copy()
        np.minimum.at(label, pairs[:, 0], low)
        np.minimum.at(label, pairs[:, 1], low)
        label = label[label]
        if np.array_equal(before, label):
            break
    paired = np.zeros(number, np.bool_)
    paired[pairs.ravel()] = True
    clusters = np.full(number, -1, np.int64)
    clusters[paired] = np.unique(label[paired], return_inverse=True)[1]
    return clusters


def _inside(subject: Subject, found: Contents, pairs: Int64, clusters: Int64, giant: int) -> Iterator[Finding]:
    if not len(pairs):
        return
    members = np.unique(pairs)
    size = giant or int(np.bincount(clusters[clusters >= 0]).max())
    example = " ~ ".join(subject.ids("train", pairs[0]))
    yield Finding(
        code="near_duplicates",
        severity="warning",
        message=f"{share(len(members), len(clusters))} train {found.noun} are almost equal to another one ({len(pairs):,} pairs; the largest "
        f"chain of copies has {size:,}). For example {example}.",
        todo="So many are alike that folds cannot keep them together; look for a column that says what belongs together (split.by)."
        if giant
        else "They are kept in one fold (split.near_duplicates), so that the validation score does not count what was learnt by heart.",
        rows=subject.ids("train", members),
    )
    labels = subject.labels
    if labels is None:
        return
    values = labels.rank("dense").to_numpy()
    against = pairs[values[pairs[:, 0]] != values[pairs[:, 1]]]
    if len(against):
        a, b = against[0]
        names = subject.ids("train", [a, b])
        yield Finding(
            code="near_contradicting_labels",
            severity="info",
            message=f"{len(against):,} of these pairs have two different labels. For example {names[0]} is "
            f"{str(labels[int(a)])!r} and {names[1]} is {str(labels[int(b)])!r}.",
            todo="Look at them: one of the two labels may be wrong.",
            rows=subject.ids("train", np.unique(against)),
        )


def _across(subject: Subject, found: Contents, pairs: Int64, num_train: int) -> Iterator[Finding]:
    if not len(pairs):
        return
    in_train, in_test = np.unique(pairs[:, 0]), np.unique(pairs[:, 1]) - num_train
    example = f"test {subject.ids('test', [int(pairs[0, 1]) - num_train])[0]} ~ train {subject.ids('train', [int(pairs[0, 0])])[0]}"
    yield Finding(
        code="near_duplicates_across",
        severity="warning",
        message=f"{share(len(in_test), len(subject.items('test')))} test {found.noun} are almost equal to a train one. For example {example}.",
        todo="The public score counts what was learnt by heart on these.",
        rows=subject.ids("test", in_test) + subject.ids("train", in_train),
    )
