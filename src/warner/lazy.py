"""Libraries that are loaded when they are first used: what a command does not need costs it nothing."""

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
    """Let f2py, testing, polynomial and other parts of NumPy stand for themselves until they are used.

    NumPy loads them when they are asked for; `scipy.special` asks for each name that NumPy has, and copies it: a third
    of the time that `import numpy, scipy.special` takes. For a process that is ours: NumPy itself is changed.
    """
    import numpy as np

    for name in set(np.__all__) - vars(np).keys():
        setattr(np, name, on_first_use(f"numpy.{name}"))
