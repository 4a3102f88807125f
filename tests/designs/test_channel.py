"""Designs whose reports may come from another set than the answers: whole numbers, algebra, readouts, files.

It tests designs/matrices.py as well.
"""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from cases import FORCED, KUK
from references import reference
from strategies import channels
from tables import exact
from warner import Channel, RandomizedResponse, Tally, load_design, mle, tally
from warner.designs import design_from_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REFERENCE = reference("reference_values")["cases"]
CHAINS = [case for case in REFERENCE if case["kind"] == "lgrr"]


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
def test_the_ratio_is_the_largest_of_any_column_exactly(design: Channel) -> None:
    columns = [column for column in zip(*exact(design), strict=True) if any(column)]
    low, high = design.ratio
    if any(min(column) == 0 for column in columns):
        assert low == 0 < high
        assert design.epsilon == math.inf
        assert design.shown_epsilon() == "inf"
    else:
        assert Fraction(high, low) == max(max(column) / min(column) for column in columns)


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


def test_what_a_respondent_does_is_told_and_changes_nothing() -> None:
    told = Channel([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"], procedure="Roll two dice.")
    assert told == FORCED
    assert hash(told) == hash(FORCED)
    assert told.in_words().startswith("For the respondent: Roll two dice.\n")
    assert Channel.from_json(told.to_json()).procedure == "Roll two dice."
    assert "procedure" not in FORCED.to_dict()
    named = Channel([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"], name="dice")
    assert (named, Channel.from_json(named.to_json()).name) == (told, "dice")
    assert "name" not in FORCED.to_dict()
    with pytest.raises(TypeError, match="name must be a text, but got 5"):
        Channel([[1, 0], [0, 1]], 2, 2, name=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="procedure must be a text, but got 5"):
        Channel([[1, 0], [0, 1]], 2, 2, procedure=5)  # type: ignore[arg-type]


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
    assert finer.domain == ("never", "once", "often")
    assert exact(finer) == [exact(FORCED)[1], exact(FORCED)[0], exact(FORCED)[0]]
    # a 0/1 matrix in front
    front = Channel([[0, 1], [1, 0], [1, 0]], ["never", "once", "often"], ["yes", "no"])
    assert front.then(FORCED) == finer


def test_structural_zeros_leave_out_answers_but_not_reports() -> None:
    survey = RandomizedResponse(["a", "b", "c", "d"], odds=(3, 1))
    some = survey.restricted(["d", "a"])
    assert some.domain == ("d", "a")
    assert some.outputs == ("a", "b", "c", "d")
    assert exact(some) == [exact(survey)[3], exact(survey)[0]]
    # MATH 3.3 for two allowed answers: p - q = 1/3, q = 1/6; c_d/(1+2x) = c_a/(1+2(1-x)) with 30 and 20 gives
    # 30 (3 - 2x) = 20 (1 + 2x), x = 0.7, whatever the reports of the others.
    assert_allclose(mle([20, 7, 9, 30], some), [0.7, 0.3], atol=1e-12)


# How shares show


def binomial_by_definition(design: Channel, members: list[int]) -> Any:
    """Find reports that are as likely after all answers of a set, and after all others: which, and the two rates."""
    table = exact(design)
    others = [i for i in range(design.k) if i not in members]
    if not others:
        return None
    outputs = range(len(design.outputs))
    steady = [
        j
        for j in outputs
        if len({table[i][j] for i in members}) == len({table[i][j] for i in others}) == 1
        and table[members[0]][j] > table[others[0]][j]
    ]
    for reports in [steady, *([members] if design.outputs == design.domain else [])]:
        inside, outside = (
            {sum((table[i][j] for j in reports), Fraction(0)) for i in rows} for rows in (members, others)
        )
        if len(inside) == len(outside) == 1 and inside != outside:
            return [j in reports for j in outputs], outside.pop(), inside.pop()
    return None


def sampling_model(design: Channel, counts: Any, sets: Any, **options: Any) -> Any:
    rows = np.atleast_2d(counts)
    return design.law.readout(rows, rows.sum(axis=1, keepdims=True).astype(float), sets, **options)


@given(channels(4, 5, 4), st.data())
def test_a_count_is_read_where_it_is_binomial_and_tells_about_as_much(design: Channel, data: st.DataObject) -> None:
    singles = [[i] for i in range(design.k)]
    several = data.draw(st.lists(st.integers(0, design.k - 1), min_size=1, max_size=design.k, unique=True))
    counts = np.arange(1, len(design.outputs) + 1)
    matrix, inverse = design.channel(), design.law.linear.weights()
    expected = matrix.mean(axis=0)
    for sets, chosen in ((None, singles), ([*singles, several], [*singles, several])):
        read = sampling_model(design, counts, sets)
        for place, members in enumerate(chosen):
            weights = inverse[:, members].sum(axis=1)
            wanted = np.isin(np.arange(design.k), members)
            known = binomial_by_definition(design, members)
            if np.abs(matrix @ weights - wanted).max() > 1e-8:
                assert not read.exact[place]
                assert np.isinf(read.error[0, place])
                continue
            linear = expected @ weights**2 - (expected @ weights) ** 2
            if known is not None:
                share = float(expected[np.array(known[0])].sum())
                ratio = share * (1 - share) / float(known[2] - known[1]) ** 2 / max(linear, 1e-300)
                if abs(ratio - 1.05) < 1e-6:
                    return  # a matter of rounding
            if known is not None and ratio <= 1.05:
                assert read.exact[place]
                assert read.count[0, place] == counts[np.array(known[0])].sum()
                assert_allclose([read.base[place], read.gain[place]], [float(known[1]), float(known[2] - known[1])])
            else:
                assert not read.exact[place]
                assert_allclose(read.count[0, place], counts @ weights, atol=1e-9)
                assert (read.base[place], read.gain[place]) == (0, 1)


def test_answers_that_name_themselves_under_forced_response_are_binomial() -> None:
    forced = Channel([["3/4", "1/8", "1/8"], ["1/4", "5/8", "1/8"], ["1/4", "1/8", "5/8"]], 3, 3)  # truth 1/2
    every = sampling_model(forced, [100, 20, 3], None)
    assert every.exact.all()
    assert_array_equal(every.count, [[100, 20, 3]])
    assert_allclose(every.base, [1 / 4, 1 / 8, 1 / 8])
    assert_allclose(every.gain, [1 / 2] * 3)
    pair = sampling_model(forced, [100, 20, 3], [[1, 2]])
    assert pair.exact.all()
    assert_array_equal(pair.count, [[23]])
    assert_allclose([pair.base[0], pair.gain[0]], [1 / 4, 1 / 2])


def test_a_linear_combination_by_hand() -> None:
    # w with C w = (1, 0) and the smallest variance at equal shares: by Lagrange, w = D^-1 C' (C D^-1 C')^-1 (1, 0)
    read = sampling_model(KUK, [30, 40, 30], [[0]])
    matrix = KUK.channel()
    scaled = matrix.T / matrix.mean(axis=0)[:, np.newaxis]
    weights = scaled @ np.linalg.solve(matrix @ scaled, [1, 0])
    observed = np.array([30.5, 40.5, 30.5]) / 101.5  # half a report more of each kind
    variance = observed @ weights**2 - (observed @ weights) ** 2
    assert not read.exact.any()
    assert_allclose(read.share(), [[np.array([0.3, 0.4, 0.3]) @ weights]])
    assert_allclose(read.error, [[np.sqrt(variance / 100)]])


def test_the_difference_of_two_shares_that_sum_to_one_is_twice_the_first_less_one() -> None:
    one, both = sampling_model(FORCED, [40, 160], [[0]]), sampling_model(FORCED, [40, 160], [[0]], minus=[[1]])
    assert both.exact.all()
    assert_array_equal(both.count, one.count)
    assert_allclose(both.share(), 2 * one.share() - 1)


# Drawing


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
    with pytest.raises(ValueError, match="1 of 1 is missing or not in it"):
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
    with pytest.raises(ValueError, match="reports must be in the domain, but 1 is not: 'yes'"):
        tally(["yes"], KUK)


def test_files_of_answers_and_reports_have_their_own_labels(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="files are read by DuckDB, which is not installed")
    from warner.reports.randomizing_files import randomize_file

    swap = Channel([[0, 1], [1, 0]], ["yes", "no"], [7, 9])
    (tmp_path / "answers.csv").write_text("a\nyes\nno\nyes\n")
    randomize_file(tmp_path / "answers.csv", swap, tmp_path / "reports.csv")
    assert (tmp_path / "reports.csv").read_text() == "a\n9\n7\n9\n"
    assert_array_equal(tally(tmp_path / "reports.csv", swap).counts, [1, 2])


# Files


def test_the_json_format_is_as_documented() -> None:
    assert json.loads(KUK.to_json()) == {
        "format": "warner design",
        "version": 1,
        "mechanism": "channel",
        "domain": ["yes", "no"],
        "outputs": {"first": 0, "size": 3},
        "weights": [["4", "32", "64"], ["49", "42", "9"]],
    }


def test_one_loader_tells_designs_apart(tmp_path: Path) -> None:
    survey = RandomizedResponse(["a", "b"], truth="3/4")
    wide = KUK.then(Channel([[0.8, 0.2]] * 3, 3, 2)).then(RandomizedResponse(2, epsilon=1))
    for number, design in enumerate((survey, FORCED, KUK, wide)):
        path = tmp_path / f"{number}.json"
        design.save(path)
        assert load_design(path) == design
        counted = Tally(design, np.arange(1, len(design.law.columns) + 1))
        assert Tally.from_json(counted.to_json()) == counted
    # A file of another kind may hold true answers: only the place of the mistake is shown.
    comma = "a design must be JSON, but line 2, column 10 cannot be read: remove this comma, which"
    other = "a design must be JSON as warner writes it, but this is a file of another kind"
    for text, complaint in (('{"mechanism":\n "secret",}', comma), ("secret\nyes\n", other)):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(ValueError, match=r"x\.json: ") as caught:
            load_design(tmp_path / "x.json")
        assert complaint in str(caught.value)
        assert "secret" not in str(caught.value)


GOOD = json.loads(FORCED.to_json())


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({**GOOD, "mechanism": "other"}, "mechanism must be one of 'randomized response', 'channel', .* says 'other'"),
        ({**GOOD, "mechanism": "other"}, "names it in its entry points of the group warner.mechanisms, or register it"),
        ({**GOOD, "weights": [["11", "1"]]}, "weights must be 2 lists of 2"),
        ({**GOOD, "weights": [["11", "1"], ["2"]]}, "weights must be 2 lists of 2"),
        ({**GOOD, "weights": [["11", 1], ["2", "10"]]}, "whole numbers as decimal strings"),
        ({**GOOD, "weights": [["11", "1"], ["-2", "14"]]}, "whole numbers as decimal strings"),
        ({**GOOD, "weights": [["11", "1"], ["2", "11"]]}, "must have one sum above 0, but got 12"),
        ({**GOOD, "weights": [["0", "0"], ["0", "0"]]}, "must have one sum above 0"),
        ({**GOOD, "weights": [["9" * 98, "1"], ["1", "9" * 98]]}, r"below 2\^320"),
        ({**GOOD, "domain": ["a", "a"]}, "domain must hold distinct labels"),
        ({**GOOD, "inputs": ["yes", "no"]}, "damaged: it must not have the field 'inputs'"),
        ({**GOOD, "procedure": 5}, "procedure must be a text"),
        ({**GOOD, "name": 5}, "name must be a text"),
        ({**GOOD, "outputs": ["a", 1]}, "outputs must hold labels that are all strings or all integers"),
        ({**GOOD, "outputs": "ab"}, "outputs must be a list of labels"),
    ],
)
def test_damaged_channels(document: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        design_from_json(json.dumps(document))


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
        (lambda: Channel([[1, 0], [0, 1]], ["a", "a"], 2), ValueError, "domain must hold distinct labels"),
        (lambda: Channel([[1, 0], [0, 1]], 2, ["a", 2]), TypeError, "outputs must hold labels that are all"),
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


def test_designs_in_words() -> None:
    words = KUK.in_words().replace("\n", " ")
    assert "as 0 with probability 0.04, as 1 with probability 0.32, as 2 with probability 0.64" in words
    assert "by at most a factor of 12.25." in words  # 49/4
    assert "more than 92.5 % certain" in words  # 49/53
    assert "rules out an answer" in Channel([[1, 0], ["1/2", "1/2"]], 2, 2).in_words()
    assert "nothing (epsilon 0)" in Channel([[1, 0], [1, 0]], 2, 2).in_words()
    assert "And so on for 8 more." in RandomizedResponse(30, epsilon=1).restricted(range(20)).in_words()
