"""Killed at any moment and resumed: the same bits as unbroken. What may change on resume, and what may not."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch_toys import toy_context, toy_data, toy_fold, toy_learner

from matchfit.core.errors import RunError

HERE = Path(__file__).parent


def run(directory, plan):
    command = [sys.executable, "-W", "error", str(HERE / "torch_kill.py"), str(directory), json.dumps(plan)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def bits(directory):
    return (directory / "scores.bin").read_bytes(), (directory / "learner" / "model.safetensors").read_bytes()


def epochs_of(directory):
    rows = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    timeless = [{k: v for k, v in row.items() if k not in ("seconds", "items_per_second")} for row in rows]
    return [row for row in timeless if row["kind"] != "event"]


def test_killed_and_resumed_is_bit_for_bit_the_unbroken_run(tmp_path):
    settings = {"save_every": 2, "epochs": 3.0, "accumulate": 2, "batch_size": 8}
    kills = [["step", 1], ["step", 5], ["write", 2], ["rename", 3]]
    plan = {
        "unbroken": {"settings": settings, "kills": []},
        "killed": {"settings": settings, "kills": kills},
        "killed-fp16": {"settings": {**settings, "precision": "fp16"}, "kills": [["step", 7]]},
        "unbroken-fp16": {"settings": {**settings, "precision": "fp16"}, "kills": []},
    }
    statuses, errors = run(tmp_path, plan)
    assert statuses["killed"] == [-9] * len(kills) + [0], errors
    assert statuses["killed-fp16"] == [-9, 0], errors
    assert bits(tmp_path / "killed") == bits(tmp_path / "unbroken")
    assert bits(tmp_path / "killed-fp16") == bits(tmp_path / "unbroken-fp16")
    assert bits(tmp_path / "killed-fp16") != bits(tmp_path / "unbroken")
    assert epochs_of(tmp_path / "killed") == epochs_of(tmp_path / "unbroken")
    assert not list((tmp_path / "killed").glob(".*.tmp"))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_killed_at_random_moments(tmp_path, workers):
    """SIGKILL by the clock: in loading, in a step, in an evaluation, in a checkpoint, wherever it falls."""
    settings = {"save_every": 3, "epochs": 6.0, "patience": 4, "workers": workers}
    # Shares of the seconds that the unbroken run takes on this machine. It comes first and pays for what is loaded once, so the others are
    # quicker: the early kills come first, or the run could be over before one falls.
    kills = [["share", share] for share in sorted(random.Random(number).uniform(0.1, 0.8) for number in range(12))]
    plan = {
        "unbroken": {"settings": {**settings, "workers": 0}, "kills": []},
        "killed": {"settings": settings, "kills": kills},
    }
    statuses, errors = run(tmp_path, plan)
    assert statuses["killed"][-1] == 0, errors
    assert -9 in statuses["killed"]
    assert bits(tmp_path / "killed") == bits(tmp_path / "unbroken")
    assert epochs_of(tmp_path / "killed") == epochs_of(tmp_path / "unbroken")


def fit(directory, *, resume=False, seed=0, fold=None, lines=None, **settings):
    items, targets = toy_data()
    learner = toy_learner(**settings)
    return learner.fit(items, targets, fold or toy_fold(), toy_context(directory, resume=resume, seed=seed, lines=lines))


def test_a_finished_run_resumed_is_the_same_state(tmp_path):
    first = fit(tmp_path)
    again = fit(tmp_path, resume=True)
    assert all(torch.equal(value, again.model.state_dict()[key]) for key, value in first.model.state_dict().items())
    assert first.facts["steps"] == again.facts["steps"]


def test_resume_may_extend_the_epochs_and_the_schedule_follows_the_new_length(tmp_path):
    fit(tmp_path, epochs=2.0, schedule="cosine")
    lines = []
    state = fit(tmp_path, resume=True, epochs=4.0, schedule="cosine", lines=lines)
    assert state.facts["epochs"] == 4
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    rates = {row["step"]: row["lr"] for row in rows if row["kind"] == "epoch"}
    assert sorted(rates) == [8, 16, 24, 32]
    assert rates[16] == 0
    assert rates[24] > rates[32] == 0
    assert any("resumed at step 16 of 32" in line for line in lines)


def test_a_fresh_start_does_not_go_on_from_an_older_fit(tmp_path):
    fit(tmp_path, epochs=3.0)
    again = fit(tmp_path, epochs=1.0, save_every=1)
    assert again.facts["steps"] == 8


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"lr": 0.5}, "train.lr"),
        ({"clip_grad": 0.1}, "train.clip_grad"),
        ({"precision": "bf16"}, "train.precision"),
        ({"batch_size": 8}, "train.batch_size"),
        ({"seed": 4}, "seed"),
        ({"fold": toy_fold(valid=20)}, "folds"),
        ({"epochs": 1.0}, "train.epochs"),
    ],
)
def test_resume_with_other_settings_is_refused_by_name(tmp_path, change, named):
    fit(tmp_path)
    with pytest.raises(RunError, match=f"--resume: {named}"):
        fit(tmp_path, resume=True, **change)


def test_what_changes_no_bits_may_change(tmp_path):
    fit(tmp_path, epochs=1.0)
    state = fit(tmp_path, resume=True, epochs=2.0, workers=0, save_every=3)
    whole = fit(tmp_path / "other", epochs=2.0)
    assert state.facts["steps"] == whole.facts["steps"]


def test_a_resumed_run_does_not_choose_its_precision_again(tmp_path):
    first = fit(tmp_path, precision="auto", epochs=1.0)
    for known in (tmp_path / "cache" / "choices").glob("*.json"):
        known.unlink()
    lines = []
    again = fit(tmp_path, resume=True, precision="auto", epochs=2.0, lines=lines)
    assert again.facts["precision"] == first.facts["precision"]
    assert not any(line.startswith("precision") for line in lines)
    assert not list((tmp_path / "cache" / "choices").glob("*.json"))


def test_a_broken_checkpoint_is_named(tmp_path):
    fit(tmp_path)
    (tmp_path / "last.safetensors").write_bytes(b"half of a file")
    with pytest.raises(RunError, match=r"last\.safetensors: must be a checkpoint"):
        fit(tmp_path, resume=True)
