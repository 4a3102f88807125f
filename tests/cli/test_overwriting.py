"""No command replaces what it reads, nor one of its outputs by another.

It tests cli/delivering.py.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from cli.shell import COUNTS, ESTIMATE, SURVEY, fails, succeeds
from collecting_cases import open_survey
from warner import Tally
from warner.service.stores.contract import Contents, save
from warner.service.survey import load_survey

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt

DESIGN = ("--design", "survey.json")
READ = ("reports.csv", "--column", "answer", *DESIGN)
LOST = "would be lost"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    SURVEY.save(tmp_path / "survey.json")
    rows = "".join(f"{answer}\n" * number for answer, number in COUNTS.items())
    (tmp_path / "reports.csv").write_text(f"answer\n{rows}")
    (tmp_path / "labels.json").write_text("yes\nno\n")
    os.link(tmp_path / "survey.json", tmp_path / "other.json")
    (tmp_path / "linked.json").symlink_to("survey.json")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("randomize", *READ, "-o", "survey.json"),
            "--output must not be survey.json, which is the design",
        ),
        (("randomize", *READ, "-o", "./linked.json"), LOST),
        (("randomize", *READ, "-o", "other.json"), LOST),
        (
            ("estimate", *READ, "-o", "reports.csv"),
            "--output must not be reports.csv, which is the reports",
        ),
        (("estimate", *READ, "--report", "survey.json"), "--report must not be survey.json, which is the design"),
        (("estimate", *READ, "--plot", "linked.json"), LOST),
        (("estimate", *READ, "-o", "x.csv", "--report", "x.csv"), "--output and --report must be different files"),
        (("check", *READ, "-o", "survey.json"), LOST),
        (("plan", *DESIGN, "--people", "100", "-o", "survey.json"), LOST),
        (
            ("plan", *DESIGN, "--people", "100", "--plot", "p.png", "--mechanism-plot", "p.png"),
            "must be different files",
        ),
        (("audit", "cat", *DESIGN, "-o", "survey.json"), LOST),
        (("design", "--domain-file", "labels.json", "--epsilon", "1", "-o", "labels.json"), LOST),
        (("randomize", *READ, "--keep", "answer"), "must not name the column of answers, 'answer'"),
    ],
)
def test_an_input_is_never_overwritten(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    before = {file: file.read_bytes() for file in folder.iterdir()}
    assert words in fails(folder, *arguments)
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


def test_a_column_is_carried_along_once(folder: Path) -> None:
    (folder / "two.csv").write_text("answer,region\nnever,north\n")
    twice = fails(folder, "randomize", "two.csv", "-c", "answer", *DESIGN, "--keep", "region", "--keep", "region")
    assert "must name each column once" in twice
    succeeds(folder, "randomize", "two.csv", "-c", "answer", *DESIGN, "--keep", "region", "-o", "fine.csv")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("tally", *READ, "-o", "linked.json"), "the design"),
        (("tally", "one.json", "two.json", "-o", "two.json"), "the reports"),
        (("compare", "one.json", "two.json", "--answer", "never", "-o", "two.json"), "the second tally"),
        (("regress", "reports.csv", "answer ~ 1", *DESIGN, "-o", "survey.json"), "the design"),
        (("regress", "reports.csv", "answer ~ 1", *DESIGN, "--plot", "reports.csv"), "the reports"),
        (("associate", "reports.csv", "answer=survey.json", "x=other.json", "-o", "other.json"), "the design of"),
        (("randomize", *READ, "--memo", "memo.json", "-o", "memo.json"), "the memo"),
        (("plan", *DESIGN, "--people", "9", "--pilot", "one.json", "-o", "one.json"), "the pilot"),
        (("estimate", "*.csv", *READ[1:], "-o", "reports.csv"), "the reports"),
        (("estimate", "data", *READ[1:], "--report", "data/reports.csv"), "the reports"),
        (("collect", "survey.json", "--page", "survey.json", "--url", "https://example.org"), "the survey"),
    ],
)
def test_every_command_spares_its_inputs(
    folder: Path, prompt: Prompt, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], what: str
) -> None:
    monkeypatch.chdir(folder)
    for name in ("one", "two"):
        Tally(SURVEY, list(COUNTS.values())).save(folder / f"{name}.json")
    if arguments[0] == "collect":
        (folder / "survey.json").write_text(json.dumps(open_survey((SURVEY,))))
    (folder / "data").mkdir()
    (folder / "data" / "reports.csv").write_bytes((folder / "reports.csv").read_bytes())
    before = {file: file.read_bytes() for file in folder.rglob("*.*")}
    said = prompt.complains(*arguments)
    assert f"which is {what}" in said
    assert LOST in said
    assert {file: file.read_bytes() for file in folder.rglob("*.*")} == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("design", "yes", "no", "--epsilon", "1"),
        ("design", "yes", "no", "--epsilon", "1", "--force"),
        ("tally", *READ),
        ("check", *READ),
    ],
)
def test_no_command_replaces_a_survey_whatever_it_is_told(prompt: Prompt, arguments: tuple[str, ...]) -> None:
    asked, collected = prompt.folder / "asked.json", prompt.folder / "collected.json"
    asked.write_text(json.dumps(open_survey((SURVEY,))))
    save(collected, Contents(load_survey(asked)))
    for file, held in ((asked, "a survey"), (collected, "responses to a survey")):
        before = file.read_bytes()
        said = prompt.complains(*arguments, "-o", file.name)
        assert f"--output must not be {file.name}, which holds {held} and would be lost; give another file" in said
        assert "--force" not in said
        assert file.read_bytes() == before


def test_what_would_be_replaced_by_a_design_is_named(prompt: Prompt) -> None:
    Tally(SURVEY, list(COUNTS.values())).save(prompt.folder / "one.json")
    said = prompt.complains("design", "yes", "no", "--epsilon", "1", "-o", "one.json")
    assert "one.json holds another document, a tally; give another file, or --force" in said


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ((*ESTIMATE, "-o"), "--output"),
        ((*ESTIMATE, "--report"), "--report"),
        (("check", *READ, "-o"), "--output"),
        (("plan", "--size", "3", "--epsilon", "1", "--people", "100", "-o"), "--output"),
    ],
)
def test_results_replace_no_design_and_no_tally(prompt: Prompt, arguments: tuple[str, ...], option: str) -> None:
    Tally(SURVEY, list(COUNTS.values())).save(prompt.folder / "monday.json")
    SURVEY.save(prompt.folder / "kept.json")
    for name, held in (("monday", "a saved tally"), ("kept", "a saved design")):
        before = (prompt.folder / f"{name}.json").read_bytes()
        said = prompt.complains(*arguments, f"{name}.json")
        assert f"{option} must not be {name}.json, which holds {held} and would be lost; give another file" in said
        assert (prompt.folder / f"{name}.json").read_bytes() == before
    (prompt.folder / "earlier.json").write_text('{"format": "warner estimate"}')
    prompt.prints(*arguments, "earlier.json" if option == "--output" else "earlier.html")  # a result, computed again


def test_results_replace_tables_of_results_only(prompt: Prompt) -> None:
    answers = prompt.folder / "answers.csv"
    answers.write_text("name,answer\nAnn,never\n")
    said = prompt.complains(*ESTIMATE, "-o", "answers.csv")
    assert "--output must not be answers.csv, which holds other data than a result of warner and would be lost" in said
    assert answers.read_text() == "name,answer\nAnn,never\n"
    answers.write_text("")
    reports = prompt.folder / "reports.csv"
    reports.write_text("answer,age\n" + "never,20\nonce,30\noften,40\n" * 50)
    regress = ("regress", "reports.csv", "answer ~ 1", *DESIGN)
    for arguments in (
        ESTIMATE,
        (*ESTIMATE, "--mean", "--values", "never=0,once=1,often=2"),
        ESTIMATE,
        regress,
        ESTIMATE,
    ):
        prompt.prints(*arguments, "-o", "answers.csv")  # an earlier result is replaced
