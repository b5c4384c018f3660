"""The benchmark runs on a small made file and says what it is asked; no time is asserted."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path

import pytest
from PIL import ExifTags, Image, ImageCms, ImageOps

from benchmarks import batch, corpus, eye, link, scale
from benchmarks.__main__ import main
from benchmarks.clock import geometric_mean
from benchmarks.peers import pillow
from benchmarks.peers.sharp import Sharp, SharpMissing
from benchmarks.readability import plain, ssim
from benchmarks.speed import ratios
from benchmarks.stages import STAGES
from benchmarks.task import Task, data_url


@pytest.fixture
def screen(tmp_path: Path) -> Path:
    [path] = corpus.make(tmp_path / "in", scale=0.2, only={"photo-phone.jpg"})
    return path


def test_a_run_gives_a_row_a_file_with_every_peer_and_both_limits(
    screen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result.json"
    assert main(["speed", str(screen.parent), "--runs", "1", "--peers", "pillow", "--json", str(out)]) == 0

    speed = json.loads(out.read_text())["speed"]
    [row] = speed["files"]
    assert row["file"] == screen.name
    assert {"pixlane", "pillow", "decode", "floor", "floor_decode", "floor_resize", "floor_encode"} <= set(row["ms"])
    assert all(set(one) == {"wall", "cpu"} for one in row["ms"].values())
    assert set(speed["ratios"]) == {"pillow/pixlane", "pixlane/decode", "pixlane/floor"}
    assert "geometric means" in capsys.readouterr().out


def test_the_stages_of_a_picture_add_up_to_its_whole_time(screen: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    assert main(["stages", str(screen.parent), "--runs", "1", "--peers", "", "--json", str(out)]) == 0
    stages = json.loads(out.read_text())["stages"]
    [row] = stages["files"]
    assert sum(row["ms"][name] for name in STAGES) == pytest.approx(row["ms"]["pixlane"], abs=0.1)
    assert min(row["ms"][name] for name in ("header", "pixels", "encode", "rest", "floor")) > 0
    assert stages["means"]["pixlane/floor"] > 0


def test_the_made_corpus_is_the_same_each_time(tmp_path: Path) -> None:
    first = corpus.make(tmp_path / "a", scale=0.05)
    second = corpus.make(tmp_path / "b", scale=0.05)
    assert len(first) == len(corpus.MADE)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert corpus.listed([tmp_path / "a"]) == sorted(first)


def test_pillow_does_the_task_upright_inside_the_ceiling_and_the_budget(screen: Path) -> None:
    task = Task(ceiling=300, budget=65_536)
    outcome = pillow.ladder(screen.read_bytes(), task)
    assert (outcome.width, outcome.height) == (225, 300)  # stored as 806x604, turned by EXIF
    assert len(data_url("image/jpeg", outcome.data)) <= task.budget


@pytest.mark.parametrize("orientation", range(1, 9))
def test_pillow_turns_every_picture_with_a_profile_upright(orientation: int) -> None:
    stored = Image.new("RGB", (80, 40), "white")
    stored.paste("red", (0, 0, 20, 20))
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    out = io.BytesIO()
    stored.save(out, "JPEG", exif=exif, icc_profile=ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    upright = ImageOps.exif_transpose(stored if orientation == 1 else Image.open(io.BytesIO(out.getvalue())))
    got = pillow.load(out.getvalue(), Task())
    assert got.size == upright.size
    assert ssim(got, upright) > 0.9


def test_pillow_spends_the_qualities_before_it_halves(screen: Path) -> None:
    roomy = pillow.ladder(screen.read_bytes(), Task(ceiling=400))
    tight = pillow.ladder(screen.read_bytes(), Task(ceiling=400, budget=len(data_url("image/jpeg", roomy.data)) - 1))
    assert roomy.quality == 85
    assert (tight.width, tight.quality) == (roomy.width, 70)


def test_the_plain_ladder_keeps_a_png_a_png_and_halves_it(tmp_path: Path) -> None:
    [path] = corpus.make(tmp_path, scale=0.5, only={"screen-page.png"})
    outcome = plain(path.read_bytes(), Task(budget=65_536))
    assert outcome.encoder == "png"
    assert outcome.width < 720


def test_ssim_is_one_for_the_same_picture_and_less_for_a_changed_one() -> None:
    picture = Image.fromarray(corpus.noise(64, 64, 3))
    assert ssim(picture, picture) == pytest.approx(1)
    assert ssim(picture, picture.resize((16, 16)).resize((64, 64))) < 0.95


def test_ratios_are_geometric_means_over_the_files() -> None:
    files = [
        {"ms": {"pixlane": {"wall": 1}, "other": {"wall": 2}, "floor": {"wall": 1}}},
        {"ms": {"pixlane": {"wall": 1}, "other": {"wall": 8}, "floor": {"wall": 0.5}}},
    ]
    assert ratios(files, ["other"], "wall") == {"other/pixlane": 4, "pixlane/decode": None, "pixlane/floor": 1.414}
    assert geometric_mean([]) is None


def test_tiny_files_are_pictures_and_no_two_are_alike() -> None:
    made = [batch.tiny_png(number) for number in (0, 1, 255, 256, 70_000)]
    assert len(set(made)) == len(made)
    assert all(Image.open(io.BytesIO(data)).convert("RGB").size == (8, 8) for data in made)


def test_without_sharp_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NODE_PATH", raising=False)
    with pytest.raises(SharpMissing, match="npm install sharp"):
        Sharp()


def test_a_word_counts_as_often_as_at_most_sizes_and_is_found_inside_another_only_where_that_is_asked() -> None:
    wanted = eye.reference(
        Counter({(1, "save"): 2, (2, "save"): 1, (3, "save"): 1, (1, "chance"): 1, (2, "disk"): 1, (3, "disk"): 1})
    )
    assert wanted == Counter(save=1, disk=1)
    assert eye.compared(wanted, ["Save as...", "harddisk"]) == {"words": 2, "read": 1, "run_together": 2, "lines": 2}


@pytest.mark.slow
def test_the_cost_of_an_image_is_measured_over_every_link(
    screen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result.json"
    assert main(["scale", str(screen.parent), "--runs", "2", "--json", str(out)]) == 0
    rows = json.loads(out.read_text())["scale"]["rows"]
    assert [(row["workers"], row["mbit"]) for row in rows] == [(1, 0), *((2, mbit) for mbit, _ in scale.LINKS)]
    for row in rows:
        assert (row["images"], row["failed"]) == (2, 0)
        assert row["redis_in_bytes"] > row["sources"] / row["images"]
        assert row["redis_out_bytes"] > row["results"] / row["images"]
    assert "images/s" in capsys.readouterr().out


def test_a_link_lets_through_so_many_bits_a_second_each_way() -> None:
    way = link.Way(bits_per_s=8_000, delay_s=0.25)
    first, second = way.arrival(1_000), way.arrival(500)
    assert second - first == pytest.approx(0.5, abs=0.01)
    free = link.Way(bits_per_s=0, delay_s=0)
    assert free.arrival(10**9) - free.arrival(1) == pytest.approx(0, abs=0.1)
