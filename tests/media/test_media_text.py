"""Text normalisation that is safe for scripts without blanks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchfit.media import MediaError, TextRule, normalise_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, ""),
        ("  a\t b\r\n c  ", "a b c"),
        ("e\u0301", "é"),
        ("\ufeffid", "id"),
        ("a\x00b\x07", "ab"),
        ("a\u2028b\u0085c\u3000d", "a b c d"),
        ("ภาษา\u200bไทยน้ำ", "ภาษาไทยน้ำ"),
        ("你好，世界！", "你好，世界！"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("x\ud800y", "x\ufffdy"),
    ],
)
def test_examples(text: str | None, expected: str) -> None:
    assert normalise_text(text) == expected


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_twice_is_once_and_the_result_can_be_written(text: str) -> None:
    once = normalise_text(text)
    assert normalise_text(once) == once
    once.encode("utf-8")


def test_rules_are_records() -> None:
    rule = TextRule(form="NFKC", blanks="keep")
    assert TextRule.from_json(rule.to_json()) == rule
    assert rule.hash != TextRule().hash
    assert normalise_text("Ａ  b", rule) == "A  b"
    with pytest.raises(MediaError):
        TextRule.from_json({"form": "NFD"})
    with pytest.raises(MediaError):
        TextRule.from_json({"shape": 1})
