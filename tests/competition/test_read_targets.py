"""Targets become numbers by declared classes and come back as the same text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from matchfit.competition.config import CompetitionConfig
from matchfit.competition.features import column_kind, find_features
from matchfit.competition.problem import MetricChoice, Predictions, Problem
from matchfit.competition.targets import decode_labels, encode_targets, prior
from matchfit.competition.values import separator_of_lists
from matchfit.core.errors import DataError

PROBLEM = Problem(
    name="p", modality="tabular", task="multiclass", id_columns=("id",), targets=("y",), classes=("2", "10", "NA"), submission_columns=("id", "y"),
    prediction_columns=("y",), submission_form="label", metric=MetricChoice(name="accuracy", direction="maximize", guessed=True),
)  # fmt: skip


def table(**columns: list[str | None]) -> pl.DataFrame:
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def test_classes_keep_their_declared_order() -> None:
    targets = encode_targets(PROBLEM, table(y=["10", "2", "NA", "10"]))
    assert targets.values.tolist() == [1, 0, 2, 1]
    assert targets.values.dtype == np.int64
    assert prior(targets).tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize(
    ("cell", "says"), [(None, "must not be empty"), ("3", "must be one of the declared classes"), ("2 ", "declared")]
)
def test_a_cell_that_is_no_class_is_told_with_its_item(cell: str | None, says: str) -> None:
    with pytest.raises(DataError) as caught:
        encode_targets(PROBLEM, table(y=["10", cell]), pl.Series(["a", "b"]))
    assert says in str(caught.value)
    assert "'b'" in caught.value.name


def test_one_hot_columns_are_indices_and_votes_are_shares() -> None:
    several = replace(PROBLEM, targets=("u", "v"), classes=("u", "v"), submission_form="class_scores")
    assert encode_targets(several, table(u=["1", "0"], v=["0", "1"])).values.tolist() == [0, 1]
    votes = encode_targets(several, table(u=["3", "0"], v=["1", "2"])).values
    assert votes.tolist() == [[0.75, 0.25], [0.0, 1.0]]
    with pytest.raises(DataError, match="votes"):
        encode_targets(several, table(u=["0"], v=["0"]))


def test_label_lists_are_read_and_written() -> None:
    lists = replace(PROBLEM, task="multilabel", classes=("a", "b", "c"), submission_form="label_list", separator=",")
    targets = encode_targets(lists, table(y=["a,c", None, "b"]))
    assert targets.values.tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    scores = Predictions(columns=("a", "b", "c"), scores_NK=np.array([[0.9, 0.1, 0.6], [0.2, 0.3, 0.1]]))
    assert decode_labels(lists, scores).to_list() == ["a,c", ""]
    assert decode_labels(lists, scores, always_one=True).to_list() == ["a,c", "b"]


def test_labels_are_decoded_by_the_task() -> None:
    scores = Predictions(columns=PROBLEM.classes, scores_NK=np.array([[0.5, 0.0, 0.5], [0.1, 0.8, 0.1]]))
    assert decode_labels(PROBLEM, scores).to_list() == ["2", "10"]
    assert decode_labels(replace(PROBLEM, task="ordinal"), scores).to_list() == ["10", "10"]
    ranked = replace(PROBLEM, task="ranking", submission_form="ranked_list", list_length=2)
    assert decode_labels(ranked, scores).to_list() == ["2 NA", "10 2"]


def test_regression_targets_are_finite_numbers() -> None:
    numbers = replace(PROBLEM, task="regression", classes=(), submission_form="value")
    targets = encode_targets(numbers, table(y=["1.5", " 2 ", "-3e2"]))
    assert targets.values.tolist() == [[1.5], [2.0], [-300.0]]
    assert prior(targets).shape == (1,)
    for odd in ("x", "nan", "inf", None):
        with pytest.raises(DataError):
            encode_targets(numbers, table(y=["1", odd]))


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["scab", "scab rust", "rust", "healthy"], " "),
        (["Bark,Run", "Run", "Bark", "Meow,Run"], ","),
        (["a|b", "b|c", "a", "c"], "|"),
        (["golden retriever", "border collie", "border terrier"], None),
        (["the cat sat on the mat", "a dog ran to the park", "some words of no class"], None),
        (["New York", "Paris, France", "York"], None),
        (["1 5 9 2", "4 4 8 8", "100 3"], None),
        (["x", "y", "z"], None),
    ],
)
def test_lists_of_labels_are_told_from_names(cells: list[str], separator: str | None) -> None:
    assert separator_of_lists(pl.Series("label", cells * 3)) == separator


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("x", ["1", "2.5", "-3e4", "NA"] * 10, "number"),
        ("zip", ["01234", "00501", "90210"] * 10, "category"),
        ("userId", ["17", "4", "9"] * 10, "category"),
        ("row_id", [str(n * 3) for n in range(40)], "identifier"),
        ("timestamp", ["1447518030", "939716778"] * 10, "time"),
        ("when", ["2011-01-20 00:00:00", "2011-01-20 01:00:00"] * 10, "time"),
        ("day", ["3/14/2019", "4/1/2020"] * 10, "time"),
        ("day", ["28 December 2019", "3 May 2020"] * 10, "time"),
        ("posted", ["Dec 28, 2019 14:05", "May 3, 2020 01:00"] * 10, "time"),
        ("colour", ["red", "light blue"] * 10, "category"),
        ("same", ["a"] * 20, "constant"),
        ("note", [f"this is the free text number {n} of many" for n in range(40)], "text"),
        ("review", [f"ร้านนี้อร่อยมาก{n}" for n in range(40)], "text"),
        ("dna", [f"{'ACGT' * 6}{'ACGT'[n % 4]}{'CGTA'[n // 4 % 4]}{'TTAC'[n // 16 % 4]}" for n in range(40)], "text"),
        ("md5", [f"{n * 7919:032x}" for n in range(40)], "identifier"),
        ("empty", [None] * 20, "constant"),
    ],
)
def test_kinds_of_columns(name: str, cells: list[str | None], kind: str) -> None:
    column = pl.Series(name, cells, dtype=pl.String)
    assert column_kind(column, column)[0] == kind


def test_a_few_odd_cells_are_tolerated_and_said() -> None:
    column = pl.Series("x", [str(n) for n in range(2000)] + ["oops"])
    kind, note = column_kind(column, column)
    assert kind == "number"
    assert "1 cells such as 'oops'" in note
    more = pl.Series("x", [str(n) for n in range(2000)] + ["oops"] * 15)
    kind, note = column_kind(more, more)
    assert (kind, "no numbers" in note) == ("category", True)


def test_a_column_that_is_constant_in_train_alone_is_kept() -> None:
    features, _ = find_features(table(a=["1", "1"]), table(a=["1", "2"]), ["a"], frozenset(), CompetitionConfig())
    assert features[0].kind == "number"
