"""Which formats really come out as pictures, and whether text in SVG shows.

Everything here runs in a process of its own: a codec may crash, and a process that has decoded must not fork.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from pixlane.doctor.check import Check
from pixlane.embedded.python import module_command, module_environment

PROBE_TIMEOUT_S = 30.0  # for one picture; the first one loads the engines
FONT_LIST_TIMEOUT_S = 10.0
FONT_FOLDERS = {
    "darwin": ("/System/Library/Fonts", "/Library/Fonts", "~/Library/Fonts"),
    "win32": (r"C:\Windows\Fonts",),
}
OTHER_FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")
FONT_SUFFIXES = {".ttf", ".otf", ".ttc", ".otc", ".pfb"}
FONT_ADVICE = (
    "install a font family, for example: apt-get install fonts-dejavu-core, dnf install dejavu-sans-fonts, apk add font-dejavu"
)

# What stands in for an engine that is missing; without an entry the formats that it reads are lost, and say so themselves.
ENGINE_ADVICE = {
    "libvips": "pip install pyvips-binary; Pillow stands in and takes several times as long",
    "avif plugin": "pip install pillow-avif-plugin; still AVIF pictures are read without it",
    "resvg": "pip install resvg-py; CairoSVG stands in and draws fewer documents right",
    "cairosvg": "apt-get install libcairo2, or brew install cairo; it is the spare for documents that resvg cannot draw",
}


def examine() -> Iterator[Check]:
    fonts = _font_count()
    for answer in answers(module_command("pixlane.doctor.probe")):
        yield _text(answer, fonts) if answer["name"] == "text" else _picture(answer)


def _picture(answer: dict[str, Any]) -> Check:
    area, name, found = answer["area"], answer["name"], answer["found"]
    if answer["ok"]:
        return Check(area, name, "ok", found)
    if name in ENGINE_ADVICE:
        return Check(area, name, "warn", found, ENGINE_ADVICE[name])
    return Check(area, name, "fail", found, "install pixlane's packages again, in the versions above; if it stays, report it")


def _text(answer: dict[str, Any], fonts: str) -> Check:
    if not answer["ok"]:
        return Check("fonts", "text in SVG", "fail", answer["found"], "see the codec svg")
    if answer["found"] == "blank":
        return Check("fonts", "text in SVG", "warn", f"text in SVG will be blank; {fonts}", FONT_ADVICE)
    return Check("fonts", "text in SVG", "ok", f"it shows; {fonts}")


def answers(command: Sequence[str], timeout_s: float = PROBE_TIMEOUT_S) -> Iterator[dict[str, Any]]:
    """What a probe prints, see `probe.py`; where it dies or hangs, that picture failed and another process goes on after it.

    `command` takes the names of the pictures that it is to leave out.
    """
    begun: list[str] = []
    while True:
        running = {"area": "codecs", "name": "probe"}
        for line in _lines([*command, *begun], timeout_s):
            if line is None:
                yield running | {"ok": False, "found": f"no picture within {timeout_s:g} s"}
                break
            if line.startswith("exit "):
                if line == "exit 0":
                    return
                yield running | {"ok": False, "found": f"the process ended with {line.removeprefix('exit ')}"}
                break
            if not line.startswith("{"):  # an engine's own words
                continue
            answer = json.loads(line)
            if "ok" in answer:
                yield answer
            else:
                running = answer
                begun.append(answer["name"])
        if running["name"] == "probe":  # it did not come as far as its first picture
            return


def _lines(command: Sequence[str], timeout_s: float) -> Iterator[str | None]:
    """The lines of one process as they come, `exit <code or signal>` last; None when nothing came in time."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=module_environment(os.environ),
        text=True,
    )
    assert process.stdout is not None
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    reader = threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True)
    reader.start()
    try:
        while line := lines.get(timeout=timeout_s):
            yield line.strip()
        code = process.wait()
        yield f"exit {code}" if code >= 0 else f"exit signal {-code}"
    except queue.Empty:
        yield None
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()


def _pump(stream: IO[str], lines: queue.SimpleQueue[str]) -> None:
    """Each line, and an empty one at the end."""
    for line in stream:
        lines.put(line)
    lines.put("")


def _font_count() -> str:
    """How many fonts fontconfig knows, or how many files lie in the usual folders."""
    program = shutil.which("fc-list")
    if program is not None:
        try:
            run = subprocess.run(
                [program, ":", "family"], capture_output=True, text=True, timeout=FONT_LIST_TIMEOUT_S, check=True
            )
        except (OSError, subprocess.SubprocessError):
            pass
        else:
            return f"fontconfig lists {len(set(run.stdout.splitlines()))} families"
    folders = FONT_FOLDERS.get(sys.platform, OTHER_FONT_FOLDERS)
    files = [path for folder in folders for path in Path(folder).expanduser().rglob("*") if path.suffix.lower() in FONT_SUFFIXES]
    return f"{len(files)} font files in {', '.join(folders)}"
