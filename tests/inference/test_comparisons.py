"""Comparing two shares, of answers or groups, and their differences and ratios from counts (`differences`)."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import beta, betainc
from scipy.stats import binom, binomtest, fisher_exact, norm

from cases import FORCED, HALF, KUK, LOADED, PAIRS
from tables import binomial, grouped, whole
from warner import (
    Channel,
    CutoffResponse,
    LocalHashing,
    RandomizedResponse,
    SquareWave,
    Tally,
    compare_samples,
    estimate,
    inv,
    pool,
    simulate,
    surveys,
    tally,
)
from warner.designs import MECHANISMS
from warner.designs.facts import full_symmetry
from warner.designs.product import Product
from warner.estimation import estimated
from warner.inference.binomial import Binomial, share_interval
from warner.inference.comparisons import compare, compare_groups, rows_mirrored
from warner.inference.differences import Difference, agreeing, difference, difference_between
from warner.inference.exact_tests import barnard_test, fisher_test
from warner.inference.intervals import Confidence
from warner.reports.subtotals import ReportBlock, StoredReports
from warner.results import typeset

YES = ["yes", "no"]
FOUND = estimate(Tally(HALF, [400, 350, 250]))
REGIONS = (("north",), ("south",), (None,))
GROUPED = estimate(Tally(HALF, [[400, 350, 250], [0, 0, 0], [30, 50, 20]], by=("region",), groups=REGIONS))


SYMMETRIC = [
    design
    for mechanism in MECHANISMS.values()
    for design in mechanism.examples()
    if full_symmetry(design.law) is not None and design.epsilon > 0
]


def groups(counts: Any, n: Any, design: Any) -> tuple[Binomial, Binomial]:
    """Return the counts of an answer in two groups, or of two answers."""
    one, two = (binomial(np.asarray(c, dtype=float), float(size), design) for c, size in zip(counts, n, strict=True))
    return one, two


# From counts


@pytest.mark.parametrize(("k", "epsilon", "n", "s"), [(2, 1, 500, 0.5), (10, 2, 3000, 1.3), (100, 3, 20_000, 0.5)])
@pytest.mark.parametrize("target", ["population", "realised"])
def test_differences_cover(k: int, epsilon: float, n: int, s: float, target: str) -> None:
    design, truth, surveys, rng = (
        RandomizedResponse(k, epsilon=epsilon),
        simulate.zipf(k, s),
        3000,
        np.random.default_rng(8),
    )
    if target == "population":
        counts = simulate.reports_of_population(truth, n, design, rng=rng, size=surveys)
        real = truth
    else:
        people = rng.multinomial(n, truth)
        counts = simulate.reports_of_people(people, design, rng=rng, size=surveys)
        real = people / n
    for j in (1, k - 1):
        found, _ = difference(*groups((counts[:, 0], counts[:, j]), (n, n), design), 0.025, target)
        covered = ((found.low <= real[0] - real[j]) & (real[0] - real[j] <= found.high)).mean()
        # A normal approximation of a sum of n terms: it is allowed one point besides the four standard errors.
        assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / surveys)
        assert abs(found.unbiased.mean() - (real[0] - real[j])) <= 4 * found.unbiased.std() / np.sqrt(surveys)
        ratio = real[0] / real[j]
        assert ((found.ratio_low <= ratio) & (ratio <= found.ratio_high)).mean() >= 0.95 - 4 * 0.004


def test_a_difference_by_hand() -> None:
    # 400 and 250 of 1,000 with q = 1/4, p = 1/2: inv gives 0.6 and 0; variance (0.65 - 0.15^2)/1000 / (1/16)
    found, _ = difference(*groups((400, 250), (1000, 1000), RandomizedResponse(3, odds=(2, 1))), 0.025, "population")
    half = 1.959963984540054 * np.sqrt((0.65 - 0.0225) / 1000) * 4
    assert_allclose([found.unbiased, found.low, found.high], [0.6, 0.6 - half, 0.6 + half], rtol=1e-12)
    assert_allclose(found.p_value, binomtest(400, 650).pvalue, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [998, 999])
def test_realised_differences_with_little_noise_cover(epsilon: int) -> None:
    # K = 2, N = 100, truth told 998 or 999 times in 1,000: hardly any report is a lie, and nothing is normal.
    design, n, holders = RandomizedResponse(2, truth=f"{epsilon}/1000"), 100, 30
    law = np.convolve(
        binom.pmf(np.arange(holders + 1), holders, design.p),
        binom.pmf(np.arange(n - holders + 1), n - holders, design.q),
    )
    counts = np.arange(n + 1.0)
    found, _ = difference(*groups((counts, n - counts), (n, n), design), 0.025, "realised")
    real = (2 * holders - n) / n
    assert law[(found.low <= real + 1e-12) & (real - 1e-12 <= found.high)].sum() >= 0.95
    # Of two such groups, by both of their laws.
    covered = 0.0
    for c, d in np.argwhere(np.outer(law, law) > 1e-7):
        one, exact = difference_between(*groups((c, d), (n, n), design), 0.025, "realised")
        assert exact
        assert one.high - one.low < 0.2  # those of the population are 0.26 wide
        covered += law[c] * law[d] * (one.low <= 1e-12 and one.high >= -1e-12)
    assert covered >= 0.95


def test_rare_answers_are_compared_by_their_exact_intervals() -> None:
    design = RandomizedResponse(50, epsilon=3)
    found, _ = difference(*groups((40, 4), (200, 200), design), 0.025, "population")
    (low1, high1), (low2, high2) = (share_interval(binomial(np.array([[c]]), 200.0, design), 0.0125) for c in (40, 4))
    assert_allclose([found.low, found.high], [low1[0, 0] - high2[0, 0], high1[0, 0] - low2[0, 0]])
    assert found.ratio_high == np.inf
    assert_allclose(found.ratio_low, low1[0, 0] / high2[0, 0])


@pytest.mark.parametrize("odds", [(5, 1), (1, 5)])
@pytest.mark.parametrize("target", ["population", "realised"])
def test_differences_between_groups_cover(odds: tuple[int, int], target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.inference.differences.fisher_test", lambda *_: 1.0)  # of one pair; not asked for here
    design, n, surveys, rng = RandomizedResponse(4, odds=odds), (800, 500), 1000, np.random.default_rng(2)
    holders = 240, 50
    shares = [held / size for held, size in zip(holders, n, strict=True)]
    real = shares[0] - shares[1]
    counts = [
        rng.binomial(size, design.q + (design.p - design.q) * share, surveys)
        if target == "population"
        else rng.binomial(held, design.p, surveys) + rng.binomial(size - held, design.q, surveys)
        for held, size, share in zip(holders, n, shares, strict=True)
    ]
    found, _ = difference_between(*groups(counts, n, design), 0.025, target, "fisher")
    covered = ((found.low <= real) & (real <= found.high)).mean()
    assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / surveys)
    assert abs(found.unbiased.mean() - real) <= 4 * found.unbiased.std() / np.sqrt(surveys)


@pytest.mark.parametrize(("a", "b", "n"), [(40, 60, (100, 150)), (3, 12, (50, 40)), (0, 5, (10, 10)), (7, 7, (9, 9))])
def test_equality_between_groups_is_fishers_test(a: int, b: int, n: tuple[int, int]) -> None:
    table = [[a, n[0] - a], [b, n[1] - b]]
    tails = [fisher_exact(table, alternative=side).pvalue for side in ("less", "greater")]
    design = RandomizedResponse(2, odds=(3, 1))
    found, _ = difference_between(*groups((a, b), n, design), 0.025, "population", "fisher")
    assert_allclose(found.p_value, min(1, 2 * min(tails)), rtol=1e-9)


@pytest.mark.parametrize("people", [10**12, 10**14])
def test_fishers_test_of_very_many_people(people: int) -> None:
    apart = 2 * np.sqrt(0.5 * people)  # two standard errors of the difference of two counts
    counts = groups((people / 2, people / 2 + apart), (people, people), RandomizedResponse(2, odds=(3, 1)))
    found, _ = difference_between(*counts, 0.025, "population", "fisher")
    assert_allclose(found.p_value, 2 * norm.sf(2), rtol=1e-3)


def test_fishers_test_of_many_people_is_that_of_the_normal_law() -> None:
    n = (10**7, 10**7)
    counts = groups((5_000_000, 5_004_000), n, RandomizedResponse(2, odds=(3, 1)))
    found, _ = difference_between(*counts, 0.025, "population", "fisher")
    z = (4000 - 1) / np.sqrt(2 * 10**7 * 0.25)  # with the correction for continuity
    assert_allclose(found.p_value, 2 * norm.sf(z), rtol=1e-2)


# From whole reports


@pytest.mark.parametrize("design", SYMMETRIC, ids=lambda design: design.summary())
def test_equality_is_mcnemars_test_on_reports_that_support_one_of_two(
    design: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warner.inference.comparisons.MOST_REPORTS", 0)  # as if they were many: normal intervals
    rng = np.random.default_rng(7)
    reports = design.draw(rng.integers(2, size=300), rng.bytes)
    support = design.law.count(reports, group=np.arange(300), groups=300).counts > 0
    first, second = ((support[:, i] & ~support[:, 1 - i]).sum() for i in (0, 1))
    found = compare(whole(design, reports), design.domain[0], design.domain[1], Confidence())
    assert found.test == "exact"
    assert_allclose(found.p_value, min(1, binomtest(first, first + second).pvalue), rtol=1e-9)
    (a, b), n = design.law.symmetry.whole[:2], {} if design.law.exclusive else {"n": 300}
    assert_allclose(found.unbiased, np.subtract(*inv(support.sum(axis=0), design, **n)[:2]), atol=1e-12)
    if design.k == 2 and design.law.exclusive:  # one binomial count tells everything
        assert not found.approximate
    elif min(first, second) >= 10:
        error = np.sqrt(first + second - (first - second) ** 2 / 300) / 300 * design.law.symmetry.whole[2] / abs(a - b)
        ends = found.unbiased + 1.959963984540054 * np.array([-error, error])
        if (found.p_value < 0.05) == (ends[0] > 0 or ends[1] < 0):
            assert_allclose([found.low, found.high], np.clip(ends, -1, 1), atol=1e-12)
        assert found.approximate


def test_equality_by_sets_errs_no_more_often_than_it_says() -> None:
    # All samples of twelve reports: so many of {a, c}, so many of {b, c}, the rest {a, b}. A third have
    # a, a third b: a report has a without b with probability 1/3 (p - both) + 1/3 (q - both) + 1/3 (q - neither).
    p, q, both, neither = PAIRS.p, PAIRS.q, float(PAIRS.symmetry.both), float(PAIRS.symmetry.neither)
    apart = (p + 2 * q - 2 * both - neither) / 3
    n, sets = 12, np.packbits([[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]], axis=1)
    chances, p_values = [], []
    for plus, minus in filter(lambda pair: sum(pair) <= n, itertools.product(range(n + 1), repeat=2)):
        chances.append(binom.pmf(plus, n, apart) * binom.pmf(minus, n - plus, apart / (1 - apart)))
        reports = np.repeat(sets, [plus, minus, n - plus - minus], axis=0)
        p_values.append(compare(whole(PAIRS, reports), "a", "b", Confidence()).p_value)
    law, found = np.array(chances), np.array(p_values)
    assert law.sum() == pytest.approx(1)
    for level in np.unique(found):
        assert law[found <= level].sum() <= level * (1 + 1e-9)
    assert law[found <= 0.05].sum() > 0.01  # it can speak


@pytest.mark.parametrize("target", ["population", "realised"])
def test_differences_from_whole_reports_cover(target: str) -> None:
    times, n, rng = 400, 600, np.random.default_rng(9)
    truth = np.array([0.5, 0.3, 0.2, 0])
    answers = np.repeat(np.arange(4), (truth * n).astype(int))
    people = np.tile(answers, times) if target == "realised" else rng.choice(4, size=times * n, p=truth)
    together = whole(PAIRS, PAIRS.draw(people, rng.bytes), np.repeat(np.arange(times), n))
    found = compare(together, "a", "b", Confidence(target=target))
    assert found.test == "exact"
    covered = ((found.low <= 0.2) & (found.high >= 0.2)).mean()
    assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)  # a point for the normal law
    assert abs(found.unbiased.mean() - 0.2) <= 4 * found.unbiased.std() / np.sqrt(times)
    # The same spread as from the counts alone, which know it from the law of pairs
    alone = compare(grouped(PAIRS, together.counts, n), "a", "b", Confidence(target=target))
    assert alone.test == "normal"
    assert_allclose((found.high - found.low).mean(), (alone.high - alone.low).mean(), rtol=0.02)


def test_weights_make_a_test_on_whole_reports_approximate() -> None:
    reports = np.packbits([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]], axis=1)
    weights = np.array([1.0, 2.0, 1.5, 0.5])
    counts, n, _ = PAIRS.law.count(reports, weights)
    kept = StoredReports.in_memory(ReportBlock(reports, weights))
    found = compare(Tally(PAIRS, counts, n=n, squares=float(weights @ weights), kept=kept), "a", "b", Confidence())
    assert found.test == "approximate"
    effective = 25 / (weights @ weights)  # that many equal reports; of these 2.5/5 are {a, not b}, 1.5/5 the reverse
    apart = (0.5 * effective, 0.3 * effective)
    assert_allclose(found.p_value, min(1, 2 * betainc(apart[0], apart[1] + 1, 0.5)))


# Through an estimate


def test_two_answers_compared() -> None:
    found = FOUND.compare("never", "often")
    assert found.unbiased == pytest.approx(0.6)
    assert found.low < 0.6 < found.high
    assert typeset(found).columns["difference (points)"] == ["+60.0"]
    assert "unbiased (points)" not in typeset(found).columns
    back = FOUND.compare("often", "never")
    assert_allclose([back.unbiased, back.low, back.high], [-found.unbiased, -found.high, -found.low])
    assert back.p_value == pytest.approx(found.p_value)
    assert found.to_dict()["ratio_high"] is None  # no respondent may have "often"
    narrower = FOUND.compare("never", "often", target="realised")
    assert narrower.high - narrower.low < found.high - found.low


def test_two_answers_compared_in_each_group() -> None:
    found = GROUPED.compare("never", "once")
    assert found.unbiased.shape == (3,)
    assert found.unbiased[0] == pytest.approx(FOUND.compare("never", "once").unbiased)
    columns = typeset(found).columns
    assert columns["group"] == ["north", "south", "(missing)"]
    assert columns["difference (points)"][1:] == ["no reports", "-75.0"]  # mle shares 1/8, 7/8
    assert columns["unbiased (points)"][1:] == ["no reports", "-80.0"]
    assert found.to_dict()["low"][1] is None


def test_one_answer_compared_between_groups() -> None:
    found = GROUPED.compare("once", between=("north", None))
    assert found.unbiased == pytest.approx((0.35 - 0.25) * 4 - (0.5 - 0.25) * 4)
    assert "'once' in north against 'once' in (missing)" in found.text()
    assert found.p_value < 0.01
    assert not found.approximate
    rare = estimate(Tally(HALF, [[5, 8, 7], [2, 9, 9]], by=("g",), groups=((1,), (2,))))
    assert not rare.compare("never", between=(1, 2)).approximate
    two = Tally(HALF, [[5, 8, 7], [2, 9, 9]], by=("g", "h"), groups=(("a", 1), ("b", 2)))
    by_name = estimate(two).compare("once", between=("a / 1", "b / 2"))
    assert by_name.unbiased == estimate(two).compare("once", between=(("a", 1), ("b", 2))).unbiased


def test_a_difference_between_groups_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.inference.comparisons.MOST_REPORTS", 0)
    # Newcombe: each side joins the distances to Wilson's limits of 300/1000 and 110/400, here by statsmodels' formula
    found = estimate(Tally(HALF, [[300, 350, 350], [110, 160, 130]], by=("g",), groups=((1,), (2,))))
    compared = found.compare("never", between=(1, 2))
    z2 = 1.959963984540054**2
    limits = [
        ((c + z2 / 2) / (n + z2) + side * np.sqrt(z2 * (c * (n - c) / n + z2 / 4)) / (n + z2))
        for c, n in ((300, 1000), (110, 400))
        for side in (-1, 1)
    ]
    low = 0.3 - 0.275 - np.hypot(0.3 - limits[0], limits[3] - 0.275)
    high = 0.3 - 0.275 + np.hypot(limits[1] - 0.3, 0.275 - limits[2])
    assert_allclose([compared.low, compared.high], [4 * low, 4 * high], rtol=1e-9)
    # The same people under the design turned round, where 1 - c/n and -gain replace c/n and gain, K = 2
    upright, turned = RandomizedResponse(2, odds=(4, 1)), RandomizedResponse(2, odds=(1, 4))
    rows = np.array([[60, 40], [30, 70]])
    first = estimate(Tally(upright, rows, by=("g",), groups=((1,), (2,)))).compare(0, between=(1, 2))
    second = estimate(Tally(turned, rows[:, ::-1], by=("g",), groups=((1,), (2,)))).compare(0, between=(1, 2))
    assert_allclose([first.low, first.high], [second.low, second.high])


@pytest.mark.parametrize("odds", [(6, 1), (1, 6)])
def test_equal_shares_are_called_different_as_rarely_as_the_level_says(odds: tuple[int, int]) -> None:
    design, surveys = RandomizedResponse(4, odds=odds), 1500
    counts = simulate.reports_of_population([0.3, 0.3, 0.4, 0], 600, design, rng=np.random.default_rng(4), size=surveys)
    found = estimate(grouped(design, counts)).compare(0, 1)
    assert (found.p_value <= 0.05).mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / surveys)
    assert found.p_value.min() < 0.02  # it can speak


# One truth


def agree(found: Any) -> None:
    """The interval leaves out 0, and the ratio 1, exactly where the test calls the shares different."""
    different = found.p_value < 1 - found.confidence.level
    assert different == (found.low > 0 or found.high < 0)
    assert different == (found.ratio_low > 1 or found.ratio_high < 1)
    assert (found.low > 0) == (found.ratio_low > 1)
    assert -1 <= found.low <= found.high <= 1
    assert 0 <= found.ratio_low <= found.ratio_high
    assert -1 <= found.difference <= 1


DESIGNS = [
    RandomizedResponse(2, odds=(3, 1)),
    RandomizedResponse(3, odds=(2, 1)),
    RandomizedResponse(3, odds=(1, 6)),
    RandomizedResponse(3, odds=(1, 0)),
    FORCED,
    KUK,
    LOADED,
]


@pytest.mark.filterwarnings("ignore:the reports do not seem to fit")
@given(st.sampled_from(DESIGNS), st.integers(1, 300), st.integers(0, 10**6), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_intervals_and_test_agree(design: Any, n: int, seed: int, level: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.multinomial(n, rng.dirichlet(np.ones(len(design.law.columns))), size=2)
    found = estimate(Tally(design, rows, by=("g",), groups=((1,), (2,))), method="inv")
    first, second = design.domain[:2]
    agree(found.compare(first, between=(1, 2), level=level, test="fisher" if n > 60 else "barnard"))
    for row in rows:
        alone = estimate(Tally(design, row), method="inv").compare(first, second, level=level)
        agree(alone)
        assert alone.unbiased == pytest.approx(np.subtract(*inv(row, design)[:2]))


def test_a_difference_is_that_of_the_shares_that_are_shown() -> None:
    few = Tally(HALF, [[1, 9, 2], [9, 1, 0]], by=("g",), groups=((1,), (2,)))
    for method in ("mle", "inv", "inv_p"):
        found = estimate(few, method=method)
        compared, between = found.compare("never", "once"), found.compare("once", between=(1, 2))
        assert_allclose(compared.difference, np.clip(found.shares[:, 0] - found.shares[:, 1], -1, 1))
        assert between.difference == pytest.approx(np.clip(found.shares[0, 1] - found.shares[1, 1], -1, 1))
        assert_allclose(compared.unbiased, [4 * (1 - 9) / 12, 4 * (9 - 1) / 10])  # beyond what shares can be
        assert typeset(compared).columns["unbiased (points)"] == ["-266.7", "+320.0"]
        assert json.loads(compared.to_json())["difference"] == compared.difference.tolist()


@pytest.mark.filterwarnings("ignore:the reports do not seem to fit")
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 60), st.data())
def test_a_response_among_two_answers_and_its_channel_compare_alike(a: int, b: int, n: int, data: Any) -> None:
    assume(a != b)
    yes = data.draw(st.integers(0, n))
    response = RandomizedResponse(YES, odds=(a, b))
    channel = Channel([[Fraction(a, a + b), Fraction(b, a + b)], [Fraction(b, a + b), Fraction(a, a + b)]], YES, YES)
    for target in ("population", "realised"):
        one, two = (estimate(Tally(d, [yes, n - yes]), method="inv") for d in (response, channel))
        first, second = (found.compare("yes", "no", target=target) for found in (one, two))
        assert first.approximate == second.approximate
        assert first.test == second.test == "exact"
        for name in ("difference", "unbiased", "low", "high", "ratio_low", "ratio_high", "p_value"):
            assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("odds", [(6, 1), (3, 1)])
def test_two_answers_that_are_all_there_are_compared_exactly(odds: tuple[int, int]) -> None:
    design, n = RandomizedResponse(2, odds=odds), 60
    counts = np.arange(n + 1)
    found = compare(grouped(design, np.stack([counts, n - counts], axis=1), n), 0, 1, Confidence())
    assert not found.approximate
    for theta in np.linspace(0, 1, 41):
        law = binom.pmf(counts, n, design.q + (design.p - design.q) * theta)
        within = (found.low <= 2 * theta - 1 + 1e-9) & (2 * theta - 1 - 1e-9 <= found.high)
        assert law[within].sum() >= 0.95
        if theta == 0.5:
            assert law[found.p_value < 0.05].sum() <= 0.05


# Under any design


def test_presence_and_comparison_of_a_response_as_a_channel() -> None:
    turned = RandomizedResponse(3, odds=(1, 4))
    plain, general = (estimate(Tally(one, [100, 450, 450])) for one in (turned, turned.restricted([0, 1, 2])))
    assert_allclose(general.present().p_values, plain.present().p_values, rtol=1e-9)
    for counts in ([0, 5], [40, 60], [400, 600]):
        channel = estimate(Tally(surveys.warner("3/4"), counts)).compare("yes", "no")
        response = estimate(Tally(RandomizedResponse(YES, odds=(3, 1)), counts))
        # Both are equal if and only if a yes is as likely as a no: the sign test of the response
        assert channel.p_value == pytest.approx(response.compare("yes", "no").p_value)
        assert channel.test == "exact"
        one = response.interval("yes")
        assert channel.low == pytest.approx(2 * one.low - 1)
        assert channel.high == pytest.approx(2 * one.high - 1)
        assert channel.unbiased == pytest.approx(response.compare("yes", "no").unbiased)


def test_a_ratio_comes_from_both_intervals_each_at_half_the_tail() -> None:
    found = estimate(Tally(LOADED, [400, 350, 250]))
    one, two = (found.interval(label, level=0.975) for label in ("a", "b"))
    compared = found.compare("a", "b")
    assert compared.ratio_low == pytest.approx(one.low / two.high)
    assert compared.ratio_high == pytest.approx(one.high / two.low)


@pytest.mark.parametrize(
    ("design", "truth"),
    [(KUK, [0.3, 0.7]), (LOADED, [0.5, 0.3, 0.2]), (PAIRS, [0.5, 0.3, 0.2, 0]), (FORCED, [0.3, 0.7])],
)
@pytest.mark.parametrize("target", ["population", "realised"])
def test_differences_cover_whatever_the_design(design: Any, truth: list[float], target: str) -> None:
    times, n, rng = 1000, 1000, np.random.default_rng(4)
    if target == "population":
        counts = simulate.reports_of_population(truth, n, design, rng=rng, size=times)
    else:
        people = np.rint(np.array(truth) * n).astype(int)
        counts = simulate.reports_of_people(people, design, rng=rng, size=times)
    first, second = design.domain[:2]
    found = compare(grouped(design, counts, n), first, second, Confidence(target=target))
    real = truth[0] - truth[1]
    covered = ((found.low <= real) & (real <= found.high)).mean()
    allowed = 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)  # a point for the normal law
    assert covered >= 0.95 - allowed
    assert found.test == "exact" or covered <= 0.95 + allowed
    assert abs(found.unbiased.mean() - real) <= 4 * found.unbiased.std() / np.sqrt(times) + 1e-12
    ratio = truth[0] / truth[1]
    assert ((found.ratio_low <= ratio) & (ratio <= found.ratio_high)).mean() >= 0.95 - allowed


@pytest.mark.parametrize("design", [PAIRS, LOADED, KUK])
def test_equal_shares_are_called_different_as_rarely_whatever_the_design(design: Any) -> None:
    times, n = 1500, 600
    truth = np.full(design.k, 1 / design.k)
    counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(5), size=times)
    first, second = design.domain[:2]
    found = compare(grouped(design, counts, n), first, second, Confidence())
    assert found.test == "normal"
    assert (found.p_value <= 0.05).mean() <= 0.05 + 0.01 + 4 * np.sqrt(0.05 * 0.95 / times)  # a point for the law
    assert found.p_value.min() < 0.02  # it can speak


def test_a_difference_from_sets_by_hand() -> None:
    # M = 12, p = 10/12, q = 14/36, p - q = 4/9. Exactly one of two answers is in a set of two with probability 2/3,
    # for each respondent: p + q - 2 * 5/18 with either answer, 2 q - 2 * 1/18 for the others. With half a report
    # more for each, the difference of the two counts is 20/101 of the reports.
    found = estimate(Tally(PAIRS, [60, 40, 50, 50], n=100)).compare("a", "b")
    half = 1.959963984540054 * np.sqrt((2 / 3 - (20 / 101) ** 2) / 100) * 9 / 4
    assert_allclose([found.unbiased, found.low, found.high], [0.45, 0.45 - half, 0.45 + half], rtol=1e-12)
    assert_allclose(found.p_value, 2 * norm.sf(0.45 / half * 1.959963984540054), rtol=1e-9)
    assert found.test == "normal"
    assert found.approximate
    back = estimate(Tally(PAIRS, [60, 40, 50, 50], n=100)).compare("b", "a")
    assert_allclose([back.unbiased, back.low, back.high], [-found.unbiased, -found.high, -found.low])


def test_groups_are_compared_under_a_binary_channel() -> None:
    found = estimate(Tally(FORCED, [[400, 600], [300, 700]], by=("g",), groups=(("a",), ("b",))))
    compared = found.compare("yes", between=("a", "b"))
    assert compared.unbiased == pytest.approx(0.1 / 0.75)
    assert compared.test == "Barnard's exact"
    assert compared.p_value == pytest.approx(barnard_test(400, 300, (1000, 1000), 1 / 6, 11 / 12))
    compared = found.compare("yes", between=("a", "b"), test="fisher")
    assert compared.test == "Fisher's exact"
    fisher = [fisher_exact([[400, 600], [300, 700]], alternative=side).pvalue for side in ("less", "greater")]
    assert compared.p_value == pytest.approx(min(1, 2 * min(fisher)))


@pytest.mark.parametrize(
    ("design", "truths"),
    [
        (KUK, ([0.3, 0.7], [0.2, 0.8])),
        (LOADED, ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])),
        (PAIRS, ([0.4, 0.6, 0, 0], [0.1, 0.9, 0, 0])),
    ],
)
@pytest.mark.parametrize("target", ["population", "realised"])
def test_differences_between_groups_cover_whatever_the_design(
    design: Any, truths: Any, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warner.inference.comparisons.MOST_REPORTS", 0)  # as if they were many: approximate intervals
    times, sizes, rng = 250, (800, 500), np.random.default_rng(6)
    drawn = [
        simulate.reports_of_population(truth, n, design, rng=rng, size=times)
        if target == "population"
        else simulate.reports_of_people(np.rint(np.array(truth) * n).astype(int), design, rng=rng, size=times)
        for truth, n in zip(truths, sizes, strict=True)
    ]
    found = [
        compare_groups(
            Tally(design, rows, n=np.array(sizes), by=("g",), groups=((1,), (2,))),
            design.domain[0],
            (1, 2),
            Confidence(target=target),
            test="fisher",
        )
        for rows in zip(*drawn, strict=True)
    ]
    real = truths[0][0] - truths[1][0]
    covered = np.mean([one.low <= real <= one.high for one in found])
    allowed = 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)
    assert abs(covered - 0.95) <= allowed
    assert np.mean([one.unbiased for one in found]) == pytest.approx(real, abs=0.02)


def test_shares_that_cannot_be_told_are_not_compared() -> None:
    finer = RandomizedResponse(["drinks", "does not"], odds=(3, 1)).coarsened(
        {"drinks": ["beer", "wine"], "does not": ["water"]}
    )
    rows = Tally(finer, [[40, 60], [50, 50]], by=("g",), groups=((1,), (2,)))
    with pytest.raises(ValueError, match="must identify both shares"):
        compare(rows, "beer", "wine", Confidence())
    with pytest.raises(ValueError, match="must identify the share of the answer"):
        compare_groups(rows, "beer", (1, 2), Confidence())


def test_one_comparison_through_every_door() -> None:
    found = GROUPED.compare("never", "once", level=0.9, target="realised")
    table = found.table()
    numbers = ["difference", "unbiased", "low", "high", "ratio_low", "ratio_high", "p_value"]
    assert list(table) == ["group", *numbers]
    assert table["group"].tolist() == ["north", "south", "(missing)"]
    told = json.loads(found.to_json())
    assert told == found.to_dict()
    for name in numbers:
        assert_array_equal(table[name], getattr(found, name))
        for number, value in zip(getattr(found, name), told[name], strict=True):
            assert value == (number if np.isfinite(number) else None)
    assert (told["level"], told["target"], told["test"], told["approximate"]) == (0.9, "realised", "exact", True)
    assert repr(found) == found.text()
    assert "approximate 90 % interval (sample)" in found.text()
    one = FOUND.compare("never", "once")
    assert list(one.table()) == numbers
    assert one.table()["low"].shape == (1,)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: FOUND.compare("once", "once"), "two different answers must be compared, but got 'once' twice"),
        (lambda: FOUND.compare("once", "twice"), "an answer must be in the domain"),
        (lambda: FOUND.compare("once"), "a second answer, or between="),
        (lambda: FOUND.compare("once", "never", between=("a", "b")), "a second answer, or between="),
        (lambda: FOUND.compare("once", between=("north", "south")), "between needs groups"),
        (lambda: GROUPED.compare("once", between=("north", "west")), "no group west; there are .*missing"),
        (lambda: GROUPED.compare("once", between=("north", "north")), "two different groups"),
        (lambda: GROUPED.compare("once", between=("north", "south")), "both groups must have reports, but south"),
        (
            lambda: compare(FOUND.tally, "once", "never", Confidence(simultaneous=True)),
            "one comparison has no simultaneous interval",
        ),
    ],
)
def test_bad_input(call: Any, complaint: str) -> None:
    with pytest.raises((ValueError, TypeError), match=complaint):
        call()


@pytest.mark.parametrize("given", [{"odds": (1, 0)}, {"epsilon": 38}])
def test_where_a_report_rules_answers_out_rounding_supports_nobody(given: dict[str, Any]) -> None:
    counted = tally([0, 0, 8], LocalHashing(9, **given))  # two reports support answer 0 without 1, none the reverse
    assert estimate(counted).compare(0, 1).p_value == 0.5


@pytest.mark.parametrize("n", [(300, 20), (60, 20), (40, 40)])
def test_groups_are_compared_at_their_level_where_no_count_tells_a_rare_share(n: tuple[int, int]) -> None:
    # Without noise the interval depends on two binomial counts, so that everything can be summed. Approximate: one
    # point is allowed, beside what is left out of the sum. (With plugged-in errors: 72 % and a size of 12.8 %.)
    direct = RandomizedResponse(["yes", "no"], odds=(1, 0))
    design, found = Product({"x": direct, "z": direct}), {}
    for one, two in [(0.005, 0.1), (0.1, 0.1), (0.05, 0.05), (0.005, 0.05)]:
        laws = [binom.pmf(np.arange(size + 1), size, share) for size, share in zip(n, (one, two), strict=True)]
        covered = refuted = 0.0
        for x, y in itertools.product(*(np.flatnonzero(law > 1e-4).tolist() for law in laws)):
            if (x, y) not in found:
                counts = [[x, 0, 0, n[0] - x], [y, 0, 0, n[1] - y]]
                reports = Tally(design, counts, by=("g",), groups=(("a",), ("b",)))
                found[x, y] = compare_groups(reports, design.domain[0], ("a", "b"), Confidence())
            result, chance = found[x, y], laws[0][x] * laws[1][y]
            covered += chance * (result.low <= one - two + 1e-9 and one - two - 1e-9 <= result.high)
            refuted += chance * (result.p_value < 0.05)
        assert covered >= 0.94
        assert one != two or refuted <= 0.06


def test_two_rare_answers_are_compared_at_about_their_level_in_pools() -> None:
    # 30 and 30 people. Weighted by the plugged-in errors, the collection without the answer counted most: 82 %.
    shares, times = np.array([0.005, 0.05, 0.05, 0.895]), 1000
    rng, parts = np.random.default_rng(5), []
    for odds in ((99, 1), (19, 1)):
        question = RandomizedResponse(["yes", "no"], odds=odds)
        design = Product({"x": question, "z": question})
        counts = design.simulate(shares, 30, rng=rng, size=times)
        parts.append(grouped(design, counts))
    found = compare(pool(parts), design.domain[0], design.domain[1], Confidence())
    covered = np.mean((found.low <= -0.045) & (found.high >= -0.045))
    assert covered >= 0.93 - 4 * np.sqrt(0.95 * 0.05 / times)  # by the normal law: two points, and four standard errors


@pytest.mark.parametrize("design", [SquareWave(range(4), epsilon=1), CutoffResponse(range(3), epsilon=1)])
def test_single_people_are_not_called_different_because_their_scores_are(design: Any) -> None:
    # All pairs of reports of two groups of one person each, whose true shares are equal: enumerated exactly. The test
    # is approximate, and may err a little more often than in 5 % of cases, but not in half of them.
    columns = len(design.law.columns)
    one = np.eye(columns, dtype=int)
    p_values = np.array(
        [
            [
                [
                    estimated(Tally(design, [a, b], by=("g",), groups=(("a",), ("b",))), method="inv")
                    .compare(answer, between=("a", "b"))
                    .p_value
                    for answer in design.domain
                ]
                for b in one
            ]
            for a in one
        ]
    )
    for shares in (np.eye(design.k)[0], np.eye(design.k)[1], np.full(design.k, 1 / design.k)):
        law = design.law.probabilities(shares)
        errors = np.einsum("i,ijk,j->k", law, p_values < 0.05, law)
        assert errors.max() < 0.07


def test_fishers_test_of_weighted_groups_that_each_agree() -> None:
    # All of n against none of m effective reports: given the sum, that has probability (n + m + 1) Beta(n + 1, m + 1).
    weights = np.random.default_rng(0).uniform(0.2, 3, (400, 3))
    effective = weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1)
    group = np.repeat(np.arange(400), 3)
    data = {"r": np.where(group % 2, "yes", "no"), "g": group, "w": weights.ravel()}
    found = estimated(tally(data, RandomizedResponse(YES, odds=(3, 1)), column="r", by="g", weights="w"))
    for g in range(0, 400, 2):
        n, m = effective[g : g + 2]
        expected = min(1.0, 2 * (n + m + 1) * float(beta(n + 1, m + 1)))
        assert_allclose(found.compare("yes", between=(g, g + 1)).p_value, expected, rtol=1e-9)


def test_an_interval_of_these_people_that_ends_at_zero_does_not_refute_equality() -> None:
    numbers = Difference(*(np.array(number) for number in (-0.1, -0.2, 0.0, 0.5, 1.0, 0.01)))
    assert agreeing(numbers, Confidence(0.95, "realised")).high == 0
    assert agreeing(numbers, Confidence(0.95)).high < 0


@pytest.mark.parametrize(("c1", "c2"), [(330, 270), (310, 290)])
def test_integrated_tails_of_fishers_test_are_the_sums(monkeypatch: pytest.MonkeyPatch, c1: int, c2: int) -> None:
    # The correction of the integral is 0.5 % and 0.08 % of these tails, and what it leaves out 0.003 % or less.
    exact = fisher_test(c1, c2, (700, 700))
    assert_allclose(exact, 2 * fisher_exact([[c1, 700 - c1], [c2, 700 - c2]], alternative="greater").pvalue)
    monkeypatch.setattr("warner.inference.exact_tests.TERMS_SUMMED", 0)
    assert_allclose(fisher_test(c1, c2, (700, 700)), exact, rtol=1e-4)


@pytest.mark.parametrize("sample", [{}, {"clusters": np.arange(100) % 10}], ids=["simple", "clusters"])
def test_two_answers_in_all_differ_by_twice_the_first_share_less_one(sample: dict[str, Any]) -> None:
    reports = ["yes", "yes", "no", "yes", "no"] * 20
    found = estimate(tally(reports, RandomizedResponse(["yes", "no"], odds=(3, 1)), **sample))
    apart, share = found.compare("yes", "no"), found.interval("yes")
    assert_allclose([apart.low, apart.high], [2 * share.low - 1, 2 * share.high - 1])


def test_groups_of_one_respondent_are_compared_by_their_counts() -> None:
    counts = Tally(RandomizedResponse(["yes", "no"], odds=(3, 1)), [[1, 0], [0, 1]], by=("g",), groups=((0,), (1,)))
    assert not estimate(counts).compare("yes", between=(0, 1)).approximate


def test_ratios_of_weighted_samples_have_each_interval_at_half_the_tail() -> None:
    design = RandomizedResponse(["yes", "no"], odds=(3, 1))
    samples = Tally(design, [60.0, 40.0], squares=150.0), Tally(design, [50.0, 50.0], squares=120.0)
    one, two = (estimate(sample).interval("yes", level=0.975) for sample in samples)
    found = compare_samples(*samples, "yes")
    assert_allclose([found.ratio_low, found.ratio_high], [one.low / two.high, one.high / two.low])


def test_rows_of_two_answers_are_mirror_images_if_shares_and_limits_sum_to_one() -> None:
    table = {"share": np.array([0.3, 0.7]), "low": np.array([0.2, 0.6]), "high": np.array([0.4, 0.8])}
    assert rows_mirrored(table, 2)
    assert rows_mirrored(table | {"share": np.array([np.nan, np.nan])}, 2)
    assert not rows_mirrored(table | {"share": np.array([0.3, 0.6])}, 2)
    assert not rows_mirrored(table | {"high": np.array([0.5, 0.8])}, 2)
