"""`inspect`, `train`, `predict` and `check` on small competitions, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from small import MAKERS, make_images, make_table, make_texts

from matchfit import api
from matchfit.core.errors import BudgetError, ConfigError, DataError, RunError


def quiet(_line: str) -> None: ...


@pytest.mark.parametrize("kind", MAKERS)
def test_fast_dev_run_writes_everything(kind: str, tmp_path: Path) -> None:
    folder = MAKERS[kind](tmp_path / kind)
    result = api.train(folder, out=tmp_path / "run", fast_dev_run=True, flags={"split.num_folds": 2}, say=quiet)
    for name in ("run.json", "record.json", "oof.csv", "oof.parquet", "test.parquet", "submission.csv"):
        assert (result.directory / name).exists(), name
    assert api.check(tmp_path / "run" / "submission.csv", folder).valid
    sample = pl.read_csv(folder / "sample_submission.csv", infer_schema=False)
    written = pl.read_csv(tmp_path / "run" / "submission.csv", infer_schema=False)
    assert written[:, 0].to_list() == sample[:, 0].to_list()
    oof = pl.read_csv(tmp_path / "run" / "oof.csv", infer_schema=False)
    train_ids = pl.read_csv(folder / "train.csv", infer_schema=False)[:, 0]
    assert oof[:, 0].to_list() == train_ids.to_list()
    assert oof.columns[1:3] == ["fold", "target"]
    assert set(oof["fold"]) == {"0", "1"}
    record = json.loads((tmp_path / "run" / "record.json").read_text(encoding="utf-8"))
    assert set(record["score"]) >= {"metric", "oof", "folds", "interval"}
    assert record["overlap"] == 0


def test_table_learns_and_predict_repeats_the_submission(tmp_path: Path) -> None:
    folder = make_table(tmp_path / "homes")
    result = api.train(folder, out=tmp_path / "run", flags={"split.num_folds": 3}, say=quiet)
    score = result.record["score"]
    assert score["metric"] == "rmse"
    assert score["oof"] < 60  # the prices' own spread is about 160
    assert score["interval"][0] <= score["oof"] <= score["interval"][1]
    api.predict(tmp_path / "run", folder, tmp_path / "again.csv", say=quiet)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "run" / "submission.csv").read_bytes()
    test_only = tmp_path / "hidden"
    test_only.mkdir()
    (test_only / "test.csv").write_bytes((folder / "test.csv").read_bytes())
    api.predict(tmp_path / "run", test_only, tmp_path / "hidden.csv", say=quiet)
    assert (tmp_path / "hidden.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()


def test_predict_takes_the_best_finished_run_of_a_folder(tmp_path: Path) -> None:
    folder = make_table(tmp_path / "homes")
    weak = api.train(folder, flags={"split.num_folds": 2}, assignments=["max_rounds=1"], say=quiet)
    good = api.train(folder, flags={"split.num_folds": 2}, say=quiet)
    api.train(folder, flags={"split.num_folds": 2}, fast_dev_run=True, say=quiet)
    assert good.record["score"]["oof"] < weak.record["score"]["oof"]
    assert api.predict(folder, folder, tmp_path / "best.csv", say=quiet).run == good.directory.resolve()


def test_texts_learn_and_some_folds_can_run(tmp_path: Path) -> None:
    folder = make_texts(tmp_path / "intents")
    result = api.train(folder, out=tmp_path / "run", folds="0,2", flags={"split.num_folds": 3}, say=quiet)
    assert result.record["score"]["oof"] > 0.9
    assert len(result.record["score"]["folds"]) == 2
    assert result.record["rows"]["scored"] < 90
    assert api.check(tmp_path / "run" / "submission.csv", folder).valid


def test_same_seed_same_bits(tmp_path: Path) -> None:
    folder = make_texts(tmp_path / "intents")
    for name in ("a", "b"):
        api.train(folder, out=tmp_path / name, flags={"split.num_folds": 2}, say=quiet)
    for file in ("oof.csv", "submission.csv", "test.parquet"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_missing_and_broken_pictures_are_predicted_all_the_same(tmp_path: Path) -> None:
    folder = make_images(tmp_path / "squares")
    lines: list[str] = []
    api.train(folder, out=tmp_path / "run", fast_dev_run=True, flags={"split.num_folds": 2}, say=lines.append)
    written = pl.read_csv(tmp_path / "run" / "submission.csv", infer_schema=False)
    assert len(written) == 15
    assert set(written["label"]) <= {"red", "blue"}
    codes = {
        finding["code"] for finding in json.loads(Path("runs/squares/inspection.json").read_text(encoding="utf-8"))["findings"]
    }
    assert "missing_media" in codes


def test_bad_input_is_refused_before_work(tmp_path: Path) -> None:
    folder = make_table(tmp_path / "homes")
    with pytest.raises(ConfigError, match=r"train\.epochs: must have an effect"):
        api.train(folder, flags={"train.epochs": 3.0}, say=quiet)
    with pytest.raises(ConfigError, match=r"Did you mean 'rmse'"):
        api.train(folder, assignments=["metric=rmsee"], say=quiet)
    with pytest.raises(ConfigError, match=r"--folds 0,7"):
        api.train(folder, folds="0,7", say=quiet)
    with pytest.raises(ConfigError, match=r"--max-time"):
        api.train(folder, max_time="soon", say=quiet)
    with pytest.raises(DataError, match="nothing there"):
        api.train(tmp_path / "none", say=quiet)
    with pytest.raises(RunError, match=r"no run\.json"):
        api.train(folder, out=tmp_path / "nothing", resume=True, say=quiet)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match="other files"):
        api.train(folder, out=tmp_path / "full", say=quiet)
    assert not list(Path("runs").rglob("run.json"))


def test_deadline_keeps_what_is_finished_and_resume_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matchfit.learners import run as run_module

    folder = make_texts(tmp_path / "intents")
    fit_fold, done = run_module._fit_fold, []

    def one_then_late(*args: object) -> object:
        if done:
            raise BudgetError("--max-time", rule="must leave time", found="none", todo="Allow more.")
        done.append(fit_fold(*args))
        return done[0]

    monkeypatch.setattr(run_module, "_fit_fold", one_then_late)
    with pytest.raises(BudgetError, match="folds 1, 2 missing"):
        api.train(folder, out=tmp_path / "run", flags={"split.num_folds": 3}, max_time="1h", say=quiet)
    assert api.check(tmp_path / "run" / "submission.csv", folder).valid
    monkeypatch.setattr(run_module, "_fit_fold", fit_fold)
    resumed = api.train(folder, out=tmp_path / "run", flags={"split.num_folds": 3}, resume=True, say=quiet)
    whole = api.train(folder, out=tmp_path / "whole", flags={"split.num_folds": 3}, say=quiet)
    assert resumed.record["finished"]
    assert (tmp_path / "run" / "oof.csv").read_bytes() == (tmp_path / "whole" / "oof.csv").read_bytes()
    assert resumed.record["score"] == whole.record["score"]


def test_resume_refuses_what_would_change_the_result(tmp_path: Path) -> None:
    folder = make_table(tmp_path / "homes")
    api.train(folder, out=tmp_path / "run", flags={"split.num_folds": 2}, say=quiet)
    with pytest.raises(ConfigError, match="a resumed run keeps"):
        api.train(folder, out=tmp_path / "run", flags={"split.num_folds": 2, "train.seed": 5}, resume=True, say=quiet)
    with pytest.raises(RunError, match="the run's folds"):
        api.train(folder, out=tmp_path / "run", flags={"split.num_folds": 3}, resume=True, say=quiet)


def test_settings_file_is_never_written_over_edits(tmp_path: Path) -> None:
    folder = make_table(tmp_path / "homes")
    api.inspect(folder, say=quiet)
    path = Path("runs/homes/matchfit.yaml")
    first = path.read_text(encoding="utf-8")
    api.inspect(folder, say=quiet)
    assert path.read_text(encoding="utf-8") == first
    edited = first.replace("competition:\n", "competition:\n  metric: mae\n")
    path.write_text(edited, encoding="utf-8")
    inspection = api.inspect(folder, say=quiet)
    assert path.read_text(encoding="utf-8") == edited
    assert (inspection.as_json()["metric"]["name"], inspection.as_json()["metric"]["guessed"]) == ("mae", False)


def test_nothing_to_predict_gives_a_submission_without_rows(tmp_path: Path) -> None:
    folder = make_table(tmp_path / "later")
    for name in ("test.csv", "sample_submission.csv"):
        header = (folder / name).read_text(encoding="utf-8").split("\n")[0]
        (folder / name).write_text(header + "\n", encoding="utf-8")
    result = api.train(folder, workspace=tmp_path / "ws", fast_dev_run=True)
    written = result.directory / "submission.csv"
    assert written.read_text(encoding="utf-8").count("\n") == 1
    assert api.check(written, folder, workspace=tmp_path / "ws").valid


def test_a_run_that_is_not_there_is_not_replaced_by_another(tmp_path: Path) -> None:
    folder = make_table(tmp_path / "data")
    api.train(folder, workspace=tmp_path / "ws", assignments=["num_folds=2", "max_rounds=2"])
    with pytest.raises(RunError, match="nothing there"):
        api.predict(tmp_path / "mistyped", folder, tmp_path / "out.csv", workspace=tmp_path / "ws")
    (tmp_path / "ws" / "matchfit.yaml").write_bytes(b"\xff\xfe\x00bad")
    with pytest.raises(ConfigError, match="UTF-8"):
        api.inspect(folder, workspace=tmp_path / "ws")


def test_keys_that_a_verb_does_not_read_are_refused(tmp_path: Path) -> None:
    folder = make_table(tmp_path / "data")
    with pytest.raises(ConfigError, match=r"train\.lr: must have an effect on `inspect`"):
        api.inspect(folder, workspace=tmp_path / "ws", assignments=["lr=3"])
    with pytest.raises(ConfigError, match=r"split\.num_folds: must have an effect on `check`"):
        api.check(folder / "sample_submission.csv", folder, workspace=tmp_path / "ws", assignments=["num_folds=3"])
    with pytest.raises(ConfigError, match=r"train\.lr: must have an effect on `predict`"):
        api.predict(tmp_path, folder, tmp_path / "out.csv", assignments=["lr=3"])


def test_predict_on_other_rows_than_the_sample_asks_for(tmp_path: Path) -> None:
    folder = make_table(tmp_path / "data")
    run = api.train(folder, workspace=tmp_path / "ws", assignments=["num_folds=2", "max_rounds=2"]).directory
    with pytest.raises(RunError, match="the run's folds"):
        api.train(folder, workspace=tmp_path / "ws", out=run, resume=True, assignments=["num_folds=3"])
    lines = (folder / "test.csv").read_text(encoding="utf-8").splitlines()
    sample = (folder / "sample_submission.csv").read_text(encoding="utf-8")
    for name, rows in {"more": [*lines, lines[-1].replace(lines[-1].split(",")[0], "new", 1)], "fewer": lines[:6]}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "test.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
        (tmp_path / name / "sample_submission.csv").write_text(sample, encoding="utf-8")
    said: list[str] = []
    written = api.predict(run, tmp_path / "more", tmp_path / "out.csv", workspace=tmp_path / "ws", say=said.append)
    assert written.rows == len(lines) - 1
    assert any("1 test rows are not in the sample submission" in line for line in said)
    with pytest.raises(DataError, match=r"must ask for the items of test\.csv; found 30 rows for a table of 5 rows"):
        api.predict(run, tmp_path / "fewer", tmp_path / "out.csv", workspace=tmp_path / "ws")
