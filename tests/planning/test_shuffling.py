"""Privacy amplification by shuffling: against enumeration, other bounds and brute force."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import multinomial, norm

from references import reference
from warner import (
    BitFlips,
    Channel,
    HadamardResponse,
    Memoized,
    ProjectiveGeometry,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from warner.planning.shuffling import _delta, _grid, _Pair, _smallest_epsilon, shuffled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warner.designs.contract import Design

Histograms = dict[tuple[int, ...], float]


def shuffled_reports(truths: Iterable[int], design: RandomizedResponse) -> Histograms:
    """Return the exact distribution of the histogram of reports: all that a shuffler lets out."""
    channel = design.channel()
    found: Histograms = {(0,) * design.k: 1.0}
    for truth in truths:
        following: Counter[tuple[int, ...]] = Counter()
        for histogram, probability in found.items():
            for report in range(design.k):
                longer = list(histogram)
                longer[report] += 1
                following[tuple(longer)] += probability * channel[truth, report]
        found = dict(following)
    return found


def true_delta(epsilon: float, n: int, design: RandomizedResponse) -> float:
    """Every pair of neighboring inputs: by symmetry, the true answer of one respondent is 0 or 1."""
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(design.k), n - 1):
        first, second = (shuffled_reports([own, *others], design) for own in (0, 1))
        worst = max(worst, sum(max(p - math.exp(epsilon) * second[h], 0) for h, p in first.items()))
    return worst


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("design", [(2, (3, 1)), (3, (5, 1)), (3, (3, 2)), (4, (8, 1)), (3, (1, 3)), (2, (1, 4))])
def test_the_bound_holds_for_every_pair_of_neighbours(design: tuple[int, tuple[int, int]], n: int) -> None:
    survey = RandomizedResponse(design[0], odds=design[1])
    for delta in (0.2, 0.05, 1e-2, 1e-4):
        bound = shuffled(survey, n, delta)
        assert true_delta(bound, n, survey) <= delta
        assert bound <= survey.epsilon


def test_two_answers_are_bounded_nearly_without_loss() -> None:
    # All others holding the same answer is the worst case, in which hardly more is known than the proof gives away.
    survey = RandomizedResponse(2, odds=(3, 1))
    bound = shuffled(survey, 20, 0.01)
    assert true_delta(bound, 20, survey) <= 0.01
    assert true_delta(0.5 * bound, 20, survey) > 0.01


def exact_delta(epsilon: float, n: int, pair: _Pair) -> float:
    """Sum the expectation over all counts of the multinomial."""
    rest = pair.neither
    growth, total = math.exp(epsilon), 0.0
    for x0, x1, x2 in itertools.product(range(n + 1), repeat=3):
        if x0 + x1 + x2 > n or (x2 and not rest):
            continue
        gain = (pair.larger - pair.smaller * growth) * x0 - (pair.larger * growth - pair.smaller) * x1
        gain -= pair.third * (growth - 1) * x2
        if gain > 0:
            chances = [pair.blanket, pair.blanket, rest, 1 - 2 * pair.blanket - rest]
            total += gain * multinomial.pmf([x0, x1, x2, n - x0 - x1 - x2], n, chances)
    return total / (n * pair.blanket)


@pytest.mark.parametrize("odds", [(4, 1), (1, 3)])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_grid_is_the_expectation_where_every_count_is_on_it(k: int, odds: tuple[int, int]) -> None:
    survey = RandomizedResponse(k, odds=odds)
    larger, smaller = max(survey.p, survey.q), min(survey.p, survey.q)
    pair = _Pair(larger, smaller, survey.q, smaller, (k - 2) * smaller)
    grid = _grid(0.0, pair, 14, 1e-15)
    for epsilon in (0.0, 0.2, 0.7, 1.0):
        assert_allclose(_delta(epsilon, pair, 14, grid), exact_delta(epsilon, 14, pair), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("k", [2, 5, 60])
def test_a_coarser_grid_never_gives_less(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = RandomizedResponse(k, epsilon=1.5)
    pair = _Pair(survey.p, survey.q, survey.q, survey.q, (k - 2) * survey.q)
    epsilon, found = shuffled(survey, 4000, 1e-8), []
    settings = [
        ((2000, 800), 2**14),
        ((2000, 40), 100),
        ((160, 40), 2**14),
        ((160, 40), 100),
        ((20, 8), 2**14),
        ((20, 8), 10),
    ]
    for nodes, wide in settings:
        monkeypatch.setattr("warner.planning.shuffling.GRID_NODES", nodes)
        monkeypatch.setattr("warner.planning.shuffling.COUNTS_ONE_BY_ONE", wide)
        found.append(_delta(epsilon, pair, 4000, _grid(0.0, pair, 4000, 1e-14)))
    fine = found[0]
    assert 0.5e-8 < fine <= 1e-8  # a third off is one hundredth of epsilon
    assert min(found[1:]) >= fine


def test_the_clones_of_feldman_mcmillan_and_talwar() -> None:
    # The README of their code (github.com/apple/ml-shuffling-amplification, for FOCS 2021) prints, for 10^5 reports of
    # local epsilon 4 and delta 1e-6: between 0.1675385583317841 and 0.172790550755978. In their reduction the victim
    # is distinguishable by odds e^4 : 1, and each other respondent is a clone with probability e^-4, of either kind.
    growth = math.exp(4)
    pair = _Pair(growth / (growth + 1), 1 / (growth + 1), 0.0, math.exp(-4) / 2, 0.0)
    assert 0.1675385583317841 <= _smallest_epsilon(pair, 10**5, 1e-6, 4.0) <= 0.172790550755978


def closed_form(local: float, n: int, delta: float) -> float:
    """Theorem 3.1 of Feldman, McMillan and Talwar, for any mechanism; for local epsilon <= ln(n / (16 ln(2/delta)))."""
    assert local <= math.log(n / (16 * math.log(2 / delta)))
    term = 8 * math.sqrt(math.exp(local) * math.log(4 / delta) / n) + 8 * math.exp(local) / n
    return math.log1p(math.tanh(local / 2) * term)


def test_the_closed_form_is_what_its_authors_print() -> None:
    # Their README prints 0.5378040242374512 for the same setting, with the slightly larger factor of an older theorem.
    assert_allclose(closed_form(4, 10**5, 1e-6), 0.5378, rtol=0.02)


@pytest.mark.parametrize("k", [2, 10, 1000])
@pytest.mark.parametrize("local", [0.1, 1, 3])
def test_knowing_the_mechanism_beats_the_closed_form_for_any(k: int, local: float) -> None:
    for n in (10**4, 10**6):
        bound = shuffled(RandomizedResponse(k, epsilon=local), n, 1e-8)
        assert 0 < bound < closed_form(local, n, 1e-8) / 2


def test_more_people_and_a_larger_delta_only_help(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = RandomizedResponse(8, epsilon=2)
    by_people = [shuffled(survey, n, 1e-9) for n in (1, 10, 100, 1000, 10**4, 10**5, 10**6, 10**7)]
    assert by_people == sorted(by_people, reverse=True)
    assert by_people[0] == survey.epsilon
    # A hundred times the people, a tenth of the epsilon (and a little less, once there are many).
    assert 9 < by_people[5] / by_people[7] < 12
    monkeypatch.setattr("warner.planning.shuffling.MOST_SHUFFLED", 10**5)  # what is beyond is taken as known
    assert shuffled(survey, 10**12, 1e-9) == by_people[5]
    by_delta = [shuffled(survey, 10**4, delta) for delta in (1e-12, 1e-9, 1e-6, 1e-3, 0.1)]
    assert by_delta == sorted(by_delta, reverse=True)


@pytest.mark.parametrize("k", [2, 4, 100])
def test_a_billion_reports_are_as_private_as_a_normal_limit(k: int) -> None:
    # The log-likelihood ratio is near (p-q)/q times the difference of two counts of variance nq each, over n: normal,
    # with standard deviation m = (p-q)/q sqrt(2q/n). Of two normals that far apart (Balle and Wang, ICML 2018),
    # delta = Phi(m/2 - epsilon/m) - e^epsilon Phi(-m/2 - epsilon/m).
    survey, n, delta = RandomizedResponse(k, epsilon=1), 10**9, 1e-9
    m = (survey.p - survey.q) / survey.q * math.sqrt(2 * survey.q / n)

    def excess(epsilon: float) -> float:
        return float(norm.cdf(m / 2 - epsilon / m) - math.exp(epsilon) * norm.cdf(-m / 2 - epsilon / m)) / delta - 1

    limit = brentq(excess, m, 10 * m, xtol=1e-12)
    assert limit < shuffled(survey, n, delta) < 1.06 * limit


def test_what_nothing_hides_and_what_hides_everything() -> None:
    assert shuffled(RandomizedResponse(3, odds=(1, 0)), 10**6, 1e-6) == math.inf
    assert shuffled(RandomizedResponse(3, odds=(0, 1)), 10**6, 1e-6) == math.inf
    assert shuffled(RandomizedResponse(3, odds=(1, 1)), 1, 1e-6) == 0


@pytest.mark.parametrize("n", [0, -3, 2.5, True])
def test_people_must_be_a_number_of_people(n: int) -> None:
    with pytest.raises(ValueError, match="n must be a whole number"):
        shuffled(RandomizedResponse(3, epsilon=1), n, 1e-6)


@pytest.mark.parametrize("delta", [0, 1, -1e-9, np.nan])
def test_delta_must_be_a_probability(delta: float) -> None:
    with pytest.raises(ValueError, match="delta must be between 0 and 1"):
        shuffled(RandomizedResponse(3, epsilon=1), 100, delta)


@pytest.mark.parametrize(
    ("design", "rule"),
    [
        (Channel([["3/4", "1/4"], ["1/4", "3/4"]], 2, 2), "same response probabilities.* but got a channel"),
        (BitFlips(5, odds=(3, 1), size=2), "same response probabilities.* but got a bit flips"),
        (Memoized.response(3, eps_infinity=2, eps_first=1), "one report from each respondent.* a memoized"),
    ],
    ids=["table", "bit flips", "memoized"],
)
def test_designs_that_the_proof_is_not_for_are_rejected(design: Design, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        shuffled(design, 100, 1e-6)


# Reports that support sets

REFERENCE = {case["id"]: case for case in reference("asking")["cases"] if case["item"] == 7}
SET_VALUED = {
    "shuffled_SS2_100_e4": SubsetSelection(100, epsilon=4, size=2),
    "shuffled_SS_100_e2": SubsetSelection(100, epsilon=2),
    "shuffled_OUE_64_e1": UnaryEncoding(64, epsilon=1),
    "shuffled_OUE_100_e4": UnaryEncoding(100, epsilon=4),
    "shuffled_PGR_1000_e1": ProjectiveGeometry(1000, epsilon=1),
    "shuffled_HR_100_e4": HadamardResponse(100, epsilon=4),
    "shuffled_PGR_1000_e2": ProjectiveGeometry(1000, epsilon=2),
}


@pytest.mark.parametrize("name", SET_VALUED)
def test_bounds_of_sets_against_the_reference(name: str) -> None:
    case = REFERENCE[name]
    bound = shuffled(SET_VALUED[name], case["input"]["n"], case["input"]["delta"])
    least, proven = case["value"]["at_least"], case["value"]["proven"]
    assert_allclose(bound, proven, rtol=case["tolerance"])
    assert least <= bound <= 1.03 * least


def true_delta_of_sets(epsilon: float, n: int, design: Any) -> float:
    """Hockey-stick divergence of all shuffled outcomes, over all neighboring inputs; reports by their supports."""
    patterns = np.array(list(itertools.product([0, 1], repeat=design.k)), dtype=bool)
    (low, high), p = design.ratio, design.p
    reports = [row for row in patterns if row.any() or isinstance(design, UnaryEncoding)]
    if isinstance(design, SubsetSelection):
        reports = [row for row in reports if row.sum() == design.size]
        rows = np.array([[high if row[x] else low for row in reports] for x in range(design.k)], dtype=float)
        rows /= rows.sum(axis=1, keepdims=True)
    else:
        rates = np.where(np.eye(design.k, dtype=bool), p, design.q)
        rows = np.array([[np.where(row, rates[x], 1 - rates[x]).prod() for row in reports] for x in range(design.k)])
    assert_allclose([rows[x, [i for i, row in enumerate(reports) if row[x]]].sum() for x in range(design.k)], p)
    worst = 0.0
    outcomes = list(itertools.combinations_with_replacement(range(len(reports)), n))
    for truths in itertools.combinations_with_replacement(range(design.k), n - 1):
        chances = []
        for own in (0, 1):
            orders = [
                rows[[own, *truths]][range(n), list(order)].prod()
                for order in itertools.product(range(len(reports)), repeat=n)
            ]
            keys = [tuple(sorted(order)) for order in itertools.product(range(len(reports)), repeat=n)]
            total: dict[tuple[int, ...], float] = defaultdict(float)
            for key, chance in zip(keys, orders, strict=True):
                total[key] += float(chance)
            chances.append(np.array([total[outcome] for outcome in outcomes]))
        worst = max(worst, float(np.maximum(chances[0] - math.exp(epsilon) * chances[1], 0).sum()))
    return worst


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize(
    "design",
    [SubsetSelection(4, odds=(5, 1), size=2), UnaryEncoding(3, odds=(4, 1)), SubsetSelection(5, odds=(3, 1), size=3)],
)
def test_bounds_of_sets_hold_for_all_shuffled_outcomes(design: Any, n: int) -> None:
    for delta in (0.2, 0.05, 0.01):
        bound = shuffled(design, n, delta)
        assert true_delta_of_sets(bound, n, design) <= delta
        assert bound <= design.epsilon


def test_a_set_of_one_answer_is_randomized_response() -> None:
    single = SubsetSelection(5, odds=(3, 1), size=1)
    assert shuffled(single, 1000, 1e-6) == shuffled(RandomizedResponse(5, odds=(3, 1)), 1000, 1e-6)
