"""Linearised variances and complex samples, at the public door: the numbers of R's RRTCS and survey packages, the
formula added up person by person, the leverage of unequal clusters against matrices, and coverage.

Also tests `reports/complex_samples.py`, `reports/linear_scores.py`, `reports/design_based.py`, `inference/totals.py`
and `inference/complex_differences.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t

import warner
from references import reference
from warner import BitFlips, Channel, RandomizedResponse, UnaryEncoding
from warner.designs.facts import Fuzzy
from warner.inference.intervals import Confidence, limits
from warner.reports.linearisation import Frequency, Units, effective_people
from warner.surveys import crosswise

REFERENCE = reference("samples")
SIX = REFERENCE["published"]
PUPILS = RandomizedResponse(["yes", "no"], truth="4/5")  # Horvitz's: base 0.2, gain 0.6
CONFIDENCE = Confidence()
DIRECT = RandomizedResponse(["yes", "no"], odds=(1, 0))


def pupils() -> dict[str, list[Any]]:
    """Give the sample of 365 people in 25 clusters of two strata, a row for each."""
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
    """Give a simple random sample, with weights, of which this part was sampled."""
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
    # The package centres at the mean of the replicates unless told otherwise: that is smaller by 2e-8.
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
    z = design.inverse()[people["report"]]
    asked_of = {
        "answer": (counted.readout(), z[:, 1], z[:, 1], 1),
        "set": (counted.readout(None, [[0, 2]]), z[:, 0] + z[:, 2], z[:, 0] + z[:, 2], 0),
        "difference": (counted.readout(None, [[0]], minus=[[1]]), z[:, 0] - z[:, 1], z[:, 0] + z[:, 1], 0),
        "mean": (
            counted.readout(None, Fuzzy(np.array([[0.0, 0.25, 1.0]]))),
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
    q, gain = design.symmetry.q, design.symmetry.gain
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
    """Under bit flips those who were asked about an answer are a domain of their own, with its own ratio."""
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
            z = (said[:, k] - float(design.alike.q) * asked[:, k]) / design.alike.gain
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
    compared = warner.estimate(counted, method="inv").compare("yes", between=(0, 1))
    z = PUPILS.inverse()[people["report"], 0]
    u = np.zeros(240)
    for domain, sign in ((0, 1), (1, -1)):
        inside = people["weight"] * (people["domain"] == domain)
        u += sign * inside * (z - inside @ z / inside.sum()) / inside.sum()
    variance = 0.0
    for h in range(3):
        sums = np.array([u[people["cluster"] == c].sum() for c in range(8 * h, 8 * h + 8)])
        variance += 8 / 7 * ((sums - sums.mean()) ** 2).sum()
    half = t.ppf(0.975, 24 - 3) * np.sqrt(variance)
    middle = compared.unbiased
    assert_allclose([compared.low, compared.high], [middle - half, middle + half], rtol=1e-9)
    assert_allclose(compared.p_value, 2 * t.sf(abs(middle) / np.sqrt(variance), 21), rtol=1e-9)
    assert compared.test == "Student's t"
    assert compared.approximate


# Unequal clusters


def leverage_by_matrices(part: Any, stratum: Any) -> tuple[Any, float]:
    """Give CR2's factors and Satterthwaite's degrees of freedom by the matrices that define them."""
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


def test_equal_clusters_have_clusters_less_strata_degrees_of_freedom() -> None:
    stratum = np.arange(12) % 3
    _, freedom = leverage_by_matrices(np.full(12, 1 / 12), stratum)
    assert_allclose(freedom, 9)
    assert Units(stratum, np.full(12, 20.0), alone=False).leverage(np.full(12, 1 / 12))[1] == 9


def test_fewer_degrees_of_freedom_make_fewer_people() -> None:
    many, few = (effective_people(Frequency(0.5, 0.0025, 200, freedom), 0.025) for freedom in (1e9, 3))
    assert_allclose(many, 100 * (1.971957 / 1.959964) ** 2, rtol=1e-5)  # t with 199 degrees of freedom
    assert few < 0.5 * many
    assert effective_people(Frequency(0.0, 0.0, 200, 3), 0.025) == 200  # nothing varies: those who were asked


# Coverage


def surveys(rng: Any, design: Any, sizes: Any, strata: int, correlation: float, runs: int) -> Any:
    """Draw surveys in clusters of these sizes whose people are alike, each a tally of one group (yes, no)."""
    mean, prior = 0.3, (1 - correlation) / max(correlation, 1e-9)
    sizes = np.asarray(sizes)
    stratum = np.arange(len(sizes)) % strata
    for _ in range(runs):
        shares = rng.beta(mean * prior, (1 - mean) * prior, sizes.size) if correlation else np.full(sizes.size, mean)
        truly = rng.binomial(sizes, shares)
        yes = rng.binomial(truly, design.symmetry.p) + rng.binomial(sizes - truly, design.symmetry.q)
        counts = np.stack([yes, sizes - yes], axis=1)
        yield warner.tally(
            ["yes", "no"] * sizes.size,
            design,
            counts=counts.ravel(),
            strata=np.repeat(stratum, 2),
            clusters=np.repeat(np.arange(sizes.size), 2),
        )


def covered(design: Any, sizes: Any, strata: int, correlation: float, runs: int, seed: int) -> tuple[float, float]:
    """Tell how often the design-based interval holds, and that of people who were drawn alone."""
    held = np.zeros(2)
    for sampled in surveys(np.random.default_rng(seed), design, sizes, strata, correlation, runs):
        for place, counted in enumerate((sampled, warner.Tally(design, sampled.counts))):
            low, high = (end[0, 0] for end in limits(counted, CONFIDENCE)[:2])
            held[place] += low <= 0.3 <= high
    return held[0] / runs, held[1] / runs


def test_intervals_of_schools_cover_where_those_of_people_do_not() -> None:
    """32 schools of 20 pupils, correlation 0.2, epsilon 3: the latter covered 0.71 where this was first measured."""
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
        said = rng.binomial(yes, design.symmetry.p) + rng.binomial(asked - yes, design.symmetry.q)
        counts = np.stack([said, asked - said], axis=1).ravel()
        options: dict[str, Any] = {"counts": counts, "strata": [0, 0, 1, 1]}
        whole = warner.tally(["yes", "no"] * 2, design, sampled=part, **options)
        low, high = (end[0, 0] for end in limits(whole, CONFIDENCE)[:2])
        held[0] += low <= 0.3 <= high
        endless = warner.tally(["yes", "no"] * 2, design, **options).readout()
        held[1] += abs(endless.share()[0, 0] - 0.3) <= 1.96 * np.sqrt(1 - part) * endless.error[0, 0]
    return held[0] / runs, held[1] / runs


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
        yes, no = design.simulate_people(np.array([30, 70]), rng=rng).tolist()
        counted = warner.tally(["yes", "no"], design, counts=[yes, no], sampled=1.0)
        variances.append(warner.estimate(counted).table()["se"][0] ** 2)
    exact = 0.75 * 0.25 / 0.25 / 100  # of a person whoever she is, over 100 people
    # z^2 - z of 100 people, 200 times: each estimate has a standard deviation of about 0.2 times its mean.
    assert_allclose(np.mean(variances), exact, rtol=4 * 0.2 / np.sqrt(200))


def test_a_crosswise_model_needs_no_special_case() -> None:
    """Any design that has a readout: the crosswise model's reports are not answers."""
    design = crosswise("1/4")
    reports = np.random.default_rng(2).choice(design.columns, 300)
    counted = warner.tally(reports.tolist(), design, clusters=np.arange(300) // 10)
    result = warner.estimate(counted)
    assert result.limits(CONFIDENCE).methods == ("korn_graubard",)
    assert "30 clusters" in result.text()
