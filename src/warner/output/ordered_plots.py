"""Plots of ordered answers: shares along the axis of the answers, and the distribution function with its limits.

A fine grid is drawn as one area, without a name for each answer; numbers stand where they belong on the axis. The
intervals of single answers of a fine grid reach far beyond their shares: where they would flatten these, they are left
out, and that is said. What a fine grid does tell, the mean, is drawn with its interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.grids import is_numeric
from warner.inference.intervals import limits
from warner.inference.means import values_of
from warner.output import canvas
from warner.words import printable, shortened, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from warner.arrays import Array, Integers
    from warner.estimation import Estimate
    from warner.inference.intervals import Confidence
    from warner.output.estimate_plots import Shown

TALLEST_BAND = 2.0  # times the largest share: where intervals reach further, they are not drawn
POINTS_OF_BAND = 200  # of the distribution function at which its limits are found
NAMED_PLACES = 8  # answers that are no numbers and are named along the axis


def draw_curve(ax: Axes, estimate: Estimate, shown: Shown, confidence: Confidence) -> canvas.Legend:
    """Draw the shares of many ordered answers as an area over their axis, with the mean where they are numbers."""
    x, share = _axis(ax, estimate), shown.share[0]
    low, high = np.maximum(shown.low[0], 0), shown.high[0]
    area = ax.fill_between(x, share, step="mid", color=canvas.PALETTE[0], alpha=0.75, linewidth=0)
    handles: list[Any] = [area]
    labels, notes = ["estimated"], []
    if high.max() <= TALLEST_BAND * share.max():
        handles.append(ax.fill_between(x, low, high, step="mid", color=canvas.INK, alpha=0.15, linewidth=0, zorder=0.5))
        labels.append(shown.interval_label)
    else:
        notes.append(f"intervals of single answers reach up to {high.max():.3g} %, and are not drawn")
    numbers = estimate.mean_and_median(confidence)
    if numbers is not None:
        mean = numbers[0]
        handles.append(ax.axvspan(float(mean.low), float(mean.high), color=canvas.PALETTE[1], alpha=0.25, linewidth=0))
        ax.axvline(float(mean.value), color=canvas.PALETTE[1], linewidth=1.4)
        labels.append(f"mean {mean.said()[0]}")
    ax.set_ylim(min(0.0, 1.05 * float(share.min())), 1.08 * float(max(share.max(), high.max() * (len(notes) == 0))))
    ax.set_ylabel("share of each answer (%)")
    _finished(ax)
    return canvas.Legend(handles, labels, notes)


def draw_distribution(
    ax: Axes, estimate: Estimate, shown: Shown, confidence: Confidence, groups: Integers
) -> canvas.Legend:
    """Draw the shares of all answers up to each, with their limits, and the median; a line for each of these groups."""
    tally, x = estimate.tally, _axis(ax, estimate)
    running = 100 * np.atleast_2d(estimate.shares).cumsum(axis=1)
    places, low, high = _band(estimate, confidence)
    names = (
        told_apart([printable(name) for name in tally.group_names()], canvas.GROUP_WIDTH) if tally.by else ["estimated"]
    )
    handles: list[Any] = []
    for place, group in enumerate(groups.tolist()):
        colour = canvas.PALETTE[place % len(canvas.PALETTE)]
        band = ax.fill_between(
            x[places], 100 * low[group], 100 * high[group], step="post", color=colour, alpha=0.18, linewidth=0
        )
        style = canvas.LINE_STYLES[place % len(canvas.LINE_STYLES)]
        handles += ax.step(x, running[group], where="post", color=colour, linestyle=style, linewidth=1.8)
    labels, notes = [names[group] for group in groups.tolist()], []
    if tally.by:
        notes.append(f"bands: {shown.interval_label}")
    else:
        handles, labels = [*handles, band], [*labels, shown.interval_label]
    numbers = None if tally.by else estimate.mean_and_median(confidence)
    if numbers is not None:
        median = numbers[1]
        ax.plot([float(median.low), float(median.high)], [50, 50], "|-", color=canvas.PALETTE[1], linewidth=1.4)
        handles += ax.plot([float(median.value)], [50], "o", color=canvas.PALETTE[1], markersize=6)
        labels.append(f"median {median.said()[0]}")
    ax.set_ylim(-2, 102)
    ax.set_ylabel("share of people up to each answer (%)")
    _finished(ax)
    return canvas.Legend(handles, labels, notes)


def _band(estimate: Estimate, confidence: Confidence) -> tuple[Integers, Array, Array]:
    """Give the limits of the shares up to each answer, in each group; of many answers, at some places only."""
    tally = estimate.tally
    if tally.k > POINTS_OF_BAND and not confidence.simultaneous:
        places = np.unique(np.linspace(0, tally.k - 1, POINTS_OF_BAND).round().astype(np.int64))
        ends = limits(tally, confidence, sets=[range(place + 1) for place in places.tolist()])
        return places, ends.low, ends.high
    found = estimate.interval(
        cumulative=True,
        level=confidence.level,
        target=confidence.target,
        simultaneous=confidence.simultaneous,
        anytime=confidence.anytime,
    )
    return np.arange(tally.k), np.atleast_2d(found.low), np.atleast_2d(found.high)


def _axis(ax: Axes, estimate: Estimate) -> Array:
    """Give the places of the answers along the axis: their numbers, or one after the other, some of them named."""
    domain = estimate.tally.domain
    if is_numeric(domain):
        x = values_of(domain)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        if len(x) <= canvas.fitting(ax, NAMED_PLACES):
            ax.set_xticks(x)
        else:
            ax.locator_params(axis="x", nbins=canvas.fitting(ax, NAMED_PLACES))
    else:
        x = np.arange(len(domain), dtype=np.float64)
        named = np.unique(np.linspace(0, len(domain) - 1, canvas.fitting(ax, NAMED_PLACES)).round().astype(np.int64))
        texts = [shortened(printable(str(domain[place])), canvas.LABEL_WIDTH // 2) for place in named.tolist()]
        ax.set_xticks(named, texts, parse_math=False)
    ax.set_xlim(float(x[0]), float(x[-1]))
    return x


def _finished(ax: Axes) -> None:
    ax.grid(color=canvas.GRID_COLOUR, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel("answer")
