"""Values on a line of the field's space, and the variance of sets of them, by listing every possible report."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from warner import OpenDomain
from warner.designs import closed_list as collinear_values
from warner.designs.closed_list import ClosedList, collinear_pairs
from warner.designs.facts import CumulativeSets
from warner.designs.open_values import WholeNumbers

if TYPE_CHECKING:
    from collections.abc import Sequence

Weights = dict[int, int]


def numbers(steps: tuple[int, ...], odds: tuple[int, int], field: int) -> OpenDomain:
    return OpenDomain._make(WholeNumbers(steps), odds, field, (1,) * len(steps))


def vector(design: OpenDomain, value: int) -> tuple[int, ...]:
    """Write a value in the digits of its blocks, by the textbook."""
    row: list[int] = []
    for block, tau in zip(design.values.encoded([value]).blocks[0].tolist(), design.digits, strict=True):
        row += [block // design.field**place % design.field for place in reversed(range(tau))]
    return tuple(row)


def moments(design: OpenDomain, held: int, weights: Weights) -> tuple[Fraction, Fraction]:
    """Return mean and mean square of the weighted support of a report of the last level, by listing all reports."""
    (a, b), g = design.odds, design.field
    points = {vector(design, value): weight for value, weight in weights.items()}
    x, first, second = vector(design, held), 0, 0
    total = (a + (g - 1) * b) * g ** len(x)
    for direction in itertools.product(range(g), repeat=len(x)):
        hashes = [(sum(d * u for d, u in zip(direction, point, strict=True)) % g, w) for point, w in points.items()]
        true = sum(d * u for d, u in zip(direction, x, strict=True)) % g
        for value in range(g):
            support = sum(weight for hashed, weight in hashes if hashed == value)
            chance = a if value == true else b
            first, second = first + chance * support, second + chance * support**2
    return Fraction(first, total), Fraction(second, total)


def variance(design: OpenDomain, people: dict[int, Fraction], weights: Weights, *, realised: bool = False) -> Fraction:
    """Return the exact variance of one report's weighted support, in the population or given what is held."""
    each = {held: moments(design, held, weights) for held in people}
    second = sum(share * each[held][1] for held, share in people.items())
    if realised:
        return Fraction(second - sum(share * each[held][0] ** 2 for held, share in people.items()))
    return Fraction(second - sum(share * each[held][0] for held, share in people.items()) ** 2)


def told(
    closed: ClosedList,
    people: dict[int, Fraction],
    sets: Sequence[Sequence[int]],
    minus: Sequence[Sequence[int]] | None = None,
    target: str = "population",
) -> np.ndarray:
    """Return the variance of one report's weighted support that a readout of very many people tells."""
    n = 1e12
    shares = np.array([float(people.get(value, Fraction(0))) for value in map(int, closed.domain)])
    counts = n * closed.law.probabilities(shares)[np.newaxis]
    error = closed.law.readout(counts, np.array([[n]]), sets, minus=minus, target=target).error
    assert error is not None
    return np.asarray(error[0] ** 2 * n * closed.symmetry.gain**2)


CASES = [numbers((3,), (3, 1), 3), numbers((3,), (3, 1), 5), numbers((2, 1), (5, 2), 3), numbers((3,), (2, 1), 11)]


@pytest.mark.parametrize("design", CASES, ids=str)
def test_pairs_on_a_line_are_supported_as_the_list_of_all_reports_says(design: OpenDomain) -> None:
    # All three values, all eight that can be held: whether they are collinear is read off the exact mean square.
    (a, b), g = design.odds, design.field
    p, q = Fraction(a, a + (g - 1) * b), Fraction(1, g)
    seen = set()
    blocks = design.values.encoded(range(8)).blocks
    for one, other in itertools.combinations(range(8), 2):
        for weights in ({one: 1, other: 1}, {one: 1, other: -1}):
            for held in range(8):
                shares = np.eye(8)[[held]]
                pairs = collinear_pairs(
                    design, blocks, shares, np.array([one, other]), np.array(list(weights.values()))
                )
                first, second = moments(design, held, weights)
                w, total, squares = weights.get(held, 0), sum(weights.values()), 2
                assert first == q * total + (p - q) * w
                general = (
                    q * squares + (p - q) * w**2 + q * q * (total**2 - squares) + 2 * (p - q) * q * w * (total - w)
                )
                assert second - general == (p - q) * q * int(pairs[0, -1])
                seen.add(int(pairs[0, -1]))
    assert seen >= {0, 2, -2}


@pytest.mark.parametrize("target", ["population", "realised"])
@pytest.mark.parametrize("design", CASES, ids=str)
def test_sets_of_a_list_that_holds_every_value_have_their_exact_variance(design: OpenDomain, target: str) -> None:
    closed = ClosedList(range(8), design)
    people = {value: Fraction(weight, 36) for value, weight in enumerate([1, 9, 0, 12, 2, 4, 7, 1])}
    sets, minus = [[0, 1, 2], [1, 4], [3, 5, 6, 7]], [[3, 4], [7], [0]]
    exact = [variance(design, people, dict.fromkeys(members, 1), realised=target == "realised") for members in sets]
    assert_allclose(told(closed, people, sets, target=target), [float(x) for x in exact], rtol=1e-6)
    exact = [
        variance(design, people, dict.fromkeys(members, 1) | dict.fromkeys(less, -1), realised=target == "realised")
        for members, less in zip(sets, minus, strict=True)
    ]
    assert_allclose(told(closed, people, sets, minus, target), [float(x) for x in exact], rtol=1e-6)
    exact = [variance(design, people, dict.fromkeys(range(m), 1), realised=target == "realised") for m in range(2, 9)]
    assert_allclose(told(closed, people, CumulativeSets(8), target=target)[1:], [float(x) for x in exact], rtol=1e-6)


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("design", CASES, ids=str)
def test_those_outside_of_the_list_hold_the_worst_value(
    design: OpenDomain, bounded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whatever value outside of the list the rest holds, the variance is at most what is told; for one it is that.
    if bounded:
        monkeypatch.setattr(collinear_values, "POINTS_AT_ONCE", 0)
    for listed, sets, minus in (
        ([0, 1, 2], [[0, 1, 2]], None),
        ([0, 1, 2, 7], [[0, 1, 2]], [[3]]),
        ([5, 2, 0, 1], [[1, 2, 3], [0, 1]], None),
        ([0, 1], [[0]], [[1]]),
    ):
        closed = ClosedList(listed, design)
        some = {value: Fraction(1, 10) for value in listed[:2]}
        given = told(closed, some, sets, minus)
        for place, members in enumerate(sets):
            weights = {listed[i]: 1 for i in members} | {listed[i]: -1 for i in ([] if minus is None else minus[place])}
            worst = max(
                variance(design, some | {held: Fraction(4, 5)}, weights) for held in range(8) if held not in listed
            )
            assert float(worst) <= given[place] * (1 + 1e-6)
            # On a space of one digit all values are on a line, so that a difference has less; that is not made use of.
            if not bounded and (minus is None or sum(design.digits) > 1):
                assert float(worst) >= given[place] * (1 - 1e-6)


def test_neighbouring_numbers_by_hand() -> None:
    # 0, 1 and 2 after the answer 3, g = 5 at odds 3 : 1: p = 3/7, q = 1/5, so that a pair has p/g = 3/35 and not
    # 1/25. E t^2 = 3/5 + 6 * 3/35 = 39/35, (E t)^2 = 9/25, and the variance is 132/175; without lines it was 12/25.
    design = numbers((3,), (3, 1), 5)
    assert variance(design, {3: Fraction(1)}, {0: 1, 1: 1, 2: 1}) == Fraction(132, 175)
    assert_allclose(told(ClosedList([0, 1, 2], design), {}, [[0, 1, 2]]), 132 / 175, rtol=1e-6)


def test_a_difference_of_two_answers_has_no_pair_on_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    # 0 minus 1, both without respondents: E t = 0, E t^2 = 2 q - 2 q^2 = 8/25 with q = 1/5, also by the bound.
    design = numbers((3,), (3, 1), 5)
    monkeypatch.setattr(collinear_values, "POINTS_AT_ONCE", 0)
    assert_allclose(told(ClosedList([0, 1], design), {}, [[0]], [[1]]), 8 / 25, rtol=1e-6)


def test_prefixes_are_the_sets_one_by_one_in_a_large_space() -> None:
    # Random numbers and neighbors, g = 5 and 41.
    rng = np.random.default_rng(1)
    for epsilon in (1, 4):
        design = OpenDomain(epsilon=epsilon, bits=32)
        values = [*range(12), *(rng.integers(2**32, size=8).tolist())]
        closed, shares = design.closed(values), rng.dirichlet(np.ones(25))[np.newaxis, :20]
        members = np.arange(20)
        blocks = closed._blocks
        whole = collinear_pairs(design, blocks, shares, members, np.ones(20, dtype=int))
        each = [
            collinear_pairs(design, blocks, shares, members[: m + 1], np.ones(m + 1, dtype=int))[0, -1]
            for m in range(20)
        ]
        assert_allclose(whole[0], each, rtol=1e-12)


def test_blocks_of_answers_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    design = OpenDomain(epsilon=4, letters="a-e", length=4)
    words = ["a", "b", "c", "ab", "abc", "abd", "abe", "e", "dead", "bead", "ace"]
    closed = design.closed(words)
    blocks, members = closed._blocks, np.arange(8)
    shares = np.full((2, 11), 0.05)
    before = collinear_pairs(design, blocks, shares, members, np.ones(8, dtype=int))
    monkeypatch.setattr(collinear_values, "_most_outside", lambda *_: np.zeros(8))
    listed = collinear_pairs(design, blocks, shares, members, np.ones(8, dtype=int))
    monkeypatch.setattr(collinear_values, "POINTS_AT_ONCE", 1)
    assert_array_equal(collinear_pairs(design, blocks, shares, members, np.ones(8, dtype=int)), listed)
    assert (before >= listed).all()
    assert (before[0] == before[1]).all()


def mixed_values(number: int) -> list[int]:
    """Neighboring numbers, and as many random ones."""
    random = np.random.default_rng(5).integers(2**32, size=number // 2)
    return [*range(number - number // 2), *random.tolist()]


def test_directions_are_equal_exactly_on_a_line() -> None:
    rng = np.random.default_rng(2)
    for field, digits in ((3, 45), (5, 4), (251, 3), (257, 3), (65_537, 5)):
        seen, step = rng.integers(field, size=digits), rng.integers(field, size=digits)
        other = rng.integers(field, size=digits)
        members = np.array([seen, seen + step, seen + 2 * step, seen + other, seen - step, seen + (field - 1) * other])
        numbers = collinear_values._directions(seen[np.newaxis], members % field, field)
        names = list(zip(*(number[0].tolist() for number in numbers), strict=True))
        assert names[1] == names[2] == names[4] != names[3] == names[5]
        assert set(names[0]) == {0}
        assert names.count(names[0]) == 1


def test_a_large_set_is_seen_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    # The sample of 100 of 600 answers has a relative error of at most 1/sqrt(50) = 14 % in c_x, which is part of the
    # variance: 0.1 in the variance would be more than two standard errors, and the numbers are always the same.
    design = OpenDomain(epsilon=1, bits=32)
    closed = design.closed(mixed_values(600))
    shares = np.append(0.3 * np.arange(1, 301)[::-1], 0.1 * np.arange(300))
    people = dict(zip(map(int, closed.domain), (shares / shares.sum() / 2).tolist(), strict=True))
    sets = [list(range(600)), list(range(0, 600, 2)), list(range(300))]
    exact = told(closed, people, sets)
    prefixes = told(closed, people, CumulativeSets(600))[1:]
    monkeypatch.setattr(collinear_values, "LEAST_SEEN_FROM", 100)
    monkeypatch.setattr(collinear_values, "PAIRS_SEEN", 0)
    assert_allclose(told(closed, people, sets), exact, rtol=0.1)
    assert_allclose(told(closed, people, CumulativeSets(600))[1:], prefixes, rtol=0.1)


def test_the_pairs_that_are_looked_at_grow_with_the_set_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    design = OpenDomain(epsilon=1, bits=32)
    looked = []
    beside = collinear_values._earlier_weight

    def counted(seen_from: np.ndarray, members: np.ndarray, *rest: Any) -> np.ndarray:
        looked.append(len(seen_from) * len(members))
        return beside(seen_from, members, *rest)

    monkeypatch.setattr(collinear_values, "_earlier_weight", counted)
    monkeypatch.setattr(collinear_values, "LEAST_SEEN_FROM", 20)
    monkeypatch.setattr(collinear_values, "PAIRS_SEEN", 40_000)
    sums = []
    for number in (1_000, 2_000, 4_000, 8_000):
        told(design.closed(mixed_values(number)), {}, [range(number)])
        sums.append(sum(looked))
        looked.clear()
    assert sums == [2 * 40_000, 2 * 40_000, 2 * 80_000, 2 * 160_000]  # from 20 answers at least, and twice


def test_answers_that_are_not_sampled_are_represented() -> None:
    listed = np.arange(50)[:, np.newaxis]
    shares = np.random.default_rng(1).dirichlet(np.ones(50), 3)
    every, same = collinear_values._representatives(listed, shares, 50)
    assert_array_equal(every, np.arange(50))
    assert_array_equal(same, shares)
    some, people = collinear_values._representatives(listed, shares, 20)
    assert len(set(some.tolist())) == 20
    assert_allclose(people.sum(axis=1), 1)
    largest = np.argsort(-shares.max(axis=0))[:10]
    assert_array_equal(some[:10], largest)
    assert_allclose(people[:, :10], shares[:, largest])
