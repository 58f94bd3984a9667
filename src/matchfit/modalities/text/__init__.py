"""Texts: tokens in windows → batches by length, a pretrained Transformer, a head for the task."""

from matchfit.modalities.text.modality import TextModality

__all__ = ["TextModality"]
