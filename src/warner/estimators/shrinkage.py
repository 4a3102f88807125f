r"""Shrinkage: empirical Bayes estimates of the shares, averaged over a dictionary of priors.

docs/theory/estimators.md has the model: the K shares are draws from one distribution G, given that they sum to one, and
the posterior means under a few hundred priors :math:`G_j` (`warner.estimators.priors`) are averaged, weighted by
evidence. There is no optimizer: one pass over nodes for the share, a few matrix products, and the root of one
decreasing function.

1. *Distinct counts*, with the number of answers that have each. All else is done on these, so that equal counts get
   equal shares in any order.
2. *Nodes* for :math:`\theta`, on the axis :math:`u = 2\sqrt N \arcsin\sqrt\mu`, on which a count has a variance of
   about 1: half a standard deviation apart, and only near a count. Sums over the nodes then agree with integrals to
   many digits, because the trapezoid rule converges like :math:`e^{-2\pi^2/h^2}` there.
3. *Evidence*. With f, m and v for the evidence, mean and variance of a share under :math:`G_j` given its count, and S
   and V for the sums of m and v over all answers, it is
   :math:`\prod_i f(c_i) \, \mathcal N(1; S, V) / P(\sum\theta = 1 \mid G_j)`. The second factor prevents a prior with a
   heavy bulk from taking the share of the most common answers. Its denominator is normal, too, but for priors with
   heads, where it is averaged over the number of heads. The case that one answer has all respondents is no prior of one
   share; its evidence is exact. Logarithms replace doubles that would underflow.
4. *The posterior of each share*: the average over j.
5. *The sum is one*: every posterior is tilted by :math:`e^{-\lambda\phi(\theta)}`, with the one :math:`\lambda` for
   which the expected shares sum to one. With few answers :math:`\phi = \theta`, which is conditioning on the sum to
   first order. With many it is a power of :math:`\theta + \text{noise}` well below one: the correction then falls on
   the many rare answers, whose prior is least certain. If that would move some share by more than one standard
   deviation of its posterior, no prior of the dictionary fits; with many answers the tilt ends there.
6. *The target*. The population's shares are the expected :math:`\theta`. The shares of the sample are the expected
   numbers of respondents given :math:`\theta` and the reports. If a report names one answer, that is
   :math:`\theta_i\,(\kappa c_i/\mu_i + q\sum_j c_j/\mu_j)` with :math:`\kappa = p - q`, one step of the iterative
   Bayesian update. The last sum is the same for all answers: with few of them it is such that the total is N, with many
   it is NK, its expectation, because otherwise the most common answer would absorb every misfit. If a report supports
   several answers, it is :math:`c_i\,p\theta/\mu + (N-c_i)(1-p)\theta/(1-\mu)`.
7. *Limited translation* [1]_: no share is further from its unbiased estimate than its own count allows. All are shifted
   by one constant, each up to its likelihood limits at D standard errors, so that they sum to one. Score (Wilson)
   limits would not suffice for small counts, which are skewed: among a thousand answers with one expected report each,
   the largest count is often 6 or 7, five or six standard errors of the score above.

For each :math:`G_j` the posterior rises with the count, and so does the average over j. The tilt could disturb that by
a little; then neighbors are pooled. The limits rise with the count, too. All arrays have a first axis for several
histograms, each with the nodes that it would have alone. Only the values of the priors at their nodes, which cost the
most, are shared by histograms with as many reports.

.. [1] B. Efron and C. Morris, "Limiting the risk of Bayes and empirical Bayes estimators, part II: the empirical Bayes
   case", J. Amer. Stat. Assoc. 67 (1972), 130-139.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from warner.arrays import SMALLEST, Array, Counts, Integers, Mask
from warner.designs.facts import check_target, full_symmetry
from warner.estimators.methods import ANSWERS_FOR_SHRINKAGE
from warner.estimators.priors import BELIEFS, SUM_VARIANCE_SLACK, Beliefs, Dictionary, dictionary
from warner.estimators.projections import projected_within, refuse_incomplete
from warner.numerics import bisected_each, deviance
from warner.reports.counts import Histograms, checked
from warner.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from warner.designs.contract import Design


# Limited translation


ERRORS_ALLOWED = 1.0  # standard errors that are allowed beyond the largest of K errors
TRANSLATION_STEPS = 8
TRANSLATION_BISECTIONS = 60


def errors_allowed(k: int) -> float:
    """Largest distance D of one of k shares from its unbiased estimate, in standard errors."""
    return float(ndtri(1 - 0.5 / k)) + ERRORS_ALLOWED


def binomial_deviance(counts: Array, n: Array, mu: Array) -> Array:
    """Deviance of binomial counts at mu: twice the nats by which they are less likely than at best."""
    return np.asarray(2 * (deviance(counts, n * mu) + deviance(n - counts, n * (1 - mu))))


def lower_limit(counts: Array, n: Array, errors: Array | float) -> Array:
    """Probability below its best value at which a count has the deviance `errors` squared, by Newton's method."""
    full, root = np.sqrt(n), np.sqrt(counts / n)
    some = np.where(counts > 0, counts, 1.0)
    # Two starts, for large counts and for small ones, whose deviance is at least 2c (log(c / n mu) - 1).
    least = np.sqrt(np.exp(np.maximum(-1 - np.square(errors) / (2 * some), -600)) * counts / n)
    u = 2 * full * np.arcsin(np.maximum(np.sin(np.maximum(np.arcsin(root) - errors / (2 * full), 0)), least))
    for _ in range(TRANSLATION_STEPS):
        mu = np.square(np.sin(u / (2 * full)))
        score = (counts - n * mu) / np.sqrt(np.maximum(n * mu * (1 - mu), SMALLEST))
        distance = np.sqrt(binomial_deviance(counts, n, mu))
        step = np.where(score > 0, (distance - errors) * distance / np.maximum(score, SMALLEST), 0)
        u = np.maximum(u + step, u / 4)
    return np.where(counts > 0, np.square(np.sin(u / (2 * full))), 0.0)


class Problem(NamedTuple):
    """Distinct counts of histograms, the numbers of reports, and p and q.

    The counts, in rising order, and how many answers have each have the shape (histograms, counts), and the numbers of
    reports (histograms, 1). Where some histograms have fewer distinct counts, their largest one is repeated, as one
    that no answers have. Nodes may be repeated, too: an integral is the same, however a node's weight is split.
    """

    values: Array
    repeats: Array
    n: Array
    p: float
    q: float
    exclusive: bool

    @property
    def gain(self) -> float:
        return self.p - self.q

    @property
    def k(self) -> int:
        return round(float(self.repeats[0].sum()))

    def scale(self, mu: Array | float) -> Array:
        """Transform to the axis on which a count has a variance of about 1."""
        return np.asarray(2 * np.sqrt(self.n) * np.arcsin(np.sqrt(np.clip(mu, 0, 1))))

    def select(self, histograms: slice | Integers) -> Problem:
        return self._replace(values=self.values[histograms], repeats=self.repeats[histograms], n=self.n[histograms])

    def grouped(self) -> Problem:
        """Merge neighboring counts of one histogram at their mean, so that there are not too many."""
        (values,), (repeats,), (indices,) = self.values, self.repeats, self.scale(self.values / self.n)
        width = FINEST_GROUP
        group = np.arange(indices.size)
        while group[-1] >= MOST_DISTINCT_COUNTS:
            cells = np.floor(indices / width)
            cells[0], cells[-1] = -1, np.inf  # the ends stay alone, so that all others lie between
            group = np.cumsum(np.append(False, np.diff(cells) > 0))
            width *= 1.5
        together = np.bincount(group, repeats).astype(np.float64)
        means = np.bincount(group, repeats * values) / together
        return self._replace(values=means[np.newaxis], repeats=together[np.newaxis])

    def limits(self, errors: Array | float) -> tuple[Array, Array]:
        """Return the likelihood limits of the shares at this number of standard errors, cut to 0..1."""
        ends = lower_limit(self.values, self.n, errors), 1 - lower_limit(self.n - self.values, self.n, errors)
        low, high = (np.clip((mu - self.q) / self.gain, 0, 1) for mu in ends)
        return (low, high) if self.gain > 0 else (high, low)

    def allow_a_distribution(self, errors: Array | float) -> Mask:
        """Return True if a distribution lies within the limits, of shape (..., 1)."""
        low, high = (np.vecdot(self.repeats, end)[..., np.newaxis] for end in self.limits(errors))
        return np.asarray((low <= 1) & (high >= 1))


def least_errors(problem: Problem) -> Array:
    """Return D, or the least number of standard errors at which a distribution is within limits, (..., 1)."""
    errors = np.full_like(problem.n, errors_allowed(problem.k))
    tight = ~problem.allow_a_distribution(errors)
    if not tight.any():
        return errors
    too_few, enough = errors, errors.copy()
    while not (allowed := problem.allow_a_distribution(enough)).all():
        too_few, enough = np.where(allowed, too_few, enough), np.where(allowed, enough, 2 * enough)
    _, enough = bisected_each(problem.allow_a_distribution, too_few, enough, steps=TRANSLATION_BISECTIONS)
    return np.where(tight, enough, errors)


def limited(shares: Array, counted: Problem) -> Array:
    """Shift the shares of each histogram by one constant, cut off at their limits, so that they sum to one."""
    k = counted.k
    even = shares + (1 - np.vecdot(counted.repeats, shares)[..., np.newaxis]) / k
    away = binomial_deviance(counted.values, counted.n, counted.q + (counted.p - counted.q) * np.clip(even, 0, 1))
    inside = (even >= 0) & (away <= errors_allowed(k) ** 2)
    rows = np.flatnonzero(~inside.all(axis=-1))
    if rows.size:  # most often no limit is reached
        some = counted.select(rows)
        within = projected_within(shares[rows], *some.limits(least_errors(some)), some.repeats)
        # The remainder is rounding.
        even[rows] = within / np.vecdot(some.repeats, within)[..., np.newaxis]
    return np.asarray(even)


# Shrinkage


NODE_SPACING = 0.5  # between nodes, in standard deviations of a count
NODE_RANGE = 3.5  # standard deviations around a count within which there are nodes
FINE_NODES_UP_TO = 16.0  # standard deviations above the noise up to which nodes are always NODE_SPACING apart
MOST_NODES = 600  # beyond FINE_NODES_UP_TO, nodes move apart while there are more
COARSEST_SPACING = 2.0  # but not further than this
MOST_DISTINCT_COUNTS = 512  # distinct counts; more are grouped
FINEST_GROUP = 0.05  # standard deviations that a group of distinct counts spans at the least
LEAST_PROBABILITY = 1e-250  # probability of a count under a prior, where its largest likelihood is 1: logarithms below
LOG_IMPOSSIBLE = -1e30  # logarithm of a likelihood of zero
NEGLIGIBLE_PRIOR = 1e-6  # of the largest posterior weight: priors below are left out
HOPELESS_NATS = 60.0  # nats by which a prior's evidence falls short of another's, and is not worth completing
STRAY_TILT_TOLERANCE = 1e-3  # relative precision of a tilt that ends before the shares sum to one
LOG_ZERO = -1e200  # in the place of the logarithm of 0, so that it can be multiplied by 0
PART_OF_PRIORS = 0.5  # part of the priors from which on all are worked on
COUNTS_AT_ONCE = 2**12  # of histograms that are estimated together
CELLS_AT_ONCE = 2**9  # nodes or counts whose weights under all priors are held: a few MB, as large as a cache
KEPT_BYTES = 31 * 2**20


def shrink(counts: ArrayLike, design: Design, *, n: ArrayLike | None = None, target: str = "realised") -> Array:
    r"""Estimate the true shares by their expectation: a lower total error, not a lower error of each share.

    The shares are draws from one unknown distribution, given that they sum to one. The posterior means under a few
    hundred priors are averaged, weighted by evidence. Shares that the reports determine poorly shrink toward usual
    values of the others.

    Each share lies between the likelihood limits of its own count at D = z(1 - 1/(2k)) + 1 standard errors, cut to
    0..1, if distributions within these limits exist; otherwise D grows to the least at which one does, with a warning.
    Here z is the normal quantile function, and at the limits the count is D^2/2 nats less likely than at best (with
    weights, of the effective number of reports). Hence every share is consistent as the number of reports grows with k
    fixed, for every population, if reports follow the design.

    Use it for 20 answers or more and a low total error; with fewer, ``auto`` is as good. It is biased share by share.
    No share is exactly zero unless nothing was randomized: use `Estimate.present` to detect answers. It ignores the
    order of answers and prior knowledge about single ones. Intervals and tests are based on the counts.

    Parameters
    ----------
    counts : array_like of shape (..., k)
        As for `inv`. Floats are numbers of reports: first scale weighted counts to the effective number of reports
        (`Tally.effective`), as `warner.estimate` does.
    design : Design
        A symmetric design, in which every answer has its own count, with the same p and q for all.
    n : array_like of shape (...), optional
        Number of reports, if a report may support several answers.
    target : {"realised", "population"}
        The shares in the sample, or in the population. Shares of the population shrink more, and can differ from those
        of the sample if little was randomized.

    Returns
    -------
    ndarray of shape (..., k)
        Shares that sum to one. Equal counts have equal shares, and larger counts never have smaller ones (for p < q
        never larger ones).

    Examples
    --------
    Ten answers, of which one stands out. The others shrink toward each other, because their differences may be noise.

    >>> from warner import RandomizedResponse, inv_p
    >>> survey = RandomizedResponse(10, epsilon=1)
    >>> counts = [110, 92, 104, 220, 97, 113, 90, 101, 109, 96]
    >>> inv_p(counts, survey).round(2)
    array([0.07, 0.  , 0.03, 0.73, 0.  , 0.09, 0.  , 0.02, 0.06, 0.  ])
    >>> shrink(counts, survey).round(2)
    array([0.04, 0.01, 0.02, 0.78, 0.01, 0.06, 0.01, 0.02, 0.04, 0.01])
    """
    check_target(target)
    histograms = checked(counts, design, n)
    refuse_unsymmetric(design)
    return shares(histograms, design, target).reshape(histograms.counts.shape)


def refuse_unsymmetric(design: Design) -> None:
    """Raise an error for incomplete lists, and for designs without a symmetry."""
    refuse_incomplete("shrink", design)
    if full_symmetry(design.law) is None:
        raise TypeError(
            "shrink needs a symmetric design, in which every answer has a count of its own with the same p and q for "
            "all, but this one is given by its table of probabilities; use mle or inv_p"
        )


def shares(histograms: Histograms, design: Design, target: str = "realised") -> Array:
    """Estimate from checked counts, several histograms with similar numbers of reports at a time."""
    flat = histograms.rows()
    size = COUNTS_AT_ONCE // design.k if design.k <= MOST_DISTINCT_COUNTS else 1
    # Those with as many reports have nodes in common, and those with as large counts have about as many nodes.
    order = np.lexsort((flat.counts.max(axis=-1), flat.n))
    found = np.empty(flat.counts.shape)
    if order.size > 1:  # glibc then keeps freed memory: paging large arrays in takes as long as the arithmetic
        np.empty(KEPT_BYTES, dtype=np.uint8)
    for start in range(0, order.size, size):
        some = order[start : start + size]
        chosen = flat if flat.single else flat.select(some)
        if chosen.whole and chosen.single:
            found[some] = chosen.distinct.for_each_column(level_shares(chosen, design, target))
        else:
            values, repeats, which = _distinct(chosen.counts)
            found[some] = np.take_along_axis(_solved(values, repeats, chosen, design, target), which, axis=-1)
    return found


def level_shares(histogram: Histograms, design: Design, target: str = "realised") -> Array:
    levels = histogram.distinct
    values, repeats = levels.values[np.newaxis], levels.repeats[np.newaxis].astype(np.float64)
    return np.asarray(_solved(values, repeats, histogram, design, target)[0])


def _distinct(counts: Counts) -> tuple[Counts, Array, Integers]:
    """Return the distinct counts of each row, filled up with the largest, their frequencies, and answers' indices."""
    order = np.argsort(counts, axis=-1)
    rising = np.take_along_axis(counts, order, axis=-1)
    rank = np.zeros(counts.shape, dtype=np.int64)
    np.cumsum(rising[:, 1:] > rising[:, :-1], axis=-1, out=rank[:, 1:])
    values = np.repeat(rising[:, -1:], rank.max() + 1, axis=-1)
    np.put_along_axis(values, rank, rising, axis=-1)
    cells = rank + values.shape[-1] * np.arange(len(counts))[:, np.newaxis]
    repeats = np.bincount(cells.ravel(), minlength=values.size).reshape(values.shape).astype(np.float64)
    which = np.empty_like(rank)
    np.put_along_axis(which, order, rank, axis=-1)
    return values, repeats, which


def _solved(values: Counts, repeats: Array, histograms: Histograms, design: Design, target: str) -> Array:
    symmetry, n = full_symmetry(design.law), histograms.n.reshape(-1, 1).astype(np.float64)
    assert symmetry is not None
    if symmetry.q == 0 and symmetry.p == 1 and target == "realised":
        return np.asarray(values / n)
    worth = 1.0 if histograms.effective is None else histograms.effective.reshape(-1, 1) / n
    n = n * worth
    counts = np.minimum(values * worth, n)
    problem = Problem(counts, repeats, n, float(symmetry.p), symmetry.base, design.law.exclusive)
    if design.k == 2 and problem.gain < 0 and design.law.exclusive:  # the reports of the other answer have p > q
        mirrored = Problem((n - counts)[:, ::-1], repeats[:, ::-1], n, 1 - problem.p, 1 - problem.q, True)
        return solved(mirrored, target)[:, ::-1]
    return solved(problem, target)


def widened(shares: Array, histograms: Histograms, design: Design) -> str:
    """Return a warning if limits were widened because no distribution lies within them; empty otherwise."""
    symmetry, (counts, n), usual = full_symmetry(design.law), histograms.rows().in_reports(), errors_allowed(design.k)
    assert symmetry is not None
    facts = n[:, np.newaxis], float(symmetry.p), symmetry.base, design.law.exclusive
    problem, needed = Problem(counts, np.ones(counts.shape), *facts), np.full(len(n), usual)
    away = binomial_deviance(counts, problem.n, problem.q + problem.gain * shares)
    rows = np.flatnonzero((away > usual**2).any(axis=-1))
    if rows.size:
        needed[rows] = least_errors(problem.select(rows))[:, 0]
    wider = needed > usual
    if not wider.any():
        return ""
    where = f" in {counted(int(wider.sum()), 'group', 'groups')}" if len(n) > 1 else ""
    return (
        f"no distribution has all shares within {usual:.2f} standard errors of their counts{where}, "
        f"so that up to {needed.max():.2f} are allowed: there are very few reports, or they do not fit the design"
    )


def solved(problem: Problem, target: str) -> Array:
    """Return the share of each distinct count, within the limits of its count."""
    return limited(unlimited(problem, target), problem)


def unlimited(problem: Problem, target: str, beliefs: Beliefs = BELIEFS) -> Array:
    """Return the expected share of each distinct count, without limits; very many are grouped and interpolated."""
    few = problem.grouped() if problem.values.shape[-1] > MOST_DISTINCT_COUNTS else problem
    nodes, real = nodes_for(few)
    priors, size = dictionary(few.k, beliefs), max(1, CELLS_AT_ONCE // max(nodes.shape[-1], few.values.shape[-1]))
    parts = [slice(start, start + size) for start in range(0, len(nodes), size)]
    posterior = np.concatenate(
        [averaged_posterior(few.select(part), nodes[part], real[part], priors) for part in parts]
    )
    found = ordered(np.maximum(expected(few, nodes, posterior, target, beliefs), 0), few)
    return found if few is problem else np.interp(problem.values, few.values[0], found[0])


def nodes_for(problem: Problem) -> tuple[Array, Mask]:
    """Return nodes for the share, of shape (histograms, nodes), and which of them are real.

    The others are fences: beside every gap one takes up the mass that a prior has in there, where no count is near.
    """
    sign = 1.0 if problem.gain > 0 else -1.0
    zero, one = problem.scale(problem.q), problem.scale(problem.p)
    span = np.abs(one - zero)
    start, coarse = np.zeros_like(span), np.full_like(span, NODE_SPACING)
    counts = np.clip(sign * (problem.scale(problem.values / problem.n) - zero), 0, span)
    counts = np.concatenate([start, counts], axis=-1)
    fine = _near(counts, start, np.minimum(FINE_NODES_UP_TO, span), coarse)
    while True:
        far = _near(counts, np.full_like(span, FINE_NODES_UP_TO), span, coarse)
        indices = np.sort(np.minimum(np.concatenate([start, fine, far, span], axis=-1), span))
        new = np.diff(indices, prepend=-1) > 0
        crowded = (new.sum(axis=-1, keepdims=True) > MOST_NODES) & (coarse < COARSEST_SPACING)
        if not crowded.any():
            break
        coarse = np.where(crowded, 1.25 * coarse, coarse)
    indices = np.where(new, indices, span)[_kept_first(new)]
    gap = np.diff(indices) > 2.2 * coarse
    fences = (np.where(gap, edge, span) for edge in (indices[:, :-1] + coarse / 2, indices[:, 1:] - coarse / 2))
    every = np.concatenate([indices, *fences], axis=-1)
    theta = (np.sin((zero + sign * every) / (2 * np.sqrt(problem.n))) ** 2 - problem.q) / problem.gain
    theta[every == 0], theta[every == span] = 0.0, 1.0
    theta = np.concatenate([np.clip(theta, 0, 1), np.full_like(span, 1 / problem.k)], axis=-1)
    real = np.concatenate([indices >= 0, ~gap, ~gap, span >= 0], axis=-1)
    order = _each_row(np.lexsort((~real, theta), axis=-1))
    theta, real = theta[order], real[order]
    new = np.diff(theta, prepend=-1) > 1e-15 * theta
    order = _kept_first(new)
    return np.where(new, theta, 1.0)[order], (real | ~new)[order]


def _kept_first(kept: Mask) -> tuple[Integers, Integers]:
    """Return the indices of the selected cells of each row, then of others, up to the length of the longest row."""
    return _each_row(np.argsort(~kept, axis=-1, kind="stable")[:, : kept.sum(axis=-1).max()])


def _each_row(columns: Integers) -> tuple[Integers, Integers]:
    return np.arange(len(columns))[:, np.newaxis], columns


def _near(counts: Array, low: Array, high: Array, step: Array) -> Array:
    """Multiples of a step from low to high near a count, with repetitions; infinity for others."""
    within = (counts >= low - NODE_RANGE) & (counts <= high + NODE_RANGE)
    width = np.ceil(NODE_RANGE / step)[..., np.newaxis]
    around = np.arange(-width.max(), width.max() + 1)
    multiples = np.rint((counts - low) / step)[..., np.newaxis] + around
    indices = low[..., np.newaxis] + step[..., np.newaxis] * multiples
    good = within[..., np.newaxis] & (np.abs(around) <= width) & (multiples >= 0) & (indices < high[..., np.newaxis])
    return np.where(good, indices, np.inf).reshape(len(counts), -1)


class _OnNodes(NamedTuple):
    r"""Values at the nodes of each histogram: prior weights w, log-likelihoods and likelihoods L, and f.

    `probability`, of shape (histograms, counts, priors), is :math:`f_{dj} = \sum_i L_{id} w_{ij}`: how likely the
    count d is under the prior j.
    """

    theta: Array
    weights: Array
    logs: Array
    likelihood: Array
    probability: Array


def averaged_posterior(problem: Problem, nodes: Array, real: Mask, priors: Dictionary) -> Array:
    r"""Log-posterior of the share for each distinct count, averaged over the priors, (histograms, nodes, counts).

    A prior j has the posterior weight :math:`\pi_j`, in proportion to its belief times :math:`\prod_d f_{dj}^{r_d}`
    (r_d answers have the count d) times the density with which the shares then sum to one. Under it the share is the
    node i with probability :math:`w_{ij} L_{id} / f_{dj}`. That one answer holds everything is one case more.
    """
    weights, logs = priors.weights_at(nodes), _log_likelihood(problem, nodes, real)
    likelihood = np.exp(logs)
    there = _OnNodes(nodes, weights, logs, likelihood, likelihood.mT @ weights)
    evidence = _given_the_sum(_log_beliefs(problem, priors), there, problem.repeats, priors)
    evidence_of_one, holder = _one_holds_all(problem.repeats, logs, priors)
    of_priors, of_one = _normalised(evidence, evidence_of_one)
    used = _columns(np.any(of_priors > 0, axis=0))
    weights, f, of_priors = weights[..., used], there.probability[..., used], of_priors[:, used]
    with np.errstate(divide="ignore"):
        given = of_priors[:, np.newaxis] / np.where(f >= LEAST_PROBABILITY, f, np.inf)
        posterior = logs + np.log(weights @ given.mT)
        for g, j, d, _, of_these in _improbable(weights, logs, f, of_priors > 0):
            posterior[g][:, d] = np.logaddexp(posterior[g][:, d], np.log(of_priors[g, j]) + of_these)
        posterior[:, 0] = np.logaddexp(posterior[:, 0], np.log(of_one * (1 - holder)))
        posterior[:, -1] = np.logaddexp(posterior[:, -1], np.log(of_one * holder))
    return np.asarray(posterior - _log_sum(posterior))


def _log_beliefs(problem: Problem, priors: Dictionary) -> Array:
    """Log-weight of each prior before the reports, (histograms, priors)."""
    typical, one_hot = problem.q + problem.gain / priors.k, priors.beliefs.one_hot(priors.k)
    believed = priors.believed(typical * (1 - typical) / (problem.n[:, 0] * problem.gain**2))
    return np.asarray(np.log(believed * (1 - one_hot)))


def _one_holds_all(repeats: Array, logs: Array, priors: Dictionary) -> tuple[Array, Array]:
    """Log-evidence that one answer has all respondents, and the probability that it has each count."""
    lift = logs[:, -1] - logs[:, 0]
    highest = lift.max(axis=-1, keepdims=True)
    holder = np.exp(lift - highest)
    total = np.vecdot(repeats, holder)[:, np.newaxis]
    evidence = np.vecdot(repeats, logs[:, 0])[:, np.newaxis] + highest + np.log(total / priors.k)
    return evidence + np.log(priors.beliefs.one_hot(priors.k)), holder / total


def _normalised(evidence: Array, evidence_of_one: Array) -> tuple[Array, Array]:
    """Posterior weights of the priors, negligible ones set to zero, and of one answer with all respondents."""
    top = np.maximum(evidence.max(axis=-1, keepdims=True), evidence_of_one)
    of_priors, of_one = np.exp(evidence - top), np.exp(evidence_of_one - top)
    total = of_priors.sum(axis=-1, keepdims=True) + of_one
    of_priors, of_one = of_priors / total, of_one / total
    return np.where(of_priors > NEGLIGIBLE_PRIOR * of_priors.max(axis=-1, keepdims=True), of_priors, 0), of_one


def _columns(needed: Mask) -> Integers | slice:
    """Index the required columns; all of them if most are required, which avoids copies."""
    return slice(None) if np.count_nonzero(needed) > PART_OF_PRIORS * needed.size else np.flatnonzero(needed)


def _log_likelihood(problem: Problem, nodes: Array, real: Mask) -> Array:
    """Return c log(mu) + (N - c) log(1 - mu) above its largest value, (histograms, nodes, counts)."""
    mu = problem.q + problem.gain * nodes
    with np.errstate(divide="ignore"):
        hit, miss = (np.maximum(logs, LOG_ZERO)[..., np.newaxis] for logs in (np.log(mu), np.log1p(-mu)))
    logs = hit * problem.values[:, np.newaxis] + miss * (problem.n - problem.values)[:, np.newaxis]
    logs[~real] = -np.inf
    logs = np.maximum(logs - logs.max(axis=-2, keepdims=True), LOG_IMPOSSIBLE)
    logs[~real] = -np.inf
    return np.asarray(logs)


def _log_sum(logs: Array) -> Array:
    """Logarithm of the sum over the nodes; -inf where all are."""
    top = np.maximum(logs.max(axis=-2, keepdims=True), 2 * LOG_IMPOSSIBLE)
    return np.asarray(np.log(np.exp(logs - top).sum(axis=-2, keepdims=True)) + top)


def _improbable(
    weights: Array, logs: Array, f: Array, wanted: Mask
) -> Iterator[tuple[int, int, Integers, Array, Array]]:
    """Iterate over priors with counts too improbable for doubles, whose terms are computed by logarithms.

    Yields the numbers of histogram, prior and counts, log-probabilities, and log-posteriors of shape (nodes, counts).
    """
    too_small = f < LEAST_PROBABILITY
    for g, j in np.argwhere(too_small.any(axis=-2) & wanted).tolist():
        d = np.flatnonzero(too_small[g, :, j])
        with np.errstate(divide="ignore"):
            terms = np.log(weights[g, :, j])[:, np.newaxis] + logs[g][:, d]
            total = _log_sum(terms)
        yield g, j, d, total[0], terms - np.maximum(total, 2 * LOG_IMPOSSIBLE)


def _given_the_sum(believed: Array, there: _OnNodes, repeats: Array, priors: Dictionary) -> Array:
    """Log-evidence of the priors, including that the shares sum to one; -inf for hopeless priors."""
    theta, weights, logs, likelihood, f = there
    believed = believed - priors.sum_to_one
    divisor = np.maximum(f, LEAST_PROBABILITY)
    log_f = np.log(divisor)
    # The density of the sum is at most that of a variance of 0: most priors need no second look.
    at_most = believed + np.vecmat(repeats, log_f) - 0.5 * np.log(2 * np.pi * SUM_VARIANCE_SLACK)
    moments = [(power[..., np.newaxis] * likelihood).mT for power in (theta, theta**2)]
    evidence = np.full(at_most.shape, -np.inf)
    waiting = np.ones(at_most.shape, dtype=bool)
    while True:
        best = np.max(at_most, where=waiting, initial=-np.inf, axis=-1, keepdims=True)
        leading = waiting & (at_most >= best - HOPELESS_NATS)
        j = _columns(np.any(leading, axis=0))
        some, log_some, divide_by = weights[..., j], log_f[..., j], divisor[..., j]
        mean, square = ((moment @ some) / divide_by for moment in moments)
        for g, i, d, log_probability, of_these in _improbable(some, logs, f[..., j], leading[:, j]):
            log_some[g, d, i], posterior = log_probability, np.exp(of_these)
            mean[g, d, i], square[g, d, i] = theta[g] @ posterior, theta[g] ** 2 @ posterior
        after = np.vecmat(repeats, np.maximum(square - mean**2, 0)) + SUM_VARIANCE_SLACK
        away = 0.5 * (np.vecmat(repeats, mean) - 1) ** 2 / after
        complete = believed[:, j] + np.vecmat(repeats, log_some) - away - 0.5 * np.log(2 * np.pi * after)
        evidence[:, j] = np.where(leading[:, j], complete, evidence[:, j])
        waiting &= ~leading & (at_most > evidence.max(axis=-1, keepdims=True) - HOPELESS_NATS)
        if not waiting.any():
            return evidence


def expected(problem: Problem, theta: Array, posterior: Array, target: str, beliefs: Beliefs) -> Array:
    """Return the expected share of each distinct count, with the posterior tilted so that shares about sum to one."""
    values, repeats, n, p, q, exclusive = problem
    mu = q + problem.gain * theta
    noise = np.sqrt(q * (1 - q) / n) / abs(problem.gain) + 1 / n
    few = problem.k < ANSWERS_FOR_SHRINKAGE
    phi = theta if few else (theta + noise) ** beliefs.tilt
    furthest = np.inf if few else beliefs.furthest
    column = theta[..., np.newaxis]
    if target == "population":
        return np.asarray(np.vecmat(theta, tilted(posterior, phi, repeats, column, furthest)))
    if exclusive:
        y = tilted(posterior, phi, repeats, column, furthest)
        mean = np.vecmat(theta, y)
        # If mu = 0, the answer has no count, and this factor is multiplied by 0.
        kept = values * np.vecmat(np.divide(problem.gain * theta, mu, out=np.ones_like(mu), where=mu > 0), y)
        if few:
            left = n - np.vecdot(repeats, kept)[:, np.newaxis]
            return np.asarray((kept + left * mean / np.vecdot(repeats, mean)[:, np.newaxis]) / n)
        return np.asarray(kept / n + q * problem.k * mean)
    counted = np.divide(p * theta, mu, out=np.ones_like(mu), where=mu > 0)[..., np.newaxis]
    missed = np.divide((1 - p) * theta, 1 - mu, out=np.zeros_like(mu), where=mu < 1)[..., np.newaxis]
    part = (values / n)[:, np.newaxis]
    people = part * counted + (1 - part) * missed
    return np.asarray((people * tilted(posterior, phi, repeats, people, furthest)).sum(axis=-2))


def tilted(posterior: Array, phi: Array, repeats: Array, amounts: Array, furthest: float) -> Array:
    """Tilt every log-posterior by exp(-lambda phi), so that the expected amounts sum to one: Newton in a bracket.

    No expected amount is moved by more than `furthest` standard deviations of its posterior.
    """
    y = np.exp(posterior)
    before = (amounts * y).sum(axis=-2)
    deviation = np.sqrt(np.maximum((amounts**2 * y).sum(axis=-2) - before**2, 0))
    mean, excess = before.copy(), np.vecdot(repeats, before) - 1
    sign = np.sign(excess)  # of lambda: less of everything where the sum is above one
    root, near, far = np.zeros_like(sign), np.zeros_like(sign), np.full_like(sign, np.inf)
    strays = np.zeros(sign.shape, dtype=bool)

    def tilted_posterior(g: Integers | slice, root: Array) -> Array:
        tilt = posterior[g] - (sign[g] * root)[:, np.newaxis, np.newaxis] * phi[g][..., np.newaxis]
        tilt = np.exp(tilt - tilt.max(axis=-2, keepdims=True))
        return np.asarray(tilt / tilt.sum(axis=-2, keepdims=True))

    for _ in range(200):
        narrow = far - near <= np.where(strays, STRAY_TILT_TOLERANCE, 1e-15) * root
        there = (np.abs(excess) <= 1e-13) & ~strays | narrow
        if there.all():
            break
        g = slice(None) if not there.any() else np.flatnonzero(~there)
        cross = np.vecmat(phi[g], amounts[g] * y[g]) - mean[g] * np.vecmat(phi[g], y[g])
        newton = root[g] + sign[g] * excess[g] / np.maximum(np.vecdot(repeats[g], cross), 1e-300)
        good = (near[g] < newton) & (newton < far[g]) & ~strays[g]
        outwards = np.minimum(newton, 5 * np.maximum(near[g], 1 / (phi[g, -1] - phi[g, 0])))
        halfway = (near[g] + far[g]) / 2
        root[g] = np.where(far[g] == np.inf, outwards, np.where(good, newton, halfway))
        y[g] = tilted_posterior(g, root[g])
        mean[g] = (amounts[g] * y[g]).sum(axis=-2)
        excess[g] = np.vecdot(repeats[g], mean[g]) - 1
        strays[g] = ((np.abs(mean[g] - before[g]) - 1e-12) / furthest > deviation[g]).any(axis=-1)
        beyond = strays | (sign * excess < 0)
        far[g], near[g] = np.where(beyond, root, far)[g], np.where(beyond, near, root)[g]
    if strays.any():
        g = np.flatnonzero(strays)
        y[g] = tilted_posterior(g, near[g])
    return y


def ordered(shares: Array, problem: Problem) -> Array:
    """Pool neighbors where the shares fall while counts rise (for p < q: where they rise)."""
    rises = np.diff(shares) if problem.gain > 0 else -np.diff(shares)
    falling = np.flatnonzero((rises < 0).any(axis=-1))
    if not falling.size:
        return shares
    from scipy.optimize import isotonic_regression

    pooled = shares.copy()
    for g in falling.tolist():
        real = problem.repeats[g] > 0
        weights = problem.repeats[g, real]
        pooled[g, real] = isotonic_regression(shares[g, real], weights=weights, increasing=problem.gain > 0).x
    return pooled
