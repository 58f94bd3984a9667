"""Texts for the torch learner.

Shapes: N items, B rows of a batch, K classes or targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matchfit.competition.problem import Items, Problem, Targets
from matchfit.core.errors import ConfigError
from matchfit.core.seeds import generator
from matchfit.media.text import TextRule
from matchfit.modalities.base import Batch, Recipe, TorchModality
from matchfit.modalities.heads import Head, make_head
from matchfit.modalities.text.pretrained import config_of, load_config, load_encoder, load_tokenizer, require_transformers
from matchfit.modalities.text.tokens import MAX_WINDOWS, PAD_TO, TokenTable, Vocabulary, batch_of, tokenise, windows_of

if TYPE_CHECKING:
    import torch
    from torch import nn

    from matchfit.learners.config import TrainConfig

DEFAULT_MODEL = "minilm"
LONGEST_DEFAULT = 256  # tokens; more on request
SORTED_BATCHES = 50  # so many batches are shuffled together, then sorted by length: little padding, still random


class TextModality(TorchModality[TokenTable]):
    """Token numbers (B, windows, tokens) by length, padded to the longest of the batch. See `TorchModality` for the contract.

    Several text columns are one text with the tokenizer's separator between them. A text longer than `max_length` is read in overlapping
    windows whose outputs are averaged.
    """

    def __init__(self, problem: Problem, config: TrainConfig) -> None:
        super().__init__(problem, config)
        require_transformers()
        self._fields = problem.feature_names("text")
        if not self._fields:
            raise ConfigError(
                "text_columns", rule="a Transformer needs a text column", found="none", todo="Name them in matchfit.yaml."
            )
        if config.pretrained not in {None, "none", "packaged", "hub"}:
            raise ConfigError(
                f"--pretrained {config.pretrained}",
                rule="for texts --model names folder and weights together",
                found="a path of weights",
                todo="Give the model's folder as --model PATH.",
            )
        self._head: Head = make_head(problem, config.label_smoothing or 0.0)
        self._rule = TextRule()
        self._name = config.model or DEFAULT_MODEL
        self._network: dict[str, Any] = {}
        self._vocabulary: Vocabulary | None = None
        self._max_length = 0

    # -- what is settled --------------------------------------------------------------------------------------------------------

    def plan(self, items: Items, fit_rows: npt.NDArray[np.int64], say: Callable[[str], None]) -> None:
        self._network = load_config(self._name)
        self._vocabulary = Vocabulary.of(load_tokenizer(self._name), name=self._name)
        lengths = self._tokens(items.take(fit_rows)).lengths() + 2
        limit = min(int(self._network.get("max_position_embeddings") or LONGEST_DEFAULT), 1 << 20)
        asked = self.config.max_length
        if asked is not None and asked > limit:
            raise ConfigError(
                f"max_length={asked}", rule=f"{self._name} reads {limit} tokens", found=str(asked), todo="Choose a smaller one."
            )
        whole = -(-int(lengths.max(initial=0)) // PAD_TO) * PAD_TO  # batches are padded to their own longest: room costs nothing
        self._max_length = asked or max(2 * PAD_TO, min(whole, LONGEST_DEFAULT, limit))
        longer, cut = lengths > self._max_length, np.zeros(0)
        if longer.any():
            cut = np.array([windows_of(int(n) - 2, self._max_length - 2)[-1][1] < n - 2 for n in lengths[longer]])
        say(
            f"{self._name}: texts of {int(np.median(lengths))} tokens (median), {int(np.quantile(lengths, 0.99))} (99 %), {int(lengths.max())}"
            f" (longest); max_length {self._max_length}: {longer.mean():.1%} are read in several windows,"
            f" {cut.sum() / len(lengths):.1%} are cut after {MAX_WINDOWS}"
        )

    def restore(self, settings: dict[str, Any]) -> None:
        self._name, self._network = settings["model"], settings["network"]
        self._vocabulary = Vocabulary.from_json(settings["vocabulary"])
        self._max_length, self._rule = settings["max_length"], TextRule.from_json(settings["text_rule"])
        self._head = make_head(self.problem, settings["label_smoothing"])
        self._head.restore(settings["head"])

    def settings(self) -> dict[str, Any]:
        return {
            "modality": "text",
            "model": self._name,
            "network": self._network,
            "vocabulary": self._settled.to_json(),
            "max_length": self._max_length,
            "text_rule": self._rule.to_json(),
            "label_smoothing": getattr(self._head, "label_smoothing", 0.0),
            "head": self._head.state(),
        }

    @property
    def _settled(self) -> Vocabulary:
        assert self._vocabulary is not None, "plan() or restore() comes first"
        return self._vocabulary

    def recipe(self, num_train: int) -> Recipe:
        small = int(self._network.get("hidden_size") or 768) < 512
        epochs = 4.0 if num_train > 2_000 else 8.0
        return Recipe(epochs=epochs, batch_size=32, lr=2e-4 if small else 3e-5, weight_decay=0.01)

    # -- data -------------------------------------------------------------------------------------------------------------------

    def source(self, items: Items, cache: Path, say: Callable[[str], None]) -> TokenTable:
        return self._tokens(items)

    def _tokens(self, items: Items) -> TokenTable:
        missing = [name for name in self._fields if name not in items.table.columns]
        if missing:
            raise ConfigError(
                "text_columns", rule="must stand in the table", found=f"no column {missing[0]!r}", todo="Check the folder."
            )
        return tokenise([items.table[name].to_list() for name in self._fields], self._settled, self._rule)

    def readable(self, source: TokenTable) -> npt.NDArray[np.bool_]:
        return np.ones(len(source), dtype=np.bool_)

    def batches(
        self,
        source: TokenTable,
        rows: npt.NDArray[np.int64],
        targets: torch.Tensor | None,
        *,
        batch_size: int,
        epoch_seed: int | None,
        skip: int = 0,
    ) -> Iterator[Batch]:
        """`targets` (N, …) are those of the whole source, indexed by position."""
        import torch

        order = by_length(source.lengths(), np.asarray(rows, dtype=np.int64), batch_size, epoch_seed)
        for rows_B in order[skip:]:
            ids, mask = batch_of(source, rows_B, self._settled, self._max_length)
            inputs = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
            yield Batch(inputs, rows_B, None if targets is None else targets[torch.from_numpy(rows_B)])

    def num_batches(self, num_rows: int, batch_size: int) -> int:
        return -(-num_rows // batch_size)

    # -- network ----------------------------------------------------------------------------------------------------------------

    def model(self, *, pretrained: bool) -> nn.Module:
        from matchfit.modalities.text.network import build

        with_weights = pretrained and self.config.pretrained != "none"
        encoder = load_encoder(self._name) if with_weights else None
        return build(config_of(self._network), self._head.num_outputs, encoder)

    def loss(self, targets: Targets) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        self._head = make_head(self.problem, self.config.label_smoothing or 0.0)
        self._head.fit(targets)
        return self._head.loss

    def scores(self, outputs: torch.Tensor) -> npt.NDArray[np.float64]:
        return self._head.scores(outputs.detach().double().cpu().numpy())


def by_length(
    lengths_N: npt.NDArray[np.int64], rows_R: npt.NDArray[np.int64], batch_size: int, epoch_seed: int | None
) -> list[npt.NDArray[np.int64]]:
    """Batches of rows of like length. With a seed: shuffled, sorted within stretches of SORTED_BATCHES batches, and the batches shuffled."""
    if epoch_seed is None:
        sorted_R = rows_R[np.argsort(lengths_N[rows_R], kind="stable")]
        return [sorted_R[start : start + batch_size] for start in range(0, len(sorted_R), batch_size)]
    random = generator(epoch_seed, "order")
    shuffled_R = rows_R[random.permutation(len(rows_R))]
    stretch = batch_size * SORTED_BATCHES
    batches = []
    for start in range(0, len(shuffled_R), stretch):
        part = shuffled_R[start : start + stretch]
        part = part[np.argsort(lengths_N[part], kind="stable")]
        batches += [part[first : first + batch_size] for first in range(0, len(part), batch_size)]
    return [batches[number] for number in random.permutation(len(batches))]
