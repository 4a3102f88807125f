"""Covariates of groups: columns of numbers with a row for each group, joined to the groups of a tally."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.arrays import SMALLEST
from warner.lazy import on_first_use
from warner.regression.covariates import kind
from warner.reports.columns import column
from warner.reports.pools import Pool
from warner.reports.tallies import group_order
from warner.words import counted, enumerated, group_name, quoted

if TYPE_CHECKING:
    import narwhals as nw

    from warner.arrays import Array
    from warner.reports.pools import Collected
    from warner.reports.tallies import Group
else:
    nw = on_first_use("narwhals")

COLLINEAR = 1e-9  # of the largest diagonal of a triangular factor: below, a covariate follows from the others


class Covariates(NamedTuple):
    """A tally with all groups that have covariates, their names, and a row of an orthonormal basis for each group."""

    tally: Collected
    names: tuple[str, ...]
    matrix: Array


def no_covariates(tally: Collected) -> Covariates:
    """Give groups that are drawn to one overall share: a column of ones."""
    return Covariates(tally, (), np.ones((len(tally.groups), 1)))


def group_covariates(tally: Collected, on: Any) -> Covariates:
    """Join columns of numbers to the groups of a tally.

    Groups that have covariates but no reports become groups without reports, whose shares the regression tells.
    """
    given = _columns(on)
    for name in tally.by:
        if name not in given:
            raise ValueError(
                f"on must have the column {name!r}, which names the groups, but has "
                f"{enumerated([repr(other) for other in given]) or 'none'}"
            )
    names = tuple(name for name in given if name not in tally.by)
    if not names:
        raise ValueError(f"on must have a column of numbers besides {enumerated([repr(name) for name in tally.by])}")
    rows = list(zip(*(_plain(given[name]) for name in tally.by), strict=True))
    _refuse_repeated(rows)
    found, others = _matched(tally.groups, rows)
    numbers = np.column_stack([_numbers(name, given[name]) for name in names])
    complete = _with_groups(tally, [rows[place] for place in others])
    of_group = dict(zip(tally.groups, found, strict=True)) | {rows[place]: place for place in others}
    values = numbers[[of_group[group] for group in complete.groups]]
    told = complete.answered
    if told.sum() <= len(names) + 1:
        raise ValueError(
            f"on must have fewer covariates than there are groups with reports, less one for the overall share and one "
            f"for the spread, but has {len(names)} for {counted(int(told.sum()), 'group', 'groups')}; leave some out"
        )
    return Covariates(complete, names, _orthonormal(values, told, names))


def _columns(on: Any) -> dict[str, Any]:
    if isinstance(on, Mapping):
        given = {str(name): values for name, values in on.items()}
        lengths = {len(values) for values in given.values() if hasattr(values, "__len__")}
        if any(not hasattr(values, "__len__") or isinstance(values, str) for values in given.values()):
            raise TypeError("on must hold columns as long as each other, with a row for each group")
        if len(lengths) > 1:
            raise ValueError(f"on must have columns as long as each other, but they have lengths {sorted(lengths)}")
        return given
    try:
        frame: Any = nw.from_native(on)
    except TypeError:
        raise TypeError(
            f"on must be a data frame or a mapping of columns, with a row for each group, but got {type(on).__name__}"
        ) from None
    whole = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return {name: whole[name] for name in whole.columns}


def _plain(values: Any) -> list[Any]:
    """Give the values that name groups as Python has them: whole numbers as such, what is missing as None."""
    listed = values.to_list() if hasattr(values, "to_list") else np.asarray(values, dtype=object).tolist()
    plain = (value.item() if isinstance(value, np.generic) else value for value in listed)
    return [None if value != value else _whole(value) for value in plain]  # NaN differs from itself


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _refuse_repeated(rows: list[Group]) -> None:
    if len(set(rows)) < len(rows):
        twice = next(row for place, row in enumerate(rows) if row in rows[:place])
        raise ValueError(f"on must have one row for each group, but {quoted(group_name(twice))} is there twice")


def _matched(groups: tuple[Group, ...], rows: list[Group]) -> tuple[list[int], list[int]]:
    """Find the row of each group, and the rows of no group: by values, else by how they are written, as 1 and "1"."""
    places = {row: place for place, row in enumerate(rows)}
    written = {tuple(map(str, row)): place for place, row in enumerate(rows)}
    found = [places.get(group, written.get(tuple(str(_whole(value)) for value in group), -1)) for group in groups]
    absent = [group_name(group) for group, place in zip(groups, found, strict=True) if place < 0]
    if absent:
        raise ValueError(
            f"on must have a row for each group, but has none for {enumerated([quoted(name) for name in absent])}"
        )
    return found, sorted(set(range(len(rows))) - set(found))


def _numbers(name: str, values: Any) -> Array:
    read = column(name, values)
    if kind(read.values) == "text":
        raise ValueError(f"on must hold numbers, but column {name!r} holds texts; make a column of 0 and 1 for each")
    if read.missing.any():
        lacking = counted(int(read.missing.sum()), "row lacks", "rows lack")
        raise ValueError(f"on must have no missing values, but {lacking} {name!r}")
    numbers = read.values.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"on must hold finite numbers, but column {name!r} does not")
    return numbers


def _with_groups(tally: Collected, more: list[Group]) -> Collected:
    if not more:
        return tally
    groups = tuple(sorted([*tally.groups, *more], key=group_order))
    parts = tuple(part.with_groups(groups) for part in tally.parts)
    return Pool(parts) if len(parts) > 1 else parts[0]


def _orthonormal(values: Array, told: Any, names: tuple[str, ...]) -> Array:
    """Give a basis of intercept and covariates that is orthonormal over the groups with reports."""
    values = values / np.maximum(np.abs(values).max(axis=0), SMALLEST)  # so that squares are numbers
    centre, scale = values[told].mean(axis=0), values[told].std(axis=0)
    if (scale == 0).any():
        raise ValueError(f"on must vary between groups, but {names[int((scale == 0).argmax())]!r} is the same in all")
    matrix = np.column_stack([np.ones(len(values)), (values - centre) / scale])
    factor: Array = np.linalg.qr(matrix[told]).R
    diagonal = np.abs(np.diag(factor))
    if (diagonal <= COLLINEAR * diagonal.max()).any():
        dependent = names[int((diagonal <= COLLINEAR * diagonal.max()).argmax()) - 1]
        raise ValueError(f"on must not hold {dependent!r}, which follows from the other covariates; leave it out")
    return np.asarray(np.linalg.solve(factor.T, matrix.T).T)
