"""Small synthetic competition folders of every kind that hosts ship, each with the right answer: `LAYOUTS[name](folder) -> Expected`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import layouts_image
import layouts_tabular
import layouts_text
from layout_tools import Expected, accepts

__all__ = ["LAYOUTS", "Expected", "accepts"]

LAYOUTS: dict[str, Callable[[Path], Expected]] = {**layouts_image.LAYOUTS, **layouts_text.LAYOUTS, **layouts_tabular.LAYOUTS}
