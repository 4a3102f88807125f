"""Tables of a regression: coefficients, and in plain words what they rest on; for terminals, notebooks and papers."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from warner.regression.formulas import INTERCEPT
from warner.regression.standard_errors import ENOUGH_DIRECT_ANSWERS
from warner.typesetting import Printed, estimate_columns, in_digits
from warner.words import (
    LABEL_CHARACTERS,
    aligned,
    counted,
    enumerated,
    level_text,
    printable,
    quoted,
    shortened,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts
    from warner.regression.families import Specification
    from warner.regression.regressions import Regression

    Table = dict[str, Counts]

DECIMALS_SHOWN = (3, 6)  # least and most
ERRORS_IN_WORDS = {
    "observed": "from the observed information",
    "expected": "from the expected information",
    "opg": "from the outer products of the scores",
    "robust": "robust: right also if the model is only an approximation",
}
INTERVALS_IN_WORDS = {
    "profile": "interval (profile likelihood)",
    "wald": "interval (Wald)",
    "none": "interval: none for penalised estimates",
}
MIXED_INTERVALS = "interval (Wald or profile likelihood)"


def regression_text(fit: Regression, *, level: float = 0.95, interval: str = "auto", odds: bool = False) -> str:
    """Write what was modelled, the table of coefficients, and what they rest on."""
    table = fit.table(level=level, interval=interval, odds=odds)
    lines = [heading(fit, odds=odds), *_rows(fit, table, interval_heading(table, level), odds=odds)]
    said = [*_ratios(fit, odds=odds), *_profiled(fit, table), *_between_groups(fit, level), *sentences(fit)]
    return "\n".join(lines) + "\n" + wrapped(said)


def regression_html(fit: Regression) -> str:
    """Write the same for notebooks."""
    table = fit.table()
    numbers = _Numbers(table, of_number=fit.specification.of_number)
    several = len(_blocks(fit)) > 1
    heads = [*(["answer"] if several else []), "term", "estimate", "se", "statistic", "p"]
    heads.append(interval_heading(table, 0.95))
    rows = []
    for place, term in enumerate(table["term"]):
        names = [str(table["answer"][place])] if several else []
        cells = "".join(f"<td>{escape(text.strip())}</td>" for text in numbers.cells(place))
        titles = "".join(f"<th scope='row'>{escape(printable(name))}</th>" for name in (*names, str(term)))
        rows.append(f"<tr>{titles}{cells}</tr>")
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    said = [*_profiled(fit, table), *_between_groups(fit), *sentences(fit)]
    told = "".join(f"<p>{escape(sentence)}</p>" for sentence in said)
    return f"<p>{escape(heading(fit))}</p>{body}{told}"


def regression_printed(fit: Regression, *, level: float, interval: str, odds: bool) -> Printed:
    """Write the table of coefficients for a paper, with what they rest on."""
    table = fit.table(level=level, interval=interval, odds=odds)
    columns = {"term": [printable(str(term)) for term in table["term"]]}
    if len(_blocks(fit)) > 1:
        columns = {"answer": [printable(str(answer)) for answer in table["answer"]], **columns}
    columns |= estimate_columns(table, quantity(fit, odds=odds), interval_heading(table, level), of=_number(odds=odds))
    notes = [
        *_ratios(fit, odds=odds),
        *_profiled(fit, table),
        *_between_groups(fit, level),
        *_findings(fit),
        *_criteria(fit),
        _errors(fit),
        *fit.notes,
        *_penalty(fit),
    ]
    return Printed(columns, heading(fit, odds=odds), tuple(notes))


def _number(*, odds: bool) -> str:
    return "odds_ratio" if odds else "estimate"


def quantity(fit: Regression, *, odds: bool) -> str:
    """Name what the coefficients are, at the head of their column."""
    if odds:
        return "odds ratio"
    logit = fit.specification.link == "logit" and fit.specification.model != "ordered"
    return "log-odds" if logit else "estimate"


def _criteria(fit: Regression) -> list[str]:
    """Give the measures of the whole model that papers report."""
    if fit.log_likelihood is None:
        return []
    kind = "Weighted log-likelihood" if fit.model_data.observations.sampling.weighted else "Log-likelihood"
    measures = [f"{kind} {fit.log_likelihood:,.2f}"]
    found = fit.criteria
    named = (("AIC", found.aic), ("BIC", found.bic))
    measures += [f"{name} {value:,.2f}" for name, value in named if value is not None]
    if found.mcfadden is not None:
        measures.append(f"McFadden's pseudo R-squared {found.mcfadden:.3f}")
    return [f"{', '.join(measures)}."]


def _ratios(fit: Regression, *, odds: bool) -> list[str]:
    """Say what belongs to odds ratios, and which of them are none."""
    if not odds:
        return []
    said = "Standard errors are those of the odds ratios, by the delta method; tests are those of their logarithms."
    if fit.specification.model == "ordered":
        return [f"{said} Cutpoints are shown as the odds of the answers up to there, where all terms are zero."]
    if INTERCEPT in fit.model_data.terms.names:
        said += f" {INTERCEPT} is shown as the odds themselves, where all terms are zero."
    return [said]


# The table


def heading(fit: Regression, *, odds: bool = False) -> str:
    """Say in one line what was modelled."""
    return f"{subject(fit, odds=odds)}: {printable(fit.model_data.formula)}"


def subject(fit: Regression, *, odds: bool = False) -> str:
    """Say what the coefficients are about."""
    specification = fit.specification
    answers = [quoted(answer) for answer in specification.domain if answer != specification.reference]
    reference = quoted(specification.reference)
    if specification.model == "ordered":
        order = enumerated([quoted(answer) for answer in specification.domain])
        ratios = "Odds ratios of later against earlier answers: ordered" if odds else "Ordered"
        return f"{ratios} answers ({order}), {specification.link} link"
    if specification.of_number:
        return f"Mean of {number_name(fit)}"
    if specification.model == "linear":
        return f"Share of {answers[0]}" if len(answers) == 1 else "Shares of the answers"
    if specification.link != "logit":
        return f"Share of {answers[0]}, {specification.link} link"
    scale, of = "Odds ratios" if odds else "Log-odds", answers[0] if len(answers) == 1 else "each answer"
    return f"{scale} of {of} against {reference}"


def number_name(fit: Regression) -> str:
    """Name the number whose mean is modelled: by its column; a tally has none."""
    return printable(fit.model_data.response) or "the answers"


def interval_heading(table: Table, level: float) -> str:
    """Name the intervals of a table."""
    methods = list(dict.fromkeys(map(str, table["interval"])))
    return f"{level_text(level)} {INTERVALS_IN_WORDS[methods[0]] if len(methods) == 1 else MIXED_INTERVALS}"


def _profiled(fit: Regression, table: Table) -> list[str]:
    """Say which intervals are profiles, where not all of them are."""
    names = zip(fit.specification.coefficients, table["interval"], strict=True)
    several = len(_blocks(fit)) > 1
    chosen = [
        abridged(str(name) if several else name.term, LABEL_CHARACTERS) for name, method in names if method == "profile"
    ]
    if len(chosen) in {0, len(table["interval"])}:
        return []
    of = enumerated(chosen)
    said = f"The intervals of {of} are those" if len(chosen) > 1 else f"The interval of {of} is that"
    return [f"{said} of the profile likelihood, as statistic and p are: one by standard errors would differ."]


def abridged(term: str, width: int) -> str:
    """Cut a term in its middle: its end is the level that it stands for.

    >>> abridged("highest_level_of_education[T.school]", 30)
    'highest_level_of_...[T.school]'
    """
    term = printable(term)
    end = max(width // 3, len(term) - term.rfind("[") if "[" in term else 0)
    if len(term) <= width or end > width - 6:
        return shortened(term, width)
    return f"{term[: width - 3 - end]}...{term[-end:]}"


class _Numbers:
    """Numbers of a table, as texts that are as wide as each other."""

    def __init__(self, table: Table, *, of_number: bool) -> None:
        self.table = table
        self.of = _number(odds="odds_ratio" in table)
        ends = [table[name] for name in (self.of, "se", "low", "high")]
        self.decimals = decimals(table["se"], np.concatenate(ends), 0 if of_number else DECIMALS_SHOWN[0])

    def number(self, value: float) -> str:
        if not math.isfinite(value):
            return "any" if math.isnan(value) else f"{value}"
        if self.decimals is None:
            return f"{value:.4g}"
        return f"{round(value, self.decimals) + 0.0:.{self.decimals}f}"  # no minus zero

    def cells(self, place: int) -> list[str]:
        """Give estimate, standard error, statistic, p and interval of a row."""
        row = {name: float(self.table[name][place]) for name in (self.of, "se", "statistic", "p", "low", "high")}
        error, statistic, p = (
            "-" if math.isnan(row[name]) else text
            for name, text in (
                ("se", self.number(row["se"])),
                ("statistic", f"{row['statistic']:.2f}"),
                ("p", f"{row['p']:.2g}" if row["p"] > 0 else "<1e-300"),
            )
        )
        ends = (row["low"], row["high"])
        between = "-" if all(map(math.isnan, ends)) else " to ".join(map(self.number, ends))
        return [self.number(row[self.of]), error, statistic, p, between]


def decimals(errors: Array, values: Array, least: int = DECIMALS_SHOWN[0]) -> int | None:
    """Choose the decimals for a column: two digits of the smallest error; None where numbers are too far apart."""
    finite, sizes = errors[np.isfinite(errors) & (errors > 0)], np.abs(values[np.isfinite(values)])
    if not finite.size:
        return least
    needed = max(least, 1 - math.floor(math.log10(finite.min())))
    return None if needed > DECIMALS_SHOWN[1] or (needed and sizes.max(initial=0) >= 1e6) else needed


def _blocks(fit: Regression) -> list[object]:
    return list(dict.fromkeys(coefficient.answer for coefficient in fit.specification.coefficients))


def _rows(fit: Regression, table: Table, interval: str, *, odds: bool) -> list[str]:
    numbers = _Numbers(table, of_number=fit.specification.of_number)
    several = len(_blocks(fit)) > 1
    names = [abridged(str(term), LABEL_CHARACTERS - 2 * several) for term in table["term"]]
    heads = ["odds ratio" if odds else "estimate", "se", "statistic", "p"]
    cells = [numbers.cells(place) for place in range(len(names))]
    indent = "  " if several else ""
    rows = [["term", *heads, interval]]
    intervals = _intervals([row[-1] for row in cells])
    before: object = None
    for place, (name, row) in enumerate(zip(names, cells, strict=True)):
        answer = table["answer"][place]
        if several and answer != before:
            rows.append([shortened(printable(str(answer)), LABEL_CHARACTERS)])
            before = answer
        rows.append([indent + name, *row[:-1], intervals[place]])
    return aligned(rows, left={0, len(heads) + 1})


def _intervals(intervals: Sequence[str]) -> list[str]:
    """Align the ends of intervals."""
    parts = [text.split(" to ") for text in intervals]
    widths = [max((len(part[i]) for part in parts if len(part) == 2), default=0) for i in range(2)]
    return [f"{part[0]:>{widths[0]}} to {part[1]:>{widths[1]}}" if len(part) == 2 else part[0] for part in parts]


# What it rests on


def _between_groups(fit: Regression, level: float = 0.95) -> list[str]:
    """Say how much groups differ, and whom coefficients compare."""
    if fit.model_data.groups is None:
        return []
    group = quoted(fit.model_data.groups.column)
    whom = f"Coefficients compare people of the same {group}; predictions and marginal effects are averages over all."
    return [f"{fit.spread(level).text()} {whom}"]


def sentences(fit: Regression) -> list[str]:
    """Say whom the estimates are from, how they were found, and what is assumed."""
    return [
        *_findings(fit),
        *_optimum(fit),
        _errors(fit),
        *fit.notes,
        *_penalty(fit),
        _assumptions(fit),
        _privacy(fit),
    ]


def _findings(fit: Regression) -> list[str]:
    """Say what the estimates mean, whom they are from, and what speaks against them."""
    return [*_infinite(fit), *_meaning(fit), _people(fit), *_information(fit)]


def _infinite(fit: Regression) -> list[str]:
    if fit.infinity is None:
        return []
    several = len(_blocks(fit)) > 1
    names = [
        abridged(str(name) if several else name.term, LABEL_CHARACTERS)
        for name, lost in zip(fit.specification.coefficients, fit.infinity.mask, strict=True)
        if lost
    ]
    plural = len(names) > 1
    none, go = ("No finite estimates are", "they go") if plural else ("No finite estimate is", "it goes")
    said = f"{none} the most likely for {enumerated(names)}: the likelihood still rises when {go} to infinity."
    free = ["What is shown as any may take any value, along with the others."] * bool(
        np.isnan(fit.infinity.signs).any()
    )
    last = "Predicted shares are not affected."
    reasons = dict.fromkeys(f"{one.reason[0].upper()}{one.reason[1:]}." for one in fit.infinite)
    return [" ".join([said, *free, *reasons, last])]


def _meaning(fit: Regression) -> list[str]:
    specification, terms = fit.specification, fit.model_data.terms
    said = []
    if specification.model == "ordered":
        last = quoted(specification.domain[-1])
        said.append(
            f"A positive coefficient makes later answers, towards {last}, more likely; 'a | b' are the cutpoints."
        )
    elif specification.values is not None:
        said.append(
            "Coefficients are differences of means, in the unit of the answers. The fit is the best linear "
            f"approximation; fitted means may leave {in_digits(float(specification.values.min()), 6)} to "
            f"{in_digits(float(specification.values.max()), 6)}, the range of the answers."
        )
        said += _numbers_given(specification)
    elif specification.model == "linear":
        said.append(
            "Coefficients are differences of shares: 0.1 is 10 percentage points. The fit is the best linear "
            "approximation; fitted shares may leave 0 to 100 %."
        )
    compared = [f"{name} = {shortened(level)}" for name, level in terms.references]
    if compared:
        said.append(f"Levels are compared with {enumerated(compared)}.")
    said += [
        f"The most likely share of {quoted(answer)} is 0 % for everybody: the cutpoints on both sides of it are one."
        for answer in fit.specification.empty
    ]
    return [" ".join(said)] if said else []


def _numbers_given(specification: Specification) -> list[str]:
    """Say which number each answer stands for, unless it is the number itself."""
    domain, values = specification.domain, specification.values
    assert values is not None
    if specification.of_answers_themselves:
        return []
    named = [f"{quoted(answer)} = {in_digits(value, 6)}" for answer, value in zip(domain, values.tolist(), strict=True)]
    return [f"Answers stand for numbers: {enumerated(named, 8)}."]


def _people(fit: Regression) -> str:
    model_data = fit.model_data
    left = [
        f"{number:,} {why}"
        for number, why in (
            (model_data.missing, "with a missing value"),
            (model_data.unknown, "with a report that the design cannot give"),
            (model_data.weightless, "with a weight of zero"),
        )
        if number
    ]
    said = f"{counted(fit.people, 'person', 'people')} used"
    return f"{said}; {fit.dropped:,} left out ({', '.join(left)})." if left else f"{said}; nobody was left out."


def _information(fit: Regression) -> list[str]:
    if fit.effective is None or (fit.effective < ENOUGH_DIRECT_ANSWERS and fit.penalty is None):  # a note says it
        return []
    return [f"Their reports are as informative as {fit.effective:,.0f} direct answers."]


def _optimum(fit: Regression) -> list[str]:
    if fit.log_likelihood is None:
        return []
    kind = "Weighted log-likelihood" if fit.model_data.observations.sampling.weighted else "Log-likelihood"
    nodes = f", by {fit.nodes} nodes of adaptive quadrature" * (fit.nodes > 0)
    said = f"{kind} {fit.log_likelihood:.3f}{nodes}."
    if not fit.optima:
        return [said]
    if fit.search == "proven":
        return [f"{said} It is proven that no other coefficients have a higher one."]
    best, *others = fit.optima
    nowhere = fit.tried - sum(optimum.starts for optimum in fit.optima)
    which = f"the best of {len(fit.optima)} that were found" if others else "the only one that was found"
    starts = counted(fit.tried, "start", "starts")
    said += (
        f" {'All' if best.starts == fit.tried > 1 else f'{best.starts} of'} {starts} ended at this maximum, {which}."
    )
    if others:
        below = best.log_likelihood - others[0].log_likelihood
        ended = counted(others[0].starts, "start", "starts")
        said += f" The next best, where {ended} ended, is {below:.3g} lower."
    if nowhere:
        said += f" {counted(nowhere, 'start', 'starts')} led to none."
    return [said]


def _errors(fit: Regression) -> str:
    sampling = fit.model_data.observations.sampling
    said = f"Standard errors: {ERRORS_IN_WORDS[fit.errors]}"
    if sampling.cluster is not None:
        said += f"; people of one cluster ({sampling.clusters.number:,} of them) may be alike"
    if sampling.stratum is not None:
        said += f"; {counted(sampling.strata, 'stratum', 'strata')}"
    if sampling.sampled is not None:
        low, high = (f"{100 * part:.3g}" for part in (sampling.sampled.min(), sampling.sampled.max()))
        of = "clusters" if sampling.cluster is not None else "people"
        said += f"; for a finite population, {low if low == high else f'{low} to {high}'} % of whose {of} were sampled"
    if sampling.weighted:
        said += "; people are weighted by their sampling weights, so likelihood ratios say nothing here"
    return f"{said}."


def _penalty(fit: Regression) -> list[str]:
    if fit.penalty is None:
        return []
    said = "Jeffreys' penalty makes every estimate finite, and draws it towards equal shares: take it for points and"
    return [f"{said} predictions, and intervals from the fit without it."]


def _assumptions(fit: Regression) -> str:
    clusters, groups = fit.model_data.observations.sampling.cluster, fit.model_data.groups
    independent = "clusters are" if clusters is not None else "people are"
    others = "of each other"
    if groups is not None:
        others += f" but for {quoted(groups.column)}, whose effects are normal and do not go with the covariates"
    return (
        "Assumed: given the true answer, a report depends on nothing else, in particular not on these covariates; "
        f"{independent} independent {others}."
    )


def _privacy(fit: Regression) -> str:
    designs, labels = fit.model_data.observations.designs, fit.model_data.labels
    if len(designs) == 1:
        spent = designs[0].shown_epsilon()
    else:
        spent = enumerated([f"{name} {design.shown_epsilon()}" for name, design in zip(labels, designs, strict=True)])
    direct = any(not math.isfinite(design.epsilon) for design in designs)
    unprotected = " Where epsilon is inf, a report can give the answer away." if direct else ""
    return (
        f"Privacy: covariates are stored in the clear; epsilon ({spent}) bounds only what a report reveals about the "
        f"answer.{unprotected}"
    )
