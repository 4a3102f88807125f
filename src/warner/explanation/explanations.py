"""Regression of an outcome on a randomized answer (explain): the corrected score, or joint maximum likelihood.

The method ``"corrected"`` assumes no distribution of the outcome and no model of the answers. ``"ml"`` is more precise
if its assumptions hold (for a yes-or-no outcome, by a few percent), and misleading if they do not.

Rows with a missing value in any column that is used are left out and counted. Each respondent is copied once for each
possible answer, with the design matrix of that answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import starmap
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from warner.arrays import Array, Integers, Label, Mask, objects
from warner.designs.contract import LARGEST_CHANNEL
from warner.designs.facts import full_symmetry
from warner.explanation.corrected_score import OutcomeFamily, Outcomes, solve_corrected_score
from warner.explanation.joint_likelihood import maximise_joint_likelihood
from warner.inference.means import numbers_by_question, values_of
from warner.regression.data import Observations
from warner.regression.formulas import Formula, Terms, numbered, refuse_infinite, sides
from warner.regression.maxima import Optimum, overall_shares, refuse_dependent, refuse_too_few
from warner.regression.reports import ReportLikelihoods, named_designs, report_likelihoods
from warner.regression.scores import debiased
from warner.regression.standard_errors import DOUBTFUL_INTERVALS, ClusterRobust
from warner.reports.dialects import refuse_codes_of_reports
from warner.reports.loading import Selection, column_names, load, opened
from warner.reports.options import Codes, Columns, Conditions, Reading
from warner.reports.queries import INSIDE, Table
from warner.reports.samples import RESPONDENT, Sampling
from warner.results import Column, Estimates, StandardErrors, TableResult, coefficients, with_library
from warner.runtime import refuse_beyond_memory
from warner.text import check_choice, conjoined, counted, level_text, quoted
from warner.typesetting import labels

if TYPE_CHECKING:
    from warner.designs import Design
    from warner.documents import Document
    from warner.regression.formulas import Columns as Covariates


# Individual data


ENTRY_BYTES = 120  # of a person with one of the answers: likelihood, indicator, and what the regression makes of them


class RandomizedQuestion(NamedTuple):
    """Column of reports, their designs by the values of `by`, and numeric values of the answers."""

    name: str
    designs: tuple[Design, ...]
    labels: tuple[str, ...]
    by: str | None
    values: Array | None = None

    @property
    def domain(self) -> Sequence[Label]:
        return self.designs[0].domain

    @property
    def k(self) -> int:
        return len(self.domain)


def questions_of(designs: Any, by: str | None, values: Mapping[str, Any] | None = None) -> list[RandomizedQuestion]:
    """Check the designs of all randomized predictors, and the numeric values of their answers."""
    if not isinstance(designs, Mapping) or not designs:
        raise TypeError(
            f'designs must name the column of each randomized predictor, as {{"trait": design}}, but got {designs!r}'
        )
    questions = []
    numbers = numbers_by_question(values, list(designs))
    for name, design in designs.items():
        which = by if isinstance(design, Mapping) else None
        question = RandomizedQuestion(name, *named_designs(design, which), which)
        if name in numbers:
            question = question._replace(values=values_of(question.designs[0].domain, numbers[name]))
        questions.append(question)
    for question in questions:
        if question.k > LARGEST_CHANNEL and any(full_symmetry(design.law) is None for design in question.designs):
            raise ValueError(
                f"the randomized predictor {quoted(question.name)} must have at most {LARGEST_CHANNEL:,} answers, but "
                f"has {question.k:,}, and every respondent is entered once for each of them; ask on a coarser grid"
            )
    if by is not None and all(question.by is None for question in questions):
        raise TypeError(
            f"by names the design of each row, but there is one design for all; leave by={by!r} out, or give designs "
            'by name: {"trait": {"dice": ..., "direct": ...}}'
        )
    return questions


class Answers(NamedTuple):
    """Likelihoods and debiased indicators of the answers, both (n, k), and overall shares."""

    likelihood: Array
    indicators: Array | None
    shares: Array


@dataclass(frozen=True, eq=False)
class Individuals:
    """Respondents without missing values: columns, declared orders of levels, and the likelihoods of their reports.

    Answers to several questions are all their combinations, with the last question changing fastest. `rows` has a row
    for each respondent, with a constant as its only column.
    """

    columns: Covariates
    orders: Mapping[str, tuple[str, ...] | None]
    answers: Answers
    rows: Observations
    dropped: int
    library: str | None
    skipped_files: Mapping[str, str]

    @property
    def n(self) -> int:
        return len(self.rows.weight)


def individuals(
    source: Table | Mapping[str, Any],
    variables: Sequence[str],
    questions: Sequence[RandomizedQuestion],
    columns: Columns,
    *,
    clusters: str | None,
    strata: str | None,
    drop: bool,
) -> Individuals:
    """Read respondents with these variables and the reports to these questions."""
    forms = {question.name: [design.report_form for design in question.designs] for question in questions}
    sampled_in = [name for name in (clusters, strata) if name is not None]
    versions = [question.by for question in questions if question.by is not None]
    wanted = Selection(forms, (*variables, *versions, *sampled_in), columns.weights, where=columns.rows)
    loaded = load(source, wanted, every_row=True)
    # Names of clusters and strata stay as they are written.
    known = {
        name: loaded.column(name, as_written=name not in variables) for name in dict.fromkeys((*variables, *sampled_in))
    }
    answers = math.prod(question.k for question in questions)
    entries = len(next(iter(known.values())).missing) * answers
    refuse_beyond_memory(
        entries,
        ENTRY_BYTES,
        f"{entries:,} entries, one for each respondent and each of {counted(answers, 'answer', 'answers')},",
        "explain the outcome of a random sample of the respondents, or ask on a coarser grid",
    )
    reported = [
        report_likelihoods(loaded, question.name, question.designs, question.labels, question.by, drop=drop)
        for question in questions
    ]
    # Who tells everything, and counts for anything
    complete_parts = [*(~part.missing for part in known.values()), *(part.status == INSIDE for part in reported)]
    complete: Mask = reduce(np.logical_and, complete_parts)
    weight = np.ones(len(complete)) if loaded.weight is None else loaded.weight
    used = complete & (weight > 0)
    if not used.any():
        raise ValueError("data must have at least one complete row, but there is none")
    weighted = columns.weights is not None
    values_by_name = {name: part.values[used] for name, part in known.items()}
    for name, values in values_by_name.items():
        refuse_infinite(name, values)
    together = reduce(_joint_answers, [_answers(part, used, weight) for part in reported])
    sampling = _sampling(values_by_name, clusters, strata, weighted=weighted)
    rows = replace(_rows(together.likelihood, weight[used]), sampling=sampling)
    orders = {name: part.order for name, part in known.items()}
    return Individuals(
        values_by_name, orders, together, rows, int((~complete).sum()), loaded.library, loaded.skipped_files
    )


def _sampling(columns: Mapping[str, Any], clusters: str | None, strata: str | None, *, weighted: bool) -> Sampling:
    cluster, names = (None, None) if clusters is None else numbered(columns[clusters])
    sampling = Sampling(weighted, cluster, None if strata is None else numbered(columns[strata])[0])
    people = len(next(iter(columns.values())))
    sampling.refuse_unidentified(np.ones(people), () if names is None else names.tolist())
    return sampling


def _answers(reports: ReportLikelihoods, used: Mask, weight: Array) -> Answers:
    rows = replace(
        _rows(reports.likelihood(used), weight[used]),
        designs=reports.designs,
        design=reports.design[used],
        report=reports.report[used],
        tables=reports.tables,
    )
    shares = overall_shares(rows)
    return Answers(rows.likelihood, debiased(rows, shares), shares)


def _rows(likelihood: Array, weight: Array) -> Observations:
    one, none = np.ones(len(weight)), np.full(len(weight), -1)
    return Observations(one[:, np.newaxis], likelihood, weight, weight**2, one, (), none, none, ())


def _joint_answers(first: Answers, second: Answers) -> Answers:
    """Combine the answers to two questions with independent devices: products over all pairs of answers."""

    def product(one: Array, other: Array) -> Array:
        return np.asarray((one[..., :, np.newaxis] * other[..., np.newaxis, :]).reshape(*one.shape[:-1], -1))

    indicators = None
    if first.indicators is not None and second.indicators is not None:
        indicators = product(first.indicators, second.indicators)
    return Answers(product(first.likelihood, second.likelihood), indicators, product(first.shares, second.shares))


# Expanded data


DEPENDENT_SHARE_COLUMN = 1e-8  # part of a column that the columns before it must leave over


def expanded_design(
    formula: Formula, people: Individuals, variables: Sequence[str], questions: Sequence[RandomizedQuestion]
) -> tuple[Terms, Array]:
    """Terms of a model, and their columns for each combination of answers, of shape (k, n, columns).

    The last answer of each question is the reference; numbers enter as they are.
    """
    sizes, orders = [question.k for question in questions], dict(people.orders)
    total = int(np.prod(sizes))
    stacked = {name: np.tile(people.columns[name], total) for name in variables}
    for question, index in zip(questions, np.unravel_index(np.arange(total), sizes), strict=True):
        labels = [str(label) for label in question.domain]
        if question.values is None:
            orders[question.name] = (labels[-1], *labels[:-1])
        answers = objects(labels) if question.values is None else question.values
        stacked[question.name] = np.repeat(answers[index], people.n)
    # What a formula remembers of all respondents, such as their average, is that of one copy.
    once: Integers = np.repeat([1, *[0] * (total - 1)], people.n)
    terms = formula.terms(stacked, once, orders)
    copies = np.ascontiguousarray(terms.evaluate(stacked).reshape(-1, people.n, len(terms.names)))
    flat = copies.reshape(-1, len(terms.names))
    rows = people.rows
    refuse_too_few(rows, len(terms.names))
    refuse_dependent(
        replace(rows, x=flat, weight=np.tile(rows.weight, len(copies))), renamed_indicators(terms.names, questions)
    )
    return terms, copies


def renamed_indicators(names: Sequence[str], questions: Sequence[RandomizedQuestion]) -> tuple[str, ...]:
    """Rename indicators of answers: "trait[yes]" in place of "trait[T.yes]"."""
    for question in questions:
        for label in question.domain:
            names = [name.replace(f"{question.name}[T.{label}]", f"{question.name}[{label}]") for name in names]
    return tuple(names)


def _independent(columns: Array) -> list[int]:
    """Return the indices of columns that do not depend on earlier ones."""
    basis: list[Array] = []
    independent = []
    for index, column in enumerate(columns.T):
        size = float(np.linalg.norm(column))
        left = column
        for _ in range(2):  # once more, against rounding
            left = left - sum((direction * (direction @ left) for direction in basis), np.zeros_like(left))
        if size > 0 and np.linalg.norm(left) > DEPENDENT_SHARE_COLUMN * size:
            basis.append(left / np.linalg.norm(left))
            independent.append(index)
    return independent


# Explanations


Method: TypeAlias = Literal["corrected", "ml"]
Shares: TypeAlias = Literal["covariates", "constant"]
Unknown: TypeAlias = Literal["error", "drop"]

WEAK_INFORMATION = 3.0  # standard errors of the information above zero, below which estimates are unstable
FEW_RESPONDENTS = {"corrected": 15, "ml": 30}  # below which coverage is not confirmed, or below .93
MOST_SHARE_COEFFICIENTS = 500  # of the model of the answers


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(TableResult):
    """Regression of an outcome on a randomized answer and covariates: the result of `explain`."""

    outcome: str  #: What is explained.
    formula: str  #: By what it is explained.
    family: OutcomeFamily  #: "linear" or "logit", for differences of the expected outcome or of its log-odds.
    method: Method  #: "corrected" or "ml".
    #: The names of the coefficients, such as ``trait[yes]``, which compares yes with the last answer of the design.
    names: tuple[str, ...]
    coefficients: Array  #: The estimates, of shape (columns,).
    #: Their estimated covariance, of shape (columns, columns). It is robust, or for maximum likelihood without weights
    #: and clusters the inverse of the observed information.
    covariance: Array
    answers: Mapping[str, tuple[Label, ...]]  #: The answers to each randomized question; effects are against the last.
    designs: Mapping[str, tuple[Design, ...]]  #: The designs of each randomized question.
    people: int  #: Number of respondents that were used.
    dropped: int  #: Number of respondents left out for a missing value or an invalid report.
    weighted: bool = False  #: Whether respondents were weighted.
    #: How standard errors and degrees of freedom follow from clusters; each respondent is a cluster where there are
    #: none. None for maximum likelihood without weights and clusters.
    clustered: ClusterRobust | None = None
    stratified: bool = False  #: Whether respondents were sampled in strata.
    #: Of the corrected score, how many standard errors its information lies above zero where it is smallest. Below 3,
    #: estimates are unstable, and intervals rough.
    strength: float | None = None
    log_likelihood: float | None = None  #: Of maximum likelihood, as all that follows but the values.
    deviation: float | None = None  #: Standard deviation of the errors of a linear model.
    gap: float | None = None  #: How much the log-likelihood could still gain here.
    optima: tuple[Optimum, ...] = ()  #: The maxima, with the number of starts that ended in each, the best first.
    shares: Shares | None = None  #: What the shares of the answers may depend on.
    #: Numeric values of the answers, of the questions that enter as a number.
    values: Mapping[str, Array] = field(default_factory=dict)

    @property
    def clusters(self) -> int | None:
        """Number of clusters; None without clusters."""
        if self.clustered is None or self.clustered.clusters.unit == RESPONDENT:
            return None
        return self.clustered.clusters.number

    @cached_property
    def freedom(self) -> Array | None:
        """Degrees of freedom of Student's t of each coefficient; None for the normal distribution."""
        return None if self.clustered is None else self.clustered.accuracy(np.eye(len(self.names))).freedom

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings on intervals and p-values where respondents or clusters are few or unequal."""
        least = FEW_RESPONDENTS[self.method]
        few = f"There are fewer than {least} respondents: {DOUBTFUL_INTERVALS}."
        notes = () if self.clustered is None else self.clustered.notes(self.names)
        return (few, *notes) if self.people < least else notes

    @property
    def errors(self) -> Array:
        """Standard errors of the coefficients."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    _rows_key = "coefficients"

    def _columns(self, level: float = 0.95) -> list[Column]:
        floor = None if self.clustered is None else self.clustered.accuracy(np.eye(len(self.names))).floor
        limits = StandardErrors(self.errors, self.freedom, floor).wald(self.coefficients, level)
        table = coefficients({"term": self.names}, self.coefficients, limits)
        scale = {"linear": "estimate", "logit": "log-odds"}[self.family]
        return [
            *starmap(Column, table.items()),
            Column(heading="term", texts=labels(table["term"])),
            *Estimates.of_table(table).shown(scale, f"{level_text(level)} interval"),
        ]

    def _title(self, level: float = 0.95) -> str:
        kind = {"linear": "Linear regression", "logit": "Logistic regression"}[self.family]
        how = {"corrected": "corrected for the randomization", "ml": "by maximum likelihood"}[self.method]
        return f"{kind} of {self.outcome}, {how}: {self.formula}"

    def _facts(self, level: float = 0.95) -> Document:
        found: dict[str, Document] = {
            "corrected": {"strength": self.strength},
            "ml": {
                "log_likelihood": self.log_likelihood,
                "deviation": self.deviation,
                "gap": self.gap,
                "shares": self.shares,
                "optima": [{"log_likelihood": value, "starts": starts} for value, starts in self.optima],
            },
        }
        return {
            "format": "warner explanation",
            "version": 1,
            "outcome": self.outcome,
            "formula": self.formula,
            "family": self.family,
            "method": self.method,
            "level": level,
            "covariance": self.covariance,
            "answers": self.answers,
            "values": self.values,
            "designs": {name: [design.to_dict() for design in used] for name, used in self.designs.items()},
            "people": self.people,
            "dropped": self.dropped,
            "weighted": self.weighted,
            "clusters": self.clusters,
            "notes": self.notes,
            "stratified": self.stratified,
            **found[self.method],
        }

    def _footnotes(self, level: float = 0.95) -> list[str]:
        """Return the basis, the meaning and the assumptions of the estimates."""
        left_out = f", {self.dropped:,} left out because something is missing or no report" if self.dropped else ""
        sampled = ["weighted"] if self.weighted else []
        sampled += [f"in {self.clusters:,} clusters"] if self.clusters is not None else []
        sampled += ["in strata"] if self.stratified else []
        number = counted(self.people, "respondent", "respondents")
        respondents = ", ".join([f"{number}{left_out}", *sampled])
        unit = {"linear": "the expected outcome", "logit": "the log-odds of the outcome"}[self.family]
        compared = [f"{domain[-1]!r} ({name})" for name, domain in self.answers.items() if name not in self.values]
        meaning = [f"Effects of an answer are differences of {unit} against the answer {', '.join(compared)}."]
        numbers = [f"Effects of {conjoined(list(self.values))} are changes of {unit} per unit of the true number."]
        sentences = [
            " ".join([f"{respondents}.", *(meaning if compared else []), *(numbers if self.values else [])]),
            "Assumed: given the true answer, the report depends on nothing else, and in particular not on the outcome.",
        ]
        method = self._of_score() if self.method == "corrected" else self._of_likelihood()
        clear = (
            "Epsilon bounds what the report reveals of the answer; the outcome and the other terms are not protected."
        )
        return [*sentences, *method, *self.notes, clear]

    def _of_score(self) -> list[str]:
        sentences = [
            "No distribution of the errors and no model of the answers is assumed; standard errors are robust."
        ]
        if self.strength is not None and self.strength < WEAK_INFORMATION:
            sentences.append(
                f"There is little information on the effects of the answer ({self.strength:.1f} standard errors above "
                f"none; {WEAK_INFORMATION:.0f} would be enough): estimates are unstable, and intervals rough."
            )
        return sentences

    def _of_likelihood(self) -> list[str]:
        depends = {
            "covariates": "follow a logit model in the other terms",
            "constant": "are the same for all respondents",
        }
        sentences = [f"Also assumed: the shares of the answers {depends[self.shares or 'covariates']}."]
        if self.family == "linear":
            sentences.append(
                "And errors are normal, with one variance: the answer is then also learnt from the shape of the "
                "outcome's distribution, and if errors are skewed, effects are biased. Compare with "
                'method="corrected", which does not assume it.'
            )
        starts = sum(optimum.starts for optimum in self.optima)
        where = f"{self.optima[0].starts} of {starts} starts ended at this maximum"
        if len(self.optima) > 1:
            where += (
                f"; the next best is {self.optima[0].log_likelihood - self.optima[1].log_likelihood:.3g} nats below"
            )
        return [*sentences, f"Log-likelihood {self.log_likelihood:.6g}; {where}."]


def explain(
    formula: str,
    data: Any,
    designs: Mapping[str, Design | Mapping[Any, Design]],
    *,
    family: OutcomeFamily = "linear",
    method: Method = "corrected",
    on: Sequence[str] | None = None,
    by: str | None = None,
    weights: str | None = None,
    clusters: str | None = None,
    strata: str | None = None,
    shares: Shares = "covariates",
    values: Mapping[str, Any] | None = None,
    unknown: Unknown = "error",
    missing: Codes = (),
    sheet: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    skip_bad_files: bool = False,
    where: Conditions = None,
) -> Explanation:
    r"""Regress an outcome on a randomized answer and covariates.

    Each respondent is entered once for every possible answer, with debiased weights that are right on average whatever
    the answer is, and the usual regression is fitted to all these copies. That is consistent for every outcome, and for
    any number of randomized predictors, with interactions.

    Parameters
    ----------
    formula : str
        ``"outcome ~ age + trait"``; with `on`, the outcome alone. A formula that does more than add columns needs
        formulaic, which the extra ``regress`` brings.
    data : data frame, mapping of columns, or path
        One row for each respondent; of any library that Narwhals knows, or a file.
    designs : mapping
        For each randomized predictor, by the name of its column, what its reports went through; or a mapping of the
        values of the column `by` to designs, if people answered in different ways. Its answers enter as indicators, the
        last of them is the reference.
    family : {"linear", "logit"}
        Whether the expected outcome is linear in the terms, or the log-odds of an outcome of zeros and ones.
    method : {"corrected", "ml"}
        The corrected score, or joint maximum likelihood with a multinomial logit for the answers: more precise where
        its assumptions hold, which for a linear model include normal errors of one variance.
    on : list of str, optional
        The other predictors, instead of a formula: numbers as they are, texts as indicators.
    by : str, optional
        The column that names the design of each report, if there are several.
    weights, clusters, strata : str, optional
        Columns of sampling weights, and of the clusters and strata that people were sampled in.
    shares : {"covariates", "constant"}
        For maximum likelihood: whether the shares of the answers depend on the other terms.
    values : mapping, optional
        Randomized predictors that enter as a number, by the names of their columns: ``{"drinks": "numbers"}`` for
        answers that are numbers, or the number of each answer. Effects are then per unit.
    unknown : {"error", "drop"}
        Raise an error for invalid values, or leave these respondents out.
    missing, sheet, encoding, decimal, skip_bad_files, where
        Codes of missing values, format of files, and columns whose values select the rows, as for `warner.tally`.

    Returns
    -------
    Explanation

    Notes
    -----
    Standard errors of the corrected score are bias-reduced (CR2), by clusters or by respondents. For direct answers and
    a linear model without clusters they are HC2. Intervals and tests are by Student's t with Satterthwaite's
    degrees of freedom for each coefficient, as in `warner.regress` with clusters.

    Examples
    --------
    Six of eight people told the truth about a trait that raises the outcome by 2.

    >>> import warner
    >>> from warner.explanation.explanations import explain
    >>> survey = warner.RandomizedResponse(["yes", "no"], truth="3/4")
    >>> people = {"outcome": [3, 3, 3, 3, 1, 1, 1, 1], "trait": ["yes"] * 3 + ["no"] * 4 + ["yes"]}
    >>> explain("outcome", people, {"trait": survey}, on=[]).coefficients.round(12)
    array([1., 2.])
    """
    check_choice("family", family, get_args(OutcomeFamily))
    check_choice("method", method, get_args(Method))
    check_choice("shares", shares, get_args(Shares))
    columns = Columns(where=where, weights=weights)
    reading = Reading(unknown, missing, sheet, encoding, decimal, skip_bad_files=skip_bad_files)
    questions = questions_of(designs, by, values)
    for one in (design for question in questions for design in question.designs):
        refuse_codes_of_reports(reading, one.report_form)
    with opened(data, reading, names=[*(question.name for question in questions), by, clusters, strata]) as source:
        outcome, given, variables = _sides(formula, on, questions, column_names(source))
        people = individuals(
            source, [outcome, *variables], questions, columns, clusters=clusters, strata=strata, drop=reading.drop
        )
    terms, copies = expanded_design(given, people, variables, questions)
    explained = _outcomes(outcome, people, copies, family, modelled=method == "ml" and shares == "covariates")
    if method == "corrected":
        found = solve_corrected_score(explained, family)._asdict()
    else:
        found = maximise_joint_likelihood(explained, people.answers.shares, family)._asdict() | {"shares": shares}
        del found["share_coefficients"]  # no part of the result
    result = Explanation(
        outcome=outcome,
        formula=terms.formula,
        family=family,
        method=method,
        names=renamed_indicators(terms.names, questions),
        answers={question.name: tuple(question.domain) for question in questions},
        values={question.name: question.values for question in questions if question.values is not None},
        designs={question.name: question.designs for question in questions},
        people=people.n,
        dropped=people.dropped,
        weighted=weights is not None,
        stratified=strata is not None,
        **found,
    )
    return with_library(result, people.library, people.skipped_files)


def _outcomes(name: str, people: Individuals, copies: Array, family: OutcomeFamily, *, modelled: bool) -> Outcomes:
    rows = people.rows
    if modelled:
        # A constant, and the independent terms at the reference.
        columns = np.column_stack([np.ones(copies.shape[1]), copies[-1]])
        rows = replace(rows, x=columns[:, _independent(columns)])
        size = (copies.shape[0] - 1) * rows.x.shape[1]
        if size > MOST_SHARE_COEFFICIENTS:
            raise ValueError(
                f'method="ml" models the shares of the answers with {size:,} coefficients, but at most '
                f'{MOST_SHARE_COEFFICIENTS:,} are possible; use method="corrected", or shares="constant"'
            )
    return Outcomes(_outcome(name, people.columns[name], family), copies, people.answers.indicators, rows)


def _sides(
    formula: str, on: Sequence[str] | None, questions: list[RandomizedQuestion], names: list[str]
) -> tuple[str, Formula, list[str]]:
    """Return the outcome, the terms, and the other variables that are used."""
    outcome, right = sides(formula)
    randomized = [question.name for question in questions]
    if on is None and not right:
        raise ValueError(f'formula must be "outcome ~ " and the terms, or give on=[...], but got {formula!r}')
    if on is not None and right:
        raise TypeError(f"give the terms in the formula or in on, not both, but got {formula!r} and on={list(on)!r}")
    given = Formula(right) if on is None else Formula.of_columns((*on, *randomized))
    used = given.variables(names)
    for name in randomized:
        if name not in used:
            raise ValueError(f"formula must have a term with the randomized answer {name!r}, but got {formula!r}")
    if outcome in randomized:
        raise ValueError(
            f"the outcome must be stored in the clear, but {outcome!r} is randomized; to explain a randomized answer, "
            "use warner.regress"
        )
    if outcome in used:
        raise ValueError(f"the outcome {outcome!r} must not be among its own predictors")
    return outcome, given, [name for name in dict.fromkeys(used) if name not in randomized]


def _outcome(name: str, values: Any, family: OutcomeFamily) -> Array:
    if values.dtype.kind == "O":
        remedy = "code it as 0 and 1" if family == "logit" else "take numbers"
        raise TypeError(f"the outcome {name!r} must hold numbers, but holds texts; {remedy}")
    outcome = values.astype(np.float64)
    if family == "logit" and not np.isin(outcome, (0, 1)).all():
        invalid = outcome[~np.isin(outcome, (0, 1))][0]
        raise ValueError(f'the outcome {name!r} must be 0 or 1 for family="logit", but holds {invalid:g}')
    if np.ptp(outcome) == 0:
        raise ValueError(f"the outcome {name!r} must differ between respondents, but is {outcome[0]:g} for all of them")
    return np.asarray(outcome)
