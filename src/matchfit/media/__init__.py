"""Decode, orientation, colour rule, resize, normalise; text normalisation; ONE preprocessing record.

numpy and Pillow only, nothing else of ours: the source of this room is copied into packages.
"""

from matchfit.media.decode import Decoded, Facts, count_facts, decode_image
from matchfit.media.errors import MediaError
from matchfit.media.record import Preprocessing, decode, prepare, prepare_decoded, to_input
from matchfit.media.text import TextRule, normalise_text

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
