"""How a design is written to a file and read back: a small JSON document, read strictly."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self

from warner.documents import Document, checked, document, loaded, parsed, save_text

if TYPE_CHECKING:
    import os

FORMAT = "warner design"
VERSION = 1


class Filed(ABC):
    """What has a JSON document: a mechanism with its fields."""

    mechanism: ClassVar[str]
    field_names: ClassVar[frozenset[str]]
    optional_fields: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def fields(self) -> Document:
        """Give what the JSON document holds besides format, version and mechanism."""

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: Document) -> Self:
        """Read what `fields` gave, field by field; what is damaged is an error."""

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
