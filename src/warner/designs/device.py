"""Randomizing devices: what an answer goes through before it is reported, with its privacy, its file and its words.

All that does not need a list of answers stands here: how much one report reveals, how the device is written to a file
and read back, and how it is explained. A `Design` (`contract`) has a list of answers besides, an `OpenDomain` has none.
"""

from __future__ import annotations

import hashlib
import json
import textwrap
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

from warner.designs.exact import double_not_below, log_ratio, shown_up
from warner.documents import Document, checked, document, loaded, parsed, save_text
from warner.words import printable

if TYPE_CHECKING:
    import os
    from decimal import Decimal

FORMAT = "warner design"
VERSION = 1
WITHOUT_LIST = (
    "has no list of answers, which this needs; warner.discover finds its frequent values, or close it with "
    "design.closed([...])"
)


class Device(ABC):
    """What every answer goes through: a frozen value, and the one place that probabilities come from.

    Attributes
    ----------
    mechanism : str
        Its name in files and on the command line.
    field_names, optional_fields : frozenset of str
        What its JSON document must hold besides format, version and mechanism, and what it may hold.
    """

    mechanism: ClassVar[str]
    field_names: ClassVar[frozenset[str]]
    optional_fields: ClassVar[frozenset[str]] = frozenset()

    # Facts that every mechanism must tell

    @property
    @abstractmethod
    def ratio(self) -> tuple[int, int]:
        """The smaller and the larger of the two whole numbers whose ratio is e^epsilon; (0, b) if that is infinite."""

    @property
    @abstractmethod
    def draws(self) -> tuple[int, ...]:
        """The whole numbers below which one report is drawn, one after the other: all that chance decides about it.

        One that is only compared with another is drawn in bytes, not in words of 64 bits: its limit is a ``Compared``.
        """

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """Give a few small designs of this mechanism, to look at, and for the tests that every mechanism must pass."""

    @abstractmethod
    def sentences(self) -> tuple[str, ...]:
        """Explain in plain words, a paragraph each, unwrapped: what is done, what it reveals, how deniable it is."""

    @abstractmethod
    def summary(self) -> str:
        """Name the design in one line, with its epsilon."""

    @abstractmethod
    def fields(self) -> Document:
        """Give what the JSON document holds besides format, version and mechanism."""

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: Document) -> Self:
        """Read what `fields` gave, field by field; what is damaged is an error."""

    # What follows from these

    @cached_property
    def epsilon(self) -> float:
        """The privacy that one report spends, in nats, as the smallest double that is not below it."""
        return double_not_below(self._spent)

    def shown_epsilon(self, digits: int = 4) -> str:
        """Write epsilon in so many significant digits, rounded up: never less than what is spent.

        >>> from warner import RandomizedResponse
        >>> RandomizedResponse(2, odds=(3, 1)).shown_epsilon()  # ln 3 = 1.09861...
        '1.099'
        >>> RandomizedResponse(2, epsilon=0.1).shown_epsilon()
        '0.1'
        """
        return shown_up(self._spent, digits)

    @cached_property
    def _spent(self) -> Decimal:
        return log_ratio(*self.ratio)

    # In files and in words

    def to_dict(self) -> Document:
        """Give the design as what JSON can hold."""
        return {"format": FORMAT, "version": VERSION, "mechanism": self.mechanism, **self.fields()}

    def to_json(self) -> str:
        """Write the design as a small JSON document; whole numbers are decimal strings, which no reader rounds.

        >>> from warner import RandomizedResponse
        >>> print(RandomizedResponse(["yes", "no"], truth="3/4").to_json())
        {
          "format": "warner design",
          "version": 1,
          "mechanism": "randomized response",
          "domain": ["yes", "no"],
          "odds": ["3", "1"]
        }
        """
        return document(self.to_dict())

    def fingerprint(self) -> str:
        """Give the SHA-256 of the JSON document in one spelling, without spaces and by field name, in hexadecimal."""
        spelled = json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(spelled.encode()).hexdigest()

    @classmethod
    def from_dict(cls, fields: Document) -> Self:
        """Read what `to_dict` gave; anything else is an error that says what is wrong with it."""
        checked(fields, FORMAT, VERSION, {"mechanism", *cls.field_names}, cls.optional_fields)
        if fields["mechanism"] != cls.mechanism:
            raise ValueError(f"mechanism must be {cls.mechanism!r}, but this design says {fields['mechanism']!r}")
        try:
            return cls.from_fields(fields)
        except TypeError as error:  # labels of other types: in a file that is a wrong value
            raise ValueError(f"this design is damaged: {error}") from None

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; anything else is an error that says what is wrong with it."""
        return cls.from_dict(parsed(text, FORMAT))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the design to a file, whole or not at all."""
        save_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a design that `save` wrote; `warner.load_design` reads designs of every mechanism."""
        return loaded(path, cls.from_json)

    def in_words(self) -> str:
        """Explain what happens to an answer, what a report reveals, and how deniable an answer is.

        >>> from warner import RandomizedResponse
        >>> print(RandomizedResponse(["yes", "no"], truth="3/4").in_words())
        Possible answers (2): yes, no
        What happens to an answer: with probability 0.75 it is reported as it is; otherwise one of the other answers is
        reported instead, each with probability 0.25.
        What a report reveals: epsilon 1.099. It makes no answer more than 3.0 times likelier, against any other, than
        it was before.
        How deniable it is: among people for whom all answers were equally likely, 75 % of those who report an answer
        really hold it, and 25 % do not.
        """
        paragraphs = map(printable, self.sentences())  # labels may hold control characters, which a terminal would obey
        return "\n".join(textwrap.fill(paragraph, 120, break_long_words=False) for paragraph in paragraphs)

    def repetition(self) -> str:
        """Say what somebody spends who reports again on the same question."""
        return "A person who reports again on the same question spends it again."

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def revealed(design: Device) -> str:
    """Say what a report reveals: by how much it can change the odds of two answers, rounded up as epsilon is."""
    low, high = design.ratio
    if low == high:
        return "What a report reveals: nothing (epsilon 0). Nothing can be estimated from such reports either."
    if low == 0:
        return "What a report reveals: at least one report rules out an answer for certain (epsilon inf)."
    times = -(-1000 * high // low) / 1000
    return (
        f"What a report reveals: epsilon {design.shown_epsilon()}. It makes no answer more than {times:,} times "
        "likelier, against any other, than it was before."
    )
