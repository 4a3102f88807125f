"""Figures: axes with title, notes and legend, and PNG, SVG and PDF files."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from warner.documents import Document, written_whole
from warner.text import not_installed, printable, told_apart

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from warner.arrays import Array
    from warner.groups.random_walk import Axis

    Draw = Callable[[Axes], object]
    Inches = tuple[float, float]  # width and height

# The colors of Okabe and Ito, for the color-blind, without yellow (too pale on white); each group has its own marker
# as well.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINE_STYLES = ("-", "--", "-.", ":")
REPORTED_POINT, INK, STRIPE = "#808080", "#222222", "#f3f3f3"
FIGURE_INCHES, NARROW_INCHES = 8.0, 3.75  # inches, for paper and for a telephone
MORE_LINES = 1.2  # inches for the headings of a narrow picture, which have more lines
POINT_ROWS_DRAWN = 64  # rows of points, answers times groups, on one page
LABEL_WIDTH, GROUP_WIDTH = 28, 22  # characters of an answer and of a group that fit
PLOT_FORMATS = ("png", "svg", "pdf")
NOTE_COLOR, GRID_COLOR = "#555555", "#dddddd"
ABOVE_AXES, NOTE_LINE, LEGEND_LINE = 6.0, 13.5, 14.5  # heights in points
TITLE_WIDTH, NOTE_WIDTH = 58, 74  # characters that fit into a line
LEGEND_WIDTH, LEGEND_SYMBOL = 84, 7  # characters of a line, and of the symbol of an entry


class Legend(NamedTuple):
    """Symbols of a picture with their names, and notes."""

    handles: list[Any]
    labels: list[str]
    notes: list[str]


class Picture(NamedTuple):
    """Function that draws on axes and returns legend and usual title, the size of a new figure, and another title."""

    content: Callable[[Axes], tuple[Legend, str]]
    size: Inches
    title: str | None = None

    def draw(self, ax: Axes) -> Axes:
        """Draw everything, with the legend, the notes and the title stacked above the axes."""
        legend, usual = self.content(ax)
        above = _add_legend(ax, legend) if legend.handles else ABOVE_AXES
        lines = _packed(legend.notes, fitting(ax, NOTE_WIDTH))
        placement: Document = {"xycoords": "axes fraction", "textcoords": "offset points", "parse_math": False}
        ax.annotate("\n".join(lines), (0, 1), (0, above), va="bottom", fontsize=9, color=NOTE_COLOR, **placement)
        headline = printable(" ".join((usual if self.title is None else self.title).split()))
        wrapped = "\n".join(textwrap.wrap(headline, fitting(ax, TITLE_WIDTH), max_lines=3, placeholder=" …"))
        ax.set_title(wrapped, loc="left", pad=above + NOTE_LINE * len(lines) + 3, fontsize=12, parse_math=False)
        return ax

    def plot(self, ax: Axes | None) -> Axes:
        """Draw on the given axes, or in a new pyplot figure."""
        if ax is None:
            need_matplotlib()
            import matplotlib.pyplot as plt

            ax = _with_margins(plt.figure(figsize=self.size, layout="constrained")).subplots()
        return self.draw(ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        save_picture(self.draw, self.size, path)

    def svg(self, width: float = FIGURE_INCHES) -> str:
        """Draw a transparent SVG element for a web page, with text as text and without addresses.

        Its identifiers depend on the width, so that a page can have one picture in two widths.
        """
        height = self.size[1] + (0.0 if width == FIGURE_INCHES else MORE_LINES)
        document = _rendered(self.draw, (width, height), "svg", transparent=True).decode()
        start, rest = document[document.index("<svg") :].split(">", 1)
        # HTML implies the namespaces; a page without any address visibly loads nothing.
        start = re.sub(r' xmlns(:xlink)?="[^"]*"', "", start)
        return f"{start}>{rest}".strip()


def _with_margins(figure: Figure) -> Figure:
    layout: Any = figure.get_layout_engine()
    layout.set(w_pad=0.1, h_pad=0.06)
    return figure


def save_picture(draw: Draw, size: Inches, path: str | os.PathLike[str]) -> None:
    """Draw to a file atomically; its format follows from its suffix."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in PLOT_FORMATS:
        raise ValueError(f"the picture's name must end in .{', .'.join(PLOT_FORMATS)}, but got {str(path)!r}")
    picture = _rendered(draw, size, ending)
    with written_whole(path) as part:
        part.write_bytes(picture)


def _rendered(draw: Draw, size: Inches, ending: str, *, transparent: bool = False) -> bytes:
    need_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    class DrawnOnce(Figure):
        """Figure that skips the first of the two drawings that Matplotlib makes: it only computes the layout there."""

        def draw(self, renderer: Any) -> None:
            layout = self.get_layout_engine()
            if isinstance(layout, ConstrainedLayoutEngine):
                layout.execute(self)
            else:
                super().draw(renderer)

    # Without pyplot there is nothing to close, and no display. The salt and the missing date make files reproducible.
    figure = _with_margins(DrawnOnce(figsize=size, layout="constrained"))
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


def sequence(number: int) -> list[str]:
    """Return this many blues in order, from light to dark, for lines that have an order."""
    light, dark = np.array([143, 191, 224]), np.array([8, 48, 107])
    parts = np.linspace(0, 1, number)[:, np.newaxis] if number > 1 else np.ones((1, 1))
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in (light + parts * (dark - light)).astype(int)]


def line_look(place: int) -> dict[str, Any]:
    """Return the color and the style of a line, different for each place."""
    return {"color": PALETTE[place % len(PALETTE)], "linestyle": LINE_STYLES[place % len(LINE_STYLES)]}


def along_axis(axis: Axis) -> Any:
    """Return the positions on an axis of groups as Matplotlib draws them: numbers, or times."""
    if not axis.dates:
        return axis.positions
    return np.datetime64("1970-01-01", "s") + np.round(86_400 * np.nan_to_num(axis.positions)).astype("timedelta64[s]")


def need_matplotlib() -> None:
    try:
        import matplotlib as mpl  # noqa: F401 - only to see that it is installed
    except ImportError:
        raise ImportError(not_installed("drawing needs Matplotlib", "plot")) from None


# Around the axes


def fitting(ax: Axes, number: int) -> int:
    """Return how many characters, or ticks, fit into the figure, given the number in one of the usual width."""
    return max(round(number * min(1.0, ax.figure.bbox.width / ax.figure.dpi / FIGURE_INCHES)), 3)


def whiskers(ax: Axes, low: Array, high: Array, rows: Array, color: str) -> Any:
    # Around the middle of the interval, not around the share: a biased share may lie outside.
    middle, half = (low + high) / 2, (high - low) / 2
    return ax.errorbar(middle, rows, xerr=half, fmt="none", ecolor=color, elinewidth=1.3, capsize=2.5, zorder=2.5)


def group_points(ax: Axes, values: Array, rows: Array, place: int) -> list[Any]:
    """Draw the points of a group, with the color and the marker of its place."""
    return ax.plot(values, rows, MARKERS[place], color=PALETTE[place], markersize=5.5, zorder=3)


def stripe_rows(ax: Axes, number: int) -> None:
    for row in range(0, number, 2):
        ax.axhspan(row - 0.5, row + 0.5, color=STRIPE, linewidth=0, zorder=0)


def logarithmic(ax: Axes) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    add_grid(ax)


def add_grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw a thin grid behind everything, and no frame at the top and on the right."""
    ax.grid(axis=axis, color=GRID_COLOR, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Name the rows from the top down, with distinguishable beginnings of long names."""
    ax.set_yticks(np.arange(len(names)), told_apart(names, fitting(ax, LABEL_WIDTH)), parse_math=False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def _add_legend(ax: Axes, shown: Legend) -> float:
    """Place the legend above the axes, and return its height in points."""
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
    """Return the largest number of columns that fit; Matplotlib fills one after the other."""
    fitting = (
        columns
        for columns in range(len(widths), 1, -1)
        if sum(column.max() for column in np.array_split(widths, columns)) <= widest
    )
    return next(fitting, 1)


def _packed(parts: list[str], width: int) -> list[str]:
    """Fill lines with notes, without breaking one unless it is longer than a line."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]} · {part}"
        lines[-1:] = [longer] if len(longer) <= width else [lines[-1], part]
    return [text for line in lines for text in textwrap.wrap(line, max(width, NOTE_WIDTH // 2))]
