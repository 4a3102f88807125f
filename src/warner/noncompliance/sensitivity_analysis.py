"""Sensitivity analysis: dependence of a result on respondents who ignore the design and give the safe report.

How many they are, one sample cannot tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np

from warner.designs.exact import Number, probability
from warner.designs.labels import positions
from warner.estimators import inv, mle
from warner.inference.comparisons import answers_of_interest, remainder
from warner.inference.intervals import Confidence, limits
from warner.reports.tallies import Tally
from warner.results import Column, Estimates, TableResult, check_level
from warner.text import enumerated, level_text, reports_counted
from warner.typesetting import cells, labels

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.documents import Document


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(TableResult):
    """Shares as functions of the share of respondents who gave the safe report regardless of the design."""

    tally: Tally
    safe: str | int  # the report that those respondents gave
    cheating: Array  # their share, as assumed in each row
    shares: Array  # unbiased, (rows, k); outside 0 to 1 where reports contradict the assumption, or by sampling error
    most_likely: Array
    low: Array  # intervals for the population, given the assumption
    high: Array
    level: float
    approximate: bool  # the level holds only approximately: with weights, or where no single count shows a share

    _rows_key = "values"

    def _columns(self) -> list[Column]:
        """Return the columns, a row for each assumed share and answer; of two answers, readers see the first alone."""
        rows, k = self.shares.shape
        table = {
            "cheating": np.repeat(self.cheating, k),
            "value": np.array(list(self.tally.domain) * rows),
            "share": self.shares.ravel(),
            "most_likely": self.most_likely.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
        }
        kept = np.isin(np.arange(rows * k) % k, answers_of_interest(k))
        about = f"{'approximate ' if self.approximate else ''}{level_text(self.level)} interval (population, %)"
        shown = Estimates.of_table(table, "share", kept, "share")
        return [
            *starmap(Column, table.items()),
            Column(heading="cheating (%)", texts=cells(100 * table["cheating"][kept])),
            Column(heading="value", texts=labels(table["value"][kept])),
            *shown.shown("share", about, further={"most likely": table["most_likely"][kept]}),
        ]

    def _title(self) -> str:
        return f"Shares, if some respondents reported {self.safe!r} regardless of the design"

    def _footnotes(self) -> list[str]:
        number = reports_counted(self.tally.n, weighted=self.tally.weighted)
        rest = [remainder(self.tally.domain)] if self.tally.k == 2 else []
        outside = bool(((self.shares < 0) | (self.shares > 1)).any())
        speaks = ["shares outside 0 to 100 % are due to sampling error, or speak against that much cheating"] * outside
        assumed = "Cheating is assumed to be independent of the trait. No count can confirm that."
        return [f"N = {number}", *rest, assumed, *speaks]

    def _facts(self) -> Document:
        about = {"design": self.tally.design.to_dict(), "safe": self.safe}
        return {**about, "level": self.level, "approximate": self.approximate}


def sensitivity(
    tally: Tally, safe: str | int, cheating: Sequence[Number] = (0, 0.05, 0.1, 0.2, 0.3), *, level: float = 0.95
) -> Sensitivity:
    r"""Estimate shares under assumed shares of respondents who ignore the design and give the safe report.

    If a share c of people reports ``safe`` whatever the device says and whatever the truth is, a report has the
    probabilities :math:`(1-c) C + c\,[\text{report} = \text{safe}]` instead of C, and that design is undone. Those
    people are assumed to be independent of the trait. If it is mostly people with the trait who play safe, the
    prevalence is higher than any row says, by up to c. One sample cannot tell c; two can, see `cheating_detection`.

    Parameters
    ----------
    tally : Tally
        Reports under one design that can be written as a table of probabilities, without groups.
    safe : str or int
        The report that gives nothing away: in most designs "no".
    cheating : sequence of numbers
        Shares to assume, each at least 0 and below 1.
    level : float
        Confidence level of the intervals, given c.

    Returns
    -------
    Sensitivity
        With ``table()``, ``text()`` and ``to_json()``.

    Examples
    --------
    40 of 100 say yes where the truth is told with probability 3/4, and safe is "no". If a fifth plays safe, a yes has
    probability 0.8 * 0.75 = 0.6 with the trait and 0.8 * 0.25 = 0.2 without: (0.4 - 0.2) / 0.4 = 0.5.

    >>> from warner import Tally
    >>> from warner.surveys import warner
    >>> sensitivity(Tally(warner("3/4"), [40, 60]), "no", (0, 0.2))
    Shares, if some respondents reported 'no' regardless of the design
    cheating (%)  value  share (%)  most likely (%)  95 % interval (population, %)
               0  yes         30.0             30.0                   10.7 to 50.6
              20  yes         50.0             50.0                   25.8 to 75.7
    N = 100 reports.
    The share of 'no' is 100 % minus that of 'yes'.
    Cheating is assumed to be independent of the trait. No count can confirm that.
    """
    check_level(level)
    given: object = tally
    if not isinstance(given, Tally):
        raise TypeError(
            f"sensitivity needs a Tally, reports of one design, but got {type(given).__name__}; take the parts of a "
            "pool one part at a time"
        )
    if tally.by:
        raise ValueError("sensitivity needs a tally without groups, but got one with groups; take one group at a time")
    try:
        channel = tally.design.as_channel()
    except (TypeError, ValueError) as error:
        raise TypeError(f"sensitivity needs a design with a table of probabilities: {error}") from None
    column = int(positions([safe], channel.outputs)[0])
    if column < 0:
        raise ValueError(
            f"safe must be a possible report of the design, but {safe!r} is none of "
            f"{enumerated([repr(report) for report in channel.outputs])}"
        )
    if isinstance(cheating, str) or not isinstance(cheating, Sequence):
        raise TypeError(f"cheating must be a sequence of shares, such as (0, 0.1), but got {cheating!r}")
    assumed = [probability("cheating", share) for share in cheating]
    if not assumed or 1 in assumed:
        raise ValueError(
            f"cheating must be shares of at least 0 and below 1, but got {cheating!r}: if all cheat, "
            "shares are not identified"
        )
    tallies = [tally.under(channel.contaminated(column, share)) for share in assumed]
    intervals = [limits(contaminated, Confidence(level)) for contaminated in tallies]
    return Sensitivity(
        tally,
        safe,
        np.array([float(share) for share in assumed]),
        np.array([inv(tally.counts, contaminated.design) for contaminated in tallies]),
        np.array([mle(tally.counts, contaminated.design) for contaminated in tallies]),
        np.array([row.low[0] for row in intervals]),
        np.array([row.high[0] for row in intervals]),
        level,
        approximate=not tally.simple or not all(row.exact for row in intervals),
    )
