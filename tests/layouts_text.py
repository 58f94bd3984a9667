"""Text competitions as their hosts ship them, small."""

from __future__ import annotations

import random
from pathlib import Path

from layout_tools import Expected, asked, hex_ids, sentence, spread, table_text, write_table, zip_all

TRAIN, TEST = 40, 12


def _texts(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    return [sentence(rng) for _ in range(count)]


def make_spooky(folder: Path) -> Expected:
    """Class columns of the sample name the values of one label column."""
    rng = random.Random(31)
    authors = ["EAP", "HPL", "MWS"]
    train, test = [f"id{26305 + n}" for n in range(TRAIN)], [f"id{2310 + n:05d}" for n in range(TEST)]
    rows = zip(train, _texts(1, TRAIN), spread(authors, TRAIN, rng), strict=True)
    write_table(folder / "train.csv", ["id", "text", "author"], rows)
    write_table(folder / "test.csv", ["id", "text"], zip(test, _texts(2, TEST), strict=True))
    write_table(folder / "sample_submission.csv", ["id", *authors], [(name, 0.403, 0.287, 0.308) for name in test])
    return Expected(
        **asked(["id"], authors), modality="text", task="multiclass", targets=("author",), classes=tuple(authors),
        form="class_scores", train=TRAIN, test=TEST, split="stratified", train_only=(), test_ids=(test[0],),
    )  # fmt: skip


def make_jigsaw(folder: Path) -> Expected:
    """Six binary columns, all files zipped, a table of test labels with -1, texts with line ends."""
    rng = random.Random(32)
    columns = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]
    train, test = hex_ids("jt", TRAIN, 16), hex_ids("js", TEST, 16)
    rows = [
        (name, f'{text}\n\n"{text}"', *[int(rng.random() < 0.3) for _ in columns])
        for name, text in zip(train, _texts(3, TRAIN), strict=True)
    ]
    tables = {
        "train.csv": table_text(["id", "comment_text", *columns], rows),
        "test.csv": table_text(["id", "comment_text"], zip(test, _texts(4, TEST), strict=True)),
        "test_labels.csv": table_text(["id", *columns], [(name, *[-1 if n % 2 else 0] * 6) for n, name in enumerate(test)]),
        "sample_submission.csv": table_text(["id", *columns], [(name, *[0.5] * 6) for name in test]),
    }
    for name, text in tables.items():
        zip_all(folder / f"{name}.zip", {name: text.encode()})
    return Expected(
        **asked(["id"], columns), modality="text", task="multilabel", targets=tuple(columns), classes=tuple(columns),
        form="class_scores", train=TRAIN, test=TEST, train_only=(),
    )  # fmt: skip


def make_insults(folder: Path) -> Expected:
    """No id at all: the target comes first in the sample, date and text follow."""
    rng = random.Random(33)

    def rows(seed: int, count: int) -> list[tuple[str, str]]:
        dates = [
            "" if rng.random() < 0.2 else f"20120{rng.randint(1, 9)}{rng.randint(10, 28)}{rng.randint(100000, 235959)}Z"
            for _ in range(count)
        ]
        return [(date, f'"{text}\\xa0\\n, {count}"') for date, text in zip(dates, _texts(seed, count), strict=True)]

    train, test = rows(5, TRAIN), rows(6, TEST)
    labelled = [(label, *row) for label, row in zip(spread("001", TRAIN, rng), train, strict=True)]
    write_table(folder / "train.csv", ["Insult", "Date", "Comment"], labelled)
    write_table(folder / "test.csv", ["Date", "Comment"], test)
    write_table(folder / "sample_submission_null.csv", ["Insult", "Date", "Comment"], [(0, *row) for row in test])
    return Expected(
        id=None, submission_columns=("Insult", "Date", "Comment"), prediction_columns=("Insult",), modality="text", task="binary",
        targets=("Insult",), classes=("0", "1"), form=("label", "probability"), train=TRAIN, test=TEST, train_only=(),
    )  # fmt: skip


def make_movie_review(folder: Path) -> Expected:
    """Tab-separated; phrases of one sentence belong together; phrases that are blank or spell NA; quotes that enclose nothing."""
    rng = random.Random(34)
    odd = [" ", "NA", "null", "None", '"Hello', '5" of rain', "a, b; c"]
    phrases = [odd[n] if n < len(odd) else sentence(rng, low=2, high=9) for n in range(60)]
    levels = spread("01234", 60, rng)
    lines = [f"{n + 1}\t{n // 4 + 1}\t{phrase}\t{level}" for n, (phrase, level) in enumerate(zip(phrases, levels, strict=True))]
    (folder / "train.tsv").write_text("\n".join(["PhraseId\tSentenceId\tPhrase\tSentiment", *lines]) + "\n", encoding="utf-8")
    tests = [f"{156061 + n}\t{8545 + n // 4}\t{text}" for n, text in enumerate(_texts(7, TEST))]
    (folder / "test.tsv").write_text("\n".join(["PhraseId\tSentenceId\tPhrase", *tests]) + "\n", encoding="utf-8")
    write_table(folder / "sampleSubmission.csv", ["PhraseId", "Sentiment"], [(156061 + n, 2) for n in range(TEST)])
    return Expected(
        **asked(["PhraseId"], ["Sentiment"]), modality="text", task=("ordinal", "multiclass"), targets=("Sentiment",), classes=tuple("01234"),
        form="label", train=60, test=TEST, split=("group", "stratified_group"), by=("SentenceId",), train_only=(),
    )  # fmt: skip


def make_us_patent(folder: Path) -> Expected:
    """A feature is called `target`; a pair of phrases; scores in quarters are numbers, because Pearson wants numbers."""
    rng = random.Random(35)
    anchors = [
        "abatement",
        "air flow line",
        "wood article",
        "gate valve",
        "optical fibre",
        "web handling",
        "seat rail",
        "data sorting",
    ]

    def rows(prefix: str, count: int) -> list[tuple[str, ...]]:
        return [
            (name, anchors[n % 8], sentence(rng, low=1, high=3)[:-1].lower(), rng.choice(["A47", "B08", "H04"]))
            for n, name in enumerate(hex_ids(prefix, count, 16))
        ]

    train, test = rows("ut", 48), rows("us", TEST)
    scores = [rng.choice(["0.0", "0.25", "0.5", "0.75", "1.0"]) for _ in train]
    write_table(
        folder / "train.csv",
        ["id", "anchor", "target", "context", "score"],
        [(*row, score) for row, score in zip(train, scores, strict=True)],
    )
    write_table(folder / "test.csv", ["id", "anchor", "target", "context"], test)
    write_table(folder / "sample_submission.csv", ["id", "score"], [(row[0], 0) for row in test])
    return Expected(
        **asked(["id"], ["score"]), modality="text", task=("regression", "ordinal"), targets=("score",), classes=None,
        form=None, train=48, test=TEST, train_only=(),
    )  # fmt: skip


def make_essay_scoring(folder: Path) -> Expected:
    """Ordinal scores of long texts with line ends inside."""
    rng = random.Random(36)

    def essay() -> str:
        return "\n\n".join(" ".join(sentence(rng) for _ in range(6)) for _ in range(3))

    train, test = hex_ids("et", 48, 7), hex_ids("es", TEST, 7)
    write_table(
        folder / "train.csv",
        ["essay_id", "full_text", "score"],
        [(name, essay(), score) for name, score in zip(train, spread("12233445566", 48, rng), strict=True)],
    )
    write_table(folder / "test.csv", ["essay_id", "full_text"], [(name, essay()) for name in test])
    write_table(folder / "sample_submission.csv", ["essay_id", "score"], [(name, 3) for name in test])
    return Expected(
        **asked(["essay_id"], ["score"]), modality="text", task="ordinal", targets=("score",), classes=tuple("123456"),
        form="label", train=48, test=TEST, split="stratified", train_only=(),
    )  # fmt: skip


def make_google_quest(folder: Path) -> Expected:
    """Several numbers in 0..1 for a question and its answer; questions repeat."""
    rng = random.Random(37)
    columns = ["question_asker_intent_understanding", "question_body_critical", "answer_helpful", "answer_well_written"]
    questions = [(sentence(rng, low=4, high=8), " ".join(sentence(rng) for _ in range(2))) for _ in range(16)]

    def rows(ids: range, first: int, many: int) -> list[tuple[object, ...]]:
        return [
            (n, *questions[first + n % many], sentence(rng, low=10, high=20), rng.choice(["LIFE_ARTS", "CULTURE", "SCIENCE"]))
            for n in ids
        ]

    shared = ["qa_id", "question_title", "question_body", "answer", "category"]
    train, test = rows(range(TRAIN), 0, 12), rows(range(900, 900 + TEST), 12, 4)
    write_table(
        folder / "train.csv",
        [*shared, *columns],
        [(*row, *[round(rng.choice([0, 1 / 3, 0.5, 2 / 3, 0.888889, 1]), 6) for _ in columns]) for row in train],
    )
    write_table(folder / "test.csv", shared, test)
    write_table(folder / "sample_submission.csv", ["qa_id", *columns], [(row[0], *[0.00308] * 4) for row in test])
    return Expected(
        **asked(["qa_id"], columns), modality="text", task="multiregression", targets=tuple(columns), classes=(),
        form="values", train=TRAIN, test=TEST, split="group", train_only=(),
    )  # fmt: skip


def make_facebook_keywords(folder: Path) -> Expected:
    """Capital file names inside zips; html; many tags a text, with hyphens, dots and signs."""
    rng = random.Random(38)
    tags = ["php", "mysql", "c#", ".net", "asp.net-mvc", "c++", "jquery", "python-3.x"]

    def row(n: int) -> tuple[object, ...]:
        return n, sentence(rng, low=4, high=9), f"<p>{sentence(rng)}</p>\n\n<pre><code>x = {n};\n</code></pre>\n"

    labels = [" ".join(rng.sample(tags, rng.randint(1, 4))) for _ in range(TRAIN)]
    train = table_text(["Id", "Title", "Body", "Tags"], [(*row(n + 1), label) for n, label in enumerate(labels)])
    test = table_text(["Id", "Title", "Body"], [row(6034196 + n) for n in range(TEST)])
    zip_all(folder / "Train.zip", {"Train.csv": train.encode()})
    zip_all(folder / "Test.zip", {"Test.csv": test.encode()})
    write_table(
        folder / "SampleSubmission.csv", ["Id", "Tags"], [(6034196 + n, "javascript c# python php java") for n in range(TEST)]
    )
    return Expected(
        **asked(["Id"], ["Tags"]), modality="text", task="multilabel", targets=("Tags",), classes=tuple(sorted(tags)),
        form="label_list", separator=" ", train=TRAIN, test=TEST, train_only=(),
    )  # fmt: skip


def make_chaii(folder: Path) -> Expected:
    """Free text to be found in a context; the target has another name in the submission."""
    rng = random.Random(39)

    def row(name: str) -> tuple[str, str, str, str]:
        context = " ".join(sentence(rng) for _ in range(4))
        return name, context, f"{sentence(rng, low=3, high=5)[:-1]}?", rng.choice(["hindi", "tamil"])

    train, test = [row(name) for name in hex_ids("ct", TRAIN, 9)], [row(name) for name in hex_ids("cs", TEST, 9)]
    answers = [" ".join(row[1].split()[n % 5 : n % 5 + 2]) + f" {n}" for n, row in enumerate(train)]
    write_table(folder / "train.csv", ["id", "context", "question", "answer_text", "answer_start", "language"],
                [(*row[:3], answer, rng.randint(0, 90), row[3]) for row, answer in zip(train, answers, strict=True)])  # fmt: skip
    write_table(folder / "test.csv", ["id", "context", "question", "language"], test)
    write_table(folder / "sample_submission.csv", ["id", "PredictionString"], [(row[0], "") for row in test])
    return Expected(
        **asked(["id"], ["PredictionString"]), modality="text", task="other", targets=("answer_text",), classes=(), form="other",
        train=TRAIN, test=TEST, train_only=("answer_start",),
    )  # fmt: skip


def make_text_normalization(folder: Path) -> Expected:
    """The submission's id is made of two columns of test; the target is the written-out word."""
    rng = random.Random(40)
    words = [
        ("2007", "two thousand seven", "DATE"),
        ("Dr", "doctor", "PLAIN"),
        (".", ".", "PUNCT"),
        ("house", "house", "PLAIN"),
        ("5 km", "five kilometers", "MEASURE"),
    ]

    def rows(sentences: int) -> list[tuple[object, ...]]:
        return [(s, t, *rng.choice(words)) for s in range(sentences) for t in range(4)]

    train, test = rows(12), rows(4)
    header = ["sentence_id", "token_id", "class", "before", "after"]
    write_table(folder / "en_train.csv", header, [(s, t, kind, before, after) for s, t, before, after, kind in train])
    write_table(folder / "en_test_2.csv", ["sentence_id", "token_id", "before"], [(s, t, before) for s, t, before, _, _ in test])
    write_table(folder / "en_sample_submission_2.csv", ["id", "after"], [(f"{s}_{t}", before) for s, t, before, _, _ in test])
    return Expected(
        **asked(["id"], ["after"]), modality="text", task=("other", "multiclass"), targets=("after",), classes=None, form=None,
        train=48, test=16, train_only=("class",), test_ids=("0_0", "3_3"),
    )  # fmt: skip


def make_wisesight_lines(folder: Path) -> Expected:
    """A line a row in text files, labels in another file, ids are line numbers from 1; a line separator inside a line."""
    rng = random.Random(41)
    thai = ["ร้านนี้อร่อยมาก", "บริการแย่ที่สุด", "ราคาเท่าไหร่คะ", "ไปมาแล้วเฉยๆ", "เก็บเงิน", "ชอบมากๆ"]

    def lines(count: int) -> list[str]:
        return [f"{rng.choice(thai)} {rng.choice(thai)}{rng.randint(1, 10_000)}" for _ in range(count)]

    train = lines(TRAIN)
    train[3] += "\u2028ต่อ"
    (folder / "train.txt").write_text("\n".join(train) + "\n", encoding="utf-8")
    (folder / "train_label.txt").write_text(
        "\n".join(spread(["pos", "neu", "neg", "neu", "q"], TRAIN, rng)) + "\n", encoding="utf-8"
    )
    (folder / "test.txt").write_text("\n".join(lines(TEST)) + "\n", encoding="utf-8")
    write_table(folder / "test_majority.csv", ["Id", "Class"], [(n, "neu") for n in range(1, TEST + 1)])
    (folder / "test_majority.csv").rename(folder / "sample_submission.csv")
    return Expected(
        **asked(["Id"], ["Class"]), modality="text", task="multiclass", targets=None, classes=("neg", "neu", "pos", "q"), form="label",
        train=TRAIN, test=TEST, split="stratified", test_ids=("1", "12"),
    )  # fmt: skip


def make_intents(folder: Path) -> Expected:
    """banking77 in kind: many names, one of which ends in a question mark; row numbers as ids."""
    rng = random.Random(42)
    names = ["card_arrival", "exchange_rate", "Refund_not_showing_up", "reverted_card_payment?", "top_up_failed"]
    write_table(
        folder / "train.csv",
        ["id", "text", "label"],
        [(n, text, label) for n, (text, label) in enumerate(zip(_texts(8, TRAIN), spread(names, TRAIN, rng), strict=True))],
    )
    write_table(folder / "test.csv", ["id", "text"], [(TRAIN + n, text) for n, text in enumerate(_texts(9, TEST))])
    write_table(folder / "sample_submission.csv", ["id", "label"], [(TRAIN + n, "card_arrival") for n in range(TEST)])
    return Expected(
        **asked(["id"], ["label"]), modality="text", task="multiclass", targets=("label",), classes=tuple(sorted(names)), form="label",
        train=TRAIN, test=TEST, split="stratified", train_only=(),
    )  # fmt: skip


LAYOUTS = {name.removeprefix("make_"): make for name, make in list(globals().items()) if name.startswith("make_")}
