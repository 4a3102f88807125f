"""Real data, which are not part of the project: from the folder that WARNER_DATA names, or from ../shared/data."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(os.environ.get("WARNER_DATA", Path(__file__).parents[2] / "shared" / "data"))


def data_file(name: str) -> Path:
    """Return the path of a file of real data, or skip the test."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"real data: there is no {name} in the folder that WARNER_DATA names, nor in ../shared/data")
    return path


def columns(name: str) -> dict[str, list[Any]]:
    """Return the columns of a CSV file; what is not a number is a text, and NA or nothing is None."""
    with data_file(name).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {key: [_value(row[key]) for row in rows] for key in rows[0]}


def published() -> dict[str, Any]:
    """Return what was published, and recomputed, of two surveys with covariates."""
    result: dict[str, Any] = json.loads(data_file("regression/published.json").read_text(encoding="utf-8"))
    return result


def _value(text: str) -> Any:
    if text in {"", "NA"}:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
