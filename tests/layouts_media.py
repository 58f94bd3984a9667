"""Detection, segmentation and audio competitions as their hosts ship them, small."""

from __future__ import annotations

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
    sound,
    spread,
    tar_all,
    write_json,
    write_table,
    zip_all,
)

TRAIN, TEST = 24, 8


def _boxes(rng: random.Random, count: int) -> list[tuple[int, int, int, int]]:
    """(x_min, y_min, x_max, y_max) inside an image of 20 x 16."""
    return [
        (x, y, x + rng.randint(2, 8), y + rng.randint(2, 6))
        for x, y in [(rng.randint(0, 11), rng.randint(0, 9)) for _ in range(count)]
    ]


def make_chest_xray(folder: Path) -> Expected:
    """A row a box, several readers, `No finding` without a box; the images are DICOM files."""
    rng = random.Random(71)
    train, test = hex_ids("vt", TRAIN, 16), hex_ids("vs", TEST, 16)
    names = {0: "Aortic enlargement", 3: "Cardiomegaly", 11: "Pleural thickening"}
    rows: list[tuple[object, ...]] = []
    for n, name in enumerate(train):
        if n % 3 == 0:
            rows += [(name, "No finding", 14, f"R{reader}", "", "", "", "") for reader in (1, 8, 9)]
        else:
            rows += [
                (name, names[kind], kind, f"R{8 + k}", *box)
                for k, (kind, box) in enumerate(zip((0, 3, 11), _boxes(rng, 1 + n % 3), strict=False))
            ]
    write_table(folder / "train.csv", ["image_id", "class_name", "class_id", "rad_id", "x_min", "y_min", "x_max", "y_max"], rows)
    write_table(folder / "sample_submission.csv", ["image_id", "PredictionString"], [(name, "14 1 0 0 1 1") for name in test])
    for side, ids in (("train", train), ("test", test)):
        put_all(folder / side, {f"{name}.dicom": b"\0" * 128 + b"DICM" + name.encode() for name in ids})
    return Expected(
        **asked(["image_id"], ["PredictionString"]), modality="detection", task="detection", targets=None, classes=None, form="other",
        train=TRAIN, test=TEST, train_ids=(train[0],),
    )  # fmt: skip


def make_blood_cells(folder: Path) -> Expected:
    """bccd-detection in kind: a row a box with names, sizes in test.csv, the same boxes in further formats."""
    rng = random.Random(72)
    names = {0: "Platelets", 1: "RBC", 2: "WBC"}
    train, test = [f"BloodImage_{n:05d}" for n in range(TRAIN)], [f"BloodImage_{n:05d}" for n in range(100, 100 + TEST)]
    rows = []
    for name in train:
        for box in _boxes(rng, rng.randint(1, 5)):
            kind = rng.randrange(3)
            rows.append((name, names[kind], kind, *box, 20, 16))
    write_table(
        folder / "train.csv", ["image_id", "class_name", "class_id", "x_min", "y_min", "x_max", "y_max", "width", "height"], rows
    )
    write_table(folder / "test.csv", ["image_id", "width", "height"], [(name, 20, 16) for name in test])
    write_table(folder / "classes.csv", ["class_id", "class_name"], names.items())
    write_table(folder / "sample_submission.csv", ["image_id", "PredictionString"], [(name, "1 1.0 0 0 1 1") for name in test])
    for side, ids in (("train", train), ("test", test)):
        put_all(folder / side, {f"{name}.jpg": picture(name) for name in ids})
    put_all(folder / "formats" / "yolo", {f"{name}.txt": b"1 0.5 0.5 0.25 0.25\n" for name in train})
    put_all(
        folder / "formats" / "voc", {f"{name}.xml": b"<annotation><object><name>RBC</name></object></annotation>" for name in train}
    )
    return Expected(
        **asked(["image_id"], ["PredictionString"]), modality="detection", task="detection", targets=None, classes=("Platelets", "RBC", "WBC"),
        form="other", train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_wheat(folder: Path) -> Expected:
    """One class, a box as a list in one cell, images without boxes are in no table."""
    rng = random.Random(73)
    train, test = hex_ids("wt", TRAIN, 9), hex_ids("ws", TEST, 9)
    sources = ["usask_1", "arvalis_1", "ethz_1"]
    rows = []
    for n, name in enumerate(train[:-2]):
        for x, y, right, bottom in _boxes(rng, rng.randint(1, 4)):
            rows.append((name, 20, 16, f"[{x}.0, {y}.0, {right - x}.0, {bottom - y}.0]", sources[n % 3]))
    write_table(folder / "train.csv", ["image_id", "width", "height", "bbox", "source"], rows)
    write_table(folder / "sample_submission.csv", ["image_id", "PredictionString"], [(name, "1.0 0 0 50 50") for name in test])
    for side, ids in (("train", train), ("test", test)):
        put_all(folder / side, {f"{name}.jpg": picture(name) for name in ids})
    return Expected(
        **asked(["image_id"], ["PredictionString"]), modality="detection", task="detection", targets=None, classes=None, form="other",
        train=None, test=TEST,
    )  # fmt: skip


def make_coco_detection(folder: Path) -> Expected:
    """Boxes in a COCO file; the sample is the only csv."""
    rng = random.Random(74)
    images = {side: [{"id": start + n, "file_name": f"{side}/{start + n:06d}.jpg", "width": 20, "height": 16} for n in range(count)]
              for side, start, count in (("train", 1, TRAIN), ("test", 500, TEST))}  # fmt: skip
    notes = []
    for image in images["train"]:
        for x, y, right, bottom in _boxes(rng, rng.randint(1, 3)):
            note = {
                "id": len(notes) + 1,
                "image_id": image["id"],
                "category_id": rng.randint(1, 2),
                "bbox": [x, y, right - x, bottom - y],
            }
            notes.append(note | {"area": (right - x) * (bottom - y), "iscrowd": 0})
    categories = [{"id": 1, "name": "ship"}, {"id": 2, "name": "buoy"}]
    write_json(folder / "annotations" / "train.json", {"images": images["train"], "annotations": notes, "categories": categories})
    write_json(folder / "annotations" / "test.json", {"images": images["test"], "categories": categories})
    for side in images:
        put_all(folder, {str(image["file_name"]): picture((side, image["id"])) for image in images[side]})
    write_table(folder / "sample_submission.csv", ["image_id", "PredictionString"], [(image["id"], "") for image in images["test"]])
    return Expected(
        **asked(["image_id"], ["PredictionString"]), modality="detection", task="detection", targets=None, classes=None, form="other",
        train=TRAIN, test=TEST, test_ids=("500",),
    )  # fmt: skip


def make_lidar(folder: Path) -> Expected:
    """Boxes in space as one cell of text on both sides, confidence only in the submission; json tables beside."""
    rng = random.Random(75)
    train, test = hex_ids("lt", TRAIN, 32), hex_ids("ls", TEST, 32)

    def box(*lead: object) -> str:
        return " ".join([*map(str, lead), *[f"{rng.uniform(-900, 900):.4f}" for _ in range(7)], rng.choice(["car", "pedestrian"])])

    write_table(
        folder / "train.csv",
        ["Id", "PredictionString"],
        [(name, " ".join(box() for _ in range(rng.randint(1, 3)))) for name in train],
    )
    write_table(folder / "sample_submission.csv", ["Id", "PredictionString"], [(name, box(1.0)) for name in test])
    for side in ("train", "test"):
        write_json(folder / f"{side}_data" / "scene.json", [{"token": "a1", "name": "scene-1", "nbr_samples": 126}])
        write_json(folder / f"{side}_data" / "sensor.json", [{"token": "b2", "modality": "lidar", "channel": "LIDAR_TOP"}])
        for name in train if side == "train" else test:
            put(folder / f"{side}_lidar" / f"{name}.bin", b"\1\2\3\4" * 5)
    return Expected(
        **asked(["Id"], ["PredictionString"]), modality="detection", task="detection", targets=("PredictionString",), classes=None,
        form="other", train=TRAIN, test=TEST,
    )  # fmt: skip


def make_cervical_spine(folder: Path) -> Expected:
    """Wide in train, long in the submission: a row for each target of each study; slices in a folder a study."""
    rng = random.Random(76)
    columns = ["patient_overall", *[f"C{n}" for n in range(1, 8)]]
    train, test = (
        [f"1.2.826.0.1.3680043.{n + 1000}" for n in range(TRAIN)],
        [f"1.2.826.0.1.3680043.{n + 5000}" for n in range(TEST)],
    )
    write_table(
        folder / "train.csv", ["StudyInstanceUID", *columns], [(name, *[rng.randint(0, 1) for _ in columns]) for name in train]
    )
    write_table(
        folder / "train_bounding_boxes.csv",
        ["StudyInstanceUID", "x", "y", "width", "height", "slice_number"],
        [(name, 219.3, 216.7, 17.3, 43.6, 133) for name in train[:5]],
    )
    rows = [(f"{name}_{column}", name, column) for name in test for column in columns]
    write_table(folder / "test.csv", ["row_id", "StudyInstanceUID", "prediction_type"], rows)
    write_table(folder / "sample_submission.csv", ["row_id", "fractured"], [(row[0], 0.5) for row in rows])
    for side, ids in (("train", train), ("test", test)):
        put_all(folder / f"{side}_images", {f"{name}/{n}.dcm": b"\0" * 128 + b"DICM" for name in ids for n in (1, 2)})
    return Expected(
        **asked(["row_id"], ["fractured"]), modality=("image", "segmentation", "detection"), task=("multilabel", "binary", "other"),
        targets=None, classes=None,
        form=None, train=TRAIN, test=None,
    )  # fmt: skip


def make_gi_tract(folder: Path) -> Expected:
    """Three rows an image; run lengths or nothing; the target is renamed; size and spacing in the file name."""
    rng = random.Random(77)
    organs = ["large_bowel", "small_bowel", "stomach"]
    train, test = (
        [f"case{n // 6 + 1}_day{n // 3 % 2}_slice_{n % 3 + 1:04d}" for n in range(TRAIN)],
        [f"case{90 + n // 3}_day0_slice_{n % 3 + 1:04d}" for n in range(TEST)],
    )
    rows = [
        (name, organ, f"{rng.randint(1, 90)} 5 {rng.randint(100, 200)} 7" if rng.random() < 0.5 else "")
        for name in train
        for organ in organs
    ]
    write_table(folder / "train.csv", ["id", "class", "segmentation"], rows)
    write_table(folder / "test.csv", ["id", "class"], [(name, organ) for name in test for organ in organs])
    write_table(
        folder / "sample_submission.csv",
        ["id", "class", "predicted"],
        [(name, organ, "1 1 5 1") for name in test for organ in organs],
    )
    for side, ids in (("train", train), ("test", test)):
        for name in ids:
            case, day, _, number = name.split("_")
            put(folder / side / case / f"{case}_{day}" / "scans" / f"slice_{number}_20_16_1.50_1.50.png", picture(name, kind="png"))
    return Expected(
        **asked(["id", "class"], ["predicted"]), modality="segmentation", task="segmentation", targets=("segmentation",),
        classes=None, form="other", train=TRAIN, test=TEST,
    )  # fmt: skip


def make_kidney(folder: Path) -> Expected:
    """Long run lengths, a renamed target, tiff files and a table of further facts."""
    rng = random.Random(78)
    train, test = hex_ids("kt", 15, 9), hex_ids("ks", 5, 9)
    masks = [" ".join(f"{start} {rng.randint(1, 4)}" for start in range(3, 300, 17 + n)) for n in range(15)]
    write_table(folder / "train.csv", ["id", "encoding"], zip(train, masks, strict=True))
    facts = [(f"{name}.tiff", 20, 16, f"patient{n % 6}", "FFPE") for n, name in enumerate(train)]
    write_table(
        folder / "HuBMAP-20-dataset_information.csv",
        ["image_file", "width_pixels", "height_pixels", "patient_number", "race"],
        facts,
    )
    write_table(folder / "sample_submission.csv", ["id", "predicted"], [(name, "") for name in test])
    put_all(folder / "train", {f"{name}.tiff": picture(name, kind="tiff") for name in train})
    put_all(folder / "test", {f"{name}.tiff": picture(name, kind="tiff") for name in test})
    return Expected(
        **asked(["id"], ["predicted"]), modality="segmentation", task="segmentation", targets=("encoding",), classes=None, form="other",
        train=15, test=5, media=(15, 5),
    )  # fmt: skip


def make_salt(folder: Path) -> Expected:
    """Run lengths for some images, empty cells for the others; masks as images too."""
    rng = random.Random(79)
    train, test = hex_ids("st", TRAIN, 10), hex_ids("ss", TEST, 10)
    write_table(
        folder / "train.csv",
        ["id", "rle_mask"],
        [(name, "" if n % 3 else f"{rng.randint(1, 50)} 9 {rng.randint(80, 120)} 12") for n, name in enumerate(train)],
    )
    write_table(folder / "depths.csv", ["id", "z"], [(name, rng.randint(50, 900)) for name in train + test])
    write_table(folder / "sample_submission.csv", ["id", "rle_mask"], [(name, "1 1") for name in test])
    zip_all(
        folder / "train.zip",
        {f"{kind}/{name}.png": picture((kind, name), kind="png") for kind in ("images", "masks") for name in train},
    )
    zip_all(folder / "test.zip", {f"images/{name}.png": picture(name, kind="png") for name in test})
    return Expected(
        **asked(["id"], ["rle_mask"]), modality="segmentation", task="segmentation", targets=("rle_mask",), classes=None, form="other",
        train=TRAIN, test=TEST, media=(TRAIN, TEST),
    )  # fmt: skip


def make_freesound(folder: Path) -> Expected:
    """Several labels separated by commas inside a quoted cell; two train tables and archives; odd class names."""
    rng = random.Random(81)
    classes = ["Bark", "Zipper_(clothing)", "Run", "Male_speech_and_man_speaking", "Waves_and_surf"]
    sets = {"curated": [f"{name}.wav" for name in hex_ids("fc", 30, 8)], "noisy": [f"{name}.wav" for name in hex_ids("fn", 20, 8)]}
    test = [f"{name}.wav" for name in hex_ids("ft", TEST, 8)]
    for part, names in sets.items():
        rows = [(name, ",".join(rng.sample(classes, 1 + n % 2))) for n, name in enumerate(names)]
        write_table(folder / f"train_{part}.csv", ["fname", "labels"], rows)
        zip_all(folder / f"train_{part}.zip", {name: sound(name) for name in names})
    zip_all(folder / "test.zip", {name: sound(name) for name in test})
    write_table(folder / "sample_submission.csv", ["fname", *classes], [(name, *[0] * 5) for name in test])
    return Expected(
        **asked(["fname"], classes), modality="audio", task="multilabel", targets=("labels",), classes=tuple(classes), form="class_scores",
        separator=",",
        train=None, test=TEST, test_ids=(test[0],),
    )  # fmt: skip


def make_speech_commands(folder: Path) -> Expected:
    """Folders are the classes, but not all of them; a noise folder is none; equal file names in several folders; speakers in the names."""
    words = ["yes", "no", "up", "bed", "zero"]
    speakers = hex_ids("speaker", 10, 8)
    for n, word in enumerate(words):
        put_all(
            folder / "train" / "audio" / word,
            {f"{name}_nohash_0.wav": sound((word, name), pitch=300 + 90 * n) for name in speakers},
        )
    put_all(folder / "train" / "audio" / "_background_noise_", {"pink_noise.wav": sound("pink"), "running_tap.wav": sound("tap")})
    (folder / "train" / "testing_list.txt").write_text(
        "".join(f"{word}/{speakers[0]}_nohash_0.wav\n" for word in words), encoding="utf-8"
    )
    test = [f"clip_{name}.wav" for name in hex_ids("clip", TEST, 9)]
    put_all(folder / "test" / "audio", {name: sound(name) for name in test})
    write_table(folder / "sample_submission.csv", ["fname", "label"], [(name, "silence") for name in test])
    return Expected(
        **asked(["fname"], ["label"]), modality="audio", task="multiclass", targets=("label",), classes=None, form="label",
        train=50, test=TEST, split=("group", "stratified_group"),
    )  # fmt: skip


def make_birds(folder: Path) -> Expected:
    """Ragged text tables, `?` for hidden labels, a fold column that marks the test part, a line for each species of each recording."""
    rng = random.Random(82)
    base, species, recordings = folder / "essential_data", range(5), range(32)
    fold = {n: int(n % 4 == 3) for n in recordings}
    test = [n for n in recordings if fold[n]]
    labels = {n: "".join(f",{kind}" for kind in species if rng.random() < 0.3) if not fold[n] else ",?" for n in recordings}
    put(base / "rec_labels_test_hidden.txt", "\n".join(["rec_id,[labels]", *[f"{n}{labels[n]}" for n in recordings]]).encode())
    write_table(base / "CVfolds_2.txt", ["rec_id", "fold"], fold.items())
    write_table(base / "rec_id2filename.txt", ["rec_id", "filename"], [(n, f"PC1_2009_{n:04d}") for n in recordings])
    write_table(base / "species_list.txt", ["class_id", "code", "species"], [(n, f"SP{n}", f"Species number {n}") for n in species])
    put_all(base / "src_wavs", {f"PC1_2009_{n:04d}.wav": sound(n) for n in recordings})
    write_table(folder / "sample_submission.csv", ["Id", "Probability"], [(n * 100 + kind, 0) for n in test for kind in species])
    return Expected(
        **asked(["Id"], ["Probability"]), modality="audio", task=("multilabel", "other", "binary"), targets=None, classes=None, form=None,
        train=None, test=None,
    )  # fmt: skip


def make_spoken_digits(folder: Path) -> Expected:
    """fsdd-speakers in kind: a speaker column that test lacks, other speakers in test; digits are classes, not levels."""
    rng = random.Random(83)
    train, test = [f"{2 * n:04d}.wav" for n in range(50)], [f"{2 * n + 1:04d}.wav" for n in range(TEST)]
    rows = [
        (name, label, ["jackson", "nicolas", "theo", "yweweler", "ann"][n % 5])
        for n, (name, label) in enumerate(zip(train, spread("0123456789", 50, rng), strict=True))
    ]
    write_table(folder / "train.csv", ["id", "label", "speaker"], rows)
    write_table(folder / "test.csv", ["id"], [(name,) for name in test])
    write_table(
        folder / "speakers.csv",
        ["speaker", "gender", "part"],
        [(name, "male", "train") for name in ("jackson", "nicolas")] + [("lucas", "male", "test")],
    )
    write_table(folder / "sample_submission.csv", ["id", "label"], [(name, 0) for name in test])
    put_all(folder / "train", {name: sound(name, pitch=200 + 80 * int(row[1])) for name, row in zip(train, rows, strict=True)})
    put_all(folder / "test", {name: sound(name) for name in test})
    return Expected(
        **asked(["id"], ["label"]), modality="audio", task="multiclass", targets=("label",), classes=tuple("0123456789"), form="label",
        train=50, test=TEST, split=("group", "stratified_group"), by=("speaker",), train_only=("speaker",), media=(50, TEST),
    )  # fmt: skip


def make_cifar(folder: Path) -> Expected:
    """Images in tar.xz; ids are numbers that repeat in train and test."""
    rng = random.Random(84)
    classes = ["airplane", "bird", "cat", "truck"]
    write_table(folder / "train.csv", ["id", "label"], [(n, label) for n, label in enumerate(spread(classes, 40, rng), start=1)])
    write_table(folder / "test.csv", ["id"], [(n,) for n in range(1, 13)])
    write_table(folder / "sample_submission.csv", ["id", "label"], [(n, "cat") for n in range(1, 13)])
    tar_all(folder / "train.tar.xz", {f"train/{n}.jpg": picture(("train", n), size=(32, 32)) for n in range(1, 41)})
    tar_all(folder / "test.tar.xz", {f"test/{n}.jpg": picture(("test", n), size=(32, 32)) for n in range(1, 13)})
    return Expected(
        **asked(["id"], ["label"]), modality="image", task="multiclass", targets=("label",), classes=tuple(classes), form="label",
        train=40, test=12, split="stratified", train_only=(), media=(40, 12), test_ids=("1", "12"),
    )  # fmt: skip


def make_volumes(folder: Path) -> Expected:
    """A .npy array an item, a number as target."""
    train, test = hex_ids("nt", TRAIN, 6), hex_ids("ns", TEST, 6)
    write_table(folder / "train_labels.csv", ["id", "target"], [(name, n % 2) for n, name in enumerate(train)])
    write_table(folder / "sample_submission.csv", ["id", "target"], [(name, 0.5) for name in test])
    for side, ids in (("train", train), ("test", test)):
        put_all(folder / side, {f"{name[0]}/{name}.npy": array((3, 8, 8), name) for name in ids})
    return Expected(
        **asked(["id"], ["target"]), modality=("image", "tabular", "audio"), task="binary", targets=("target",), classes=("0", "1"),
        form="probability", train=TRAIN, test=TEST,
    )  # fmt: skip


LAYOUTS = {name.removeprefix("make_"): make for name, make in list(globals().items()) if name.startswith("make_")}
