r"""Random intercepts: the likelihood of a mixed model, by adaptive Gauss-Hermite quadrature.

Rows belong to groups, such as schools or persons. Group j has an effect :math:`\sigma u_j`, with u standard normal,
which is added to all predictors of its rows (of ordered answers, to all cutpoints). With :math:`\ell_i(\eta)` the
log-likelihood of a row's report and :math:`w_i` its people, the likelihood of the group is an integral,

.. math::
    L_j = \int \prod_i e^{w_i \ell_i(x_i'b + \sigma u)} \varphi(u) \, du
    \approx s_j \sum_q W_q \, e^{\sum_i w_i \ell_i(x_i'b + \sigma u_{jq})} \varphi(u_{jq}), \qquad
    u_{jq} = m_j + s_j \sqrt2 \, t_q, \quad W_q = \sqrt2 \, \omega_q e^{t_q^2},

with the nodes t and weights :math:`\omega` of Hermite [1]_. The mode :math:`m_j` is found by Fisher scoring with
halving: the curvature of a randomized report can be negative, its *expected* information never is. The scale is
:math:`s_j = (1 + \sigma^2 \sum w_i I_i)^{-1/2}` at the mode.

One node is Laplace's approximation, which other programs take by default. Under randomization it can be far off: a
published table has coefficients that are two standard errors from the maximum of the likelihood because of it. So it
takes 15 nodes or more.

With the posterior weights :math:`p_{jq}` of the nodes the gradient is :math:`\sum_i w_i x_i \sum_q p_{jq} s_{iq}` in b
and :math:`\sum_i w_i \sum_q p_{jq} u_{jq} s_{iq}` in :math:`\sigma`, where s is the score of a row in its predictor.
At :math:`\sigma = 0` the latter is 0: a search must start elsewhere, and be compared with the value there.

References
----------
.. [1] J. C. Pinheiro, D. M. Bates, "Approximations to the log-likelihood function in the nonlinear mixed-effects
   model", J. Comput. Graph. Stat. 4 (1995), 12-35.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from warner.arrays import Array, Integers
    from warner.regression.likelihood import Likelihood

NODES = 15
SCORING_STEPS, HALVINGS = 100, 20
MODE_TOLERANCE = 1e-10  # of the standard normal effect
STARTS = (0.5, 1.5, 0.1)  # standard deviations from which the maximum is looked for
MODE_STEPS = 3
DIFFERENCE = 1e-4  # relative, for second derivatives
NO_SPREAD = 1e-6  # a standard deviation below is 0
WORSE = 1e-12  # by rounding alone


class Point(NamedTuple):
    """The log-likelihood, and its gradient in the coefficients and the standard deviation, which comes last."""

    value: float
    gradient: Array


class Effects(NamedTuple):
    """The predicted effects of the groups on the scale of the predictors: posterior means and standard deviations."""

    mean: Array
    error: Array


class MixedMaximum(NamedTuple):
    """The most likely coefficients and standard deviation, with the covariances of both; NaN for one that is 0."""

    coefficients: Array
    spread: float
    log_likelihood: float
    covariance: Array


class _Quadrature(NamedTuple):
    """Nodes of each group, (groups, nodes), their log-weights in the integral, and the scores, (nodes, f, rows)."""

    positions: Array
    log_terms: Array
    scores: Array


@dataclass(frozen=True, eq=False)
class RandomIntercepts:
    """The log-likelihood of coefficients and of the standard deviation of the groups' effects.

    Attributes
    ----------
    likelihood : Likelihood
        That of the rows, if effects were known.
    group : array of shape (n,)
        The number of the group of each row, counted from 0.
    nodes : int
        Of the quadrature.
    """

    likelihood: Likelihood
    group: Integers
    nodes: int = NODES

    @cached_property
    def number(self) -> int:
        """The number of groups."""
        return int(self.group.max()) + 1

    @cached_property
    def _hermite(self) -> tuple[Array, Array]:
        """The nodes for a standard normal law, and the logarithms of their weights."""
        t, weight = np.polynomial.hermite.hermgauss(self.nodes)
        return np.sqrt(2) * t, np.log(weight) + t**2 + np.log(2) / 2

    def _summed(self, values: Array) -> Array:
        """Add up values of the rows by group, with their weights."""
        weighted = self.likelihood.rows.weight * values
        return np.bincount(self.group, weighted, minlength=self.number).astype(np.float64)

    def _shifted(self, eta: Array, spread: float, effect: Array) -> Array:
        return eta + spread * effect[self.group]

    def _information(self, eta: Array) -> Array:
        """Give the expected information of each row about a shift of its predictors; of its own report, if too many."""
        if any(table is None for table in self.likelihood.rows.tables):
            return np.asarray(self.likelihood.family.at(eta, self.likelihood.reports).score.sum(axis=0) ** 2)
        result = np.zeros(eta.shape[1])
        for rows, probability, point in self.likelihood.of_all_reports(eta):
            result[rows] += probability * point.score.sum(axis=0) ** 2
        return result

    def modes(self, eta: Array, spread: float) -> tuple[Array, Array]:
        """Find the most likely effect of each group, in units of the standard deviation, and the scale around it."""
        family, reports = self.likelihood.family, self.likelihood.reports

        def value(effect: Array) -> Array:
            return self._summed(family.log_likelihood(self._shifted(eta, spread, effect), reports)) - effect**2 / 2

        effect = np.zeros(self.number)
        now = value(effect)
        for _ in range(SCORING_STEPS):
            shifted = self._shifted(eta, spread, effect)
            slope = spread * self._summed(family.at(shifted, reports).score.sum(axis=0)) - effect
            step = slope / (spread**2 * self._summed(self._information(shifted)) + 1)
            new = value(effect + step)
            for _ in range(HALVINGS):
                worse = ~(new >= now - WORSE)
                if not worse.any():
                    break
                step = np.where(worse, step / 2, step)
                new = value(effect + step)
            step = np.where(new >= now - WORSE, step, 0.0)
            effect, now = effect + step, np.where(step == 0, now, new)
            if np.abs(step).max() < MODE_TOLERANCE:
                break
        information = self._summed(self._information(self._shifted(eta, spread, effect)))
        return effect, 1 / np.sqrt(spread**2 * information + 1)

    def _quadrature(self, b: Array, spread: float) -> _Quadrature:
        family, reports = self.likelihood.family, self.likelihood.reports
        eta = self.likelihood.predictors(b)
        mode, scale = self.modes(eta, spread)
        t, log_weight = self._hermite
        positions = mode[:, np.newaxis] + scale[:, np.newaxis] * t
        terms = log_weight + np.log(scale)[:, np.newaxis] - positions**2 / 2 - np.log(2 * np.pi) / 2
        scores = np.empty((t.size, *eta.shape))
        for q in range(t.size):
            point = family.at(self._shifted(eta, spread, positions[:, q]), reports)
            terms[:, q] += self._summed(point.log_likelihood)
            scores[q] = point.score
        return _Quadrature(positions, terms, scores)

    def at(self, b: Array, spread: float) -> Point:
        """Give the log-likelihood and its gradient."""
        if spread == 0:
            plain = self.likelihood.at(b)
            return Point(plain.value, np.append(plain.gradient, 0.0))
        positions, terms, scores = self._quadrature(b, spread)
        weight = self.likelihood.rows.weight
        posterior = _posterior(terms)[self.group].T  # (nodes, rows)
        mean = np.einsum("qn,qfn->fn", posterior, scores)
        along = np.einsum("qn,qn,qfn->n", posterior, positions[self.group].T, scores)
        gradient = self.likelihood.reduced((weight * mean) @ self.likelihood.rows.x)
        return Point(float(np.logaddexp.reduce(terms, axis=1).sum()), np.append(gradient, weight @ along))

    def effects(self, b: Array, spread: float) -> Effects:
        """Predict the effects of the groups."""
        if spread == 0:
            return Effects(np.zeros(self.number), np.zeros(self.number))
        positions, terms, _ = self._quadrature(b, spread)
        posterior = _posterior(terms)
        mean = (posterior * positions).sum(axis=1)
        variance = (posterior * (positions - mean[:, np.newaxis]) ** 2).sum(axis=1)
        return Effects(spread * mean, spread * np.sqrt(variance))

    def maximum(self, start: Array) -> MixedMaximum:
        """Find the most likely coefficients and standard deviation, from coefficients without effects."""
        from scipy.optimize import minimize

        def descent(z: Array) -> tuple[float, Array]:
            point = self.at(z[:-1], float(z[-1]))
            return -point.value, -point.gradient

        bounds = [(None, None)] * start.size + [(0, None)]
        options = {"ftol": 1e-14, "gtol": 1e-8, "maxiter": 500}
        found = [
            minimize(descent, np.append(start, spread), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
            for spread in STARTS
        ]
        z = min(found, key=lambda one: float(one.fun)).x
        free = np.ones(z.size, dtype=bool)
        free[-1] = z[-1] > NO_SPREAD
        if not free[-1]:
            z[-1] = 0.0
        for _ in range(MODE_STEPS):
            step = np.zeros(z.size)
            step[free] = np.linalg.solve(
                self._hessian(z)[np.ix_(free, free)], self.at(z[:-1], float(z[-1])).gradient[free]
            )
            if self.at((z + step)[:-1], float((z + step)[-1])).value >= self.at(z[:-1], float(z[-1])).value - WORSE:
                z = z + step
        covariance = np.full((z.size, z.size), np.nan)
        covariance[np.ix_(free, free)] = np.linalg.inv(self._hessian(z)[np.ix_(free, free)])
        return MixedMaximum(z[:-1], float(z[-1]), self.at(z[:-1], float(z[-1])).value, covariance)

    def _hessian(self, z: Array) -> Array:
        """Give minus the second derivatives, by central differences of the gradient."""
        result = np.empty((z.size, z.size))
        for place in range(z.size):
            step = np.zeros(z.size)
            step[place] = DIFFERENCE * max(1.0, abs(z[place]))
            up, down = z + step, z - step
            if down[-1] < 0:  # at the boundary the likelihood is even in the standard deviation
                down[-1] = -down[-1]
            change = self.at(up[:-1], float(up[-1])).gradient - self.at(down[:-1], float(down[-1])).gradient
            result[place] = -change / (2 * step[place])
        return (result + result.T) / 2


def _posterior(terms: Array) -> Array:
    """Give the probabilities of the nodes of each group, after its reports."""
    weight = np.exp(terms - terms.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))
