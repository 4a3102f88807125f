"""People one by one: an outcome, what else is known of them, and reports of one or more randomized questions.

Rows with a missing value in any column that is used are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from warner.regression.collapsing import column_names
from warner.regression.covariates import column, numbered, refuse_infinite
from warner.regression.data import Observations
from warner.regression.debiased import debiased
from warner.regression.reports import named_designs, readings
from warner.regression.starts import overall_shares
from warner.reports.counts import refuse_amounts
from warner.reports.files import engine_errors
from warner.reports.labelled import label_order, with_value_labels
from warner.reports.queries import INSIDE, refuse_absent
from warner.reports.sampling import Sampling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Label, Mask
    from warner.designs import Design
    from warner.regression.covariates import Columns, Values
    from warner.regression.reports import Readings
    from warner.reports.queries import Table


class Question(NamedTuple):
    """A randomized question: the column of its reports, and their designs, by the values of the column `by`."""

    name: str
    designs: tuple[Design, ...]
    labels: tuple[str, ...]
    by: str | None

    @property
    def domain(self) -> Sequence[Label]:
        """The possible answers."""
        return self.designs[0].domain

    @property
    def k(self) -> int:
        """The number of possible answers."""
        return len(self.domain)


def questions_of(designs: Any, by: str | None) -> list[Question]:
    """Check the designs of all randomized predictors."""
    if not isinstance(designs, Mapping) or not designs:
        raise TypeError(
            f'designs must name the column of each randomized predictor, as {{"trait": design}}, but got {designs!r}'
        )
    questions = []
    for name, design in designs.items():
        which = by if isinstance(design, Mapping) else None
        questions.append(Question(name, *named_designs(design, which), which))
    if by is not None and all(question.by is None for question in questions):
        raise TypeError(
            f"by names the design of each row, but there is one design for all; leave by={by!r} out, or give designs "
            'by name: {"trait": {"dice": ..., "direct": ...}}'
        )
    return questions


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
    rows: Observations
    dropped: int

    @property
    def n(self) -> int:
        """The number of people."""
        return len(self.rows.weight)


def individuals(
    source: Table | Mapping[str, Any],
    variables: Sequence[str],
    questions: Sequence[Question],
    *,
    weights: str | None = None,
    clusters: str | None = None,
    strata: str | None = None,
    drop: bool = False,
) -> Individuals:
    """Read people: these variables, and the reports of these questions; with `drop`, also without what is no report."""
    named = [name for question in questions for name in (question.name, question.by) if name is not None]
    others = [name for name in (weights, clusters, strata) if name is not None]
    for name in (*variables, *named, *others):
        refuse_absent(name, column_names(source))
    if not isinstance(source, Mapping):
        forms = {one.name: [design.report_form for design in one.designs] for one in questions}
        source = with_value_labels(source, forms, (*variables, *named, *others))
    given, text = _fetched(source, list(dict.fromkeys([*variables, *named, *others])))
    covariates = [name for name in dict.fromkeys([*variables, *others]) if name not in {q.name for q in questions}]
    # A column of a text file is one of numbers if all are; names of clusters and strata stay as they are written.
    as_written = {name for name in (clusters, strata) if name not in variables}
    read = {name: column(name, given[name], text=text and name not in as_written) for name in covariates}
    told = [_readings(question, given, text=text, drop=drop) for question in questions]
    if weights is not None:
        _refuse_weights(weights, *read[weights][:2])
    kept = reduce(
        np.logical_and, [*(~part.missing for part in read.values()), *(part.status == INSIDE for part in told)]
    )
    dropped = int((~kept).sum())
    weight = np.ones(len(kept)) if weights is None else read[weights].values.astype(np.float64)
    kept &= weight > 0
    if not kept.any():
        raise ValueError("data must hold at least one person with nothing missing, but there is none")
    columns = {name: read[name].values[kept] for name in covariates}
    for name, values in columns.items():
        refuse_infinite(name, values)
    answers = [_answers(question, part, kept, weight) for question, part in zip(questions, told, strict=True)]
    cluster, names = (None, None) if clusters is None else numbered(columns[clusters])
    sampling = Sampling(weights is not None, cluster, None if strata is None else numbered(columns[strata])[0])
    sampling.refuse_unidentified(np.ones(int(kept.sum())), () if names is None else names.tolist())
    orders = {
        name: read[name].order if isinstance(source, Mapping) else label_order(source, name) or read[name].order
        for name in covariates
    }
    together = reduce(_together, answers)
    rows = replace(_rows(together.likelihood, weight[kept]), sampling=sampling)
    return Individuals(columns, orders, together, rows, dropped)


def _fetched(source: Table | Mapping[str, Any], names: list[str]) -> tuple[Mapping[str, Any], bool]:
    """Give the columns that are needed, and whether they are texts of a file."""
    if isinstance(source, Mapping):
        lengths = {len(source[name]) for name in names}
        if len(lengths) > 1:
            raise ValueError(f"columns must be as long as each other, but have lengths {sorted(lengths)}")
        return source, False
    with engine_errors(source.path or "the data"):
        frame = source.frame.select(names)
        whole = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return {name: whole[name] for name in names}, source.text


def _readings(question: Question, given: Mapping[str, Any], *, text: bool, drop: bool) -> Readings:
    """Read the reports of a question, each in the form of its design."""
    values = given[question.name]
    if not isinstance(values, list):
        values = values.to_list() if hasattr(values, "to_list") else np.asarray(values).tolist()
    which = None if question.by is None else column(question.by, given[question.by])
    one = np.ones(len(values), dtype=np.int64)
    return readings(values, question.designs, question.labels, which, text=text, people=one, drop=drop)


def _answers(question: Question, told: Readings, kept: Mask, weight: Array) -> Answers:
    """Give what the reports of one question tell of the people who are kept."""
    rows = replace(
        _rows(told.likelihood(kept), weight[kept]),
        designs=question.designs,
        design=told.design[kept],
        report=told.report[kept],
        tables=told.tables,
    )
    shares = overall_shares(rows)
    return Answers(rows.likelihood, debiased(rows, shares), shares)


def _rows(likelihood: Array, weight: Array) -> Observations:
    """Give a row for each person."""
    one, none = np.ones(len(weight)), np.full(len(weight), -1)
    return Observations(one[:, np.newaxis], likelihood, weight, weight**2, one, (), none, none, ())


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
    refuse_amounts("weights", bad)
