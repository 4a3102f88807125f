r"""Log-likelihood of coefficients, its derivatives, and three kinds of information.

Each of the f predictors of a family has a coefficient for each of the P columns: a matrix B, :math:`\eta_n = Bx_n`. The
coefficients b that are estimated enter by a linear map, :math:`\operatorname{vec} B = Rb`. Without it B is free; with
it, slopes can be the same for several predictors, as in models of ordered answers and of noncompliance.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.variance_floors import about_clusters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.arrays import Array, Integers
    from warner.regression.data import Observations
    from warner.regression.families import Contributions, Family
    from warner.reports.samples import Clusters


VANISHING_INFORMATION = 1e-100  # information below which there is none
COLUMN_NUMBERS_AT_ONCE = 2**16  # numbers of the columns that are worked on at a time
SLOPING_SHARE = 0.04  # the share, times the number of answers, below which the likelihood may have no slope


class Expansion(NamedTuple):
    """Log-likelihood at a point, its gradient, and the observed information."""

    value: float
    gradient: Array
    information: Array


class Likelihood:
    """Log-likelihood of the reports in some rows as a function of coefficients.

    With a `mapping` R, (f * P, coefficients), not all coefficients are free; each belongs to one column of the rows.
    Predictors may have an `offset`, (f, n).
    """

    rounding: float = 0.0  # nats by which values may differ from their derivatives

    def __init__(
        self, rows: Observations, family: Family, mapping: Array | None = None, offset: Array | None = None
    ) -> None:
        self.rows, self.family, self.mapping, self.offset = rows, family, mapping, offset
        # Transposed and contiguous: sums over rows are then products of matrices, and steps along memory.
        self.columns = np.ascontiguousarray(rows.x.T)
        self.reports = np.ascontiguousarray(rows.likelihood.T)

    def within(self, inside: Array) -> Likelihood:
        """Likelihood of a in b = T a, in which some coefficients are 0 or equal."""
        mapping = inside if self.mapping is None else self.mapping @ inside
        return Likelihood(self.rows, self.family, mapping, self.offset)

    @property
    def size(self) -> int:
        return self.family.predictors * len(self.columns) if self.mapping is None else int(self.mapping.shape[1])

    @property
    def total_weight(self) -> float:
        return float(self.rows.weight.sum())

    @property
    def longest_step(self) -> float:
        return self.family.longest_step

    @cached_property
    def scale(self) -> Array:
        """Root mean square of each coefficient's column: coefficient times scale is a predictor."""
        weight = self.rows.weight
        of_column = np.sqrt((self.columns**2 @ weight) / weight.sum())
        full = np.tile(of_column, self.family.predictors)
        return full if self.mapping is None else np.abs(self.mapping.T) @ full / np.abs(self.mapping).sum(axis=0)

    @cached_property
    def basis(self) -> Array:
        r"""Unit directions: :math:`R^{-1}`, with :math:`R'R` the mean squares and products of the columns."""
        weight = self.rows.weight / self.total_weight
        size = np.sqrt(self.columns**2 @ weight)
        columns = self.columns / size[:, np.newaxis]
        full = np.tile(size, self.family.predictors)
        gram = np.kron(np.eye(self.family.predictors), (columns * weight) @ columns.T) * np.outer(full, full)
        metric = self._squared(gram.astype(np.float64))
        lengths = np.sqrt(np.diagonal(metric))
        try:
            root = np.linalg.cholesky(metric / np.outer(lengths, lengths))
        except np.linalg.LinAlgError:  # columns that all but follow from others: each by itself
            return np.diag(1 / lengths)
        return np.asarray(np.linalg.inv(root).T / lengths[:, np.newaxis])

    def pulled_back(self, eta: Array) -> Array:
        """Predictors whose shares are bounded away from 0."""
        shares = np.maximum(self.family.shares(eta), SLOPING_SHARE / self.family.k)
        return self.family.predictors_of(shares / shares.sum(axis=0))

    def matrix(self, b: Array) -> Array:
        full = b if self.mapping is None else self.mapping @ b
        return np.asarray(full.reshape(self.family.predictors, -1))

    def coefficients(self, matrix: Array) -> Array:
        """Coefficients whose matrix B is nearest to a matrix."""
        if self.mapping is None:
            return matrix.ravel()
        return np.asarray(np.linalg.lstsq(self.mapping, matrix.ravel(), rcond=None)[0])

    def predictors(self, b: Array) -> Array:
        eta = self.matrix(b) @ self.columns
        return eta if self.offset is None else eta + self.offset

    def predictor_change(self, direction: Array) -> Array:
        return np.asarray(self.matrix(direction) @ self.columns)

    def value(self, b: Array) -> float:
        return float(self.rows.weight @ self.family.log_likelihood(self.predictors(b), self.reports))

    def expansion(self, b: Array) -> Expansion:
        """Log-likelihood, gradient and observed information, in blocks of rows that fit into the cache."""
        f, size = self.family.predictors, len(self.columns)
        value, gradient, information = 0.0, np.zeros((f, size)), np.zeros((f, size, f, size))
        matrix = self.matrix(b)
        for part in self._pieces():
            eta = matrix @ self.columns[:, part]
            if self.offset is not None:
                eta += self.offset[:, part]
            weight = self.rows.weight[part]
            point = self.family.contributions(eta, self.reports[:, part])
            value += float(weight @ point.log_likelihood)
            gradient += (weight * point.score) @ self.rows.x[part]
            self._add(information, weight * point.curvature, part)
        return Expansion(value, self.reduced(gradient), self._squared(information))

    def _pieces(self) -> list[slice]:
        step = max(256, COLUMN_NUMBERS_AT_ONCE // len(self.columns))
        return [slice(start, start + step) for start in range(0, len(self.rows.x), step)]

    def _add(self, information: Array, curvature: Array, part: slice) -> None:
        for k in range(self.family.predictors):  # with itself and all later ones at once
            blocks = (self.columns[:, part] * curvature[k, k:, np.newaxis]) @ self.rows.x[part]
            information[k, :, k:] += blocks.transpose(1, 0, 2)
            information[k + 1 :, :, k] += blocks[1:].transpose(0, 2, 1)

    def _squared(self, information: Array) -> Array:
        square = information.reshape(2 * (self.family.predictors * len(self.columns),))
        return square if self.mapping is None else np.asarray(self.mapping.T @ square @ self.mapping)

    def reduced(self, gradient: Array) -> Array:
        """Gradient in the coefficients, from the gradient in B."""
        return gradient.ravel() if self.mapping is None else np.asarray(gradient.ravel() @ self.mapping)

    def assembled(self, curvature: Array) -> Array:
        r""":math:`R' \left(\sum_n c_n \otimes x_n x_n'\right) R` for a matrix in the predictors of each row."""
        f, size = self.family.predictors, len(self.columns)
        information = np.zeros((f, size, f, size))
        for part in self._pieces():
            self._add(information, curvature[:, :, part], part)
        return self._squared(information)

    def scores(self, b: Array, clusters: Clusters | None = None) -> Array:
        """Compute the derivatives of each row's log-likelihood in the coefficients, unweighted, (n, coefficients).

        With `clusters`, without the means of clusters in the predictors.
        """
        score = self.family.contributions(self.predictors(b), self.reports).score
        if clusters is not None:
            score = about_clusters(clusters, self.rows.weight, score.T).T
        full = (score.T[:, :, np.newaxis] * self.rows.x[:, np.newaxis]).reshape(len(self.rows.x), -1)
        return full if self.mapping is None else np.asarray(full @ self.mapping)

    def of_all_reports(
        self, eta: Array, *, listed_only: bool = False
    ) -> Iterator[tuple[Integers, Array, Contributions]]:
        """Yield all reports that each row's design can give: rows, probabilities after each answer, and derivatives."""
        for number, table in enumerate(self.rows.tables):
            selected = np.flatnonzero(self.rows.design == number)
            if table is None and listed_only:
                continue
            if table is None:
                raise ValueError(
                    f"the expected information needs a design whose reports can be listed, but "
                    f"{self.rows.designs[number].summary()!r} has too many; use the observed one"
                )
            for column in table.T[table.any(axis=0)]:
                point = self.family.contributions(
                    eta[:, selected], np.repeat(column[:, np.newaxis], len(selected), axis=1)
                )
                yield selected, column, point

    def expected_curvature(self, b: Array) -> Array:
        r"""Compute each row's expected information in its predictors, (f, f, n): :math:`\sum_j \mu_j s_j s_j'`."""
        eta = self.predictors(b)
        result = np.zeros((self.family.predictors, *eta.shape))
        for selected, _, point in self.of_all_reports(eta):
            result[:, :, selected] += np.exp(point.log_likelihood) * point.score[:, np.newaxis] * point.score
        return result

    def device_curvature(self, b: Array) -> Array:
        """Covariances of each row's score in its predictors given the true answer, (f, f, n)."""
        eta = self.predictors(b)
        shares, result = self.family.shares(eta), np.zeros((self.family.predictors, *eta.shape))
        means = np.zeros((len(shares), *eta.shape))  # of each true answer
        for selected, column, point in self.of_all_reports(eta, listed_only=True):  # else the noise is not known
            result[:, :, selected] += np.exp(point.log_likelihood) * point.score[:, np.newaxis] * point.score
            means[:, :, selected] += column[:, np.newaxis, np.newaxis] * point.score
        for share, mean in zip(shares, means, strict=True):
            result -= share * mean[:, np.newaxis] * mean
        return result

    def expected(self, b: Array) -> Array:
        return self.assembled(self.rows.weight * self.expected_curvature(b))

    def outer_curvature(self, b: Array) -> Array:
        score = self.family.contributions(self.predictors(b), self.reports).score
        return np.asarray(score[:, np.newaxis] * score)

    def outer(self, b: Array) -> Array:
        return self.assembled(self.rows.weight * self.outer_curvature(b))

    def effective(self, b: Array) -> float:
        """Compute the number of direct answers with the same information, averaged over the predictors.

        Where reports cannot be listed, the outer product of the score replaces the expected information.
        """
        together = self._moved_together()
        direct, report = (together.T @ information @ together for information in self.row_information(b))
        # Where a share has come to 0 or 1, a report says nothing even against the little that an answer would say.
        uninformative = np.trace(direct, axis1=1, axis2=2) < VANISHING_INFORMATION
        direct[uninformative], report[uninformative] = np.eye(together.shape[1]), 0.0
        ratio = np.trace(np.linalg.pinv(direct, hermitian=True) @ report, axis1=1, axis2=2) / together.shape[1]
        return float(self.rows.weight @ ratio)

    def row_information(self, b: Array) -> tuple[Array, Array]:
        """Compute the information of a direct answer and of a report about each row's predictors, (n, f, f)."""
        eta = self.predictors(b)
        shares = np.maximum(self.family.shares(eta), np.finfo(float).tiny)
        rooted = self.family.slopes(eta) / np.sqrt(shares)[:, np.newaxis]
        direct = np.einsum("kfn,kgn->nfg", rooted, rooted)
        listed = all(table is not None for table in self.rows.tables)
        report = self.expected_curvature(b) if listed else self.outer_curvature(b)
        return direct, report.transpose(2, 0, 1)

    def _moved_together(self) -> Array:
        """Return indicators, (f, groups), of predictors that are always equal, as those of merged cutpoints."""
        if self.mapping is None:
            return np.eye(self.family.predictors)
        _, group = np.unique(self.mapping.reshape(self.family.predictors, -1), axis=0, return_inverse=True)
        return np.eye(int(group.max()) + 1)[group.ravel()]


class ModifiedLikelihood:
    """Likelihood with a constraint or an added term, which subclasses define."""

    def __init__(self, likelihood: Likelihood) -> None:
        self.likelihood, self.total_weight = likelihood, likelihood.total_weight
        self.longest_step, self.rounding = likelihood.longest_step, likelihood.rounding
        self.pulled_back = likelihood.pulled_back
