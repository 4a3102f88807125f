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
