"""Folders that are unlike the well-known ones: other names, fewer files, one table for both parts, keys that have to be worked out."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fruit import FRUIT, TEST, TRAIN, labels, numbers, read, shape_of

from layout_tools import picture, put_all, sentence, write_table
from matchfit.competition.config import CompetitionConfig
from matchfit.competition.read import read_competition
from matchfit.competition.targets import encode_targets
from matchfit.core.errors import DataError


def test_no_sample_and_unusual_table_names(tmp_path: Path) -> None:
    write_table(
        tmp_path / "Training_Data.csv",
        ["a", "b", "Class"],
        [(*row, label) for row, label in zip(numbers(1, TRAIN), labels(), strict=True)],
    )
    write_table(tmp_path / "Testing_Data.csv", ["a", "b"], numbers(2, TEST))
    found = read(tmp_path)
    assert shape_of(found) == ("tabular", "multiclass", ("id",), ("Class",), TRAIN, TEST)
    assert "none in the folder" in found.notes["sample"]
    assert found.problem.submission_columns == ("id", "Class")


def test_one_table_with_a_marker_column(tmp_path: Path) -> None:
    rows = [
        (f"r{n}", *row, "train" if n < TRAIN else "test", labels(TRAIN + TEST)[n] if n < TRAIN else "")
        for n, row in enumerate(numbers(3, TRAIN + TEST))
    ]
    write_table(tmp_path / "data.csv", ["id", "a", "b", "split", "fruit"], rows)
    write_table(tmp_path / "sample_submission.csv", ["id", "fruit"], [(f"r{n}", "apple") for n in range(TRAIN, TRAIN + TEST)])
    found = read(tmp_path)
    assert shape_of(found) == ("tabular", "multiclass", ("id",), ("fruit",), TRAIN, TEST)


def test_one_table_whose_test_rows_are_those_of_the_sample(tmp_path: Path) -> None:
    rows = [(n, *row, n % 7 if n % 5 else "") for n, row in enumerate(numbers(4, 50))]
    write_table(tmp_path / "train.csv", ["id", "a", "b", "class"], rows)
    write_table(tmp_path / "sample_submission.csv", ["id", "class"], [(n, 0) for n in range(0, 50, 5)])
    found = read(tmp_path)
    assert shape_of(found) == ("tabular", "multiclass", ("id",), ("class",), 40, 10)
    assert encode_targets(found.problem, found.target_table).values.shape == (40,)


def test_file_suffixes_in_another_case(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", ["id", "fruit"], [(f"img{n}.jpg", label) for n, label in enumerate(labels())])
    write_table(tmp_path / "sample_submission.csv", ["id", "fruit"], [(f"img{n}.jpg", "apple") for n in range(100, 100 + TEST)])
    put_all(tmp_path / "train", {f"IMG{n}.JPG": picture(n) for n in range(TRAIN)})
    put_all(tmp_path / "test", {f"IMG{n}.JPG": picture(n) for n in range(100, 100 + TEST)})
    found = read(tmp_path)
    assert found.problem.modality == "image"
    assert found.train.media is not None
    assert found.train.media.null_count() == 0


def test_a_table_that_repeats_the_rows_of_train_is_not_added(tmp_path: Path) -> None:
    rows = [(n, *row, label) for n, (row, label) in enumerate(zip(numbers(5, TRAIN), labels(), strict=True))]
    write_table(tmp_path / "train.csv", ["id", "a", "b", "fruit"], rows)
    write_table(tmp_path / "train_small.csv", ["id", "a", "b", "fruit"], rows[:12])
    write_table(tmp_path / "test.csv", ["id", "a", "b"], [(100 + n, *row) for n, row in enumerate(numbers(6, TEST))])
    write_table(tmp_path / "sample_submission.csv", ["id", "fruit"], [(100 + n, "apple") for n in range(TEST)])
    assert len(read(tmp_path).train) == TRAIN


def test_values_and_labels_in_two_tables(tmp_path: Path) -> None:
    write_table(tmp_path / "train_values.csv", ["building_id", "a", "b"], [(n, *row) for n, row in enumerate(numbers(7, TRAIN))])
    write_table(tmp_path / "train_labels.csv", ["building_id", "damage_grade"], [(n, n % 3 + 1) for n in range(TRAIN)])
    write_table(
        tmp_path / "test_values.csv", ["building_id", "a", "b"], [(200 + n, *row) for n, row in enumerate(numbers(8, TEST))]
    )
    write_table(tmp_path / "SubmissionFormat.csv", ["building_id", "damage_grade"], [(200 + n, 1) for n in range(TEST)])
    found = read(tmp_path)
    assert shape_of(found) == ("tabular", "ordinal", ("building_id",), ("damage_grade",), TRAIN, TEST)
    assert found.problem.feature_names("number") == ("a", "b")


def test_the_id_stands_last_in_the_sample(tmp_path: Path) -> None:
    write_table(
        tmp_path / "train.csv",
        ["label", "text", "key"],
        [(label, sentence(random.Random(n)), f"k{n}") for n, label in enumerate(labels())],
    )
    write_table(tmp_path / "test.csv", ["text", "key"], [(sentence(random.Random(900 + n)), f"t{n}") for n in range(TEST)])
    write_table(tmp_path / "sample_submission.csv", ["label", "key"], [("apple", f"t{n}") for n in range(TEST)])
    found = read(tmp_path)
    assert shape_of(found) == ("text", "multiclass", ("key",), ("label",), TRAIN, TEST)
    assert found.problem.submission_columns == ("label", "key")


@pytest.mark.parametrize("place", ["", "0"])
def test_test_keeps_an_empty_place_for_the_target(tmp_path: Path, place: str) -> None:
    write_table(tmp_path / "train.csv", ["id", "a", "b", "y"], [(n, *row, n * 1.5) for n, row in enumerate(numbers(9, TRAIN))])
    write_table(tmp_path / "test.csv", ["id", "a", "b", "y"], [(70 + n, *row, place) for n, row in enumerate(numbers(10, TEST))])
    write_table(tmp_path / "sample_submission.csv", ["id", "y"], [(70 + n, 0) for n in range(TEST)])
    found = read(tmp_path)
    assert shape_of(found) == ("tabular", "regression", ("id",), ("y",), TRAIN, TEST)
    assert found.problem.feature_names("number", "constant") == ("a", "b")


def test_names_with_blanks_and_commas_are_no_lists(tmp_path: Path) -> None:
    cities = ["New York", "New Delhi", "Paris, France", "Paris, Texas", "York"]
    write_table(
        tmp_path / "train.csv", ["id", "a", "b", "city"], [(n, *row, cities[n % 5]) for n, row in enumerate(numbers(11, TRAIN))]
    )
    write_table(tmp_path / "test.csv", ["id", "a", "b"], [(70 + n, *row) for n, row in enumerate(numbers(12, TEST))])
    write_table(tmp_path / "sample_submission.csv", ["id", "city"], [(70 + n, "York") for n in range(TEST)])
    found = read(tmp_path)
    assert found.problem.task == "multiclass"
    assert found.problem.classes == tuple(sorted(cities))


def test_the_larger_of_two_sample_submissions_decides(tmp_path: Path) -> None:
    write_table(
        tmp_path / "train.csv",
        ["id", "a", "b", "fruit"],
        [(n, *row, label) for n, (row, label) in enumerate(zip(numbers(1, TRAIN), labels(), strict=True))],
    )
    write_table(tmp_path / "test.csv", ["id", "a", "b"], [(70 + n, *row) for n, row in enumerate(numbers(12, TEST))])
    write_table(tmp_path / "sample_submission_stage_1.csv", ["id", "fruit"], [(70 + n, "apple") for n in range(3)])
    write_table(tmp_path / "sample_submission_stage_2.csv", ["id", "fruit"], [(70 + n, "apple") for n in range(TEST)])
    found = read(tmp_path)
    assert found.sample is not None
    assert found.sample.height == len(found.test) == TEST


def test_images_named_in_another_column_than_the_id(tmp_path: Path) -> None:
    write_table(
        tmp_path / "train.csv", ["id", "img_path", "age"], [(n, f"images/train/{n * 7}.png", n % 60 + n / 10) for n in range(TRAIN)]
    )
    write_table(tmp_path / "test.csv", ["id", "img_path"], [(500 + n, f"images/test/{n * 7}.png") for n in range(TEST)])
    write_table(tmp_path / "sample_submission.csv", ["id", "age"], [(500 + n, 0.0) for n in range(TEST)])
    for side, count in (("train", TRAIN), ("test", TEST)):
        put_all(tmp_path / "images" / side, {f"{n * 7}.png": picture((side, n), kind="png") for n in range(count)})
    found = read(tmp_path)
    assert shape_of(found) == ("image", "regression", ("id",), ("age",), TRAIN, TEST)
    assert found.test.media is not None
    assert found.test.media[1] == "images/test/7.png"


def test_train_and_test_files_of_equal_names_without_a_test_table(tmp_path: Path) -> None:
    write_table(tmp_path / "trainLabels.csv", ["id", "label"], [(n + 1, label) for n, label in enumerate(labels())])
    write_table(tmp_path / "sampleSubmission.csv", ["id", "label"], [(n + 1, "apple") for n in range(TEST)])
    put_all(tmp_path / "train", {f"{n + 1}.png": picture(("a", n), kind="png") for n in range(TRAIN)})
    put_all(tmp_path / "test", {f"{n + 1}.png": picture(("b", n), kind="png") for n in range(TEST)})
    found = read(tmp_path)
    assert shape_of(found) == ("image", "multiclass", ("id",), ("label",), TRAIN, TEST)
    assert found.train.media is not None
    assert found.test.media is not None
    assert (found.train.media[0], found.test.media[0]) == ("train/1.png", "test/1.png")


def test_rows_of_test_counted_from_one(tmp_path: Path) -> None:
    """Digit recognizer: no id anywhere but in the sample, which counts; names differ in case."""
    write_table(
        tmp_path / "train.csv",
        ["label", *[f"pixel{n}" for n in range(6)]],
        [(n % 10, *[n * k % 255 for k in range(6)]) for n in range(TRAIN)],
    )
    write_table(tmp_path / "test.csv", [f"pixel{n}" for n in range(6)], [[n * k % 255 for k in range(6)] for n in range(TEST)])
    write_table(tmp_path / "sample_submission.csv", ["ImageId", "Label"], [(n + 1, 0) for n in range(TEST)])
    found = read(tmp_path)
    assert shape_of(found) == ("tabular", "multiclass", ("ImageId",), ("label",), TRAIN, TEST)
    assert found.test.ids.to_list() == [str(n + 1) for n in range(TEST)]
    assert found.problem.prediction_columns == ("Label",)


def test_titanic(tmp_path: Path) -> None:
    rng = random.Random(13)
    header = ["PassengerId", "Pclass", "Name", "Sex", "Age", "SibSp", "Parch", "Ticket", "Fare", "Cabin", "Embarked"]

    def row(n: int) -> list[object]:
        name = f"{rng.choice(['Braund', 'Allen', 'Heikkinen'])}{n}, Mr. {rng.choice(['Owen', 'William'])} Harris"
        return [
            n,
            rng.randint(1, 3),
            name,
            rng.choice(["male", "female"]),
            rng.choice(["", 22, 38.5]),
            1,
            n % 3,
            f"A/5 {21000 + n}",
            7.25 + n,
            "",
            rng.choice("SCQ"),
        ]

    write_table(
        tmp_path / "train.csv",
        ["PassengerId", "Survived", *header[1:]],
        [[r[0], n % 2, *r[1:]] for n, r in enumerate(map(row, range(1, 61)))],
    )
    write_table(tmp_path / "test.csv", header, [row(n) for n in range(892, 904)])
    write_table(tmp_path / "gender_submission.csv", ["PassengerId", "Survived"], [(n, n % 2) for n in range(892, 904)])
    found = read(tmp_path)
    assert shape_of(found) == ("tabular", "binary", ("PassengerId",), ("Survived",), 60, 12)
    assert (found.problem.submission_form, found.problem.metric.name, found.problem.metric.guessed) == ("label", "accuracy", True)


def test_a_class_that_train_lacks_is_declared_by_the_sample(tmp_path: Path) -> None:
    write_table(
        tmp_path / "train.csv",
        ["id", "text", "label"],
        [(n, sentence(random.Random(n)), label) for n, label in enumerate(labels())],
    )
    write_table(tmp_path / "test.csv", ["id", "text"], [(70 + n, sentence(random.Random(70 + n))) for n in range(TEST)])
    write_table(tmp_path / "sample_submission.csv", ["id", *FRUIT, "durian"], [(70 + n, *[0.25] * 4) for n in range(TEST)])
    found = read(tmp_path)
    assert found.problem.classes == (*FRUIT, "durian")
    assert found.problem.submission_form == "class_scores"


def test_test_files_below_a_folder_that_is_no_class(tmp_path: Path) -> None:
    for name in FRUIT:
        put_all(tmp_path / "train" / name, {f"{n}.jpg": picture((name, n)) for n in range(12)})
    put_all(tmp_path / "test" / "unknown", {f"t{n}.jpg": picture(n) for n in range(TEST)})
    found = read(tmp_path)
    assert shape_of(found) == ("image", "multiclass", ("id",), ("label",), 36, TEST)
    assert found.problem.classes == tuple(FRUIT)


def test_the_answer_is_a_side_table_that_is_never_read(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", ["id", "a", "b", "y"], [(n, *row, n % 2) for n, row in enumerate(numbers(14, TRAIN))])
    write_table(tmp_path / "test.csv", ["id", "a", "b"], [(70 + n, *row) for n, row in enumerate(numbers(15, TEST))])
    write_table(tmp_path / "test_labels.csv", ["id", "y"], [(70 + n, n % 2) for n in range(TEST)])
    write_table(tmp_path / "sample_submission.csv", ["id", "y"], [(70 + n, 0.5) for n in range(TEST)])
    (tmp_path / "data_description.txt").write_text("y: always 1\nid,y\n", encoding="utf-8")
    found = read(tmp_path)
    assert "y" not in found.test.table.columns
    assert len(found.train) == TRAIN


def simple(folder: Path) -> None:
    write_table(
        folder / "train.csv",
        ["id", "a", "b", "fruit"],
        [(n, *row, label) for n, (row, label) in enumerate(zip(numbers(1, TRAIN), labels(), strict=True))],
    )
    write_table(folder / "test.csv", ["id", "a", "b"], [(70 + n, *row) for n, row in enumerate(numbers(12, TEST))])
    write_table(folder / "sample_submission.csv", ["id", "fruit"], [(70 + n, "apple") for n in range(TEST)])


def test_shopping_lists(tmp_path: Path) -> None:
    """Purchases in train, a list of articles a customer asked: an item is a customer."""
    rng = random.Random(16)
    articles = [f"0{568601000 + n}" for n in range(12)]
    people = [f"{n:016x}" for n in range(1000, 1020)]
    rows = [(f"2020-09-{n % 28 + 1:02d}", rng.choice(people), rng.choice(articles), 0.05) for n in range(200)]
    write_table(tmp_path / "transactions_train.csv", ["t_dat", "customer_id", "article_id", "price"], rows)
    write_table(tmp_path / "customers.csv", ["customer_id", "age"], [(name, 20 + n) for n, name in enumerate(people)])
    write_table(tmp_path / "articles.csv", ["article_id", "product"], [(name, "shirt") for name in articles])
    write_table(
        tmp_path / "sample_submission.csv", ["customer_id", "prediction"], [(name, " ".join(articles[:4])) for name in people]
    )
    found = read(tmp_path)
    assert shape_of(found) == ("recommender", "ranking", ("customer_id",), ("article_id",), len({row[1] for row in rows}), 20)
    assert (found.problem.submission_form, found.problem.list_length, len(found.problem.classes)) == ("ranked_list", 4, 12)


def test_ids_of_train_have_another_name(tmp_path: Path) -> None:
    write_table(
        tmp_path / "train.tsv",
        ["train_id", "a", "b", "price"],
        [(n, *row, n / 3) for n, row in enumerate(numbers(1, TRAIN))],
        delimiter="\t",
    )
    write_table(tmp_path / "test.tsv", ["test_id", "a", "b"], [(n, *row) for n, row in enumerate(numbers(2, TEST))], delimiter="\t")
    write_table(tmp_path / "sample_submission.csv", ["test_id", "price"], [(n, 0) for n in range(TEST)])
    found = read(tmp_path)
    assert shape_of(found) == ("tabular", "regression", ("test_id",), ("price",), TRAIN, TEST)
    assert found.problem.feature_names("number") == ("a", "b")
    assert "train_id" not in found.train_only


def test_files_named_by_another_column_of_train(tmp_path: Path) -> None:
    write_table(tmp_path / "labels.csv", ["filename", "label"], [(f"{n}.png", label) for n, label in enumerate(labels())])
    write_table(tmp_path / "sample_submission.csv", ["id", "label"], [(f"t{n}", "apple") for n in range(TEST)])
    put_all(tmp_path / "train", {f"{n}.png": picture(n, kind="png") for n in range(TRAIN)})
    put_all(tmp_path / "test", {f"t{n}.png": picture(("t", n), kind="png") for n in range(TEST)})
    found = read(tmp_path)
    assert shape_of(found) == ("image", "multiclass", ("id",), ("label",), TRAIN, TEST)
    assert found.train.ids[3] == "3.png"


def test_several_files_an_item_and_numbers_as_labels(tmp_path: Path) -> None:
    rng = random.Random(17)
    rows = [(f"id-{n}", " ".join(map(str, sorted(rng.sample(range(6), rng.randint(1, 3)))))) for n in range(TRAIN)]
    write_table(tmp_path / "train.csv", ["Id", "Target"], rows)
    write_table(tmp_path / "sample_submission.csv", ["Id", "Predicted"], [(f"ts-{n}", "0") for n in range(TEST)])
    for colour in ("red", "green"):
        put_all(tmp_path / "train", {f"id-{n}_{colour}.png": picture((colour, n), kind="png") for n in range(TRAIN)})
        put_all(tmp_path / "test", {f"ts-{n}_{colour}.png": picture((colour, -n), kind="png") for n in range(TEST)})
    found = read(tmp_path)
    assert shape_of(found) == ("image", "multilabel", ("Id",), ("Target",), TRAIN, TEST)
    assert found.problem.classes == tuple("012345")
    assert found.train.media is not None
    assert found.train.media[0] == "train/id-0_green.png"


def test_numbers_and_padded_file_names(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", ["id", "label"], [(n, label) for n, label in enumerate(labels(), 1)])
    write_table(tmp_path / "sample_submission.csv", ["id", "label"], [(n, "apple") for n in range(60, 60 + TEST)])
    put_all(tmp_path / "train", {f"{n:05d}.png": picture(n, kind="png") for n in range(1, TRAIN + 1)})
    put_all(tmp_path / "test", {f"{n:05d}.png": picture(n, kind="png") for n in range(60, 60 + TEST)})
    found = read(tmp_path)
    assert found.problem.modality == "image"
    assert found.test.ids[0] == "60"


def test_a_text_file_an_item(tmp_path: Path) -> None:
    for label in ("pos", "neg"):
        put_all(tmp_path / "train" / label, {f"{n}.txt": sentence(random.Random(f"{label}{n}")).encode() for n in range(15)})
    put_all(tmp_path / "test", {f"{n}.txt": sentence(random.Random(900 + n)).encode() for n in range(TEST)})
    write_table(tmp_path / "sample_submission.csv", ["id", "sentiment"], [(n, 0.5) for n in range(TEST)])
    found = read(tmp_path)
    assert shape_of(found) == ("text", "binary", ("id",), ("label",), 30, TEST)
    assert found.problem.feature_names("text") == ("text",)
    assert found.test.table["text"].null_count() == 0


def test_boxes_beside_a_class_are_no_detection(tmp_path: Path) -> None:
    rows = [(f"{n}.png", label, 1, 2, 30, 40) for n, label in enumerate(labels())]
    write_table(tmp_path / "train.csv", ["file", "species", "x_min", "y_min", "x_max", "y_max"], rows)
    write_table(tmp_path / "sample_submission.csv", ["file", "prediction"], [(f"t{n}.png", "apple") for n in range(TEST)])
    put_all(tmp_path / "train", {f"{n}.png": picture(n, kind="png") for n in range(TRAIN)})
    put_all(tmp_path / "test", {f"t{n}.png": picture(("t", n), kind="png") for n in range(TEST)})
    assert shape_of(read(tmp_path)) == ("image", "multiclass", ("file",), ("species",), TRAIN, TEST)


def test_a_sample_without_rows(tmp_path: Path) -> None:
    """A code competition shows columns only: training is possible, and it is said that there is nothing to predict."""
    rows = [(f"case{n // 3}", organ, "1 5 9 3" if n % 2 else "") for n in range(30) for organ in ("liver", "stomach")]
    write_table(tmp_path / "train.csv", ["id", "class", "segmentation"], rows)
    write_table(tmp_path / "sample_submission.csv", ["id", "class", "predicted"], [])
    found = read(tmp_path)
    assert shape_of(found) == ("segmentation", "segmentation", ("id", "class"), ("segmentation",), 10, 0)
    assert "no_test_items" in [finding.code for finding in found.findings]


def test_a_broken_train_table_is_not_replaced_by_another(tmp_path: Path) -> None:
    simple(tmp_path)
    write_table(tmp_path / "train_groups.csv", ["id", "group"], [(n, n // 2) for n in range(TRAIN)])
    (tmp_path / "train.csv").rename(tmp_path / "train.parquet")
    with pytest.raises(DataError, match=r"train\.parquet"):
        read(tmp_path)


def test_ids_that_are_spelled_differently_in_test(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", ["id", "a", "b", "y"], [(n, *row, n / 2) for n, row in enumerate(numbers(1, TRAIN))])
    write_table(tmp_path / "test.csv", ["id", "a", "b"], [(f"{n:04d}.png", *row) for n, row in enumerate(numbers(2, TEST), 50)])
    write_table(tmp_path / "sample_submission.csv", ["id", "y"], [(n, 0.0) for n in range(50 + TEST - 1, 49, -1)])
    found = read(tmp_path)
    assert found.test.ids.to_list() == [str(n) for n in range(50 + TEST - 1, 49, -1)]
    assert found.test.table["a"].null_count() == 0
    assert found.test.table["id"][0] == "0059.png"


def test_whole_ratings_of_users_are_numbers(tmp_path: Path) -> None:
    rng = random.Random(18)
    rows = [(n, f"u{n % 9}", f"m{rng.randint(0, 12)}", rng.randint(1, 5)) for n in range(90)]
    write_table(tmp_path / "train.csv", ["id", "user_id", "movie_id", "rating"], rows)
    write_table(tmp_path / "test.csv", ["id", "user_id", "movie_id"], [(n, f"u{n % 9}", "m3") for n in range(100, 110)])
    write_table(tmp_path / "sample_submission.csv", ["id", "rating"], [(n, 3) for n in range(100, 110)])
    found = read(tmp_path)
    assert shape_of(found) == ("recommender", "regression", ("id",), ("rating",), 90, 10)
    assert found.problem.metric.name == "rmse"


@pytest.mark.parametrize(
    ("name", "sample", "task"),
    [
        ("rooms_count", 2, "regression"),
        ("target", 0, "regression"),
        ("class", 1, "multiclass"),
        ("stars", 3, "ordinal"),
        ("y", 1, "multiclass"),
    ],
)
def test_few_whole_numbers(tmp_path: Path, name: str, sample: int, task: str) -> None:
    write_table(tmp_path / "train.csv", ["id", "a", "b", name], [(n, *row, n % 5 + 1) for n, row in enumerate(numbers(1, TRAIN))])
    write_table(tmp_path / "test.csv", ["id", "a", "b"], [(n, *row) for n, row in enumerate(numbers(2, TEST), 50)])
    write_table(tmp_path / "sample_submission.csv", ["id", name], [(50 + n, sample) for n in range(TEST)])
    assert read(tmp_path).problem.task == task


def test_repeated_ids_are_told(tmp_path: Path) -> None:
    rows = [(max(n, 1), *row, label) for n, (row, label) in enumerate(zip(numbers(1, TRAIN), labels(), strict=True))]
    simple(tmp_path)
    write_table(tmp_path / "train.csv", ["id", "a", "b", "fruit"], rows)
    found = read(tmp_path)
    assert len(found.train) == TRAIN
    assert [(finding.code, finding.rows) for finding in found.findings] == [("repeated_ids", ("1",))]


def test_a_row_for_each_target_of_a_scan_without_a_test_table(tmp_path: Path) -> None:
    rng = random.Random(19)
    parts = ["overall", "C1", "C2"]
    write_table(
        tmp_path / "train.csv", ["StudyUID", *parts], [(f"1.2.{n}", *[rng.randint(0, 1) for _ in parts]) for n in range(100, 124)]
    )
    write_table(
        tmp_path / "sample_submission.csv",
        ["row_id", "fractured"],
        [(f"1.2.{n}_{part}", 0.5) for n in range(500, 508) for part in parts],
    )
    for side, ids in (("train", range(100, 124)), ("test", range(500, 508))):
        put_all(tmp_path / f"{side}_images", {f"1.2.{n}/{k}.png": picture((n, k), kind="png") for n in ids for k in (1, 2, 3)})
    found = read(tmp_path)
    assert shape_of(found) == ("image", "multilabel", ("row_id",), tuple(parts), 24, 8)
    assert found.train.media is not None
    assert found.train.media[0] == "train_images/1.2.100/2.png"


def test_a_table_in_each_folder(tmp_path: Path) -> None:
    for trip in ("monday", "tuesday", "friday"):
        write_table(
            tmp_path / "train" / trip / "truth.csv",
            ["millis", "a", "lat", "lng"],
            [(n, a, a * 2, n / 7) for n, (a, _) in enumerate(numbers(len(trip), 12))],
        )
    write_table(tmp_path / "sample_submission.csv", ["trip", "millis", "lat", "lng"], [("sunday", n, 0.0, 0.0) for n in range(8)])
    found = read(tmp_path)
    assert (found.problem.task, found.problem.targets, len(found.train), len(found.test)) == (
        "multiregression",
        ("lat", "lng"),
        36,
        8,
    )
    assert found.problem.id_columns == ("trip", "millis")


@pytest.mark.parametrize(
    ("columns", "targets", "task"),
    [
        (("casual", "target"), ("target",), "multiclass"),
        (("u", "v"), ("u", "v"), "multilabel"),
        (("label_a", "label_b"), ("label_a", "label_b"), "multilabel"),
    ],
)
def test_targets_without_a_sample(tmp_path: Path, columns: tuple[str, ...], targets: tuple[str, ...], task: str) -> None:
    def cells(n: int) -> list[object]:
        return [n * 1.5, "abc"[n % 3]] if "target" in columns else [n % 2, n // 2 % 2]

    write_table(
        tmp_path / "train.csv", ["id", "a", "b", *columns], [[n, *row, *cells(n)] for n, row in enumerate(numbers(1, TRAIN))]
    )
    write_table(tmp_path / "test.csv", ["id", "a", "b"], [(n, *row) for n, row in enumerate(numbers(2, TEST), 50)])
    problem = read(tmp_path).problem
    assert (problem.targets, problem.task, problem.submission_columns) == (targets, task, ("id", *targets))


def test_several_possible_targets_are_asked_about(tmp_path: Path) -> None:
    write_table(
        tmp_path / "train.csv", ["id", "a", "b", "u", "v"], [(n, *row, n / 3, n / 7) for n, row in enumerate(numbers(1, TRAIN))]
    )
    write_table(tmp_path / "test.csv", ["id", "a", "b"], [(n, *row) for n, row in enumerate(numbers(2, TEST), 50)])
    with pytest.raises(DataError, match=r"'u', 'v'.*competition\.targets"):
        read(tmp_path)
    found = read(tmp_path, targets=("v",))
    assert (found.problem.targets, found.train_only) == (("v",), ("u",))


def test_tables_beside_the_data_are_no_train_table(tmp_path: Path) -> None:
    for name in FRUIT:
        put_all(tmp_path / "train" / name, {f"{n}.jpg": picture((name, n)) for n in range(12)})
    put_all(tmp_path / "test", {f"t{n}.jpg": picture(n) for n in range(TEST)})
    write_table(tmp_path / "sample_submission.csv", ["file", "fruit"], [(f"t{n}.jpg", "apple") for n in range(TEST)])
    write_table(tmp_path / "data_dictionary.csv", ["column", "meaning"], [("file", "the picture"), ("fruit", "what it shows")])
    write_table(tmp_path / "notes" / "old_train.csv", ["file", "x"], [("1.jpg", 3)])
    assert shape_of(read(tmp_path)) == ("image", "multiclass", ("file",), ("label",), 36, TEST)


def test_items_without_an_answer_are_left_out_and_told(tmp_path: Path) -> None:
    rows = [[str(number), str(number % 5), "" if number in (3, 7) else str(number * 1.5)] for number in range(40)]
    header = ["id", "a", "y"]
    (tmp_path / "train.csv").write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n", encoding="utf-8")
    (tmp_path / "test.csv").write_text("id,a\n90,1\n91,2\n", encoding="utf-8")
    (tmp_path / "sample_submission.csv").write_text("id,y\n90,0\n91,0\n", encoding="utf-8")
    competition = read_competition(tmp_path, CompetitionConfig())
    assert len(competition.train) == len(competition.target_table) == 38
    finding = next(finding for finding in competition.findings if finding.code == "empty_targets")
    assert finding.rows == ("3", "7")


def test_tables_of_one_host_are_read_in_one_encoding(tmp_path: Path) -> None:
    """The few letters of train alone look like another encoding; the two other tables tell."""
    header, rows = "编号,长度,类", [f"{n},{n % 7},{'好坏'[n % 2]}" for n in range(40)]
    write = {
        "train": [header, *rows[:30]],
        "test": ["编号,长度", *(row.rsplit(",", 1)[0] for row in rows[30:])],
        "sample_submission": ["编号,类", *(f"{n},好" for n in range(30, 40))],
    }
    for name, lines in write.items():
        (tmp_path / f"{name}.csv").write_bytes(("\n".join(lines) + "\n").encode("gbk"))
    found = read(tmp_path)
    assert found.problem.classes == ("坏", "好")
    assert [feature.name for feature in found.problem.features] == ["长度"]


@pytest.mark.parametrize("word", ["NA", "nan", "inf"])
def test_a_word_for_missing_among_measured_numbers_is_no_class(tmp_path: Path, word: str) -> None:
    write_table(tmp_path / "train.csv", ["id", "a", "price"], [(n, n % 5, word if n == 3 else n * 1.37) for n in range(40)])
    write_table(tmp_path / "test.csv", ["id", "a"], [(90, 1), (91, 2)])
    write_table(tmp_path / "sample_submission.csv", ["id", "price"], [(90, 0.5), (91, 0.5)])
    found = read(tmp_path)
    assert found.problem.task == "regression"
    assert len(found.train) == 39
    assert next(finding for finding in found.findings if finding.code == "empty_targets").rows == ("3",)


def test_a_word_for_missing_among_few_whole_numbers_is_a_class(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", ["id", "a", "label"], [(n, n % 5, "NA" if n % 4 == 3 else n % 4) for n in range(40)])
    write_table(tmp_path / "test.csv", ["id", "a"], [(90, 1), (91, 2)])
    write_table(tmp_path / "sample_submission.csv", ["id", "label"], [(90, "NA"), (91, 2)])
    assert set(read(tmp_path).problem.classes) == {"0", "1", "2", "NA"}


def test_a_train_table_without_rows_is_named_so(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", ["id", "a", "y"], [])
    write_table(tmp_path / "test.csv", ["id", "a"], [(90, 1), (91, 2)])
    write_table(tmp_path / "sample_submission.csv", ["id", "y"], [(90, 0.5), (91, 0.5)])
    with pytest.raises(DataError, match=r"train\.csv \(no rows\)"):
        read(tmp_path)
