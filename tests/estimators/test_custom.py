"""Custom estimators: any function of counts and a design."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import warner
from cases import THREE
from warner import Channel, RandomizedResponse, SubsetSelection, Tally
from warner.arrays import Array, Counts
from warner.designs import Design


def halfway(counts: Counts, design: Design) -> Array:
    """Estimate halfway between what inverting gives and equal shares."""
    return (warner.inv(counts, design) + 1 / design.k) / 2


def test_a_function_takes_the_place_of_a_method() -> None:
    # Odds 3 : 1 among three, p = 3/5 and q = 1/5: inv of (50, 30, 20) % is (3/4, 1/4, 0).
    estimate = warner.estimate(Tally(THREE, [50, 30, 20]), method=halfway)
    np.testing.assert_allclose(estimate.shares, [13 / 24, 7 / 24, 4 / 24], rtol=1e-12)
    assert estimate.method == "halfway"
    assert estimate.certificate is None


def test_its_name_is_told_at_every_door(tmp_path: Path) -> None:
    estimate = warner.estimate(Tally(THREE, [50, 30, 20]), method=halfway)
    assert estimate.text().startswith("Estimated shares (halfway) from 100 reports")
    assert json.loads(estimate.to_json())["method"] == "halfway"
    estimate.save_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "halfway: a custom estimator" in page
    assert "none: halfway is a custom estimator" in page


def test_intervals_and_log_likelihood_do_not_depend_on_who_estimates() -> None:
    tally = Tally(THREE, [50, 30, 20])
    same = warner.estimate(tally, method=lambda counts, design: 1 * warner.mle(counts, design))
    theirs = warner.estimate(tally, method="mle")
    assert_array_equal(same.table()["low"], theirs.table()["low"])
    assert_array_equal(same.shares, theirs.shares)
    assert same.log_likelihood == theirs.log_likelihood
    assert same.method == "own"


def test_every_group_is_estimated_by_itself_and_the_number_of_reports_is_given() -> None:
    seen = []

    def noting(counts: Counts, design: Design, *, n: int) -> Array:
        seen.append((counts.tolist(), n))
        return np.full(design.k, 1 / design.k)

    design = SubsetSelection(4, odds=(3, 1), size=2)
    columns = {"group": ["a", "a", "b"], "report": design.randomize([0, 1, 2])}
    tally = warner.tally(pl.DataFrame(columns), design, column="report", by="group")
    warner.estimate(tally, method=noting)
    assert [n for _, n in seen] == [2, 1]
    assert [sum(counts) for counts, _ in seen] == [4, 2]


def test_a_partial_function_and_a_channel_will_do() -> None:
    def towards(counts: Counts, design: Design, *, rate: float) -> Array:
        return (1 - rate) * warner.inv_p(counts, design) + rate / design.k

    crosswise = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["A", "B"])
    estimate = warner.estimate(Tally(crosswise, [40, 60]), method=functools.partial(towards, rate=1))
    assert_array_equal(estimate.shares, [0.5, 0.5])
    assert estimate.method == "towards"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda counts, design: [0.5, 0.5], "must give one share for each of the 3 answers"),
        (lambda counts, design: [0.5, np.nan, 0.5], "must give finite shares"),
        (lambda counts, design: ["a", "b", "c"], "must give one share for each of the 3 answers"),
        (lambda counts, design: counts / 0, "must give finite shares"),
        (lambda counts: counts, "failed on 100 reports under RandomizedResponse"),
        (lambda counts, design: 1 / 0, "failed on 100 reports .*: ZeroDivisionError"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_no_estimate_is_refused(function: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        warner.estimate(Tally(THREE, [50, 30, 20]), method=function)


def test_a_function_cannot_take_the_name_of_a_method_and_a_pool_has_no_counts_to_give() -> None:
    with pytest.raises(ValueError, match='give method="inv_p"'):
        warner.estimate(Tally(THREE, [50, 30, 20]), method=warner.inv_p)
    pool = warner.Pool((Tally(THREE, [50, 30, 20]), Tally(RandomizedResponse(THREE.domain, odds=(2, 1)), [5, 3, 2])))
    with pytest.raises(TypeError, match="takes the counts of one design"):
        warner.estimate(pool, method=halfway)
    with pytest.raises(ValueError, match="or a function of counts and design, but got 3"):
        warner.estimate(Tally(THREE, [50, 30, 20]), method=3)  # type: ignore[arg-type]


def test_shares_that_do_not_sum_to_one_are_said_to() -> None:
    estimate = warner.estimate(Tally(THREE, [50, 30, 20]), method=lambda counts, design: np.full(3, 0.2))
    assert "the shares do not sum to 100 %, because own gives no distribution" in estimate.warnings()
    assert np.isnan(estimate.log_likelihood)


def test_a_function_that_writes_into_its_counts_changes_nothing() -> None:
    def greedy(counts: Counts, design: Design) -> Array:
        shares = warner.inv_p(counts, design)
        counts[:] = 0
        return shares

    tally = Tally(THREE, [50, 30, 20])
    warner.estimate(tally, method=greedy)
    assert_array_equal(tally.counts, [50, 30, 20])
