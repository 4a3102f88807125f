"""Formulas and terms: columns of data to the columns of a design matrix, in the same way for new data.

Terms are a list of columns, of which numbers enter as they are, and texts and truth values as indicators of each of
their levels but the first; or they are written as a formula, such as ``answer ~ age + C(region)``. Its left side is the
name of a column. A right side that only adds columns is a list of these; any other is evaluated by formulaic, which
must be installed (the extra `regress`).

Three traps of formulas are errors here: a level that was not there when the model was fitted, which is not taken as the
reference level; missing values; and terms of a row that depend on other rows. ``center(age)`` keeps the average of the
respondents that the model was fitted to, ``age - age.mean()`` would be something else for new data.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from keyword import iskeyword
from typing import Any, TypeAlias

import numpy as np

from warner.arrays import Array, Integers, objects
from warner.reports.loading import Values, column
from warner.runtime import narwhals as nw
from warner.text import counted, enumerated, not_installed

# Covariates


Columns: TypeAlias = Mapping[str, Values]  # as long as each other, with nothing missing
Level: TypeAlias = str | int | float | bool


def columns_of(frame: Any, names: Iterable[str]) -> Columns:
    """Read the columns that a model needs from new data: a data frame or a mapping, without missing values."""
    names = list(names)
    if isinstance(frame, Mapping):
        given: dict[str, Any] = dict(frame)
        long = [len(values) for values in given.values() if _is_long(values)]
        size = long[0] if long else 1
        if any(length != size for length in long):
            raise ValueError(f"columns must have equal lengths, but have lengths {sorted(set(long))}")
        given = {name: values if _is_long(values) else [values] * size for name, values in given.items()}
    else:
        try:
            lazy: Any = nw.from_native(frame)
        except TypeError:
            raise TypeError(
                f"new data must be a data frame or a mapping of columns, but got {type(frame).__module__}."
                f"{type(frame).__name__}"
            ) from None
        whole = lazy.collect() if isinstance(lazy, nw.LazyFrame) else lazy
        given = {name: whole[name] for name in whole.columns}
    absent = [name for name in names if name not in given]
    if absent:
        raise ValueError(
            f"new data must have {'the column' if len(absent) == 1 else 'the columns'} "
            f"{enumerated([repr(name) for name in absent], 5)}, which the model uses; there is "
            f"{enumerated([repr(name) for name in given], 8) or 'none'}"
        )
    read = {name: column(name, given[name]) for name in names}
    for name, (_, missing, _) in read.items():
        if missing.any():
            lacking = counted(int(missing.sum()), "row lacks", "rows lack")
            raise ValueError(f"column {name!r} must have no missing values in new data, but {lacking} one")
    return {name: values for name, (values, _, _) in read.items()}


def _is_long(values: Any) -> bool:
    return hasattr(values, "__len__") and not isinstance(values, str | bytes)


def number_of_rows(columns: Columns) -> int:
    return len(next(iter(columns.values()))) if columns else 1


def kind(values: Values) -> str:
    """Kind of a column's values: number, text or boolean."""
    return {"O": "text", "b": "boolean"}.get(values.dtype.kind, "number")


def levels_of(values: Values, order: Sequence[str] | None = None) -> tuple[Level, ...]:
    """Distinct values of a column: sorted, or in the declared order.

    >>> levels_of(np.array(["b", "a", "b"], dtype=object))
    ('a', 'b')
    """
    if values.dtype.kind != "O":
        return tuple(np.unique(values).tolist())
    present = set(values.tolist())
    return tuple(sorted(present)) if order is None else tuple(level for level in order if level in present)


def numbered(values: Values) -> tuple[Integers, Values]:
    """Index of each value among the sorted distinct values, and these."""
    if values.dtype.kind != "O":
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int64), distinct
    listed = values.tolist()
    levels = sorted(set(listed))
    index = {level: number for number, level in enumerate(levels)}
    codes = np.fromiter((index[value] for value in listed), dtype=np.int64, count=len(listed))
    return codes, objects(levels)


def refuse_infinite(name: str, values: Values) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        number = int((~np.isfinite(values)).sum())
        raise ValueError(
            f"column {name!r} must hold finite numbers, but {counted(number, 'of its values is', 'of its values are')} "
            "infinite; recode them, or have them missing"
        )


# Terms


Orders: TypeAlias = Mapping[str, tuple[str, ...] | None]  # of the levels that columns declare

INTERCEPT = "Intercept"
LEVELS_LISTED = 8  # levels in an error
KINDS_IN_WORDS = {"number": "numbers", "text": "texts", "boolean": "truth values"}


@dataclass(frozen=True, eq=False)
class Terms:
    """Columns of a design matrix, and how they follow from data."""

    names: tuple[str, ...]  # of the columns of the matrix; the intercept is the first
    groups: Mapping[str, tuple[int, ...]]  # columns of each term
    variables: tuple[str, ...]  # columns of the data that are used
    formula: str  # right side of the formula, also for a list of columns
    kinds: Mapping[str, str]  # of each variable: "number", "text" or "boolean"
    levels: Mapping[str, tuple[Level, ...]]  # of each factor, in the order of its columns
    evaluate: Callable[[Columns], Array] = field(repr=False)

    @property
    def references(self) -> list[tuple[str, str]]:
        """Reference level of each factor, where exactly one level has no indicator."""
        left = []
        for variable, present in self.levels.items():
            indicators = [name for name in self.names if name.startswith((f"{variable}[", f"C({variable}"))]
            without = [str(level) for level in present if not any(f"[T.{level}]" in name for name in indicators)]
            left += [(variable, without[0])] * (len(without) == 1)
        return left

    def matrix(self, frame: Any) -> Array:
        """Design matrix of new data: a data frame of any library, a mapping of columns, or an array of numbers.

        An array has a column for each variable, in their order. Values must be of the kind that they were, with no
        level that was not there, and none may be missing.

        >>> terms = Formula("age").terms({"age": np.array([20, 40])})
        >>> terms.matrix({"age": [30.0]})
        array([[ 1., 30.]])
        """
        if isinstance(frame, np.ndarray):
            frame = by_name(frame, self.variables)
        columns = columns_of(frame, self.variables)
        if not self.variables and (size := _length(frame)) is not None:
            return np.ones((size, len(self.names)))
        for name, values in columns.items():
            actual, expected = kind(values), self.kinds[name]
            if actual != expected and {actual, expected} != {"number", "boolean"}:
                raise TypeError(
                    f"column {name!r} must hold {KINDS_IN_WORDS[expected]}, as it did when the model was fitted, but "
                    f"holds {KINDS_IN_WORDS[actual]}"
                )
            refuse_infinite(name, values)
            if name in self.levels and (strange := set(values.tolist()).difference(self.levels[name])):
                raise ValueError(
                    f"column {name!r} must hold levels that were there when the model was fitted "
                    f"({enumerated([repr(level) for level in self.levels[name]], LEVELS_LISTED)}), but holds "
                    f"{enumerated(sorted(map(repr, strange)), LEVELS_LISTED)}"
                )
        return self.evaluate(columns)


def _length(frame: Any) -> int | None:
    """Return the number of rows of new data for a model without variables."""
    if isinstance(frame, Mapping):
        return max((len(values) for values in frame.values() if hasattr(values, "__len__")), default=1)
    return len(frame) if hasattr(frame, "__len__") else None


def by_name(matrix: Any, names: Sequence[str]) -> Columns:
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
    return {name: array[:, index] for index, name in enumerate(names)}


# A list of columns


def added_terms(
    on: Sequence[str], factors: Iterable[str], columns: Columns, orders: Orders | None, formula: str
) -> Terms:
    """Terms of a sum of columns: indicators for the levels of `factors` but the first, all others as they are."""
    on = tuple(dict.fromkeys(on))
    levels = {name: levels_of(columns[name], (orders or {}).get(name)) for name in dict.fromkeys(factors)}
    refuse_one_level(levels)
    names = [INTERCEPT]
    groups: dict[str, tuple[int, ...]] = {INTERCEPT: (0,)}
    for name in on:
        added = [f"{name}[T.{level}]" for level in levels[name][1:]] if name in levels else [name]
        groups[name] = tuple(range(len(names), len(names) + len(added)))
        names += added

    def evaluate(columns: Columns) -> Array:
        size = number_of_rows(columns)
        matrix = np.empty((size, len(names)), order="F")
        matrix[:, 0] = 1
        for name in on:
            if name not in levels:
                matrix[:, groups[name][0]] = columns[name]
                continue
            first, *others = (columns[name] == level for level in levels[name])
            for index, indicator in zip(groups[name], others, strict=True):
                matrix[:, index] = indicator
            if first.sum() + matrix[:, list(groups[name])].sum() != size:  # or it would count as the first level
                raise ValueError(f"{name!r} has levels that were not there when the model was fitted")
        return matrix

    kinds = {name: kind(columns[name]) for name in on}
    return Terms(tuple(names), groups, on, formula, kinds, levels, evaluate)


def refuse_one_level(levels: Mapping[str, tuple[Level, ...]]) -> None:
    for name, present in levels.items():
        if len(present) < 2:
            found = f"{present[0]!r}" if present else "none"
            raise ValueError(
                f"column {name!r} must have at least two levels among the respondents that the model is fitted to, but "
                f"has {found}; leave it out"
            )


def written(name: str) -> str:
    """Name of a column as it is written in a formula."""
    return name if name.isidentifier() else f"`{name}`"


# Formulas


ROWS_COMPARED = 1_000  # rows in which a term may be seen to depend on other rows
BACKQUOTED = re.compile(r"`([^`]*)`")
RANDOM_TERM = re.compile(r"(?:^|\+)\s*\(\s*1\s*\|\s*(?:(\w+)|`([^`]*)`)\s*\)(?=\s*(?:[+-]|$))")


def sides(formula: str) -> tuple[str, str]:
    """Split a formula into its response, empty if there is none, and its right side.

    >>> sides("answer ~ age + C(region)")
    ('answer', 'age + C(region)')
    """
    if not isinstance(formula, str):
        raise TypeError(f'formula must be a text such as "answer ~ age", but got {formula!r}')
    left, tilde, right = formula.partition("~")
    if not tilde:
        return formula.strip(), ""
    left, right = left.strip(), right.strip()
    if not right or "~" in right:
        raise ValueError(f'formula must be "answer ~ " and the terms, such as "answer ~ age", but got {formula!r}')
    if len(left) > 1 and left[0] == left[-1] == "`":
        left = left[1:-1]
    return left, right


def intercepts_apart(right: str) -> tuple[str, str | None]:
    """Split a term such as ``(1 | school)`` from the right side of a formula: the other terms, and its column.

    >>> intercepts_apart("age + (1 | school)")
    ('age', 'school')
    >>> intercepts_apart("(1 | school)")
    ('1', 'school')
    >>> intercepts_apart("age")
    ('age', None)
    """
    if "|" not in BACKQUOTED.sub("", right):
        return right, None
    found = RANDOM_TERM.findall(right)
    rest = RANDOM_TERM.sub("", right).strip()
    column = found[0][0] or found[0][1] if len(found) == 1 else ""
    if not column or "|" in BACKQUOTED.sub("", rest) or rest.startswith(("*", ":", "-", "/")):
        raise ValueError(
            "formula must have one random intercept at most, added as (1 | school) with the name of one column, but "
            f"got {right!r}: slopes, nested and crossed effects are not fitted"
        )
    return rest.removeprefix("+").strip() or "1", column


@dataclass(frozen=True)
class Formula:
    """Right side of a formula, parsed once; or a `listed` sum of columns, in which truth values are indicators."""

    right: str
    listed: tuple[str, ...] | None = None

    @classmethod
    def of_columns(cls, on: Iterable[str]) -> Formula:
        """Terms of a list of columns: numbers as they are, all others as indicators of their levels but the first.

        >>> people = {"age": np.array([20, 40]), "region": np.array(["n", "s"], object)}
        >>> Formula.of_columns(["age", "region"]).terms(people).names
        ('Intercept', 'age', 'region[T.s]')
        """
        names = tuple(dict.fromkeys(on))
        return cls(" + ".join(map(written, names)) or "1", names)

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """Columns of a formula that only adds columns, such as ``age + region`` or ``1``; None for other formulas."""
        if self.listed is not None:
            return self.listed
        parts = tuple(dict.fromkeys(part.strip() for part in self.right.split("+")))
        if parts == ("1",):
            return ()
        return parts if all(part.isidentifier() and not iskeyword(part) for part in parts) else None

    @cached_property
    def _tree(self) -> Any:
        return _parsed(self.right)

    @cached_property
    def _factors(self) -> list[Any]:
        return [factor for term in self._tree for factor in term.factors]

    def variables(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Columns of the data that the formula uses, in the order of appearance.

        Whatever is neither a column nor a function that formulas know is taken for a column that is not there.
        """
        if self.names is not None:
            return self.names
        factors = self._factors
        from formulaic.transforms import TRANSFORMS  # it is there: the formula was read

        columns = set(columns)
        used = [name for factor in factors for name in _names(factor, TRANSFORMS)]
        return tuple(dict.fromkeys(name for name in used if name in columns or name not in TRANSFORMS))

    def factors(self, columns: Columns) -> tuple[str, ...]:
        """Columns that enter by their levels: texts, and columns in ``C(column)``."""
        if self.names is not None:
            return tuple(name for name in self.names if kind(columns[name]) == "text")
        looked_up = [one.expr for one in self._factors if one.eval_method.value == "lookup"]
        texts = [name for name in looked_up if kind(columns[name]) == "text"]
        marked = [_marked(one.expr) for one in self._factors if one.eval_method.value == "python"]
        return tuple(name for name in dict.fromkeys((*texts, *marked)) if name in columns)

    def terms(self, columns: Columns, people: Integers | None = None, orders: Orders | None = None) -> Terms:
        """Evaluate the terms for distinct rows of `columns`, with the number of `people` in each (one if None).

        Stateful terms such as ``center(age)`` use the average of the respondents. `orders` are the declared orders of
        levels.
        """
        if self.names is not None:
            numbers = {"number"} if self.listed is not None else {"number", "boolean"}  # that enter as they are
            factors = [name for name in self.names if kind(columns[name]) not in numbers]
            return added_terms(self.names, factors, columns, orders, self.right)
        return _evaluated_terms(self._tree, self, columns, people, orders)


def _evaluated_terms(
    tree: Any, formula: Formula, columns: Columns, people: Integers | None, orders: Orders | None
) -> Terms:
    """Terms of a formula that formulaic evaluates."""
    variables, right = formula.variables(columns), formula.right
    used = {name: columns[name] for name in variables}
    texts = {name: values for name, values in used.items() if kind(values) == "text"}
    categories = {name: levels_of(values, (orders or {}).get(name)) for name, values in texts.items()}
    size = number_of_rows(columns)
    spec = _model_spec(tree, used, categories, right)
    if people is not None and any(spec.transform_state.values()):
        everybody = np.repeat(np.arange(size), people)
        spec = _model_spec(tree, {name: values[everybody] for name, values in used.items()}, categories, right)
    groups = {
        INTERCEPT if str(term) == "1" else str(term): tuple(indices)
        for term, indices in spec.term_indices.items()
        if indices
    }

    def evaluate(columns: Columns) -> Array:
        with _plain_errors(right):
            whole = spec.get_model_matrix(_in_pandas(columns, categories), na_action="raise", output="numpy")
            matrix = np.asarray(whole, dtype=np.float64)
        _refuse_not_finite(matrix, names)
        return matrix

    names = tuple(spec.column_names)
    levels = {**categories, **_coded_levels(spec, variables)}
    refuse_one_level(levels)
    _refuse_other_rows(evaluate, used, size)
    kinds = {name: kind(values) for name, values in used.items()}
    return Terms(names, groups, variables, right, kinds, levels, evaluate)


def _parsed(right: str) -> Any:
    try:
        import formulaic
    except ImportError:
        message = not_installed("formulas need formulaic", "regress")
        raise ImportError(f'{message}, or name the columns: on=["age", "region"]') from None
    try:
        formula = formulaic.Formula(right)
    except formulaic.errors.FormulaicError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        if "`.` operator" in reason:
            reason = "it must name its columns; a dot is not the sum of all others"
        raise ValueError(f"formula must be one that can be read, but {right!r} cannot: {reason}") from None
    except SyntaxError as error:
        raise ValueError(f"formula must be one that can be read, but {right!r} cannot: {error.msg}") from None
    if not isinstance(formula, formulaic.SimpleFormula):
        raise ValueError(f"formula must have one part on its right side, without |, but got {right!r}")
    return formula


def _names(factor: Any, functions: Container[str]) -> Iterator[str]:
    if factor.eval_method.value == "lookup":
        yield factor.expr
    if factor.eval_method.value != "python":
        return
    code, quoted = _code(factor.expr)
    calls = [node for node in ast.walk(code) if isinstance(node, ast.Call)]
    called = {id(call.func) for call in calls}
    for call in calls:
        match call:
            case ast.Call(ast.Name("Q"), [ast.Constant(name), *_]):
                yield str(name)
    for node in ast.walk(code):
        if not isinstance(node, ast.Name):
            continue
        if id(node) not in called:
            yield quoted.get(node.id, node.id)
        elif node.id not in functions:
            raise ValueError(
                "formula must use functions that formulas know, such as log, I, C, center, scale, poly or np.sqrt, "
                f"but {node.id!r} is not one"
            )


def _code(expression: str) -> tuple[ast.AST, dict[str, str]]:
    """Parse an expression with names in backticks, and return the names that replace these."""
    quoted: dict[str, str] = {}

    def stand_in(match: re.Match[str]) -> str:
        name = match.group(1) if match.group(1).isidentifier() else f"quoted_name_{len(quoted)}"
        quoted[name] = match.group(1)
        return name

    try:
        return ast.parse(BACKQUOTED.sub(stand_in, expression).strip(), mode="eval"), quoted
    except SyntaxError as error:
        raise ValueError(f"formula must be one that can be read, but {expression!r} cannot: {error.msg}") from None


def _marked(expression: str) -> str:
    """Column in ``C(column)``, also with further options; empty if there is none."""
    code, quoted = _code(expression)
    match code:
        case ast.Expression(ast.Call(ast.Name("C"), [ast.Name(name), *_])):
            return quoted.get(name, name)
    return ""


def _in_pandas(columns: Columns, categories: Mapping[str, tuple[Level, ...]]) -> Any:
    """Columns as a pandas data frame: texts as categories, whose order does not depend on the data."""
    import pandas as pd

    def series(name: str, values: Values) -> Any:
        if name not in categories:
            return values
        factor = pd.Categorical(values, categories=list(categories[name]))
        if (factor.codes < 0).any():  # or they would count as the first level
            raise ValueError(f"{name!r} has levels that were not there when the model was fitted")
        return factor

    table = {name: series(name, values) for name, values in columns.items()}
    return pd.DataFrame(table, index=range(number_of_rows(columns)))


def _model_spec(formula: Any, columns: Columns, categories: Mapping[str, tuple[Level, ...]], right: str) -> Any:
    with _plain_errors(right):
        frame = _in_pandas(columns, categories)
        return formula.get_model_matrix(frame, na_action="raise", output="numpy").model_spec


@contextmanager
def _plain_errors(right: str) -> Iterator[None]:
    """Convert errors of formulaic and pandas into one plain error."""
    from formulaic.errors import DataMismatchWarning, FormulaicError

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", DataMismatchWarning)
            yield
    except DataMismatchWarning:
        raise ValueError(
            f"formula {right!r} must name all levels of its factors, and new data must hold none that was not there "
            "when the model was fitted"
        ) from None
    except (FormulaicError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        if "null values" in reason:
            reason = "some of its values are not numbers; look for a logarithm or a root of a negative number"
        elif "same shape" in reason:
            reason = "each term must be one number for each row"
        elif wrapped := re.search(r"(Unable to evaluate factor `.*`)\. \[(?:\w+: )?(.*)\]", reason):
            reason = f"{wrapped.group(2)}, in {wrapped.group(1).removeprefix('Unable to evaluate factor ')}"
        raise ValueError(f"formula {right!r} cannot be evaluated: {reason}") from None


def _coded_levels(spec: Any, variables: Sequence[str]) -> dict[str, tuple[Level, ...]]:
    levels = {}
    for factor, (_, state) in spec.encoder_state.items():
        name = factor if factor in variables else _marked(factor)
        if name in variables and "categories" in state:
            levels[name] = tuple(state["categories"])
    return levels


def _refuse_not_finite(matrix: Array, names: Sequence[str]) -> None:
    wrong = ~np.isfinite(matrix)
    if wrong.any():
        index = int(np.flatnonzero(wrong.any(axis=0))[0])
        rows = counted(int(wrong[:, index].sum()), "row", "rows")
        raise ValueError(
            f"the model's column {names[index]!r} must be finite, but is not in {rows}: look for a logarithm or a "
            "quotient of zero"
        )


def _refuse_other_rows(evaluate: Callable[[Columns], Array], columns: Columns, size: int) -> None:
    """Raise an error if a term of one row depends on other rows, so that it would differ in new data."""
    size = min(size, ROWS_COMPARED)
    columns = {name: values[:size] for name, values in columns.items()}
    whole = evaluate(columns)
    for some in (slice(0, 1), slice(size - 1, size), slice(0, size, 2)):
        part = evaluate({name: values[some] for name, values in columns.items()})
        if columns and (np.abs(part - whole[some]) > 1e-9 * np.abs(whole).max(axis=0)).any():
            raise ValueError(
                "formula must compute each term from the respondent's own row, but a term changes with the "
                "other rows; center(), scale() and poly() remember the data that the model was fitted to"
            )
