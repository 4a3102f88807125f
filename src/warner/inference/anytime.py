r"""Confidence sequences (any-time intervals), which hold simultaneously at every number of reports.

The probability that an any-time interval *ever* misses is bounded. If x of the first n reports name an answer, each
with probability f,

.. math:: M_n(f) = \int_0^1 \frac{g^x (1-g)^{n-x}}{f^x (1-f)^{n-x}} \frac{dg}{\pi\sqrt{g(1-g)}}
                 = \frac{B(x + 1/2,\, n - x + 1/2)}{B(1/2, 1/2)\, f^x (1-f)^{n-x}}

is a martingale that starts at 1: a likelihood ratio, averaged over all alternatives g by Jeffreys' prior [1]_. It ever
exceeds :math:`1/\alpha` with probability at most :math:`\alpha` (Ville's inequality), so that the f with
:math:`M_n(f) < 1/\alpha` are an interval that ever misses with at most this probability [2]_.

The same holds for reports with scores y between 0 and 1 with the mean f, and x their sum: a factor
:math:`(g/f)^y ((1-g)/(1-f))^{1-y}` is convex in y, hence at most :math:`y\,g/f + (1-y)(1-g)/(1-f)`, whose mean is 1. So
it applies to shares without a binomial count that are averages of scores within a known range.

.. [1] H. Robbins, "Statistical methods related to the law of the iterated logarithm", Ann. Math. Stat. 41 (1970),
   1397-1409.
.. [2] M. Lindon and A. Malek, "Anytime-valid inference for multinomial count data", arXiv:2011.03567.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from warner.arrays import SMALLEST, Array, Mask, Numbers
from warner.inference.binomial import Binomial, all_at_each_count, standard_error
from warner.numerics import stirling_remainder
from warner.results import Limits

if TYPE_CHECKING:
    from warner.designs.facts import SamplingModel
    from warner.reports.counts import DistinctCounts
    from warner.reports.tallies import Collected

DEPARTURE_STEPS = 60  # of Newton's method, far more than are needed
NEWTON_TOLERANCE = 1e-8  # relative step of Newton's method, whose next one would be about its square


def refuse_anytime(tally: Collected, method: str | None) -> None:
    if method is not None:
        raise ValueError(f"method must be left out for any-time intervals, but got {method!r}")
    if tally.sample is not None:
        raise ValueError(
            "anytime must be left out with strata, clusters or replicate weights: its intervals are for respondents "
            "who arrive one by one"
        )
    if tally.weighted:
        raise ValueError("anytime needs whole reports, but these have weights; leave out anytime, or the weights")
    if len(tally.parts) > 1:
        raise ValueError(
            f"anytime needs reports of one design, but this is a pool of {len(tally.parts)}; leave out anytime, or ask "
            "each part"
        )


def anytime_interval(readout: SamplingModel, alpha: float, levels: DistinctCounts | None = None) -> Limits:
    """Compute intervals of shares that ever miss with probability at most alpha; from 0 to 1 if not identified.

    An interval is never empty: a count below what noise alone explains is taken as that much for the upper end, and
    one above what certainty explains for the lower end. That only widens, because both ends rise with the count.
    """
    binomial = Binomial.from_readout(readout)
    unknown: Mask = np.zeros(1, dtype=bool)
    if not readout.exact.all():
        assert readout.error is not None
        assert readout.scores is not None
        # A score between the least and the most is so much of a report.
        unknown = np.asarray(~readout.exact & ~np.isfinite(readout.error))
        scored = ~readout.exact & ~unknown
        least, most = np.where(scored, readout.scores[0], 0.0), np.where(scored, readout.scores[1], 1.0)
        width, n = most - least, readout.trials
        count = np.clip((readout.count - n * least) / width, 0, n)
        binomial = Binomial(count, n, (readout.base - least) / width, readout.gain / width)

    def evaluated(c: Array, n: Numbers) -> tuple[Array, Array]:
        return anytime_share_limits(binomial._replace(count=c, n=n), alpha)

    low, high = all_at_each_count(evaluated, binomial.count, binomial.n, levels)
    error = standard_error(binomial)
    if readout.error is not None:
        error = np.where(readout.exact, error, readout.error)
    return Limits(np.where(unknown, 0.0, low), np.where(unknown, 1.0, high), error, ("anytime",))


def anytime_share_limits(binomial: Binomial, alpha: float) -> tuple[Array, Array]:
    """Convert the limits of `anytime_limits` to limits of shares."""
    # The ends rise with x: d ln M / dx = E logit g - logit f, with the mean over Beta(x + 1/2, n - x + 1/2). At the f
    # where that is zero M is at most 1 (ln f^x (1-f)^(n-x) is concave in logit f), so this f lies between the ends.
    n = binomial.n
    below, above = binomial.never_empty(n * binomial.lowest, n * binomial.highest)
    limits = anytime_limits(below.count, n, alpha)[0], anytime_limits(above.count, n, alpha)[1]
    return binomial.ordered(*(np.clip(binomial.share_at(limit), 0, 1) for limit in limits))


def anytime_limits(x: Numbers, n: Numbers, alpha: float) -> tuple[Array, Array]:
    r"""Compute limits of the probability f of x of n reports, which ever miss with probability at most alpha.

    They solve :math:`n\,\mathrm{KL}(x/n \Vert f) = r`, where :math:`r = \ln(1/\alpha) - \ln M_n(x/n)` is near
    :math:`\ln(1/\alpha) + \frac12 \ln(\pi n/2)`: for one look it would be half a squared normal quantile. Taken apart
    by Stirling's series, nothing cancels up to 2^53 reports.

    Examples
    --------
    If none of ten reports says yes, f is at most 1 - exp(-r/10), with exp(-r) = B(1/2, 10 + 1/2) / B(1/2, 1/2) / 20.

    >>> low, high = anytime_limits(np.array([0.0, 3.0]), 10, 0.05)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.0325], [0.377, 0.7476])
    """
    x, n = np.asarray(x, dtype=np.float64), np.asarray(n, dtype=np.float64)
    rest = n - x
    half = 0.5 * np.log(0.5 * math.pi * n) + stirling_remainder(n)
    radius = np.maximum(-math.log(alpha) + half - _half_stirling(x) - _half_stirling(rest), 0)
    low, high = x - _departure(rest, x, radius), x + _departure(x, rest, radius)
    return np.clip(low / n, 0, 1), np.clip(high / n, 0, 1)


def _departure(a: Array, b: Array, radius: Array) -> Array:
    """Solve for the increase d of a in a + b expected reports at which the divergence equals the radius.

    With L(u) = u - ln(1 + u) the divergence is a L(d/a) + b L(-d/b), convex in d: Newton's method descends to the root
    from any larger d. Such are Pinsker's sqrt(radius n / 2), and what leaves out that more than a are expected,
    which is the root itself for a = 0.
    """
    n = a + b
    some = np.where(a > 0, a, 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d = np.minimum(np.sqrt(radius * n / 2), -b * np.expm1((xlogy(a, a / n) - radius) / b))
        d = np.where(b > 0, d, 0.0)
        for _ in range(DEPARTURE_STEPS):
            up, down = d / some, -d / b
            excess = a * (up - np.log1p(up)) + b * (down - np.log1p(down)) - radius
            step = excess * (a + d) * (b - d) / (d * n)
            step = np.where((a > 0) & (step > 0) & (step < d), step, 0.0)  # it is no number where d has reached b
            d = d - step
            if (step <= NEWTON_TOLERANCE * d).all():
                break
    return np.asarray(d)


def _half_stirling(x: Array) -> Array:
    """Return ln Gamma(x + 1/2) - x ln x + x - ln(2 pi)/2 for x >= 0, by Legendre's duplication formula."""
    x = np.maximum(x, SMALLEST)
    return stirling_remainder(2 * x) - stirling_remainder(x)
