"""Columns of packed bytes are held against plain Python, value by value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from warner.designs.packed import packed

arrow = pytest.importorskip("pyarrow")

WIDTH = 3
REPORTS = st.binary(min_size=WIDTH, max_size=WIDTH)
TEXTS = st.one_of(
    st.none(),
    REPORTS.map(bytes.hex),
    REPORTS.map(lambda report: report.hex().upper()),
    st.text("0123456789abcdefABCDEFgä \0", max_size=8),
    st.text(max_size=2 * WIDTH),
)
BYTES = st.one_of(st.none(), REPORTS, st.binary(max_size=2 * WIDTH))
KINDS = {
    "string": TEXTS,
    "large_string": TEXTS,
    "string_view": TEXTS,
    "binary": BYTES,
    "large_binary": BYTES,
    "binary_view": BYTES,
    "fixed": st.one_of(st.none(), REPORTS),
}


def by_hand(value: Any) -> tuple[list[int], bool, bool]:
    """Give bytes, whether it is a report, whether it is missing; of one value, in plain Python."""
    if isinstance(value, str) and len(value) == 2 * WIDTH and set(value) <= set("0123456789abcdef"):
        value = bytes.fromhex(value)
    elif isinstance(value, str):
        value = b""
    known = isinstance(value, bytes) and len(value) == WIDTH
    return (list(value) if known else [0] * WIDTH), known, value is None


def assert_read(column: Any, values: list[Any]) -> None:
    read = packed(column, WIDTH)
    expected = [by_hand(value) for value in values]
    assert read.rows.shape == (len(values), WIDTH)
    assert read.known.tolist() == [known for _, known, _ in expected]
    assert read.missing.tolist() == [missing for *_, missing in expected]
    assert_array_equal(read.rows[read.known], [row for row, known, _ in expected if known] or np.zeros((0, WIDTH)))


@given(st.lists(st.one_of(TEXTS, BYTES)))
def test_lists_and_arrays_are_read_as_by_hand(values: list[Any]) -> None:
    assert_read(values, values)
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    assert_read(objects, values)


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_arrow_columns_are_read_as_by_hand(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(KINDS[kind]))
    column = arrow.array(values, arrow.binary(WIDTH) if kind == "fixed" else getattr(arrow, kind)())
    first = data.draw(st.integers(0, len(values)))
    last = data.draw(st.integers(first, len(values)))
    assert_read(column, values)
    assert_read(column.slice(first, last - first), values[first:last])
    if "view" not in kind:
        assert_read(column.dictionary_encode(), values)


def test_what_is_null_in_arrow_may_have_a_length() -> None:
    ends = np.array([0, 6, 12], dtype=np.int32)
    buffers = [arrow.py_buffer(b"\x02"), arrow.py_buffer(ends), arrow.py_buffer(b"0000000000ff")]
    assert_read(arrow.Array.from_buffers(arrow.string(), 2, buffers), [None, "0000ff"])


def test_zeros_at_the_end_of_bytes_are_not_lost_in_numpy() -> None:
    values = [b"a\0\0", b"\0\0\0", b"abc"]
    assert_read(np.array(values), values)
    assert_read(np.array([b"a", b""]), [b"a\0\0", b"\0\0\0"])
    assert_read(np.array([b"abcd", b"abc"]), [b"abcd", b"abc"])


def test_bytes_of_a_fixed_length_are_not_copied() -> None:
    content = np.arange(30, dtype=np.uint8)
    column = arrow.FixedSizeBinaryArray.from_buffers(arrow.binary(WIDTH), 10, [None, arrow.py_buffer(content)])
    assert np.shares_memory(packed(column, WIDTH).rows, content)


def test_neither_text_nor_bytes_is_no_report() -> None:
    read = packed([5, [1, 2], float("nan"), None, bytearray(b"abc")], WIDTH)
    assert read.known.tolist() == [False, False, False, False, True]
    assert read.missing.tolist() == [False, False, True, True, False]
    assert_array_equal(packed(arrow.array([1, None]), WIDTH).missing, [False, True])
    assert len(packed([], WIDTH).rows) == len(packed(arrow.array([], arrow.string()), WIDTH).rows) == 0
