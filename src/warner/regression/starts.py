r"""Starting values of the maximisation: several of them, always the same ones.

The log-likelihood can have several maxima, and no start is the best one everywhere. So there are a few of each kind:
the shares of all people together with no slopes; the maximum of the *corrected score*, which is concave; steep slopes
in each column, both ways; and some at random, with a fixed seed. Small samples often have a higher maximum where some
combination of columns divides people into those with and without an answer, at infinity, in about the direction of a
maximum that is found more easily. So the best one is made steeper, and turned a little at random, and if that leads to
a better one, so is that (`steeper`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs.facts import ChannelOperator
from warner.estimators import channel_mle
from warner.regression.families import Direct
from warner.regression.likelihood import Likelihood
from warner.regression.newton import newton_ascent
from warner.regression.scores import debiased

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warner.arrays import Array
    from warner.regression.data import Observations

STEEP_SLOPE = 4.0  # slope of a standardized column, in logits
ROWS_TIMES_COEFFICIENTS = 10**6  # beyond which only two steep starts, and none at random, are tried
RANDOM_STARTS = 4
RANDOM_TURNS = 4  # at random, about the best maximum
STEEPER_FACTORS = (4.0, 16.0)  # times the coefficients of the best maximum
TURNED_PREDICTORS = 8.0, 0.3  # predictors of its steep form, in logits, and the part of it that a random turn has
START_SEED = 1965
START_GAP = 0.1  # nats that a corrected score may leave: it is a start only
FARTHEST_START = 10.0  # logits that a corrected score may reach before it is left out


class Start(NamedTuple):
    """A place to begin, and what it is."""

    name: str
    coefficients: Array


def overall_shares(rows: Observations) -> Array:
    """Give the most likely shares of all people together, none of them nothing: at least half a person."""
    likelihoods, weights = rows.patterns()
    shares = channel_mle(weights, ChannelOperator.of_matrix(likelihoods.T)).shares
    shares = np.maximum(shares, 0.5 / max(rows.n, 1))
    return np.asarray(shares / shares.sum())


def all_starts(likelihood: Likelihood, *, at_random: int | None = None) -> Iterator[Start]:
    """Yield starting points: null, corrected score, steep slopes, and some at random.

    Parameters
    ----------
    likelihood : Likelihood
        What is to be maximised.
    at_random : int, optional
        How many random starts; 4 if not given, none with many rows. With 0 there is no other start than the null.
    """
    shares = overall_shares(likelihood.rows)
    flat = _flat(likelihood, shares)
    yield Start("null", likelihood.coefficients(flat))
    if at_random == 0:
        return
    if (b := corrected(likelihood, shares)) is not None:
        yield Start("corrected score", b)
    many = _many(likelihood)
    mean, deviation = _standardized(likelihood)
    for number, start in enumerate(_steep(likelihood, flat, mean, deviation)):
        if not many or number < 2:
            yield start
    count = (0 if many else RANDOM_STARTS) if at_random is None else at_random
    rng = np.random.default_rng(START_SEED)
    # Where all predictors rise together, as those of ordered answers, random slopes are common: cutpoints do not fall.
    rises = likelihood.family.rises()
    ways = rises if len(rises) == 1 else np.eye(len(flat))
    for number in range(count):
        slopes = STEEP_SLOPE * (ways.T @ rng.standard_normal((len(ways), flat.shape[1]))) * (deviation > 0)
        yield Start(
            f"random {number + 1}", likelihood.coefficients(_with_slopes(likelihood, flat, slopes, mean, deviation))
        )


def staged(likelihood: Likelihood, every: Sequence[Start]) -> tuple[list[Start], list[Start]]:
    """Return the first starts, and those with steep slopes, which are left out if the first ones agree."""
    if _many(likelihood):
        return list(every), []
    steep = [start for start in every if start.name.startswith("steep")]
    return [start for start in every if not start.name.startswith("steep")], steep


def _many(likelihood: Likelihood) -> bool:
    return len(likelihood.rows.x) * likelihood.size > ROWS_TIMES_COEFFICIENTS


def steeper(likelihood: Likelihood, peak: Array, *, at_random: int | None = None) -> Iterator[Start]:
    """Give places to begin that are steeper than a maximum, in its direction and, at random, near it."""
    if at_random == 0 or _many(likelihood) or likelihood.offset is not None:
        return
    for times in STEEPER_FACTORS:
        yield Start("steeper", times * peak)
    size, part = TURNED_PREDICTORS
    mean_square = (
        float(likelihood.rows.weight @ (likelihood.predictors(peak) ** 2).mean(axis=0)) / likelihood.total_weight
    )
    steep = peak * size / max(np.sqrt(mean_square), np.finfo(float).tiny)
    rng = np.random.default_rng(START_SEED)
    for _ in range(RANDOM_TURNS if at_random is None else at_random):
        b = steep + size * part * rng.standard_normal(len(peak)) / likelihood.scale
        if np.isfinite(likelihood.value(b)):  # cutpoints that fall are no place to begin
            yield Start("turned", b)


def _standardized(likelihood: Likelihood) -> tuple[Array, Array]:
    """Give mean and standard deviation of each column; that of a constant one is 0."""
    weight = likelihood.rows.weight / likelihood.rows.weight.sum()
    mean = likelihood.columns @ weight
    deviation = np.sqrt((likelihood.columns - mean[:, np.newaxis]) ** 2 @ weight)
    return mean, np.where(deviation > 1e-12 * np.abs(mean), deviation, 0.0)


def _flat(likelihood: Likelihood, shares: Array) -> Array:
    """Give the B that is nearest to the same predictors for everybody."""
    eta = likelihood.family.predictors_of(shares[:, np.newaxis])
    return _fitted(likelihood, np.broadcast_to(eta, (len(eta), len(likelihood.rows.x))))


def _fitted(likelihood: Likelihood, eta: Array) -> Array:
    """Give the B whose predictors are nearest to some, by weighted least squares."""
    if likelihood.offset is not None:
        eta = eta - likelihood.offset
    rows = likelihood.rows
    length = np.sqrt(likelihood.columns**2 @ rows.weight)  # of the columns, which have full rank
    gram = (likelihood.columns * rows.weight) @ rows.x / np.outer(length, length)
    return np.asarray(np.linalg.solve(gram, ((eta * rows.weight) @ rows.x / length).T).T / length)


def coefficients_near(likelihood: Likelihood, eta: Array) -> Array:
    """Give the coefficients whose predictors are nearest to some."""
    return likelihood.coefficients(_fitted(likelihood, eta))


def _with_slopes(likelihood: Likelihood, flat: Array, slopes: Array, mean: Array, deviation: Array) -> Array:
    """Add slopes in standardized columns: where there is a constant column, they turn about the mean."""
    per_unit = np.divide(slopes, deviation, out=np.zeros_like(slopes), where=deviation > 0)
    matrix = flat + per_unit
    constant = np.flatnonzero((deviation == 0) & (mean != 0))
    if len(constant):
        matrix[:, constant[0]] -= per_unit @ mean / mean[constant[0]]
    return np.asarray(matrix)


def _steep(likelihood: Likelihood, flat: Array, mean: Array, deviation: Array) -> Iterator[Start]:
    """Give a steep slope in each column, for each answer against the others, both ways."""
    for column in np.flatnonzero(deviation > 0).tolist():
        for rise in likelihood.family.rises():
            for sign in (1, -1):
                slopes = np.zeros_like(flat)
                slopes[:, column] = sign * STEEP_SLOPE * rise
                matrix = _with_slopes(likelihood, flat, slopes, mean, deviation)
                yield Start(f"steep {column}", likelihood.coefficients(matrix))


def corrected(likelihood: Likelihood, shares: Array) -> Array | None:
    r"""Maximise the corrected score, :math:`\sum_n w_n (z_n'\eta_n - \log\sum_k e^{\eta_{nk}})`; None where it fails.

    z has the truth as its mean, so the maximum is near that of the direct answers; and because z sums to one, the
    function is concave. A family other than the multinomial logit starts at what comes nearest to these shares.
    """
    z = debiased(likelihood.rows, shares)
    if z is None or likelihood.offset is not None:
        return None
    direct = Likelihood(replace(likelihood.rows, likelihood=z), Direct(likelihood.rows.k))
    peak = newton_ascent(direct, _flat(direct, shares).ravel(), gap=START_GAP)
    eta = direct.predictors(peak.coefficients)
    if not peak.converged or np.abs(eta).max() > FARTHEST_START:
        return None
    return coefficients_near(likelihood, likelihood.family.predictors_of(direct.family.shares(eta)))
