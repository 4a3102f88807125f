"""Style of all figures: colors, markers, bands, a heading with the only legend, and reproducible files.

Fonts, grid, colors and heading are the ones of the plots of the library (`warner.output.canvas`).
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from warner.documents import written_whole
from warner.output.canvas import FIGURE_INCHES, MARKERS, NOTE_COLOR, PALETTE, add_grid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike, NDArray

GREY = "#7f7f7f"
WIDTH = FIGURE_INCHES
TITLE, NOTES, LEGEND, HEADING = 0.08, 0.36, 0.6, 0.86  # inches below the upper edge
COLOURS_AND_MARKERS = tuple(zip(PALETTE, MARKERS, strict=True))
# Color and marker of each estimator, the same in every figure.
ESTIMATOR_STYLES = {
    "mle": COLOURS_AND_MARKERS[0],
    "inv_p": COLOURS_AND_MARKERS[1],
    "inv_n": COLOURS_AND_MARKERS[2],
    "auto": COLOURS_AND_MARKERS[3],
    "predicted": COLOURS_AND_MARKERS[3],  # what auto takes
    "power_ns": COLOURS_AND_MARKERS[4],
    "mle_pooled": COLOURS_AND_MARKERS[5],
    "shrink": COLOURS_AND_MARKERS[6],
    "norm_cut": (GREY, "*"),
    "inv": (GREY, "x"),
}
BAND_QUANTILES = (0.05, 0.95)
BAND_CAPTION = "bands: from the 5 % to the 95 % quantile over the seeds"
BAND_NOTE = "bands: 5 % to 95 % quantile"


class CaptionedFigure(NamedTuple):
    """A figure, and the text below it."""

    figure: Figure
    caption: str


Figures: TypeAlias = dict[str, CaptionedFigure]  # by the name of the file, with spaces


def new_figure(
    width: float,
    height: float,
    rows: int,
    columns: int,
    *,
    left: float = 0.85,
    across: float = 0.62,
    down: float = 0.4,
    head: float = HEADING + 0.3,
) -> tuple[Figure, NDArray[np.object_]]:
    """Make a figure with a grid of panels, free of any display; sizes and the space between panels are in inches.

    The margins are fixed: measuring every label, as Matplotlib's own layouts do, takes longer than drawing them.
    """
    from matplotlib.figure import Figure

    right, top, bottom = 0.35, head, 0.58  # with half of a tick label, and the titles of panels
    figure = Figure(figsize=(width, height))
    panels = figure.subplots(
        rows,
        columns,
        squeeze=False,
        gridspec_kw={
            "left": left / width,
            "right": 1 - right / width,
            "top": 1 - top / height,
            "bottom": bottom / height,
            "wspace": across / ((width - left - right - (columns - 1) * across) / columns),
            "hspace": down / ((height - top - bottom - (rows - 1) * down) / rows),
        },
    )
    return figure, panels


def draw_band(
    axes: Axes,
    x: ArrayLike,
    values: NDArray[np.float64],
    colour: str,
    marker: str,
    *,
    every: int = 1,
    mean: bool = False,
    style: str = "-",
) -> Line2D:
    """Draw the median (or the mean) of values of shape (points, seeds) as a line, in a band of quantiles."""
    low, high = np.quantile(values, BAND_QUANTILES, axis=-1)
    centre = values.mean(axis=-1) if mean else np.median(values, axis=-1)
    axes.fill_between(x, low, high, color=colour, alpha=0.16, linewidth=0)
    return draw_line(axes, x, centre, colour, marker, every=every, style=style)


def draw_line(
    axes: Axes, x: ArrayLike, y: ArrayLike, colour: str, marker: str, *, every: int = 1, style: str = "-"
) -> Line2D:
    """Draw one line with markers; that of MLE* on top, where lines coincide."""
    zorder = 4 if colour == ESTIMATOR_STYLES["mle"][0] else 3
    return axes.plot(
        x, y, style, color=colour, marker=marker, markersize=4.5, linewidth=1.6, markevery=every, zorder=zorder
    )[0]


def label_axes(axes: Axes, x: str | None, y: str | None) -> None:
    """Name the axes, and draw the grid."""
    if x is not None:
        axes.set_xlabel(x)
    if y is not None:
        axes.set_ylabel(y)
    add_grid(axes)


def name_panel(axes: Axes, title: str) -> None:
    """Write the title of one panel."""
    axes.set_title(title, loc="left", fontsize=9)


def draw_heading(
    figure: Figure, title: str, notes: Sequence[str], handles: Mapping[str, Line2D], labels: Mapping[str, str]
) -> None:
    """Write title, notes and the only legend of a figure above its panels; handles without a label show their name."""
    height = figure.get_size_inches()[1]
    left = figure.axes[0].get_position().x0
    figure.text(left, 1 - TITLE / height, title, fontsize=12, va="top")
    figure.text(left, 1 - NOTES / height, " · ".join(notes), fontsize=9, color=NOTE_COLOR, va="top")
    figure.legend(
        list(handles.values()),
        [labels.get(name, name) for name in handles],
        loc="upper left",
        bbox_to_anchor=(left, 1 - LEGEND / height),
        borderaxespad=0,
        borderpad=0.2,
        ncols=len(handles),
        columnspacing=1.0,
        handlelength=1.4,
        frameon=False,
        fontsize=9,
    )


def save_figure(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as PNG and as SVG."""
    import matplotlib as mpl

    folder.mkdir(parents=True, exist_ok=True)
    undated: dict[str, str | None] = {"Date": None, "Creator": None, "Format": None, "Type": None}
    # Letters as outlines: a printer needs no font, and nothing moves. The salt makes equal figures equal files.
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "warner", "text.usetex": False}):
        for ending, metadata in (("png", {"Software": None}), ("svg", undated)):
            content = io.BytesIO()
            figure.savefig(content, format=ending, dpi=150, metadata=metadata)
            with written_whole(folder / f"{name}.{ending}") as part:
                part.write_bytes(content.getvalue())
