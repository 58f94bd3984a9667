"""Which table is the sample submission, which one train, which one test: by name and by content, each choice with its reason."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from matchfit.competition.catalog import Catalog, Sheet
from matchfit.competition.config import CompetitionConfig
from matchfit.competition.names import (
    EXAMPLE_WORDS,
    LABEL_WORDS,
    SUBMISSION_WORDS,
    TEST_WORDS,
    TRAIN_WORDS,
    VALID_WORDS,
    plain,
)

ANSWER_WORDS = frozenset({"solution", "answer", "answers", "truth", "groundtruth", "labels", "label", "result", "results"})


@dataclass
class Roles:
    """The tables of a competition; `train` holds several sheets when the host split it by rows."""

    sample: Sheet | None = None
    train: list[Sheet] = field(default_factory=list)
    test: Sheet | None = None
    weak_train: bool = False  # chosen by its name alone: labels elsewhere may be the better answer
    notes: dict[str, str] = field(default_factory=dict)

    def others(self, catalog: Catalog) -> list[Sheet]:
        return [
            sheet for sheet in catalog.sheets if sheet not in self.train and sheet is not self.sample and sheet is not self.test
        ]


def assign(catalog: Catalog, config: CompetitionConfig) -> Roles:
    """Roles of the tables. A role that nobody fills stays empty: labels may stand in folders, file names or json."""
    roles = Roles()
    roles.sample = _sample(catalog, config, roles.notes)
    roles.test = _test(catalog, config, roles)
    roles.train = _train(catalog, config, roles)
    if roles.test is not None and not roles.train and not config.test_table and _target_columns(roles.test, roles.sample):
        # one table with both parts, which looked like test because it holds all ids
        roles.train, roles.test = [roles.test], None
        roles.notes["train"] = f"{roles.train[0].path}: the one table, with the rows of train and test"
        roles.notes.pop("test", None)
    return roles


def _sample(catalog: Catalog, config: CompetitionConfig, notes: dict[str, str]) -> Sheet | None:
    if config.sample_submission:
        notes["sample"] = f"{config.sample_submission} (matchfit.yaml)"
        return catalog.named(config.sample_submission, key="sample_submission")
    scored = [(_sample_score(sheet), sheet) for sheet in catalog.sheets]
    named = [(score, sheet) for score, sheet in scored if score > 0 and len(sheet.columns) >= 1]
    if not named:
        sheet = _sample_by_content(catalog)
        if sheet is not None:
            notes["sample"] = (
                f"{sheet.path}: no file is named as a submission; the one table that repeats ids and leaves the rest constant"
            )
        return sheet
    best = max(score for score, _ in named)
    tied = [sheet for score, sheet in named if score == best]
    chosen = max(tied, key=lambda sheet: (sheet.frame().height, sheet.path)) if len(tied) > 1 else tied[0]
    others = [sheet.path for _, sheet in named if sheet is not chosen]
    notes["sample"] = f"{chosen.path}, by its name" + (f"; not {', '.join(others)}" if others else "")
    return chosen


def _sample_score(sheet: Sheet) -> float:
    words = sheet.words
    joined = plain(sheet.name)
    if not (words & SUBMISSION_WORDS or "submission" in joined or "submit" in joined):
        return 0.0
    score = 2.0 + 2.0 * bool(words & EXAMPLE_WORDS or "sample" in joined or "example" in joined) - 0.25 * sheet.depth
    return score - 1.0 * bool(words & (TRAIN_WORDS | frozenset({"old", "stage", "draft"})))


def _sample_by_content(catalog: Catalog) -> Sheet | None:
    """A table whose first column lists other rows' ids and whose other columns are constant or empty."""
    for sheet in catalog.sheets:
        frame = sheet.head
        if (
            sheet.words & (TRAIN_WORDS | TEST_WORDS)
            or not frame.width >= 2
            or frame.height < 2
            or frame[:, 0].n_unique() < frame.height
        ):
            continue
        rest = [frame[column] for column in frame.columns[1:]]
        if not all(column.n_unique() == 1 for column in rest):
            continue
        for other in catalog.sheets:
            if other is not sheet and _membership(sheet.head[:, 0], other) > 0.9:
                return sheet
    return None


def _membership(keys: pl.Series, sheet: Sheet) -> float:
    """The largest share of `keys` that stands in one column of the sheet."""
    frame = sheet.frame()
    return max((float(keys.is_in(frame[column].implode()).mean() or 0.0) for column in frame.columns), default=0.0)  # type: ignore[arg-type]


def _test(catalog: Catalog, config: CompetitionConfig, roles: Roles) -> Sheet | None:
    if config.test_table:
        roles.notes["test"] = f"{config.test_table} (matchfit.yaml)"
        return catalog.named(config.test_table, key="test_table")
    scored = []
    for sheet in catalog.sheets:
        if sheet is roles.sample:
            continue
        covered = coverage(roles.sample, sheet)
        score = 4.0 * covered + _test_name_score(sheet) - 0.3 * sheet.depth
        if roles.sample is not None and _filled_predictions(sheet, roles.sample):
            score -= 1.5 if sheet.words <= TEST_WORDS else 4.0
        if covered >= 0.5 or sheet.words & TEST_WORDS:
            scored.append((score, covered, sheet))
    if not scored:
        return None
    score, covered, chosen = max(scored, key=lambda item: (item[0], -len(item[2].path)))
    if score < 1.5:
        return None
    reason = f"{100 * covered:.0f} % of the sample submission's ids stand in it" if covered else "by its name"
    roles.notes["test"] = f"{chosen.path}: {reason}"
    return chosen


def _test_name_score(sheet: Sheet) -> float:
    score = 3.0 * bool(sheet.words & TEST_WORDS) - 3.0 * bool(sheet.words & (TRAIN_WORDS | VALID_WORDS))
    if sheet.words & (ANSWER_WORDS | LABEL_WORDS):
        score -= 4.0
    return score + 0.5 * (sheet.words <= TEST_WORDS)


def coverage(sample: Sheet | None, sheet: Sheet) -> float:
    """Share of the sample submission's ids that one column of the sheet holds (0 where fewer than half of its first rows are such ids)."""
    if sample is None or sample.head.is_empty() or sheet.head.is_empty():
        return 0.0
    best = 0.0
    for key in _key_columns(sample):
        ids = sample.frame()[key]
        for column in sheet.columns:
            head = sheet.head[column].drop_nulls().unique()
            hits = ids.filter(ids.is_in(head.implode())).n_unique()  # the short side is hashed
            if not len(head) or hits < 0.5 * len(head):
                continue
            covered = ids.is_in(sheet.frame()[column].implode()).mean()
            best = max(best, float(covered or 0.0))  # type: ignore[arg-type]
    return best


def _key_columns(sample: Sheet) -> list[str]:
    """Columns of the sample that may be ids: mostly distinct in its first rows; the first column when none is."""
    head = sample.head
    distinct = [
        column for column in head.columns[:4] if head[column].n_unique() > 0.8 * head.height and head[column].null_count() == 0
    ]
    return distinct or head.columns[:1]


def _target_columns(sheet: Sheet, sample: Sheet | None) -> list[str]:
    if sample is None:
        return []
    wanted = {plain(column) for column in sample.columns if column not in _key_columns(sample)}
    return [column for column in sheet.columns if plain(column) in wanted]


def _filled_predictions(sheet: Sheet, sample: Sheet) -> bool:
    """The sheet has a column that the sample asks to predict, with different values in it: it is train, or the answers."""
    return any(sheet.head[column].drop_nulls().n_unique() > 1 for column in _target_columns(sheet, sample))


def _train(catalog: Catalog, config: CompetitionConfig, roles: Roles) -> list[Sheet]:
    if config.train_table:
        roles.notes["train"] = f"{config.train_table} (matchfit.yaml)"
        return [catalog.named(config.train_table, key="train_table")]
    pool = [sheet for sheet in catalog.sheets if sheet not in (roles.sample, roles.test)]
    scored = [(_train_score(sheet, roles), sheet) for sheet in pool]
    scored = [item for item in scored if item[0] >= (2.0 if roles.sample is not None else 1.0)]
    if not scored:
        return []
    _score, chosen = max(scored, key=lambda item: (item[0], item[1].head.height, -len(item[1].path)))
    roles.notes["train"] = f"{chosen.path}: " + ", ".join(_train_reasons(chosen, roles))
    named = roles.sample is not None and (bool(_target_columns(chosen, roles.sample)) or _names_classes(chosen, roles.sample))
    roles.weak_train = not named and (roles.sample is not None or chosen.depth > 0)
    further = [sheet for _, sheet in scored if sheet is not chosen and _continues(sheet, chosen)]
    if further:
        names = ", ".join(sheet.path for sheet in further)
        roles.notes["train"] += (
            f"; continued by {names} (same columns; the column that names the table is for splits, not for learning)"
        )
    return [chosen, *further]


def _train_score(sheet: Sheet, roles: Roles) -> float:
    words = sheet.words
    score = 3.0 * bool(words & TRAIN_WORDS) + 1.0 * bool(words & LABEL_WORDS) + 1.0 * bool(words & VALID_WORDS) - 0.5 * sheet.depth
    score += 1.0 * bool(words and words <= TRAIN_WORDS)
    score += 1.0 * (sheet.side == "train")
    if (words & TEST_WORDS and not words & TRAIN_WORDS) or sheet.side == "test":
        score -= 6.0
    if roles.sample is not None:
        sample = roles.sample
        asked = len(sample.columns) - len(_key_columns(sample))
        score += 4.0 * len(_target_columns(sheet, sample)) / max(asked, 1)
        score += 3.0 * (asked > 1 and _names_classes(sheet, sample))
        score += 1.0 * any(plain(column) in {plain(key) for key in _key_columns(sample)} for column in sheet.columns)
    if roles.test is not None:
        shared = set(sheet.columns) & set(roles.test.columns)
        score += 1.0 * (len(shared) >= 2 or (len(shared) == 1 and len(roles.test.columns) == 1)) + 0.5 * (
            len(sheet.columns) > len(shared)
        )
    return score


def _names_classes(sheet: Sheet, sample: Sheet) -> bool:
    """The cells of one column are names of the sample's columns: probabilities of one label column are asked."""
    names = pl.Series(sample.columns[1:])
    for column in sheet.columns:
        values = sheet.head[column].drop_nulls()
        if len(values) and float(values.str.split(",").list.first().is_in(names.implode()).mean() or 0.0) > 0.8:  # type: ignore[arg-type]
            return True
    return False


def _train_reasons(sheet: Sheet, roles: Roles) -> list[str]:
    reasons = []
    if sheet.words & (TRAIN_WORDS | LABEL_WORDS):
        reasons.append("by its name")
    asked = _target_columns(sheet, roles.sample)
    if asked:
        reasons.append("it has what the sample submission asks: " + ", ".join(map(repr, asked[:4])))
    return reasons or ["the table that fits best"]


def _continues(sheet: Sheet, first: Sheet) -> bool:
    """Another part of train: the same columns, other rows; or the table of the same name in another folder (a folder a trip, a store)."""
    if {plain(name) for name in sheet.columns} != {plain(name) for name in first.columns} or sheet.depth > first.depth:
        return False
    if sheet.name == first.name and sheet.depth == first.depth and sheet.side == first.side and sheet.path != first.path:
        return True
    if not sheet.words & (TRAIN_WORDS | VALID_WORDS):
        return False
    keys = sheet.head[:, 0]
    repeated = float(keys.is_in(first.frame()[:, 0].implode()).mean() or 0.0)  # type: ignore[arg-type]
    return repeated < 0.5 or not first.head.rows() or sheet.head[:, 0].n_unique() < 0.5 * sheet.head.height
