"""Plans of means and quantiles: exact variances by fractions, published ones, and surveys that were simulated.

It tests planning/number_precision.py and planning/tradeoffs.py as well.
"""

from __future__ import annotations

import itertools
import json
import math
import runpy
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import warner
from references import reference
from tables import grouped
from warner import CutoffResponse, RandomizedResponse, SquareWave, SubsetSelection, Tally, UnaryEncoding, grid
from warner.designs.facts import LinearCombination
from warner.planning.number_precision import noise_of_distribution, noise_of_mean, worst_population

if TYPE_CHECKING:
    from warner.designs import Design

NUMBERS = reference("numbers")
AGES = range(18, 100)
SMALL = [
    SquareWave(6, odds=(3, 1), width=1),
    SquareWave([0, 1, 2, 5, 9], odds=(4, 1), width=1),
    CutoffResponse([0, 1, 5, 20], odds=(3, 1)),
    RandomizedResponse(4, odds=(5, 1)),
    warner.surveys.cards({"truth": "1/2", "say 0": "1/6", "say 1": "1/6", "say 2": "1/6"}, 3),
]


def plan(*arguments: Any, **options: Any) -> Any:
    return warner.plan(*arguments, **options)


def values(design: Design) -> np.ndarray[Any, Any]:
    return np.array([float(label) for label in design.domain])


def exact_variance(design: Design, shares: list[Fraction]) -> Fraction:
    """Return the variance of one report of the unbiased mean, in fractions, by least squares."""
    matrix = [[Fraction(int(w), design.as_channel().total) for w in row] for row in design.as_channel().weights]
    x = values(design)
    u = LinearCombination(((x - x.min()) / np.ptp(x))[np.newaxis])
    columns = len(matrix[0])
    scores = [
        Fraction(float(design.law.readout(np.eye(columns)[[j]], np.ones((1, 1)), u).share()[0, 0])).limit_denominator(
            10**7
        )
        for j in range(columns)
    ]
    reported = [sum(share * row[j] for share, row in zip(shares, matrix, strict=True)) for j in range(columns)]
    mean = sum(p * s for p, s in zip(reported, scores, strict=True))
    return sum((p * s**2 for p, s in zip(reported, scores, strict=True)), Fraction(0)) - mean**2


@pytest.mark.parametrize("design", SMALL, ids=lambda design: design.summary())
def test_the_error_of_a_planned_mean_is_that_of_all_reports_in_fractions(design: Design) -> None:
    shares = [Fraction(i + 1) for i in range(design.k)]
    shares = [share / sum(shares) for share in shares]
    width = np.ptp(values(design))
    made = plan(design, people=10**9, quantity="mean", population=[float(share) for share in shares])
    assert made.standard_error is not None
    wanted = width * math.sqrt(exact_variance(design, shares) / 10**9)
    assert_allclose(made.standard_error, wanted, rtol=1e-6)  # a readout adds one report to 10^9
    assert_allclose(made.half_width, 1.959964 * wanted, rtol=1e-4)
    assert_allclose(made.value, sum(float(share) * x for share, x in zip(shares, values(design), strict=True)))


@pytest.mark.parametrize("design", SMALL, ids=lambda design: design.summary())
def test_no_population_is_worse_than_the_worst(design: Design) -> None:
    # All populations in sixths; the worst is found without them, and is as bad as it says.
    made = plan(design, people=10**9, quantity="mean")
    x = values(design)
    u = (x - x.min()) / np.ptp(x)
    squares = design.law.linear.second_moments(u)
    found = made.shares @ squares - (made.shares @ u) ** 2
    for cuts in itertools.combinations(range(6 + design.k - 1), design.k - 1):
        counts = np.diff([-1, *cuts, 6 + design.k - 1]) - 1
        assert (counts / 6) @ squares - (counts / 6 @ u) ** 2 <= found + 1e-9
    assert made.standard_error is not None
    assert_allclose((made.standard_error / np.ptp(x)) ** 2 * 10**9, found, rtol=1e-6)


def test_the_worst_population_by_hand() -> None:
    # Squares 1, 3, 1 at 0, 1/2, 1: from 0 to 1/2 the variance is 1 + 4m - m^2, which rises up to m = 1/2.
    assert worst_population(np.array([0.0, 0.5, 1.0]), np.array([1.0, 3.0, 1.0])).tolist() == [0, 1, 0]
    # Below the hull, the middle does not matter: 1 - m^2 + m has its largest value at m = 1/2.
    assert worst_population(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.0, 2.0])).tolist() == [0.5, 0, 0.5]


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_noise_in_a_mean_is_the_published_one(epsilon: str) -> None:
    worst = NUMBERS["worst_case_variance"][epsilon]  # of a number from -1 to 1: four times that on a range of 1
    domain, e = range(2001), float(epsilon)
    u = np.arange(2001) / 2000
    # Duchi, Jordan and Wainwright (2013): ((e^eps + 1)/(e^eps - 1))^2
    assert_allclose(4 * noise_of_mean(CutoffResponse(domain, epsilon=e), u), worst["duchi"], rtol=1e-6)
    assert_allclose(worst["duchi"], ((math.exp(e) + 1) / (math.exp(e) - 1)) ** 2, rtol=1e-8)
    # Wang et al. (2019), at |x| = 1: the piecewise mechanism is the width e^(-eps/2)/2 of a fine grid
    root = math.exp(e / 2)
    assert_allclose(worst["piecewise"], 1 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2), rtol=1e-8)
    piecewise = SquareWave(domain, epsilon=e, width=round(2001 * math.exp(-e / 2) / 2))
    assert_allclose(4 * noise_of_mean(piecewise, u), worst["piecewise"], rtol=5e-3)
    best = SquareWave(domain, epsilon=e, quantity="mean")
    assert_allclose(4 * noise_of_mean(best, u), worst["wave_best"], rtol=5e-3)
    assert_allclose(best.width / 2001, worst["wave_best_width"], atol=1e-3)
    # Li et al. (2020): the width for a distribution
    assert_allclose(SquareWave(domain, epsilon=e).width / 2001, NUMBERS["widths"][epsilon]["distribution"], atol=1e-3)


@pytest.mark.parametrize(
    "design",
    [RandomizedResponse(6, odds=(3, 1)), UnaryEncoding(6, epsilon=1), SubsetSelection(6, odds=(3, 1), size=2), *SMALL],
    ids=lambda design: design.summary(),
)
def test_noise_in_the_distribution_is_that_of_simulated_reports_of_everybody(design: Design) -> None:
    # In the same sample, the same number with each answer: only the draw varies. 4,000 surveys; the average of
    # K - 1 variances is off by about sqrt(2/4,000) = 2 %, so that 10 % is five standard errors.
    k, each, surveys = design.k, 50, 4000
    rng = np.random.default_rng(5)
    counts = design.law.simulate_people(np.full(k, each), rng=rng, size=surveys)
    n = np.full((surveys, 1), float(k * each))
    shares = design.law.readout(counts, n, [range(end) for end in range(1, k)]).share()
    assert_allclose(noise_of_distribution(design), k * each * shares.var(axis=0).mean(), rtol=0.1)


@pytest.mark.filterwarnings("ignore:the reports do not seem to fit")  # as one in a hundred surveys does
@pytest.mark.parametrize(
    "design",
    [
        SquareWave(AGES, epsilon=1, quantity="mean"),
        CutoffResponse(AGES, epsilon=1),
        RandomizedResponse(range(7), epsilon=2),
        UnaryEncoding(range(7), epsilon=1),
    ],
    ids=lambda design: design.mechanism,
)
def test_a_planned_mean_is_as_precise_as_planned(design: Design) -> None:
    # 400 surveys of the population that the plan is for. The standard deviation of their means has a relative standard
    # error of 1/sqrt(800) = 3.5 %: 18 % is five of them. The number in 400 whose interval holds the mean is at least
    # 0.95 * 400 - 5 sqrt(400 * 0.95 * 0.05) = 358 but for less than one in a million.
    half = float(np.ptp(values(design))) / 20
    made = plan(design, half_width=half, quantity="mean")
    assert made.half_width <= half < plan(design, people=made.people - 1, quantity="mean").half_width
    rng = np.random.default_rng(7)
    counts = design.simulate(made.shares, made.people, rng=rng, size=400)
    found = warner.estimate(grouped(design, counts, made.people), method="inv").mean()
    assert_allclose(np.std(found.value), made.standard_error, rtol=0.18)
    assert ((found.low <= made.value) & (made.value <= found.high)).sum() >= 358
    assert_allclose(np.mean((found.high - found.low) / 2), made.half_width, rtol=0.05)


@pytest.mark.parametrize(
    "design",
    [RandomizedResponse(range(12), epsilon=2), CutoffResponse(range(12), epsilon=2)],
    ids=lambda d: d.mechanism,
)
def test_a_planned_quantile_is_as_precise_as_planned(design: Design) -> None:
    x = np.arange(12.0)
    shares = np.exp(-((x - 5) ** 2) / 8) / np.exp(-((x - 5) ** 2) / 8).sum()
    made = plan(design, half_width=1, quantity="median", population=shares)
    assert made.value == 5
    assert made.standard_error is None
    assert made.half_width <= 1 < plan(design, people=made.people // 2, quantity="median", population=shares).half_width
    # 1,000 surveys, each a group. How often limits at one number fall short is measured; the plan takes them to be
    # independent. However they depend on each other, the chance that one of some falls short is between the largest of
    # their chances and the sum of these (Frechet), and so is the mean length: the plan must be there as well, but for
    # five standard errors of the simulation.
    counts = design.simulate(shares, made.people, rng=np.random.default_rng(3), size=1000)
    result = warner.estimate(grouped(design, counts), method="inv")
    limits, median = result.interval(cumulative=True), result.median()
    short = (limits.low[:, :-1] < 0.5).mean(axis=0)  # the upper end is after such a number
    reached = (limits.high[:, :-1] >= 0.5).mean(axis=0)  # the lower end is no later
    ends = np.maximum.accumulate(short[::-1]).sum(), np.minimum(short[::-1].cumsum(), 1).sum()
    starts = np.minimum.accumulate(1 - reached).sum(), np.maximum(1 - reached.cumsum(), 0).sum()
    half = (median.high - median.low) / 2
    least, most = ((end - start) / 2 for end, start in zip(ends, starts, strict=True))
    assert least <= half.mean() + 1e-9 <= most + 2e-9
    error = half.std() / math.sqrt(1000)
    assert least - 5 * error <= made.half_width <= most + 5 * error
    assert most - least < 0.2
    held = int(((median.low <= 5) & (median.high >= 5)).sum())
    assert held >= 915  # 950 less five standard errors


def test_people_epsilon_and_half_width_give_each_other() -> None:
    wave = SquareWave(AGES, epsilon=1, quantity="mean")
    people = plan(wave, half_width=2, quantity="mean").people
    found = plan(wave, half_width=2, people=people, quantity="mean")
    assert found.solved_for == "epsilon"
    assert 0.99 < found.epsilon <= 1 + 1e-9
    assert found.half_width <= 2
    by_name = plan(AGES, mechanism="square wave", epsilon=1, people=people, quantity="mean")
    assert by_name.design == wave
    by_error = plan(wave, error=1, quantity="mean")
    assert by_error.error <= 1 < plan(wave, people=by_error.people - 1, quantity="mean").error


def test_a_cut_off_response_is_planned_by_its_exact_interval() -> None:
    # The yeses are Bin(n, 1/2) in the worst case; at odds 3 : 1, p - q = 1/2, and years are 81 of the range.
    made = plan(CutoffResponse(AGES, odds=(3, 1)), people=1000, quantity="mean")
    yes = warner.estimate(Tally(RandomizedResponse(["yes", "no"], odds=(3, 1)), [500, 500])).interval("yes")
    assert_allclose(made.half_width, 81 * (yes.high - yes.low) / 2, rtol=1e-12)
    assert made.method == "clopper_pearson"
    assert not made.approximate
    assert "exact" in made.text()
    assert made.shares[[0, -1]].tolist() == [0.5, 0.5]


def test_values_stretch_a_plan() -> None:
    design = RandomizedResponse(["never", "once", "often"], epsilon=1)
    one = plan(design, people=1000, quantity="mean", values={"never": 0, "once": 1, "often": 5})
    ten = plan(design, people=1000, quantity="mean", values=[10, 20, 60])
    assert_allclose(ten.half_width, 10 * one.half_width)
    assert_allclose(ten.value, 10 + 10 * one.value)


def test_the_recommended_mechanism_for_a_mean_changes_from_cut_offs_to_waves() -> None:
    incomes = grid(0, 200_000, 1_000)
    for epsilon, wanted in (
        (0.25, "cutoff response"),
        (0.5, "cutoff response"),
        (2, "square wave"),
        (4, "square wave"),
    ):
        compared = warner.mechanisms(incomes, epsilon=epsilon, quantity="mean")
        assert compared.recommended == compared.candidates[0].name == wanted
        assert compared.design().domain == tuple(incomes)
    few = warner.mechanisms(range(5), epsilon=4, quantity="distribution")
    assert few.recommended == "randomized response"


def test_mechanisms_for_a_mean_are_in_the_order_of_their_variances() -> None:
    made = warner.mechanisms(8, epsilon=1, quantity="mean", half_width=1)
    assert (np.diff([candidate.variance for candidate in made.candidates]) >= -1e-9).all()
    assert made.table()["half_width"].max() <= 1
    shown = made.text()
    assert "respondents for an interval half-width of 1 for the mean" in shown
    assert json.loads(made.to_json())["quantity"] == "mean"


def test_a_plan_says_the_same_everywhere(tmp_path: Path) -> None:
    made = plan(SquareWave(AGES, epsilon=1, quantity="mean"), half_width=2, quantity="mean")
    fields = json.loads(made.to_json())
    assert fields["quantity"] == "mean"
    assert fields["people"] == made.people
    assert f"{made.people:,} respondents are needed for an interval half-width of 2 for the mean" in made.text()
    assert made.mechanisms is not None
    assert fields["mechanisms"] == made.mechanisms.to_dict()
    assert made.grid_text().startswith("Interval half-width (unit of the answers), by respondents and epsilon\n")
    table = made.table([made.epsilon], [made.people])
    assert_allclose(table["half_width"], made.half_width)
    assert_allclose(table["error"], made.standard_error)
    assert "half-width" in made.to_markdown()
    made.save_plot(tmp_path / "plan.png")
    made.mechanisms.save_plot(tmp_path / "mechanisms.png")
    assert all((tmp_path / name).stat().st_size for name in ("plan.png", "mechanisms.png"))
    quantile = plan(RandomizedResponse(5, epsilon=2), half_width=1, quantity=0.9, population="uniform")
    assert quantile.quantity == "90 % quantile"
    assert "error" not in quantile.table()
    quantile.save_plot(tmp_path / "quantile.png")


BAD = [
    ({"quantity": "mode", "half_width": 1}, "quantity must be shares, mean, median or a number"),
    ({"quantity": 1.5, "half_width": 1}, "a quantile must be one number between 0 and 1"),
    ({"quantity": "median", "half_width": 1}, "population must be given to plan the median"),
    ({"quantity": "median", "error": 1, "population": "uniform"}, "error must be left out where the median"),
    ({"quantity": "mean", "half_width": 50}, "half_width must be above 0 and below 40.5, in the unit of the answers"),
    ({"quantity": "mean", "half_width": 1, "share": 0.5}, "share must be left out where the mean is planned"),
    ({"quantity": "mean", "half_width": 1, "answer": 18}, "answer must be left out where the mean is planned"),
    ({"quantity": "mean", "half_width": 1, "simultaneous": True}, "simultaneous must be left out"),
    ({"quantity": "mean", "half_width": 1, "values": [1] * 82}, "values must not all be equal"),
    ({"quantity": "mean", "half_width": 1, "values": [1, 2]}, "values must be 82 numbers"),
    ({"half_width": 0.1, "values": range(82)}, "values are for quantity"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=lambda case: str(case)[:40])
def test_what_cannot_be_planned_is_refused_in_a_line(options: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as raised:
        plan(SquareWave(AGES, epsilon=1), **options)
    assert "\n" not in str(raised.value)


def test_labels_that_are_no_numbers_have_no_mean_to_plan() -> None:
    with pytest.raises(ValueError, match="answers must be numbers, but 'never' is not a number; give values"):
        plan(["never", "once"], epsilon=1, quantity="mean", half_width=0.1)
    with pytest.raises(ValueError, match="quantity must be"):
        warner.mechanisms(5, epsilon=1, quantity="distribution", people=100)


def test_the_tables_of_the_page_are_those_of_its_script() -> None:
    root = Path(__file__).parents[2]
    made = runpy.run_path(str(root / "benchmarks" / "mechanism_variances.py"))
    page = (root / "docs" / "explanation" / "choosing-a-mechanism.md").read_text(encoding="utf-8")
    assert made["written"](page) == page
