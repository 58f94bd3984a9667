"""Cells that hold several things: label lists, ranked lists, boxes, run-length masks. A rule is a function from a cell to a verdict."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from matchfit.competition.problem import Problem

SEPARATORS = (" ", ",", ";", "|", "\t")
_BOX_LENGTHS = (5, 6, 9)  # confidence x y w h; class confidence x1 y1 x2 y2; confidence x y z w l h yaw class
_RUNS = re.compile(r"\d+ \d+(?: \d+ \d+)*")


@dataclass(frozen=True)
class Verdict:
    code: str
    rule: str
    warning: bool = False


TokenRule = Callable[[str], Verdict | None]


def token_rule(problem: Problem, own: list[str]) -> TokenRule | None:
    """The rule for a column of this problem; None where nothing is known about its cells. `own` are the cells of the host's sample: names
    that they hold are classes too, and a name may stand twice where it does so there."""
    if problem.submission_form in ("label_list", "ranked_list"):
        lists = [text.split(problem.separator) for text in own]
        known = frozenset(problem.classes).union(*lists) if problem.classes else frozenset()
        once = all(len(set(names)) == len(names) for names in lists)
        judge = _label_list if problem.submission_form == "label_list" else _ranked_list
        return lambda text: judge(text, problem, known, once)
    if problem.task == "detection":
        return _box_rule(problem, own)
    if problem.task == "segmentation":
        return _run_rule(own)
    return lambda text: None if text.strip() else Verdict("nan", "a cell without text; some hosts refuse it", warning=True)


def _names(text: str, problem: Problem, known: frozenset[str], once: bool) -> Verdict | None:
    """Names between single separators, each known, none twice."""
    tokens = text.split(problem.separator)
    shown = f"names of classes with {problem.separator!r} between them"
    unknown = [token for token in tokens if token not in known]
    if unknown:
        other = [mark for mark in SEPARATORS if mark != problem.separator and mark in text]
        if "" in tokens or any({part.strip() for part in text.split(mark)} <= known for mark in other):
            return Verdict("token_format", f"{shown}, without other marks or doubled blanks")
        return Verdict("unknown_class", f"{shown}; {unknown[0]!r} is no class")
    if once and len(set(tokens)) != len(tokens):
        return Verdict("token_format", f"{shown}, each name once")
    return None


def _label_list(text: str, problem: Problem, known: frozenset[str], once: bool) -> Verdict | None:
    if not text.strip():
        return Verdict("nan", "an empty cell means no label; some hosts refuse it", warning=True)
    return _names(text, problem, known, once) if problem.classes else None


def _ranked_list(text: str, problem: Problem, known: frozenset[str], once: bool) -> Verdict | None:
    if not text.strip():
        return Verdict("nan", f"one to {problem.list_length} names")
    count = len(text.split(problem.separator))
    if problem.classes and (verdict := _names(text, problem, known, once)) is not None:
        return verdict
    if count > problem.list_length:
        return Verdict("token_format", f"at most {problem.list_length} names; here {count}")
    return None


def _box_rule(problem: Problem, own: list[str]) -> TokenRule:
    lengths = {len(text.split()) for text in own}
    fits = [size for size in _BOX_LENGTHS if lengths and all(length % size == 0 for length in lengths)]
    size = min(fits, key=lambda size: (size not in lengths, size != 6), default=6 if len(problem.classes) > 1 else 5)
    place_of_class = {5: None, 6: 0, 9: 8}[size]
    form = {5: "confidence x y w h", 6: "class confidence x1 y1 x2 y2", 9: "confidence x y z w l h yaw class"}[size]
    own_classes = {text.split()[place_of_class] for text in own} if place_of_class is not None and fits else set()

    def judge(text: str) -> Verdict | None:
        tokens = text.split()
        if len(tokens) % size:
            return Verdict("token_format", f"{size} tokens a box: {form}; here {len(tokens)}")
        for start in range(0, len(tokens), size):
            box = tokens[start : start + size]
            name = None if place_of_class is None else box.pop(place_of_class)
            if name is not None and not _is_class(name, problem.classes, own_classes):
                return Verdict("unknown_class", f"{form}; {name!r} is no class")
            numbers = [_number(token) for token in box]
            if any(number is None for number in numbers):
                return Verdict("token_format", f"{form}, all numbers; here {' '.join(box)!r}")
            if not 0 <= (numbers[0] or 0.0) <= 1:
                return Verdict("range", f"confidence between 0 and 1; here {box[0]}")
        return None

    return judge


def _is_class(name: str, classes: tuple[str, ...], own: set[str]) -> bool:
    """A class by name, one that the sample uses, or a class number (hosts count from 0 or from 1)."""
    return not classes or name in classes or name in own or (name.isdecimal() and int(name) <= len(classes))


def _number(token: str) -> float | None:
    try:
        value = float(token)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in token else None


def _run_rule(own: list[str]) -> TokenRule | None:
    empty = {text for text in own if not _RUNS.fullmatch(text.strip())}
    if len(empty) > 1:  # another way to write masks, which is not known here
        return None

    def judge(text: str) -> Verdict | None:
        plain = text.strip()
        if not plain or text in empty or plain == "-":
            return None
        if not _RUNS.fullmatch(plain):
            return Verdict("token_format", "pairs of start and length, whole numbers with single blanks between them")
        numbers = [int(token) for token in plain.split()]
        starts, sizes = numbers[::2], numbers[1::2]
        if 0 in sizes:
            return Verdict("token_format", "runs have a length above zero")
        ends = [start + size for start, size in zip(starts, sizes, strict=True)]
        if any(start < end for start, end in zip(starts[1:], ends, strict=False)):
            return Verdict("token_format", "runs ascend and do not overlap")
        return None

    return judge
