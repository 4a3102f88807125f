"""Partial pooling: published and prototype numbers, an exact law, and symmetries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from cases import COIN, DIRECT
from references import reference
from warner import Tally
from warner.groups import fay_herriot
from warner.groups.fay_herriot import (
    DirectEstimates,
    direct_estimates,
    error_of_overall,
    fits,
    largest_spread,
    law_of_spreads,
    partially_pooled,
    refined_maximum,
)

REFERENCE = reference("groups")


def direct_of(counts: Any, trials: Any, design: Any = COIN) -> Any:
    counts, trials = np.asarray(counts), np.asarray(trials)
    table = np.stack([counts, trials - counts], axis=1)
    groups = tuple((i,) for i in range(len(counts)))
    return direct_estimates(Tally(design, table, by=("g",), groups=groups), [[0]])[0]


def ones(direct: Any) -> Any:
    return np.ones((direct.share.size, 1))


def bcg() -> Any:
    a, b, c, d = np.array(REFERENCE["published_meta_analysis"]["tables_vaccinated_ill_well_others_ill_well"], float).T
    return DirectEstimates.known(np.log(a / (a + b) * (c + d) / c), 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))


def test_the_bcg_trials_have_the_published_restricted_maximum() -> None:
    """Viechtbauer 2010: REML variance 0.3132, mean -0.7145, standard error 0.1798."""
    direct, published = bcg(), REFERENCE["published_meta_analysis"]
    pooled = partially_pooled(direct, ones(direct), limit=3.0)
    assert round(pooled.spread**2, 4) == published["reml_variance"]
    fit = fits(direct, ones(direct), np.array([pooled.spread]), 0.0)
    assert round(float(fit.mean[0, 0]), 4) == published["mean"]
    assert round(float(np.sqrt(fit.variance_of_mean[0, 0])), 4) == published["se"]


def test_the_restricted_likelihood_is_that_of_contrasts() -> None:
    """The likelihood of the differences from the first group, which do not depend on the mean, up to a constant."""
    direct = bcg()
    y, v = direct.share, direct.base
    contrast = np.column_stack([-np.ones(12), np.eye(12)])

    def of_contrasts(spread: Any) -> Any:
        covariance = contrast @ np.diag(v + spread**2) @ contrast.T
        difference = contrast @ y
        return -0.5 * np.linalg.slogdet(covariance)[1] - 0.5 * difference @ np.linalg.solve(covariance, difference)

    spreads = np.array([0.0, 0.2, 0.5, 1.0])
    ours = fits(direct, ones(direct), spreads, 0.0).log_likelihood
    theirs = np.array([of_contrasts(spread) for spread in spreads])
    assert_allclose(ours - ours[0], theirs - theirs[0], rtol=1e-10)


@pytest.fixture
def flat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the prior of the prototype, flat in the spread, for errors as well."""
    monkeypatch.setattr(fay_herriot, "matched", lambda weights, _: weights)


@pytest.mark.usefixtures("flat")
def test_eight_regions_as_the_prototype_has_them() -> None:
    example = REFERENCE["groups"]
    direct = direct_of(example["count"], example["trials"])
    pooled = partially_pooled(direct, ones(direct))
    for name, values in (("share", pooled.share), ("se", pooled.error), ("own", pooled.own)):
        assert_allclose(values, example["averaged"][name], atol=1e-5)
    assert_allclose(pooled.weights @ pooled.spreads, example["mean_spread"], atol=1e-5)


def test_a_regression_as_the_prototype_has_it() -> None:
    example, regression = REFERENCE["groups"], REFERENCE["fay_herriot"]
    direct = direct_of(example["count"], example["trials"])
    covariates = np.column_stack([np.ones(8), np.arange(8.0)])
    assert_allclose(partially_pooled(direct, covariates).share, regression["share"], atol=1e-5)


def test_errors_are_those_of_a_prior_that_is_flat_in_the_variance() -> None:
    """By a fine grid of variances: the mean square of each share about its estimate."""
    example = REFERENCE["groups"]
    direct = direct_of(example["count"][:6], example["trials"][:6])
    pooled = partially_pooled(direct, ones(direct))
    variances = np.linspace(0, pooled.spreads[-1] ** 2, 4001)
    fit = fits(direct, ones(direct), np.sqrt(variances), direct.overall())
    weight = np.exp(fit.log_likelihood - fit.log_likelihood.max())
    weight /= weight.sum()
    own = variances[:, np.newaxis] / (variances[:, np.newaxis] + fit.sampling_variance)
    share = fit.mean + own * (direct.share - fit.mean)
    within = own * fit.sampling_variance + (1 - own) ** 2 * fit.variance_of_mean
    assert_allclose(pooled.error**2, weight @ (within + (share - pooled.share) ** 2), rtol=2e-3)


@pytest.mark.usefixtures("flat")
def test_groups_that_are_alike_are_not_known_to_be() -> None:
    example = REFERENCE["groups_all_alike"]
    direct = direct_of([example["count"]] * example["groups"], [example["trials"]] * example["groups"])
    pooled = partially_pooled(direct, ones(direct))
    assert pooled.spread == 0
    assert_allclose(pooled.share, example["share"] * 6, atol=1e-5)
    assert_allclose(pooled.error, example["se"] * 6, atol=1e-5)
    assert pooled.error[0] > np.sqrt(0.96 / 600)  # that of full pooling


@pytest.mark.usefixtures("flat")
def test_a_single_group_keeps_its_share() -> None:
    direct = direct_of([40], [100])
    pooled = partially_pooled(direct, ones(direct))
    assert_allclose(pooled.share, REFERENCE["one_group"]["share"], atol=1e-12)
    assert_allclose(pooled.error, REFERENCE["one_group"]["se"], atol=1e-4)


@given(st.integers(2, 50), st.floats(0.01, 0.3))
def test_own_weights_are_those_of_a_dirichlet_law(n: Any, relative: Any) -> None:
    """Direct answers, equal n, spread r sqrt(m (1 - m)) with r^2 = 1/(A + 1): the own weight is n/(n + A) exactly."""
    direct = direct_of([n // 2] * 4, [n] * 4, DIRECT)
    mean = (n // 2) / n
    spread = np.sqrt(relative * mean * (1 - mean))
    if spread > 0:
        fit = fits(direct, ones(direct), np.array([spread]), mean)
        own = spread**2 / (spread**2 + fit.sampling_variance[0])
        assert_allclose(own, n / (n + 1 / relative - 1), rtol=1e-9)


def test_with_one_report_each_the_likelihood_says_nothing_of_the_spread() -> None:
    direct = direct_of([1, 0, 1, 0, 0, 0], [1] * 6)
    values = fits(direct, ones(direct), np.linspace(0, 0.4, 9), 0.5).log_likelihood
    assert_allclose(values, values[0], rtol=1e-9)
    assert np.ptp(partially_pooled(direct, ones(direct)).own) < 1e-12


@given(st.permutations(range(5)))
def test_the_order_of_groups_does_not_matter(order: Any) -> None:
    counts, trials = np.array([38, 45, 52, 41, 60]), np.array([100, 90, 120, 80, 100])
    before = direct_of(counts, trials)
    after = direct_of(counts[order], trials[order])
    one, other = (partially_pooled(direct, ones(direct)) for direct in (before, after))
    assert_allclose(one.share[order], other.share, rtol=1e-9)


def test_a_group_with_very_many_reports_keeps_its_share() -> None:
    direct = direct_of([38, 45, 52, 6 * 10**8], [100, 100, 100, 10**9])
    assert_allclose(partially_pooled(direct, ones(direct)).share[-1], 0.7, atol=1e-4)


def test_the_maximum_is_found_between_points() -> None:
    def likelihood(x: Any) -> Any:
        return -((x - 0.1234) ** 2) - (x - 0.1234) ** 4

    grid = np.linspace(0, 1, 21)
    assert_allclose(refined_maximum(likelihood, grid, likelihood(grid)), 0.1234, atol=1e-7)
    assert refined_maximum(lambda x: -x, grid, -grid) == 0


def test_the_refined_maximum_is_that_of_an_optimiser() -> None:
    example = REFERENCE["groups"]
    direct = direct_of(example["count"], example["trials"])
    best = minimize_scalar(
        lambda t: -fits(direct, ones(direct), np.array([t]), direct.overall()).log_likelihood[0],
        bounds=(0, 0.4),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert_allclose(partially_pooled(direct, ones(direct)).spread, best.x, atol=1e-6)


def test_answers_that_all_vary_alike_share_one_law_of_spreads() -> None:
    """Many answers whose likelihoods all point to one spread: the law is concentrated there, for all of them."""
    relative = np.linspace(0, 1, 21) ** 2
    values = np.repeat(-50 * (relative[:, np.newaxis] - 0.36) ** 2, 30, axis=1)
    law = law_of_spreads(values, relative)
    assert_allclose(law.sum(axis=0), 1)
    assert law[relative > 0.7].sum(axis=0).max() < 0.02
    alone = law_of_spreads(values[:, :1], relative)
    assert law[12, 0] > 1.5 * alone[12, 0]  # 0.36 is the 13th


@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_covariates_may_have_any_origin(shift: Any) -> None:
    example = REFERENCE["groups"]
    direct = direct_of(example["count"], example["trials"])
    covariates = np.column_stack([np.ones(8), np.arange(8.0) + shift])
    assert_allclose(partially_pooled(direct, covariates).share, REFERENCE["fay_herriot"]["share"], atol=1e-5)


def test_sampling_variances_are_those_of_fitted_means_between_0_and_1() -> None:
    # A steep covariate: the regression goes beyond 1, where a share has no variance.
    direct = direct_of([1, 5, 30, 60, 99, 100], [100] * 6)
    covariates = np.column_stack([np.ones(6), np.arange(6.0)])
    fit = fits(direct, covariates, np.array([0.0, 0.05]), 0.5)
    assert fit.mean.max() > 1
    spreads = np.array([[0.0], [0.05]])
    expected = direct.sampling_variance(np.clip(fit.mean, 0, 1), spreads**2)
    assert_allclose(fit.sampling_variance, expected, rtol=1e-3)  # the iterations end there


def test_the_error_of_the_mean_share_by_hand() -> None:
    # Direct counts of 25 and 75 at one half: variances 1/100 and 1/300, together 1/400, so the error is 1/20.
    direct = direct_of([10, 40], [25, 75], DIRECT)
    assert_allclose(error_of_overall(direct, 0.5), 0.05, rtol=1e-12)
    # Shares between 0 and 1 with mean m have a spread of at most sqrt(m(1 - m)). At .3 the error is sqrt(.21 / 100) =
    # .0458, so that the mean may be .3917, two errors above .3.
    error = error_of_overall(direct, 0.3)
    assert_allclose(error, np.sqrt(0.21 / 100), rtol=1e-12)
    nearest = 0.3 + 2 * error
    for overall in (0.3, 0.7):
        assert_allclose(largest_spread(direct, overall), np.sqrt(nearest * (1 - nearest)), rtol=1e-12)
    assert_allclose(largest_spread(direct, 0.45), 0.5, rtol=1e-12)


def test_a_spread_of_zero_that_is_certain_keeps_its_weight() -> None:
    assert fay_herriot.matched(np.array([1.0, 0.0]), np.array([0.0, 0.3])).tolist() == [1, 0]
    assert_allclose(fay_herriot.matched(np.array([0.5, 0.3, 0.2]), np.array([0.0, 1.0, 2.0])), [0, 3 / 7, 4 / 7])


def test_an_answer_that_all_respondents_have_is_pooled_as_its_complement() -> None:
    trials = np.array([40, 60, 80, 100])
    table = np.stack([trials - [0, 1, 0, 2], [0, 1, 0, 2]], axis=1)
    direct = direct_estimates(Tally(DIRECT, table, by=("g",), groups=((0,), (1,), (2,), (3,))), [[0], [1]])
    all_of_them, none = fay_herriot.all_partially_pooled(direct, ones(direct[0]), np.array([1.0, 0.0]))
    assert_allclose(all_of_them.spreads, none.spreads, rtol=1e-9)
    assert_allclose(all_of_them.share, 1 - none.share, atol=1e-9)
