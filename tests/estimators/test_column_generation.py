"""Column generation: the same maximum as Newton's method, with its certificate, for any number of answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from references import reference
from warner import CutoffResponse, SquareWave, certificate, channel_mle
from warner.designs.facts import ChannelOperator
from warner.estimators.maximum_likelihood import newton

NUMBERS = reference("numbers")


def some_counts(design: Any, n: int, seed: int) -> Any:
    x = (np.arange(design.k) + 0.5) / design.k
    shares = x**4 * (1 - x)
    return design.simulate(shares / shares.sum(), n, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("mechanism", [SquareWave, CutoffResponse])
@pytest.mark.parametrize("answers", [[0, 5, 17, 39], [0], [39], [3, 4, 5], list(range(40))])
def test_merged_reports_are_sums_of_the_table(mechanism: Any, answers: list[int]) -> None:
    operator = mechanism(40, epsilon=1).law.likelihood()
    table, stretch = operator.merged(np.array(answers))
    rows = operator.matrix()[answers]
    assert_allclose(table, [np.bincount(stretch, weights=row, minlength=table.shape[1]) for row in rows], atol=1e-15)
    # Within a stretch the columns of these answers are proportional, so that only sums of counts matter.
    for place in range(table.shape[1]):
        columns = rows[:, stretch == place]
        assert_allclose(columns * table[:1, place], columns[:1] * table[:, [place]], atol=1e-15)


@pytest.mark.parametrize("mechanism", [SquareWave, CutoffResponse])
@pytest.mark.parametrize("seed", range(4))
def test_it_finds_the_maximum_of_newtons_method(mechanism: Any, seed: int) -> None:
    design = mechanism([150, 300][seed % 2], epsilon=[0.5, 1, 2, 3][seed])
    counts = some_counts(design, 10 ** (3 + seed % 3), seed)
    fit = channel_mle(counts, design)
    matrix, seen = design.law.likelihood().matrix(), counts > 0
    n = float(counts.sum())
    other = newton(np.ascontiguousarray(matrix[:, seen]), counts[seen] / n, n)
    assert_allclose(fit.log_likelihood, other.log_likelihood, rtol=0, atol=1e-6)
    if fit.unique:
        assert_allclose(fit.shares, other.shares, atol=1e-9)
    proof = certificate(fit.shares, counts, design)
    assert proof.gap <= 1e-6
    assert fit.gap <= 1e-6


def test_another_programs_maximum() -> None:
    case = NUMBERS["maximum"]
    design = SquareWave.from_dict(case["design"])
    fit = channel_mle(case["counts"], design)
    assert_array_equal(np.flatnonzero(fit.shares > 1e-9), case["support"])
    assert_allclose(fit.shares[case["support"]], case["shares"], atol=1e-9)
    assert_allclose(fit.log_likelihood, case["log_likelihood"], rtol=1e-9)


@pytest.mark.parametrize("mechanism", [SquareWave, CutoffResponse])
def test_ten_thousand_answers_to_a_millionth_of_a_nat(mechanism: Any) -> None:
    design = mechanism(10_000, epsilon=1)
    counts = some_counts(design, 10**6, 1)
    fit = channel_mle(counts, design)
    assert fit.gap <= 1e-6
    assert certificate(fit.shares, counts, design).gap <= 1e-6
    assert_allclose(fit.shares.sum(), 1)
    assert fit.steps < 30


def test_an_operator_of_ones_own_may_say_how_reports_merge() -> None:
    design = SquareWave(200, epsilon=1)
    full = design.law.likelihood()
    bare = ChannelOperator(full.shape, full.forward, full.adjoint, None, None, full.merged)
    counts = some_counts(design, 5000, 3)
    assert_allclose(channel_mle(counts, bare).shares, channel_mle(counts, design).shares, atol=1e-9)
