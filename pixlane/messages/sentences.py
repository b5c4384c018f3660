"""Every sentence that a model reads, once: a field is its name, the default its template; a caller replaces what it likes.

    Sentences(handle="<file>{path}</file>")

The lines that other programs read too keep their form: `handle`, `handle_url`, `omitted`, `media`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sentences:
    """Templates for `str.format`; the names in braces are all that a template may use."""

    # Attaching: build_parts
    handle: str = "[Image attached at: {path}]"
    handle_url: str = "[Image attached: {url}]"
    default_question: str = "Please look at the attached image."
    scale: str = (
        "[{path} is shown at {width} x {height} px, the file has {source_width} x {source_height}: "
        "multiply x by {factor_x} and y by {factor_y} for the file]"
    )
    not_attached: str = "[Not attached: {path} ({reason})]"

    # What stands where an image was: repair, recovery
    omitted: str = "[image omitted: {type} is not a supported image format]"
    omitted_because: str = "[image omitted: {reason}]"
    described: str = "[image, described: {description}]"
    handle_unseen: str = "[Image file, not shown: {path}]"
    handle_url_unseen: str = "[Image, not shown: {url}]"
    repeated: str = "[the same image as one that is shown elsewhere in this conversation, {id}]"
    repeated_unseen: str = "[an image that is not shown any more]"
    moved: str = "[this tool's image follows after the results]"
    moved_here: str = "[image from the tool result above]"

    # Tool results
    media: str = "MEDIA:{path}"
    image_loaded: str = "The image is attached; look at it."
    images_loaded: str = "The images are attached; look at them."
    not_shown: str = "[image not shown: {reason}]"
    not_read: str = "[content of this result that cannot be shown: {what}]"
    linked: str = "[linked resource: {what}]"
    structured: str = "[structured content] {json}"
    vendor_meta: str = "[_meta] {json}"
    text_cut: str = "[... {count:,} characters left out ...]"

    # Budgets
    calls_spent: str = (
        "[image not loaded: it has been loaded {times} in this conversation (crops of it count too), which is the limit. "
        "Answer from what was already seen, or ask the user.]"
    )
    left_out: str = "[image left out: {name} ({what}): {reason}]"

    # Seeing by description: the text lane, the vision tool, reading a file
    by_model: str = "the model {model}"
    by_ocr: str = "text recognition on this machine ({model}); no model looked at it, so only its text is known"
    eye_described: str = "[Image {number} of {count}: {what}. You are not shown it. Described by {by}:]"
    eye_failed: str = (
        "[Image {number} of {count}: {name}. You are not shown it and it could NOT be described: {reason}. "
        "Nothing is known of what it shows.]"
    )
    eye_closer: str = "[For a closer look ask the vision tool about: {path}]"
    eye_again: str = "[To try again ask the vision tool about: {path}]"
    eye_answer: str = "[{what}. You are not shown it. Answered by {by}:]"
    eye_no_answer: str = (
        "[{name}: you are not shown it and the question could NOT be answered: {reason}. Nothing is known of what it shows.]"
    )
    quoted: str = "> {line}"
    question: str = "Question: {question}"
    already_shown: str = "[{path} is in this conversation already: look at it there; it is not sent a second time.]"
    file_read: str = "[{path}: {what}]"
    file_no_image: str = "[{path} is not an image: its bytes are {what}]"
    file_failed: str = "[{path} could NOT be read: {reason}]"
    document: str = "[{path}: {what}, {pages} pages. {shown}]"
    document_page: str = "[page {page}]"


CLAIMS = ("image_loaded", "images_loaded", "scale")
"""Sentences that are only true beside the pixels they speak of; they leave together."""

DEFAULT = Sentences()
