"""What all results share: rows for JSON, and numbers that JSON can hold."""

from __future__ import annotations

import json

import numpy as np
import pytest

from warner.arrays import objects
from warner.results import plain, rows


def test_rows_are_dictionaries_in_the_order_of_the_columns() -> None:
    table = {"term": objects(["a", "b"]), "n": np.array([1, 2]), "p": np.array([0.5, np.nan])}
    assert rows(table) == [{"term": "a", "n": 1, "p": 0.5}, {"term": "b", "n": 2, "p": None}]
    assert list(rows(table)[0]) == ["term", "n", "p"]


def test_rows_hold_what_json_can_write() -> None:
    table = {"n": np.array([1], dtype=np.int64), "high": np.array([np.inf]), "fits": np.array([True])}
    assert json.loads(json.dumps(rows(table), allow_nan=False)) == [{"n": 1, "high": None, "fits": True}]


def test_a_table_without_rows_is_an_empty_list() -> None:
    assert rows({"a": np.empty(0), "b": np.empty(0)}) == []


def test_columns_of_different_lengths_are_no_table() -> None:
    with pytest.raises(ValueError, match="shorter"):
        rows({"a": np.arange(3), "b": np.arange(2)})


def test_plain_looks_into_arrays_and_mappings() -> None:
    given = {"matrix": np.array([[1.0, np.nan], [-np.inf, 2.0]]), "label": "yes", "one": np.float64(0.5), "none": None}
    assert plain(given) == {"matrix": [[1.0, None], [None, 2.0]], "label": "yes", "one": 0.5, "none": None}
