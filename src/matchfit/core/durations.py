"""Durations as people type them: `90s`, `35m`, `2h`, `1h30m`, or plain seconds."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from matchfit.core.errors import ConfigError

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def parse_duration(text: str, *, name: str) -> float:
    """Seconds; raises ConfigError that shows the accepted forms."""
    stripped = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", stripped):
        seconds = float(stripped)
    elif stripped and _PART.sub("", stripped) == "":
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(stripped))
    else:
        seconds = 0.0
    if seconds <= 0:
        raise ConfigError(name, rule="must be a duration above zero", found=repr(text), todo="Write it like 90s, 35m, 2h or 1h30m.")
    return seconds


def format_duration(seconds: float) -> str:
    """`3.2 s`, `4 min 05 s`, `1 h 02 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


@dataclass(frozen=True)
class Deadline:
    """A point in time that long work asks about; `None` seconds means there is none."""

    seconds: float | None = None
    started: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """Seconds left, infinity when there is no deadline."""
        return float("inf") if self.seconds is None else self.seconds - (time.monotonic() - self.started)

    def passed(self) -> bool:
        return self.left() <= 0
