"""The registry of estimators (`methods`): errors, applicability and properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import multinomial

import warner
from cases import FORCED, KUK, SETS
from warner import Channel, RandomizedResponse, Tally, inv, inv_n, inv_p, mle, pool
from warner.designs.facts import full_symmetry
from warner.estimators import METHODS, MOST_LIKELY, NEAREST, UNBIASED, fitted
from warner.estimators.methods import default_method

if TYPE_CHECKING:
    from collections.abc import Callable

ESTIMATORS: dict[str, Callable[..., Any]] = {
    "inv": inv,
    "inv_n": inv_n,
    "inv_p": inv_p,
    "mle": mle,
    "shrink": warner.shrink,
}
SUPPORT = Tally(SETS, [23, 15, 13, 6, 5], n=31)

every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


# Bad input

SURVEY = RandomizedResponse(3, epsilon=1)


@every_estimator
@pytest.mark.parametrize(
    ("counts", "complaint"),
    [
        ([1, 2], r"one entry for each of the 3 answers.*got shape \(2,\)"),
        (5, r"one entry for each of the 3 answers.*got shape \(\)"),
        ([[1, 2, 3, 4]], r"got shape \(1, 4\)"),
        ([1, -2, 3], "must not be negative, but got -2 at position 1"),
        ([[1, 2, 3], [4, 5, -6]], r"must not be negative, but got -6 at position \(1, 2\)"),
        ([1.0, -0.5, 3.0], "at least 0, but got -0.5 at position 1"),
        ([1.0, float("nan"), 3.0], "at least 0, but got nan at position 1"),
        ([1.0, float("inf"), 3.0], "finite sum"),
        ([0, 0, 0], "at least one report, but all are zero$"),
        ([0.0, 0.0, 0.0], "at least one report, but all are zero$"),
        ([[1, 2, 3], [0, 0, 0]], r"all are zero in the histogram at position \[1\]"),
        ([2**53, 1, 0], r"at most 2\^53 = 9.01e15.*but got 9.01e\+15"),
        ([2**52] * 3, r"at most 2\^53 .*but got 1.35e\+16"),
        ([2**62, 2**62, 2**62], r"at most 2\^53 .*but got 1.38e\+19"),
        ([1e308] * 3, "finite sum"),
        (np.ma.array([40, 60, 999], mask=[False, False, True]), "must not be masked"),
        (np.array([2**64 - 1, 1, 1], dtype=np.uint64), r"at most 2\^53"),
    ],
)
def test_bad_counts(name: str, counts: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ESTIMATORS[name](counts, SURVEY)


@every_estimator
@pytest.mark.parametrize("counts", [["a", "b", "c"], [True, False, True], [None, 1, 2], [1j, 2, 3], [2**70, 1, 1]])
def test_counts_that_are_not_numbers(name: str, counts: Any) -> None:
    with pytest.raises(TypeError, match="counts must be numbers"):
        ESTIMATORS[name](counts, SURVEY)


@every_estimator
def test_a_total_of_exactly_two_to_the_53_is_fine(name: str) -> None:
    assert ESTIMATORS[name]([2**53 - 1, 1, 0], SURVEY)[0] > 0.99


@every_estimator
def test_a_design_without_information(name: str) -> None:
    with pytest.raises(ValueError, match="the design must have an epsilon above 0"):
        ESTIMATORS[name]([1, 2, 3], RandomizedResponse(3, odds=(1, 1)))


@every_estimator
def test_reports_that_differ_in_nothing_tell_nothing(name: str) -> None:
    silent = Channel([["1/2", "1/2"], ["1/2", "1/2"]], 2, 2)
    assert silent.epsilon == 0
    with pytest.raises(ValueError, match="epsilon above 0: with p = q, rows that do not differ"):
        ESTIMATORS[name]([1, 2], silent)


def test_impossible_reports_are_named_and_counted() -> None:
    design = Channel([["1/2", "1/2", 0], ["1/4", "3/4", 0]], 2, ["a", "b", "c"])
    every: list[Callable[..., Any]] = [*ESTIMATORS.values(), warner.ibu, warner.channel_mle]
    for method in every:
        with pytest.raises(ValueError, match="possible under the design, but some are not: 'c' 7 times"):
            method([5, 6, 7], design)
    assert mle([5, 6, 0], design).shape == (2,)


# The number of reports, where a report may support several answers


@pytest.mark.parametrize("name", ["inv", "inv_n", "inv_p", "shrink"])
def test_support_needs_the_number_of_reports(name: str) -> None:
    with pytest.raises(TypeError, match="n must be given, the number of reports"):
        ESTIMATORS[name]([23, 15, 13, 6, 5], SETS)
    for n in (30, 32, 31.5, [31], float("nan"), -31):
        with pytest.raises(ValueError, match="n must be"):
            ESTIMATORS[name]([23, 15, 13, 6, 5], SETS, n=n)
    with pytest.raises(ValueError, match="n must be"):
        ESTIMATORS[name]([[23, 15, 13, 6, 5]] * 2, SETS, n=31)
    with pytest.raises(ValueError, match="at least one report"):
        ESTIMATORS[name]([0, 0, 0, 0, 0], SETS, n=0)


@pytest.mark.parametrize("name", ["inv", "inv_n", "inv_p", "shrink"])
def test_where_each_report_is_counted_once_the_number_is_the_sum(name: str) -> None:
    design = RandomizedResponse(3, epsilon=1)
    shares = ESTIMATORS[name]([1, 2, 3], design)
    assert_array_equal(ESTIMATORS[name]([1, 2, 3], design, n=6), shares)
    assert_array_equal(ESTIMATORS[name]([[1, 2, 3]], design, n=[6])[0], shares)
    with pytest.raises(ValueError, match="n must be the sum of the counts"):
        ESTIMATORS[name]([1, 2, 3], design, n=7)


def test_support_counts_have_no_likelihood() -> None:
    for method in (mle, warner.ibu, warner.channel_mle):
        with pytest.raises(TypeError, match="supports several answers, so that counts have no likelihood"):
            method([23, 15, 13, 6, 5], SETS)
    with pytest.raises(TypeError, match="so that counts have no likelihood"):
        warner.certificate(np.full(5, 0.2), [23, 15, 13, 6, 5], SETS)


# The list of estimators


def test_an_estimator_applies_where_counts_are_enough_for_it() -> None:
    likelihoods = {name for name, method in METHODS.items() if method.likelihood}
    assert likelihoods == {"mle", "ibu"}
    for name, method in METHODS.items():
        assert method.applies(to_likelihood=True)
        assert method.applies(to_likelihood=False) == (name not in likelihoods)
        assert method.sentence
    assert default_method(Tally(KUK, [1, 2, 3])) == "mle"
    assert default_method(SUPPORT) == "inv_p"
    both = pool([SUPPORT, Tally(RandomizedResponse(SETS.domain, odds=(3, 1)), [1, 2, 3, 4, 5])])
    assert default_method(both) == "inv_p"
    for name in likelihoods:
        for tally in (SUPPORT, both):
            with pytest.raises(TypeError, match=f"method must not be '{name}' here: .* use inv_p"):
                fitted(tally, name)


# What is known of each

TURNED = RandomizedResponse(3, odds=(1, 4))
every_method = pytest.mark.parametrize("name", METHODS)


def histograms(n: int, k: int) -> list[list[int]]:
    """Return all ways to divide n reports among k."""
    return [[n]] if k == 1 else [[first, *rest] for first in range(n + 1) for rest in histograms(n - first, k - 1)]


@every_method
def test_a_method_is_unbiased_if_it_says_so(name: str) -> None:
    truth, design = np.array([0.7, 0.3, 0.0]), RandomizedResponse(3, odds=(2, 1))
    chances = multinomial(4, design.law.likelihood().forward(truth))
    shares = [fitted(Tally(design, counts), name).shares[0] for counts in histograms(4, 3)]
    mean = sum(chances.pmf(counts) * row for counts, row in zip(histograms(4, 3), shares, strict=True))
    assert (np.abs(mean - truth).max() < 1e-12) == METHODS[name].unbiased


@every_method
def test_a_method_ends_at_the_maximum_if_it_says_so(name: str) -> None:
    shares, counts = fitted(Tally(SURVEY, [1, 6, 8]), name).shares[0], [1, 6, 8]
    if METHODS[name].valid:
        assert (warner.certificate(shares, counts, SURVEY).gap <= 1e-6) == METHODS[name].maximises_likelihood
    else:
        assert not METHODS[name].maximises_likelihood


def test_the_methods_that_others_ask_for_by_what_they_are() -> None:
    assert (UNBIASED, MOST_LIKELY, NEAREST) == ("inv", "mle", "inv_p")
    assert [name for name, method in METHODS.items() if method.unbiased] == [UNBIASED]


@every_method
@pytest.mark.parametrize("design", [SURVEY, TURNED, FORCED, KUK])
def test_no_fake_report_moves_a_share_beyond_the_bound_of_its_method(name: str, design: Any) -> None:
    """Every way to replace one of five reports by another."""
    tally = Tally(design, [1] * len(design.law.columns))
    method = METHODS[name]
    if method.symmetric and full_symmetry(design.law) is None:
        assert method.fake_bound(tally) is None
        return
    if (times := method.fake_bound(tally)) is None:
        return
    shares = {
        tuple(counts): fitted(Tally(design, counts), name).shares[0]
        for counts in histograms(5, len(design.law.columns))
    }
    moved = [
        np.abs(before - after).max()
        for one, before in shares.items()
        for other, after in shares.items()
        if np.abs(np.subtract(one, other)).sum() == 2
    ]
    assert max(moved) <= times * design.law.linear.influence() / 5 * (1 + 1e-9)


def test_which_methods_have_a_bound_on_fakes() -> None:
    def bounds(tally: Any) -> dict[str, int]:
        return {name: times for name, method in METHODS.items() if (times := method.fake_bound(tally)) is not None}

    assert bounds(Tally(SURVEY, [1, 2, 3])) == {"mle": 1, "inv": 1, "inv_n": 1, "inv_p": 1}
    assert bounds(Tally(TURNED, [1, 2, 3])) == {"inv": 1, "inv_n": 1, "inv_p": 1}
    assert bounds(SUPPORT) == {"inv": 1, "inv_p": 2}
    assert bounds(Tally(FORCED, [1, 2])) == {"mle": 1, "inv": 1}
    assert bounds(Tally(KUK, [1, 2, 3])) == {"inv": 1}
