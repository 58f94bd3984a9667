"""Writers of the built-in competitions.

`DIR` is what a contestant gets; `DIR-solution/solution.csv` (with `Usage` Public or Private) is what only a judge gets.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from matchfit.core.errors import DataError
from matchfit.core.families import Family
from matchfit.core.records import write_atomically, write_text
from matchfit.core.seeds import generator

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TEST_SHARE = 0.25
PUBLIC_SHARE = 0.3


@dataclass(frozen=True)
class Demo:
    """One built-in competition: what it is, where its data comes from, and the function that writes it."""

    summary: str
    origin: str
    metric: str
    write: Callable[[Path, Path], None]


DEMOS: Family[Demo] = Family("built-in competition", "demos")


def write_demo(name: str, folder: Path) -> tuple[Path, Path]:
    """Write a built-in competition; returns (contestant's folder, judge's folder).

    Raises ConfigError for an unknown name and DataError when the folder holds something else already.
    """
    demo = DEMOS.get(name)
    solution = folder.with_name(folder.name + "-solution")
    marker = folder / "ABOUT.md"
    about = f"# {name}\n\n{demo.summary}\n\n- Metric: {demo.metric}\n- Origin: {demo.origin}\n"
    if folder.exists() and any(folder.iterdir()) and not (marker.exists() and marker.read_text(encoding="utf-8") == about):
        raise DataError(
            str(folder), rule="must be a new or an empty folder", found="other files in it", todo="Choose another folder."
        )
    demo.write(folder, solution)
    write_text(marker, about)
    return folder, solution


def _split(
    labels_N: npt.NDArray[np.int64], name: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """(train rows, test rows, is the test row public), each class in the same shares; the rows of both parts are shuffled."""
    import numpy as np

    random = generator("demo", name)
    train, test = [], []
    for label in np.unique(labels_N):
        rows = random.permutation(np.flatnonzero(labels_N == label))
        cut = round(len(rows) * TEST_SHARE)
        test.append(rows[:cut])
        train.append(rows[cut:])
    test_rows = random.permutation(np.concatenate(test))
    return random.permutation(np.concatenate(train)), test_rows, random.random(len(test_rows)) < PUBLIC_SHARE


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, text.getvalue())


def _usage(public: npt.NDArray[np.bool_]) -> list[str]:
    return ["Public" if shown else "Private" for shown in public]


def _write_digits(folder: Path, solution: Path) -> None:
    """1,797 pictures of handwritten digits, 8×8 grey levels, enlarged to 32×32 so that a person can look at them."""
    import numpy as np
    from PIL import Image
    from sklearn.datasets import load_digits

    data = load_digits()
    train, test, public = _split(data.target, "digits")
    ids = [f"{number:05d}" for number in range(1, len(data.target) + 1)]
    names = dict(zip([*train, *test], generator("demo", "digits", "ids").permutation(np.array(ids)), strict=True))
    for row, name in names.items():
        grey = Image.fromarray(np.rint(data.images[row] * (255 / 16)).astype(np.uint8)).resize((32, 32), Image.Resampling.BICUBIC)
        write_atomically(folder / "images" / f"{name}.png", lambda file, grey=grey: grey.save(file, format="PNG"))  # type: ignore[misc]
    _write_csv(folder / "train.csv", ["id", "label"], [(names[row], data.target[row]) for row in train])
    _write_csv(folder / "test.csv", ["id"], [(names[row],) for row in test])
    _write_csv(folder / "sample_submission.csv", ["id", "label"], [(names[row], 0) for row in test])
    answers = [(names[row], data.target[row], usage) for row, usage in zip(test, _usage(public), strict=True)]
    _write_csv(solution / "solution.csv", ["id", "label", "Usage"], answers)


def _write_breast_cancer(folder: Path, solution: Path) -> None:
    """569 rows of 30 measurements of cell nuclei; asked is the probability that the tumour is malignant."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    malignant = (data.target == 0).astype("int64")
    train, test, public = _split(malignant, "breast-cancer")
    columns = [str(name).replace(" ", "_") for name in data.feature_names]
    ids = {row: f"P{number:04d}" for number, row in enumerate([*train, *test], start=1)}

    def rows(part: npt.NDArray[np.int64], *, answers: bool) -> list[list[object]]:
        return [[ids[row], *(repr(float(x)) for x in data.data[row]), *([malignant[row]] if answers else [])] for row in part]

    _write_csv(folder / "train.csv", ["id", *columns, "malignant"], rows(train, answers=True))
    _write_csv(folder / "test.csv", ["id", *columns], rows(test, answers=False))
    _write_csv(folder / "sample_submission.csv", ["id", "malignant"], [(ids[row], "0.5") for row in test])
    answers = [(ids[row], malignant[row], usage) for row, usage in zip(test, _usage(public), strict=True)]
    _write_csv(solution / "solution.csv", ["id", "malignant", "Usage"], answers)


DEMOS.add(
    "digits",
    Demo(
        summary="Images: which digit was written? 1,797 pictures in ten classes, one label an image.",
        origin="Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, CC BY 4.0; shipped by scikit-learn",
        metric="accuracy",
        write=_write_digits,
    ),
)
DEMOS.add(
    "breast-cancer",
    Demo(
        summary="Table: is the tumour malignant? 569 rows of 30 numbers, one probability a row.",
        origin="Breast Cancer Wisconsin (Diagnostic), UCI Machine Learning Repository, CC BY 4.0; shipped by scikit-learn",
        metric="roc_auc",
        write=_write_breast_cancer,
    ),
)
