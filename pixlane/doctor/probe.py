"""`python -P -m pixlane.doctor.probe [SKIP ...]`: tries engines and formats, and prints two lines of JSON for each.

`{"area", "name"}` before it begins, so that the parent knows what it died of, then the same with `ok` and `found`.
`samples.json` holds one picture of each format in base64: 16 x 16 px (ICNS 32 x 32), left half orange, right half blue. They
were made with Pillow, pillow-heif and by hand, so that reading does not depend on what this machine can write.
"""

from __future__ import annotations

import base64
import io
import json
import sys
from collections.abc import Callable
from importlib import resources
from typing import Any

LEFT, RIGHT = (200, 80, 40), (40, 80, 200)
TOLERANCE = 24  # per channel; the lossy ones smear a little
TEXT = b'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="60"><text x="10" y="45" font-size="40">Text</text></svg>'
BLANK_WIDTH = 8  # fewer levels between the darkest and the lightest than that is a blank picture


def main(skip: list[str]) -> None:
    probes: list[tuple[str, str, Callable[[], str]]] = [("engines", name, probe) for name, probe in ENGINES.items()]
    probes += [("codecs", name, lambda data=data: _decode(data)) for name, data in samples().items()]  # type: ignore[misc]
    probes.append(("fonts", "text", _draw_text))
    for area, name, probe in probes:
        if name in skip:
            continue
        _print(area=area, name=name)
        try:
            found = probe()
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is the finding
            _print(area=area, name=name, ok=False, found=f"{type(error).__name__}: {error}")
        else:
            _print(area=area, name=name, ok=True, found=found)


def samples() -> dict[str, bytes]:
    text = resources.files("pixlane.doctor").joinpath("samples.json").read_text()
    return {name: base64.b64decode(data) for name, data in json.loads(text).items()}


def _print(**answer: Any) -> None:
    print(json.dumps(answer), flush=True)


def _decode(data: bytes) -> str:
    """The way that every picture takes; then the colours are compared."""
    from PIL import Image

    from pixlane import Recipe, normalize

    rendition = normalize(data, Recipe())
    picture = Image.open(io.BytesIO(rendition.data), formats=["PNG", "JPEG", "GIF", "WEBP"]).convert("RGB")
    seen = [picture.getpixel((picture.width * part // 4, picture.height // 2)) for part in (1, 3)]
    for pixel, wanted in zip(seen, (LEFT, RIGHT), strict=True):
        if not isinstance(pixel, tuple) or max(abs(a - b) for a, b in zip(pixel, wanted, strict=True)) > TOLERANCE:
            raise ValueError(f"the colours are {seen}, not {[LEFT, RIGHT]}")
    return f"decoded, {rendition.source.mime}"


def _draw_text() -> str:
    from PIL import Image

    from pixlane import Recipe, normalize

    rendition = normalize(TEXT, Recipe(background="white"))
    levels = Image.open(io.BytesIO(rendition.data), formats=["PNG", "JPEG", "WEBP"]).convert("L").tobytes()
    return "blank" if max(levels) - min(levels) < BLANK_WIDTH else "shows"


def _libvips() -> str:
    import pyvips

    return f"libvips {'.'.join(str(pyvips.version(part)) for part in range(3))}"


def _pillow() -> str:
    from PIL import __version__, features

    return f"Pillow {__version__}, JPEG 2000 {'yes' if features.check('jpg_2000') else 'no'}"


def _libheif() -> str:
    import pillow_heif

    return f"libheif {pillow_heif.libheif_version()}"


def _avif_plugin() -> str:
    import pillow_avif

    return f"pillow-avif-plugin {pillow_avif.__version__}"


def _resvg() -> str:
    import resvg_py

    return _drawn(bytes(resvg_py.svg_to_bytes(svg_string=samples()["svg"].decode())))


def _cairosvg() -> str:
    import cairosvg

    return _drawn(cairosvg.svg2png(samples()["svg"]))


def _pdfium() -> str:
    import pypdfium2

    document = pypdfium2.PdfDocument(samples()["pdf"])
    return f"draws a page of {document[0].get_size()[0]:g} pt"


def _drawn(png: bytes) -> str:
    from PIL import Image

    picture = Image.open(io.BytesIO(png), formats=["PNG"])
    return f"draws {picture.width} x {picture.height} px"


ENGINES: dict[str, Callable[[], str]] = {
    "libvips": _libvips,
    "pillow": _pillow,
    "libheif": _libheif,
    "avif plugin": _avif_plugin,
    "resvg": _resvg,
    "cairosvg": _cairosvg,
    "pdfium": _pdfium,
}

if __name__ == "__main__":
    main(sys.argv[1:])
