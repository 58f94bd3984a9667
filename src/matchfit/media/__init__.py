"""Decode, orientation, colour rule, resize, normalise; text normalisation; ONE preprocessing record.

numpy and Pillow only, nothing else of ours: the source of this room is copied into packages, hence the relative imports.
"""

from .decode import Decoded, Facts, count_facts, decode_image
from .errors import MediaError
from .record import Preprocessing, decode, prepare, prepare_decoded, to_input
from .text import TextRule, normalise_text

__all__ = [
    "Decoded",
    "Facts",
    "MediaError",
    "Preprocessing",
    "TextRule",
    "count_facts",
    "decode",
    "decode_image",
    "normalise_text",
    "prepare",
    "prepare_decoded",
    "to_input",
]
