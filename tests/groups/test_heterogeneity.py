"""The exact test of groups that are alike, Cochran's Q and the Q-profile interval: published, and at their level."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, chi2, chi2_contingency

from cases import COIN, PAIRS, THREE
from groups.test_fay_herriot import bcg, direct_of, ones
from references import reference
from warner import RandomizedResponse, Tally, estimate_groups, pool
from warner.groups import group_intervals
from warner.groups.fay_herriot import direct_estimates
from warner.groups.group_intervals import (
    HETEROGENEITY_TOLERANCE,
    GroupTest,
    agreeing_interval,
    cochran_q,
    cochran_test,
    conditional_test,
    q_profile,
    squared_correlations,
    summed_cochran_test,
)
from warner.inference.binomial import Binomial

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


# The exact test


def grouped_counts(counts: Any, n: Any) -> Binomial:
    some = np.asarray(counts, dtype=float)
    return Binomial(some, np.asarray(n, dtype=float), np.full(some.shape, 0.25), np.full(some.shape, 0.5))


@pytest.mark.parametrize("case", reference("agreement")["homogeneity"], ids=lambda case: str(case["count"]))
def test_the_conditional_p_value_is_that_of_all_tables(case: dict[str, Any]) -> None:
    test = conditional_test(grouped_counts(case["count"], case["n"]))
    assert test is not None
    assert_allclose(test.statistic, case["likelihood_ratio"])
    p = case["p_likelihood_ratio"]
    assert abs(test.one_sided - p) <= 4 * np.sqrt(p * (1 - p) / 2000) + 1 / 2000  # one false alarm in 16,000
    assert test.p_value == min(1, 2 * test.one_sided)


def test_draws_in_batches_are_the_same_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = grouped_counts([7, 10, 10, 13], [20] * 4)
    whole = conditional_test(counts)
    monkeypatch.setattr(group_intervals, "CONDITIONAL_COUNTS_AT_ONCE", 4 * 700)  # 1,999 draws in three batches
    apart = conditional_test(counts)
    assert whole is not None
    assert apart is not None
    assert apart.one_sided == whole.one_sided


def test_the_size_of_the_exact_test_by_enumeration() -> None:
    # Doubled, the size is at most about half of the level; draws add 0.005 to a p-value of 0.05.
    n = np.array([1, 2, 2, 8])
    tables = np.array(list(itertools.product(*(range(size + 1) for size in n))))
    p = np.array([conditional_test(grouped_counts(row, n)).p_value for row in tables])  # type: ignore[union-attr]
    for f in (0.01, 0.05, 0.2, 0.5, 0.9):
        law = binom.pmf(tables, n, f).prod(axis=1)
        for level in (0.05, 0.1, 0.2):
            assert law[p <= level].sum() <= 0.6 * level


@pytest.mark.parametrize("size", [12, 150])  # groups: all draws, and draws that end early
def test_the_order_of_groups_or_answers_does_not_change_the_p_value(size: int) -> None:
    rng = np.random.default_rng(9)
    n = rng.integers(10, 60, size)
    counts = rng.binomial(n, np.clip(0.4 + 0.04 * rng.standard_normal(size), 0, 1))
    other = rng.permutation(size)
    tallies = [np.stack([rows, people - rows], axis=1) for rows, people in ((counts, n), (counts[other], n[other]))]
    tests = [estimate_groups(tally_of(COIN, rows, rows.sum(axis=1))).test() for rows in (*tallies, tallies[0][:, ::-1])]
    assert len({test.p_value for test in tests}) == 1


def tiny_and_large(rows: Any) -> Any:
    """Return 40 groups of 2 and two of 1,000 under a design that hardly adds noise."""
    n = np.array([2] * 40 + [1000] * 2)
    return tally_of(RandomizedResponse(["yes", "no"], epsilon=8), np.stack([rows, n - rows], axis=1), n)


def test_one_yes_in_a_tiny_group_does_not_refute_that_groups_are_alike() -> None:
    rows = np.zeros(42, dtype=int)
    rows[[3, 40, 41]] = 1, 5, 6  # 12 of 2,080: a pair has some yes with probability 0.37
    found = estimate_groups(tiny_and_large(rows))
    direct = found.direct[0]
    assert cochran_test(direct, ones(direct)).p_value < 0.0002
    test = found.test()
    assert not test.approximate
    assert test.p_value > 0.1
    assert found.spread_interval(0.95)[0] == 0
    assert "(exact, " in found.text()
    assert found.to_dict()["test"]["approximate"] is False


@pytest.mark.long
def test_the_size_where_most_groups_are_tiny() -> None:
    # 400 surveys: the doubled p-value is at most .05 in 2.5 % of them, 25 or more with probability 4e-5; at most .001
    # in .05 %, five or more with probability 2e-6. (Chi-squared: 130 and 107 of 400.)
    n, rng = np.array([2] * 40 + [1000] * 2), np.random.default_rng(3)
    share = float(RandomizedResponse(["yes", "no"], epsilon=8).law.probabilities(np.array([0.005, 0.995]))[0])
    p = []
    for _ in range(400):
        test = conditional_test(grouped_counts(rng.binomial(n, share), n))
        assert test is not None
        p.append(test.p_value)
    assert np.mean(np.array(p) <= 0.05) <= 0.06
    assert np.mean(np.array(p) <= 0.001) <= 4 / 400


def test_the_interval_leaves_out_zero_where_the_exact_test_refutes_it() -> None:
    rng = np.random.default_rng(4)
    seen = set()
    for spread in (0.0, 0.04, 0.06, 0.08, 0.1) * 8:
        n = rng.integers(10, 60, 12)
        counts = rng.binomial(n, 0.25 + 0.5 * np.clip(0.3 + spread * rng.normal(size=12), 0, 1))
        found = estimate_groups(tally_of(COIN, np.stack([counts, n - counts], axis=1), n))
        for level in (0.5, 0.8, 0.95):
            low, high = found.spread_interval(level)
            assert low <= high
            assert (low > 0) == (round(found.test().p_value, 9) < round(1 - level, 9))
            seen.add((low > 0, low == HETEROGENEITY_TOLERANCE))
    assert seen >= {(True, False), (False, False)}


def test_an_interval_that_begins_just_above_zero_says_so() -> None:
    test = GroupTest(12.0, 6, 0.04, 0.02, "conditional likelihood ratio", approximate=False)
    assert agreeing_interval(0.0, 0.2, test, 0.95) == (HETEROGENEITY_TOLERANCE, 0.2)
    assert agreeing_interval(0.1, 0.2, test, 0.99) == (0.0, 0.2)
    assert agreeing_interval(0.0, 0.0, test, 0.95) == (HETEROGENEITY_TOLERANCE, HETEROGENEITY_TOLERANCE)


def test_other_surveys_are_tested_approximately_and_say_so() -> None:
    rows, n, names = np.array([[38, 62], [45, 55], [52, 48]]), np.full(3, 100), ("a", "b", "c")
    by: Any = {"by": ("g",), "groups": tuple((name,) for name in names)}
    second = RandomizedResponse(["yes", "no"], odds=(9, 1))
    weighted = Tally(COIN, rows * 1.0, squares=n * 1.5, **by)
    pooled = pool([Tally(COIN, rows, **by), Tally(second, rows, **by)])
    designs = pool([Tally(COIN, rows * [[1], [1], [0]], **by), Tally(second, rows * [[0], [0], [1]], **by)])
    covariates = estimate_groups(tally_of(COIN, rows, n), on={"g": [0, 1, 2], "x": [0.0, 1.0, 5.0]})
    three = estimate_groups(tally_of(THREE, np.array([[40, 30, 30], [30, 40, 30], [20, 20, 60]]), n))
    for found in (*map(estimate_groups, (weighted, pooled, designs)), covariates, three):
        assert found.test().approximate
        assert "(approximate, " in " ".join(found.text().split())
        assert found.to_dict()["test"]["approximate"] is True
    assert not estimate_groups(Tally(COIN, rows, **by)).test().approximate


def test_many_groups_stop_early_and_draw_less() -> None:
    rng = np.random.default_rng(6)
    n = np.full(400, 30)
    counts = rng.binomial(n, 0.4)
    test = conditional_test(grouped_counts(counts, n))
    assert test is not None
    draws = 20 / test.one_sided  # the twentieth exceedance ended them
    assert draws == pytest.approx(round(draws))
    assert 20 <= draws < 1999
    again = conditional_test(grouped_counts(counts, n))
    assert again is not None
    assert again.one_sided == test.one_sided
    apart = conditional_test(grouped_counts(np.where(np.arange(400) < 200, 2, 28), n))
    assert apart is not None
    assert apart.one_sided == 1 / 2000
    estimates = estimate_groups(tally_of(COIN, np.stack([counts[:150], 30 - counts[:150]], axis=1), n[:150]))
    assert estimates.test().p_value == estimate_groups(estimates.tally).test().p_value
