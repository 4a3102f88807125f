"""Who takes part: every estimator of the library, and those that a user brings along.

A user's own estimator is any function of counts and a design that gives shares: ``def mine(counts, design)``, one
survey at a time. If it has a parameter ``n``, it is given the number of reports, which the counts do not tell where a
report supports several answers. On the command line it is named as ``module:function``; the module may be a file in the
folder that one is in.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.estimators import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from warner.arrays import Array, Integers
    from warner.designs.contract import Design

LEFT_OUT = {"ibu": "it approaches mle, step by step"}
PREDICTED = "predicted"  # of the closed forms the one with the smallest predicted error: auto, below 20 answers
BUILT_IN = (*(name for name in METHODS if name not in LEFT_OUT), PREDICTED)
NAME = re.compile(r"[\w.+-]+")  # of an own estimator: it becomes the name of a folder


@dataclass(frozen=True, eq=False)
class OwnEstimator:
    """A user's own estimator, with the name that tables call it by."""

    name: str
    estimator: Callable[..., Any]

    @property
    def digest(self) -> str:
        """A short name for the text of its module, so that results of another text are not taken for its own."""
        try:
            source = inspect.getsource(inspect.getmodule(self.estimator) or self.estimator)
        except (OSError, TypeError):  # typed in by hand, or not written in Python
            return "unknown"
        return blake2b(source.encode(), digest_size=4).hexdigest()

    def shares(self, counts: Integers, design: Design, n: int) -> Array:
        """Estimate one survey after the other, and check what comes back."""
        keywords = {"n": n} if "n" in inspect.signature(self.estimator).parameters else {}
        setting = f"{n:,} reports under {design.summary()}"
        try:
            rows = [np.asarray(self.estimator(row, design, **keywords)) for row in counts]
        except Exception as error:
            message = f"the estimator {self.name} failed on {setting}: {type(error).__name__}: {error}"
            raise ValueError(message) from error
        for row in rows:
            if row.shape != (design.k,) or row.dtype.kind not in "fiu":
                raise ValueError(
                    f"the estimator {self.name} must give one share for each of the {design.k} answers, but it gave an "
                    f"array of {row.dtype} of shape {row.shape} on {setting}"
                )
            if not np.isfinite(row).all():
                raise ValueError(f"the estimator {self.name} must give finite shares, but one is not, on {setting}")
        return np.array(rows, dtype=np.float64)


def own_estimators(given: Mapping[str, Callable[..., Any]] | Iterable[str]) -> list[OwnEstimator]:
    """Make own estimators of a mapping from names to functions, or of words such as ``module:function``.

    >>> import warner
    >>> [own.name for own in own_estimators({"mine": warner.inv_p})]
    ['mine']
    """
    functions = (
        dict(given) if isinstance(given, Mapping) else {word.partition(":")[2]: _function(word) for word in given}
    )
    for name, function in functions.items():
        if not NAME.fullmatch(name) or name in METHODS or name == PREDICTED:
            raise ValueError(
                f"the name of an own estimator must be made of letters, digits and _.+-, and must not be one of "
                f"{', '.join(METHODS)}, {PREDICTED}, but got {name!r}"
            )
        if not callable(function):
            raise TypeError(f"an own estimator must be a function of counts and design, but {name} is {function!r}")
    return [OwnEstimator(name, function) for name, function in functions.items()]


def _function(word: str) -> Any:
    """Import ``module:function``, also from the folder that one is in."""
    module, colon, name = word.partition(":")
    if not (colon and module and name):
        raise ValueError(f"an estimator must be given as module:function, but got {word!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ValueError(
            f"there is no module {module} here or among those installed, for the estimator {word}"
        ) from None
    except AttributeError:
        raise ValueError(f"the module {module} has no {name}, for the estimator {word}") from None
