r"""Tests of independence of several questions, from the table of their reports: Fisher's exact test, G-test.

If the answers to two questions are independent, so are the reports, because each device looks at its own answer alone.
And if both tables of probabilities are invertible, the converse holds, too: :math:`\mu = C_1'\alpha \otimes C_2'\beta`
only if :math:`\theta = \alpha \otimes \beta`. So a test of independence on the bare table of reports is a valid test of
independence of the true answers, for every design and without any model; and an exact one stays exact.

Given its margins, a table c of n people has under independence the probability

.. math:: \frac{\prod_q \prod_j c^{(q)}_j!}{n!^{m-1} \prod_{j_1 \ldots j_m} c_{j_1 \ldots j_m}!},

where :math:`c^{(q)}` is the margin of question q. Fisher's exact test adds up the probabilities of all tables that are
no likelier than the one observed; Freeman and Halton's is the same for tables larger than 2 x 2 [1]_. Where there are
too many tables to go through, some are drawn; with B of them of which b are no likelier, (b + 1)/(B + 1) is a p-value
that holds its level exactly.

.. [1] G. H. Freeman, J. H. Halton, "Note on an exact treatment of contingency, goodness of fit and other problems of
   significance", Biometrika 38 (1951), 141-149.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc, gammaln

from warner.inference.binomial import MANY_REPORTS
from warner.results import plain
from warner.searching import first_true
from warner.special import deviance
from warner.words import p_value

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers
    from warner.documents import Document

LISTED_CELLS = 2**22  # of all tables with the margins of the observed one, up to which these are gone through
DRAWN_CELLS = 2**24  # of all tables that are drawn at a time
MOST_PEOPLE_IN_TABLE = 10**9 - 1  # that NumPy draws tables of
SUPPORT_DEVIATIONS = 40  # standard deviations
EQUAL_LIKELIHOOD = 1e-7  # relative: a table that is likelier by no more than this counts as equally likely
LEAST_EXPECTED_IN_CELL = 5.0  # reports in a cell, below which a chi-square law is a rough guide


@dataclass(frozen=True)
class Independence:
    """Tests of independence on one table of reports.

    Attributes
    ----------
    g, chi2 : float
        The likelihood-ratio statistic and Pearson's.
    df : int
        Their degrees of freedom; 0 where a question had but one report, so that there is nothing to test.
    g_p_value, chi2_p_value : float
        By the chi-square law: approximate.
    exact_p_value : float or None
        Of Fisher's exact test, or Freeman and Halton's; None where there are too many tables, and with weights.
    simulated_p_value : float or None
        Of the same test with drawn tables, where there are too many to go through.
    tables : int
        The number of tables that were gone through, or drawn.
    least_expected : float
        The smallest number of reports that independence would lead to expect in a cell.
    method : str
        In words, which test the `p_value` is of.
    """

    g: float
    chi2: float
    df: int
    g_p_value: float
    chi2_p_value: float
    exact_p_value: float | None
    simulated_p_value: float | None
    tables: int
    least_expected: float
    method: str

    @property
    def p_value(self) -> float:
        """The p-value to go by: the exact one, else the simulated one, else that of Pearson's statistic."""
        known = (self.exact_p_value, self.simulated_p_value, self.chi2_p_value)
        return next(value for value in known if value is not None)

    @property
    def exact(self) -> bool:
        """Whether the p-value holds its level exactly: of all tables, or of drawn ones."""
        return self.exact_p_value is not None or self.simulated_p_value is not None

    def text(self) -> str:
        """Say it in one line."""
        if not self.df:
            return "there is nothing to test: all reports to some question were alike"
        few = "" if self.exact or self.least_expected >= LEAST_EXPECTED_IN_CELL else ", rough because of small counts"
        kind = "exact" if self.exact else f"approximate{few}"
        statistics = f"G = {self.g:.4g}, chi-square = {self.chi2:.4g}, df = {self.df}"
        return f"{p_value(self.p_value)} ({self.method}; {kind}; {statistics})"

    def to_dict(self) -> Document:
        """Give what JSON can hold."""
        names = ("g", "chi2", "df", "g_p_value", "chi2_p_value", "exact_p_value", "simulated_p_value")
        numbers = {name: plain(getattr(self, name)) for name in names}
        about = {"tables": self.tables, "least_expected": plain(self.least_expected)}
        return {"p_value": self.p_value, "exact": self.exact, "method": self.method, **numbers, **about}


def independence(
    table: Counts, *, simulations: int, rng: np.random.Generator, effective: float | None = None
) -> Independence:
    """Test whether the questions of a table of reports, one axis each, are independent of each other.

    With `effective`, the number of reports that weighted ones are worth, there are only the approximate tests.

    Examples
    --------
    Fisher's tea: three of four cups each are told right, which has a probability of 34/70 by chance.

    >>> rng = np.random.default_rng(1)
    >>> test = independence(np.array([[3, 1], [1, 3]]), simulations=99, rng=rng)
    >>> round(test.p_value, 6), test.method
    (0.485714, "Fisher's exact test")
    """
    table = _without_empty(table)
    scaled = table if effective is None else table * (effective / table.sum())
    g, chi2, df, least = _statistics(scaled)
    by_law = [float(chdtrc(df, statistic)) if df else 1.0 for statistic in (g, chi2)]
    exact = simulated = None
    tables, method = 0, "Pearson's chi-square"
    if not df:
        exact, method = 1.0, "nothing to test"
    elif effective is None and table.shape == (2, 2) and table.sum() <= MANY_REPORTS:
        exact, method = _fisher(*table.ravel().tolist()), "Fisher's exact test"
        tables = int(min(table.sum(axis=0).min(), table.sum(axis=1).min())) + 1
    elif effective is None:
        every = _every_table(_margins(table))
        if every is not None:
            exact, tables = _no_likelier(table, every), len(every)
            method = f"Fisher's exact test, {tables:,} tables"
        elif table.sum() <= MOST_PEOPLE_IN_TABLE and simulations:
            simulated, tables = _simulated(table, simulations, rng), simulations
            method = f"Fisher's exact test, {tables:,} random tables"
    return Independence(g, chi2, df, by_law[0], by_law[1], exact, simulated, tables, least, method)


def _without_empty(table: Counts) -> Counts:
    """Leave out what nobody reported: given the margins, it tells nothing."""
    for axis in range(table.ndim):
        margin = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
        table = table.compress(margin > 0, axis=axis)
    return table


def _margins(table: Counts) -> list[Counts]:
    axes = range(table.ndim)
    return [table.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]


def _statistics(table: Counts) -> tuple[float, float, int, float]:
    """Give G, Pearson's statistic, the degrees of freedom, and the least expected count."""
    n = float(table.sum())
    expected = np.full((1,) * table.ndim, n)
    for axis, margin in enumerate(_margins(table)):
        shape = [1] * table.ndim
        shape[axis] = -1
        expected = expected * (margin / n).reshape(shape)
    g = 2 * float(deviance(table, expected).sum())
    chi2 = float(((table - expected) ** 2 / expected).sum())
    df = table.size - sum(table.shape) + table.ndim - 1
    return g, chi2, df, float(expected.min())


def _fisher(a: int, b: int, c: int, d: int) -> float:
    """Add up the probabilities of all 2 x 2 tables with these margins that are no likelier than this one.

    The first cell is hypergeometric. So these are the cells up to a and, on the other side of the mode, those from the
    first that is as rare.
    """
    n, row, column = a + b + c + d, a + b, a + c
    mode = (row + 1) * (column + 1) // (n + 2)
    if a > mode:
        return _fisher(b, a, d, c)

    def log_probability(cell: Any) -> Any:
        ways = gammaln(cell + 1.0) + gammaln(row - cell + 1.0) + gammaln(column - cell + 1.0)
        return constant - ways - gammaln(n - row - column + cell + 1.0)

    constant = float(sum(gammaln(m + 1.0) + gammaln(n - m + 1.0) for m in (row, column)) - gammaln(n + 1.0))
    observed = float(log_probability(a)) + EQUAL_LIKELIHOOD
    if log_probability(mode) <= observed:
        return 1.0
    first = first_true(lambda cell: log_probability(cell) <= observed, mode + 1, min(row, column) + 1)
    # So many standard deviations further out, nothing is left that a double could hold.
    width = int(SUPPORT_DEVIATIONS * math.sqrt(row * (n - row) * column * (n - column) / (n * n * max(n - 1, 1)))) + 100
    low = np.arange(max(a - width, row + column - n, 0), a + 1)
    high = np.arange(first, min(first + width, row, column) + 1)
    return min(1.0, float(np.exp(log_probability(low)).sum() + np.exp(log_probability(high)).sum()))


# All tables with these margins, or some of them: rows of flattened cells


def _every_table(margins: list[Integers]) -> Integers | None:
    """List all tables; None where they are too many.

    One question is added after the other: the people in each cell so far are divided among its reports.
    """
    cells: Integers | None = margins[0][np.newaxis].astype(np.int64)
    for margin in margins[1:]:
        assert cells is not None
        cells = _every_division(cells, margin)
        if cells is None:
            return None
    return cells


def _every_division(cells: Integers, margin: Integers) -> Integers | None:
    """Divide the people in each cell among the reports of one more question in all ways that give this margin.

    Cell by cell and report by report, each way so far is repeated for every number of people that may come next. So all
    arrays have a row for each way so far: those of `parts`, what each cell gave to each report; `people`, those of the
    cell who are still to be divided; and `missing`, what the margin still lacks. The last report takes the rest of a
    cell, and the last cell the rest of the margin.
    """
    rows, columns = cells.shape[1], margin.size
    missing = np.tile(margin.astype(np.int64), (len(cells), 1))
    parts: list[Integers] = []
    for row in range(rows - 1):
        people = cells[:, row]
        for column in range(columns - 1):
            # As many as the margin lacks at most, and at the least what the later reports cannot take.
            least = np.maximum(people - missing[:, column + 1 :].sum(axis=1), 0)
            ways = np.minimum(people, missing[:, column]) - least + 1
            if int(ways.sum()) * rows * columns > LISTED_CELLS:
                return None
            way = np.repeat(np.arange(len(ways)), ways)
            part = least[way] + np.arange(way.size) - np.repeat(ways.cumsum() - ways, ways)
            cells, missing, people = cells[way], missing[way], people[way] - part
            parts = [*(earlier[way] for earlier in parts), part]
            missing[:, column] -= part
        missing[:, -1] -= people
        parts.append(people)
    return np.column_stack([*parts, *missing.T])


def _random_tables(margins: list[Integers], size: int, rng: np.random.Generator) -> Integers:
    """Draw tables as independence makes them, given their margins: hypergeometric, cell by cell."""
    cells = np.tile(margins[0], (size, 1))
    for margin in margins[1:]:
        missing = np.tile(margin, (size, 1))
        parts = []
        for row in range(cells.shape[1] - 1):
            people = cells[:, row].copy()
            for column in range(margin.size - 1):
                part = rng.hypergeometric(missing[:, column], missing[:, column + 1 :].sum(axis=1), people)
                missing[:, column] -= part
                people -= part
                parts.append(part)
            missing[:, -1] -= people
            parts.append(people)
        cells = np.column_stack([*parts, *missing.T])
    return cells


def _log_ways(cells: Counts) -> Array:
    """Give the part of the log-probability of tables that their margins leave open."""
    return np.asarray(-gammaln(cells + 1.0).sum(axis=-1))


def _no_likelier(table: Counts, every: Integers) -> float:
    """Add up the probabilities of all tables that are no likelier than the observed one."""
    n, margins = float(table.sum()), _margins(table)
    constant = sum(float(gammaln(margin + 1.0).sum()) for margin in margins)
    constant -= (table.ndim - 1) * float(gammaln(n + 1))
    logs = _log_ways(every)
    rarer = logs <= float(_log_ways(table.ravel())) + EQUAL_LIKELIHOOD
    return min(1.0, math.fsum(np.exp(constant + logs[rarer]).tolist()))


def _simulated(table: Counts, simulations: int, rng: np.random.Generator) -> float:
    observed = float(_log_ways(table.ravel())) + EQUAL_LIKELIHOOD
    margins = [margin.astype(np.int64) for margin in _margins(table)]
    at_once = max(DRAWN_CELLS // table.size, 1)
    rarer = 0
    for start in range(0, simulations, at_once):
        drawn = _random_tables(margins, min(at_once, simulations - start), rng)
        rarer += int(np.count_nonzero(_log_ways(drawn) <= observed))
    return (rarer + 1) / (simulations + 1)
