"""Registry of mechanisms: of this package, of other packages, and registered ones.

The mechanisms of this package are imported on first use: a survey with one design loads one mechanism.

Another package offers mechanisms as entry points of the group ``warner.mechanisms``, in its ``pyproject.toml``::

    [project.entry-points."warner.mechanisms"]
    coin = "coins:CoinResponse"

The search for entry points is slow, so that it waits for an unknown name, or for a list of all names.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

from warner.designs.contract import Design, Device

ENTRY_POINT_GROUP = "warner.mechanisms"

Kind = TypeVar("Kind", bound=Device)
Mechanism = TypeVar("Mechanism", bound=type[Design])


def import_object(path: str) -> Any:
    """Import an object of `warner.designs` by its path, such as ``unary.UnaryEncoding``."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"warner.designs.{module}"), name)


class BuiltIn(Mapping[str, type[Kind]]):
    """Classes of this package by the names of their mechanisms, imported on first use."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self.paths = paths

    def __getitem__(self, name: str) -> type[Kind]:
        kind: type[Kind] = import_object(self.paths[name])
        return kind

    def __contains__(self, name: object) -> bool:
        return name in self.paths

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


class Registry(BuiltIn[Design]):
    """Class of each mechanism, by its name in files and on the command line."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        super().__init__(paths)
        self._added: dict[str, type[Design]] = {}  # registered, or offered by other packages
        self._searched = False

    def register(self, mechanism: Mechanism) -> Mechanism:
        """Add a custom mechanism; see `warner.designs.register`."""
        if not (isinstance(mechanism, type) and issubclass(mechanism, Design)):
            raise TypeError(f"mechanism must be a class that inherits from Design, but got {mechanism!r}")
        if inspect.isabstract(mechanism):
            missing = ", ".join(sorted(mechanism.__abstractmethods__))
            raise TypeError(f"mechanism must define all abstract members, but {mechanism.__name__} lacks {missing}")
        name = getattr(mechanism, "mechanism", None)
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"mechanism must be the name of {mechanism.__name__}, a text, but got {name!r}")
        before = self._added.get(name)
        if name in self.paths or (before is not None and _origin(before) != _origin(mechanism)):
            raise ValueError(f"mechanism must be a name of its own, but there is a {name!r} already; choose another")
        self._added[name] = mechanism  # a cell of a notebook that is run again defines its class again
        return mechanism

    def _search(self) -> None:
        """Load the mechanisms of other packages; a mechanism that cannot be loaded is left out with a warning."""
        if self._searched:
            return
        self._searched = True
        from importlib.metadata import entry_points

        for point in entry_points(group=ENTRY_POINT_GROUP):
            try:
                self.register(point.load())
            except Exception as error:  # noqa: BLE001 - another package can raise anything
                why = f"{type(error).__name__}: {error}"
                warnings.warn(f"the mechanism {point.value} of another package was left out: {why}", stacklevel=3)

    def _known(self, name: object) -> bool:
        return name in self.paths or name in self._added

    def named(self, name: str) -> str:
        """Return a mechanism's name in its own spelling, whatever its capitals; unknown names stay as they are."""
        for names in (self.paths, self):
            for known in names:
                if known.lower() == name.lower():
                    return known
        return name

    def __getitem__(self, name: str) -> type[Design]:
        if not self._known(name):
            self._search()
        return super().__getitem__(name) if name in self.paths else self._added[name]

    def __contains__(self, name: object) -> bool:
        if not self._known(name):
            self._search()
        return self._known(name)

    def __iter__(self) -> Iterator[str]:
        self._search()
        return iter((*self.paths, *self._added))

    def __len__(self) -> int:
        self._search()
        return len(self.paths) + len(self._added)


def _origin(mechanism: type[Design]) -> tuple[str, str]:
    return mechanism.__module__, mechanism.__qualname__
