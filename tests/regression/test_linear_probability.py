"""Linear shares of small groups (`linear`): reports that are all alike do not make an estimate certain."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from cases import NINE
from warner import RandomizedResponse, estimate, tally
from warner.regression.regressions import regress
from warner.regression.variance_floors import larger


def two_groups(yes: int, people: int, **options: Any) -> Any:
    """Return 12,000 respondents, of whom 34 % report yes, beside a few others."""
    counts = np.array([4080, 7920, yes, people - yes])
    data = {"x": np.array([0, 0, 1, 1]), "r": np.array(["yes", "no"] * 2), "n": counts}
    return regress(
        "r", {name: column[counts > 0] for name, column in data.items()}, NINE, on=["x"], counts="n", **options
    )


def test_twenty_reports_that_are_all_alike_have_the_error_of_randomization() -> None:
    # A report of yes counts as (1 - .1)/.8, one of no as -.1/.8. If no answer is yes, a tenth report it, and the
    # mean of 20 people varies by sqrt(.1 * .9 / 20) / .8 = .0839.
    fit = two_groups(0, 20, model="linear")
    error = np.sqrt(0.1 * 0.9 / 20) / 0.8
    for target in ("realised", "population"):
        assert_allclose(fit.predict({"x": [1]}, target=target).errors[0], error, rtol=1e-9)
        assert fit.margins(["x"], target=target).errors[0, 0] > error
    large = np.sqrt(0.34 * 0.66 / 12_018) / 0.8  # HC1: 12,020 people, 2 columns
    assert_allclose(fit.standard_errors[0], large, rtol=1e-3)


@pytest.mark.parametrize(
    ("people", "share"), [(20, 0.0), (20, 0.02), (30, 0.0), (30, 0.02), (60, 0.02), (200, 0.005), (200, 0.0)]
)
def test_enumerated_misses_of_small_groups(people: int, share: float) -> None:
    # The large group's share is known to half a point; it is as estimated, and only the small one is summed over.
    missed = 0.0
    for yes, probability in enumerate(binom.pmf(np.arange(people + 1), people, 0.1 + 0.8 * share)):
        if probability > 1e-6:
            change = two_groups(yes, people, model="linear").margins(["x"])
            missed += probability * (not change.low[0, 0] <= share - 0.3 <= change.high[0, 0])
    assert missed < 0.05


def test_a_linear_model_says_where_few_people_speak() -> None:
    small, large = (two_groups(people // 5, people, model="linear") for people in (60, 600))
    for result in (small, small.margins(), small.predict({"x": [1]}), small.terms()):
        assert "About x" in " ".join(result.notes)
        assert "fewer than 100 respondents are informative" in " ".join(result.text().split())
    assert not any(result.notes for result in (large, large.margins(), large.predict(), large.terms()))


@pytest.mark.parametrize(("people", "few"), [(99, True), (100, False)])
def test_a_mean_of_a_hundred_people_has_no_warning(people: int, few: bool) -> None:
    # Of a model without covariates every respondent is as informative as every other.
    fit = regress("r ~ 1", {"r": ["yes", "no"], "n": [40, people - 40]}, NINE, counts="n", model="linear")
    assert any("fewer than 100 respondents are informative" in note for note in fit.notes) == few


def test_reports_that_are_all_alike_can_be_tested() -> None:
    fit = regress("r ~ x", {"r": ["no"] * 40, "x": np.arange(40.0)}, NINE, model="linear")
    assert fit.terms().p_value == pytest.approx(1.0)
    assert (fit.standard_errors > 0).all()


ALIKE: dict[str, Any] = {
    "r": ["yes"] * 15,
    "x": np.arange(15) % 2,
    "g": np.arange(15) % 5,
    "s": np.arange(15) % 3,
    "w": 1.0 + np.arange(15) % 4,
}


@pytest.mark.parametrize(
    "sample",
    [{}, {"weights": "w"}, {"strata": "s"}, {"clusters": "g"}, {"strata": "s", "sampled": 0.5}],
    ids=["simple", "weighted", "strata", "clusters", "finite"],
)
def test_direct_answers_that_are_all_alike_have_the_exact_interval(sample: dict[str, Any]) -> None:
    direct = RandomizedResponse(["yes", "no"], odds=(1, 0))
    low = estimate(tally(ALIKE, direct, column="r", **sample)).table()["low"][0]
    fit = regress("r ~ 1", ALIKE, direct, model="linear", **sample)
    table = fit.table()
    assert_allclose(table["low"][0], low, rtol=1e-9)
    assert_allclose(table["high"][0], 2 - low, rtol=1e-9)
    assert "the exact interval of a share" in " ".join(fit.text().split())
    for target in ("realised", "population"):
        assert_allclose(fit.predict(target=target).low[0, 0], low, rtol=1e-9)
    if not sample:
        assert_allclose(table["low"][0], 0.025 ** (1 / 15))  # the share with which 15 of 15 have probability 0.025


def test_differences_of_direct_answers_that_are_all_alike_join_both_exact_intervals() -> None:
    # Eight respondents have x = 0, and seven x = 1.
    fit = regress("r ~ x", ALIKE, RandomizedResponse(["yes", "no"], odds=(1, 0)), model="linear")
    first, second = (1 - 0.025 ** (1 / n) for n in (8, 7))
    table = fit.table()
    assert_allclose(table["low"], [1 - first, -np.hypot(first, second)], rtol=1e-9)
    assert_allclose(fit.predict({"x": [0, 1]}).low[:, 0], [1 - first, 1 - second], rtol=1e-9)
    assert_allclose([table["p"][1], fit.terms().p_value], 1.0)


def test_one_group_that_is_all_alike_has_the_exact_interval_beside_another() -> None:
    data = {"r": ["yes", "no"] * 20 + ["yes"] * 10, "x": [0] * 40 + [1] * 10}
    for answers in (["yes", "no"], ["yes", "no", "other"]):
        shown = regress("r ~ x", data, RandomizedResponse(answers, odds=(1, 0)), model="linear").predict({"x": [0, 1]})
        half = 1.959964 * np.sqrt(0.25 / 40 * 50 / 48)  # HC1: 50 respondents, 2 columns
        assert_allclose(shown.low[:, 0], [0.5 - half, 0.025 ** (1 / 10)], rtol=1e-6)
        assert_allclose(shown.high[1, 1:], 1 - 0.025 ** (1 / 10), rtol=1e-6)


def test_equal_numbers_may_differ_as_far_as_an_answer_can() -> None:
    design = RandomizedResponse([0, 4, 10], odds=(1, 0))
    table = regress("r ~ 1", {"r": [4] * 15}, design, model="linear", values=[0, 4, 10]).table()
    assert_allclose(table["high"][0], 4 + 6 * (1 - 0.025 ** (1 / 15)), rtol=1e-9)


def test_as_many_columns_as_people_are_refused() -> None:
    with pytest.raises(ValueError, match="must have fewer columns than there are respondents, but has 1 for 1"):
        regress("r ~ 1", {"r": ["yes"]}, NINE, model="linear")
    with pytest.raises(ValueError, match="but has 2 for 2; leave some terms out"):
        regress("r ~ x", {"r": ["yes", "no"], "x": [0.0, 1.0]}, NINE, model="linear")


def test_three_answers_and_weights_never_vary_less_than_randomization() -> None:
    # Own sum over people of the covariances of debiased reports, for their fitted shares, none of which leaves 0 to 1.
    design = RandomizedResponse(list("abc"), odds=(4, 1))
    rng = np.random.default_rng(3)
    x, weight = np.repeat([0.0, 1.0], 150), rng.uniform(0.5, 2, 300)
    report = rng.choice(3, 300)
    data = {"r": np.array(list("abc"))[report], "x": x, "w": weight}
    fit = regress("r ~ x", data, design, model="linear", weights="w")
    inverse = np.linalg.inv(design.channel())
    columns = np.column_stack([np.ones(300), x])
    bread = np.linalg.inv((columns.T * weight) @ columns)
    shares = fit.specification.shares_at(fit.finite_coefficients, columns)
    assert shares.min() > 0
    kept = [place for place in range(3) if place != fit.specification.reference_index]
    least = np.zeros((4, 4))
    for n, k in itertools.product(range(300), range(3)):
        mean = design.channel()[k] @ inverse
        varies = (inverse.T * design.channel()[k]) @ inverse - np.outer(mean, mean)
        part = np.kron(varies[np.ix_(kept, kept)], np.outer(columns[n], columns[n]))
        least += weight[n] ** 2 * shares[n, k] * part
    least = np.kron(np.eye(2), bread) @ least @ np.kron(np.eye(2), bread)
    assert np.linalg.eigvalsh(fit.covariance - least).min() > -1e-12


def test_the_larger_of_two_covariances() -> None:
    assert_allclose(larger(np.diag([4.0, 1.0, 0.0]), np.diag([1.0, 9.0, 0.0])), np.diag([4.0, 9.0, 0.0]), atol=1e-12)
    turn = np.array([[1.0, 2.0], [0.5, -1.0]])  # whatever the coordinates
    first, second = np.diag([4.0, 1.0]), np.diag([1.0, 9.0])
    found = larger(turn @ first @ turn.T, turn @ second @ turn.T)
    assert_allclose(found, turn @ np.diag([4.0, 9.0]) @ turn.T, rtol=1e-10)
