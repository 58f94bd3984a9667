"""Properties of the images: sizes, shapes, modes, orientation flags, depth, alpha, animation; and sizes that differ between the parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from matchfit.audit.scan import MediaScan
from matchfit.audit.subject import PARTS, Part, Subject, share, shown
from matchfit.core.findings import Finding

_Mask = npt.NDArray[np.bool_]


def _converted(*names: str) -> Callable[[MediaScan], _Mask]:
    def mask(scan: MediaScan) -> _Mask:
        words = [f" {text} " for text in scan.conversions.tolist()]
        return np.array([any(f" {name} " in text for name in names) for text in words], np.bool_)

    return mask


# (code, what is said, what to do, which images); reported only when not all images agree, or when the rule for reading them matters
_KINDS: tuple[tuple[str, str, str, Callable[[MediaScan], _Mask]], ...] = (
    (
        "oriented_images",
        "carry an orientation flag",
        "It is applied when they are read; boxes and masks of the host may be meant for the picture as stored.",
        lambda scan: scan.orientation > 1,
    ),
    (
        "deep_images",
        "have more than 8 bits a channel",
        "They are scaled to 8 bits by their full range; if they use a small part of it, they look dark: rescale them beforehand.",
        lambda scan: scan.bit_depth > 8,
    ),
    (
        "transparent_images",
        "have transparent parts",
        "They are laid over white.",
        _converted("alpha", "alpha-ignored"),
    ),
    (
        "cmyk_images",
        "are CMYK",
        "They become RGB without their colour profile; colours may be off.",
        lambda scan: scan.mode == "CMYK",
    ),
    (
        "animated_images",
        "have several frames",
        "The first frame is used.",
        _converted("first-frame"),
    ),
)
_GREY_MODES = ("1", "L", "LA", "La", "I", "F", "I;16", "I;16B", "I;16L")


def check_images(subject: Subject) -> Iterator[Finding]:
    """`image_properties` (one, in figures), and one finding for each kind of image that needs a rule to be read."""
    scans = {part: scan for part, scan in subject.scans.items() if scan.ok.any() and len(scan.thumbs)}
    if not scans:
        return
    yield _properties(subject, scans)
    for code, what, todo, mask in _KINDS:
        hits = {part: np.flatnonzero(mask(scan) & scan.ok) for part, scan in scans.items()}
        if sum(map(len, hits.values())):
            counts = ", ".join(f"{share(len(hits[part]), len(scans[part]))} of {part}" for part in hits)
            rows = tuple(name for part in hits for name in subject.ids(part, hits[part]))
            yield Finding(code=code, severity="info", message=f"Images that {what}: {counts}.", todo=todo, rows=rows)
    yield from _mixed_colour(subject, scans)


def _properties(subject: Subject, scans: dict[Part, MediaScan]) -> Finding:
    parts = []
    for part in PARTS:
        if part not in scans:
            continue
        scan = scans[part]
        ok = scan.ok
        width, height = scan.width[ok], scan.height[ok]
        sizes = Counter(zip(width.tolist(), height.tolist(), strict=True)).most_common()
        figures: dict[str, Any] = {
            "sizes": {f"{w}x{h}": number for (w, h), number in sizes[:20]},
            "num_sizes": len(sizes),
            "width": _range(width),
            "height": _range(height),
            "aspect": _range(width / height),
            "modes": dict(Counter(scan.mode[ok].tolist())),
            "formats": dict(Counter(scan.format[ok].tolist())),
            "bytes": _range(scan.num_bytes[ok]),
        }
        subject.properties.setdefault("images", {})[part] = figures
        (w, h), number = sizes[0]
        size = f"all {w}x{h}" if len(sizes) == 1 else f"{len(sizes):,} sizes, {share(number, len(width))} of them {w}x{h}"
        extent = (
            "" if len(sizes) == 1 else f", width {_span(width)}, height {_span(height)}, width / height {_span(width / height)}"
        )
        parts.append(f"{part}: {size}{extent}; {shown(figures['modes'])}; {shown(figures['formats'])}")
    return Finding(code="image_properties", severity="info", message="Images, " + "; ".join(parts) + ".")


def _range(values: npt.NDArray[np.generic]) -> list[float]:
    """[least, median, most]"""
    return [round(float(value), 4) for value in np.quantile(values.astype(np.float64), [0, 0.5, 1])]


def _span(values: npt.NDArray[np.generic]) -> str:
    low, middle, high = _range(values)
    return f"{low:.4g} to {high:.4g} (median {middle:.4g})"


def _mixed_colour(subject: Subject, scans: dict[Part, MediaScan]) -> Iterator[Finding]:
    grey = {part: np.isin(scan.mode, _GREY_MODES) & scan.ok for part, scan in scans.items()}
    number, total = sum(int(mask.sum()) for mask in grey.values()), sum(int(scan.ok.sum()) for scan in scans.values())
    if 0 < number < total:
        rarer = number * 2 <= total
        rows = tuple(
            name
            for part, mask in grey.items()
            for name in subject.ids(part, np.flatnonzero(mask if rarer else ~mask & scans[part].ok))
        )
        yield Finding(
            code="mixed_colour",
            severity="info",
            message=f"{share(number, total)} of the images are grey, the others have colour.",
            todo="Grey images are repeated over three channels.",
            rows=rows,
        )
