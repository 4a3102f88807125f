"""Lists of answers that are read in the reports of an open domain; the contract is tested with all other designs."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta

import warner
from warner import OpenDomain, OpenTally
from warner.designs.facts import counts_everyone
from warner.estimators import postprocessing

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
    assert estimate.method == "inv_p"
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
        counts = design.law.count(WORDS.draw_last(WORDS.values.encoded(held).blocks, rng.bytes)).counts
        shares.append(design.law.readout(counts[np.newaxis], np.array([[500.0]]), [[0, 1]]).share()[0, 0])
    told = design.law.readout(counts[np.newaxis], np.array([[500.0]]), [[0, 1]]).error
    assert told is not None
    assert_allclose(np.mean(shares), 0.5, atol=5 * np.std(shares) / 20)
    assert_allclose(told[0, 0], np.std(shares), rtol=0.25)


@pytest.mark.parametrize("method", ["mle", "ibu", "shrink", "smooth", "norm_cut", "mle_pooled", "power_ns", "auto"])
def test_estimators_that_sum_to_one_are_refused(method: str) -> None:
    with pytest.raises(TypeError, match=f"{method}.* need not sum to one; use inv_p, inv_n or inv"):
        warner.estimate(survey(2000).closed(["one", "two"]), method=method)


@pytest.mark.parametrize("name", ["shrink", "norm_cut", "mle_pooled", "power_ns"])
def test_functions_that_sum_to_one_are_refused(name: str) -> None:
    function = getattr(warner, name, None) or getattr(postprocessing, name)
    with pytest.raises(TypeError, match=f"{name}.* need not sum to one; use inv_p, inv_n or inv"):
        function([300, 200], WORDS.closed(["one", "two"]), n=1000)


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
    with pytest.raises(TypeError, match="must have every possible answer"):
        warner.regress("word ~ age", {"word": reports, "age": list(range(20))}, closed)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["one", "far too long"], {}, "but got 'far too long'"),
        (["one", "One"], {}, "must differ once they are normalized, but 'one' and 'One' do not"),
        (["one"], {}, "at least 2"),
        (["one", "one"], {}, "distinct"),
    ],
)
def test_lists_that_cannot_be_are_one_clear_line(values: list[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WORDS.closed(values, **options)


def test_a_text_is_no_list_of_its_letters() -> None:
    with pytest.raises(TypeError, match="values must be a list of answers, but got 'the'"):
        WORDS.closed("the")


def test_numbers_have_no_other() -> None:
    with pytest.raises(ValueError, match="other must be left out"):
        OpenDomain(epsilon=1, bits=8).closed([1, 2], other=True)
    assert OpenDomain(epsilon=1, bits=8).closed(range(3, 9)).domain == range(3, 9)


# Shares that sum to at most one


def nearest_within_one(point: list[Fraction]) -> list[Fraction]:
    """Solve the quadratic programme by trying all sets of zeros, with the sum free or one: the nearest that can be."""
    k, best = len(point), None
    for zeros in itertools.product([False, True], repeat=k):
        for tight in (False, True):
            kept = [i for i in range(k) if not zeros[i]]
            if tight and not kept:
                continue
            shift = (sum((point[i] for i in kept), Fraction(0)) - 1) / len(kept) if tight else Fraction(0)
            shares = [Fraction(0) if zeros[i] else point[i] - shift for i in range(k)]
            if min(shares) < 0 or sum(shares) > 1:
                continue
            distance = sum((x - y) ** 2 for x, y in zip(point, shares, strict=True))
            if best is None or distance < best[0]:
                best = distance, shares
    assert best is not None
    return best[1]


def test_inv_p_is_the_nearest_point_that_sums_to_at_most_one() -> None:
    # All counts of 9 reports for three answers: 1,000 quadratic programmes in fractions.
    small = OpenDomain(epsilon=2, bits=3, step=2).closed([1, 2, 7])
    a, b, total = small.symmetry.whole
    counts = np.array(list(itertools.product(range(10), repeat=3)))
    shares, scaled = (function(counts, small, n=np.full(len(counts), 9)) for function in (warner.inv_p, warner.inv_n))
    below = 0
    for row, nearest, cut in zip(counts.tolist(), shares, scaled, strict=True):
        inverted = [Fraction(total * count - 9 * b, 9 * (a - b)) for count in row]
        positive = [max(share, Fraction(0)) for share in inverted]
        below += sum(positive) < 1
        assert_allclose(nearest, [float(share) for share in nearest_within_one(inverted)], rtol=0, atol=1e-14)
        assert_allclose(cut, [float(share / max(sum(positive), Fraction(1))) for share in positive], rtol=0, atol=1e-14)
    assert 50 < below < 950  # both kinds


def test_weighted_and_pooled_reports_sum_to_at_most_one_as_well() -> None:
    closed = WORDS.closed(["one", "two", "never"])
    counts = np.array([700.0, 500.0, 300.0])
    tallies = [warner.Tally(closed, counts.astype(np.int64), n=4000), warner.Tally(closed, [600, 620, 370], n=5000)]
    both = warner.estimate(warner.pool(tallies))
    inverted = warner.estimate(warner.pool(tallies), method="inv").shares
    assert both.method == "inv_p"
    assert inverted.min() < 0 < inverted.sum() < 1
    assert_allclose(both.shares, np.maximum(inverted, 0), rtol=1e-12)
    assert_allclose(warner.inv_p(counts / 2, closed, n=2000.0), np.maximum(warner.inv(counts / 2, closed, n=2000.0), 0))


def test_the_default_is_inv_p_whatever_the_number_of_answers() -> None:
    many = survey(4000).closed(["one", "two", *(f"n{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")])
    estimate = warner.estimate(many)
    assert estimate.method == "inv_p"
    assert "shrink" not in estimate.text()
    assert estimate.shares.min() == 0
    assert estimate.shares.sum() <= 1 + 1e-12
    assert not np.isfinite(estimate.log_likelihood)


def test_a_check_speaks_of_estimators_that_there_are() -> None:
    text = " ".join(warner.check(survey(2000).closed(["one", "two"])).text().split())
    assert "bound holds for the estimator inv, and twice it for inv_p; for inv_n no such bound is known" in text
    assert "mle" not in text
    assert "shrink" not in text


def test_the_realised_share_has_the_limits_of_the_population_where_a_level_is_counted() -> None:
    tally, design = survey(4000).closed(["one", "two", "never"]), WORDS.closed(["one", "two", "never"])
    assert not counts_everyone(tally.design.law)
    counts, n = np.asarray(tally.counts), int(tally.n)
    realised, population = (warner.estimate(tally).interval(target=target) for target in ("realised", "population"))
    assert_array_equal(realised.low, population.low)
    assert_array_equal(realised.high, population.high)
    # Those of Clopper and Pearson for the counts of the last level, turned into shares.
    q, gain = design.q, design.symmetry.gain
    low, high = beta.ppf(0.025, counts, n - counts + 1), beta.ppf(0.975, counts + 1, n - counts)
    assert_allclose(realised.low, np.clip((low - q) / gain, 0, 1), atol=1e-9)
    assert_allclose(realised.high, np.clip((high - q) / gain, 0, 1), atol=1e-9)
    # With one level everybody is counted, and the limits for the sample are narrower.
    alone = OpenDomain(epsilon=2, bits=4, step=4).closed([1, 2])
    assert counts_everyone(alone.law)
    whole = warner.estimate(warner.Tally(alone, [500, 300], n=1500))
    one, other = (whole.interval(target=target) for target in ("realised", "population"))
    assert (one.high - one.low < other.high - other.low).all()


def test_simulated_people_may_hold_other_answers() -> None:
    # 400 surveys of 500 people: means within 5 standard errors; a false alarm has a probability below 1e-5.
    closed = WORDS.closed(["one", "two", "never"])
    counts = closed.simulate(np.array([0.3, 0.1, 0.0]), 500, rng=np.random.default_rng(3), size=400)
    expected = closed.law.probabilities(np.array([0.3, 0.1, 0.0]))
    error = np.sqrt(expected * (1 - expected) / 500 / 400)
    assert (np.abs(counts.mean(axis=0) / 500 - expected) < 5 * error).all()
