"""Complex samples in the shell: the same words and numbers in table, JSON, CSV and page."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import warner
from cli.shell import fails, succeeds
from warner import RandomizedResponse

if TYPE_CHECKING:
    from pathlib import Path

DESIGN = ("--column", "answer", "--domain", "yes,no", "--truth", "3/4")
SAMPLE = ("--weights", "w", "--strata", "region", "--clusters", "school")
WORDS = "design-based 95 % interval, 32 schools in 4 regions"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the reports of 320 pupils of 32 schools in 4 regions."""
    rng = np.random.default_rng(9)
    with (tmp_path / "wave.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["answer", "region", "school", "w", "part", "sex", "rw1", "rw2", "rw3"])
        for place in range(320):
            school = place // 10
            weight = 1 + school % 3 / 2
            row = (rng.choice(["yes", "no"]), f"r{school // 8}", school, weight, 0.25, "fm"[place % 2])
            lines.writerow([*row, *(weight * rng.choice([0.5, 1.5], 3))])
    return tmp_path


def test_every_form_says_that_it_is_design_based(folder: Path) -> None:
    asked = ("estimate", "wave.csv", *DESIGN, *SAMPLE)
    text = succeeds(folder, *asked)
    assert "design-based 95 % interval (population)" in text
    assert f"{WORDS.capitalize()} (28 degrees of freedom)." in text
    assert "count as if" not in text
    document = json.loads(succeeds(folder, *asked, "--json"))
    assert document["sample"] == f"{WORDS} (28 degrees of freedom)"
    assert (document["interval"], document["approximate"]) == ("korn_graubard", True)
    rows = list(csv.DictReader(io.StringIO(succeeds(folder, *asked, "--csv"))))
    assert {row["sample"] for row in rows} == {"design-based, 32 schools in 4 regions"}
    assert [float(row["low"]) for row in rows] == [value["low"] for value in document["values"]]
    succeeds(folder, *asked, "--report", "page.html")
    page = (folder / "page.html").read_text()
    assert "32 schools in 4 regions (28 degrees of freedom)" in page
    assert "Korn and Graubard" in page
    assert "design-based 95" in page
    survey = RandomizedResponse(["yes", "no"], truth="3/4")
    names: Any = {"column": "answer", "weights": "w", "strata": "region", "clusters": "school"}
    expected = warner.estimate(warner.tally(folder / "wave.csv", survey, **names)).table()
    assert [value["high"] for value in document["values"]] == expected["high"].tolist()


def test_a_saved_sample_is_estimated_as_the_file_was(folder: Path) -> None:
    options = (*SAMPLE, "--sampled", "part", "--whole", "--by", "sex")
    said = succeeds(folder, "tally", "wave.csv", *DESIGN, *options, "-o", "wave.json")
    assert "32 schools in 4 regions" in said
    direct = succeeds(folder, "estimate", "wave.csv", *DESIGN, *options, "--json")
    assert succeeds(folder, "estimate", "wave.json", "--json") == direct
    one = succeeds(
        folder, "estimate", "wave.csv", *DESIGN, *SAMPLE, "--sampled", "0.25", "--whole", "--by", "sex", "--json"
    )
    assert one == direct  # a number, or a column of it
    assert "Student's t" in succeeds(folder, "estimate", "wave.json", "--compare", "yes", "--between", "f,m")
    assert "of respondents drawn alone" in succeeds(folder, "check", "wave.json")
    assert "neglected" in succeeds(folder, "groups", "wave.json")


def test_replicate_weights_have_options_of_their_own(folder: Path) -> None:
    asked = ("estimate", "wave.csv", *DESIGN, "--weights", "w", "--replicates", "rw*", "--scale", "0.5")
    assert "3 sets of replicate weights (2 degrees of freedom)" in succeeds(folder, *asked)
    jackknife = ("estimate", "wave.csv", *DESIGN, *SAMPLE, "--replicates", "jackknife")
    assert WORDS.capitalize() in succeeds(folder, *jackknife)


def test_means_and_quantiles_of_a_complex_sample_are_design_based_at_every_door(folder: Path) -> None:
    asked = ("estimate", "wave.csv", *DESIGN, *SAMPLE, "--mean", "--median", "--above", "1", "--values", "yes=3,no=0")
    told = json.loads(succeeds(folder, *asked, "--json"))
    drawn = WORDS.partition(", ")[2]  # 32 schools in 4 regions
    assert all(part["sample"].startswith(drawn) for part in (told["mean"], *told["quantiles"], *told["shares"]))
    assert told["mean"]["approximate"] is True
    lines = succeeds(folder, *asked).splitlines()
    for name in ("mean", "median", "share above 1"):
        (line,) = (line for line in lines if line.startswith(f"{name}"))
        assert "design-based 95 % interval (population)" in line


def test_totals_are_those_of_the_library(folder: Path) -> None:
    survey = RandomizedResponse(["yes", "no"], truth="3/4")
    names: Any = {"column": "answer", "weights": "w", "strata": "region", "clusters": "school"}
    asked = ("estimate", "wave.csv", *DESIGN, *SAMPLE, "--totals")
    result = warner.estimate(warner.tally(folder / "wave.csv", survey, **names))
    assert json.loads(succeeds(folder, *asked, "--json"))["totals"] == result.totals().to_dict()
    assert result.totals().text() in succeeds(folder, *asked)
    known = json.loads(succeeds(folder, *asked, "--json", "--population", "5000", "--level", "0.9"))
    assert known["totals"] == result.totals(5000, level=0.9).to_dict()
    often = json.loads(succeeds(folder, *asked, "--json", "--population", "5000", "--values", "yes=3,no=0"))
    assert often["totals"] == result.totals(5000, {"yes": 3, "no": 0}).to_dict()
    people = ("--by", "sex", "--population", "3000", "--population", "2000")
    by_sex = warner.estimate(warner.tally(folder / "wave.csv", survey, **names, by="sex"))
    grouped = json.loads(succeeds(folder, *asked, "--json", *people))
    assert grouped["totals"] == by_sex.totals([3000, 2000]).to_dict()
    for options, message in {
        ("--totals",): "--population must be given for totals, the size of the population",
        ("--population", "9"): "--population is for --totals",
        ("--totals", "--population", "0"): "--population must be the size of the population, above 0, but got 0",
        ("--totals", "--population", "9", "--by", "sex"): "--population must be one number for each group",
    }.items():
        assert message in fails(folder, "estimate", "wave.csv", *DESIGN, *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((*SAMPLE, "--anytime"), "--anytime must be left out with strata, clusters or replicate weights"),
        ((*SAMPLE, "--target", "realised"), "with strata, clusters or replicate weights"),
        ((*SAMPLE, "--sampled", "1.5"), "above 0 and at most 1, but got 1.5"),
        ((*SAMPLE, "--whole"), "--whole must be left out without clusters and sampled"),
        (("--replicates", "rw*"), "--replicates must come with weights, those of the whole sample, and scale"),
        (("--clusters", "scool"), "there is no column 'scool'; did you mean 'school'?"),
        (("--strata", "school", "--clusters", "region"), "clusters must lie in one stratum each"),
        (("--strata", "school", "--clusters", "school"), "every stratum must have at least two clusters"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(folder: Path, options: tuple[str, ...], message: str) -> None:
    assert message in fails(folder, "estimate", "wave.csv", *DESIGN, *options)


def test_a_saved_tally_takes_no_columns(folder: Path) -> None:
    succeeds(folder, "tally", "wave.csv", *DESIGN, *SAMPLE, "-o", "wave.json")
    assert "--clusters must be left out for wave.json" in fails(folder, "estimate", "wave.json", "--clusters", "school")
