"""The most likely shares under any channel, by Newton's method.

It tests estimators/maximum_likelihood.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from references import reference
from strategies import surveys
from tables import log_likelihood, random_channel
from warner import (
    Channel,
    ChannelOperator,
    RandomizedResponse,
    SubsetSelection,
    certificate,
    channel_mle,
    ibu,
    inv_p,
    mle,
    simulate,
)
from warner.estimators.maximum_likelihood import _polished

CHANNELS = [case for case in reference("reference_values")["cases"] if case["kind"] == "channel"]
SUPPORT = {case["name"]: case for case in reference("support")["estimates"]}


@pytest.mark.parametrize("case", CHANNELS, ids=lambda case: case["id"])
def test_channels_match_the_reference(case: dict[str, Any]) -> None:
    matrix, counts, wanted = case["input"]["C_rows_are_inputs"], case["input"]["counts"], case["expected"]
    design = Channel(matrix, len(matrix), len(counts))
    fit = channel_mle(counts, design)
    assert_allclose(fit.shares, wanted["MLE"]["float"], atol=1e-12)
    assert fit.unique == wanted["MLE_unique"]
    assert_allclose(fit.shares @ design.channel(), wanted["fitted_output"]["float"], atol=1e-12)
    assert log_likelihood(fit.shares, counts, design) == pytest.approx(wanted["loglik"]["float"], rel=1e-12)
    assert design.epsilon == pytest.approx(wanted["epsilon"]["float"], rel=1e-15)
    found = certificate(wanted["MLE"]["float"], counts, design)
    assert found.excess == pytest.approx(max(wanted["gradient_g"]["float"]) - 1, abs=1e-13)
    assert ibu(counts, design, gap=0, iterations=20_000).shares == pytest.approx(fit.shares, abs=1e-6)


@given(survey=st.one_of(surveys(most=5), surveys(most=5, inverted=True)))
def test_randomized_response_written_as_a_channel(survey: tuple[list[int], RandomizedResponse]) -> None:
    counts, design = survey
    if abs(design.p - design.q) < 1e-2 or design.odds[0] * design.odds[1] == 0:
        return  # beyond, rounding in the matrix alone moves the shares; without noise some reports are impossible
    fit = channel_mle(counts, design)
    assert certificate(fit.shares, counts, design).excess <= 1e-11
    if fit.unique:
        # A rounding error in g moves a share by that error over the curvature, which rare reports make small.
        rare = min(c for c in counts if c) / sum(counts)
        tolerance = 1e-10 + 1e-15 / (rare * (design.p - design.q) ** 2)
        assert_allclose(fit.shares, mle(counts, design), atol=tolerance)
    assert fit.unique == certificate(fit.shares, counts, design).unique


@pytest.mark.parametrize(("n", "epsilon", "s"), [(10_000, 2, 1.3), (10_000, 0.5, 1.3), (500_000, 0.5, 0.01)])
def test_few_steps_whatever_the_privacy(n: int, epsilon: float, s: float) -> None:
    design = RandomizedResponse(200, epsilon=epsilon)
    counts = simulate.reports_of_population(simulate.zipf(200, s), n, design, rng=np.random.default_rng(1))
    fit = channel_mle(counts, design)
    assert fit.steps <= 30
    assert certificate(fit.shares, counts, design).excess <= 1e-12
    assert_allclose(fit.shares, mle(counts, design), atol=1e-10)
    # IBU started at the answer stays there
    positive = np.maximum(fit.shares, 1e-300)
    still = ibu(counts, Channel(design.channel(), 200, 200), prior=positive, iterations=50, gap=0)
    assert_allclose(still.shares, fit.shares, atol=1e-12)


def by_a_conic_solver(matrix: Any, counts: Any) -> Any:
    """Maximize the log-likelihood with an independent library: exponential cones t <= ln(theta C)."""
    clarabel = pytest.importorskip("clarabel", reason="the independent solver is not installed")
    from scipy import sparse

    inputs, outputs = matrix.shape
    observed = np.array(counts) / sum(counts)
    total = np.concatenate([np.ones(inputs), np.zeros(outputs)])[np.newaxis]
    positive = np.hstack([-np.eye(inputs), np.zeros((inputs, outputs))])
    cones = np.zeros((3 * outputs, inputs + outputs))  # (t_j, 1, mu_j) is in the cone y exp(x/y) <= z
    for j in range(outputs):
        cones[3 * j, inputs + j] = -1
        cones[3 * j + 2, :inputs] = -matrix[:, j]
    right = np.concatenate([[1], np.zeros(inputs), np.tile([0.0, 1.0, 0.0], outputs)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    kinds = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(inputs)] + [clarabel.ExponentialConeT()] * outputs
    problem = clarabel.DefaultSolver(
        sparse.csc_matrix((inputs + outputs, inputs + outputs)),
        np.concatenate([np.zeros(inputs), -observed]),
        sparse.csc_matrix(np.vstack([total, positive, cones])),
        right,
        kinds,
        settings,
    )
    return np.array(problem.solve().x)[:inputs]


@pytest.mark.parametrize("seed", range(6))
def test_an_independent_convex_solver_agrees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    design = random_channel(rng, 5, 7)
    counts = rng.multinomial(300, rng.dirichlet(np.full(5, 0.3)) @ design.channel()) + 1
    fit = channel_mle(counts, design)
    other = by_a_conic_solver(design.channel(), counts)
    assert_allclose(fit.shares, other, atol=2e-5)  # a gap of 1e-10 leaves about its square root in the shares
    other = np.maximum(other, 0) / np.maximum(other, 0).sum()
    assert log_likelihood(fit.shares, counts, design) >= log_likelihood(other, counts, design) - 1e-9


def test_maxima_that_are_not_unique_are_told() -> None:
    survey = RandomizedResponse(["drinks", "does not"], truth="3/4")
    finer = survey.coarsened({"drinks": ["beer", "wine"], "does not": ["water"]})
    fit = channel_mle([60, 40], finer)
    assert not fit.unique
    # the fit is that of the groups: (0.60 - 0.25) / 0.5 = 0.70
    assert_allclose([fit.shares[:2].sum(), fit.shares[2]], [0.7, 0.3], atol=1e-12)
    assert not certificate([0.7, 0, 0.3], [60, 40], finer).unique
    assert certificate([0.7, 0, 0.3], [60, 40], finer).excess < 1e-12
    wide = random_channel(np.random.default_rng(3), 6, 3, 5.0)  # more answers than kinds of report
    inside = wide.channel().mean(axis=0)
    fit = channel_mle(1e4 * inside, wide)
    assert not fit.unique
    assert_allclose(fit.shares @ wide.channel(), inside, atol=1e-12)
    # but where one answer alone is left there is no choice: the report 2 comes from the answer 1 above all
    assert channel_mle([0, 9, 0], Channel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"]] * 1, 2, 3)).unique


def test_polishing_adds_an_answer_that_is_missing_and_drops_one_too_many() -> None:
    rng = np.random.default_rng(4)
    design = random_channel(rng, 6, 9)
    counts = rng.multinomial(500, [0.6, 0.4, 0, 0, 0, 0] @ design.channel()) + 1
    observed, best = counts / counts.sum(), channel_mle(counts, design).shares
    assert 0 < np.count_nonzero(best) < 6
    for answer in range(6):  # one that is missing, or one too many
        active = best > 0
        active[answer] = not active[answer]
        found, _ = _polished(design.channel(), observed, np.maximum(best, 0.01), active)
        assert_allclose(found, best, atol=1e-10)


def test_weighted_counts_of_a_channel() -> None:
    design = random_channel(np.random.default_rng(1), 4, 5, 1.0)
    counts = np.array([30, 20, 10, 25, 15])
    assert_allclose(channel_mle(counts * 0.37, design).shares, channel_mle(counts, design).shares, atol=1e-10)


def test_channel_mle_takes_one_histogram_of_possible_reports() -> None:
    design = Channel([["1/2", "1/2"], ["1/4", "3/4"]], 2, 2)
    with pytest.raises(ValueError, match=r"one histogram of shape \(2,\), but got shape \(1, 2\)"):
        channel_mle([[1, 2]], design)
    with pytest.raises(ValueError, match=r"one entry for each of the 2 answers \(or kinds of reports\) of the design"):
        channel_mle([1, 2, 3], design)
    with pytest.raises(ValueError, match="iterations and gap must be at least 0"):
        channel_mle([1, 2], design, gap=-1)
    never = ChannelOperator((2, 2), lambda x: np.array([x.sum(), 0]), lambda w: np.array([w[0], w[0]]))
    with pytest.raises(ValueError, match="but some are not: 1 4 times"):
        channel_mle([3, 4], never)
    with pytest.raises(ValueError, match=r"shares must have the shape of counts, \(2,\), but got \(3,\)"):
        certificate([0.2, 0.3, 0.5], [1, 2], design)


@pytest.mark.parametrize("design", [RandomizedResponse(4, odds=(5, 1)), random_channel(np.random.default_rng(2), 4, 4)])
def test_a_fit_carries_its_evidence(design: Any) -> None:
    counts = [50, 30, 12, 3]
    fit = channel_mle(counts, design)
    assert fit.log_likelihood == pytest.approx(log_likelihood(fit.shares, counts, design), rel=1e-12)
    proof = certificate(fit.shares, counts, design)
    assert fit.excess == pytest.approx(proof.excess, abs=1e-12)
    assert fit.gap == pytest.approx(proof.gap, abs=1e-9)
    assert fit.unique == proof.unique


# Reports that support sets of answers: their likelihood needs the reports themselves


def supporting(case: dict[str, Any]) -> Any:
    """Return 1 where a report, a row each, supports an answer."""
    table = np.zeros((len(case["supports"]), case["K"]), dtype=bool)
    for row, members in zip(table, case["supports"], strict=True):
        row[members] = True
    return table


def operator_of(case: dict[str, Any]) -> ChannelOperator:
    """Return likelihoods up to a factor: a for each supported answer, b for each other one."""
    a, b = case["odds"]
    matrix = np.where(supporting(case).T, a, b) / a
    return ChannelOperator(matrix.shape, lambda x: x @ matrix, lambda w: w @ matrix.T, lambda: matrix)


@pytest.mark.parametrize("case", SUPPORT.values(), ids=SUPPORT)
def test_reports_that_support_sets_match_the_reference(case: dict[str, Any]) -> None:
    n = sum(case["multiplicity"])
    fit = channel_mle(case["multiplicity"], operator_of(case))
    wanted = [float(share) for share in case["mle"]]
    assert_allclose(fit.shares, wanted, atol=1e-11)
    assert certificate(wanted, case["multiplicity"], operator_of(case)).excess <= 1e-12
    # The reference adds up ln(b + (a - b) theta(S)); here the likelihoods are divided by a.
    told = float(case["sum_n_log_b_plus_(a-b)theta(S)"]) - n * np.log(case["odds"][0])
    assert fit.log_likelihood == pytest.approx(told, rel=1e-12)


def test_sets_that_were_kept_have_a_likelihood() -> None:
    # The same through the design: rows of packed bits, of which it knows the likelihood.
    case = SUPPORT["ss_k5"]
    design = SubsetSelection(5, odds=(3, 1), size=2)
    reports = np.packbits(supporting(case), axis=1)
    counts, n = design.law.count(reports, np.array(case["multiplicity"]))[:2]
    assert counts.tolist() == case["support_counts"]
    assert n == 31
    for fit in (
        channel_mle(case["multiplicity"], design.law.likelihood(reports)),
        ibu(case["multiplicity"], design.law.likelihood(reports), gap=1e-9),
        channel_mle(np.ones(31), design.law.likelihood(np.repeat(reports, case["multiplicity"], axis=0))),
    ):
        assert_allclose(fit.shares, [0.9, 0.1, 0, 0, 0], atol=1e-4)
        assert certificate(fit.shares, case["multiplicity"], design.law.likelihood(reports)).gap < 1e-6


def test_sets_of_one_member_are_randomized_response() -> None:
    sets, response = SubsetSelection(4, odds=(5, 2), size=1), RandomizedResponse(4, odds=(5, 2))
    reports = np.packbits(np.eye(4, dtype=bool), axis=1)
    counts = [3, 60, 20, 17]
    assert_allclose(channel_mle(counts, sets.law.likelihood(reports)).shares, mle(counts, response), atol=1e-12)
    assert_allclose(mle(counts, sets), mle(counts, response), atol=1e-15)


def test_the_likelihood_of_sets_tells_more_than_their_counts() -> None:
    # Over 300 surveys the squared error of the certified maximum is below that of inv_p, from the same reports.
    design, truth, rng = SubsetSelection(6, odds=(4, 1), size=2), simulate.zipf(6, 1.5), np.random.default_rng(7)
    errors = np.zeros((300, 2))
    for place in range(300):
        answers = rng.choice(6, p=truth, size=200)
        reports, times = np.unique(design.draw(answers, rng.bytes), axis=0, return_counts=True)
        counts, n = design.law.count(reports, times)[:2]
        found = channel_mle(times, design.law.likelihood(reports)).shares, inv_p(counts, design, n=n)
        errors[place] = [((shares - truth) ** 2).sum() for shares in found]
    difference = errors[:, 0] - errors[:, 1]
    assert difference.mean() < 4 * difference.std() / np.sqrt(300)  # not worse beyond chance
