"""Identification: enough people, columns of full rank, and reports that tell the coefficients apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.regression.newton import POSITIVE_EIGENVALUE, eigensystem
from warner.words import enumerated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array
    from warner.regression.data import Observations
    from warner.regression.likelihood import Likelihood

DEPENDENT_COLUMN = 1e-9  # part of a column that is left after the others, below which it depends on them
NAMED_PART = 1e-3  # part of a direction that is worth naming


def refuse_too_few(rows: Observations, coefficients: int) -> None:
    """Refuse more coefficients than people."""
    if rows.n < coefficients:
        raise ValueError(
            "the model must have at most as many coefficients as there are people, "
            f"but has {coefficients} for {rows.n}; leave some terms out"
        )


def refuse_exact(rows: Observations, columns: int) -> None:
    """Refuse a linear model with as many columns as people: it fits them exactly, and shows no variation."""
    if rows.n <= columns:
        raise ValueError(
            f"a linear model must have fewer columns than there are people, but has {columns} for {rows.n}; "
            "leave some terms out"
        )


def refuse_dependent(rows: Observations, names: Sequence[str]) -> None:
    """Refuse columns that are sums of multiples of others, and name them."""
    from scipy.linalg import qr, solve_triangular

    columns = rows.x * np.sqrt(rows.weight)[:, np.newaxis]
    length = np.linalg.norm(columns, axis=0)
    empty = [name for name, part in zip(names, length, strict=True) if part == 0]
    if empty:
        raise ValueError(f"every column must have a value other than 0 in some row, but {enumerated(empty)} has none")
    triangle, order = qr(columns / length, mode="r", pivoting=True)
    size = np.abs(np.diagonal(triangle))
    rank = int((size > DEPENDENT_COLUMN * size[0]).sum())
    if rank == len(names):
        return
    others = solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
    said = []
    for place, column in enumerate(order[rank:]):
        involved = [names[order[i]] for i in np.flatnonzero(np.abs(others[:, place]) > NAMED_PART)]
        said.append(f"{names[column]} follows from {enumerated(involved)}")
    raise ValueError(f"no column may follow from the others, but {'; '.join(said)}; leave one of them out")


def refuse_unidentified(likelihood: Likelihood, start: Array, names: Sequence[str]) -> None:
    """Refuse a model whose coefficients the reports cannot tell apart, however many there are, and name them."""
    if any(table is None for table in likelihood.rows.tables):
        return  # a set of answers tells all shares
    values, vectors = eigensystem(likelihood.expected(start), likelihood)
    flat = vectors[values < POSITIVE_EIGENVALUE * max(float(values[-1]), POSITIVE_EIGENVALUE)] * likelihood.scale
    if not len(flat):
        return
    involved = [name for name, part in zip(names, np.abs(flat).max(axis=0), strict=True) if part > NAMED_PART]
    raise ValueError(
        f"these designs cannot tell the coefficients {enumerated(involved)} apart, however many reports there "
        "are; ask a part of the people under another design, or model fewer answers"
    )
