"""One image of a history: what it really is, whether the receiver takes it so, and what has to be done where it does not."""

from __future__ import annotations

from pixlane import formats
from pixlane.errors import CorruptInput, PixlaneError, TruncatedInput
from pixlane.messages.history import History, Item, is_vector
from pixlane.messages.pictures import sha256_of
from pixlane.profiles import Profile
from pixlane.rendition import data_url_length

ANIMATED_TYPES = ("image/gif", "image/webp")


def inspect(history: History) -> None:
    """Every image by itself: none can spoil another.

    The same content is sent once: where it came first, so that the beginning of the history stays as it was.
    """
    first: dict[str, Item] = {}
    for item in history.items:
        if item.at.url is not None:
            _check_url(history, item, item.at.url)
        elif item.at.ref is None:
            _check_bytes(history, item, first)


def _check_url(history: History, item: Item, url: str) -> None:
    # Never fetched; whether the receiver can reach it is the receiver's business.
    taken = history.wire.takes_url and history.profile.remote_url is not False
    if url.partition("://")[0].lower() not in ("http", "https"):
        history.omit(item, f"only http and https URLs reach a model, this is {url.partition(':')[0][:20]!r}")
    elif not taken:
        words = history.sentences.handle_url_unseen.format(url=url)
        history.omit(item, f"{history.profile.name} takes no URLs", words=words)


def _check_bytes(history: History, item: Item, first: dict[str, Item]) -> None:
    data = item.at.decode()
    if data is None:
        error = CorruptInput("the base64 is broken")
        history.omit(item, error.message, words=history.placeholder(item, error))
        return
    item.source, item.sha256 = data, sha256_of(data)
    if item.sha256 in first and not item.at.alone:
        words = history.sentences.repeated.format(id=item.reference)
        history.say(item, "repeated", words, f"the same content as at {list(first[item.sha256].at.path)}")
        return
    _check_picture(history, item, data)
    if item.shown and not item.at.alone:
        first[item.sha256] = item


def _check_picture(history: History, item: Item, data: bytes) -> None:
    found = formats.detect(data, declared_type=item.at.mime).format
    item.vector = is_vector(found.engines)
    item.mime = found.mime if found.image else ""
    proof = history.pictures.prove(item.sha256, data)
    if isinstance(proof, PixlaneError):
        if isinstance(proof, TruncatedInput):
            history.redraw(item, "transcoded", proof.message)
        else:
            history.omit(item, proof.message, words=history.placeholder(item, proof))
        return
    item.size = proof.width, proof.height
    profile = history.profile
    if proof.mime not in history.accept:
        history.redraw(item, "transcoded", f"{profile.name} does not take {proof.mime}")
    elif not proof.whole:
        history.redraw(item, "transcoded", f"the {proof.mime} is damaged, which a strict decoder refuses")
    elif profile.single_frame and proof.frames != 1 and proof.mime in ANIMATED_TYPES:
        history.redraw(item, "transcoded", f"{profile.name} takes no animation; the first of {proof.frames} frames is shown")
    else:
        item.data, item.mime = data, proof.mime
        tool_chars = history.wire.max_tool_url_chars if item.at.in_tool_result else None
        if excess := over(profile, len(data), proof.mime, item.size):
            history.redraw(item, "shrunk", excess, chars=tool_chars)
        elif tool_chars is not None and data_url_length(proof.mime, len(data)) > tool_chars:
            history.redraw(item, "shrunk", f"a tool result takes data URLs of {tool_chars:,} characters", chars=tool_chars)
        else:
            _check_label(history, item)


def _check_label(history: History, item: Item) -> None:
    """The declared type and the spelling of the base64."""
    declared = item.at.mime
    said = formats.said_by_type(declared)
    if declared in history.accept and said is not None and said.mime == item.mime:
        item.mime = declared  # another name of the same type that the receiver knows
    assert item.data is not None
    if history.wire.with_image(item.at.part, item.mime, item.data) == item.at.part:
        return
    item.rewritten = True
    if declared not in (None, item.mime):
        history.note("relabelled", item, f"declared as {declared}, the bytes are {item.mime}")
    else:
        history.note("respelled", item, "the part was not spelled as the wire wants it")


def over(profile: Profile, byte_count: int, mime: str, size: tuple[int, int]) -> str:
    """The limit for a single image that it passes, with both values; "" where it passes none."""
    longer, shorter = max(size), min(size)
    base64_chars = 4 * -(-byte_count // 3)
    counts = {"raw": byte_count, "data_url": data_url_length(mime, byte_count)}
    counted = counts.get(profile.bytes_basis or "", base64_chars)
    rows = (
        ("bytes", profile.max_image_bytes, counted),
        ("px on a side", profile.max_side_px, longer),
        ("times as long as wide", profile.max_aspect, longer / shorter),
    )
    for unit, limit, actual in rows:
        if limit is not None and actual > limit:
            return f"{profile.name} takes {limit:,.10g} {unit}, this has {actual:,.10g}"
    if profile.min_side_px is not None and shorter < profile.min_side_px:
        return f"{profile.name} takes sides from {profile.min_side_px} px, this has {shorter}"
    return ""
