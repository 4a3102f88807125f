"""Custom estimators: any function of counts and a design that gives shares, ``def mine(counts, design)``.

It is given one survey at a time: a number for each column of the design, weights scaled to the number of reports that
they are worth. If it has a parameter ``n``, it is given the number of reports, which the counts do not tell where a
report supports several answers. What it gives back is checked, and never changed; nothing is proven about it, so that
it has no certificate. Intervals come from the counts, whatever the estimator is.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from warner.estimators.methods import METHODS, Method, Solution, default_method

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Counts
    from warner.designs.contract import Design
    from warner.estimators.likelihood import Parts
    from warner.reports.pools import Collected

MethodAsked: TypeAlias = "str | Callable[..., Any] | None"

AUTO = "auto"
METHOD_NAME = re.compile(r"[\w.+-]+")  # it may become the name of a folder
OWN_SENTENCE = "an estimator of the user's own"


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

    def shares(self, counts: Counts, design: Design, n: float) -> Array:
        """Estimate one survey after the other, all of n reports, and check what comes back."""
        return np.array([self.of_one(row, design, n) for row in counts])

    def of_one(self, counts: Counts, design: Design, n: float) -> Array:
        """Estimate one survey."""
        setting = f"{n:,} reports under {design.summary()}"
        try:
            keywords = {"n": n} if "n" in inspect.signature(self.estimator).parameters else {}
            row = np.asarray(self.estimator(counts, design, **keywords))
        except Exception as error:
            message = f"the estimator {self.name} failed on {setting}: {type(error).__name__}: {error}"
            raise ValueError(message) from error
        if row.shape != (design.k,) or row.dtype.kind not in "fiu":
            raise ValueError(
                f"the estimator {self.name} must give one share for each of the {design.k} answers, but it gave an "
                f"array of {row.dtype} of shape {row.shape} on {setting}"
            )
        if not np.isfinite(row).all():
            raise ValueError(f"the estimator {self.name} must give finite shares, but one is not, on {setting}")
        return row.astype(np.float64)


def method_of(own: OwnEstimator) -> Method:
    """Make a method of an own estimator: for one collection, a group at a time."""

    def solve(parts: Parts) -> Solution:
        if len(parts) > 1:
            raise TypeError(
                f"method must not be the function {own.name} for a pool: it takes the counts of one design; estimate "
                "each part of the pool, or use mle"
            )
        design, histograms = parts[0]
        counts, numbers = histograms.in_reports()
        rows = zip(counts, numbers.tolist(), strict=True)
        return Solution(np.array([own.of_one(row.copy(), design, n) for row, n in rows]))

    return Method(solve, valid=False, likelihood=False, sentence=OWN_SENTENCE, part_sentence=OWN_SENTENCE)


UNKNOWN_METHOD = method_of(OwnEstimator("own", lambda counts, design: counts))


def described(name: str) -> Method:
    """Give the method of this name; of any other name, what is known of an estimator of one's own."""
    return METHODS.get(name, UNKNOWN_METHOD)


def method_asked(method: MethodAsked, tally: Collected) -> tuple[str, Method | None]:
    """Give the name of the method that was asked for, and of a function what `METHODS` would say of it."""
    if method is None:
        return default_method(tally), None
    if isinstance(method, str) and (method in METHODS or method == AUTO):
        return method, None
    if isinstance(method, str) or not callable(method):
        names = ", ".join(METHODS)
        raise ValueError(
            f"method must be one of {names}, {AUTO}, or a function of counts and design, but got {method!r}"
        )
    function = getattr(method, "func", method)  # of functools.partial
    name = getattr(function, "__name__", type(function).__name__)
    if name in METHODS or name == AUTO:
        raise ValueError(
            f'method must not be a function called {name}: for the estimator of the library give method="{name}", and '
            "give a function of your own another name"
        )
    own = OwnEstimator(name if METHOD_NAME.fullmatch(name) else "own", method)
    return own.name, method_of(own)
