"""Pictures of estimates and plans: what is drawn, and that files are what their endings say.

It tests output/canvas.py as well.
"""

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

from warner import Channel, RandomizedResponse, SubsetSelection, Tally, estimate, pool
from warner.inference.intervals import Confidence
from warner.output.canvas import PALETTE
from warner.output.estimate_plots import estimate_picture

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
    counts = np.random.default_rng(5).integers(150, 200, (groups, k))
    if empty:
        counts[-1] = 0
    names = tuple((f"_g{i} $x$",) for i in range(groups))
    return estimate(Tally(RandomizedResponse(k, epsilon=2), counts, by=("region",), groups=names))


def axes() -> Axes:
    return Figure(figsize=(8, 6), layout="constrained").subplots()


def element(result: Estimate) -> str:
    return estimate_picture(result, Confidence()).svg()


def legend_texts(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def tick_labels(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def facts(ax: Axes) -> str:
    return " ".join(text.get_text() for text in ax.texts)


@pytest.mark.parametrize("k", [3, 12])
def test_few_answers_are_bars_sorted_by_share_with_whiskers_from_the_table(k: int) -> None:
    result = of_size(k)
    table = result.table(0.9)
    ax = result.plot(level=0.9, ax=axes())
    order = np.lexsort((-table["reports"], -table["share"]))
    widths = [bar.get_width() for bar in ax.patches if isinstance(bar, Rectangle)]
    estimated, reported = widths[:k], widths[k:]
    assert_allclose(estimated, 100 * table["share"][order], rtol=1e-12)
    assert_allclose(reported, 100 * table["reports"][order] / table["reports"].sum(), rtol=1e-12)
    whiskers = np.array(ax.collections[0].get_segments())[:, :, 0]  # type: ignore[attr-defined]
    assert_allclose(whiskers, 100 * np.array([table["low"], table["high"]]).T[order], atol=1e-9)
    assert ax.get_xlabel() == "share of respondents (%)"
    assert ax.get_xlim()[0] == 0
    assert ax.get_xlim()[1] > 100 * table["high"].max()
    assert legend_texts(ax) == ["estimated", "90 % interval (population)", "reported, as randomized"]
    assert "50,000 reports · ε = 3 · method mle" in facts(ax)


def test_labels_are_shown_literally_and_shortened() -> None:
    ax = of_size(12).plot(title="What for $5 or $6?", ax=axes())
    labels = tick_labels(ax)
    assert sorted(labels) == sorted([*(label for label in TWELVE if len(label) < 29), "long long long long long ..."])
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert ax.get_title("left") == "What for $5 or $6?"
    written = element(of_size(12))
    assert "$x^2$" in written
    assert "&lt;script&gt;" in written
    assert "<script" not in written


@pytest.mark.parametrize("method", ["mle", "inv"])
def test_many_answers_are_a_rank_plot(method: str) -> None:
    result = of_size(10_000, method)
    table = result.table()
    ax = result.plot(ax=axes())
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_ylabel() == "share of respondents (%)"
    assert ax.get_xlabel() == "rank of the answer, of 10,000 (1 = largest estimated share)"
    assert ax.get_xlim()[1] > 10_000
    line = ax.lines[1]
    ranks = np.asarray(line.get_xdata()).astype(int)
    assert_allclose(np.asarray(line.get_ydata()), 100 * np.sort(table["share"])[::-1][ranks - 1], rtol=1e-12)
    assert 20 < ranks.size < 401
    zeros = int((table["share"] <= 0).sum())
    assert f"{zeros:,} answers at zero{' or below' if method == 'inv' else ''}, not drawn" in facts(ax)
    assert "largest: answer 0, " in facts(ax)
    assert ("the bias of mle" in facts(ax)) == (method == "mle")
    assert legend_texts(ax) == ["estimated", "95 % interval (population)", "reported, as randomized"]


def test_why_shares_by_shrink_lie_outside_is_said_in_the_words_of_the_table() -> None:
    result = estimate(Tally(RandomizedResponse(100, epsilon=3), [100] * 99 + [130]))
    assert result.table()["outside"].any()
    assert "some estimates lie outside their interval: shrink pulls every share" in facts(result.plot(ax=axes()))


def test_rows_decides_between_bars_and_ranks() -> None:
    assert of_size(12).plot(rows=11, ax=axes()).get_xscale() == "log"
    assert of_size(40).plot(rows=40, ax=axes()).get_xscale() == "linear"
    with pytest.raises(ValueError, match="rows must be at least 1, but got 0"):
        of_size(2).plot(rows=0)


@pytest.mark.parametrize("draw", ["plot", "save_plot"])
def test_a_misspelt_option_is_an_error_of_what_was_called(draw: str, tmp_path: Path) -> None:
    path = () if draw == "plot" else (tmp_path / "picture.png",)
    with pytest.raises(TypeError, match=rf"^Estimate\.{draw}\(\) got an unexpected keyword argument 'levl'"):
        getattr(of_size(2), draw)(*path, levl=0.9)


def test_shares_below_zero_are_inside_the_axis() -> None:
    result = estimate(Tally(RandomizedResponse(3, epsilon=1), [520, 285, 195]), method="inv")
    ax = result.plot(ax=axes())
    assert ax.get_xlim()[0] < 100 * result.shares.min() < 0


def test_groups_are_points_of_one_colour_each() -> None:
    result = in_groups()
    ax = result.plot(ax=axes())
    drawn = [line for line in ax.lines if line.get_color() in PALETTE and line.get_marker() in {"o", "s", "^"}]
    order = np.argsort(-(np.asarray(result.tally.n) @ result.shares), kind="stable")
    assert [line.get_color() for line in drawn] == list(PALETTE[:3])
    for line, shares in zip(drawn, result.shares, strict=True):
        assert_allclose(np.asarray(line.get_xdata()), 100 * shares[order], rtol=1e-12)
    # Matplotlib would leave out names that start with an underscore, and read the dollars as a formula.
    assert legend_texts(ax) == ["_g0 $x$", "_g1 $x$", "_g2 $x$", "reported, as randomized"]
    assert "by region" in facts(ax)


def test_an_empty_group_is_named_and_has_no_points() -> None:
    ax = in_groups(empty=True).plot(ax=axes())
    assert "_g2 $x$ (no reports)" in legend_texts(ax)
    assert element(in_groups(empty=True)).startswith("<svg")


def test_what_is_left_out_of_a_grouped_picture_is_said() -> None:
    ax = in_groups(40, 100).plot(ax=axes())
    assert "the 7 of 40 groups with the most reports" in facts(ax)
    assert "the 9 most common of 100 answers" in facts(ax)
    assert len(tick_labels(ax)) == 9
    assert len(legend_texts(ax)) == 8


@pytest.mark.parametrize("result", [of_size(2), of_size(12), of_size(1000), in_groups(), in_groups(9, 30)])
def test_nothing_above_the_picture_overlaps(result: Estimate) -> None:
    ax = result.plot(title="A question that is so long that it takes more than one line of the headline, surely")
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.canvas.draw()
    legend = ax.get_legend()
    assert legend is not None
    title: Any = ax._left_title  # type: ignore[attr-defined]
    boxes = [part.get_window_extent() for part in (ax.patch, legend, ax.texts[-1], title)]
    for lower, upper in pairwise(boxes):
        assert lower.y1 <= upper.y0 + 1
    assert boxes[-1].y1 <= figure.bbox.y1
    assert max(box.x1 for box in boxes) <= figure.bbox.x1


@pytest.mark.parametrize("result", [of_size(2), of_size(12), of_size(10_000), in_groups(empty=True)])
def test_files_are_what_their_endings_say(result: Estimate, tmp_path: Path) -> None:
    for ending in ("png", "SVG", "pdf"):
        result.save_plot(tmp_path / f"picture.{ending}", title="$$")
    pixels = mpimg.imread(tmp_path / "picture.png")
    assert pixels.shape[1] == 1200
    assert pixels[..., :3].std() > 0.01
    assert ET.parse(tmp_path / "picture.SVG").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert (tmp_path / "picture.pdf").read_bytes().startswith(b"%PDF-")
    assert len(list(tmp_path.iterdir())) == 3


def test_equal_estimates_give_equal_files(tmp_path: Path) -> None:
    for ending in ("png", "svg", "pdf"):
        of_size(12).save_plot(tmp_path / f"first.{ending}")
        of_size(12).save_plot(tmp_path / f"second.{ending}")
        assert (tmp_path / f"first.{ending}").read_bytes() == (tmp_path / f"second.{ending}").read_bytes()


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_that_is_drawn_once_is_that_which_matplotlib_draws_twice(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once, twice = tmp_path / f"once.{ending}", tmp_path / f"twice.{ending}"
    of_size(4).save_plot(once)
    monkeypatch.setattr("matplotlib.layout_engine.ConstrainedLayoutEngine", bool)  # so that no layout is known as one
    of_size(4).save_plot(twice)
    assert once.read_bytes() == twice.read_bytes()


def test_labels_that_no_font_or_svg_has(tmp_path: Path) -> None:
    design = RandomizedResponse(["多次", "line\nbreak\x01", "\ufffe", " "], epsilon=1)
    estimate(Tally(design, [5, 6, 7, 8])).save_plot(tmp_path / "picture.svg")
    text = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert ET.fromstring(text) is not None
    assert "多次" in text
    assert "line\\nbreak\\x01" in text


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in \.png, \.svg, \.pdf, but got '.*picture\.gif'"):
        of_size(2).save_plot(tmp_path / "picture.gif")
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        of_size(2).save_plot(tmp_path / "picture.png", level=2)
    with pytest.raises(FileNotFoundError):
        of_size(2).save_plot(tmp_path / "nowhere" / "picture.png")
    assert list(tmp_path.iterdir()) == []


def test_saving_opens_no_figure_of_pyplot(tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    of_size(2).save_plot(tmp_path / "picture.png")
    assert plt.get_fignums() == []
    of_size(2).plot()
    assert len(plt.get_fignums()) == 1


def test_a_missing_matplotlib_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    imported = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return imported(name, *arguments, **options)

    result = of_size(2)
    monkeypatch.setattr(builtins, "__import__", without)
    for draw in (result.plot, lambda: result.save_plot(tmp_path / "picture.png")):
        with pytest.raises(
            ImportError, match=r"^drawing needs Matplotlib, which is not installed; .* its extra \[plot\]$"
        ):
            draw()


def test_svg_for_a_page_holds_no_address() -> None:
    pictures = of_size(12), of_size(1000), in_groups()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for result in pictures:
            assert "http" not in element(result)


def test_reports_that_do_not_name_answers_are_not_drawn() -> None:
    kuk = Channel([["1/25", "8/25", "16/25"], ["49/100", "42/100", "9/100"]], ["yes", "no"], 3)
    first, second = (Tally(RandomizedResponse(["yes", "no"], odds=(a, 1)), [400, 600]) for a in (3, 9))
    for tally, about in ((Tally(kuk, [400, 350, 250]), "approximate "), (pool([first, second]), "")):
        ax = estimate(tally).plot(ax=axes())
        assert len([bar for bar in ax.patches if isinstance(bar, Rectangle)]) == 1
        assert legend_texts(ax) == ["estimated", f"{about}95 % interval (population)"]
    assert "2,000 reports · ε at most 2.198 · 2 designs · method mle" in facts(ax)


def test_reports_that_support_several_answers_are_shown_out_of_all_reports() -> None:
    # Of 1000 reports, 500 hold the first answer: 50 %, though the counts sum to 2000.
    design = SubsetSelection(5, odds=(3, 1), size=2)
    ax = estimate(Tally(design, [500, 450, 370, 350, 330], n=1000)).plot(ax=axes())
    widths = [bar.get_width() for bar in ax.patches if isinstance(bar, Rectangle)]
    assert_allclose(widths[5:], [50, 45, 37, 35, 33])
    assert legend_texts(ax)[-1] == "supporting reports"
    assert ax.get_xlabel() == "share of respondents or of reports (%)"


def test_a_pool_with_groups_is_drawn() -> None:
    (first,) = in_groups().tally.parts
    second = Tally(RandomizedResponse(4, epsilon=1), [[5, 6, 7, 8]], by=("region",), groups=(("_g1 $x$",),))
    pooled = estimate(pool([first, second]))
    ax = pooled.plot(ax=axes())
    assert legend_texts(ax) == ["_g0 $x$", "_g1 $x$", "_g2 $x$"]
    assert "lines: 95 % interval (population)" in facts(ax)
    assert element(pooled).startswith("<svg")
