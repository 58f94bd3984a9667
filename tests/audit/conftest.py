"""Small competitions in memory, for checks that need no reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from matchfit.audit.audit import Audit, audit_competition
from matchfit.competition.files import FileTree
from matchfit.competition.problem import Competition, Feature, Items, MetricChoice, Problem, Targets
from matchfit.core.findings import Finding


def _text(values: dict[str, list[object]]) -> pl.DataFrame:
    return pl.DataFrame({name: [None if v is None else str(v) for v in column] for name, column in values.items()}).cast(pl.String)


def _competition(
    folder: Path,
    train: dict[str, list[object]],
    test: dict[str, list[object]],
    *,
    kinds: dict[str, str] | None = None,
    modality: str = "tabular",
    task: str = "multiclass",
    target: str = "label",
    media: str | None = None,
    train_only: tuple[str, ...] = (),
) -> tuple[Competition, Targets | None]:
    """Columns by name; `id` is the id. `media` is a pattern such as `images/{}`; a file that is not there becomes null."""
    tables = {"train": _text(train), "test": _text(test)}
    labels = tables["train"][target]
    classes = () if task == "regression" else tuple(sorted(labels.drop_nulls().unique().to_list()))
    files = FileTree(folder)

    def items(part: str) -> Items:
        references = None
        if media is not None:
            names = [media.format(name) for name in tables[part]["id"]]
            references = pl.Series([name if (folder / name).is_file() else None for name in names], dtype=pl.String)
        return Items(ids=tables[part]["id"], table=tables[part], media=references, files=files)

    problem = Problem(
        name="small",
        modality=modality,  # type: ignore[arg-type]
        task=task,  # type: ignore[arg-type]
        id_columns=("id",),
        targets=(target,),
        classes=classes,
        submission_columns=("id", target),
        prediction_columns=(target,),
        submission_form="label",
        metric=MetricChoice(name="accuracy", direction="maximize", guessed=True),
        features=tuple(Feature(name=name, kind=kind) for name, kind in (kinds or {}).items()),  # type: ignore[arg-type]
    )
    targets = None
    if not labels.null_count():
        values = (
            labels.cast(pl.Float64).to_numpy()[:, None]
            if task == "regression"
            else np.array([classes.index(label) for label in labels], np.int64)
        )
        targets = Targets(task=task, classes=classes, values=values)  # type: ignore[arg-type]
    competition = Competition(
        problem=problem,
        folder=folder,
        train=items("train"),
        test=items("test"),
        target_table=tables["train"].select(target),
        sample=None,
        train_only=train_only,
    )
    return competition, targets


class Audited:
    """An audit whose findings are asked for by code."""

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    @property
    def codes(self) -> set[str]:
        return {finding.code for finding in self.audit.findings}

    def all(self, code: str) -> list[Finding]:
        return [finding for finding in self.audit.findings if finding.code == code]

    def one(self, code: str) -> Finding:
        found = self.all(code)
        assert len(found) == 1, f"{code}: {len(found)} among {sorted(self.codes)}"
        return found[0]


@pytest.fixture
def audited(tmp_path: Path) -> Callable[..., Audited]:
    """Columns of train and test (and options of a competition) → its audit."""

    def run(
        train: dict[str, list[object]], test: dict[str, list[object]], *, cache: Path | None = None, **options: object
    ) -> Audited:
        competition, targets = _competition(tmp_path, train, test, **options)  # type: ignore[arg-type]
        return Audited(audit_competition(competition, targets=targets, say=lambda _: None, num_folds=4, cache=cache))

    return run
