"""Individual-level data: of each person an outcome, covariates, and reports of one or more randomized questions.

Rows with a missing value in any column that is used are left out, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.designs.contract import LARGEST_CHANNEL
from warner.inference.means import numbers_by_question, values_of
from warner.memory import refuse_beyond_memory
from warner.regression.covariates import numbered, refuse_infinite
from warner.regression.data import Observations
from warner.regression.debiased import debiased
from warner.regression.reports import named_designs, report_likelihoods
from warner.regression.starts import overall_shares
from warner.reports.loading import Wanted, load
from warner.reports.queries import INSIDE
from warner.reports.sampling import Sampling
from warner.words import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Label, Mask
    from warner.designs import Design
    from warner.regression.covariates import Columns
    from warner.regression.reports import ReportLikelihoods
    from warner.reports.queries import Table


ENTRY_BYTES = 120  # of a person with one of the answers: likelihood, indicator, and what the regression makes of them


class RandomizedQuestion(NamedTuple):
    """A randomized question: the column of its reports, and their designs, by the values of the column `by`.

    `values` are the numbers that its answers stand for, where these enter as a number.
    """

    name: str
    designs: tuple[Design, ...]
    labels: tuple[str, ...]
    by: str | None
    values: Array | None = None

    @property
    def domain(self) -> Sequence[Label]:
        """The possible answers."""
        return self.designs[0].domain

    @property
    def k(self) -> int:
        """The number of possible answers."""
        return len(self.domain)


def questions_of(designs: Any, by: str | None, values: Mapping[str, Any] | None = None) -> list[RandomizedQuestion]:
    """Check the designs of all randomized predictors, and the numbers that some of their answers stand for."""
    if not isinstance(designs, Mapping) or not designs:
        raise TypeError(
            f'designs must name the column of each randomized predictor, as {{"trait": design}}, but got {designs!r}'
        )
    questions = []
    for name, design in designs.items():
        which = by if isinstance(design, Mapping) else None
        questions.append(RandomizedQuestion(name, *named_designs(design, which), which))
    for name, numbers in numbers_by_question(values, [question.name for question in questions]).items():
        place = next(place for place, question in enumerate(questions) if question.name == name)
        questions[place] = questions[place]._replace(values=values_of(questions[place].designs[0].domain, numbers))
    for question in questions:
        if question.k > LARGEST_CHANNEL and any(design.symmetry is None for design in question.designs):
            raise ValueError(
                f"the randomized predictor {quoted(question.name)} must have at most {LARGEST_CHANNEL:,} answers, but "
                f"has {question.k:,}, and every person is entered once for each of them; ask on a coarser grid"
            )
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
    questions: Sequence[RandomizedQuestion],
    *,
    weights: str | None = None,
    clusters: str | None = None,
    strata: str | None = None,
    drop: bool = False,
) -> Individuals:
    """Read people: these variables, and the reports of these questions; with `drop`, also without what is no report."""
    forms = {question.name: [design.report_form for design in question.designs] for question in questions}
    sampled_in = [name for name in (clusters, strata) if name is not None]
    versions = [question.by for question in questions if question.by is not None]
    loaded = load(source, Wanted(forms, (*variables, *versions, *sampled_in), weights), every_row=True)
    # Names of clusters and strata stay as they are written.
    known = {
        name: loaded.column(name, as_written=name not in variables) for name in dict.fromkeys((*variables, *sampled_in))
    }
    answers = math.prod(question.k for question in questions)
    entries = len(next(iter(known.values())).missing) * answers
    refuse_beyond_memory(
        entries,
        ENTRY_BYTES,
        f"{entries:,} entries, one for each person and each of {counted(answers, 'answer', 'answers')},",
        "explain the outcome of a random part of the people, or ask on a coarser grid",
    )
    reported = [
        report_likelihoods(loaded, question.name, question.designs, question.labels, question.by, drop=drop)
        for question in questions
    ]
    # Who tells everything, and counts for anything
    there = [*(~part.missing for part in known.values()), *(part.status == INSIDE for part in reported)]
    complete: Mask = reduce(np.logical_and, there)
    weight = np.ones(len(complete)) if loaded.weight is None else loaded.weight
    kept = complete & (weight > 0)
    if not kept.any():
        raise ValueError("data must hold at least one person with nothing missing, but there is none")
    columns = {name: part.values[kept] for name, part in known.items()}
    for name, values in columns.items():
        refuse_infinite(name, values)
    together = reduce(_together, [_answers(part, kept, weight) for part in reported])
    sampling = _sampling(columns, clusters, strata, weighted=weights is not None)
    rows = replace(_rows(together.likelihood, weight[kept]), sampling=sampling)
    orders = {name: part.order for name, part in known.items()}
    return Individuals(columns, orders, together, rows, int((~complete).sum()))


def _sampling(columns: Mapping[str, Any], clusters: str | None, strata: str | None, *, weighted: bool) -> Sampling:
    """Give numbers to the clusters and strata that people were sampled in."""
    cluster, names = (None, None) if clusters is None else numbered(columns[clusters])
    sampling = Sampling(weighted, cluster, None if strata is None else numbered(columns[strata])[0])
    people = len(next(iter(columns.values())))
    sampling.refuse_unidentified(np.ones(people), () if names is None else names.tolist())
    return sampling


def _answers(reports: ReportLikelihoods, kept: Mask, weight: Array) -> Answers:
    """Give what the reports of one question tell of the people who are kept."""
    rows = replace(
        _rows(reports.likelihood(kept), weight[kept]),
        designs=reports.designs,
        design=reports.design[kept],
        report=reports.report[kept],
        tables=reports.tables,
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
