"""Pictures: the estimated shares with their intervals, beside what was reported.

Up to `top` answers are bars, the largest share first. More than that are a rank plot, where both axes are logarithmic.
Groups are coloured points, a row for each answer. What a picture leaves out, it says under its title.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.documents import written_whole
from warner.inference.binomial import Reading

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from warner.estimation import Estimate
    from warner.planning.plans import Plan

# The colours of Okabe and Ito, which the colour-blind can tell apart, without yellow (too pale on white); each group
# has a marker of its own as well.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
REPORTED, INK, STRIPE = "#a6a6a6", "#222222", "#f3f3f3"
FORMATS = ("png", "svg", "pdf")
WIDTH = 8.0  # inches
LABEL, GROUP, LINE, HEADLINE = 28, 22, 74, 58  # characters that fit: of an answer, a group, the lines above the picture
POINTS = 64  # rows of points, answers times groups, that still fit on one page
RANKS = 400  # ranks that are drawn; a line through a million would look the same
DECADES = 1e6  # how far below the largest share a logarithmic axis may reach
DEFAULT_TITLE = "What people would have answered"
PLAN_TITLE = "How sure, with how many people and how much privacy"
PLAN_SIZE = (WIDTH, 5.2)
LINES = ("-", "--", "-.", ":")


class _Percents(NamedTuple):
    """What is drawn, in percent: arrays of shape (groups, k), NaN for groups without reports."""

    share: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    reported: NDArray[np.float64]


def plot(
    estimate: Estimate, *, top: int = 30, title: str | None = None, ax: Axes | None = None, **reading: Any
) -> Axes:
    """Draw the estimated shares with exact intervals, beside the shares that were reported.

    Parameters
    ----------
    estimate : Estimate
        What to draw. Of many groups, those with the most reports are drawn.
    top : int
        Most answers to draw by name. More are drawn by rank, without names; with groups the leading ones are drawn.
    title : str, optional
        The headline, such as the question that was asked. Shown as it is: a dollar sign starts no formula.
    ax : matplotlib Axes, optional
        Where to draw; if not given, a new figure of pyplot, of a fitting size.
    **reading
        ``level``, ``target`` and ``simultaneous`` of the intervals, as for `Estimate.table`.

    Returns
    -------
    matplotlib Axes
        To go on with: ``.figure`` is its figure.
    """
    _needs_matplotlib()
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=_size(estimate, top), layout="constrained").subplots()
    _checked(top)
    read = Reading(**reading)
    percents = _percents(estimate, read)
    if estimate.tally.by:
        told = _points(ax, estimate, percents, top, read)
    elif estimate.design.k <= top:
        told = _bars(ax, estimate, percents, read)
    else:
        told = _ranks(ax, estimate, percents, read)
    ax.spines[["top", "right"]].set_visible(False)
    handles, labels, facts = told
    if (
        estimate.design.outputs != estimate.design.domain
    ):  # nothing grey was drawn: reports are not answers under this design
        handles, labels = handles[:-1], labels[:-1]
    _headed(ax, estimate, title, handles, labels, facts)
    return ax


def saved(estimate: Estimate, path: str | os.PathLike[str], **options: Any) -> None:
    """Write the picture to a file, whole or not at all; no display is needed.

    Parameters
    ----------
    estimate : Estimate
        What to draw.
    path : path
        Where to; its ending, .png, .svg or .pdf, is the format.
    **options
        ``top``, ``title``, ``level`` and so on, as for `plot`.
    """
    ending = _ending(path)
    _write(_drawn(estimate, ending, options), path)


def plot_plan(plan: Plan, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the half-width (or the error) against the number of people, a line for each epsilon.

    The plan itself is a point, and what it was to reach a dashed line. Both axes are logarithmic.

    Parameters
    ----------
    plan : Plan
        What to draw.
    title : str, optional
        The headline.
    ax : matplotlib Axes, optional
        Where to draw; if not given, a new figure of pyplot.

    Returns
    -------
    matplotlib Axes
    """
    _needs_matplotlib()
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=PLAN_SIZE, layout="constrained").subplots()
    own = plan.people
    people = np.unique(np.geomspace(max(1, own / 30), min(own * 30, 2**53), 41).round().astype(np.int64))
    epsilons = plan.grid_epsilons(apart=1.15)  # lines nearer to each other could not be labelled
    table = plan.table(epsilons, people.tolist())
    kind = "half-width of the interval" if plan.wanted == "half_width" else "error"
    lines = 100 * table[plan.wanted].reshape(-1, people.size)
    for place, (epsilon, line) in enumerate(zip(epsilons, lines, strict=True)):
        mine = epsilon == plan.design.epsilon
        name = plan.design.shown_epsilon() if mine else f"{epsilon:g}"
        ax.plot(
            people,
            line,
            color=PALETTE[place % len(PALETTE)],
            linewidth=2.4 if mine else 1.3,
            linestyle="-" if mine else LINES[place % len(LINES)],
        )
        ax.annotate(f"ε = {name}", (people[-1], line[-1]), (5, 0), textcoords="offset points", va="center", fontsize=8)
    reached = 100 * getattr(plan, plan.wanted)
    if plan.target is not None:
        ax.axhline(100 * plan.target, color=INK, linestyle="--", linewidth=0.9)
    ax.plot([own], [reached], "o", color=INK, markersize=7, zorder=4)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    ax.grid(color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel("people")
    ax.set_ylabel(f"{kind} (percentage points)")
    share = f"share {100 * plan.share:.3g} %" + " (worst case)" * (plan.worst_case and plan.population is None)
    facts = [f"{plan.design.k:,} answers", str(Reading(plan.level, simultaneous=plan.simultaneous)), share]
    if plan.wanted == "error":
        facts = [f"{plan.design.k:,} answers", "root-mean-square error of the unbiased shares"]
    point = f"point: {own:,} people, ε = {plan.design.shown_epsilon()}, {reached:.3g} percentage points"
    told = _packed([*facts, point, *(["dashed: the target"] if plan.target is not None else [])])
    place_at: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "parse_math": False}
    ax.annotate("\n".join(told), (0, 1), (0, 6), va="bottom", fontsize=9, color="#555555", **place_at)
    headline = _printable(PLAN_TITLE if title is None else title)
    ax.set_title(headline, loc="left", pad=6 + 13.5 * len(told) + 3, fontsize=12, parse_math=False)
    return ax


def saved_plan(plan: Plan, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write the picture of a plan to a PNG, SVG or PDF file, whole or not at all; no display is needed."""
    ending = _ending(path)
    _write(_rendered(lambda ax: plot_plan(plan, title=title, ax=ax), PLAN_SIZE, ending), path)


def _ending(path: str | os.PathLike[str]) -> str:
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"the picture's name must end in .{', .'.join(FORMATS)}, but got {str(path)!r}")
    return ending


def _write(picture: bytes, path: str | os.PathLike[str]) -> None:
    with written_whole(path) as part:
        part.write_bytes(picture)


def svg(estimate: Estimate, **options: Any) -> str:
    """Give the picture as an SVG element to stand in a web page: see-through, its text as text, no address in it."""
    document = _drawn(estimate, "svg", options, transparent=True).decode()
    element = document[document.index("<svg") :]
    start, rest = element.split(">", 1)
    # Inside HTML the namespaces are understood; a page without any address is easily seen to load nothing.
    for name in ("xmlns", "xmlns:xlink"):
        before, _, after = start.partition(f' {name}="')
        start = before + after.partition('"')[2] if after else start
    return f"{start}>{rest}".strip()


def _drawn(estimate: Estimate, ending: str, options: dict[str, Any], *, transparent: bool = False) -> bytes:
    size = _size(estimate, options.get("top", 30))
    return _rendered(lambda ax: plot(estimate, **{**options, "ax": ax}), size, ending, transparent=transparent)


def _rendered(
    draw: Callable[[Axes], object], size: tuple[float, float], ending: str, *, transparent: bool = False
) -> bytes:
    _needs_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # No pyplot: nothing to close, no display asked for. The salt and the missing date make equal pictures equal files.
    figure: Figure = Figure(figsize=size, layout="constrained")
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    metadata: dict[str, Any] = {"svg": nothing, "pdf": {"CreationDate": None}, "png": {}}[ending]
    content = io.BytesIO()
    # "path", not "none", would lose every character that is not in Matplotlib's font; the viewer has more fonts.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "warner", "text.usetex": False}
    with mpl.rc_context(settings), warnings.catch_warnings():
        if ending == "svg":
            warnings.filterwarnings("ignore", message=r"Glyph .* missing from font", category=UserWarning)
        draw(figure.subplots())
        figure.savefig(content, format=ending, dpi=150, metadata=metadata, transparent=transparent)
    return content.getvalue()


def _needs_matplotlib() -> None:
    try:
        import matplotlib as mpl  # noqa: F401 - asked whether it is there
    except ImportError:
        raise ImportError("drawing needs Matplotlib: pip install 'warner[plot]'") from None


def _checked(top: int) -> None:
    if top < 1:
        raise ValueError(f"top must be at least 1, but got {top!r}")


def _percents(estimate: Estimate, read: Reading) -> _Percents:
    table = estimate.table(read.level, target=read.target, simultaneous=read.simultaneous)
    groups = len(estimate.tally.groups) if estimate.tally.by else 1
    table.setdefault("reports", np.full(table["share"].shape, np.nan))  # where reports are not answers
    share, low, high, reports = (
        table[name].reshape(groups, -1).astype(np.float64) for name in ("share", "low", "high", "reports")
    )
    totals = reports.sum(axis=-1, keepdims=True)
    reported = np.divide(reports, totals, out=np.full(reports.shape, np.nan), where=totals > 0)  # NaN > 0 is false
    return _Percents(*(100 * part for part in (share, low, high, reported)))


def _size(estimate: Estimate, top: int) -> tuple[float, float]:
    """Give width and height in inches."""
    k = estimate.design.k
    if estimate.tally.by:
        groups = len(_chosen_groups(estimate))
        return WIDTH, 2.0 + _chosen_answers(k, groups, top) * (0.16 * groups + 0.14)
    return (WIDTH, 1.9 + 0.36 * k) if k <= top else (WIDTH, 5.0)


def _bars(ax: Axes, estimate: Estimate, percents: _Percents, read: Reading) -> tuple[list[Any], list[str], list[str]]:
    share, low, high, reported = (part[0] for part in percents)
    order = np.lexsort((-reported, -share))
    rows = np.arange(order.size)
    # Grey below blue, thinner: the reports are what came in, the estimate is the answer.
    estimated = ax.barh(rows - 0.12, share[order], height=0.46, color=PALETTE[0])
    raw = ax.barh(rows + 0.24, reported[order], height=0.22, color=REPORTED)
    whiskers = _whiskers(ax, low[order], high[order], rows - 0.12, INK)
    _named_rows(ax, [estimate.design.domain[i] for i in order])
    _percent_axis(ax, percents, order)
    labels = [f"estimated ({estimate.name()})", str(read), "reported, as randomized"]
    return [estimated, whiskers, raw], labels, _bias_told(estimate.method, share, low, high)


def _points(
    ax: Axes, estimate: Estimate, percents: _Percents, top: int, read: Reading
) -> tuple[list[Any], list[str], list[str]]:
    tally = estimate.tally
    groups = _chosen_groups(estimate)
    totals = np.asarray(tally.reports, dtype=np.float64)
    shown = _chosen_answers(estimate.design.k, groups.size, top)
    overall = totals @ np.nan_to_num(percents.share)
    order = np.argsort(-overall, kind="stable")[:shown]
    rows = np.arange(shown)
    for row in rows[::2]:
        ax.axhspan(row - 0.5, row + 0.5, color=STRIPE, linewidth=0, zorder=0)
    handles: list[Any] = []
    labels = []
    for place, group in enumerate(groups):
        y = rows + (place - (groups.size - 1) / 2) * 0.8 / groups.size
        share, low, high, reported = (part[group][order] for part in percents)
        colour = PALETTE[place]
        _whiskers(ax, low, high, y, colour)
        (raw,) = ax.plot(reported, y, "|", color="#808080", markersize=7, markeredgewidth=1.6, zorder=2)
        (points,) = ax.plot(share, y, MARKERS[place], color=colour, markersize=5.5, zorder=3)
        handles.append(points)
        name = _short(" / ".join(map(str, tally.groups[group])), GROUP)
        labels.append(name if totals[group] > 0 else f"{name} (no reports)")
    _named_rows(ax, [estimate.design.domain[i] for i in order])
    _percent_axis(ax, percents, order, groups)
    left_out = [f"{groups.size} of {totals.size:,} groups, those with most reports"] * (groups.size < totals.size)
    left_out += [f"the {shown} leading of {estimate.design.k:,} answers"] * (shown < estimate.design.k)
    drawn = (part[np.ix_(groups, order)] for part in (percents.share, percents.low, percents.high))
    told = [f"lines: {read}", *left_out, *_bias_told(estimate.method, *drawn)]
    return [*handles, raw], [*labels, "reported, as randomized"], told


def _ranks(ax: Axes, estimate: Estimate, percents: _Percents, read: Reading) -> tuple[list[Any], list[str], list[str]]:
    share, low, high, reported = (part[0] for part in percents)
    order = np.lexsort((-reported, -share))
    ranks = np.unique(np.geomspace(1, order.size, RANKS).round().astype(np.int64))
    drawn = order[ranks - 1]
    values = np.concatenate([share[drawn], np.nan_to_num(reported[drawn]), high[drawn]])
    most = values.max()
    bottom = max(values[values > 0].min() * 0.7, most / DECADES)
    # A logarithmic axis has no zero: the band goes down to the axis, and shares of zero have no point.
    band = ax.fill_between(
        ranks, np.maximum(low[drawn], bottom), np.maximum(high[drawn], bottom), color=PALETTE[0], alpha=0.2, linewidth=0
    )
    seen = reported[drawn] > 0
    (raw,) = ax.plot(ranks[seen], reported[drawn][seen], ".", color="#808080", markersize=3.5)
    positive = share[drawn] > 0
    (line,) = ax.plot(ranks[positive], share[drawn][positive], "o-", color=PALETTE[0], markersize=3, linewidth=1.2)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(0.9, order.size * 1.1)
    ax.set_ylim(bottom, min(most * 1.5, 130))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.grid(color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel(f"rank of the answer, of {order.size:,} (1 = largest estimated share)")
    ax.set_ylabel("share of people (%)")
    leaders = ", ".join(_short(str(estimate.design.domain[i]), 18) for i in order[:3] if share[i] > 0)
    zeros = int((share <= 0).sum())
    told = [f"leading: {leaders}"]
    told += [f"{zeros:,} answers at zero{' or below' * bool((share < 0).any())}, without a point"] * (zeros > 0)
    told += _bias_told(estimate.method, share[drawn], low[drawn], high[drawn])
    return [line, band, raw], [f"estimated ({estimate.name()})", str(read), "reported"], told


def _chosen_groups(estimate: Estimate) -> NDArray[np.intp]:
    """Choose the groups with the most reports, as many as there are colours, in their order."""
    most = np.argsort(-np.asarray(estimate.tally.reports), kind="stable")[: len(PALETTE)]
    return np.sort(most)


def _chosen_answers(k: int, groups: int, top: int) -> int:
    return min(k, top, max(POINTS // groups, 1))


def _bias_told(method: str, share: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> list[str]:
    outside = bool(((share < low) | (share > high)).any())
    # The unbiased inv is outside only where it leaves 0 to 100 %, which the picture shows well enough.
    return [f"some estimates lie outside their interval: the bias of {method}"] * (outside and method != "inv")


def _whiskers(ax: Axes, low: NDArray[Any], high: NDArray[Any], rows: NDArray[Any], colour: str) -> Any:
    # Around the middle of the interval, not around the share: a biased share may lie outside.
    middle, half = (low + high) / 2, (high - low) / 2
    return ax.errorbar(middle, rows, xerr=half, fmt="none", ecolor=colour, elinewidth=1.3, capsize=2.5, zorder=2.5)


def _named_rows(ax: Axes, answers: list[Any]) -> None:
    labels = [_short(str(answer), LABEL) for answer in answers]
    ax.set_yticks(np.arange(len(labels)), labels, parse_math=False)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def _percent_axis(
    ax: Axes, percents: _Percents, answers: NDArray[np.intp], groups: NDArray[np.intp] | slice = slice(None)
) -> None:
    drawn = np.concatenate([part[groups][:, answers] for part in percents])
    drawn = drawn[np.isfinite(drawn)]
    least, most = min(drawn.min(), 0.0), drawn.max()
    room = 0.04 * (most - least)
    # Bars stand on the zero line; points on it need room to be whole.
    margin = 0.0 if least == 0 and isinstance(groups, slice) else room
    ax.set_xlim(least - margin, most + room)
    if least < 0:
        ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_xlabel("share of people (%)")
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)


def _headed(
    ax: Axes,
    estimate: Estimate,
    title: str | None,
    handles: list[Any],
    labels: list[str],
    told: list[str],
) -> None:
    """Stack legend, facts and title above the axes, where they cover nothing."""
    columns = len(labels)
    if sum(map(len, labels)) + 7 * columns > LINE + 10:
        columns = max(1, min(columns, (LINE + 10) // (max(map(len, labels)) + 7)))
    # Set afterwards, because Matplotlib leaves out labels that start with an underscore.
    legend = ax.legend(
        handles,
        [str(i) for i in range(len(labels))],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.3,
        borderpad=0.2,
        ncols=columns,
        frameon=False,
        fontsize=9,
        columnspacing=1.4,
    )
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(label)
    above = 10 + 14.5 * -(-len(labels) // columns)
    tally = estimate.tally
    reports = np.asarray(tally.reports).sum()
    amount = f"{reports:,}" if tally.squares is None else f"{reports:,.1f} weighted"
    facts = [f"{amount} reports", f"ε = {estimate.design.shown_epsilon()}", f"method {estimate.name()}"]
    facts += [f"by {_short(', '.join(tally.by), 30)}"] if tally.by else []
    lines = _packed([*facts, *told])
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "parse_math": False}
    ax.annotate("\n".join(lines), (0, 1), (0, above), va="bottom", fontsize=9, color="#555555", **place)
    headline = _printable(DEFAULT_TITLE if title is None else title)
    wrapped = "\n".join(textwrap.wrap(headline, HEADLINE, max_lines=3, placeholder=" …"))
    ax.set_title(wrapped, loc="left", pad=above + 13.5 * len(lines) + 3, fontsize=12, parse_math=False)


def _packed(parts: list[str]) -> list[str]:
    """Fill lines with parts, without breaking one."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]} · {part}"
        if len(longer) <= LINE:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _short(label: str, most: int) -> str:
    plain = _printable(label)
    return plain if len(plain) <= most else plain[: most - 1].rstrip() + "…"


def _printable(text: str) -> str:
    """Put spaces for what no font can show and no SVG may hold, such as control characters."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
