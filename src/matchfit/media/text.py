"""One rule for text, with a record of its own: what a tokenizer or an n-gram counter sees.

NFC, not NFKC: the compatibility forms take apart Thai SARA AM (U+0E33) and turn full-width Chinese punctuation into ASCII, and
pretrained vocabularies were made without that. No case is changed: each model decides for itself.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import asdict, dataclass
from typing import Any, Literal

from matchfit.media.errors import MediaError

TEXT_RULE = 1
# Invisible marks that carry no text: byte-order mark, soft hyphen, zero-width space and word joiner, writing-direction marks.
# The zero-width joiner and non-joiner stay: Persian, Indic scripts and emoji need them.
_INVISIBLE = "\ufeff\u00ad\u200b\u2060\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_DROPPED = dict.fromkeys(map(ord, _INVISIBLE))
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f\x80-\x84\x86-\x9f]")
_BLANKS = re.compile(r"\s+")  # includes line ends, U+0085, U+2028, U+3000
_SURROGATES = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class TextRule:
    """`form`: a Unicode normal form, or `none`. `blanks`: `one` turns every run of blanks and line ends into one blank and strips the
    ends, `keep` leaves them."""

    form: Literal["NFC", "NFKC", "none"] = "NFC"
    blanks: Literal["one", "keep"] = "one"
    rule: int = TEXT_RULE

    def __post_init__(self) -> None:
        if self.rule != TEXT_RULE or self.form not in {"NFC", "NFKC", "none"} or self.blanks not in {"one", "keep"}:
            raise MediaError("record", f"text rule {TEXT_RULE} has forms NFC, NFKC, none and blanks one, keep; got {self!r}")

    @property
    def hash(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode("utf-8")).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> TextRule:
        try:
            return cls(**content)
        except TypeError as error:
            raise MediaError("record", f"a text rule: {error}") from None


def normalise_text(text: str | None, rule: TextRule | None = None) -> str:
    """The text by the rule; None (an empty cell) is the empty text. Applying it twice changes nothing more."""
    if not text:
        return ""
    rule = rule or TextRule()
    text = _SURROGATES.sub("\ufffd", text)
    text = _CONTROLS.sub("", text.translate(_DROPPED))
    if rule.form != "none":
        text = unicodedata.normalize(rule.form, text)
    return _BLANKS.sub(" ", text).strip() if rule.blanks == "one" else text
