"""Conformance kit of image models: every member of `MODELS`, and one small network of each timm family that we vouch for.

Listed in docs/adding-a-model.md; a new member is tested by being listed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from matchfit.modalities.image import weights
from matchfit.modalities.image.models import MODELS, make_model, normalisation

NAMES = [*MODELS, "test_resnet", "test_efficientnet", "test_vit", "test_convnext"]
SIDES = {name: 16 if name in MODELS else 32 for name in NAMES}


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def images(name: str, num: int) -> torch.Tensor:
    return torch.randn(num, 3, SIDES[name], SIDES[name], generator=torch.Generator().manual_seed(1)).to(
        memory_format=torch.channels_last
    )


def test_it_learns(name: str) -> None:
    torch.manual_seed(0)
    model = make_model(name, num_outputs=3, size_HW=(SIDES[name], SIDES[name]))
    pictures, labels = images(name, 4), torch.tensor([0, 1, 2, 0])
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    losses = []
    for _ in range(7):
        loss = nn.functional.cross_entropy(model(pictures), labels)
        loss.backward()
        assert all(parameter.grad is not None for parameter in model.parameters())
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.8 * losses[0]


def test_the_seed_decides_the_first_weights_and_construction_draws_nothing_else(name: str) -> None:
    torch.manual_seed(4)
    first = make_model(name, num_outputs=2, size_HW=(SIDES[name], SIDES[name])).state_dict()
    torch.manual_seed(4)
    second = make_model(name, num_outputs=2, size_HW=(SIDES[name], SIDES[name])).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_a_row_does_not_see_its_neighbours_when_it_is_scored(name: str) -> None:
    model = make_model(name, num_outputs=4, size_HW=(SIDES[name], SIDES[name])).eval()
    with torch.inference_mode():
        together, alone = model(images(name, 5)), model(images(name, 5)[2:3])
    assert together.shape == (5, 4)
    torch.testing.assert_close(together[2:3], alone, atol=1e-4, rtol=1e-3)


def test_weights_survive_a_file_bit_for_bit(name: str, tmp_path: Path) -> None:
    model = make_model(name, num_outputs=2, size_HW=(SIDES[name], SIDES[name])).eval()
    save_file(model.state_dict(), tmp_path / "w.safetensors")
    other = make_model(name, num_outputs=2, size_HW=(SIDES[name], SIDES[name])).eval()
    other.load_state_dict(load_file(tmp_path / "w.safetensors"), strict=True)
    with torch.inference_mode():
        assert torch.equal(model(images(name, 2)), other(images(name, 2)))


def test_the_head_is_known_and_small_beside_the_rest(name: str) -> None:
    model = make_model(name, num_outputs=2, size_HW=(SIDES[name], SIDES[name]))
    heads = weights._head_prefixes(model)
    sizes = {key: value.numel() for key, value in model.state_dict().items()}
    head = sum(size for key, size in sizes.items() if key.startswith(heads))
    assert 0 < head < 0.2 * sum(sizes.values())
    mean, std = normalisation(name)
    assert all(0 < value < 1 for value in (*mean, *std))
