r"""Laws: the distribution of counts of reports, given the shares of the answers.

A report adds a vector of zeros and ones to a tally: a single 1 for a table of reports (randomized response, a channel),
several for a report that supports a set of answers. A law is the distribution of that vector given the answer:
likelihood, sampling model of the shares, bounds. Estimators and intervals use the law of a design, never its class.

Closed forms need a `Symmetry`: each answer has one count, :math:`c_i \sim \mathrm{Bin}(n, q + (p-q)\theta_i)`, with
the same p and q for all answers. Randomized response has it with sets of one answer.
"""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from warner.arrays import LARGEST_TOTAL, Array, Counts, Integers, Mask, Sets, Shape, Size
from warner.designs.facts import (
    ChannelOperator,
    Counted,
    Estimand,
    LinearCombination,
    ProbabilityBounds,
    ReportTypes,
    SamplingModel,
    Symmetry,
    added_up,
)
from warner.designs.matrices import inverse

if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property

    from numpy.typing import ArrayLike

    from warner.designs.labels import Labels

Sufficient: TypeAlias = Literal["counts", "histogram"]

INVERSE_TOLERANCE = 1e-8  # how nearly an inverse must undo a channel
SUM_TOLERANCE = 1e-6  # of shares, which may be single-precision numbers
PEOPLE_AT_ONCE = 2**16  # people drawn at a time in a simulation


if TYPE_CHECKING:
    once_per_design = cached_property
else:

    def once_per_design(compute: Callable[[Any], Any]) -> property:
        """Property of a law that is computed once for its design, which keeps the value."""
        name = f"_law.{compute.__qualname__}"

        def value(law: Any) -> Any:
            values = vars(law if law.design is None else law.design)
            if name not in values:
                values[name] = compute(law)
            return values[name]

        return property(value, doc=compute.__doc__)


class Law(ABC):
    """Distribution of counts of reports, given the shares of the answers.

    A law is a view of its design, made anew whenever it is asked for. What is computed once is kept by the design, so
    that the two do not refer to each other, and large tables are freed with the design.

    Attributes
    ----------
    design : Design
        The design that it belongs to.
    exhaustive : bool
        Whether the domain has every possible answer, so that shares sum to one.
    counted_fraction : float
        Fraction of the respondents whose reports are counted at all, and are the n of a tally.
    """

    design: Any
    exhaustive: bool = True
    counted_fraction: float = 1.0

    def __init__(self, design: Any) -> None:
        self.design = design

    @abstractmethod
    def likelihood(self, reports: Counts | None = None) -> ChannelOperator:
        """Return the likelihood of each answer under each of these reports, or under all possible reports.

        Those are the columns, or the types of reports, by `sufficient`. As products, and as a matrix where that is
        small. For single reports it is known up to one positive factor each, on which no estimate depends.
        """

    @abstractmethod
    def sampling_model(
        self, estimand: Estimand, counts: Counts, n: Array, histogram: Counts | None = None
    ) -> SamplingModel:
        """Return the sampling model of each share: a binomial count where one exists, else an unbiased mean of scores.

        See `readout`, which has keywords in the place of an estimand.
        """

    @property
    def symmetry(self) -> Symmetry | None:
        """Response probabilities that all answers share, or None if they differ between answers."""
        return None

    @property
    def columns(self) -> Labels:
        """Labels of the counts of a tally: reports of each kind, or support for each answer."""
        labels: Labels = self.design.domain
        return labels

    @property
    def support_size(self) -> int | None:
        """Number of columns in which one report is counted; None if it varies."""
        return 1

    @property
    def exclusive(self) -> bool:
        """True if each report is counted exactly once: counts then sum to n, and are multinomial."""
        return self.support_size == 1

    @property
    def k(self) -> int:
        """Number of possible answers."""
        return int(self.design.k)

    @property
    def types(self) -> ReportTypes | None:
        """Types of reports that a tally counts besides the columns; None if the columns are enough."""
        return None

    @property
    def sufficient(self) -> Sufficient | None:
        """Name of the statistic that determines the likelihood; None if only the reports themselves do."""
        return "counts" if self.exclusive else None

    @property
    def linear(self) -> LinearEstimator:
        """Unbiased linear estimator of the shares."""
        return LinearEstimator(self)

    def count(
        self, reports: Counts, amounts: Counts | None = None, *, group: Integers | None = None, groups: int = 1
    ) -> Counted:
        """Count reports: in each column, in all, and of each type if there are types.

        `amounts` are the frequencies or weights of the reports. With `group`, the index of each report's group, counts
        are of shape (groups, columns) and numbers of shape (groups,).
        """
        counted = self._count(reports, amounts, group, groups)
        if group is not None:
            return counted
        counts, n, histogram = counted
        return Counted(counts[0], n[0], None if histogram is None else histogram[0])

    def _count(self, reports: Counts, amounts: Counts | None, group: Integers | None, groups: int) -> Counted:
        """Count reports by group; without groups, all of them as one."""
        width = len(self.columns)
        index = reports if group is None else reports + group * width
        counts = added_up(index, amounts, groups * width).reshape(groups, width)
        return Counted(counts, counts.sum(axis=-1))

    def probabilities(self, shares: Array) -> Array:
        """Return the probability of each column in populations with these shares, of shape (..., k)."""
        return self.likelihood().forward(shares)

    def bounds(self) -> ProbabilityBounds:
        """Return the range of the probability of each column over all answers."""
        matrix = self._matrix
        return ProbabilityBounds(matrix.min(axis=0), matrix.max(axis=0))

    def simulate(self, shares: ArrayLike, n: int, *, rng: np.random.Generator, size: Size = None) -> Integers:
        """Draw counts of n respondents, a sample of a population with these shares; see `reports_of_population`."""
        theta = checked_shares(shares, self.k, complete=self.exhaustive)
        _refuse_generator(rng)
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n <= LARGEST_TOTAL:
            raise ValueError(f"n must be a whole number of respondents, from 0 to 2^53, but got {n!r}")
        return self._draw_counts(theta, int(n), rng, _shape(size))

    def simulate_people(self, people: ArrayLike, *, rng: np.random.Generator, size: Size = None) -> Integers:
        """Draw counts of respondents with these numbers of true answers; see `reports_of_people`."""
        numbers, k = np.asarray(people), self.k
        whole = numbers.dtype.kind in "iu" and numbers.shape == (k,) and not (numbers < 0).any()
        if not whole or numbers.sum(dtype=np.float64) > LARGEST_TOTAL:
            raise ValueError(
                f"true_counts must be {k:,} whole numbers of at least 0, one for each answer, that sum to at most "
                f"2^53, but got shape {numbers.shape} of {numbers.dtype}"
            )
        _refuse_generator(rng)
        return self._draw_counts_of_people(numbers.astype(np.int64), rng, _shape(size))

    def readout(
        self,
        counts: Counts,
        n: Array,
        sets: Sets | None = None,
        *,
        minus: Sets | None = None,
        target: str = "population",
        histogram: Counts | None = None,
    ) -> SamplingModel:
        """Return the sampling model of the share of each set of answers, or of each answer, in counts of all groups.

        Counts have shape (groups, columns). With `minus`, the difference of two shares: of each set and of the one at
        the same place in `minus`. `n` is the number of reports, of shape (groups, 1). `target`, for standard errors:
        the share in the "population" that the respondents are a sample of, or the "realised" one among them.
        `histogram` counts the types of reports, of shape (groups, types), where a tally has it.
        """
        return self.sampling_model(Estimand(sets, minus, target), counts, n, histogram)

    def _draw_counts(self, shares: Array, n: int, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        """Draw counts of n sampled respondents, one at a time unless each report is counted once."""
        if self.exclusive:
            reported = self.probabilities(shares)
            return rng.multinomial(n, reported / reported.sum(), size=shape)
        drawn = rng.multinomial(n, shares / shares.sum(), size=shape)
        rows = [self._draw_counts_of_people(people, rng) for people in drawn.reshape(-1, self.k)]
        return np.array(rows, dtype=np.int64).reshape(*shape, len(self.columns))

    def _draw_counts_of_people(self, people: Integers, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        """Draw counts of respondents with these true answers, one at a time."""
        rows = np.zeros((int(np.prod(shape)), len(self.columns)), dtype=np.int64)
        ends = people.cumsum()
        for index in range(len(rows)):
            for start in range(0, int(people.sum()), PEOPLE_AT_ONCE):
                who = np.arange(start, min(start + PEOPLE_AT_ONCE, int(people.sum())))
                rows[index] += self.count(self.design.draw(ends.searchsorted(who, side="right"), rng.bytes)).counts
        return rows.reshape(*shape, len(self.columns))

    @once_per_design
    def _matrix(self) -> Array:
        matrix = self.likelihood().matrix
        if matrix is None:
            raise self.design._too_large_for_a_matrix()
        table = matrix()
        table.flags.writeable = False
        return table

    @once_per_design
    def _inverse(self) -> Array:
        weights = inverse(self._matrix)
        weights.flags.writeable = False
        return weights

    @once_per_design
    def _identifiable(self) -> Mask:
        undone = self._matrix @ self._inverse
        return np.asarray(np.abs(undone - np.eye(self.k)).max(axis=0) <= INVERSE_TOLERANCE)


class OperatorLaw(Law):
    """Law of a bare channel operator: counts of the reports of each kind."""

    def __init__(self, operator: ChannelOperator) -> None:
        super().__init__(None)
        self._operator = operator

    @property
    def k(self) -> int:
        return self._operator.shape[0]

    @property
    def columns(self) -> range:
        return range(self._operator.shape[1])

    def likelihood(self, reports: Counts | None = None) -> ChannelOperator:
        return self._operator

    def bounds(self) -> ProbabilityBounds:
        """Return bounds of the probability of each report; only those that are 0 are known to be attained."""
        return ProbabilityBounds(0.0, np.minimum(self._operator.forward(np.ones(self.k)), 1))

    def sampling_model(
        self, estimand: Estimand, counts: Counts, n: Array, histogram: Counts | None = None
    ) -> SamplingModel:
        raise TypeError("a channel operator has no sampling model of shares; give the design")


class LinearEstimator:
    """Unbiased linear estimator of the shares: a weight for each column and answer.

    The weights are those of weighted least squares: each report counts by its probability if all answers were equally
    common. With them the shares sum to one. Families of designs override what they have in closed form.
    """

    def __init__(self, law: Law) -> None:
        self.law: Any = law

    def weights(self) -> Array:
        """Return the weights, a row for each column and a column for each answer.

        Where answers are not distinguishable, their shares are the nearest that observed shares can lead to.
        """
        return np.asarray(self.law._inverse)

    def apply(self, observed: Array) -> Array:
        """Return unbiased shares from observed shares of the columns, of shape (..., columns)."""
        return np.asarray(observed @ self.weights())

    def identifiable(self) -> Mask:
        """Return True for each answer whose share is identified."""
        return np.asarray(self.law._identifiable)

    def influence(self) -> float:
        """Return the largest change of one share, times n, if one report changes."""
        return float(np.ptp(self.weights(), axis=0).max())

    def largest_support(self) -> int:
        """Return the largest number of answers that one report supports."""
        return int(self.law.k if self.law.support_size is None else self.law.support_size)

    def second_moments(self, memberships: Array) -> Array:
        """Return the mean square of one report's score given each answer, for the sum of shares with these memberships.

        Memberships have shape (k,). Infinite where the sum is not identified.
        """
        law, boundless = self.law, float(LARGEST_TOTAL)  # large enough that the terms added to counts vanish
        probabilities = law.probabilities(np.eye(law.k))  # each row: all have one answer
        n = np.full((law.k, 1), boundless)
        readout = law.readout(boundless * probabilities, n, LinearCombination(memberships[np.newaxis]))
        return np.asarray(boundless * readout.squared_errors()[:, 0] + memberships**2)


def checked_shares(shares: ArrayLike, k: int, *, name: str = "shares", complete: bool = True) -> Array:
    """Return shares of k answers as an array; raise an error unless they are a distribution.

    Unless the list of answers is `complete`, shares may sum to less than one.

    >>> checked_shares([1, 0], 2)
    array([1., 0.])
    """
    try:
        theta = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {k:,} numbers, but got {reprlib.repr(shares)}") from None
    if theta.shape == (k,) and (theta >= 0).all():
        total = float(theta.sum())
        if abs(total - 1) <= SUM_TOLERANCE or (not complete and total < 1):
            return theta
    found = f"the sum {theta.sum():.9g}" if theta.shape == (k,) else f"shape {theta.shape}"
    smallest = f" and the smallest share {theta.min():.3g}" if theta.size and not (theta >= 0).all() else ""
    rule = "sum to 1" if complete else "sum to at most 1"
    raise ValueError(f"{name} must be {k:,} shares of at least 0 that {rule}, but got {found}{smallest}")


def _shape(size: Size) -> Shape:
    return () if size is None else size if isinstance(size, tuple) else (int(size),)


def _refuse_generator(rng: object) -> None:
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(1), but got {rng!r}")
