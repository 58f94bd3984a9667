"""`predict`: score a test folder with a finished run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchfit.competition.problem import Predictions, Targets
from matchfit.core.console import say as say_aloud
from matchfit.core.errors import ConfigError
from matchfit.core.records import read_record
from matchfit.core.workspace import workspace_for
from matchfit.learners.records import RECORD_SCHEMA
from matchfit.settings import load_settings, refuse_ineffective

TOLD = frozenset({"unasked_test_rows", "missing_test_rows"})  # findings that decide which rows are in the file


@dataclass(frozen=True, kw_only=True)
class Written:
    """What was written: rows of the submission, models that were averaged, the run they came from."""

    rows: int
    members: int
    run: Path


def predict(
    run: Path | str,
    folder: Path | str,
    out: Path | str,
    *,
    workspace: Path | str | None = None,
    assignments: Sequence[str] = (),
    say: Callable[[str], None] = say_aloud,
) -> Written:
    """Score the test items in `folder` with the models of `run` (a run's folder, or a competition folder: its best run), averaged as in
    the run's own submission. `folder` needs no training data. Raises RunError, DataError or ConfigError."""
    from matchfit.competition.read_test import read_test
    from matchfit.competition.stored import problem_from_json
    from matchfit.learners.base import Context
    from matchfit.learners.config import TrainConfig
    from matchfit.learners.members import make_learner
    from matchfit.learners.outputs import average, write_checked_submission
    from matchfit.steps.inspect import check_folder
    from matchfit.steps.runs import find_run

    refuse_ineffective(assignments, sections=("competition",), verb="predict")
    folder, out = Path(folder), Path(out)
    chosen = None if workspace is None else Path(workspace)
    directory = find_run(Path(run), chosen)
    record = read_record(directory / "record.json", schema=RECORD_SCHEMA)
    check_folder(folder)
    if out.is_dir():
        raise ConfigError(f"--out {out}", rule="must be the csv file to write", found="a folder", todo="Name a file in it.")
    stored: dict[str, Any] = record["run"]
    problem = problem_from_json(stored["problem"], source=str(directory / "record.json"))
    config = TrainConfig.model_validate(stored["train"], strict=False)
    place = workspace_for(folder, chosen)
    settings = load_settings(place.settings, assignments)
    test = read_test(folder, problem, settings.competition, scratch=place.cache / "files")
    say(f"{directory}: {len(record['test_members'])} model(s), {len(test.test)} test items")
    for finding in test.findings:
        if finding.code in TOLD:
            say(f"{finding.severity}: {finding.message}")
    members = []
    for index in record["test_members"]:
        learner = make_learner(stored["learner"], problem, config)
        where = directory / f"fold-{index}"
        context = Context(directory=where, cache=place.cache, seed=config.seed, score=_not_scored, say=say)
        members.append(learner.predict(learner.load(where / "learner"), test.test, context))
    write_checked_submission(out, test, average(members))
    return Written(rows=len(test.test), members=len(members), run=directory)


def _not_scored(targets: Targets, predictions: Predictions) -> float:
    """Test items have no answers; the metric, which may be a user's file that has moved, is not even looked up."""
    raise AssertionError(f"{len(targets)} targets for {len(predictions)} test items")
