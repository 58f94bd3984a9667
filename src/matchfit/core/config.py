"""Configuration: frozen pydantic models, unknown keys refused with the nearest name, one file plus `--set key=value`.

Each component owns its section as a subclass of `Section`; `matchfit.settings` puts the sections together.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from matchfit.core.errors import ConfigError, nearest, sentence

Model = TypeVar("Model", bound=BaseModel)


class Section(BaseModel):
    """A frozen group of settings. Unknown keys are errors, text is not turned into numbers in silence."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def validated(model: type[Model], values: Mapping[str, Any], *, source: str) -> Model:
    """`model` from plain values; the first fault becomes a ConfigError that names the key, the rule and the value.

    `source` says where the values come from (a file's path, `--set`). Values pass through lax conversion of YAML lists to tuples
    only.
    """
    try:
        return model.model_validate(_tuples(values))
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(str(part) for part in fault["loc"])
        if fault["type"] == "extra_forbidden":
            owner = _owner(model, fault["loc"][:-1])
            raise ConfigError(
                f"{source}: {key}",
                rule="must be a known key",
                found=repr(fault["input"]),
                todo=sentence(nearest(str(fault["loc"][-1]), owner.model_fields if owner else ())),
            ) from None
        raise ConfigError(
            f"{source}: {key}", rule=_rule(fault), found=repr(_lists(fault["input"])), todo="Correct the value."
        ) from None


_RULES = {  # by the type of pydantic's fault, where its own words speak of Python
    "tuple_type": "must be a list, as in [name]",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a section of key: value lines",
    "string_type": "must be text; put it in quotes when it looks like a number or true",
    "bool_type": "must be true or false",
}


def _rule(fault: Mapping[str, Any]) -> str:
    own = str(fault["msg"]).removeprefix("Value error, ").replace("Input should", "should")
    return _RULES.get(str(fault["type"]), own)


def _lists(value: Any) -> Any:
    """As the user wrote it: tuples of ours as the lists of YAML."""
    if isinstance(value, Mapping):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


def _tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    return value


def _owner(model: type[BaseModel], location: tuple[int | str, ...]) -> type[BaseModel] | None:
    for part in location:
        field = model.model_fields.get(str(part))
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return None
        model = field.annotation
    return model


class _TextLoader(yaml.SafeLoader):
    """YAML 1.2 booleans and numbers only: `no` stays text, `1e-3` is a number."""


_TextLoader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:float", "tag:yaml.org,2002:int"}
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _resolve(tag: str, pattern: str, first: str) -> None:
    import re

    _TextLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


_resolve("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF")
_resolve("float", r"^[-+]?(?:(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)$", "-+0123456789.")
_resolve("int", r"^[-+]?(?:0|[1-9]\d*)$", "-+0123456789")


def parse_yaml(text: str, *, source: str) -> Any:
    """The value of a YAML text, with leading-zero numbers, `no` and dates kept as text; ConfigError with the line of a syntax fault."""
    try:
        return yaml.load(text, Loader=_TextLoader)
    except yaml.YAMLError as error:
        raise ConfigError(source, rule="must be YAML", found=" ".join(str(error).split()), todo="Correct that line.") from None


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; an empty file is an empty mapping."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            str(path), rule="must be a readable file in UTF-8", found=str(error), todo="Save it as UTF-8, or take it away."
        ) from None
    value = parse_yaml(text, source=str(path))
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(
            str(path), rule="must be a mapping of keys to values", found=type(value).__name__, todo="Write key: value lines."
        )
    return value


def parse_assignments(assignments: list[str]) -> dict[str, Any]:
    """`["lr=1e-3", "split.kind=group"]` as {"lr": 0.001, "split.kind": "group"}; values are YAML."""
    parsed: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise ConfigError(
                f"--set {assignment}", rule="must be key=value", found=repr(assignment), todo="For example --set lr=0.001"
            )
        if key.strip() in parsed:
            raise ConfigError(f"--set {key.strip()}", rule="is given once", found="it twice", todo="Keep one of them.")
        parsed[key.strip()] = parse_yaml(value, source=f"--set {key.strip()}")
    return parsed
