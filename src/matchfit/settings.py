"""`matchfit.yaml` as a whole: the sections of the rooms, put together; the only module that knows them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from matchfit.competition.config import CompetitionConfig
from matchfit.core.config import Section, parse_assignments, read_yaml, validated
from matchfit.core.errors import ConfigError, nearest, sentence
from matchfit.learners.config import TrainConfig
from matchfit.validation.config import SplitConfig


class Settings(Section):
    """All settings of a workspace. A key of one section may be given to `--set` without the section's name."""

    competition: CompetitionConfig = Field(default_factory=CompetitionConfig)
    split: SplitConfig = Field(default_factory=SplitConfig)
    train: TrainConfig = Field(default_factory=TrainConfig)


def load_settings(path: Path | None, assignments: Sequence[str] | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings in `path` (none there: the defaults), then the flags (`{"train.lr": 0.1}`), then `--set` assignments.

    Raises ConfigError that names the faulty key, or a key that is given both as a flag and with `--set`.
    """
    values: dict[str, Any] = read_yaml(path) if path is not None and path.exists() else {}
    source = str(path) if path is not None else "matchfit.yaml"
    values = {name: section for name, section in values.items() if section is not None}
    validated(Settings, values, source=source)
    merged = {name: dict(section) for name, section in values.items()}
    for key, value in (flags or {}).items():
        section, field = _place(key)
        merged.setdefault(section, {})[field] = value
    for key, value in parse_assignments(list(assignments or [])).items():
        section, field = _place(key)
        if f"{section}.{field}" in (flags or {}):
            raise ConfigError(f"--set {key}", rule="is given once", found="it as a flag too", todo="Keep one of them.")
        merged.setdefault(section, {})[field] = value
    return validated(Settings, merged, source="--set" if assignments else "the flags" if flags else source)


def refuse_ineffective(assignments: Sequence[str], *, sections: tuple[str, ...], verb: str) -> None:
    """Raises ConfigError for a `--set` key of a section that this verb does not read."""
    for key in sorted(assigned_keys(assignments)):
        if key.partition(".")[0] not in sections:
            raise ConfigError(
                f"--set {key}",
                rule=f"must have an effect on `{verb}`",
                found=f"a key that it does not read; it reads {' and '.join(sections)}",
                todo="Leave it out.",
            )


def assigned_keys(assignments: Sequence[str]) -> set[str]:
    """The full keys (`train.lr`) that `--set` assignments are about."""
    return {".".join(_place(key)) for key in parse_assignments(list(assignments))}


def _sections() -> dict[str, type[BaseModel]]:
    return {
        name: field.annotation
        for name, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }


def _place(key: str) -> tuple[str, str]:
    """(section, field) of a `--set` key: `split.kind`, or `lr` when one section alone has it; `seed` alone is the run's."""
    sections = _sections()
    section, dot, field = key.partition(".")
    if dot and section in sections and field in sections[section].model_fields:
        return section, field
    owners = [name for name, model in sections.items() if key in model.model_fields]
    if "train" in owners:
        return "train", key
    if len(owners) == 1:
        return owners[0], key
    if owners:
        choices = " or ".join(f"{owner}.{key}" for owner in owners)
        raise ConfigError(f"--set {key}", rule="must name one key", found=f"several: {choices}", todo="Write the section too.")
    known = [name for model in sections.values() for name in model.model_fields]
    known += [f"{name}.{field}" for name, model in sections.items() for field in model.model_fields]
    raise ConfigError(f"--set {key}", rule="must be a known key", found="no such key", todo=sentence(nearest(key, known)))
