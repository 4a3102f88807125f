"""Lists of answers that are read in the reports of an open domain; the contract is tested with all other designs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import warner
from warner import OpenDomain, OpenTally

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = OpenDomain(epsilon=2, letters="a-z", length=6, step=3)


def survey(n: int = 40_000) -> OpenTally:
    """Draw reports of people of whom most hold words that are not in the list."""
    rng = np.random.default_rng(1)
    words = rng.choice(["one", "two", "else", "many", "naïve"], p=[0.2, 0.1, 0.3, 0.3, 0.1], size=n)
    return OpenTally.of_rows(WORDS, WORDS.draw(WORDS.values.encoded(words.tolist()).blocks, rng.bytes))


def test_shares_of_a_list_need_not_sum_to_one() -> None:
    estimate = warner.estimate(survey().closed(["one", "two", "never"], other=True))
    assert estimate.method == "inv"
    table = estimate.table(1 - 1e-6, simultaneous=True)
    assert ((table["low"] <= [0.2, 0.1, 0, 0.1]) & (table["high"] >= [0.2, 0.1, 0, 0.1])).all()
    assert "do not sum" not in estimate.text()
    together = estimate.interval(["one", "two"], level=1 - 1e-6)
    assert together.low < 0.3 < together.high
    assert not estimate.present().found[2]
    assert warner.check(survey().closed(["one", "two", "never"])).fits


def test_the_share_of_the_whole_list_is_not_known_beforehand() -> None:
    estimate = warner.estimate(survey().closed(["one", "two"]))
    together = estimate.interval(["one", "two"], level=1 - 1e-6)
    assert together.low < 0.3 < together.high < 0.4
    *_, last = estimate.interval(cumulative=True, level=1 - 1e-6).high
    assert 0.3 < last < 0.4


def test_shares_of_a_list_in_groups_need_not_sum_to_one() -> None:
    rows, _ = survey().rows
    groups = tuple((name,) for name in "abcde")
    tally = OpenTally.of_rows(WORDS, rows, np.arange(len(rows)) % 5, by=("town",), groups=groups)
    together = warner.estimate_groups(tally.closed(["one", "two", "never"]))
    # 8,000 reports of a group, of which about half are of the last level: a standard error of 2 points at most
    assert_allclose(together.shares, np.tile([0.2, 0.1, 0], (5, 1)), atol=0.1)
    assert_allclose(together.overall, [0.2, 0.1, 0], atol=0.05)
    assert 0 < together.test().p_value <= 1
    each = together.table(1 - 1e-6, kind="each")
    truth = np.tile([0.2, 0.1, 0], 5)
    assert ((each["low"] <= truth) & (truth <= each["high"])).all()


def test_the_standard_error_of_a_set_is_that_of_simulated_surveys() -> None:
    # 400 surveys of 500 people, most of whom hold something else: the variance is known to about 7 %.
    design = WORDS.closed(["one", "two", "never"])
    rng = np.random.default_rng(2)
    words = np.array(["one", "two", "else"], dtype=object)
    shares = []
    for _ in range(400):
        held = words[rng.choice(3, p=[0.3, 0.2, 0.5], size=500)]
        counts = design.counted(WORDS.draw_last(WORDS.values.encoded(held).blocks, rng.bytes)).counts
        shares.append(design.readout(counts[np.newaxis], np.array([[500.0]]), [[0, 1]]).share()[0, 0])
    told = design.readout(counts[np.newaxis], np.array([[500.0]]), [[0, 1]]).error
    assert told is not None
    assert_allclose(np.mean(shares), 0.5, atol=5 * np.std(shares) / 20)
    assert_allclose(told[0, 0], np.std(shares), rtol=0.25)


@pytest.mark.parametrize("method", ["mle", "inv_p", "shrink"])
def test_estimators_that_sum_to_one_are_refused(method: str) -> None:
    with pytest.raises(TypeError, match="need not sum to one; use inv"):
        warner.estimate(survey(2000).closed(["one", "two"]), method=method)


def test_means_are_refused() -> None:
    tally = warner.tally(OpenDomain(epsilon=1, bits=4).randomize(list(range(16)) * 5), OpenDomain(epsilon=1, bits=4))
    for values in ([1, 2], [1, 2, 3]):
        estimate = warner.estimate(tally.closed(values))
        told: list[Callable[[], Any]] = [
            estimate.mean,
            estimate.median,
            estimate.standard_deviation,
            partial(estimate.interval, above=1),
        ]
        for tell in told:
            with pytest.raises(TypeError, match="means and quantiles need a list that holds every answer"):
                tell()


def test_regressions_are_refused() -> None:
    closed = WORDS.closed(["one", "two"])
    reports = WORDS.report_form.written(survey(20).rows[0]).tolist()
    with pytest.raises(TypeError, match="must hold every answer"):
        warner.regress("word ~ age", {"word": reports, "age": list(range(20))}, closed)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["one", "far too long"], {}, "but got 'far too long'"),
        (["one", "One"], {}, "must differ once they are normalized"),
        (["one"], {}, "at least 2"),
        (["one", "one"], {}, "distinct"),
    ],
)
def test_lists_that_cannot_be_are_one_clear_line(values: list[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WORDS.closed(values, **options)


def test_numbers_have_no_other() -> None:
    with pytest.raises(ValueError, match="other must be left out"):
        OpenDomain(epsilon=1, bits=8).closed([1, 2], other=True)
    assert OpenDomain(epsilon=1, bits=8).closed(range(3, 9)).domain == range(3, 9)
