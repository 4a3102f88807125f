from __future__ import annotations

import io
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from warner import RandomizedResponse
from warner.designs import SubsetSelection
from warner.reports.randomizing import randomize

if TYPE_CHECKING:
    from collections.abc import Callable

ABC = RandomizedResponse(["a", "b", "c"], odds=(1, 0))


def scripted(draws: list[int]) -> Callable[[int], bytes]:
    """Return these 64-bit numbers in turn in the place of the operating system's randomness."""
    return io.BytesIO(np.array(draws, dtype="<u8").tobytes()).read


# The law of the draw, exactly


@given(
    k=st.integers(2, 5),
    odds=st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(any),
)
def test_enumerating_every_draw_gives_exactly_the_odds(k: int, odds: tuple[int, int]) -> None:
    design = RandomizedResponse(k, odds=odds)
    a, b = design.odds
    for truth in range(k):
        reports = design.draw(np.full(design.total, truth), scripted(list(range(design.total))))
        assert_array_equal(np.bincount(reports, minlength=k), [a if label == truth else b for label in range(k)])


@given(k=st.integers(2, 10**6), epsilon=st.floats(1e-6, 30), data=st.data())
def test_every_report_follows_from_its_draw_by_whole_numbers(k: int, epsilon: float, data: st.DataObject) -> None:
    design = RandomizedResponse(k, epsilon=epsilon)
    a, b = design.odds
    limit = 2**64 // design.total * design.total
    edges = [0, a - 1, a, a + b - 1, design.total - 1, design.total, limit - 1]
    draws = [u for u in edges if 0 <= u < limit] + data.draw(st.lists(st.integers(0, limit - 1), max_size=5))
    truths = data.draw(st.lists(st.integers(0, k - 1), min_size=len(draws), max_size=len(draws)))
    expected = []
    for draw, truth in zip(draws, truths, strict=True):
        u = draw % design.total
        others = (u - a) // b
        expected.append(truth if u < a else others + (others >= truth))
    assert_array_equal(design.draw(np.array(truths), scripted(draws)), expected)


def test_draws_beyond_the_last_whole_block_are_thrown_away_and_drawn_again() -> None:
    design = RandomizedResponse(3, odds=(3, 1))  # 5 equally likely draws; 2^64 = 5 * 3689348814741910323 + 1
    last = 2**64 - 1
    assert last % 5 == 0
    reports = design.draw(np.array([0, 1, 2]), scripted([3, last, 0, last, 4]))
    # Person 1 is drawn again: first thrown away too, then 4, the last lie of answer 1, which is answer 2.
    assert_array_equal(reports, [1, 2, 2])


def test_the_answers_do_not_change_how_much_randomness_is_used() -> None:
    design = RandomizedResponse(1000, epsilon=1)
    used = []
    for truth in (0, 500, 999):
        source = np.random.default_rng(1)  # the same bytes for everybody
        design.draw(np.full(50_000, truth), source.bytes)
        used.append(source.bit_generator.state)
    assert used[0] == used[1] == used[2]


@pytest.mark.parametrize(("k", "parameters"), [(2, {"truth": "1/4"}), (5, {"epsilon": 1}), (1000, {"epsilon": 4})])
def test_real_draws_follow_the_design(k: int, parameters: dict[str, Any]) -> None:
    n = 200_000
    design = RandomizedResponse(k, **parameters)
    truth = 1
    counts = np.bincount(design.randomize(np.full(n, truth), codes=True), minlength=k)
    chance = np.where(np.arange(k) == truth, design.p, design.q)
    # Pearson's chi-square has mean k-1 and standard deviation about sqrt(2(k-1)); beyond mean + 8 sd + 30 happens
    # with a probability below 1e-7 for every k here (a gamma tail: worst at k = 2, P(chi2_1 > 42) = 1e-10).
    assert ((counts - n * chance) ** 2 / (n * chance)).sum() <= (k - 1) + 8 * np.sqrt(2 * (k - 1)) + 30
    # and two calls differ: nothing is seeded
    again = np.bincount(design.randomize(np.full(n, truth), codes=True), minlength=k)
    assert (counts != again).any()


# Labels in, labels out


@pytest.mark.parametrize(
    "answers",
    [
        "b",
        ["c", "a", "a"],
        ("b",),
        [],
        np.array(["a", "c"]),
        np.array([["a"], ["b"]], dtype=object),
        np.array([], dtype="U1"),
    ],
)
def test_a_label_gives_a_label_a_list_a_list_and_an_array_an_array(answers: Any) -> None:
    reports: Any = ABC.randomize(answers)
    assert type(reports) is (list if isinstance(answers, tuple) else type(answers))
    if isinstance(answers, np.ndarray) and isinstance(reports, np.ndarray):
        assert reports.dtype == answers.dtype or answers.dtype.kind == "U"
        assert reports.shape == answers.shape
    assert_array_equal(reports, list(answers) if isinstance(answers, tuple) else answers)


def test_string_arrays_of_numpys_own_kind_stay_so() -> None:
    answers = np.array(["a", "ccc"], dtype=np.dtypes.StringDType())
    reports = RandomizedResponse(["a", "b", "ccc"], odds=(1, 0)).randomize(answers)
    assert reports.dtype == answers.dtype
    assert reports.tolist() == ["a", "ccc"]


@pytest.mark.parametrize("domain", [[5, 9, -3], range(-3, 10), [10**18, 5, 9, -3]])
def test_integer_labels(domain: Any) -> None:
    design = RandomizedResponse(domain, odds=(1, 0))
    assert design.randomize(9) == 9
    assert design.randomize([5, -3]) == [5, -3]
    assert type(design.randomize(np.int16(9))) is int
    for kind in ("i1", "i4", "i8", ">i8", "O"):
        assert_array_equal(design.randomize(np.array([5, -3, 9], dtype=kind)), [5, -3, 9])
    assert_array_equal(design.randomize(np.array([5, 9], dtype="u8")), [5, 9])


def test_codes_are_positions_in_the_domain() -> None:
    assert ABC.randomize(2, codes=True) == 2
    assert ABC.randomize([2, 0], codes=True) == [2, 0]
    assert_array_equal(ABC.randomize(np.array([2, 0], dtype="u1"), codes=True), [2, 0])


def test_labels_of_all_lengths_are_reported_whole() -> None:
    design = RandomizedResponse(["a", "a much longer label"], truth=0)  # two answers, always the other one
    assert design.randomize(np.array(["a", "a"])).tolist() == ["a much longer label"] * 2


def test_more_answers_than_one_piece_of_work() -> None:
    answers = np.random.default_rng(0).integers(0, 1000, 100_003)
    assert_array_equal(RandomizedResponse(1000, odds=(1, 0)).randomize(answers), answers)


def test_the_answers_themselves_are_not_touched() -> None:
    answers = np.arange(1000)
    answers.flags.writeable = False
    RandomizedResponse(1000, epsilon=1).randomize(answers, codes=True)
    assert_array_equal(answers, np.arange(1000))


# Sets of answers

TRUTHFUL = SubsetSelection(list("abcdefghij"), odds=(1, 0), size=1)  # the set that holds the answer, and nothing else


def test_a_set_is_written_in_hexadecimal_the_first_answer_in_the_highest_bit() -> None:
    assert TRUTHFUL.randomize("a") == "8000"
    assert TRUTHFUL.randomize(["h", "i", "j"]) == ["0100", "0080", "0040"]
    assert TRUTHFUL.randomize(("b",)) == ["4000"]
    assert TRUTHFUL.randomize([]) == []
    assert type(TRUTHFUL.randomize(["h"])[0]) is str


@pytest.mark.parametrize("kind", [None, object, np.dtypes.StringDType()])
def test_an_array_of_answers_gives_an_array_of_sets_of_the_same_shape(kind: Any) -> None:
    reports = TRUTHFUL.randomize(np.array([["a", "b", "c"], ["h", "i", "j"]], dtype=kind))
    assert reports.tolist() == [["8000", "4000", "2000"], ["0100", "0080", "0040"]]
    assert TRUTHFUL.randomize(np.array("b")).shape == ()
    assert TRUTHFUL.randomize(np.array([], dtype="U1")).shape == (0,)


def test_codes_of_sets_are_rows_of_packed_bytes() -> None:
    rows = TRUTHFUL.randomize(np.array([[0, 1, 2], [7, 8, 9]]), codes=True)
    assert rows.dtype == np.uint8
    assert_array_equal(rows, [[[128, 0], [64, 0], [32, 0]], [[1, 0], [0, 128], [0, 64]]])
    assert_array_equal(TRUTHFUL.randomize(9, codes=True), [0, 64])
    listed = TRUTHFUL.randomize([0, 9], codes=True)
    assert type(listed) is list
    assert all(row.dtype == np.uint8 for row in listed)  # as `tally` wants them back
    assert_array_equal(listed, [[128, 0], [0, 64]])


# Bad input: where, never what

SECRET = "hiv-positive"


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        ([SECRET, "a"], "1 of 2 is missing or not in it, at position 0 counted"),
        (SECRET, "1 of 1 is missing"),
        (["a", None, float("nan"), SECRET], "3 of 4 .* at position 1, 2, 3 counted"),
        (np.array(["a", SECRET]), "at position 1 counted"),
        (np.array(["a", SECRET, None], dtype=object), "2 of 3 .* at position 1, 2"),
        (["a", [SECRET]], "at position 1"),
        ([b"a"], "at position 0"),
        ([SECRET] * 9, "9 of 9 .* at position 0, 1, 2, 3, 4, ... counted"),
        (None, "1 of 1"),
        (np.ma.array(["a", "b"], mask=[False, True]), "1 of 2 .* at position 1"),
    ],
)
def test_answers_outside_the_domain_are_named_by_position_only(answers: Any, complaint: str) -> None:
    for survey in (RandomizedResponse(["a", "b", "c"], epsilon=1), SubsetSelection(["a", "b", "c"], epsilon=1)):
        with pytest.raises(ValueError, match=complaint) as caught:
            survey.randomize(answers)
        assert SECRET not in str(caught.value)
        assert SECRET not in "".join(traceback.format_exception_only(caught.value))
        assert caught.value.__context__ is None


def test_nothing_is_drawn_before_all_answers_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counting_bytes(size: int) -> bytes:
        asked.append(size)
        return bytes(size)

    monkeypatch.setattr("os.urandom", counting_bytes)
    for answers in (["a"] * 100_000 + [SECRET], np.array(["a", SECRET])):
        with pytest.raises(ValueError, match="nothing was randomized"):
            ABC.randomize(answers)
    assert asked == []
    ABC.randomize("a")
    assert asked


@pytest.mark.parametrize("design", [["a", "b"], "a", None, RandomizedResponse])
def test_data_and_design_that_are_swapped_are_told_so(design: Any) -> None:
    with pytest.raises(TypeError, match=r"design must be a design, .*: randomize\(answers, design\)") as caught:
        randomize(ABC, design)
    assert "'a'" not in str(caught.value)


@pytest.mark.parametrize(
    "answers", [[1.5], [True], ["1"], [3], [-1], [None], np.array([0, 3]), np.array([-1]), [2**70]]
)
def test_labels_compare_by_value_and_type(answers: Any) -> None:
    with pytest.raises(ValueError, match="missing or not in it"):
        RandomizedResponse(3, epsilon=1).randomize(answers)
    with pytest.raises(ValueError, match="missing or not in it"):
        RandomizedResponse([2, 0, 1], epsilon=1).randomize(answers)


def test_numbers_between_the_labels_are_not_in_the_domain() -> None:
    with pytest.raises(ValueError, match=r"2 of 4 .* at position 1, 3"):
        RandomizedResponse([10, 0, 20], epsilon=1).randomize(np.array([0, 5, 20, 15]))


@pytest.mark.parametrize("answers", [np.array([1j]), np.array([True]), np.array(["2020-01-01"], dtype="M8[D]")])
def test_arrays_of_another_kind(answers: Any) -> None:
    with pytest.raises(TypeError, match="answers must be integers, as the domain is, but got an array of"):
        RandomizedResponse(3, epsilon=1).randomize(answers)


def test_integers_where_labels_are_strings() -> None:
    with pytest.raises(TypeError, match="answers must be strings"):
        ABC.randomize(np.array([0, 1]))
    with pytest.raises(ValueError, match="missing or not in it"):
        ABC.randomize([0, 1])


@pytest.mark.parametrize("answers", [{"a"}, range(3), {"a": 1}, iter(["a"])])
def test_containers_without_an_order_of_their_own(answers: Any) -> None:
    with pytest.raises(TypeError, match="one label, a list, a tuple or an array, but got a"):
        ABC.randomize(answers)


def test_an_array_without_axes_stays_one() -> None:
    assert isinstance(ABC.randomize(np.array("a")), np.ndarray)
    assert isinstance(RandomizedResponse(3, epsilon=1).randomize(np.array(2)), np.ndarray)


def test_there_is_no_seed_to_give() -> None:
    with pytest.raises(TypeError):
        ABC.randomize(["a"], rng=np.random.default_rng(1))  # type: ignore[call-overload]
