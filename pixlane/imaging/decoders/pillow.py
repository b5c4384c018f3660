"""What libvips does not read, through Pillow: the one plugin of the format, no sniffing. Also where libvips is missing."""

from __future__ import annotations

import io
import logging
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pixlane.errors import EngineMissing, PageOutOfRange, UnsupportedFormat
from pixlane.imaging import anatomy, colour, cut_off, damage, guard, header, orient, wording
from pixlane.imaging.decoders import apng, bitfields, icons, rle, unsaid
from pixlane.imaging.decoders.pillow_voice import heard
from pixlane.imaging.picture import Picture, sentence
from pixlane.imaging.work import Facts, Work
from pixlane.probe import isobmff, tiff

if TYPE_CHECKING:
    import numpy as np
    import pyvips
    from PIL.Image import Image

PLUGINS = {
    "png": "PNG",
    "jpeg": "JPEG",
    "gif": "GIF",
    "webp": "WEBP",
    "tiff": "TIFF",
    "avif": "AVIF",
    "bmp": "BMP",
    "ico": "ICO",
    "cur": "ICO",  # see `icons`
    "icns": "ICNS",
    "psd": "PSD",
    "jp2": "JPEG2000",
    "pnm": "PPM",
    "tga": "TGA",
    "dds": "DDS",
    "pcx": "PCX",
    "qoi": "QOI",
    "sgi": "SGI",
}
TWELVE_BITS = 1 << 12
READS_BETWEEN_LOOKS = 1_000  # at the clock
PADDED = ("bmp", "pnm", "tga", "dds", "sgi", "pcx")  # zeros at the end stand for missing data
LOSSY = ("jpeg", "avif", "jp2")
UNREADABLE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    KeyError,
    IndexError,
    TypeError,
    ArithmeticError,
    RuntimeError,
    struct.error,
)
"""What Pillow's plugins raise on bytes that are not of their form."""


def open_pillow(work: Work) -> PillowPicture:
    """The source through the Pillow plugin of its format. Raises CorruptInput where it cannot read the header."""
    return _open(work, _plugin(PLUGINS[work.detected.name]))


def open_avif(work: Work) -> PillowPicture:
    """AVIF through the opener of pillow-avif-plugin."""
    try:
        from pillow_avif.AvifImagePlugin import AvifImageFile
    except ImportError as error:
        raise EngineMissing(f"pillow-avif-plugin is not installed: {error}") from error
    return _open(work, AvifImageFile)


def _plugin(name: str) -> Callable[..., Image]:
    """The class that opens one format. `Image.open` would add warnings of its own about sizes that the guard has checked."""
    try:
        from PIL import Image
    except ImportError as error:
        raise EngineMissing(f"Pillow is not installed: {error}") from error
    if not (log := logging.getLogger("PIL")).handlers:
        log.addHandler(logging.NullHandler())  # else what it logs of a bad file is printed on stderr
    Image.init()
    opener: Callable[..., Image.Image] = Image.OPEN[name][0]
    return opener


def _open(work: Work, plugin: Callable[..., Image]) -> PillowPicture:
    name = work.detected.name
    rewrite = REWRITTEN.get(name)
    try:
        data = rewrite(work.data) if rewrite else work.data
        with heard(work):
            image = _opened(work, plugin, data)
            guard.check_size(work.limits, *image.size)
            image, frames = _select(work, image)
    except UNREADABLE as error:
        damage.check_header(work, name, sentence(error))
        raise wording.unreadable(sentence(error), f"the header of the {name} cannot be read") from error
    return PillowPicture(work, image, frames, plugin)


REWRITTEN: dict[str, Callable[[bytes], bytes]] = {
    "ico": icons.plain,
    "cur": icons.plain,
    "png": apng.plain,
    "jp2": unsaid.of_8_bits,
}
"""What the plugin reads rightly only in another form."""


def _opened(work: Work, plugin: Callable[..., Image], data: bytes) -> Image:
    try:
        return plugin(_Bytes(data, work), "")
    except UNREADABLE:
        rewritten = bitfields.plain(data) if work.detected.name == "bmp" else None
        if rewritten is None:
            raise
        return plugin(_Bytes(rewritten, work), "")


class _Bytes(io.BytesIO):
    """The source, with the deadline: some plugins decode in Python, a pixel at a time, and ask for every one of them here."""

    def __init__(self, data: bytes, work: Work) -> None:
        super().__init__(data)
        self.deadline = work.deadline
        self.reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        if self.reads % READS_BETWEEN_LOOKS == 0:
            self.deadline.check()
        return super().read(size)


def _select(work: Work, image: Any) -> tuple[Any, int | None]:
    """The picture that `page` asks for, and how many there are."""
    name, page = work.detected.name, work.recipe.page
    if name in ("ico", "cur"):
        entries = image.ico.entry  # the largest first
        guard.check_page(page, len(entries))
        return image.ico.frame(page), len(entries)
    if name in ("jpeg", "psd", "icns"):
        return image, 1
    frames = getattr(image, "n_frames", 1)
    if name == "png" and getattr(image, "default_image", False):
        frames -= 1  # a picture for viewers that know no animation; browsers never show it
        page += 1
    guard.check_frames(work.limits, frames)
    guard.check_page(work.recipe.page, frames)
    if page:
        try:
            image.seek(page)
        except EOFError as error:
            raise PageOutOfRange(f"page {work.recipe.page} cannot be reached", actual=work.recipe.page) from error
        guard.check_size(work.limits, *image.size)
    return image, frames


class PillowPicture(Picture):
    """A source that Pillow decodes, whole, into an array that libvips goes on with."""

    def __init__(self, work: Work, image: Any, frames: int | None, plugin: Callable[..., Image]) -> None:
        self.image = image
        self.plugin = plugin
        self.name = work.detected.name
        self._array: np.ndarray[Any, Any] | None = None
        self._space = ""
        parts = anatomy.dissect(self.name, work.data)
        items = isobmff.items(work.data) if self.name == "avif" else None
        tags = header.tiff_tags(work.data, work.recipe.page) if self.name == "tiff" else {}
        profile = image.info.get("icc_profile") or unsaid.profile(self.name, work.data)
        metadata = [*parts.metadata]
        for field, kind in (
            ("exif", "EXIF"),
            ("xmp", "XMP"),
            ("photoshop", "IPTC"),
            ("comment", "text"),
        ):
            if image.info.get(field) and kind not in metadata:
                metadata.append(kind)
        if profile and "profile" not in metadata:
            metadata.append("profile")
        fourth = image.mode in ("RGBA", "LA", "PA", "RGBa", "La")
        if fourth and not unsaid.has_alpha(self.name, work.data):
            fourth = False
            metadata.append("a further channel")
        if self.name == "avif":
            colours, orientation = header.container_colour(items, profile, "RGB"), header.container_orientation(items)
        elif self.name == "png":
            colours, orientation = header.png_colour(parts, profile, _space(image.mode)), _orientation(image)
        else:
            colours = colour.from_profile(profile, _space(image.mode))
            orientation = 1 if self.name == "tiff" else _orientation(image)  # the TIFF plugin has turned it
        facts = Facts(
            mime=work.detected.mime,
            width=image.width,
            height=image.height,
            frames=frames,
            bits=16 if image.mode.startswith("I") else 32 if image.mode == "F" else unsaid.bits(self.name, work.data, tags),
            alpha=fourth or "transparency" in image.info,
            srgb=colours.srgb and image.mode not in ("CMYK", "LAB"),
            orientation=orientation,
            turned=orient.valid(tags.get(tiff.ORIENTATION, (1,))[0]),
            lossless=self.name not in LOSSY,
            trailing_bytes=parts.trailing_bytes(len(work.data)),
        )
        if orientation in (5, 6, 7, 8):
            facts = replace(facts, width=image.height, height=image.width)
        cost = "numbers" if image.mode[0] in "IF" else "pillow"
        super().__init__(work, facts, colours, cost=cost, metadata=tuple(metadata), damage=tuple(parts.damage))

    def load(self, shrink: float) -> pyvips.Image:
        import pyvips

        if self._array is None:
            self._array = self._decoded()
        return pyvips.Image.new_from_array(self._array, interpretation=self._space)

    def _decoded(self) -> np.ndarray[Any, Any]:
        """The picture as an array of numbers that `colour` knows; sets the space."""
        import numpy as np

        image = self._whole()
        self.work.deadline.check()
        mode, self._space = image.mode, "srgb"
        if mode == "LAB":
            self._space = "lab"
            stored = np.asarray(image)  # a and b are signed
            lab: np.ndarray[Any, Any] = stored.view(np.int8).astype(np.float32)
            lab[..., 0] = stored[..., 0] * np.float32(100 / 255)
            return lab
        if mode == "CMYK":
            self._space = "cmyk"
            return np.asarray(image)
        if mode[0] in "IF":
            return self._numbers(np.asarray(image))
        grey = mode in ("LA", "La") or (mode in ("1", "L") and not self.facts.alpha)  # a colour key needs RGBA
        alpha = "A" if self.facts.alpha else ""
        target = ("L" if grey else "RGB") + alpha
        self._space = "b-w" if grey else "srgb"
        pixels: np.ndarray[Any, Any] = np.asarray(image if mode == target else image.convert(target))
        if self.name == "jp2" and self.facts.bits > 8:
            pixels = self._without_overflow(pixels)
        if self.name == "psd" and mode == "1":
            pixels = 255 - pixels  # a bit that is set is black there
        if self.name in ("bmp", "ico", "cur", "dds", "tga") and self.facts.alpha and not pixels[..., -1].any():
            pixels = pixels.copy()
            pixels[..., -1] = 255  # an alpha byte that nobody filled
        return pixels

    def _without_overflow(self, pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Pillow rounds more than 8 bits up beyond 255, which wraps to 0: a second look at half the range tells which."""
        import numpy as np

        if pixels.all() or unsaid.of_8_bits(self.work.data) is not self.work.data:
            return pixels
        if unsaid.is_sycc(self.work.data):
            raise UnsupportedFormat(f"a JPEG 2000 of luma and chroma with {self.facts.bits} bits is not decoded", limit=8)
        with heard(self.work):
            image = self.plugin(_Bytes(unsaid.of_one_bit_more(self.work.data), self.work), "")
            image.load()
        half = np.asarray(image if image.mode == self.image.mode else image.convert(self.image.mode))
        return np.where((pixels == 0) & (half.reshape(pixels.shape) > 128), 255, pixels).astype(np.uint8)

    def _numbers(self, pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """16 bits as they are, wider numbers by the range that is there."""
        import numpy as np

        self._space = "b-w"
        small = self.name == "tiff" and pixels.max() < TWELVE_BITS  # of a sensor: the upper byte alone would be black
        if pixels.dtype.kind == "u" and pixels.dtype.itemsize == 2 and not small:
            self._space = "grey16"
            return pixels.astype(np.uint16)
        if self.name in ("png", "pnm", "jp2") and pixels.dtype.kind == "i" and pixels.min() >= 0 and pixels.max() < 1 << 16:
            self._space = "grey16"
            return pixels.astype(np.uint16)
        scaled, low, high = colour.scale_range(pixels, False)
        self.work.note("depth_reduced", f"{pixels.dtype} numbers from {low:g} to {high:g} became 0 to 255")
        return scaled

    def _whole(self) -> Any:
        """The picture with its pixels loaded."""
        try:
            with heard(self.work):
                self.image.load()
            guard.check_size(self.work.limits, *self.image.size)
            return self.image
        except UNREADABLE as error:
            said = sentence(error)
            if self.name == "bmp" and (rewritten := rle.plain(self.work.data)) is not None:
                self.mended("repaired", "runs end before the picture does; what they leave out has the first colour")
                whole = self.plugin(_Bytes(rewritten, self.work), "")
                whole.load()
                return whole
            if not (wording.means_cut_off(said) or cut_off.ends_early(self.name, self.work.data)):
                raise wording.unreadable(said) from error
            damage.truncated(self.work, None, drawable=self.name in PADDED)
            self.mended("truncated", self.work.notes[-1].text)
        try:
            with heard(self.work):
                padded = self.plugin(_Bytes(self.work.data + bytes(4 * self.width * self.height + 1024), self.work), "")
                padded.load()
        except UNREADABLE as error:
            raise wording.unreadable(sentence(error)) from error
        return padded


def _space(mode: str) -> str:
    return {"CMYK": "CMYK", "L": "GRAY", "LA": "GRAY", "1": "GRAY", "LAB": "Lab"}.get(mode, "GRAY" if mode[0] in "IF" else "RGB")


def _bits(mode: str) -> int:
    """Bits of a channel where the mode is one of more than 8, else 0."""
    return 16 if mode.startswith("I") else 32 if mode == "F" else 0


def _orientation(image: Any) -> int:
    try:
        return orient.valid(image.getexif().get(0x0112, 1))
    except UNREADABLE:
        return 1
