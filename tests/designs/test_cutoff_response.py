"""The cut-off response: its table by hand, and the yeses that are binomial in the mean."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from references import reference
from warner import CutoffResponse, grid
from warner.designs.contract import LARGEST_CHANNEL
from warner.designs.facts import Fuzzy

NUMBERS = reference("numbers")


def test_the_worked_number() -> None:
    design = CutoffResponse([0, 1, 5, 20], odds=(3, 1))
    assert design.gaps == (1, 4, 15)
    yes = design.as_channel().weights[2, 1::2].sum()
    assert Fraction(int(yes), design.total) == Fraction(3, 8) == Fraction(1, 4) + Fraction(1, 2) * Fraction(5, 20)


@pytest.mark.parametrize("design", CutoffResponse.examples(), ids=str)
def test_a_yes_is_linear_in_the_number(design: CutoffResponse) -> None:
    weights = design.as_channel()
    yes = [Fraction(int(part), weights.total) for part in weights.weights[:, 1::2].sum(axis=1)]
    a, b = design.odds
    line = [Fraction(sum(design.gaps[:i]), sum(design.gaps)) for i in range(design.k)]
    assert yes == [Fraction(b, a + b) + Fraction(a - b, a + b) * u for u in line]
    # The readout says so, of the population; of these very people the law is another.
    memberships = np.array([line, [1 - u for u in line]], dtype=float)
    counts = np.arange(1, 2 * design.k - 1)[np.newaxis]
    n = counts.sum(keepdims=True).astype(float)
    readout = design.readout(counts, n, Fuzzy(memberships))
    assert readout.exact.all()
    assert readout.count[0].tolist() == [counts[0, 1::2].sum(), counts[0, ::2].sum()]
    assert_allclose(readout.share().sum(), 1)
    realised = design.readout(counts, n, Fuzzy(memberships), target="realised")
    assert not realised.exact.any()


def test_scores_are_those_of_least_variance() -> None:
    design = CutoffResponse([0, 1, 5, 20, 30], odds=(5, 2))
    assert_allclose(design._scores(np.eye(5)).T, design.as_channel().inverse(), atol=1e-10)
    assert_allclose(design.undone(np.arange(8) / 28), np.arange(8) / 28 @ design.as_channel().inverse(), atol=1e-10)


def test_the_variance_of_a_mean_is_that_of_duchi() -> None:
    # Of a number from -1 to 1 whose mean is 0: ((e^eps + 1) / (e^eps - 1))^2
    for epsilon, worst in NUMBERS["worst_case_variance"].items():
        design = CutoffResponse(grid(-100, 100), epsilon=float(epsilon))
        variance = 4 * 0.25 / (design.p - design.q) ** 2
        assert_allclose(variance, worst["duchi"], rtol=1e-9)
        assert_allclose(variance, ((math.exp(float(epsilon)) + 1) / math.expm1(float(epsilon))) ** 2, rtol=1e-9)


def test_readouts_beyond_what_a_matrix_can_hold() -> None:
    k = LARGEST_CHANNEL + 4
    design = CutoffResponse(k, epsilon=1)
    shares = np.exp(-np.arange(k) / 700.0)
    shares /= shares.sum()
    reported = design.operator().forward(shares)
    assert_allclose(design.undone(reported)[:20], shares[:20], atol=1e-9)
    assert_allclose(design.operator().adjoint(np.ones(2 * (k - 1))), np.ones(k))


def test_gaps_are_distances_of_numbers_or_given() -> None:
    assert CutoffResponse(["0.5", "1.0", "2.25"], epsilon=1).gaps == (2, 5)
    assert CutoffResponse(grid(0, 9_000, 3_000), epsilon=1).gaps == (1, 1, 1)
    assert CutoffResponse(["low", "middle", "high"], epsilon=1).gaps == (1, 1)
    assert CutoffResponse(["low", "middle", "high"], epsilon=1, gaps=[4, 6]).gaps == (2, 3)
    assert CutoffResponse([0, 1, 5], epsilon=1).with_epsilon(2) == CutoffResponse([0, 1, 5], epsilon=2)


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ({}, TypeError, "needs either epsilon or odds"),
        ({"odds": (1, 1)}, ValueError, "a > b, but got 1 : 1"),
        ({"epsilon": 1, "gaps": [1, 2]}, ValueError, "gaps must be 3 whole numbers above 0"),
        ({"epsilon": 1, "gaps": [1, 0, 2]}, ValueError, "gaps must be 3 whole numbers above 0"),
        ({"odds": (2**61, 1)}, ValueError, "below 2\\^62"),
    ],
)
def test_what_cannot_be_is_refused(arguments: Any, error: Any, complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        CutoffResponse(4, **arguments)


def test_the_device_can_be_worked_by_hand() -> None:
    # At odds 2 : 1 the opposite has probability 1/3: two faces of six. The gaps 1, 4 and 15 are numbers of cards.
    said = CutoffResponse([0, 1, 5, 20], odds=(2, 1)).in_words()
    assert "1 with 1, 4 with 5, 15 with 20, 20 in all" in " ".join(said.split())
    assert "rolls a die, unseen; if it shows 1 or 2, the opposite" in " ".join(said.split())
    tenths = " ".join(CutoffResponse(range(11), odds=(7, 3)).in_words().split())
    assert "one for each of 10 amounts, from 1 to 10" in tenths
    assert "a die with 10 sides, unseen; if it shows at most 3" in tenths
    assert "No usual die" in CutoffResponse(range(11), epsilon=1).in_words()
    for odds in ((2, 1), (5, 1), (7, 3), (19, 1), (3, 1)):  # what the faces say is what the design draws, exactly
        design = CutoffResponse(3, odds=odds)
        found = re.search(r"a die(?: with (\d+) sides)?, unseen; if it shows (1 or 2|1|at most (\d+))", design._die())
        assert found is not None
        faces = {"1": 1, "1 or 2": 2}.get(found[2]) or int(found[3])
        assert Fraction(faces, int(found[1] or 6)) == Fraction(odds[1], sum(odds))
