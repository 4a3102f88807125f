"""The command as a user meets it: run in a process of its own."""

from __future__ import annotations

import csv
import gzip
import inspect
import io
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from warner import Channel, RandomizedResponse, check, estimate, plan, surveys, tally

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("typer", reason="the command line is an extra, and not installed")

SURVEY = RandomizedResponse(["never", "once", "often"], epsilon=1)
COUNTS = {"never": 520, "once": 285, "often": 195}
COMMAND = [sys.executable, "-m", "warner"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a design and a file of 1,000 reports."""
    SURVEY.save(tmp_path / "survey.json")
    reports = [answer for answer, times in COUNTS.items() for _ in range(times)]
    rows = [f"{i},{answer},{'north' if i % 2 else 'south'},{1 + i % 3}" for i, answer in enumerate(reports)]
    (tmp_path / "reports.csv").write_text("\n".join(["id,answer,region,weight", *rows]) + "\n")
    return tmp_path


def run(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=100, **options
    )


def succeeds(folder: Path, *arguments: str, **options: Any) -> str:
    done = run(folder, *arguments, **options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def fails(folder: Path, *arguments: str, code: int = 2, **options: Any) -> str:
    """Run what must fail: one clear line, no traceback, nothing new on disk."""
    before = sorted(folder.iterdir())
    done = run(folder, *arguments, **options)
    assert done.returncode == code
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("warner: ")
    assert sorted(folder.iterdir()) == before
    return done.stderr


ESTIMATE = ("estimate", "reports.csv", "--column", "answer", "--design", "survey.json")


def test_design_and_show(tmp_path: Path) -> None:
    said = succeeds(tmp_path, "design", "never", "once", "often", "--epsilon", "1", "-o", "survey.json")
    assert "epsilon 1" in said
    assert RandomizedResponse.load(tmp_path / "survey.json") == SURVEY
    shown = succeeds(tmp_path, "show", "survey.json")
    assert "with probability 0.5761" in shown
    assert "epsilon 1." in shown
    printed = succeeds(tmp_path, "design", "--size", "1000", "--odds", "9:1")
    assert RandomizedResponse.from_json(printed) == RandomizedResponse(1000, odds=(9, 1))
    (tmp_path / "labels.txt").write_text("7\n-3\n", encoding="utf-8")
    printed = succeeds(tmp_path, "design", "--domain-file", "labels.txt", "--integers", "--truth", "3/4")
    assert RandomizedResponse.from_json(printed) == RandomizedResponse([7, -3], truth="3/4")


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("--warner", "1/6"), surveys.warner("1/6")),
        (("--forced-response", "truth=3/4,yes=1/6"), surveys.forced_response(truth="3/4", yes="1/6")),
        (
            ("--forced-response", "truth=7/10, a=1/10, b=1/5"),
            surveys.forced_response(truth="7/10", forced={"a": "1/10", "b": "1/5"}),
        ),
        (("user", "other", "--kuk", "r1=0.6,r2=0.2,draws=5"), surveys.kuk(0.6, 0.2, 5, answers=("user", "other"))),
        (("--mangat-singh", "truth=0.55,p=0.7"), surveys.mangat_singh(0.55, 0.7)),
        (("--unrelated-question", "p=1/2,prevalence=1/12"), surveys.unrelated_question(p="1/2", prevalence="1/12")),
        (("--crosswise", "p=1/4"), surveys.crosswise("1/4")),
    ],
)
def test_survey_designs_have_options_of_their_names(
    tmp_path: Path, arguments: tuple[str, ...], wanted: Channel
) -> None:
    printed = Channel.from_json(succeeds(tmp_path, "design", *arguments))
    assert printed == wanted
    assert printed.procedure == wanted.procedure


def test_every_survey_design_has_an_option(folder: Path) -> None:
    told = succeeds(folder, "design", "--help", env={**os.environ, "COLUMNS": "200"})
    made = [name for name, value in vars(surveys).items() if inspect.isfunction(value) and not name.startswith("_")]
    for name in set(made) - {"probability"}:
        assert f"--{name.replace('_', '-')} " in told


def test_a_survey_from_its_card_to_its_reports(tmp_path: Path) -> None:
    succeeds(tmp_path, "design", "--crosswise", "1/4", "-o", "survey.json")
    assert "For the respondent: Think of two questions" in succeeds(tmp_path, "show", "survey.json")
    (tmp_path / "answers.csv").write_text("answer\n" + "yes\n" * 50 + "no\n" * 50)
    said = succeeds(tmp_path, "randomize", "answers.csv", "-d", "survey.json", "-o", "reports.csv")
    assert "100 reports, epsilon 1.099 each" in said
    reports = (tmp_path / "reports.csv").read_text().split("\n")[1:-1]
    assert set(reports) == {"same", "differ"}


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
        assert f"{100 * share:6.2f}%  {100 * low:6.2f} to {100 * high:6.2f} %" in text
    assert "1,000 reports" in text
    assert "\x1b" not in text  # no colour where nobody watches


def test_groups_weights_methods_and_rows(folder: Path) -> None:
    text = succeeds(folder, *ESTIMATE, "--by", "region", "--weights", "weight", "--method", "inv_p", "--top", "4")
    assert "2 groups by region" in text
    assert "(inv_p)" in text
    assert "... and 2 more" in text
    document = json.loads(succeeds(folder, *ESTIMATE, "--by", "region", "--weights", "weight", "--json"))
    found = estimate(tally(folder / "reports.csv", SURVEY, column="answer", by="region", weights="weight"))
    assert [row["share"] for row in document["values"]] == found.table()["share"].tolist()
    assert document["values"][0]["group"] == {"region": "north"}


def test_questions_are_answered_below_the_table_and_in_json(folder: Path) -> None:
    asked = ("--compare", "never,once", "--compare", "once, often", "--top-certain", "1", "--present")
    text = succeeds(folder, *ESTIMATE, *asked, "--simultaneous", "--level", "0.9")
    found = estimate(tally(folder / "reports.csv", SURVEY, column="answer"))
    assert found.text(level=0.9, simultaneous=True) in text
    assert "90 % simultaneous interval (population)" in text
    for part in (
        found.compare("never", "once", level=0.9),
        found.compare("once", "often", level=0.9),
        found.top(1, level=0.9),
        found.present(alpha=1 - 0.9),
    ):
        assert f"\n\n{part.text()}" in text
    document = json.loads(succeeds(folder, *ESTIMATE, *asked, "--target", "realised", "--json"))
    assert document["target"] == "realised"
    assert document["comparisons"][1] == found.compare("once", "often", target="realised").to_dict()
    assert document["top"] == found.top(1, target="realised").to_dict()
    assert document["present"]["found"] == found.present().to_dict()["found"]


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
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "\nwarning: the reports do not seem to fit the design" in done.stdout


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


# Randomizing


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "jsonl", "tsv"])
def test_randomize_carries_along_only_what_is_asked_for(folder: Path, ending: str) -> None:
    honest = RandomizedResponse(["never", "once", "often"], odds=(1, 0))
    honest.save(folder / "honest.json")
    target = f"out.{ending}"
    options = ("randomize", "reports.csv", "-c", "answer", "-d", "honest.json", "-o", target)
    assert "1,000 reports, epsilon inf each" in succeeds(folder, *options, "--keep", "region")
    counted = tally(folder / target, honest, column="answer", by="region")
    assert counted.counts.sum(axis=0).tolist() == list(COUNTS.values())
    assert counted.groups == (("north",), ("south",))
    succeeds(folder, *options)
    assert tally(folder / target, honest).reports == 1000  # the only column there is


def test_randomize_follows_the_design(folder: Path) -> None:
    people = 20_000
    (folder / "many.csv").write_text("v\n" + "once\n" * people)
    succeeds(folder, "randomize", "many.csv", "-d", "survey.json", "-o", "out.parquet")
    counts = tally(folder / "out.parquet", SURVEY).counts
    chance = np.array([SURVEY.q, SURVEY.p, SURVEY.q])
    # Six standard errors: a false alarm in about 10^8 runs
    assert (np.abs(counts - people * chance) <= 6 * np.sqrt(people * chance * (1 - chance))).all()


def test_randomize_from_and_to_a_pipe(folder: Path) -> None:
    RandomizedResponse([1, 2], odds=(1, 0)).save(folder / "honest.json")
    out = succeeds(
        folder, "randomize", "-", "-c", "v", "--keep", "k", "-d", "honest.json", input="k,v,x\na,1,s\nb,2,s\n"
    )
    assert out == "v,k\n1,a\n2,b\n"


@pytest.mark.parametrize("secret", ["hiv-positive", ""])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_wrong_answer_is_named_by_its_row_and_nothing_is_written(folder: Path, secret: str, ending: str) -> None:
    (folder / "answers.csv").write_text("id,v\n" + "1,never\n" * 70_000 + f"2,{secret}\n1,once\n")
    options = ("randomize", "answers.csv", "-c", "v", "-d", "survey.json", "-o", f"out.{ending}")
    said = fails(folder, *options)
    assert "in row 70,001 it is missing or not in it; nothing was written" in said
    assert "hiv" not in said
    piped = (folder / "answers.csv").read_text()
    assert "hiv" not in fails(folder, "randomize", "-", *options[2:], input=piped)


@pytest.mark.parametrize("source", ["-", "plain.csv"])
@pytest.mark.parametrize("content", ["never\nonce\n", "alice,never\nbob,once\n"])
def test_a_file_without_a_header_does_not_give_away_its_first_person(folder: Path, source: str, content: str) -> None:
    (folder / "plain.csv").write_text(content)
    for column in ((), ("-c", "answer")):
        said = fails(folder, "randomize", source, "-d", "survey.json", *column, input=content)
        assert "the first line must name the columns" in said
        assert "never" not in said
        assert "alice" not in said


def test_files_whose_columns_differ_are_not_mixed(folder: Path) -> None:
    (folder / "a.csv").write_text("q1,q2\nnever,once\n")
    (folder / "b.csv").write_text("q2,q1\nonce,never\n")
    options = ("-c", "q1", "-d", "survey.json")
    assert "must have the same columns" in fails(folder, "randomize", "[ab].csv", *options, "--keep", "q2")
    assert "must have the same columns" in fails(folder, "estimate", "[ab].csv", *options)


@pytest.mark.parametrize("content", ["\ufeffk,v\r\nä,1\r\n\r\nb,2\r\n", "k;v\nä;1\nb;2\n", "k\tv\nä\t1\nb\t2\n"])
def test_randomize_reads_a_pipe_as_it_reads_a_file(folder: Path, content: str) -> None:
    RandomizedResponse([1, 2], odds=(1, 0)).save(folder / "honest.json")
    (folder / "answers.csv").write_text(content, encoding="utf-8", newline="")
    options = ("-c", "v", "--keep", "k", "-d", "honest.json")
    piped = succeeds(folder, "randomize", "-", *options, input=content, encoding="utf-8")
    assert piped == "v,k\n1,ä\n2,b\n"
    assert succeeds(folder, "randomize", "answers.csv", *options, encoding="utf-8") == piped


def test_what_was_printed_before_a_wrong_answer_is_disowned(folder: Path) -> None:
    answers = "v\n" + "never\n" * 70_000 + "foo\n"
    done = run(folder, "randomize", "-", "-d", "survey.json", input=answers)
    assert done.returncode == 2
    assert "in row 70,001" in done.stderr
    assert "what was printed is not to be used" in done.stderr


def test_kept_columns_have_the_types_of_their_source(folder: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n = 70_000
    notes = pa.array([None] * (n - 1) + ["late"], type=pa.string())
    table = pa.table({"v": ["never"] * n, "note": notes, "small": pa.array([1] * n, type=pa.uint8())})
    pq.write_table(table, folder / "answers.parquet")
    options = ("-c", "v", "--keep", "note", "--keep", "small", "-d", "survey.json", "-o", "out.parquet")
    succeeds(folder, "randomize", "answers.parquet", *options)
    written = pq.read_table(folder / "out.parquet")
    assert written.schema.types == [pa.string(), pa.string(), pa.uint8()]
    assert written["note"].to_pylist()[-1] == "late"


def test_a_device_is_written_to_not_replaced(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    with subprocess.Popen(["cat", folder / "pipe.csv"], stdout=subprocess.PIPE, text=True) as reader:
        succeeds(folder, *ESTIMATE, "-o", "pipe.csv")
        assert reader.communicate()[0].startswith("value,reports")
    assert (folder / "pipe.csv").is_fifo()


def test_interrupting_leaves_nothing_under_the_final_name(folder: Path) -> None:
    options = ["randomize", "-", "-c", "v", "-d", "survey.json", "-o", "out.csv"]
    with subprocess.Popen(
        [*COMMAND, *options], cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("v\n" + "never\n" * 200_000)
        process.stdin.flush()
        while not list(folder.glob(".out.csv.*.part")):  # until it is in the middle of writing
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == "warner: interrupted; nothing was written\n"
    assert not list(folder.glob("*out.csv*"))
    assert not list(folder.glob(".out.csv*"))


def test_a_killed_randomize_leaves_nothing_under_the_final_name(folder: Path) -> None:
    options = ["randomize", "-", "-c", "v", "-d", "survey.json", "-o", "out.csv"]
    with subprocess.Popen([*COMMAND, *options], cwd=folder, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write("v\n" + "never\n" * 200_000)
        process.stdin.flush()
        while not list(folder.glob(".out.csv.*.part")):
            time.sleep(0.05)
        process.kill()
    assert not (folder / "out.csv").exists()


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_running_out_of_room(folder: Path, ending: str) -> None:
    wide = RandomizedResponse([f"answer number {i}" for i in range(3000)], epsilon=1)
    wide.save(folder / "wide.json")
    (folder / "answers.csv").write_text("v\n" + "".join(f"answer number {i % 3000}\n" for i in range(100_000)))
    options = ("randomize", "answers.csv", "-d", "wide.json", "-o", f"out.{ending}")
    assert "File too large" in fails(folder, *options, preexec_fn=_small_files)


# Bad input


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("estimate", "nope.csv", "-d", "survey.json"), "there is no file nope.csv"),
        (("estimate", "reports.csv", "-d", "survey.json", "-c", "anwser"), "did you mean 'answer'?"),
        (("estimate", "reports.csv", "-d", "survey.json"), "column must be given unless there is just one"),
        (("estimate", "reports.csv", "-c", "answer"), "the possible answers must be known beforehand"),
        (("estimate", "reports.csv", "-c", "answer", "-d", "nope.json"), "nope.json"),
        (("estimate", "reports.csv", "-c", "answer", "-d", "reports.csv"), "reports.csv: a design must be JSON"),
        (("estimate", "reports.csv", "-c", "answer", "-d", "survey.json", "--epsilon", "1"), "not both"),
        ((*ESTIMATE, "--method", "bayes"), "one of mle, inv, inv_n, inv_p, ibu"),
        ((*ESTIMATE, "--target", "everyone"), "target must be one of population, realised"),
        ((*ESTIMATE, "--compare", "once"), "--compare must name two answers, as a,b, but got 'once'"),
        ((*ESTIMATE, "--compare", "once,twice"), "must be in the domain"),
        ((*ESTIMATE, "--compare", "once,once"), "two different answers"),
        ((*ESTIMATE, "--between", "north,south"), "--between needs --compare"),
        ((*ESTIMATE, "--compare", "once", "--between", "north"), "--between must name two groups"),
        ((*ESTIMATE, "--compare", "once", "--between", "north,south"), "between needs groups"),
        ((*ESTIMATE, "--top-certain", "3"), "k must be a whole number from 1 to 2"),
        ((*ESTIMATE, "--level", "95"), "level must be between 0 and 1"),
        ((*ESTIMATE, "--unknown", "ignore"), '"error" or "drop"'),
        ((*ESTIMATE, "-o", "e.xlsx"), "must end in .csv, .json or .parquet"),
        ((*ESTIMATE, "-o", "nowhere/e.csv"), "No such file or directory: 'nowhere/e.csv'"),
        (("estimate", ".", "-d", "survey.json"), "is a folder"),
        (("estimate", "empty.csv", "-d", "survey.json"), "empty.csv is empty"),
        (("estimate", "header.csv", "-d", "survey.json"), "at least one report, but there is none"),
        (("estimate", "binary.csv", "-d", "survey.json"), "is not a CSV file"),
        (("estimate", "latin.csv", "-d", "survey.json"), "cannot be read"),
        (("estimate", "colons.csv", "-d", "survey.json", "-c", "answer"), "The columns are: 'id:answer'"),
        (("design", "a", "b"), "exactly one of epsilon, truth, redraw and odds"),
        (("design", "--warner", "1/2"), "p must be such that reports carry information, but with p = 1/2"),
        (("design", "--warner", "p=1/6,p=1/6"), "--warner must be given as p=..., each name once"),
        (("design", "--kuk", "0.6"), "--kuk must be given as r1=...,r2=...,draws=..., each name once, but got '0.6'"),
        (("design", "--kuk", "r1=0.6,r2=0.2"), "--kuk must be given as r1=...,r2=...,draws=..., but got"),
        (("design", "--kuk", "r1=0.6,r2=0.2,draws=x"), "draws must be a whole number from 1 to 300, but got 'x'"),
        (("design", "--forced-response", "yes=1/6"), "or truth=... and a probability for each of at least two answers"),
        (("design", "--warner", "1/6", "--epsilon", "1"), "--warner makes a whole design, so it must stand alone"),
        (("design", "--warner", "1/6", "--mangat", "1/6"), "so it must stand alone, but got --warner, --mangat"),
        (("design", "a", "b", "c", "--warner", "1/6"), "answers must be two labels"),
        (("design", "--epsilon", "1"), "in one way (labels, --domain-file or --size), but got none"),
        (("design", "a", "a", "--epsilon", "1"), "distinct labels"),
        (("design", "a", "b", "--epsilon", "0"), "epsilon must be positive"),
        (("design", "a", "b", "--integers", "--epsilon", "1"), "invalid literal"),
        (("show", "reports.csv"), "a design must be JSON"),
        (("randomize", "reports.csv", "-c", "answer", "-d", "survey.json", "-o", "out.xlsx"), "must end in .csv"),
        (("randomize", "reports.csv", "-c", "answer", "-d", "survey.json", "-o", "./reports.csv"), "would be lost"),
        (("randomize", "empty.csv", "-d", "survey.json", "-o", "out.csv"), "is empty"),
        (("randomize", "header.csv", "-d", "survey.json", "-o", "out.csv"), "holds no answers"),
        (
            ("randomize", "reports.csv", "-c", "answer", "--keep", "q", "-d", "survey.json", "-o", "o.csv"),
            "no column 'q'",
        ),
        ((*ESTIMATE, "--json", "--csv"), "--json or --csv, not both"),
        ((*ESTIMATE, "--top", "0"), "--top"),
        (("estimate", "-", "-d", "survey.json", "--format", "xls"), "--format must be csv, tsv, parquet or jsonl"),
        (("estimate", "sqlite:///nowhere.db", "--table", "t", "-d", "survey.json"), "no database file /nowhere.db"),
        (("estimate", "broken.csv.gz", "-d", "survey.json"), "broken.csv.gz"),
        (("frobnicate",), "No such command 'frobnicate'"),
        (("estimate",), "Missing argument"),
        ((*ESTIMATE, "--nonsense"), "No such option"),
    ],
)
def test_bad_input_is_one_clear_line(folder: Path, arguments: tuple[str, ...], complaint: str) -> None:
    (folder / "empty.csv").write_bytes(b"")
    (folder / "header.csv").write_text("v\n")
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 20)
    (folder / "latin.csv").write_bytes("v\nnever\nä\n".encode("latin-1"))
    (folder / "broken.csv.gz").write_bytes(gzip.compress(b"v\nnever\n" * 9)[:15])
    (folder / "colons.csv").write_text("id:answer\n1:never\n")
    assert complaint in fails(folder, *arguments)


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


def test_a_missing_extra_is_one_line(folder: Path) -> None:
    code = "import sys; sys.modules['typer'] = None; from warner.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "warner: the command line needs typer: pip install 'warner[cli]'\n"


def test_help_has_an_example_in_every_command(folder: Path) -> None:
    wide = {**os.environ, "COLUMNS": "200"}
    overview = succeeds(folder, "--help", env=wide)
    for command in ("design", "show", "randomize", "estimate", "check"):
        assert command in overview
        assert f"Example: warner {command}" in succeeds(folder, command, "--help", env=wide)
    assert succeeds(folder, "--version").startswith("warner 0.")


CHECK = ("check", *ESTIMATE[1:])


def test_check_says_whether_reports_fit_by_its_exit_code(folder: Path) -> None:
    said = succeeds(folder, *CHECK, "--fakes", "10")
    assert said.startswith("The reports fit the design: p = ")
    assert "10 fakes among the reports" in said
    assert "What no such check can see" in said
    # The same reports, but with a design that claims to add more noise: answers below q are impossible.
    done = run(folder, "check", "reports.csv", "-c", "answer", "--domain", "never,once,often", "--epsilon", "0.2")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("The reports do not fit the design: p = ")
    assert "'often'" in done.stdout


def test_check_gives_the_numbers_of_the_library_in_every_form(folder: Path) -> None:
    options = (*CHECK, "--by", "region", "--weights", "weight", "--level", "0.9", "--simulations", "99")
    counted = tally(folder / "reports.csv", SURVEY, column="answer", by="region", weights="weight")
    found = check(counted, level=0.9, simulations=99)
    assert succeeds(folder, *options, "--json", "-o", "c.json") == found.to_json() + "\n"
    assert (folder / "c.json").read_text() == found.to_json() + "\n"
    assert succeeds(folder, *options, "-o", "c.txt") == found.text() + "\n"
    assert (folder / "c.txt").read_text() == found.text() + "\n"
    seeded = check(counted, level=0.9, simulations=99, rng=np.random.default_rng(7))
    assert succeeds(folder, *options, "--seed", "7", "--json") == seeded.to_json() + "\n"
    assert succeeds(folder, "check", "-", "-d", "survey.json", input="v\nnever\nonce\n").startswith("The reports fit")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((*CHECK, "--level", "95"), "level must be between 0 and 1"),
        ((*CHECK, "--fakes", "-1"), "fakes must be a whole number"),
        ((*CHECK, "--seed", "-1"), "--seed"),
        ((*CHECK, "-o", "check.csv"), "must end in .json or .txt"),
        (("check", "reports.csv", "-c", "answer", "--domain", "never,once,often", "--odds", "1:1"), "p != q"),
        (("check", "reports.csv", "-c", "answer", "--domain", "never,once", "--epsilon", "1"), "often"),
    ],
)
def test_bad_input_to_check_is_one_clear_line(folder: Path, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in fails(folder, *arguments)


def test_a_plan_in_every_form(folder: Path) -> None:
    made = plan(10, epsilon=1, half_width=0.02)
    asked = ("plan", "--size", "10", "--epsilon", "1", "--half-width", "0.02")
    assert succeeds(folder, *asked, "--grid") == f"{made.text()}\n\n{made.grid_text()}\n"
    assert succeeds(folder, *asked, "--json", "-o", "plan.json") == ""
    assert json.loads((folder / "plan.json").read_text()) == json.loads(made.to_json())
    (folder / "labels.txt").write_text("a\nb\n", encoding="utf-8")
    options = ("--people", "900", "--error", "0.05", "--share", "0.2", "--level", "0.9", "--power", "0.9")
    by_file = succeeds(folder, "plan", "--domain-file", "labels.txt", *options, "--simultaneous", "--delta", "1e-6")
    same = plan(["a", "b"], people=900, error=0.05, share=0.2, level=0.9, power=0.9, simultaneous=True, delta=1e-6)
    assert by_file == same.text() + "\n"


def test_a_plan_with_a_population_or_a_pilot(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    asked = ("plan", "--design", "survey.json", "--half-width", "0.05")
    piloted = succeeds(folder, *asked, "--pilot", "reports.csv", "--column", "answer", "--plot", "plan.svg")
    assert piloted == plan(pilot=tally(folder / "reports.csv", SURVEY, column="answer"), half_width=0.05).text() + "\n"
    assert "ε = 1" in (folder / "plan.svg").read_text()
    (folder / "expected.csv").write_text("value,count\nonce,3\noften,1\n")
    seeded = succeeds(folder, *asked, "--population", "expected.csv", "--seed", "3", "--json")
    assert json.loads(seeded)["population"] == [0, 0.75, 0.25]
    rng = np.random.default_rng(3)
    assert json.loads(seeded)["errors"] == plan(SURVEY, half_width=0.05, population=[0, 0.75, 0.25], rng=rng).errors


def test_a_plan_that_cannot_be(folder: Path) -> None:
    assert "at best" in fails(folder, "plan", "--size", "10", "--people", "50", "--half-width", "0.02")
    assert "one way" in fails(folder, "plan", "--size", "3", "--design", "survey.json", "--people", "50")
    assert "--pilot needs --design" in fails(
        folder, "plan", "--size", "3", "--people", "50", "--pilot", "reports.csv", "--epsilon", "1"
    )
    assert "must end in .png" in fails(
        folder, "plan", "--size", "3", "--people", "50", "--epsilon", "1", "--plot", "a.gif", "-o", "plan.txt"
    )
