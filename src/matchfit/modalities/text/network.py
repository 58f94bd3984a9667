"""A Transformer, the mean of its last states over the tokens of each window, the mean over windows, a linear head.

Shapes: B rows, W windows, L tokens, H hidden units, K outputs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

HEAD_GAIN = 10.0  # the head is new and the rest is not: under Adam this is ten times the learning rate for it
HEAD_DROPOUT = 0.1


class TextNetwork(nn.Module):
    """`head_gain` multiplies the head's outputs; its weights start that much smaller."""

    def __init__(self, encoder: nn.Module, hidden: int, num_outputs: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(HEAD_DROPOUT)
        self.head = nn.Linear(hidden, num_outputs)
        nn.init.normal_(self.head.weight, std=0.02 / HEAD_GAIN)
        nn.init.zeros_(self.head.bias)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor | None = None
    ) -> torch.Tensor:
        """(B, W, L) tokens and their mask (a window without tokens is not there) → (B, K). A row's outputs are the mean over its windows."""
        present_BW = attention_mask.any(dim=2)
        more: dict[str, Any] = {} if token_type_ids is None else {"token_type_ids": token_type_ids[present_BW]}
        mask_VL = attention_mask[present_BW]
        states_VLH = self.encoder(input_ids=input_ids[present_BW], attention_mask=mask_VL, **more).last_hidden_state
        weights_VL1 = mask_VL.unsqueeze(2).to(states_VLH.dtype)
        pooled_VH = (states_VLH * weights_VL1).sum(1) / weights_VL1.sum(1).clamp_min(1)
        outputs_VK = self.head(self.dropout(pooled_VH)).float() * HEAD_GAIN
        outputs_BWK = outputs_VK.new_zeros(*present_BW.shape, outputs_VK.shape[1])
        outputs_BWK[present_BW] = outputs_VK
        mean_BK: torch.Tensor = outputs_BWK.sum(1) / present_BW.sum(1, keepdim=True).clamp_min(1)
        return mean_BK
