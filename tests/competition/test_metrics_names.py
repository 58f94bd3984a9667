"""How metrics are named, guessed, checked against the problem, and read from a user's file."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from metric_cases import example
from submission_cases import class_scores, labels, probability, values

from matchfit.competition.metrics import METRICS, get_metric, load_metric, metrics_for, score, settle_metric, usual_metric
from matchfit.competition.problem import MetricChoice, Predictions, Targets
from matchfit.core.errors import ConfigError, MetricError

NAMES = [
    ("map@5", "map@5"),
    ("MAP@3", "map@3"),
    ("map5", "map@5"),
    ("mapk", "map@5"),
    ("top5_accuracy", "top_k@5"),
    ("top_k@5", "top_k@5"),
    ("top-3 accuracy", "top_k@3"),
    ("top_1_accuracy", "accuracy"),
    ("f_beta@2", "f_beta@2"),
    ("fbeta:2", "f_beta@2"),
    ("f2", "f_beta@2"),
    ("f0.5", "f_beta@0.5"),
    ("f2_samples", "f_beta_samples@2"),
    ("F1", "f1"),
    ("macro_f1", "f1_macro"),
    ("macro-F1", "f1_macro"),
    ("auc", "roc_auc"),
    ("ROC AUC", "roc_auc"),
    ("QWK", "qwk"),
    ("quadratic weighted kappa", "qwk"),
    ("Log Loss", "log_loss"),
    ("log_loss@1e-15", "log_loss@1e-15"),
    ("log_loss:eps=1e-15", "log_loss@1e-15"),
    ("rmse", "rmse"),
    ("mcrmse", "mcrmse"),
    ("pinball@0.9", "pinball@0.9"),
    ("R²", "r2"),
]


@pytest.mark.parametrize(("typed", "name"), NAMES)
def test_spellings(typed: str, name: str) -> None:
    assert get_metric(typed).name == name
    assert get_metric(name).name == name


FAULTS = [
    ("rmsee", "Did you mean 'rmse'"),
    ("f_beta", "needs beta"),
    ("map@0", "whole number between 1"),
    ("map@2.5", "whole number"),
    ("pinball@1.5", "between 0 and 1"),
    ("accuracy@3", "takes no parameter"),
    ("", "must be the name of a metric"),
]


@pytest.mark.parametrize(("typed", "message"), FAULTS)
def test_faulty_names(typed: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        get_metric(typed)


def test_a_metric_must_fit_the_task_and_the_direction() -> None:
    problem = values().problem
    with pytest.raises(ConfigError, match="must fit the task regression"):
        get_metric("accuracy", problem)
    assert get_metric("rmse", problem).name == "rmse"
    with pytest.raises(ConfigError, match="is to minimize"):
        get_metric(MetricChoice(name="rmse", direction="maximize", guessed=False), problem)


def test_metrics_for_a_problem() -> None:
    assert "qwk" in metrics_for("ordinal")
    assert "f1" not in metrics_for(labels().problem)
    assert set(metrics_for(values().problem)) >= {"rmse", "rmsle", "mae", "pearson"}


def counts(values: list[float]) -> Targets:
    return Targets(task="regression", classes=(), values=np.array(values)[:, None])


SHARES = Targets(task="multiregression", classes=(), values=np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]))
USUAL = [
    ("binary", "label", None, "accuracy"),
    ("binary", "probability", None, "roc_auc"),
    ("multiclass", "label", None, "accuracy"),
    ("multiclass", "class_scores", None, "log_loss"),
    ("multilabel", "class_scores", None, "roc_auc"),
    ("multilabel", "label_list", None, "f1_samples"),
    ("multiclass", "ranked_list", None, "map@5"),
    ("ordinal", "label", None, "qwk"),
    ("ordinal", "class_scores", None, "log_loss"),
    ("regression", "value", None, "rmse"),
    ("regression", "value", counts([0.5, 5.0, 3.5]), "rmse"),
    ("regression", "value", counts([0, 1, 3, 2, 5, 900, 80]), "rmsle"),
    ("regression", "value", counts([10, 400, 800, 700]), "rmse"),
    ("multiregression", "values", None, "mcrmse"),
    ("multiregression", "values", SHARES, "kl_divergence"),
    ("segmentation", "other", None, "dice"),
    ("detection", "other", None, "box_map@0.5"),
    ("other", "other", None, "exact_match"),
]


@pytest.mark.parametrize(("task", "form", "targets", "name"), USUAL)
def test_usual_metric(task: str, form: str, targets: Targets | None, name: str) -> None:
    choice = usual_metric(task, form, targets=targets)
    assert (choice.name, choice.guessed) == (name, True)
    if task not in ("detection", "segmentation"):
        metric = get_metric(choice)
        assert task in metric.tasks
        assert metric.direction == choice.direction


def test_settled_choices(tmp_path: Path) -> None:
    usual = usual_metric("multiclass", "label")
    assert settle_metric(None, None, None, usual) is usual
    chosen = settle_metric("macro_f1", None, "maximize", usual)
    assert chosen == MetricChoice(name="f1_macro", direction="maximize", guessed=False)
    with pytest.raises(ConfigError, match="is to minimize"):
        settle_metric("rmse", None, "maximize", usual)
    with pytest.raises(ConfigError, match="is to maximize"):
        settle_metric(None, None, "minimize", usual)
    with pytest.raises(ConfigError, match="excludes competition"):
        settle_metric("rmse", "own.py", None, usual)
    write(tmp_path)
    assert settle_metric(None, "own.py", None, usual, folder=tmp_path) == MetricChoice(
        name="own", direction="maximize", guessed=False, file=str(tmp_path / "own.py")
    )


GOOD = """
import numpy as np
direction = "maximize"
needs = "labels"

def metric(truth, prediction):
    return np.mean(truth == prediction)
"""


def write(folder: Path, source: str = GOOD, name: str = "own.py") -> Path:
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return path


def test_a_users_metric_scores(tmp_path: Path) -> None:
    metric = load_metric(write(tmp_path), labels().problem)
    truth, noisy, perfect = example("multiclass")
    assert metric(truth, noisy) == METRICS.get("accuracy")(truth, noisy)
    assert metric(truth, perfect) == 1.0
    choice = MetricChoice(name="own", direction="maximize", guessed=False, file="own.py")
    assert get_metric(choice, labels().problem, folder=tmp_path)(truth, noisy) == metric(truth, noisy)


def test_a_changed_file_is_read_again_and_two_files_stay_apart(tmp_path: Path) -> None:
    truth, noisy, _ = example("multiclass")
    first = load_metric(write(tmp_path))
    value = first(truth, noisy)
    second = load_metric(write(tmp_path, GOOD.replace("return np", "return 0.5 * np")))
    assert second(truth, noisy) == value / 2
    assert first(truth, noisy) == value
    assert "own" not in METRICS


def test_what_a_users_function_gets(tmp_path: Path) -> None:
    source = "direction = 'minimize'\nneeds = '{}'\ndef metric(truth, prediction):\n    truth[0] = truth[1]\n    return {}\n"
    truth, noisy, _ = example("binary")
    shape = load_metric(write(tmp_path, source.format("probabilities", "10 * truth.ndim + prediction.ndim")))
    assert shape(truth, noisy) == 11.0
    ranks = load_metric(write(tmp_path, source.format("ranks", "prediction.shape[1]")))
    assert ranks(truth, noisy) == 2.0
    before = truth.values.copy()
    shape(truth, noisy)
    assert np.array_equal(before, truth.values), "the function works on copies"
    truth, noisy, _ = example("regression")
    one = load_metric(write(tmp_path, source.format("values", "truth.ndim")), values().problem)
    assert one(truth, noisy) == 1.0
    truth, noisy, _ = example("multiregression")
    assert one(truth, noisy) == 2.0


BROKEN = [
    ("def metric(truth, prediction)\n    return 1", "SyntaxError in line 1"),
    ("import nothing_like_this", "ModuleNotFoundError in line 1"),
    ("direction = 'maximize'\nneeds = 'labels'", "no such function"),
    (GOOD.replace("truth, prediction", "truth"), "two arguments"),
    (GOOD.replace("maximize", "up"), "direction = one of"),
    (GOOD.replace('needs = "labels"', ""), "needs = one of"),
    (GOOD.replace("maximize", "minimize"), "must make the perfect prediction the best"),
    (GOOD.replace("np.mean(truth == prediction)", "truth.nothing"), "AttributeError in line 7"),
    (GOOD.replace("np.mean(truth == prediction)", "'high'"), "ValueError"),
    (GOOD.replace("np.mean(truth == prediction)", "float('nan')"), "nan"),
    (GOOD.replace("np.mean(truth == prediction)", "None"), "TypeError"),
]


@pytest.mark.parametrize(("source", "message"), BROKEN)
def test_a_broken_file_is_told_at_once(tmp_path: Path, source: str, message: str) -> None:
    with pytest.raises(ConfigError, match="metric file") as caught:
        load_metric(write(tmp_path, source), labels().problem)
    assert message in str(caught.value)


def test_a_file_must_be_there_and_have_a_name_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="readable Python file"):
        load_metric(tmp_path / "nothing.py")
    with pytest.raises(ConfigError, match="Rename the file"):
        load_metric(write(tmp_path, name="accuracy.py"))


def test_a_fault_while_scoring_is_an_event(tmp_path: Path) -> None:
    metric = load_metric(write(tmp_path, GOOD.replace("np.mean(truth == prediction)", "1 / (len(truth) - 60)")))
    truth, noisy, _ = example("multiclass")
    with pytest.raises(MetricError, match="ZeroDivisionError in line 7"):
        metric(truth, noisy)


@pytest.mark.parametrize("task", ["binary", "multiclass", "ordinal", "multilabel"])
@pytest.mark.parametrize("needs", ["labels", "probabilities", "ranks"])
def test_rehearsal_fits_every_task(tmp_path: Path, task: str, needs: str) -> None:
    source = f"direction = 'maximize'\nneeds = '{needs}'\ndef metric(truth, prediction):\n    assert len(truth) == len(prediction)\n    return 1.0\n"
    problem = (probability() if task == "binary" else class_scores()).problem
    metric = load_metric(write(tmp_path, source), dataclasses.replace(problem, task=task))
    truth, noisy, _ = example(task)
    assert metric(truth, noisy) == 1.0


@pytest.mark.parametrize("task", ["binary", "multiclass", "ordinal", "multilabel", "regression", "multiregression", "ranking"])
def test_listed_metrics_are_ready_to_use(task: str) -> None:
    problem = dataclasses.replace(labels().problem, task=task)
    truth, noisy, _ = example(task)
    for name in metrics_for(problem):
        outcome = score(get_metric(name, problem), truth, noisy)
        assert outcome.value is not None or name == "laplace_log_likelihood", outcome.event


def test_asked_by_name_it_fits_more_tasks() -> None:
    truth, noisy, _ = example("regression")
    assert "qwk" not in metrics_for("regression")
    assert get_metric("qwk", values().problem)(truth, noisy) > 0


PAGE = Path(__file__).parents[2] / "docs" / "adding-a-metric.md"


def test_the_page_lists_every_metric() -> None:
    text = PAGE.read_text(encoding="utf-8")
    hidden = {f"f_beta_{average}" for average in ("macro", "micro", "weighted", "samples")}  # written as `_macro` …
    missing = [name for name in METRICS if name not in hidden and f"`{name}`" not in text and f"`{name}@" not in text]
    assert missing == []


def test_the_pages_own_file_scores(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    source = text.split("```python\n")[1].split("```")[0]
    metric = load_metric(write(tmp_path, source, "weighted_mae.py"), values().problem)
    truth = Targets(task="regression", classes=(), values=np.array([[100.0], [200.0]]))
    assert metric(truth, Predictions(columns=("y",), scores_NK=np.array([[103.0], [200.0]]))) == 1.0
