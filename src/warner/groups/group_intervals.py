"""Intervals of the shares of groups: what they hold for, and the exact ones where shares show in binomial counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import objects
from warner.groups.fab_intervals import Prior, fab_limits, from_the_others
from warner.inference.binomial import Binomial
from warner.inference.ranking import reports_in_papers
from warner.results import Result, plain
from warner.typesetting import Printed, interval_cells, labels, percent_cells, share_decimals
from warner.words import level_text

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Sets
    from warner.documents import Document
    from warner.groups.direct_estimates import DirectEstimates
    from warner.reports.pools import Collected

COVERAGE_WORDS = {"average": "on average", "each": "for each group"}
INTERVAL_HEADINGS = {
    "average": "interval, on average over the groups",
    "each": "interval, for each group",
}
METHOD_NAMES = {"average": "partially pooled", "each": "fab"}


def check_kind(kind: str) -> None:
    """Refuse what intervals of groups cannot hold for."""
    if kind not in INTERVAL_HEADINGS:
        raise ValueError(f"kind must be {' or '.join(map(repr, INTERVAL_HEADINGS))}, but got {kind!r}")


@dataclass(frozen=True, eq=False, repr=False)
class GroupIntervals(Result):
    """Intervals of shares in all groups.

    Attributes
    ----------
    tally : Tally or Pool
        The reports.
    low, high : ndarray of shape (groups,), or (groups, k)
        The ends: of one share in each group, or of all.
    level : float
        Their level.
    kind : str
        Whether it holds on ``average`` over the groups, or for ``each`` of them.
    """

    tally: Collected
    low: Array
    high: Array
    level: float
    kind: str

    def table(self) -> dict[str, Counts]:
        """Give the ends as columns."""
        return {"low": self.low.ravel(), "high": self.high.ravel()}

    def printed(self, **_: Any) -> Printed:
        """Give a table for a paper: a row for each group, and answer if there are several."""
        answers = self.low.size // len(self.tally.groups)
        columns = {
            name: labels(np.repeat(objects(key[place] for key in self.tally.groups), answers))
            for place, name in enumerate(self.tally.by)
        }
        if answers > 1:
            columns["value"] = labels(np.tile(objects(self.tally.domain), len(self.tally.groups)))
        decimals = share_decimals(self.low, self.high)
        low, high = (percent_cells(ends.ravel(), decimals) for ends in (self.low, self.high))
        name = f"{level_text(self.level)} {INTERVAL_HEADINGS[self.kind]}"
        columns[f"{name} (%)"] = interval_cells(low, high)
        return Printed(columns, "Intervals of shares by group", (f"{reports_in_papers(self.tally)}.",))

    def to_dict(self) -> Document:
        """Give the intervals as what JSON can hold."""
        return {
            "low": plain(self.low),
            "high": plain(self.high),
            "level": self.level,
            "kind": self.kind,
            "holds": COVERAGE_WORDS[self.kind],
        }

    def text(self) -> str:
        """Say it in a line."""
        return f"<{self.low.size:,} intervals: {level_text(self.level)} {INTERVAL_HEADINGS[self.kind]}>"


def exact_limits(
    tally: Collected,
    sets: Sets | None,
    place: int,
    direct: DirectEstimates,
    covariates: Array,
    level: float,
    along: str | None,
) -> tuple[Array, Array]:
    """Give the FAB limits of one set of answers; from 0 to 1 for a group without reports."""
    if along is not None:
        raise ValueError('kind must be "average" along an order: limits for each group are not known there')
    counts = binomial_counts(tally, sets, place)
    some = np.isfinite(counts.count)
    prior = from_the_others(direct, covariates)
    low, high = np.zeros(some.size), np.ones(some.size)
    chosen = Binomial(*(part[some] for part in counts)), Prior(*(part[some] for part in prior))
    low[some], high[some] = fab_limits(*chosen, level)
    return low, high


class NotBinomialError(ValueError):
    """Shares do not show in one binomial count of each group."""


def binomial_counts(tally: Collected, sets: Sets | None, place: int) -> Binomial:
    """Give the binomial counts that show the share of a set, NaN for groups without reports."""
    result = Binomial(*np.full((4, len(tally.groups)), np.nan))
    for part in tally.parts:
        groups = np.flatnonzero(part.answered)
        if part.design.epsilon == 0 or not groups.size:
            continue
        readout = part.readout(groups, sets)
        if not np.broadcast_to(readout.exact, readout.count.shape)[:, place].all():
            raise NotBinomialError(
                'kind must be "average" under a design whose shares do not show in binomial counts; for limits of one '
                "group see warner.estimate"
            )
        if np.isfinite(result.count[groups]).any():
            raise NotBinomialError(
                'kind must be "average" where a group has reports under several designs; for limits of one group see '
                "warner.estimate"
            )
        for values, told in zip(result, (readout.count, readout.trials, readout.base, readout.gain), strict=True):
            values[groups] = np.broadcast_to(told, readout.count.shape)[:, place]
    return result
