"""The closed forms: four lines, to the last bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracle
import warner
from references import reference
from strategies import surveys
from warner import RandomizedResponse, SubsetSelection, certificate, inv, inv_n, inv_p, mle, simulate
from warner.designs import Symmetry
from warner.estimators import closed_forms
from warner.reports.counts import Histograms

ULP_OF_ONE = 2.0**-52
ESTIMATORS = {"inv": inv, "inv_n": inv_n, "inv_p": inv_p, "mle": mle}
VALID = {"inv_n": inv_n, "inv_p": inv_p, "mle": mle}
REFERENCE = reference("reference_values")["cases"]
RR_CASES = {case["id"]: case for case in REFERENCE if case["kind"] == "rr"}
SUPPORT = reference("support")["estimates"]
SUPPORT_CASES = {case["name"]: case for case in SUPPORT}

every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
every_valid_estimator = pytest.mark.parametrize("name", VALID)


def reference_design(case: dict[str, Any]) -> RandomizedResponse:
    given = case["input"]
    k = given["K"]
    return RandomizedResponse(k, truth=given["p"]) if "p" in given else RandomizedResponse(k, epsilon=given["epsilon"])


# Numbers anyone can redo


def test_inv_matches_warner_by_hand() -> None:
    # 40 of 100 report yes, truth told with probability 3/4: (0.40 - 0.25) / (0.75 - 0.25) = 0.30
    assert_array_equal(inv([40, 60], RandomizedResponse(["yes", "no"], odds=(3, 1))), [0.3, 0.7])


def test_mle_by_hand() -> None:
    # E = 1, K = 4. All: s/(E+m) = 21/5 > 1, drop the first; then 20/4 = 5 < 6, keep. c/5 - 1.
    assert_array_equal(mle([1, 6, 6, 8], RandomizedResponse(4, odds=(2, 1))), [0, 1 / 5, 1 / 5, 3 / 5])


def test_a_count_exactly_at_the_threshold_is_zero() -> None:
    # E = 1: 10 * (1 + 4) = 50 = s, so the first is at the threshold, not above it.
    shares = mle([10, 12, 13, 15], RandomizedResponse(4, odds=(2, 1)))
    assert_array_equal(shares, [0, 0.2, 0.3, 0.5])


@every_estimator
def test_without_noise_every_estimator_gives_the_observed_shares(name: str) -> None:
    assert_array_equal(ESTIMATORS[name]([1, 2, 3, 4], RandomizedResponse(4, odds=(1, 0))), [0.1, 0.2, 0.3, 0.4])


# Outside references


@pytest.mark.parametrize("case", RR_CASES.values(), ids=RR_CASES)
def test_reference_values(case: dict[str, Any]) -> None:
    design = reference_design(case)
    counts, expected = case["input"]["counts"], case["expected"]
    for name, estimator in ESTIMATORS.items():
        shares = estimator(counts, design)
        assert_allclose(shares, expected[name.replace("_", "").upper()]["float"], rtol=0, atol=1e-12)
        if name != "inv":
            assert (shares == 0).sum() == expected[f"n_zero_{name.replace('_', '').upper()}"]
    for name in ("mle", "inv_p", "inv_n"):
        key = name.replace("_", "").upper()
        if key in expected["loglik_at"]:
            fit = -sum(counts) * warner.metrics.negative_log_likelihood(
                ESTIMATORS[name](counts, design), counts, design
            )
            assert_allclose(fit, float(expected["loglik_at"][key]["str"]), rtol=1e-12)
    assert certificate(mle(counts, design), counts, design).unique == expected["MLE_unique"]


# The exact rational oracle: equality to the last bit


@given(survey=surveys())
def test_one_histogram_is_the_correctly_rounded_exact_answer(survey: tuple[list[int], RandomizedResponse]) -> None:
    for name, estimator in ESTIMATORS.items():
        exact = [float(share) for share in getattr(oracle, name)(*survey)]
        assert_array_equal(estimator(*survey), exact)


@given(survey=surveys(inverted=True))
def test_inverted_designs_are_correctly_rounded_too(survey: tuple[list[int], RandomizedResponse]) -> None:
    for name, estimator in ESTIMATORS.items():
        exact = [float(share) for share in getattr(oracle, name)(*survey)]
        assert_array_equal(estimator(*survey), exact)


@given(data=st.data())
def test_a_batch_equals_its_rows(data: st.DataObject) -> None:
    counts, design = data.draw(st.one_of(surveys(), surveys(inverted=True)))
    others = data.draw(st.lists(st.permutations(counts), max_size=3))
    more = [[c + i * j for j, c in enumerate(counts)] for i in range(3)]
    rows = np.array([counts, *others, *more])
    for name, estimator in ESTIMATORS.items():
        batch = estimator(rows, design)
        one_by_one = np.array([estimator(row, design) for row in rows])
        assert (np.abs(batch - one_by_one) <= 4 * ULP_OF_ONE * np.maximum(1, np.abs(one_by_one))).all()
        if name != "inv":
            assert_array_equal(batch == 0, one_by_one == 0)


def test_a_batch_is_precise_where_one_answer_was_reported_by_nearly_all() -> None:
    # E = e - 1, K = 6, m = 1: x c / z is 4.5, so the plain form of INVP would lose digits.
    counts = [2882028, 0, 0, 0, 0, 37]
    design = RandomizedResponse(6, odds=(6121026514868073, 2251799813685248))
    for name in ESTIMATORS:
        shares, exact = batch_and_oracle(name, counts, design)
        assert_allclose(shares, exact, rtol=4 * ULP_OF_ONE, atol=4 * ULP_OF_ONE)


def batch_and_oracle(name: str, counts: list[int], design: RandomizedResponse) -> tuple[Any, list[float]]:
    return ESTIMATORS[name](np.array([counts] * 2), design)[1], [
        float(x) for x in getattr(oracle, name)(counts, design)
    ]


@pytest.mark.parametrize("nudge", [-1, 0, 1])
def test_a_batch_decides_what_doubles_cannot_by_whole_numbers(nudge: int) -> None:
    # Counts (v, 2v + 1, 0), m = 2: v is kept iff v (a + b) > (3v + 1) b. With a = 2b + 1 that is v > b, but the two
    # sides differ by one part in 2^92 when v is next to b.
    b = 2**45 + 1
    v = b + nudge
    shares, exact = batch_and_oracle("mle", [v, 2 * v + 1, 0], RandomizedResponse(3, odds=(2 * b + 1, b)))
    assert_array_equal(shares > 0, [nudge > 0, True, False])
    assert_array_equal(shares, exact)


def test_a_share_too_small_for_the_arithmetic_of_a_batch_is_still_not_zero() -> None:
    # Epsilon 20, m = 2: one report is kept while the other count is below e^20 = 485165195.4; its share is 2e-18.
    shares, exact = batch_and_oracle("mle", [1, 485165195, 0], RandomizedResponse(3, epsilon=20))
    assert 0 < exact[0] < 1e-17
    assert_array_equal(shares > 0, [True, True, False])
    assert_allclose(shares, exact, rtol=0, atol=4 * ULP_OF_ONE)


def test_batches_of_few_histograms_with_many_answers_know_that_products_are_rounded() -> None:
    # The largest product is n K total, with total = 1,001 + 999 * 1,000: 1.7e16 for 2^24 reports, beyond 2^53 = 9e15.
    symmetry = RandomizedResponse(1000, odds=(1001, 1000)).law.symmetry
    assert symmetry.whole[2] == 1_000_001
    for n, rounded in ((2**24, True), (2**20, False)):
        counts = np.zeros((2, 1000), dtype=np.int64)
        counts[:, 0] = n
        batch = closed_forms._batch(counts, counts.sum(axis=1), symmetry, closed_forms.nearest_line, exclusive=True)
        assert (n * 1000 * symmetry.whole[2] >= 2**53) == rounded
        assert (batch.rounding > 0) == rounded


@every_estimator
def test_a_batch_keeps_its_precision_with_huge_counts_and_tiny_epsilon(name: str) -> None:
    huge = 2**51
    for counts in ([huge + 5, huge + 2, huge - 7], [huge + 1, huge, huge]):
        shares, exact = batch_and_oracle(name, counts, RandomizedResponse(3, odds=(10**9 + 1, 10**9)))
        assert_allclose(shares, exact, rtol=4 * ULP_OF_ONE, atol=4 * ULP_OF_ONE)


# Laws, for all inputs with p > q


@given(survey=surveys())
def test_inv_p_majorizes_mle_majorizes_inv_n(survey: tuple[list[int], RandomizedResponse]) -> None:
    sums = [np.cumsum(np.sort(VALID[name](*survey))[::-1]) for name in ("inv_p", "mle", "inv_n")]
    assert (sums[0] >= sums[1] - 1e-14).all()
    assert (sums[1] >= sums[2] - 1e-14).all()
    supports = [set(np.flatnonzero(VALID[name](*survey))) for name in ("inv_p", "mle", "inv_n")]
    assert supports[0] <= supports[1] <= supports[2]


@given(survey=surveys())
def test_estimates_with_the_same_zeros_lie_on_a_line_with_mle_in_the_middle(
    survey: tuple[list[int], RandomizedResponse],
) -> None:
    exact = [getattr(oracle, name)(*survey) for name in ("inv_p", "mle", "inv_n")]
    if len({tuple(share > 0 for share in shares) for shares in exact}) > 1:
        return
    m = sum(share > 0 for share in exact[0])
    # From the uniform distribution on the support, each is a multiple of the first; the multiples shrink to INVN's.
    factors = []
    for shares in exact:
        ratios = {
            (share - Fraction(1, m)) / (first - Fraction(1, m))
            for share, first in zip(shares, exact[0], strict=True)
            if first > 0 and first != Fraction(1, m)
        }
        assert len(ratios) <= 1
        factors.append(ratios.pop() if ratios else Fraction(1))
    assert 1 == factors[0] >= factors[1] >= factors[2] > 0
    for name, shares in zip(("inv_p", "mle", "inv_n"), exact, strict=True):  # and the library gives the same points
        assert_array_equal(VALID[name](*survey), [float(share) for share in shares])


@given(
    below=st.integers(0, 9),
    others=st.lists(st.integers(11, 30), min_size=2, max_size=5),
)
def test_the_collinearity_theorem_of_the_paper(below: int, others: list[int]) -> None:
    # Thm 8: one count below N q, the second smallest at least (K q - phi_min)/(K - 1): the three are collinear.
    counts = [below, *others]
    k, n = len(counts), sum(counts)
    design = RandomizedResponse(k, truth=Fraction(1, k) + Fraction(1, 10 * k))
    q = Fraction(design.odds[1], design.total)
    smallest, second = Fraction(below, n), Fraction(min(others), n)
    if not (smallest < q and second >= (k * q - smallest) / (k - 1)):
        return
    projected, likely, rescaled = (getattr(oracle, name)(counts, design) for name in ("inv_p", "mle", "inv_n"))
    along = [u - v for u, v in zip(rescaled, projected, strict=True)]
    part = [u - v for u, v in zip(likely, projected, strict=True)]
    ratios = {b / a for a, b in zip(along, part, strict=True) if a}
    assert len(ratios) <= 1
    assert all(0 <= ratio <= 1 for ratio in ratios)
    assert all(b == 0 for a, b in zip(along, part, strict=True) if not a)
    for estimator, shares in ((inv_p, projected), (mle, likely), (inv_n, rescaled)):  # the library gives these points
        assert_array_equal(estimator(counts, design), [float(share) for share in shares])


@given(survey=surveys(), data=st.data())
def test_one_report_moves_an_estimate_by_at_most_its_influence(
    survey: tuple[list[int], RandomizedResponse], data: st.DataObject
) -> None:
    counts, design = survey
    source = data.draw(st.sampled_from([i for i, c in enumerate(counts) if c]))
    target = data.draw(st.integers(0, len(counts) - 1))
    moved = list(counts)
    moved[source] -= 1
    moved[target] += 1
    a, b = design.odds
    influence = Fraction(2 * design.total, sum(counts) * (a - b))
    for estimator in VALID.values():
        change = np.abs(estimator(counts, design) - estimator(moved, design)).sum()
        assert change <= influence * (1 + Fraction(1, 10**12)) + Fraction(1, 10**15)


@given(survey=surveys())
def test_all_agree_when_no_count_is_below_the_noise_floor(survey: tuple[list[int], RandomizedResponse]) -> None:
    counts, design = survey
    floor = Fraction(design.odds[1], design.total) * sum(counts)
    if min(counts) >= floor:
        for estimator in VALID.values():
            assert_array_equal(estimator(counts, design), inv(counts, design))


@given(survey=st.one_of(surveys(), surveys(inverted=True)), data=st.data())
def test_permuting_the_answers_permutes_the_shares(
    survey: tuple[list[int], RandomizedResponse], data: st.DataObject
) -> None:
    counts, design = survey
    order = data.draw(st.permutations(range(len(counts))))
    for estimator in ESTIMATORS.values():
        shares = estimator(counts, design)
        assert_array_equal(estimator([counts[i] for i in order], design), shares[order])


@given(survey=surveys())
def test_more_reports_never_mean_a_smaller_share(survey: tuple[list[int], RandomizedResponse]) -> None:
    counts, design = survey
    for estimator in ESTIMATORS.values():
        by_count = estimator(counts, design)[np.argsort(counts)]
        assert (np.diff(by_count) >= 0).all()


@given(
    counts=st.lists(st.integers(0, 50), min_size=2, max_size=2).filter(any), b=st.integers(1, 9), a=st.integers(0, 9)
)
def test_an_inverted_binary_design_is_the_upright_one_with_answers_swapped(counts: list[int], a: int, b: int) -> None:
    if a != b:
        for estimator in ESTIMATORS.values():
            upright = estimator(counts, RandomizedResponse(2, odds=(a, b)))
            swapped = estimator(counts[::-1], RandomizedResponse(2, odds=(b, a)))
            assert_array_equal(upright, swapped)


@given(weights=st.lists(st.integers(1, 1000), min_size=2, max_size=8), epsilon=st.floats(0.1, 8))
def test_inv_undoes_the_channel(weights: list[int], epsilon: float) -> None:
    truth = np.array(weights) / sum(weights)
    design = RandomizedResponse(len(truth), epsilon=epsilon)
    assert_allclose(inv(1e6 * truth @ design.channel(), design), truth, atol=1e-9)


# Weighted counts, layouts and scale


@given(survey=st.one_of(surveys(), surveys(inverted=True)))
def test_weights_that_are_whole_numbers_agree_with_counts(survey: tuple[list[int], RandomizedResponse]) -> None:
    counts, design = survey
    for name, estimator in ESTIMATORS.items():
        exact = estimator(counts, design)
        weighted = estimator(np.array(counts, dtype=float), design)
        e = abs(design.odds[0] - design.odds[1]) / max(min(design.odds), 1)
        assert_allclose(weighted, exact, rtol=1e-12 / min(1, e), atol=1e-12 / min(1, e))
        if name != "inv":
            assert weighted.sum() == pytest.approx(1, abs=1e-12)
            assert (weighted >= 0).all()


@every_estimator
def test_weights_need_no_particular_scale(name: str) -> None:
    design = RandomizedResponse(4, epsilon=1)
    counts = np.array([50.5, 30.25, 15.0, 0.0])
    for scale in (1e-200, 1e-3, 1e250):
        assert_allclose(ESTIMATORS[name](counts * scale, design), ESTIMATORS[name](counts, design), atol=1e-14)


@every_estimator
def test_layout_and_integer_type_do_not_matter(name: str) -> None:
    design = RandomizedResponse(6, epsilon=1)
    counts = [60, 22, 10, 8, 0, 17]
    expected = ESTIMATORS[name](counts, design)
    wide = np.zeros((6, 3), dtype=np.int64)
    wide[:, 1] = counts
    layouts: list[Any] = [np.array(counts, dtype=kind) for kind in ("i1", "u1", "i4", ">i4", "u4", "i8", "u8")]
    layouts += [tuple(counts), wide[:, 1], np.array(counts[::-1])[::-1]]
    for layout in layouts:
        assert_array_equal(ESTIMATORS[name](layout, design), expected)
    batch = ESTIMATORS[name](np.stack([wide[:, 1]] * 4).reshape(2, 2, 6), design)
    assert batch.shape == (2, 2, 6)
    assert_allclose(batch, np.broadcast_to(expected, (2, 2, 6)), rtol=0, atol=4 * ULP_OF_ONE)
    assert ESTIMATORS[name](np.zeros((0, 6), dtype=int), design).shape == (0, 6)


@every_estimator
def test_input_is_left_as_it_was(name: str) -> None:
    for counts in (np.array([5, 0, 9]), np.array([[5, 0, 9], [1, 2, 3]]), np.array([5.0, 0.5, 9.0])):
        before = counts.copy()
        counts.flags.writeable = False
        ESTIMATORS[name](counts, RandomizedResponse(3, epsilon=1))
        assert_array_equal(counts, before)


@every_estimator
def test_wide_ranges_of_counts_take_the_sorted_path_to_the_same_answer(name: str) -> None:
    # Counts far apart (no table of them fits), and far from zero but close together (a table from the smallest).
    design = RandomizedResponse(5, epsilon=2)
    for counts in ([10**12, 7, 10**6, 0, 3], [10**9 + i for i in (5, 0, 3, 3, 9)]):
        assert_array_equal(ESTIMATORS[name](counts, design), [float(x) for x in getattr(oracle, name)(counts, design)])


@every_estimator
def test_a_few_heavy_answers_among_many_rare_ones(name: str) -> None:
    # Counts far beyond the length of the table, tied and single, beside thousands of small ones.
    k = 6000
    counts = np.random.default_rng(2).integers(0, 30, k)
    counts[[5, 77, 4000, 5999]] = [10**9, 7000, 10**9, 6000]
    for shift in (0, 10**12):
        design = RandomizedResponse(k, epsilon=8)
        shares = ESTIMATORS[name](counts + shift, design)
        one_by_one = ESTIMATORS[name](np.array([counts + shift]), design)[0]
        assert_array_equal(shares, one_by_one)
        values = np.unique(counts)
        assert len({float(x) for x in shares[np.isin(counts, values[:1])]}) == 1
        assert abs(shares.sum() - 1) < 1e-12
        assert shares[5] == shares[4000] > shares[77] >= shares[5999]
        assert_allclose(shares, ESTIMATORS[name]((counts + shift).astype(float), design), atol=1e-9)


@pytest.mark.parametrize(
    ("design", "counts"),
    [
        (RandomizedResponse(3, epsilon=40), [1, 10**6, 10**12]),
        (RandomizedResponse(3, epsilon=30), [3, 7, 10**12]),
        (RandomizedResponse(4, epsilon=20), [1, 10, 10**8, 10**9]),
        (RandomizedResponse(3, odds=(1, 0)), [3, 10**6, 10**9]),
        (RandomizedResponse(5, epsilon=3), [0, 2, 10**5, 10**9, 10**12]),
    ],
)
def test_rare_answers_beside_very_common_ones_are_certified_on_every_path(
    design: RandomizedResponse, counts: list[int]
) -> None:
    for shares in (mle(counts, design), mle([counts, counts], design)[0], mle(np.array(counts, dtype=float), design)):
        assert certificate(shares, counts, design).excess <= 1e-12


def test_weights_that_nothing_can_be_told_from_still_give_a_distribution() -> None:
    weights = np.array([3143613993105745.0, 3143613993105746.0])
    design = RandomizedResponse(2, odds=(9646426414205790, 9646426414205789))
    for estimator in VALID.values():
        shares = estimator(weights, design)
        assert shares.sum() == pytest.approx(1, abs=1e-12)
        assert (shares >= 0).all()


@every_valid_estimator
@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 1, 4, 40])
def test_ten_million_answers_sum_to_one(name: str, epsilon: float) -> None:
    k = 10**7
    counts = np.random.default_rng(1).integers(0, 25, k)
    shares = VALID[name](counts, RandomizedResponse(k, epsilon=epsilon))
    assert abs(shares.sum() - 1) <= 1e-12


def test_equal_counts_give_equal_shares_without_cancellation() -> None:
    # All counts 100, K = 10^7, epsilon 0.01: the plain formula sums to one only within about 1e-7.
    k = 10**7
    design = RandomizedResponse(k, epsilon="0.01")
    assert (mle(np.full(k, 100), design) == 1 / k).all()
    weighted = mle(np.full((1, k), 100.0), design)
    assert abs(weighted.sum() - 1) <= 1e-12


@pytest.mark.parametrize("k", [2, 50, 10**3, 10**6])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1, 4, 20])
def test_mle_carries_its_certificate_and_a_perturbed_one_does_not(k: int, epsilon: float) -> None:
    rng = np.random.default_rng([k, int(epsilon * 1e6)])
    design = RandomizedResponse(k, epsilon=epsilon)
    counts = simulate.reports_of_population(simulate.zipf(k, 1.3), 5 * k + 100, design, rng=rng)
    for shares in (mle(counts, design), mle(counts[np.newaxis], design)[0], mle(counts.astype(float), design)):
        assert certificate(shares, counts, design).excess <= 1e-12
    perturbed = 0.9 * mle(counts, design)
    perturbed[counts.argmin()] += 0.1
    expected_loss = (1 - 1 / design.odds[0] * design.odds[1]) * 1e-2 / k  # E-sized, as the likelihood is
    assert certificate(perturbed, counts, design).excess > min(1e-6, expected_loss)


# Support: every answer has a count of its own among n reports, of which the counts are not the sum

LINES = {"inv": closed_forms.unbiased, "inv_n": closed_forms.rescaled, "inv_p": closed_forms.nearest_line}
Support = tuple[list[list[int]], list[int], Symmetry]


def supports(*, inverted: bool = False) -> st.SearchStrategy[Support]:
    """Draw histograms of support with the numbers of reports behind them, and any two probabilities."""

    def of_total(total: int) -> st.SearchStrategy[Symmetry]:
        pair = st.tuples(st.integers(0, total), st.integers(0, total)).filter(lambda pair: pair[0] > pair[1])
        return pair.map(lambda pair: Symmetry(Fraction(pair[inverted], total), Fraction(pair[not inverted], total)))

    symmetries = st.one_of(st.integers(1, 30), st.integers(2**40, 2**200)).flatmap(of_total)
    numbers = st.one_of(st.integers(1, 60), st.integers(1, 10**12))

    def histograms(shape: tuple[int, list[int]]) -> st.SearchStrategy[Support]:
        k, n = shape
        row = [st.lists(st.integers(0, number), min_size=k, max_size=k) for number in n]
        return st.tuples(st.tuples(*row).map(list), st.just(n), symmetries)

    return st.tuples(st.integers(2, 5), st.lists(numbers, min_size=1, max_size=3)).flatmap(histograms)


def evaluated(name: str, counts: Any, n: Any, symmetry: Symmetry) -> Any:
    array = np.array(counts)
    histograms = Histograms(array, np.array(n), array.max())
    return closed_forms.shares(histograms, symmetry, LINES[name], cut=name != "inv", exclusive=False)


def exact_support(name: str, counts: list[int], n: int, symmetry: Symmetry) -> list[Fraction]:
    solver = {"inv": oracle.unbiased, "inv_n": oracle.rescaled, "inv_p": oracle.nearest}[name]
    return solver(counts, n, symmetry.p, symmetry.q)


@given(survey=st.one_of(supports(), supports(inverted=True)))
def test_one_histogram_of_support_is_the_correctly_rounded_exact_answer(survey: Support) -> None:
    counts, n, symmetry = survey
    for name in LINES:
        for row, number in zip(counts, n, strict=True):
            exact = [float(share) for share in exact_support(name, row, number, symmetry)]
            assert_array_equal(evaluated(name, row, number, symmetry), exact)


@given(survey=st.one_of(supports(), supports(inverted=True)))
def test_a_batch_of_support_equals_its_rows(survey: Support) -> None:
    counts, n, symmetry = survey
    counts, n = [*counts, counts[0], [0] * len(counts[0])], [*n, n[0], n[0]]
    for name in LINES:
        batch = evaluated(name, counts, n, symmetry)
        for row, number, shares in zip(counts, n, batch, strict=True):
            exact = np.array([float(share) for share in exact_support(name, row, number, symmetry)])
            assert (np.abs(shares - exact) <= 4 * ULP_OF_ONE * np.maximum(1, np.abs(exact))).all()
            if name != "inv":
                assert_array_equal(shares == 0, exact == 0)


@given(survey=supports())
def test_weighted_support_agrees_with_counts(survey: Support) -> None:
    counts, n, symmetry = survey
    if symmetry.gain < 1e-3:
        return  # beyond, the rounding of c/n alone moves the shares
    for name in LINES:
        exact = [[float(x) for x in exact_support(name, row, m, symmetry)] for row, m in zip(counts, n, strict=True)]
        sums = np.array([1.0 if name == "inv" else sum(max(x, 0) for x in row) for row in exact])[:, np.newaxis]
        raw = [oracle.unbiased(row, m, *exact_rates(symmetry)) for row, m in zip(counts, n, strict=True)]
        # Clipped shares are divided by their sum, which may be small: rounding errors grow by that.
        kept = np.array([float(sum(max(x, Fraction(0)) for x in row)) for row in raw])
        tolerance = 1e-13 / symmetry.gain / np.where((name == "inv_n") & (kept > 0), np.minimum(kept, 1), 1)
        weighted = evaluated(name, 0.37 * np.array(counts, dtype=float), 0.37 * np.array(n, dtype=float), symmetry)
        assert_allclose(sums, 1, atol=1e-12)
        if name == "inv_n" and (kept < 1e-9).any():
            continue  # a share that is positive or zero by less than rounding
        assert (np.abs(weighted - exact) <= tolerance[:, np.newaxis] + 1e-13 * np.abs(exact)).all()


def exact_rates(symmetry: Symmetry) -> tuple[Fraction, Fraction]:
    return symmetry.p, symmetry.q


@given(survey=surveys())
def test_counts_that_sum_to_n_are_those_of_randomized_response(survey: tuple[list[int], RandomizedResponse]) -> None:
    counts, design = survey
    for name, estimator in (("inv", inv), ("inv_n", inv_n), ("inv_p", inv_p)):
        assert_array_equal(evaluated(name, counts, sum(counts), design.symmetry), estimator(counts, design))


@pytest.mark.parametrize("case", SUPPORT_CASES.values(), ids=SUPPORT_CASES)
def test_reference_values_of_support(case: dict[str, Any]) -> None:
    symmetry = Symmetry(Fraction(case["p"]), Fraction(case["q"]))
    counts, n = case["support_counts"], sum(case["multiplicity"])
    for name in LINES:
        exact = [float(Fraction(share)) for share in case[name]]
        assert_array_equal(evaluated(name, counts, n, symmetry), exact)
        assert_allclose(evaluated(name, [counts] * 2, [n] * 2, symmetry)[1], exact, rtol=0, atol=4 * ULP_OF_ONE)


def test_subset_selection_by_hand() -> None:
    # 31 sets of two out of five, p = 2/3 and q = 1/3: inv is 3 c/31 - 1. Only the first two stay positive when all are
    # lowered: by (38 + 14 - 31)/62 = 21/62, which leaves (76 - 21)/62 and (28 - 21)/62.
    design, counts = SubsetSelection(5, odds=(3, 1), size=2), [23, 15, 13, 6, 5]
    assert_array_equal(inv(counts, design, n=31), np.array([38, 14, 8, -13, -16]) / 31)
    assert_array_equal(inv_n(counts, design, n=31), np.array([38, 14, 8, 0, 0]) / 60)
    assert_array_equal(inv_p(counts, design, n=31), np.array([55, 7, 0, 0, 0]) / 62)
    twice = [counts, counts]
    assert_allclose(inv_p(twice, design, n=[31, 31]), [np.array([55, 7, 0, 0, 0]) / 62] * 2, atol=4 * ULP_OF_ONE)


@pytest.mark.parametrize("counts", [[3, 2, 0, 1, 3], [0, 0, 0, 0, 0], [10, 10, 10, 10, 10], [9, 10, 3, 2, 1]])
def test_support_below_the_noise_tells_nothing_apart(counts: list[int]) -> None:
    # Noise alone supports each answer in a third of 30 reports: clipped, nothing is left to rescale.
    symmetry = Symmetry(Fraction(2, 3), Fraction(1, 3))
    uniform = np.full(5, 1 / 5)
    assert_array_equal(evaluated("inv_n", counts, 30, symmetry), uniform)
    assert_array_equal(evaluated("inv_n", [counts] * 3, [30] * 3, symmetry), [uniform] * 3)
    assert_allclose(evaluated("inv_n", np.array(counts, dtype=float), 30.0, symmetry), uniform, atol=1e-15)
    # Beside another one that is above: only that row is uniform.
    both = evaluated("inv_n", [counts, [20, 10, 10, 10, 10]], [30, 30], symmetry)
    assert_allclose(both[0], uniform, atol=4 * ULP_OF_ONE)
    assert_allclose(both[1], [1, 0, 0, 0, 0], atol=4 * ULP_OF_ONE)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 3])
def test_sets_of_many_answers(epsilon: float) -> None:
    # By distinct counts and one histogram after the other: the same shares, summing to one.
    k, n = 5000, 300
    design = SubsetSelection(k, epsilon=epsilon)
    counts = simulate.reports_of_population(simulate.zipf(k, 1.3), n, design, rng=np.random.default_rng(1))
    for estimator in (inv, inv_n, inv_p):
        shares = estimator(counts, design, n=n)
        assert_array_equal(estimator(counts[np.newaxis], design, n=[n])[0], shares)
        assert_array_equal(estimator(np.stack([counts, counts]), design, n=[n, n])[1], shares)
        weighted = estimator(counts.astype(float), design, n=float(n))
        assert_allclose(weighted, shares, atol=1e-9 / min(epsilon, 1) if estimator is inv else 1e-9)
        assert abs(shares.sum() - 1) <= 1e-12 * max(1, np.abs(shares).sum())
        if estimator is not inv:
            assert (shares >= 0).all()


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 3])
def test_batches_of_sets_are_as_precise_as_those_of_single_answers(epsilon: float) -> None:
    k, n = 40, 1000
    design = SubsetSelection(k, epsilon=epsilon)
    counts = simulate.reports_of_population(simulate.zipf(k, 1.3), n, design, rng=np.random.default_rng(2), size=20)
    for estimator in (inv, inv_n, inv_p):
        batch = estimator(counts, design, n=[n] * 20)
        one_by_one = np.array([estimator(row, design, n=n) for row in counts])
        assert (np.abs(batch - one_by_one) <= 4 * ULP_OF_ONE * np.maximum(1, np.abs(one_by_one))).all()
        if estimator is not inv:
            assert_array_equal(batch == 0, one_by_one == 0)


# Statistics with derived tolerances


@pytest.mark.long
@pytest.mark.parametrize(("k", "epsilon", "n"), [(2, 0.5, 200), (5, 1.2, 400), (50, 2, 2000)])
def test_inv_is_unbiased_with_the_stated_variance(k: int, epsilon: float, n: int) -> None:
    repeats = 40_000
    design = RandomizedResponse(k, epsilon=epsilon)
    truth = simulate.zipf(k, 1.3)
    kappa = design.p - design.q
    reports = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(7), size=repeats)
    estimates = inv(reports, design)
    reported = design.q + kappa * truth
    variance = reported * (1 - reported) / (n * kappa**2)
    # Means within 5 standard errors (k of them), variances within 5 of theirs, sqrt(2/R) for nearly normal ones.
    assert (np.abs(estimates.mean(axis=0) - truth) <= 5 * np.sqrt(variance / repeats)).all()
    assert_allclose(estimates.var(axis=0), variance, rtol=5 * np.sqrt(2.2 / repeats))


@pytest.mark.long
@pytest.mark.parametrize("s", [0.01, 1.3, 2.5])
def test_projection_never_raises_the_squared_error(s: float) -> None:
    # Projection onto a convex set that holds the truth brings every single estimate nearer to it.
    design = RandomizedResponse(100, epsilon=1)
    truth = simulate.zipf(100, s)
    reports = simulate.reports_of_population(truth, 10**4, design, rng=np.random.default_rng(3), size=5_000)
    error = {name: warner.metrics.squared_error_sum(ESTIMATORS[name](reports, design), truth) for name in ESTIMATORS}
    assert (error["inv_p"] <= error["inv"] * (1 + 1e-12)).all()


def test_a_line_that_is_cut_off_must_have_shares_that_sum_to_one() -> None:
    # The threshold searches for one histogram and for several differ otherwise: .2, .3, .9 against .067, .167, .767.
    design = RandomizedResponse(4, odds=(2, 1))
    symmetry = design.law.symmetry
    assert symmetry is not None
    for rows in ([15, 22, 24, 39], [[15, 22, 24, 39], [15, 22, 24, 39]]):
        counts = np.array(rows)
        histograms = Histograms(counts, counts.sum(axis=-1), 39)
        with pytest.raises(ValueError, match="line must give shares that sum to one: x s - y m must be z"):
            closed_forms.shares(histograms, symmetry, closed_forms.unbiased)
        assert closed_forms.shares(histograms, symmetry, closed_forms.unbiased, cut=False).sum() > 0.9
        for line in (closed_forms.nearest_line, closed_forms.rescaled, closed_forms.most_likely):
            assert_allclose(closed_forms.shares(histograms, symmetry, line).sum(axis=-1), 1, rtol=1e-12)
