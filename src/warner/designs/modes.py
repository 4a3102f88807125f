r"""Tables of several questions multiplied together, without writing their product out.

The table of all combinations, :math:`T_1 \otimes \cdots \otimes T_m`, has as many rows as the product of theirs. A
vector is multiplied by it as well by each table in turn, along its own axis: with K rows each, in about
:math:`m K^{m+1}` steps instead of :math:`K^{2m}`.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts

MERGED = 64  # rows and columns up to which the tables of neighbouring questions are multiplied out


def mode_products(values: Array, tables: Sequence[Array]) -> Array:
    r"""Multiply by a product of tables, :math:`v (T_1 \otimes \cdots \otimes T_m)`, one table after the other.

    `values` have shape (..., rows of all tables multiplied). Each step contracts the first axis that is left with its
    table and puts it last, so that after all of them the axes are in their order again.

    >>> mode_products(np.array([1.0, 2, 3, 4]), [np.eye(2), np.array([[1.0], [1.0]])])  # adds up pairs
    array([3., 7.])
    """
    leading = values.shape[:-1]
    for table in tables:
        unfolded = values.reshape(*leading, len(table), -1)
        values = (np.swapaxes(unfolded, -1, -2) @ table).reshape(*leading, -1)
    return values


def kronecker(tables: Sequence[Counts]) -> Counts:
    """Multiply tables out: a row for each combination of their rows, a column for each of their columns."""
    return np.asarray(reduce(np.kron, tables))


def product_ranges(factors: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Bound products of numbers, one from each range (least, most), for each combination of the ranges of all tables.

    >>> product_ranges([(np.array([-1.0]), np.array([2.0])), (np.array([0.0, -3.0]), np.array([1.0, 4.0]))])
    (array([-1., -6.]), array([2., 8.]))
    """
    least, most = np.ones(1), np.ones(1)
    for low, high in factors:
        ends = np.array([np.kron(one, other) for one in (least, most) for other in (low, high)])
        least, most = ends.min(axis=0), ends.max(axis=0)
    return least, most


def merged(tables: Sequence[Array]) -> tuple[Array, ...]:
    """Multiply out the tables of neighbouring questions as long as they stay small: fewer products, each as quick."""
    blocks = [tables[0]]
    for table in tables[1:]:
        if max(np.multiply(blocks[-1].shape, table.shape)) <= MERGED:
            blocks[-1] = kronecker([blocks[-1], table])
        else:
            blocks.append(table)
    return tuple(blocks)
