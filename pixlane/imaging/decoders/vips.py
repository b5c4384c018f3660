"""PNG, JPEG, GIF, WebP, TIFF and AVIF through libvips: streaming, with shrink on load.

A `Source` wraps the bytes, which the work keeps alive; the buffer loaders would copy them.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pixlane.errors import EngineMissing, UnsupportedFormat
from pixlane.imaging import anatomy, colour, damage, guard, header, orient, wording
from pixlane.imaging.anatomy import Anatomy
from pixlane.imaging.colour import Colour
from pixlane.imaging.decoders import gif
from pixlane.imaging.decoders.variants import ICC_LAB, JPEG, LZMA, OLD_JPEG, YCBCR, ZSTD, first
from pixlane.imaging.picture import Picture, sentence
from pixlane.imaging.work import Facts, Work
from pixlane.probe import isobmff, tiff

if TYPE_CHECKING:
    import numpy as np
    import pyvips

# By name, never through the generic loader: that one sniffs SVG past the sanitizer and sends gain-map JPEGs elsewhere.
LOADERS = {
    "png": "pngload_source",
    "jpeg": "jpegload_source",
    "gif": "gifload_source",
    "webp": "webpload_source",
    "tiff": "tiffload_source",
    "avif": "heifload_source",
}
PAGED = ("gif", "webp", "tiff")
LOSSLESS = ("png", "gif", "tiff")
# At the strictest level libvips says what it would otherwise pass over; `damage` then decides what a browser would show.
STRICT = {"tiff": "error"}  # of a TIFF, a tag that is new to libtiff is a warning already
STRICTEST = "warning"
PROGRESSIVE = (0xC2, 0xC6, 0xCA, 0xCE)  # start of frame markers
JPEG_SHRINKS = (8, 4, 2)
# What shrink on load leaves for the Lanczos step, at least. From a JPEG decoded at half size a photograph differs by 47 to 51 dB,
# text by 38 (JPEG 85 alone: 38 to 43, and 34) from one that was decoded in full; OCR reads as many words (0.998 of 1,440).
JPEG_SHARP_FACTOR = 1.25
WEBP_SHARP_FACTOR = 1.6
NUMBERS = ("uchar", "ushort")  # what needs no look at its range
TWELVE_BITS = 1 << 12
NOT_BUILT_IN = {OLD_JPEG: "old-style JPEG", LZMA: "LZMA", ZSTD: "Zstandard"}  # codings of a TIFF that this libtiff lacks
WHITE_IS_ZERO = 0
ALPHA_SAMPLES = (1, 2)  # of what a TIFF says of a further channel; 0 says that it is something else


def open_vips(work: Work) -> VipsPicture:
    """The source with its header read. Raises CorruptInput or UnsupportedFormat where another engine has to be asked."""
    try:
        import pyvips
    except (ImportError, OSError) as error:
        raise EngineMissing(f"pyvips is not usable: {error}") from error
    name = work.detected.name
    damage.cut_to_whole_chunks(work)
    damage.cut_to_whole_pages(work)
    parts = anatomy.dissect(name, work.data)
    _refuse(work, name, parts)
    options: dict[str, Any] = {}
    try:
        image = _load(name, work.data, options, "none")
        if work.recipe.page and name in PAGED:
            guard.check_page(work.recipe.page, _pages(image))
            options = {"page": work.recipe.page}
            image = _load(name, work.data, options, "none")
    except (pyvips.Error, UnicodeDecodeError) as error:  # the message may quote the bytes
        damage.check_header(work, name, sentence(error))
        raise wording.unreadable(sentence(error), f"the header of the {name} cannot be read") from error
    return VipsPicture(work, name, options, image, parts)


class VipsPicture(Picture):
    """A source that libvips decodes."""

    def __init__(self, work: Work, name: str, options: dict[str, Any], image: pyvips.Image, parts: Anatomy) -> None:
        self.name = name
        self.data = work.data
        self.options = options
        self.fail_on = STRICT.get(name, STRICTEST)
        self.cure = damage.Cure(self)
        self.bands = image.bands
        self._small: bool | None = None
        self.uncovered = _uncovered(name, image, parts, options)
        tags = header.tiff_tags(work.data, work.recipe.page) if name == "tiff" else {}
        self.icc_lab = first(tags, tiff.PHOTOMETRIC) == ICC_LAB and image.bands >= 3
        self.white_is_zero = first(tags, tiff.PHOTOMETRIC) == WHITE_IS_ZERO
        self.exotic = image.format not in NUMBERS and image.interpretation not in colour.LAB
        profile = image.get(colour.PROFILE_FIELD) if image.get_typeof(colour.PROFILE_FIELD) else None
        metadata = [*parts.metadata]
        for field, kind in (("exif-data", "EXIF"), ("xmp-data", "XMP"), ("iptc-data", "IPTC"), (colour.PROFILE_FIELD, "profile")):
            if image.get_typeof(field) and kind not in metadata:
                metadata.append(kind)
        self.clear: np.ndarray[Any, Any] | None = None
        if name == "gif" and work.recipe.page and not image.hasalpha():
            guard.check_size(work.limits, image.width, image.height)
            self.clear = gif.coverage(work.data, work.recipe.page, image.width, image.height)
        facts = _facts(work, name, image, parts)
        if facts.alpha and first(tags, tiff.EXTRA_SAMPLES) not in ALPHA_SAMPLES:
            facts = replace(facts, alpha=False)
            metadata.append("a further channel")
        if self.clear is not None:
            facts = replace(facts, alpha=True)
        colours = _colour(work, name, image, profile, parts)
        super().__init__(
            work,
            facts if _srgb(colours, image) and not self.icc_lab else _converted(facts),
            colours,
            cost=_cost(name, image, parts, self.exotic),
            metadata=tuple(metadata),
            damage=tuple(parts.damage),
        )

    def load(self, shrink: float) -> pyvips.Image:
        import pyvips

        options = self.options
        if shrink > 1:
            options = {**options, "shrink": int(shrink)} if self.name == "jpeg" else {**options, "scale": 1 / shrink}
        image = _load(self.name, self.data, options, self.fail_on)
        if self.exotic or self._is_small_in_16_bits(image):
            image = self._in_range(image)
        if self.icc_lab:
            return _lab(image)
        if self.clear is not None:
            return image.bandjoin(pyvips.Image.new_from_array(self.clear))
        if self.uncovered is not None:
            image = image.crop(*self.uncovered).bandjoin(255).embed(self.uncovered[0], self.uncovered[1], self.width, self.height)
        wanted = (4 if image.interpretation == "cmyk" else 3 if self.bands >= 3 else 1) + self.facts.alpha
        return image.extract_band(0, n=wanted) if image.bands > wanted else image

    def shrink_on_load(self, factor: float) -> float:
        if self.name == "jpeg":
            return next((shrink for shrink in JPEG_SHRINKS if factor >= shrink * JPEG_SHARP_FACTOR), 1)
        if self.name == "webp":
            return max(1.0, factor / WEBP_SHARP_FACTOR)
        return 1.0

    def failed(self, error: Exception) -> None:
        self.cure.next(sentence(error))

    def _is_small_in_16_bits(self, image: pyvips.Image) -> bool:
        """Whether a grey TIFF keeps the 12 bits of a sensor in 16: its upper byte alone would be black."""
        if self.name != "tiff" or image.format != "ushort" or image.bands != 1:
            return False
        if self._small is None:
            self._small = bool(
                self.work.deadline.attach(_load(self.name, self.data, self.options, self.fail_on)).max() < TWELVE_BITS
            )
        return self._small

    def _in_range(self, image: pyvips.Image) -> pyvips.Image:
        """Signed, wide and float numbers by the range that is there, which takes the whole picture."""
        import numpy as np
        import pyvips

        kind = image.format
        pixels, low, high = colour.scale_range(np.asarray(self._memory(image)), self.facts.alpha)
        if self.white_is_zero and kind != "uint":  # the only one of these kinds that libvips turns
            pixels[..., : -1 if self.facts.alpha else None] ^= 255
        self.work.note("depth_reduced", f"{kind} numbers from {low:g} to {high:g} became 0 to 255")
        space = "srgb" if pixels.ndim == 3 and pixels.shape[2] >= 3 else "b-w"
        return pyvips.Image.new_from_array(pixels, interpretation=space)


def _load(name: str, data: bytes, options: dict[str, Any], fail_on: str) -> pyvips.Image:
    import pyvips

    return getattr(pyvips.Image, LOADERS[name])(
        pyvips.Source.new_from_memory(data), access="sequential", fail_on=fail_on, **options
    )


def _refuse(work: Work, name: str, parts: Anatomy) -> None:
    """What libvips would open without a word and show wrongly."""
    if name == "png" and parts.frames and (work.recipe.page or b"first fcTL" not in parts.parts):
        raise UnsupportedFormat("libvips reads only the first picture of an animated PNG")
    if name == "tiff":
        _refuse_tiff(header.tiff_tags(work.data, work.recipe.page))
    if name == "avif" and isobmff.has_sequence(work.data):
        raise UnsupportedFormat("libvips reads no AVIF sequences")


def _refuse_tiff(tags: tiff.Tags) -> None:
    coding = first(tags, tiff.COMPRESSION)
    if coding in NOT_BUILT_IN:
        raise UnsupportedFormat(f"libvips reads no {NOT_BUILT_IN[coding]} in TIFF")
    if first(tags, tiff.PHOTOMETRIC) == YCBCR and coding != JPEG and tags.get(tiff.YCBCR_SUBSAMPLING) == (1, 1):
        raise UnsupportedFormat("libvips takes YCbCr that is not subsampled for RGB")


def _lab(image: pyvips.Image) -> pyvips.Image:
    """Lab as ICC profiles code it (TIFF, photometric 9): all three without a sign, 100 at 255 or at 65,280."""
    wide = image.format == "ushort"
    lab = image.extract_band(0, n=3).cast("float") * ([100 / 65280, 1 / 256, 1 / 256] if wide else [100 / 255, 1, 1])
    return (lab - [0, 128, 128]).copy(interpretation="lab")


def _uncovered(name: str, image: pyvips.Image, parts: Anatomy, options: dict[str, Any]) -> tuple[int, int, int, int] | None:
    """Left, top, width and height of a first GIF frame that leaves a part of the canvas clear; libvips makes that part black."""
    if name != "gif" or options.get("page") or image.hasalpha() or b"first frame" not in parts.parts:
        return None
    left, top, width, height = struct.unpack("<4H", parts.parts[b"first frame"])
    inside = left + width <= image.width and top + height <= image.height and width > 0 and height > 0
    return (left, top, width, height) if inside and (width, height) != (image.width, image.height) else None


def _pages(image: pyvips.Image) -> int:
    return int(image.get("n-pages")) if image.get_typeof("n-pages") else 1


def _facts(work: Work, name: str, image: pyvips.Image, parts: Anatomy) -> Facts:
    # libvips has applied what an AVIF container says, and its EXIF value never counts.
    orientation = orient.valid(image.get("orientation")) if image.get_typeof("orientation") and name != "avif" else 1
    if name == "png":
        orientation = header.exif_orientation(parts.parts.get(b"eXIf", b""))
    width, height = orient.turn_size(image.width, image.height, orientation)
    return Facts(
        turned=header.container_orientation(isobmff.items(work.data)) if name == "avif" else 1,
        mime=work.detected.mime,
        width=width,
        height=height,
        frames=parts.frames if name == "png" and parts.frames else _pages(image),
        bits=_bits(image),
        alpha=bool(image.hasalpha()) or _uncovered(name, image, parts, {"page": work.recipe.page}) is not None,
        orientation=orientation,
        lossless=name in LOSSLESS or (name == "webp" and b"VP8L" in parts.parts),
        trailing_bytes=parts.trailing_bytes(len(work.data)),
    )


def _cost(name: str, image: pyvips.Image, parts: Anatomy, exotic: bool) -> str:
    if exotic:
        return "numbers"
    if name == "jpeg":
        return "progressive" if parts.parts.get(b"SOF", b"\0")[0] in PROGRESSIVE else "streamed"
    if name == "png":
        return "interlaced" if image.get_typeof("interlaced") else "streamed"
    return "streamed" if name == "tiff" else name


def _bits(image: pyvips.Image) -> int:
    stored = int(image.get("bits-per-sample")) if image.get_typeof("bits-per-sample") else 8
    return max(stored, 9) if image.format == "ushort" else 8


def _colour(work: Work, name: str, image: pyvips.Image, profile: bytes | None, parts: Anatomy) -> Colour:
    space = "CMYK" if image.interpretation == "cmyk" else "RGB" if image.bands >= 3 else "GRAY"
    if name == "png":
        return header.png_colour(parts, profile, space)
    if name == "avif":
        return header.container_colour(isobmff.items(work.data), profile, space)
    return colour.from_profile(profile, space)


def _srgb(found: Colour, image: pyvips.Image) -> bool:
    return found.srgb and image.interpretation != "cmyk" and image.interpretation not in colour.LAB


def _converted(facts: Facts) -> Facts:
    return replace(facts, srgb=False)
