r"""Adaptive Gauss-Hermite quadrature: the likelihood of a mixed model with random intercepts.

See the page "Regression on covariates" for the integral over the effect :math:`\sigma u_j` of each group (J. C.
Pinheiro, D. M. Bates, J. Comput. Graph. Stat. 4 (1995), 12-35) and its derivatives. The effect is added to all
predictors of the rows of the group; of ordered answers it is subtracted from all cutpoints, so that it moves
respondents toward later answers, as :math:`x'b` does. The mode :math:`m_j` is found by Newton's method with halving.
The standard deviation is the last of the coefficients, :math:`z = (b, \sigma)`.

One node is Laplace's approximation, which other programs take by default. Under randomization it can be far off: a
published table has coefficients that are two standard errors from the maximum of the likelihood because of it. So it
takes 25 nodes or more. (15 are enough at most maxima; at the upper limit of a standard deviation they can be off by
.003 nats per 12 groups, where 25 are off by .0002.) A standard deviation that is large needs more of them, since shares
then go from 0 to 1 between two nodes: with reports that are the truth in 3 of 4 cases, 25 nodes are off by .5 nats per
6 groups at :math:`\sigma = 8`, and :math:`4 \sigma^2` by .0001 (`for_spread`).

The likelihood is the same for :math:`\sigma` and :math:`-\sigma`. At 0 its slope is 0: an ascent must begin elsewhere.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.likelihood import Expansion, Likelihood

if TYPE_CHECKING:
    from warner.arrays import Array, Integers
    from warner.regression.data import Observations
    from warner.regression.families import Family

NODES = 25
NODES_PER_VARIANCE, LARGEST_NODES = 4, 301  # nodes for large standard deviations
MODE_STEPS, HALVINGS = 100, 20
MODE_TOLERANCE = 1e-7  # of the standard normal effect
WORSE = 1e-12  # by rounding alone
ROUNDING_PER_GROUP = 1e-8  # nats by which the sum over nodes may be off from what its derivatives, of the integral, say
ROW_NODES_AT_ONCE = 2**15  # rows of whole groups, times nodes, that are worked on at a time
SPREAD_TO_BEGIN = 0.5  # standard deviation that coefficients are given where nothing is known of it


class Effects(NamedTuple):
    """Predicted effects of groups in standard deviations: means, variances, and slopes in the coefficients."""

    mean: Array
    variance: Array
    slopes: Array


class RandomIntercepts(Likelihood):
    """Log-likelihood of the coefficients and, as the last one, the standard deviation of random intercepts.

    Each row has the index of its `group`, (n,). Beyond the `largest` standard deviation the likelihood is zero, so that
    ascents end.
    """

    def __init__(
        self,
        rows: Observations,
        family: Family,
        mapping: Array | None,
        group: Integers,
        nodes: int = NODES,
        largest: float = np.inf,
    ) -> None:
        self._free = np.eye(family.predictors * rows.x.shape[1]) if mapping is None else mapping
        super().__init__(rows, family, np.column_stack([self._free, np.zeros(len(self._free))]))
        self.group, self.nodes, self.largest = group, nodes, largest
        self.rounding = ROUNDING_PER_GROUP * self.number

    @cached_property
    def without_effects(self) -> Likelihood:
        """Likelihood of the coefficients alone, without effects of groups."""
        return Likelihood(self.rows, self.family, self._free)

    def within(self, inside: Array) -> RandomIntercepts:
        """Likelihood of a in b = T a, in which some coefficients are 0 or equal; the last one stays the last."""
        return RandomIntercepts(self.rows, self.family, self._free @ inside[:-1, :-1], self.group, self.nodes)

    def for_spread(self, spread: float) -> RandomIntercepts:
        """Likelihood with the number of nodes that this standard deviation requires, at least the present number."""
        nodes = max(self.nodes, min(int(np.ceil(NODES_PER_VARIANCE * spread**2)), LARGEST_NODES))
        if nodes == self.nodes:
            return self
        return RandomIntercepts(self.rows, self.family, self._free, self.group, nodes)

    @property
    def total_weight(self) -> float:
        """Number of groups, which determines the information about a standard deviation."""
        return float(self.number)

    @cached_property
    def number(self) -> int:
        return int(self.group.max()) + 1

    @cached_property
    def scale(self) -> Array:
        return np.append(self.without_effects.scale, 1.0)

    @cached_property
    def basis(self) -> Array:
        result = np.eye(self.size)
        result[:-1, :-1] = self.without_effects.basis
        return result

    def coefficients(self, matrix: Array) -> Array:
        """Coefficients whose matrix B is nearest to a matrix, with a starting value for the standard deviation."""
        return np.append(self.without_effects.coefficients(matrix), SPREAD_TO_BEGIN)

    def predictor_change(self, direction: Array) -> Array:
        """Change of predictors along a direction, at most that of a group with an effect of one standard deviation."""
        moved = super().predictor_change(direction)
        return np.asarray(moved + np.copysign(direction[-1], moved))

    @cached_property
    def _blocks(self) -> list[_Block]:
        order = np.argsort(self.group, kind="stable")
        numbers = self.group[order]
        begins = np.flatnonzero(np.diff(numbers, prepend=-1))
        cuts = [0]
        for begin in begins.tolist():
            if (begin - cuts[-1]) * self.nodes >= ROW_NODES_AT_ONCE:
                cuts.append(begin)
        names = ("x", "likelihood", "weight", "square", "people", "design", "report")
        blocks = []
        for a, b in zip(cuts, [*cuts[1:], len(order)], strict=True):
            rows = replace(self.rows, **{name: getattr(self.rows, name)[order[a:b]] for name in names})
            blocks.append(_Block(Likelihood(rows, self.family, self.mapping), numbers[a:b], self._hermite))
        return blocks

    @cached_property
    def _hermite(self) -> tuple[Array, Array]:
        """Nodes for a standard normal distribution, and logarithms of their weights."""
        t, weight = np.polynomial.hermite.hermgauss(self.nodes)
        return np.sqrt(2) * t, np.log(weight) + t**2 + np.log(2) / 2

    def _out_of_bounds(self, b: Array) -> bool:
        return abs(float(b[-1])) > self.largest or not np.isfinite(self.without_effects.value(b[:-1]))

    def value(self, b: Array) -> float:
        """Log-likelihood; minus infinity where predictors are out of bounds without effects."""
        if self._out_of_bounds(b):
            return -np.inf
        return sum(float(block.log_likelihoods(b).sum()) for block in self._blocks)

    def expansion(self, b: Array) -> Expansion:
        value, gradient, information = 0.0, np.zeros(self.size), np.zeros((self.size, self.size))
        if self._out_of_bounds(b):
            return Expansion(-np.inf, gradient, information)
        for block in self._blocks:
            here = block.expansion(b)
            value, gradient, information = value + here.value, gradient + here.gradient, information + here.information
        return Expansion(value, gradient, information)

    def effects(self, b: Array) -> Effects:
        parts = [block.effects(b) for block in self._blocks]
        mean, variance, slopes = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Effects(mean, variance, slopes)


class _Nodes(NamedTuple):
    """Nodes of groups: positions and weighted log-likelihoods, (nodes, groups), and derivatives, (f, [f,] nodes, n)."""

    position: Array
    log_term: Array
    score: Array
    curvature: Array

    def chances(self) -> Array:
        """Posterior probabilities of the nodes, (nodes, groups)."""
        return np.asarray(np.exp(self.log_term - np.logaddexp.reduce(self.log_term, axis=0)))


class _Block:
    """Some of the groups, with rows sorted by group."""

    def __init__(self, likelihood: Likelihood, numbers: Integers, hermite: tuple[Array, Array]) -> None:
        self.likelihood, self.hermite = likelihood, hermite
        self.group = numbers - numbers[0]  # groups are numbered without gaps
        self.begins = np.flatnonzero(np.diff(numbers, prepend=-1))
        self.weight = likelihood.rows.weight
        self.listed = all(table is not None for table in likelihood.rows.tables)  # probabilities of all reports

    def summed(self, values: Array) -> Array:
        """Add up values of rows, (..., n), by group, (..., groups)."""
        return np.asarray(np.add.reduceat(values, self.begins, axis=-1))

    def _shift(self, spread: float, effect: Array) -> Array:
        return np.asarray(self.likelihood.family.latent_sign * spread * effect[self.group])

    def _information(self, eta: Array) -> Array:
        """Compute the expected information of each row about a shift of its predictors; else that of its own report."""
        if not self.listed:
            return np.asarray(self.likelihood.family.contributions(eta, self.likelihood.reports).score.sum(axis=0) ** 2)
        result = np.zeros(eta.shape[1])
        for rows, _, point in self.likelihood.of_all_reports(eta):
            result[rows] += np.exp(point.log_likelihood) * point.score.sum(axis=0) ** 2
        return result

    def modes(self, eta: Array, spread: float) -> tuple[Array, Array]:
        """Mode of each group's effect, in standard deviations, and the scale around it."""
        family, reports, sign = self.likelihood.family, self.likelihood.reports, self.likelihood.family.latent_sign

        def value(effect: Array) -> Array:
            logs = family.log_likelihood(eta + self._shift(spread, effect), reports)
            return np.asarray(self.summed(self.weight * logs) - effect**2 / 2)

        effect = np.zeros(len(self.begins))
        now = value(effect)
        for _ in range(MODE_STEPS):
            here = family.contributions(eta + self._shift(spread, effect), reports)
            slope = sign * spread * self.summed(self.weight * here.score.sum(axis=0)) - effect
            observed = spread**2 * self.summed(self.weight * here.curvature.sum(axis=(0, 1))) + 1
            step = slope / np.maximum(observed, 1.0)
            new = value(effect + step)
            for _ in range(HALVINGS):
                worse = ~(new >= now - WORSE * np.abs(now))
                if not worse.any():
                    break
                step = np.where(worse, step / 2, step)
                new = value(effect + step)
            better = new >= now - WORSE * np.abs(now)
            effect, now = effect + np.where(better, step, 0.0), np.where(better, new, now)
            if np.abs(np.where(better, step, 0.0)).max() < MODE_TOLERANCE:
                break
        information = self.summed(self.weight * self._information(eta + self._shift(spread, effect)))
        return effect, 1 / np.sqrt(spread**2 * information + 1)

    @cached_property
    def _repeated_reports(self) -> Array:
        return np.tile(self.likelihood.reports, (1, len(self.hermite[0])))

    def _nodes(self, b: Array) -> _Nodes:
        """Evaluate the likelihood of each group at nodes around the mode of its effect."""
        family, spread = self.likelihood.family, float(b[-1])
        eta = self.likelihood.predictors(b)
        mode, scale = self.modes(eta, spread)
        t, log_weight = self.hermite
        position = mode + scale * t[:, np.newaxis]
        moved = eta[:, np.newaxis] + family.latent_sign * spread * position[:, self.group]
        point = family.contributions(moved.reshape(len(eta), -1), self._repeated_reports)
        shape = moved.shape[1:]
        weighted = self.summed(self.weight * point.log_likelihood.reshape(shape)) - position**2 / 2
        log_term = weighted + log_weight[:, np.newaxis] + np.log(scale) - np.log(2 * np.pi) / 2
        score = family.latent_sign * point.score.reshape(len(eta), *shape)
        return _Nodes(position, log_term, score, point.curvature.reshape(len(eta), len(eta), *shape))

    def log_likelihoods(self, b: Array) -> Array:
        return np.asarray(np.logaddexp.reduce(self._nodes(b).log_term, axis=0))

    def _scores(self, nodes: _Nodes) -> Array:
        """Compute the derivatives of h in z at the nodes, (coefficients, nodes, groups)."""
        rows, sign = self.likelihood.rows, self.likelihood.family.latent_sign
        weighted = self.weight * nodes.score
        columns = [self.summed((sign * part) * rows.x.T[:, np.newaxis]) for part in weighted]
        assert self.likelihood.mapping is not None
        result = np.asarray(np.tensordot(self.likelihood.mapping.T, np.concatenate(columns), axes=1))
        result[-1] = nodes.position * self.summed(weighted.sum(axis=0))
        return result

    def expansion(self, b: Array) -> Expansion:
        nodes = self._nodes(b)
        totals, chances, size = np.logaddexp.reduce(nodes.log_term, axis=0), nodes.chances(), len(b)
        scores = self._scores(nodes)
        likely = chances * scores
        mean = likely.sum(axis=1)
        square = likely.reshape(size, -1) @ scores.reshape(size, -1).T
        curvature = (chances[:, self.group] * self.weight) * nodes.curvature
        position = nodes.position[:, self.group]
        moved = position * curvature.sum(axis=1)
        information = self.likelihood.assembled(curvature.sum(axis=2)) - square + mean @ mean.T
        along = moved.sum(axis=1) @ self.likelihood.rows.x
        cross = self.likelihood.family.latent_sign * self.likelihood.reduced(along)
        information[-1] += cross
        information[:, -1] += cross
        information[-1, -1] += float((moved.sum(axis=0) * position).sum())
        return Expansion(float(totals.sum()), mean.sum(axis=1), information)

    def effects(self, b: Array) -> Effects:
        nodes = self._nodes(b)
        chances = nodes.chances()
        mean = (chances * nodes.position).sum(axis=0)
        off = chances * (nodes.position - mean)
        slopes = (off * self._scores(nodes)).sum(axis=1)
        return Effects(mean, (off * (nodes.position - mean)).sum(axis=0), slopes[:-1].T)
