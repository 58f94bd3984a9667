"""Images: cached pixels → batches, a timm backbone or the small-image network, a head for the task."""

from matchfit.modalities.image.modality import ImageModality

__all__ = ["ImageModality"]
