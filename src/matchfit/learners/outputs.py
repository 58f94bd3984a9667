"""What a run leaves for people, for the host and for later stages: out-of-fold scores, test predictions, the submission, the record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from matchfit.competition.metrics import get_metric, metrics_for, score
from matchfit.competition.problem import Competition, Predictions, Targets
from matchfit.competition.submission import check_submission, submission_frame, write_submission
from matchfit.core.errors import SubmissionError
from matchfit.core.machine import facts as machine_facts
from matchfit.core.records import write_atomically, write_record
from matchfit.learners.fold_files import FoldResult
from matchfit.learners.records import RECORD_SCHEMA
from matchfit.validation.folds import Folds, group_overlap
from matchfit.validation.oof import oof_frame
from matchfit.validation.scores import summarise

if TYPE_CHECKING:
    import numpy.typing as npt

    from matchfit.competition.metrics import Metric
    from matchfit.learners.run import Clock, Plan


def write_outputs(
    plan: Plan,
    competition: Competition,
    targets: Targets,
    folds: Folds,
    metric: Metric,
    results: list[FoldResult],
    *,
    directory: Path,
    clock: Clock,
    missing: tuple[int, ...],
) -> dict[str, Any]:
    """Write all files of a run, the record last; returns the record's content."""
    scored, rows = _out_of_fold(results)
    own, fold_N = targets.take(rows), folds.fold_N[rows]
    units, unit = folds.resampling_units()
    summary = summarise(
        metric,
        own,
        scored,
        fold_N,
        group_N=None if units is None else units[rows],
        unit=unit,
        valid_over_train=folds.valid_over_train(),
        seed=plan.config.seed,
    )
    _write_out_of_fold(competition, scored, rows, fold_N, directory)
    tested = average([result.test_predictions for result in _test_members(results, folds)])
    _write_test(competition, tested, directory)
    write_checked_submission(directory / "submission.csv", competition, tested)
    record: dict[str, Any] = {
        "run": plan.as_json(),
        "finished": not missing,
        "missing": list(missing),
        "score": {"metric": metric.name, "direction": metric.direction, **summary},
        "other_scores": _other_scores(plan, metric, own, scored),
        "overlap": group_overlap(folds),
        "split": {
            "kind": folds.kind,
            "by": list(folds.by),
            "num_folds": folds.num_folds,
            "hash": folds.hash,
            "notes": list(folds.notes),
        },
        "rows": {"train": len(competition.train), "scored": len(rows), "test": len(competition.test)},
        "test_members": [result.index for result in _test_members(results, folds)],
        "fits": {str(result.index): result.facts for result in results},
        "seconds": {name: round(value, 3) for name, value in clock.seconds.items()},
        "machine": machine_facts(),
    }
    write_record(directory / "record.json", schema=RECORD_SCHEMA, **record)
    return record


def average(members: list[Predictions]) -> Predictions:
    """The mean of several models' scores, in float64; all must have the same columns in the same order."""
    columns = members[0].columns
    assert all(member.columns == columns for member in members)
    return Predictions(columns=columns, scores_NK=np.mean([member.scores_NK for member in members], axis=0))


def write_checked_submission(path: Path, competition: Competition, predictions: Predictions) -> None:
    """Write a submission and hold it against the competition's own rules; raises SubmissionError rather than leave a faulty file unsaid."""
    frame = submission_frame(competition.problem, competition.sample, competition.test, predictions)
    write_submission(path, frame)
    report = check_submission(path, competition)
    if not report.valid:
        first = next(fault for fault in report.errors if fault.severity == "error")
        raise SubmissionError(
            str(path),
            rule=f"must follow the sample submission ({first.code}: {first.rule})",
            found=f"{first.place}: {first.value!r}" if first.place else repr(first.value),
            todo="The predictions are kept in test.parquet; correct the reading of the folder in matchfit.yaml.",
        )


def _out_of_fold(results: list[FoldResult]) -> tuple[Predictions, npt.NDArray[np.int64]]:
    """(predictions, positions) of all held-out items, in the order of the items."""
    held_out = [result for result in results if len(result.valid)]
    rows = np.concatenate([result.valid for result in held_out])
    scores_NK = np.concatenate([result.valid_predictions.scores_NK for result in held_out])
    order = np.argsort(rows, kind="stable")
    return Predictions(columns=held_out[0].valid_predictions.columns, scores_NK=scores_NK[order]), rows[order]


def _test_members(results: list[FoldResult], folds: Folds) -> list[FoldResult]:
    """Whose test predictions count: the fit on everything where there is one, else all folds."""
    everything = [result for result in results if result.index >= folds.num_folds]
    return everything or results


def _write_out_of_fold(
    competition: Competition, scored: Predictions, rows: npt.NDArray[np.int64], fold_N: npt.NDArray[np.int64], directory: Path
) -> None:
    problem, items = competition.problem, competition.train
    frame = oof_frame(items.ids[rows], problem.id_columns, fold_N, competition.target_table[rows], scored)
    write_atomically(directory / "oof.parquet", lambda file: frame.write_parquet(file))
    plain = for_people(frame, problem.id_columns)
    write_atomically(directory / "oof.csv", lambda file: plain.write_csv(file))


def for_people(frame: pl.DataFrame, id_columns: tuple[str, ...]) -> pl.DataFrame:
    """The table with the host's own names for ids and `target` for a single target; prefixes stay where names would clash."""
    targets = [name for name in frame.columns if name.startswith("target:")]
    names = {f"id:{name}": name for name in id_columns or ("row",) if name not in {"fold", "target"}}
    if len(targets) == 1:
        names[targets[0]] = "target"
    return frame.rename({old: new for old, new in names.items() if old in frame.columns})


def _write_test(competition: Competition, tested: Predictions, directory: Path) -> None:
    frame = oof_frame(competition.test.ids, competition.problem.id_columns, None, None, tested)
    write_atomically(directory / "test.parquet", lambda file: frame.write_parquet(file))


def _other_scores(plan: Plan, metric: Metric, targets: Targets, scored: Predictions) -> dict[str, Any]:
    """The usual metrics of this task beside the one that counts, on the same rows; an undefined one says why."""
    found: dict[str, Any] = {}
    for name in metrics_for(plan.problem):
        if name != metric.name:
            value = score(get_metric(name, plan.problem), targets, scored)
            found[name] = value.value if value.event is None else value.event
    return found
