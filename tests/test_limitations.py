"""Limitations on the pages of "Explanation": each claim that a call can show is shown here.

If a test fails because a limitation is gone, correct the page as well.
"""

from __future__ import annotations

import numpy as np
import pytest

from warner import (
    Channel,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    certificate,
    check,
    estimate,
    inv,
    mle,
    noncompliance,
    pool,
    surveys,
    tally,
)

THREE = RandomizedResponse(["a", "b", "c"], epsilon=1)
SETS = SubsetSelection(6, epsilon=1, size=2)
BITS = UnaryEncoding(6, epsilon=1)
YES_NO = [RandomizedResponse(["yes", "no"], odds=(3, 1)), surveys.warner("1/4")]


def reports_of(design: SubsetSelection | UnaryEncoding, *, keep: bool = False) -> Tally:
    rng = np.random.default_rng(0)
    drawn = design.draw(rng.integers(0, design.k, 300), rng.bytes)
    return tally(design.report_form.written(drawn), design, keep=keep)


def test_sizes_that_are_refused() -> None:
    assert RandomizedResponse(4096, epsilon=1).channel().shape == (4096, 4096)
    with pytest.raises(ValueError, match="the limit is K = 4096"):
        RandomizedResponse(4097, epsilon=1).channel()
    with pytest.raises(ValueError, match=r"below 2\^320"):
        RandomizedResponse(3, odds=(2**320 - 2, 1))
    with pytest.raises(ValueError, match=r"at most 2\^53"):
        Tally(RandomizedResponse(2, epsilon=1), [2**53, 1])


@pytest.mark.parametrize(("each", "approximate"), [(3333, False), (3334, True)])
def test_differences_are_exact_up_to_ten_thousand_reports(each: int, approximate: bool) -> None:
    assert estimate(Tally(THREE, [each] * 3)).compare("a", "b").approximate is approximate


def test_with_weights_all_is_approximate() -> None:
    people = {"report": ["a", "b", "c"] * 40, "weight": np.full(120, 1.5)}
    weighted = estimate(tally(people, THREE, column="report", weights="weight"))
    assert weighted.compare("a", "b").approximate
    assert weighted.interval("a").approximate


def test_channels_with_more_reports_have_approximate_intervals_except_forced_response() -> None:
    table = [["1/2", "1/4", "1/4"], ["1/8", "3/4", "1/8"], ["1/10", "1/5", "7/10"]]
    linear = estimate(Tally(Channel(table, ["a", "b", "c"], ["a", "b", "c"]), [50, 60, 70])).interval("a")
    assert (linear.method, linear.approximate) == ("linear", True)
    forced = surveys.forced_response(truth="0.7", forced={"a": "0.1", "b": "0.1", "c": "0.1"})
    assert not estimate(Tally(forced, [50, 60, 70])).interval("a").approximate


def test_pools() -> None:
    both = pool([Tally(YES_NO[0], [60, 40]), Tally(YES_NO[1], [40, 60])])
    assert estimate(both).method == "mle"
    assert not estimate(both).interval("yes").approximate
    assert estimate(both).compare("yes", "no").approximate
    with pytest.raises(ValueError, match="method must be left out for pooled collections"):
        estimate(both).interval("yes", method="score")
    with pytest.raises(ValueError, match="anytime needs reports of one design"):
        estimate(both).interval("yes", anytime=True)
    with pytest.raises(TypeError, match="one part at a time"):
        noncompliance.sensitivity(both, safe="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="shrink"):
        estimate(both, method="shrink")
    with_sets = pool([reports_of(SETS), Tally(RandomizedResponse(6, epsilon=1), [50] * 6)])
    assert estimate(with_sets).method == "inv_p"


@pytest.mark.parametrize("design", [SETS, BITS], ids=["subset selection", "unary encoding"])
def test_sets_of_answers(design: SubsetSelection | UnaryEncoding) -> None:
    counts, kept = reports_of(design), reports_of(design, keep=True)
    assert estimate(counts).method == "inv_p"
    with pytest.raises(TypeError, match="needs the reports themselves"):
        estimate(counts, method="mle")
    assert estimate(kept, method="mle").certificate is not None
    assert estimate(counts).compare(0, 1).approximate
    assert not estimate(kept).compare(0, 1).approximate
    assert not estimate(counts).interval(0).approximate
    assert estimate(counts).interval([0, 1]).approximate
    assert check(counts).epsilon_at_least is None
    for refused in (lambda: design.then(THREE), lambda: noncompliance.sensitivity(counts, safe=0)):
        with pytest.raises(TypeError, match="too many possible reports to be written as a table"):
            refused()


def test_where_lies_are_more_likely_than_the_truth() -> None:
    design, counts = RandomizedResponse(5, odds=(1, 3)), [0, 0, 3, 4, 5]
    assert not certificate(mle(counts, design), counts, design).unique
    with pytest.raises(ValueError, match="p = q"):
        inv([1, 2, 3], RandomizedResponse(3, odds=(1, 1)))
