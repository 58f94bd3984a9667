"""Networks by name: our own family first, then every timm model.

A member of `MODELS` is called with the number of outputs and the input size and returns a network whose last layer is called `head`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from matchfit.core.errors import ConfigError, nearest, sentence
from matchfit.core.families import Family

if TYPE_CHECKING:
    from torch import nn

Maker = Callable[[int, tuple[int, int]], "nn.Module"]
MODELS: Family[Maker] = Family("model", "models")
SMALL_WIDTHS = (16, 32, 64)


def _small(width: int) -> Maker:
    def make(num_outputs: int, size_HW: tuple[int, int]) -> nn.Module:
        from matchfit.modalities.image.small import SmallNet

        return SmallNet(width=width, num_outputs=num_outputs, size_HW=size_HW)

    return make


for _width in SMALL_WIDTHS:
    MODELS.add(f"resnet9-{_width}", _small(_width))


def is_ours(name: str) -> bool:
    """True for a member of `MODELS` (also one that another package brings), False for a timm model; ConfigError for neither."""
    if name in MODELS:
        return True
    import timm

    if timm.is_model(name.split(".", 1)[0]):
        return False
    try:
        MODELS.get(name)  # looks for an entry point of another package
    except ConfigError:
        raise ConfigError(
            f"model {name!r}",
            rule="must be one of our small networks or a timm model",
            found="no such model",
            todo=_suggestion(name),
        ) from None
    return True


def _suggestion(name: str) -> str:
    import timm

    close = nearest(name, [*MODELS, *timm.list_models()]).split("? one of:")[0]
    listed = f"our own: {', '.join(MODELS)}; timm's: python -c 'import timm; print(timm.list_models())'"
    return f"{sentence(close)}? {listed}" if close.startswith("did you") else sentence(listed)


def make_model(
    name: str, *, num_outputs: int, size_HW: tuple[int, int], drop_path: float = 0.0, download: bool = False
) -> nn.Module:
    """A network with a fresh head; with `download`, timm's weights from the hub. Raises ConfigError when the name, the size or
    `drop_path` does not fit."""
    if is_ours(name):
        if drop_path:
            raise ConfigError(
                "drop_path",
                rule=f"is for networks with residual paths that can be dropped, not for {name}",
                found=repr(drop_path),
                todo="Leave it out, or choose a timm model.",
            )
        return MODELS.get(name)(num_outputs, size_HW)
    import timm

    options: dict[str, Any] = {"drop_path_rate": drop_path} if drop_path else {}
    settings = timm.get_pretrained_cfg(name)
    if settings is not None and settings.fixed_input_size:
        options["img_size"] = size_HW
    try:
        model: nn.Module = timm.create_model(name, pretrained=download, num_classes=num_outputs, **options)
        _try_size(model, size_HW)
    except (TypeError, AssertionError, ValueError, RuntimeError) as error:
        if download and not isinstance(error, (TypeError, AssertionError)):
            raise  # told by who asked for the download
        raise ConfigError(
            f"model {name!r}",
            rule="must accept the input size and the options",
            found=f"size {size_HW[0]}x{size_HW[1]}, {options or 'no options'}: {str(error)[:200]}",
            todo="Choose another image_size (a multiple of the patch), leave drop_path out, or choose another model.",
        ) from error
    return model


def _try_size(model: nn.Module, size_HW: tuple[int, int]) -> None:
    """One blank picture forward: some networks refuse a size only then, which would otherwise be the first step of a run."""
    import torch

    model.eval()
    with torch.no_grad():
        model(torch.zeros(1, 3, *size_HW))
    model.train()


def normalisation(name: str) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """(mean, std) in 0..1 that timm states for a model; ImageNet's for our own."""
    from matchfit.media.record import IMAGENET_MEAN, IMAGENET_STD

    if is_ours(name):
        return IMAGENET_MEAN, IMAGENET_STD
    import timm

    settings = timm.get_pretrained_cfg(name)
    if settings is None:
        return IMAGENET_MEAN, IMAGENET_STD
    return _triple(settings.mean), _triple(settings.std)


def _triple(values: Any) -> tuple[float, float, float]:
    first, second, third = (float(value) for value in values)
    return first, second, third


def size_step(name: str) -> int:
    """Input sides are multiples of this: the patch for a Transformer that names it, else 32."""
    _, found, patch = name.partition("_patch")
    digits = "".join(sign for sign in patch[:2] if sign.isdigit())
    return int(digits) * (2 if int(digits) <= 16 else 1) if found and digits else 32
