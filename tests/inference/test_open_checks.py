"""The check of open reports: levels and directions, which no answer changes (designs/support_counts.py too)."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from warner import OpenDomain, OpenTally, check
from warner.designs.open_values import WholeNumbers
from warner.designs.support_counts import ancillary_counts

WORDS = OpenDomain(epsilon=1, letters="a-z", length=8, step=4)


def reports(n: int = 4000, seed: int = 1, held: str = "the") -> Any:
    rng = np.random.default_rng(seed)
    return WORDS.draw(WORDS.values.encoded([held] * n).blocks, rng.bytes)


def test_honest_reports_fit_whatever_people_hold() -> None:
    for seed, held in enumerate(["the", "of", "a", "far too long"]):
        result = check(OpenTally.of_rows(WORDS, reports(seed=seed, held=held)), level=0.999)
        assert result.fits
        assert "fits the design" in result.text()


def test_every_p_value_is_that_of_a_binomial_count() -> None:
    rows = reports()
    result = check(OpenTally.of_rows(WORDS, rows))
    table = result.table()
    assert table["what"][0] == "level 1"
    assert table["count"][0] == (rows[:, 0] == 1).sum()
    assert table["n"][0] == 4000
    law = table["expected"] / table["n"]
    tails = np.minimum(binom.cdf(table["count"], table["n"], law), binom.sf(table["count"] - 1, table["n"], law))
    binomial = slice(-WORDS.levels)
    wanted = np.minimum(1, 2 * result.tests * tails)
    assert_allclose(table["adjusted"][binomial], wanted[binomial], rtol=1e-9)
    digits = table["expected"][WORDS.levels :]
    assert_allclose(digits[: WORDS.field], 4000 / WORDS.field)  # the first digit of the first block is always sent
    assert result.tests == 2 * WORDS.levels + 2 * WORDS.levels * WORDS.field


def test_honest_reports_are_refused_no_more_often_than_is_said() -> None:
    # 300 surveys at level 0.8: at most 60 misfits are expected; more than 88 have a probability of 1e-4.
    misfits = sum(not check(OpenTally.of_rows(WORDS, reports(300, seed)), level=0.8).fits for seed in range(300))
    assert misfits <= 88


def test_other_weights_and_weak_directions_do_not_fit() -> None:
    rows = reports()
    few = rows[(rows[:, 0] == 1) | (np.arange(len(rows)) % 2 == 0)]
    refused = check(OpenTally.of_rows(WORDS, few))
    assert not refused.fits
    assert "The reports do not fit the design" in refused.text()
    assert "level 1 makes up" in refused.text()
    weak = rows[rows[:, 1] % WORDS.field != 0]
    refused = check(OpenTally.of_rows(WORDS, weak))
    assert not refused.fits
    assert "of block 1 of the direction in part 1" in refused.text()


def test_groups_share_the_error_and_json_says_the_same() -> None:
    rows = reports()
    place = np.arange(len(rows)) % 2
    rows[(place == 1) & (rows[:, 0] == 1)] = rows[0] if rows[0, 0] == 2 else rows[np.argmax(rows[:, 0] == 2)]
    tally = OpenTally.of_rows(WORDS, rows, place, by=("x",), groups=(("good",), ("bad",)))
    result = check(tally)
    assert not result.fits
    assert "bad: level 1 makes up 0.00 %" in result.text()
    assert "good: level" not in result.text()
    document = json.loads(result.to_json())
    assert document["fits"] is False
    assert document["tests"] == result.tests == len(document["counts"])
    assert document["p_value"] == result.p_value


def test_what_cannot_be_checked_is_one_clear_line() -> None:
    with pytest.raises(ValueError, match="at least one report"):
        check(OpenTally.of_rows(WORDS, reports(1)[:0]))
    with pytest.raises(ValueError, match=r"fakes must be left out.*warner\.discover"):
        check(OpenTally.of_rows(WORDS, reports(5)), fakes=3)


def test_copies_of_one_report_do_not_fit() -> None:
    # 20 of 4,000 reports move no digit by more than chance does, but no two of them have one of 3^24 directions.
    rows = reports()
    last = rows[rows[:, 0] == 2]
    assert check(OpenTally.of_rows(WORDS, rows)).fits
    refused = check(OpenTally.of_rows(WORDS, np.concatenate([rows, last[:1].repeat(20, axis=0)])))
    assert not refused.fits
    assert "the most frequent direction of level 2 makes up" in refused.text()
    (count,) = [one for one in refused.counts[0] if one.what.endswith("direction of level 2")]
    assert (count.seen, count.n) == (21, len(last) + 20)
    bound = comb(count.n, 21) / Fraction(WORDS.field) ** (20 * sum(WORDS.digits))
    assert_allclose(refused.p_value, float(refused.tests * bound), rtol=1e-6)


def test_the_bound_on_equal_directions_holds_by_enumeration() -> None:
    # Five reports of M = 4 directions: the probability that m or more have one direction, over all 4^5 draws.
    tiny = OpenDomain._make(WholeNumbers((2,)), (3, 1), 2, (1,))
    largest = [max(Counter(drawn).values()) for drawn in itertools.product(range(4), repeat=5)]
    for drawn in ([0, 1, 2, 3, 0], [0, 0, 1, 0, 2], [1, 1, 1, 1, 0], [2] * 5):
        rows = np.array([[1, direction, 0] for direction in drawn])
        (count,) = [one for one in ancillary_counts(tiny, rows) if one.log_kinds]
        assert count.seen == max(Counter(drawn).values())
        result = check(OpenTally.of_rows(tiny, rows))
        chance = sum(most >= count.seen for most in largest) / len(largest)
        bound = min(1, comb(5, count.seen) / 4 ** (count.seen - 1))
        assert chance <= bound
        assert_allclose(result.adjusted[0][-1] / result.tests, bound, rtol=1e-12)
