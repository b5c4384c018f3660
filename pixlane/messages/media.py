"""Files of tool results: what a tool returned, named by its content, readable by nobody else, gone a day after its last use.

Nothing runs in the background: each call that keeps something also removes what is old.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from pixlane import settings
from pixlane.errors import OutputUnwritable

LIFE_S = 24 * 3_600
FOLDER_MODE = 0o700
OTHERS = 0o077
OTHERS_WRITE = 0o022
_KEPT = re.compile(r"[0-9a-f]{64}\.[a-z0-9]{1,8}(\.old)?|\.keep-\w+")


class MediaFolder:
    """A private folder of such files.

    Args:
        path: None: the setting `media_dir`, or `pixlane/media` in the user's cache folder.
        life_s: a file is removed so long after it was last kept, seconds.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, life_s: float = LIFE_S) -> None:
        self.path = Path(os.path.abspath(os.path.expanduser(path))) if path is not None else _usual()
        self.life_s = life_s

    def keep(self, data: bytes, sha256: str, extension: str) -> str:
        """The absolute path of a file, mode 0600, that holds the data. Raises OutputUnwritable.

        The same content has the same path; its day begins again.
        """
        path = self.path / f"{sha256}.{extension}"
        try:
            self._enter()
            if not self._is_there(path, len(data)):
                self._write(path, data)
        except OSError as error:
            raise OutputUnwritable(f"{path} cannot be written: {error.strerror}", actual=error.strerror) from error
        return str(path)

    def sweep(self) -> int:
        """Removes what is older than its life; files that are not of this kind stay. How many were removed.

        Raises OutputUnwritable where the folder cannot be read or written.
        """
        removed = 0
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    if _KEPT.fullmatch(entry.name):
                        removed += self._remove_if_old(Path(entry.path))
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise OutputUnwritable(f"{self.path} cannot be cleared: {error.strerror}", actual=error.strerror) from error
        return removed

    def _enter(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        status = self.path.stat()
        if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & OTHERS_WRITE):
            mode = f"{stat.S_IMODE(status.st_mode):04o}"
            raise OutputUnwritable(
                f"others can write into {self.path} (mode {mode}, user {status.st_uid}); "
                "name a folder of your own in PIXLANE_MEDIA_DIR",
                limit=f"{FOLDER_MODE:04o}",
                actual=mode,
            )

    def _is_there(self, path: Path, byte_count: int) -> bool:
        """True for the whole file of an earlier call, whose day begins again."""
        try:
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_size != byte_count or status.st_mode & OTHERS:
                return False
            os.utime(path)
        except FileNotFoundError:
            return False
        return True

    def _write(self, path: Path, data: bytes) -> None:
        handle, temporary = tempfile.mkstemp(prefix=".keep-", dir=self.path)  # mode 0600
        try:
            with open(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    def _remove_if_old(self, path: Path) -> bool:
        with suppress(FileNotFoundError):
            if not self._is_old(path):
                return False
            # Another process may keep it at this moment: out of the way first, then looked at again.
            aside = path if path.suffix == ".old" else path.with_name(f"{path.name}.old")
            os.replace(path, aside)
            if self._is_old(aside):
                os.unlink(aside)
                return True
            os.replace(aside, path)
        return False

    def _is_old(self, path: Path) -> bool:
        return time.time() - path.lstat().st_mtime > self.life_s


def _usual() -> Path:
    from pixlane.embedded.folder import user_cache

    named = settings.current().media_dir
    return Path(os.path.abspath(os.path.expanduser(named))) if named else user_cache() / "pixlane" / "media"
