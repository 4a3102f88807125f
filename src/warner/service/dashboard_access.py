"""Access to the dashboard: a link that is printed at the start and works once, within ten minutes; sessions, which end.

The link's key buys a session, which the browser keeps as a cookie. Neither key nor session is kept here, only hashes of
both, and they are compared in constant time. For a service that starts without anybody looking, the key comes from a
file that only its owner can read; such a key may be used again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import shlex
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

LINK_SECONDS = 600.0  # seconds after which an unused link is dead
UNUSED_SESSION_SECONDS = 86_400.0  # seconds after which an unused session ends; an open page uses it
SESSION_SECONDS = 7 * 86_400.0  # seconds after which any session ends
MOST_SESSIONS = 64  # with a key that may be used again; then the oldest one ends
ACCESS_KEY = re.compile(r"[A-Za-z0-9_-]{22,256}")  # at least 128 bits, in characters that an address takes as they are
RIGHTS_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO  # the rights of a file that nobody but its owner must have


def new_key() -> str:
    """Draw a key of 256 bits."""
    return secrets.token_urlsafe(32)


def admission(key_file: str | os.PathLike[str] | None = None) -> tuple[Admission, str]:
    """Open a door with a new key, or with that of a file; and give what stands for the key in the link that is printed.

    A key that may be used again is not printed, where a log would keep it: there the link is for a shell.
    """
    if key_file is not None:
        return Admission.from_file(key_file), f"$(cat {shlex.quote(os.fspath(key_file))})"
    key = new_key()
    return Admission(key), key


class Admission:
    """The door of the dashboard.

    Parameters
    ----------
    key : str
        What the link holds.
    reusable : bool
        Whether the key may be used again, and never expires.
    clock : callable
        Tells the time in seconds.

    Examples
    --------
    >>> key = new_key()
    >>> admission = Admission(key)
    >>> session = admission.enter(key)
    >>> admission.admits(session)
    True
    >>> admission.enter(key) is None  # it was used
    True
    """

    def __init__(self, key: str, *, reusable: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        if not ACCESS_KEY.fullmatch(key):
            raise ValueError("key must be 22 to 256 letters, digits, hyphens and underscores")
        self._key: bytes | None = _hashed(key)
        self._reusable, self._clock = reusable, clock
        self._end = clock() + LINK_SECONDS
        self._sessions: dict[bytes, _Session] = {}

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Admission:
        """Read a key that may be used again from a file that only its owner can read."""
        file = Path(path)
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):  # reading a pipe would wait for somebody who writes to it
            raise ValueError(f"the key file must be a regular file, but {file} is not; write the key to a file")
        if os.name == "posix" and mode & RIGHTS_OF_OTHERS:
            raise ValueError(f"the key file must be readable by its owner alone, but {file} is not; chmod 600 {file}")
        try:
            return cls(file.read_text(encoding="ascii").strip(), reusable=True)
        except ValueError:  # which would name the key, if it cannot be decoded
            raise ValueError(
                f"the key file must hold 22 to 256 letters, digits, hyphens and underscores, but {file} does not; make "
                f"one with: (umask 077; openssl rand -hex 32 > {file})"
            ) from None

    def enter(self, key: str) -> str | None:
        """Give a session for the key; None if it is not the key, was used, or is too old."""
        if self._key is None or (not self._reusable and self._clock() >= self._end):
            self._key = None
            return None
        if not hmac.compare_digest(self._key, _hashed(key)):
            return None
        if not self._reusable:
            self._key = None
        session = new_key()
        self._sessions[_hashed(session)] = _Session(self._clock(), self._clock())
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return session

    def admits(self, session: str) -> bool:
        """Return True if a session was bought with the key and has not ended; this counts as a use of it."""
        now, given = self._clock(), _hashed(session)
        self._sessions = {key: one for key, one in self._sessions.items() if not one.ended(now)}
        found = [key for key in self._sessions if hmac.compare_digest(given, key)]
        for key in found:
            self._sessions[key] = self._sessions[key]._replace(used=now)
        return bool(found)


class _Session(NamedTuple):
    """When a session began, and when it was last used."""

    began: float
    used: float

    def ended(self, now: float) -> bool:
        return now - self.began >= SESSION_SECONDS or now - self.used >= UNUSED_SESSION_SECONDS


def _hashed(secret: str) -> bytes:
    return hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=32, person=b"dashboard").digest()
