"""Support counts: the transform against comparing each report with each value, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from warner.designs import support_counts as support_counts
from warner.designs.open_domain import OpenDomain
from warner.designs.open_values import WholeNumbers
from warner.designs.support_counts import ExtensionCounter, LevelReports, support_of_listed


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
    return OpenDomain._make(WholeNumbers(steps), (3, 1), field, (1,) * len(steps))


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


@pytest.mark.parametrize("field", [2, 5, 131, 257])
@pytest.mark.parametrize("limits", [(0, 0), (10**9, 0), (10**9, 10**9), (0, 10**9)])
def test_lists_are_counted_in_every_way_as_by_comparing(
    field: int, limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # With tables and without, by transforms and without; values in any order, and some twice.
    monkeypatch.setattr(support_counts, "POINTS_PER_REPORT", limits[0])
    monkeypatch.setattr(support_counts, "COMPARISONS_PER_POINT", limits[1])
    design, rng = made(field, (6, 6)), np.random.default_rng(4)
    reports = some_reports(design, 2, 100, rng)
    values = np.concatenate([rng.integers(64, size=(10, 2)), [[3, 1], [0, 0], [3, 60], [3, 1]]])
    counts = support_of_listed(design, reports, values)
    assert counts.tolist() == [compared(design, reports, value) for value in values]
    assert support_of_listed(design, reports, values[:0]).tolist() == []


def test_lists_are_counted_with_weights_and_in_groups() -> None:
    design, rng = made(5, (6, 6)), np.random.default_rng(5)
    reports = some_reports(design, 2, 200, rng)
    values, group = rng.integers(64, size=(6, 2)), rng.integers(3, size=200)
    for amounts in (None, rng.integers(9, size=200), rng.integers(9, size=200) / 4):
        together = support_of_listed(design, reports, values, amounts)
        apart = support_of_listed(design, reports, values, amounts, group=group, groups=4)
        assert apart.shape == (4, 6)
        assert_array_equal(apart.sum(axis=0), together)
        kind = np.int64 if amounts is None else amounts.dtype
        assert apart.dtype == together.dtype == kind
        for place in range(4):
            some = group == place
            part = LevelReports(reports.directions[some], reports.values[some])
            if amounts is None:
                exact = [compared(design, part, value) for value in values]
            else:
                one_by_one = [
                    LevelReports(part.directions[[report]], part.values[[report]]) for report in range(len(part))
                ]
                weights = amounts[some].tolist()
                exact = [
                    sum(w * compared(design, report, value) for w, report in zip(weights, one_by_one, strict=True))
                    for value in values
                ]
            assert apart[place].tolist() == exact
