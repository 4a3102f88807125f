r"""Jeffreys' penalty: estimates that are always finite, shrunk toward equal shares.

The penalized log-likelihood is :math:`\ell(b) + \tfrac12\log\det F(b)`, F the expected information. Where all reports
are possible after all answers, F decays as a share comes near 0 while the likelihood is bounded, so that the maximum is
finite. It is a point estimate only: intervals around it are not valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.regression.newton import SHORTEST_STEP, LocalMaximum
from warner.regression.standard_errors import inverse_information

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.regression.likelihood import Likelihood

PENALISED_STEPS = 200
# The decrement below which Newton's own method takes over: rounding then hides whether the likelihood still rises.
POLISH_DECREMENT = 1e-8
PENALISED_POLISH_STEPS = 4
GRADIENT_STRIDE = 1e-5  # of a predictor, for differences of the gradient


def penalised_maximum(likelihood: Likelihood, start: Array) -> LocalMaximum:
    """Maximize the Jeffreys-penalized likelihood from a start; `value` is the unpenalized log-likelihood there."""
    b, height = start, _height(likelihood, start)
    for _ in range(PENALISED_STEPS):
        gradient, covariance = _slope(likelihood, b)
        step = covariance @ gradient
        left = float(gradient @ step) / 2
        if not left > POLISH_DECREMENT:
            break
        length = min(
            1.0, likelihood.family.longest_step / max(float(np.abs(likelihood.predictor_change(step)).max()), 1e-300)
        )
        while length > SHORTEST_STEP and not (there := _height(likelihood, b + length * step)) > height:
            length /= 2
        if length <= SHORTEST_STEP:
            break
        b, height = b + length * step, there
    return _polished(likelihood, b)


def _polished(likelihood: Likelihood, b: Array) -> LocalMaximum:
    """Finish by Newton's method, with differences of the gradient for the second derivative."""
    left = np.inf
    for _ in range(PENALISED_POLISH_STEPS):
        gradient = _slope(likelihood, b)[0]
        strides = np.diag(GRADIENT_STRIDE / likelihood.scale)
        rows = [_slope(likelihood, b + h)[0] - _slope(likelihood, b - h)[0] for h in strides]
        curvature = -np.array(rows) / (2 * np.diagonal(strides)[:, np.newaxis])
        step = np.linalg.solve((curvature + curvature.T) / 2, gradient)
        left = float(gradient @ step) / 2
        b = b + step
    return LocalMaximum(b, likelihood.value(b), abs(left), converged=abs(left) < POLISH_DECREMENT)


def _slope(likelihood: Likelihood, b: Array) -> tuple[Array, Array]:
    """Return the gradient of the penalized log-likelihood, and the inverse of the expected information."""
    covariance = inverse_information(likelihood.expected(b), likelihood)
    return likelihood.expansion(b).gradient + _pull(likelihood, b, covariance), covariance


def _height(likelihood: Likelihood, b: Array) -> float:
    sign, log_determinant = np.linalg.slogdet(likelihood.expected(b) / np.outer(likelihood.scale, likelihood.scale))
    return likelihood.value(b) + log_determinant / 2 if sign > 0 else -np.inf


def _pull(likelihood: Likelihood, b: Array, covariance: Array) -> Array:
    r"""Gradient of the penalty, :math:`\tfrac12\operatorname{tr}(F^{-1}\,\partial F/\partial b)`.

    With s and c the score and the curvature of a report in the predictors, the expected information of a row is
    :math:`E_{kl} = \sum_j \mu_j s_k s_l`, and from :math:`\partial s_k/\partial\eta_m = -c_{km}`

    .. math:: \frac{\partial E_{kl}}{\partial\eta_m} = \sum_j \mu_j\,(s_k s_l s_m - c_{km} s_l - c_{lm} s_k).
    """
    eta = likelihood.predictors(b)
    x = likelihood.rows.x
    f = likelihood.family.predictors
    full = covariance if likelihood.mapping is None else likelihood.mapping @ covariance @ likelihood.mapping.T
    blocks = full.reshape(f, x.shape[1], f, x.shape[1])
    # H_kl = x' (F^-1)_kl x: what a row's information is weighted by.
    leverage = np.einsum("np,kplq,nq->kln", x, blocks, x, optimize=True)
    pull = np.zeros_like(eta)
    for selected, probability, point in likelihood.of_all_reports(eta):
        h, s, c = leverage[:, :, selected], point.score, point.curvature
        along = np.einsum("kln,ln->kn", h, s)
        pull[:, selected] += probability * ((along * s).sum(axis=0) * s - 2 * np.einsum("kmn,kn->mn", c, along)) / 2
    return likelihood.reduced((likelihood.rows.weight * pull) @ x)
