r"""Intervals, means, ranks and heterogeneity of groups.

**FAB limits** ("frequentist, assisted by Bayes" [1]_) are exact for every group, and short near the prediction from the
other groups: :math:`\theta` is accepted after c of n reports if, for a positive gain,

.. math:: P_\theta(X \le c) > \alpha \, (1 - s(\theta)) \quad \text{and} \quad P_\theta(X \ge c) > \alpha \, s(\theta).

For a negative gain s and 1 - s are exchanged. Intervals are the shortest on average over shares with mean m and spread
:math:`\tau` if

.. math:: \Phi^{-1}(\alpha s) - \Phi^{-1}(\alpha (1 - s)) = 2 \sigma_\theta (m - \theta) / \tau^2, \qquad
          \sigma_\theta^2 = f (1 - f) / (n a^2), \quad f = b + a \theta.

m and :math:`\tau` come from all other groups: each group is left out of the regression and of the restricted likelihood
of `fay_herriot` by subtracting its terms. With the leverage :math:`h = w x' A^{-1} x` and the residual e, the
prediction without the group is :math:`y - e/(1-h)`, the determinant :math:`(1-h) \det A`, and the sum of squares
smaller by :math:`w e^2 / (1-h)`. The share at which variances are taken comes from the half of the groups to which the
group does not belong.

**Means** are shares of fuzzy sets (module `inference.means`), pooled as shares are. **Expected ranks** are averages
over draws from the distributions of the pooled shares.

**Heterogeneity** (docs/theory/groups-and-samples.md). The exact test compares the likelihood ratio with B draws of the
counts given their total; of many groups, draws end with the twentieth statistic that is as large, and after l draws the
p-value is 20/l [2]_. The approximate test is Cochran's Q [3]_, which also gives the interval of the spread [4]_. It
fails for small groups with counts that are nearly all 0: p is below 0.001 in a quarter of such surveys. The statistics
of K answers are dependent. With the correlation matrix R of their unbiased shares in one group, and d degrees of
freedom each, the sum has the mean Kd and the variance :math:`2 d \lVert R \rVert^2`, so that it is about a multiple of
chi-squared with :math:`d K^2 / \lVert R \rVert^2` degrees of freedom (Satterthwaite).

.. [1] C. Yu, P. D. Hoff, "Adaptive multigroup confidence intervals with constant coverage", Biometrika 105 (2018),
   319-335.
.. [2] J. Besag, P. Clifford, "Sequential Monte Carlo p-values", Biometrika 78 (1991), 301-304.
.. [3] W. G. Cochran, "The combination of estimates from different experiments", Biometrics 10 (1954), 101-129.
.. [4] W. Viechtbauer, "Confidence intervals for the amount of heterogeneity in meta-analysis", Stat. Med. 26 (2007),
   37-52.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri, ndtri, xlogy

from warner.arrays import Array, Integers, Label, Mask, Sets, objects
from warner.groups.fay_herriot import (
    SPREADS,
    DirectEstimates,
    Pooled,
    direct_estimates,
    direct_sum,
    fits,
    largest_spread,
    partially_pooled,
)
from warner.groups.random_walk import RandomWalks, Series
from warner.inference.answer_tables import FIRST_ROWS, respondents
from warner.inference.binomial import ROUNDING, Binomial, at_least
from warner.inference.intervals import Confidence, mirrored
from warner.inference.means import Mean, numbers_of, sets_of
from warner.inference.ranking import reports_in_papers
from warner.numerics import bisected, bisected_each, deviance
from warner.reports.tallies import Collected, Pool, Tally
from warner.results import Column, Estimates, TableResult, critical_value, group_columns, name_columns
from warner.simulate import seeded_by
from warner.text import level_text, p_value, quoted
from warner.typesetting import labels, p_value_cells, percent_cells, plain_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.documents import Document
    from warner.groups.group_estimates import GroupEstimates
    from warner.inference.quantities import Rows


# Fab intervals


SHARES = 101  # at which every group looks for the ends of its interval, twice
FAB_HALVINGS = 30  # of the distance between two of them
DIVISIONS = 4001  # of the error probability, in a table
LEAST_DIVISION = 1e-6  # no tail is without error probability
LEAST_BELIEVED_SPREAD = 1e-3  # that is believed of the other groups
GROUPS_AT_ONCE = 2_000
ALIKE = "all groups are alike"  # the hypothesis of a test without covariates and order


class Prior(NamedTuple):
    """Mean and spread of each group's share, predicted from the other groups."""

    mean: Array
    spread: Array


def from_the_others(direct: DirectEstimates, covariates: Array) -> Prior:
    """Predict mean and spread of every group from the reports of all other groups."""
    groups = direct.share.size
    mean, spread = np.full(groups, 0.5), np.full(groups, np.inf)  # the tails are divided evenly
    odd = np.arange(groups) % 2 == 1
    for half in (odd, ~odd):
        other = direct.select(~half)
        if half.any() and other.informative.any() and direct.informative.sum() > covariates.shape[1] + 2:
            at = other.overall()
            left_out = _left_out(direct, covariates, at, largest_spread(other, at))
            mean[half], spread[half] = left_out.mean[half], left_out.spread[half]
    return Prior(mean, spread)


def _left_out(direct: DirectEstimates, covariates: Array, share: float, largest: float) -> Prior:
    """Fit without each group in turn; variances are taken at one share, and spreads go up to the largest."""
    spreads = largest * np.linspace(0, 1, SPREADS) ** 2
    cells = np.gradient(spreads)
    likelihood, means = np.empty((2, SPREADS, direct.share.size))
    for index, spread in enumerate(spreads):
        fit = fits(direct, covariates, np.array([spread]), share, steps=1)
        total = np.where(direct.informative, fit.sampling_variance[0] + spread**2, 1.0)
        weight = direct.informative / total
        remaining = np.maximum(1 - weight * fit.variance_of_mean[0], 1e-12)
        residual = direct.share - fit.mean[0]
        means[index] = direct.share - residual / remaining
        # Twice the log-likelihood changes by the terms of the group: log w, log (1 - h), and its part of the squares
        lost = np.log(total) + weight * residual**2 / remaining - np.log(remaining)
        likelihood[index] = fit.log_likelihood[0] + np.where(direct.informative, lost, 0.0) / 2
    weights = cells[:, np.newaxis] * np.exp(likelihood - likelihood.max(axis=0))
    weights /= weights.sum(axis=0)
    means = np.where(direct.informative, means, direct.share)
    return Prior((weights * means).sum(axis=0), np.maximum(spreads @ weights, LEAST_BELIEVED_SPREAD))


def fab_limits(counts: Binomial, prior: Prior, level: float) -> tuple[Array, Array]:
    """Compute the limits of the shares behind binomial counts; those of Clopper and Pearson under a flat prior."""
    ends = []
    for first in range(0, counts.count.size, GROUPS_AT_ONCE):
        some = slice(first, first + GROUPS_AT_ONCE)
        selected = Binomial(*(part[some] for part in counts)), Prior(*(part[some] for part in prior))
        ends.append(_limits(*selected, 1 - level))
    low, high = (np.concatenate(parts) for parts in zip(*ends, strict=True))
    return low, high


def _limits(counts: Binomial, prior: Prior, alpha: float) -> tuple[Array, Array]:
    shares = _shares_tried(counts, alpha)
    accepted = np.stack([_accepts(counts, prior, alpha, share) for share in shares])
    first, last = accepted.argmax(axis=0), len(shares) - 1 - accepted[::-1].argmax(axis=0)

    def share_at(index: Integers) -> Array:
        return np.asarray(shares[np.clip(index, 0, len(shares) - 1), np.arange(shares.shape[1])])

    def inside(share: Array) -> Mask:
        return _accepts(counts, prior, alpha, share)

    low, _ = bisected_each(inside, share_at(first - 1), share_at(first), FAB_HALVINGS)
    _, high = bisected_each(lambda share: ~inside(share), share_at(last), share_at(last + 1), FAB_HALVINGS)
    return np.where(first == 0, 0.0, low), np.where(last == len(shares) - 1, 1.0, high)


def _shares_tried(counts: Binomial, alpha: float) -> Array:
    """Return ascending shares, of shape (shares, groups): over the whole range, and near the unbiased share."""
    f = np.clip(counts.count / counts.n, 0.5 / (counts.n + 1), 1 - 0.5 / (counts.n + 1))
    unbiased = np.clip(counts.share_at(f), 0, 1)
    widest = -ndtri(alpha * LEAST_DIVISION) * np.sqrt(f * (1 - f) / counts.n) / np.abs(counts.gain)
    near = unbiased + np.linspace(-1, 1, SHARES)[:, np.newaxis] * widest
    everywhere = np.broadcast_to(np.linspace(0, 1, SHARES)[:, np.newaxis], near.shape)
    return np.sort(np.concatenate([np.clip(near, 0, 1), everywhere]), axis=0)


def _accepts(counts: Binomial, prior: Prior, alpha: float, share: Array) -> Mask:
    """Return which groups accept these shares; counts beyond what shares explain are moved, so that none is empty."""
    f = np.clip(counts.reported(share), 0, 1)
    sigma = np.sqrt(f * (1 - f) / counts.n) / np.abs(counts.gain)
    upper = divided(2 * sigma * (prior.mean - share) / prior.spread**2, alpha)
    upper = np.where(counts.gain > 0, upper, 1 - upper)
    others = counts.n - np.maximum(counts.count, counts.n * counts.lowest)
    few = at_least(others, counts.n, 1 - f)  # the same as `at_most` of the reports that count, and six times as fast
    many = at_least(np.minimum(counts.count, counts.n * counts.highest), counts.n, f)
    return np.asarray((few > alpha * (1 - upper)) & (many > alpha * upper))


def divided(needed: Array, alpha: float) -> Array:
    r"""Solve for the part s of alpha: :math:`\Phi^{-1}(\alpha s) - \Phi^{-1}(\alpha(1-s))` equals `needed`.

    >>> divided(np.array([-100.0, 0.0, 100.0]), 0.05).round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    part = np.linspace(LEAST_DIVISION, 1 - LEAST_DIVISION, DIVISIONS)
    return np.interp(needed, ndtri(alpha * part) - ndtri(alpha * (1 - part)), part)


# Group intervals


COVERAGE_WORDS = {"average": "on average", "each": "for each group"}
INTERVAL_HEADINGS = {"average": "interval, on average over the groups", "each": "interval, for each group"}
METHOD_NAMES = {"average": "partially pooled", "each": "fab"}


def interval_heading(level: float, kind: str, *, approximate: bool) -> str:
    return f"{'approximate ' * approximate}{level_text(level)} {INTERVAL_HEADINGS[kind]}"


def check_kind(kind: str) -> None:
    if kind not in INTERVAL_HEADINGS:
        raise ValueError(f"kind must be {' or '.join(map(repr, INTERVAL_HEADINGS))}, but got {kind!r}")


@dataclass(frozen=True, eq=False, repr=False)
class GroupIntervals(TableResult):
    """Intervals of shares in all groups.

    Attributes
    ----------
    tally : Tally or Pool
        The reports.
    low, high : ndarray of shape (groups,), or (groups, k)
        The ends: of one share in each group, or of all.
    level : float
        Their level.
    kind : str
        Whether it holds on ``average`` over the groups, or for ``each`` of them.
    """

    _rows_key = ""

    tally: Collected
    low: Array
    high: Array
    level: float
    kind: str

    def _columns(self) -> list[Column]:
        answers = self.low.size // len(self.tally.groups)
        names = group_columns(self.tally.by, self.tally.groups, answers)
        ends = Estimates(self.low, self.low, self.high, unit="share")
        values = labels(objects(self.tally.domain)) * len(self.tally.groups)
        return [
            Column("low", self.low.ravel()),
            Column("high", self.high.ravel()),
            *(Column(heading=name, texts=partial(labels, column)) for name, column in names.items()),
            *[Column(heading="value", texts=values)] * (answers > 1),
            Column(heading=f"{interval_heading(self.level, self.kind, approximate=False)} (%)", texts=ends.texts()[2]),
        ]

    def _title(self) -> str:
        return "Intervals of shares by group"

    def _footnotes(self) -> list[str]:
        return [reports_in_papers(self.tally)]

    def _facts(self) -> Document:
        about = {"level": self.level, "kind": self.kind, "holds": COVERAGE_WORDS[self.kind]}
        return {"low": self.low, "high": self.high, **about}

    def text(self) -> str:
        """Return the first rows of the table."""
        return plain_table(self._printed(), FIRST_ROWS)


def exact_limits(
    tally: Collected,
    sets: Sets | None,
    index: int,
    direct: DirectEstimates,
    covariates: Array,
    level: float,
    along: str | None,
) -> tuple[Array, Array]:
    """Compute the FAB limits of one set of answers; from 0 to 1 for a group without reports."""
    if along is not None:
        raise ValueError('kind must be "average" along an order: limits for each group are not known there')
    counts = binomial_counts(tally, sets, index)
    some = np.isfinite(counts.count)
    prior = from_the_others(direct, covariates)
    low, high = np.zeros(some.size), np.ones(some.size)
    selected = Binomial(*(part[some] for part in counts)), Prior(*(part[some] for part in prior))
    low[some], high[some] = fab_limits(*selected, level)
    return low, high


class NotBinomialError(ValueError):
    """Error for shares without one binomial count in each group."""


def binomial_counts(tally: Collected, sets: Sets | None, index: int) -> Binomial:
    """Return the binomial counts of the share of a set, NaN for groups without reports."""
    result = Binomial(*np.full((4, len(tally.groups)), np.nan))
    for part in tally.parts:
        groups = np.flatnonzero(part.answered)
        if part.design.epsilon == 0 or not groups.size:
            continue
        readout = part.readout(groups, sets)
        if not np.broadcast_to(readout.exact, readout.count.shape)[:, index].all():
            raise NotBinomialError(
                'kind must be "average" under a design whose shares do not show in binomial counts; for limits of one '
                "group see warner.estimate"
            )
        if np.isfinite(result.count[groups]).any():
            raise NotBinomialError(
                'kind must be "average" where a group has reports under several designs; for limits of one group see '
                "warner.estimate"
            )
        for values, identified in zip(result, Binomial.from_readout(readout), strict=True):
            values[groups] = np.broadcast_to(identified, readout.count.shape)[:, index]
    return result


# Group means


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GroupMeans(Mean):
    """Means of a number in all groups, each shrunk toward the others; noisier groups are shrunk more.

    It has the attributes of `Mean <warner.inference.means.Mean>`, with groups; a group without reports has a mean, too.

    Attributes
    ----------
    own : ndarray of shape (groups,)
        The weight of the group's own reports in its mean, from 0 to 1; the rest comes from the other groups.
    kind : str
        Whether intervals hold on ``average`` over the groups, or for ``each`` of them.
    """

    own: Array
    kind: str

    @property
    def approximate(self) -> bool:
        """True if the intervals are approximate; exact are those for each group, without weights."""
        return self.kind != "each" or self.weighted

    @property
    def interval_name(self) -> str:
        """Name the intervals, as the shares of groups do."""
        approximate = self.kind == "each" and self.weighted
        return interval_heading(self.confidence.level, self.kind, approximate=approximate)

    def rows(self) -> Rows:
        """Return the labels of rows in a table of quantities, with the coverage of the intervals."""
        return super().rows()._replace(method=f"{self.method}, {INTERVAL_HEADINGS[self.kind].partition(', ')[2]}")

    def _columns(self) -> list[Column]:
        return [*super()._columns(), Column("own", self.own, "own (%)", partial(percent_cells, self.own, 0))]

    def _facts(self) -> Document:
        return super()._facts() | {"own": self.own, "kind": self.kind, "holds": COVERAGE_WORDS[self.kind]}


def pooled_share(direct: DirectEstimates, covariates: Array, series: Series | None) -> Pooled:
    """Pool one share of all groups: toward a regression, or along an order."""
    return partially_pooled(direct, covariates) if series is None else RandomWalks(direct, series).pooled()


def pooled_sum(estimates: GroupEstimates, sets: Sets, level: float, kind: str) -> tuple[Pooled, Array, Array]:
    """Pool the shares of one set of answers, which may be fuzzy; also return their limits."""
    reach, tally, matrix = critical_value(level), estimates.tally, estimates.covariates.matrix
    check_kind(kind)
    direct = direct_sum(tally, sets)
    if not direct.informative.any():
        raise ValueError("reports must identify the requested shares, but under this design they do not")
    together = pooled_share(direct, matrix, estimates.series)
    if kind == "each":
        return together, *exact_limits(tally, sets, 0, direct, matrix, level, estimates.along)
    share = np.clip(together.share, 0, 1)
    low, high = (np.clip(share + side * reach * together.error, 0, 1) for side in (-1, 1))
    return together, low, high


def group_means(estimates: GroupEstimates, values: Any, level: float, kind: str) -> GroupMeans:
    """Estimate the mean of the numbers of the answers in each group; for two answers, from their shares."""
    tally = estimates.tally
    x = numbers_of(tally, values)
    least, width = float(x.min()), float(np.ptp(x))
    if width == 0:
        raise ValueError("values must not all be equal, or there is nothing to estimate")
    if mirrored([part.design for part in tally.parts]):
        index = int(x.argmax())
        share, error, own = (part[:, index] for part in (estimates.shares, estimates.errors, estimates.own))
        low, high = estimates.answer_limits(index, level, kind)
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
        people=respondents(tally),
    )


# Ranks


DRAWS, FEW_DRAWS = 2_000, 200  # for up to MANY_GROUPS, and for more
MANY_GROUPS = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class GroupRanks(TableResult):
    """Expected ranks of groups by the share of one answer, 1 for the largest.

    Attributes
    ----------
    tally : Tally or Pool
        The reports.
    answer : label
        The answer whose shares are ranked.
    expected, low, high : ndarray of shape (groups,)
        The expected rank, and its range at the level.
    among_first : ndarray of shape (groups,)
        The probability of being among the first `count`.
    count : int
        How many are first.
    level : float
        Of the ranges.
    """

    _rows_key = "ranks"

    tally: Collected
    answer: Label
    expected: Array
    low: Array
    high: Array
    among_first: Array
    count: int
    level: float

    def _columns(self, *, sort: bool = False) -> list[Column]:
        """Return a row for each group: expected rank, range, and the probability of being among the first.

        Parameters
        ----------
        sort : bool
            Whether the first ranks are first.
        """
        order = np.argsort(self.expected, kind="stable") if sort else np.arange(self.expected.size)
        names = group_columns(self.tally.by, [self.tally.groups[i] for i in order])
        rank, low, high, first = (part[order] for part in (self.expected, self.low, self.high, self.among_first))
        among = "first (%)" if self.count == 1 else f"among the first {self.count:,} (%)"
        ends = (f"{least:.0f} to {most:.0f}" for least, most in zip(low, high, strict=True))
        return [
            *name_columns(names),
            Column("rank", rank, "expected rank", [f"{one:.1f}" for one in rank]),
            Column("low", low),
            Column("high", high, f"{level_text(self.level)} range", list(ends)),
            Column("first", first, among, percent_cells(first, 0)),
        ]

    def _title(self, **_: Any) -> str:
        return f"Expected ranks of groups by the share of {quoted(self.answer)}"

    def _footnotes(self, **_: Any) -> list[str]:
        return [reports_in_papers(self.tally)]

    def _facts(self, **_: Any) -> Document:
        return {"answer": self.answer, "count": self.count, "level": self.level}

    def text(self) -> str:
        """Return the table for a terminal, the first ranks first."""
        return plain_table(self._printed(sort=True), FIRST_ROWS)


def expected_ranks(
    share: Array, error: Array, count: int, level: float, seed: int
) -> tuple[Array, Array, Array, Array]:
    """Compute expected ranks, the ends of their ranges, and the probability of being among the first `count`."""
    rng = np.random.default_rng(seed)
    draws = DRAWS if share.size <= MANY_GROUPS else FEW_DRAWS
    indices = np.empty((draws, share.size), dtype=np.int32)
    for draw in range(draws):
        order = np.argsort(-(share + error * rng.standard_normal(share.size)), kind="stable")
        indices[draw, order] = np.arange(1, share.size + 1)
    low, high = np.quantile(indices, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return indices.mean(axis=0), np.floor(low), np.ceil(high), (indices <= count).mean(axis=0)


# Heterogeneity


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
    freedom = _degrees_of_freedom(direct, covariates)
    statistic = float(_q(direct, covariates, np.zeros(1), direct.overall())[0])
    return Q(statistic, freedom, float(chdtrc(freedom, statistic)) if freedom > 0 else 1.0)


def _degrees_of_freedom(direct: DirectEstimates, covariates: Array) -> int:
    return int(direct.informative.sum()) - int(covariates.shape[1])


def q_profile(
    direct: DirectEstimates, covariates: Array, level: float, limit: float | None = None
) -> tuple[float, float]:
    """Compute the interval of the spread, from 0 to the largest possible spread, or to a `limit`."""
    freedom, overall = _degrees_of_freedom(direct, covariates), direct.overall()
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
class GroupTest(TableResult):
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
    hypothesis : str
        The hypothesis in words.
    """

    _rows_key = None

    statistic: float
    freedom: float
    p_value: float
    one_sided: float
    method: str
    tally: Collected | None = None
    approximate: bool = True
    hypothesis: str = ALIKE

    def _columns(self) -> list[Column]:
        names = ("method", "statistic", "freedom", "p_value", "one_sided", "approximate")
        row = {name: np.array([getattr(self, name)]) for name in names}
        tests = {"p_value": "p", "one_sided": "p (one-sided)"}
        headings = {"freedom": "degrees of freedom"} | tests
        return [
            Column(name, value, headings.get(name, name), partial(p_value_cells, value) if name in tests else None)
            for name, value in row.items()
        ]

    def _title(self) -> str:
        return f"Test that {self.hypothesis}"

    def _footnotes(self) -> list[str]:
        return [] if self.tally is None else [reports_in_papers(self.tally)]

    def text(self) -> str:
        """Return the test as one line without a full stop; notes below tables add it."""
        names = {"Cochran": "Cochran's Q", "sum of Cochran": "the sum of Cochran's Q"}
        found = f"{names.get(self.method, self.method)} {self.statistic:.4g}"
        name = "degree of freedom" if self.freedom == 1 else "degrees of freedom"
        degrees = f" on {self.freedom:.4g} {name}" * self.approximate
        about = f"{'approximate' if self.approximate else 'exact'}, {found}{degrees}"
        return f"{self._title()}: {p_value(self.p_value)} ({about}, one-sided {p_value(self.one_sided)})"


def conditional_test(counts: Binomial) -> GroupTest | None:
    """Test by draws given the total that counts of groups have one probability; None if they have different designs.

    The counts seed the draws: the order of the groups, and which of two answers is counted, change nothing.
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
    """Return twice the log-likelihood ratio of separate probabilities against equal ones."""
    expected = counts.sum() / n.sum() * n
    return np.asarray(2 * (deviance(counts, expected) + deviance(n - counts, n - expected)).sum())


def _conditional_p_value(counts: Integers, n: Integers, rng: np.random.Generator) -> float:
    """Compute the p-value given the total of the counts, by the sum of x ln x over both kinds of reports."""
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
    """Make the interval of the spread exclude 0 exactly where the test rejects."""
    refuted = test.p_value < (1 - level) * (1 - ROUNDING)  # 1 - 0.95 is a hair above 0.05
    low = max(low, HETEROGENEITY_TOLERANCE) if refuted else 0.0
    return low, max(low, high)


def cochran_test(direct: DirectEstimates, covariates: Array) -> GroupTest:
    """Cochran's Q test that one answer has the same share in all groups."""
    q = cochran_q(direct, covariates)
    return GroupTest(q.statistic, q.freedom, min(1.0, 2 * q.p_value), q.p_value, "Cochran")


def summed_cochran_test(answers: Sequence[DirectEstimates], covariates: Array, squared: float) -> GroupTest:
    """Test all answers at once; `squared` is the sum of squared correlations between their unbiased shares."""
    each = [cochran_q(direct, covariates) for direct in answers]
    statistic, expected = sum(q.statistic for q in each), sum(q.freedom for q in each)
    if expected <= 0:
        return GroupTest(statistic, 0, 1.0, 1.0, "sum of Cochran")
    freedom = expected * len(each) / squared
    tail = float(chdtrc(freedom, statistic * freedom / expected))
    return GroupTest(statistic, freedom, tail, tail, "sum of Cochran")


def squared_correlations(tally: Collected, identified: list[int], means: Array, rng: np.random.Generator) -> float:
    """Sum the squared correlations between the unbiased shares of these answers; K if they are zero."""
    numbers = [float(np.sum(part.effective)) for part in tally.parts]
    people = [max(1, round(min(PEOPLE, sum(numbers)) * number / sum(numbers))) if number else 0 for number in numbers]
    groups = tuple((survey,) for survey in range(SURVEYS_DRAWN))
    parts = [
        Tally(
            part.design,
            part.design.simulate(means, n, rng=rng, size=SURVEYS_DRAWN),
            n=np.full(SURVEYS_DRAWN, n),
            by=("survey",),
            groups=groups,
        )
        for part, n in zip(tally.parts, people, strict=True)
    ]
    drawn = direct_estimates(Pool(tuple(parts)) if len(parts) > 1 else parts[0])
    shares = np.stack([drawn[index].share for index in identified])
    deviation = shares - shares.mean(axis=1, keepdims=True)
    size = np.linalg.norm(deviation, axis=1, keepdims=True)
    scores = deviation[size[:, 0] > 0] / size[size[:, 0] > 0]
    # The products of rows, or of columns, whichever are fewer, have the same sum of squares.
    products = scores @ scores.T if len(scores) <= SURVEYS_DRAWN else scores.T @ scores
    chance = len(scores) * (len(scores) - 1) / SURVEYS_DRAWN  # what correlations of draws add
    return max(float(np.square(products).sum()) - chance, float(len(scores)), 1.0)
