"""What kind of column is it? Decided on the text of all train rows, with a look at test."""

from __future__ import annotations

import polars as pl

from matchfit.competition.config import CompetitionConfig
from matchfit.competition.names import tokens
from matchfit.competition.problem import Feature, FeatureKind
from matchfit.competition.values import MISSING_WORDS, NUMBER
from matchfit.core.errors import DataError, nearest, sentence

LOOK_ROWS = 4000
_MONTH = r"(?:Jan(uary)?|Feb(ruary)?|Mar(ch)?|Apr(il)?|May|June?|July?|Aug(ust)?|Sep(tember)?|Oct(ober)?|Nov(ember)?|Dec(ember)?)"
TIME_TEXT = (
    rf"^\s*(\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}|\d{{1,2}}[- ]{_MONTH}[- ]\d{{4}}|{_MONTH} \d{{1,2}}, \d{{4}})"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|UTC|[AP]M|[+-]\d{2}:?\d{2})?)?\s*$|^\d{14}Z?$"
)
TIME_WORDS = frozenset(["time", "timestamp", "date", "datetime", "unixtime", "created", "updated", "at", "day"])
ID_WORDS = frozenset(["id", "ids", "uid", "uuid", "guid", "key", "index", "idx", "rowid"])
NAME_WORDS = frozenset(["name", "surname", "firstname", "lastname", "fullname", "username", "nickname", "author", "address"])
TOLERATED = 1e-3  # share of odd cells that a column of numbers may hold; they count as missing
UNIX_SECONDS = (3e8, 4.1e9)


def find_features(
    train: pl.DataFrame, test: pl.DataFrame, names: list[str], keys: frozenset[str], config: CompetitionConfig
) -> tuple[tuple[Feature, ...], dict[str, str]]:
    """The shared columns `names` with their kinds, and notes on what was tolerated. `keys`: columns that identify items.

    Raises DataError for an override that names no such column.
    """
    for key, wanted in (
        ("column_kinds", config.column_kinds),
        ("drop_columns", config.drop_columns),
        ("text_columns", config.text_columns or ()),
    ):
        for name in wanted:
            if name not in names:
                raise DataError(
                    f"competition.{key} = {name!r}",
                    rule="must be a column that train and test share",
                    found="no such column" if name not in train.columns else "a column of train only, an id or a target",
                    todo=sentence(nearest(name, names)),
                )
    features, notes = [], {}
    for name in names:
        if name in config.drop_columns:
            continue
        if name in config.column_kinds:
            kind: FeatureKind = config.column_kinds[name]
        elif config.text_columns is not None and name in config.text_columns:
            kind = "text"
        else:
            kind, note = column_kind(train[name], test[name], is_key=name in keys)
            if note:
                notes[name] = note
            if kind == "text" and config.text_columns is not None:
                kind = "category"
        features.append(Feature(name=name, kind=kind))
    return tuple(features), notes


def column_kind(train: pl.Series, test: pl.Series, *, is_key: bool = False) -> tuple[FeatureKind, str]:
    """(kind, remark). A number holds for all rows but at most TOLERATED odd cells, which the remark states."""
    if is_key:
        return "identifier", ""
    words = set(tokens(train.name))
    filled = train.drop_nulls()
    look = filled if len(filled) <= LOOK_ROWS else filled.gather_every(len(filled) // LOOK_ROWS)
    look = look.filter(~look.str.strip_chars().is_in(MISSING_WORDS))
    if not len(look):
        look = filled.head(LOOK_ROWS)
    if not len(filled) or _constant(train, test):
        return "constant", ""
    if _share(look, NUMBER) >= 0.99:
        return _number(train, filled, look, words)
    if _share(look, TIME_TEXT) >= 0.95:
        return "time", ""
    return _words(filled, look, words), ""


def _share(look: pl.Series, pattern: str) -> float:
    return float(look.str.contains(pattern).mean() or 0.0) if len(look) else 0.0  # type: ignore[arg-type]


def _constant(train: pl.Series, test: pl.Series) -> bool:
    first = train[0]
    return bool(train.eq_missing(first).all()) and bool(test.eq_missing(first).all())


def _number(train: pl.Series, filled: pl.Series, look: pl.Series, words: set[str]) -> tuple[FeatureKind, str]:
    numbers = filled.cast(pl.Float64, strict=False)
    odd = filled.filter(numbers.is_null())
    if len(odd):
        odd = odd.filter(~odd.str.strip_chars().is_in(MISSING_WORDS) & ~odd.str.contains(NUMBER))
    if len(odd) > TOLERATED * len(filled):
        return "category", f"{len(odd)} of {len(filled)} cells are no numbers, such as {odd[0]!r}"
    note = f"{len(odd)} cells such as {odd[0]!r} are no numbers and count as missing" if len(odd) else ""
    zeros = look.str.contains(r"^0\d")
    if bool(zeros.any()) and float(look.str.len_chars().n_unique()) == 1:
        return "category", "numbers of one length with leading zeros: codes"
    if words & TIME_WORDS and _within(numbers, *UNIX_SECONDS):
        return "time", note
    whole = bool(look.str.contains(r"^\s*-?\d+\s*$").all())
    named = bool(words & ID_WORDS) or train.name.endswith(("Id", "ID", "_id"))
    if whole and named:
        return ("identifier" if filled.n_unique() > 0.95 * len(filled) else "category"), note
    if whole and len(filled) > 20 and _counts_up(numbers):
        return "identifier", "counts the rows"
    return "number", note


def _within(numbers: pl.Series, low: float, high: float) -> bool:
    least, most = numbers.min(), numbers.max()
    return isinstance(least, float) and isinstance(most, float) and low <= least and most <= high * 1000


def _counts_up(numbers: pl.Series) -> bool:
    return numbers[0] in (0.0, 1.0) and bool((numbers.diff().drop_nulls() == 1).all())


def _codes(look: pl.Series) -> bool:
    """Hashes, addresses and paths rather than content."""
    return _share(look, r"(?i)^[0-9a-f-]+$") > 0.5 or _share(look, r"^\w+://|^[\w./-]+\.\w{2,5}$") > 0.5


def _words(filled: pl.Series, look: pl.Series, words: set[str]) -> FeatureKind:
    distinct = look.n_unique() / max(len(look), 1)
    mean_words = float((look.str.strip_chars().str.count_matches(r"\s+") + 1).mean() or 0.0)  # type: ignore[arg-type]
    mean_chars = float(look.str.len_chars().mean() or 0.0)  # type: ignore[arg-type]
    unspaced = float(look.str.count_matches(r"[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3040-\u30FF\u3400-\u9FFF]").mean() or 0.0)  # type: ignore[arg-type]
    letters = float((look.str.count_matches(r"\p{L}") / look.str.len_chars()).mean() or 0.0)  # type: ignore[arg-type]
    wordy = mean_words >= 2.5 or unspaced >= 5 or (mean_words >= 1.6 and mean_chars >= 8 and distinct > 0.3)
    varied = look.n_unique() > min(20, 0.5 * len(look)) or (mean_words >= 4 and look.n_unique() > 8)
    if words & NAME_WORDS and mean_words < 7:
        wordy = False
    strand = mean_chars >= 20 and letters > 0.8 and mean_words < 1.1 and distinct > 0.3 and not _codes(look)
    if strand and varied:
        return "text"  # a sequence of letters (DNA, SMILES): read character by character
    if wordy and letters > 0.4 and (distinct > 0.05 or mean_words >= 6) and varied:
        return "text"
    if distinct > 0.95 and len(filled) > 20 and (bool(words & ID_WORDS) or filled.n_unique() > 0.98 * len(filled)):
        return "identifier"
    return "category"
