"""Libraries that are imported on first use.

Two measured savings of processor time in `warner estimate` on a small file (255 ms, Python 3.11) keep this module. The
parts of NumPy that `scipy.special` imports without need, mostly `numpy.f2py` and `numpy.testing`, take 42 ms; neither
NumPy nor SciPy has a public way to leave them out. Narwhals takes 14 ms.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class _OnFirstUse(ModuleType):
    """A module that stands for another one, and asks it for what it does not have yet."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def on_first_use(name: str) -> Any:
    """Give a module that is imported as soon as somebody asks for anything in it.

    >>> on_first_use("math").floor(1.5)
    1
    """
    return _OnFirstUse(name)


def postpone_parts_of_numpy() -> None:
    """Replace the parts of NumPy that are not imported yet by modules that import them on first use.

    NumPy imports f2py, testing, polynomial and others on first use, too, but `scipy.special` copies every public name
    of NumPy, which imports them all. This changes NumPy itself, so only the command line calls it, never the library.
    """
    import numpy as np

    for name in set(np.__all__) - vars(np).keys():
        setattr(np, name, on_first_use(f"numpy.{name}"))
