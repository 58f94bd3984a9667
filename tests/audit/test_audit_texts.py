from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from matchfit.audit.textpairs import near_text_pairs
from matchfit.audit.texts import tokens

WORDS = [f"{a}{b}{c}" for a in ("ka", "lo", "mi", "tur") for b in ("ben", "sor", "vil") for c in ("a", "es", "ing", "o")]
OPTIONS = {"kinds": {"text": "text"}, "modality": "text"}


def texts(number: int, seed: int, words: int = 12) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, words)).capitalize() + "." for _ in range(number)]


def parts(number: int = 200) -> tuple[dict[str, list[object]], dict[str, list[object]]]:
    train = {"id": list(range(number)), "text": texts(number, 0), "label": list("ab") * (number // 2)}
    return train, {"id": list(range(number)), "text": texts(number, 1)}


def test_clean_texts_raise_no_alarm(audited):
    result = audited(*parts(), **OPTIONS)
    assert result.codes == {"text_properties"}
    assert "Latin 100 %" in result.one("text_properties").message


def test_faulty_texts(audited):
    train, test = parts()
    train["text"][3] = "  "
    train["text"][4] = "Das ist schÃ¶n, dâ€™accord"
    test["text"][5] = "ok \ufffd there"
    for n in (6, 7, 8):
        train["text"][n] = f"<p>{train['text'][n]}</p>&nbsp;"
    train["text"][9:12] = [f"one\\nline {text}" for text in train["text"][9:12]]
    result = audited(train, test, **OPTIONS)
    assert result.one("empty_texts").rows == ("3",)
    assert [finding.rows for finding in result.all("damaged_texts")] == [("4",), ("5",)]
    assert result.one("marked_up_texts").rows == ("6", "7", "8")
    assert result.one("escaped_texts").rows == ("9", "10", "11")


def test_repeated_texts(audited):
    train, test = parts()
    train["text"][1] = "  " + train["text"][0].replace(" ", "  ")
    train["text"][5] = train["text"][4].upper().rstrip(".") + "!"
    train["text"][9] = train["text"][8] + " indeed"
    test["text"][0] = train["text"][20]
    result = audited(train, test, **OPTIONS)
    assert result.one("exact_duplicates").rows == ("0", "1")
    assert result.one("contradicting_labels").rows == ("0", "1")
    assert result.one("exact_duplicates_across").rows == ("0", "20")
    assert result.one("near_duplicates").rows == ("4", "5", "8", "9")
    clusters = result.audit.near_duplicate_N
    assert clusters[0] == clusters[1] != clusters[4] == clusters[5] != clusters[8] == clusters[9]
    assert (clusters >= 0).sum() == 6


def test_forms_are_not_grouped_as_a_whole(audited):
    train, test = parts()
    train["text"] = [f"{' '.join(WORDS)} number {n}" for n in range(200)]
    result = audited(train, test, **OPTIONS)
    assert "split.by" in result.one("near_duplicates").todo
    assert (result.audit.near_duplicate_N == -1).all()


def test_long_texts(audited):
    train, test = parts()
    train["text"][:10] = texts(10, 5, words=300)
    assert "About 5 % of train texts" in audited(train, test, **OPTIONS).one("long_texts").message


def test_tokens_are_counted_in_scripts_without_blanks():
    assert tokens(pl.Series(["one two, three", "你好世界", "สวัสดี", ""])).to_list() == [5.0, 4.0, 6.0, 0.0]


@pytest.mark.parametrize("script", ["latin", "thai", "chinese"])
def test_near_pairs_of_texts_among_many(script):
    random = np.random.default_rng(0)
    alphabet = {
        "latin": "abcdefghijklmnopqrstuvwxyz ",
        "thai": "กขคงจชดตนบปพมยรลวสหอะาิีึุู",
        "chinese": "的一是不了人我在有他这中大来上国",
    }[script]
    base = ["".join(random.choice(list(alphabet), 80)) for _ in range(3000)]
    planted = [f"{base[n][:40]}#{base[n][41:]}" for n in range(200)]
    pairs = {tuple(pair) for pair in near_text_pairs(base + planted).tolist()}
    wanted = {(n, 3000 + n) for n in range(200)}
    assert len(pairs & wanted) >= 198
    assert not pairs - wanted
