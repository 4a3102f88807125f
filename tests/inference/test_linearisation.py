"""Linearised variances: the numbers of R's RRTCS and survey packages, a direct sum over people, and coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta, norm

from references import reference
from warner import RandomizedResponse
from warner.inference.linearisation import ClusterSample, Frequency, effective_people, replicate_covariance

REFERENCE = reference("samples")
SIX = REFERENCE["published"]


def alone(yes: int, no: int, z: Any, probability: float, *, sampled: bool = True) -> ClusterSample:
    """Give a simple random sample, each person a cluster, from the numbers that said yes and no."""
    said = np.repeat(np.eye(2), [yes, no], axis=0)
    weight = 1 / probability
    people = yes + no
    return ClusterSample(
        weight * said,
        weight**2 * said,
        np.ones(people),
        np.zeros(people, dtype=np.int64),
        np.asarray(z, dtype=np.float64),
        np.array([probability]) if sampled else None,
    )


def two_answers(base: float, gain: float) -> Any:
    """Give the debiased rows of the reports yes and no."""
    yes, no = (1 - base) / gain, -base / gain
    return [[yes, 1 - yes], [no, 1 - no]]


def schools(*, sampled: bool, whole: bool = False, z: Any = None) -> ClusterSample:
    """Give the sample of 365 people in 25 clusters of two strata."""
    rows = np.array(REFERENCE["horvitz_clusters"]["rows"], dtype=np.float64)
    stratum = rows[:, 0].astype(np.int64) - 1
    weight = 1 / rows[:, 2]
    said = rows[:, 3:]
    return ClusterSample(
        weight[:, np.newaxis] * said,
        weight[:, np.newaxis] ** 2 * said,
        said.sum(axis=1),
        stratum,
        np.array(two_answers(0.2, 0.6) if z is None else z),
        np.array([0.28, 0.22]) if sampled else None,
        whole,
    )


@pytest.mark.parametrize(
    ("name", "yes", "no", "probability", "base", "gain"),
    [
        ("Warner_total_p_0.7", 60, 65, 0.155860349127182, 0.3, 0.4),
        ("ForcedResponse_total_0.2_0.2", 508, 492, 0.1, 0.2, 0.6),
    ],
)
def test_totals_are_those_of_rrtcs(name: str, yes: int, no: int, probability: float, base: float, gain: float) -> None:
    sample = alone(yes, no, two_answers(base, gain), probability)
    total, variance = sample.totals[0], sample.covariance_of_totals[0, 0]
    expected = SIX["RRTCS"][name]
    assert_allclose([total, variance], expected[:2], rtol=1e-9)
    reach = norm.ppf(0.975) * np.sqrt(variance)
    assert_allclose([total - reach, total + reach], expected[2:], rtol=1e-8)


def test_a_mean_with_a_known_population_is_that_of_rrtcs() -> None:
    """Horvitz's design: truth 1/2, else an unrelated question with the answer yes with probability 0.6666667."""
    example = REFERENCE["horvitz"]
    sample = alone(example["yes"], example["no"], two_answers(*example["base_and_gain"]), example["probability"])
    estimate, variance = SIX["RRTCS"]["Horvitz_mean_N_10777"][:2]
    assert_allclose(sample.totals[0] / 10_777, estimate, rtol=1e-8)
    assert_allclose(sample.covariance_of_totals[0, 0] / 10_777**2, variance, rtol=1e-8)


@pytest.mark.parametrize("question", ["copied", "fought", "bullied", "bullying", "drug", "sex"])
def test_six_questions_of_a_real_survey_are_those_of_rrtcs(question: str) -> None:
    survey = SIX["RRTCS"]["HorvitzDataRealSurvey"]
    yes, unrelated, estimate, variance, low, high = survey[question]
    numerator, denominator = map(int, unrelated.split("/"))
    base, gain = survey["p"] * numerator / denominator, survey["p"]
    sample = alone(yes, survey["n"] - yes, two_answers(base, gain), survey["n"] / survey["N"])
    assert_allclose(sample.shares[0], estimate, rtol=1e-9)
    assert_allclose(sample.covariance[0, 0], variance, rtol=1e-8)
    reach = norm.ppf(0.975) * np.sqrt(sample.covariance[0, 0])
    assert_allclose([estimate - reach, estimate + reach], [low, high], rtol=1e-7)


def test_strata_and_clusters_are_those_of_rs_survey_package() -> None:
    expected = SIX["survey_package"]
    sample = schools(sampled=False)
    assert_allclose(sample.shares[0], expected["mean"], rtol=1e-9)
    assert_allclose(np.sqrt(sample.covariance[0, 0]), expected["se_linearised"], rtol=1e-9)
    assert sample.freedom == expected["df"]
    # The package centres at the mean of the replicates unless told otherwise: that is smaller by 2e-8.
    jackknife = np.sqrt(sample.jackknife_covariance[0, 0])
    assert_allclose(jackknife, expected["se_JKn_about_the_mean_of_replicates"], rtol=1e-6)


def test_the_textbooks_finite_population_is_that_of_rs_survey_package() -> None:
    """With direct answers and whole clusters nothing remains but the textbook's 1 - f."""
    expected = SIX["survey_package"]
    sample = schools(sampled=True, whole=True)
    device = sample.covariance[0, 0] - schools(sampled=False).covariance[0, 0]
    assert np.sqrt(sample.covariance[0, 0]) > expected["se_with_finite_populations"]
    assert device < 0
    remaining = sample._remaining((sample.debiased - sample.shares) / sample.total_weight, sample.counts, np.zeros(2))
    assert_allclose(remaining, 0)
    scores = (sample.debiased - sample.shares) / sample.total_weight
    between = sample._linearised(scores) - sample._remaining(scores, sample.counts @ scores, np.array([0.28, 0.22]))
    assert_allclose(np.sqrt(between[0, 0]), expected["se_with_finite_populations"], rtol=1e-9)


def test_korn_and_graubards_limits_are_those_of_svyciprop() -> None:
    expected = SIX["survey_package"]
    sample = schools(sampled=False, z=[[1.0, 0.0], [0.0, 1.0]])  # the reports themselves
    f, variance = sample.shares[0], sample.covariance[0, 0]
    assert_allclose(np.sqrt(variance), expected["se_of_z"], rtol=1e-9)
    n = float(effective_people(Frequency(f, variance, 365, sample.freedom), 0.95))
    limits = beta.ppf(0.025, f * n, n - f * n + 1), beta.ppf(0.975, f * n + 1, n - f * n)
    assert_allclose([f, *limits], expected["svyciprop_beta_of_z"], rtol=1e-9)


def by_hand(sample: ClusterSample) -> Any:
    """Add up the formula person by person, with a weight of its own for each."""
    total, shares = sample.total_weight, sample.shares
    result = np.zeros((2, 2))
    for h in range(sample.strata):
        clusters = np.flatnonzero(sample.stratum == h)
        sums = np.array([sample.counts[c] @ (sample.debiased - shares) / total for c in clusters])
        part = 0.0 if sample.sampled is None else sample.sampled[h]
        centred = sums - sums.mean(axis=0)
        result += (1 - part) * len(clusters) / (len(clusters) - 1) * centred.T @ centred
        for c in clusters:
            people = [
                j for j in range(2) for _ in range(round(sample.counts[c, j] ** 2 / max(sample.squares[c, j], 1e-9)))
            ]
            weight = sample.squares[c].sum() / sample.counts[c].sum()
            if sample.whole:
                for j in people:
                    z = sample.debiased[j]
                    result += part * (weight / total) ** 2 * (np.outer(z, z) - np.diag(z))
            else:
                u = np.array([weight * (sample.debiased[j] - shares) / total for j in people])
                spread = u - u.mean(axis=0)
                result += part * len(people) / (len(people) - 1) * spread.T @ spread
    return result


@pytest.mark.parametrize("whole", [False, True])
def test_the_formula_is_that_over_people(whole: bool) -> None:
    sample = schools(sampled=True, whole=whole)
    assert_allclose(sample.covariance, by_hand(sample), rtol=1e-9)


def test_shares_of_two_answers_vary_alike() -> None:
    covariance = schools(sampled=True).covariance
    assert_allclose(covariance, covariance[0, 0] * np.array([[1, -1], [-1, 1]]), rtol=1e-9)


def test_replicates_of_a_jackknife_are_the_jackknife() -> None:
    sample = schools(sampled=False)
    replicates, parts = [], []
    for cluster, stratum in enumerate(sample.stratum):
        size = int((sample.stratum == stratum).sum())
        factor = np.where(sample.stratum == stratum, size / (size - 1), 1.0)
        factor[cluster] = 0
        counts = factor @ sample.counts
        replicates.append(counts @ sample.debiased / counts.sum())
        parts.append((size - 1) / size)
    found = replicate_covariance(np.array(replicates), sample.shares, 1.0, np.array(parts))
    assert_allclose(found, sample.jackknife_covariance, rtol=1e-9)


def test_everybody_asked_leaves_the_noise_of_the_device() -> None:
    """Where f = 1, the variance is that of the device alone, which is known: p(1-p)/(p-q)^2 for each person."""
    design = RandomizedResponse(["yes", "no"], odds=(3, 1))
    rng = np.random.default_rng(4)
    variances = []
    for _ in range(200):
        reports = design.simulate_people(np.array([30, 70]), rng=rng)
        yes, no = reports.tolist()
        variances.append(alone(yes, no, design.inverse(), 1.0).covariance[0, 0])
    exact = 0.75 * 0.25 / 0.25 / 100  # of a person whoever she is, over 100 people
    # z^2 - z of 100 people, 200 times: each estimate has a standard deviation of about 0.2 times its mean.
    assert_allclose(np.mean(variances), exact, rtol=4 * 0.2 / np.sqrt(200))


def drawn_schools(rng: Any, design: Any, correlation: float, strata: int, sampled: int, pupils: int) -> Any:
    """Draw schools whose pupils are alike, with the true share of the population."""
    mean, size = 0.3, (1 - correlation) / max(correlation, 1e-9)
    shares = (
        rng.beta(mean * size, (1 - mean) * size, (strata, sampled)) if correlation else np.full((strata, sampled), mean)
    )
    truly = rng.binomial(pupils, shares).ravel()
    symmetry = design.symmetry
    yes = rng.binomial(truly, symmetry.p) + rng.binomial(pupils - truly, symmetry.q)
    said = np.stack([yes, pupils - yes], axis=1).astype(np.float64)
    stratum = np.repeat(np.arange(strata), sampled)
    return ClusterSample(said, said, np.full(len(said), float(pupils)), stratum, design.inverse()), mean


def covered(rng: Any, design: Any, correlation: float, runs: int, strata: int, schools_each: int, pupils: int) -> Any:
    """Tell how often the design-based interval holds, and that of people who were drawn alone."""
    held = np.zeros(2)
    base, gain = design.symmetry.q, design.symmetry.gain
    for _ in range(runs):
        sample, truth = drawn_schools(rng, design, correlation, strata, schools_each, pupils)
        people = float(sample.counts.sum())
        f = base + gain * sample.shares[0]
        n = float(effective_people(Frequency(f, gain**2 * sample.covariance[0, 0], people, sample.freedom), 0.95))
        for place, number in enumerate((n, people)):
            low, high = (
                beta.ppf(0.025, f * number, number - f * number + 1),
                beta.ppf(0.975, f * number + 1, number - f * number),
            )
            held[place] += (low - base) / gain <= truth <= (high - base) / gain
    return held / runs


def test_intervals_of_schools_cover_where_those_of_people_do_not() -> None:
    """32 schools of 20 pupils, correlation 0.2, epsilon 3: the latter covered 0.71 where this was first measured."""
    design = RandomizedResponse(["yes", "no"], epsilon=3)
    held = covered(np.random.default_rng(6), design, 0.2, 300, 4, 8, 20)
    assert held[0] >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 300)
    assert held[1] < 0.85


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [1, 3, None])
@pytest.mark.parametrize("correlation", [0, 0.05, 0.2])
@pytest.mark.parametrize("schools_each", [8, 3])
def test_coverage_of_design_based_intervals(epsilon: Any, correlation: float, schools_each: int) -> None:
    design = RandomizedResponse(["yes", "no"], **({"odds": (1, 0)} if epsilon is None else {"epsilon": epsilon}))
    runs = 1500
    held = covered(
        np.random.default_rng(12), design, correlation, runs, 4, schools_each, 20 if schools_each == 8 else 40
    )
    # Four binomial standard errors, and 0.01 for Student's t with few clusters, which is about right.
    assert held[0] >= 0.95 - 0.01 - 4 * np.sqrt(0.95 * 0.05 / runs)


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "part"), [(1, 0.5), (3, 0.5), (1, 0.9)])
def test_finite_populations_spare_the_device(epsilon: float, part: float) -> None:
    """Two strata of 1,000 people, half or nine tenths of whom are asked: 1 - f alone covers as little as half."""
    design = RandomizedResponse(["yes", "no"], epsilon=epsilon)
    rng, runs, asked = np.random.default_rng(13), 1500, round(1000 * part)
    truly = np.array([200, 400])
    held = np.zeros(2)
    for _ in range(runs):
        rows, strata = [], []
        for h in range(2):
            yes = rng.hypergeometric(truly[h], 1000 - truly[h], asked)
            said = rng.binomial(yes, design.symmetry.p) + rng.binomial(asked - yes, design.symmetry.q)
            rows.append(np.repeat(np.eye(2), [said, asked - said], axis=0))
            strata.append(np.full(asked, h))
        said, stratum = np.concatenate(rows), np.concatenate(strata)
        sample = ClusterSample(said, said, np.ones(len(said)), stratum, design.inverse(), np.full(2, part))
        whole = np.sqrt(sample.covariance[0, 0])
        infinite = ClusterSample(said, said, np.ones(len(said)), stratum, design.inverse())
        textbook = np.sqrt((1 - part) * infinite.covariance[0, 0])
        for place, error in enumerate((whole, textbook)):
            held[place] += abs(sample.shares[0] - 0.3) <= 1.96 * error
    assert held[0] / runs >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / runs)
    assert held[1] / runs < 0.94
