"""A folder's files, plain and packed, read by reference; broken ones named, dangerous ones refused."""

from __future__ import annotations

import io
import os
import pickle
import tarfile
import zipfile
from pathlib import Path

import polars as pl
import pytest

from layout_tools import put, put_all, tar_all, zip_all
from matchfit.competition import archives
from matchfit.competition.files import FileTree
from matchfit.core.errors import DataError, MatchfitError, MissingDependencyError

FILES = {f"train/{n}.bin": bytes([n]) * (n * 37 % 1500) for n in range(1, 30)}


def paths(tree: FileTree) -> dict[str, str]:
    frame = tree.members()
    return dict(zip(frame["reference"], frame["path"], strict=True))


def seven_zip(path: Path, files: dict[str, bytes], password: str | None = None) -> None:
    import py7zr

    with py7zr.SevenZipFile(path, "w", password=password) as archive:
        for name, content in files.items():
            archive.writef(io.BytesIO(content), name)


def pack(path: Path, files: dict[str, bytes]) -> None:
    modes = {".tar": "w", ".tgz": "w:gz", ".gz": "w:gz", ".xz": "w:xz", ".bz2": "w:bz2"}
    if path.suffix.lower() == ".zip":
        zip_all(path, files)
    elif path.suffix == ".7z":
        seven_zip(path, files)
    else:
        tar_all(path, files, modes[path.suffix])


def test_plain_files_and_what_is_left_out(tmp_path: Path) -> None:
    put_all(
        tmp_path,
        {
            "a.csv": b"x",
            "d/e/f.jpg": b"yy",
            ".hidden": b"",
            "d/.DS_Store": b"",
            "Thumbs.db": b"",
            "__MACOSX/d/._f.jpg": b"",
            "d/empty": b"",
        },
    )
    frame = FileTree(tmp_path).members()
    assert frame.rows() == [("a.csv", "a.csv", "", 1), ("d/e/f.jpg", "d/e/f.jpg", "", 2), ("d/empty", "d/empty", "", 0)]
    assert frame.schema == {"reference": pl.String, "path": pl.String, "archive": pl.String, "size": pl.Int64}
    assert FileTree(tmp_path).read("d/e/f.jpg") == b"yy"


@pytest.mark.parametrize("scratch", [False, True])
@pytest.mark.parametrize(
    "name", ["train.zip", "TRAIN.ZIP", "train.tar", "train.tar.gz", "train.tgz", "train.tar.xz", "train.tar.bz2", "train.7z"]
)
def test_archives_by_reference_and_as_a_stream(tmp_path: Path, name: str, scratch: bool) -> None:
    folder = tmp_path / "competition"
    folder.mkdir()
    pack(folder / name, FILES)
    folder.chmod(0o555)
    tree = FileTree(folder, scratch=tmp_path / "scratch" if scratch else None)
    stem = name.split(".")[0]
    assert paths(tree) == {f"{name}!/{inner}": inner if stem == "train" else f"{stem}/{inner}" for inner in FILES}
    backwards = [f"{name}!/{inner}" for inner in reversed(FILES)]
    for copy in (tree, pickle.loads(pickle.dumps(tree))):
        assert [copy.read(reference) for reference in backwards[:5]] == [FILES[r.partition("!/")[2]] for r in backwards[:5]]
    got = list(tree.stream(pl.Series([*backwards, backwards[0], None, f"{name}!/nothing"])))
    assert {place: content for place, content in got if place < 29} == {
        place: FILES[r.partition("!/")[2]] for place, r in enumerate(backwards)
    }
    assert got[2][0] == 28, "storage order: the last reference is the first file of the archive"
    rest = {place: content for place, content in got if place >= 29}
    assert rest[29] == FILES["train/29.bin"]
    assert [type(rest[place]) for place in (30, 31)] == [DataError, DataError]
    folder.chmod(0o755)
    assert sorted(path.name for path in folder.iterdir()) == [name]


def test_wrappers_single_tables_and_archives_in_archives(tmp_path: Path) -> None:
    zip_all(tmp_path / "images.zip", {"train/1.jpg": b"1", "test/1.jpg": b"2"})
    zip_all(tmp_path / "test.zip", {"test/a/1.jpg": b"3", "test/2.jpg": b"4"})
    zip_all(tmp_path / "flat.zip", {"1.jpg": b"5"})
    zip_all(tmp_path / "train.csv.zip", {"train.csv": b"6"})
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("train/9.jpg", b"9")
    zip_all(tmp_path / "sub" / "all.zip", {"train.zip": inner.getvalue(), "train.csv": b"7"})
    tree = FileTree(tmp_path)
    assert paths(tree) == {
        "images.zip!/train/1.jpg": "images/train/1.jpg",
        "images.zip!/test/1.jpg": "images/test/1.jpg",
        "test.zip!/test/a/1.jpg": "test/a/1.jpg",
        "test.zip!/test/2.jpg": "test/2.jpg",
        "flat.zip!/1.jpg": "flat/1.jpg",
        "train.csv.zip!/train.csv": "train.csv",
        "sub/all.zip!/train.csv": "sub/all/train.csv",
        "sub/all.zip!/train.zip!/train/9.jpg": "sub/all/train/9.jpg",
    }
    assert tree.read("sub/all.zip!/train.zip!/train/9.jpg") == b"9"
    assert tree.members().filter(pl.col("path").str.ends_with("9.jpg"))["archive"].to_list() == ["sub/all.zip!/train.zip"]


def test_names_in_zips_are_decoded(tmp_path: Path) -> None:
    names = {
        "gbk": "图片/猫咪照片.jpg",
        "cp932": "写真/ねこの画像.jpg",
        "utf-8": "ภาพ/แมว.jpg",
        "cp437": "été/Zürich.jpg",
        "cp866": "Фото/кошка.jpg",
    }
    for encoding, name in names.items():
        sink = io.BytesIO()
        raw = name.encode(encoding)
        with zipfile.ZipFile(sink, "w") as archive:
            archive.writestr("x" * len(raw), b"cat")  # names without the UTF-8 flag are bytes: put them in afterwards
        put(tmp_path / f"{encoding}.zip", sink.getvalue().replace(b"x" * len(raw), raw))
    zip_all(tmp_path / "flag.zip", {"图/ねこ.jpg": b"cat"})
    tree = FileTree(tmp_path)
    assert set(tree.members()["path"]) == {*(f"{encoding}/{name}" for encoding, name in names.items()), "flag/图/ねこ.jpg"}
    assert tree.read(f"gbk.zip!/{names['gbk']}") == b"cat"


def test_names_on_disk_that_are_not_utf8(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/" + "猫咪照片".encode("gbk") + b".jpg"
    try:
        Path(os.fsdecode(raw)).write_bytes(b"cat")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    tree = FileTree(tmp_path)
    assert tree.members()["reference"].to_list() == ["猫咪照片.jpg"]
    assert tree.read("猫咪照片.jpg") == pickle.loads(pickle.dumps(tree)).read("猫咪照片.jpg") == b"cat"


def test_links_are_followed_once(tmp_path: Path) -> None:
    put(tmp_path / "store" / "1.jpg", b"1")
    folder = tmp_path / "competition"
    folder.mkdir()
    (folder / "train").symlink_to(tmp_path / "store")
    (folder / "ring").symlink_to(folder)
    (folder / "nowhere.jpg").symlink_to(tmp_path / "missing")
    assert paths(FileTree(folder)) == {"train/1.jpg": "train/1.jpg"}
    assert FileTree(folder).read("train/1.jpg") == b"1"


def test_members_that_point_outside_are_never_listed(tmp_path: Path) -> None:
    names = ["../evil.csv", "/etc/evil.csv", "a/../../evil.csv", "C:\\evil.csv", "good\\fine.csv"]
    zip_all(tmp_path / "a.zip", dict.fromkeys(names, b"x"))
    tar_all(tmp_path / "b.tar.gz", dict.fromkeys([*names[:4], "good/fine.csv"], b"x"), "w:gz")
    with tarfile.open(tmp_path / "c.tar", "w") as archive:
        link = tarfile.TarInfo("passwd.csv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    tree = FileTree(tmp_path)
    assert set(tree.members()["path"]) == {"a/good/fine.csv", "b/good/fine.csv"}
    for reference in ("../x", "/etc/passwd", "a/../../x", "", "a.zip!/../evil.csv"):
        with pytest.raises(DataError):
            tree.read(reference)


def test_what_is_absent_is_named(tmp_path: Path) -> None:
    put(tmp_path / "train.csv", b"")
    zip_all(tmp_path / "a.zip", {"x": b""})
    tree = FileTree(tmp_path)
    with pytest.raises(DataError, match=r"trian\.csv: must exist.*Did you mean 'train\.csv'") as caught:
        tree.read("trian.csv")
    assert caught.value.name == "trian.csv"
    with pytest.raises(DataError, match=r"a\.zip!/y: must exist"):
        tree.read("a.zip!/y")
    with pytest.raises(DataError, match=r"none: must be a folder"):
        FileTree(Path("none")).members()


def test_broken_archives_are_findings_and_the_rest_is_read(tmp_path: Path) -> None:
    put(tmp_path / "bad.zip", b"PK\x03\x04 nonsense")
    put(tmp_path / "bad.tar.gz", b"\x1f\x8b nonsense")
    put(tmp_path / "bad.7z", b"7z nonsense")
    tar_all(tmp_path / "cut.tar.xz", {f"{n}.bin": os.urandom(20_000) for n in range(20)}, "w:xz")
    whole = (tmp_path / "cut.tar.xz").read_bytes()
    put(tmp_path / "cut.tar.xz", whole[: len(whole) // 2])
    put(tmp_path / "fine.csv", b"x")
    for scratch in (None, tmp_path.parent / f"{tmp_path.name}-scratch"):
        tree = FileTree(tmp_path, scratch=scratch)
        assert {"bad.zip", "bad.tar.gz", "bad.7z", "fine.csv", "cut.tar.xz!/0.bin"} <= set(tree.members()["reference"])
        assert {finding.rows[0] for finding in tree.findings()} == {"bad.zip", "bad.tar.gz", "bad.7z", "cut.tar.xz"}
        assert {finding.code for finding in tree.findings()} == {"archive_unreadable"}
        cut = tree.members().filter(pl.col("archive") == "cut.tar.xz")["reference"]
        contents = [content for _, content in tree.stream(cut)]
        assert sum(isinstance(content, bytes) for content in contents) >= len(cut) - 1 > 5
        with pytest.raises(DataError, match=r"bad\.zip"):
            tree.read("bad.zip!/x")


def test_one_broken_member_stops_nobody(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_STORED) as archive:
        for n in range(3):
            archive.writestr(f"{n}.bin", bytes([65 + n]) * 100)
    raw = (tmp_path / "a.zip").read_bytes()
    put(tmp_path / "a.zip", raw.replace(b"B" * 100, b"B" * 99 + b"!"))
    tree = FileTree(tmp_path)
    contents = [content for _, content in tree.stream(tree.members()["reference"])]
    assert [type(content) for content in contents] == [bytes, DataError, bytes]
    with pytest.raises(DataError, match=r"a\.zip!/1\.bin: must be a complete, readable file; found BadZipFile"):
        tree.read("a.zip!/1.bin")


def test_passwords_and_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seven_zip(tmp_path / "secret.7z", {"x.csv": b"x"}, password="p")
    zip_all(tmp_path / "a.zip", {"x.csv": b"x"})
    raw = bytearray((tmp_path / "a.zip").read_bytes())
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    put(tmp_path / "secret.zip", bytes(raw))
    tree = FileTree(tmp_path)
    for reference in ("secret.7z!/x.csv", "secret.zip!/x.csv"):
        with pytest.raises(DataError, match="must not be protected by a password"):
            tree.read(reference)
    monkeypatch.setattr(archives, "BOMB_BYTES", 100_000)
    zeros = {"zeros.bin": bytes(5_000_000)}
    for name in ("bomb.zip", "bomb.tar.xz", "bomb.7z"):
        pack(tmp_path / name, zeros)
    for scratch in (None, tmp_path.parent / f"{tmp_path.name}-scratch"):
        tree = FileTree(tmp_path, scratch=scratch)
        tree.members()
        for name in ("bomb.zip", "bomb.tar.xz", "bomb.7z"):
            with pytest.raises(DataError, match="may not exceed 4 GiB"):
                tree.read(f"{name}!/zeros.bin")
    monkeypatch.setattr(archives, "MAX_MEMBER_BYTES", 10)
    put(tmp_path / "plain.bin", b"more than ten bytes")
    with pytest.raises(DataError, match=r"plain\.bin"):
        FileTree(tmp_path).read("plain.bin")


def test_a_missing_7z_package_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seven_zip(tmp_path / "a.7z", {"x": b"x"})
    monkeypatch.setitem(__import__("sys").modules, "py7zr", None)
    tree = FileTree(tmp_path)
    assert tree.members()["reference"].to_list() == ["a.7z"]
    assert "pip install 'matchfit[archives]'" in tree.findings()[0].todo
    with pytest.raises(MissingDependencyError):
        tree.read("a.7z!/x")
    assert isinstance(next(tree.stream(pl.Series(["a.7z!/x"])))[1], MatchfitError)


def test_a_forked_reader_shares_no_file_position(tmp_path: Path) -> None:
    zip_all(tmp_path / "a.zip", {f"{n}.bin": bytes([n]) * 5000 for n in range(40)})
    tree = FileTree(tmp_path)
    references = tree.members()["reference"].to_list()
    want = [tree.read(reference) for reference in references]
    pipe_in, pipe_out = os.pipe()
    child = os.fork()
    if child == 0:  # the child must leave by _exit, or it would run the rest of the tests
        good = all(tree.read(reference) == content for reference, content in zip(references, want, strict=True))
        os.write(pipe_out, b"1" if good else b"0")
        os._exit(0)
    assert [tree.read(reference) for reference in references] == want
    os.waitpid(child, 0)
    assert os.read(pipe_in, 1) == b"1"
    os.close(pipe_in)
    os.close(pipe_out)


def test_tar_headers_agree_with_tarfile(tmp_path: Path) -> None:
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        files = {"a.txt": b"x" * 700, "d" * 60 + "/" + "n" * 80 + ".txt": b"y", "empty": b"", "ü/天.txt": b"z" * 512}
        if form != tarfile.USTAR_FORMAT:
            files["p/" * 80 + "q" * 120] = b"long"
        with tarfile.open(tmp_path / "a.tar", "w", format=form) as archive:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            link = tarfile.TarInfo("b.txt")
            link.type, link.linkname = tarfile.LNKTYPE, "a.txt"
            archive.addfile(link)
        tree = FileTree(tmp_path)
        assert {r.partition("!/")[2]: tree.read(r) for r in tree.members()["reference"]} == {**files, "b.txt": files["a.txt"]}
