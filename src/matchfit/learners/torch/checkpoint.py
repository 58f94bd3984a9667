"""One safetensors file: all tensors, and as its metadata one JSON record. Renamed into place whole; no pickle, no `torch.load`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from matchfit.core.errors import RunError
from matchfit.core.records import jsonable

SCHEMA = 1
_KEY = "matchfit"
_TURNED = "channels_last"


def write(path: Path, tensors: Mapping[str, torch.Tensor], record: Mapping[str, Any], *, as_laid_out: bool = False) -> None:
    """`path` becomes the new file in one step: whoever is killed meanwhile leaves the old one.

    `as_laid_out`: kernels in channels-last memory are written as they lie there (N, H, W, C), which `read` turns back; to rearrange them
    costs more than to write them. For files that only a resumed run reads.
    """
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    turned = [key for key, value in tensors.items() if as_laid_out and _is_channels_last(value)]
    tensors = {**tensors, **{key: tensors[key].permute(0, 2, 3, 1) for key in turned}}
    text = json.dumps({"schema": SCHEMA, _TURNED: turned, **jsonable(record)}, ensure_ascii=False, allow_nan=False)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        save_file(_separate(tensors), temporary, metadata={_KEY: text})
        temporary.chmod(path.parent.stat().st_mode & 0o666)  # as readable as its folder; the format's own writer makes it private
        _flush(temporary)
        temporary.replace(path)
        _flush(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """(tensors on the CPU, record). Raises RunError when the file is not one of ours."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            record = json.loads((file.metadata() or {}).get(_KEY, "{}"))
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError) as error:
        raise RunError(
            str(path), rule="must be a checkpoint", found=str(error), todo="Delete it and train this fold again."
        ) from error
    if record.get("schema") != SCHEMA:
        raise RunError(
            str(path),
            rule=f"must be a checkpoint of schema {SCHEMA}",
            found=f"schema {record.get('schema')!r}",
            todo="Train this fold again with this version.",
        )
    for key in record.pop(_TURNED, []):
        tensors[key] = tensors[key].permute(0, 3, 1, 2)
    return tensors, record


def load_model(model: nn.Module, tensors: Mapping[str, torch.Tensor], *, name: str) -> None:
    """Strict: every tensor of the model, no other, same shapes; otherwise RunError."""
    try:
        model.load_state_dict(dict(tensors), strict=True)
    except RuntimeError as error:
        raise RunError(
            name,
            rule="must hold exactly the model's tensors",
            found=str(error).replace("\n", " "),
            todo="Train again with this version.",
        ) from error


def under(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors whose names start with `prefix/`, without it."""
    return {key.removeprefix(prefix + "/"): value for key, value in tensors.items() if key.startswith(prefix + "/")}


def prefixed(prefix: str, tensors: Iterable[tuple[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    return {f"{prefix}/{key}": value for key, value in tensors}


def sweep(directory: Path) -> None:
    """Remove what a killed process left half written."""
    for stale in directory.glob(".*.tmp"):
        stale.unlink(missing_ok=True)


def _separate(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Contiguous CPU tensors that share no memory (tied weights are written twice), as the format demands."""
    seen: set[int] = set()
    result = {}
    for key, value in tensors.items():
        flat = value.detach().to("cpu").contiguous()
        address = flat.untyped_storage().data_ptr()
        if address in seen:
            flat = flat.clone()
        seen.add(flat.untyped_storage().data_ptr())
        result[key] = flat
    return result


def _is_channels_last(value: torch.Tensor) -> bool:
    return value.ndim == 4 and not value.is_contiguous() and value.is_contiguous(memory_format=torch.channels_last)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
