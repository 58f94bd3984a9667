"""Randomness as a function: a seed for every (run seed, purpose, epoch, item …), independent of order and of processes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def derive_seed(*parts: int | str) -> int:
    """A 63-bit seed from the parts, the same on every machine. `derive_seed(0, "augment", epoch, item)`."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), "little") >> 1


def generator(*parts: int | str) -> np.random.Generator:
    """A numpy generator seeded by `derive_seed(*parts)`."""
    import numpy as np

    return np.random.default_rng(derive_seed(*parts))
