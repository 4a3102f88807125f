from __future__ import annotations

import builtins
import warnings
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.image as mpimg
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.testing import assert_allclose

from warner import RandomizedResponse, Tally, estimate
from warner.output.plots import PALETTE, plot, saved, svg

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.axes import Axes

    from warner import Estimate

TWELVE = [
    "never",
    "once",
    "$x^2$",
    "a_{b}",
    "$5 & more",
    "_hidden",
    "<script>",
    "50 %",
    "long " * 30,
    "\\frac",
    "k",
    "l",
]


@pytest.fixture(autouse=True)
def _no_display() -> Iterator[None]:
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def of_size(k: int, method: str = "mle") -> Estimate:
    rng = np.random.default_rng(k)
    labels = TWELVE if k == 12 else [f"answer {i}" for i in range(k)]
    design = RandomizedResponse(labels, epsilon=3)
    weights = 1 / np.arange(1, k + 1)
    reported = design.q + (design.p - design.q) * weights / weights.sum()
    return estimate(Tally(design, rng.multinomial(50_000, reported / reported.sum())), method=method)


def in_groups(groups: int = 3, k: int = 4, *, empty: bool = False) -> Estimate:
    counts = np.random.default_rng(5).integers(20, 200, (groups, k))
    if empty:
        counts[-1] = 0
    names = tuple((f"_g{i} $x$",) for i in range(groups))
    return estimate(Tally(RandomizedResponse(k, epsilon=2), counts, by=("region",), groups=names))


def axes() -> Axes:
    return Figure(figsize=(8, 6), layout="constrained").subplots()


def legend_texts(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def tick_labels(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def facts(ax: Axes) -> str:
    return " ".join(text.get_text() for text in ax.texts)


@pytest.mark.parametrize("k", [2, 12])
def test_few_answers_are_bars_sorted_by_share_with_whiskers_from_the_table(k: int) -> None:
    found = of_size(k)
    table = found.table(0.9)
    ax = plot(found, level=0.9, ax=axes())
    order = np.lexsort((-table["reports"], -table["share"]))
    widths = [bar.get_width() for bar in ax.patches if isinstance(bar, Rectangle)]
    estimated, reported = widths[:k], widths[k:]
    assert_allclose(estimated, 100 * table["share"][order], rtol=1e-12)
    assert_allclose(reported, 100 * table["reports"][order] / table["reports"].sum(), rtol=1e-12)
    whiskers = np.array(ax.collections[0].get_segments())[:, :, 0]  # type: ignore[attr-defined]
    assert_allclose(whiskers, 100 * np.array([table["low"], table["high"]]).T[order], atol=1e-9)
    assert ax.get_xlabel() == "share of people (%)"
    assert ax.get_xlim()[0] == 0
    assert ax.get_xlim()[1] > 100 * table["high"].max()
    assert legend_texts(ax) == ["estimated (mle)", "90 % interval (population)", "reported, as randomized"]
    assert "50,000 reports · ε = 3 · method mle" in facts(ax)


def test_labels_are_shown_literally_and_shortened() -> None:
    ax = plot(of_size(12), title="What for $5 or $6?", ax=axes())
    labels = tick_labels(ax)
    assert sorted(labels) == sorted([*(label for label in TWELVE if len(label) < 29), "long long long long long lo…"])
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert ax.get_title("left") == "What for $5 or $6?"
    written = svg(of_size(12))
    assert "$x^2$" in written
    assert "&lt;script&gt;" in written
    assert "<script" not in written


@pytest.mark.parametrize("method", ["mle", "inv"])
def test_many_answers_are_a_rank_plot(method: str) -> None:
    found = of_size(10_000, method)
    table = found.table()
    ax = plot(found, ax=axes())
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_ylabel() == "share of people (%)"
    assert ax.get_xlabel() == "rank of the answer, of 10,000 (1 = largest estimated share)"
    assert ax.get_xlim()[1] > 10_000
    line = ax.lines[1]
    ranks = np.asarray(line.get_xdata()).astype(int)
    assert_allclose(np.asarray(line.get_ydata()), 100 * np.sort(table["share"])[::-1][ranks - 1], rtol=1e-12)
    assert 20 < ranks.size < 401
    zeros = int((table["share"] <= 0).sum())
    assert f"{zeros:,} answers at zero{' or below' if method == 'inv' else ''}, without a point" in facts(ax)
    assert "leading: answer 0, " in facts(ax)
    assert ("the bias of mle" in facts(ax)) == (method == "mle")
    assert legend_texts(ax) == [f"estimated ({method})", "95 % interval (population)", "reported"]


def test_top_decides_between_bars_and_ranks() -> None:
    assert plot(of_size(12), top=11, ax=axes()).get_xscale() == "log"
    assert plot(of_size(40), top=40, ax=axes()).get_xscale() == "linear"
    with pytest.raises(ValueError, match="top must be at least 1, but got 0"):
        plot(of_size(2), top=0)


def test_shares_below_zero_are_inside_the_axis() -> None:
    found = estimate(Tally(RandomizedResponse(3, epsilon=1), [520, 285, 195]), method="inv")
    ax = plot(found, ax=axes())
    assert ax.get_xlim()[0] < 100 * found.shares.min() < 0


def test_groups_are_points_of_one_colour_each() -> None:
    found = in_groups()
    ax = plot(found, ax=axes())
    drawn = [line for line in ax.lines if line.get_color() in PALETTE and line.get_marker() in {"o", "s", "^"}]
    order = np.argsort(-(np.asarray(found.tally.reports) @ found.shares), kind="stable")
    assert [line.get_color() for line in drawn] == list(PALETTE[:3])
    for line, shares in zip(drawn, found.shares, strict=True):
        assert_allclose(np.asarray(line.get_xdata()), 100 * shares[order], rtol=1e-12)
    # Matplotlib would leave out names that start with an underscore, and read the dollars as a formula.
    assert legend_texts(ax) == ["_g0 $x$", "_g1 $x$", "_g2 $x$", "reported, as randomized"]
    assert "by region" in facts(ax)


def test_an_empty_group_is_named_and_has_no_points() -> None:
    ax = plot(in_groups(empty=True), ax=axes())
    assert "_g2 $x$ (no reports)" in legend_texts(ax)
    assert svg(in_groups(empty=True)).startswith("<svg")


def test_what_is_left_out_of_a_grouped_picture_is_said() -> None:
    ax = plot(in_groups(40, 100), ax=axes())
    assert "7 of 40 groups, those with most reports" in facts(ax)
    assert "the 9 leading of 100 answers" in facts(ax)
    assert len(tick_labels(ax)) == 9
    assert len(legend_texts(ax)) == 8


@pytest.mark.parametrize("found", [of_size(2), of_size(12), of_size(1000), in_groups(), in_groups(9, 30)])
def test_nothing_above_the_picture_overlaps(found: Estimate) -> None:
    ax = plot(found, title="A question that is so long that it takes more than one line of the headline, surely")
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.canvas.draw()
    legend = ax.get_legend()
    assert legend is not None
    title: Any = ax._left_title  # type: ignore[attr-defined]
    boxes = [part.get_window_extent() for part in (ax.patch, legend, ax.texts[0], title)]
    for lower, upper in pairwise(boxes):
        assert lower.y1 <= upper.y0 + 1
    assert boxes[-1].y1 <= figure.bbox.y1
    assert max(box.x1 for box in boxes) <= figure.bbox.x1


@pytest.mark.parametrize("found", [of_size(2), of_size(12), of_size(10_000), in_groups(empty=True)])
def test_files_are_what_their_endings_say(found: Estimate, tmp_path: Path) -> None:
    for ending in ("png", "SVG", "pdf"):
        saved(found, tmp_path / f"picture.{ending}", title="$$")
    pixels = mpimg.imread(tmp_path / "picture.png")
    assert pixels.shape[1] == 1200
    assert pixels[..., :3].std() > 0.01
    assert ET.parse(tmp_path / "picture.SVG").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert (tmp_path / "picture.pdf").read_bytes().startswith(b"%PDF-")
    assert len(list(tmp_path.iterdir())) == 3


def test_equal_estimates_give_equal_files(tmp_path: Path) -> None:
    for ending in ("png", "svg", "pdf"):
        saved(of_size(12), tmp_path / f"first.{ending}")
        saved(of_size(12), tmp_path / f"second.{ending}")
        assert (tmp_path / f"first.{ending}").read_bytes() == (tmp_path / f"second.{ending}").read_bytes()


def test_labels_that_no_font_or_svg_has(tmp_path: Path) -> None:
    design = RandomizedResponse(["多次", "line\nbreak\x01", "\ud800", " "], epsilon=1)
    saved(estimate(Tally(design, [5, 6, 7, 8])), tmp_path / "picture.svg")
    text = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert ET.fromstring(text) is not None
    assert "多次" in text
    assert "line break" in text


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in \.png, \.svg, \.pdf, but got '.*picture\.gif'"):
        saved(of_size(2), tmp_path / "picture.gif")
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        saved(of_size(2), tmp_path / "picture.png", level=2)
    with pytest.raises(FileNotFoundError):
        saved(of_size(2), tmp_path / "nowhere" / "picture.png")
    assert list(tmp_path.iterdir()) == []


def test_saving_opens_no_figure_of_pyplot(tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    saved(of_size(2), tmp_path / "picture.png")
    assert plt.get_fignums() == []
    plot(of_size(2))
    assert len(plt.get_fignums()) == 1


def test_a_missing_matplotlib_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    imported = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return imported(name, *arguments, **options)

    found = of_size(2)
    monkeypatch.setattr(builtins, "__import__", without)
    for draw in (lambda: plot(found), lambda: saved(found, tmp_path / "picture.png")):
        with pytest.raises(ImportError, match=r"^drawing needs Matplotlib: pip install 'warner\[plot\]'$"):
            draw()


def test_svg_for_a_page_holds_no_address() -> None:
    pictures = of_size(12), of_size(1000), in_groups()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for found in pictures:
            assert "http" not in svg(found)
