"""Linearized variances and complex samples, by public functions: the numbers of R's RRTCS and survey packages, the
formula added up person by person, the leverage of unequal clusters against matrices, and coverage.

Also tests `reports/linearization.py`, `reports/design_based.py`,
`reports/design_based.py`, `inference/intervals.py`, `inference/totals.py` and
`inference/differences.py`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t

import warner
from references import reference
from warner import BitFlips, Channel, OpenDomain, RandomizedResponse, SquareWave, UnaryEncoding
from warner.designs.closed_list import ClosedList
from warner.designs.facts import LinearCombination
from warner.designs.open_values import WholeNumbers
from warner.inference.differences import domain_difference
from warner.inference.intervals import Confidence, limits
from warner.reports.design_based import LinearScores
from warner.reports.linearization import Deviations, Moments, Units, fewer_people
from warner.surveys import crosswise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.designs import Design

REFERENCE = reference("samples")
SIX = REFERENCE["published"]
PUPILS = RandomizedResponse(["yes", "no"], truth="4/5")  # Horvitz's: base 0.2, gain 0.6
CONFIDENCE = Confidence()
DIRECT = RandomizedResponse(["yes", "no"], odds=(1, 0))


def pupils() -> dict[str, list[Any]]:
    """Return the sample of 365 people in 25 clusters of two strata, a row for each."""
    columns: dict[str, list[Any]] = {name: [] for name in ("report", "stratum", "cluster", "weight", "part", "sex")}
    for stratum, cluster, probability, yes, no in REFERENCE["horvitz_clusters"]["rows"]:
        for report in ["yes"] * yes + ["no"] * no:
            row = (report, stratum, cluster, 1 / probability, probability, len(columns["sex"]) % 2)
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return columns


def schools(design: Any = PUPILS, **options: Any) -> Any:
    asked = {"column": "report", "weights": "weight", "strata": "stratum", "clusters": "cluster"} | options
    return warner.tally(pupils(), design, **asked)


def yes_or_no(base: float, gain: float) -> Channel:
    return Channel([[base + gain, 1 - base - gain], [base, 1 - base]], ["yes", "no"], ["yes", "no"])


def alone(yes: int, no: int, design: Any, probability: float) -> Any:
    """Return a simple random sample, with weights, of which this part was sampled."""
    return warner.tally(
        ["yes"] * yes + ["no"] * no, design, weights=[1 / probability] * (yes + no), sampled=probability
    )


@pytest.mark.parametrize(
    ("name", "yes", "no", "probability", "truth"),
    [("Warner_total_p_0.7", 60, 65, 0.155860349127182, "7/10"), ("ForcedResponse_total_0.2_0.2", 508, 492, 0.1, "4/5")],
)
def test_totals_are_those_of_rrtcs(name: str, yes: int, no: int, probability: float, truth: str) -> None:
    sample = alone(yes, no, RandomizedResponse(["yes", "no"], truth=truth), probability)
    totals = warner.estimate(sample, method="inv").totals()
    assert_allclose([totals.value[0, 0], totals.se[0, 0] ** 2], SIX["RRTCS"][name][:2], rtol=1e-9)


def test_a_mean_with_a_known_population_is_that_of_rrtcs() -> None:
    """Horvitz's design: truth 1/2, else an unrelated question with the answer yes with probability 0.6666667."""
    example = REFERENCE["horvitz"]
    sample = alone(example["yes"], example["no"], yes_or_no(*example["base_and_gain"]), example["probability"])
    totals = warner.estimate(sample, method="inv").totals()
    estimate, variance = SIX["RRTCS"]["Horvitz_mean_N_10777"][:2]
    assert_allclose(totals.value[0, 0] / 10_777, estimate, rtol=1e-8)
    assert_allclose(totals.se[0, 0] ** 2 / 10_777**2, variance, rtol=1e-8)


@pytest.mark.parametrize("question", ["copied", "fought", "bullied", "bullying", "drug", "sex"])
def test_six_questions_of_a_real_survey_are_those_of_rrtcs(question: str) -> None:
    survey = SIX["RRTCS"]["HorvitzDataRealSurvey"]
    yes, unrelated, estimate, variance, *_ = survey[question]
    numerator, denominator = map(int, unrelated.split("/"))
    design = yes_or_no(survey["p"] * numerator / denominator, survey["p"])
    table = warner.estimate(alone(yes, survey["n"] - yes, design, survey["n"] / survey["N"]), method="inv").table()
    assert_allclose([table["share"][0], table["se"][0] ** 2], [estimate, variance], rtol=1e-8)


def test_the_jackknife_of_rrtcs_is_ours_without_the_device() -> None:
    """RRTCS's jackknife of strata and clusters leaves out the noise of the device, the sum of (z^2 - z)/pi."""
    totals = warner.estimate(schools(sampled="part", whole=True), method="inv").totals()
    assert_allclose(totals.value[0, 0] / 1500, SIX["RRTCS"]["Horvitz_strata_clusters_mean_N_1500"], rtol=1e-9)
    z = {"yes": (1 - 0.2) / 0.6, "no": -0.2 / 0.6}
    device = sum(w * (z[r] ** 2 - z[r]) for r, w in zip(pupils()["report"], pupils()["weight"], strict=True))
    expected = SIX["RRTCS"]["Horvitz_strata_clusters_jackknife_variance"]
    assert_allclose((totals.se[0, 0] ** 2 - device) / 1500**2, expected, rtol=1e-9)


def test_strata_and_clusters_are_those_of_rs_survey_package() -> None:
    expected = SIX["survey_package"]
    table = warner.estimate(schools(), method="inv").table()
    assert_allclose([table["share"][0], table["se"][0]], [expected["mean"], expected["se_linearised"]], rtol=1e-9)
    # The package centers at the mean of the replicates unless told otherwise: that is smaller by 2e-8.
    jackknife = warner.estimate(schools(replicates="jackknife")).table()["se"][0]
    assert_allclose(jackknife, expected["se_JKn_about_the_mean_of_replicates"], rtol=1e-6)


def test_the_textbooks_finite_population_is_that_of_rs_survey_package() -> None:
    """With direct answers and whole clusters nothing remains but the textbook's 1 - f."""
    expected = SIX["survey_package"]["se_with_finite_populations"]  # of z = (report - 0.2) / 0.6
    direct = warner.estimate(schools(DIRECT, sampled="part", whole=True)).table()["se"][0]
    assert_allclose(direct / 0.6, expected, rtol=1e-9)
    assert warner.estimate(schools(sampled="part", whole=True)).table()["se"][0] > expected


def test_korn_and_graubards_limits_are_those_of_svyciprop() -> None:
    expected = SIX["survey_package"]
    table = warner.estimate(schools(DIRECT)).table()
    found = [table[name][0] for name in ("share", "low", "high")]
    assert_allclose(found, expected["svyciprop_beta_of_z"], rtol=1e-9)
    assert_allclose(table["se"][0], expected["se_of_z"], rtol=1e-9)
    assert warner.estimate(schools(DIRECT)).to_dict()["sample"].endswith(f"({expected['df']} degrees of freedom)")


# The formula, person by person


def by_hand(
    z: Any, squares: Any, weight: Any, stratum: Any, cluster: Any, domain: Any, part: Any, *, whole: bool
) -> float:
    """Add up the formula of the module's head over people, for debiased scores z and those of squared memberships."""
    inside = weight * domain
    total = inside.sum()
    u = inside * (z - inside @ z / total) / total
    noise = (inside / total) ** 2 * (z**2 - squares)
    variance, remaining = 0.0, 0.0
    for h in np.unique(stratum):
        clusters = np.unique(cluster[stratum == h])
        sums = np.array([u[cluster == c].sum() for c in clusters])
        m, f = len(clusters), 0.0 if part is None else float(part[stratum == h][0])
        variance += (1 - f) * m / (m - 1) * ((sums - sums.mean()) ** 2).sum()
        for c in clusters:
            mine = cluster == c
            people = int(mine.sum())
            if whole or people == 1:
                remaining += f * noise[mine].sum()
            else:
                remaining += f * people / (people - 1) * ((u[mine] - u[mine].mean()) ** 2).sum()
    return variance + max(remaining, 0.0)


def drawn(rng: np.random.Generator, k: int, outputs: int) -> dict[str, Any]:
    """Draw 240 people in 24 clusters of three strata, with unequal weights and two domains."""
    cluster = rng.integers(0, 24, 240)
    part = np.array([0.3, 0.6, 0.9])[cluster // 8]
    return {
        "report": rng.integers(0, outputs, 240),
        "weight": rng.gamma(3.0, size=240),
        "stratum": cluster // 8,
        "cluster": cluster,
        "domain": rng.integers(0, 2, 240),
        "part": part,
    }


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_formula_is_that_over_people(*, whole: bool, finite: bool, clustered: bool, weighted: bool) -> None:
    """Single answers, sets, a mean and a difference, under a design that is binomial in none of them but the first."""
    design = Channel(np.array([[5, 2, 1], [1, 4, 3], [2, 2, 4]]) / 8, [0, 1, 2], ["a", "b", "c"])
    people = drawn(np.random.default_rng(7), 3, 3)
    data = {"report": np.array(["a", "b", "c"])[people["report"]].tolist()} | {
        name: people[name].tolist() for name in ("weight", "stratum", "cluster", "domain", "part")
    }
    asked: dict[str, Any] = {"strata": "stratum", "by": "domain"}
    asked |= {"clusters": "cluster"} if clustered else {}
    asked |= {"weights": "weight"} if weighted else {}
    asked |= {"sampled": "part", "whole": whole and clustered} if finite else {}
    counted = warner.tally(data, design, column="report", **asked)
    weight = people["weight"] if weighted else np.ones(240)
    cluster = people["cluster"] if clustered else np.arange(240)
    part = people["part"] if finite else None
    z = design.law.linear.weights()[people["report"]]
    asked_of: dict[str, Any] = {
        "answer": (counted.readout(), z[:, 1], z[:, 1], 1),
        "set": (counted.readout(None, [[0, 2]]), z[:, 0] + z[:, 2], z[:, 0] + z[:, 2], 0),
        "difference": (counted.readout(None, [[0]], minus=[[1]]), z[:, 0] - z[:, 1], z[:, 0] + z[:, 1], 0),
        "mean": (
            counted.readout(None, LinearCombination(np.array([[0.0, 0.25, 1.0]]))),
            0.25 * z[:, 1] + z[:, 2],
            0.0625 * z[:, 1] + z[:, 2],
            0,
        ),
    }
    for found, scores, squares, place in asked_of.values():
        for domain in (0, 1):
            expected = by_hand(
                scores, squares, weight, people["stratum"], cluster, people["domain"] == domain, part, whole=whole
            )
            assert_allclose(found.error[domain, place] ** 2, expected, rtol=1e-9)


def test_an_answer_that_reports_support_among_others_has_the_same_formula() -> None:
    """Of designs whose reports are sets, single answers are binomial, and what is left of a population is known."""
    design = UnaryEncoding(4, epsilon=2)
    rng = np.random.default_rng(3)
    people = drawn(rng, 4, 4)
    bits = rng.integers(0, 2, (240, 4), dtype=np.uint8)
    names = {"strata": people["stratum"], "clusters": people["cluster"], "weights": people["weight"]}
    packed = np.packbits(bits, axis=1, bitorder="big")
    q, gain = design.symmetry.base, design.symmetry.gain
    everybody = np.ones(240)
    for options in ({"sampled": people["part"]}, {}):
        counted = warner.tally(packed, design, codes=True, **names, **options)
        assert_allclose(counted.counts, people["weight"] @ bits)
        for k in range(4):
            z = (bits[:, k] - q) / gain
            part = people["part"] if options else None
            expected = by_hand(
                z, z, people["weight"], people["stratum"], people["cluster"], everybody, part, whole=False
            )
            assert_allclose(counted.readout().error[0, k] ** 2, expected, rtol=1e-9)
    # Of sets the device's noise is not known: the population counts as endless, which is never too short.
    some, endless = (
        warner.tally(packed, design, codes=True, **names, **options).readout(None, [[0, 1]]).error
        for options in ({"sampled": people["part"]}, {})
    )
    assert_allclose(some, endless)


def test_a_design_that_asks_some_people_about_an_answer_has_the_formula_of_a_ratio() -> None:
    """Under bit flips respondents asked about an answer are a domain, with its own ratio."""
    design = BitFlips(4, size=2, epsilon=2)
    rng = np.random.default_rng(8)
    people = drawn(rng, 4, 4)
    reports = design.randomize(rng.integers(0, 4, 240).tolist())
    own = np.array([warner.tally([report], design).counts for report in reports])
    said, asked = own[:, :4], own[:, :4] + own[:, 4:]
    names = {"strata": people["stratum"], "clusters": people["cluster"], "weights": people["weight"]}
    for options in ({"sampled": people["part"]}, {}):
        counted = warner.tally(reports, design, **names, **options)
        found = counted.readout()
        low, high = limits(counted, CONFIDENCE)[:2]
        for k in range(4):
            z = (said[:, k] - design.symmetry.base * asked[:, k]) / design.symmetry.gain
            part = people["part"] if options else None
            domain = asked[:, k]
            expected = by_hand(z, z, people["weight"], people["stratum"], people["cluster"], domain, part, whole=False)
            assert_allclose(found.error[0, k] ** 2, expected, rtol=1e-9)
            assert low[0, k] < high[0, k]
    with pytest.raises(ValueError, match="population must be given"):
        warner.estimate(counted, method="inv").totals()


def test_two_domains_are_compared_by_the_variance_of_their_difference() -> None:
    people = drawn(np.random.default_rng(5), 2, 2)
    data = {"report": np.array(["yes", "no"])[people["report"]].tolist()}
    data |= {name: people[name].tolist() for name in ("weight", "stratum", "cluster", "domain")}
    counted = warner.tally(
        data, PUPILS, column="report", weights="weight", strata="stratum", clusters="cluster", by="domain"
    )
    z = PUPILS.law.linear.weights()[people["report"], 0]
    u = np.zeros((3, 240))
    for domain, sign in ((0, 1), (1, -1)):
        inside = people["weight"] * (people["domain"] == domain)
        u[domain] = inside * (z - inside @ z / inside.sum()) / inside.sum()
        u[2] += sign * u[domain]
    variance = np.zeros(3)
    for h in range(3):
        sums = np.array([u[:, people["cluster"] == c].sum(axis=1) for c in range(8 * h, 8 * h + 8)])
        variance += 8 / 7 * ((sums - sums.mean(axis=0)) ** 2).sum(axis=0)
    together = domain_difference(counted, [[0]], [0, 1]).together
    assert_allclose(together.covariance, (variance[0] + variance[1] - variance[2]) / 2, rtol=1e-9)
    assert together.freedom == 24 - 3
    compared = warner.estimate(counted, method="inv").compare("yes", between=(0, 1))
    assert compared.test == "Student's t"
    assert compared.approximate
    half = t.ppf(0.975, 24 - 3) * np.sqrt(variance[2])  # as wide as Student's t, but for the exact limits of each
    assert 1 <= (compared.high - compared.low) / (2 * half) < 1.2


# Unequal clusters


def leverage_by_matrices(part: Any, stratum: Any) -> tuple[Any, float]:
    """Return CR2's factors and Satterthwaite's degrees of freedom by the matrices that define them."""
    m = np.bincount(stratum)[stratum]
    same = stratum[:, np.newaxis] == stratum
    centring = np.eye(len(part)) - same / m
    away = centring @ part
    root = 1 / np.sqrt(1 - m / (m - 1) * away)
    # Scores of independent people, of which the estimate takes the sum away, less the mean of the stratum
    residual = np.diag(part) - np.outer(part, part)
    factor = np.diag(root * np.sqrt(m / (m - 1)))
    s = factor @ centring @ residual @ centring @ factor
    return root, np.trace(s) ** 2 / np.trace(s @ s)


@pytest.mark.parametrize("sizes", [[800] + [50] * 9, [5, 1, 1, 30, 2, 40, 1, 3], [10, 0, 0, 0, 20, 1, 1, 0]])
@pytest.mark.parametrize("strata", [1, 2])
def test_unequal_clusters_have_the_leverage_of_regressions(sizes: list[int], strata: int) -> None:
    stratum = np.arange(len(sizes)) % strata
    part = np.array(sizes) / sum(sizes)
    root, freedom = leverage_by_matrices(part, stratum)
    found = Units(stratum, np.array(sizes, dtype=np.float64), alone=False).leverage(part)
    assert_allclose(found[0], root, rtol=1e-9)
    assert_allclose(found[1], min(freedom, len(sizes) - strata), rtol=1e-9)


def test_a_tally_without_rows_has_no_strata() -> None:
    tally = warner.tally({"a": np.array([], dtype=str), "s": np.array([], dtype=int)}, DIRECT, column="a", strata="s")
    assert tally.sample is not None
    assert tally.sample.described() == "0 respondents in 0 strata (s)"


def test_equal_clusters_have_clusters_less_strata_degrees_of_freedom() -> None:
    stratum = np.arange(12) % 3
    _, freedom = leverage_by_matrices(np.full(12, 1 / 12), stratum)
    assert_allclose(freedom, 9)
    assert Units(stratum, np.full(12, 20.0), alone=False).leverage(np.full(12, 1 / 12))[1] == 9


def test_the_jackknife_of_unequal_clusters_has_as_few_degrees_of_freedom() -> None:
    """One cluster of 300 people and eleven of 25, of which intervals with 11 degrees held in 87 to 90 % of surveys."""
    rng, sizes = np.random.default_rng(1), [300] + [25] * 11
    data = {
        "report": rng.choice(["yes", "no"], sum(sizes)).tolist(),
        "school": np.repeat(np.arange(12), sizes),
        "sex": rng.choice(["m", "f"], sum(sizes)).tolist(),
    }
    for by in (None, "sex"):
        asked: dict[str, Any] = {"column": "report", "clusters": "school", "by": by}
        linear, jackknife = (warner.tally(data, PUPILS, **asked, replicates=how) for how in (None, "jackknife"))
        few, same = (np.asarray(one.readout(None, [[0]]).freedom) for one in (linear, jackknife))
        assert_allclose(same, few)
        assert (few < 7).all()
    one, other = (warner.estimate(tally).compare("yes", between=("m", "f")) for tally in (linear, jackknife))
    # With 11 degrees of freedom, that of the jackknife would be a third shorter.
    assert_allclose(other.high - other.low, one.high - one.low, rtol=0.25)


def test_fewer_degrees_of_freedom_make_fewer_people_and_more_never_make_more() -> None:
    ratio = t.ppf(0.975, 199) / t.ppf(0.975, 3)
    assert_allclose(fewer_people(200, [3, 199, 1e9], 0.025), [ratio**2, 1, 1])


# Coverage


def surveys(rng: Any, design: Any, sizes: Any, strata: int, correlation: float, runs: int) -> Any:
    """Draw surveys in clusters of these sizes whose people are alike, each a tally of one group (yes, no)."""
    mean, prior = 0.3, (1 - correlation) / max(correlation, 1e-9)
    sizes = np.asarray(sizes)
    stratum = np.arange(len(sizes)) % strata
    for _ in range(runs):
        shares = rng.beta(mean * prior, (1 - mean) * prior, sizes.size) if correlation else np.full(sizes.size, mean)
        truly = rng.binomial(sizes, shares)
        yes = rng.binomial(truly, design.symmetry.p) + rng.binomial(sizes - truly, design.symmetry.base)
        counts = np.stack([yes, sizes - yes], axis=1)
        yield warner.tally(
            ["yes", "no"] * sizes.size,
            design,
            counts=counts.ravel(),
            strata=np.repeat(stratum, 2),
            clusters=np.repeat(np.arange(sizes.size), 2),
        )


def covered(design: Any, sizes: Any, strata: int, correlation: float, runs: int, seed: int) -> tuple[float, float]:
    """Return the coverage of the design-based interval and of the interval that ignores clusters."""
    held = np.zeros(2)
    for sampled in surveys(np.random.default_rng(seed), design, sizes, strata, correlation, runs):
        for place, counted in enumerate((sampled, warner.Tally(design, sampled.counts))):
            low, high = (end[0, 0] for end in limits(counted, CONFIDENCE)[:2])
            held[place] += low <= 0.3 <= high
    return held[0] / runs, held[1] / runs


def test_intervals_of_schools_cover_where_those_of_people_do_not() -> None:
    """32 schools of 20 pupils, correlation 0.2, epsilon 3: coverage was 0.71 where this was first measured."""
    design = RandomizedResponse(["yes", "no"], epsilon=3)
    by_design, alone = covered(design, [20] * 32, 4, 0.2, 200, 6)
    assert by_design >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 200)  # four standard errors: a false alarm in 30,000
    assert alone < 0.85


def test_intervals_cover_where_one_cluster_has_most_of_the_people() -> None:
    """One cluster of 800 and nine of 50: clusters less one as degrees of freedom covered 0.70 of the time."""
    design = RandomizedResponse(["yes", "no"], epsilon=3)
    by_design, _ = covered(design, [800] + [50] * 9, 1, 0.05, 200, 8)
    assert by_design >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 200)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [1, 3, None])
@pytest.mark.parametrize("correlation", [0, 0.05, 0.2])
@pytest.mark.parametrize("sizes", [[20] * 32, [40] * 12, [800] + [50] * 9, list(range(10, 130, 10))])
def test_coverage_of_design_based_intervals(epsilon: Any, correlation: float, sizes: list[int]) -> None:
    design = DIRECT if epsilon is None else RandomizedResponse(["yes", "no"], epsilon=epsilon)
    runs = 1500
    by_design, _ = covered(design, sizes, 4 if len(set(sizes)) == 1 else 1, correlation, runs, 12)
    # Four binomial standard errors, and 0.01 for Student's t with few clusters, which is about right.
    assert by_design >= 0.95 - 0.01 - 4 * np.sqrt(0.95 * 0.05 / runs)


def finite(design: Any, part: float, runs: int, seed: int) -> tuple[float, float]:
    """Two strata of 1,000 people, of whom a part is asked: coverage, and that with the textbook's 1 - f alone."""
    rng, asked, truly, held = np.random.default_rng(seed), round(1000 * part), np.array([200, 400]), np.zeros(2)
    for _ in range(runs):
        yes = np.array([rng.hypergeometric(people, 1000 - people, asked) for people in truly])
        said = rng.binomial(yes, design.symmetry.p) + rng.binomial(asked - yes, design.symmetry.base)
        counts = np.stack([said, asked - said], axis=1).ravel()
        options: dict[str, Any] = {"counts": counts, "strata": [0, 0, 1, 1]}
        whole = warner.tally(["yes", "no"] * 2, design, sampled=part, **options)
        low, high = (end[0, 0] for end in limits(whole, CONFIDENCE)[:2])
        held[0] += low <= 0.3 <= high
        endless = warner.tally(["yes", "no"] * 2, design, **options).readout()
        held[1] += abs(endless.share()[0, 0] - 0.3) <= 1.96 * np.sqrt(1 - part) * endless.error[0, 0]
    return held[0] / runs, held[1] / runs


@pytest.mark.long
@pytest.mark.parametrize("replicated", [False, True])
def test_coverage_of_means_and_of_their_differences_between_domains(*, replicated: bool) -> None:
    """Twelve schools of 25, numbers from 0 to 4 of two kinds of people, of whom schools have more or fewer."""
    rng, design, runs = np.random.default_rng(5), SquareWave(5, epsilon=2), 200
    few, many = np.array([0.5, 0.3, 0.1, 0.05, 0.05]), np.array([0.05, 0.05, 0.2, 0.3, 0.4])
    truth = (0.6 * few + 0.4 * many) @ np.arange(5)
    school, held = np.repeat(np.arange(12), 25), np.zeros(2)
    weights = {f"rw{left_out}": np.where(school == left_out, 0, 12 / 11) for left_out in range(12)}
    drawn: dict[str, Any] = {"clusters": "school"}
    if replicated:
        drawn = {"weights": "w", "replicates": "rw*", "scale": 11 / 12}
    for _ in range(runs):
        part = rng.beta(0.4 * 9, 0.6 * 9, 12)[:, np.newaxis]
        reports = [design.law.likelihood().forward(shares) for shares in part * many + (1 - part) * few]
        data = {
            "report": np.concatenate([rng.choice(design.law.columns, 25, p=p / p.sum()) for p in reports]),
            "school": school,
            "sex": rng.choice(["m", "f"], school.size),
            "w": np.ones(school.size),
            **weights,
        }
        mean = warner.estimate(warner.tally(data, design, column="report", **drawn), method="inv").mean()
        by_sex = warner.estimate(warner.tally(data, design, column="report", by="sex", **drawn), method="inv")
        apart = by_sex.compare_means(("m", "f"))
        held += [mean.low <= truth <= mean.high, apart.low <= 0 <= apart.high]
    assert (held / runs >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / runs)).all()  # four standard errors: once in 30,000


def test_a_finite_population_spares_the_device() -> None:
    whole, textbook = finite(RandomizedResponse(["yes", "no"], epsilon=1), 0.9, 200, 13)
    assert whole >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 200)
    assert textbook < 0.7


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "part"), [(1, 0.5), (3, 0.5), (1, 0.9), (3, 0.9)])
def test_coverage_in_finite_populations(epsilon: float, part: float) -> None:
    whole, textbook = finite(RandomizedResponse(["yes", "no"], epsilon=epsilon), part, 1500, 14)
    assert whole >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 1500)
    assert textbook < 0.94


def test_everybody_asked_leaves_the_noise_of_the_device() -> None:
    """Where f = 1, the variance is that of the device alone, which is known: p(1-p)/(p-q)^2 for each person."""
    design = RandomizedResponse(["yes", "no"], odds=(3, 1))
    rng = np.random.default_rng(4)
    variances = []
    for _ in range(200):
        yes, no = design.law.simulate_people(np.array([30, 70]), rng=rng).tolist()
        counted = warner.tally(["yes", "no"], design, counts=[yes, no], sampled=1.0)
        variances.append(warner.estimate(counted).table()["se"][0] ** 2)
    exact = 0.75 * 0.25 / 0.25 / 100  # of any respondent, over 100 people
    # z^2 - z of 100 people, 200 times: each estimate has a standard deviation of about 0.2 times its mean.
    assert_allclose(np.mean(variances), exact, rtol=4 * 0.2 / np.sqrt(200))


def test_a_crosswise_model_needs_no_special_case() -> None:
    """Any design that has a readout: the crosswise model's reports are not answers."""
    design = crosswise("1/4")
    reports = np.random.default_rng(2).choice(design.law.columns, 300)
    counted = warner.tally(reports.tolist(), design, clusters=np.arange(300) // 10)
    result = warner.estimate(counted)
    assert result._limits(CONFIDENCE).methods == ("korn_graubard",)
    assert "30 clusters" in result.text()


def expected_reports(design: Design, people: Sequence[int]) -> tuple[Any, list[int]]:
    """Return every report with how often these people make it on average, which is a whole number."""
    if isinstance(design, ClosedList):
        source = design.source  # of two blocks of one digit: both levels, all directions and values
        rows = [(1, d, 0, s) for d in range(2) for s in range(2)]
        rows += [(2, d, e, s) for d in range(2) for e in range(2) for s in range(2)]
        a, b = source.odds
        weights = [
            [Fraction(a if (d * (x // 2) + e * (x % 2)) % 2 == s else b, (a + b) * 2 ** (level + 1)) for x in range(4)]
            for level, d, e, s in rows
        ]
        reports: Any = np.array(rows)
    else:
        assert isinstance(design, BitFlips)
        p = Fraction(design.odds[0], sum(design.odds))
        bits = [(answer, bit) for answer in range(design.k) for bit in (1, 0)]
        asked = np.eye(design.k, dtype=np.uint8)[[answer for answer, _ in bits]]
        ones = asked * np.array([[bit] for _, bit in bits], dtype=np.uint8)
        reports = np.hstack([np.packbits(asked, axis=1), np.packbits(ones, axis=1)])
        weights = [[(p if bit == (i == x) else 1 - p) / design.k for x in range(design.k)] for i, bit in bits]
    numbers = [sum(n * law[x] for x, n in enumerate(people)) for law in weights]
    assert all(number.denominator == 1 for number in numbers)
    return reports, [int(number) for number in numbers]


@pytest.mark.parametrize(
    ("design", "part"),
    [
        (BitFlips(5, odds=(9, 1), size=1), 1 / 5),
        (OpenDomain._make(WholeNumbers((1, 1)), (9, 1), 2, (1, 1)).closed([0, 1, 2]), 1 / 2),
    ],
    ids=["bit flips", "closed list"],
)
def test_whom_the_device_asks_is_chance_that_a_census_does_not_take_away(design: Design, part: float) -> None:
    people = (1000, 600, 400, 0, 0)[: 5 if part == 1 / 5 else 4]
    reports, numbers = expected_reports(design, people)
    counted = warner.tally(reports, design, codes=True, counts=numbers, sampled=1.0)
    # A person who holds x adds a (b - f), where a tells whether they were asked, and b whether it was counted: given x
    # its variance is part E (b - f)^2 - part^2 (E b - f)^2, and share 0 is moved by 1 / (n part gain) of it.
    p, gain, n, share = 0.9, 0.9 - (0.1 if part == 1 / 5 else 0.5), 2000, 0.5
    q = p - gain
    f = q + gain * share
    variance = part * f * (1 - f) - part**2 * gain**2 * share * (1 - share)
    error = np.sqrt(variance / n) / (part * gain)
    assert_allclose(warner.estimate(counted, method="inv").shares[0], share, atol=1e-12)
    found = counted.readout().error
    assert found is not None
    assert_allclose(np.ravel(found)[0], error, rtol=1e-3)


def test_differences_of_answers_that_some_are_asked_about_have_the_noise_of_all() -> None:
    design = BitFlips(5, odds=(9, 1), size=1)
    reports, numbers = expected_reports(design, (1000, 600, 400, 0, 0))
    counts = design.law.count(reports, np.array(numbers)).counts[np.newaxis]
    asked = LinearScores(design, [[0]], [[1]])
    assert_allclose(asked.squared_shares(counts, np.array([[2000.0]])), 1600)
    assert_allclose(LinearScores(design, [[0]]).squared_shares(counts, np.array([[2000.0]])), 1000 / 5)


# Shares that weigh noise


@pytest.mark.parametrize("clusters", [2, 3, 5])
def test_few_random_clusters_do_not_change_shares_that_weigh_noise(clusters: int) -> None:
    """2,000 respondents in random clusters have the shares that they have without clusters, and the output says so."""
    rng, design = np.random.default_rng(7), RandomizedResponse(20, epsilon=2)
    reports = design.randomize(rng.choice(20, 2000, p=[0.5] + [0.5 / 19] * 19).tolist())
    plain = warner.estimate(warner.tally(reports, design), method="shrink")
    clustered = warner.estimate(warner.tally(reports, design, clusters=np.arange(2000) % clusters), method="shrink")
    assert_allclose(clustered.shares, plain.shares, rtol=1e-6)
    note = "shrink ignores clusters where they are fewer than 6"
    assert note in clustered.text()
    assert note in clustered.to_dict()["sample_notes"]


def test_many_clusters_change_shares_that_weigh_noise_by_their_mean_design_effect() -> None:
    """Reports that come in equal pairs within clusters of two are half as many."""
    rng, design = np.random.default_rng(7), RandomizedResponse(20, epsilon=2)
    reports = np.repeat(design.randomize(rng.integers(0, 20, 1000).tolist()), 2).tolist()
    counted = warner.tally(reports, design, clusters=np.arange(2000) // 2)
    assert_allclose(counted.steady, 1000, rtol=0.01)
    assert not any("shrink" in note for note in warner.estimate(counted)._sample_notes())
    numbers = SquareWave(11, epsilon=1)
    scores = numbers.randomize(rng.integers(0, 11, 2000).tolist())
    few = warner.tally(scores, numbers, clusters=np.arange(2000) % 3)
    alone = warner.tally(scores, numbers)
    assert_allclose(warner.estimate(few).shares, warner.estimate(alone).shares, rtol=1e-6)


def test_certainty_strata_do_not_lend_degrees_of_freedom() -> None:
    """Forty of whom everybody was asked, and four others: three degrees of freedom, as of four."""
    data = {"y": ["yes", "no"] * 22, "h": [0] * 40 + [1] * 4, "part": [1.0] * 40 + [0.1] * 4}
    counted = warner.tally(data, DIRECT, column="y", strata="h", sampled="part")
    direct = counted.readout().freedom
    assert direct is not None
    assert_allclose(direct, 3)
    noisy = warner.tally(data, PUPILS, column="y", strata="h", sampled="part").readout().freedom
    assert noisy is not None
    assert 3 < noisy[0, 0] <= 43  # the noise of the forty is known


def test_deviations_of_scaled_estimates_have_scaled_variances() -> None:
    rng = np.random.default_rng(4)
    units = Units(np.repeat([0, 1], 4), np.full(8, 3.0), alone=False, sampled=np.array([0.25, 0.5]))
    centred, sums, squares, device = rng.random((4, 8, 2))
    deviations = Deviations(centred, sums, squares, device)
    factor = np.array([2.0, -3.0])
    assert_allclose(units.variance(deviations.scaled(factor)), factor**2 * units.variance(deviations))


def test_pairs_of_respondents_in_a_cluster_vary_within_it() -> None:
    # Of two respondents with the scores 1 and 3, the sum is 4 and the squares are 10: 2 (10 - 16 / 2) = 4, times the
    # part sampled. Of one respondent, the noise of the device counts.
    units = Units(np.zeros(3, dtype=int), np.array([2.0, 2.0, 1.0]), alone=False, sampled=np.array([0.5]))
    sums, squares, device = np.array([[4.0], [4.0], [1.0]]), np.array([[10.0], [10.0], [1.0]]), np.full((3, 1), 0.25)
    found = units.variance(Deviations(np.zeros((3, 1)), sums, squares, device))
    assert_allclose(found, 0.5 * (4 + 4 + 0.25))


def test_deviations_of_unequal_clusters_are_enlarged_by_their_leverage() -> None:
    weight = np.array([400.0, 50, 60, 70, 80, 90])
    scores = np.array([120.0, 30, 20, 50, 10, 40])
    stratum = np.zeros(6, dtype=int)
    root, _ = leverage_by_matrices(weight / weight.sum(), stratum)
    assert root.max() > 1.1
    moments = Moments(scores[:, np.newaxis], weight[:, np.newaxis], weight)
    frequency = scores.sum() / weight.sum()
    found, _ = Units(stratum, weight, alone=False).deviations(moments, np.array([frequency]))
    expected = (scores - frequency * weight) / weight.sum()  # these sum to zero
    assert_allclose(found.centred[:, 0], root * expected, rtol=1e-9)


def test_groups_of_two_respondents_in_a_cluster_differ_by_what_varies_within_it() -> None:
    # In each of 20 clusters one of two says yes in either group. Each group's mean varies by 2 (2 * 0.25) = 1 per
    # cluster over 40^2 respondents: 1/80, and the difference by 1/40.
    data = {"y": ["yes", "no"] * 40, "g": [0, 0, 1, 1] * 20, "c": np.repeat(np.arange(20), 4)}
    counted = warner.tally(data, DIRECT, column="y", by="g", clusters="c")
    apart = warner.estimate(counted).compare("yes", between=(0, 1))
    assert_allclose([apart.low, apart.high], [-1.959964 / np.sqrt(40), 1.959964 / np.sqrt(40)], rtol=1e-6)


def test_totals_of_pairs_that_differ_vary_by_what_varies_within_them() -> None:
    # In each of 20 clusters one of two says yes: 2 (1 - 1/2) = 1 per cluster, so a total has the variance 20.
    data = {"y": ["yes", "no"] * 20, "c": np.repeat(np.arange(20), 2), "w": [1.0] * 40}
    found = warner.estimate(warner.tally(data, DIRECT, column="y", clusters="c", weights="w")).totals()
    assert found.method == "within_clusters"
    assert_allclose((found.high - found.low) / 2, 1.959964 * np.sqrt(20), rtol=1e-6)


def test_the_variance_within_clusters_by_hand() -> None:
    # Two clusters of 10 in each group: each adds 10/9 * 10 f (1 - f), of 20^2 pairs, to the variance of a frequency.
    yes = [3, 5, 2, 6]
    data = {
        "y": ["yes", "no"] * 4,
        "c": np.repeat(range(4), 2),
        "g": np.repeat([0, 1], 4),
        "n": [count for number in yes for count in (number, 10 - number)],
    }
    frequencies = sum(10 / 9 * 10 * f / 10 * (1 - f / 10) for f in yes) / 20**2
    for design, gain in ((DIRECT, 1.0), (RandomizedResponse(["yes", "no"], truth="3/4"), 0.5)):
        counted = warner.tally(data, design, column="y", by="g", clusters="c", counts="n")
        within = domain_difference(counted, [[0]], [0, 1]).together.within
        assert_allclose(within, frequencies / gain**2, rtol=1e-12)


@pytest.mark.parametrize("unit", [0.25, 3.0])
def test_the_unit_of_weights_does_not_decide_which_clusters_a_group_is_in(unit: float) -> None:
    # Group a has one respondent in each of two clusters.
    cells = {"0a": (1, 0), "1a": (3, 4), "2a": (2, 5), "3a": (4, 1), "4a": (0, 1), "0b": (5, 5), "1b": (4, 6)}
    rows = [
        (*name, y) for name, pair in cells.items() for y, n in zip(["yes", "no"], pair, strict=True) for _ in range(n)
    ]
    data: dict[str, Any] = {name: [row[place] for row in rows] for place, name in enumerate(("c", "g", "y"))}
    data["w"] = [unit] * len(rows)
    nine = RandomizedResponse(["yes", "no"], truth="9/10")
    asked: dict[str, Any] = {"column": "y", "by": "g", "clusters": "c"}
    plain, weighted = warner.tally(data, nine, **asked), warner.tally(data, nine, **asked, weights="w")
    ends = [warner.estimate(tally, method="inv").interval("yes") for tally in (plain, weighted)]
    assert_allclose([ends[1].low, ends[1].high], [ends[0].low, ends[0].high], rtol=1e-9)
