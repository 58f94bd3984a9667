"""Records, seeds, durations, configuration, locks, workspace: the contracts that every room leans on."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from matchfit.core.config import parse_assignments, parse_yaml
from matchfit.core.console import number
from matchfit.core.durations import Deadline, format_duration, parse_duration
from matchfit.core.errors import ConfigError, DataError, RunError, missing_dependency, nearest, sentence
from matchfit.core.families import Family
from matchfit.core.lock import exclusive
from matchfit.core.records import content_hash, jsonable, read_record, write_record, write_text
from matchfit.core.seeds import derive_seed, generator
from matchfit.core.workspace import Workspace, claim, workspace_for
from matchfit.settings import load_settings


def test_error_has_four_parts_and_survives_a_process_boundary() -> None:
    error = DataError("--lr", rule="must be above zero", found="-1", todo="Give 0.001.")
    assert str(error) == "--lr: must be above zero; found -1. Give 0.001."
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.todo) == (DataError, str(error), "Give 0.001.")


def test_nearest_puts_the_close_name_first() -> None:
    assert nearest("acuracy", ["rmse", "accuracy"]).startswith("did you mean 'accuracy'?")
    assert "did you mean" not in nearest("zzz", ["rmse", "accuracy"])


def test_missing_dependency_names_the_extra() -> None:
    assert "pip install 'matchfit[text]'" in str(missing_dependency("transformers", extra="text", needed_for="--model minilm"))


def test_family_refuses_duplicates_and_answers_a_miss() -> None:
    family: Family[int] = Family("metric", "metrics")
    family.add("rmse", 1, aliases=("root",))
    assert family.get("root") == 1
    assert list(family) == ["rmse"]
    with pytest.raises(ConfigError, match="entered once"):
        family.add("root", 2)
    with pytest.raises(ConfigError, match=r"Did you mean 'rmse'"):
        family.get("rmsee")


def test_record_round_trip_and_refusals(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "record.json"
    write_record(path, schema=3, score=np.float64(0.5), ids=("a", "b"), bad=float("nan"), where=tmp_path)
    assert read_record(path, schema=3) == {"schema": 3, "score": 0.5, "ids": ["a", "b"], "bad": None, "where": str(tmp_path)}
    with pytest.raises(RunError, match="schema 4"):
        read_record(path, schema=4)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match="JSON"):
        read_record(path, schema=3)
    with pytest.raises(RunError, match="no such file"):
        read_record(tmp_path / "none.json", schema=3)


def test_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_content_hash_does_not_depend_on_key_order() -> None:
    assert content_hash({"a": 1, "b": [2.0, None]}) == content_hash({"b": (2.0, None), "a": 1})
    assert jsonable({"x": {3, 1}}) == {"x": [1, 3]}


def test_seeds_are_pinned_and_distinct() -> None:
    assert derive_seed(0, "augment", 1) == 5043833245539238708
    assert len({derive_seed(0, "a", item) for item in range(10_000)}) == 10_000
    assert derive_seed(1, "1") != derive_seed("1", 1)
    assert generator(7, "x").random() == generator(7, "x").random()


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("35m", 2100), ("1h30m", 5400), ("2.5", 2.5), ("500ms", 0.5)])
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text, name="--max-time") == seconds


@pytest.mark.parametrize("text", ["", "0", "-3m", "5 parsecs", "m", "nan"])
def test_wrong_durations(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--max-time: must be a duration"):
        parse_duration(text, name="--max-time")


def test_format_duration_and_deadline() -> None:
    assert [format_duration(x) for x in (3.21, 245, 3720)] == ["3.2 s", "4 min 05 s", "1 h 02 min"]
    assert not Deadline().passed()
    assert Deadline(seconds=0.0).passed()


def test_yaml_keeps_text_that_yaml_1_1_would_turn() -> None:
    text = "a: no\nb: 007\nc: 2011-01-01\nd: 1e-3\ne: true\nf: 1_000\ng: 12:30"
    assert parse_yaml(text, source="x") == {
        "a": "no",
        "b": "007",
        "c": "2011-01-01",
        "d": 0.001,
        "e": True,
        "f": "1_000",
        "g": "12:30",
    }


def test_assignments() -> None:
    assert parse_assignments(["lr=1e-3", "by=[a, b]"]) == {"lr": 0.001, "by": ["a", "b"]}
    with pytest.raises(ConfigError, match="key=value"):
        parse_assignments(["lr"])
    with pytest.raises(ConfigError, match="it twice"):
        parse_assignments(["lr=1", "lr=2"])


def test_settings_layers_and_errors(tmp_path: Path) -> None:
    path = tmp_path / "matchfit.yaml"
    path.write_text("train:\n  lr: 0.1\n  epochs: 3\nsplit:\n", encoding="utf-8")
    settings = load_settings(path, ["lr=0.2", "split.num_folds=3"])
    assert (settings.train.lr, settings.train.epochs, settings.split.num_folds) == (0.2, 3, 3)
    with pytest.raises(ConfigError, match=r"Did you mean 'epochs'"):
        load_settings(None, ["epoch=3"])
    with pytest.raises(ConfigError, match=r"train\.lr"):
        load_settings(None, ["lr=fast"])
    path.write_text("train:\n  lrr: 0.1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"Did you mean 'lr'"):
        load_settings(path)
    path.write_text("train: [1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="must be YAML"):
        load_settings(path)
    path.write_text("train: 3\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="train"):
        load_settings(path)


_HOLD = """
import sys, time
from pathlib import Path
from matchfit.core.lock import exclusive
with exclusive(Path(sys.argv[1]), purpose="train"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_second_process_is_refused_and_a_dead_one_is_not_in_the_way(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", _HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "held"
    with pytest.raises(RunError, match=f"process {holder.pid} at work"), exclusive(tmp_path, purpose="train"):
        pass
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    with exclusive(tmp_path, purpose="train"):
        pass


def test_workspaces_of_equal_names_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = tmp_path / "a" / "digits", tmp_path / "b" / "digits"
    claim(workspace_for(first, None), first)
    assert workspace_for(first, None).root == Path("runs/digits")
    assert workspace_for(second, None).root == Path("runs/digits-2")


def test_ledger_survives_a_half_written_line(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.register(run="a", score=0.5)
    with workspace.ledger.open("a", encoding="utf-8") as file:
        file.write('{"run": "b"')
    assert [entry["run"] for entry in workspace.entries()] == ["a"]
    assert json.loads(workspace.ledger.read_text(encoding="utf-8").splitlines()[0])["at"] <= time.strftime("%Y-%m-%dT%H:%M:%S")


def test_new_runs_never_share_a_folder(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    paths = {workspace.new_run("resnet 18/x") for _ in range(5)}
    assert len(paths) == 5
    assert all("/" not in path.name and " " not in path.name for path in paths)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.50000"), (0.0, "0.00000"), (-12.3456789, "-12.34568"), (3.2e-300, "3.2e-300"), (6.47789673e29, "6.4779e+29")],
)
def test_scores_of_any_size_are_readable(value: float, text: str) -> None:
    assert number(value) == text


def test_names_in_a_message_keep_their_letters() -> None:
    assert sentence(nearest("patientid", ["PatientID", "B"])) == "Did you mean 'PatientID'? one of: B, PatientID"


def test_of_many_names_several_are_listed() -> None:
    assert nearest("foo", [f"name_{number:03}" for number in range(99)] + ["food"]).count(",") == 5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("competition: {targets: y}", "competition.targets: must be a list, as in [name]; found 'y'"),
        ("competition: {classes: [true]}", "must be text; put it in quotes"),
        ("split: {kind: column}", "split: a column split needs by"),
        ("train: 3", "train: must be a section of key: value lines; found 3"),
        ("split: {num_folds: 1}", "should be greater than or equal to 2; found 1"),
    ],
)
def test_faults_of_settings_are_told_in_the_words_of_yaml(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "matchfit.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as fault:
        load_settings(tmp_path / "matchfit.yaml")
    assert says in str(fault.value)
    assert "Value error" not in str(fault.value)


def test_settings_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "matchfit.yaml"
    path.write_bytes(b"\xff\xfe\x00bad")
    with pytest.raises(ConfigError, match="readable file in UTF-8"):
        load_settings(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match="readable file in UTF-8"):
        load_settings(path)
    path.rmdir()
    path.write_bytes(b"\xef\xbb\xbftrain: {seed: 3}\n")
    assert load_settings(path).train.seed == 3


def test_what_the_machine_refuses_is_told_in_four_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from matchfit.cli import main

    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["matchfit", "demo", "breast-cancer", str(tmp_path / "file" / "folder")])
    with pytest.raises(SystemExit) as stopped:
        main.main()
    assert stopped.value.code == 2
    assert "found Not a directory" in capsys.readouterr().err
