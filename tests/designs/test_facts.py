"""Facts that a design tells: the variance of an absent answer, sets of answers, operators."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from warner import RandomizedResponse, inv
from warner.designs import MECHANISMS, BitFlips, Channel, Design, SubsetSelection, Symmetry
from warner.designs.facts import (
    ChannelOperator,
    CumulativeSets,
    Nested,
    added_up,
    counts_everyone,
    full_symmetry,
    memberships,
    sizes_of,
    summed,
)

SYMMETRIC = [design for made in MECHANISMS.values() for design in made.examples() if design.law.symmetry is not None]


@pytest.mark.parametrize("design", SYMMETRIC, ids=repr)
def test_the_variance_of_an_absent_answer_is_that_of_p_and_q(design: Design) -> None:
    symmetry = design.law.symmetry
    assert symmetry is not None
    p, q = symmetry.p, symmetry.q
    assert symmetry.variance_of_absent == q * (1 - q) / (p - q) ** 2 / symmetry.asked


def test_the_variance_of_an_absent_answer_is_what_simulations_have() -> None:
    design, n, surveys = RandomizedResponse(4, odds=(3, 1)), 50, 20_000
    shares = np.array([0, 0.5, 0.3, 0.2])
    estimates = inv(design.simulate(shares, n, rng=np.random.default_rng(1), size=surveys), design)[:, 0]
    # p = 1/2, q = 1/6: (1/6 * 5/6) / (1/3)^2 = 5/4. The variance of a variance is about 2/surveys: 4 errors are 4 %.
    assert Symmetry(Fraction(1, 2), Fraction(1, 6)).variance_of_absent == Fraction(5, 4)
    assert_allclose(estimates.var() * n, 1.25, rtol=0.04)


@pytest.mark.parametrize("shares", [(Fraction(1, 3),) * 3, (Fraction(1, 2), Fraction(1, 2), 0), (1, 0, 0)])
def test_the_order_by_total_error_is_the_same_in_every_population(shares: tuple[Fraction, ...]) -> None:
    # The sum of the variances of all shares is the total of equal shares, and the difference of the sums of squares.
    for p, q in ((Fraction(3, 5), Fraction(1, 5)), (Fraction(2, 3), Fraction(1, 6))):
        symmetry = Symmetry(p, q)
        total = sum(symmetry.share_variance(Fraction(share)) for share in shares)
        assert total == symmetry.total_variance(3) + Fraction(1, 3) - sum(Fraction(share) ** 2 for share in shares)


def test_sets_of_all_answers_up_to_each_are_prefixes() -> None:
    values, sets = np.array([[3, 1, 4], [1, 5, 9]]), CumulativeSets(3)
    assert [list(members) for members in sets] == [[0], [0, 1], [0, 1, 2]]
    written_out = [list(members) for members in sets]
    assert_array_equal(sizes_of(sets), sizes_of(written_out))
    assert_array_equal(summed(values, sets), summed(values, written_out))


def test_whole_amounts_are_added_up_exactly_and_weights_as_they_are() -> None:
    place = np.array([0, 2, 0])
    assert added_up(place, None, 3).tolist() == [2, 0, 1]
    assert added_up(place, np.array([2**60, 1, 1]), 3).tolist() == [2**60 + 1, 0, 1]
    assert_allclose(added_up(place, np.array([0.5, 0.25, 1]), 3), [1.5, 0, 0.25])


def test_the_squares_of_an_operator_are_those_of_its_matrix_above_some_constants() -> None:
    matrix = np.random.default_rng(1).dirichlet(np.ones(5), 4)
    operator, weights = ChannelOperator.of_matrix(matrix), np.arange(1.0, 6)
    assert operator.squares is not None
    ends = [(matrix - end) ** 2 for end in (matrix.min(axis=0), matrix.max(axis=0))]
    columns = np.stack([end * weights for end in ends])
    nearer = np.where(2 * matrix.mean(axis=0) <= matrix.min(axis=0) + matrix.max(axis=0), columns[0], columns[1])
    assert_allclose(operator.squares(weights), nearer.sum(axis=1))
    assert operator.law.bounds().most is not None
    assert operator.law.likelihood() is operator


def test_nested_sets_are_the_sets_one_by_one() -> None:
    values, order = np.array([[3, 1, 4, 2], [1, 5, 9, 2]]), np.array([2, 0, 3, 1])
    sets = Nested(order, np.array([1, 3, 4]))
    assert list(sets) == [[2], [2, 0, 3], [2, 0, 3, 1]]
    assert list(sets[:-1]) == list(sets)[:-1]
    assert_array_equal(summed(values, sets), summed(values, list(sets)))
    assert_array_equal(sizes_of(sets), [1, 3, 4])
    assert_array_equal(memberships(sets, 4), memberships(list(sets), 4))


@pytest.mark.parametrize(
    ("design", "full", "everyone"),
    [
        (RandomizedResponse(3, odds=(3, 1)), True, True),
        (SubsetSelection(5, odds=(3, 1), size=2), True, True),
        (BitFlips(4, odds=(3, 1), size=2), False, False),  # about half of the answers
        (BitFlips(3, odds=(3, 1), size=3), False, True),  # about all of them, in counts of ones and of zeros
        (Channel([["11/12", "1/12"], ["1/6", "5/6"]], 2, 2), False, True),
    ],
    ids=repr,
)
def test_closed_forms_need_one_count_for_each_answer_among_all_reports(design: Any, full: bool, everyone: bool) -> None:
    assert full_symmetry(design.law) == (design.symmetry if full else None)
    assert counts_everyone(design.law) == everyone
