r"""Where to begin a climb: several places, always the same ones.

The log-likelihood can have several maxima, and no start is the best one everywhere. So there are a few of each kind:
the shares of all people together with no slopes; the maximum of the *corrected score*, which is concave; steep slopes
in each column, both ways; and some at random, with a fixed seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs.facts import ChannelOperator
from warner.estimators import channel_mle
from warner.regression.debiased import debiased
from warner.regression.families import Softmax
from warner.regression.likelihood import Likelihood

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.arrays import Array
    from warner.regression.rows import Rows

STEEP = 4.0  # slope of a standardized column, in logits
MANY = 10**6  # rows times coefficients beyond which only two steep starts, and none at random, are tried
AT_RANDOM = 4
SEED = 1965
FARTHEST = 10.0  # logits that a corrected score may reach before it is left out


class Start(NamedTuple):
    """A place to begin, and what it is."""

    name: str
    coefficients: Array


def overall_shares(rows: Rows) -> Array:
    """Give the most likely shares of all people together, none of them nothing: at least half a person."""
    likelihoods, weights = rows.patterns()
    shares = channel_mle(weights, ChannelOperator.of_matrix(likelihoods.T)).shares
    shares = np.maximum(shares, 0.5 / max(rows.n, 1))
    return np.asarray(shares / shares.sum())


def starts(likelihood: Likelihood, *, at_random: int | None = None) -> Iterator[Start]:
    """Give the places to begin: null, corrected score, steep slopes, and some at random.

    Parameters
    ----------
    likelihood : Likelihood
        What is to be climbed.
    at_random : int, optional
        How many random starts; 4 if not given, none with many rows.
    """
    shares = overall_shares(likelihood.rows)
    flat = _flat(likelihood, shares)
    yield Start("null", likelihood.coefficients(flat))
    if (b := corrected(likelihood, shares)) is not None:
        yield Start("corrected score", b)
    many = len(likelihood.rows.x) * likelihood.size > MANY
    mean, spread = _standardized(likelihood)
    steep = _steep(likelihood, flat, mean, spread)
    for number, start in enumerate(steep):
        if not many or number < 2:
            yield start
    count = (0 if many else AT_RANDOM) if at_random is None else at_random
    rng = np.random.default_rng(SEED)
    for number in range(count):
        slopes = STEEP * rng.standard_normal(flat.shape) * (spread > 0)
        yield Start(
            f"random {number + 1}", likelihood.coefficients(_with_slopes(likelihood, flat, slopes, mean, spread))
        )


def _standardized(likelihood: Likelihood) -> tuple[Array, Array]:
    """Give mean and spread of each column; the spread of a constant one is 0."""
    weight = likelihood.rows.weight / likelihood.rows.weight.sum()
    mean = likelihood.columns @ weight
    spread = np.sqrt((likelihood.columns - mean[:, np.newaxis]) ** 2 @ weight)
    return mean, np.where(spread > 1e-12 * np.abs(mean), spread, 0.0)


def _flat(likelihood: Likelihood, shares: Array) -> Array:
    """Give the B that is nearest to the same predictors for everybody."""
    eta = likelihood.family.predictors_of(shares[:, np.newaxis])
    return _fitted(likelihood, np.repeat(eta, len(likelihood.rows.x), axis=1))


def _fitted(likelihood: Likelihood, eta: Array) -> Array:
    """Give the B whose predictors are nearest to some, by weighted least squares."""
    if likelihood.offset is not None:
        eta = eta - likelihood.offset
    root = np.sqrt(likelihood.rows.weight)
    return np.asarray(np.linalg.lstsq(likelihood.rows.x * root[:, np.newaxis], (eta * root).T, rcond=None)[0].T)


def _with_slopes(likelihood: Likelihood, flat: Array, slopes: Array, mean: Array, spread: Array) -> Array:
    """Add slopes in standardized columns: where there is a constant column, they turn about the mean."""
    per_unit = np.divide(slopes, spread, out=np.zeros_like(slopes), where=spread > 0)
    matrix = flat + per_unit
    constant = np.flatnonzero((spread == 0) & (mean != 0))
    if len(constant):
        matrix[:, constant[0]] -= per_unit @ mean / mean[constant[0]]
    return np.asarray(matrix)


def _steep(likelihood: Likelihood, flat: Array, mean: Array, spread: Array) -> Iterator[Start]:
    """Give a steep slope in each column, for each answer against the others, both ways."""
    for column in np.flatnonzero(spread > 0).tolist():
        for rise in likelihood.family.rises():
            for sign in (1, -1):
                slopes = np.zeros_like(flat)
                slopes[:, column] = sign * STEEP * rise
                matrix = _with_slopes(likelihood, flat, slopes, mean, spread)
                yield Start(f"steep {column}", likelihood.coefficients(matrix))


def corrected(likelihood: Likelihood, shares: Array) -> Array | None:
    r"""Maximise the corrected score, :math:`\sum_n w_n (z_n'\eta_n - \log\sum_k e^{\eta_{nk}})`; None where it fails.

    z has the truth as its mean, so the maximum is near that of the direct answers; and because z sums to one, the
    function is concave. A family other than the multinomial logit starts at what comes nearest to these shares.
    """
    rows = likelihood.rows
    z = debiased(rows, shares)
    if z is None or likelihood.offset is not None:
        return None
    softmax = Softmax(rows.k, rows.k - 1)
    free = Likelihood(rows, softmax)
    matrix = _fitted(free, np.repeat(softmax.predictors_of(shares[:, np.newaxis]), len(rows.x), axis=1))
    b = matrix.ravel()
    targets = z.T[softmax.free]
    for _ in range(10):
        theta = softmax.shares(free.predictors(b))[softmax.free]
        gradient = ((rows.weight * (targets - theta)) @ rows.x).ravel()
        curvature = -theta[:, np.newaxis] * theta
        diagonal = np.arange(len(theta))
        curvature[diagonal, diagonal] += theta
        information = free.assembled(rows.weight * curvature)
        try:
            step = np.linalg.solve(information, gradient).astype(np.float64)
        except np.linalg.LinAlgError:
            return None
        moved = float(np.abs(free.movement(step)).max())
        b = b + min(1.0, softmax.reach / max(moved, 1e-300)) * step
        if not np.isfinite(b).all() or np.abs(free.predictors(b)).max() > FARTHEST:
            return None
        if float(gradient @ step) / 2 < 0.1:
            break
    found = np.clip(softmax.shares(free.predictors(b)), 1e-9, 1.0)
    return likelihood.coefficients(_fitted(likelihood, likelihood.family.predictors_of(found / found.sum(axis=0))))
