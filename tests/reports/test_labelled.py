"""Files of SPSS, Stata and SAS, written by pyreadstat and read by every entry point. It cannot write .sas7bdat.

It tests reports/files.py as well.
"""

from __future__ import annotations

import datetime as dt
import gzip
import math
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from numpy.testing import assert_allclose, assert_array_equal

from warner import RandomizedResponse, Tally, UnaryEncoding, associate, explain, regress, tally
from warner.estimation import estimated
from warner.reports import labelled, readstat
from warner.reports.files import FORMATS, open_files
from warner.reports.randomizing_files import randomize_file

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("duckdb", reason="reading files is an extra, and not installed")
pyreadstat = pytest.importorskip(
    "pyreadstat", reason="reading SPSS, Stata and SAS files is an extra, and not installed"
)
pd = pytest.importorskip("pandas", reason="pandas, in which the files of these tests are made, is not installed")

pytestmark = pytest.mark.usefixtures("quick_readers")

LABELS = RandomizedResponse(["yes", "no, don't know"], odds=(1, 0))
CODES = RandomizedResponse([1, 2], odds=(1, 0))
DIGITS = RandomizedResponse(["1", "2"], odds=(1, 0))
VALUE_LABELS = {
    "answer": {1: "yes", 2: "no, don't know", 9: "refused"},
    "school": {3: "a degree", 1: "none", 2: "some"},
    "age": {97: "97 or older"},
}
ENDINGS_WITH_LABELS = ["sav", "zsav", "dta"]


def people() -> Any:
    return pd.DataFrame(
        {
            "answer": [1.0, 2.0, 1.0, math.nan, 1.0, 2.0],
            "school": [1.0, 2.0, 3.0, 3.0, 3.0, 2.0],
            "age": [20.0, 30.0, 97.0, 40.0, 20.0, 30.0],
            "weight": [1.0, 0.5, 2.0, 1.0, 0.25, 1.5],
            "text": ["yes", "no, don't know", "", "yes", None, "yes"],
            "day": [dt.date(2024, 2, 29)] * 5 + [None],
        }
    )


def written(path: Path, frame: Any = None, **options: Any) -> Path:
    frame = people() if frame is None else frame
    ending = path.suffix[1:]
    options = {"variable_value_labels": VALUE_LABELS, **options}
    if ending in {"sav", "zsav"}:
        pyreadstat.write_sav(frame, path, compress=ending == "zsav", **options)
    elif ending == "dta":
        pyreadstat.write_dta(frame, path, **options)
    else:
        pyreadstat.write_xport(frame, path)
    return path


@pytest.mark.parametrize("ending", ENDINGS_WITH_LABELS)
def test_a_design_says_whether_labels_or_codes_are_reports(ending: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"x.{ending}")
    for design in (LABELS, CODES, DIGITS):
        assert tally(path, design, column="answer") == Tally(design, [3, 2], missing=1)
        by_hand = Tally(design, [1 + 2 + 0.25, 0.5 + 1.5], squares=1 + 4 + 1 / 16 + 1 / 4 + 9 / 4, missing=1)
        assert tally(path, design, column="answer", weights="weight") == by_hand
    assert tally(path, LABELS, column="text") == Tally(LABELS, [3, 1], missing=2)


def test_labels_come_before_codes_where_the_answers_may_be_either(tmp_path: Path) -> None:
    path = tmp_path / "x.sav"
    pyreadstat.write_sav(pd.DataFrame({"q": [1.0, 1.0, 2.0]}), path, variable_value_labels={"q": {1: "2", 2: "1"}})
    assert tally(path, DIGITS) == Tally(DIGITS, [1, 2])
    assert tally(path, CODES) == Tally(CODES, [2, 1])


def test_a_sas_transport_file_has_codes_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "x.xpt")
    for design in (CODES, DIGITS):
        assert tally(path, design, column="answer") == Tally(design, [3, 2], missing=1)
    with pytest.raises(ValueError, match=r"must be in the domain, but 5 are not: '[12]', '[12]'\."):
        tally(path, LABELS, column="answer")
    assert tally(path, LABELS, column="text", by="day").groups == (("2024-02-29",), (None,))


def test_codes_that_are_positions_are_not_taken_for_labels(tmp_path: Path) -> None:
    path = written(tmp_path / "x.sav", pd.DataFrame({"answer": [0.0, 1.0, 1.0]}))
    assert tally(path, LABELS, codes=True) == Tally(LABELS, [1, 2])


@pytest.mark.parametrize("ending", ENDINGS_WITH_LABELS)
def test_other_columns_are_labels_if_every_value_has_one_and_whole_numbers_if_all_are(
    ending: str, tmp_path: Path
) -> None:
    path = written(tmp_path / f"x.{ending}")
    result = tally(path, CODES, column="answer", by=["school", "age", "weight", "day"])
    day = "2024-02-29"
    expected = {
        ("a degree", 20, 0.25, day), ("a degree", 40, 1.0, day), ("a degree", 97, 2.0, day), ("none", 20, 1.0, day),
        ("some", 30, 0.5, day), ("some", 30, 1.5, None),
    }  # fmt: skip
    assert set(result.groups) == expected
    assert all(type(group[1]) is int for group in result.groups)


def test_values_declared_as_missing_are_missing(tmp_path: Path) -> None:
    frame = pd.DataFrame({"answer": [1.0, 9.0, 2.0, -7.0, -1.0, 1.0], "text": ["yes", "NA", "yes", "yes", "NA", "yes"]})
    missing = {"answer": [9, {"lo": -9, "hi": -1}], "text": ["NA"]}
    path = written(tmp_path / "x.sav", frame, missing_ranges=missing)
    for design in (LABELS, CODES):
        assert tally(path, design, column="answer") == Tally(design, [2, 1], missing=3)
    assert tally(path, LABELS, column="text") == Tally(LABELS, [4, 0], missing=2)
    stata = pd.DataFrame({"answer": [1, "a", 2, "z", None, 1]})
    labels = {"answer": {1: "yes", 2: "no, don't know", "a": "refused"}}
    path = tmp_path / "x.dta"
    pyreadstat.write_dta(stata, path, variable_value_labels=labels, missing_user_values={"answer": ["a", "z"]})
    for design in (LABELS, CODES):
        assert tally(path, design) == Tally(design, [2, 1], missing=3)


def test_codes_for_missing_values_may_be_given_as_numbers_or_by_their_labels(tmp_path: Path) -> None:
    path = written(tmp_path / "x.sav", pd.DataFrame({"answer": [1.0, 9.0, 2.0, 5.0, 9.0]}))
    for missing in ([9, 5], ["refused", "5"]):
        for design in (LABELS, CODES):
            assert tally(path, design, missing=missing) == Tally(design, [1, 1], missing=3)
    with pytest.raises(ValueError, match=r"must be in the domain, but 3 are not: '(refused', '5|5', 'refused)'"):
        tally(path, LABELS)


def test_texts_may_have_labels_too(tmp_path: Path) -> None:
    path = tmp_path / "x.sav"
    labels = {"answer": {"y": "yes", "n": "no"}}
    frame = pd.DataFrame({"answer": ["y", "n", "y", ""], "group": ["n", "n", "y", ""]})
    pyreadstat.write_sav(frame, path, variable_value_labels={**labels, "group": labels["answer"]})
    for domain in (["yes", "no"], ["y", "n"]):
        design = RandomizedResponse(domain, odds=(1, 0))
        assert tally(path, design, column="answer") == Tally(design, [2, 1], missing=1)
    assert tally(path, design, column="answer", by="group").groups == (("no",), ("yes",), (None,))


def test_an_encoding_is_handed_on(tmp_path: Path) -> None:
    path = tmp_path / "x.sav"
    pyreadstat.write_sav(pd.DataFrame({"answer": ["th#", "the", "th#s"]}), path)
    path.write_bytes(path.read_bytes().replace(b"th#", b"th\xe9"))
    design = RandomizedResponse(["thé", "thés", "the"], odds=(1, 0))
    assert tally(path, design, encoding="cp1252") == Tally(design, [1, 1, 1])
    assert randomize_file(path, design, tmp_path / "reports.csv", encoding="cp1252") == 3
    with pytest.raises(ValueError, match=r"x.sav cannot be read: Unable to convert string to the requested encoding"):
        tally(path, design)


@pytest.mark.parametrize("ending", [*ENDINGS_WITH_LABELS, "xpt"])
def test_some_rows_of_the_columns_that_are_used_are_read_at_a_time(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.concat([people()] * 5, ignore_index=True)
    path = written(tmp_path / f"x.{ending}", frame)
    requests: list[Any] = []
    streams = readstat._streams

    def watched(kind: str, files: Any, **asked: Any) -> Any:
        requests.append((asked, sizes := []))
        for file, schema, batch in streams(kind, files, **asked):
            sizes += [] if batch is None else [len(batch)]
            yield file, schema, batch

    monkeypatch.setattr(readstat, "_streams", watched)
    for cells in (2, 12, 20, 60, 10**6):
        monkeypatch.setattr(labelled, "LABELLED_VALUES_AT_ONCE", cells)
        requests.clear()
        result = tally(path, CODES, column="answer", weights="weight")
        assert (result.counts.tolist(), result.missing) == ([5 * 3.25, 5 * 2.0], 5)
        pieces = [(asked, sizes) for asked, sizes in requests if "types" in asked]
        if cells == 10**6 and ending != "xpt":  # which does not tell how many rows it has; others are read at once
            assert [sizes for _, sizes in requests] == [[30]]
            continue
        assert [(*asked["types"], asked["rows"]) for asked, _ in pieces] == [("answer", "weight", cells // 2)]
        assert [len(sizes) for _, sizes in pieces] == [math.ceil(30 / (cells // 2))]
        assert [sum(sizes) for _, sizes in pieces] == [30]


def test_files_of_a_folder_are_read_as_one(tmp_path: Path) -> None:
    for wave in (1, 2):
        (tmp_path / f"wave={wave}").mkdir()
        written(tmp_path / f"wave={wave}" / "x.sav")
    assert tally(tmp_path, LABELS, column="answer") == Tally(LABELS, [6, 4], missing=2)
    result = tally(str(tmp_path / "*" / "*.sav"), LABELS, column="answer", by=["wave", "school"])
    assert result.groups == tuple((wave, school) for wave in (1, 2) for school in ("a degree", "none", "some"))
    written(tmp_path / "wave=2" / "x.sav", variable_value_labels={"answer": {2: "yes", 1: "no, don't know"}})
    with pytest.raises(ValueError, match=r"x.sav must have the same value labels as .*x.sav; read them one at a time"):
        tally(tmp_path, LABELS, column="answer")


def test_every_format_with_labels_has_its_reader() -> None:
    assert readstat.READERS.keys() == {form.kind for form in FORMATS if form.labelled}
    assert all(hasattr(pyreadstat, reader) for reader in readstat.READERS.values())


@pytest.mark.parametrize("ending", [*ENDINGS_WITH_LABELS, "sas7bdat"])
def test_a_damaged_file_is_refused_in_one_line(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{ending}"
    contents = [b"", b"answer\nyes\n", bytes(range(256)) * 40]
    if ending != "sas7bdat":
        whole = written(path, pd.concat([people()] * 50, ignore_index=True)).read_bytes()
        contents += [whole[:500], whole[: len(whole) // 2], whole[: len(whole) * 3 // 4]]
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"x.{ending} cannot be read: [^\n]* \(as a file of \w+\)$"):
            tally(path, LABELS, column="answer")


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "x.sav")
    with pytest.raises(
        ValueError, match=r"there is no column 'Answer'; did you mean 'answer'. The columns are: 'answer'"
    ):
        tally(path, LABELS, column="Answer")
    with pytest.raises(TypeError, match="weights must be a column of numbers, but 'text' holds String"):
        tally(path, LABELS, column="answer", weights="text")
    with pytest.raises(ValueError, match="reports must be in the domain, but 4 are not"):
        tally(path, CODES, column="text")
    packed = tmp_path / "y.sav.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(ValueError, match=r"y.sav.gz must be unpacked first, as a file of SPSS"):
        tally(packed, LABELS, column="answer")
    stata = pd.DataFrame({"Age": [1], "age": [2]})
    pyreadstat.write_dta(stata, tmp_path / "y.dta")
    with pytest.raises(ValueError, match=r"the columns must have different names .* but got 'Age' and 'age'"):
        tally(tmp_path / "y.dta", CODES, column="age")
    shutil.copy(path, tmp_path / "z.dta")
    with pytest.raises(ValueError, match=r"z.dta cannot be read: .* \(as a file of Stata\)"):
        tally(tmp_path / "z.dta", CODES, column="answer")
    with pytest.raises(ValueError, match="files of different kinds"):
        tally([path, tmp_path / "z.dta"], CODES, column="answer")


def test_sets_of_answers_are_kept(tmp_path: Path) -> None:
    design = UnaryEncoding(["a", "b", "c"], epsilon=2)
    reports = design.randomize(["a", "b", "b", "c"] * 50)
    path = tmp_path / "x.sav"
    frame = pd.DataFrame({"report": reports, "school": [1.0, 2.0, 3.0, 3.0] * 50})
    pyreadstat.write_sav(frame, path, variable_value_labels=VALUE_LABELS)
    read = tally(path, design, column="report", by="school", keep=True)
    expected = tally(reports, design, by={"school": ["none", "some", "a degree", "a degree"] * 50}, keep=True)
    assert read == expected
    assert_allclose(estimated(read).shares, estimated(expected).shares, atol=1e-9)  # without the warning of a misfit


# Other entry points


def many() -> Any:
    return pd.concat([people().dropna(subset=["answer"])] * 40, ignore_index=True)


def test_a_regression_compares_with_the_level_of_the_lowest_code(tmp_path: Path) -> None:
    path = written(tmp_path / "x.sav", many())
    survey = RandomizedResponse(["yes", "no, don't know"], truth="3/4")
    fit = regress("answer", path, survey, on=["school", "age"], penalty="jeffreys")
    assert fit.model_data.terms.names == ("Intercept", "school[T.some]", "school[T.a degree]", "age")
    codes = regress("answer", path, RandomizedResponse([1, 2], truth="3/4"), on=["school", "age"], penalty="jeffreys")
    assert_array_equal(fit.coefficients, codes.coefficients)


def test_the_design_of_each_row_may_be_named_by_labels(tmp_path: Path) -> None:
    designs = {name: RandomizedResponse([1, 2], truth="3/4") for name in ("none", "some", "a degree")}
    fit = regress("answer", written(tmp_path / "x.dta", many()), designs, by="school", on=["age"], penalty="jeffreys")
    assert fit.model_data.labels == ("none", "some", "a degree")


def test_associations_read_each_question_as_its_design_has_it(tmp_path: Path) -> None:
    path = written(tmp_path / "x.sav", many())
    school = RandomizedResponse(["none", "some", "a degree"], truth="3/4")
    found = associate(path, {"answer": RandomizedResponse([1, 2], truth="3/4"), "school": school}, numeric="age")
    assert found.crosstable.counts.tolist() == [[40, 0, 80], [0, 80, 0]]


def test_an_explanation_knows_labels_and_their_order(tmp_path: Path) -> None:
    frame = many().assign(school=[1.0, 1.0, 2.0, 3.0] * 50)
    path = written(tmp_path / "x.sav", frame)
    survey = RandomizedResponse(["yes", "no, don't know"], truth="9/10")
    fit = explain("weight", path, {"answer": survey}, on=["school"])
    names = {1.0: "none", 2.0: "some", 3.0: "a degree"}
    told = {"answer": [{1.0: "yes", 2.0: "no, don't know"}[code] for code in frame["answer"]]}
    school = pd.Categorical(frame["school"].map(names), list(names.values()), ordered=True)
    data = pd.DataFrame({**told, "school": school, "weight": frame["weight"]})
    expected = explain("weight", data, {"answer": survey}, on=["school"])
    assert fit.names == expected.names
    assert_allclose(fit.coefficients, expected.coefficients, rtol=1e-12)


@pytest.mark.parametrize("target", ["reports.csv", "reports.parquet", "reports.jsonl"])
def test_answers_are_randomized_and_columns_kept_with_their_labels(target: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x.sav", many())
    for design in (LABELS, CODES):
        assert randomize_file(path, design, tmp_path / target, column="answer", keep=["school", "age", "weight"]) == 200
        reports = open_files(tmp_path / target).frame.collect()
        assert reports.columns == ["answer", "school", "age", "weight"]
        assert list(map(str, reports["school"].to_list()[:3])) == ["none", "some", "a degree"]
        assert list(map(str, reports["age"].to_list()[:3])) == ["20", "30", "97"]
        yes, no = map(str, design.domain)
        assert list(map(str, reports["answer"].to_list()[:3])) == [yes, no, yes]
        assert tally(tmp_path / target, design, column="answer") == Tally(design, [120, 80])


def test_an_answer_that_is_missing_is_not_randomized_and_not_told(tmp_path: Path) -> None:
    path = written(tmp_path / "x.sav")
    with pytest.raises(ValueError, match="column 'answer' must hold answers of the domain, but in row 4 it is missing"):
        randomize_file(path, LABELS, tmp_path / "reports.csv", column="answer")
    assert not (tmp_path / "reports.csv").exists()


def test_rows_are_chosen_by_the_labels_of_another_column(tmp_path: Path) -> None:
    path = written(tmp_path / "x.sav")
    groups = tally(path, LABELS, column="answer", by="school")
    one = tally(path, LABELS, column="answer", where={"school": "none"})
    assert_array_equal(one.counts, groups.counts[[group == ("none",) for group in groups.groups].index(True)])
