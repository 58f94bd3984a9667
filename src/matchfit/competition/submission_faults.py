"""What `check` tells: faults with a code, a place and the rule that was broken.

Rows are data rows counted from 1, the header being row 0; a quoted cell that spans lines is part of one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

CODES = {
    "empty_file": "the file has a header and rows",
    "encoding": "the file is plain UTF-8 text with line ends",
    "bom": "the file starts with its header, without a byte order mark",
    "header": "the columns are those of the sample submission",
    "ragged_row": "every row has as many cells as the header",
    "blank_id": "every row has an id",
    "missing_id": "every id of the sample submission is there",
    "extra_id": "no other id is there",
    "duplicate_id": "every id is there once",
    "order": "the rows are in the order of the sample submission (hosts match by id)",
    "row_count": "as many rows as there are items, where there is no id",
    "nan": "every cell has a value",
    "inf": "numbers are finite",
    "dtype": "cells of a number column are numbers",
    "range": "numbers lie in their range",
    "sum_to_one": "the probabilities of a row sum to one",
    "unknown_class": "labels are classes of the competition",
    "token_format": "cells that hold lists, boxes or masks have the host's form",
}
MOST_SHOWN = 20  # faults of one kind that are listed one by one


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One broken rule. `row` None: the file or the submission as a whole; `column` None: the whole row."""

    code: str
    severity: Literal["error", "warning"]
    row: int | None
    column: str | None
    value: str
    rule: str

    @property
    def place(self) -> str:
        """Where, for people: `row 3, column 'y'`; empty for the file as a whole."""
        row, column = f"row {self.row}" if self.row else "", f"column {self.column!r}" if self.column else ""
        return ", ".join(part for part in (row, column) if part)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class SubmissionReport:
    """`valid` when no fault is an error; `errors` are all faults, the warnings too, in the order of the checks."""

    valid: bool
    errors: tuple[Fault, ...]

    def as_json(self) -> dict[str, Any]:
        return {"valid": self.valid, "errors": [fault.as_json() for fault in self.errors]}


class Faults:
    """Collects faults; of one kind the first ones are kept, the rest is counted."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def __contains__(self, code: str) -> bool:
        return any(fault.code == code for fault in self._faults)

    def add(
        self,
        code: str,
        *,
        value: object,
        rule: str,
        row: int | None = None,
        column: str | None = None,
        warning: bool = False,
    ) -> None:
        assert code in CODES
        severity: Literal["error", "warning"] = "warning" if warning else "error"
        self._faults.append(Fault(code=code, severity=severity, row=row, column=column, value=str(value)[:200], rule=rule))

    def add_rows(
        self,
        code: str,
        rows: Sequence[int] | None,
        values: Iterable[object],
        count: int,
        *,
        rule: str | Callable[[str], str],
        column: str | None = None,
        warning: bool = False,
    ) -> None:
        """One fault a row (`rows` None: values without a place), the first MOST_SHOWN of `count`, then one that counts the rest."""
        for place, value in enumerate(islice(values, MOST_SHOWN)):
            text = rule if isinstance(rule, str) else rule(str(value))
            self.add(code, row=None if rows is None else rows[place], column=column, value=value, rule=text, warning=warning)
        if count > MOST_SHOWN:
            rest = f"… and {count - MOST_SHOWN} more"
            self.add(code, column=column, value=rest, rule=CODES[code], warning=warning)

    def report(self) -> SubmissionReport:
        return SubmissionReport(valid=all(fault.severity == "warning" for fault in self._faults), errors=tuple(self._faults))
