"""Discoveries as pictures and pages: found values with intervals, what would be found, candidates as no result."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from warner import Discovery, OpenDomain, OpenTally, discover

if TYPE_CHECKING:
    from pathlib import Path

mpl.use("Agg")
WORDS = OpenDomain(epsilon=4, letters="a-z()<$", length=6, step=3)


@cache
def found(groups: int = 0, n: int = 8000, **options: Any) -> Discovery:
    """Discover words of people of whom some hold a text that looks like other, and one that looks like HTML."""
    rng = np.random.default_rng(1)
    words = rng.choice(["the", "(oth)", "<b", "naïve", "$x$"], p=[0.4, 0.1, 0.2, 0.15, 0.15], size=n).tolist()
    rows = WORDS.draw(WORDS.values.encoded(words).blocks, rng.bytes)
    if not groups:
        return discover(OpenTally.of_rows(WORDS, rows), **options)
    names = tuple((f"<{number}>",) for number in range(groups))
    place = np.sort(rng.integers(groups, size=n) ** 2 // groups)
    return discover(OpenTally.of_rows(WORDS, rows, place, by=("a & b",), groups=names), **options)


def drawn(discovery: Discovery, **options: Any) -> Any:
    return discovery.plot(ax=Figure(figsize=(8, 5)).subplots(), **options)


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def said(ax: Any) -> str:
    return " ".join(text.get_text() for text in ax.texts)


def test_every_found_value_is_a_point_on_its_interval() -> None:
    discovery = found()
    ax, (part,) = drawn(discovery), discovery.findings
    order = np.argsort(-part.share, kind="stable")
    points = next(line for line in ax.lines if line.get_marker() == "o" and line.get_markerfacecolor() != "none")
    assert_allclose(points.get_xdata(), 100 * part.share[order])
    segments = np.array(ax.collections[0].get_segments())[:, :, 0]
    assert_allclose(segments, 100 * np.stack([part.low[order], part.high[order]], axis=1))
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[: len(order)] == [str(part.values[place]) for place in order]
    assert "$x$" in names
    assert ax.get_title("left") == "Detected values"
    assert "at most 5 %" in said(ax)
    assert "intervals hold given that the value was found" in said(ax)


def test_candidates_are_hollow_and_said_to_be_no_result() -> None:
    discovery = found()
    ax = drawn(discovery)
    hollow = next(line for line in ax.lines if line.get_markerfacecolor() == "none")
    best = discovery.candidates[:5]
    assert_allclose(hollow.get_xdata(), [100 * one.share for one in best])
    assert "not found: no result" in legend(ax)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[-5:] == [str(one.value) for one in best]


def test_a_line_stands_at_the_share_that_would_have_been_found() -> None:
    discovery = found(expected=("the", "never"), above=0.05)
    ax, (part,) = drawn(discovery, title="Ours"), discovery.findings
    assert part.smallest_expected is not None
    at = [line.get_xdata()[0] for line in ax.lines if list(line.get_ydata()) == [0, 1]]
    assert_allclose(at, [100 * part.smallest_share, 100 * part.smallest_expected, 5])
    assert f"found from {100 * part.smallest_share:.2f} % on" in legend(ax)
    assert f"expected values from {100 * part.smallest_expected:.2f} % on" in legend(ax)
    assert "asked for: above 5.00 %" in legend(ax)
    assert "dashed: shares found with a probability of 80 %" in said(ax)
    assert ax.get_title("left") == "Ours"


def test_groups_are_colours_and_have_no_mark_where_a_value_was_not_found() -> None:
    discovery = found(3)
    ax = drawn(discovery)
    marks = [line for line in ax.lines if line.get_marker() in {"o", "s", "^"}]
    assert [len(line.get_xdata()) for line in marks] == [len(part.values) for part in discovery.findings]
    assert len({line.get_color() for line in marks}) == 3
    assert "no mark: not found in that group" in said(ax)
    assert [label.split(",")[0] for label in legend(ax)] == ["<0>", "<1>", "<2>"]
    many = found(9)
    assert "the 7 of 9 groups with the most reports" in said(drawn(many))


def test_nothing_found_is_said_and_drawn() -> None:
    nothing = found(n=20)
    assert not nothing.values
    assert "none rises above the noise" in said(drawn(nothing))
    grouped = found(2, n=20)
    assert "none rises above the noise" in said(drawn(grouped))


def test_many_values_are_cut_and_the_picture_says_so() -> None:
    (part,) = found().findings
    count = len(part.values)
    columns: Any = {
        name: np.tile(getattr(part, name), 20)
        for name in ("other", "support", "critical", "share", "low", "high", "p", "adjusted")
    }
    values = tuple(f"{value}{place}" for place in range(20) for value in part.values)
    many = replace(found(), findings=(replace(part, values=values, **columns),))
    assert f"the 40 most common of {20 * count} found values" in said(drawn(many))


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_are_files_of_the_form_of_their_name(ending: str, tmp_path: Path) -> None:
    found().save_plot(tmp_path / f"found.{ending}")
    assert (tmp_path / f"found.{ending}").stat().st_size > 2000
    with pytest.raises(ValueError, match=r"must end in \.png"):
        found().save_plot(tmp_path / "found.gif")


def page(discovery: Discovery, folder: Path, **options: Any) -> str:
    discovery.save_page(folder / "found.html", **options)
    return (folder / "found.html").read_text(encoding="utf-8")


def test_the_page_has_the_numbers_of_the_table_to_their_last_digit(tmp_path: Path) -> None:
    text, table = page(found(), tmp_path), found().table()
    rows = re.findall(r"<tr>(<td.*?)</tr>", text.split("How to read the table")[0])
    cells = [re.findall(r"data-value='([^']*)'", row) for row in rows]
    names = [unescape(re.findall(r"class='text'>(.*?)</td>", row)[0]) for row in rows]
    assert names == [str(value) for value in table["value"]]
    for place, name in enumerate(("support", "share", "low", "adjusted")):  # intervals are sorted by lower limits
        assert [float(row[place]) for row in cells] == table[name].tolist()


def test_the_page_says_what_the_text_says(tmp_path: Path) -> None:
    discovery = found()
    text = unescape(page(discovery, tmp_path)).replace("\N{NO-BREAK SPACE}", " ")
    assert discovery.promise() in text
    for remark in discovery.remarks(discovery.findings[0]):
        assert f"{remark[:1].upper()}{remark[1:]}." in text
    assert "They are not results" in text
    assert all(str(one.value) in text for one in discovery.candidates)
    assert "The probability of naming any falsely is at most 5 %." in text
    assert "its coverage is at least 95 %" in text
    assert "one report spends" in text
    assert "None: every row held a possible report." in text


def test_texts_of_strangers_stay_texts(tmp_path: Path) -> None:
    text = page(found(), tmp_path, title="<img src=x>", question="<i>Which?</i>")
    assert "<b<" not in text
    assert "&lt;b" in text
    assert "<img" not in text
    assert "<i>" not in text
    assert "http" not in text
    assert "&lt;0&gt;" in page(found(2), tmp_path)
    assert "a &amp; b" in page(found(2), tmp_path)


def test_a_page_of_nothing_is_whole(tmp_path: Path) -> None:
    assert "No value rises above the noise." in page(found(n=20), tmp_path)
    assert "in each group" in page(found(2, n=20), tmp_path)
