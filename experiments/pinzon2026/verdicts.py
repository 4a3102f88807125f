"""Claims and verdicts: what every claim consists of, and the words that it is judged with."""

from __future__ import annotations

from typing import NamedTuple

HOLDS, CORRECTED, FAILS = "holds", "holds with a correction", "does not hold"
EQUAL_ERRORS = 1e-9  # relative: two errors that are closer are the same number, rounded
SAMPLING_ERRORS = 4.0  # a difference from theory within so many of them is sampling error


class Claim(NamedTuple):
    """A statement, where it stands, what was measured, and the verdict."""

    statement: str
    place: str
    measured: str
    verdict: str


def verdict(*, holds: bool, corrected: bool = False) -> str:
    """Choose the word: as it stands, with a correction, or not at all."""
    return HOLDS if holds else CORRECTED if corrected else FAILS
