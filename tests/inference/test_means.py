"""Means, standard deviations and quantiles: by hand, by enumeration, against others' numbers, and their laws.

It tests inference/means.py, inference/means.py, inference/intervals.py and
inference/totals.py, too.
"""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln
from scipy.stats import binom

from references import reference
from tables import grouped
from warner import (
    Channel,
    CutoffResponse,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    Tally,
    grid,
    pool,
    tally,
)
from warner.designs import MECHANISMS, Design
from warner.designs.facts import counts_everyone
from warner.estimation import estimated
from warner.inference.intervals import mirrored
from warner.inference.means import quantile_places, values_of
from warner.results import typeset

NUMBERS = reference("numbers")
DESIGNS = [design for mechanism in MECHANISMS.values() for design in mechanism.examples()]
every_design = pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.summary())


def some_reports(design: Design, n: int = 400) -> Tally:
    shares = np.arange(1.0, design.k + 1)
    return Tally(design, design.simulate(shares / shares.sum(), n, rng=np.random.default_rng(7)), n=n)


def compositions(n: int, k: int) -> np.ndarray[Any, Any]:
    """List all ways to share n among k."""
    bars = itertools.combinations(range(n + k - 1), k - 1)
    return np.array([np.diff((-1, *bar, n + k - 1)) - 1 for bar in bars])


def multinomial(counts: np.ndarray[Any, Any], chances: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the probability of each row of counts."""
    n = int(counts[0].sum())
    ways = [math.factorial(n) / math.prod(math.factorial(int(c)) for c in row) for row in counts]
    return np.asarray(np.array(ways) * np.prod(chances**counts, axis=1))


# Means


def test_the_mean_of_randomized_response_by_hand() -> None:
    # p = 1/2, q = 1/4: shares (0.4 - 0.25) / 0.25 = 0.6, 0.4 and 0; the scores of reports vary as 0, 1, 5 over 1/4.
    result = estimated(Tally(RandomizedResponse(["never", "once", "often"], odds=(2, 1)), [400, 350, 250]))
    mean = result.mean({"never": 0, "once": 1, "often": 5})
    assert_allclose(mean.value, 0.4)
    variance = (0.35 * 1 + 0.25 * 25 - (0.35 + 1.25) ** 2) / 0.25**2 / 1000
    assert_allclose(mean.se, math.sqrt(variance), rtol=2e-3)  # one report more, of all kinds alike
    assert_allclose(mean.high, 0.4 + 1.959964 * mean.se, rtol=1e-6)
    assert mean.low == 0
    assert mean.methods == ("linear",)
    assert mean.approximate


def test_the_mean_of_a_cutoff_response_is_a_binomial_share() -> None:
    design = CutoffResponse([0, 1, 5, 20], odds=(3, 1))
    counts = [10, 5, 30, 20, 90, 45]  # 70 yeses of 200
    mean = estimated(Tally(design, counts)).mean()
    share = estimated(Tally(RandomizedResponse(["yes", "no"], odds=(3, 1)), [70, 130])).interval("yes")
    assert_allclose([mean.low, mean.high], [20 * share.low, 20 * share.high])
    assert_allclose(mean.value, 20 * (0.35 - 0.25) / 0.5)
    assert mean.methods == ("clopper_pearson",)
    assert not mean.approximate


@every_design
@pytest.mark.parametrize("target", ["population", "realised"])
def test_numbers_that_are_0_and_1_give_what_the_set_gives(design: Design, target: str) -> None:
    result = estimated(some_reports(design))
    values = np.arange(design.k) % 2
    mean = result.mean(values, target=target)
    odd: list[Any] = [label for label, value in zip(design.domain, values, strict=True) if value]
    interval = result.interval(odd, target=target)
    assert (mean.low, mean.high, mean.methods) == (interval.low, interval.high, interval.methods)


@every_design
def test_a_shift_or_stretch_of_the_numbers_shifts_or_stretches_everything(design: Design) -> None:
    if design.k == 2 and not mirrored([design]):  # the two answers have counts of their own, which are no mirror images
        return
    result = estimated(some_reports(design))
    values = np.sqrt(np.arange(2.0, design.k + 2))
    for summary in ("mean", "standard_deviation", "median"):
        one, other = (getattr(result, summary)(numbers) for numbers in (values, 7 - 3 * values))
        if np.isnan(one.value):
            assert np.isnan(other.value)
            continue
        if summary == "median":  # turned around, the upper end may be the lower one's neighbor, if F is exactly 1/2
            continue
        shift = 0 if summary == "standard_deviation" else 7
        scale = 3 if summary == "standard_deviation" else -3
        ends = sorted([shift + scale * one.low, shift + scale * one.high])
        assert_allclose([other.low, other.high], ends, atol=1e-7)
        assert_allclose(other.value, shift + scale * one.value, atol=1e-7)
        assert_allclose(other.se, 3 * one.se, rtol=1e-6)
    before, after = result.median(values), result.median(7 + 3 * values)
    for name in ("low", "high", "value"):
        assert_allclose(getattr(after, name), 7 + 3 * getattr(before, name))


@every_design
def test_means_of_groups_average_to_the_whole(design: Design) -> None:
    if design.law.types is not None and not design.law.exclusive:
        return
    if design.k == 2 and not counts_everyone(design.law):  # groups count by how many were asked
        return
    halves = [some_reports(design, n) for n in (300, 100)]
    groups = Tally(design, [half.counts for half in halves], n=[300, 100], by=("g",), groups=(("a",), ("b",)))
    whole = Tally(design, halves[0].counts + halves[1].counts, n=400)
    values = np.sqrt(np.arange(2.0, design.k + 2))
    apart, together = (estimated(tally).mean(values) for tally in (groups, whole))
    inside = values.min() < np.min(apart.value) and np.max(apart.value) < values.max()
    if not np.isnan(together.value) and inside:
        assert_allclose(0.75 * apart.value[0] + 0.25 * apart.value[1], together.value, rtol=1e-9)
    assert len(apart.table()["value"]) == 2
    assert apart.table()["g"].tolist() == ["a", "b"]


def test_the_mean_of_others_eriksson_design() -> None:
    # RRTCS 0.0.4: cards 0, 1, 3, 5 and 8, each 1/10, or the truth, 1/2
    case = NUMBERS["rrtcs"]["eriksson"]
    domain = range(41)
    cards = [Fraction(1, 10) if x in case["design"]["cards"] else Fraction(0) for x in domain]
    table = [[card + Fraction(x == i, 2) for x, card in enumerate(cards)] for i in domain]
    design = Channel(table, domain, domain)
    assert design.shown_epsilon() == "inf"  # numbers that no card says give people away
    counts = [case["counts"].get(str(x), 0) for x in domain]
    mean = estimated(Tally(design, counts)).mean()
    assert_allclose(mean.value, case["unweighted"], rtol=1e-8)
    # Its standard error is 1.24468; here is one report more of all kinds alike. Half a report of each would give 1.90.
    assert math.sqrt(case["variance"]) < mean.se < 1.3
    assert_allclose(case["low"], case["estimate"] - 1.96 * math.sqrt(case["variance"]), atol=1e-3)


def test_the_mean_of_a_square_wave_by_another_program() -> None:
    case = NUMBERS["maximum"]
    design = SquareWave.from_dict(case["design"])
    value, error, low, high = case["mean"]
    mean = estimated(Tally(design, case["counts"])).mean()
    assert_allclose([mean.value, mean.se, mean.low, mean.high], [value, error, low, high], rtol=1e-8)


def test_means_under_cutoff_responses_hold_their_level_exactly() -> None:
    # All 286 populations with shares in tenths of 0, 1, 5 and 20; 20 people; the yeses are binomial.
    design, n = CutoffResponse([0, 1, 5, 20], odds=(3, 1)), 20
    mean = estimated(grouped(design, [[n - yes, yes, 0, 0, 0, 0] for yes in range(n + 1)]), method="inv").mean()
    low, high = mean.low, mean.high
    chances = np.array([math.comb(n, yes) for yes in range(n + 1)])
    least = 1.0
    for shares in compositions(10, 4) / 10:
        truth = shares @ [0, 1, 5, 20]
        p = 0.25 + 0.5 * truth / 20
        law = chances * p ** np.arange(n + 1) * (1 - p) ** np.arange(n, -1, -1)
        least = min(least, float(law[(low <= truth + 1e-9) & (truth <= high + 1e-9)].sum()))
    assert 0.95 <= least <= 1


def test_means_among_these_very_people_do_not_use_the_law_of_two_kinds_of_people() -> None:
    # Three answers, eight people who all hold the middle one: yeses vary as if no answer were certain.
    design = CutoffResponse(3, odds=(20, 1))
    counts = compositions(8, 4)
    law = multinomial(counts, design.as_channel().channel()[1])
    for target, least in (("realised", 0.9), ("population", 0.95)):
        mean = estimated(grouped(design, counts)).mean(target=target)
        held = (mean.low - 1e-9 <= 1) & (mean.high + 1e-9 >= 1)
        assert law[held].sum() >= least
        assert mean.approximate == (target == "realised")


def test_pools_weights_and_any_time() -> None:
    design = CutoffResponse(grid(0, 100, 10), odds=(3, 1))
    first, second = (some_reports(design, n) for n in (300, 500))
    together = estimated(pool([first, second])).mean()
    assert_allclose(
        together.value, (300 * estimated(first).mean().value + 500 * estimated(second).mean().value) / 800, rtol=1e-2
    )
    whole = estimated(Tally(design, first.counts + second.counts)).mean()
    assert_allclose([together.low, together.high], [whole.low, whole.high], rtol=2e-2)
    wave = SquareWave(grid(0, 100, 10), odds=(3, 1), width=3)
    mixed = estimated(pool([first, some_reports(wave, 600)])).mean()
    assert mixed.methods == ("linear",)
    assert mixed.se < min(estimated(first).mean().se, estimated(some_reports(wave, 600)).mean().se)
    realised = estimated(pool([first, some_reports(wave, 600)])).mean(target="realised")
    assert realised.low < realised.value < realised.high
    weighted = Tally(design, 1.5 * first.counts, squares=2.25 * 300.0)
    heavy = estimated(weighted).mean()
    assert heavy.approximate
    assert_allclose(heavy.value, estimated(first).mean().value)
    ever = estimated(first).mean(anytime=True)
    once = estimated(first).mean()
    assert ever.low <= once.low < once.high <= ever.high
    assert not ever.approximate


def test_a_mean_that_reports_do_not_tell_is_not_known() -> None:
    alike = Channel([["3/4", "1/4"], ["3/4", "1/4"], ["1/4", "3/4"]], ["beer", "wine", "water"], ["yes", "no"])
    mean = estimated(Tally(alike, [60, 40])).mean({"beer": 1, "wine": 2, "water": 0})
    assert np.isnan(mean.value)
    assert (mean.low, mean.high) == (0, 2)
    assert mean.to_dict()["value"] is None
    assert "not known" in mean.text()
    told = estimated(Tally(alike, [60, 40])).mean({"beer": 2, "wine": 2, "water": 0})
    assert_allclose(told.value, 1.4)
    assert told.methods == ("clopper_pearson",)
    line = Channel([["3/4", "1/4"], ["1/2", "1/2"], ["1/4", "3/4"]], [1, 2, 3], ["no", "yes"])
    mean = estimated(Tally(line, [60, 40])).mean()  # two reports, and a yes is linear in the number
    assert mean.methods == ("clopper_pearson",)
    assert_allclose(mean.value, 1.6)


@pytest.mark.parametrize(
    ("epsilon", "values", "least", "low_part"), [(1, (0, 1, 2), 0.940, 0.11), (4, (0, 1, 10), 0.916, 0.60)]
)
def test_coverage_of_means_of_three_answers_is_what_the_page_has(
    epsilon: float, values: tuple[int, ...], least: float, low_part: float
) -> None:
    # All 5,151 counts of 100 reports, 231 populations
    design, counts, populations = RandomizedResponse(3, epsilon=epsilon), compositions(100, 3), compositions(20, 3) / 20
    ways = np.exp(gammaln(101) - gammaln(counts + 1.0).sum(axis=1, keepdims=True))
    law = ways * np.exp(counts @ np.log(design.q + (design.p - design.q) * populations.T))
    mean, truth = estimated(grouped(design, counts)).mean(values), populations @ values
    inside = (np.reshape(mean.low, (-1, 1)) <= truth + 1e-9) & (truth - 1e-9 <= np.reshape(mean.high, (-1, 1)))
    coverage = (law * inside).sum(axis=0)
    assert round(float(coverage.min()), 3) == least
    assert round(float((coverage < 0.945).mean()), 2) == low_part


# Standard deviations


def test_standard_deviations_of_many_reports() -> None:
    for design in (
        RandomizedResponse(5, odds=(9, 1)),
        SquareWave(range(10, 40), epsilon=2),
        SubsetSelection(6, epsilon=2),
        CutoffResponse([0, 1, 5, 20], epsilon=2),
    ):
        shares = np.arange(1.0, design.k + 1)
        shares /= shares.sum()
        x = values_of(design.domain)
        truth = math.sqrt(shares @ x**2 - (shares @ x) ** 2)
        counts = design.simulate(shares, 400_000, rng=np.random.default_rng(3))
        found = estimated(Tally(design, counts, n=400_000)).standard_deviation()
        # Five standard errors: one false alarm in two million
        assert abs(found.value - truth) <= 5 * found.se
        # With this number of reports the interval has 1.96 standard errors on either side.
        assert_allclose([found.value - found.low, found.high - found.value], 1.96 * found.se, rtol=1e-2)
        assert found.quantity == "standard deviation"
        assert found.approximate


def test_standard_deviations_of_two_values_have_the_coverage_of_the_share() -> None:
    # All counts, 101 shares. Where the share is one half, the derivative of the standard deviation vanishes.
    shares = np.linspace(0, 1, 101)
    truth = 5 * np.sqrt(shares * (1 - shares))
    for epsilon, n in itertools.product((1, 2, 4), (100, 1000)):
        design, yes = RandomizedResponse(["no", "yes"], epsilon=epsilon), np.arange(n + 1)
        found = estimated(grouped(design, np.column_stack([n - yes, yes]))).standard_deviation([-2, 3])
        probability = binom.pmf(yes[:, np.newaxis], n, design.q + (design.p - design.q) * shares)
        inside = (np.reshape(found.low, (-1, 1)) <= truth + 1e-9) & (truth - 1e-9 <= np.reshape(found.high, (-1, 1)))
        assert (probability * inside).sum(axis=0).min() >= 0.95
        assert not found.approximate
        assert found.low[n // 2] < found.high[n // 2] == 2.5
        assert np.isfinite(found.se[n // 2])
        assert found.se[n // 2] > 0


def test_standard_deviations_of_two_values_are_images_of_clopper_pearson_limits() -> None:
    for case in NUMBERS["standard_deviation"]:
        design = RandomizedResponse([0, 1], epsilon=case["epsilon"])
        found = estimated(Tally(design, [case["n"] - case["ones"], case["ones"]])).standard_deviation()
        assert_allclose([found.low, found.high], [case["low"], case["high"]], atol=1e-9)
    # Two values among more answers, and in a complex sample: the interval is the image of that of the share as well.
    rows = {"y": ["a", "b", "c", "b"] * 10, "s": [0, 0, 1, 1] * 10}
    for strata in (None, "s"):
        result = estimated(tally(rows, RandomizedResponse(["a", "b", "c"], odds=(9, 1)), column="y", strata=strata))
        found = result.standard_deviation({"a": 3, "b": 0, "c": 3})
        share = result.interval("b")
        assert found.high == 1.5
        assert_allclose(found.low, 3 * math.sqrt(min(share.low * (1 - share.low), share.high * (1 - share.high))))


def test_standard_deviations_of_three_values_hold_where_all_lie_about_as_far_from_the_mean() -> None:
    # All counts of 100 reports with a probability of 1e-8 or more; coverage was 0.876 and 0.913.
    counts = compositions(100, 3)
    for epsilon, shares, least in ((6, [0.43, 0, 0.57], 0.99), (8, [0.4, 0.02, 0.58], 0.97)):
        design = RandomizedResponse(3, epsilon=epsilon)
        law = multinomial(counts, design.q + (design.p - design.q) * np.array(shares))
        found = estimated(grouped(design, counts[law > 1e-8])).standard_deviation([0, 1, 2])
        truth = math.sqrt(shares[1] + 4 * shares[2] - (shares[1] + 2 * shares[2]) ** 2)
        assert law[law > 1e-8][(found.low <= truth) & (truth <= found.high)].sum() >= least


def test_a_standard_deviation_by_hand() -> None:
    # The truth is told: 0 and 10 equally often, so that the standard deviation is 5 and cannot be more.
    found = estimated(Tally(RandomizedResponse([0, 10], odds=(1, 0)), [50, 50])).standard_deviation()
    assert_allclose([found.value, found.high], [5, 5], rtol=2e-2)


def test_a_standard_deviation_among_these_people_leaves_room_for_those_whose_reports_say_nothing() -> None:
    # Six people tell the truth, 0 or 10; two give reports that say nothing, and may hold anything.
    domain = [0, 4, 10]
    told = Tally(RandomizedResponse(domain, odds=(1, 0)), [4, 0, 2])
    silent = Tally(RandomizedResponse(domain, odds=(1, 1)), [1, 0, 1])
    found = estimated(pool([told, silent])).standard_deviation(target="realised")
    possible = [np.std([0, 0, 0, 0, 10, 10, *others]) for others in itertools.product(domain, repeat=2)]
    assert found.low <= min(possible)
    assert max(possible) <= found.high
    assert found.low <= found.value <= found.high


def test_a_standard_deviation_that_reports_do_not_tell_is_not_known() -> None:
    design = Channel([["1/2", "1/2"], ["1/2", "1/2"], ["1/4", "3/4"]], [0, 1, 2], ["a", "b"])
    found = estimated(Tally(design, [40, 60])).standard_deviation()
    assert math.isnan(found.value)
    assert (found.low, found.high) == (0, 1)
    assert "not known, 0.00 to 1.00" in found.text()


# Quantiles


def test_quantiles_by_hand() -> None:
    case = NUMBERS["quantile_interval"]
    low, high = (np.append(case[name], 1.0) for name in ("low", "high"))
    first, last = quantile_places(low, high, case["chance"])
    assert [case["values"][first], case["values"][last]] == case["interval"]
    assert quantile_places(np.array([0.6, 0.8, 1.0]), np.array([0.9, 1.0, 1.0]), 0.5) == (0, 0)
    # Limits that fall and rise again: the last that falls short counts, not a running maximum.
    assert quantile_places(np.array([0.55, 0.45, 0.6, 1.0]), np.array([0.8, 0.8, 0.9, 1.0]), 0.5) == (0, 2)


def test_quantile_intervals_hold_their_level_in_every_small_survey() -> None:
    # All 455 counts of 12 people with 4 answers at odds 5 : 1, for all 286 populations with shares in tenths
    design = RandomizedResponse(4, odds=(5, 1))
    counts = compositions(12, 4)
    populations = compositions(10, 4) / 10
    laws = np.array([multinomial(counts, shares @ design.channel()) for shares in populations])
    least = 1.0
    result = estimated(
        Tally(design, counts, by=("survey",), groups=tuple((i,) for i in range(len(counts)))), method="inv"
    )
    for tau in (0.25, 0.5, 0.9):
        found = result.quantile(tau)
        truth = np.argmax(populations.cumsum(axis=1) >= tau - 1e-9, axis=1)
        held = (found.low <= truth[:, np.newaxis]) & (truth[:, np.newaxis] <= found.high)
        least = min(least, float((laws * held).sum(axis=1).min()))
    assert least >= 0.95
    assert_allclose(least, NUMBERS["quantile_coverage"]["exact_least_K4_n12_odds_5_1"], atol=1e-9)


def test_quantiles_sort_by_value_and_join_answers_that_stand_for_the_same() -> None:
    design = RandomizedResponse(["often", "never", "once", "rarely"], odds=(30, 1))
    counts = [100, 400, 300, 200]
    values = {"never": 0, "rarely": 1, "once": 1, "often": 5}
    found = estimated(Tally(design, counts)).quantile(0.9, values)
    ordered = RandomizedResponse(["never", "once", "rarely", "often"], odds=(30, 1))
    other = estimated(Tally(ordered, [400, 300, 200, 100])).quantile(0.9, values)
    assert (found.value, found.low, found.high) == (other.value, other.low, other.high) == (1, 1, 5)


def test_a_series_that_names_the_answers_is_read_by_their_names() -> None:
    pandas = pytest.importorskip("pandas")
    answers, numbers = ("never", "once", "often"), {"often": 5, "never": 0, "once": 1}
    assert values_of(answers, pandas.Series(numbers)).tolist() == [0, 1, 5]
    assert values_of(answers, pandas.Series([0, 1, 5])).tolist() == [0, 1, 5]  # that names none, in their order


def test_any_time_quantiles_are_wider_and_exact() -> None:
    result = estimated(some_reports(RandomizedResponse(range(20), odds=(9, 1)), 3000))
    once, ever = result.median(), result.median(anytime=True)
    assert ever.low <= once.low <= once.value <= once.high <= ever.high
    assert ever.methods == ("anytime",)
    assert not ever.approximate


def test_shares_beyond_a_number_are_those_of_sets() -> None:
    result = estimated(some_reports(RandomizedResponse(range(10, 20), odds=(9, 1))))
    for one, other in (
        (result.interval(above=15), result.interval([16, 17, 18, 19])),
        (result.interval(below=12.5), result.interval([10, 11, 12])),
        (result.interval(within=(12, 14)), result.interval([12, 13, 14])),
    ):
        assert (one.low, one.high, one.methods) == (other.low, other.high, other.methods)
    assert result.interval(above=15).text().startswith("share above 15: ")
    assert result.interval(within=(12, 14)).to_dict()["share_of"] == "within 12 to 14"
    assert (result.interval(above=3).low, result.interval(above=3).methods) == (1, ("known",))


def test_a_limit_that_is_an_answer_up_to_rounding_is_that_answer() -> None:
    points = grid(0, 100, "0.1")
    result = estimated(some_reports(RandomizedResponse(points, odds=(9, 1))))
    running = np.cumsum(np.full(1000, 0.1))  # off by up to 1.4e-12
    assert np.abs(running - np.arange(1, 1001) / 10).max() > 1e-12
    for place in (1, 3, 6, 7, 299, 599, 999):
        written = float(points[place])
        for limit in (running[place - 1], np.nextafter(written, 0), np.nextafter(written, 200), 0.1 * place):
            for exactly, rounded in (
                ({"above": written}, {"above": limit}),
                ({"below": written}, {"below": limit}),
                ({"within": (written, 100)}, {"within": (limit, 100)}),
                ({"within": (0, written)}, {"within": (0.0, limit)}),
            ):
                if exactly != {"above": 100.0}:
                    assert result.interval(**rounded).to_dict() == result.interval(**exactly).to_dict()
    assert result.interval(below=0.3).low == result.interval(["0.0", "0.1", "0.2"]).low
    assert result.interval(below=0.3 + 1e-6).low == result.interval(["0.0", "0.1", "0.2", "0.3"]).low
    assert result.interval(above=0.1 * 3).text().startswith("share above 0.3: ")
    # Numbers of more than six digits are written with all of them.
    income = estimated(some_reports(RandomizedResponse(range(1_234_560, 1_234_570), odds=(9, 1))))
    assert income.interval(above=1_234_567).text().startswith("share above 1234567: ")


def test_shares_beyond_a_number_that_answers_stand_for() -> None:
    result = estimated(Tally(RandomizedResponse(["never", "once", "often"], odds=(2, 1)), [400, 350, 250]))
    values = {"never": 0, "once": 1, "often": 5}
    for one, other in (
        (result.interval(above=0, values=values), result.interval(["once", "often"])),
        (result.interval(below=1, values=values), result.interval("never")),
        (result.interval(within=(0.5, 1), values=values), result.interval("once")),
    ):
        assert (one.low, one.high, one.methods) == (other.low, other.high, other.methods)
    with pytest.raises(TypeError, match="values are for above, below and within"):
        result.interval("never", values=values)


def test_cumulative_shares_of_many_answers_have_one_band() -> None:
    design = RandomizedResponse(9, odds=(9, 1))
    result = estimated(some_reports(design, 1000))
    band = result.interval(cumulative=True, simultaneous=True)
    assert band.methods == ("dkw",)
    assert not band.approximate
    # Massart: sqrt(ln(2/0.05) / 2n) / (p - q), wherever it is not cut
    half = math.sqrt(math.log(40) / 2000) / (design.p - design.q)
    unbiased = np.cumsum((np.asarray(result.tally.counts) / 1000 - design.q) / (design.p - design.q))  # type: ignore[union-attr]
    assert_allclose(band.high[:-1], np.clip(unbiased[:-1] + half, 0, 1), atol=1e-12)
    assert_allclose(band.low[:-1], np.clip(unbiased[:-1] - half, 0, 1), atol=1e-12)
    assert band.low[-1] == band.high[-1] == 1
    fewer = estimated(some_reports(RandomizedResponse(8, odds=(9, 1)), 1000)).interval(
        cumulative=True, simultaneous=True
    )
    assert "clopper_pearson" in fewer.methods
    realised = result.interval(cumulative=True, simultaneous=True, target="realised")
    assert "dkw" not in realised.methods


# Differences


def test_differences_of_means_between_groups() -> None:
    design = CutoffResponse(grid(0, 100, 10), odds=(3, 1))
    people = [design.simulate(shares, 150, rng=np.random.default_rng(9)) for shares in (np.eye(11)[8], np.eye(11)[3])]
    tally = Tally(design, people, by=("region",), groups=(("north",), ("south",)))
    found = estimated(tally).compare_means(("north", "south"))
    yes = [int(row[1::2].sum()) for row in people]
    counts = [[number, 150 - number] for number in yes]
    coin = Tally(
        RandomizedResponse(["yes", "no"], odds=(3, 1)), counts, by=("region",), groups=(("north",), ("south",))
    )
    shares = estimated(coin).compare("yes", between=("north", "south"))
    assert_allclose(
        [found.low, found.high, found.difference], [100 * shares.low, 100 * shares.high, 100 * shares.unbiased]
    )
    assert_allclose(found.p_value, shares.p_value)
    assert (found.test, found.approximate) == ("Barnard's exact", False)
    assert (found.low > 0 or found.high < 0) == (found.p_value < 0.05)
    wave = SquareWave(grid(0, 100, 10), odds=(3, 1), width=3)
    rows = [wave.simulate(shares, 1500, rng=np.random.default_rng(9)) for shares in (np.eye(11)[8], np.eye(11)[3])]
    normal = estimated(Tally(wave, rows, by=("region",), groups=(("north",), ("south",)))).compare_means(
        ("south", "north")
    )
    assert normal.test == "normal"
    assert normal.low <= normal.difference <= normal.high < 0
    apart = [estimated(Tally(wave, row)).mean() for row in rows]
    assert_allclose(normal.difference, apart[1].value - apart[0].value)
    assert typeset(normal).notes == ("Normal test of equality in the population.",)
    assert normal.to_dict()["first"] == "south"


# Totals


def test_totals_of_a_known_population_are_as_exact_as_what_they_are_so_many_times() -> None:
    coin = estimated(Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [40, 60]))
    cutoff = estimated(some_reports(CutoffResponse([0, 1, 5, 20], odds=(3, 1))))
    wave = estimated(some_reports(SquareWave(range(18, 50), epsilon=1)))
    for result, values, exact in ((coin, None, True), (cutoff, "numbers", True), (wave, "numbers", False)):
        found = result.totals(1000, values)
        alone: Any = result.interval("yes") if values is None else result.mean(values)
        assert_allclose([found.low[0, 0], found.high[0, 0]], [1000 * alone.low, 1000 * alone.high])
        assert found.methods == alone.methods
        assert found.approximate is alone.approximate is not exact
        assert found.to_dict()["approximate"] is not exact
        assert ("approximate 95 %" in found.text()) is not exact
        assert ("approximate 95 %" in found.to_markdown()) is not exact
        assert found.approximate is not exact
    weighted = estimated(Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [60.0, 90.0], squares=225.0))
    assert weighted.totals(1000).approximate


NOISY, HONEST = RandomizedResponse(["yes", "no"], truth="9/10"), RandomizedResponse(["yes", "no"], odds=(1, 0))


def sum_of_weights(reports: list[str], design: Design, **sample: Any) -> Any:
    """Return the totals of people with a weight of 2, in clusters or strata."""
    columns: Any = {"y": reports, "w": np.full(len(reports), 2.0), **sample}
    names: Any = {name: name for name in sample}
    return estimated(tally(columns, design, column="y", weights="w", **names)).totals()


@pytest.mark.parametrize("clusters", [2, 3, 5])
def test_totals_of_identical_clusters_vary_by_what_clusters_cannot_remove(clusters: int) -> None:
    # 4 of 10 say yes in each: w^2 b/(b - 1) (sum of u^2 - b mean^2) of each cluster, u in {9/8, -1/8} by debiasing.
    found = sum_of_weights((["yes"] * 4 + ["no"] * 6) * clusters, NOISY, clusters=np.repeat(np.arange(clusters), 10))
    assert found.se.tolist() == [[0.0, 0.0]]
    within = clusters * 4 * 10 / 9 * (4 * 0.6**2 + 6 * 0.4**2) / 0.8**2
    assert_allclose(found.high[0] - found.value[0], 1.959964 * math.sqrt(within), rtol=1e-6)
    assert_allclose(found.value[0] - found.low[0], 1.959964 * math.sqrt(within), rtol=1e-6)
    assert found.to_dict()["method"] == "within_clusters"
    assert "respondents within them" in found.text()


def test_totals_of_strata_that_explain_everything_vary_by_the_randomization() -> None:
    strata = np.repeat([0, 1], 20)
    found = sum_of_weights(["yes"] * 20 + ["no"] * 20, NOISY, strata=strata)
    # Each report varies by .9 * .1 / .8^2, whatever the true answer is.
    assert_allclose(found.high[0, 0] - 40, 1.959964 * math.sqrt(4 * 40 * 0.09 / 0.64), rtol=1e-6)
    assert found.to_dict()["method"] == "randomization"
    columns = typeset(found).columns
    assert columns["total"] == ["40.0", "40.0"]
    assert columns["design-based 95 % interval (population)"] == ["30.7 to 49.3", "30.7 to 49.3"]
    # Direct answers: the limits of the share, but in a census there is no error.
    rows = {"y": ["yes"] * 20 + ["no"] * 20, "w": np.full(40, 2.0), "s": strata}
    result = estimated(tally(rows, HONEST, column="y", strata="s", weights="w"))
    share, total = result.interval("yes"), result.totals()
    assert_allclose([total.low[0, 0], total.high[0, 0]], [80 * share.low, 80 * share.high])
    assert total.to_dict()["method"] == "linear"
    census = estimated(tally(rows, HONEST, column="y", strata="s", weights="w", sampled=1.0)).totals()
    assert (census.low[0, 0], census.high[0, 0]) == (40, 40)
    alike = sum_of_weights(["yes"] * 20, HONEST, clusters=np.repeat(np.arange(4), 5))
    assert (alike.low < alike.high).all()


def test_totals_below_none_keep_an_interval() -> None:
    found = sum_of_weights(
        ["yes"] + ["no"] * 39, RandomizedResponse(["yes", "no"], epsilon=1), clusters=np.arange(40) // 4
    )
    assert found.value[0].tolist() == [0, 80]
    assert found.low[0, 0] == 0 < found.high[0, 0]


@pytest.mark.long
@pytest.mark.parametrize("design", [NOISY, HONEST], ids=["noisy", "direct"])
@pytest.mark.parametrize("clusters", [2, 3, 5])
def test_coverage_of_totals_with_few_clusters(design: Design, clusters: int) -> None:
    # Independent answers, 10 of each cluster: coverage was .74 to .97, and up to 26 % had width zero. In 400
    # surveys, .95 less 4 binomial standard errors is .906: one false alarm in 30,000 at a coverage of .95.
    rng, covered = np.random.default_rng(5), 0
    for _ in range(400):
        held = rng.random(10 * clusters) < 0.3
        reports = np.array(design.law.columns)[design.draw(np.where(held, 0, 1), rng.bytes)].tolist()
        found = sum_of_weights(reports, design, clusters=np.repeat(np.arange(clusters), 10))
        covered += found.low[0, 0] <= 6 * clusters <= found.high[0, 0]
        assert found.low[0, 0] < found.high[0, 0]
    assert covered / 400 >= 0.906


def test_totals_outside_their_own_intervals_are_marked() -> None:
    # An estimator that gives all answers the same share, though one of them stands out.
    tally = Tally(RandomizedResponse(4, odds=(9, 1)), [150, 155, 152, 200])
    result = estimated(tally, method=lambda counts, design: np.full(4, 1 / 4))
    outside, found = result.table()["outside"], result.totals(1000)
    assert 0 < outside.sum() < 4
    assert found.marked.tolist() == outside.tolist()
    assert typeset(found).notes[-1] == f"* outside its own interval: {result._estimator.outside}."
    assert [text.endswith("*") for text in typeset(found).columns["total"]] == outside.tolist()


# Words and bad input


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_difference_of_means_lies_in_its_interval_which_agrees_with_the_test(k: int, weighted: bool) -> None:
    rng = np.random.default_rng(k)
    for epsilon, n in itertools.product((0.3, 1.0, 3.0), (4, 12, 40, 150)):
        design = RandomizedResponse(range(k), epsilon=epsilon)
        group = np.arange(n) % 2
        data = {"r": np.where(rng.random(n) < 0.8, group * (k - 1), rng.integers(0, k, n)), "g": group}
        if weighted:
            data["w"] = rng.uniform(0.2, 3, n)
        reports = tally(data, design, column="r", by="g", weights="w" if weighted else None)
        found = estimated(reports).compare_means((1, 0))
        assert -(k - 1) <= found.low <= found.difference <= found.high <= k - 1
        assert (found.low > 0 or found.high < 0) == (found.p_value < 0.05)


def test_differences_of_means_leave_room_for_people_whose_reports_say_nothing() -> None:
    domain, groups = [0, 4, 10], (("a",), ("b",))
    told = Tally(RandomizedResponse(domain, odds=(1, 0)), [[4, 0, 2], [2, 2, 2]], by=("g",), groups=groups)
    silent = Tally(RandomizedResponse(domain, odds=(1, 1)), [[1, 0, 1], [1, 0, 0]], by=("g",), groups=groups)
    result = estimated(pool([told, silent]))
    found, means = result.compare_means(("a", "b"), target="realised"), result.mean(target="realised")
    possible = [
        np.mean([0, 0, 0, 0, 10, 10, first, second]) - np.mean([0, 0, 4, 4, 10, 10, third])
        for first, second, third in itertools.product(domain, repeat=3)
    ]
    # Nothing is left to chance: the ends are those of what is possible.
    assert_allclose([found.low, found.high], [min(possible), max(possible)], atol=1e-6)
    assert_allclose(found.difference, means.value[0] - means.value[1])


def test_one_truth_at_every_door() -> None:
    result = estimated(some_reports(SquareWave(range(18, 50), epsilon=1)))
    for found in (result.mean(), result.median(), result.quantile(0.9), result.standard_deviation()):
        document, table = found.to_dict(), found.table()
        for name in ("value", "low", "high"):
            assert document[name] == table[name][0] == getattr(found, name)
        assert document["approximate"] is found.approximate is True
        assert "approximate 95 % interval (population)" in found.text()
        assert document["method"] == found.method == "linear"
        assert found.to_markdown()
    document = result.to_dict(level=0.9)
    assert document["mean"] == result.mean(level=0.9).to_dict()
    assert document["quantiles"] == [result.median(level=0.9).to_dict()]
    assert document["standard_deviation"] == result.standard_deviation(level=0.9).to_dict()
    for number in result._summaries():
        assert all(text in result.text() for text in number.value_texts()[0])
    plain = estimated(some_reports(RandomizedResponse(range(18, 50), odds=(9, 1))))  # whose numbers may be codes
    assert "mean" not in plain.to_dict()
    grouped = Tally(
        SquareWave(4, odds=(3, 1), width=1), [[1, 2, 3, 4, 5, 6], [0] * 6], by=("g",), groups=(("a",), ("b",))
    )
    mean = estimated(grouped).mean()
    assert typeset(mean).columns["mean"][1] == "no reports"
    asked = estimated(grouped)
    for one in (mean, asked.standard_deviation(), asked.interval(above=0), asked.totals([9, 9], "numbers")):
        assert "any" not in one.to_markdown().split("| b |")[1], one  # what is written of a coefficient
    assert mean.to_dict()["low"][1] is None
    assert typeset(estimated(grouped).median()).columns["median"][1] == "no reports"


@pytest.mark.parametrize(
    ("ask", "error", "complaint"),
    [
        (
            lambda e: e.mean(),
            ValueError,
            "answers must be numbers, but 'never' is not a number; give values, a",
        ),
        (lambda e: e.mean({"never": 0}), ValueError, "'once' has none"),
        (lambda e: e.mean({"never": 0, "once": 1, "often": 2, "daily": 3}), ValueError, "'daily' is no answer"),
        (lambda e: e.mean([0, 1]), ValueError, "values must be 3 numbers, one for each answer, but got 2"),
        (lambda e: e.mean([0, 1, float("nan")]), ValueError, "values must be a finite number"),
        (lambda e: e.mean([0, 1, float("inf")]), ValueError, "values must be a finite number"),
        (lambda e: e.mean("labels"), TypeError, 'values must be a mapping, a sequence or "numbers"'),
        (lambda e: e.mean({0, 1, 2}), TypeError, "values must be a mapping, a sequence"),  # a set has no order
        (lambda e: e.mean([0, 1e308, -1e308]), ValueError, r"must lie between -1e\+300 and 1e\+300"),
        (lambda e: e.median([0, 1, 10**400]), ValueError, r"must lie between -1e\+300 and 1e\+300"),
        (lambda e: e.quantile(0, [0, 1, 2]), ValueError, "between 0 and 1, such as 0.5 for the median, but got 0"),
        (lambda e: e.quantile(1.5, [0, 1, 2]), ValueError, "but got 1.5"),
        (lambda e: e.quantile("half", [0, 1, 2]), ValueError, "but got 'half'"),
        (
            lambda e: e.interval(above=1),
            ValueError,
            "answers must be numbers, but 'never' is not a number; give values",
        ),
        (lambda e: e.interval(above=1, values=[0, 1]), ValueError, "values must be 3 numbers"),
        (lambda e: e.interval("never", above=1), TypeError, "not both"),
        (lambda e: e.compare_means(("a", "b"), [0, 1, 2]), ValueError, "between needs groups"),
        (lambda e: e.mean([0, 1, 2], target="sample"), ValueError, "target must be one of"),
        (lambda e: e.mean([0, 1, 2], level=95), ValueError, "level must be between 0 and 1"),
    ],
)
def test_bad_input_is_refused_in_a_line(ask: Any, error: Any, complaint: str) -> None:
    result = estimated(Tally(RandomizedResponse(["never", "once", "often"], odds=(2, 1)), [400, 350, 250]))
    with pytest.raises(error, match=complaint):
        ask(result)


def test_numbers_that_leave_nobody_are_refused() -> None:
    result = estimated(some_reports(RandomizedResponse(range(10, 20), odds=(9, 1))))
    with pytest.raises(ValueError, match="above must leave some answers, but none lies above 30; they are 10 to 19"):
        result.interval(above=30)
    with pytest.raises(ValueError, match=r"within must be two numbers, such as \(18, 25\), but got 3"):
        result.interval(within=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="below must be a finite number"):
        result.interval(below=float("nan"))
    with pytest.raises(TypeError, match="give one of above, below and within"):
        result.interval(below=12, above=11)


def test_equal_numbers_have_a_mean_that_is_known() -> None:
    result = estimated(some_reports(RandomizedResponse(3, odds=(9, 1))))
    mean = result.mean([2, 2, 2])
    assert (mean.value, mean.low, mean.high, mean.methods) == (2, 2, 2, ("known",))
    assert result.standard_deviation([2, 2, 2]).value == 0
    assert "mean 2.5, 2.5 to 2.5" in result.mean([2.5] * 3).text()


@pytest.mark.parametrize("unit", [1e-200, 1e-14, 1e-3, 1e6, 1e200])
def test_any_unit_tells_the_same(unit: float) -> None:
    result = estimated(Tally(RandomizedResponse(3, odds=(9, 1)), [60, 25, 15]))
    for ask in (result.mean, result.standard_deviation, result.median):
        one, scaled = ask([1, 2, 4]), ask([1 * unit, 2 * unit, 4 * unit])
        assert_allclose([scaled.value, scaled.low, scaled.high], unit * np.array([one.value, one.low, one.high]))
        # What is printed is within a digit of what is meant.
        said = [float(text.replace(",", "")) for text in re.split(", | to ", ", ".join(scaled.value_texts()[0]))]
        assert_allclose(said, [scaled.value, scaled.low, scaled.high], atol=0.05 * unit)


def test_neighbouring_large_numbers_are_told_apart() -> None:
    result = estimated(Tally(RandomizedResponse(3, odds=(9, 1)), [10, 80, 10]))
    assert "median 1,000,000,000,001, 1,000,000,000,001 to" in result.median([10**12 + i for i in range(3)]).text()
    # The error of this standard deviation is not known: a quarter of the interval's length takes its place.
    deviation = estimated(Tally(RandomizedResponse(3, odds=(9, 1)), [90, 5, 5])).standard_deviation()
    assert deviation.value == 0
    ((value, ends),) = deviation.value_texts()
    assert value == "0.00"
    assert re.fullmatch(r"0\.00 to 0\.\d\d", ends)
    assert typeset(deviation).columns["standard deviation"] == ["0.00"]


# Coverage of approximate intervals


@pytest.mark.parametrize(
    ("odds", "n", "values", "least"),
    [
        ((3, 1), 20, (0, 1, 2), 0.919),
        ((3, 1), 40, (0, 1, 2), 0.933),
        ((9, 1), 20, (0, 1, 2), 0.912),
        ((9, 1), 40, (0, 1, 10), 0.918),
        ((99, 1), 20, (0, 1, 10), 0.696),
    ],
)
def test_linear_means_of_few_people_hold_as_rarely_as_the_page_says(
    odds: tuple[int, int], n: int, values: tuple[int, ...], least: float
) -> None:
    # All counts of n people with three answers, for all 231 populations with shares in twentieths
    design, counts = RandomizedResponse(3, odds=odds), compositions(n, 3)
    mean = estimated(grouped(design, counts), method="inv").mean(values)
    held = []
    for shares in compositions(20, 3) / 20:
        truth = shares @ np.array(values)
        inside = (mean.low <= truth + 1e-9) & (truth <= mean.high + 1e-9)
        held.append(float(multinomial(counts, shares @ design.channel())[inside].sum()))
    assert min(held) == pytest.approx(least, abs=1e-3)
    row = f"| {odds[0]} : {odds[1]} | {n} | {', '.join(map(str, values))} | {100 * least:.0f} % |"
    assert row in (Path(__file__).parents[2] / "docs" / "how-to" / "numeric-answers.md").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize(
    ("design", "n", "least"),
    [
        (RandomizedResponse(11, epsilon=1), 100, 0.95),
        (SquareWave(11, epsilon=1), 100, 0.95),
        (SquareWave(50, epsilon=2, quantity="mean"), 1000, 0.95),
        (SubsetSelection(50, epsilon=1), 1000, 0.95),
        (CutoffResponse(50, epsilon=1), 300, 0.95),
    ],
    ids=str,
)
def test_linear_means_hold_about_their_level(design: Design, n: int, least: float) -> None:
    times = 2000
    x = np.arange(design.k) / (design.k - 1)
    shares = np.where(x == 0, 0.35 * design.k, np.exp(-4 * x))
    shares = shares / shares.sum()
    truth = float(shares @ np.arange(design.k))
    counts = design.simulate(shares, n, rng=np.random.default_rng(11), size=times)
    tally = Tally(design, counts, n=np.full(times, n), by=("survey",), groups=tuple((i,) for i in range(times)))
    mean = estimated(tally).mean()
    held = float(((mean.low <= truth) & (truth <= mean.high)).mean())
    # Four binomial standard errors below the level: one false alarm in thirty thousand, if the level holds
    assert held >= least - 4 * math.sqrt(0.95 * 0.05 / times)


def test_a_standard_deviation_is_about_a_mean_within_the_numbers() -> None:
    # Unbiased shares 0.15, -0.4 and 1.25 have the mean 2.1, which is above 2. About 2 the mean square is 0.6 - 0.4.
    found = estimated(Tally(RandomizedResponse([0, 1, 2], odds=(3, 1)), [26, 4, 70])).standard_deviation()
    assert_allclose(found.value, math.sqrt(0.2))
