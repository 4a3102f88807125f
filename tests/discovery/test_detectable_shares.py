"""The smallest share that is found, and the least that any protocol could find."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from references import reference
from warner import OpenDomain
from warner.discovery.prefix_search import critical_count, fewest_crafted, lower_bound, planned_share

PLANS = reference("open_domains")["plans"]
FIELDS = {1: 3, 2: 7, 4: 53}  # of the prototype's plans, which take the least variance


@pytest.mark.parametrize("case", [case for case in PLANS if case["steps"] == [16] * len(case["steps"])])
def test_planned_shares_and_bounds_are_those_of_the_prototype(case: dict[str, float]) -> None:
    for epsilon, field in FIELDS.items():
        design = OpenDomain(epsilon=epsilon, bits=case["bits"], field=field)
        share = planned_share(design, 1_000_000)
        # The prototype has Euler's constant as 0.58.
        assert_allclose(share, case[f"smallest share, exact tails, epsilon {epsilon}, a million people"], rtol=1e-4)
        bound = lower_bound(2 ** int(case["bits"]), 1_000_000, epsilon)
        assert_allclose(bound, case[f"Fano's bound, epsilon {epsilon}, a million people"], rtol=1e-6)
        assert bound < share


def test_critical_counts_are_the_smallest_exactly() -> None:
    for n, q, alpha in (
        (20, Fraction(1, 3), 0.01),
        (30, Fraction(1, 5), 0.2),
        (5, Fraction(1, 2), 1e-9),
        (0, Fraction(1, 2), 0.1),
    ):
        tails = [
            sum(math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(count, n + 1)) for count in range(n + 2)
        ]
        exact = next(count for count, tail in enumerate(tails) if tail <= alpha)
        assert critical_count(n, float(q), alpha) == exact


def test_more_people_find_smaller_shares_and_too_few_find_none() -> None:
    design = OpenDomain(epsilon=1, bits=48)
    shares = [planned_share(design, people) for people in (10**5, 10**6, 10**7)]
    assert shares == sorted(shares, reverse=True)
    assert math.isinf(planned_share(design, 50))
    assert lower_bound(2**48, 10**6, math.inf) == 0


@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
@pytest.mark.parametrize(
    ("q", "reports", "critical"),
    [(0.25, (40, 60), (20, 25)), (0.1, (30, 200), (9, 21)), (0.05, (50, 50), (2, 30)), (0.5, (9, 20, 30), (7, 12, 20))],
)
def test_no_other_crafted_reports_are_fewer(
    q: float, reports: tuple[int, ...], critical: tuple[int, ...], power: float
) -> None:
    def chance(crafted: tuple[int, ...]) -> float:
        each = zip(crafted, reports, critical, strict=True)
        return math.prod(float(binom.sf(c - f - 1, n - f, q)) for f, n, c in each)

    found = fewest_crafted(q, reports, critical, power=power)
    assert found is not None
    assert chance(found) >= power - 1e-9
    others = itertools.product(*(range(c + 1) for c in critical))
    assert sum(found) == min(sum(crafted) for crafted in others if chance(crafted) >= power)


def test_more_than_all_reports_cannot_be_crafted() -> None:
    assert fewest_crafted(0.25, [10, 10], [5, 11]) is None
    assert fewest_crafted(0.25, [10], [0]) == (0,)
