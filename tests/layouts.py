"""Small synthetic competition folders of every kind that hosts ship, each with the right answer: `LAYOUTS[name](folder) -> Expected`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import layouts_image
import layouts_known
import layouts_media
import layouts_tabular
import layouts_text
import layouts_variants
from layout_tools import Expected, accepts

__all__ = ["LAYOUTS", "Expected", "accepts"]

MODULES = (layouts_known, layouts_image, layouts_text, layouts_tabular, layouts_media, layouts_variants)
LAYOUTS: dict[str, Callable[[Path], Expected]] = {name: make for module in MODULES for name, make in module.LAYOUTS.items()}
