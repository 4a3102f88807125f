r"""Heterogeneity of groups: the test that all are alike, for one answer or for many, and the interval of the spread.

*An exact test*, where each group has one binomial count, all with the same base and gain. Equal shares are then equal
probabilities of a report. Given their total, such counts are multivariate hypergeometric, whatever the common share is.
The likelihood-ratio statistic T is compared with B draws from this distribution: :math:`(1 + \#\{T^* \ge T\}) / (B+1)`
is a p-value. Of many groups, draws end with the twentieth T* that is as large, and after l draws the p-value is 20/l
[3]_.

*An approximate test*, elsewhere. If all groups have the same share (or lie on the regression),
:math:`Q(0) = \sum (y_g - \mu_g)^2 / v_g` is about chi-squared with as many degrees of freedom as there are groups that
tell the share, less the number of coefficients [1]_. It is far from that where groups are small and nearly all of their
counts are 0: p is below 0.001 in a quarter of such surveys.

*The interval of the spread.* With the spread :math:`\tau`, :math:`Q(\tau) = \sum (y_g - \mu_g)^2 / (v_g + \tau^2)` has
that chi-squared distribution; all spreads at which it is neither improbably large nor improbably small are the interval
[2]_. It leaves out 0 exactly where twice the tail of the test is below one minus the level.

The statistics of K answers are not independent. With the correlation matrix R of their unbiased shares in one group,
and d degrees of freedom each, the sum has the mean Kd and the variance :math:`2 d \lVert R \rVert^2`, so that it is
about a multiple of chi-squared with :math:`d K^2 / \lVert R \rVert^2` degrees of freedom (Satterthwaite). R is that of
surveys drawn from the overall distribution.

References
----------
.. [1] W. G. Cochran, "The combination of estimates from different experiments", Biometrics 10 (1954), 101-129.
.. [2] W. Viechtbauer, "Confidence intervals for the amount of heterogeneity in meta-analysis", Stat. Med. 26 (2007),
   37-52.
.. [3] J. Besag, P. Clifford, "Sequential Monte Carlo p-values", Biometrika 78 (1991), 301-304.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri, xlogy

from warner.groups.direct_estimates import direct_estimates
from warner.groups.fay_herriot import fits, largest_spread
from warner.inference.binomial import ROUNDING
from warner.inference.ranking import reports_in_papers
from warner.reports.pools import Pool
from warner.reports.tallies import Tally
from warner.results import Result
from warner.searching import bisected
from warner.simulate import seeded_by
from warner.special import deviance
from warner.typesetting import Printed, cells, p_value_cells
from warner.words import p_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts, Integers
    from warner.documents import Document
    from warner.groups.direct_estimates import DirectEstimates
    from warner.inference.binomial import Binomial
    from warner.reports.pools import Collected

HETEROGENEITY_TOLERANCE = 1e-9  # how near an end of the interval is found
SURVEYS_DRAWN = 2_000  # drawn for the correlations between answers
CONDITIONAL_DRAWS = 1_999  # of counts given their total, at most
FEWEST_CONDITIONAL_DRAWS, COUNTS_DRAWN = 99, 2 * 10**7  # at least, and of all groups together: a few seconds
EXCEEDANCES, GROUPS_DRAWN_IN_FULL = 20, 100  # after which draws end; not up to so many groups, where they take no time
STATISTIC_ROUNDING = 1e-13  # relative rounding of a sum of x ln x
MOST_DRAWN_FROM = 10**9  # reports from which counts are drawn
CONDITIONAL_COUNTS_AT_ONCE = 200_000  # drawn together
PEOPLE = 20  # in each of them, at most: correlations do not depend on their number


class Q(NamedTuple):
    """Cochran's statistic with its degrees of freedom and the probability of one as large where groups are alike."""

    statistic: float
    freedom: int
    p_value: float


def cochran_q(direct: DirectEstimates, covariates: Array) -> Q:
    """Test whether all groups have one share, or lie on the regression."""
    freedom = degrees_of_freedom(direct, covariates)
    statistic = float(_q(direct, covariates, np.zeros(1), direct.overall())[0])
    return Q(statistic, freedom, float(chdtrc(freedom, statistic)) if freedom > 0 else 1.0)


def degrees_of_freedom(direct: DirectEstimates, covariates: Array) -> int:
    """Count the groups that tell the share, less the coefficients."""
    coefficients: int = covariates.shape[1]
    return int(direct.informative.sum()) - coefficients


def q_profile(
    direct: DirectEstimates, covariates: Array, level: float, limit: float | None = None
) -> tuple[float, float]:
    """Give the interval of the spread, from 0 to the largest that shares can have, or to a `limit`."""
    freedom = degrees_of_freedom(direct, covariates)
    overall = direct.overall()
    largest = largest_spread(direct, overall) if limit is None else limit
    if freedom <= 0:
        return 0.0, largest
    tails = chdtri(freedom, [(1 - level) / 2, (1 + level) / 2])

    def end(tail: float) -> float:
        """Find where Q, which falls with the spread, is this."""

        def below(spread: float) -> bool:
            return bool(_q(direct, covariates, np.array([spread]), overall)[0] <= tail)

        if below(0.0):
            return 0.0
        return bisected(below, 0.0, largest, close=HETEROGENEITY_TOLERANCE)[1] if below(largest) else largest

    return end(float(tails[0])), end(float(tails[1]))


def _q(direct: DirectEstimates, covariates: Array, spreads: Array, overall: float) -> Array:
    fit = fits(direct, covariates, spreads, overall)
    some = direct.informative
    total = np.where(some, fit.sampling_variance + spreads[:, np.newaxis] ** 2, 1.0)
    return np.asarray((some * (direct.share - fit.mean) ** 2 / total).sum(axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class GroupTest(Result):
    """The test that all groups are alike (or lie on the regression; along an order, that nothing changes).

    Attributes
    ----------
    statistic : float
        The likelihood-ratio statistic, Cochran's Q, or its sum over the answers.
    freedom : float
        The degrees of freedom of its chi-squared distribution, which an exact test does not use.
    p_value : float
        The p-value that is printed. For one share it is the smallest level at which the interval of the spread leaves
        out 0: twice the tail, as that interval has two sides. For many answers it is the tail itself.
    one_sided : float
        The probability of such a statistic, or a larger one, if all groups are alike: the test by itself.
    method : str
        ``conditional likelihood ratio``, ``Cochran``, ``sum of Cochran``, or ``likelihood ratio`` of a random walk.
    tally : Tally or Pool, optional
        The reports.
    approximate : bool
        Whether the p-value uses the chi-squared distribution; otherwise it is exact, from draws given the total count.
    """

    statistic: float
    freedom: float
    p_value: float
    one_sided: float
    method: str
    tally: Collected | None = None
    approximate: bool = True

    def printed(self, **_: Any) -> Printed:
        """Give a table for a paper: the statistic, its degrees of freedom and both p-values."""
        columns = {
            name: cells(column) for name, column in self.table().items() if not name.endswith(("_value", "_sided"))
        }
        columns |= {
            "p": p_value_cells(np.array([self.p_value])),
            "p (one-sided)": p_value_cells(np.array([self.one_sided])),
        }
        notes = () if self.tally is None else (f"{reports_in_papers(self.tally)}.",)
        return Printed(columns, "Test that all groups are alike", notes)

    def table(self) -> dict[str, Counts]:
        """Give the test as columns with one row."""
        return {name: np.array([value]) for name, value in self.to_dict().items()}

    def to_dict(self) -> Document:
        """Give the test as what JSON can hold."""
        names = ("method", "statistic", "freedom", "p_value", "one_sided", "approximate")
        return {name: getattr(self, name) for name in names}

    def text(self) -> str:
        """Say it in a line."""
        names = {"Cochran": "Cochran's Q", "sum of Cochran": "the sum of Cochran's Q"}
        statistic = f"{names.get(self.method, self.method)} {self.statistic:.4g}"
        if self.approximate:
            degrees = "degree" if self.freedom == 1 else "degrees"
            statistic = f"approximate, {statistic} on {self.freedom:.4g} {degrees} of freedom"
        else:
            statistic = f"exact, {statistic}"
        one_sided = p_value(self.one_sided)
        return f"That all groups are alike: {p_value(self.p_value)} ({statistic}, one-sided {one_sided})"


def conditional_test(counts: Binomial) -> GroupTest | None:
    """Test by draws given the total that counts of groups have one probability; None if they have different designs.

    Groups without reports have NaN. The counts seed the draws, so that the p-value is the same whatever the order of
    the groups and whichever of the two answers is counted.
    """
    answered = counts.n >= 1
    n, base, gain = (np.asarray(part)[answered] for part in counts[1:])
    if n.size < 2 or np.ptp(base) > 0 or np.ptp(gain) > 0 or n.sum() >= MOST_DRAWN_FROM:
        return None
    people, named = np.rint(n).astype(np.int64), np.rint(np.asarray(counts.count)[answered]).astype(np.int64)
    ordered = min(sorted(zip(people.tolist(), one.tolist(), strict=True)) for one in (named, people - named))
    people, named = np.array(ordered, dtype=np.int64).T
    statistic = float(_likelihood_ratio(named, people))
    one_sided = _conditional_p_value(named, people, seeded_by(named))
    method = "conditional likelihood ratio"
    return GroupTest(statistic, n.size - 1, min(1.0, 2 * one_sided), one_sided, method, approximate=False)


def _likelihood_ratio(counts: Integers, n: Integers) -> Array:
    """Return twice the log-likelihood ratio of probabilities of their own and an equal one."""
    expected = counts.sum() / n.sum() * n
    return np.asarray(2 * (deviance(counts, expected) + deviance(n - counts, n - expected)).sum())


def _conditional_p_value(counts: Integers, n: Integers, rng: np.random.Generator) -> float:
    """Return the p-value of the likelihood-ratio statistic given the total of the counts.

    Given the total, it rises with the sum of x ln x over both kinds of reports of all groups.
    """
    draws = min(CONDITIONAL_DRAWS, max(FEWEST_CONDITIONAL_DRAWS, COUNTS_DRAWN // counts.size - 1))
    stop = EXCEEDANCES if counts.size > GROUPS_DRAWN_IN_FULL else draws + 1
    largest = int(n.max())
    table = xlogy(np.arange(largest + 1.0), np.arange(largest + 1.0)) if largest <= CONDITIONAL_COUNTS_AT_ONCE else None

    def sums(drawn: Integers) -> Array:
        both = (drawn, n - drawn)
        return np.asarray(sum((xlogy(x, x) if table is None else table[x]).sum(axis=-1) for x in both))

    observed = float(sums(counts)) * (1 - STATISTIC_ROUNDING)
    step, exceeded = max(1, CONDITIONAL_COUNTS_AT_ONCE // counts.size), 0
    for start in range(0, draws, step):
        drawn = rng.multivariate_hypergeometric(n, counts.sum(), size=min(step, draws - start), method="marginals")
        as_large = exceeded + np.cumsum(sums(drawn) >= observed)
        if as_large[-1] >= stop:
            return stop / (start + 1 + int(np.argmax(as_large >= stop)))
        exceeded = int(as_large[-1])
    return (1 + exceeded) / (draws + 1)


def agreeing_interval(low: float, high: float, test: GroupTest, level: float) -> tuple[float, float]:
    """Return the interval of the spread that leaves out 0 exactly where the test refutes it."""
    refuted = test.p_value < (1 - level) * (1 - ROUNDING)  # 1 - 0.95 is a hair above 0.05
    low = max(low, HETEROGENEITY_TOLERANCE) if refuted else 0.0
    return low, max(low, high)


def cochran_test(direct: DirectEstimates, covariates: Array) -> GroupTest:
    """Test one answer."""
    q = cochran_q(direct, covariates)
    return GroupTest(q.statistic, q.freedom, min(1.0, 2 * q.p_value), q.p_value, "Cochran")


def summed_cochran_test(answers: Sequence[DirectEstimates], covariates: Array, squared: float) -> GroupTest:
    """Test all answers at once; the `squared` correlations between their unbiased shares sum to this."""
    each = [cochran_q(direct, covariates) for direct in answers]
    statistic, expected = sum(q.statistic for q in each), sum(q.freedom for q in each)
    if expected <= 0:
        return GroupTest(statistic, 0, 1.0, 1.0, "sum of Cochran")
    freedom = expected * len(each) / squared
    tail = float(chdtrc(freedom, statistic * freedom / expected))
    return GroupTest(statistic, freedom, tail, tail, "sum of Cochran")


def squared_correlations(tally: Collected, told: list[int], means: Array, rng: np.random.Generator) -> float:
    """Give the sum of the squared correlations between the unbiased shares of these answers, K if there are none."""
    numbers = [float(np.sum(part.effective)) for part in tally.parts]
    people = [max(1, round(min(PEOPLE, sum(numbers)) * number / sum(numbers))) if number else 0 for number in numbers]
    groups = tuple((survey,) for survey in range(SURVEYS_DRAWN))
    parts = [
        Tally(
            part.design,
            part.design.draw_counts(means, n, rng=rng, size=SURVEYS_DRAWN),
            n=np.full(SURVEYS_DRAWN, n),
            by=("survey",),
            groups=groups,
        )
        for part, n in zip(tally.parts, people, strict=True)
    ]
    drawn = direct_estimates(Pool(tuple(parts)) if len(parts) > 1 else parts[0])
    shares = np.stack([drawn[place].share for place in told])
    deviation = shares - shares.mean(axis=1, keepdims=True)
    size = np.linalg.norm(deviation, axis=1, keepdims=True)
    scores = deviation[size[:, 0] > 0] / size[size[:, 0] > 0]
    # The products of rows, or of columns, whichever are fewer, have the same sum of squares.
    products = scores @ scores.T if len(scores) <= SURVEYS_DRAWN else scores.T @ scores
    chance = len(scores) * (len(scores) - 1) / SURVEYS_DRAWN  # what correlations of draws add
    return max(float(np.square(products).sum()) - chance, float(len(scores)), 1.0)
