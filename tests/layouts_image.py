"""Image competitions as their hosts ship them, small: labels in tables, folders, file names and COCO files."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

from layout_tools import (
    Expected,
    array,
    asked,
    hex_ids,
    picture,
    put,
    put_all,
    spread,
    tar_all,
    write_json,
    write_table,
    zip_all,
)

TRAIN, TEST = 40, 12


def make_aerial_cactus(folder: Path) -> Expected:
    """Images only inside zips; ids with extension; a probability."""
    rng = random.Random(1)
    train, test = [f"{name}.jpg" for name in hex_ids("ct", TRAIN, 16)], [f"{name}.jpg" for name in hex_ids("cs", TEST, 16)]
    labels = spread(["0", "1", "1", "1"], TRAIN, rng)
    write_table(folder / "train.csv", ["id", "has_cactus"], zip(train, labels, strict=True))
    write_table(folder / "sample_submission.csv", ["id", "has_cactus"], [(name, 0.5) for name in test])
    zip_all(folder / "train.zip", {f"train/{name}": picture(name, size=(32, 32)) for name in train})
    zip_all(folder / "test.zip", {f"test/{name}": picture(name, size=(32, 32)) for name in test})
    return Expected(
        **asked(["id"], ["has_cactus"]), modality="image", task="binary", targets=("has_cactus",), classes=("0", "1"),
        form="probability", train=TRAIN, test=TEST, split="stratified", train_only=(), media=(TRAIN, TEST), train_ids=(train[0],),
    )  # fmt: skip


def make_aptos(folder: Path) -> Expected:
    """An ordinal target, ids without extension."""
    rng = random.Random(2)
    train, test = hex_ids("at", TRAIN), hex_ids("as", TEST)
    write_table(folder / "train.csv", ["id_code", "diagnosis"], zip(train, spread("00012234", TRAIN, rng), strict=True))
    write_table(folder / "test.csv", ["id_code"], [(name,) for name in test])
    write_table(folder / "sample_submission.csv", ["id_code", "diagnosis"], [(name, 0) for name in test])
    put_all(folder / "train_images", {f"{name}.png": picture(name, kind="png") for name in train})
    put_all(folder / "test_images", {f"{name}.png": picture(name, kind="png") for name in test})
    return Expected(
        **asked(["id_code"], ["diagnosis"]), modality="image", task="ordinal", targets=("diagnosis",), classes=tuple("01234"),
        form="label", train=TRAIN, test=TEST, split="stratified", train_only=(), media=(TRAIN, TEST),
    )  # fmt: skip


def make_dog_breed(folder: Path) -> Expected:
    """The train table is labels.csv; class columns in the order of the sample, which is not that of the alphabet."""
    rng = random.Random(3)
    breeds = ["whippet", "affenpinscher", "chow", "basset"]
    train, test = hex_ids("dt", TRAIN, 16), hex_ids("ds", TEST, 16)
    write_table(folder / "labels.csv", ["id", "breed"], zip(train, spread(breeds, TRAIN, rng), strict=True))
    write_table(folder / "sample_submission.csv", ["id", *breeds], [(name, *[1 / 4] * 4) for name in test])
    put_all(folder / "train", {f"{name}.jpg": picture(name) for name in train})
    put_all(folder / "test", {f"{name}.jpg": picture(name) for name in test})
    return Expected(
        **asked(["id"], breeds), modality="image", task="multiclass", targets=("breed",), classes=tuple(breeds),
        form="class_scores", train=TRAIN, test=TEST, split="stratified", media=(TRAIN, TEST),
    )  # fmt: skip


def make_dogs_vs_cats(folder: Path) -> Expected:
    """No table: the label stands in the file name; test files are numbers."""
    put_all(folder / "train", {f"{kind}.{number}.jpg": picture((kind, number)) for kind in ("cat", "dog") for number in range(20)})
    put_all(folder / "test", {f"{number}.jpg": picture(("test", number)) for number in range(1, TEST + 1)})
    write_table(folder / "sample_submission.csv", ["id", "label"], [(number, 0.5) for number in range(1, TEST + 1)])
    return Expected(
        **asked(["id"], ["label"]), modality="image", task="binary", targets=("label",), classes=("cat", "dog"),
        form="probability", train=40, test=TEST, split="stratified", media=(40, TEST), test_ids=("1", "12"),
    )  # fmt: skip


def make_paddy(folder: Path) -> Expected:
    """A table and class folders too; the sample's label column is empty; columns that test lacks."""
    rng = random.Random(4)
    labels = spread(["blast", "brown_spot", "normal", "tungro"], TRAIN, rng)
    train, test = [f"{100000 + n}.jpg" for n in range(TRAIN)], [f"{200000 + n}.jpg" for n in range(TEST)]
    rows = [(name, label, rng.choice(["ADT45", "Ponni"]), rng.randint(45, 75)) for name, label in zip(train, labels, strict=True)]
    write_table(folder / "train.csv", ["image_id", "label", "variety", "age"], rows)
    write_table(folder / "sample_submission.csv", ["image_id", "label"], [(name, "") for name in test])
    put_all(folder / "train_images", {f"{label}/{name}": picture(name) for name, label in zip(train, labels, strict=True)})
    put_all(folder / "test_images", {name: picture(name) for name in test})
    return Expected(
        **asked(["image_id"], ["label"]), modality="image", task="multiclass", targets=("label",),
        classes=("blast", "brown_spot", "normal", "tungro"), form="label", train=TRAIN, test=TEST, split="stratified",
        train_only=("variety", "age"), media=(TRAIN, TEST),
    )  # fmt: skip


def make_histopathologic(folder: Path) -> Expected:
    """train_labels.csv and .tif; a sample of zeros does not tell labels from probabilities."""
    rng = random.Random(5)
    train, test = hex_ids("ht", TRAIN, 16), hex_ids("hs", TEST, 16)
    write_table(folder / "train_labels.csv", ["id", "label"], zip(train, spread("001", TRAIN, rng), strict=True))
    write_table(folder / "sample_submission.csv", ["id", "label"], [(name, 0) for name in test])
    put_all(folder / "train", {f"{name}.tif": picture(name, kind="tif") for name in train})
    put_all(folder / "test", {f"{name}.tif": picture(name, kind="tif") for name in test})
    return Expected(
        **asked(["id"], ["label"]), modality="image", task="binary", targets=("label",), classes=("0", "1"),
        form=("label", "probability"), train=TRAIN, test=TEST, split="stratified", media=(TRAIN, TEST),
    )  # fmt: skip


def make_plant_pathology_2020(folder: Path) -> Expected:
    """One-hot columns where every row has exactly one 1: one label of four classes; train and test share images/."""
    rng = random.Random(6)
    classes = ["healthy", "multiple_diseases", "rust", "scab"]
    labels = spread(classes, TRAIN, rng)
    rows = [(f"Train_{n}", *[int(label == name) for name in classes]) for n, label in enumerate(labels)]
    write_table(folder / "train.csv", ["image_id", *classes], rows)
    write_table(folder / "test.csv", ["image_id"], [(f"Test_{n}",) for n in range(TEST)])
    write_table(folder / "sample_submission.csv", ["image_id", *classes], [(f"Test_{n}", *[0.25] * 4) for n in range(TEST)])
    put_all(folder / "images", {f"Train_{n}.jpg": picture(("train", n)) for n in range(TRAIN)})
    put_all(folder / "images", {f"Test_{n}.jpg": picture(("test", n)) for n in range(TEST)})
    return Expected(
        **asked(["image_id"], classes), modality="image", task="multiclass", targets=tuple(classes), classes=tuple(classes),
        form="class_scores", train=TRAIN, test=TEST, split="stratified", media=(TRAIN, TEST),
    )  # fmt: skip


def make_plant_pathology_2021(folder: Path) -> Expected:
    """Several names in one cell, separated by blanks; the sample shows a single one."""
    rng = random.Random(7)
    choices = ["healthy", "scab", "scab frog_eye_leaf_spot", "rust", "rust frog_eye_leaf_spot", "powdery_mildew complex"]
    train, test = [f"{name}.jpg" for name in hex_ids("pt", TRAIN)], [f"{name}.jpg" for name in hex_ids("ps", TEST)]
    write_table(folder / "train.csv", ["image", "labels"], zip(train, spread(choices, TRAIN, rng), strict=True))
    write_table(folder / "sample_submission.csv", ["image", "labels"], [(name, "healthy") for name in test])
    put_all(folder / "train_images", {name: picture(name) for name in train})
    put_all(folder / "test_images", {name: picture(name) for name in test})
    return Expected(
        **asked(["image"], ["labels"]), modality="image", task="multilabel", targets=("labels",),
        classes=("complex", "frog_eye_leaf_spot", "healthy", "powdery_mildew", "rust", "scab"), form="label_list", separator=" ",
        train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_ranzcr(folder: Path) -> Expected:
    """Binary columns with blanks and hyphens in their names, dotted ids, a patient column, a side table of annotations."""
    rng = random.Random(8)
    columns = ["ETT - Abnormal", "ETT - Normal", "NGT - Borderline", "CVC - Abnormal", "Swan Ganz Catheter Present"]
    train = [f"1.2.826.0.1.3680043.8.498.{hash_digits('rt', n)}" for n in range(TRAIN)]
    test = [f"1.2.826.0.1.3680043.8.498.{hash_digits('rs', n)}" for n in range(TEST)]
    patients = [hex_ids("patient", 14, 8)[n % 14] for n in range(TRAIN)]
    rows = [(name, *[rng.randint(0, 1) for _ in columns], patient) for name, patient in zip(train, patients, strict=True)]
    write_table(folder / "train.csv", ["StudyInstanceUID", *columns, "PatientID"], rows)
    notes = [(name, rng.choice(columns), "[[1487, 1279], [1477, 1168]]") for name in train[:10] for _ in range(2)]
    write_table(folder / "train_annotations.csv", ["StudyInstanceUID", "label", "data"], notes)
    write_table(folder / "sample_submission.csv", ["StudyInstanceUID", *columns], [(name, *[0] * 5) for name in test])
    put_all(folder / "train", {f"{name}.jpg": picture(name) for name in train})
    put_all(folder / "test", {f"{name}.jpg": picture(name) for name in test})
    return Expected(
        **asked(["StudyInstanceUID"], columns), modality="image", task="multilabel", targets=tuple(columns), classes=tuple(columns),
        form="class_scores", train=TRAIN, test=TEST, split=("group", "stratified_group"), by=("PatientID",), train_only=("PatientID",),
        media=(TRAIN, TEST), train_ids=(train[0],), test_ids=(test[0],),
    )  # fmt: skip


def hash_digits(prefix: str, number: int) -> str:
    return str(int(hex_ids(f"{prefix}{number}", 1, 12)[0], 16)).zfill(20)


def make_melanoma(folder: Path) -> Expected:
    """Leaking columns, patients, three copies of the images (jpeg, dcm, tfrecords)."""
    rng = random.Random(9)
    train, test = [f"ISIC_{n:07d}" for n in range(100, 160)], [f"ISIC_{n:07d}" for n in range(52, 64)]
    rows = []
    for n, name in enumerate(train):
        bad = n % 6 == 0
        row = (f"IP_{n % 20:07d}", rng.choice(["male", "female"]), rng.randrange(20, 80, 5), rng.choice(["torso", "head/neck"]))
        rows.append(
            (name, *row, "melanoma" if bad else rng.choice(["nevus", "unknown"]), "malignant" if bad else "benign", int(bad))
        )
    shared = ["image_name", "patient_id", "sex", "age_approx", "anatom_site_general_challenge"]
    write_table(folder / "train.csv", [*shared, "diagnosis", "benign_malignant", "target"], rows)
    write_table(folder / "test.csv", shared, [(name, f"IP_{90 + n // 3:07d}", "male", 55, "torso") for n, name in enumerate(test)])
    write_table(folder / "sample_submission.csv", ["image_name", "target"], [(name, 0) for name in test])
    for side, names in (("train", train), ("test", test)):
        put_all(folder / "jpeg" / side, {f"{name}.jpg": picture(name) for name in names})
        put_all(folder / side, {f"{name}.dcm": b"\0" * 128 + b"DICM" + name.encode() for name in names})
    put(folder / "tfrecords" / "train00-60.tfrec", b"\x10\0\0\0record")
    return Expected(
        **asked(["image_name"], ["target"]), modality="image", task="binary", targets=("target",), classes=("0", "1"),
        form=("label", "probability"), train=60, test=TEST, split=("group", "stratified_group"), by=("patient_id",),
        train_only=("diagnosis", "benign_malignant"), media=(60, TEST),
    )  # fmt: skip


def make_alaska2(folder: Path) -> Expected:
    """Class folders of other names than train and test, with the same file names in each; one probability for several classes."""
    for kind in ("Cover", "JMiPOD", "JUNIWARD", "UERD"):
        put_all(folder / kind, {f"{n:05d}.jpg": picture((kind, n)) for n in range(1, 13)})
    put_all(folder / "Test", {f"{n:04d}.jpg": picture(("Test", n)) for n in range(1, TEST + 1)})
    write_table(folder / "sample_submission.csv", ["Id", "Label"], [(f"{n:04d}.jpg", 0.5) for n in range(1, TEST + 1)])
    return Expected(
        **asked(["Id"], ["Label"]), modality="image", task=("binary", "multiclass"), targets=None, classes=None,
        form=None, train=48, test=TEST, media=(48, TEST), test_ids=("0001.jpg",),
    )  # fmt: skip


def make_whale(folder: Path) -> Expected:
    """`Id` is the target; five names in the order of belief; a class that stands for all others."""
    rng = random.Random(10)
    whales = [f"w_{name}" for name in hex_ids("w", 7, 7)]
    train, test = [f"{name}.jpg" for name in hex_ids("wt", TRAIN, 8)], [f"{name}.jpg" for name in hex_ids("ws", TEST, 8)]
    labels = spread(["new_whale", "new_whale", *whales], TRAIN, rng)
    write_table(folder / "train.csv", ["Image", "Id"], zip(train, labels, strict=True))
    guess = " ".join(["new_whale", *whales[:4]])
    write_table(folder / "sample_submission.csv", ["Image", "Id"], [(name, guess) for name in test])
    put_all(folder / "train", {name: picture(name) for name in train})
    put_all(folder / "test", {name: picture(name) for name in test})
    return Expected(
        **asked(["Image"], ["Id"]), modality="image", task=("multiclass", "ranking"), targets=("Id",),
        classes=tuple(sorted({"new_whale", *whales})), form="ranked_list", train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def _coco(images: list[dict[str, object]], labels: list[int] | None) -> dict[str, object]:
    """A COCO file for classification; `labels` None for a test file."""
    names = [{"id": number, "name": f"species {number}", "family": "Poaceae"} for number in (0, 2, 5, 11)]
    if labels is None:
        return {"info": {"year": 2021}, "images": images, "licenses": []}
    notes = [
        {"id": 900 + n, "image_id": image["id"], "category_id": label}
        for n, (image, label) in enumerate(zip(images, labels, strict=True))
    ]
    return {"info": {"year": 2021}, "images": images, "annotations": notes, "categories": names, "licenses": []}


def _coco_images(side: str, count: int, pattern: str) -> list[dict[str, object]]:
    start = 0 if side == "train" else 5000
    return [
        {"id": start + n, "file_name": pattern.format(side=side, n=start + n, a=n % 3), "width": 20, "height": 16}
        for n in range(count)
    ]


def make_herbarium_2021(folder: Path) -> Expected:
    """No csv but the sample: COCO metadata, nested image folders that are not the class."""
    rng = random.Random(11)
    labels = [int(label) for label in spread(["0", "2", "5", "11"], TRAIN, rng)]
    for side, count in (("train", TRAIN), ("test", TEST)):
        images = _coco_images(side, count, "images/00{a}/00/{n}.jpg")
        write_json(folder / side / "metadata.json", _coco(images, labels if side == "train" else None))
        put_all(folder / side, {str(image["file_name"]): picture((side, image["id"])) for image in images})
    write_table(folder / "sample_submission.csv", ["Id", "Predicted"], [(5000 + n, 0) for n in range(TEST)])
    return Expected(
        **asked(["Id"], ["Predicted"]), modality="image", task="multiclass", targets=("category_id",), classes=("0", "2", "5", "11"),
        form="label", train=TRAIN, test=TEST, split="stratified", media=(TRAIN, TEST), test_ids=("5000",),
    )  # fmt: skip


def make_herbarium_2022(folder: Path) -> Expected:
    """The same with other file names: train_metadata.json, and test_metadata.json that is a list of images."""
    rng = random.Random(12)
    labels = [int(label) for label in spread(["0", "2", "5", "11"], TRAIN, rng)]
    train, test = _coco_images("train", TRAIN, "00{a}/{n}.jpg"), _coco_images("test", TEST, "00{a}/test-{n}.jpg")
    for image in train + test:
        image["image_id"] = image.pop("id")
    notes = [
        {"genus_id": 1, "institution_id": 3, "category_id": label, "image_id": image["image_id"]}
        for image, label in zip(train, labels, strict=True)
    ]
    categories = [{"category_id": n, "scientificName": f"species {n}"} for n in (0, 2, 5, 11)]
    write_json(folder / "train_metadata.json", {"images": train, "annotations": notes, "categories": categories})
    write_json(folder / "test_metadata.json", test)
    put_all(folder / "train_images", {str(image["file_name"]): picture(("train", image["image_id"])) for image in train})
    put_all(folder / "test_images", {str(image["file_name"]): picture(("test", image["image_id"])) for image in test})
    write_table(folder / "sample_submission.csv", ["Id", "Predicted"], [(image["image_id"], 42) for image in test])
    return Expected(
        **asked(["Id"], ["Predicted"]), modality="image", task="multiclass", targets=("category_id",), classes=("0", "2", "5", "11"),
        form="label", train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_iwildcam(folder: Path) -> Expected:
    """COCO files of other names, ids of letters, camera locations; flat image folders."""
    rng = random.Random(13)
    labels = [int(label) for label in spread(["0", "2", "5", "11"], TRAIN, rng)]
    sides = {}
    for side, count in (("train", TRAIN), ("test", TEST)):
        names = hex_ids(f"i{side}", count)
        sides[side] = [
            {"id": name, "file_name": f"{name}.jpg", "location": n % 8 + (50 if side == "test" else 0), "seq_id": f"s{n}"}
            for n, name in enumerate(names)
        ]
        put_all(folder / side, {f"{name}.jpg": picture(name) for name in names})
    write_json(folder / "iwildcam2020_train_annotations.json", _coco(sides["train"], labels))
    test = {**_coco(sides["test"], None), "categories": _coco([], [])["categories"]}
    write_json(folder / "iwildcam2020_test_information.json", test)
    write_table(folder / "sample_submission.csv", ["Id", "Category"], [(image["id"], 0) for image in sides["test"]])
    return Expected(
        **asked(["Id"], ["Category"]), modality="image", task="multiclass", targets=("category_id",), classes=("0", "2", "5", "11"),
        form="label", train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_inaturalist(folder: Path) -> Expected:
    """COCO in three parts, images in tar.gz, a sample of an unusual name with up to five ids a cell."""
    rng = random.Random(14)
    packed: dict[str, bytes] = {}
    for part, count in (("train", 32), ("val", 8), ("test", TEST)):
        start = {"train": 0, "val": 1000, "test": 2000}[part]
        where = "test2019" if part == "test" else "train_val2019/Plants/1"
        images = [
            {"id": start + n, "file_name": f"{where}/{hex_ids(part, count)[n]}.jpg", "width": 20, "height": 16}
            for n in range(count)
        ]
        labels = [int(label) for label in spread(["0", "2", "5", "11"], count, rng)]
        write_json(folder / f"{part}2019.json", _coco(images, None if part == "test" else labels))
        packed |= {str(image["file_name"]): picture((part, image["id"])) for image in images}
    tar_all(folder / "train_val2019.tar.gz", {k: v for k, v in packed.items() if k.startswith("train")}, "w:gz")
    tar_all(folder / "test2019.tar.gz", {k: v for k, v in packed.items() if k.startswith("test")}, "w:gz")
    write_table(folder / "kaggle_sample_submission.csv", ["id", "predicted"], [(2000 + n, "0 2 5 11 0") for n in range(TEST)])
    return Expected(
        **asked(["id"], ["predicted"]), modality="image", task=("multiclass", "ranking"), targets=("category_id",),
        classes=("0", "2", "5", "11"), form=("ranked_list", "label"), train=None, test=TEST,
    )  # fmt: skip


def make_iceberg(folder: Path) -> Expected:
    """Images as lists of numbers in json inside 7z, beside a column with `na`."""
    import py7zr

    rng = random.Random(15)

    def record(n: int, side: str) -> dict[str, object]:
        bands = {band: [round(rng.uniform(-30, -5), 3) for _ in range(225)] for band in ("band_1", "band_2")}
        return {"id": hex_ids(side, n + 1, 8)[n], **bands, "inc_angle": "na" if n % 7 == 0 else round(rng.uniform(30, 45), 4)}

    train = [record(n, "train") | {"is_iceberg": n % 2} for n in range(24)]
    test = [record(n, "test") for n in range(TEST)]
    for name, records in (("train", train), ("test", test)):
        with py7zr.SevenZipFile(folder / f"{name}.json.7z", "w") as archive:
            archive.writef(io.BytesIO(json.dumps(records).encode()), f"data/processed/{name}.json")
    write_table(folder / "sample_submission.csv", ["id", "is_iceberg"], [(record["id"], 0.5) for record in test])
    return Expected(
        **asked(["id"], ["is_iceberg"]), modality=("image", "tabular"), task="binary", targets=("is_iceberg",), classes=("0", "1"),
        form="probability", train=24, test=TEST,
    )  # fmt: skip


def make_leaf(folder: Path) -> Expected:
    """Images and numeric columns at once; numeric ids shared by one image folder."""
    rng = random.Random(16)
    species = ["Acer_Opalus", "Pterocarya_Stenoptera", "Quercus_Hartwissiana", "Tilia_Tomentosa"]
    columns = [f"{kind}{n}" for kind in ("margin", "shape", "texture") for n in range(1, 5)]
    labels = dict(zip(range(1, TRAIN + 1), spread(species, TRAIN, rng), strict=True))
    test = range(TRAIN + 1, TRAIN + TEST + 1)
    rows = {n: [round(rng.random() / 50, 6) for _ in columns] for n in (*labels, *test)}
    write_table(folder / "train.csv", ["id", "species", *columns], [(n, label, *rows[n]) for n, label in labels.items()])
    write_table(folder / "test.csv", ["id", *columns], [(n, *rows[n]) for n in test])
    write_table(folder / "sample_submission.csv", ["id", *species], [(n, *[0.25] * 4) for n in test])
    put_all(folder / "images", {f"{n}.jpg": picture(n) for n in rows})
    return Expected(
        **asked(["id"], species), modality=("image", "tabular"), task="multiclass", targets=("species",), classes=tuple(species),
        form="class_scores", train=TRAIN, test=TEST, split="stratified",
    )  # fmt: skip


def make_denoising(folder: Path) -> Expected:
    """Pixel regression: a clean image for each dirty one, one line of the submission a pixel."""
    for side in ("train", "train_cleaned"):
        put_all(folder / side, {f"{n}.png": picture((side, n), kind="png") for n in range(1, 21)})
    put_all(folder / "test", {f"{n}.png": picture(("test", n), kind="png", size=(5, 4)) for n in range(101, 106)})
    cells = [(f"{n}_{row}_{column}", 1) for n in range(101, 106) for row in range(1, 5) for column in range(1, 6)]
    write_table(folder / "sampleSubmission.csv", ["id", "value"], cells)
    return Expected(
        **asked(["id"], ["value"]), modality=("image", "segmentation"), task=("other", "regression", "segmentation"),
        targets=None, classes=(),
        form=None, train=None, test=None,
    )  # fmt: skip


def make_molecular(folder: Path) -> Expected:
    """A long text as target, images in folders of their first letters."""
    rng = random.Random(17)
    train, test = hex_ids("bt", TRAIN), hex_ids("bs", TEST)
    inchi = [f"InChI=1S/C{rng.randint(5, 40)}H{rng.randint(5, 60)}N{n}O/c1-{n}-3(2)4-5" for n in range(TRAIN)]
    write_table(folder / "train_labels.csv", ["image_id", "InChI"], zip(train, inchi, strict=True))
    write_table(folder / "sample_submission.csv", ["image_id", "InChI"], [(name, "InChI=1S/H2O/h1H2") for name in test])
    for side, names in (("train", train), ("test", test)):
        put_all(folder / side, {f"{name[0]}/{name[1]}/{name[2]}/{name}.png": picture(name, kind="png") for name in names})
    return Expected(
        **asked(["image_id"], ["InChI"]), modality="image", task="other", targets=("InChI",), classes=(), form="other",
        train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_contrails(folder: Path) -> Expected:
    """A folder a record with arrays; masks as run lengths, `-` for none."""
    records = {side: [str(hash_digits(side, n)) for n in range(count)] for side, count in (("train", 20), ("test", TEST))}
    for side, names in records.items():
        for name in names:
            put(folder / side / name / "band_11.npy", array((4, 4), name))
            if side == "train":
                put(folder / side / name / "human_pixel_masks.npy", array((4, 4, 1), (name, "mask")))
        metadata = [
            {"record_id": name, "row_min": -1.5, "col_min": 2.25, "timestamp": 1556650800.0 + n} for n, name in enumerate(names)
        ]
        write_json(folder / f"{side}_metadata.json", metadata)
    write_table(folder / "sample_submission.csv", ["record_id", "encoded_pixels"], [(name, "1 1 5 1") for name in records["test"]])
    return Expected(
        **asked(["record_id"], ["encoded_pixels"]), modality="segmentation", task="segmentation", targets=None, classes=(),
        form="other", train=20, test=TEST, train_ids=(records["train"][0],),
    )  # fmt: skip


LAYOUTS = {name.removeprefix("make_"): make for name, make in list(globals().items()) if name.startswith("make_")}
