"""Designs whose reports may come from another set than the answers, from the matrix to the estimate."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import warner
from tables import exact, scripted
from warner import Channel, RandomizedResponse, Tally, estimate, inv, inv_n, inv_p, load_design, metrics, mle, tally
from warner.designs import design_from_json
from warner.reports.randomizing import _draw

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "reference_values.json").read_text())["cases"]
CHAINS = [case for case in REFERENCE if case["kind"] == "lgrr"]
FORCED = Channel([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"])
KUK = Channel([["1/25", "8/25", "16/25"], ["49/100", "42/100", "9/100"]], ["yes", "no"], 3)


def channels(inputs: int = 4, outputs: int = 4, largest: int = 6) -> st.SearchStrategy[Channel]:
    """Draw small exact channels, with zeros; every row has the same sum."""

    def filled(shape: tuple[int, int]) -> st.SearchStrategy[Channel]:
        rows = st.lists(st.integers(0, largest), min_size=shape[1], max_size=shape[1]).filter(any)
        return st.lists(rows, min_size=shape[0], max_size=shape[0]).map(
            lambda matrix: Channel([[Fraction(x, sum(row)) for x in row] for row in matrix], *shape)
        )

    return st.tuples(st.integers(2, inputs), st.integers(2, outputs)).flatmap(filled)


def product(first: Any, second: Any) -> list[list[Fraction]]:
    columns = list(zip(*exact(second), strict=True))
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in exact(first)]


# Whole numbers


def test_fractions_and_strings_are_taken_exactly() -> None:
    mixed = Channel([["1/3", Fraction(2, 3), 0], ["0.25", "0.5", "1/4"]], 2, 3)
    assert mixed.total == 12
    assert_array_equal(mixed.weights, [[4, 8, 0], [3, 6, 3]])
    assert Channel(np.array([[1, 0], [0, 1]]), 2, 2).weights.tolist() == [[1, 0], [0, 1]]


@given(st.lists(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), min_size=2, max_size=4))
def test_doubles_are_rounded_to_parts_of_two_to_the_52(rows: list[list[float]]) -> None:
    matrix = np.array([np.array(row) / sum(row) for row in rows])
    for design in (Channel(matrix, len(rows), 3), Channel(matrix.tolist(), len(rows), 3)):
        assert design.total <= 2**52
        assert (design.weights.sum(axis=1) == design.total).all()
        # every entry is rounded by half a part, the largest also takes what the others lack
        assert (abs(design.weights * (2**52 // design.total) - matrix * 2**52) <= 2.5).all()


def test_rows_of_doubles_may_be_a_hair_off_one() -> None:
    off = Channel([[0.5, 0.5 + 9e-10], [0.25, 0.75]], 2, 2)
    assert off.weights.sum(axis=1).tolist() == [off.total] * 2
    # 0.5 is exact; the largest entry, 0.5 + 9e-10, is what is left of one
    assert exact(off)[0] == [Fraction(1, 2), Fraction(1, 2)]


@given(channels())
def test_epsilon_is_the_largest_log_ratio_rounded_up(design: Channel) -> None:
    ratios = [
        max(column) / min(column) if min(column) else math.inf
        for column in zip(*exact(design), strict=True)
        if any(column)
    ]
    largest: Any = max(ratios)
    if largest == math.inf:
        assert design.epsilon == math.inf
        assert design.shown_epsilon() == "inf"
        return
    with mpmath.workdps(50):
        true = mpmath.log(mpmath.mpf(largest.numerator) / largest.denominator)
        assert mpmath.mpf(design.epsilon) >= true
        assert mpmath.mpf(design.epsilon) <= true * (1 + mpmath.mpf(2) ** -51)
        assert mpmath.mpf(design.shown_epsilon()) >= true


def test_a_matrix_gives_the_probabilities_back() -> None:
    assert_array_equal(FORCED.channel(), [[11 / 12, 1 / 12], [2 / 12, 10 / 12]])
    assert FORCED.k == 2
    assert KUK.domain == ("yes", "no")
    assert KUK.outputs == range(3)


def test_equal_designs_are_equal_and_have_one_hash() -> None:
    same = Channel([[Fraction(11, 12), "1/12"], ["2/12", "10/12"]], ["yes", "no"], ["yes", "no"])
    assert same == FORCED
    assert hash(same) == hash(FORCED)
    assert pickle.loads(pickle.dumps(FORCED)) == FORCED
    assert Channel(FORCED.channel(), ["yes", "no"], ["yes", "no"]) != FORCED  # doubles are other fractions
    assert Channel([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["y", "n"]) != FORCED
    assert RandomizedResponse(["yes", "no"], truth="3/4") != FORCED
    with pytest.raises(ValueError, match="read-only"):
        FORCED.weights[0, 0] = 5


# Chains, groups, structural zeros


@given(first=channels(3, 3), second=channels(3, 4))
def test_a_chain_is_the_product_of_the_matrices(first: Channel, second: Channel) -> None:
    if len(first.outputs) == second.k:
        assert exact(first.then(second)) == product(first, second)
    response = RandomizedResponse(len(first.outputs), odds=(5, 2))
    assert exact(first.then(response)) == product(first, response)
    assert exact(RandomizedResponse(second.k, odds=(1, 4)).then(second)) == product(
        RandomizedResponse(second.k, odds=(1, 4)), second
    )


@given(
    k=st.integers(2, 5),
    odds=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any), min_size=2, max_size=2),
)
def test_two_randomized_responses_in_a_row_are_one(k: int, odds: list[tuple[int, int]]) -> None:
    first, second = (RandomizedResponse(k, odds=pair) for pair in odds)
    both = first.then(second)
    assert isinstance(both, RandomizedResponse)
    assert exact(both) == product(first, second)
    assert math.gcd(*both.odds) == 1


@pytest.mark.parametrize("case", CHAINS, ids=lambda case: case["id"])
def test_longitudinal_responses_match_the_reference(case: dict[str, Any]) -> None:
    k, wanted = case["input"]["K"], case["expected"]
    first = RandomizedResponse(k, epsilon=case["input"]["epsilon_inf"])
    second = RandomizedResponse(k, epsilon=wanted["epsilon_second_stage"]["str"])
    both = first.then(second)
    assert isinstance(both, RandomizedResponse)
    assert exact(both) == product(first, second)
    for design, p, q in ((first, "p1", "q1"), (second, "p2", "q2"), (both, "p_eff", "q_eff")):
        # Odds are rounded down to parts of about 2^52.
        assert design.p == pytest.approx(wanted[p]["float"], rel=1e-13)
        assert design.q == pytest.approx(wanted[q]["float"], rel=1e-13)
    assert both.epsilon == pytest.approx(float(case["input"]["epsilon_1"]), rel=1e-13)
    # Beyond what 64 bits can draw, and yet a design like any other.
    assert both.total >= 2**62
    assert RandomizedResponse.from_json(both.to_json()) == both
    counts = np.arange(1, k + 1) * 10
    small = RandomizedResponse(k, odds=(round(1e6 * both.odds[0] / both.odds[1]), 10**6))
    assert_allclose(mle(counts, both), mle(counts, small), atol=1e-4)
    assert_allclose(mle([counts, counts], both)[1], mle(counts, both), atol=1e-12)
    assert set(both.randomize([3] * 200)) <= set(range(k))


def test_a_coarsened_design_merges_finer_answers_before() -> None:
    finer = FORCED.coarsened({"no": ["never"], "yes": ["once", "often"]})
    assert finer.inputs == ("never", "once", "often")
    assert exact(finer) == [exact(FORCED)[1], exact(FORCED)[0], exact(FORCED)[0]]
    # a 0/1 matrix in front
    front = Channel([[0, 1], [1, 0], [1, 0]], ["never", "once", "often"], ["yes", "no"])
    assert front.then(FORCED) == finer


def test_structural_zeros_leave_out_answers_but_not_reports() -> None:
    survey = RandomizedResponse(["a", "b", "c", "d"], odds=(3, 1))
    some = survey.restricted(["d", "a"])
    assert some.inputs == ("d", "a")
    assert some.outputs == ("a", "b", "c", "d")
    assert exact(some) == [exact(survey)[3], exact(survey)[0]]
    # MATH 3.3 for two allowed answers: p - q = 1/3, q = 1/6; c_d/(1+2x) = c_a/(1+2(1-x)) with 30 and 20 gives
    # 30 (3 - 2x) = 20 (1 + 2x), x = 0.7, whatever the reports of the others.
    assert_allclose(mle([20, 7, 9, 30], some), [0.7, 0.3], atol=1e-12)


# Drawing


@given(channels())
def test_enumerating_every_draw_gives_exactly_the_weights(design: Channel) -> None:
    for truth in range(design.k):
        reports = _draw(np.full(design.total, truth), design, scripted(list(range(design.total))))
        assert_array_equal(np.bincount(reports, minlength=len(design.outputs)), design.weights[truth])


@given(first=channels(3, 3), data=st.data())
def test_wide_designs_are_drawn_from_more_bits_by_the_same_rule(first: Channel, data: st.DataObject) -> None:
    rough = Channel(np.full((len(first.outputs), 3), [[0.1, 0.2, 0.7]]), len(first.outputs), 3)
    fine = RandomizedResponse(3, epsilon=1)
    chain = first.then(rough).then(fine)
    assert chain.total >= 2**62
    width = 8 * (chain.total.bit_length() // 64 + 1)
    limit = 2 ** (8 * width) // chain.total * chain.total
    for truth in range(first.k):
        running = np.cumsum(chain.weights[truth])  # type: ignore[union-attr]
        edges = [0, *(int(edge) for edge in running[:-1]), *(int(edge) - 1 for edge in running if edge), limit - 1]
        draws = [*edges, *data.draw(st.lists(st.integers(0, limit - 1), max_size=3))]
        expected = [sum(edge <= draw % chain.total for edge in running) for draw in draws]
        # The first draw of all is thrown away: it is beyond the last whole block.
        script = [2 ** (8 * width) - 1, *draws[1:], draws[0]]
        reports = _draw(np.full(len(draws), truth), chain, scripted(script, width))
        assert reports.tolist() == expected


def test_a_wide_randomized_response_is_drawn_by_its_rule() -> None:
    chain = RandomizedResponse(4, epsilon=1).then(RandomizedResponse(4, epsilon=2))
    assert isinstance(chain, RandomizedResponse)
    a, b = chain.odds
    edges = [0, a - 1, a, a + b - 1, a + b, a + 2 * b, chain.total - 1]
    for truth, wanted in ((0, [0, 0, 1, 1, 2, 3, 3]), (2, [2, 2, 0, 0, 1, 3, 3])):
        assert _draw(np.full(7, truth), chain, scripted(edges, 16)).tolist() == wanted


@pytest.mark.parametrize("design", [KUK, KUK.then(Channel([[0.8, 0.2]] * 3, 3, 2))])
def test_the_answers_do_not_change_how_much_randomness_is_used(design: Channel) -> None:
    used = []
    for truth in range(design.k):
        source = np.random.default_rng(1)
        _draw(np.full(20_000, truth), design, source.bytes)
        used.append(source.bit_generator.state)
    assert used[0] == used[1]


def test_real_draws_follow_the_design() -> None:
    n = 100_000
    counts = np.bincount(KUK.randomize(np.full(n, "yes")), minlength=3)
    # A chi-square with two degrees of freedom exceeds 42 with probability e^-21 = 8e-10.
    assert ((counts - n * KUK.channel()[0]) ** 2 / (n * KUK.channel()[0])).sum() < 42


def test_labels_in_outputs_out() -> None:
    swap = Channel([[0, 1], [1, 0]], ["yes", "no"], [7, 9])
    assert swap.randomize("yes") == 9
    assert swap.randomize(["no", "yes"]) == [7, 9]
    assert swap.randomize(np.array(["no", "yes"])).tolist() == [7, 9]
    assert swap.randomize([0, 1], codes=True) == [1, 0]
    with pytest.raises(ValueError, match="1 of 1 are missing or not in it"):
        swap.randomize([7])


# Counting


def test_a_tally_of_a_channel_counts_outputs() -> None:
    found = tally([0, 2, 2, None, 1, 2], KUK)
    assert_array_equal(found.counts, [1, 1, 3])
    assert repr(found) == "<Tally of 5 reports among 3 outputs: 1 0, 1 1, 3 2; 1 missing>"
    assert_array_equal((found + Tally(KUK, [1, 0, 0])).counts, [2, 1, 3])
    assert_array_equal(tally([0, 1], KUK, by=["a", "b"]).counts, [[1, 0, 0], [0, 1, 0]])
    with pytest.raises(ValueError, match=r"counts must have shape \(3,\), one for each possible report"):
        Tally(KUK, [1, 2])
    with pytest.raises(ValueError, match="reports must be in the domain, but 1 are not: 'yes'"):
        tally(["yes"], KUK)


def test_files_of_answers_and_reports_have_their_own_labels(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="files are read by DuckDB, which is not installed")
    from warner.reports.streams import randomize_file

    swap = Channel([[0, 1], [1, 0]], ["yes", "no"], [7, 9])
    (tmp_path / "answers.csv").write_text("a\nyes\nno\nyes\n")
    randomize_file(tmp_path / "answers.csv", swap, tmp_path / "reports.csv")
    assert (tmp_path / "reports.csv").read_text() == "a\n9\n7\n9\n"
    assert_array_equal(tally(tmp_path / "reports.csv", swap).counts, [1, 2])


# Files


@given(channels())
def test_json_there_and_back(design: Channel) -> None:
    assert Channel.from_json(design.to_json()) == design
    assert design_from_json(design.to_json()) == design


def test_one_loader_tells_designs_apart(tmp_path: Path) -> None:
    survey = RandomizedResponse(["a", "b"], truth="3/4")
    wide = KUK.then(Channel([[0.8, 0.2]] * 3, 3, 2)).then(RandomizedResponse(2, epsilon=1))
    for number, design in enumerate((survey, FORCED, KUK, wide)):
        path = tmp_path / f"{number}.json"
        design.save(path)
        assert load_design(path) == design
        counted = Tally(design, np.arange(1, len(design.outputs) + 1))
        assert Tally.from_json(counted.to_json()).design == design
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ValueError, match=r"x\.json: a design must be JSON"):
        load_design(tmp_path / "x.json")


GOOD = json.loads(FORCED.to_json())


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({**GOOD, "mechanism": "other"}, "damaged: the fields"),
        ({**GOOD, "weights": [["11", "1"]]}, "weights must be 2 lists of 2"),
        ({**GOOD, "weights": [["11", "1"], ["2"]]}, "weights must be 2 lists of 2"),
        ({**GOOD, "weights": [["11", 1], ["2", "10"]]}, "whole numbers as decimal strings"),
        ({**GOOD, "weights": [["11", "1"], ["-2", "14"]]}, "whole numbers as decimal strings"),
        ({**GOOD, "weights": [["11", "1"], ["2", "11"]]}, "must have one sum above 0, but got 12"),
        ({**GOOD, "weights": [["0", "0"], ["0", "0"]]}, "must have one sum above 0"),
        ({**GOOD, "weights": [["9" * 98, "1"], ["1", "9" * 98]]}, r"below 2\^320"),
        ({**GOOD, "inputs": ["a", "a"]}, "inputs must hold distinct labels"),
        ({**GOOD, "outputs": ["a", 1]}, "outputs must hold labels that are all strings or all integers"),
        ({**GOOD, "outputs": "ab"}, "outputs must be a list of labels"),
    ],
)
def test_damaged_channels(document: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        design_from_json(json.dumps(document))


# Estimating from a channel


def test_estimates_of_a_forced_response_by_hand() -> None:
    # (0.20 - 1/6) / (11/12 - 1/6) = 2/45; with 20 of 200 the line is below zero, (0.10 - 1/6) * 4/3 = -4/45
    for method in (inv, inv_n, inv_p, mle):
        assert_allclose(method([40, 160], FORCED), [2 / 45, 43 / 45], atol=1e-14)
        assert_allclose(method([[40, 160], [20, 180]], FORCED)[0], [2 / 45, 43 / 45], atol=1e-14)
    assert_allclose(inv([20, 180], FORCED), [-4 / 45, 49 / 45], atol=1e-14)
    for method in (inv_n, inv_p, mle):
        assert_allclose(method([20, 180], FORCED), [0, 1], atol=1e-14)


def test_inv_p_of_a_channel_is_that_of_randomized_response() -> None:
    survey = RandomizedResponse(4, odds=(5, 2))
    channel = Channel(exact(survey), 4, 4)
    counts = [[3, 60, 20, 17], [25, 25, 25, 25], [0, 0, 1, 99]]
    for method in (inv, inv_n, inv_p, mle):
        assert_allclose(method(counts, channel), method(counts, survey), atol=1e-12)


@given(channels(3, 4, 9), st.lists(st.integers(1, 9), min_size=3, max_size=3))
def test_inv_of_a_channel_undoes_it(design: Channel, weights: list[int]) -> None:
    matrix = design.channel()
    if np.linalg.matrix_rank(matrix) < design.k:
        if design.epsilon > 0:
            with pytest.raises(ValueError, match="linearly independent rows"):
                inv(1.0 * np.any(matrix > 0, axis=0), design)
        return
    if np.linalg.cond(matrix) > 1e4:
        return
    truth = np.array(weights[: design.k]) / sum(weights[: design.k])
    assert_allclose(inv(1000 * truth @ matrix, design), truth, atol=1e-9)
    # and what is expected under one population is unbiased under every other: the estimate is linear
    random = np.random.default_rng(1).dirichlet(np.ones(len(design.outputs))) * (matrix.max(axis=0) > 0)
    assert inv(random, design).sum() == pytest.approx(1, abs=1e-9)


def test_estimate_of_a_channel_carries_its_certificate() -> None:
    found = estimate(Tally(KUK, [40, 38, 22]))
    assert found.certificate is not None
    assert found.certificate.excess < 1e-12
    assert found.certificate.unique
    assert found.log_likelihood == pytest.approx(-106.79351969693987, rel=1e-12)
    assert_allclose(estimate(Tally(KUK, [40, 38, 22]), method="ibu").shares, found.shares, atol=1e-3)
    grouped = estimate(tally([0, 1, 2, 0, 1, 1], KUK, by=list("aaabbb")))
    assert grouped.shares.shape == (2, 2)
    assert_allclose(grouped.shares[0], mle([1, 1, 1], KUK), atol=1e-12)
    weighted = tally([0, 1, 2], KUK, weights=[4.0, 3.8, 2.2])
    assert_allclose(estimate(weighted).shares, found.shares, atol=1e-10)


def test_likelihood_of_a_channel_by_hand() -> None:
    # shares 1/2, 1/2: yes has probability (11/12 + 1/6)/2 = 13/24
    wanted = -(0.2 * math.log(13 / 24) + 0.8 * math.log(11 / 24))
    assert metrics.negative_log_likelihood([0.5, 0.5], [40, 160], FORCED) == pytest.approx(wanted, rel=1e-14)


def test_simulated_reports_follow_the_channel() -> None:
    counts = warner.simulate.reports_of_population([0.3, 0.7], 10**6, KUK, rng=np.random.default_rng(1))
    chance = np.array([0.3, 0.7]) @ KUK.channel()
    assert (abs(counts - 10**6 * chance) <= 4 * np.sqrt(10**6 * chance * (1 - chance))).all()


# Bad input


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (
            lambda: Channel([["1/2", "1/2"], ["1/3", "1/3"]], ["a", "b"], 2),
            ValueError,
            "every row of matrix must sum to one, but that of the answer 'b' sums to 2/3",
        ),
        (lambda: Channel([[0.5, 0.5], [0.5, 0.4]], ["a", "b"], 2), ValueError, "answer 'b' sums to 0.9"),
        (lambda: Channel([[0.5, 0.5], [0.5, float("nan")]], 2, 2), ValueError, "answer 1 sums to nan"),
        (
            lambda: Channel([["3/2", "-1/2"], [0, 1]], 2, 2),
            ValueError,
            "at least 0, but the row of the answer 0 has -0.5",
        ),
        (
            lambda: Channel([[1.5, -0.5], [0.0, 1.0]], 2, 2),
            ValueError,
            "at least 0, but the row of the answer 0 has -0.5",
        ),
        (
            lambda: Channel([["1/2", "1/2"]], 2, 2),
            ValueError,
            r"matrix must have 2 rows, one for each answer, and 2 columns, but got shape \(1, 2\)",
        ),
        (lambda: Channel([["1/2", "1/2"], [1]], 2, 2), ValueError, "but got rows of different lengths"),
        (lambda: Channel([["1/2", "x"], [0, 1]], 2, 2), ValueError, "matrix must be a finite number"),
        (lambda: Channel([[True, False], [0, 1]], 2, 2), TypeError, "matrix must be a number"),
        (lambda: Channel([[1, 0], [0, 1]], ["a", "a"], 2), ValueError, "inputs must hold distinct labels"),
        (lambda: Channel([[1, 0], [0, 1]], 2, ["a", 2]), TypeError, "outputs must hold labels that are all"),  # type: ignore[arg-type]
        (lambda: Channel([[1], [1]], 2, 1), ValueError, "outputs must have at least 2"),
        (lambda: FORCED.then(KUK.then(FORCED)), ValueError, "reports of the first design must be the answers"),
        (lambda: FORCED.then(RandomizedResponse(2, epsilon=1)), ValueError, "'yes', 'no' and 0, 1"),
        (lambda: FORCED.restricted(["yes"]), ValueError, "allowed must have at least 2"),
        (lambda: FORCED.restricted(["yes", "maybe"]), ValueError, "'maybe' is none of them"),
        (lambda: RandomizedResponse(3, epsilon=1).restricted(["1", "2"]), ValueError, "'1' is none of them"),
        (lambda: FORCED.coarsened({"yes": ["a"], "maybe": ["b"]}), ValueError, "groups must name answers .* 'maybe'"),
        (lambda: FORCED.coarsened({"yes": ["a"], "no": ["a"]}), ValueError, "groups must hold distinct labels"),
        (lambda: FORCED.coarsened({"yes": "ab", "no": ["c"]}), TypeError, "groups must map answers"),
        (lambda: RandomizedResponse(10**5, epsilon=1).restricted([0, 1]), ValueError, "at most 4096 answers"),
    ],
)
def test_what_is_no_channel(make: Callable[[], object], error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        make()


def test_impossible_reports_are_named_and_counted() -> None:
    design = Channel([["1/2", "1/2", 0], ["1/4", "3/4", 0]], 2, ["a", "b", "c"])
    for method in (mle, inv, warner.ibu, warner.channel_mle):
        with pytest.raises(ValueError, match="some are impossible under it: 'c' 7 times"):
            method([5, 6, 7], design)
    assert mle([5, 6, 0], design).shape == (2,)


def test_a_design_that_says_nothing() -> None:
    silent = Channel([["1/2", "1/2"], ["1/2", "1/2"]], 2, 2)
    assert silent.epsilon == 0
    with pytest.raises(ValueError, match="rows that differ"):
        mle([1, 2], silent)


def test_designs_in_words() -> None:
    words = KUK.in_words().replace("\n", " ")
    assert "as 0 with probability 0.04, as 1 with probability 0.32, as 2 with probability 0.64" in words
    assert "no answer more than 12.25 times likelier" in words  # 49/4
    assert "more than 92.5 % sure" in words  # 49/53
    assert "rules out an answer" in Channel([[1, 0], ["1/2", "1/2"]], 2, 2).in_words()
    assert "nothing (epsilon 0)" in Channel([[1, 0], [1, 0]], 2, 2).in_words()
    assert "And so on for 8 more." in RandomizedResponse(30, epsilon=1).restricted(range(20)).in_words()
