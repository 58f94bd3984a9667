"""TF-IDF: the contract for every task, and what it must be able to tell apart."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_kit import accuracy, check_contract, context_in, halves, make_items, make_problem

from matchfit.competition.problem import Targets
from matchfit.core.durations import Deadline
from matchfit.core.errors import BudgetError, DataError, RunError
from matchfit.learners.config import TrainConfig
from matchfit.learners.estimators.grams import GramSpec, clean, counted, learn_vocabulary, weighted
from matchfit.learners.estimators.tfidf import TfidfLearner

WORDS = {
    "latin": (["good", "great", "lovely"], ["bad", "awful", "dull"], ["film", "actor", "the", "of", "scene", "plot"], " "),
    "thai": (["ดีมาก", "ชอบ", "เยี่ยม"], ["แย่", "ไม่ดี", "เกลียด"], ["หนัง", "เรื่อง", "นี้", "คน", "ไป", "มา"], ""),
    "chinese": (["喜欢", "很好", "精彩"], ["讨厌", "糟糕", "无聊"], ["电影", "这个", "我", "的", "演员", "故事"], ""),
}
TEXT = (("t", "text"),)


def sentences(truth: np.ndarray, script: str = "latin", size: int = 8) -> list[str | None]:
    good, bad, other, blank = WORDS[script]
    random = np.random.default_rng(0)
    texts: list[str | None] = []
    for label in truth:
        words = [*random.choice(other, size - 1), random.choice(good if label else bad)]
        texts.append(blank.join(random.permutation(words)))
    return texts


def truth_of(size: int, classes: int = 2) -> np.ndarray:
    return np.random.default_rng(1).integers(0, classes, size)


@pytest.mark.parametrize("script", WORDS)
def test_binary_in_every_script(script, tmp_path):
    truth = truth_of(300)
    targets = Targets(task="binary", classes=("no", "yes"), values=truth)
    items = make_items({"t": sentences(truth, script)})
    predicted = check_contract(TfidfLearner, make_problem("binary", TEXT, classes=("no", "yes")), items, targets, tmp_path)
    assert accuracy(predicted, targets) > 0.97


def test_a_declared_class_without_training_rows_gets_a_small_probability(tmp_path):
    truth = truth_of(200)
    classes = ("bad", "good", "never")
    targets = Targets(task="multiclass", classes=classes, values=truth)
    items = make_items({"t": sentences(truth)})
    predicted = check_contract(TfidfLearner, make_problem("multiclass", TEXT, classes=classes), items, targets, tmp_path)
    assert accuracy(predicted, targets) > 0.97
    assert predicted.scores_NK[:, 2].max() < 0.1


def test_probabilities_are_calibrated_where_labels_are_noisy(tmp_path):
    truth = truth_of(1200)
    items = make_items({"t": sentences(truth)})
    noisy = np.where(np.random.default_rng(2).random(1200) < 0.25, 1 - truth, truth)
    targets = Targets(task="binary", classes=("no", "yes"), values=noisy)
    predicted = check_contract(TfidfLearner, make_problem("binary", TEXT, classes=("no", "yes")), items, targets, tmp_path)
    assert predicted.scores_NK.max(axis=1).mean() == pytest.approx(accuracy(predicted, targets), abs=0.1)


def test_labels(tmp_path):
    truth = truth_of(300)
    values = np.column_stack([truth, 1 - truth, np.zeros(300)]).astype(np.float64)
    targets = Targets(task="multilabel", classes=("a", "b", "c"), values=values)
    problem = make_problem("multilabel", TEXT, classes=("a", "b", "c"))
    predicted = check_contract(TfidfLearner, problem, make_items({"t": sentences(truth)}), targets, tmp_path)
    assert ((predicted.scores_NK > 0.5) == values[1::2]).mean() > 0.97


def test_values_and_ordinal_classes(tmp_path):
    random = np.random.default_rng(3)
    level = random.integers(0, 4, 400)
    texts = [" ".join([*["more"] * n, *["less"] * (3 - n), *random.choice(["of", "the"], 3)]) for n in level]
    problem = make_problem("regression", TEXT, metric="rmsle", direction="minimize")
    targets = Targets(task="regression", classes=(), values=np.exp(level)[:, None].astype(np.float64))
    predicted = check_contract(TfidfLearner, problem, make_items({"t": texts}), targets, tmp_path / "values")
    assert np.corrcoef(np.log(predicted.scores_NK[:, 0]), level[1::2])[0, 1] > 0.95
    classes = ("0", "1", "2", "3")
    targets = Targets(task="ordinal", classes=classes, values=level)
    problem = make_problem("ordinal", TEXT, classes=classes)
    predicted = check_contract(TfidfLearner, problem, make_items({"t": texts}), targets, tmp_path / "ordinal")
    assert accuracy(predicted, targets) > 0.9


def test_soft_labels_and_several_values(tmp_path):
    truth = truth_of(200)
    share = np.where(truth, 0.9, 0.2)
    targets = Targets(task="multiclass", classes=("a", "b"), values=np.column_stack([share, 1 - share]))
    problem = make_problem("multiclass", TEXT, classes=("a", "b"))
    predicted = check_contract(TfidfLearner, problem, make_items({"t": sentences(truth)}), targets, tmp_path / "soft")
    assert np.abs(predicted.scores_NK - targets.values[1::2]).mean() < 0.1
    targets = Targets(task="multiregression", classes=(), values=np.column_stack([truth * 100.0, truth - 5.0]))
    problem = make_problem("multiregression", TEXT, targets=("u", "v"), metric="rmse", direction="minimize")
    predicted = check_contract(TfidfLearner, problem, make_items({"t": sentences(truth)}), targets, tmp_path / "several")
    assert np.abs(predicted.scores_NK[:, 0] - truth[1::2] * 100).mean() < 25


def test_text_pairs_are_told_by_what_they_share(tmp_path):
    random = np.random.default_rng(4)
    vocabulary = ["".join(random.choice(list("abcdefghijklmnop"), 6)) for _ in range(400)]
    truth = truth_of(500)
    left = [" ".join(random.choice(vocabulary, 6)) for _ in truth]
    right = [a if same else " ".join(random.choice(vocabulary, 6)) for a, same in zip(left, truth, strict=True)]
    targets = Targets(task="binary", classes=("no", "yes"), values=truth)
    problem = make_problem("binary", (("a", "text"), ("b", "text")), classes=("no", "yes"))
    predicted = check_contract(TfidfLearner, problem, make_items({"a": left, "b": right}), targets, tmp_path)
    assert accuracy(predicted, targets) > 0.95


def test_columns_beside_the_text_count(tmp_path):
    truth = truth_of(400)
    columns = {"t": ["the same words"] * 400, "c": [("x", "y")[k] for k in truth], "n": [str(k * 10) for k in truth]}
    targets = Targets(task="binary", classes=("no", "yes"), values=truth)
    problem = make_problem("binary", (*TEXT, ("c", "category"), ("n", "number")), classes=("no", "yes"))
    assert accuracy(check_contract(TfidfLearner, problem, make_items(columns), targets, tmp_path), targets) == 1


def test_empty_texts_and_groups_that_leave_no_hold_out(tmp_path):
    truth = truth_of(60)
    texts = sentences(truth)
    texts[:10] = [None] * 5 + [""] * 5
    targets = Targets(task="binary", classes=("no", "yes"), values=truth)
    one_group = np.zeros(60, dtype=np.int64)
    check_contract(
        TfidfLearner,
        make_problem("binary", TEXT, classes=("no", "yes")),
        make_items({"t": texts}),
        targets,
        tmp_path,
        group=one_group,
    )


def test_nothing_to_read_no_time_and_damaged_files_are_told(tmp_path):
    truth = truth_of(60)
    targets = Targets(task="binary", classes=("no", "yes"), values=truth)
    items = make_items({"t": sentences(truth)})
    with pytest.raises(DataError, match="text_columns"):
        TfidfLearner(make_problem("binary", (), classes=("no", "yes")), TrainConfig()).fit(
            items, targets, halves(60), context_in(tmp_path)
        )
    learner = TfidfLearner(make_problem("binary", TEXT, classes=("no", "yes")), TrainConfig())
    with pytest.raises(BudgetError):
        learner.fit(items, targets, halves(60), context_in(tmp_path, deadline=Deadline(1e-9)))
    learner.save(learner.fit(items, targets, halves(60), context_in(tmp_path)), tmp_path / "learner")
    weights = tmp_path / "learner" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(RunError, match="safetensors"):
        learner.load(tmp_path / "learner")


def test_words_weigh_as_in_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [clean(text) for text in ("The cat, the mat", "a dog's life", "the dog and the cat", "")]
    spec = GramSpec(kind="word", low=1, high=2, min_texts=1)
    parts = list(counted(texts, spec, "x"))
    ours = weighted(parts, 4, spec, learn_vocabulary(parts, 4, spec, max_grams=100)).toarray()
    theirs = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+|[^\w\s]").fit_transform(texts).toarray()
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-12)


def test_chunks_and_salts(monkeypatch):
    from matchfit.learners.estimators import grams

    texts = [clean(text) for text in sentences(truth_of(50))]
    spec = GramSpec(kind="char", low=1, high=4, min_texts=1)
    whole = list(counted(texts, spec, "x"))
    monkeypatch.setattr(grams, "CHUNK_CHARACTERS", 100)
    parts = list(counted(texts, spec, "x"))
    assert len(parts) > 5
    for name in ("text", "gram", "count"):
        np.testing.assert_array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(whole[0], name))
    assert not np.isin(whole[0].gram, next(counted(texts, spec, "y")).gram).any()
    vocabulary = learn_vocabulary(parts, 50, spec, max_grams=20)
    assert len(vocabulary) == 20
    assert (np.diff(vocabulary.grams_V) > 0).all()
    assert vocabulary.idf_V.max() < learn_vocabulary(parts, 50, spec, max_grams=10**6).idf_V.max()


def test_characters_stay_within_words():
    spec = GramSpec(kind="char", low=1, high=3, min_texts=1)
    found = next(counted(["ab c"], spec, "x"))
    # "_a" "a" "ab" "b" "b_" "_ab" "ab_" and "_c" "c" "c_" "_c_"
    assert found.count.sum() == 11
    assert len(found.gram) == 11
