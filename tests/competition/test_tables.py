"""Tables come through as text, byte for byte, however they are written and packed."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from matchfit.competition import csvscan, jsontables, tables
from matchfit.competition.files import FileTree
from matchfit.competition.tables import Table, count_rows, guess_header, read_json, read_lines, read_table, table_kind, table_stem
from matchfit.core.errors import DataError


def read(folder: Path, content: bytes, name: str = "t.csv") -> Table:
    (folder / name).write_bytes(content)
    return read_table(FileTree(folder), name)


def columns(table: Table) -> dict[str, list[str | None]]:
    return table.frame.to_dict(as_series=False)


def codes(table: Table) -> set[str]:
    return {finding.code for finding in table.findings}


def test_cells_stay_byte_for_byte_and_only_the_empty_field_is_null(tmp_path: Path) -> None:
    cells = ["00123", "1e5", "true", "NA", "null", "None", "nan", " ", " x ", "1.0", "-0", "'a'", "#c", "é"]
    table = read(tmp_path, ("id,v\n" + "".join(f"{n},{cell}\n" for n, cell in enumerate(cells)) + '98,\n99,""\n').encode())
    assert columns(table)["v"] == [*cells, None, None]
    assert table.frame.dtypes == [pl.String, pl.String]
    assert table.findings == ()


def test_a_quoted_cell_may_hold_anything(tmp_path: Path) -> None:
    table = read(tmp_path, b'id,"a ""b"", c"\n1,"x, ""y""\nz"\n2,"\r\n"\n3,"  "\n')
    assert columns(table) == {"id": ["1", "2", "3"], 'a "b", c': ['x, "y"\nz', "\r\n", "  "]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path: Path, end: str, last: bool) -> None:
    text = end.join(["a,b", '1,"x"', "2,y z"]) + (end if last else "")
    table = read(tmp_path, text.encode())
    assert columns(table) == {"a": ["1", "2"], "b": ["x", "y z"]}
    assert count_rows(FileTree(tmp_path), "t.csv") == 2


def test_unusual_separators_of_unicode_end_no_line(tmp_path: Path) -> None:
    text = "x\u2028y\u2029z\x85w\x0bv\x0cu\x1cs"
    assert columns(read(tmp_path, f"a,b\n1,{text}\n2,{text}\n".encode()))["b"] == [text, text]
    assert read_lines(FileTree(tmp_path), "t.csv").to_list() == ["a,b", f"1,{text}", f"2,{text}"]


def test_mixed_line_ends_are_reported(tmp_path: Path) -> None:
    table = read(tmp_path, b"a,b\r\n1,x\n2,y\r\n")
    assert columns(table) == {"a": ["1", "2"], "b": ["x", "y"]}
    assert codes(table) == {"mixed_line_ends"}


def test_a_lone_carriage_return_is_text_where_that_fits_and_a_line_end_where_that_fits(tmp_path: Path) -> None:
    assert columns(read(tmp_path, b"a,b\n1,x\ry\n2,z\n"))["b"] == ["x\ry", "z"]
    assert columns(read(tmp_path, b"a,b\n1,x\r2,y\n3,z\n")) == {"a": ["1", "2", "3"], "b": ["x", "y", "z"]}


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gbk", "编号,文本\n00012,今天天气很好，我们去公园吧\n2,这个产品质量太差了\n"),
        ("gbk", "id,长度,颜色,类\n1,0.5,x,好\n2,0.7,y,坏\n3,0.1,x,好\n"),
        ("gb18030", "id,text\n1,服务态度不错，下次还来\n2,味道很好𠀀\n"),
        ("shift_jis", "番号,文章\n1,今日はとても良い天気ですね\n2,この商品は最悪です\n"),
        ("cp874", "id,text\n1,วันนี้อากาศดีมาก\n2,สินค้าไม่ดีเลย\n"),
        ("tis-620", "id,text\n1,ซื้อแต่ผ้าอนามัยแบบเย็นมาค่ะ\n2,ราคาเท่าไหร่คะ\n"),
        ("cp1252", "id,name\n1,José from Málaga\n2,“Müller” – Köln\n3,François d’Orléans\n"),
        ("latin-1", "id,name\n1,José\n2,Müller\n3,naïve café\n"),
        ("cp1251", "id,текст\n1,Сегодня хорошая погода\n2,Очень плохой товар\n"),
        ("big5", "id,text\n1,今天天氣很好，我們去公園吧\n2,這個產品質量太差了\n"),
        ("euc_kr", "id,text\n1,오늘은 날씨가 좋네요\n2,제품이 별로예요 정말\n"),
        ("utf-16", "id,text\n1,größer 今天\n2,x\n"),
        ("utf-16-le", "id,text\n1,plain\n2,Größe\n"),
        ("utf-16-be", "id,text\n1,plain\n2,Größe\n"),
        ("utf-32", "id,text\n1,größer 今天\n2,x\n"),
    ],
)
def test_encodings_are_told_apart_and_said(tmp_path: Path, encoding: str, text: str) -> None:
    table = read(tmp_path, text.encode(encoding))
    header, *rows = [line.split(",") for line in text.splitlines()]
    assert table.frame.columns == header
    assert [list(row) for row in table.frame.rows()] == rows
    assert "encoding" in codes(table)
    assert table.encoding != "utf-8"


@pytest.mark.parametrize(
    "content",
    [
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
        b"\xef\xbb\xbf\n<!DOCTYPE html><html><body>not found</body></html>\n",
    ],
)
def test_what_a_download_leaves_in_place_of_a_table_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match="must be the table itself"):
        read(tmp_path, content)


def test_a_mark_leaves_the_first_name(tmp_path: Path) -> None:
    for content in (b"\xef\xbb\xbfid,b\n1,2\n", b'\xef\xbb\xbf"id",b\r\n1,2\r\n', b"\xef\xbb\xbf\nid,b\n1,2\n"):
        table = read(tmp_path, content)
        assert columns(table) == {"id": ["1"], "b": ["2"]}
        assert "bom" in codes(table)
    assert read(tmp_path, b"\xef\xbb\xbf").frame.shape == (0, 0)


def test_a_few_bad_bytes_do_not_make_another_encoding(tmp_path: Path) -> None:
    good = "\n".join(f"{n},これは文章です" for n in range(30)).encode()
    table = read(tmp_path, b"id,t\n" + good + b"\n31,\xff\xfebad\n")
    assert table.encoding == "utf-8"
    assert codes(table) == {"encoding_damaged"}
    assert columns(table)["t"][0] == "これは文章です"
    assert columns(table)["t"][-1] == "\ufffd\ufffdbad"


def test_nul_bytes_are_kept_and_said(tmp_path: Path) -> None:
    table = read(tmp_path, b"a,b\n1,x\0y\n2,z\n")
    assert columns(table)["b"] == ["x\0y", "z"]
    assert codes(table) == {"nul_bytes"}


@pytest.mark.parametrize(
    ("content", "delimiter", "width"),
    [
        (b"id;text;y\n1;one, two, three;a\n2;four, five, six;b\n", ";", 3),
        (b"id;x;y\n1;0,5;0,7\n2;0,1;0,2\n", ";", 3),
        (b"id\ttext\n1\ta, b; c | d\n2\te, f; g | h\n", "\t", 2),
        (b"id|x|y\n1|2|3\n", "|", 3),
        (b"id,text\n1,a;b;c\n2,d;e;f\n", ",", 2),
        (b'id,text\n1,"a;b\n;c;"\n2,"d;e;f"\n', ",", 2),
        (b"image_id\nx.jpg\ny.jpg\n", "", 1),
        (b"text\nhello there\nno, thanks\nwell, yes, no\n", "", 1),
        (b"a,b\n", ",", 2),
    ],
)
def test_the_header_decides_about_the_delimiter(tmp_path: Path, content: bytes, delimiter: str, width: int) -> None:
    table = read(tmp_path, content)
    assert (table.delimiter, table.frame.width) == (delimiter, width)


def test_quotes_that_enclose_nothing_are_text(tmp_path: Path) -> None:
    table = read(tmp_path, b'id\ttext\n1\t"Hello\n2\t5" of rain\n3\t"quoted"\n4\tend"\n', "t.tsv")
    assert columns(table)["text"] == ['"Hello', '5" of rain', "quoted", 'end"']
    assert codes(table) == {"loose_quotes"}
    table = read(tmp_path, b'id,text\n1,"a, b"\n2,5" of rain\n3,"c, ""d"""\n')
    assert columns(table)["text"] == ["a, b", '5" of rain', 'c, "d"']


def test_backslashes_and_blanks_around_quotes(tmp_path: Path) -> None:
    assert columns(read(tmp_path, b'id,t\n1,"say \\"hi\\", twice"\n2,"x, y"\n'))["t"] == ['say "hi", twice', "x, y"]
    assert columns(read(tmp_path, b'id, t\n1, "x, y"\n2, "z, w"\n'))["t"] == ["x, y", "z, w"]


def test_ragged_rows_are_refused_with_their_lines(tmp_path: Path) -> None:
    for content in (
        b"a,b,c\n1,2,3\n4,5\n6,7,8\n",
        b"a,b,c\n1,2,3\n4,5,6,7\n",
        b"a,b,c\n1,2\n3,4,5,6\n",
        b'a,b,c\n1,"2",3\n4,"5"\n',
    ):
        with pytest.raises(
            DataError, match=r"t\.csv: every row must have as many cells as the header \(3\).*line [23] with"
        ) as caught:
            read(tmp_path, content)
        assert caught.value.name == "t.csv"


def test_empty_cells_beyond_the_header_are_dropped_and_a_nameless_first_column_is_kept(tmp_path: Path) -> None:
    table = read(tmp_path, b"a,b\n1,2,\n3,4\n5,6,,\n")
    assert columns(table) == {"a": ["1", "3", "5"], "b": ["2", "4", "6"]}
    assert codes(table) == {"ragged_rows"}
    table = read(tmp_path, b"a,b\n0,1,2\n1,3,4\n")
    assert columns(table) == {"": ["0", "1"], "a": ["1", "3"], "b": ["2", "4"]}
    assert codes(table) == {"ragged_rows"}


def test_names_of_columns(tmp_path: Path) -> None:
    table = read(tmp_path, b'a, b ,a,,"x\ny"\n1,2,3,4,5\n')
    assert table.frame.columns == ["a", " b ", "a (2)", "", "x\ny"]
    assert table.frame.row(0) == ("1", "2", "3", "4", "5")
    assert codes(table) == {"duplicate_columns"}


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    table = read(tmp_path, b"\n\na,b\n1,2\n\n,\n3,4\n\r\n\n")
    assert columns(table)["b"] in (["2", "4"], ["2", None, "4"])
    assert "blank_lines" in codes(table)
    table = read(tmp_path, b"a,b\n1,2\n3,4\n\n")
    assert columns(table) == {"a": ["1", "3"], "b": ["2", "4"]}
    assert count_rows(FileTree(tmp_path), "t.csv") == 2


def test_empty_and_header_only_files(tmp_path: Path) -> None:
    assert read(tmp_path, b"").frame.shape == (0, 0)
    assert read(tmp_path, b"\n\n").frame.shape == (0, 0)
    for content in (b"a,b", b"a,b\n", b'"a","b"\r\n'):
        table = read(tmp_path, content)
        assert table.frame.schema == {"a": pl.String, "b": pl.String}
        assert len(table) == count_rows(FileTree(tmp_path), "t.csv") == 0


def test_columns_and_limit(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'a,b,c\n1,2,3\n4,"5",6\n7,8,9\n')
    tree = FileTree(tmp_path)
    assert read_table(tree, "t.csv", columns=["c", "a"], limit=2).frame.to_dict(as_series=False) == {
        "c": ["3", "6"],
        "a": ["1", "4"],
    }
    assert read_table(tree, "t.csv", limit=0).frame.shape == (0, 3)
    assert read_table(tree, "t.csv", has_header=False).frame.columns == ["column_1", "column_2", "column_3"]
    with pytest.raises(DataError, match="must have the columns"):
        read_table(tree, "t.csv", columns=["d"])


def test_quotes_and_line_ends_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvscan, "CHUNK_BYTES", 7)
    rows = [[str(n), f'a "{n}", \n{"x" * n}' if n % 3 else ""] for n in range(40)]
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\r\n").writerows([["id", "t"], *rows])
    assert [list(row) for row in read(tmp_path, sink.getvalue().encode()).frame.rows()] == [[a, b or None] for a, b in rows]


def test_texts_longer_than_the_csv_module_likes(tmp_path: Path) -> None:
    long = "y" * 300_000
    assert columns(read(tmp_path, f'id,t\n1,"{long},"\n2,5" {long}\n'.encode()))["t"] == [f"{long},", f'5" {long}']


cell = st.text(alphabet=st.sampled_from(list("ab,;\t\"\n\r '0é天\u2028|\\")), max_size=6)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(cell, cell), min_size=1, max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
    chunk=st.sampled_from([3, 11, 4096]),
)
def test_whatever_a_csv_writer_writes_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[tuple[str, str]], end: str, chunk: int
) -> None:
    monkeypatch.setattr(csvscan, "CHUNK_BYTES", chunk)
    sink = io.StringIO()
    csv.writer(sink, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC).writerows(
        [["id", "left", "right"], *[(f"r{n}", *row) for n, row in enumerate(rows)]]
    )
    table = read(tmp_path, sink.getvalue().encode())
    assert [row[1:] for row in table.frame.rows()] == [(left or None, right or None) for left, right in rows]
    assert table.frame["id"].to_list() == [f"r{n}" for n in range(len(rows))]


def test_json_in_its_shapes_keeps_digits(tmp_path: Path) -> None:
    record = '{"id": 12345678901234567890123, "x": 1.50, "e": 1e5, "b": true, "n": null, "s": "007", "l": [1, 2.50, "a"], "d": {"k": null}}'
    want = {
        "id": "12345678901234567890123",
        "x": "1.50",
        "e": "1e5",
        "b": "true",
        "n": None,
        "s": "007",
        "l": '[1, 2.50, "a"]',
        "d": '{"k": null}',
    }
    for name, text in (
        ("a.json", f"[{record}]"),
        ("b.json", f'{{"data": [{record}]}}'),
        ("c.jsonl", f"{record}\n\n"),
        ("d.ndjson", record),
        ("e.json", f"{record}\n{record}"),
    ):
        assert read(tmp_path, text.encode(), name).frame.row(0, named=True) == want
    by_key = read(tmp_path, b'{"x1": {"t": "a", "y": 1}, "x2": {"t": "b"}}', "f.json")
    assert columns(by_key) == {"id": ["x1", "x2"], "t": ["a", "b"], "y": ["1", None]}
    for text in (
        '{"t": {"0": "a", "1": "b"}, "y": {"0": 1, "1": 2}}',
        '{"t": ["a", "b"], "y": [1, 2]}',
        '{"columns": ["t", "y"], "index": [0, 1], "data": [["a", 1], ["b", 2]]}',
    ):
        assert columns(read(tmp_path, text.encode(), "g.json")) == {"t": ["a", "b"], "y": ["1", "2"]}
    assert columns(read(tmp_path, b'{"a.jpg": 3, "b.jpg": 1}', "h.json")) == {"id": ["a.jpg", "b.jpg"], "value": ["3", "1"]}


def test_json_arrays_and_lines_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontables, "BATCH_ROWS", 2)
    records = [{"a": n, **({"late": "x"} if n == 4 else {})} for n in range(5)]
    want = {"a": list("01234"), "late": [None, None, None, None, "x"]}
    assert columns(read(tmp_path, json.dumps(records, indent=1).encode(), "a.json")) == want
    assert columns(read(tmp_path, "\n".join(map(json.dumps, records)).encode(), "a.jsonl")) == want
    assert columns(read_table(FileTree(tmp_path), "a.json", columns=["late", "a"], limit=5)) == {
        "late": want["late"],
        "a": want["a"],
    }
    assert columns(read_table(FileTree(tmp_path), "a.json", limit=3)) == {"a": list("012")}
    for text in (b"[1 2]", b"[1,", b"[", b"[1] 2", b'[{"a": 1}'):
        with pytest.raises(DataError, match="must be json"):
            read(tmp_path, text, "b.json")
    assert columns(read(tmp_path, b"[[1, 2], [3]]", "b.json")) == {"column_1": ["1", "3"], "column_2": ["2", None]}


def test_the_head_of_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "HEAD_BYTES", 40)
    text = "id,t\n" + "".join(f'{n:03d},"a\n{n}"\n' for n in range(200))
    (tmp_path / "t.csv").write_text(text)
    for limit in (1, 2, 3, 5, 150):
        frame = read_table(FileTree(tmp_path), "t.csv", limit=limit).frame
        assert frame.to_dict(as_series=False) == {"id": [f"{n:03d}" for n in range(limit)], "t": [f"a\n{n}" for n in range(limit)]}
    (tmp_path / "t.csv").write_text(text + "broken\n")
    assert read_table(FileTree(tmp_path), "t.csv", limit=1).frame.height == 1
    with pytest.raises(DataError, match="cells as the header"):
        read_table(FileTree(tmp_path), "t.csv", limit=150)


def test_json_that_is_no_table_or_no_json(tmp_path: Path) -> None:
    coco = {"images": [{"id": 1}], "annotations": [{"id": 1, "category_id": 10**19}], "categories": [{"id": 1}]}
    with pytest.raises(DataError, match="must hold one table"):
        read(tmp_path, json.dumps(coco).encode(), "a.json")
    assert read_json(FileTree(tmp_path), "a.json")["annotations"][0]["category_id"] == str(10**19)
    with pytest.raises(DataError, match=r"b\.jsonl, line 2: must be json"):
        read(tmp_path, b'{"a": 1}\n{"a": \n', "b.jsonl")
    with pytest.raises(DataError, match=r"c\.json: must be json"):
        read(tmp_path, b'[{"a": 1}', "c.json")
    assert read(tmp_path, b"[]", "d.json").frame.shape == (0, 0)
    assert read(tmp_path, b"", "d.json").frame.shape == (0, 0)


def test_parquet_as_text(tmp_path: Path) -> None:
    import datetime

    frame = pl.DataFrame(
        {
            "i": [1, 2**62, None],
            "f": [0.5, None, 3.0],
            "gap": [1.0, None, 3.0],
            "b": [True, False, None],
            "s": ["NA", "", "00"],
            "t": [datetime.datetime(2011, 1, 20, 5), None, None],
            "l": [[1, 2], [], None],
            "c": pl.Series(["x", "y", None], dtype=pl.Categorical),
            "raw": [b"abc", b"\xff\xfe", None],
        }
    )
    frame.write_parquet(tmp_path / "T.PARQUET")
    got = columns(read_table(FileTree(tmp_path), "T.PARQUET"))
    assert got["i"] == ["1", str(2**62), None]
    assert got["f"] == ["0.5", None, "3.0"]
    assert got["gap"] == ["1", None, "3"]
    assert got["b"] == ["True", "False", None]
    assert got["s"] == ["NA", None, "00"]
    assert got["t"] == ["2011-01-20 05:00:00", None, None]
    assert got["l"] == ["[1, 2]", "[]", None]
    assert got["c"] == ["x", "y", None]
    assert got["raw"] == ["abc", "//4=", None]
    assert count_rows(FileTree(tmp_path), "T.PARQUET") == 3
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(DataError, match=r"bad\.parquet"):
        read_table(FileTree(tmp_path), "bad.parquet")


def test_packed_tables(tmp_path: Path) -> None:
    content = b"id,b\n007,x\n"
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content))
    (tmp_path / "b.csv.bz2").write_bytes(bz2.compress(content))
    (tmp_path / "c.CSV.XZ").write_bytes(lzma.compress(content))
    with zipfile.ZipFile(tmp_path / "d.csv.zip", "w") as archive:
        archive.writestr("d.csv", content)
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("x.csv", content)
        archive.writestr("y.csv.gz", gzip.compress(content))
    tree = FileTree(tmp_path)
    for reference in ("a.csv.gz", "b.csv.bz2", "c.CSV.XZ", "d.csv.zip", "d.csv.zip!/d.csv", "two.zip!/x.csv", "two.zip!/y.csv.gz"):
        assert columns(read_table(tree, reference)) == {"id": ["007"], "b": ["x"]}
        assert count_rows(tree, reference) == 1
    with pytest.raises(DataError, match="exactly one table"):
        read_table(tree, "two.zip")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(content * 1000)[:40])
    with pytest.raises(DataError, match=r"cut\.csv\.gz"):
        read_table(tree, "cut.csv.gz")


def test_kinds_and_stems() -> None:
    assert [table_kind(name) for name in ("TRAIN.CSV", "a.tsv.gz", "x.zip!/b.jsonl", "c.json.7z", "d.PQ", "e.jpg", "f.zip", "g.txt")] == [
        "delimited", "delimited", "jsonl", "json", "parquet", "", "", "delimited",
    ]  # fmt: skip
    assert [table_stem(name) for name in ("data.zip!/Train/train.csv.gz", "Test.CSV", "a.csv.zip")] == ["train", "Test", "a"]
    with pytest.raises(DataError, match="must be a table"):
        read_table(FileTree(Path(__file__).parent), Path(__file__).name)


def test_a_header_is_guessed(tmp_path: Path) -> None:
    for content, answer in (
        (b"id,label\n1,a\n2,b\n", True),
        (b"1,a\n2,b\n", False),
        (b"pos,x\nneg,y\npos,z\n", False),
        (b"file,y\na.jpg,1\n", True),
    ):
        (tmp_path / "t.csv").write_bytes(content)
        assert guess_header(FileTree(tmp_path), "t.csv") is answer


def test_lines_of_a_text_file(tmp_path: Path) -> None:
    for content, lines in (
        (b"a\n\n b \n", ["a", "", " b "]),
        (b"a\r\nb", ["a", "b"]),
        (b"\xef\xbb\xbfa\rb\r", ["a", "b"]),
        (b"", []),
        (b"x\x0cy\n", ["x\x0cy"]),
    ):
        (tmp_path / "t.txt").write_bytes(content)
        assert read_lines(FileTree(tmp_path), "t.txt").to_list() == lines
