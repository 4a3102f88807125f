"""Random intercepts through `regress`: brute force, lme4 and GLMMRR, all outputs, and errors."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from scipy.stats import norm

from references import reference
from regression.test_adaptive_quadrature import sample
from regression.test_maxima import counted_evaluations
from warner import RandomizedResponse, Regression, regress, surveys, tally
from warner.regression import mixed_models
from warner.regression.adaptive_quadrature import RandomIntercepts
from warner.results import typeset

REFERENCE = reference("random_intercepts")
DIRECT = RandomizedResponse(["yes", "no"], odds=(1, 0))
DICE = surveys.forced_response(truth="3/4", yes="1/6")
SPINNER = RandomizedResponse(["never", "once", "often"], truth="2/3")
EFFECTS = np.linspace(-8, 8, 201)  # of what is analytic, such a sum has all digits


def pupils(schools: int = 12, each: int = 25, spread: float = 1.0, seed: int = 7) -> dict[str, Any]:
    """Draw pupils of schools that differ, each asked by one of two designs; and how often, with a spinner."""
    rng = np.random.default_rng(seed)
    school = np.repeat(np.arange(schools), each)
    age = rng.integers(0, 4, school.size)
    effect = spread * rng.normal(size=schools)[school]
    cheated = (rng.random(school.size) > expit(-0.5 - 0.4 * age + effect)).astype(int)
    often = np.digitize(0.3 * age + effect + rng.logistic(size=school.size), [0.0, 1.2])
    asked = rng.integers(0, 2, school.size)
    reports = [np.array(["yes", "no"])[design.draw(cheated, rng.bytes)] for design in (DICE, DIRECT)]
    return {
        "cheated": np.where(asked == 0, *reports),
        "dice": reports[0],
        "times": np.array(SPINNER.domain)[SPINNER.draw(often, rng.bytes)],
        "asked": np.array(["dice", "direct"])[asked],
        "age": age,
        "school": np.array([f"school {number}" for number in school]),
    }


PUPILS = pupils()


@pytest.fixture(scope="module")
def fit() -> Regression:
    return regress("cheated ~ age + (1 | school)", PUPILS, {"dice": DICE, "direct": DIRECT}, by="asked")


@pytest.fixture(scope="module")
def ordered() -> Regression:
    return regress("times ~ age + (1 | school)", PUPILS, SPINNER, model="ordered")


def integrated(logs: Any, group: Any) -> float:
    """Integrate over equally spaced effects: `logs` are log-likelihoods of rows at each of them."""
    total = 0.0
    for number in np.unique(group):
        inside = logs[group == number].sum(axis=0)
        total += logsumexp(inside + norm.logpdf(EFFECTS)) + np.log(EFFECTS[1] - EFFECTS[0])
    return float(total)


def two_answers(z: Any) -> float:
    """Return the log-likelihood of two answers under two designs, written anew."""
    share = expit(z[0] + z[1] * PUPILS["age"][:, np.newaxis] + z[2] * EFFECTS)
    of_yes = np.where(PUPILS["asked"] == "dice", 1 / 6, 0.0)[:, np.newaxis]
    gain = np.where(PUPILS["asked"] == "dice", 3 / 4, 1.0)[:, np.newaxis]
    yes = of_yes + gain * share
    return integrated(np.log(np.where((PUPILS["cheated"] == "yes")[:, np.newaxis], yes, 1 - yes)), PUPILS["school"])


def three_answers(z: Any) -> float:
    """Return the log-likelihood of ordered answers, in which effects move people as the slope does."""
    moved = z[2] * PUPILS["age"][:, np.newaxis] + z[3] * EFFECTS
    below = [expit(cut - moved) for cut in z[:2]]
    shares = np.array([below[0], below[1] - below[0], 1 - below[1]])
    place = np.array([SPINNER.domain.index(one) for one in PUPILS["times"]])
    table = np.full((3, 3), 1 / 6) + (2 / 3 - 1 / 6) * np.eye(3)  # the truth with probability 2/3
    probability = np.einsum("nk,knq->nq", table[place], shares)
    return integrated(np.log(probability), PUPILS["school"])


def value_of(fit: Regression) -> float:
    assert fit.log_likelihood is not None
    return fit.log_likelihood


def highest(value: Any, start: Any) -> Any:
    return minimize(lambda z: -value(z), start, method="BFGS", options={"gtol": 1e-7})


# Against brute force and other programs


def test_the_estimate_is_the_maximum_of_the_integral(fit: Regression) -> None:
    best = highest(two_answers, [-0.5, -0.4, 0.7])
    assert_allclose(fit.finite_coefficients, best.x, atol=2e-4)
    assert_allclose(value_of(fit), -best.fun, atol=1e-6)
    assert_allclose(two_answers(fit.finite_coefficients), value_of(fit), atol=1e-6)
    assert fit.nodes == 25
    assert len(fit.coefficients) == 2


def test_so_it_is_for_ordered_answers(ordered: Regression) -> None:
    best = highest(three_answers, [0.0, 1.0, 0.3, 0.7])
    assert_allclose(ordered.finite_coefficients, best.x, atol=5e-4)
    assert_allclose(three_answers(ordered.finite_coefficients), value_of(ordered), atol=1e-6)


def test_limits_of_the_spread_lose_what_they_may(fit: Regression) -> None:
    """At the ends of a 95 % interval twice the loss of log-likelihood is 3.8415."""
    spread = fit.spread()
    for end in (spread.low, spread.high):
        best = highest(lambda b, end=end: two_answers([*b, end]), fit.coefficients)
        assert_allclose(2 * (value_of(fit) + best.fun), 3.841459, atol=1e-4)
    assert spread.low < spread.value < spread.high
    assert spread.value == fit.finite_coefficients[-1]


def test_limits_of_coefficients_lose_what_they_may(fit: Regression) -> None:
    table = fit.table()
    for end in (table["low"][1], table["high"][1]):
        best = highest(
            lambda b, end=end: two_answers([b[0], end, b[1]]), [fit.coefficients[0], fit.finite_coefficients[-1]]
        )
        assert_allclose(2 * (value_of(fit) + best.fun), 3.841459, atol=1e-4)


def test_the_test_at_the_boundary_is_half_the_chi_square(fit: Regression) -> None:
    plain = regress("cheated ~ age", PUPILS, {"dice": DICE, "direct": DIRECT}, by="asked")
    spread = fit.spread()
    assert_allclose(spread.statistic, 2 * (value_of(fit) - value_of(plain)), rtol=1e-9)
    assert_allclose(spread.p_value, norm.sf(np.sqrt(spread.statistic)), rtol=1e-9)


def test_herds_are_those_of_lme4() -> None:
    """Contagious bovine pleuropneumonia: coefficients, standard deviation and standard errors."""
    rows, expected = sample("cbpp.csv"), REFERENCE["cbpp_lme4"]
    ill = [int(row["incidence"]) for row in rows]
    people = {
        "ill": ["yes", "no"] * len(rows),
        "n": [n for row, i in zip(rows, ill, strict=True) for n in (i, int(row["size"]) - i)],
        **{name: [row[name] for row in rows for _ in range(2)] for name in ("period", "herd")},
    }
    herds = regress("ill ~ period + (1 | herd)", people, DIRECT, counts="n")
    assert_allclose(herds.coefficients, expected["coefficients"], atol=1e-6)
    assert_allclose(herds.standard_errors, expected["se"], atol=2e-6)
    assert_allclose(herds.spread().value, expected["sd"], atol=1e-6)


def test_students_are_those_of_glmmrr() -> None:
    """The manual page of GLMMRR, by age, with 25 nodes: -403.1341; Laplace's -403.1268 is none."""
    rows, expected = sample("plagiarism.csv"), REFERENCE["plagiarism_GLMMRR"]["nAGQ_25"]
    crosswise = RandomizedResponse(["1", "0"], odds=(1, 3))
    data: dict[str, Any] = {name: [row[name] for row in rows] for name in ("response", "age", "RRmodel")}
    data |= {name: [float(row[name]) for row in rows] for name in ("Gender", "RR", "pp")}
    designs = {"DQ": RandomizedResponse(["1", "0"], odds=(1, 0)), "Crosswise": crosswise}
    students = regress("response ~ Gender + RR + pp + (1 | age)", data, designs, by="RRmodel")
    assert_allclose(value_of(students), expected["log_likelihood"], atol=2e-6)
    assert_allclose(students.coefficients, expected["coefficients"], atol=2e-3)  # of a flat likelihood
    assert_allclose(students.spread().value ** 2, expected["variance"], atol=1e-3)


def test_a_large_spread_does_not_slow_profiles_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six groups of 60: rounding of the quadrature once led ascents on in steps of nothing, 24,700 evaluations."""
    rng = np.random.default_rng(3)
    design = RandomizedResponse(["yes", "no"], truth="3/4")
    group, age = np.repeat(np.arange(6), 60), rng.standard_normal(360)
    eta = -0.5 + 0.5 * age + 0.8 * rng.standard_normal(6)[group]
    answers = (rng.random(360) * (1 + np.exp(-eta)) > 1).astype(int)
    data = {"y": np.array(["yes", "no"])[design.draw(answers, rng.bytes)], "age": age, "g": group}
    fit = regress("y ~ age + (1 | g)", data, design)
    evaluations = counted_evaluations(monkeypatch, RandomIntercepts)
    table = fit.table()
    assert len(evaluations) < 500
    # The limits of the coefficients at 150 nodes.
    assert_allclose([*table["low"], *table["high"]], [-3.0554, -0.3750, 0.1833, 0.9797], atol=3e-3)


# Shares


def test_shares_are_averages_over_groups_or_of_the_median_group(fit: Regression, ordered: Regression) -> None:
    """The median group has F(x'b); the average over groups is an integral."""
    b, age, weight = fit.finite_coefficients, np.array([0, 3]), norm.pdf(EFFECTS) * (EFFECTS[1] - EFFECTS[0])
    median = fit.predict({"age": age}, effects="median")
    assert_allclose(median.shares[:, 0], expit(b[0] + b[1] * age), rtol=1e-12)
    averaged = fit.predict({"age": age})
    shares = expit(b[0] + b[1] * age[:, np.newaxis] + b[2] * EFFECTS) @ weight
    assert_allclose(averaged.shares[:, 0], shares, rtol=1e-8)
    assert "averages over all groups" in averaged.text()
    assert "median group" in median.text()
    c, once = ordered.finite_coefficients, ordered.predict({"age": [2]})
    moved = 2 * c[2] + c[3] * EFFECTS
    assert_allclose(once.shares[0, 1], (expit(c[1] - moved) - expit(c[0] - moved)) @ weight, rtol=1e-8)


def test_intervals_of_averaged_shares_lose_what_they_may(fit: Regression) -> None:
    """The ends of the profile interval of the average share at age 3, by a constrained search."""
    low, high = (getattr(fit.predict({"age": [3]}, interval="profile"), end)[0, 0] for end in ("low", "high"))
    weight = norm.pdf(EFFECTS) * (EFFECTS[1] - EFFECTS[0])
    for end in (low, high):
        found = minimize(
            lambda z: -two_answers(z),
            fit.finite_coefficients,
            method="SLSQP",
            constraints={
                "type": "eq",
                "fun": lambda z, end=end: expit(z[0] + 3 * z[1] + z[2] * EFFECTS) @ weight - end,
            },
            options={"ftol": 1e-10},
        )
        assert_allclose(2 * (value_of(fit) + found.fun), 3.841459, atol=2e-3)


def test_margins_are_differences_of_averaged_shares(fit: Regression) -> None:
    b, step = fit.finite_coefficients, 1e-4
    ages = np.asarray(PUPILS["age"], float)
    weight = norm.pdf(EFFECTS) * (EFFECTS[1] - EFFECTS[0])

    def mean(shift: float) -> float:
        return float((expit(b[0] + b[1] * (ages + shift)[:, np.newaxis] + b[2] * EFFECTS) @ weight).mean())

    assert_allclose(fit.margins().changes[0, 0], (mean(step) - mean(-step)) / (2 * step), rtol=1e-5)
    flat = fit.margins(effects="median").changes[0, 0]
    share = expit(b[0] + b[1] * ages)
    assert_allclose(flat, (b[1] * share * (1 - share)).mean(), rtol=1e-5)


# Effects


def test_effects_lie_around_their_groups(fit: Regression) -> None:
    effects = fit.effects()
    assert effects.groups == tuple(sorted(set(PUPILS["school"])))
    assert effects.people.sum() == fit.people
    assert (effects.errors > 0).all()
    assert effects.errors.max() < 1.3 * fit.spread().high
    table = effects.table()
    assert list(table) == ["school", "people", "effect", "se", "low", "high"]
    assert json.loads(effects.to_json())["holds"] == "on average"
    # Groups with more of yes have larger effects.
    yes = [np.mean(PUPILS["cheated"][PUPILS["school"] == school] == "yes") for school in effects.groups]
    assert np.corrcoef(yes, effects.effects)[0, 1] > 0.9


def test_effects_of_ordered_answers_point_to_later_ones(ordered: Regression) -> None:
    effects = ordered.effects()
    place = np.array([SPINNER.domain.index(one) for one in PUPILS["times"]])
    means = [place[PUPILS["school"] == school].mean() for school in effects.groups]
    assert np.corrcoef(means, effects.effects)[0, 1] > 0.9


# The boundary


def test_groups_that_are_alike_have_no_spread() -> None:
    """Every group has the same reports: the spread is 0, and the coefficients are those without effects."""
    alike = {"a": np.tile(["yes", "no", "no", "no"], 8), "g": np.repeat(np.arange(8), 4)}
    fit = regress("a ~ (1 | g)", alike, DIRECT)
    spread = fit.spread()
    assert spread.value == spread.low == 0
    assert spread.high > 0
    assert spread.p_value == 1
    assert_allclose(fit.coefficients, np.log(1 / 3), atol=1e-8)
    plain = regress("a ~ 1", alike, DIRECT)
    assert_allclose(fit.standard_errors, plain.standard_errors, rtol=1e-8)
    assert fit.log_likelihood == plain.log_likelihood
    effects = fit.effects()
    assert_allclose(effects.effects, 0, atol=1e-6)
    assert (effects.errors > 0.05).all()  # the spread is not known to be 0
    assert_allclose(fit.predict().shares[0, 0], 0.25, atol=1e-8)
    assert np.isfinite(fit.table()["low"]).all()


def test_an_interval_of_the_spread_holds_zero_where_the_ratio_is_small() -> None:
    fit = regress("dice ~ age + (1 | school)", pupils(spread=0.2, seed=3), DICE)
    spread = fit.spread()
    assert (spread.low == 0) == (spread.statistic <= 3.841459)
    assert spread.low == 0


# Flat likelihoods


def counted(yes: Any, each: int, design: RandomizedResponse) -> Regression:
    """Fit an intercept and effects to groups of so many people, by how many of them report yes."""
    group = np.repeat(np.arange(len(yes)), 2)
    data = {"a": ["yes", "no"] * len(yes), "n": [n for one in yes for n in (one, each - one)], "g": group}
    return regress("a ~ (1 | g)", data, design, counts="n")


def integrals(yes: Any, each: int, truth: float, intercept: float, spread: float) -> Any:
    """Return the likelihood of each group at each of 801 effects, times their density, written anew."""
    share = (1 - truth) + (2 * truth - 1) * expit(intercept + spread * EFFECTS)
    logs = np.multiply.outer(yes, np.log(share)) + np.multiply.outer(each - np.asarray(yes), np.log(1 - share))
    return np.exp(logs + norm.logpdf(EFFECTS)) * (EFFECTS[1] - EFFECTS[0])


@pytest.mark.parametrize("yes", [(18, 19, 20, 11, 10, 9), (19, 20, 21, 10, 10, 9), (20, 21, 21, 9, 10, 9, 15)])
def test_limits_of_a_spread_that_is_hardly_told(yes: tuple[int, ...]) -> None:
    """The likelihood falls slowly: below, limits are not those of minus the spread; above, 25 nodes are too few."""
    spread = counted(yes, 30, RandomizedResponse(["yes", "no"], truth="3/4")).spread()

    def profile(at: float) -> float:
        sums = (np.log(integrals(yes, 30, 0.75, b, at).sum(axis=1)).sum() for b in np.linspace(-0.6, 0.3, 91))
        return float(max(sums))

    best = max(profile(at) for at in np.linspace(spread.value - 0.1, spread.value + 0.1, 5))
    assert spread.statistic > 3.841459
    assert_allclose(2 * (best - profile(spread.low)), 3.841459, atol=0.01)
    if spread.high < np.inf:
        assert_allclose(2 * (best - profile(spread.high)), 3.841459, atol=0.01)
    else:
        assert 2 * (best - profile(10.0)) < 3.841459


def test_effects_where_the_likelihood_is_flat_at_no_spread() -> None:
    """The squares of scores nearly add up to the information, so that the spread has no error of its own at 0.

    Effects are averages over spreads, which are as probable as their likelihood: here by sums over 400 of them. The
    intercept is 0 by symmetry.
    """
    yes = 5 + np.array([2, -2] * 50 + [1, -1] * 49 + [0, 0])
    fit = counted(yes, 10, DIRECT)
    assert fit.spread().value == 0
    logs, means, squares = [], [], []
    for spread in np.linspace(0, 1, 400):
        parts = {b: integrals(yes, 10, 1.0, b, spread) for b in (-0.01, 0.0, 0.01)}
        values = {b: np.log(part.sum(axis=1)).sum() for b, part in parts.items()}
        mean = {b: spread * (part @ EFFECTS) / part.sum(axis=1) for b, part in parts.items()}
        information = -(values[-0.01] - 2 * values[0.0] + values[0.01]) / 0.01**2
        along = ((mean[0.01] - mean[-0.01]) / 0.02) ** 2 / information
        logs.append(values[0.0])
        means.append(mean[0.0])
        squares.append(spread**2 * (parts[0.0] @ EFFECTS**2) / parts[0.0].sum(axis=1) + along)
    chance = np.linspace(0, 1, 400) * np.exp(np.array(logs) - max(logs))  # the prior is flat in the variance
    chance /= chance.sum()
    effect = chance @ np.array(means)
    found = fit.effects()
    assert_allclose(found.effects, effect, rtol=0.02, atol=1e-8)  # of a dozen spreads
    assert_allclose(found.errors, np.sqrt(chance @ np.array(squares) - effect**2), rtol=0.02)


# Tests of terms


def test_terms_are_tested_with_the_spread_free(fit: Regression) -> None:
    smaller = regress("cheated ~ (1 | school)", PUPILS, {"dice": DICE, "direct": DIRECT}, by="asked")
    ratio = 2 * (value_of(fit) - value_of(smaller))
    assert_allclose(fit.terms().statistic, ratio, rtol=1e-6)
    assert fit.terms().freedom == 1
    assert_allclose(fit.compare(smaller).statistic, ratio, rtol=1e-6)
    assert fit.criteria.aic is not None
    assert_allclose(fit.criteria.aic, -2 * value_of(fit) + 2 * 3, rtol=1e-12)
    with pytest.raises(ValueError, match=r"the same random intercepts.*spread\(\)"):
        fit.compare(regress("cheated ~ 1", PUPILS, {"dice": DICE, "direct": DIRECT}, by="asked"))


def test_a_check_says_why_it_is_none(fit: Regression) -> None:
    check = fit.check()
    assert check.deviance is None
    assert check.groups is None
    assert "random intercepts" in check.text()


def test_sensitivity_refits_with_effects(fit: Regression) -> None:
    data = {name: values[PUPILS["asked"] == "dice"] for name, values in PUPILS.items()}
    alone = regress("cheated ~ age + (1 | school)", data, DICE)
    both = alone.sensitivity("no", (0, 0.1))
    assert both.fits[1].model_data.groups is not None
    assert_allclose(both.fits[0].coefficients, alone.coefficients, atol=1e-6)
    assert both.fits[1].log_likelihood != alone.log_likelihood


# Outputs


def test_every_door_says_the_spread(fit: Regression) -> None:
    spread = fit.spread()
    said = f"a standard deviation of {spread.value:.2f} (95 % interval {spread.low:.2f} to {spread.high:.2f}"
    assert said in spread.text()
    assert typeset(spread).columns["spread"] == [f"{spread.value:.2f}"]
    for text in (fit.text(), fit.to_markdown(), fit.to_html(), fit._repr_html_()):
        assert said in text.replace("\n", " ")
    document = json.loads(fit.to_json())
    assert document["formula"] == "cheated ~ age + (1 | school)"
    between = document["intercepts"]
    assert (between["spread"], between["low"], between["high"]) == (spread.value, spread.low, spread.high)
    assert between["groups"] == 12
    assert between["nodes"] == 25
    assert json.loads(spread.to_json())["p"] == spread.p_value
    assert spread.table()["spread"][0] == spread.value
    assert "school" in spread.to_markdown()
    assert json.loads(regress("dice ~ age", PUPILS, DICE).to_json())["intercepts"] is None


def test_formula_columns_matrix_and_tally_are_the_same() -> None:
    one = regress("dice ~ age + (1 | school)", PUPILS, DICE)
    by_name = regress("dice", PUPILS, DICE, on=["age"], intercepts="school")
    others = {name: PUPILS[name] for name in ("dice", "school")}
    ages = PUPILS["age"][:, np.newaxis]
    matrix = regress("dice", others, DICE, X=ages, names=["years"], intercepts="school")
    counted = regress("~ age + (1 | school)", tally(PUPILS, DICE, column="dice", by=["age", "school"]))
    for other in (by_name, matrix, counted):
        assert_allclose(other.finite_coefficients, one.finite_coefficients, rtol=1e-9)
    assert by_name.model_data.formula == one.model_data.formula == "dice ~ age + (1 | school)"


def test_rows_without_a_group_are_left_out() -> None:
    lacking = PUPILS | {"school": np.where(np.arange(300) < 10, None, PUPILS["school"])}
    fit = regress("dice ~ age + (1 | school)", lacking, DICE)
    assert fit.model_data.missing == 10
    assert fit.people == 290


def test_more_nodes_where_25_are_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixed_models, "DOUBLING_CHANGES", -1.0)  # none is good enough
    fit = regress("dice ~ age + (1 | school)", PUPILS, DICE)
    assert fit.nodes == 51


# Errors


@pytest.mark.parametrize(
    ("formula", "options", "said"),
    [
        ("dice ~ (1 | four)", {}, "at least 5 groups, but column 'four' has 4"),
        ("dice ~ (1 | person)", {}, "groups with more than one report"),
        ("dice ~ age + school + (1 | school)", {}, "a term or the groups"),
        ("dice ~ (age | school)", {}, "one random intercept at most"),
        ("dice ~ (1 | school) + (1 | four)", {}, "one random intercept at most"),
        ("dice ~ age:(1 | school)", {}, "one random intercept at most"),
        ("dice ~ age + (1 | school):four", {}, "one random intercept at most"),
        ("dice ~ age + (1 | school) * four", {}, "one random intercept at most"),
        ("dice ~ (1 | dice)", {}, "must not be a covariate"),
        ("dice ~ (1 | school)", {"weights": "w"}, "left out with sampling weights"),
        ("dice ~ (1 | school)", {"clusters": "school"}, "clusters and strata must be left out"),
        ("dice ~ (1 | school)", {"strata": "four"}, "clusters and strata must be left out"),
        ("dice ~ (1 | school)", {"model": "linear"}, "need a likelihood"),
        ("dice ~ (1 | school)", {"penalty": "jeffreys"}, "penalty must be left out"),
        ("dice ~ (1 | school)", {"errors": "robust"}, "errors must be 'observed'"),
        ("dice ~ (1 | school)", {"intercepts": "four"}, "random intercepts must be given once"),
    ],
)
def test_refused_in_one_line(formula: str, options: dict[str, Any], said: str) -> None:
    n = len(PUPILS["age"])
    data = PUPILS | {"four": np.arange(n) % 4, "person": np.arange(n), "w": 1.0 + np.arange(n) % 3}
    with pytest.raises((ValueError, TypeError), match=said) as error:
        regress(formula, data, DICE, **options)
    assert "\n" not in str(error.value)


def test_three_answers_without_an_order_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two answers or for ordered ones.*coarsened"):
        regress("times ~ (1 | school)", PUPILS, SPINNER)


def test_a_spread_that_runs_away_is_refused() -> None:
    """Persons with two reports each, all of them alike: the likelihood rises with the spread for ever."""
    answers = np.repeat(["yes", "no"], 20)
    with pytest.raises(ValueError, match="the reports do not show how much the 20 groups of 'person' differ"):
        regress("a ~ (1 | person)", {"a": answers, "person": np.repeat(np.arange(20), 2)}, DIRECT)


def test_persons_of_the_students_are_refused() -> None:
    rows = sample("plagiarism.csv")
    data: dict[str, Any] = {name: [row[name] for row in rows] for name in ("response", "id", "RRmodel")}
    data |= {name: [float(row[name]) for row in rows] for name in ("Gender", "RR", "pp")}
    designs = {n: RandomizedResponse(["1", "0"], odds=o) for n, o in (("DQ", (1, 0)), ("Crosswise", (1, 3)))}
    with pytest.raises(ValueError, match="the reports do not show how much"):
        regress("response ~ Gender + RR + pp + (1 | id)", data, designs, by="RRmodel")


def test_methods_without_groups_say_what_is_missing() -> None:
    plain = regress("dice ~ age", PUPILS, DICE)
    with pytest.raises(ValueError, match="spread needs random intercepts"):
        plain.spread()
    with pytest.raises(ValueError, match="effects need random intercepts"):
        plain.effects()
    with pytest.raises(ValueError, match="effects must be left out without random intercepts"):
        plain.predict(effects="median")


def test_targets_and_effects_that_are_not(fit: Regression) -> None:
    with pytest.raises(ValueError, match="target must be 'realised' with random intercepts"):
        fit.predict(target="population")
    with pytest.raises(ValueError, match="effects must be one of averaged, median"):
        fit.margins(effects="mean")


@pytest.mark.long
def test_intervals_cover_what_they_say() -> None:
    """150 surveys of 40 schools: 95 % intervals hold in 95 %, within four standard errors (0.07; 6e-5 each).

    So do those of effects on average over schools. The part of 40 that hold varies by 0.06 between surveys, which share
    their estimate of the spread (60 others: 0.948): four standard errors of its mean are 0.02.
    """
    rng, reps, spread = np.random.default_rng(1), 150, 0.6
    held = np.zeros(3)
    effects = []
    for _ in range(reps):
        school, x = np.repeat(np.arange(40), 25), rng.integers(0, 4, 1000)
        u = spread * rng.normal(size=40)
        answers = (rng.random(1000) > expit(-0.8 + 0.4 * x + u[school])).astype(int)
        data = {"a": np.array(["yes", "no"])[DICE.draw(answers, rng.bytes)], "x": x, "g": school}
        fit = regress("a ~ x + (1 | g)", data, DICE, starts=0)
        table, found, each = fit.table(), fit.spread(), fit.effects()
        held += [
            table["low"][0] <= -0.8 <= table["high"][0],
            table["low"][1] <= 0.4 <= table["high"][1],
            found.low <= spread <= found.high,
        ]
        effects.append(((each.low <= u) & (u <= each.high)).mean())
    assert (np.abs(held / reps - 0.95) < 0.072).all(), held / reps
    assert abs(np.mean(effects) - 0.95) < 4 * np.std(effects, ddof=1) / np.sqrt(reps), np.mean(effects)
