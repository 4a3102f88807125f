"""The square wave: its table by hand, its scores exactly, its widths as published.

It tests designs/ordered.py as well.
"""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from references import reference
from warner import CutoffResponse, RandomizedResponse, SquareWave, Tally, estimate, grid
from warner.designs import design_from_dict
from warner.designs.contract import LARGEST_CHANNEL
from warner.designs.facts import CumulativeSets, LinearCombination, Nested
from warner.designs.square_wave import best_width, mean_variance

NUMBERS = reference("numbers")


def row(design: SquareWave, answer: int) -> list[Fraction]:
    """Return the law of a report, written as its definition."""
    (a, b), w = design.odds, design.width
    places = range(-w, design.k + w)
    return [Fraction(a if abs(answer - j) <= w else b, design.total) for j in places]


@pytest.mark.parametrize("case", NUMBERS["designs"], ids=lambda case: str(case["design"])[58:120])
def test_tables_of_small_designs(case: dict[str, Any]) -> None:
    design = design_from_dict(case["design"])
    assert [str(column) for column in design.law.columns] == case["columns"]
    table = design.as_channel()
    assert table.weights.astype(str).tolist() == case["weights"]
    assert_allclose(design.epsilon, case["epsilon"], rtol=1e-9)


def test_the_worked_number() -> None:
    design = SquareWave(5, odds=(3, 1), width=1)
    assert design.total == 13
    assert row(design, 0) == [Fraction(3, 13)] * 3 + [Fraction(1, 13)] * 4
    assert_allclose(design.as_channel().channel()[0], np.array([3, 3, 3, 1, 1, 1, 1]) / 13)


def test_width_0_is_randomized_response() -> None:
    wave, response = SquareWave(6, odds=(5, 2), width=0), RandomizedResponse(6, odds=(5, 2))
    assert wave.as_channel() == response.as_channel()
    answers = np.arange(6).repeat(200)
    one, other = (design.draw(answers, np.random.default_rng(1).bytes) for design in (wave, response))
    assert_array_equal(one, other)
    counts = np.array([[5, 9, 2, 7, 11, 3]])
    for sets in (None, [[0, 2]], CumulativeSets(5)):
        both = [design.law.readout(counts, np.array([[37.0]]), sets) for design in (wave, response)]
        assert_allclose(both[0].share(), both[1].share())
        assert both[0].exact.all()


@pytest.mark.parametrize("design", [SquareWave(9, odds=(3, 1), width=w) for w in range(4)])
def test_scores_of_polynomials_are_unbiased_and_vary_as_the_formula_says(design: SquareWave) -> None:
    k, c = design.k, Fraction(design.k - 1, 2)
    a, b = design.odds
    places = [Fraction(j) for j in range(-design.width, k + design.width)]
    near = (a - b) * (2 * design.width + 1)
    size = len(places)
    first = [c + (j - c) * Fraction(design.total, near) for j in places]
    second = [
        ((j - c) ** 2 * design.total - Fraction(b * size * (size**2 - 1), 12)) / near
        - Fraction(design.width * (design.width + 1), 3)
        for j in places
    ]
    for answer in range(k):
        law = row(design, answer)
        assert sum(p * s for p, s in zip(law, first, strict=True)) == answer
        assert sum(p * s for p, s in zip(law, second, strict=True)) == (answer - c) ** 2
        variance = sum(p * s**2 for p, s in zip(law, first, strict=True)) - answer**2
        assert_allclose(mean_variance(k, design.width, math.log(a / b), float((answer - c) ** 2)), float(variance))
    x = np.arange(k)
    rows = np.array([x / (k - 1), ((x - float(c)) / float(c)) ** 2, (x / (k - 1)) ** 2])
    scores = design.law._scores(rows)
    assert_allclose(scores[0] * (k - 1), np.array(first, dtype=float), atol=1e-12)
    assert_allclose(scores[1] * float(c) ** 2, np.array(second, dtype=float), atol=1e-12)
    assert_allclose(design.as_channel().channel() @ scores.T, rows.T, atol=1e-12)


@pytest.mark.parametrize(("k", "width"), [(5, 1), (9, 0), (9, 3), (30, 4), (31, 14), (40, 19)])
def test_steps_score_every_sum_without_bias_and_with_the_least_variance(k: int, width: int) -> None:
    design = SquareWave(k, odds=(5, 2), width=width)
    rows = np.random.default_rng(k).random((7, k))
    rows[0], rows[1] = 0, np.arange(k) < 3
    table = design.as_channel()
    assert_allclose(table.channel() @ design.law._stepped(rows).T, rows.T, atol=1e-12)
    # Weighted least squares
    assert_allclose(design.law._stepped(rows), rows @ table.law.linear.weights().T, atol=1e-10)
    assert_allclose(design.law.linear.weights(), table.law.linear.weights(), atol=1e-10)


def test_the_score_of_the_first_answers_by_hand() -> None:
    # Five answers, width 1, odds 3 : 1, and the answers 0 and 1: t = 1, in the class of the reports 1 and 4, counted
    # from 0, of which the weights over all answers are 3+3+1+1+1 = 9 and 1+1+3+3+3 = 11 (less 1 is 2 and 3 near ones).
    # So pi = 9/20 with M / (a - b) = 13/2: steps 13/2 * 11/20 and -13/2 * 9/20 around 2/5.
    design = SquareWave(5, odds=(3, 1), width=1)
    scores = design.law._scores(np.array([[1.0, 1.0, 0.0, 0.0, 0.0]]))[0]
    near, far = design.as_channel().weights[:, 1].sum(), design.as_channel().weights[:, 4].sum()
    share = near / (near + far)
    assert_allclose(scores[[1, 4]], 0.4 + 6.5 * (np.array([1, 0]) - share), rtol=1e-12)
    assert_allclose(scores[[0, 2, 3, 5, 6]], 0.4, rtol=1e-12)


@pytest.mark.parametrize(
    "design",
    [
        *(SquareWave(k, epsilon=epsilon) for k in (5, 9, 30, 64) for epsilon in (0.5, 1, 3)),
        *(CutoffResponse(k, epsilon=1) for k in (2, 3, 9, 30)),
        CutoffResponse([0, 1, 5, 20], odds=(1, 0)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("target", ["population", "realised"])
def test_closed_forms_of_runs_are_those_of_written_scores(design: Any, target: str) -> None:
    rng = np.random.default_rng(design.k)
    counts = rng.integers(0, 20, (3, len(design.law.columns)))
    counts[0, : 2 * (design.k > 2)] = 0  # a cut-off without respondents
    n = counts.sum(axis=1, keepdims=True).astype(float)
    k = design.k
    for closed, written in (
        (None, [[answer] for answer in range(k)]),
        (CumulativeSets(k - 1), [range(end) for end in range(1, k)]),
        (CumulativeSets(k), [range(end) for end in range(1, k + 1)]),
        (Nested(np.arange(k), np.array([1, k])), [range(1), range(k)]),
        (Nested(np.arange(k)[::-1], np.array([1, k - 1])), [[k - 1], range(1, k)]),
    ):
        one, other = (design.law.readout(counts, n, sets, target=target) for sets in (closed, written))
        for name in ("count", "trials", "base", "gain", "exact", "error"):
            found, expected = (np.broadcast_to(getattr(each, name), (3, len(written))) for each in (one, other))
            assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=name)
        for found, expected in zip(one.scores, other.scores, strict=True):
            assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(design.law.linear.apply(counts / n), (counts / n) @ design.law.linear.weights(), atol=1e-9)
    assert_allclose(design.law.linear.influence(), np.ptp(design.law.linear.weights(), axis=0).max(), rtol=1e-9)


@pytest.mark.parametrize("mechanism", [SquareWave, CutoffResponse])
def test_a_median_among_very_many_answers_needs_no_matrix(mechanism: Any) -> None:
    k = 5_000
    design = mechanism(k, epsilon=1)
    shares = np.exp(-np.arange(k) / 700.0)
    counts = design.simulate(shares / shares.sum(), 10**6, rng=np.random.default_rng(1))
    result = estimate(Tally(design, counts), method="inv")
    tracemalloc.start()
    middle, band = result.median(), result.interval(cumulative=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 60 * counts.nbytes  # a matrix has thousands of times as many numbers
    assert middle.low <= middle.value <= middle.high
    assert band.low.shape == (k,)


def test_readouts_beyond_what_a_matrix_can_hold() -> None:
    k = LARGEST_CHANNEL + 904
    design = SquareWave(k, epsilon=1)
    shares = np.exp(-np.arange(k) / 700.0)
    shares /= shares.sum()
    reported, n = design.law.likelihood().forward(shares), np.array([[1e14]])
    counts = reported[np.newaxis] * n
    middle = np.array([np.arange(k) / (k - 1), np.abs(np.arange(k) - 2000) / k])
    for sets, truth in (
        (LinearCombination(middle), middle @ shares),
        ([list(range(1000)), [17]], [shares[:1000].sum(), shares[17]]),
    ):
        readout = design.law.readout(counts, n, sets)
        assert_allclose(readout.share()[0], truth, atol=1e-8)
        assert readout.error is not None
        assert np.isfinite(readout.error).all()
    assert_allclose(design.law.linear.apply(reported), shares, atol=1e-8)
    observed = np.random.default_rng(3).random(len(design.law.columns))
    assert_allclose(
        design.law.linear.apply(observed)[[7, k - 1]], observed @ design.law._scores(np.eye(k)[[7, k - 1]]).T, rtol=1e-9
    )
    with pytest.raises(ValueError, match="at most 4096 answers"):
        design.as_channel()


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_widths_as_published(epsilon: str) -> None:
    share = NUMBERS["widths"][epsilon]["distribution"]  # Li et al. (2020)
    assert best_width(10**6, float(epsilon)) == math.floor(share * 10**6 + 1e-3)
    worst = NUMBERS["worst_case_variance"][epsilon]
    k = 20_001
    # A number from -1 to 1 has steps of 2/(K-1).
    best = best_width(k, float(epsilon), "mean")
    variance = mean_variance(k, best, float(epsilon), ((k - 1) / 2) ** 2) * (2 / (k - 1)) ** 2
    assert_allclose(variance, worst["wave_best"], rtol=2e-3)
    assert_allclose(best / k, worst["wave_best_width"], atol=2e-3)


def test_the_piecewise_mechanism_is_a_square_wave() -> None:
    # Wang et al. (2019), of x from -1 to 1: x^2 / (e^(eps/2) - 1) + (e^(eps/2) + 3) / (3 (e^(eps/2) - 1)^2)
    k = 20_001
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        width = round(k * math.exp(-epsilon / 2) / 2)
        root = math.exp(epsilon / 2)
        for x in (0.0, 0.5, 1.0):
            published = x**2 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)
            found = mean_variance(k, width, epsilon, (x * (k - 1) / 2) ** 2) * (2 / (k - 1)) ** 2
            assert_allclose(found, published, rtol=2e-3)


def test_the_best_width_for_a_mean_is_better_than_every_other() -> None:
    design = SquareWave(40, epsilon=1, quantity="mean")
    worst = [mean_variance(40, w, 1.0, 19.5**2) for w in range(20)]
    assert worst[design.width] == min(worst)
    assert design.width != SquareWave(40, epsilon=1).width


@pytest.mark.parametrize("k", [3, 4, 5, 8, 9, 40, 41])
def test_the_best_width_for_a_mean_of_a_tiny_epsilon_is_one_that_a_design_can_have(k: int) -> None:
    # An interval of 2w + 1 answers on each side of K positions: K - 2 answers at most, or all reports are alike.
    worst = ((k - 1) / 2) ** 2
    allowed = [w for w in range(k) if 2 * w + 1 < k]
    best = min(allowed, key=lambda w: float(mean_variance(k, w, 1e-4, worst)))
    assert SquareWave(k, epsilon=1e-4, quantity="mean").width == best_width(k, 1e-4, "mean") == best


def test_another_epsilon_keeps_what_the_width_is_for() -> None:
    domain = grid(0, 200_000, 1_000)
    for options in ({"quantity": "mean"}, {"quantity": "distribution"}, {"width": 17}):
        assert SquareWave(domain, epsilon=1, **options).with_epsilon(2) == SquareWave(domain, epsilon=2, **options)


def test_reversing_the_answers_reverses_everything() -> None:
    design = SquareWave(12, odds=(4, 1), width=3)
    counts = np.arange(1, 19)[np.newaxis] ** 2
    n = counts.sum(keepdims=True).astype(float)
    there, back = design.law.readout(counts, n), design.law.readout(counts[:, ::-1], n)
    assert_allclose(there.share(), back.share()[:, ::-1], atol=1e-12)
    assert there.error is not None
    assert back.error is not None
    assert_allclose(there.error, back.error[:, ::-1], atol=1e-12)


def test_reports_are_written_as_numbers_of_the_grid() -> None:
    assert SquareWave(grid(0, 50, 10), odds=(3, 1), width=2).law.columns == (-20, -10, 0, 10, 20, 30, 40, 50, 60, 70)
    assert SquareWave(range(18, 26), odds=(3, 1), width=1).law.columns == range(17, 27)
    # Texts, and numbers that are not evenly spaced, by place
    assert SquareWave(["a", "b", "c", "d"], odds=(3, 1), width=1).law.columns == range(-1, 5)
    assert SquareWave([0, 1, 5, 20], odds=(3, 1), width=1).law.columns == range(-1, 5)


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ({"epsilon": 1, "odds": (3, 1)}, TypeError, r"needs either epsilon or odds .*, but got both"),
        ({}, TypeError, r"needs either epsilon or odds .*, but got none"),
        ({"epsilon": 1, "width": 5}, ValueError, "width must be a whole number from 0 to 4, but got 5"),
        ({"epsilon": 1, "width": -1}, ValueError, "width must be a whole number from 0 to 4"),
        ({"epsilon": 1, "width": 2, "quantity": "mean"}, TypeError, "either width or quantity"),
        (
            {"epsilon": 1, "quantity": "median"},
            ValueError,
            "quantity must be one of distribution, mean, but got 'median'",
        ),
        ({"odds": (1, 3)}, ValueError, "a > b, but got 1 : 3"),
        ({"odds": (2**62, 1)}, ValueError, "below 2\\^62"),
        ({"epsilon": float("inf")}, ValueError, "epsilon must be"),
    ],
)
def test_what_cannot_be_is_refused(arguments: Any, error: Any, complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        SquareWave(10, **arguments)


@pytest.mark.parametrize("mechanism", [SquareWave, CutoffResponse])
def test_an_estimate_of_a_fine_grid(mechanism: Any) -> None:
    design = mechanism(grid(0, 200_000, 1_000), epsilon=2)
    shares = np.exp(-((np.arange(201) - 60) ** 2) / 800)
    counts = design.simulate(shares / shares.sum(), 20_000, rng=np.random.default_rng(5))
    assert estimate(Tally(design, counts)).method == "smooth"
    result = estimate(Tally(design, counts), method="mle")
    assert_allclose(result.shares.sum(), 1)
    assert result.certificate is not None
    assert result.certificate.gap <= 1e-6


def test_the_best_width_of_a_tiny_epsilon_continues_the_formula() -> None:
    # (epsilon - 1 + exp(-epsilon)) / (2 (exp(epsilon) - 1 - epsilon)) = 1/2 - epsilon/3 + O(epsilon^2); here the second
    # order is at most one step.
    k = 10**6
    below, above = best_width(k, 0.9999e-3), best_width(k, 1.0001e-3)
    assert 0 <= below - above <= 2
    assert below == math.floor((0.5 - 0.9999e-3 / 3) * k)


def test_scores_of_four_evenly_spaced_numbers_are_evenly_spaced() -> None:
    # A step of 1/3 between answers is one of 1/3 * 15 / (3 * 3) = 5/9 between reports, around the mean 1/2.
    design = SquareWave(4, odds=(4, 1), width=1)
    scores = design.law._scores(np.array([[0, 1 / 3, 2 / 3, 1]]))
    assert_allclose(scores[0], 0.5 + 5 / 9 * (np.arange(6) - 2.5))


def test_the_sentences_have_the_largest_share_of_answers_near_a_report() -> None:
    # Of ten answers, five are at most two steps away from a report in the middle: 5 * 3 / (5 * 3 + 5 * 1).
    sentences = " ".join(SquareWave(10, odds=(3, 1), width=2).sentences())
    assert "at most 2 steps away from the report in at most 75 % of cases" in sentences
