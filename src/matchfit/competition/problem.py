"""What a competition asks, what its items are, what is predicted: the types that every other room speaks.

Shapes: N items, K classes or targets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from matchfit.core.findings import Finding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from matchfit.competition.files import FileTree

Modality = Literal["image", "text", "tabular", "recommender", "audio", "detection", "segmentation"]
Task = Literal[
    "binary",
    "multiclass",
    "multilabel",
    "regression",
    "multiregression",
    "ordinal",
    "ranking",
    "detection",
    "segmentation",
    "other",
]
SubmissionForm = Literal[
    "label",  # one column, a class name an item (also ordinal levels)
    "probability",  # one column, the probability of `classes[1]`
    "class_scores",  # one column a class: probabilities that sum to one, or one probability a label
    "label_list",  # one column, the names of all labels, separated
    "ranked_list",  # one column, the best class names in order, separated by blanks
    "value",  # one column, a number
    "values",  # several columns, a number each
    "other",  # boxes, run-length masks, free text, …
]
FeatureKind = Literal["number", "category", "text", "time", "identifier", "constant"]
MODALITIES: tuple[str, ...] = get_args(Modality)
TASKS: tuple[str, ...] = get_args(Task)

KEY_SEPARATOR = "\x1f"  # joins the parts of an id that is made of several columns; never written to a file of the user


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A column that train and test share and that may be learnt from."""

    name: str
    kind: FeatureKind


@dataclass(frozen=True, kw_only=True)
class MetricChoice:
    """The metric by its name in `competition.metrics`; `guessed` when the folder does not say it."""

    name: str
    direction: Literal["maximize", "minimize"]
    guessed: bool
    file: str = ""  # a user's own metric file


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is asked, without the data. Stored in every run, so that a run can be used without its competition folder.

    `targets` are the columns of train that are learnt (one column for a label column, K for several targets; for a label that
    stands in folder or file names the invented name `label`). `prediction_columns` are the columns of the submission that are not
    ids, in its order: for `class_scores` of one label column they name classes, for renamed targets they differ from `targets`.
    `classes` are class names as text, in the one order that every score array follows; empty for regression.
    """

    name: str
    modality: Modality
    task: Task
    id_columns: tuple[str, ...]
    targets: tuple[str, ...]
    classes: tuple[str, ...]
    submission_columns: tuple[str, ...]
    prediction_columns: tuple[str, ...]
    submission_form: SubmissionForm
    metric: MetricChoice
    features: tuple[Feature, ...] = ()
    separator: str = " "  # between the names of a `label_list` or `ranked_list`
    list_length: int = 1  # names in a `ranked_list`

    @property
    def score_columns(self) -> tuple[str, ...]:
        """Names of the K columns of a score array: the classes, or the targets of a regression."""
        return self.classes if self.classes else self.targets

    def feature_names(self, *kinds: FeatureKind) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features if feature.kind in kinds)


@dataclass(frozen=True, kw_only=True)
class Items:
    """N things to predict.

    `ids`: text, one an item (parts of a composite id joined by KEY_SEPARATOR; row numbers as text when there is no id).
    `table`: N rows of text, the columns as the host wrote them; empty cells are null, `NA` and `null` stay text. Train's table
    still has the target columns and the columns that only train has; learners read `problem.features` alone.
    `media`: for images and audio one member reference an item, read with `files.read(reference)`; null where the file is missing.
    """

    ids: pl.Series
    table: pl.DataFrame
    media: pl.Series | None = None
    files: FileTree | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, indices_N: npt.NDArray[np.int64]) -> Items:
        """The items at these positions, in this order."""
        return Items(
            ids=self.ids[indices_N],
            table=self.table[indices_N],
            media=None if self.media is None else self.media[indices_N],
            files=self.files,
        )


@dataclass(frozen=True, kw_only=True)
class Competition:
    """A competition folder, read: what is asked, the items, the sample submission, and what was noticed while reading."""

    problem: Problem
    folder: Path
    train: Items
    test: Items
    target_table: pl.DataFrame  # N train rows of text, the columns `problem.targets`
    sample: pl.DataFrame | None  # the sample submission as text; None when the host gives none
    train_only: tuple[str, ...] = ()  # columns that test lacks and nobody asks for: never features
    findings: tuple[Finding, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)  # how each decision was reached, for people


@dataclass(frozen=True, kw_only=True)
class Targets:
    """The truth as numbers, in the order of the items.

    `values`: for binary, multiclass and ordinal int64 (N,), indices into `classes`; for multilabel float64 (N, K) of 0 and 1; for
    regression float64 (N, K) with K = 1 for one target; soft labels (votes, fractions) float64 (N, K).
    """

    task: Task
    classes: tuple[str, ...]
    values: npt.NDArray[np.generic]

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def take(self, indices_N: npt.NDArray[np.int64]) -> Targets:
        return Targets(task=self.task, classes=self.classes, values=self.values[indices_N])


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Dense predictions: `scores_NK` float64 in the order of the items, a column for each of `columns` (= `problem.score_columns`).

    binary, multiclass, ordinal: probabilities of the K classes, rows sum to one (binary has K = 2 as well). multilabel: K
    probabilities. regression, multiregression: the K values, in the unit of the target.
    """

    columns: tuple[str, ...]
    scores_NK: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.scores_NK.shape[0])

    def take(self, indices_N: npt.NDArray[np.int64]) -> Predictions:
        return Predictions(columns=self.columns, scores_NK=self.scores_NK[indices_N])
