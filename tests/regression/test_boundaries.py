"""Shares that are estimated as 0 or 1, or near it: intervals and p-values of coefficients, margins and mean shares.

It tests regression/predictions.py and regression/mean_shares.py.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit, logit
from scipy.stats import binom, chi2, norm

from cases import DICE, NINE
from regression_cases import fit_of
from warner import RandomizedResponse
from warner.regression import mean_shares
from warner.regression.mean_shares import MeanProfile, MeanShare, combined, mean_over_people, mean_share_limits
from warner.regression.profiles import Combination, infinite_sign, profile_start
from warner.regression.regressions import regress

QUANTILE = float(chi2.ppf(0.95, 1))


def two_groups(yes: tuple[int, int], people: tuple[int, int], design: Any = NINE, **options: Any) -> Any:
    counts = [yes[0], people[0] - yes[0], yes[1], people[1] - yes[1]]
    data = {"x": [0, 0, 1, 1], "r": ["yes", "no"] * 2, "n": counts}
    return regress("r", data, design, on=["x"], counts="n", starts=0, **options)


def lost(yes: tuple[int, int], people: tuple[int, int], difference: float) -> float:
    """Return twice the loss of log-likelihood of two binomials with a given difference of shares, by a line search."""

    def log_likelihood(share: float, group: int) -> float:
        rate = 0.1 + 0.8 * share
        return float(yes[group] * np.log(rate) + (people[group] - yes[group]) * np.log1p(-rate))

    def best(low: float, high: float, height: Any) -> float:
        inside = minimize_scalar(lambda s: -height(s), bounds=(low, high), method="bounded", options={"xatol": 1e-13})
        return float(max(-inside.fun, height(low), height(high)))

    top = sum(best(0, 1, lambda s, g=g: log_likelihood(s, g)) for g in range(2))
    low, high = max(0.0, -difference), min(1.0, 1 - difference)
    return 2 * (top - best(low, high, lambda s: log_likelihood(s, 0) + log_likelihood(s + difference, 1)))


@pytest.mark.parametrize("yes", [5, 8, 15, 59])  # a share of 0, of 4 and of 19 %, and of 1
def test_a_difference_of_shares_is_that_of_two_binomials(yes: int) -> None:
    groups, people = (4080, yes), (12000, 60)
    fit = two_groups(groups, people)
    margins = fit.margins(["x"], interval="profile")
    change = margins.changes[0, 0]
    assert margins.methods == (("profile", "profile"),)
    for end, farthest in ((margins.low[0, 0], -0.36), (margins.high[0, 0], 0.72)):
        other = brentq(lambda t: lost(groups, people, t) - QUANTILE, change, farthest, xtol=1e-12)
        assert end == pytest.approx(other, abs=1e-6)
    table = margins.table()
    assert table["statistic"][0] ** 2 == pytest.approx(lost(groups, people, 0.0), abs=1e-5)
    assert table["p"][0] == pytest.approx(chi2.sf(lost(groups, people, 0.0), 1), rel=1e-4)
    # No error is left out of a share at the boundary: there is no standard error.
    assert np.isnan(margins.errors[0, 0]) == (yes in {5, 59})
    # The other answer changes by the opposite.
    np.testing.assert_allclose([table["low"][1], table["high"][1]], [-table["high"][0], -table["low"][0]])
    assert table["p"][1] == table["p"][0]


@pytest.mark.parametrize(
    ("few", "share"),
    [
        (20, 0.02),
        (60, 0.02),
        pytest.param(200, 0.02, marks=pytest.mark.long),
        pytest.param(20, 0.05, marks=pytest.mark.long),
        pytest.param(60, 0.05, marks=pytest.mark.long),
        pytest.param(200, 0.05, marks=pytest.mark.long),
        pytest.param(60, 0.3, marks=pytest.mark.long),
    ],
)
def test_a_small_group_beside_a_large_one_is_missed_as_rarely_as_is_said(few: int, share: float) -> None:
    # All counts of the small group, with their probabilities; the large one at its mean, since its shares are known to
    # half a point. The likelihood ratio is only about chi-square, hence .06 in the place of .05; by standard errors the
    # difference was missed in .59, .45 and .30, and the coefficient in .083 to .092.
    many, rate = 12000, 0.1 + 0.8 * share
    missed = np.zeros(2)
    for yes in range(few + 1):
        probability = binom.pmf(yes, few, rate)
        if probability < 1e-4:  # far in the tails: taken as missed
            missed += probability
            continue
        fit = two_groups((round(many * 0.34), yes), (many, few))
        margins, ends = fit.margins(["x"]), fit.limits()
        low, high = margins.low[0, 0], margins.high[0, 0]
        missed[0] += probability * (not low <= share - 0.3 <= high)
        missed[1] += probability * (not ends.low[1] <= logit(share) - logit(0.3) <= ends.high[1])
        for interval, p in (((low, high), margins.table()["p"][0]), ((ends.low[1], ends.high[1]), fit.table()["p"][1])):
            assert (p < 0.05) == (not interval[0] <= 0 <= interval[1])
    assert (missed <= 0.06).all()


def test_wald_or_profile_is_decided_for_each_coefficient() -> None:
    # As much as 7,200 direct answers in all, but 60 people with x = 1, whose share is near 0.
    fit = two_groups((4080, 8), (12000, 60))
    assert fit.effective > 2000
    ends = fit.limits()
    assert ends.methods == ("wald", "profile")
    assert ends.low[1] == -np.inf
    np.testing.assert_allclose(ends.high, fit.limits(interval="profile").high, rtol=0.01)
    # A statistic is the root of the likelihood ratio where the interval is: both groups have the share of all.
    equal = 4088 * np.log(4088 / 12060) + 7972 * np.log(7972 / 12060)
    apart = sum(c * np.log(c / n) for c, n in ((4080, 12000), (7920, 12000), (8, 60), (52, 60)))
    assert ends.statistic[1] == pytest.approx(-np.sqrt(2 * (apart - equal)), abs=1e-6)
    text = fit.text()
    assert "interval (Wald or profile likelihood)" in text
    assert "of x is that of the profile likelihood" in text.replace("\n", " ")


@pytest.mark.parametrize(("yes", "sign"), [(5, -1), (57, 1)])
@pytest.mark.parametrize("many", [10**6, 10**9])
def test_a_level_of_sixty_among_a_million_people_goes_to_one_infinity(many: int, yes: int, sign: int) -> None:
    # The share of the many is known to .001, so that the end is that of the 60 people alone: where twice the loss of
    # their binomial, from its boundary at a share of 0 or 1, is the quantile.
    fit = two_groups((many * 34 // 100, yes), (many, 60))
    assert fit.coefficients[1] == sign * np.inf
    edge = 0.0 if sign < 0 else 1.0

    def loss(share: float) -> float:
        rates = np.array([0.1 + 0.8 * edge, 0.1 + 0.8 * share])
        heights = yes * np.log(rates) + (60 - yes) * np.log1p(-rates)
        return float(2 * (heights[0] - heights[1]) - QUANTILE)

    end = logit(brentq(loss, 1e-9, 1 - 1e-9)) - logit(0.3)
    ends = fit.limits()
    assert (ends.high if sign < 0 else ends.low)[1] == pytest.approx(end, abs=0.002)


@pytest.mark.parametrize("yes", [30, 40])  # of 200: a share of 0, and one of 5 %
def test_the_mean_share_is_profiled_where_standard_errors_say_too_little(yes: int) -> None:
    # 100 and 200 people with noise of 1/6: the mean share of all 300, by constrained maximization of two binomials.
    counts, people = np.array([40, yes]), np.array([100, 200])
    fit = two_groups((40, yes), (100, 200), DICE)
    prediction = fit.predict(interval="profile")

    def log_likelihood(shares: Any) -> float:
        rate = 1 / 6 + 2 / 3 * shares
        return float(counts @ np.log(rate) + (people - counts) @ np.log1p(-rate))

    def end(side: int) -> float:
        allowed = {"type": "ineq", "fun": lambda s: log_likelihood(s) - fit.log_likelihood + QUANTILE / 2}
        found = minimize(
            lambda s: -side * float(people @ s) / 300,
            np.array([0.3, 0.1]),
            bounds=[(0, 1)] * 2,
            constraints=allowed,
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        return float(-side * found.fun)

    assert prediction.methods[0] == ("profile", "profile")
    np.testing.assert_allclose([prediction.low[0, 0], prediction.high[0, 0]], [end(-1), end(1)], atol=1e-6)
    np.testing.assert_allclose(prediction.low[0, 1], 1 - prediction.high[0, 0])


@pytest.mark.parametrize(("letter", "model"), [("A", "multinomial"), ("B", "multinomial"), ("B", "ordered")])
@pytest.mark.parametrize("name", ["x", "d"])
def test_an_effect_is_profiled_by_holding_it(letter: str, model: str, name: str) -> None:
    # The end of the interval has the effect as far out as coefficients with that loss allow, by another method.
    fit = fit_of(letter, model=model)
    margins = fit.margins([name], interval="profile")
    answer = 1 if letter == "B" else 0  # between the others, where answers are ordered
    mean = mean_of(fit, name)
    quantity = MeanShare(fit.specification, mean.x, mean.weight, answer)
    assert margins.changes[0, answer] == pytest.approx(quantity.value(fit.finite_coefficients), abs=1e-12)
    allowed = {"type": "ineq", "fun": lambda b: fit.likelihood.value(b) - fit.log_likelihood + QUANTILE / 2}
    for side, end in ((-1, margins.low[0, answer]), (1, margins.high[0, answer])):
        found = minimize(
            lambda b, side=side: -side * quantity.value(b),
            fit.finite_coefficients,
            constraints=allowed,
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert end == pytest.approx(-side * found.fun, abs=2e-5)
    # Where both are good, they agree.
    wald = fit.margins([name], interval="wald")
    np.testing.assert_allclose(margins.low, wald.low, atol=0.2 * float(margins.errors.max()))


def mean_of(fit: Any, name: str) -> Any:
    """Return the effect of a variable as a sum over rows."""
    from warner.regression.predictions import _effects

    ((_, mean),) = _effects(fit, name)
    return mean


def test_derivatives_of_a_sum_of_shares() -> None:
    for fit in (fit_of("A"), fit_of("B"), fit_of("B", model="ordered"), fit_of("A", link="cloglog")):
        mean = combined((1.0, -1.0), [mean_over_people(fit, {"d": d}) for d in (1, 0)])
        quantity, h = MeanShare(fit.specification, mean.x, mean.weight, 1), 1e-5
        here = quantity.expansion(fit.finite_coefficients)
        assert here.value == pytest.approx(mean.shares[1], abs=1e-12)
        np.testing.assert_allclose(here.gradient, mean.slopes[1], atol=1e-12)
        for i, step in enumerate(h * np.eye(len(fit.finite_coefficients))):
            up, down = (
                quantity.expansion(fit.finite_coefficients + step),
                quantity.expansion(fit.finite_coefficients - step),
            )
            assert (up.value - down.value) / (2 * h) == pytest.approx(here.gradient[i], abs=1e-8)
            np.testing.assert_allclose((up.gradient - down.gradient) / (2 * h), here.curvature[i], atol=1e-7)


def test_limits_of_a_difference_are_not_those_of_a_lower_maximum() -> None:
    # Coefficients whose loss is within the quantile have no difference beyond a limit: a grid of two coefficients.
    x, counts = np.array([0, 1, 2, 5]), [17, 8, 16, 9, 9, 16, 18, 7]
    data = {"answer": ["yes", "no"] * 4, "x": np.repeat(x, 2), "n": counts}
    fit = regress("answer ~ x", data, RandomizedResponse(["yes", "no"], odds=(2, 1)), counts="n")
    mean = combined((1.0, -1.0), [mean_over_people(fit, {"x": x}) for x in (2, 1)])
    start = profile_start(fit, QUANTILE)
    low, high = mean_share_limits(fit, MeanShare(fit.specification, mean.x, mean.weight, 0), QUANTILE, start)
    middle, slope = np.meshgrid(np.linspace(-20, 20, 401), np.linspace(-20, 20, 401))
    rate = (1 + expit(middle + slope * (x[:, np.newaxis, np.newaxis] - 1.5))) / 3
    yes, no = np.reshape(counts, (4, 2)).T
    heights = np.tensordot(yes, np.log(rate), 1) + np.tensordot(no, np.log1p(-rate), 1)
    inside = 2 * (fit.log_likelihood - heights) <= QUANTILE
    change = (expit(middle + slope / 2) - expit(middle - slope / 2))[inside]
    assert low <= change.min() + 1e-9
    assert high >= change.max() - 1e-9


@pytest.mark.parametrize("target", ["realised", "population"])
def test_a_mean_limit_that_is_not_found_is_missing(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"answer": ["yes", "no"] * 3, "x": np.repeat([0, 1, 4], 2), "n": [17, 8, 9, 9, 18, 7]}
    fit = regress("answer ~ x", data, RandomizedResponse(["yes", "no"], odds=(2, 1)), counts="n")
    monkeypatch.setattr(mean_shares, "TILTS", 1)
    with pytest.warns(UserWarning, match="a limit of a mean share was not found and is missing"):
        margins = fit.margins(interval="profile", target=target)
    assert np.isnan([margins.low, margins.high, margins.statistic]).all()


def test_a_value_that_no_shares_reach_is_ruled_out() -> None:
    fit = two_groups((4080, 5), (12000, 60))
    mean = mean_over_people(fit, {})
    profile = MeanProfile(profile_start(fit, QUANTILE), MeanShare(fit.specification, mean.x, mean.weight, 0))
    assert profile.loss(profile.estimate) == 0
    assert profile.loss(1.5) > 1e4
    assert 0 < profile.loss(profile.estimate + 0.001) < 1


def test_p_values_for_the_population_are_where_its_interval_ends() -> None:
    # Two groups of shares 0 and .2 in the data, d in both: for the population people add the variance of their shares.
    people = {
        "r": ["yes", "no"] * 4,
        "x": [0, 0, 1, 1] * 2,
        "d": [0] * 4 + [1] * 4,
        "n": [15, 85, 24, 76, 35, 65, 50, 50],
    }
    fit = regress("r ~ x * d", people, DICE, counts="n")
    assert fit.infinity is not None
    margins = fit.margins(["x"], target="population")
    realised = fit.margins(["x"])
    assert margins.methods[0] == ("profile", "profile")
    assert margins.low[0, 0] < realised.low[0, 0]
    assert margins.high[0, 0] > realised.high[0, 0]
    p = margins.table()["p"][0]
    assert p > realised.table()["p"][0]
    touching = fit.margins(["x"], target="population", level=1 - p)
    assert min(abs(touching.low[0, 0]), abs(touching.high[0, 0])) < 1e-5


def test_without_a_likelihood_of_a_sample_a_share_at_the_boundary_has_no_interval() -> None:
    data = {"x": [0, 0, 1, 1], "r": ["yes", "no"] * 2, "n": [70, 130, 25, 175]}
    fit = regress("r", data, DICE, on=["x"], counts="n", errors="robust")
    assert fit.infinity is not None
    margins, mean = fit.margins(["x"]), fit.predict()
    for result in (margins, mean):
        assert set(result.table()["interval"]) == {"none"}
        for name in ("se", "low", "high"):
            assert np.isnan(result.table()[name]).all()
    assert np.isnan(margins.table()["p"]).all()


def test_standard_errors_are_kept_where_the_profile_confirms_them() -> None:
    fit = two_groups((600, 900), (2000, 2000), DICE)
    margins, mean = fit.margins(["x"]), fit.predict()
    assert margins.methods == mean.methods == (("wald", "wald"),)
    rates = np.array([0.3, 0.45])
    error = np.sqrt(rates @ (1 - rates) / 2000) / (2 / 3)
    assert margins.errors[0, 0] == pytest.approx(error, rel=1e-6)
    assert margins.high[0, 0] == pytest.approx(0.225 + norm.ppf(0.975) * error, rel=1e-6)
    profile = fit.margins(["x"], interval="profile")
    np.testing.assert_allclose(profile.high, margins.high, atol=0.05 * 2 * error)


def test_a_quantity_is_infinite_only_along_the_direction_of_an_infinite_estimate() -> None:
    fit: Any = SimpleNamespace(
        infinity=SimpleNamespace(direction=np.array([0.0, -0.5])), finite_coefficients=np.array([1.0, -3.0])
    )
    same: Any = SimpleNamespace(matrix=np.eye(2))
    signs = [
        infinite_sign(fit, Combination(np.array(weights)), same) for weights in ([1.0, 0.0], [0.0, 2.0], [1.0, -2.0])
    ]
    assert signs == [0.0, -np.inf, np.inf]
