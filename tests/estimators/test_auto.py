"""Choice of the estimator with the least error for a presumed population."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cases import KUK
from warner import RandomizedResponse, SubsetSelection, Tally, estimate, inv_n, inv_p, metrics, mle, simulate
from warner.estimators import METHODS
from warner.estimators.auto import METHODS_COMPARED, choice, choices_for, predicted_errors
from warner.reports.counts import as_histograms, checked

ESTIMATORS = {"mle": mle, "inv_p": inv_p, "inv_n": inv_n}


def test_the_compared_estimators_are_the_valid_ones_that_need_no_iteration() -> None:
    assert set(METHODS_COMPARED) == set(ESTIMATORS)
    assert all(METHODS[name].valid for name in METHODS_COMPARED)


def test_predicted_errors_are_those_of_surveys_that_were_drawn() -> None:
    design, truth = RandomizedResponse(5, epsilon=2), simulate.zipf(5, 1.3)
    errors = predicted_errors(truth, [(design, 500)], rng=np.random.default_rng(1), surveys=30)
    drawn = simulate.reports_of_population(truth, 500, design, rng=np.random.default_rng(1), size=30)
    for name, estimator in ESTIMATORS.items():
        assert errors[name] == pytest.approx(
            metrics.squared_error_sum(estimator(drawn, design), truth).mean(), rel=1e-9
        )


def test_predicted_errors_of_several_collections_are_below_those_of_each() -> None:
    truth, pair = (
        simulate.zipf(5, 1.3),
        [(RandomizedResponse(5, epsilon=2), 500), (RandomizedResponse(5, epsilon=1), 2000)],
    )
    together = predicted_errors(truth, pair, rng=np.random.default_rng(1), surveys=200)
    for one in pair:
        alone = predicted_errors(truth, [one], rng=np.random.default_rng(1), surveys=200)
        assert all(together[name] < alone[name] for name in METHODS_COMPARED)


def test_only_what_applies_is_compared() -> None:
    sets = SubsetSelection(5, odds=(3, 1), size=2)
    errors = predicted_errors(simulate.zipf(5, 1), [(sets, 300)], rng=np.random.default_rng(2))
    assert set(errors) == {"inv_p", "inv_n"}
    assert set(predicted_errors([0.3, 0.7], [(KUK, 100)], rng=np.random.default_rng(2), methods=["inv"])) == {"inv"}
    found = choice([23, 15, 13, 6, 5], sets, n=31)
    assert found.method in {"inv_p", "inv_n"}
    assert estimate(Tally(sets, [23, 15, 13, 6, 5], n=31), method="auto").choices == (found,)


def test_an_error_of_rounding_is_none() -> None:
    errors = predicted_errors([0.3, 0.7], [(RandomizedResponse(2, odds=(1, 0)), 10)], rng=np.random.default_rng(3))
    assert len(set(errors.values())) == 1
    certain = predicted_errors([1, 0], [(RandomizedResponse(2, odds=(1, 0)), 10)], rng=np.random.default_rng(3))
    assert certain == {"mle": 0.0, "inv_p": 0.0, "inv_n": 0.0}
    assert choice([10, 0], RandomizedResponse(2, odds=(1, 0))).method == "mle"  # without noise


def test_auto_plugs_in_the_nearest_distribution_and_the_effective_number() -> None:
    counts = np.array([300, 150, 40, 10, 0])
    design = RandomizedResponse(5, epsilon=2)
    expected = predicted_errors(inv_p(counts, design), [(design, 500)], rng=simulate.seeded_by(counts))
    assert choice(counts, design).errors == expected
    fewer = predicted_errors(inv_p(counts, design), [(design, 50)], rng=simulate.seeded_by(counts))
    assert choice(counts, design, n=50.2).errors == fewer
    assert not np.allclose(inv_p(counts, design), mle(counts, design))
    weighted = Tally(design, counts * 2.0, squares=4.0 * 500 * 10)  # an effective number of 50
    assert estimate(weighted, method="auto").choices[0].errors == choice(counts * 2.0, design, n=50).errors


def test_several_collections_are_chosen_for_together() -> None:
    designs = [RandomizedResponse(5, epsilon=2), RandomizedResponse(5, epsilon=1)]
    rows = np.array([[300, 150, 40, 10, 20], [90, 80, 70, 60, 70]])
    parts = [(design, checked(row, design).rows()) for design, row in zip(designs, rows, strict=True)]
    (found,) = choices_for(parts, [np.array([520.4]), np.array([370.0])])
    plug_in = METHODS["inv_p"].solve(parts).shares[0]
    rng = simulate.seeded_by(np.concatenate(rows))
    assert found.errors == predicted_errors(plug_in, [(designs[0], 520), (designs[1], 370)], rng=rng)
    assert found.method == min(found.errors, key=found.errors.__getitem__)
    (single,) = choices_for([(designs[0], as_histograms(rows[:1], 5))], [np.array([520.0])])
    assert single == choice(rows[0], designs[0])


@pytest.mark.long
def test_auto_is_close_to_the_best_in_hindsight_on_the_papers_settings() -> None:
    """72 settings: K = 100, 1000; epsilon 1, 2, 4; N = 1e3 .. 1e6; three populations."""
    rng, surveys, ratios = np.random.default_rng(11), 30, []
    for k, epsilon, n, s in product((100, 1000), (1, 2, 4), (10**3, 10**4, 10**5, 10**6), (0.01, 1.3, 2.5)):
        design, truth = RandomizedResponse(k, epsilon=epsilon), simulate.zipf(k, s)
        counts = simulate.reports_of_population(truth, n, design, rng=rng, size=surveys)
        errors = {name: metrics.squared_error_sum(solver(counts, design), truth) for name, solver in ESTIMATORS.items()}
        chosen = [choice(row, design).method for row in counts]
        mine = np.mean([errors[name][i] for i, name in enumerate(chosen)])
        ratios.append(mine / min(error.mean() for error in errors.values()))
    assert np.exp(np.mean(np.log(ratios))) <= 1.06
    assert max(ratios) <= 2


def test_the_choice_can_be_repeated_and_seeded() -> None:
    design = RandomizedResponse(3, epsilon=1)
    first, second = (choice([520, 285, 195], design) for _ in range(2))
    assert first == second
    seeded = choice([520, 285, 195], design, rng=np.random.default_rng(5))
    assert seeded != first
    assert seeded == choice([520, 285, 195], design, rng=np.random.default_rng(5))


def test_many_groups_are_chosen_for_as_each_alone_and_equal_ones_once(monkeypatch: pytest.MonkeyPatch) -> None:
    design = RandomizedResponse(4, epsilon=1)
    rows = np.array([[9, 5, 4, 3], [0, 0, 0, 0], [210, 150, 110, 95], [9, 5, 4, 3], [1, 0, 0, 0]])
    counted = Tally(design, rows, by=("g",), groups=tuple((i,) for i in range(len(rows))))
    alone = [choice(row, design) for row in rows if row.any()]
    drawn: list[int] = []
    simulated = RandomizedResponse.simulate

    def noted(*given: Any, **options: Any) -> Any:
        drawn.append(1)
        return simulated(*given, **options)

    monkeypatch.setattr(RandomizedResponse, "simulate", noted)
    result = estimate(counted, method="auto")
    assert len(drawn) == 3  # different groups that have reports
    assert [chosen.method for chosen in result.choices] == [chosen.method for chosen in alone]
    for together, apart in zip(result.choices, alone, strict=True):
        assert together.errors == pytest.approx(apart.errors, rel=1e-9)
    for place, taken in zip((0, 2, 3, 4), result.choices, strict=True):
        assert_allclose(result.shares[place], ESTIMATORS[taken.method](rows[place], design), atol=1e-12)
