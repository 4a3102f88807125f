"""The published experiments at toy size: what one configuration computes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import warner
from experiment_cases import TINY
from experiments.pinzon2026 import grid, iteration, theorems
from experiments.pinzon2026.methods import ESTIMATORS, PAPER_METHODS
from experiments.pinzon2026.repetition import (
    COUNTS_DRAWN_AT_ONCE,
    COUNTS_MEASURED_AT_ONCE,
    generator,
    outcomes,
    repeated,
)
from experiments.pinzon2026.scale import PUBLISHED
from warner import RandomizedResponse, mle, simulate


def test_the_list_of_estimators_says_which_are_valid() -> None:
    # 15 of 100 say yes, truth told with probability 3/4: (0.15 - 0.25) / (0.75 - 0.25) = -0.2.
    for method in PAPER_METHODS.values():
        shares = method.estimator([15, 85], RandomizedResponse(2, truth="3/4"))
        assert (shares.min() >= 0) == method.valid


def test_squared_bias_and_variance_are_those_of_the_estimates() -> None:
    # The estimates themselves, drawn again from the same seed, and NumPy's mean and variance of them.
    people, design = np.array([60, 30, 10, 0, 0]), RandomizedResponse(5, epsilon=1)
    measured = outcomes(repeated(people, design, seeds=50, rng=generator("a test"), auto=True))
    counts = simulate.reports_of_people(people, design, rng=generator("a test"), size=50)
    truth = people / 100
    for name, estimator in ESTIMATORS.items():
        shares = estimator(counts, design)
        assert_allclose(measured[name].squared_bias, ((shares.mean(axis=0) - truth) ** 2).sum(), rtol=1e-9)
        assert_allclose(measured[name].variance, shares.var(axis=0).sum(), rtol=1e-9)
        assert_allclose(measured[name].squared_error, ((shares - truth) ** 2).sum(axis=1), rtol=1e-12)
        assert_array_equal(measured[name].negatives, (shares < 0).sum(axis=1))
        assert_array_equal(measured[name].absent_negatives, (shares[:, 3:] < 0).sum(axis=1))
        parts = measured[name].squared_bias + measured[name].variance
        assert_allclose(parts, measured[name].squared_error.mean(), rtol=1e-12)
    valid = np.array([measured[name].squared_error for name in ("mle", "inv_p", "inv_n")])
    assert (measured["auto"].squared_error >= valid.min(axis=0)).all()
    assert (measured["auto"].squared_error <= valid.max(axis=0)).all()


def test_blocks_hold_all_seeds() -> None:
    k, seeds = 30_000, 35
    drawn_rows, measured_rows = COUNTS_DRAWN_AT_ONCE // k, COUNTS_MEASURED_AT_ONCE // k
    assert 1 < measured_rows < drawn_rows < seeds  # more than one block, of more than one part
    people = np.zeros(k, dtype=np.int64)
    people[:3] = 600, 300, 100
    inv = outcomes(repeated(people, RandomizedResponse(k, epsilon=8), seeds=seeds, rng=generator(1)))["inv"]
    assert inv.squared_error.shape == (seeds,)
    assert len(set(inv.squared_error.tolist())) == seeds
    assert_allclose(inv.squared_bias + inv.variance, inv.squared_error.mean(), rtol=1e-12)


def test_histograms_and_single_people_give_the_same_errors() -> None:
    # Everybody randomized by the real randomizer, then counted, against the simulated histograms.
    people, design, runs = np.array([150, 90, 40, 20, 0, 0, 0, 0]), RandomizedResponse(8, epsilon=1), 1_500
    truth = people / people.sum()
    answers = np.repeat(np.arange(8), people)
    reports = design.randomize(np.tile(answers, (runs, 1)), codes=True)
    counts = np.array([np.bincount(row, minlength=8) for row in reports])
    measured = outcomes(repeated(people, design, seeds=runs, rng=np.random.default_rng(3)))
    for name, estimator in ESTIMATORS.items():
        one_by_one = ((estimator(counts, design) - truth) ** 2).sum(axis=1)
        both = (one_by_one, measured[name].squared_error)
        error = math.hypot(*(values.std(ddof=1) / math.sqrt(runs) for values in both))
        assert abs(both[0].mean() - both[1].mean()) < 5 * error
        # Not a test without power: a tenth more noise would show.
        assert 0.1 * both[0].mean() > 2 * error


def test_the_truth_of_a_configuration_is_its_own() -> None:
    first, second = grid.ZipfSurvey(20, 1.3, 1_000, 1, 4), grid.ZipfSurvey(20, 1.3, 1_000, 2, 4)
    assert_array_equal(first.people(), first.people())
    assert first.people().sum() == 1_000
    assert (first.people() != second.people()).any()
    assert first.absent == (first.people() == 0).sum()


def test_people_and_columns_speak_of_the_same_truth() -> None:
    # With hardly any noise INV is the truth.
    clear = grid.ZipfSurvey(20, 1.3, 1_000, 30, 4)
    assert outcomes(clear.columns())["inv"].squared_error.max() < 1e-9


def test_the_published_grid_is_complete() -> None:
    published = grid.surveys(PUBLISHED)
    assert len(published) == len(set(published)) == 10 * 5 * 5 * 3
    assert sum(survey.auto for survey in published) == 3 * (10 + 5 - 1)
    assert {survey.seeds for survey in published} == {100}
    assert len(iteration.descents(PUBLISHED)) == 2 * 2 * 3


def test_the_iteration_is_that_of_the_library() -> None:
    descent = iteration.Descent(15, 1.3, 300, 2.0, 500, 2)
    trajectory = descent.parsed(descent.columns())
    for run, counts in enumerate(descent.counts()):
        fit = warner.ibu(counts, descent.design, iterations=500, gap=0)
        distance = ((fit.shares - mle(counts, descent.design)) ** 2).sum()
        assert_allclose(trajectory.squared_distance[-1, run], distance, rtol=1e-6, atol=1e-20)
        assert_allclose(trajectory.gap[:, run], fit.history[trajectory.step], rtol=1e-6, atol=1e-9)
    assert (np.diff(trajectory.squared_distance, axis=0) <= 1e-12).all()


def test_the_iteration_is_near_after_the_steps_that_it_names() -> None:
    descent = iteration.Descent(15, 1.3, 300, 2.0, 500, 2)
    for counts, steps in zip(descent.counts(), descent.parsed(descent.columns()).steps_to_near, strict=True):
        shares = np.full(15, 1 / 15)
        if steps > 0:
            shares = warner.ibu(counts, descent.design, iterations=int(steps), gap=0).shares
        assert ((shares - mle(counts, descent.design)) ** 2).sum() < iteration.REACHED_DISTANCE


def test_the_theorem_checks_find_what_is_known() -> None:
    numbers = {check.name: check.numbers() for check in theorems.theorem_checks(replace(TINY, cases=60))}
    assert numbers["likelihood"]["largest excess"] < 1e-12
    assert numbers["threshold"]["as sketched"] == numbers["threshold"]["cases"] > 0
    assert numbers["threshold"]["as printed"] < numbers["threshold"]["cases"]
    assert numbers["order"]["out of order"] == numbers["order"]["moved"] == numbers["smallest"]["worse"] == 0
    assert numbers["order"]["apart, though counts are equal"] == 0 < numbers["order"]["tied, though counts differ"]
    assert numbers["collinearity"]["residual"] < 1e-12
    assert max(numbers["continuity"].values()) <= 1 + 1e-9


def test_the_variances_of_the_check_are_those_by_hand() -> None:
    # K = 5, e^1.2 = 3.3201, so q = 1/7.3201, p - q = 2.3201/7.3201; MATH has .00144, .00455 and .00518.
    numbers = theorems.TheoremCheck("variance", cases=20).numbers()
    assert numbers["printed"] == pytest.approx(0.00144, abs=5e-6)
    assert numbers["repaired"] == pytest.approx(0.00455, abs=5e-6)
    assert numbers["multinomial"] == pytest.approx(0.00518, abs=5e-6)


def test_a_theorem_check_is_read_as_it_was_written() -> None:
    for check in theorems.theorem_checks(TINY):
        assert check.parsed(check.columns()) == check.numbers()
