"""The search of `prefix_search` against comparing each report with each value of a small domain."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import warner
from warner import OpenDomain, OpenTally, discover
from warner.designs.open_values import Texts, WholeNumbers
from warner.discovery import prefix_search
from warner.inference.binomial import at_least

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.designs.support_counts import LevelReports

Row = tuple[int, ...]


def in_base(number: int, base: int, places: int) -> list[int]:
    return [number // base**place % base for place in reversed(range(places))]


def possible(design: OpenDomain) -> list[Row]:
    """Return all values: numbers, or texts of symbols and then ends, and *other*, an end and the first symbol."""
    values = design.values
    if isinstance(values, WholeNumbers):
        return list(itertools.product(*(range(size) for size in values.block_sizes)))
    rows = []
    for symbols in itertools.product(range(values.symbols), repeat=values.length):
        length = sum(symbol > 0 for symbol in symbols)
        if (length and all(symbols[:length])) or (symbols[1] == length == 1):
            ends = list(itertools.accumulate(values.steps, initial=0))
            blocks = [symbols[start:end] for start, end in itertools.pairwise(ends)]
            rows.append(tuple(sum(x * values.symbols**i for i, x in enumerate(block[::-1])) for block in blocks))
    return rows


def looked_up(
    design: OpenDomain, levels: Sequence[LevelReports], alpha: float, above: float, expected: Sequence[Row]
) -> tuple[dict[Row, tuple[int, int, float]], list[int]]:
    """Return the count, the critical count and the part of the error of each value that is tested.

    And the critical counts, at each level, of a value of which no prefix was kept: it adds the weight of another.
    """
    values, other, g = possible(design), design.values.other_blocks(), design.field

    def support(prefix: Row) -> int:
        reports, count = levels[len(prefix) - 1], 0
        for directions, value in zip(reports.directions.tolist(), reports.values.tolist(), strict=True):
            pairs = zip(prefix, directions, design.digits, strict=False)
            count += sum(np.dot(in_base(u, g, tau), in_base(d, g, tau)) for u, d, tau in pairs) % g == value
        return count

    def critical(level: int, rate: float, error: float) -> int:
        n = len(levels[level])
        return next(c for c in range(n + 2) if c > n or at_least(c, n, rate) <= error)

    kept: dict[Row, float] = {(): 1.0}
    needed: list[int] = []
    for level, n in enumerate(map(len, levels[:-1])):
        longer = {value[: level + 1] for value in values if value[:level] in kept}
        least = critical(level, 1 / g, min(32 / max(len(longer), 1), 0.5))
        needed.append(least)
        counts = {prefix: support(prefix) for prefix in longer}
        noise = {prefix: len(longer) * float(at_least(count, n, 1 / g)) for prefix, count in counts.items()}
        kept = {prefix: 1 / max(1, noise[prefix]) for prefix, count in counts.items() if count >= least}
    if other is not None and not expected and design.levels > 1:
        kept.setdefault(tuple(other[:-1].tolist()), 1.0)
    rate, half = design.q + design.gain * above, 0.5 if expected else 1.0
    tests: dict[Row, tuple[int, int, float]] = {}
    for prefix, weight in kept.items():
        follow = [value for value in values if value[:-1] == prefix]
        part = half * weight / sum(kept.values()) / len(follow)
        least = critical(-1, rate, alpha * part)
        tests |= {value: (support(value), least, part) for value in follow}
    crowd = max(sum(value[:-1] == prefix for value in values) for prefix in {value[:-1] for value in values})
    weights = sum(kept.values()) + (design.levels > 1)
    needed.append(critical(-1, rate, alpha * half / weights / crowd))
    listed = [*expected, *([tuple(other.tolist())] if expected and other is not None else [])]
    for value in listed:
        least = critical(-1, rate, alpha * half / len(listed))
        if value not in tests or least <= tests[value][1]:
            tests[value] = support(value), least, half / len(listed)
    return tests, needed


DESIGNS = [
    OpenDomain(epsilon=2, bits=6, step=3),
    OpenDomain(epsilon=3, bits=5, step=5),
    OpenDomain._make(WholeNumbers((2, 1, 2)), (30, 1), 2, (1, 2, 1)),
    OpenDomain._make(Texts((2, 1), "abc"), (9, 1), 7, (1, 2)),
    OpenDomain._make(Texts((2,), "ab"), (3, 1), 5, (1,)),
]


@pytest.mark.parametrize("design", DESIGNS, ids=range(len(DESIGNS)))
@pytest.mark.parametrize(("above", "level", "listed"), [(0.0, 0.95, False), (0.1, 0.5, True)])
@pytest.mark.parametrize("simultaneous", [False, True])
def test_the_search_tells_what_comparing_each_report_with_each_value_tells(
    design: OpenDomain, above: float, level: float, listed: bool, simultaneous: bool
) -> None:
    rng = np.random.default_rng(5)
    values, other = possible(design), design.values.other_blocks()
    codes = None if other is None else tuple(other.tolist())
    held = rng.choice(len(values), p=rng.dirichlet(np.full(len(values), 0.15)), size=120)
    reports = design.report_form.written(design.draw(np.array(values)[held], rng.bytes)).tolist()
    tally = warner.tally(reports, design, by={"half": rng.choice(["a", "b"], size=120).tolist()})
    expected = [value for value in values[::3] if value != codes][:4] if listed else []
    names: Any = [design.values.decoded(value) for value in expected]
    found: Any = discover(
        tally,
        level=level,
        above=above,
        expected=names or None,
        simultaneous=simultaneous,
    )
    groups = 2 if simultaneous else 1
    for place, part in enumerate(found.findings):
        reports_of_group = tally.of_group(place)
        tests, needed = looked_up(design, reports_of_group, (1 - level) / groups, above, expected)
        sizes = [len(part_of_level) for part_of_level in reports_of_group]
        rate = design.q + design.gain * min(part.smallest_share, 1.0)
        chance = float(np.prod([at_least(c, n, rate) for c, n in zip(needed, sizes, strict=True)]))
        assert chance < 0.8 if np.isinf(part.smallest_share) else chance == pytest.approx(0.8, abs=1e-6)
        by_count = sorted(tests, key=lambda value: (-tests[value][0], value))
        hits = [value for value in by_count if tests[value][0] >= tests[value][1]]
        assert part.values == tuple(map(design.values.decoded, hits))
        assert part.other.tolist() == [value == codes for value in hits]
        assert part.support.tolist() == [tests[value][0] for value in hits]
        assert part.critical.tolist() == [tests[value][1] for value in hits]
        p = at_least(part.support, len(reports_of_group[-1]), design.q + design.gain * above)
        assert_allclose(part.p, p, rtol=1e-12)
        assert_allclose(part.adjusted, np.minimum(1, groups * p / [tests[value][2] for value in hits]), rtol=1e-9)
        missed = [value for value in by_count if tests[value][0] < tests[value][1]][:32]
        assert [(one.value, one.support) for one in part.candidates] == [
            (design.values.decoded(value), tests[value][0]) for value in missed
        ]


def test_candidates_are_listed_beside_many_that_are_found() -> None:
    # 40 of 64 values are held, and found: those that come next are candidates, though they have the same prefix.
    design, rng = OpenDomain(epsilon=6, bits=6, step=6), np.random.default_rng(1)
    found = discover(
        OpenTally.of_rows(design, design.draw(design.values.encoded(np.arange(40).repeat(500)).blocks, rng.bytes))
    )
    assert set(found.values) == set(range(40))
    assert {one.value for one in found.candidates} == set(range(40, 64))


def test_texts_that_nobody_can_hold_are_neither_named_nor_candidates() -> None:
    # Spaces at an end are taken away before anything is hashed, but reports can be crafted.
    design, rng = OpenDomain(epsilon=4, letters="ab ", length=3, step=3), np.random.default_rng(1)
    blocks = np.repeat([[sum(x * 4**i for i, x in enumerate((0, 1, 3)))]], 500, axis=0)  # " a"
    tally = OpenTally.of_rows(design, design.draw(blocks, rng.bytes))
    found = discover(tally)
    assert found.findings[0].critical.size == len(found.values) == 0
    assert all(str(one.value) == " ".join(str(one.value).split()) for one in found.candidates)


def test_copies_of_one_report_do_not_name_a_part_of_all_values(monkeypatch: pytest.MonkeyPatch) -> None:
    design, rng = OpenDomain(epsilon=2, bits=16, step=8), np.random.default_rng(1)
    rows = design.draw(design.values.encoded(rng.integers(2**16, size=2000)).blocks, rng.bytes)
    copies = [rows[rows[:, 0] == level][:1].repeat(500, axis=0) for level in (1, 2)]
    tally = OpenTally.of_rows(design, np.concatenate([rows, *copies]))
    number = len(discover(tally).values)
    assert number > 500
    monkeypatch.setattr(prefix_search, "MOST_FOUND", number)
    assert len(discover(tally).values) == number
    monkeypatch.setattr(prefix_search, "MOST_FOUND", number - 1)
    with pytest.raises(ValueError, match=f"more than {number - 1:,} values rise above the noise"):
        discover(tally)
