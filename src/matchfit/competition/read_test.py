"""Test items for a finished run: from the competition's own folder, or from one that holds a test part alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from matchfit.competition import attach, gather
from matchfit.competition.builtids import Keys
from matchfit.competition.catalog import Catalog, Sheet, read_catalog
from matchfit.competition.config import CompetitionConfig
from matchfit.competition.files import FileTree
from matchfit.competition.gather import Log, Side
from matchfit.competition.keys import find_keys
from matchfit.competition.media import media_table
from matchfit.competition.names import TEST_WORDS
from matchfit.competition.problem import Competition, Items, Problem
from matchfit.competition.read import read_competition
from matchfit.competition.roles import assign
from matchfit.core.errors import DataError

WITH_MEDIA = frozenset({"image", "audio", "detection", "segmentation"})


def read_test(folder: Path, problem: Problem, config: CompetitionConfig, *, scratch: Path | None = None) -> Competition:
    """The test items in `folder` for `problem`, as a `Competition` without training items.

    The ids are those of a sample submission in the folder, else the test table's, else the names of the media files. Raises DataError when
    the folder has no such part, or its table lacks a column that the problem learnt from.
    """
    try:
        whole = read_competition(folder, config, scratch=scratch)
    except DataError:
        return _test_alone(folder, problem, config, scratch)
    own = whole.problem
    if (own.modality, own.targets, own.prediction_columns) == (problem.modality, problem.targets, problem.prediction_columns):
        _refuse_missing_columns(folder, problem, whole.test.table)
        return replace(whole, problem=problem)
    return _test_alone(folder, problem, config, scratch)


def _test_alone(folder: Path, problem: Problem, config: CompetitionConfig, scratch: Path | None) -> Competition:
    tree, log = FileTree(Path(folder), scratch=scratch), Log()
    members = tree.members()
    catalog, media = read_catalog(tree, members), media_table(members, test=config.test_media)
    sample = _sample(catalog, problem, config)
    sheet = _table(catalog, problem, config, sample)
    test = None if sheet is None else sheet.frame()
    asked = None if sample is None else sample.frame()
    side = gather.test_side(test, asked, _keys(problem, test, asked, media), log)
    if not len(side.ids) and problem.modality in WITH_MEDIA and not media.is_empty():
        side = _from_files(problem, media)
    if not len(side.ids) and (test is None or test.height):
        raise _nothing_found(folder, problem, catalog)
    if sheet is not None and sample is not None and asked is not None:
        _refuse_other_items(problem, sheet, sample, asked, side)
    _refuse_missing_columns(folder, problem, side.table)
    nobody = Side(pl.Series("id", [], dtype=pl.String), pl.DataFrame())
    kind = ""
    if problem.modality in WITH_MEDIA:
        kind = attach.attach_media(tree, nobody, side, media, problem.id_columns, problem.targets, log)
    items = Items(ids=side.ids, table=side.table, media=side.media, files=tree if kind else None)
    empty = Items(ids=nobody.ids, table=nobody.table)
    return Competition(
        problem=problem,
        folder=Path(folder),
        train=empty,
        test=items,
        target_table=pl.DataFrame(schema=dict.fromkeys(problem.targets, pl.String)),
        sample=asked,
        findings=tuple(log.findings),
        notes=log.notes,
    )


def _sample(catalog: Catalog, problem: Problem, config: CompetitionConfig) -> Sheet | None:
    """The sheet with exactly the submission's columns."""
    found = assign(catalog, config).sample
    if found is not None and tuple(found.columns) == problem.submission_columns:
        return found
    return next((sheet for sheet in catalog.sheets if tuple(sheet.columns) == problem.submission_columns), None)


def _table(catalog: Catalog, problem: Problem, config: CompetitionConfig, sample: Sheet | None) -> Sheet | None:
    """The sheet that has most of the columns which the problem learnt from, or its ids; named like a test part where several do."""
    if config.test_table:
        return catalog.named(config.test_table, key="test_table")
    wanted = {feature.name for feature in problem.features} | set(problem.id_columns)
    rivals = [sheet for sheet in catalog.sheets if sheet is not sample and wanted & set(sheet.columns)]
    return max(
        rivals,
        key=lambda sheet: (
            len(wanted & set(sheet.columns)),
            bool(sheet.words & TEST_WORDS),
            not set(problem.targets) & set(sheet.columns),
        ),
        default=None,
    )


def _keys(problem: Problem, test: pl.DataFrame | None, sample: pl.DataFrame | None, media: pl.DataFrame) -> Keys:
    if sample is not None:
        return find_keys(sample, test, None, media, None)
    own = problem.id_columns if test is not None and all(name in test.columns for name in problem.id_columns) else ()
    return Keys(ids=problem.id_columns, predictions=problem.prediction_columns, test_columns=own, by_row=not problem.id_columns)


def _from_files(problem: Problem, media: pl.DataFrame) -> Side:
    stems = media["path"].str.extract(r"([^/]+?)(?:\.[^./]+)?$", 1).unique(maintain_order=True).sort().alias("id")
    return Side(stems, pl.DataFrame({problem.id_columns[0] if problem.id_columns else "id": stems}))


def _refuse_other_items(problem: Problem, sheet: Sheet, sample: Sheet, asked: pl.DataFrame, side: Side) -> None:
    """Raises DataError where the table has the columns, but its rows are not those that the sample submission asks for."""
    wanted = [feature.name for feature in problem.features]
    if not wanted or not set(wanted) <= set(sheet.columns) or set(wanted) <= set(side.table.columns):
        return
    raise DataError(
        sample.path,
        rule=f"must ask for the items of {sheet.path}",
        found=f"{len(asked)} rows for a table of {len(sheet.frame())} rows, and most ids are not there",
        todo=f"Take it away to score the rows of {sheet.path}, or give the table with all its rows.",
    )


def _refuse_missing_columns(folder: Path, problem: Problem, table: pl.DataFrame) -> None:
    present = frozenset(table.columns)
    missing = [feature.name for feature in problem.features if feature.name not in present]
    if missing and problem.modality not in WITH_MEDIA:
        raise DataError(
            str(folder),
            rule=f"test items need the {len(problem.features)} columns that the run learnt from",
            found=f"{len(missing)} missing: {', '.join(map(repr, missing[:5]))}",
            todo="Add them, or name the table with --set test_table=FILE.",
        )


def _nothing_found(folder: Path, problem: Problem, catalog: Catalog) -> DataError:
    sheets = ", ".join(sheet.path for sheet in catalog.sheets[:8]) or "no table"
    names = [feature.name for feature in problem.features] or list(problem.id_columns)
    return DataError(
        str(folder),
        rule=f"must hold test items: a table with columns such as {', '.join(map(repr, names[:5]))}, or media files",
        found=sheets,
        todo="Name the table with --set test_table=FILE, or the folder of files with --set test_media=FOLDER.",
    )
