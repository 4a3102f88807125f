"""Post-processing of inverted shares: Base-Cut, Norm-Cut, Power, PowerNS and a pooled tail, for symmetric designs.

Inverting leaves shares below zero, and with many answers noise that looks like small shares. Wang et al. [1]_ compare
ten repairs; Norm-Sub and Norm-Mul are `warner.inv_p` and `warner.inv_n`. This module has four more, and a likelihood
with a pooled tail, our own definition. They are for comparison: none of them is a default, and `auto` does not try
them.

**Sources.** Base-Cut, Norm-Cut, Power and PowerNS follow the program that the authors published with [1]_ (github.com,
vvv214/LDP_Protocols, the folder post-process). Power is the posterior mean of Calibrate [2]_ with a power law for a
prior. Differences from that program: equal counts always get equal shares, numbers of respondents are not rounded to
multiples of ten, and a few answers may have an exponent below one.

.. [1] T. Wang et al., "Locally Differentially Private Frequency Estimation with Consistency", NDSS 2020.
.. [2] J. Jia and N. Z. Gong, "Calibrate: Frequency Estimation and Heavy Hitter Identification with Local Differential
   Privacy via Incorporating Prior Knowledge", INFOCOM 2019.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from warner.arrays import LARGEST_TOTAL, SMALLEST, Array, Counts, Integers, Mask
from warner.designs.facts import Symmetry, full_symmetry
from warner.estimators import closed_forms
from warner.estimators.projections import projected, refuse_incomplete
from warner.numerics import bisected
from warner.reports.counts import Histograms, checked

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from warner.designs.contract import Design

FALSE_ALARM = 0.05  # family-wise probability to keep an answer with a share of zero, at most
FEW_PEOPLE = 1.01  # the published exponent with less than one respondent for each answer
STEEPEST = 64.0  # exponent: practically every answer then has one respondent
SUMMED_SINGLY = 64  # terms of a sum of powers; beyond, an integral is as good
CELLS_IN_ERROR = 32  # cells of people in one standard error: the posterior mean is then right to three digits
NORMAL_ERRORS = 9  # standard errors beyond which a normal density is nil


def base_cut(counts: ArrayLike, design: Design, *, n: ArrayLike | None = None) -> Array:
    r"""Estimate by `inv`, with shares within the noise set to zero.

    A share is kept if it is at least :math:`T = z \sigma`, with :math:`\sigma = \sqrt{q(1-q)/N}/|p-q|`, the standard
    error of a share of zero, and z the normal quantile of :math:`1 - 0.05/K`: the probability that any such answer is
    kept is at most about 5 %. The shares do not sum to one, so this is **not a distribution**.

    Parameters
    ----------
    counts : array_like of shape (..., k)
        Number of reports for each answer; leading axes are separate surveys. Floats are taken as numbers of reports:
        scale weighted counts to the number of reports that they are worth (`Tally.effective`) first, as
        `warner.estimate` does.
    design : Design
        What every answer went through; each answer must have a count of its own, with the same p and q for all.
    n : array_like of shape (...), optional
        Number of reports, where a report may support several answers.

    Examples
    --------
    Here p = 3/4, q = 1/4 and N = 300, so that the standard error of a share of zero is 1/20 and, with z = 1.96, T is
    0.098. Of 0.92 and 0.08, one is kept.

    >>> from warner import RandomizedResponse
    >>> base_cut([213, 87], RandomizedResponse(["yes", "no"], truth="3/4"))
    array([0.92, 0.  ])
    """
    return _by_rule(counts, design, n, _base_cut)


def norm_cut(counts: ArrayLike, design: Design, *, n: ArrayLike | None = None) -> Array:
    """Estimate by `inv`, keep the largest shares until they sum to one, and rescale these to sum to one exactly.

    The share that takes the sum beyond one is kept; answers with equal counts are kept or cut off together. Where the
    positive shares do not reach one, which only reports that support several answers can give, all of them are kept;
    where none is positive, all shares are equal. Parameters as for `base_cut`.

    Examples
    --------
    `inv` gives (-0.4, 0.2, 0.3, 0.9): the two largest reach 1.2, and are divided by that.

    >>> from warner import RandomizedResponse
    >>> norm_cut([12, 24, 26, 38], RandomizedResponse(4, odds=(2, 1)))
    array([0.  , 0.  , 0.25, 0.75])
    """
    return _by_rule(counts, design, n, _norm_cut)


def power(counts: ArrayLike, design: Design, *, n: ArrayLike | None = None) -> Array:
    r"""Estimate by the posterior mean under a power law for the numbers of respondents with each answer.

    The prior for the number x of people with an answer is :math:`x^{-\alpha}` on 1, ..., N, with the exponent for which
    its mean is the average of `inv`, N/K under randomized response (1.01 where that is below one person). What `inv`
    gives is taken as normal around x/N with the standard error :math:`\sigma` of `base_cut`. Every share is at least
    1/N, and they do not sum to one: **not a distribution**; see `power_ns`. Parameters as for `base_cut`.

    Where nothing was randomized (q = 0), nothing is to be repaired, and `inv` is returned.

    Examples
    --------
    Small shares are pulled down, to what is usual among many; large ones stay.

    >>> from warner import RandomizedResponse
    >>> design = RandomizedResponse(5, epsilon=1)
    >>> from warner import inv
    >>> inv([300, 190, 180, 170, 160], design).round(3)
    array([0.591, 0.161, 0.122, 0.083, 0.044])
    >>> power([300, 190, 180, 170, 160], design).round(3)
    array([0.588, 0.148, 0.102, 0.057, 0.029])
    """
    return _by_rule(counts, design, n, _power)


def power_ns(counts: ArrayLike, design: Design, *, n: ArrayLike | None = None) -> Array:
    """Estimate by the distribution that is nearest to `power`: known as PowerNS. Parameters as for `base_cut`.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> power_ns([300, 190, 180, 170, 160], RandomizedResponse(5, epsilon=1)).round(3)
    array([0.603, 0.163, 0.117, 0.072, 0.044])
    """
    return _by_rule(counts, design, n, _power_ns)


def mle_pooled(counts: ArrayLike, design: Design, *, n: ArrayLike | None = None) -> Array:
    r"""Estimate by maximum likelihood with one common share for all answers within the noise.

    The tail is what `base_cut` cuts off. Equal shares are most likely given the sum of the tail's counts alone, so
    this is `warner.mle` of counts in which each of the tail's is replaced by their mean. It is our own definition.

    Where reports support several answers, counts have no likelihood; there it is that of independent binomial counts,
    :math:`\sum_i c_i \ln\mu_i + (N - c_i)\ln(1 - \mu_i)` with :math:`\mu_i = q + (p-q)\theta_i`, at its maximum over
    the distributions. Parameters as for `base_cut`.

    Examples
    --------
    `inv` gives (0.6, 0.25, 0.15, 0.0). Of 100 reports only the first share is beyond noise (T = 0.45), and the others
    have 0.4 together; of 400 the first two are (T = 0.22), and the last two have 0.15 together.

    >>> from warner import RandomizedResponse
    >>> mle_pooled([32, 25, 23, 20], RandomizedResponse(4, odds=(2, 1))).round(3)
    array([0.6  , 0.133, 0.133, 0.133])
    >>> mle_pooled([128, 100, 92, 80], RandomizedResponse(4, odds=(2, 1)))
    array([0.6  , 0.25 , 0.075, 0.075])
    """
    return _by_rule(counts, design, n, _mle_pooled)


class Repair(NamedTuple):
    """Repair: its rule, its description, and whether it returns distributions."""

    estimator: Callable[..., Array]
    sentence: str
    valid: bool = True


REPAIRS = {
    "base_cut": Repair(
        base_cut,
        "inversion, with all shares that could be noise set to zero: the rest does not sum to one (Base-Cut)",
        valid=False,
    ),
    "norm_cut": Repair(
        norm_cut, "inversion, of which the largest shares are kept until they sum to one, and rescaled (Norm-Cut)"
    ),
    "power": Repair(
        power, "posterior mean if shares follow a power law: never zero, and the sum is not one (Power)", valid=False
    ),
    "power_ns": Repair(
        power_ns, "posterior mean if shares follow a power law, moved to the nearest distribution (PowerNS)"
    ),
    "mle_pooled": Repair(mle_pooled, "maximum likelihood, if all answers that could be noise have the same share"),
}


# One survey after the other, each by its distinct counts: so equal counts have equal shares, in any order


class _Survey(NamedTuple):
    """Distinct counts of one survey in ascending order, their frequencies, and the design."""

    values: Counts
    repeats: Counts
    n: float
    symmetry: Symmetry
    exclusive: bool

    @property
    def k(self) -> int:
        return int(self.repeats.sum())

    def inverted(self) -> Array:
        """Invert the randomization, with one rounding for each share of whole-number counts."""
        a, b, total = self.symmetry.whole
        n = _integer_if_whole(self.n)
        return np.array([(total * value - n * b) / ((a - b) * n) for value in self.values.tolist()])

    def error_of_none(self) -> float:
        """Return the standard error of a share of zero."""
        return math.sqrt(float(self.symmetry.variance_of_absent) / self.n)

    def is_head(self) -> Mask:
        """Return True if counts exceed the noise."""
        threshold = float(ndtri(1 - FALSE_ALARM / self.k)) * self.error_of_none()
        return self.inverted() >= threshold


def _by_rule(counts: ArrayLike, design: Design, n: ArrayLike | None, rule: Callable[[_Survey], Array]) -> Array:
    refuse_incomplete(rule.__name__.lstrip("_"), design)
    histograms = checked(counts, design, n)
    if (symmetry := full_symmetry(design.law)) is None:
        raise TypeError(
            "the design must give every answer a count of its own, with the same p and q for all answers, as "
            "randomized response does; use mle or inv_p for other designs"
        )
    flat = histograms.rows()
    shares = np.empty(flat.counts.shape)
    for index, row in enumerate(flat.counts):
        values, inverse, repeats = np.unique(row, return_inverse=True, return_counts=True)
        survey = _Survey(values, repeats, flat.n[index].item(), symmetry, design.law.exclusive)
        shares[index] = rule(survey)[inverse]
    return shares.reshape(histograms.counts.shape)


def _base_cut(survey: _Survey) -> Array:
    return np.where(survey.is_head(), survey.inverted(), 0.0)


def _norm_cut(survey: _Survey) -> Array:
    """Rescale the largest shares, up to the share with which they reach one; exact for whole-number counts."""
    a, b, total = survey.symmetry.whole
    n, sign = _integer_if_whole(survey.n), 1 if a > b else -1
    falling = range(len(survey.values))[::-sign]  # by share, the largest first: with p < q that is the smallest count
    heights = [sign * (total * survey.values[i].item() - n * b) for i in falling]  # N |a - b| times the share
    sums = list(accumulate(h * survey.repeats[i].item() for h, i in zip(heights, falling, strict=True)))
    result = np.zeros(len(survey.values))
    positive = sum(h > 0 for h in heights)
    if not positive:
        return np.full(len(survey.values), 1 / survey.k)
    kept = 1 + next((j for j in range(positive) if sums[j] >= sign * (a - b) * n), positive - 1)
    for i, height in zip(falling[:kept], heights, strict=False):
        result[i] = height / sums[kept - 1]
    return result


def _integer_if_whole(n: float) -> float:
    return int(n) if float(n).is_integer() else n


# A power law for a prior


def _power(survey: _Survey) -> Array:
    estimates = survey.inverted()
    error = survey.error_of_none() * survey.n  # in people
    if error == 0:
        return np.maximum(estimates, 0)  # direct answers, but for rounding
    people = max(1, round(survey.n))
    average = float(estimates @ survey.repeats) / survey.k * survey.n
    exponent = _exponent(average, people)
    width = max(1, int(error / CELLS_IN_ERROR))
    low = _low_cells(width, people)  # the prior has most of its mass there
    reach = int(np.ceil(NORMAL_ERRORS * error / width)) + 1
    beside = np.arange(-reach, reach + 1)
    last = max(0, (people - int(low[-1])) // width)  # an estimate beyond everybody is nearest to everybody
    means = np.empty(len(estimates))
    for index, estimate in enumerate(estimates * survey.n):
        near = low[-1] + width * (np.clip((estimate - low[-1]) // width, 0, last) + beside)
        starts = np.concatenate([low[:-1], near[(near >= low[-1]) & (near <= people)].astype(np.int64)])
        ends = np.minimum(np.concatenate([low[1:], starts[len(low) - 1 :] + width]), people + 1)
        mass, moment = _sum_of_powers(-exponent, starts, ends), _sum_of_powers(1 - exponent, starts, ends)
        centre = np.clip(moment / np.maximum(mass, SMALLEST), starts, ends - 1)  # in the cell also where mass is nil
        logs = np.log(np.maximum(mass, SMALLEST)) - ((centre - estimate) / error) ** 2 / 2
        weights = np.exp(logs - logs.max())
        means[index] = weights @ centre / weights.sum()
    return means / survey.n


def _power_ns(survey: _Survey) -> Array:
    return projected(_power(survey), repeats=survey.repeats)


def _low_cells(width: int, people: int) -> Integers:
    """Return the ends of the first cells of numbers of respondents, up to where cells of this width are narrow."""
    ends = list(range(1, SUMMED_SINGLY + 1))
    while ends[-1] // CELLS_IN_ERROR < width:
        ends.append(ends[-1] + ends[-1] // CELLS_IN_ERROR)
    return np.unique(np.minimum(ends, people + 1))


def _exponent(average: float, people: int) -> float:
    """Exponent for which the power law on 1, ..., people has this mean."""
    if average < 1:
        return FEW_PEOPLE

    def mean(exponent: float) -> float:
        ends = np.array([1]), np.array([people + 1])
        return float(_sum_of_powers(1 - exponent, *ends)[0] / _sum_of_powers(-exponent, *ends)[0])

    low, high = 0.0, STEEPEST
    if mean(low) <= average:
        return low
    return bisected(lambda exponent: mean(exponent) <= average, low, high, close=1e-12)[1]


def _sum_of_powers(exponent: float, starts: Array, ends: Array) -> Array:
    """Sum of x^exponent over the whole numbers from each start to before each end."""
    terms = np.concatenate([[0.0], np.arange(1.0, SUMMED_SINGLY) ** exponent]).cumsum()
    singly = terms[np.minimum(ends, SUMMED_SINGLY) - 1] - terms[np.minimum(starts, SUMMED_SINGLY) - 1]
    # Beyond, the integral from half a step before to half a step before the end: a^e expm1(e ln(b/a)) / e.
    low, high = np.maximum(starts, SUMMED_SINGLY) - 0.5, np.maximum(ends, SUMMED_SINGLY) - 0.5
    order, growth = exponent + 1, np.log(high / low)
    return np.asarray(singly + (growth if order == 0 else low**order * np.expm1(order * growth) / order))


# A pooled tail


def _mle_pooled(survey: _Survey) -> Array:
    head = survey.is_head()
    size = int(survey.repeats[~head].sum())
    if size == survey.k and survey.exclusive:
        return np.full(len(head), 1 / survey.k)
    tail = (survey.values * survey.repeats)[~head].sum()
    if survey.exclusive:
        return _most_likely(survey, head, tail.item(), size)
    counts = np.where(head, survey.values, tail / max(size, 1))
    return _most_likely_binomials(counts / survey.n, survey.repeats, survey.symmetry)


def _most_likely(survey: _Survey, head: Mask, tail: float, size: int) -> Array:
    """Return the mle of the counts with those of the tail replaced by their mean, all times the size of the tail."""
    times = max(size, 1)
    whole = survey.values.dtype == np.int64 and survey.n * times <= LARGEST_TOTAL
    scaled = np.where(head, survey.values * times, tail) if whole else np.where(head, survey.values, tail / times)
    rows = np.repeat(scaled, survey.repeats).astype(np.int64 if whole else np.float64)
    histogram = Histograms(rows[np.newaxis], np.array([rows.sum()]), rows.max())
    shares = closed_forms.shares(histogram, survey.symmetry, closed_forms.most_likely)[0]
    return np.asarray(shares[np.cumsum(survey.repeats) - 1])


def _most_likely_binomials(reported: Array, repeats: Counts, symmetry: Symmetry) -> Array:
    r"""Maximize the likelihood of independent binomial counts over the distributions.

    With a multiplier l for the sum, each mu solves l mu^2 - (1 + l) mu + c/N = 0, or its share is zero; the sum of the
    shares is monotone in l.
    """

    def shares(multiplier: float) -> Array:
        b = 1 + multiplier
        root = np.sqrt(np.maximum(b * b - 4 * multiplier * reported, 0))
        mu = 2 * reported / np.maximum(b + root, SMALLEST) if b >= 0 else (b - root) / (2 * multiplier)
        return np.maximum((mu - symmetry.base) / symmetry.gain, 0)

    rising = symmetry.gain < 0
    low, high = -1.0, 1.0
    while (shares(low) @ repeats < 1) != rising:
        low *= 2
    while (shares(high) @ repeats > 1) != rising:
        high *= 2
    _, high = bisected(lambda multiplier: (shares(multiplier) @ repeats > 1) == rising, low, high)
    result = shares(high)
    return result / (result @ repeats)
