r"""Shrinkage: the shares that are to be expected, given the reports and what shares may look like.

**The model.** The count of an answer with share :math:`\theta` is Bin(N, :math:`\mu`), :math:`\mu = q + (p-q)\theta`,
and the K shares are draws from one law G, given that they sum to one. G is unknown: a few hundred laws :math:`G_j`
(`warner.estimators.priors`) are weighted by how well each explains the counts, and what they expect is averaged. There
is no optimiser: one pass over nodes for the share, a few matrix products, and the root of one decreasing function.

**The steps.**

1. *Distinct counts*, with the number of answers that have each. All else is done on these, so that equal counts get
   equal shares whatever their order.
2. *Nodes* for :math:`\theta`, on the axis :math:`u = 2\sqrt N \arcsin\sqrt\mu`, on which a count has a variance of
   about 1: half a standard deviation apart, and only where some count is near. Sums over the nodes then agree with
   integrals to many digits, for the trapezoid rule converges like :math:`e^{-2\pi^2/h^2}` there.
3. *Evidence*. With f, m and v for the evidence, mean and variance of a share under :math:`G_j` given its count, and S
   and V for the sums of m and v over all answers,

   .. math:: P(c \mid \textstyle\sum\theta = 1, G_j) \approx \prod_i f(c_i) \;
             \frac{\mathcal N(1; S, V)}{P(\sum\theta = 1 \mid G_j)}.

   The second factor keeps a law with a heavy bulk from taking the share of the most common answers. Its denominator
   is normal, too, but for laws with heads, where it is averaged over the number of heads. That one answer holds
   everything is no law of one share; its evidence is had exactly.
   All of it is done with logarithms where doubles end, so that one well-measured share can speak against a law as
   loudly as it has reason to.
4. *The posterior of each share*: the average over j.
5. *The sum is one*: every posterior is tilted by :math:`e^{-\lambda\phi(\theta)}`, with the one :math:`\lambda` for
   which the expected shares sum to one. With few answers :math:`\phi = \theta`, which is conditioning on the sum to
   first order. With many it is a power of :math:`\theta + \text{noise}` well below one: what does not fit is then put
   right by the many rare answers, of whose law we are least sure, rather than by the common ones, whose counts tell
   them. Where that would move some share by more than one standard deviation of its posterior, no law of the
   dictionary fits; with many answers the tilt ends there, and what is left is put right in step 7.
6. *The target*. The population's shares are the expected :math:`\theta`. The realised ones, those among these people,
   are the expected numbers of people given :math:`\theta` and the reports. Where a report names one answer, that is
   :math:`\theta_i\,(\kappa c_i/\mu_i + q\sum_j c_j/\mu_j)` with :math:`\kappa = p - q`, one step of the iterative
   Bayesian update. The last sum is the same for all answers: with few of them it is what makes the total N, with many
   it is NK, its expectation, because the former would let the most common answer make up for whatever does not fit.
   Where a report supports several, it is :math:`c_i\,p\theta/\mu + (N-c_i)(1-p)\theta/(1-\mu)`.
7. *Limited translation* (`warner.estimators.translation`): no share is further from its unbiased estimate than its
   own count allows. All are raised or lowered by one constant, each up to its limits, so that they sum to one.

**The order.** For each :math:`G_j` the posterior rises with the count, and so does the average over j, whose weights
do not depend on the count. The tilt could disturb that by a little; where it does, neighbours are pooled. The limits
rise with the count, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy

from warner.estimators.priors import BELIEFS, MANY, SLACK, Beliefs, dictionary
from warner.estimators.translation import Counted, errors_allowed, errors_needed, limited
from warner.reports.counts import checked
from warner.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from warner.arrays import Array, Counts, Integers, Mask
    from warner.designs.contract import Design
    from warner.estimators.priors import Dictionary
    from warner.reports.counts import Histograms

STEP = 0.5  # between nodes, in standard deviations of a count
REACH = 3.5  # standard deviations around a count within which there are nodes
FINE = 16.0  # standard deviations above the noise up to which nodes are always a STEP apart
MOST_NODES = 600  # beyond FINE, nodes move apart while there are more
COARSEST = 2.0  # but not further than this
MOST_VALUES = 512  # distinct counts; more are grouped
FINEST_GROUP = 0.05  # standard deviations that a group of distinct counts spans at the least
LEAST = 1e-250  # probability of a count under a prior, where its largest likelihood is 1: logarithms below
IMPOSSIBLE = -1e30  # logarithm of a likelihood of zero
NEGLIGIBLE = 1e-6  # of the largest posterior weight: priors below are left out
HOPELESS = 60.0  # nats by which a prior's evidence falls short of another's, and is not worth completing
COARSE_ROOT = 1e-3  # relative precision of a tilt that ends before the shares sum to one
AT_ONCE = 10.0  # nats: priors that are completed together, the best first
TARGETS = ("realised", "population")


def shrink(counts: ArrayLike, design: Design, *, n: ArrayLike | None = None, target: str = "realised") -> Array:
    r"""Estimate the true shares by what is to be expected of them: closer on the whole, not share by share.

    The shares are taken to be draws from one unknown law, and to sum to one. A few hundred shapes of that law are
    weighted by how well they explain the reports, and the expected shares are averaged. Shares of which the reports say
    little are drawn to what is usual among the others.

    The data can overrule what is expected. Each share lies between the likelihood limits of its own count at
    D = z(1 - 1/(2k)) + 1 standard errors, cut to 0..1, wherever distributions within these limits exist; else D grows
    to the least at which one does, and the estimate says so. Here z is the normal quantile function, and at the limits
    the count is D^2/2 nats less likely than at best (with weights, of the effective number of reports). Hence every
    share is consistent as the number of reports grows with k fixed, whatever the population, if reports follow the
    design.

    Use it for 20 answers or more, where a whole distribution is to be close to the truth; with fewer, ``auto`` is as
    good. It is biased share by share: rare answers are pulled up and lucky ones down. No share is exactly zero unless
    nothing was randomized, so a list of the answers that somebody holds must come from `Estimate.present`. Labels carry
    no information: that answers are ordered, or that one is known beforehand to be common, it does not know. Intervals
    and tests remain those of the counts.

    Parameters
    ----------
    counts : array_like of shape (..., k)
        As for `inv`. Floats are taken as numbers of reports: scale weighted counts to the number of reports that they
        are worth (`Tally.effective`) first, as `warner.estimate` does.
    design : Design
        What every answer went through: a symmetric design, in which every answer has a count of its own, with the
        same p and q for all.
    n : array_like of shape (...), optional
        Number of reports, where a report may support several answers.
    target : {"realised", "population"}
        The shares among these very people, or in the population that they are a sample of. The latter are drawn
        together more, and can be far from those of these people where little was randomized.

    Returns
    -------
    ndarray of shape (..., k)
        Shares that sum to one. Equal counts have equal shares, and larger counts never have smaller ones (for p < q
        never larger ones).

    Examples
    --------
    Ten answers, of which one stands out. The others are drawn together, since what tells them apart may well be noise.

    >>> from warner import RandomizedResponse, inv_p
    >>> survey = RandomizedResponse(10, epsilon=1)
    >>> counts = [110, 92, 104, 220, 97, 113, 90, 101, 109, 96]
    >>> inv_p(counts, survey).round(2)
    array([0.07, 0.  , 0.03, 0.73, 0.  , 0.09, 0.  , 0.02, 0.06, 0.  ])
    >>> shrink(counts, survey).round(2)
    array([0.04, 0.01, 0.02, 0.78, 0.01, 0.06, 0.01, 0.02, 0.04, 0.01])
    """
    if target not in TARGETS:
        raise ValueError(f"target must be one of {', '.join(TARGETS)}, but got {target!r}")
    histograms = checked(counts, design, n)
    refuse_unsymmetric(design)
    return shares(histograms, design, target).reshape(histograms.counts.shape)


def refuse_unsymmetric(design: Design) -> None:
    """Refuse designs under which the count of an answer does not follow from its share alone."""
    if design.symmetry is None:
        raise TypeError(
            "shrink needs a symmetric design, in which every answer has a count of its own with the same p and q for "
            "all, but this one is given by its table of probabilities; use mle or inv_p"
        )


def shares(histograms: Histograms, design: Design, target: str = "realised", beliefs: Beliefs = BELIEFS) -> Array:
    """Estimate from checked counts, one histogram after the other."""
    flat = histograms.rows()
    return np.array([_of_one(flat.row(place), design, target, beliefs) for place in range(len(flat.n))])


def _of_one(histogram: Histograms, design: Design, target: str, beliefs: Beliefs) -> Array:
    if histogram.whole:
        levels = histogram.levels
        return levels.spread(level_shares(histogram, design, target, beliefs))
    values, where = np.unique(histogram.counts, return_inverse=True)
    repeats = np.bincount(where)
    return _solved(values, repeats, histogram, design, target, beliefs)[where]


def level_shares(histogram: Histograms, design: Design, target: str = "realised", beliefs: Beliefs = BELIEFS) -> Array:
    """Estimate the shares of the distinct counts of one histogram of whole numbers."""
    levels = histogram.levels
    return _solved(levels.values, levels.repeats, histogram, design, target, beliefs)


def _solved(
    values: Counts, repeats: Integers, histogram: Histograms, design: Design, target: str, beliefs: Beliefs
) -> Array:
    symmetry, n = design.symmetry, float(histogram.n.item())
    assert symmetry is not None
    if symmetry.b == 0 and symmetry.a == symmetry.total and target == "realised":
        return np.asarray(values / n)
    worth = 1.0 if histogram.effective is None else float(histogram.effective.item()) / n
    n *= worth
    counts = np.minimum(values * worth, n)
    problem = Problem(counts, repeats.astype(np.float64), n, symmetry.p, symmetry.q, design.exclusive)
    if problem.k == 2 and problem.gain < 0 and design.exclusive:  # to report one of two is not to report the other
        mirrored = Problem((n - counts)[::-1], problem.repeats[::-1], n, 1 - problem.p, 1 - problem.q, True)
        return solved(mirrored, target, beliefs)[::-1]
    return solved(problem, target, beliefs)


def widened(shares: Array, histograms: Histograms, design: Design) -> str:
    """Say it if counts allow no distribution within their limits, so that these were widened; nothing elsewhere."""
    symmetry, (counts, n) = design.symmetry, histograms.rows().in_reports()
    assert symmetry is not None
    needed = errors_needed(shares, Counted(counts, np.ones(counts.shape), n[:, np.newaxis], symmetry.p, symmetry.q))
    wider = needed > errors_allowed(design.k)
    if not wider.any():
        return ""
    where = f" of {counted(int(wider.sum()), 'group', 'groups')}" if len(n) > 1 else ""
    return (
        f"the counts{where} allow no shares that all are within {errors_allowed(design.k):.2f} standard errors of what "
        f"each count says, so that up to {needed.max():.2f} are allowed: there are very few reports, or they do not "
        "fit the design"
    )


class Problem(NamedTuple):
    """Distinct counts in rising order, how many answers have each, the number of reports, and p and q."""

    values: Array
    repeats: Array
    n: float
    p: float
    q: float
    exclusive: bool

    @property
    def gain(self) -> float:
        """What a share adds to the probability of being counted."""
        return self.p - self.q

    @property
    def k(self) -> int:
        """The number of answers."""
        return round(float(self.repeats.sum()))

    @property
    def counted(self) -> Counted:
        """The counts, for the limits that they set to the shares."""
        return Counted(self.values, self.repeats, np.array([self.n]), self.p, self.q)

    def scale(self, mu: Array | float) -> Array:
        """Give the place on the axis on which a count has a variance of about 1."""
        return np.asarray(2 * np.sqrt(self.n) * np.arcsin(np.sqrt(np.clip(mu, 0, 1))))

    def grouped(self) -> Problem:
        """Put neighbouring counts together at their mean, so that there are not too many."""
        places = self.scale(self.values / self.n)
        width = FINEST_GROUP
        group = np.arange(places.size)
        while group[-1] >= MOST_VALUES:
            cells = np.floor(places / width)
            cells[0], cells[-1] = -1, np.inf  # the ends stay alone, so that all others lie between
            group = np.cumsum(np.append(False, np.diff(cells) > 0))
            width *= 1.5
        repeats = np.bincount(group, self.repeats).astype(np.float64)
        return self._replace(values=np.bincount(group, self.repeats * self.values) / repeats, repeats=repeats)


def solved(problem: Problem, target: str, beliefs: Beliefs = BELIEFS) -> Array:
    """Give the share of each distinct count, within the limits that its count sets."""
    return limited(unlimited(problem, target, beliefs), problem.counted, problem.k)


def unlimited(problem: Problem, target: str, beliefs: Beliefs = BELIEFS) -> Array:
    """Give the expected share of each distinct count, however far it may be from what the count says.

    Where there are very many of them, by straight lines between those of groups of neighbours: without noise the share
    is a straight line in the count, and what is taken from it varies little from a count to the next.
    """
    few = problem.grouped() if problem.values.size > MOST_VALUES else problem
    nodes, real = nodes_for(few)
    posterior = averaged(few, nodes, real, dictionary(few.k, beliefs))
    found = expected(few, nodes[real], posterior, target, beliefs)
    found = ordered(np.maximum(found, 0), few)
    return found if few is problem else np.asarray(np.interp(problem.values, few.values, found))


def nodes_for(problem: Problem) -> tuple[Array, Mask]:
    """Give nodes for the share, and which of them are real.

    The others are fences: beside every gap one takes up the mass that a prior has in there, where no count is near.
    """
    sign = 1.0 if problem.gain > 0 else -1.0
    zero, one = float(problem.scale(problem.q)), float(problem.scale(problem.p))
    span = abs(one - zero)
    counts = np.union1d(np.clip(sign * (problem.scale(problem.values / problem.n) - zero), 0, span), [0.0])
    coarse = STEP
    while True:
        runs = [_near(counts, 0.0, min(FINE, span), STEP), _near(counts, FINE, span, coarse)]
        places = np.unique(np.concatenate([*runs, [0.0, span]]))
        if places.size <= MOST_NODES or coarse >= COARSEST:
            break
        coarse *= 1.25
    gap = np.flatnonzero(np.diff(places) > 2.2 * coarse)
    fences = np.concatenate([places[gap] + coarse / 2, places[gap + 1] - coarse / 2])
    every = np.concatenate([places, fences])
    theta = (np.sin((zero + sign * every) / (2 * np.sqrt(problem.n))) ** 2 - problem.q) / problem.gain
    theta[every == 0], theta[every == span] = 0.0, 1.0
    theta = np.append(np.clip(theta, 0, 1), 1 / problem.k)
    real = np.ones(theta.size, dtype=bool)
    real[places.size : every.size] = False
    order = np.lexsort((~real, theta))
    theta, real = theta[order], real[order]
    distinct = np.append(True, np.diff(theta) > 1e-15 * theta[1:])
    return theta[distinct], real[distinct]


def _near(counts: Array, low: float, high: float, step: float) -> Array:
    """Give the multiples of a step from low to high that are near a count."""
    near = counts[(counts >= low - REACH) & (counts <= high + REACH)]
    width = int(np.ceil(REACH / step))
    around = np.rint((near - low) / step).astype(np.int64)[:, np.newaxis] + np.arange(-width, width + 1)
    places = np.unique(around)
    return np.asarray(low + step * places[(places >= 0) & (low + step * places < high)])


def averaged(problem: Problem, nodes: Array, real: Mask, priors: Dictionary) -> Array:
    """Give the logarithm of the posterior law of the share for each distinct count, averaged over the priors.

    Of shape (nodes, counts).
    """
    values, repeats, n, _, q, _ = problem
    k, theta = priors.k, nodes[real]
    weights = priors.on(nodes, real)
    mu = q + problem.gain * theta[:, np.newaxis]
    logs = xlogy(values, mu) + xlog1py(n - values, -mu)
    logs = np.maximum(logs - logs.max(axis=0), IMPOSSIBLE)
    likelihood = np.exp(logs)

    f = weights @ likelihood
    typical, one_hot = q + problem.gain / k, priors.beliefs.one_hot(k)
    believed = priors.believed(typical * (1 - typical) / (n * problem.gain**2))
    evidence = _given_the_sum(np.log(believed * (1 - one_hot)), weights, theta, logs, likelihood, f, repeats, priors)
    # One answer holds everything: the sum over the answers of (1/K) L_i(1) prod_{j != i} L_j(0).
    lift = logs[-1] - logs[0]
    single = np.exp(lift - lift.max())
    alone = repeats @ logs[0] + lift.max() + np.log(repeats @ single / k) + np.log(one_hot)

    top = max(evidence.max(), alone)
    chances, chance = np.exp(evidence - top), np.exp(alone - top)
    chances, chance = chances / (chances.sum() + chance), chance / (chances.sum() + chance)
    used = np.flatnonzero(chances > NEGLIGIBLE * chances.max())
    weights, f, chances = weights[used], f[used], chances[used, np.newaxis]
    with np.errstate(divide="ignore"):
        posterior = logs + np.log(weights.T @ np.divide(chances, f, out=np.zeros_like(f), where=f >= LEAST))
        for j, d, _, of_these in _improbable(weights, logs, f):
            posterior[:, d] = np.logaddexp(posterior[:, d], np.log(chances[j]) + of_these)
        single /= repeats @ single
        posterior[0] = np.logaddexp(posterior[0], np.log(chance * (1 - single)))
        posterior[-1] = np.logaddexp(posterior[-1], np.log(chance * single))
    return np.asarray(posterior - _log_sum(posterior))


def _log_sum(logs: Array) -> Array:
    """Give the logarithm of the sum over the nodes; -inf where all are."""
    top = np.maximum(logs.max(axis=0), 2 * IMPOSSIBLE)
    return np.asarray(np.log(np.exp(logs - top).sum(axis=0)) + top)


def _improbable(weights: Array, logs: Array, f: Array) -> Iterator[tuple[int, Integers, Array, Array]]:
    """Go through the priors under which some counts are too improbable for doubles, and do these by logarithms.

    That is what a well-measured share has to say against a prior. Gives the number of the prior, those of the counts,
    the logarithms of their probabilities, and those of the posteriors, of shape (nodes, these counts).
    """
    for j in np.flatnonzero((f < LEAST).any(axis=1)).tolist():
        d = np.flatnonzero(f[j] < LEAST)
        with np.errstate(divide="ignore"):
            terms = np.log(weights[j])[:, np.newaxis] + logs[:, d]
            total = _log_sum(terms)
        yield j, d, total, terms - np.maximum(total, 2 * IMPOSSIBLE)


def _given_the_sum(
    believed: Array,
    weights: Array,
    theta: Array,
    logs: Array,
    likelihood: Array,
    f: Array,
    repeats: Array,
    priors: Dictionary,
) -> Array:
    """Give the log-evidence of the priors, with that of the sum of the shares; -inf for priors without hope."""
    believed = believed - priors.sum_to_one
    # The density of the sum is at most that of a variance of 0: most priors need no second look.
    at_most = believed + np.log(np.maximum(f, LEAST)) @ repeats - 0.5 * np.log(2 * np.pi * SLACK)
    evidence = np.full(at_most.size, -np.inf)
    waiting = np.ones(at_most.size, dtype=bool)
    while True:
        leading = waiting & (at_most >= np.max(at_most, where=waiting, initial=-np.inf) - AT_ONCE)
        j = np.flatnonzero(leading)
        some, divisor = weights[j], np.maximum(f[j], LEAST)
        log_f = np.log(divisor)
        mean, square = (((some * power) @ likelihood) / divisor for power in (theta, theta**2))
        for i, d, log_probability, of_these in _improbable(some, logs, f[j]):
            log_f[i, d], posterior = log_probability, np.exp(of_these)
            mean[i, d], square[i, d] = theta @ posterior, theta**2 @ posterior
        after = np.maximum(square - mean**2, 0) @ repeats + SLACK
        away = 0.5 * (mean @ repeats - 1) ** 2 / after
        evidence[j] = believed[j] + log_f @ repeats - away - 0.5 * np.log(2 * np.pi * after)
        waiting &= ~leading & (at_most > evidence.max() - HOPELESS)
        if not waiting.any():
            return evidence


def expected(problem: Problem, theta: Array, posterior: Array, target: str, beliefs: Beliefs) -> Array:
    """Give the expected share of each distinct count, the posterior tilted so that they about sum to one."""
    values, repeats, n, p, q, exclusive = problem
    mu = q + problem.gain * theta
    noise = np.sqrt(q * (1 - q) / n) / abs(problem.gain) + 1 / n
    few = problem.k < MANY
    phi = theta if few else (theta + noise) ** beliefs.tilt
    furthest = np.inf if few else beliefs.furthest
    column = theta[:, np.newaxis]
    if target == "population":
        return np.asarray(theta @ tilted(posterior, phi, repeats, column, furthest))
    if exclusive:
        y = tilted(posterior, phi, repeats, column, furthest)
        mean = theta @ y
        # Where mu = 0, nobody is counted for the answer, and what stands here is multiplied by 0.
        kept = values * (np.divide(problem.gain * theta, mu, out=np.ones_like(mu), where=mu > 0) @ y)
        if few:
            return np.asarray((kept + (n - repeats @ kept) * mean / (repeats @ mean)) / n)
        return np.asarray(kept / n + q * problem.k * mean)
    counted = np.divide(p * theta, mu, out=np.ones_like(mu), where=mu > 0)[:, np.newaxis]
    missed = np.divide((1 - p) * theta, 1 - mu, out=np.zeros_like(mu), where=mu < 1)[:, np.newaxis]
    people = (values * counted + (n - values) * missed) / n
    return np.asarray((people * tilted(posterior, phi, repeats, people, furthest)).sum(axis=0))


def tilted(posterior: Array, phi: Array, repeats: Array, amounts: Array, furthest: float) -> Array:
    """Tilt every posterior by exp(-lambda phi), so that the expected amounts sum to one: Newton in a bracket.

    No expected amount is moved by more than `furthest` standard deviations of its posterior: a share that its count
    tells well would otherwise make up for priors that do not fit. Posteriors come as logarithms.
    """
    within = y = np.exp(posterior)
    before = mean = (amounts * y).sum(axis=0)
    deviation = np.sqrt(np.maximum((amounts**2 * y).sum(axis=0) - before**2, 0))
    excess = repeats @ mean - 1
    sign = np.sign(excess)  # of lambda: less of everything where the sum is above one
    root, near, far, strays = 0.0, 0.0, np.inf, False
    for _ in range(200):
        if (abs(excess) <= 1e-13 and not strays) or far - near <= (COARSE_ROOT if strays else 1e-15) * root:
            break
        slope = max(repeats @ ((phi[:, np.newaxis] * amounts * y).sum(axis=0) - mean * (phi @ y)), 1e-300)
        newton = root + sign * excess / slope
        if far < np.inf:
            root = newton if near < newton < far and not strays else (near + far) / 2
        else:
            root = min(newton, 5 * max(near, 1 / (phi[-1] - phi[0])))
        y = posterior - sign * root * phi[:, np.newaxis]
        y = np.exp(y - y.max(axis=0))
        y /= y.sum(axis=0)
        mean = (amounts * y).sum(axis=0)
        excess = repeats @ mean - 1
        strays = bool(((np.abs(mean - before) - 1e-12) / furthest > deviation).any())
        if strays or sign * excess < 0:
            far = root
        else:
            near, within = root, y
    return np.asarray(within if strays else y)


def ordered(shares: Array, problem: Problem) -> Array:
    """Pool neighbours where the shares fall while counts rise (for p < q: where they rise)."""
    upward = shares if problem.gain > 0 else shares[::-1]
    if (np.diff(upward) >= 0).all():
        return shares
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(shares, weights=problem.repeats, increasing=problem.gain > 0).x)
