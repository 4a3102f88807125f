"""Figures show the right numbers in the right unit, over the whole domain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from experiment_cases import TINY, outcome
from experiments.pinzon2026 import complete, grid, overview, real
from experiments.pinzon2026.datasets import Histogram
from experiments.pinzon2026.methods import PAPER_METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

pytest.importorskip("matplotlib", reason="figures need Matplotlib, which is not installed")

# Errors are stored as sums over the K answers; the figures have squared error / K, bias and variance as they are.
OUTCOMES = {
    name: outcome(error, bias=error / 8)
    for name, error in zip((*PAPER_METHODS, "auto"), (1.0, 2.0, 3.0, 4.0, 5.0), strict=True)
}
GRID = dict.fromkeys(grid.surveys(TINY), OUTCOMES)
KOSARAK = Histogram("kosarak", "K", 1, 50, np.array([1, 2, 9]), np.array([5, 3, 2]), "", "page", "sessions")


def heights(axes: Axes) -> list[list[float]]:
    return [np.asarray(line.get_ydata()).tolist() for line in axes.get_lines()]


@pytest.mark.parametrize(("metric", "factor"), [("mse", 1 / 40), ("bias", 1 / 8), ("variance", 7 / 8)])
def test_the_overview_shows_means_over_the_answers(metric: str, factor: float) -> None:
    figure, _ = overview.figures(GRID, TINY, (metric,))[f"overview {metric} by N"]
    expected = sorted(factor * OUTCOMES[name].squared_error[0] for name in overview.ESTIMATORS_DRAWN[metric])
    assert sorted(values[0] for values in heights(figure.axes[0])) == pytest.approx(expected)
    assert ("mean over the K answers" in figure.axes[0].get_ylabel()) == (metric == "mse")


def test_the_estimator_of_the_smallest_predicted_error_is_not_called_auto_which_is_shrink_for_so_many_answers() -> None:
    figure, _ = overview.figures(GRID, TINY, ("mse",))["overview mse by N"]
    named = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    assert named == {"MLE*", "INVP", "INVN", "predicted", "INV"}


def test_the_complete_figure_shows_means_over_the_answers() -> None:
    figure, _ = complete.figures(GRID, TINY, ("mse",))["complete mse s=1.3"]
    panels = [axes for axes in figure.axes if axes.get_title() != "true share"]
    rows = sorted({values[0] for axes in panels for values in heights(axes) if len(values) == 2})
    assert rows == pytest.approx(sorted({error / k for k in (20, 40) for error in (1.0, 2.0, 3.0, 4.0)}))


def test_a_figure_of_real_data_shows_shares_and_means_over_the_answers() -> None:
    figure, caption = real.figures({"kosarak": {real.RealSurvey(KOSARAK, 3, 10): OUTCOMES}})["real kosarak"]
    left, right = figure.axes
    assert sorted(values[0] for values in heights(right)) == pytest.approx([0.02, 0.04, 0.06, 0.08])
    assert heights(left) == [[0.5, 0.3, 0.2]]
    assert (left.get_xlabel(), left.get_ylabel()) == ("page", "share of the sessions")
    assert "equal bins" in caption


def test_a_figure_of_real_data_shows_the_whole_domain() -> None:
    figure, caption = real.figures({"kosarak": {real.RealSurvey(KOSARAK, 3, 10): OUTCOMES}})["real kosarak"]
    low, high = figure.axes[0].get_xlim()
    assert low < 1
    assert high > 50
    assert "from 1 to 50" in caption


def test_a_figure_of_our_own_data_says_nothing_of_published_code() -> None:
    survey = real.RealSurvey(replace(KOSARAK, name="retail"), 3, 10)
    _, caption = real.figures({"retail": {survey: OUTCOMES}})["real retail"]
    assert "published" not in caption
