"""Properties of a design: Symmetry (p and q), SamplingModel, ProbabilityBounds, ChannelOperator (likelihoods)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.text import check_choice

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask, Sets
    from warner.designs.labels import Labels
    from warner.designs.law import Law, OperatorLaw


NOBODY = 1e-9  # trials of an answer that no report covers: its interval is 0 to 1


class Symmetry(NamedTuple):
    r"""Response probabilities that all answers share.

    Of the reports that cover an answer, a fraction p supports it if it is the true answer, and a fraction q if not. A
    report covers a given answer with probability `asked`. It supports two given answers together with probability
    `both` if one of them is the true answer, and `neither` if not. Both are 0 where a report supports one answer at
    most. Where `neither` depends on the answers, as in a finite geometry, it is the average over all of them; with
    `pairs_alike` it is the same for all pairs.
    """

    p: Fraction
    q: Fraction
    asked: Fraction = Fraction(1)
    both: Fraction = Fraction(0)
    neither: Fraction = Fraction(0)
    pairs_alike: bool = False

    @property
    def base(self) -> float:
        return float(self.q)

    @property
    def gain(self) -> float:
        """The difference p - q: the increase of the probability of support per unit of the share."""
        return float(self.p) - float(self.q)

    @property
    def whole(self) -> tuple[int, int, int]:
        """Whole numbers (a, b, total) in lowest terms, with p = a / total and q = b / total.

        >>> Symmetry(Fraction(1, 2), Fraction(1, 6)).whole
        (3, 1, 6)
        """
        total = math.lcm(self.p.denominator, self.q.denominator)
        return int(self.p * total), int(self.q * total), total

    @property
    def variance_of_absent(self) -> Fraction:
        """Variance of the unbiased share of an answer that no respondent has, for one report on average.

        >>> Symmetry(Fraction(3, 4), Fraction(1, 4), Fraction(1, 2)).variance_of_absent  # twice 3/4
        Fraction(3, 2)
        """
        return self.share_variance(Fraction(0))

    def share_variance(self, share: Fraction) -> Fraction:
        """Variance of the unbiased estimate of one share, for one report.

        >>> Symmetry(Fraction(3, 4), Fraction(1, 4)).share_variance(Fraction(1, 2))  # (1/2 * 1/2) / (1/2)^2
        Fraction(1, 1)
        """
        counted = self.q + (self.p - self.q) * share
        return counted * (1 - counted) / (self.p - self.q) ** 2 / self.asked

    def total_variance(self, k: int) -> Fraction:
        """Sum of the variances of the unbiased estimates of k equal shares, for one report.

        Equal shares are the worst case. If every report covers every answer, the total in another population is
        smaller by the same amount for every design: sampling error is 1 less the sum of squared shares.

        >>> Symmetry(Fraction(3, 4), Fraction(1, 4)).total_variance(2)
        Fraction(2, 1)
        """
        return k * self.share_variance(Fraction(1, k))


class Counted(NamedTuple):
    """Counts by column, (columns,), in all, (), and by type, (types,), if there are types; groups come first."""

    counts: Counts
    n: Counts
    histogram: Counts | None = None


# Targets of intervals: the population that was sampled, or the respondents themselves.
TARGETS = {"population": "share in the population", "realised": "share among these people"}


def check_target(target: str) -> None:
    """Raise an error for an unknown target."""
    check_choice("target", target, TARGETS)


class Estimand(NamedTuple):
    """Shares to estimate: of each of these sets of answers, or of each answer if None; and for which target.

    With `minus`, differences of two shares: of each set and of the set at the same index in `minus`.
    """

    sets: Sets | None = None
    minus: Sets | None = None
    target: str = "population"


@dataclass(frozen=True, eq=False)
class Drawn:
    """Variance of shares in a complex sample: arrays of shape (groups, sets), or that broadcast to it.

    The variance is the design-based one over the part of it that a small domain shows on average, or that of a simple
    sample where the design shows none. The floor is that of the randomization alone, given the true answers, which no
    sample design removes. Nothing is known about the variance between clusters for a group in one cluster, a blind one.
    """

    freedom: Array  # degrees of freedom of the variance, at most the effective sample size less one
    people: Array  # number of respondents
    worth: Array  # effective sample size by weights alone (Kish), larger in finite populations; infinite in a census
    variance: Array  # for intervals
    simple: Array  # variance in a simple sample of this worth
    floor: Array
    floored: Mask  # the floor exceeds the design-based variance
    blind: Mask


@dataclass(frozen=True, eq=False)
class SamplingModel:
    """Sampling model of the shares of sets of answers in one collection: arrays of shape (groups, sets), or broadcast.

    Of `trials` reports `count` were counted, each with probability base + gain * share: exactly binomial where `exact`.
    Trials are all reports of a group, or those that cover the answer, which differ between sets. Elsewhere
    count / trials is an unbiased mean of scores (base 0, gain 1) with standard error `error`, infinite if the share is
    not identified. `scores` bound the score of one report; None for differences of shares. The shares of `fuzzy` sets
    are means of memberships.

    In a complex sample, trials are the effective sample size of each set, `error` is the design-based standard error,
    zero where the sample shows no variance, and `drawn` holds what intervals need besides.
    """

    count: Counts
    trials: Array
    base: Array | float
    gain: Array | float
    exact: Mask | np.bool_
    error: Array | None = None
    scores: tuple[Array, Array] | None = None
    fuzzy: bool = False
    drawn: Drawn | None = None

    @property
    def freedom(self) -> Array | None:
        """Degrees of freedom of the design-based variances; None in a simple random sample."""
        return None if self.drawn is None else self.drawn.freedom

    def with_scores_where_not_binomial(
        self, n: Array, share: Array, error: Array, scores: tuple[Array, Array] | None
    ) -> SamplingModel:
        """Replace all counts that are not binomial by the mean scores of n respondents."""
        exact = self.exact
        return SamplingModel(
            np.where(exact, self.count, n * share),
            n if self.trials is n else np.where(exact, self.trials, n),
            np.where(exact, self.base, 0.0),
            np.where(exact, self.gain, 1.0),
            exact,
            error,
            scores,
        )

    def share(self) -> Array:
        """Unbiased estimate of each share."""
        return np.asarray((self.count / self.trials - self.base) / self.gain)

    def squared_errors(self, target: str = "population") -> Array:
        """Squared standard error of each share."""
        counted = np.clip(self.count / self.trials, 0, 1)
        if target != "population":  # respondents inside and outside of the set are counted independently
            one, none = np.clip(self.base + self.gain, 0, 1), np.clip(self.base, 0, 1)
            share = np.clip(self.share(), 0, 1)
            binomial = (share * one * (1 - one) + (1 - share) * none * (1 - none)) / self.trials
        else:
            binomial = counted * (1 - counted) / self.trials
        squares = binomial / np.square(self.gain)
        return np.asarray(squares if self.error is None else np.where(self.exact, squares, np.square(self.error)))


class BinomialReports(NamedTuple):
    """Reports whose number is binomial in a share, base + gain * share, `among` all reports or an ancillary part."""

    reports: Mask
    base: float
    gain: float
    among: Mask | None = None


class ProbabilityBounds(NamedTuple):
    """Range of the probability of each column over all answers; None if the other side implies it."""

    least: Array | float | None
    most: Array | float | None

    @property
    def law(self) -> Array | None:
        """The probabilities, if they are the same after every answer; else None."""
        if self.least is None or self.most is None or not np.all(np.equal(self.least, self.most)):
            return None
        return np.asarray(self.least, dtype=np.float64)

    @property
    def noiseless(self) -> bool:
        """Return True if the design adds no noise, so that no misfit can be detected."""
        least, most = (0.0 if self.least is None else self.least), (1.0 if self.most is None else self.most)
        return bool(np.all(np.equal(least, 0)) and np.all(np.equal(most, 1)))


class Ancillary(NamedTuple):
    """Ancillary statistic of a report: its distribution is the same after every answer.

    `classes` holds for each type of report the number of the class that it belongs to, and `law` the probability of
    each class. If they are `ordered`, these numbers mean an amount, so that their average does, too.
    """

    name: str
    classes: Integers
    law: Array
    ordered: bool

    @property
    def of_each_type(self) -> bool:
        """True if each type is a class of its own."""
        return len(self.classes) == len(self.law)


class ReportTypes(ABC):
    """Types of reports that a tally counts besides the columns: single reports of a block design, or sizes of sets.

    Attributes
    ----------
    labels : tuple or range
        The types, in the order of a histogram.
    name : str
        Plural noun for them, for messages.
    """

    labels: Labels
    name: str = "report values"

    def __len__(self) -> int:
        return len(self.labels)

    @abstractmethod
    def bounds(self) -> ProbabilityBounds:
        """Return the range of the probability of each type over all answers."""

    def ancillary(self) -> Ancillary | None:
        """Return classes of types whose distribution no answer changes: the types themselves; None if none is known."""
        law = self.bounds().law
        return None if law is None else Ancillary(self.name, np.arange(len(law)), law, ordered=True)

    def support(self, histogram: Counts) -> Counts | None:
        """Return the counts that follow from a histogram of types, of shape (..., types); None where they do not."""
        return None

    def total_support(self, histogram: Counts) -> Counts | None:
        """Return the sum of the counts that follows from a histogram of types; None where it is not known."""
        return None


class Nested(Sequence[Any]):
    """Nested sets: the first answers of an order, with these sizes.

    >>> list(Nested(np.array([2, 0, 1]), np.array([1, 3])))
    [[2], [2, 0, 1]]
    """

    def __init__(self, order: Integers, sizes: Integers) -> None:
        self.order, self.sizes = order, sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Nested(self.order, self.sizes[index])
        return self.order[: self.sizes[index]].tolist()


class CumulativeSets(Nested):
    """Sets of the answers up to each answer."""

    def __init__(self, k: int) -> None:
        super().__init__(np.arange(k), np.arange(1, k + 1))


class LinearCombination(Sequence[Any]):
    r"""Linear combinations of shares, or fuzzy sets: rows of memberships, from 0 (outside) to 1 (inside).

    The share of such a set is :math:`\sum_i u_i \theta_i`. A mean of numbers x from a to b is
    :math:`a + (b - a) \sum_i u_i \theta_i` with :math:`u_i = (x_i - a)/(b - a)`: it is the share of a fuzzy set.
    """

    def __init__(self, memberships: Array) -> None:
        self.memberships = memberships

    def __len__(self) -> int:
        return len(self.memberships)

    def __getitem__(self, index: Any) -> Any:
        return self.memberships[index]


def sizes_of(sets: Sets) -> Counts:
    """Count the answers in each set; of a fuzzy set, sum the memberships."""
    if isinstance(sets, Nested):
        return sets.sizes
    if isinstance(sets, LinearCombination):
        return np.asarray(sets.memberships.sum(axis=-1))
    return np.array([len(members) for members in sets], dtype=np.int64)


def memberships(sets: Sets | None, k: int, indices: range | None = None, minus: Sets | None = None) -> Array:
    """Return the sets at `indices`, less `minus`, as rows of memberships 1 and 0; single answers without sets."""
    if minus is not None:
        return memberships(sets, k, indices) - memberships(minus, k, indices)
    if indices is None:
        indices = range(k if sets is None else len(sets))
    if isinstance(sets, LinearCombination):
        return np.asarray(sets.memberships[indices.start : indices.stop])
    rows = np.zeros((len(indices), k))
    for row, index in zip(rows, indices, strict=True):
        row[[index] if sets is None else list(sets[index])] = 1
    return rows


def contrast_moments(first: Array, second: Array, level: Array) -> tuple[Array, Array]:
    """Return mean and mean square of weights 1 inside a set and -1 inside another, less `level`.

    `first` and `second` are the shares of the two sets; respondents with an answer of neither have the weight -`level`.
    """
    held = ((first, 1 - level), (second, -1 - level), (np.maximum(1 - first - second, 0), -level))
    return np.asarray(sum(part * w for part, w in held)), np.asarray(sum(part * w**2 for part, w in held))


def added_up(index: Integers | Sequence[int], amounts: Counts | None, size: int) -> Counts:
    """Sum amounts, 1 each if None, or rows of amounts, by index; sums of whole numbers are whole."""
    if amounts is None:
        return np.bincount(index, minlength=size)
    total = np.zeros((size, *amounts.shape[1:]), dtype=amounts.dtype)
    np.add.at(total, index, amounts)
    return total


def summed(values: Counts, sets: Sets) -> Counts:
    """Sum values, of shape (groups, k), over sets of answers."""
    if isinstance(sets, Nested):
        return np.asarray(values[..., sets.order].cumsum(axis=-1)[..., sets.sizes - 1])
    if isinstance(sets, LinearCombination):
        return np.asarray(values @ sets.memberships.T)
    return np.stack([values[:, list(members)].sum(axis=-1) for members in sets], axis=-1)


def full_symmetry(law: Law) -> Symmetry | None:
    """Return the symmetry if every report covers every answer, so that counts are binomial; else None."""
    symmetry = law.symmetry
    return None if symmetry is None or len(law.columns) != law.k else symmetry


def counts_everyone(law: Law) -> bool:
    """Return True if every report counts for or against every answer.

    If not, the counted respondents are a random part of all, so that a share among all respondents has the sampling
    model of a population share. Its exact distribution is not that of the realized share.
    """
    return law.counted_fraction == 1 and (law.symmetry is None or law.symmetry.asked == 1)


@dataclass(frozen=True)
class ChannelOperator:
    r"""A channel as two products: from shares to probabilities of reports, and the adjoint.

    `warner.ibu`, `warner.channel_mle` and `warner.certificate` accept it in place of a matrix that would be too
    large.

    Attributes
    ----------
    shape : tuple of int
        Number of answers, and of possible reports.
    forward : callable
        Maps shares :math:`\theta` to :math:`\mu_j = \sum_i \theta_i C_{ij}`; leading axes are kept.
    adjoint : callable
        Maps a number for each report to :math:`\sum_j C_{ij} w_j` for each answer; leading axes are kept.
    matrix : callable, optional
        Returns the matrix C, if it is small enough.
    squares : callable, optional
        Maps a number for each report to :math:`\sum_j (C_{ij} - c_j)^2 w_j` for each answer; leading axes kept.
        Any constants :math:`c_j` will do, such as the least entry of each column. With it, `warner.channel_mle` needs
        far fewer products.
    merged : callable, optional
        Takes the places of some answers, gives their rows with reports merged that these answers make likely in
        proportion: a table of shape (answers, stretches), and the stretch of each report. With it, `warner.channel_mle`
        takes any number of answers.

    Examples
    --------
    >>> from warner import channel_mle
    >>> half = ChannelOperator((3, 3), lambda x: (x + np.roll(x, 1)) / 2, lambda w: (w + np.roll(w, -1)) / 2)
    >>> channel_mle([25, 50, 25], half).shares.round(3)
    array([0.5, 0.5, 0. ])
    """

    shape: tuple[int, int]
    forward: Callable[[Array], Array]
    adjoint: Callable[[Array], Array]
    matrix: Callable[[], Array] | None = None
    squares: Callable[[Array], Array] | None = None
    merged: Callable[[Integers], tuple[Array, Integers]] | None = None

    @classmethod
    def of_matrix(cls, matrix: Array) -> ChannelOperator:
        """Return the products with a matrix: a row for each answer, a column for each report.

        >>> ChannelOperator.of_matrix(np.array([[0.75, 0.25], [0.25, 0.75]])).forward(np.array([0.5, 0.5]))
        array([0.5, 0.5])
        """
        return cls(
            (matrix.shape[0], matrix.shape[1]),
            lambda x: x @ matrix,
            lambda w: w @ matrix.T,
            lambda: matrix,
            lambda w: w @ ((matrix - nearer_ends(matrix.min(axis=0), matrix.max(axis=0), matrix.mean(axis=0))) ** 2).T,
        )

    def of_reports(self, reports: Counts) -> ChannelOperator:
        """Return the products with the columns of these reports; the weight of a column is the sum over its reports."""

        def added(weights: Array) -> Array:
            total = np.zeros((self.shape[1], *weights.shape[:-1]))
            np.add.at(total, reports, np.moveaxis(weights, -1, 0))
            return np.moveaxis(total, 0, -1)

        matrix, squares = self.matrix, self.squares
        return ChannelOperator(
            (self.shape[0], len(reports)),
            lambda shares: self.forward(shares)[..., reports],
            lambda weights: self.adjoint(added(weights)),
            None if matrix is None else lambda: matrix()[:, reports],
            None if squares is None else lambda weights: squares(added(weights)),
        )

    @property
    def law(self) -> OperatorLaw:
        """Law of the counts of its reports."""
        from warner.designs.law import OperatorLaw

        return OperatorLaw(self)


def nearer_ends(least: Array, most: Array, average: Array) -> Array:
    """Return for each column the end of its range, least or most, that is nearer to its average."""
    return np.where(2 * average <= least + most, least, most)
