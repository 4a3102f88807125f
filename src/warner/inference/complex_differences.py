r"""Differences in complex samples: of two domains, or of two answers of the same respondents.

**Two domains.** Each has limits of its own, :math:`b_j` below and :math:`o_j` above its unbiased share :math:`x_j`
(`warner.inference.korn_graubard`; not cut to [0, 1]), at the degrees of freedom of the difference. They are joined as
Newcombe joins independent ones [1]_, with the correlation r of the two shares, because domains share clusters. Where a
school raises a share in both, their difference varies less than that of independent shares, and where it raises one and
lowers the other, more:

.. math:: x_1 - x_2 - \max\Bigl(\sqrt{b_1^2 + o_2^2 - 2 r b_1 o_2},\ z \sqrt F\Bigr)

and likewise above, where :math:`r = C / \sqrt{v_1 v_2}` with the design-based covariance C and the variances v of the
effective samples. F is what clusters cannot remove: the larger one of the variance of the randomization and of the
scatter of respondents within clusters. Where a domain is worth fewer than `FEW` respondents, the limits of each at half
the tail are subtracted instead, which needs no correlation. Where one of them lies in one cluster, so that its limits
are 0 and 1, the others are those of its own share.

**Two answers** have the limits of a mean of scores from -1 to 1; the only two answers have those of the first share.

The p-value is the largest :math:`\alpha` at which the interval of level :math:`1 - \alpha` contains equality, so that
interval and test cannot contradict each other.

.. [1] R. G. Newcombe, "Interval estimation for the difference between independent proportions: comparison of eleven
   methods", Statistics in Medicine 17 (1998), 873-890; with a correlation: G. Y. Zou, A. Donner, "Construction of
   confidence limits about effect measures: a general approach", Statistics in Medicine 27 (2008), 1693-1702.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, stdtrit

from warner.inference.differences import Difference, ratio_limits
from warner.inference.korn_graubard import cut_limits, design_based_limits, in_one_cluster, uncut_limits
from warner.inference.normal import never_empty
from warner.reports.complex_samples.linear_scores import LinearScores
from warner.searching import bisected_each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.arrays import Array, Mask, Numbers, Sets
    from warner.designs.facts import Drawn, Readout
    from warner.inference.intervals import Confidence
    from warner.reports.complex_samples.cluster_samples import Together
    from warner.reports.tallies import Tally

FEW = 4.5  # respondents that a domain is worth, below which limits are subtracted
FLOORED = "the interval rests on the variance of the randomization and within clusters, more than the sample shows"
UNCORRELATED = 1e-9  # part of the variance of a difference that is rounding
STUDENT = "Student's t"  # the test
SHARES_UNKNOWN = "the design must identify both shares, but under it others lead to the same reports"
SHARE_UNKNOWN = "the design must identify the share of the answer, but others lead to the same reports"
MEAN_UNKNOWN = "the design must identify the mean, but under it others lead to the same reports"
# Tails from which the p-value is bisected; intervals do not widen strictly with smaller tails.
TAILS = np.array([10.0**digits for digits in (-50, -40, -30, -20, -15, -12, -10, -8, -7, -6, -5, -4, -3.5, -3)])
TAILS = np.append(TAILS, [0.002, 0.005, 0.01, 0.02, 0.025, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.4999])
TAIL_STEPS = 40  # that halve the logarithm of a tail


def student_error(error: Numbers, freedom: Numbers, tail: float) -> Array:
    """Give the error with which a normal law extends as far as Student's t does."""
    return np.asarray(error * (stdtrit(np.maximum(freedom, 1), tail) / ndtri(tail)))


def inverted(contains: Callable[[Array], Mask]) -> Array:
    """Return the largest p-values at which intervals contain equality.

    `contains` takes tails, of shape (n, tails) or that broadcast to it, and tells which intervals contain equality.
    """
    inside = contains(TAILS[np.newaxis])
    last = TAILS.size - 1 - np.argmax(inside[:, ::-1], axis=1)
    ends = np.log(TAILS[np.stack([last, np.minimum(last + 1, TAILS.size - 1)])])[..., np.newaxis]
    _, beyond = bisected_each(lambda logs: ~contains(np.exp(logs)), ends[0], ends[1], TAIL_STEPS)
    found = np.where(inside.any(axis=1), 2 * np.exp(beyond[:, 0]), 2 * TAILS[0])
    return np.where(inside[:, -1], 1.0, found)


@dataclass(frozen=True, eq=False)
class Apart:
    """The difference of the shares of one set in two domains.

    Attributes
    ----------
    readout : Readout of shape (2, 1)
        Both shares.
    together : Together
        How they vary together.
    """

    readout: Readout
    together: Together

    @property
    def middle(self) -> float:
        """The unbiased difference."""
        one, two = self.readout.share()[:, 0].tolist()
        return float(one - two)

    @property
    def _drawn(self) -> Drawn:
        assert self.readout.drawn is not None
        return self.readout.drawn

    @property
    def blind(self) -> Mask:
        """Which of both domains lie in one cluster."""
        return np.asarray(self._drawn.blind[:, 0])

    @property
    def _subtracted(self) -> bool:
        """Whether limits are subtracted: of a domain with few respondents, or in one cluster."""
        return bool(self.blind.any() or self.readout.trials[:, 0].min() < FEW)

    def _variances(self, tail: Array) -> Array:
        """Return the variances of the effective samples, of shape (2, tails)."""
        found, drawn = self.readout, self._drawn
        frequency = np.clip(found.count / found.trials, 0, 1)
        counted = frequency * (1 - frequency) / found.trials / np.square(found.gain)
        ratio = ndtri(tail) / stdtrit(max(self.together.freedom, 1.0), tail)
        scores = np.maximum(drawn.variance, ratio**2 * drawn.floor)
        variances = np.where(np.broadcast_to(found.exact, counted.shape), counted, scores)
        return np.asarray(np.where(np.isinf(drawn.worth), 0.0, variances))

    @property
    def floor(self) -> float:
        """The variance of the difference that clusters cannot remove."""
        return max(float(self._drawn.floor[:, 0].sum()), self.together.within)

    def limits_at(self, tail: Array) -> tuple[Array, Array]:
        """Return the ends of intervals with these tails on either side, of shape (1, tails)."""
        if not self._subtracted:
            low, high, _ = self._joined(tail)
            return low, high
        if self.blind.any():
            low, high = cut_limits(self.readout, tail)
        else:
            low, high = (np.clip(end, 0, 1) for end in uncut_limits(self.readout, self.together.freedom, tail / 2))
        return (low[0] - high[1])[np.newaxis], (high[0] - low[1])[np.newaxis]

    def _joined(self, tail: Array) -> tuple[Array, Array, bool]:
        """Return the joined ends, and whether what clusters cannot remove decides one."""
        share = self.readout.share()
        low, high = uncut_limits(self.readout, self.together.freedom, tail)
        below, above = np.maximum(share - low, 0), np.maximum(high - share, 0)
        variances = self._variances(tail)
        sum_, covariance = variances.sum(axis=0), self.together.covariance
        size = np.sqrt(variances[0] * variances[1])
        usable = (size > 0) & (sum_ - 2 * covariance > UNCORRELATED * sum_)
        r = np.clip(np.divide(covariance, size, out=np.zeros(size.shape), where=usable), -1, 1)
        least = -ndtri(tail[0]) * np.sqrt(self.floor)
        down, up = (
            np.sqrt(np.maximum(a**2 + b**2 - 2 * r * a * b, 0)) for a, b in ((below[0], above[1]), (above[0], below[1]))
        )
        floored = bool((np.minimum(down, up) < least).any())
        ends = never_empty(self.middle, np.maximum(down, least), np.maximum(up, least), span=(-1.0, 1.0))
        low, high = (np.clip(end, -1, 1)[np.newaxis] for end in ends)
        return low, high, floored

    def limits(self, tail: float) -> tuple[float, float]:
        """Return the ends of the interval with `tail` on either side."""
        low, high = self.limits_at(np.array([[tail]]))
        return float(low[0, 0]), float(high[0, 0])

    @property
    def p_value(self) -> float:
        """The two-sided p-value of equality."""
        if self.blind.any():
            return 1.0

        def contains(tail: Array) -> Mask:
            low, high = self.limits_at(tail)
            return np.asarray((low <= 0) & (high >= 0))

        return float(inverted(contains)[0])

    def note(self, names: Sequence[str], tail: float) -> str:
        """Say what else than the design-based variance decides; nothing elsewhere."""
        if self.blind.any():
            alone = [name for name, blind in zip(names, self.blind.tolist(), strict=True) if blind]
            return in_one_cluster(alone)
        if not self._subtracted and self._joined(np.array([[tail]]))[2]:
            return FLOORED
        return ""

    def refuse_unknown(self, message: str) -> None:
        """Raise an error if reports do not determine one of the shares."""
        assert self.readout.error is not None
        if np.isinf(self.readout.error).any():
            raise ValueError(message)


def answers_apart(tally: Tally, i: int, j: int, confidence: Confidence) -> tuple[Difference, bool, str]:
    """Compare two answers in each group that has reports; of two answers in all, by the share of the first."""
    answered = tally.answered
    two = tally.k == 2 and tally.design.exclusive
    found = tally.readout(answered, [[i]], minus=None if two else [[j]], target=confidence.target)
    assert found.error is not None
    if np.isinf(found.error).any():
        raise ValueError(SHARES_UNKNOWN)
    equal, span = (0.5, (0.0, 1.0)) if two else (0.0, (-1.0, 1.0))
    middle, (low, high) = found.share()[:, 0], (end[:, 0] for end in cut_limits(found, confidence.tail(1), span))
    if two:
        middle, ratio = 2 * middle - 1, ratio_limits(low, high, 1 - high, 1 - low)
        low, high = 2 * low - 1, 2 * high - 1
    else:
        ratio = _ratio(tally.readout(answered, [[i]]), tally.readout(answered, [[j]]), confidence.tail(1))

    def contains(tail: Array) -> Mask:
        low, high = cut_limits(found, tail, span)
        return np.asarray((low <= equal) & (high >= equal))

    return Difference(middle, low, high, *ratio, inverted(contains)), True, STUDENT


def groups_in_one_cluster(tally: Tally, names: list[str]) -> str:
    """Say which of the groups that have reports lie in one cluster; nothing if there is none."""
    assert tally.drawn.drawn is not None
    rows = np.flatnonzero(tally.answered)[tally.drawn.drawn.blind[:, 0]]
    return in_one_cluster([names[row] for row in rows.tolist()])


def domains_apart(tally: Tally, sets: Sets, rows: list[int]) -> Apart:
    """Compare the share of one set between two groups."""
    assert tally.sample is not None
    found = tally.readout(rows, sets)
    question = LinearScores(tally.design, sets)
    counts, n = tally.rows()
    frequency = question.frequencies(counts[rows], n[rows, np.newaxis].astype(np.float64))
    gain = np.broadcast_to(np.asarray(found.gain, dtype=np.float64), frequency.shape[1:])
    return Apart(found, tally.sample.of_difference(question, frequency, gain, [tally.groups[row] for row in rows]))


def groups_apart(tally: Tally, place: int, rows: list[int], confidence: Confidence) -> tuple[Difference, bool, str]:
    """Compare one answer between two groups."""
    apart = domains_apart(tally, [[place]], rows)
    apart.refuse_unknown(SHARE_UNKNOWN)
    low, high = apart.limits(confidence.tail(1))
    one, two = (tally.readout([row], [[place]]) for row in rows)
    ratio = _ratio(one, two, confidence.tail(1))
    return Difference(apart.middle, low, high, float(ratio[0][0]), float(ratio[1][0]), apart.p_value), True, STUDENT


def _ratio(first: Readout, second: Readout, tail: float) -> tuple[Array, Array]:
    """Return the limits of the ratio of two shares from those of both, each at half the tail."""
    ratio = ratio_limits(*(end for one in (first, second) for end in design_based_limits(one, tail / 2)[:2]))
    return np.asarray(ratio[0])[:, 0], np.asarray(ratio[1])[:, 0]
