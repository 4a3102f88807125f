r"""Smoothing: shares of ordered answers as an average of smooth curves, weighted by evidence.

**The model.** The log-shares are a curve, :math:`\theta = \operatorname{softmax}(B\beta)`, perhaps with a free spike at
the first answer, at the last, at both or at none. B is the identity for up to 48 answers, and 48 cubic B-splines
beyond. The differences of :math:`\beta`, of order d = 1, 2 or 3, are independent and normal, so that the curve tends to
a uniform, an exponential or a normal shape as its span s goes to zero; s, about the standard deviation of the
log-shares over the range, has ten values from 0.05 to 100. The remaining polynomials of a degree below d have standard
deviation 4, and a spike 3. These are 120 proper priors.

**The estimate.** Under each prior, Fisher scoring finds the most likely curve :math:`\hat\beta`, and Laplace's
approximation its evidence,

.. math:: \ln Z \approx \ell(\hat\beta) - \tfrac12 \hat\beta' P \hat\beta + \tfrac12 \ln|P| - \tfrac12 \ln|I + P| .

The shares are the average of the 120 curves, weighted by evidence, as `shrink` does for answers without an order. Each
prior starts from the curve of the one before, and wider spans are left out once they are eight nats behind.

**The likelihood** is multinomial if each report is counted once. For support counts it is normal, with the variance of
the distribution of pairs. Beyond 1,024 answers, under designs whose rows are constant on stretches of reports, 256
answers represent all in the fit; a curve of 48 coefficients cannot distinguish neighbors.

Around each most likely curve the coefficients have the covariance :math:`(I+P)^{-1}`, so the distribution function F
has a standard deviation within each prior, by the delta method, and another between them. Shares are biased toward
smooth curves; a single answer that stands out inside of the range is smeared.

The composite link model with a penalty [1]_ is the case of one prior; EM with smoothing [2]_ is the usual way.

.. [1] P. H. C. Eilers, "Ill-posed problems with counts, the composite link model and penalized likelihood",
   Stat. Model. 7 (2007), 239-254.
.. [2] B. W. Silverman, M. C. Jones, J. D. Wilson, D. W. Nychka, "A smoothed EM approach to indirect estimation
   problems", J. R. Stat. Soc. B 52 (1990), 271-324.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.arrays import SMALLEST, Array, Counts, Integers
from warner.designs.facts import ChannelOperator, full_symmetry
from warner.reports.counts import Histograms, checked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from warner.designs.contract import Design

ORDERS = (1, 2, 3)  # of the differences that are independent
SPANS = tuple(np.geomspace(0.05, 100.0, 10).tolist())
POLYNOMIAL_DEVIATION = 4.0  # of the part of the log-shares that differences leave open
SPIKE_DEVIATION = 3.0
COEFFICIENTS = 48
ANSWERS_FITTED = 1024  # beyond, some answers represent their neighbors:
REPRESENTATIVES = 256  # about five for each coefficient
HOPELESS_SPAN_NATS = 8.0  # by which a span falls short of a narrower one, so that wider ones are not tried
CURVE_STEPS = 60
CONVERGED_NATS = 1e-3  # that the next step promises
ARMIJO = 1e-4  # part of what a step promises that it must gain
SHORTEST_CURVE_STEP = 1e-4
ONE_THREAD_MULTIPLICATIONS = 2**18  # up to which OpenBLAS multiplies matrices in one thread
NEGLIGIBLE_CURVE = 1e-9  # of the largest weight: curves below are left out


def smooth(counts: ArrayLike, design: Design, *, n: ArrayLike | None = None) -> Array:
    r"""Estimate the shares of ordered answers by smooth curves, averaged over their smoothness.

    The answers must be in an order, such as numbers and scales from "never" to "always". Of 20 ordered answers or more
    it is closer than estimators that do not know the order, under every design; a single answer that stands out
    inside of the range is smeared, whereas the first and the last may have a spike.

    Parameters
    ----------
    counts : array_like of shape (..., columns)
        As for `inv`; leading axes are separate surveys.
    design : Design
        What every answer went through.
    n : array_like of shape (...), optional
        The numbers of reports, where these support several answers.

    Returns
    -------
    ndarray of shape (..., k)
        Distributions.

    Examples
    --------
    Ten thousand people with numbers from 0 to 9, all equally common: the curve is flat.

    >>> from warner import SquareWave
    >>> survey = SquareWave(10, odds=(3, 1), width=2)
    >>> expected = 10_000 * survey.law.likelihood().forward(np.full(10, 0.1))
    >>> smooth(expected.round(), survey).round(3)
    array([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    """
    histograms = checked(counts, design, n)
    return smoothed(histograms.rows(), design).reshape(*np.shape(histograms.n), design.k)


def smoothed(histograms: Histograms, design: Design) -> Array:
    """Estimate the shares of each group, (groups, k), with weights at the effective number of reports."""
    counts, numbers = histograms.in_reports()
    return np.array([_averaged(design, row, float(n)) for row, n in zip(counts, np.ravel(numbers), strict=True)])


def smoothed_distribution(histograms: Histograms, design: Design) -> tuple[Array, Array]:
    """Estimate the distribution function and its standard deviation within and between the priors, (groups, k).

    It does not count the bias toward smooth curves: limits hold only about.
    """
    counts, numbers = histograms.in_reports()
    found = [_averaged_distribution(design, row, float(n)) for row, n in zip(counts, np.ravel(numbers), strict=True)]
    means, deviations = zip(*found, strict=True)
    return np.array(means), np.array(deviations)


class Multinomial:
    """Log-likelihood of counts of exclusive reports; `scores` are its gradient and information for coefficients."""

    def __init__(self, operator: ChannelOperator, counts: Counts) -> None:
        self.operator, self.counts, self.n = operator, counts.astype(np.float64), float(counts.sum())

    def value(self, shares: Array) -> float:
        return float(self.counts @ np.log(np.maximum(self.operator.forward(shares), SMALLEST)))

    def scores(self, shares: Array, basis: Array) -> tuple[Array, Array]:
        expected = np.maximum(self.operator.forward(shares), SMALLEST)
        growth = self.operator.adjoint(self.counts / expected)
        rows = (basis * shares[:, np.newaxis]).T
        moved = self.operator.forward(rows) - rows.sum(axis=1, keepdims=True) * expected
        return basis.T @ (shares * (growth - self.n)), row_products(self.n * (moved / expected), moved)


class Normal:
    """Normal log-likelihood of support counts, with the variance of the distribution of pairs."""

    def __init__(self, design: Design, counts: Counts, n: float) -> None:
        symmetry = full_symmetry(design.law)
        if symmetry is None:
            raise TypeError(
                "smooth needs the likelihood of the counts, or a design in which every answer has a count of its own "
                "with the same p and q for all, but this one has neither; use inv_p"
            )
        unbiased = (counts / n - symmetry.base) / symmetry.gain
        self.unbiased = unbiased + (1 - unbiased.sum()) / design.k
        self.noise = max(float(symmetry.base - symmetry.neither) / symmetry.gain**2 / n, SMALLEST)
        self.n = n

    def value(self, shares: Array) -> float:
        return float(-0.5 * ((self.unbiased - shares) ** 2 / (self.noise + shares / self.n)).sum())

    def scores(self, shares: Array, basis: Array) -> tuple[Array, Array]:
        variance = self.noise + shares / self.n
        rows = (basis * shares[:, np.newaxis]).T - (basis.T @ shares)[:, np.newaxis] * shares
        return rows @ ((self.unbiased - shares) / variance), row_products(rows / variance, rows)


CurveLikelihood = Multinomial | Normal


def row_products(first: Array, second: Array) -> Array:
    """Products of all rows of two matrices, in blocks for which OpenBLAS does not wait for all cores."""
    width = max(ONE_THREAD_MULTIPLICATIONS // (len(first) * len(second)), 1)
    blocks = range(width, first.shape[1], width)
    pairs = zip(np.split(first, blocks, axis=1), np.split(second, blocks, axis=1), strict=True)
    return np.asarray(sum(one @ other.T for one, other in pairs))


class Curve(NamedTuple):
    """Most likely curve under one prior: coefficients of splines and spikes, log-evidence, curvature I + P."""

    evidence: float
    coefficients: Array
    spikes: tuple[int, ...]
    curvature: Array


def _weighted_curves(design: Design, counts: Counts, n: float) -> list[tuple[float, Curve]]:
    """Most likely curves under all priors, with their non-negligible weights by evidence."""
    likelihood, answers, sizes = _fitted_to(design, counts, n)
    curves = _curves(likelihood, _splines(design.k, COEFFICIENTS)[answers], np.log(sizes))
    best = max(curve.evidence for curve in curves)
    weights = np.array([math.exp(curve.evidence - best) for curve in curves])
    weights = np.where(weights < NEGLIGIBLE_CURVE, 0.0, weights / weights.sum())
    return [(weight, curve) for weight, curve in zip(weights.tolist(), curves, strict=True) if weight]


def _averaged(design: Design, counts: Counts, n: float) -> Array:
    shares = np.zeros(design.k)
    basis = _splines(design.k, COEFFICIENTS)
    for weight, curve in _weighted_curves(design, counts, n):
        shares += weight * _softmax(_with_spikes(basis, curve.spikes) @ curve.coefficients)
    return np.asarray(shares / shares.sum())


def _averaged_distribution(design: Design, counts: Counts, n: float) -> tuple[Array, Array]:
    """Mean and standard deviation of the distribution function over all curves."""
    splines = _splines(design.k, COEFFICIENTS)
    total, weights, means, variances = 0.0, [], [], []
    for weight, curve in _weighted_curves(design, counts, n):
        basis = _with_spikes(splines, curve.spikes)
        shares = _softmax(basis @ curve.coefficients)
        moved = (shares[:, np.newaxis] * (basis - shares @ basis)).cumsum(axis=0)  # dF/d(coefficients)
        variances.append(np.einsum("km,mk->k", moved, np.linalg.solve(curve.curvature, moved.T)))
        means.append(shares.cumsum())
        weights.append(weight)
        total += weight
    part = np.array(weights) / total
    mean = part @ np.array(means)
    between = (np.array(means) - mean) ** 2
    return mean, np.sqrt(np.maximum(part @ (np.array(variances) + between), 0.0))


def _fitted_to(design: Design, counts: Counts, n: float) -> tuple[CurveLikelihood, Integers, Array]:
    """Return the likelihood, its answers, and the number of answers that each of them represents."""
    everything = np.arange(design.k), np.ones(design.k)
    if not design.law.exclusive:
        return Normal(design, counts, n), *everything
    operator = design.law.likelihood()
    if design.k <= ANSWERS_FITTED or operator.merged is None:
        return Multinomial(operator, counts), *everything
    answers = np.unique(np.linspace(0, design.k - 1, REPRESENTATIVES).round().astype(np.int64))
    table, stretch = operator.merged(answers)
    together = np.bincount(stretch, weights=counts, minlength=table.shape[1])
    # The ends, which may have a spike, represent themselves; the others equally many.
    sizes = np.full(answers.size, (design.k - 2) / (answers.size - 2))
    sizes[[0, -1]] = 1
    return Multinomial(type(operator).of_matrix(table), together), answers, sizes


def _curves(likelihood: CurveLikelihood, splines: Array, offset: Array) -> list[Curve]:
    """Find the most likely curve under each prior, from narrow to wide spans."""
    curves = []
    for spikes in ((), (0,), (-1,), (0, -1)):
        basis = _with_spikes(splines, spikes)
        for order in ORDERS:
            start, best = np.zeros(basis.shape[1]), -math.inf
            for span in SPANS:
                precision, determinant = _prior(splines.shape[1], len(spikes), order, span)
                curve = _ascended(likelihood, basis, offset, precision, determinant, start)._replace(spikes=spikes)
                start, evidence = curve.coefficients, curve.evidence
                curves.append(curve)
                best = max(best, evidence)
                if evidence < best - HOPELESS_SPAN_NATS:
                    break
    return curves


def _ascended(
    likelihood: CurveLikelihood, basis: Array, offset: Array, precision: Array, determinant: float, start: Array
) -> Curve:
    """Maximize the posterior by Fisher scoring; return the curve with Laplace's log-evidence."""
    x = start
    shares = _softmax(basis @ x + offset)
    value = likelihood.value(shares) - 0.5 * float(x @ precision @ x)
    gradient, information = likelihood.scores(shares, basis)
    for _ in range(CURVE_STEPS):
        uphill = gradient - precision @ x
        step = np.linalg.solve(information + precision, uphill)
        promised = float(uphill @ step)
        if promised < CONVERGED_NATS:
            break
        length = 1.0
        while True:
            there = x + length * step
            shares = _softmax(basis @ there + offset)
            reached = likelihood.value(shares) - 0.5 * float(there @ precision @ there)
            if reached - value >= ARMIJO * length * promised or length < SHORTEST_CURVE_STEP:
                break
            length /= 2
        x, value = there, reached
        gradient, information = likelihood.scores(shares, basis)
    curvature = information + precision
    evidence = value + 0.5 * determinant - 0.5 * float(np.linalg.slogdet(curvature)[1])
    return Curve(evidence, x, (), curvature)


def _softmax(curve: Array) -> Array:
    shares = np.exp(curve - curve.max())
    return np.asarray(shares / shares.sum())


def _with_spikes(splines: Array, spikes: Sequence[int]) -> Array:
    columns = np.zeros((len(splines), len(spikes)))
    columns[list(spikes), np.arange(len(spikes))] = 1
    return np.hstack([splines, columns])


@lru_cache(8)
def _splines(k: int, m: int) -> Array:
    """Cubic B-splines at K points, (k, m), evenly spaced; up to m points, the identity."""
    if k <= m:
        return np.eye(k)
    from scipy.interpolate import BSpline

    knots = np.concatenate([np.zeros(3), np.linspace(0, 1, m - 2), np.ones(3)])
    return np.asarray(BSpline.design_matrix((np.arange(k) + 0.5) / k, knots, 3).toarray())


@lru_cache(256)
def _prior(m: int, spikes: int, order: int, span: float) -> tuple[Array, float]:
    """Prior precision of m coefficients and of spikes, and its log-determinant."""
    differences = np.diff(np.eye(m), n=min(order, m - 1), axis=0)
    rough = differences.T @ differences
    polynomials = np.linalg.qr(np.vander(np.linspace(-1, 1, m), min(order, m - 1), increasing=True))[0]
    inside = np.eye(m) - polynomials @ polynomials.T
    free = np.linalg.pinv(rough, rcond=1e-12, hermitian=True)
    scale = float(np.trace(inside @ free @ inside)) / m  # so that the curve has the variance span^2 on average
    precision = np.zeros((m + spikes, m + spikes))
    precision[:m, :m] = rough * (scale / span**2) + polynomials @ polynomials.T / (m * POLYNOMIAL_DEVIATION**2)
    precision[range(m, m + spikes), range(m, m + spikes)] = 1 / SPIKE_DEVIATION**2
    return precision, float(np.linalg.slogdet(precision)[1])
