"""What can be said with confidence: through `Estimate`, as users ask for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binom

import warner
from warner import RandomizedResponse, Tally, estimate, simulate
from warner.inference.binomial import clopper_pearson

SURVEY = RandomizedResponse(["never", "once", "often"], odds=(2, 1))  # p = 1/2, q = 1/4
FOUND = estimate(Tally(SURVEY, [400, 350, 250]))
REGIONS = (("north",), ("south",), (None,))
GROUPED = estimate(Tally(SURVEY, [[400, 350, 250], [0, 0, 0], [30, 50, 20]], by=("region",), groups=REGIONS))


def test_the_interval_of_one_answer_is_that_of_the_table() -> None:
    one, table = FOUND.interval("once", level=0.9), FOUND.table(level=0.9)
    assert (one.low, one.high) == (table["low"][1], table["high"][1])
    every = FOUND.interval(level=0.9)
    assert_array_equal(every.low, table["low"])
    assert_array_equal(every.high, table["high"])


def test_the_interval_of_a_set_by_an_independent_formula() -> None:
    # 600 of 1,000 reports are in the set; a report lands there with probability 2/4 + share/4
    found = FOUND.interval(["once", "often"])
    ends = beta.ppf([0.025, 0.975], [600, 601], [401, 400])
    assert_allclose([found.low, found.high], (ends - 0.5) * 4, rtol=1e-9)


@given(st.lists(st.integers(0, 300), min_size=3, max_size=6), st.integers(1, 5), st.sampled_from([(4, 1), (1, 4)]))
def test_the_interval_of_a_set_mirrors_that_of_the_others(counts: list[int], size: int, odds: tuple[int, int]) -> None:
    if not sum(counts) or size >= len(counts):
        return
    found = estimate(Tally(RandomizedResponse(len(counts), odds=odds), counts))
    for target in ("population", "realised"):
        inside = found.interval(range(size), target=target)
        outside = found.interval(range(size, len(counts)), target=target)
        assert_allclose([inside.low, inside.high], [1 - outside.high, 1 - outside.low], atol=1e-9)


def test_cumulative_intervals_are_those_of_the_first_answers() -> None:
    found = FOUND.interval(cumulative=True)
    for last in (1, 2):
        part = FOUND.interval(SURVEY.domain[:last])
        assert_allclose([found.low[last - 1], found.high[last - 1]], [part.low, part.high], rtol=1e-12)
    assert (found.low[-1], found.high[-1]) == (1, 1)
    everyone = FOUND.interval(list(SURVEY.domain))
    assert (everyone.low, everyone.high) == (1, 1)


def test_simultaneous_intervals_are_those_of_a_higher_level() -> None:
    at_once = FOUND.interval(simultaneous=True, level=0.9)
    apart = FOUND.interval(level=1 - 0.1 / 3)
    assert_allclose([at_once.low, at_once.high], [apart.low, apart.high], rtol=1e-9)
    table = FOUND.table(0.9, simultaneous=True)
    assert_array_equal(table["low"], at_once.low)


def test_what_an_interval_says_of_itself() -> None:
    assert repr(FOUND.interval("once")).endswith("95 % interval (population), clopper_pearson>")
    realised = FOUND.interval("once", target="realised")
    assert realised.method == "score"
    mixed = estimate(Tally(SURVEY, [[400, 350, 250], [3, 2, 1]], by=("g",), groups=((1,), (2,)))).interval(
        target="realised"
    )
    assert mixed.method == "score or clopper_pearson"
    assert mixed.approximate
    assert (
        FOUND.interval(target="realised", simultaneous=True, level=0.99).method == "clopper_pearson"
    )  # far in the tails
    assert realised.approximate
    assert "approximate 95 % interval (realised), score" in repr(realised)
    assert not FOUND.interval("once").approximate
    assert FOUND.interval("once", method="wilson").approximate
    assert "<3 of 90 % simultaneous interval (population)" in repr(FOUND.interval(level=0.9, simultaneous=True))
    few = estimate(Tally(SURVEY, [3, 2, 1])).interval(target="realised")
    assert few.method == "clopper_pearson"


def test_groups_have_intervals_each_and_an_empty_one_has_none() -> None:
    found = GROUPED.interval()
    assert found.low.shape == (3, 3)
    assert_allclose(found.low[0], FOUND.interval().low)
    assert np.isnan(found.low[1]).all()
    one = GROUPED.interval("once")
    assert one.low.shape == (3,)
    assert np.isnan(one.high[1])


def test_weights_make_everything_approximate_and_count_as_effective() -> None:
    # Each of 1,000 reports weighs 2, with squares 8,000: 2,000^2 / 8,000 = 500 effective reports
    found = estimate(Tally(SURVEY, [800.0, 700.0, 500.0], squares=8000.0))
    half = estimate(Tally(SURVEY, [200, 175, 125]))
    assert found.interval("once").approximate
    assert found.interval("once").low == pytest.approx(half.interval("once").low)
    assert found.compare("never", "once").p_value == pytest.approx(half.compare("never", "once").p_value)
    assert "approximate, because of weights" in found.top(1).text()
    assert "approximate, because of weights" in found.present().text()
    assert "intervals are approximate: weights count as 500.0 reports" in found.text()
    assert found.to_dict()["approximate"]


def test_without_noise_shares_are_sample_shares() -> None:
    found = estimate(Tally(RandomizedResponse(["a", "b", "c"], odds=(1, 0)), [10, 20, 70]))
    one = found.interval("a")
    assert_allclose([one.low, one.high], beta.ppf([0.025, 0.975], [10, 11], [91, 90]), rtol=1e-9)
    assert_allclose(found.interval(cumulative=True).low[1], beta.ppf(0.025, 30, 71), rtol=1e-9)
    assert found.top(1).to_dict()["certain"] == ["c"]


def test_hardly_any_expected_reports_leave_everything_open() -> None:
    # 19 reports among 1,000 answers at epsilon 0.1: p N is 0.02, so that even one is more than a share of 1 explains.
    design = RandomizedResponse(1000, epsilon=0.1)
    found = estimate(Tally(design, [5] + [1] * 14 + [0] * 985))
    table = found.table()
    assert (table["low"] < 0.01).all()
    assert (table["high"] > 0.99).all()
    rest = found.interval(range(1, 1000))
    assert rest.low < 0.01
    assert rest.high > 0.99


def test_names_cannot_play_tricks_with_a_terminal() -> None:
    design = RandomizedResponse(["a\x1b[31m", "b"], odds=(9, 1))
    found = estimate(Tally(design, [[90, 10]] * 2, by=("g",), groups=(("x\x1b",), ("y",))))
    for text in (found.top(1).text(), found.present().text(), found.compare("b", "a\x1b[31m").text(), found.text()):
        assert "\x1b" not in text


# Comparisons


def test_two_answers_compared() -> None:
    found = FOUND.compare("never", "often")
    assert found.difference == pytest.approx(0.6)
    assert found.low < 0.6 < found.high
    assert "+60.00 points" in found.text()
    back = FOUND.compare("often", "never")
    assert_allclose([back.difference, back.low, back.high], [-found.difference, -found.high, -found.low])
    assert back.p_value == pytest.approx(found.p_value)
    assert found.to_dict()["ratio_high"] is None  # nobody may say "often"
    narrower = FOUND.compare("never", "often", target="realised")
    assert narrower.high - narrower.low < found.high - found.low


def test_two_answers_compared_in_each_group() -> None:
    found = GROUPED.compare("never", "once")
    assert found.difference.shape == (3,)
    assert found.difference[0] == pytest.approx(FOUND.compare("never", "once").difference)
    lines = found.text().splitlines()
    assert lines[2] == "south: no reports"
    assert lines[3].startswith("None: -80.00 points")
    assert found.to_dict()["low"][1] is None


def test_one_answer_compared_between_groups() -> None:
    found = GROUPED.compare("once", between=("north", None))
    assert found.difference == pytest.approx((0.35 - 0.25) * 4 - (0.5 - 0.25) * 4)
    assert "'once' in north against 'once' in None" in found.text()
    assert found.p_value < 0.01
    assert found.approximate
    rare = estimate(Tally(SURVEY, [[5, 30, 65], [2, 40, 58]], by=("g",), groups=((1,), (2,))))
    assert not rare.compare("never", between=(1, 2)).approximate  # few reports: by exact intervals
    two = Tally(SURVEY, [[5, 30, 65], [2, 40, 58]], by=("g", "h"), groups=(("a", 1), ("b", 2)))
    by_name = estimate(two).compare("once", between=("a / 1", "b / 2"))
    assert by_name.difference == estimate(two).compare("once", between=(("a", 1), ("b", 2))).difference


def test_a_difference_between_groups_by_hand() -> None:
    # Newcombe: each side joins the distances to Wilson's limits of 300/1000 and 70/400, here by statsmodels' formula
    found = estimate(Tally(SURVEY, [[300, 350, 350], [70, 200, 130]], by=("g",), groups=((1,), (2,))))
    compared = found.compare("never", between=(1, 2))
    z2 = 1.959963984540054**2
    limits = [
        ((c + z2 / 2) / (n + z2) + side * np.sqrt(z2 * (c * (n - c) / n + z2 / 4)) / (n + z2))
        for c, n in ((300, 1000), (70, 400))
        for side in (-1, 1)
    ]
    low = 0.3 - 0.175 - np.hypot(0.3 - limits[0], limits[3] - 0.175)
    high = 0.3 - 0.175 + np.hypot(limits[1] - 0.3, 0.175 - limits[2])
    assert_allclose([compared.low, compared.high], [4 * low, 4 * high], rtol=1e-9)
    # The same people under the design turned round, where 1 - c/n and -gain stand for c/n and gain, K = 2
    upright, turned = RandomizedResponse(2, odds=(4, 1)), RandomizedResponse(2, odds=(1, 4))
    rows = np.array([[60, 40], [30, 70]])
    first = estimate(Tally(upright, rows, by=("g",), groups=((1,), (2,)))).compare(0, between=(1, 2))
    second = estimate(Tally(turned, rows[:, ::-1], by=("g",), groups=((1,), (2,)))).compare(0, between=(1, 2))
    assert_allclose([first.low, first.high], [second.low, second.high])


@pytest.mark.parametrize("odds", [(6, 1), (1, 6)])
def test_equal_shares_are_called_different_as_rarely_as_the_level_says(odds: tuple[int, int]) -> None:
    design, surveys = RandomizedResponse(4, odds=odds), 1500
    counts = simulate.reports_of_population([0.3, 0.3, 0.4, 0], 600, design, rng=np.random.default_rng(4), size=surveys)
    groups = tuple((i,) for i in range(surveys))
    found = estimate(Tally(design, counts, by=("survey",), groups=groups)).compare(0, 1)
    assert (found.p_value <= 0.05).mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / surveys)
    assert found.p_value.min() < 0.02  # it can speak


# Ranks


def test_certain_ranks() -> None:
    found = FOUND.top(2)
    assert found.certain.tolist() == [True, True, False]
    assert found.to_dict()["certain"] == ["never", "once"]
    first = FOUND.top(1)
    assert first.certain.tolist() == [False, False, False]
    assert first.possible.tolist() == [True, True, False]
    assert first.text().splitlines()[1:] == ["  none can be named", "  1 of: never, once"]


def test_certain_ranks_are_right_at_their_level() -> None:
    design, surveys, truth = RandomizedResponse(12, epsilon=3), 1000, simulate.zipf(12, 1)
    counts = simulate.reports_of_population(truth, 4000, design, rng=np.random.default_rng(6), size=surveys)
    found = estimate(Tally(design, counts, by=("s",), groups=tuple((i,) for i in range(surveys)))).top(3, level=0.8)
    wrong = (found.certain[:, 3:].any(axis=-1) | ~found.possible[:, :3].all(axis=-1)).mean()
    assert wrong <= 0.2 + 4 * np.sqrt(0.2 * 0.8 / surveys)
    assert found.certain[:, 0].mean() > 0.9  # it can speak


def test_ranks_hold_for_all_answers_at_once() -> None:
    found = FOUND.top(2, level=0.9)
    at_once = FOUND.interval(level=0.9, simultaneous=True)
    assert found.reading.simultaneous
    others = [(at_once.high[np.arange(3) != i] >= at_once.low[i]).sum() for i in range(3)]
    assert_array_equal(found.certain, np.array(others) < 2)
    # Here one at a time would name the leader, all at once does not.
    close = estimate(Tally(SURVEY, [3955, 3745, 2300]))
    apart, together = close.interval(), close.interval(simultaneous=True)
    assert apart.low[0] > apart.high[1]
    assert together.low[0] <= together.high[1]
    assert not close.top(1).certain.any()


def test_names_come_with_the_commonest_first() -> None:
    assert "  once, never\n" in estimate(Tally(SURVEY, [350, 400, 250])).present().text()
    turned = estimate(Tally(RandomizedResponse(["a", "b", "c"], odds=(1, 4)), [300, 200, 500]))
    assert "  b, a\n" in turned.present().text()  # what is held by most is reported least


def test_an_empty_group_says_so_in_every_finding() -> None:
    for found in (GROUPED.top(1), GROUPED.present()):
        assert "south: no reports" in found.text()
        assert "north: " in found.text()


# Presence


def test_presence_by_hand() -> None:
    found = FOUND.present()
    assert found.found.tolist() == [True, True, False]
    assert_allclose(found.p_values, binom.sf(np.array([399, 349, 249]), 1000, 0.25), rtol=1e-9)
    # About (z(1 - .05/3) + z(.8)) sqrt(.25 * .75 / 1000) * 4, but exactly
    assert found.smallest == pytest.approx((2.128045 + 0.841621) * np.sqrt(0.1875 / 1000) * 4, rel=0.03)
    assert f"a share of {100 * found.smallest:.2f} % would be found with a probability of 80 %" in found.text()
    assert found.to_dict()["found"] == ["never", "once"]
    assert "not proven" in FOUND.present(correction="bh").text()


def test_presence_where_nothing_can_be_found() -> None:
    found = estimate(Tally(RandomizedResponse(50, epsilon=0.5), [1] * 50)).present()
    assert not found.found.any()
    assert "none rises above the noise" in found.text()
    assert "not even a share of 100 % would be found" in found.text()


def test_many_answers_take_one_evaluation_for_each_distinct_count() -> None:
    design = RandomizedResponse(6000, epsilon=5)
    counts = np.random.default_rng(3).poisson(4, 6000)
    counts[7] = 500
    found = estimate(Tally(design, counts))
    cumulative = found.interval(cumulative=True)
    some = found.interval(range(5000))
    assert_allclose([cumulative.low[4999], cumulative.high[4999]], [some.low, some.high], rtol=1e-9)
    assert_array_equal(found.interval().low, clopper_pearson(counts, float(counts.sum()), design, 0.95)[0])
    assert_allclose(found.present().p_values, binom.sf(counts - 1, counts.sum(), design.q), rtol=1e-9)
    assert found.top(1).certain[7]


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (
            lambda: FOUND.interval("sometimes"),
            r"must be in the domain \('never', 'once', 'often'\), but got 'sometimes'",
        ),
        (lambda: FOUND.interval(["once", "once"]), "answers must be different answers, at least one"),
        (lambda: FOUND.interval([]), "answers must be different answers, at least one"),
        (lambda: FOUND.interval("once", level=1.5), "level must be between 0 and 1"),
        (lambda: FOUND.interval("once", target="world"), "target must be one of population, realised, but got 'world'"),
        (lambda: FOUND.interval("once", cumulative=True), "answers or cumulative=True"),
        (lambda: FOUND.interval(["once"], simultaneous=True), "simultaneous intervals are for every answer"),
        (lambda: FOUND.compare("once", "once"), "two different answers must be compared, but got 'once' twice"),
        (lambda: FOUND.compare("once"), "a second answer, or between="),
        (lambda: FOUND.compare("once", between=("north", "south")), "between needs groups"),
        (lambda: GROUPED.compare("once", between=("north", "west")), "no group west; there are north, south, None"),
        (lambda: GROUPED.compare("once", between=("north", "north")), "two different groups"),
        (lambda: GROUPED.compare("once", between=("north", "south")), "both groups must have reports, but south"),
        (lambda: FOUND.top(3), "k must be a whole number from 1 to 2, below the number of answers, but got 3"),
        (lambda: FOUND.top(0), "k must be a whole number from 1 to 2"),
        (lambda: FOUND.present(alpha=5), "alpha must be between 0 and 1"),
        (lambda: FOUND.present(power=1), "power must be between 0 and 1"),
        (lambda: FOUND.interval(level="x"), "level must be between 0 and 1"),  # type: ignore[arg-type]
        (lambda: FOUND.interval(1.5), "an answer must be in the domain"),
        (lambda: FOUND.present(correction="none"), 'correction must be "holm" or "bh"'),
    ],
)
def test_bad_input(call: Any, complaint: str) -> None:
    with pytest.raises((ValueError, TypeError), match=complaint):
        call()


def test_a_design_without_information_has_no_interval() -> None:
    with pytest.raises(ValueError, match="p != q"):
        estimate(Tally(RandomizedResponse(2, odds=(1, 1)), [4, 5]))
    assert warner.estimate(Tally(SURVEY, [1, 0, 0])).interval("never").high == 1
