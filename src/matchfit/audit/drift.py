"""Do train and test come from one source? A classifier is asked to tell them apart (adversarial validation).

Shapes: N sampled rows of both parts together, F cheap features of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.audit.cheap import Matrix, cheap_features
from matchfit.audit.statistics import auc, auc_interval, numbers
from matchfit.audit.subject import Subject
from matchfit.core.findings import Finding
from matchfit.core.seeds import derive_seed, generator

MIN_ROWS = 150  # in each part; below, the interval would cover everything
PART_ROWS = 10_000
NUM_FOLDS = 5
INFO_LOW, WARNING_LOW = 0.55, 0.6  # lower ends of the interval
TIME_AUC = 0.95
PERIOD_SHARE = 0.05


def check_drift(subject: Subject) -> Iterator[Finding]:
    """`drift`, `later_test`, `test_periods`; the AUC goes to the properties in any case, or why there is none."""
    yield from _later(subject)
    rows = {part: subject.sample(part, "drift", PART_ROWS) for part in ("train", "test")}
    fewest = min(map(len, rows.values()))
    if fewest < MIN_ROWS:
        subject.properties["drift"] = {"auc": None, "why": f"{fewest} rows in the smaller part; it takes {MIN_ROWS}"}
        return
    matrix_NF, names = cheap_features(subject, rows["train"], rows["test"])
    if not names:
        subject.properties["drift"] = {"auc": None, "why": "nothing that train and test share"}
        return
    is_test_N = np.arange(len(matrix_NF)) >= len(rows["train"])
    scores_N, gains = _adversary(matrix_NF, is_test_N, subject.seed)
    value, low, high = auc_interval(scores_N, is_test_N)
    top = [names[n] for n in np.argsort(-gains)[:5] if gains[n] > 0]
    subject.properties["drift"] = {"auc": value, "interval": [low, high], "rows": len(is_test_N), "top": top}
    if low < INFO_LOW:
        return
    times = list(subject.properties.get("time", {}))
    described = [_compared(name, matrix_NF[:, names.index(name)], is_test_N) for name in top[:3]]
    yield Finding(
        code="drift",
        severity="warning" if low >= WARNING_LOW else "info",
        message=f"A classifier tells test from train with AUC {value:.3f} (95 % interval {low:.3f} to {high:.3f}, DeLong; {len(is_test_N):,} rows, "
        f"{NUM_FOLDS} folds; 0.5 is no difference). What differs most: {'; '.join(described)}.",
        todo="Scores of random folds may not hold on the test part. Split as the host split (by time, by source), and mind these properties."
        + (f" There is a time column ({', '.join(times)}): the difference may be that of time alone." if times else ""),
    )


def _adversary(matrix_NF: Matrix, is_test_N: npt.NDArray[np.bool_], seed: int) -> tuple[Matrix, Matrix]:
    """(scores (N,) of rows by models that never saw them, gain (F,) of each feature): small boosted trees, cross-fitted."""
    import lightgbm

    fold_N = generator(seed, "audit", "drift folds").permutation(len(is_test_N)) % NUM_FOLDS
    scores, gains = np.empty(len(is_test_N)), np.zeros(matrix_NF.shape[1])
    settings = {
        "objective": "binary",
        "num_leaves": 15,
        "learning_rate": 0.1,
        "min_data_in_leaf": 20,
        "max_bin": 63,
        "verbosity": -1,
        "num_threads": 1,  # so little data is done before threads have met; on a busy machine they wait for one another
        "deterministic": True,
        "force_row_wise": True,
        "seed": derive_seed(seed, "drift") % 2**31,
    }
    for fold in range(NUM_FOLDS):
        held = fold_N == fold
        # A ratio of the parts that differs between folds would shift the scores of a fold as a whole: weights take it out.
        shares = np.where(is_test_N, 1 / is_test_N[~held].sum(), 1 / (~is_test_N[~held]).sum()) * (~held).sum() / 2
        data = lightgbm.Dataset(matrix_NF[~held], is_test_N[~held].astype(float), weight=shares[~held], free_raw_data=True)
        model = lightgbm.train(settings, data, num_boost_round=60)
        scores[held] = model.predict(matrix_NF[held])
        gains += model.feature_importance("gain")
    return scores, gains


def _compared(name: str, values_N: Matrix, is_test_N: npt.NDArray[np.bool_]) -> str:
    seen = np.isfinite(values_N)
    alone = auc(values_N[seen], is_test_N[seen])
    train, test = (
        float(np.mean(values_N[seen & side])) if (seen & side).any() else float("nan") for side in (~is_test_N, is_test_N)
    )
    return f"{name} (mean {train:.4g} in train, {test:.4g} in test; alone {max(alone, 1 - alone):.2f})"


def _later(subject: Subject) -> Iterator[Finding]:
    """Whether a time column puts test after train, or in periods of its own: then drift is that of time."""
    competition = subject.competition
    names = [*competition.problem.feature_names("time"), *competition.problem.id_columns]
    for name in dict.fromkeys(names):
        if any(name not in items.table.columns or not len(items) for items in (competition.train, competition.test)):
            continue
        numeric = name in competition.problem.feature_names("time")
        train, test = (_times(items.table[name], numeric=numeric) for items in (competition.train, competition.test))
        if train is None or test is None or min(len(train), len(test)) < 2:
            continue
        times, is_test = np.concatenate([train, test]), np.arange(len(train) + len(test)) >= len(train)
        value, later = auc(times, is_test), float((test > train.max()).mean())
        order = np.argsort(times, kind="stable")
        switches = int(np.count_nonzero(np.diff(is_test[order].astype(np.int8))))
        by_chance = 2 * len(train) * len(test) / len(times)
        subject.properties.setdefault("time", {})[name] = {"auc": value, "test_after_train": later, "periods": switches + 1}
        if value >= TIME_AUC:
            yield Finding(
                code="later_test",
                severity="warning",
                message=f"By {name}, test lies after train: {100 * later:.3g} % of test rows are later than the last train row.",
                todo="Split by time (split.kind: time), so that the validation part is later than what is learnt from.",
            )
        elif switches < PERIOD_SHARE * by_chance:
            yield Finding(
                code="test_periods",
                severity="warning",
                message=f"By {name}, train and test take turns in {switches + 1:,} periods (about {by_chance:,.0f} if test were drawn by chance).",
                todo="Split by time or by such periods (split.kind): random folds know the neighbours of each validation row, test rows have none.",
            )


def _times(column: pl.Series, *, numeric: bool) -> Matrix | None:
    """Dates and times as seconds (ISO forms; plain numbers as they are when `numeric`), None when the column is not one."""
    text = column.cast(pl.String).str.strip_chars()
    head = text.head(100).drop_nulls()
    if len(head) and head.str.contains(r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}").all():
        day = (
            text.str.extract(r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2})", 1)
            .str.replace_all(r"[/.]", "-")
            .str.to_date("%Y-%m-%d", strict=False)
        )
        clock = text.str.extract_groups(r"(\d{1,2}):(\d{2})").struct
        seconds = clock.field("1").cast(pl.Float64).fill_null(0.0) * 3600 + clock.field("2").cast(pl.Float64).fill_null(0.0) * 60
        values = (day.cast(pl.Int32).cast(pl.Float64) * 86400 + seconds).drop_nulls().to_numpy()
    elif numeric:
        values = numbers(column)
        values = values[np.isfinite(values)]
    else:
        return None
    return values if len(values) >= 0.9 * len(column) else None
