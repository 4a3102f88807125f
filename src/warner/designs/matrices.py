"""Matrices of probabilities in whole numbers, as written or rounded from doubles; and their weighted inverse."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from warner.designs.exact import exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warner.arrays import Array, Counts
    from warner.designs.labels import Labels

FLOAT_TOTAL = 2**52  # denominator to which doubles in a matrix are rounded
ROWS_INVERTED_DIRECTLY = 128  # rows of a matrix from which singular values are worth avoiding
DIRECT_INVERSE_TOLERANCE = 1e-10  # how nearly an inverse without singular values must undo a matrix

MIXED_IN = 1e-3  # of equal shares, mixed into shares under which a possible report would never be made


def whole_rows(matrix: Any, domain: Labels, columns: int) -> tuple[Counts, int]:
    """Convert a matrix of probabilities to whole numbers whose rows have equal sums."""
    shape = (len(domain), columns)
    try:
        array = matrix if isinstance(matrix, np.ndarray) else np.array(matrix, dtype=object)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    if array.shape != shape:
        got = f"shape {array.shape}" if array.ndim == 2 else "rows of different lengths"
        raise ValueError(
            f"matrix must have {shape[0]} rows, one for each answer, and {shape[1]} columns, but got {got}"
        )
    if array.dtype.kind == "f":
        return _rounded(array.astype(np.float64), domain), FLOAT_TOTAL
    rows = [_fractions(row, domain[i]) for i, row in enumerate(array.tolist())]
    total = math.lcm(*(entry.denominator for row in rows for entry in row))
    return np.array([[int(entry * total) for entry in row] for row in rows], dtype=object), total


def _fractions(row: list[Any], label: str | int) -> list[Fraction]:
    if any(isinstance(entry, float) for entry in row):
        doubles = np.array([[float(entry if isinstance(entry, float) else exact("matrix", entry)) for entry in row]])
        return [Fraction(weight, FLOAT_TOTAL) for weight in _rounded(doubles, (label,))[0].tolist()]  # type: ignore[arg-type]
    entries = [exact("matrix", entry) for entry in row]
    if min(entries) < 0:
        _refuse_negative(label, float(min(entries)))
    if sum(entries) != 1:
        raise ValueError(
            f"every row of matrix must sum to one, but that of the answer {label!r} sums to {sum(entries)}"
        )
    return entries


def _rounded(rows: NDArray[np.float64], domain: Labels) -> NDArray[np.int64]:
    """Round rows of doubles to whole numbers over 2^52; the largest entry takes the remainder."""
    sums = rows.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= 1e-9))
    if (rows < 0).any():
        where = int(np.argwhere(rows < 0)[0, 0])
        _refuse_negative(domain[where], float(rows[where].min()))
    if wrong.size:
        raise ValueError(
            f"every row of matrix must sum to one, but that of the answer {domain[wrong[0]]!r} sums to "
            f"{sums[wrong[0]]:.12g}"
        )
    weights = np.rint(rows * FLOAT_TOTAL).astype(np.int64)
    weights[np.arange(len(rows)), rows.argmax(axis=1)] += FLOAT_TOTAL - weights.sum(axis=1)
    return weights


def _refuse_negative(label: str | int, value: float) -> NoReturn:
    raise ValueError(
        f"matrix must hold probabilities of at least 0, but the row of the answer {label!r} has {value:.12g}"
    )


def inverse(matrix: Array, shares: Array | None = None) -> Array:
    r"""Weighted least-squares inverse M of a channel C: the matrix with CM = I and the smallest variance.

    With the expected shares of the reports :math:`\mu = C'\theta` on the diagonal of :math:`D^{-1}`,

    .. math:: M = D C' (C D C')^{-1},

    whose rows sum to one, since :math:`C D C' \theta = C D \mu = 1`. If answers are not distinguishable, it is the
    nearest solution. Without shares, all answers are about equally common; this only decides how much M varies. The
    row of a report that no answer leads to is zero.
    >>> inverse(np.array([[0.75, 0.25], [0.25, 0.75]])).round(12)
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """
    possible = matrix.any(axis=0)
    expected = matrix.mean(axis=0) if shares is None else shares @ matrix
    if shares is not None and not expected[possible].all():
        expected = ((1 - MIXED_IN) * shares + MIXED_IN / len(shares)) @ matrix
    scale = np.sqrt(expected[possible])
    result = np.zeros(matrix.shape[::-1])
    # With S = D^(1/2): S (CS)^+ = S S C' (C S S C')^-1, without squaring the condition of C.
    result[possible] = pseudo_inverse(matrix[:, possible] / scale) / scale[:, np.newaxis]
    return result


def pseudo_inverse(matrix: Array) -> Array:
    """Pseudo-inverse, without singular values for large matrices with independent rows.

    Those take four times as long, and are needed only where rows are nearly dependent, which the residual shows.
    """
    if len(matrix) > ROWS_INVERTED_DIRECTLY:
        try:
            square = matrix.shape[0] == matrix.shape[1]
            direct = np.linalg.inv(matrix) if square else np.linalg.solve(matrix @ matrix.T, matrix).T
            if np.abs(matrix @ direct - np.eye(len(matrix))).max() <= DIRECT_INVERSE_TOLERANCE:
                return np.asarray(direct)
        except np.linalg.LinAlgError:
            pass
    return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
