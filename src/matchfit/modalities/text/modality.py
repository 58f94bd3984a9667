"""The text modality: what the torch learner asks, put together from tokens, batches, network and head."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matchfit.competition.problem import Items, Problem, Targets
from matchfit.core.errors import ConfigError, DataError, RunError
from matchfit.core.records import content_hash
from matchfit.media.text import TextRule
from matchfit.modalities.base import Batch, Recipe, TorchModality
from matchfit.modalities.heads import Head, make_head
from matchfit.modalities.text import backbone
from matchfit.modalities.text.batching import PaddedBatches, batches_of, in_order
from matchfit.modalities.text.tokens import TokenSource, texts_of, token_counts, tokenise

if TYPE_CHECKING:
    import torch
    from torch import nn

    from matchfit.learners.config import TrainConfig

WINDOW = {"cpu": 256, "cuda": 512}  # tokens at most, unless max_length says otherwise
LOOK_ROWS = 5000
COVERED = 0.995  # share of texts that the usual length holds whole
STEP = 8  # lengths are multiples of this


class TextModality(TorchModality[TokenSource]):
    """A pretrained Transformer on the text columns; two columns are a pair, more are joined by the tokenizer's separator. Columns of other
    kinds are not read."""

    def __init__(self, problem: Problem, config: TrainConfig) -> None:
        super().__init__(problem, config)
        self._head: Head = make_head(problem, config.label_smoothing or 0.0)
        self._name = config.model or backbone.PACKAGED
        self._columns = problem.feature_names("text")
        self._max_length = 0
        self._model_json: dict[str, Any] = {}
        self._tokenizer_json: dict[str, Any] = {}
        self._tokenizer: Any = None

    # -- settled by the data ----------------------------------------------------------------------------------------------------

    def plan(self, items: Items, fit_rows: npt.NDArray[np.int64], say: Callable[[str], None]) -> None:
        if not self._columns:
            raise DataError(
                "competition.text_columns",
                rule="must name a column of texts for a Transformer",
                found=", ".join(self.problem.feature_names()) or "no column that train and test share",
                todo="Set competition.text_columns in matchfit.yaml.",
            )
        self._weights()  # refuses what does not fit, before anything is read
        config = backbone.read_config(self._name)
        self._tokenizer = backbone.read_tokenizer(self._name)
        self._model_json = json.loads(config.to_json_string(use_diff=False))
        self._tokenizer_json = backbone.tokenizer_to_json(self._tokenizer)
        chosen = fit_rows[np.unique(np.linspace(0, len(fit_rows) - 1, min(len(fit_rows), LOOK_ROWS)).astype(np.int64))]
        counts = token_counts(self._tokenizer, texts_of(items.table[chosen], self._columns))
        self._max_length = self._settled_length(config, counts)
        middle, most = (int(np.quantile(counts, share)) for share in (0.5, 0.99))
        longer = float((counts > self._max_length).mean())
        say(
            f"{self._name}: tokens a text: median {middle}, 99 % at most {most}, longest {int(counts.max())}; "
            f"max_length {self._max_length}, {longer:.1%} are longer"
        )

    def _settled_length(self, config: Any, counts: npt.NDArray[np.int64]) -> int:
        limit = backbone.longest_input(config)
        if self.config.max_length is not None:
            if self.config.max_length > limit:
                raise ConfigError(
                    "max_length",
                    rule=f"must be at most {limit} tokens for {self._name}",
                    found=str(self.config.max_length),
                    todo="Longer texts are read in windows, so none is lost.",
                )
            return self.config.max_length
        covering = int(np.ceil(np.quantile(counts, COVERED) / STEP) * STEP)
        return int(np.clip(covering, 2 * STEP, min(limit, WINDOW["cuda" if _on_gpu(self.config.device) else "cpu"])))

    def settings(self) -> dict[str, Any]:
        return {
            "kind": "text",
            "model": self._name,
            "columns": list(self._columns),
            "max_length": self._max_length,
            "text_rule": TextRule().to_json(),
            "config": self._model_json,
            **self._tokenizer_json,
            "label_smoothing": getattr(self._head, "label_smoothing", 0.0),
            "head": self._head.state(),
        }

    def restore(self, settings: dict[str, Any]) -> None:
        if settings.get("kind") != "text" or settings["text_rule"] != TextRule().to_json():
            raise RunError(
                "settings",
                rule="must be those of a text model of this version",
                found=str(settings.get("kind")),
                todo="Train again.",
            )
        self._name, self._max_length = settings["model"], settings["max_length"]
        self._columns = tuple(settings["columns"])
        self._model_json = settings["config"]
        self._tokenizer_json = {name: settings[name] for name in ("tokenizer", "special", "inputs", "padding_side")}
        self._tokenizer = backbone.tokenizer_from_json(self._tokenizer_json)
        self._head = make_head(self.problem, settings["label_smoothing"])
        self._head.restore(settings["head"])

    def recipe(self, num_train: int) -> Recipe:
        """Three epochs of 8,000 rows, more of fewer rows and fewer of more; figures in docs/log.md."""
        epochs = float(np.clip(round(24_000 / max(num_train, 1)), 2, 10))
        classes = self.problem.task in {"binary", "multiclass"}
        return Recipe(epochs=epochs, batch_size=32, lr=1e-4, weight_decay=0.01, label_smoothing=0.05 if classes else 0.0)

    # -- data -------------------------------------------------------------------------------------------------------------------

    def source(self, items: Items, cache: Path, say: Callable[[str], None]) -> TokenSource:
        key = content_hash([self._tokenizer_json, TextRule().hash])
        return tokenise(self._tokenizer, texts_of(items.table, self._columns), self._max_length, cache, key, say)

    def readable(self, source: TokenSource) -> npt.NDArray[np.bool_]:
        """Every text is: an empty one has its special tokens, or (with a tokenizer that adds none) nothing, and then gets the prior."""
        return np.asarray(source.lengths > 0)

    def batches(
        self,
        source: TokenSource,
        rows: npt.NDArray[np.int64],
        targets: torch.Tensor | None,
        *,
        batch_size: int,
        epoch_seed: int | None,
        skip: int = 0,
    ) -> Iterator[Batch]:
        """Rows of like length together. `targets` (N, …) are those of the whole source."""
        import torch

        rows = np.asarray(rows, dtype=np.int64)
        padded = PaddedBatches(
            source=source,
            batches=batches_of(rows, source.lengths[rows], batch_size, epoch_seed),
            pad_id=self._tokenizer.pad_token_id or 0,
            left=self._tokenizer_json["padding_side"] == "left",
        )
        uses_types = "token_type_ids" in self._tokenizer_json["inputs"]
        for ids, mask, types, rows_B in in_order(padded, skip=skip, workers=self.config.workers):
            inputs = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
            if uses_types:
                inputs["token_type_ids"] = torch.from_numpy(types)
            yield Batch(inputs, rows_B, None if targets is None else targets[torch.from_numpy(rows_B)])

    def num_batches(self, num_rows: int, batch_size: int) -> int:
        return -(-num_rows // batch_size)

    # -- network ----------------------------------------------------------------------------------------------------------------

    def _weights(self) -> str | None:
        """The name whose weights are read, or None for fresh ones."""
        given = self.config.pretrained
        if given == "none":
            return None
        if given == "packaged" and self._name != backbone.PACKAGED:
            raise ConfigError(
                "--pretrained packaged", rule=f"is for --model {backbone.PACKAGED}", found=self._name, todo="Leave it out."
            )
        if given == "hub" and (self._name == backbone.PACKAGED or Path(self._name).expanduser().is_dir()):
            raise ConfigError(
                "--pretrained hub", rule="needs --model to be a name on the hub", found=self._name, todo="Leave it out."
            )
        if given not in {None, "packaged", "hub"}:
            raise ConfigError(
                f"--pretrained {given}",
                rule="must be none, packaged or hub for texts",
                found=repr(given),
                todo="A folder with weights is given as --model FOLDER.",
            )
        return self._name

    def model(self, *, pretrained: bool) -> nn.Module:
        from matchfit.modalities.text.network import TextNetwork

        encoder = backbone.make_encoder(self._model_json, weights=self._weights() if pretrained else None)
        hidden = self._model_json.get("hidden_size") or self._model_json.get("d_model") or self._model_json.get("dim")
        return TextNetwork(encoder, int(hidden or encoder.get_input_embeddings().embedding_dim), self._head.num_outputs)  # type: ignore[operator]

    def loss(self, targets: Targets) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        smoothing = self.config.label_smoothing
        if smoothing is None:
            smoothing = self.recipe(len(targets)).label_smoothing
        self._head = make_head(self.problem, smoothing)
        self._head.fit(targets)
        return self._head.loss

    def scores(self, outputs: torch.Tensor) -> npt.NDArray[np.float64]:
        return self._head.scores(outputs.detach().double().cpu().numpy())


def _on_gpu(device: str) -> bool:
    import torch

    return device.startswith(("cuda", "mps")) or (device == "auto" and torch.cuda.is_available())
