"""Labels: one canonical form, compared by value and type, and back from a file as they were."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from warner import RandomizedResponse
from warner.designs.labels import (
    MISSING,
    OUTSIDE,
    all_labels,
    canonical,
    first_and_last,
    from_text,
    is_missing,
    label_list,
    labelled,
    labels_from_json,
    labels_to_json,
    positions,
)
from warner.text import printable

if TYPE_CHECKING:
    from pathlib import Path

domains = st.one_of(
    st.integers(2, 10**7),
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8),
        min_size=2,
        max_size=6,
        unique=True,
    ),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=6, unique=True),
)


# Canonical form


@pytest.mark.parametrize("domain", [3, range(3), [0, 1, 2], (0, 1, 2), np.arange(3), np.arange(3, dtype="u1")])
def test_a_domain_is_equal_however_it_is_given(domain: Any) -> None:
    assert canonical(domain) == range(3)
    assert isinstance(canonical(domain), range)


def test_ten_million_answers_cost_no_object_per_label() -> None:
    labels = canonical(10**7)
    assert isinstance(labels, range)
    assert len(pickle.dumps(labels)) < 100
    assert len(json.dumps(labels_to_json(labels))) < 100


@pytest.mark.parametrize("domain", [["b", "a"], ["0", "1"], [1, 0], range(0, 4, 2), np.array(["x", "y"])])
def test_order_and_type_of_the_labels_are_kept(domain: Any) -> None:
    labels = canonical(domain)
    assert isinstance(labels, tuple)
    assert list(labels) == list(domain)
    assert {type(label) for label in labels} <= {str, int}  # not NumPy's


@pytest.mark.parametrize(
    ("domain", "error", "complaint"),
    [
        (1, ValueError, "domain must have at least 2 answers .*but got 1"),
        (0, ValueError, "at least 2 answers .*but got 0"),
        (-5, ValueError, "at least 2 answers .*but got -5"),
        ([], ValueError, "at least 2 answers .*but got 0"),
        (["yes"], ValueError, "at least 2 answers .*but got 1"),
        (10**24, ValueError, "fewer than 2.62"),
        (["a", "b", "a"], ValueError, "distinct labels, but 'a' occurs 2 times"),
        ([1, 2, 2], ValueError, "distinct labels, but 2 occurs 2 times"),
        (["a", 1], TypeError, "all strings or all integers, but got int, str"),
        ([1.5, 2.5], TypeError, "all strings or all integers, but got float"),
        ([True, False], TypeError, "but got bool"),
        (["a", None], TypeError, "but got NoneType, str"),
        (True, TypeError, "number of answers or a list of labels, but got True"),
        ("yes", TypeError, "list of labels, but got 'yes'"),
        (b"yes", TypeError, "list of labels, but got b'yes'"),
        ({"a", "b"}, TypeError, "list of labels"),
        (2.0, TypeError, "but got 2.0"),
        (np.array([["a"], ["b"]]), TypeError, "list of labels"),
        ([0, 2**63], ValueError, "integers of 64 bits.*use strings"),
        (range(2**63 - 1, 2**63 + 1), ValueError, "integers of 64 bits"),
        (["a", "a\0"], ValueError, "contain no NUL"),
        (["", "b"], ValueError, "labels that are not empty"),
        (["a", "\ud83d"], ValueError, "half a character"),
    ],
)
def test_what_is_no_domain(domain: Any, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        canonical(domain)


def test_an_error_names_the_argument() -> None:
    with pytest.raises(ValueError, match="outputs must have at least 2"):
        canonical(1, "outputs")


# Positions and back


@given(domains, st.data())
def test_labels_have_their_positions_whatever_they_come_in(domain: Any, data: st.DataObject) -> None:
    labels = canonical(domain)
    codes = np.array(data.draw(st.lists(st.integers(0, len(labels) - 1), max_size=5)), dtype=np.int64)
    values = [labels[code] for code in codes]
    for given_ in (values, tuple(values), np.array(values, dtype=object), labelled(codes, labels)):
        assert_array_equal(positions(given_, labels), codes)
    assert labelled(codes, labels).tolist() == values
    if len(labels) <= 6:
        assert all_labels(labels).tolist() == list(labels)


@pytest.mark.parametrize(
    ("labels", "value", "place"),
    [
        (range(3), 1, 1),
        (range(3), True, OUTSIDE),
        (range(3), 1.0, 1),
        (range(3), 1.5, OUTSIDE),
        (range(2**53, 2**53 + 4), 2.0**53 + 2, OUTSIDE),  # it may have been another number
        (("1", "2"), 1.0, OUTSIDE),
        (range(3), "1", OUTSIDE),
        (range(3), 3, OUTSIDE),
        (range(5, 8), 5, 0),
        (("1", "2"), 1, OUTSIDE),
        (("1", "2"), "2", 1),
        ((7, 3), 3, 1),
        ((7, 3), 5, OUTSIDE),
        (range(3), None, MISSING),
        (range(3), float("nan"), MISSING),
        (("a", "b"), None, MISSING),
    ],
)
def test_labels_are_compared_by_value_and_type(labels: Any, value: Any, place: int) -> None:
    assert positions([value], labels).tolist() == [place]
    array = np.empty(1, dtype=object)
    array[0] = value
    assert positions(array, labels).tolist() == [place]


@pytest.mark.parametrize("labels", [range(-2, 3), (7, 3, 5), (-(2**63), 2**63 - 1)])
@pytest.mark.parametrize("kind", ["i1", "i8", "u1", "u8", ">i4"])
def test_arrays_of_integers_are_looked_up_without_wrapping_round(labels: Any, kind: str) -> None:
    limits = np.iinfo(kind)
    values = [limits.min, limits.max, *(label for label in labels if limits.min <= label <= limits.max), 4]
    expected = [labels.index(value) if value in labels else OUTSIDE for value in values]
    assert positions(np.array(values, dtype=kind), labels).tolist() == expected


def test_masked_values_are_missing() -> None:
    assert positions(np.ma.array([0, 1, 2], mask=[False, True, False]), range(3)).tolist() == [0, MISSING, 2]


def test_whole_doubles_are_integers() -> None:
    given = [1.0, 2.5, np.nan, -0.0, np.inf, -np.inf, 3.0, 2.0**60]
    expected = [1, OUTSIDE, MISSING, 0, OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE]
    for values in (given, np.array(given), np.array(given, dtype=np.float32)):
        assert positions(values, range(3)).tolist() == expected
        assert positions(values, (1, 0, 2)).tolist() == [{1: 0, 0: 1, 2: 2}.get(place, place) for place in expected]


@pytest.mark.parametrize("values", [np.array([1j, 2.0]), np.array([True, False])])
def test_arrays_of_another_kind_are_refused(values: Any) -> None:
    with pytest.raises(
        TypeError, match=f"reports must be integers, as the domain is, but got an array of {values.dtype}"
    ):
        positions(values, range(3), what="reports")


def test_codes_are_positions_already() -> None:
    assert positions([1, 0, 2], ("a", "b"), codes=True).tolist() == [1, 0, OUTSIDE]


@pytest.mark.parametrize("text", ["07", " 7", "7.5", "7.", "7.00", "07.0", "+7", "7e0", "٧", "-0", "1" * 310])
def test_a_number_has_one_spelling_in_text(text: str) -> None:
    assert from_text(["7", "-7", None, text], range(10)) == [7, -7, None, text]
    assert from_text(["7", text], ("a", "b")) == ["7", text]


def test_missing_values() -> None:
    assert is_missing(None)
    assert is_missing(float("nan"))
    assert not any(is_missing(value) for value in (0, "", "nan", False))


# Files and words


@given(domains)
def test_labels_survive_a_file(domain: Any) -> None:
    labels = canonical(domain)
    read = labels_from_json("domain", json.loads(json.dumps(labels_to_json(labels), ensure_ascii=False)))
    assert canonical(read) == labels
    assert type(canonical(read)) is type(labels)


@pytest.mark.parametrize(
    "field", ["ab", {"first": 0}, {"first": 0, "size": "3"}, {"first": 0, "size": True}, {"first": 0, "size": -1}, None]
)
def test_damaged_labels(field: Any) -> None:
    with pytest.raises(ValueError, match="damaged: outputs must be a list of labels"):
        labels_from_json("outputs", field)


def test_labels_in_words() -> None:
    assert label_list("answers", ("yes", "no")) == "Possible answers (2): yes, no"
    assert label_list("reports", range(2000)).endswith("(2,000): 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ..., 1999")
    assert first_and_last(("yes", "no")) == "'yes', 'no'"
    assert first_and_last(range(4)) == "0, 1, 2, 3"
    assert first_and_last(range(5)) == "0, 1, 2, ..., 4"


def test_names_cannot_play_tricks_with_a_terminal() -> None:
    assert printable("a\x1b[31m\n") == "a\\x1b[31m\\n"
    assert printable("weiß ☃") == "weiß ☃"


@pytest.mark.parametrize("domain", [[2**53, 0], [0, -(2**53)], range(2**53 - 2, 2**53 + 2)])
def test_labels_that_javascript_would_round_are_not_saved(domain: Any, tmp_path: Path) -> None:
    design = RandomizedResponse(domain, odds=(3, 1))
    with pytest.raises(ValueError, match=r"below 2\^53 to be saved.*use strings"):
        design.save(tmp_path / "design.json")
    assert not list(tmp_path.iterdir())
    assert RandomizedResponse.from_json(design.to_json()) == design  # an older file is still read
    RandomizedResponse([2**53 - 1, -(2**53) + 1], odds=(3, 1)).save(tmp_path / "design.json")


def test_whole_doubles_are_integers_up_to_the_largest_that_is_exact() -> None:
    labels = canonical([2**53, 2**53 - 1, 7], "domain")
    assert positions([2.0**53, 7.0, 2.0**53 + 2], labels).tolist() == [0, 2, OUTSIDE]
