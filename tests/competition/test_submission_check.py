"""Each fault is planted into a valid file, and exactly that code, row and column must come out."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import submission_cases as cases

from matchfit.competition.problem import Competition
from matchfit.competition.submission import SubmissionReport, check_submission
from matchfit.competition.submission_faults import CODES, MOST_SHOWN
from matchfit.core.errors import SubmissionError

Lines = list[str]


def lines_of(competition: Competition) -> Lines:
    assert competition.sample is not None
    return competition.sample.write_csv().splitlines()


def report_of(tmp_path: Path, data: bytes | Lines, competition: Competition) -> SubmissionReport:
    path = tmp_path / "submission.csv"
    path.write_bytes(data if isinstance(data, bytes) else ("\n".join(data) + "\n").encode())
    return check_submission(path, competition)


def places(report: SubmissionReport) -> list[tuple[str, int | None, str | None]]:
    return [(fault.code, fault.row, fault.column) for fault in report.errors]


def cell(row: int, place: int, value: str) -> Callable[[Lines], Lines]:
    def plant(lines: Lines) -> Lines:
        cells = lines[row].split(",")
        cells[place] = value
        return [*lines[:row], ",".join(cells), *lines[row + 1 :]]

    return plant


LABELS, PROBABILITY, SCORES, VALUES = cases.labels, cases.probability, cases.class_scores, lambda: cases.values(metric="rmsle")
PLANTED = [
    ("missing", LABELS, lambda lines: lines[:7] + lines[8:], [("missing_id", None, "id")]),
    ("extra", LABELS, lambda lines: [*lines, "99999,cat"], [("extra_id", 31, "id")]),
    ("duplicate", LABELS, lambda lines: [*lines[:9], lines[3], *lines[9:]], [("duplicate_id", 9, "id")]),
    ("renamed id", LABELS, cell(4, 0, "3"), [("extra_id", 4, "id"), ("missing_id", None, "id")]),
    ("blank id", LABELS, cell(4, 0, " "), [("blank_id", 4, "id"), ("missing_id", None, "id")]),
    ("header name", LABELS, lambda lines: ["id,Label", *lines[1:]], [("header", 0, "label"), ("header", 0, "Label")]),
    ("no header", LABELS, lambda lines: lines[1:], [("header", 0, None)]),
    ("other separator", LABELS, lambda lines: [line.replace(",", ";") for line in lines], [("header", 0, None)]),
    ("extra column", LABELS, lambda lines: [lines[0] + ",note", *(line + ",x" for line in lines[1:])], [("header", 0, "note")]),
    ("missing column", SCORES, lambda lines: [line.rsplit(",", 1)[0] for line in lines], [("header", 0, "cat")]),
    ("repeated column", LABELS, lambda lines: [line + "," + line.split(",")[1] for line in lines], [("header", 0, "label")]),
    ("unknown class", LABELS, cell(5, 1, "Cat"), [("unknown_class", 5, "label")]),
    ("number for a class", LABELS, cell(5, 1, "0.7"), [("unknown_class", 5, "label")]),
    ("blank label", LABELS, cell(30, 1, ""), [("nan", 30, "label")]),
    ("NaN label", LABELS, cell(30, 1, "NaN"), [("nan", 30, "label")]),
    ("too few cells", LABELS, lambda lines: [*lines[:6], "00005", *lines[7:]], [("ragged_row", 6, None)]),
    ("too many cells", LABELS, lambda lines: [*lines[:30], "00029,bird, big"], [("ragged_row", 30, None)]),
    ("open quote", LABELS, lambda lines: [*lines[:30], '00029,"cat'], [("ragged_row", 30, None)]),
    ("NaN", PROBABILITY, cell(2, 1, "nan"), [("nan", 2, "p")]),
    ("empty", PROBABILITY, cell(2, 1, ""), [("nan", 2, "p")]),
    ("infinite", PROBABILITY, cell(2, 1, "-inf"), [("inf", 2, "p")]),
    ("overflow", PROBABILITY, cell(2, 1, "1e999"), [("inf", 2, "p")]),
    ("word", PROBABILITY, cell(2, 1, "high"), [("dtype", 2, "p")]),
    ("decimal comma", PROBABILITY, cell(2, 1, '"0,5"'), [("dtype", 2, "p")]),
    ("digit groups", PROBABILITY, cell(2, 1, "1_0"), [("dtype", 2, "p")]),
    ("truth word", PROBABILITY, cell(2, 1, "True"), [("dtype", 2, "p")]),
    ("above one", PROBABILITY, cell(2, 1, "1.01"), [("range", 2, "p")]),
    ("below zero", PROBABILITY, cell(2, 1, "-0.01"), [("range", 2, "p")]),
    ("negative count", VALUES, cell(8, 1, "-1"), [("range", 8, "count")]),
    ("sum", SCORES, cell(8, 2, "0.5"), [("sum_to_one", 8, None)]),
    ("NaN in a row of scores", SCORES, cell(8, 2, "nan"), [("nan", 8, "bird")]),
    ("composite id", cases.composite, cell(8, 1, "7"), [("extra_id", 8, None), ("missing_id", None, None)]),
    ("list separator", cases.label_list, cell(2, 1, "a b"), [("token_format", 2, "tags")]),
    ("list blanks", cases.label_list, cell(2, 1, '"a,,b"'), [("token_format", 2, "tags")]),
    ("label twice", cases.label_list, cell(2, 1, '"a,a"'), [("token_format", 2, "tags")]),
    ("unknown label", cases.label_list, cell(2, 1, '"a,z"'), [("unknown_class", 2, "tags")]),
    ("too long", cases.ranked_list, cell(2, 1, "a b c d"), [("token_format", 2, "best")]),
    ("unknown rank", cases.ranked_list, cell(2, 1, "a z"), [("unknown_class", 2, "best")]),
    ("empty rank", cases.ranked_list, cell(2, 1, ""), [("nan", 2, "best")]),
]


@pytest.mark.parametrize(("make", "plant", "expected"), [case[1:] for case in PLANTED], ids=[case[0] for case in PLANTED])
def test_planted_fault(
    tmp_path: Path,
    make: Callable[[], Competition],
    plant: Callable[[Lines], Lines],
    expected: list[tuple[str, int | None, str | None]],
) -> None:
    competition = make()
    lines = lines_of(competition)
    assert report_of(tmp_path, lines, competition).errors == ()
    report = report_of(tmp_path, plant(lines), competition)
    assert sorted(places(report), key=str) == sorted(expected, key=str)
    assert not report.valid
    assert all(fault.rule and fault.severity == "error" for fault in report.errors)
    json.dumps(report.as_json(), allow_nan=False)


BYTES = [
    ("nothing", lambda data: b"", [("empty_file", None, None)]),
    ("blank lines", lambda data: b"\n\n", [("empty_file", None, None)]),
    ("header alone", lambda data: data.split(b"\n")[0] + b"\n", [("empty_file", None, None)]),
    ("bom", lambda data: b"\xef\xbb\xbf" + data, [("bom", 0, None)]),
    ("utf-16", lambda data: data.decode().encode("utf-16"), [("encoding", 0, None)]),
    ("latin-1", lambda data: data.replace(b"00004,cat", b"00004,c\xe4t"), [("encoding", 5, None)]),
    ("zero byte", lambda data: data.replace(b"00004,cat", b"00004,c\x00t"), [("encoding", 5, None)]),
    ("zip", lambda data: b"PK\x03\x04" + data, [("encoding", 0, None)]),
    ("open quote in the header", lambda data: data.replace(b"label", b'"label', 1), [("ragged_row", 0, None)]),
    ("old line ends", lambda data: data.replace(b"\n", b"\r"), [("encoding", 0, None)]),
]


@pytest.mark.parametrize(("plant", "expected"), [case[1:] for case in BYTES], ids=[case[0] for case in BYTES])
def test_planted_bytes(tmp_path: Path, plant: Callable[[bytes], bytes], expected: list[tuple[str, int | None, str | None]]) -> None:
    competition = cases.labels()
    report = report_of(tmp_path, plant(("\n".join(lines_of(competition)) + "\n").encode()), competition)
    assert places(report) == expected
    assert not report.valid


WARNINGS = [
    ("order", LABELS, lambda lines: [lines[0], *lines[:0:-1]], [("order", 1, "id")]),
    ("column order", LABELS, lambda lines: [",".join(line.split(",")[::-1]) for line in lines], [("header", 0, None)]),
    ("blank line", LABELS, lambda lines: [*lines[:5], "", *lines[5:]], [("ragged_row", 5, None)]),
    ("no label", cases.label_list, cell(2, 1, ""), [("nan", 2, "tags")]),
]


@pytest.mark.parametrize(("make", "plant", "expected"), [case[1:] for case in WARNINGS], ids=[case[0] for case in WARNINGS])
def test_warnings_leave_it_valid(
    tmp_path: Path,
    make: Callable[[], Competition],
    plant: Callable[[Lines], Lines],
    expected: list[tuple[str, int | None, str | None]],
) -> None:
    competition = make()
    report = report_of(tmp_path, plant(lines_of(competition)), competition)
    assert places(report) == expected
    assert report.valid


def test_harmless_forms_are_accepted(tmp_path: Path) -> None:
    competition = cases.labels()
    lines = lines_of(competition)
    assert report_of(tmp_path, "\r\n".join(lines).encode(), competition).errors == ()
    assert report_of(tmp_path, ("\n".join(lines) + "\n\n\n").encode(), competition).errors == ()
    quoted = [",".join(f'"{part}"' for part in line.split(",")) for line in lines]
    assert report_of(tmp_path, quoted, competition).errors == ()
    assert report_of(tmp_path, cell(3, 1, '"bird, big"')(lines), competition).errors == ()


def test_many_faults_are_counted(tmp_path: Path) -> None:
    competition = cases.labels()
    lines = [line.replace("cat", "cow") for line in lines_of(competition)]
    report = report_of(tmp_path, lines, competition)
    assert [fault.row for fault in report.errors] == [*range(1, MOST_SHOWN + 1), None]
    assert report.errors[-1].value == "… and 10 more"


def test_lost_forms_are_named(tmp_path: Path) -> None:
    competition = cases.labels()
    report = report_of(tmp_path, cell(4, 0, "3")(lines_of(competition)), competition)
    assert "written there as '00003'" in report.errors[0].rule
    report = report_of(tmp_path, cell(4, 1, "Cat ")(lines_of(competition)), competition)
    assert "written 'cat'" in report.errors[0].rule


def test_classes_named_like_missing_values_are_classes(tmp_path: Path) -> None:
    sample = {"id": ["1", "2"], "label": ["NA", "None"]}
    competition = cases.competition_of("label", "multiclass", sample, classes=("NA", "None", "ok"))
    assert report_of(tmp_path, lines_of(competition), competition).errors == ()


def test_a_rule_that_the_sample_breaks_is_not_the_hosts(tmp_path: Path) -> None:
    sample = {"id": ["1", "2"], "a": ["0", "0"], "b": ["0", "0"]}
    competition = cases.competition_of("class_scores", "multiclass", sample, classes=("a", "b"))
    assert report_of(tmp_path, ["id,a,b", "1,0.5,0.1", "2,0.9,0.3"], competition).errors == ()
    assert places(report_of(tmp_path, ["id,a,b", "1,0.5,0.1", "2,1.9,0.3"], competition)) == [("range", 2, "a")]


def test_what_the_sample_holds_the_host_reads(tmp_path: Path) -> None:
    sample = {"id": ["1", "2"], "label": ["silence", "silence"]}  # a class that train does not have
    competition = cases.competition_of("label", "multiclass", sample, classes=("yes", "no"))
    assert report_of(tmp_path, ["id,label", "1,silence", "2,no"], competition).errors == ()
    assert places(report_of(tmp_path, ["id,label", "1,silence", "2,left"], competition)) == [("unknown_class", 2, "label")]
    sample = {"id": ["1", "2"], "best": ["0 2 7 0", "0 2 7 0"]}  # a name twice
    competition = cases.competition_of("ranked_list", "ranking", sample, classes=("0", "1", "2"), list_length=4)
    assert report_of(tmp_path, ["id,best", "1,1 7 1", "2,0"], competition).errors == ()
    assert places(report_of(tmp_path, ["id,best", "1,1 8", "2,0"], competition)) == [("unknown_class", 1, "best")]


@pytest.mark.parametrize(("value", "code"), [("0.25", None), ("1.5", "range"), ("often", "dtype"), ("", "nan"), ("inf", "inf")])
def test_numbers_of_a_long_form(tmp_path: Path, value: str, code: str | None) -> None:
    sample = {"row_id": ["s_C1", "s_C2"], "fractured": ["0.5", "0.5"]}  # a row for each study and bone
    competition = cases.competition_of("other", "multilabel", sample, ids=("row_id",), targets=("C1", "C2"), classes=("C1", "C2"))
    report = report_of(tmp_path, ["row_id,fractured", "s_C1,0.5", f"s_C2,{value}"], competition)
    assert places(report) == ([] if code is None else [(code, 2, "fractured")])


def test_without_sample_and_id_the_rows_are_counted(tmp_path: Path) -> None:
    competition = cases.competition_of("label", "multiclass", None, ids=(), test={"text": ["u", "v"]}, classes=("x", "y"))
    assert report_of(tmp_path, ["label", "x", "y"], competition).errors == ()
    assert places(report_of(tmp_path, ["label", "x"], competition)) == [("row_count", None, None)]


def test_repeated_ids_of_the_sample_may_repeat(tmp_path: Path) -> None:
    competition = cases.competition_of("value", "regression", {"id": ["a", "b", "a"], "x": ["0"] * 3}, targets=("x",))
    assert report_of(tmp_path, ["id,x", "a,1", "b,2", "a,3"], competition).errors == ()
    assert places(report_of(tmp_path, ["id,x", "a,1", "b,2", "a,3", "a,4"], competition)) == [("duplicate_id", 4, "id")]
    assert places(report_of(tmp_path, ["id,x", "a,1", "b,2"], competition)) == [("missing_id", None, "id")]


BOXES = {"id": ["a", "b"], "PredictionString": ["1 1.0 0 0 1 1", "1 1.0 0 0 1 1"]}
RUNS = {"id": ["a", "b"], "rle": ["1 1", "-"]}
TOKENS = [
    (BOXES, "detection", "", None),
    (BOXES, "detection", "0 0.5 1 2 3 4 2 0.25 1.5 2 3 4", None),
    (BOXES, "detection", "0 0.5 1 2 3", "token_format"),
    (BOXES, "detection", "0 high 1 2 3 4", "token_format"),
    (BOXES, "detection", "0 nan 1 2 3 4", "token_format"),
    (BOXES, "detection", "0 1.5 1 2 3 4", "range"),
    (BOXES, "detection", "9 0.5 1 2 3 4", "unknown_class"),
    (RUNS, "segmentation", "", None),
    (RUNS, "segmentation", "-", None),
    (RUNS, "segmentation", "1 3 10 2", None),
    (RUNS, "segmentation", "1 3 10", "token_format"),
    (RUNS, "segmentation", "1 3 2 2", "token_format"),
    (RUNS, "segmentation", "1 0", "token_format"),
    (RUNS, "segmentation", "1,3", "token_format"),
]


@pytest.mark.parametrize(("sample", "task", "value", "code"), TOKENS)
def test_boxes_and_masks(tmp_path: Path, sample: dict[str, list[str]], task: str, value: str, code: str | None) -> None:
    competition = cases.competition_of("other", task, sample, targets=("mask",), classes=("RBC", "WBC", "Platelets"))
    name = list(sample)[1]
    report = report_of(tmp_path, [f"id,{name}", f'a,"{value}"', f"b,{sample[name][1]}"], competition)
    assert places(report) == ([] if code is None else [(code, 1, name)])


def test_every_code_is_planted() -> None:
    planted = {place[0] for case in PLANTED for place in case[3]} | {place[0] for case in BYTES for place in case[2]}
    planted |= {place[0] for case in WARNINGS for place in case[3]} | {case[3] for case in TOKENS if case[3]} | {"row_count"}
    assert planted == set(CODES)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match="No such file"):
        check_submission(tmp_path / "nothing.csv", cases.labels())


PIECES = [
    b'"',
    b",",
    b"\n",
    b"\r\n",
    b"\r",
    b"",
    b"nan",
    b'""',
    b"\xff",
    b"\xef\xbb\xbf",
    b" ",
    b"\x00",
    b"-",
    b"1e999",
    b";",
    b",,,",
    b'"\n"',
]


@pytest.mark.parametrize("make", [LABELS, PROBABILITY, SCORES, VALUES, cases.composite, cases.label_list, cases.ranked_list])
def test_random_damage_never_breaks_the_check_and_what_passes_is_whole(tmp_path: Path, make: Callable[[], Competition]) -> None:
    competition, rng = make(), random.Random(0)
    assert competition.sample is not None
    names = competition.problem.id_columns
    for _ in range(60):
        data = competition.sample.write_csv().encode()
        for _ in range(rng.randint(1, 3)):
            start = rng.randrange(len(data) + 1)
            data = data[:start] + rng.choice(PIECES) + data[start + rng.choice([0, 0, 1, 3, 40]) :]
        if report_of(tmp_path, data, competition).valid:
            read = pl.read_csv(data, infer_schema=False).filter(~pl.all_horizontal(pl.all().is_null())).select(names)
            assert sorted(read.rows()) == sorted(competition.sample.select(names).rows())


NAMES = [
    "adult-income",
    "banking77",
    "bccd-detection",
    "bike-sharing-demand",
    "cifar10",
    "cifar10-mini",
    "fsdd-speakers",
    "movielens-small-rating",
    "trashnet",
    "wisesight-th",
]


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_real_hosts_own_sample_is_valid(tmp_path: Path, name: str, real_competition: Callable[[str], Path]) -> None:
    folder = real_competition(name)
    from matchfit.competition.config import CompetitionConfig
    from matchfit.competition.read import read_competition

    competition = read_competition(folder, CompetitionConfig(), scratch=tmp_path)
    sample = next(iter(folder.glob("*ample*ubmission*.csv")))
    report = check_submission(sample, competition)
    assert report.valid
    assert report.errors == ()
    lines = sample.read_bytes().splitlines(keepends=True)
    planted = report_of(tmp_path, b"".join([lines[0], *lines[2:]]), competition)
    assert [fault.code for fault in planted.errors] == ["missing_id"]
