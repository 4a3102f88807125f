from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from warner import RandomizedResponse, simulate

if TYPE_CHECKING:
    from collections.abc import Callable

DESIGN = RandomizedResponse(4, odds=(5, 1))
RNG = np.random.default_rng(1)


def test_zipf_by_hand() -> None:
    assert_allclose(simulate.zipf(3, 1), [6 / 11, 3 / 11, 2 / 11], rtol=1e-15)
    assert_array_equal(simulate.uniform(4), [0.25] * 4)
    assert simulate.zipf(10**6, 1.3).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("size", [None, 3, (2, 3)])
def test_every_histogram_holds_every_report(size: Any) -> None:
    shape = () if size is None else (size,) if isinstance(size, int) else size
    population = simulate.reports_of_population([0.7, 0.1, 0.1, 0.1], 1000, DESIGN, rng=RNG, size=size)
    people = simulate.reports_of_people([700, 100, 100, 100], DESIGN, rng=RNG, size=size)
    for reports in (population, people):
        assert reports.shape == (*shape, 4)
        assert (reports.sum(axis=-1) == 1000).all()
        assert (reports >= 0).all()


@pytest.mark.parametrize("odds", [(1, 0), (9, 1), (10_000, 1)])
@pytest.mark.parametrize("size", [0, (2, 0), (0, 3), 2])
@pytest.mark.parametrize("k", [4, 1_500])
def test_no_histograms_and_certain_answers_are_drawn_for_any_number_of_answers(odds: Any, size: Any, k: int) -> None:
    # 7 in 10 answers are held by one person each: many are held, and fewer are kept than there are answers.
    people = (np.arange(k) < 0.7 * k).astype(int)
    shape = (size,) if isinstance(size, int) else size
    design = RandomizedResponse(k, odds=odds)
    of_people = simulate.reports_of_people(people, design, rng=RNG, size=size)
    of_population = simulate.reports_of_population(people / people.sum(), 900, design, rng=RNG, size=size)
    assert of_people.shape == of_population.shape == (*shape, k)
    assert of_people.dtype == of_population.dtype == np.int64
    if odds == (1, 0):  # everybody tells the truth
        assert_array_equal(of_people, np.broadcast_to(people, (*shape, k)))


def test_any_integer_type_will_do() -> None:
    people = np.array([7, 1, 1, 1], dtype=np.uint64)
    assert simulate.reports_of_people(people, DESIGN, rng=RNG, size=np.int64(3)).sum() == 30  # type: ignore[arg-type]


def test_the_same_generator_gives_the_same_reports() -> None:
    first, second = (
        simulate.reports_of_people([70, 10, 10, 10], DESIGN, rng=np.random.default_rng(9), size=5) for _ in range(2)
    )
    assert_array_equal(first, second)


def test_keep_or_redraw_is_the_mechanism_itself() -> None:
    # Keep with probability (a-b)/M, else uniform over K: truth (a-b)/M + b K/M / K = a/M, each lie b/M.
    for a, b, k in product(range(1, 8), range(8), range(2, 6)):
        design = RandomizedResponse(k, odds=(a, b))
        if a >= b:
            keep = Fraction(design.odds[0] - design.odds[1], design.total)
            assert keep + (1 - keep) / k == Fraction(a, a + (k - 1) * b)
            assert (1 - keep) / k == Fraction(b, a + (k - 1) * b)


@pytest.mark.parametrize("n", [60, 10**12])
def test_both_readings_have_their_mean_and_their_variance(n: int) -> None:
    repeats = 40_000
    truth = np.array([0.5, 0.25, 0.15, 0.1])
    p, q = DESIGN.p, DESIGN.q
    reported = q + (p - q) * truth
    population = simulate.reports_of_population(truth, n, DESIGN, rng=np.random.default_rng(2), size=repeats)
    people = simulate.reports_of_people(
        np.rint(n * truth).astype(int), DESIGN, rng=np.random.default_rng(3), size=repeats
    )
    sampled = n * reported * (1 - reported)
    given_people = n * (truth * p * (1 - p) + (1 - truth) * q * (1 - q))
    assert (given_people < 0.97 * sampled).all()  # far enough apart for the test to tell which is which
    for reports, variance in ((population, sampled), (people, given_people)):
        # Five standard errors: of a mean sqrt(v/R); of a variance v sqrt(2/R), a little more at small n.
        assert (np.abs(reports.mean(axis=0) - n * reported) <= 5 * np.sqrt(variance / repeats)).all()
        assert_allclose(reports.var(axis=0), variance, rtol=5 * np.sqrt(2.2 / repeats))


@pytest.mark.parametrize("k", [1_500, 3_000])
@pytest.mark.parametrize("n", [40, 10_000, 100_000, 10**9])
def test_every_way_has_the_mean_and_the_variance(k: int, n: int) -> None:
    design, truth = RandomizedResponse(k, epsilon=3), simulate.zipf(k, 1.3)
    people = np.random.default_rng(5).multinomial(n, truth)
    kappa, size = design.p - design.q, 60
    for shares, drawn in (
        (truth, simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(6), size=size)),
        (people / n, simulate.reports_of_people(people, design, rng=np.random.default_rng(7), size=size)),
    ):
        assert (drawn.sum(axis=1) == n).all()
        expected = n * (design.q + kappa * shares)
        scaled = (drawn - expected) ** 2 / expected
        # The mean of 60 K squares, each about 1 with variance 2 + 1/expected; given people vary a little less.
        assert abs(scaled.mean() - 1) < 5 * np.sqrt((2 + 1 / expected.min()) / (size * k)) + 0.03


def test_person_by_person_and_by_histogram_agree() -> None:
    # The real randomizer on real answers against the simulated histogram: means within 5 standard errors.
    people = np.array([300, 150, 40, 10])
    answers = np.repeat(np.arange(4), people)
    repeats = 400
    one_by_one = DESIGN.randomize(np.tile(answers, (repeats, 1)), codes=True)
    counts = np.array([np.bincount(row, minlength=4) for row in one_by_one])
    by_histogram = simulate.reports_of_people(people, DESIGN, rng=np.random.default_rng(4), size=repeats)
    p, q = DESIGN.p, DESIGN.q
    variance = people * p * (1 - p) + (people.sum() - people) * q * (1 - q)
    difference = counts.mean(axis=0) - by_histogram.mean(axis=0)
    assert (np.abs(difference) <= 5 * np.sqrt(2 * variance / repeats)).all()
    # Variances: each within 5 standard errors of the law, sqrt(2/R) relative.
    assert_allclose(counts.var(axis=0), variance, rtol=5 * np.sqrt(2.2 / repeats))


def test_inverted_designs_are_simulated_person_by_person() -> None:
    inverted = RandomizedResponse(2, odds=(1, 3))
    reports = simulate.reports_of_population([1, 0], 10**6, inverted, rng=np.random.default_rng(5))
    assert abs(reports[0] / 10**6 - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 10**6)
    # An answer that is reported less often than by chance cannot be kept or redrawn, so each is drawn.
    people = simulate.reports_of_people([10**6, 0], inverted, rng=np.random.default_rng(5))
    assert people.sum() == 10**6
    assert abs(people[0] / 10**6 - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 10**6)
    assert simulate.reports_of_people([1, 1], inverted, rng=RNG, size=(2, 3)).shape == (2, 3, 2)


@pytest.mark.parametrize(
    ("call", "error", "complaint"),
    [
        (lambda: simulate.zipf(0, 1), ValueError, "k must be a whole number of at least 1"),
        (lambda: simulate.zipf(3, float("nan")), ValueError, "s finite"),
        (lambda: simulate.zipf(2.5, 1), ValueError, "k must be a whole number"),  # type: ignore[arg-type]
        (lambda: simulate.zipf(1000, -400), ValueError, "s must not be so small"),
        (lambda: simulate.reports_of_population([1, 0], 5, DESIGN, rng=RNG), ValueError, r"4 shares .* shape \(2,\)"),
        (lambda: simulate.reports_of_population([1, 1, 0, 0], 5, DESIGN, rng=RNG), ValueError, "sum 2"),
        (lambda: simulate.reports_of_population([2, -1, 0, 0], 5, DESIGN, rng=RNG), ValueError, "smallest share -1"),
        (lambda: simulate.reports_of_population([1, 0, 0, 0], -5, DESIGN, rng=RNG), ValueError, "n must be"),
        (lambda: simulate.reports_of_population([1, 0, 0, 0], 10.5, DESIGN, rng=RNG), ValueError, "whole number"),  # type: ignore[arg-type]
        (lambda: simulate.reports_of_population([1, 0, 0, 0], 5, DESIGN, rng=1), TypeError, "default_rng"),  # type: ignore[arg-type]
        (lambda: simulate.reports_of_people([1, 2, 3], DESIGN, rng=RNG), ValueError, "4 whole numbers"),
        (lambda: simulate.reports_of_people([1.0, 2, 3, 4], DESIGN, rng=RNG), ValueError, "whole numbers.*float64"),
        (lambda: simulate.reports_of_people([1, 2, 3, -4], DESIGN, rng=RNG), ValueError, "at least 0"),
        (lambda: simulate.reports_of_people([1, 2, 3, 4], DESIGN, rng=None), TypeError, "default_rng"),  # type: ignore[arg-type]
    ],
)
def test_bad_input(call: Callable[[], Any], error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        call()
