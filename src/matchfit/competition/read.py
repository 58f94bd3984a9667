"""Read a competition folder. The sample submission decides; every decision is explained and can be overruled."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from matchfit.competition import asking, gather, overrides
from matchfit.competition.asking import asks_masks
from matchfit.competition.catalog import Catalog, read_catalog
from matchfit.competition.config import CompetitionConfig
from matchfit.competition.features import find_features
from matchfit.competition.files import FileTree
from matchfit.competition.gather import Log, Side
from matchfit.competition.keys import Keys, find_keys, same_column, split_long
from matchfit.competition.layouts.coco import read_coco
from matchfit.competition.layouts.folders import read_folders
from matchfit.competition.layouts.lines import read_line_files
from matchfit.competition.layouts.pairs import TARGET as MASK_FILE
from matchfit.competition.layouts.pairs import mask_files, read_pairs, without_masks
from matchfit.competition.layouts.parts import LABEL, MEDIA_COLUMN, Parts
from matchfit.competition.matching import TargetPlan, find_targets
from matchfit.competition.media import media_table
from matchfit.competition.modality import find_modality, short_phrases
from matchfit.competition.problem import Competition, Feature, Items, MetricChoice, Problem
from matchfit.competition.roles import Roles, assign
from matchfit.competition.single import derive_sample, split_one_table
from matchfit.core.errors import DataError


@dataclass
class _Reading:
    """The state of one reading, from the files to the parts."""

    tree: FileTree
    config: CompetitionConfig
    members: pl.DataFrame
    catalog: Catalog
    media: pl.DataFrame
    roles: Roles
    log: Log = field(default_factory=Log)
    parts: Parts | None = None
    sample: pl.DataFrame | None = None
    train: pl.DataFrame = field(default_factory=pl.DataFrame)
    test: pl.DataFrame | None = None


def read_competition(folder: Path, config: CompetitionConfig, *, scratch: Path | None = None) -> Competition:
    """The competition in `folder`, which is only read; `scratch` takes what must be unpacked.

    Raises DataError that says what was looked for, what was found and which key of `matchfit.yaml` settles it.
    """
    tree = FileTree(Path(folder), scratch=scratch)
    members = tree.members()
    catalog = read_catalog(tree, members)
    media = media_table(members, train=config.train_media, test=config.test_media)
    overrides.check_media(config, media)
    media = media.join(
        pl.DataFrame(
            {"reference": [sheet.reference for sheet in catalog.sheets if sheet.depth == 0]}, schema={"reference": pl.String}
        ),
        on="reference",
        how="anti",
    )
    reading = _Reading(tree, config, members, catalog, media, assign(catalog, config))
    _read_parts(reading)
    if reading.train.is_empty():
        raise _nothing_found(reading)
    keys, predictions = _settle_keys(reading)
    plan = _settle_targets(reading, keys, predictions)
    return _assemble(reading, keys, plan, predictions)


# -- train and test as tables -----------------------------------------------------------------------------------------------------------


def _read_parts(reading: _Reading) -> None:
    """Fill `sample`, `train`, `test` from the tables, or from a layout that needs none."""
    roles, log = reading.roles, reading.log
    log.notes.update(roles.notes)
    if roles.sample is not None:
        reading.sample = roles.sample.frame()
    if roles.test is not None:
        reading.test = roles.test.frame()
    if roles.train:
        frames = [sheet.frame() for sheet in roles.train]
        if len(frames) > 1:
            mark = "table" if all("table" not in frame.columns for frame in frames) else "\x1ftable"
            names = [sheet.path for sheet in roles.train]
            frames = [
                _same_names(frame, frames[0]).with_columns(pl.lit(name).alias(mark))
                for frame, name in zip(frames, names, strict=True)
            ]
            reading.train = pl.concat(frames, how="diagonal")
        else:
            reading.train = frames[0]
        if reading.test is None:
            reading.train, reading.test, note = split_one_table(reading.train, reading.sample, reading.media)
            if note:
                log.notes["test"] = note
        return
    reading.parts = _layout(reading)
    if reading.parts is None:
        raise _nothing_found(reading)
    _take_parts(reading, reading.parts)


def _take_parts(reading: _Reading, parts: Parts) -> None:
    reading.parts, reading.train = parts, parts.train
    if reading.test is None:
        reading.test = parts.test
    reading.log.notes.update(parts.notes)


def _same_names(frame: pl.DataFrame, first: pl.DataFrame) -> pl.DataFrame:
    return frame.rename(
        {name: own for name in frame.columns if (own := same_column(name, first.columns)) is not None and own != name}
    )


def _layout(reading: _Reading) -> Parts | None:
    return (
        read_coco(reading.tree, reading.members)
        or (read_pairs(reading.media) if _asks_pixels(reading.sample) else None)
        or read_folders(reading.media, _known_labels(reading.sample))
        or read_line_files(reading.tree, reading.members, reading.sample)
    )


def _asks_pixels(sample: pl.DataFrame | None) -> bool:
    """Masks, or a row a pixel, are asked."""
    if sample is None or sample.is_empty():
        return False
    return asks_masks(tuple(sample.columns[1:])) or bool(sample[:, 0].str.contains(r"_\d+_\d+$").all())


def _known_labels(sample: pl.DataFrame | None) -> frozenset[str]:
    """Names that may be classes: columns of the sample submission, and the cells of its last column."""
    if sample is None or sample.width < 2:
        return frozenset()
    cells = sample[:, -1].drop_nulls().unique().head(2000).to_list()
    return frozenset([*sample.columns[1:], *cells])


def _nothing_found(reading: _Reading) -> DataError:
    sheets = ", ".join(sheet.path for sheet in reading.catalog.sheets[:8]) or "no table"
    files = dict(reading.media["kind"].value_counts().iter_rows())
    kinds = ", ".join(f"{count} {kind} files" for kind, count in files.items()) or "no media"
    refused = "; ".join(f"{path} could not be read ({reason})" for path, reason in list(reading.catalog.refused.items())[:3])
    return DataError(
        str(reading.tree.folder),
        rule="must hold labelled training items: a train table, COCO json, class folders, labels in file names, or files of lines",
        found=f"{sheets}; {kinds}" + (f"; {refused}" if refused else ""),
        todo="Name the table with competition.train_table in matchfit.yaml, or the folder of training files with competition.train_media.",
    )


# -- ids and targets --------------------------------------------------------------------------------------------------------------------


def _settle_keys(reading: _Reading) -> tuple[Keys, tuple[str, ...]]:
    """The keys and the columns to predict; without a sample submission both follow from train, test and the media."""
    parts, log, config = reading.parts, reading.log, reading.config
    if reading.sample is None:
        log.notes["sample"] = "none in the folder: ids and targets follow from train and test"
        keys = derive_sample(reading.train, reading.test, reading.media, config, parts)
    else:
        test = reading.test
        if test is not None and parts is not None and parts.key == "file" and test.width <= 2:
            test = None  # the test files' names are matched as files are, with or without suffix
        keys = find_keys(reading.sample, test, reading.train, reading.media, config.id)
        if test is None and parts is not None and parts.key == "file":
            reading.test = None
        if test is not None and not keys.test_columns and not keys.by_row and not config.test_table:
            what = reading.roles.test.path if reading.roles.test is not None else "the test part"
            log.notes["test"] = f"the sample submission's rows; {what} is set aside: no column of it holds their ids"
            reading.test = None
    log.notes["id"] = f"{', '.join(map(repr, keys.ids)) or 'none'}: {keys.note}"
    if parts is not None and not (keys.train_columns and all(name in reading.train.columns for name in keys.train_columns)):
        keys = overrides.with_train_key(keys, (parts.key,))
    return keys, keys.predictions


def _settle_targets(reading: _Reading, keys: Keys, predictions: tuple[str, ...]) -> TargetPlan:
    """The target columns; a train table without any falls back on class folders."""
    filled = _filled_columns(reading.test, reading.train, predictions)
    suffixes = keys.suffixes
    ids = tuple(dict.fromkeys((*keys.train_columns, *(name for name in keys.ids if name not in predictions))))
    known = reading.parts.targets if reading.parts is not None else ()
    if not known and keys.train_columns and asks_masks(predictions):
        known = _mask_target(reading, keys, predictions)
    if reading.parts is not None and reading.parts.boxes:
        known = ()
    try:
        plan = find_targets(
            reading.train, filled, ids, reading.sample, predictions, suffixes=suffixes, known=known, wanted=reading.config.targets
        )
    except DataError:
        parts = (
            read_folders(reading.media, _known_labels(reading.sample))
            if reading.parts is None and not reading.config.targets
            else None
        )
        if parts is None:
            raise
        labels = parts.train.with_columns(pl.col("file").str.replace(r"^.*/", "").str.replace(r"\.[^.]+$", "").alias("\x1fstem"))
        if not keys.train_columns:
            raise
        own = reading.train[keys.train_columns[0]].str.replace(r"^.*/", "").str.replace(r"\.[A-Za-z0-9]{2,5}$", "")
        joined = pl.DataFrame({"\x1fstem": own}).join(
            labels.select("\x1fstem", LABEL).unique("\x1fstem"), on="\x1fstem", how="left", maintain_order="left"
        )
        if joined[LABEL].null_count():
            raise
        reading.train = reading.train.with_columns(joined[LABEL])
        reading.log.notes["train"] += f"; {parts.notes['train']}"
        plan = find_targets(reading.train, filled, ids, reading.sample, predictions, known=(LABEL,))
    if plan.note:
        reading.log.notes["targets"] = f"{', '.join(map(repr, plan.targets[:8]))}: {plan.note}"
    elif reading.parts is not None:
        reading.log.notes["targets"] = f"{', '.join(map(repr, plan.targets))}: from the layout"
    return plan


def _mask_target(reading: _Reading, keys: Keys, predictions: tuple[str, ...]) -> tuple[str, ...]:
    """The column of mask files, added to train when its tables have no masks."""
    if any(same_column(name, reading.train.columns) for name in predictions) or MASK_FILE in reading.train.columns:
        return ()
    if any(asking.is_mask(reading.train[name], name, ()) for name in reading.train.columns):
        return ()
    masks = mask_files(reading.train[keys.train_columns[0]].fill_null(""), reading.media)
    if masks is None:
        return ()
    reading.train = reading.train.with_columns(masks.alias(MASK_FILE))
    reading.log.notes["masks"] = f"files such as {masks.drop_nulls()[0]}"
    return (MASK_FILE,)


def _filled_columns(test: pl.DataFrame | None, train: pl.DataFrame, predictions: tuple[str, ...]) -> frozenset[str]:
    """Test's columns that hold something; a column that is asked and blank or constant there is the target's empty place."""
    if test is None:
        return frozenset()
    asked = {own for name in predictions if (own := same_column(name, train.columns)) is not None}
    blank = {name for name in asked if name in test.columns and test[name].drop_nulls().n_unique() <= 1}
    return frozenset(
        name
        for name in test.columns
        if name not in blank and not (test.height and test[name].null_count() == test.height and name in asked)
    )


# -- the competition --------------------------------------------------------------------------------------------------------------------


def _assemble(reading: _Reading, keys: Keys, plan: TargetPlan, predictions: tuple[str, ...]) -> Competition:
    config, log, sample = reading.config, reading.log, reading.sample
    asked = asking.ask(
        reading.train, plan, sample, predictions, long=bool(keys.suffixes) or bool(plan.unmatched and len(predictions) > 1)
    )
    asked = overrides.apply(asked, config, reading.train, plan, predictions)
    if asked.merged:
        other = pl.when(pl.col(plan.targets[0]) == asked.merged).then(pl.col(plan.targets[0])).otherwise(pl.lit(asked.classes[1]))
        reading.train = reading.train.with_columns(other.alias(plan.targets[0]))
    log.notes["task"] = f"{asked.task}: {asked.note}"
    lists = asked.task in ("detection", "segmentation") or _one_list_a_user(reading.train, keys, asked.task)
    if lists and len(keys.ids) > 1:
        keys = overrides.first_key(keys)
    average = asked.task == "multiclass" and len(plan.targets) > 1
    train = gather.train_side(reading.train, keys, plan.targets, lists=lists, average=average, log=log)
    test = _test_items(reading, keys)
    roles = reading.roles
    gather.join_side_tables(
        train, test, _first(keys.train_columns), _first(keys.test_columns) or _first(keys.ids), roles.others(reading.catalog), log
    )
    kind = gather.attach_media(
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
    target_table = train.table.select(plan.targets)
    _find_empty_targets(train, target_table, asked.task, log)
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
        findings=(*reading.tree.findings(), *_table_findings(roles), *log.findings),
        notes=log.notes,
    )


def _one_list_a_user(train: pl.DataFrame, keys: Keys, task: str) -> bool:
    """A ranking whose train rows are the single choices of users: an item is a user, its target the list of choices."""
    columns = keys.train_columns[:1]
    return task == "ranking" and bool(columns) and train[columns[0]].n_unique() < 0.9 * train.height


def _find_empty_targets(train: Side, targets: pl.DataFrame, task: str, log: Log) -> None:
    if task in ("detection", "segmentation", "multilabel"):
        return  # no box, no mask, no label
    empty = targets.select(pl.any_horizontal(pl.all().is_null())).to_series()
    if bool(empty.any()):
        log.find(
            "empty_target",
            f"{int(empty.sum())} train items have no target.",
            rows=train.ids.filter(empty).to_list(),
            severity="error",
            todo="Remove these rows from train, or name another column with competition.targets.",
        )


def _first(names: tuple[str, ...]) -> str | None:
    return names[0] if names else None


def _test_items(reading: _Reading, keys: Keys) -> Side:
    test = gather.test_side(reading.test, reading.sample, keys, reading.log)
    if len(test.ids) and keys.suffixes and reading.test is None and reading.sample is not None:
        files = reading.media.filter(pl.col("side") == "test")["stem"]
        items = split_long(test.ids, files, keys.joint).unique(maintain_order=True).alias("id")
        test = Side(items, pl.DataFrame({keys.ids[0]: items}))
    if not len(test.ids):
        found = reading.media.filter((pl.col("side") == "test") & pl.col("kind").is_in(["image", "audio"])).sort("path")
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


def _features(
    reading: _Reading, keys: Keys, plan: TargetPlan, train: Side, test: Side, log: Log
) -> tuple[tuple[Feature, ...], tuple[str, ...]]:
    """Columns that both sides have and that are no target; what train alone has is named, never learnt from."""
    single = keys.train_columns if len(keys.train_columns) == 1 and keys.joint else ()
    shared = [name for name in train.table.columns if name in test.table.columns and name not in plan.targets]
    asked = [name for name in shared if name not in single]
    features, notes = find_features(train.table, test.table, asked, frozenset(), reading.config)
    if single and single[0] in shared:
        more, _ = find_features(train.table, test.table, list(single), frozenset(), CompetitionConfig())
        features = (*(feature for feature in more if feature.kind == "time"), *features)
    if notes:
        log.notes["columns"] = "; ".join(f"{name!r}: {note}" for name, note in notes.items())
    train_only = tuple(
        name for name in train.table.columns if name not in shared and name not in plan.targets and name not in keys.train_columns
    )
    if train_only:
        log.notes["train_only"] = f"{', '.join(map(repr, train_only[:12]))}: absent from test, not learnt from"
    return features, train_only


def _table_findings(roles: Roles) -> list:  # type: ignore[type-arg]
    sheets = [sheet for sheet in (roles.sample, *roles.train, roles.test) if sheet is not None]
    return [finding for sheet in sheets for finding in sheet.findings]
