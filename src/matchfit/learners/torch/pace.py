"""How long steps and evaluations take, data waiting included: for the line of an epoch and for deadlines."""

from __future__ import annotations

import time

TRUSTED_STEPS = 4  # before that an estimate made before the start is the better one: first steps warm up


class Pace:
    """A stop watch that is told what just happened; seconds are wall clock."""

    def __init__(self, expected_step_seconds: float | None) -> None:
        self._expected = expected_step_seconds
        self._steps = 0
        self._seconds = 0.0
        self._mark = time.perf_counter()
        self.evaluation_seconds: float | None = None

    def restart(self) -> None:
        """What happened since the last mark was no training."""
        self._mark = time.perf_counter()

    def stepped(self, *, warm_up: bool = False) -> float:
        """A step ended: its seconds, waiting for its data included. The steps of a `warm_up` do not count for the mean."""
        seconds = self._lap()
        if not warm_up:
            self._steps += 1
            self._seconds += seconds
        return seconds

    def evaluated(self) -> float:
        self.evaluation_seconds = self._lap()
        return self.evaluation_seconds

    def step_seconds(self) -> float | None:
        """The mean of the steps so far, or what was expected as long as there are few of them."""
        if self._steps >= TRUSTED_STEPS or (self._expected is None and self._steps):
            return self._seconds / self._steps
        return self._expected

    def _lap(self) -> float:
        now = time.perf_counter()
        seconds, self._mark = now - self._mark, now
        return seconds
