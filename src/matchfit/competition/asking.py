"""What is asked of the targets: the task, the form of the submission, the classes and their order."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from matchfit.competition.layouts.pairs import TARGET as MASK_FILE
from matchfit.competition.matching import MASK_NAMES, TargetPlan
from matchfit.competition.names import plain, tokens, word_set
from matchfit.competition.problem import SubmissionForm, Task
from matchfit.competition.values import Shape, numeric_share, separator_of_lists, shape

ORDERED_WORDS = word_set(
    "score scores rating ratings grade grades diagnosis severity level levels stage sentiment quality stars star rank points degree"
)
NOMINAL_WORDS = word_set("class classes category label labels id species breed type digit code kind cover")
QUANTITY_WORDS = word_set(
    "count counts num number amount quantity qty price cost sales demand age rings visits visitors trips rentals total "
    "duration time length width height weight temperature distance population income revenue days hours minutes seconds"
)
NEGATIVE_WORDS = word_set(
    "cover normal healthy clean background none no negative benign genuine real original ok good control empty"
)
MAX_LEVELS = 12
MAX_INTEGER_CLASSES = 20


@dataclass(frozen=True, kw_only=True)
class Asked:
    task: Task
    form: SubmissionForm
    classes: tuple[str, ...] = ()
    separator: str = " "
    list_length: int = 1
    merged: str = ""  # all classes but this one count as one
    note: str = ""


def sorted_classes(values: pl.Series) -> tuple[str, ...]:
    """Distinct cells, as numbers where all are numbers, else as text."""
    distinct = values.drop_nulls().unique()
    numbers = distinct.str.strip_chars().cast(pl.Float64, strict=False)
    if numbers.null_count() == 0:
        return tuple(pl.DataFrame({"value": distinct, "number": numbers}).sort("number", "value")["value"].to_list())
    return tuple(sorted(distinct.to_list()))


def ask(train: pl.DataFrame, plan: TargetPlan, sample: pl.DataFrame | None, predictions: tuple[str, ...], *, long: bool) -> Asked:
    """The task that the target columns and the sample's values speak of."""
    if plan.boxes:
        names = sorted_classes(train[plan.targets[0]]) if len(plan.targets) in (2, 5) else ()
        return Asked(task="detection", form="other", classes=names, note="boxes in train")
    if asks_masks(predictions) and any(is_mask(train[name], name, ()) for name in plan.targets):
        return Asked(task="segmentation", form="other", note="run-length masks")
    if len(plan.targets) > 1:
        return _several(train, plan, sample, predictions, long=long)
    column = train[plan.targets[0]]
    if plan.column_classes:
        return _class_columns(plan)
    if plan.targets[0] == MASK_FILE and bool(column.drop_nulls().head(20).str.contains(r"\.\w+$").all()):
        if asks_masks(predictions):
            return Asked(task="segmentation", form="other", note="mask files; run-length masks are asked")
        return Asked(task="other", form="other", note="a picture for each picture: a row a pixel is asked")
    if is_mask(column, plan.targets[0], predictions):
        return Asked(task="segmentation", form="other", note="run-length masks")
    if len(predictions) > 1 or long:
        return _uneven(column, plan)
    return _one(column, plan.targets[0], sample[predictions[0]] if sample is not None and predictions else None, predictions)


def _class_columns(plan: TargetPlan) -> Asked:
    if plan.separator is not None:
        return Asked(
            task="multilabel",
            form="class_scores",
            classes=plan.classes,
            separator=plan.separator,
            note=f"lists of labels, separated by {plan.separator!r}; one probability column a label",
        )
    task: Task = "binary" if len(plan.classes) == 2 else "multiclass"
    return Asked(task=task, form="class_scores", classes=plan.classes, note="one probability column a class, in the sample's order")


def asks_masks(predictions: tuple[str, ...]) -> bool:
    """The sample submission wants run-length masks, as the names of its columns say."""
    return any(plain(name) in MASK_NAMES or "rle" in tokens(name) or "pixels" in plain(name) for name in predictions)


def is_mask(column: pl.Series, name: str, predictions: tuple[str, ...]) -> bool:
    """Run-length masks: an even count of whole numbers a cell, or names that say so."""
    filled = column.drop_nulls().head(500)
    runs = filled.filter(filled.str.strip_chars().str.contains(r"^\d+( \d+)+$"))
    even = runs.filter(runs.str.count_matches(r"\s+") % 2 == 1)
    named = any(plain(item) in MASK_NAMES or "rle" in tokens(item) or "pixels" in plain(item) for item in (name, *predictions))
    if named:
        return len(runs) > 0 and len(even) == len(runs)
    return len(filled) > 0 and len(even) >= 0.5 * len(filled) and len(even) == len(runs) and bool((even.str.len_chars() > 20).any())


def _several(
    train: pl.DataFrame, plan: TargetPlan, sample: pl.DataFrame | None, predictions: tuple[str, ...], *, long: bool
) -> Asked:
    columns = [train[name] for name in plan.targets]
    facts = [shape(column) for column in columns]
    if not all(fact.numeric for fact in facts):
        lists = all(
            fact.numeric or bool(column.drop_nulls().head(20).str.starts_with("[").all())
            for fact, column in zip(facts, columns, strict=True)
        )
        if lists and long:
            return Asked(task="multiregression", form="other", note="a sequence of numbers an item and target; one row a position")
        return Asked(task="other", form="other", note="several targets that are not all numbers")
    numbers = train.select([pl.col(name).cast(pl.Float64, strict=False) for name in plan.targets])
    total = numbers.sum_horizontal()
    form: SubmissionForm = "other" if long or plan.unmatched else "class_scores"
    if all(fact.whole and fact.distinct <= 2 for fact in facts) and set().union(*(_levels(column) for column in columns)) <= {
        0.0,
        1.0,
    }:
        if len(plan.targets) == len(predictions) and bool((total == 1).all()):
            return Asked(
                task="multiclass",
                form=form,
                classes=plan.targets,
                note="every train row has exactly one 1: probabilities of one label",
            )
        return Asked(task="multilabel", form=form, classes=plan.targets, note="columns of 0 and 1 in train: several labels an item")
    nonnegative = not any(bool((numbers[name] < 0).any()) for name in plan.targets)
    votes = any({"vote", "votes"} & set(tokens(name)) for name in plan.targets)
    if (
        nonnegative
        and len(plan.targets) > 2
        and (votes or (float(((total - total[0]).abs() < 1e-6).mean() or 0.0) > 0.99 and total[0] in (1.0, 100.0)))
    ):
        return Asked(
            task="multiclass", form=form, classes=plan.targets, note="votes or shares of the classes: soft labels that sum to one"
        )
    return Asked(task="multiregression", form="values" if form == "class_scores" else "other", note="several numbers an item")


def _levels(column: pl.Series) -> set[float]:
    return set(column.drop_nulls().unique().cast(pl.Float64).to_list())


def _uneven(column: pl.Series, plan: TargetPlan) -> Asked:
    """One target column, but another shape of submission (a row a position, an uncertainty beside the value)."""
    facts = shape(column)
    if not facts.numeric:
        separator = separator_of_lists(column)
        if separator is not None:
            return Asked(
                task="multilabel",
                form="other",
                classes=list_classes(column, separator),
                separator=separator,
                note="lists of labels",
            )
        if facts.distinct <= max(MAX_INTEGER_CLASSES, 0.2 * facts.filled):
            task: Task = "binary" if facts.distinct == 2 else "multiclass"
            return Asked(task=task, form="other", classes=sorted_classes(column), note="class names")
        return Asked(task="other", form="other", note="free text")
    if facts.distinct == 2:
        return Asked(task="binary", form="other", classes=sorted_classes(column), note="two values")
    return Asked(task="regression", form="other", note="numbers; the submission asks for more than the value")


def list_classes(column: pl.Series, separator: str) -> tuple[str, ...]:
    flat = column.drop_nulls().str.split(separator).explode(empty_as_null=True, keep_nulls=True).str.strip_chars()
    return sorted_classes(flat.filter(flat != ""))


def _one(column: pl.Series, name: str, asked: pl.Series | None, predictions: tuple[str, ...]) -> Asked:
    facts = shape(column)
    values = asked.drop_nulls() if asked is not None else pl.Series([], dtype=pl.String)
    if facts.distinct == 2 and not (facts.numeric and not facts.whole):
        return _two_classes(column, facts, values, predictions)
    if facts.numeric:
        return _numbers(column, facts, name, values)
    return _words(column, facts, name, values)


def _two_classes(column: pl.Series, facts: Shape, values: pl.Series, predictions: tuple[str, ...]) -> Asked:
    classes = sorted_classes(column)
    if predictions and predictions[0] == classes[0]:
        classes = (classes[1], classes[0])  # the column is called like the class whose probability it wants
    answers = set(values.unique().to_list())
    fractions = bool(len(values)) and shape(values).numeric and not answers <= set(classes)
    if fractions:
        return Asked(
            task="binary",
            form="probability",
            classes=classes,
            note=f"two values in train, other numbers in the sample: the probability of {classes[1]!r}",
        )
    if facts.numeric and len(answers) == 1:
        return Asked(
            task="binary",
            form="probability",
            classes=classes,
            note=f"two numbers in train, one constant in the sample: taken for the probability of {classes[1]!r}; "
            "if labels are asked, set competition.metric to the metric of labels",
        )
    return Asked(task="binary", form="label", classes=classes, note="two values in train, and the sample holds such values")


def _numbers(column: pl.Series, facts: Shape, name: str, values: pl.Series) -> Asked:
    words = set(tokens(name))
    lists = values.str.strip_chars().str.count_matches(r"\s+")
    length = (lists.max() or 0) + 1 if len(values) else 1  # type: ignore[operator]
    if isinstance(length, int) and length > 1 and facts.whole:
        return Asked(
            task="ranking",
            form="ranked_list",
            classes=sorted_classes(column),
            list_length=length,
            note=f"the sample lists {length} of train's values a row",
        )
    if not facts.whole:
        return Asked(task="regression", form="value", note="numbers with fractions")
    numbers = sorted(_levels(column)) if facts.distinct <= 100_000 else []
    contiguous = bool(numbers) and numbers[0] in (0.0, 1.0) and numbers[-1] - numbers[0] == facts.distinct - 1
    sample_fractions = bool(len(values)) and not shape(values).whole
    if sample_fractions and shape(values).numeric and facts.distinct > 2 and not words & NOMINAL_WORDS:
        return Asked(task="regression", form="value", note="whole numbers in train, fractions in the sample")
    unknown = bool(len(values)) and not bool(values.is_in(column.drop_nulls().unique().implode()).any())
    if (words & QUANTITY_WORDS and not words & NOMINAL_WORDS) or (unknown and not words & (NOMINAL_WORDS | ORDERED_WORDS)):
        return Asked(
            task="regression", form="value", note=f"{facts.distinct} different whole numbers that count or measure something"
        )
    if facts.distinct <= MAX_LEVELS and words & ORDERED_WORDS:
        return Asked(
            task="ordinal",
            form="label",
            classes=sorted_classes(column),
            note=f"{facts.distinct} whole levels, and the name {name!r} speaks of an order",
        )
    if facts.distinct <= MAX_INTEGER_CLASSES and (contiguous or facts.filled >= 20 * facts.distinct or words & NOMINAL_WORDS):
        return Asked(task="multiclass", form="label", classes=sorted_classes(column), note=f"{facts.distinct} whole numbers")
    if words & NOMINAL_WORDS and facts.filled >= 1.5 * facts.distinct:
        return Asked(
            task="multiclass",
            form="label",
            classes=sorted_classes(column),
            note=f"{facts.distinct} whole numbers, and the name {name!r} speaks of classes",
        )
    return Asked(task="regression", form="value", note=f"{facts.distinct} different whole numbers")


def _words(column: pl.Series, facts: Shape, name: str, values: pl.Series) -> Asked:
    separator = separator_of_lists(column)
    if separator is not None:
        classes = list_classes(column, separator)
        return Asked(
            task="multilabel",
            form="label_list",
            classes=classes,
            separator=separator,
            note=f"lists of labels, separated by {separator!r}",
        )
    known = set(column.drop_nulls().unique().to_list())
    look = values.head(200).to_list()
    many = [value.split() for value in look if value not in known and len(value.split()) > 1]
    if many and facts.mean_words < 1.5:
        hits = sum(token in known for tokens_ in many for token in tokens_) / sum(map(len, many))
        if hits > 0.5:
            length = max(map(len, many))
            return Asked(
                task="ranking",
                form="ranked_list",
                classes=sorted_classes(column),
                list_length=length,
                note=f"the sample lists {length} of train's names a row",
            )
    if look and numeric_share(values.head(200)) == 1.0 and not any(value in known for value in look):
        negative = next((name for name in sorted(known) if set(tokens(name)) & NEGATIVE_WORDS), None)
        if negative is not None:
            note = f"{len(known)} names in train, one number in the sample: the probability that it is not {negative!r}"
            return Asked(task="binary", form="probability", classes=(negative, f"not {negative}"), merged=negative, note=note)
        return Asked(task="multiclass", form="other", classes=sorted_classes(column), note="names in train, numbers in the sample")
    answered = bool(look) and sum(value in known for value in look) > 0.5 * len(look) and len(set(look)) > 1
    few = facts.distinct <= max(2, 0.5 * facts.filled) and not (facts.mean_words >= 6 and facts.distinct > 200)
    if few or answered:
        return Asked(task="multiclass", form="label", classes=sorted_classes(column), note=f"{facts.distinct} names")
    return Asked(task="other", form="other", note="free text: nearly every row has its own value")
