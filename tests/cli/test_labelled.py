"""Files of SPSS at every command: labels or codes, as the design has them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from cli.shell import fails, succeeds
from warner import RandomizedResponse

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt

pytest.importorskip("duckdb", reason="reading files is an extra, and not installed")
pyreadstat = pytest.importorskip(
    "pyreadstat", reason="reading SPSS, Stata and SAS files is an extra, and not installed"
)
pd = pytest.importorskip("pandas", reason="pandas, in which the files of these tests are made, is not installed")

pytestmark = pytest.mark.usefixtures("quick_readers")

FILE = ("survey.sav", "--column", "answer", "--design", "survey.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    frame = pd.DataFrame(
        {"answer": [1.0, 2.0, 9.0, 2.0, 1.0] * 20, "sex": [1.0, 2.0] * 50, "again": [1.0, 1.0, 2.0, 2.0, 8.0] * 20}
    )
    labels = {
        "answer": {1: "yes", 2: "no", 9: "refused"},
        "sex": {1: "woman", 2: "man"},
        "again": {1: "yes", 2: "no", 8: "refused"},
    }
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(frame, path, variable_value_labels=labels, missing_ranges={"answer": [9]})
    RandomizedResponse(["yes", "no"], truth="3/4").save(tmp_path / "survey.json")
    RandomizedResponse([1, 2], truth="3/4").save(tmp_path / "codes.json")
    return tmp_path


def test_every_command_reads_a_file_of_spss(prompt: Prompt) -> None:
    assert json.loads(prompt.prints("tally", *FILE))["counts"] == [40, 40]
    told = prompt.prints("estimate", *FILE, "--by", "sex")
    assert "2 groups by sex, 20 missing left out" in told
    assert all(re.search(rf"^{group} +yes ", told, re.MULTILINE) for group in ("woman", "man"))
    assert "80 reports among 2 answers, 20 missing left out" in prompt.prints("check", *FILE)
    assert "sex[T.man]" in prompt.prints("regress", "survey.sav", "answer", "--on", "sex", "-d", "survey.json")
    questions = ("answer=survey.json", "again=codes.json")
    assert "reports must be" not in prompt.prints("associate", "survey.sav", *questions, "--missing", "refused")
    assert "but 20 are not: 8" in prompt.complains("associate", "survey.sav", *questions)
    refused = ("randomize", "survey.sav", "-d", "survey.json", "-c", "answer", "-o", "reports.csv")
    assert "in row 3 it is missing or not in it; nothing was written" in prompt.complains(*refused)
    prompt.prints("randomize", "survey.sav", "-d", "codes.json", "-c", "sex", "--keep", "answer", "-o", "reports.csv")
    lines = (prompt.folder / "reports.csv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("sex,answer", 101)
    assert {line.partition(",")[2] for line in lines[1:]} == {"yes", "no", ""}


def test_a_file_of_spss_may_come_through_a_pipe(folder: Path) -> None:
    arguments = ("tally", "-", "--format", "sav", *FILE[1:])
    with (folder / "survey.sav").open("rb") as file:
        assert json.loads(succeeds(folder, *arguments, stdin=file))["counts"] == [40, 40]


def test_a_damaged_file_is_one_line(folder: Path) -> None:
    whole = (folder / "survey.sav").read_bytes()
    (folder / "survey.sav").write_bytes(whole[:-100])
    rows = "warner: survey.sav cannot be read: File did not contain the expected number of rows (as a file of SPSS)\n"
    assert fails(folder, "estimate", *FILE) == rows
    assert "survey.sav cannot be read" in fails(folder, "randomize", "survey.sav", "-c", "sex", "-d", "codes.json")
