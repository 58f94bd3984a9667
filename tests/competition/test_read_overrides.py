"""What the user decides is done or refused; what cannot be understood is told with the key that settles it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fruit import FRUIT, TEST, TRAIN, labels, numbers, read

from layout_tools import picture, put_all, write_table
from matchfit.competition.targets import encode_targets
from matchfit.core.errors import ConfigError, DataError


def simple(folder: Path) -> None:
    write_table(
        folder / "train.csv",
        ["id", "a", "b", "fruit"],
        [(n, *row, label) for n, (row, label) in enumerate(zip(numbers(1, TRAIN), labels(), strict=True))],
    )
    write_table(folder / "test.csv", ["id", "a", "b"], [(70 + n, *row) for n, row in enumerate(numbers(12, TEST))])
    write_table(folder / "sample_submission.csv", ["id", "fruit"], [(70 + n, "apple") for n in range(TEST)])


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"train_table": "trian.csv"}, "Did you mean 'train.csv'"),
        ({"test_table": "nothing.csv"}, "competition.test_table"),
        ({"sample_submission": "sample.csv"}, "competition.sample_submission"),
        ({"targets": ("friut",)}, "Did you mean 'fruit'"),
        ({"id": ("idd",)}, "Did you mean 'id'"),
        ({"drop_columns": ("c",)}, "competition.drop_columns"),
        ({"column_kinds": {"fruit": "text"}}, "a target"),
        ({"text_columns": ("aa",)}, "competition.text_columns"),
        ({"modality": "image"}, "competition.modality"),
        ({"task": "binary"}, "two classes, not 3"),
        ({"task": "regression"}, "numbers"),
        ({"classes": ("apple", "banana")}, "'cherry'"),
        ({"train_media": "pictures"}, "competition.train_media"),
        ({"metric": "acuracy"}, "accuracy"),
    ],
)
def test_an_override_without_effect_is_an_error(tmp_path: Path, config: dict[str, object], says: str) -> None:
    simple(tmp_path)
    with pytest.raises((DataError, ConfigError)) as caught:
        read(tmp_path, **config)
    assert says in str(caught.value)


def test_overrides_decide(tmp_path: Path) -> None:
    simple(tmp_path)
    found = read(
        tmp_path,
        name="fruit salad",
        drop_columns=("a",),
        column_kinds={"b": "category"},
        classes=("cherry", "banana", "apple"),
        metric="f1_macro",
    )
    problem = found.problem
    assert (problem.name, problem.classes, problem.metric.name, problem.metric.guessed) == (
        "fruit salad",
        ("cherry", "banana", "apple"),
        "f1_macro",
        False,
    )
    assert [(feature.name, feature.kind) for feature in problem.features] == [("b", "category")]
    assert encode_targets(problem, found.target_table).values[:3].tolist() == [2, 1, 0]


def test_a_metric_of_labels_turns_a_constant_sample_into_labels(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", ["id", "a", "b", "y"], [(n, *row, n % 2) for n, row in enumerate(numbers(14, TRAIN))])
    write_table(tmp_path / "test.csv", ["id", "a", "b"], [(70 + n, *row) for n, row in enumerate(numbers(15, TEST))])
    write_table(tmp_path / "sample_submission.csv", ["id", "y"], [(70 + n, 0) for n in range(TEST)])
    assert read(tmp_path).problem.submission_form == "probability"
    assert read(tmp_path, metric="accuracy").problem.submission_form == "label"


Maker = Callable[[Path], None]


def empty(folder: Path) -> None:
    (folder / "notes.md").write_text("nothing", encoding="utf-8")


def only_sample(folder: Path) -> None:
    write_table(folder / "sample_submission.csv", ["id", "y"], [(n, 0) for n in range(5)])


def header_only(folder: Path) -> None:
    simple(folder)
    write_table(folder / "train.csv", ["id", "a", "b", "fruit"], [])


def no_target(folder: Path) -> None:
    simple(folder)
    write_table(folder / "train.csv", ["id", "a", "b"], [(n, *row) for n, row in enumerate(numbers(1, TRAIN))])


def no_test(folder: Path) -> None:
    for name in FRUIT:
        put_all(folder / "train" / name, {f"{n}.jpg": picture((name, n)) for n in range(4)})


def unrelated(folder: Path) -> None:
    simple(folder)
    rows = [(n, *row, n % 3, n % 4, n / 7) for n, row in enumerate(numbers(1, TRAIN))]
    write_table(folder / "train.csv", ["id", "a", "b", "u", "v", "w"], rows)


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (empty, "competition.train_table"),
        (only_sample, "competition.train_table"),
        (header_only, "competition.train_table"),
        (no_target, "competition.targets"),
        (no_test, "competition.test_media"),
        (unrelated, "competition.targets"),
    ],
)
def test_the_error_names_the_key_that_settles_it(tmp_path: Path, make: Maker, key: str) -> None:
    make(tmp_path)
    with pytest.raises(DataError) as caught:
        read(tmp_path)
    assert key in str(caught.value)
    assert caught.value.found


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read(tmp_path / "nowhere")
