"""Plots of estimates: the estimated shares with their intervals, beside what was reported.

Up to `rows` answers are bars, the largest share first; ordered answers keep their order. More answers are a rank plot
with logarithmic axes, or, if they are ordered, an area. Groups are colored points, a row for each answer. With two
answers only the first is drawn: a bar, or one for each group. Notes under the title name everything that is left out.

**Ordered answers.** A fine grid is one area without a name for each answer, along an axis of numbers if answers are
numeric. Intervals of single answers of a fine grid reach far beyond their shares: where they would flatten the shares,
they are left out, with a note. The mean is drawn with its interval.

**Trends.** Groups by one column are a trend if all values of that column are numbers, dates, weeks, months or quarters,
and there are at least three. Distances on the axis are those of the values. Each of the most common answers is a line,
with its intervals as a band. Lines end at groups without reports, and where steps of a regular series are missing.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.designs.ordered import is_numeric
from warner.estimation import ANSWERS_DRAWN
from warner.estimators.methods import BIAS
from warner.groups.random_walk import axis_of_values
from warner.inference.answer_tables import reports_in_words
from warner.inference.intervals import limits
from warner.inference.means import values_of
from warner.output import canvas
from warner.output.group_plots import number_picture
from warner.text import counted, printable, quoted, shortened, told_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from warner.arrays import Array, Integers, Mask
    from warner.estimation import Estimate
    from warner.groups.random_walk import Axis
    from warner.inference.intervals import Confidence
    from warner.reports.tallies import Collected

    Places = NDArray[np.intp]


# Ordered plots


TALLEST_BAND = 2.0  # times the largest share: larger intervals are not drawn
POINTS_OF_BAND = 200  # of the distribution function with limits
NAMED_PLACES = 8  # labels of answers along the axis


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
    numbers = estimate._mean_and_median(confidence)
    if numbers is not None:
        mean = numbers[0]
        handles.append(ax.axvspan(float(mean.low), float(mean.high), color=canvas.PALETTE[1], alpha=0.25, linewidth=0))
        ax.axvline(float(mean.value), color=canvas.PALETTE[1], linewidth=1.4)
        labels.append(f"mean {', '.join(mean.value_texts()[0])}")
    ax.set_ylim(min(0.0, 1.05 * float(share.min())), 1.08 * float(max(share.max(), high.max() * (len(notes) == 0))))
    ax.set_ylabel("share of each answer (%)")
    canvas.add_grid(ax)
    ax.set_xlabel("answer")
    return canvas.Legend(handles, labels, notes)


def draw_distribution(
    ax: Axes, estimate: Estimate, shown: Shown, confidence: Confidence, groups: Integers
) -> canvas.Legend:
    """Draw the shares of all answers up to each, with their limits, and the median; a line for each of these groups."""
    tally, x = estimate.tally, _axis(ax, estimate)
    running = 100 * np.atleast_2d(estimate.shares).cumsum(axis=1)
    places, low, high = _band(estimate, confidence)
    names = told_apart(list(map(printable, tally.group_names())), canvas.GROUP_WIDTH) if tally.by else ["estimated"]
    handles: list[Any] = []
    for place, group in enumerate(groups.tolist()):
        color = canvas.PALETTE[place % len(canvas.PALETTE)]
        band = ax.fill_between(
            x[places], 100 * low[group], 100 * high[group], step="post", color=color, alpha=0.18, linewidth=0
        )
        style = canvas.LINE_STYLES[place % len(canvas.LINE_STYLES)]
        handles += ax.step(x, running[group], where="post", color=color, linestyle=style, linewidth=1.8)
    labels, notes = [names[group] for group in groups.tolist()], []
    if tally.by:
        notes.append(f"bands: {shown.interval_label}")
    else:
        handles, labels = [*handles, band], [*labels, shown.interval_label]
    numbers = None if tally.by else estimate._mean_and_median(confidence)
    if numbers is not None:
        median = numbers[1]
        ax.plot([float(median.low), float(median.high)], [50, 50], "|-", color=canvas.PALETTE[1], linewidth=1.4)
        handles += ax.plot([float(median.value)], [50], "o", color=canvas.PALETTE[1], markersize=6)
        labels.append(f"median {', '.join(median.value_texts()[0])}")
    ax.set_ylim(-2, 102)
    ax.set_ylabel("share of respondents up to each answer (%)")
    canvas.add_grid(ax)
    ax.set_xlabel("answer")
    return canvas.Legend(handles, labels, notes)


def _band(estimate: Estimate, confidence: Confidence) -> tuple[Integers, Array, Array]:
    """Return the limits of the cumulative shares in each group; of many answers, at some positions only."""
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
    """Return the positions of the answers along the axis: their numbers, or 0, 1, 2, ..., some of them named."""
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


# Trend plots


GROUPS_OF_A_TREND = 3  # at least
BANDS_DRAWN = 5  # distinguishable bands
GROUPS_MARKED = 40  # groups that have a marker each
AXIS_CHARACTERS = 84  # below an axis
NUMBERS_IN_FULL = 1e6  # numbers from which on the axis writes all digits
REGULAR_STEPS = 0.75  # part of equal steps between groups from which on a missing one is a gap


def axis_of(tally: Collected) -> Axis | None:
    """Axis of groups that have an order; None if they have none.

    >>> from warner import RandomizedResponse, Tally
    >>> weeks = (("2026-W01",), ("2026-W02",), ("2026-W10",), (None,))
    >>> axis_of(Tally(RandomizedResponse(2, epsilon=1), [[5, 5]] * 4, by=("week",), groups=weeks)).positions.tolist()
    [20451.0, 20458.0, 20514.0, nan]
    """
    if len(tally.by) != 1:
        return None
    values = [group[0] for group in tally.groups]
    return axis_of_values(values) if sum(value is not None for value in values) >= GROUPS_OF_A_TREND else None


def pieces(positions: Array, known: Mask) -> list[NDArray[np.intp]]:
    """Cut a series where a group has no reports, and where steps of a regular series are missing.

    >>> weeks = np.array([1.0, 2.0, 3.0, 7.0, 8.0])
    >>> [piece.tolist() for piece in pieces(weeks, np.array([True, True, True, True, True]))]
    [[0, 1, 2], [3, 4]]
    """
    steps = np.diff(positions)
    usual = float(np.median(steps)) if steps.size else 0.0
    regular = usual > 0 and np.isclose(steps, usual, rtol=0.11).mean() >= REGULAR_STEPS  # months have 28 to 31 days
    cut = ~known[1:] | ~known[:-1]
    if regular:
        cut = cut | (steps > 1.6 * usual)
    parts = np.split(np.arange(positions.size), np.flatnonzero(cut) + 1)
    return [part[known[part]] for part in parts if known[part].any()]


def draw_trend(ax: Axes, tally: Collected, shown: Shown, axis: Axis, rows: int) -> canvas.Legend:
    """Draw a line with a band for each of the most common answers; of two answers, for the first."""
    order = axis.order
    n = np.asarray(tally.n, dtype=np.float64)
    answers = _answers(shown, n, rows)
    x: Any = axis.positions[order]
    if axis.dates:
        x = np.datetime64("1970-01-01", "s") + np.round(86_400 * x).astype("timedelta64[s]")
    parts = pieces(axis.positions[order], n[order] > 0)
    raw: list[Any] = []
    if len(answers) == 1 and shown.reported is not None:
        for part in parts:
            style = ".:" if len(x) <= GROUPS_MARKED or part.size == 1 else ":"
            raw = ax.plot(
                x[part], shown.reported[order[part], 0], style, color=canvas.REPORTED_POINT, linewidth=1.3, zorder=1.5
            )
    handles = [
        _draw_answer(ax, x, parts, [column[order, answer] for column in shown[:3]], place)
        for place, answer in enumerate(answers)
    ]
    _finish(ax, tally, shown.part(order, np.array(answers)), axis, answers)
    names = told_apart([printable(str(tally.domain[answer])) for answer in answers], canvas.GROUP_WIDTH)
    around = "band" if len(answers) == 1 else "bands"
    notes = [f"{around}: {shown.interval_label}"]
    notes += [f"the {len(answers)} most common of {tally.k:,} answers"] * (1 < len(answers) < tally.k)
    notes += ["lines end where there are no reports"] * (len(parts) > 1)
    notes += _left_out(axis, n)
    return canvas.Legend([*handles, *raw[:1]], [*names, *[shown.reports_label] * len(raw[:1])], notes)


def _answers(shown: Shown, n: Array, rows: int) -> list[int]:
    """Choose the answers with the largest shares of all reports together."""
    if shown.share.shape[1] <= 2:  # of two answers the first, or two readings of it
        return list(range(shown.share.shape[1]))
    common = np.argsort(-(n @ np.nan_to_num(shown.share)), kind="stable")
    return [int(place) for place in common[: min(rows, BANDS_DRAWN)]]


def _draw_answer(ax: Axes, x: Any, parts: list[NDArray[np.intp]], numbers: list[Array], place: int) -> Any:
    share, low, high = numbers
    color, style = canvas.PALETTE[place], canvas.LINE_STYLES[place % len(canvas.LINE_STYLES)]
    marker = canvas.MARKERS[place] if len(x) <= GROUPS_MARKED else ""
    for part in parts:
        if part.size > 1:
            ax.fill_between(x[part], low[part], high[part], color=color, alpha=0.16, linewidth=0)
        else:  # a band would have no width
            ax.vlines(x[part], low[part], high[part], color=color, alpha=0.45, linewidth=3.5)
        ax.plot(
            x[part],
            share[part],
            linestyle=style if part.size > 1 else "none",
            marker=marker or ("" if part.size > 1 else canvas.MARKERS[place]),
            color=color,
            linewidth=1.8,
            markersize=4.5,
            zorder=3,
        )
    (handle,) = ax.plot([], [], linestyle=style, marker=marker, color=color, linewidth=1.8, markersize=4.5)
    return handle


def _left_out(axis: Axis, n: Array) -> list[str]:
    without = int((~np.isfinite(axis.positions)).sum())
    empty = int((n[axis.order] == 0).sum())
    notes = ["the group without a value is not drawn"] * (without > 0)
    return notes + [f"{counted(empty, 'group has', 'groups have')} no reports"] * (empty > 0)


def _finish(ax: Axes, tally: Collected, shown: Shown, axis: Axis, answers: list[int]) -> None:
    drawn = np.concatenate([part.ravel() for part in (shown.share, shown.low, shown.high)])
    if len(answers) == 1 and shown.reported is not None:
        drawn = np.append(drawn, shown.reported)
    least, most = min(float(np.nanmin(drawn)), 0.0), float(np.nanmax(drawn))
    margin = 0.04 * (most - least or 1.0)
    ax.set_ylim(least - margin, most + margin)
    if least < 0:
        ax.axhline(0, color=canvas.INK, linewidth=0.8)
    canvas.add_grid(ax)
    ax.set_ylabel(shown.axis_label, parse_math=False)
    ax.set_xlabel(shortened(printable(tally.by[0]), 2 * canvas.LABEL_WIDTH), parse_math=False)
    if len(axis.order) <= GROUPS_MARKED:
        _label_groups(ax, tally, axis)
    elif axis.dates:
        _label_dates(ax)
    else:
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}" if abs(value) < NUMBERS_IN_FULL else f"{value:.0f}")


def _label_groups(ax: Axes, tally: Collected, axis: Axis) -> None:
    """Name the groups at their positions, as many as fit beside each other."""
    names = told_apart([printable(str(tally.groups[group][0])) for group in axis.order], canvas.GROUP_WIDTH)
    placed, characters = axis.positions[axis.order], canvas.fitting(ax, AXIS_CHARACTERS)
    half = (max(len(names[0]), len(names[-1])) + 1) / 2
    ax.margins(x=min(max(0.05, half / max(characters - 2 * half, 1)), 0.2))  # names at the ends stay below the axis
    margin = (placed[-1] - placed[0]) / characters  # of a character
    shown: list[int] = []
    for group, name in enumerate(names):
        if not shown or placed[group] - placed[shown[-1]] >= margin * (2 + (len(name) + len(names[shown[-1]])) / 2):
            shown.append(group)
    ax.set_xticks([float(placed[group]) for group in shown], [names[group] for group in shown], parse_math=False)


def _label_dates(ax: Axes) -> None:
    from matplotlib import dates

    untyped: Any = dates
    locator = untyped.AutoDateLocator(minticks=3, maxticks=canvas.fitting(ax, 9))
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))


# Estimate plots


REPORTED_BAR = "#a6a6a6"
TREND_SIZE = (canvas.FIGURE_INCHES, 5.0)  # inches
AXIS_WIDTH = 60  # characters below an axis
BARS_WITH_VALUES = 10  # bars with their values beside them, at most
RANKS_DRAWN = 400  # ranks that are drawn; a line through a million would look the same
LARGEST_AXIS_RATIO = 1e6  # of the ends of a logarithmic axis
DEFAULT_TITLE = "Estimated shares of the true answers"


class Shown(NamedTuple):
    """Drawn percentages, (groups, answers), NaN for groups without reports, and their names."""

    share: Array
    low: Array
    high: Array
    outside: Mask
    reported: Array | None  # None if reports do not name answers
    interval_label: str
    reports_label: str
    axis_label: str

    def part(self, groups: Places, answers: Places) -> Shown:
        cut = (None if numbers is None else numbers[np.ix_(groups, answers)] for numbers in self[:5])
        return Shown._make([*cut, *self[5:]])


def estimate_picture(
    estimate: Estimate,
    confidence: Confidence,
    *,
    rows: int = ANSWERS_DRAWN,
    cumulative: bool = False,
    title: str | None = None,
) -> canvas.Picture:
    """Picture of the estimated shares with their intervals, beside the reported shares; see `Estimate.plot`."""
    if rows < 1:
        raise ValueError(f"rows must be at least 1, but got {rows!r}")
    tally = estimate.tally
    if tally.by and not cumulative and tally.k > rows and (means := estimate._leading(confidence)) is not None:
        return number_picture(means.parts[0], None if axis_of(tally) is None else tally.by[0], title)
    picture = _Picture(estimate, confidence, _shown(estimate, confidence), rows, cumulative)
    return canvas.Picture(lambda ax: picture.drawn(ax, title), picture.size())


# What is drawn


def _shown(estimate: Estimate, confidence: Confidence) -> Shown:
    table = estimate._of_interest(confidence)
    groups = max(len(estimate.tally.groups), 1)
    share, low, high = (100 * table[name].reshape(groups, -1) for name in ("share", "low", "high"))
    reported = None
    if "reports" in table:
        n = np.reshape(estimate.tally.n, (groups, 1)).astype(np.float64)
        reports = table["reports"].reshape(groups, -1)
        reported = 100 * np.divide(reports, n, out=np.full(reports.shape, np.nan), where=n > 0)
    about = estimate._kind_of_interval(confidence)
    supporting = reported is not None and not estimate.tally.parts[0].design.law.exclusive
    # Where rows are groups, nothing else names the answer.
    named = estimate.tally.by and share.shape[1] == 1
    answer = f" with the answer {quoted(estimate.tally.domain[0])}" if named else ""
    return Shown(
        share,
        low,
        high,
        table["outside"].reshape(groups, -1),
        reported,
        interval_label=f"{about}{confidence}",
        reports_label="supporting reports" if supporting else "reported, as randomized",
        axis_label="share of respondents or of reports (%)" if supporting else f"share of respondents{answer} (%)",
    )


class _Picture(NamedTuple):
    estimate: Estimate
    confidence: Confidence
    shown: Shown
    rows: int
    cumulative: bool

    def size(self) -> tuple[float, float]:
        tally, rows, answers = self.estimate.tally, self.rows, self.shown.share.shape[1]
        if self.cumulative or axis_of(tally) is not None:
            return TREND_SIZE
        if answers == 1:
            return canvas.FIGURE_INCHES, 1.9 + 0.36 * min(len(self.shown.share), rows)
        if tally.by:
            groups = len(_largest_groups(self.estimate, len(canvas.PALETTE)))
            return canvas.FIGURE_INCHES, 2.0 + _number_of_answers(answers, groups, rows) * (0.16 * groups + 0.14)
        return canvas.FIGURE_INCHES, 1.9 + 0.36 * answers if answers <= rows else 5.0

    def drawn(self, ax: Axes, title: str | None) -> Axes:
        tally, legend = self.estimate.tally, self._legend(ax)
        facts = [reports_in_words(tally), f"ε {'at most' if len(tally.parts) > 1 else '='} {tally.shown_epsilon()}"]
        facts += [f"{len(tally.parts)} designs"] * (len(tally.parts) > 1)
        facts += [f"method {self.estimate._name()}"]
        facts += [f"by {shortened(printable(', '.join(tally.by)), canvas.LABEL_WIDTH)}"] * bool(tally.by)
        above = canvas.add_legend(ax, legend)
        canvas.add_heading(ax, [*facts, *legend.notes], DEFAULT_TITLE if title is None else title, above)
        return ax

    def _legend(self, ax: Axes) -> canvas.Legend:
        estimate, confidence, shown, rows, cumulative = self
        tally, answers = estimate.tally, shown.share.shape[1]
        if cumulative:
            groups = _largest_groups(estimate, len(canvas.PALETTE)) if tally.by else np.zeros(1, dtype=np.int64)
            legend = draw_distribution(ax, estimate, shown, confidence, groups)
            return legend._replace(notes=legend.notes + _groups_left_out(groups, np.atleast_1d(tally.n)))
        if (axis := axis_of(tally)) is not None:
            legend = draw_trend(ax, tally, shown, axis, rows)
            legend.notes.extend(_bias_note(estimate, shown.outside))
            return legend
        if tally.by:
            return (_draw_one_answer if answers == 1 else _draw_groups)(ax, estimate, shown, rows)
        if answers > rows and estimate._ordered:
            return draw_curve(ax, estimate, shown, confidence)
        if answers > rows:
            return _draw_ranks(ax, estimate, shown)
        order = np.arange(answers) if estimate._ordered else _by_share(shown)
        return _draw_bars(ax, estimate, shown.part(np.array([0]), order), [tally.domain[i] for i in order])


def _draw_one_answer(ax: Axes, estimate: Estimate, shown: Shown, most_rows: int) -> canvas.Legend:
    groups = _largest_groups(estimate, most_rows)
    n, names = np.asarray(estimate.tally.n), estimate.tally.group_names()
    named = [names[group] if n[group] > 0 else f"{names[group]} (no reports)" for group in groups]
    legend = _draw_bars(ax, estimate, shown.part(groups, np.array([0])), named)
    return legend._replace(notes=_groups_left_out(groups, n) + legend.notes)


def _draw_bars(ax: Axes, estimate: Estimate, shown: Shown, names: Sequence[object]) -> canvas.Legend:
    rows = np.arange(len(names), dtype=np.float64)
    # Reports are thin and gray, below the estimates.
    middle = rows if shown.reported is None else rows - 0.12
    estimated = ax.barh(middle, shown.share.ravel(), height=0.46, color=canvas.PALETTE[0])
    whiskers = canvas.whiskers(ax, shown.low.ravel(), shown.high.ravel(), middle, canvas.INK)
    handles, labels = [estimated, whiskers], ["estimated", shown.interval_label]
    if shown.reported is not None:
        handles.append(ax.barh(rows + 0.24, shown.reported.ravel(), height=0.22, color=REPORTED_BAR))
        labels.append(shown.reports_label)
    canvas.name_rows(ax, [printable(str(name)) for name in names])
    named = len(names) <= BARS_WITH_VALUES
    _percent_axis(ax, shown, bars=True, named=named)
    for row, share, high in zip(middle, shown.share.ravel(), shown.high.ravel(), strict=True):
        if named and np.isfinite(share):
            place = (max(share, high), row)
            ax.annotate(f"{share:.1f} %", place, (5, 0), textcoords="offset points", va="center", fontsize=8)
    return canvas.Legend(handles, labels, _bias_note(estimate, shown.outside))


def _draw_groups(ax: Axes, estimate: Estimate, shown: Shown, most_rows: int) -> canvas.Legend:
    tally = estimate.tally
    groups = _largest_groups(estimate, len(canvas.PALETTE))
    n = np.asarray(tally.n, dtype=np.float64)
    number = _number_of_answers(tally.k, groups.size, most_rows)
    common = np.argsort(-(n @ np.nan_to_num(shown.share)), kind="stable")
    order = (np.arange(2) if tally.k == 2 else common)[:number]
    order = np.sort(order) if estimate._ordered else order
    shown = shown.part(groups, order)
    rows = np.arange(number, dtype=np.float64)
    for row in rows[::2]:
        ax.axhspan(row - 0.5, row + 0.5, color=canvas.STRIPE, linewidth=0, zorder=0)
    names = told_apart([printable(tally.group_names()[group]) for group in groups], canvas.GROUP_WIDTH)
    handles: list[Any] = []
    raw: list[Any] = []
    labels = []
    for place, group in enumerate(groups):
        y = rows + (place - (groups.size - 1) / 2) * 0.8 / groups.size
        canvas.whiskers(ax, shown.low[place], shown.high[place], y, canvas.PALETTE[place])
        if shown.reported is not None:
            reported = shown.reported[place]
            raw = ax.plot(reported, y, "|", color=canvas.REPORTED_POINT, markersize=7, markeredgewidth=1.6, zorder=2)
        handles += ax.plot(
            shown.share[place], y, canvas.MARKERS[place], color=canvas.PALETTE[place], markersize=5.5, zorder=3
        )
        labels.append(names[place] if n[group] > 0 else f"{names[place]} (no reports)")
    canvas.name_rows(ax, [printable(str(tally.domain[i])) for i in order])
    _percent_axis(ax, shown)
    notes = [f"lines: {shown.interval_label}", *_groups_left_out(groups, n)]
    notes += [f"the {number} most common of {tally.k:,} answers"] * (number < tally.k)
    handles, labels = [*handles, *raw], [*labels, *[shown.reports_label] * len(raw)]
    return canvas.Legend(handles, labels, notes + _bias_note(estimate, shown.outside))


def _draw_ranks(ax: Axes, estimate: Estimate, shown: Shown) -> canvas.Legend:
    order = _by_share(shown)
    ranks = np.unique(np.geomspace(1, order.size, RANKS_DRAWN).round().astype(np.int64))
    drawn = order[ranks - 1]
    share, low, high = (part[0, drawn] for part in (shown.share, shown.low, shown.high))
    reported = None if shown.reported is None else shown.reported[0, drawn]
    values = np.concatenate([share, high, *([] if reported is None else [reported])])
    most = values.max()
    bottom = max(values[values > 0].min() * 0.7, most / LARGEST_AXIS_RATIO)
    # A logarithmic axis has no zero: the band goes down to the axis, and shares of zero have no point.
    band = ax.fill_between(
        ranks, np.maximum(low, bottom), np.maximum(high, bottom), color=canvas.PALETTE[0], alpha=0.2, linewidth=0
    )
    raw = []
    if reported is not None:
        raw = ax.plot(ranks[reported > 0], reported[reported > 0], ".", color=canvas.REPORTED_POINT, markersize=3.5)
    (line,) = ax.plot(ranks[share > 0], share[share > 0], "o-", color=canvas.PALETTE[0], markersize=3, linewidth=1.2)
    canvas.logarithmic(ax)
    ax.set_xlim(0.9, order.size * 1.1)
    ax.set_ylim(bottom, min(most * 1.5, 130))
    label = f"rank of the answer, of {order.size:,} (1 = largest estimated share)"
    ax.set_xlabel(textwrap.fill(label, canvas.fitting(ax, AXIS_WIDTH)))
    ax.set_ylabel(shown.axis_label)
    leaders = [i for i in order[:3] if shown.share[0, i] > 0]
    names = ", ".join(shortened(printable(str(estimate.tally.domain[i])), canvas.GROUP_WIDTH) for i in leaders)
    zeros, below = int((shown.share <= 0).sum()), bool((shown.share < 0).any())
    notes = [f"largest: {names}"] * bool(leaders)
    notes += [f"{counted(zeros, 'answer', 'answers')} at zero{' or below' * below}, not drawn"] * (zeros > 0)
    notes += _bias_note(estimate, shown.outside[:, drawn])
    labels = ["estimated", shown.interval_label, *([shown.reports_label] * len(raw))]
    return canvas.Legend([line, band, *raw], labels, notes)


def _by_share(shown: Shown) -> Places:
    """Order the answers by share, then by reports; two answers keep their order."""
    if shown.share.shape[1] == 2:
        return np.arange(2)
    ties = np.zeros_like(shown.share) if shown.reported is None else shown.reported
    return np.lexsort((-ties[0], -shown.share[0]))


def _largest_groups(estimate: Estimate, most: int) -> Places:
    return np.sort(np.argsort(-np.asarray(estimate.tally.n), kind="stable")[:most])


def _groups_left_out(groups: Places, n: Array) -> list[str]:
    return [f"the {groups.size} of {n.size:,} groups with the most reports"] * (groups.size < n.size)


def _number_of_answers(k: int, groups: int, rows: int) -> int:
    return min(k, rows, max(canvas.POINT_ROWS_DRAWN // groups, 1))


def _bias_note(estimate: Estimate, outside: Mask) -> list[str]:
    # Unbiased shares are outside only where they leave 0 to 100 %, which the picture shows.
    noted = outside.any() and not estimate._estimator.unbiased
    why = f"the bias of {estimate.method}" if estimate._estimator.outside == BIAS else estimate._estimator.outside
    return [f"some estimates lie outside their interval: {why}"] * bool(noted)


# Axes


def _percent_axis(ax: Axes, shown: Shown, *, bars: bool = False, named: bool = False) -> None:
    drawn = np.concatenate([part for part in (shown.share, shown.low, shown.high, shown.reported) if part is not None])
    least, most = min(np.nanmin(drawn), 0.0), np.nanmax(drawn)
    margin = 0.04 * (most - least)
    # Points on the zero line need a margin.
    ax.set_xlim(least - (0.0 if least == 0 and bars else margin), most + (2.5 if named else 1) * margin)
    if least < 0:
        ax.axvline(0, color=canvas.INK, linewidth=0.8)
    canvas.add_grid(ax, "x")
    ax.set_xlabel(textwrap.fill(shown.axis_label, canvas.fitting(ax, AXIS_WIDTH)), parse_math=False)
