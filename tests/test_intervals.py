from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binom

from warner import RandomizedResponse, intervals
from warner.intervals import clopper_pearson, standard_errors

REFERENCE = json.loads((Path(__file__).parent / "reference" / "reference_values.json").read_text())["cases"]
RR_CASES = {case["id"]: case for case in REFERENCE if case["kind"] == "rr"}


def design_of(case: dict[str, Any]) -> RandomizedResponse:
    known = {"truth": case["input"]["p"]} if "p" in case["input"] else {"epsilon": case["input"]["epsilon"]}
    return RandomizedResponse(case["input"]["K"], **known)


@pytest.mark.parametrize("case", RR_CASES.values(), ids=RR_CASES)
def test_reference_values(case: dict[str, Any]) -> None:
    design = design_of(case)
    counts = np.array(case["input"]["counts"])
    n = np.array([float(counts.sum())])
    low, high = clopper_pearson(counts, n, design, 0.95)
    plain = case["expected"]["clopper_pearson_theta_clipped"]
    # The reference is without the never-empty rule, which touches only counts beyond what the shares 0 and 1 explain.
    ordinary = (counts >= np.floor(n * min(design.p, design.q))) & (counts <= np.ceil(n * max(design.p, design.q)))
    assert_allclose(low[ordinary], np.array(plain["lower"]["float"])[ordinary], rtol=0, atol=1e-10)
    assert_allclose(high[ordinary], np.array(plain["upper"]["float"])[ordinary], rtol=0, atol=1e-10)
    assert (low <= np.array(plain["lower"]["float"]) + 1e-10).all()
    assert (high >= np.array(plain["upper"]["float"]) - 1e-10).all()
    assert_allclose(
        standard_errors(counts, n, design), case["expected"]["se_INV_iid_plugin"]["float"], rtol=1e-12, atol=1e-12
    )


def test_an_interval_by_an_independent_formula() -> None:
    # 40 of 100, truth 3/4: the ends of Clopper and Pearson for 0.4, carried over by (x - 1/4) / (1/2)
    low, high = clopper_pearson(np.array([40, 60]), np.array([100.0]), RandomizedResponse(2, truth="3/4"), 0.95)
    ends = beta.ppf([0.025, 0.975], [40, 41], [61, 60])
    assert_allclose([low[0], high[0]], (ends - 0.25) / 0.5, rtol=1e-12)


def test_an_interval_is_never_empty() -> None:
    # 0 of 100 where noise alone gives 25: the plain upper end is far below zero. Taken as 25, it is U(25).
    design = RandomizedResponse(2, truth="3/4")
    low, high = clopper_pearson(np.array([0, 100]), np.array([100.0]), design, 0.95)
    upper = (beta.ppf(0.975, 26, 75) - 0.25) / 0.5
    assert_allclose([low[0], high[0]], [0, upper], atol=1e-12)
    assert_allclose([low[1], high[1]], [1 - upper, 1], atol=1e-12)  # and by symmetry for the other answer


def test_an_inverted_design_is_the_upright_one_with_answers_swapped() -> None:
    counts, n = np.array([30, 70]), np.array([100.0])
    upright = clopper_pearson(counts, n, RandomizedResponse(2, odds=(4, 1)), 0.9)
    inverted = clopper_pearson(counts[::-1].copy(), n, RandomizedResponse(2, odds=(1, 4)), 0.9)
    assert_allclose(upright, inverted, rtol=1e-12)


@pytest.mark.parametrize("k", [2, 10, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 2, 4])
@pytest.mark.parametrize("n", [30, 1000, 20_000])
def test_coverage_by_exact_summation_is_at_least_the_level(k: int, epsilon: float, n: int) -> None:
    design = RandomizedResponse(k, epsilon=epsilon)
    counts = np.arange(n + 1)
    low, high = clopper_pearson(counts[:, np.newaxis], np.array([[float(n)]]), design, 0.95)
    for share in (0, 0.001, 0.02, 0.3, 0.9, 1):
        inside = (low[:, 0] <= share) & (share <= high[:, 0])
        chance = design.q + (design.p - design.q) * share
        assert binom.pmf(counts[inside], n, chance).sum() >= 0.95 - 1e-12


def test_many_answers_are_worked_out_by_distinct_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    design = RandomizedResponse(6000, epsilon=3)
    counts = np.random.default_rng(1).poisson(5, (2, 6000))
    n = counts.sum(axis=-1, keepdims=True).astype(float)
    quick = clopper_pearson(counts, n, design, 0.9)
    monkeypatch.setattr(intervals, "LONG_ROW", 10**9)
    assert_array_equal(quick, clopper_pearson(counts, n, design, 0.9))


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, float("nan")])
def test_levels_that_are_none(level: float) -> None:
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        clopper_pearson(np.array([1, 2]), np.array([3.0]), RandomizedResponse(2, epsilon=1), level)
