"""Differences in complex samples: two answers of the same people, or two domains, by the variance of the difference.

Groups of a complex sample share clusters. Where a school raises a share in both of them, their difference varies less
than two independent shares would, and where it raises one and lowers the other, more. So the scores of the difference
are added up by cluster (`warner.reports.complex_samples.linearisation`), and the difference has Student's t with
their degrees of freedom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from warner.inference.differences import Difference, ratio_limits
from warner.inference.intervals import Confidence, limits
from warner.inference.normal import normal_limits, ratio_to_error
from warner.reports.complex_samples.linear_scores import LinearScores
from warner.results import p_values

if TYPE_CHECKING:
    from warner.arrays import Array, Numbers, Sets
    from warner.reports.tallies import Tally

STUDENT = "Student's t"  # the test
SHARES_UNKNOWN = "the design must identify both shares, but under it others lead to the same reports"
SHARE_UNKNOWN = "the design must identify the share of the answer, but others lead to the same reports"
MEAN_UNKNOWN = "the design must identify the mean, but under it others lead to the same reports"


class Apart(NamedTuple):
    """Differences, their standard errors and degrees of freedom, one for each group."""

    middle: Array
    error: Array
    freedom: Array

    def limits(self, tail: float, width: float = 1.0) -> tuple[Array, Array]:
        """Give the ends of intervals with `tail` on either side, of differences of at most this width."""
        return normal_limits(self.middle, student_error(self.error, self.freedom, tail), tail, span=(-width, width))

    @property
    def p_value(self) -> Array:
        """The two-sided p-values of equality."""
        return p_values(ratio_to_error(self.middle, self.error), self.freedom)

    def refuse_unknown(self, message: str) -> None:
        """Refuse differences that reports do not tell."""
        if np.isinf(self.error).any():
            raise ValueError(message)


def student_error(error: Numbers, freedom: Numbers, tail: float) -> Array:
    """Give the error with which a normal law extends as far as Student's t does."""
    return np.asarray(error * (stdtrit(np.maximum(freedom, 1), tail) / ndtri(tail)))


def answers_apart(tally: Tally, i: int, j: int, confidence: Confidence) -> tuple[Difference, bool, str]:
    """Compare two answers in each group that has reports; of two answers in all, by the share of the first."""
    answered = tally.answered
    found = tally.readout(answered, [[i]], minus=[[j]], target=confidence.target)
    assert found.error is not None
    assert found.freedom is not None
    apart = Apart(found.share()[:, 0], found.error[:, 0], found.freedom[:, 0])
    apart.refuse_unknown(SHARES_UNKNOWN)
    tail = confidence.tail(1)
    if tally.k == 2 and tally.design.exclusive:
        one = limits(tally, confidence, sets=[[i]])
        first = one.low[answered, 0], one.high[answered, 0]
        low, high = (2 * end - 1 for end in first)
        ratio = ratio_limits(*first, 1 - first[1], 1 - first[0])
    else:
        low, high = apart.limits(tail)
        ratio = _ratio(tally, confidence, [[i], [j]], [(answered, 0), (answered, 1)])
    return Difference(apart.middle, low, high, *ratio, apart.p_value), True, STUDENT


def domains_apart(tally: Tally, sets: Sets, rows: list[int]) -> Apart:
    """Compare the share of one set between two groups."""
    assert tally.sample is not None
    found = tally.readout(rows, sets)
    question = LinearScores(tally.design, sets)
    counts, n = tally.rows()
    frequency = question.frequencies(counts[rows], n[rows, np.newaxis].astype(np.float64))
    gain = np.broadcast_to(np.asarray(found.gain, dtype=np.float64), frequency.shape[1:])
    variance, freedom = tally.sample.of_difference(question, frequency, gain, [tally.groups[row] for row in rows])
    assert found.error is not None
    # Where counts do not tell it, and where a difference does not vary, as if the two groups were independent
    alone = (found.error[:, 0] ** 2).sum()
    known = np.isfinite(variance[0, 0]) and variance[0, 0] > 0 and np.isfinite(alone)
    error = np.sqrt(variance[0, 0] if known else alone)
    share = found.share()[:, 0]
    return Apart(np.atleast_1d(share[0] - share[1]), np.atleast_1d(error), freedom[:, 0])


def groups_apart(tally: Tally, place: int, rows: list[int], confidence: Confidence) -> tuple[Difference, bool, str]:
    """Compare one answer between two groups."""
    apart = domains_apart(tally, [[place]], rows)
    apart.refuse_unknown(SHARE_UNKNOWN)
    low, high = apart.limits(confidence.tail(1))
    ratio = _ratio(tally, confidence, [[place]], [(rows[0], 0), (rows[1], 0)])
    numbers = (apart.middle, low, high, *ratio, apart.p_value)
    return Difference(*(np.ravel(number)[0] for number in numbers)), True, STUDENT


def _ratio(tally: Tally, confidence: Confidence, sets: Sets, two: list[tuple[Any, int]]) -> tuple[Numbers, Numbers]:
    """Give the limits of a ratio from those of both shares, each at half the tail."""
    wider = limits(tally, Confidence(1 - (1 - confidence.level) / 2), sets=sets)
    return ratio_limits(*(end[where] for where in two for end in (wider.low, wider.high)))
