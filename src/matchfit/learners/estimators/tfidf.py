"""TF-IDF of words and characters with linear models: the default for text, in every language.

Classes: a support vector machine each, on features scaled by naive Bayes ratios, decision values turned into probabilities on a hold-out of the
training part. Labels: the same, each by itself. Values and soft labels: ridge regression. Ordinal classes: the machines and a ridge regression
of the class's number, joined by the calibration.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from matchfit.competition.problem import Items, Predictions, Targets
from matchfit.core.errors import BudgetError, DataError
from matchfit.core.seeds import derive_seed
from matchfit.learners.base import Context, Fold, Learner
from matchfit.learners.estimators.calibrate import Calibrator, fit_calibrator, uncalibrated
from matchfit.learners.estimators.linear import Machines, Ridge, fit_machines, fit_ridge
from matchfit.learners.estimators.textfeatures import TextFeatures, learn, rows_within_budget
from matchfit.validation.holdout import inner_split

if TYPE_CHECKING:
    import scipy.sparse as sparse

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

HOLD_OUT = 0.2
# Members, whose probabilities are averaged: (scaled by naive Bayes ratios, strength of liblinear).
FEW = ((True, 0.5), (False, 0.3))
MANY = ((False, 1.0),)
MANY_CLASSES = 20  # more than this: many small classes, for which the scaling does not pay
PENALTIES = (0.3, 1.0, 3.0, 10.0)  # of the ridge regression; the hold-out's squared error chooses
MAX_GRAMS = 1_000_000
MAX_WEIGHTS = 100_000_000  # grams times classes
DEV_ROWS = 400
CHUNK_ROWS = 20_000  # of one prediction step


@dataclass(frozen=True, kw_only=True)
class TfidfState:
    """`kind` says which parts there are: classes (members with a calibrator each), labels (one member, a calibrator for each
    label), values (ridge)."""

    kind: str
    features: TextFeatures
    machines: tuple[Machines, ...] = ()
    ridge: Ridge | None = None
    calibrators: tuple[Calibrator, ...] = ()
    logarithm: bool = False  # the ridge regression learnt log(1 + value)
    facts: dict[str, Any] = field(default_factory=dict)


class TfidfLearner(Learner[TfidfState]):
    """See the module's text. Deterministic: liblinear with a fixed seed, L-BFGS and conjugate gradients from a fixed start."""

    name: ClassVar[str] = "tfidf"
    uses: ClassVar[frozenset[str]] = frozenset({"model", "seed"})

    def fit(self, items: Items, targets: Targets, fold: Fold, context: Context) -> TfidfState:
        if not self.problem.feature_names("text"):
            raise DataError(
                "competition.text_columns",
                rule="must name a column of texts for the learner 'tfidf'",
                found=", ".join(self.problem.feature_names()) or "no column that train and test share",
                todo="Set competition.text_columns in matchfit.yaml.",
            )
        seed = derive_seed(context.seed, "tfidf", fold.index)
        rows = np.sort(fold.train)[:: max(len(fold.train) // DEV_ROWS, 1)] if context.fast_dev_run else np.sort(fold.train)
        kept = rows_within_budget(items.table, self.problem.feature_names("text"), rows, seed)
        if len(kept) < len(rows):
            context.say(f"very many characters: {len(kept):,} of {len(rows):,} rows drawn to learn from")
        width = targets.values.shape[1] if targets.values.ndim == 2 else len(targets.classes)
        max_grams = min(MAX_GRAMS, MAX_WEIGHTS // max(width, 1))
        features, matrix_NV = learn(self.problem, items.table[kept], max_grams=max_grams, say=context.say)
        job = _Job(matrix_NV, targets.take(kept), _inner(kept, targets, fold, seed), seed, context)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # solvers that stop at their number of rounds: the hold-out judges what they came to
            parts = self._fitted(job, targets)
        facts = {**parts.pop("facts"), "features": features.width, "train_rows": len(kept)}
        return TfidfState(features=features, facts=facts, **parts)

    def _fitted(self, job: _Job, targets: Targets) -> dict[str, Any]:
        if targets.values.ndim == 1:
            return fit_classes(job, ordinal=self.problem.task == "ordinal")
        if self.problem.task == "multilabel" and bool(np.isin(targets.values, (0, 1)).all()):
            return fit_labels(job)
        logarithm = "rmsle" in self.problem.metric.name and bool((targets.values.astype(np.float64) > -1).all())
        return fit_values(job, logarithm=logarithm)

    def predict(self, state: TfidfState, items: Items, context: Context, rows: Int64 | None = None) -> Predictions:
        wanted = np.arange(len(items)) if rows is None else np.asarray(rows, dtype=np.int64)
        scores = [np.empty((0, len(self.problem.score_columns)))]
        for start in range(0, len(wanted), CHUNK_ROWS):
            scores.append(self._scores(state, state.features.rows(items.table[wanted[start : start + CHUNK_ROWS]])))
        return Predictions(columns=self.problem.score_columns, scores_NK=np.concatenate(scores))

    def _scores(self, state: TfidfState, matrix_NV: sparse.csr_matrix) -> Float64:
        if state.kind == "values":
            assert state.ridge is not None
            values = state.ridge.values(matrix_NV)
            values = np.expm1(values) if state.logarithm else values
            return _as_probabilities(values, self.problem.task) if self.problem.classes else values
        if state.kind == "labels":
            return _label_probabilities(state.machines[0].decisions(matrix_NV), state.calibrators)
        members = zip(state.machines, state.calibrators, strict=True)
        scores = [found.probabilities(_decisions(machines, state.ridge, matrix_NV)) for machines, found in members]
        return np.asarray(np.mean(scores, axis=0), dtype=np.float64)

    def save(self, state: TfidfState, directory: Path) -> None:
        from matchfit.learners.estimators.tfidf_files import save

        save(state, directory)

    def load(self, directory: Path) -> TfidfState:
        from matchfit.learners.estimators.tfidf_files import load

        return load(directory)

    def describe(self, state: TfidfState) -> dict[str, Any]:
        return dict(state.facts)


@dataclass(frozen=True)
class _Job:
    """One fit: rows, their truth, and which of them are held out inside (`hold` may be empty)."""

    matrix: sparse.csr_matrix
    targets: Targets
    inner: tuple[Int64, Int64]
    seed: int
    context: Context

    def machines(self, rows: Int64, member_NK: npt.NDArray[np.bool_], choice: tuple[bool, float]) -> Machines:
        return fit_machines(self.matrix[rows], member_NK[rows], scaled=choice[0], strength=choice[1], seed=self.seed)

    def check_time(self) -> None:
        if self.context.deadline.passed():
            raise BudgetError(
                "--max-time", rule="must leave time for one fit", found="none left", todo="Allow more time, or fewer folds."
            )


def _inner(kept: Int64, targets: Targets, fold: Fold, seed: int) -> tuple[Int64, Int64]:
    """Positions in `kept` to fit and to hold out, along groups or time."""
    fit, hold = inner_split(kept, fold.group, fold.order, targets, HOLD_OUT, seed % 2**31)
    return np.searchsorted(kept, fit), np.searchsorted(kept, hold)


def fit_classes(job: _Job, *, ordinal: bool) -> dict[str, Any]:
    truth_N = job.targets.values.astype(np.int64)
    num_classes = len(job.targets.classes)
    member_NK = truth_N[:, None] == np.arange(num_classes)
    numbers_N1 = truth_N[:, None].astype(np.float64)
    fit, hold = job.inner
    everything = np.arange(len(truth_N))
    inner_ridge = fit_ridge(job.matrix[fit], numbers_N1[fit], penalty=1.0) if ordinal and len(hold) else None
    machines, calibrators, losses = [], [], []
    for choice in FEW if num_classes <= MANY_CLASSES else MANY:
        calibrator = uncalibrated(num_classes, num_classes + ordinal)
        if len(hold):
            job.check_time()
            decisions = _decisions(job.machines(fit, member_NK, choice), inner_ridge, job.matrix[hold])
            calibrator = fit_calibrator(decisions, truth_N[hold], num_classes)
            probability = calibrator.probabilities(decisions)[np.arange(len(hold)), truth_N[hold]]
            losses.append(float(-np.log(np.maximum(probability, 1e-15)).mean()))
        job.check_time()
        machines.append(job.machines(everything, member_NK, choice))
        calibrators.append(calibrator)
    ridge = fit_ridge(job.matrix, numbers_N1, penalty=1.0) if ordinal else None
    facts = {"hold_out_log_losses": losses, "hold_out_rows": len(hold)}
    return {"kind": "classes", "machines": tuple(machines), "ridge": ridge, "calibrators": tuple(calibrators), "facts": facts}


def fit_labels(job: _Job) -> dict[str, Any]:
    member_NK = job.targets.values.astype(np.float64) > 0.5
    num_labels = member_NK.shape[1]
    choice = (FEW if num_labels <= MANY_CLASSES else MANY)[0]
    fit, hold = job.inner
    calibrators = tuple(uncalibrated(2, 2) for _ in range(num_labels))
    if len(hold):
        job.check_time()
        decisions = job.machines(fit, member_NK, choice).decisions(job.matrix[hold])
        truth_NK = member_NK[hold].astype(np.int64)
        calibrators = tuple(fit_calibrator(_two(decisions[:, k]), truth_NK[:, k], 2) for k in range(num_labels))
    job.check_time()
    machines = job.machines(np.arange(len(member_NK)), member_NK, choice)
    facts = {"hold_out_rows": len(hold)}
    return {"kind": "labels", "machines": (machines,), "calibrators": calibrators, "facts": facts}


def fit_values(job: _Job, *, logarithm: bool) -> dict[str, Any]:
    values_NK = job.targets.values.astype(np.float64)
    values_NK = np.log1p(values_NK) if logarithm else values_NK
    fit, hold = job.inner
    penalty, best = 1.0, None
    spread = np.where(values_NK.std(axis=0) > 0, values_NK.std(axis=0), 1.0)
    for candidate in PENALTIES if len(hold) else ():
        job.check_time()
        found = fit_ridge(job.matrix[fit], values_NK[fit], penalty=candidate).values(job.matrix[hold])
        error = float((((found - values_NK[hold]) / spread) ** 2).mean())
        if best is None or error < best:
            penalty, best = candidate, error
    job.check_time()
    ridge = fit_ridge(job.matrix, values_NK, penalty=penalty)
    facts = {"penalty": penalty, "hold_out_mse": best, "hold_out_rows": len(hold)}
    return {"kind": "values", "ridge": ridge, "logarithm": logarithm, "facts": facts}


def _decisions(machines: Machines, ridge: Ridge | None, matrix_NV: sparse.csr_matrix) -> Float64:
    decisions = machines.decisions(matrix_NV)
    return decisions if ridge is None else np.hstack([decisions, ridge.values(matrix_NV)])


def _two(decision_N: Float64) -> Float64:
    return np.column_stack([-decision_N, decision_N]) / 2


def _label_probabilities(decisions_NK: Float64, calibrators: tuple[Calibrator, ...]) -> Float64:
    columns = [calibrator.probabilities(_two(decisions_NK[:, k]))[:, 1] for k, calibrator in enumerate(calibrators)]
    return np.column_stack(columns)


def _as_probabilities(values_NK: Float64, task: str) -> Float64:
    """Soft labels: within 0 and 1, and for classes with rows that sum to one."""
    values = np.clip(values_NK, 1e-6, 1 - 1e-6)
    return values if task == "multilabel" else values / values.sum(axis=1, keepdims=True)
