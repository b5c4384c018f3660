"""What this machine, or the container that it seems to be, offers: cores and memory."""

from __future__ import annotations

import os
from pathlib import Path

_CGROUP_MEMORY = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_CGROUP_CPU = Path("/sys/fs/cgroup/cpu.max")


def memory_bytes() -> int:
    """Physical memory, or the container's limit where that is smaller."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CGROUP_MEMORY:
        text = _read(path)
        if text.isdigit():
            found.append(int(text))
    return min(found)


def cores() -> int:
    """Cores that this process may use, at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _read(_CGROUP_CPU).partition(" ")
    if quota.isdigit() and period.isdigit():
        count = min(count, -(-int(quota) // int(period)))
    return max(1, count)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
