r"""What a respondent's answer goes through before it is reported.

A k-ary randomized response is two whole numbers, the odds :math:`a : b` of the truth against *each* lie:

.. math:: p = \frac{a}{a + (K-1)b}, \qquad q = \frac{b}{a + (K-1)b}, \qquad \varepsilon = |\ln(a/b)|.

**The one rule for epsilon:** probabilities come from :math:`a` and :math:`b`, never from a rounded epsilon. A
design asked for by ``epsilon=`` rounds :math:`a` down, so that what is spent is never more than what was asked
for; every epsilon that is shown is that of :math:`a : b`, rounded up.

A worked number: three answers at odds 3 : 1 are told truthfully with probability 3/5 and turned into each of
the two others with probability 1/5, and :math:`\varepsilon = \ln 3 \approx 1.0987` (rounded up).

The same design has many names in the wild, and libraries disagree on what "p" means, so each is a keyword:

=================  ==============================================================================
``epsilon=``       the privacy parameter of local differential privacy, in nats
``truth=``         the probability p that the report *is* the truth
``redraw=``        the probability that the answer is replaced by a uniform draw over all K
                   answers, the truth included (browsers and the literature call it *rate*)
``odds=(a, b)``    truth against each lie, as whole numbers or fractions
=================  ==============================================================================
"""

from __future__ import annotations

import math
import reprlib
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias, overload

import numpy as np

from warner.files import document, loaded, parsed, save_text

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

Number: TypeAlias = int | float | str | Fraction | Decimal | np.integer[Any] | np.floating[Any]
Labels: TypeAlias = tuple[str, ...] | tuple[int, ...] | range
Domain: TypeAlias = int | Sequence[str] | Sequence[int] | np.ndarray[Any, Any]

# One report is drawn from 64 random bits. Below 2^62 at most a fifth of the draws must be thrown away.
TOTAL_LIMIT = 2**62
EPSILON_RANGE = (Fraction(1, 10**9), Fraction(40))
CHANNEL_LIMIT = 4096
FORMAT = "warner design"
VERSION = 1


@dataclass(frozen=True, init=False, repr=False)
class RandomizedResponse:
    r"""Report the truth with probability p, and each of the K - 1 other answers with probability q.

    A frozen value: the contract between those who collect answers and those who analyse reports. Give exactly
    one of the four parametrisations; numbers are taken as written (``truth=0.9`` is 9/10, not the nearest
    binary fraction).

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number K, for the labels
        0..K-1.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design spends at most that.
    truth : number, optional
        The probability p that the report is the truth, from 0 to 1.
    redraw : number, optional
        The probability that the answer is replaced by one drawn uniformly from *all* K answers, from 0 to 1.
    odds : pair of numbers or str, optional
        Truth against each lie, ``(a, b)`` or ``"a:b"``. ``(1, 0)`` always tells the truth.

    Attributes
    ----------
    domain : tuple or range
        The labels; consecutive integers are held as a range and cost no memory.
    odds : tuple of int
        ``(a, b)`` in lowest terms.

    Notes
    -----
    ``p < q`` (odds below one, such as Warner's design with p < 1/2) is legal, and so is ``p = q``, which
    reveals nothing and from which nothing can be estimated.

    References
    ----------
    .. [1] S. L. Warner, "Randomized response: a survey technique for eliminating evasive answer bias",
       J. Amer. Stat. Assoc. 60 (1965), 63-69.

    Examples
    --------
    >>> survey = RandomizedResponse(["never", "once", "often"], odds=(3, 1))
    >>> survey.p, survey.q
    (0.6, 0.2)
    >>> survey
    <RandomizedResponse among 3 answers ('never', 'once', 'often'): truth 0.6, each lie 0.2, epsilon 1.099>
    >>> RandomizedResponse(4, redraw="1/2").odds
    (5, 1)
    """

    domain: Labels
    odds: tuple[int, int]

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: Number | None = None,
        truth: Number | None = None,
        redraw: Number | None = None,
        odds: tuple[Number, Number] | str | None = None,
    ) -> None:
        given = {"epsilon": epsilon, "truth": truth, "redraw": redraw, "odds": odds}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            what = f"got {' and '.join(named)}" if named else "got none of them"
            msg = f"a design needs exactly one of epsilon, truth, redraw and odds, but {what}"
            raise TypeError(msg)
        labels = _labels(domain)
        k = len(labels)
        if epsilon is not None:
            a, b = _odds_from_epsilon(epsilon, k)
        elif truth is not None:
            p = _probability("truth", truth)
            a, b = _whole(p * (k - 1), 1 - p)
        elif redraw is not None:
            rate = _probability("redraw", redraw)
            a, b = _whole(k * (1 - rate) + rate, rate)
        else:
            assert odds is not None  # noqa: S101 - narrows the type; one of the four was given
            a, b = _odds_as_given(odds)
        total = a + (k - 1) * b
        if total >= TOTAL_LIMIT:
            msg = (
                f"{named[0]} must give odds a : b with a + (K-1) b below 2^62, so that one 64-bit draw can decide, "
                f"but got about 10^{len(hex(max(a, b))) * 1.2:.0f}; give fewer digits, or use epsilon="
            )
            raise ValueError(msg)
        object.__setattr__(self, "domain", labels)
        object.__setattr__(self, "odds", (a, b))

    @property
    def k(self) -> int:
        """The number of possible answers, K."""
        return len(self.domain)

    @property
    def total(self) -> int:
        """The number of equally likely draws that decide one report, a + (K-1) b."""
        a, b = self.odds
        return a + (self.k - 1) * b

    @property
    def p(self) -> float:
        """The probability that a report is the truth."""
        return self.odds[0] / self.total

    @property
    def q(self) -> float:
        """The probability of each lie."""
        return self.odds[1] / self.total

    @property
    def epsilon(self) -> float:
        r"""The privacy that one report spends, in nats, as the smallest double not below :math:`|\ln(a/b)|`."""
        spent = self._spent
        nearest = float(spent)
        return nearest if Decimal(nearest) >= spent else math.nextafter(nearest, math.inf)

    def shown_epsilon(self, digits: int = 4) -> str:
        """Write epsilon in so many significant digits, rounded up: never less than what is spent.

        >>> RandomizedResponse(2, odds=(3, 1)).shown_epsilon()  # ln 3 = 1.09861...
        '1.099'
        >>> RandomizedResponse(2, epsilon=0.1).shown_epsilon()
        '0.1'
        """
        up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(self._spent)
        if not up.is_finite():
            return "inf"
        up = up.normalize()
        return f"{up:f}" if up.adjusted() >= -digits else f"{up:e}"

    @cached_property
    def _spent(self) -> Decimal:
        """An upper bound of epsilon that is good to 50 digits."""
        low, high = sorted(self.odds)
        if low == 0:
            return Decimal("inf")
        if low == high:
            return Decimal(0)
        with localcontext(Context(prec=60)):
            # Quotient and logarithm are good to 59 digits each; the addend covers what they may lack.
            return (Decimal(high) / Decimal(low)).ln() + Decimal("1e-55")

    def channel(self) -> NDArray[np.float64]:
        """Give the K x K matrix of P(report | truth): a row for each truth, a column for each report.

        >>> RandomizedResponse(["yes", "no"], truth="3/4").channel()
        array([[0.75, 0.25],
               [0.25, 0.75]])
        """
        if self.k > CHANNEL_LIMIT:
            msg = (
                f"the channel of K = {self.k} answers would hold {self.k**2:,} numbers; it is given up to "
                f"K = {CHANNEL_LIMIT}. Beyond, p and q say all of it"
            )
            raise ValueError(msg)
        matrix = np.full((self.k, self.k), self.q)
        np.fill_diagonal(matrix, self.p)
        return matrix

    @overload
    def randomize(self, answers: str, *, codes: bool = False) -> str: ...
    @overload
    def randomize(self, answers: int | np.integer[Any], *, codes: bool = False) -> int: ...
    @overload
    def randomize(self, answers: list[str] | tuple[str, ...], *, codes: bool = False) -> list[str]: ...
    @overload
    def randomize(self, answers: list[int] | tuple[int, ...], *, codes: bool = False) -> list[int]: ...
    @overload
    def randomize(self, answers: np.ndarray[Any, Any], *, codes: bool = False) -> np.ndarray[Any, Any]: ...
    def randomize(self, answers: Any, *, codes: bool = False) -> Any:
        """Randomize true answers into reports; see `warner.randomize.randomize`."""
        from warner.randomize import randomize  # noqa: PLC0415 - a step to the right, for convenience

        return randomize(answers, self, codes=codes)

    def in_words(self) -> str:
        """Explain what a respondent does, what that reveals, and how deniable an answer is.

        >>> print(RandomizedResponse(["yes", "no"], truth="3/4").in_words())
        Possible answers (2): yes, no
        What happens to an answer: with probability 0.75 it is reported as it is; otherwise one of the other answers is
        reported instead, each with probability 0.25.
        What a report reveals: epsilon 1.099. It makes no answer more than 3.0 times likelier, against any other, than
        it was before.
        How deniable it is: among people for whom all answers were equally likely, 75 % of those who report an answer
        really hold it, and 25 % do not.
        """
        a, b = self.odds
        shown = ", ".join(map(str, self.domain[:12])) + (f", ..., {self.domain[-1]}" if self.k > 12 else "")  # noqa: PLR2004
        first = (
            f"What happens to an answer: with probability {self.p:.4g} it is reported as it is; otherwise one of the "
            f"other answers is reported instead, each with probability {self.q:.4g}."
        )
        if b == 0:
            first = "What happens to an answer: nothing. Every report is the truth."
            second = "What a report reveals: everything (epsilon inf)."
        elif a == b:
            second = "What a report reveals: nothing (epsilon 0). Nothing can be estimated from such reports either."
        elif a == 0:
            second = "What a report reveals: one answer that is certainly not the truth (epsilon inf)."
        else:
            times = math.ceil(1000 * Fraction(max(a, b), min(a, b))) / 1000  # rounded up, as epsilon is
            second = (
                f"What a report reveals: epsilon {self.shown_epsilon()}. It makes no answer more than {times:,} times "
                "likelier, against any other, than it was before."
            )
        third = (
            "How deniable it is: among people for whom all answers were equally likely, "
            f"{100 * self.p:.3g} % of those who report an answer really hold it, and {100 - 100 * self.p:.3g} % do not."
        )
        paragraphs = (f"Possible answers ({self.k:,}): {shown}", first, second, third)
        return "\n".join(textwrap.fill(paragraph, 120, break_long_words=False) for paragraph in paragraphs)

    def to_json(self) -> str:
        r"""Write the design as a small JSON document.

        ``odds`` are decimal strings, because they exceed 2^53 and readers that hold numbers as doubles would
        change them; ``domain`` is the list of labels, or ``{"first": i, "size": K}`` for consecutive integers.

        >>> print(RandomizedResponse(["yes", "no"], truth="3/4").to_json())
        {
          "format": "warner design",
          "version": 1,
          "mechanism": "randomized response",
          "domain": ["yes", "no"],
          "odds": ["3", "1"]
        }
        """
        labels = self.domain
        domain = {"first": labels.start, "size": len(labels)} if isinstance(labels, range) else list(labels)
        return document(
            {
                "format": FORMAT,
                "version": VERSION,
                "mechanism": "randomized response",
                "domain": domain,
                "odds": [str(part) for part in self.odds],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; anything else is an error that says what is wrong with it."""
        fields = parsed(text, FORMAT, VERSION, {"mechanism", "domain", "odds"})
        if fields["mechanism"] != "randomized response":
            msg = f"mechanism must be 'randomized response', but this design says {fields['mechanism']!r}"
            raise ValueError(msg)
        try:
            return cls(_domain_from_json(fields["domain"]), odds=_odds_from_json(fields["odds"]))
        except TypeError as error:  # labels of other types: in a file that is a wrong value
            msg = f"this design is damaged: {error}"
            raise ValueError(msg) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the design to a file, whole or not at all."""
        save_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a design that `save` wrote."""
        return loaded(path, cls.from_json)

    def __repr__(self) -> str:
        first = [repr(label) for label in self.domain[:3]]
        last = [repr(label) for label in self.domain[3:][-1:]]
        shown = ", ".join(first + ["..."] * (self.k > len(first + last)) + last)
        return (
            f"<RandomizedResponse among {self.k} answers ({shown}): truth {self.p:.4g}, each lie {self.q:.4g}, "
            f"epsilon {self.shown_epsilon()}>"
        )


def _labels(domain: Domain) -> Labels:
    """Check the domain and hold it in one canonical form."""
    ordered = domain.ndim == 1 if isinstance(domain, np.ndarray) else isinstance(domain, Sequence)
    ordered = ordered and not isinstance(domain, str | bytes)
    if isinstance(domain, bool) or not (ordered or isinstance(domain, int | np.integer)):
        msg = f"domain must be the number of answers or a list of labels, but got {reprlib.repr(domain)}"
        raise TypeError(msg)
    if isinstance(domain, int | np.integer):
        domain = range(int(domain))
    labels = domain if isinstance(domain, range) and domain.step == 1 else _distinct_labels(list(domain))
    k = labels.stop - labels.start if isinstance(labels, range) else len(labels)  # len(range) gives up at 2^63
    if not 2 <= k < TOTAL_LIMIT:  # noqa: PLR2004 - with one answer there is nothing to protect, and q is undefined
        msg = f"domain must have at least 2 answers (and fewer than 2^62), but got {k}"
        raise ValueError(msg)
    ends = (labels[0], labels[-1]) if isinstance(labels, range) else labels
    large = [label for label in ends if isinstance(label, int) and not -(2**63) <= label < 2**63]
    if large:
        msg = f"domain must hold integers of 64 bits, but got {large[0]}; use strings"
        raise ValueError(msg)
    return labels


def _distinct_labels(domain: list[Any]) -> Labels:
    labels: Labels
    if all(isinstance(label, str) for label in domain):
        labels = tuple(map(str, domain))
        if any("\0" in label or not label for label in labels):
            msg = "domain must hold labels that are not empty (a file would have them missing) and without NUL"
            raise ValueError(msg)
    elif all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in domain):
        labels = tuple(map(int, domain))
        consecutive = range(labels[0], labels[0] + len(labels))
        if labels == tuple(consecutive):
            return consecutive
    else:
        kinds = ", ".join(sorted({type(label).__name__ for label in domain}))
        msg = f"domain must hold labels that are all strings or all integers, but got {kinds}"
        raise TypeError(msg)
    label, times = Counter[str | int](labels).most_common(1)[0] if labels else ("", 1)
    if times > 1:
        msg = f"domain must hold distinct labels, but {label!r} stands there {times} times"
        raise ValueError(msg)
    return labels


def _exact(name: str, value: Number) -> Fraction:
    """Take a number as it is written: the double 0.9 is 9/10."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction | Decimal | np.number):
        msg = f'{name} must be a number, a fraction or a string such as "3/4", but got {reprlib.repr(value)}'
        raise TypeError(msg)
    text = str(value).strip()
    try:
        if "/" in text:
            return Fraction(text)
        decimal = Decimal(text)
        if abs(decimal.adjusted()) < 1000:  # noqa: PLR2004 - 1e999999999 as a fraction would fill the memory
            return Fraction(decimal)
    except (ArithmeticError, ValueError):  # among them infinity, NaN, and what is no number
        pass
    msg = f'{name} must be a finite number or a string such as "3/4", but got {reprlib.repr(value)}'
    raise ValueError(msg)


def _probability(name: str, value: Number) -> Fraction:
    exact = _exact(name, value)
    if not 0 <= exact <= 1:
        msg = f"{name} must be a probability from 0 to 1, but got {reprlib.repr(value)}"
        raise ValueError(msg)
    return exact


def _whole(first: Fraction, second: Fraction) -> tuple[int, int]:
    """Reduce the ratio of two non-negative numbers to whole numbers in lowest terms."""
    a, b = first.numerator * second.denominator, second.numerator * first.denominator
    divisor = math.gcd(a, b)
    return a // divisor, b // divisor


def _odds_as_given(odds: tuple[Number, Number] | str) -> tuple[int, int]:
    parts = odds.split(":") if isinstance(odds, str) else odds
    if not isinstance(parts, Sequence) or len(parts) != 2:  # noqa: PLR2004
        msg = f'odds must be a pair (a, b) or a string "a:b", truth against each lie, but got {reprlib.repr(odds)}'
        raise TypeError(msg)
    first, second = (_exact("odds", part) for part in parts)
    if first < 0 or second < 0 or first == second == 0:
        msg = f"odds must be two numbers of at least 0, not both 0, but got {reprlib.repr(odds)}"
        raise ValueError(msg)
    return _whole(first, second)


def _odds_from_epsilon(epsilon: Number, k: int) -> tuple[int, int]:
    """Round e^epsilon down to a ratio of integers, as finely as one 64-bit draw allows (b = 2^j, j <= 52)."""
    exact = _exact("epsilon", epsilon)
    if isinstance(epsilon, float | np.floating):
        exact = min(exact, Fraction(float(epsilon)))  # as written or as stored, whichever is less
    low, high = EPSILON_RANGE
    if not low <= exact <= high:
        msg = (
            f"epsilon must be positive, from {float(low)} to {float(high)}, but got {reprlib.repr(epsilon)}; below, "
            "reports say nothing; above, they are the truth: odds=(1, 0) says so"
        )
        raise ValueError(msg)
    with localcontext(Context(prec=60)):
        exponent = Decimal(exact.numerator) / Decimal(exact.denominator)
        # Quotient and exponential are each half a unit off at most, and the exponent is at most 40.
        growth = exponent.exp() * (1 - Decimal("1e-57"))
        for bits in range(52, -1, -1):
            b = 2**bits
            a = int(growth * b)
            if a + (k - 1) * b < TOTAL_LIMIT:
                break
    if a <= b:
        msg = (
            f"epsilon must be at least about {1 / b:.1g} for K = {k} answers, because odds finer than that cannot "
            f"be drawn from 64 bits, but got {reprlib.repr(epsilon)}"
        )
        raise ValueError(msg)
    return _whole(Fraction(a), Fraction(b))


def _domain_from_json(domain: object) -> Domain:
    if isinstance(domain, dict) and domain.keys() == {"first", "size"}:
        first, size = domain["first"], domain["size"]
        if type(first) is int and type(size) is int and size >= 0:
            return range(first, first + size)
    elif isinstance(domain, list):
        return domain
    msg = 'this design is damaged: domain must be a list of labels or {"first": ..., "size": ...}'
    raise ValueError(msg)


def _odds_from_json(odds: object) -> tuple[int, int]:
    if isinstance(odds, list) and [type(part) for part in odds] == [str, str]:
        a, b = odds
        if all(part.isascii() and part.isdigit() and len(part) < 100 for part in odds):  # noqa: PLR2004
            return int(a), int(b)
    msg = "this design is damaged: odds must be two whole numbers as decimal strings"
    raise ValueError(msg)
