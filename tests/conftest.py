"""What all tests share: where the real competitions are, and reasons for being skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REAL = Path(os.environ.get("MATCHFIT_COMPETITIONS", ROOT.parent / "shared" / "data"))

os.environ["HF_HUB_OFFLINE"] = "1"  # no test may ask the network,
os.environ["HF_HOME"] = str(ROOT / "tests" / "no-hub")  # nor find what this machine once fetched from it


@pytest.fixture
def real_competition() -> object:
    """A function from a name to the folder of a real competition beside the checkout; skips where there is none."""

    def find(name: str) -> Path:
        folder = REAL / name
        if not folder.is_dir():
            pytest.skip(f"needs the competition folder {folder} (set MATCHFIT_COMPETITIONS)")
        return folder

    return find


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device; none is visible")
