"""One boosted model: its objective, its size, where it stops. LightGBM with everything that could differ between runs fixed.

Shapes: N rows, F features.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from matchfit.competition.metrics import parse_name
from matchfit.competition.problem import Problem
from matchfit.core.durations import Deadline
from matchfit.core.errors import BudgetError

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

MAX_ROUNDS = 3000
FALLBACK_ROUNDS = 150  # where there is no hold-out to stop by
STOP_AFTER = 100  # rounds without gain on the hold-out
MIN_HOLD = 30
DEV_ROUNDS = 10


@dataclass(frozen=True)
class Objective:
    """LightGBM's parameters for what is to be fitted, and whether the target is log(1 + value)."""

    parameters: dict[str, Any]
    logarithm: bool = False


def objective_for(problem: Problem, values_N: Float64) -> Objective:
    """The objective that fits the metric, for one column of values."""
    name, parameter = ("", None) if problem.metric.file else parse_name(problem.metric.name)
    if name in ("rmsle", "mcrmsle") and bool((values_N > -1).all()):
        return Objective({"objective": "regression"}, logarithm=True)
    if name in ("mae", "mcmae", "median_ae", "smape", "laplace_log_likelihood"):
        return Objective({"objective": "regression_l1"})
    if name == "mape":
        return Objective({"objective": "mape"})
    if name == "pinball":
        return Objective({"objective": "quantile", "alpha": 0.5 if parameter is None else parameter})
    return Objective({"objective": "regression"})


def parameters_for(objective: Objective, num_rows: int, *, learning_rate: float | None, seed: int) -> dict[str, Any]:
    """Sizes by the number of rows: small tables get small, slow trees."""
    return {
        **objective.parameters,
        "learning_rate": learning_rate or (0.05 if num_rows >= 5000 else 0.03),
        "num_leaves": int(np.clip(num_rows // 60, 4, 31)),
        "min_data_in_leaf": int(np.clip(num_rows // 100, 3, 20)),
        "min_data_per_group": int(np.clip(num_rows // 100, 3, 100)),
        "min_data_in_bin": 3 if num_rows >= 1000 else 1,
        "feature_fraction": 0.8,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "lambda_l2": 1.0,
        "seed": seed % 2**31,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": num_threads(),
        "verbosity": -1,
        "feature_pre_filter": False,
    }


def num_threads() -> int:
    """The processors this process may use, at most OMP_NUM_THREADS."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(free, int(asked)) if asked.isdigit() else free, 1)


@dataclass(frozen=True)
class Rows:
    """What one model learns from; `hold` are the positions that stop it."""

    matrix_NF: Float64
    values_N: Float64
    fit: Int64
    hold: Int64
    categorical: list[int]


def boost(
    rows: Rows, parameters: dict[str, Any], *, max_rounds: int | None, deadline: Deadline, dev: bool
) -> tuple[str, dict[str, Any]]:
    """(the model as LightGBM's text, facts). The rounds are found on the hold-out and then fitted again on all rows, in proportion more of
    them; the rounds stop early, too, when the deadline leaves half of its time (then a third) to what follows."""
    if deadline.passed():
        raise BudgetError(
            "--max-time", rule="must leave time for one fit", found="none left", todo="Allow more time, or fewer folds."
        )
    rounds, found = max_rounds or MAX_ROUNDS, None
    if dev:
        rounds = min(rounds, DEV_ROUNDS)
    elif len(rows.hold) >= MIN_HOLD:
        found = _stopping_round(rows, parameters, rounds, deadline)
        rounds = min(round(found * len(rows.values_N) / len(rows.fit)), rounds)
    elif max_rounds is None:
        rounds = FALLBACK_ROUNDS
    model = _trained(rows, np.arange(len(rows.values_N)), parameters, max(rounds, 1), [_until(deadline, 0.95)])
    trained = model.current_iteration()
    return model.model_to_string(), {"rounds": trained, "best_round": found, "hold_out_rows": len(rows.hold)}


def _stopping_round(rows: Rows, parameters: dict[str, Any], rounds: int, deadline: Deadline) -> int:
    import lightgbm

    stop = lightgbm.early_stopping(STOP_AFTER, verbose=False)
    model = _trained(rows, rows.fit, parameters, rounds, [_until(deadline, 0.5), stop], rows.hold)
    return int(model.best_iteration or model.current_iteration())


def _trained(
    rows: Rows, learn: Int64, parameters: dict[str, Any], rounds: int, callbacks: list[Any], hold: Int64 | None = None
) -> Any:
    import lightgbm

    def data(positions: Int64, reference: Any = None) -> Any:
        whole = len(positions) == len(rows.values_N)
        return lightgbm.Dataset(
            rows.matrix_NF if whole else rows.matrix_NF[positions],
            rows.values_N[positions],
            reference=reference,
            categorical_feature=rows.categorical,
            params=parameters,
        )

    training = data(learn)
    held = [] if hold is None else [data(hold, training)]
    return lightgbm.train(parameters, training, num_boost_round=rounds, valid_sets=held, callbacks=callbacks)


def _until(deadline: Deadline, share: float) -> Any:
    """A callback that ends the rounds when `share` of the time left at the start is gone."""
    import lightgbm

    least = deadline.left() * (1 - share)

    def check(environment: Any) -> None:
        if deadline.left() < least or deadline.passed():
            raise lightgbm.callback.EarlyStopException(environment.iteration, environment.evaluation_result_list or [])

    check.order = 40  # type: ignore[attr-defined]  # after early stopping, which sees every round
    return check
