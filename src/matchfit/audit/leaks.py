"""What gives the target away and will not be there, or not be fair, in the test: columns, file properties, ids, the order of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.audit.statistics import bins, cells, midranks, told
from matchfit.audit.subject import Subject, shown
from matchfit.core.findings import Finding
from matchfit.core.seeds import generator

AUC_BAR, R2_BAR = 0.98, 0.98  # a column that tells more than this alone is the target in other words
ID_AUC_BAR, ID_R2_BAR = 0.85, 0.7  # ids and files should tell nothing at all
MIN_ROWS = 40
MAX_COLUMNS = 200
ORDER_EXCESS, ORDER_Z = 0.2, 6.0


class _Judge:
    """Tells how much a column of the sampled train rows gives away of the target."""

    def __init__(self, subject: Subject) -> None:
        targets = subject.targets
        self.rows = subject.sample("train", "leaks")
        self.values: npt.NDArray[np.generic] | None = None
        self.num_classes = 0
        if targets is None or len(targets) != len(subject.competition.train) or len(self.rows) < MIN_ROWS:
            return
        values = targets.values
        if values.ndim == 2 and values.shape[1] > 1:
            return  # several targets: each column would need its own table; left to the reader of train-only columns
        self.num_classes = len(targets.classes) if values.ndim == 1 else 0
        self.values = values.reshape(-1)[self.rows]
        self.half = generator(subject.seed, "audit", "halves").random(len(self.rows)) < 0.5
        self.half[:2] = (True, False)

    def judge(self, cells_N: npt.NDArray[np.int64]) -> float:
        """AUC (classes) or R² (numbers) of cells given for the sampled rows."""
        assert self.values is not None
        return told(cells_N, self.values, num_classes=self.num_classes, half_N=self.half)  # type: ignore[arg-type]

    def shown(self, value: float) -> str:
        return f"{'AUC' if self.num_classes else 'R² of ranks'} {value:.3f}"

    def passes(self, value: float, auc_bar: float, r2_bar: float) -> bool:
        return value >= (auc_bar if self.num_classes else r2_bar)


def check_leaks(subject: Subject) -> Iterator[Finding]:
    """`train_only_columns`, `leaking_column`, `leaking_file`, `leaking_id`, `ordered_rows`."""
    judge = _Judge(subject)
    yield from _train_only(subject, judge)
    if judge.values is None:
        return
    yield from _columns(subject, judge)
    yield from _files(subject, judge)
    yield from _ids(subject, judge)
    yield from _order(subject)


def _train_only(subject: Subject, judge: _Judge) -> Iterator[Finding]:
    competition = subject.competition
    names = [name for name in competition.train_only if name in competition.train.table.columns]
    if not names:
        return
    table = competition.train.table[judge.rows]
    told_by = {} if judge.values is None else {name: judge.judge(cells(table[name])) for name in names[:MAX_COLUMNS]}
    described = [f"{name} ({judge.shown(told_by[name])})" if name in told_by else name for name in names]
    strong = any(judge.passes(value, 0.9, 0.5) for value in told_by.values())
    yield Finding(
        code="train_only_columns",
        severity="warning" if strong else "info",
        message=f"{len(names):,} columns are in train and not in test: {shown(described, 10)}."
        + (" In brackets, how much of the target each alone tells." if told_by else ""),
        todo="They are never features. Some may serve as groups for the split, or as additional targets.",
    )


def _columns(subject: Subject, judge: _Judge) -> Iterator[Finding]:
    names = subject.competition.problem.feature_names("number", "category", "time", "identifier")
    times = set(subject.competition.problem.feature_names("time"))
    table = subject.competition.train.table
    found = {}
    present = frozenset(table.columns)
    for name in [name for name in names if name in present][:MAX_COLUMNS]:
        column = table[name][judge.rows]
        value = judge.judge(cells(column.rank("dense") if name in times else column))
        if judge.passes(value, AUC_BAR, R2_BAR):
            found[name] = value
    for name, value in found.items():
        yield Finding(
            code="leaking_column",
            severity="warning",
            message=f"Column {name} alone gives the target away ({judge.shown(value)} on rows that it was not fitted on, "
            f"{len(judge.rows):,} rows).",
            todo=f"If it was made from the answer, leave it out (competition.drop_columns: [{name}]).",
        )


def _files(subject: Subject, judge: _Judge) -> Iterator[Finding]:
    scan = subject.scans.get("train")
    if scan is None:
        return
    properties = {"size in bytes": scan.num_bytes, "width": scan.width, "height": scan.height}
    found = {}
    for name, values in properties.items():
        value = judge.judge(bins(values[judge.rows].astype(np.float64)))
        if judge.passes(value, ID_AUC_BAR, ID_R2_BAR):
            found[name] = value
    kinds = np.unique(np.char.add(np.char.add(scan.mode, " "), scan.format), return_inverse=True)[1]
    value = judge.judge(kinds[judge.rows])
    if judge.passes(value, ID_AUC_BAR, ID_R2_BAR):
        found["mode or format"] = value
    if found:
        yield Finding(
            code="leaking_file",
            severity="warning",
            message="Properties of the files tell the target without looking at the picture or listening: "
            + ", ".join(f"{name} ({judge.shown(value)})" for name, value in found.items())
            + ".",
            todo="A model may learn the camera or the writer instead of the subject; check that test files have the same bond.",
        )


def _ids(subject: Subject, judge: _Judge) -> Iterator[Finding]:
    """The last number in an id, and what stands before its first digit."""
    if _is_time(subject):
        return
    ids = subject.competition.train.ids[judge.rows].cast(pl.String)
    stem = ids.str.extract(r"([^/\\]+)$", 1)
    number = stem.str.extract(r"(\d{1,15})\D*$", 1).cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    prefix = stem.str.extract(r"^(\D+)", 1).fill_null("")
    candidates = {"its number": bins(number)}
    if 1 < prefix.n_unique() <= 50:
        candidates["its beginning"] = cells(prefix)
    for what, values in candidates.items():
        value = judge.judge(values)
        if judge.passes(value, ID_AUC_BAR, ID_R2_BAR):
            yield Finding(
                code="leaking_id",
                severity="warning",
                message=f"The id of an item tells its target: {what} alone has {judge.shown(value)}.",
                todo="Ids are never features here. If test ids follow the same order it is a leak of the host's; else the data were sorted.",
            )


def _is_time(subject: Subject) -> bool:
    """Whether items follow one another in time, so that neighbours are alike by nature."""
    if subject.competition.problem.feature_names("time"):
        return True
    first = subject.competition.train.ids.head(50).cast(pl.String)
    return bool(len(first) and first.str.contains(r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}").all())


def _order(subject: Subject) -> Iterator[Finding]:
    """Neighbouring rows with equal (or close) answers, against what chance gives (a runs test)."""
    targets = subject.targets
    if targets is None or _is_time(subject) or (targets.values.ndim == 2 and targets.values.shape[1] > 1):
        return
    values = targets.values.reshape(-1)
    number = len(values) - 1
    if targets.classes and targets.values.ndim == 1:
        shares = np.bincount(values.astype(np.int64)) / len(values)
        expected = float((shares**2).sum())
        observed = float((values[1:] == values[:-1]).mean())
        excess = (observed - expected) / max(1 - expected, 1e-9)
        deviation = (observed - expected) / max(np.sqrt(expected * (1 - expected) / number), 1e-9)
        figure = f"{100 * observed:.3g} % of neighbours have the same class, {100 * expected:.3g} % would by chance"
    else:
        ranks = midranks(values.astype(np.float64))
        excess = float(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]) if ranks.std() > 0 else 0.0
        deviation = excess * np.sqrt(number)
        figure = f"neighbours' targets correlate with {excess:.2f} (by rank)"
    if excess >= ORDER_EXCESS and deviation >= ORDER_Z:
        yield Finding(
            code="ordered_rows",
            severity="info",
            message=f"The rows of train are ordered by the target, or in blocks of it: {figure}.",
            todo="Folds are shuffled, so it does no harm here; but blocks may be groups (one source, one day) that belong in one fold.",
        )
