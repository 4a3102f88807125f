r"""Subset selection: report a set of d answers; sets with the true one have odds of a : b against others [1]_.

.. math:: p = \frac{a d}{M}, \qquad q = \frac{d\,(a (d-1) + b (K-d))}{(K-1) M}, \qquad M = a d + b (K-d),

are the probabilities that the set holds the true answer, and a given other one; :math:`\varepsilon = \ln(a/b)`. With
sets of one member it is randomized response. For many answers it is far more precise: at K = 1024 and epsilon 1 the
unbiased share of a rare answer has a 94th of the variance.

A worked number: sets of 2 out of 5 answers at odds 3 : 1. M = 3 * 2 + 1 * 3 = 9, so p = 6/9 and
q = 2 (3 + 3) / (4 * 9) = 1/3.

The others are drawn by selection sampling [2]_, in which the last answer of the domain takes the place of the true one.

References
----------
.. [1] M. Ye, A. Barg, "Optimal schemes for discrete distribution estimation under locally differential privacy", IEEE
   Trans. Inf. Theory 64 (2018), 5662-5676.
.. [2] C. T. Fan, M. E. Muller, I. Rezucha, "Development of sampling plans by using sequential (item by item) selection
   techniques and digital computers", J. Amer. Stat. Assoc. 57 (1962), 387-402.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.bit_vectors import PackedSupport
from warner.designs.draws import Compared, RandomBytes, bernoulli, in_batches, selection, selections
from warner.designs.exact import TOTAL_LIMIT, Number, Odds, exact, odds_as_given, odds_not_above
from warner.designs.facts import Symmetry
from warner.designs.report_forms import BitForm
from warner.designs.symmetric import Budget, NumberReader, OddsDesign, refuse_even
from warner.numerics import first_true

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Mask
    from warner.designs.labels import Domain, Labels

SETS_AT_ONCE, SET_BYTES_AT_ONCE = 2**17, 2**24  # reports drawn at a time, and how much they may take


@dataclass(frozen=True, init=False, repr=False)
class SubsetSelection(OddsDesign, PackedSupport):
    r"""Report a set of answers that holds the true one more likely than any other.

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number K.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design never spends more.
    odds : pair of numbers or str, optional
        Instead of epsilon: the odds of a set with the true answer against one without, ``(a, b)`` with a > b.
    size : int, optional
        Number of answers in a set. If not given, the size with the smallest total squared error: one of the two
        next to :math:`K / (e^\varepsilon + 1)`.

    Attributes
    ----------
    domain : tuple or range
        The labels; consecutive integers are held as a range.
    odds : tuple of int
        ``(a, b)`` in lowest terms.
    size : int
        The number of answers in every set.

    Examples
    --------
    >>> survey = SubsetSelection(["a", "b", "c", "d", "e"], odds=(3, 1), size=2)
    >>> round(survey.p, 4), round(survey.q, 4)
    (0.6667, 0.3333)
    >>> SubsetSelection(1024, epsilon=1)
    <SubsetSelection of 275 among 1024 answers (0, 1, 2, ..., 1023): truth 0.4995, each other 0.2683, epsilon 1>
    """

    domain: Labels
    odds: tuple[int, int]
    size: int

    mechanism = "subset selection"
    parameters = ("epsilon", "odds", "size")
    field_names = frozenset({"domain", "odds", "size"})
    _certain = "that every answer outside the set is not the truth"
    _opening = "SubsetSelection of {0.size} among"

    def __init__(
        self, domain: Domain, *, epsilon: Number | None = None, odds: Odds | None = None, size: Number | None = None
    ) -> None:
        super().__init__(domain, epsilon=epsilon, odds=odds, size=size)

    @classmethod
    def _numbers(cls, k: int, number: NumberReader) -> dict[str, Any]:
        return {"size": number("size", 1, k - 1, "the number of answers less 1")}

    @classmethod
    def _best(cls, k: int, budget: Budget, *, size: int | None = None) -> dict[str, Any]:
        def total(a: int, b: int) -> int:  # for sets of this size, or of the largest that may be the best
            d = -(-k * b // (a + b)) if size is None else size
            return a * d + b * (k - d)

        a, b = budget.odds_within(k, total)
        refuse_even(a, b)
        return {"odds": (a, b), "size": _best_size(k, a, b) if size is None else size}

    def _check(self) -> None:
        a, b = self.odds
        refuse_even(a, b)
        if a * self.size + b * (self.k - self.size) >= TOTAL_LIMIT:
            raise ValueError(
                "odds must be a : b with a d + b (K-d) below 2^62, so that one 64-bit draw can decide, but got "
                f"{a} : {b}; give fewer digits, smaller sets or a smaller epsilon"
            )

    @cached_property
    def symmetry(self) -> Symmetry:
        """Probabilities that a set holds the true answer and another one, and those of pairs."""
        return _symmetry(self.k, self.size, *self.odds)

    def best_for_share(self, share: Number) -> SubsetSelection:
        k, size = self.k, _best_size(self.k, *self.odds, exact("share", share))

        def total(a: int, b: int) -> int:
            return a * size + b * (k - size)

        odds = self.odds
        if total(*odds) >= TOTAL_LIMIT:  # then rounded down, to what one draw can decide
            odds = odds_as_given(odds_not_above(Fraction(*odds), total))
        return self._make(domain=self.domain, odds=odds, size=size)

    @property
    def _support_size(self) -> int:
        return self.size

    @property
    def report_form(self) -> BitForm:
        return BitForm(self.k, self.size)

    @property
    def draws(self) -> tuple[int, ...]:
        (a, b), d, k = self.odds, self.size, self.k
        return (Compared(a * d + b * (k - d)), *map(Compared, range(k - 1, 0, -1)))

    @classmethod
    def examples(cls) -> tuple[SubsetSelection, ...]:
        return (
            cls(["a", "b", "c", "d", "e"], odds=(3, 1), size=2),
            cls(4, odds=(2, 1), size=1),
            cls(4, odds=(5, 2), size=3),
            cls(["yes", "no"], odds=(3, 1)),
            cls(6, odds=(3, 1), size=2),
        )

    @in_batches(lambda design: max(1, min(SETS_AT_ONCE, SET_BYTES_AT_ONCE // design.report_form.width)))
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        (a, b), d, k = self.odds, self.size, self.k
        holds = bernoulli(answers.size, a * d, a * d + b * (k - d), random_bytes)
        if answers.size == 1:
            return _one_set(int(answers[0]), bool(holds[0]), d, k, random_bytes)
        return _with_truth(selections(d - holds, k - 1, self.report_form.width, random_bytes), answers, holds, k)

    def _happens(self) -> str:
        return (
            f"a set of {self.size:,} of the {self.k:,} answers is drawn and reported. With probability {self.p:.4g} "
            f"the true answer is in it, and any given other answer with {self.q:.4g}."
        )

    def _deniable(self) -> str:
        return f"each answer in a reported set is the true one in {100 * self.p / self.size:.3g} % of cases."


def _one_set(truth: int, holds: bool, size: int, k: int, random_bytes: RandomBytes) -> Counts:
    """Draw the set of one respondent from the same bytes, without arrays, which is faster."""
    bits = selection(size - holds, k - 1, random_bytes)
    bits.append(0)
    bits[-1] = bits[truth]  # the place of the true answer is the last one's; if that is the same, it is still empty
    bits[truth] = holds
    return np.packbits(np.frombuffer(bits, dtype=np.uint8))[np.newaxis]


def _with_truth(reports: Counts, truth: Integers, holds: Mask, k: int) -> Counts:
    """Move the bit drawn in the true answer's place to the last answer, and set the true answer's own bit."""
    rows, last = np.arange(truth.size), k - 1
    byte, mask = truth // 8, (0x80 >> truth % 8).astype(np.uint8)
    drawn = reports[rows, byte] & mask != 0
    reports[:, last // 8] |= drawn.view(np.uint8) << np.uint8(7 - last % 8)
    reports[rows, byte] = np.where(holds, reports[rows, byte] | mask, reports[rows, byte] & ~mask)
    return reports


def _symmetry(k: int, d: int, a: int, b: int) -> Symmetry:
    among = a * d + b * (k - d)
    p, q = Fraction(a * d, among), Fraction(d * (a * (d - 1) + b * (k - d)), (k - 1) * among)
    others = max((k - 1) * (k - 2), 1)  # ordered pairs; with two answers there are none
    neither = p * Fraction((d - 1) * (d - 2), others) + (1 - p) * Fraction(d * (d - 1), others)
    return Symmetry(p, q, both=p * Fraction(d - 1, k - 1), neither=neither, pairs_alike=True)


def _best_size(k: int, a: int, b: int, share: Fraction | None = None) -> int:
    """Return the size with the smallest total variance of all shares, or with the smallest variance of this share.

    With t = d/(K-d) the total goes with (a/b)^2 t + 2 a/b + 1/t, which is smallest at d = K b/(a + b): the best size is
    one of the two next to it. The variance of one share falls with d until it rises, there or later.
    """
    ideal = Fraction(k * b, a + b)
    low = max(1, math.floor(ideal))
    if share is None:
        return min(sorted({low, math.ceil(ideal)}), key=lambda size: _symmetry(k, size, a, b).total_variance(k))

    def rises(size: int) -> bool:
        one, more = (_symmetry(k, d, a, b).share_variance(share) for d in (size, size + 1))
        return more >= one

    high = low
    while high < k - 1 and not rises(high):
        low, high = high + 1, min(2 * high, k - 1)
    return first_true(rises, low, high)
