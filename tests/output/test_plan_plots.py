"""Plots of plans (`output/plan_plots`): the plan is a point, its goal a dashed line, each epsilon a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from warner import RandomizedResponse, SubsetSelection, plan
from warner.surveys import forced_response

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes


def axes() -> Axes:
    return Figure(figsize=(8, 6), layout="constrained").subplots()


def facts(ax: Axes) -> str:
    return " ".join(text.get_text() for text in ax.texts)


def test_a_plan_is_a_point_on_its_line_and_its_goal_a_dashed_line(tmp_path: Path) -> None:
    made = plan(6, epsilon=1.9, half_width=0.05)
    ax = made.plot(title="Ours: $5 per head", ax=axes())
    assert ax.get_title("left") == "Ours: $5 per head"
    assert ax.get_ylabel() == "interval half-width (percentage points)"
    *lines, goal, point = ax.lines
    assert_allclose(np.asarray(goal.get_ydata()), 5)
    assert_allclose(np.asarray(point.get_xydata()), [[made.people, 100 * made.half_width]])
    names = [text.get_text() for text in ax.texts]
    assert names[: len(lines)] == [f"ε = {epsilon}" for epsilon in ("0.25", "0.5", "1", "1.9", "4")]  # 2 is too near
    shades = [to_rgb(one.get_color()) for one in lines]
    assert [sum(shade) for shade in shades] == sorted((sum(shade) for shade in shades), reverse=True)
    line = lines[3]
    assert_allclose(np.interp(made.people, np.asarray(line.get_xdata()), np.asarray(line.get_ydata())), 5, rtol=0.01)
    assert "6 answers · 95 % interval (population) · true share" in facts(ax)
    assert "black dashed line: the goal" in facts(ax)
    for ending in ("png", "svg", "pdf"):
        made.save_plot(tmp_path / f"plan.{ending}")
    with pytest.raises(ValueError, match=r"must end in \.png, \.svg, \.pdf, but got '.*plan\.gif'"):
        made.save_plot(tmp_path / "plan.gif")


@pytest.mark.parametrize("design", [RandomizedResponse(6, odds=(1, 0)), SubsetSelection(20, epsilon=1)])
def test_plans_of_any_design_are_drawn(design: RandomizedResponse | SubsetSelection) -> None:
    ax = plan(design, people=1000).plot(ax=axes())
    assert "dashed" not in facts(ax)
    assert f"ε = {design.shown_epsilon()}" in facts(ax)


def test_half_widths_beyond_the_whole_range_are_not_drawn() -> None:
    made = plan(6, epsilon=1, people=40)
    *lines, _ = made.plot(ax=axes()).lines
    assert 100 * made.table([0.25], [2])["half_width"][0] > 100
    assert 50 < max(np.nanmax(np.asarray(line.get_ydata())) for line in lines) <= 100


def test_a_plan_for_an_error_says_so() -> None:
    ax = plan(6, people=500, error=0.05).plot(ax=axes())
    assert ax.get_ylabel() == "root-mean-square error (percentage points)"
    assert "6 answers · of the unbiased shares, over all answers" in facts(ax)


def test_the_power_of_a_test_is_drawn_by_sample_size() -> None:
    made = plan(["yes", "no"], epsilon=1, shares=(0.4, 0.2))
    ax = made.plot(ax=axes())
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("power (%)", "respondents in each group")
    *lines, goal, point = ax.lines
    assert_allclose(np.asarray(goal.get_ydata()), 80)
    assert_allclose(np.asarray(point.get_xydata()), [[made.people, 100 * made.power]])
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [f"ε = {x}" for x in ("0.25", "0.5", "1", "2", "4")]
    for line, epsilon in zip(lines, (0.25, 0.5, 1.0, 2.0, 4.0), strict=True):
        n, power = np.asarray(line.get_xydata())[20]
        alone = plan(["yes", "no"], mechanism=made.design.mechanism, epsilon=epsilon, shares=(0.4, 0.2), people=int(n))
        assert_allclose(power, 100 * alone.power)
    assert "comparison of two shares, two-sided, at a significance level of 5 %" in facts(ax)
    assert f"point: {made.people:,} respondents in each group, ε = 1, power 80 %" in facts(ax)


@pytest.mark.parametrize("options", [{"reference": 0, "share": 0.2}, {"coefficient": 0.5, "share": 0.2, "people": 90}])
def test_other_tests_of_any_design_are_drawn(options: Any) -> None:
    kuk = forced_response(truth="2/3", yes="1/6")
    for design in (kuk, RandomizedResponse(["yes", "no"], odds=(1, 0))):
        made = plan(design, **options)
        ax = made.plot(ax=axes())
        assert ("dashed" in facts(ax)) == (made.solved_for == "people")
        planned = next(line for line in ax.lines if line.get_linewidth() > 2)
        drawn = np.asarray(planned.get_xydata())
        nearest = int(np.abs(np.log(drawn[:, 0] / made.people)).argmin())
        assert drawn[nearest, 0] == made.people
        assert_allclose(drawn[nearest, 1], 100 * made.power)
