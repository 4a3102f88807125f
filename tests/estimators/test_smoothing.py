"""Smoothing: another program's curve, symmetry, spikes, and closer than estimators that do not know the order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import warner
from references import reference
from warner import BitFlips, CutoffResponse, RandomizedResponse, SquareWave, SubsetSelection, Tally, smooth
from warner.estimation import estimated
from warner.estimators.smoothing import ONE_THREAD_MULTIPLICATIONS, _fitted_to, row_products

NUMBERS = reference("numbers")


def shape(k: int) -> Any:
    x = (np.arange(k) + 0.5) / k
    shares = np.exp(-(((x - 0.35) / 0.15) ** 2) / 2) + 0.3 * np.exp(-(((x - 0.8) / 0.07) ** 2) / 2)
    return shares / shares.sum()


def test_another_programs_curve() -> None:
    case = NUMBERS["maximum"]
    shares = smooth(case["counts"], SquareWave.from_dict(case["design"]))
    assert_allclose(shares.cumsum()[NUMBERS["smooth"]["cumulated_at"]], NUMBERS["smooth"]["F"], atol=2e-6)


@pytest.mark.parametrize("k", [2, 3, 4, 30, 60])
def test_reversing_the_answers_reverses_the_shares(k: int) -> None:
    design = RandomizedResponse(k, odds=(9, 1))
    counts = np.random.default_rng(k).multinomial(2000, shape(k) * 0.5 + 0.5 / k)
    there, back = smooth(counts, design), smooth(counts[::-1], design)
    assert_allclose(there, back[::-1], atol=1e-4)
    assert_allclose(there.sum(), 1)
    assert there.min() > 0


@pytest.mark.parametrize(
    "design",
    [
        RandomizedResponse(60, epsilon=2),
        SquareWave(60, epsilon=1),
        CutoffResponse(60, epsilon=2),
        SubsetSelection(60, epsilon=1),
    ],
    ids=str,
)
def test_it_is_closer_than_estimators_that_do_not_know_the_order(design: Any) -> None:
    truth, n, times = shape(60), 20_000, 6
    counts = design.simulate(truth, n, rng=np.random.default_rng(2), size=times)
    number = {} if design.law.exclusive else {"n": np.full(times, n)}
    shares = smooth(counts, design, **number)
    other = np.array(
        [estimated(Tally(design, row, n=n), method="mle" if design.law.exclusive else "inv_p").shares for row in counts]
    )
    errors = [((found - truth) ** 2).sum(axis=1).mean() for found in (shares, other)]
    # About a twentieth of the squared error; a third of it would be out of the question by chance.
    assert errors[0] < errors[1] / 3


def test_spikes_at_the_ends_are_seen_and_a_finer_grid_gives_the_same_curve() -> None:
    for k in (100, 3000):
        truth = shape(k) * 0.65
        truth[0] += 0.35
        design = SquareWave(k, epsilon=2)
        counts = design.simulate(truth, 200_000, rng=np.random.default_rng(4))
        found = smooth(counts, design)
        assert abs(found[0] - 0.35) < 0.03  # the 35 % at the first answer stay there
        assert np.abs((found - truth).cumsum()).max() < 0.03
        assert_allclose(found.sum(), 1)


def test_large_products_are_made_in_blocks_that_one_thread_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (np.random.default_rng(seed).normal(size=(50, 1000)) for seed in (1, 2))
    widths: list[int] = []
    split = np.split

    def watched(*arguments: Any, **options: Any) -> list[Any]:
        blocks = split(*arguments, **options)
        widths.extend(block.shape[1] for block in blocks)
        return blocks

    monkeypatch.setattr(np, "split", watched)
    assert_allclose(row_products(first, second), np.einsum("ik,jk->ij", first, second), rtol=1e-9, atol=1e-9)
    assert 50 * 50 * max(widths) <= ONE_THREAD_MULTIPLICATIONS


def test_weights_count_at_the_effective_number_of_reports() -> None:
    design = SquareWave(30, epsilon=1)
    counts = design.simulate(shape(30), 3000, rng=np.random.default_rng(1))
    alike = Tally(design, 2.5 * counts, squares=6.25 * 3000.0)
    assert_allclose(estimated(alike, method="smooth").shares, smooth(counts, design), atol=1e-9)


def test_leading_axes_are_separate_surveys() -> None:
    design = SquareWave(12, epsilon=1)
    counts = design.simulate(shape(12), 500, rng=np.random.default_rng(1), size=(2, 2))
    together = smooth(counts, design)
    assert together.shape == (2, 2, 12)
    assert_allclose(together[1, 0], smooth(counts[1, 0], design), atol=1e-12)


def test_it_is_refused_for_pools_and_named_in_estimates() -> None:
    design = SquareWave(30, epsilon=1)
    tally = Tally(design, design.simulate(shape(30), 500, rng=np.random.default_rng(1)))
    result = estimated(tally, method="smooth")
    assert result.method == "smooth"
    assert "smooth" in result.text()
    with pytest.raises(TypeError, match="method must not be 'smooth' here: it is for one collection"):
        estimated(warner.pool([tally, Tally(RandomizedResponse(30, epsilon=1), [10] * 30)]), method="smooth")


def test_counts_without_a_likelihood_or_a_symmetry_are_refused_in_a_line_at_every_door() -> None:
    design = BitFlips(6, epsilon=1, size=3)
    tally = Tally(design, design.simulate(shape(6), 200, rng=np.random.default_rng(1)), n=200)
    doors: Any = (
        lambda: smooth(tally.counts, design, n=200),
        lambda: estimated(tally, method="smooth"),
        lambda: estimated(tally).median(method="smooth"),
    )
    for door in doors:
        with pytest.raises(TypeError, match=r"smooth needs the likelihood of the counts, or .* use inv_p"):
            door()


def test_the_answers_that_are_fitted_represent_all_of_them() -> None:
    # 3001 answers are fitted at 256, of which the ends represent themselves: 2999/254 answers for each of the others.
    design = SquareWave(3001, epsilon=1)
    _, answers, sizes = _fitted_to(
        design, design.simulate(np.full(3001, 1 / 3001), 1000, rng=np.random.default_rng(1)), 1000
    )
    assert answers[[0, -1]].tolist() == [0, 3000]
    assert_allclose(sizes, [1] + [2999 / 254] * 254 + [1])
