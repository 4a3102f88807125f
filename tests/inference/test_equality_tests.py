"""The sign test, Fisher's and Barnard's, against enumeration, SciPy and whole numbers."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import barnard_exact, binom

from warner.inference.binomial import log_binomial
from warner.inference.comparisons import MOST_BARNARD_PEOPLE
from warner.inference.exact_tests import barnard_test, fisher_test, sign_test

TABLES = [(1, 7, (9, 12)), (12, 3, (20, 15)), (0, 5, (30, 8)), (17, 30, (40, 40)), (5, 5, (6, 25))]


@pytest.mark.parametrize(("a", "b", "n"), TABLES)
def test_barnards_test_is_scipys(a: int, b: int, n: tuple[int, int]) -> None:
    table = [[a, b], [n[0] - a, n[1] - b]]
    tails = [barnard_exact(table, alternative=side, n=256).pvalue for side in ("less", "greater")]
    assert_allclose(barnard_test(a, b, n), min(1, 2 * min(tails)), rtol=2e-4)
    assert barnard_test(b, a, n[::-1]) == pytest.approx(barnard_test(a, b, n), rel=1e-9)


def test_counts_of_none_and_of_all_are_no_evidence_of_a_difference() -> None:
    assert fisher_test(0, 0, (5, 3)) == fisher_test(5, 3, (5, 3)) == 1


@pytest.mark.parametrize(
    ("n", "lowest", "highest"),
    [((24, 24), 0.25, 0.75), ((12, 20), 0.0, 1.0), ((8, 25), 0.1, 0.6), ((25, 12), 1 / 3, 2 / 3)],
)
def test_barnards_test_spends_its_level_and_no_more(n: tuple[int, int], lowest: float, highest: float) -> None:
    pairs = list(itertools.product(range(n[0] + 1), range(n[1] + 1)))
    barnard = np.array([barnard_test(a, b, n, lowest, highest) for a, b in pairs])
    fisher = np.array([fisher_test(a, b, n) for a, b in pairs])
    firsts, seconds = np.array(pairs).T
    size = {"barnard": 0.0, "fisher": 0.0}
    for phi in np.linspace(lowest, highest, 203):
        law = binom.pmf(firsts, n[0], phi) * binom.pmf(seconds, n[1], phi)
        for level in (0.01, 0.05, 0.2):
            assert law[barnard <= level].sum() <= level * (1 + 1e-6)
            assert law[fisher <= level].sum() <= level
        size = {
            "barnard": max(size["barnard"], law[barnard <= 0.05].sum()),
            "fisher": max(size["fisher"], law[fisher <= 0.05].sum()),
        }
    assert size["barnard"] > 0.039
    assert size["fisher"] < 0.035
    # Far apart, as far as the design lets them be: the stronger test
    law = binom.pmf(firsts, n[0], lowest + 0.1) * binom.pmf(seconds, n[1], highest - 0.1)
    assert law[barnard <= 0.05].sum() > law[fisher <= 0.05].sum() + (0.02 if highest < 1 else 0)


@pytest.mark.parametrize("people", [10, 10**3, 10**5, 10**6])
def test_fishers_test_in_whole_numbers(people: int) -> None:
    """Given six yes in all: the law of the first group's is a handful of fractions."""
    n, yes = (people, 3 * people), 6
    ways = [Fraction(comb(n[0], x) * comb(n[1], yes - x), comb(sum(n), yes)) for x in range(yes + 1)]
    for x in range(yes + 1):
        tail = min(sum(ways[x:]), sum(ways[: x + 1]))
        assert_allclose(fisher_test(x, yes - x, n), min(1.0, float(2 * tail)), rtol=1e-12)


def test_fishers_test_of_very_many_people_is_as_exact_by_an_integral_as_by_its_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for n, apart in itertools.product((10**8, 4 * 10**9), (1.0, 3.0, 12.0)):
        counts = round(0.3 * n), round(0.3 * n + apart * np.sqrt(2 * 0.21 * n))
        with monkeypatch.context() as patched:
            patched.setattr("warner.inference.exact_tests.TERMS_SUMMED", 10**7)
            summed = fisher_test(*counts, (n, n))
        assert_allclose(fisher_test(*counts, (n, n)), summed, rtol=1e-8)


def test_both_tests_agree_where_the_one_takes_over_from_the_other() -> None:
    n = MOST_BARNARD_PEOPLE // 2
    a, b = round(0.4 * n), round(0.4 * n + 2.5 * np.sqrt(2 * 0.24 * n))
    assert barnard_test(a, b, (n, n), 0.25, 0.75) == pytest.approx(fisher_test(a, b, (n, n)), rel=0.05)


def test_tests_do_not_care_for_names() -> None:
    for test in (barnard_test, fisher_test):
        assert test(7, 12, (20, 25)) == pytest.approx(test(12, 7, (25, 20)))
        assert test(7, 12, (20, 25)) == pytest.approx(test(13, 13, (20, 25)))  # no in the place of yes
        assert test(10, 20, (20, 40)) == 1.0
        assert test(0, 0, (20, 40)) == 1.0


def test_the_sign_test_by_hand() -> None:
    assert sign_test(0.0, 5.0) == pytest.approx(2 / 32)
    assert sign_test(3.0, 3.0) == 1.0


@pytest.mark.parametrize("n", [1.0, 17.0, 1000.0, 10**7, 10**12])
def test_probabilities_of_many_reports_keep_their_digits(n: float) -> None:
    x = np.unique(np.clip(np.floor(n * 0.3 + np.arange(-3, 4) * np.sqrt(n * 0.21)), 0, n))
    # Ratios of neighbors are known: (n - x) / (x + 1) * p / (1 - p)
    x = x[x < n]
    ratios = np.exp(log_binomial(x + 1, n, 0.3) - log_binomial(x, n, 0.3))
    assert_allclose(ratios, (n - x) / (x + 1) * 3 / 7, rtol=1e-8 if n > 10**9 else 1e-12)
    if n <= 10**7:
        assert_allclose(np.exp(log_binomial(x, n, 0.3)), binom.pmf(x, n, 0.3), rtol=1e-9)
