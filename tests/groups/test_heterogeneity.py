"""Cochran's Q and the Q-profile interval: published, exact, and at their level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, chi2_contingency

from cases import COIN, PAIRS, THREE
from groups.test_fay_herriot import bcg, direct_of, ones
from references import reference
from warner import Tally
from warner.groups.direct_estimates import direct_estimates
from warner.groups.heterogeneity import cochran_q, q_profile, squared_correlations, summed_cochran_test

REFERENCE = reference("groups")


def test_the_bcg_trials_have_the_published_q_and_interval() -> None:
    """Viechtbauer 2010: Q = 152.2330 on 12; the variance from 0.1197 to 1.1115."""
    direct, published = bcg(), REFERENCE["published_meta_analysis"]
    q = cochran_q(direct, ones(direct))
    assert (round(q.statistic, 3), q.freedom) == (published["Q"], published["df"])
    low, high = q_profile(direct, ones(direct), 0.95, limit=3.0)
    assert [round(low**2, 4), round(high**2, 4)] == published["q_profile_variance_95"]


def test_q_is_pearsons_statistic_where_the_design_is_one() -> None:
    """With one design for all groups, Q is the chi-squared statistic of the table of reports."""
    counts, trials = np.array([38, 45, 52, 41, 60, 47]), np.array([100, 90, 110, 80, 100, 75])
    direct = direct_of(counts, trials)
    pearson = chi2_contingency(np.stack([counts, trials - counts], axis=1), correction=False)
    q = cochran_q(direct, ones(direct))
    assert_allclose(q.statistic, pearson.statistic, rtol=1e-9)
    assert_allclose(q.p_value, pearson.pvalue, rtol=1e-9)


def test_eight_regions_as_the_prototype_has_them() -> None:
    example = REFERENCE["groups"]
    direct = direct_of(example["count"], example["trials"])
    assert_allclose(q_profile(direct, ones(direct), 0.95), example["spread_95_q_profile"], atol=1e-5)
    assert_allclose(cochran_q(direct, ones(direct)).statistic, example["Q"]["statistic"], rtol=1e-9)


def test_the_interval_leaves_out_zero_where_the_doubled_tail_is_small() -> None:
    for counts in ([38, 45, 52, 41, 60], [30, 45, 52, 41, 70], [38, 45, 42, 41, 50]):
        direct = direct_of(counts, [100] * 5)
        doubled = 2 * cochran_q(direct, ones(direct)).p_value
        for level in (0.5, 0.9, 0.95, 0.99):
            assert (q_profile(direct, ones(direct), level)[0] > 0) == (doubled < 1 - level)


def tally_of(design: Any, counts: Any, n: Any) -> Any:
    return Tally(design, counts, n=n, by=("g",), groups=tuple((i,) for i in range(len(counts))))


def test_correlations_are_those_of_the_design() -> None:
    """Two opposite readings of one share are fully correlated: the squared correlations of two answers sum to 4."""
    tally = tally_of(COIN, [[40, 60], [45, 55]], [100, 100])
    found = squared_correlations(tally, [0, 1], np.array([0.3, 0.7]), np.random.default_rng(0))
    assert_allclose(found, 4, atol=0.01)


@pytest.mark.parametrize("design", [THREE, PAIRS], ids=repr)
def test_the_test_of_all_answers_holds_its_level(design: Any) -> None:
    """Groups that are alike: p-values are about uniform."""
    rng = np.random.default_rng(11)
    shares, groups, n = np.arange(1.0, design.k + 1), 12, 40
    shares /= shares.sum()
    rejected, runs, squared = 0, 150, 0.0
    for _ in range(runs):
        tally = tally_of(design, design.simulate(shares, n, rng=rng, size=groups), np.full(groups, n))
        squared = squared or squared_correlations(tally, list(range(design.k)), shares, rng)
        rejected += summed_cochran_test(direct_estimates(tally), np.ones((groups, 1)), squared).p_value <= 0.2
    # Binomial with 150 trials and probability 0.2: mean 30, standard deviation 4.9; four of them on either side.
    assert 10 <= rejected <= 50


def test_the_tail_is_that_of_chi_squared() -> None:
    direct = direct_of([38, 45, 52], [100] * 3)
    q = cochran_q(direct, ones(direct))
    assert_allclose(q.p_value, chi2.sf(q.statistic, 2), rtol=1e-12)
