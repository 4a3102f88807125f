"""Direct estimates of groups: unbiased shares, and the sampling variance that the law of total variance gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cases import COIN, KUK, NINE, PAIRS, THREE
from warner import RandomizedResponse, Tally, estimate_groups, pool
from warner.designs.facts import LinearCombination
from warner.groups.fay_herriot import DirectEstimates, direct_estimates, direct_sum
from warner.simulate import reports_of_population


def by_number(design: Any, counts: Any, **options: Any) -> Any:
    return Tally(design, counts, by=("g",), groups=tuple((i,) for i in range(len(counts))), **options)


def test_the_variance_is_that_of_one_report_by_hand() -> None:
    # Warner's, 40 of 100 say yes: (0.40 - 0.25) / 0.5 = 0.3; at m = 0.3, f = 0.4: (0.24 / 0.25 - tau^2) / 100
    (first, second) = direct_estimates(by_number(COIN, [[40, 60]]))
    assert_allclose(first.share, [0.3], rtol=1e-12)
    assert_allclose(first.sampling_variance(0.3, 0.01), [(0.96 - 0.01) / 100], rtol=1e-12)
    assert_allclose(second.share, [0.7], rtol=1e-12)
    assert_allclose(second.sampling_variance(0.7, 0.01), [(0.96 - 0.01) / 100], rtol=1e-12)


@pytest.mark.parametrize("design", [COIN, THREE, PAIRS, KUK], ids=repr)
def test_the_variance_is_that_of_drawn_surveys(design: Any) -> None:
    """Groups whose shares are drawn around a mean: the variance of the estimates is tau^2 + v, whatever the design."""
    rng = np.random.default_rng(3)
    mean, groups, n = np.full(design.k, 1 / design.k), 4000, 30
    shares = rng.dirichlet(mean * 15, size=groups)
    counts = np.stack([design.simulate(share, n, rng=rng) for share in shares])
    direct = direct_estimates(by_number(design, counts, n=np.full(groups, n)))[0]
    between = float(mean[0] * (1 - mean[0]) / 16)  # of a Dirichlet law
    expected = between + direct.sampling_variance(mean[0], between)[0]
    # A variance from 4,000 draws has a relative standard error of sqrt(2/4000) = 0.022; four of them: 1 in 16,000.
    assert_allclose(direct.share.var(), expected, rtol=0.09)


def test_designs_that_tell_the_same_are_joined_as_one() -> None:
    """Reports of a group split into two collections that have the same p and q change nothing."""
    twin = RandomizedResponse(["yes", "no"], odds=(6, 2))
    assert twin.p == COIN.p
    whole = direct_estimates(by_number(COIN, [[40, 60], [30, 50]]))[0]
    other = RandomizedResponse(["yes", "no"], odds=(9, 1))
    parts = pool([by_number(COIN, [[40, 60], [30, 50]]), by_number(other, [[0, 0], [0, 0]])])
    joined = direct_estimates(parts)[0]
    assert_allclose(joined.share, whole.share, rtol=1e-12)
    for mean, between in ((0.1, 0.0), (0.5, 0.02), (0.9, 0.05)):
        variances = [direct.sampling_variance(mean, between) for direct in (joined, whole)]
        assert_allclose(variances[0], variances[1], rtol=1e-12)


def test_collections_are_joined_by_their_precisions() -> None:
    first, second = by_number(COIN, [[40, 60]]), by_number(NINE, [[40, 60]])
    alone = [direct_estimates(part)[0] for part in (first, second)]
    joined = direct_estimates(pool([first, second]))[0]
    precision = [1 / part.sampling_variance(joined.overall(), 0.0)[0] for part in alone]
    expected = np.average([part.share[0] for part in alone], weights=precision)
    assert_allclose(joined.share, [expected], rtol=1e-9)
    assert_allclose(joined.sampling_variance(joined.overall(), 0.0), [1 / sum(precision)], rtol=1e-9)


def test_groups_without_reports_tell_nothing() -> None:
    direct = direct_estimates(by_number(COIN, [[40, 60], [0, 0]]))[0]
    assert direct.informative.tolist() == [True, False]
    assert direct.share[1] == 0


def test_known_variances_stay_as_they_are() -> None:
    known = DirectEstimates.known(np.array([1.0, 2.0]), np.array([0.5, 0.1]))
    assert known.sampling_variance(0.3, 0.2).tolist() == [0.5, 0.1]


def test_the_variance_of_a_mean_is_that_within_groups() -> None:
    # The scores of reports, whose mean given an answer is its number, have this variance within groups (ANOVA).
    survey, memberships = RandomizedResponse(3, epsilon=3), np.array([0, 0.25, 1])
    counts = np.array([[900, 80, 20], [100, 300, 600], [300, 300, 3400]])
    scores = np.linalg.solve(survey.channel(), memberships)
    n, means = counts.sum(axis=1), counts @ scores / counts.sum(axis=1)
    within = (counts * (scores - means[:, np.newaxis]) ** 2).sum() / (counts.sum() - 3)
    direct = direct_sum(
        Tally(survey, counts, by=("region",), groups=(("a",), ("b",), ("c",))),
        LinearCombination(memberships[np.newaxis]),
    )
    assert_allclose(direct.share, means, rtol=1e-12)
    for spread in (0.0, 0.3):  # however much the groups differ
        assert_allclose(direct.sampling_variance(0.5, spread**2), within / n, rtol=1e-3)


def test_means_of_few_groups_that_differ_hold_their_level() -> None:
    rng, survey, numbers = np.random.default_rng(1), RandomizedResponse(4, epsilon=4), np.array([-4, 1, 6, 11])
    groups, covered = tuple((name,) for name in range(6)), []
    for _ in range(100):
        shares = rng.dirichlet([0.75] * 4, size=6)
        counts = [reports_of_population(share, 1000, survey, rng=rng) for share in shares]
        means = estimate_groups(Tally(survey, np.array(counts), by=("region",), groups=groups)).mean(numbers)
        covered.append(((means.low <= shares @ numbers) & (shares @ numbers <= means.high)).mean())
    assert np.mean(covered) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 600)  # else 90 %
