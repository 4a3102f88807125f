"""Values from outside, in the folder `reference`; its README says where each comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "reference"


def reference(name: str) -> Any:
    """Return what a file of the folder holds."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def printed(value: float, published: float) -> None:
    """Agree to every digit that was printed: half a unit of the last one, and a hair for binary fractions."""
    digits = len(repr(published).partition(".")[2])
    assert abs(value - published) <= 0.5 * 10.0**-digits * (1 + 1e-6)
