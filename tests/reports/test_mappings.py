"""Columns by name, in a mapping: counted like a data frame of the same columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from cases import COIN
from warner import Tally, tally

COLUMNS = {"report": ["yes", "no", None, "no"], "region": ["n", "s", "n", "n"], "times": [3, 2, 1, 5]}


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pl.Series])
@pytest.mark.parametrize(
    "options",
    [
        {"column": "report"},
        {"column": "report", "by": "region"},
        {"column": "report", "by": ["region"], "counts": "times"},
        {"by": "region", "weights": "times"},
    ],
)
def test_a_mapping_is_counted_like_a_data_frame(kind: Any, options: dict[str, Any]) -> None:
    mine = tally({name: kind(values) for name, values in COLUMNS.items()}, COIN, **options)
    theirs = tally(pl.DataFrame(COLUMNS), COIN, **options)
    assert_array_equal(mine.counts, theirs.counts)
    assert_array_equal(mine.missing, theirs.missing)
    assert (mine.by, mine.groups) == (theirs.by, theirs.groups)
    assert_array_equal(mine.effective, theirs.effective)


def test_one_column_need_not_be_named() -> None:
    assert tally({"anything": ["yes", "no", "no"]}, COIN) == Tally(COIN, [1, 2])


@pytest.mark.parametrize(
    ("columns", "options", "error", "message"),
    [
        (
            {"yes": 40, "no": 60},
            {},
            TypeError,
            "that of 'yes' is of type int; for numbers .* a list of the labels",
        ),
        (Counter(["yes", "no", "no"]), {}, TypeError, "must have a column of values for each name"),
        ({"report": "yes"}, {}, TypeError, "that of 'report' is of type str"),
        ({}, {}, TypeError, "but there is none"),
        (COLUMNS, {}, ValueError, "column must be given unless there is just one to count, but there are 3"),
        (COLUMNS, {"column": "reports"}, ValueError, "there is no column 'reports'; did you mean 'report'"),
        (COLUMNS, {"column": "report", "by": "nation"}, ValueError, "there is no column 'nation'"),
        ({"report": ["yes"], "times": [1, 2]}, {"counts": "times"}, ValueError, "one value for each of the 1 rows"),
    ],
)
def test_what_is_no_column_is_refused_with_a_remedy(
    columns: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tally(columns, COIN, **options)
