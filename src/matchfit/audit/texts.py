"""Properties of the texts: length, script, what a model with a maximal length would cut, markup, damage by a wrong encoding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from matchfit.audit.subject import PARTS, Part, Subject, share, shown
from matchfit.core.findings import Finding

MODEL_TOKENS = 256  # what the small sentence models read at most
PIECES_A_WORD = 1.3  # word pieces of a word in an alphabet, by and large
SCRIPTS = ("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Thai", "Han", "Hiragana", "Katakana", "Hangul")
DENSE = r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]"
MARKUP = r"(?i)<(/?(p|br|div|span|a|b|i|em|strong|ul|ol|li|table|tr|td|h[1-6]|img|code|pre|html|body)\b[^<>]*|!--)>?|&(amp|lt|gt|quot|nbsp|#\d+);"
URL = r"(?i)\b(https?://|www\.)\S"
# Text in UTF-8 that was read as a one-byte encoding (Ã©, â€™, Â°, à¸), the mark of an undecodable byte, a BOM in the middle.
DAMAGE = r"Ã[\u{80}-\u{BF}ƒ‚„…†‡ˆ‰Š‹Œ]|â€[\u{80}-\u{BF}™œ“”¢¦˜]|Â[\u{A0}-\u{BF}]|à[¸¹][\u{80}-\u{BF}]|\u{FFFD}|ï»¿"
ESCAPED = r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\n"
NOTABLE_SHARE = 0.01
SAMPLE = 50_000


def check_texts(subject: Subject) -> Iterator[Finding]:
    """`text_properties` (one, in figures), `empty_texts`, `damaged_texts`, `marked_up_texts`, `escaped_texts`, `long_texts`."""
    if not subject.text_columns:
        return
    described = []
    for part in PARTS:
        texts = subject.texts(part)
        if texts is None or not len(texts):
            continue
        rows = subject.sample(part, "texts", SAMPLE)
        figures = _figures(texts[rows], sampled=len(rows) < len(texts))
        subject.properties.setdefault("texts", {})[part] = figures
        described.append(_described(part, figures))
        yield from _faults(subject, part, texts)
        if figures["cut_share"] >= NOTABLE_SHARE:
            yield Finding(
                code="long_texts",
                severity="info",
                message=f"About {100 * figures['cut_share']:.3g} % of {part} texts are longer than {MODEL_TOKENS} tokens, the most that small "
                f"language models read (counted as {PIECES_A_WORD} tokens a word, one a character in scripts without blanks, one a sign).",
                todo="TF-IDF reads all of them. A Transformer cuts them, or reads them in windows.",
            )
    if described:
        yield Finding(code="text_properties", severity="info", message="Texts, " + "; ".join(described) + ".")


def tokens(texts: pl.Series) -> pl.Series:
    """Tokens of a word-piece model, by and large, without the model (see `long_texts`)."""
    dense = texts.str.count_matches(DENSE)
    words = texts.str.replace_all(DENSE, " ").str.count_matches(r"[\p{L}\p{M}\p{N}]+")
    return (dense + words * PIECES_A_WORD + texts.str.count_matches(r"[^\s\p{L}\p{M}\p{N}]")).round()


def _figures(texts: pl.Series, *, sampled: bool) -> dict[str, Any]:
    lengths, counted = texts.str.len_chars(), tokens(texts)
    letters = {script: int(texts.str.count_matches(rf"\p{{{script}}}").sum()) for script in SCRIPTS}
    letters["other"] = max(0, int(texts.str.count_matches(r"\p{L}").sum()) - sum(letters.values()))
    total = max(1, sum(letters.values()))
    return {
        "characters": _quantiles(lengths),
        "tokens": _quantiles(counted),
        "cut_share": float((counted > MODEL_TOKENS).mean() or 0.0),  # type: ignore[arg-type]
        "scripts": {name: round(number / total, 4) for name, number in letters.items() if number >= 0.001 * total},
        "url_share": float(texts.str.contains(URL).mean() or 0.0),  # type: ignore[arg-type]
        "sampled": sampled,
    }


def _quantiles(values: pl.Series) -> list[int]:
    """[least, 5 %, median, 95 %, most]"""
    return [int(value) for value in np.quantile(values.to_numpy().astype(np.float64), [0, 0.05, 0.5, 0.95, 1])]


def _described(part: Part, figures: dict[str, Any]) -> str:
    low, few, middle, many, high = figures["characters"]
    scripts = shown(f"{name} {100 * value:.3g} %" for name, value in sorted(figures["scripts"].items(), key=lambda pair: -pair[1]))
    urls = f"; {100 * figures['url_share']:.2g} % with a link" if figures["url_share"] >= NOTABLE_SHARE else ""
    return (
        f"{part}: {low:,} to {high:,} characters (median {middle:,}, 90 % within {few:,} and {many:,}); {scripts}{urls}; "
        f"{100 * figures['cut_share']:.2g} % above {MODEL_TOKENS} tokens"
    )


def _faults(subject: Subject, part: Part, texts: pl.Series) -> Iterator[Finding]:
    empty = np.flatnonzero((texts.str.strip_chars() == "").to_numpy())
    if len(empty):
        yield Finding(
            code="empty_texts",
            severity="warning",
            message=f"{share(len(empty), len(texts))} {part} texts are empty or blank.",
            todo="They are predicted from their being empty alone.",
            rows=subject.ids(part, empty),
        )
    kinds = (
        ("damaged_texts", "warning", DAMAGE, "were damaged by a wrong encoding", "Repair them at the source, alike in both parts."),
        ("marked_up_texts", "info", MARKUP, "hold HTML tags or entities", "Removing tags often helps; do it alike for train and test."),
        ("escaped_texts", "info", ESCAPED, "hold escapes such as \\n or \\u00e9 as text", "Undo the escapes, alike for train and test."),
    )  # fmt: skip
    for code, severity, pattern, what, todo in kinds:
        hit = np.flatnonzero(texts.str.contains(pattern).to_numpy())
        if len(hit) and (severity == "warning" or len(hit) >= NOTABLE_SHARE * len(texts)):
            example = subject.ids(part, hit[:1])[0]
            yield Finding(
                code=code,
                severity="warning" if severity == "warning" else "info",
                message=f"{share(len(hit), len(texts))} {part} texts {what}. For example {example}.",
                todo=todo,
                rows=subject.ids(part, hit),
            )
