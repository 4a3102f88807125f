"""Columns of counts or weights: which of their values are good, and the first of those that are not.

A count is a whole number from 0 to 2^53, however a text file spells it: R writes ``1e+05`` for 100,000, and data frames
with gaps ``7.0``. A weight is a finite number of at least 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warner.arrays import LARGEST_TOTAL
from warner.lazy import on_first_use
from warner.reports.counts import refuse_amounts

if TYPE_CHECKING:
    import narwhals as nw

    from warner.reports.queries import Columns, Frame, Table
else:
    nw = on_first_use("narwhals")

AMOUNTS_LISTED = 3  # bad values in an error
SPELLED = r"^[0-9]*\.?[0-9]*([eE][+]?[0-9]+)?$"  # a number without a sign, underscores or spaces


def is_wide(dtype: Any) -> bool:
    """Tell whether counts may not fit into 64 bits with a sign, as sums: 128 bits in DuckDB, or doubles or decimals."""
    return bool(dtype in {nw.UInt64, nw.Int128, nw.UInt128} or dtype.is_float() or dtype.is_decimal())


def amounts(columns: Columns, dtype: Any) -> dict[str, Frame]:
    """Give the column `weight` or `number`, and `bad`, which is 1 where the amount is none."""
    assert columns.amounts is not None
    given = nw.col(columns.amounts)
    if columns.weights is not None:
        weight = given.cast(nw.Float64)
        return {"weight": weight, "bad": _flag(weight >= 0)}  # a missing amount is not
    amount = given
    if dtype == nw.String:
        amount = given.cast(nw.Float64)  # which holds all whole numbers up to 2^53
    elif dtype != nw.Int64 and not is_wide(dtype):  # smaller integers would overflow
        amount = given.cast(nw.Int64)
    # Among unsigned integers, numbers with a sign would make Arrow give one to all, which does not fit the largest.
    zero, most = (nw.lit(limit, nw.UInt64 if dtype == nw.UInt64 else None) for limit in (0, LARGEST_TOTAL))
    good = ~amount.is_null() & (amount >= zero) & (amount <= most)
    if dtype == nw.String:
        # What lies above 2^53 may have been rounded to it, unless it is spelled as just that.
        good = good & ((amount < most) | (given == nw.lit(str(LARGEST_TOTAL))))
    number = nw.when(good).then(amount).otherwise(zero).cast(nw.Int64)
    if not dtype.is_integer():
        good = good & (amount == amount.cast(nw.Float64).floor())
    if dtype == nw.String:
        good = good & given.str.contains(SPELLED)
    return {"number": number, "bad": _flag(good)}


def _flag(good: Frame) -> Frame:
    return nw.when(good).then(nw.lit(0)).otherwise(nw.lit(1))


def summable_counts() -> Frame:
    """Give the counts as doubles: sums are exact up to 2^53, the largest that is allowed, and overflow in no engine."""
    return nw.col("number").cast(nw.Float64)


def refuse_bad_amounts(source: Table, columns: Columns, bad: float) -> None:
    """Refuse a column of counts or weights of which some are `bad`, and show the first of these."""
    if not bad or columns.amounts is None:
        return
    flag = amounts(columns, source.schema[columns.amounts])["bad"]
    rows = source.frame.select(shown=nw.col(columns.amounts), bad=flag).filter(nw.col("bad") > 0).head(AMOUNTS_LISTED)
    rows = rows.collect() if isinstance(rows, nw.LazyFrame) else rows
    shown = dict.fromkeys("a missing value" if value is None else str(value) for value in rows["shown"].to_list())
    refuse_amounts("counts" if columns.weights is None else "weights", int(bad), list(shown))
