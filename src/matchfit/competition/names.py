"""What names tell: tokens of file and column names, and which part of a competition they speak of."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

TABLE_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".txt")
PACKED_SUFFIXES = (".zip", ".gz", ".7z", ".bz2", ".xz", ".tar", ".tgz")
_PROSE = re.compile(
    r"^(readme|source|licen[cs]e|description|data_description|changelog|notice|citation|about|overview|rules)", re.IGNORECASE
)

TRAIN_WORDS = frozenset({"train", "training", "trn", "labeled", "labelled", "learn", "learning"})
TEST_WORDS = frozenset(
    {"test", "testing", "tst", "eval", "evaluation", "unlabeled", "unlabelled", "holdout", "predict", "inference"}
)
VALID_WORDS = frozenset({"valid", "validation", "val", "dev"})
LABEL_WORDS = frozenset({"label", "labels", "target", "targets", "annotation", "annotations", "truth", "groundtruth", "solution"})
SUBMISSION_WORDS = frozenset(
    {"submission", "submissions", "submit", "samplesubmission", "submissionformat", "submissionsample", "sub"}
)
EXAMPLE_WORDS = frozenset({"sample", "example", "format", "template", "gender", "benchmark", "baseline", "demo"})


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for tables of words."""
    return frozenset(text.split())


_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


def tokens(name: str) -> tuple[str, ...]:
    """The words of a name in lower case: `trainLabels2019.csv` → train, labels, 2019, csv."""
    return tuple(part.lower() for part in _PARTS.findall(name))


def stem(path: str) -> str:
    """The file's name without the suffixes of tables and archives: `a/train.csv.zip` → `train`."""
    name = PurePosixPath(path.replace("\\", "/")).name
    while True:
        suffix = PurePosixPath(name).suffix.lower()
        if suffix not in TABLE_SUFFIXES + PACKED_SUFFIXES or len(name) == len(suffix):
            return name
        name = name[: -len(suffix)]


def bare(path: str) -> str:
    """The path in lower case without the suffix of a packed single file: `Train.csv.gz` → `train.csv`."""
    text = path.lower()
    for suffix in (".gz", ".bz2", ".xz", ".zst"):
        text = text.removesuffix(suffix)
    return text


def is_prose(path: str) -> bool:
    """Files for people (README, SOURCE.md, a licence): never read for decisions."""
    name = PurePosixPath(path).name
    return name.lower().endswith((".md", ".rst", ".html", ".htm", ".pdf", ".doc", ".docx")) or bool(_PROSE.match(name))


def plain(name: str) -> str:
    """A column's name with case and punctuation ignored: `image_id`, `ImageId` and `image-id` are one."""
    return "".join(character for character in name.lower() if character.isalnum())


def side(*parts: str) -> str:
    """`train`, `test` or `` (both, or unknown) from the names of a file's folders, archive and, last and weakest, the file itself.

    The innermost folder that says something decides: `test/train_like/1.png` lies in train_like, `stage1_train/1.png` in train.
    """
    for part in reversed(parts):
        words = set(tokens(part))
        train, test = bool(words & (TRAIN_WORDS | VALID_WORDS)), bool(words & TEST_WORDS)
        if train != test:
            return "train" if train else "test"
    return ""
