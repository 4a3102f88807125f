r"""Hadamard response: report a row of a Hadamard matrix in which the answer has a plus, more likely than a minus [1]_.

Answer i is the vector v = i + 1 of t bits, a report is any vector y of t bits, from 0 to :math:`2^t - 1`, and
represents the answers v that have an even number of ones in common with it:

.. math:: P(y \mid v) = \frac{a}{(a+b)\, 2^{t-1}} \text{ if } \langle v, y\rangle = 0, \quad
          \frac{b}{(a+b)\, 2^{t-1}} \text{ if } 1, \qquad p = \frac{a}{a+b}, \qquad q = \frac12.

Half of the reports hold a given answer, a quarter two given ones. Counting is a Walsh-Hadamard transform. It is
projective geometry response over the field of two elements with one report more: 0, which represents all answers and
says nothing. For e^epsilon above 1.5 or so `ProjectiveGeometry` is the more precise.

A worked number: t = 2, three answers, at odds 3 : 1: p = 3/4. Report 1 represents answer 1 (v = 2), report 0 for all.

This is the response with one block. That with several blocks is less precise than `ProjectiveGeometry` for as many
bits, and its counts are not binomial.

References
----------
.. [1] J. Acharya, Z. Sun, H. Zhang, "Hadamard response: estimating distributions privately, efficiently, and with
   little communication", Proc. 22nd Int. Conf. Artificial Intelligence and Statistics (2019), 1120-1129.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.block_designs import BlockDesign, BlockParameters
from warner.designs.draws import RandomBytes, in_batches, uniform
from warner.designs.finite_geometry import even_sums
from warner.designs.symmetric import Budget, NumberReader, refuse_odds

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Mask
    from warner.designs.exact import Number, Odds
    from warner.designs.labels import Domain, Labels


LARGEST_ORDER_BITS = 60


@dataclass(frozen=True, init=False, repr=False)
class HadamardResponse(BlockDesign):
    r"""Report a vector of bits that has, more likely than not, an even number of ones in common with the answer.

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number K.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design never spends more.
    odds : pair of numbers or str, optional
        Instead of epsilon: even against odd, ``(a, b)`` with a > b.
    bits : int, optional
        The number t of bits of a report; if not given, the least with :math:`2^t - 1` at least K.

    Attributes
    ----------
    domain : tuple or range
        The labels; consecutive integers are held as a range.
    odds : tuple of int
        ``(a, b)`` in lowest terms.
    bits : int
        The number of bits of a report.

    Examples
    --------
    >>> survey = HadamardResponse(["a", "b", "c"], odds=(3, 1))
    >>> survey.p, survey.q
    (0.75, 0.5)
    >>> HadamardResponse(1000, epsilon=1)
    <HadamardResponse of 10 bits among 1000 answers (0, 1, 2, ..., 999): truth 0.7311, each other 0.5, epsilon 1>
    """

    domain: Labels
    odds: tuple[int, int]
    bits: int

    mechanism = "Hadamard response"
    parameters = ("epsilon", "odds", "bits")
    field_names = frozenset({"domain", "odds", "bits"})
    _needs = "either epsilon or odds (bits may be left out)"
    _opening = "HadamardResponse of {0.bits} bits among"
    _retained_names = ("bits",)
    _support_size = None  # report 0 represents all answers

    def __init__(
        self, domain: Domain, *, epsilon: Number | None = None, odds: Odds | None = None, bits: Number | None = None
    ) -> None:
        super().__init__(domain, epsilon=epsilon, odds=odds, bits=bits)

    @classmethod
    def _numbers(cls, k: int, number: NumberReader) -> dict[str, Any]:
        return {"bits": number("bits", 2, LARGEST_ORDER_BITS)}

    @classmethod
    def _best(cls, k: int, budget: Budget, *, bits: int | None = None) -> dict[str, Any]:
        t = k.bit_length() if bits is None else bits
        return {"odds": budget.odds_within(k, lambda a, b: (a + b) << t), "bits": t}

    def _check(self) -> None:
        if 2**self.bits <= self.k:
            raise ValueError(
                f"bits must be large enough that 2^bits is above the number of answers, {self.k:,}, but got {self.bits}"
            )
        refuse_odds(*self.odds, sum(self.odds) << self.bits)

    @property
    def blocks(self) -> BlockParameters:
        half, points = 2 ** (self.bits - 1), 2**self.bits - 1
        # Of the blocks with two given points, that of 0 has all points, the others half of all vectors, less 0.
        third = Fraction(points - 2 + (half // 2 - 1) * (half - 3), points - 2)
        return BlockParameters(points, 2 * half, half, half // 2, third)

    @property
    def draws(self) -> tuple[int, ...]:
        return (sum(self.odds) << self.bits,)

    @classmethod
    def examples(cls) -> tuple[HadamardResponse, ...]:
        return (
            cls(["a", "b", "c"], odds=(3, 1)),
            cls(5, odds=(5, 2)),
            cls(7, odds=(2, 1)),
            cls(["yes", "no"], odds=(3, 1), bits=3),
            cls(3, odds=(1, 0)),
        )

    def supports(self, reports: Counts) -> Mask:
        return _even(reports[:, np.newaxis], np.arange(1, self.k + 1))

    def _sums_within(self, weights: Counts) -> Counts:
        return even_sums(np.concatenate([np.zeros_like(weights[..., :1]), weights], axis=-1))

    def _sums_around(self, weights: Counts) -> Counts:
        return even_sums(weights)[..., 1:]

    def _block_with(self, answers: Integers, numbers: Integers) -> Integers:
        points = answers + 1
        lowest = points & -points
        high = numbers & -lowest
        reports = high + numbers  # bits from the lowest one on move up by one place
        return np.where(_even(reports, points), reports, reports | lowest)

    @in_batches()
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        points = answers + 1
        drawn = uniform(points.size, self.draws[0], random_bytes).astype(np.int64)
        vectors = drawn & (2**self.bits - 1)
        wrong = _even(vectors, points) == (drawn >> self.bits >= self.odds[0])
        return np.asarray(vectors ^ (wrong * (points & -points)))

    def _represents(self) -> str:
        return (
            f"the set of the answers that have an even number of ones in common with it, both written with {self.bits} "
            "binary digits and answers numbered from 1: about half of them"
        )


def _even(first: Integers, second: Integers) -> Mask:
    """Return True for each pair with an even number of ones in common."""
    return np.asarray(np.bitwise_count(first & second) % 2 == 0)
