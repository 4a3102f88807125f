"""Shares read off the reports of any design, and of several designs together."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

import warner
from warner import Channel, RandomizedResponse, Tally, check, estimate, plan, simulate, surveys
from warner.estimators.likelihood import channel_mle
from warner.estimators.separable import separable_mle
from warner.inference import comparisons as findings
from warner.inference.binomial import Rates, Reading, rates, share_interval
from warner.inference.intervals import views
from warner.reports.pooling import pool

if TYPE_CHECKING:
    from numpy.typing import NDArray

YES = ["yes", "no"]
FORCED = Channel([["11/12", "1/12"], ["1/6", "5/6"]], YES, YES)
CROSSWISE = Channel([["1/4", "3/4"], ["3/4", "1/4"]], YES, ["same", "differ"])
KUK = Channel([["1/25", "8/25", "16/25"], ["49/100", "42/100", "9/100"]], YES, 3)
DICE = Channel([["4/6", "1/6", "1/6"], ["1/6", "4/6", "1/6"], ["1/12", "1/4", "2/3"]], ["a", "b", "c"], ["a", "b", "c"])


def some_surveys(design: Any, truth: list[float], n: int, times: int, seed: int = 3) -> Tally:
    counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(seed), size=times)
    return Tally(design, counts, by=("survey",), groups=tuple((i,) for i in range(times)))


def test_a_response_as_a_channel_has_the_intervals_of_the_response() -> None:
    design = RandomizedResponse(4, odds=(5, 1))
    channel = Channel(np.where(np.eye(4, dtype=bool), "5/8", "1/8").tolist(), 4, 4)
    counts = [210, 130, 100, 60]
    for target in ("population", "realised"):
        plain, general = (estimate(Tally(one, counts)).table(target=target) for one in (design, channel))
        for name in ("share", "low", "high", "se"):
            assert_allclose(general[name], plain[name], rtol=1e-9, atol=1e-12)
    assert_allclose(
        estimate(Tally(channel, counts)).interval([0, 2]).low, estimate(Tally(design, counts)).interval([0, 2]).low
    )
    assert_allclose(
        estimate(Tally(channel, counts)).interval(cumulative=True).high,
        estimate(Tally(design, counts)).interval(cumulative=True).high,
    )


def test_two_reports_are_one_binomial_count() -> None:
    # 400 of 1,000 say yes: (0.4 - 1/6) / (3/4), and the exact interval of 0.4 carried over
    table = estimate(Tally(FORCED, [400, 600])).table()
    low, high = share_interval(np.array([[400]]), 1000.0, Rates(1 / 6, 3 / 4), 0.025)
    assert_allclose([table["share"][0], table["low"][0], table["high"][0]], [14 / 45, low[0, 0], high[0, 0]])
    assert_allclose(table["se"], np.sqrt(0.4 * 0.6 / 1000) / 0.75)
    assert "reports" in table
    crossed = estimate(Tally(CROSSWISE, [198, 112]))
    assert "reports" not in crossed.table()  # nobody reports an answer
    assert_allclose(crossed.shares[0], (198 / 310 - 0.75) / -0.5)
    assert crossed.interval("yes").method == "clopper_pearson"


def test_answers_that_name_themselves_under_forced_response_are_binomial() -> None:
    forced = Channel([["3/4", "1/8", "1/8"], ["1/4", "5/8", "1/8"], ["1/4", "1/8", "5/8"]], 3, 3)  # truth 1/2
    for i, view in enumerate(views(forced, [[0], [1], [2]])):
        assert_array_equal(view.reports, np.eye(3, dtype=bool)[i])
        assert view.rate is not None
        assert_allclose(view.rate, ([1 / 4, 1 / 8, 1 / 8][i], 1 / 2))
    (pair,) = views(forced, [[1, 2]])
    assert_array_equal(pair.reports, [False, True, True])
    assert_allclose(pair.rate or (0, 0), (1 / 4, 1 / 2))


@pytest.mark.parametrize(("design", "truth"), [(KUK, [0.3, 0.7]), (DICE, [0.5, 0.3, 0.2])])
@pytest.mark.parametrize("target", ["population", "realised"])
def test_linear_intervals_cover(design: Channel, truth: list[float], target: str) -> None:
    times, n = 1000, 1000
    if target == "population":
        reports = some_surveys(design, truth, n, times)
    else:
        rng, people = np.random.default_rng(4), (np.array(truth) * n).astype(int)
        drawn = sum(rng.multinomial(m, row, size=times) for m, row in zip(people, design.channel(), strict=True))
        reports = Tally(design, drawn, by=("s",), groups=tuple((i,) for i in range(times)))
    ends = findings.interval(reports, None, Reading(target=target))
    assert ends.method == "linear"
    assert ends.approximate
    for i, share in enumerate(truth):
        covered = ((ends.low[:, i] <= share) & (share <= ends.high[:, i])).mean()
        assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)  # a point for the normal law
    compared = findings.compare(reports, design.domain[0], design.domain[1], Reading(target=target))
    covered = ((compared.low <= truth[0] - truth[1]) & (truth[0] - truth[1] <= compared.high)).mean()
    assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)


@pytest.mark.parametrize("design", [FORCED, CROSSWISE])
@pytest.mark.parametrize("share", [0, 0.1, 0.5, 1])
def test_binary_designs_cover_at_least_at_their_level(design: Channel, share: float) -> None:
    n, matrix = 200, design.channel()
    counts = np.arange(n + 1)
    groups = tuple((int(c),) for c in counts)
    table = estimate(Tally(design, np.stack([counts, n - counts], axis=1), by=("c",), groups=groups)).table()
    inside = (table["low"][::2] <= share) & (share <= table["high"][::2])
    assert binom.pmf(counts[inside], n, share * matrix[0, 0] + (1 - share) * matrix[1, 0]).sum() >= 0.95 - 1e-12


def test_what_reports_do_not_tell_may_be_anything() -> None:
    finer = RandomizedResponse(["drinks", "does not"], odds=(3, 1)).coarsened(
        {"drinks": ["beer", "wine"], "does not": ["water"]}
    )
    found = estimate(Tally(finer, [40, 60]))
    assert found.certificate is not None
    assert not found.certificate.unique
    table = found.table()
    assert_array_equal(table["low"][:2], [0, 0])
    assert_array_equal(table["high"][:2], [1, 1])
    assert np.isinf(table["se"][:2]).all()
    together = found.interval(["beer", "wine"])
    plain = estimate(Tally(RandomizedResponse(["drinks", "does not"], odds=(3, 1)), [40, 60])).interval("drinks")
    assert_allclose([together.low, together.high], [plain.low, plain.high])
    with pytest.raises(ValueError, match="they cannot be known"):
        found.compare("beer", "wine")


def test_presence_under_a_channel() -> None:
    def present(reports: Tally) -> Any:
        return findings.present(reports, alpha=0.05, correction="holm", power=0.8)

    found = present(some_surveys(FORCED, [0, 1], 300, 2000))
    false = found.found[:, 0].mean()
    assert false <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 2000)  # Holm: after "no", which is there, alpha is for "yes" alone
    power = present(some_surveys(FORCED, [float(found.smallest[0]), 1 - float(found.smallest[0])], 300, 2000))
    assert power.found[:, 0].mean() >= 0.8 - 4 * np.sqrt(0.16 / 2000)
    kuk = present(some_surveys(KUK, [0, 1], 1000, 2000))
    assert kuk.found[:, 0].mean() <= 0.05 + 0.005 + 4 * np.sqrt(0.05 * 0.95 / 2000)  # half a point for the normal law


def test_groups_are_compared_under_a_binary_channel() -> None:
    found = estimate(Tally(FORCED, [[400, 600], [300, 700]], by=("g",), groups=(("a",), ("b",))))
    compared = found.compare("yes", between=("a", "b"))
    assert compared.difference == pytest.approx(0.1 / 0.75)
    three = estimate(Tally(KUK, [[30, 40, 30]] * 2, by=("g",), groups=(("a",), ("b",))))
    with pytest.raises(ValueError, match="one binomial count"):
        three.compare("yes", between=("a", "b"))


def test_a_channel_is_checked_by_what_it_makes_possible() -> None:
    assert check(Tally(FORCED, [400, 600])).fits
    wrong = check(Tally(FORCED, [50, 950]))  # even if nobody had the trait, a sixth would say yes
    assert not wrong.fits
    assert wrong.p_value == pytest.approx(4 * binom.cdf(50, 1000, 1 / 6))
    assert "'yes'" in wrong.text()
    assert json.loads(wrong.to_json())["groups"][0]["misfits"] == ["yes", "no"]
    with pytest.warns(UserWarning, match="do not seem to fit the design: an answer was reported fewer or more times"):
        estimate(Tally(FORCED, [50, 950]))
    over = check(Tally(KUK, [10, 40, 950]))
    assert not over.fits
    with pytest.raises(TypeError, match="check each collection on its own"):
        check(pool([Tally(FORCED, [4, 6]), Tally(RandomizedResponse(YES, odds=(3, 1)), [4, 6])]))


def test_a_binary_channel_is_planned_for() -> None:
    made = plan(FORCED, half_width=0.03)
    again = plan(FORCED, people=made.people)
    assert again.half_width <= 0.03 < plan(FORCED, people=made.people - 1).half_width
    # z^2 / 4 / (h^2 gain^2) = 1.96^2 / 4 / (0.0009 * 0.5625) = 1897, a little more for the exact interval
    assert 1897 <= made.people <= 1897 * 1.05
    assert "Another protocol" not in made.text()
    assert plan(FORCED, people=500, population=[0.2, 0.8]).errors["inv"] == pytest.approx(
        np.sqrt((1 / 6 + 0.15) * (5 / 6 - 0.15) / 500) / 0.75
    )
    kuk = plan(KUK, half_width=0.03)
    share = kuk.share
    weights, mixed = views(KUK, [[0]])[0].weights, share * KUK.channel()[0] + (1 - share) * KUK.channel()[1]
    variance = mixed @ weights**2 - (mixed @ weights) ** 2
    assert kuk.people == int(np.ceil(1.959963984540054**2 * variance / 0.03**2))
    assert plan(KUK, people=1000, share=0.3).standard_error == pytest.approx(
        estimate(Tally(KUK, (1000 * (0.3 * KUK.channel()[0] + 0.7 * KUK.channel()[1])).round().astype(int))).table()[
            "se"
        ][0],
        rel=0.01,
    )
    with pytest.raises(ValueError, match="binomial count for its first answer"):
        plan(DICE, half_width=0.03)
    with pytest.raises(ValueError, match="RandomizedResponse only"):
        plan(FORCED, half_width=0.03, delta=1e-6)


# Pooled collections

STRENGTHS = st.lists(st.sampled_from([(2, 1), (5, 1), (40, 1), (1, 3), (1, 20)]), min_size=1, max_size=4)


@given(STRENGTHS, st.integers(2, 8), st.integers(0, 10**6))
def test_pooled_responses_have_their_certificate(odds: list[tuple[int, int]], k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tallies = [Tally(RandomizedResponse(k, odds=one), rng.poisson(6, k) + 1) for one in odds]
    together = pool(tallies)
    found = estimate(together)
    assert found.certificate is not None
    assert found.certificate.excess <= 1e-12
    if len(set(odds)) > 1:
        dense = channel_mle(together.counts, Channel(together.design.channel(), k, len(together.design.outputs)))
        assert_allclose(found.shares, dense.shares, atol=1e-6)


@given(st.integers(2, 30), st.sampled_from([(2, 1), (30, 1), (5, 4)]), st.integers(0, 10**6))
def test_one_response_alone_is_the_closed_form(k: int, odds: tuple[int, int], seed: int) -> None:
    design = RandomizedResponse(k, odds=odds)
    counts = np.random.default_rng(seed).poisson(5, k)
    if counts.sum():
        found = separable_mle(counts[np.newaxis].astype(float), np.array([odds[0] / odds[1] - 1]))
        assert_allclose(found, warner.mle(counts, design), atol=1e-12)


def test_two_collections_that_agree_give_what_both_say() -> None:
    first = Tally(RandomizedResponse(YES, odds=(3, 1)), [40, 60], missing=2)  # (0.40 - 0.25) / 0.5
    second = Tally(RandomizedResponse(YES, odds=(9, 1)), [34, 66])  # (0.34 - 0.10) / 0.8
    together = pool([first, second])
    found = estimate(together)
    assert_allclose(found.shares, [0.3, 0.7])
    assert found.tally.missing == 2
    alone = [estimate(one).interval("yes") for one in (first, second)]
    both = found.interval("yes")
    assert both.high - both.low < min(one.high - one.low for one in alone)
    assert_allclose(found.table()["se"], 1 / np.sqrt(sum(1 / estimate(t).table()["se"] ** 2 for t in (first, second))))
    assert_allclose(estimate(together, method="inv").shares, [0.3, 0.7])


def test_tallies_of_one_design_add_up() -> None:
    design = RandomizedResponse(YES, odds=(3, 1))
    together = pool([Tally(design, [40, 60]), Tally(design, [1, 2])])
    assert together.design is design
    assert_array_equal(together.counts, [41, 62])


def test_channels_pool_with_responses() -> None:
    rng, truth = np.random.default_rng(2), [0.2, 0.8]
    made: list[Any] = [FORCED, CROSSWISE, RandomizedResponse(YES, odds=(4, 1))]
    tallies = [Tally(one, simulate.reports_of_population(truth, 4000, one, rng=rng)) for one in made]
    found = estimate(pool(tallies))
    assert found.certificate is not None
    assert found.certificate.excess <= 1e-9
    assert abs(found.shares[0] - 0.2) < 0.05
    assert found.interval("yes").low < 0.2 < found.interval("yes").high


POOLS = [
    ([(3, 1), (9, 1)], [600, 300], [0.3, 0.7]),
    ([(4, 1), (20, 1), (2, 1)], [1000, 300, 2000], [0.5, 0.3, 0.15, 0.05, 0]),
    ([(5, 1), (1, 5)], [800, 800], [0.6, 0.4, 0]),
]


@pytest.mark.parametrize(("odds", "sizes", "truth"), POOLS)
def test_pooled_intervals_cover(odds: list[tuple[int, int]], sizes: list[int], truth: list[float]) -> None:
    times, rng = 400, np.random.default_rng(5)
    made = [RandomizedResponse(len(truth), odds=one) for one in odds]
    pairs = zip(made, sizes, strict=True)
    drawn = [simulate.reports_of_population(truth, n, one, rng=rng, size=times) for one, n in pairs]
    low, high, differences = [], [], []
    for rows in zip(*drawn, strict=True):
        together = pool([Tally(one, row) for one, row in zip(made, rows, strict=True)])
        ends = findings.interval(together, None, Reading())
        low.append(ends.low)
        high.append(ends.high)
        differences.append(findings.compare(together, 0, 1, Reading()))
    covered = ((np.array(low) <= truth) & (truth <= np.array(high))).mean(axis=0)
    allowed = 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)  # a point for the normal law
    for share, part in zip(truth, covered, strict=True):
        assert part >= 0.95 - allowed
        assert share in (0, 1) or part <= 0.95 + allowed
    apart = np.mean([one.low <= truth[0] - truth[1] <= one.high for one in differences])
    assert abs(apart - 0.95) <= allowed


def test_few_pooled_reports_have_intervals_by_their_exact_parts() -> None:
    made = [RandomizedResponse(200, epsilon=4), RandomizedResponse(200, epsilon=6)]
    counts = np.zeros((2, 200), dtype=int)
    counts[0, :4], counts[1, :3] = [9, 1, 1, 1], [20, 2, 1]
    found = estimate(pool([Tally(one, row) for one, row in zip(made, counts, strict=True)])).interval()
    ends = [
        share_interval(row[np.newaxis], float(row.sum()), rates(one), 0.0125)
        for one, row in zip(made, counts, strict=True)
    ]
    assert_allclose(found.low, np.maximum(ends[0][0], ends[1][0])[0])
    assert_allclose(found.high, np.minimum(ends[0][1], ends[1][1])[0])


def test_a_pooled_tally_is_saved_and_shown(tmp_path: Any) -> None:
    together = pool([Tally(FORCED, [4, 6]), Tally(RandomizedResponse(YES, odds=(3, 1)), [4, 6])])
    together.save(tmp_path / "pool.json")
    again = Tally.load(tmp_path / "pool.json")
    assert again.design == together.design
    assert_array_equal(again.counts, together.counts)
    assert "Design 2" in together.design.in_words()
    assert "2 parts among 2 answers" in repr(together.design)
    with pytest.raises(TypeError, match="randomizes nobody"):
        together.design.randomize("yes")
    with pytest.raises(TypeError, match="part by part"):
        simulate.reports_of_population([0.5, 0.5], 9, together.design, rng=np.random.default_rng(1))


@pytest.mark.parametrize(
    ("tallies", "complaint"),
    [
        ([], "at least one Tally"),
        ([Tally(FORCED, [1, 2]), Tally(RandomizedResponse(2, odds=(3, 1)), [1, 2])], "about the same answers"),
        ([Tally(FORCED, [[1, 2]], by=("g",), groups=((1,),))], "without groups"),
        ([Tally(FORCED, [1.0, 2.0], squares=3.0)], "without weights"),
        ([pool([Tally(FORCED, [1, 2]), Tally(CROSSWISE, [1, 2])])] * 2, "must not be pooled already"),
    ],
)
def test_what_cannot_be_pooled(tallies: list[Tally], complaint: str) -> None:
    with pytest.raises((ValueError, TypeError), match=complaint):
        pool(tallies)


def test_a_design_that_never_lies_is_pooled() -> None:
    # 3 of 10 by direct question, 12 of 30 with truth 3/4, which is (0.4 - 0.25) / 0.5: both say 0.3
    plain = Tally(RandomizedResponse(YES, odds=(1, 0)), [3, 7])
    found = estimate(pool([plain, Tally(RandomizedResponse(YES, odds=(3, 1)), [12, 18])]))
    assert_allclose(found.shares, [0.3, 0.7], rtol=1e-9)
    assert found.interval("yes").low < 0.3 < found.interval("yes").high


@given(STRENGTHS.filter(lambda odds: len(set(odds)) > 1), st.integers(2, 5), st.integers(0, 10**6))
def test_answers_that_were_reported_in_no_part_are_pooled(odds: list[tuple[int, int]], k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tallies = [Tally(RandomizedResponse(k, odds=one), rng.poisson(0.8, k)) for one in sorted(set(odds))]
    together = pool(tallies)
    if together.counts.sum():
        proof = estimate(together).certificate
        assert proof is not None
        assert proof.excess <= 1e-9


def test_pooled_answers_that_nobody_holds_are_rarely_found() -> None:
    k, n, times, rng = 100, 100, 300, np.random.default_rng(6)
    made, truth = [RandomizedResponse(k, epsilon=epsilon) for epsilon in (1, 2)], np.zeros(k)
    truth[:3] = 1 / 3
    drawn = [simulate.reports_of_population(truth, n, one, rng=rng, size=times) for one in made]
    false = [
        findings.present(
            pool([Tally(one, row) for one, row in zip(made, rows, strict=True)]),
            alpha=0.05,
            correction="holm",
            power=0.8,
        )
        .found[3:]
        .any()
        for rows in zip(*drawn, strict=True)
    ]
    assert np.mean(false) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / times)


def test_pooled_simultaneous_intervals_hold_all_at_once() -> None:
    k, n, times, rng = 100, 1000, 200, np.random.default_rng(7)
    made, truth = [RandomizedResponse(k, epsilon=epsilon) for epsilon in (1, 2)], np.zeros(k)
    truth[:3] = 1 / 3
    drawn = [simulate.reports_of_population(truth, n, one, rng=rng, size=times) for one in made]
    covered = []
    for rows in zip(*drawn, strict=True):
        together = pool([Tally(one, row) for one, row in zip(made, rows, strict=True)])
        ends = findings.interval(together, None, Reading(simultaneous=True))
        covered.append(((ends.low <= truth) & (truth <= ends.high)).all())
    assert np.mean(covered) >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / times)


def test_pools_with_parts_that_rule_something_out() -> None:
    mangat, triangular = surveys.mangat("7/10"), surveys.triangular("1/4")
    first = estimate(pool([Tally(mangat, [315, 485]), Tally(surveys.warner("7/10"), [40, 60])]))
    assert np.isfinite(first.present().p_values).all()
    assert np.isfinite(first.table()["se"]).all()
    second = estimate(pool([Tally(triangular, [100, 0]), Tally(surveys.crosswise("1/4"), [60, 40])]))
    assert second.table()["se"].min() > 0
    for found in (first, second):
        assert (found.table()["low"] <= found.table()["high"]).all()
        assert json.loads(found.to_json())["values"]


def test_everything_together_is_known_in_a_pool() -> None:
    found = estimate(pool([Tally(RandomizedResponse(YES, odds=(o, 1)), [40, 60]) for o in (3, 9)]))
    whole = found.interval(["yes", "no"])
    assert (whole.low, whole.high) == (1, 1)
    assert found.interval(cumulative=True).low[-1] == 1


def test_a_pool_with_a_linear_part() -> None:
    rng, truth = np.random.default_rng(9), [0.3, 0.7]
    parts: list[Any] = [KUK, RandomizedResponse(YES, odds=(3, 1))]
    low, high = [], []
    for _ in range(300):
        drawn = [Tally(one, simulate.reports_of_population(truth, 500, one, rng=rng)) for one in parts]
        ends = findings.interval(pool(drawn), "yes", Reading())
        low.append(ends.low)
        high.append(ends.high)
    assert ends.method == "linear"
    covered = ((np.array(low) <= 0.3) & (np.array(high) >= 0.3)).mean()
    assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / 300)
    found = estimate(pool(drawn))
    assert "approximate 95 % interval" in repr(found)
    assert np.isfinite(found.compare("yes", "no").p_value)


def test_parts_that_tell_nothing_change_nothing() -> None:
    telling = Tally(RandomizedResponse(YES, odds=(3, 1)), [4, 6])
    alone = estimate(pool([telling, Tally(RandomizedResponse(YES, odds=(9, 1)), [3, 7])]))
    more = [Tally(RandomizedResponse(YES, odds=(1, 1)), [5, 5]), Tally(RandomizedResponse(YES, odds=(1, 0)), [0, 0])]
    found = estimate(pool([telling, Tally(RandomizedResponse(YES, odds=(9, 1)), [3, 7]), *more]))
    assert_allclose(found.shares, alone.shares, atol=1e-12)
    assert_allclose(found.table()["low"], alone.table()["low"])
    assert_allclose(found.compare("yes", "no").low, alone.compare("yes", "no").low)
    with pytest.raises(ValueError, match="must carry information"):
        estimate(pool([more[0], more[1]]))
    with pytest.raises(TypeError, match='not be "auto" for pooled'):
        estimate(pool([telling, more[0]]), method="auto")


# The same under a channel as under the response that it is


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
        assert channel.difference == pytest.approx(response.compare("yes", "no").difference)


def test_linear_intervals_are_never_empty_and_count_half_a_report() -> None:
    weights = views(KUK, [[0]])[0].weights
    counts = np.array([400, 0, 0])
    found = estimate(Tally(KUK, counts)).interval("yes")
    observed = (counts + 0.5) / 401.5
    half = 1.959963984540054 * np.sqrt((observed @ weights**2 - (observed @ weights) ** 2) / 400)
    share = weights[0]
    assert share < 0
    assert_allclose(np.array([found.low, found.high], dtype=float), np.array([0, float(half)]))
    found = estimate(Tally(KUK, counts[::-1])).interval("yes")
    assert found.high == 1
    assert found.low < 1


def test_the_fakes_bound_holds_for_channels_with_more_reports_than_answers() -> None:
    found = check(Tally(KUK, [300, 400, 300]))
    moved = max(
        abs(warner.inv(np.add([300, 400, 300], change), KUK) - warner.inv([300, 400, 300], KUK)).max()
        for change in ([1, -1, 0], [1, 0, -1], [0, 1, -1], [-1, 1, 0], [-1, 0, 1], [0, -1, 1])
    )
    assert moved <= found.moved_by(1) * (1 + 1e-9)
    assert moved == pytest.approx(found.moved_by(1))
    grouped = check(Tally(FORCED, [[40, 60], [30, 70]], by=("g",), groups=((1,), (2,)))).text()
    assert "nan" not in grouped
    assert "inf" not in grouped


def test_auto_for_groups_of_a_channel_with_other_reports() -> None:
    found = estimate(Tally(KUK, [[30, 40, 30], [1, 20, 79]], by=("g",), groups=((1,), (2,))), method="auto")
    assert found.shares.shape == (2, 2)
    assert_allclose(found.shares.sum(axis=-1), 1)


def test_pooled_limits_grow_with_the_level() -> None:
    found = estimate(pool([Tally(RandomizedResponse(YES, odds=(o, 1)), [40, 60]) for o in (3, 4)]))
    ends: list[NDArray[np.float64]] = [found.interval(level=level).low for level in (0.5, 0.9, 0.99)]
    for narrow, wide in pairwise(ends):
        assert (wide <= narrow).all()
    with pytest.raises(ValueError, match="target must be population"):
        found.interval(target="realised")


def test_collections_that_contradict_each_other_leave_everything_between_them_open() -> None:
    made = [RandomizedResponse(YES, odds=(99, 1)), RandomizedResponse(YES, odds=(199, 1))]
    tallies = [Tally(one, counts) for one, counts in zip(made, ([0, 20], [20, 0]), strict=True)]
    found = findings.interval(pool(tallies), "yes", Reading())
    ends = [
        share_interval(tally.counts[np.newaxis, :1], 20.0, rates(one), 0.0125)
        for one, tally in zip(made, tallies, strict=True)
    ]
    assert ends[0][1][0, 0] < ends[1][0][0, 0]  # they have nothing in common
    assert_allclose(np.array([found.low, found.high]), np.array([ends[0][0][0, 0], ends[1][1][0, 0]]))


def test_pooled_counts_below_the_noise_leave_room() -> None:
    made = [RandomizedResponse(YES, odds=(3, 1)), RandomizedResponse(YES, odds=(9, 1))]
    found = findings.interval(pool([Tally(one, [5, 995]) for one in made]), None, Reading())
    exact = findings.interval(
        pool([Tally(one, [n, 1000 - n]) for one, n in zip(made, (250, 100), strict=True)]), None, Reading()
    )
    assert_allclose(found.high[0], exact.high[0], rtol=1e-9)  # as if there were as many as noise alone gives
    assert_allclose(found.low[1], exact.low[1], rtol=1e-9)


def test_a_ratio_comes_from_both_intervals_each_at_half_the_tail() -> None:
    found = estimate(Tally(DICE, [400, 350, 250]))
    one, two = (found.interval(label, level=0.975) for label in ("a", "b"))
    compared = found.compare("a", "b")
    assert compared.ratio_low == pytest.approx(one.low / two.high)
    assert compared.ratio_high == pytest.approx(one.high / two.low)


def test_the_smallest_share_of_a_linear_design() -> None:
    found = estimate(Tally(KUK, [300, 380, 320])).present()
    errors = estimate(Tally(KUK, [300, 380, 320])).table()["se"]
    assert found.smallest == pytest.approx((1.959963984540054 + 0.8416212335729143) * errors.max(), rel=1e-3)


def test_the_design_of_a_pool_in_words_and_json() -> None:
    together = pool([Tally(FORCED, [4, 6]), Tally(CROSSWISE, [4, 6])])
    assert together.design.shown_epsilon() == FORCED.shown_epsilon()
    assert together.design.epsilon == max(FORCED.epsilon, CROSSWISE.epsilon)
    text = json.loads(together.design.to_json())
    text["parts"][1]["inputs"] = ["no", "yes"]
    with pytest.raises(ValueError, match="designs with the same answers"):
        warner.designs.design_from_json(json.dumps(text))


def test_the_smallest_share_of_a_pool_is_that_above_the_noise_of_all() -> None:
    made = [RandomizedResponse(YES, odds=(3, 1)), RandomizedResponse(YES, odds=(9, 1))]  # q = 1/4 and 1/10
    found = findings.present(pool([Tally(one, [500, 500]) for one in made]), alpha=0.05, correction="holm", power=0.8)
    precision = 1000 * 0.5**2 / (0.25 * 0.75) + 1000 * 0.8**2 / (0.1 * 0.9)
    assert found.smallest == pytest.approx((1.959963984540054 + 0.8416212335729143) / np.sqrt(precision))
