"""Reports that were counted by what is known of people: a grouped tally, or a pool of several, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.collapsing import Amounts
from warner.regression.covariates import Column, column
from warner.regression.reports import People, Readings, numbered_columns, numbered_reports
from warner.words import enumerated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warner.arrays import Counts, Integers
    from warner.regression.reports import Numbered
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
    parts = [cell.reports for cell in cells]
    design = np.repeat(np.arange(len(cells)), [len(cell.group) for cell in cells])
    group = np.concatenate([cell.group for cell in cells])
    people = np.concatenate([cell.people for cell in cells]).astype(np.int64)
    report = np.concatenate([part.report for part in parts])
    tables = tuple(part.table for part in parts)
    read = Readings(design, report, np.zeros_like(design), tuple(part.likelihood for part in parts), tables)

    def known(name: str) -> Column:
        values = [values[tally.by.index(name)] for values in tally.groups]
        # A tally of a text file has its groups as texts: they are numbers if all are, as in the file itself.
        written = all(isinstance(value, str | None) for value in values)
        read = column(name, values, text=written)
        return Column(read.values[group], read.missing[group])

    amounts = Amounts(people, people.astype(np.float64), people.astype(np.float64))
    covariates = {name: known(name) for name in variables}
    return People(read, covariates, {role: known(name) for role, name in within.items()}, amounts)


class Cells(NamedTuple):
    """Groups, reports, and how many people of each of those made each of these."""

    group: Integers
    reports: Numbered
    people: Counts


def _cells(part: Tally) -> Cells:
    told = {"counts": part.counts, "histogram": part.histogram, None: None}[part.design.sufficient]
    if told is not None:
        table = np.atleast_2d(told)
        group, column = np.nonzero(table)
        return Cells(group, numbered_columns(part.design, column), table[group, column])
    if part.kept is None:
        raise TypeError(
            "the tally must keep its reports, because their likelihood does not follow from the counts under this "
            "design: tally(..., keep=True)"
        )
    blocks = [(place, block) for place in range(len(np.atleast_1d(part.n))) for block in part.kept.blocks(place)]
    group = np.repeat([place for place, _ in blocks], [len(block.reports) for _, block in blocks])
    amounts = [np.ones(len(block.reports)) if block.amounts is None else block.amounts for _, block in blocks]
    reports = np.concatenate([block.reports for _, block in blocks])
    return Cells(group, numbered_reports(part.design, reports), np.concatenate(amounts))
