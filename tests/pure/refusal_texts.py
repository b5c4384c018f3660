"""The refusals of providers, word for word as they were seen in public, and the bodies that they come in."""

from __future__ import annotations

import json
from typing import Any

IN_MESSAGE = "messages.3.content.1.image.source"
IN_TOOL = "messages.3.content.1.tool_result.content.2.image.source"
DASHSCOPE = "<400> InternalError.Algo.InvalidParameter: "
BEDROCK = "The model returned the following errors: "
OVER = "image exceeds 5 MB maximum: 15908784 bytes > 5242880 bytes"
NOT_MENTIONED = (None, None)

# status, provider, text, kind, (limit, basis or unit), place
TEXTS: list[tuple[int, str, str, str, tuple[int | None, str | None], tuple[int, ...]]] = [
    (400, "anthropic", f"{IN_MESSAGE}.base64: {OVER}", "bytes", (5_242_880, "base64"), (3, 1)),
    (400, "anthropic", f"{IN_TOOL}.base64: {OVER}", "bytes", (5_242_880, "base64"), (3, 1, 2)),
    (
        400,
        "anthropic",
        f"{IN_MESSAGE}.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
        "pixels",
        (8000, "px"),
        (3, 1),
    ),
    (
        400,
        "anthropic",
        f"{IN_MESSAGE}.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: "
        "2000 pixels",
        "pixels",
        (2000, "px"),
        (3, 1),
    ),
    (
        400,
        "anthropic",
        "At least one of the image dimensions exceeds max allowed size for many-images requests: 2000 pixels",
        "pixels",
        (2000, "px"),
        (),
    ),
    (
        400,
        "anthropic",
        f"{IN_MESSAGE}.base64.data: Image does not match the provided media type image/png",
        "mismatch",
        NOT_MENTIONED,
        (3, 1),
    ),
    (
        400,
        "anthropic",
        f"{IN_MESSAGE}.base64: The image was specified using the image/png media type, but the image appears to be a "
        "image/jpeg image",
        "mismatch",
        NOT_MENTIONED,
        (3, 1),
    ),
    (
        400,
        "anthropic",
        f"{IN_MESSAGE}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
        "type",
        NOT_MENTIONED,
        (3, 1),
    ),
    (400, "anthropic", "Could not process image", "undecodable", NOT_MENTIONED, ()),
    (413, "anthropic", "Request exceeds the maximum size", "bytes", (None, "request"), ()),
    (413, "anthropic", "Request exceeds the maximum allowed number of bytes.", "bytes", (None, "request"), ()),
    (
        400,
        "bedrock",
        f"{BEDROCK}messages.0.content.1.image.source.bytes: image exceeds 5 MB maximum: 7167852 bytes > 5242880 bytes",
        "bytes",
        (5_242_880, "base64"),
        (0, 1),
    ),
    (
        400,
        "bedrock",
        "1 validation error detected: Value 'jpg' at 'messages.1.member.content.2.member.image.format' failed to satisfy "
        "constraint: Member must satisfy enum value set: [gif, jpeg, png, webp]",
        "type",
        NOT_MENTIONED,
        (0, 1),
    ),
    (
        400,
        "bedrock",
        "1 validation error detected: Value at 'messages.2.member.content.1.member.image.format' failed to satisfy constraint",
        "type",
        NOT_MENTIONED,
        (1, 0),
    ),
    (
        400,
        "bedrock",
        "The image was specified using the image/jpeg media type, but the image appears to be a image/png image",
        "mismatch",
        NOT_MENTIONED,
        (),
    ),
    (
        400,
        "bedrock",
        f"{BEDROCK}The provided image does not match the specified image format.",
        "mismatch",
        NOT_MENTIONED,
        (),
    ),
    (
        400,
        "openai",
        "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', "
        "'gif', 'webp'].",
        "type",
        NOT_MENTIONED,
        (),
    ),
    (
        400,
        "openai",
        "You uploaded an unsupported image. Please make sure your image is below 20 MB in size and is of one the following "
        "formats: ['png', 'jpeg', 'gif', 'webp'].",
        "type",
        NOT_MENTIONED,
        (),
    ),
    (
        400,
        "openai",
        "You uploaded an unsupported image. Please make sure your image is valid.",
        "type",
        NOT_MENTIONED,
        (),
    ),
    (400, "openai", "The image data you provided does not represent a valid image", "undecodable", NOT_MENTIONED, ()),
    (400, "openai", "Failed to download image from image.jpg. Image URL is invalid.", "undecodable", NOT_MENTIONED, ()),
    (
        400,
        "openai",
        "Invalid value: 'image_url'. Supported values are: 'input_text', 'input_image', 'output_text'.",
        "type",
        NOT_MENTIONED,
        (),
    ),
    (400, "openai", "Invalid content type. image_url is only supported by certain models.", "no_vision", NOT_MENTIONED, ()),
    (
        400,
        "openai",
        "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' "
        "contains an image URL.",
        "tool_images",
        NOT_MENTIONED,
        (2,),
    ),
    (400, "azure", "Exceeded maximum number of images (50) allowed in the request.", "count", (50, "images"), ()),
    (400, "azure", "'data:image/jpeg;base64,/9j/4AA' is not a valid absolute URI", "bytes", (65_520, "data_url"), ()),
    (400, "gemini", "Unsupported MIME type: image/jpg", "type", NOT_MENTIONED, ()),
    (
        400,
        "gemini",
        "* GenerateContentRequest.contents[2].parts[1].inline_data.mime_type: MIME type must be image/png, image/jpeg, "
        "image/webp, image/heic, or image/heif.",
        "type",
        NOT_MENTIONED,
        (2, 1),
    ),
    (400, "gemini", "Request contains an invalid argument.", "type", NOT_MENTIONED, ()),
    (
        400,
        "gemini",
        "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
        "undecodable",
        NOT_MENTIONED,
        (),
    ),
    (400, "gemini", "Provided image is not valid.", "undecodable", NOT_MENTIONED, ()),
    (
        400,
        "gemini",
        "Request payload size exceeds the limit: 20971520 bytes. Please upload your files with the File API instead.",
        "bytes",
        (20_971_520, "request"),
        (),
    ),
    (400, "gemini", "Multimodal function responses are not supported for this model", "tool_images", NOT_MENTIONED, ()),
    (
        400,
        "vertex",
        "The file size of `gs://bucket/a.png` is 47688287, which exceeds max allowed file size of 31457280 for `image/png` "
        "files. Please use a smaller file.",
        "bytes",
        (31_457_280, "raw"),
        (),
    ),
    (
        400,
        "xai",
        "Invalid request content: Downloaded response does not contain a valid JPG or PNG image.",
        "type",
        NOT_MENTIONED,
        (),
    ),
    (400, "groq", "message[0].content must be a string", "tool_images", NOT_MENTIONED, (0,)),
    (400, "groq", "messages[4].content must be a string", "tool_images", NOT_MENTIONED, (4,)),
    (400, "dashscope", f"{DASHSCOPE}Multimodal file size is too large", "bytes", (None, "bytes"), ()),
    (
        400,
        "dashscope",
        f"{DASHSCOPE}Exceeded limit on max bytes per data-uri item : 10485760",
        "bytes",
        (10_485_760, "data_url"),
        (),
    ),
    (
        400,
        "dashscope",
        f"{DASHSCOPE}The image length and width do not meet the model restrictions. [height:1 or width:1 must be larger than 10]",
        "pixels",
        (10, "px"),
        (),
    ),
    (400, "dashscope", "Failed to decode the image during the data inspection.", "undecodable", NOT_MENTIONED, ()),
    (
        400,
        "dashscope",
        "The media format is not supported or incorrect for the data inspection.",
        "undecodable",
        NOT_MENTIONED,
        (),
    ),
    (400, "dashscope", "Invalid image format or corrupted file", "undecodable", NOT_MENTIONED, ()),
    (400, "moonshot", "Invalid request: unsupported image url: https://example.com/a.png", "type", NOT_MENTIONED, ()),
    (400, "moonshot", "unsupported image format", "type", NOT_MENTIONED, ()),
    (400, "zhipu", "messages.content.type 参数非法，取值范围 ['text']", "no_vision", NOT_MENTIONED, ()),
    (400, "minimax", "invalid params, invalid image detail: auto (2013)", "type", NOT_MENTIONED, ()),
    (400, "minimax", "invalid params, chat content is empty (2013)", "no_vision", NOT_MENTIONED, ()),
    (
        400,
        "volcengine",
        "The request failed because the image format is not supported by the API. Request id: 1",
        "type",
        NOT_MENTIONED,
        (),
    ),
    (400, "stepfun", "Input images too many. model: step-1v, max: 60, input: 61", "count", (60, "images"), ()),
    (
        400,
        "ollama",
        "image URLs are not currently supported, please use base64 encoded data instead",
        "type",
        NOT_MENTIONED,
        (),
    ),
    (400, "ollama", "invalid image input", "undecodable", NOT_MENTIONED, ()),
    (400, "ollama", "invalid image source type: url. Only base64 images are supported.", "type", NOT_MENTIONED, ()),
    (
        400,
        "ollama",
        "this model only supports one image while more than one image requested",
        "count",
        (1, "images"),
        (),
    ),
    (400, "llama.cpp", "Failed to load image or audio file", "type", NOT_MENTIONED, ()),
    (
        400,
        "llama.cpp",
        "mtmd_helper_bitmap_init_from_buf: failed to decode image bytes",
        "undecodable",
        NOT_MENTIONED,
        (),
    ),
    (400, "lmstudio", "'url' field must be a base64 encoded image", "type", NOT_MENTIONED, ()),
    (
        200,
        "lmstudio",
        "Vision add-on is not loaded, but images were provided for processing",
        "no_vision",
        NOT_MENTIONED,
        (),
    ),
    (400, "vllm", "At most 4 image(s) may be provided in one prompt. (parameter=image)", "count", (4, "images"), ()),
    (400, "vllm", "At most 4 image(s) may be provided in one request.", "count", (4, "images"), ()),
    (400, "vllm", "At most 0 image(s) may be provided in one prompt.", "no_vision", (0, None), ()),
    (
        400,
        "copilot",
        "missing required Copilot-Vision-Request header for vision requests",
        "no_vision",
        NOT_MENTIONED,
        (),
    ),
    (400, "copilot", "image media type not supported", "type", NOT_MENTIONED, ()),
    (
        400,
        "litellm",
        "Error: Image size (12.00MB) exceeds maximum allowed size (10.00MB). url=https://example.com/a.png",
        "bytes",
        (10_000_000, "raw"),
        (),
    ),
    (400, "litellm", "Unable to determine MIME type for url=https://example.com/a", "type", NOT_MENTIONED, ()),
    (404, "openrouter", "No endpoints found that support image input", "no_vision", NOT_MENTIONED, ()),
    (
        422,
        "deepseek",
        "Failed to deserialize the JSON body into the target type: messages[3]: unknown variant `image_url`, expected `text` "
        "at line 1 column 81",
        "no_vision",
        NOT_MENTIONED,
        (3,),
    ),
    (400, "custom", "unknown variant image_url", "no_vision", NOT_MENTIONED, ()),
]
TOOL_TEXTS = [
    "text is not set",
    "`text` is not set",
    "tool message content must be a string",
    "Tool content must be a string",
    "tool message must be a string",
    "messages[2].content: Expected string, got list",
    "expected string, got array",
    "tool_call.content must be string",
    "messages[2]: invalid type: sequence, expected a string at line 1 column 2901",
]


def openai_body(text: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None, **fields}}


BODIES: dict[str, Any] = {
    "text": lambda text: text,
    "bytes": lambda text: text.encode(),
    "error.message": openai_body,
    "JSON": lambda text: json.dumps(openai_body(text)),
    "JSON as bytes": lambda text: json.dumps(openai_body(text), ensure_ascii=False).encode(),
    "what the OpenAI SDK keeps": lambda text: openai_body(text)["error"],
    "what the Anthropic SDK keeps": lambda text: {"type": "error", "error": {"type": "invalid_request_error", "message": text}},
    "error as a string": lambda text: {"error": text},
    "Google, as a stream begins": lambda text: [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}],
    "detail": lambda text: {"detail": text},
    "errors[0].message": lambda text: {"errors": [{"message": text}]},
    "AWS": lambda text: {"Error": {"Code": "ValidationException", "Message": text}},
    "an event": lambda text: f"event: error\ndata: {json.dumps(openai_body(text))}\n\n",
    "an SDK's sentence": lambda text: f"Error code: 400 - {openai_body(text)}",
    "OpenRouter": lambda text: openai_body(
        "Provider returned error", code=400, metadata={"raw": json.dumps(openai_body(text)), "provider_name": "Any"}
    ),
    "LiteLLM": lambda text: openai_body(f"litellm.BadRequestError: AnthropicException - {json.dumps(openai_body(text))}"),
    "LiteLLM with bytes": lambda text: openai_body(
        f"litellm.BadRequestError: VertexAIException BadRequestError - {json.dumps(openai_body(text)).encode()!r}. Received "
        "Model Group=a"
    ),
    "LiteLLM behind LiteLLM": lambda text: openai_body(
        f"litellm.BadRequestError: OpenAIException - litellm.BadRequestError: BedrockException - {text}"
    ),
}
