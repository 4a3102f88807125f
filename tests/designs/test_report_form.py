"""Writing and reading the reports of an open domain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from warner.designs.labels import MISSING, OUTSIDE
from warner.designs.open_domain import OpenDomain, OpenForm


def test_a_report_by_hand() -> None:
    # Base 3, blocks of 2 and 1 digits: the direction 2 1, 2 is 7 and 2, and as one number 7 * 3 + 2 = 23 = 0x17.
    form = OpenForm(3, (2, 1))
    assert form.written(np.array([[2, 7, 2, 1], [1, 7, 0, 0]])).tolist() == ["2:17:1", "1:7:0"]
    assert form.read(["2:17:1", "1:7:0"]).reports.tolist() == [[2, 7, 2, 1], [1, 7, 0, 0]]
    assert form.bits == pytest.approx(np.log2(9 * 3 + 27 * 3))


@pytest.mark.parametrize(
    "given", [{"bits": 48}, {"letters": "a-z", "length": 12}, {"bytes": 24}, {"bits": 128, "step": 8}]
)
def test_reports_are_read_back(given: dict[str, Any]) -> None:
    design = OpenDomain(epsilon=2, **given)
    rng = np.random.default_rng(1)
    blocks = np.column_stack([rng.integers(size, size=300) for size in design.values.block_sizes])
    reports = design.draw(blocks, rng.bytes)
    written = design.report_form.written(reports)
    assert len({(text.partition(":")[0], len(text)) for text in written.tolist()}) <= design.levels
    back = design.report_form.read(written)
    assert_array_equal(back.reports, reports)
    assert not back.status.any()
    assert_array_equal(design.report_form.read(reports, codes=True).reports, reports)


def test_what_is_no_report_is_told_apart() -> None:
    form = OpenForm(3, (2, 1))
    wrong = [
        "",
        "2:17",
        "3:17:1",
        "0:7:1",
        "2:7:1",
        "2:1B:1",
        "2:1b:1",
        "2:17:3",
        "1:9:0",
        "1:-7:0",
        " 1:7:0",
        "1:7:0:0",
        7,
    ]
    status = form.read([*wrong, None, float("nan")]).status.tolist()
    assert status == [OUTSIDE] * len(wrong) + [MISSING] * 2
    assert form.read(np.array([[1, 7, 1, 0], [3, 0, 0, 0], [2, 9, 0, 0]]), codes=True).status.tolist() == [OUTSIDE] * 3


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_rows_of_whole_numbers_have_any_width(kind: type[np.integer[Any]]) -> None:
    form, largest = OpenForm(3, (2, 1)), np.iinfo(kind).max
    rows = np.array(
        [[2, 7, 2, 1], [1, 7, 0, 0], [1, largest, 0, 0], [1, 7, 0, largest], [largest, 0, 0, 0]], dtype=kind
    )
    read = form.read(rows, codes=True)
    assert read.status.tolist() == [0, 0, OUTSIDE, OUTSIDE, OUTSIDE]
    assert read.reports[:2].tolist() == [[2, 7, 2, 1], [1, 7, 0, 0]]
