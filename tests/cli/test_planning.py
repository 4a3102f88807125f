"""`warner plan`: the numbers of the library in every form.

It tests cli/open_domains.py as well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cli.shell import SURVEY, fails, succeeds
from warner import OpenDomain, mechanisms, plan, surveys, tally

if TYPE_CHECKING:
    from pathlib import Path


def test_a_plan_in_every_form(folder: Path) -> None:
    made = plan(10, epsilon=1, half_width=0.02)
    asked = ("plan", "--size", "10", "--epsilon", "1", "--half-width", "0.02")
    assert succeeds(folder, *asked, "--grid") == f"{made.text()}\n\n{made.mechanisms}\n\n{made.grid_text()}\n"
    assert succeeds(folder, *asked, "--json", "-o", "plan.json") == ""
    assert json.loads((folder / "plan.json").read_text()) == json.loads(made.to_json())
    (folder / "labels.txt").write_text("a\nb\n", encoding="utf-8")
    options = ("--people", "900", "--error", "0.05", "--share", "0.2", "--level", "0.9", "--power", "0.9")
    by_file = succeeds(folder, "plan", "--domain-file", "labels.txt", *options, "--simultaneous", "--delta", "1e-6")
    same = plan(["a", "b"], people=900, error=0.05, share=0.2, level=0.9, power=0.9, simultaneous=True, delta=1e-6)
    assert by_file == f"{same.text()}\n\n{same.mechanisms}\n"


def test_a_plan_with_a_population_or_a_pilot(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    asked = ("plan", "--design", "survey.json", "--half-width", "0.05")
    piloted = succeeds(folder, *asked, "--pilot", "reports.csv", "--column", "answer", "--plot", "plan.svg")
    made = plan(pilot=tally(folder / "reports.csv", SURVEY, column="answer"), half_width=0.05)
    assert piloted == f"{made.text()}\n\n{made.mechanisms}\n"
    assert "ε = 1" in (folder / "plan.svg").read_text()
    (folder / "expected.csv").write_text("value,count\nonce,3\noften,1\n")
    seeded = succeeds(folder, *asked, "--population", "expected.csv", "--seed", "3", "--json")
    assert json.loads(seeded)["population"] == [0, 0.75, 0.25]
    rng = np.random.default_rng(3)
    assert json.loads(seeded)["errors"] == plan(SURVEY, half_width=0.05, population=[0, 0.75, 0.25], rng=rng).errors


def test_the_mechanisms_are_compared_and_drawn(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    asked = ("plan", "--size", "50", "--epsilon", "1", "--people", "1000")
    compared = mechanisms(50, epsilon=1, people=1000)
    assert compared.text() in succeeds(folder, *asked, "--mechanism-plot", "mechanisms.svg")
    assert "What each mechanism needs" in (folder / "mechanisms.svg").read_text(encoding="utf-8")
    surveys.kuk("4/5", "3/10", 2).save(folder / "kuk.json")
    assert "Mechanisms" not in succeeds(folder, "plan", "--design", "kuk.json", "--people", "1000")
    assert "--mechanism-plot needs a design whose answers are alike" in fails(
        folder, "plan", "--design", "kuk.json", "--people", "1000", "--mechanism-plot", "mechanisms.png"
    )


def test_a_plan_that_cannot_be(folder: Path) -> None:
    assert "at best" in fails(folder, "plan", "--size", "10", "--people", "50", "--half-width", "0.02")
    assert "one way" in fails(folder, "plan", "--size", "3", "--design", "survey.json", "--people", "50")
    assert "--pilot needs --design" in fails(
        folder, "plan", "--size", "3", "--people", "50", "--pilot", "reports.csv", "--epsilon", "1"
    )
    assert "must end in .png" in fails(
        folder, "plan", "--size", "3", "--people", "50", "--epsilon", "1", "--plot", "a.gif", "-o", "plan.txt"
    )


def test_a_plan_of_an_open_domain(folder: Path) -> None:
    words = OpenDomain(epsilon=1, letters="a-z", length=12)
    made = plan(words, people=1_000_000)
    asked = ("plan", "--letters", "a-z", "--length", "12", "--epsilon", "1", "--people", "1000000")
    assert succeeds(folder, *asked) == f"{made.text()}\n"
    words.save(folder / "words.json")
    by_file = succeeds(folder, "plan", "--design", "words.json", "--share", "0.05", "--json")
    assert json.loads(by_file) == json.loads(plan(words, share=0.05).to_json())
    assert "needs --epsilon" in fails(folder, "plan", "--bits", "48", "--people", "1000")
    assert "--step is for an open domain" in fails(folder, "plan", "--size", "3", "--step", "2", "--people", "9")
    assert "--plot is not for an open domain" in fails(folder, *asked, "--plot", "plan.svg")
