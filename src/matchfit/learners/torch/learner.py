"""The torch learner: one fold through the loop, predictions, saving and loading. What an item looks like is its modality's business."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from matchfit.competition.problem import Items, Predictions, Problem, Targets
from matchfit.core.console import progress as bar_of
from matchfit.core.errors import RunError
from matchfit.learners.base import Context, Fold, Learner
from matchfit.learners.config import TrainConfig
from matchfit.learners.torch.state import TorchState
from matchfit.modalities.base import TorchModality

if TYPE_CHECKING:
    import torch

LOOP_KEYS = frozenset(
    {"model", "pretrained", "seed", "epochs", "batch_size", "accumulate", "lr", "weight_decay", "schedule", "warmup", "clip_grad"}
    | {"precision", "model_ema", "ema_decay", "label_smoothing", "drop_path", "patience", "save_every", "workers", "device"}
    | {"channels_last", "deterministic", "wandb", "tensorboard"}
)


class TorchLearner(Learner[TorchState]):
    """A network, trained by the loop. Members differ in their modality alone."""

    name: ClassVar[str] = "torch"
    uses: ClassVar[frozenset[str]] = LOOP_KEYS
    modality_target: ClassVar[str] = ""  # `module:Class`, looked up when first needed

    def __init__(self, problem: Problem, config: TrainConfig, *, modality: type[TorchModality[Any]] | None = None) -> None:
        if config.model == self.name:  # `--model image` names the learner, and leaves the network to it
            config = config.model_copy(update={"model": None})
        super().__init__(problem, config)
        if modality is None:
            module, _, attribute = self.modality_target.partition(":")
            modality = getattr(import_module(module), attribute)
        self._modality_class: type[TorchModality[Any]] = modality
        self._sources: list[tuple[Items, TorchModality[Any], Any]] = []

    def fit(self, items: Items, targets: Targets, fold: Fold, context: Context) -> TorchState:
        """Train on `fold.train`; the state is that of the last step (or of the best hold-out epoch, with `patience`)."""
        from matchfit.learners.torch.hyper import resolve_device
        from matchfit.learners.torch.loop import train
        from matchfit.learners.torch.setup import finish, prepare

        with _own_randomness(resolve_device(self.config.device), deterministic=self.config.deterministic):
            job = prepare(self._new_modality(), self.config, items, targets, fold, context, self._source)
            with closing(job):
                train(job)
                return finish(job)

    def predict(self, state: TorchState, items: Items, context: Context, rows: npt.NDArray[np.int64] | None = None) -> Predictions:
        """See `Learner.predict`. In the precision of the training, or in fp32 when `precision` says so."""
        from matchfit.learners.torch.hyper import resolve_device

        wanted = np.arange(len(items), dtype=np.int64) if rows is None else np.asarray(rows, dtype=np.int64)
        source = self._source(state.modality, items, context)
        readable = np.asarray(state.modality.readable(source))[wanted]
        scores_NK = np.tile(state.prior, (len(wanted), 1))
        if not readable.all():
            context.say(f"{int((~readable).sum())} of {len(wanted)} items cannot be read: they get the prior")
        if readable.any():
            device = resolve_device(self.config.device)
            with _own_randomness(device, deterministic=self.config.deterministic):
                scores_NK[readable] = self._scores(state, source, wanted[readable], device, context)
        return Predictions(columns=self.problem.score_columns, scores_NK=scores_NK)

    def save(self, state: TorchState, directory: Path) -> None:
        from matchfit.learners.torch.state import save

        save(state, directory)

    def load(self, directory: Path) -> TorchState:
        from matchfit.learners.torch.state import load

        return load(directory, self._new_modality())

    def describe(self, state: TorchState) -> dict[str, Any]:
        return dict(state.facts)

    def _new_modality(self) -> TorchModality[Any]:
        return self._modality_class(self.problem, self.config)

    def _source(self, modality: TorchModality[Any], items: Items, context: Context) -> Any:
        """Prepared items; those of the last two item sets (train and test) are kept open."""
        for known_items, known_modality, source in self._sources:
            if known_items is items and known_modality is modality:
                return source
        source = modality.source(items, context.cache, context.say)
        self._sources = [*self._sources[-1:], (items, modality, source)]
        return source

    def _scores(
        self, state: TorchState, source: Any, rows: npt.NDArray[np.int64], device: torch.device, context: Context
    ) -> npt.NDArray[np.float64]:
        """Probabilities or values of readable rows. What overflows in a short precision is computed again in fp32."""
        from matchfit.learners.torch.infer import infer
        from matchfit.learners.torch.precision import Precision

        asked = "fp32" if self.config.precision == "fp32" else state.precision
        model = state.model.to(device)
        for name in dict.fromkeys((asked, "fp32")):
            with bar_of(len(rows), "predict") as bar:
                outputs_NK, _ = infer(
                    model,
                    state.modality,
                    source,
                    rows,
                    batch_size=state.batch_size,
                    precision=Precision(name, device.type),
                    channels_last=state.channels_last,
                    advance=bar.advance,
                )
            if bool(outputs_NK.isfinite().all()):
                return state.modality.scores(outputs_NK)
            if name != "fp32":
                context.say(f"outputs overflow in {name}: predicted again in fp32")
        bad = int((~outputs_NK.isfinite()).any(dim=1).sum())
        raise RunError(
            "predictions",
            rule="must be finite",
            found=f"NaN or infinite outputs for {bad} of {len(rows)} items",
            todo="The training diverged: lower --lr, or keep --clip-grad above 0.",
        )


class ImageLearner(TorchLearner):
    """Images: a timm backbone or the small-image network."""

    name: ClassVar[str] = "image"
    uses: ClassVar[frozenset[str]] = LOOP_KEYS | {"image_size", "augment"}
    modality_target: ClassVar[str] = "matchfit.modalities.image:ImageModality"


class TextLearner(TorchLearner):
    """Texts: a pretrained Transformer."""

    name: ClassVar[str] = "transformer"
    uses: ClassVar[frozenset[str]] = (LOOP_KEYS - {"channels_last", "drop_path"}) | {"max_length"}
    modality_target: ClassVar[str] = "matchfit.modalities.text:TextModality"


@contextmanager
def _own_randomness(device: torch.device, *, deterministic: bool) -> Iterator[None]:
    """Torch's generators as before once the block is left; on CUDA with deterministic kernels inside it, where `deterministic`."""
    import torch

    on_cuda = device.type == "cuda"
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=[device] if on_cuda else []))
        if on_cuda and deterministic:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read by cuBLAS when it starts
            before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
            stack.callback(lambda: torch.use_deterministic_algorithms(before[0], warn_only=before[1]))
            torch.use_deterministic_algorithms(True, warn_only=True)
        yield
