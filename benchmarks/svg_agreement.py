"""How often an SVG looks as its reference picture says: `python -m benchmarks.svg_agreement DIR`.

DIR holds `name.svg` beside `name.png`, and may hold `fonts/`. Each SVG goes through the sanitizer and the draw process, at the
size of its reference. A picture agrees when under 1 % of its pixels differ by more than 64 levels on white. A file that
names a local file cannot agree, as that reference is removed; it is counted apart.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from pixlane import formats, settings
from pixlane.errors import PixlaneError
from pixlane.imaging import decoders
from pixlane.imaging.deadline import Deadline
from pixlane.imaging.work import Work
from pixlane.recipe import Recipe, Region

MAX_LEVELS = 64
MAX_PART = 0.01


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.svg_agreement", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fonts", type=Path, help="folder of the fonts that the references were drawn with; default DIR/fonts")
    parser.add_argument("--save", type=Path, help="write the pictures that disagree here, beside their references")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    fonts = asked.fonts or asked.folder / "fonts"
    limits = replace(settings.Limits.of(settings.current()), svg_font_dirs=str(fonts) if fonts.is_dir() else "")
    verdicts: dict[str, list[str]] = {"agrees": [], "differs": [], "error": [], "names a local file": []}
    for source in sorted(asked.folder.glob("*.svg")):
        verdict, said = judge(source, limits, asked.save)
        verdicts[verdict].append(f"{source.stem}: {said}")
    counted = sum(len(names) for verdict, names in verdicts.items() if verdict != "names a local file")
    part = len(verdicts["agrees"]) / max(1, counted)
    if asked.json:
        print(
            json.dumps(
                {"part": round(part, 4), **{verdict: len(names) for verdict, names in verdicts.items()}, "files": verdicts}
            )
        )
    else:
        for verdict in ("differs", "error", "names a local file"):
            print(*(f"{verdict}: {line}" for line in verdicts[verdict]), sep="\n", end="\n" if verdicts[verdict] else "")
        print(
            f"{len(verdicts['agrees'])} of {counted} agree: {part:.1%}; {len(verdicts['names a local file'])} name a local file"
        )
    return 0


def judge(source: Path, limits: settings.Limits, save: Path | None) -> tuple[str, str]:
    """The verdict on one file and the reason."""
    import numpy as np
    import pyvips

    reference = pyvips.Image.new_from_file(str(source.with_suffix(".png"))).flatten(background=255).colourspace("srgb")
    work = start(source, limits, max(reference.width, reference.height))
    try:
        work.opened = decoders.open_source(work)
        facts = work.opened.facts
        image = work.opened.draw(Region(0, 0, facts.width, facts.height), reference.width, reference.height)
    except PixlaneError as error:
        return "error", f"{error.code}: {error.message}"
    codes = ", ".join(note.code for note in work.notes if note.code not in ("vector_scaled", "alpha_flattened"))
    if image.bands == 1:
        image = image.colourspace("srgb")
    apart = np.abs(np.asarray(image).astype(int) - np.asarray(reference).astype(int)).max(axis=2) > MAX_LEVELS
    if apart.mean() < MAX_PART:
        return "agrees", codes
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        reference.join(image, "horizontal", shim=8, background=128).pngsave(str(save / f"{source.stem}.png"))
    local = any(note.code == "svg_reference_removed" for note in work.notes)
    return "names a local file" if local else "differs", f"{apart.mean():.1%} of the pixels {codes}".rstrip()


def start(source: Path, limits: settings.Limits, side: int) -> Work:
    data: bytes = source.read_bytes()
    work = Work(data, Recipe(max_side=side, background="white"), limits, Deadline(limits.soft_timeout_s), source_bytes=len(data))
    found: Any = formats.detect(data)
    work.detected = found.format
    return work


if __name__ == "__main__":
    sys.exit(main())
