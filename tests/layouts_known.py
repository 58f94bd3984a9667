"""Further layouts of well-known competitions, small: each has a trap that the others lack."""

from __future__ import annotations

import random
from pathlib import Path

from layout_tools import (
    Expected,
    asked,
    hex_ids,
    picture,
    put,
    put_all,
    sentence,
    sound,
    spread,
    table_text,
    write_json,
    write_table,
    zip_all,
)

TRAIN, TEST = 60, 15


def make_titanic(folder: Path) -> Expected:
    """The sample is called after its rule of thumb; names with commas and quotes."""
    rng = random.Random(101)
    row = lambda n: (  # noqa: E731
        n,
        rng.randint(1, 3),
        f'Person {n}, Mrs. ("Al" Ice)',
        rng.choice(["male", "female"]),
        rng.choice(["", 22, 38.5]),
        f"A/5 {n}",
    )
    header = ["PassengerId", "Pclass", "Name", "Sex", "Age", "Ticket"]
    train = [(r[0], y, *r[1:]) for r, y in zip([row(n) for n in range(1, TRAIN + 1)], spread("001", TRAIN, rng), strict=True)]
    write_table(folder / "train.csv", [header[0], "Survived", *header[1:]], train)
    write_table(folder / "test.csv", header, [row(892 + n) for n in range(TEST)])
    write_table(folder / "gender_submission.csv", ["PassengerId", "Survived"], [(892 + n, n % 2) for n in range(TEST)])
    return Expected(
        **asked(["PassengerId"], ["Survived"]), modality="tabular", task="binary", targets=("Survived",), classes=("0", "1"),
        form=("label", "probability"), train=TRAIN, test=TEST, train_only=(),
    )  # fmt: skip


def make_prefixed_classes(folder: Path) -> Expected:
    """Class columns of the sample are the target's name and its values."""
    rng = random.Random(102)
    row = lambda n: (n, rng.randint(400, 4000), rng.choice(["Y", "N"]), round(rng.uniform(0.5, 9), 1))  # noqa: E731
    header, columns = ["id", "N_Days", "Ascites", "Bilirubin"], ["Status_C", "Status_CL", "Status_D"]
    write_table(
        folder / "train.csv", [*header, "Status"], [(*row(n), y) for n, y in enumerate(spread(["C", "CL", "D"], TRAIN, rng))]
    )
    write_table(folder / "test.csv", header, [row(TRAIN + n) for n in range(TEST)])
    write_table(folder / "sample_submission.csv", ["id", *columns], [(TRAIN + n, 0.6, 0.03, 0.37) for n in range(TEST)])
    return Expected(
        **asked(["id"], columns), modality="tabular", task="multiclass", targets=("Status",), classes=None, form="class_scores",
        train=TRAIN, test=TEST, train_only=(),
    )  # fmt: skip


def make_house_prices(folder: Path) -> Expected:
    """Numbers as codes, NA as a category."""
    rng = random.Random(103)
    row = lambda n: (  # noqa: E731
        n,
        rng.choice([20, 60, 120]),
        rng.choice(["RL", "RM"]),
        rng.choice(["NA", "Grvl"]),
        rng.randint(1000, 20000),
        rng.randint(1900, 2010),
    )
    header = ["Id", "MSSubClass", "MSZoning", "Alley", "LotArea", "YearBuilt"]
    write_table(
        folder / "train.csv", [*header, "SalePrice"], [(*row(n), rng.randint(60, 500) * 500 + n) for n in range(1, TRAIN + 1)]
    )
    write_table(folder / "test.csv", header, [row(1461 + n) for n in range(TEST)])
    write_table(folder / "sample_submission.csv", ["Id", "SalePrice"], [(1461 + n, 169277.0524984 + n) for n in range(TEST)])
    put(folder / "data_description.txt", b"MSSubClass: Identifies the type of dwelling\n\n   20\t1-STORY\n")
    return Expected(
        **asked(["Id"], ["SalePrice"]), modality="tabular", task="regression", targets=("SalePrice",), classes=(), form="value",
        train=TRAIN, test=TEST, train_only=(),
    )  # fmt: skip


def make_rossmann(folder: Path) -> Expected:
    """Only test has an id; a side table of stores; days in time order; a column that test lacks."""
    rng = random.Random(104)
    days = [f"2015-{month:02d}-{day:02d}" for month in (5, 6, 7) for day in range(1, 29, 3)]
    row = lambda store, day: (store, day, rng.randint(0, 1), rng.choice("0ab"))  # noqa: E731
    train = [row(store, day) for day in reversed(days[:24]) for store in (1, 2, 3)]
    test = [row(store, day) for day in reversed(days[24:]) for store in (1, 2, 3)]
    write_table(folder / "train.csv", ["Store", "Date", "Sales", "Customers", "Promo", "StateHoliday"],
                [(*r[:2], rng.randint(2000, 12000), rng.randint(200, 900), *r[2:]) for r in train])  # fmt: skip
    write_table(
        folder / "test.csv", ["Id", "Store", "Date", "Promo", "StateHoliday"], [(n, *r) for n, r in enumerate(test, start=1)]
    )
    write_table(
        folder / "store.csv", ["Store", "StoreType", "CompetitionDistance"], [(n, "ab"[n % 2], 1270 * n) for n in (1, 2, 3)]
    )
    write_table(folder / "sample_submission.csv", ["Id", "Sales"], [(n, 0) for n in range(1, len(test) + 1)])
    return Expected(
        **asked(["Id"], ["Sales"]), modality="tabular", task="regression", targets=("Sales",), classes=(), form="value",
        train=len(train), test=len(test), split="time", train_only=("Customers",), test_ids=("1",),
    )  # fmt: skip


def make_digit_recognizer(folder: Path) -> Expected:
    """Pixels as columns, no id anywhere but in the sample, where rows count from 1; the target is spelled otherwise."""
    rng = random.Random(105)
    pixels = [f"pixel{n}" for n in range(64)]
    row = lambda: [rng.choice([0, 0, 0, 128, 255]) for _ in pixels]  # noqa: E731
    write_table(folder / "train.csv", ["label", *pixels], [(label, *row()) for label in spread("0123456789", TRAIN, rng)])
    write_table(folder / "test.csv", pixels, [row() for _ in range(TEST)])
    write_table(folder / "sample_submission.csv", ["ImageId", "Label"], [(n, 0) for n in range(1, TEST + 1)])
    return Expected(
        **asked(["ImageId"], ["Label"]), modality=("tabular", "image"), task=("multiclass", "ordinal"),
        targets=("label",), classes=tuple("0123456789"),
        form="label", train=TRAIN, test=TEST, train_only=(), test_ids=("1", str(TEST)),
    )  # fmt: skip


def make_imdb(folder: Path) -> Expected:
    """Tab-separated files in zips under names of their own, ids in quotes, a table without labels."""
    rng = random.Random(106)

    def table(names: list[str], labels: list[str] | None) -> bytes:
        lines = ["id\t" + ("sentiment\t" if labels else "") + "review"]
        for n, name in enumerate(names):
            text = sentence(rng).replace(" a ", ' \\"a\\" ') + "<br /><br />" + sentence(rng)
            lines.append(f'"{name}"\t' + (f"{labels[n]}\t" if labels else "") + f'"{text}"')
        return "\n".join(lines).encode()

    train, test, more = (
        [f"{5000 + n}_{n % 10}" for n in range(TRAIN)],
        [f"{12000 + n}_10" for n in range(TEST)],
        [f"{n}_0" for n in range(20)],
    )
    zip_all(folder / "labeledTrainData.tsv.zip", {"labeledTrainData.tsv": table(train, spread("01", TRAIN, rng))})
    zip_all(folder / "unlabeledTrainData.tsv.zip", {"unlabeledTrainData.tsv": table(more, None)})
    zip_all(folder / "testData.tsv.zip", {"testData.tsv": table(test, None)})
    write_table(folder / "sampleSubmission.csv", ["id", "sentiment"], [(name, 0) for name in test])
    return Expected(
        **asked(["id"], ["sentiment"]), modality="text", task="binary", targets=("sentiment",), classes=("0", "1"),
        form=("label", "probability"), train=TRAIN, test=TEST, train_only=(), test_ids=(test[0],),
    )  # fmt: skip


def make_quora(folder: Path) -> Expected:
    """A renamed binary target; embeddings beside the tables."""
    rng = random.Random(107)
    train, test = hex_ids("qt", TRAIN, 16), hex_ids("qs", TEST, 16)
    rows = [(name, sentence(rng)[:-1] + "?", y) for name, y in zip(train, spread("0001", TRAIN, rng), strict=True)]
    write_table(folder / "train.csv", ["qid", "question_text", "target"], rows)
    write_table(folder / "test.csv", ["qid", "question_text"], [(name, sentence(rng)[:-1] + "?") for name in test])
    write_table(folder / "sample_submission.csv", ["qid", "prediction"], [(name, 0) for name in test])
    zip_all(folder / "embeddings.zip", {"glove/glove.txt": b"the 0.1 0.2\nof 0.3 0.4\n"})
    return Expected(
        **asked(["qid"], ["prediction"]), modality="text", task="binary", targets=("target",), classes=("0", "1"),
        form=("label", "probability"), train=TRAIN, test=TEST, train_only=(),
    )  # fmt: skip


def make_readability(folder: Path) -> Expected:
    """A number for a text; its standard error and further facts are in train only or half empty."""
    rng = random.Random(108)
    text = lambda: " ".join(sentence(rng) for _ in range(3))  # noqa: E731
    train = [
        (name, "", "", text(), round(rng.gauss(-1, 1), 9), round(rng.uniform(0.4, 0.6), 9)) for name in hex_ids("rt", TRAIN, 9)
    ]
    test = [(name, "https://example.org", "CC BY", text()) for name in hex_ids("rs", TEST, 9)]
    write_table(folder / "train.csv", ["id", "url_legal", "license", "excerpt", "target", "standard_error"], train)
    write_table(folder / "test.csv", ["id", "url_legal", "license", "excerpt"], test)
    write_table(folder / "sample_submission.csv", ["id", "target"], [(row[0], 0.0) for row in test])
    return Expected(
        **asked(["id"], ["target"]), modality="text", task="regression", targets=("target",), classes=(), form="value", train=TRAIN, test=TEST,
        train_only=("standard_error",),
    )  # fmt: skip


def make_pawpularity(folder: Path) -> Expected:
    """A number for a picture beside binary columns that test has too."""
    rng = random.Random(109)
    columns = ["Subject Focus", "Eyes", "Face", "Blur"]
    train, test = hex_ids("pt", TRAIN, 16), hex_ids("ps", TEST, 16)
    row = lambda name: (name, *[rng.randint(0, 1) for _ in columns])  # noqa: E731
    write_table(folder / "train.csv", ["Id", *columns, "Pawpularity"], [(*row(name), rng.randint(1, 100)) for name in train])
    write_table(folder / "test.csv", ["Id", *columns], [row(name) for name in test])
    write_table(folder / "sample_submission.csv", ["Id", "Pawpularity"], [(name, round(rng.uniform(1, 99), 2)) for name in test])
    put_all(folder / "train", {f"{name}.jpg": picture(name) for name in train})
    put_all(folder / "test", {f"{name}.jpg": picture(name) for name in test})
    return Expected(
        **asked(["Id"], ["Pawpularity"]), modality="image", task="regression", targets=("Pawpularity",), classes=(), form="value",
        train=TRAIN, test=TEST, train_only=(), media=(TRAIN, TEST),
    )  # fmt: skip


def make_cassava(folder: Path) -> Expected:
    """Numbers as classes with a json file of their names; tfrecords beside."""
    rng = random.Random(110)
    train, test = (
        [f"{n}.jpg" for n in range(1000015157, 1000015157 + TRAIN)],
        ["2216849948.jpg", "2216849949.jpg", "2216849950.jpg"],
    )
    write_table(folder / "train.csv", ["image_id", "label"], zip(train, spread("01233334", TRAIN, rng), strict=True))
    write_json(
        folder / "label_num_to_disease_map.json",
        {"0": "Bacterial Blight (CBB)", "1": "Brown Streak", "2": "Green Mottle", "3": "Mosaic Disease", "4": "Healthy"},
    )
    write_table(folder / "sample_submission.csv", ["image_id", "label"], [(name, 4) for name in test])
    put_all(folder / "train_images", {name: picture(name) for name in train})
    put_all(folder / "test_images", {name: picture(name) for name in test})
    put(folder / "train_tfrecords" / "ld_train00-60.tfrec", b"\x10\0record")
    return Expected(
        **asked(["image_id"], ["label"]), modality="image", task=("multiclass", "ordinal"),
        targets=("label",), classes=tuple("01234"), form="label",
        train=TRAIN, test=3, media=(TRAIN, 3),
    )  # fmt: skip


def make_distracted_driver(folder: Path) -> Expected:
    """Class folders two levels down, a table that names driver, class and file, class columns in the sample."""
    rng = random.Random(111)
    classes = [f"c{n}" for n in range(4)]
    rows = [(f"p{n % 10:03d}", label, f"img_{1000 + n}.jpg") for n, label in enumerate(spread(classes, TRAIN, rng))]
    test = [f"img_{n}.jpg" for n in range(1, TEST + 1)]
    zip_all(
        folder / "imgs.zip",
        {f"train/{label}/{name}": picture(name) for _, label, name in rows} | {f"test/{name}": picture(name) for name in test},
    )
    write_table(folder / "driver_imgs_list.csv", ["subject", "classname", "img"], rows)
    write_table(folder / "sample_submission.csv", ["img", *classes], [(name, *[0.25] * 4) for name in test])
    return Expected(
        **asked(["img"], classes), modality="image", task="multiclass", targets=("classname",), classes=tuple(classes), form="class_scores",
        train=TRAIN, test=TEST, split=("group", "stratified_group"), by=("subject",), train_only=("subject",), media=(TRAIN, TEST),
    )  # fmt: skip


def make_seedlings(folder: Path) -> Expected:
    """Class folders whose names have blanks and hyphens; ids with extension."""
    classes = ["Black-grass", "Common Chickweed", "Small-flowered Cranesbill"]
    for name in classes:
        put_all(folder / "train" / name, {f"{key}.png": picture((name, key), kind="png") for key in hex_ids(name, 15, 9)})
    test = [f"{key}.png" for key in hex_ids("seed", TEST, 9)]
    put_all(folder / "test", {name: picture(name, kind="png") for name in test})
    write_table(folder / "sample_submission.csv", ["file", "species"], [(name, "Sugar beet") for name in test])
    return Expected(
        **asked(["file"], ["species"]), modality="image", task="multiclass", targets=None, classes=tuple(classes), form="label",
        train=45, test=TEST, split="stratified", media=(45, TEST),
    )  # fmt: skip


def make_steel(folder: Path) -> Expected:
    """Several mask lines an image, a class column beside the run lengths; images without defects are in no table."""
    rng = random.Random(112)
    train, test = [f"{name}.jpg" for name in hex_ids("st", 24, 9)], [f"{name}.jpg" for name in hex_ids("ss", 8, 9)]
    rows = [
        (name, kind, f"{rng.randint(1, 90)} 11 {rng.randint(200, 290)} 7")
        for n, name in enumerate(train[:18])
        for kind in range(1, 2 + n % 2)
    ]
    write_table(folder / "train.csv", ["ImageId", "ClassId", "EncodedPixels"], rows)
    write_table(folder / "sample_submission.csv", ["ImageId", "EncodedPixels", "ClassId"], [(name, "1 409600", 0) for name in test])
    put_all(folder / "train_images", {name: picture(name) for name in train})
    put_all(folder / "test_images", {name: picture(name) for name in test})
    return Expected(
        id=None, submission_columns=("ImageId", "EncodedPixels", "ClassId"), modality="segmentation", task="segmentation", targets=None,
        classes=None, form="other", train=None, test=8,
    )  # fmt: skip


def make_clouds(folder: Path) -> Expected:
    """File and class joined in one id; run lengths or nothing."""
    rng = random.Random(113)
    kinds = ["Fish", "Flower", "Gravel", "Sugar"]
    train, test = [f"{name}.jpg" for name in hex_ids("ct", 20, 7)], [f"{name}.jpg" for name in hex_ids("cs", 6, 7)]
    rows = [
        (f"{name}_{kind}", f"{rng.randint(1, 99)} 18 {rng.randint(150, 250)} 9" if rng.random() < 0.5 else "")
        for name in train
        for kind in kinds
    ]
    write_table(folder / "train.csv", ["Image_Label", "EncodedPixels"], rows)
    write_table(
        folder / "sample_submission.csv",
        ["Image_Label", "EncodedPixels"],
        [(f"{name}_{kind}", "1 1") for name in test for kind in kinds],
    )
    put_all(folder / "train_images", {name: picture(name) for name in train})
    put_all(folder / "test_images", {name: picture(name) for name in test})
    return Expected(
        **asked(["Image_Label"], ["EncodedPixels"]), modality="segmentation", task="segmentation", targets=("EncodedPixels",), classes=None,
        form="other", train=None, test=None,
    )  # fmt: skip


def make_bird_songs(folder: Path) -> Expected:
    """Recordings in class folders with a table of facts; the submission has a column for each class."""
    rng = random.Random(114)
    kinds = ["asbfly", "ashdro1", "barswa", "eaywag1"]
    names = [f"{label}/XC{134896 + n}.wav" for n, label in enumerate(spread(kinds, 40, rng))]
    rows = [
        (name.split("/")[0], "[]", rng.choice(["song", "call"]), round(rng.uniform(0, 60), 2), f"author {n % 9}", name)
        for n, name in enumerate(names)
    ]
    write_table(
        folder / "train_metadata.csv", ["primary_label", "secondary_labels", "type", "latitude", "author", "filename"], rows
    )
    put_all(folder / "train_audio", {name: sound(name) for name in names})
    test = [f"soundscape_{n}_5" for n in range(8)]
    put_all(folder / "test_soundscapes", {f"{name}.wav": sound(name) for name in test})
    write_table(folder / "sample_submission.csv", ["row_id", *kinds], [(name, *[0.25] * 4) for name in test])
    return Expected(
        **asked(["row_id"], kinds), modality="audio", task=("multiclass", "multilabel"),
        targets=("primary_label",), classes=tuple(kinds),
        form="class_scores", train=40, test=8,
    )  # fmt: skip


def make_fashion(folder: Path) -> Expected:
    """Twelve article numbers for a customer, to be learnt from transactions; ids with leading zeros; no test table."""
    rng = random.Random(115)
    articles, customers = [f"{108775015 + 7 * n:010d}" for n in range(30)], hex_ids("hm", 20, 16)
    days = [f"2020-09-{day:02d}" for day in range(1, 23)]
    buys = sorted(
        (rng.choice(days), rng.choice(customers), rng.choice(articles), f"0.0{rng.randint(10, 59)}", rng.randint(1, 2))
        for _ in range(300)
    )
    write_table(folder / "transactions_train.csv", ["t_dat", "customer_id", "article_id", "price", "sales_channel_id"], buys)
    write_table(
        folder / "customers.csv",
        ["customer_id", "age", "postal_code"],
        [(name, rng.randint(18, 70), hex_ids(name, 1)[0]) for name in customers],
    )
    write_table(
        folder / "articles.csv",
        ["article_id", "product_code", "prod_name"],
        [(name, name[:7], f"Strap top {n}") for n, name in enumerate(articles)],
    )
    write_table(
        folder / "sample_submission.csv", ["customer_id", "prediction"], [(name, " ".join(articles[:12])) for name in customers]
    )
    put_all(folder / "images", {f"{name[:3]}/{name}.jpg": picture(name) for name in articles})
    return Expected(
        **asked(["customer_id"], ["prediction"]), modality="recommender", task="ranking", targets=None, classes=None, form=("ranked_list", "other"),
        train=None, test=20, test_ids=(customers[0],),
    )  # fmt: skip


def make_disaster_tweets(folder: Path) -> Expected:
    """Half empty columns beside the text, %20 in keywords; the tables lie one folder down."""
    rng = random.Random(116)
    row = lambda n: (  # noqa: E731
        n,
        rng.choice(["", "ablaze", "buildings%20on%20fire"]),
        rng.choice(["", "London, UK"]),
        sentence(rng) + f" http://t.co/{n}",
    )
    base = folder / "nlp-getting-started"
    write_table(
        base / "train.csv",
        ["id", "keyword", "location", "text", "target"],
        [(*row(n), y) for n, y in enumerate(spread("001", TRAIN, rng))],
    )
    write_table(base / "test.csv", ["id", "keyword", "location", "text"], [row(900 + n) for n in range(TEST)])
    write_table(base / "sample_submission.csv", ["id", "target"], [(900 + n, 0) for n in range(TEST)])
    return Expected(
        **asked(["id"], ["target"]), modality="text", task="binary", targets=("target",), classes=("0", "1"), form=("label", "probability"),
        train=TRAIN, test=TEST, train_only=(),
    )  # fmt: skip


def make_many_targets_table(folder: Path) -> Expected:
    """Three numbers for a row, with the hour as id."""
    rng = random.Random(117)
    names = ["target_carbon_monoxide", "target_benzene", "target_nitrogen_oxides"]
    hours = [f"2010-{3 + n // 240:02d}-{1 + n // 24 % 10:02d} {n % 24:02d}:00:00" for n in range(96)]
    row = lambda hour: (hour, round(rng.uniform(5, 30), 1), round(rng.uniform(20, 80), 1))  # noqa: E731
    write_table(
        folder / "train.csv",
        ["date_time", "deg_C", "sensor_1", *names],
        [(*row(hour), *[round(rng.uniform(0.5, 300), 1) for _ in names]) for hour in hours[:72]],
    )
    write_table(folder / "test.csv", ["date_time", "deg_C", "sensor_1"], [row(hour) for hour in hours[72:]])
    write_table(folder / "sample_submission.csv", ["date_time", *names], [(hour, 2.0, 10.0, 300.0) for hour in hours[72:]])
    return Expected(
        **asked(["date_time"], names), modality="tabular", task="multiregression", targets=tuple(names), classes=(), form="values",
        train=72, test=24, split="time", by=("date_time",), train_only=(),
    )  # fmt: skip


def make_pairs_of_texts(folder: Path) -> Expected:
    """Premise and hypothesis in many languages; three classes as numbers without an order."""
    rng = random.Random(118)
    parts = ["這是一本書", "นี่คือหนังสือ", "это книга", "هذا كتاب", "this is a book"]
    row = lambda name: (  # noqa: E731
        name,
        f"{rng.choice(parts)} {sentence(rng)}",
        f"{sentence(rng)} {rng.choice(parts)}",
        rng.choice(["zh", "th"]),
    )
    train, test = hex_ids("nt", TRAIN, 10), hex_ids("ns", TEST, 10)
    write_table(
        folder / "train.csv",
        ["id", "premise", "hypothesis", "lang_abv", "label"],
        [(*row(name), y) for name, y in zip(train, spread("012", TRAIN, rng), strict=True)],
    )
    write_table(folder / "test.csv", ["id", "premise", "hypothesis", "lang_abv"], [row(name) for name in test])
    put(folder / "sample_submission.csv", table_text(["id", "prediction"], [(name, 7) for name in test]).encode())
    return Expected(
        **asked(["id"], ["prediction"]), modality="text", task=("multiclass", "ordinal"),
        targets=("label",), classes=("0", "1", "2"), form="label",
        train=TRAIN, test=TEST, train_only=(),
    )  # fmt: skip


LAYOUTS = {name.removeprefix("make_"): make for name, make in list(globals().items()) if name.startswith("make_")}
