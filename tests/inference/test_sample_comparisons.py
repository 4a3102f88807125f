"""Two samples under two designs: Newcombe's interval (`differences`) and the test agree, and hold at their level."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom, norm

from cases import DIRECT, KUK
from warner import Tally, UnaryEncoding, pool, surveys
from warner.inference.differences import Sample, joined_interval, joined_test
from warner.inference.normal import Sampled
from warner.inference.sample_comparisons import _sample, compare_samples
from warner.results import typeset

DICE = surveys.forced_response(truth="3/4", yes="1/6")
CROSSWISE = surveys.crosswise("1/4")
MANGAT = surveys.mangat("1/2")


def of(design: Any, yes: int, n: int) -> Tally:
    return Tally(design, [yes, n - yes])


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(
    ("first", "second"), [((DIRECT, 8), (DICE, 14)), ((CROSSWISE, 15), (DICE, 9)), ((MANGAT, 12), (DIRECT, 10))]
)
def test_the_interval_covers_at_least_at_its_level(first: Any, second: Any, level: float) -> None:
    # Enumerated exactly, over shares from 0 to 1. Nothing proves it for all settings: the result says approximate.
    (one, m), (two, n) = first, second
    firsts, seconds = (
        [_sample(of(design, yes, size), "yes", "first") for yes in range(size + 1)] for design, size in (first, second)
    )
    ends = np.array([[joined_interval([x, y], 1 - level) for y in seconds] for x in firsts])
    for a, b in itertools.product(np.linspace(0, 1, 9), repeat=2):
        laws = [
            binom.pmf(np.arange(size + 1), size, share * design.channel()[0, 0] + (1 - share) * design.channel()[1, 0])
            for design, size, share in ((one, m, a), (two, n, b))
        ]
        holds = (ends[..., 0] <= a - b + 1e-12) & (a - b - 1e-12 <= ends[..., 1])
        assert laws[0] @ holds @ laws[1] >= level


@settings(max_examples=30)
@given(st.integers(0, 60), st.integers(0, 90), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
def test_interval_ratio_and_test_agree(first: int, second: int, level: float) -> None:
    found = compare_samples(of(DIRECT, first, 60), of(DICE, second, 90), "yes", level=level)
    apart = found.low > 0 or found.high < 0
    assert apart == (found.p_value < 1 - level)
    assert apart == (found.ratio_low > 1 or found.ratio_high < 1)
    assert -1 <= found.low <= found.high <= 1
    assert -1 <= found.difference <= 1
    back = compare_samples(of(DICE, second, 90), of(DIRECT, first, 60), "yes", level=level)
    # Limits are found to 1e-7 standard errors, which are at most 1/2 sqrt(1/60 + 1/90 (4/3)^2) = 0.1.
    np.testing.assert_allclose([back.low, back.high], [-found.high, -found.low], rtol=0, atol=2e-8)
    assert back.p_value == pytest.approx(found.p_value, rel=1e-9)


def test_by_hand() -> None:
    # 20 of 400 asked directly, 160 of 600 with dice: (160/600 - 1/6) / (3/4) = 2/15, 8.33 points more.
    found = compare_samples(of(DICE, 160, 600), of(DIRECT, 20, 400), "yes", names=("dice", "direct"))
    assert found.difference == pytest.approx(2 / 15 - 1 / 20)
    assert found.unbiased == pytest.approx(2 / 15 - 1 / 20)
    # Normal approximation: the standard errors are sqrt(.2667 * .7333 / 600) / .75 and sqrt(.05 * .95 / 400).
    error = np.hypot(np.sqrt(4 / 15 * 11 / 15 / 600) / 0.75, np.sqrt(0.05 * 0.95 / 400))
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.06)
    assert json.loads(found.to_json())["approximate"] is False
    assert found.text().startswith("'yes' in dice against 'yes' in direct\n")
    assert typeset(found).columns["ratio, 95 % interval"] == ["just above 1 to 6.65"]
    back = compare_samples(of(DIRECT, 20, 400), of(DICE, 150, 600), "yes")
    assert 0.9995 < back.ratio_high < 1
    assert typeset(back).columns["ratio, 95 % interval"][0].endswith(" to just below 1")


def test_a_difference_that_is_certain_has_a_tiny_p_value() -> None:
    found = compare_samples(of(DIRECT, 5000, 5000), of(DIRECT, 0, 5000), "yes")
    assert (found.difference, found.high) == (1.0, 1.0)
    assert found.low > 0.99
    assert found.p_value <= 1e-300


def test_weights_pools_and_designs_without_a_binomial_count() -> None:
    plain = compare_samples(of(DICE, 30, 100), of(DIRECT, 10, 100), "yes")
    weighted = Tally(DICE, [30.0, 70.0], squares=200.0)  # worth 50 reports
    wider = compare_samples(weighted, of(DIRECT, 10, 100), "yes")
    assert wider.high - wider.low > plain.high - plain.low
    both = pool([of(DICE, 30, 100), of(CROSSWISE, 60, 100)])
    narrower = compare_samples(both, of(DIRECT, 10, 100), "yes")
    assert narrower.high - narrower.low < plain.high - plain.low
    kuk = Tally(surveys.kuk("3/4", "1/4", 3), [5, 20, 30, 10])
    assert compare_samples(kuk, of(DIRECT, 10, 100), "yes").p_value < 1
    sets = Tally(UnaryEncoding(["no", "yes", "perhaps"], epsilon=2), [50, 40, 30], n=100)  # another domain, with a yes
    assert compare_samples(sets, of(DIRECT, 10, 100), "yes").p_value < 1


def test_samples_that_cannot_be_compared() -> None:
    grouped = Tally(DICE, [[3, 7]], by=("g",), groups=(("x",),))
    with pytest.raises(ValueError, match="the second sample must have no groups, but is grouped by g"):
        compare_samples(of(DICE, 3, 10), grouped, "yes")
    with pytest.raises(ValueError, match="the first sample must have reports"):
        compare_samples(of(DICE, 0, 0), of(DICE, 1, 2), "yes")
    with pytest.raises(TypeError, match="tally must be a Tally or a Pool"):
        compare_samples(of(DICE, 1, 2), 3, "yes")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="maybe"):
        compare_samples(of(DICE, 1, 2), of(DICE, 1, 2), "maybe")


def test_approximate_comparisons_exclude_equality_in_the_direction_of_the_estimates() -> None:
    counts = [300, 300, 400], [100, 300, 600]
    one, two = (Tally(KUK, row) for row in counts)
    there, back = compare_samples(one, two, "yes"), compare_samples(two, one, "yes")
    assert there.approximate
    assert there.p_value == pytest.approx(back.p_value)
    assert_allclose([there.difference, there.low, there.high], [-back.difference, -back.high, -back.low], rtol=1e-9)
    assert there.high < 0


def test_samples_whose_estimates_differ_by_more_than_one_are_compared() -> None:
    # 3 and -1, beyond all shares: no sampling variance is left, but noise of 0.1^2 each.
    samples = [Sample(Sampled(np.array(share), np.array(0.1), 100.0)) for share in (3.0, -1.0)]
    assert_allclose(joined_test(samples), 2 * norm.sf(4 / np.hypot(0.1, 0.1)), rtol=1e-6)
    assert_allclose(joined_interval(samples, 0.05)[1], 4 + norm.isf(0.025) * np.hypot(0.1, 0.1), rtol=1e-9)
