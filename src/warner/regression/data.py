"""Data of a model: observations, their likelihood and the terms, from data of any kind.

Any design, a different one for each respondent, and direct questions are only different rows of the likelihood.
Respondents with the same covariates, design and report are one row, with their number (`Observations`). Rows with
missing values in a column that is used are left out and counted. In a tally, a row is a group and a report that occurs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.designs.labels import MISSING, OUTSIDE
from warner.inference.means import values_of
from warner.regression.formulas import (
    Formula,
    Terms,
    by_name,
    intercepts_apart,
    numbered,
    refuse_infinite,
    sides,
    written,
)
from warner.regression.reports import (
    Numbered,
    ReportLikelihoods,
    named_designs,
    numbered_columns,
    numbered_reports,
    refuse_different_answers,
    report_likelihoods,
)
from warner.reports.dialects import refuse_codes_of_reports
from warner.reports.loading import Column, Loaded, Selection, Values, column, column_names, load, opened
from warner.reports.options import ALL_COLUMNS, PLAIN, SIMPLE, Columns, NumberOrColumn, Reading, Sample
from warner.reports.queries import INSIDE, Table
from warner.reports.sample_columns import refuse_contradictions
from warner.reports.samples import SIMPLE_RANDOM, Sampling, parts_by_stratum, refuse_parts
from warner.reports.tallies import Pool, Tally
from warner.text import enumerated

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask
    from warner.designs.contract import Design
    from warner.regression.formulas import Columns as Covariates


# Tallied


def rows_of_tally(
    tally: Tally | Pool, names: Sequence[str], values: Array | None = None
) -> tuple[Loaded, ReportLikelihoods]:
    """Columns of a tally, numbers of respondents, and likelihoods of reports, with scores if answers have `values`."""
    for name in names:
        if name not in tally.by:
            grouped_by = enumerated([repr(one) for one in tally.by]) or "nothing"
            raise ValueError(
                f"the tally must be grouped by {name!r}, which the model uses, but is grouped by {grouped_by}: "
                f"tally(..., by=[{name!r}, ...])"
            )
    if tally.weighted:
        raise TypeError(
            "data must not be a tally of weights: it keeps the sum of their squares for each group, but not for each "
            "report; give the data themselves, with weights="
        )
    if tally.sample is not None:
        raise TypeError(
            "data must not be a tally with strata, clusters or replicate weights; give the data themselves, with "
            "strata= and clusters="
        )
    group_of_cells, parts, amounts = zip(*(_cells(part, values) for part in tally.parts), strict=True)
    group = np.concatenate(group_of_cells)

    def known(name: str) -> Column:
        values = [values[tally.by.index(name)] for values in tally.groups]
        # A tally of a text file has its groups as texts: they are numbers if all are, as in the file itself.
        written = all(isinstance(value, str | None) for value in values)
        read = column(name, values, text=written)
        return Column(read.values[group], read.missing[group])

    people = np.concatenate(amounts).astype(np.int64)
    left_out = int(np.sum(tally.missing)), int(np.sum(tally.unknown))
    facts: Any = {"library": tally.backend, "left_out": left_out, "skipped_files": tally.skipped_files}
    loaded = Loaded({name: known(name) for name in names}, people, **facts)
    designs = tuple(part.design for part in tally.parts)
    labels = ("",) if len(designs) == 1 else tuple(str(index + 1) for index in range(len(designs)))
    refuse_different_answers(designs, labels)
    design = np.repeat(np.arange(len(parts)), [len(one) for one in group_of_cells])
    report = np.concatenate([part.report for part in parts])
    return loaded, ReportLikelihoods.of_parts((designs, labels), design, report, np.zeros_like(design), parts)


def _cells(part: Tally, values: Array | None) -> tuple[Integers, Numbered, Counts]:
    """Return group, report, and number of respondents of each cell."""
    counts = {"counts": part.counts, "histogram": part.histogram, None: None}[part.design.law.sufficient]
    if counts is not None:
        table = np.atleast_2d(counts)
        group, column = np.nonzero(table)
        return group, numbered_columns(part.design, column, values), table[group, column]
    if part.kept is None:
        raise TypeError(
            "the tally must keep its reports, because their likelihood does not follow from the counts under this "
            "design: tally(..., keep=True)"
        )
    blocks = [(index, block) for index in range(len(np.atleast_1d(part.n))) for block in part.kept.blocks(index)]
    group = np.repeat([index for index, _ in blocks], [len(block.reports) for _, block in blocks])
    amounts = [np.ones(len(block.reports)) if block.amounts is None else block.amounts for _, block in blocks]
    reports = np.concatenate([block.reports for _, block in blocks])
    return group, numbered_reports(part.design, reports, values), np.concatenate(amounts)


# Data


INTERCEPTS, SAMPLED = "intercepts", "sampled"
FEWEST_GROUPS = 5  # groups of random intercepts
MOST_COEFFICIENTS = 500  # coefficients, up to which their information is a matrix of bearable size


@dataclass(frozen=True, eq=False)
class Observations:
    """Distinct rows: covariates, reports with their designs, and numbers of respondents."""

    x: Array  # columns of the model, with the intercept, (n, columns)
    likelihood: Array  # probability of the report after each answer, up to one positive factor a row, (n, k)
    weight: Array  # sum of the weights of each row; the number of respondents without weights
    square: Array  # sum of the squared weights
    people: Array  # number of respondents in each row
    designs: tuple[Design, ...]  # with the same answers, in the same order
    design: Integers  # index of each row's design
    report: Integers  # index of each row's report in the table of its design; -1 without a table
    tables: tuple[Array | None, ...]  # probabilities of the reports after each answer, (k, reports), of each design
    sampling: Sampling = SIMPLE_RANDOM
    scores: Array | None = None  # of the reports, where answers have numeric values; all answers then count as one

    @property
    def k(self) -> int:
        return int(self.likelihood.shape[1])

    @property
    def n(self) -> int:
        return int(self.people.sum())

    def patterns(self) -> tuple[Array, Array]:
        """Return the distinct rows of the likelihood, (m, k), with the sums of their weights."""
        if (self.report >= 0).all():  # all that the likelihood depends on is the design and the report
            code = self.design * (int(self.report.max()) + 1) + self.report
            weights = np.bincount(code, self.weight)
            first = np.empty(len(weights), dtype=np.int64)
            first[code] = np.arange(len(code))
            seen = np.bincount(code) > 0
            return self.likelihood[first[seen]], weights[seen].astype(np.float64)
        distinct, index = np.unique(self.likelihood, axis=0, return_inverse=True)
        return distinct, np.bincount(index.ravel(), self.weight, minlength=len(distinct)).astype(np.float64)


class Groups(NamedTuple):
    """Groups of random intercepts: their column, their names, and the group of each row."""

    column: str
    names: tuple[Any, ...]
    of_row: Integers

    @property
    def number(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class ModelData:
    """Data of a model: observations, terms, and the numbers of respondents left out."""

    observations: Observations  # distinct rows, sorted by covariates, design and report
    terms: Terms
    response: str  # column of reports; empty for a tally
    labels: tuple[str, ...]  # names of the designs in the column `by`; one empty name for a single design
    covariates: Covariates  # distinct combinations of the variables of the model, for `terms.evaluate`
    pattern: Integers  # index of each row's combination in `covariates`
    missing: int  # respondents left out for a missing value
    unknown: int  # for an invalid report
    weightless: int  # for a weight of zero
    backend: str | None = None  # data-frame library of the input
    groups: Groups | None = None  # of random intercepts
    skipped_files: Mapping[str, str] = field(default_factory=dict)
    without: Mapping[str, int] = field(default_factory=dict)  # respondents without a value, by column

    @property
    def formula(self) -> str:
        intercepts = "" if self.groups is None else f" + (1 | {written(self.groups.column)})"
        return f"{self.response} ~ {self.terms.formula}{intercepts}".strip()


def model_data(
    formula: str | None,
    data: Any,
    design: Design | Mapping[Any, Design] | None = None,
    columns: Columns = ALL_COLUMNS,
    reading: Reading = PLAIN,
    sample: Sample = SIMPLE,
    *,
    on: Iterable[str] | None = None,
    X: Any = None,
    names: Sequence[str] | None = None,
    intercepts: str | None = None,
    values: Any = None,
) -> ModelData:
    """Read data of any kind as the data of a model; for parameters not listed see `warner.regress`.

    The column `by` of `columns` names the design of each row, and rows with a weight of zero are left out. `intercepts`
    is the column of the groups of random intercepts, as in a term ``(1 | school)`` of the formula. With `values` of the
    answers their mean is modeled.

    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> people = {"answer": ["yes", "no", "no", "yes", None], "age": [30, 40, 40, 30, 30]}
    >>> found = model_data("answer", people, survey, on=["age"])
    >>> found.observations.x, found.observations.people, found.missing
    (array([[ 1., 30.],
           [ 1., 40.]]), array([2., 2.]), 1)
    """
    by = columns.by
    refuse_contradictions(sample, columns.weights)
    response, right = sides(formula or "")
    right, named = intercepts_apart(right)
    if named is not None and intercepts not in {None, named}:
        raise TypeError(
            "random intercepts must be given once: in the formula or by intercepts=, but got "
            f"{formula!r} and {intercepts!r}"
        )
    intercepts = named or intercepts
    terms = _terms_given(formula, right, on, X)
    part = sample.sampled if isinstance(sample.sampled, str) else None
    refuse_parts([] if part is not None or sample.sampled is None else [sample.sampled])
    roles = ("clusters", sample.clusters), ("strata", sample.strata), (INTERCEPTS, intercepts), (SAMPLED, part)
    grouped_by = {role: name for role, name in roles if name is not None}
    if isinstance(data, Tally | Pool):
        of_rows = {"X": X, "missing": reading.missing or None, "sheet": reading.sheet, "encoding": reading.encoding}
        for argument, value in {**vars(columns), **of_rows}.items():
            if value is not None:
                raise TypeError(
                    f"{argument} must be left out for a tally, which has counts alone; give the data themselves"
                )
        if design is not None and tuple(part.design for part in data.parts) != (design,):
            raise ValueError("design must be that of the tally, or be left out")
        assert terms is not None
        scored = None if values is None else values_of(data.domain, values)
        loaded, reports = rows_of_tally(data, (*terms.variables(data.by), *grouped_by.values()), scored)
        return _assembled(loaded, reports, "", terms, grouped_by, sample)
    if not response:
        raise ValueError(f'formula must name the column of reports, as in "answer ~ age", but got {formula!r}')
    designs, labels = named_designs(design, by)
    for one in designs:
        refuse_codes_of_reports(reading, one.report_form)
    written_names = (response, by, intercepts, sample.clusters, sample.strata)
    with opened(data, reading, names=written_names) as given:
        source, terms = (given, terms) if terms is not None else _with_matrix(given, X, names)
        variables = terms.variables(column_names(source))
        if response in {*variables, intercepts}:
            raise ValueError(f"the reports must not be a covariate as well, but {response!r} is on both sides")
        others = (*variables, *(() if by is None else (by,)), *grouped_by.values())
        forms = {response: [one.report_form for one in designs]}
        loaded = load(source, Selection(forms, others, columns.weights, columns.counts, columns.rows), positive=True)
    scored = None if values is None else values_of(designs[0].domain, values)
    people = _people(loaded)
    reports = report_likelihoods(loaded, response, designs, labels, by, people=people, drop=reading.drop, values=scored)
    return _assembled(loaded, reports, response, terms, grouped_by, sample)


def _people(loaded: Loaded) -> Integers:
    """Return the number of respondents in each row, without those whose weight is zero."""
    return loaded.numbers if loaded.positive is None else loaded.positive


def _terms_given(formula: str | None, right: str, on: Iterable[str] | None, X: Any) -> Formula | None:
    """Terms of the formula or of `on`; None for the columns of `X`."""
    ways = [bool(right), on is not None, X is not None]
    if sum(ways) != 1:
        raise TypeError(
            'terms must be given once: by the right side of a formula, such as "answer ~ age" or "answer ~ 1", by '
            f"on=[...] or by X=, but got formula {formula!r}, on={on!r} and {'an' if X is not None else 'no'} X"
        )
    if isinstance(on, str):
        raise TypeError(f"on must be a list of columns, but got the text {on!r}; write [{on!r}]")
    if on is not None:
        return Formula.of_columns(on)
    return Formula(right) if right else None


def _with_matrix(
    source: Table | Mapping[str, Any], X: Any, names: Sequence[str] | None
) -> tuple[Mapping[str, Any], Formula]:
    """Add the columns of an array to data that are in memory."""
    if not isinstance(source, Mapping):
        columns = source.in_memory()
        if columns is None:
            raise TypeError(
                "X must be given with data in memory, whose rows are in its order; name columns with on=[...]"
            )
        source = columns
    if np.ndim(X) != 2:
        raise ValueError(
            f"X must have a row for each respondent and a column for each covariate, but has shape {np.shape(X)}"
        )
    if names is None:
        names = getattr(X, "columns", None)
        names = (
            [f"x{index + 1}" for index in range(np.shape(X)[-1])] if names is None else [str(name) for name in names]
        )
    matrix = by_name(X, tuple(names))
    clash = [name for name in matrix if name in source]
    if clash:
        raise ValueError(f"names must differ from the columns of the data, but {clash[0]!r} is one")
    return {**source, **matrix}, Formula.of_columns(names)


def _assembled(
    loaded: Loaded,
    reports: ReportLikelihoods,
    response: str,
    formula: Formula,
    grouped_by: Mapping[str, str],
    sample: Sample,
) -> ModelData:
    """Leave out rows with missing values, and combine the others into terms and observations."""
    known = {name: loaded.column(name) for name in formula.variables(loaded.columns)}
    sampling = {role: loaded.column(name, as_written=True) for role, name in grouped_by.items()}
    people, outside = _people(loaded), reports.status == OUTSIDE
    keep: Mask = (reports.status == INSIDE) & (people > 0)
    for needed in (*known.values(), *(one for role, one in sampling.items() if role != SAMPLED)):
        keep &= ~needed.missing
    if SAMPLED in sampling and sampling[SAMPLED].missing[keep].any():
        refuse_parts([None])
    left_out = (
        loaded.left_out[0] + int(people[~keep & ~outside].sum()),
        loaded.left_out[1] + int(people[outside].sum()),
        int((loaded.numbers - people).sum()),
    )
    lacking = {response or "report": reports.status == MISSING} | {name: one.missing for name, one in known.items()}
    lacking |= {grouped_by[role]: one.missing for role, one in sampling.items() if role != SAMPLED}
    without = {name: int(people[which & ~outside].sum()) for name, which in lacking.items()}
    without[response or "report"] += loaded.left_out[0]
    without = {name: number for name, number in without.items() if number}
    if not keep.any():
        reasons = zip(left_out, ("lack a value", "have an unknown report", "weigh nothing"), strict=True)
        why = ", ".join(f"{number:,} {reason}" for number, reason in reasons if number) or "the data are empty"
        raise ValueError(
            f"there must be respondents without missing values in the columns of the model, but there is none: {why}"
        )
    used = {name: values.values[keep] for name, values in known.items()}
    for name, values in used.items():
        refuse_infinite(name, values)
    pattern, first = _equal_rows(np.zeros(int(keep.sum()), dtype=np.int64), used.values())
    covariates = {name: values[first] for name, values in used.items()}
    k = reports.designs[0].k if reports.scores is None else None
    _refuse_levels(formula.factors(covariates), covariates, k)
    number = np.bincount(pattern, people[keep]).astype(np.int64)
    terms = formula.terms(covariates, number, {name: column.order for name, column in known.items()})
    _refuse_size(k, len(terms.names))
    codes = {role: numbered(column.values[keep]) for role, column in sampling.items()}
    alike = (reports.design[keep], reports.report[keep], *(code for code, _ in codes.values()))
    index, first = _equal_rows(pattern, alike)
    x = terms.evaluate(covariates)[pattern[first]]
    observations = _observations(loaded, reports, keep, index, first, x, codes, sample)
    groups = None
    if INTERCEPTS in codes:
        code, distinct = codes[INTERCEPTS]
        groups = Groups(grouped_by[INTERCEPTS], tuple(distinct.tolist()), code[first])
        _refuse_groups(groups, terms, observations.people)
    about = pattern[first], *left_out, loaded.library, groups, loaded.skipped_files, without
    return ModelData(observations, terms, response, reports.labels, covariates, *about)


# Rows


def _equal_rows(index: Integers, columns: Iterable[Values]) -> tuple[Integers, Integers]:
    """Group rows that agree in `index` and in all columns: index of each row's group, and first row of each group.

    Groups are sorted by `index`, then by columns, up to the column that separates all rows.
    """
    _, first = np.unique(index, return_index=True)
    for values in columns:
        if len(first) == len(index):
            break
        codes, distinct = numbered(values)
        pairs = codes if len(first) == 1 else index * len(distinct) + codes
        _, first, index = np.unique(pairs, return_index=True, return_inverse=True)
    return index, first


def _observations(
    loaded: Loaded,
    reports: ReportLikelihoods,
    keep: Mask,
    index: Integers,
    first: Integers,
    x: Array,
    codes: Mapping[str, tuple[Integers, Values]],
    sample: Sample,
) -> Observations:
    """Combine rows that are used and have the same index, of which `first` is the first."""
    people = _people(loaded)
    weight = people if loaded.weight is None else loaded.weight
    square = people if loaded.square is None else loaded.square

    def added(values: Counts) -> Array:
        return np.bincount(index, values[keep], minlength=len(first)).astype(np.float64)

    numbers = {role: code[first] for role, (code, _) in codes.items()}
    sampling = Sampling(loaded.weight is not None, numbers.get("clusters"), numbers.get("strata"))
    sampling = replace(sampling, sampled=_sampled(sampling, codes, sample.sampled, first), whole=sample.whole)
    sampling.refuse_unidentified(added(people), codes["clusters"][1].tolist() if "clusters" in codes else ())
    some = np.flatnonzero(keep)[first]
    return Observations(
        x=x,
        likelihood=reports.likelihood(some),
        weight=added(weight),
        square=added(square),
        people=added(people),
        designs=reports.designs,
        design=reports.design[some],
        report=reports.columns(some),
        tables=reports.tables,
        sampling=sampling,
        scores=reports.scored(some),
    )


def _sampled(
    sampling: Sampling, codes: Mapping[str, tuple[Integers, Values]], sampled: NumberOrColumn, first: Integers
) -> Array | None:
    """Return the sampling fraction of each stratum, from one number or from a column; None if not known."""
    if SAMPLED not in codes:
        return None if sampled is None else np.full(sampling.strata, float(sampled))
    code, distinct = codes[SAMPLED]
    parts = distinct.tolist()
    names = codes["strata"][1].tolist() if sampling.stratum is not None else [None]
    stratum = np.zeros(len(first), dtype=np.int64) if sampling.stratum is None else sampling.stratum
    pairs = np.unique(np.column_stack([stratum, code[first]]), axis=0).tolist()
    found = parts_by_stratum((names[of], parts[part]) for of, part in pairs)
    return np.array([found[name] for name in names])


# Errors


def _refuse_groups(groups: Groups, terms: Terms, people: Array) -> None:
    """Raise an error for groups that do not show how much groups differ."""
    column = groups.column
    if column in terms.levels:
        raise ValueError(
            f"{column!r} must be a term or the groups of random intercepts, not both: its levels leave nothing for "
            "effects; leave one of them out"
        )
    if groups.number < FEWEST_GROUPS:
        raise ValueError(
            f"random intercepts need at least {FEWEST_GROUPS} groups, but column {column!r} has {groups.number}: so "
            f"few do not show how much groups differ; make {column!r} a term of the formula, or name it as clusters"
        )
    if np.bincount(groups.of_row, people).max() < 2:
        raise ValueError(
            f"random intercepts need groups with more than one report, but each of the {groups.number:,} groups of "
            f"{column!r} has one: an effect of the group cannot be separated from the respondent's own answer; leave "
            "it out"
        )


def _refuse_levels(factors: Sequence[str], covariates: Covariates, k: int | None) -> None:
    """Raise an error for a factor with too many levels for k answers, or None for a mean, before it is expanded."""
    predictors, of_answers = (1, "") if k is None else (k - 1, f", for {k:,} answers")
    for name in factors:
        levels = len(numbered(covariates[name])[1])
        if (levels - 1) * predictors > MOST_COEFFICIENTS:
            raise ValueError(
                f"the model must have at most {MOST_COEFFICIENTS} coefficients, but column {name!r} alone has "
                f"{levels:,} levels{of_answers}: {(levels - 1) * predictors:,} coefficients; is it a number, or an "
                "identifier?"
            )


def _refuse_size(k: int | None, columns: int) -> None:
    size = columns if k is None else (k - 1) * columns
    if size <= MOST_COEFFICIENTS:
        return
    has = f"the model must have at most {MOST_COEFFICIENTS} coefficients, but has {size:,}"
    if k is None:
        raise ValueError(f"{has}; leave out terms")
    raise ValueError(
        f"{has}, for {k:,} answers and {columns:,} columns; leave out terms, put answers together by `coarsened` "
        'designs, or, where answers are numbers, model their mean: model="linear", values="numbers"'
    )
