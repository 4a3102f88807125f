"""The search: false names by enumeration of all reports, kept prefixes, and simulated surveys."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from warner import OpenDomain, OpenTally, discover
from warner.designs.open_domain import OpenDomain as Design
from warner.designs.open_values import WholeNumbers
from warner.designs.support_counts import LevelReports
from warner.discovery import prefix_search
from warner.discovery.prefix_search import critical_counts, planned_share, search
from warner.inference.binomial import at_least


def false_names(design: OpenDomain, people: int, alpha: float, above: float = 0.0) -> float:
    """Return the probability that a value without respondents is found, if all answers are 0, over all reports.

    Respondents with the same value are exchangeable, so that only the number of each report counts.
    """
    g, points = design.field, design.report_form.points[0]
    reports = np.array(list(itertools.product(range(points), range(g))))
    a, b = design.odds
    # The hash of 0 is 0, whatever the direction is.
    chances = np.array([(a if s == 0 else b) / (a + (g - 1) * b) / points for _, s in reports.tolist()])
    total = 0.0
    for bars in itertools.combinations(range(people + len(reports) - 1), len(reports) - 1):
        numbers = np.diff([-1, *bars, people + len(reports) - 1]) - 1
        made = np.repeat(reports, numbers, axis=0)
        found = search(design, [LevelReports(made[:, :1], made[:, 1])], alpha, above=above, expected=None)
        if any(hit.blocks != (0,) for hit in found.hits):
            log = math.lgamma(people + 1) - sum(math.lgamma(number + 1) for number in numbers)
            total += math.exp(log + float(numbers @ np.log(chances)))
    return total


# Three values without respondents, 12 reports each: p = 3/4 and q = 1/2.
SMALL = Design._make(WholeNumbers((2,)), (3, 1), 2, (1,))


def test_false_names_are_as_rare_as_they_are_promised_to_be() -> None:
    # P(Bin(5, 1/2) >= 5) = 1/32; with alpha = 1/8 each of four values has exactly that.
    rate = false_names(SMALL, 5, 1 / 8)
    assert 1 / 32 <= rate <= 1 / 8
    assert false_names(SMALL, 5, 1 / 9) == 0  # no count is large enough


def test_a_critical_count_that_is_one_too_small_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_search, "critical_counts", lambda *given: critical_counts(*given) - 1)
    assert false_names(SMALL, 5, 1 / 8) > 1 / 8


def drawn(design: OpenDomain, people: np.ndarray[Any, Any], rng: np.random.Generator) -> OpenTally:
    return OpenTally.of_rows(design, design.draw(design.values.encoded(people).blocks, rng.bytes))


def populations(kind: str, n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Draw true answers among 2^16 values: uniform ones, two crowded prefixes, or 200 values by Zipf's law."""
    if kind == "uniform":
        return rng.integers(2**16, size=n)
    if kind == "crowded":
        return rng.choice([3, 200], size=n) * 256 + rng.integers(128, size=n)
    weights = 1 / np.arange(1, 201) ** 1.1
    return rng.permutation(2**16)[:200][rng.choice(200, p=weights / weights.sum(), size=n)]


def surveys_with_false_names(kind: str, surveys: int, seed: int) -> int:
    design, rng = OpenDomain(epsilon=1, bits=16, step=8), np.random.default_rng(seed)
    wrong = 0
    for _ in range(surveys):
        people = populations(kind, 4000, rng)
        found = discover(drawn(design, people, rng)).values
        wrong += bool(set(found) - set(people.tolist()))
    return wrong


@pytest.mark.parametrize("kind", ["uniform", "crowded", "zipf"])
def test_surveys_rarely_name_what_nobody_holds(kind: str) -> None:
    # At most 5 % of 25 surveys: 9 or more have probability P(Bin(25, 0.05) >= 9) < 1e-5.
    assert surveys_with_false_names(kind, 25, 11) < 9
    assert at_least(9, 25, 0.05) < 1e-5


@pytest.mark.long
@pytest.mark.parametrize("kind", ["uniform", "crowded", "zipf"])
def test_of_3000_surveys_few_name_what_nobody_holds(kind: str) -> None:
    # At most 5 %: 75 or more of 1,000 have probability below 1e-3; uniform values use up a good part of it.
    assert at_least(75, 1000, 0.05) < 1e-3
    wrong = surveys_with_false_names(kind, 1000, 12)
    assert wrong < 75
    assert wrong > 10 or kind != "uniform"


def test_a_value_with_the_planned_share_is_found_as_often_as_planned() -> None:
    design, rng, n = OpenDomain(epsilon=2, bits=16, step=8), np.random.default_rng(7), 5000
    share = planned_share(design, n)
    found = 0
    for _ in range(40):
        people = rng.integers(2**16, size=n)
        people[rng.random(n) < share] = 12345
        found += 12345 in discover(drawn(design, people, rng)).values
    # The plan is for 16 held prefixes, and here there is one: at least 32, less four standard errors of 2.5.
    assert found >= 32 - 10


@pytest.mark.long
def test_intervals_of_found_values_cover_in_simulated_surveys() -> None:
    design, rng, n = OpenDomain(epsilon=1, bits=16, step=8), np.random.default_rng(8), 20_000
    least = planned_share(design, n)
    values, shares = [11, 2_000, 30_000, 44_000, 61_000], np.array([0.6, 0.8, 1.0, 1.2, 1.6]) * least
    shown = covered = 0
    for _ in range(400):
        people = rng.integers(2**16, size=n)
        drawn_values = rng.choice(6, p=[*shares, 1 - shares.sum()], size=n)
        people = np.where(drawn_values < 5, np.array([*values, 0])[drawn_values], people)
        (found,) = discover(drawn(design, people, rng)).findings
        for value, low, high in zip(found.values, found.low, found.high, strict=True):
            share = dict(zip(values, shares, strict=True)).get(int(value), 0.0)
            shown, covered = shown + 1, covered + (low <= share + 2**-16 and share <= high)
    # At least 95 %, within four binomial standard errors.
    assert covered / shown >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / shown)


def test_what_is_kept_depends_on_the_other_levels_alone() -> None:
    design, rng = OpenDomain(epsilon=2, bits=24, step=8), np.random.default_rng(4)
    people = np.where(rng.random(20_000) < 0.3, 0xABCDEF, rng.integers(2**24, size=20_000))
    levels = list(drawn(design, people, rng).levels)
    first = search(design, levels, 0.05, above=0.0, expected=None)
    assert 0xAB in {hit.blocks[0] for hit in first.hits}
    few = LevelReports(levels[-1].directions[:100], levels[-1].values[:100])
    second = search(design, [*levels[:-1], few], 0.05, above=0.0, expected=None)
    assert (first.kept, first.critical[:-1], first.tested) == (second.kept, second.critical[:-1], second.tested)


def test_the_parts_of_the_error_sum_to_no_more_than_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every candidate is made a hit, so that its part of the error is told.
    monkeypatch.setattr(prefix_search._Tested, "_list", lambda self, pairs: None)
    design, rng = OpenDomain(epsilon=2, letters="abc", length=4, step=2), np.random.default_rng(4)
    people = rng.choice(["a", "ab", "abca", "x"], size=3000).tolist()
    levels = drawn(design, np.array(people, dtype=object), rng).levels
    monkeypatch.setattr(prefix_search, "critical_counts", lambda n, rate, alphas: np.zeros(len(alphas), dtype=int))
    expected = design.values.encoded(["ab", "cc"]).blocks
    for given in (None, expected):
        result = search(design, levels, 0.05, above=0.0, expected=given)
        total = sum(hit.part for hit in result.hits)
        if given is None:
            assert len(result.hits) == result.tested
            assert total == pytest.approx(1, rel=1e-12)
        else:
            assert 0.5 - 1e-12 <= total <= 1 + 1e-12


def test_where_no_more_prefixes_are_kept_a_new_one_must_take_the_place_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Eight prefixes are as common as each other, and four are kept: nothing smaller than the last of these is found.
    monkeypatch.setattr(prefix_search, "MOST_PREFIXES", 4)
    design, rng = OpenDomain(epsilon=4, bits=8, step=4), np.random.default_rng(1)
    tally = drawn(design, np.repeat(np.arange(8) * 16, 500), rng)
    first, g, tau = tally.levels[0], design.field, design.digits[0]
    powers = [g**place for place in range(tau)]
    counts = [
        sum(
            sum(int(d) // power % g * (block // power % g) for power in powers) % g == int(s)
            for d, s in zip(first.directions[:, 0], first.values, strict=True)
        )
        for block in range(16)
    ]
    assert sorted(counts)[-4] < sorted(counts)[-3]
    result = search(design, tally.levels, 0.05, above=0.0, expected=None)
    assert result.kept == (4,)
    assert result.critical[0] == sorted(counts)[-4] + 1
    assert discover(tally).smallest_share > 1 / 8


def test_a_value_that_has_ended_is_extended_by_its_end_alone_and_once() -> None:
    design = OpenDomain(epsilon=6, letters="abc", length=6, step=2)
    levels = drawn(design, np.array(["a"] * 3000, dtype=object), np.random.default_rng(4)).levels
    blocks = np.asarray(design.values.encoded(["a"]).blocks)
    first = prefix_search._Kept(blocks[:, :1], np.array([True]), np.ones(1))
    second, _ = prefix_search._extended(design, 1, levels[1], first)
    assert second.prefixes.tolist() == blocks[:, :2].tolist()
    assert second.ended.tolist() == [True]


def test_prefixes_that_are_kept_are_in_the_order_of_their_blocks() -> None:
    design, values = OpenDomain(epsilon=6, bits=12, step=4), [0x91A, 0x23C, 0x95B, 0x27D]
    levels = drawn(design, np.repeat(values, 3000), np.random.default_rng(4)).levels
    kept = prefix_search._Kept(prefix_search.NO_PREFIX, np.zeros(1, dtype=bool), np.ones(1))
    for level in range(2):
        kept, _ = prefix_search._extended(design, level, levels[level], kept)
        assert kept.prefixes.tolist() == sorted(kept.prefixes.tolist())
    assert {(2, 3), (2, 7), (9, 1), (9, 5)} <= set(map(tuple, kept.prefixes.tolist()))


def test_an_expected_value_can_be_found_by_the_smaller_critical_count_of_its_prefix() -> None:
    # The search tests 256 values for each prefix that is kept, and the list has 20,000.
    design = OpenDomain(epsilon=4, bits=16, step=8)
    levels = drawn(design, np.full(3000, 0xABCD), np.random.default_rng(4)).levels
    expected = design.values.encoded(np.append(np.arange(19_999), 0xABCD)).blocks
    result = search(design, levels, 0.05, above=0.0, expected=expected)
    assert result.expected_critical is not None
    assert result.easiest_expected is not None
    assert result.easiest_expected < result.expected_critical
