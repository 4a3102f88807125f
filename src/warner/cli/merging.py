"""Saved tallies in the place of reports: found by what they say that they are, and added up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from warner.documents import format_of, resolved
from warner.reports.pools import POOL_FORMAT, pool
from warner.reports.tallies import FORMAT, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.cli.sources import Source
    from warner.designs import Design
    from warner.reports.pools import Pool


def saved_in(reports: Any) -> list[Path]:
    """Tell which of these files are saved tallies: all of them, or none."""
    places = reports if isinstance(reports, list) else [reports]
    files = [Path(place) for place in places if isinstance(place, str | Path)]
    saved = [file for file in files if format_of(file) in {FORMAT, POOL_FORMAT}]
    if saved and len(saved) < len(files):
        other = next(file for file in files if file not in saved)
        raise ValueError(
            f"tallies and reports must not be mixed, but {saved[0]} is a tally and {other} is not; count the reports "
            "first, with warner tally, and give both tallies"
        )
    return saved


def merged(saved: Sequence[Path], source: Source, design: Design | None) -> Tally | Pool:
    """Read saved tallies, and add them up; options that say how reports are read must not be given."""
    columns = source.columns
    given = {"--column": columns.column, "--weights": columns.weights, "--counts": columns.counts}
    for option, value in {**given, "--where": columns.where or None}.items():
        if value is not None:
            raise ValueError(f"{option} must be left out for {saved[0]}, a tally, whose reports are counted already")
    if not source.reading.dialect.plain:
        raise ValueError(f"--encoding, --decimal, --missing and --sheet must be left out for {saved[0]}, a tally")
    if len({resolved(file) for file in saved}) < len(saved):
        raise ValueError("each tally must be given once, or its reports would be counted twice")
    tallies = [Tally.load(file) for file in saved]
    for file, counted in zip(saved, tallies, strict=True):
        if columns.by and tuple(columns.by) != counted.by:
            grouped = f"is grouped by {', '.join(counted.by)}" if counted.by else "has no groups"
            raise ValueError(f"--by must be the groups of the tally, but {file} {grouped}; count the reports again")
        for part in counted.parts:
            if design is not None and part.design != design:
                raise ValueError(f"the design of {file} must be the one that is given, but it is {part.design!r}")
    return tallies[0] if len(tallies) == 1 else pool(part for counted in tallies for part in counted.parts)
