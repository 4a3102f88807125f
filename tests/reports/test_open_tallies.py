"""Reports of an open domain, by level: counted, added up, saved and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import warner
from warner import OpenDomain, OpenTally

if TYPE_CHECKING:
    from pathlib import Path

WORDS = OpenDomain(epsilon=2, letters="a-z", length=6, step=3)


def some_reports(n: int = 200, seed: int = 1) -> list[str]:
    rng = np.random.default_rng(seed)
    blocks = WORDS.values.encoded(rng.choice(["one", "two", "three"], size=n).tolist()).blocks
    written: list[str] = WORDS.report_form.written(WORDS.draw(blocks, rng.bytes)).tolist()
    return written


def test_reports_are_counted_by_level() -> None:
    reports = some_reports()
    tally = warner.tally(reports, WORDS)
    assert isinstance(tally, OpenTally)
    assert tally.n == 200
    assert tally.level_sizes.tolist() == [sum(report[0] == level for report in reports) for level in "12"]
    rows = sorted(map(tuple, WORDS.report_form.read(reports).reports.tolist()))
    assert sorted(map(tuple, tally.rows[0].tolist())) == rows
    assert repr(tally).startswith("<OpenTally of 200 reports of 2 levels: ")
    assert tally.shown_epsilon() == "2"


def test_the_order_of_reports_is_not_kept() -> None:
    reports = some_reports()
    assert warner.tally(reports, WORDS) == warner.tally(reports[::-1], WORDS)
    assert warner.tally(reports, WORDS).to_json() == warner.tally(reports[::-1], WORDS).to_json()


def test_tallies_add_up() -> None:
    reports = some_reports()
    parts = [warner.tally(reports[i::3], WORDS) for i in range(3)]
    assert sum(parts) == warner.tally(reports, WORDS)
    assert hash(sum(parts)) == hash(warner.tally(reports, WORDS))
    with pytest.raises(ValueError, match="same design"):
        parts[0] + warner.tally([], WORDS.with_epsilon(1))
    with pytest.raises(TypeError):
        parts[0] + 1


def test_groups_are_kept_apart_and_add_up() -> None:
    reports = [*some_reports(60), None, "nonsense"]
    region = ["north", "south", None] * 20 + ["north", "south"]
    tally = warner.tally(reports, WORDS, by={"region": region}, unknown="drop")
    assert tally.groups == (("north",), ("south",), (None,))
    assert tally.n.tolist() == [20, 20, 20]
    assert tally.missing.tolist() == [1, 0, 0]
    assert tally.unknown.tolist() == [0, 1, 0]
    for number, name in enumerate(["north", "south", None]):
        alone = warner.tally(
            [report for report, group in zip(reports[:60], region, strict=False) if group == name], WORDS
        )
        for one, two in zip(tally.of_group(number), alone.levels, strict=True):
            assert_array_equal(one.directions, two.directions)
            assert_array_equal(one.values, two.values)
    parts = [
        warner.tally(reports[start : start + 31], WORDS, by={"region": region[start : start + 31]}, unknown="drop")
        for start in (0, 31)
    ]
    assert parts[0] + parts[1] == tally
    assert "'nonsense' once" in tally.left_out()
    with pytest.raises(ValueError, match="same grouping"):
        parts[0] + warner.tally([], WORDS)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_tally_survives_its_file(grouped: bool, tmp_path: Path) -> None:
    by = {"half": ["a", "b"] * 100} if grouped else None
    tally = warner.tally([*some_reports(199), None], WORDS, by=by)
    tally.save(tmp_path / "tally.json")
    assert OpenTally.load(tmp_path / "tally.json") == tally
    assert OpenTally.from_json(tally.to_json()).to_json() == tally.to_json()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"reports": ["1:0:9"]}, "reports must be level:direction:value"),
        ({"reports": "1:0:1"}, "reports must be a list"),
        ({"missing": -1}, "missing must be a whole number"),
        ({"unknown": [0]}, "unknown must be a whole number"),
        ({"by": ["x"], "groups": []}, "reports must be a list"),
        ({"design": warner.RandomizedResponse(2, epsilon=1).to_dict()}, "design must be an open domain"),
        ({"surplus": 1}, "surplus"),
    ],
)
def test_a_damaged_file_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OpenTally.from_dict(warner.tally(some_reports(3), WORDS).to_dict() | changed)


def test_reports_may_stand_for_several() -> None:
    reports = some_reports(4)
    assert warner.tally(reports, WORDS, counts=[2, 0, 1, 1]) == warner.tally(
        [reports[0], *reports[:1], *reports[2:]], WORDS
    )
    rows = WORDS.report_form.read(reports).reports
    assert warner.tally(rows, WORDS, codes=True) == warner.tally(np.array(reports, dtype=object), WORDS)


def test_what_is_no_report_is_refused_with_one_clear_line() -> None:
    with pytest.raises(ValueError, match="but 1 is not: 'nonsense'"):
        warner.tally([*some_reports(3), "nonsense"], WORDS)
    with pytest.raises(TypeError, match="no other options"):
        warner.tally(some_reports(3), WORDS, weights=[1, 2, 3])
    with pytest.raises(TypeError, match="a list or an array"):
        warner.tally({"word": some_reports(3)}, WORDS)


def test_a_report_takes_a_few_bytes() -> None:
    design = OpenDomain(epsilon=1, bits=48, step=16)
    rng = np.random.default_rng(1)
    rows = design.draw(np.column_stack([rng.integers(2**16, size=10_000) for _ in range(3)]), rng.bytes)
    tally = OpenTally.of_rows(design, rows)
    held = sum(reports.directions.nbytes + reports.values.nbytes for reports in tally.levels)
    assert held + sum(place.nbytes for place in tally.places) < 40 * 10_000
