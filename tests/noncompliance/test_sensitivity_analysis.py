"""Sensitivity to people who give the safe report regardless of the design."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from warner import (
    Channel,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    estimate,
    inv,
    mle,
    noncompliance,
    pool,
    surveys,
)
from warner.inference.binomial import binomial_limits
from warner.noncompliance import (
    sensitivity,
)
from warner.results import typeset


def test_sensitivity_by_hand() -> None:
    # forced response, truth 3/4, forced yes 1/6: yes has probability 11/12 and 1/6. If a fifth says no in any case:
    # 0.8 * 11/12 = 11/15 and 0.8 / 6 = 2/15; 40 of 100 yes: (6/15 - 2/15) / (9/15) = 4/9
    tally = Tally(surveys.forced_response(truth="3/4", yes="1/6"), [40, 60])
    found = sensitivity(tally, "no", (0, "1/5"))
    assert_allclose(found.shares, [[14 / 45, 31 / 45], [4 / 9, 5 / 9]], atol=1e-12)
    assert_allclose(found.most_likely, found.shares, atol=1e-12)
    # and if a fifth says yes in any case, 0.2 more for both: (6/15 - 5/15) / (9/15) = 1/9
    assert sensitivity(tally, "yes", [0.2]).shares[0, 0] == pytest.approx(1 / 9, abs=1e-12)
    table = found.table()
    assert list(table) == ["cheating", "value", "share", "most_likely", "low", "high"]
    assert table["cheating"].tolist() == [0, 0, 0.2, 0.2]
    assert table["value"].tolist() == ["yes", "no", "yes", "no"]
    assert typeset(found).columns["share (%)"] == ["31.1", "44.4"]
    assert typeset(found).columns["cheating (%)"] == ["0", "20"]
    assert repr(found) == found.text()
    assert sensitivity(tally, "no").cheating.tolist() == [0, 0.05, 0.1, 0.2, 0.3]
    document = json.loads(found.to_json())
    assert document["design"] == tally.design.to_dict()
    assert (document["safe"], document["level"], document["approximate"]) == ("no", 0.95, False)
    assert [row["share"] for row in document["values"]] == table["share"].tolist()
    assert document["values"][2].keys() == table.keys()
    assert len(found.to_frame("polars")) == 4


def test_sensitivity_with_many_answers_is_the_closed_form() -> None:
    survey = RandomizedResponse(["a", "b", "c"], odds=(3, 1))
    counts = np.array([200, 300, 500])
    found = sensitivity(Tally(survey, counts), "c", (0, 0.1))
    assert_allclose(found.shares[0], inv(counts, survey), atol=1e-12)
    # p = 0.6, q = 0.2: with a tenth, bases 0.18, 0.18, 0.28 and gain 0.36
    assert_allclose(found.shares[1], (counts / 1000 - [0.18, 0.18, 0.28]) / 0.36, atol=1e-12)
    limits = scipy.stats.beta.ppf(0.025, counts, 1001 - counts), scipy.stats.beta.ppf(0.975, counts + 1, 1000 - counts)
    for ends, limit in zip((found.low, found.high), limits, strict=True):
        assert_allclose(ends[1], np.clip((limit - [0.18, 0.18, 0.28]) / 0.36, 0, 1), atol=1e-12)


def test_sensitivity_beyond_what_is_possible_is_clipped_in_the_likelihood() -> None:
    tally = Tally(surveys.warner(0.7), [150, 50])
    found = sensitivity(tally, "no", (0, 0.2, 0.3))
    assert found.shares[2, 0] > 1
    assert_allclose(found.most_likely, np.clip(found.shares, 0, 1), atol=1e-9)
    assert ((found.low >= 0) & (found.high <= 1) & (found.low <= found.high)).all()
    assert "outside 0 to 100 %" in found.text()


def test_sensitivity_says_where_intervals_are_approximate() -> None:
    design = surveys.kuk(0.8, 0.3, 2)
    found = sensitivity(Tally(design, [40, 38, 22]), 0, (0, 0.1))
    assert_allclose(found.shares[0], inv([40, 38, 22], design), atol=1e-12)
    rows = 0.9 * design.channel() + [0.1, 0, 0]
    assert_allclose(found.most_likely[1], mle([40, 38, 22], Channel(rows, ["yes", "no"], 3)), atol=1e-9)
    assert found.approximate
    assert "approximate 95 % interval (population, %)" in found.text()
    plain = estimate(Tally(design, [40, 38, 22])).interval()
    assert_allclose(found.low[0], plain.low)


def test_sensitivity_of_weighted_reports_uses_their_effective_number() -> None:
    design = surveys.warner("1/6")
    weighted = Tally(design, [120.0, 80.0], squares=400.0)  # as good as 100 reports, of which 60 are yes
    plain = Tally(design, [60, 40])
    assert_allclose(sensitivity(weighted, "no").shares, sensitivity(plain, "no").shares, atol=1e-12)
    assert_allclose(sensitivity(weighted, "no").low, sensitivity(plain, "no").low, atol=1e-12)


@pytest.mark.parametrize("safe", [0, 1])
@pytest.mark.parametrize(
    "design",
    [
        surveys.warner("1/6"),
        surveys.forced_response(truth="3/4", yes="1/6"),
        RandomizedResponse(["yes", "no"], odds=(3, 1)),
    ],
)
def test_sensitivity_intervals_cover_at_least_at_their_level(design: Any, safe: int) -> None:
    """Exactly, by summation over all counts: no simulation, no tolerance."""
    n, c, level = 40, 0.2, 0.9
    found = [
        sensitivity(Tally(design, [count, n - count]), design.outputs[safe], [c], level=level) for count in range(n + 1)
    ]
    for share in (0, 0.05, 0.3, 0.77, 1):
        yes = (1 - c) * (np.array([share, 1 - share]) @ design.channel())[0] + c * (safe == 0)
        chances = scipy.stats.binom.pmf(range(n + 1), n, yes)
        for answer, true in ((0, share), (1, 1 - share)):
            hits = [one.low[0, answer] - 1e-12 <= true <= one.high[0, answer] + 1e-12 for one in found]
            assert chances @ hits >= level


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("maybe",), "safe must be a possible report of the design, but 'maybe' is none"),
        ((1,), "safe must be a possible report"),
        (("no", (0.5, 1)), "at least 0 and below 1"),
        (("no", ()), "at least 0 and below 1"),
        (("no", (-0.1,)), "cheating must be a probability from 0 to 1"),
    ],
)
def test_bad_input_to_sensitivity(arguments: tuple[Any, ...], complaint: str) -> None:
    tally = Tally(surveys.warner("1/6"), [10, 20])
    with pytest.raises(ValueError, match=complaint):
        sensitivity(tally, *arguments)


def test_sensitivity_takes_one_design_and_one_group_at_a_time() -> None:
    pooled = pool([Tally(surveys.warner("1/6"), [10, 20]), Tally(surveys.warner("1/3"), [10, 20])])
    with pytest.raises(TypeError, match="but got Pool; take the parts of a pool one part at a time"):
        sensitivity(pooled, "no")  # type: ignore[arg-type]
    sets = Tally(SubsetSelection(4, epsilon=1, size=2), [5, 5, 5, 5], n=10)
    with pytest.raises(TypeError, match="sensitivity needs a design with a table of probabilities: a subset selection"):
        sensitivity(sets, 1)
    many = Tally(RandomizedResponse(5000, epsilon=1), np.ones(5000, dtype=int))
    with pytest.raises(TypeError, match=r"with a table of probabilities: .* at most 4096 answers"):
        sensitivity(many, 1)
    tally = Tally(surveys.warner("1/6"), [[10, 20], [10, 20]], by=("region",), groups=(("north",), ("south",)))
    with pytest.raises(ValueError, match="one group at a time"):
        sensitivity(tally, "no")
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        sensitivity(Tally(surveys.warner("1/6"), [10, 20]), "no", level=1)
    assert_array_equal(sensitivity(Tally(surveys.warner("1/6"), [10, 20]), "no", [0]).cheating, [0])


def test_sensitivity_of_a_forced_response_among_three_is_exact() -> None:
    design = surveys.forced_response(truth="1/2", forced={"a": "1/4", "b": "1/8", "c": "1/8"})
    found = noncompliance.sensitivity(Tally(design, [50, 30, 20]), "c", (0, "1/10"))
    assert not found.approximate
    # a is reported with probability 0.9 (1/4 + share/2): the exact interval of 50 in 100, carried over
    low, high = binomial_limits(np.float64(50), np.float64(100), 0.025)
    assert_allclose([found.low[1, 0], found.high[1, 0]], [(end / 0.9 - 0.25) * 2 for end in (low, high)], rtol=1e-9)
    with pytest.raises(TypeError, match="cheating must be a sequence of shares"):
        noncompliance.sensitivity(Tally(design, [50, 30, 20]), "c", 0.1)  # type: ignore[arg-type]
