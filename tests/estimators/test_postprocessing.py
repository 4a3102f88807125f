"""The field's other repairs: by their definitions in exact numbers, by brute force, and by the laws of all of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri, xlog1py, xlogy

from strategies import surveys
from warner import Channel, ProjectiveGeometry, RandomizedResponse, Tally, UnaryEncoding, estimate, inv, mle
from warner.estimators import METHODS
from warner.estimators.auto import METHODS_COMPARED
from warner.estimators.postprocessing import REPAIRS, base_cut, mle_pooled, norm_cut, power, power_ns
from warner.metrics import negative_log_likelihood
from warner.simulate import reports_of_population, zipf

every_repair = pytest.mark.parametrize("name", REPAIRS)
any_survey = st.one_of(surveys(), surveys(inverted=True))
BITS = UnaryEncoding.optimal(6, epsilon=1)
supports = st.tuples(st.lists(st.integers(0, 60), min_size=6, max_size=6), st.just(60))


def exact_inversion(counts: list[int], design: RandomizedResponse) -> list[Fraction]:
    a, b, total = design.symmetry.whole
    return [(Fraction(c, sum(counts)) - Fraction(b, total)) / Fraction(a - b, total) for c in counts]


@given(any_survey)
def test_base_cut_keeps_what_noise_would_hardly_reach(survey: Any) -> None:
    counts, design = survey
    q = design.symmetry.base
    error = (q * (1 - q) / sum(counts)) ** 0.5 / abs(design.symmetry.gain)
    threshold = ndtri(1 - 0.05 / len(counts)) * error
    for found, share in zip(base_cut(counts, design), exact_inversion(counts, design), strict=True):
        if abs(float(share) - threshold) > 1e-9 * error:
            assert found == (float(share) if share >= threshold else 0)


@given(any_survey)
def test_norm_cut_keeps_the_largest_until_they_reach_one(survey: Any) -> None:
    counts, design = survey
    shares = exact_inversion(counts, design)
    kept: list[Fraction] = []
    for level in sorted(set(shares), reverse=True):
        if sum(kept) >= 1:
            break
        kept += [share for share in shares if share == level]
    expected = [share / sum(kept) if share in kept else Fraction(0) for share in shares]
    assert_allclose(norm_cut(counts, design), [float(share) for share in expected], rtol=1e-15, atol=0)


def test_norm_cut_of_support_that_does_not_reach_one() -> None:
    design = UnaryEncoding(3, odds=(3, 1))  # q N and p N of 100 reports are not reached by any, or by one
    p, q = design.symmetry.p, design.symmetry.base
    low = int(100 * q) - 1
    assert_array_equal(norm_cut([low, low, low], design, n=100), [1 / 3] * 3)
    some = int(100 * (q + (p - q) / 2))
    assert_array_equal(norm_cut([some, low, low], design, n=100), [1, 0, 0])


def brute_power(counts: Any, design: Any, n: int) -> Any:
    """The posterior mean over each number of respondents from 1 to N, with the exponent by bisection."""
    q, gain = design.symmetry.base, design.symmetry.gain
    people = np.arange(1.0, n + 1)
    estimates = n * (np.asarray(counts) / n - q) / gain
    low, high = (1.01, 1.01) if estimates.mean() < 1 else (0.0, 60.0)
    for _ in range(200):
        middle = (low + high) / 2
        prior = people**-middle
        low, high = (middle, high) if people @ prior / prior.sum() > estimates.mean() else (low, middle)
    variance = n * q * (1 - q) / gain**2
    logs = -high * np.log(people) - (estimates[:, np.newaxis] - people) ** 2 / (2 * variance)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights @ people / weights.sum(axis=1) / n


@pytest.mark.parametrize("k", [2, 5, 100])
@pytest.mark.parametrize("epsilon", [0.3, 1, 4, 9])
@pytest.mark.parametrize("n", [1, 30, 3000])
@pytest.mark.parametrize("mechanism", [RandomizedResponse, UnaryEncoding])
def test_power_is_the_posterior_mean_under_a_power_law(mechanism: Any, n: int, epsilon: float, k: int) -> None:
    design = mechanism(k, epsilon=epsilon)
    counts = reports_of_population(zipf(k, 1.2), n, design, rng=np.random.default_rng(k + n))
    # Cells of 1/32 of a standard error: at d errors from the estimate the density bends by (d/32)^2 / 24 in a cell.
    assert_allclose(power(counts, design, n=n), brute_power(counts, design, n), rtol=1e-3)


def test_power_of_more_people_than_there_are() -> None:
    """Of bits nearly without noise, an answer that everybody holds can be inverted far beyond one."""
    design = UnaryEncoding.optimal(20, epsilon=15)
    counts = np.array([530, 1] + [0] * 18)
    assert_allclose(power(counts, design, n=1000), brute_power(counts, design, 1000), rtol=1e-3)
    assert power(counts, design, n=1000)[0] == pytest.approx(1)


def test_power_of_one_person_for_each_answer() -> None:
    """The steepest prior: practically every answer is held by one person, and nothing overflows."""
    design = ProjectiveGeometry(100, epsilon=8)
    counts = np.full(100, 1)
    assert_allclose(power(counts, design, n=100), brute_power(counts, design, 100), rtol=1e-3)


def test_power_moved_to_the_nearest_distribution() -> None:
    counts, design = [300, 190, 180, 170, 160], RandomizedResponse(5, epsilon=1)
    shift = (1 - power(counts, design).sum()) / 5  # nothing is cut off here
    assert_allclose(power_ns(counts, design), power(counts, design) + shift, rtol=1e-12)


@given(any_survey)
def test_a_pooled_tail_is_as_likely_as_can_be(survey: Any) -> None:
    counts, design = survey
    shares = mle_pooled(counts, design)
    tail = base_cut(counts, design) == 0
    assert len(set(shares[tail].tolist())) <= 1
    rng = np.random.default_rng(1)
    others = rng.dirichlet(np.ones(len(counts)), size=20)
    others[:, tail] = others[:, tail].sum(axis=1, keepdims=True) / max(tail.sum(), 1)
    others = np.concatenate([others, 0.99 * shares + 0.01 * others])
    least = negative_log_likelihood(shares, counts, design)
    rows = np.tile(counts, (len(others), 1))
    assert (negative_log_likelihood(others, rows, design) >= least * (1 - 1e-12)).all()


@given(any_survey)
def test_without_a_tail_it_is_the_likelihood_itself(survey: Any) -> None:
    counts, design = survey
    if (base_cut(counts, design) > 0).all():
        assert_array_equal(mle_pooled(counts, design), mle(counts, design))


@given(supports)
def test_a_pooled_tail_of_bits_maximises_the_binomial_likelihood(drawn: Any) -> None:
    counts, n = drawn
    shares = mle_pooled(counts, BITS, n=n)
    tail = base_cut(counts, BITS, n=n) == 0
    assert len(set(shares[tail].tolist())) <= 1

    def likelihood(theta: Any) -> Any:
        mu = BITS.symmetry.base + BITS.symmetry.gain * theta
        return (xlogy(counts, mu) + xlog1py(n - np.asarray(counts), -mu)).sum(axis=-1)

    others = np.random.default_rng(1).dirichlet(np.ones(6), size=20)
    others[:, tail] = others[:, tail].sum(axis=1, keepdims=True) / max(tail.sum(), 1)
    for some in (others, 0.99 * shares + 0.01 * others):
        assert (likelihood(some) <= likelihood(shares) + 1e-9 * n).all()


# Laws of all of them


@given(survey=any_survey, order=st.randoms(use_true_random=False))
def test_labels_do_not_matter(survey: Any, order: Any) -> None:
    counts, design = survey
    places = list(range(len(counts)))
    order.shuffle(places)
    for repair in REPAIRS.values():
        shares = repair.estimator(counts, design)
        assert_array_equal(repair.estimator(np.array(counts)[places], design), shares[places])
        for count in set(counts):
            assert len(set(shares[np.array(counts) == count].tolist())) == 1


@given(survey=any_survey)
def test_more_reports_never_mean_a_smaller_share(survey: Any) -> None:
    counts, design = survey
    for repair in REPAIRS.values():
        shares = repair.estimator(counts, design)[np.argsort(counts)]
        assert (np.diff(shares) * np.sign(design.symmetry.gain) >= -1e-12).all()


@given(survey=any_survey)
def test_a_distribution_where_that_is_promised(survey: Any) -> None:
    counts, design = survey
    for repair in REPAIRS.values():
        shares = repair.estimator(counts, design)
        assert (shares >= 0).all()
        if repair.valid:
            assert abs(shares.sum() - 1) <= 1e-12


@given(drawn=supports)
def test_reports_that_support_several_answers(drawn: Any) -> None:
    counts, n = drawn
    for repair in REPAIRS.values():
        shares = repair.estimator(counts, BITS, n=n)
        assert (shares >= 0).all()
        if repair.valid:
            assert abs(shares.sum() - 1) <= 1e-12
        assert_array_equal(repair.estimator(counts[::-1], BITS, n=n), shares[::-1])


@every_repair
def test_batches_and_weights(name: str) -> None:
    design, repair = RandomizedResponse(20, epsilon=2), REPAIRS[name].estimator
    rows = reports_of_population(zipf(20, 1), 500, design, rng=np.random.default_rng(1), size=(2, 3))
    together = repair(rows, design)
    assert together.shape == (2, 3, 20)
    assert_array_equal(together[1, 2], repair(rows[1, 2], design))
    assert_allclose(repair(rows.astype(np.float64), design), together, rtol=1e-12, atol=1e-15)


@every_repair
def test_nothing_randomized_is_nothing_repaired(name: str) -> None:
    assert_array_equal(REPAIRS[name].estimator([5, 0, 3, 2], RandomizedResponse(4, odds=(1, 0))), [0.5, 0, 0.3, 0.2])


@every_repair
def test_very_many_reports(name: str) -> None:
    design = RandomizedResponse(4, epsilon=2)
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    counts = np.rint(1e12 * (design.symmetry.base + design.symmetry.gain * truth)).astype(np.int64)
    assert_allclose(REPAIRS[name].estimator(counts, design), truth, atol=1e-5)


# Where they are known


def test_they_are_methods_that_auto_does_not_try() -> None:
    assert set(REPAIRS) < set(METHODS)
    assert METHODS_COMPARED == ("mle", "inv_p", "inv_n")
    for name, repair in REPAIRS.items():
        method = METHODS[name]
        assert method.symmetric
        assert not method.likelihood
        assert not method.applies(to_likelihood=True, to_symmetric=False)
        assert (method.valid, method.sentence) == (repair.valid, repair.sentence)


@every_repair
def test_an_estimate_by_name(name: str) -> None:
    design = RandomizedResponse(["a", "b", "c", "d"], epsilon=1)
    found = estimate(Tally(design, [60, 40, 25, 25]), method=name)
    assert_array_equal(found.shares, REPAIRS[name].estimator([60, 40, 25, 25], design))
    assert (found.certificate is not None) == REPAIRS[name].valid
    assert np.isnan(found.log_likelihood) != REPAIRS[name].valid  # these do not sum to one, and have no likelihood
    bits = UnaryEncoding.optimal(["a", "b", "c", "d"], epsilon=1)
    found = estimate(Tally(bits, [60, 40, 30, 20], n=100), method=name)
    assert_array_equal(found.shares, REPAIRS[name].estimator([60, 40, 30, 20], bits, n=100))


@every_repair
def test_weights_count_as_their_effective_number(name: str) -> None:
    """Weights may sum to the sample size, or to one."""
    repair, counts = REPAIRS[name].estimator, np.arange(10, 30)
    n = int(counts.sum())
    for design, people in ((RandomizedResponse(20, epsilon=1), None), (UnaryEncoding.optimal(20, epsilon=1), 60)):
        number = n if people is None else people
        plain = repair(counts, design, n=people)
        for scale in (1 / number, 2.5):
            given = None if people is None else people * scale
            weighted = Tally(design, counts * scale, n=given, squares=scale**2 * number)  # all weights the same
            assert_allclose(estimate(weighted, method=name).shares, plain, atol=1e-9)
    design = RandomizedResponse(20, epsilon=1)
    fewer = Tally(design, counts * 2.5, squares=2.5**2 * n * 4)  # worth a quarter of them
    assert_allclose(estimate(fewer, method=name).shares, repair(counts / 4, design), atol=1e-9)


@every_repair
def test_other_designs_are_refused(name: str) -> None:
    channel = Channel([["3/5", "2/5"], ["1/10", "9/10"]], ["yes", "no"], 2)
    with pytest.raises(TypeError, match="same p and q for all answers, as randomized response does; use mle"):
        REPAIRS[name].estimator([5, 5], channel)
    with pytest.raises(TypeError, match=f"method must not be '{name}' here: .* use mle or inv_p"):
        estimate(Tally(channel, [5, 5]), method=name)


def test_inversions_are_rounded_once() -> None:
    counts, design = [7, 5, 3, 3], RandomizedResponse(4, epsilon=2)
    kept = base_cut(counts, design)
    assert kept[0] == inv(counts, design)[0]
