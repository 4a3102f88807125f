"""`warner groups`: the numbers of the library in every form, covariates from a file, one line for every mistake."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from cli.shell import fails, succeeds
from warner import Memoized, RandomizedResponse, estimate_groups, tally

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt

SURVEY = RandomizedResponse(["yes", "no"], truth="3/4")
YES = {"A": 38, "B": 45, "C": 52, "D": 41, "E": 60, "F": 47}
GROUPS = ("groups", "reports.csv", "--column", "answer", "--design", "survey.json", "--by", "region")
WEEKS = (*GROUPS[:-1], "week")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a design, 600 reports of six regions and weeks, and covariates of the regions."""
    SURVEY.save(tmp_path / "survey.json")
    Memoized.response(["yes", "no"], eps_infinity=2, eps_first=1).save(tmp_path / "memoized.json")
    lines = ["region,week,answer"]
    for week, (region, yes) in enumerate(YES.items(), 1):
        lines += [f"{region},{week},{'yes' if i < yes else 'no'}" for i in range(100)]
    (tmp_path / "reports.csv").write_text("\n".join(lines) + "\n")
    income = [
        f"{region},{10 * place + place**2},{place % 2},x,{place**3},{place == 3:d},{place**4}"
        for place, region in enumerate(YES)
    ]
    (tmp_path / "regions.csv").write_text("\n".join(["region,income,rural,note,a,b,c", *income]) + "\n")
    return tmp_path


def test_groups_gives_the_numbers_of_the_library_in_every_form(folder: Path) -> None:
    together = estimate_groups(tally(folder / "reports.csv", SURVEY, column="answer", by="region"))
    assert succeeds(folder, *GROUPS) == together.text() + "\n"
    said = succeeds(folder, *GROUPS, "--json", "--kind", "each", "--level", "0.9", "-o", "groups.json")
    assert said == together.to_json(kind="each", level=0.9) + "\n"
    assert (folder / "groups.json").read_text() == said
    csv = succeeds(folder, *GROUPS, "--csv")
    assert csv.splitlines()[0] == "region,value,reports,share,se,low,high,own"


def test_rows_bound_the_groups(folder: Path) -> None:
    table = succeeds(folder, *GROUPS, "--rows", "2").splitlines()
    assert [line[0] for line in table[2:4]] == ["A", "B"]
    assert table[4] == "... and 4 more groups."
    assert succeeds(folder, *GROUPS[:-1], "week", "--rows", "1").splitlines()[3] == "... and 5 more groups."


def test_means_of_groups_are_those_of_the_library(folder: Path) -> None:
    together = estimate_groups(tally(folder / "reports.csv", SURVEY, column="answer", by="region"))
    mean = together.mean({"yes": 3, "no": 1})
    asked = (*GROUPS, "--mean", "--values", "yes=3,no=1")
    assert json.loads(succeeds(folder, *asked, "--json"))["mean"] == mean.to_dict()
    assert mean.text() in succeeds(folder, *asked)
    head, first, *_ = succeeds(folder, *asked, "--csv").splitlines()
    assert head == "region,quantity,of,value,se,low,high,level,target,interval,approximate"
    assert first.startswith(f"A,mean,,{mean.value[0]},{mean.se[0]},")
    assert "--values needs --mean" in fails(folder, *GROUPS, "--values", "yes=3,no=1")
    assert "answers must be numbers" in fails(folder, *GROUPS, "--mean")


def test_groups_draws_and_writes_pages_and_papers(folder: Path) -> None:
    succeeds(folder, *GROUPS, "--plot", "g.svg", "--report", "g.html", "-o", "g.md", "--title", "Regions")
    assert "Regions" in (folder / "g.html").read_text()
    assert "on average over the groups" in (folder / "g.md").read_text()
    assert (folder / "g.svg").stat().st_size > 1000


def test_covariates_come_from_a_file(folder: Path) -> None:
    counted = tally(folder / "reports.csv", SURVEY, column="answer", by="region")
    covariates = {"region": list(YES), "income": [10 * i + i**2 for i in range(6)]}
    said = succeeds(folder, *GROUPS, "--on", "regions.csv:income", "--json")
    assert json.loads(said) == json.loads(estimate_groups(counted, on=covariates).to_json())
    with gzip.open(folder / "regions.csv.gz", "wt") as packed:  # through the loader of reports
        packed.write((folder / "regions.csv").read_text())
    assert succeeds(folder, *GROUPS, "--on", "regions.csv.gz:income", "--json") == said
    assert json.loads(succeeds(folder, *GROUPS, "--on", "regions.csv:income,rural", "--json"))["on"] == [
        "income",
        "rural",
    ]


def test_a_trend_from_the_shell(folder: Path) -> None:
    weeks = tally(folder / "reports.csv", SURVEY, column="answer", by="week")
    assert succeeds(folder, *WEEKS, "--along", "week") == estimate_groups(weeks, along="week").text() + "\n"


def test_one_group_says_that_there_is_nothing_to_pool(folder: Path) -> None:
    (folder / "one.csv").write_text("region,answer\n" + "A,yes\n" * 45 + "A,no\n" * 55)
    said = succeeds(folder, "groups", "one.csv", *GROUPS[2:])
    assert said.splitlines()[2].split()[:5] == ["A", "yes", "100", "100", "40.0"]
    assert said.endswith("Warning: there is one group with reports, and nothing to pool: its share is its own.\n")


def test_estimate_points_to_it_where_it_is_closer(folder: Path) -> None:
    said = succeeds(folder, "estimate", *GROUPS[1:])
    assert said.endswith("% of each share from the other groups\n")
    assert said.splitlines()[-1].startswith("`warner groups` is probably more accurate: it would take ")
    assert "warner groups" not in succeeds(folder, "estimate", *GROUPS[1:-2])
    assert "warner groups" not in succeeds(folder, "estimate", *GROUPS[1:], "--csv")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (GROUPS[:-2], "--by must name the column"),
        ((*GROUPS, "--kind", "all"), "kind must be 'average' or 'each'"),
        ((*GROUPS, "--level", "95"), "level must be between 0 and 1"),
        ((*GROUPS, "--along", "week"), "--along must name groups, as 'region' does, but got 'week'"),
        ((*GROUPS, "--along", "region"), "no order that can be read"),
        ((*GROUPS, "--on", "regions.csv:income,rural,a,b,c"), "--on must have fewer covariates than there are groups"),
        ((*WEEKS[:5], "memoized.json", "--by", "week", "--along", "week"), "--along must be left out for a memoized"),
        ((*GROUPS, "--on", "nowhere.csv"), "--on must be FILE:COLUMN"),
        ((*GROUPS, "--on", "regions.csv:incom"), "there is no column 'incom'; did you mean 'income'?"),
        ((*GROUPS, "--on", "regions.csv:note"), "'note' holds texts"),
        ((*GROUPS, "--on", "survey.json:income"), "survey.json must hold"),
        ((*GROUPS, "--on", "regions.csv:income", "-o", "regions.csv"), "would be lost"),
        ((*GROUPS, "--plot", "p.png", "--answer", "maybe"), "must be in the domain"),
        ((*GROUPS, "--answer", "yess"), "but got 'yess'; did you mean 'yes'?"),
        ((*WEEKS, "--along", "week", "--kind", "each", "--plot", "p.png"), "along an order"),
    ],
)
def test_mistakes_are_one_line(prompt: Prompt, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in prompt.complains(*arguments)


def test_a_mistake_leaves_no_file(folder: Path) -> None:
    assert "kind must be" in fails(folder, *GROUPS, "--kind", "all", "-o", "g.csv", "--plot", "g.png")
