"""File lock: a file that one process holds at a time."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class FileLock:
    """A lock on a file of its own, beside the file that it is for; it ends with the process, however that ends.

    It is not taken on the database itself: to close any handle of that file would let go of SQLite's own locks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(f"{path.name}-lock")
        while True:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _lock(self._file)
                if os.path.samestat(os.fstat(self._file), self.path.stat()):
                    return
            except _HELD:
                os.close(self._file)
                raise BlockingIOError(f"another process is collecting into {path}") from None
            except FileNotFoundError:
                pass
            os.close(self._file)  # whoever held it removed the file in between: that lock would keep out nobody

    def release(self) -> None:
        """Let go of the lock, and remove its file."""
        if sys.platform != "win32":  # where nobody can remove a file that is open
            with contextlib.suppress(FileNotFoundError):  # somebody else removed it, and may have a new one
                if os.path.samestat(os.fstat(self._file), self.path.stat()):
                    self.path.unlink()  # while the lock is held, so that it is still ours
        os.close(self._file)


if sys.platform == "win32":
    import msvcrt

    _HELD = PermissionError

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    _HELD = BlockingIOError

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
