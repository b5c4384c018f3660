"""Numbers to 8-bit sRGB: depth, profiles, ink, Lab, high dynamic range.

Decided outcomes:
- 16 bits become their upper byte. Signed, 32-bit and float numbers are scaled by the range that is really there, float within
  0 .. 1 by 255; NaN is black, infinity the end of the range.
- Ink (CMYK) with a profile goes through it, perceptually; without one, or with one that is broken, each ink is taken off white
  as browsers do it.
- A broken profile leaves the numbers as they are, with a note.
- PQ and HLG: 203 cd/m2 (ITU-R BT.2408) is taken for white, what is brighter than three quarters of it is rolled off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pixlane.imaging import icc
from pixlane.imaging.work import Work

if TYPE_CHECKING:
    import numpy as np
    import pyvips

PROFILE_FIELD = "icc-profile-data"
REFERENCE_WHITE_NITS = 203.0
HLG_PEAK_NITS = 1000.0
ROLL_OFF = 0.75  # of the reference white
LAB = ("lab", "labs")


@dataclass(frozen=True)
class Colour:
    """How the numbers of a source become sRGB.

    Attributes:
        profile: the ICC profile to convert from, embedded or made from what the header says; None: sRGB, or unknown.
        origin: where the profile came from, in the words of the note.
        broken: the source has a profile that cannot be used.
        deep: 16 bits are needed until the conversion.
        hdr: "pq" or "hlg"; "" for standard dynamic range.
        primaries: of a high dynamic range source.
    """

    profile: bytes | None = None
    origin: str = "the embedded profile"
    broken: bool = False
    deep: bool = False
    hdr: str = ""
    primaries: icc.Primaries = icc.BT2020

    @property
    def srgb(self) -> bool:
        """Whether an RGB or grey picture needs no conversion."""
        return self.profile is None and not self.hdr

    @property
    def needs_depth(self) -> bool:
        """Whether more than 8 bits are kept until `to_srgb`."""
        return self.deep or bool(self.hdr)


def from_profile(profile: bytes | None, space: str) -> Colour:
    """The colour of a source with this embedded profile; `space` is what its numbers are: "RGB", "GRAY" or "CMYK"."""
    if not profile or (space != "CMYK" and icc.is_srgb(profile)):
        return Colour()
    if icc.space(profile) != space or not icc.is_whole(profile):
        return Colour(broken=True)
    return Colour(profile=profile)


_PRIMARIES = {1: icc.SRGB, 9: icc.BT2020, 12: icc.DISPLAY_P3}
_HDR = {16: "pq", 18: "hlg"}
_GAMMAS = {4: 2.2, 5: 2.8, 8: 1.0}


def from_cicp(primaries: int, transfer: int) -> Colour:
    """The colour of coding-independent code points (ITU-T H.273); code points that are not in use here mean sRGB."""
    known = _PRIMARIES.get(primaries, icc.SRGB)
    if transfer in _HDR:
        return Colour(hdr=_HDR[transfer], primaries=known)
    gamma = _GAMMAS.get(transfer)
    if known == icc.SRGB and gamma is None:
        return Colour()
    return Colour(profile=icc.matrix_profile(known, gamma=gamma), origin=f"CICP primaries {primaries}, transfer {transfer}")


# Depth --------------------------------------------------------------------------------------------------------------------


def to_8bit(image: pyvips.Image, colour: Colour) -> pyvips.Image:
    """8 bits a channel; high dynamic range and Lab keep theirs until `to_srgb`."""
    if image.format != "ushort" or colour.needs_depth:
        return image
    space = image.interpretation if image.interpretation == "cmyk" else "srgb" if image.bands >= 3 else "b-w"
    return image.msb().copy(interpretation=space)


def scale_range(pixels: np.ndarray[Any, Any], alpha: bool) -> tuple[np.ndarray[Any, Any], float, float]:
    """Numbers of any type as 8 bits, and the range that became 0 .. 255. Alpha, the last band, has the range of its type."""
    import numpy as np

    bands = pixels[..., :-1] if alpha else pixels
    whole = np.issubdtype(pixels.dtype, np.integer)
    finite = bands if whole else bands[np.isfinite(bands)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if not whole and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    elif low == high:
        low, high = min(low, 0.0), max(high, 0.0) or 1.0
    result = _scaled(bands, low, high)
    if alpha:
        full = float(np.iinfo(pixels.dtype).max) if whole else 1.0
        result = np.concatenate([result, _scaled(pixels[..., -1:], 0.0, full)], axis=-1)
    return result, low, high


def _scaled(values: np.ndarray[Any, Any], low: float, high: float) -> np.ndarray[Any, Any]:
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (values.astype(np.float64) - low) * (255.0 / (high - low))
    clean = np.nan_to_num(scaled, nan=0.0, posinf=255.0, neginf=0.0)
    done: np.ndarray[Any, Any] = np.clip(np.rint(clean), 0, 255).astype(np.uint8)
    return done


# Space --------------------------------------------------------------------------------------------------------------------


def to_srgb(work: Work, image: pyvips.Image, colour: Colour) -> pyvips.Image:
    """8-bit sRGB or grey, an alpha band kept as the last one. Adds the notes."""
    if colour.broken:
        work.note("profile_broken", "the embedded profile cannot be used; the numbers were taken as they are")
    if image.interpretation in LAB:
        work.note("profile_converted", "Lab was converted to sRGB")
        # Lab in files is relative to D50; `colourspace` would take it for D65.
        lab = image.colourspace("lab") if image.interpretation == "labs" else image
        return lab.icc_export(output_profile="srgb", intent="relative", depth=8)
    if image.interpretation == "cmyk":
        return _ink_to_srgb(work, image, colour)
    if colour.hdr:
        work.note("tone_mapped", f"{colour.hdr.upper()} was brought to standard dynamic range")
        return _tone_map(image, colour)
    if colour.profile is None:
        return image
    converted = _through(image, colour.profile)
    if converted is None:
        work.note("profile_broken", "the embedded profile cannot be used; the numbers were taken as they are")
        return image
    work.note("profile_converted", f"colours were converted to sRGB from {colour.origin}")
    grey = image.bands < 3
    return _grey(converted) if grey else converted


def _ink_to_srgb(work: Work, image: pyvips.Image, colour: Colour) -> pyvips.Image:
    converted = _through(image, colour.profile) if colour.profile else None
    if colour.profile and converted is None:
        work.note("profile_broken", "the embedded profile cannot be used; the inks were taken as they are")
    if converted is not None:
        work.note("cmyk_converted", "CMYK was converted to sRGB through its profile")
        return converted
    work.note("cmyk_converted", "CMYK without a usable profile was converted to sRGB, each ink taken off white")
    paper = 255 - image
    light = (paper.extract_band(0, n=3) * (paper[3] / 255)).rint().cast("uchar").copy(interpretation="srgb")
    return light.bandjoin(image.extract_band(4)) if image.bands > 4 else light


def _through(image: pyvips.Image, profile: bytes) -> pyvips.Image | None:
    """The image through the profile to sRGB; None where the profile cannot be used."""
    import pyvips

    tagged = image.copy()
    if image.bands < 3 and icc.space(profile) == "RGB":
        tagged = image[0].bandjoin([image[0], image[0], *([image[1]] if image.bands == 2 else [])])
        tagged = tagged.copy(interpretation="rgb16" if image.format == "ushort" else "srgb")
    tagged.set_type(pyvips.GValue.blob_type, PROFILE_FIELD, profile)
    try:
        return tagged.icc_transform("srgb", embedded=True, intent="perceptual", depth=8)
    except pyvips.Error:
        return None


def _grey(image: pyvips.Image) -> pyvips.Image:
    """The grey of an RGB image whose bands are equal, its alpha kept."""
    grey = image[1].copy(interpretation="b-w")
    return grey.bandjoin(image[3]) if image.bands > 3 else grey


# High dynamic range -------------------------------------------------------------------------------------------------------


def _tone_map(image: pyvips.Image, colour: Colour) -> pyvips.Image:
    import numpy as np
    import pyvips

    stored = np.asarray(image)
    depth = 65535.0 if stored.dtype == np.uint16 else 255.0
    signal = stored.astype(np.float32) / depth
    alpha = signal[..., 3:]
    bands = signal[..., :3] if signal.shape[-1] >= 3 else np.repeat(signal[..., :1], 3, axis=-1)
    light = (_pq(bands) if colour.hdr == "pq" else _hlg(bands)) / REFERENCE_WHITE_NITS
    to_srgb = icc.multiply(icc.invert(icc.rgb_to_xyz(icc.SRGB, icc.D65)), icc.rgb_to_xyz(colour.primaries, icc.D65))
    light = np.maximum(light @ np.array(to_srgb, np.float32).T, 0)
    peak = np.maximum(light.max(axis=-1, keepdims=True), 1e-6)
    rolled = ROLL_OFF + (1 - ROLL_OFF) * (1 - np.exp(-(peak - ROLL_OFF) / (1 - ROLL_OFF)))
    light = light * np.where(peak > ROLL_OFF, rolled / peak, 1)
    encoded = np.where(light <= 0.0031308, light * 12.92, 1.055 * np.power(np.maximum(light, 1e-9), 1 / 2.4) - 0.055)
    done = np.concatenate([encoded, alpha], axis=-1) if signal.shape[-1] == 4 else encoded
    return pyvips.Image.new_from_array(np.clip(np.rint(done * 255), 0, 255).astype(np.uint8), interpretation="srgb")


def _pq(signal: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """SMPTE ST 2084: signal 0 .. 1 to cd/m2."""
    import numpy as np

    m1, m2, c1, c2, c3 = 0.1593017578125, 78.84375, 0.8359375, 18.8515625, 18.6875
    root = np.power(signal, 1 / m2)
    light: np.ndarray[Any, Any] = 10000 * np.power(np.maximum(root - c1, 0) / (c2 - c3 * root), 1 / m1)
    return light


def _hlg(signal: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """ITU-R BT.2100 hybrid log-gamma, at a nominal peak of 1,000 cd/m2: signal 0 .. 1 to cd/m2."""
    import numpy as np

    a, b, c = 0.17883277, 0.28466892, 0.55991073
    scene = np.where(signal <= 0.5, signal**2 / 3, (np.exp((signal - c) / a) + b) / 12)
    luma = np.maximum(scene @ np.array([0.2627, 0.6780, 0.0593], np.float32), 1e-6)[..., None]
    light: np.ndarray[Any, Any] = HLG_PEAK_NITS * scene * luma**0.2
    return light
