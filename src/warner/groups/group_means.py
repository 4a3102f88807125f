r"""Means of a number in all groups, and the shares of sets of answers: sums of shares that are pooled as one.

A mean is the share of a fuzzy set (module ``inference.means``), so that it has a direct estimate in every group, with
the sampling variance that the design tells; groups are then drawn towards each other as those of a share are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.groups.direct_estimates import direct_sum
from warner.groups.fay_herriot import Pooled, partially_pooled
from warner.groups.group_intervals import COVERAGE_WORDS, INTERVAL_HEADINGS, METHOD_NAMES, check_kind, exact_limits
from warner.groups.random_walk import RandomWalks, Series
from warner.inference.intervals import Confidence, mirrored
from warner.inference.means import Mean, numbers_of, sets_of
from warner.results import critical_value
from warner.words import level_text

if TYPE_CHECKING:
    from warner.arrays import Array, Sets
    from warner.documents import Document
    from warner.groups.direct_estimates import DirectEstimates
    from warner.groups.group_estimates import GroupEstimates
    from warner.inference.quantities import Rows


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GroupMeans(Mean):
    """Means of a number in all groups, each drawn towards the others as far as its own reports are noise.

    It has the attributes of `Mean <warner.inference.means.Mean>`, with groups; a group without reports has a mean, too.

    Attributes
    ----------
    own : ndarray of shape (groups,)
        The weight of the group's own reports in its mean, from 0 to 1; the rest comes from the other groups.
    kind : str
        Whether intervals hold on ``average`` over the groups, or for ``each`` of them.
    """

    numbers = ("value", "se", "low", "high", "own")

    own: Array
    kind: str

    @property
    def approximate(self) -> bool:
        """Whether the level holds only about: exact limits are those for each group, without weights."""
        return self.kind != "each" or self.weighted

    @property
    def interval_name(self) -> str:
        """Name the intervals, as the shares of groups do."""
        about = "approximate " if self.kind == "each" and self.weighted else ""
        return f"{about}{level_text(self.confidence.level)} {INTERVAL_HEADINGS[self.kind]}"

    def rows(self) -> Rows:
        """Give the means as rows of a table of quantities, which says what their intervals hold for."""
        return super().rows()._replace(method=f"{self.method}, {INTERVAL_HEADINGS[self.kind].partition(', ')[2]}")

    def to_dict(self) -> Document:
        """Give the means as what JSON can hold, and what their intervals hold for."""
        return super().to_dict() | {"kind": self.kind, "holds": COVERAGE_WORDS[self.kind]}


def pooled_share(direct: DirectEstimates, covariates: Array, series: Series | None) -> Pooled:
    """Pool one share of all groups: towards a regression, or along an order."""
    return partially_pooled(direct, covariates) if series is None else RandomWalks(direct, series).pooled()


def pooled_sum(estimates: GroupEstimates, sets: Sets, level: float, kind: str) -> tuple[Pooled, Array, Array]:
    """Pool the shares of one set of answers, which may be fuzzy, and give their limits."""
    reach, tally, matrix = critical_value(level), estimates.tally, estimates.covariates.matrix
    check_kind(kind)
    direct = direct_sum(tally, sets)
    if not direct.informative.any():
        raise ValueError("reports must tell what is asked for, but under this design they do not")
    together = pooled_share(direct, matrix, estimates.series)
    if kind == "each":
        return together, *exact_limits(tally, sets, 0, direct, matrix, level, estimates.along)
    share = np.clip(together.share, 0, 1)
    low, high = (np.clip(share + side * reach * together.error, 0, 1) for side in (-1, 1))
    return together, low, high


def group_means(estimates: GroupEstimates, values: Any, level: float, kind: str) -> GroupMeans:
    """Give the mean of the numbers that answers stand for, of each group; of two answers, as their shares have it."""
    tally = estimates.tally
    x = numbers_of(tally, values)
    least, width = float(x.min()), float(np.ptp(x))
    if width == 0:
        raise ValueError("values must not all be equal, or there is nothing to estimate")
    if mirrored([part.design for part in tally.parts]):
        place = int(x.argmax())
        share, error, own = (part[:, place] for part in (estimates.shares, estimates.errors, estimates.own))
        low, high = estimates.answer_limits(place, level, kind)
    else:
        together, low, high = pooled_sum(estimates, sets_of((x - least) / width), level, kind)
        share, error, own = np.clip(together.share, 0, 1), together.error, together.own
    return GroupMeans(
        value=least + width * share,
        se=width * error,
        low=least + width * low,
        high=least + width * high,
        own=own,
        kind=kind,
        quantity="mean",
        confidence=Confidence(level),
        methods=(METHOD_NAMES[kind],),
        n=tally.n,
        weighted=not tally.simple,
        by=tally.by,
        groups=tally.groups,
    )
