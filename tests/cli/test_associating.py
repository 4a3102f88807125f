"""`warner associate`: the numbers of the library in every form, and one clear line for every mistake.

It tests cli/relating.py.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cli.shell import succeeds
from warner import RandomizedResponse
from warner.association.associations import associate
from warner.surveys import forced_response

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt

DICE = forced_response(truth="2/3", yes="1/6")
OFTEN = RandomizedResponse(["never", "once", "more"], odds=(3, 1))
DESIGNS = {"cheated": DICE, "copied": DICE, "frequency": OFTEN}
TWO = ("associate", "answers.csv", "cheated=dice.json", "copied=dice.json")
THREE = (*TWO, "frequency=often.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two designs, and a file of 300 people."""
    DICE.save(tmp_path / "dice.json")
    OFTEN.save(tmp_path / "often.json")
    rng = np.random.default_rng(1)
    columns = [
        np.array(design.law.columns)[rng.integers(len(design.law.columns), size=300)] for design in DESIGNS.values()
    ]
    rows = [",".join([*row, str(20 + i % 40), str(1 + i % 2)]) for i, row in enumerate(zip(*columns, strict=True))]
    rows[7] = rows[7].replace(rows[7].split(",")[0], "", 1)
    (tmp_path / "answers.csv").write_text("\n".join([f"{','.join(DESIGNS)},age,weight", *rows]) + "\n")
    return tmp_path


def test_associate_gives_the_numbers_of_the_library_in_every_form(folder: Path, prompt: Prompt) -> None:
    found = associate(folder / "answers.csv", dict.fromkeys(("cheated", "copied"), DICE), numeric="age", level=0.9)
    options = (*TWO, "--numeric", "age", "--level", "0.9")
    assert prompt.prints(*options, "-o", "a.txt") == found.text() + "\n"
    for ending, form in (("md", found.to_markdown), ("tex", found.to_latex), ("html", found.to_html)):
        prompt.prints(*options, "-o", f"a.{ending}")
        assert (folder / f"a.{ending}").read_text(encoding="utf-8") == form() + "\n"
    assert (folder / "a.txt").read_text() == found.text() + "\n"
    assert prompt.prints(*options, "--json", "-o", "a.json") == found.to_json() + "\n"
    assert (folder / "a.json").read_text() == found.to_json() + "\n"
    assert json.loads(found.to_json())["missing"] == 1


def test_associate_reads_files_of_other_programs(folder: Path, prompt: Prompt) -> None:
    expected = prompt.prints(*TWO, "--numeric", "age", "--json")
    text = (folder / "answers.csv").read_text().replace("\n,", "\nk. A.,").replace(",", ";")
    (folder / "answers.csv").write_bytes(text.encode("utf-16"))
    options = ("--encoding", "utf-16", "--missing", "-99,k. A.", "--decimal", ",")
    assert prompt.prints(*TWO, "--numeric", "age", "--json", *options) == expected


def test_associate_takes_weights_simulations_and_standard_input(folder: Path, prompt: Prompt) -> None:
    weighted = associate(folder / "answers.csv", DESIGNS, weights="weight")
    assert prompt.prints(*THREE, "--weights", "weight") == weighted.text() + "\n"
    seeded = associate(folder / "answers.csv", DESIGNS, simulations=999, rng=np.random.default_rng(7))
    assert prompt.prints(*THREE, "--simulations", "999", "--seed", "7", "--json") == seeded.to_json() + "\n"
    assert prompt.prints(*THREE, "--simulations", "999", "--json") != seeded.to_json() + "\n"
    text = (folder / "answers.csv").read_text()
    assert succeeds(folder, "associate", "-", *TWO[2:], input=text) == prompt.prints(*TWO)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (TWO[:3], "--numeric must be given for one question"),
        ((*TWO[:3], "--numeric", "cheated"), "a column of its own"),
        ((*TWO[:3], "copied"), "COLUMN=DESIGN, such as cheated=dice.json, but got 'copied'"),
        ((*TWO, "copied=often.json"), "'copied' occurs twice"),
        ((*TWO[:3], "copied=nope.json"), "there is no file nope.json"),
        ((*TWO[:3], "copeid=dice.json"), "did you mean 'copied'?"),
        ((*TWO[:3], "frequency=dice.json"), "leave them out with --unknown drop"),
        ((*TWO, "--numeric", "cheated"), "a column of its own"),
        ((*TWO, "--level", "95"), "level must be between 0 and 1"),
        ((*TWO, "--simulations", "-1"), "simulations must be a whole number"),
        ((*TWO, "--weights", "age", "--counts", "weight"), "not both"),
        ((*TWO, "-o", "a.csv"), "must end in .json, .txt, .md, .tex or .html"),
        ((*TWO, "-o", "dice.json"), "would be lost"),
        (("associate", "nope.csv", *TWO[2:]), "there is no file nope.csv"),
    ],
)
def test_bad_input_to_associate_is_one_clear_line(prompt: Prompt, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in prompt.complains(*arguments)


def test_the_number_of_a_question_is_correlated(folder: Path, prompt: Prompt) -> None:
    told = json.loads(prompt.prints(*TWO, "--values", "cheated=yes=3,no=1", "--json"))
    found = associate(
        folder / "answers.csv", dict.fromkeys(("cheated", "copied"), DICE), values={"cheated": {"yes": 3, "no": 1}}
    )
    assert told["pairs"][0]["correlations"][0]["answers"][0] is None
    assert told["pairs"][0]["correlations"][0]["value"] == found.pairs[0].correlations[0].value
    assert "--values must be COLUMN=VALUES" in prompt.complains(*TWO, "--values", "age=numbers")


def test_one_question_is_correlated_with_a_number(folder: Path, prompt: Prompt) -> None:
    one = (*TWO[:3], "--numeric", "age")
    found = associate(folder / "answers.csv", {"cheated": DICE}, numeric="age")
    assert prompt.prints(*one) == found.text() + "\n"
    assert prompt.prints(*one, "--json") == found.to_json() + "\n"
    both = associate(folder / "answers.csv", dict.fromkeys(("cheated", "copied"), DICE), numeric="age")
    assert found.numeric[0].first == both.numeric[0].first == "cheated"
