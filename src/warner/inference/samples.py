r"""One share in two samples, each under a design of its own: a direct question against a randomized one.

Where each sample tells the share by a binomial count, and there are up to `MOST_REPORTS`, interval and test are exact
(module `unconditional`). Else each has an interval of its own, :math:`l_s` to :math:`u_s` around the
unbiased estimate :math:`\hat\theta_s`; neither is cut at 0 and 1. Their difference has the interval

.. math:: \hat\theta_1 - \hat\theta_2 - \sqrt{(\hat\theta_1 - l_1)^2 + (u_2 - \hat\theta_2)^2}
   \quad\text{to}\quad
   \hat\theta_1 - \hat\theta_2 + \sqrt{(u_1 - \hat\theta_1)^2 + (\hat\theta_2 - l_2)^2}

(Newcombe [1]_; Zou and Donner [2]_). It asks only for the two intervals, so that it holds for any two designs; with
exact intervals it errs on the safe side. The p-value is then the smallest :math:`\alpha` at which the interval of level
:math:`1 - \alpha` leaves out 0: interval and test cannot disagree.

.. [1] R. G. Newcombe, "Interval estimation for the difference between independent proportions: comparison of eleven
   methods", Statistics in Medicine 17 (1998), 873-890.
.. [2] G. Y. Zou, A. Donner, "Construction of confidence limits about effect measures: a general approach", Statistics
   in Medicine 27 (2008), 1693-1702.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from warner.inference.binomial import binomial_limits
from warner.inference.comparisons import Comparison
from warner.inference.differences import Difference, agreeing, exact_difference, ratio_limits
from warner.inference.intervals import Confidence, joint, positions_of
from warner.inference.unconditional import MOST_REPORTS, Count
from warner.reports.pools import refuse_uncounted

if TYPE_CHECKING:
    from warner.arrays import Label
    from warner.reports.pools import Collected

SMALLEST_P = 1e-300  # below, a p-value is as good as zero
STEPS = 44  # halvings of the logarithm of a p-value


class Sample(NamedTuple):
    """What a sample tells of one share: the unbiased estimate, its standard error, and the binomial count, if any."""

    unbiased: float
    error: float
    counted: Count | None
    weighted: bool

    def interval(self, tail: float) -> tuple[float, float]:
        """Give an interval around the unbiased estimate, from the exact limits of the count where there is one.

        It is not cut to 0 and 1. That is done with the difference: distances to ends that were cut would be too short.
        """
        if self.counted is None:
            half = -float(ndtri(tail)) * self.error
            return self.unbiased - half, self.unbiased + half
        number, n, base, gain = self.counted
        low, high = sorted((float(end) - base) / gain for end in binomial_limits(number, n, tail))
        return low, high


def compare_samples(
    first: Collected,
    second: Collected,
    answer: Label,
    *,
    level: float = 0.95,
    names: tuple[str, str] = ("the first sample", "the second sample"),
) -> Comparison:
    """Compare the share of an answer between two independent samples, each under its own design.

    For a direct question, which is a design that always tells the truth (``odds=(1, 0)``), against a randomized one;
    for two years, two countries, two devices. Whoever fears that people deny a trait when they are asked directly
    expects the randomized question to find more of it.

    Parameters
    ----------
    first, second : Tally or Pool
        The counted reports of each sample, without groups. Nobody may be in both.
    answer : label
        The answer whose share is compared; it must be possible in both.
    level : float
        Confidence level of the interval.
    names : tuple of two str
        What the samples are called in the result.

    Examples
    --------
    Of 400 people asked directly 20 say yes, 5 %. Of 600 who throw dice 160 do: (160/600 - 1/6) / (3/4) is 13.3 %.

    >>> from warner import RandomizedResponse, Tally, surveys
    >>> direct = Tally(RandomizedResponse(["yes", "no"], odds=(1, 0)), [20, 380])
    >>> dice = Tally(surveys.forced_response(truth="3/4", yes="1/6"), [160, 440])
    >>> compare_samples(dice, direct, "yes", names=("dice", "direct"))
    'yes' in dice against 'yes' in direct, 95 % interval (population)
    +8.33 points, +3.15 to +13.67; just above 1 to 6.65 times; exact test of equality in the population: p = 0.0017
    """
    confidence = Confidence(level)
    samples = [_sample(tally, answer, name) for name, tally in (("first", first), ("second", second))]
    numbers = _exactly(samples, confidence.tail(1))
    exact = numbers is not None
    if numbers is None:
        numbers = _approximately(samples, confidence)
    numbers = Difference(*(float(number) for number in agreeing(Difference(*map(np.asarray, numbers)), confidence)))
    one, two = (min(max(sample.unbiased, 0.0), 1.0) for sample in samples)
    called = [f"{answer!r} in {name}" for name in names]
    test = "exact" if exact else "approximate"
    return Comparison(called[0], called[1], one - two, *numbers, confidence, not exact, test)


def _exactly(samples: list[Sample], tail: float) -> Difference | None:
    """Compare two binomial counts, where they are not too many."""
    one, two = (sample.counted for sample in samples)
    if one is None or two is None or any(sample.weighted for sample in samples) or one.n + two.n > MOST_REPORTS:
        return None
    return exact_difference(one, two, tail)


def _approximately(samples: list[Sample], confidence: Confidence) -> Difference:
    """Join the intervals of both samples; that of the ratio has each of them at half the tail."""
    low, high = _apart(samples, 1 - confidence.level)
    halves = [np.clip(sample.interval(confidence.tail(1) / 2), 0, 1) for sample in samples]
    ratio_low, ratio_high = (float(end) for end in ratio_limits(*halves[0], *halves[1]))
    return Difference(samples[0].unbiased - samples[1].unbiased, low, high, ratio_low, ratio_high, _p_value(samples))


def _sample(tally: Collected, answer: Label, name: str) -> Sample:
    """Look at one share of a sample."""
    refuse_uncounted(tally, "compare_samples(Tally(design, counts), Tally(design, counts), answer)")
    if tally.by:
        raise ValueError(f"the {name} sample must have no groups, but is grouped by {', '.join(tally.by)}; tally each")
    if not tally.answered.all():
        raise ValueError(f"the {name} sample must have reports, but has none")
    (place,) = positions_of([answer], tally.domain)
    readout = joint(tally.parts, 0, [[place]])
    share, error, _ = readout.average("population")
    if not math.isfinite(float(error[0])):
        raise ValueError(
            f"the design of the {name} sample must tell the share of {answer!r}, but under it nothing does"
        )
    counted = Count(*(float(values[0, 0]) for values in readout.counted)) if readout.binomial else None
    return Sample(float(share[0]), float(error[0]), counted, tally.weighted)


def _apart(samples: list[Sample], alpha: float) -> tuple[float, float]:
    """Give the interval of the difference at the level 1 - alpha."""
    (low1, high1), (low2, high2) = (sample.interval(alpha / 2) for sample in samples)
    one, two = (sample.unbiased for sample in samples)
    low = one - two - math.hypot(one - low1, high2 - two)
    high = one - two + math.hypot(high1 - one, two - low2)
    return min(max(low, -1.0), 1.0), max(min(high, 1.0), -1.0)


def _p_value(samples: list[Sample]) -> float:
    """Give the smallest alpha at which the interval of level 1 - alpha leaves out 0, by halving its logarithm."""

    def refuted(alpha: float) -> bool:
        low, high = _apart(samples, alpha)
        return low > 0 or high < 0

    small, large = math.log(SMALLEST_P), 0.0
    if refuted(math.exp(small)):
        return SMALLEST_P
    if not refuted(math.exp(large)):
        return 1.0
    for _ in range(STEPS):
        middle = (small + large) / 2
        small, large = (small, middle) if refuted(math.exp(middle)) else (middle, large)
    return math.exp(large)
