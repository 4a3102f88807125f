"""Packed bits: counts by position, sizes and products against unpacked bits; columns against plain Python.

It tests designs/bit_vectors.py as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from warner import SubsetSelection, UnaryEncoding
from warner.designs import bits
from warner.designs.bits import BitCounter, Incidence, packed_column, set_bits, sizes

rows_and_widths = pytest.mark.parametrize(
    ("number", "width"), [(0, 3), (1, 1), (7, 5), (2000, 8), (70_001, 2), (33_000, 3), (5000, 38), (9001, 128)]
)


def made_up(number: int, width: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(number).integers(0, 256, (number, width), dtype=np.uint8)


@rows_and_widths
def test_bits_are_counted_by_position_and_by_row(number: int, width: int) -> None:
    rows = made_up(number, width)
    unpacked = np.unpackbits(rows, axis=1)
    assert_array_equal(set_bits(rows), unpacked.sum(axis=0))
    assert_array_equal(sizes(rows), unpacked.sum(axis=1))


@given(st.integers(1, 9), st.integers(0, 80), st.integers(1, 6), st.data())
def test_carries_are_right_for_every_number_of_slabs(width: int, number: int, height: int, data: st.DataObject) -> None:
    # Slabs of a few rows, so that many are added up; all-ones rows carry the most.
    rows = np.full((number, width), 255, dtype=np.uint8)
    rows[data.draw(st.lists(st.integers(0, number - 1)) if number else st.just([]))] = 0b10010110
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits, "BYTES_ADDED_AT_ONCE", height * width)
        assert_array_equal(set_bits(rows), np.unpackbits(rows, axis=1).sum(axis=0))


def test_rows_may_lie_in_memory_in_any_way() -> None:
    rows = made_up(20_000, 16)
    shifted = np.frombuffer(b"x" + rows.tobytes(), dtype=np.uint8)[1:].reshape(rows.shape)  # no word is aligned
    among_others = np.pad(rows, ((0, 0), (3, 2)))[:, 3:-2]
    for same in (np.asfortranarray(rows), shifted, np.repeat(rows, 2, axis=0)[::2], among_others):
        assert_array_equal(set_bits(same), set_bits(rows))
        assert_array_equal(sizes(same), sizes(rows))


def test_rows_may_come_in_pieces_and_are_not_held() -> None:
    rows = made_up(40_000, 24)
    counter = BitCounter(24)
    assert counter.total().tolist() == [0] * 192
    for piece in np.split(rows, [0, 5, 3000, 3001, 11_000, 25_000]):
        given = piece.copy()
        counter.add(given)
        given[:] = 255  # the caller may use the memory again
    for _ in range(2):  # to look changes nothing
        assert_array_equal(counter.total(), np.unpackbits(rows, axis=1).sum(axis=0))


@rows_and_widths
def test_products_are_those_with_zeros_and_ones(number: int, width: int) -> None:
    rows, rng = made_up(number, width), np.random.default_rng(1)
    matrix = np.unpackbits(rows, axis=1).astype(np.float64)
    values, weights = rng.random(8 * width), rng.random(number)
    assert_allclose(Incidence(rows).times(values), matrix @ values, rtol=1e-12)
    assert_allclose(Incidence(rows).transposed_times(weights), weights @ matrix, rtol=1e-12)


@pytest.mark.parametrize("design", [UnaryEncoding(11, epsilon=1), SubsetSelection(11, epsilon=1)], ids=repr)
def test_the_operator_of_reports_is_the_table_of_their_likelihoods(design: UnaryEncoding | SubsetSelection) -> None:
    rng = np.random.default_rng(1)
    reports = design.draw(rng.integers(0, 11, 50), rng.bytes)
    told, (a, b) = design.law.likelihood(reports), design.odds
    table = np.where(design.supports(reports).T, 1, b / a)
    assert told.matrix is not None
    assert told.squares is not None
    assert_allclose(told.matrix(), table, rtol=1e-15)
    shares, weights = rng.dirichlet(np.ones(11), (2, 3)), rng.random((4, 50))
    assert_allclose(told.forward(shares), shares @ table, rtol=1e-13)
    assert_allclose(told.forward(shares[0, 0]), shares[0, 0] @ table, rtol=1e-13)
    assert_allclose(told.adjoint(weights), weights @ table.T, rtol=1e-13)
    assert_allclose(told.squares(weights), weights @ (table.T - b / a) ** 2, rtol=1e-13)
    assert told.forward(np.zeros((0, 11))).shape == (0, 50)


@pytest.mark.parametrize("design", [UnaryEncoding(11, epsilon=1), SubsetSelection(11, epsilon=1)], ids=repr)
def test_whole_amounts_are_exact_and_weights_are_added_up(design: UnaryEncoding | SubsetSelection) -> None:
    rng = np.random.default_rng(1)
    reports = design.draw(rng.integers(0, 11, 300), rng.bytes)
    support = design.supports(reports).astype(np.int64)
    amounts = rng.integers(0, 2**50, 300)  # doubles could not add these up
    counts, n, _ = design.law.count(reports, amounts)
    assert counts.tolist() == [sum(amounts[support[:, place] == 1].tolist()) for place in range(11)]
    assert n == sum(amounts.tolist())
    weights, group = rng.random(300), rng.integers(0, 40, 300) * 2
    counts, n, kinds = design.law.count(reports, weights, group=group, groups=80)
    member = group[:, np.newaxis] == np.arange(80)
    assert_allclose(counts, (member * weights[:, np.newaxis]).T @ support, rtol=1e-12, atol=1e-15)
    assert_allclose(n, member.T @ weights, rtol=1e-12)
    assert (kinds is None) == (design.law.types is None)
    assert kinds is None or np.allclose(kinds.sum(axis=1), n)
    for empty in (design.law.count(reports[:0]), design.law.count(reports[:0], amounts[:0])):
        assert empty.counts.tolist() == [0] * 11
        assert empty.n == 0


# Columns of packed bits, value by value

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


@pytest.fixture(scope="module")
def arrow() -> Any:
    return pytest.importorskip("pyarrow")


def by_hand(value: Any) -> tuple[list[int], bool, bool]:
    """Return bytes, whether it is a report, whether it is missing; of one value, in plain Python."""
    if isinstance(value, str) and len(value) == 2 * WIDTH and set(value) <= set("0123456789abcdef"):
        value = bytes.fromhex(value)
    elif isinstance(value, str):
        value = b""
    known = isinstance(value, bytes) and len(value) == WIDTH
    return (list(value) if known else [0] * WIDTH), known, value is None


def assert_read(column: Any, values: list[Any]) -> None:
    read = packed_column(column, WIDTH)
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
def test_arrow_columns_are_read_as_by_hand(arrow: Any, kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(KINDS[kind]))
    column = arrow.array(values, arrow.binary(WIDTH) if kind == "fixed" else getattr(arrow, kind)())
    first = data.draw(st.integers(0, len(values)))
    last = data.draw(st.integers(first, len(values)))
    assert_read(column, values)
    assert_read(column.slice(first, last - first), values[first:last])
    if "view" not in kind:
        assert_read(column.dictionary_encode(), values)


def test_what_is_null_in_arrow_may_have_a_length(arrow: Any) -> None:
    ends = np.array([0, 6, 12], dtype=np.int32)
    buffers = [arrow.py_buffer(b"\x02"), arrow.py_buffer(ends), arrow.py_buffer(b"0000000000ff")]
    assert_read(arrow.Array.from_buffers(arrow.string(), 2, buffers), [None, "0000ff"])


def test_zeros_at_the_end_of_bytes_are_not_lost_in_numpy() -> None:
    values = [b"a\0\0", b"\0\0\0", b"abc"]
    assert_read(np.array(values), values)
    assert_read(np.array([b"a", b""]), [b"a\0\0", b"\0\0\0"])
    assert_read(np.array([b"abcd", b"abc"]), [b"abcd", b"abc"])


def test_bytes_of_a_fixed_length_are_not_copied(arrow: Any) -> None:
    content = np.arange(30, dtype=np.uint8)
    column = arrow.FixedSizeBinaryArray.from_buffers(arrow.binary(WIDTH), 10, [None, arrow.py_buffer(content)])
    assert np.shares_memory(packed_column(column, WIDTH).rows, content)


def test_neither_text_nor_bytes_is_no_report(arrow: Any) -> None:
    read = packed_column([5, [1, 2], float("nan"), None, bytearray(b"abc")], WIDTH)
    assert read.known.tolist() == [False, False, False, False, True]
    assert read.missing.tolist() == [False, False, True, True, False]
    assert_array_equal(packed_column(arrow.array([1, None]), WIDTH).missing, [False, True])
    assert len(packed_column([], WIDTH).rows) == len(packed_column(arrow.array([], arrow.string()), WIDTH).rows) == 0
