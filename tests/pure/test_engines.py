"""Every engine that is named is used: where the preferred one is missing the same picture still comes out."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from pixlane import Recipe, normalize
from pixlane.errors import EngineAfterFork, EngineMissing, PixlaneError
from pixlane.imaging import decoders, pipeline
from tests.pure import make


def block(monkeypatch: pytest.MonkeyPatch, *engines: str) -> None:
    for engine in engines:
        monkeypatch.setitem(decoders.OPENERS, engine, "tests.pure.make:missing")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "AVIF"])
def test_pillow_decodes_where_libvips_is_missing(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make.array(make.smooth(), form)
    by_vips = make.seen(data)
    block(monkeypatch, "vips", "avif")
    assert np.abs(make.seen(data) - by_vips).mean() < 2  # engines differ in how they enlarge the colour planes


def test_the_avif_plugin_decodes_where_libvips_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make.array(make.smooth(), "AVIF", quality=95)
    by_vips = make.seen(data)
    block(monkeypatch, "vips", "pillow")
    work = pipeline.start(data, Recipe(), name=None, declared_type=None, limits=None)
    for step in pipeline.STEPS:
        step(work)
    assert type(work.opened.image).__module__.startswith("pillow_avif")  # type: ignore[union-attr]
    assert np.abs(make.seen(data) - by_vips).mean() < 2  # engines differ in how they enlarge the colour planes


@pytest.mark.parametrize("form", ["BMP", "ICO", "PPM", "TGA", "PCX", "QOI", "SGI", "DDS", "JPEG2000"])
def test_pillow_decodes_what_libvips_does_not_read(form: str) -> None:
    found = make.seen(make.array(make.smooth(), form), name=f"a.{form.lower()}")
    assert np.abs(found - make.smooth()).max() <= 3


def test_pillow_heif_decodes_heic() -> None:
    import pillow_heif

    pillow_heif.register_heif_opener()
    found = make.seen(make.array(make.smooth(), "HEIF", quality=95))
    assert np.abs(found - make.smooth()).mean() < 4


def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    block(monkeypatch, "vips", "pillow")
    with pytest.raises(EngineMissing):
        normalize(make.flat(make.RED))


CHILD = """
import os, sys
from pixlane import normalize
from pixlane.errors import EngineAfterFork
data = open(sys.argv[1], "rb").read()
normalize(data)
child = os.fork()
if child == 0:
    try:
        normalize(data)
    except EngineAfterFork as error:
        os._exit(7 if "fork" in str(error) else 8)
    os._exit(9)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on Windows")
def test_after_a_fork_a_sentence_comes_and_no_hang(tmp_path: object) -> None:
    path = f"{tmp_path}/picture.png"
    with open(path, "wb") as file:
        file.write(make.array(make.noise(2000, 100)))
    done = subprocess.run([sys.executable, "-c", CHILD, path], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "7"
    assert issubclass(EngineAfterFork, PixlaneError)
