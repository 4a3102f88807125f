"""One price for several randomized responses of different strengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import warner
from warner import Channel, RandomizedResponse, Tally, channel_mle, estimate, pool
from warner.estimators.maximum_likelihood import most_likely, separable_mle
from warner.reports.counts import as_histograms

pytestmark = pytest.mark.filterwarnings("ignore:the reports do not seem to fit:UserWarning")  # made-up counts

STRENGTHS = st.lists(st.sampled_from([(2, 1), (5, 1), (40, 1), (1, 3), (1, 20)]), min_size=1, max_size=4)


@given(st.integers(2, 30), st.sampled_from([(2, 1), (30, 1), (5, 4)]), st.integers(0, 10**6))
def test_one_response_alone_is_the_closed_form(k: int, odds: tuple[int, int], seed: int) -> None:
    design = RandomizedResponse(k, odds=odds)
    counts = np.random.default_rng(seed).poisson(5, k)
    if counts.sum():
        found = separable_mle(counts[np.newaxis].astype(float), np.array([odds[0] / odds[1] - 1]))
        assert_allclose(found, warner.mle(counts, design), atol=1e-12)


@given(st.integers(2, 12), st.lists(st.integers(2, 60), min_size=2, max_size=4, unique=True), st.integers(0, 10**6))
def test_at_the_maximum_every_held_share_has_the_same_slope(k: int, odds: list[int], seed: int) -> None:
    # Straight from the definition: f'(theta) = sum c E / (1 + E theta) is one price, and below it where theta is 0.
    counts = np.random.default_rng(seed).poisson(4, (len(odds), k)).astype(float)
    if not counts.sum():
        return
    gains = np.array(odds)[:, np.newaxis] - 1.0
    shares = separable_mle(counts, gains[:, 0])
    slopes = (counts * gains / (1 + gains * shares)).sum(axis=0)
    price = slopes[shares > 0].max()
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    assert (shares >= 0).all()
    assert_allclose(slopes[shares > 1e-9], price, rtol=1e-9)
    assert (slopes <= price * (1 + 1e-9)).all()


@given(STRENGTHS, st.integers(2, 8), st.integers(0, 10**6))
def test_pooled_responses_have_their_certificate(odds: list[tuple[int, int]], k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tallies = [Tally(RandomizedResponse(k, odds=one), rng.poisson(6, k) + 1) for one in odds]
    together = pool(tallies)
    found = estimate(together)
    assert found.certificate is not None
    assert found.certificate.excess <= 1e-12
    if len(set(odds)) > 1:
        sizes = np.array([part.n for part in together.parts])
        # All columns beside each other, each part with the share of reports that it has, are one channel.
        table = np.hstack([part.design.channel() * n for part, n in zip(together.parts, sizes, strict=True)])  # type: ignore[attr-defined]
        counts = np.concatenate([part.counts for part in together.parts])
        dense = channel_mle(counts, Channel(table / sizes.sum(), k, table.shape[1]))
        assert_allclose(found.shares, dense.shares, atol=1e-6)


@given(STRENGTHS.filter(lambda odds: len(set(odds)) > 1), st.integers(2, 5), st.integers(0, 10**6))
def test_answers_that_were_reported_in_no_part_are_pooled(odds: list[tuple[int, int]], k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tallies = [Tally(RandomizedResponse(k, odds=one), rng.poisson(0.8, k)) for one in sorted(set(odds))]
    together = pool(tallies)
    if together.n:
        proof = estimate(together).certificate
        assert proof is not None
        assert proof.excess <= 1e-9


def test_a_fit_by_one_price_carries_its_evidence() -> None:
    designs = [RandomizedResponse(3, odds=odds) for odds in ((3, 1), (9, 1))]
    rows = np.array([[40, 30, 30], [60, 25, 15]])
    parts = [(design, as_histograms(row, 3)) for design, row in zip(designs, rows, strict=True)]
    fit = most_likely(parts)
    assert fit.steps == 0
    assert fit.unique
    assert fit.excess <= 1e-12
    assert fit.gap == fit.history[-1] <= 1e-9
    told = sum(c @ np.log(d.q + (d.p - d.q) * fit.shares) for c, d in zip(rows, designs, strict=True))
    assert fit.log_likelihood == pytest.approx(told, rel=1e-12)
