r"""Detection: which answers somebody holds, by tests of "nobody does" that are adjusted for their number (Holm).

If nobody holds an answer, its count is :math:`\text{Bin}(n, q)`: a p-value for each answer, exact. Where a share shows
in no binomial count, there is another one whose tail is bounded, or a sum of scores (`presence_tests`). Only under
tables that are too large to look for these, a share is compared with its standard error, and the result says
*approximate*. Collections that were pooled are combined by Fisher's method: under absence each p-value is at least as
large as a uniform one, independently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import gammaincc, ndtr, ndtri

from warner.inference.binomial import at_each_count, at_least, check_power
from warner.inference.intervals import in_all_groups
from warner.inference.multiple_testing import adjusted
from warner.inference.normal import ratio_to_error
from warner.inference.presence_tests import Evidence, evidence, observed, own_count, smallest_together
from warner.inference.ranking import (
    about_groups,
    answer_columns,
    group_rows,
    listed_groups,
    listed_labels,
    names_of,
    reports_in_papers,
)
from warner.results import Result, check_level, plain
from warner.typesetting import Printed, cells, labels, p_value_cells
from warner.words import level_text, percent, sentence

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Mask, PerGroup
    from warner.designs.contract import Design
    from warner.designs.facts import Readout
    from warner.documents import Document
    from warner.reports.pools import Collected
    from warner.reports.tallies import Tally

HARDEST_ANSWERS = 4  # those whose smallest share is computed for several collections together


@dataclass(frozen=True, eq=False, repr=False)
class Presence(Result):
    """Which answers somebody holds: those whose reports rise above the noise.

    Attributes
    ----------
    p_values : ndarray of shape (k,), or (groups, k)
        Of "nobody holds it", for each answer alone.
    adjusted : ndarray of the same shape
        The p-values, adjusted for the number of answers.
    found : ndarray of bool of the same shape
        Whether the adjusted p-value is at most 1 - ``level``.
    smallest : float or ndarray of shape (groups,)
        The share from which an answer would have been found with probability ``power``.
    level, power : float
        How sure the findings are together; see `warner.Estimate.present`.
    correction : str
        holm or bh.
    approximate : bool
        Whether the p-values hold only about.
    tally : Tally or Pool
        The reports.
    """

    p_values: Array
    adjusted: Array
    found: Mask
    smallest: PerGroup
    level: float
    power: float
    correction: str
    approximate: bool
    tally: Collected

    def table(self) -> dict[str, Counts]:
        """Give a row for each answer (and group): both p-values, and whether it was found."""
        columns = {name: np.ravel(getattr(self, name)) for name in ("p_values", "adjusted", "found")}
        return answer_columns(self.tally) | columns

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: both p-values of each answer, and whether it was found."""
        table = self.table(**options)
        names = {name: labels(table[name]) for name in (*self.tally.by, "value")}
        p, adjusted = (p_value_cells(table[name]) for name in ("p_values", "adjusted"))
        by = {"holm": "Holm's method", "bh": "Benjamini and Hochberg's method, which is not proven here"}
        notes = [reports_in_papers(self.tally), f"p-values are {'approximate' if self.approximate else 'exact'}"]
        notes.append(f"adjusted for the number of answers by {by[self.correction]}; level {level_text(self.level)}")
        return Printed(
            names | {"p": p, "adjusted p": adjusted, "found": cells(table["found"])},
            "Tests of the hypothesis that nobody holds the answer",
            tuple(map(sentence, notes)),
        )

    def text(self) -> str:
        error = f"{100 * (1 - self.level):.6g} %"
        promise = {
            "holm": f"the probability of naming any falsely is at most {error}",
            "bh": f"about {error} of them are false on average, which is not proven",
        }[self.correction]
        about = "approximate, " if self.approximate and self.tally.simple else ""
        lines = [f"Answers that somebody holds ({about}{promise}{about_groups(self.tally)}):"]
        least = np.atleast_1d(self.smallest).tolist()
        for place, (group, found) in enumerate(group_rows(self.tally, self.found)):
            if found is None:
                lines.append(f"{group}no reports")
                continue
            named = names_of(self.tally, place, found) or "none rises above the noise"
            share = f"a share of {percent(least[place])}" if least[place] <= 1 else "not even a share of 100 %"
            lines.append(f"{group}{named}")
            lines.append(f"  {share} would be found with a probability of {level_text(self.power)}")
        return "\n".join(lines)

    def to_dict(self) -> Document:
        """Give what JSON can hold: the names of the found, for each group."""
        return {
            **listed_groups(self.tally),
            "found": listed_labels(self.tally, self.found),
            "smallest": plain(self.smallest),
            "level": self.level,
            "power": self.power,
            "correction": self.correction,
            "approximate": self.approximate,
        }


def presence(tally: Collected, *, level: float, correction: str, power: float) -> Presence:
    """Tell which answers rise above the noise."""
    check_level(level)
    check_power(power)
    alpha = 1 - level
    answered = tally.answered
    if len(tally.parts) == 1:
        counts, n = tally.parts[0].scaled()
        detection = _of_design(tally.parts[0].design, counts[answered], n[answered], alpha / tally.k, power)
        p_values, smallest = detection.p_values, detection.smallest(alpha / tally.k, power)
        approximate = detection.approximate
    else:
        rows = [_of_group(tally.parts, group, alpha / tally.k, power) for group in np.flatnonzero(answered).tolist()]
        p_values, smallest = np.stack([row[0] for row in rows]), np.array([row[1] for row in rows])
        approximate = any(row[2] for row in rows)
    plain_values, least = in_all_groups(p_values, answered), in_all_groups(smallest, answered)
    corrected = adjusted(plain_values, correction)
    detected = corrected <= alpha
    return Presence(
        p_values=tally.squeezed(plain_values),
        adjusted=tally.squeezed(corrected),
        found=tally.squeezed(detected),
        smallest=tally.squeezed(least),
        level=level,
        power=power,
        correction=correction,
        approximate=approximate or not tally.simple,
        tally=tally,
    )


class Detection(NamedTuple):
    """What one collection tells of absence, in each group.

    `tests` are those of each answer, of one where all answers are alike; a list for each group. Where the table is too
    large for them, `errors` are the standard errors of the shares, of shape (groups, k), and p-values are normal ones.
    """

    p_values: Array
    tests: list[list[Evidence]]
    errors: Array | None

    @property
    def approximate(self) -> bool:
        """Whether p-values hold only about."""
        return self.errors is not None

    def smallest(self, alpha: float, power: float) -> Array:
        """Give for each group the share that is found whatever the answer is: the largest over the answers."""
        if self.errors is not None:
            return np.asarray(float(ndtri(power) - ndtri(alpha)) * self.errors.max(axis=-1))
        return np.array([max(test.smallest(alpha, power) for test in tests) for tests in self.tests])


def _of_design(design: Design, counts: Counts, n: Array, alpha: float, power: float) -> Detection:
    """Test each answer in each group, by its own count or by the evidence that finds the smallest share."""
    readout = design.readout(counts, n)
    p_values, totals = absence_p_values(readout), n[:, 0]
    if readout.exact.ndim == 0:
        rate = float(readout.base), float(readout.gain)
        fewest = np.broadcast_to(readout.trials, readout.count.shape).min(axis=-1)  # who were asked about some answer
        return Detection(p_values, [[own_count(total, *rate)] for total in fewest.tolist()], None)
    others = np.flatnonzero(~np.asarray(readout.exact)).tolist()
    by_total: dict[float, dict[int, Any]] = {
        total: dict(zip(others, evidence(design, others, total, alpha, power), strict=True))
        for total in np.unique(totals).tolist()
    }
    asked = np.broadcast_to(readout.trials, readout.count.shape).tolist()
    tests = [detection_tests(readout, by_total[total], row) for total, row in zip(totals.tolist(), asked, strict=True)]
    if any(None in row for row in tests):
        assert readout.error is not None
        return Detection(p_values, [], np.where(readout.exact, 0.0, readout.error))
    for total, row in by_total.items():
        groups = np.flatnonzero(totals == total)
        for place in others:
            p_values[groups, place] = row[place].p_value(observed(row[place], counts[groups]))
    return Detection(p_values, tests, None)


def detection_tests(readout: Readout, by_place: dict[int, Any], asked: list[float]) -> list[Any]:
    """Give the test of each answer in a group: of its own count where it has one, among those who were asked about it.

    None where the table is too large to look for another.
    """
    base, gain = (np.broadcast_to(part, len(asked)).tolist() for part in (readout.base, readout.gain))
    own = map(own_count, asked, base, gain)
    return [by_place.get(place, test) for place, test in enumerate(own)]


def absence_p_values(readout: Readout) -> Array:
    r"""Give for each answer the p-value of "nobody holds it", under which its count is :math:`\text{Bin}(n, q)`."""
    base, gain, n = readout.base, readout.gain, readout.trials
    if readout.exact.ndim == 0 and readout.exact:
        if gain > 0:
            return at_each_count(lambda c, total: at_least(c, total, base), readout.count, n)
        # If the truth is the rarer report, an answer that somebody holds shows by a count that is too low.
        return at_each_count(lambda c, total: at_least(total - c, total, 1 - base), readout.count, n)
    above = at_least(readout.count, n, base)
    below = at_least(n - readout.count, n, 1 - base)
    assert readout.error is not None
    # Where reports do not tell a share, nothing speaks against its absence.
    normal = np.where(np.isinf(readout.error), 1.0, ndtr(-ratio_to_error(readout.share(), readout.error)))
    return np.where(readout.exact, np.where(np.asarray(gain) > 0, above, below), normal)


def _of_group(parts: tuple[Tally, ...], group: int, alpha: float, power: float) -> tuple[Array, float, bool]:
    """Combine the p-values of the collections by Fisher's method; also the smallest share that this finds."""
    detections = []
    for part in parts:
        if part.answered[group] and part.design.epsilon > 0:
            counts, n = part.scaled()
            detections.append(_of_design(part.design, counts[[group]], n[[group]], alpha, power))
    logs = -np.log(np.maximum([one.p_values[0] for one in detections], np.finfo(np.float64).tiny)).sum(axis=0)
    p_values = gammaincc(len(detections), logs)
    if any(one.approximate for one in detections):
        # By the collection that tells the most, as if it were alone
        return p_values, min(float(one.smallest(alpha, power)[0]) for one in detections), True
    answers = max(len(one.tests[0]) for one in detections)
    each = [[one.tests[0][i % len(one.tests[0])] for one in detections] for i in range(answers)]
    # What is hard to find alone is hard to find together: only those answers are looked at.
    each.sort(key=lambda tests: -min(test.smallest(alpha, power) for test in tests))
    return p_values, max(smallest_together(tests, alpha, power) for tests in each[:HARDEST_ANSWERS]), False
