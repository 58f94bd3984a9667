"""A finding: one thing about the data that the user should know."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One fact about the data, with the items that it concerns and what to do.

    `code` is a stable name in snake_case (documented in docs/findings.md), `rows` the ids of the items as text (empty when the
    finding is about a column or the whole folder), `todo` the next thing to do.
    """

    code: str
    severity: Severity
    message: str
    todo: str = ""
    rows: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "rows": list(self.rows)}
