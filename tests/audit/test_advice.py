"""The advised split, on made-up competitions of every kind, and on the real ones beside the checkout."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from matchfit.audit.advice import SplitAdvice, advise_split
from matchfit.audit.groups import is_group_name, words
from matchfit.competition.problem import Competition, Feature, Items, MetricChoice, Problem, Targets
from matchfit.validation.config import SplitConfig
from matchfit.validation.folds import group_overlap, plan_folds


def competition(
    train: dict[str, list], test: dict[str, list], *, targets: tuple[str, ...] = ("label",), ids: str = "id"
) -> Competition:
    tables = [
        pl.DataFrame({k: pl.Series(k, [None if v is None else str(v) for v in c]) for k, c in part.items()})
        for part in (train, test)
    ]
    names = [t[ids] if ids in t.columns else pl.Series("id", [str(i) for i in range(t.height)]) for t in tables]
    shared = [name for name in tables[0].columns if name in tables[1].columns and name not in (*targets, ids)]
    problem = Problem(
        name="made-up",
        modality="tabular",
        task="multiclass" if targets == ("label",) else "regression",
        id_columns=(ids,),
        targets=targets,
        classes=("a", "b") if targets == ("label",) else (),
        submission_columns=(ids, *targets),
        prediction_columns=targets,
        submission_form="label",
        metric=MetricChoice(name="accuracy", direction="maximize", guessed=True),
        features=tuple(Feature(name=name, kind="category") for name in shared),
    )
    return Competition(
        problem=problem,
        folder=Path(),
        train=Items(ids=names[0], table=tables[0]),
        test=Items(ids=names[1], table=tables[1]),
        target_table=tables[0].select(targets),
        sample=None,
        train_only=tuple(name for name in tables[0].columns if name not in tables[1].columns and name not in targets),
    )


def divided(columns: dict[str, np.ndarray], is_test: np.ndarray, **train_only: np.ndarray) -> Competition:
    """A competition from whole columns and a mask; labels are random."""
    random = np.random.default_rng(9)
    size = len(is_test)
    columns = {"id": random.permutation(size), **columns}
    train = {name: values[~is_test].tolist() for name, values in columns.items()}
    train |= {name: values[~is_test].tolist() for name, values in train_only.items()}
    train["label"] = random.choice(["a", "b"], size)[~is_test].tolist()
    return competition(train, {name: values[is_test].tolist() for name, values in columns.items()})


def advice(made: Competition, near: np.ndarray | None = None) -> SplitAdvice:
    labels = np.array([("a", "b").index(value) for value in made.target_table["label"]])
    targets = Targets(task="multiclass", classes=("a", "b"), values=labels)
    advised = advise_split(made, targets, near)
    folds = plan_folds(made.train.ids, targets, SplitConfig(kind=advised.kind, by=advised.by), made.train.table, near)
    assert folds.num_folds == advised.num_folds  # what is advised can be done
    assert group_overlap(folds) == 0
    return advised


def codes(advised: SplitAdvice) -> list[str]:
    return [finding.code for finding in advised.findings]


def moments(count: int, *, minutes: int = 60) -> np.ndarray:
    return np.array(
        [(datetime(2020, 1, 1) + timedelta(minutes=minutes * index)).strftime("%Y-%m-%d %H:%M:%S") for index in range(count)]
    )


RANDOM = np.random.default_rng(0)
AT_RANDOM = RANDOM.random(2000) < 0.3


def test_nothing_special_is_stratified():
    made = divided(
        {
            "age": RANDOM.integers(17, 90, 2000),
            "fnlwgt": RANDOM.integers(10_000, 10_900, 2000),
            "education": RANDOM.choice(["x", "y", "z"], 2000),
            "city": RANDOM.choice([f"c{k}" for k in range(300)], 2000),
            "price": RANDOM.random(2000).round(1),
        },
        AT_RANDOM,
    )
    advised = advice(made)
    assert (advised.kind, advised.by, advised.findings) == ("stratified", (), ())
    assert "no column" in advised.why


@pytest.mark.parametrize("name", ["patient_id", "PatientID", "StudyInstanceUID", "molecule_name", "SentenceId", "speaker", "site"])
def test_groups_that_test_does_not_share(name: str):
    group = RANDOM.integers(0, 150, 2000)
    advised = advice(divided({name: group}, group % 4 == 0))
    assert (advised.kind, advised.by) == ("stratified_group", (name,))
    assert "holds none of them but 38 others" in advised.why
    assert codes(advised) == ["group_column"]


def test_groups_without_a_telling_name_when_the_figures_speak():
    group = np.array([f"q{value:x}" for value in RANDOM.integers(0, 200, 2000)])
    assert advice(divided({"thing": group}, np.array([int(g[1:], 16) % 4 == 0 for g in group]))).by == ("thing",)


@pytest.mark.parametrize("name", ["patient_id", "thing"])
def test_shared_groups_are_no_group_split(name: str):
    advised = advice(divided({name: RANDOM.integers(0, 150, 2000)}, AT_RANDOM))
    assert (advised.kind, advised.by) == ("stratified", ())
    assert codes(advised) == (["group_column_shared"] if name == "patient_id" else [])


def test_a_speaker_that_only_train_names():
    made = divided({"length": RANDOM.integers(0, 50, 2000)}, AT_RANDOM, speaker=np.arange(2000) % 4, noise=np.arange(2000) % 7)
    advised = advice(made)
    assert (advised.kind, advised.by, advised.num_folds) == ("group", ("speaker",), 4)
    assert "does not say" in advised.why


def test_a_patient_beside_a_test_of_three_rows():
    is_test = np.zeros(2000, dtype=bool)
    is_test[:3] = True
    assert advice(divided({"patient_id": RANDOM.integers(0, 200, 2000)}, is_test)).by == ("patient_id",)


def test_patients_are_chosen_over_their_studies():
    study = RANDOM.integers(0, 300, 2000)
    advised = advice(divided({"study_id": study, "patient_id": study // 3}, (study // 3) % 4 == 0))
    assert advised.by == ("patient_id",)
    assert codes(advised) == ["group_column", "group_column"]


def test_the_group_inside_an_id():
    group = np.repeat(np.arange(700), RANDOM.integers(1, 5, 700))
    ids = np.array([f"{g:04d}_{k:02d}" for k, g in enumerate(group)])
    made = divided({"x": np.arange(len(ids)) % 3}, group % 4 == 0)
    train, test = ids[group % 4 != 0], ids[group % 4 == 0]
    made = competition(
        {"PassengerId": train.tolist(), "label": (["a", "b"] * len(train))[: len(train)]},
        {"PassengerId": test.tolist()},
        ids="PassengerId",
    )
    assert advice(made).by == ("prefix(PassengerId)",)


def test_questions_that_come_with_several_answers():
    question = np.array([f"Why is the sky of planet {value} red in the evening?" for value in np.repeat(np.arange(40), 3)])
    answer = np.array([f"answer {index}" for index in range(120)])
    made = divided({"question": question, "title": question, "answer": answer}, np.repeat(np.arange(40) % 4 == 0, 3))
    assert advice(made).by in (("question",), ("title",))


@pytest.mark.parametrize("pattern", ["img_{}", "{}_x", "train-{}", "a_{}"])
def test_ordinary_ids_have_no_group_inside(pattern: str):
    ids = [pattern.format(index) for index in range(400)]
    made = competition({"id": ids[:300], "label": ["a", "b"] * 150}, {"id": ids[300:]})
    assert advice(made).kind == "stratified"


def test_the_speaker_hash_of_file_names():
    ids = [f"bed/{RANDOM.integers(0, 60):08x}_nohash_{index}.wav" for index in range(400)]
    made = competition({"id": ids, "label": ["a", "b"] * 200}, {"id": [f"clip_{index:05d}.wav" for index in range(100)]})
    assert advice(made).by == ("prefix(id)",)


def test_test_is_later():
    advised = advice(divided({"date": moments(2000)}, np.arange(2000) >= 1500))
    assert (advised.kind, advised.by) == ("time", ("date",))
    assert "100 % of the test items have a later date" in advised.why
    assert codes(advised) == ["time_column"]


def test_test_is_the_end_of_every_month():
    when = moments(8000)
    advised = advice(divided({"datetime": when}, np.array([int(value[8:10]) >= 20 for value in when])))
    assert (advised.kind, advised.by) == ("time", ("datetime",))
    assert "stretches" in advised.why


@pytest.mark.parametrize(
    "values", [moments(2000), np.array([f"{1_500_000_000 + 60 * index}" for index in range(2000)]), np.arange(2000) // 25 + 1940]
)
def test_times_at_random_are_told_and_no_more(values: np.ndarray):
    advised = advice(divided({"time" if values[0] != 1940 else "year": values}, AT_RANDOM))
    assert (advised.kind, advised.by) == ("stratified", ())
    assert codes(advised) == ([] if values[0] == 1940 else ["time_column"])


def test_days_with_train_and_test_items_are_mixed():
    day = np.sort(np.array([value[:10] for value in moments(2000, minutes=200)]))
    assert advice(divided({"day": day}, AT_RANDOM)).kind == "stratified"


def test_years_that_only_test_has():
    year = RANDOM.integers(2000, 2020, 2000)
    assert advice(divided({"year": year}, year >= 2016)).by == ("year",)


@pytest.mark.parametrize("name", ["hour", "month", "weekday", "day"])
def test_what_comes_round_is_no_time(name: str):
    value = RANDOM.integers(0, 12, 2000)
    assert advice(divided({name: value}, value >= 9)).kind == "stratified"


def test_the_last_items_of_every_user():
    user = RANDOM.integers(0, 80, 4000)
    when = RANDOM.integers(1_000_000_000, 1_500_000_000, 4000)
    rank = (
        pl.DataFrame({"u": user, "t": when})
        .select(pl.col("t").rank("ordinal").over("u") / pl.len().over("u"))
        .to_series()
        .to_numpy()
    )
    advised = advice(divided({"userId": user, "movieId": RANDOM.integers(0, 500, 4000), "timestamp": when}, rank > 0.8))
    assert (advised.kind, advised.by) == ("time", ("userId", "timestamp"))
    assert "same userId" in advised.why


def test_visits_that_lie_close_in_time_do_not_hide_the_patients():
    patient = np.repeat(RANDOM.permutation(200), 10)
    advised = advice(
        divided({"patient_id": patient, "date": moments(2000)}, np.isin(patient, RANDOM.choice(200, 50, replace=False)))
    )
    assert advised.by == ("patient_id",)


def test_sessions_of_a_later_test_are_divided_in_time():
    assert advice(divided({"session_id": np.arange(2000) // 10, "date": moments(2000)}, np.arange(2000) >= 1500)).by == ("date",)


def test_a_date_that_is_mostly_empty_or_only_in_train_is_told():
    when = moments(2000)
    when[:400] = ""
    table = {"date": np.array([value or None for value in when], dtype=object)}
    advised = advice(divided(table, np.arange(2000) >= 1500))
    assert advised.kind == "stratified"
    assert "have no date" in advised.findings[0].message
    advised = advice(divided({}, AT_RANDOM, date=moments(2000)))
    assert "test has no date" in advised.findings[0].message


def test_near_duplicates_are_part_of_the_reason():
    made = divided({"x": np.arange(2000) % 7}, AT_RANDOM)
    near = np.full(len(made.train), -1)
    near[:6] = [0, 0, 1, 1, 1, 2]
    assert "2 clusters of near-duplicates (5 items) stay together" in advice(made, near).why


def test_the_hosts_own_folds_are_pointed_out():
    assert codes(advice(divided({}, AT_RANDOM, fold=np.arange(2000) % 5))) == ["fold_column"]


def test_numbers_are_balanced_by_quantiles_and_tasks_without_targets_are_random():
    made = competition({"id": list(range(50)), "y": list(range(50))}, {"id": list(range(50, 60))}, targets=("y",))
    targets = Targets(task="regression", classes=(), values=np.arange(50.0)[:, None])
    assert "quantiles" in advise_split(made, targets).why
    assert advise_split(made, None).kind == "random"


def test_an_empty_test_and_one_row_of_train_are_survived():
    made = competition({"id": ["1"], "label": ["a"], "patient_id": ["p"]}, {"id": []})
    assert advise_split(made, None).kind == "random"


def test_names():
    assert words("StudyInstanceUID") == ["study", "instance", "uid"]
    assert words("userId") == ["user", "id"]
    assert all(map(is_group_name, ("patientid", "Patient ID", "users", "breath_id", "Subject")))
    assert not any(map(is_group_name, ("patient_age", "valid", "id", "anatom_site_general", "user_score", "name", "")))


EXPECTED = {
    "fsdd-speakers": ("group", ("speaker",)),
    "bike-sharing-demand": ("time", ("datetime",)),
    "movielens-small-rating": ("time", ("userId", "timestamp")),
    "trashnet": ("stratified", ()),
    "banking77": ("stratified", ()),
    "adult-income": ("stratified", ()),
    "cifar10-mini": ("stratified", ()),
    "wisesight-th": ("stratified", ()),
}


@pytest.mark.peers
@pytest.mark.parametrize("name", EXPECTED)
def test_real_competitions(name: str, tmp_path: Path, real_competition):
    from matchfit.competition.config import CompetitionConfig
    from matchfit.competition.read import read_competition
    from matchfit.competition.targets import encode_targets

    read = read_competition(real_competition(name), CompetitionConfig(), scratch=tmp_path)
    targets = None if read.problem.task == "other" else encode_targets(read.problem, read.target_table)
    advised = advise_split(read, targets)
    assert (advised.kind, advised.by) == EXPECTED[name]
    folds = plan_folds(read.train.ids, targets, SplitConfig(kind=advised.kind, by=advised.by), read.train.table)
    assert group_overlap(folds) == 0
