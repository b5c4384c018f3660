"""One image of a history: what it really is, whether the receiver takes it so, and what has to be done where it does not."""

from __future__ import annotations

from pixlane import formats
from pixlane.errors import CorruptInput, PixlaneError, TruncatedInput
from pixlane.messages.history import History, Item, is_vector
from pixlane.messages.pictures import sha256_of
from pixlane.profiles import Profile

ANIMATED_TYPES = ("image/gif", "image/webp")


def inspect(history: History) -> None:
    """Every image by itself: none can spoil another."""
    for item in history.items:
        if item.at.url is not None:
            _check_url(history, item, item.at.url)
        elif item.at.ref is None:
            _check_bytes(history, item)


def _check_url(history: History, item: Item, url: str) -> None:
    # Never fetched; whether the receiver can reach it is the receiver's business.
    taken = history.wire.takes_url and history.profile.remote_url is not False
    if url.partition("://")[0].lower() not in ("http", "https"):
        history.omit(item, f"only http and https URLs reach a model, this is {url.partition(':')[0][:20]!r}")
    elif not taken:
        words = history.sentences.handle_url_unseen.format(url=url)
        history.omit(item, f"{history.profile.name} takes no URLs", words=words)


def _check_bytes(history: History, item: Item) -> None:
    data = item.at.decode()
    if data is None:
        error = CorruptInput("the base64 is broken")
        history.omit(item, error.message, words=history.placeholder(item, error))
        return
    item.source, item.sha256 = data, sha256_of(data)
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
        history.redraw(item, "transcoded", f"the {proof.mime} is damaged or has data around it, which a strict decoder refuses")
    elif profile.single_frame and proof.frames != 1 and proof.mime in ANIMATED_TYPES:
        history.redraw(item, "transcoded", f"{profile.name} takes no animation; the first of {proof.frames} frames is shown")
    else:
        item.data, item.mime = data, proof.mime
        excess = over(profile, len(data), proof.mime, item.size)
        if excess:
            history.redraw(item, "shrunk", excess)
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
    counted = {"raw": byte_count, "data_url": base64_chars + len(f"data:{mime};base64,")}.get(
        profile.bytes_basis or "", base64_chars
    )
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
