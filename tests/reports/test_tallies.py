"""Tallies and pools: contents, errors, sums, files."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cases import COIN, KUK, NINE, SETS
from warner import (
    ProjectiveGeometry,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    pool,
    tally,
)
from warner.reports.tallies import Pool

if TYPE_CHECKING:
    from pathlib import Path

YES = ["yes", "no"]

# Values


def test_tallies_add_up_exactly() -> None:
    rng = np.random.default_rng(3)
    n = 300
    survey = RandomizedResponse(["never", "once", "often"], epsilon=1)
    reports = [None if i % 17 == 0 else survey.domain[j] for i, j in enumerate(rng.integers(0, 3, n).tolist())]
    columns: dict[str, list[Any]] = {
        "region": [None if i % 5 == 0 else "nord" if i % 3 else "süd" for i in range(n)],
        "year": [2020 + i % 2 for i in range(n)],
    }
    weights = [float(w) for w in rng.integers(1, 9, n) / 4]  # quarters: sums of them are exact
    whole = tally(reports, survey, by=columns, weights=weights)
    halves = [
        tally(
            reports[part],
            survey,
            by={name: values[part] for name, values in columns.items()},
            weights=weights[part],
        )
        for part in (slice(0, 3), slice(3, None))
    ]
    assert len(halves[0].groups) < len(whole.groups)
    assert halves[0] + halves[1] == whole
    assert_array_equal((halves[0] + halves[1]).effective, whole.n**2 / whole.squares)


def test_numbers_and_names_of_a_tally_in_words() -> None:
    design = RandomizedResponse(["yes", "no"], odds=(3, 1))
    assert repr(Tally(design, [1, 0])) == "<Tally of 1 report among 2 answers: 1 'yes', 0 'no'>"
    one = Tally(design, [[2, 1]], by=("g\x1b[31m",), groups=(("a",),))
    assert repr(one) == r"<Tally of 3 reports among 2 answers in 1 group by g\x1b[31m: 2 'yes', 1 'no'>"
    assert repr(Tally(design, [1.5, 2.0], squares=4.0)).startswith("<Tally of 3.5 weighted reports among 2 answers")


def test_unequal_tallies_do_not_add_up() -> None:
    yes_no = RandomizedResponse(["yes", "no"], odds=(3, 1))
    first = Tally(yes_no, [1, 2])
    with pytest.raises(ValueError, match="same design"):
        first + Tally(RandomizedResponse(["yes", "no"], odds=(2, 1)), [1, 2])
    with pytest.raises(ValueError, match="same grouping"):
        first + Tally(yes_no, [[1, 2]], by=("g",), groups=(("x",),))
    with pytest.raises(ValueError, match="same use of weights"):
        first + Tally(yes_no, [1.5, 2.5], squares=3.0)
    with pytest.raises(TypeError):
        first + 1


@pytest.mark.parametrize(
    "example",
    [
        Tally(RandomizedResponse(["yes", "nö"], odds=(3, 1)), [40, 60], missing=3, unknown=1),
        Tally(
            RandomizedResponse(10, epsilon=1), [[1] * 10, [2**40] * 10], by=("g", "h"), groups=((1, "a"), (None, "b"))
        ),
        Tally(RandomizedResponse(2, epsilon=1), [1.1, 2.7], squares=0.1 + 0.2),
        Tally(SETS, [7, 2, 0, 3, 8], n=10, missing=1),
        Tally(SETS, [[0.5] * 5, [0.0] * 5], n=[1.25, 0.0], squares=[1.0, 0.0], by=("g",), groups=((1,), (None,))),
    ],
)
def test_a_tally_survives_its_file(example: Tally, tmp_path: Path) -> None:
    example.save(tmp_path / "tally.json")
    again = Tally.load(tmp_path / "tally.json")
    assert isinstance(again, Tally)
    assert again == example
    assert again.counts.dtype == example.counts.dtype
    assert np.asarray(again.n).dtype == np.asarray(example.n).dtype
    assert repr(again) == repr(example)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"version": 9}, "this tally is of version 9"),
        ({"format": "warner design"}, 'a tally must say "format": "warner tally"'),
        ({"counts": [1]}, "this tally is damaged: counts must have shape"),
        ({"counts": [1, -1]}, "this tally is damaged: counts must not be negative"),
        ({"counts": [0.5, 1]}, "this tally is damaged: counts must be whole numbers"),
        ({"design": {}}, "this tally is damaged: a design must say"),
        ({"missing": -1}, r"missing must be a whole number from 0 to 2\^53"),
        ({"by": ["g"], "groups": [["x"], ["x"]], "counts": [[1, 2], [3, 4]]}, "groups must be distinct"),
        ({"extra": 1}, "damaged: it must not have the field 'extra'"),
    ],
)
def test_damaged_tallies(change: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    document = json.loads(Tally(RandomizedResponse(2, epsilon=1), [1, 2]).to_json())
    (tmp_path / "t.json").write_text(json.dumps({**document, **change}))
    with pytest.raises(ValueError, match=rf"t\.json: .*{complaint}"):
        Tally.load(tmp_path / "t.json")


PLAIN = Tally(RandomizedResponse(YES, odds=(3, 1)), [40, 60])
WEIGHTED = Tally(RandomizedResponse(YES, odds=(3, 1)), [40.5, 60.0], squares=120.0)
GROUPED = Tally(RandomizedResponse(YES, odds=(3, 1)), [[40, 60]], by=("g",), groups=(("x",),))


@pytest.mark.parametrize(
    ("whole", "field", "damages"),
    [
        (PLAIN, "version", [True, 1.0, "1", None]),
        (PLAIN, "counts", [[True, 60], ["40", 60], [40.0, 60], [None, 60], [[40, 60]], 40, [], "40", {}, None]),
        (PLAIN, "counts", [[2**53, 1], [2**63, 1], [10**30, 1], [-1, 2], [math.nan, 1], [math.inf, 1], [[1], [2, 3]]]),
        (PLAIN, "n", [99, "100", True, [100], math.nan]),
        (PLAIN, "histogram", [[100], 1, "1"]),
        (
            PLAIN,
            "missing",
            [1.5, 1.0, [1], [], 1e308, 10**30, 2**63, 2**53 + 1, math.inf, math.nan, "5", None, True, -1],
        ),
        (PLAIN, "unknown", [1.5, [1], 10**30, math.inf, math.nan, "5", None, True, -1, {}]),
        (PLAIN, "squares", [0, 1e-20, 1e9, "100", [100]]),
        (PLAIN, "by", ["g", ["g"], None, {"g": 1}]),
        (PLAIN, "groups", [[["x"]], None, "x"]),
        (PLAIN, "design", [None, [], "yes", {}, 1]),
        (
            WEIGHTED,
            "counts",
            [["1e3", 1.0], ["\uff11", 1.0], ["1.5", "2.5"], [True, 1.0], [math.nan, 1.0], [math.inf, 1.0]],
        ),
        (WEIGHTED, "counts", [[1e308, 1e308], [1e-300, 1e-300]]),
        (WEIGHTED, "squares", [0, math.nan, math.inf, True, "120", [120.0], -1.0, 1e-20, 1e20, None]),
        (GROUPED, "by", ["g", {"g": 1}, ["g", "g"], [None], [""], [], ["share"], [["g"]], None]),
        (
            GROUPED,
            "groups",
            [[[math.nan]], [[math.inf]], [[["x"]]], [["x", "y"]], "x", ["x"], [["x"], ["x"]], None, []],
        ),
        (GROUPED, "missing", [[1, 2], [[1]], [1.5], ["1"], [None]]),
    ],
)
def test_every_damage_to_a_tally_is_refused_when_it_is_loaded(whole: Tally, field: str, damages: list[Any]) -> None:
    fields = json.loads(whole.to_json())
    assert Tally.from_json(json.dumps(fields))
    for damage in damages:
        with pytest.raises(ValueError, match=r"this tally (is damaged|is of version)|a tally must be JSON"):
            Tally.from_json(json.dumps({**fields, field: damage}))


def test_names_and_groups_of_a_tally_can_be_told_apart() -> None:
    for by, groups, complaint in (
        (("g", "g"), ((1, 2),), "by must name each column once, but 'g' occurs twice"),
        ("g", ((1,),), "by must be a tuple of names"),
        ((None,), ((1,),), "by must be a tuple of names"),
        (("g",), ((math.inf,),), "groups must hold strings, finite numbers or None"),
        (("g",), [[1]], "groups must be a tuple of tuples"),
    ):
        with pytest.raises(ValueError, match=complaint):
            Tally(COIN, [[1, 2]], by=by, groups=groups)  # type: ignore[arg-type]


def test_infinite_group_values_become_texts_that_json_can_hold() -> None:
    grouped = tally(YES, COIN, by={"g": [math.inf, 1.5]})
    assert grouped.groups == ((1.5,), ("inf",))
    assert Tally.from_json(grouped.to_json()) == grouped


@pytest.mark.parametrize(
    ("counts", "complaint"),
    [
        ([1, 2, 3], r"counts must have shape \(2,\)"),
        ([1, -2], "must not be negative, but got -2 at position 1"),
        ([float("nan"), 1], "whole numbers, or come with squares"),
        ([0.5, 1.5], "whole numbers, or come with squares"),
        ([2**53, 2**53], r"2\^53"),
    ],
)
def test_bad_counts(counts: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Tally(RandomizedResponse(2, epsilon=1), counts)


def test_tallies_are_equal_by_value() -> None:
    grouped: dict[str, Any] = {"by": ("g",), "groups": (("x",), ("y",))}
    example = Tally(COIN, [[1, 2], [3, 4]], missing=[0, 1], **grouped)
    again = Tally(RandomizedResponse(YES, truth="3/4"), np.array([[1, 2], [3, 4]]), missing=[0, 1], **grouped)
    assert example == again
    assert hash(example) == hash(again)
    for other in (
        Tally(NINE, [[1, 2], [3, 4]], missing=[0, 1], **grouped),
        Tally(COIN, [[1, 2], [3, 5]], missing=[0, 1], **grouped),
        Tally(COIN, [[1, 2], [3, 4]], missing=[1, 0], **grouped),
        Tally(COIN, [[1, 2], [3, 4]], missing=[0, 1], unknown=1, **grouped),
        Tally(COIN, [[1, 2], [3, 4]], missing=[0, 1], squares=[3.0, 7.0], **grouped),
        Tally(COIN, [[1, 2], [3, 4]], missing=[0, 1], by=("h",), groups=(("x",), ("y",))),
        Tally(COIN, [[1, 2], [3, 4]], missing=[0, 1], by=("g",), groups=(("x",), ("z",))),
    ):
        assert example != other
    assert example != "a tally"
    assert Tally(COIN, [1, 2]) in [Tally(COIN, [2, 1]), Tally(COIN, [1, 2])]


def test_a_tally_is_frozen() -> None:
    example = Tally(RandomizedResponse(2, epsilon=1), np.array([1, 2]))
    with pytest.raises(ValueError, match="read-only"):
        example.counts[0] = 5


@pytest.mark.parametrize("design", [[40, 60], None, "survey.json", RandomizedResponse])
def test_counts_and_design_that_are_swapped_are_told_so(design: Any) -> None:
    with pytest.raises(TypeError, match=r"design must be a design, .*: Tally\(design, counts\)"):
        Tally(design, COIN)


# The number of reports


def test_counts_of_single_answers_sum_to_the_number_of_reports() -> None:
    assert Tally(COIN, [40, 60]).n == 100
    assert Tally(COIN, [40, 60], n=100) == Tally(COIN, [40, 60])
    assert_array_equal(Tally(COIN, [[1, 2], [3, 4]], by=("g",), groups=((1,), (2,))).n, [3, 7])
    weighted = Tally(COIN, [0.1, 0.2], n=0.3, squares=0.05)  # 0.1 + 0.2 is not quite 0.3
    assert weighted.n == 0.3
    with pytest.raises(ValueError, match=r"n must be the sum of the counts, .* the counts sum to 100 and n is 99"):
        Tally(COIN, [40, 60], n=99)


def test_support_does_not_tell_the_number_of_reports() -> None:
    with pytest.raises(TypeError, match=r"n must be given, .* a report may support several answers"):
        Tally(SETS, [7, 2, 0, 3, 8])
    assert Tally(SETS, [7, 2, 0, 3, 8], n=10).n == 10
    assert Tally(SubsetSelection(3, odds=(3, 1), size=1), [1, 2, 3]).n == 6  # sets of one answer


@pytest.mark.parametrize(
    ("n", "complaint"),
    [
        (20, r"n must be their sum divided by 2, .* the counts sum to 20 and n is 20"),
        (9, r"n must be their sum divided by 2"),
        (10.5, "n must be a whole number of reports"),
        (1e308, "n must be a whole number of reports of at most"),
        (-1, "n must be a number of reports"),
        ([10], r"n must be a number of reports for each histogram, of shape \(\)"),
        (float("nan"), "n must be a number of reports"),
        (float("inf"), "n must be finite"),
        ("10", "n must be a number of reports"),
        (True, "n must be a number of reports"),
    ],
)
def test_a_wrong_number_of_reports_is_refused(n: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Tally(SETS, [7, 2, 0, 3, 8], n=n)


def test_each_group_has_its_number_of_reports() -> None:
    grouped: dict[str, Any] = {"by": ("g",), "groups": (("x",), ("y",))}
    counts = [[1, 1, 0, 0, 0], [2, 2, 0, 1, 1]]
    example = Tally(SETS, counts, n=[1, 3], **grouped)
    assert_array_equal((example + example).n, [2, 6])
    with pytest.raises(ValueError, match="n must be their sum divided by 2"):
        Tally(SETS, counts, n=[3, 1], **grouped)
    with pytest.raises(ValueError, match="n must be at least every count"):
        Tally(SETS, [7, 0, 0, 0, 1], n=4)
    with pytest.raises(ValueError, match=r"for each histogram, of shape \(2,\), but got 4"):
        Tally(SETS, counts, n=4, **grouped)


SIZES = UnaryEncoding(3, odds=(3, 1))  # with sets of no answer to all three
FANO = ProjectiveGeometry(7, odds=(3, 1), field=2)
DAMAGED: dict[str, tuple[Tally, dict[str, Any], str]] = {
    "a count in words": (Tally(COIN, [1, 2]), {"counts": [1, "2"]}, "counts must be numbers, but holds '2'"),
    "a count that is missing": (Tally(COIN, [1, 2]), {"counts": [1, None]}, "counts must be numbers, but holds None"),
    "no counts": (Tally(COIN, [1, 2]), {"counts": None}, "counts must be numbers, but holds None"),
    "a count that is true": (Tally(COIN, [1, 2]), {"counts": [1, True]}, "counts must be numbers, but holds True"),
    "a dictionary": (Tally(COIN, [1, 2]), {"counts": {"a": 1}}, "counts must be numbers, but holds"),
    "counts too deep": (Tally(COIN, [1, 2]), {"counts": [[[1, 2]]]}, r"counts must be numbers, but holds \[1, 2\]"),
    "counts of two lengths": (Tally(COIN, [1, 2]), {"counts": [[1], [1, 2]]}, "counts must have lists of one length"),
    "a list among numbers": (Tally(COIN, [1, 2]), {"counts": [1, [2]]}, "counts must have lists of one length"),
    "weights in words": (Tally(COIN, [1.5, 2], squares=3), {"counts": ["1.5", 2]}, "counts must be numbers"),
    "squares in words": (Tally(COIN, [1.5, 2], squares=3), {"squares": "3"}, "squares must be numbers, but holds '3'"),
    "too large": (Tally(COIN, [1.5, 2], squares=3), {"counts": [1e308, 1e308]}, "counts must be finite"),
    "missing in words": (Tally(COIN, [1, 2]), {"missing": "many"}, "missing must be numbers, but holds 'many'"),
    "unknown that is missing": (Tally(COIN, [1, 2]), {"unknown": None}, "unknown must be numbers, but holds None"),
    "a name for names": (Tally(COIN, [1, 2]), {"by": "g"}, "by must be a list of names"),
    "names that are numbers": (Tally(COIN, [1, 2]), {"by": [1]}, "by must be a tuple of names"),
    "a group that is no list": (Tally(COIN, [1, 2]), {"by": ["g"], "groups": ["x"]}, "groups a list of lists"),
    "a group of lists": (
        Tally(COIN, [[1, 2]], by=("g",), groups=(("x",),)),
        {"groups": [[[1]]]},
        "groups must hold strings, finite numbers or None",
    ),
    "n in words": (Tally(SETS, [7, 2, 0, 3, 8], n=10), {"n": "10"}, "n must be numbers, but holds '10'"),
    "n of another number": (Tally(SETS, [7, 2, 0, 3, 8], n=10), {"n": 11}, "n must be their sum divided by 2"),
    "counts above n": (Tally(SIZES, [2, 1, 1], n=3), {"counts": [4, 1, 1]}, "n must be at least every count"),
    "a negative n": (Tally(SIZES, [2, 1, 1], n=3), {"n": -3}, "n must be a number of reports"),
    "half a report": (Tally(SIZES, [2, 1, 1], n=3), {"n": 3.5}, "n must be a whole number of reports"),
    "a short histogram": (
        Tally(SIZES, [2, 1, 1], n=3, histogram=[1, 1, 0, 1]),
        {"histogram": [1, 1, 1]},
        r"histogram must have shape \(4,\)",
    ),
    "a histogram of another sum": (
        Tally(SIZES, [2, 1, 1], n=3, histogram=[1, 1, 0, 1]),
        {"histogram": [2, 1, 0, 1]},
        "histogram must sum to n, the number of reports, but sums to 4 and n is 3",
    ),
    "a histogram of other sizes": (
        Tally(SIZES, [2, 1, 1], n=3, histogram=[1, 1, 0, 1]),
        {"histogram": [0, 2, 0, 1]},
        "counts must sum to the sizes of all sets, which by the histogram are 5, but sum to 4",
    ),
    "a negative histogram": (
        Tally(SIZES, [2, 1, 1], n=3, histogram=[1, 1, 0, 1]),
        {"histogram": [1, 1, -1, 2]},
        "histogram must not be negative, but got -1 at position 2",
    ),
    "a histogram in halves": (
        Tally(SIZES, [2, 1, 1], n=3, histogram=[1, 1, 0, 1]),
        {"histogram": [0.5, 1.5, 0, 1]},
        "histogram must be whole numbers, or come with squares",
    ),
    "a histogram in words": (
        Tally(SIZES, [2, 1, 1], n=3, histogram=[1, 1, 0, 1]),
        {"histogram": [1, 1, "0", 1]},
        "histogram must be numbers, but holds '0'",
    ),
    "a histogram of other counts": (
        Tally(FANO, histogram=[20, 9, 11, 6, 18, 7, 9]),
        {"histogram": [9, 20, 11, 6, 18, 7, 9]},
        "counts must be those that follow from the histogram",
    ),
    "a histogram where there are no kinds": (
        Tally(SETS, [7, 2, 0, 3, 8], n=10),
        {"histogram": [10]},
        "histogram must be left out for a subset selection",
    ),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_number_is_named(damage: str, tmp_path: Path) -> None:
    example, change, complaint = DAMAGED[damage]
    example.save(tmp_path / "good.json")
    assert Tally.load(tmp_path / "good.json") == example
    (tmp_path / "t.json").write_text(json.dumps({**example.to_dict(), **change}))
    with pytest.raises(ValueError, match=rf"t\.json: this tally is damaged: .*{complaint}"):
        Tally.load(tmp_path / "t.json")


def test_a_file_must_tell_the_number_of_reports_of_support(tmp_path: Path) -> None:
    document = Tally(SETS, [7, 2, 0, 3, 8], n=10).to_dict()
    assert document["n"] == 10
    for n in (None, 7, [10], "10"):
        (tmp_path / "t.json").write_text(json.dumps({**document, "n": n}))
        with pytest.raises(ValueError, match=r"t\.json: this tally is damaged: n must be"):
            Tally.load(tmp_path / "t.json")
    assert "n" not in Tally(COIN, [1, 2]).to_dict()  # as it always was


# Pools


def test_tallies_of_one_design_add_up() -> None:
    assert pool([Tally(COIN, [40, 60]), Tally(COIN, [1, 2])]) == Tally(COIN, [41, 62])


def test_a_pool_has_a_part_for_each_design() -> None:
    together = pool(
        [
            Tally(COIN, [40, 60], missing=2),
            Tally(KUK, [1, 2, 3], unknown=4),
            Tally(RandomizedResponse(YES, truth="3/4"), [1, 2]),
        ]
    )
    assert isinstance(together, Pool)
    assert together.parts == (Tally(COIN, [41, 62], missing=2), Tally(KUK, [1, 2, 3], unknown=4))
    assert (together.n, together.missing, together.unknown) == (109, 2, 4)
    assert (together.domain, together.k, together.by, together.groups) == (("yes", "no"), 2, (), ())
    assert together.shown_epsilon() == KUK.shown_epsilon()  # 2.506, and ln 3 = 1.099
    assert not together.weighted
    assert repr(together).startswith("<Pool of 109 reports of 2 designs among 2 answers:\n  <Tally of 103 reports")


def test_support_is_pooled_with_single_answers() -> None:
    single = Tally(RandomizedResponse(SETS.domain, odds=(3, 1)), [1, 2, 3, 4, 5])
    together = pool([single, Tally(SETS, [7, 2, 0, 3, 8], n=10)])
    assert together.n == 25


def test_groups_and_weights_are_pooled() -> None:
    first = Tally(
        COIN, [[1.5, 2.5], [1.0, 0.0]], squares=[6.0, 1.0], missing=[1, 2], by=("year",), groups=((2020,), (2021,))
    )
    second = Tally(NINE, [[3.0, 1.0], [0.5, 0.5]], squares=[5.0, 0.5], by=("year",), groups=((2021,), (2022,)))
    together = pool([first, second])
    assert isinstance(together, Pool)
    assert together.weighted
    assert (together.by, together.groups) == (("year",), ((2020,), (2021,), (2022,)))
    assert all(part.groups == together.groups for part in together.parts)
    assert_array_equal(together.parts[0].counts, [[1.5, 2.5], [1, 0], [0, 0]])
    assert_array_equal(together.parts[1].squares, [0, 5, 0.5])
    assert_array_equal(together.n, [4, 5, 1])
    assert_array_equal(together.missing, [1, 2, 0])
    # By hand: 4 squared over 6; 1 over 1, and 4 squared over 5; 1 over 0.5.
    assert_array_equal(together.effective, [16 / 6, 1 + 16 / 5, 2])
    assert_array_equal(together.answered, [True, True, True])
    assert_array_equal(together.parts[0].answered, [True, True, False])


@pytest.mark.parametrize(
    ("tallies", "complaint"),
    [
        ([], "at least one Tally"),
        ([Tally(COIN, [1, 2]), Tally(RandomizedResponse(2, odds=(3, 1)), [1, 2])], "about the same answers"),
        ([Tally(COIN, [1, 2]), Tally(RandomizedResponse(YES[::-1], odds=(9, 1)), [1, 2])], "in the same order"),
        ([Tally(COIN, [1, 2]), Tally(NINE, [[1, 2]], by=("g",), groups=((1,),))], "the same groups"),
        ([Tally(COIN, [1, 2]), Tally(NINE, [1.0, 2.0], squares=3.0)], "all with weights or all without"),
        ([pool([Tally(COIN, [1, 2]), Tally(NINE, [1, 2])])] * 2, "at least one Tally"),
        ([[1, 2]], "at least one Tally"),
    ],
)
def test_what_cannot_be_pooled(tallies: Any, complaint: str) -> None:
    with pytest.raises((ValueError, TypeError), match=complaint):
        pool(tallies)


@pytest.mark.parametrize(
    "tallies",
    [
        [Tally(COIN, [4, 6], missing=1), Tally(KUK, [1, 2, 3], unknown=2)],
        [
            Tally(COIN, [[1.5, 2.5]], squares=[4.0], by=("g",), groups=(("x",),)),
            Tally(NINE, [[1.0, 0.5]], squares=[1.0], by=("g",), groups=((None,),)),
        ],
        [Tally(SETS, [7, 2, 0, 3, 8], n=10), Tally(RandomizedResponse(SETS.domain, odds=(2, 1)), [1, 2, 3, 4, 5])],
    ],
)
def test_a_pool_survives_its_file(tallies: list[Tally], tmp_path: Path) -> None:
    together = pool(tallies)
    assert isinstance(together, Pool)
    together.save(tmp_path / "pool.json")
    assert Pool.load(tmp_path / "pool.json") == together
    assert Tally.load(tmp_path / "pool.json") == together  # one loader for both


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"version": 2}, "this pool is of version 2"),
        ({"parts": []}, "this pool is damaged: parts must be several tallies"),
        ({"parts": 3}, "this pool is damaged: parts must be several tallies"),
        ({"parts": [3, 4]}, "a tally must say"),
        ({"extra": 1}, "this pool is damaged: it must not have the field 'extra'"),
    ],
)
def test_damaged_pools(change: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    together = pool([Tally(COIN, [4, 6]), Tally(NINE, [1, 2])])
    assert isinstance(together, Pool)
    (tmp_path / "p.json").write_text(json.dumps({**together.to_dict(), **change}))
    for kind in (Pool, Tally):
        with pytest.raises(ValueError, match=rf"p\.json: {complaint}"):
            kind.load(tmp_path / "p.json")


@pytest.mark.parametrize(
    ("field", "damages"),
    [
        ("counts", [[True, 6], ["4", 6], [4, 6, 1], 4, None, [4.5, 6]]),
        ("missing", [1.5, "5", True, [1], None]),
    ],
)
def test_damaged_tallies_of_a_pool_are_refused(field: str, damages: list[Any]) -> None:
    together = pool([Tally(COIN, [4, 6]), Tally(NINE, [1, 2])])
    first, second = together.to_dict()["parts"]
    for damage in damages:
        with pytest.raises(ValueError, match="this tally is damaged"):
            Pool.from_dict({**together.to_dict(), "parts": [{**first, field: damage}, second]})


def test_a_pool_of_one_design_is_no_pool() -> None:
    together = pool([Tally(COIN, [4, 6]), Tally(NINE, [1, 2])])
    assert isinstance(together, Pool)
    document = together.to_dict()
    with pytest.raises(ValueError, match="several tallies of different designs"):
        Pool.from_dict({**document, "parts": [document["parts"][0]] * 2})


def test_one_report_is_not_several() -> None:
    assert repr(Tally(COIN, [1, 0])) == "<Tally of 1 report among 2 answers: 1 'yes', 0 'no'>"
    grouped = Tally(COIN, [[1, 1]], by=("region",), groups=(("north",),))
    assert repr(grouped).startswith("<Tally of 2 reports among 2 answers in 1 group by region: ")


def test_counts_may_sum_to_the_largest_whole_number_of_doubles() -> None:
    assert Tally(PLAIN.design, [2**53 - 1, 1]).n == 2**53
