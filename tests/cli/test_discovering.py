"""`warner discover` and the other commands on the way of an open domain (`open_domains`), in every form."""

from __future__ import annotations

import json
import sqlite3
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cli.shell import fails, succeeds
from warner import OpenDomain, OpenTally, discover, load_design, tally
from warner.results import as_csv

if TYPE_CHECKING:
    from pathlib import Path

WORDS = OpenDomain(epsilon=4, letters="a-z", length=6, step=3)


@pytest.fixture
def collected(folder: Path) -> Path:
    """Collect reports of 4,000 people, as the commands do."""
    rng = np.random.default_rng(1)
    answers = rng.choice(["the", "of", "and", "Größe"], p=[0.5, 0.2, 0.1, 0.2], size=4000).tolist()
    region = rng.choice(["n", "s"], size=4000).tolist()
    lines = [f"{answer},{place}" for answer, place in zip(answers, region, strict=True)]
    (folder / "answers.csv").write_text("\n".join(["word,region", *lines]) + "\n", encoding="utf-8")
    made = ("design", "open-domain", "--letters", "a-z", "--length", "6", "--step", "3", "--epsilon", "4")
    assert "words.json" in succeeds(folder, *made, "-o", "words.json")
    randomized = ("randomize", "answers.csv", "--column", "word", "--keep", "region", "--design", "words.json")
    assert "4,000 reports, epsilon 4 each" in succeeds(folder, *randomized, "-o", "reports.csv", "--force")
    (folder / "dictionary.txt").write_text("and\nnever\n")
    return folder


def test_a_walk_from_answers_to_what_was_found(collected: Path) -> None:
    assert load_design(collected / "words.json") == WORDS
    assert succeeds(collected, "show", "words.json").startswith(WORDS.in_words())
    counted = tally(collected / "reports.csv", WORDS, column="word")
    assert counted.n == 4000
    asked = ("discover", "reports.csv", "--column", "word", "--design", "words.json")
    found = discover(counted)
    assert {"the", "of", "(other)"} <= set(found.values)
    assert succeeds(collected, *asked) == f"{found.text()}\n"
    assert json.loads(succeeds(collected, *asked, "--json")) == json.loads(found.to_json())
    assert succeeds(collected, *asked, "--csv") == as_csv(found.table())
    succeeds(collected, *asked, "-o", "found.md")
    assert (collected / "found.md").read_text().startswith(found.to_markdown()[:20])
    drawn = ("--plot", "found.png", "--report", "found.html", "--title", "Words", "--wording", "Which word?")
    assert succeeds(collected, *asked, *drawn) == f"{found.text()}\n"
    assert (collected / "found.png").read_bytes().startswith(b"\x89PNG")
    page = (collected / "found.html").read_text(encoding="utf-8")
    assert "<h1>Words</h1>" in page
    assert "<q>Which word?</q>" in page
    options = ("--expected", "dictionary.txt", "--above", "0.05", "--level", "0.9", "--by", "region", "--simultaneous")
    grouped = tally(collected / "reports.csv", WORDS, column="word", by="region")
    same = discover(grouped, expected=["and", "never"], above=0.05, level=0.9, simultaneous=True)
    assert succeeds(collected, *asked, *options) == f"{same.text()}\n"


def test_tallies_are_saved_added_up_and_searched(collected: Path) -> None:
    for region in "ns":
        asked = ("tally", "reports.csv", "--column", "word", "--design", "words.json", "--where", f"region={region}")
        succeeds(collected, *asked, "-o", f"{region}.json")
    both = OpenTally.load(collected / "n.json") + OpenTally.load(collected / "s.json")
    assert both == tally(collected / "reports.csv", WORDS, column="word")
    assert succeeds(collected, "discover", "n.json", "s.json") == f"{discover(both).text()}\n"
    succeeds(collected, "tally", "n.json", "s.json", "-o", "both.json")
    assert OpenTally.load(collected / "both.json") == both
    assert "--by must name groups of the tally, but n.json has no groups" in fails(
        collected, "discover", "n.json", "--by", "region"
    )


def test_saved_tallies_roll_up(collected: Path) -> None:
    counted = ("tally", "reports.csv", "--column", "word", "--design", "words.json")
    succeeds(collected, *counted, "--by", "region", "-o", "by.json")
    succeeds(collected, *counted, "-o", "all.json")
    succeeds(collected, *counted, "--where", "region=n", "-o", "n.json")
    by = OpenTally.load(collected / "by.json")
    assert by.aggregate() == OpenTally.load(collected / "all.json")
    assert by.filter(region="n").aggregate() == OpenTally.load(collected / "n.json")
    found = succeeds(collected, "discover", "by.json", "--where", "region=n", "--by", "region")
    assert found == f"{discover(by.filter(region='n'))}\n"


@pytest.mark.filterwarnings("ignore:.*(infer_string|fetch_arrow_table):DeprecationWarning")  # Ibis
def test_reports_may_stand_in_a_table_of_a_database(collected: Path) -> None:
    pytest.importorskip("ibis", reason="databases are an extra, and not installed")
    lines = (collected / "reports.csv").read_text().splitlines()[1:]
    with sqlite3.connect(collected / "reports.db") as database:
        database.execute("create table reports (word text, region text)")
        database.executemany("insert into reports values (?, ?)", (line.split(",") for line in lines))
    database.close()
    options = ("--column", "word", "--by", "region", "--design", "words.json", "--json")
    asked = ("discover", f"sqlite://{collected / 'reports.db'}", "--table", "reports", *options)
    assert succeeds(collected, *asked) == succeeds(collected, "discover", "reports.csv", *options)


def test_lines_are_randomized_one_by_one(collected: Path) -> None:
    (collected / "lines.txt").write_text("the\nfar too long\n")
    printed = succeeds(collected, "randomize", "lines.txt", "--lines", "--design", "words.json", "-o", "out.txt")
    assert "2 reports" in printed
    lines = (collected / "out.txt").read_text().splitlines()
    assert not WORDS.report_form.read(lines).status.any()
    (collected / "lines.txt").write_text("the\n\n")
    assert "line 2 is not" in fails(collected, "randomize", "lines.txt", "--lines", "--design", "words.json")


def test_numbers_are_read_as_numbers(folder: Path) -> None:
    succeeds(folder, "design", "open-domain", "--bits", "16", "--epsilon", "4", "-o", "apps.json")
    (folder / "apps.csv").write_text("app\n" + "40000\n" * 2000)
    succeeds(folder, "randomize", "apps.csv", "--design", "apps.json", "-o", "reports.csv", "--force")
    (folder / "known.txt").write_text("40000\n")
    sure = ("--level", "0.999999")  # reports are drawn anew each time, and one in a million surveys names another
    asked = ("discover", "reports.csv", "--design", "apps.json", "--expected", "known.txt", "--json", *sure)
    assert [row["value"] for row in json.loads(succeeds(folder, *asked))["values"]] == [40000]
    (folder / "known.txt").write_text("forty\n")
    assert "whole numbers" in fails(folder, *asked)
    (folder / "apps.csv").write_text("app\n70000\n")
    assert "in row 1" in fails(folder, "randomize", "apps.csv", "--design", "apps.json", "-o", "other.csv")


def test_what_cannot_be_is_one_clear_line(collected: Path) -> None:
    asked = ("reports.csv", "--column", "word", "--design", "words.json")
    modelled = ("regress", "reports.csv", "word ~ region", "--design", "words.json")
    related = ("associate", "reports.csv", "word=words.json", "region=words.json")
    for command in (("estimate", *asked), ("groups", *asked), modelled, related):
        said = fails(collected, *command)
        assert "words.json is an open domain, which has no list of answers: warner discover finds" in said
        assert "warner design ANSWER... --open words.json" in said
        assert said.count("\n") == 1
    assert "needs the --design of an open domain" in fails(collected, "discover", "reports.csv", "--column", "word")
    assert "level:direction:value" in fails(collected, "discover", "answers.csv", *asked[1:])
    assert "needs --letters" in fails(collected, "design", "open-domain", "--epsilon", "1")
    assert "No such option '--weights'" in fails(collected, "discover", *asked, "--weights", "region")
    listed = ("design", "open-domain", "yes", "no", "--bits", "8", "--epsilon", "1")
    assert "an open domain has no list of answers; leave them out" in fails(collected, *listed)
    number = ("design", "open-domain", "--bits", "8", "--epsilon", "1")
    for surplus in (["--odds", "3:1"], ["--size", "3"], ["--from", "1"], ["--best"], ["--domain-file", "answers.csv"]):
        assert "an open domain takes only" in fails(collected, *number, *surplus)
    answers = ("randomize", "answers.csv", "-c", "word", "--design", "words.json", "--nearest", "-o", "new.csv")
    assert "--nearest must be left out for an open domain" in fails(collected, *answers)
    (collected / "latin.txt").write_bytes("größe\n".encode("latin-1"))
    found = ("discover", "reports.csv", "--column", "word", "--design", "words.json", "--expected", "latin.txt")
    assert "latin.txt must be text in UTF-8, but has the byte 0xf6" in fails(collected, *found)
    lost = (collected / "reports.csv").read_bytes()
    assert "would be lost" in fails(collected, "discover", *asked, "--report", "reports.csv")
    assert "must end in .png" in fails(collected, "discover", *asked, "--plot", "found.gif")
    assert (collected / "reports.csv").read_bytes() == lost
    assert "for an open domain" in fails(collected, "design", "yes", "no", "--bits", "8", "--epsilon", "1")
    made = ("design", "open-domain", "--bits", "8", "--epsilon", "1", "-o", "words.json")
    assert "holds another design" in fails(collected, *made)


def test_a_list_that_is_known_is_looked_up_in_reports_and_in_saved_tallies(collected: Path) -> None:
    reports = ("reports.csv", "--column", "word", "--design")
    succeeds(collected, "tally", *reports, "words.json", "-o", "saved.json")
    for command in ("estimate", "groups"):
        said = fails(collected, command, "saved.json")
        assert "saved.json holds reports of an open domain, which has no list of answers: warner discover" in said
        assert said.count("\n") == 1
    made = ("design", "the", "of", "never", "--open", "words.json", "-o", "list.json")
    assert "ClosedList of 3 answers" in succeeds(collected, *made)
    assert load_design(collected / "list.json") == WORDS.closed(["the", "of", "never"])
    direct = succeeds(collected, "estimate", *reports, "list.json", "--json")
    assert succeeds(collected, "estimate", "saved.json", "--design", "list.json", "--json") == direct
    counted = succeeds(collected, "tally", *reports, "list.json")
    assert succeeds(collected, "tally", "saved.json", "--design", "list.json") == counted
    assert "needs the --design of an open domain" in fails(collected, "discover", "saved.json", "--design", "list.json")
    (collected / "domain.txt").write_text("the\nof\nnever\n")
    succeeds(collected, *("design", "--domain-file", "domain.txt", "--open", "words.json", "-o", "same.json"))
    assert load_design(collected / "same.json") == load_design(collected / "list.json")
    grouped = ("tally", *reports, "words.json", "--by", "region", "-o", "grouped.json")
    succeeds(collected, *grouped)
    by_region = succeeds(collected, "estimate", "grouped.json", "--design", "list.json", "--csv")
    assert by_region == succeeds(collected, "estimate", *reports, "list.json", "--by", "region", "--csv")


def test_lists_for_open_domains_that_cannot_be_are_one_clear_line(collected: Path) -> None:
    assert "needs the answers of the list" in fails(collected, "design", "--open", "words.json")
    assert "takes only" in fails(collected, "design", "a", "b", "--open", "words.json", "--epsilon", "1")
    assert "but got 'far too long'" in fails(collected, "design", "a", "far too long", "--open", "words.json")
    succeeds(collected, "design", "yes", "no", "--epsilon", "1", "-o", "coin.json")
    assert "--open must be the file of an open domain" in fails(collected, "design", "a", "b", "--open", "coin.json")
    succeeds(collected, "tally", "reports.csv", "--column", "word", "--design", "words.json", "-o", "saved.json")
    assert "design must be a closed list of" in fails(collected, "estimate", "saved.json", "-d", "coin.json").replace(
        "--design", "design"
    )
    succeeds(collected, "design", "open-domain", "--bits", "8", "--epsilon", "4", "-o", "apps.json")
    assert "must be whole numbers" in fails(collected, "design", "a", "b", "--open", "apps.json")
    succeeds(collected, "design", "3", "5", "--open", "apps.json", "-o", "known.json")
    assert load_design(collected / "known.json").domain == (3, 5)


def test_check_and_audit_take_an_open_domain(collected: Path) -> None:
    asked = ("reports.csv", "--column", "word", "--design")
    succeeds(collected, "tally", *asked, "words.json", "-o", "saved.json")
    sure = ("--level", "0.999999")  # reports are drawn anew each time
    printed = succeeds(collected, "check", *asked, "words.json", *sure)
    assert printed.startswith("All that does not depend on the answers fits the design")
    assert succeeds(collected, "check", "saved.json", *sure) == printed
    assert json.loads(succeeds(collected, "check", "saved.json", "--json", *sure))["fits"]
    succeeds(collected, "design", "the", "of", "--open", "words.json", "-o", "list.json")
    assert "among 2 answers" in succeeds(collected, "check", "saved.json", "--design", "list.json", *sure)
    assert "--fakes must be left out" in fails(collected, "check", "saved.json", "--fakes", "3")
    client = f"{sys.executable} -m warner randomize - --lines --design {collected / 'words.json'}"
    audited = ("audit", client, "--design", "words.json", "--runs", "400", *sure, "--answers")
    assert "Nothing was found against the client" in succeeds(collected, *audited, "the", "of")
    assert "must be two or more that differ" in fails(collected, *audited, "the", "The")
    assert "must be" in fails(collected, "audit", "cat", "--design", "words.json")
