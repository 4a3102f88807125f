"""Bit flips: only a part of the people is asked about an answer, and counted for it; so it is in closed lists."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, hypergeom

import warner
from warner import BitFlips, Memoized, OpenDomain, Tally, UnaryEncoding, estimate, inv, inv_n, inv_p, pool, tally
from warner.designs.facts import ChannelOperator, counts_everyone
from warner.estimation import estimated
from warner.estimators.projections import clipped, projected
from warner.inference.binomial import Binomial, share_interval
from warner.inference.intervals import Confidence, limits

DESIGN = BitFlips(["a", "b", "c", "d"], odds=(3, 1), size=2)


def exact_law(design: BitFlips) -> dict[tuple[tuple[int, ...], tuple[int, ...]], list[Fraction]]:
    """Return the probability of each report, answers asked about and bits, after each answer: written down by hand."""
    s, t = design.odds
    sets = list(itertools.combinations(range(design.k), design.size))
    return {
        (asked, bits): [
            Fraction(
                math.prod(s if bit == (place == held) else t for place, bit in zip(asked, bits, strict=True)),
                len(sets) * (s + t) ** design.size,
            )
            for held in range(design.k)
        ]
        for asked in sets
        for bits in itertools.product((0, 1), repeat=design.size)
    }


def packed(asked: tuple[int, ...], bits: tuple[int, ...], k: int) -> np.ndarray[Any, Any]:
    rows = np.zeros((2, k), dtype=bool)
    rows[0, list(asked)] = True
    rows[1, list(asked)] = bits
    return np.packbits(rows, axis=1).ravel()


@pytest.mark.parametrize(("k", "size"), [(3, 1), (3, 2), (4, 2), (4, 3), (3, 3), (9, 2)])
def test_likelihoods_have_three_levels(k: int, size: int) -> None:
    design = BitFlips(k, odds=(5, 2), size=size)
    s, t = design.odds
    law = exact_law(design)
    assert [sum(column) for column in zip(*law.values(), strict=True)] == [1] * k
    for (asked, bits), row in law.items():
        levels = [(s * s if bits[asked.index(x)] else t * t) if x in asked else s * t for x in range(k)]
        assert [p / row[0] for p in row] == [Fraction(level, levels[0]) for level in levels]
    largest = max(max(row) / min(row) for row in law.values())
    assert largest == Fraction(*reversed(design.ratio)) == (Fraction(s, t) if size == 1 else Fraction(s, t) ** 2)
    reports = np.array([packed(*report, k) for report in law])
    told = design.law.likelihood(reports).forward(np.eye(k))
    exact = np.array(list(law.values()), dtype=float).T
    assert_allclose(told / told.sum(axis=0), exact / exact.sum(axis=0), rtol=1e-12)


def test_one_bit_may_be_twice_as_telling_as_each_of_two() -> None:
    # One bit: s : t is e^epsilon; two or more: its root. Never more than epsilon is spent.
    for size, power in ((1, 1), (2, 2), (5, 2)):
        design = BitFlips(10, epsilon=1, size=size)
        assert math.isclose((design.odds[0] / design.odds[1]) ** power, math.e, rel_tol=1e-12)
        assert design.epsilon <= 1
        assert design.with_epsilon(2).size == size


@pytest.mark.parametrize(("k", "epsilon", "size"), [(2, 1, 1), (4, 1, 1), (5, 1, 5), (14, 5, 1), (15, 5, 15)])
def test_the_best_size_is_one_or_all(k: int, epsilon: int, size: int) -> None:
    # One bit is better while K < e^(epsilon/2) + 2 + e^(-epsilon/2): 4.26 at epsilon 1, 14.3 at epsilon 5.
    best = BitFlips(k, epsilon=epsilon)
    assert best.size == size
    every = [BitFlips(k, epsilon=epsilon, size=d).symmetry.variance_of_absent for d in range(1, k + 1)]
    assert best.symmetry.variance_of_absent == min(every)


@pytest.mark.parametrize(("k", "size", "epsilon"), [(16, 4, 1.0), (360, 12, 2.0), (1000, 1000, 0.5)])
def test_the_variance_is_that_of_the_scores_of_bits(k: int, size: int, epsilon: float) -> None:
    # Ding, Kulkarni, Yekhanin (2017) report a true bit with probability r/(r + 1), for r = e^(eps/2). So the score
    # (K/d) (b (r + 1) - 1) / (r - 1) of a bit b is unbiased: of an answer without respondents, b is 1 with probability
    # 1/(r + 1), the mean is 0, and the mean square (K/d) r / (r - 1)^2.
    r = math.exp(epsilon / 2)
    scores = k / size * np.array([r / (r - 1), -1 / (r - 1)])
    law = np.array([1, r]) / (r + 1)
    assert abs(scores @ law) < 1e-9
    variance = size / k * (scores**2 @ law)
    assert_allclose(variance, k / size * r / (r - 1) ** 2, rtol=1e-12)
    assert_allclose(float(BitFlips(k, epsilon=epsilon, size=size).symmetry.variance_of_absent), variance, rtol=1e-9)


def test_differences_are_those_of_the_scores_of_bits() -> None:
    # The mean over all people of the scores above: K/(n d) sum over those asked of (b (r + 1) - 1) / (r - 1).
    design = BitFlips(6, epsilon=1, size=3)
    answers = np.repeat(np.arange(6), [50, 40, 30, 20, 10, 0])
    counted = tally(design.randomize(answers.tolist()), design)
    ones, zeros = counted.counts[:6], counted.counts[6:]
    root = design.odds[0] / design.odds[1]
    scored = 6 / (150 * 3) * (ones * root - zeros) / (root - 1)
    for i, j in ((0, 1), (2, 5)):
        told = counted.readout(None, [[i]], minus=[[j]]).share()[0, 0]
        assert_allclose(told, scored[i] - scored[j], rtol=1e-12)
    pair = counted.readout(None, [[0, 3]]).share()[0, 0]
    # With the sum of all, which is 1: of what is missing, two of six answers get a third
    assert_allclose(pair, scored[0] + scored[3] + (1 - scored.sum()) / 3, rtol=1e-9)


def test_shares_are_those_of_the_people_who_were_asked() -> None:
    counts = np.array([22, 5, 12, 9, 13, 22, 14, 23])
    n = 60
    x = np.array([(Fraction(c, c + z) - Fraction(1, 4)) * 2 for c, z in zip(counts[:4], counts[4:], strict=True)])
    exact = x.astype(float)
    assert_allclose(inv(counts, DESIGN, n=n), exact, rtol=1e-14)
    assert_allclose(inv_n(counts, DESIGN, n=n), clipped(exact), rtol=1e-14)
    assert_allclose(inv_p(counts, DESIGN, n=n), projected(exact), rtol=1e-14)
    assert_allclose(estimate(Tally(DESIGN, counts, n=n), method="inv").shares, exact, rtol=1e-14)
    assert estimate(Tally(DESIGN, counts, n=n)).method == "inv_p"


def test_all_answers_asked_about_are_a_symmetric_unary_encoding() -> None:
    flips, unary = BitFlips(5, odds=(3, 1), size=5), UnaryEncoding.symmetric(5, odds=(9, 1))
    ones = np.array([40, 33, 29, 30, 31])
    first, second = Tally(flips, np.append(ones, 100 - ones), n=100), Tally(unary, ones, n=100)
    for target in ("population", "realised"):
        one, two = (estimate(each, method="inv_p").table(target=target) for each in (first, second))
        for name in ("share", "low", "high", "se"):
            if name in one:
                assert_allclose(one[name], two[name], rtol=1e-12)
    assert flips.symmetry._replace(pairs_alike=True) == unary.symmetry  # the test of pairs is for unary encodings
    assert flips.report_form.bits == unary.report_form.bits


def test_the_most_likely_shares_are_those_of_the_table_of_all_reports() -> None:
    law = exact_law(DESIGN)
    reports = np.array([packed(*report, 4) for report in law])
    rng = np.random.default_rng(5)
    matrix = np.array(list(law.values()), dtype=float).T
    times = rng.multinomial(400, np.array([0.6, 0.3, 0.1, 0.0]) @ matrix)
    written = DESIGN.report_form.written(np.repeat(reports, times, axis=0))
    found = estimate(tally(written, DESIGN, keep=True), method="mle")
    oracle = warner.channel_mle(times, ChannelOperator.of_matrix(matrix))
    assert_allclose(found.shares, oracle.shares, atol=1e-5)
    assert found.certificate is not None
    assert float(np.ravel(found.certificate.gap)[0]) <= 1e-6 * 400
    with pytest.raises(TypeError, match="keep"):
        estimate(tally(written, DESIGN), method="mle")
    for name in ("shrink", "base_cut"):
        with pytest.raises(TypeError, match="a count of its own"):
            estimate(tally(written, DESIGN), method=name)


def test_one_bit_is_a_channel_whose_counts_have_a_likelihood() -> None:
    design = BitFlips(3, odds=(3, 1), size=1)
    counts = [30, 20, 8, 20, 22, 20]
    found = estimate(Tally(design, counts))
    assert found.method == "mle"
    matrix = design.law.likelihood().matrix
    assert matrix is not None
    oracle = warner.channel_mle(counts, ChannelOperator.of_matrix(matrix()))
    assert_allclose(found.shares, oracle.shares, atol=1e-9)


# Intervals


def counted(design: BitFlips, asked: int, n: int) -> Tally:
    """Return a group for each number of ones of the first answer, of so many who were asked about it."""
    others = (design.size * n - asked) // (design.k - 1)
    assert others * (design.k - 1) + asked == design.size * n
    assert others <= n
    ones = np.arange(asked + 1)
    rows = np.tile(np.repeat([0, others // 2, 0, others - others // 2], [1, design.k - 1] * 2), (asked + 1, 1))
    rows[:, 0], rows[:, design.k] = ones, asked - ones
    groups = tuple((int(c),) for c in ones)
    return Tally(design, rows, n=np.full(asked + 1, n), by=("ones",), groups=groups)


@pytest.mark.parametrize("odds", [(3, 1), (30, 1), (1000, 1)])
@pytest.mark.parametrize("asked", [4, 10, 16])
def test_intervals_cover_the_population_and_these_very_people(odds: tuple[int, int], asked: int) -> None:
    design, n = BitFlips(4, odds=odds, size=2), 20
    given = counted(design, asked, n)
    ones = np.arange(asked + 1)
    least = []
    for target in ("population", "realised"):
        ends = limits(given, Confidence(0.9, target))
        assert ends.methods == ("clopper_pearson",)
        assert ends.exact
        low, high = ends.low[:, 0], ends.high[:, 0]
        for holders in range(n + 1):
            share = holders / n
            holds = (low <= share) & (share <= high)
            if target == "population":
                chance = binom.pmf(ones, asked, design.q + design.symmetry.gain * share)
            else:  # who is asked is drawn without replacement
                among = np.arange(asked + 1)
                drawn = hypergeom.pmf(among, n, holders, asked)
                table = [
                    np.convolve(
                        binom.pmf(np.arange(h + 1), h, design.p),
                        binom.pmf(np.arange(asked - h + 1), asked - h, design.q),
                    )
                    for h in among
                ]
                chance = drawn @ np.array(table)
            least.append(chance[holds].sum())
    assert min(least) >= 0.9 - 1e-12


def test_the_exact_law_of_realised_shares_would_miss_them() -> None:
    # With little noise, the share among those asked is nearly known; that among all of 20 people is not.
    design, n, asked = BitFlips(4, odds=(1000, 1), size=2), 20, 10
    ones = np.arange(asked + 1.0)
    low, high = share_interval(Binomial(ones[np.newaxis], asked, design.q, design.symmetry.gain), 0.05, "realised")
    drawn = hypergeom.pmf(np.arange(asked + 1), n, 10, asked)  # and every bit right, but for 1 of 1,000
    assert drawn[(low[0] <= 0.5) & (high[0] >= 0.5)].sum() < 0.5


def partly() -> list[Tally]:
    """Return tallies of designs that count a part of the people."""
    opened = OpenDomain(epsilon=3, bits=16, step=8)
    closed = opened.closed([1, 2, 3])
    return [
        Tally(DESIGN, [22, 5, 12, 9, 13, 22, 14, 23], n=60),
        Tally(closed, [30, 20, 10], n=60),
        Tally(warner.Memoized.bit_flips(4, eps_infinity=2, size=2), [22, 5, 12, 9, 13, 22, 14, 23], n=60),
    ]


@pytest.mark.parametrize("given", partly(), ids=repr)
def test_where_a_part_of_the_people_is_counted_the_law_is_that_of_a_population(given: Tally) -> None:
    assert not counts_everyone(given.design.law)
    whole, these = (limits(given, Confidence(target=target)) for target in ("population", "realised"))
    assert these.methods == whole.methods == ("clopper_pearson",)
    assert_array_equal(these.low, whole.low)
    assert_array_equal(these.high, whole.high)
    first, second = given.domain[:2]
    estimated = estimate(given, method="inv")
    one, two = (estimated.compare(first, second, target=target) for target in ("population", "realised"))
    assert (one.low, one.high, one.approximate) == (two.low, two.high, two.approximate)
    with pytest.raises(ValueError, match="method must be one of"):
        limits(given, Confidence(target="realised"), method="exact")


def test_where_everybody_is_counted_the_exact_law_is_used() -> None:
    everybody = Tally(BitFlips(3, odds=(3, 1), size=3), [30, 20, 10, 30, 40, 50], n=60)
    assert counts_everyone(everybody.design.law)
    assert limits(everybody, Confidence(target="realised")).methods == ("exact",)


def test_an_answer_that_nobody_was_asked_about_may_have_any_share() -> None:
    given = Tally(DESIGN, [9, 3, 0, 0, 1, 7, 0, 0], n=10)
    found = estimate(given, method="inv")
    assert_allclose(found.shares[2:], 1 / 4)
    for options in ({}, {"target": "realised"}, {"simultaneous": True}, {"anytime": True}):
        table = found.table(**options)
        assert table["low"][2] == 0
        assert table["high"][2] == 1
        assert table["high"][0] - table["low"][0] < 1
    assert estimate(given).shares.sum() == pytest.approx(1)
    found.compare("a", "c")
    assert found.present().smallest > 1  # of the fewest who were asked, none
    assert found.present().p_values[2] > 0.5


def test_pools_average_by_how_many_were_asked() -> None:
    flips, unary = BitFlips(3, odds=(3, 1), size=1), UnaryEncoding(3, odds=(3, 1))
    one = Tally(flips, [300, 200, 100, 100, 200, 300], n=1200)
    two = Tally(unary, [300, 250, 250], n=600)
    found = estimated(pool([one, two]), method="inv")  # without the warning that the collections differ
    shares = [inv(part.counts, part.design, n=part.n) for part in (one, two)]
    # Each by its number of reports over its variance if all answers are equally common: mu (1 - mu) / gain^2 / asked
    weights = []
    for part in (one, two):
        p, q, asked = part.design.law.symmetry[:3]  # type: ignore[index]
        mu = q + (p - q) / 3
        weights.append(float(part.n * asked * (p - q) ** 2 / (mu * (1 - mu))))
    assert_allclose(found.shares, np.average(shares, axis=0, weights=weights), rtol=1e-12)
    table = found.table()
    assert ((table["low"] <= found.shares) & (found.shares <= table["high"])).all()


def test_damaged_reports_are_refused_and_counted() -> None:
    form = DESIGN.report_form  # two answers among the first four bits, and ones among them
    assert "1 byte and 1 byte in lower-case hexadecimal: the 2 answers asked about" in form.rule
    good, bad = ["c080", "c0c0", "a000"], ["e080", "c020", "c801", "c0", "c08000", "8080"]
    read = form.read(good + bad)
    assert (read.status != 0).tolist() == [False] * 3 + [True] * 6
    found = tally([*good, "8080", None], DESIGN, unknown="drop")
    assert (found.n, found.unknown, found.missing) == (3, 1, 1)


def test_a_plan_asks_so_many_more_people_as_are_not_asked() -> None:
    part = warner.plan(BitFlips(8, odds=(3, 1), size=2), half_width=0.05, share=0)
    whole = warner.plan(UnaryEncoding.symmetric(8, odds=(9, 1)), half_width=0.05, share=0)
    assert abs(part.people - 4 * whole.people) <= 8
    table = warner.mechanisms(8, epsilon=1).table()
    place = table["mechanism"].tolist().index("bit flips")
    assert_allclose(table["variance"][place], float(BitFlips(8, epsilon=1).symmetry.variance_of_absent))


@pytest.mark.parametrize("odds", [(1, 1), (1, 2), (1, 0)])
def test_bits_must_be_right_more_often_than_not_and_sometimes_wrong(odds: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="s > t > 0"):
        BitFlips(4, odds=odds)


def test_what_fakes_can_do_is_bounded_if_as_many_are_asked_as_expected() -> None:
    n, fakes = 1000, 10
    honest = np.array([200, 200, 200, 200, 300, 300, 300, 300])  # 500 of 1,000 asked about each
    moved = honest.copy()
    moved[0] += fakes  # who all claim to be asked about a, and about d
    moved[7] += fakes
    before, after = inv(honest, DESIGN, n=n), inv(moved, DESIGN, n=n + fakes)
    assert abs(after - before).max() <= fakes / (n + fakes) * DESIGN.law.linear.influence()


def test_nobody_is_asked_about_an_answer_twice() -> None:
    design = BitFlips(["a", "b", "c", "d"], odds=(3, 1), size=2)
    told = "n must be at least the ones and zeros of every answer together"
    with pytest.raises(ValueError, match=told):
        Tally(design, [50, 0, 0, 0, 50, 20, 0, 0], n=60)
    counts = [[30, 30, 0, 0, 0, 0, 0, 60], [50, 0, 0, 0, 50, 20, 0, 0]]
    with pytest.raises(ValueError, match=told):
        Tally(design, counts, n=[60, 60], by=("x",), groups=((1,), (2,)))
    kept = Memoized.bit_flips(["a", "b", "c", "d"], eps_infinity=2, size=2)
    with pytest.raises(ValueError, match=told):
        Tally(kept, [50, 0, 0, 0, 50, 20, 0, 0], n=60)
    assert Tally(design, [30, 30, 0, 0, 30, 30, 0, 0], n=60).n == 60
    assert Tally(design, np.zeros((0, 8), dtype=int), n=np.zeros(0, dtype=int), by=("x",), groups=()).groups == ()


def test_the_reason_for_the_estimator_does_not_speak_of_support() -> None:
    design = BitFlips(["a", "b", "c", "d"], odds=(3, 1), size=2)
    text = estimate(Tally(design, [15, 13, 11, 11, 17, 17, 18, 18], n=60)).text()
    assert "The default here is inv_p: a report is counted for several answers" in text


def test_weights_of_few_people_leave_no_zeros_where_all_bits_are_ones() -> None:
    """Zeros are counted, not what is left of the respondents who were asked: that may be below 0 by rounding."""
    design, rng = BitFlips(4, size=2, epsilon=2), np.random.default_rng(0)
    reports, group = design.draw(rng.integers(0, 4, 240), rng.bytes), np.repeat(np.arange(24), 10)
    weights = rng.gamma(2, 1, 240)
    zeros = design.law.count(reports, weights, group=group, groups=24).counts[:, 4:]
    asked, ones = (np.unpackbits(half, axis=1)[:, :4] for half in np.hsplit(reports, 2))
    expected = np.zeros((24, 4))
    np.add.at(expected, group, weights[:, np.newaxis] * (asked * (1 - ones)))
    assert_allclose(zeros, expected, rtol=1e-12)
    assert (zeros >= 0).all()
    assert (expected == 0).any()


def test_columns_name_ones_and_zeros() -> None:
    assert BitFlips(["a", "b"], odds=(3, 1), size=1).law.columns == ("a: 1", "b: 1", "a: 0", "b: 0")


@pytest.mark.parametrize(("k", "size"), [(4, 2), (5, 3), (6, 2)])
def test_scores_of_sets_lie_within_their_bounds_and_reach_them(k: int, size: int) -> None:
    # Every report: which answers are asked about, and the bit of each.
    reports = [
        np.bincount([asked + k * (not bit) for asked, bit in zip(chosen, bits, strict=True)], minlength=2 * k)
        for chosen in itertools.combinations(range(k), size)
        for bits in itertools.product((True, False), repeat=size)
    ]
    design = BitFlips(k, odds=(3, 1), size=size)
    for members in range(2, k - 1):
        readout = design.law.readout(np.array(reports), np.ones((len(reports), 1)), [list(range(members))])
        assert readout.scores is not None
        assert_allclose([readout.share().min(), readout.share().max()], np.ravel(readout.scores))
