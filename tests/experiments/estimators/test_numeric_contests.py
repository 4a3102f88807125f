"""Contests for distributions of numbers, and the rivals there (`rivals`), by hand and against a solver."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from experiments.estimators.numeric_contests import (
    DISTANCES,
    EMS,
    HIERARCHY,
    INCOME_BOUND,
    NUMERIC_SHAPES,
    NumericContest,
    incomes,
    numeric_contests,
    numeric_population,
    numeric_summaries,
    numeric_table,
    population_table,
)
from experiments.estimators.rivals import em_smoothed, hierarchical_reports, nearest_hierarchy, tree
from experiments.estimators.scale import TOY_COMPARISON
from experiments.pinzon2026.datasets import Histogram
from warner import RandomizedResponse, SquareWave, smooth


def test_em_with_smoothing_by_hand() -> None:
    # Direct answers, all the middle one: a step gives 0, 1, 0, and the filter 1/4 : 1/2 : 1/4 over the weights 3/4, 1,
    # 3/4 there are gives 1/3, 1/2, 1/3, which sum to 7/6.
    direct = RandomizedResponse(3, odds=(1, 0)).law.likelihood()
    assert_allclose(em_smoothed(np.array([0, 100, 0]), direct), [2 / 7, 3 / 7, 2 / 7], rtol=1e-12)


def test_em_with_smoothing_finds_a_smooth_shape() -> None:
    design, shares = SquareWave(64, epsilon=3), np.sin(np.linspace(0.05, 3.1, 64))
    shares /= shares.sum()
    counts = (1e6 * design.law.likelihood().forward(shares)).round()
    found = em_smoothed(counts, design.law.likelihood())
    assert np.abs((found - shares).cumsum()).max() < 0.01
    assert np.abs((smooth(counts, design) - shares).cumsum()).max() < 0.01


def test_the_nearest_hierarchy_is_that_of_a_solver() -> None:
    rng = np.random.default_rng(1)
    added = np.vstack([np.kron(np.eye(4), np.ones(4)), np.eye(16)])
    noisy = added @ np.full(16, 1 / 16) + rng.normal(0, 0.05, 20)

    def distance(shares: np.ndarray) -> float:
        return float(((added @ shares - noisy) ** 2).sum())

    best = minimize(
        distance,
        np.full(16, 1 / 16),
        bounds=[(0, 1)] * 16,
        constraints={"type": "eq", "fun": lambda shares: shares.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert_allclose(nearest_hierarchy(noisy, 16), best.x, atol=2e-4)
    consistent = added @ rng.dirichlet(np.ones(16))
    assert_allclose(nearest_hierarchy(consistent, 16), consistent[4:], atol=1e-9)
    with pytest.raises(ValueError, match="a power of 4 answers, but got 20"):
        tree(20)


def test_hierarchical_reports_are_unbiased_and_share_out_everybody() -> None:
    rng, people = np.random.default_rng(2), np.array([400, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 250, 250, 1])
    drawn = np.array([hierarchical_reports(people, 3.0, rng=rng) for _ in range(400)])
    truth = np.concatenate([people.reshape(4, 4).sum(axis=1), people]) / people.sum()
    error = drawn.std(axis=0, ddof=1) / np.sqrt(400)
    assert (np.abs(drawn.mean(axis=0) - truth) < 5 * error).all()  # of 20: a false alarm with probability 1e-5


@pytest.mark.parametrize("name", NUMERIC_SHAPES)
def test_shapes_are_distributions(name: str) -> None:
    shares = numeric_population(name, 256).shares
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()


def test_incomes_are_binned() -> None:
    found = Histogram("acs_pincp", "incomes", -5, 10**6, np.array([-5, 0, 2047, 2048, 600_000]), np.arange(1, 6), "all")
    population = incomes(found, INCOME_BOUND // 2048)
    assert_allclose(population.shares[:2], [5 / 9, 4 / 9])  # 2 + 3 people, and 4; the others are outside


def test_a_contest_measures_all_rivals_and_reads_its_file_again() -> None:
    contest = NumericContest(numeric_population("gamma", 16), 500, 2, 2)
    columns = contest.columns()
    found = contest.parsed(columns)
    assert set(found) == {"smooth", "mle", EMS, HIERARCHY}
    again = contest.columns()
    assert all(np.array_equal(columns[name], again[name]) for name in columns)  # seeded by what it is
    ((first, *_), *_) = numeric_table({contest: found})
    summaries = numeric_summaries({contest: found})
    assert summaries[0].estimator == first
    of_smooth = next(one for one in summaries if one.estimator == "smooth")
    assert of_smooth.means["wasserstein"] == pytest.approx(found["smooth"]["wasserstein"] / found[EMS]["wasserstein"])
    assert population_table({contest: found})[0][0] == "gamma"
    with pytest.raises(ValueError, match="1 seeds of smooth, not 2"):
        contest.parsed({name: column[:4] for name, column in columns.items()})
    assert len(numeric_contests(TOY_COMPARISON, [])) == len(NUMERIC_SHAPES)


def test_distances_by_hand() -> None:
    apart = np.array([0.5, -0.25, 0.0, 0.25])
    assert {name: float(distance(apart)) for name, distance in DISTANCES.items()} == {
        "wasserstein": 0.25,
        "kolmogorov_smirnov": 0.5,
        "squared_error_of_F": 0.09375,
    }


@pytest.mark.long
def test_smooth_is_closer_than_ems_by_a_fifth() -> None:
    # Nine shapes that it was not built with, at one setting with 4 seeds, which are always the same: it was .74.
    settings = [NumericContest(numeric_population(name, 256), 100_000, 3, 4) for name in NUMERIC_SHAPES]
    found = {contest: contest.parsed(contest.columns()) for contest in settings}
    of_smooth = next(one for one in numeric_summaries(found) if one.estimator == "smooth")
    assert of_smooth.means["wasserstein"] < 0.8
