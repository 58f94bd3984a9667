"""What a cell of a submission may hold, by the form of the submission.

Shapes: R rows of the submission, K prediction columns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from matchfit.competition.problem import Competition, Problem
from matchfit.competition.submission_faults import CODES, MOST_SHOWN, Faults
from matchfit.competition.submission_tokens import TokenRule, token_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

SUM_TOLERANCE = 1e-3  # hosts rescale or compare with about this; six written digits of a hundred classes stay far below
_MISSING_WORDS = frozenset({"", "nan", "na", "n/a", "null", "none", "nat", "<na>", "-nan", "#n/a"})
_INFINITE_WORDS = frozenset({"inf", "infinity"})


def check_cells(table: pl.DataFrame, rows_R: npt.NDArray[np.int64], competition: Competition, faults: Faults) -> None:
    """Check the prediction columns that are there: `table` has them as text, `rows_R` are their row numbers in the file."""
    problem = competition.problem
    if problem.submission_form in ("probability", "class_scores", "value", "values"):
        _check_numbers(table, rows_R, competition, faults)
        return
    cells = {name: own_cells(competition, name) for name in table.columns}
    numeric = [name for name, own in cells.items() if _are_numbers(problem, own)]
    if numeric:
        _check_numbers(table.select(numeric), rows_R, competition, faults)
    for name, own in cells.items():
        if name in numeric:
            continue
        if problem.submission_form == "label":
            _check_labels(table[name], rows_R, problem, own, faults)
        else:
            _check_tokens(table[name], rows_R, token_rule(problem, own), faults)


def _are_numbers(problem: Problem, own: list[str]) -> bool:
    """Whether a column of a form that is not known otherwise (a row for each item and class, say) holds numbers in the sample."""
    if problem.submission_form != "other" or problem.task in ("detection", "segmentation") or not own:
        return False
    return pl.Series(own).str.strip_chars().cast(pl.Float64, strict=False).null_count() == 0


def own_cells(competition: Competition, name: str) -> list[str]:
    """The different cells of the host's own sample in a column, blank ones left out: what the host writes, the host reads."""
    sample = competition.sample
    if sample is None or name not in sample.columns:
        return []
    return [text for text in sample[name].cast(pl.String).fill_null("").unique().to_list() if text.strip()]


def _is_missing(text: str) -> bool:
    return text.strip().casefold() in _MISSING_WORDS


def _check_numbers(table: pl.DataFrame, rows_R: npt.NDArray[np.int64], competition: Competition, faults: Faults) -> None:
    problem = competition.problem
    own = _own_faults(table.columns, competition)
    low, high = _bounds(problem)
    values: dict[str, npt.NDArray[np.float64]] = {}
    for name in table.columns:
        values[name] = numbers_R = _parsed(table[name], rows_R, faults)
        if own[0]:
            continue
        outside = np.flatnonzero((numbers_R < low) | (numbers_R > high))
        bounds = f"between {low:g} and {high:g}" if math.isfinite(high) else f"at least {low:g}"
        _add("range", table[name], outside, rows_R, faults, f"numbers are {bounds}")
    asked = len(values) == len(problem.prediction_columns) > 1 and _shares(problem)
    if asked and not own[1]:
        total_R = np.sum([values[name] for name in table.columns], axis=0)
        off = np.flatnonzero(np.abs(total_R - 1) > SUM_TOLERANCE)  # NaN compares false: told already
        shown = [int(rows_R[place]) for place in off[:MOST_SHOWN]]
        rule = f"{CODES['sum_to_one']} (within {SUM_TOLERANCE:g})"
        faults.add_rows("sum_to_one", shown, (f"{total_R[place]:.6g}" for place in off), len(off), rule=rule)


def _shares(problem: Problem) -> bool:
    if problem.submission_form == "class_scores":
        return problem.task in ("binary", "multiclass", "ordinal")
    return problem.submission_form == "values" and problem.metric.name.startswith("kl_divergence")


def _bounds(problem: Problem) -> tuple[float, float]:
    scores = problem.submission_form == "other" and problem.task in ("binary", "multiclass", "multilabel")
    if problem.submission_form in ("probability", "class_scores") or scores or _shares(problem):
        return 0.0, 1.0
    if problem.metric.name in ("rmsle", "mcrmsle"):  # the logarithm of 1 + value; hosts refuse what is below zero
        return 0.0, math.inf
    return -math.inf, math.inf


def _own_faults(names: list[str], competition: Competition) -> tuple[bool, bool]:
    """Whether the host's own sample breaks the rule on ranges, and that on sums: then the host cannot mean it."""
    sample, problem = competition.sample, competition.problem
    if sample is None or not set(names) <= set(sample.columns):
        return False, False
    columns = [sample[name].cast(pl.String).cast(pl.Float64, strict=False).to_numpy() for name in names]
    low, high = _bounds(problem)
    out_of_range = any(bool(((column < low) | (column > high)).any()) for column in columns)
    return out_of_range, bool((np.abs(np.sum(columns, axis=0) - 1) > SUM_TOLERANCE).any())


def _parsed(column: pl.Series, rows_R: npt.NDArray[np.int64], faults: Faults) -> npt.NDArray[np.float64]:
    """(R,) numbers, NaN where the cell holds none; those cells become faults."""
    numbers_R = column.str.strip_chars().cast(pl.Float64, strict=False).fill_null(math.nan).to_numpy().copy()
    bad = np.flatnonzero(~np.isfinite(numbers_R))
    numbers_R[bad] = math.nan
    kinds: dict[str, list[int]] = {"nan": [], "inf": [], "dtype": []}
    for place in bad:
        kinds[_number_fault(column[int(place)])].append(int(place))
    for code, places in kinds.items():
        rule = f"{CODES['dtype']}; decimals with a point, no thousands mark" if code == "dtype" else CODES[code]
        _add(code, column, np.array(places, dtype=np.int64), rows_R, faults, rule)
    return numbers_R


def _number_fault(text: str) -> str:
    if _is_missing(text):
        return "nan"
    plain = text.strip().casefold().lstrip("+-")
    if plain in _INFINITE_WORDS:
        return "inf"
    try:
        return "inf" if plain.isascii() and "_" not in plain and math.isinf(float(plain)) else "dtype"
    except ValueError:
        return "dtype"


def _check_labels(column: pl.Series, rows_R: npt.NDArray[np.int64], problem: Problem, own: list[str], faults: Faults) -> None:
    """Only what is no class and not in the sample either (which may know classes that train lacks). A class may well be called `NA`."""
    if not problem.classes:
        blank = np.flatnonzero((column.str.strip_chars() == "").to_numpy())
        _add("nan", column, blank, rows_R, faults, CODES["nan"])
        return
    strange = np.flatnonzero(~column.is_in([*problem.classes, *own]).to_numpy())
    texts = column[strange].to_list()
    missing = np.array([_is_missing(text) for text in texts], dtype=np.bool_)
    _add("nan", column, strange[missing], rows_R, faults, CODES["nan"])
    _add("unknown_class", column, strange[~missing], rows_R, faults, _class_rule(problem))


def _class_rule(problem: Problem) -> Callable[[str], str]:
    names = problem.classes
    listed = f"{', '.join(map(repr, names[:10]))}{' …' if len(names) > 10 else ''}"
    forms = {name.strip().casefold(): name for name in names}

    def rule(value: str) -> str:
        known = forms.get(value.strip().casefold().removesuffix(".0"))
        return f"a label is one of {listed}" + (f"; written {known!r}" if known is not None else "")

    return rule


def _check_tokens(column: pl.Series, rows_R: npt.NDArray[np.int64], rule: TokenRule | None, faults: Faults) -> None:
    """Each different cell is judged once."""
    if rule is None:
        return
    verdicts = {text: verdict for text in column.unique().to_list() if (verdict := rule(text)) is not None}
    if not verdicts:
        return
    bad = np.flatnonzero(column.is_in(list(verdicts)).to_numpy())
    places: dict[tuple[str, bool], list[int]] = {}
    for place in bad:
        verdict = verdicts[column[int(place)]]
        places.setdefault((verdict.code, verdict.warning), []).append(int(place))
    for (code, warning), found in places.items():
        rows = np.array(found, dtype=np.int64)
        _add(code, column, rows, rows_R, faults, lambda text: verdicts[text].rule, warning=warning)


def _add(
    code: str,
    column: pl.Series,
    places: npt.NDArray[np.int64],
    rows_R: npt.NDArray[np.int64],
    faults: Faults,
    rule: str | Callable[[str], str],
    *,
    warning: bool = False,
) -> None:
    shown = [int(place) for place in places[:MOST_SHOWN]]
    faults.add_rows(
        code,
        [int(rows_R[place]) for place in shown],
        [column[place] for place in shown],
        len(places),
        rule=rule,
        column=column.name,
        warning=warning,
    )
