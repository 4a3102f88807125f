"""Detection of answers with respondents, and the tests of single answers (`presence`, `presence`)."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, chi2, false_discovery_control, multinomial

from cases import FORCED, HALF, KUK
from references import reference
from tables import grouped, random_channel
from warner import (
    Channel,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    Tally,
    estimate,
    plan,
    pool,
    simulate,
    surveys,
    tally,
)
from warner.estimation import estimated
from warner.inference import presence as tests_of_absence
from warner.inference.binomial import at_least
from warner.inference.presence import LAW_POINTS, CountTest, absence_p_values, adjusted, observed, presence

REFERENCE = reference("reference_values")["cases"]
RR_CASES = {case["id"]: case for case in REFERENCE if case["kind"] == "rr"}
HALF_ABC = RandomizedResponse(["a", "b", "c"], odds=(2, 1))
FOUND = estimate(Tally(HALF, [400, 350, 250]))
REGIONS = (("north",), ("south",), (None,))
GROUPED = estimate(Tally(HALF, [[400, 350, 250], [0, 0, 0], [30, 50, 20]], by=("region",), groups=REGIONS))


def design_of(case: dict[str, Any]) -> RandomizedResponse:
    known = {"truth": case["input"]["p"]} if "p" in case["input"] else {"epsilon": case["input"]["epsilon"]}
    return RandomizedResponse(case["input"]["K"], **known)


def absent(counts: Any, n: float, design: Any) -> Any:
    """Return the p-values of a share of zero."""
    rows = np.atleast_2d(counts)
    return absence_p_values(design.law.readout(rows, np.full((len(rows), 1), n))).reshape(np.shape(counts))


def some_surveys(design: Any, truth: Any, n: int, times: int, seed: int = 3) -> Tally:
    counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(seed), size=times)
    return grouped(design, counts, n)


@pytest.mark.parametrize("case", RR_CASES.values(), ids=RR_CASES)
def test_presence_against_reference_values(case: dict[str, Any]) -> None:
    design = design_of(case)
    counts = np.array(case["input"]["counts"])
    n = float(counts.sum())
    found = absent(counts, n, design)
    if "presence_pvalue" in case["expected"]:
        assert_allclose(found, case["expected"]["presence_pvalue"]["float"], rtol=1e-9, atol=1e-300)
    elif design.q == 0:  # nothing is randomized: whatever was reported is there
        assert_array_equal(found, counts == 0)
    else:  # lies are likelier than the truth: answers with respondents are reported less
        assert_allclose(found, binom.cdf(counts, n, design.q), rtol=1e-9)


def test_adjusted_p_values() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005])
    # Holm: 4 * .005, 3 * .01, 2 * .03, then not less than that; BH by an outside function
    assert_allclose(adjusted(p, "holm"), [0.03, 0.06, 0.06, 0.02])
    assert_allclose(adjusted(p, "bh"), false_discovery_control(p))
    many = np.random.default_rng(1).random((3, 50)) ** 3
    assert_allclose(adjusted(many, "bh"), false_discovery_control(many, axis=-1))
    with pytest.raises(ValueError, match='correction must be "holm" or "bh", but got \'none\''):
        adjusted(p, "none")


@pytest.mark.long
@pytest.mark.parametrize("k", [10, 100, 1000])
@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_false_findings_are_as_rare_as_promised(k: int, correction: str) -> None:
    design, surveys, n = RandomizedResponse(k, epsilon=3), 2000, 50 * k
    truth = np.zeros(k)
    truth[: k // 2] = simulate.zipf(k // 2, 1)
    counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(7), size=surveys)
    found = adjusted(absent(counts, float(n), design), correction) <= 0.05
    false, total = found[:, k // 2 :].sum(axis=-1), found.sum(axis=-1)
    rate = (false > 0).mean() if correction == "holm" else (false / np.maximum(total, 1)).mean()
    assert rate <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / surveys)
    assert total.mean() > 1


def test_presence_by_hand() -> None:
    found = FOUND.present()
    assert found.found.tolist() == [True, True, False]
    assert_allclose(found.p_values, binom.sf(np.array([399, 349, 249]), 1000, 0.25), rtol=1e-9)
    # About (z(1 - .05/3) + z(.8)) sqrt(.25 * .75 / 1000) * 4, but exactly
    assert found.smallest == pytest.approx((2.128045 + 0.841621) * np.sqrt(0.1875 / 1000) * 4, rel=0.03)
    assert f"a share of {100 * found.smallest:.2f} % is detected with a probability of 80 %" in found.text()
    assert found.to_dict()["found"] == ["never", "once"]
    assert "not proven" in FOUND.present(correction="bh").text()


def test_presence_where_nothing_can_be_found() -> None:
    found = estimate(Tally(RandomizedResponse(50, epsilon=0.5), [1] * 50)).present()
    assert not found.found.any()
    assert "none rises above the noise" in found.text()
    assert "not even a share of 100 % is detected" in found.text()


def test_names_come_with_the_commonest_first() -> None:
    assert "  once, never\n" in estimate(Tally(HALF, [350, 400, 250])).present().text()
    turned = estimate(Tally(RandomizedResponse(["a", "b", "c"], odds=(1, 4)), [300, 260, 440]))
    assert "  b, a\n" in turned.present().text()  # what is held by most is reported least


def test_presence_under_a_channel() -> None:
    def present(reports: Tally) -> Any:
        return presence(reports, level=0.95, correction="holm", power=0.8)

    found = present(some_surveys(FORCED, [0, 1], 300, 2000))
    false = found.found[:, 0].mean()
    assert false <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 2000)  # Holm: after "no", which is there, alpha is for "yes" alone
    power = present(some_surveys(FORCED, [float(found.smallest[0]), 1 - float(found.smallest[0])], 300, 2000))
    assert power.found[:, 0].mean() >= 0.8 - 4 * np.sqrt(0.16 / 2000)
    kuk = present(some_surveys(KUK, [0, 1], 1000, 2000))
    assert kuk.found[:, 0].mean() <= 0.05 + 0.005 + 4 * np.sqrt(0.05 * 0.95 / 2000)  # half a point for the normal law


def evidence(*given: Any) -> list[Any]:
    """Choose tests, of which there are some."""
    return list(tests_of_absence.best_tests(*given))


def found_with(design: Any, n: int, share: float, place: int, alpha: float) -> float:
    """Enumerate: the probability that an answer with this share is found, if all others hold the one other answer."""
    histograms = np.array([c for c in itertools.product(range(n + 1), repeat=len(design.law.columns)) if sum(c) == n])
    tally = grouped(design, histograms)
    truth = np.full(2, 1 - share)
    truth[place] = share
    law = multinomial.pmf(histograms, n, truth @ design.channel())
    found = presence(tally, level=1 - 2 * alpha, correction="holm", power=0.8)
    return float(law[found.p_values[:, place] <= alpha].sum())


@pytest.mark.parametrize("n", [40, 75])
def test_the_smallest_share_of_a_design_without_counts_of_its_own_is_found(n: int) -> None:
    for place in (0, 1):
        (test,) = evidence(KUK, [place], n, 0.025, 0.8)
        share = test.smallest(0.025, 0.8)
        assert found_with(KUK, n, share, place, 0.025) == pytest.approx(0.8, abs=1e-6)
    largest = presence(Tally(KUK, [n, 0, 0]), level=0.95, correction="holm", power=0.8).smallest
    assert largest == max(evidence(KUK, [i], n, 0.025, 0.8)[0].smallest(0.025, 0.8) for i in (0, 1))


@pytest.mark.parametrize(("draws", "goal"), [(5, {"half_width": 0.1}), (5, {"half_width": 0.1, "share": 0.02})])
def test_a_plan_keeps_the_power_that_it_promises(draws: int, goal: Any) -> None:
    design: Any = surveys.kuk("4/5", "3/10", draws)
    planned, times = plan(design, **goal), 3000
    place = design.domain.index(planned.answer)
    truth = np.full(2, 1 - planned.smallest_share)
    truth[place] = planned.smallest_share
    rng = np.random.default_rng(4)
    counts = simulate.reports_of_population(truth, planned.people, design, rng=rng, size=times)
    found = presence(grouped(design, counts), level=0.95, correction="holm", power=0.8)
    assert found.found[:, place].mean() >= 0.8 - 4 * np.sqrt(0.8 * 0.2 / times)
    assert not found.approximate


@pytest.mark.parametrize(
    ("odds", "sizes", "k"), [(((3, 1), (9, 1)), (300, 300), 10), (((11, 10), (20, 1)), (5000, 200), 5)]
)
def test_a_pool_keeps_the_power_that_it_promises(odds: Any, sizes: tuple[int, int], k: int) -> None:
    designs, times, rng = [RandomizedResponse(k, odds=one) for one in odds], 2000, np.random.default_rng(6)
    groups = tuple((i,) for i in range(times))

    def surveyed(share: float, size: int) -> Any:
        truth = np.array([share] + [(1 - share) / (k - 1)] * (k - 1))
        drawn = [
            simulate.reports_of_population(truth, n, design, rng=rng, size=size)
            for design, n in zip(designs, sizes, strict=True)
        ]
        return pool(
            [Tally(design, rows, by=("s",), groups=groups[:size]) for design, rows in zip(designs, drawn, strict=True)]
        )

    share = presence(surveyed(0.5, 1), level=0.95, correction="holm", power=0.8).smallest[0]
    p_values = np.array(
        [
            at_least(part.counts[:, 0].astype(float), n, part.design.q)
            for part, n in zip(surveyed(share, times).parts, sizes, strict=True)
        ]
    )
    together = chi2.sf(-2 * np.log(p_values).sum(axis=0), 4)
    error = np.sqrt(0.8 * 0.2 / times)
    assert 0.8 - 4 * error <= (together <= 0.05 / k).mean() <= 0.8 + 4 * error + 0.01  # counts are discrete


CELLS = [(2, 3, 8), (2, 3, 30), (2, 5, 8), (3, 3, 15), (3, 4, 9), (4, 4, 8)]


@pytest.mark.parametrize(("k", "kinds", "n"), CELLS)
def test_false_findings_under_random_channels_are_as_rare_as_promised(k: int, kinds: int, n: int) -> None:
    rng, counts = np.random.default_rng(n), [c for c in itertools.product(range(n + 1), repeat=kinds) if sum(c) == n]
    histograms = np.array(counts)
    findings = 0.0
    for concentration in (0.5, 0.5, 1.0, 3.0):
        design = random_channel(rng, k, kinds, concentration)
        tally = grouped(design, histograms)
        if not tally.answered.all() or design.epsilon == 0:
            continue
        found = presence(tally, level=0.95, correction="holm", power=0.8)
        assert not found.approximate
        for absent in [[i] for i in range(k)] + ([[0, 1]] if k > 2 else []):
            held = [i for i in range(k) if i not in absent]
            truths = np.array([*np.eye(len(held)), np.full(len(held), 1 / len(held))])
            for truth in [*truths, *rng.dirichlet(np.ones(len(held)), 3)]:
                law = multinomial.pmf(histograms, n, truth @ design.channel()[held])
                assert law[found.found[:, absent].any(axis=-1)].sum() <= 0.05 + 1e-9
                findings = max(findings, law[found.found[:, held].any(axis=-1)].sum())
    assert findings > 0.5  # it can speak


@pytest.mark.parametrize(
    ("rows", "truth"),
    [
        ([["18/100", "17/100", "65/100"], ["0", "17/100", "83/100"]], [1, 0]),
        ([["2/100", "58/100", "40/100"], ["88/100", "0", "12/100"], ["37/100", "52/100", "11/100"]], [0, 1, 0]),
    ],
)
@pytest.mark.parametrize("n", [8, 15, 30])
def test_channels_that_once_found_what_is_not_there(rows: Any, truth: list[int], n: int) -> None:
    design = Channel(rows, len(rows), 3)
    histograms = np.array([c for c in itertools.product(range(n + 1), repeat=3) if sum(c) == n])
    tally = grouped(design, histograms)
    found = presence(tally, level=0.95, correction="holm", power=0.8)
    law = multinomial.pmf(histograms, n, np.array(truth) @ design.channel())
    assert law[found.found[:, np.array(truth) == 0].any(axis=-1)].sum() <= 0.05


@pytest.mark.parametrize(("k", "kinds"), [(3, 14), (12, 12), (30, 20)])
def test_of_many_kinds_of_reports_few_sets_are_tried(k: int, kinds: int) -> None:
    design, n, times = random_channel(np.random.default_rng(k), k, kinds, 0.3), 400, 300
    tests = evidence(design, range(k), n, 0.05 / k, 0.8)
    assert all(test.smallest(0.05 / k, 0.8) < 1 for test in tests)
    truth = np.zeros(k)
    truth[1:] = 1 / (k - 1)
    counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(1), size=times)
    tally = grouped(design, counts)
    found = presence(tally, level=0.8, correction="holm", power=0.8)
    assert found.found[:, 0].mean() <= 0.2
    one = np.eye(k)[0] * tests[0].smallest(0.05 / k, 0.8)
    one[int(k > 1)] = 1 - one.sum()
    counts = simulate.reports_of_population(one, n, design, rng=np.random.default_rng(2), size=times)
    p_values = tests[0].p_value(observed(tests[0], counts))
    assert (p_values <= 0.05 / k).mean() >= 0.8 - 4 * np.sqrt(0.8 * 0.2 / times) - 0.03  # a normal law for the power


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_on_a_sum_of_scores_holds_whatever_the_others_hold(seed: int) -> None:
    k, n = 3, 12
    design = random_channel(np.random.default_rng(seed), k, k)
    table, weights = design.channel(), design.law.linear.weights()
    every = np.array([row for row in itertools.product(range(n + 1), repeat=k) if sum(row) == n])
    for place in range(k):
        others = np.delete(table, place, axis=0)
        test = tests_of_absence._summed(table[place], others, weights[:, place], n)
        p_values = test.p_value(observed(test, every))
        for reported in (*others, others.mean(axis=0)):
            law = multinomial.pmf(every, n, reported)
            for level in np.unique(p_values):
                assert law[p_values <= level].sum() <= level * (1 + 1e-9)


def test_where_a_table_is_too_large_the_result_says_approximate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.inference.presence.MOST_SEARCHED_CELLS", 1)
    found = estimate(Tally(KUK, [300, 380, 320])).present()
    assert found.approximate
    assert found.to_dict()["approximate"]
    assert "(approximate, the family-wise error rate is at most 5 %" in found.text()
    errors = estimate(Tally(KUK, [300, 380, 320])).table()["se"]
    assert found.smallest == pytest.approx((1.959963984540054 + 0.8416212335729143) * errors.max(), rel=1e-3)


@pytest.mark.filterwarnings("ignore:the reports do not seem to fit")
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 60), st.data())
def test_a_response_among_two_answers_and_its_channel_find_alike(a: int, b: int, n: int, data: Any) -> None:
    assume(a != b)
    yes = data.draw(st.integers(0, n))
    rows = [[Fraction(a, a + b), Fraction(b, a + b)], [Fraction(b, a + b), Fraction(a, a + b)]]
    first, second = (
        presence(Tally(design, [yes, n - yes]), level=0.95, correction="holm", power=0.8)
        for design in (RandomizedResponse(2, odds=(a, b)), Channel(rows, 2, 2))
    )
    assert_allclose(first.p_values, second.p_values, rtol=1e-9)
    assert_array_equal(first.found, second.found)
    assert first.smallest == pytest.approx(second.smallest)


def test_an_answer_that_reports_do_not_tell_is_never_found() -> None:
    finer = RandomizedResponse(["drinks", "does not"], odds=(3, 1)).coarsened(
        {"drinks": ["beer", "wine"], "does not": ["water"]}
    )
    found = estimate(Tally(finer, [60, 40])).present()
    assert_array_equal(found.p_values[:2], [1, 1])
    assert found.smallest == np.inf
    assert "not even a share of 100 % is detected" in found.text()


@pytest.mark.parametrize("odds", [(6, 1), (3, 1)])
def test_presence_from_sets(odds: tuple[int, int]) -> None:
    # Absent answers are supported by Bin(n, q) reports, exactly, whatever the others are.
    design, n, times = SubsetSelection(8, odds=odds, size=2), 400, 1500
    truth = np.array([0.6, 0.4, 0, 0, 0, 0, 0, 0])
    reports = some_surveys(design, truth, n, times)
    found = presence(reports, level=0.95, correction="holm", power=0.8)
    assert_allclose(found.p_values[:, 2], binom.sf(reports.counts[:, 2] - 1, n, design.q), rtol=1e-9)
    false = found.found[:, 2:].any(axis=-1).mean()
    assert false <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / times)
    share = float(found.smallest[0])
    held = some_surveys(design, np.array([1 - share, share, 0, 0, 0, 0, 0, 0]), n, times, seed=4)
    power = presence(held, level=0.95, correction="holm", power=0.8).found[:, 1].mean()
    assert power >= 0.8 - 4 * np.sqrt(0.16 / times)


def test_one_presence_through_every_door() -> None:
    found = GROUPED.present(level=0.9, correction="bh", power=0.7)
    table = found.table()
    assert list(table) == ["region", "value", "p_values", "adjusted", "found"]
    for name in ("p_values", "adjusted", "found"):
        assert_array_equal(table[name].reshape(3, 3), getattr(found, name))
    told = json.loads(found.to_json())
    assert told == found.to_dict()
    assert told["groups"] == [["north"], ["south"], [None]]
    assert (told["level"], told["correction"], told["power"]) == (0.9, "bh", 0.7)
    assert told["smallest"][1] is None
    for row, names in zip(found.found, told["found"], strict=True):
        assert names == [HALF.domain[i] for i in np.flatnonzero(row)]
    assert repr(found) == found.text()
    assert "the false discovery rate is about 10 %, which is not proven, in each group" in found.text()


def test_a_group_without_reports_says_so() -> None:
    found = GROUPED.present()
    assert "south: no reports" in found.text()
    assert np.isnan(found.p_values[1]).all()
    assert not found.found[1].any()
    alone = FOUND.present()
    assert_array_equal(found.p_values[0], alone.p_values)
    assert_array_equal(found.adjusted[0], alone.adjusted)
    assert found.smallest[0] == alone.smallest


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"level": 5}, "level must be between 0 and 1"),
        ({"level": 0}, "level must be between 0 and 1"),
        ({"power": 1}, "power must be between 0 and 1"),
        ({"correction": "none"}, 'correction must be "holm" or "bh"'),
    ],
)
def test_bad_input(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        FOUND.present(**options)


@pytest.mark.parametrize("sizes", [(30, 45), (12, 200), (20, 15, 25)])
@pytest.mark.parametrize("power", [0.3, 0.8])
def test_the_share_that_several_tests_find_together_by_enumeration(sizes: tuple[int, ...], power: float) -> None:
    tests, alpha = [tests_of_absence.own_count(n, 0.1 + 1 / n, 0.6) for n in sizes], 0.01
    counts = np.meshgrid(*(np.arange(n + 1.0) for n in sizes), indexing="ij", sparse=True)
    evidence = sum(-2 * np.log(test.p_value(count)) for test, count in zip(tests, counts, strict=True))
    enough = chi2.sf(evidence, 2 * len(sizes)) <= alpha  # Fisher's combination

    def detected(share: float) -> float:
        laws = [binom.pmf(count, n, 0.1 + 1 / n + 0.6 * share) for count, n in zip(counts, sizes, strict=True)]
        return float(np.where(enough, np.prod(np.broadcast_arrays(*laws), axis=0), 0).sum())

    found = tests_of_absence.smallest_together(tests, alpha, power)
    assert detected(found) >= power - 1e-9
    assert detected(0.99 * found) < power  # evidence is rounded down, so that it takes a bit more


def test_what_no_share_makes_likely_enough_is_found_by_none() -> None:
    tests = [tests_of_absence.own_count(n, 0.5, 0.1) for n in (3.0, 4.0)]
    assert tests_of_absence.smallest_together(tests, 0.01, 0.8) == np.inf


def test_weighted_reports_that_all_agree_have_the_p_value_of_so_many_effective_ones() -> None:
    # At a share of zero, all of n effective reports name it with probability q^n, here 1/4^n.
    weights = np.random.default_rng(0).uniform(0.2, 3, (300, 4))
    data = {"r": ["a"] * weights.size, "g": np.repeat(np.arange(300), 4), "w": weights.ravel()}
    found = estimated(tally(data, HALF_ABC, column="r", by="g", weights="w")).present()
    effective = weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1)
    assert_allclose(found.p_values[:, 0], 0.25**effective, rtol=1e-9)
    assert_array_equal(found.p_values[:, 1:], 1)


def test_answers_of_a_fine_grid_are_looked_for_without_a_matrix() -> None:
    design = SquareWave(3000, epsilon=1)
    counts = design.simulate(np.full(3000, 1 / 3000), 10**5, rng=np.random.default_rng(1))
    result = estimate(Tally(design, counts), method="inv")
    tracemalloc.start()
    result.present()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 100 * counts.nbytes  # the table of the channel has 3,000 times as many numbers


def test_the_law_of_a_test_of_many_reports_has_enough_points() -> None:
    test = CountTest(1e8, absent=0.4, least=0.4, present=0.6)
    evidence, chances = test.law(0.5)
    assert LAW_POINTS <= evidence.size <= 2 * LAW_POINTS
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    few, _ = CountTest(50, absent=0.4, least=0.4, present=0.6).law(0.5)
    assert few.size == 51  # every count
