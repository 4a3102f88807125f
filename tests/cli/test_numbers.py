"""Numbers in the shell: a grid, rounding, means, quantiles and shares beyond a number, as the library has them.

Tables of them are those of inference/quantities.py, shares those of inference/totals.py; words are read as values by
cli/values.py.
"""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import pytest

from warner import CutoffResponse, SquareWave, estimate, grid, load_design, regress, tally
from warner.results import typeset

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt

WAVE = SquareWave(grid(0, 100, 10), epsilon=2)


@pytest.fixture
def reports(prompt: Prompt) -> Path:
    """Write reports of 600 people in two regions, and the design."""
    WAVE.save(prompt.folder / "wave.json")
    rng = np.random.default_rng(1)
    held = np.array(WAVE.domain)[rng.choice(11, size=600, p=np.arange(1, 12) / 66)]
    lines = [f"{report},{'north' if i % 2 else 'south'}" for i, report in enumerate(WAVE.randomize(held.tolist()))]
    path = prompt.folder / "incomes.csv"
    path.write_text("\n".join(["income,region", *lines]) + "\n")
    return path


def test_designs_for_numbers_are_made_of_their_grid(prompt: Prompt) -> None:
    words = ("--from", "0", "--to", "200000", "--step", "1000", "--epsilon", "1")
    prompt.prints("design", "square wave", *words, "-o", "wave.json")
    assert load_design(prompt.folder / "wave.json") == SquareWave(grid(0, 200_000, 1_000), epsilon=1)
    prompt.prints(
        "design", "square-wave", "--from", "18", "--to", "99", "--epsilon", "1", "--quantity", "mean", "-o", "age.json"
    )
    assert load_design(prompt.folder / "age.json") == SquareWave(range(18, 100), epsilon=1, quantity="mean")
    prompt.prints(
        "design", "cutoff response", "--from", "0", "--to", "1", "--step", "0.1", "--epsilon", "0.5", "-o", "cut.json"
    )
    assert load_design(prompt.folder / "cut.json") == CutoffResponse(grid(0, 1, "0.1"), epsilon="0.5")
    assert "need --from and --to" in prompt.complains("design", "square-wave", "--to", "9", "--epsilon", "1")
    assert "in one way" in prompt.complains(
        "design", "square-wave", "--from", "0", "--to", "9", "--size", "9", "--epsilon", "1"
    )
    wrong = prompt.complains("design", "square-wave", "--from", "0", "--to", "10", "--step", "3", "--epsilon", "1")
    assert "--to must be a whole number of steps above the lower end" in wrong


def test_numbers_are_rounded_before_they_are_randomized(prompt: Prompt) -> None:
    WAVE.save(prompt.folder / "wave.json")
    (prompt.folder / "answers.csv").write_text("income\n36.6\n250\n-3\n50\n")
    wrong = prompt.complains("randomize", "answers.csv", "-d", "wave.json", "-o", "out.csv")
    assert "in row 1 it is missing or not in it" in wrong
    assert "--nearest" in wrong
    assert "36.6" not in wrong
    assert not (prompt.folder / "out.csv").exists()
    prompt.prints("randomize", "answers.csv", "-d", "wave.json", "--nearest", "-o", "out.csv")
    assert tally(prompt.folder / "out.csv", WAVE, column="income").n == 4
    (prompt.folder / "texts.csv").write_text("income\nmuch\n")
    assert "row 1" in prompt.complains("randomize", "texts.csv", "-d", "wave.json", "--nearest", "-o", "no.csv")


def test_means_quantiles_and_shares_are_those_of_the_library(prompt: Prompt, reports: Path) -> None:
    asked = ("--mean", "--standard-deviation", "--median", "--quantile", "0.9", "--above", "50", "--below", "20")
    base = ("estimate", "incomes.csv", "-c", "income", "-d", "wave.json")
    document = json.loads(prompt.prints(*base, *asked, "--json"))
    result = estimate(tally(reports, WAVE, column="income"))
    assert document["method"] == "smooth"
    assert document["mean"] == result.mean().to_dict()
    assert document["standard_deviation"] == result.standard_deviation().to_dict()
    assert document["quantiles"] == [result.median().to_dict(), result.quantile(0.9).to_dict()]
    assert document["shares"] == [result.interval(above=50).to_dict(), result.interval(below=20).to_dict()]
    text = prompt.prints(*base, *asked)
    for number in result._summaries():  # the table
        assert all(one in text for one in number.value_texts()[0])
    for found in (result.quantile(0.9), result.interval(above=50)):
        assert found.text() in text
    grouped = json.loads(prompt.prints(*base, "--by", "region", "--mean", "--between", "north,south", "--json"))
    by_region = estimate(tally(reports, WAVE, column="income", by="region"))
    assert grouped["mean"] == by_region.mean().to_dict()
    assert grouped["difference"] == by_region.compare_means(("north", "south")).to_dict()


def test_answers_that_stand_for_numbers(prompt: Prompt) -> None:
    prompt.prints("design", "never", "once, or twice", "often", "--odds", "9:1", "-o", "often.json")
    (prompt.folder / "said.csv").write_text("said\n" + "never\n" * 60 + '"once, or twice"\n' * 30 + "often\n" * 20)
    base = ("estimate", "said.csv", "-d", "often.json", "-c", "said", "--mean", "--json")
    found = json.loads(prompt.prints(*base, "--values", "never=0, once, or twice=1.5,often=5"))
    expected = estimate(tally(prompt.folder / "said.csv", load_design(prompt.folder / "often.json"), column="said"))
    assert found["mean"] == expected.mean([0, 1.5, 5]).to_dict()
    beyond = ("--standard-deviation", "--above", "1", "--values", "never=0, once, or twice=1.5,often=5")
    found = json.loads(prompt.prints(*base, *beyond))
    assert found["standard_deviation"] == expected.standard_deviation([0, 1.5, 5]).to_dict()
    assert found["shares"] == [expected.interval(above=1, values=[0, 1.5, 5]).to_dict()]
    said = prompt.prints(*base[:-2], *beyond)
    assert expected.standard_deviation([0, 1.5, 5]).text().strip("<>") in said
    assert "answers must be numbers, but 'never' is not a number" in prompt.complains(*base)
    assert "--values must name answers with their numbers" in prompt.complains(*base, "--values", "never")
    assert "--values needs --mean" in prompt.complains(
        "estimate", "said.csv", "-d", "often.json", "--values", "never=1"
    )
    assert "--between needs --compare" in prompt.complains(
        "estimate", "said.csv", "-d", "often.json", "--between", "a,b"
    )
    quantile = prompt.complains(
        "estimate", "said.csv", "-d", "often.json", "-c", "said", "--quantile", "90", "--values", "numbers"
    )
    assert "between 0 and 1" in quantile


def test_a_number_is_regressed(prompt: Prompt, reports: Path) -> None:
    model = ("incomes.csv", "income ~ region", "-d", "wave.json", "--model", "linear")
    said = prompt.prints("regress", *model, "--values", "numbers", "--predict", "region=north,south")
    assert "Mean of income: income ~ region" in said
    assert "region  mean" in " ".join(said.split()).replace("region mean", "region  mean")
    told = json.loads(prompt.prints("regress", *model, "--values", "numbers", "--json"))
    fit = regress("income ~ region", str(reports), WAVE, model="linear", values="numbers")
    assert told["values"] == "numbers"
    assert [row["estimate"] for row in told["coefficients"]] == fit.coefficients.tolist()
    doubled = ",".join(f"{10 * i}={20 * i}" for i in range(11))
    told = json.loads(prompt.prints("regress", *model, "--values", doubled, "--json"))
    assert [row["estimate"] for row in told["coefficients"]] == pytest.approx((2 * fit.coefficients).tolist())
    assert "--values must have a number for each answer" in prompt.complains("regress", *model, "--values", "0=1")
    wrong = prompt.complains("regress", *model[:-2], "--values", "numbers")
    assert "--values must come with --model linear" in wrong


def test_the_distribution_function_is_drawn(prompt: Prompt, reports: Path) -> None:
    words = ("estimate", str(reports), "--column", "income", "-d", "wave.json")
    prompt.prints(*words, "--plot", "f.svg", "--cumulative")
    assert "share of respondents up to each answer (%)" in (prompt.folder / "f.svg").read_text()
    assert "--cumulative is for --plot" in prompt.complains(*words, "--cumulative")


def test_quantiles_by_smooth_say_that_they_are_approximate(prompt: Prompt, reports: Path) -> None:
    words = ("estimate", str(reports), "--column", "income", "-d", "wave.json")
    told = json.loads(prompt.prints(*words, "--median", "--quantile-method", "smooth", "--json"))["quantiles"][0]
    result = estimate(tally(str(reports), WAVE, column="income")).median(method="smooth")
    assert (told["low"], told["high"], told["method"], told["approximate"]) == (result.low, result.high, "smooth", True)
    assert "approximate 95 % interval" in prompt.prints(*words, "--median", "--quantile-method", "smooth")
    assert "--quantile-method needs --median or --quantile" in prompt.complains(*words, "--quantile-method", "smooth")
    wrong = prompt.complains(*words, "--method", "mle", "--median", "--quantile-method", "spline")
    assert '--quantile-method must be "smooth"' in wrong
    several = prompt.complains(*words, "--median", "--quantile-method", "smooth", "--anytime")
    assert "smooth quantiles are for one look" in several


def test_the_share_between_two_numbers(prompt: Prompt, reports: Path) -> None:
    words = ("estimate", str(reports), "--column", "income", "--design", "wave.json", "--within", "20,50")
    found = estimate(tally(reports, WAVE, column="income")).interval(within=(20, 50))
    (told,) = json.loads(prompt.prints(*words, "--json"))["shares"]
    assert (told["share_of"], told["low"], told["high"]) == ("within 20 to 50", found.low, found.high)
    assert "within 20 to 50" in prompt.prints(*words)
    assert "--within must be two numbers, as 18,25, but got '20'" in prompt.complains(*words[:-1], "20")
    assert "within must leave some answers" in prompt.complains(*words[:-1], "1,2")


def test_a_deck_of_cards_says_its_epsilon_before_the_survey_begins(prompt: Prompt) -> None:
    deck = ("design", "cards", "truth=1/2", "say 0=1/6", "say 1=1/6", "say 2=1/6", "--size", "3", "-o", "deck.json")
    _, told = prompt.notes(*deck)
    assert "epsilon 1.387" in told
    assert load_design(prompt.folder / "deck.json").epsilon == pytest.approx(np.log(4))
    _, told = prompt.notes("design", "cards", "truth=1/2", "say 0=1/2", "--from", "0", "--to", "4", "-o", "open.json")
    assert "reveal a respondent's number for certain" in told
    assert "epsilon inf" in told
    assert "a card needs its instruction" in prompt.complains("design", "cards", "truth", "--size", "3")
    assert "give --from and --to" in prompt.complains("design", "cards", "truth=1")
    assert "cards take only" in prompt.complains("design", "cards", "truth=1", "--size", "3", "--epsilon", "1")
    assert "must sum to 1" in prompt.complains("design", "cards", "truth=1/2", "--size", "3")


BAD_NUMBERS = [
    (("design", "square-wave", "--from", "0", "--to", "100", "--step", "7", "--epsilon", "1"), "step"),
    (("design", "square-wave", "--from", "0", "--to", "inf", "--epsilon", "1"), "--to"),
    (("design", "square-wave", "--from", "0", "--to", "1e30", "--epsilon", "1"), ""),
    (("design", "square-wave", "--answers", "5", "3", "8", "--integers", "--epsilon", "1"), "ascending order"),
    (("randomize", "answers.csv", "--column", "income", "--design", "wave.json", "-o", "out.csv"), "--nearest"),
    (
        ("estimate", "incomes.csv", "--column", "income", "--design", "wave.json", "--quantile", "1.5"),
        "between 0 and 1",
    ),
    (("tally", "incomes.csv", "--column", "income", "--design", "wave.json", "--missing", "-10"), "not reports"),
]


@pytest.mark.parametrize(("words", "message"), BAD_NUMBERS, ids=lambda case: " ".join(case)[:60])
def test_bad_numbers_are_one_clear_line(prompt: Prompt, reports: Path, words: tuple[str, ...], message: str) -> None:
    assert reports.exists()
    (prompt.folder / "answers.csv").write_text("income\n10\n13\n")
    said = prompt.complains(*words)
    assert message in said
    assert said.startswith("warner: ")
    assert said.count("\n") == 1
    assert not (prompt.folder / "out.csv").exists()


ASKED = ("--mean", "--median", "--quantile", "0.9", "--above", "50", "--within", "20,50")


def test_quantities_in_csv_are_those_of_json(prompt: Prompt, reports: Path) -> None:
    base = ("estimate", str(reports), "-c", "income", "-d", "wave.json", *ASKED)
    document = json.loads(prompt.prints(*base, "--totals", "--population", "1000", "--json"))
    rows = list(csv.DictReader(prompt.prints(*base, "--totals", "--population", "1000", "--csv").splitlines()))
    told = [document["mean"], *document["quantiles"], *document["shares"]]
    names = [
        ("mean", ""),
        ("quantile", "0.5"),
        ("quantile", "0.9"),
        ("share", "above 50"),
        ("share", "within 20 to 50"),
    ]
    assert [(row["quantity"], row["of"]) for row in rows[:5]] == names
    for row, one in zip(rows, told, strict=False):
        assert [float(row[name]) for name in ("value", "low", "high")] == [
            one[name] for name in ("value", "low", "high")
        ]
        assert (row["interval"], row["approximate"]) == (one["method"], str(one["approximate"]))
        assert float(row["se"]) == one["se"] if "se" in one else row["se"] == "nan"
    totals = document["totals"]
    assert [(row["quantity"], row["of"]) for row in rows[5:]] == [("total", str(label)) for label in totals["answers"]]
    assert [float(row["value"]) for row in rows[5:]] == totals["value"]
    assert [float(row["high"]) for row in rows[5:]] == totals["high"]


def test_quantities_of_groups_in_every_table(prompt: Prompt, reports: Path) -> None:
    base = (
        "estimate",
        str(reports),
        "-c",
        "income",
        "-d",
        "wave.json",
        "--by",
        "region",
        *ASKED,
        "--between",
        "north,south",
    )
    document = json.loads(prompt.prints(*base, "--json"))
    text = prompt.prints(*base, "--csv")
    rows = list(csv.DictReader(text.splitlines()))
    prompt.prints(*base, "-o", "quantities.csv")
    assert (prompt.folder / "quantities.csv").read_text() == text
    means = [row for row in rows if row["quantity"] == "mean"]
    assert [[row["region"]] for row in means] == document["mean"]["groups"]
    assert [float(row["high"]) for row in means] == document["mean"]["high"]
    (difference,) = (row for row in rows if row["quantity"] == "difference of means")
    assert (difference["region"], difference["of"]) == ("", "north against south")
    for name, column in (("difference", "value"), ("low", "low"), ("high", "high"), ("p_value", "p_value")):
        assert float(difference[column]) == document["difference"][name]
    prompt.prints(*base, "-o", "quantities.parquet")
    stored = pq.read_table(prompt.folder / "quantities.parquet").to_pylist()
    assert [str(row["value"]) for row in stored] == [row["value"] for row in rows]
    prompt.prints(*base, "-o", "quantities.md")
    paper = (prompt.folder / "quantities.md").read_text()
    assert sum(line.startswith(("| north", "| south")) for line in paper.splitlines()) == len(rows) - 1
    assert "N = 600 reports among 11 answers, epsilon 2, estimator smooth." in paper
    wrong = prompt.complains(*base, "--csv", "--present", "--commonest", "2")
    assert "--commonest and --present are answered in the printed table and in JSON only" in wrong


def test_mean_and_median_are_said_once(prompt: Prompt, reports: Path) -> None:
    base = ("estimate", str(reports), "-c", "income", "-d", "wave.json")
    asked = prompt.prints(*base, "--mean", "--median", "--quantile", "0.9")
    assert [asked.count(f"\n{name} ") for name in ("mean", "median", "standard deviation", "90 % quantile")] == [1] * 4
    doubled = ",".join(f"{10 * i}={20 * i}" for i in range(11))  # another mean than that of the answers
    assert prompt.prints(*base, "--mean", "--values", doubled).count("\nmean ") == 2


def test_the_share_beyond_a_number_is_that_of_the_shares(prompt: Prompt, reports: Path) -> None:
    words = ("estimate", str(reports), "-c", "income", "-d", "wave.json", "--by", "region", "--above", "50")
    result = estimate(tally(reports, WAVE, column="income", by="region"))
    found = result.interval(above=50)
    inside = np.clip(result.shares[:, 6:].sum(axis=1), found.low, found.high)
    assert found.table()["value"].tolist() == inside.tolist()
    said = prompt.prints(*words)
    assert found.text() in said
    shown = typeset(found).columns
    assert shown["region"] == ["north", "south"]
    assert [float(text) for text in shown["share above 50 (%)"]] == pytest.approx(100 * inside, abs=0.051)
