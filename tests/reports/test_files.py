"""Text files as they are: which column is which, nothing guessed, nothing left out without a word.

It tests reports/randomizing_files.py as well.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from warner import RandomizedResponse, tally
from warner.reports import files
from warner.reports.files import Head, delimiter_of, refuse_damaged_text
from warner.reports.randomizing_files import randomize_file

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("duckdb", reason="reading files is an extra, and not installed")

SURVEY = RandomizedResponse(["yes", "no", ",", "#1"], odds=(1, 0))


def written(folder: Path, content: str | bytes, name: str = "x.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("line", "delimiter"),
    [
        ('id;"Have you ever, in 2024, driven?";answer', ";"),
        ('"a;b;c",d', ","),
        ("a\tb", "\t"),
        ("a|b|c,d", "|"),
        ('"say ""a,b,c,d""";x', ";"),
        ("answer", "\x1f"),
    ],
)
def test_the_delimiter_stands_outside_of_quotation_marks(line: str, delimiter: str) -> None:
    assert delimiter_of(line) == delimiter


@pytest.mark.parametrize(
    ("content", "column", "counts"),
    [
        ('id;"Have you ever, in 2024, driven?";answer\n1;a;yes\n', "answer", [1, 0, 0, 0]),
        ('"a\nb",c\nyes,1\n', "a\nb", [1, 0, 0, 0]),
        ('"it\'s ""a""",c\nno,1\n', 'it\'s "a"', [0, 1, 0, 0]),
        (",a\n0,yes\n1,no\n", "a", [1, 1, 0, 0]),  # row numbers without a name, as pandas writes them
        ("\ufeffa,b\nyes,1\n", "a", [1, 0, 0, 0]),
        ("a,b\r\nyes,1\r\nno,1\r\n", "a", [1, 1, 0, 0]),
        ("a,b\ryes,1\rno,1\r", "a", [1, 1, 0, 0]),
        ("answer\nyes\n,\n", None, [1, 0, 1, 0]),  # a comma is no delimiter where there is one column
        ("answer\nyes\n#1\n#1\nno\n", None, [1, 1, 0, 2]),  # and a line that begins with # no comment
        ("answer,b\n#1,1\n#1,1\nno,1\n", "answer", [0, 1, 0, 2]),
    ],
)
def test_every_row_is_read(content: str, column: str | None, counts: list[int], tmp_path: Path) -> None:
    assert tally(written(tmp_path, content), SURVEY, column=column).counts.tolist() == counts
    compressed = written(tmp_path, gzip.compress(content.encode()), "x.csv.gz")
    assert tally(compressed, SURVEY, column=column).counts.tolist() == counts
    randomize_file(tmp_path / "x.csv", SURVEY, tmp_path / "out.csv", column=column)  # the design tells the truth
    assert tally(tmp_path / "out.csv", SURVEY).counts.tolist() == counts


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("answer\nyes\nno,yes\nno,yes\n", "2 are not: 'no,yes'"),  # not a header of two columns in the third line
        ("a,b\nyes,1\nno,2,3\n", r"line 3 has another number of values \(3\) than the header \(2\)"),
        ("a,b\nyes,1\n# a comment\nno,1\n", r"line 3 has another number of values \(1\) than the header \(2\)"),
        ('a,b\n"yes,1\nno,2\n', "line 2 opens a quotation mark that is not closed"),
        ('a,b\nyes,"1 ""2"""\r\nno,2\n', "line 2 opens .*, or does not end as the first line does"),
        ('a,b\nyes,"1 ""2"""\nno,2\r\n', "or the ends of its lines, differ from line to line"),
        ("a,b\nyes,1\n\xe9,2\n".encode("cp1252"), r'is not UTF-8; give its encoding, as encoding="cp1252"'),
        ("a,\xe9\nyes,1\n".encode("cp1252"), "is not UTF-8, in its first line; give its encoding"),
        (
            "a,b\nyes,1\n".encode("utf-16"),
            'first line is binary. If it is text, give its encoding, such as encoding="utf',
        ),
        ("a\n" + "x" * 3_000_000 + "\n", r"line 2 of .*x\.csv is longer than 2,000,000 bytes"),
        ('a\n"' + "x\n" * 1_500_000 + '"\n', "line 2 is longer than 2000000 bytes"),
        ("a,w\nyes,x\n", "column 'w' must hold numbers, but has 'x'"),
        ("", "is empty: there is not even a header"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(content: str | bytes, complaint: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    weights = "w" if b",w" in path.read_bytes()[:4] else None
    column = "a" if path.read_bytes()[:2] != b"an" else None
    with pytest.raises(ValueError, match=complaint) as refused:
        tally(path, SURVEY, column=column, weights=weights)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_json_objects_that_are_too_long_are_named_in_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, '{"a": "yes"}\n' * 3 + '{"a": "no", "b": "' + "x" * 40_000_000 + '"}\n', "x.jsonl")
    with pytest.raises(ValueError, match=rf"^{path} cannot be read: an object is longer than 16777216 bytes$"):
        tally(path, SURVEY, column="a")


def of_duplicates(folder: Path, first: str, second: str) -> list[Any]:
    table = pa.table([["yes"], ["no"]], names=[first, second])
    pq.write_table(table, folder / "x.parquet")
    (folder / "x.jsonl").write_text(f'{{"{first}": "yes", "{second}": "no"}}\n')
    written(folder, f"{first}\t{second}\nyes\tno\n", "x.tsv")
    return [written(folder, f"{first},{second}\nyes,no\n"), *(folder / f"x.{ending}" for ending in ("tsv", "parquet"))]


@pytest.mark.parametrize("second", ["a", "A"])
def test_columns_of_one_name_are_refused_everywhere(second: str, tmp_path: Path) -> None:
    for path in of_duplicates(tmp_path, "a", second):
        with pytest.raises(ValueError, match=f"must have different names .*'a' and '{second}'"):
            tally(path, SURVEY, column="a")
        with pytest.raises(ValueError, match=r"must have different names \(capitals make no difference\)$"):
            randomize_file(path, SURVEY, tmp_path / "out.csv", column="a")
    with pytest.raises(ValueError, match=r"duplicate key|differ only in case"):
        tally(tmp_path / "x.jsonl", SURVEY, column="a")
    assert not (tmp_path / "out.csv").exists()


def test_answers_are_in_a_column_that_is_named_or_the_only_one(tmp_path: Path) -> None:
    # Two questions with one scale: whichever is forgotten would be written in the clear.
    path = written(tmp_path, "answer,id,other\nyes,1,no\n")
    for keep in ([], ["answer", "id"], ["id", "other"]):
        with pytest.raises(ValueError, match=r"column must be given, that of the answers, .* there are 3"):
            randomize_file(path, SURVEY, tmp_path / "out.csv", keep=keep)
    assert not (tmp_path / "out.csv").exists()
    assert randomize_file(written(tmp_path, "answer\nyes\n"), SURVEY, tmp_path / "out.csv") == 1


def test_a_long_header_has_all_its_names(tmp_path: Path) -> None:
    wording = "question, as it was put to the people, " * 4  # 2,000 such names are 300 kB
    path = written(tmp_path, ";".join(f'"{wording}{i}"' for i in range(2_000)) + "\n")
    names, delimiter = Head.of(str(path)).header()
    assert (len(names), names[-1], delimiter) == (2_000, f"{wording}1999", ";")


def test_labels_with_any_control_character_are_read_back(tmp_path: Path) -> None:
    labels = ["a\rb", "\r", "c\nd", "e\r\nf", '"', "g,h", "i\tj", " k ", "l;m", "#n", "'o'", "\\p"]
    design = RandomizedResponse(labels, odds=(1, 0))
    pq.write_table(pa.table({"a": labels, "b": labels}), tmp_path / "x.parquet")
    for keep in ([], ["b"]):
        for target in ("x.csv", "x.tsv", "x.csv.gz", "x.jsonl"):
            randomize_file(tmp_path / "x.parquet", design, tmp_path / target, column="a", keep=keep)
            counted = tally(tmp_path / target, design, column="a")
            assert counted.counts.tolist() == [1] * len(labels), target
            randomize_file(tmp_path / target, design, tmp_path / "again.csv", column="a")
            assert tally(tmp_path / "again.csv", design).counts.tolist() == [1] * len(labels)
    assert (tmp_path / "again.csv").read_bytes().startswith(b'a\n"a\rb"\n"\r"\n')


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("columns", "last"),
    [
        ("a", "x" * 33_000_000),  # longer than DuckDB's buffer
        ("a,b", "no," + "x" * 33_000_000),
        ("a,b,c", "no," + "x" * 33_000_000 + ',"y\nz"'),  # the last line is short, but the row is not
    ],
)
def test_a_long_last_row_is_rejected_not_dropped(columns: str, last: str, packed: bool, tmp_path: Path) -> None:
    row = "yes" + "," * columns.count(",") + "\n"
    content = f"{columns}\n{row * 3}{last}\n".encode()
    path = written(tmp_path, gzip.compress(content, 1), "x.csv.gz") if packed else written(tmp_path, content)
    with pytest.raises(ValueError, match=rf"^line 5 of {path} is longer than 2,000,000 bytes; shorten its values$"):
        tally(path, SURVEY, column="a")
    with pytest.raises(ValueError, match=rf"^line 5 of {path} is longer"):
        randomize_file(path, SURVEY, tmp_path / "out.csv", column="a")
    assert not (tmp_path / "out.csv").exists()


def test_lines_just_below_the_limit_are_read(tmp_path: Path) -> None:
    for end in ("\n", "\r", "\r\n"):  # and wherever they lie among the blocks that are looked at
        content = "a,b" + end + ("yes," + "x" * 900_001 + end) * 5 + "no," + "x" * 1_999_000
        assert tally(written(tmp_path, content), SURVEY, column="a").counts.tolist() == [5, 1, 0, 0]


@pytest.mark.parametrize("encoding", [None, "latin-1"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_damaged_gzip_files_are_rejected(ending: str, encoding: str | None, tmp_path: Path) -> None:
    head, row = ("", '{"a": "yes"}\n') if ending == "jsonl" else ("a\n", "yes\n")
    content = (head + row * 50_000).encode()
    whole = gzip.compress(content)
    checksum = bytearray(whole)
    checksum[-6] ^= 1  # DuckDB does not compare it
    for damaged in (whole[: len(whole) // 2], whole[:-3], bytes(checksum), content, whole + b"rest"):
        path = written(tmp_path, damaged, f"x.{ending}.gz")
        with pytest.raises(ValueError, match=rf"^{path} ends in \.gz, but is not gzipped, or damaged$"):
            tally(path, SURVEY, column="a", encoding=encoding)
        if ending != "jsonl" or encoding is None:
            with pytest.raises(ValueError, match=rf"^{path} ends in \.gz, but is not gzipped, or damaged$"):
                randomize_file(path, SURVEY, tmp_path / "out.csv", encoding=encoding)
        assert not (tmp_path / "out.csv").exists()
    twice = gzip.compress(content) + gzip.compress((row * 7).encode())  # as `cat` joins two files
    assert tally(written(tmp_path, twice, f"x.{ending}.gz"), SURVEY, column="a", encoding=encoding).n == 50_007


def test_the_length_of_a_line_begins_after_the_last_line_end_of_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Blocks of 8 bytes: the second one begins with the end of the first line, and the second line has 10 bytes.
    monkeypatch.setattr(files, "SCANNED_BYTES", 8)
    monkeypatch.setattr(files, "LINE_BYTES", 10)
    (path := tmp_path / "x.csv").write_bytes(b"8 bytes.\n7 bytes3 b\n")
    refuse_damaged_text(str(path), lines=True)
    path.write_bytes(b"8 bytes.\n7 bytes4 by\n")
    with pytest.raises(ValueError, match=r"line 2 of .* is longer than 10 bytes"):
        refuse_damaged_text(str(path), lines=True)
