"""Pooled groups as tables, pictures and pages.

It tests output/group_plots.py as well.
"""

from __future__ import annotations

import json
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from cases import COIN, THREE
from warner import Tally, estimate_groups
from warner.results import typeset

mpl.use("Agg")
COUNTS = [[38, 62], [45, 55], [52, 48], [41, 59], [0, 0]]
REGIONS = Tally(COIN, COUNTS, by=("region",), groups=tuple((name,) for name in ("A", "B & <C>", "C", "D", "$E$")))
WEEKS = Tally(COIN, COUNTS, by=("week",), groups=tuple((f"2026-W0{i}",) for i in range(1, 6)))


def axes() -> Any:
    return Figure().subplots()


def test_a_caterpillar_has_a_line_a_point_and_a_dot_for_each_group() -> None:
    together = estimate_groups(REGIONS)
    ax: Any = together.plot(ax=axes())
    dots, points = ax.lines[0], ax.lines[1]
    order = np.argsort(-together.shares[:, 0], kind="stable")
    np.testing.assert_allclose(points.get_xdata(), 100 * together.shares[order, 0])
    assert np.isnan(dots.get_xdata()).sum() == 1  # a group without reports has no share of its own
    assert [text.get_text() for text in ax.get_yticklabels()] == [REGIONS.groups[i][0] for i in order]
    assert "on average over the groups" in "".join(text.get_text() for text in ax.get_legend().get_texts())
    unsorted: Any = together.plot(sort=False, ax=axes())
    np.testing.assert_allclose(unsorted.lines[1].get_xdata(), 100 * together.shares[:, 0])


def test_many_groups_are_thin_lines_without_names() -> None:
    many = Tally(COIN, [[40, 60]] * 80, by=("g",), groups=tuple((i,) for i in range(80)))
    assert not estimate_groups(many).plot(ax=axes()).get_yticklabels()


def test_a_trend_has_a_band() -> None:
    together = estimate_groups(WEEKS, along="week")
    ax: Any = together.plot(ax=axes())
    assert len(ax.collections) == 1
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 100 * together.shares[:, 0])
    panel = Tally(COIN, COUNTS[:4], by=("region", "week"), groups=(("A", 1), ("A", 2), ("B", 1), ("B", 2)))
    assert len(estimate_groups(panel, along="week").plot(ax=axes()).collections) == 2


def test_pictures_and_pages_are_written(tmp_path: Any) -> None:
    together = estimate_groups(REGIONS)
    together.save_plot(tmp_path / "groups.svg", title="Regions")
    together.save_page(tmp_path / "groups.html", title="Regions", question="Have you?", level=0.9)
    page = (tmp_path / "groups.html").read_text(encoding="utf-8")
    assert "B &amp; &lt;C&gt;" in page
    assert "90 % interval, on average over the groups" in page
    assert "about 90 % of these intervals contain the true share" in page.lower()
    assert "http" not in page.replace("http-equiv", "")
    for share in together.shares[:, 0].tolist():
        assert f"data-value='{share!r}'" in page
    with pytest.raises(ValueError, match=r"must end in"):
        together.save_plot(tmp_path / "groups.txt")
    assert not (tmp_path / "groups.txt").exists()


def test_what_is_refused_leaves_no_file(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="along an order"):
        estimate_groups(WEEKS, along="week").save_plot(tmp_path / "weeks.png", kind="each")
    assert not list(tmp_path.iterdir())


def test_three_answers_are_rows_each() -> None:
    together = estimate_groups(
        Tally(THREE, [[60, 25, 15], [50, 30, 20], [55, 20, 25]], by=("g",), groups=((1,), (2,), (3,)))
    )
    text = together.text()
    assert text.count("often") >= 3
    assert "Spread between groups, if shares are roughly normal: 'never' " in text
    printed = typeset(together)
    assert len(printed.columns["value"]) == 9
    assert any("on average" in heading for heading in printed.columns)
    assert len(json.loads(together.to_json())["spread"]) == 3
    together.plot("once", ax=axes())


def test_a_paper_has_all_rows_and_what_they_rest_on() -> None:
    text = estimate_groups(REGIONS).to_markdown()
    assert text.count("yes") >= 5
    assert "(exact, conditional likelihood ratio" in text
