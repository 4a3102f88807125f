"""Ordered answers in pictures, tables and pages: they keep their order, and say mean and median."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from warner import RandomizedResponse, SquareWave, Tally, estimate
from warner.results import typeset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def wave(k: int, epsilon: float = 2.0, n: int = 5000) -> Any:
    """Estimate numbers whose shares rise and fall, under a square wave."""
    design = SquareWave(k, epsilon=epsilon)
    shares = np.sin(np.linspace(0.1, 3.0, k))
    return estimate(Tally(design, design.simulate(shares / shares.sum(), n, rng=np.random.default_rng(k))))


def labels_of(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_few_ordered_answers_are_bars_in_their_order() -> None:
    ordered = wave(6).plot()
    assert [tick.get_text() for tick in ordered.get_yticklabels()] == list("012345")
    others = estimate(Tally(RandomizedResponse(4, odds=(9, 1)), [10, 80, 30, 40])).plot()
    assert [tick.get_text() for tick in others.get_yticklabels()] == ["1", "3", "2", "0"]
    asked = estimate(Tally(RandomizedResponse(4, odds=(9, 1)), [10, 80, 30, 40]), method="smooth").plot()
    assert [tick.get_text() for tick in asked.get_yticklabels()] == list("0123")


@pytest.mark.parametrize("k", [50, 1000])
def test_a_fine_grid_is_one_area_with_its_mean(k: int) -> None:
    result = wave(k)
    ax = result.plot()
    area = ax.collections[0].get_paths()[0].vertices
    assert area[:, 1].max() == pytest.approx(100 * result.shares.max())
    assert len(ax.get_xticklabels()) < 20
    mean = result.mean()
    assert f"mean {', '.join(mean.value_texts()[0])}" in labels_of(ax)
    assert ax.lines[0].get_xdata()[0] == pytest.approx(mean.value)
    said = " ".join(text.get_text() for text in ax.texts)
    assert "intervals of single answers reach up to" in said
    assert "lead" not in said


def test_short_intervals_are_drawn_and_texts_are_named_along_the_axis() -> None:
    names = [f"level {place}" for place in range(40)]
    counts = np.full(40, 100_000)
    ax = estimate(Tally(RandomizedResponse(names, odds=(10**6, 1)), counts), method="smooth").plot()
    assert labels_of(ax) == ["estimated", "95 % interval (population)"]
    assert ax.get_xticklabels()[0].get_text() == "level 0"


@pytest.mark.parametrize("k", [5, 50])
@pytest.mark.parametrize("simultaneous", [False, True])
def test_the_distribution_function_has_the_limits_of_cumulative_intervals(k: int, simultaneous: bool) -> None:
    result = wave(k)
    ax = result.plot(cumulative=True, simultaneous=simultaneous)
    assert_allclose(ax.lines[0].get_ydata(), 100 * result.shares.cumsum())
    found = result.interval(cumulative=True, simultaneous=simultaneous)
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(100 * found.low.min())
    assert band[:, 1].max() == pytest.approx(100)
    assert f"median {', '.join(result.median().value_texts()[0])}" in labels_of(ax)


def test_the_limits_of_a_fine_grid_are_found_at_some_points() -> None:
    result = wave(600)
    ax = result.plot(cumulative=True)
    found = result.interval(cumulative=True)
    band = ax.collections[0].get_paths()[0].vertices
    possible = 100 * np.concatenate([found.low, found.high])
    assert all(np.abs(possible - y).min() < 1e-6 for y in band[:, 1])
    assert len(band) < 4 * 200 + 10


def test_groups_have_a_line_each() -> None:
    design = SquareWave(20, epsilon=2)
    rng = np.random.default_rng(1)
    counts = [design.simulate(np.full(20, 0.05), 500, rng=rng) for _ in range(2)]
    result = estimate(Tally(design, counts, by=("region",), groups=(("north",), ("south",))))
    ax = result.plot(cumulative=True)
    assert labels_of(ax) == ["north", "south"]
    places = [int(tick.get_text()) for tick in result.plot().get_yticklabels()]
    assert places == sorted(places)


def test_text_notebook_and_paper_table_begin_with_mean_median_and_standard_deviation() -> None:
    result = wave(60)
    numbers = result.mean(), result.median(), result.standard_deviation()
    for place in (result.text(), result.to_markdown(), result._repr_html_()):
        assert "Estimated mean, median and standard deviation (smooth)" in place
        for number in numbers:
            ((value, ends),) = number.value_texts()
            assert value in place.partition(number.name)[2]
            assert ends in place
    rows = result.text().splitlines()[2:5]
    assert [row.split()[0] for row in rows] == ["mean", "median", "standard"]
    assert next(iter(typeset(result).columns)) == "quantity"
    assert result.table()["value"].tolist() == list(range(60))  # the histogram


@pytest.mark.parametrize("k", [5, 50])
def test_the_page_says_mean_and_median_first_and_draws_the_distribution(tmp_path: Path, k: int) -> None:
    result = wave(k)
    result.save_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    ((value, ends),) = result.mean().value_texts()
    assert f"<p class='lead'>Estimated mean {value} (approximate 95 % interval (population): {ends}).</p>" in page
    assert "Estimated median " in page
    assert "leading answer" not in page
    assert page.count("Share of respondents up to each answer") >= 1
    column = re.findall(r"<tr><td class='text'>(\d+)</td>", page)
    assert column == [str(place) for place in range(k)]


def test_the_page_of_groups_says_the_mean_of_each(tmp_path: Path) -> None:
    design = SquareWave(20, epsilon=2)
    counts = [design.simulate(np.full(20, 0.05), 500, rng=np.random.default_rng(seed)) for seed in range(2)]
    result = estimate(Tally(design, counts, by=("region",), groups=(("north",), ("south",))))
    result.save_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<strong>north</strong>: mean {result.mean().value_texts()[0][0]} (" in page


def test_a_page_of_unordered_answers_is_as_before(tmp_path: Path) -> None:
    estimate(Tally(RandomizedResponse(["a", "b", "c"], odds=(9, 1)), [10, 80, 30])).save_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The leading answer is" in page
    assert "up to each answer" not in page
