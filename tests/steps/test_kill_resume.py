"""A run that is killed with SIGKILL at any moment and resumed ends with the same bits as an unbroken one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small import make_images, make_table

KEPT = ("oof.csv", "oof.parquet", "test.parquet", "submission.csv")


def command(folder: Path, out: Path, *more: str) -> list[str]:
    workspace = out.with_name(f"{out.name}-workspace")
    return [
        sys.executable,
        "-m",
        "matchfit",
        "train",
        str(folder),
        "--out",
        str(out),
        "--workspace",
        str(workspace),
        "--num-folds",
        "2",
        *more,
    ]


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


Kill = tuple[
    str, float
]  # ("seconds", 1.5): by the clock; ("files", 2): as soon as two more checkpoints or finished folds are there


def written(out: Path) -> set[tuple[str, int, int]]:
    """Checkpoints and marks of finished folds; one that is written again is a new one."""
    found = set()
    for path in [*out.glob("fold-*/last.safetensors"), *out.glob("fold-*/done.json")]:
        facts = path.stat()
        found.add((str(path), facts.st_ino, facts.st_mtime_ns))
    return found


def run_killed(arguments: list[str], out: Path, kill: Kill) -> bool:
    """Start, kill at the moment; False when it had ended by itself before."""
    kind, amount = kill
    before, seen = written(out), set()
    process = subprocess.Popen(
        arguments, env=environment(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    started = time.monotonic()
    while process.poll() is None:
        seen |= written(out) - before
        if len(seen) >= amount if kind == "files" else time.monotonic() - started >= amount:
            os.killpg(process.pid, signal.SIGKILL)  # data workers too, as when the machine stops
            return process.wait() == -signal.SIGKILL
        time.sleep(0.005)
    assert process.returncode == 0
    return False


def resume_until_done(folder: Path, out: Path, settings: tuple[str, ...], kills: list[Kill]) -> int:
    """Kill at each moment in turn, then let it finish; returns how often it was really killed."""
    killed = 0
    for kill in kills:
        resume = ["--resume"] if (out / "run.json").exists() else []
        if not run_killed(command(folder, out, *settings, *resume), out, kill):
            break
        killed += 1
    resume = ["--resume"] if (out / "run.json").exists() else []
    subprocess.run(command(folder, out, *settings, *resume), env=environment(), check=True, capture_output=True, timeout=600)
    return killed


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_images_end_with_the_same_bits(tmp_path: Path, workers: int) -> None:
    folder = make_images(tmp_path / "squares", train=96)
    settings = ("--epochs", "4", "--batch-size", "8", "--save-every", "3", "--set", f"workers={workers}", "--set", "precision=fp32")
    started = time.monotonic()
    subprocess.run(command(folder, tmp_path / "whole", *settings), env=environment(), check=True, capture_output=True, timeout=600)
    seconds = time.monotonic() - started
    kills: list[Kill] = [("files", 1), ("files", 3), *(("seconds", seconds * share) for share in (0.45, 0.6)), ("files", 1)]
    assert resume_until_done(folder, tmp_path / "broken", settings, kills) >= 2
    for name in KEPT:
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    for fold in ("fold-0", "fold-1"):
        weights = Path(fold) / "learner" / "model.safetensors"
        assert (tmp_path / "broken" / weights).read_bytes() == (tmp_path / "whole" / weights).read_bytes()


@pytest.mark.slow
def test_tables_end_with_the_same_bits(tmp_path: Path) -> None:
    folder = make_table(tmp_path / "homes", train=600)
    started = time.monotonic()
    subprocess.run(command(folder, tmp_path / "whole"), env=environment(), check=True, capture_output=True, timeout=600)
    seconds = time.monotonic() - started
    kills: list[Kill] = [("files", 1), ("seconds", seconds * 0.6)]
    assert resume_until_done(folder, tmp_path / "broken", (), kills) >= 1
    for name in KEPT:
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
