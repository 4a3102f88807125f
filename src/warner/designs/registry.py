"""Registry of mechanisms: those of this package, those of others, and those that somebody registers.

A package offers mechanisms of its own as entry points of the group ``warner.mechanisms``, in its ``pyproject.toml``::

    [project.entry-points."warner.mechanisms"]
    coin = "coins:CoinResponse"

To look for them takes as long as half of this library's start, so that it waits until a name is asked for that is not
known otherwise, or all names are.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from warner.designs.contract import Design

ENTRY_POINT_GROUP = "warner.mechanisms"

Mechanism = TypeVar("Mechanism", bound=type[Design])


class Registry(Mapping[str, type[Design]]):
    """The class of each mechanism, by the name that it has in files and on the command line."""

    def __init__(self, built_in: Iterable[type[Design]]) -> None:
        self._known = {design.mechanism: design for design in built_in}
        self._built_in = frozenset(self._known)
        self._searched = False

    def register(self, mechanism: Mechanism) -> Mechanism:
        """Add a mechanism of one's own; see `warner.designs.register`."""
        if not (isinstance(mechanism, type) and issubclass(mechanism, Design)):
            raise TypeError(f"mechanism must be a class that inherits from Design, but got {mechanism!r}")
        if inspect.isabstract(mechanism):
            untold = ", ".join(sorted(mechanism.__abstractmethods__))
            raise TypeError(f"mechanism must tell all that a design must, but {mechanism.__name__} lacks {untold}")
        name = getattr(mechanism, "mechanism", None)
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"mechanism must be the name of {mechanism.__name__}, a text, but got {name!r}")
        before = self._known.get(name)
        if name in self._built_in or (before is not None and _place(before) != _place(mechanism)):
            raise ValueError(f"mechanism must be a name of its own, but there is a {name!r} already; choose another")
        self._known[name] = mechanism  # a cell of a notebook that is run again defines its class again
        return mechanism

    def _search(self) -> None:
        """Load what other packages offer; what cannot be loaded is left out with a word."""
        if self._searched:
            return
        self._searched = True
        from importlib.metadata import entry_points

        for point in entry_points(group=ENTRY_POINT_GROUP):
            try:
                self.register(point.load())
            except Exception as error:  # noqa: BLE001 - of somebody else's package anything can be wrong
                why = f"{type(error).__name__}: {error}"
                warnings.warn(f"the mechanism {point.value} of another package was left out: {why}", stacklevel=3)

    def named(self, name: str) -> str:
        """Spell a name as the mechanism does, whatever its capitals; a name that nothing has stays as it is."""
        for names in (self._known, self):
            for known in names:
                if known.lower() == name.lower():
                    return known
        return name

    def __getitem__(self, name: str) -> type[Design]:
        if name not in self._known:
            self._search()
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        if name not in self._known:
            self._search()
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        self._search()
        return iter(tuple(self._known))

    def __len__(self) -> int:
        self._search()
        return len(self._known)


def _place(mechanism: type[Design]) -> tuple[str, str]:
    return mechanism.__module__, mechanism.__qualname__
