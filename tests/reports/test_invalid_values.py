"""Invalid values are counted, and labels that only look different are named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from warner import RandomizedResponse, Tally, UnaryEncoding, check, estimate, regress, tally
from warner.reports.counts import VALUES_KEPT, spelling_difference, sum_of_invalid
from warner.results import typeset

if TYPE_CHECKING:
    from pathlib import Path

YES = RandomizedResponse(["yes", "no", "né"], odds=(3, 1))
NUMBERS = RandomizedResponse([1, 2, 7], odds=(3, 1))


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("Yes", "'Yes' (which differs from 'yes' only in case)"),
        ("yes ", "'yes ' (which differs from 'yes' only in spaces)"),
        ("\u00a0no", "'\\xa0no' (which differs from 'no' only in spaces)"),
        ("ne\u0301", "'ne\u0301' (which differs from 'né' only in Unicode form)"),
        (" YES", "' YES' (which differs from 'yes' only in spaces and case)"),
        ("NE\u0301", "'NE\u0301' (which differs from 'né' only in case)"),
        ("ｙｅｓ", "'ｙｅｓ' (which differs from 'yes' only in Unicode form)"),
        ("ja", "not: 'ja'. Add"),
        (5, "not: 5. Add"),
    ],
)
def test_a_label_that_only_looks_different_is_named(value: Any, hint: str) -> None:
    with pytest.raises(ValueError, match="reports must be in the domain") as refused:
        tally(["yes", value], YES)
    assert hint in str(refused.value)


@pytest.mark.parametrize(("value", "hint"), [("07", "7"), (" 2", "2"), ("1,0", "1"), ("2.00", "2"), ("9", None)])
def test_a_number_in_another_spelling_is_named(value: str, hint: str | None, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f'a\n1\n"{value}"\n')
    with pytest.raises(ValueError, match="1 is not") as refused:
        tally(tmp_path / "x.csv", NUMBERS)
    assert (f"(which is {hint} in another spelling)" in str(refused.value)) == (hint is not None)


def test_labels_that_differ_only_in_case_are_not_taken_for_each_other() -> None:
    with pytest.raises(ValueError, match=r"not: 'YES'\. Add"):
        tally(["YES"], RandomizedResponse(["yes", "Yes"], odds=(3, 1)))


def test_files_that_are_given_as_texts_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("monday.csv", "tuesday.csv"):
        (tmp_path / name).write_text("answer\nyes\nno\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"'monday.csv' \(the name of a file, which must be given as a path"):
        tally(["monday.csv", "tuesday.csv"], YES)
    assert tally([tmp_path / "monday.csv", tmp_path / "tuesday.csv"], YES).n == 4
    with pytest.raises(ValueError, match="2 are not"):
        tally(["x" * 5000, "\0"], YES)


def test_differences_are_as_few_as_possible() -> None:
    assert spelling_difference("a  b", "a b") == "spaces"
    assert spelling_difference("A  b", "a b") == "spaces and case"


REPORTS = ["yes"] * 40 + ["no"] * 60 + ["NA"] * 3 + ["Yes", None]
LEFT = "4 invalid values were left out"
SAID = f"{LEFT}: 'NA' 3 times, 'Yes' (which differs from 'yes' only in case) once"


def test_what_was_dropped_is_listed_at_every_door(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,n\n" + "".join(f"{value or ''},1\n" for value in REPORTS))
    survey = RandomizedResponse(["yes", "no"], odds=(3, 1))
    sources: list[tuple[Any, str | None]] = [(REPORTS, None), (tmp_path / "x.csv", "a")]
    for reports, column in sources:
        counted = tally(reports, survey, unknown="drop", column=column)
        assert counted.dropped == {"'NA'": 3, "'Yes'": 1}
        result = estimate(counted)
        assert f"Warning: {SAID}." in typeset(result).notes
        assert json.loads(result.to_json())["warnings"] == [SAID]
        result.save_page(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert f"{LEFT}: &#x27;NA&#x27; 3 times" in page
        assert f"{SAID}." in check(counted).text().replace("\n", " ")
    assert (counted + counted).dropped == {"'NA'": 6, "'Yes'": 2}
    assert tally(["yes", "no"], YES, unknown="drop").left_out() == ""


def test_rows_that_stand_for_several_reports_are_counted_so(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,n\nyes,5\nno,4\nNA,7\n")
    counted = tally(tmp_path / "x.csv", YES, column="a", counts="n", unknown="drop")
    assert (counted.unknown, counted.dropped) == (7, {"'NA'": 7})
    assert tally(["yes", "NA"], YES, counts=[5, 7], unknown="drop").dropped == {"'NA'": 7}


def test_only_the_most_frequent_of_many_are_listed() -> None:
    reports = ["yes", "no", *(f"x{i}" for i in range(2 * VALUES_KEPT))]
    counted = tally(reports, YES, unknown="drop")
    assert len(counted.dropped) == VALUES_KEPT
    assert counted.left_out().endswith("'x0' once, 'x1' once, 'x2' once, 'x3' once, 'x4' once, 1,995 others")
    assert len(sum_of_invalid(counted.dropped, {"'y'": 9})) == VALUES_KEPT
    assert Tally(YES, [1, 2, 3], unknown=2).left_out() == "2 invalid values were left out"


def test_a_wrong_column_is_not_listed_as_labels(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\nyes\n" + "".join(f"x{i}\n" for i in range(2000)))
    counted = tally(tmp_path / "x.csv", YES, unknown="drop")  # too many to come back one by one
    assert (counted.unknown, counted.dropped) == (2000, {})
    assert counted.left_out() == "2,000 invalid values were left out"


def test_sets_that_are_none_are_shown_as_they_are() -> None:
    design = UnaryEncoding(["a", "b", "c"], epsilon=1)
    assert tally(["80", "zz", "zz"], design, unknown="drop").dropped == {"'zz'": 2}
    with pytest.raises(ValueError, match=r"2 are not: 'zz'\. Check"):
        tally(["80", "zz", "zz"], design)


def test_regressions_name_it_as_well() -> None:
    people = {"a": np.array(["yes", "no", "Yes"] * 5), "age": list(range(15))}
    with pytest.raises(ValueError, match=r"'Yes' \(which differs from 'yes' only in case\)"):
        regress("a", people, YES, on=["age"])
