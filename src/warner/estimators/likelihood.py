r"""Likelihood of shares, and the certificate of the maximum-likelihood estimate.

With :math:`g_i = \sum_j \phi_j C_{ij} / \mu_j` and :math:`\mu_j = \sum_i \theta_i C_{ij}`, no distribution has a
log-likelihood that exceeds that of :math:`\theta` by more than :math:`N \ln \max_i g_i` nats for the whole sample
(docs/theory/estimators.md has the proof). So one product with the channel and one with its adjoint bound the distance
of any shares from the maximum, in likelihood. Reports of several designs are one channel with the columns of all of
them (`combined_channel`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from warner.arrays import SMALLEST, Array, Counts, Mask, PerGroup
from warner.designs.facts import ChannelOperator, Symmetry, full_symmetry
from warner.estimators.projections import SUM_ROUNDING
from warner.metrics import log_likelihood_per_report
from warner.reports.counts import LONG_ROW, Block, Histograms, multinomial
from warner.text import rounded_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from warner.designs.contract import Design

# Collections of the same groups: each a design with checked counts of shape (groups, columns).
Parts: TypeAlias = "Sequence[tuple[Design, Histograms]]"
Channels: TypeAlias = "Sequence[tuple[Design | ChannelOperator, Histograms]]"  # the same, of bare channels as well

ANSWERS_FACTORIZED = 3000  # answers; beyond, a Cholesky factor for each step is slower than many updates
NEGLIGIBLE_GAP = 0.01  # nats of the whole sample, below which a gap is of no statistical consequence
EXCESS_ROUNDING = 1e-12  # an excess of the largest g over 1 that is rounding
RANK_CELLS = 2**22  # of a matrix whose rank costs no more than the fit


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of an iterative estimate.

    Attributes
    ----------
    shares : ndarray of shape (k,)
        The last iterate.
    gap : float
        A proven bound on the distance from the maximum of the log-likelihood, in nats for the whole sample. It exceeds
        the requested gap if the iteration ran out of steps.
    steps : int
        Number of updates made; for `channel_mle` of Newton steps and of passes, each of two products with the channel.
    history : ndarray
        The gap before each update, and after the last (`channel_mle`: at each point that it kept).
    unique : bool
        Whether the maximum is known to be the only one; see `Certificate`.
    log_likelihood : float
        Of the last iterate, in nats for the whole sample, without the multinomial coefficient.
    excess : float
        The largest g at the last iterate, minus 1; see `Certificate`.
    """

    shares: Array
    gap: float
    steps: int
    history: Array
    unique: bool
    log_likelihood: float
    excess: float


@dataclass(frozen=True, eq=False)
class Certificate:
    """Distance of shares from the maximum of the likelihood.

    Attributes
    ----------
    excess : float or ndarray
        The largest g minus 1. Zero, up to rounding, exactly at the maximum; 1e-12 is a pass for a
        closed form. An iteration ends where the gap is small enough.
    gap : float or ndarray
        A proven bound on the distance from the maximum of the log-likelihood, in nats for the whole sample.
        Below 0.01 it is of no statistical consequence.
    unique : bool or ndarray
        Whether the maximum is known to be unique. For randomized response it is, unless p < q and several answers were
        never reported. For any other design it is if the rows of the answers with a share at a maximum are linearly
        independent on the observed reports; otherwise compare fits, not shares. For a channel that is too large for a
        matrix it is known if these rows are few.
    """

    excess: PerGroup
    gap: PerGroup
    unique: PerGroup


CERTIFICATE_FIELDS = ("excess", "gap", "unique")  # what a certificate holds of each group


def shortfall(proof: Certificate | None) -> str:
    """Return a warning if shares fall short of the maximum of the likelihood; empty otherwise."""
    if proof is None:
        return ""
    # Of very many reports, rounding has a gap.
    gaps = np.atleast_1d(proof.gap)[np.atleast_1d(proof.excess) > EXCESS_ROUNDING]
    if not (gaps > NEGLIGIBLE_GAP).any():
        return ""
    most = rounded_up(float(gaps.max()), 2)
    return f"the search for the most likely shares ended early: others may be more likely, by up to {most} nats"


def certificate(shares: ArrayLike, counts: ArrayLike, design: Design | ChannelOperator) -> Certificate:
    """Verify that shares are the maximum-likelihood estimate.

    Parameters
    ----------
    shares : array_like of shape (..., k)
        Distributions: no entry below zero, sums of one.
    counts : array_like of shape (..., k)
        The reports that they were estimated from; for a channel, one count for each output.
    design : Design or ChannelOperator
        Design of the reports.

    Examples
    --------
    The most likely shares pass. With a twentieth moved from one answer to the other the largest g is
    0.25 (0.40/0.375 + 0.60/0.625) + 0.5 (0.40/0.375) = 1.04, so the loss is at most 100 ln 1.04 = 3.92 nats.

    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> certificate([0.30, 0.70], [40, 60], survey).excess < 1e-12
    True
    >>> f"{certificate([0.25, 0.75], [40, 60], survey).gap:.2f}"
    '3.92'
    """
    histograms = multinomial(counts, design)
    theta = np.asarray(shares, dtype=np.float64)
    shape = (*histograms.n.shape, design.law.k)
    if theta.shape != shape:
        raise ValueError(f"shares must have the shape of counts, {shape}, but got {theta.shape}")
    sums = theta.sum(axis=-1)
    if not (theta >= 0).all() or not (np.abs(sums - 1) <= SUM_ROUNDING).all():
        raise ValueError(
            f"shares must be distributions, but the smallest entry is {theta.min():.3g} and a sum is "
            f"{sums.flat[np.abs(sums - 1).argmax()]:.12g}; estimates of inv have no certificate"
        )
    flat = histograms.rows()
    proof = _proof(theta.reshape(-1, design.law.k), [(design, flat)])
    if histograms.n.ndim == 0:
        return Certificate(*(getattr(proof, name).item() for name in CERTIFICATE_FIELDS))
    return Certificate(*(getattr(proof, name).reshape(histograms.n.shape) for name in CERTIFICATE_FIELDS))


class Evidence(NamedTuple):
    """Log-likelihood of shares, (groups,), and their certificate; None if they are not a distribution."""

    log_likelihood: Array
    certificate: Certificate | None


def evidence(shares: Array, parts: Channels, *, valid: bool, by_level: Array | None = None) -> Evidence:
    """Compute log-likelihood and certificate of shares of shape (groups, k), which are distributions if `valid`.

    One forward and one adjoint product; of many answers of a symmetric design, from the shares `by_level`.
    """
    design, histograms = parts[0]
    symmetry = full_symmetry(design.law)
    if by_level is not None and symmetry is not None and shares.size > LONG_ROW:
        return _evidence_by_count(by_level, histograms, symmetry, valid=valid)
    fits = sum(counts.n * log_likelihood_per_report(shares, counts.counts, counts.n, part) for part, counts in parts)
    return Evidence(np.asarray(fits, dtype=np.float64), _proof(shares, parts) if valid else None)


def _proof(shares: Array, parts: Channels) -> Certificate:
    # Divided by the sums: a sum a hair above one would pass for a likelihood that no distribution has.
    theta = shares / shares.sum(axis=-1, keepdims=True)
    design, histograms = parts[0]
    symmetry = full_symmetry(design.law)
    if len(parts) == 1 and symmetry is not None:
        growth = _largest_growth(histograms.counts, theta, histograms.n, symmetry)
        unique = unique_among(np.count_nonzero(histograms.counts == 0, axis=-1), symmetry)
        return certified(growth, histograms.n, unique)
    operator, counts, n = combined_channel(parts)
    matrix = operator.matrix() if operator.matrix is not None and design.law.k <= ANSWERS_FACTORIZED else None
    growth, unique = np.empty(len(theta)), np.zeros(len(theta), dtype=bool)
    for group, row in enumerate(theta):
        observed = counts[group] / n[group]
        expected = operator.forward(row)
        growths = operator.adjoint(observed / np.maximum(expected, SMALLEST))
        seen = observed > 0
        # Reported, though these shares rule it out: everything is to be gained.
        growth[group] = np.inf if (expected[seen] <= 0).any() else growths.max()
        if np.isfinite(growth[group]) and matrix is not None:
            unique[group] = unique_maximum(matrix[:, seen], observed[seen], expected[seen], growths)
        elif np.isfinite(growth[group]):
            unique[group] = unique_by_products(operator, observed, expected, growths)
    return certified(growth, n, unique)


def certified(growth: Array, n: Counts, unique: Mask) -> Certificate:
    """Return the certificate that the largest g implies."""
    return Certificate(growth - 1, n * np.log(np.maximum(growth, 1)), unique)


def combined_channel(parts: Channels) -> tuple[ChannelOperator, Counts, Counts]:
    """Combine the channels of several collections: one operator, all counts, all numbers of reports."""
    blocks = [block for design, histograms in parts for block in histograms.blocks(design.law)]
    operators, amounts = zip(*blocks, strict=True)
    n = np.sum([histograms.n for _, histograms in parts], axis=0)
    if len(operators) == 1:
        return operators[0], amounts[0], n
    ends = np.cumsum([operator.shape[1] for operator in operators])
    matrices, curvatures = ([getattr(operator, name) for operator in operators] for name in ("matrix", "squares"))

    def forward(theta: Array) -> Array:
        return np.concatenate([operator.forward(theta) for operator in operators], axis=-1)

    def added(products: Sequence[Callable[[Array], Array]], weights: Array) -> Array:
        pieces = zip(products, np.split(weights, ends[:-1], axis=-1), strict=True)
        return np.asarray(sum(product(piece) for product, piece in pieces))

    shape = (operators[0].shape[0], int(ends[-1]))
    adjoint = partial(added, [operator.adjoint for operator in operators])
    dense = (lambda: np.hstack([table() for table in matrices])) if all(matrices) else None
    squares = partial(added, curvatures) if all(curvatures) else None
    return ChannelOperator(shape, forward, adjoint, dense, squares), np.concatenate(amounts, axis=-1), n


def closed_form(design: Design | ChannelOperator) -> Symmetry | None:
    """Return the symmetry if the likelihood of counts is a sum over answers; None otherwise."""
    return full_symmetry(design.law) if design.law.exclusive else None


class Whole:
    """Reports of one group, as blocks that can be iterated over repeatedly; blocks of files are read anew."""

    def __init__(self, parts: Channels) -> None:
        self.parts = parts
        streamed = any(histogram.streamed(design.law) for design, histogram in parts)
        self.prepared = None if streamed else list(self._blocks())

    def __iter__(self) -> Iterator[Block]:
        return self._blocks() if self.prepared is None else iter(self.prepared)

    def _blocks(self) -> Iterator[Block]:
        return (block for design, histogram in self.parts for block in histogram.blocks(design.law))


# Symmetric designs


def unique_among(zeros: Counts, symmetry: Symmetry) -> Mask:
    """Return True if the maximum is unique: unless p < q and several answers were never reported."""
    return np.asarray((zeros <= 1) | (symmetry.p > symmetry.q))


def _largest_growth(
    counts: Counts, shares: Array, n: Counts, symmetry: Symmetry, repeats: Counts | None = None
) -> Array:
    """Return the largest g; with `repeats`, of distinct counts with these frequencies."""
    q, gain = symmetry.base, symmetry.gain
    expected = shares * gain
    expected += q
    impossible = ((counts > 0) & (expected <= 0)).any(axis=-1) if not (expected > 0).all() else np.False_
    expected *= np.asarray(n)[..., np.newaxis]
    ratio = np.divide(counts, np.maximum(expected, SMALLEST, out=expected), out=expected)
    together = ratio.sum(axis=-1) if repeats is None else repeats @ ratio
    growth = q * together + gain * (ratio.max(axis=-1) if gain > 0 else ratio.min(axis=-1))
    # Reported, though these shares rule it out: everything is to be gained.
    return np.where(impossible, np.inf, growth)


def _evidence_by_count(share: Array, histogram: Histograms, symmetry: Symmetry, *, valid: bool) -> Evidence:
    """Compute log-likelihood and certificate from the shares of the distinct counts."""
    values, repeats = histogram.distinct.values, histogram.distinct.repeats
    n = repeats @ values
    fit = np.nan
    if share.min() >= 0:
        fit = float((repeats * values) @ np.log(np.maximum(symmetry.base + symmetry.gain * share, SMALLEST)))
    if not valid:
        return Evidence(np.array([fit]), None)
    growth = _largest_growth(values, share / (repeats @ share), n, symmetry, repeats)
    unique = unique_among(np.asarray(repeats[values == 0].sum()), symmetry)
    return Evidence(np.array([fit]), certified(np.atleast_1d(growth), np.atleast_1d(n), np.atleast_1d(unique)))


# Any matrix


def unique_maximum(matrix: Array, observed: Array, expected: Array, growth: Array) -> bool:
    """Return True if the rows of all answers with g = 1, which may have a share, are linearly independent."""
    curvature = (matrix * matrix) @ (observed / expected**2)
    return _independent(matrix[_may_have_a_share(growth, curvature)])


def unique_by_products(operator: ChannelOperator, observed: Array, expected: Array, growth: Array) -> bool:
    """Test linear independence by products with the channel, if few answers may have a share; False otherwise."""
    seen = observed > 0
    weights = np.where(seen, observed, 0) / np.where(seen, expected, 1) ** 2
    # No probability exceeds one, so that C^2 <= C: this allows for more answers than need be.
    members = np.flatnonzero(_may_have_a_share(growth, np.maximum(operator.adjoint(weights), 0)))
    if members.size > ANSWERS_FACTORIZED or members.size * operator.shape[1] > RANK_CELLS:
        return False
    vertices = np.zeros((members.size, operator.shape[0]))
    vertices[np.arange(members.size), members] = 1
    return _independent(operator.forward(vertices)[:, seen])


def _may_have_a_share(growth: Array, curvature: Array) -> Mask:
    """Return the answers that can have a share at the maximum, from nearly most likely shares.

    From an excess e of the largest g, no g changes by more than about sqrt(2 e) times the root of its curvature.
    """
    excess = max(float(growth.max()) - 1, 0.0)
    return np.asarray(growth >= 1 - 1e-9 - 2 * math.sqrt(2 * excess) * np.sqrt(curvature))


def _independent(rows: Array) -> bool:
    if len(rows) > rows.shape[1]:
        return False
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    gram = rows @ rows.T
    try:
        pivots = np.diagonal(np.linalg.cholesky(gram))
    except np.linalg.LinAlgError:
        pivots = np.zeros(1)
    # Pivots are distances from the preceding rows; singular values distinguish small ones from rounding.
    return bool(pivots.min() > 1e-5 or np.linalg.matrix_rank(rows) == len(rows))
