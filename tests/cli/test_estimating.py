"""`warner estimate`: the numbers of the library in every form.

It tests cli/follow_ups.py as well.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sqlite3
import subprocess
from typing import TYPE_CHECKING

import pytest

from cli.shell import COMMAND, COUNTS, ESTIMATE, SURVEY, Prompt, fails, run, succeeds
from warner import RandomizedResponse, SubsetSelection, estimate, surveys, tally

if TYPE_CHECKING:
    from pathlib import Path


def test_the_same_numbers_in_every_form(folder: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    table = estimate(tally(folder / "reports.csv", SURVEY, column="answer")).table(level=0.9)
    expected = {name: column.tolist() for name, column in table.items()}
    forms = (*ESTIMATE, "--level", "0.9")
    succeeds(folder, *forms, "-o", "e.csv")
    succeeds(folder, *forms, "-o", "e.json")
    succeeds(folder, *forms, "-o", "e.parquet")
    assert pq.read_table(folder / "e.parquet").to_pydict() == expected
    printed = succeeds(folder, *forms, "--csv")
    assert printed == (folder / "e.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [row["value"] for row in rows] == expected["value"]
    for name in ("share", "low", "high"):
        assert [float(row[name]) for row in rows] == expected[name]
    document = json.loads(succeeds(folder, *forms, "--json"))
    assert document == json.loads((folder / "e.json").read_text())
    assert [row["share"] for row in document["values"]] == expected["share"]
    text = succeeds(folder, *forms)
    for share, low, high in zip(expected["share"], expected["low"], expected["high"], strict=True):
        assert re.search(rf" {100 * share:.2f} +{100 * low:.2f} to {100 * high:.2f}\b", text)
    assert "1,000 reports" in text
    assert "\x1b" not in text  # no color without a terminal


def test_groups_weights_methods_and_rows(folder: Path) -> None:
    text = succeeds(folder, *ESTIMATE, "--by", "region", "--weights", "weight", "--method", "inv_p", "--rows", "2")
    assert "2 groups by region" in text.replace("\n", " ")
    assert "(inv_p)" in text
    rows = text[text.index("\nregion ") :].splitlines()[2:6]
    assert [line.split()[0] for line in rows] == ["north", "north", "south", "south"]
    assert "... and 1 more answer in each group" in text
    assert text == succeeds(
        folder, *ESTIMATE, "--by", "region", "--weights", "weight", "--method", "inv_p", "--rows", "2"
    )  # as it was once called
    document = json.loads(succeeds(folder, *ESTIMATE, "--by", "region", "--weights", "weight", "--json"))
    found = estimate(tally(folder / "reports.csv", SURVEY, column="answer", by="region", weights="weight"))
    assert [row["share"] for row in document["values"]] == found.table()["share"].tolist()
    assert document["values"][0]["group"] == {"region": "north"}


def test_weights_are_approximate_at_every_door_of_the_shell(folder: Path) -> None:
    outputs = ["--report", "page.html", "--plot", "picture.svg", "-o", "table.json"]
    text = succeeds(folder, *ESTIMATE, "--weights", "weight", *outputs)
    assert "approximate 95 % interval (population)" in text
    page = (folder / "page.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert "in about 95 % of the" in page
    assert "approximate: the level is about 95 %" in page
    assert "at least 95 %" not in page
    assert "approximate 95 % interval" in (folder / "picture.svg").read_text(encoding="utf-8")
    assert json.loads((folder / "table.json").read_text(encoding="utf-8"))["approximate"]


def test_questions_are_answered_below_the_table_and_in_json(folder: Path) -> None:
    asked = ("--compare", "never,once", "--compare", "once, often", "--commonest", "1", "--present")
    text = succeeds(folder, *ESTIMATE, *asked, "--simultaneous", "--level", "0.9")
    found = estimate(tally(folder / "reports.csv", SURVEY, column="answer"))
    assert found.text(level=0.9, simultaneous=True) in text
    assert "90 % simultaneous interval (population)" in text
    for part in (
        found.compare("never", "once", level=0.9),
        found.compare("once", "often", level=0.9),
        found.commonest(1, level=0.9),
        found.present(level=0.9),
    ):
        assert f"\n\n{part.text()}" in text
    document = json.loads(succeeds(folder, *ESTIMATE, *asked, "--target", "realised", "--json"))
    assert document["target"] == "realised"
    assert document["comparisons"][1] == found.compare("once", "often", target="realised").to_dict()
    assert document["top"] == found.commonest(1, target="realised").to_dict()
    assert document["present"]["found"] == found.present().to_dict()["found"]


def test_intervals_that_hold_however_often_one_looks(folder: Path) -> None:
    found = estimate(tally(folder / "reports.csv", SURVEY, column="answer"))
    text = succeeds(folder, *ESTIMATE, "--anytime")
    assert found.text(anytime=True) in text
    assert "95 % any-time interval (population)" in text
    document = json.loads(succeeds(folder, *ESTIMATE, "--anytime", "--json"))
    assert (document["anytime"], document["interval"]) == (True, "anytime")
    assert [row["high"] for row in document["values"]] == found.table(anytime=True)["high"].tolist()
    assert "anytime needs whole reports" in fails(folder, *ESTIMATE, "--anytime", "--weights", "weight")
    assert 'target must be "population"' in fails(folder, *ESTIMATE, "--anytime", "--target", "realised")


def test_groups_are_compared(folder: Path) -> None:
    options = (*ESTIMATE, "--by", "region", "--compare", "once", "--between", "north, south")
    found = estimate(tally(folder / "reports.csv", SURVEY, column="answer", by="region"))
    assert found.compare("once", between=("north", "south")).text() in succeeds(folder, *options)


def test_answers_that_hold_commas_are_compared(folder: Path) -> None:
    RandomizedResponse(["yes, often", "no", "no, never"], epsilon=1).save(folder / "commas.json")
    (folder / "commas.csv").write_text('v\n"yes, often"\nno\n"no, never"\n')
    text = succeeds(folder, "estimate", "commas.csv", "-d", "commas.json", "--compare", "yes, often,no, never")
    assert "'yes, often' against 'no, never'" in text


def test_a_misfit_is_warned_of_beside_what_programs_read(folder: Path) -> None:
    RandomizedResponse(["never", "once", "often"], odds=(1, 3)).save(folder / "wrong.json")
    command = [*COMMAND, *ESTIMATE[:-1], "wrong.json"]
    done = subprocess.run([*command, "--csv"], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("warner: warning: the reports do not seem to fit the design")
    assert "warning" not in done.stdout
    assert len(done.stderr.splitlines()) == 1
    done = subprocess.run([*command, "--json"], cwd=folder, capture_output=True, text=True, check=True)
    (warning,) = json.loads(done.stdout)["warnings"]
    assert done.stderr == f"warner: warning: {warning}\n"
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.count("Warning: the reports do not seem to fit the design") == 1


def test_auto_takes_a_seed(folder: Path) -> None:
    options = (*ESTIMATE, "--method", "auto", "--json")
    first = json.loads(succeeds(folder, *options))
    assert first == json.loads(succeeds(folder, *options))
    seeded = json.loads(succeeds(folder, *options, "--seed", "5"))
    assert seeded["choices"][0]["errors"] != first["choices"][0]["errors"]


def test_standard_input_and_a_domain_on_the_command_line(folder: Path) -> None:
    reports = (folder / "reports.csv").read_text()
    options = ("--domain", "never,once,often", "--epsilon", "1", "--column", "answer", "--csv")
    from_pipe = succeeds(folder, "estimate", "-", *options, input=reports)
    assert from_pipe == succeeds(folder, *ESTIMATE, "--csv")
    lines = "\n".join(json.dumps({"v": answer}) for answer, times in COUNTS.items() for _ in range(times))
    as_json = succeeds(folder, "estimate", "-", "--format", "jsonl", "-d", "survey.json", "--csv", input=lines)
    assert as_json == from_pipe


def test_ready_counts_and_unknown_values(folder: Path) -> None:
    (folder / "counts.csv").write_text("v,n\nnever,520\nonce,285\noften,195\nfoo,7\n,3\n")
    options = ("estimate", "counts.csv", "--counts", "n", "-c", "v", "-d", "survey.json")
    assert "7 are not: 'foo'" in fails(folder, *options)
    text = succeeds(folder, *options, "--unknown", "drop")
    assert "1,000 reports" in text
    assert "3 missing left out, 7 unknown left out" in text


@pytest.mark.filterwarnings("ignore:.*(infer_string|fetch_arrow_table):DeprecationWarning")  # Ibis
def test_a_database(folder: Path) -> None:
    pytest.importorskip("ibis", reason="databases are an extra, and not installed")
    with sqlite3.connect(folder / "survey.db") as database:
        database.execute("create table reports (answer text)")
        rows = [(answer,) for answer, times in COUNTS.items() for _ in range(times)]
        database.executemany("insert into reports values (?)", rows)
    database.close()
    url = f"sqlite://{folder / 'survey.db'}"
    from_database = succeeds(folder, "estimate", url, "--table", "reports", "-d", "survey.json", "--csv")
    assert from_database == succeeds(folder, *ESTIMATE, "--csv")
    assert "--table must name the table" in fails(folder, "estimate", url, "-d", "survey.json")
    assert "'nope' cannot be read from sqlite" in fails(folder, "estimate", url, "--table", "nope", "-d", "survey.json")


def test_a_device_is_written_to_not_replaced(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    with subprocess.Popen(["cat", folder / "pipe.csv"], stdout=subprocess.PIPE, text=True) as reader:
        succeeds(folder, *ESTIMATE, "-o", "pipe.csv")
        assert reader.communicate()[0].startswith("value,reports")
    assert (folder / "pipe.csv").is_fifo()


def test_a_closed_pipe_is_quiet(folder: Path) -> None:
    RandomizedResponse(50_000, epsilon=1).save(folder / "wide.json")
    (folder / "wide.csv").write_text("v\n1\n2\n")
    command = [*COMMAND, "estimate", "wide.csv", "-d", "wide.json", "--csv"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("value,")
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 0


# Of these 31 sets of two out of five answers, at odds 3 : 1, the most likely shares are exactly .9 and .1.
SUBSETS = {"c0": 9, "a0": 7, "90": 4, "88": 3, "60": 5, "50": 1, "28": 1, "18": 1}
MLE = ("--method", "mle", "--json", "-d", "sets.json")


def most_likely(printed: str) -> list[float]:
    return [round(value["share"], 6) for value in json.loads(printed)["values"]]


@pytest.fixture
def sets(folder: Path) -> Path:
    SubsetSelection(5, odds=(3, 1), size=2).save(folder / "sets.json")
    reports = [report for report, times in SUBSETS.items() for _ in range(times)]
    (folder / "sets.csv").write_text("v\n" + "\n".join(reports) + "\n")
    (folder / "counted.csv").write_text("v,n\n" + "".join(f"{report},{n}\n" for report, n in SUBSETS.items()))
    lines = [f'{{"v": "{report}", "g": {place}}}' for place in (1, 2) for report in reports]
    (folder / "twice.jsonl").write_text("\n".join(lines))
    return folder


def test_the_shell_keeps_the_reports_that_a_likelihood_needs(sets: Path, prompt: Prompt) -> None:
    assert sets == prompt.folder
    for source in (("sets.csv",), ("counted.csv", "-c", "v", "--counts", "n")):
        assert most_likely(prompt.prints("estimate", *source, *MLE)) == [0.9, 0.1, 0, 0, 0]
    grouped = prompt.prints("estimate", "twice.jsonl", *MLE, "-c", "v", "--by", "g")
    assert most_likely(grouped) == 2 * [0.9, 0.1, 0, 0, 0]
    inverted = prompt.prints("estimate", "sets.csv", "--json", "-d", "sets.json")
    assert json.loads(inverted)["method"] == "inv_p"
    assert most_likely(inverted) == [round(share, 6) for share in (55 / 62, 7 / 62, 0, 0, 0)]


def test_standard_input_is_there_until_all_passes_are_done(sets: Path, prompt: Prompt) -> None:
    prompt.monkeypatch.setattr("warner.reports.counting.HELD_BYTES", 0)  # read again at every pass
    prompt.monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((sets / "sets.csv").read_bytes())))
    assert most_likely(prompt.prints("estimate", "-", *MLE)) == [0.9, 0.1, 0, 0, 0]


def test_files_of_other_programs(folder: Path, prompt: Prompt) -> None:
    rows = [f"{i};{'never' if i % 3 else 'once'};{1 + i % 2},5;Zürich" for i in range(300)]
    rows += ["300;-99;1,0;Genève", "301;k. A.;1,0;Genève", "302;Never;1,0;Genève"]
    (folder / "excel.csv").write_bytes("\n".join(["id;answer;Gewicht;Région", *rows, ""]).encode("cp1252"))
    options = ("-c", "answer", "-d", "survey.json", "--weights", "Gewicht", "--decimal", ",", "--encoding", "cp1252")
    said = prompt.complains("estimate", "excel.csv", *options, "--missing", "-99,k. A.")
    assert "1 is not: 'Never' (which differs from 'never' only in case)" in said
    known = ("--missing", "-99", "--missing", "k. A.", "--unknown", "drop")
    text = prompt.prints("estimate", "excel.csv", *options, *known)
    assert "from 600.0 weighted reports" in text
    assert "2 missing left out, 1 unknown left out" in text.replace("\n", " ")
    assert "Warning: 1 invalid value was left out: 'Never' (which differs" in text
    assert "give --decimal , for decimal commas" in prompt.complains(
        "estimate", "excel.csv", *options[:6], *options[8:]
    )
    assert "--encoding cp1252" in prompt.complains("estimate", "excel.csv", *options[:4])
    (prompt.folder / "words.csv").write_text("answer,weight\nnever,heavy\n")
    words = ("estimate", "words.csv", "-c", "answer", "-d", "survey.json", "--weights", "weight")
    assert prompt.complains(*words).endswith("column 'weight' must hold numbers, but has 'heavy'\n")


def test_a_title_and_the_question_word_for_word(folder: Path, prompt: Prompt) -> None:
    title, wording = "Who drove?", "Have you ever, in 2024, driven after <drinking>?"
    prompt.prints(*ESTIMATE, "--report", "page.html", "--plot", "p.svg", "--title", title, "--wording", wording)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<h1>Who drove?</h1>" in page
    assert "Have you ever, in 2024, driven after &lt;drinking&gt;?" in page
    assert "Who drove?" in (folder / "p.svg").read_text(encoding="utf-8")


def test_tables_for_papers(folder: Path, prompt: Prompt) -> None:
    for ending, words in {
        ".md": "| never | 520 | 81.59 | 75.95 to 93.20 |",
        ".tex": r"never & 520 & 81.59 & 75.95 to 93.20 \\",
        ".html": '<td>never</td><td align="right">520</td>',
    }.items():
        prompt.prints(*ESTIMATE, "-o", f"table{ending}")
        assert words in (folder / f"table{ending}").read_text(encoding="utf-8")
    assert "answered in the printed table and in JSON only" in prompt.complains(*ESTIMATE, "--present", "-o", "x.md")


@pytest.mark.parametrize(
    ("first", "second", "given"),
    [
        ("Bern ", "x, y", ["Bern ,x, y"]),
        ("Bern ", "x, y", ["Bern ", "x, y"]),
        ("a, b", "c, d", ["a, b", "c, d"]),
        ("north", "south", ["north, south"]),
    ],
)
def test_groups_with_commas_and_spaces(folder: Path, prompt: Prompt, first: str, second: str, given: list[str]) -> None:
    rows = "".join(f'never,"{first}"\nonce,"{second}"\nnever,"{second}"\n' for _ in range(50))
    (folder / "groups.csv").write_text(f"answer,region\n{rows}")
    asked = [word for name in given for word in ("--between", name)]
    options = ("estimate", "groups.csv", "-c", "answer", "-d", "survey.json", "--by", "region", "--compare", "never")
    assert f"{first}" in prompt.prints(*options, *asked).split("\n\n")[-1]


def test_groups_that_cannot_be_told_apart(prompt: Prompt) -> None:
    options = (*ESTIMATE, "--by", "region", "--compare", "never")
    for asked in (["--between", "a,b,c"], ["--between", "a", "--between", "b", "--between", "c"], ["--between", "a"]):
        assert "--between must name two groups" in prompt.complains(*options, *asked)


def test_labels_like_formulas_are_written_as_they_are_and_warned_of(folder: Path) -> None:
    labels = ["=1+1", "@sum", "-x", "-5", "+", "plain"]
    RandomizedResponse(labels, odds=(3, 1)).save(folder / "formulas.json")
    with (folder / "formulas.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["answer"], *([label] for label in labels * 20)])
    asked = ("estimate", "formulas.csv", "-c", "answer", "-d", "formulas.json")
    done = run(folder, *asked, "--csv", "-o", "table.csv")
    assert done.returncode == 0
    assert "3 names begin like a formula ('=1+1')" in done.stderr
    # Read back as they are, by this program and by others, with numbers that are numbers.
    for text in (done.stdout, (folder / "table.csv").read_text(encoding="utf-8")):
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["value"] for row in rows] == labels
        assert all(float(row["share"]) >= 0 for row in rows)
    read = pytest.importorskip("pandas").read_csv(folder / "table.csv", dtype={"value": str})
    assert read["value"].tolist() == labels
    found = tally(folder / "table.csv", RandomizedResponse(labels, odds=(3, 1)), column="value", counts="reports")
    assert found.counts.tolist() == [20] * 6
    assert "formula" not in run(folder, *asked, "--json").stderr
    page = estimate(found).to_html()  # which Excel opens, too
    assert """<td style="mso-number-format:'\\@'">=1+1</td>""" in page


def test_several_designs_by_a_column(prompt: Prompt) -> None:
    surveys.direct(reports=["A", "B"]).save(prompt.folder / "direct.json")
    surveys.crosswise("1/4").save(prompt.folder / "crosswise.json")
    rows = ["same,c"] * 60 + ["differ,c"] * 40 + ["A,d"] * 10 + ["B,d"] * 90
    (prompt.folder / "both.csv").write_text("\n".join(["answer,version", *rows]) + "\n")
    given = ("both.csv", "-c", "answer", "--by", "version", "-d", "c=crosswise.json", "-d", "d=direct.json")
    pooled = tally(
        prompt.folder / "both.csv",
        {"c": surveys.crosswise("1/4"), "d": surveys.direct(reports=["A", "B"])},
        column="answer",
        by="version",
    )
    assert json.loads(prompt.prints("tally", *given)) == pooled.to_dict()
    shares = [row["share"] for row in csv.DictReader(io.StringIO(prompt.prints("estimate", *given, "--csv")))]
    assert list(map(float, shares)) == estimate(pooled).table()["share"].tolist()
    assert "Collection 2" in prompt._run(("check", *given))[1]
    one = prompt.prints("estimate", "both.csv", "-c", "answer", "-d", "direct.json", "--where", "version=d")
    assert "from 100 reports" in one
    assert "--design must be NAME=FILE" in prompt.complains(*("estimate", *given, "-d", "direct.json"))
    assert "by must be given with several designs" in prompt.complains("estimate", *given[:3], *given[5:])
    assert "--where must be COLUMN=VALUE" in prompt.complains("estimate", *given, "--where", "version")
