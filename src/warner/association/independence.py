r"""Tests of independence of several questions, from the table of their reports: Fisher's exact test, G-test.

If the answers to two questions are independent, so are the reports, because each device looks at its own answer alone.
And if both tables of probabilities are invertible, the converse holds, too: :math:`\mu = C_1'\alpha \otimes C_2'\beta`
only if :math:`\theta = \alpha \otimes \beta`. So a test of independence on the bare table of reports is a valid test of
independence of the true answers, for every design and without any model; and an exact one stays exact.

Given its margins, a table c of n people has under independence the probability

.. math:: \frac{\prod_q \prod_j c^{(q)}_j!}{n!^{m-1} \prod_{j_1 \ldots j_m} c_{j_1 \ldots j_m}!},

where :math:`c^{(q)}` is the margin of question q. Fisher's exact test adds up the probabilities of all tables that are
no more likely than the observed one; Freeman and Halton's is the same for tables larger than 2 x 2 [1]_. If there are
too many tables to enumerate, some are drawn; with B of them of which b are no more likely, (b + 1)/(B + 1) is a p-value
that holds its level exactly.

**Correlation** (phi coefficient) of two true answers, and of an answer with a number, from randomized reports.
With the debiased indicators a and b of two answers (:math:`E[a \mid \text{answer}] = 1` for respondents with that
answer, 0 for others), :math:`\pi_1, \pi_2` their means, :math:`v = \pi(1-\pi)` and :math:`c` their covariance (with
1/n), the correlation of the true indicators is

.. math:: r = \frac{c}{\sqrt{v_1 v_2}}

[2]_: the randomization blows up the variance of a and b, which is therefore not used, but leaves their covariance as it
is, because devices are independent. With a number y in the place of b, :math:`v_2` is its variance. With a randomized
number, b is what a report scores for the number x (`warner.regression.scores`), s what it scores for its square, and
:math:`v_2 = E s - (E b)^2`, the variance of the true numbers.

The standard error is that of the influence function: the mean square, over n, of

.. math:: \frac{(a-\pi_1)(b-\pi_2) - c}{\sqrt{v_1 v_2}}
    - \frac r2 \left(\frac{\dot v_1}{v_1} + \frac{\dot v_2}{v_2}\right),

with :math:`\dot v = (1-2\pi)(a-\pi)` for an indicator, :math:`(y-\bar y)^2 - v` for a number and
:math:`s - E s - 2 E b (b - E b)` for a randomized number.

The interval has all correlations :math:`\rho` with :math:`(r - \rho)^2 \le z^2 \, V(\rho)`, where V is the mean square
above with :math:`\rho` in the place of r: a quadratic in :math:`\rho`, as in Fieller's interval of a ratio. Multiples
of the standard error would be too short for skewed numbers, where estimate and standard error are far from independent.
V is enlarged as much as the jackknife's variance of r exceeds the square of the standard error, for few respondents and
heavy tails. See the page "Estimate associations between randomized answers" for the coverage.

.. [1] G. H. Freeman, J. H. Halton, "Note on an exact treatment of contingency, goodness of fit and other problems of
   significance", Biometrika 38 (1951), 141-149.
.. [2] J. A. Fox, P. E. Tracy, "Measuring associations with randomized response", Social Science Research 13 (1984),
   188-197.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, gammaln, ndtri

from warner.estimation import estimated
from warner.estimators import MOST_LIKELY
from warner.inference.binomial import MANY_REPORTS
from warner.inference.comparisons import answers_of_interest
from warner.numerics import deviance, first_true
from warner.regression.scores import column_scores
from warner.results import Estimates, plain
from warner.text import level_text, p_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warner.arrays import Array, Counts, Integers, Label
    from warner.association.associations import Crosstable
    from warner.designs.contract import Design
    from warner.designs.product import Product
    from warner.documents import Document


# Independence


LISTED_CELLS = 2**22  # of all tables with the margins of the observed one, up to which these are gone through
DRAWN_CELLS = 2**24  # of all tables that are drawn at a time
MOST_PEOPLE_IN_TABLE = 10**9 - 1  # that NumPy draws tables of
SUPPORT_DEVIATIONS = 40  # standard deviations
EQUAL_LIKELIHOOD = 1e-7  # relative: a table that is more likely by at most this counts as equally likely
LEAST_EXPECTED_IN_CELL = 5.0  # reports in a cell, below which a chi-square law is a rough guide


@dataclass(frozen=True)
class Independence:
    """Tests of independence in a table of reports."""

    g: float  # likelihood-ratio statistic
    chi2: float  # Pearson's statistic
    df: int  # degrees of freedom; 0 where a question had but one report, so that there is nothing to test
    g_p_value: float  # by the chi-square distribution: approximate
    chi2_p_value: float
    exact_p_value: float | None  # of Fisher's, or Freeman and Halton's test; None with weights, or many tables
    simulated_p_value: float | None  # of the same test with drawn tables, where there are too many to go through
    tables: int  # number of tables that were gone through, or drawn
    least_expected: float  # smallest expected number of reports in a cell
    method: str  # the test that `p_value` is of, in words

    @property
    def p_value(self) -> float:
        """The exact p-value, else the simulated one, else that of Pearson's statistic."""
        known = (self.exact_p_value, self.simulated_p_value, self.chi2_p_value)
        return next(value for value in known if value is not None)

    @property
    def exact(self) -> bool:
        """Return True if the test has exactly its level: with all tables, or with random ones."""
        return self.exact_p_value is not None or self.simulated_p_value is not None

    def text(self) -> str:
        """Return the test in one line."""
        if not self.df:
            return "there is nothing to test: all reports to some question were alike"
        few = "" if self.exact or self.least_expected >= LEAST_EXPECTED_IN_CELL else ", rough because of small counts"
        kind = "exact" if self.exact else f"approximate{few}"
        statistics = f"G = {self.g:.4g}, chi-square = {self.chi2:.4g}, df = {self.df}"
        return f"{p_value(self.p_value)} ({self.method}; {kind}; {statistics})"

    def to_dict(self) -> Document:
        """Return the test as JSON."""
        return {"p_value": self.p_value, "exact": self.exact, "method": self.method, **plain(asdict(self))}


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
    for axis, margin in enumerate(_margins(table)):  # reports that do not occur carry no information
        table = table.compress(margin > 0, axis=axis)
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


def _margins(table: Counts) -> list[Counts]:
    axes = range(table.ndim)
    return [table.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]


def _statistics(table: Counts) -> tuple[float, float, int, float]:
    """Compute G, Pearson's statistic, the degrees of freedom, and the smallest expected count."""
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
    """Sum the probabilities of all 2 x 2 tables with these margins that are at most as likely as this one.

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
    """List all tables, or None if there are too many; one question is added after the other."""
    cells: Integers | None = margins[0][np.newaxis].astype(np.int64)
    for margin in margins[1:]:
        assert cells is not None
        cells = _every_division(cells, margin)
        if cells is None:
            return None
    return cells


def _every_division(cells: Integers, margin: Integers) -> Integers | None:
    """Divide the respondents in each cell among the reports to one more question in all ways with this margin.

    Cell by cell and report by report, each division so far is repeated for every count that may come next. All arrays
    have a row for each division: `parts`, the counts of each cell and report; `people`, the respondents of the cell
    that are still to be divided; and `missing`, the rest of the margin. The last report has the rest of a cell, and the
    last cell the rest of the margin.
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
    """Draw random tables with given margins under independence: hypergeometric, cell by cell."""
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
    return np.asarray(-gammaln(cells + 1.0).sum(axis=-1))


def _no_likelier(table: Counts, every: Integers) -> float:
    """Sum the probabilities of all tables that are at most as likely as the observed table."""
    n, margins = float(table.sum()), _margins(table)
    constant = sum(float(gammaln(margin + 1.0).sum()) for margin in margins)
    constant -= (table.ndim - 1) * float(gammaln(n + 1))
    logs = _log_ways(every)
    at_most_as_likely = logs <= float(_log_ways(table.ravel())) + EQUAL_LIKELIHOOD
    return min(1.0, math.fsum(np.exp(constant + logs[at_most_as_likely]).tolist()))


def _simulated(table: Counts, simulations: int, rng: np.random.Generator) -> float:
    observed = float(_log_ways(table.ravel())) + EQUAL_LIKELIHOOD
    margins = [margin.astype(np.int64) for margin in _margins(table)]
    at_once = max(DRAWN_CELLS // table.size, 1)
    at_most_as_likely = 0
    for start in range(0, simulations, at_once):
        tables = _random_tables(margins, min(at_once, simulations - start), rng)
        at_most_as_likely += int(np.count_nonzero(_log_ways(tables) <= observed))
    return (at_most_as_likely + 1) / (simulations + 1)


# Correlations


@dataclass(frozen=True)
class Correlation:
    """Correlation of two true answers, or of an answer with a number.

    The estimate and its standard error are NaN where there is no variance to divide by: a share is estimated to be 0 or
    less, or 1 or more, all numbers are the same, or the variance of a randomized number is estimated to be 0 or less.
    """

    first: str  # the question
    second: str  # the other question, or the numeric column
    answers: tuple[Label | None, ...]  # whose indicators are correlated; None for a question whose number is
    value: float  # sampling error may put it outside -1 to 1
    se: float
    low: float  # approximate confidence interval, within -1 and 1
    high: float
    difference: float  # covariance: for two answers, the share of both minus the product of the two shares
    difference_se: float
    level: float

    @property
    def outside(self) -> bool:
        """Return True if the estimate lies outside -1 to 1."""
        return abs(self.value) > 1

    def text(self) -> str:
        """Return the correlation in one line."""
        if math.isnan(self.value):
            return (
                "undefined, because a variance is estimated to be 0 or less: of a share of 0 or 1, or of equal numbers"
            )
        (value,), (error,), (interval,), _ = Estimates(self.value, self.low, self.high, self.se).texts()
        beyond = "; outside -1 to 1, by sampling error" if self.outside else ""
        return f"{value}, standard error {error}, approximate {level_text(self.level)} interval {interval}{beyond}"

    def to_dict(self) -> Document:
        """Return the correlation as JSON."""
        return {**plain(asdict(self)), "outside": self.outside, "approximate": True}


class Scores(NamedTuple):
    """Unbiased scores of an indicator or a number, with those of its square if it is randomized."""

    values: Array
    indicator: bool = True
    squares: Array | None = None

    def mean(self, weight: Array) -> float:
        return float(weight @ self.values / weight.sum())

    def variance(self, weight: Array) -> tuple[float, Array]:
        """Return the variance of the scored quantity, and its influence function."""
        mean = self.mean(weight)
        if self.indicator:
            return mean * (1 - mean), (1 - 2 * mean) * (self.values - mean)
        if self.squares is not None:
            second = float(weight @ self.squares / weight.sum())
            return second - mean**2, self.squares - second - 2 * mean * (self.values - mean)
        squared = (self.values - mean) ** 2
        variance = float(weight @ squared / weight.sum())
        return variance, squared - variance


def correlation(
    names: tuple[str, str],
    answers: tuple[Label | None, ...],
    first: Scores,
    second: Scores,
    weight: Array,
    square: Array,
    level: float,
    unseen: float = 0.0,
) -> Correlation:
    """Correlate the quantities behind two columns of scores.

    `weight` is the sum of the weights in each row, or the number of respondents, and `square` that of squared weights.
    For rows of all possible reports, `unseen` is added to each `square` for the interval: empty rows are not
    impossible.

    Examples -------- Direct answers are their own indicators: 30 respondents have both, 20 only the first, 10 only the
    second, 40 none. The phi coefficient is (30 * 40 - 20 * 10) / sqrt(50 * 50 * 40 * 60) = 0.4082.

    >>> import numpy as np
    >>> a, b = Scores(np.array([1.0, 1, 0, 0])), Scores(np.array([1.0, 0, 1, 0]))
    >>> people = np.array([30.0, 20, 10, 40])
    >>> round(correlation(("q", "r"), ("yes", "yes"), a, b, people, people, 0.95).value, 4)
    0.4082
    """
    total = float(weight.sum())
    product = (first.values - first.mean(weight)) * (second.values - second.mean(weight))
    covariance = float(weight @ product / total)

    def error(influence: Array) -> float:
        return math.sqrt(float(square @ influence**2)) / total

    (v1, change1), (v2, change2) = first.variance(weight), second.variance(weight)
    value = se = low = high = math.nan
    if v1 > 0 and v2 > 0:
        value = covariance / math.sqrt(v1 * v2)
        of_covariance = (product - covariance) / math.sqrt(v1 * v2)
        of_variances = (change1 / v1 + change2 / v2) / 2
        se = error(of_covariance - value * of_variances)
        larger = max(1.0, _jackknife(first, second, weight, square) / se**2) if se > 0 else 1.0
        quantile = larger * float(ndtri((1 - level) / 2)) ** 2 / total**2
        # (r - rho)^2 <= quantile * sum of squares of (of_covariance - rho of_variances)
        squares = [
            float((square + unseen) @ part)
            for part in (of_covariance**2, of_covariance * of_variances, of_variances**2)
        ]
        low, high = _between(value, *(quantile * part for part in squares))
    error_of_difference = error(product - covariance)
    return Correlation(*names, answers, value, se, low, high, covariance, error_of_difference, level)


def _between(value: float, constant: float, half: float, leading: float) -> tuple[float, float]:
    """Limits of all rho with (value - rho)^2 <= constant - 2 half rho + leading rho^2, cut to -1 and 1.

    If the set is no interval, the limits are -1 and 1. An estimate beyond -1 or 1 is moved there for the far limit.
    """
    if leading >= 1:
        return -1.0, 1.0

    def end(value: float, side: int) -> float:
        middle = value - half
        root = math.sqrt(max(middle**2 - (1 - leading) * (value**2 - constant), 0.0))
        return (middle + side * root) / (1 - leading)

    low, high = end(min(value, 1.0), -1), end(max(value, -1.0), 1)
    return min(max(low, -1.0), 1.0), max(min(high, 1.0), -1.0)


def _jackknife(first: Scores, second: Scores, weight: Array, square: Array) -> float:
    """Jackknife variance of the correlation.

    A row is weight^2 / square respondents who weigh square / weight each. Respondents without whom there is no
    correlation are not left out.
    """
    one = np.divide(square, weight, out=np.zeros(len(weight)), where=weight > 0)
    rest = float(weight.sum()) - one
    a, b = first.values - first.mean(weight), second.values - second.mean(weight)

    def without(values: Array) -> Array:
        return np.asarray((weight @ values - one * values) / rest)

    with np.errstate(divide="ignore", invalid="ignore"):
        mean1, mean2 = without(a), without(b)
        spreads = []
        for scores, centred, mean in ((first, a, mean1), (second, b, mean2)):
            whole = scores.mean(weight) + mean
            if scores.indicator:
                spreads.append(whole * (1 - whole))
            elif scores.squares is not None:
                spreads.append(without(scores.squares) - whole**2)
            else:
                spreads.append(without(centred**2) - mean**2)
        left = (without(a * b) - mean1 * mean2) / np.sqrt(spreads[0] * spreads[1])
    known = np.isfinite(left) & (one > 0)
    people = np.divide(weight, one, out=np.zeros(len(weight)), where=known)
    if not people.sum() > 1:
        return 0.0
    around = float(people @ np.where(known, left, 0.0)) / float(people.sum())
    shrunk = 1 - one / float(weight.sum())  # (n - 1) / n if all weigh the same
    return float((people * shrunk) @ np.where(known, left - around, 0.0) ** 2)


# Pairs


class Cost(NamedTuple):
    """Cost of asking several questions, for the respondents with the first answer to all of them.

    Under independence with the estimated marginals: `share` is the share of these respondents, `times` the ratio of its
    standard error to that of a direct survey, `relative` the standard error divided by the share.
    """

    questions: int
    share: float
    times: float
    relative: float


@dataclass(frozen=True, eq=False)
class QuestionPair:
    """Association between two of the questions."""

    first: str
    second: str
    domains: tuple[tuple[Label, ...], tuple[Label, ...]]  # their answers
    reports: Counts  # table of the reports to both
    shares: Array  # most likely joint shares, of these two questions alone
    test: Independence
    # Of the identified answers to one with those to the other; of a binary question the first alone, or its number.
    correlations: tuple[Correlation, ...]
    gap: float  # certified bound on the log-likelihood that the shares lack
    unique: bool  # they are known to be the only most likely ones

    @property
    def independent(self) -> Array:
        """Products of the marginal shares: the joint shares under independence."""
        return np.outer(self.shares.sum(axis=1), self.shares.sum(axis=0))

    @property
    def difference(self) -> Array:
        """Joint shares minus those under independence; rows and columns sum to zero."""
        return np.asarray(self.shares - self.independent)

    @property
    def cramers_v(self) -> float:
        """Cramér's V of the most likely joint shares: 0 under independence, 1 if one answer determines the other.

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
        """Odds ratio of the most likely joint shares; infinite or 0 on the boundary, None for other than 2 x 2."""
        if self.shares.shape != (2, 2):
            return None
        (a, b), (c, d) = self.shares.tolist()
        return math.nan if a * d == b * c == 0 else math.inf if b * c == 0 else a * d / (b * c)

    def to_dict(self) -> Document:
        """Return the pair as JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "answers": [list(domain) for domain in self.domains],
            "reports": self.reports.tolist(),
            "shares": self.shares.tolist(),
            "independent": self.independent.tolist(),
            "difference": self.difference.tolist(),
            "test": self.test.to_dict(),
            "correlations": [each.to_dict() for each in self.correlations],
            "cramers_v": plain(self.cramers_v),
            "odds_ratio": plain(self.odds_ratio),
            "gap": self.gap,
            "unique": self.unique,
        }


def parts_of(design: Product) -> list[tuple[str, Design]]:
    return list(zip(design.questions, design.designs, strict=True))


def pair_of(
    table: Crosstable, level: float, simulations: int, rng: np.random.Generator, values: Mapping[str, Array]
) -> QuestionPair:
    fit, design = estimated(table.tally(), method=MOST_LIKELY), table.design
    proof = fit.certificate
    assert proof is not None
    domains: Any = tuple(tuple(part.domain) for part in design.designs)
    test = independence(table.counts, simulations=simulations, rng=rng, effective=table.effective)
    found = fit.shares.reshape(design.sizes), test, _of_answers(table, level, values)
    first, second = design.questions
    return QuestionPair(first, second, domains, table.counts, *found, float(proof.gap), bool(proof.unique))


def _scored(
    name: str, part: Design, reports: Integers, values: Mapping[str, Array]
) -> list[tuple[Label | None, Scores]]:
    """Unbiased scores of numeric answers, or of each answer; of a binary question, of the first answer only.

    Without answers that reports do not tell.
    """
    if name in values:
        columns = np.arange(len(part.law.columns))
        first, second = (column_scores(part, columns, numbers) for numbers in (values[name], values[name] ** 2))
        return [(None, Scores(first[reports], indicator=False, squares=second[reports]))]
    identifiable, indices = part.law.linear.identifiable(), answers_of_interest(part.k)
    return [
        (part.domain[index], Scores(part.law.linear.weights()[reports, index]))
        for index in indices
        if identifiable[index]
    ]


def _of_answers(table: Crosstable, level: float, values: Mapping[str, Array]) -> tuple[Correlation, ...]:
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
    """Cost of asking one question, two, and so on, for the first answer to all of them.

    One report of a question has, for its unbiased indicator M of the first answer, the mean square sum_j mu_j M_j^2;
    those of several questions multiply.
    """
    share = square = 1.0
    costs = []
    for number, ((_, part), marginal) in enumerate(zip(parts_of(design), marginals, strict=True), 1):
        reported = part.law.likelihood().forward(marginal)
        share *= float(marginal[0])
        square *= (
            float(reported @ part.law.linear.weights()[:, 0] ** 2) if part.law.linear.identifiable()[0] else math.inf
        )
        error, direct = math.sqrt(max(square - share**2, 0.0)), math.sqrt(share * (1 - share))
        times = error / direct if direct else math.inf
        costs.append(Cost(number, share, times, error / math.sqrt(people) / share if share else math.inf))
    return tuple(costs)
