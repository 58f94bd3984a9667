"""What every layout hands over: train and test as tables of text."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

MEDIA_COLUMN = "\x1fmedia"  # file references found by a layout; taken out before items are made
LABEL = "label"  # the invented name of a label that stands in folder or file names


@dataclass
class Parts:
    """`train` and `test` as text, one row an item or an annotation.

    `key`: the column of both that identifies an item. `targets`: what is learnt, where the layout knows it. `kind`: of the media that
    MEDIA_COLUMN refers to.
    """

    train: pl.DataFrame
    test: pl.DataFrame | None
    key: str
    targets: tuple[str, ...] = ()
    kind: str = ""
    boxes: bool = False
    names: dict[str, str] = field(default_factory=dict)  # class id → class name
    notes: dict[str, str] = field(default_factory=dict)
