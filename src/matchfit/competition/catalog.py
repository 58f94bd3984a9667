"""The tables of a folder: their columns and first rows at once, their full contents when somebody needs them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

import polars as pl

from matchfit.competition.files import FileTree
from matchfit.competition.names import SUBMISSION_WORDS, TABLE_SUFFIXES, TEST_WORDS, TRAIN_WORDS, bare, is_prose, side, stem, tokens
from matchfit.competition.tables import Table, read_table
from matchfit.core.errors import DataError, nearest, sentence
from matchfit.core.findings import Finding

HEAD_ROWS = 256
SMALL_BYTES = 32 << 20
MAX_SHEETS = 48  # a folder with more tables than this keeps one table an item
MANY_SIBLINGS = 8  # tables of one kind in one sub-folder: an item each, not a table each


@dataclass(eq=False)
class Sheet:
    """One table. `path` is its place in the folder (inside its archive, when it is packed); all cells are text."""

    tree: FileTree
    reference: str
    path: str
    head: pl.DataFrame
    findings: tuple[Finding, ...] = ()
    encoding: str = "utf-8"
    full: pl.DataFrame | None = None

    @property
    def columns(self) -> list[str]:
        return self.head.columns

    @property
    def name(self) -> str:
        return stem(self.path)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(tokens(self.name))

    @cached_property
    def side(self) -> str:
        """`train` or `test` as the sheet's folders say, else ''."""
        return side(*PurePosixPath(self.path).parts[:-1])

    @property
    def depth(self) -> int:
        return len(PurePosixPath(self.path).parts) - 1

    def frame(self) -> pl.DataFrame:
        """All rows, read once."""
        if self.full is None:
            table = read_table(self.tree, self.reference)
            self.full, self.findings, self.encoding = table.frame, tuple(table.findings), table.encoding
        return self.full


@dataclass
class Catalog:
    """The sheets of a folder, and what could not be read as one (reference → reason)."""

    tree: FileTree
    members: pl.DataFrame
    sheets: list[Sheet] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    def named(self, name: str, *, key: str) -> Sheet:
        """The sheet that a user's override names (path, file name, or name without suffix, in any case); DataError with the nearest name."""
        for form in (str.__str__, str.lower):
            for sheet in self.sheets:
                known = (sheet.reference, sheet.path, PurePosixPath(sheet.path).name, sheet.name)
                if form(name) in {form(item) for item in known}:
                    return sheet
        for reference, path in zip(self.members["reference"], self.members["path"], strict=True):
            if name.lower() in (str(reference).lower(), str(path).lower()):
                sheet = _open(self.tree, reference, path, 0)
                self.sheets.append(sheet)
                return sheet
        raise DataError(
            f"competition.{key} = {name!r}",
            rule="must be a table in the competition folder",
            found="no such table",
            todo=sentence(nearest(name, [sheet.path for sheet in self.sheets])),
        )


def read_catalog(tree: FileTree, members: pl.DataFrame) -> Catalog:
    """Heads of all tables that may be tables of the competition; one-file-an-item folders and prose are left out."""
    catalog = Catalog(tree, members)
    paths = members.select("reference", "path", "size").rows()
    chosen = [
        (reference, path, size) for reference, path, size in paths if bare(path).endswith(TABLE_SUFFIXES) and not is_prose(path)
    ]
    siblings = Counter(_family(path) for _, path, _ in chosen)
    chosen = [item for item in chosen if "/" not in item[1] or siblings[_family(item[1])] <= MANY_SIBLINGS]
    chosen.sort(key=lambda item: (item[1].count("/"), bare(item[1]).endswith(".txt"), item[1]))
    for reference, path, size in chosen[:MAX_SHEETS]:
        if bare(path).endswith(".txt"):
            continue  # lines and ragged lists: see layouts/lines.py
        try:
            sheet = _open(tree, reference, path, size)
            if not sheet.columns:
                catalog.refused[path] = "it is empty"
            elif not {"images", "annotations"} <= set(sheet.columns):  # COCO: see layouts/coco.py
                catalog.sheets.append(sheet)
        except DataError as error:
            if _decisive(path):
                raise  # without it another table would take its place unnoticed
            catalog.refused[path] = str(error)
    _settle_encoding(catalog)
    return catalog


def _settle_encoding(catalog: Catalog) -> None:
    """A host writes its tables in one encoding: where guesses differ, the most frequent one (of the larger tables, on a tie) is tried on all."""
    guessed = [sheet for sheet in catalog.sheets if not sheet.encoding.startswith("utf-")]
    votes = Counter(sheet.encoding for sheet in guessed)
    if len(votes) < 2:
        return
    rows = Counter({name: sum(sheet.head.height for sheet in guessed if sheet.encoding == name) for name in votes})
    best = max(votes, key=lambda name: (votes[name], rows[name]))
    for place, sheet in enumerate(catalog.sheets):
        if sheet in guessed and sheet.encoding != best:
            catalog.sheets[place] = _open(catalog.tree, sheet.reference, sheet.path, 0, encoding=best)


def _decisive(path: str) -> bool:
    """A table that is called train, test or sample submission and nothing else. (Json may be COCO, which is no table.)"""
    words = set(tokens(stem(path)))
    return (
        "/" not in path
        and ".json" not in path.lower()
        and bool(words)
        and words <= (TRAIN_WORDS | TEST_WORDS | SUBMISSION_WORDS | {"sample"})
    )


def _family(path: str) -> tuple[str, str]:
    place = PurePosixPath(path)
    return str(place.parent), place.suffix.lower()


def _open(tree: FileTree, reference: str, path: str, size: int, *, encoding: str = "") -> Sheet:
    """A sheet, read whole where it is small or surely needed: a look at the head of a large file costs nearly as much."""
    whole = size <= SMALL_BYTES or bool(set(tokens(stem(path))) & (TRAIN_WORDS | TEST_WORDS | SUBMISSION_WORDS))
    table: Table = read_table(tree, reference, limit=None if whole else HEAD_ROWS, encoding=encoding)
    frame = table.frame
    whole = whole or frame.height < HEAD_ROWS
    return Sheet(
        tree,
        reference,
        path,
        frame.head(HEAD_ROWS),
        findings=tuple(table.findings) if whole else (),
        encoding=table.encoding,
        full=frame if whole else None,
    )
