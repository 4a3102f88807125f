"""Trends: groups that have an order are drawn along it, with a band for each of the most common answers."""

from __future__ import annotations

import datetime as dt
import re
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from cases import COIN
from warner import RandomizedResponse, Tally, UnaryEncoding, estimate
from warner.output.canvas import FIGURE_INCHES, NARROW_INCHES
from warner.output.estimate_plots import axis_of, pieces

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from warner import Estimate

SEVEN = RandomizedResponse([f"answer {i}" for i in range(7)], epsilon=3)


def grouped(values: list[Any], design: RandomizedResponse = SEVEN, counts: list[list[int]] | None = None) -> Estimate:
    rows = counts or [[60 - 5 * i + j for i in range(design.k)] for j in range(len(values))]
    return estimate(Tally(design, rows, by=("week",), groups=tuple((value,) for value in values)))


def drawn(result: Estimate, **options: Any) -> Axes:
    ax = result.plot(ax=Figure(figsize=(8, 5)).subplots(), **options)
    ax.figure.canvas.draw()
    return ax


def lines(ax: Axes) -> list[Any]:
    return [line for line in ax.lines if len(np.asarray(line.get_xdata()))]


def bands(ax: Axes) -> list[PolyCollection]:
    return [each for each in ax.collections if isinstance(each, PolyCollection)]


def notes(ax: Axes) -> str:
    return " ".join(text.get_text() for text in ax.texts).replace("\n", " ")


@pytest.mark.parametrize(
    ("values", "days"),
    [
        ([1, 2, 10], None),
        (["1", "2", "10"], None),
        ([0.5, 1.5, 4.0], None),
        (["2026-01-01", "2026-01-03", "2026-02-01"], [0, 2, 31]),
        (["2026-01-01 06:00:00", "2026-01-01T18:00:00", "2026-01-02 00:00:00.000"], [0.25, 0.75, 1]),
        (["2026-W01", "2026-W02", "2026-W53"], [-3, 4, 361]),  # the first week began on Monday, 29 December 2025
        (["2026-01", "2026-02", "2026-04"], [0, 31, 90]),
        (["2026-Q1", "2026Q2", "2026-Q4"], [0, 90, 273]),
    ],
)
def test_values_have_their_places(values: list[Any], days: list[float] | None) -> None:
    axis = axis_of(grouped(values).tally)
    assert axis is not None
    start = (dt.date(2026, 1, 1) - dt.date(1970, 1, 1)).days
    expected = [float(value) for value in values] if days is None else [start + day for day in days]
    assert_allclose(axis.positions, expected)
    assert axis.dates == (days is not None)


@pytest.mark.parametrize(
    "values",
    [
        ["north", "south", "west"],
        [1, 2],
        ["2026-01-01", "2026-02-30", "2026-03-01"],
        ["1", "2", "old"],
        ["1", "1.0", "2"],  # two names for one place
        [False, True, None],
    ],
)
def test_other_groups_have_no_order(values: list[Any]) -> None:
    assert axis_of(grouped(values).tally) is None


def test_two_columns_are_no_axis() -> None:
    tally = Tally(SEVEN, [[9] * 7] * 3, by=("week", "region"), groups=((1, "n"), (2, "n"), (3, "n")))
    assert axis_of(tally) is None


def test_the_most_common_answers_are_lines_with_bands_at_the_places_of_their_groups() -> None:
    values = [1, 2, 3, 4, 9, 10]
    result = grouped(values)
    ax = drawn(result)
    table = result.table()
    shares = 100 * table["share"].reshape(6, 7)
    assert ax.get_xlabel() == "week"
    for answer in range(5):
        mine = [line for line in lines(ax) if line.get_color() == lines(ax)[2 * answer].get_color()]
        assert [place for line in mine for place in line.get_xdata()] == values
        assert_allclose(np.concatenate([line.get_ydata() for line in mine]), shares[:, answer])
    # Weeks 5 to 8 are missing from a regular series: two pieces for each of five answers.
    assert len(lines(ax)) == len(bands(ax)) == 10
    assert "the 5 most common of 7 answers" in notes(ax)
    assert "bands: 95 % interval (population)" in notes(ax)
    assert "lines end where there are no reports" in notes(ax)
    (first, *_) = bands(ax)
    ends = np.asarray(first.get_paths()[0].vertices)[:, 1]
    low, high = 100 * table["low"].reshape(6, 7)[:4, 0], 100 * table["high"].reshape(6, 7)[:4, 0]
    assert_allclose([ends.min(), ends.max()], [low.min(), high.max()])
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [f"answer {i}" for i in range(5)]
    assert len(lines(drawn(result, rows=2))) == 4


def test_dates_are_an_axis_of_dates_in_true_proportion() -> None:
    ax = drawn(grouped(["2026-01-01", "2026-01-02", "2026-12-31"]))
    days = np.asarray(lines(ax)[0].get_xdata(orig=False))
    assert_allclose(np.diff(days), [1, 363])
    assert days[0] == (dt.date(2026, 1, 1) - dt.date(1970, 1, 1)).days


def test_texts_of_numbers_are_drawn_in_the_order_of_the_numbers() -> None:
    ax = drawn(grouped(["10", "9", "8", "11"]))  # as they come in a tally that was made by hand
    assert_allclose(np.asarray(lines(ax)[0].get_xdata()), [8, 9, 10, 11])


def test_two_answers_are_one_line_beside_what_was_reported() -> None:
    result = grouped([2024, 2025, 2026], COIN, [[40, 60], [45, 55], [50, 50]])
    ax = drawn(result)
    reported, estimated = lines(ax)
    assert_allclose(estimated.get_ydata(), 100 * result.shares[:, 0])
    assert_allclose(reported.get_ydata(), [40, 45, 50])
    assert ax.get_ylabel() == "share of respondents with the answer 'yes' (%)"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["2024", "2025", "2026"]


def test_groups_without_reports_or_without_a_value_are_gaps_that_are_told() -> None:
    counts = [[40, 60], [0, 0], [50, 50], [45, 55], [30, 70]]
    ax = drawn(grouped([1, 2, 3, 4, None], COIN, counts))
    assert len(bands(ax)) == 1  # of weeks 3 and 4; week 1 stands alone
    assert "the group without a value is not drawn" in notes(ax)
    assert "1 group has no reports" in notes(ax)


def test_where_series_are_cut() -> None:
    everywhere = np.ones(6, dtype=bool)
    months = np.array([0.0, 31, 59, 90, 120, 151])
    assert len(pieces(months, everywhere)) == 1
    uneven = np.array([1998.0, 2002, 2006, 2010, 2012, 2020])
    assert len(pieces(uneven, everywhere)) == 1  # surveys that are no regular series
    weeks = np.array([1.0, 2, 3, 4, 6, 7])
    assert [part.tolist() for part in pieces(weeks, everywhere)] == [[0, 1, 2, 3], [4, 5]]


def test_two_readings_of_one_share_are_both_drawn() -> None:
    design = UnaryEncoding(["yes", "no"], epsilon=1)
    tally = Tally(design, [[120, 150]] * 3, n=[360] * 3, by=("week",), groups=((1,), (2,), (3,)))
    assert len(bands(drawn(estimate(tally, method="inv")))) == 2


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_thousand_days_are_drawn(tmp_path: Path, ending: str) -> None:
    start = dt.date(2024, 1, 1)
    values = [(start + dt.timedelta(days=day)).isoformat() for day in range(1000)]
    grouped(values, COIN, [[40, 60]] * 1000).save_plot(tmp_path / f"trend.{ending}")
    assert (tmp_path / f"trend.{ending}").stat().st_size > 5000


def test_a_page_has_the_trend_and_headlines_of_its_ends(tmp_path: Path) -> None:
    result = grouped(["2026-W01", "2026-W02", "2026-W03", "2026-W04", "2026-W05"])
    result.save_page(tmp_path / "page.html")
    page = unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "Estimated shares" in page
    assert "Estimated and reported shares" not in page
    assert re.findall(r"<strong>(2026-W\d\d)</strong>: The leading", page) == ["2026-W01", "2026-W05"]
    assert "3 more groups are in the table" in page
    assert page.count("<svg") == 2  # for a wide window, and for a narrow one


@pytest.mark.parametrize("width", [FIGURE_INCHES, NARROW_INCHES])
def test_names_at_the_ends_stay_below_the_axis(width: float) -> None:
    figure = Figure(figsize=(width, 5), layout="constrained")
    ax = grouped(["2026-03-01", "2026-03-02", "2026-03-03"]).plot(ax=figure.subplots())
    figure.draw_without_rendering()
    inside, labels = ax.get_window_extent(), ax.get_xticklabels()
    assert len(labels) > 1
    for label in labels:
        named = label.get_window_extent()
        assert inside.x0 <= named.x0
        assert named.x1 <= inside.x1
