"""What attaches out of a text, and why the rest does not."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixlane import formats
from pixlane.messages import extract_image_refs, refs
from pixlane.messages.path_marks import KNOWN, TAKEN
from pixlane.messages.refs import MAX_NAMES, MAX_REFERENCES, REASONS

NAMES = ("a.png", "my shot.png", "a+b@2x (1).png", "it's.jpg", "截图.png", "a.png copy.png", "r.WEBP", "weiß.heic", "100%25.png")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).touch()
    (tmp_path / "My Photos (2024)" / "照片").mkdir(parents=True)
    (tmp_path / "My Photos (2024)" / "a b.png").touch()
    (tmp_path / "My Photos (2024)" / "照片" / "c.png").touch()
    (tmp_path / "folder.png").mkdir()
    return tmp_path


def seen(text: str, folder: Path) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Paths, URLs and what is ignored, with D for the folder on both sides."""
    found = extract_image_refs(text.replace("D/", f"{folder}/"))
    short = [[one.replace(str(folder), "D") for one in some] for some in (found.paths, found.urls)]
    return short[0], short[1], [(one.text.replace(str(folder), "D"), one.reason) for one in found.ignored]


def test_the_scanner_section_of_the_article(folder: Path) -> None:
    text = (
        "This is broken: D/a.png. I ran\n```sh\nconvert D/a.png\n```\nand `open D/r.WEBP`, before D/gone.png was.\n"
        "See https://example.com/assets/diagram.webp?rev=3 and (https://example.com/b.png), not file:///home/c.png or /spec.pdf."
    )
    paths, urls, ignored = seen(text, folder)
    assert paths == ["D/a.png"]
    assert urls == ["https://example.com/assets/diagram.webp?rev=3", "https://example.com/b.png"]
    assert ignored == [
        ("D/a.png", "in_code"),
        ("D/r.WEBP", "in_code"),
        ("D/gone.png", "missing"),
        ("file:///home/c.png", "unsupported_scheme"),
        ("/spec.pdf", "unsupported_extension"),
    ]


PATHS = {
    "look at D/a.png": ["D/a.png"],
    "D/a.png.": ["D/a.png"],
    "(D/a.png)": ["D/a.png"],
    "D/a.png: broken?": ["D/a.png"],
    "is it D/a.png?": ["D/a.png"],
    "D/a.png?raw=1 and D/r.WEBP#top": ["D/a.png", "D/r.WEBP"],
    "D/a.png's corner": ["D/a.png"],
    "D/a.png, D/r.WEBP": ["D/a.png", "D/r.WEBP"],
    "D/a.png,D/r.WEBP": ["D/a.png", "D/r.WEBP"],
    "D/a.png D/a.png": ["D/a.png"],
    "D/r.WEBP\nD/a.png": ["D/r.WEBP", "D/a.png"],
    "D/my shot.png please": ["D/my shot.png"],
    "D/my\\ shot.png please": ["D/my shot.png"],
    "'D/my shot.png' and \"D/a.png\"": ["D/my shot.png", "D/a.png"],
    "“D/my shot.png”": ["D/my shot.png"],
    "D/a.png copy.png": ["D/a.png copy.png"],
    "D/a.png and gone.png": ["D/a.png"],
    "D/a+b@2x (1).png": ["D/a+b@2x (1).png"],
    "D/it's.jpg": ["D/it's.jpg"],
    "D/weiß.heic": ["D/weiß.heic"],
    "D/截图.png": ["D/截图.png"],
    "请看D/截图.png这个": ["D/截图.png"],
    "D/My Photos (2024)/a b.png": ["D/My Photos (2024)/a b.png"],
    "D/My Photos (2024)/照片/c.png": ["D/My Photos (2024)/照片/c.png"],
    "![the error](D/a.png)": ["D/a.png"],
    '![x](D/a.png "title")': ["D/a.png"],
    "![x](<D/my shot.png>)": ["D/my shot.png"],
    "![x](D/my%20shot.png)": ["D/my shot.png"],
    "D/100%25.png": ["D/100%25.png"],
    "@D/a.png": ["D/a.png"],
    "MEDIA:D/a.png": ["D/a.png"],
    "--image=D/a.png": ["D/a.png"],
    "<D/a.png>": ["D/a.png"],
    "`unclosed D/a.png": ["D/a.png"],
    "\\`D/a.png\\`": ["D/a.png"],
    "```\nD/r.WEBP\n```\nD/a.png": ["D/a.png"],
    "~~~~\nD/r.WEBP\n~~~\nD/r.WEBP\n~~~~\nD/a.png": ["D/a.png"],
    "``D/r.WEBP ` D/r.WEBP`` D/a.png": ["D/a.png"],
    "> ```\n> D/r.WEBP\n> ```\nD/a.png": ["D/a.png"],
    "```\nD/r.WEBP": [],  # a fence that nothing closes
    "D/a.png-old D/a.png.bak D/a.png~ D/a.pngx D/a.png/x": [],
    "and/or/a.png café/a.png ./a.png ../a.png": [],
    "": [],
}


@pytest.mark.parametrize("text", PATHS)
def test_a_path_attaches(text: str, folder: Path) -> None:
    assert seen(text, folder)[0] == PATHS[text]


def test_a_tilde_is_expanded_and_links_are_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    (folder / "link.png").symlink_to(folder / "a.png")
    assert extract_image_refs("~/a.png and ~/link.png").paths == (f"{folder}/a.png", f"{folder}/link.png")


def test_a_drive_letter_is_a_path_on_windows_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)  # where a file may be called so
    (folder / "C:\\my shot.png").touch()
    assert extract_image_refs("see C:\\my shot.png", windows=True).paths == ("C:\\my shot.png",)
    found = extract_image_refs("see C:\\my shot.png", windows=False)
    assert (found.paths, [one.reason for one in found.ignored]) == ((), ["windows_path"])


URLS = {
    "https://h/a.png": ["https://h/a.png"],
    "HTTPS://h/A.PNG": ["HTTPS://h/A.PNG"],
    "(https://h/a_(1).png).": ["https://h/a_(1).png"],
    "https://h/a.png?x=(1)": ["https://h/a.png?x=(1)"],
    "https://h/a.png#x,": ["https://h/a.png#x"],
    "https://h/a.png.webp": ["https://h/a.png.webp"],
    "https://h/a.png,https://h/b.png": ["https://h/a.png", "https://h/b.png"],
    "https://p/?u=https://h/a.png": [],  # the path of the URL is /
    "https://h/a.png?u=https://h/b.png": ["https://h/a.png?u=https://h/b.png"],
    "![x](https://h/a.png)": ["https://h/a.png"],
    '![x](https://h/a.png "t")': ["https://h/a.png"],
    "**https://h/a.png**": ["https://h/a.png"],
    "https://h/a.png，看": ["https://h/a.png"],
    "https://h/é.png": ["https://h/é.png"],
    "https://h/a.png https://h/a.png": ["https://h/a.png"],
    "http://h/photos.jpg/view": [],
    "http://h/a.png-old": [],
    "http://a.png": [],
}


@pytest.mark.parametrize("text", URLS)
def test_a_url_attaches_as_it_stands(text: str, tmp_path: Path) -> None:
    assert seen(text, tmp_path)[1] == URLS[text]


IGNORED = {
    "`D/a.png`": ("D/a.png", "in_code"),
    "```\nD/a.png\n```": ("D/a.png", "in_code"),
    "~~~\nD/a.png\n~~~": ("D/a.png", "in_code"),
    "`https://h/a.png`": ("https://h/a.png", "in_code"),
    "D/gone.png": ("D/gone.png", "missing"),
    "D/no such shot.png": ("D/no such shot.png", "missing"),
    "D/folder.png": ("D/folder.png", "not_a_file"),
    "/dev/null/a.png": ("/dev/null/a.png", "missing"),
    "D/a.pdf": ("D/a.pdf", "unsupported_extension"),
    "D/a.xcf": ("D/a.xcf", "unsupported_extension"),
    "https://h/a.pdf": ("https://h/a.pdf", "unsupported_extension"),
    "file://D/a.png": ("file://D/a.png", "unsupported_scheme"),
    "s3://bucket/a.png": ("s3://bucket/a.png", "unsupported_scheme"),
    "data:image/png;base64,AAAA": ("data:image/png;base64,AAAA", "unsupported_scheme"),
    "https://h/photos.jpg/view": ("https://h/photos.jpg/view", "no_image_extension"),
    "https://h/?src=a.png": ("https://h/?src=a.png", "no_image_extension"),
    "shots/a.png": ("shots/a.png", "not_absolute"),
    "/help says shot.png": ("shot.png", "not_absolute"),
    "D/x is it; see b.png": ("b.png", "not_absolute"),
    "http://169.254.169.254/latest/a.png": ("http://169.254.169.254/latest/a.png", "metadata_address"),
    "http://[::ffff:169.254.169.254]/a.png": ("http://[::ffff:169.254.169.254]/a.png", "metadata_address"),
    "http://0xA9FEA9FE/a.png": ("http://0xA9FEA9FE/a.png", "metadata_address"),
    "http://2852039166/a.png": ("http://2852039166/a.png", "metadata_address"),
    "http://metadata.google.internal./a.png": ("http://metadata.google.internal./a.png", "metadata_address"),
    "C:/a.png": ("C:/a.png", "windows_path"),
}


@pytest.mark.parametrize("text", IGNORED)
def test_what_does_not_attach_is_told_with_its_reason(text: str, folder: Path) -> None:
    assert seen(text, folder) == ([], [], [IGNORED[text]])


NOBODY = 65_534


@pytest.mark.skipif(os.name == "nt", reason="the rights of a folder are those of POSIX")
def test_a_file_that_may_not_be_looked_at_is_not_called_missing(folder: Path) -> None:
    user = os.geteuid()
    folder.chmod(0)
    try:
        if user == 0:  # root may look everywhere
            os.seteuid(NOBODY)
        found = seen("D/a.png", folder)
    finally:
        os.seteuid(user)
        folder.chmod(0o700)
    assert found == ([], [], [("D/a.png", "unreadable")])


def test_every_reason_is_explained_and_reached(folder: Path) -> None:
    reached = {reason for _, reason in IGNORED.values()} | {"unreadable", "too_many"}  # each has its own test
    assert reached == set(REASONS)
    assert extract_image_refs("`/a.png`").to_dict()["ignored"] == [
        {"text": "/a.png", "reason": "in_code", "why": REASONS["in_code"]}
    ]


def test_the_extensions_are_those_of_the_registry() -> None:
    assert {"png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "heic", "avif", "svg", "ico"} <= TAKEN
    assert TAKEN & {"pdf", "zip", "gz", "docx", "xcf", "html"} == set()
    assert all(formats.said_by_name(f"a.{extension}") for extension in KNOWN)


@pytest.mark.parametrize("text", [None, 3, b"/a.png", ["/a.png"], ""])
def test_what_is_no_text_holds_nothing(text: object) -> None:
    assert extract_image_refs(text) == refs.ImageRefs()


def test_a_name_with_a_nul_is_missing() -> None:
    assert [one.reason for one in extract_image_refs("/tmp/a\0.png").ignored] == ["missing"]


def test_references_behind_too_much_code_still_attach(folder: Path) -> None:
    code = "```\n" + "".join(f"/log/{number}.png\n" for number in range(2_000)) + "```\n"
    paths, _, ignored = seen(f"{code}D/a.png", folder)
    assert paths == ["D/a.png"]
    assert Counter(reason for _, reason in ignored) == {"in_code": MAX_REFERENCES, "too_many": 1}
    assert MAX_NAMES > 2_000


@given(st.text(alphabet=" \n`~/.:(\\\"'aé看!<>?#_-[]pngh", max_size=80))
def test_any_text_is_read_without_an_error_and_nothing_in_code_attaches(text: str) -> None:
    found = extract_image_refs(f"`{text.replace('`', '')}`")
    assert (found.paths, found.urls) == ((), ())
    extract_image_refs(text)


@given(st.text(alphabet=" ()'éß看+@&,;=!-_abc", min_size=1, max_size=20))
def test_a_quoted_path_that_is_there_attaches(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "quoted"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.png"
    path.touch()
    assert extract_image_refs(f'see "{path}", please').paths == (str(path),)


@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        ("![plan](https://example.com/image?id=3)", [("https://example.com/image?id=3", "no_image_extension")]),
        ("![plan](/tmp/no-extension-here)", [("/tmp/no-extension-here", "no_image_extension")]),
        ('![plan](~/plan "a title")', [("~/plan", "no_image_extension")]),
        ("![plan](https://example.com/a.pdf)", [("https://example.com/a.pdf", "unsupported_extension")]),
        ("`![plan](https://example.com/image)`", [("https://example.com/image", "in_code")]),
        ("[plan](https://example.com/page) and ![](#anchor) and ![x]()", []),
    ],
)
def test_what_markdown_shows_as_an_image_is_never_dropped_without_a_word(text: str, ignored: list[tuple[str, str]]) -> None:
    refs = extract_image_refs(text)
    assert (refs.paths, refs.urls) == ((), ())
    assert [(one.text, one.reason) for one in refs.ignored] == ignored


def test_an_image_of_markdown_that_attaches_is_told_once() -> None:
    refs = extract_image_refs("![a](https://example.com/a.png) ![b](https://example.com/b)")
    assert refs.urls == ("https://example.com/a.png",)
    assert [one.text for one in refs.ignored] == ["https://example.com/b"]
