"""Intervals, presence and ranks under every design that supports sets of answers: by enumeration, and from reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from tables import binomial, rates, whole
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
from warner.designs import MECHANISMS
from warner.designs.facts import full_symmetry
from warner.inference.binomial import at_least, share_interval, smallest_share
from warner.inference.intervals import Confidence, limits
from warner.inference.presence import presence
from warner.inference.ranking import ranking

if TYPE_CHECKING:
    from pathlib import Path

SYMMETRIC = [
    design
    for mechanism in MECHANISMS.values()
    for design in mechanism.examples()
    if full_symmetry(design.law) is not None and design.epsilon > 0
]
# The distinct p and q among them are what an interval of one answer depends on.
RATES = {(design.law.symmetry.p, design.law.symmetry.base): design for design in SYMMETRIC}  # type: ignore[union-attr]
NINE = [
    UnaryEncoding.optimal(9, odds=(9, 1)),
    SubsetSelection(9, odds=(9, 1), size=2),
    LocalHashing(9, odds=(9, 1), field=3),
    LocalHashing.affine(9, odds=(9, 1), values=4),
    HadamardResponse(9, odds=(9, 1)),
    ProjectiveGeometry(9, odds=(9, 1), field=3),
]

every_rate = pytest.mark.parametrize("design", RATES.values(), ids=lambda design: design.summary())
every_nine = pytest.mark.parametrize("design", NINE, ids=lambda design: design.summary())
every_target = pytest.mark.parametrize("target", ["population", "realised"])


@every_target
@every_rate
def test_exact_intervals_cover_by_enumeration(design: Any, target: str) -> None:
    for n in (1, 7, 30):
        counts = np.arange(n + 1)
        low, high = share_interval(binomial(counts[:, np.newaxis], float(n), design), 0.05, target, "clopper_pearson")
        for held in range(n + 1):
            share = held / n
            law = binom.pmf(counts, n, design.q + (design.p - design.q) * share)
            if target == "realised":
                others = binom.pmf(np.arange(n - held + 1), n - held, design.q)
                law = np.convolve(binom.pmf(np.arange(held + 1), held, design.p), others)
            covered = (low[:, 0] <= share + 1e-12) & (share - 1e-12 <= high[:, 0])
            assert law[covered].sum() >= 0.9 - 1e-12


@every_rate
def test_answers_that_nobody_holds_are_found_as_rarely_as_promised_by_enumeration(design: Any) -> None:
    n, (base, gain), alpha = 40, rates(design), 0.05 / design.k
    counts = np.arange(n + 1.0)
    turned = gain < 0
    tails = at_least(n - counts, n, 1 - base) if turned else at_least(counts, n, base)
    found = tails <= alpha
    assert binom.pmf(counts, n, base)[found].sum() <= alpha * (1 + 1e-9)  # so at most 5 % for all K of them
    least = smallest_share(n, base, gain, alpha, 0.8)
    if least <= 1:
        assert binom.pmf(counts, n, base + gain * least)[found].sum() == pytest.approx(0.8)


@every_target
@every_nine
def test_what_is_said_of_all_answers_at_once_holds(design: Any, target: str) -> None:
    times, n, rng = 150, 400, np.random.default_rng(3)
    shares = np.array([0.5, 0.25, 0.25, 0, 0, 0, 0, 0, 0])
    answers = np.tile(np.repeat(np.arange(9), (n * shares).astype(int)), times)
    if target == "population":
        answers = rng.choice(9, size=times * n, p=shares)
    reports = whole(design, design.draw(answers, rng.bytes), np.repeat(np.arange(times), n))
    ends = limits(reports, Confidence(0.9, target, simultaneous=True))
    covered = ((ends.low <= shares) & (shares <= ends.high)).all(axis=1).mean()
    slack = 4 * np.sqrt(0.9 * 0.1 / times)
    assert covered >= 0.9 - slack
    ranks = ranking(reports, 1, Confidence(0.9, target))
    assert (ranks.certain[:, 1:].any(axis=1)).mean() <= 0.1 + slack
    assert ranks.certain[:, 0].mean() > 0.05  # it can speak
    found = presence(reports, level=0.9, correction="holm", power=0.8)
    assert found.found[:, 3:].any(axis=1).mean() <= 0.1 + slack
    assert found.found[:, 0].mean() > 0.9
    # One answer on its own, and the answers up to each
    if target == "population":
        for sets in ([[0]], [[0, 1, 5]], [[0, 3, 4, 5, 6]], [list(range(8))]):
            share = shares[sets[0]].sum()
            some = limits(reports, Confidence(0.9), sets=sets)
            inside = (some.low[:, 0] <= share + 1e-9) & (share - 1e-9 <= some.high[:, 0])
            assert inside.mean() >= 0.89 - slack  # a point for the normal law


# Support below the noise


BELOW = UnaryEncoding.optimal(["a", "b", "c", "d"], odds=(3, 1))  # q = 1/4
NOTHING = "no answer was supported more often than by noise alone"


@pytest.mark.parametrize("weight", [1, 1.5])
def test_support_that_is_all_below_the_noise_says_nothing_and_says_so(weight: float) -> None:
    counts = np.array([[4, 4, 5, 3], [0, 0, 0, 0], [5, 5, 5, 5], [6, 6, 6, 6], [8, 1, 2, 2]])
    numbers: Any = counts if weight == 1 else counts * weight
    squares = None if weight == 1 else np.full(5, 20 * weight**2)
    groups = tuple((i,) for i in range(5))
    reports = Tally(BELOW, numbers, n=np.full(5, 20 * weight), squares=squares, by=("g",), groups=groups)
    found = estimate(reports, method="inv_n")
    assert_array_equal(found.shares[:4], np.full((4, 4), 0.25))
    assert_array_equal(found.shares[4], [1, 0, 0, 0])
    (said,) = found.warnings()
    assert said.startswith(f"{NOTHING} in 3 groups")  # in the fourth, all have the same positive share
    assert said in found.text()
    assert found.to_dict()["warnings"] == [said]
    with np.errstate(all="raise"):
        assert_allclose(estimate(reports).shares.sum(axis=1), 1)  # by inv_p


def test_a_pool_of_support_below_the_noise_says_so(tmp_path: Path) -> None:
    both = pool(
        [Tally(BELOW, [4, 4, 5, 3], n=20), Tally(UnaryEncoding.optimal(BELOW.domain, odds=(2, 1)), [1] * 4, n=9)]
    )
    found = estimate(both, method="inv_n")
    assert_array_equal(found.shares, np.full(4, 0.25))
    assert found.warnings()[0].startswith(f"{NOTHING}, so that all")
    found.save_page(tmp_path / "page.html")
    assert NOTHING in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("shares", [[1, 1, 1], [50, 50, 50]])
def test_people_who_are_all_alike_are_no_reason_for_doubt(shares: list[int]) -> None:
    assert estimate(Tally(RandomizedResponse(3, odds=(3, 1)), shares)).warnings() == []
    alike = Channel([["1/2", "1/2"], ["1/2", "1/2"], ["1/3", "2/3"]], 3, 2)  # two answers that are not distinguishable
    assert estimate(Tally(alike, [450, 550])).warnings() == []
