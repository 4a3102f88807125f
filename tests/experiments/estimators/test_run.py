"""The comparison of all estimators: its populations, its ratios, what a run leaves, and what a user can add."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import experiments
from experiments.estimators.contests import BITS, ERROR_MEASURES, RESPONSE, Contest, contests
from experiments.estimators.entrants import BUILT_IN, METHODS_LEFT_OUT, PREDICTED, own_estimators
from experiments.estimators.figures import figures
from experiments.estimators.populations import POPULATION_KINDS, SHAPES, Population, made_up
from experiments.estimators.ratios import REFERENCES, TOLERATED_RATIO, outcomes, ratios, summaries, worst_settings
from experiments.estimators.real_populations import own_population, real_populations
from experiments.estimators.run import FORMAT, compare, compare_at
from experiments.estimators.scale import TOY_COMPARISON, Scale, requested_scale
from experiments.pinzon2026.drawing import ESTIMATOR_STYLES
from experiments.pinzon2026.results import Workers, open_folder
from experiments.pinzon2026.scale import TOY_REPRODUCTION as PAPER
from warner import inv, inv_p
from warner.estimators import METHODS

for library in ("pyarrow", "joblib", "threadpoolctl", "matplotlib"):
    pytest.importorskip(library, reason=f"the experiments need {library}, which is not installed")

TINY = replace(
    TOY_COMPARISON,
    seeds=3,
    paper_answers=(10,),
    paper_people=(200,),
    paper_epsilons=(2,),
    answers=(10,),
    people=(200,),
    epsilons=(2,),
    bits_answers=(10,),
    bits_people=(200,),
    bits_epsilons=(2,),
    real_people=(200,),
    real_epsilons=(2,),
    numeric_people=(),
)


def run(folder: Path, **options: Any) -> Path:
    given: dict[str, Any] = {"own": [], "real": [], "notes": [], "workers": Workers()} | options
    return compare_at(TINY, folder, **given)


# Populations


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("k", [3, 20, 1000])
def test_shapes_are_distributions_that_are_always_the_same(name: str, k: int) -> None:
    population = made_up(name, k)
    assert population.k == k
    assert (population.shares >= 0).all()
    assert_allclose(population.shares.sum(), 1, rtol=1e-12)
    assert_array_equal(population.shares, made_up(name, k).shares)
    assert population.kind in POPULATION_KINDS


def test_shapes_by_hand() -> None:
    assert_allclose(made_up("plateaus", 5).shares, np.array([4, 1, 1, 1, 1]) / 8)
    assert_allclose(made_up("stairs", 3).shares, np.array([9, 3, 0]) / 12)
    assert_allclose(made_up("every second", 4).shares, [0.5, 0, 0.5, 0])
    assert_allclose(made_up("two heads", 3).shares, [0.4, 0.4, 0.2])
    assert_allclose(made_up("none of these", 3).shares, [0.9, 0.1 * 2 / 3, 0.1 / 3])
    assert_allclose(made_up("dominant", 5).shares, np.array([5, 1, 1, 1, 1]) / 9)


# Ratios


def errors(**of: list[float]) -> dict[str, dict[str, Any]]:
    return {name: {measure: np.array(values) for measure in ERROR_MEASURES} for name, values in of.items()}


def test_ratios_are_to_the_best_of_three_by_its_mean() -> None:
    found = ratios(errors(inv_p=[1, 3], mle=[4, 4], inv_n=[9, 9], mine=[3, 3], inv=[0, 0.5]), 10**9, "squared_error")
    assert {name: round(one.value, 9) for name, one in found.items()} == {
        "inv_p": 1, "mle": 2, "inv_n": 4.5, "mine": 1.5, "inv": 0.125
    }  # fmt: skip
    assert found["inv_p"].error == 0
    # mine - 1.5 inv_p is (1.5, -1.5): standard deviation 1.5 sqrt 2, of two seeds, over 2
    assert found["mine"].error == pytest.approx(1.5 * 2**0.5 / 2**0.5 / 2)


def test_a_floor_keeps_nothing_from_being_infinitely_better_than_nothing() -> None:
    found = ratios(errors(inv_p=[0, 0], mine=[0, 0]), 100, "squared_error")
    assert found["mine"].value == 1
    assert ratios(errors(inv_p=[0, 0], mine=[1e-5, 1e-5]), 100, "squared_error")["mine"].value == pytest.approx(2)
    assert ratios(errors(inv_p=[0, 0], mine=[1e-3, 1e-3]), 100, "total_variation")["mine"].value == pytest.approx(2)


def setting(name: str) -> Contest:
    return Contest(made_up(name, 10), RESPONSE, 10**9, 1, 2, BUILT_IN)


def test_figures_have_a_legend_and_an_estimator_has_one_colour_in_all_of_them() -> None:
    of = {name: [1.0, 2.0] for name in ("inv_p", "inv_n", "mle", "shrink", "power_ns", "mine", "inv")}
    drawn = figures(outcomes({setting("bump"): errors(**of), setting("linear"): errors(**of)}))
    for figure, _ in drawn.values():
        assert figure.legends
    told = [text.get_text() for text in drawn["settings squared error"].figure.legends[0].get_texts()]
    assert {"distribution", "geometric mean", "best in hindsight", "1.15 times"} <= set(told)
    (legend,) = drawn["along the settings"].figure.legends
    for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True):
        if text.get_text() != "mine":
            assert (line.get_color(), line.get_marker()) == ESTIMATOR_STYLES[text.get_text()]
    assert len(set(ESTIMATOR_STYLES.values())) == len(ESTIMATOR_STYLES) - 1  # auto is the predicted one


def test_a_summary_over_settings() -> None:
    first, second = setting("bump"), setting("linear")
    found = outcomes(
        {
            first: errors(inv_p=[1, 1], mine=[2, 2], inv=[3, 3]),
            second: errors(inv_p=[1, 1], mine=[0.5, 0.5], inv=[1, 1]),
        }
    )
    told = {summary.estimator: summary for summary in summaries(found)}
    assert list(told) == ["inv_p", "mine", "inv"]  # distributions first, then by the mean
    assert told["mine"].mean.value == pytest.approx(1)  # of 2 and 1/2
    assert told["mine"].worst.value == 2
    assert told["mine"].where == first.title
    assert told["mine"].above == 1
    assert told["inv_p"].above == 0
    assert worst_settings(found, "mine", 1)[0][:2] == [first.title, "RR"]
    assert TOLERATED_RATIO == 1.15


# Contests


def test_everybody_sees_the_same_reports() -> None:
    contest = setting("bump")
    (own,) = own_estimators({"mine": inv_p})
    assert_array_equal(contest.surveys()[1], contest.by(own).surveys()[1])
    ours, theirs = contest.parsed(contest.columns()), contest.by(own).parsed(contest.by(own).columns())
    for measure in ERROR_MEASURES:
        assert_allclose(ours["inv_p"][measure], theirs["mine"][measure], rtol=1e-9)
    assert contest.experiment != contest.by(own).experiment


def test_errors_are_against_the_people_and_the_population() -> None:
    contest = replace(setting("linear"), n=50)
    people, counts = contest.surveys()
    shares = inv(counts[0], contest.design)
    found = contest.parsed(contest.columns())["inv"]
    assert found["squared_error"][0] == pytest.approx(((shares - people[0] / 50) ** 2).sum())
    assert found["total_variation_population"][0] == pytest.approx(np.abs(shares - np.arange(1, 11) / 55).sum() / 2)


def test_all_methods_take_part_where_counts_are_enough() -> None:
    listed = contests(TINY, [])
    assert {contest.mechanism for contest in listed} == {RESPONSE, BITS}
    assert set(BUILT_IN) == set(METHODS) - set(METHODS_LEFT_OUT) | {PREDICTED}
    assert set(REFERENCES) < set(BUILT_IN)
    for contest in (listed[0], listed[1]):
        found = set(contest.columns()["estimator"])
        assert found == (set(BUILT_IN) if contest.mechanism == RESPONSE else set(BUILT_IN) - {"mle"})


def test_real_data_of_many_answers() -> None:
    shares = np.zeros(200_000)
    shares[:40] = np.arange(1, 41) / 820
    listed = contests(TINY, [Population("crowd", "real", shares)])
    real = {contest.mechanism: contest.population for contest in listed if contest.population.kind == "real"}
    assert (real[RESPONSE].name, real[RESPONSE].k) == ("crowd (held by somebody)", 40)
    assert (real[BITS].name, real[BITS].k) == ("crowd (10 most common)", 10)
    assert_allclose(real[BITS].shares[-1], 40 / (40 + 31) / 5)


# A run


def test_a_run_leaves_tables_figures_and_a_page_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = run(tmp_path / "out", notes=["kosarak is left out: it is not there"])
    folder = page.parent
    text = page.read_text(encoding="utf-8")
    assert "This is a toy" in text
    assert "kosarak is left out" in text
    tables = (folder / "tables.md").read_text(encoding="utf-8")
    assert "This is a toy" in tables
    with (folder / "ratios.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(SHAPES) * (2 * len(BUILT_IN) - 1)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    for title in ("RR, other shapes", "RR, everything", "OUE, the paper's grid (Zipf)"):
        assert title in summary
        assert f"## {title}" in tables
        assert title.replace("'", "&#x27;") in text
    for name in BUILT_IN:
        assert f"<dt>{name}</dt>" in text
    assert text.count("data:image/png") == 3
    numbers = (folder / "ratios.csv").read_text(encoding="utf-8").splitlines()
    # Added later, an own estimator and a population run alone; what was there is not touched.
    before = {path: path.stat().st_mtime_ns for path in (folder / "contests").iterdir()}
    monkeypatch.setattr("experiments.estimators.run.save_figure", lambda *_: None)  # the files are there
    run(folder, own=own_estimators({"mine": inv_p}), real=[Population("villages", "real", np.array([0.5, 0.3, 0.2]))])
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert "mine" in (folder / "tables.md").read_text(encoding="utf-8")
    assert "RR, real data (1 setting)" in page.read_text(encoding="utf-8")
    more = (folder / "ratios.csv").read_text(encoding="utf-8").splitlines()
    assert [line for line in more if ",mine," not in line and ",villages," not in line] == numbers
    assert len([line for line in more if ",villages," in line]) == 2 * len(BUILT_IN) - 1 + 2


def test_other_settings_are_another_folder(tmp_path: Path) -> None:
    open_folder(tmp_path / "out", replace(TINY, seeds=4), FORMAT)
    with pytest.raises(ValueError, match="results of other settings"):
        run(tmp_path / "out")
    open_folder(tmp_path / "paper", PAPER)
    with pytest.raises(ValueError, match='must say "format": "warner estimator results"'):
        run(tmp_path / "paper")


def test_scales() -> None:
    assert not Scale().toy
    assert TOY_COMPARISON.toy
    assert requested_scale(seeds=2, quick=True).real_seeds == 2
    with pytest.raises(ValueError, match="seeds must be at least 2"):
        requested_scale(seeds=1)


# What a user adds


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["mine"], "must be given as module:function, but got 'mine'"),
        (["no_such_module:mine"], "no module no_such_module here"),
        (["math:mine"], "the module math has no mine"),
        (["math:pi"], "must be a function of counts and design, but pi is 3.14"),
        ({"mle": inv_p}, "must not be one of mle, .*predicted, but got 'mle'"),
        ({"a/b": inv_p}, "made of letters, digits"),
    ],
)
def test_bad_own_estimators(given: Any, complaint: str) -> None:
    with pytest.raises((ValueError, TypeError), match=complaint):
        own_estimators(given)


@pytest.mark.parametrize(
    ("result", "complaint"),
    [
        (
            lambda: np.ones(3),
            "must give one share for each of the 10 answers, but it gave .* of shape .3,. on .* reports",
        ),
        (lambda: "none", "must give one share for each of the 10 answers"),
        (lambda: np.full(10, np.nan), "must give finite shares, but one is not, on .* reports under"),
        (lambda: 1 / 0, "failed on .* reports under .*: ZeroDivisionError: division by zero"),
    ],
)
def test_what_an_own_estimator_gives_is_checked(result: Any, complaint: str) -> None:
    (own,) = own_estimators({"mine": lambda counts, design: result()})
    with pytest.raises(ValueError, match=f"the estimator mine {complaint}"):
        setting("bump").by(own).columns()


def test_an_own_estimator_may_ask_for_the_number_of_reports() -> None:
    (own,) = own_estimators({"mine": lambda counts, design, n: inv_p(counts, design, n=n)})
    contest = replace(setting("bump"), mechanism=BITS, n=300)
    ours, theirs = contest.parsed(contest.columns()), contest.by(own).parsed(contest.by(own).columns())
    assert_allclose(ours["inv_p"]["squared_error"], theirs["mine"]["squared_error"], rtol=1e-9)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("value,count\n1,5\n3,abc\n", "line 3: the count must be a whole number, but got 'abc'"),
        ("value,count\n1,5\n3\n", "line 3 must hold a value and a count, but it is '3'"),
        ("value,count\n1,5\n1,6\n", "line 3: no value may occur twice, but '1' does"),
        ("value,count\n1,-5\n", "line 2: the count must be at least 0, but got -5"),
        ("value,count\na,0\nb,0\n", "not all be 0"),
        ("answer,people\na,1\n", "the first line must be value,count"),
        ("value,count\na,1\n", "at least 2 answers, but it has 1"),
    ],
)
def test_a_malformed_file_is_an_error(content: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(content)
    for source in (path, tmp_path):
        with pytest.raises(ValueError, match=complaint) as caught:
            real_populations(source)
        assert str(path) in str(caught.value)


def test_own_data_of_any_name(tmp_path: Path) -> None:
    (tmp_path / "villages.csv").write_text("value,count\nUpper,30\nLower,70\nNowhere,0\n")
    (tmp_path / "retail_items.csv").write_text("value,count\n0,500\n2,300\n")
    assert_allclose(own_population(tmp_path / "villages.csv").shares, [0.3, 0.7, 0])
    found, notes = real_populations(tmp_path)
    assert [population.name for population in found] == ["retail", "villages"]
    assert_allclose(found[0].shares, [0.625, 0, 0.375])
    assert all("is left out" in note for note in notes)
    assert [one.name for one in real_populations(tmp_path / "villages.csv")[0]] == ["villages"]
    with pytest.raises(ValueError, match="the population p must be at least two numbers"):
        compare(tmp_path / "out", populations={"p": [1]}, quick=True, data=tmp_path)


ROOT = Path(experiments.__file__).resolve().parent.parent


def shell(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "experiments", *words]
    paths = os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])
    surroundings = os.environ | {"PYTHONPATH": paths}
    return subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)


def test_what_is_wrong_is_said_in_the_shell(tmp_path: Path) -> None:
    (tmp_path / "villages.csv").write_text("value,count\nUpper,30\nLower,abc\n")
    failed = shell(tmp_path, "estimators", "--quick", "--data", "villages.csv")
    assert failed.returncode == 2
    assert "villages.csv is not a histogram (line 3: the count must be a whole number, but got 'abc')" in failed.stderr
    failed = shell(tmp_path, "grid", "--estimator", "mine:half")
    assert failed.returncode == 2
    assert "--estimator must be given with estimators, but the experiment is grid" in failed.stderr


@pytest.mark.long
def test_from_the_shell_with_an_estimator_and_data_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def half(counts, design):\n    return [1 / design.k] * design.k\n")
    (tmp_path / "villages.csv").write_text("value,count\nUpper,30\nLower,70\n")
    own = ("--estimator", "mine:half", "--data", "villages.csv", "--jobs", "2")
    done = shell(tmp_path, "estimators", "--quick", "--seeds", "2", "-o", "out", *own)
    assert done.returncode == 0, done.stderr
    tables = (tmp_path / "out" / "tables.md").read_text(encoding="utf-8")
    assert "| half |" in tables
    assert "RR, real data" in tables


@pytest.mark.long
def test_distributions_of_numbers_are_compared_as_well(tmp_path: Path) -> None:
    few = replace(TINY, numeric_seeds=1, numeric_answers=4, numeric_people=(200,))
    page = compare_at(few, tmp_path / "r", own=[], real=[], notes=[], workers=Workers())
    assert "Distributions of numbers under a square wave (9 settings)" in page.read_text(encoding="utf-8")
    tables = (tmp_path / "r" / "tables.md").read_text(encoding="utf-8")
    assert "| EMS | 1.00 | 1.00 | 1.00 | – | 1.00 | – |" in tables
    rows = json.loads((tmp_path / "r" / "numbers.json").read_text(encoding="utf-8"))
    assert {row["estimator"] for row in rows} == {"smooth", "mle", "EMS", "HH-ADMM"}
