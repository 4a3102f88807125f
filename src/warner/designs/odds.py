r"""Designs made from odds or from epsilon: their constructor, their file, their summary, and the best for an epsilon.

Such a design follows from its domain, its odds :math:`a : b` and perhaps a few whole numbers: the size of a set, the
bits of a report, a prime field. Odds are taken as they are written, or rounded down from epsilon; numbers that are left
out are the best ones for these odds. A mechanism tells which numbers it has, with their limits (`_numbers`), how the
best are found (`_best`) and what does not fit together (`_check`). All else stands here, once.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

from warner.designs.contract import Design, revealed
from warner.designs.exact import TOTAL_LIMIT, odds_as_given, odds_from_epsilon, odds_from_json, whole_number
from warner.designs.labels import canonical, first_and_last, labels_from_json, labels_to_json, listed
from warner.designs.symmetric import Symmetric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from warner.designs.exact import Number, Odds
    from warner.designs.labels import Domain, Labels
    from warner.documents import Document


class NumberReader(Protocol):
    """Reads the whole number of this name, from `low` to `high`; None if it was left out.

    `highest` is the upper limit in words, for a file.
    """

    def __call__(self, name: str, low: int, high: int, highest: str = "") -> Any: ...


class Budget(NamedTuple):
    """What a design may spend: the most epsilon, or odds as they are written; one of the two is given."""

    epsilon: Number | None = None
    odds: Odds | None = None

    def odds_within(self, k: int, total: Callable[[int, int], int], *, root: int = 1) -> tuple[int, int]:
        """Give the odds as written, or those of epsilon, rounded down: one draw below total(a, b) is to decide.

        Of epsilon their `root`: with 2, a^2 : b^2 spends it.
        """
        if self.odds is not None:
            return odds_as_given(self.odds)
        assert self.epsilon is not None
        return odds_from_epsilon(self.epsilon, k, total, root=root)


class FromOdds(Design):
    """A design that follows from its domain, its odds, and the whole numbers that its mechanism has besides.

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number K.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design never spends more.
    odds : pair of numbers or str, optional
        Instead of epsilon: ``(a, b)`` or ``"a:b"``.
    **numbers : number, optional
        Those of the mechanism; the best are taken of those that are left out.
    """

    domain: Labels
    odds: tuple[int, int]

    needs: ClassVar[str] = "either epsilon or odds"
    fixed_fields: ClassVar[Mapping[str, str]] = {}  # what the file of every such design says
    certain: ClassVar[str] = "that every answer outside its set is not the truth"  # what a report tells if b is 0

    def __init__(
        self, domain: Domain, *, epsilon: Number | None = None, odds: Odds | None = None, **numbers: Any
    ) -> None:
        if (epsilon is None) == (odds is None):
            got = "none of them" if epsilon is None else "both"
            raise TypeError(f"a {self.mechanism} needs {self.needs}, but got {got}")

        def given(name: str, low: int, high: int, highest: str = "") -> int | None:
            value = numbers[name]
            return None if value is None else whole_number(name, value, low, high)

        labels = canonical(domain)
        k = len(labels)
        choices = numbers | self._numbers(k, given)
        self._set(domain=labels, **self._best(k, Budget(epsilon, odds), **choices))
        self._check()

    # What a mechanism tells

    @classmethod
    @abstractmethod
    def _best(cls, k: int, budget: Budget, *args: Any, **given: Any) -> dict[str, Any]:
        """Give the attributes besides the domain: those that are given, and the best of the others."""

    @classmethod
    def _numbers(cls, k: int, number: NumberReader) -> dict[str, Any]:
        """Read the numbers besides the odds, each within its limits, in the order of the file."""
        return {}

    def _check(self) -> None:
        """Refuse attributes that do not fit together."""

    def _kept(self) -> dict[str, Any]:
        """Give what `with_epsilon` keeps besides the domain."""
        return {}

    @abstractmethod
    def _happens(self) -> str:
        """Say what happens to an answer."""

    @abstractmethod
    def _deniable(self) -> str:
        """Say how many of those who seem to hold an answer do, if all answers were equally likely."""

    # What follows from these

    def _set(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, **attributes: Any) -> Self:
        """Make a design of these attributes, which are checked."""
        made = cls.__new__(cls)
        made._set(**attributes)
        made._check()
        return made

    def with_epsilon(self, epsilon: Number) -> Self:
        """Give the best design of this mechanism for the same answers that spends at most this epsilon."""
        return self._of(domain=self.domain, **self._best(self.k, Budget(epsilon), **self._kept()))

    @classmethod
    def for_epsilon(cls, domain: Domain, epsilon: Number) -> Self:
        """Give the best design of this mechanism that spends at most this epsilon."""
        return cls(domain, epsilon=epsilon)

    def fields(self) -> Document:
        """Give the domain, the odds as decimal strings, and the numbers."""
        return {
            "domain": labels_to_json(self.domain),
            "odds": [str(part) for part in self.odds],
            **self.fixed_fields,
            **self._numbers(self.k, lambda name, *_: getattr(self, name)),
        }

    @classmethod
    def from_fields(cls, fields: Document) -> Self:
        for name, value in cls.fixed_fields.items():
            if fields[name] != value:
                raise ValueError(f'this design is damaged: {name} must be "{value}"')
        labels = canonical(labels_from_json("domain", fields["domain"]))
        numbers = cls._numbers(len(labels), partial(_number_from_json, fields))
        return cls._of(domain=labels, odds=odds_as_given(odds_from_json(fields["odds"])), **numbers)

    def sentences(self) -> tuple[str, ...]:
        return (
            listed("answers", self.domain),
            f"What happens to an answer: {self._happens()}",
            self._reveals(),
            f"How deniable it is: among people for whom all answers were equally likely, {self._deniable()}",
        )

    def _reveals(self) -> str:
        return revealed(self) if self.odds[1] else f"What a report reveals: {self.certain} (epsilon inf)."


class OddsDesign(FromOdds, Symmetric):
    """A design made from odds whose reports support sets of answers."""

    each_other: ClassVar[str] = "each other"  # what an answer that is not held is called in the summary

    @abstractmethod
    def _opening(self) -> str:
        """Begin the summary: all that comes before the number of answers."""

    def summary(self) -> str:
        return (
            f"{self._opening()} {self.k} answers ({first_and_last(self.domain)}): truth {self.p:.4g}, "
            f"{self.each_other} {self.q:.4g}, epsilon {self.shown_epsilon()}"
        )


def _number_from_json(fields: Document, name: str, low: int, high: int, highest: str = "") -> int:
    value = fields[name]
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"this design is damaged: {name} must be a whole number from {low} to {highest or high}")
    return value


def refuse_even(a: int, b: int) -> None:
    """Refuse odds that do not favour the answers of the reported set."""
    if not a > b:
        raise ValueError(f"odds must be larger for a set with the true answer, a > b, but got {a} : {b}")


def refuse_odds(a: int, b: int, total: int) -> None:
    """Refuse odds that do not favour the answers of the reported set, or that one draw cannot decide."""
    refuse_even(a, b)
    if total >= TOTAL_LIMIT:
        raise ValueError(
            "odds must be a : b with few enough digits for one draw below 2^62 to decide a report, but got "
            f"{a} : {b}, which needs {total:,}; give fewer digits, a smaller epsilon or fewer answers"
        )
