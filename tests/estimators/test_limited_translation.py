"""The promise of shrink: no share further from what its own count says than its limits, for every input."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import ndtri, xlogy

from strategies import surveys
from warner import RandomizedResponse, Tally, UnaryEncoding, estimate, inv_n, inv_p, metrics, mle, shrink, simulate
from warner.estimators.shrinkage import tilted
from warner.results import typeset

if TYPE_CHECKING:
    from pathlib import Path

    from warner.arrays import Array
    from warner.designs.contract import Design

TARGETS = ("realised", "population")


# An oracle of its own: the limits by bisection, from the definition


def nats_lost(count: Array, n: float, mu: Array) -> Array:
    """Likelihood of a binomial count at mu, relative to its maximum."""
    return np.asarray(
        xlogy(count, count / n) + xlogy(n - count, 1 - count / n) - xlogy(count, mu) - xlogy(n - count, 1 - mu)
    )


def limits(counts: Array, n: float, design: Design, errors: float) -> tuple[Array, Array]:
    symmetry = design.law.symmetry
    assert symmetry is not None
    ends = []
    for edge in (0.0, 1.0):
        inside, outside = counts / n, np.full(counts.size, edge)
        for _ in range(60):
            middle = (inside + outside) / 2
            with np.errstate(divide="ignore"):
                kept = nats_lost(counts, n, middle) <= errors**2 / 2
            inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
        ends.append(np.clip((inside - symmetry.base) / symmetry.gain, 0, 1))
    return (ends[0], ends[1]) if symmetry.gain > 0 else (ends[1], ends[0])


def allowed(counts: Array, n: float, design: Design, errors: float) -> bool:
    low, high = limits(counts, n, design, errors)
    return bool(low.sum() <= 1 + 1e-12 and high.sum() >= 1 - 1e-12)


def errors_promised(counts: Array, n: float, design: Design) -> float:
    """D, or the least number of standard errors at which a distribution lies within the limits."""
    errors = float(ndtri(1 - 0.5 / counts.size)) + 1
    if allowed(counts, n, design, errors):
        return errors
    few, enough = errors, 2 * errors
    while not allowed(counts, n, design, enough):
        few, enough = enough, 2 * enough
    for _ in range(30):
        middle = (few + enough) / 2
        few, enough = (few, middle) if allowed(counts, n, design, middle) else (middle, enough)
    return enough


def assert_promise(shares: Array, counts: Array, n: float, design: Design) -> None:
    errors = errors_promised(counts, n, design)
    low, high = limits(counts, n, design, errors)
    # Bisection of D to 1e-9, of limits to 1e-18; near 0 and 1 a limit is known to about 1e-8 of its own size.
    assert abs(shares.sum() - 1) <= 1e-12
    assert (shares >= low - 1e-7).all()
    assert (shares <= high + 1e-7).all()


# The promise, for every input


@settings(deadline=None, max_examples=30)
@given(
    st.one_of(surveys(most=30), surveys(most=30, inverted=True)), st.sampled_from(TARGETS), st.sampled_from([1, 0.7])
)
@example(([1, 0, 0], RandomizedResponse(3, epsilon=8)), "population", 1)  # a handful of reports
@example(([60, 60, 60, 0], RandomizedResponse(4, epsilon=1)), "realised", 1)  # reports that do not fit
@example(([900] + [1000] * 24 + [30_000], RandomizedResponse(26, epsilon=4)), "realised", 1)
def test_each_share_is_within_the_limits_of_its_count(
    survey: tuple[list[int], RandomizedResponse], target: str, worth: float
) -> None:
    counts, design = np.array(survey[0]) * worth, survey[1]
    if design.epsilon == 0:
        return
    assert_promise(shrink(counts, design, target=target), counts, float(counts.sum()), design)


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 500), st.integers(2, 25), st.data(), st.sampled_from(TARGETS), st.floats(0.1, 9))
def test_each_share_is_within_the_limits_of_its_support(n: int, k: int, data: Any, target: str, epsilon: float) -> None:
    """Any counts at all: most of them no design would give, so that most examples need wider limits."""
    design = UnaryEncoding.optimal(k, epsilon=epsilon)
    counts = np.array(data.draw(st.lists(st.integers(0, n), min_size=k, max_size=k)))
    assert_promise(shrink(counts, design, n=n, target=target), counts.astype(float), n, design)


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 10), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 4.0, 8.0]), st.sampled_from(TARGETS))
def test_a_handful_of_reports_keeps_the_promise(n: int, seed: int, epsilon: float, target: str) -> None:
    for design in (RandomizedResponse(30, epsilon=epsilon), UnaryEncoding.optimal(20, epsilon=epsilon)):
        counts = design.simulate(simulate.zipf(design.k, 1), n, rng=np.random.default_rng(seed))
        shares = shrink(counts, design, n=None if design.law.exclusive else n, target=target)
        assert_promise(shares, counts.astype(float), n, design)


def test_with_weights_the_limits_are_those_of_the_effective_number() -> None:
    design, counts = RandomizedResponse(25, epsilon=3), np.array([900] + [30] * 23 + [20]) * 2.5
    tally = Tally(design, counts, squares=2.5**2 * counts.sum() / 2.5 * 4)  # worth a quarter of the reports
    worth = np.asarray(tally.effective) / counts.sum()
    assert worth == pytest.approx(0.1)
    assert_promise(estimate(tally, method="shrink").shares, counts * worth, float(counts.sum() * worth), design)


def test_a_tilt_moves_an_amount_by_its_standard_deviations_at_most() -> None:
    # An amount of 0 or 4, equally likely: mean 2, standard deviation 2. A sum of one needs P(4) = 1/4, a move by half a
    # deviation. If only a quarter is allowed, the mean is 3/2, with P(4) = 3/8.
    posterior, phi, amounts = np.log(np.full((1, 2, 1), 0.5)), np.array([[0.0, 1.0]]), np.array([[[0.0], [4.0]]])
    for furthest, chance in ((1.0, 1 / 4), (0.25, 3 / 8)):
        tilt = tilted(posterior, phi, np.ones((1, 1)), amounts, furthest)
        assert_allclose(tilt[0, :, 0], [1 - chance, chance], atol=1e-3)


def test_rounded_weights_leave_no_count_above_the_number_of_reports() -> None:
    # 0.1 + 0.2 > 0.3 in doubles, and 60 effective reports are 7e-15 fewer than the scaled count: printing never ended.
    counts = np.append(0.1 + 0.2, np.full(24, 0.29))
    tally = Tally(UnaryEncoding(25, epsilon=2), counts, n=0.3, squares=0.3**2 / 60)
    scaled, n = tally.parts[0].histograms(np.array([0])).in_reports()
    assert (scaled <= n[..., np.newaxis]).all()
    with pytest.warns(UserWarning, match="do not seem to fit"):
        found = estimate(tally, method="shrink")
    assert any("no distribution has all shares within" in warning for warning in found.warnings())


# What it says where the limits had to be widened


def test_limits_are_widened_by_the_deviance_of_the_best_distribution() -> None:
    # By symmetry the best shares are 1/2 and 1/2, at which 31 of 50 have the deviance 100 (.62 ln 1.24 + .38 ln .76).
    design, needed = UnaryEncoding(2, p=0.9, q=0.1), 10 * math.sqrt(0.62 * math.log(1.24) + 0.38 * math.log(0.76))
    assert needed > ndtri(0.75) + 1
    (said,) = [text for text in estimate(Tally(design, [31, 31], n=50), method="shrink").warnings() if "allow" in text]
    assert f"up to {needed:.2f} are allowed" in said


def test_wider_limits_are_said_at_every_door(tmp_path: Path) -> None:
    design = UnaryEncoding.optimal(20, epsilon=4)
    bad, good = np.zeros(20, dtype=int), np.full(20, 60)  # no reports of any answer: no distribution gives that
    with pytest.warns(UserWarning, match="do not seem to fit"):
        found = estimate(Tally(design, bad, n=1000), method="shrink")
    said = "no distribution has all shares within 2.96 standard errors of their counts, so that up to"
    widest = errors_promised(bad.astype(float), 1000, design)
    (warning,) = [warning for warning in found.warnings() if said in warning]
    assert f"up to {widest:.2f} are allowed" in warning
    assert f"Warning: {warning}." in typeset(found).notes
    assert warning in json.loads(found.to_json())["warnings"]
    found.save_page(tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.warns(UserWarning, match="do not seem to fit"):
        grouped = estimate(
            Tally(design, np.array([good, bad]), n=[1000, 1000], by=("g",), groups=((1,), (2,))), method="auto"
        )
    assert any("standard errors of their counts in 1 group" in warning for warning in grouped.warnings())
    assert not any("allow" in warning for warning in estimate(Tally(design, good, n=1000), method="shrink").warnings())


# Consistency


def all_equal_but(k: int, *shares: float) -> Array:
    return np.concatenate([shares, np.full(k - len(shares), (1 - sum(shares)) / (k - len(shares)))])


def times_the_rest(k: int, *factors: float) -> Array:
    weights = np.concatenate([factors, np.ones(k - len(factors))])
    return np.asarray(weights / weights.sum())


POPULATIONS = {
    **{f"{share:.1%} and equal": (all_equal_but, share) for share in (0.001, 0.02, 0.0477, 0.08, 0.3, 0.8, 0.9)},
    "two heads": (all_equal_but, 0.2, 0.01),
    "one ten times rarer": (times_the_rest, 0.1),
    "nobody holds one": (times_the_rest, 0.0),
    "two above": (times_the_rest, 2, 1.5),
}
DESIGNS = {
    "100 answers": RandomizedResponse(100, epsilon=4),
    "1,000 answers": RandomizedResponse(1000, epsilon=8),
    "unary": UnaryEncoding.optimal(100, epsilon=5),
}


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS.keys())
@pytest.mark.parametrize("population", POPULATIONS.values(), ids=POPULATIONS.keys())
def test_every_share_is_consistent(population: Any, design: Design) -> None:
    """The error is D + 6 standard errors at most: D by the limits, 6 by chance, beyond which is one share in 10^9.

    Of small counts, which are skewed, limits and chance reach further up, by half of that squared, in reports.
    """
    truth = population[0](design.k, *population[1:])
    symmetry, rng = design.law.symmetry, np.random.default_rng(5)
    assert symmetry is not None
    reach = float(ndtri(1 - 0.5 / design.k)) + 1 + 6  # D, and chance
    for n in (10**4, 10**6, 10**7, 10**8, 10**10):
        counts = design.simulate(truth, n, rng=rng)
        expected = n * (symmetry.base + symmetry.gain * truth)
        error = (reach * np.sqrt(expected * (1 - expected / n)) + reach**2 / 2) / n / symmetry.gain
        shares = shrink(counts, design, n=None if design.law.exclusive else n)
        assert (np.abs(shares - truth) <= error).all(), n


def test_the_first_population_on_which_it_was_inconsistent() -> None:
    """A head of 8 % over 999 equal answers, 10^7 reports: the share was said to be 4.5 %, with an error of 0.01 %."""
    design = RandomizedResponse(1000, epsilon=8)
    counts = design.simulate(all_equal_but(1000, 0.08), 10**7, rng=np.random.default_rng(0))
    assert shrink(counts, design)[0] == pytest.approx(0.08, abs=6 * math.sqrt(0.08 / 10**7) / design.symmetry.gain)


# What limits cost, and what they do not


def errors_of(truth: Array, design: RandomizedResponse, n: int, seeds: int) -> tuple[Array, Array]:
    """Squared errors of shrink, and of the best of the closed forms in hindsight."""
    rng = np.random.default_rng(11)
    people = rng.multinomial(n, truth, size=seeds)
    counts = np.array([simulate.reports_of_people(row, design, rng=rng) for row in people])
    others = [metrics.squared_error_sum(method(counts, design), people / n) for method in (inv_p, inv_n, mle)]
    return metrics.squared_error_sum(shrink(counts, design), people / n), min(others, key=np.mean)


def test_where_few_reports_are_skewed_luck_is_not_taken_for_a_common_answer() -> None:
    """A thousand reports among a thousand equal answers: with score limits the error was 4.6 +- .7 times the best's."""
    ours, best = errors_of(np.full(1000, 0.001), RandomizedResponse(1000, epsilon=1), 1000, 30)
    assert ours.mean() < 0.5 * best.mean()  # 0.28, with a standard error below 0.01


def test_a_common_answer_does_not_make_up_for_a_rest_that_no_prior_fits() -> None:
    """One of .8 over equal others: the error was 2.19 +- .11 times the best's, and is 0.72 +- .01."""
    ours, best = errors_of(all_equal_but(1000, 0.8), RandomizedResponse(1000, epsilon=8), 30_000, 30)
    assert ours.mean() + 4 * (ours - best).std() / math.sqrt(30) < 1.2 * best.mean()


def test_limits_are_those_of_the_definition() -> None:
    from warner.estimators.shrinkage import Problem

    rng = np.random.default_rng(2)
    for design in (
        RandomizedResponse(5, epsilon=2),
        RandomizedResponse(5, odds=(1, 3)),
        UnaryEncoding(5, p=1, q="1/9"),
    ):
        symmetry = design.symmetry
        for n in (1, 7, 300, 10**6):
            counts = np.sort(rng.integers(0, n + 1, 9)).astype(float)
            counted = Problem(
                counts, np.ones(9), np.array([float(n)]), float(symmetry.p), symmetry.base, exclusive=True
            )
            for errors in (0.5, 2.6, 9.0):
                for mine, theirs in zip(counted.limits(errors), limits(counts, n, design, errors), strict=True):
                    assert_allclose(mine, theirs, atol=1e-7)


def test_limits_of_weighted_counts_below_one_have_their_deviance() -> None:
    from warner.estimators.shrinkage import binomial_deviance, lower_limit

    counts, n = np.array([0.05, 0.1, 0.5, 0.9, 1.0, 1.5]), np.full(6, 10.0)
    for errors in (1.0, 2.0, 3.0):
        assert_allclose(binomial_deviance(counts, n, lower_limit(counts, n, errors)), errors**2, rtol=1e-9)
