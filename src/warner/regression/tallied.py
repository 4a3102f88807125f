"""Reports that were counted by what is known of people: a grouped tally, or a pool of several, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.regression.collapsing import Amounts
from warner.regression.covariates import Column, column
from warner.regression.readings import People, Readings, numbered_reports
from warner.words import enumerated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warner.arrays import Counts, Integers
    from warner.reports.pools import Pool
    from warner.reports.tallies import Tally

NAMED = 5  # names in an error


def people_of_tally(tally: Tally | Pool, variables: Sequence[str], within: Mapping[str, str]) -> People:
    """Give a row for each group and report of which there are any."""
    for name in (*variables, *within.values()):
        if name not in tally.by:
            grouped_by = enumerated([repr(one) for one in tally.by], NAMED) or "nothing"
            raise ValueError(
                f"the tally must be grouped by {name!r}, which the model uses, but is grouped by {grouped_by}: "
                f"tally(..., by=[{name!r}, ...])"
            )
    cells = [_cells(part) for part in tally.parts]
    design = np.repeat(np.arange(len(cells)), [len(group) for group, _, _ in cells])
    group, people = (np.concatenate([cell[place] for cell in cells]).astype(np.int64) for place in (0, 2))
    parts = [
        numbered_reports(part.design, cell[1], columns=True) for part, cell in zip(tally.parts, cells, strict=True)
    ]
    report = np.concatenate([part.report for part in parts])
    tables = tuple(part.table for part in parts)
    read = Readings(design, report, np.zeros_like(design), tuple(part.likelihood for part in parts), tables)

    def known(name: str) -> Column:
        values, missing, _ = column(name, [group[tally.by.index(name)] for group in tally.groups])
        return Column(values[group], missing[group])

    amounts = Amounts(people, people.astype(np.float64), people.astype(np.float64))
    covariates = {name: known(name) for name in variables}
    return People(read, covariates, {role: known(name) for role, name in within.items()}, amounts)


def _cells(part: Tally) -> tuple[Integers, Counts, Counts]:
    """Give groups, reports and how often each of these was made in each of those."""
    if part.design.sufficient is not None:
        whole = part.counts if part.design.sufficient == "counts" else part.histogram
        if whole is not None:
            table = np.atleast_2d(whole)
            group, report = np.nonzero(table)
            return group, report, table[group, report]
    if part.kept is None:
        raise TypeError(
            "the tally must keep its reports, because their likelihood does not follow from the counts under this "
            "design: tally(..., keep=True)"
        )
    blocks = [(place, block) for place in range(len(np.atleast_1d(part.n))) for block in part.kept.blocks(place)]
    group = np.repeat([place for place, _ in blocks], [len(block.reports) for _, block in blocks])
    amounts = [np.ones(len(block.reports)) if block.amounts is None else block.amounts for _, block in blocks]
    return group, np.concatenate([block.reports for _, block in blocks]), np.concatenate(amounts)
