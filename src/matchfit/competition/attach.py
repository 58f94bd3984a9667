"""Media for items: which file belongs to which item, and what is missing."""

from __future__ import annotations

import polars as pl

from matchfit.competition import media as media_files
from matchfit.competition.files import FileTree
from matchfit.competition.gather import Log, Side
from matchfit.competition.layouts.parts import MEDIA_COLUMN


def attach_media(
    tree: FileTree,
    train: Side,
    test: Side,
    media: pl.DataFrame,
    key_columns: tuple[str, ...],
    targets: tuple[str, ...],
    log: Log,
    *,
    kind: str = "",
) -> str:
    """Match files to the items of both sides, never by what stands in `targets`; returns the kind of media, or ''."""
    texts = []
    for side, wanted in ((train, "train"), (test, "test")):
        if MEDIA_COLUMN in side.table.columns:
            side.media, side.kind = side.table[MEDIA_COLUMN].alias("media"), kind
            side.table = side.table.drop(MEDIA_COLUMN)
            texts.append(f"{wanted}: {len(side.ids)} {kind} files")
            continue
        found = _find_media(side, media, key_columns, targets, wanted)
        if found is not None:
            column, match = found
            side.media, side.kind = match.references, match.kind
            copies = f" (further copies in {', '.join(match.copies[:3])})" if match.copies else ""
            texts.append(f"{wanted}: {len(side.ids) - side.media.null_count()} {match.kind} files by {column}{copies}")
    if texts:
        log.notes["media"] = "; ".join(texts)
    kind = _one_kind(train, test)
    if kind:
        _find_missing(train, "train", log)
        _find_missing(test, "test", log)
    if kind == "series" and all(_are_texts(side.media) for side in (train, test)):
        for side in (train, test):
            _texts_into_table(tree, side)
        log.notes["media"] += "; a text file an item, read as the column 'text'"
        return ""
    return kind


def _one_kind(train: Side, test: Side) -> str:
    """The kind of media of both sides; where they differ (a few csv beside pictures) the better one, and the other side has none."""
    kinds = {side.kind for side in (train, test) if side.kind}
    if not kinds:
        return ""
    best = min(kinds, key=list(media_files.KINDS).index)
    for side in (train, test):
        if side.kind != best:
            side.media, side.kind = pl.Series("media", [None] * len(side.ids), dtype=pl.String), best
    return best


def _find_missing(side: Side, wanted: str, log: Log) -> None:
    if side.media is not None and side.media.null_count():
        absent = side.ids.filter(side.media.is_null())
        log.find(
            "missing_media",
            f"{len(absent)} of {len(side.ids)} {wanted} items have no file.",
            rows=absent.to_list(),
            todo=f"Add the files, or name their folder with competition.{wanted}_media.",
        )


def _are_texts(references: pl.Series | None) -> bool:
    return references is not None and bool(references.drop_nulls().str.to_lowercase().str.ends_with(".txt").all())


def _texts_into_table(tree: FileTree, side: Side) -> None:
    """The text files of the items as a column of the table: one text an item, null where the file is missing or broken."""
    texts: list[str | None] = [None] * len(side.ids)
    for position, content in tree.stream(side.media if side.media is not None else pl.Series([], dtype=pl.String)):
        if isinstance(content, bytes):
            try:
                texts[position] = content.decode("utf-8-sig")
            except UnicodeDecodeError:
                texts[position] = content.decode("latin-1")
    name = "text" if "text" not in side.table.columns else "file_text"
    side.table = side.table.with_columns(pl.Series(name, texts, dtype=pl.String))
    side.media, side.kind = None, ""


def _find_media(
    side: Side, media: pl.DataFrame, key_columns: tuple[str, ...], targets: tuple[str, ...], wanted: str
) -> tuple[str, media_files.Match] | None:
    if media.is_empty() or not len(side.ids):
        return None
    candidates = [("id", side.ids)]
    candidates += [(repr(name), side.table[name].fill_null("")) for name in key_columns if name in side.table.columns]
    path_like = [name for name in side.table.columns if name not in (*key_columns, *targets) and _path_like(side.table[name])]
    candidates += [(repr(name), side.table[name].fill_null("")) for name in path_like]
    for name, keys in candidates:
        if not len(keys):
            continue
        found = media_files.match(keys, media, wanted=wanted)
        if found is not None and found.references.n_unique() >= 0.5 * len(keys):
            return name, found
    name, keys = candidates[0]
    for search, how in (
        (media_files.slices, "a folder of files each; the middle one stands for the item"),
        (media_files.composed, "the parts of its path"),
    ):
        found = search(keys, media, wanted=wanted)
        if found is not None:
            return f"{name} ({how})", found
    return None


def _path_like(column: pl.Series) -> bool:
    look = column.drop_nulls().head(50)
    return len(look) > 0 and look.n_unique() > 0.5 * len(look) and float(look.str.len_chars().max() or 0) < 300  # type: ignore[arg-type]
