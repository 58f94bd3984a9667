"""A Transformer with mean pooling and a linear head; the windows of a text are averaged.

Shapes: B rows, W windows, L tokens, D width, K outputs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

DROPOUT = 0.1


class TextNetwork(nn.Module):
    """`encoder` is a transformers model whose output has `last_hidden_state`. Mean over real tokens (Reimers and Gurevych, 2019)."""

    def __init__(self, encoder: nn.Module, width: int, num_outputs: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(DROPOUT)
        self.head = nn.Linear(width, num_outputs)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """(B, W, L) twice → (B, K). A masked window costs nothing."""
        real_BW = attention_mask.any(dim=2)
        ids, mask = input_ids[real_BW], attention_mask[real_BW]
        hidden_ML = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).to(torch.float32)
        pooled_MD = (hidden_ML.float() * weight).sum(1) / weight.sum(1)
        outputs_MK: torch.Tensor = self.head(self.dropout(pooled_MD)).float()
        if real_BW.shape[1] == 1:
            return outputs_MK
        row_M = real_BW.nonzero()[:, 0]
        sums_BK: torch.Tensor = outputs_MK.new_zeros(len(real_BW), outputs_MK.shape[1]).index_add_(0, row_M, outputs_MK)
        return sums_BK / real_BW.sum(1, keepdim=True)


def build(config: Any, num_outputs: int, encoder: nn.Module | None = None) -> TextNetwork:
    """The network for a transformers config; random weights without `encoder`. A pooler, which mean pooling leaves without gradient, is removed."""
    from transformers import AutoModel

    if encoder is None:
        encoder = AutoModel.from_config(config)  # type: ignore[no-untyped-call]
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    width = getattr(config, "hidden_size", None) or config.d_model
    return TextNetwork(encoder, int(width), num_outputs)
