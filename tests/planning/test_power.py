"""Power: sample sizes against sums of binomial probabilities, R's rr, simulated tests and every form of the result."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom, norm

import warner
from references import reference
from warner import PowerPlan, RandomizedResponse, SubsetSelection, Tally, UnaryEncoding, plan, surveys, tally
from warner.inference.binomial import Binomial
from warner.inference.exact_tests import equality_test
from warner.planning.power import CountTest

CASES = {case["id"]: case for case in reference("asking")["cases"] if case["item"] == 6}
DICE = surveys.forced_response(truth="2/3", yes="1/6")
CARDS = surveys.forced_response(truth="3/4", yes="1/6")
COIN = RandomizedResponse(["yes", "no"], odds=(3, 1))  # p = 3/4, q = 1/4
BLANK = RandomizedResponse(["yes", "no"], odds=(1, 1))  # no epsilon
THREE = RandomizedResponse(3, epsilon=1)
DIRECT = RandomizedResponse(["yes", "no"], odds=(1, 0))
DESIGNS = {
    "people_forced_20": DICE,
    "people_mirrored_15": COIN,
    "people_unrelated_25": surveys.unrelated_question(p="3/5", prevalence="2/5"),
    "people_crosswise_10": surveys.crosswise("1/4"),
    "power_rr_55": DICE,
}


def scanned_power(n: Any, null: float, reported: float, tail: float) -> Any:
    """Write the exact test anew: SciPy's binomial, at every sample size, against a larger probability."""
    critical = binom.isf(tail, n, null) + 1
    critical = np.where(binom.sf(critical - 2, n, null) <= tail, critical - 1, critical)
    return binom.sf(critical - 1, n, reported)


# One share


@pytest.mark.parametrize("name", DESIGNS)
def test_people_and_power_of_the_reference(name: str) -> None:
    case, design = CASES[name], DESIGNS[name]
    asked, wanted = case["input"], case["value"]
    laws = design.law.probabilities(np.eye(2))[:, 0]
    assert_allclose((laws[1], laws[0] - laws[1]), (asked["base"], asked["gain"]), rtol=1e-12)
    options = {"share": asked["share"], "level": 1 - asked["alpha"], "reference": asked.get("null", 0)}
    if "n" in asked:
        found = plan(design, people=asked["n"], **options)
        assert found.solved_for == "power"
        assert_allclose(found.power, wanted, rtol=case["tolerance"])
        return
    found = plan(design, power=asked["power"], **options)
    assert (found.solved_for, found.people, found.approximate) == ("people", wanted["people"], False)
    assert_allclose(found.power, wanted["power"], rtol=case["tolerance"])
    first = plan(design, people=wanted["first"], **options)
    assert first.power >= 0.8 > plan(design, people=wanted["people"] - 1, **options).power


def test_the_sample_sizes_of_rr_have_less_power_than_it_says() -> None:
    # rr::power.rr.test (R 4, rr 1.4) for forced response, p = 2/3, p0 = p1 = 1/6, one-sided, power .8: 55 and 788.
    for share, people, own, power in ((0.2, 55, 70, 0.717), (0.05, 788, 878, 0.763)):
        assert round(plan(DICE, reference=0, share=share, people=people).power, 3) == power
        assert plan(DICE, reference=0, share=share).people == own


@given(
    null=st.floats(0.001, 0.95),
    part=st.floats(0.03, 0.99),
    tail=st.sampled_from([0.05, 0.025, 0.005]),
    goal=st.sampled_from([0.5, 0.8, 0.95]),
)
def test_from_the_sample_size_on_the_power_never_falls_below_the_goal(
    null: float, part: float, tail: float, goal: float
) -> None:
    reported = null + (1 - null) * part
    people, exact = CountTest(null, reported).respondents(tail, goal)
    assert exact
    sizes = np.arange(max(1, people - 1), 2 * people + 200)
    enough = scanned_power(sizes, null, reported, tail) >= goal
    assert enough[people - sizes[0] :].all()
    assert people == 1 or not enough[0]


@pytest.mark.parametrize(
    ("null", "reported", "tail", "goal"),
    [
        (0.9644, 0.9999, 1e-9, 0.99),
        (0.9974, 0.99997, 1e-6, 0.3),
        (0.836, 0.8447, 1e-9, 0.118),
        (0.9665, 1.0, 1e-9, 0.5),
    ],
)
def test_sizes_are_exact_in_extreme_tails(null: float, reported: float, tail: float, goal: float) -> None:
    people, exact = CountTest(null, reported).respondents(tail, goal)
    assert exact
    enough = scanned_power(np.arange(1, 2 * people + 200), null, reported, tail) >= goal
    assert enough[people - 1 :].all()
    assert not enough[people - 2]


def test_small_cases_by_hand() -> None:
    # 1 - .7^2 is .51, and so is the power for a reference that a few respondents do not reach.
    assert plan(DIRECT, reference=0, share=0.3, power=0.51).people == 2
    assert plan(DIRECT, reference=1e-20, share=0.1).people == 16
    # A direct question: one "yes" rejects a share of 0, and 1 - .9^n >= .8 from n = 16 on.
    assert plan(DIRECT, reference=0, share=0.1).people == 16
    assert plan(DIRECT, reference=0, share=1).people == 1
    # Two-sided against one half: of six heads, P(6) = 1/64 <= .025 and of five 1/32 is not; power .9^6 = .5314.
    assert_allclose(plan(DIRECT, reference=0.5, share=0.9, people=6).power, 0.9**6, rtol=1e-12)
    assert plan(DIRECT, reference=0.5, share=0.9, people=5).power == 0
    assert_allclose(plan(DIRECT, reference=0.5, share=0.1, people=6).power, 0.9**6, rtol=1e-12)
    assert_allclose(plan(DIRECT, reference=0.5, share=0.9, people=5, alternative="one-sided").power, 0.9**5, rtol=1e-12)


def test_the_interval_of_the_estimate_excludes_the_reference_as_often_as_planned() -> None:
    found = plan(COIN, reference=0.2, share=0.35, people=300)
    counts = np.arange(85, 200)  # without a warning of a misfit; the others have a probability of 1e-6
    data = Tally(COIN, np.stack([counts, 300 - counts], axis=1), by=("x",), groups=tuple((c,) for c in counts.tolist()))
    low = warner.estimate(data, method="inv").table()["low"].reshape(-1, 2)[:, 0]
    chance = binom.pmf(counts, 300, 0.25 + 0.5 * 0.35)
    assert_allclose(found.power, chance[low > 0.2].sum(), rtol=1e-9)


def test_many_respondents_are_planned_by_the_normal_distribution() -> None:
    found = plan(COIN, reference=0.2, share=0.2001)
    assert found.approximate
    v = [phi * (1 - phi) for phi in (0.35, 0.35005)]
    root = norm.isf(0.025) * math.sqrt(v[0]) + norm.isf(0.2) * math.sqrt(v[1])
    assert_allclose(found.people, (root / 0.00005) ** 2, rtol=1e-6)
    with pytest.raises(ValueError, match="2\\^53"):
        plan(RandomizedResponse(2, epsilon=1e-8), reference=0.2, share=0.2001)


def test_a_part_of_the_answers_takes_a_multiple_of_the_respondents() -> None:
    design = warner.BitFlips(8, epsilon=1, size=2)
    law = design.law.symmetry
    assert law is not None
    alone, _ = CountTest(law.base, law.base + law.gain * 0.2).respondents(0.05, 0.8)
    found = plan(design, reference=0, share=0.2)
    assert (found.people, found.approximate) == (4 * alone, True)


# Two groups, coefficients, design effects


def test_two_groups_against_the_reference() -> None:
    assert plan(COIN, shares=(0.5, 0.2)).people == CASES["people_two_rr"]["value"]
    assert plan(CARDS, shares=(0.3, 0.1), other_design=DIRECT).people == CASES["people_two_forced_direct"]["value"]
    assert plan(COIN, shares=(0.5, 0.2), other_design=COIN).people == plan(COIN, shares=(0.2, 0.5)).people
    document = plan(COIN, shares=(0.5, 0.2)).to_dict()
    assert (document["groups"], document["approximate"], document["share"]) == (2, True, None)


def test_the_power_of_two_groups_is_that_of_their_comparison() -> None:
    # 800 surveys: 4 standard errors of 0.8 are 0.057; a false alarm has a probability of 6e-5. The formula itself is
    # off by up to 0.02.
    rng, people, surveys_ = np.random.default_rng(11), plan(COIN, shares=(0.5, 0.2)).people, 800
    first, second = (rng.binomial(people, 0.25 + 0.5 * share, surveys_).tolist() for share in (0.5, 0.2))

    def p_value(a: int, b: int) -> float:
        return equality_test(Binomial(a, people, 0.25, 0.5), Binomial(b, people, 0.25, 0.5))

    power = np.mean([p_value(*pair) <= 0.05 for pair in zip(first, second, strict=True)])
    assert abs(power - 0.8) < 0.057 + 0.02
    one, two = (Tally(COIN, [count, people - count]) for count in (first[0], second[0]))
    assert_allclose(p_value(first[0], second[0]), warner.compare_samples(one, two, "yes").p_value, rtol=1e-9)


def test_a_coefficient_by_hand_and_against_the_prototype() -> None:
    # The prototype, with its own quadrature: forced response, intercept -1, slope 0.5, a normal covariate.
    share = 1 / (1 + math.e)
    assert plan(DICE, coefficient=0.5, share=share).people == 497
    # A covariate with two values: the variances of two log odds, by the delta method, of 1/3 and 2/3 of the reports.
    odds = math.log(0.3 / 0.7) + 0.9
    shares = [0.3, 1 / (1 + math.exp(-odds))]
    variance = 0.0
    for part, held in zip((2 / 3, 1 / 3), shares, strict=True):
        phi = 0.25 + 0.5 * held
        variance += phi * (1 - phi) / (0.5 * held * (1 - held)) ** 2 / part
    people = math.ceil(((norm.isf(0.025) + norm.isf(0.1)) / 0.9) ** 2 * variance)
    found = plan(COIN, coefficient=0.9, share=0.3, covariate=1 / 3, power=0.9)
    assert found.people == people
    assert_allclose(found.power, 0.9, atol=1e-3)
    assert plan(COIN, coefficient=-0.9, share=0.3, covariate=1 / 3, power=0.9).people > people  # rarer, so more noise


@pytest.mark.long
def test_the_power_of_a_coefficient_by_simulation() -> None:
    # 400 surveys: 4 standard errors of 0.8 are 0.08; a false alarm has a probability of 6e-5. The prototype's simulated
    # power at this size was 0.835.
    rng, people = np.random.default_rng(3), plan(DICE, coefficient=0.5, share=1 / (1 + math.e)).people
    found = 0
    for _ in range(400):
        x = rng.normal(size=people)
        held = rng.random(people) < 1 / (1 + np.exp(1 - 0.5 * x))
        reports = DICE.draw(np.where(held, 0, 1), rng.bytes)
        data = {"report": [DICE.domain[report] for report in reports], "x": x}
        model = warner.regress("report ~ x", data, DICE, reference="no")
        table = model.table()
        place = list(table["term"]).index("x")
        found += bool(abs(table["estimate"][place] / table["se"][place]) >= norm.isf(0.025))
    assert abs(found / 400 - 0.83) < 0.08


def test_a_design_effect_multiplies_the_sample_size() -> None:
    alone = plan(DICE, reference=0, share=0.2)
    clustered = plan(DICE, reference=0, share=0.2, design_effect=1.5)
    assert (clustered.people, clustered.design_effect, clustered.approximate) == (105, 1.5, True)
    assert_allclose(clustered.power, alone.power, rtol=1e-12)
    assert plan(DICE, shares=(0.4, 0.2), design_effect=2).people in {
        2 * plan(DICE, shares=(0.4, 0.2)).people - 1,
        2 * plan(DICE, shares=(0.4, 0.2)).people,
    }
    data = {"answer": ["yes", "no", "no", "yes"] * 60, "village": [number // 10 for number in range(240)]}
    pilot = tally(data, COIN, column="answer", clusters="village")
    found = plan(pilot=pilot, reference=0.1, share=0.3)
    effect = plan(pilot=pilot, half_width=0.05, answer="yes", share=0.3).design_effect
    assert found.design_effect == pytest.approx(effect)
    assert effect != 1
    assert found.people == math.ceil(effect * plan(COIN, reference=0.1, share=0.3).people)
    assert "the sample is drawn like the pilot" in " ".join(found.text().split())


# Every form


def test_text_json_and_table_agree() -> None:
    found = plan(DICE, reference=0.05, share=0.2, power=0.9)
    assert isinstance(found, PowerPlan)
    text, power = " ".join(found.text().split()), f"{100 * found.power:.3g} % (exact)"
    effect = "to find with a power of 90 % that the share of 'yes' is above 5 %, if it is 20 %."
    assert text.startswith(f"{found.people} respondents are needed at epsilon 1.61 {effect}")
    assert f"two-sided, at a significance level of 5 %; its power with this sample size is {power}." in text
    document = json.loads(found.to_json())
    assert (document["people"], document["power"], document["goal"]) == (found.people, found.power, 0.9)
    assert (document["test"], document["reference"], document["share"]) == ("reference", 0.05, 0.2)
    assert (document["alternative"], document["level"], document["answer"]) == ("two-sided", 0.95, "yes")
    table = found.table(people=[found.people])
    assert table["power"].tolist() == [found.power]
    assert "90" in found.grid_text()
    by_epsilon = plan(COIN, reference=0, share=0.2).table()
    assert by_epsilon["epsilon"].min() == 0.25


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"shares": (0.5, 0.2)},
            (
                "176 respondents in each group are needed at epsilon 1.099 to find with a power of 80 % that the "
                "shares of 'yes' in two groups differ, if they are 50 % and 20 %."
            ),
        ),
        ({"shares": (0.5, 0.2), "other_design": DIRECT}, "Other group: randomized response, 2 answers, epsilon inf"),
        (
            {"coefficient": 0.5, "share": 0.25},
            (
                "a coefficient (log odds ratio) of 0.5 for one standard deviation of a normal covariate, if the share "
                "of 'yes' is 25 % at its mean."
            ),
        ),
        (
            {"coefficient": 0.5, "share": 0.25, "covariate": 0.4},
            (
                "of 0.5 for a covariate that is 1 for 40 % and 0 for all others, if the share of 'yes' is 25 % where "
                "it is 0."
            ),
        ),
        ({"reference": 0.3, "share": 0.2, "people": 500}, "500 respondents at epsilon 1.099 find with a power of"),
        ({"reference": 0.3, "share": 0.2, "answer": "no"}, "that the share of 'no' is below 30 %, if it is 20 %."),
    ],
)
def test_sentences(options: dict[str, Any], words: str) -> None:
    assert words in " ".join(plan(COIN, **options).text().split())


def test_answers_and_an_epsilon_take_the_recommended_mechanism() -> None:
    found = plan(100, epsilon=4, reference=0, share=0.01)
    assert found.design == warner.mechanisms(100, epsilon=4, share=0.01).design()
    assert found.to_dict()["answer"] is None
    named = plan(["a", "b", "c", "d"], epsilon=1, mechanism="unary encoding", reference=0, share=0.2)
    assert isinstance(named.design, UnaryEncoding)
    assert isinstance(plan(SubsetSelection(10, epsilon=1), reference=0, share=0.2, people=100).power, float)


@pytest.mark.parametrize(
    ("design", "options", "error"),
    [
        (COIN, {"reference": 0.2, "share": 0.2}, "share must differ from the reference"),
        (COIN, {"reference": 0.2}, "share must be given with reference"),
        (COIN, {"reference": 1.2, "share": 0.2}, "reference must be from 0 to 1"),
        (COIN, {"reference": 0.1, "share": 1.2}, "share must be from 0 to 1"),
        (COIN, {"reference": 0.1, "share": 0.2, "power": 0.05}, "power must be above the significance level of 0.05"),
        (COIN, {"reference": 0.1, "share": 0.2, "power": 1.0}, "power must be between 0 and 1"),
        (COIN, {"reference": 0.1, "share": 0.2, "level": 0.4}, "level must be above 0.5"),
        (COIN, {"reference": 0.1, "share": 0.2, "alternative": "greater"}, 'alternative must be "one-sided"'),
        (COIN, {"reference": 0.1, "shares": (0.1, 0.2)}, "shares must be left out where reference is given"),
        (COIN, {"reference": 0.1, "share": 0.2, "half_width": 0.1}, "half_width must be left out for a test"),
        (COIN, {"reference": 0.1, "share": 0.2, "simultaneous": True}, "simultaneous must be left out"),
        (COIN, {"reference": 0.1, "share": 0.2, "people": 0}, "people must be a whole number"),
        (COIN, {"shares": (0.2, 0.2)}, "shares must differ"),
        (COIN, {"shares": (0.2, 0.3, 0.4)}, "shares must be two numbers"),
        (COIN, {"shares": (0.2, -0.3)}, "shares must be from 0 to 1"),
        (COIN, {"shares": (0.2, 0.3), "share": 0.2}, "share must be left out where shares are given"),
        (COIN, {"shares": (0.2, 0.3), "other_design": "yes"}, "other_design must be a design"),
        (COIN, {"shares": (0.2, 0.3), "other_design": THREE}, "other_design must have the same"),
        (COIN, {"shares": (0.2, 0.3), "other_design": BLANK}, "other_design must have an epsilon above 0"),
        (BLANK, {"reference": 0, "share": 0.2}, "the design must have an epsilon above 0"),
        (COIN, {"coefficient": 0, "share": 0.2}, "coefficient must be a finite number other than 0"),
        (COIN, {"coefficient": 1, "share": 1}, "share must be above 0 and below 1"),
        (COIN, {"coefficient": 1, "share": 0.2, "covariate": 1}, "covariate must be the share of respondents"),
        (COIN, {"coefficient": 800, "share": 0.5, "covariate": 0.5}, "coefficient must be nearer to 0"),
        (COIN, {"coefficient": 1, "share": 1e-300}, "coefficient must be nearer to 0, or the share to one half"),
        (COIN, {"coefficient": "1", "share": 0.2}, "coefficient must be a number, but got '1'"),
        (COIN, {"shares": (0.2, "a")}, "shares must be a number, but got 'a'"),
        (THREE, {"coefficient": 1, "share": 0.2}, "coefficient must be left out for a question with 3"),
        (COIN, {"covariate": 0.2, "half_width": 0.1}, "covariate must be left out, or given with coefficient"),
        (COIN, {"alternative": "one-sided", "half_width": 0.1}, "alternative must be left out, or given with"),
        (surveys.kuk("0.8", "0.3", 2), {"reference": 0, "share": 0.2}, "the design must have a binomial count"),
        (DICE, {"reference": 0, "share": 0.2, "answer": "maybe"}, "maybe"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(design: Any, options: dict[str, Any], error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        plan(design, **options)
