"""Support counts: the transform against comparing each report with each value, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from warner.designs.open.open_domain import OpenDomain
from warner.designs.open.support_counts import ExtensionCounter, LevelReports, support_of_listed
from warner.designs.open.values import WholeNumbers


def compared(design: OpenDomain, reports: LevelReports, blocks: np.ndarray[Any, Any]) -> int:
    """Count the reports that support one value, one by one, digit by digit, in Python's own numbers."""
    g, count = design.field, 0
    for direction, s in zip(reports.directions.tolist(), reports.values.tolist(), strict=True):
        total = 0
        for place, (d, x) in enumerate(zip(direction, blocks.tolist(), strict=True)):
            for power in range(design.digits[place]):
                total += (d // g**power % g) * (x // g**power % g)
        count += total % g == s
    return count


def made(field: int, steps: tuple[int, ...]) -> OpenDomain:
    return OpenDomain._of(WholeNumbers(steps), (3, 1), field, (1,) * len(steps))


def some_reports(design: OpenDomain, level: int, n: int, rng: np.random.Generator) -> LevelReports:
    """Draw any reports, a third of which have the direction 0 in the last block."""
    directions = np.column_stack([rng.integers(design.field**places, size=n) for places in design.digits[:level]])
    directions[: n // 3, -1] = 0
    return LevelReports(directions.astype(np.uint32), rng.integers(design.field, size=n).astype(np.uint16))


@pytest.mark.parametrize("field", [2, 3, 5, 7, 23, 257])
@pytest.mark.parametrize("n", [0, 1, 2, 60])
def test_the_transform_counts_what_comparing_counts(field: int, n: int) -> None:
    design, rng = made(field, (4, 3, 3)), np.random.default_rng(field + n)
    for level, number in ((1, 1), (2, 1), (3, 3)):
        reports = some_reports(design, level, n, rng)
        prefixes = rng.integers([16, 8][: level - 1], size=(number, level - 1)).tolist()
        counted = list(ExtensionCounter(design, reports).supports(prefixes))
        assert len(counted) == number
        for prefix, counts in zip(prefixes, counted, strict=True):
            assert counts.shape == (field ** design.digits[level - 1],)
            values = np.array([[*prefix, last] for last in range(design.values.block_sizes[level - 1])])
            assert counts[: len(values)].tolist() == [compared(design, reports, value) for value in values]
            assert_array_equal(support_of_listed(design, reports, values), counts[: len(values)])


def test_prefixes_in_any_order_have_their_own_counts() -> None:
    design, rng = made(3, (3, 3, 4)), np.random.default_rng(9)
    reports = some_reports(design, 3, 500, rng)
    prefixes = [[1, 2], [1, 3], [0, 3], [1, 2], [7, 7]]
    for prefix, counts in zip(prefixes, ExtensionCounter(design, reports).supports(prefixes), strict=True):
        values = np.array([[*prefix, last] for last in range(16)])
        assert_array_equal(counts[:16], support_of_listed(design, reports, values))


def test_all_points_are_counted_not_only_those_that_stand_for_values() -> None:
    # 5 blocks in base 3 take two digits, nine points; sums over all points of all directions are n g^(tau - 1).
    design, rng = made(3, (2,)), np.random.default_rng(2)
    directions = rng.integers(1, 9, size=(100, 1))
    reports = LevelReports(directions, rng.integers(3, size=100))
    (counts,) = ExtensionCounter(design, reports).supports([[]])
    assert counts.sum() == 100 * 3


def test_large_spaces_are_compared_without_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    design, rng = made(5, (6, 6)), np.random.default_rng(4)
    reports = some_reports(design, 2, 300, rng)
    values = rng.integers(64, size=(20, 2))
    by_tables = support_of_listed(design, reports, values)
    monkeypatch.setattr("warner.designs.open.support_counts.VALUES_AT_ONCE", 100)
    assert_array_equal(support_of_listed(design, reports, values), by_tables)
