"""New files: never in the place of another one, for their owner only, and on the disk before they have their name."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def fresh(target: Path) -> Iterator[Path]:
    """Give an empty private file to write to; it becomes `target` when all went well, if there is no such file yet."""
    if target.exists():
        raise FileExistsError(f"{target} already exists and is not overwritten; give another name")
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        part.touch(mode=0o600, exist_ok=False)
        yield part
        _sync(part)
        try:
            os.link(part, target)  # which never takes the place of a file
        except FileExistsError:
            raise FileExistsError(f"{target} already exists and is not overwritten") from None
        except OSError:  # a file system without links
            target.touch(mode=0o600, exist_ok=False)
            part.replace(target)
        if os.name != "nt":
            _sync(target.parent)  # the name, too, must outlive a power cut
    finally:
        part.unlink(missing_ok=True)
        part.with_name(f"{part.name}-journal").unlink(missing_ok=True)


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)
