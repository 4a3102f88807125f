"""A user with bad luck: links in circles, whole disks, encodings that are none. Mistakes of ours are no verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cli.shell import CHECK, COMMAND, ESTIMATE, fails, succeeds
from warner import RandomizedResponse
from workbooks import row, workbook

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt

LONG = "a" * 10_000


@pytest.mark.parametrize(
    "arguments",
    [
        ("tally", *ESTIMATE[1:], "-o", "circle.json"),
        ("design", "a", "b", "--epsilon", "1", "-o", "circle.json"),
        ("randomize", "reports.csv", "-c", "answer", "-d", "survey.json", "-o", "circle.json"),
        (*ESTIMATE, "-o", "circle.json"),
        (*ESTIMATE, "--report", "circle.json"),
        (*CHECK, "-o", "circle.json"),
        ("check", "reports.csv", "-c", "answer", "-d", "circle.json"),
        ("check", "links", "-c", "answer", "-d", "survey.json"),
        ("check", "links/*.csv", "-c", "answer", "-d", "survey.json"),
        ("check", "links/**", "-c", "answer", "-d", "survey.json"),
        ("tally", "links/circle.csv", "reports.csv", "-c", "answer", "-d", "survey.json"),
        ("survey", "invite", "circle.json", "5", "--url", "https://example.org", "-o", "links.csv"),
    ],
)
def test_a_link_that_leads_to_itself_is_one_clear_line(prompt: Prompt, arguments: tuple[str, ...]) -> None:
    (prompt.folder / "circle.json").symlink_to("circle.json")
    links = prompt.folder / "links"
    links.mkdir()
    (links / "circle.csv").symlink_to("circle.csv")
    complaint = prompt.complains(*arguments)
    assert "circle." in complaint
    assert "Too many levels of symbolic links" in complaint or "there is no file" in complaint


def test_folders_that_link_to_themselves_are_gone_through_once(prompt: Prompt) -> None:
    folder = prompt.folder / "reports"
    folder.mkdir()
    (prompt.folder / "reports.csv").rename(folder / "reports.csv")
    for name in ("again", "and-again"):  # of which a search that follows links would see 2^40
        (folder / name).symlink_to(".")
    for place in ("reports", "reports/**/*.csv", "reports/*.csv", "*/**/reports.csv"):
        assert "1,000 reports" in prompt.prints("estimate", place, "-c", "answer", "-d", "survey.json")


def test_a_whole_disk_is_not_searched(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.reports.files.NAMES_SEARCHED", 50)
    deep = prompt.folder / "disk"
    for name in ("a", "b", "c"):
        (deep / name).mkdir(parents=True)
        for number in range(20):
            (deep / name / f"{number}.txt").touch()
    for place in ("disk", "disk/**/*.csv", "disk/*/*.csv"):
        complaint = prompt.complains("estimate", place, "-c", "answer", "-d", "survey.json")
        assert f"{place} matches more than 50 files and folders; give the folder of the reports itself" in complaint


@pytest.mark.parametrize("encoding", ["rot13", "base64", "hex", "zlib", "undefined", "klingon"])
def test_what_is_no_encoding_of_text_is_refused(prompt: Prompt, encoding: str) -> None:
    for command in (CHECK, ("randomize", "reports.csv", "-c", "answer", "-d", "survey.json")):
        complaint = prompt.complains(*command, "--encoding", encoding)
        assert "--encoding must be one of text that Python knows, such as cp1252, latin-1 or utf-16" in complaint
        assert encoding in complaint


@pytest.mark.parametrize("command", [CHECK, ("audit", "cat", "-d", "survey.json")])
@pytest.mark.parametrize("error", [RuntimeError, KeyError, AssertionError, ZeroDivisionError, RecursionError])
def test_a_mistake_of_ours_does_not_look_like_a_verdict(
    prompt: Prompt, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], error: type[Exception]
) -> None:
    def mistaken(*_: object, **__: object) -> None:
        raise error("something that nobody thought of")

    monkeypatch.setattr("warner.check", mistaken)
    monkeypatch.setattr("warner.audit", mistaken)
    code, printed, said = prompt._run(command)
    assert (code, printed) == (70, "")  # 1 would say that the reports do not fit
    assert error.__name__ in said
    assert said.splitlines()[-1].startswith("warner: this is a bug in warner")


def test_nothing_on_standard_input_is_called_by_its_name(folder: Path) -> None:
    said = fails(folder, "estimate", "-", "-d", "survey.json", input="")
    assert said == "warner: standard input is empty: there is not even a header\n"
    said = fails(folder, "estimate", "-", "-d", "survey.json", "-c", "a", input="a,b\nnever\nonce,2,3\n")
    assert said.startswith("warner: standard input cannot be read: ")


def test_a_file_in_another_encoding_is_named_as_it_was_given(prompt: Prompt) -> None:
    (prompt.folder / "latin.csv").write_bytes("answer,größe\nnever,1\nonce,2,3\n".encode("cp1252"))
    said = prompt.complains("estimate", "latin.csv", "-c", "answer", "-d", "survey.json", "--encoding", "cp1252")
    assert said.startswith("warner: latin.csv cannot be read: line 3 has another number of values")


@pytest.mark.parametrize("command", [("estimate", "nope.csv"), ("tally", "nope.csv"), ("regress", "nope.csv", "a ~ b")])
def test_a_file_that_is_not_there_is_said_before_what_else_is_missing(prompt: Prompt, command: tuple[str, ...]) -> None:
    assert prompt.complains(*command) == "warner: there is no file nope.csv\n"


def test_counts_are_whole_numbers_in_any_spelling(prompt: Prompt) -> None:
    (prompt.folder / "r.csv").write_text("answer,n\nnever,1e+05\nonce,3.0\noften,1.5e3\n")  # as R and pandas write them
    counted = json.loads(prompt.prints("tally", "r.csv", "-c", "answer", "--counts", "n", "-d", "survey.json"))
    assert counted["counts"] == [100_000, 3, 1_500]


@pytest.mark.parametrize("bad", ["99999999999999999999999", "1.5", "-3", "1_000", "9007199254740993", "nan"])
@pytest.mark.parametrize("command", ["estimate", "regress", "associate"])
def test_counts_that_are_none_are_shown(prompt: Prompt, command: str, bad: str) -> None:
    (prompt.folder / "r.csv").write_text(f"answer,x,n\nnever,1,2\nonce,2,{bad}\nonce,1,3\n")
    words = {
        "estimate": ("r.csv", "-c", "answer", "-d", "survey.json"),
        "regress": ("r.csv", "answer ~ x", "-d", "survey.json"),
        "associate": ("r.csv", "answer=survey.json", "x=survey.json", "--unknown", "drop"),
    }
    complaint = prompt.complains(command, *words[command], "--counts", "n")
    assert f"counts must be whole numbers from 0 to 2^53, but 1 is not: {bad}" in complaint


def test_weights_that_are_none_are_shown(prompt: Prompt) -> None:
    (prompt.folder / "r.csv").write_text("answer,w\nnever,1\nonce,-2.5\nonce,\n")
    complaint = prompt.complains("estimate", "r.csv", "-c", "answer", "--weights", "w", "-d", "survey.json")
    assert "but 2 are negative, missing or infinite: -2.5, a missing value" in complaint


def test_separators_of_thousands_are_not_taken_for_decimal_commas(prompt: Prompt) -> None:
    (prompt.folder / "r.csv").write_text("answer;w\nnever;1,5\nonce;1.000,5\n")
    given = ("estimate", "r.csv", "-c", "answer", "--weights", "w", "-d", "survey.json")
    assert "has '1.000,5'; write them without separators of thousands" in prompt.complains(*given, "--decimal", ",")
    assert "has '1,5'; give --decimal , for decimal commas" in prompt.complains(*given)


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "md"])
def test_a_folder_that_cannot_be_written_to_is_not_blamed_on_a_hidden_file(prompt: Prompt, ending: str) -> None:
    said = prompt.complains(*ESTIMATE, "-o", f"/proc/e.{ending}")  # where no file can be created
    assert said.startswith(f"warner: /proc/e.{ending}: ")
    assert ".part" not in said


def test_a_design_in_another_encoding_is_told_in_our_words(prompt: Prompt) -> None:
    path = prompt.folder / "survey.json"
    path.write_text(path.read_text(), encoding="utf-16")
    for command in (("show", "survey.json"), ESTIMATE):
        assert "survey.json must be a text file in UTF-8, but is in another encoding" in prompt.complains(*command)


@pytest.mark.parametrize(
    "arguments",
    [
        (*ESTIMATE, "--target", LONG),
        (*ESTIMATE, "--rows", LONG),
        (*ESTIMATE, "--by", LONG),
        (*ESTIMATE, "--compare", LONG),
        (*ESTIMATE, "--encoding", LONG),
        (*ESTIMATE, "-o", LONG),
        ("show", LONG),
        ("estimate", LONG, "-d", "survey.json"),
        ("estimate", "long.csv", "-d", "survey.json"),
        ("estimate", "reports.csv", "-c", LONG, "-d", "survey.json"),
        ("design", LONG, f"{LONG} b", "--epsilon", LONG),
        ("design", LONG, "p=3"),
        ("regress", "reports.csv", f"answer ~ {LONG}", "-d", "survey.json"),
        ("plan", "--size", "3", "--epsilon", "1", "--people", LONG),
        (LONG,),
    ],
)
def test_no_message_repeats_a_very_long_value(prompt: Prompt, arguments: tuple[str, ...]) -> None:
    (prompt.folder / "long.csv").write_text(f"answer\n{LONG}\n")
    said = prompt.complains(*arguments)
    assert len(said) < 2_000


def test_what_is_said_beside_the_result_is_cut_as_well(prompt: Prompt) -> None:
    (prompt.folder / "long.csv").write_text(f"answer\n{LONG}\nnever\nonce\n")
    _, said = prompt.notes("tally", "long.csv", "-d", "survey.json", "--unknown", "drop")
    assert "1 invalid value was left out" in said
    assert len(said) < 2_000


def test_every_command_reads_excel(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    header, *rows = ((prompt.folder / "reports.csv").read_text()).splitlines()
    sheets = {"Reports": [row(*header.split(",")), *(row(*line.split(",")) for line in rows)], "Notes": [row("note")]}
    workbook(prompt.folder / "reports.xlsx", sheets)
    for command in (
        (*ESTIMATE, "--by", "region"),
        CHECK,
        ("tally", *ESTIMATE[1:]),
        ("regress", "reports.csv", "answer ~ region", "-d", "survey.json"),
        ("associate", "reports.csv", "answer=survey.json", "region=region.json"),
    ):
        RandomizedResponse(["north", "south"], epsilon=1).save(prompt.folder / "region.json")
        _, expected, _ = prompt._run(command)
        words = [word.replace("reports.csv", "reports.xlsx") for word in command]
        assert "sheet must be given, because reports.xlsx has 2 sheets ('Reports', 'Notes')" in prompt.complains(*words)
        assert prompt._run((*words, "--sheet", "Reports"))[1] == expected
    read = ("randomize", "reports.xlsx", "--sheet", "Reports", "-c", "answer", "-d", "survey.json", "-o", "out.csv")
    assert "1,000 reports" in prompt.prints(*read)
    assert "must end in .csv" in prompt.complains(*read[:-1], "out.xlsx")
    assert "must end in .csv" in prompt.complains(*ESTIMATE, "-o", "out.xlsx")


def test_excel_comes_on_standard_input(folder: Path) -> None:
    path = workbook(folder / "x.xlsx", {"Data": [row("answer"), row("never"), row("once")]})
    with path.open("rb") as content:
        told = succeeds(folder, "estimate", "-", "--format", "xlsx", "-d", "survey.json", stdin=content)
    assert "2 reports" in told


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
@pytest.mark.parametrize("kilobytes", [500_000, 700_000, 900_000, 1_100_000, 1_300_000])
def test_too_little_address_space_is_told_and_no_crash(folder: Path, kilobytes: int) -> None:
    command = f'ulimit -v {kilobytes}; exec "$@"'
    done = subprocess.run(
        ["bash", "-c", command, "-", *COMMAND, *CHECK], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "reading files needs 1.5 GB of address space, but this process may take" in done.stderr


def test_a_design_saved_with_a_byte_order_mark_is_read_and_an_empty_one_is_called_empty(prompt: Prompt) -> None:
    path = prompt.folder / "survey.json"
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8-sig")  # as Notepad on Windows may save it
    assert "never" in prompt.prints("show", "survey.json")
    path.write_text("\n")
    assert "design must be JSON as warner writes it, but this file is empty" in prompt.complains("show", "survey.json")


def test_answers_in_another_encoding_are_told_with_the_remedy_and_without_the_answers(prompt: Prompt) -> None:
    (prompt.folder / "latin.csv").write_bytes("answer\nhö\n".encode("cp1252"))
    given = ("randomize", "latin.csv", "-c", "answer", "-d", "survey.json", "-o", "x.csv")
    assert prompt.complains(*given) == (
        "warner: latin.csv cannot be read: line 2 is not UTF-8; give its encoding, as --encoding cp1252\n"
    )
    (prompt.folder / "latin.csv").write_bytes(b"answer,size\nnever,1,secret\n")
    assert "secret" not in prompt.complains(*given)


@pytest.mark.parametrize("weight", ["1e308", "1e160"])  # the sum, or the sum of squares, is beyond all doubles
def test_huge_weights_are_one_clear_line(prompt: Prompt, weight: str) -> None:
    (prompt.folder / "r.csv").write_text(f"answer,w\nnever,{weight}\nonce,{weight}\noften,1\n")
    complaint = prompt.complains("estimate", "r.csv", "-c", "answer", "--weights", "w", "-d", "survey.json")
    assert complaint.startswith("warner: --weights must be small enough for a finite sum of squares; divide")


@pytest.mark.parametrize("command", ["estimate", "tally", "check", "groups"])
def test_reports_are_not_grouped_by_themselves(prompt: Prompt, command: str) -> None:
    complaint = prompt.complains(command, "reports.csv", "-c", "answer", "--by", "answer", "-d", "survey.json")
    assert complaint.startswith("warner: --by must not name the column of reports, 'answer': ")
