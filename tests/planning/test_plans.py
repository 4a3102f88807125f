"""Plans: sample size and epsilon (`number_precision`), expected populations (`precision`), their text (`wording`)."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binom, norm

import warner
from cases import COIN
from warner import (
    Plan,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    estimate,
    inv,
    inv_p,
    plan,
    pool,
    surveys,
)
from warner.inference.binomial import smallest_share
from warner.simulate import reports_of_population, uniform, zipf

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def half_width(design: Any, n: float, share: float, tail: float = 0.025) -> Any:
    """Write the exact interval anew, with SciPy's distributions, at the expected number of reports."""
    count = n * (design.q + (design.p - design.q) * share)
    low = beta.ppf(tail, count, n - count + 1)
    high = beta.ppf(1 - tail, count + 1, n - count)
    return (high - low) / 2 / abs(design.p - design.q)


def test_people_by_hand() -> None:
    # p = 3/4, q = 1/4; worst at phi = 1/2. The usual formula gives (1.959964 / 0.02)^2 / 4 / (1/2)^2 = 9,603.6. Either
    # end of the exact interval is about 1/(2n) further out on the scale of phi, so 1/n on that of shares, which is
    # 1/192 of 0.02: that part more people, twice. Corrections of higher order are of the size of z^2.
    made = plan(COIN, half_width=0.02)
    assert abs(made.people - 9603.6 * (1 + 2 / (0.02 * 9604))) < 1.96**2
    assert made.share == 0.5
    assert_allclose(made.standard_error, 0.5 / math.sqrt(made.people) / 0.5, rtol=1e-12)
    # Without a population the error is that of equal shares: variances 1/4 / (n / 4) each.
    assert_allclose(made.error, math.sqrt(1 / made.people), rtol=1e-12)


@pytest.mark.parametrize("simultaneous", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.4, 1.0])
@pytest.mark.parametrize(("k", "odds"), [(2, (3, 1)), (10, (5, 1)), (300, (60, 1)), (3, (1, 4)), (4, (1, 0))])
def test_the_smallest_number_of_people(k: int, odds: tuple[int, int], share: float, simultaneous: bool) -> None:
    design = RandomizedResponse(k, odds=odds)
    if odds == (1, 0) and share in {0.0, 1.0}:
        return  # no chance at all
    tail = 0.05 / (k if simultaneous and k > 2 else 1)  # of two answers one is as good as both
    made = plan(design, half_width=0.03, share=share, level=0.9, simultaneous=simultaneous)
    assert half_width(design, made.people, share, tail) <= 0.03 * (1 + 1e-9)
    assert half_width(design, made.people - 1, share, tail) > 0.03 * (1 - 1e-9)
    assert_allclose(made.half_width, half_width(design, made.people, share, tail), rtol=1e-9)
    # Never fewer than the usual formula says, and seldom many more.
    reported = design.q + (design.p - design.q) * share
    usual = (norm.ppf(1 - tail) / 0.03 / (design.p - design.q)) ** 2 * reported * (1 - reported)
    assert usual <= made.people <= 1.3 * usual + 200


@given(st.integers(2, 200), st.floats(0.2, 6), st.floats(0.005, 0.3))
def test_the_worst_case_is_the_worst_case(k: int, epsilon: float, target: float) -> None:
    made = plan(k, epsilon=epsilon, half_width=target)
    for share in (0, 0.1, 0.3, 0.5, 0.8, 1):
        assert plan(made.design, people=made.people, share=share).half_width <= target * (1 + 1e-6)


@given(st.integers(2, 500), st.integers(20, 10**6), st.floats(0.01, 0.3), st.sampled_from([None, 0.0, 0.02, 0.6]))
def test_the_smallest_epsilon(k: int, people: int, target: float, share: float | None) -> None:
    options: dict[str, Any] = {"mechanism": "randomized response", "share": share}
    best = plan(k, people=people, **options, epsilon=20).half_width
    if best > target:
        with pytest.raises(ValueError, match="no epsilon"):
            plan(k, people=people, **options, half_width=target)
        return
    made = plan(k, people=people, **options, half_width=target)
    assert made.solved_for == "epsilon"
    assert made.half_width <= target  # of the very design that is returned
    assert plan(k, people=people, **options, epsilon=made.epsilon * (1 - 1e-6)).half_width > target
    # What is shown is rounded up, and reaches the target as well.
    assert plan(k, people=people, **options, epsilon=made.design.shown_epsilon()).half_width <= target
    assert made.epsilon <= float(made.design.shown_epsilon())


@pytest.mark.parametrize("share", [None, 0.1])
@pytest.mark.parametrize(("k", "people", "target"), [(4, 20_000, 0.02), (15, 20_000, 0.02), (100, 20_000, 0.02)])
def test_the_smallest_epsilon_is_that_of_the_mechanism_recommended_there(
    k: int, people: int, target: float, share: float | None
) -> None:
    made = plan(k, people=people, half_width=target, share=share)
    assert made.half_width <= target
    assert made.mechanisms is not None
    chosen = made.mechanisms.design()
    assert chosen.mechanism == made.design.mechanism
    same = plan(k, mechanism=chosen.mechanism, people=people, half_width=target, share=share)
    assert same.design == made.design
    # No more than with randomized response.
    assert (
        made.epsilon <= plan(k, mechanism="randomized response", people=people, half_width=target, share=share).epsilon
    )


def test_a_plan_calls_a_survey_design_by_its_name(tmp_path: Path) -> None:
    made = surveys.crosswise("1/4")
    made.save(tmp_path / "design.json")
    for design in (made, warner.load_design(tmp_path / "design.json")):
        assert "Design: crosswise, 2 answers, epsilon" in plan(design, people=1000).text()


def test_a_plan_for_the_least_favorable_share_also_has_the_number_for_ten_percent() -> None:
    made = plan(1000, epsilon=1, half_width=0.01)
    assert made.usual is not None
    assert made.usual.people == plan(made.design, half_width=0.01, share=0.1).people < made.people
    assert f"For an answer with a true share of 10 %, {made.usual.people:,} respondents are enough." in first_line(made)
    given = plan(1000, epsilon=1, people=10_000)
    assert given.usual is not None
    assert given.usual.people == 10_000
    assert given.usual.half_width == plan(given.design, people=10_000, share=0.1).half_width
    assert f"For an answer with a true share of 10 %, it is {100 * given.usual.half_width:.3g} percentage points." in (
        first_line(given)
    )
    document = json.loads(made.to_json())["usual"]
    assert document == {"share": 0.1, "people": made.usual.people, "half_width": made.usual.half_width}
    # With a share of your own, or a population, or another measure, that is the number.
    for options in ({"share": 0.2}, {"population": "uniform"}):
        assert plan(1000, epsilon=1, half_width=0.01, **options).usual is None
    assert plan(1000, epsilon=1, error=0.01).usual is None
    assert "of 1 percentage point for a share of 20 % at epsilon 1." in first_line(
        plan(1000, epsilon=1, half_width=0.01, share=0.2)
    )


def first_line(made: Any) -> str:
    return " ".join(str(made).partition("Design:")[0].split())


@pytest.mark.parametrize("k", [2, 30])
def test_very_many_people_are_no_matter_of_rounding(k: int) -> None:
    # Where the beta distribution gives way to the normal one, nothing jumps; beyond, widths go with the root of n.
    design = RandomizedResponse(k, epsilon=1)
    for share in (0.0, 0.4):
        least = 1e8 / (design.q + (design.p - design.q) * share)
        below, above, far = (plan(design, people=int(n), share=share) for n in (0.999 * least, 1.001 * least, 2**53))
        root = math.sqrt(above.people / below.people)
        assert_allclose(below.half_width, root * above.half_width, rtol=1e-6)
        assert_allclose(far.half_width * math.sqrt(far.people / above.people), above.half_width, rtol=1e-4)
        assert far.half_width > norm.ppf(0.975) * far.standard_error
        assert_allclose(below.smallest_share, root * above.smallest_share, rtol=1e-3)
    solved = plan(3, people=2**53, half_width=0.01)
    assert solved.half_width > norm.ppf(0.975) * solved.standard_error


def test_any_two_give_the_third() -> None:
    by_people = plan(7, epsilon=1.25, half_width=0.04)
    by_width = plan(7, epsilon=1.25, people=by_people.people)
    by_epsilon = plan(7, people=by_people.people, half_width=by_width.half_width)
    assert [made.solved_for for made in (by_people, by_width, by_epsilon)] == ["people", "half_width", "epsilon"]
    assert_allclose(by_width.half_width, 0.04, rtol=1e-3)
    assert_allclose(by_epsilon.epsilon, 1.25, rtol=1e-9)
    by_error = plan(7, epsilon=1.25, error=by_width.error)
    assert by_error.people == by_people.people
    assert_allclose(plan(7, people=by_people.people, error=by_width.error).epsilon, 1.25, rtol=1e-9)


def unclipped(counts: Any, n: int, design: Any) -> Any:
    """Return the half-widths of the interval for whole counts, before it is cut at 0 and 1."""
    low = np.where(counts > 0, beta.ppf(0.025, np.maximum(counts, 1), n - counts + 1), 0)
    high = np.where(counts < n, beta.ppf(0.975, counts + 1, np.maximum(n - counts, 1)), 1)
    return (high - low) / 2 / abs(design.p - design.q)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05, 0.5, 1.0, None])
@pytest.mark.parametrize("target", [0.3, 0.1, 0.02])
@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.5), (2, 4), (20, 1), (20, 5), (1000, 2), (1000, 7)])
def test_the_average_half_width_is_as_promised(k: int, epsilon: float, target: float, share: float | None) -> None:
    made = plan(k, epsilon=epsilon, half_width=target, share=share)
    n: int = made.people
    design: Any = made.design
    reported = design.q + (design.p - design.q) * made.share
    middle, spread = n * reported, math.sqrt(n * reported * (1 - reported))
    counts = np.arange(max(0, math.floor(middle - 7 * spread - 9)), min(n, math.ceil(middle + 7 * spread + 9)) + 1)
    counts = counts if counts.size < 20_000 else counts[:: counts.size // 10_000]
    chances = binom.pmf(counts, n, reported)
    average = chances @ unclipped(counts, n, design) / chances.sum()
    # With a handful of reports the average is below the promise, by more than 5 %.
    few = n * min(reported, 1 - reported) < 5
    assert (0.8 if few else 0.95) * target <= average <= 1.01 * target


@pytest.mark.parametrize(("k", "epsilon", "target"), [(2, 1, 0.05), (12, 2, 0.03), (200, 4, 0.01)])
def test_simulated_surveys_of_the_planned_size_keep_the_promise(k: int, epsilon: float, target: float) -> None:
    truth = zipf(k, 1.3)
    made = plan(k, mechanism="randomized response", epsilon=epsilon, half_width=target, share=truth[0])
    rng = np.random.default_rng(5)
    counts = reports_of_population(truth, made.people, made.design, rng=rng, size=300)
    assert_allclose(unclipped(counts[:, 0], made.people, made.design).mean(), target, rtol=0.05)
    # And it is the interval that an estimate gives, where that is not cut.
    table = estimate(Tally(made.design, counts[0])).table()
    if table["low"][0] > 0 and table["high"][0] < 1:
        assert_allclose((table["high"][0] - table["low"][0]) / 2, unclipped(counts[0, 0], made.people, made.design))


@pytest.mark.parametrize("population", ["uniform", ("zipf", 1.5)])
def test_the_error_is_that_of_the_unbiased_shares(population: Any) -> None:
    k, n = 12, 3000
    made = plan(k, mechanism="randomized response", epsilon=1.5, people=n, population=population)
    truth = uniform(k) if population == "uniform" else zipf(k, 1.5)
    rng = np.random.default_rng(8)
    surveys = inv(reports_of_population(truth, n, made.design, rng=rng, size=4000), made.design)
    squared = np.square(surveys - truth).mean(axis=1)
    four = 4 * squared.std() / math.sqrt(squared.size)
    assert abs(squared.mean() - made.error**2) < four
    assert made.errors["inv"] == made.error


@given(st.lists(st.floats(0, 1), min_size=3, max_size=12).filter(lambda shares: sum(shares) > 0))
def test_without_a_population_the_error_is_the_largest(shares: list[float]) -> None:
    truth = np.array(shares) / sum(shares)
    worst = plan(truth.size, epsilon=1, people=1000)
    assert plan(truth.size, epsilon=1, people=1000, population=truth).error <= worst.error * (1 + 1e-12)


def test_with_a_population_the_half_width_is_the_widest_of_its_answers() -> None:
    shares = [0.02, 0.08, 0.2, 0.7]
    made = plan(4, epsilon=2, people=1000, population=shares)
    widths = [half_width(made.design, 1000, share) for share in shares]
    assert_allclose(made.half_width, max(widths), rtol=1e-9)
    assert made.share == shares[int(np.argmax(widths))]


def test_the_number_of_people_for_an_error() -> None:
    # (1 - 1/K) / (K error^2 kappa^2), odds 5 : 1 among 4: p = 5/8, q = 1/8, kappa = 1/2: 0.75 / (4 * 0.0001 / 4) = 7500
    assert plan(RandomizedResponse(4, odds=(5, 1)), error=0.01).people == 7500
    # Everybody holds the first: phi = (5, 1, 1, 1)/8, sum of squares 28/64: 36/64 / 0.0001 = 5625
    assert plan(RandomizedResponse(4, odds=(5, 1)), error=0.01, population=[1, 0, 0, 0]).people == 5625


@pytest.mark.parametrize(("k", "odds"), [(2, (3, 1)), (10, (20, 1)), (1000, (50, 1)), (3, (1, 5)), (2, (1, 3))])
@pytest.mark.parametrize("n", [500, 20_000])
def test_the_smallest_share_is_found_with_its_power(k: int, odds: tuple[int, int], n: int) -> None:
    design = RandomizedResponse(k, odds=odds)
    share = smallest_share(n, design.q, design.p - design.q, 0.05 / k, 0.9)
    p, q = design.p, design.q
    counts = np.arange(n + 1)
    # Few or many reports support the answer; reject where the probability under noise is at most alpha / K.
    chance = binom.sf(counts - 1, n, q) if p > q else binom.cdf(counts, n, q)
    found = chance <= 0.05 / k
    assert found.any()
    if share > 1:
        assert binom.pmf(counts, n, p)[found].sum() < 0.9
        return
    assert_allclose(binom.pmf(counts, n, q + (p - q) * share)[found].sum(), 0.9, rtol=1e-8)
    usual = (norm.ppf(1 - 0.05 / k) + norm.ppf(0.9)) * math.sqrt(q * (1 - q) / n) / abs(p - q)
    if n * min(q, 1 - q) > 1000:
        assert_allclose(share, usual, rtol=0.1)


def test_the_smallest_share_is_the_usual_formula_for_many_reports() -> None:
    design, n = RandomizedResponse(10, epsilon=2), 10**10
    usual = (norm.ppf(1 - 0.05 / 10) + norm.ppf(0.8)) * math.sqrt(design.q * (1 - design.q) / n)
    rates = design.q, design.p - design.q
    assert_allclose(smallest_share(n, *rates, 0.05 / 10, 0.8), usual / (design.p - design.q), rtol=1e-3)


@pytest.mark.parametrize(("answers", "people"), [(1000, 3), (2, 3), (2, 10)])  # more reports than there are, or 106 %
def test_too_few_people_find_nothing(answers: int, people: int) -> None:
    made = plan(answers, epsilon=1, people=people)
    assert made.smallest_share > 1
    assert "no answer, however common" in made.text()


def test_a_pilot_is_the_population() -> None:
    survey = RandomizedResponse(["a", "b", "c"], epsilon=1)
    tally = Tally(survey, [300, 220, 180])
    made = plan(pilot=tally, people=5000)
    assert made.design == survey
    assert_array_equal(made.population, inv_p([300, 220, 180], survey))
    assert made.errors.keys() == {"inv", "mle", "inv_p", "inv_n"}
    assert plan(pilot=estimate(tally), people=5000).errors == made.errors  # seeded from the plan itself
    assert plan(pilot=tally, half_width=0.05).design == survey
    solved = plan(pilot=tally, people=5000, half_width=0.04)
    assert (solved.solved_for, solved.design.domain) == ("epsilon", survey.domain)
    assert plan(pilot=tally, epsilon=2, people=10).epsilon <= 2
    assert plan(RandomizedResponse(["a", "b", "c"], epsilon=3), pilot=tally, people=10).epsilon <= 3
    groups = Tally(survey, [[100, 120, 100], [200, 100, 80]], by=("region",), groups=(("n",), ("s",)))
    assert_array_equal(plan(pilot=groups, people=5000).population, made.population)
    with pytest.raises(ValueError, match="same 4 answers"):
        plan(4, pilot=tally, people=5, epsilon=1)
    wrong: Any = [300, 220, 180]
    with pytest.raises(TypeError, match="pilot must be an Estimate, a Tally or a Pool"):
        plan(pilot=wrong, people=5)


def test_the_predicted_errors_are_those_of_simulated_surveys() -> None:
    truth = zipf(50, 1.5)
    made = plan(RandomizedResponse(50, epsilon=2), people=2000, population=truth, rng=np.random.default_rng(3))
    rng = np.random.default_rng(4)
    counts = reports_of_population(truth, 2000, made.design, rng=rng, size=2000)
    for name in ("mle", "inv_p", "inv_n"):
        squared = np.square(getattr(warner, name)(counts, made.design) - truth).mean(axis=1)
        # Twenty surveys against two thousand: five standard errors of the mean of twenty.
        assert abs(made.errors[name] ** 2 - squared.mean()) < 5 * squared.std() / math.sqrt(20)
    assert made.errors["inv_p"] < made.errors["inv"]
    assert plan(50, epsilon=2, people=2000, population=truth).errors == (
        plan(50, epsilon=2, people=2000, population=("zipf", 1.5)).errors
    )


def test_predicted_errors_hardly_depend_on_the_simulated_surveys() -> None:
    # Of two answers far from 0 and 1, all estimators are equal.
    for people in (2000, 2001):
        made = plan(RandomizedResponse(["yes", "no"], odds=(3, 1)), people=people, population=[0.3, 0.7])
        assert_allclose(list(made.errors.values()), made.error, rtol=1e-3)
    # 100 surveys, relative to inv in the same ones, vary by about 1 % here; six of these are 6 %.
    found = [
        plan(RandomizedResponse(10, epsilon=1), people=5000, population=zipf(10, 1.3), rng=np.random.default_rng(seed))
        for seed in (1, 2)
    ]
    assert_allclose(found[0].errors["mle"], found[1].errors["mle"], rtol=0.06)


def test_populations_by_name_and_from_files(tmp_path: Path) -> None:
    def shares(population: Any, domain: Any = 3) -> Any:
        return plan(domain, epsilon=1, people=10, population=population).population

    assert_allclose(shares("zipf:1"), np.array([6, 3, 2]) / 11)
    assert_array_equal(shares(("zipf", 1)), shares("zipf:1"))
    assert_allclose(shares("uniform"), [1 / 3] * 3)
    assert_allclose(shares([0.5, 0.25, 0.25]), [0.5, 0.25, 0.25])
    file = tmp_path / "people.csv"
    file.write_text("value,count\n2,30\n0,10\n")
    assert_allclose(shares(file), [0.25, 0, 0.75])
    file.write_text("share,value\n0.5,b\n0.3,a\n0.2,b\n", encoding="utf-8-sig")
    assert_allclose(shares(str(file), ["a", "b"]), [0.3, 0.7])
    file.write_text("value,share\na,33.3\nb,66.6\n")  # in percent, rounded
    assert_allclose(shares(file, ["a", "b"]), [1 / 3, 2 / 3])
    for text, said in (
        ("value,people\na,1\n", "columns value and share"),
        ("", "but has none"),
        ("value,count\na,1\nc,2\n", "'c' is not in it"),
        ("value,count\na,many\n", "numbers of at least 0"),
        ("value,count\na,-1\n", "numbers of at least 0"),
        ("value,count\na,0\n", "not all of them 0"),
        ("value,count\na\n", "numbers of at least 0"),
        ("value,share\na,0.5\nb,0.3\n", "shares that sum to 1, or to 100 in percent, but they sum to 0.8"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=said):
            shares(file, ["a", "b"])
    for wrong in ("pareto", "zipf:", "zipf:many", ("zipf", math.inf), [0.5, 0.5], [0.7, 0.7, -0.4], [1, 1, 1]):
        with pytest.raises(ValueError, match="population"):
            shares(wrong)
    for strange in ({"a": 0.5, "b": 0.5}, [[0.5], [0.2, 0.3]], ["a", "b", "c"]):
        with pytest.raises(TypeError, match="population must be 3 shares in the order of the answers, uniform, zipf:s"):
            shares(strange)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "two of epsilon .* none of them"),
        ({"people": 10}, "but got people"),
        ({"epsilon": 1}, "but got epsilon"),
        ({"epsilon": 1, "people": 10, "half_width": 0.1}, "epsilon and people and half_width"),
        ({"half_width": 0.1, "error": 0.1}, "half_width or error, not both"),
        ({"epsilon": 1, "people": 10, "population": "uniform", "pilot": 3}, "population or a pilot"),
    ],
)
def test_two_of_three_must_be_given(options: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        plan(3, **options)
    with pytest.raises(TypeError, match="possible answers"):
        plan(people=10, half_width=0.1)
    with pytest.raises(TypeError, match="not a design and epsilon"):
        plan(COIN, epsilon=1, people=10)
    with pytest.raises(TypeError, match="not a design and mechanism"):
        plan(COIN, mechanism="subset selection", people=10)
    with pytest.raises(TypeError, match="but got a design"):
        plan(COIN)
    assert plan(COIN, people=1000, error=0.1).solved_for == "epsilon"  # its mechanism and its answers are given


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"people": 0}, "people must be a whole number from 1"),
        ({"people": 2.5}, "people must be"),
        ({"people": True}, "people must be"),
        ({"people": 2**53 + 2}, "2\\^53"),
        ({"half_width": 0}, "half_width must be above 0 and below 0.5"),
        ({"half_width": -0.1}, "half_width must be"),
        ({"half_width": 0.5}, "half_width must be"),
        ({"half_width": math.nan}, "half_width must be"),
        ({"error": 1}, "error must be above 0 and below 1"),
        ({"people": 10, "share": 1.2}, "share must be from 0 to 1"),
        ({"people": 10, "share": math.nan}, "share must be"),
        ({"people": 10, "level": 1}, "level must be between 0 and 1"),
        ({"people": 10, "power": 0}, "power must be between 0 and 1"),
        ({"people": 10, "delta": 2}, "delta must be between 0 and 1"),
    ],
)
def test_bad_input_is_told(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        plan(3, epsilon=1, **options)


def test_a_design_without_information_cannot_be_planned_with() -> None:
    with pytest.raises(ValueError, match="an epsilon above 0"):
        plan(RandomizedResponse(3, odds=(1, 1)), people=10)


def test_what_no_epsilon_can_do_comes_with_what_can_be_done() -> None:
    with pytest.raises(ValueError, match="no epsilon up to 20") as caught:
        plan(2, people=100, half_width=0.05)
    said = str(caught.value)
    # 100 people without noise: 50 of 100, from 39.83 to 60.17 %; half is 10.17, rounded up. For 5 points: 402 people.
    assert "10.2 percentage points at best" in said
    assert "5 percentage points takes 403 respondents" in said or "5 percentage points takes 402 respondents" in said
    assert plan(2, people=403, half_width=0.05).epsilon < 20
    assert plan(2, people=100, half_width=0.1018).epsilon <= 20


def test_what_no_number_of_people_can_do_comes_with_what_can_be_done() -> None:
    with pytest.raises(ValueError, match=r"no sample size up to 2\^53 .* would reach") as caught:
        plan(10, epsilon=1e-6, half_width=0.001)
    reach = float(str(caught.value).split("would reach ")[1].split()[0]) / 100
    assert plan(10, epsilon=1e-6, half_width=reach * 1.01).people <= 2**53


def test_a_design_that_never_lies() -> None:
    made = plan(RandomizedResponse(3, odds=(1, 0)), half_width=0.05, delta=1e-6)
    assert made.shuffled_epsilon == math.inf
    assert json.loads(made.to_json())["shuffled_epsilon"] is None
    assert "no better than epsilon inf" in made.text()
    assert set(made.table()["epsilon"]) == {0.25, 0.5, 1, 2, 4, math.inf}


@pytest.mark.parametrize(
    ("options", "first"),
    [
        (
            {"epsilon": 1, "half_width": 0.03},
            "respondents are needed for an interval half-width of 3 percentage points",
        ),
        (
            {"people": 50_000, "half_width": 0.03},
            "is the smallest with which 50,000 respondents reach an interval half-width",
        ),
        ({"people": 50_000, "epsilon": 1}, "50,000 respondents at epsilon 1 give an interval half-width of"),
        ({"people": 50_000, "error": 0.01}, "reach a root-mean-square error of 1 percentage point."),
    ],
)
def test_the_first_line_answers_the_question(options: dict[str, Any], first: str) -> None:
    made = plan(10, **options, delta=1e-9, population="zipf:1")
    lines = repr(made).splitlines()
    assert first in lines[0]
    assert max(map(len, lines)) <= 120
    assert "central epsilon of at" in repr(made)
    assert "never larger" in repr(made)
    assert "percentage points" in repr(made)


def test_json_holds_every_number() -> None:
    made = plan(["a", "b"], epsilon=1, half_width=0.05, population="uniform", delta=1e-6)
    document = json.loads(made.to_json())
    assert RandomizedResponse.from_json(json.dumps(document["design"])) == made.design
    for name in (
        "people",
        "half_width",
        "error",
        "smallest_share",
        "errors",
        "shuffled_epsilon",
        "share",
        "goal",
        "measure",
    ):
        assert document[name] == getattr(made, name)
    assert document["population"] == [0.5, 0.5]
    assert made.design.domain == ("a", "b")


@pytest.mark.parametrize("population", [None, "zipf:1.2"])
@pytest.mark.parametrize("share", [None, 0.1])
@pytest.mark.parametrize("mechanism", ["randomized response", "subset selection"])
def test_the_table_holds_what_single_plans_say(mechanism: str, population: Any, share: float | None) -> None:
    options: dict[str, Any] = {"share": share, "population": population, "simultaneous": True}
    made = plan(6, mechanism=mechanism, epsilon=1.3, half_width=0.05, **options)
    table = made.table(epsilons=[0.5, 1.3, 3], people=[100, 10_000])
    assert table["epsilon"].tolist() == [0.5, 0.5, 1.3, 1.3, 3, 3]
    assert table["people"].tolist() == [100, 10_000] * 3
    for epsilon, n, width, error in zip(*table.values(), strict=True):
        single = plan(6, mechanism=mechanism, epsilon=epsilon, people=int(n), **options)
        assert_allclose([width, error], [single.half_width, single.error], rtol=1e-12)
    usual = made.table()
    own = (usual["epsilon"] == made.epsilon) & (usual["people"] == made.people)
    assert made.epsilon in usual["epsilon"]
    assert_allclose(usual["half_width"][own], made.half_width)
    text = made.grid_text([0.5, 3], [100, 10_000])
    assert f"{100 * table['half_width'][1]:.3g}" in text
    with pytest.raises(ValueError, match="people must be"):
        made.table(people=[0])


def test_the_picture_has_the_plan_and_its_goal(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    made = plan(6, epsilon=1.9, half_width=0.05)
    ax = made.plot(ax=Figure().subplots(), title="Ours: $5 a head")
    assert ax.get_title(loc="left") == "Ours: $5 a head"
    assert "percentage points" in ax.get_ylabel()
    lines = [line.get_ydata() for line in ax.lines]
    assert any(np.allclose(line, 5) for line in lines)  # the goal
    point: Any = ax.lines[-1]
    assert_allclose([point.get_xdata()[0], point.get_ydata()[0]], [made.people, 100 * made.half_width])
    named = [text.get_text() for text in ax.texts]
    assert "ε = 1.9" in named
    assert "ε = 2" not in named  # too near for a label
    for ending in ("png", "svg", "pdf"):
        made.save_plot(tmp_path / f"plan.{ending}")
        assert (tmp_path / f"plan.{ending}").stat().st_size > 1000
    plan(6, people=1, error=0.9).save_plot(tmp_path / "one.png")
    plan(RandomizedResponse(6, odds=(1, 0)), people=9).save_plot(tmp_path / "truth.png")
    with pytest.raises(ValueError, match=r"must end in \.png"):
        made.save_plot(tmp_path / "plan.gif")
    made.plot().figure.clear()


def test_plan_and_its_result_are_public() -> None:
    assert isinstance(warner.plan(2, epsilon=1, people=9), Plan)


def test_a_grid_stays_within_what_can_be_counted() -> None:
    made = plan(10, epsilon=1, people=10**15)
    assert made.table()["people"].max() <= 2**53
    assert "1 respondent at epsilon 1 gives" in plan(10, epsilon=1, people=1).text()
    assert "-0 %" not in plan(RandomizedResponse(2, odds=(0, 1)), people=100).text()


@pytest.mark.parametrize("by_design", [False, True])
def test_the_smallest_epsilon_of_a_subset_selection(by_design: bool) -> None:
    options: dict[str, Any] = {"people": 20_000, "half_width": 0.03}
    labels = [f"answer {number}" for number in range(50)]
    if by_design:
        solved = plan(SubsetSelection(labels, epsilon=3), **options)
    else:
        solved = plan(labels, mechanism="subset selection", **options)
    assert solved.solved_for == "epsilon"
    assert solved.design.mechanism == "subset selection"
    assert solved.design.domain == tuple(labels)
    assert solved.half_width <= 0.03
    less = SubsetSelection(labels, epsilon=solved.epsilon * (1 - 1e-6))
    assert plan(less, people=20_000).half_width > 0.03
    # Randomized response among 50 answers would have to reveal more.
    assert plan(labels, mechanism="randomized response", **options).epsilon > 1.1 * solved.epsilon
    assert_allclose(solved.table([solved.epsilon], [20_000])["half_width"], [solved.half_width], rtol=1e-15)
    assert (np.diff(solved.table([0.5, 1, 2, 4], [1000])["half_width"]) < 0).all()


def test_only_mechanisms_that_follow_from_epsilon_can_be_solved_for() -> None:
    kuk = surveys.kuk("4/5", "3/10", 2)
    with pytest.raises(TypeError, match=r"cannot be planned for a channel.* the possible answers instead of"):
        plan(kuk, people=1000, half_width=0.05)
    with pytest.raises(TypeError, match="cannot be planned for a channel"):
        plan(kuk, people=1000).table([1.0])
    with pytest.raises(ValueError, match="follows from epsilon, but a channel does not"):
        plan(3, mechanism="channel", epsilon=1, people=10)
    with pytest.raises(ValueError, match=r"one of randomized response.* but got 'geometric'"):
        plan(3, mechanism="geometric", epsilon=1, people=10)
    assert set(plan(kuk, people=1000).table()["epsilon"]) == {kuk.epsilon}


def test_a_million_answers_cost_no_matrix() -> None:
    for mechanism in ("randomized response", "subset selection"):
        made = plan(1_400_000, mechanism=mechanism, epsilon=1, people=10**9)
        assert 0 < made.half_width < 5
        assert plan(1_400_000, mechanism=mechanism, people=10**13, half_width=0.1).half_width <= 0.1


def test_a_pool_is_a_pilot_for_the_design_that_is_given() -> None:
    first, second = (RandomizedResponse(["a", "b", "c"], odds=odds) for odds in ((3, 1), (9, 1)))
    parts = [Tally(first, [300, 220, 180]), Tally(second, [500, 220, 180])]
    pilot = pool(parts)
    made = plan(first, pilot=pilot, people=5000)
    assert_array_equal(made.population, estimate(pilot, method="inv_p").shares)
    assert_array_equal(plan(first, pilot=estimate(pilot), people=5000).population, made.population)
    assert plan(first.domain, epsilon=2, pilot=pilot, people=5000).population is not None
    with pytest.raises(TypeError, match="pooled from several designs; give the design to plan with"):
        plan(pilot=pilot, people=5000)
    grouped = pool(
        [
            Tally(first, [[100, 120, 100], [200, 100, 80]], by=("region",), groups=(("n",), ("s",))),
            Tally(second, [[250, 110, 90], [250, 110, 90]], by=("region",), groups=(("n",), ("s",))),
        ]
    )
    assert_array_equal(plan(first, pilot=grouped, people=5000).population, made.population)


def test_a_pilot_of_sets_of_answers() -> None:
    survey = SubsetSelection(5, odds=(3, 1), size=2)
    reports = Tally(survey, [50, 40, 40, 35, 35], n=100)
    made = plan(pilot=reports, people=1000)
    assert made.design == survey
    assert_array_equal(made.population, estimate(reports).shares)
    assert made.errors.keys() == {"inv", "inv_p", "inv_n"}  # counts of sets have no likelihood
    groups = Tally(
        survey, [[20, 20, 20, 10, 10], [30, 20, 20, 25, 25]], n=[40, 60], by=("region",), groups=(("n",), ("s",))
    )
    assert_array_equal(plan(pilot=groups, people=1000).population, made.population)
    assert plan(pilot=reports, people=10**9).errors.keys() == {"inv"}  # too many to be simulated person by person
    assert plan(pilot=reports, epsilon=2, people=1000).design == SubsetSelection(5, epsilon=2)
    other = plan(pilot=reports, mechanism="randomized response", epsilon=2, people=9).design
    assert other == RandomizedResponse(5, epsilon=2)


def test_answers_that_reports_do_not_tell_are_named() -> None:
    survey = RandomizedResponse(["drinks", "does not"], truth="3/4")
    finer = survey.coarsened({"drinks": ["beer", "wine"], "does not": ["water"]})
    made = plan(finer, people=1000, population=[0.25, 0.25, 0.5])
    assert made.answer == "water"
    assert_allclose(made.half_width, plan(survey, people=1000, share=0.5).half_width, rtol=1e-12)
    assert made.error == math.inf
    assert made.errors.keys() == {"mle"}
    assert "reports of this design do not identify the shares of 'beer', 'wine'" in made.advice[0]
    assert json.loads(made.to_json())["error"] is None
    with pytest.raises(ValueError, match="do not identify that of 'beer'"):
        plan(finer, people=1000, answer="beer")
    with pytest.raises(ValueError, match="identifies the shares of all answers"):
        plan(finer, error=0.05)


def test_a_plan_speaks_as_every_result_does() -> None:
    made = plan(["a", "b", "c"], epsilon=1, people=1000, answer="b", share=0.2)
    assert repr(made) == made.text()
    assert json.loads(made.to_json()) == made.to_dict()
    assert made.to_dict()["answer"] == "b"
    assert "the answer 'b' with a true share of 20 % (as given)" in made.text().replace("\n", " ")
    frame = made.to_frame()
    assert list(frame.columns) == list(made.table())
    for population, answer, said in (
        (None, None, "an answer with a true share of 79.1 % (the worst case)"),  # (1/2 - 0.2119) / (0.5761 - 0.2119)
        ("zipf:1", None, "the answer 'a' with a true share of 54.5 % (the widest interval in the population)"),
        ("zipf:1", "c", "the answer 'c' with a true share of 18.2 % (as in the population)"),
    ):
        text = plan(["a", "b", "c"], epsilon=1, people=1000, answer=answer, population=population).text()
        assert said in text.replace("\n", " ")


def test_what_a_shuffler_adds_is_planned_where_it_is_known() -> None:
    with pytest.raises(ValueError, match="such as randomized response or subset selection, but got a channel"):
        plan(surveys.kuk("4/5", "3/10", 2), people=10, delta=1e-6)
    made = plan(SubsetSelection(100, epsilon=4), people=100_000, delta=1e-6)
    assert made.shuffled_epsilon == pytest.approx(0.0841, abs=1e-3)


def test_a_hopeless_survey_is_said_to_tell_nothing() -> None:
    text = " ".join(plan(2_000_000, epsilon=0.01, people=10).text().split())
    assert text.startswith(
        "10 respondents at epsilon 0.01 give an interval half-width of more than 100 percentage points"
    )
    assert "nothing can be learned about a single answer" in text.split(".")[1]
    assert "e+" not in text
    assert "nothing can be learned" not in plan(5, epsilon=1, people=1000).text()


# Design effects

CLUSTERED = RandomizedResponse(["yes", "no"], odds=(3, 1))
CLUSTER_COUNTS = (4, 9, 2, 7, 5, 5, 1, 8, 6, 3)  # reports of yes of each of ten clusters of ten respondents


def clustered_pilot(yes: Sequence[int] = CLUSTER_COUNTS, size: int = 10) -> Tally:
    data = {
        "report": [report for count in yes for report in ["yes"] * count + ["no"] * (size - count)],
        "village": [village for village in range(len(yes)) for _ in range(size)],
    }
    return warner.tally(data, CLUSTERED, column="report", clusters="village")


def test_a_plan_uses_the_design_effect_of_its_pilot() -> None:
    pilot = clustered_pilot()
    shares = np.array(CLUSTER_COUNTS) / 10
    f = shares.mean()
    # With clusters of one size, the variance of the frequency is that of the cluster means over their number.
    by_hand = shares.var(ddof=1) / 10 / (f * (1 - f) / 100)
    made = plan(pilot=pilot, half_width=0.05)
    assert_allclose(made.design_effect, by_hand, rtol=1e-12)
    alone = plan(pilot=Tally(CLUSTERED, [50, 50]), half_width=0.05)
    assert alone.design_effect == 1
    assert by_hand > 2
    assert abs(made.people - by_hand * alone.people) <= by_hand
    assert made.half_width <= 0.05
    same = plan(CLUSTERED, population=alone.population, design_effect=by_hand, half_width=0.05)
    assert same.people == made.people
    # In every form, and for a population that is a tally.
    assert f"Design effect: {by_hand:.3g} (the sample is drawn like the pilot)" in " ".join(made.text().split())
    assert "Design effect" not in alone.text()
    assert json.loads(made.to_json())["design_effect"] == made.design_effect
    assert plan(CLUSTERED, population=pilot, half_width=0.05).people == made.people
    assert plan(pilot=estimate(pilot), half_width=0.05).people == made.people
    assert made.mechanisms is not None
    people = dict(zip(made.mechanisms.table()["mechanism"], made.mechanisms.table()["people"], strict=True))
    assert people["randomized response"] == made.people
    # A design effect that is given takes its place.
    assert plan(pilot=pilot, design_effect=1, half_width=0.05).people == alone.people


@pytest.mark.parametrize("options", [{}, {"share": 0.1}, {"share": 0.1, "answer": "often"}, {"population": "uniform"}])
def test_a_design_effect_divides_the_sample_size(options: dict[str, Any]) -> None:
    labels = ["never", "once", "often"]
    for design in (RandomizedResponse(labels, epsilon=1), SubsetSelection(labels, epsilon=1)):
        made, alone = plan(design, people=3000, design_effect=1.5, **options), plan(design, people=2000, **options)
        for name in ("half_width", "standard_error", "error", "smallest_share"):
            assert getattr(made, name) == getattr(alone, name), name
        assert (made.usual is None) == (alone.usual is None)
        assert made.usual is None or alone.usual is None or made.usual.half_width == alone.usual.half_width
        many, few = (plan(design, half_width=0.03, design_effect=effect, **options) for effect in (1.5, 1))
        assert abs(many.people - 1.5 * few.people) <= 1.5
        assert "Design effect: 1.5 (as given)" in many.text()


@pytest.mark.parametrize(("odds", "named"), [((4, 1), 400), ((1, 0), 400), ((1, 0), 40)])  # 40: one in each cluster
def test_a_pilot_without_variance_has_no_design_effect(odds: tuple[int, int], named: int) -> None:
    design = RandomizedResponse(["yes", "no"], odds=odds)
    data = {"y": ["yes"] * named + ["no"] * (400 - named), "c": np.arange(400) % 40}
    pilot = warner.tally(data, design, column="y", clusters="c")
    for known in ({"half_width": 0.05}, {"people": 1000}):
        with pytest.raises(ValueError, match="pilot shows no variance of what is planned"):
            plan(pilot=pilot, **known)
    assert plan(pilot=pilot, people=1000, design_effect=1.5).design_effect == 1.5


@pytest.mark.parametrize("effect", [1e300, 1.1e6, 9e-7, 1e-300])
def test_a_design_effect_out_of_all_proportion_is_refused(effect: float) -> None:
    for known in ({"half_width": 0.05}, {"people": 1000}):
        with pytest.raises(ValueError, match=r"design_effect must be a positive number, such as 1\.5, from 1e-06"):
            plan(RandomizedResponse(3, epsilon=2), design_effect=effect, **known)


def test_a_design_effect_in_plans_of_numbers() -> None:
    design = RandomizedResponse(range(5), epsilon=2)
    for quantity in ("mean", "median"):
        asked: dict[str, Any] = {"quantity": quantity, "population": "uniform"}
        made, alone = plan(design, people=3000, design_effect=1.5, **asked), plan(design, people=2000, **asked)
        assert (made.half_width, made.design_effect) == (alone.half_width, 1.5)
        assert "Design effect: 1.5 (as given)" in made.text()
        assert json.loads(made.to_json())["design_effect"] == 1.5
    solved = plan(design, people=3000, half_width=0.1, quantity="mean", design_effect=1.5)
    assert solved.epsilon == plan(design, people=2000, half_width=0.1, quantity="mean").epsilon


def test_the_design_effect_of_a_mean_and_of_a_quantile() -> None:
    rng = np.random.default_rng(4)
    design = RandomizedResponse(range(4), odds=(5, 1))
    village = np.repeat(np.arange(12), 25)
    reports = (rng.integers(0, 3, 300) + (village % 2)).clip(0, 3)
    data = {"report": reports.tolist(), "village": village.tolist()}
    pilot = warner.tally(data, design, column="report", clusters="village")

    def effect(scores: np.ndarray[Any, Any]) -> float:
        by_village = scores.reshape(12, 25).mean(axis=1)
        return float(by_village.var(ddof=1) / 12 / (scores.var() / 300))

    # Unbiased scores of a mean, and of the share of the answers up to the quantile, are linear in the report. For the
    # mean, half a report is added to each count of 300.
    found = plan(pilot=pilot, people=1000, quantity="mean")
    assert_allclose(found.design_effect, effect(reports.astype(float)), rtol=0.01)
    median = plan(pilot=pilot, people=1000, quantity="median")
    assert median.population is not None
    below = int(np.searchsorted(np.cumsum(median.population), 0.5))
    assert_allclose(median.design_effect, effect((reports <= below).astype(float)), rtol=1e-9)


def test_the_variance_that_clusters_add_does_not_depend_on_the_randomization() -> None:
    pilot = clustered_pilot()
    made = plan(pilot=pilot, people=1000)

    def variance(design: RandomizedResponse) -> float:
        reported = design.q + (design.p - design.q) * made.share
        return reported * (1 - reported) / (design.p - design.q) ** 2

    added = (made.design_effect - 1) * variance(CLUSTERED)
    clearer, noisier = (RandomizedResponse(["yes", "no"], epsilon=epsilon) for epsilon in (4, 0.2))
    found = plan(clearer, pilot=pilot, people=1000)
    assert_allclose(1000 * found.standard_error**2, variance(clearer) + added, rtol=1e-9)
    # Weights add in proportion to the variance: with more noise, the design effect stays as it is.
    assert_allclose(plan(noisier, pilot=pilot, people=1000).design_effect, made.design_effect, rtol=1e-12)


def test_clusters_without_any_variance_keep_that_of_the_randomization() -> None:
    pilot = clustered_pilot([5] * 10)
    made = plan(pilot=pilot, people=1000)
    # p = 3/4 and q = 1/4: given a share of 1/2, reports have the variance 3/16 of 1/4.
    assert_allclose(made.design_effect, 3 / 4, rtol=1e-9)


def test_replicate_weights_have_a_design_effect() -> None:
    # Jackknife over villages by hand: each set of weights leaves one of them out.
    data: dict[str, list[Any]] = {"report": [], "village": []}
    for village, count in enumerate(CLUSTER_COUNTS):
        data["report"] += ["yes"] * count + ["no"] * (10 - count)
        data["village"] += [village] * 10
    data["one"] = [1] * 100
    names = [f"w{number}" for number in range(10)]
    for number, name in enumerate(names):
        data[name] = [0 if village == number else 1 for village in data["village"]]
    pilot = warner.tally(data, CLUSTERED, column="report", weights="one", replicates=names, scale=0.9)
    made = plan(pilot=pilot, half_width=0.05)
    assert_allclose(made.design_effect, plan(pilot=clustered_pilot(), half_width=0.05).design_effect, rtol=1e-9)


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, "2", True])
def test_a_design_effect_is_a_positive_number(value: Any) -> None:
    with pytest.raises(ValueError, match="design_effect must be a positive number, such as"):
        plan(3, epsilon=1, people=100, design_effect=value)
    with pytest.raises(ValueError, match="design_effect must be a positive number"):
        warner.mechanisms(3, epsilon=1, people=100, design_effect=value)


def test_pilots_whose_design_effect_is_not_known() -> None:
    weighted = Tally(CLUSTERED, [40.5, 59.5], squares=150.0)
    with pytest.raises(ValueError, match="pilot has weights, so that its design effect is not known; give"):
        plan(pilot=weighted, half_width=0.05)
    assert plan(pilot=weighted, half_width=0.05, design_effect=1.5).people > 0
    data = {"report": ["yes", "no"] * 20, "village": list(range(10)) * 4, "sex": ["f"] * 20 + ["m"] * 20}
    grouped = warner.tally(data, CLUSTERED, column="report", clusters="village", by="sex")
    with pytest.raises(ValueError, match="pilot has groups, so that its design effect is not known; count it"):
        plan(pilot=grouped, half_width=0.05)
    with pytest.raises(TypeError, match="design_effect must be left out for an open domain"):
        plan(warner.OpenDomain(epsilon=1, bits=32), people=10**6, design_effect=2)


def test_a_complex_pilot_whose_reports_are_all_alike_shows_no_design_effect() -> None:
    design = RandomizedResponse(["yes", "no"], odds=(9, 1))
    pilot = warner.tally({"y": ["yes"] * 15, "c": [0, 1, 2] * 5}, design, column="y", clusters="c")
    with pytest.raises(ValueError, match="pilot shows no variance of what is planned"):
        warner.plan(design, pilot=pilot, half_width=0.05)


def test_mechanisms_take_a_design_effect() -> None:
    compared = warner.mechanisms(10, epsilon=1, half_width=0.05, share=0.1, design_effect=2)
    alone = warner.mechanisms(10, epsilon=1, half_width=0.05, share=0.1)
    for many, few in zip(compared.needed, alone.needed, strict=True):
        assert many is not None
        assert few is not None
        assert abs(many - 2 * few) <= 2
    assert "with a design effect of 2" in compared.text()
    assert json.loads(compared.to_json())["design_effect"] == 2


def test_the_grid_of_a_plan_has_its_own_number_of_people_and_no_fewer_than_one() -> None:
    assert sorted(set(plan(10, epsilon=1, people=1000).table()["people"].tolist())) == [100, 300, 1000, 3000, 10_000]
    assert min(plan(10, epsilon=1, people=1).table()["people"]) == 1


@pytest.mark.parametrize(
    ("design", "words"),
    [
        (COIN, "from 10 % to at most 25 %, or from 50 % to at most 75 %. Published"),  # 3/1 odds: 3/12 and 3/4
        (warner.OpenDomain(epsilon=2, bits=16), "from 10 % to at most 46 %, or from 50 % to at most 89 %. Published"),
        (warner.surveys.triangular("1/4"), "What epsilon means: a report can show an answer with certainty. Published"),
    ],
)
def test_a_plan_tells_what_its_epsilon_means_for_a_respondent(design: Any, words: str) -> None:
    made = plan(design, people=10_000)
    last = " ".join(made.text().split()).partition("What epsilon means")
    assert words in last[1] + last[2]
