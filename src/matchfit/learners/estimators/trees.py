"""Gradient-boosted trees for tables and ratings: LightGBM, one model for all classes, or one for each label or value."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from matchfit.competition.problem import Items, Predictions, Problem, Targets
from matchfit.core.errors import DataError, RunError
from matchfit.core.records import content_hash, read_record, write_atomically, write_record, write_text
from matchfit.core.seeds import derive_seed
from matchfit.learners.base import Context, Fold, Learner
from matchfit.learners.estimators.boosting import Objective, Rows, boost, objective_for, parameters_for
from matchfit.learners.estimators.tablefeatures import MAX_ENCODED_TARGETS, TableFeatures, from_parts, learn, to_parts
from matchfit.learners.estimators.tfidf_files import read_arrays, write_all
from matchfit.validation.holdout import inner_split

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

SCHEMA = 1
HOLD_OUT = 0.15
DEV_ROWS = 400
CHUNK_ROWS = 200_000  # of one prediction step


@dataclass(frozen=True)
class Model:
    """A booster as LightGBM's text, or a constant where the training part has one value only."""

    text: str
    logarithm: bool = False
    low: float = -np.inf  # values seen in training: predictions stay within them
    high: float = np.inf

    def values(self, booster: Any, matrix_NF: Float64) -> Float64:
        raw = np.asarray(booster.predict(matrix_NF, num_threads=1 if len(matrix_NF) < 1000 else 0), dtype=np.float64)
        return np.clip(np.expm1(raw) if self.logarithm else raw, self.low, self.high)


@dataclass(frozen=True)
class TreesState:
    """`present`: for one model of all classes, the classes that the training part has (the model knows only those)."""

    features: TableFeatures
    models: tuple[Model, ...]
    present: tuple[int, ...] = ()
    prior: tuple[float, ...] = ()  # mean of each score column in the training part, used where a column has no model
    facts: dict[str, Any] = field(default_factory=dict)


class TreesLearner(Learner[TreesState]):
    """Everything (codes, encodings, directions, the number of rounds) is learnt on the training part; rounds on a hold-out inside it, along
    groups or time, and then all of it is fitted again."""

    name: ClassVar[str] = "lightgbm"
    uses: ClassVar[frozenset[str]] = frozenset({"model", "seed", "max_rounds", "learning_rate"})

    def fit(self, items: Items, targets: Targets, fold: Fold, context: Context) -> TreesState:
        rows = np.sort(fold.train)
        if context.fast_dev_run:
            rows = rows[:: max(len(rows) // DEV_ROWS, 1)]
        seed = derive_seed(context.seed, "lightgbm", fold.index)
        goal = targets.take(rows)
        present, columns_NT = _columns(goal)
        group = None if fold.group is None else fold.group[rows]
        features, matrix_NF = learn(
            self.problem, items.table[rows], _encoded(self.problem, goal, columns_NT), group, seed=seed, say=context.say
        )
        if not matrix_NF.shape[1]:
            raise DataError(
                "competition.column_kinds",
                rule="must leave a column to learn from",
                found=", ".join(f"{one.name}: {one.kind}" for one in self.problem.features)
                or "no column that train and test share",
                todo="Set competition.column_kinds in matchfit.yaml where a column was taken for an identifier.",
            )
        fit, hold = inner_split(rows, fold.group, fold.order, targets, HOLD_OUT, seed % 2**31)
        inner = np.searchsorted(rows, fit), np.searchsorted(rows, hold)
        models, facts = self._boosted(matrix_NF, columns_NT, inner, features.categorical, len(present), seed, context)
        noted = {"models": facts, "features": matrix_NF.shape[1], "train_rows": len(rows)}
        return TreesState(features, tuple(models), present, _prior(goal), noted)

    def _boosted(
        self,
        matrix_NF: Float64,
        columns_NT: Float64,
        inner: tuple[Int64, Int64],
        categorical: list[int],
        num_present: int,
        seed: int,
        context: Context,
    ) -> tuple[list[Model], list[dict[str, Any]]]:
        models: list[Model] = []
        facts: list[dict[str, Any]] = []
        for number, values_N in enumerate(columns_NT.T):
            if values_N.min() == values_N.max():
                models.append(Model(""))
                facts.append({"constant": float(values_N[0])})
                continue
            objective = self._objective(values_N, num_present)
            goal_N = np.log1p(values_N) if objective.logarithm else values_N
            parameters = parameters_for(
                objective, len(goal_N), learning_rate=self.config.learning_rate, seed=derive_seed(seed, number)
            )
            text, fact = boost(
                Rows(matrix_NF, goal_N, *inner, categorical),
                parameters,
                max_rounds=self.config.max_rounds,
                deadline=context.deadline,
                dev=context.fast_dev_run,
            )
            bounds = (-np.inf, np.inf) if self.problem.classes else (float(values_N.min()), float(values_N.max()))
            models.append(Model(text, objective.logarithm, *bounds))
            facts.append({**fact, "objective": objective.parameters["objective"], "logarithm": objective.logarithm})
        return models, facts

    def _objective(self, values_N: Float64, num_present: int) -> Objective:
        """`num_present`: classes that the training part has (0: the targets are columns of labels, shares or values)."""
        if num_present:
            two = num_present == 2
            return Objective({"objective": "binary"} if two else {"objective": "multiclass", "num_class": num_present})
        if self.problem.classes:
            return Objective({"objective": "binary" if np.isin(values_N, (0, 1)).all() else "cross_entropy"})
        return objective_for(self.problem, values_N)

    def predict(self, state: TreesState, items: Items, context: Context, rows: Int64 | None = None) -> Predictions:
        import lightgbm

        wanted = np.arange(len(items)) if rows is None else np.asarray(rows, dtype=np.int64)
        boosters = [lightgbm.Booster(model_str=model.text) if model.text else None for model in state.models]
        scores_NK = np.tile(np.array(state.prior), (len(wanted), 1))
        for start in range(0, len(wanted), CHUNK_ROWS):
            chunk = slice(start, start + CHUNK_ROWS)
            matrix_NF = state.features.rows(items.table[wanted[chunk]])
            for number, (model, booster) in enumerate(zip(state.models, boosters, strict=True)):
                if booster is not None:
                    _place(scores_NK[chunk], model.values(booster, matrix_NF), state.present, number)
        if self.problem.classes and self.problem.task != "multilabel":
            scores_NK /= np.maximum(scores_NK.sum(axis=1, keepdims=True), 1e-300)
        return Predictions(columns=self.problem.score_columns, scores_NK=scores_NK)

    def save(self, state: TreesState, directory: Path) -> None:
        from safetensors.numpy import save as to_bytes

        record, arrays = to_parts(state.features)
        content = to_bytes({name: np.ascontiguousarray(array) for name, array in arrays.items()})
        write_atomically(directory / "features.safetensors", lambda file: write_all(file, content))
        for number, model in enumerate(state.models):
            if model.text:
                write_text(directory / f"model-{number}.txt", model.text)
        write_record(
            directory / "learner.json",
            schema=SCHEMA,
            learner="lightgbm",
            features=record,
            arrays=sorted(arrays),
            models=[
                {
                    "hash": content_hash(model.text) if model.text else "",
                    "logarithm": model.logarithm,
                    "low": model.low,
                    "high": model.high,
                }
                for model in state.models
            ],
            present=state.present,
            prior=state.prior,
            facts=state.facts,
        )

    def load(self, directory: Path) -> TreesState:
        record = read_record(directory / "learner.json", schema=SCHEMA)
        models = []
        for number, entry in enumerate(record["models"]):
            low, high = (bound if entry[name] is None else entry[name] for name, bound in (("low", -np.inf), ("high", np.inf)))
            text = _read_model(directory / f"model-{number}.txt", entry["hash"]) if entry["hash"] else ""
            models.append(Model(text, entry["logarithm"], low, high))
        features = from_parts(record["features"], read_arrays(directory / "features.safetensors", record["arrays"]))
        return TreesState(features, tuple(models), tuple(record["present"]), tuple(record["prior"]), record["facts"])

    def describe(self, state: TreesState) -> dict[str, Any]:
        return dict(state.facts)


def _columns(goal: Targets) -> tuple[tuple[int, ...], Float64]:
    """(present classes, the columns to fit): for class indices one column of positions in the present classes, else the columns as they are."""
    if goal.values.ndim == 2:
        return (), goal.values.astype(np.float64)
    present, position = np.unique(goal.values.astype(np.int64), return_inverse=True)
    return tuple(int(one) for one in present), position.astype(np.float64)[:, None]


def _encoded(problem: Problem, goal: Targets, columns_NT: Float64) -> Float64:
    """Targets for encoding categories: (N, T) with T at most MAX_ENCODED_TARGETS."""
    if goal.values.ndim == 2:
        logarithm = not problem.classes and "rmsle" in problem.metric.name and bool((columns_NT > -1).all())
        return (np.log1p(columns_NT) if logarithm else columns_NT)[:, :MAX_ENCODED_TARGETS]
    truth_N1 = goal.values.astype(np.int64)[:, None]
    if problem.task == "ordinal":
        return truth_N1.astype(np.float64)
    rows_of = np.bincount(truth_N1[:, 0], minlength=len(goal.classes))
    frequent = np.argsort(-rows_of, kind="stable")[:MAX_ENCODED_TARGETS]
    chosen = np.array([1]) if len(goal.classes) == 2 else frequent
    return np.asarray(truth_N1 == chosen, dtype=np.float64)


def _prior(goal: Targets) -> tuple[float, ...]:
    """Mean of each score column."""
    if goal.values.ndim == 2:
        return tuple(map(float, goal.values.astype(np.float64).mean(axis=0)))
    rows_of = np.bincount(goal.values.astype(np.int64), minlength=len(goal.classes))
    return tuple(map(float, rows_of / len(goal)))


def _place(scores_NK: Float64, values: Float64, present: tuple[int, ...], number: int) -> None:
    """Write one model's values into the score columns that they are about."""
    if not present:
        scores_NK[:, number] = values
        return
    scores_NK[:] = 0.0
    if values.ndim == 1:
        scores_NK[:, present[0]], scores_NK[:, present[1]] = 1 - values, values
    else:
        scores_NK[:, list(present)] = values


def _read_model(path: Path, known_hash: str) -> str:
    """LightGBM's text; RunError when it is absent or not the one that was written."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(str(path), rule="must be a LightGBM model", found=str(error), todo="Train again.") from error
    if content_hash(text) != known_hash:
        raise RunError(str(path), rule="must be the model that was trained", found="another hash", todo="Train again.")
    return text
