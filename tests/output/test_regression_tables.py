"""A regression in words and pictures: what is said is what the table has, and nothing is hidden.

It tests output/regression_plots.py as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.image as mpimg
import numpy as np
import pytest
from numpy.testing import assert_allclose

from cases import DICE, DIRECT, THREE
from warner import regress, surveys
from warner.output.regression_plots import COEFFICIENTS_DRAWN
from warner.output.regression_tables import abridged, decimals
from warner.regression.formulas import references

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


@pytest.fixture(autouse=True)
def _no_display() -> Iterator[None]:
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def infinite() -> Regression:
    return regress("answer", BELOW_THE_FLOOR, DICE, on=["g"], counts="n")


@pytest.fixture(scope="module")
def three() -> Regression:
    return regress("answer", GROUPS, THREE, on=["region"], counts="n", reference="never")


def simulated(n: int = 400, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(15)
    return {"answer": rng.choice(["yes", "no"], n), "age": rng.integers(18, 60, n), **more}


# Words


def test_the_text_has_every_number_of_the_table(three: Regression) -> None:
    text, table = three.text(0.9, "wald"), three.table(0.9, "wald")
    assert text.startswith("Log-odds of each answer against 'never': answer ~ region\n")
    assert "90 % interval (Wald)" in text
    lines = text.splitlines()
    blocks = [lines.index("once"), lines.index("often")]
    for place, (term, answer) in enumerate(zip(table["term"], table["answer"], strict=True)):
        block = blocks[0] if answer == "once" else blocks[1]
        line = next(line for line in lines[block:] if line.startswith(f"  {term} "))
        numbers = [float(word) for word in line.split()[1:] if word != "to"]
        names = ("estimate", "se", "statistic", "p", "low", "high")
        assert_allclose(numbers, [table[name][place] for name in names], rtol=0.06, atol=6e-3)


def test_columns_are_aligned(three: Regression) -> None:
    rows = [line for line in three.text(interval="wald").splitlines() if line.startswith("  ")]
    assert len({line.index(" to ") for line in rows}) == 1
    assert len({len(line) for line in rows}) == 1


def test_a_fit_says_whom_it_rests_on_and_what_is_assumed() -> None:
    data = simulated()
    data["answer"][:3] = ["?", "?", "?"]
    data["age"] = [None, None, *data["age"][2:].tolist()]
    text = regress("answer", data, WARNER, on=["age"], unknown="drop").text()
    assert "397 people used; 3 left out (3 with a report that the design cannot give)." in text
    assert re.search(r"are as informative as \d+ direct answers", text)
    assert "Log-odds of 'yes' against 'no': answer ~ age" in text
    assert "given the true answer, a report depends on nothing else" in text
    assert "covariates are stored in the clear; epsilon (1.099) bounds only what a report reveals" in text
    assert "nobody was left out" in regress("answer", simulated(), WARNER, on=["age"]).text()


def test_an_infinite_estimate_is_shown_with_its_reason(infinite: Regression) -> None:
    text = infinite.text()
    assert re.search(r"^g +-inf +- +-5\.12 +3\.1e-07 +-inf to -2\.166$", text, re.MULTILINE)
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
    assert re.search(r"All \d+ starts ended at this maximum, the only one that was found\.", single)


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
    assert "interval: none for penalised estimates" in penalised
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
    assert "people of one cluster (20 of them) may be alike" in flat
    assert "Clusters are few or unequal: standard errors are bias-reduced (CR2)" in flat
    assert re.search(r"Student.s t with 1\d\.\d to 1\d\.\d degrees of freedom \(Satterthwaite\)", flat)
    assert "epsilon (a 1.099, b inf)" in flat
    assert "Where epsilon is inf, a report can give the answer away." in flat


def test_lines_are_not_too_long(three: Regression, infinite: Regression) -> None:
    for fit in (three, infinite):
        assert max(map(len, fit.text(interval="wald").splitlines())) <= 120


def test_the_notebook_has_the_same_numbers_and_is_escaped() -> None:
    people = {"answer": simulated()["answer"], "<b>": simulated()["age"]}
    fit = regress("answer", people, WARNER, on=["<b>"])
    page = fit._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert f"<td>{fit.coefficients[0]:.3f}</td>" in page
    assert "stored in the clear" in page


def test_long_terms_are_cut_in_the_middle() -> None:
    assert abridged("age", 10) == "age"
    cut = abridged("x" * 60 + "[T.south]", 30)
    assert len(cut) == 30
    assert cut.endswith("[T.south]")
    assert len(abridged("x[T." + "y" * 60 + "]", 30)) == 30


def test_decimals_show_two_digits_of_the_smallest_error() -> None:
    assert decimals(np.array([0.5]), np.array([1.0])) == 3
    assert decimals(np.array([0.00042]), np.array([1.0])) == 5
    assert decimals(np.array([1e-9]), np.array([1.0])) is None
    assert decimals(np.array([1.0]), np.array([1e7])) is None
    assert decimals(np.array([np.nan]), np.array([np.inf])) == 3


def test_the_level_without_an_indicator_is_the_reference() -> None:
    levels = {"region": ("n", "s", "w"), "sex": ("f", "m")}
    names = ["Intercept", "region[T.n]", "region[T.w]", "C(sex)[f]", "C(sex)[m]"]
    assert references(names, levels) == [("region", "s")]


# Pictures


def drawn(fit: Regression, **options: Any) -> Any:
    ax = fit.plot(**options)
    ax.figure.canvas.draw()
    return ax


def notes(ax: Any) -> str:
    return " ".join(text.get_text() for text in ax.texts).replace("\n", " ")


def test_coefficients_are_dots_with_their_intervals(three: Regression) -> None:
    ax = drawn(three, interval="wald")
    table = three.table(interval="wald")
    slopes = table["term"] != "Intercept"
    dots = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert_allclose(dots, table["estimate"][slopes])
    spans = [line.get_xdata() for line in ax.lines if line.get_color() == "#0072b2" and len(line.get_xdata()) == 2]
    assert_allclose(spans, np.column_stack([table["low"][slopes], table["high"][slopes]]))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["region[T.south]", "region[T.west]"] * 2
    assert "intercepts not drawn" in notes(ax)
    assert "once" in notes(ax)
    assert ax.get_title(loc="left") == "Log-odds of each answer against 'never'"


def test_infinite_ends_are_arrows_at_the_edge(infinite: Regression) -> None:
    ax = drawn(infinite)
    (arrow,) = [line for line in ax.lines if line.get_marker() == "<"]
    assert arrow.get_xdata()[0] == ax.get_xlim()[0]
    assert not [line for line in ax.lines if line.get_marker() in {"o", ">"}]
    assert "arrows: to infinity · no finite estimate where there is no dot" in notes(ax)
    low, high = ax.get_xlim()
    assert low < -2.166 < 0 < high


def test_odds_ratios_are_on_the_axis(three: Regression) -> None:
    ax = drawn(three, odds=True, interval="wald")
    labels = {float(label.get_text()): label.get_position()[0] for label in ax.get_xticklabels()}
    assert_allclose(np.log(list(labels)), list(labels.values()))
    assert len(labels) > 2


def test_a_model_without_slopes_shows_its_intercept() -> None:
    ax = drawn(regress("answer", simulated(), WARNER, on=[]))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Intercept"]
    assert "not drawn" not in notes(ax)


def test_too_many_coefficients_are_cut_and_said() -> None:
    level = np.tile([f"level {number:02}" for number in range(70)], 40)
    fit = regress("answer", {"answer": ["yes", "no"] * 1400, "level": level}, DIRECT, on=["level"], model="linear")
    ax = drawn(fit)
    assert len(ax.get_yticklabels()) == COEFFICIENTS_DRAWN
    assert f"the first {COEFFICIENTS_DRAWN} coefficients of 70" in notes(ax)


def test_shares_against_numbers_are_lines_with_bands() -> None:
    fit = regress("answer", simulated(), WARNER, on=["age"])
    ax = drawn(fit, against="age")
    line = ax.lines[0]
    expected = fit.predict({"age": line.get_xdata()})
    assert_allclose(line.get_ydata(), 100 * expected.shares[:, 0])
    assert len(ax.lines) == 1  # of two answers the first says it all
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert_allclose([band.min(), band.max()], [100 * expected.low[:, 0].min(), 100 * expected.high[:, 0].max()])
    assert "band: 95 % interval" in notes(ax)
    assert ax.get_title(loc="left") == "Predicted share of 'yes', by age"


def test_shares_against_levels_are_points(three: Regression) -> None:
    ax = drawn(three, against="region", level=0.9)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["north", "south", "west"]
    expected = three.predict({"region": ["north", "south", "west"]}, level=0.9)
    assert_allclose([line.get_ydata() for line in ax.lines], 100 * expected.shares.T)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["never", "once", "often"]
    few = drawn(regress("answer", BELOW_THE_FLOOR, DICE, on=["g"], counts="n"), against="g")
    assert [label.get_text() for label in few.get_xticklabels()] == ["0", "1"]


def test_a_picture_against_nothing_known_is_refused(three: Regression) -> None:
    with pytest.raises(ValueError, match=r"against must be one of the model's covariates \('region'\), but got 'age'"):
        three.plot("age")


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_are_written(three: Regression, tmp_path: Path, ending: str) -> None:
    for against in (None, "region"):
        path = tmp_path / f"picture.{ending}"
        three.save_plot(path, against, title="Who & why: $5", interval="wald")
        assert path.stat().st_size > 1000
        if ending == "png":
            assert mpimg.imread(path).shape[1] == 1200
