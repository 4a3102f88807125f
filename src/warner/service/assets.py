"""Static files of the pages, under addresses that hold a hash of what is in them: browsers may keep them for ever."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

WEB_FOLDER = Path(__file__).parent / "web"
CONTENT_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def assets() -> dict[str, bytes]:
    """Give the files that browsers may ask for, by name."""
    files = [path for path in WEB_FOLDER.iterdir() if path.suffix in CONTENT_TYPES and path.name != "package.json"]
    return {path.name: path.read_bytes() for path in sorted(files)}


@cache
def version() -> str:
    """Give one hash of all files: a module finds those that it imports beside itself, in the same version."""
    spelled = b"".join(
        name.encode() + b"\0" + hashlib.sha256(content).digest() for name, content in sorted(assets().items())
    )
    return hashlib.sha256(spelled).hexdigest()[:16]


def address(name: str) -> str:
    """Give the address of a file on its own server."""
    return f"/static/{version()}/{name}"
