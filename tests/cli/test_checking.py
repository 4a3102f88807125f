"""`warner check`: its verdict, its exit code, its forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cli.shell import CHECK, SURVEY, run, succeeds
from warner import SubsetSelection, Tally, check, pool, surveys, tally

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt


def test_check_says_whether_reports_fit_by_its_exit_code(folder: Path) -> None:
    said = succeeds(folder, *CHECK, "--fakes", "10")
    assert said.startswith("The reports fit the design (p = ")
    assert "10 fakes among the reports" in said
    assert "No such check can detect" in said
    # The same reports, but with a design that claims to add more noise: answers below q are impossible.
    done = run(folder, "check", "reports.csv", "-c", "answer", "--domain", "never,once,often", "--epsilon", "0.2")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("The reports do not fit the design (p < ")
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


def test_collections_that_contradict_each_other_fail(folder: Path) -> None:
    designs = {"rarely": surveys.crosswise("1/5"), "mostly": surveys.crosswise("4/5")}
    parts = [Tally(design, counts) for design, counts in zip(designs.values(), ([270, 192], [129, 324]), strict=True)]
    pool(parts).save(folder / "pool.json")
    done = run(folder, "check", "pool.json", "--json", "-o", "c.md")
    assert (done.returncode, done.stderr.count("\n")) == (1, 0)
    assert done.stdout == check(pool(parts)).to_json() + "\n"
    assert "p same" in (folder / "c.md").read_text(encoding="utf-8")
    done = run(folder, "estimate", "pool.json", "--csv")
    assert done.returncode == 0
    assert "the collections do not seem to come from one population" in done.stderr


def test_the_shell_keeps_the_reports_for_pairs_of_answers(folder: Path) -> None:
    design = SubsetSelection(6, odds=(6, 1), size=2)
    design.save(folder / "sets.json")
    honest = design.randomize([0, 1, 2, 3, 4, 5] * 200)
    reports = [*honest, *[honest[0]] * 400]
    (folder / "sets.csv").write_text("v\n" + "\n".join(map(str, reports)) + "\n")
    done = run(folder, "check", "sets.csv", "-d", "sets.json")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == check(tally(reports, design, keep=True)).text() + "\n"
    assert "crafted reports would explain this" in done.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((*CHECK, "--level", "95"), "level must be between 0 and 1"),
        ((*CHECK, "--fakes", "-1"), "fakes must be a whole number"),
        ((*CHECK, "--seed", "-1"), "--seed"),
        ((*CHECK, "-o", "check.csv"), "must end in .json, .txt, .md, .tex or .html"),
        (
            ("check", "reports.csv", "-c", "answer", "--domain", "never,once,often", "--odds", "1:1"),
            "an epsilon above 0",
        ),
        (("check", "reports.csv", "-c", "answer", "--domain", "never,once", "--epsilon", "1"), "often"),
    ],
)
def test_bad_input_to_check_is_one_clear_line(prompt: Prompt, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in prompt.complains(*arguments)
