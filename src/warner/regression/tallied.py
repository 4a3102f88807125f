"""Tallies as data of a model: reports that were counted by what is known of people, as rows.

A row is a group and a report of which there are any, of a grouped tally or of the tallies of a pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.reports import (
    ReportLikelihoods,
    numbered_columns,
    numbered_reports,
    refuse_different_answers,
)
from warner.reports.columns import Column, column
from warner.reports.loading import Loaded
from warner.words import enumerated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts, Integers
    from warner.regression.reports import Numbered
    from warner.reports.pools import Pool
    from warner.reports.tallies import Tally


def rows_of_tally(
    tally: Tally | Pool, names: Sequence[str], values: Array | None = None
) -> tuple[Loaded, ReportLikelihoods]:
    """Give these columns of a tally and how many people each row stands for, and what their reports say.

    With `values`, the numbers that answers stand for, reports are scored.
    """
    for name in names:
        if name not in tally.by:
            grouped_by = enumerated([repr(one) for one in tally.by]) or "nothing"
            raise ValueError(
                f"the tally must be grouped by {name!r}, which the model uses, but is grouped by {grouped_by}: "
                f"tally(..., by=[{name!r}, ...])"
            )
    if tally.weighted:
        raise TypeError(
            "data must not be a tally of weights: it keeps the sum of their squares for each group, but not for each "
            "report; give the data themselves, with weights="
        )
    if tally.sample is not None:
        raise TypeError(
            "data must not be a tally with strata, clusters or replicate weights; give the data themselves, with "
            "strata= and clusters="
        )
    cells = [_cells(part, values) for part in tally.parts]
    group = np.concatenate([cell.group for cell in cells])

    def known(name: str) -> Column:
        values = [values[tally.by.index(name)] for values in tally.groups]
        # A tally of a text file has its groups as texts: they are numbers if all are, as in the file itself.
        written = all(isinstance(value, str | None) for value in values)
        read = column(name, values, text=written)
        return Column(read.values[group], read.missing[group])

    people = np.concatenate([cell.people for cell in cells]).astype(np.int64)
    left_out = int(np.sum(tally.missing)), int(np.sum(tally.unknown))
    loaded = Loaded({name: known(name) for name in names}, people, library=tally.backend, left_out=left_out)
    return loaded, _likelihoods(tally, cells)


def _likelihoods(tally: Tally | Pool, cells: Sequence[Cells]) -> ReportLikelihoods:
    designs = tuple(part.design for part in tally.parts)
    labels = ("",) if len(designs) == 1 else tuple(str(place + 1) for place in range(len(designs)))
    refuse_different_answers(designs, labels)
    design = np.repeat(np.arange(len(cells)), [len(cell.group) for cell in cells])
    parts = [cell.reports for cell in cells]
    report = np.concatenate([part.report for part in parts])
    return ReportLikelihoods.of_parts(designs, labels, design, report, np.zeros_like(design), parts)


class Cells(NamedTuple):
    """Groups, reports, and how many people of each of those made each of these."""

    group: Integers
    reports: Numbered
    people: Counts


def _cells(part: Tally, values: Array | None) -> Cells:
    told = {"counts": part.counts, "histogram": part.histogram, None: None}[part.design.sufficient]
    if told is not None:
        table = np.atleast_2d(told)
        group, column = np.nonzero(table)
        return Cells(group, numbered_columns(part.design, column, values), table[group, column])
    if part.kept is None:
        raise TypeError(
            "the tally must keep its reports, because their likelihood does not follow from the counts under this "
            "design: tally(..., keep=True)"
        )
    blocks = [(place, block) for place in range(len(np.atleast_1d(part.n))) for block in part.kept.blocks(place)]
    group = np.repeat([place for place, _ in blocks], [len(block.reports) for _, block in blocks])
    amounts = [np.ones(len(block.reports)) if block.amounts is None else block.amounts for _, block in blocks]
    reports = np.concatenate([block.reports for _, block in blocks])
    return Cells(group, numbered_reports(part.design, reports, values), np.concatenate(amounts))
