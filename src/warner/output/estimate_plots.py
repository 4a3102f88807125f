"""Plots of estimates: the estimated shares with their intervals, beside what was reported.

Up to `rows` answers are bars. More answers are a rank plot with logarithmic axes or, if they are ordered, an area along
their axis. Groups are colored points, or lines with bands if they have an order: a trend has distances as those of the
values, and lines end where reports are missing. Notes under the title name everything that is left out.
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

DEFAULT_TITLE = "Estimated shares of the true answers"
TREND_SIZE = (canvas.FIGURE_INCHES, 5.0)  # inches
AXIS_WIDTH = 60  # characters below an axis
REPORTED_BAR = "#a6a6a6"
BARS_WITH_VALUES = 10  # bars with their values beside them, at most
RANKS_DRAWN = 400  # ranks that are drawn; a line through a million would look the same
LARGEST_AXIS_RATIO = 1e6  # of the ends of a logarithmic axis
TALLEST_BAND = 2.0  # times the largest share: larger intervals are not drawn
POINTS_OF_BAND = 200  # of the distribution function with limits
NAMED_PLACES = 8  # labels of answers along the axis
GROUPS_OF_A_TREND = 3  # at least
BANDS_DRAWN = 5  # distinguishable bands
GROUPS_MARKED = 40  # groups that have a marker each
AXIS_CHARACTERS = 84  # below an axis
NUMBERS_IN_FULL = 1e6  # numbers from which on the axis writes all digits
REGULAR_STEPS = 0.75  # part of equal steps between groups from which on a missing one is a gap


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
    picture = _EstimatePicture(estimate, confidence, rows, cumulative=cumulative)
    return canvas.Picture(picture.drawn, picture.size(), title)


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


def pieces(positions: Array, known: Mask) -> list[Places]:
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


class Shown(NamedTuple):
    """Drawn percentages, (groups, answers), NaN for groups without reports; `reported` is None if reports name none."""

    share: Array
    low: Array
    high: Array
    outside: Mask
    reported: Array | None

    def part(self, groups: Places, answers: Places) -> Shown:
        return Shown._make(None if numbers is None else numbers[np.ix_(groups, answers)] for numbers in self)

    def extent(self) -> tuple[float, float]:
        """Return the least number, or 0, and the largest."""
        drawn = np.concatenate([part.ravel() for part in (*self[:3], self.reported) if part is not None])
        return min(float(np.nanmin(drawn)), 0.0), float(np.nanmax(drawn))


class _EstimatePicture:
    def __init__(self, estimate: Estimate, confidence: Confidence, rows: int, *, cumulative: bool) -> None:
        self.estimate, self.confidence, self.rows, self.cumulative = estimate, confidence, rows, cumulative
        self.tally, self.axis = estimate.tally, axis_of(estimate.tally)
        self.n = np.atleast_1d(np.asarray(self.tally.n, dtype=np.float64))
        table, groups = estimate._of_interest(confidence), max(len(self.tally.groups), 1)
        share, low, high = (100 * table[name].reshape(groups, -1) for name in ("share", "low", "high"))
        reported, supporting = None, False
        if "reports" in table:
            n, reports = np.reshape(self.n, (groups, 1)), table["reports"].reshape(groups, -1)
            reported = 100 * np.divide(reports, n, out=np.full(reports.shape, np.nan), where=n > 0)
            supporting = not self.tally.parts[0].design.law.exclusive
        self.shown = Shown(share, low, high, table["outside"].reshape(groups, -1), reported)
        self.answers = share.shape[1]
        # Where rows are groups, nothing else names the answer.
        named = self.tally.by and self.answers == 1
        answer = f" with the answer {quoted(self.tally.domain[0])}" if named else ""
        self.interval_label = f"{estimate._kind_of_interval(confidence)}{confidence}"
        self.reports_label = "supporting reports" if supporting else "reported, as randomized"
        self.axis_label = f"share of respondents{answer} (%)"
        if supporting:
            self.axis_label = "share of respondents or of reports (%)"

    def size(self) -> tuple[float, float]:
        if self.cumulative or self.axis is not None:
            return TREND_SIZE
        if self.answers == 1:
            return canvas.FIGURE_INCHES, 1.9 + 0.36 * min(len(self.shown.share), self.rows)
        if self.tally.by:
            groups = len(self._largest_groups())
            return canvas.FIGURE_INCHES, 2.0 + self._number_of_answers(groups) * (0.16 * groups + 0.14)
        return canvas.FIGURE_INCHES, 1.9 + 0.36 * self.answers if self.answers <= self.rows else 5.0

    def drawn(self, ax: Axes) -> tuple[canvas.Legend, str]:
        tally, legend = self.tally, self._legend(ax)
        facts = [reports_in_words(tally), f"ε {'at most' if len(tally.parts) > 1 else '='} {tally.shown_epsilon()}"]
        facts += [f"{len(tally.parts)} designs"] * (len(tally.parts) > 1)
        facts += [f"method {self.estimate._name()}"]
        facts += [f"by {shortened(printable(', '.join(tally.by)), canvas.LABEL_WIDTH)}"] * bool(tally.by)
        return legend._replace(notes=[*facts, *legend.notes]), DEFAULT_TITLE

    def _legend(self, ax: Axes) -> canvas.Legend:
        if self.cumulative:
            return self._draw_distribution(ax)
        if self.axis is not None:
            return self._draw_trend(ax, self.axis)
        if self.tally.by:
            return self._draw_one_answer(ax) if self.answers == 1 else self._draw_groups(ax)
        if self.answers > self.rows:
            return self._draw_curve(ax) if self.estimate._ordered else self._draw_ranks(ax)
        order = np.arange(self.answers) if self.estimate._ordered else self._by_share()
        names = [self.tally.domain[answer] for answer in order]
        return self._draw_bars(ax, self.shown.part(np.array([0]), order), names)

    def _largest_groups(self, most: int = len(canvas.PALETTE)) -> Places:
        return np.sort(np.argsort(-self.n, kind="stable")[:most])

    def _groups_left_out(self, groups: Places) -> list[str]:
        return [f"the {groups.size} of {self.n.size:,} groups with the most reports"] * (groups.size < self.n.size)

    def _number_of_answers(self, groups: int) -> int:
        return min(self.tally.k, self.rows, max(canvas.POINT_ROWS_DRAWN // groups, 1))

    def _most_common(self) -> Places:
        """Order the answers by their shares of all reports together."""
        return np.argsort(-(self.n @ np.nan_to_num(self.shown.share)), kind="stable")

    def _by_share(self) -> Places:
        """Order the answers by share, then by reports; two answers keep their order."""
        if self.answers == 2:
            return np.arange(2)
        ties = np.zeros_like(self.shown.share) if self.shown.reported is None else self.shown.reported
        return np.lexsort((-ties[0], -self.shown.share[0]))

    def _bias_note(self, outside: Mask) -> list[str]:
        # Unbiased shares are outside only where they leave 0 to 100 %, which the picture shows.
        estimator = self.estimate._estimator
        why = f"the bias of {self.estimate.method}" if estimator.outside == BIAS else estimator.outside
        return [f"some estimates lie outside their interval: {why}"] * bool(outside.any() and not estimator.unbiased)

    def _group_names(self) -> list[str]:
        return list(map(printable, self.tally.group_names()))

    # Bars and points

    def _draw_one_answer(self, ax: Axes) -> canvas.Legend:
        groups, names = self._largest_groups(self.rows), self.tally.group_names()
        named = [names[group] if self.n[group] > 0 else f"{names[group]} (no reports)" for group in groups]
        legend = self._draw_bars(ax, self.shown.part(groups, np.array([0])), named)
        return legend._replace(notes=self._groups_left_out(groups) + legend.notes)

    def _draw_bars(self, ax: Axes, shown: Shown, names: Sequence[object]) -> canvas.Legend:
        rows = np.arange(len(names), dtype=np.float64)
        # Reports are thin and gray, below the estimates.
        middle = rows if shown.reported is None else rows - 0.12
        estimated = ax.barh(middle, shown.share.ravel(), height=0.46, color=canvas.PALETTE[0])
        whiskers = canvas.whiskers(ax, shown.low.ravel(), shown.high.ravel(), middle, canvas.INK)
        handles, labels = [estimated, whiskers], ["estimated", self.interval_label]
        if shown.reported is not None:
            handles.append(ax.barh(rows + 0.24, shown.reported.ravel(), height=0.22, color=REPORTED_BAR))
            labels.append(self.reports_label)
        canvas.name_rows(ax, [printable(str(name)) for name in names])
        named = len(names) <= BARS_WITH_VALUES
        self._percent_axis(ax, shown, bars=True, named=named)
        for row, share, high in zip(middle, shown.share.ravel(), shown.high.ravel(), strict=True):
            if named and np.isfinite(share):
                place = (max(share, high), row)
                ax.annotate(f"{share:.1f} %", place, (5, 0), textcoords="offset points", va="center", fontsize=8)
        return canvas.Legend(handles, labels, self._bias_note(shown.outside))

    def _draw_groups(self, ax: Axes) -> canvas.Legend:
        tally, groups = self.tally, self._largest_groups()
        number = self._number_of_answers(groups.size)
        order = (np.arange(2) if tally.k == 2 else self._most_common())[:number]
        order = np.sort(order) if self.estimate._ordered else order
        shown, rows = self.shown.part(groups, order), np.arange(number, dtype=np.float64)
        canvas.stripe_rows(ax, number)
        all_names = self._group_names()
        names = told_apart([all_names[group] for group in groups], canvas.GROUP_WIDTH)
        handles: list[Any] = []
        raw: list[Any] = []
        labels = []
        for place, group in enumerate(groups):
            y = rows + (place - (groups.size - 1) / 2) * 0.8 / groups.size
            canvas.whiskers(ax, shown.low[place], shown.high[place], y, canvas.PALETTE[place])
            if shown.reported is not None:
                gray: Any = {"color": canvas.REPORTED_POINT, "markersize": 7, "markeredgewidth": 1.6, "zorder": 2}
                raw = ax.plot(shown.reported[place], y, "|", **gray)
            handles += canvas.group_points(ax, shown.share[place], y, place)
            labels.append(names[place] if self.n[group] > 0 else f"{names[place]} (no reports)")
        canvas.name_rows(ax, [printable(str(tally.domain[answer])) for answer in order])
        self._percent_axis(ax, shown)
        notes = [f"lines: {self.interval_label}", *self._groups_left_out(groups)]
        notes += [f"the {number} most common of {tally.k:,} answers"] * (number < tally.k)
        handles, labels = [*handles, *raw], [*labels, *[self.reports_label] * len(raw)]
        return canvas.Legend(handles, labels, notes + self._bias_note(shown.outside))

    def _percent_axis(self, ax: Axes, shown: Shown, *, bars: bool = False, named: bool = False) -> None:
        least, most = shown.extent()
        margin = 0.04 * (most - least)
        # Points on the zero line need a margin.
        ax.set_xlim(least - (0.0 if least == 0 and bars else margin), most + (2.5 if named else 1) * margin)
        if least < 0:
            ax.axvline(0, color=canvas.INK, linewidth=0.8)
        canvas.add_grid(ax, "x")
        ax.set_xlabel(textwrap.fill(self.axis_label, canvas.fitting(ax, AXIS_WIDTH)), parse_math=False)

    # Many answers

    def _draw_ranks(self, ax: Axes) -> canvas.Legend:
        shown, order = self.shown, self._by_share()
        ranks = np.unique(np.geomspace(1, order.size, RANKS_DRAWN).round().astype(np.int64))
        drawn = order[ranks - 1]
        share, low, high = (part[0, drawn] for part in (shown.share, shown.low, shown.high))
        reported = None if shown.reported is None else shown.reported[0, drawn]
        values = np.concatenate([share, high, *([] if reported is None else [reported])])
        most = values.max()
        bottom = max(values[values > 0].min() * 0.7, most / LARGEST_AXIS_RATIO)
        # A logarithmic axis has no zero: the band goes down to the axis, and shares of zero have no point.
        blue: Any = {"color": canvas.PALETTE[0]}
        band = ax.fill_between(ranks, np.maximum(low, bottom), np.maximum(high, bottom), alpha=0.2, linewidth=0, **blue)
        raw = []
        if reported is not None:
            raw = ax.plot(ranks[reported > 0], reported[reported > 0], ".", color=canvas.REPORTED_POINT, markersize=3.5)
        (line,) = ax.plot(ranks[share > 0], share[share > 0], "o-", markersize=3, linewidth=1.2, **blue)
        canvas.logarithmic(ax)
        ax.set_xlim(0.9, order.size * 1.1)
        ax.set_ylim(bottom, min(most * 1.5, 130))
        label = f"rank of the answer, of {order.size:,} (1 = largest estimated share)"
        ax.set_xlabel(textwrap.fill(label, canvas.fitting(ax, AXIS_WIDTH)))
        ax.set_ylabel(self.axis_label)
        leaders = [answer for answer in order[:3] if shown.share[0, answer] > 0]
        domain = self.tally.domain
        names = ", ".join(shortened(printable(str(domain[answer])), canvas.GROUP_WIDTH) for answer in leaders)
        zeros, below = int((shown.share <= 0).sum()), bool((shown.share < 0).any())
        notes = [f"largest: {names}"] * bool(leaders)
        notes += [f"{counted(zeros, 'answer', 'answers')} at zero{' or below' * below}, not drawn"] * (zeros > 0)
        notes += self._bias_note(shown.outside[:, drawn])
        labels = ["estimated", self.interval_label, *([self.reports_label] * len(raw))]
        return canvas.Legend([line, band, *raw], labels, notes)

    def _draw_curve(self, ax: Axes) -> canvas.Legend:
        """Draw the shares of many ordered answers as an area over their axis, with the mean where they are numbers."""
        x, share = self._answer_axis(ax, "share of each answer (%)"), self.shown.share[0]
        low, high = np.maximum(self.shown.low[0], 0), self.shown.high[0]
        flat: Any = {"step": "mid", "linewidth": 0}
        handles: list[Any] = [ax.fill_between(x, share, color=canvas.PALETTE[0], alpha=0.75, **flat)]
        labels, notes = ["estimated"], []
        if high.max() <= TALLEST_BAND * share.max():
            handles.append(ax.fill_between(x, low, high, color=canvas.INK, alpha=0.15, zorder=0.5, **flat))
            labels.append(self.interval_label)
        else:
            notes.append(f"intervals of single answers reach up to {high.max():.3g} %, and are not drawn")
        numbers, orange = self.estimate._mean_and_median(self.confidence), canvas.PALETTE[1]
        if numbers is not None:
            mean = numbers[0]
            handles.append(ax.axvspan(float(mean.low), float(mean.high), color=orange, alpha=0.25, linewidth=0))
            ax.axvline(float(mean.value), color=orange, linewidth=1.4)
            labels.append(f"mean {', '.join(mean.value_texts()[0])}")
        ax.set_ylim(min(0.0, 1.05 * float(share.min())), 1.08 * float(max(share.max(), high.max() * (len(notes) == 0))))
        return canvas.Legend(handles, labels, notes)

    def _draw_distribution(self, ax: Axes) -> canvas.Legend:
        """Draw the shares of all answers up to each, with their limits, and the median; a line for each group."""
        tally, x = self.tally, self._answer_axis(ax, "share of respondents up to each answer (%)")
        running = 100 * np.atleast_2d(self.estimate.shares).cumsum(axis=1)
        places, low, high = self._cumulative_limits()
        groups = self._largest_groups() if tally.by else np.zeros(1, dtype=np.intp)
        names = told_apart(self._group_names(), canvas.GROUP_WIDTH) if tally.by else ["estimated"]
        handles: list[Any] = []
        for place, group in enumerate(groups.tolist()):
            look, ends = canvas.line_look(place), (100 * low[group], 100 * high[group])
            band = ax.fill_between(x[places], *ends, step="post", color=look["color"], alpha=0.18, linewidth=0)
            handles += ax.step(x, running[group], where="post", linewidth=1.8, **look)
        labels, notes = [names[group] for group in groups.tolist()], self._groups_left_out(groups)
        if tally.by:
            notes = [f"bands: {self.interval_label}", *notes]
        else:
            handles, labels = [*handles, band], [*labels, self.interval_label]
        numbers, orange = None if tally.by else self.estimate._mean_and_median(self.confidence), canvas.PALETTE[1]
        if numbers is not None:
            median = numbers[1]
            ax.plot([float(median.low), float(median.high)], [50, 50], "|-", color=orange, linewidth=1.4)
            handles += ax.plot([float(median.value)], [50], "o", color=orange, markersize=6)
            labels.append(f"median {', '.join(median.value_texts()[0])}")
        ax.set_ylim(-2, 102)
        return canvas.Legend(handles, labels, notes)

    def _cumulative_limits(self) -> tuple[Integers, Array, Array]:
        """Return the limits of the cumulative shares in each group; of many answers, at some positions only."""
        tally, confidence = self.tally, self.confidence
        if tally.k > POINTS_OF_BAND and not confidence.simultaneous:
            places = np.unique(np.linspace(0, tally.k - 1, POINTS_OF_BAND).round().astype(np.int64))
            ends = limits(tally, confidence, sets=[range(place + 1) for place in places.tolist()])
            return places, ends.low, ends.high
        names = ("level", "target", "simultaneous", "anytime")
        options: Any = {name: getattr(confidence, name) for name in names}
        found = self.estimate.interval(cumulative=True, **options)
        return np.arange(tally.k), np.atleast_2d(found.low), np.atleast_2d(found.high)

    def _answer_axis(self, ax: Axes, label: str) -> Array:
        """Return the positions of the answers along the axis: their numbers, or 0, 1, 2, ..., some of them named."""
        domain, fitting = self.tally.domain, canvas.fitting(ax, NAMED_PLACES)
        if is_numeric(domain):
            x = values_of(domain)
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
            if len(x) <= fitting:
                ax.set_xticks(x)
            else:
                ax.locator_params(axis="x", nbins=fitting)
        else:
            x = np.arange(len(domain), dtype=np.float64)
            named = np.unique(np.linspace(0, len(domain) - 1, fitting).round().astype(np.int64))
            texts = [shortened(printable(str(domain[place])), canvas.LABEL_WIDTH // 2) for place in named.tolist()]
            ax.set_xticks(named, texts, parse_math=False)
        ax.set_xlim(float(x[0]), float(x[-1]))
        ax.set_xlabel("answer")
        ax.set_ylabel(label)
        canvas.add_grid(ax)
        return x

    # Trends

    def _draw_trend(self, ax: Axes, axis: Axis) -> canvas.Legend:
        """Draw a line with a band for each of the most common answers; of two answers, for the first."""
        tally, order, x = self.tally, axis.order, canvas.along_axis(axis)[axis.order]
        answers = np.arange(self.answers)  # of two answers the first, or two readings of it
        if self.answers > 2:
            answers = self._most_common()[: min(self.rows, BANDS_DRAWN)]
        shown, parts = self.shown.part(order, answers), pieces(axis.positions[order], self.n[order] > 0)
        raw: list[Any] = []
        if len(answers) > 1:
            shown = shown._replace(reported=None)
        if shown.reported is not None:
            for part in parts:
                style = ".:" if len(x) <= GROUPS_MARKED or part.size == 1 else ":"
                gray: Any = {"color": canvas.REPORTED_POINT, "linewidth": 1.3, "zorder": 1.5}
                raw = ax.plot(x[part], shown.reported[part, 0], style, **gray)
        handles = [self._draw_line(ax, x, parts, shown, place) for place in range(len(answers))]
        self._finish_trend(ax, shown, axis)
        names = told_apart([printable(str(tally.domain[answer])) for answer in answers], canvas.GROUP_WIDTH)
        notes = [f"{'band' if len(answers) == 1 else 'bands'}: {self.interval_label}"]
        notes += [f"the {len(answers)} most common of {tally.k:,} answers"] * (1 < len(answers) < tally.k)
        notes += ["lines end where there are no reports"] * (len(parts) > 1)
        notes += ["the group without a value is not drawn"] * (len(order) < len(axis.positions))
        empty = int((self.n[order] == 0).sum())
        notes += [f"{counted(empty, 'group has', 'groups have')} no reports"] * (empty > 0)
        labels = [*names, *[self.reports_label] * len(raw[:1])]
        return canvas.Legend([*handles, *raw[:1]], labels, notes + self._bias_note(self.shown.outside))

    def _draw_line(self, ax: Axes, x: Any, parts: list[Places], shown: Shown, place: int) -> Any:
        share, low, high = (column[:, place] for column in shown[:3])
        look: Any = canvas.line_look(place) | {"linewidth": 1.8, "markersize": 4.5}
        marker = canvas.MARKERS[place] if len(x) <= GROUPS_MARKED else ""
        for part in parts:
            if part.size > 1:
                ax.fill_between(x[part], low[part], high[part], color=look["color"], alpha=0.16, linewidth=0)
                ax.plot(x[part], share[part], marker=marker, zorder=3, **look)
            else:  # a band would have no width
                ax.vlines(x[part], low[part], high[part], color=look["color"], alpha=0.45, linewidth=3.5)
                alone = look | {"linestyle": "none", "marker": canvas.MARKERS[place]}
                ax.plot(x[part], share[part], zorder=3, **alone)
        (handle,) = ax.plot([], [], marker=marker, **look)
        return handle

    def _finish_trend(self, ax: Axes, shown: Shown, axis: Axis) -> None:
        least, most = shown.extent()
        margin = 0.04 * (most - least or 1.0)
        ax.set_ylim(least - margin, most + margin)
        if least < 0:
            ax.axhline(0, color=canvas.INK, linewidth=0.8)
        canvas.add_grid(ax)
        ax.set_ylabel(self.axis_label, parse_math=False)
        ax.set_xlabel(shortened(printable(self.tally.by[0]), 2 * canvas.LABEL_WIDTH), parse_math=False)
        if len(axis.order) <= GROUPS_MARKED:
            self._label_groups(ax, axis)
        elif axis.dates:
            from matplotlib import dates

            untyped: Any = dates
            locator = untyped.AutoDateLocator(minticks=3, maxticks=canvas.fitting(ax, 9))
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
        else:
            ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}" if abs(x) < NUMBERS_IN_FULL else f"{x:.0f}")

    def _label_groups(self, ax: Axes, axis: Axis) -> None:
        """Name the groups at their positions, as many as fit beside each other."""
        groups = [printable(str(self.tally.groups[group][0])) for group in axis.order]
        names = told_apart(groups, canvas.GROUP_WIDTH)
        placed, characters = axis.positions[axis.order], canvas.fitting(ax, AXIS_CHARACTERS)
        half = (max(len(names[0]), len(names[-1])) + 1) / 2
        ax.margins(x=min(max(0.05, half / max(characters - 2 * half, 1)), 0.2))  # names at the ends stay below the axis
        margin = (placed[-1] - placed[0]) / characters  # of a character
        shown: list[int] = []
        for group, name in enumerate(names):
            if not shown or placed[group] - placed[shown[-1]] >= margin * (2 + (len(name) + len(names[shown[-1]])) / 2):
                shown.append(group)
        ax.set_xticks([float(placed[group]) for group in shown], [names[group] for group in shown], parse_math=False)
