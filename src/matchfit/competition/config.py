"""The `competition` section of `matchfit.yaml`: every decision that reading a folder takes can be settled here."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from matchfit.competition.problem import MODALITIES, TASKS, FeatureKind
from matchfit.core.config import Section
from matchfit.core.errors import nearest


class CompetitionConfig(Section):
    """Overrides; None or empty means: find out. File names are relative to the competition folder."""

    name: str | None = None
    modality: str | None = None
    task: str | None = None
    sample_submission: str | None = None
    train_table: str | None = None
    test_table: str | None = None
    train_media: str | None = None
    test_media: str | None = None
    id: tuple[str, ...] | None = None
    targets: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None
    text_columns: tuple[str, ...] | None = None
    drop_columns: tuple[str, ...] = ()
    column_kinds: dict[str, FeatureKind] = Field(default_factory=dict)
    metric: str | None = None
    metric_file: str | None = None
    metric_direction: Literal["maximize", "minimize"] | None = None

    @field_validator("modality")
    @classmethod
    def _known_modality(cls, value: str | None) -> str | None:
        if value is not None and value not in MODALITIES:
            raise ValueError(f"must be a modality: {nearest(value, MODALITIES)}")
        return value

    @field_validator("task")
    @classmethod
    def _known_task(cls, value: str | None) -> str | None:
        if value is not None and value not in TASKS:
            raise ValueError(f"must be a task: {nearest(value, TASKS)}")
        return value
