"""Style of all figures of the paper: colors, markers, bands, one legend, and reproducible files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from experiments.pinzon2026.methods import METHOD_LABELS
from warner.documents import written_whole
from warner.output.canvas import MARKERS, PALETTE

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike, NDArray

GREY = "#7f7f7f"
COLOURS_AND_MARKERS = tuple(zip(PALETTE, MARKERS, strict=True))
# Colour and marker of each estimator, the same in every figure of every paper.
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


class CaptionedFigure(NamedTuple):
    """A figure, and the text below it."""

    figure: Figure
    caption: str


Figures: TypeAlias = dict[str, CaptionedFigure]  # by the name of the file, with spaces


def new_figure(
    width: float, height: float, rows: int, columns: int, left: float = 0.95, across: float = 0.66, down: float = 0.34
) -> tuple[Figure, NDArray[np.object_]]:
    """Make a figure with a grid of panels, in inches, free of any display, with so much space across and down.

    The margins are fixed: measuring every label, as Matplotlib's own layouts do, takes longer than drawing them.
    """
    from matplotlib.figure import Figure

    right, top, bottom = 0.12, 0.62, 0.9
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
    axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    return draw_line(axes, x, centre, colour, marker, every=every, style=style)


def draw_line(
    axes: Axes, x: ArrayLike, y: ArrayLike, colour: str, marker: str, *, every: int = 1, style: str = "-"
) -> Line2D:
    """Draw one line with markers; that of MLE* on top, where lines coincide."""
    zorder = 4 if colour == ESTIMATOR_STYLES["mle"][0] else 3
    return axes.plot(
        x, y, style, color=colour, marker=marker, markersize=4.5, linewidth=1.4, markevery=every, zorder=zorder
    )[0]


def label_axes(axes: Axes, x: str | None, y: str | None) -> None:
    """Name the axes, and take away what carries no information."""
    if x is not None:
        axes.set_xlabel(x, fontsize=10)
    if y is not None:
        axes.set_ylabel(y, fontsize=10)
    axes.tick_params(labelsize=9)
    axes.set_axisbelow(True)
    axes.grid(visible=True, which="major", color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw_legend(figure: Figure, handles: dict[str, Line2D], title: str) -> None:
    """Add the title and the only legend to a figure."""
    height = figure.get_size_inches()[1]
    figure.suptitle(title, fontsize=11.5, y=1 - 0.1 / height, va="top")
    figure.legend(
        list(handles.values()),
        [METHOD_LABELS.get(name, name) for name in handles],
        loc="lower center",
        bbox_to_anchor=(0.5, 0.02 / height),
        ncols=len(handles),
        frameon=False,
        fontsize=10,
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
