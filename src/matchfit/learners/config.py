"""The `train` section of `matchfit.yaml`. None means: the learner's own default for this modality, model and size of data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from matchfit.core.config import Section

Precision = Literal["auto", "fp32", "bf16", "fp16"]
Schedule = Literal["one-cycle", "cosine", "constant"]


class TrainConfig(Section):
    """Settings of one run. A key that the chosen learner does not use is an error, see `Learner` members' `uses`."""

    model: str | None = None
    pretrained: str | None = None  # none | packaged | hub | path
    seed: int = 0
    # torch learners
    epochs: float | None = Field(default=None, gt=0)
    batch_size: int | None = Field(default=None, ge=1)
    accumulate: int = Field(default=1, ge=1)
    lr: float | None = Field(default=None, gt=0)
    weight_decay: float | None = Field(default=None, ge=0)
    schedule: Schedule = "one-cycle"
    warmup: float = Field(default=0.1, ge=0, lt=1)  # share of all steps
    clip_grad: float = Field(default=1.0, ge=0)  # 0 turns it off
    precision: Precision = "auto"
    model_ema: bool = True
    ema_decay: float = Field(default=0.999, gt=0, lt=1)
    label_smoothing: float | None = Field(default=None, ge=0, lt=1)
    drop_path: float | None = Field(default=None, ge=0, lt=1)
    patience: int = Field(default=0, ge=0)  # epochs without gain on a hold-out of the training part; 0 is off
    save_every: int = Field(default=0, ge=0)  # optimizer steps; 0: at every epoch's end
    workers: int = Field(default=0, ge=0)
    device: str = "auto"
    channels_last: bool = True
    deterministic: bool = True
    # images
    image_size: tuple[int, int] | int | None = None  # height, width
    augment: str = "light"  # none | light
    # text
    max_length: int | None = Field(default=None, ge=8)
    # estimators
    max_rounds: int | None = Field(default=None, ge=1)
    learning_rate: float | None = Field(default=None, gt=0)
    # tracking
    wandb: bool = False
    tensorboard: bool = True
