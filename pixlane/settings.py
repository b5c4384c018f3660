"""Every knob once: its environment name, unit, default, bounds and meaning. Nothing else reads the environment.

A plain table and not a settings framework: `normalize()` needs some of these values, and a framework costs more to import
(0.3 s) than the first image takes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from pixlane.errors import InvalidArgument

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


def _knob(default: Any, help: str, *, low: float | None = None, high: float | None = None) -> Any:
    return field(default=default, metadata={"help": help, "low": low, "high": high})


@dataclass(frozen=True)
class Settings:
    """The values in force. Field `name` is set by the environment variable `PIXLANE_NAME`."""

    # What a result must satisfy by default
    embed_target_bytes: int = _knob(256 * KIB, "length of the whole data URL, in characters", low=64 * KIB, high=4 * MIB)

    # What a source may be
    max_source_bytes: int = _knob(32 * MIB, "largest source, bytes", low=1, high=512 * MIB)
    max_pixels: int = _knob(100_000_000, "most pixels that are decoded for one image", low=1)
    max_frames: int = _knob(10_000, "most frames or pages of one source", low=1)
    max_decode_bytes: int = _knob(GIB, "most memory that decoding one image may take by estimate, bytes", low=1)
    max_svg_bytes: int = _knob(2 * MIB, "largest SVG source, bytes", low=1)
    max_inflated_bytes: int = _knob(8 * MIB, "largest inflated SVG (svgz), bytes", low=1)
    svg_font_dirs: str = _knob("", "folders with further fonts for SVG text, separated by the path separator")

    # Sources that are named by a URL: the client fetches them, a worker never does
    url_sources: bool = _knob(False, "http and https URLs are followed")
    url_timeout_s: float = _knob(10.0, "a URL is given up after this, redirects and all, seconds", low=0.1, high=300.0)
    url_allowed_networks: str = _knob(
        "", "addresses and networks that a URL may lead to though they are not public, comma-separated; for intranets and tests"
    )

    # How long and how much one image may take
    soft_timeout_s: float = _knob(20.0, "an image is given up after this, seconds", low=0.1)
    hard_timeout_s: float = _knob(30.0, "the process of an image is ended after this, seconds", low=0.2)
    svg_timeout_s: float = _knob(10.0, "a rasterizer is ended after this, seconds", low=0.1)
    max_child_bytes: int = _knob(2 * GIB, "data memory of one worker process (RLIMIT_DATA), bytes", low=256 * MIB)

    # Where the service is
    redis_url: str = _knob("", "ledger and sources; empty: the embedded service")
    broker_url: str = _knob("", "Celery's broker; empty: redis_url")
    cache_url: str = _knob("", "results: a server, several after commas, or redis+cluster://; empty: redis_url")
    redis_password_file: str = _knob("", "file with the password for every Redis address that names none; read at each start")
    redis_ca_file: str = _knob("", "authority whose certificates rediss:// trusts, PEM; empty: the system's")
    key_prefix: str = _knob("pixlane", "first part of every Redis key")
    store_timeout_s: float = _knob(2.0, "deadline of one call to Redis, seconds", low=0.05)

    # Who is let into the queue; beyond the limits: queue_full. 0: no limit
    max_queue_jobs: int = _knob(200_000, "most open jobs of one queue; 0: no limit", low=0)
    max_queue_bytes: int = _knob(4 * GIB, "most bytes that the stored sources of open jobs have; 0: no limit", low=0)
    max_queue_age_s: float = _knob(
        0.0, "nothing is taken while the oldest job of the queue is older, seconds; 0: no limit", low=0
    )
    max_tenant_jobs: int = _knob(0, "most open jobs of one tenant; 0: no limit", low=0)
    tenant: str = _knob("", "who this process submits for; empty: nobody in particular")

    # How a worker works
    concurrency: int = _knob(0, "worker processes; 0: one per core", low=0, high=1024)
    allowed_roots: str = _knob("", "folders whose files a worker may read by path, separated by the path separator")
    allowed_roots_file: str = _knob("", "file with a JSON list of further allowed folders; a worker reads it again for each job")
    lease_margin_s: float = _knob(2.0, "a lease outlives the hard limit by this, seconds", low=0.1)
    sweep_interval_s: float = _knob(2.0, "each worker looks for overdue jobs this often, seconds", low=0.1)
    resend_after_s: float = _knob(30.0, "a job that nobody claimed may be sent again after this, seconds", low=0.5)
    shutdown_grace_s: float = _knob(
        90.0, "a worker that is told to end finishes what it has for so long, then hands it back, seconds", low=0.0
    )
    recycle_child_bytes: int = _knob(512 * MIB, "a worker process is replaced once its memory has been so large, bytes", low=1)
    max_tasks_per_child: int = _knob(500, "a worker process is replaced after this many tasks", low=1)

    # What can be seen of it
    metrics_port: int = _knob(0, "a worker serves its metrics for Prometheus on this port; 0: not at all", low=0, high=65_535)
    metrics_host: str = _knob("127.0.0.1", "address on which a worker serves its metrics")
    client_metrics: bool = _knob(
        False, "a client counts into the default registry of prometheus_client, which its program serves"
    )
    log_format: str = _knob("text", "form of a worker's log: text, or json for one object a line")
    celery_events: bool = _knob(False, "a worker sends Celery's events and takes its remote control, for Flower")
    traces: bool = _knob(False, "spans for OpenTelemetry; needs the extra otel, whose OTEL_* variables say where they go")

    # How long things live
    result_ttl_s: int = _knob(7 * 86_400, "a result lives this long after it was last read, seconds", low=1)
    source_ttl_s: int = _knob(3_600, "a source lives this long after its last job ended, seconds", low=1)
    error_ttl_s: int = _knob(600, "a deterministic error is remembered this long, seconds", low=1)
    crashed_ttl_s: int = _knob(7 * 86_400, "the verdict crashed and its source live this long, seconds", low=1)

    # Observations
    vision_timeout_s: float = _knob(60.0, "an observation is given up after this, with all tries, seconds", low=0.1, high=3_600.0)
    observation_ttl_s: int = _knob(7 * 86_400, "an observation is remembered this long, seconds", low=1)

    # An agent's configuration: each also stands in its file, see pixlane/messages/config.py
    config: str = _knob(
        "", "file of the agent's configuration, YAML or JSON; empty: pixlane/config.yaml in the user's configuration folder"
    )
    provider: str = _knob("", "`model.provider`: who runs the agent's model")
    model: str = _knob("", "`model.default`: the agent's model")
    base_url: str = _knob("", "`model.base_url`: where it is reached")
    image_input_mode: str = _knob("auto", "`agent.image_input_mode`: auto, native or text")
    supports_vision: str = _knob("", "`model.supports_vision`: true or false; empty: found out")
    vision_provider: str = _knob("auto", "`auxiliary.vision.provider`: who describes images; auto: nobody in particular")
    vision_model: str = _knob("", "`auxiliary.vision.model`")
    vision_base_url: str = _knob("", "`auxiliary.vision.base_url`")
    vision_default: str = _knob("", "`vision.default`: provider/model or provider@endpoint/model that looks at images")
    max_calls_per_image: int = _knob(
        0, "`vision.max_calls_per_image`: an image may be loaded this often in a conversation; 0: no limit", low=0
    )
    models_url: str = _knob("", "catalog of models in the form of models.dev's api.json; empty: only the one that is shipped")

    # Files of tool results
    media_dir: str = _knob("", "folder of the images that tools returned; empty: in the user's cache folder")

    # The embedded service
    embedded_dir: str = _knob("", "folder of the embedded service; empty: in the user's cache folder")
    embedded_max_bytes: int = _knob(0, "memory bound of the embedded store, bytes; 0: a quarter of memory, at most 2 GiB", low=0)
    embedded_linger_s: float = _knob(2.0, "the embedded service waits this long for a next user, seconds", low=0.0, high=3_600.0)
    embedded_loopback: bool = _knob(False, "the embedded store listens on 127.0.0.1 with a password instead of a Unix socket")


@cache
def current() -> Settings:
    """The settings of this process, read from the environment on first use."""
    return load(os.environ)


def load(environ: Mapping[str, str]) -> Settings:
    """Settings from `PIXLANE_*` variables. Raises InvalidArgument that names the variable, its bounds and the value."""
    return Settings(**given(environ))


def given(environ: Mapping[str, str]) -> dict[str, Any]:
    """Only what the environment sets, by field name. Raises as `load`."""
    values = {}
    for knob in fields(Settings):
        variable = environment_name(knob.name)
        raw = environ.get(variable, "")
        if raw != "":
            values[knob.name] = _parse(variable, raw, knob.default, knob.metadata)
    return values


def environment_name(name: str) -> str:
    return f"PIXLANE_{name.upper()}"


_WANTED = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}
_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _parse(variable: str, raw: str, default: Any, metadata: Mapping[str, Any]) -> Any:
    kind = type(default)
    try:
        value = _BOOLEANS[raw.strip().lower()] if kind is bool else kind(raw)
        if kind is float and not math.isfinite(value):  # no bound would stop either
            raise ValueError
    except (KeyError, ValueError):
        raise InvalidArgument(f"{variable} must be {_WANTED[kind]}, got {raw!r}", actual=raw) from None
    low, high = metadata["low"], metadata["high"]
    # The budget is the one value that is clamped, with a note on the rendition, as a recipe's own is.
    if variable == "PIXLANE_EMBED_TARGET_BYTES":
        return value
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        limit = low if low is not None and value < low else high
        raise InvalidArgument(f"{variable} must be {bounds}, got {value}", limit=limit, actual=value)
    return value


@dataclass(frozen=True)
class Limits:
    """What one image may cost; the part of the settings that the imaging room takes as an argument."""

    max_source_bytes: int = Settings.max_source_bytes
    max_pixels: int = Settings.max_pixels
    max_frames: int = Settings.max_frames
    max_decode_bytes: int = Settings.max_decode_bytes
    max_svg_bytes: int = Settings.max_svg_bytes
    max_inflated_bytes: int = Settings.max_inflated_bytes
    soft_timeout_s: float = Settings.soft_timeout_s
    svg_timeout_s: float = Settings.svg_timeout_s
    svg_font_dirs: str = Settings.svg_font_dirs

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        return cls(**{knob.name: getattr(settings, knob.name) for knob in fields(cls)})
