"""The check of open reports: levels and directions, which no answer changes (designs/open/ancillary_counts.py too)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from warner import OpenDomain, OpenTally, check

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
    assert_allclose(table["adjusted"], np.minimum(1, 2 * result.tests * tails), rtol=1e-9)
    digits = table["expected"][WORDS.levels :]
    assert_allclose(digits[: WORDS.field], 4000 / WORDS.field)  # the first digit of the first block is always sent
    assert result.tests == WORDS.levels + 2 * WORDS.levels * WORDS.field


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
