"""`warner randomize`: what is written, and that nothing is where something was wrong."""

from __future__ import annotations

import resource
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cli.shell import COMMAND, COUNTS, SURVEY, fails, launched, run, succeeds
from warner import RandomizedResponse, tally
from warner.designs import Memoized

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt


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
    first = (folder / target).read_bytes()
    said = fails(folder, *options)
    assert f"{target} already exists, and is not overwritten: a second draw" in said
    assert "--force" in said
    assert (folder / target).read_bytes() == first
    succeeds(folder, *options, "--force")
    assert tally(folder / target, honest).n == 1000  # the only column there is


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


def test_lines_in_lines_out_without_a_header(folder: Path, prompt: Prompt) -> None:
    RandomizedResponse(["ä, b", "never"], odds=(1, 0)).save(folder / "honest.json")
    answers = "never\nä, b\r\nnever"
    options = ("--lines", "-d", "honest.json")
    assert succeeds(folder, "randomize", "-", *options, input=answers) == "never\nä, b\nnever\n"
    (folder / "answers.txt").write_text(answers, encoding="utf-8", newline="")
    assert "3 reports" in prompt.prints("randomize", "answers.txt", *options, "-o", "out.txt")
    assert (folder / "out.txt").read_text(encoding="utf-8") == "never\nä, b\nnever\n"


def test_a_line_that_is_no_answer_is_named_by_its_number(folder: Path, prompt: Prompt) -> None:
    options = ("--lines", "-d", "survey.json", "-o", "out.txt")
    (folder / "answers.txt").write_text("never\n" * 70_000 + "hiv-positive\n")
    said = prompt.complains("randomize", "answers.txt", *options)
    assert "line 70,001 is not; nothing was written" in said
    assert "hiv" not in said
    (folder / "latin.txt").write_bytes(b"never\n\xe4\n")
    assert "not UTF-8" in prompt.complains("randomize", "latin.txt", *options)
    assert "--lines has no columns, no sheets, no memo and no other encoding" in prompt.complains(
        "randomize", "answers.txt", *options, "--keep", "region"
    )


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
    complaint = fails(folder, "randomize", "[ab].csv", *options, "--keep", "q2")
    assert "b.csv: columns must be those of a.csv, in the same order" in complaint
    assert "q1" not in complaint
    assert "b.csv: columns must be in the order of a.csv, q1, q2, but are q2, q1" in fails(
        folder, "estimate", "[ab].csv", *options
    )


@pytest.mark.parametrize("content", ["\ufeffk,v\r\nä,1\r\n\r\nb,2\r\n", "k;v\nä;1\nb;2\n", "k\tv\nä\t1\nb\t2\n"])
def test_randomize_reads_a_pipe_as_it_reads_a_file(folder: Path, content: str) -> None:
    RandomizedResponse([1, 2], odds=(1, 0)).save(folder / "honest.json")
    (folder / "answers.csv").write_text(content, encoding="utf-8", newline="")
    options = ("-c", "v", "--keep", "k", "-d", "honest.json")
    piped = succeeds(folder, "randomize", "-", *options, input=content)
    assert piped == "v,k\n1,ä\n2,b\n"
    assert succeeds(folder, "randomize", "answers.csv", *options) == piped


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
        assert process.stderr.read() == "warner: interrupted; no file is half-written\n"
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
    assert "File too large" in fails(folder, *options, how=launched, preexec_fn=_small_files)


def bare(folder: Path) -> None:
    """Write a design whose reports are the permanent responses, and a file of one person's answers."""
    first, second = (RandomizedResponse(["never", "once", "often"], odds=odds) for odds in ((3, 2), (1, 0)))
    Memoized(first, second).save(folder / "again.json")
    (folder / "mine.csv").write_text("day,answer\n1,once\n2,once\n3,often\n4,once\n")


SPENT = (  # 2 ln(3/2) = 0.81093...
    "me.json: epsilon 0.811, 0.4055 for each of 2 answers, against any other history with the same pattern of equal "
    "and different answers"
)
AGAIN = ("randomize", "mine.csv", "-c", "answer", "-d", "again.json", "--memo", "me.json")


def test_one_persons_answers_are_reported_from_the_same_permanent_responses(folder: Path) -> None:
    bare(folder)
    said = succeeds(folder, *AGAIN, "-o", "first.csv", "--keep", "day")
    assert said.splitlines() == [
        "me.json: a new memo; keep it for all later answers of this respondent",
        SPENT,
        "first.csv: 4 reports, all of one respondent",
    ]
    first = (folder / "first.csv").read_text().split()[1:]
    assert len({report.split(",")[0] for report in (first[0], first[1], first[3])}) == 1
    said = succeeds(folder, *AGAIN, "-o", "later.csv", "--keep", "day")
    assert "new memo" not in said
    assert (folder / "later.csv").read_text().split()[1:] == first
    # On standard output there are the reports alone.
    done = run(folder, *AGAIN)
    assert done.stdout.split()[1:] == [report.split(",")[0] for report in first]
    assert done.stderr == f"{SPENT}\n"


def test_a_memo_that_does_not_belong_there_is_refused(folder: Path) -> None:
    bare(folder)
    assert "only memoized designs need a memo" in fails(folder, *AGAIN, "-d", "survey.json")
    assert 'must say "format": "warner memo"' in fails(folder, *AGAIN, "--memo", "survey.json")
    assert "which is the memo and would be lost" in fails(folder, *AGAIN, "-o", "me.json")
    assert "must be JSON as warner writes it" in fails(folder, *AGAIN, "--memo", "mine.csv")
    assert "nowhere" in fails(folder, *AGAIN, "--memo", "nowhere/me.json")


def test_several_columns_in_one_option_are_told_apart(prompt: Prompt) -> None:
    (prompt.folder / "kept.csv").write_text("answer,region,age\nnever,north,30\n")
    given = ("randomize", "kept.csv", "-c", "answer", "-d", "survey.json", "-o", "x.csv", "--keep", "region,age")
    assert prompt.complains(*given) == (
        "warner: there is no column 'region,age' among the 3 columns; repeat the option for each of several columns\n"
    )
