"""Shares and differences of sets in the sample: coverage under every law of the reports, by enumeration."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from warner import (
    Channel,
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    estimate,
    pool,
)
from warner.designs.product import Product
from warner.inference.comparisons import compare, compare_groups
from warner.inference.intervals import Confidence, limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.float64]

pytestmark = pytest.mark.filterwarnings("ignore:the reports do not seem to fit:UserWarning")

REALISED = Confidence(target="realised")
TWO = [RandomizedResponse(["yes", "no"], odds=(999, 1)), RandomizedResponse(["yes", "no"], odds=(99, 1))]
SMALL = [
    *(LocalHashing(list("abcd"), epsilon=epsilon) for epsilon in (2, 5, 7, 9, 12)),
    ProjectiveGeometry(list("abc"), epsilon=3),
    ProjectiveGeometry(list("abcde"), epsilon=6),
    *(HadamardResponse(list("abc"), epsilon=epsilon) for epsilon in (2, 6)),
    *(SubsetSelection(list("abcd"), epsilon=epsilon, size=2) for epsilon in (2, 6)),
    *(UnaryEncoding(list("abc"), epsilon=epsilon) for epsilon in (3, 9)),
    *(RandomizedResponse(list("abcd"), epsilon=epsilon) for epsilon in (2, 5, 9)),
    Product({"x": TWO[0], "z": TWO[0]}),
    Product({"x": TWO[0], "z": TWO[1]}),
    Channel([["98/100", "1/100", "1/100"], ["1/200", "199/200", 0], ["1/100", "2/100", "97/100"]], list("abc"), 3),
]
small = pytest.mark.parametrize("design", SMALL, ids=lambda design: design.summary())


def reports_of(design: Any) -> tuple[Table, Table | None]:
    """Return the probability of every report after every answer, and which answers each supports, where it is a set."""
    if isinstance(design, UnaryEncoding):
        sets = np.array(list(product((0, 1), repeat=design.k)))
        held = np.eye(design.k)[:, np.newaxis]
        chances = np.where(held == 1, design.p, design.q)
        return np.where(sets == 1, chances, 1 - chances).prod(axis=2), sets
    if isinstance(design, SubsetSelection):
        sets = np.array([row for row in product((0, 1), repeat=design.k) if sum(row) == design.size])
        likely = np.where(sets.T == 1, float(design.odds[0]), float(design.odds[1]))
        return likely / likely.sum(axis=1, keepdims=True), sets
    return design.as_channel().channel(), None


def law_of(design: Any, people: tuple[int, ...]) -> tuple[Table, Table]:
    """Return all histograms of the reports of these people, a row each, and their probabilities: person by person."""
    table, _ = reports_of(design)
    found = {(0,) * table.shape[1]: 1.0}
    for answer in people:
        more: dict[tuple[int, ...], float] = {}
        for histogram, chance in found.items():
            for report in np.flatnonzero(table[answer]).tolist():
                one = (*histogram[:report], histogram[report] + 1, *histogram[report + 1 :])
                more[one] = more.get(one, 0.0) + chance * float(table[answer, report])
        found = more
    return np.array(list(found)), np.array(list(found.values()))


def tally_of(design: Any, histograms: Any, n: int) -> Tally:
    """Count each histogram of reports as a group of its own."""
    groups: dict[str, Any] = {"by": ("survey",), "groups": tuple((i,) for i in range(len(histograms)))}
    _, sets = reports_of(design)
    if sets is not None:
        return Tally(design, histograms @ sets, n=np.full(len(histograms), n), **groups)
    if not isinstance(design, LocalHashing | HadamardResponse | ProjectiveGeometry):
        return Tally(design, histograms, **groups)
    counts = histograms @ design.supports(np.arange(design.blocks.number))
    if design.law.sufficient == "counts":
        return Tally(design, counts, **groups)
    return Tally(design, counts, n=np.full(len(counts), n), histogram=histograms, **groups)


def laws_of_everybody(design: Any, n: int) -> tuple[Tally, list[tuple[Any, Any]]]:
    """Count all histograms of n reports, and give the probability of each for all people there can be.

    The people are told by how many of them hold each answer.
    """
    place: dict[tuple[int, ...], int] = {}
    laws = []
    for people in combinations_with_replacement(range(design.k), n):
        histograms, law = law_of(design, people)
        assert law.sum() == pytest.approx(1)
        rows = [place.setdefault(tuple(row), len(place)) for row in histograms.tolist()]
        laws.append((np.bincount(people, minlength=design.k), rows, law))
    table = [(held, np.bincount(rows, weights=law, minlength=len(place))) for held, rows, law in laws]
    return tally_of(design, np.array(list(place)), n), table


def inside(low: Any, share: float, high: Any) -> Any:
    return (np.asarray(low) <= share + 1e-9) & (share - 1e-9 <= np.asarray(high))


@small
def test_realised_intervals_of_sets_cover_whoever_the_people_are(design: Any) -> None:
    n = 3
    tally, laws = laws_of_everybody(design, n)
    found = limits(tally, REALISED, sets=[[0, 2]])
    for held, law in laws:
        # The intervals are approximate, and yet nowhere below the level for so few people.
        assert law @ inside(found.low[:, 0], (held[0] + held[2]) / n, found.high[:, 0]) >= 0.95
    # A possible share is left in each.
    ends = np.floor(n * found.high + 1e-9) - np.ceil(n * found.low - 1e-9)
    assert (ends >= 0).all()


@small
def test_realised_comparisons_cover_whoever_the_people_are(design: Any) -> None:
    n = 3
    tally, laws = laws_of_everybody(design, n)
    found = compare(tally, tally.domain[0], tally.domain[1], REALISED)
    for held, law in laws:
        assert law @ inside(found.low, (held[0] - held[1]) / n, found.high) >= 0.95
        if held[1] or held[0]:
            ratio = held[0] / held[1] if held[1] else np.inf
            assert law @ inside(found.ratio_low, ratio, found.ratio_high) >= 0.95


@small
def test_realised_differences_of_groups_cover_whoever_the_people_are(design: Any) -> None:
    for one, two in (((0, 0), (1, 2)), ((0, 1), (0, 2))):
        (first, chances1), (second, chances2) = law_of(design, one), law_of(design, two)
        real = (one.count(0) - two.count(0)) / 2
        covered = 0.0
        some = sorted(np.ndindex(len(first), len(second)), key=lambda at: -chances1[at[0]] * chances2[at[1]])[:25]
        left = 1 - sum(chances1[a] * chances2[b] for a, b in some)
        for a, b in some:
            tally = tally_of(design, np.stack([first[a], second[b]]), 2)
            found = compare_groups(tally, tally.domain[0], (0, 1), REALISED)
            covered += float(chances1[a] * chances2[b]) * bool(inside(found.low, real, found.high))
        assert covered >= 0.95 - left


@pytest.mark.parametrize("epsilon", [7, 9, 12])
def test_a_realised_interval_of_a_set_holds_a_possible_share(epsilon: float) -> None:
    # Of 100 people 69 hold a or c. With so little noise the reports are the answers, but for one or two of them.
    design = LocalHashing(list("abcd"), epsilon=epsilon)
    rng, times = np.random.default_rng(1), 400
    histograms = design.law._simulate_reports_of_people(np.array([60, 30, 9, 1]), rng, (times,))
    found = limits(tally_of(design, histograms, 100), REALISED, sets=[[0, 2]])
    # Four binomial standard errors below the level.
    assert inside(found.low[:, 0], 0.69, found.high[:, 0]).mean() >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / times)
    assert (found.high - found.low >= 0.01).all()
    assert (found.high - found.low <= 0.05).all()


@pytest.mark.parametrize("design", [RandomizedResponse(list("abcd"), epsilon=9), LocalHashing(list("abcd"), epsilon=9)])
def test_a_realised_comparison_agrees_with_the_realised_shares(design: Any) -> None:
    people = np.repeat(np.arange(4), [60, 30, 9, 1])
    if design.law.exclusive:
        tally = Tally(design, np.bincount(people))
    else:
        table = design.as_channel().channel()
        histogram = np.bincount(table.argmax(axis=1)[people], minlength=table.shape[1])  # as if no report were a lie
        tally = Tally(design, design.law.types.support(histogram), n=100, histogram=histogram)
    found = estimate(tally).compare("a", "b", target="realised")
    # One lie more or less at the most; the population's interval would be +7 to +51 points.
    assert 0.29 - 1e-9 <= found.low <= 0.3 + 1e-9 <= found.high + 2e-9 <= 0.31 + 1e-8
    assert 59 / 31 <= found.ratio_low <= 2 <= found.ratio_high <= 61 / 29
    assert not found.approximate
    assert "approximate" not in found.text().splitlines()[0]
    assert found.to_dict()["approximate"] is False


def test_pooled_realised_sets_and_differences_cover() -> None:
    # Two collections with hardly any noise: 40 and 20 people, and sets of answers, which no count tells.
    designs = LocalHashing(list("abcd"), epsilon=7), LocalHashing(list("abcd"), epsilon=8)
    rng, times, everybody = np.random.default_rng(3), 300, (np.array([20, 10, 8, 2]), np.array([12, 5, 2, 1]))
    real = np.sum(everybody, axis=0) / 60
    drawn = [
        design.law._simulate_reports_of_people(people, rng, (times,))
        for design, people in zip(designs, everybody, strict=True)
    ]
    together = pool([tally_of(*part) for part in zip(designs, drawn, (40, 20), strict=True)])
    shares = limits(together, REALISED, sets=[[0, 2]])
    apart = compare(together, "a", "b", REALISED)
    for covered in (
        inside(shares.low[:, 0], real[0] + real[2], shares.high[:, 0]),
        inside(apart.low, real[0] - real[1], apart.high),
    ):
        assert covered.mean() >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / times)
