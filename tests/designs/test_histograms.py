"""Histograms of many people in O(K): the ways that are taken for many answers, forced on a few."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from warner import RandomizedResponse, simulate
from warner.designs import histograms, response
from warner.designs.histograms import binomial_thinning, uniform_histograms

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fits(drawn: NDArray[np.int64], law: Any) -> bool:
    """Compare draws with a law by the chi-square test, cells with fewer than 5 expected put together."""
    values = np.arange(drawn.max() + 1)
    expected = law.pmf(values) * drawn.size
    observed = np.bincount(drawn)
    many = expected >= 5
    cells = [*zip(observed[many], expected[many], strict=True)]
    cells.append((drawn.size - observed[many].sum(), drawn.size - expected[many].sum()))
    statistic = sum((o - e) ** 2 / e for o, e in cells if e > 0)
    return bool(stats.chi2.sf(statistic, len(cells) - 1) > 1e-4)


@pytest.mark.parametrize("mean", [12.3, 80.0, 900.0])
def test_the_table_of_poisson_counts(mean: float) -> None:
    drawn = histograms._poisson(mean)(100_000, np.random.default_rng(1))
    assert fits(drawn, stats.poisson(mean))
    assert not fits(drawn, stats.poisson(1.01 * mean))  # the test has power


@pytest.mark.parametrize("few", [1, 100], ids=["by Poisson counts", "one by one"])
def test_long_histograms_are_multinomial(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # The ways for many answers, forced on three of them, where the law can be written down: each count is binomial,
    # and given the first so is the second.
    monkeypatch.setattr(histograms, "ANSWERS_FOR_BULK", 2)
    monkeypatch.setattr(histograms, "MEAN_DRAWN_SINGLY", few)
    totals = np.full(15_000, 60)
    drawn = uniform_histograms(totals, 3, np.random.default_rng(2))
    assert (drawn.sum(axis=1) == 60).all()
    assert fits(drawn[:, 0], stats.binom(60, 1 / 3))
    assert not fits(drawn[:, 0], stats.binom(62, 1 / 3))
    usual = drawn[drawn[:, 0] == 20, 1]
    assert fits(usual, stats.binom(40, 1 / 2))
    different = uniform_histograms(np.array([60, 3, 200]), 3, np.random.default_rng(2))
    assert different.sum(axis=1).tolist() == [60, 3, 200]


@pytest.mark.parametrize("rows", [20_000, 2])
def test_few_people_who_keep_their_answer(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "ANSWERS_FOR_BULK", 2)
    people = np.tile([1, 4], 30)  # 150 people with 60 answers, of whom 6 keep theirs on average
    rng = np.random.default_rng(3)
    found = np.concatenate([binomial_thinning(people, 0.04, (rows,), rng) for _ in range(20_000 // rows)])
    assert fits(found.sum(axis=1), stats.binom(150, 0.04))
    assert not fits(found.sum(axis=1), stats.binom(150, 0.042))
    for answer in (0, 1, 58, 59):
        assert fits(found[:, answer], stats.binom(people[answer], 0.04))
    # Independent of each other: no correlation beyond chance, 5 / sqrt(draws).
    assert abs(np.corrcoef(found[:, 1], found[:, 3])[0, 1]) < 5 / 141


@pytest.mark.parametrize(("epsilon", "held"), [(1, 60), (5, 4)], ids=["few are kept", "few answers are held"])
def test_a_population_of_many_answers(epsilon: float, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = np.concatenate([simulate.zipf(held, 1), np.zeros(60 - held)])
    design = RandomizedResponse(60, epsilon=epsilon)
    reported = design.q + (design.p - design.q) * shares
    for module in (histograms, response):
        monkeypatch.setattr(module, "ANSWERS_FOR_BULK", 2)
    people = 500 if held == 60 else 2_000
    assert 2 * min(people * (design.p - design.q), held) <= 60  # or the usual way would be taken
    drawn = simulate.reports_of_population(shares, people, design, rng=np.random.default_rng(4), size=20_000)
    assert (drawn.sum(axis=1) == people).all()
    for answer in (0, 1, 3, 59):
        assert fits(drawn[:, answer], stats.binom(people, reported[answer]))
    covariance = np.cov(drawn[:, 0], drawn[:, 1])[0, 1]
    error = people * np.sqrt(reported[0] * reported[1] / 20_000)  # of a covariance, about
    assert abs(covariance + people * reported[0] * reported[1]) < 5 * error
