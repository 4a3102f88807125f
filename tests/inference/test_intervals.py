"""Confidence intervals of answers and of sets of answers, under any design; normal and Wilson limits (`normal`)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binom, multinomial

import warner
from cases import FORCED, HALF, KUK, LOADED
from tables import clopper_pearson, grouped, whole
from warner import Channel, RandomizedResponse, SubsetSelection, Tally, UnaryEncoding, estimate, pool, simulate
from warner.designs import MECHANISMS
from warner.designs.facts import CumulativeSets, full_symmetry
from warner.designs.product import Product
from warner.inference.binomial import Binomial, share_interval
from warner.inference.intervals import Confidence, interval, limits

UNFIT = pytest.mark.filterwarnings("ignore:the reports do not seem to fit:UserWarning")  # counts that no design gives

YES = ["yes", "no"]
CROSSWISE = Channel([["1/4", "3/4"], ["3/4", "1/4"]], YES, ["same", "differ"])
SETS = SubsetSelection(["a", "b", "c", "d", "e"], odds=(5, 1), size=2)
EVERY = [design for mechanism in MECHANISMS.values() for design in mechanism.examples()]
SYMMETRIC = [design for design in EVERY if full_symmetry(design.law) is not None and design.epsilon > 0]
FOUND = estimate(Tally(HALF, [400, 350, 250]))
REGIONS = (("north",), ("south",), (None,))
GROUPED = estimate(Tally(HALF, [[400, 350, 250], [0, 0, 0], [30, 50, 20]], by=("region",), groups=REGIONS))

every_design = pytest.mark.parametrize("design", EVERY, ids=lambda design: design.summary())
every_target = pytest.mark.parametrize("target", ["population", "realised"])


def some_surveys(design: Any, truth: Any, n: int, times: int, seed: int = 3, target: str = "population") -> Tally:
    rng = np.random.default_rng(seed)
    if target == "population":
        counts = simulate.reports_of_population(truth, n, design, rng=rng, size=times)
    else:
        people = np.rint(np.array(truth) * n).astype(int)
        counts = simulate.reports_of_people(people, design, rng=rng, size=times)
    return grouped(design, counts, n)


# Through an estimate


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


@UNFIT
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
        part = FOUND.interval(HALF.domain[:last])
        assert_allclose([found.low[last - 1], found.high[last - 1]], [part.low, part.high], rtol=1e-12)
    assert (found.low[-1], found.high[-1]) == (1, 1)
    everyone = FOUND.interval(list(HALF.domain))
    assert (everyone.low, everyone.high) == (1, 1)


def test_simultaneous_intervals_are_those_of_a_higher_level() -> None:
    at_once = FOUND.interval(simultaneous=True, level=0.9)
    apart = FOUND.interval(level=1 - 0.1 / 3)
    assert_allclose([at_once.low, at_once.high], [apart.low, apart.high], rtol=1e-9)
    table = FOUND.table(0.9, simultaneous=True)
    assert_array_equal(table["low"], at_once.low)


def test_what_an_interval_says_of_itself() -> None:
    assert repr(FOUND.interval("once")).endswith("95 % interval (population), clopper_pearson")
    realised = FOUND.interval("once", target="realised")
    assert realised.method == "exact"
    assert not realised.approximate
    assert repr(realised) == "28.6 to 51.7 %, 95 % interval (sample), exact"
    many = [400_000, 350_000, 250_000]
    mixed = estimate(Tally(HALF, [many, [3, 2, 1]], by=("g",), groups=((1,), (2,)))).interval(target="realised")
    assert mixed.method == "exact or score"
    assert mixed.approximate
    scored = estimate(Tally(HALF, many)).interval("once", target="realised")
    assert "approximate 95 % interval (sample), score" in repr(scored)
    assert not FOUND.interval("once").approximate
    assert FOUND.interval("once", method="wilson").approximate
    assert FOUND.interval("once", target="realised", method="score").approximate
    assert "3 intervals: 90 % simultaneous interval (population)" in repr(FOUND.interval(level=0.9, simultaneous=True))
    few = estimate(Tally(HALF, [3, 2, 1])).interval(target="realised")
    assert few.method == "exact"
    # Hardly any noise, but too many reports to add up their law: neither the exact interval nor the score one holds.
    forced = Channel([["1", "0"], ["1/2", "1/2"]], YES, YES)
    assert estimate(Tally(forced, [800_000, 200_000])).interval("yes", target="realised").method == "clopper_pearson"


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
    found = estimate(Tally(HALF, [800.0, 700.0, 500.0], squares=8000.0))
    half = estimate(Tally(HALF, [200, 175, 125]))
    assert found.interval("once").approximate
    assert found.interval("once").low == pytest.approx(half.interval("once").low)
    assert found.compare("never", "once").p_value == pytest.approx(half.compare("never", "once").p_value)
    assert "approximate, because of weights" in found.commonest(1).text()
    assert "approximate, because of weights" in found.present().text()
    assert "Intervals are approximate: weights count as 500.0 reports" in found.text()
    assert found.to_dict()["approximate"]


def test_without_noise_shares_are_sample_shares() -> None:
    found = estimate(Tally(RandomizedResponse(["a", "b", "c"], odds=(1, 0)), [10, 20, 70]))
    one = found.interval("a")
    assert_allclose([one.low, one.high], beta.ppf([0.025, 0.975], [10, 11], [91, 90]), rtol=1e-9)
    assert_allclose(found.interval(cumulative=True).low[1], beta.ppf(0.025, 30, 71), rtol=1e-9)
    assert found.commonest(1).to_dict()["certain"] == ["c"]


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
    assert found.commonest(1).certain[7]


# Under a channel


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
    low, high = share_interval(Binomial(np.array([[400]]), 1000.0, 1 / 6, 3 / 4), 0.025)
    assert_allclose([table["share"][0], table["low"][0], table["high"][0]], [14 / 45, low[0, 0], high[0, 0]])
    assert_allclose(table["se"], np.sqrt(0.4 * 0.6 / 1000) / 0.75)
    assert "reports" in table
    crossed = estimate(Tally(CROSSWISE, [198, 112]))
    assert "reports" not in crossed.table()  # no report names an answer
    assert_allclose(crossed.shares[0], (198 / 310 - 0.75) / -0.5)
    assert crossed.interval("yes").method == "clopper_pearson"


@pytest.mark.parametrize(("design", "truth"), [(KUK, [0.3, 0.7]), (LOADED, [0.5, 0.3, 0.2])])
@pytest.mark.parametrize("target", ["population", "realised"])
def test_linear_intervals_cover(design: Channel, truth: list[float], target: str) -> None:
    times, n = 1000, 1000
    if target == "population":
        reports = some_surveys(design, truth, n, times)
    else:
        rng, people = np.random.default_rng(4), (np.array(truth) * n).astype(int)
        drawn = sum(rng.multinomial(m, row, size=times) for m, row in zip(people, design.channel(), strict=True))
        reports = grouped(design, drawn)
    ends = interval(reports, None, Confidence(target=target))
    assert "linear" in ends.methods  # of the last answer under DICE, its own reports are binomial
    assert ends.approximate
    for i, share in enumerate(truth):
        covered = ((ends.low[:, i] <= share) & (share <= ends.high[:, i])).mean()
        assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)  # a point for the normal law


@UNFIT
@pytest.mark.parametrize("design", [FORCED, CROSSWISE])
@pytest.mark.parametrize("share", [0, 0.1, 0.5, 1])
def test_binary_designs_cover_at_least_at_their_level(design: Channel, share: float) -> None:
    n, matrix = 200, design.channel()
    counts = np.arange(n + 1)
    table = estimate(grouped(design, np.stack([counts, n - counts], axis=1))).table()
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


@UNFIT
def test_linear_intervals_are_never_empty_and_count_half_a_report() -> None:
    weights = KUK.law.linear.weights()[:, 0]
    counts = np.array([400, 0, 0])
    found = estimate(Tally(KUK, counts)).interval("yes")
    observed = (counts + 0.5) / 401.5
    noise = observed @ weights**2 - (observed @ weights) ** 2  # at a share of zero a sample adds no variance
    assert weights[0] < 0  # the estimate
    assert found.low == 0
    # The upper end is the share at which zero would be z standard deviations away: those of the sample and the noise.
    end = float(found.high)
    assert_allclose(end**2, 1.959963984540054**2 / 400 * (end * (1 - end) + noise), rtol=1e-9)
    found = estimate(Tally(KUK, counts[::-1])).interval("yes")
    assert found.high == 1
    assert found.low < 1


# Under every design


@every_design
@every_target
def test_all_answers_together_are_everybody(design: Any, target: str) -> None:
    people = np.arange(1, design.k + 1) * 20
    counts = simulate.reports_of_people(people, design, rng=np.random.default_rng(1), size=2)
    reports = Tally(design, counts, n=np.full(2, people.sum()), by=("g",), groups=((1,), (2,)))
    whole = interval(reports, list(design.domain), Confidence(target=target))
    assert_array_equal([whole.low, whole.high], [[1, 1], [1, 1]])
    ends = limits(reports, Confidence(target=target), sets=CumulativeSets(design.k))
    assert_array_equal([ends.low[:, -1], ends.high[:, -1], ends.error[:, -1]], [[1, 1], [1, 1], [0, 0]])


@every_design
@every_target
def test_sets_and_single_answers_are_read_alike(design: Any, target: str) -> None:
    # One answer, a set of one, the first of the cumulative shares: three calls, one interval.
    people = np.arange(1, design.k + 1) * 30
    counts = simulate.reports_of_people(people, design, rng=np.random.default_rng(2))
    reports = Tally(design, counts, n=people.sum())
    confidence = Confidence(0.9, target)
    every, one = interval(reports, None, confidence), interval(reports, design.domain[0], confidence)
    a_set, cumulative = (
        interval(reports, [design.domain[0]], confidence),
        interval(reports, None, confidence, cumulative=True),
    )
    # Under a cut-off response a cumulative share is exact among those with its cut-off, and a single answer is not.
    among_some = (
        isinstance(design, warner.CutoffResponse) and cumulative.methods == ("clopper_pearson",) != every.methods
    )
    doors = [one, a_set] if among_some else [one, a_set, cumulative]
    for name in ("low", "high"):
        first = [np.ravel(getattr(door, name))[0] for door in doors]
        assert_allclose(first, getattr(every, name)[0], atol=1e-12)
    several = interval(reports, design.domain[: design.k - 1], confidence)
    assert_allclose([cumulative.low[-2], cumulative.high[-2]], [several.low, several.high], atol=1e-12)
    # Never empty, never outside, wider at a higher level.
    wide = interval(reports, None, Confidence(0.99, target))
    assert (every.low <= every.high).all()
    assert ((wide.low <= every.low + 1e-12) & (every.high <= wide.high + 1e-12)).all()
    assert ((wide.low >= 0) & (wide.high <= 1)).all()


@every_design
def test_groups_and_weights_of_one_change_nothing(design: Any) -> None:
    people = np.arange(1, design.k + 1) * 30
    rows = simulate.reports_of_people(people, design, rng=np.random.default_rng(3), size=3)
    n = np.full(3, people.sum())
    n[1], rows[1] = 0, 0
    groups = ((1,), (2,), (3,))
    plain = limits(Tally(design, rows, n=n, by=("g",), groups=groups), Confidence())
    weighted = Tally(design, rows.astype(float), n=n.astype(float), squares=n.astype(float), by=("g",), groups=groups)
    assert_allclose(limits(weighted, Confidence())[:3], plain[:3], atol=1e-12)
    assert interval(weighted, None, Confidence()).approximate
    assert np.isnan(plain.low[1]).all()
    for place in (0, 2):
        alone = limits(Tally(design, rows[place], n=n[place]), Confidence())
        assert_allclose([alone.low[0], alone.high[0], alone.error[0]], [end[place] for end in plain[:3]], atol=1e-12)


@every_target
@pytest.mark.parametrize("members", [[0], [0, 1], [1, 2, 3], [0, 2, 3, 4]])
def test_intervals_from_sets_cover(members: list[int], target: str) -> None:
    times, n, truth = 1000, 1000, [0.4, 0.3, 0.2, 0.1, 0]
    reports = some_surveys(SETS, truth, n, times, target=target)
    ends = limits(reports, Confidence(target=target), sets=[members])
    one = len(members) in {1, 4}  # or all but one
    share = sum(truth[i] for i in members)
    covered = ((ends.low[:, 0] <= share) & (share <= ends.high[:, 0])).mean()
    allowed = 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)  # a point for the normal law
    assert covered >= 0.95 - allowed
    assert one or covered <= 0.95 + allowed
    # One answer has a binomial count of its own, several do not: a report may support two of them.
    single = "clopper_pearson" if target == "population" else "exact"
    assert ends.methods == ((single,) if one else ("linear",))


@every_target
@pytest.mark.parametrize("design", SYMMETRIC, ids=lambda design: design.summary())
def test_a_set_and_the_other_answers_say_the_same(design: Any, target: str) -> None:
    rng = np.random.default_rng(2)
    reports = whole(design, design.draw(rng.integers(design.k, size=500), rng.bytes))
    for size in range(1, design.k) if design.k > 2 or design.law.exclusive else ():  # two counts, and both are exact
        members = rng.permutation(design.k).tolist()
        one, rest = (
            limits(reports, Confidence(target=target), sets=[part]) for part in (members[:size], members[size:])
        )
        assert_allclose([one.low, one.high], [1 - rest.high, 1 - rest.low], atol=1e-9)
        assert_allclose(one.error, rest.error)
        assert one.methods == rest.methods
        assert ("linear" in one.methods) == (not design.law.exclusive and 1 < size < design.k - 1)


def test_mixed_methods_are_all_named() -> None:
    # The first answer has reports of its own, the two others do not.
    design = Channel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/8", "5/8"]], 3, 3)
    ends = limits(Tally(design, [50, 30, 20]), Confidence())
    assert set(ends.methods) == {"clopper_pearson", "linear"}
    assert not ends.exact
    assert ends.method in {"clopper_pearson or linear", "linear or clopper_pearson"}
    assert interval(Tally(design, [50, 30, 20]), 0, Confidence()).methods == ("clopper_pearson",)


def test_a_method_is_for_binomial_counts_only() -> None:
    for design, counts, n in ((KUK, [30, 40, 30], 100), (LOADED, [30, 40, 30], 100), (SETS, [30, 50, 40, 40, 40], 100)):
        sets = [[0, 1]] if design is SETS else None
        with pytest.raises(ValueError, match="method must be left out for this design"):
            limits(Tally(design, counts, n=n), Confidence(), sets=sets, method="wilson")
    wilson = limits(Tally(SETS, [300, 500, 400, 400, 400], n=1000), Confidence(), method="wilson")
    assert wilson.methods == ("wilson",)


# Confidence


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, float("nan"), "x", None])
def test_levels_that_are_none(level: Any) -> None:
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        Confidence(level)


def test_what_is_meant_in_words() -> None:
    assert str(Confidence()) == "95 % interval (population)"
    assert str(Confidence(0.999, "realised", simultaneous=True)) == "99.9 % simultaneous interval (sample)"
    assert Confidence(0.9).tail(5) == pytest.approx(0.05)
    assert Confidence(0.9, simultaneous=True).tail(5) == pytest.approx(0.01)
    with pytest.raises(ValueError, match="target must be one of population, realised, but got 'world'"):
        Confidence(target="world")


def test_one_interval_through_every_door() -> None:
    found = GROUPED.interval("once", level=0.9, target="realised")
    assert_array_equal(found.table()["low"], found.low)
    assert_array_equal(found.table()["high"], found.high)
    told = json.loads(found.to_json())
    assert told == found.to_dict()
    assert told["low"] == [found.low[0], None, found.low[2]]
    assert (told["level"], told["target"], told["simultaneous"]) == (0.9, "realised", False)
    assert (told["method"], told["approximate"]) == (found.method, found.approximate)
    assert repr(found) == found.text()
    assert f"intervals: {found.confidence}, {found.method}" in found.text()
    document = json.loads(GROUPED.to_json(level=0.9, target="realised"))
    assert document["interval"] == GROUPED.interval(level=0.9, target="realised").method == "exact"
    assert not document["approximate"]


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
        (lambda: FOUND.interval(1.5), "an answer must be in the domain"),  # type: ignore[arg-type]
        (lambda: FOUND.interval("once", method="bootstrap"), "method must be one of clopper_pearson, wilson"),
    ],
)
def test_bad_input(call: Any, complaint: str) -> None:
    with pytest.raises((ValueError, TypeError), match=complaint):
        call()


def test_a_design_without_information_has_no_interval() -> None:
    with pytest.raises(ValueError, match="must have an epsilon above 0"):
        estimate(Tally(RandomizedResponse(2, odds=(1, 1)), [4, 5]))
    assert warner.estimate(Tally(HALF, [1, 0, 0])).interval("never").high == 1


# Intervals that hold all at once, without correcting twice


def all_tables(k: int, n: int) -> Any:
    """Return every histogram of n reports among k."""
    if k == 1:
        return np.array([[n]])
    return np.concatenate([np.insert(all_tables(k - 1, n - first), 0, first, axis=1) for first in range(n + 1)])


@every_target
@pytest.mark.parametrize(
    "design",
    [RandomizedResponse(YES, odds=(3, 1)), RandomizedResponse(YES, odds=(1, 9)), FORCED, CROSSWISE, KUK],
)
def test_two_answers_at_once_are_one(design: Any, target: str) -> None:
    # The share of no is one less that of yes, and so are the ends: both intervals hold if one does.
    rng = np.random.default_rng(5)
    counts = rng.multinomial(60, [0.3, 0.7] @ design.channel(), size=20)
    tally = grouped(design, counts)
    single, at_once = (limits(tally, Confidence(0.9, target, simultaneous=one)) for one in (False, True))
    assert_array_equal([at_once.low, at_once.high], [single.low, single.high])
    assert_allclose(single.low[:, 0], 1 - single.high[:, 1], atol=1e-9)
    assert_allclose(single.low[:, 1], 1 - single.high[:, 0], atol=1e-9)


def test_two_answers_that_are_counted_apart_are_two() -> None:
    # Each has a bit of its own: two counts, of which neither follows from the other.
    for design in (UnaryEncoding(YES, epsilon=2), UnaryEncoding.symmetric(YES, epsilon=2)):
        tally = Tally(design, [30, 50], n=60)
        at_once, higher = limits(tally, Confidence(0.9, simultaneous=True)), limits(tally, Confidence(0.95))
        assert_allclose([at_once.low, at_once.high], [higher.low, higher.high], atol=1e-12)


def test_a_pool_of_two_answers_is_one_at_once() -> None:
    made = [RandomizedResponse(YES, odds=(3, 1)), FORCED]
    found = estimate(pool([Tally(made[0], [40, 60]), Tally(made[1], [35, 65])]))
    single, at_once = (found.interval(simultaneous=one) for one in (False, True))
    assert_array_equal([at_once.low, at_once.high], [single.low, single.high])


def test_cumulative_intervals_at_once_are_corrected_for_those_that_are_not_known() -> None:
    at_once = FOUND.interval(cumulative=True, simultaneous=True, level=0.9)
    apart = FOUND.interval(cumulative=True, level=0.95)  # of three sets, one is everybody
    assert_array_equal([at_once.low, at_once.high], [apart.low, apart.high])
    two = estimate(Tally(FORCED, [400, 600])).interval(cumulative=True, simultaneous=True)
    assert_array_equal(two.low[:1], estimate(Tally(FORCED, [400, 600])).interval("yes").low)
    assert (two.methods, two.approximate) == (("clopper_pearson",), False)


@pytest.mark.parametrize(("k", "n", "odds"), [(2, 40, (3, 1)), (2, 40, (20, 1)), (3, 15, (4, 1)), (4, 8, (9, 1))])
def test_intervals_hold_all_at_once_in_every_enumerated_survey(k: int, n: int, odds: tuple[int, int]) -> None:
    design, tables = RandomizedResponse(k, odds=odds), all_tables(k, n)
    tally = grouped(design, tables)
    for sets in (None, CumulativeSets(k)):
        ends = limits(tally, Confidence(0.9, simultaneous=True), sets=sets)
        least = 1.0
        for truth in all_tables(k, 8) / 8:
            shares = truth if sets is None else truth.cumsum()
            holds = ((ends.low <= shares + 1e-12) & (shares <= ends.high + 1e-12)).all(axis=1)
            least = min(least, float(multinomial.pmf(tables, n, truth @ design.channel())[holds].sum()))
        assert least >= 0.9
        assert least < (0.92 if k == 2 else 0.985)  # and not much too often


def test_the_leader_of_two_is_named_without_a_correction() -> None:
    # The exact interval of one share, at 95 %, is above one half; at 97.5 %, as for two answers, it would not be.
    found = estimate(Tally(RandomizedResponse(YES, truth="3/4"), [535, 465]))
    assert found.interval("yes").low > 0.5 > found.interval("yes", level=0.975).low
    assert found.commonest(1).to_dict()["certain"] == ["yes"]


# Shares that no count tells, where they are rare


RARE = np.array([0.005, 0.05, 0.05, 0.895])
TIMES = 2000
ABOUT = 0.95 - 4 * np.sqrt(0.95 * 0.05 / TIMES)  # approximate; four binomial standard errors


def two_questions(odds: tuple[int, int]) -> Product:
    question = RandomizedResponse(["yes", "no"], odds=odds)
    return Product({"x": question, "z": question})


def simulated(design: Product, n: int, seed: int) -> Tally:
    counts = design.simulate(RARE, n, rng=np.random.default_rng(seed), size=TIMES)
    return grouped(design, counts)


@pytest.mark.parametrize("odds", [(9, 1), (99, 1), (1, 0)])
@pytest.mark.parametrize("n", [60, 300])
def test_shares_that_no_count_tells_are_covered_where_they_are_rare(odds: tuple[int, int], n: int) -> None:
    found = limits(simulated(two_questions(odds), n, 1), Confidence())
    assert found.method == "linear"
    covered = ((found.low <= RARE + 1e-9) & (found.high >= RARE - 1e-9)).mean(axis=0)
    assert (covered >= ABOUT).all()  # multiples of the plugged-in error: as few as 78 %


@pytest.mark.parametrize("n", [(30, 30), (60, 200), (300, 60)])
def test_so_are_those_of_pools(n: tuple[int, int]) -> None:
    sizes = zip([(99, 1), (19, 1)], n, strict=True)
    parts = [simulated(two_questions(odds), size, 2 + place) for place, (odds, size) in enumerate(sizes)]
    found = limits(pool(parts), Confidence())
    assert found.method == "linear"
    covered = ((found.low <= RARE + 1e-9) & (found.high >= RARE - 1e-9)).mean(axis=0)
    assert (covered >= ABOUT).all()
