from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

OPTIONS = {"modality": "image", "media": "images/{}"}


def picture(seed: int, size: tuple[int, int] = (96, 72)) -> Image.Image:
    """A smooth random picture, like no other."""
    noise = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC)


def encoded(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for n in range(12):
        (folder / f"{n}.png").write_bytes(encoded(picture(n)))
    return folder


def parts(num_train: int = 8, num_test: int = 4) -> tuple[dict[str, list[object]], dict[str, list[object]]]:
    train = {"id": [f"{n}.png" for n in range(num_train)], "label": ["ab"[n % 2] for n in range(num_train)]}
    return train, {"id": [f"{n}.png" for n in range(num_train, num_train + num_test)]}


def test_clean_images_raise_no_alarm(audited, images):
    result = audited(*parts(), **OPTIONS)
    assert not [finding for finding in result.audit.findings if finding.severity != "info"]
    assert "all 96x72" in result.one("image_properties").message
    assert result.audit.near_duplicate_N.tolist() == [-1] * 8


def test_faulty_files_are_listed_by_kind_and_part(audited, images):
    (images / "1.png").write_bytes(b"")
    whole = (images / "2.png").read_bytes()
    (images / "2.png").write_bytes(whole[: len(whole) // 2])
    (images / "3.png").write_bytes(encoded(picture(3), "JPEG"))
    (images / "4.png").unlink()
    (images / "9.png").write_text("<html>404</html>")
    result = audited(*parts(), **OPTIONS)
    assert result.one("empty_media").rows == ("1.png",)
    assert [finding.rows for finding in result.all("unreadable_media")] == [("9.png",), ("2.png",)]
    assert result.one("mislabelled_media").rows == ("3.png",)
    assert result.one("missing_media").rows == ("4.png",)
    assert "still predicted" in result.all("unreadable_media")[0].todo


def test_kinds_of_images_are_counted(audited, images):
    (images / "0.png").write_bytes(encoded(Image.fromarray(np.arange(96 * 72, dtype=np.uint16).reshape(72, 96) * 9)))
    translucent = picture(1)
    translucent.putalpha(120)
    (images / "1.png").write_bytes(encoded(translucent))
    exif = Image.Exif()
    exif[0x0112] = 6
    (images / "2.png").write_bytes(encoded(picture(2), "JPEG", exif=exif))
    (images / "8.png").write_bytes(encoded(picture(3).convert("CMYK"), "JPEG"))
    (images / "9.png").write_bytes(encoded(picture(4), "GIF", save_all=True, append_images=[picture(5)]))
    result = audited(*parts(), **OPTIONS)
    expected = {"deep": "0", "transparent": "1", "oriented": "2", "cmyk": "8", "animated": "9"}
    assert {kind: result.one(f"{kind}_images").rows for kind in expected} == {k: (f"{n}.png",) for k, n in expected.items()}
    assert result.one("mixed_colour").rows == ("0.png",)


def test_copies_of_images(audited, images):
    (images / "1.png").write_bytes((images / "0.png").read_bytes())  # same class as 0 and 1 differ: contradicting
    (images / "4.png").write_bytes(encoded(picture(2), "BMP"))  # pixel for pixel
    (images / "10.png").write_bytes((images / "5.png").read_bytes())
    result = audited(*parts(), **OPTIONS)
    assert result.one("exact_duplicates").rows == ("0.png", "1.png", "2.png", "4.png")
    assert "2 of them byte for byte" in result.one("exact_duplicates").message
    assert result.one("contradicting_labels").rows == ("0.png", "1.png")
    assert result.one("exact_duplicates_across").rows == ("10.png", "5.png")
    assert result.audit.near_duplicate_N.tolist() == [0, 0, 1, -1, 1, -1, -1, -1]


def test_near_copies_of_images(audited, images):
    (images / "1.png").write_bytes(encoded(picture(0).crop((3, 2, 92, 70)), "JPEG", quality=60))
    (images / "11.png").write_bytes(encoded(picture(6).resize((48, 36))))
    result = audited(*parts(), **OPTIONS)
    assert result.one("near_duplicates").rows == ("0.png", "1.png")
    assert result.one("near_duplicates_across").rows == ("11.png", "6.png")
    assert result.one("near_contradicting_labels").rows == ("0.png", "1.png")
    assert result.audit.near_duplicate_N.tolist() == [0, 0, -1, -1, -1, -1, -1, -1]


def test_scan_is_kept_and_renewed(audited, images, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    first = audited(*parts(), **OPTIONS, cache=cache)
    with monkeypatch.context() as patch:
        patch.setattr("matchfit.audit.scan.decode_image", lambda _: pytest.fail("read again"))
        assert audited(*parts(), **OPTIONS, cache=cache).audit.findings == first.audit.findings
    (images / "3.png").write_bytes(b"")
    assert audited(*parts(), **OPTIONS, cache=cache).one("empty_media").rows == ("3.png",)
    for kept in cache.iterdir():
        kept.write_bytes(b"PK\x03\x04 damaged")
    assert audited(*parts(), **OPTIONS, cache=cache).one("empty_media").rows == ("3.png",)


def test_recordings(audited, tmp_path):
    folder = tmp_path / "sounds"
    folder.mkdir()

    def sound(seed: int) -> bytes:
        buffer = io.BytesIO()
        with wave.open(buffer, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(np.random.default_rng(seed).integers(-9, 9, 400, dtype=np.int16).tobytes())
        return buffer.getvalue()

    for n in range(12):
        (folder / f"{n}.wav").write_bytes(sound(n))
    (folder / "2.wav").write_bytes(sound(1))
    (folder / "3.wav").write_bytes(sound(3)[:300])
    (folder / "4.wav").write_bytes(b"not a sound")
    train = {"id": [f"{n}.wav" for n in range(8)], "label": list("aabbaabb")}
    result = audited(train, {"id": [f"{n}.wav" for n in range(8, 12)]}, modality="audio", media="sounds/{}")
    assert result.one("unreadable_media").rows == ("3.wav", "4.wav")
    assert result.one("exact_duplicates").rows == ("1.wav", "2.wav")
    assert result.one("contradicting_labels").rows == ("1.wav", "2.wav")


def test_drawings_of_one_letter_are_no_copies(audited, tmp_path):
    """Smooth blobs at nearly one place agree by nature; a copy of one of them must still be told from its neighbours."""
    folder = tmp_path / "images"
    folder.mkdir()
    random = np.random.default_rng(3)
    rows, columns = np.mgrid[:32, :32]
    drawn = []
    for n in range(120):
        row, column, high, wide = random.normal([16, 16, 6, 4], [1.0, 1.0, 0.8, 0.8])
        blob = np.exp(-(((rows - row) / high) ** 2) - ((columns - column) / wide) ** 2)
        drawn.append(Image.fromarray((blob * 255).astype(np.uint8)))
        drawn[-1].save(folder / f"{n}.png")
    train = {"id": [f"{n}.png" for n in range(100)], "label": list("ab") * 50}
    result = audited(train, {"id": [f"{n}.png" for n in range(100, 120)]}, **OPTIONS)
    assert (result.audit.near_duplicate_N >= 0).sum() <= 10


def test_a_page_that_many_share_is_no_copy(audited, images):
    for n in range(12, 212):
        (images / f"{n}.png").write_bytes(encoded(Image.new("RGB", (40, 40), "white") if n % 2 else picture(n)))
    train = {"id": [f"{n}.png" for n in range(200)], "label": list("ab") * 100}
    result = audited(train, {"id": [f"{n}.png" for n in range(200, 212)]}, **OPTIONS)
    assert len(result.one("exact_duplicates").rows) == 94
    assert (result.audit.near_duplicate_N == -1).all()
