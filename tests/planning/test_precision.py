"""The plan of any design, for any answer, against intervals at expected counts, simulations and other populations."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from warner import Channel, OpenDomain, RandomizedResponse, SquareWave, SubsetSelection, Tally, inv, plan, surveys
from warner.designs.facts import full_symmetry
from warner.inference.anytime import anytime_interval
from warner.inference.binomial import smallest_share
from warner.inference.intervals import Confidence, limits
from warner.planning.mechanisms import variance_of_share
from warner.planning.precision import anytime_half_width
from warner.simulate import reports_of_population, uniform

if TYPE_CHECKING:
    from warner.designs import Design

# Expected counts of 3,000 people with the shares below are whole numbers under all of these.
MADE: dict[str, tuple[Design, list[float]]] = {
    "randomized response": (RandomizedResponse(5, odds=(6, 1)), [0.5, 0.2, 0.1, 0.1, 0.1]),
    "subset selection": (SubsetSelection(5, odds=(3, 1), size=2), [0.5, 0.2, 0.1, 0.1, 0.1]),
    "two answers": (Channel([["3/5", "2/5"], ["1/5", "4/5"]], ["yes", "no"], 2), [0.3, 0.7]),
    "Kuk": (surveys.kuk("4/5", "3/10", 2), [0.4, 0.6]),
    "forced response": (
        Channel([["8/10", "1/10", "1/10"], ["2/10", "7/10", "1/10"], ["2/10", "1/10", "7/10"]], 3, 3),
        [0.3, 0.2, 0.5],
    ),
    "no binomial count": (
        Channel(
            [
                ["5/10", "2/10", "2/10", "1/10"],
                ["1/10", "4/10", "2/10", "3/10"],
                ["2/10", "1/10", "6/10", "1/10"],
            ],
            ["a", "b", "c"],
            4,
        ),
        [0.3, 0.2, 0.5],
    ),
}
PEOPLE = 3000
every_design = pytest.mark.parametrize(("design", "shares"), MADE.values(), ids=MADE.keys())


def expected_tally(design: Design, shares: Any) -> Tally:
    """Count the reports that are to be expected: whole numbers."""
    if (symmetry := full_symmetry(design.law)) is not None:
        reported = symmetry.base + symmetry.gain * np.array(shares)
    else:
        reported = np.array(shares) @ design.as_channel().channel()
    counts = PEOPLE * reported
    assert_allclose(counts, counts.round(), rtol=1e-12)
    return Tally(design, counts.round().astype(int), n=PEOPLE)


@every_design
@pytest.mark.parametrize("simultaneous", [False, True])
def test_the_plan_is_the_interval_at_expected_counts(design: Design, shares: list[float], simultaneous: bool) -> None:
    ends = limits(expected_tally(design, shares), Confidence(0.95, simultaneous=simultaneous))
    widths = (ends.high - ends.low)[0] / 2
    for place in range(design.k):
        label = design.domain[place]
        options: dict[str, Any] = {"people": PEOPLE, "population": shares, "simultaneous": simultaneous}
        made = plan(design, answer=label, **options)
        assert made.answer == label
        assert_allclose(made.share, shares[place], rtol=1e-15)  # but for the scaling to a sum of one
        assert_allclose(made.half_width, widths[place], rtol=1e-11)
        assert_allclose(made.standard_error, ends.error[0, place], rtol=1e-11)
    assert_allclose(plan(design, **options).half_width, widths.max(), rtol=1e-11)
    # The smallest sample size that reaches this, for the same answer.
    del options["people"]
    assert plan(design, answer=label, half_width=made.half_width * (1 + 1e-12), **options).people == PEOPLE


@every_design
def test_the_planned_errors_are_those_of_simulated_surveys(design: Design, shares: list[float]) -> None:
    made = plan(design, people=PEOPLE, population=shares)
    drawn = reports_of_population(shares, PEOPLE, design, rng=np.random.default_rng(2), size=2000)
    n = None if design.law.exclusive else np.full(len(drawn), PEOPLE)
    squared = np.square(inv(drawn, design, n=n) - shares)
    # The unbiased shares of a design with a binomial count may vary by up to 5 % less, in variance, than that count.
    assert abs(squared.mean() - made.error**2) < 4 * squared.mean(axis=1).std() / math.sqrt(len(drawn)) + (
        0 if full_symmetry(design.law) is not None else 0.05 * made.error**2
    )
    mean = squared.mean(axis=0)
    for place in range(design.k):
        label = design.domain[place]
        error = plan(design, answer=label, people=PEOPLE, population=shares).standard_error
        assert_allclose(error**2, mean[place], rtol=0.05 + 4 * math.sqrt(2 / len(drawn)))


@every_design
def test_no_population_has_a_wider_interval_than_the_worst_case(design: Design, shares: list[float]) -> None:
    worst = plan(design, people=PEOPLE)
    rng = np.random.default_rng(3)
    populations = [*np.eye(design.k), uniform(design.k), *rng.dirichlet(np.full(design.k, 0.3), size=6)]
    for place in range(design.k):
        label = design.domain[place]
        for_this = plan(design, people=PEOPLE, answer=label)
        assert for_this.half_width <= worst.half_width * (1 + 1e-9)
        tried = [plan(design, people=PEOPLE, answer=label, population=p, rng=rng).half_width for p in populations]
        assert max(tried) <= for_this.half_width * (1 + 1e-6)
        # And it is reached: by a population with this answer or one other.
        pairs = []
        for other in range(design.k):
            population = np.zeros(design.k)
            population[other] += 1 - for_this.share
            population[place] += for_this.share
            pairs.append(plan(design, people=PEOPLE, answer=label, population=population, rng=rng).half_width)
        assert_allclose(max(pairs), for_this.half_width, rtol=1e-9)
        given = plan(design, people=PEOPLE, answer=label, share=for_this.share)
        assert_allclose(given.half_width, for_this.half_width, rtol=1e-12)
        assert (given.worst_case, for_this.worst_case) == (False, True)
    if design.k > 2:
        errors = [plan(design, people=PEOPLE, population=p, rng=rng).error for p in populations]
        assert_allclose(max(errors[: design.k + 1]), worst.error, rtol=1e-9)


def test_without_an_answer_the_widest_interval_is_planned_for_at_every_number_of_people() -> None:
    # The answer 0 shows in a binomial count, the others in linear combinations of the reports.
    mixed = Channel([["6/10", "2/10", "2/10"], ["2/10", "6/10", "2/10"], ["2/10", "1/10", "7/10"]], 3, 3)
    for people in (2, 10, 100, 10_000):
        for share in (None, 0.0, 0.3, 1.0):
            apart = [plan(mixed, people=people, share=share, answer=answer) for answer in range(3)]
            made = plan(mixed, people=people, share=share)
            assert made.half_width == max(single.half_width for single in apart)
            assert made.answer == int(np.argmax([single.half_width for single in apart]))
    solved = plan(mixed, half_width=0.05)
    assert solved.half_width <= 0.05 < plan(mixed, people=solved.people - 1).half_width
    by_error = plan(mixed, error=0.02)
    assert by_error.error <= 0.02 < plan(mixed, people=by_error.people - 1).error


def test_the_first_of_two_answers_stands_for_both() -> None:
    kuk = surveys.kuk("4/5", "3/10", 2)
    made = plan(kuk, people=1000)
    assert made.answer == "yes"
    other = plan(kuk, people=1000, answer="no", share=1 - made.share)
    assert_allclose([other.half_width, other.error], [made.half_width, made.error], rtol=1e-12)
    with pytest.raises(ValueError, match="an answer must be in the domain"):
        plan(kuk, people=10, answer="perhaps")


def test_subset_selection_is_planned_by_the_same_two_probabilities() -> None:
    made = plan(1024, mechanism="subset selection", epsilon=1, half_width=0.02)
    design = made.design
    assert design == SubsetSelection(1024, epsilon=1)
    # p = 0.4995, so the widest interval is that of a share of one: (1.96 / 0.02)^2 / 4 / (p - q)^2 people, and a few.
    usual = (norm.ppf(0.975) / 0.02) ** 2 / 4 / (design.symmetry.gain) ** 2
    assert usual < made.people < usual * 1.03
    assert made.answer is None
    assert made.half_width <= 0.02 < plan(design, people=made.people - 1).half_width
    # Of 275 answers in a report each is in with probability phi = 275/1024 if all are equally common.
    phi = 275 / 1024
    assert_allclose(made.error, math.sqrt(phi * (1 - phi) / made.people) / design.symmetry.gain, rtol=1e-12)
    assert "subset selection, 1,024 answers, epsilon 1; a report names the true answer" in made.text().replace(
        "\n", " "
    )


def test_the_worst_population_may_all_hold_one_answer() -> None:
    # The reports of respondents with answer c are pure noise, and the others nearly the truth.
    loud = Channel([["90/100", "4/100", "6/100"], ["5/100", "90/100", "5/100"], ["3/10", "3/10", "4/10"]], 3, 3)
    made, everybody = plan(loud, people=1000), np.eye(3)
    errors = [plan(loud, people=1000, population=population).error for population in (*everybody, uniform(3))]
    assert_allclose(made.error, max(errors), rtol=1e-12)
    assert errors[2] > errors[3]  # all hold c


def test_a_plan_for_a_closed_list_is_for_all_who_report() -> None:
    # Three levels: 29 of 65 people report on whole values, and only these are counted.
    words = OpenDomain(epsilon=1, bits=48, step=16)
    closed, part = words.closed([7, 8]), Fraction(words.weights[-1], sum(words.weights))
    assert float(part) < 0.5
    planned: Any = plan(closed, people=65_000, share=0.1)
    counted = OpenDomain(epsilon=1, bits=16, step=16, field=words.field).closed([7, 8])
    assert counted.law.counted_fraction == 1
    alone: Any = plan(counted, people=int(65_000 * part), share=0.1)
    for name in ("half_width", "standard_error", "error", "smallest_share"):
        assert_allclose(getattr(planned, name), getattr(alone, name), rtol=1e-12)
    rate = words.q + words.gain * 0.1
    assert_allclose(
        planned.standard_error, np.sqrt(rate * (1 - rate) / (65_000 * float(part))) / words.gain, rtol=1e-12
    )
    assert_allclose(variance_of_share(closed, 0), variance_of_share(counted, 0) / float(part), rtol=1e-12)


@pytest.mark.parametrize("design", [SquareWave(range(6), odds=(4, 1), width=1), RandomizedResponse(3, odds=(3, 1))])
def test_the_any_time_half_width_is_that_of_an_interval_of_these_reports(design: Design) -> None:
    # Half of everybody holds the second answer: far enough from 0 and 1 that the interval is not cut off.
    shares = np.zeros(design.k)
    shares[[1, 2]] = 0.5
    n = 40_000
    readout = design.law.readout(n * design.law.probabilities(shares[np.newaxis]), np.full((1, 1), float(n)), [[1]])
    low, high, *_ = anytime_interval(readout, 0.05)
    assert 0.1 < low.item() < 0.5 < high.item() < 0.9
    assert_allclose(anytime_half_width(readout, 0.05), (high - low).item() / 2, rtol=1e-9)


def test_the_smallest_share_of_a_plan_has_the_level_divided_by_the_number_of_answers() -> None:
    design = RandomizedResponse(10, odds=(5, 1))
    for level in (0.95, 0.8):
        expected = smallest_share(20_000, design.q, design.p - design.q, (1 - level) / 10, 0.9)
        assert_allclose(plan(design, people=20_000, level=level, power=0.9).smallest_share, expected, rtol=1e-12)
