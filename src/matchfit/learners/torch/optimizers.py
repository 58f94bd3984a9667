"""AdamW without decay on norms, biases and other vectors; the fused kernel where the device has one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

FUSED_DEVICES = ("cuda", "cpu")


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """Parameters that learn, by name, in the model's order; tied ones once."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def decays(name: str, parameter: nn.Parameter, exempt: frozenset[str]) -> bool:
    """Matrices and kernels decay; scales, shifts and biases (vectors) and what the model exempts (position tables) do not."""
    return parameter.ndim > 1 and not name.endswith(".bias") and name not in exempt


def adamw(model: nn.Module, *, lr: float, weight_decay: float) -> torch.optim.AdamW:
    """Decoupled decay (Loshchilov & Hutter, arXiv:1711.05101) in two groups: with decay, and without."""
    asked = getattr(model, "no_weight_decay", None)  # timm's word for it
    exempt = frozenset(asked()) if callable(asked) else frozenset()
    groups: tuple[list[nn.Parameter], list[nn.Parameter]] = ([], [])
    for name, parameter in trainable(model).items():
        groups[0 if decays(name, parameter, exempt) else 1].append(parameter)
    settings = [
        {"params": parameters, "weight_decay": decay}
        for parameters, decay in zip(groups, (weight_decay, 0.0), strict=True)
        if parameters
    ]
    device = next(model.parameters()).device.type
    return torch.optim.AdamW(settings, lr=lr, fused=device in FUSED_DEVICES)


def is_fused(optimizer: torch.optim.Optimizer) -> bool:
    return bool(optimizer.defaults.get("fused"))


def state_tensors(optimizer: torch.optim.Optimizer, model: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """(`parameter/slot`, tensor) of all that the optimizer remembers: moments and step counts."""
    for name, parameter in trainable(model).items():
        for slot, value in optimizer.state.get(parameter, {}).items():
            yield f"{name}/{slot}", value


def restore_state(optimizer: torch.optim.Optimizer, model: nn.Module, tensors: dict[str, torch.Tensor]) -> None:
    """The inverse of `state_tensors`; moments take the layout of their parameter, so that the arithmetic is that of the unbroken run."""
    by_parameter: dict[str, dict[str, Any]] = {}
    for key, value in tensors.items():
        name, _, slot = key.rpartition("/")
        by_parameter.setdefault(name, {})[slot] = value
    for name, parameter in trainable(model).items():
        if name not in by_parameter:
            continue
        state: dict[str, torch.Tensor] = {}
        for slot, value in by_parameter[name].items():
            if slot == "step":
                state[slot] = value.to(parameter.device) if is_fused(optimizer) else value
            else:
                state[slot] = torch.empty_like(parameter, dtype=value.dtype, requires_grad=False).copy_(value)
        optimizer.state[parameter] = state
