"""What an item looks like: decided by the target's kind, then by media, then by what the columns hold."""

from __future__ import annotations

import polars as pl

from matchfit.competition.names import plain, tokens
from matchfit.competition.problem import Feature, Modality, Task

USER_WORDS = frozenset(["user", "customer", "client", "member", "visitor", "session", "reviewer", "account", "player"])
ITEM_WORDS = frozenset(
    [
        "item",
        "product",
        "movie",
        "book",
        "song",
        "track",
        "article",
        "article",
        "hotel",
        "anime",
        "game",
        "business",
        "restaurant",
        "business",
        "artist",
        "recipe",
        "film",
    ]
)
LONG_TEXT_WORDS = 20
MANY_NUMBERS = 8


def find_modality(
    task: Task, kind: str, features: tuple[Feature, ...], train: pl.DataFrame, targets: tuple[str, ...], keys: tuple[str, ...]
) -> tuple[Modality, str]:
    """(modality, reason). `kind`: of the media matched to the items, or ''. `keys`: train's id columns."""
    if task == "detection":
        return "detection", "boxes are asked"
    if task == "segmentation":
        return "segmentation", "masks are asked"
    if task == "ranking" and any(set(tokens(name)) & USER_WORDS for name in keys):
        return "recommender", f"a list is asked for each {', '.join(map(repr, keys))}"
    if kind in ("image", "audio"):
        more = sum(feature.kind in ("number", "category") for feature in features)
        beside = f"; {more} table columns stand beside them" if more else ""
        return kind, f"{kind} files are matched to the items{beside}"  # type: ignore[return-value]
    pair = _user_and_item(features)
    if pair is not None:
        return "recommender", f"{pair[0]!r} and {pair[1]!r} return in many rows: who and what"
    if kind == "array":
        return "image", "array files are matched to the items"
    same = _rewritten(features, train, targets)
    if same:
        return "text", f"the target rewrites {same!r}"
    return _table_or_text(features, train, targets)


def _rewritten(features: tuple[Feature, ...], train: pl.DataFrame, targets: tuple[str, ...]) -> str:
    """The column of words whose cells the target often repeats (text normalization)."""
    look = train.head(2000)
    if len(targets) != 1 or len(features) > 4 or look[targets[0]].n_unique() < 4:
        return ""
    for feature in features:
        words = feature.kind in ("text", "category", "identifier") and bool(look[feature.name].str.contains(r"\p{L}").any())
        if words and float((look[feature.name] == look[targets[0]]).mean() or 0.0) > 0.3:  # type: ignore[arg-type]
            return feature.name
    return ""


def _user_and_item(features: tuple[Feature, ...]) -> tuple[str, str] | None:
    """One column of users, one of things, and little else to learn from."""
    ids = [feature.name for feature in features if feature.kind in ("category", "identifier")]
    users = [name for name in ids if set(tokens(name)) & USER_WORDS]
    items = [name for name in ids if set(tokens(name)) & ITEM_WORDS and name not in users]
    learnable = [feature for feature in features if feature.kind in ("number", "category", "text")]
    if users and items and len(learnable) <= 6 and (_is_code(users[0]) or _is_code(items[0])):
        return users[0], items[0]
    return None


def _is_code(name: str) -> bool:
    return plain(name).endswith(("id", "key", "code", "idx")) or len(tokens(name)) == 1


def short_phrases(features: tuple[Feature, ...], train: pl.DataFrame) -> tuple[str, ...]:
    """Category columns of several words a cell: beside free text they are text too (the anchor of a pair of phrases)."""
    look = train.head(2000)
    names = [feature.name for feature in features if feature.kind == "category"]
    words = {name: float((look[name].str.count_matches(r"\s+") + 1).mean() or 0.0) for name in names}  # type: ignore[arg-type]
    return tuple(name for name in names if words[name] >= 1.3 and look[name].n_unique() > 5)


def _table_or_text(features: tuple[Feature, ...], train: pl.DataFrame, targets: tuple[str, ...]) -> tuple[Modality, str]:
    texts = [feature.name for feature in features if feature.kind == "text"]
    numbers = [feature for feature in features if feature.kind == "number"]
    if not texts:
        return "tabular", f"{len(features)} columns, none of free text"
    look = train.head(2000)
    chars = {
        feature.name: float(look[feature.name].str.len_chars().fill_null(0).mean() or 0.0)  # type: ignore[arg-type]
        for feature in features
        if feature.kind in ("text", "number", "category")
    }
    phrases = short_phrases(features, train)
    share = sum(chars[name] for name in (*texts, *phrases)) / max(sum(chars.values()), 1e-9)
    if all(bool(look[name].str.starts_with("[").fill_null(True).all()) for name in targets):
        return "tabular", "the targets are sequences of numbers"
    words = max(float((look[name].str.count_matches(r"\s+") + 1).mean() or 0.0) for name in texts)  # type: ignore[arg-type]
    listed = ", ".join(map(repr, texts[:3]))
    carries = len(numbers) < 4 or (words >= LONG_TEXT_WORDS and len(numbers) < MANY_NUMBERS)
    others = len(features) - len(texts)
    if share >= 0.5 and carries and (others <= 6 or words >= LONG_TEXT_WORDS / 2):
        return "text", f"{listed} hold {100 * share:.0f} % of the characters"
    return "tabular", f"{listed} hold text, but {len(numbers)} number columns and {others} columns in all stand beside them"
