"""`warner plan`: the numbers of the library in every form.

It tests cli/open_domains.py as well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cli.shell import SURVEY, fails, succeeds
from warner import OpenDomain, RandomizedResponse, SquareWave, mechanisms, plan, surveys, tally

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


def test_a_plan_with_a_design_effect(folder: Path) -> None:
    asked = ("plan", "--size", "10", "--epsilon", "1", "--half-width", "0.02")
    made = plan(10, epsilon=1, half_width=0.02, design_effect=1.5)
    assert json.loads(succeeds(folder, *asked, "--design-effect", "1.5", "--json")) == json.loads(made.to_json())
    assert "--design-effect must be a positive number" in fails(folder, *asked, "--design-effect", "0")
    # A saved tally of a complex sample brings its own.
    data = {"answer": ["never", "once", "often", "often"] * 25, "village": [number // 10 for number in range(100)]}
    pilot = tally(data, SURVEY, column="answer", clusters="village")
    pilot.save(folder / "pilot.json")
    given = succeeds(
        folder, "plan", "--design", "survey.json", "--half-width", "0.05", "--pilot", "pilot.json", "--json"
    )
    assert json.loads(given)["design_effect"] == plan(pilot=pilot, half_width=0.05).design_effect != 1


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
    assert "Sample size of each mechanism" in (folder / "mechanisms.svg").read_text(encoding="utf-8")
    surveys.kuk("4/5", "3/10", 2).save(folder / "kuk.json")
    assert "Mechanisms" not in succeeds(folder, "plan", "--design", "kuk.json", "--people", "1000")
    assert "--mechanism-plot needs a symmetric design" in fails(
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
    lonely = fails(folder, "plan", "--size", "3", "--step", "2", "--people", "9")
    assert "answers that are numbers need --from and --to" in lonely
    for option in (
        "--plot",
        "--mechanism",
        "--half-width",
        "--error",
        "--answer",
        "--population",
        "--pilot",
        "--column",
    ):
        assert f"{option} is not for an open domain" in fails(folder, *asked, option, "1")
    for surplus in (
        ["--delta", "1e-6"],
        ["--quantity", "mean"],
        ["--values", "a=1"],
        ["--seed", "1"],
        ["--simultaneous"],
    ):
        assert f"{surplus[0]} is not for an open domain" in fails(folder, *asked, *surplus)
    succeeds(folder, "design", "open-domain", "--bits", "8", "--epsilon", "2", "-o", "apps.json")
    planned = ("plan", "--design", "apps.json", "--people", "1000")
    assert "--epsilon is not for an open domain" in fails(folder, *planned, "--epsilon", "1")


def test_a_mean_and_a_quantile_are_planned_in_the_unit_of_the_answers(tmp_path: Path) -> None:
    asked = ("plan", "--from", "18", "--to", "99", "--mechanism", "square-wave", "--epsilon", "1")
    printed = succeeds(tmp_path, *asked, "--quantity", "mean", "--half-width", "2", "--grid")
    wave = SquareWave(range(18, 100), epsilon=1, quantity="mean")
    made = plan(wave, half_width=2, quantity="mean")
    assert f"{made.people:,} respondents are needed for an interval half-width of 2 for the mean" in printed
    assert "cutoff response" in printed
    assert "Interval half-width (unit of the answers)" in printed
    by_json = json.loads(succeeds(tmp_path, *asked, "--quantity", "mean", "--half-width", "2", "--json"))
    assert by_json == json.loads(made.to_json())
    quantile = succeeds(tmp_path, *asked, "--quantity", "0.9", "--people", "5000", "--population", "uniform")
    assert "for the 90 % quantile" in quantile
    assert "--population must be given to plan the median" in fails(
        tmp_path, *asked, "--quantity", "median", "--half-width", "2"
    )
    assert "--quantity must be shares, mean, median" in fails(tmp_path, *asked, "--quantity", "mode", "--people", "9")
    words = ("plan", "--design", "words.json", "--half-width", "0.2", "--quantity", "mean")
    RandomizedResponse(["never", "once"], epsilon=1).save(tmp_path / "words.json")
    assert "respondents are needed" in succeeds(tmp_path, *words, "--values", "never=0,once=1")
    assert "answers must be numbers, but 'never' is not a number; give --values" in fails(tmp_path, *words)


def test_a_plan_of_a_test(folder: Path) -> None:
    coin = RandomizedResponse(["yes", "no"], odds=(3, 1))
    coin.save(folder / "coin.json")
    RandomizedResponse(["yes", "no"], odds=(9, 1)).save(folder / "other.json")
    asked = ("plan", "--design", "coin.json")
    one = plan(coin, reference=0.05, share=0.2, power=0.9, alternative="one-sided")
    options = ("--reference", "0.05", "--share", "0.2", "--power", "0.9", "--alternative", "one-sided")
    assert succeeds(folder, *asked, *options, "--grid") == f"{one.text()}\n\n{one.grid_text()}\n"
    assert json.loads(succeeds(folder, *asked, *options, "--json")) == json.loads(one.to_json())
    two = plan(coin, shares=(0.3, 0.1), other_design=RandomizedResponse(["yes", "no"], odds=(9, 1)), people=200)
    given = succeeds(folder, *asked, "--shares", "0.3,0.1", "--other-design", "other.json", "--people", "200")
    assert given == f"{two.text()}\n"
    slope = plan(coin, coefficient=0.5, share=0.2, covariate=0.4)
    given = succeeds(folder, *asked, "--coefficient", "0.5", "--share", "0.2", "--covariate", "0.4")
    assert given == f"{slope.text()}\n"
    assert "--share must differ from the reference" in fails(folder, *asked, "--share", "0.2", "--reference", "0.2")
    assert "--shares must be two numbers, as 0.3,0.1, but got '0.3'" in fails(folder, *asked, "--shares", "0.3")
    assert "--alternative" in fails(folder, *asked, "--reference", "0", "--share", "0.1", "--alternative", "greater")
    both = ("--plot", "plan.svg", "--mechanism-plot", "mechanisms.svg")
    assert "--mechanism-plot is not available for a test; --plot shows" in fails(folder, *asked, *options, *both)
    assert not (folder / "plan.svg").exists()
    succeeds(folder, *asked, *options, *both[:2])
    one.save_plot(folder / "one.svg")
    assert (folder / "plan.svg").read_bytes() == (folder / "one.svg").read_bytes()
    open_answers = ("plan", "--bits", "16", "--epsilon", "1", "--people", "1000", "--reference", "0")
    assert "--reference is not for an open domain" in fails(folder, *open_answers)
