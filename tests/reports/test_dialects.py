"""Files of other programs: encodings, decimal commas, codes for missing values; equal results of all entry points."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from engines import ENGINES, Table, in_engine
from warner import RandomizedResponse, Tally, UnaryEncoding, tally
from warner.reports.randomizing_files import randomize_file

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("duckdb", reason="reading files is an extra, and not installed")

SURVEY = RandomizedResponse(["nie", "möglich", "öfter"], odds=(1, 0))
ROWS = "Région;Antwort;Gewicht\nZürich;möglich;1,5\nGenève;nie;0,25\nZürich;-99;3\nZürich;NA;,5\nGenève;öfter;2\n"
EXPECTED: dict[str, Any] = {"counts": [0.25, 1.5, 2.0], "squares": 0.0625 + 2.25 + 4.0, "missing": 2}
OPTIONS: dict[str, Any] = {"column": "Antwort", "weights": "Gewicht", "decimal": ",", "missing": [-99, "NA"]}


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "latin-1", "utf-16", "utf-16-le", "mac-roman", "UTF-8-SIG"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_in_any_encoding_gives_the_same_tally(encoding: str, packed: bool, tmp_path: Path) -> None:
    content = ROWS.encode(encoding)
    path = tmp_path / ("x.csv.gz" if packed else "x.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    assert tally(path, SURVEY, encoding=encoding, **OPTIONS) == Tally(SURVEY, **EXPECTED)
    grouped = tally(path, SURVEY, encoding=encoding, by="Région", **OPTIONS)
    assert grouped.groups == (("Genève",), ("Zürich",))
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_answers_in_another_encoding_are_randomized_without_a_copy(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.csv").write_bytes("Jahr;Antwort\n1;möglich\n2;öfter\n".encode(encoding))
    monkeypatch.setattr("tempfile.TemporaryDirectory", None)
    out = tmp_path / "out.csv"
    assert randomize_file(tmp_path / "x.csv", SURVEY, out, column="Antwort", keep=["Jahr"], encoding=encoding) == 2
    assert out.read_text(encoding="utf-8") == "Antwort,Jahr\nmöglich,1\nöfter,2\n"


@pytest.mark.parametrize("content", ["a,b\nnie,1\nnie,öfter,2\n", "a,b\nnie,1,2\n"])
def test_a_row_of_answers_with_too_many_values_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(content.encode("cp1252"))
    with pytest.raises(ValueError, match=r"row [12] of .*x.csv has more values than the header has names"):
        randomize_file(tmp_path / "x.csv", SURVEY, tmp_path / "out.csv", column="a", encoding="cp1252")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("codes", [[-99, 98], "-99,98", [-99.0, "98", "x"]])
def test_codes_for_missing_values_in_every_engine(engine: str, codes: Any, tmp_path: Path) -> None:
    given = codes.split(",") if isinstance(codes, str) else codes
    table: Table = {
        "n": [1, 2, -99, 1, 98, 2, 1],
        "s": ["a", "b", "-99", "a", "98", "b", "a"],
        "g": ["u", "v"] * 3 + ["x"],
    }
    source = in_engine(engine, table, tmp_path)
    numbers, texts = RandomizedResponse([1, 2], epsilon=1), RandomizedResponse(["a", "b"], epsilon=1)
    for column, design in (("n", numbers), ("s", texts)):
        counted = tally(source, design, column=column, missing=given)
        assert_array_equal(counted.counts, [3, 2])
        assert (counted.missing, counted.unknown) == (2, 0)
    with pytest.raises(ValueError, match="2 are not"):
        tally(source, numbers, column="n")
    by = tally(source, numbers, column="n", missing=given, by="g")
    assert by.groups[-1] == ((None,) if "x" in given else ("x",))


def test_codes_for_missing_values_in_sequences() -> None:
    numbers, texts = RandomizedResponse([1, 2], epsilon=1), RandomizedResponse(["a", "b"], epsilon=1)
    for reports in ([1, 2, -99], np.array([1, 2, -99]), np.array([1.0, 2, -99]), np.ma.array([1, 2, -99])):
        assert tally(reports, numbers, missing=-99).missing == 1
    for texts_given in (["a", "b", "NA"], np.array(["a", "b", "NA"]), np.array(["a", "b", "NA"], dtype=object)):
        assert tally(texts_given, texts, missing="NA").missing == 1
    assert tally(["80", "NA"], UnaryEncoding(["a", "b"], epsilon=1), missing="NA").missing == 1


def test_reports_that_are_kept_are_those_without_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design = UnaryEncoding(["a", "b"], epsilon=1)
    (tmp_path / "x.csv").write_text("a;w\n80;1,5\n40;2\nNA;1\nc0;0,5\n", encoding="utf-16")
    monkeypatch.setattr("warner.reports.counting.HELD_BYTES", 0)
    options: dict[str, Any] = {"column": "a", "weights": "w", "decimal": ",", "missing": "NA", "encoding": "utf-16"}
    counted = tally(tmp_path / "x.csv", design, keep=True, **options)
    assert counted.missing == 1
    assert counted.has_likelihood
    assert sum(block.amounts.sum() for block in counted.blocks()) == 4.0


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({"encoding": "klingon"}, ValueError, "encoding must be one of text that Python knows, such as cp1252"),
        ({"encoding": "ascii"}, ValueError, "cannot be read in the encoding ascii: .*0xc3"),
        ({"decimal": "'"}, ValueError, r'decimal must be "\." or ","'),
        ({"missing": [None]}, TypeError, "missing must hold texts or numbers, but got None"),
        ({"missing": True}, TypeError, "missing must hold texts or numbers|'bool' object is not iterable"),
        ({"missing": ["nie"]}, ValueError, "missing must name values that are not reports, but 'nie' is one"),
        ({"decimal": "."}, ValueError, "column 'Gewicht' must hold numbers, but has '.,.*'; give decimal=\",\""),
    ],
)
def test_wrong_descriptions_of_a_file(
    options: dict[str, Any], error: type[Exception], complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "x.csv").write_text(ROWS, encoding="utf-8")
    with pytest.raises(error, match=complaint):
        tally(tmp_path / "x.csv", SURVEY, **(OPTIONS | options))


def test_encodings_and_decimals_are_those_of_text_files(tmp_path: Path) -> None:
    with pytest.raises(
        TypeError, match="encoding, decimal, sheet and skip_bad_files are for files, but reports is a list"
    ):
        tally(["nie"], SURVEY, encoding="cp1252")
    source = in_engine("parquet", {"Antwort": ["nie"], "w": [1.5]}, tmp_path)
    with pytest.raises(ValueError, match=r"encoding must be left out for .*parquet, which is not a text file"):
        tally(source, SURVEY, column="Antwort", encoding="cp1252")
    with pytest.raises(ValueError, match='decimal="," is for text files'):
        tally(source, SURVEY, column="Antwort", weights="w", decimal=",")


def test_labels_with_commas_are_left_alone_by_decimal_commas(tmp_path: Path) -> None:
    design = RandomizedResponse(["1,5", "2,5"], odds=(1, 0))
    (tmp_path / "x.csv").write_text("a;w\n1,5;0,5\n2,5;1,5\n")
    assert tally(tmp_path / "x.csv", design, column="a", weights="w", decimal=",").counts.tolist() == [0.5, 1.5]


@pytest.mark.parametrize("missing", [9, 9.0, "9", "9.0"])
def test_a_code_for_missing_is_a_number_in_either_spelling(tmp_path: Path, missing: object) -> None:
    survey = RandomizedResponse([1, 2], truth="3/4")
    path = tmp_path / "r.csv"
    path.write_text("answer\n1.0\n2.0\n9.0\n2\n9\n")
    for reports in (path, ["1", 2, 9.0, 2.0, "9.0"], np.array([1.0, 2.0, 9.0, 2.0, 9.0])):
        found = tally(reports, survey, missing=missing, unknown="drop")
        assert found.missing == 2


def test_a_code_for_missing_is_no_report_in_either_spelling() -> None:
    survey = RandomizedResponse(["9.0", "8.0"], truth="3/4")
    with pytest.raises(ValueError, match=r"missing must name values that are not reports, but '9.0' is one"):
        tally(["8.0"], survey, missing=9)
