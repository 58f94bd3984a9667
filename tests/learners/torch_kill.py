"""Run by the kill tests in a process of its own: trains the toy fold until it is finished, killing itself with SIGKILL on the way.

usage: torch_kill.py DIRECTORY JSON. Torch is imported once; every attempt is a fork of this process, which has run no kernel before.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch._dynamo  # an optimizer imports it; once here, not in each fork
import torch_toys as toys

from matchfit.learners.torch import checkpoint, loop, setup  # noqa: F401  # so that each fork need not import them
from matchfit.learners.torch.step import Stepper


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def plant(spot: str, count: int) -> None:
    """Die at the `count`-th pass of a spot."""
    seen = [0]

    def counted(function, *, before):
        def call(*arguments, **keywords):
            seen[0] += 1
            if before and seen[0] == count:
                die()
            result = function(*arguments, **keywords)
            if seen[0] == count:
                die()
            return result

        return call

    if spot == "step":
        Stepper.step = counted(Stepper.step, before=False)
    elif spot == "write":  # the temporary file is there in part, the rename has not happened
        flush = checkpoint._flush

        def torn(path):
            seen[0] += path.is_file()
            if seen[0] == count and path.is_file():
                with path.open("r+b") as file:
                    file.truncate(path.stat().st_size // 2)
                die()
            flush(path)

        checkpoint._flush = torn
    elif spot == "rename":
        Path.replace = counted(Path.replace, before=False)
    elif spot == "time":
        signal.setitimer(signal.ITIMER_REAL, count / 1000)
        signal.signal(signal.SIGALRM, lambda *_: die())


def attempt(directory: Path, settings: dict, kill: list | None) -> int:
    """Train, or go on training, in a fork; its exit status (-9: killed)."""
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        # A data worker whose parent dies while it starts up never notices, and would keep our pipes open.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        return status
    try:
        os.setpgid(0, 0)
        torch.set_num_threads(1)
        if kill:
            plant(*kill)
        items, targets = toys.toy_data()
        learner = toys.toy_learner(**settings)
        context = toys.toy_context(directory, resume=True)
        state = learner.fit(items, targets, toys.toy_fold(), context)
        learner.save(state, directory / "learner")
        scores = learner.predict(state, items, context).scores_NK
        (directory / "scores.bin").write_bytes(scores.tobytes())
        os._exit(0)
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)


def main(directory: Path, plan: dict) -> None:
    statuses, seconds = {}, 0.0
    for name, run in plan.items():
        statuses[name] = []
        for kill in [*run["kills"], None]:
            spot = ["time", 1000 * kill[1] * seconds] if kill and kill[0] == "share" else kill
            started = time.monotonic()
            status = attempt(directory / name, run["settings"], spot)
            seconds = seconds or time.monotonic() - started  # of the first, unbroken run
            statuses[name].append(status)
            if status != -signal.SIGKILL:
                break
    print(json.dumps(statuses))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
