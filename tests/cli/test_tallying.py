"""`warner tally`: counting, saving and merging; and saved tallies in the place of reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cli.shell import COUNTS, ESTIMATE, SURVEY, fails, succeeds
from warner import Pool, RandomizedResponse, Tally, tally

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt

TALLY = ("tally", "reports.csv", "--column", "answer", "--design", "survey.json")


@pytest.fixture
def halves(prompt: Prompt) -> Prompt:
    """Return a shell in a folder with two files of 500 reports each, and a design."""
    header, *rows = (prompt.folder / "reports.csv").read_text().splitlines()
    for name, part in (("one.csv", rows[::2]), ("two.csv", rows[1::2])):
        (prompt.folder / name).write_text("\n".join([header, *part]) + "\n")
    return prompt


def test_tallies_are_counted_saved_and_merged(halves: Prompt) -> None:
    folder = halves.folder
    said = halves.prints("tally", "one.csv", "-c", "answer", "-d", "survey.json", "-o", "one.json")
    assert said.startswith("one.json: <Tally of 500 reports among 3 answers: 260 'never'")
    halves.prints("tally", "two.csv", "-c", "answer", "-d", "survey.json", "-o", "two.json")
    halves.prints("tally", "one.json", "two.json", "-o", "all.json")
    assert Tally.load(folder / "all.json") == Tally(SURVEY, list(COUNTS.values()))
    # Printed where there is no file to write, and several files at once give the same.
    printed = halves.prints("tally", "one.csv", "two.csv", "-c", "answer", "-d", "survey.json")
    assert printed == (folder / "all.json").read_text()
    # A saved tally is taken wherever reports are.
    for command in (("estimate", "--json"), ("check", "--json"), ("estimate", "--method", "auto")):
        asked = (command[0], "reports.csv", "-c", "answer", "-d", "survey.json", *command[1:])
        assert halves.prints(command[0], "all.json", *command[1:]) == halves.prints(*asked)
    assert halves.prints("estimate", "one.json", "two.json") == halves.prints("estimate", "all.json")
    plan = ("plan", "--half-width", "0.05", "-d", "survey.json", "--json", "--pilot")
    assert halves.prints(*plan, "all.json") == halves.prints(*plan, "reports.csv", "-c", "answer")


def test_saved_tallies_roll_up_and_are_filtered(halves: Prompt) -> None:
    folder = halves.folder
    for name in ("one", "two"):
        halves.prints("tally", f"{name}.csv", *TALLY[2:], "--by", "region", "-o", f"{name}.json")
    halves.prints(*TALLY, "--by", "region", "-o", "by.json")
    halves.prints("tally", "one.json", "two.json", "--by", "region", "-o", "both.json")
    assert Tally.load(folder / "both.json") == Tally.load(folder / "by.json")
    region = Tally.load(folder / "by.json").groups[0][0]
    halves.prints(*TALLY, "--by", "region", "--where", f"region={region}", "-o", "once.json")
    halves.prints("tally", "one.json", "two.json", "--where", f"region={region}", "-o", "rolled.json")
    assert Tally.load(folder / "rolled.json") == Tally.load(folder / "once.json")
    # The same where reports are: estimates of one region from saved tallies.
    asked = ("--where", f"region={region}", "--by", "region", "--json")
    assert halves.prints("estimate", "one.json", "two.json", *asked) == halves.prints(*ESTIMATE, *asked)
    assert "--by must name groups of the tally, but one.json is grouped by region, not by year" in fails(
        folder, "tally", "one.json", "--by", "year"
    )
    assert "must be one of the tally's values" in fails(folder, "estimate", "one.json", "--where", "region=nowhere")


def test_a_tally_says_what_it_left_out(halves: Prompt) -> None:
    (halves.folder / "odd.csv").write_text("answer\nnever\nNever\n99\n")
    asked = ("tally", "odd.csv", "-d", "survey.json", "--unknown", "drop")
    printed, said = halves.notes(*asked)
    assert json.loads(printed)["unknown"] == 2
    assert "2 invalid values were left out: 'Never' (which differs from 'never' only in case)" in said
    assert halves.prints(*asked, "--quiet") == printed
    assert halves.notes(*asked, "-o", "odd.json")[1] == said


def test_a_saved_tally_can_be_regressed_on_its_groups(halves: Prompt) -> None:
    halves.prints(*TALLY, "--by", "region", "-o", "by.json")
    formula = ("answer ~ region", "--model", "linear", "--json")
    from_reports = json.loads(halves.prints("regress", "reports.csv", *formula, "-d", "survey.json"))["coefficients"]
    from_tally = json.loads(halves.prints("regress", "by.json", *formula))["coefficients"]
    assert [row["term"] for row in from_tally] == [row["term"] for row in from_reports]
    estimates = [[row["estimate"] for row in rows] for rows in (from_tally, from_reports)]
    assert estimates[0] == pytest.approx(estimates[1], rel=1e-9)


def test_a_tally_goes_through_a_pipe(folder: Path) -> None:
    printed = succeeds(folder, *TALLY)
    assert Tally.from_json(printed) == tally(folder / "reports.csv", SURVEY, column="answer")
    assert succeeds(folder, "estimate", "-", input=printed) == succeeds(folder, "estimate", *TALLY[1:])


def test_tallies_of_two_designs_make_a_pool(halves: Prompt) -> None:
    Tally(SURVEY, [5, 3, 2]).save(halves.folder / "a.json")
    Tally(RandomizedResponse(SURVEY.domain, epsilon=2), [6, 3, 1]).save(halves.folder / "b.json")
    assert "<Pool of 20 reports of 2 designs" in halves.prints("tally", "a.json", "b.json", "-o", "pool.json")
    assert isinstance(Tally.load(halves.folder / "pool.json"), Pool)
    assert "from 20 reports" in halves.prints("estimate", "pool.json")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("estimate", "t.json", "reports.csv", "-d", "survey.json"), "tallies and reports must not be mixed"),
        (("estimate", "t.json", "t.json"), "counted twice"),
        (("estimate", "t.json", "-c", "answer"), "--column must be left out for t.json, a tally"),
        (("estimate", "t.json", "--by", "region"), "t.json has no groups"),
        (("estimate", "t.json", "--domain", "never,once,often", "--epsilon", "2"), "must be the one that is given"),
        (("estimate", "t.json", "--epsilon", "2"), "--odds must be left out for t.json, a tally, which has its own"),
        (("tally", "t.json", "-o", "t.json"), "would be lost"),
        (("tally", "r*.csv", "-c", "answer", "-d", "survey.json", "-o", "reports.csv"), "would be lost"),
        (("tally", "damaged.json"), "this tally is damaged"),
        (("estimate", "survey.json", "-d", "survey.json"), "survey.json must hold reports, but is a warner design"),
        (("estimate", "s3://bucket/r.parquet", "-d", "survey.json"), "is not on this machine"),
        (("estimate", "https://example.org/r.csv", "-d", "survey.json"), "is not on this machine"),
        (("estimate", "reports.csv", "--table", "t", "-d", "survey.json"), "is not a DuckDB or SQLite file"),
        (("estimate", "reports.csv", "reports.csv", "-c", "answer", "-d", "survey.json"), "counted twice"),
    ],
)
def test_bad_tallies_are_one_clear_line(prompt: Prompt, arguments: tuple[str, ...], complaint: str) -> None:
    counted = Tally(SURVEY, [5, 3, 2])
    counted.save(prompt.folder / "t.json")
    (prompt.folder / "damaged.json").write_text(counted.to_json().replace('"missing": 0', '"missing": "none"'))
    assert complaint in prompt.complains(*arguments)


@pytest.mark.filterwarnings("ignore:.*(infer_string|fetch_arrow_table):DeprecationWarning")  # Ibis
def test_databases_are_known_by_their_first_bytes(prompt: Prompt) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("ibis")
    with duckdb.connect(str(prompt.folder / "x.duckdb")) as database:
        database.sql("CREATE TABLE reports AS SELECT * FROM (VALUES ('never', 7), ('often', 3)) t(answer, n)")
    asked = ("tally", "x.duckdb", "--table", "reports", "-c", "answer", "--counts", "n", "-d", "survey.json")
    assert json.loads(succeeds(prompt.folder, *asked))["counts"] == [7, 0, 3]
    complaint = prompt.complains("tally", "x.duckdb", "-d", "survey.json")
    assert "x.duckdb is a DuckDB database; open it in Python first, or name a table of it with --table" in complaint


def test_shards_add_up_with_sum() -> None:
    shards = [Tally(SURVEY, [1, 2, 3]), Tally(SURVEY, [4, 5, 6]), Tally(SURVEY, [7, 8, 9])]
    assert sum(shards) == Tally(SURVEY, [12, 15, 18])
    for strange in (1, 0.0, False, None):
        with pytest.raises(TypeError):
            strange + shards[0]


def test_reports_may_come_through_a_pipe(folder: Path) -> None:
    arguments = ("tally", "reports.csv", "--column", "answer", "--design", "survey.json")
    whole = succeeds(folder, *arguments)
    with (folder / "reports.csv").open("rb") as file:
        assert succeeds(folder, "tally", "-", *arguments[2:], stdin=file) == whole


def test_a_tally_replaces_no_other_tally_unless_it_is_told_to(folder: Path) -> None:
    counted = ("tally", "reports.csv", "--column", "answer", "--design", "survey.json", "-o", "day.json")
    succeeds(folder, *counted)
    first = (folder / "day.json").read_bytes()
    succeeds(folder, *counted)  # the same counts, as a job that is repeated has them
    (folder / "reports.csv").write_text("answer,region\nnever,north\n")
    assert "day.json already exists with other contents; give another file, or --force" in fails(folder, *counted)
    assert (folder / "day.json").read_bytes() == first
    succeeds(folder, *counted, "--force")
    assert (folder / "day.json").read_bytes() != first
