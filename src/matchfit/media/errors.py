"""The one error of this room. It imports nothing of ours, since the source of `media` is copied into packages."""

from __future__ import annotations

from typing import Literal

Fault = Literal["empty", "not_an_image", "broken", "too_large", "unsupported", "record"]


class MediaError(ValueError):
    """A file cannot be turned into pixels, or a preprocessing record is wrong.

    `fault` is a stable word for programs: `empty` (no bytes), `not_an_image` (no known format), `broken` (truncated or damaged),
    `too_large` (more pixels than the limit), `unsupported` (a known format with contents that have no rule here), `record`.
    """

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(fault, detail)
        self.fault: Fault = fault
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.fault.replace('_', ' ')}: {self.detail}"
