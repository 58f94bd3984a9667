"""Text files without a header: a line an item (`train.txt`, `train_label.txt`, `test.txt`), or `key,label,label,…` (MLSP birds)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from matchfit.competition.files import FileTree
from matchfit.competition.layouts.parts import LABEL, Parts
from matchfit.competition.names import LABEL_WORDS, TEST_WORDS, TRAIN_WORDS, bare, is_prose, stem, tokens
from matchfit.competition.tables import read_lines
from matchfit.core.errors import DataError

MAX_FILES = 24
HIDDEN = "?"


@dataclass
class _Lines:
    path: str
    words: frozenset[str]
    lines: pl.Series


def read_line_files(tree: FileTree, members: pl.DataFrame, sample: pl.DataFrame | None) -> Parts | None:
    """Train and test from text files; None when the folder's text files are no such thing."""
    files: list[_Lines] = []
    for reference, path in members.select("reference", "path").iter_rows():
        if not bare(path).endswith(".txt") or is_prose(path) or path.count("/") > 2 or len(files) >= MAX_FILES:
            continue
        try:
            lines = read_lines(tree, reference)
        except DataError:
            continue
        files.append(_Lines(path, frozenset(tokens(stem(path))), lines))
    return _line_pairs(files, sample) or _file_a_class(files, sample) or _ragged(files)


def _line_pairs(files: list[_Lines], sample: pl.DataFrame | None) -> Parts | None:
    texts = [item for item in files if item.words & TRAIN_WORDS and not item.words & LABEL_WORDS]
    labels = [item for item in files if item.words & LABEL_WORDS and not item.words & TEST_WORDS]
    pairs = [(text, label) for text in texts for label in labels if len(text.lines) == len(label.lines)]
    if not pairs:
        return None
    text, label = pairs[0]
    tests = [item for item in files if item.words & TEST_WORDS and not item.words & LABEL_WORDS]
    start = _first_number(sample)
    train = pl.DataFrame({"line": _numbers(len(text.lines), start), "text": text.lines, LABEL: label.lines})
    notes = {"train": f"{text.path} and {label.path}: a line an item"}
    test = None
    if tests:
        test = pl.DataFrame({"line": _numbers(len(tests[0].lines), start), "text": tests[0].lines})
        notes["test"] = f"{tests[0].path}: a line an item, numbered from {start}"
    return Parts(train, test, key="line", targets=(LABEL,), notes=notes)


def _file_a_class(files: list[_Lines], sample: pl.DataFrame | None) -> Parts | None:
    """`pos.txt`, `neg.txt`, …: a file a class, when the sample submission knows the names."""
    if sample is None or sample.width < 2:
        return None
    known = set(sample.columns[1:]) | set(sample[:, -1].unique().drop_nulls().to_list())
    classes = [item for item in files if stem(item.path) in known]
    others = [item for item in files if item.words & TEST_WORDS]
    plain_files = [item for item in files if item not in others]
    if not classes or len(plain_files) < 2 or not others:
        return None
    start = _first_number(sample)
    train = pl.concat(
        [
            pl.DataFrame(
                {"text": item.lines, LABEL: [stem(item.path)] * len(item.lines)}, schema={"text": pl.String, LABEL: pl.String}
            )
            for item in plain_files
        ]
    )
    train = train.with_columns(line=_numbers(train.height, start))
    test = pl.DataFrame({"line": _numbers(len(others[0].lines), start), "text": others[0].lines})
    notes = {
        "train": "a file of lines a class: " + ", ".join(item.path for item in plain_files),
        "test": f"{others[0].path}: a line an item, numbered from {start}",
    }
    return Parts(train, test, key="line", targets=(LABEL,), notes=notes)


def _numbers(count: int, start: int) -> pl.Series:
    return pl.int_range(start, start + count, eager=True).cast(pl.String)


def _first_number(sample: pl.DataFrame | None) -> int:
    """Lines are numbered as the sample submission does it."""
    if sample is None or sample.is_empty():
        return 0
    first = sample[:, 0].cast(pl.Int64, strict=False).min()
    return first if isinstance(first, int) and first in (0, 1) else 0


def _ragged(files: list[_Lines]) -> Parts | None:
    """`rec_id,[labels]` with any number of labels a line and `?` where they are hidden; further files `rec_id,value` are joined."""
    main = next((item for item in files if _is_ragged(item.lines)), None)
    if main is None:
        return None
    lines = main.lines.drop_nulls()
    header = _has_header(lines)
    key = re.split(r"[,\t ]", str(lines[0]))[0] if header else "key"
    body = lines[1:] if header else lines
    parts = body.str.split_exact(",", 0).struct.field("field_0")
    rest = body.str.strip_prefix("").str.replace(r"^[^,]*,?", "")
    frame = pl.DataFrame({key: parts, "labels": rest.str.replace_all(",", " ")})
    for other in files:
        if other is not main and key != "key" and str(other.lines[0] or "").split(",")[0] == key:
            frame = _joined(frame, other, key)
    hidden = pl.col("labels").str.contains(HIDDEN, literal=True)
    train, test = frame.filter(~hidden), frame.filter(hidden).drop("labels")
    if test.is_empty() or train.is_empty():
        return None
    notes = {
        "train": f"{main.path}: lines of {key} and labels",
        "test": f"{main.path}: the lines whose labels are hidden ({HIDDEN})",
    }
    return Parts(train, test, key=key, targets=("labels",), notes=notes)


def _is_ragged(lines: pl.Series) -> bool:
    filled = lines.drop_nulls()
    if len(filled) < 4:
        return False
    body = filled[1:]
    commas = body.str.count_matches(",")
    return bool(commas.n_unique() > 1 and body.str.contains(r"^[\w.-]+(,[\w?.-]*)*$").all() and body.str.contains(r"\?$").any())


def _has_header(lines: pl.Series) -> bool:
    return not re.match(r"^\d", str(lines[0]))


def _joined(frame: pl.DataFrame, other: _Lines, key: str) -> pl.DataFrame:
    """The columns of a plain two-column file beside the ragged one."""
    rows = other.lines.drop_nulls()
    names = str(rows[0]).split(",")
    cells = rows[1:].str.split(",")
    if len(names) < 2 or not bool((cells.list.len() == len(names)).all()):
        return frame
    table = pl.DataFrame({name: cells.list.get(position) for position, name in enumerate(names)}).unique(key, keep="first")
    fresh = [name for name in names if name == key or name not in frame.columns]
    return frame.join(table.select(fresh), on=key, how="left", maintain_order="left")
