"""Figures: where a plot is drawn, its title, notes and legend, and how it is written to a PNG, SVG or PDF file."""

from __future__ import annotations

import io
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.documents import Document, written_whole
from warner.text import not_installed, printable

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from warner.arrays import Array

    Draw = Callable[[Axes], object]
    Inches = tuple[float, float]  # width and height

# The colours of Okabe and Ito, which the colour-blind can tell apart, without yellow (too pale on white); each group
# has a marker of its own as well.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINE_STYLES = ("-", "--", "-.", ":")
REPORTED_POINT, INK, STRIPE = "#808080", "#222222", "#f3f3f3"
FIGURE_INCHES, NARROW_INCHES = 8.0, 3.75  # inches, for paper and for a telephone
MORE_LINES = 1.2  # inches for the headings of a narrow picture, which have more lines
POINT_ROWS_DRAWN = 64  # rows of points, answers times groups, that still fit on one page
LABEL_WIDTH, GROUP_WIDTH = 28, 22  # characters of an answer and of a group that fit
PLOT_FORMATS = ("png", "svg", "pdf")
NOTE_COLOUR, GRID_COLOUR = "#555555", "#dddddd"
NOTE_LINE, LEGEND_LINE = 13.5, 14.5  # heights in points
TITLE_WIDTH, NOTE_WIDTH = 58, 74  # characters that fit into a line
LEGEND_WIDTH, LEGEND_SYMBOL = 84, 7  # characters; every entry takes some for its symbol


class Legend(NamedTuple):
    """What a picture needs to be read: symbols and their names, and what must be said besides."""

    handles: list[Any]
    labels: list[str]
    notes: list[str]


def new_axes(size: Inches) -> Axes:
    """Make a pyplot figure of this size."""
    need_matplotlib()
    import matplotlib.pyplot as plt

    return plt.figure(figsize=size, layout="constrained").subplots()


def save_picture(draw: Draw, size: Inches, path: str | os.PathLike[str]) -> None:
    """Draw to a file, whole or not at all; its format follows from the ending of its name."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in PLOT_FORMATS:
        raise ValueError(f"the picture's name must end in .{', .'.join(PLOT_FORMATS)}, but got {str(path)!r}")
    picture = _rendered(draw, size, ending)
    with written_whole(path) as part:
        part.write_bytes(picture)


def svg_element(draw: Draw, size: Inches) -> str:
    """Draw an SVG element for a web page: see-through, with text as text, and without any address.

    Names inside of it belong to its width, so that a page can have one picture in two widths.
    """
    document = _rendered(draw, size, "svg", transparent=True).decode()
    element = document[document.index("<svg") :]
    start, rest = element.split(">", 1)
    # Inside HTML the namespaces are understood; a page without any address is easily seen to load nothing.
    for name in ("xmlns", "xmlns:xlink"):
        before, _, after = start.partition(f' {name}="')
        start = before + after.partition('"')[2] if after else start
    return f"{start}>{rest}".strip()


def _rendered(draw: Draw, size: Inches, ending: str, *, transparent: bool = False) -> bytes:
    need_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    class DrawnOnce(Figure):
        """A figure that is only laid out where Matplotlib draws it for its layout, before it is drawn to be written."""

        def draw(self, renderer: Any) -> None:
            layout = self.get_layout_engine()
            if isinstance(layout, ConstrainedLayoutEngine):
                layout.execute(self)
            else:  # there is no layout, or it is done
                super().draw(renderer)

    # No pyplot: nothing to close, no display asked for. The salt and the missing date make equal pictures equal files.
    figure: Figure = DrawnOnce(figsize=size, layout="constrained")
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    metadata: Document = {"svg": nothing, "pdf": {"CreationDate": None}, "png": {}}[ending]
    content = io.BytesIO()
    # "path", not "none", would lose every character that is not in Matplotlib's font; the viewer has more fonts.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": f"warner {size[0]}", "text.usetex": False}
    with mpl.rc_context(settings), warnings.catch_warnings():
        if ending == "svg":
            warnings.filterwarnings("ignore", message=r"Glyph .* missing from font", category=UserWarning)
        draw(figure.subplots())
        figure.savefig(content, format=ending, dpi=150, metadata=metadata, transparent=transparent)
    return content.getvalue()


def need_matplotlib() -> None:
    """Say in one line what is missing where Matplotlib is."""
    try:
        import matplotlib as mpl  # noqa: F401 - asked whether it is there
    except ImportError:
        raise ImportError(not_installed("drawing needs Matplotlib", "plot")) from None


# Around the axes


def fitting(ax: Axes, number: int) -> int:
    """Give how many characters, or ticks, fit into a figure, of so many that fit into one of the usual width."""
    return max(round(number * min(1.0, ax.figure.bbox.width / ax.figure.dpi / FIGURE_INCHES)), 3)


def whiskers(ax: Axes, low: Array, high: Array, rows: Array, colour: str) -> Any:
    """Draw intervals as horizontal error bars, one in each row."""
    # Around the middle of the interval, not around the share: a biased share may lie outside.
    middle, half = (low + high) / 2, (high - low) / 2
    return ax.errorbar(middle, rows, xerr=half, fmt="none", ecolor=colour, elinewidth=1.3, capsize=2.5, zorder=2.5)


def logarithmic(ax: Axes) -> None:
    """Make both axes logarithmic, with numbers written in full."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.grid(color=GRID_COLOUR, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def add_legend(ax: Axes, shown: Legend) -> float:
    """Put the legend above the axes, where it covers nothing, and give its height in points."""
    columns = _legend_columns([len(label) + LEGEND_SYMBOL for label in shown.labels], fitting(ax, LEGEND_WIDTH))
    # Named afterwards, because Matplotlib leaves out labels that start with an underscore.
    legend = ax.legend(
        shown.handles,
        [str(i) for i in range(len(shown.labels))],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.3,
        borderpad=0.2,
        ncols=columns,
        frameon=False,
        fontsize=9,
        columnspacing=1.4,
    )
    for text, label in zip(legend.get_texts(), shown.labels, strict=True):
        text.set_parse_math(False)
        text.set_text(label)
    return 10 + LEGEND_LINE * -(-len(shown.labels) // columns)


def _legend_columns(widths: list[int], widest: int) -> int:
    """Find the most columns that fit beside each other; Matplotlib fills one after the other."""
    fitting = (
        columns
        for columns in range(len(widths), 1, -1)
        if sum(column.max() for column in np.array_split(widths, columns)) <= widest
    )
    return next(fitting, 1)


def add_heading(ax: Axes, notes: list[str], title: str, above: float) -> None:
    """Stack notes and title, the lowest of them this many points above the axes."""
    lines = _packed(notes, fitting(ax, NOTE_WIDTH))
    place: Document = {"xycoords": "axes fraction", "textcoords": "offset points", "parse_math": False}
    ax.annotate("\n".join(lines), (0, 1), (0, above), va="bottom", fontsize=9, color=NOTE_COLOUR, **place)
    headline = printable(" ".join(title.split()))
    wrapped = "\n".join(textwrap.wrap(headline, fitting(ax, TITLE_WIDTH), max_lines=3, placeholder=" …"))
    ax.set_title(wrapped, loc="left", pad=above + NOTE_LINE * len(lines) + 3, fontsize=12, parse_math=False)


def _packed(parts: list[str], width: int) -> list[str]:
    """Fill lines with parts, without breaking one, unless it is longer than a line."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]} · {part}"
        lines[-1:] = [longer] if len(longer) <= width else [lines[-1], part]
    return [text for line in lines for text in textwrap.wrap(line, max(width, NOTE_WIDTH // 2))]
