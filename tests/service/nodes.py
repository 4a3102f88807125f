"""Node for the tests: found, or the test is skipped with a word."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

import warner

WEB = Path(warner.__file__).parent / "service" / "web"
HERE = Path(__file__).parent
VECTORS = HERE.parent / "reference" / "draws.json"
OLDEST = 20  # the first Node with `crypto` for everybody, and `isWellFormed`


@cache
def node() -> str:
    """Return the path of a Node that is new enough, or skip the test."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("there is no Node here, which runs the browser's modules; on Debian: apt install nodejs")
    version = subprocess.run([path, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < OLDEST:
        pytest.skip(f"Node {OLDEST} or newer runs the browser's modules, but this one is {version}")
    return path
