"""Texts as token numbers: fields joined with the tokenizer's separator, long texts cut into overlapping windows.

Shapes: N texts, B rows of a batch, W windows of a row, L tokens of a window.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from matchfit.core.errors import ConfigError
from matchfit.media.text import TextRule, normalise_text

OVERLAP = 0.125  # share of a window that the next one repeats, so that a phrase on the border is whole in one of them
MAX_WINDOWS = 8  # what a text has beyond these is not read
PAD_TO = 8  # lengths of a batch are rounded up to this: fewer shapes, and tensor cores like it


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """A tokenizer as data: `json` is the content of the `tokenizers` library's file; the special tokens by number (-1: the model has none)."""

    json: str
    cls: int
    sep: int
    pad: int

    def to_json(self) -> dict[str, Any]:
        packed = base64.b64encode(zlib.compress(self.json.encode("utf-8"), 9)).decode("ascii")
        return {"tokenizer": packed, "cls": self.cls, "sep": self.sep, "pad": self.pad}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Vocabulary:
        text = zlib.decompress(base64.b64decode(content["tokenizer"])).decode("utf-8")
        return cls(json=text, cls=content["cls"], sep=content["sep"], pad=content["pad"])

    @classmethod
    def of(cls, tokenizer: Any, *, name: str) -> Vocabulary:
        """From a transformers tokenizer; ConfigError for one that only runs in Python."""
        fast = getattr(tokenizer, "backend_tokenizer", None)
        if fast is None:
            raise ConfigError(
                f"--model {name}",
                rule="needs a tokenizer of the `tokenizers` library",
                found=type(tokenizer).__name__,
                todo="Choose another model.",
            )

        def number(*names: str) -> int:
            found = (getattr(tokenizer, name, None) for name in names)
            return next((int(token) for token in found if token is not None), -1)

        pad = number("pad_token_id")
        return cls(
            json=fast.to_str(),
            cls=number("cls_token_id", "bos_token_id"),
            sep=number("sep_token_id", "eos_token_id"),
            pad=max(pad, 0),
        )


@dataclass(frozen=True, kw_only=True)
class TokenTable:
    """All texts in two flat arrays: text i is `tokens[starts[i]:starts[i + 1]]`, without the tokens at its ends."""

    tokens: npt.NDArray[np.int32]
    starts_N1: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts_N1) - 1

    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.starts_N1)


def tokenise(columns: Sequence[Sequence[str | None]], vocabulary: Vocabulary, rule: TextRule) -> TokenTable:
    """Tokens of N items whose text fields are `columns` (each of N texts)."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(vocabulary.json)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    encoded = [
        [
            np.asarray(entry.ids, dtype=np.int32)
            for entry in tokenizer.encode_batch([normalise_text(text, rule) for text in column], add_special_tokens=False)
        ]
        for column in columns
    ]
    between = [np.asarray([vocabulary.sep], dtype=np.int32)] if vocabulary.sep >= 0 else []
    texts = []
    for fields in zip(*encoded, strict=True):
        parts = [fields[0]]
        for field in fields[1:]:
            parts += [*between, field]
        texts.append(np.concatenate(parts))
    starts_N1 = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return TokenTable(tokens=np.concatenate(texts) if texts else np.zeros(0, np.int32), starts_N1=starts_N1)


def windows_of(length: int, room: int) -> list[tuple[int, int]]:
    """(start, end) of the windows of a text of `length` tokens when `room` fit into one; at most MAX_WINDOWS."""
    if length <= room:
        return [(0, length)]
    stride = max(1, round(room * (1 - OVERLAP)))
    starts = list(range(0, length - room + stride, stride))[:MAX_WINDOWS]
    return [(start, min(start + room, length)) for start in starts]


def batch_of(
    table: TokenTable, rows_B: npt.NDArray[np.int64], vocabulary: Vocabulary, max_length: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(input_ids, attention_mask), both (B, W, L); windows that a row does not have are masked throughout."""
    ends = int(vocabulary.cls >= 0) + int(vocabulary.sep >= 0)
    texts = [table.tokens[table.starts_N1[row] : table.starts_N1[row + 1]] for row in rows_B]
    cuts = [windows_of(len(text), max_length - ends) for text in texts]
    longest = max(end - start for windows in cuts for start, end in windows) + ends
    shape = (len(texts), max(map(len, cuts)), min(max(-(-longest // PAD_TO) * PAD_TO, PAD_TO), max(max_length, longest)))
    ids, mask = np.full(shape, vocabulary.pad, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, (text, windows) in enumerate(zip(texts, cuts, strict=True)):
        for number, (start, end) in enumerate(windows):
            place = 0
            if vocabulary.cls >= 0:
                ids[row, number, 0] = vocabulary.cls
                place = 1
            ids[row, number, place : place + end - start] = text[start:end]
            place += end - start
            if vocabulary.sep >= 0:
                ids[row, number, place] = vocabulary.sep
                place += 1
            mask[row, number, : max(place, 1)] = 1
    return ids, mask
