"""Excel files: read as all others, and nothing in them is lost without a word, run, or unpacked into memory."""

from __future__ import annotations

import csv
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cases import COIN
from warner import RandomizedResponse, SubsetSelection, associate, explain, regress, tally
from warner.reports import excel
from warner.reports.files import open_files
from warner.reports.randomizing_files import randomize_file
from workbooks import CLOCK, DATE, MAIN, MOMENT, cell, row, workbook

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("duckdb", reason="files are read by DuckDB, which is not installed")

CODES = RandomizedResponse([1, 2], truth="3/4")


def values(path: Path, **options: Any) -> dict[str, list[str | None]]:
    """Return what is read of a file, by column."""
    frame = open_files(path, **options).frame.collect()
    return {name: frame[name].to_list() for name in frame.columns}


def test_cells_are_read_as_what_they_hold(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "x.xlsx",
        {
            "Data": [
                row("text", "number", "moment", "formula", "truth"),
                row("a", 1.0, cell(45000, style=DATE), cell(2, formula="1+1"), True),
                row("_x0041_", 0.1, cell(45000.5, style=MOMENT), cell("two", formula='"two"'), False),
                row("ä, ö", -1e300, cell(0.75, style=CLOCK), cell("#N/A", formula="NA()"), None),
                row('<c t="s"><v>0</v></c>', 12345678901234.0, cell(59, style=DATE), cell("", formula="A9"), None),
                row('<c t="s"><v>1</v></c>', 45000, cell(61, style=DATE), '<c t="d"><v>2024-03-01</v></c>', None),
            ]
        },
        shared=["<r><t>rich </t></r><r><t>text</t></r><rPh><t>spoken</t></rPh>", "<t>plain</t>"],
    )
    assert values(path) == {
        "text": ["a", "A", "ä, ö", "rich text", "plain"],
        "number": ["1", "0.1", "-1e+300", "12345678901234", "45000"],
        # Excel takes 1900 for a leap year: day 59 is 28 February, and day 61 is 1 March
        "moment": ["2023-03-15", "2023-03-15T12:00:00", "18:00:00", "1900-02-28", "1900-03-01"],
        "formula": ["2", "two", "#N/A", None, "2024-03-01"],
        "truth": ["TRUE", "FALSE", None, None, None],
    }


def test_dates_may_be_counted_from_1904(tmp_path: Path) -> None:
    rows = [row("when"), row(cell(0, style=DATE)), row(cell(43538, style=DATE))]
    path = workbook(tmp_path / "x.xlsx", {"Data": rows}, properties='<workbookPr date1904="1"/>')
    assert values(path) == {"when": ["1904-01-01", "2023-03-15"]}


def people(path: Path, ending: str) -> Path:
    """Write 300 people to an Excel or a CSV file."""
    rng = np.random.default_rng(7)
    rows = [
        (["yes", "no"][rng.integers(2)], ["yes", "no"][rng.integers(2)], int(rng.integers(18, 80)), rng.normal(), place)
        for place in ("north", "south", "Ñ") * 100
    ]
    header = ("answer", "other", "age", "score", "place")
    file = path / f"people.{ending}"
    if ending == "csv":
        with file.open("w", newline="") as content:
            csv.writer(content).writerows([header, *rows])
        return file
    return workbook(file, {"People": [row(*header), *(row(*map(_plain, one)) for one in rows)]})


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("ending", ["xlsx", "xlsm"])
def test_every_analysis_gives_what_it_gives_of_csv(ending: str, tmp_path: Path) -> None:
    excel, text = people(tmp_path, ending), people(tmp_path, "csv")
    asked: list[dict[str, Any]] = [{}, {"by": "place"}, {"by": ["place", "other"]}, {"counts": "age"}]
    for options in asked:
        assert tally(excel, COIN, column="answer", **options) == tally(text, COIN, column="answer", **options)
    first, second = (regress("answer ~ age + score + place", file, COIN) for file in (excel, text))
    assert first.to_dict() == second.to_dict()
    mine, theirs = (explain("score ~ age + answer", file, {"answer": COIN}) for file in (excel, text))
    assert mine.to_dict() == theirs.to_dict()
    one, other = (
        associate(file, {"answer": COIN, "other": COIN}, rng=np.random.default_rng(1)) for file in (excel, text)
    )
    assert one.to_dict() == other.to_dict()


def test_codes_may_be_numbers_or_texts(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", {"Data": [row("code"), row(1), row(2.0), row("2"), row("9"), row(9)]})
    counted = tally(path, CODES, missing=9)
    assert (counted.counts.tolist(), counted.missing) == ([1, 2], 2)
    with pytest.raises(ValueError, match=r"reports must be in the domain, but 2 are not: '9'"):
        tally(path, CODES)


def test_reports_that_are_sets_come_from_excel_as_well(tmp_path: Path) -> None:
    survey = SubsetSelection(10, epsilon=1)
    reports = survey.randomize([3] * 50)
    path = workbook(tmp_path / "x.xlsx", {"Data": [row("set"), *(row(str(one)) for one in reports)]})
    assert tally(path, survey) == tally(list(map(str, reports)), survey)
    assert tally(path, survey, keep=True).n == 50


def test_sheets_are_chosen_by_name(tmp_path: Path) -> None:
    sheets = {"2024": [row("answer"), row("yes")], "2025 & on": [row("answer"), row("no"), row("no")], "Empty": []}
    path = workbook(tmp_path / "x.xlsx", sheets)
    with pytest.raises(ValueError, match=r"sheet must be given, because .*x.xlsx has 2 sheets \('2024', '2025 & on'\)"):
        tally(path, COIN)
    assert tally(path, COIN, sheet="2025 & on").counts.tolist() == [0, 2]
    assert tally([path], COIN, sheet="2024").counts.tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"sheet must be one of .*\('2024', '2025 & on', 'Empty'\), but got '2026'"):
        tally(path, COIN, sheet="2026")
    with pytest.raises(ValueError, match=r"the sheet 'Empty' of .*x.xlsx is empty: there is not even a header"):
        tally(path, COIN, sheet="Empty")
    (tmp_path / "x.csv").write_text("answer\nyes\n")
    with pytest.raises(ValueError, match=r"x.csv, which is not an Excel file, but got 'a'"):
        tally(tmp_path / "x.csv", COIN, sheet="a")
    with pytest.raises(
        TypeError, match="encoding, decimal, sheet and skip_bad_files are for files, but reports is a list"
    ):
        tally(["yes"], COIN, sheet="a")
    assert regress("answer", path, COIN, on=[], sheet="2025 & on").to_dict()["people"] == 2


def test_a_hidden_sheet_is_read_only_if_it_is_named(tmp_path: Path) -> None:
    sheets = {"Codes": [row("code"), row("yes")], "Data": [row("answer"), row("no")]}
    path = workbook(tmp_path / "x.xlsx", sheets, hidden=["Codes"])
    assert tally(path, COIN).counts.tolist() == [0, 1]
    assert tally(path, COIN, sheet="Codes").counts.tolist() == [1, 0]


def test_a_table_may_begin_anywhere_and_have_empty_rows(tmp_path: Path) -> None:
    rows = [
        row(cell("answer", "C4"), cell("x", "E4"), number=4),
        row(cell("yes", "C5"), cell(1, "E5"), number=5),
        row(cell(None, "C6"), cell("", "D6"), number=6),
        row(cell("no", "C9"), cell("note", "D9"), number=9),
    ]
    path = workbook(tmp_path / "x.xlsx", {"Data": rows})
    assert values(path) == {"answer": ["yes", "no"], "column1": [None, "note"], "x": ["1", None]}
    workbook(path, {"Data": [*rows, row(cell("total", "B11"), number=11)]})
    with pytest.raises(ValueError, match=r"x.xlsx cannot be read: cell B11 has a value, but its column has no name"):
        tally(path, COIN, column="answer")


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", {"Data": [row("answer", "Answer"), row("yes", "no")]})
    with pytest.raises(ValueError, match="the columns must have different names"):
        tally(path, COIN, column="answer")


def test_merged_cells_and_formulas_without_a_value_are_refused_where_they_are_used(tmp_path: Path) -> None:
    rows = [row("answer", "place", "f"), row("yes", "north", cell(None, formula="1+1")), row("no", None, 3)]
    path = workbook(tmp_path / "x.xlsx", {"Data": rows}, after='<mergeCells><mergeCell ref="B2:B3"/></mergeCells>')
    assert tally(path, COIN, column="answer").counts.tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"x.xlsx cannot be read: the cells B2:B3 are merged, and only the first"):
        tally(path, COIN, column="answer", by="place")
    with pytest.raises(ValueError, match=r"x.xlsx cannot be read: cell C2 holds a formula that was never calculated"):
        tally(path, COIN, column="answer", weights="f")


def test_answers_are_randomized_from_excel_and_told_to_nobody(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", {"Data": [row("id", "answer"), *(row(i, "yes") for i in range(100))]})
    truth = RandomizedResponse(["yes", "no"], odds=(1, 0))
    assert randomize_file(path, truth, tmp_path / "out.csv", column="answer", keep=["id"]) == 100
    assert tally(tmp_path / "out.csv", truth, column="answer").counts.tolist() == [100, 0]
    workbook(path, {"Data": [row("answer"), row("secret")], "Other": [row("a")]})
    with pytest.raises(ValueError, match="in row 1 it is missing or not in it") as refused:
        randomize_file(path, truth, tmp_path / "out.csv", column="answer", sheet="Data")
    assert "secret" not in str(refused.value)
    with pytest.raises(ValueError, match=r"must end in .csv, .tsv, .parquet or .jsonl"):
        randomize_file(path, truth, tmp_path / "out.xlsx", sheet="Data")


def test_several_files_and_folders_are_read_together(tmp_path: Path) -> None:
    for wave in (1, 2):
        folder = tmp_path / f"wave={wave}"
        folder.mkdir()
        workbook(folder / "x.xlsx", {"Data": [row("answer"), *[row("yes")] * wave]})
    counted = tally(tmp_path, COIN, by="wave")
    assert (counted.groups, counted.counts.tolist()) == ((("1",), ("2",)), [[1, 0], [2, 0]])


# Files that are damaged, or hostile


def test_a_damaged_file_is_one_clear_line(tmp_path: Path) -> None:
    rng = random.Random(3)
    rows = [row("answer", "x"), *(row(rng.choice(["yes", "no"]), rng.random()) for _ in range(300))]
    whole = workbook(tmp_path / "x.xlsx", {"Data": rows}, shared=["<t>a</t>"]).read_bytes()
    path = tmp_path / "damaged.xlsx"
    wrong = 0
    for trial in range(75):
        content = bytearray(whole)
        if trial % 2:
            del content[rng.randrange(len(content)) :]
        for _ in range(rng.randrange(1, 20) if content else 0):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
        try:
            tally(path, COIN, column="answer", by="x")
        except ValueError as error:
            wrong += 1
            assert len(str(error).splitlines()) == 1
            assert "damaged.xlsx" in str(error) or "column" in str(error) or "reports must" in str(error)
    assert wrong > 50  # and no other error came


@pytest.mark.parametrize(
    ("offset", "value", "complaint"),
    [
        (6, 255, "zip file version 25.5; save it in Excel or LibreOffice again"),  # the version that is needed
        (8, 1, "it is protected by a password"),  # flags: encrypted
        (8, 32, r"compressed patched data \(flag bit 5\); save it"),
        (10, 99, "That compression method is not supported; save it"),
        (10, 12, "it is damaged, or no Excel file"),  # bzip2, which it is not
        (10, 14, "it is damaged, or no Excel file"),  # LZMA
        (45, 255, "it is damaged, or no Excel file"),  # where the part begins
    ],
)
def test_a_wrong_byte_in_the_directory_of_the_zip_is_one_clear_line(
    offset: int, value: int, complaint: str, tmp_path: Path
) -> None:
    path = workbook(tmp_path / "x.xlsx", {"Data": [row("answer"), row("yes")]})
    content = bytearray(path.read_bytes())
    place = content.find(b"PK\1\2")
    while place >= 0:  # of every part
        content[place + offset] = value
        place = content.find(b"PK\1\2", place + 1)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"^{path} cannot be read: {complaint}"):
        tally(path, COIN)
    with pytest.raises(ValueError, match=rf"^{path} cannot be read"):
        randomize_file(path, COIN, tmp_path / "out.csv")


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("xl/workbook.xml", "<workbook/>"),
        ("xl/workbook.xml", "<workbook"),
        ("xl/_rels/workbook.xml.rels", "<Relationships/>"),
        ("xl/worksheets/sheet1.xml", "<worksheet><sheetData><row r='x'/></sheetData></worksheet>"),
        ("xl/worksheets/sheet1.xml", "<worksheet><sheetData><row><c t='s'><v>7</v></c></row></sheetData></worksheet>"),
        ("xl/worksheets/sheet1.xml", "<worksheet><sheetData><row><c><v>x</v></c></row></sheetData></worksheet>"),
        ("xl/worksheets/sheet1.xml", "<worksheet><sheetData><row r='9999999'/></sheetData></worksheet>"),
        ("xl/worksheets/sheet1.xml", "<worksheet><sheetData><row><c r='ZZZ1'/></row></sheetData></worksheet>"),
        ("xl/styles.xml", "<styleSheet><cellXfs><xf numFmtId='x'/></cellXfs></styleSheet>"),
        ("xl/sharedStrings.xml", f"<sst xmlns='{MAIN}'><si><t>a</si></sst>"),
    ],
)
def test_a_workbook_with_a_wrong_part_is_one_clear_line(tmp_path: Path, part: str, content: str) -> None:
    path = workbook(tmp_path / "x.xlsx", {"Data": [row("answer"), row("yes")]}, parts={part: content})
    with pytest.raises(ValueError, match=r"x.xlsx (cannot be read: it is damaged, or no Excel file|is empty)"):
        tally(path, COIN)


def test_entities_are_neither_expanded_nor_fetched(tmp_path: Path) -> None:
    def tenfold(number: int) -> str:
        return f"&l{number};" * 10

    secret = tmp_path / "secret.txt"
    secret.write_text("yes")
    laughs = "".join(f'<!ENTITY l{i} "{tenfold(i - 1)}">' for i in range(1, 10))
    for declared in (f'<!ENTITY l0 "ha">{laughs}', f'<!ENTITY l9 SYSTEM "file://{secret}">'):
        content = f"<!DOCTYPE sst [{declared}]><sst><si><t>&l9;</t></si></sst>"
        rows = [row("answer"), row('<c t="s"><v>0</v></c>')]
        path = workbook(tmp_path / "x.xlsx", {"Data": rows}, parts={"xl/sharedStrings.xml": content})
        with pytest.raises(ValueError, match=r"x.xlsx cannot be read: it is damaged, or no Excel file"):
            tally(path, COIN)


READING = """
import resource, sys
from pathlib import Path
from warner import RandomizedResponse, tally
survey = RandomizedResponse(["yes", "no"], truth="3/4")
tally(["yes"], survey)
import duckdb, pyarrow.dataset
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        print(tally(Path(path), survey, column="answer").n)
    except ValueError as error:
        print(error)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used < 200 * 1024)  # kilobytes
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured in kilobytes")
def test_what_unpacks_to_much_takes_little_memory(tmp_path: Path) -> None:
    bombs: dict[str, Callable[[], str]] = {
        "text": lambda: row("yes", cell("x" * 10**8)),  # of 100 MB
        "tag": lambda: f'<row spans="{"1" * 10**8}"></row>',  # of 100 MB
        "last": lambda: row(cell("yes", "A1048576"), number=1048576),  # row of a sheet, and nothing before it
        "nothing": lambda: row("yes") + " " * 10**8,  # at all, 100 MB of it
    }
    paths = [
        workbook(tmp_path / f"{name}.xlsx", {"Data": [row("answer", "note"), row("yes"), bomb()]})
        for name, bomb in bombs.items()
    ]
    assert max(path.stat().st_size for path in paths) < 10**6
    (script := tmp_path / "read.py").write_text(READING)  # no `-c`: DuckDB takes that for a person at a terminal
    done = subprocess.run([sys.executable, script, *paths], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    damaged = "cannot be read: it is damaged"
    for said, expected in zip(lines[::2], (f"text.xlsx {damaged}", f"tag.xlsx {damaged}", "2", "2"), strict=True):
        assert expected in said
    assert lines[1::2] == ["True"] * 4, "more than 200 MB"


def test_sheets_may_be_longer_than_the_longest_tag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "x.xlsx", {"Data": [row("answer"), *[row("yes"), row("no")] * 100]})
    monkeypatch.setattr(excel, "PIECE_BYTES", 256)
    monkeypatch.setattr(excel, "TAG_BYTES", 1024)
    assert values(path) == {"answer": ["yes", "no"] * 100}


def test_files_of_other_programs_are_refused_by_their_names(tmp_path: Path) -> None:
    for name, remedy in {
        "x.xls": "save it as .xlsx or .csv",
        "x.ods": "save it as",
        "x.rds": "write it from R",
    }.items():
        (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0 what there is")
        with pytest.raises(ValueError, match=rf"{name} is of a format that is not read \({name[1:]}\); {remedy}"):
            tally(tmp_path / name, COIN)
    (tmp_path / "x.xlsx").write_bytes(b"\xd0\xcf\x11\xe0 encrypted")
    with pytest.raises(ValueError, match=r"x.xlsx cannot be read: it is protected by a password, or from Excel 97"):
        tally(tmp_path / "x.xlsx", COIN)
    (tmp_path / "x.xlsx.gz").touch()
    with pytest.raises(ValueError, match=r"x.xlsx.gz must be unpacked first"):
        tally(tmp_path / "x.xlsx.gz", COIN)
