"""Checkpoints: one file, whole or not at all, tied and channels-last tensors included."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from matchfit.core.errors import RunError
from matchfit.learners.torch import checkpoint
from matchfit.learners.torch.optimizers import adamw, restore_state, state_tensors


@pytest.mark.parametrize("as_laid_out", [False, True])
def test_what_is_written_is_read(tmp_path, as_laid_out):
    weight = torch.randn(4, 3, 2, 5).to(memory_format=torch.channels_last)
    tensors = {"kernel": weight, "tied": weight, "count": torch.tensor(7), "view": torch.randn(6, 2).T, "none": torch.zeros(0)}
    checkpoint.write(tmp_path / "a.safetensors", tensors, {"step": 3, "share": 0.1}, as_laid_out=as_laid_out)
    found, record = checkpoint.read(tmp_path / "a.safetensors")
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[key], value) for key, value in tensors.items())
    assert record == {"schema": 1, "step": 3, "share": 0.1}


def test_a_checkpoint_is_as_readable_as_its_folder(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o755)
    checkpoint.write(folder / "a.safetensors", {"x": torch.ones(2)}, {})
    assert (folder / "a.safetensors").stat().st_mode & 0o777 == 0o644


def test_a_fault_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    checkpoint.write(path, {"x": torch.ones(2)}, {})

    def full(path):
        raise OSError("no space left on device")

    monkeypatch.setattr(checkpoint, "_flush", full)
    with pytest.raises(OSError, match="no space"):
        checkpoint.write(path, {"x": torch.zeros(2)}, {})
    assert torch.equal(checkpoint.read(path)[0]["x"], torch.ones(2))
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]


def test_foreign_files_are_refused(tmp_path):
    from safetensors.torch import save_file

    save_file({"x": torch.ones(1)}, tmp_path / "foreign.safetensors")
    with pytest.raises(RunError, match="schema"):
        checkpoint.read(tmp_path / "foreign.safetensors")


def test_the_optimizer_goes_on_with_the_same_bits(tmp_path):
    def make():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8, 2)).to(memory_format=torch.channels_last)
        return model, adamw(model, lr=0.1, weight_decay=0.1)

    def step(model, optimizer):
        model(torch.ones(2, 3, 3, 3)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    with torch.random.fork_rng():
        (model, optimizer), (other, fresh) = make(), make()
    step(model, optimizer)
    tensors = checkpoint.prefixed("optimizer", state_tensors(optimizer, model)) | checkpoint.prefixed(
        "model", model.state_dict().items()
    )
    checkpoint.write(tmp_path / "a.safetensors", tensors, {}, as_laid_out=True)
    found, _ = checkpoint.read(tmp_path / "a.safetensors")
    checkpoint.load_model(other, checkpoint.under("model", found), name="a")
    restore_state(fresh, other, checkpoint.under("optimizer", found))
    for _ in range(3):
        step(model, optimizer)
        step(other, fresh)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
