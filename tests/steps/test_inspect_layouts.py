"""`inspect --json` on a folder of every known layout: the whole object, as a user gets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layout_tools import accepts
from layouts import LAYOUTS
from matchfit import api
from matchfit.competition.problem import TASKS

KEYS = {"modality", "task", "id", "targets", "classes", "submission_columns", "metric", "split", "rows", "findings"}
SPLITS = {"stratified", "group", "stratified_group", "time", "random"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_every_layout_is_inspected(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    expected = LAYOUTS[name](folder)
    found = json.loads(json.dumps(api.inspect(folder, say=lambda _line: None).as_json()))
    assert set(found) >= KEYS
    assert found["task"] in TASKS
    assert found["split"]["kind"] in SPLITS
    assert expected.train in {None, found["rows"]["train"]}
    assert expected.test in {None, found["rows"]["test"]}
    assert accepts(expected.modality, found["modality"])
    assert accepts(expected.task, found["task"])
    assert accepts(expected.split, found["split"]["kind"])
    assert all(set(finding) >= {"code", "severity", "message", "rows"} for finding in found["findings"])
    if expected.by is not None:
        assert tuple(found["split"]["by"]) == expected.by
