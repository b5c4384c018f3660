"""What a picture is like, judged on a sixteenth of its rows: drawn or photographed, coloured text, how large as what.

The few rows are looked at with Pillow: for so little data the pipelines of libvips cost more than the work in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyvips
    from PIL import Image

ROW_STEP = 16  # one row of so many is looked at
STRIP_PX = 16  # rows of a strip of the sample: whole JPEG blocks with subsampled colour, whole lines of text
MAX_COLOURS = 256

DRAWN_FLAT_SHARE = 0.5  # of the pixels equal the left neighbour exactly: photographs 0.02 to 0.48, screenshots 0.53 to 0.98
BYTES_PER_EDGE = 0.65  # of a lossless coding per pixel that differs from its neighbour: 1.2 to 3.2 on real screenshots
SAMPLE_EXCESS = 4.0  # what strips may cost more than their share of the whole: 0.7 to 3.7 times, most for the smallest files
LIKELY_EXCESS = 1.25  # a palette whose sample is within so many times the limit is tried early
OCTREE_SHORT = 1.25  # how much more good colours cost than those of an octree: 1.3 to 2.9 times, where it is more than 4 KB
WEBP_EXCESS = 1.35  # what strips may cost more than their share: 1.1 to 1.3 times on screenshots
EDGE_LEVELS = 40  # a step in Cb or Cr that 4:2:0 visibly smears
EDGE_SHARE = 0.002  # of the pixels with such a step: coloured text or lines
ALONE_SHARE = (
    0.001  # of the pixels with such a step and none half as large in brightness: screenshots up to 0.0005, red on blue 0.1
)
PALETTE_LEVELS = 16  # what a palette may be off by ...
PALETTE_SHARE = 0.01  # ... at this share of the pixels: JPEG at quality 70 is off by as much


@dataclass(frozen=True)
class Traits:
    """Judgements on one picture, 8-bit grey or RGB in memory; each is made when it is first asked for and deterministic."""

    picture: pyvips.Image

    # Each question that pyvips asks libvips costs as much as a row of pixels: so these are asked once.

    @cached_property
    def width(self) -> int:
        return int(self.picture.width)

    @cached_property
    def height(self) -> int:
        return int(self.picture.height)

    @cached_property
    def bands(self) -> int:
        return int(self.picture.bands)

    @property
    def side(self) -> int:
        """The longer side, px."""
        return max(self.width, self.height)

    @property
    def pixels(self) -> int:
        return self.width * self.height

    @cached_property
    def flat_share(self) -> float:
        """Share of pixels that equal their left neighbour in every band."""
        if self.width < 2:
            return 1.0
        steps = _largest(_steps(self._rows)).histogram()
        return steps[0] / sum(steps)

    @cached_property
    def drawn(self) -> bool:
        """A screenshot, text or line art, rather than a photograph."""
        return self.flat_share >= DRAWN_FLAT_SHARE

    @cached_property
    def grey(self) -> bool:
        """Whether the red, green and blue of the sampled rows are equal, or there is one band anyway."""
        bands = [band.tobytes() for band in self._rows.split()]
        return all(band == bands[0] for band in bands[1:])

    @cached_property
    def few_colours(self) -> bool:
        """Whether the sampled rows have at most 256 colours."""
        return self._rows.getcolors(MAX_COLOURS) is not None

    @cached_property
    def coloured_edges(self) -> bool:
        """Coloured text or lines that 4:2:0 would smear."""
        if self.bands != 3 or self.width < 2 or not self.drawn:
            return False
        _, colour = self._edges
        return _share_above(EDGE_LEVELS, colour) >= EDGE_SHARE

    @cached_property
    def colour_alone(self) -> bool:
        """Some of the coloured edges are no edges of brightness: without their colour, nothing is left to read."""
        if not self.coloured_edges:
            return False
        from PIL import ImageChops

        light, colour = self._edges
        half = colour.point([level // 2 if level > EDGE_LEVELS else 0 for level in range(256)])
        return _share_above(0, ImageChops.subtract(half, light)) >= ALONE_SHARE

    def webp_likely(self, quality: int | None, limit: int) -> bool:
        """Whether a WebP of that quality probably fits; to its end it takes five to ten times as long as a JPEG."""
        from pixlane.imaging import encode

        return self._whole(encode.webp(self._strips, None, quality).byte_count) <= limit * WEBP_EXCESS

    def may_fit_lossless(self, limit: int | None) -> bool:
        """Whether a lossless coding is worth offering: drawn, and with few edges or a small sample for that many bytes."""
        if limit is None or not self.drawn:
            return self.drawn
        edges = (1 - self.flat_share) * self.pixels
        if edges * BYTES_PER_EDGE <= limit:
            return True
        return not self._ever_new_colours(limit) and self._sample_fits_lossless(limit * SAMPLE_EXCESS)

    def jpeg_bytes(self, quality: int, full_chroma: bool) -> float:
        """About how many bytes a JPEG has; within 10 % for most pictures."""
        from pixlane.imaging import encode

        return self._whole(encode.jpeg(self._strips, None, quality, full_chroma).byte_count)

    def palette_likely(self, limit: int) -> bool:
        """Whether 256 colours look the same and probably fit. Most pictures are told by colours that are found in a hurry."""
        most = limit * LIKELY_EXCESS
        return self.drawn and self._whole(self._octree_sample) * OCTREE_SHORT < most and self.palette_bytes < most

    def palette_possible(self, limit: int) -> bool:
        """Whether 256 colours look the same and fit if the sample says far too much."""
        return self.drawn and not self.palette_likely(limit) and self.palette_bytes < limit * SAMPLE_EXCESS

    @cached_property
    def palette_bytes(self) -> float:
        """About how many bytes 256 colours take, too many rather than too few; infinite where they do not look the same."""
        import pyvips

        from pixlane.imaging import encode

        outcome = encode.palette(self._strips, None)
        reduced = pyvips.Image.new_from_buffer(outcome.data, "")
        off = (self._strips - reduced).abs() > PALETTE_LEVELS  # a coder that found nothing but greys wrote one band
        close = float(off.bandor().avg()) / 255 <= PALETTE_SHARE
        return self._whole(outcome.byte_count) if close else float("inf")

    @cached_property
    def _octree_sample(self) -> int:
        """The bytes of the strips with the 256 colours of an octree: a sixth of the time of good ones, and fewer bytes."""
        import pyvips
        from PIL import Image

        from pixlane.imaging import encode

        width, height, mode = self.width, self._strips.height, "RGB" if self.bands == 3 else "L"
        strips = Image.frombuffer(mode, (width, height), self._strips.write_to_memory(), "raw", mode, 0, 1)
        indexed = strips.convert("RGB").quantize(method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        return encode.png(pyvips.Image.new_from_memory(indexed.tobytes(), width, height, 1, "uchar"), None).byte_count

    def _ever_new_colours(self, limit: int) -> bool:
        """Whether the sampled rows have more colours than their share of so many bytes: hardly anything repeats."""
        sampled = self._rows.width * self._rows.height
        return self._rows.getcolors(max(1, round(sampled * limit / self.pixels))) is None

    def _sample_fits_lossless(self, limit: float) -> bool:
        """Whether the strips take no more than their share of so many bytes."""
        from pixlane.imaging import encode

        return encode.png(self._strips, int(limit / self._whole(1))).done

    def _whole(self, sampled: int) -> float:
        """What the whole picture costs where the strips cost so much."""
        share: float = self.height / self._strips.height
        return sampled * share

    @cached_property
    def _edges(self) -> tuple[Image.Image, Image.Image]:
        """The steps of the sampled rows in brightness, and in colour."""
        light, blue, red = _steps(self._rows.convert("YCbCr")).split()
        return light, _largest_of(blue, red)

    @cached_property
    def _rows(self) -> Image.Image:
        """Every sixteenth row, from the middle of each sixteen."""
        from PIL import Image

        data = self._sample(1, min(ROW_STEP, self.height))
        size = self.width, len(data) // (self.width * self.bands)
        mode = "RGB" if self.bands == 3 else "L"
        return Image.frombuffer(mode, size, data, "raw", mode, 0, 1)

    @cached_property
    def _strips(self) -> pyvips.Image:
        """Every sixteenth strip of sixteen rows; all of a picture that is too low for that."""
        import pyvips

        step = STRIP_PX * ROW_STEP
        if self.height < step:
            return self.picture
        data = self._sample(STRIP_PX, step)
        strips = pyvips.Image.new_from_memory(data, self.width, len(data) // (self.width * self.bands), self.bands, "uchar")
        return strips.copy(interpretation=self.picture.interpretation)

    def _sample(self, rows: int, step: int) -> bytes:
        """So many rows out of the middle of each `step`."""
        import pyvips

        fetch, width = pyvips.Region.new(self.picture).fetch, self.width
        return b"".join([fetch(0, top, width, rows) for top in range((step - rows) // 2, self.height - rows + 1, step)])


def _steps(rows: Image.Image) -> Image.Image:
    """How far each pixel is from its left neighbour, per band."""
    from PIL import ImageChops

    width, height = rows.size
    return ImageChops.difference(rows.crop((1, 0, width, height)), rows.crop((0, 0, width - 1, height)))


def _largest(image: Image.Image) -> Image.Image:
    """The largest of the bands, pixel by pixel."""
    return _largest_of(*image.split())


def _largest_of(first: Image.Image, *others: Image.Image) -> Image.Image:
    from PIL import ImageChops

    for other in others:
        first = ImageChops.lighter(first, other)
    return first


def _share_above(level: int, image: Image.Image) -> float:
    """The share of the pixels of one band above a level."""
    counts = image.histogram()
    return sum(counts[level + 1 :]) / sum(counts)
