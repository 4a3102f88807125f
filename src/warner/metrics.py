"""Error metrics: the distances that an estimate is judged by.

All take arrays of shape (..., k) and give one number for each leading index. Two different numbers go by the name
of *squared error* in this field: the sum over the answers (in the text of Pinzón et al., and in most theory) and
the mean over them, K times smaller (in that paper's figures). Here each has its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import rel_entr, xlogy

from warner.arrays import SMALLEST, Array, Counts
from warner.designs.facts import ChannelOperator, full_symmetry
from warner.designs.law import SUM_TOLERANCE
from warner.reports.counts import multinomial

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from warner.designs.contract import Design


def squared_error_sum(shares: ArrayLike, truth: ArrayLike) -> Array:
    """Sum of squared differences over the answers.

    >>> squared_error_sum([0.3, 0.7], [0.5, 0.5]).round(3)
    np.float64(0.08)
    """
    difference = _difference(shares, truth)
    return np.square(difference, out=difference).sum(axis=-1)  # type: ignore[no-any-return]


def squared_error_mean(shares: ArrayLike, truth: ArrayLike) -> Array:
    """Mean of squared differences over the answers: the sum divided by K.

    >>> squared_error_mean([0.3, 0.7], [0.5, 0.5]).round(3)
    np.float64(0.04)
    """
    return np.square(_difference(shares, truth)).mean(axis=-1)  # type: ignore[no-any-return]


def total_variation(shares: ArrayLike, truth: ArrayLike) -> Array:
    """Half the sum of absolute differences: the largest error in the share of any set of answers.

    >>> total_variation([0.3, 0.7], [0.5, 0.5]).round(3)
    np.float64(0.2)
    """
    difference = _difference(shares, truth)
    return np.abs(difference, out=difference).sum(axis=-1) / 2  # type: ignore[no-any-return]


def kl_divergence(first: ArrayLike, second: ArrayLike) -> Array:
    r"""Kullback-Leibler divergence :math:`\sum_i a_i \ln(a_i/b_i)` of two distributions, in nats.

    Infinite where `second` rules out what `first` holds possible. Both must be distributions; `inv` may not be.

    >>> kl_divergence([0.5, 0.5], [0.25, 0.75]).round(4)  # ln(2)/2 + ln(2/3)/2
    np.float64(0.1438)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape[-1:] != b.shape[-1:] or not a.ndim:
        raise ValueError(f"first and second must be over the same answers, but got shapes {a.shape} and {b.shape}")
    if not (a >= 0).all() or not (b >= 0).all():
        raise ValueError(
            f"first and second must not be negative, but the smallest entry is {min(a.min(), b.min()):.3g}"
        )
    if not all((np.abs(shares.sum(axis=-1) - 1) <= SUM_TOLERANCE).all() for shares in (a, b)):
        raise ValueError("first and second must be distributions that sum to 1")
    return rel_entr(a, b).sum(axis=-1)  # type: ignore[no-any-return]


def negative_log_likelihood(shares: ArrayLike, counts: ArrayLike, design: Design) -> Array:
    r"""Compute :math:`-\sum_j (c_j/N) \ln \mu_j`: nats per report, without the multinomial coefficient.

    Here :math:`\mu_j` is the probability of the report j, :math:`q + (p-q)\theta_j`, or that of a `Channel`.

    Undefined, hence NaN, for shares with a negative entry, as `inv` can give; infinite where an answer was reported
    that the shares and the design rule out.

    >>> from warner import RandomizedResponse
    >>> negative_log_likelihood([0.5, 0.5], [40, 60], RandomizedResponse(2, truth="3/4")).round(4)  # ln 2
    np.float64(0.6931)
    """
    histograms = multinomial(counts, design)
    theta = np.asarray(shares, dtype=np.float64)
    shape = (*histograms.n.shape, design.k)
    if theta.shape != shape:
        raise ValueError(f"shares must have the shape of counts, {shape}, but got {theta.shape}")
    fit = log_likelihood_per_report(theta, histograms.counts, histograms.n, design)
    return np.where(np.isnan(fit), np.nan, -fit)[()]  # a NaN has a sign, which files would keep


def log_likelihood_per_report(shares: Array, counts: Counts, n: Counts, design: Design | ChannelOperator) -> Array:
    """Log-likelihood per report, for counts that are checked already."""
    negative = shares.min(axis=-1) < 0
    if negative.all():
        return np.full(negative.shape, np.nan)[()]
    expected = _expected(shares, design)
    if expected.min() > 0:
        with np.errstate(divide="ignore", invalid="ignore"):  # a group without reports
            fit = np.vecdot(counts, np.log(expected, out=expected)) / n
    else:
        fit = xlogy(counts / np.maximum(n, SMALLEST)[..., np.newaxis], np.maximum(expected, 0)).sum(axis=-1)
    return np.where(negative, np.nan, fit)[()]


def _expected(shares: Array, design: Design | ChannelOperator) -> Array:
    """Probability of each report."""
    if (symmetry := full_symmetry(design.law)) is None:
        return design.law.likelihood().forward(shares)
    expected = symmetry.gain * shares
    expected += symmetry.base
    return expected


def _difference(shares: ArrayLike, truth: ArrayLike) -> Array:
    first, second = np.asarray(shares, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if first.shape[-1:] != second.shape[-1:] or not first.ndim:
        raise ValueError(
            f"shares and truth must be over the same answers, but got shapes {first.shape} and {second.shape}"
        )
    return first - second
