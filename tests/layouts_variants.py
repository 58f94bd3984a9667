"""Variants of the kinds above that a host may ship as well: other spellings, packings, encodings, and what is not there."""

from __future__ import annotations

import io
import json
import random
import tarfile
import zipfile
from pathlib import Path

import polars as pl

from layout_tools import (
    Expected,
    asked,
    hex_ids,
    picture,
    put,
    put_all,
    sentence,
    spread,
    table_text,
    tar_all,
    write_json,
    write_table,
    zip_all,
)

TRAIN, TEST = 40, 12
FRUIT = ("apple", "banana", "cherry")


def _labelled(seed: int, classes: tuple[str, ...] = FRUIT) -> list[tuple[str, str]]:
    """(file name, label) of the train images."""
    return [(f"{100 + n}.jpg", label) for n, label in enumerate(spread(classes, TRAIN, random.Random(seed)))]


def _put_images(folder: Path, names: list[str] | list[tuple[str, str]], key: str) -> None:
    put_all(folder, {name if isinstance(name, str) else name[0]: picture((key, name)) for name in names})


TEST_NAMES = [f"{500 + n}.jpg" for n in range(TEST)]
SAMPLE = table_text(["image", "fruit"], [(name, "apple") for name in TEST_NAMES])


def make_no_sample_images(folder: Path) -> Expected:
    """No sample submission: the one column that test.csv lacks is the target."""
    rows = _labelled(1)
    write_table(folder / "train.csv", ["image", "fruit"], rows)
    write_table(folder / "test.csv", ["image"], [(name,) for name in TEST_NAMES])
    _put_images(folder / "train", rows, "a")
    _put_images(folder / "test", TEST_NAMES, "b")
    return Expected(
        **asked(["image"], ["fruit"]), modality="image", task="multiclass", targets=("fruit",), classes=FRUIT, form="label",
        train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_no_sample_table(folder: Path) -> Expected:
    """No sample submission in a table competition."""
    rng = random.Random(2)
    row = lambda n: (n, rng.randint(1, 9), round(rng.random(), 4), rng.choice("xyz"))  # noqa: E731
    write_table(
        folder / "train.csv",
        ["id", "rooms", "area", "zone", "price"],
        [(*row(n), 1000 + 37.5 * rng.randint(1, 900)) for n in range(60)],
    )
    write_table(folder / "test.csv", ["id", "rooms", "area", "zone"], [row(60 + n) for n in range(TEST)])
    return Expected(
        **asked(["id"], ["price"]), modality="tabular", task="regression", targets=("price",), classes=(), form="value", train=60, test=TEST,
    )  # fmt: skip


def make_class_folders(folder: Path) -> Expected:
    """Class folders and a flat test folder, nothing else; names with blanks, numbers as text order."""
    classes = ("class 1", "class 10", "class 2")
    for name in classes:
        put_all(folder / "train" / name, {f"img_{n}.png": picture((name, n), kind="png") for n in range(12)})
    put_all(folder / "test", {f"img_{n}.png": picture(("test", n), kind="png") for n in range(TEST)})
    return Expected(
        id=None, modality="image", task="multiclass", targets=None, classes=None, form="label", train=36, test=TEST, media=(36, TEST),
    )  # fmt: skip


def make_class_folders_sample(folder: Path) -> Expected:
    """Class folders under a further level, a sample whose ids have no extension."""
    for name in FRUIT:
        put_all(folder / "dataset" / "train" / name, {f"{name[0]}{n:03d}.JPG": picture((name, n)) for n in range(12)})
    put_all(folder / "dataset" / "test", {f"t{n:03d}.JPG": picture(("test", n)) for n in range(TEST)})
    write_table(folder / "sample_submission.csv", ["id", "category"], [(f"t{n:03d}", "apple") for n in range(TEST)])
    return Expected(
        **asked(["id"], ["category"]), modality="image", task="multiclass", targets=None, classes=FRUIT, form="label",
        train=36, test=TEST, media=(36, TEST), test_ids=("t000",),
    )  # fmt: skip


def make_names_hold_labels(folder: Path) -> Expected:
    """Labels in file names of another pattern, in a zip; several classes."""
    zip_all(folder / "train.zip", {f"{name}_{n:04d}.png": picture((name, n), kind="png") for name in FRUIT for n in range(12)})
    zip_all(folder / "test.zip", {f"{n:04d}.png": picture(("test", n), kind="png") for n in range(TEST)})
    write_table(folder / "sampleSubmission.csv", ["Id", "Label"], [(f"{n:04d}.png", "banana") for n in range(TEST)])
    return Expected(
        **asked(["Id"], ["Label"]), modality="image", task="multiclass", targets=None, classes=FRUIT, form="label",
        train=36, test=TEST, media=(36, TEST), test_ids=("0000.png",),
    )  # fmt: skip


def make_sample_in_zip(folder: Path) -> Expected:
    """Everything that can be zipped is: tables one by one, images together."""
    rows = _labelled(3)
    zip_all(folder / "train.csv.zip", {"train.csv": table_text(["image", "fruit"], rows).encode(), "__MACOSX/._train.csv": b"\0\5"})
    zip_all(folder / "sample_submission.csv.zip", {"sample_submission.csv": SAMPLE.encode()})
    zip_all(folder / "train.zip", {name: picture(("a", name)) for name, _ in rows})
    zip_all(folder / "test.zip", {f"test/{name}": picture(("b", name)) for name in TEST_NAMES})
    return Expected(
        **asked(["image"], ["fruit"]), modality="image", task="multiclass", targets=("fruit",), classes=FRUIT, form="label",
        train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_nested_archives(folder: Path) -> Expected:
    """One archive that holds the others, as a download of `all data` gives."""
    rows = _labelled(4)
    images = {
        "train": {f"train/{name}": picture(("a", name)) for name, _ in rows},
        "test": {f"test/{name}": picture(("b", name)) for name in TEST_NAMES},
    }
    inner = {}
    for side, files in images.items():
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        inner[f"{side}.zip"] = sink.getvalue()
    tables = {"train.csv": table_text(["image", "fruit"], rows).encode(), "sample_submission.csv": SAMPLE.encode()}
    zip_all(folder / "all.zip", {**inner, **tables})
    return Expected(
        **asked(["image"], ["fruit"]), modality="image", task="multiclass", targets=("fruit",), classes=FRUIT, form="label",
        train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_whole_in_tar(folder: Path) -> Expected:
    """Tables and images in one tar.gz below a folder of another name."""
    rows = _labelled(5)
    files = {"fruit/train.csv": table_text(["image", "fruit"], rows).encode(), "fruit/sample_submission.csv": SAMPLE.encode()}
    files |= {f"fruit/train_images/{name}": picture(("a", name)) for name, _ in rows}
    files |= {f"fruit/test_images/{name}": picture(("b", name)) for name in TEST_NAMES}
    tar_all(folder / "data.tar.gz", files, "w:gz")
    return Expected(
        **asked(["image"], ["fruit"]), modality="image", task="multiclass", targets=("fruit",), classes=FRUIT, form="label",
        train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_seven_zip(folder: Path) -> Expected:
    """Images in 7z."""
    import py7zr

    rows = _labelled(6)
    folder.mkdir(parents=True, exist_ok=True)
    for side, names in (("train", [name for name, _ in rows]), ("test", TEST_NAMES)):
        with py7zr.SevenZipFile(folder / f"{side}.7z", "w") as archive:
            for name in names:
                archive.writef(io.BytesIO(picture((side, name))), f"{side}/{name}")
    write_table(folder / "trainLabels.csv", ["image", "fruit"], rows)
    put(folder / "sampleSubmission.csv", SAMPLE.encode())
    return Expected(
        **asked(["image"], ["fruit"]), modality="image", task="multiclass", targets=("fruit",), classes=FRUIT, form="label",
        train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_capitals(folder: Path) -> Expected:
    """Capital letters everywhere: files, extensions, columns."""
    rows = [(name.replace("jpg", "JPG"), label) for name, label in _labelled(7)]
    names = [name.replace("jpg", "JPG") for name in TEST_NAMES]
    write_table(folder / "TRAIN.CSV", ["IMAGE_ID", "LABEL"], rows)
    write_table(folder / "TEST.CSV", ["IMAGE_ID"], [(name,) for name in names])
    write_table(folder / "SAMPLE_SUBMISSION.CSV", ["IMAGE_ID", "LABEL"], [(name, "apple") for name in names])
    put_all(folder / "TRAIN_IMAGES", {name: picture(("a", name)) for name, _ in rows})
    put_all(folder / "TEST_IMAGES", {name: picture(("b", name)) for name in names})
    return Expected(
        **asked(["IMAGE_ID"], ["LABEL"]), modality="image", task="multiclass", targets=("LABEL",), classes=FRUIT, form="label",
        train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_age_regression(folder: Path) -> Expected:
    """A number for an image, no test table, a person behind several images."""
    rng = random.Random(8)
    people = {f"p{n:02d}": rng.uniform(18, 80) for n in range(10)}
    train, test = [f"face_{n:03d}" for n in range(TRAIN)], [f"face_{n:03d}" for n in range(300, 300 + TEST)]
    rows = [(name, f"p{n % 10:02d}", f"{people[f'p{n % 10:02d}'] + n // 10 / 2:.2f}") for n, name in enumerate(train)]
    write_table(folder / "train.csv", ["image_id", "person_id", "age"], rows)
    write_table(folder / "sample_submission.csv", ["image_id", "age"], [(name, 40.0) for name in test])
    put_all(folder / "train", {f"{name}.png": picture(name, kind="png") for name in train})
    put_all(folder / "test", {f"{name}.png": picture(name, kind="png") for name in test})
    return Expected(
        **asked(["image_id"], ["age"]), modality="image", task="regression", targets=("age",), classes=(), form="value",
        train=TRAIN, test=TEST, split="group", by=("person_id",), train_only=("person_id",), media=(TRAIN, TEST),
    )  # fmt: skip


def make_comma_labels(folder: Path) -> Expected:
    """Multi-labels separated by commas on both sides of an image competition."""
    rng = random.Random(9)
    names = ["beach", "city", "forest", "night"]
    rows = [(f"{n}.jpg", ",".join(sorted(rng.sample(names, 1 + n % 3)))) for n in range(TRAIN)]
    write_table(folder / "train.csv", ["file", "tags"], rows)
    write_table(folder / "sample_submission.csv", ["file", "tags"], [(name, "beach,city") for name in TEST_NAMES])
    _put_images(folder / "train", [name for name, _ in rows], "a")
    _put_images(folder / "test", TEST_NAMES, "b")
    return Expected(
        **asked(["file"], ["tags"]), modality="image", task="multilabel", targets=("tags",), classes=tuple(names), form="label_list", separator=",",
        train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_gbk_semicolons(folder: Path) -> Expected:
    """Chinese text in GBK, cells separated by semicolons, commas in the texts."""
    rng = random.Random(10)
    parts = ["今天天气很好,我们去公园", "这个产品质量太差了", "服务态度不错,推荐", "价格有点贵", "快递很慢,不满意", "味道好极了"]
    text = lambda n: f"{rng.choice(parts)}{rng.choice(parts)}{n}"  # noqa: E731
    rows = [(f"{n:05d}", text(n), label) for n, label in enumerate(spread(("正面", "负面"), TRAIN, rng))]
    tests = [(f"{900 + n:05d}", text(n)) for n in range(TEST)]
    write_table(folder / "train.csv", ["编号", "评论", "标签"], rows, delimiter=";", encoding="gbk")
    write_table(folder / "test.csv", ["编号", "评论"], tests, delimiter=";", encoding="gbk")
    write_table(
        folder / "sample_submission.csv", ["编号", "标签"], [(row[0], "正面") for row in tests], delimiter=";", encoding="gbk"
    )
    return Expected(
        **asked(["编号"], ["标签"]), modality="text", task="binary", targets=("标签",), classes=None, form="label", train=TRAIN, test=TEST,
        train_ids=("00000", "00001"), test_ids=("00900",),
    )  # fmt: skip


def make_wide_encodings(folder: Path) -> Expected:
    """UTF-16 with a mark, UTF-8 with a mark, Windows line ends."""
    rng = random.Random(11)
    rows = [
        (n, f"{sentence(rng)} Größe {n} → naïve", label)
        for n, label in enumerate(spread(("gut", "schlecht", "neutral"), TRAIN, rng))
    ]
    tests = [(TRAIN + n, f"{sentence(rng)} Öl {n}") for n in range(TEST)]
    write_table(folder / "train.csv", ["id", "text", "label"], rows, encoding="utf-16")
    put(folder / "test.csv", table_text(["id", "text"], tests).replace("\n", "\r\n").encode("utf-8-sig"))
    put(folder / "sample_submission.csv", table_text(["id", "label"], [(row[0], "gut") for row in tests]).encode("utf-8-sig"))
    return Expected(
        **asked(["id"], ["label"]), modality="text", task="multiclass", targets=("label",), classes=("gut", "neutral", "schlecht"), form="label",
        train=TRAIN, test=TEST,
    )  # fmt: skip


def make_odd_ids(folder: Path) -> Expected:
    """Ids that would not survive being numbers: leading zeros, exponents, `true`, `NA`, `null`; labels `NA` and `None`."""
    rng = random.Random(12)
    odd = ["00123", "1e5", "true", "NA", "null", "1.0", "1", "01", "None", "-0", "0x1F", "nan", "inf", "1_000", "007"]
    train = [*odd, *[f"{n:06d}" for n in range(TRAIN - len(odd))]]
    test = ["00123a", "2e5", "false", "N/A", "2.0", "2", "02", *[f"{900 + n:06d}" for n in range(5)]]
    row = lambda name: (name, rng.randint(0, 99), rng.choice(["NA", "null", "x"]))  # noqa: E731
    write_table(
        folder / "train.csv",
        ["id", "value", "kind", "label"],
        [(*row(name), y) for name, y in zip(train, spread(("NA", "None", "yes"), TRAIN, rng), strict=True)],
    )
    write_table(folder / "test.csv", ["id", "value", "kind"], [row(name) for name in test])
    write_table(folder / "sample_submission.csv", ["id", "label"], [(name, "NA") for name in test])
    return Expected(
        **asked(["id"], ["label"]), modality="tabular", task="multiclass", targets=("label",), classes=("NA", "None", "yes"), form="label",
        train=TRAIN, test=len(test), train_ids=("00123", "1e5", "true", "NA", "null", "1.0", "01", "-0"), test_ids=("00123a", "02"),
    )  # fmt: skip


def make_json_lines(folder: Path) -> Expected:
    """Texts as json lines, also gzipped, ids of 19 digits."""
    import gzip

    rng = random.Random(13)
    record = lambda n: {"id": 1234567890123456789 + n, "title": sentence(rng, low=3, high=5), "text": f"{sentence(rng)}\u2028{n}"}  # noqa: E731
    train = [record(n) | {"label": label} for n, label in enumerate(spread(("sport", "politics", "arts"), TRAIN, rng))]
    test = [record(1000 + n) for n in range(TEST)]
    put(folder / "train.jsonl", "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in train).encode())
    put(folder / "test.jsonl.gz", gzip.compress("".join(f"{json.dumps(line)}\n" for line in test).encode()))
    write_table(folder / "sample_submission.csv", ["id", "label"], [(line["id"], "sport") for line in test])
    return Expected(
        **asked(["id"], ["label"]), modality="text", task="multiclass", targets=("label",), classes=("arts", "politics", "sport"), form="label",
        train=TRAIN, test=TEST, train_ids=("1234567890123456789",), test_ids=("1234567890123457789",),
    )  # fmt: skip


def make_json_columns(folder: Path) -> Expected:
    """A table as pandas writes json: columns of rows by number; booleans as target."""
    rng = random.Random(14)

    def columns(start: int, count: int, target: bool) -> dict[str, dict[str, object]]:
        data: dict[str, list[object]] = {
            "id": [f"u{start + n}" for n in range(count)],
            "age": [rng.randint(18, 80) for _ in range(count)],
            "income": [round(rng.random(), 5) for _ in range(count)],
        }
        if target:
            data["bought"] = [n % 3 == 0 for n in range(count)]
        return {name: {str(n): value for n, value in enumerate(values)} for name, values in data.items()}

    write_json(folder / "train.json", columns(0, TRAIN, True))
    write_json(folder / "test.json", columns(500, TEST, False))
    write_table(folder / "sample_submission.csv", ["id", "bought"], [(f"u{500 + n}", "false") for n in range(TEST)])
    return Expected(
        **asked(["id"], ["bought"]), modality="tabular", task="binary", targets=("bought",), classes=("false", "true"), form="label",
        train=TRAIN, test=TEST,
    )  # fmt: skip


def make_parquet_tables(folder: Path) -> Expected:
    """Parquet with integer ids, numbers, booleans and a column of integers with gaps; a csv sample."""
    rng = random.Random(15)

    def frame(start: int, count: int) -> pl.DataFrame:
        gaps = [None if n % 5 == 0 else float(n) for n in range(count)]
        return pl.DataFrame(
            {
                "row_id": range(start, start + count),
                "x": [rng.random() for _ in range(count)],
                "k": gaps,
                "flag": [n % 2 == 0 for n in range(count)],
            }
        )

    folder.mkdir(parents=True, exist_ok=True)
    frame(0, 60).with_columns(y=pl.Series([rng.gauss(0, 9) for _ in range(60)])).write_parquet(folder / "train.parquet")
    frame(60, TEST).write_parquet(folder / "test.parquet")
    write_table(folder / "sample_submission.csv", ["row_id", "y"], [(60 + n, 0.0) for n in range(TEST)])
    return Expected(
        **asked(["row_id"], ["y"]), modality="tabular", task="regression", targets=("y",), classes=(), form="value", train=60, test=TEST,
        train_ids=("0", "59"), test_ids=("60",),
    )  # fmt: skip


def make_two_key_columns(folder: Path) -> Expected:
    """Store and date name an item; one number is asked for."""
    rng = random.Random(16)
    days = [f"2015-0{1 + n // 28}-{1 + n % 28:02d}" for n in range(40)]
    row = lambda store, day: (store, day, rng.randint(0, 1), rng.choice("abc"))  # noqa: E731
    train, test = [row(s, d) for s in range(1, 4) for d in days[:30]], [row(s, d) for s in range(1, 4) for d in days[30:]]
    write_table(
        folder / "train.csv",
        ["store", "date", "promo", "kind", "sales", "customers"],
        [(*r, rng.randint(100, 9999), rng.randint(10, 900)) for r in train],
    )
    write_table(folder / "test.csv", ["store", "date", "promo", "kind"], test)
    write_table(folder / "sample_submission.csv", ["store", "date", "sales"], [(*r[:2], 0) for r in test])
    return Expected(
        **asked(["store", "date"], ["sales"]), modality="tabular", task="regression", targets=("sales",), classes=(), form="value",
        train=90, test=30, split="time", train_only=("customers",),
    )  # fmt: skip


def make_no_id(folder: Path) -> Expected:
    """The submission is one column in the order of test.csv."""
    rng = random.Random(17)
    row = lambda: (round(rng.gauss(0, 1), 4), round(rng.gauss(0, 1), 4), rng.choice(["north", "south"]))  # noqa: E731
    write_table(folder / "train.csv", ["a", "b", "side", "y"], [(*row(), label) for label in spread(("0", "1"), 60, rng)])
    write_table(folder / "test.csv", ["a", "b", "side"], [row() for _ in range(TEST)])
    write_table(folder / "sample_submission.csv", ["y"], [(0.5,) for _ in range(TEST)])
    return Expected(
        **asked([], ["y"]), modality="tabular", task="binary", targets=("y",), classes=("0", "1"), form="probability", train=60, test=TEST,
    )  # fmt: skip


def make_renamed_target(folder: Path) -> Expected:
    """The target has another name in the submission; an order of levels behind it."""
    rng = random.Random(18)
    write_table(
        folder / "train.csv",
        ["essay_id", "essay", "grade"],
        [(n, sentence(rng), level) for n, level in enumerate(spread("12344", TRAIN, rng))],
    )
    write_table(folder / "test.csv", ["essay_id", "essay"], [(900 + n, sentence(rng)) for n in range(TEST)])
    write_table(folder / "sample_submission.csv", ["essay_id", "prediction"], [(900 + n, 2) for n in range(TEST)])
    return Expected(
        **asked(["essay_id"], ["prediction"]), modality="text", task="ordinal", targets=("grade",), classes=tuple("1234"), form="label",
        train=TRAIN, test=TEST,
    )  # fmt: skip


def make_hashed_folders(folder: Path) -> Expected:
    """Sub-folders that are parts of the id, not classes; ids are paths."""
    rng = random.Random(19)
    train = [f"{n % 4}/{name}.jpg" for n, name in enumerate(hex_ids("hf", TRAIN, 10))]
    test = [f"{n % 4}/{name}.jpg" for n, name in enumerate(hex_ids("hg", TEST, 10))]
    write_table(
        folder / "train.csv", ["path", "label"], zip([f"train/{name}" for name in train], spread(FRUIT, TRAIN, rng), strict=True)
    )
    write_table(folder / "sample_submission.csv", ["path", "label"], [(f"test/{name}", "apple") for name in test])
    put_all(folder / "train", {name: picture(name) for name in train})
    put_all(folder / "test", {name: picture(name) for name in test})
    return Expected(
        **asked(["path"], ["label"]), modality="image", task="multiclass", targets=("label",), classes=FRUIT, form="label",
        train=TRAIN, test=TEST, media=(TRAIN, TEST), test_ids=(f"test/{test[0]}",),
    )  # fmt: skip


def make_image_and_columns(folder: Path) -> Expected:
    """Images with columns that test has too; some files are missing; prose beside."""
    rng = random.Random(20)
    row = lambda n: (f"x{n:03d}", rng.randint(20, 80), rng.choice(["f", "m"]))  # noqa: E731
    train, test = [row(n) for n in range(TRAIN)], [row(700 + n) for n in range(TEST)]
    write_table(
        folder / "train.csv",
        ["id", "age", "sex", "disease"],
        [(*r, y) for r, y in zip(train, spread("01", TRAIN, rng), strict=True)],
    )
    write_table(folder / "test.csv", ["id", "age", "sex"], test)
    write_table(folder / "sample_submission.csv", ["id", "disease"], [(r[0], 0.5) for r in test])
    put_all(folder / "images", {f"{r[0]}.png": picture(r, kind="png") for r in [*train[2:], *test]})
    put(folder / "README.md", b"# The target column is called sex\n\nid,sex\n")
    put(folder / "description.txt", b"Submit a file with columns image,age.\n")
    return Expected(
        **asked(["id"], ["disease"]), modality="image", task="binary", targets=("disease",), classes=("0", "1"), form="probability",
        train=TRAIN, test=TEST, train_only=(), media=(TRAIN - 2, TEST),
    )  # fmt: skip


def make_top_three(folder: Path) -> Expected:
    """Three guesses an item in one cell, from a table."""
    rng = random.Random(21)
    names = ("accident", "fire", "medical", "police", "rescue")
    row = lambda n: (n, rng.randint(0, 23), rng.choice(["east", "west"]))  # noqa: E731
    write_table(
        folder / "train.csv", ["id", "hour", "zone", "Call Type"], [(*row(n), y) for n, y in enumerate(spread(names, 60, rng))]
    )
    write_table(folder / "test.csv", ["id", "hour", "zone"], [row(60 + n) for n in range(TEST)])
    write_table(folder / "sample_submission.csv", ["id", "Call Type"], [(60 + n, "fire police rescue") for n in range(TEST)])
    return Expected(
        **asked(["id"], ["Call Type"]), modality="tabular", task=("multiclass", "ranking"), targets=("Call Type",), classes=names,
        form="ranked_list", train=60, test=TEST,
    )  # fmt: skip


def make_links_and_junk(folder: Path) -> Expected:
    """Image folders are links; hidden files and thumbnails lie between; a tar without packing."""
    rows = _labelled(22)
    store = folder.parent / f"{folder.name}-store"
    _put_images(store, rows, "a")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train").symlink_to(store, target_is_directory=True)
    put_all(folder, {".DS_Store": b"x", "__MACOSX/train/._100.jpg": b"\0\5\x16", "Thumbs.db": b"x", ".git/config": b"x"})
    write_table(folder / "train.csv", ["image", "fruit"], rows)
    put(folder / "sample_submission.csv", SAMPLE.encode())
    with tarfile.open(folder / "test.tar", "w") as archive:
        for name in TEST_NAMES:
            info, content = tarfile.TarInfo(f"./test/{name}"), picture(("b", name))
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return Expected(
        **asked(["image"], ["fruit"]), modality="image", task="multiclass", targets=("fruit",), classes=FRUIT, form="label",
        train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


LAYOUTS = {name.removeprefix("make_"): make for name, make in list(globals().items()) if name.startswith("make_")}
