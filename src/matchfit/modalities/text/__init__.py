"""Texts for the torch learner: a pretrained Transformer with a head of our own."""

from matchfit.modalities.text.modality import TextModality

__all__ = ["TextModality"]
