"""Split questionnaires and questions with several answers in the shell: the answers of Python, in every step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import warner
from cli.shell import fails, succeeds
from warner.estimation import estimated

if TYPE_CHECKING:
    from pathlib import Path

SPLIT = ("--question", "smokes=yes,no", "--question", "drinks=never, once,often", "--epsilon", "2")
# All shares are 1/3 or more: a warning of a misfit, which the shell would print, has a probability below 1e-4.
ANSWERS = "smokes,region,drinks\n" + "yes,n,never\nno,s,often\nno,n,once\n" * 40


@pytest.fixture
def health(folder: Path) -> warner.SplitQuestionnaire:
    succeeds(folder, "design", "split", *SPLIT, "-o", "split.json")
    (folder / "answers.csv").write_text(ANSWERS)
    design: warner.SplitQuestionnaire = warner.load_design(folder / "split.json")
    return design


def test_designs_are_those_of_python(folder: Path, health: warner.SplitQuestionnaire) -> None:
    questions = {"smokes": ["yes", "no"], "drinks": ["never", "once", "often"]}
    assert health == warner.SplitQuestionnaire(questions, 2)
    assert (
        succeeds(folder, "design", "split", *SPLIT, "--ask", "2")
        == warner.SplitQuestionnaire(questions, 2, 2).to_json() + "\n"
    )
    drinks = ("design", "select-all", "beer", "wine", "tea", "--epsilon", "1")
    assert succeeds(folder, *drinks) == warner.SelectAll(["beer", "wine", "tea"], 1).to_json() + "\n"
    assert (
        succeeds(folder, *drinks, "--at-most", "2") == warner.SelectAll(["beer", "wine", "tea"], 1, 2).to_json() + "\n"
    )
    assert "Joint distributions are lost: no respondent" in succeeds(folder, "show", "split.json")
    # Without --question, "split" may be an answer.
    assert json.loads(succeeds(folder, "design", "split", "whole", "--epsilon", "1"))["domain"] == ["split", "whole"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_from_answers_to_shares(folder: Path, health: warner.SplitQuestionnaire, ending: str) -> None:
    reports = f"reports.{ending}"
    succeeds(folder, "randomize", "answers.csv", "-d", "split.json", "--keep", "region", "-o", reports, "--force")
    every = [warner.tally(folder / reports, health, column=name) for name in health.questions]
    assert sum(one.n for one in every) == 120 == every[0].n + every[0].missing
    command = ("estimate", reports, "-d", "split.json", "--column", "drinks", "--json")
    assert json.loads(succeeds(folder, *command)) == estimated(every[1]).to_dict()
    succeeds(folder, "tally", reports, "-d", "split.json", "-c", "smokes", "--by", "region", "-o", "tally.json")
    assert warner.Tally.load(folder / "tally.json").groups == (("n",), ("s",))
    assert "smokes ~ region" in succeeds(folder, "regress", reports, "smokes ~ region", "-d", "split.json")
    several = ("associate", reports, "smokes=split.json", "drinks=split.json")
    assert "a report to every question, but there is none" in fails(folder, *several)


@pytest.mark.parametrize("more", [(), ("--at-most", "2")])
def test_options_are_one_table(folder: Path, more: tuple[str, ...]) -> None:
    succeeds(folder, "design", "select-all", "beer", "wine", "tea", "--epsilon", "30", *more, "-o", "options.json")
    (folder / "answers.csv").write_text("tea,beer,wine\n" + "no,yes,yes\nno,yes,no\n" * 200)
    succeeds(folder, "randomize", "answers.csv", "-d", "options.json", "-o", "reports.csv", "--force")
    rows = json.loads(succeeds(folder, "estimate", "reports.csv", "-d", "options.json", "--json"))["values"]
    shares = {row["group"]["option"]: row["share"] for row in rows if row["value"] == "yes"}
    # Noise is negligible at epsilon 30; with at most 2, an option is drawn with probability 1/2 or 1/3 at least.
    assert shares["tea"] == pytest.approx(0, abs=0.01)
    assert shares["beer"] == pytest.approx(1, abs=0.35)  # 6 standard errors of 2 Bin(400, 1/2) / 400: 1e-9
    assert shares["wine"] == pytest.approx(0.5, abs=0.3)
    assert "fit the design in all 3 groups" in succeeds(folder, "check", "reports.csv", "-d", "options.json")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["design", "split", "--epsilon", "1"], "questions must be two or more, but got 0"),
        (["design", "split", *SPLIT[:4]], "split needs --epsilon"),
        (["design", "split", *SPLIT, "--ask", "3"], "--ask must be a whole number from 1 to 2, but got 3"),
        (["design", "split", *SPLIT, "--question", "smokes=a,b"], "smokes must be given once"),
        (["design", "split", *SPLIT, "--question", "sex"], "--question must be NAME=ANSWERS"),
        (["design", "split", *SPLIT, "--best"], "--best must be left out for split"),
        (["design", "select-all", "a", "b", "--epsilon", "1", "--at-most", "2"], "--at-most must be a whole number"),
        (["design", "select-all", "a", "b", "--epsilon", "1", "--ask", "1"], "--ask must be left out for select-all"),
        (["design", "never", "often", "--epsilon", "1", "--at-most", "2"], "--at-most must be left out for a single"),
        (["estimate", "answers.csv", "-d", "split.json"], "--column must be given, one of 'smokes', 'drinks'"),
        (["estimate", "answers.csv", "-d", "split.json", "-c", "smokes"], "at most 1 of 2 questions in a row"),
        (
            ["randomize", "answers.csv", "-d", "split.json", "-c", "smokes", "-o", "x"],
            "must be left out for several questions",
        ),
        (["randomize", "bad.csv", "-d", "split.json", "-o", "x.csv"], "column 'drinks' must hold answers .* in row 2 "),
        (["randomize", "short.csv", "-d", "split.json", "-o", "x.csv"], "there is no column 'drinks'"),
        (["randomize", "answers.csv", "-d", "split.json", "--keep", "drinks", "-o", "x.csv"], "keep must not name"),
        (
            ["randomize", "whole.csv", "-d", "limit.json", "--keep", "report", "-o", "x.csv"],
            "keep must not name 'report'",
        ),
        (["audit", "cat", "-d", "split.json", "--answers", "yes"], "has several questions; give the design of one"),
        (["randomize", "answers.csv", "-d", "split.json", "--lines"], "has several questions"),
    ],
)
@pytest.mark.usefixtures("health")
def test_bad_input(folder: Path, words: list[str], message: str) -> None:
    import re

    (folder / "bad.csv").write_text("smokes,drinks\nno,once\nyes,secret\n")
    (folder / "short.csv").write_text("smokes\nno\nyes\n")
    (folder / "whole.csv").write_text("beer,wine,tea,report\nno,no,yes,secret\n")
    (folder / "limit.json").write_text(warner.SelectAll(["beer", "wine", "tea"], 1, 2).to_json())
    said = fails(folder, *words)
    assert re.search(message, said), said
    assert "secret" not in said
    assert not (folder / "x.csv").exists()
