"""Several collections under different designs, estimated together, and their readouts (`normal`)."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import combine_pvalues

from cases import FORCED, KUK, PAIRS
from tables import grouped, log_likelihood
from warner import Channel, RandomizedResponse, Tally, check, estimate, pool, simulate, surveys
from warner.designs.facts import full_symmetry
from warner.estimators import METHODS
from warner.inference.comparisons import compare, compare_groups
from warner.inference.intervals import Confidence, interval, limits
from warner.inference.normal import Sampled, sampled_together
from warner.inference.presence import presence

if TYPE_CHECKING:
    from numpy.typing import NDArray

YES = ["yes", "no"]
CROSSWISE = Channel([["1/4", "3/4"], ["3/4", "1/4"]], YES, ["same", "differ"])
THREE, NINE = RandomizedResponse(YES, odds=(3, 1)), RandomizedResponse(YES, odds=(9, 1))
ABC = ["a", "b", "c", "d"]
DICE = Channel(
    [
        ["5/8", "1/8", "1/8", "1/8"],
        ["1/8", "4/8", "2/8", "1/8"],
        ["1/8", "1/8", "5/8", "1/8"],
        ["1/4", "1/8", "1/8", "1/2"],
    ],
    ABC,
    4,
)
MIXTURES: dict[str, list[Any]] = {
    "responses": [RandomizedResponse(ABC, odds=(4, 1)), RandomizedResponse(ABC, odds=(12, 1))],
    "upright and inverted": [RandomizedResponse(ABC, odds=(6, 1)), RandomizedResponse(ABC, odds=(1, 6))],
    "a response and a channel": [RandomizedResponse(ABC, odds=(4, 1)), DICE],
    "sets and a response": [PAIRS, RandomizedResponse(ABC, odds=(4, 1))],
    "all of them": [PAIRS, RandomizedResponse(ABC, odds=(4, 1)), DICE],
}
every_mixture = pytest.mark.parametrize("name", MIXTURES)
TARGETS = ["population", "realised"]
every_target = pytest.mark.parametrize("target", TARGETS)
TRUTHS = [[0.45, 0.3, 0.2, 0.05], [0.3, 0.3, 0.2, 0.2], [0.6, 0.2, 0.15, 0.05]]  # of three parts, or three groups


def tallied(designs: list[Any], rows: Any, sizes: Any) -> Any:
    """Pool one histogram for each design."""
    return pool([Tally(one, row, n=n) for one, row, n in zip(designs, rows, sizes, strict=True)])


def surveyed(designs: list[Any], drawn: Any, sizes: Any) -> Any:
    """Pool many histograms for each design: a group for each survey, which is what it would be alone (see below)."""
    return pool([grouped(one, rows, n) for one, rows, n in zip(designs, drawn, sizes, strict=True)])


def in_groups(designs: list[Any], *, weighted: bool = False, seed: int = 1) -> Any:
    """Pool histograms of three groups of a hundred or more people under each design."""
    rng, groups, tallies = np.random.default_rng(seed), (("x",), ("y",), (None,)), []
    for place, design in enumerate(designs):
        n = np.array([300, 200, 400]) + 50 * place
        rows = [simulate.reports_of_population(truth, m, design, rng=rng) for truth, m in zip(TRUTHS, n, strict=True)]
        kind = float if weighted else int
        options: dict[str, Any] = {"squares": n.astype(float)} if weighted else {}
        tallies.append(Tally(design, np.array(rows, kind), n=n.astype(kind), by=("g",), groups=groups, **options))
    return pool(tallies)


# A pool is what its parts are


@every_mixture
def test_a_pool_of_one_design_is_its_tally(name: str) -> None:
    for design in MIXTURES[name]:
        counts = simulate.reports_of_population(TRUTHS[0], 400, design, rng=np.random.default_rng(2), size=2)
        halves = [Tally(design, row, n=400) for row in counts]
        whole = Tally(design, counts.sum(axis=0), n=800)
        assert pool([whole]) == whole
        assert pool(halves) == whole
        assert estimate(pool(halves)).text() == estimate(whole).text()
        assert check(pool(halves)).text() == check(whole).text()


@every_mixture
def test_the_order_of_the_parts_makes_no_difference(name: str) -> None:
    designs, rng = MIXTURES[name], np.random.default_rng(3)
    tallies = [Tally(one, simulate.reports_of_population(TRUTHS[0], 500, one, rng=rng), n=500) for one in designs]
    one, other = (estimate(pool(parts)) for parts in (tallies, tallies[::-1]))
    assert_allclose(one.shares, other.shares, atol=1e-9)
    for target in TARGETS:
        first, second = (found.table(target=target) for found in (one, other))
        for column in ("low", "high", "se", "people"):
            assert_allclose(first[column], second[column], atol=1e-6)
        p_values = [found.compare("a", "b", target=target).p_value for found in (one, other)]
        assert p_values[0] == pytest.approx(p_values[1])
    assert_allclose(one.present().p_values, other.present().p_values, rtol=1e-9)
    assert check(one.tally).p_value == pytest.approx(check(other.tally).p_value)


@every_mixture
@pytest.mark.parametrize(
    "method", [*(name for name, one in METHODS.items() if not (one.symmetric or one.one_collection)), "auto", None]
)
def test_groups_are_estimated_as_each_alone(name: str, method: str | None) -> None:
    together = in_groups(MIXTURES[name])
    if method in {"mle", "ibu"} and PAIRS in MIXTURES[name]:
        with pytest.raises(TypeError, match="its likelihood needs the reports themselves"):
            estimate(together, method=method)
        return
    found = estimate(together, method=method)
    assert found.shares.shape == (3, 4)
    for place in range(3):
        alone = estimate(tallied(*of_group(together, place)), method=method)
        assert_allclose(found.shares[place], alone.shares, atol=1e-9)
        assert_allclose(found.log_likelihood[place], alone.log_likelihood, rtol=1e-9)
        if alone.certificate is not None:
            assert found.certificate is not None
            assert_allclose(found.certificate.gap[place], alone.certificate.gap, atol=1e-6)
    assert method != "auto" or len(found.choices) == 3


@every_mixture
@pytest.mark.parametrize("method", [name for name, one in METHODS.items() if one.symmetric or one.one_collection])
def test_estimators_of_one_collection_refuse_several(name: str, method: str) -> None:
    with pytest.raises(TypeError, match=f"method must not be '{method}' here: it is for one collection .* use mle"):
        estimate(in_groups(MIXTURES[name]), method=method)


def of_group(together: Any, place: int) -> tuple[list[Any], list[Any], list[Any]]:
    parts = together.parts
    return [part.design for part in parts], [part.counts[place] for part in parts], [part.n[place] for part in parts]


@every_mixture
@every_target
def test_groups_have_the_intervals_of_each_alone(name: str, target: str) -> None:
    together = in_groups(MIXTURES[name])
    ends = limits(together, Confidence(target=target), sets=[[0], [1, 2], [0, 1, 2, 3]])
    compared = compare(together, "a", "b", Confidence(target=target))
    commonest = estimate(together, method="inv").commonest(2, target=target)
    for place in range(3):
        alone = tallied(*of_group(together, place))
        own = limits(alone, Confidence(target=target), sets=[[0], [1, 2], [0, 1, 2, 3]])
        assert_allclose([end[place] for end in ends[:3]], [end[0] for end in own[:3]], atol=1e-12)
        one = compare(alone, "a", "b", Confidence(target=target))
        for field in ("difference", "low", "high", "ratio_low", "p_value"):
            assert_allclose(getattr(compared, field)[place], getattr(one, field), atol=1e-12)
        assert_array_equal(commonest.certain[place], estimate(alone, method="inv").commonest(2, target=target).certain)


@every_mixture
def test_groups_have_the_findings_of_each_alone(name: str) -> None:
    together = in_groups(MIXTURES[name])
    present = presence(together, level=0.95, correction="holm", power=0.8)
    for place in range(3):
        alone = presence(tallied(*of_group(together, place)), level=0.95, correction="holm", power=0.8)
        assert_allclose(present.p_values[place], alone.p_values, atol=1e-12)
        assert_allclose(present.smallest[place], alone.smallest)


@every_mixture
def test_weights_of_one_change_nothing(name: str) -> None:
    plain, weighted = in_groups(MIXTURES[name]), in_groups(MIXTURES[name], weighted=True)
    assert weighted.weighted
    assert_allclose(weighted.effective, plain.n)
    first, second = estimate(plain), estimate(weighted)
    assert_allclose(first.shares, second.shares, atol=1e-9)
    assert_allclose(first.present().p_values, second.present().p_values, rtol=1e-9)
    for target in TARGETS:
        one, two = first.table(target=target), second.table(target=target)
        for field in ("share", "people", "se", "low", "high"):
            assert_allclose(one[field], two[field], atol=1e-7)
        compared, other = (found.compare("a", "b", target=target) for found in (first, second))
        assert_allclose([compared.low, compared.high], [other.low, other.high], atol=1e-9)
        assert other.approximate
    plainly, heavily = check(plain), check(weighted)
    for one, two in zip(plainly.findings, heavily.findings, strict=True):
        assert_allclose(one.p_values, two.p_values, rtol=1e-9)
    assert plainly.agreement is not None
    assert heavily.agreement is not None  # tests/inference/test_agreement.py compares their numbers
    assert heavily.agreement.approximate.all()
    assert "approximate" in heavily.text()


def test_weights_count_as_their_effective_number() -> None:
    # Weights of 2 throughout: the same shares, and half of nothing else.
    rows = [(THREE, [80, 120]), (NINE, [70, 130])]
    plain = estimate(pool([Tally(design, counts) for design, counts in rows]))
    doubled = estimate(pool([Tally(design, np.array(c) * 2.0, squares=4.0 * 200) for design, c in rows]))
    assert_allclose(plain.shares, doubled.shares, atol=1e-9)
    for field in ("low", "high", "se"):
        assert_allclose(plain.table()[field], doubled.table()[field], atol=1e-9)
    with pytest.raises(ValueError, match="all with weights or all without"):
        pool([Tally(THREE, [1, 2]), Tally(NINE, [1.0, 2.0], squares=3.0)])


def test_a_group_that_is_missing_in_a_part_is_told_by_the_others() -> None:
    first = Tally(THREE, [[80, 120], [30, 70]], by=("g",), groups=((1,), (2,)))
    second = Tally(NINE, [[60, 140], [90, 110]], by=("g",), groups=((2,), (3,)))
    found = estimate(pool([first, second]))
    assert found.tally.groups == ((1,), (2,), (3,))
    for place, alone in ((0, Tally(THREE, [80, 120])), (2, Tally(NINE, [90, 110]))):
        one = estimate(alone)
        assert_allclose(found.shares[place], one.shares, atol=1e-9)
        assert_allclose(found.table()["low"].reshape(3, 2)[place], one.table()["low"])
        assert_allclose(found.log_likelihood[place], one.log_likelihood)
    both = estimate(pool([Tally(THREE, [30, 70]), Tally(NINE, [60, 140])]))
    assert_allclose(found.shares[1], both.shares, atol=1e-9)
    assert_allclose(found.table()["low"].reshape(3, 2)[1], both.table()["low"])


def test_a_group_of_which_no_design_tells_anything_is_refused_by_its_name() -> None:
    silent = Tally(RandomizedResponse(YES, odds=(1, 1)), [[5, 5], [6, 4]], by=("g",), groups=(("x",), ("y",)))
    first = Tally(THREE, [[80, 120]], by=("g",), groups=(("x",),))
    with pytest.raises(ValueError, match="every group must have reports of a design with an epsilon above 0, but y"):
        estimate(pool([first, silent]))
    both = estimate(pool([first, Tally(silent.design, [[5, 5]], by=("g",), groups=(("x",),))]))
    assert_allclose(both.shares[0], estimate(Tally(THREE, [80, 120])).shares, atol=1e-9)


def test_groups_that_were_asked_under_different_designs_are_compared() -> None:
    # (0.40 - 1/4) / (1/2) = 0.30 in the first group, (0.26 - 1/10) / (4/5) = 0.20 in the second.
    first = Tally(THREE, [[400, 600]], by=("g",), groups=((1,),))
    second = Tally(NINE, [[260, 740]], by=("g",), groups=((2,),))
    found = estimate(pool([first, second])).compare("yes", between=(1, 2))
    assert found.unbiased == pytest.approx(0.1)
    assert found.low < 0.1 < found.high


@every_target
def test_differences_between_groups_under_different_designs_cover(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.inference.comparisons.MOST_REPORTS", 0)  # as if they were many: normal intervals
    times, n, rng = 300, (300, 200), np.random.default_rng(12)
    holders, designs = (90, 40), (THREE, NINE)
    drawn = [
        simulate.reports_of_population([held / m, 1 - held / m], m, design, rng=rng, size=times)
        if target == "population"
        else simulate.reports_of_people([held, m - held], design, rng=rng, size=times)
        for held, m, design in zip(holders, n, designs, strict=True)
    ]
    covered = 0
    for (one, two), same in Counter(zip(*(rows[:, 0].tolist() for rows in drawn), strict=True)).items():
        tallies = [
            Tally(design, [[yes, m - yes]], by=("g",), groups=((place,),))
            for place, (design, yes, m) in enumerate(zip(designs, (one, two), n, strict=True))
        ]
        found = compare_groups(pool(tallies), "yes", (0, 1), Confidence(target=target))
        covered += same * (found.low <= 0.3 - 0.2 <= found.high)
    assert abs(covered / times - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)


# What both say


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


def test_channels_pool_with_responses() -> None:
    rng, truth = np.random.default_rng(2), [0.2, 0.8]
    made: list[Any] = [FORCED, CROSSWISE, RandomizedResponse(YES, odds=(4, 1))]
    tallies = [Tally(one, simulate.reports_of_population(truth, 4000, one, rng=rng)) for one in made]
    found = estimate(pool(tallies))
    assert found.certificate is not None
    assert found.certificate.excess <= 1e-9
    assert abs(found.shares[0] - 0.2) < 0.05
    assert found.interval("yes").low < 0.2 < found.interval("yes").high


@every_mixture
def test_all_say_the_same_if_they_have_very_many_reports(name: str) -> None:
    designs, n = MIXTURES[name], 10**12
    rows = []
    for design in designs:
        law = (
            design.law.likelihood().forward(np.eye(4))
            if full_symmetry(design.law) is None
            else design.q + design.symmetry.gain * np.eye(4)
        )
        rows.append(np.rint(n * np.array(TRUTHS[0]) @ law).astype(np.int64))
    sizes = [n if design.law.exclusive else int(row.sum()) // 2 for design, row in zip(designs, rows, strict=True)]
    for row, design, size in zip(rows, designs, sizes, strict=True):  # counts must sum to what they are counted for
        row[0] += (size if design.law.exclusive else 2 * size) - row.sum()
    pooled = [name for name, method in METHODS.items() if not (method.symmetric or method.one_collection)]
    for method in pooled if PAIRS not in designs else ("inv", "inv_p", "inv_n"):
        found = estimate(tallied(designs, rows, sizes), method=method)
        assert_allclose(found.shares, TRUTHS[0], atol=1e-5)


@pytest.mark.parametrize("method", ["inv", "inv_p", "mle"])
def test_a_pool_is_more_precise_than_each_of_its_parts(method: str) -> None:
    designs, times, n, rng = MIXTURES["responses"], 300, 400, np.random.default_rng(4)
    drawn = [simulate.reports_of_population(TRUTHS[0], n, one, rng=rng, size=times) for one in designs]
    shares = [
        estimate(surveyed(designs[part], drawn[part], [n, n][part]), method=method).shares
        for part in (slice(None), slice(1), slice(1, None))
    ]
    together, *alone = ((one - TRUTHS[0]) ** 2 for one in shares)
    for errors in alone:
        gain = (errors - together).sum(axis=1)
        assert gain.mean() > 2 * gain.std() / np.sqrt(times)


def test_unbiased_shares_of_a_pool_are_unbiased() -> None:
    designs, times, n, rng = MIXTURES["all of them"], 400, 300, np.random.default_rng(5)
    drawn = [simulate.reports_of_population(TRUTHS[0], n, one, rng=rng, size=times) for one in designs]
    shares = estimate(surveyed(designs, drawn, [n] * 3), method="inv").shares
    assert (np.abs(shares.mean(axis=0) - TRUTHS[0]) <= 4 * shares.std(axis=0) / np.sqrt(times)).all()
    assert_allclose(shares.sum(axis=1), 1, atol=1e-9)


# Intervals


POOLS = [
    ([(3, 1), (9, 1)], [600, 300], [0.3, 0.7]),
    ([(4, 1), (20, 1), (2, 1)], [1000, 300, 2000], [0.5, 0.3, 0.15, 0.05, 0]),
    ([(5, 1), (1, 5)], [800, 800], [0.6, 0.4, 0]),
]


@pytest.mark.parametrize(("odds", "sizes", "truth"), POOLS)
def test_pooled_intervals_cover(odds: list[tuple[int, int]], sizes: list[int], truth: list[float]) -> None:
    times, rng = 300, np.random.default_rng(5)
    made = [RandomizedResponse(len(truth), odds=one) for one in odds]
    pairs = zip(made, sizes, strict=True)
    together = pool(
        [grouped(one, simulate.reports_of_population(truth, n, one, rng=rng, size=times)) for one, n in pairs]
    )
    ends = interval(together, None, Confidence())
    assert ends.methods == ("exact",)
    covered = ((ends.low <= truth) & (truth <= ends.high)).mean(axis=0)
    error = 4 * np.sqrt(0.95 * 0.05 / times)
    assert (covered >= 0.95 - error).all()
    inside = [share not in (0, 1) for share in truth]
    assert (covered[inside] <= 0.96 + error).all()
    compared = compare(together, 0, 1, Confidence())
    apart = ((compared.low <= truth[0] - truth[1]) & (truth[0] - truth[1] <= compared.high)).mean()
    assert abs(apart - 0.95) <= 0.01 + error  # a point for the normal law


@every_mixture
@every_target
def test_intervals_of_every_mixture_cover(name: str, target: str) -> None:
    designs, times, n, rng = MIXTURES[name], 250, 600, np.random.default_rng(6)
    drawn, people = [], []
    for design, truth in zip(designs, TRUTHS, strict=False):
        if target == "population":
            drawn.append(simulate.reports_of_population(TRUTHS[0], n, design, rng=rng, size=times))
        else:  # every part has people of its own, with shares of their own
            people.append(np.rint(np.array(truth) * n).astype(int))
            drawn.append(simulate.reports_of_people(people[-1], design, rng=rng, size=times))
    everybody = np.array(TRUTHS[0]) if target == "population" else np.sum(people, axis=0) / (n * len(designs))
    sets = [[0], [3], [0, 2]]
    ends = limits(surveyed(designs, drawn, [n] * len(designs)), Confidence(target=target), sets=sets)
    shares = np.array([everybody[members].sum() for members in sets])
    covered = ((ends.low <= shares) & (shares <= ends.high)).mean(axis=0)
    allowed = 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)  # a point for the normal law
    assert (np.abs(covered - 0.95) <= allowed).all()


@every_mixture
@every_target
def test_differences_of_every_mixture_cover(name: str, target: str) -> None:
    designs, times, rng = MIXTURES[name], 250, np.random.default_rng(7)
    sizes = [900, 300, 600][: len(designs)]
    drawn, people = [], []
    for design, truth, n in zip(designs, TRUTHS[1:] + TRUTHS[:1], sizes, strict=False):
        if target == "population":
            drawn.append(simulate.reports_of_population(TRUTHS[0], n, design, rng=rng, size=times))
        else:
            people.append(np.rint(np.array(truth) * n).astype(int))
            drawn.append(simulate.reports_of_people(people[-1], design, rng=rng, size=times))
    everybody = np.array(TRUTHS[0]) if target == "population" else np.sum(people, axis=0) / sum(sizes)
    found = compare(surveyed(designs, drawn, sizes), "a", "b", Confidence(target=target))
    real = everybody[0] - everybody[1]
    covered = ((found.low <= real) & (real <= found.high)).mean()
    assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)
    assert abs(found.unbiased.mean() - real) <= 4 * found.unbiased.std() / np.sqrt(times)


@every_target
def test_differences_of_two_binary_channels_cover(target: str) -> None:
    # Of two answers the difference is twice a share less one: binomial in both parts.
    designs, sizes, times, rng = [FORCED, CROSSWISE], [700, 900], 400, np.random.default_rng(8)
    held = [210, 450]
    drawn = [
        simulate.reports_of_people([h, n - h], one, rng=rng, size=times)
        if target == "realised"
        else simulate.reports_of_population([0.3, 0.7], n, one, rng=rng, size=times)
        for h, n, one in zip(held, sizes, designs, strict=True)
    ]
    share = sum(held) / sum(sizes) if target == "realised" else 0.3
    found = compare(surveyed(designs, drawn, sizes), "yes", "no", Confidence(target=target))
    covered = ((found.low <= 2 * share - 1) & (2 * share - 1 <= found.high)).mean()
    assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)
    # As wide as the estimates vary: within four standard errors of a standard deviation, 1/sqrt(2 R) relative.
    told = (found.high - found.low).mean() / 2 / 1.959963984540054
    assert told == pytest.approx(found.unbiased.std(), rel=4 / np.sqrt(2 * times))


@pytest.mark.parametrize("sizes", [[40, 25], [12, 30]])
def test_realised_intervals_of_few_people_cover(sizes: list[int]) -> None:
    # So few that nothing is normal: averages of exact ends.
    designs, times, rng = (
        [RandomizedResponse(4, odds=(30, 1)), RandomizedResponse(4, odds=(60, 1))],
        400,
        np.random.default_rng(9),
    )
    people = [np.array([m // 2, m - m // 2, 0, 0]) for m in sizes]
    drawn = [
        simulate.reports_of_people(one, design, rng=rng, size=times)
        for one, design in zip(people, designs, strict=True)
    ]
    truth = np.sum(people, axis=0) / sum(sizes)
    ends = interval(surveyed(designs, drawn, sizes), None, Confidence(target="realised"))
    assert ends.methods == ("exact",)
    assert not ends.approximate
    covered = ((ends.low <= truth) & (truth <= ends.high)).mean(axis=0)
    assert (covered >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / times)).all()


def test_what_was_not_randomized_is_known_in_a_pool() -> None:
    plain = Tally(RandomizedResponse(YES, odds=(1, 0)), [3, 7])
    also = Tally(Channel([[1, 0], [0, 1]], YES, ["y", "n"]), [6, 4])
    found = interval(pool([plain, also]), "yes", Confidence(target="realised"))
    assert_allclose([found.low, found.high], [9 / 20, 9 / 20], atol=1e-12)


def test_a_design_that_never_lies_is_pooled() -> None:
    # 3 of 10 by direct question, 12 of 30 with truth 3/4, which is (0.4 - 0.25) / 0.5: both say 0.3
    plain = Tally(RandomizedResponse(YES, odds=(1, 0)), [3, 7])
    found = estimate(pool([plain, Tally(RandomizedResponse(YES, odds=(3, 1)), [12, 18])]))
    assert_allclose(found.shares, [0.3, 0.7], rtol=1e-9)
    assert found.interval("yes").low < 0.3 < found.interval("yes").high


def test_pooled_answers_that_nobody_holds_are_rarely_found() -> None:
    k, n, times, rng = 100, 100, 300, np.random.default_rng(6)
    made, truth = [RandomizedResponse(k, epsilon=epsilon) for epsilon in (1, 2)], np.zeros(k)
    truth[:3] = 1 / 3
    drawn = [simulate.reports_of_population(truth, n, one, rng=rng, size=times) for one in made]
    found = presence(surveyed(made, drawn, [n, n]), level=0.95, correction="holm", power=0.8).found
    assert found[:, 3:].any(axis=1).mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / times)


@every_mixture
def test_pooled_presence_is_fishers_combination(name: str) -> None:
    designs, rng = MIXTURES[name], np.random.default_rng(11)
    tallies = [
        Tally(one, simulate.reports_of_population([0.95, 0.03, 0.02, 0], 200, one, rng=rng), n=200) for one in designs
    ]
    apart = np.array([presence(one, level=0.95, correction="holm", power=0.8).p_values for one in tallies])
    together = presence(pool(tallies), level=0.95, correction="holm", power=0.8).p_values
    assert_allclose(together, [combine_pvalues(column, method="fisher").pvalue for column in apart.T], rtol=1e-9)


def test_pooled_simultaneous_intervals_hold_all_at_once() -> None:
    k, n, times, rng = 100, 1000, 200, np.random.default_rng(7)
    made, truth = [RandomizedResponse(k, epsilon=epsilon) for epsilon in (1, 2)], np.zeros(k)
    truth[:3] = 1 / 3
    drawn = [simulate.reports_of_population(truth, n, one, rng=rng, size=times) for one in made]
    ends = interval(surveyed(made, drawn, [n, n]), None, Confidence(simultaneous=True))
    covered = ((ends.low <= truth) & (truth <= ends.high)).all(axis=1)
    assert covered.mean() >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / times)


def test_pools_with_parts_that_rule_something_out() -> None:
    mangat, triangular = surveys.mangat("7/10"), surveys.triangular("1/4")
    first = estimate(pool([Tally(mangat, [315, 485]), Tally(surveys.warner("7/10"), [40, 60])]))
    assert np.isfinite(first.present().p_values).all()
    assert np.isfinite(first.table()["se"]).all()
    with pytest.warns(UserWarning, match="do not seem to come from one population"):
        second = estimate(pool([Tally(triangular, [100, 0]), Tally(surveys.crosswise("1/4"), [60, 40])]))
    assert second.table()["se"].min() > 0
    for found in (first, second):
        assert (found.table()["low"] <= found.table()["high"]).all()
        assert json.loads(found.to_json())["values"]


@every_target
@every_mixture
def test_everything_together_is_known_in_a_pool(name: str, target: str) -> None:
    together = in_groups(MIXTURES[name])
    whole = interval(together, ABC, Confidence(target=target))
    assert_array_equal([whole.low, whole.high], np.ones((2, 3)))
    cumulative = interval(together, None, Confidence(target=target), cumulative=True)
    assert_array_equal([cumulative.low[:, -1], cumulative.high[:, -1]], np.ones((2, 3)))


def test_a_pool_with_a_linear_part() -> None:
    rng, truth, n, times = np.random.default_rng(9), [0.3, 0.7], 500, 300
    parts: list[Any] = [KUK, RandomizedResponse(YES, odds=(3, 1))]
    drawn = [simulate.reports_of_population(truth, n, one, rng=rng, size=times) for one in parts]
    ends = interval(surveyed(parts, drawn, [n, n]), "yes", Confidence())
    assert ends.method == "linear"
    covered = ((ends.low <= 0.3) & (ends.high >= 0.3)).mean()
    assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / times)
    found = estimate(tallied(parts, [rows[0] for rows in drawn], [n, n]))
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
    with pytest.raises(ValueError, match=r"must have .* epsilon above 0"):
        estimate(pool([more[0], more[1]]))
    assert_allclose(found.present().p_values, alone.present().p_values, rtol=1e-9)


def test_reports_that_tell_nothing_have_a_likelihood_all_the_same() -> None:
    # Every method sees the same reports: at the same shares, the same likelihood.
    silent = RandomizedResponse(YES, odds=(1, 1))
    parts = [Tally(THREE, [40, 60]), Tally(NINE, [34, 66]), Tally(silent, [5, 7])]
    told = {method: estimate(pool(parts), method=method) for method in ("mle", "inv", "inv_p", "inv_n")}
    for found in told.values():
        assert_allclose(found.shares, [0.3, 0.7], atol=1e-9)
        by_hand = sum(log_likelihood([0.3, 0.7], part.counts, part.design) for part in parts[:2]) + 12 * np.log(0.5)
        assert found.log_likelihood == pytest.approx(by_hand, rel=1e-9)


def test_pooled_limits_grow_with_the_level() -> None:
    found = estimate(pool([Tally(RandomizedResponse(YES, odds=(o, 1)), [40, 60]) for o in (3, 4)]))
    ends: list[NDArray[np.float64]] = [found.interval(level=level).low for level in (0.5, 0.9, 0.99)]
    for narrow, wide in pairwise(ends):
        assert (wide <= narrow).all()


def test_collections_that_contradict_each_other_are_averaged() -> None:
    # Nearly as one collection of 40 reports, of which 20 say yes: 33.5 to 66.5 %. The one with less noise
    # tells more, which breaks ties. Whether they fit is another question.
    made = [RandomizedResponse(YES, odds=(99, 1)), RandomizedResponse(YES, odds=(199, 1))]
    found = interval(pool([Tally(made[0], [0, 20]), Tally(made[1], [20, 0])]), "yes", Confidence())
    alone = interval(Tally(made[0], [20, 20]), "yes", Confidence())
    assert_allclose([found.low, found.high], [alone.low, alone.high], atol=0.03)
    assert not found.approximate


def test_pooled_counts_below_the_noise_leave_room() -> None:
    made = [RandomizedResponse(YES, odds=(3, 1)), RandomizedResponse(YES, odds=(9, 1))]
    found = interval(pool([Tally(one, [5, 995]) for one in made]), None, Confidence())
    exact = interval(
        pool([Tally(one, [n, 1000 - n]) for one, n in zip(made, (250, 100), strict=True)]), None, Confidence()
    )
    assert_allclose(found.high[0], exact.high[0], rtol=1e-9)  # as if there were as many as noise alone gives
    assert_allclose(found.low[1], exact.low[1], rtol=1e-9)


# Whether they fit


def test_each_part_of_a_pool_is_checked() -> None:
    good, bad = Tally(THREE, [40, 60]), Tally(NINE, [0, 100])
    found = check(pool([good, bad]))
    assert not found.fits
    assert len(found.findings) == 2
    assert len(found.tests) == 3  # two answers are one count with one exact test; and the test of one population
    alone = [check(part) for part in (good, bad)]
    for part, one in zip(found.findings, alone, strict=True):
        for test, own in zip(part.tests, one.tests, strict=True):
            assert test.name == own.name
            assert_allclose(test.p_value, own.p_value)
    smallest = min(float(test.p_value[0]) for test in found.tests)
    assert found.p_value == pytest.approx(min(1, 3 * smallest))
    assert [mask.tolist() for mask in found.misfits] == [[False, False], [True, False]]
    assert "Collection 2, RandomizedResponse among 2 answers" in found.text()
    told = json.loads(found.to_json())
    assert len(told["designs"]) == 2
    assert [len(part["tests"]) for part in told["groups"][0]["collections"]] == [1, 1]


@every_mixture
def test_one_wrong_part_is_found_in_every_group(name: str) -> None:
    designs = MIXTURES[name]
    good = in_groups(designs)
    assert check(good).fits
    for wrong in range(len(designs)):
        parts = list(good.parts)
        counts = parts[wrong].counts.copy()
        if designs[wrong] is PAIRS:  # every set holds the first two answers
            counts[1] = [parts[wrong].n[1]] * 2 + [0, 0]
        else:
            counts[1] = 0
            counts[1, 3] = parts[wrong].n[1]
        parts[wrong] = Tally(designs[wrong], counts, n=parts[wrong].n, by=("g",), groups=good.groups)
        found = check(pool(parts))
        assert not found.fits
        assert_array_equal(found.group_fits, [True, False, True])
        assert found.findings[wrong].misfits[1].any()
        assert not any(part.misfits.any() for place, part in enumerate(found.findings) if place != wrong)


@pytest.mark.parametrize("truth", [[1, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0]])
@every_mixture
def test_pools_that_fit_pass_at_least_at_the_level(name: str, truth: list[float]) -> None:
    designs, times, n, rng = MIXTURES[name], 150, 300, np.random.default_rng(10)
    drawn = [simulate.reports_of_population(truth, n, one, rng=rng, size=times) for one in designs]
    found = check(surveyed(designs, drawn, [n] * len(designs)), simulations=99, level=0.8)
    # The p-value of a group is that of its survey alone; verdicts and misfits take all groups into account.
    assert (found.p_value < 0.2).mean() <= 0.2 + 4 * np.sqrt(0.2 * 0.8 / times)
    assert not [mask[found.group_fits] for mask in found.misfits if mask[found.group_fits].any()]
    for place in range(0, times, 25):
        alone = check(tallied(designs, [rows[place] for rows in drawn], [n] * len(designs)), simulations=99, level=0.8)
        assert alone.p_value == pytest.approx(found.p_value[place], rel=1e-12)
        assert alone.fits == (alone.p_value >= 1 - alone.level)
        assert alone.fits <= (not any(mask.any() for mask in alone.misfits))


def test_doubt_of_a_pool_counts_the_chances_of_all_parts() -> None:
    # P(Bin(100, 1/4) <= 13) = 0.0025 alone, and three times that for two parts and their agreement;
    # P(Bin(100, 1/4) <= 14) = 0.0054 alone, and three times that is no longer below 0.01.
    odd, less_odd, fine = Tally(THREE, [13, 87]), Tally(THREE, [14, 86]), Tally(NINE, [10, 90])
    for reports, p in ((odd, "0.002"), (pool([fine, odd]), "0.007"), (less_odd, "0.005")):
        with pytest.warns(UserWarning, match=rf"do not seem to fit the design: .* \(p = {p}\)"):
            estimate(reports)
    estimate(pool([fine, less_odd]))


def test_fakes_in_a_pool() -> None:
    # 5 fakes among 100 reports under either: 5 / (100 * 0.5) and 5 / (100 * 0.8); the larger is told.
    together = pool([Tally(THREE, [40, 60]), Tally(NINE, [34, 66])])
    assert check(together).moved_by(5) == pytest.approx(0.1)
    assert "in the collection where that is most" in " ".join(check(together, fakes=5).text().split())


def test_a_pool_of_designs_that_say_nothing_cannot_be_checked() -> None:
    silent = pool(
        [Tally(RandomizedResponse(YES, odds=(1, 1)), [5, 7]), Tally(Channel([["1/3", "2/3"]] * 2, YES, 2), [5, 7])]
    )
    with pytest.raises(ValueError, match="epsilon above 0"):
        check(silent).text()


# The choice of an estimator


def test_auto_chooses_for_a_pool() -> None:
    together = in_groups(MIXTURES["responses"])
    found = estimate(together, method="auto")
    assert len(found.choices) == 3
    for place, option in enumerate(found.choices):
        alone = estimate(tallied(*of_group(together, place)), method="auto")
        (other,) = alone.choices
        assert other.method == option.method
        assert other.errors == pytest.approx(option.errors, rel=1e-12)  # sums of the same surveys in another order
        wanted = estimate(together, method=option.method).shares[place]
        assert_allclose(found.shares[place], wanted, atol=1e-12)
    assert found.text().startswith("Estimated shares (auto: ")
    sets = estimate(in_groups(MIXTURES["sets and a response"]), method="auto")
    assert {option.method for option in sets.choices} <= {"inv_p", "inv_n"}


# Words


def test_a_pool_is_said_in_words() -> None:
    together = pool([Tally(FORCED, [40, 160], missing=1), Tally(CROSSWISE, [146, 54], unknown=2)])
    assert together.shown_epsilon() == max((FORCED, CROSSWISE), key=lambda one: one.epsilon).shown_epsilon()
    found = estimate(together)
    text = found.text()
    assert "400 reports" in text
    assert f"epsilon at most {together.shown_epsilon()}" in text
    document = json.loads(found.to_json())
    assert len(document["designs"]) == 2
    assert (document["reports"], document["missing"], document["unknown"]) == (400, 1, 2)
    assert "reports" not in found.table()
    assert [row["share"] for row in document["values"]] == found.shares.tolist()
    with pytest.raises(AttributeError, match="a pool has several designs"):
        found.design  # noqa: B018


def test_a_method_is_left_out_for_a_pool() -> None:
    with pytest.raises(ValueError, match="method must be left out for pooled collections, but got 'wilson'"):
        estimate(pool([Tally(THREE, [40, 60]), Tally(NINE, [34, 66])])).interval("yes", method="wilson")


def test_a_collection_without_information_has_no_part_in_an_average() -> None:
    share, noise, reports = np.array([0.1, 0.3]), np.array([0.0, np.inf]), np.array([100.0, 200.0])
    average = sampled_together(Sampled(share, noise, reports))
    assert average.share == pytest.approx(0.1)
    assert average.reports == pytest.approx(100)
