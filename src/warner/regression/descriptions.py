"""Sentences of a regression: subject, headings, evidence and assumptions; the table of several regressions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import Counts, objects
from warner.regression.formulas import INTERCEPT
from warner.regression.standard_errors import ENOUGH_DIRECT_ANSWERS, coefficient_names
from warner.results import Column, Estimates, TableResult
from warner.text import LABEL_CHARACTERS, counted, enumerated, level_text, printable, quoted, sentence, shortened
from warner.typesetting import in_digits, labels

if TYPE_CHECKING:
    from warner.documents import Document
    from warner.regression.regressions import Regression

ERRORS_IN_WORDS = {
    "observed": "from the observed information",
    "expected": "from the expected information",
    "opg": "from the outer products of the scores",
    "robust": "robust: valid even if the model is only an approximation",
}
INTERVALS_IN_WORDS = {
    "profile": "interval (profile likelihood)",
    "wald": "interval (Wald)",
    "none": "interval: none for penalized estimates",
}
MIXED_INTERVALS = "interval (Wald or profile likelihood)"


# Subject and headings


def subject(fit: Regression, *, odds: bool = False) -> str:
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
    """Name of the number whose mean is modeled: its column; a tally has none."""
    return printable(fit.model_data.response) or "the answers"


def quantity(fit: Regression, *, odds: bool) -> str:
    if odds:
        return "odds ratio"
    logit = fit.specification.link == "logit" and fit.specification.model != "ordered"
    return "log-odds" if logit else "estimate"


def interval_heading(methods: Iterable[str], level: float) -> str:
    found = list(dict.fromkeys(map(str, methods)))
    return f"{level_text(level)} {INTERVALS_IN_WORDS[found[0]] if len(found) == 1 else MIXED_INTERVALS}"


def abridged(term: str, width: int) -> str:
    """Shorten a term in its middle, so that its level stays readable.

    >>> abridged("highest_level_of_education[T.school]", 30)
    'highest_level_of_...[T.school]'
    """
    term = printable(term)
    end = max(width // 3, len(term) - term.rfind("[") if "[" in term else 0)
    if len(term) <= width or end > width - 6:
        return shortened(term, width)
    return f"{term[: width - 3 - end]}...{term[-end:]}"


# What it rests on


def sentences(fit: Regression, level: float, methods: Sequence[str], *, odds: bool) -> list[str]:
    return [
        *_ratios(fit, odds=odds),
        *_profiled(fit, methods),
        *_between_groups(fit, level),
        *_infinite(fit),
        *_meaning(fit),
        _respondents(fit),
        *_information(fit),
        *_optimum(fit),
        _errors(fit),
        *fit.notes,
        *_penalty(fit),
        _assumptions(fit),
        _privacy(fit),
    ]


def paper_notes(fit: Regression, level: float = 0.95, interval: str = "auto", *, odds: bool = False) -> tuple[str, ...]:
    """Return the two lines of notes of a table for papers, and the caveats of coefficients that have some."""
    found = fit.criteria
    named = {"log-likelihood": fit.log_likelihood, "AIC": found.aic, "BIC": found.bic}
    left, compared = _left_out(fit), [f"{name} = {shortened(level)}" for name, level in fit.model_data.terms.references]
    numbers = ", ".join(f"{name} {value:,.2f}" for name, value in named.items() if value is not None)
    first = [f"N = {counted(fit.people, 'respondent', 'respondents')}{f' ({left})' * bool(left)}"]
    first += [f"standard errors {_kind_of_errors(fit)}"]
    first += [f"levels are compared with {enumerated(compared)}"] * bool(compared)
    second = [f"Epsilon {_epsilon(fit)}", "given the true answer, reports are assumed independent of the covariates"]
    lines = [sentence("; ".join(filter(None, line))) for line in (first, [*second, numbers])]
    return *lines, *_profiled(fit, fit._intervals(level, interval)[0].methods), *_caveats(fit, level, odds=odds)


def _caveats(fit: Regression, level: float, *, odds: bool) -> list[str]:
    return [*_ratios(fit, odds=odds), *_between_groups(fit, level), *_infinite(fit), *fit.notes, *_penalty(fit)]


def _kind_of_errors(fit: Regression) -> str:
    """Return a phrase on the kind of standard errors and their sample."""
    sampling = fit.model_data.observations.sampling
    parts = [ERRORS_IN_WORDS[fit.errors].partition(":")[0]]
    if sampling.cluster is not None:
        parts.append(f"{sampling.clusters.number:,} clusters")
    parts += [counted(sampling.strata, "stratum", "strata")] * (sampling.stratum is not None)
    return ", ".join([*parts, *["weighted"] * sampling.weighted])


def _epsilon(fit: Regression) -> str:
    designs, labels = fit.model_data.observations.designs, fit.model_data.labels
    if len(designs) == 1:
        return designs[0].shown_epsilon()
    return enumerated([f"{name} {design.shown_epsilon()}" for name, design in zip(labels, designs, strict=True)])


def _ratios(fit: Regression, *, odds: bool) -> list[str]:
    if not odds:
        return []
    text = "Standard errors are those of the odds ratios, by the delta method; tests are those of their logarithms."
    if fit.specification.model == "ordered":
        return [f"{text} Cutpoints are shown as the odds of the answers up to there, where all terms are zero."]
    if INTERCEPT in fit.model_data.terms.names:
        text += f" {INTERCEPT} is shown as the odds themselves, where all terms are zero."
    return [text]


def _profiled(fit: Regression, methods: Sequence[str]) -> list[str]:
    """Sentence that names the profile intervals, if only some intervals are."""
    named = zip(coefficient_names(fit), methods, strict=True)
    names = [abridged(name, LABEL_CHARACTERS) for name, method in named if method == "profile"]
    if len(names) in {0, len(methods)}:
        return []
    of = enumerated(names)
    text = f"The intervals of {of} are those" if len(names) > 1 else f"The interval of {of} is that"
    return [f"{text} of the profile likelihood, as p is: an interval by standard errors would differ."]


def _between_groups(fit: Regression, level: float) -> list[str]:
    if fit.model_data.groups is None:
        return []
    group = quoted(fit.model_data.groups.column)
    whom = f"Coefficients compare respondents of the same {group}"
    return [f"{fit.spread(level).text()} {whom}; predictions and marginal effects are averages over all."]


def _infinite(fit: Regression) -> list[str]:
    if fit.infinity is None:
        return []
    lost = zip(coefficient_names(fit), fit.infinity.mask, strict=True)
    names = [abridged(name, LABEL_CHARACTERS) for name, infinite in lost if infinite]
    plural = len(names) > 1
    none, go = ("No finite estimates are", "they go") if plural else ("No finite estimate is", "it goes")
    text = f"{none} the most likely for {enumerated(names)}: the likelihood still rises when {go} to infinity."
    any_value = bool(np.isnan(fit.infinity.signs).any())
    free = ["Coefficients shown as any may take any value, together with the others."] * any_value
    reasons = dict.fromkeys(sentence(one.reason) for one in fit.infinite)
    return [" ".join([text, *free, *reasons, "Predicted shares are not affected."])]


def _meaning(fit: Regression) -> list[str]:
    specification, terms = fit.specification, fit.model_data.terms
    sentences = []
    if specification.model == "ordered":
        last = quoted(specification.domain[-1])
        sentences.append(
            f"A positive coefficient makes later answers, toward {last}, more likely; 'a | b' are the cutpoints."
        )
    elif specification.values is not None:
        numbers = [in_digits(value, 6) for value in specification.values.tolist()]
        least, most = (in_digits(float(end), 6) for end in (specification.values.min(), specification.values.max()))
        sentences.append(
            "Coefficients are differences of means, in the unit of the answers. The fit is the best linear "
            f"approximation; fitted means may leave {least} to {most}, the range of the answers."
        )
        if not specification.of_answers_themselves:
            named = [f"{quoted(answer)} = {x}" for answer, x in zip(specification.domain, numbers, strict=True)]
            sentences.append(f"Numeric values of the answers: {enumerated(named, 8)}.")
    elif specification.model == "linear":
        sentences.append(
            "Coefficients are differences of shares: 0.1 is 10 percentage points. The fit is the best linear "
            "approximation; fitted shares may leave 0 to 100 %."
        )
    compared = [f"{name} = {shortened(level)}" for name, level in terms.references]
    if compared:
        sentences.append(f"Levels are compared with {enumerated(compared)}.")
    sentences += [
        f"The most likely share of {quoted(answer)} is 0 % for all respondents: the cutpoints on its sides are equal."
        for answer in fit.specification.empty
    ]
    return [" ".join(sentences)] if sentences else []


def _respondents(fit: Regression) -> str:
    used = f"{counted(fit.people, 'respondent', 'respondents')} used"
    return f"{used}; {_left_out(fit) or 'none left out'}."


def _left_out(fit: Regression) -> str:
    """Return the numbers of respondents who were left out, by reason; empty if there are none."""
    data = fit.model_data
    reasons = {f"without {printable(name)}": number for name, number in data.without.items()}
    reasons |= {"with an invalid report": data.unknown, "with a weight of zero": data.weightless}
    left = enumerated([f"{number:,} {why}" for why, number in reasons.items() if number])
    several = ", some without several" if sum(data.without.values()) > data.missing else ""
    return f"{fit.dropped:,} left out: {left}{several}" if fit.dropped else ""


def _information(fit: Regression) -> list[str]:
    if fit.effective is None or (fit.effective < ENOUGH_DIRECT_ANSWERS and fit.penalty is None):  # a note says it
        return []
    return [f"Their reports are as informative as {fit.effective:,.0f} direct answers."]


def _optimum(fit: Regression) -> list[str]:
    if fit.log_likelihood is None:
        return []
    kind = "Weighted log-likelihood" if fit.model_data.observations.sampling.weighted else "Log-likelihood"
    nodes = f" (by {fit.nodes} nodes of adaptive quadrature)" * (fit.nodes > 0)
    found = fit.criteria
    named = (("AIC", found.aic), ("BIC", found.bic))
    measures = [f"{kind} {fit.log_likelihood:,.2f}{nodes}"]
    measures += [f"{name} {value:,.2f}" for name, value in named if value is not None]
    if found.mcfadden is not None:
        measures.append(f"McFadden's pseudo R-squared {found.mcfadden:.3f}")
    text = f"{', '.join(measures)}."
    if not fit.optima:
        return [text]
    if fit.search == "proven":
        return [f"{text} It is proven that no other coefficients have a higher one."]
    best, *others = fit.optima
    nowhere = fit.tried - sum(optimum.starts for optimum in fit.optima)
    which = f"the best of {len(fit.optima)} that were found" if others else "the only one that was found"
    starts = counted(fit.tried, "start", "starts")
    how_many = "All" if best.starts == fit.tried > 1 else f"{best.starts} of"
    text += f" {how_many} {starts} ended at this maximum, {which}."
    if others:
        below = best.log_likelihood - others[0].log_likelihood
        ended = counted(others[0].starts, "start", "starts")
        text += f" The next best, where {ended} ended, is {below:.3g} lower."
    if nowhere:
        text += f" {counted(nowhere, 'start', 'starts')} led to none."
    return [text]


def _errors(fit: Regression) -> str:
    sampling = fit.model_data.observations.sampling
    text = f"Standard errors: {ERRORS_IN_WORDS[fit.errors]}"
    if sampling.cluster is not None:
        text += f"; respondents of one cluster ({sampling.clusters.number:,} of them) may be similar"
    if sampling.stratum is not None:
        text += f"; {counted(sampling.strata, 'stratum', 'strata')}"
    if sampling.sampled is not None:
        low, high = (f"{100 * part:.3g}" for part in (sampling.sampled.min(), sampling.sampled.max()))
        of = "clusters" if sampling.cluster is not None else "respondents"
        text += f"; for a finite population, {low if low == high else f'{low} to {high}'} % of whose {of} were sampled"
    if sampling.weighted:
        text += "; respondents are weighted by their sampling weights, so likelihood ratios are not valid here"
    return f"{text}."


def _penalty(fit: Regression) -> list[str]:
    if fit.penalty is None:
        return []
    text = "Jeffreys' penalty makes every estimate finite, and shrinks it toward equal shares: use it for estimates and"
    return [f"{text} predictions, and take intervals from the fit without it."]


def _assumptions(fit: Regression) -> str:
    clusters, groups = fit.model_data.observations.sampling.cluster, fit.model_data.groups
    independent = "clusters are" if clusters is not None else "respondents are"
    others = "of each other"
    if groups is not None:
        others += f" but for {quoted(groups.column)}, whose effects are normal and independent of the covariates"
    return (
        "Assumed: given the true answer, a report depends on nothing else, in particular not on these covariates; "
        f"{independent} independent {others}."
    )


def _privacy(fit: Regression) -> str:
    designs, spent = fit.model_data.observations.designs, _epsilon(fit)
    direct = any(not math.isfinite(design.epsilon) for design in designs)
    unprotected = " Where epsilon is inf, a report can reveal the answer." if direct else ""
    return (
        f"Privacy: covariates are stored in the clear; epsilon ({spent}) bounds only what a report reveals about the "
        f"answer.{unprotected}"
    )


# Several regressions


@dataclass(frozen=True, eq=False, repr=False)
class RegressionTable(TableResult):
    """Several regressions side by side: `regression_table`."""

    models: tuple[Regression, ...]  #: The regressions.
    names: tuple[str, ...]  #: Headings of their columns.
    level: float  #: Confidence level of the intervals in ``table()`` and JSON.
    odds: bool  #: Odds ratios in place of coefficients.

    _rows_key = "coefficients"

    def _input_library(self) -> str | None:
        return self.models[0]._input_library()

    def _columns(self) -> list[Column]:
        """Return a row for each coefficient of each model; readers see a column for each model."""
        tables = [fit.table(self.level, odds=self.odds) for fit in self.models]
        sizes = [len(table["term"]) for table in tables]
        joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
        keys = list(dict.fromkeys(zip(joined["answer"].tolist(), joined["term"].tolist(), strict=True)))
        keys.sort(key=lambda key: key[1] == INTERCEPT)
        several = len({answer for answer, _ in keys}) > 1
        ends = list(self._evidence(self.models[0]))
        terms = objects([*(term for _, term in keys), *ends])
        answers = ["" if answer is None else str(answer) for answer, _ in keys] + [""] * len(ends)
        shown = [Column(heading="answer", texts=answers)] * several
        shown.append(Column(heading="term", texts=labels(terms)))
        for name, fit, table in zip(self.names, self.models, tables, strict=True):
            cells = self._cells(table)
            texts = [*(cells.get(key, "") for key in keys), *self._evidence(fit).values()]
            shown.append(Column(heading=name, texts=texts))
        return [Column("model", np.repeat(objects(self.names), sizes)), *starmap(Column, joined.items()), *shown]

    def _cells(self, table: dict[str, Counts]) -> dict[tuple[Any, Any], str]:
        """Return estimates with their standard errors in parentheses, by answer and term."""
        values, errors, *_ = Estimates.of_table(table, "odds_ratio" if self.odds else "estimate").texts("any")
        cells = [f"{value} ({error})" if error else value for value, error in zip(values, errors, strict=True)]
        return dict(zip(zip(table["answer"].tolist(), table["term"].tolist(), strict=True), cells, strict=True))

    @staticmethod
    def _evidence(fit: Regression) -> dict[str, str]:
        numbers = {"log-likelihood": fit.log_likelihood, "AIC": fit.criteria.aic, "BIC": fit.criteria.bic}
        texts = {name: "" if value is None else f"{value:,.1f}" for name, value in numbers.items()}
        return {"respondents": f"{fit.people:,}", **texts}

    def _title(self) -> str:
        return "; ".join(dict.fromkeys(subject(fit, odds=self.odds) for fit in self.models))

    def _footnotes(self) -> list[str]:

        def each(texts: Sequence[str]) -> str:
            if len(set(texts)) == 1:
                return texts[0]
            return ", ".join(f"{name} {text}" for name, text in zip(self.names, texts, strict=True) if text)

        left = each([_left_out(fit) for fit in self.models])
        errors = each([_kind_of_errors(fit) for fit in self.models])
        compared = dict.fromkeys(reference for fit in self.models for reference in fit.model_data.terms.references)
        levels = enumerated([f"{name} = {shortened(level)}" for name, level in compared])
        first = [f"standard errors in parentheses, {errors}", *[f"levels are compared with {levels}"] * bool(levels)]
        assumed = "given the true answer, reports are assumed independent of the covariates"
        lines = [
            "; ".join([*first, *filter(None, [left])]),
            f"Epsilon {each([*map(_epsilon, self.models)])}; {assumed}",
        ]
        caveats: dict[str, list[str]] = {}
        for name, fit in zip(self.names, self.models, strict=True):
            for note in _caveats(fit, self.level, odds=self.odds):
                caveats.setdefault(note, []).append(name)
        return [*lines, *(f"{', '.join(names)}: {note}" for note, names in caveats.items())]

    def _facts(self) -> Document:
        facts = [fit._facts(self.level, odds=self.odds) for fit in self.models]
        models = [{"name": name, **one} for name, one in zip(self.names, facts, strict=True)]
        return {"format": "warner regression table", "version": 1, "level": self.level, "models": models}


def regression_table(
    models: Iterable[Regression], *, names: Iterable[str] | None = None, level: float = 0.95, odds: bool = False
) -> RegressionTable:
    """Show several regressions side by side, as in a paper.

    Parameters
    ----------
    models : list of Regression
        The regressions, which may have different terms, data or designs.
    names : list of str, optional
        Headings of the columns; (1), (2), ... if not given.
    level : float
        Confidence level of the intervals in ``table()`` and JSON.
    odds : bool
        Show odds ratios in place of coefficients.

    Returns
    -------
    RegressionTable
        Coefficients with standard errors in parentheses, numbers of respondents and information criteria, for
        terminals, notebooks and papers; ``table()`` has a row for each coefficient of each model.

    Examples
    --------
    >>> from warner import RandomizedResponse, regress
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> reports = {"answer": ["yes", "no"] * 2, "old": [0, 0, 1, 1], "people": [400, 600, 550, 450]}
    >>> models = [regress(formula, reports, survey, counts="people") for formula in ("answer ~ 1", "answer ~ old")]
    >>> regression_table(models)
    Log-odds of 'yes' against 'no'
    term                       (1)           (2)
    old                              1.25 (0.20)
    Intercept       -0.201 (0.090)  -0.85 (0.15)
    respondents              2,000         2,000
    log-likelihood        -1,383.8      -1,361.2
    AIC                    2,769.6       2,726.3
    BIC                    2,775.2       2,737.5
    Standard errors in parentheses, from the observed information.
    Epsilon 1.099; given the true answer, reports are assumed independent of the covariates.
    """
    fits = tuple(models) if isinstance(models, Iterable) else ()
    if not fits or not all(hasattr(fit, "model_data") for fit in fits):
        raise TypeError(f"models must be a list of regressions, as warner.regress returns them, but got {models!r}")
    headings = tuple(f"({place})" for place in range(1, len(fits) + 1)) if names is None else tuple(names)
    if len(headings) != len(fits) or len(set(headings)) < len(headings) or {"term", "answer"} & set(headings):
        raise ValueError(f"names must be {len(fits)} different names of models, but got {list(headings)!r}")
    return RegressionTable(fits, headings, level, odds)
