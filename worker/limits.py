"""What a child process may use, and what it loads before its first job."""

from __future__ import annotations

import logging
import os
import resource

from celery import Celery

from pixlane.errors import InvalidArgument
from pixlane.settings import Settings

log = logging.getLogger("pixlane.worker")

VIPS_ENVIRONMENT = {"VIPS_CONCURRENCY": "1"}
"""One thread for each process, as there is a process for each core."""


def prepare_environment() -> None:
    """In the parent, before anything loads libvips (its settings are read once) and before Celery looks for its own.

    Celery lets its variables outdo what the application says: another project's CELERY_BROKER_URL would take this worker away.
    """
    os.environ.update(VIPS_ENVIRONMENT)
    strange = sorted(name for name in os.environ if name.startswith("CELERY_"))
    for name in strange:
        del os.environ[name]
    if strange:
        log.warning("not for this worker, ignored: %s", ", ".join(strange))


def check(settings: Settings, app: Celery) -> None:
    """That no limit undoes another one. Raises InvalidArgument."""
    if settings.soft_timeout_s >= settings.hard_timeout_s:
        raise InvalidArgument(
            f"PIXLANE_SOFT_TIMEOUT_S must be below PIXLANE_HARD_TIMEOUT_S ({settings.hard_timeout_s:g} s), "
            f"got {settings.soft_timeout_s:g}",
            limit=settings.hard_timeout_s,
            actual=settings.soft_timeout_s,
        )
    longest_s = max([app.conf.task_time_limit, *(each["time_limit"] for each in app.conf.task_annotations.values())])
    visible_again_s = app.conf.broker_transport_options.get("visibility_timeout")
    if visible_again_s is not None and visible_again_s <= longest_s:
        raise InvalidArgument(
            f"a message must not come back while its job may run: the visibility timeout must be above {longest_s:g} s, "
            f"got {visible_again_s:g}",
            limit=longest_s,
            actual=visible_again_s,
        )


def limit_child(settings: Settings) -> None:
    """In a child, at its start: the limit of its memory, and the imports that every job needs.

    RLIMIT_DATA and not RLIMIT_AS: a screenshot of 2 MP holds 60 MB of data but reserves up to 470 MB of address space.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = settings.max_child_bytes if hard == resource.RLIM_INFINITY else min(settings.max_child_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    _load_engines()


def _load_engines() -> None:
    import pyvips

    import pixlane.imaging.pipeline  # noqa: F401 - the first image should not wait for it

    # Images do not come twice; a cache of operations only holds their memory.
    pyvips.cache_set_max(0)
