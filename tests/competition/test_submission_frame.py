"""Predictions become the host's rows: ids matched, columns matched by name, numbers exact."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import submission_cases as cases

from matchfit.competition.problem import Competition, Items, Predictions
from matchfit.competition.submission import check_submission, submission_frame, write_submission
from matchfit.core.errors import SubmissionError

FORMS = [
    cases.labels,
    cases.probability,
    cases.class_scores,
    cases.values,
    cases.composite,
    cases.label_list,
    cases.ranked_list,
]


def predictions_for(competition: Competition) -> Predictions:
    columns = competition.problem.score_columns
    scores = cases.random_scores(len(competition.test), max(len(columns), 2))[:, : len(columns)]
    return Predictions(columns=columns, scores_NK=scores)


def frame_of(competition: Competition, predictions: Predictions) -> pl.DataFrame:
    return submission_frame(competition.problem, competition.sample, competition.test, predictions)


@pytest.mark.parametrize("make", FORMS)
def test_a_written_submission_is_valid(make: Callable[[], Competition], tmp_path: Path) -> None:
    competition = make()
    path = tmp_path / "submission.csv"
    write_submission(path, frame_of(competition, predictions_for(competition)))
    report = check_submission(path, competition)
    assert report.valid
    allowed = {"nan"} if competition.problem.submission_form == "label_list" else set()  # an item without any label
    assert {fault.code for fault in report.errors} <= allowed
    data = path.read_bytes()
    assert data.startswith(",".join(competition.problem.submission_columns).encode() + b"\n")
    assert b"\r" not in data


@pytest.mark.parametrize("make", FORMS)
def test_rows_follow_the_sample_and_belong_to_their_ids(make: Callable[[], Competition]) -> None:
    competition = make()
    predictions = predictions_for(competition)
    frame = frame_of(competition, predictions)
    assert competition.sample is not None
    ids = competition.problem.id_columns
    assert frame.select(ids).equals(competition.sample.select(ids))
    order = np.random.default_rng(3).permutation(len(competition.test))
    shuffled = submission_frame(competition.problem, competition.sample, competition.test.take(order), predictions.take(order))
    assert shuffled.equals(frame)


def test_numbers_read_back_as_the_same_bits(tmp_path: Path) -> None:
    competition = cases.values(metric="rmse")
    numbers = np.concatenate(
        [[0.1 + 0.2, 1e-300, 5e-324, 1e22, -0.0, 1 / 3, 123456789.12345679], np.random.default_rng(0).normal(0, 1e6, 23)]
    )
    write_submission(tmp_path / "s.csv", frame_of(competition, Predictions(columns=("count",), scores_NK=numbers[:, None])))
    lines = (tmp_path / "s.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert [float(line.split(",")[1]) for line in reversed(lines)] == numbers.tolist()
    assert not any(line.endswith("-0.0") for line in lines)


def test_class_columns_are_matched_by_name_and_rows_sum_to_one() -> None:
    competition = cases.class_scores()
    scores = np.tile([0.2, 0.1, 0.2], (30, 1))  # bird, cat, dog; sums to one half
    frame = frame_of(competition, Predictions(columns=("bird", "cat", "dog"), scores_NK=scores))
    assert frame.columns == ["id", "dog", "bird", "cat"]
    first = [float(value) for value in frame.row(0)[1:]]
    assert first == pytest.approx([0.4, 0.4, 0.2])
    turned = Predictions(columns=("dog", "cat", "bird"), scores_NK=scores * [1, 1, 0.5])
    assert [float(value) for value in frame_of(competition, turned).row(0)[1:]] == pytest.approx([0.5, 0.25, 0.25])


def test_multilabel_columns_are_not_rescaled() -> None:
    competition = cases.class_scores()
    problem = dataclasses.replace(competition.problem, task="multilabel")
    scores = np.tile([0.9, 0.8, 0.7], (30, 1))
    frame = submission_frame(problem, competition.sample, competition.test, Predictions(columns=problem.classes, scores_NK=scores))
    assert frame.row(0)[1:] == ("0.7", "0.9", "0.8")


def test_probability_is_that_of_the_second_class() -> None:
    competition = cases.probability()
    scores = np.stack([np.linspace(0, 1, 30), 1 - np.linspace(0, 1, 30)], axis=1)
    frame = frame_of(competition, Predictions(columns=("no", "yes"), scores_NK=scores))
    assert float(frame.row(0)[1]) == 0.0, "the sample's first row is the last test item, sure to be `no`"
    assert float(frame.row(29)[1]) == 1.0


def test_ordinal_levels_are_written_as_the_host_writes_them() -> None:
    competition = cases.competition_of(
        "label", "ordinal", {"id": ["a", "b"], "level": ["0", "0"]}, targets=("level",), classes=("0", "1", "2", "3")
    )
    scores = np.array([[0.0, 0.0, 0.4, 0.6], [0.5, 0.0, 0.0, 0.5]])  # expected level 2.6 for b, 1.5 for a
    frame = frame_of(competition, Predictions(columns=competition.problem.classes, scores_NK=scores))
    assert frame.rows() == [("a", "2"), ("b", "3")]


def test_lists_of_labels() -> None:
    scores = np.tile([0.1, 0.9, 0.6], (30, 1))
    assert frame_of(cases.label_list(), Predictions(columns=("a", "b", "c d"), scores_NK=scores)).row(0) == ("00000", "b,c d")
    ranks = np.tile([0.1, 0.4, 0.3, 0.2], (30, 1))
    assert frame_of(cases.ranked_list(), Predictions(columns=("a", "b", "c", "d"), scores_NK=ranks)).row(0) == ("00000", "b c d")


def test_without_a_sample_the_test_decides() -> None:
    competition = cases.competition_of("label", "multiclass", None, test={"id": ["z", "a"]}, classes=("x", "y"))
    scores = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert frame_of(competition, Predictions(columns=("x", "y"), scores_NK=scores)).rows() == [("z", "y"), ("a", "x")]


def test_repeated_ids_go_first_to_first() -> None:
    sample = {"id": ["b", "a", "b"], "x": ["0", "0", "0"]}
    competition = cases.competition_of("value", "regression", sample, targets=("x",), test={"id": ["b", "b", "a"]})
    frame = frame_of(competition, Predictions(columns=("x",), scores_NK=np.array([[1.5], [2.5], [3.5]])))
    assert frame.rows() == [("b", "1.5"), ("a", "3.5"), ("b", "2.5")]


def test_without_an_id_other_columns_are_copied(tmp_path: Path) -> None:
    sample = {"Insult": ["0", "0"], "Date": ["2012", ""], "Comment": ['"you, fool\\n"', "hi\nthere"]}
    competition = cases.competition_of(
        "probability",
        "binary",
        sample,
        ids=(),
        targets=("Insult",),
        predicted=("Insult",),
        classes=("0", "1"),
        test={"Comment": ["x", "y"]},
    )
    frame = frame_of(competition, Predictions(columns=("0", "1"), scores_NK=np.array([[0.75, 0.25], [0.5, 0.5]])))
    assert frame.rows() == [("0.25", "2012", '"you, fool\\n"'), ("0.5", "", "hi\nthere")]
    write_submission(tmp_path / "s.csv", frame)
    assert check_submission(tmp_path / "s.csv", competition).errors == ()
    assert (tmp_path / "s.csv").read_text(encoding="utf-8").endswith('0.5,,"hi\nthere"\n')


def test_renamed_targets_stand_in_their_order() -> None:
    competition = cases.competition_of(
        "values", "multiregression", {"id": ["a"], "predicted_u": ["0"], "predicted_v": ["0"]}, targets=("u", "v")
    )
    frame = frame_of(competition, Predictions(columns=("v", "u"), scores_NK=np.array([[2.0, 1.0]])))
    assert frame.rows() == [("a", "1.0", "2.0")]


def test_refusals() -> None:
    competition = cases.probability()
    good = predictions_for(competition)
    nan = good.scores_NK.copy()
    nan[4, 0] = np.nan
    with pytest.raises(SubmissionError, match="NaN or infinity for 1 items, the first '00025'"):
        frame_of(competition, dataclasses.replace(good, scores_NK=nan))
    with pytest.raises(SubmissionError, match="between 0 and 1"):
        frame_of(competition, dataclasses.replace(good, scores_NK=good.scores_NK * 3))
    with pytest.raises(SubmissionError, match="30 test items"):
        frame_of(competition, good.take(np.arange(29)))
    with pytest.raises(SubmissionError, match="zebra"):
        frame_of(competition, dataclasses.replace(good, columns=("no", "zebra")))
    fewer = Items(ids=competition.test.ids[:29], table=competition.test.table[:29])
    with pytest.raises(SubmissionError, match="none for 1 ids: '00000'"):
        submission_frame(competition.problem, competition.sample, fewer, good.take(np.arange(29)))
    boxes = dataclasses.replace(competition.problem, submission_form="other")
    with pytest.raises(SubmissionError, match="dense scores"):
        submission_frame(boxes, competition.sample, competition.test, good)
