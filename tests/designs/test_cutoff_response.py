"""The cut-off response: its table by hand, and the yeses that are binomial in the mean."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from references import reference
from warner import CutoffResponse, RandomizedResponse, Tally, estimate, grid, plan
from warner.designs.contract import LARGEST_CHANNEL
from warner.designs.facts import CumulativeSets, LinearCombination
from warner.inference.binomial import smallest_share
from warner.inference.intervals import readout_limits
from warner.inference.means import quantile_places
from warner.inference.presence import absence_p_values

NUMBERS = reference("numbers")


def test_the_worked_number() -> None:
    design = CutoffResponse([0, 1, 5, 20], odds=(3, 1))
    assert design.gaps == (1, 4, 15)
    yes = design.as_channel().weights[2, 1::2].sum()
    assert Fraction(int(yes), design.total) == Fraction(3, 8) == Fraction(1, 4) + Fraction(1, 2) * Fraction(5, 20)


@pytest.mark.parametrize("design", CutoffResponse.examples(), ids=str)
def test_a_yes_is_linear_in_the_number(design: CutoffResponse) -> None:
    weights = design.as_channel()
    yes = [Fraction(int(part), weights.total) for part in weights.weights[:, 1::2].sum(axis=1)]
    a, b = design.odds
    line = [Fraction(sum(design.gaps[:i]), sum(design.gaps)) for i in range(design.k)]
    assert yes == [Fraction(b, a + b) + Fraction(a - b, a + b) * u for u in line]
    # The readout says so, of the population; for the sample the distribution differs.
    memberships = np.array([line, [1 - u for u in line]], dtype=float)
    counts = np.arange(1, 2 * design.k - 1)[np.newaxis]
    n = counts.sum(keepdims=True).astype(float)
    readout = design.law.readout(counts, n, LinearCombination(memberships))
    assert readout.exact.all()
    assert readout.count[0].tolist() == [counts[0, 1::2].sum(), counts[0, ::2].sum()]
    assert_allclose(readout.share().sum(), 1)
    realised = design.law.readout(counts, n, LinearCombination(memberships), target="realised")
    assert not realised.exact.any()


def all_counts(columns: int, n: int) -> np.ndarray:
    """Return every way in which n reports can fall into columns."""
    if columns == 1:
        return np.array([[n]])
    parts = [(first, all_counts(columns - 1, n - first)) for first in range(n + 1)]
    return np.vstack([np.insert(rest, 0, first, axis=1) for first, rest in parts])


@pytest.mark.parametrize(
    ("design", "n"),
    [
        (CutoffResponse(3, odds=(3, 1)), 9),
        (CutoffResponse([0, 1, 5], odds=(9, 1)), 9),
        (CutoffResponse([0, 1, 3], odds=(1, 0)), 9),
        (CutoffResponse([0, 1, 5, 7], odds=(4, 1)), 6),
    ],
    ids=str,
)
def test_the_distribution_function_is_covered_whatever_it_is(design: CutoffResponse, n: int) -> None:
    # Summed over all counts, with the cut-offs without respondents: no tolerance but that of rounding.
    counts = all_counts(len(design.law.columns), n)
    logs = np.array([math.lgamma(n + 1) - sum(math.lgamma(c + 1) for c in row) for row in counts.tolist()])
    readout = design.law.readout(counts, np.full((len(counts), 1), float(n)), CumulativeSets(design.k - 1))
    assert readout.exact.all()
    each, band = (readout_limits(readout, tail, "population") for tail in (0.05, 0.05 / (design.k - 1)))
    assert each.methods == ("clopper_pearson",)
    nobody = counts[:, ::2] + counts[:, 1::2] == 0
    assert nobody.any()
    assert_allclose((each.low[nobody].max(), each.high[nobody].min()), (0, 1), atol=1e-6)
    limits = [np.insert(end, design.k - 1, 1, axis=1) for end in each[:2]]
    places = {
        tau: np.array([quantile_places(low, high, tau) for low, high in zip(*limits, strict=True)])
        for tau in (0.3, 0.5, 0.9)
    }
    for shares in all_counts(design.k, 5) / 5:
        law = np.exp(logs) * np.prod(design.law.likelihood().forward(shares) ** counts, axis=1)
        assert_allclose(law.sum(), 1)
        truth = shares.cumsum()
        held, jointly = ((ends.low <= truth[:-1] + 1e-9) & (truth[:-1] - 1e-9 <= ends.high) for ends in (each, band))
        assert (law @ held >= 0.9 - 1e-9).all()
        assert law @ jointly.all(axis=1) >= 0.9 - 1e-9
        for tau, (first, last) in ((tau, ends.T) for tau, ends in places.items()):
            place = int(np.argmax(truth >= tau - 1e-9))
            assert law @ ((first <= place) & (place <= last)) >= 0.9 - 1e-9


def test_half_lines_show_in_the_reports_with_their_cut_off() -> None:
    design = CutoffResponse([0, 1, 5, 20], odds=(3, 1))
    counts = np.array([[2, 5, 20, 30, 70, 60]])
    result = estimate(Tally(design, counts[0]))
    cumulative = result.interval(cumulative=True)
    assert cumulative.method == "clopper_pearson"
    assert not cumulative.approximate
    # 20 of the 50 who were asked about 5 said no, each with probability 1/4 + F/2.
    alone = estimate(Tally(CutoffResponse(["less", "more"], odds=(3, 1)), counts[0, 2:4])).interval("less")
    below, above, listed = result.interval(below=5), result.interval(above=1), result.interval([5, 20])
    for low, high in ((cumulative.low[1], cumulative.high[1]), (below.low, below.high)):
        assert_allclose((low, high), (alone.low, alone.high))
    for other in (above, listed):
        assert_allclose((other.low, other.high), (1 - alone.high, 1 - alone.low))
        assert not other.approximate
    assert result.median().method == "clopper_pearson"
    # For the sample, and for an answer and a stretch in the middle, no count is binomial.
    assert result.interval(below=5, target="realised").method == "linear"
    for answers in (1, 5, [1, 5]):
        assert result.interval(answers).method == "linear"


def test_the_first_and_the_last_answer_are_half_lines_at_every_door() -> None:
    design = CutoffResponse([0, 1, 5, 20], odds=(3, 1))
    result = estimate(Tally(design, [2, 5, 20, 30, 70, 60]))
    # 2 of the 7 who were asked about 1 said no, and 60 of the 130 who were asked about 20 said yes.
    first, last = (
        estimate(Tally(RandomizedResponse(["this", "other"], odds=(3, 1)), counts)).interval("this")
        for counts in ([2, 5], [60, 70])
    )
    cumulative, every, table = result.interval(cumulative=True), result.interval(), result.table()
    for same in (result.interval(0), result.interval(below=1), result.interval(within=(0, 0))):
        assert_allclose((same.low, same.high), (first.low, first.high), rtol=1e-12)
        assert same.method == "clopper_pearson"
        assert not same.approximate
    for same in (result.interval(20), result.interval(above=5), result.interval(within=(6, 99))):
        assert_allclose((same.low, same.high), (last.low, last.high), rtol=1e-12)
        assert not same.approximate
    assert_allclose((cumulative.low[0], cumulative.high[2]), (first.low, 1 - last.low), rtol=1e-12)
    for ends in ((every.low, every.high), (table["low"], table["high"])):
        assert_allclose([end[[0, 3]] for end in ends], [(first.low, last.low), (first.high, last.high)], rtol=1e-12)
    assert every.method == "clopper_pearson or linear"
    assert every.approximate  # some of them


def test_plans_and_tests_of_the_first_answer_count_those_who_are_asked() -> None:
    design = CutoffResponse([0, 1, 5, 20], odds=(3, 1))
    # One in twenty is asked about 1; at a share of a half, half of those say no.
    first = plan(design, people=4000, answer=0, share=0.5)
    alone = plan(RandomizedResponse(2, odds=(3, 1)), people=200, answer=0, share=0.5)
    assert first.half_width == pytest.approx(alone.half_width, rel=1e-12)
    assert first.smallest_share == pytest.approx(
        smallest_share(200, 0.25, 0.5, 0.05 / 4, 0.8),
        rel=1e-12,  # four answers are tested
    )
    # 60 of 200 noes, when 50 are expected if no respondent has 0.
    counts = np.array([60, 140, 300, 500, 1000, 2000])
    p_value = absence_p_values(design.law.readout(counts[np.newaxis], np.array([[4000]])))[0, 0]
    assert p_value == pytest.approx(binom.sf(59, 200, 0.25), rel=1e-9)


def test_scores_are_those_of_least_variance() -> None:
    design = CutoffResponse([0, 1, 5, 20, 30], odds=(5, 2))
    assert_allclose(design.law._scores(np.eye(5)).T, design.as_channel().law.linear.weights(), atol=1e-10)
    assert_allclose(
        design.law.linear.apply(np.arange(8) / 28),
        np.arange(8) / 28 @ design.as_channel().law.linear.weights(),
        atol=1e-10,
    )


def test_the_variance_of_a_mean_is_that_of_duchi() -> None:
    # Of a number from -1 to 1 whose mean is 0: ((e^eps + 1) / (e^eps - 1))^2
    for epsilon, worst in NUMBERS["worst_case_variance"].items():
        design = CutoffResponse(grid(-100, 100), epsilon=float(epsilon))
        variance = 4 * 0.25 / (design.p - design.q) ** 2
        assert_allclose(variance, worst["duchi"], rtol=1e-9)
        assert_allclose(variance, ((math.exp(float(epsilon)) + 1) / math.expm1(float(epsilon))) ** 2, rtol=1e-9)


def test_readouts_beyond_what_a_matrix_can_hold() -> None:
    k = LARGEST_CHANNEL + 4
    design = CutoffResponse(k, epsilon=1)
    shares = np.exp(-np.arange(k) / 700.0)
    shares /= shares.sum()
    reported = design.law.likelihood().forward(shares)
    assert_allclose(design.law.linear.apply(reported)[:20], shares[:20], atol=1e-9)
    assert_allclose(design.law.likelihood().adjoint(np.ones(2 * (k - 1))), np.ones(k))


def test_gaps_are_distances_of_numbers_or_given() -> None:
    assert CutoffResponse(["0.5", "1.0", "2.25"], epsilon=1).gaps == (2, 5)
    assert CutoffResponse(grid(0, 9_000, 3_000), epsilon=1).gaps == (1, 1, 1)
    assert CutoffResponse(["low", "middle", "high"], epsilon=1).gaps == (1, 1)
    assert CutoffResponse(["low", "middle", "high"], epsilon=1, gaps=[4, 6]).gaps == (2, 3)
    assert CutoffResponse([0, 1, 5], epsilon=1).with_epsilon(2) == CutoffResponse([0, 1, 5], epsilon=2)


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ({}, TypeError, "needs either epsilon or odds"),
        ({"odds": (1, 1)}, ValueError, "a > b, but got 1 : 1"),
        ({"epsilon": 1, "gaps": [1, 2]}, ValueError, "gaps must be 3 whole numbers above 0"),
        ({"epsilon": 1, "gaps": [1, 0, 2]}, ValueError, "gaps must be 3 whole numbers above 0"),
        ({"odds": (2**61, 1)}, ValueError, "below 2\\^62"),
    ],
)
def test_what_cannot_be_is_refused(arguments: Any, error: Any, complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        CutoffResponse(4, **arguments)


def test_the_device_can_be_worked_by_hand() -> None:
    # At odds 2 : 1 the opposite has probability 1/3: two faces of six. The gaps 1, 4 and 15 are numbers of cards.
    said = CutoffResponse([0, 1, 5, 20], odds=(2, 1)).in_words()
    assert "1 with 1, 4 with 5, 15 with 20, 20 in all" in " ".join(said.split())
    assert "rolls a die, unseen; if it shows 1 or 2, the reply is the opposite" in " ".join(said.split())
    tenths = " ".join(CutoffResponse(range(11), odds=(7, 3)).in_words().split())
    assert "one for each of 10 amounts, from 1 to 10" in tenths
    assert "a die with 10 sides, unseen; if it shows at most 3" in tenths
    assert "No usual die" in CutoffResponse(range(11), epsilon=1).in_words()
    for odds in ((2, 1), (5, 1), (7, 3), (19, 1), (3, 1)):  # what the faces say is what the design draws, exactly
        design = CutoffResponse(3, odds=odds)
        found = re.search(r"a die(?: with (\d+) sides)?, unseen; if it shows (1 or 2|1|at most (\d+))", design._die())
        assert found is not None
        faces = {"1": 1, "1 or 2": 2}.get(found[2]) or int(found[3])
        assert Fraction(faces, int(found[1] or 6)) == Fraction(odds[1], sum(odds))
