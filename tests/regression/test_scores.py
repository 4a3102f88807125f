"""Scores of reports (`regression/scores.py`): right on average under every design, and what is sure to vary."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from warner import Channel, CutoffResponse, RandomizedResponse, SquareWave, estimate, tally
from warner.designs import MECHANISMS
from warner.designs.facts import counts_everyone, full_symmetry
from warner.regression.scores import column_scores, least_variance, lower_envelope, report_scores

EXAMPLES: list[Any] = [
    pytest.param(design, id=f"{name} {place}")
    for name, mechanism in MECHANISMS.items()
    for place, design in enumerate(mechanism.examples())
    if design.law.exhaustive
    and design.k < 200
    and (full_symmetry(design.law) is not None or design.law.linear.identifiable().all())
]


def numbers_of(design: Any) -> Any:
    """Return numbers that are neither in order nor evenly spaced."""
    return np.random.default_rng(design.k).integers(-50, 50, design.k).astype(float)


@pytest.mark.parametrize("design", EXAMPLES)
def test_the_mean_of_the_scores_is_the_unbiased_mean(design: Any) -> None:
    """Scores are what an estimate averages: under every mechanism, for any numbers."""
    if design.k == 2 and not counts_everyone(design.law):
        pytest.skip("the mean of two answers is that of the people who were asked: a ratio, which no scores sum to")
    rng, values = np.random.default_rng(1), numbers_of(design)
    reports = design.draw(rng.integers(0, design.k, 40), rng.bytes)
    written = design.report_form.written(reports)
    mean = estimate(tally(written, design), method="inv").mean(values)
    scored = report_scores(design, reports, values).mean()
    assert_allclose(np.clip(scored, values.min(), values.max()), mean.value, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("design", [one for one in EXAMPLES if one.values[0].law.sufficient is not None])
def test_scores_are_right_on_average_after_every_answer(design: Any) -> None:
    operator, places = design.law.likelihood(), np.arange(design.k)
    # Also of numbers of which some reports say nothing: whether it is an answer, or one of the answers up to it.
    for values in (numbers_of(design), (places == 0).astype(float), (places > 1).astype(float)):
        scores = column_scores(design, np.arange(operator.shape[1]), values)
        assert_allclose(operator.adjoint(scores), values, rtol=1e-9, atol=1e-7)


def test_scores_of_a_square_wave_are_those_of_the_formula_as_fractions() -> None:
    design = SquareWave(range(18, 30), odds=(7, 2), width=3)
    k, w, (a, b) = 12, 3, (7, 2)
    total = (2 * w + 1) * a + (k - 1) * b
    middle = Fraction(18 + 29, 2)
    exact = [middle + (Fraction(report) - middle) * Fraction(total, (a - b) * (2 * w + 1)) for report in range(15, 33)]
    for answer in range(18, 30):  # they are right on average, exactly
        chances = [Fraction(a if abs(report - answer) <= w else b, total) for report in range(15, 33)]
        assert sum(p * s for p, s in zip(chances, exact, strict=True)) == answer
    assert_allclose(report_scores(design, np.arange(18), np.arange(18.0, 30.0)), [float(s) for s in exact], rtol=1e-12)


@pytest.mark.parametrize(
    "design",
    [
        RandomizedResponse(5, odds=(3, 1)),
        SquareWave(7, odds=(4, 1), width=2),
        CutoffResponse([0, 1, 5, 20], odds=(3, 1)),
        Channel([["9/10", "1/10"], ["1/3", "2/3"]], ["yes", "no"], ["yes", "no"]),
    ],
)
def test_the_least_variance_is_that_of_the_best_distribution_with_this_mean(design: Any) -> None:
    """The envelope against a linear program over all distributions of the numbers."""
    values = np.arange(design.k) ** 2.0
    table = design.channel() if hasattr(design, "channel") else design.as_channel().channel()
    scores = column_scores(design, np.arange(table.shape[1]), values)
    spread = table @ scores**2 - values**2
    least = least_variance(design, values)
    assert least is not None
    for mean in np.linspace(values.min(), values.max(), 9):
        best = linprog(spread, A_eq=[np.ones(design.k), values], b_eq=[1.0, mean], bounds=(0, None))
        assert_allclose(least.interpolated(np.array(mean)), best.fun, rtol=1e-7, atol=1e-9)
    assert_allclose(
        least.interpolated(np.array([-100.0])), least.interpolated(values[:1])
    )  # beyond the range, as at its end


def test_an_envelope_takes_the_lowest_of_equal_numbers() -> None:
    found = lower_envelope(np.array([1.0, 0.0, 1.0, 2.0]), np.array([5.0, 2.0, 0.5, 1.0]))
    assert found.means.tolist() == [0.0, 1.0, 2.0]
    assert found.variances.tolist() == [2.0, 0.5, 1.0]


def test_reports_that_do_not_tell_the_mean_are_refused() -> None:
    merged = RandomizedResponse(["low", "high"], truth="3/4").coarsened({"low": ["a", "b"], "high": ["c"]})
    assert_allclose(report_scores(merged, np.arange(2), np.array([1.0, 1.0, 3.0])), [0.0, 4.0])
    with pytest.raises(ValueError, match="values must be such that reports identify their mean"):
        report_scores(merged, np.arange(2), np.array([1.0, 2.0, 3.0]))


def test_one_number_for_all_answers_is_known() -> None:
    assert report_scores(RandomizedResponse(3, odds=(2, 1)), np.arange(3), np.full(3, 7.0)).tolist() == [7.0] * 3
    assert report_scores(RandomizedResponse(3, odds=(2, 1)), np.zeros(0, dtype=np.int64), np.arange(3.0)).size == 0
