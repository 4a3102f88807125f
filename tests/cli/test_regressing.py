"""`warner regress`: the numbers of the library in every form, and one clear line for every mistake."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from cli.shell import Prompt, fails, succeeds
from warner import RandomizedResponse, load_design, regress, surveys

if TYPE_CHECKING:
    from pathlib import Path

    from warner import Regression

DICE = surveys.forced_response(truth="3/4", yes="1/6")
DIRECT = RandomizedResponse(["yes", "no"], odds=(1, 0))
ON_AGE = ("regress", "people.csv", "answer", "--on", "age", "--design", "dice.json")
COUNTS = {("20", "dice"): (55, 45), ("30", "dice"): (45, 55), ("40", "dice"): (30, 70), ("20", "direct"): (30, 70)}
COUNTS |= {("40", "direct"): (12, 88)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two designs and a file of people, in counts."""
    DICE.save(tmp_path / "dice.json")
    DIRECT.save(tmp_path / "direct.json")
    RandomizedResponse(["never", "once", "often"], odds=(6, 1)).save(tmp_path / "spinner.json")
    rows = [
        f"{age},{'north' if place % 2 else 'south'},{place % 4},{how},{answer}"
        for (age, how), times in COUNTS.items()
        for answer, count in zip(("yes", "no"), times, strict=True)
        for place in range(count)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["age,region,school,how,answer", *rows]) + "\n")
    return tmp_path


def expected(folder: Path) -> Regression:
    return regress("answer", folder / "people.csv", load_design(folder / "dice.json"), on=["age"])


def test_the_same_numbers_in_every_form(prompt: Prompt) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    folder = prompt.folder
    fit = expected(folder)
    columns = {name: column.tolist() for name, column in fit.table(level=0.9).items()}
    command = (*ON_AGE, "--level", "0.9")
    printed = prompt.prints(*command, "--csv", "-o", "fit.json", "--plot", "fit.png")
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [row["term"] for row in rows] == columns["term"]
    for name in ("estimate", "se", "low", "high"):
        assert [float(row[name]) for row in rows] == columns[name]
    document = json.loads((folder / "fit.json").read_text())
    assert [row["estimate"] for row in document["coefficients"]] == columns["estimate"]
    assert (folder / "fit.png").stat().st_size > 1000
    asked = ("--predict", "age=20,40", "-o", "fit.parquet")
    assert "--predict is answered in the printed table and in JSON only" in prompt.complains(*command, *asked)
    text = prompt.prints(*command, "-o", "fit.parquet")
    assert text == fit.text(level=0.9) + "\n"
    assert pq.read_table(folder / "fit.parquet").to_pydict() == columns


def test_predictions_come_below_the_table_and_in_json(prompt: Prompt) -> None:
    fit = expected(prompt.folder)
    shares = fit.predict({"age": [20, 40]}, level=0.9)
    asked = ("--predict", "age=20,40", "--level", "0.9")
    assert prompt.prints(*ON_AGE, *asked) == f"{fit.text(level=0.9)}\n\n{shares.text()}\n"
    document = json.loads(prompt.prints(*ON_AGE, *asked, "--json"))
    assert document["predictions"] == shares.to_dict()


def test_several_designs_clusters_and_models(prompt: Prompt) -> None:
    data, how = prompt.folder / "people.csv", {"dice": DICE, "direct": DIRECT}
    designs = ("--by", "how", "--design", "dice=dice.json", "--design", "direct=direct.json")
    text = prompt.prints("regress", "people.csv", "answer", "--on", "age, how", *designs, "--interval", "wald")
    assert text == regress("answer", data, how, by="how", on=["age", "how"]).text(interval="wald") + "\n"
    options = ("--clusters", "school", "--link", "probit", "--reference", "yes")
    text = prompt.prints("regress", "people.csv", "answer", "--on", "age", *designs, *options)
    found = regress("answer", data, how, by="how", on=["age"], clusters="school", link="probit", reference="yes")
    assert text == found.text() + "\n"
    linear = prompt.prints(*ON_AGE, "--model", "linear")
    assert linear.startswith("Share of 'yes': answer ~ age\n")
    penalised = prompt.prints(*ON_AGE, "--penalty", "jeffreys", "--starts", "0")
    assert "none for penalized estimates" in penalised


def test_odds_ratios_are_called_so_in_every_form(prompt: Prompt) -> None:
    assert prompt.prints(*ON_AGE, "--odds").startswith("Odds ratios of 'yes' against 'no'")
    assert prompt.prints(*ON_AGE, "--odds", "--csv").startswith("term,answer,odds_ratio,se,")
    record = json.loads(prompt.prints(*ON_AGE, "--odds", "--json"))
    assert record["odds"]
    assert "odds_ratio" in record["coefficients"][0]
    for ending in ("md", "tex", "html"):
        prompt.prints(*ON_AGE, "--odds", "-o", f"table.{ending}")
        text = (prompt.folder / f"table.{ending}").read_text(encoding="utf-8")
        assert "odds ratio" in text
        assert "Odds ratios of" in text
        assert "estimate" not in text
        assert re.search(r"N = \d+ respondents", text)


def test_a_formula_and_standard_input(folder: Path) -> None:
    pytest.importorskip("formulaic")
    text = succeeds(
        folder,
        *("regress", "-", "answer ~ age + C(region)", "--design", "dice.json", "--interval", "wald"),
        input=(folder / "people.csv").read_text(),
    )
    assert "C(region)[T.south]" in text
    assert "Levels are compared with region = north." in text


def test_a_missing_package_is_named_with_its_extra(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "formulaic"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "formulaic", None)
    message = prompt.complains("regress", "people.csv", "answer ~ log(age)", "--design", "dice.json")
    assert "formulas need formulaic, which is not installed; install it, or warner with its extra [regress]" in message


def test_a_better_maximum_is_a_warning_in_one_line(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    from warner.regression import regressions

    def table(fit: Regression, *_: object, **__: object) -> object:
        warnings.warn("the estimate is a false optimum", stacklevel=2)
        return original(fit, interval="wald")

    original = regressions.Regression.table
    monkeypatch.setattr(regressions.Regression, "table", table)
    monkeypatch.setattr(sys, "argv", ["warner", *ON_AGE, "--csv", "-o", "fit.csv"])
    from warner.__main__ import main

    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    captured = prompt.capsys.readouterr().err
    assert captured == "warner: warning: the estimate is a false optimum\n"


FORMULA = ("regress", "people.csv", "answer ~ age", "--design", "dice.json")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("regress", "people.csv", "answer", "--design", "dice.json"), "or with --on, as --on age,region"),
        ((*FORMULA, "--on", "age"), "give the terms in the formula or with --on, not both"),
        (("regress", "people.csv", "answer", "--on", "age"), "give --design: the design file"),
        ((*ON_AGE, "--design", "direct.json"), "several designs need --by"),
        ((*ON_AGE, "--by", "how"), "with --by, --design must be NAME=FILE, NAME as in the column 'how'"),
        (
            (*ON_AGE[:-1], "a=dice.json", "--design", "a=direct.json", "--by", "how"),
            "--design must name each design once, but 'a' occurs twice",
        ),
        ((*ON_AGE, "--json", "--csv"), "give --json or --csv, not both"),
        (
            (*ON_AGE, "-o", "fit.txt"),
            "the output must end in .csv, .json, .parquet, .md, .tex or .html, but got fit.txt",
        ),
        ((*ON_AGE, "-o", "people.csv"), "--output must not be people.csv, which is the reports"),
        ((*ON_AGE, "--plot", "dice.json"), "--plot must not be dice.json, which is the design"),
        ((*ON_AGE, "--against", "age"), "--against is for --plot"),
        ((*ON_AGE[:-1], "nothing.json"), "there is no file nothing.json"),
        (("regress", "nothing.csv", *ON_AGE[2:]), "there is no file nothing.csv"),
    ],
)
def test_contradictions_are_refused_before_anything_is_read(
    prompt: Prompt, arguments: tuple[str, ...], words: str
) -> None:
    assert words in prompt.complains(*arguments)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("answer", "--on", "ages"), "there is no column 'ages'; did you mean 'age'?"),
        (("answr", "--on", "age"), "there is no column 'answr'; did you mean 'answer'?"),
        (("answer", "--on", "answer"), "the reports must not be a covariate as well, but 'answer' is on both sides"),
        (("region", "--on", "age"), "leave them out with --unknown drop"),
        (("answer", "--on", "age", "--weights", "w"), "there is no column 'w'"),
        (("answer", "--on", "age", "--model", "cubic"), "model must be one of multinomial, ordered, linear"),
        (("answer", "--on", "age", "--link", "log"), "link must be one of logit, probit, cloglog, cauchit"),
        (("answer", "--on", "age", "--errors", "small"), "errors must be one of observed, expected, opg, robust"),
        (("answer", "--on", "age", "--penalty", "ridge"), "penalty must be one of jeffreys, but got 'ridge'"),
        (("answer", "--on", "age", "--reference", "maybe"), "reference must be one of the answers"),
        (("answer", "--on", "age", "--level", "95"), "level must be between 0 and 1"),
        (("answer", "--on", "age", "--interval", "exact"), "interval must be one of auto, profile, wald"),
        (("answer", "--on", "age", "--clusters", "school", "--interval", "profile"), "use 'wald'"),
        (("answer", "--on", "age", "--strata", "school", "--clusters", "school"), "at least two clusters"),
        (("answer", "--on", "age", "--sampled", "0.5"), "--sampled must be left out without clusters, except in the"),
        (("answer", "--on", "age", "--clusters", "school", "--sampled", "3"), "above 0 and at most 1, but got 3.0"),
        (("answer", "--on", "age", "--clusters", "school", "--whole"), "--whole must be left out without clusters and"),
        (("answer", "--on", "age", "--link", "probit", "--odds"), "it has no odds ratios"),
        (("answer", "--on", "age", "--predict", "age"), "--predict must be NAME=VALUES, such as age=20,40"),
        (("answer", "--on", "age", "--predict", "height=3"), "must name covariates of the model (age)"),
        (("answer", "--on", "age", "--predict", "age=old"), "--predict must give numbers for age, but got 'old'"),
        (("answer", "--on", "age", "--predict", "age=1", "--predict", "age=2"), "'age' occurs twice"),
        (("answer", "--on", "region", "--predict", "region=east"), "but holds 'east'"),
        (("answer", "--on", "age", "--plot", "p.png", "--against", "region"), "against must be one of the model's"),
        (("answer", "--on", "age", "--plot", "p.gif"), "must end in .png, .svg, .pdf"),
    ],
)
def test_a_mistake_is_one_clear_line_in_the_words_of_the_shell(
    prompt: Prompt, options: tuple[str, ...], words: str
) -> None:
    message = prompt.complains("regress", "people.csv", *options, "--design", "dice.json")
    assert words in message
    assert "None" not in message
    assert "=" not in message.replace("age=20,40", "").replace("NAME=VALUES", "")


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("answer ~ ages", "there is no column 'ages'"),
        ("answer ~ age +", "formula must be one that can be read, but 'age +' cannot"),
        ("~ age", "formula must name the column of reports"),
        ("answer ~ age + I(2*age)", "I(2 * age) follows from age"),
        ("answer ~ log(age - 20)", "cannot be"),
    ],
)
def test_a_formula_that_cannot_be_is_refused(prompt: Prompt, formula: str, words: str) -> None:
    pytest.importorskip("formulaic")
    message = prompt.complains("regress", "people.csv", formula, "--design", "dice.json")
    assert words in message or "must be finite" in message


def test_designs_with_other_answers_are_refused(prompt: Prompt) -> None:
    designs = ("--by", "how", "--design", "dice=dice.json", "--design", "direct=spinner.json")
    message = prompt.complains("regress", "people.csv", "answer", "--on", "age", *designs)
    assert "designs must have the same answers in the same order" in message


def test_weights_that_are_no_numbers_are_named_with_their_column(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("answer,age,w\nyes,20,1.5\nno,30,south\n", encoding="utf-8")
    RandomizedResponse(["yes", "no"], truth="3/4").save(tmp_path / "d.json")
    said = fails(tmp_path, "regress", "r.csv", "answer", "--on", "age", "-d", "d.json", "--weights", "w")
    assert "r.csv cannot be read: column 'w' must hold numbers, but has 'south'" in said


def test_random_intercepts_in_every_form(prompt: Prompt) -> None:
    people = [
        f"{20 + place % 3},{school},{'yes' if place < 6 + 2 * school else 'no'}"
        for school in range(8)
        for place in range(30)
    ]
    lines = ["age,school,answer", *people]
    (prompt.folder / "schools.csv").write_text("\n".join(lines) + "\n")
    design = load_design(prompt.folder / "dice.json")
    fit = regress("answer ~ age + (1 | school)", prompt.folder / "schools.csv", design)
    formula = ("regress", "schools.csv", "answer ~ age + (1 | school)", "--design", "dice.json")
    named = ("regress", "schools.csv", "answer", "--on", "age", "--intercepts", "school", "--design", "dice.json")
    document = json.loads(prompt.prints(*formula, "--json", "--predict", "age=20", "--group-effects"))
    assert document["intercepts"]["spread"] == fit.spread().value
    assert document["group_effects"]["effects"][0]["effect"] == fit.effects().effects[0]
    assert document["predictions"]["shares"][0]["share"] == fit.predict({"age": [20]}).shares[0, 0]
    median = json.loads(prompt.prints(*named, "--json", "--predict", "age=20", "--effects", "median"))
    expected_share = fit.predict({"age": [20]}, effects="median").shares[0, 0]
    assert median["predictions"]["shares"][0]["share"] == pytest.approx(expected_share, rel=1e-9)
    assert "Spread between the 8 groups of 'school'" in prompt.prints(*named)
    assert "--effects is for --predict" in fails(prompt.folder, *formula, "--effects", "median")
    assert "--intercepts school" in fails(prompt.folder, *ON_AGE, "--group-effects")
    assert "name 'school' as clusters" in fails(prompt.folder, *named, "--weights", "age")


def test_rows_are_chosen_by_the_values_of_columns(folder: Path) -> None:
    chosen = json.loads(succeeds(folder, *ON_AGE, "--where", "how=dice", "--where", "region=north", "--json"))
    path = folder / "people.csv"
    fit = regress("answer", path, DICE, on=["age"], where={"how": "dice", "region": "north"})
    assert chosen == json.loads(fit.to_json())
    assert chosen["people"] < sum(map(sum, COUNTS.values()))
    assert "--where must be COLUMN=VALUE" in fails(folder, *ON_AGE, "--where", "dice")
    tested = ("associate", "people.csv", "answer=dice.json", "--numeric", "age", "--where", "how=dice")
    related = succeeds(folder, *tested)
    assert "300" in related
    assert "no column 'when'" in fails(folder, *tested, "--where", "when=1")
