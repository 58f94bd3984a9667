"""Which columns of train are asked for: by name first, then by what stands in them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

import polars as pl

from matchfit.competition.builtids import same_column
from matchfit.competition.names import LABEL_WORDS, plain, tokens
from matchfit.competition.values import separator_of_lists, shape
from matchfit.core.errors import DataError, nearest, sentence

CLASS_WORDS = LABEL_WORDS | frozenset(
    {"class", "category", "y", "tag", "tags", "species", "breed", "score", "rating", "outcome", "answer"}
)
BOX_COLUMNS = (
    ("x_min", "y_min", "x_max", "y_max"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("x1", "y1", "x2", "y2"),
    ("x", "y", "w", "h"),
)
BOX_TEXT = ("bbox", "box", "boxes", "bboxes", "boundingbox", "predictionstring")
MASK_NAMES = ("encoding", "encodedpixels", "rle", "rlemask", "segmentation", "mask", "maskrle", "pixels")


@dataclass(frozen=True, kw_only=True)
class TargetPlan:
    """`targets`: columns of train. `classes`: named by the sample's columns or suffixes, else empty. `renamed`: by content, not by name."""

    targets: tuple[str, ...]
    classes: tuple[str, ...] = ()
    column_classes: bool = False  # the sample's prediction columns name the classes of one label column
    separator: str | None = None  # the label column holds lists
    boxes: bool = False
    unmatched: tuple[str, ...] = ()  # prediction columns that train has nothing for
    note: str = ""


def find_targets(
    train: pl.DataFrame,
    test_columns: frozenset[str],
    ids: tuple[str, ...],
    sample: pl.DataFrame | None,
    predictions: tuple[str, ...],
    *,
    suffixes: tuple[str, ...] = (),
    known: tuple[str, ...] = (),
    wanted: tuple[str, ...] | None = None,
) -> TargetPlan:
    """The target columns. `test_columns` are those that test fills (never targets); `known` is what a layout says; `wanted` the user.

    Raises DataError with the columns that were considered.
    """
    if wanted is not None:
        return _with_classes(train, _checked(wanted, train), predictions, "matchfit.yaml")
    free = [name for name in train.columns if name not in ids and name not in test_columns]
    boxes = box_columns(train)
    if (
        boxes
        and len(predictions) == 1
        and _holds_lists(sample, predictions[0])
        and plain(predictions[0]) not in {plain(name) for name in free if name not in boxes}
    ):
        names = tuple(name for name in _class_columns(train, free, boxes))
        return TargetPlan(targets=(*names, *boxes), boxes=True, note="boxes: " + ", ".join((*names, *boxes)))
    by_suffix = tuple(column for suffix in suffixes if (column := same_column(suffix, train.columns)) is not None)
    if suffixes and len(by_suffix) >= 2 and len(by_suffix) == len(suffixes):
        return TargetPlan(targets=by_suffix, unmatched=(), note="columns of train that the ids of the submission name")
    if known:
        return _with_classes(train, known, predictions, "")
    exact = {name: column for name in predictions if (column := same_column(name, free)) is not None}
    if exact and len(exact) == len(predictions):
        return TargetPlan(targets=tuple(exact.values()), note="the same names in train and in the sample submission")
    if len(predictions) > 1:
        plan = _one_label_column(train, free, predictions) or _prefixed(free, predictions)
        if plan is not None:
            return plan
    if exact:
        rest = tuple(name for name in predictions if name not in exact)
        return TargetPlan(
            targets=tuple(exact.values()), unmatched=rest, note=f"by name; train has nothing called {', '.join(map(repr, rest))}"
        )
    if not free:  # test shows earlier values of the target (osic): the name decides
        exact = {
            name: column for name in predictions if (column := same_column(name, train.columns)) is not None and column not in ids
        }
        if exact:
            rest = tuple(name for name in predictions if name not in exact)
            return TargetPlan(targets=tuple(exact.values()), unmatched=rest, note="by name, although test has values there too")
    if not free:
        raise DataError(
            "targets",
            rule="train must have a column that test lacks",
            found=f"train columns {_listed(train.columns)}; asked for: {_listed(predictions)}",
            todo="Name the column with competition.targets in matchfit.yaml, or the right tables with competition.train_table and test_table.",
        )
    return _renamed(train, free, sample, predictions)


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")


def _checked(wanted: tuple[str, ...], train: pl.DataFrame) -> tuple[str, ...]:
    for name in wanted:
        if name not in train.columns:
            raise DataError(
                f"competition.targets = {name!r}",
                rule="must be a column of train",
                found="no such column",
                todo=sentence(nearest(name, train.columns)),
            )
    return wanted


def box_columns(train: pl.DataFrame) -> tuple[str, ...]:
    """The columns that hold boxes: four numbers in four columns, or in one cell."""
    by_plain = {plain(name): name for name in train.columns}
    for names in BOX_COLUMNS:
        found = [by_plain.get(plain(name)) for name in names]
        if all(found):
            return tuple(name for name in found if name)
    for name in BOX_TEXT:
        column = by_plain.get(name)
        if column is not None and _numbers_in_cells(train[column]) >= 4:
            return (column,)
    return ()


def _holds_lists(sample: pl.DataFrame | None, name: str) -> bool:
    """The sample's cells may be lists of boxes: they are empty, or longer than one class."""
    if sample is None:
        return True
    cells = sample[name].drop_nulls().str.strip_chars().head(200)
    return not len(cells) or bool((cells.str.count_matches(r"\s+") >= 3).any()) or bool((cells == "").all())


def _numbers_in_cells(column: pl.Series) -> int:
    """The most usual count of numbers in a cell that holds numbers (and class names) only; 0 for text."""
    look = column.drop_nulls().head(200).str.replace_all(r"[\[\](),;]", " ").str.strip_chars()
    look = look.filter(look != "")
    if not len(look):
        return 0
    counts = look.str.count_matches(r"(?:^|\s)[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?(?:$|\b)")
    words = look.str.count_matches(r"\s+") + 1
    if float((counts >= 0.6 * words).mean() or 0.0) < 0.9:  # type: ignore[arg-type]
        return 0
    return int(counts.mode()[0])


def _class_columns(train: pl.DataFrame, free: list[str], boxes: tuple[str, ...]) -> list[str]:
    """The class of a box: by name rather than by number."""
    names = [name for name in free if name not in boxes and set(tokens(name)) & {"class", "label", "category", "name"}]
    names.sort(key=lambda name: (shape(train[name]).numeric, free.index(name)))
    return names[:1]


def _with_classes(train: pl.DataFrame, targets: tuple[str, ...], predictions: tuple[str, ...], note: str) -> TargetPlan:
    if len(targets) == 1 and len(predictions) > 1:
        plan = _one_label_column(train, list(targets), predictions)
        if plan is not None:
            return plan
    return TargetPlan(targets=targets, note=note)


def _stripped(predictions: tuple[str, ...]) -> tuple[str, ...]:
    """Names without what all of them begin with, up to a mark: `p_cat`, `p_dog` → `cat`, `dog`."""
    least, most = (min(predictions), max(predictions)) if predictions else ("", "")
    same = next((at for at, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), min(len(least), len(most)))
    common = least[:same]
    end = max((common.rfind(mark) for mark in "_-. :"), default=-1) + 1
    return tuple(name[end:] for name in predictions) if end and all(name[end:] for name in predictions) else predictions


def _one_label_column(train: pl.DataFrame, free: list[str], predictions: tuple[str, ...]) -> TargetPlan | None:
    """A column whose cells are the names of the sample's columns, alone or in lists."""
    for names in dict.fromkeys((predictions, _stripped(predictions))):
        for column in free:
            values = train[column].drop_nulls().unique()
            if not len(values) or (len(values) > 20 * len(names) and len(values) > 5000 and len(train) < 2 * len(values)):
                continue
            pool = pl.Series(list(names)).implode()
            hits = float(values.is_in(pool).mean() or 0.0)  # type: ignore[arg-type]
            if hits >= 0.9 and len(values) <= 1.2 * len(names):
                return TargetPlan(
                    targets=(column,),
                    classes=names,
                    column_classes=True,
                    note=f"the cells of {column!r} are the names of the sample submission's columns: probabilities of one label",
                )
            separator = separator_of_lists(train[column], vocabulary=frozenset(names)) if hits < 0.9 else None
            if separator is not None:
                return TargetPlan(
                    targets=(column,),
                    classes=names,
                    column_classes=True,
                    separator=separator,
                    note=f"the cells of {column!r} list names of the sample submission's columns: several labels an item",
                )
    return None


def _prefixed(free: list[str], predictions: tuple[str, ...]) -> TargetPlan | None:
    found = [same_column(name, free) for name in _stripped(predictions)]
    if all(found):
        return TargetPlan(targets=tuple(name for name in found if name), note="by name, without the prefix of the sample's columns")
    stripped = {plain(tail): name for name, tail in zip(free, _stripped(tuple(free)), strict=True)}
    found = [stripped.get(plain(name)) for name in (*predictions,)]
    if all(found):
        return TargetPlan(targets=tuple(name for name in found if name), note="by name, without the prefix of train's columns")
    return None


def _renamed(train: pl.DataFrame, free: list[str], sample: pl.DataFrame | None, predictions: tuple[str, ...]) -> TargetPlan:
    """The free column that fits best: its name, its type against the sample's values, its place."""
    scored = sorted(((_fit(train, name, free, sample, predictions), name) for name in free), reverse=True)
    (best, chosen), second = scored[0], scored[1] if len(scored) > 1 else None
    if len(predictions) > 1 and len(free) == len(predictions):
        return TargetPlan(targets=tuple(free), note="the columns that only train has, in their order (their names differ)")
    if best < 0 or (second is not None and best - second[0] < 0.15):
        raise DataError(
            "targets",
            rule="the sample submission's columns must be found in train",
            found=f"asked for: {_listed(predictions)}; train alone has: {_listed(free)}",
            todo="Name the column to learn with competition.targets in matchfit.yaml.",
        )
    why = "the only column that test lacks" if second is None else "by name and content"
    return TargetPlan(
        targets=(chosen,),
        unmatched=predictions[1:],
        note=f"{chosen!r}, {why}; the submission calls it {', '.join(map(repr, predictions[:3]))}",
    )


def _fit(train: pl.DataFrame, name: str, free: list[str], sample: pl.DataFrame | None, predictions: tuple[str, ...]) -> float:
    words, asked = set(tokens(name)), {word for item in predictions for word in tokens(item)}
    score = 1.0 * bool(words & CLASS_WORDS) + 1.0 * bool(words & asked) + 0.5 * (name == free[-1])
    score += difflib.SequenceMatcher(None, plain(name), plain(predictions[0])).ratio() if predictions else 0.0
    asks_mask = any(plain(item) in MASK_NAMES or "rle" in tokens(item) or "pixels" in plain(item) for item in predictions)
    score += 1.5 * (plain(name) in MASK_NAMES) * (2.0 if asks_mask else 1.0)
    facts = shape(train[name])
    if facts.distinct < 2:
        score -= 1.0
    if facts.unique and facts.filled > 20 and not facts.numeric and facts.mean_words < 1.5:
        score -= 0.75  # a file name or another id
    asked_text = any(words_ & {"string", "text", "answer"} for words_ in (set(tokens(item)) for item in predictions))
    score += 0.75 * (asked_text and not facts.numeric) - 0.75 * bool(words & {"start", "end", "offset", "begin", "length"})
    if words & {"id", "idx", "index", "path", "file", "filename"} and not words & {"category", "class", "label"}:
        score -= 0.75
    if sample is not None and predictions:
        values = sample[predictions[0]].drop_nulls()
        if len(values):
            asked_facts = shape(values)
            score += 0.5 * (asked_facts.numeric == facts.numeric)
            score += 0.75 * float(values.is_in(train[name].implode()).mean() or 0.0)  # type: ignore[arg-type]
            listed = values.head(100).str.split(" ").explode(empty_as_null=True, keep_nulls=True).drop_nulls()
            hits = float(listed.is_in(train[name].implode()).mean() or 0.0) if len(listed) > min(len(values), 100) else 0.0  # type: ignore[arg-type]
            score += 3.0 * hits - 2.0 * (hits < 0.5 and facts.numeric and not asked_facts.numeric)
    return score
