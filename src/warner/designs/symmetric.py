r"""Symmetric designs: reports support sets of answers, each at odds of a : b against each other answer.

Randomized response is the case of sets with one member. All of them share the closed forms, the intervals of single
answers and the law of weighted support below: they follow from p, q and the law of pairs alone.

Designs made from odds or from epsilon: their constructor, their file, their summary, and the best for an epsilon.

Such a design follows from its domain, its odds :math:`a : b` and perhaps a few whole numbers: the size of a set, the
bits of a report, a prime field. Odds are taken as they are written, or rounded down from epsilon; numbers that are left
out are the best ones for these odds. A mechanism defines its numbers, with their limits (`_numbers`),
the best values (`_best`) and the invalid combinations (`_check`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from warner.designs.bits import bit_sums
from warner.designs.contract import LARGEST_CHANNEL, Design, revealed
from warner.designs.exact import TOTAL_LIMIT, odds_as_given, odds_from_epsilon, odds_from_json, whole_number
from warner.designs.facts import (
    ChannelOperator,
    Counted,
    Estimand,
    LinearCombination,
    ProbabilityBounds,
    SamplingModel,
    Symmetry,
    contrast_moments,
    sizes_of,
    summed,
)
from warner.designs.labels import (
    Domain,
    Labels,
    canonical,
    first_and_last,
    label_list,
    labels_from_json,
    labels_to_json,
)
from warner.designs.law import Law, LinearEstimator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from warner.arrays import Array, Counts, Integers, Mask, Sets
    from warner.designs.exact import Number, Odds
    from warner.documents import Document

    Product = Callable[[Array], Array]

# Symmetric


class Symmetric(Design):
    """A design whose reports support sets of answers, each at odds of a : b against each other answer.

    The likelihood of answer i after a report with support S is in proportion to a if i is in S, to b if not: that is
    epsilon, and the whole law. What is counted is how often each answer was supported.

    Attributes
    ----------
    odds : tuple of int
        ``(a, b)`` in lowest terms.
    """

    odds: tuple[int, int]

    @property
    def law(self) -> SymmetricLaw:
        return SymmetricLaw(self)

    @property
    @abstractmethod
    def symmetry(self) -> Symmetry:
        """Probabilities that a report supports the true answer, and another one."""

    @property
    def _support_size(self) -> int | None:
        """Number of answers that a report supports; None if it varies."""
        return 1

    @property
    def _largest_support(self) -> int:
        """Largest number of answers that a report supports, if it varies."""
        return self.k

    @abstractmethod
    def supports(self, reports: Counts) -> Mask:
        """Return which answers each report supports, a row for each report."""

    @property
    def ratio(self) -> tuple[int, int]:
        a, b = sorted(self.odds)
        return a, b

    @property
    def p(self) -> float:
        """The probability that a report supports the true answer."""
        return float(self.symmetry.p)

    @property
    def q(self) -> float:
        """The probability that a report supports a given other answer."""
        return self.symmetry.base


class SymmetricLaw(Law):
    """Law of a design whose reports support sets of answers: it follows from the symmetry."""

    design: Symmetric

    @property
    def symmetry(self) -> Symmetry:
        return self.design.symmetry

    @property
    def support_size(self) -> int | None:
        return self.design._support_size

    def probabilities(self, shares: Array) -> Array:
        return np.asarray(self.design.q * shares.sum(axis=-1, keepdims=True) + self.symmetry.gain * shares)

    def _count(self, reports: Counts, amounts: Counts | None, group: Integers | None, groups: int) -> Counted:
        if self.exclusive:  # then a report is the answer that it supports
            return super()._count(reports, amounts, group, groups)
        kind = np.int64 if amounts is None else amounts.dtype
        counts, n = np.zeros((groups, self.k), dtype=kind), np.zeros(groups, dtype=kind)
        step = max(1, 2**22 // self.k)
        for start in range(0, len(reports), step):
            part = slice(start, start + step)
            weights, index = (None if each is None else each[part] for each in (amounts, group))
            sums, numbers = bit_sums(np.packbits(self.design.supports(reports[part]), axis=1), weights, index, groups)
            counts, n = counts + sums[:, : self.k], n + numbers
        return Counted(counts, n)

    @property
    def linear(self) -> SymmetricEstimator:
        return SymmetricEstimator(self)

    def bounds(self) -> ProbabilityBounds:
        """Return p and q in order; if counts sum to n, one side implies the other."""
        p, q = self.design.p, self.design.q
        if not self.exclusive:
            return ProbabilityBounds(min(p, q), max(p, q))
        return ProbabilityBounds(q, None) if p > q else ProbabilityBounds(None, q)

    def likelihood(self, reports: Counts | None = None) -> ChannelOperator:
        """Return the likelihoods: b for every answer, and a - b more for supported answers.

        Without reports, the channel of an exclusive design, as products: q for all answers, and p - q more for one.
        """
        if reports is None and self.exclusive:
            q, gain = self.design.q, self.symmetry.gain
            return ChannelOperator(
                (self.k, self.k),
                lambda x: q * x.sum(axis=-1, keepdims=True) + gain * x,
                lambda w: q * w.sum(axis=-1, keepdims=True) + gain * w,
                self._table if self.k <= LARGEST_CHANNEL else None,
                lambda w: gain**2 * w,
            )
        if reports is None:
            raise ValueError(
                f"a {self.design.mechanism} counts support, of which the likelihood is not known; give the reports "
                "themselves"
            )
        a, b = (float(part) / max(self.design.odds) for part in self.design.odds)
        supported, supporting = self._support_products(reports)
        return ChannelOperator(
            (self.k, len(reports)),
            lambda x: b * x.sum(axis=-1, keepdims=True) + (a - b) * supported(x),
            lambda w: b * w.sum(axis=-1, keepdims=True) + (a - b) * supporting(w),
            lambda: np.where(self.design.supports(reports).T, a, b),
            lambda w: (a - b) ** 2 * supporting(w),
        )

    def _support_products(self, reports: Counts) -> tuple[Product, Product]:
        """Return products with the matrix of supported answers, of shape (answers, reports), and with its transpose."""
        support = self.design.supports(reports).astype(np.float64)
        return lambda shares: shares @ support.T, lambda weights: weights @ support

    def _table(self) -> Array:
        table = np.full((self.k, self.k), self.design.q)
        np.fill_diagonal(table, self.design.p)
        return table

    def sampling_model(
        self, estimand: Estimand, counts: Counts, n: Array, histogram: Counts | None = None
    ) -> SamplingModel:
        """Return the sampling model: binomial for an answer, for all but one, and where reports count once.

        A set of m answers has the weights 1 - m/K inside and -m/K outside: that its share and the rest are one is used,
        which makes the variance that of the noise in m (1 - m/K) answers. It grows with m up to the half of all.
        """
        sets, minus, target = estimand
        if isinstance(sets, LinearCombination):
            model = SamplingModel(n, n, 0.0, 1.0, np.zeros(len(sets), dtype=bool))
        else:
            model = self._binomial_model(counts, n, sets, minus)
        if sets is None or np.all(model.exact):
            return model
        share, mean, square = self._moments(self._evidence(counts), n, sets, minus)
        if target == "population":
            variance = self._variance(sets, minus, mean, square, n, histogram)
        else:  # without sampling variance
            variance = self._noise(sets, minus, square, counts, n)
        error = np.sqrt(np.maximum(variance, 0) / n) / abs(self._gain)
        scores = self._scores(sets) if minus is None else None
        return model.with_scores_where_not_binomial(n, share, error, scores)

    def _moments(self, evidence: Counts, n: Array, sets: Sets, minus: Sets | None) -> tuple[Array, Array, Array]:
        """Return unbiased shares of sets, less those of `minus`, and mean and mean square of the weights.

        The moments are those among the respondents, with one report added that supports half of the answers, of shape
        (groups, sets).
        """
        scale, more = n * self._gain, (n + 1) * self._gain
        if isinstance(sets, LinearCombination):
            level = sets.memberships.mean(axis=-1)
            weights = sets.memberships - level[:, np.newaxis]
            weighted, squares = evidence @ weights.T, weights**2
            mean = np.clip(weighted / more, weights.min(axis=-1), weights.max(axis=-1))
            average = squares.mean(axis=-1)
            square = average + evidence @ (squares - average[:, np.newaxis]).T / more
            return level + weighted / scale, mean, np.clip(square, mean**2, squares.max(axis=-1))
        sizes = sizes_of(sets)
        count = summed(evidence, sets).astype(np.float64)
        everything = evidence.sum(axis=-1, keepdims=True).astype(np.float64)
        other = np.zeros_like(count) if minus is None else summed(evidence, minus).astype(np.float64)
        others = np.zeros_like(sizes) if minus is None else sizes_of(minus)
        level = (sizes - others) / self.k
        first, second = (
            np.clip(m / self.k + (c - m / self.k * everything) / more, 0, 1)
            for c, m in ((count, sizes), (other, others))
        )
        return level + (count - other - level * everything) / scale, *contrast_moments(first, second, level)

    @property
    def _gain(self) -> float:
        """Increase of the mean evidence of a report for an answer, per unit of its share."""
        return self.symmetry.gain

    def _evidence(self, counts: Counts) -> Counts:
        """Return sums for each answer whose sums with weights, which sum to zero, are unbiased for those of shares."""
        return counts

    def _binomial_model(self, counts: Counts, n: Array, sets: Sets | None, minus: Sets | None) -> SamplingModel:
        """Return binomial counts, and which of them are `exact`."""
        q, gain = self.design.q, self.symmetry.gain
        if sets is None:
            return SamplingModel(counts, n, q, gain, np.True_)  # the counts as they are: equal ones stay equal
        sizes = sizes_of(sets)
        count = summed(counts, sets).astype(np.float64)
        # A report is in the set or not: where it counts once, of one answer, and of all but one.
        but_one = (sizes == self.k - 1) & (sizes > 1) & (not self.exclusive)
        binomial = np.asarray((self.exclusive | (sizes == 1) | but_one) & (minus is None))
        counted = np.where(but_one, n - counts.sum(axis=-1, keepdims=True).astype(np.float64) + count, count)
        base = np.asarray(np.where(but_one, 1 - self.design.p, sizes * q), dtype=np.float64)
        return SamplingModel(counted, n, base, gain, binomial)

    def _scores(self, sets: Sets) -> tuple[Array, Array]:
        """Bounds of one report's score: level + weights of at most `support_size` answers / (p - q).

        For sets of m answers the level is m/K.
        """
        s = self.support_size
        if isinstance(sets, LinearCombination):
            level = sets.memberships.mean(axis=-1)
            ordered = np.sort(sets.memberships - level[:, np.newaxis], axis=-1)
            if s is None:
                least, most = np.minimum(ordered, 0).sum(axis=-1), np.maximum(ordered, 0).sum(axis=-1)
            else:
                least, most = ordered[:, :s].sum(axis=-1), ordered[:, -s:].sum(axis=-1)
        else:
            sizes = sizes_of(sets)
            level = sizes / self.k
            if s is None:  # at most all answers of the set and no other, at least all others alone
                most = sizes * (1 - level)
                least = -most
            else:
                least, most = np.maximum(s + sizes - self.k, 0) - level * s, np.minimum(s, sizes) - level * s
        ends = level + least / self.symmetry.gain, level + most / self.symmetry.gain
        return np.minimum(*ends), np.maximum(*ends)

    def _variance(
        self, sets: Sets, minus: Sets | None, mean: Array, square: Array, n: Array, histogram: Counts | None
    ) -> Array:
        """Variance of the weighted support t of one report.

        For any weights w of the answers that sum to zero, with W2 the sum of their squares, t depends on the answer x
        that is held through w_x alone:

            E t   = (p-q) w_x
            E t^2 = q W2 + (p-q) w_x^2 - neither W2 - 2 (both - neither) w_x^2
        """
        q, gain = self.design.q, self.symmetry.gain
        both, neither = float(self.symmetry.both), float(self.symmetry.neither)
        squares = centered_squares(sets, minus, self.k)
        variance: Array = (q - neither) * squares + (gain - 2 * (both - neither)) * square - (gain * mean) ** 2
        return variance

    def _noise(self, sets: Sets, minus: Sets | None, square: Array, counts: Counts, n: Array) -> Array:
        """Variance of the weighted support of one report given the answer, averaged over the respondents.

        That is E t^2 - (E t)^2 for each answer, and never a difference of two estimates, which would cancel with little
        noise.
        """
        return self._variance(sets, minus, np.sqrt(square), square, n, None)

    def _variance_given(self, memberships: Array) -> Array:
        """Variance of the weighted support of one report given each answer."""
        weights, sets = memberships - memberships.mean(), LinearCombination(memberships[np.newaxis])
        return self._variance(sets, None, weights, weights**2, np.ones(1), None)


def centered_squares(sets: Sets, minus: Sets | None, k: int) -> Array:
    """Return the sum of the squared weights of each set, less `minus`, with weights that sum to zero."""
    sizes, others = sizes_of(sets), 0 if minus is None else sizes_of(minus)
    members = (sets.memberships**2).sum(axis=-1) if isinstance(sets, LinearCombination) else sizes
    return np.asarray(members + others - (sizes - others) ** 2 / k)


class SymmetricEstimator(LinearEstimator):
    """Unbiased shares (c / n - q) / (p - q)."""

    law: SymmetricLaw

    def influence(self) -> float:
        """Return 1 / |p - q|, the change of a share, times n, if one report changes."""
        a, b, total = self.law.symmetry.whole
        return total / abs(a - b) if a != b else math.inf

    def largest_support(self) -> int:
        return self.law.design._largest_support if self.law.support_size is None else self.law.support_size

    def second_moments(self, memberships: Array) -> Array:
        return np.asarray(self.law._variance_given(memberships) / self.law._gain**2 + memberships**2)


# Odds


class NumberReader(Protocol):
    """Reader of a whole number from `low` to `high`, in words for a file `highest`; None if it was left out."""

    def __call__(self, name: str, low: int, high: int, highest: str = "") -> Any: ...


class Budget(NamedTuple):
    """The privacy budget of a design: epsilon, or odds as they are written; one of the two is given."""

    epsilon: Number | None = None
    odds: Odds | None = None

    def odds_within(self, k: int, total: Callable[[int, int], int], *, root: int = 1) -> tuple[int, int]:
        """Return the odds, or the `root` of e^epsilon rounded down so that one draw below total(a, b) decides."""
        if self.odds is not None:
            return odds_as_given(self.odds)
        assert self.epsilon is not None
        return odds_from_epsilon(self.epsilon, k, total, root=root)


class FromOdds(Design):
    """A design that follows from its domain, its odds, and the whole numbers of its mechanism."""

    domain: Labels
    odds: tuple[int, int]

    _needs: ClassVar[str] = "either epsilon or odds"
    _fixed_fields: ClassVar[Mapping[str, str]] = {}  # what the file of every such design says
    _retained_names: ClassVar[tuple[str, ...]] = ()  # attributes that `with_epsilon` keeps besides the domain
    _certain: ClassVar[str] = "that every answer outside its set is not the truth"  # what a report reveals if b is 0

    def __init__(
        self, domain: Domain, *, epsilon: Number | None = None, odds: Odds | None = None, **numbers: Any
    ) -> None:
        if (epsilon is None) == (odds is None):
            got = "none of them" if epsilon is None else "both"
            raise TypeError(f"a {self.mechanism} needs {self._needs}, but got {got}")

        def given(name: str, low: int, high: int, highest: str = "") -> int | None:
            value = numbers[name]
            return None if value is None else whole_number(name, value, low, high)

        labels = canonical(domain)
        k = len(labels)
        choices = numbers | self._numbers(k, given)
        self._set(domain=labels, **self._best(k, Budget(epsilon, odds), **choices))
        self._check()

    # A mechanism defines these

    @classmethod
    @abstractmethod
    def _best(cls, k: int, budget: Budget, *args: Any, **given: Any) -> dict[str, Any]:
        """Return the attributes besides the domain: given ones, and the best values of the others."""

    @classmethod
    def _numbers(cls, k: int, number: NumberReader) -> dict[str, Any]:
        """Read the numbers besides the odds, each within its limits, in the order of the file."""
        return {}

    def _check(self) -> None:
        """Raise an error if attributes do not fit together."""

    def _retained(self) -> dict[str, Any]:
        """Return the parameters that `with_epsilon` keeps besides the domain."""
        return {name: getattr(self, name) for name in self._retained_names}

    @abstractmethod
    def _happens(self) -> str:
        """Describe what happens to an answer."""

    @abstractmethod
    def _deniable(self) -> str:
        """Describe the share of truthful reports if all answers were equally likely."""

    # Derived from these

    @classmethod
    def _make(cls, **attributes: Any) -> Self:
        """Make a design with these attributes, which are checked."""
        made = cls.__new__(cls)
        made._set(**attributes)
        made._check()
        return made

    def with_epsilon(self, epsilon: Number) -> Self:
        """Return the best design of this mechanism for the same answers that spends at most this epsilon."""
        return self._make(domain=self.domain, **self._best(self.k, Budget(epsilon), **self._retained()))

    @classmethod
    def variants(cls, domain: Domain, epsilon: Number, quantity: str = "shares") -> Mapping[str, Design]:
        """Return the best design of this mechanism that spends at most this epsilon."""
        return {cls.mechanism: cls(domain, epsilon=epsilon)}

    def fields(self) -> Document:
        return {
            "domain": labels_to_json(self.domain),
            "odds": [str(part) for part in self.odds],
            **self._fixed_fields,
            **self._numbers(self.k, lambda name, *_: getattr(self, name)),
        }

    @classmethod
    def from_fields(cls, fields: Document) -> Self:
        for name, value in cls._fixed_fields.items():
            if fields[name] != value:
                raise ValueError(f'this design is damaged: {name} must be "{value}"')
        labels = canonical(labels_from_json("domain", fields["domain"]))
        numbers = cls._numbers(len(labels), partial(number_from_json, fields))
        return cls._make(domain=labels, odds=odds_as_given(odds_from_json(fields["odds"])), **numbers)

    def sentences(self) -> tuple[str, ...]:
        return (
            label_list("answers", self.domain),
            f"Randomization: {self._happens()}",
            self._reveals(),
            f"Deniability: if all answers are equally common, {self._deniable()}",
        )

    def _reveals(self) -> str:
        return revealed(self) if self.odds[1] else f"Privacy: a report reveals {self._certain} (epsilon inf)."


class OddsDesign(FromOdds, Symmetric):
    """A design made from odds whose reports support sets of answers."""

    _each_other: ClassVar[str] = "each other"  # what an answer that is not held is called in the summary
    _opening: ClassVar[str]  # the beginning of the summary, in which {0} is the design

    def summary(self) -> str:
        return (
            f"{self._opening.format(self)} {self.k} answers ({first_and_last(self.domain)}): truth {self.p:.4g}, "
            f"{self._each_other} {self.q:.4g}, epsilon {self.shown_epsilon()}"
        )


def number_from_json(fields: Document, name: str, low: int, high: int, highest: str = "") -> int:
    value = fields[name]
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"this design is damaged: {name} must be a whole number from {low} to {highest or high}")
    return value


def refuse_even(a: int, b: int) -> None:
    """Raise an error unless the odds favor the answers of the reported set."""
    if not a > b:
        raise ValueError(f"odds must be larger for a set with the true answer, a > b, but got {a} : {b}")


def refuse_odds(a: int, b: int, total: int) -> None:
    """Raise an error unless the odds favor the answers of the reported set and one draw can decide a report."""
    refuse_even(a, b)
    if total >= TOTAL_LIMIT:
        raise ValueError(
            "odds must be a : b with few enough digits for one draw below 2^62 to decide a report, but got "
            f"{a} : {b}, which needs {total:,}; give fewer digits, a smaller epsilon or fewer answers"
        )
