"""Who uses the embedded service: one locked file each, and the folders that they named.

A user is there as long as its file is locked: until it leaves, ends or is killed. A process that was forked from a user after
it attached counts as that user. Everything here is called with the door held.
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pixlane.embedded.folder import Folder, write_whole
from pixlane.embedded.locks import is_held, release, try_lock


@dataclass
class User:
    """One use of the service by this process."""

    path: Path
    lock: BinaryIO

    def leave(self) -> None:
        # Out of sight first: whoever sees the file may count on its lock.
        self.path.unlink(missing_ok=True)
        release(self.lock)


def enter(folder: Folder, root: str | None) -> User:
    """Makes the file of a new user; `root` is the folder whose files workers may read for it."""
    path = folder.users / f"{os.getpid()}-{uuid.uuid4().hex[:12]}.json"
    lock = try_lock(path)
    if lock is None:
        raise AssertionError(f"a new file is locked: {path}")
    resolved = None if root is None else os.path.realpath(root)
    lock.write(json.dumps({"pid": os.getpid(), "root": resolved}).encode())
    lock.flush()
    return User(path, lock)


def present(folder: Folder) -> dict[str, str | None]:
    """File name of each user that is there -> the root that it named; files of users that are gone are removed."""
    found: dict[str, str | None] = {}
    for path in sorted(folder.users.glob("*.json")):
        try:
            text = path.read_text()
        except FileNotFoundError:  # left since it was listed
            continue
        if is_held(path):
            found[path.name] = json.loads(text)["root"]
        else:
            path.unlink(missing_ok=True)
    return found


def publish_roots(folder: Folder, users: dict[str, str | None]) -> None:
    """Tells the workers which folders they may read: those of the users, nothing else."""
    write_whole(folder.roots, json.dumps(sorted({root for root in users.values() if root is not None})))
