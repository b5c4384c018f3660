"""The process that draws vectors and may die of it. Run as a script; engines are imported when first asked for.

Protocol, on stdin and on what was stdout: 4 bytes length of a JSON header, the header, then `payload_bytes` bytes.
Nothing of pixlane is imported here.
Asked: {"op": "svg", "engine", "width", "height", ...} with the markup, or {"op": "pdf", "page", ...} or
{"op": "pdf_text", "first", "last", "max_characters"} with the document.
Answered: {"ok": true, ...} with a PNG or raw pixels, or {"ok": false, "code", "message"}.
The process ends when stdin does; while an engine runs, an alarm that nothing can delay ends it with its job.
"""

from __future__ import annotations

import io
import json
import os
import signal
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, BinaryIO

MAX_DATA_BYTES = 1_073_741_824  # RLIMIT_DATA
MAX_LOG_BYTES = 16_384
ALARM_MARGIN_S = 1.0  # the parent kills first; the alarm is for a parent that is gone
DPI = 96.0  # CSS
LANGUAGES = ["en"]

# In order of preference. The first ones are what documents name most.
CANDIDATES = {
    "serif_family": ["Times New Roman", "Liberation Serif", "DejaVu Serif", "Noto Serif", "Times", "FreeSerif", "Tinos"],
    "sans_serif_family": ["Arial", "Liberation Sans", "DejaVu Sans", "Noto Sans", "Helvetica", "FreeSans", "Arimo", "Roboto"],
    "monospace_family": [
        "Courier New",
        "Liberation Mono",
        "DejaVu Sans Mono",
        "Noto Sans Mono",
        "Noto Mono",
        "Menlo",
        "FreeMono",
    ],
    "cursive_family": ["Comic Sans MS", "Comic Neue", "DejaVu Sans", "Liberation Sans", "Noto Sans"],
    "fantasy_family": ["Impact", "DejaVu Sans", "Liberation Sans", "Noto Sans"],
}
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts", "/Library/Fonts", "C:/Windows/Fonts")

Answer = tuple[dict[str, Any], bytes]


class Refused(Exception):
    """An engine could not; `code` is that of a PixlaneError."""

    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.code = code
        self.more = more


def main() -> None:
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # engines print
    _limit()
    asked = sys.stdin.buffer
    while header := _read(asked):
        payload = _exactly(asked, header["payload_bytes"])
        _alarm(header["seconds"] + ALARM_MARGIN_S)
        _forget_log()
        try:
            answer, content = OPERATIONS[header["op"]](header, payload)
            answer["ok"] = True
        except Refused as refusal:
            answer, content = {"ok": False, "code": refusal.code, "message": str(refusal), **refusal.more}, b""
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is its answer
            answer, content = {"ok": False, "code": "render_failed", "message": f"{type(error).__name__}: {error}"[:500]}, b""
        _alarm(0)
        answer["log"] = _log()
        _write(channel, answer, content)


def draw_svg(header: dict[str, Any], markup: bytes) -> Answer:
    """PNG of the markup at its own size, which the parent wrote into it."""
    engine = {"resvg": _resvg, "cairosvg": _cairosvg}[header["engine"]]
    return {}, engine(header, markup.decode("utf-8"))


def _resvg(header: dict[str, Any], markup: str) -> bytes:
    try:
        import resvg_py
    except ImportError as error:
        raise Refused("engine_missing", f"resvg-py is not installed: {error}") from None
    if not header["text"]:  # then no fonts have to be read
        return bytes(resvg_py.svg_to_bytes(svg_string=markup, dpi=DPI, languages=LANGUAGES, skip_system_fonts=True))
    folders = tuple(header["font_dirs"])
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=markup,
            dpi=DPI,
            languages=LANGUAGES,
            font_dirs=list(folders) or None,
            log_information=True,
            **_families(folders),
        )
    )


@cache
def _families(folders: tuple[str, ...]) -> dict[str, Any]:
    """Installed families for the generic ones: resvg draws nothing where its own choice for `serif` is not there.

    Which candidates are installed is asked of resvg itself: it complains of each that it does not find.
    """
    import resvg_py

    names = sorted({name for candidates in CANDIDATES.values() for name in candidates})
    texts = "".join(f'<text y="9" font-family="{name}">a</text>' for name in names)
    probe = f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{texts}</svg>'
    nowhere = "no such family"  # else the fallback is found and nothing is said
    _forget_log()
    resvg_py.svg_to_bytes(
        svg_string=probe, serif_family=nowhere, font_family=nowhere, font_dirs=list(folders) or None, log_information=True
    )
    complaints = _log()
    _forget_log()
    missing = {name for name in names if f'"{name}"' in complaints}
    found = {generic: [name for name in candidates if name not in missing] for generic, candidates in CANDIDATES.items()}
    any_one = next((names[0] for names in found.values() if names), None) or _some_family(folders)
    families = {generic: names[0] if names else any_one for generic, names in found.items()}
    families["font_family"] = families["serif_family"]  # what browsers take where nothing is said
    return {generic: name for generic, name in families.items() if name}


def _some_family(folders: tuple[str, ...]) -> str | None:
    """The family of the first font file that can be read."""
    from PIL import ImageFont

    home = os.path.expanduser("~")
    for folder in (*folders, *FONT_FOLDERS, f"{home}/.fonts", f"{home}/.local/share/fonts", f"{home}/Library/Fonts"):
        for place, _, files in os.walk(folder):
            for file in sorted(files):
                if file.lower().endswith((".ttf", ".otf", ".ttc")):
                    try:
                        return ImageFont.truetype(os.path.join(place, file)).getname()[0]
                    except OSError:
                        continue
    return None


def _cairosvg(header: dict[str, Any], markup: str) -> bytes:
    try:
        import cairosvg
    except (ImportError, OSError) as error:  # OSError: the system's libcairo is not there
        raise Refused("engine_missing", f"CairoSVG is not installed: {error}") from None

    return bytes(
        cairosvg.svg2png(
            bytestring=markup.encode("utf-8"),
            dpi=DPI,
            unsafe=False,  # fetches data: references only, refuses entities
            output_width=header["width"],
            output_height=header["height"],
        )
    )


def open_pdf(header: dict[str, Any], data: bytes) -> Answer:
    """How many pages there are, and the size of one in points; 0 x 0 where its own MediaBox is empty (PDFium shows a Letter)."""
    with _document(data) as document:
        count = len(document)
        if not header["page"] < count:
            return {"pages": count}, b""
        width, height = document.get_page_size(header["page"])
        box = document[header["page"]].get_mediabox(fallback_ok=False)
        if box is not None and (box[0] == box[2] or box[1] == box[3]):
            width = height = 0.0
        return {"pages": count, "width": width, "height": height}, b""


def read_pdf(header: dict[str, Any], data: bytes) -> Answer:
    """The text of the pages from `first` to before `last`, as JSON: a list with a text for each, together so many characters."""
    with _document(data) as document:
        texts, left = [], header["max_characters"]
        for number in range(header["first"], min(header["last"], len(document))):
            text = document[number].get_textpage().get_text_range()
            texts.append(text[:left])
            left -= len(text)
            if left <= 0:
                break
        return {"pages": len(document), "cut": left < 0}, json.dumps(texts).encode()


def draw_pdf(header: dict[str, Any], data: bytes) -> Answer:
    """A page as raw RGB on white at exactly width x height, with its forms and annotations."""
    with _document(data) as document:
        import pypdfium2.raw as raw
        from pypdfium2 import PdfBitmap

        document.init_forms()
        page = document[header["page"]]
        width, height = header["width"], header["height"]
        bitmap = PdfBitmap.new_native(width, height, raw.FPDFBitmap_BGR, rev_byteorder=True)
        bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
        place = (bitmap, page, 0, 0, width, height, 0, raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER)
        raw.FPDF_RenderPageBitmap(*place)
        if document.formenv is not None:
            raw.FPDF_FFLDraw(document.formenv, *place)
        row = width * 3
        pixels = bytes(bitmap.buffer)
        if bitmap.stride != row:
            pixels = b"".join(pixels[line * bitmap.stride : line * bitmap.stride + row] for line in range(height))
        return {"width": width, "height": height, "bands": 3}, pixels


def _document(data: bytes) -> Any:
    try:
        import pypdfium2
        import pypdfium2.raw as raw
    except ImportError as error:
        raise Refused("engine_missing", f"pypdfium2 is not installed: {error}") from None
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        # PDFium may repeat its last error for another document; /Encrypt is never compressed (PDF 1.7, 7.5.5).
        wanted = getattr(error, "err_code", None) in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY) and b"/Encrypt" in data
        if wanted:
            raise Refused("encrypted_input", "the PDF wants a password") from None
        raise Refused("corrupt_input", "the PDF is damaged, or has no pages") from None


OPERATIONS: dict[str, Callable[[dict[str, Any], bytes], Answer]] = {
    "svg": draw_svg,
    "pdf_open": open_pdf,
    "pdf": draw_pdf,
    "pdf_text": read_pdf,
}


def _limit() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it closes stdin
    try:
        import resource
    except ImportError:
        return  # Windows has none of this
    for kind, value in ((resource.RLIMIT_DATA, MAX_DATA_BYTES), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)  # its default action ends the process, whoever holds the interpreter


def _forget_log() -> None:
    try:
        os.lseek(2, 0, os.SEEK_SET)
        os.ftruncate(2, 0)
    except OSError:
        return  # stderr is no file: run by hand


def _log() -> str:
    """What the engine printed: stderr is a file that the parent opened."""
    sys.stderr.flush()
    try:
        return os.pread(2, MAX_LOG_BYTES, 0).decode("utf-8", "replace")
    except (OSError, AttributeError):
        return ""


def _read(stream: BinaryIO) -> dict[str, Any] | None:
    prefix = stream.read(4)
    if len(prefix) < 4:
        return None
    header: dict[str, Any] = json.loads(_exactly(stream, struct.unpack(">I", prefix)[0]))
    return header


def _exactly(stream: BinaryIO, count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise SystemExit(0)  # the parent is gone
    return content


def _write(stream: io.BufferedWriter, header: dict[str, Any], payload: bytes) -> None:
    line = json.dumps({**header, "payload_bytes": len(payload)}).encode("utf-8")
    stream.write(struct.pack(">I", len(line)) + line)
    stream.write(payload)
    stream.flush()


if __name__ == "__main__":
    main()
