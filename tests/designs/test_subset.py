"""Subset selection: its draw, and its best sizes."""

from __future__ import annotations

import itertools
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

import warner
from warner import SubsetSelection

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def plain(x: int, design: SubsetSelection, source: Callable[[int], bytes]) -> list[int]:
    """Draw one set by the rule, in plain words: a byte decides, or if it is the digit, the next one."""

    def below(n: int, m: int) -> bool:
        while True:
            digit, n = divmod(256 * n, m)
            (byte,) = source(1)
            if byte != digit or n == 0:
                return byte < digit

    (a, b), d, k = design.odds, design.size, design.k
    holds = below(a * d, a * d + b * (k - d))
    needed, chosen = d - holds, {x} if holds else set()
    for place in range(k - 1):
        if below(needed, k - 1 - place):
            needed -= 1
            chosen.add(k - 1 if place == x else place)
    return sorted(chosen)


@pytest.mark.parametrize(("k", "size"), [(2, 1), (9, 2), (17, 16), (64, 1), (300, 35)])
def test_one_set_follows_from_its_bytes_by_the_rule(k: int, size: int) -> None:
    design = SubsetSelection(k, epsilon=1.3, size=size)
    for x in {0, 1, k // 2, k - 2, k - 1}:
        for seed in range(4):
            mine, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
            drawn = design.supports(design.draw(np.array([x]), theirs.bytes))[0]
            assert np.flatnonzero(drawn).tolist() == plain(x, design, mine.bytes)


@pytest.mark.parametrize(("k", "size"), [(2, 1), (9, 8), (1000, 1), (1000, 999), (3000, 3)])
def test_every_set_has_its_size(k: int, size: int) -> None:
    design = SubsetSelection(k, odds=(2, 1), size=size)
    reports = design.draw(np.array([0, 1, k - 2, k - 1]), np.random.default_rng(1).bytes)
    assert design.supports(reports).sum(axis=1).tolist() == [size] * 4
    assert not design.report_form.read(reports, codes=True).status.any()


def test_all_sets_of_the_others_are_equally_likely() -> None:
    # Nine answers in two bytes: 28 pairs that hold the answer 4 with another (8) or not (28), 36 in all.
    design, n = SubsetSelection(9, odds=(3, 1), size=2), 60_000
    rows = design.supports(design.draw(np.full(n, 4), np.random.default_rng(1).bytes))
    seen = Counter(map(tuple, np.nonzero(rows)[1].reshape(n, 2).tolist()))
    total = 3 * 8 + 28
    chi_square = 0.0
    for pair in combinations(range(9), 2):
        expected = n * (3 if 4 in pair else 1) / total
        chi_square += (seen[pair] - expected) ** 2 / expected
    assert chi_square < 95  # 35 degrees of freedom: above with probability 2e-7


@pytest.mark.parametrize("share", ["0", "1/1000", "1/20", "3/10", "1/2", "9/10", "1"])
def test_no_other_size_estimates_a_share_better(share: str) -> None:
    for k, odds in itertools.product((2, 3, 7, 30, 61), ((21, 20), (3, 1), (50, 1), (3000, 1))):
        best = SubsetSelection(k, odds=odds).best_for_share(share)
        sizes = (SubsetSelection(k, odds=odds, size=d) for d in range(1, k))
        every = [design.symmetry.share_variance(Fraction(share)) for design in sizes]
        assert best.symmetry.share_variance(Fraction(share)) == min(every)
        assert best.odds == odds


def test_no_other_size_has_a_smaller_total_error() -> None:
    for k, odds in itertools.product((2, 3, 7, 30, 61), ((21, 20), (3, 1), (50, 1), (3000, 1))):
        every = [SubsetSelection(k, odds=odds, size=d).symmetry.total_variance(k) for d in range(1, k)]
        assert SubsetSelection(k, odds=odds).symmetry.total_variance(k) == min(every)


def test_larger_sets_for_a_share_have_odds_that_one_draw_can_decide() -> None:
    design = SubsetSelection(1_423_000, epsilon=1)
    larger = design.best_for_share(0.3)
    assert larger.size > design.size
    assert larger.epsilon <= design.epsilon
    assert larger.epsilon == pytest.approx(1, rel=1e-9)


def test_a_saved_design_keeps_its_size(tmp_path: Path) -> None:
    design = SubsetSelection(100, epsilon=4, size=1)  # not the best: that is 2
    design.save(tmp_path / "design.json")
    loaded = warner.load_design(tmp_path / "design.json")
    assert (loaded, loaded.size) == (design, 1)
    assert warner.plan(loaded, half_width=0.01).design == design
    assert warner.plan(loaded, half_width=0.01, share=0.1).design == design


def test_respondents_of_one_batch_have_sets_of_their_own() -> None:
    design = SubsetSelection(5, odds=(1, 0), size=1)
    for answers in ([3], [0, 3], [4, 0, 3]):
        drawn = design.supports(design.draw(np.array(answers), np.random.default_rng(1).bytes))
        assert np.nonzero(drawn)[1].tolist() == answers


def test_odds_of_an_epsilon_are_as_fine_as_one_draw_allows() -> None:
    # One draw is below 200 a + 200 b < 2^10 b, for odds below 4, so that b is 2^52; one of these needs its last bit.
    for epsilon in ("0.9", "1", "1.1", "1.2", "1.3"):
        odds = SubsetSelection(400, epsilon=epsilon, size=200).odds
        assert Fraction(*odds) == Fraction(int(Decimal(epsilon).exp() * 2**52), 2**52)
