"""The likelihood of shares, and the certificate: of one design, of a bare operator, of several designs together.

It tests reports/counts.py as well.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from strategies import channels, surveys
from tables import log_likelihood, random_channel
from warner import Channel, RandomizedResponse, certificate, channel_mle, mle
from warner.estimators.likelihood import combined_channel, evidence
from warner.reports.counts import as_histograms

SURVEY = RandomizedResponse(3, epsilon=1)


# The certificate


@given(survey=st.one_of(surveys(), surveys(inverted=True)))
def test_mle_is_certified(survey: tuple[list[int], RandomizedResponse]) -> None:
    counts, design = survey
    shares = mle(counts, design)
    found = certificate(shares, counts, design)
    # A share is off by half a unit of its last place. With p < q its reports, q - (q-p) share, can be far fewer than
    # q, and feel that more.
    reported = min((design.q + (design.p - design.q) * shares)[np.array(counts) > 0])
    tolerance = 1e-12 + 2.0**-52 * max(design.p, design.q) / reported
    assert found.excess <= tolerance
    assert found.gap <= tolerance * sum(counts)


@given(survey=st.one_of(surveys(), surveys(inverted=True)), data=st.data())
def test_the_gap_bounds_what_any_distribution_could_gain(
    survey: tuple[list[int], RandomizedResponse], data: st.DataObject
) -> None:
    counts, design = survey
    weights = data.draw(st.lists(st.integers(1, 20), min_size=design.k, max_size=design.k))
    shares = np.array(weights) / sum(weights)
    bound = certificate(shares, counts, design)
    gained = log_likelihood(mle(counts, design), counts, design) - log_likelihood(shares, counts, design)
    assert gained <= bound.gap + 1e-9 * sum(counts)
    exact = max(oracle.growth([Fraction(w, sum(weights)) for w in weights], counts, design))
    assert bound.excess == pytest.approx(float(exact - 1), abs=1e-13, rel=1e-9)
    assert bound.gap == pytest.approx(sum(counts) * math.log(exact), abs=1e-13 * sum(counts), rel=1e-9)


def test_a_sum_a_hair_above_one_does_not_pass_for_a_better_fit() -> None:
    counts = np.array([4, 6, 8]) * 10**13
    nudged = mle(counts, SURVEY) + np.array([3e-10, -3e-10, 0])
    honest = certificate(nudged / nudged.sum(), counts, SURVEY)
    assert honest.gap > 1000
    inflated = certificate(nudged * (1 + 9e-10), counts, SURVEY)
    assert inflated.gap == pytest.approx(honest.gap, rel=1e-3)


def test_certificates_of_a_batch() -> None:
    counts = np.array([[50, 30, 20], [5, 90, 5], [0, 0, 7]])
    shares = mle(counts, SURVEY)
    shares[1] = [0.2, 0.6, 0.2]
    found = certificate(shares, counts, SURVEY)
    one_by_one = [certificate(s, c, SURVEY) for s, c in zip(shares, counts, strict=True)]
    assert_array_equal(found.excess, [one.excess for one in one_by_one])
    assert_array_equal(found.gap, [one.gap for one in one_by_one])
    assert_array_equal(np.asarray(found.excess) < 1e-12, [True, False, True])


def test_ruling_out_what_was_reported_costs_everything() -> None:
    honest = RandomizedResponse(2, odds=(1, 0))
    assert certificate([1, 0], [3, 1], honest).gap == math.inf
    assert certificate([0.75, 0.25], [3, 1], honest).excess == 0
    assert certificate([1, 0], [3, 0], honest).excess == 0


def test_the_one_case_where_the_maximum_is_not_unique() -> None:
    inverted = RandomizedResponse(4, odds=(1, 3))
    assert_array_equal(mle([0, 0, 5, 9], inverted), [0.5, 0.5, 0, 0])
    assert not certificate([0.5, 0.5, 0, 0], [0, 0, 5, 9], inverted).unique
    assert certificate([0.1, 0.9, 0, 0], [0, 0, 5, 9], inverted).excess <= 1e-12  # as likely
    assert certificate([1, 0, 0, 0], [0, 4, 5, 9], inverted).unique
    assert certificate(
        mle([0, 0, 5, 9], RandomizedResponse(4, epsilon=1)), [0, 0, 5, 9], RandomizedResponse(4, epsilon=1)
    ).unique


@pytest.mark.parametrize(
    ("shares", "complaint"),
    [
        ([0.5, 0.5], "must have the shape of counts"),
        ([1.2, -0.2, 0], "smallest entry is -0.2"),
        ([0.5, 0.2, 0.2], "a sum is 0.9"),
        ([0.5, float("nan"), 0.5], "must be distributions"),
    ],
)
def test_only_distributions_can_be_certified(shares: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        certificate(shares, [1, 2, 3], SURVEY)


@given(seed=st.integers(0, 10**6), inputs=st.integers(2, 8), outputs=st.integers(2, 8))
def test_the_gap_bounds_what_any_distribution_could_gain_under_any_channel(
    seed: int, inputs: int, outputs: int
) -> None:
    rng = np.random.default_rng(seed)
    design = random_channel(rng, inputs, outputs, rng.choice([0.2, 1.0, 5.0]))
    counts = rng.multinomial(rng.integers(1, 1000), rng.dirichlet(np.ones(outputs))) * (
        design.channel().max(axis=0) > 0
    )
    if not counts.sum() or design.epsilon == 0:
        return
    shares, other = rng.dirichlet(np.full(inputs, 0.5), 2)
    n = counts.sum()
    fit = channel_mle(counts, design)
    best = log_likelihood(fit.shares, counts, design)
    # The solver's own answer is the best there is, up to rounding, and the bound of 3.1 holds everywhere.
    assert fit.gap <= 1e-9 * n
    for point in (shares, other, (shares + other) / 2):
        bound = certificate(point, counts, design)
        gained = best - log_likelihood(point, counts, design)
        assert -1e-9 * n <= gained <= bound.gap + 1e-9 * n
    matrix = design.channel()
    seen = counts > 0
    ratio = counts[seen] / n / (shares @ matrix[:, seen])
    assert certificate(shares, counts, design).excess == pytest.approx((matrix[:, seen] @ ratio).max() - 1, rel=1e-9)


# Several designs together


@given(channels(3, 4), channels(3, 3), st.tuples(st.integers(1, 9), st.integers(1, 9)), st.integers(0, 10**6))
def test_designs_that_are_joined_are_one_channel_with_all_their_columns(
    first: Channel, second: Channel, odds: tuple[int, int], seed: int
) -> None:
    if first.k != second.k:
        return
    response = RandomizedResponse(first.k, odds=odds)
    designs: list[Any] = [first, response, second]
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 9, (2, len(design.law.columns))) + 1 for design in designs]
    parts = [(design, as_histograms(row, row.shape[1])) for design, row in zip(designs, rows, strict=True)]
    operator, counts, n = combined_channel(parts)
    matrix = np.hstack([design.channel() for design in designs])
    assert operator.shape == matrix.shape
    assert operator.matrix is not None
    assert_allclose(operator.matrix(), matrix, atol=1e-15)
    shares, weights = rng.dirichlet(np.ones(first.k), 2), rng.random((2, matrix.shape[1]))
    assert_allclose(operator.forward(shares), shares @ matrix, atol=1e-14)
    assert_allclose(operator.adjoint(weights), weights @ matrix.T, atol=1e-14)
    assert_array_equal(counts, np.hstack(rows))
    assert_array_equal(n, np.hstack(rows).sum(axis=1))


def test_the_evidence_of_several_designs_is_that_of_their_joint_channel() -> None:
    rng = np.random.default_rng(8)
    designs: list[Any] = [random_channel(rng, 4, 6), RandomizedResponse(4, odds=(5, 1)), random_channel(rng, 4, 3)]
    rows = [rng.integers(1, 50, (3, len(design.law.columns))) for design in designs]
    parts = [(design, as_histograms(row, row.shape[1])) for design, row in zip(designs, rows, strict=True)]
    shares = rng.dirichlet(np.ones(4), 3)
    found = evidence(shares, parts, valid=True)
    assert found.certificate is not None
    operator, counts, _ = combined_channel(parts)
    for group in range(3):
        alone = sum(
            log_likelihood(shares[group], row[group], design) for design, row in zip(designs, rows, strict=True)
        )
        assert found.log_likelihood[group] == pytest.approx(alone, rel=1e-12)
        bare = certificate(shares[group], counts[group], operator)
        assert found.certificate.gap[group] == pytest.approx(bare.gap, rel=1e-9)
        # No distribution gains more than the gap.
        best = channel_mle(counts[group], operator).shares
        gained = (
            sum(log_likelihood(best, row[group], design) for design, row in zip(designs, rows, strict=True)) - alone
        )
        assert -1e-9 <= gained <= found.certificate.gap[group]
    assert evidence(shares, parts, valid=False).certificate is None


def test_an_operator_is_known_by_its_products_alone() -> None:
    design = random_channel(np.random.default_rng(1), 3, 4)
    operator = design.law.likelihood()
    assert operator.law.likelihood() is operator
    assert (operator.law.k, operator.law.columns, operator.law.symmetry, operator.law.exclusive) == (
        3,
        range(4),
        None,
        True,
    )
    assert np.all(np.asarray(operator.law.bounds().most) > 0)
    with pytest.raises(ValueError, match=r"shares must have the shape of counts, \(2, 3\), but got \(3,\)"):
        certificate([0.2, 0.3, 0.5], np.ones((2, 4)), operator)
    shares, counts = np.random.default_rng(2).dirichlet(np.ones(3), (2, 2)), np.ones((2, 2, 4))
    batch = certificate(shares, counts, operator)
    assert batch.gap.shape == (2, 2)
    assert batch.gap[1, 0] == pytest.approx(certificate(shares[1, 0], counts[1, 0], design).gap)
