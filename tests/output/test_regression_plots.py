"""Pictures of regressions: they show what the table has, and hide nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.image as mpimg
import numpy as np
import pytest
from numpy.testing import assert_allclose

from cases import DICE, DIRECT, THREE
from warner import regress, surveys
from warner.output.regression_plots import COEFFICIENTS_DRAWN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warner import Regression

WARNER = surveys.warner("3/4")
BELOW_THE_FLOOR = {"g": [0, 0, 1, 1], "answer": ["yes", "no"] * 2, "n": [70, 130, 25, 175]}
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
