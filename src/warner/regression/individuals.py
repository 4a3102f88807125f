"""People one by one: an outcome, what else is known of them, and reports of one or more randomized questions.

Rows with a missing value in any column that is used are left out, and counted. What no report can be is an error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from warner.designs.labels import MISSING, OUTSIDE
from warner.regression.covariates import column, numbered, refuse_infinite
from warner.regression.debiased import debiased
from warner.regression.rows import Rows
from warner.regression.starts import overall_shares
from warner.reports.engines import Source, opened, readable, refuse_absent
from warner.reports.subtotals import VALUES_LISTED, strange_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Integers, Label, Mask
    from warner.designs import Design
    from warner.regression.covariates import Columns, Values


@dataclass(frozen=True, eq=False)
class Question:
    """A randomized question: the column of its reports, and the design of each, by the values of another column."""

    name: str
    designs: Mapping[Label, Design]
    by: str | None = None

    @property
    def domain(self) -> Sequence[Label]:
        """The possible answers."""
        return next(iter(self.designs.values())).domain

    @property
    def k(self) -> int:
        """The number of possible answers."""
        return len(self.domain)


class Answers(NamedTuple):
    """What reports tell of people's answers: likelihoods and debiased indicators, both (n, k), and overall shares."""

    likelihood: Array
    indicators: Array | None
    shares: Array


@dataclass(frozen=True, eq=False)
class Individuals:
    """People with nothing missing: columns by name, the declared orders of levels, and what was told of answers.

    Answers of several questions are all their combinations, those of the last question changing fastest. There is a row
    for each person, with a constant as its only column.
    """

    columns: Columns
    orders: Mapping[str, tuple[str, ...] | None]
    answers: Answers
    rows: Rows
    dropped: int

    @property
    def n(self) -> int:
        """The number of people."""
        return len(self.rows.weight)


def opened_data(data: Any) -> Source | Mapping[str, Any]:
    """Open data: a frame of any library, a file, or a mapping of columns."""
    if isinstance(data, Mapping):
        return data
    if isinstance(data, str | os.PathLike):
        return opened(data)
    try:
        return Source(nw.from_native(data), text=False)
    except TypeError:
        raise TypeError(
            "data must be a data frame, a mapping of columns or the path of a file, but got "
            f"{type(data).__module__}.{type(data).__name__}"
        ) from None


def names_of(source: Source | Mapping[str, Any]) -> list[str]:
    """Name the columns of data."""
    return list(source) if isinstance(source, Mapping) else list(source.frame.collect_schema())


def individuals(
    source: Source | Mapping[str, Any],
    variables: Sequence[str],
    questions: Sequence[Question],
    *,
    weights: str | None = None,
    clusters: str | None = None,
    strata: str | None = None,
) -> Individuals:
    """Read people: these variables, and the reports of these questions."""
    named = [name for question in questions for name in (question.name, question.by) if name is not None]
    others = [name for name in (weights, clusters, strata) if name is not None]
    for name in (*variables, *named, *others):
        refuse_absent(name, names_of(source))
    given, text = _fetched(source, list(dict.fromkeys([*variables, *named, *others])))
    covariates = [name for name in dict.fromkeys([*variables, *others]) if name not in {q.name for q in questions}]
    read = {name: column(name, given[name], text=text) for name in covariates}
    told = [_read_reports(question, given, text=text) for question in questions]
    if weights is not None:
        _refuse_weights(weights, *read[weights][:2])
    kept = ~reduce(np.logical_or, [*(part.missing for part in read.values()), *(part.missing for part in told)])
    dropped = int((~kept).sum())
    weight = np.ones(len(kept)) if weights is None else read[weights].values.astype(np.float64)
    kept &= weight > 0
    if not kept.any():
        raise ValueError("data must hold at least one person with nothing missing, but there is none")
    columns = {name: read[name].values[kept] for name in covariates}
    for name, values in columns.items():
        refuse_infinite(name, values)
    answers = [_answers(question, part, kept, weight) for question, part in zip(questions, told, strict=True)]
    cluster = None if clusters is None else numbered(columns[clusters])[0]
    stratum = None if strata is None else numbered(columns[strata])[0]
    _refuse_few_clusters(cluster, stratum)
    orders = {name: read[name].order for name in covariates}
    together = reduce(_together, answers)
    rows = _rows(together.likelihood, weight[kept])
    rows = replace(rows, cluster=cluster, stratum=stratum, weighted=weights is not None)
    return Individuals(columns, orders, together, rows, dropped)


def _fetched(source: Source | Mapping[str, Any], names: list[str]) -> tuple[Mapping[str, Any], bool]:
    """Give the columns that are needed, and whether they are texts of a file."""
    if isinstance(source, Mapping):
        lengths = {len(source[name]) for name in names}
        if len(lengths) > 1:
            raise ValueError(f"columns must be as long as each other, but have lengths {sorted(lengths)}")
        return source, False
    with readable(source.path):
        frame = source.frame.select(names)
        whole = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return {name: whole[name] for name in names}, source.text


class _Told(NamedTuple):
    """Reports in codes, the number of each one's design, and which are missing."""

    reports: list[Any]
    design: Integers
    missing: Mask


def _read_reports(question: Question, given: Mapping[str, Any], *, text: bool) -> _Told:
    """Read the reports of a question, each in the form of its design."""
    values = _listed(given[question.name])
    designs = list(question.designs.values())
    place, missing = _designs_of(question, given, len(values), text=text)
    reports: list[Any] = []
    for number, design in enumerate(designs):
        of_design = np.flatnonzero(place == number)
        form = design.report_form
        some = [values[person] for person in of_design.tolist()]
        codes, status = form.read(some, text=text)
        strange = int((status == OUTSIDE).sum())
        if strange:
            shown = strange_values(some, status)
            more = ", ..." if len(shown) > VALUES_LISTED else ""
            raise ValueError(
                f"column {question.name!r} must hold reports, {form.rule}, but {strange:,} "
                f"{'is' if strange == 1 else 'are'} not: {', '.join(shown[:VALUES_LISTED])}{more}. {form.remedy}, or "
                "have them missing"
            )
        missing[of_design] |= status == MISSING
        reports.append(codes)
    return _Told(reports, place, missing)


def _designs_of(question: Question, given: Mapping[str, Any], size: int, *, text: bool) -> tuple[Integers, Mask]:
    """Give the number of each person's design, and whose is missing."""
    if question.by is None:
        return np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
    values, missing, _ = column(question.by, given[question.by], text=text)
    number = {version: place for place, version in enumerate(question.designs)}
    strange = [value for value in dict.fromkeys(values[~missing].tolist()) if value not in number]
    if strange:
        raise ValueError(
            f"column {question.by!r} must hold the names of the designs of {question.name!r} "
            f"({', '.join(map(repr, number))}), but holds {strange[0]!r}"
        )
    place = np.array([number.get(value, 0) for value in values.tolist()], dtype=np.int64)
    return place, missing.copy()


def _listed(values: Any) -> list[Any]:
    """Give the values of a column as Python objects."""
    if isinstance(values, list | tuple):
        return list(values)
    return list(values.to_list() if hasattr(values, "to_list") else values.tolist())


def _answers(question: Question, told: _Told, kept: Mask, weight: Array) -> Answers:
    """Give what the reports of one question tell of the people who are kept."""
    n, k = len(kept), question.k
    likelihood, number = np.ones((n, k)), np.full(n, -1, dtype=np.int64)
    tables: list[Array | None] = []
    for place, (design, codes) in enumerate(zip(question.designs.values(), told.reports, strict=True)):
        of_design = np.flatnonzero(told.design == place)
        there = kept[of_design]
        matrix = None if design.sufficient is None else design.operator().matrix
        tables.append(None if matrix is None else matrix())
        if (table := tables[-1]) is not None:
            number[of_design[there]] = codes[there]
            likelihood[of_design[there]] = table.T[codes[there]]
        elif there.any():
            of_reports = design.operator(codes[there]).matrix
            assert of_reports is not None
            likelihood[of_design[there]] = of_reports().T
    rows = _rows(likelihood[kept], weight[kept])
    designs = tuple(question.designs.values())
    rows = replace(rows, designs=designs, design=told.design[kept], report=number[kept], tables=tuple(tables))
    shares = overall_shares(rows)
    return Answers(rows.likelihood, debiased(rows, shares), shares)


def _rows(likelihood: Array, weight: Array) -> Rows:
    """Give a row for each person."""
    one, none = np.ones(len(weight)), np.full(len(weight), -1)
    return Rows(one[:, np.newaxis], likelihood, weight, weight**2, one, (), none, none, ())


def _together(first: Answers, second: Answers) -> Answers:
    """Join the answers to two questions whose devices were independent: products over all pairs of answers."""

    def product(one: Array, other: Array) -> Array:
        return np.asarray((one[..., :, np.newaxis] * other[..., np.newaxis, :]).reshape(*one.shape[:-1], -1))

    indicators = None
    if first.indicators is not None and second.indicators is not None:
        indicators = product(first.indicators, second.indicators)
    return Answers(product(first.likelihood, second.likelihood), indicators, product(first.shares, second.shares))


def _refuse_weights(name: str, values: Values, missing: Mask) -> None:
    if values.dtype.kind not in "iuf":
        raise TypeError(f"weights must be a column of numbers, but {name!r} holds none")
    bad = int((missing | ~(np.nan_to_num(values.astype(np.float64), nan=0.0) >= 0) | np.isinf(values)).sum())
    if bad:
        raise ValueError(f"weights must be finite numbers of at least 0, but {bad:,} are negative or missing")


def _refuse_few_clusters(cluster: Integers | None, stratum: Integers | None) -> None:
    """Refuse clusters whose spread cannot be seen: one in all, or one in a stratum."""
    if cluster is not None and cluster.max() == 0:
        raise ValueError("clusters must be at least two, but all people are in one")
    if stratum is None:
        return
    if cluster is None:
        sizes = np.bincount(stratum)
    else:
        pairs = np.unique(np.column_stack([cluster, stratum]), axis=0)
        if len(pairs) > cluster.max() + 1:
            raise ValueError("each cluster must lie in one stratum, but some have people in several")
        sizes = np.bincount(pairs[:, 1])
    if sizes.min() < 2:
        what = "person" if cluster is None else "cluster"
        raise ValueError(f"each stratum must have at least two {what}s, but one has a single {what}; merge strata")
