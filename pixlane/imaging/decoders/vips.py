"""PNG, JPEG, GIF, WebP, TIFF and AVIF through libvips: streaming, with shrink on load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pixlane.errors import CorruptInput, EngineMissing
from pixlane.imaging import guard, orient
from pixlane.imaging.colour import Colour
from pixlane.imaging.picture import Picture
from pixlane.imaging.work import Facts, Work

if TYPE_CHECKING:
    import pyvips

# By name, never through the generic loader: that one sniffs SVG past the sanitizer and sends gain-map JPEGs elsewhere.
LOADERS = {
    "png": "pngload_buffer",
    "jpeg": "jpegload_buffer",
    "gif": "gifload_buffer",
    "webp": "webpload_buffer",
    "tiff": "tiffload_buffer",
    "avif": "heifload_buffer",
}
PAGED = ("gif", "webp", "tiff", "avif")
STRICT = {"png": "error", "jpeg": "warning", "gif": "error", "webp": "error", "tiff": "error", "avif": "error"}
LOSSLESS = ("png", "gif", "tiff")
JPEG_SHRINKS = (8, 4, 2)
SHARP_FACTOR = 2  # what shrink on load leaves for the Lanczos step


def open_vips(work: Work) -> VipsPicture:
    """The source with its header read. Raises CorruptInput where libvips cannot read it."""
    try:
        import pyvips
    except ImportError as error:
        raise EngineMissing(f"pyvips is not installed: {error}") from error
    name = work.detected.name
    options: dict[str, Any] = {"page": work.recipe.page} if name in PAGED else {}
    try:
        header = _load(name, work.data, options, "none")
    except pyvips.Error as error:
        raise CorruptInput(f"the header of the {name} could not be read: {error.detail.strip()}") from error
    guard.check_size(work.limits, header.width, header.height)
    return VipsPicture(work, name, options, header)


class VipsPicture(Picture):
    """A source that libvips decodes."""

    def __init__(self, work: Work, name: str, options: dict[str, Any], header: pyvips.Image) -> None:
        self.name = name
        self.options = options
        self.fail_on = STRICT[name]
        super().__init__(work, _facts(name, header), Colour())

    def load(self, shrink: int) -> pyvips.Image:
        options = self.options
        if shrink > 1:
            options = {**options, "shrink": shrink} if self.name == "jpeg" else {**options, "scale": 1 / shrink}
        return _load(self.name, self.work.data, options, self.fail_on)

    def shrink_on_load(self, factor: float) -> int:
        if self.name == "jpeg":
            return next((shrink for shrink in JPEG_SHRINKS if factor >= shrink * SHARP_FACTOR), 1)
        if self.name == "webp":
            return max(1, int(factor / SHARP_FACTOR))
        return 1


def _load(name: str, data: bytes, options: dict[str, Any], fail_on: str) -> pyvips.Image:
    import pyvips

    return getattr(pyvips.Image, LOADERS[name])(data, access="sequential", fail_on=fail_on, **options)


def _facts(name: str, header: pyvips.Image) -> Facts:
    fields = set(header.get_fields())
    orientation = orient.valid(header.get("orientation")) if "orientation" in fields and name != "avif" else 1
    width, height = orient.turn_size(header.width, header.height, orientation)
    return Facts(
        mime={"png": "image/png", "jpeg": "image/jpeg"}.get(name, f"image/{name}"),
        width=width,
        height=height,
        frames=header.get("n-pages") if "n-pages" in fields else 1,
        bits=16 if header.format == "ushort" else 8,
        alpha=bool(header.hasalpha()),
        orientation=orientation,
        lossless=name in LOSSLESS,
    )
