"""One self-contained page: the design in words, the answer, a picture, a table, and how all of it came about.

The page loads nothing from anywhere: style, script and picture stand in it.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context, Decimal
from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs import RandomizedResponse
from warner.documents import written_whole
from warner.inference.binomial import Reading
from warner.inference.fit import doubt
from warner.inference.intervals import limits
from warner.output.plots import DEFAULT_TITLE, svg
from warner.reports.tallies import amount_text

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from warner.estimation import Estimate

ROWS = 2000  # rows of the table: more would make browsers slow
HEADLINES = 12  # groups with a headline of their own
SPACE = "\N{NO-BREAK SPACE}"
FINE = 1e-3  # a share below this, 0.1 %, is written with two significant digits
Table = dict[str, "NDArray[Any]"]

METHODS = {
    "mle": "maximum likelihood: of all distributions, the one that makes these reports the most likely",
    "inv": "inversion of the randomization: unbiased, but shares can be below zero",
    "inv_n": "inversion, with negative shares set to zero and the rest scaled to sum to one",
    "inv_p": "inversion, moved to the nearest distribution",
    "auto": "of the most likely, the nearest and the rescaled distribution, the one with the smallest predicted error",
    "ibu": "iterative Bayesian update, which climbs to the maximum of the likelihood step by step",
}
UNLIKE = "Reports are randomized: their shares are not those of the people, but are"
SHARE = (
    "is the estimated share of people who hold the answer, with the randomization undone; <strong>people</strong> is "
    "that share of the number of reports"
)
INTERVAL = (
    "bound the {share}. If the survey were repeated many times, {such} in {often} {level} of them. "
    "They allow for the chance in the randomization{sampling}, not for people who did not take part or did not give "
    "the device their true answer"
)
SHARES = {
    "population": "share in the population that the respondents were drawn from",
    "realised": "share among the very people who reported",
}
SINGLE = (
    "They hold for one answer at a time: among many answers, up to {miss} of the intervals may miss, and an answer "
    "picked for its large share is among those more often than others"
)
AT_ONCE = "They hold for all answers at once, so that they may be compared with each other"
ENDS = {
    "clopper_pearson": "Clopper and Pearson's exact binomial interval, carried over from reports to people",
    "score": "the score interval, which is approximate",
    "score or clopper_pearson": "the score interval, which is approximate, or an exact one where there is little noise",
    "linear": "the best linear combination of the reports and its standard error, which is approximate",
}
BIAS = (
    "That is no mistake in the numbers but the bias of the estimator ({method}), common for frequent answers among "
    "many rare ones: trust the interval there"
)
BELOW = "That is no mistake: inv can leave the range from 0 to 100 %, and an interval cannot"
COLUMNS = {"reports": "reports", "share": "share", "people": "people", "low": "low", "high": "high"}

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --page: #fff; --card: #f6f8fa;
  --accent: #0072b2; --alarm: #a33c00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9da7b1; --line: #373e47; --page: #14181d; --card: #1e242b;
    --accent: #56b4e9; --alarm: #ffa36b; }
  figure svg { filter: invert(1) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; }
p, ul { max-width: 46rem; }
.facts, .note { color: var(--soft); }
.headline { background: var(--card); border-left: 4px solid var(--accent); border-radius: 4px; padding: .8rem 1rem;
  margin: 1.2rem 0; }
.headline p { margin: .2rem 0; }
.warning { color: var(--alarm); }
.lead { font-size: 1.2rem; }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { display: block; width: 100%; min-width: 34rem; max-width: 50rem; height: auto; }
.wide { overflow-x: auto; max-height: 40rem; overflow-y: auto; border: 1px solid var(--line); border-radius: 4px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th.text, td.text { text-align: left; white-space: normal; min-width: 7rem; overflow-wrap: anywhere; font-weight: 400; }
.mark { display: inline-block; width: .8em; text-align: center; }
thead th { position: sticky; top: 0; background: var(--card); padding: 0; }
thead button { all: unset; cursor: pointer; padding: .45rem .7rem; font-weight: 600; }
thead button:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
th[aria-sort="ascending"] button::after { content: " \\25b2"; }
th[aria-sort="descending"] button::after { content: " \\25bc"; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .25rem 1.2rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; }
@media print { .wide { max-height: none; } }
"""

# Numbers are compared by data-value, which holds all digits; what is no number goes last, either way.
SCRIPT = """
document.querySelectorAll("th button").forEach(function (button) {
  button.addEventListener("click", function () {
    var head = button.parentElement, column = head.cellIndex, table = head.closest("table"), body = table.tBodies[0];
    var down = head.getAttribute("aria-sort") === "descending" ||
      (head.classList.contains("text") && head.getAttribute("aria-sort") !== "ascending");
    var sign = down ? 1 : -1, numeric = !head.classList.contains("text");
    table.querySelectorAll("th[aria-sort]").forEach(function (other) { other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "ascending" : "descending");
    var rows = Array.from(body.rows).map(function (row) {
      var cell = row.cells[column], text = numeric ? cell.dataset.value : cell.textContent;
      return [numeric && text !== "" ? Number(text) : text, row];
    });
    rows.sort(function (first, second) {
      if (!numeric) return sign * first[0].localeCompare(second[0], undefined, { numeric: true });
      if (first[0] === "" || second[0] === "") return (first[0] === "") - (second[0] === "");
      return sign * (first[0] - second[0]);
    });
    rows.forEach(function (pair) { body.appendChild(pair[1]); });
  });
});
"""


def report(
    estimate: Estimate,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    question: str | None = None,
    **reading: Any,
) -> None:
    """Write one HTML page that says what was found, how sure it is, and how it came about.

    The page stands alone and loads nothing from the network. It is written whole or not at all.

    Parameters
    ----------
    estimate : Estimate
        What was found.
    path : path
        Where to write the page.
    title : str, optional
        The page's headline.
    question : str, optional
        The question that people were asked, word for word.
    **reading
        ``level``, ``target`` and ``simultaneous`` of the intervals, as for `Estimate.table`.
    """
    page = _page(estimate, reading, title, question)
    with written_whole(path) as part:
        # A label may hold half a surrogate pair, which no encoding has.
        part.write_text(page, encoding="utf-8", errors="replace")


def _page(estimate: Estimate, reading: dict[str, Any], title: str | None, question: str | None) -> str:
    read = Reading(**reading)
    table, level = estimate.table(**reading), read.level
    heading = title or question or DEFAULT_TITLE
    shown = "Estimated and reported shares" if "reports" in table else "Estimated shares"
    picture = svg(estimate, **reading, title=shown)
    asked = f"<p>The question: <q>{escape(question)}</q></p>" if question and title else ""
    sections = [
        f"<h1>{escape(heading)}</h1>\n<p class='facts'>{escape(_facts(estimate))}</p>\n{asked}",
        f"<div class='headline'>{_doubted(estimate)}{_headline(estimate, table, level)}</div>",
        f"<figure role='img' aria-label='{shown}; the table has the numbers'>{picture}</figure>",
        f"<h2>What every answer went through</h2>{_design_told(estimate.design)}",
        f"<h2>All numbers</h2>{_table_shown(estimate, table, level)}",
        f"<h2>What was left out</h2>{_left_out(estimate)}",
        f"<h2>How to read this</h2>{_reading(estimate, table, read)}",
        f"<h2>How it was computed</h2>{_computation(estimate, read)}",
    ]
    head = (
        "<meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(heading)}</title><style>{STYLE}</style>"
    )
    body = "\n".join(sections)
    body += f"\n<script>{SCRIPT}</script>"
    return f"<!DOCTYPE html>\n<html lang='en'><head>{head}</head>\n<body>\n{body}\n</body></html>\n"


def _facts(estimate: Estimate) -> str:
    tally = estimate.tally
    reports = np.asarray(tally.reports).sum()
    amount = f"{reports:,}" if tally.squares is None else f"{reports:,.1f} weighted"
    grouped = [f"{len(tally.groups):,} groups by {', '.join(tally.by)}"] if tally.by else []
    facts = [f"{amount} randomized reports", f"{estimate.design.k:,} possible answers", *grouped]
    return " · ".join([*facts, f"epsilon {estimate.design.shown_epsilon()}"])


def _doubted(estimate: Estimate) -> str:
    said = doubt(estimate.tally)
    return f"<p class='warning'><strong>Warning:</strong> {escape(said)}.</p>" if said else ""


def _headline(estimate: Estimate, table: Table, level: float) -> str:
    if not estimate.tally.by:
        return _leader(table, np.arange(estimate.design.k), level, "lead")
    lines = []
    for position, group in enumerate(estimate.tally.groups[:HEADLINES]):
        rows = np.arange(estimate.design.k) + position * estimate.design.k
        name = f"<strong>{escape(' / '.join(map(str, group)))}</strong>: "
        lines.append(_leader(table, rows, level, "group", name))
    more = len(estimate.tally.groups) - HEADLINES
    return "".join(lines) + (f"<p class='note'>and {more:,} more groups, in the table.</p>" if more > 0 else "")


def _leader(table: Table, rows: NDArray[np.intp], level: float, kind: str, start: str = "") -> str:
    shares = table["share"][rows]
    if np.isnan(shares).any():
        return f"<p class='{kind}'>{start}no reports.</p>"
    order = rows[np.lexsort((-table.get("reports", table["share"])[rows], -shares))]
    first, second = order[:2]

    def told(row: int) -> str:
        interval = f"{_percent(table['low'][row])} to {_percent(table['high'][row])}"
        mark = ", see * below" if table["outside"][row] else ""
        share, label = _percent(table["share"][row]), escape(str(table["value"][row]))
        return f"<q>{label}</q> with an estimated {share} of people ({_level(level)} interval {interval}{mark})"

    tied = int((shares == shares.max()).sum())
    if tied > 1:
        rest = "one more answer is" if tied == 2 else f"{tied - 1:,} more answers are"
        return f"<p class='{kind}'>{start}A leading answer is {told(int(first))}; {rest} level with it.</p>"
    lead = f"<p class='{kind}'>{start}The leading answer is {told(int(first))}.</p>"
    overlap = table["low"][first] <= table["high"][second]
    sure = "Their intervals overlap, so the order of the two is not certain." if overlap else ""
    return f"{lead}<p class='note'>Next comes {told(int(second))}. {sure}</p>"


def _design_told(design: Any) -> str:
    """Say in plain words what a device does, and how deniable that makes a report."""
    if not isinstance(design, RandomizedResponse):
        return "".join(f"<p>{escape(line)}</p>" for line in _paragraphs(design.in_words()))
    a, b = design.odds
    p, q, others = _percent(design.p), _percent(design.q), design.k - 1
    lies = "the other answer" if others == 1 else f"each of the {others:,} other answers"
    example = escape(str(design.domain[0]))
    does = (
        f"<p>Before an answer left a respondent's hands, a device drew at random: it reported the true answer with "
        f"probability p = {p}, and {lies} with probability q = {q}. Only the report is sent: nobody can tell "
        "afterwards which reports are true.</p>"
    )
    if b == 0:
        return (
            "<p>Every answer was reported as it is (p = 100 %, q = 0): <strong>nothing was randomized and no answer "
            "is deniable</strong>; epsilon is infinite.</p>"
        )
    if a == 0:
        return (
            "<p>Before an answer left a respondent's hands, a device replaced it by another answer (q = "
            f"{q} each). As the truth is never reported (p = 0), <strong>whoever reported <q>{example}</q> certainly "
            "does not hold it</strong>: epsilon is infinite.</p>"
        )
    factor = _rounded_up(max(a, b), min(a, b))
    direction = "more" if a > b else "less"
    deniable = (
        f"<p>So every answer is deniable: whoever reported <q>{example}</q> may hold any other answer, and every "
        f"report could have come from anybody. A report of <q>{example}</q> makes that answer at most {factor} times "
        f"{direction} likely, against any other answer, than it was believed to be before. If all answers were "
        f"thought equally likely before, the report is true with probability {p}.</p>"
    )
    promise = (
        "<p>That factor is e<sup>ε</sup>: one report spends at most "
        f"<strong>epsilon = {design.shown_epsilon()}</strong> (rounded up) of local differential privacy. "
        "A person who reports again on the same question spends it again.</p>"
    )
    return does + deniable + promise


def _paragraphs(text: str) -> list[str]:
    """Undo the line breaks inside paragraphs, which begin with a capital letter and hold a colon."""
    lines: list[str] = []
    for line in text.splitlines():
        if lines and not (line[:1].isupper() and ":" in line):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return lines


def _table_shown(estimate: Estimate, table: Table, level: float) -> str:
    by = estimate.tally.by
    size = table["value"].size
    order = np.lexsort((-table.get("reports", table["share"]), -table["share"]))[:ROWS]  # NaN goes last
    if by:
        order = np.sort(order)
    texts = [*(name for name in by), "answer"]
    heads = "".join(f"<th class='text' scope='col'><button>{escape(name)}</button></th>" for name in texts)
    for name, label in ((name, label) for name, label in COLUMNS.items() if name in table):
        shown = f"{label} ({_level(level)})" if name in {"low", "high"} else label
        sort = " aria-sort='descending'" if name == "share" and not by else ""
        heads += f"<th scope='col' data-column='{name}'{sort}><button>{shown}</button></th>"
    rows = []
    for i in order:
        cells = "".join(f"<td class='text'>{escape(str(table[name][i]))}</td>" for name in (*by, "value"))
        mark = "*" if table["outside"][i] else ""
        cells += "".join(_cell(name, table[name][i].item(), mark) for name in COLUMNS if name in table)
        rows.append(f"<tr>{cells}</tr>")
    cut = f"<p class='note'>The {ROWS:,} rows with the largest shares, of {size:,}.</p>" if size > ROWS else ""
    note = "<p class='note'>Click a column's name to sort by it.</p>"
    body = "\n".join(rows)
    table_element = f"<table><thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table>"
    return f"{note}{cut}<div class='wide' tabindex='0'>{table_element}</div>"


def _cell(name: str, value: float, mark: str) -> str:
    """Show a number rounded, with all its digits beside it for the sort and for whoever reads the page by program."""
    if math.isnan(value):
        return "<td data-value=''>–</td>"
    shown = amount_text(value) if name == "reports" else f"{value:,.0f}"
    if name not in {"reports", "people"}:
        shown = _percent(value) + (f"<span class='mark'>{mark}</span>" if name == "share" else "")
    return f"<td data-value='{value!r}'>{shown}</td>"


def _left_out(estimate: Estimate) -> str:
    tally = estimate.tally
    missing, unknown = int(np.sum(tally.missing)), int(np.sum(tally.unknown))
    if not missing and not unknown:
        return "<p>Nothing: every row held one of the possible answers.</p>"
    lines = [f"<li>{missing:,} rows without a value</li>"] * (missing > 0)
    lines += [f"<li>{unknown:,} rows whose value is none of the possible answers</li>"] * (unknown > 0)
    return f"<ul>{''.join(lines)}</ul><p>The shares are those among the rows that were counted.</p>"


def _reading(estimate: Estimate, table: Table, read: Reading) -> str:
    design, ends = estimate.design, limits(estimate.tally, read, sets=[[0]]).method
    upright = not isinstance(design, RandomizedResponse) or design.p > design.q
    pull = "drawn towards equal shares" if upright else "turned around: what many hold is reported less often"
    if not isinstance(design, RandomizedResponse):
        pull = "what the design makes of them"
    shown = INTERVAL.format(
        share=SHARES[read.target],
        often="at least" if ends == "clopper_pearson" else "about",
        level=_level(read.level),
        such="all intervals would hold the true shares at once"
        if read.simultaneous
        else "each would hold the true share",
        sampling="" if read.target == "realised" else " and in who was asked",
    )
    told = f"<strong>reports</strong> is how often an answer was reported. {UNLIKE} {pull}"
    points = [
        *([told] if "reports" in table else []),
        f"<strong>share</strong> {SHARE}",
        f"<strong>low</strong> and <strong>high</strong> {shown}",
        AT_ONCE if read.simultaneous else SINGLE.format(miss=_level(1 - read.level)),
    ]
    if estimate.tally.squares is not None:
        points.append("with weights, the intervals use the effective number of reports, and are approximate")
    if table["outside"].any():
        cause = BELOW if estimate.method == "inv" else BIAS.format(method=estimate.name())
        points.append(f"<strong>*</strong> marks a share outside its own interval. {cause}")
    return "<ul>" + "".join(f"<li>{point}.</li>" for point in points) + "</ul>"


def _design_named(design: Any) -> str:
    if not isinstance(design, RandomizedResponse):
        return repr(design)[1:-1]
    a, b = design.odds
    return f"randomized response among {design.k:,} answers, truth against each lie {a} : {b}"


def _computation(estimate: Estimate, read: Reading) -> str:
    fits = np.atleast_1d(np.asarray(estimate.log_likelihood, dtype=np.float64))
    known = fits[~np.isnan(fits)]
    fit = f"{known.sum():,.6f} nats" if known.size else "not defined, as a share is negative"
    if known.size and estimate.tally.by:
        fit += f", the sum over {known.size:,} groups"
    proof = estimate.certificate
    if proof is None:
        inverted = estimate.method == "inv"
        certificate = "none: inv does not maximize the likelihood" if inverted else "none: a group has no reports"
    else:
        gap = float(np.max(proof.gap))
        certificate = f"no distribution is more likely than this one by more than {gap:.2g} nats"
        certificate += ", in any group" if estimate.tally.by else ""
    design = estimate.design
    lines = {
        "method": f"{estimate.name()}: {METHODS[estimate.method]}",
        "intervals": f"{read}: {ENDS[limits(estimate.tally, read, sets=[[0]]).method]}",
        "design": _design_named(design),
        "log-likelihood": fit,
        "certificate": certificate,
        "software": f"warner {version('warner')}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in lines.items()) + "</dl>"


def _percent(share: float) -> str:
    """Write a share in percent, with two decimals, or two digits if it is small."""
    percent = 100 * float(share)
    number = f"{percent:.2f}" if share == 0 or abs(share) >= FINE else f"{percent:.2g}"
    return f"{number}{SPACE}%"


def _rounded_up(numerator: int, denominator: int) -> str:
    up = Context(prec=4, rounding=ROUND_CEILING).divide(Decimal(numerator), Decimal(denominator)).normalize()
    return f"{up:,f}"


def _level(level: float) -> str:
    return f"{100 * level:.6g}{SPACE}%"
