from __future__ import annotations

import numpy as np
import pytest

N = 400
KINDS = {"a": "number", "b": "number", "c": "category"}


@pytest.fixture
def random():
    return np.random.default_rng(7)


def table(random, number: int, first: int = 0) -> dict[str, list[object]]:
    return {
        "id": [f"{n:05d}" for n in range(first, first + number)],
        "a": list(np.round(random.normal(size=number), 4)),
        "b": list(np.round(random.normal(size=number), 4)),
        "c": list(random.choice(["red", "green", "blue"], number)),
    }


def clean(random, number: int = N) -> tuple[dict[str, list[object]], dict[str, list[object]]]:
    train, test = table(random, number), table(random, number, number)
    train["label"] = list(random.choice(["no", "yes"], number))
    return train, test


def test_clean_table_raises_no_alarm(audited, random):
    result = audited(*clean(random), kinds=KINDS)
    assert result.codes == set()
    assert result.audit.properties["drift"]["auc"] == pytest.approx(0.5, abs=0.08)
    assert result.audit.near_duplicate_N.tolist() == [-1] * N


def test_copied_rows_are_kept_together(audited, random):
    train, test = clean(random)
    for name in ("a", "b", "c"):
        train[name][10] = train[name][3]
        test[name][0] = train[name][5]
    train["label"][3], train["label"][10] = "no", "yes"
    result = audited(train, test, kinds=KINDS)
    assert result.one("exact_duplicates").rows == ("00003", "00010")
    assert result.one("contradicting_labels").rows == ("00003", "00010")
    assert result.one("exact_duplicates_across").rows == ("00400", "00005")
    assert np.flatnonzero(result.audit.near_duplicate_N >= 0).tolist() == [3, 10]


def test_few_distinct_rows_are_no_copies(audited, random):
    train = {"id": range(N), "c": random.choice(["x", "y"], N), "label": random.choice(["no", "yes"], N)}
    result = audited(train, {"id": range(N, N + 20), "c": ["x", "y"] * 10}, kinds={"c": "category"})
    assert result.one("exact_duplicates").severity == "info"
    assert result.audit.near_duplicate_N is None


def test_columns_with_faults_are_named(audited, random):
    train, test = clean(random)
    train["constant"] = [1] * N
    train["sparse"] = [n if n % 10 == 0 else None for n in range(N)]
    train["marked"] = ["?" if n % 20 == 0 else n % 7 for n in range(N)]
    train["coded"] = [-999 if n % 20 == 0 else round(float(x), 3) for n, x in enumerate(random.uniform(0, 50, N))]
    train["priced"] = [f"${n % 90},000.50" for n in range(N)]
    train["serial"] = [f"u{n}" for n in range(N)]
    train["copy"] = train["a"]
    train["city"] = [f"city {n % 150}" for n in range(N)]
    for name in ("constant", "sparse", "marked", "coded", "priced", "serial", "copy", "city"):
        test[name] = train[name]
    test["city"] = ["elsewhere" if n < 8 else "city 1" for n in range(N)]
    kinds = {**KINDS, "constant": "constant", "sparse": "number", "marked": "number", "coded": "number", "priced": "category"}
    result = audited(train, test, kinds={**kinds, "serial": "identifier", "copy": "number", "city": "category"})
    for code, name in (
        ("constant_columns", "constant."),
        ("missing_values", "sparse 90 %"),
        ("placeholder_values", "Column marked has 20 (5 %)"),
        ("sentinel_values", "Column coded has 20 (5 %)"),
        ("numbers_as_text", "Column priced"),
        ("id_like_columns", "serial."),
        ("duplicated_columns", "copy = a"),
        ("many_categories", "city (150)"),
        ("new_categories", "city 8 (2 %)"),
    ):
        assert name in result.one(code).message, result.one(code).message


def test_column_that_is_the_answer(audited, random):
    train, test = clean(random)
    train["grade"] = [1 if label == "yes" else 0 for label in train["label"]]
    train["grade"][0] = 1 - train["grade"][0]
    train["after"] = train["label"]
    test["grade"] = list(random.integers(0, 2, N))
    result = audited(train, test, kinds={**KINDS, "grade": "number"}, train_only=("after",))
    assert "Column grade alone" in result.one("leaking_column").message
    assert "after (AUC 1.000)" in result.one("train_only_columns").message


@pytest.mark.parametrize("noise", [0.0, 3.0])
def test_column_that_is_the_number(audited, random, noise):
    train, test = clean(random)
    train["label"] = list(random.normal(size=N) * 10)
    train["a"] = [2 * y + noise * random.normal() for y in train["label"]]
    result = audited(train, test, kinds=KINDS, task="regression")
    assert ("leaking_column" in result.codes) == (noise == 0.0)


def test_ids_in_the_order_of_the_answer(audited, random):
    train, test = clean(random)
    train["label"] = sorted(train["label"])
    result = audited(train, test, kinds=KINDS)
    assert "its number alone" in result.one("leaking_id").message
    assert "same class" in result.one("ordered_rows").message


def test_days_may_follow_one_another(audited, random):
    train, test = clean(random)
    days = [f"2024-{1 + n // 28:02d}-{1 + n % 28:02d}" for n in range(300)]
    train = {name: column[:300] for name, column in train.items()} | {"day": days, "label": list(np.sin(np.arange(300) / 50))}
    test = {name: column[:200] for name, column in test.items()} | {
        "day": [f"2025-{1 + n // 28:02d}-{1 + n % 28:02d}" for n in range(200)]
    }
    result = audited(train, test, kinds={**KINDS, "day": "time"}, task="regression")
    assert "100 % of test rows are later" in result.one("later_test").message
    assert not result.codes & {"ordered_rows", "leaking_id", "drift"}


def test_drift_names_the_column(audited, random):
    train, test = clean(random)
    test["b"] = [value + 1.5 for value in test["b"]]
    result = audited(train, test, kinds=KINDS)
    assert result.one("drift").severity == "warning"
    assert "What differs most: b (" in result.one("drift").message
    low, high = result.audit.properties["drift"]["interval"]
    assert 0.75 < low < result.audit.properties["drift"]["auc"] < high


def test_small_tables_say_why_drift_is_not_measured(audited, random):
    result = audited(*clean(random, 50), kinds=KINDS)
    assert result.audit.properties["drift"]["auc"] is None
    assert "50 rows" in result.audit.properties["drift"]["why"]


def test_labels(audited, random):
    train, test = clean(random)
    train["label"] = ["big"] * 300 + ["small"] * 90 + ["Small"] * 7 + ["odd"] * 3
    random.shuffle(train["label"])
    result = audited(train, test, kinds=KINDS)
    names = np.array(train["label"])
    assert result.one("label_variants").rows == tuple(f"{n:05d}" for n in np.flatnonzero(names == "Small"))
    assert result.one("rare_classes").rows == tuple(f"{n:05d}" for n in np.flatnonzero(names == "odd"))
    assert "a ratio of 100" in result.one("imbalance").message


def test_empty_answers(audited, random):
    train, test = clean(random)
    train["label"][4] = None
    assert audited(train, test, kinds=KINDS).one("empty_targets").rows == ("00004",)


def test_one_answer_for_all(audited, random):
    train, test = clean(random)
    train["label"] = [1.5] * N
    assert audited(train, test, kinds=KINDS, task="regression").one("constant_target").severity == "error"
