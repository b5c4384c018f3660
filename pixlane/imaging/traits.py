"""What a picture is like, judged on a sixteenth of its rows: drawn or photographed, coloured text, how large as JPEG."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyvips

ROW_STEP = 16  # one row of so many is looked at
STRIP_PX = 16  # rows of a strip of the sample: whole JPEG blocks with subsampled colour, whole lines of text
DRAWN_FLAT_SHARE = 0.5  # of the pixels equal the left neighbour exactly: photographs 0.02 to 0.48, screenshots 0.53 to 0.98
BYTES_PER_EDGE = 0.65  # of a lossless coding per pixel that differs from its neighbour: 1.2 to 3.2 on real screenshots
SAMPLE_EXCESS = 4.0  # what strips may cost more than their share of the whole: 0.7 to 3.7 times, most for the smallest files
EDGE_LEVELS = 40  # a step in Cb or Cr that 4:2:0 visibly smears
EDGE_SHARE = 0.002  # of the pixels with such a step: coloured text or lines
PALETTE_LEVELS = 16  # what a palette may be off by ...
PALETTE_SHARE = 0.01  # ... at this share of the pixels: JPEG at quality 70 is off by as much

# Rows of ITU-R BT.601: the two colour differences of JPEG, of a difference of two RGB pixels.
CB_CR = [[-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]]


@dataclass(frozen=True)
class Traits:
    """Judgements on one picture, 8-bit grey or RGB in memory; each is made when it is first asked for and deterministic."""

    picture: pyvips.Image

    @cached_property
    def _rows(self) -> pyvips.Image:
        top = min(ROW_STEP // 2, self.picture.height - 1)
        rows = self.picture.crop(0, top, self.picture.width, self.picture.height - top)
        return rows.subsample(1, min(ROW_STEP, rows.height)).copy_memory()

    @cached_property
    def _steps(self) -> tuple[pyvips.Image, pyvips.Image]:
        """The sampled rows without their first pixel, and without their last: neighbours lie upon one another."""
        rows, width = self._rows, self._rows.width
        return rows.crop(1, 0, width - 1, rows.height), rows.crop(0, 0, width - 1, rows.height)

    @cached_property
    def flat_share(self) -> float:
        """Share of pixels that equal their left neighbour in every band."""
        if self.picture.width < 2:
            return 1.0
        right, left = self._steps
        return float((right == left).bandand().avg()) / 255

    @cached_property
    def drawn(self) -> bool:
        """A screenshot, text or line art, rather than a photograph."""
        return self.flat_share >= DRAWN_FLAT_SHARE

    def may_fit_lossless(self, limit: int | None) -> bool:
        """Whether a lossless coding is worth offering: drawn, and with few edges or a small sample for that many bytes."""
        if limit is None or not self.drawn:
            return self.drawn
        edges = (1 - self.flat_share) * self.picture.width * self.picture.height
        return edges * BYTES_PER_EDGE <= limit or self._whole(self._lossless_sample) <= limit * SAMPLE_EXCESS

    @cached_property
    def palette_bytes(self) -> float:
        """About how many bytes 256 colours take, too many rather than too few; infinite where they do not look the same."""
        size, close = self._palette_sample if self.drawn else (0, False)
        return self._whole(size) if close else float("inf")

    @cached_property
    def coloured_edges(self) -> bool:
        """Coloured text or lines that 4:2:0 would smear."""
        if self.picture.bands != 3 or not self.drawn or self.picture.width < 2:
            return False
        right, left = self._steps
        steps = (right - left).recomb(CB_CR).abs()
        return float((steps > EDGE_LEVELS).bandor().avg()) / 255 >= EDGE_SHARE

    @cached_property
    def _lossless_sample(self) -> int:
        from pixlane.imaging import encode

        return encode.png(self._strips, None).byte_count

    @cached_property
    def _palette_sample(self) -> tuple[int, bool]:
        """Bytes of the strips with 256 colours, and whether they look all but unchanged."""
        import pyvips

        from pixlane.imaging import encode

        outcome = encode.palette(self._strips, None)
        reduced = pyvips.Image.new_from_buffer(outcome.data, "")
        if reduced.bands != self._strips.bands:
            return outcome.byte_count, True  # the coder found nothing but greys
        off = ((self._strips - reduced).abs() > PALETTE_LEVELS).bandor()
        return outcome.byte_count, float(off.avg()) / 255 <= PALETTE_SHARE

    @cached_property
    def few_colours(self) -> bool:
        """Whether the sampled rows have at most 256 colours."""
        from pixlane.imaging import encode

        return encode.colours(self._rows) is not None

    def jpeg_bytes(self, quality: int, full_chroma: bool) -> float:
        """About how many bytes a JPEG has, from strips of a sixteenth of the rows; within 10 % for most pictures."""
        from pixlane.imaging import encode

        return self._whole(encode.jpeg(self._strips, None, quality, full_chroma).byte_count)

    def _whole(self, sampled: int) -> float:
        """What the whole picture costs where the strips cost so much."""
        share: float = self.picture.height / self._strips.height
        return sampled * share

    @cached_property
    def _strips(self) -> pyvips.Image:
        import pyvips

        step = STRIP_PX * ROW_STEP
        tops = range((self.picture.height % step) // 2, self.picture.height - STRIP_PX + 1, step)
        strips = [self.picture.crop(0, top, self.picture.width, STRIP_PX) for top in tops]
        return pyvips.Image.arrayjoin(strips, across=1).copy_memory() if strips else self.picture
