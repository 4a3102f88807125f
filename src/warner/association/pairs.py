"""Pairs of questions: joint shares, odds ratio and correlation of two of them; what it costs to ask more.

Each pair is looked at by itself: its own table of reports, its own most likely joint shares. For the sizes of an
association see `QuestionPair`; for what several questions cost, `costs_of`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.association.correlations import Correlation, Scores, correlation
from warner.association.independence import Independence, independence
from warner.estimation import estimated
from warner.estimators import MOST_LIKELY
from warner.inference.two_answers import answers_of_interest
from warner.regression.scores import column_scores
from warner.results import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warner.arrays import Array, Counts, Integers, Label
    from warner.association.crosstables import Crosstable
    from warner.designs.contract import Design
    from warner.designs.product import Product
    from warner.documents import Document


class Cost(NamedTuple):
    """What it costs to ask so many questions, for the people who hold the first answer to all of them.

    If answers were independent, with the estimated marginals: `share` is the share of these people, `times` how many
    times larger its standard error is than in a direct survey of as many people, `relative` the standard error over
    the share.
    """

    questions: int
    share: float
    times: float
    relative: float


@dataclass(frozen=True, eq=False)
class QuestionPair:
    """Two of the questions.

    Attributes
    ----------
    first, second : str
        The questions.
    domains : pair of tuples
        Their answers.
    reports : ndarray of shape (reports to the first, reports to the second)
        The table of reports.
    shares : ndarray of shape (answers to the first, answers to the second)
        The most likely joint shares, of these two questions alone.
    test : Independence
        Whether the two are independent.
    correlations : tuple of Correlation
        Of the answers to one with those to the other; of a binary question, of the first answer alone; of one whose
        answers stand for numbers, of the number. Without those whose share the reports do not tell.
    gap : float
        The certified bound on the log-likelihood that the shares lack.
    unique : bool
        Whether they are known to be the only most likely ones.
    """

    first: str
    second: str
    domains: tuple[tuple[Label, ...], tuple[Label, ...]]
    reports: Counts
    shares: Array
    test: Independence
    correlations: tuple[Correlation, ...]
    gap: float
    unique: bool

    @property
    def independent(self) -> Array:
        """The products of the marginal shares: what joint shares would be if the answers were independent."""
        return np.outer(self.shares.sum(axis=1), self.shares.sum(axis=0))

    @property
    def difference(self) -> Array:
        """The joint shares minus those products; rows and columns sum to zero."""
        return np.asarray(self.shares - self.independent)

    @property
    def cramers_v(self) -> float:
        """Cramér's V of the most likely joint shares: 0 if they are independent, 1 if one answer tells the other.

        NaN where everybody gives the same answer to a question.
        """
        used = self.shares[self.shares.sum(axis=1) > 0][:, self.shares.sum(axis=0) > 0]
        fewer = min(used.shape) - 1
        if not fewer:
            return math.nan
        expected = np.outer(used.sum(axis=1), used.sum(axis=0))
        return math.sqrt(float(((used - expected) ** 2 / expected).sum()) / fewer)

    @property
    def odds_ratio(self) -> float | None:
        """The odds ratio of the most likely joint shares; infinite or 0 on the boundary, None for other than 2 x 2."""
        if self.shares.shape != (2, 2):
            return None
        (a, b), (c, d) = self.shares.tolist()
        return math.nan if a * d == b * c == 0 else math.inf if b * c == 0 else a * d / (b * c)

    def to_dict(self) -> Document:
        """Give what JSON can hold."""
        return {
            "first": self.first,
            "second": self.second,
            "answers": [list(domain) for domain in self.domains],
            "reports": self.reports.tolist(),
            "shares": self.shares.tolist(),
            "independent": self.independent.tolist(),
            "difference": self.difference.tolist(),
            "test": self.test.to_dict(),
            "correlations": [told.to_dict() for told in self.correlations],
            "cramers_v": plain(self.cramers_v),
            "odds_ratio": plain(self.odds_ratio),
            "gap": self.gap,
            "unique": self.unique,
        }


def parts_of(design: Product) -> list[tuple[str, Design]]:
    """Give the questions by name, each with its design."""
    return list(zip(design.questions, design.designs, strict=True))


def pair_of(
    table: Crosstable, level: float, simulations: int, rng: np.random.Generator, values: Mapping[str, Array]
) -> QuestionPair:
    """Look at two questions."""
    design = table.design
    fit = estimated(table.tally(), method=MOST_LIKELY)
    assert fit.certificate is not None
    first, second = design.questions
    domains: Any = tuple(tuple(part.domain) for part in design.designs)
    test = independence(table.counts, simulations=simulations, rng=rng, effective=table.effective)
    told = _of_answers(table, level, values)
    shares = fit.shares.reshape(design.sizes)
    proof = fit.certificate
    return QuestionPair(first, second, domains, table.counts, shares, test, told, float(proof.gap), bool(proof.unique))


def _scored(
    name: str, part: Design, reports: Integers, values: Mapping[str, Array]
) -> list[tuple[Label | None, Scores]]:
    """Give what reports score: for the number that answers stand for; or for answers, of a binary question the first.

    Without answers that reports do not tell.
    """
    if name in values:
        columns = np.arange(len(part.columns))
        first, second = (column_scores(part, columns, numbers) for numbers in (values[name], values[name] ** 2))
        return [(None, Scores(first[reports], indicator=False, squares=second[reports]))]
    told, places = part.identified(), answers_of_interest(part.k)
    return [(part.domain[place], Scores(part.inverse()[reports, place])) for place in places if told[place]]


def _of_answers(table: Crosstable, level: float, values: Mapping[str, Array]) -> tuple[Correlation, ...]:
    """Correlate the answers to two questions, or the numbers that they stand for."""
    one, two = table.design.designs
    rows, columns = np.indices(table.counts.shape).reshape(2, -1)
    weight, square = table.counts.ravel().astype(np.float64), table.square.ravel()
    names = table.design.questions[0], table.design.questions[1]
    # Two people of average weight more, spread over all combinations of reports.
    unseen = 2 * (square.sum() / weight.sum()) ** 2 / weight.size
    both = product(_scored(names[0], one, rows, values), _scored(names[1], two, columns, values))
    return tuple(
        correlation(names, (answer, other), first, second, weight, square, level, unseen)
        for (answer, first), (other, second) in both
    )


def with_numbers(table: Crosstable, level: float, values: Mapping[str, Array]) -> tuple[Correlation, ...]:
    """Correlate answers, or the numbers that they stand for, with the numeric column."""
    known = table.measured
    if known is None:
        return ()
    numbers = Scores(known.values, indicator=False)
    return tuple(
        correlation((name, known.name), (answer,), scores, numbers, known.weight, known.square, level)
        for (name, part), codes in zip(parts_of(table.design), known.reports, strict=True)
        for answer, scores in _scored(name, part, codes, values)
    )


def costs_of(design: Product, marginals: list[Array], people: float) -> tuple[Cost, ...]:
    """Say what it costs to ask for the first answers to one question, to two, and so on, if they were independent.

    One report of a question has, for its unbiased indicator M of the first answer, the mean square sum_j mu_j M_j^2;
    those of several questions multiply.
    """
    share = square = 1.0
    costs = []
    for number, ((_, part), marginal) in enumerate(zip(parts_of(design), marginals, strict=True), 1):
        reported = part.operator().forward(marginal)
        share *= float(marginal[0])
        square *= float(reported @ part.inverse()[:, 0] ** 2) if part.identified()[0] else math.inf
        error, direct = math.sqrt(max(square - share**2, 0.0)), math.sqrt(share * (1 - share))
        times = error / direct if direct else math.inf
        costs.append(Cost(number, share, times, error / math.sqrt(people) / share if share else math.inf))
    return tuple(costs)
