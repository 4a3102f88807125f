r"""Comparing two independent samples, each under its own design: a direct question against a randomized one.

Where each sample tells the share by a binomial count, and there are up to `MOST_REPORTS`, interval and test are exact
(module `exact_differences`). Else the intervals of both samples are joined (module `newcombe`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from warner.inference.comparisons import Comparison
from warner.inference.differences import Difference, agreeing, exact_difference, ratio_limits
from warner.inference.exact_differences import MOST_REPORTS
from warner.inference.intervals import Confidence, positions_of
from warner.inference.joint_readouts import joints
from warner.inference.newcombe import Sample, joined, joined_test
from warner.inference.normal import Sampled
from warner.reports.pools import refuse_uncounted

if TYPE_CHECKING:
    from warner.arrays import Label
    from warner.reports.pools import Collected


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
    simple = first.simple and second.simple
    numbers = _exactly(samples, confidence.tail(1)) if simple else None
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
    one, two = (sample.binomial for sample in samples)
    if one is None or two is None or one.n + two.n > MOST_REPORTS:
        return None
    return exact_difference(one, two, tail)


def _approximately(samples: list[Sample], confidence: Confidence) -> Difference:
    """Join the intervals of both samples; that of the ratio has each of them at half the tail."""
    low, high = joined(samples, 1 - confidence.level)
    halves = [np.clip(sample.interval(confidence.tail(1) / 2), 0, 1) for sample in samples]
    ratio_low, ratio_high = (float(end) for end in ratio_limits(*halves[0], *halves[1]))
    return Difference(samples[0].unbiased - samples[1].unbiased, low, high, ratio_low, ratio_high, joined_test(samples))


def _sample(tally: Collected, answer: Label, name: str) -> Sample:
    """Look at one share of a sample."""
    refuse_uncounted(tally, "compare_samples(Tally(design, counts), Tally(design, counts), answer)")
    if tally.by:
        raise ValueError(f"the {name} sample must have no groups, but is grouped by {', '.join(tally.by)}; tally each")
    if not tally.answered.all():
        raise ValueError(f"the {name} sample must have reports, but has none")
    (place,) = positions_of([answer], tally.domain)
    (readout,) = joints(tally.parts, [0], [[place]])
    sample = Sample(Sampled(*(part[0] for part in readout.sampled())))
    if not math.isfinite(sample.estimate.error):
        raise ValueError(f"the design of the {name} sample must identify the share of {answer!r}, but it does not")
    return sample._replace(binomial=readout.only_count(0)) if readout.is_one_count else sample
