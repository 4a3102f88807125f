"""Libraries that are loaded when they are first used: what a command does not need costs it nothing."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
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


class WithoutPartsOfNumPy(MetaPathFinder):
    """Let SciPy copy the names of NumPy without loading those parts of NumPy that are loaded when they are asked for.

    `scipy.special` makes a namespace of everything that NumPy has, for which f2py, testing, polynomial and others are
    loaded: a third of the time that `import numpy, scipy.special` takes. Nothing of ours, nor of SciPy, looks for them
    there. Where SciPy does no such thing, neither does this.
    """

    copy = "scipy._lib.array_api_compat.numpy"

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find that module, and let it see the parts of NumPy that are there already; find no other."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname == cls.copy else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def executed(module: ModuleType) -> None:
            numpy = import_module("numpy")
            whole = {name: getattr(numpy, name) for name in ("__all__", "__dir__")}
            present = [name for name in numpy.__all__ if name in vars(numpy)]
            vars(numpy).update(__all__=present, __dir__=lambda: present)
            try:
                execute(module)
            finally:
                vars(numpy).update(whole)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def leave_out_parts_of_numpy() -> None:
    """Save the time that SciPy takes for nothing; for a process that is ours."""
    if WithoutPartsOfNumPy not in sys.meta_path:
        sys.meta_path.insert(0, WithoutPartsOfNumPy)
