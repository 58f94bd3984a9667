"""Images for the torch learner.

Shapes: N items, B rows of a batch, K classes or targets, H rows, W columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matchfit.competition.problem import Items, Problem, Targets
from matchfit.core.errors import MatchfitError
from matchfit.data.augment import AUGMENTATIONS, Augmentation, Subject
from matchfit.data.cache import ImageCache, build_cache
from matchfit.data.loader import PixelBatches, epoch_order, pixel_batches, prefetched
from matchfit.media import Preprocessing, to_input
from matchfit.modalities.base import Batch, Recipe, TorchModality
from matchfit.modalities.heads import Head, make_head
from matchfit.modalities.image import weights
from matchfit.modalities.image.models import make_model, normalisation
from matchfit.modalities.image.planning import Plan, device_kind, make_plan, make_recipe

if TYPE_CHECKING:
    import torch
    from torch import nn

    from matchfit.learners.config import TrainConfig


def _silent(line: str) -> None:
    """Nobody listens before `plan` or `source` was called."""


class ImageModality(TorchModality[ImageCache]):
    """Pictures as float32 (B, 3, H, W) in channels-last memory. See `TorchModality` for the contract."""

    def __init__(self, problem: Problem, config: TrainConfig) -> None:
        super().__init__(problem, config)
        self._plan: Plan | None = None
        self._record: Preprocessing | None = None
        self._augmentation: Augmentation | None = None
        self._say: Callable[[str], None] = _silent
        self._head: Head = make_head(problem, config.label_smoothing or 0.0)

    # -- what is settled --------------------------------------------------------------------------------------------------------

    def plan(self, items: Items, fit_rows: npt.NDArray[np.int64], say: Callable[[str], None]) -> None:
        self._say = say
        plan = make_plan(self.config, items, fit_rows)
        mean, std = normalisation(plan.model)
        self._settle(plan, Preprocessing(size_HW=plan.size_HW, filter="bilinear", fit="squash", mean=mean, std=std))
        say(plan.reason)
        if self._augmentation is not None and self._augmentation.remark:
            say(self._augmentation.remark)

    def restore(self, settings: dict[str, Any]) -> None:
        plan = dict(settings["plan"])
        self._settle(Plan(**{**plan, "size_HW": tuple(plan["size_HW"])}), Preprocessing.from_json(settings["preprocessing"]))
        self._head = make_head(self.problem, settings["label_smoothing"])
        self._head.restore(settings["head"])

    def settings(self) -> dict[str, Any]:
        return {
            "modality": "image",
            "plan": asdict(self._settled),
            "preprocessing": self.record.to_json(),
            "label_smoothing": getattr(self._head, "label_smoothing", 0.0),
            "head": self._head.state(),
        }

    def _settle(self, plan: Plan, record: Preprocessing) -> None:
        self._plan, self._record = plan, record
        neutral = [round(float(mean) / record.scale) for mean in record.mean]
        subject = Subject(
            size_HW=plan.size_HW,
            names=self.problem.score_columns,
            pretrained=plan.pretrained != weights.NONE,
            neutral=(neutral[0], neutral[1], neutral[2]),
        )
        self._augmentation = AUGMENTATIONS.get(self.config.augment)(subject)

    @property
    def _settled(self) -> Plan:
        assert self._plan is not None, "plan() or restore() comes first"
        return self._plan

    @property
    def record(self) -> Preprocessing:
        """The preprocessing record, for exports and packages."""
        assert self._record is not None, "plan() or restore() comes first"
        return self._record

    def recipe(self, num_train: int) -> Recipe:
        kind = device_kind(self.config.device)
        return make_recipe(self._settled, num_train, self.problem.metric.name, self.problem.task, kind)

    # -- data -------------------------------------------------------------------------------------------------------------------

    def source(self, items: Items, cache: Path, say: Callable[[str], None]) -> ImageCache:
        self._say = say
        return build_cache(items, self.record, cache, say=say)

    def readable(self, source: ImageCache) -> npt.NDArray[np.bool_]:
        return source.readable_N

    def batches(
        self,
        source: ImageCache,
        rows: npt.NDArray[np.int64],
        targets: torch.Tensor | None,
        *,
        batch_size: int,
        epoch_seed: int | None,
        skip: int = 0,
    ) -> Iterator[Batch]:
        """`targets` (N, …) are those of the whole source, indexed by position."""
        source.touch()
        pixel = PixelBatches(
            cache=source,
            order_R=epoch_order(np.asarray(rows, np.int64), epoch_seed),
            batch_size=batch_size,
            augmentation=self._augmentation,
            epoch_seed=epoch_seed,
        )
        raw = pixel_batches(pixel, skip=skip, workers=self.config.workers, say=self._say)
        ready = (self._batch(pixels_BHWC, rows_B, targets) for pixels_BHWC, rows_B in raw)
        return ready if self.config.workers else prefetched(ready)

    def _batch(self, pixels_BHWC: npt.NDArray[np.uint8], rows_B: npt.NDArray[np.int64], targets: torch.Tensor | None) -> Batch:
        import torch

        inputs_BCHW = torch.from_numpy(to_input(pixels_BHWC, self.record))
        return Batch(inputs_BCHW, rows_B, None if targets is None else targets[torch.from_numpy(rows_B)])

    def num_batches(self, num_rows: int, batch_size: int) -> int:
        return -(-num_rows // batch_size)

    # -- network ----------------------------------------------------------------------------------------------------------------

    def model(self, *, pretrained: bool) -> nn.Module:
        plan = self._settled
        kind = plan.pretrained if pretrained else weights.NONE
        drop_path = self.config.drop_path if self.config.drop_path is not None else 0.0

        def make(download: bool) -> nn.Module:
            return make_model(
                plan.model, num_outputs=self._head.num_outputs, size_HW=plan.size_HW, drop_path=drop_path, download=download
            )

        if kind == weights.HUB:
            try:
                return make(True)
            except MatchfitError:
                raise
            except Exception as error:  # the hub's client raises many kinds: no network, no such repository, disk full
                raise weights.explain_hub(plan.model, error) from error
        model = make(False)
        if kind == weights.PACKAGED:
            weights.load_packaged(model, plan.model)
        elif kind != weights.NONE:
            weights.load_file(model, Path(kind))
        return model

    def loss(self, targets: Targets) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        smoothing = self.config.label_smoothing
        if smoothing is None:
            smoothing = self.recipe(len(targets)).label_smoothing
        self._head = make_head(self.problem, smoothing)
        self._head.fit(targets)
        return self._head.loss

    def scores(self, outputs: torch.Tensor) -> npt.NDArray[np.float64]:
        return self._head.scores(outputs.detach().double().cpu().numpy())
