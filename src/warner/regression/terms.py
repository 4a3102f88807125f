"""Model terms: columns of data to the columns of a design matrix, in the same way for new data.

Terms are a list of columns, of which numbers enter as they are, and texts and truth values as indicators of each of
their levels but the first, with which the others are compared; or they are written as a formula (`formulas`), which
gives the same matrix for ``age + region`` as the list ``["age", "region"]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from warner.regression.covariates import columns_of, kind, levels_of, number_of_rows, refuse_infinite
from warner.words import enumerated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warner.arrays import Array, Integers
    from warner.regression.covariates import Columns, Level

Orders: TypeAlias = Mapping[str, tuple[str, ...] | None]  # of the levels that columns declare

INTERCEPT = "Intercept"
LEVELS_LISTED = 8  # levels in an error


@dataclass(frozen=True, eq=False)
class Terms:
    """The columns of a model, and how they follow from data.

    Attributes
    ----------
    names : tuple of str
        The names of the coefficients, in the order of the columns of the matrix; the intercept is the first.
    groups : mapping of str to tuple of int
        The columns of each term, by their numbers: several where a term is a factor.
    variables : tuple of str
        The columns of the data that are used.
    formula : str
        The right side of the formula; for a list of columns, the formula that it stands for.
    kinds : mapping of str to str
        What each variable holds: "number", "text" or "boolean".
    levels : mapping of str to tuple
        The levels of each variable that enters as a factor, in the order of its columns.
    """

    names: tuple[str, ...]
    groups: Mapping[str, tuple[int, ...]]
    variables: tuple[str, ...]
    formula: str
    kinds: Mapping[str, str]
    levels: Mapping[str, tuple[Level, ...]]
    evaluate: Callable[[Columns], Array] = field(repr=False)

    @property
    def references(self) -> list[tuple[str, str]]:
        """The level of each factor that has no indicator of its own, where exactly one has none."""
        return references(self.names, self.levels)

    def matrix(self, frame: Any) -> Array:
        """Give the matrix for new data: a data frame of any library, a mapping of columns, or an array of numbers.

        An array has a column for each variable, in their order. Values must be of the kind that they were, with no
        level that was not there, and none may be missing.

        >>> terms = TermList(("age",)).terms({"age": np.array([20, 40])})
        >>> terms.matrix({"age": [30.0]})
        array([[ 1., 30.]])
        """
        if isinstance(frame, np.ndarray):
            frame = by_name(frame, self.variables)
        columns = columns_of(frame, self.variables)
        if not self.variables and (size := _length(frame)) is not None:
            return np.ones((size, len(self.names)))
        for name, values in columns.items():
            self._refuse_other_kind(name, kind(values))
            refuse_infinite(name, values)
            if name in self.levels and (strange := set(values.tolist()).difference(self.levels[name])):
                raise ValueError(
                    f"column {name!r} must hold levels that were there when the model was fitted "
                    f"({enumerated([repr(level) for level in self.levels[name]], LEVELS_LISTED)}), but holds "
                    f"{enumerated(sorted(map(repr, strange)), LEVELS_LISTED)}"
                )
        return self.evaluate(columns)

    def _refuse_other_kind(self, name: str, given: str) -> None:
        wanted = self.kinds[name]
        if given != wanted and {given, wanted} != {"number", "boolean"}:
            raise TypeError(
                f"column {name!r} must hold {_plural(wanted)}, as it did when the model was fitted, but holds "
                f"{_plural(given)}"
            )


def _plural(kind_of_values: str) -> str:
    return {"number": "numbers", "text": "texts", "boolean": "truth values"}[kind_of_values]


def _length(frame: Any) -> int | None:
    """Give the number of rows of new data for a model without variables."""
    if isinstance(frame, Mapping):
        return max((len(values) for values in frame.values() if hasattr(values, "__len__")), default=1)
    return len(frame) if hasattr(frame, "__len__") else None


def by_name(matrix: Any, names: Sequence[str]) -> Columns:
    """Give the columns of an array of numbers by name."""
    array = np.asarray(matrix)
    array = array[:, np.newaxis] if array.ndim == 1 else array
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(f"X must be an array of numbers with two axes, but got shape {array.shape} of {array.dtype}")
    if array.shape[1] != len(names):
        raise ValueError(
            f"X must have as many columns as there are names ({len(names):,}: "
            f"{enumerated([repr(name) for name in names], LEVELS_LISTED)}), but has {array.shape[1]:,}"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"names must be distinct, but got {list(names)!r}")
    return {name: array[:, place] for place, name in enumerate(names)}


# A list of columns


class TermList(NamedTuple):
    """Terms that are a list of columns: numbers as they are, an indicator for each further level of all others.

    Without `intercept` the first level is left out all the same: something else is in its place.
    """

    names: tuple[str, ...]
    intercept: bool = True

    def variables(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Name the columns of the data that are used."""
        del columns
        return self.names

    def factors(self, columns: Columns) -> tuple[str, ...]:
        """Name the columns that enter by their levels, of which there may be many: texts."""
        return tuple(name for name in self.names if kind(columns[name]) == "text")

    def terms(self, columns: Columns, people: Integers | None = None, orders: Orders | None = None) -> Terms:
        """Make the terms.

        `columns` are those of the people that the model is fitted to, or of the distinct ones among them; how many
        `people` each one stands for makes no difference. `orders` are the orders of levels that columns declare.

        >>> people = {"age": np.array([20, 40]), "region": np.array(["n", "s"], object)}
        >>> TermList(("age", "region")).terms(people).names
        ('Intercept', 'age', 'region[T.s]')
        """
        del people
        factors = [name for name in self.names if kind(columns[name]) != "number"]
        formula = " + ".join(map(written, dict.fromkeys(self.names))) or "1"
        return added_terms(self.names, factors, columns, orders, intercept=self.intercept, formula=formula)


def added_terms(
    on: Sequence[str],
    factors: Iterable[str],
    columns: Columns,
    orders: Orders | None = None,
    *,
    intercept: bool,
    formula: str,
) -> Terms:
    """Make the terms of a sum of columns: an indicator for each further level of the `factors`, all others as is."""
    on = tuple(dict.fromkeys(on))
    levels = {name: levels_of(columns[name], (orders or {}).get(name)) for name in dict.fromkeys(factors)}
    refuse_one_level(levels)
    names = [INTERCEPT] if intercept else []
    groups: dict[str, tuple[int, ...]] = {INTERCEPT: (0,)} if intercept else {}
    for name in on:
        added = [f"{name}[T.{level}]" for level in levels[name][1:]] if name in levels else [name]
        groups[name] = tuple(range(len(names), len(names) + len(added)))
        names += added

    def evaluate(columns: Columns) -> Array:
        size = number_of_rows(columns)
        matrix = np.empty((size, len(names)), order="F")
        if intercept:
            matrix[:, 0] = 1
        for name in on:
            if name not in levels:
                matrix[:, groups[name][0]] = columns[name]
                continue
            first, *others = (columns[name] == level for level in levels[name])
            for place, indicator in zip(groups[name], others, strict=True):
                matrix[:, place] = indicator
            if first.sum() + matrix[:, list(groups[name])].sum() != size:  # or it would count as the first level
                raise ValueError(f"{name!r} has levels that were not there when the model was fitted")
        return matrix

    kinds = {name: kind(columns[name]) for name in on}
    return Terms(tuple(names), groups, on, formula, kinds, levels, evaluate)


def refuse_one_level(levels: Mapping[str, tuple[Level, ...]]) -> None:
    """Refuse a factor that is the same for everybody."""
    for name, present in levels.items():
        if len(present) < 2:
            held = f"{present[0]!r}" if present else "none"
            raise ValueError(
                f"column {name!r} must have at least two levels among the people that the model is fitted to, but "
                f"has {held}; leave it out"
            )


def written(name: str) -> str:
    """Write the name of a column as a formula has it."""
    return name if name.isidentifier() else f"`{name}`"


def references(names: Sequence[str], levels: Mapping[str, Sequence[object]]) -> list[tuple[str, str]]:
    """Give the level of each factor that has no indicator of its own, where exactly one has none."""
    left = []
    for variable, present in levels.items():
        own = [name for name in names if name.startswith((f"{variable}[", f"C({variable}"))]
        without = [str(level) for level in present if not any(f"[T.{level}]" in name for name in own)]
        left += [(variable, without[0])] * (len(without) == 1)
    return left
