r"""Goodness of fit of open reports: whether what no answer changes has the law of the design.

Of an open domain hardly two reports are alike, and any value may be held by everybody or by nobody: the support of a
value refutes little. But levels and directions are drawn whatever people hold, so that the counts of
`ancillary_counts` are exactly binomial. Each is tested on both sides, and the smallest p-value is multiplied by the
number of tests: reports that fit are found not to with probability at most 1 - level, exactly. Seen are a client with
other weights of the levels, a weak generator of directions, copies of reports, and reports that were made up without
care; not seen are the wrong odds, crafted reports with honest directions, and dishonest answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import objects
from warner.designs.open.ancillary_counts import AncillaryCount, ancillary_counts
from warner.inference.binomial import at_least, at_most
from warner.results import Result, check_level, plain, rows
from warner.typesetting import Printed, amount_cells, labels, p_value_cells
from warner.words import counted, level_text, p_value, percent, printable, reports_counted, wrapped

if TYPE_CHECKING:
    from warner.arrays import Array, Counts
    from warner.documents import Document
    from warner.reports.open_tallies import OpenTally

MISFITS_NAMED = 3  # in the text, of each group
NOT_SEEN = (
    "No such check can detect other odds than claimed, crafted reports with honest directions, or people who did not "
    "answer honestly. A good fit is no proof; warner audit tests a client itself."
)


@dataclass(frozen=True, eq=False, repr=False)
class OpenCheck(Result):
    """Whether reports of an open domain fit their design, in what no answer changes.

    Attributes
    ----------
    tally : OpenTally
        The reports.
    level : float
        Reports that fit are found not to with probability at most 1 - ``level``, in all groups together.
    counts : tuple of tuple of AncillaryCount
        What was compared, for each group.
    adjusted : tuple of ndarray
        The p-value of each count, two-sided, multiplied by the number of all tests.
    """

    tally: OpenTally
    level: float
    counts: tuple[tuple[AncillaryCount, ...], ...]
    adjusted: tuple[Array, ...]

    @property
    def tests(self) -> int:
        """How many counts were compared."""
        return sum(map(len, self.counts))

    @property
    def p_value(self) -> float:
        """If the reports fit the design, data at least this extreme occur with probability at most this."""
        return min(1.0, float(min(part.min() for part in self.adjusted if part.size)))

    @property
    def fits(self) -> bool:
        """Whether nothing speaks against the design."""
        return self.p_value >= 1 - self.level

    def table(self) -> dict[str, Counts]:
        """Give a row for each count (and group): how often it came, how often it should, and the adjusted p-value."""
        groups = [group for group, part in zip(self.tally.groups or ((),), self.counts, strict=True) for _ in part]
        every = [count for part in self.counts for count in part]
        by = {name: objects(group[place] for group in groups) for place, name in enumerate(self.tally.by)}
        return by | {
            "what": objects(count.what for count in every),
            "count": np.array([count.seen for count in every]),
            "n": np.array([count.n for count in every]),
            "expected": np.array([count.n * count.probability for count in every]),
            "adjusted": np.minimum(1.0, np.concatenate(self.adjusted)),
        }

    def printed(self, **_: Any) -> Printed:
        """Give a table for a paper: what was compared, how often it came and should, and the adjusted p-value."""
        table = self.table()
        columns = {name: labels(table[name]) for name in (*self.tally.by, "what")}
        columns |= {name: amount_cells(table[name]) for name in ("count", "n")}
        columns |= {"expected": [f"{number:,.1f}" for number in table["expected"].tolist()]}
        columns["adjusted p"] = p_value_cells(table["adjusted"])
        reports = f"N = {reports_counted(self.tally.n, weighted=False)}, epsilon {self.tally.shown_epsilon()}."
        return Printed(columns, "Fit of open reports to their design", (reports,))

    def to_dict(self) -> Document:
        """Give what JSON can hold: the verdict, and a row for each count in ``counts``."""
        return {
            "format": "warner open check",
            "version": 1,
            "fits": self.fits,
            "p_value": self.p_value,
            "level": self.level,
            "tests": self.tests,
            "reports": plain(np.asarray(self.tally.n)),
            "by": list(self.tally.by),
            "groups": [list(group) for group in self.tally.groups],
            "counts": rows(self.table()),
            "design": self.tally.design.to_dict(),
        }

    def text(self) -> str:
        """Say it in plain words: the verdict, what it rests on, and what no such check can see."""
        p = p_value(self.p_value)
        verdict = (
            f"What no answer changes fits the design ({p}; a misfit would have p < {1 - self.level:.3g})."
            if self.fits
            else f"The reports do not fit the design: {p}."
        )
        compared = counted(self.tests, "count", "counts")
        basis = (
            f"{reports_counted(self.tally.n, weighted=False)}, claimed epsilon {self.tally.shown_epsilon()}, level "
            f"{level_text(self.level)}. {compared} of levels, of digits of directions and of copies of one direction, "
            "which are drawn whatever people hold, were compared with their exact laws. If the reports fit, data at "
            "least this extreme occur with probability at most p."
        )
        return "\n".join([wrapped([verdict, basis, *self._misfits()]), "", wrapped([NOT_SEEN])])

    def _misfits(self) -> list[str]:
        said = []
        for name, counts, adjusted in zip(self.tally.group_names(), self.counts, self.adjusted, strict=True):
            worst = np.argsort(adjusted, kind="stable")[:MISFITS_NAMED]
            said += [
                f"{f'{printable(name)}: ' if self.tally.by else ''}{counts[place].what} makes up "
                f"{percent(counts[place].seen / counts[place].n)} of {counts[place].n:,} reports; the design says "
                f"{percent(counts[place].probability)}."
                for place in worst.tolist()
                if adjusted[place] < 1 - self.level
            ]
        return said


def check_open(tally: OpenTally, *, level: float = 0.95) -> OpenCheck:
    """Check whether reports of an open domain fit their design, in what no answer changes; see `warner.check`."""
    check_level(level)
    reports, place = tally.rows
    if not len(reports):
        raise ValueError("the tally must hold at least one report, but there is none")
    groups = [reports[place == number] for number in range(max(1, len(tally.groups)))]
    counts = tuple(
        tuple(one for one in ancillary_counts(tally.design, part) if one.n and one.probability < 1) for part in groups
    )
    number = max(1, sum(map(len, counts)))
    return OpenCheck(tally, level, counts, tuple(number * _p_values(part) for part in counts))


def _p_values(counts: tuple[AncillaryCount, ...]) -> Array:
    """Give twice the smaller tail of each count; of the largest of many, a bound on the upper one."""
    from scipy.special import gammaln

    count, n = (np.array([getattr(one, name) for one in counts], dtype=np.int64) for name in ("seen", "n"))
    law = np.array([one.probability for one in counts], dtype=np.float64)
    log_kinds = np.array([one.log_kinds for one in counts], dtype=np.float64)
    many = gammaln(n + 1) - gammaln(count + 1) - gammaln(n - count + 1) - (count - 1) * log_kinds
    two_sided = 2 * np.minimum(at_least(count, n, law), at_most(count, n, law))
    return np.where(log_kinds > 0, np.exp(np.minimum(many, 0.0)), two_sided)
