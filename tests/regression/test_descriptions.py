"""A regression in words: every number of its table is shown, and what it rests on is said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cases import DICE, DIRECT, THREE
from warner import regress, surveys
from warner.regression.descriptions import abridged
from warner.regression.formulas import Terms
from warner.results import typeset

if TYPE_CHECKING:
    from warner import Regression

WARNER = surveys.warner("3/4")
BELOW_THE_FLOOR = {"g": [0, 0, 1, 1], "answer": ["yes", "no"] * 2, "n": [70, 130, 25, 175]}
TWO_MAXIMA = {
    "x": np.repeat([0, 1, 2, 3, 12], 2),
    "answer": ["yes", "no"] * 5,
    "n": [50, 10, 27, 33, 30, 30, 5, 55, 42, 18],
}
GROUPS = {
    "region": np.repeat(["north", "south", "west"], 3),
    "answer": ["never", "once", "often"] * 3,
    "n": [450, 300, 250, 400, 320, 280, 360, 330, 310],
}


@pytest.fixture(scope="module")
def infinite() -> Regression:
    return regress("answer", BELOW_THE_FLOOR, DICE, on=["g"], counts="n")


@pytest.fixture(scope="module")
def three() -> Regression:
    return regress("answer", GROUPS, THREE, on=["region"], counts="n", reference="never")


def simulated(n: int = 400, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(15)
    return {"answer": rng.choice(["yes", "no"], n), "age": rng.integers(18, 60, n), **more}


def test_the_text_has_every_number_of_the_table(three: Regression) -> None:
    shown, table = typeset(three, 0.9, "wald"), three.table(0.9, "wald")
    assert shown.title == "Log-odds of each answer against 'never': answer ~ region"
    assert list(shown.columns) == ["answer", "term", "log-odds", "se", "90 % interval (Wald)", "p"]
    for name in ("answer", "term"):
        assert shown.columns[name] == table[name].tolist()
    ends = np.array([text.split(" to ") for text in shown.columns["90 % interval (Wald)"]], dtype=np.float64).T
    numbers = [np.array(shown.columns[name], dtype=np.float64) for name in ("log-odds", "se")]
    for name, column in zip(("estimate", "se", "low", "high"), (*numbers, *ends), strict=True):
        assert_allclose(column, table[name], atol=0.05 * table["se"].max())
    assert shown.columns["p"] == ["<0.001" if p < 0.001 else f"{p:.3f}" for p in table["p"]]
    lines = three.text(0.9, "wald").splitlines()
    for row, line in zip(zip(*shown.columns.values(), strict=True), lines[2:], strict=False):
        assert line.split() == " ".join(row).split()


def test_a_fit_says_whom_it_rests_on_and_what_is_assumed() -> None:
    data = simulated()
    data["answer"][:3] = ["?", "?", "?"]
    data["age"] = [None, None, *data["age"][2:].tolist()]
    text = regress("answer", data, WARNER, on=["age"], unknown="drop").text()
    assert "397 respondents used; 3 left out: 3 with an invalid report." in text
    assert re.search(r"are as informative as \d+ direct answers", text)
    assert "Log-odds of 'yes' against 'no': answer ~ age" in text
    assert "given the true answer, a report depends on nothing else" in text
    assert "covariates are stored in the clear; epsilon (1.099) bounds only what a report reveals" in text
    assert "400 respondents used; none left out." in regress("answer", simulated(), WARNER, on=["age"]).text()


def test_an_infinite_estimate_is_shown_with_its_reason(infinite: Regression) -> None:
    text = infinite.text()
    assert re.search(r"^g +-inf +-inf to -2\.166 +<0\.001$", text, re.MULTILINE)
    assert "No finite estimate is the most likely for g:" in text
    flat = " ".join(text.split())
    assert "The 200 people with g = 1 reported 'yes' in 12.5 %, less than the 16.7 %" in flat
    assert "78 direct answers, fewer than 100: intervals may cover less often than their level" in flat


def test_false_maxima_are_counted_and_never_called_proven() -> None:
    text = " ".join(regress("answer", TWO_MAXIMA, WARNER, on=["x"], counts="n").text().split())
    assert re.search(r"\d of \d+ starts ended at this maximum, the best of \d that were found\.", text)
    assert re.search(r"The next best, where \d starts? ended, is 3\.03 lower\.", text)
    assert "prove" not in text
    single = regress("answer", simulated(), WARNER, on=["age"]).text()
    assert re.search(r"All \d+ starts ended at this maximum, the only one that was found\.", " ".join(single.split()))


def test_each_kind_of_model_says_what_its_coefficients_are() -> None:
    people = simulated()
    options: dict[str, Any] = {"on": ["age"]}
    assert regress("answer", people, WARNER, model="linear", **options).text().startswith("Share of 'yes': ")
    assert regress("answer", people, WARNER, link="probit", **options).text().startswith("Share of 'yes', probit link")
    ordered = regress("answer", GROUPS, THREE, on=["region"], counts="n", model="ordered").text()
    assert ordered.startswith("Ordered answers ('never', 'once', 'often'), logit link: ")
    assert "never | once" in ordered
    assert "Levels are compared with region = north." in " ".join(ordered.split())
    penalised = regress("answer", people, WARNER, penalty="jeffreys", **options).text()
    assert "interval: none for penalized estimates" in penalised
    assert "Jeffreys' penalty makes every estimate finite" in penalised
    assert "Standard errors: from the expected information." in penalised
    assert "odds ratio" in regress("answer", people, WARNER, **options).text(odds=True)


def test_weights_clusters_and_several_designs_are_said() -> None:
    people = simulated(weight=np.tile([1.0, 2.0], 200), school=np.tile(np.arange(20), 20), how=["a", "b"] * 200)
    text = regress(
        "answer", people, {"a": WARNER, "b": DIRECT}, by="how", on=["age"], weights="weight", clusters="school"
    ).text()
    flat = " ".join(text.split())
    assert "interval (Wald)" in flat
    assert "Weighted log-likelihood" in flat
    assert "respondents of one cluster (20 of them) may be similar" in flat
    assert "Clusters are few or unequal: standard errors are bias-reduced (CR2)" in flat
    assert re.search(r"Student.s t with 1\d\.\d to 1\d\.\d degrees of freedom \(Satterthwaite\)", flat)
    assert "epsilon (a 1.099, b inf)" in flat
    assert "Where epsilon is inf, a report can reveal the answer." in flat


def test_lines_are_not_too_long(three: Regression, infinite: Regression) -> None:
    for fit in (three, infinite):
        assert max(map(len, fit.text(interval="wald").splitlines())) <= 120


def test_the_notebook_has_the_same_numbers_and_is_escaped() -> None:
    people = {"answer": simulated()["answer"], "<b>": simulated()["age"]}
    fit = regress("answer", people, WARNER, on=["<b>"])
    page = fit._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert f'<td align="right">{typeset(fit).columns["log-odds"][0]}</td>' in page
    assert "reports are assumed independent of the covariates" in page


def test_long_terms_are_cut_in_the_middle() -> None:
    assert abridged("age", 10) == "age"
    cut = abridged("x" * 60 + "[T.south]", 30)
    assert len(cut) == 30
    assert cut.endswith("[T.south]")
    assert len(abridged("x[T." + "y" * 60 + "]", 30)) == 30


def test_the_level_without_an_indicator_is_the_reference() -> None:
    levels = {"region": ("n", "s", "w"), "sex": ("f", "m")}
    names = ("Intercept", "region[T.n]", "region[T.w]", "C(sex)[f]", "C(sex)[m]")
    terms = Terms(names, {}, (), "", {}, levels, lambda _: np.empty((0, 5)))
    assert terms.references == [("region", "s")]
