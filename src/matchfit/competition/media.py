"""Which file belongs to which item: media are matched to ids by name, whatever their suffix, folder or archive.

Names of the train folder and of the test folder may be equal (CIFAR-10 counts both from 1); the same image may lie there several times
(JPEG, DICOM, TFRecord); the file's name may stand in another column than the id.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from matchfit.competition.names import side

IMAGE = ("jpg", "jpeg", "png", "bmp", "gif", "webp", "tif", "tiff", "jfif", "ppm", "pgm", "jp2", "dcm", "dicom")
AUDIO = ("wav", "mp3", "flac", "ogg", "oga", "m4a", "aiff", "aif", "opus")
ARRAY = ("npy", "npz", "nii", "nii.gz", "h5")
VIDEO = ("mp4", "avi", "mov", "mkv", "webm")
SERIES = ("csv", "parquet", "json", "tsv", "txt", "xml")
KINDS: dict[str, tuple[str, ...]] = {"image": IMAGE, "audio": AUDIO, "array": ARRAY, "video": VIDEO, "series": SERIES}
_RANK = {suffix: rank for rank, suffix in enumerate((*IMAGE, *AUDIO, *ARRAY, *VIDEO, *SERIES))}

STEM = 2  # the rank of a match by the name without suffix
LOOK = 500  # keys tried before all are
_KNOWN_SUFFIX = r"\.(" + "|".join(suffix.replace(".", r"\.") for suffix in (*IMAGE, *AUDIO, *ARRAY)) + ")$"
NEARLY_ALL = 0.9
MATCHED = 0.5  # share of the ids that must name a file before the files are taken for the items


@dataclass(frozen=True)
class Match:
    """`references` in the order of the keys, null where there is no file. `kind` as in KINDS."""

    references: pl.Series
    kind: str
    share: float
    copies: tuple[str, ...] = ()  # suffixes or folders that hold further copies


def media_table(members: pl.DataFrame, *, train: str | None = None, test: str | None = None) -> pl.DataFrame:
    """One row a media file: reference, path (an archive stands as a folder), folder, name, stem, suffix, kind, rank, side.

    `train`, `test`: the user's overrides, a folder or an archive that holds the media of that side.
    """
    name = pl.col("path").str.extract(r"([^/]+)$", 1)
    frame = members.select("reference", "path", name=name).with_columns(
        suffix=pl.coalesce(
            pl.col("name").str.extract(r"(?i)\.(nii\.gz)$", 1), pl.col("name").str.extract(r"\.([^.]+)$", 1)
        ).str.to_lowercase()
    )
    kinds = {suffix: kind for kind, suffixes in KINDS.items() for suffix in suffixes}
    frame = (
        frame.with_columns(kind=pl.col("suffix").replace_strict(kinds, default=None, return_dtype=pl.String))
        .filter(pl.col("kind").is_not_null())
        .with_columns(
            stem=pl.col("name").str.replace(r"(?i)\.nii\.gz$", "").str.replace(r"\.[^.]+$", ""),
            folder=pl.col("path").str.replace(r"/?[^/]+$", ""),
            rank=pl.col("suffix").replace_strict(_RANK, default=99, return_dtype=pl.Int32),
        )
    )
    folders = frame["folder"].unique()
    sides = pl.DataFrame(
        {"folder": folders, "side": [_side(folder, train, test) for folder in folders]}, schema_overrides={"side": pl.String}
    )
    return frame.join(sides, on="folder", how="left", maintain_order="left")


def _side(folder: str, train: str | None, test: str | None) -> str:
    for wanted, answer in ((train, "train"), (test, "test")):
        if wanted and f"/{folder}/".lower().find(f"/{place_of(wanted)}/") >= 0:
            return answer
    if train and test and train != test:
        return "other"
    return side(*folder.split("/"))


def place_of(override: str) -> str:
    """The logical folder of a user's media override: `./train.zip` and `train/` are both `train`."""
    text = override.lower().replace("\\", "/").removeprefix("./").strip("/")
    for suffix in (".zip", ".7z", ".tgz", ".txz", ".tbz2", ".tar", ".tar.gz", ".tar.xz", ".tar.bz2"):
        text = text.removesuffix(suffix)
    return text


def match(keys: pl.Series, media: pl.DataFrame, *, wanted: str) -> Match | None:
    """The files of `keys` (file names with or without suffix, or paths), looked for on the `wanted` side and in shared folders.

    Returns the kind of media that most keys name; None when fewer than half of them do.
    """
    pool = media.filter(pl.col("side").is_in([wanted, ""]))
    if pool.is_empty() or not len(keys):
        return None
    if len(keys) > 4 * LOOK and match(keys.gather_every(len(keys) // LOOK), media, wanted=wanted) is None:
        return None
    wanted_keys = pl.DataFrame({"key": keys.cast(pl.String)}).with_row_index("position")
    forms = pl.concat(
        [
            pool.select(
                key=pl.col(form), how=pl.lit(how), kind="kind", rank="rank", side="side", path="path", reference="reference"
            )
            for how, form in enumerate(("path", "name", "stem"))
        ]
        + [_tails(pool)]
    )
    found = wanted_keys.with_columns(key=pl.col("key").str.replace_all("\\", "/", literal=True).str.strip_prefix("./")).join(
        forms, on="key", how="inner"
    )
    if found.height < len(keys) * MATCHED:  # other letters, or another suffix than the id says
        loose = forms.filter(pl.col("how") > 0).with_columns(pl.col("key").str.to_lowercase().str.replace(_KNOWN_SUFFIX, ""))
        plain_keys = pl.col("key").str.to_lowercase().str.replace(r"^.*/", "").str.replace(_KNOWN_SUFFIX, "")
        found = wanted_keys.with_columns(plain_keys).join(loose.unique(["key", "reference"]), on="key", how="inner")
    if found.is_empty() and numeric_ids(keys):  # 7 and 0007.png
        bare = forms.filter(pl.col("how") == STEM).with_columns(pl.col("key").str.strip_chars_start("0"))
        found = wanted_keys.with_columns(pl.col("key").str.strip_chars_start("0")).join(bare, on="key", how="inner")
    if found.is_empty():
        return None
    kind = _best_kind(found, len(keys))
    if kind is None:
        return None
    found = found.filter(pl.col("kind") == kind).with_columns(
        same=(pl.col("side") == wanted).cast(pl.Int8), deep=pl.col("path").str.count_matches("/")
    )
    found = found.sort(["position", "same", "rank", "how", "deep", "path"], descending=[False, True, False, False, False, False])
    first = found.group_by("position", maintain_order=True).first()
    further = found.join(first.select("position", chosen="reference"), on="position").filter(
        pl.col("reference") != pl.col("chosen")
    )
    references = wanted_keys.join(first.select("position", "reference"), on="position", how="left", maintain_order="left")[
        "reference"
    ]
    share = 1.0 - references.null_count() / len(keys)
    copies = further["path"].str.replace(r"/?[^/]+$", "").unique().sort().head(5).to_list()
    return Match(references.rename("media"), kind, share, tuple(copies))


def numeric_ids(keys: pl.Series) -> bool:
    return bool(keys.head(LOOK).str.contains(r"^\d+$").all())


def _best_kind(found: pl.DataFrame, count: int) -> str | None:
    """The kind with the most keys; pictures and sounds before arrays, videos and tables of the same names."""
    shares = {kind: size / count for kind, size in found.group_by("kind").agg(pl.col("position").n_unique()).iter_rows()}
    enough = [kind for kind in KINDS if shares.get(kind, 0.0) >= MATCHED]
    if not enough:
        return None
    return max(enough, key=lambda kind: (shares[kind] > 0.9 * max(shares.values()), -list(KINDS).index(kind)))


def _tails(pool: pl.DataFrame) -> pl.DataFrame:
    """Keys with folders in them: the last two parts of a path, with and without suffix (`cat/001.jpg`, `chain/hash`)."""
    tail = pl.col("path").str.extract(r"([^/]+/[^/]+)$", 1)
    base = pool.with_columns(tail=tail).filter(pl.col("tail").is_not_null())
    both = [
        base.select(key=form, how=pl.lit(how), kind="kind", rank="rank", side="side", path="path", reference="reference")
        for how, form in ((1, pl.col("tail")), (2, pl.col("tail").str.replace(r"\.[^./]+$", "")))
    ]
    return pl.concat(both)


def item_names(media: pl.DataFrame, wanted: str) -> pl.Series:
    """Names that items of one side may have: of files without suffix, and of their folders."""
    pool = media.filter(pl.col("side") == wanted)
    return pl.concat([pool["stem"].alias("name"), pool["folder"].str.extract(r"([^/]+)$", 1).alias("name")]).drop_nulls().unique()


def slices(keys: pl.Series, media: pl.DataFrame, *, wanted: str) -> Match | None:
    """Items that are folders of files (the slices of a scan): the middle file stands for the item."""
    pool = media.filter(pl.col("side").is_in([wanted, ""]) & pl.col("kind").is_in(["image", "array"]))
    if pool.is_empty() or not len(keys):
        return None
    last = pool.with_columns(key=pl.col("folder").str.extract(r"([^/]+)$", 1)).filter(pl.col("key").is_in(keys.unique().to_list()))
    if last.is_empty():
        return None
    middle = (
        last.sort("path")
        .group_by("key", maintain_order=True)
        .agg(pl.col("reference").get(pl.len() // 2), pl.col("kind").first(), pl.len().alias("files"))
    )
    wanted_keys = pl.DataFrame({"key": keys.cast(pl.String)})
    references = wanted_keys.join(middle.select("key", "reference"), on="key", how="left", maintain_order="left")["reference"]
    share = 1.0 - references.null_count() / len(keys)
    return Match(references.rename("media"), str(middle["kind"][0]), share) if share >= MATCHED else None


def composed(keys: pl.Series, media: pl.DataFrame, *, wanted: str) -> Match | None:
    """Ids that are made of folder and file name (`case1_day0_slice_0001`), where the name may go on (`slice_0001_20_16.png`)."""
    pool = media.filter(pl.col("side").is_in([wanted, ""]) & pl.col("kind").is_in(["image", "audio", "array"]))
    if pool.is_empty() or not len(keys):
        return None
    parts = pool.sort("path").select("reference", "kind", "stem", up=pl.col("folder").str.split("/").list.reverse())
    wanted_keys = pl.DataFrame({"key": keys.cast(pl.String)})
    for cut in (1, 2):  # several files an item, told apart by an ending: `<id>_green.png`
        made = parts.with_columns(key=pl.col("stem").str.replace(rf"([_-][^_-]+){{{cut}}}$", "")).unique(
            "key", keep="first", maintain_order=True
        )
        found = wanted_keys.join(made.select("key", "reference", "kind"), on="key", how="left", maintain_order="left")
        share = 1.0 - found["reference"].null_count() / len(keys)
        if share >= NEARLY_ALL:
            return Match(found["reference"].rename("media"), str(found["kind"].drop_nulls()[0]), share)
    for level in range(3):
        for cut in range(6):
            stem = pl.col("stem").str.replace(rf"(_[\d.]+){{{cut}}}$", "") if cut else pl.col("stem")
            for joint in ("_", "-", ""):
                key = pl.concat_str([pl.col("up").list.get(level, null_on_oob=True), stem], separator=joint)
                made = parts.with_columns(key=key).drop_nulls("key").unique("key", keep="first", maintain_order=True)
                found = wanted_keys.join(made.select("key", "reference", "kind"), on="key", how="left", maintain_order="left")
                share = 1.0 - found["reference"].null_count() / len(keys)
                if share >= NEARLY_ALL:
                    return Match(found["reference"].rename("media"), str(found["kind"].drop_nulls()[0]), share)
    return None
