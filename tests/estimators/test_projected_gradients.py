"""The most likely shares by spectral projected gradients: certified, from reports of any kind, in few passes."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from references import reference
from strategies import counts_of, designs_of
from warner import (
    Channel,
    ChannelOperator,
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    channel_mle,
    estimate,
    inv_p,
    mle,
    simulate,
    tally,
)
from warner.estimators.ibu import extrapolated
from warner.estimators.maximum_likelihood import Blocks, Point, newton, projected_gradients

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.arrays import Array, Counts
    from warner.designs.contract import Design

SUPPORT = {case["name"]: case for case in reference("support")["estimates"]}


def uniform(k: int) -> Array:
    return np.full(k, 1 / k)


def by_loops(shares: Array, matrix: Array, counts: Counts) -> tuple[float, Array]:
    """Return log-likelihood and g, report by report: what a pass should give."""
    value, growth = 0.0, np.zeros(len(shares))
    for column, count in zip(matrix.T, counts, strict=True):
        if count:
            probability = math.fsum(shares * column)
            value += count * math.log(probability)
            growth += count * column / probability
    return value, growth / sum(counts)


def drawn(design: Design, s: float, n: int, seed: int = 1) -> tuple[Blocks, Array]:
    """Draw the reports of n people with Zipf's shares; give them as one block, and what inv_p says."""
    rng, truth = np.random.default_rng(seed), simulate.zipf(design.k, s)
    if design.law.sufficient == "histogram":
        operator = design.law.likelihood()
        expected = operator.forward(truth)
        kinds = rng.multinomial(n, expected / expected.sum())
        sums = design.law.count(np.arange(len(kinds)), kinds)
        return Blocks([(operator, kinds)]), inv_p(sums.counts, design, n=sums.n)
    reports = design.draw(rng.choice(design.k, p=truth, size=n), rng.bytes)
    sums = design.law.count(reports)
    return Blocks([(design.law.likelihood(reports), np.ones(n))]), inv_p(sums.counts, design, n=sums.n)


# Against values from outside


@pytest.mark.parametrize("case", SUPPORT.values(), ids=SUPPORT)
def test_reports_that_support_sets_match_the_reference(case: dict[str, Any]) -> None:
    table = np.zeros((len(case["supports"]), case["K"]), dtype=bool)
    for row, members in zip(table, case["supports"], strict=True):
        row[members] = True
    a, b = case["odds"]
    matrix, times = np.where(table.T, a, b) / a, np.array(case["multiplicity"])
    start = np.array([float(Fraction(share)) for share in case["inv_p"]])
    wanted = np.array([float(share) for share in case["mle"]])
    for begin in (start, uniform(case["K"])):
        fit = projected_gradients(Blocks([(ChannelOperator.of_matrix(matrix), times)]), begin, gap=0, passes=300)
        assert_allclose(fit.shares, wanted, atol=1e-7)  # a gap of rounding leaves about its square root
        value, growth = by_loops(fit.shares, matrix, times)
        assert growth.max() - 1 <= 1e-14
        told = float(case["sum_n_log_b_plus_(a-b)theta(S)"]) - sum(times) * math.log(a)
        assert fit.log_likelihood == pytest.approx(value, rel=1e-13)
        assert value == pytest.approx(told, rel=1e-13)


def test_the_worked_example() -> None:
    # Two of five answers in each set, odds 3 : 1. With shares (.9, .1, 0, 0, 0) the probabilities are, up to a factor,
    # 3, 2.8, 2.8, 2.8, 1.2, 1.2, 1, 1, and g_0 = g_1 = 1: (27/3 + 42/2.8 + 5/1.2 + 1/1.2 + 2)/31 = 31/31.
    case = SUPPORT["ss_k5"]
    design = SubsetSelection(5, odds=(3, 1), size=2)
    table = np.zeros((8, 5), dtype=bool)
    for row, members in zip(table, case["supports"], strict=True):
        row[members] = True
    reports = Blocks([(design.law.likelihood(np.packbits(table, axis=1)), np.array(case["multiplicity"]))])
    assert_allclose(reports.evaluated(np.array([0.9, 0.1, 0, 0, 0])).growth[:2], 1, atol=1e-15)
    fit = projected_gradients(reports, uniform(5), gap=1e-12)
    assert_allclose(fit.shares, [0.9, 0.1, 0, 0, 0], atol=1e-6)


# A pass


def test_a_pass_gives_what_loops_over_the_reports_give() -> None:
    rng = np.random.default_rng(2)
    matrix, counts = rng.random((4, 6)), np.array([3, 0, 5, 1, 0, 7])
    matrix[:, 1] = 0  # impossible, and never reported: of no consequence
    shares = rng.dirichlet(np.ones(4))
    point = Blocks([(ChannelOperator.of_matrix(matrix), counts)]).evaluated(shares, squares=True)
    value, growth = by_loops(shares, matrix, counts)
    assert point.n == 16
    assert point.value == pytest.approx(value / 16, rel=1e-14)
    assert_allclose(point.growth, growth, rtol=1e-14)
    assert point.gap == pytest.approx(16 * math.log(growth.max()))
    assert shares @ point.growth == pytest.approx(1, abs=1e-14)
    # D is the diagonal of minus the Hessian, after a constant is taken from each column: the end nearer to its mean.
    middle = (matrix.min(axis=0) + matrix.max(axis=0)) / 2
    usual = np.where(matrix.mean(axis=0) <= middle, matrix.min(axis=0), matrix.max(axis=0))
    expected = np.where(counts, shares @ matrix, 1)
    assert point.squares is not None
    assert_allclose(point.squares, ((matrix - usual) ** 2 @ (counts / expected**2)) / 16, rtol=1e-13)


def test_shares_that_rule_out_a_report_are_infinitely_bad() -> None:
    reports = Blocks([(ChannelOperator.of_matrix(np.eye(2)), np.array([3, 1]))] * 2)
    point = reports.evaluated(np.array([1.0, 0.0]), squares=True)
    assert point.n == 8
    assert point.value == -math.inf
    assert point.gap == math.inf
    fit = projected_gradients(reports, np.array([1.0, 0.0]))  # and yet it can begin there
    assert_allclose(fit.shares, [0.75, 0.25], atol=1e-6)


def test_an_operator_that_gives_back_its_argument_does_no_harm() -> None:
    start = np.array([0.5, 0.5, 0.0])
    identity = ChannelOperator((3, 3), lambda x: x, lambda w: w, None, lambda w: w)
    fit = projected_gradients(Blocks([(identity, np.array([30, 10, 0]))]), start)
    assert_array_equal(start, [0.5, 0.5, 0.0])
    assert_allclose(fit.shares, [0.75, 0.25, 0], atol=1e-6)


class Streamed:
    """Blocks that are made anew at each pass, and counted."""

    def __init__(self, design: Design, reports: Array, size: int) -> None:
        self.design, self.reports, self.size, self.passes = design, reports, size, 0

    def __iter__(self) -> Iterator[tuple[ChannelOperator, Array]]:
        self.passes += 1
        for first in range(0, len(self.reports), self.size):
            part = self.reports[first : first + self.size]
            yield self.design.law.likelihood(part), np.ones(len(part))


@pytest.mark.parametrize("design", [SubsetSelection(12, epsilon=2), UnaryEncoding(12, epsilon=1)], ids=repr)
def test_blocks_do_not_matter_and_steps_are_passes(design: Design) -> None:
    rng = np.random.default_rng(3)
    reports = design.draw(rng.choice(12, p=simulate.zipf(12, 1), size=700), rng.bytes)
    whole = projected_gradients(Blocks([(design.law.likelihood(reports), np.ones(700))]), uniform(12), gap=1e-9)
    stream = Streamed(design, reports, 100)
    fit = projected_gradients(Blocks(stream), uniform(12), gap=1e-9)
    assert stream.passes == fit.steps
    assert_allclose(fit.shares, whole.shares, atol=1e-9)
    assert fit.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-14)
    kinds, times = np.unique(reports, axis=0, return_counts=True)
    collapsed = projected_gradients(Blocks([(design.law.likelihood(kinds), times)]), uniform(12), gap=1e-9)
    assert_allclose(collapsed.shares, whole.shares, atol=1e-9)


def test_factors_of_single_reports_do_not_matter() -> None:
    rng = np.random.default_rng(4)
    matrix, counts = rng.dirichlet(np.ones(7), 5), rng.integers(1, 40, 7)
    factors = 10.0 ** rng.uniform(-6, 6, 7)
    plain, scaled = (
        projected_gradients(Blocks([(ChannelOperator.of_matrix(table), counts)]), uniform(5), gap=1e-10)
        for table in (matrix, matrix * factors)
    )
    assert_allclose(scaled.shares, plain.shares, atol=1e-8)
    assert scaled.log_likelihood == pytest.approx(plain.log_likelihood + counts @ np.log(factors), rel=1e-12)


def test_weights_are_fractions_of_reports() -> None:
    blocks, start = drawn(LocalHashing(20, epsilon=1), 1.3, 2000)
    ((operator, kinds),) = blocks.blocks
    fit = projected_gradients(blocks, start, gap=1e-9)
    weighted = projected_gradients(Blocks([(operator, kinds * 0.37)]), start, gap=1e-9)
    assert_allclose(weighted.shares, fit.shares, atol=1e-8)
    assert weighted.log_likelihood == pytest.approx(0.37 * fit.log_likelihood)


def test_several_designs_are_several_blocks() -> None:
    rng, truth = np.random.default_rng(5), simulate.zipf(6, 1)
    designs = [RandomizedResponse(6, epsilon=1), HadamardResponse(6, epsilon=2), RandomizedResponse(6, odds=(1, 3))]
    operators = [design.law.likelihood() for design in designs]
    counts = [rng.multinomial(1500, operator.forward(truth)) for operator in operators]
    fit = projected_gradients(Blocks(list(zip(operators, counts, strict=True))), uniform(6), gap=1e-10)
    matrix = np.hstack([operator.forward(np.eye(6)) for operator in operators])
    best = newton(matrix, np.concatenate(counts) / 4500, 4500)
    assert_allclose(fit.shares, best.shares, atol=1e-7)
    assert fit.log_likelihood == pytest.approx(best.log_likelihood, abs=1e-9)


# Laws, and comparison with other solvers


@pytest.mark.parametrize("inverted", [False, True])
def test_randomized_response_in_fractions(inverted: bool) -> None:
    @given(data=st.data(), k=st.integers(2, 5))
    def holds(data: st.DataObject, k: int) -> None:
        counts = data.draw(counts_of(k, 30).filter(lambda counts: max(counts) <= 30))
        design = data.draw(designs_of(k, inverted=inverted))
        if abs(design.p - design.q) < 0.02:
            return
        fit = projected_gradients(
            Blocks([(design.law.likelihood(), np.array(counts))]), uniform(k), gap=1e-10, passes=500
        )
        assert fit.gap <= 1e-10
        exact = [float(share) for share in oracle.mle(counts, design)]
        if counts.count(0) <= 1 or not inverted:
            # A gap of 1e-10 leaves at most its square root over the curvature, at least (p-q)^2 / 30.
            assert_allclose(fit.shares, exact, atol=1e-5 * 6 / abs(design.p - design.q))
        lost = by_loops(np.array(exact), design.channel(), np.array(counts))[0] - fit.log_likelihood
        assert lost <= fit.gap + 1e-10

    holds()


def random_problem(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Draw a small channel, most of them odd in some way, with counts, and a start that may rule them out."""
    k, m = int(rng.integers(2, 8)), int(rng.integers(1, 10))
    kind = rng.integers(7)
    if kind == 0:
        matrix = rng.dirichlet(np.full(m, 10 ** rng.uniform(-1, 2)), k)
    elif kind == 1:
        matrix = rng.integers(0, 4, (k, m)).astype(float)
    elif kind == 2:
        matrix = (rng.random((k, m)) < 0.5).astype(float)
    elif kind == 3:
        matrix = np.where(rng.random((k, m)) < rng.random(), *rng.integers(0, 12, 2).astype(float))
    elif kind == 4:
        matrix = np.full((k, k), rng.random() ** 3) + np.diag(np.full(k, rng.random()))
    elif kind == 5:
        matrix = rng.dirichlet(np.ones(m), k)
        matrix[rng.integers(k)] = matrix[rng.integers(k)]
    else:
        matrix = 10.0 ** rng.uniform(-8, 0, (k, m))
    matrix = matrix[:, matrix.max(axis=0) > 0]
    m = matrix.shape[1]
    counts = rng.integers(0, 5 if rng.random() < 0.5 else 10 ** int(rng.integers(1, 4)), m).astype(float)
    if m and not counts.any():
        counts[0] = 1
    start = uniform(k) if rng.random() < 0.5 else rng.dirichlet(np.full(k, 0.05))
    return matrix, counts, start


def test_random_channels_against_newtons_method() -> None:
    rng, problems = np.random.default_rng(6), 0
    while problems < 400:
        matrix, counts, start = random_problem(rng)
        if not counts.size:
            continue
        problems += 1
        fit = projected_gradients(Blocks([(ChannelOperator.of_matrix(matrix), counts)]), start, passes=2000)
        seen = counts > 0
        best = newton(np.ascontiguousarray(matrix[:, seen]), counts[seen] / counts.sum(), float(counts.sum()))
        value, growth = by_loops(fit.shares, matrix, counts)
        assert fit.shares.min() >= 0
        assert fit.shares.sum() == pytest.approx(1, abs=1e-14)
        assert fit.gap <= 1e-6
        assert fit.gap == pytest.approx(counts.sum() * math.log(max(growth.max(), 1)), abs=1e-9)
        assert fit.log_likelihood == pytest.approx(value, rel=1e-12, abs=1e-12)
        assert best.log_likelihood - value <= fit.gap + 1e-10


@pytest.mark.parametrize("s", [0.01, 1.3, 2.5])
@pytest.mark.parametrize(
    "design",
    [
        ProjectiveGeometry(57, epsilon=2),
        HadamardResponse(60, epsilon=1),
        LocalHashing(60, epsilon=1),
        UnaryEncoding(60, epsilon=1),
        SubsetSelection(60, epsilon=2),
    ],
    ids=lambda design: design.mechanism,
)
def test_as_good_as_newtons_method(design: Design, s: float) -> None:
    blocks, start = drawn(design, s, 3000)
    ((operator, amounts),) = blocks.blocks
    fit = projected_gradients(blocks, start, gap=0, passes=300)
    assert operator.matrix is not None
    seen = amounts > 0
    best = newton(operator.matrix()[:, seen], amounts[seen] / 3000, 3000.0)
    assert best.unique
    assert fit.excess <= 1e-13
    assert_allclose(fit.shares, best.shares, atol=1e-10)


# Few passes


@pytest.mark.parametrize("s", [0.01, 1.3, 2.5])
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize("mechanism", [ProjectiveGeometry, HadamardResponse, LocalHashing])
def test_structured_designs_take_few_passes(mechanism: Any, epsilon: float, s: float) -> None:
    for k, n in ((16, 10**4), (256, 10**6)):
        blocks, start = drawn(mechanism(k, epsilon=epsilon), s, n)
        near, there = projected_gradients(blocks, start, gap=1e-6 * n), projected_gradients(blocks, start)
        assert near.gap <= 1e-6 * n
        assert near.steps <= 60
        assert there.gap <= 1e-6
        assert there.steps <= 120


@pytest.mark.parametrize("design", [UnaryEncoding(64, epsilon=1), SubsetSelection(64, epsilon=4)], ids=repr)
def test_reports_that_are_bits_take_few_passes_and_em_takes_many(design: Design) -> None:
    blocks, start = drawn(design, 1.3, 2000)
    ((operator, amounts),) = blocks.blocks
    fit = projected_gradients(blocks, start, gap=1e-6 * 2000)
    assert fit.steps <= 15
    shares = uniform(64)
    for _ in range(30 * fit.steps):  # EM, from equal shares: inv_p has zeros, which it could not leave
        shares = shares * operator.adjoint(amounts / operator.forward(shares)) / 2000
    assert 2000 * math.log(blocks.evaluated(shares).growth.max()) > fit.gap


def test_an_answer_that_inv_p_cut_off_comes_back() -> None:
    blocks, start = drawn(UnaryEncoding(30, epsilon=2), 1.3, 1000)
    fit = projected_gradients(blocks, start)
    assert ((start == 0) & (fit.shares > 1e-3)).any()
    assert fit.gap <= 1e-6
    vertex = np.zeros(30)
    vertex[29] = 1.0
    assert projected_gradients(blocks, vertex).log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-6)


# The edges


@pytest.mark.parametrize(
    ("counts", "design", "wanted"),
    [
        ([40, 60], RandomizedResponse(2, truth="3/4"), [0.3, 0.7]),
        ([1, 0], RandomizedResponse(2, truth="3/4"), [1, 0]),  # a single report
        ([0, 0, 9], RandomizedResponse(3, epsilon=1), [0, 0, 1]),  # all equal
        ([5, 5, 5, 5], RandomizedResponse(4, epsilon=0.1), [0.25, 0.25, 0.25, 0.25]),  # a tie
        ([5, 0, 15], RandomizedResponse(3, odds=(1, 0)), [0.25, 0, 0.75]),  # no noise
        ([30, 25, 20], RandomizedResponse(3, odds=(1, 4)), [2 / 15, 1 / 3, 8 / 15]),  # p < q: 4/3 - c/25
        ([3, 0, 3], RandomizedResponse(3, odds=(0, 1)), [0, 1, 0]),  # never the true answer
        ([1e-3, 3e-3], RandomizedResponse(2, truth="3/4"), [0, 1]),  # next to nothing
        ([4e12, 6e12], RandomizedResponse(2, truth="3/4"), [0.3, 0.7]),  # all the world
    ],
)
def test_small_and_extreme_cases(counts: list[float], design: RandomizedResponse, wanted: list[float]) -> None:
    for start in (uniform(design.k), np.eye(design.k)[0], np.eye(design.k)[-1]):
        fit = projected_gradients(
            Blocks([(design.law.likelihood(), np.array(counts))]), start, gap=1e-13 * sum(counts), passes=200
        )
        assert_allclose(fit.shares, wanted, atol=1e-5)
        assert fit.excess <= 1e-12


def test_it_ends_at_rounding_whatever_gap_is_asked_for() -> None:
    blocks, start = drawn(ProjectiveGeometry(31, epsilon=1), 1.3, 10**6)
    fit = projected_gradients(blocks, start, gap=0, passes=100_000)
    assert fit.steps < 200
    assert fit.excess < 1e-14

    class Rounding:
        """Sums that err in the last digits, upwards, so that no gap is ever zero."""

        def evaluated(self, shares: Array, *, squares: bool = False) -> Point:
            point = blocks.evaluated(shares, squares=squares)
            return point._replace(growth=point.growth * (1 + 1e-14 * rng.random(31)))

    rng = np.random.default_rng(12)
    fit = projected_gradients(Rounding(), start, gap=0, passes=2000)
    assert fit.steps < 200
    assert fit.excess < 2e-14


def test_a_fit_carries_its_evidence_however_early_it_ends() -> None:
    blocks, start = drawn(HadamardResponse(40, epsilon=3), 2.5, 10**5)
    ((operator, kinds),) = blocks.blocks
    assert operator.matrix is not None
    before = math.inf
    for passes in (2, 5, 60):
        fit = projected_gradients(blocks, start, passes=passes)
        assert fit.steps <= passes
        assert fit.gap < before
        assert fit.gap == min(fit.history)
        assert not fit.unique  # not examined
        value, growth = by_loops(fit.shares, operator.matrix(), kinds)
        assert fit.log_likelihood == pytest.approx(value, rel=1e-12)
        assert fit.excess == pytest.approx(growth.max() - 1, abs=1e-12)
        before = fit.gap
    assert fit.gap <= 1e-6


def test_reports_that_tell_nothing_leave_the_start_as_it_is() -> None:
    start = np.array([0.1, 0.2, 0.7])
    same = ChannelOperator.of_matrix(np.tile([0.3, 0.7], (3, 1)))
    assert_allclose(
        projected_gradients(Blocks([(same, np.array([3, 8]))]), start, gap=0, passes=50).shares, start, atol=1e-3
    )


def test_no_more_passes_than_allowed() -> None:
    design = RandomizedResponse(40, epsilon=6)  # where equal shares are far away: the first passes are those of EM
    counts = np.array([1000, *[1] * 39])
    for passes in (2, 3, 4, 10):
        stream = Streamed(design, np.repeat(np.arange(40), counts), 500)
        fit = projected_gradients(Blocks(stream), uniform(40), gap=0, passes=passes)
        assert fit.steps == stream.passes <= passes


def test_reports_that_no_answer_leads_to_are_refused() -> None:
    never = ChannelOperator.of_matrix(np.array([[1.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(ValueError, match="reports must be possible, but some have a likelihood of zero"):
        projected_gradients(Blocks([(never, np.array([3, 1]))]), uniform(2))


def test_operators_that_tell_their_squares_take_fewer_products() -> None:
    # The same blur with and without: its kernel squared is the kernel of its squares, for what is far is next to zero.
    k = 3_500
    distance = np.minimum(np.arange(k), k - np.arange(k)).astype(float)
    kernel = np.exp(-2 * distance)
    kernel /= kernel.sum()
    transform, squared = np.fft.rfft(kernel), np.fft.rfft(kernel**2)

    def convolved(x: Array, by: Any) -> Array:
        return np.fft.irfft(np.fft.rfft(x) * by, k)

    blur = ChannelOperator((k, k), lambda x: convolved(x, transform), lambda w: convolved(w, transform))
    told = ChannelOperator(blur.shape, blur.forward, blur.adjoint, None, lambda w: convolved(w, squared))
    counts = np.random.default_rng(8).multinomial(20_000, np.maximum(blur.forward(simulate.zipf(k, 1.3)), 0))
    fast, slow = (channel_mle(counts, operator, gap=0.01, iterations=3000) for operator in (told, blur))
    assert fast.gap <= 0.01
    assert 4 * fast.steps < slow.steps
    assert slow.steps == extrapolated(counts / 20_000, 20_000.0, blur, 0.01, 3000).steps
    assert fast.log_likelihood == pytest.approx(slow.log_likelihood, abs=0.01 + slow.gap)


# In channel_mle

OSCILLATING = Channel(
    [
        ["317/1000", "453/1000", "7/200", "1/250", "191/1000", "0"],
        ["7/1000", "193/1000", "7/50", "0", "4/125", "157/250"],
        ["49/1000", "11/250", "5/8", "29/500", "223/1000", "1/1000"],
        ["239/1000", "149/500", "13/200", "41/250", "3/1000", "231/1000"],
        ["53/200", "1/25", "1/200", "129/1000", "61/1000", "1/2"],
    ],
    5,
    6,
)


def test_channel_mle_gets_there_where_the_interior_point_goes_to_and_fro() -> None:
    counts = np.array([2, 205, 46, 14, 40, 693])
    fit = channel_mle(counts, OSCILLATING)
    assert fit.excess <= 1e-12
    assert fit.unique
    assert_allclose(fit.shares, [0, 0.9561, 0, 0.0167, 0.0272], atol=5e-5)  # as 2,113 plain updates find
    rng, rescued = np.random.default_rng(9), 0
    for resampled in rng.multinomial(1000, counts / 1000, size=200):
        fit = channel_mle(resampled, OSCILLATING)
        assert fit.excess <= 1e-12
        assert by_loops(fit.shares, OSCILLATING.channel(), resampled)[1].max() <= 1 + 1e-12
        rescued += fit.steps > 220  # all the steps that the interior point may take, and more
    assert rescued


def test_many_answers_go_by_gradients_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("warner.estimators.maximum_likelihood._interior_point")  # not needed, then
    k = 500
    design = RandomizedResponse(k, epsilon=2)
    counts = simulate.reports_of_population(simulate.zipf(k, 1.3), 10**5, design, rng=np.random.default_rng(10))
    fit = channel_mle(counts, design)
    assert_allclose(fit.shares, mle(counts, design), atol=1e-12)
    assert fit.excess <= 1e-12
    assert fit.unique
    assert fit.gap == fit.history[-1]
    assert fit.steps <= 30


def test_a_blur_of_many_answers_goes_by_the_interior_point_in_the_end() -> None:
    k = 400
    distance = np.minimum(np.arange(k), k - np.arange(k)).astype(float)
    kernel = np.exp(-distance / 5)
    matrix = np.array([np.roll(kernel / kernel.sum(), shift) for shift in range(k)])
    counts = np.random.default_rng(11).multinomial(10**4, simulate.zipf(k, 1.3) @ matrix)
    fit = channel_mle(counts, ChannelOperator.of_matrix(matrix))
    assert fit.excess <= 1e-12
    assert by_loops(fit.shares, matrix, counts)[1].max() <= 1 + 1e-12
    assert fit.history.max() >= fit.gap == fit.history[-1]


# In estimate


def test_the_maximum_is_known_to_be_the_only_one_where_the_reports_that_were_kept_tell_it() -> None:
    design = SubsetSelection(6, odds=(3, 1), size=2)
    rng = np.random.default_rng(13)
    many = design.draw(rng.integers(6, size=300), rng.bytes)
    few = np.packbits(np.array([[1, 1, 0, 0, 0, 0]], dtype=bool), axis=1)  # either of two answers
    for reports, unique in ((many, True), (few, False)):
        kept = tally(reports, design, codes=True, keep=True)
        proof = estimate(kept, method="mle").certificate
        assert proof is not None
        assert proof.gap <= 1e-6
        assert proof.unique == unique


def test_kept_reports_go_by_a_matrix_where_gradients_did_not_get_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    design = SubsetSelection(6, odds=(3, 1), size=2)
    rng = np.random.default_rng(14)
    kept = tally(design.draw(rng.integers(3, size=200), rng.bytes), design, codes=True, keep=True)
    there = estimate(kept, method="mle")
    monkeypatch.setattr(
        "warner.estimators.maximum_likelihood.projected_gradients", functools.partial(projected_gradients, passes=2)
    )
    rescued = estimate(kept, method="mle")
    assert rescued.certificate is not None
    assert rescued.certificate.excess <= 1e-12
    assert_allclose(rescued.shares, there.shares, atol=1e-4)
