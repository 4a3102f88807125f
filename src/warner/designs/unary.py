r"""Unary encoding: a bit for each answer, each drawn by itself [1]_.

The bit of the true answer is 1 with probability p, that of each other answer with probability q < p. After a report the
answers whose bit is 1 are all equally likely, and

.. math:: \frac{a}{b} = \frac{p\,(1-q)}{q\,(1-p)} = e^\varepsilon

times as likely as those whose bit is 0: every p and q give two levels. With the *optimal* p = 1/2 and q = b/(a+b) the
share of a rare answer varies least, :math:`q(1-q)/(p-q)^2 = 4ab/(a-b)^2`; the *symmetric* p = s/(s+t), q = t/(s+t) with
:math:`s : t = \sqrt{a} : \sqrt{b}` flips each bit with one probability, as basic RAPPOR does.

A worked number: 4 answers at odds 3 : 1. The optimal q is 1/(3+1) = 1/4, and indeed (1/2 * 3/4) / (1/4 * 1/2) = 3.

The number m of bits that are 1 says nothing about the answer, because its law is the same whatever that is,

.. math:: P(m) = p\, \mathrm{Bin}(K-1, q)(m-1) + (1-p)\, \mathrm{Bin}(K-1, q)(m).

So `check` can see reports that have too many or too few; given m, a report is one of a subset selection with sets of m.

References
----------
.. [1] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for frequency estimation", USENIX
   Security 2017, 729-745.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warner.designs.bit_vectors import PackedLaw, PackedSupport
from warner.designs.bits import sizes
from warner.designs.draws import Compared, RandomBytes, bernoulli, in_batches
from warner.designs.exact import TOTAL_LIMIT, Number, Odds, is_decimal, lowest_terms, probability, refuse_wide
from warner.designs.facts import ProbabilityBounds, ReportTypes, Symmetry
from warner.designs.labels import Domain, Labels, canonical, labels_from_json, labels_to_json
from warner.designs.symmetric import Budget, OddsDesign

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Shape
    from warner.designs.contract import Design
    from warner.documents import Document

BITS_AT_ONCE = 2**20  # bits drawn at a time
OPTIMAL, SYMMETRIC = "optimal", "symmetric"


@dataclass(frozen=True, init=False, repr=False)
class UnaryEncoding(OddsDesign, PackedSupport):
    r"""Report a bit for each answer: 1 with probability p for the true one, with probability q for each other.

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number K.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design never spends more.
    odds : pair of numbers or str, optional
        Instead of epsilon: the odds of an answer whose bit is 1 against one whose bit is 0, ``(a, b)``, a > b.
    kind : str, optional
        Which p and q follow from epsilon or odds: the "optimal" ones, p = 1/2, which are the default, or the
        "symmetric" ones, p + q = 1. `UnaryEncoding.optimal` and `UnaryEncoding.symmetric` say the same.
    p, q : number, optional
        Instead of epsilon or odds: the probabilities themselves, as they are written, with 0 < q < p <= 1. With p = 1
        the bit of the true answer is always 1, and epsilon is infinite.

    Attributes
    ----------
    domain : tuple or range
        The labels; consecutive integers are held as a range.
    one, zero : Fraction
        The exact probabilities that the bit of the true answer, and that of another one, is reported as 1.
    odds : tuple of int
        ``(a, b)`` in lowest terms.

    Examples
    --------
    >>> UnaryEncoding(["a", "b", "c", "d"], odds=(3, 1)).symmetry.whole  # p = 2/4, q = 1/4
    (2, 1, 4)
    >>> UnaryEncoding.symmetric(1000, epsilon=1)
    <UnaryEncoding of 1000 answers (0, 1, 2, ..., 999): truth 0.6225, each other 0.3775, epsilon 1>
    >>> UnaryEncoding(3, p=0.7, q=0.2).odds  # 0.7 * 0.8 to 0.2 * 0.3
    (28, 3)
    """

    domain: Labels
    one: Fraction
    zero: Fraction
    odds: tuple[int, int]

    mechanism = "unary encoding"
    parameters = ("epsilon", "odds", "kind", "p", "q")
    field_names = frozenset({"domain", "one", "zero"})
    _certain = "that no answer whose bit is 0 is the truth"
    _opening = "UnaryEncoding of"
    _support_size = None  # the number of bits that are 1 varies

    @property
    def law(self) -> UnaryLaw:
        return UnaryLaw(self)

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: Number | None = None,
        odds: Odds | None = None,
        kind: str | None = None,
        p: Number | None = None,
        q: Number | None = None,
    ) -> None:
        parameters = {"epsilon": epsilon, "odds": odds, "p": p, "q": q}
        given = [name for name, value in parameters.items() if value is not None]
        if given not in (["epsilon"], ["odds"], ["p", "q"]):
            got = " and ".join(given) if given else "none of them"
            raise TypeError(
                "a unary encoding needs either epsilon or odds, with a kind if it is not the optimal one, or p and q, "
                f"but got {got}"
            )
        if kind not in (None, OPTIMAL, SYMMETRIC):
            raise ValueError(f'kind must be "{OPTIMAL}" or "{SYMMETRIC}", but got {kind!r}')
        labels = canonical(domain)
        if p is not None and q is not None:
            if kind is not None:
                raise TypeError(f"kind must be left out where p and q are given, but got {kind!r}")
            self._set(domain=labels, one=probability("p", p), zero=probability("q", q))
        else:
            self._set(domain=labels, **self._best(len(labels), Budget(epsilon, odds), kind=kind))

    @classmethod
    def optimal(cls, domain: Domain, *, epsilon: Number | None = None, odds: Odds | None = None) -> UnaryEncoding:
        """Make the unary encoding (OUE) whose shares of rare answers vary least at this epsilon, or at these odds.

        >>> UnaryEncoding.optimal(1000, epsilon=1)
        <UnaryEncoding of 1000 answers (0, 1, 2, ..., 999): truth 0.5, each other 0.2689, epsilon 1>
        """
        return cls(domain, epsilon=epsilon, odds=odds, kind=OPTIMAL)

    @classmethod
    def symmetric(cls, domain: Domain, *, epsilon: Number | None = None, odds: Odds | None = None) -> UnaryEncoding:
        """Make the unary encoding (SUE) that flips each bit with the same probability.

        Half of epsilon is spent by the bit of the true answer, half by that of another one: odds of a : b are the
        squares of those of a single bit, which are rounded down where they have no root.

        >>> symmetric = UnaryEncoding.symmetric(1000, odds=(9, 1))
        >>> symmetric.p, symmetric.q
        (0.75, 0.25)
        """
        return cls(domain, epsilon=epsilon, odds=odds, kind=SYMMETRIC)

    @classmethod
    def _best(cls, k: int, budget: Budget, *, kind: str | None = None) -> dict[str, Any]:
        symmetric = kind == SYMMETRIC
        # The common denominator is at most 2 (a + b): below 2^62, so that 64 bits hold all whole numbers of the file.
        a, b = budget.odds_within(k, lambda a, b: 2 * (a + b), root=2 if symmetric else 1)
        if budget.odds is not None:
            if not a > b > 0:
                raise ValueError(f"odds must be larger for an answer whose bit is 1, a > b > 0, but got {a} : {b}")
            if symmetric:
                a, b = _root(a, b)
        return {"one": Fraction(a, a + b) if symmetric else Fraction(1, 2), "zero": Fraction(b, a + b)}

    def _retained(self) -> dict[str, Any]:
        return {"kind": SYMMETRIC if self.one + self.zero == 1 else OPTIMAL}

    def _set(self, **attributes: Any) -> None:
        one, zero = attributes["one"], attributes["zero"]
        if not 0 < zero < one <= 1:
            raise ValueError(
                "p and q must have 0 < q < p <= 1, so that the bit of the true answer is 1 more often than others, "
                f"which are 1 sometimes, but got p = {one} and q = {zero}"
            )
        refuse_wide(math.lcm(one.denominator, zero.denominator))
        super()._set(**attributes, odds=lowest_terms(one * (1 - zero), zero * (1 - one)))

    @cached_property
    def symmetry(self) -> Symmetry:
        """The two probabilities; bits are independent, so those of pairs are products."""
        p, q = self.one, self.zero
        return Symmetry(p, q, both=p * q, neither=q * q, pairs_alike=True)

    def _types_of(self, reports: Counts) -> Integers:
        return sizes(reports)

    @property
    def draws(self) -> tuple[int, ...]:
        return (*[Compared(self.zero.denominator)] * self.k, Compared(self.one.denominator))

    @classmethod
    def examples(cls) -> tuple[UnaryEncoding, ...]:
        return (
            cls.optimal(["a", "b", "c"], odds=(3, 1)),
            cls.symmetric(["yes", "no"], odds=(9, 1)),
            cls(3, p="7/10", q="1/5"),
            cls(9, p="3/4", q="1/2"),
            cls(3, p=1, q="1/4"),
        )

    @in_batches(lambda design: max(1, BITS_AT_ONCE // design.k))
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        n = answers.size
        bits = bernoulli(n * self.k, *self.zero.as_integer_ratio(), random_bytes).reshape(n, self.k)
        bits[np.arange(n), answers] = bernoulli(n, *self.one.as_integer_ratio(), random_bytes)
        return np.packbits(bits, axis=1)

    @classmethod
    def variants(cls, domain: Domain, epsilon: Number, quantity: str = "shares") -> dict[str, Design]:
        """Return the optimal and the symmetric one."""
        return {f"{cls.mechanism} ({kind})": cls(domain, epsilon=epsilon, kind=kind) for kind in (OPTIMAL, SYMMETRIC)}

    def then(self, second: Design) -> Design:
        """Chain two unary encodings: each bit of a report of this one is drawn again. See `Design.then`.

        A bit that is 1 is 1 again with the second one's p, and a bit that is 0 becomes 1 with its q, so that both in a
        row are one, exactly: with p = p1 p2 + (1-p1) q2 and q = q1 p2 + (1-q1) q2. This is basic RAPPOR:

        >>> chain = UnaryEncoding(4, p="3/4", q="1/4").then(UnaryEncoding(4, p="3/4", q="1/2"))
        >>> chain.one, chain.zero
        (Fraction(11, 16), Fraction(9, 16))
        """
        if not isinstance(second, UnaryEncoding) or second.domain != self.domain:
            return super().then(second)
        rates = (rate * second.one + (1 - rate) * second.zero for rate in (self.one, self.zero))
        return self._make(domain=self.domain, **dict(zip(("one", "zero"), rates, strict=True)))

    def _happens(self) -> str:
        return (
            f"for each of the {self.k:,} answers a bit is drawn and reported. The bit of the true answer is 1 with "
            f"probability {self.p:.4g}, the bit of any other answer with {self.q:.4g}."
        )

    def _deniable(self) -> str:
        p, q, others = self.p, self.q, self.k - 1
        return (
            f"an answer is the true one in {100 * p / (p + others * q):.3g} % of cases if its bit is 1, and in "
            f"{100 * (1 - p) / (1 - p + others * (1 - q)):.3g} % if its bit is 0."
        )

    def fields(self) -> Document:
        return {
            "domain": labels_to_json(self.domain),
            "one": [str(part) for part in self.one.as_integer_ratio()],
            "zero": [str(part) for part in self.zero.as_integer_ratio()],
        }

    @classmethod
    def from_fields(cls, fields: Document) -> UnaryEncoding:
        labels = canonical(labels_from_json("domain", fields["domain"]))
        return cls._make(
            domain=labels, **{name: _probability_from_json(name, fields[name]) for name in ("one", "zero")}
        )


class UnaryLaw(PackedLaw):
    """Law of unary encoding."""

    design: UnaryEncoding

    @property
    def types(self) -> SetSizes:
        return SetSizes(self.design)

    def _draw_counts(self, shares: Array, n: int, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        return self._supported(rng.multinomial(n, shares / shares.sum(), size=shape), n, rng)

    def _draw_counts_of_people(self, people: Integers, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        return self._supported(np.broadcast_to(people, (*shape, self.k)), int(people.sum()), rng)

    def _supported(self, people: Integers, n: int, rng: np.random.Generator) -> Integers:
        # Given who holds what, all bits of all people are independent, and so are the counts.
        return np.asarray(rng.binomial(people, self.design.p) + rng.binomial(n - people, self.design.q))


@dataclass(frozen=True)
class SetSizes(ReportTypes):
    """Numbers of bits that are 1 in a report of unary encoding, whose distribution is known."""

    design: UnaryEncoding
    name: ClassVar[str] = "set sizes"  # type: ignore[misc]

    @property
    def labels(self) -> range:  # type: ignore[override]
        return range(self.design.k + 1)

    def bounds(self) -> ProbabilityBounds:
        """Return the distribution of the number of bits that are 1, which is the same after every answer."""
        one, others = self.design.one, _binomial(self.design.k - 1, self.design.zero)
        law = float(one) * np.append(0.0, others) + float(1 - one) * np.append(others, 0.0)
        return ProbabilityBounds(law, law)

    def total_support(self, histogram: Counts) -> Counts:
        return np.asarray(histogram @ np.arange(len(self)))


def _root(a: int, b: int) -> tuple[int, int]:
    """Return s : t with s^2 : t^2 = a : b, or rounded down if that has no root, as finely as 2^52 allows."""
    s, t = math.isqrt(a), math.isqrt(b)
    if (s * s, t * t) == (a, b):
        return s, t
    for bits in range(52, -1, -1):
        t = 2**bits
        s = math.isqrt(a * t * t // b)
        if 2 * (s + t) < TOTAL_LIMIT:
            break
    if s <= t:
        raise ValueError(f"odds must be further apart for a symmetric unary encoding, but got {a} : {b}")
    return lowest_terms(s, t)


def _binomial(n: int, rate: Fraction) -> Array:
    """Binomial probabilities, from the mode outwards by ratios of neighbors, without overflow or cancellation."""
    number = np.arange(1, n + 1)
    ratios = (n - number + 1) / number * float(rate / (1 - rate))  # P(m) / P(m-1)
    mode = int((n + 1) * rate)
    below, above = np.cumprod(1 / ratios[:mode][::-1])[::-1], np.cumprod(ratios[mode:])
    law = np.concatenate([below, [1.0], above])
    return np.asarray(law / law.sum())


def _probability_from_json(name: str, value: object) -> Fraction:
    if isinstance(value, list) and len(value) == 2 and all(map(is_decimal, value)) and int(value[1]):
        return Fraction(int(value[0]), int(value[1]))
    raise ValueError(f"this design is damaged: {name} must be a fraction, two whole numbers as decimal strings")
