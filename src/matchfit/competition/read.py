"""Read a competition folder. The sample submission decides; every decision is explained and can be overruled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from matchfit.competition import asking, attach, gather, overrides
from matchfit.competition import media as media_files
from matchfit.competition.asking import Asked
from matchfit.competition.builtids import Keys, split_long
from matchfit.competition.catalog import read_catalog
from matchfit.competition.config import CompetitionConfig
from matchfit.competition.features import find_features
from matchfit.competition.files import FileTree
from matchfit.competition.gather import Log, Side
from matchfit.competition.layouts.pairs import TARGET as MASK_FILE
from matchfit.competition.layouts.pairs import without_masks
from matchfit.competition.layouts.parts import MEDIA_COLUMN
from matchfit.competition.matching import TargetPlan
from matchfit.competition.media import media_table
from matchfit.competition.modality import find_modality, short_phrases
from matchfit.competition.problem import Competition, Feature, Items, MetricChoice, Problem
from matchfit.competition.roles import assign
from matchfit.competition.settle import settle_keys, settle_targets
from matchfit.competition.sources import Reading, nothing_found, read_parts, table_findings
from matchfit.competition.values import placeholders
from matchfit.core.errors import DataError

WITH_EMPTY_ANSWERS = frozenset({"detection", "segmentation", "other", "ranking"})  # where nothing to find is an answer


def read_competition(folder: Path, config: CompetitionConfig, *, scratch: Path | None = None) -> Competition:
    """The competition in `folder`, which is only read; `scratch` takes what must be unpacked.

    Raises DataError that says what was looked for, what was found and which key of `matchfit.yaml` settles it.
    """
    tree = FileTree(Path(folder), scratch=scratch)
    members = tree.members()
    catalog = read_catalog(tree, members)
    media = media_table(members, train=config.train_media, test=config.test_media)
    overrides.check_media(config, media)
    tables = [sheet.reference for sheet in catalog.sheets if sheet.depth == 0]
    media = media.filter(~pl.col("reference").is_in(tables))
    reading = Reading(tree, config, members, catalog, media, assign(catalog, config))
    read_parts(reading)
    if reading.train.is_empty():
        raise nothing_found(reading)
    keys, predictions = settle_keys(reading)
    plan = settle_targets(reading, keys, predictions)
    return _assemble(reading, keys, plan, predictions)


def _assemble(reading: Reading, keys: Keys, plan: TargetPlan, predictions: tuple[str, ...]) -> Competition:
    config, log, sample = reading.config, reading.log, reading.sample
    if not plan.column_classes:
        _blank_placeholders(reading, plan.targets)
    asked = asking.ask(
        reading.train, plan, sample, predictions, long=bool(keys.suffixes) or bool(plan.unmatched and len(predictions) > 1)
    )
    asked = overrides.apply(asked, config, reading.train, plan, predictions)
    if asked.merged:
        other = pl.when(pl.col(plan.targets[0]) == asked.merged).then(pl.col(plan.targets[0])).otherwise(pl.lit(asked.classes[1]))
        reading.train = reading.train.with_columns(other.alias(plan.targets[0]))
    log.notes["task"] = f"{asked.task}: {asked.note}"
    lists = asked.task in ("detection", "segmentation") or one_list_a_user(reading.train, keys, asked.task)
    if lists and len(keys.ids) > 1:
        keys = overrides.first_key(keys)
    average = asked.task == "multiclass" and len(plan.targets) > 1
    train = gather.train_side(reading.train, keys, plan.targets, lists=lists, average=average, log=log)
    test = test_items(reading, keys)
    roles = reading.roles
    gather.join_side_tables(
        train, test, _first(keys.train_columns), _first(keys.test_columns) or _first(keys.ids), roles.others(reading.catalog), log
    )
    kind = attach.attach_media(
        reading.tree,
        train,
        test,
        without_masks(reading.media) if MASK_FILE in plan.targets or lists else reading.media,
        (*keys.train_columns, *keys.test_columns),
        plan.targets,
        log,
        kind=reading.parts.kind if reading.parts else "",
    )
    features, train_only = _features(reading, keys, plan, train, test, log)
    modality, why = find_modality(asked.task, kind, features, train.table, plan.targets, keys.train_columns)
    if config.modality:
        overrides.check_modality(config.modality, kind)
        modality, why = config.modality, "matchfit.yaml"  # type: ignore[assignment]
    if modality == "text":
        phrases = set(short_phrases(features, train.table)) if config.text_columns is None else set()
        features = tuple(
            replace(item, kind="text") if item.name in phrases - set(config.column_kinds) else item for item in features
        )
    if modality == "recommender" and asked.task == "ordinal" and config.task is None:
        asked = Asked(task="regression", form="value", note=f"{asked.note}; ratings of users are predicted as numbers")
        log.notes["task"] = f"{asked.task}: {asked.note}"
    log.notes["modality"] = f"{modality}: {why}"
    problem = Problem(
        name=config.name or reading.tree.folder.resolve().name,
        modality=modality,
        task=asked.task,
        id_columns=keys.ids,
        targets=plan.targets,
        classes=asked.classes,
        submission_columns=tuple(sample.columns) if sample is not None else (*keys.ids, *predictions),
        prediction_columns=predictions,
        submission_form=asked.form,
        metric=MetricChoice(name="accuracy", direction="maximize", guessed=True),
        features=features,
        separator=asked.separator,
        list_length=asked.list_length,
    )
    if asked.task not in WITH_EMPTY_ANSWERS and asked.form != "label_list":
        train = leave_out_unlabelled(train, plan.targets, log)
    target_table = train.table.select(plan.targets)
    find_repeated_ids(train, test, log)
    problem = overrides.settle_metric(problem, target_table, config, reading.tree.folder, log)
    media_known = kind != ""
    return Competition(
        problem=problem,
        folder=reading.tree.folder,
        train=Items(ids=train.ids, table=train.table, media=train.media, files=reading.tree if media_known else None),
        test=Items(ids=test.ids, table=test.table, media=test.media, files=reading.tree if media_known else None),
        target_table=target_table,
        sample=sample,
        train_only=train_only,
        findings=(*reading.tree.findings(), *table_findings(roles), *log.findings),
        notes=log.notes,
    )


def _blank_placeholders(reading: Reading, targets: tuple[str, ...]) -> None:
    """`NA`, `nan` and their like become empty cells in targets that are measured numbers; classes may have such names."""
    if reading.config.task not in (None, "regression", "multiregression"):
        return
    few = asking.MAX_INTEGER_CLASSES if reading.config.task is None else 0
    for name in targets:
        column = reading.train[name]
        marked = placeholders(column, few=few)
        if marked is not None:
            words = ", ".join(map(repr, column.filter(marked).unique().sort().to_list()))
            reading.log.notes["placeholders"] = f"{words} in {name!r}, a column of numbers: no answer"
            reading.train = reading.train.with_columns(column.set(marked, None))


def leave_out_unlabelled(train: Side, targets: tuple[str, ...], log: Log) -> Side:
    """Train without the items whose answer is empty; they are told. All of train where no item has one: that is another fault."""
    empty = train.table.select(pl.any_horizontal(pl.col(list(targets)).is_null())).to_series()
    if not empty.any() or empty.all():
        return train
    log.find(
        "empty_targets",
        f"{int(empty.sum())} of {len(empty)} train items have no answer: they are left out.",
        rows=train.ids.filter(empty).to_list(),
        todo="Complete them if they should be learnt from.",
    )
    media = None if train.media is None else train.media.filter(~empty)
    return Side(train.ids.filter(~empty), train.table.filter(~empty), media, train.kind)


def one_list_a_user(train: pl.DataFrame, keys: Keys, task: str) -> bool:
    """A ranking whose train rows are the single choices of users: an item is a user, its target the list of choices."""
    columns = keys.train_columns[:1]
    return task == "ranking" and bool(columns) and train[columns[0]].n_unique() < 0.9 * train.height


def find_repeated_ids(train: Side, test: Side, log: Log) -> None:
    """Ids that stand in several rows of one part: each row stays an item."""
    for side, name in ((train, "train"), (test, "test")):
        again = side.ids.filter(side.ids.is_duplicated())
        if len(again):
            log.find(
                "repeated_ids",
                f"{again.n_unique()} ids stand in several {name} rows ({len(again)} rows); each row is an item of its own.",
                rows=again.unique(maintain_order=True).to_list(),
                todo="Look whether these rows are copies; set competition.id when another column identifies an item.",
            )


def _first(names: tuple[str, ...]) -> str | None:
    return names[0] if names else None


def test_items(reading: Reading, keys: Keys) -> Side:
    test = gather.test_side(reading.test, reading.sample, keys, reading.log)
    if len(test.ids) and keys.suffixes and reading.test is None and reading.sample is not None:
        files = media_files.item_names(reading.media, "test")
        items = split_long(test.ids, files, keys.joint).unique(maintain_order=True).alias("id")
        test = Side(items, pl.DataFrame({keys.ids[0]: items}))
    if not len(test.ids):
        found = _test_files(reading)
        if found.is_empty() and reading.sample is not None:
            reading.log.find(
                "no_test_items",
                "The folder holds nothing to predict: the sample submission has no rows and there are no test files.",
                todo="Training works; score the hidden test with `matchfit predict`, or name the test part with competition.test_table.",
            )
            return Side(test.ids, reading.train.clear())
        if found.is_empty():
            raise DataError(
                str(reading.tree.folder),
                rule="must hold items to predict: a sample submission with rows, a test table, or a folder of test files",
                found=f"{len(reading.catalog.sheets)} tables, none of them test",
                todo="Name it with competition.test_table, competition.test_media or competition.sample_submission in matchfit.yaml.",
            )
        form = overrides.file_form(reading.train, keys, reading.media)
        ids = found[form].alias("id")
        test = Side(ids, pl.DataFrame({_first(keys.train_columns) or "id": ids, MEDIA_COLUMN: found["reference"]}))
        reading.log.notes["test"] = f"{len(ids)} files of the test folder"
    reading.log.notes.setdefault("test", "the items of the sample submission")
    return test


def _test_files(reading: Reading) -> pl.DataFrame:
    """The files of the test side: pictures and sounds before arrays and a table an item."""
    files = reading.media.filter((pl.col("side") == "test") & (pl.col("folder") != "")).sort("path")
    kinds = set(files["kind"].to_list())
    best = next((kind for kind in media_files.KINDS if kind in kinds), "")
    return files.filter(pl.col("kind") == best)


def _features(
    reading: Reading, keys: Keys, plan: TargetPlan, train: Side, test: Side, log: Log
) -> tuple[tuple[Feature, ...], tuple[str, ...]]:
    """Columns that both sides have and that are no target; what train alone has is named, never learnt from."""
    single = keys.train_columns if len(keys.train_columns) == 1 and keys.joint else ()
    known = frozenset(test.table.columns) - frozenset(plan.targets)  # tables may have ten thousand columns
    shared = [name for name in train.table.columns if name in known]
    asked = [name for name in shared if name not in single]
    features, notes = find_features(train.table, test.table, asked, frozenset(), reading.config)
    if single and single[0] in shared:
        more, _ = find_features(train.table, test.table, list(single), frozenset(), CompetitionConfig())
        features = (*(feature for feature in more if feature.kind == "time"), *features)
    if notes:
        log.notes["columns"] = "; ".join(f"{name!r}: {note}" for name, note in notes.items())
    train_only = tuple(
        name for name in train.table.columns if name not in known and name not in plan.targets and name not in keys.train_columns
    )
    if train_only:
        log.notes["train_only"] = f"{', '.join(map(repr, train_only[:12]))}: absent from test, not learnt from"
    return features, train_only
