"""Confidence sequences: exactly, by going through all orders in which reports can arrive."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from cases import HALF, KUK
from tables import grouped
from warner import Channel, Product, RandomizedResponse, SubsetSelection, Tally, UnaryEncoding, estimate, pool
from warner.designs import MECHANISMS
from warner.inference.anytime import anytime_limits, anytime_share_limits
from warner.inference.binomial import Binomial, binomial_limits
from warner.inference.intervals import Confidence, limits

UNFIT = pytest.mark.filterwarnings("ignore:the reports do not seem to fit:UserWarning")
FOUND = estimate(Tally(HALF, [400, 350, 250]))
DICE = Channel([["4/6", "1/6", "1/6"], ["1/6", "4/6", "1/6"], ["1/12", "1/4", "2/3"]], 3, 3)
EVERY = [design for mechanism in MECHANISMS.values() for design in mechanism.examples() if design.epsilon > 0]


def chance_of_ever_missing(f: float, holds: Any, looks: range) -> float:
    """Add up, over all orders of reports, the probability that a look is among them at which `holds` does not.

    By a recursion over the number of reports: the probability of x reports of the answer, and no miss until then.
    """
    alive = np.array([1.0])
    for n in range(1, looks[-1] + 1):
        alive = np.append(alive * (1 - f), 0.0) + np.append(0.0, alive * f)
        if n in looks:
            alive *= holds(np.arange(n + 1.0), n)
    return 1 - float(alive.sum())


# The limits of a probability


def reference(x: int, n: int, alpha: float) -> tuple[Any, Any]:
    """Bisect the definition, ln B(x + 1/2, n - x + 1/2) - ln B(1/2, 1/2) - x ln f - (n-x) ln(1-f) = -ln alpha."""
    constant = mpmath.loggamma(x + mpmath.mpf("0.5")) + mpmath.loggamma(n - x + mpmath.mpf("0.5"))
    constant += -mpmath.loggamma(n + 1) - mpmath.log(mpmath.pi) + mpmath.log(alpha)

    def inside(f: Any) -> bool:
        likelihood = (x * mpmath.log(f) if x else 0) + ((n - x) * mpmath.log1p(-f) if x < n else 0)
        return bool(constant < likelihood)

    def end(far: Any) -> Any:
        near = mpmath.mpf(x) / n
        for _ in range(120):  # to 1e-36; the smallest distance from x/n is about 1e-16
            middle = (near + far) / 2
            near, far = (middle, far) if inside(middle) else (near, middle)
        return near

    low = mpmath.mpf(0) if x == 0 else end(mpmath.mpf(0))
    return low, mpmath.mpf(1) if x == n else end(mpmath.mpf(1))


def few_and_many(n: int) -> list[int]:
    return sorted({x for x in (0, 1, 2, n // 1000, n // 7, n // 2, n - n // 10, n - 1, n) if 0 <= x <= n})


@pytest.mark.parametrize("n", [1, 2, 10, 59, 1000, 10**6, 10**9, 2**53])
@pytest.mark.parametrize("alpha", [0.9, 0.05, 5e-5, 1e-12])
def test_the_limits_solve_the_definition_in_many_digits(n: int, alpha: float) -> None:
    cases = few_and_many(n)
    low, high = anytime_limits(np.array(cases, dtype=float), n, alpha)
    with mpmath.workdps(50):
        for place, x in enumerate(cases):
            least, most = reference(x, n, alpha)
            for told, true in ((low[place], least), (high[place], most)):
                # to nine digits of the distance from x/n, or to the last digits of a double
                slack = mpmath.mpf(10) ** -9 * abs(true - mpmath.mpf(x) / n) + 4 * np.spacing(told)
                assert abs(told - true) <= slack


def test_limits_by_hand() -> None:
    # x = 0: M = B(1/2, n + 1/2) / pi / (1-f)^n. For n = 1 that is 1 / (2 (1-f)), which is 20 at f = 1 - 1/40.
    low, high = anytime_limits(np.array([0.0, 1.0]), 1, 0.05)
    assert_allclose(low, [0, 1 / 40], rtol=1e-12)
    assert_allclose(high, [39 / 40, 1], rtol=1e-12)
    # n = 2, x = 1: B(3/2, 3/2) / pi = 1/8, so 8 f (1-f) = alpha.
    low, high = anytime_limits(1, 2, 0.05)
    root = math.sqrt(1 / 4 - 0.05 / 8)
    assert_allclose([low, high], [0.5 - root, 0.5 + root], rtol=1e-13)


@given(st.integers(1, 5000), st.floats(0, 1), st.floats(1e-9, 0.999))
def test_limits_hold_the_observed_share_rise_with_it_and_mirror(n: int, part: float, alpha: float) -> None:
    x = np.array([part * n, min(part * n + 1, n)])
    low, high = anytime_limits(x, n, alpha)
    assert (low <= x / n * (1 + 1e-12)).all()
    assert (high >= x / n * (1 - 1e-12)).all()
    assert low[0] <= low[1] + 1e-14
    assert high[0] <= high[1] + 1e-14
    mirrored = anytime_limits(n - x, n, alpha)
    assert_allclose((1 - mirrored[1], 1 - mirrored[0]), (low, high), atol=1e-12)


def test_what_looking_at_any_time_costs() -> None:
    # docs/explanation/intervals.md: 1.6 to 2 times the width of the interval for one look, for 100 to 10,000 reports.
    n = np.array([100.0, 1000, 10000])
    for share in (0.1, 0.3, 0.5):
        wide, narrow = (
            np.subtract(*ends[::-1]) for ends in (anytime_limits(share * n, n, 0.05), one_look(share * n, n))
        )
        assert_allclose(wide / narrow, [1.57, 1.82, 2.0], atol=0.025)


def one_look(x: Any, n: Any) -> tuple[Any, Any]:
    return binomial_limits(x, n, 0.025)


# Whether they ever miss, exactly


@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("f", [0.001, 0.05, 0.3, 0.5, 0.77, 0.99])
def test_the_truth_ever_leaves_the_limits_with_probability_alpha_at_most(f: float, alpha: float) -> None:
    def holds(x: Any, n: int) -> Any:
        low, high = anytime_limits(x, n, alpha)
        return (low <= f) & (f <= high)

    chance = chance_of_ever_missing(f, holds, range(1, 301))
    assert chance <= alpha
    if 0.05 <= f <= 0.95:
        assert chance > alpha / 20  # and is not out of all proportion to it


@pytest.mark.parametrize("odds", [(2, 1), (9, 1), (1, 4), (1, 0)])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.4, 1.0])
def test_a_share_ever_leaves_its_interval_with_probability_alpha_at_most(odds: tuple[int, int], share: float) -> None:
    symmetry = RandomizedResponse(3, odds=odds).symmetry
    base, gain = symmetry.base, symmetry.gain

    def holds(x: Any, n: int) -> Any:
        low, high = anytime_share_limits(Binomial(x, n, base, gain), 0.2)
        assert (low < high).all()  # never empty, never a point
        return (low <= share) & (share <= high)

    assert chance_of_ever_missing(base + gain * share, holds, range(1, 101)) <= 0.2


@pytest.mark.parametrize("design", [KUK, DICE], ids=["kuk", "dice"])
def test_shares_that_show_in_no_count_ever_leave_their_intervals_with_probability_alpha_at_most(
    design: Channel,
) -> None:
    # All histograms of three kinds of reports, by a recursion as above; a look at each number of reports.
    truth = np.arange(1.0, design.k + 1) / np.arange(1.0, design.k + 1).sum()
    law = truth @ design.channel()
    alpha, most = 0.3, 30
    alive: list[dict[tuple[int, ...], float]] = [{(0, 0, 0): 1.0} for _ in truth]
    for n in range(1, most + 1):
        histograms = [(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]
        ends = limits(grouped(design, histograms), Confidence(1 - alpha, anytime=True))
        held = (ends.low <= truth) & (truth <= ends.high)
        for answer, before in enumerate(alive):
            after: dict[tuple[int, ...], float] = {}
            for place, histogram in enumerate(histograms):
                if held[place, answer]:
                    steps = [tuple(c - (kind == i) for i, c in enumerate(histogram)) for kind in range(3)]
                    after[histogram] = sum(before.get(s, 0.0) * law[kind] for kind, s in enumerate(steps))
            alive[answer] = after
    for after in alive:
        assert 1 - sum(after.values()) <= alpha


def test_reports_with_the_least_score_count_as_what_noise_explains() -> None:
    # With scores between l and h a report is (score - l)/(h - l) of a yes, and where no respondent has the answer, the
    # mean score is 0: ten reports are then -10 l/(h - l) of a yes, which is less than one.
    design = Channel([["94/100", "2/100", "4/100"], ["1/100", "96/100", "3/100"], ["3/100", "4/100", "93/100"]], 3, 3)
    scores = np.linalg.inv(design.channel())  # a row for each report
    for answer in range(3):
        least, highest = scores[:, answer].min(), scores[:, answer].max()
        histogram = 10 * (np.arange(3) == scores[:, answer].argmin())
        ends = limits(grouped(design, [tuple(histogram)]), Confidence(0.95, anytime=True))
        by_noise = -10 * least / (highest - least)
        assert 0 < by_noise < 1
        most = anytime_limits(np.array(by_noise), 10, 0.05)[1]
        assert ends.low[0, answer] == 0
        assert ends.high[0, answer] == pytest.approx(least + (highest - least) * most)


def test_intervals_for_one_look_miss_in_a_third_of_surveys_that_are_watched() -> None:
    # The same recursion for Clopper and Pearson's interval, looked at every 10 reports from 20 to 2,000.
    looks = range(20, 2001, 10)

    def holds(limits: Any) -> Any:
        def at(x: Any, n: int) -> Any:
            low, high = limits(x, n)
            return (low <= 0.3) & (high >= 0.3)

        return at

    fixed = chance_of_ever_missing(0.3, holds(one_look), looks)
    anytime = chance_of_ever_missing(0.3, holds(lambda x, n: anytime_limits(x, n, 0.05)), looks)
    assert 0.35 < fixed < 0.37
    assert anytime < 0.015


def test_whoever_looks_at_every_report_misses_as_rarely_as_promised() -> None:
    # 400 surveys of 2,000 reports, a look at each, by the public function. If an interval ever misses with probability
    # 1/5, more than 111 of 400 surveys do with probability below 1e-4; those for one look miss in nearly all of them.
    rng = np.random.default_rng(14)
    share, surveys, n = 0.4, 400, 2000
    reports = rng.random((surveys, n)) < 0.25 + 0.25 * share
    often = np.cumsum(reports, axis=1)
    rest = np.arange(1, n + 1) - often
    counts = np.stack([often, rest // 2, rest - rest // 2], axis=-1)
    bound = binom.isf(1e-4, surveys, 0.2)
    assert bound == 111
    missed = {}
    for anytime in (True, False):
        looked = range(n) if anytime else range(19, n, 10)
        missed[anytime] = 0
        for survey in range(surveys if anytime else 100):
            groups = tuple((look,) for look in looked)
            tally = Tally(HALF, counts[survey, list(looked)], by=("look",), groups=groups)
            ends = limits(tally, Confidence(0.8, anytime=anytime), sets=[[0]])
            missed[anytime] += bool(((ends.low > share) | (ends.high < share)).any())
    assert missed[True] <= bound
    assert missed[False] > 70


# Through an estimate


def test_the_interval_of_an_estimate_is_that_of_its_reports() -> None:
    # 350 of 1,000 reports say "once", each with probability 1/4 + share/4
    low, high = anytime_limits(350, 1000, 0.05)
    found = FOUND.interval("once", anytime=True)
    assert_allclose([found.low, found.high], [4 * low - 1, 4 * high - 1], rtol=1e-12)
    assert found.text() == "18.6 to 62.5 %, 95 % any-time interval (population), anytime"
    assert found.methods == ("anytime",)
    assert not found.approximate
    written = found.to_dict()
    assert (written["method"], written["anytime"], written["approximate"]) == ("anytime", True, False)
    assert FOUND.interval("once").to_dict()["anytime"] is False


def test_every_door_has_the_same_ends() -> None:
    every = FOUND.interval(anytime=True)
    table = FOUND.table(anytime=True)
    assert_array_equal(every.low, table["low"])
    assert_array_equal(every.high, table["high"])
    assert_array_equal(table["se"], FOUND.table()["se"])
    written = json.loads(FOUND.to_json(anytime=True))
    assert written["anytime"] is True
    assert written["interval"] == "anytime"
    assert [row["low"] for row in written["values"]] == every.low.tolist()
    assert FOUND.to_frame("pyarrow", anytime=True)["high"].to_pylist() == every.high.tolist()
    assert "however often you look" in FOUND.text(anytime=True)
    assert "however often" not in FOUND.text()


def test_all_answers_at_once_share_the_probability_of_a_miss() -> None:
    every = FOUND.interval(anytime=True, simultaneous=True)
    low, high = anytime_share_limits(Binomial(np.array([400.0, 350, 250]), 1000, 0.25, 0.25), 0.05 / 3)
    assert_allclose([every.low, every.high], [low, high], rtol=1e-9)


def test_sets_groups_and_all_answers_together() -> None:
    rows = [[400, 350, 250], [0, 0, 0], [30, 50, 20]]
    grouped = estimate(Tally(HALF, rows, by=("region",), groups=(("north",), ("south",), (None,))))
    every = grouped.interval(anytime=True)
    assert np.isnan(every.low[1]).all()
    assert_array_equal(every.low[0], FOUND.interval(anytime=True).low)
    both, rest = grouped.interval(["once", "often"], anytime=True), grouped.interval("never", anytime=True)
    assert_allclose(both.low, 1 - rest.high, atol=1e-12)
    everybody = grouped.interval(["never", "once", "often"], anytime=True)
    assert_array_equal(everybody.low, [1, np.nan, 1])
    assert grouped.interval(cumulative=True, anytime=True).high.shape == (3, 3)


@UNFIT
def test_many_answers_take_the_same_limits() -> None:
    # more answers than are evaluated one by one
    counts = np.random.default_rng(2).integers(0, 40, 5000)
    design = RandomizedResponse(5000, epsilon=5)
    found = estimate(Tally(design, counts), method="inv").interval(anytime=True)
    rate = design.symmetry.base, design.symmetry.gain
    low, high = anytime_share_limits(Binomial(counts.astype(float), int(counts.sum()), *rate), 0.05)
    assert_allclose([found.low, found.high], [low, high], rtol=1e-12)


@pytest.mark.parametrize("design", EVERY, ids=lambda design: design.summary())
def test_every_design_has_intervals_that_hold_its_unbiased_shares(design: Any) -> None:
    shares = np.arange(1.0, design.k + 1) / np.arange(1.0, design.k + 1).sum()
    counts = design.simulate(shares, 500, rng=np.random.default_rng(5))
    tally = Tally(design, counts, n=500)
    sets = [None, *([list(range(size))] for size in range(1, design.k))]
    for chosen in sets:
        ends = limits(tally, Confidence(anytime=True), sets=chosen)
        assert (ends.low < ends.high).all()
        assert ends.methods == ("anytime",)
        readout = tally.readout(None, chosen)
        unbiased = np.clip(readout.share(), 0, 1)
        told = np.isfinite(np.zeros(1) if readout.error is None else readout.error) | readout.exact
        assert ((ends.low <= unbiased + 1e-9) & (unbiased - 1e-9 <= ends.high) | ~told).all()
        assert ((ends.low == 0) & (ends.high == 1) | told).all()


def test_sets_of_answers_where_reports_are_sets_may_not_miss_either() -> None:
    # The share of a set is an average of scores; far more surveys than alpha allows would be seen to miss.
    rng = np.random.default_rng(6)
    truth = np.array([0.4, 0.3, 0.2, 0.06, 0.04])
    for design in (SubsetSelection(5, odds=(5, 1), size=2), UnaryEncoding(5, epsilon=2)):
        counts = design.simulate(truth, 300, rng=rng, size=500)
        tally = grouped(design, counts, 300)
        ends = limits(tally, Confidence(0.5, anytime=True), sets=[[0, 1]])
        assert ((ends.low > 0.7) | (ends.high < 0.7)).mean() < 0.5


def test_several_questions_at_once_have_intervals_too() -> None:
    both = Product([RandomizedResponse(2, odds=(3, 1)), RandomizedResponse(2, odds=(2, 1))])
    found = estimate(Tally(both, [400, 250, 200, 150]), method="inv")
    every, fixed = found.interval(anytime=True), found.interval()
    assert (every.low <= fixed.low).all()
    assert (every.high >= fixed.high).all()
    # Its scores are products of the scores of two questions: from -1/2 to 3/2, and from -1 to 2.
    assert_allclose(limits_by_scores(found.shares[0], 1000, -1.5, 3), (every.low[0], every.high[0]), atol=1e-9)


def limits_by_scores(share: float, n: int, least: float, most: float) -> Any:
    low, high = anytime_limits(n * (share - least) / (most - least), n, 0.05)
    return np.clip(least + (most - least) * low, 0, 1), np.clip(least + (most - least) * high, 0, 1)


# Errors


@pytest.mark.parametrize("method", ["clopper_pearson", "wilson"])
def test_another_method_is_refused(method: str) -> None:
    with pytest.raises(ValueError, match=f"method must be left out for any-time intervals, but got '{method}'"):
        FOUND.interval(anytime=True, method=method)


def test_the_realised_share_is_refused() -> None:
    for ask in (FOUND.interval, FOUND.table, FOUND.text, FOUND.to_json):
        with pytest.raises(ValueError, match='target must be "population" for any-time intervals'):
            ask(anytime=True, target="realised")


def test_weights_and_pools_are_refused() -> None:
    weighted = estimate(Tally(HALF, [40.5, 35.0, 24.5], squares=120.0))
    with pytest.raises(ValueError, match="anytime needs whole reports, but these have weights"):
        weighted.interval("once", anytime=True)
    other = Tally(RandomizedResponse(HALF.domain, odds=(5, 1)), [40, 35, 25])
    with pytest.raises(ValueError, match="anytime needs reports of one design, but this is a pool of 2"):
        estimate(pool([Tally(HALF, [400, 350, 250]), other])).table(anytime=True)


def test_all_arguments_of_limits_can_be_arrays() -> None:
    x, n = np.meshgrid(np.arange(4.0), [3.0, 7.0])
    low, high = anytime_limits(x, n, 0.05)
    for i, j in itertools.product(range(2), range(4)):
        assert_allclose(anytime_limits(x[i, j], n[i, j], 0.05), (low[i, j], high[i, j]), rtol=1e-14)
