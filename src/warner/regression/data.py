r"""Data of a model: observations, their likelihood and the terms, from whatever data come in.

With :math:`L_{nk} = P(\text{report of } n \mid \text{answer } k)`, which comes from the design alone, and
:math:`\theta_{nk}` the modelled share of answer k among people like n, the report of n has probability
:math:`\mu_n = \sum_k L_{nk}\theta_{nk}`. Any design, a different one for each person, and direct questions are only
different rows of L. People who are alike in covariates, design and report are one row, with their number
(`Observations`). Rows in which anything is missing that is used are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from warner.designs.labels import OUTSIDE
from warner.regression.collapsing import Roles, collapsed, column_names, open_source
from warner.regression.covariates import numbered, refuse_infinite
from warner.regression.formulas import factors_of, formula_terms, sides, variables_of
from warner.regression.reports import People, named_designs, readings, refuse_different_answers
from warner.regression.tallied import people_of_tally
from warner.regression.terms import by_name, listed_terms
from warner.reports.pools import Pool
from warner.reports.sampling import SIMPLE_RANDOM, Sampling
from warner.reports.tallies import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warner.arrays import Array, Integers, Mask
    from warner.designs.contract import Design
    from warner.regression.covariates import Column, Columns, Values
    from warner.regression.terms import Terms
    from warner.reports.queries import Table

LARGEST = 500  # coefficients, up to which their information is a matrix of bearable size


@dataclass(frozen=True, eq=False)
class Observations:
    """Distinct rows: what is known of people, what they reported under which design, and how many they are.

    Attributes
    ----------
    x : array of shape (n, columns)
        The columns of the model, the intercept among them.
    likelihood : array of shape (n, k)
        How likely the report is after each answer, up to one positive factor a row.
    weight, square : arrays of shape (n,)
        The sum of the weights of the people in each row, and of their squares; both the number of people where nobody
        is weighted.
    people : array of shape (n,)
        How many people each row stands for.
    designs : tuple of Design
        What reports went through; all have the same answers, in the same order.
    design, report : arrays of shape (n,)
        Which of the designs each row's report went through, and the number of the report: its column in the table of
        that design, -1 where there are too many possible reports for a table.
    tables : tuple of arrays of shape (k, reports), or None
        The probability of each report after each answer, for each design that has such a table.
    sampling : Sampling
        How people were sampled: with weights, in clusters or strata.
    """

    x: Array
    likelihood: Array
    weight: Array
    square: Array
    people: Array
    designs: tuple[Design, ...]
    design: Integers
    report: Integers
    tables: tuple[Array | None, ...]
    sampling: Sampling = SIMPLE_RANDOM

    @property
    def k(self) -> int:
        """The number of possible answers."""
        return int(self.likelihood.shape[1])

    @property
    def n(self) -> int:
        """The number of people."""
        return int(self.people.sum())

    def patterns(self) -> tuple[Array, Array]:
        """Give the distinct rows of the likelihood, (m, k), and the sum of weights of each.

        All that is left of the rows if nothing but the answers is modelled.
        """
        if (self.report >= 0).all():  # all that the likelihood depends on is the design and the report
            code = self.design * (int(self.report.max()) + 1) + self.report
            weights = np.bincount(code, self.weight)
            first = np.empty(len(weights), dtype=np.int64)
            first[code] = np.arange(len(code))
            seen = np.bincount(code) > 0
            return self.likelihood[first[seen]], weights[seen].astype(np.float64)
        distinct, place = np.unique(self.likelihood, axis=0, return_inverse=True)
        return distinct, np.bincount(place.ravel(), self.weight, minlength=len(distinct)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ModelData:
    """Data as a model takes them.

    Attributes
    ----------
    observations : Observations
        The distinct rows, sorted by covariates, design and report.
    terms : Terms
        The columns of the model, and how they follow from new data.
    response : str
        The name of the column of reports; empty for a tally, which has none.
    labels : tuple of str
        The names of the designs, as the column `by` has them; one empty name for a single design.
    covariates : mapping of str to array
        The distinct combinations of the variables that the model uses, a row for each: ``terms.matrix`` takes them.
    pattern : array of shape (n,)
        For each row of `rows`, the number of its row in `covariates`.
    missing, unknown, weightless : int
        The number of people who were left out: because a value was missing, because the report was none that the design
        can give, or because their weight is zero.
    backend : str or None
        The data-frame library that the data came in, for results to go back to.
    """

    observations: Observations
    terms: Terms
    response: str
    labels: tuple[str, ...]
    covariates: Columns
    pattern: Integers
    missing: int
    unknown: int
    weightless: int
    backend: str | None = None

    @property
    def formula(self) -> str:
        """The model as a formula."""
        return f"{self.response} ~ {self.terms.formula}".strip()


def model_data(
    formula: str | None,
    data: Any,
    design: Design | Mapping[Any, Design] | None = None,
    *,
    by: str | None = None,
    on: Iterable[str] | None = None,
    X: Any = None,
    names: Sequence[str] | None = None,
    weights: str | None = None,
    counts: str | None = None,
    clusters: str | None = None,
    strata: str | None = None,
    intercept: bool = True,
    unknown: str = "error",
    sheet: str | None = None,
) -> ModelData:
    """Give data as a model of the answers takes them.

    Parameters
    ----------
    formula : str
        ``"answer ~ age + C(region)"``: the column of reports, and the terms. With `on` or `X`, the column of reports
        alone. A tally has no such column: ``"~ age + C(region)"``.
    data : data frame, table, mapping of columns, path, Tally or Pool
        What `warner.tally` takes; a mapping of names to columns; or reports that were counted by the covariates.
    design : Design, or mapping of names to Design
        What every report went through. If that differs among people, the designs by the names that the column `by` has;
        direct questions are a design that always tells the truth. A tally has its own.
    by : str, optional
        The column that names the design of each row.
    on : list of str, optional
        The covariates, in the place of a formula's right side: numbers as they are, all else by its levels.
    X : array of shape (people, columns), optional
        Numbers in the place of covariates, with their `names`; an intercept is added.
    weights : str, optional
        A column of sampling weights; people with a weight of zero are left out.
    counts : str, optional
        A column that says for how many people each row stands.
    clusters, strata : str, optional
        Columns that name what people were sampled in.
    intercept : bool
        Whether the matrix has a column of ones. Without it factors leave out their first level all the same: something
        else, such as the cutpoints of an ordered model, is in its place.
    unknown : {"error", "drop"}
        What to do with values that no report can have: refuse them, or leave them out and count them.
    sheet : str, optional
        The sheet of an Excel file; may be left out where there is only one.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> people = {"answer": ["yes", "no", "no", "yes", None], "age": [30, 40, 40, 30, 30]}
    >>> found = model_data("answer", people, survey, on=["age"])
    >>> found.observations.x, found.observations.people, found.missing
    (array([[ 1., 30.],
           [ 1., 40.]]), array([2., 2.]), 1)
    """
    if unknown not in {"error", "drop"}:
        raise ValueError(f'unknown must be "error" or "drop", but got {unknown!r}')
    if weights is not None and counts is not None:
        raise TypeError("give weights (how much a person stands for) or counts (how many people a row is), not both")
    response, right = sides(formula or "")
    on = _one_way(formula, right, on, X)
    within = {role: name for role, name in (("clusters", clusters), ("strata", strata)) if name is not None}
    if isinstance(data, Tally | Pool):
        refused = {"by": by, "X": X, "weights": weights, "counts": counts}
        origin = _from_tally(data, design, right, on, within, refused)
    else:
        if not response:
            raise ValueError(f'formula must name the column of reports, as in "answer ~ age", but got {formula!r}')
        roles = Roles(response, by, weights, counts, clusters, strata)
        source = open_source(data, sheet)
        if X is not None:
            source, on = _with_matrix(source, X, names)
        origin = _from_data(source, design, right, on, roles, within, drop=unknown == "drop")
    return _finished(origin, right, on, intercept=intercept)


class _Origin(NamedTuple):
    """People as they came from data or from a tally, and how many were left out before."""

    people: People
    designs: tuple[Design, ...]
    labels: tuple[str, ...]
    response: str
    missing: int
    unknown: int
    weightless: int
    weighted: bool
    backend: str | None


def _finished(origin: _Origin, right: str, on: Sequence[str] | None, *, intercept: bool) -> ModelData:
    """Leave out whom too little is known of, and make the terms and the rows of all others."""
    people, designs = origin.people, origin.designs
    number, outside, keep = people.amounts.people, people.readings.status == OUTSIDE, people.complete()
    missing = origin.missing + int(number[~keep & ~outside].sum())
    unknown = origin.unknown + int(number[outside].sum())
    left_out = missing, unknown, origin.weightless
    _refuse_nobody(keep, *left_out)
    pattern, covariates = _patterns(people.covariates, keep)
    orders = {name: values.order for name, values in people.covariates.items()}
    _refuse_levels(right, on, covariates, designs[0].k)
    if on is None:
        heads = np.bincount(pattern, number[keep]).astype(np.int64)
        terms = formula_terms(right, covariates, intercept=intercept, people=heads, orders=orders)
    else:
        terms = listed_terms(on, covariates, intercept=intercept, orders=orders)
    _refuse_size(designs[0].k, len(terms.names), intercept=intercept)
    place, first = _distinct(people, keep, pattern)
    x = terms.evaluate(covariates)[pattern[first]]
    rows = _rows(people, keep, place, first, designs, x, weighted=origin.weighted)
    names = origin.response, origin.labels
    return ModelData(rows, terms, *names, covariates, pattern[first], *left_out, origin.backend)


# Data


def _from_data(
    source: Table | Mapping[str, Any],
    design: Any,
    right: str,
    on: Sequence[str] | None,
    roles: Roles,
    within: Mapping[str, str],
    *,
    drop: bool,
) -> _Origin:
    designs, labels = named_designs(design, roles.by)
    variables = variables_of(right, column_names(source)) if on is None else on
    if roles.response in variables:
        raise ValueError(f"the reports must not be a covariate as well, but {roles.response!r} is on both sides")
    alike = collapsed(source, roles, variables, designs)
    which = None if roles.by is None else alike.others[roles.by]
    number = alike.amounts.people
    read = readings(alike.response, designs, labels, which, text=alike.text, people=number, drop=drop)
    others = {role: alike.others[name] for role, name in within.items()}
    people = People(read, alike.covariates, others, alike.amounts)
    weighted = roles.weights is not None
    return _Origin(people, designs, labels, roles.response, 0, 0, alike.weightless, weighted, library(source))


def library(source: Table | Mapping[str, Any]) -> str | None:
    """Name the data-frame library that data came in, where results can go back to it."""
    if isinstance(source, Mapping) or source.path:
        return None
    name = {"dask": "pandas"}.get(str(source.frame.implementation), str(source.frame.implementation))
    return name if name in {"pandas", "polars", "pyarrow"} else None


def _one_way(formula: str | None, right: str, on: Iterable[str] | None, X: Any) -> tuple[str, ...] | None:
    """Take the terms from the formula, from `on` or from `X`: from one of these."""
    ways = [bool(right), on is not None, X is not None]
    if sum(ways) != 1:
        raise TypeError(
            'terms must be given once: by the right side of a formula, such as "answer ~ age" or "answer ~ 1", by '
            f"on=[...] or by X=, but got formula {formula!r}, on={on!r} and {'an' if X is not None else 'no'} X"
        )
    if isinstance(on, str):
        raise TypeError(f"on must be a list of columns, but got the text {on!r}; write [{on!r}]")
    return None if on is None else tuple(dict.fromkeys(on))


def _with_matrix(
    source: Table | Mapping[str, Any],
    X: Any,
    names: Sequence[str] | None,
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Put the columns of an array beside data that are in memory."""
    if not isinstance(source, Mapping):
        if source.path or not isinstance(source.frame, nw.DataFrame):
            raise TypeError(
                "X must be given with data in memory, whose rows are in its order; name columns with on=[...]"
            )
        source = {name: source.frame[name] for name in source.frame.columns}
    if np.ndim(X) != 2:
        raise ValueError(
            f"X must have a row for each person and a column for each covariate, but has shape {np.shape(X)}"
        )
    if names is None:
        names = getattr(X, "columns", None)
        names = (
            [f"x{place + 1}" for place in range(np.shape(X)[-1])] if names is None else [str(name) for name in names]
        )
    columns = by_name(X, tuple(names))
    clash = [name for name in columns if name in source]
    if clash:
        raise ValueError(f"names must differ from the columns of the data, but {clash[0]!r} is one")
    return {**source, **columns}, tuple(names)


# Tallies


def _from_tally(
    tally: Tally | Pool,
    design: Any,
    right: str,
    on: Sequence[str] | None,
    within: Mapping[str, str],
    refused: Mapping[str, Any],
) -> _Origin:
    for name, value in refused.items():
        if value is not None:
            raise TypeError(f"{name} must be left out for a tally, which has counts alone; give the data themselves")
    if tally.weighted:
        raise TypeError(
            "data must not be a tally of weights: it keeps the sum of their squares for each group, but not for each "
            "report; give the data themselves, with weights="
        )
    designs = tuple(part.design for part in tally.parts)
    if design is not None and designs != (design,):
        raise ValueError("design must be that of the tally, or be left out")
    labels = ("",) if len(designs) == 1 else tuple(str(place + 1) for place in range(len(designs)))
    refuse_different_answers(designs, labels)
    variables = variables_of(right, tally.by) if on is None else on
    people = people_of_tally(tally, variables, within)
    missing, unknown = int(np.sum(tally.missing)), int(np.sum(tally.unknown))
    return _Origin(people, designs, labels, "", missing, unknown, 0, weighted=False, backend=tally.backend)


# Rows


def _patterns(columns: Mapping[str, Column], keep: Mask) -> tuple[Integers, Columns]:
    """Give the distinct combinations of covariates among the rows that are kept, and the number of each row's."""
    kept = {name: values.values[keep] for name, values in columns.items()}
    for name, values in kept.items():
        refuse_infinite(name, values)
    place, first = _alike(np.zeros(int(keep.sum()), dtype=np.int64), kept.values())
    return place, {name: values[first] for name, values in kept.items()}


def _alike(place: Integers, columns: Iterable[Values]) -> tuple[Integers, Integers]:
    """Give a number to rows that are alike in their place and in all columns, and where each number is found first.

    Numbers are in the order of places, then of columns, up to the column that tells all rows apart.
    """
    _, first = np.unique(place, return_index=True)
    for values in columns:
        if len(first) == len(place):
            break
        codes, distinct = numbered(values)
        pairs = codes if len(first) == 1 else place * len(distinct) + codes
        _, first, place = np.unique(pairs, return_index=True, return_inverse=True)
    return place, first


def _distinct(people: People, keep: Mask, pattern: Integers) -> tuple[Integers, Integers]:
    """Give a number to rows that are kept and alike in everything, and where each is found first."""
    read = people.readings
    others = (values.values[keep] for values in people.others.values())
    return _alike(pattern, (read.design[keep], read.report[keep], *others))


def _rows(
    people: People,
    keep: Mask,
    place: Integers,
    first: Integers,
    designs: tuple[Design, ...],
    x: Array,
    *,
    weighted: bool,
) -> Observations:
    amounts = people.amounts.where(keep).added(place, len(first))
    some = np.flatnonzero(keep)[first]
    read = people.readings
    design = read.design[some]
    tabled = np.array([table is not None for table in read.tables])
    codes = {role: numbered(values.values[keep]) for role, values in people.others.items()}
    numbers = {role: code[first] for role, (code, _) in codes.items()}
    sampling = Sampling(weighted, numbers.get("clusters"), numbers.get("strata"))
    sampling.refuse_unidentified(amounts.people, codes["clusters"][1].tolist() if "clusters" in codes else ())
    return Observations(
        x=x,
        likelihood=read.likelihood(some),
        weight=amounts.weight,
        square=amounts.square,
        people=amounts.people.astype(np.float64),
        designs=designs,
        design=design,
        report=np.where(tabled[design], read.report[some], -1),
        tables=read.tables,
        sampling=sampling,
    )


# Errors


def _refuse_nobody(keep: Mask, missing: int, unknown: int, weightless: int) -> None:
    if not keep.any():
        reasons = (missing, "lack a value"), (unknown, "have an unknown report"), (weightless, "weigh nothing")
        why = ", ".join(f"{number:,} {reason}" for number, reason in reasons if number) or "the data are empty"
        raise ValueError(
            f"there must be people of whom everything is known that the model uses, but there is nobody: {why}"
        )


def _refuse_levels(right: str, on: Sequence[str] | None, covariates: Columns, k: int) -> None:
    """Refuse a factor with too many levels before a matrix with a column for each of them is made."""
    factors = (
        factors_of(right, covariates) if on is None else [name for name in on if covariates[name].dtype.kind == "O"]
    )
    for name in factors:
        levels = len(numbered(covariates[name])[1])
        if (levels - 1) * (k - 1) > LARGEST:
            raise ValueError(
                f"the model must have at most {LARGEST} coefficients, but column {name!r} alone has {levels:,} levels, "
                f"for {k:,} answers: {(levels - 1) * (k - 1):,} coefficients; is it a number, or an identifier?"
            )


def _refuse_size(k: int, columns: int, *, intercept: bool) -> None:
    size = (k - 1) * columns if intercept else k - 1 + columns
    if size > LARGEST:
        raise ValueError(
            f"the model must have at most {LARGEST} coefficients, but has {size:,}, for {k:,} answers and {columns:,} "
            "columns; leave out terms, or put answers together, by `coarsened` designs"
        )
