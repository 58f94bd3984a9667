"""Problems as JSON: a run carries its problem, so that it can be used without the competition folder."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter, ValidationError

from matchfit.competition.problem import Problem
from matchfit.core.errors import RunError


def problem_to_json(problem: Problem) -> dict[str, Any]:
    return asdict(problem)


def problem_from_json(stored: dict[str, Any], *, source: str) -> Problem:
    """The problem in a record; raises RunError when it is not one of this version's."""
    try:
        return TypeAdapter(Problem).validate_python(stored)
    except ValidationError as error:
        raise RunError(
            source,
            rule="must hold a problem of this version",
            found=str(error.errors()[0]["loc"]),
            todo="Train again with this version.",
        ) from None
