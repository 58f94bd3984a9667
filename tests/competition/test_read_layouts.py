"""Every layout that hosts ship is read without configuration, and the answer is the expected one."""

from __future__ import annotations

from pathlib import Path

import pytest

from layouts import LAYOUTS, accepts
from matchfit.competition.config import CompetitionConfig
from matchfit.competition.read import read_competition


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_layout_is_read_as_expected(name: str, tmp_path: Path) -> None:
    expected = LAYOUTS[name](tmp_path)
    read = read_competition(tmp_path, CompetitionConfig())
    problem = read.problem
    found: dict[str, object] = {}
    wanted: dict[str, object] = {}

    def compare(what: str, want: object, got: object, *, when: bool = True) -> None:
        if when:
            wanted[what], found[what] = want, got

    for what, want, got in (
        ("modality", expected.modality, problem.modality),
        ("task", expected.task, problem.task),
        ("form", expected.form, problem.submission_form),
    ):
        compare(what, True, accepts(want, got) or f"{got}, not {want}")
    for what, want, got in (
        ("id", expected.id, problem.id_columns),
        ("targets", expected.targets, problem.targets),
        ("classes", expected.classes, problem.classes),
        ("submission_columns", expected.submission_columns, problem.submission_columns),
        ("prediction_columns", expected.prediction_columns, problem.prediction_columns),
        ("train", expected.train, len(read.train)),
        ("test", expected.test, len(read.test)),
        ("separator", expected.separator, problem.separator),
    ):
        compare(what, want, got, when=want is not None)
    if expected.train_only is not None:
        features = {feature.name for feature in problem.features}
        compare("train_only", set(), set(expected.train_only) & features)
        compare("train_only listed", set(), set(expected.train_only) - set(read.train_only))
    if expected.media is not None:
        got_media = tuple(0 if side.media is None else len(side) - side.media.null_count() for side in (read.train, read.test))
        compare("media", expected.media, got_media)
    compare("train_ids", set(), set(expected.train_ids) - set(read.train.ids.to_list()))
    compare("test_ids", set(), set(expected.test_ids) - set(read.test.ids.to_list()))
    assert found == wanted
    assert read.train.table.height == len(read.train.ids) == read.target_table.height
    assert read.test.table.height == len(read.test.ids)
    assert tuple(read.target_table.columns) == problem.targets
