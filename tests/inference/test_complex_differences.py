"""Small domains of complex samples: shares and differences against a second implementation, and their coverage.

Also tests `inference/intervals.py`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, norm

import warner
from references import reference
from warner import RandomizedResponse, SquareWave
from warner.inference.differences import FLOORED, domain_difference
from warner.inference.intervals import Confidence, limits
from warner.reports.linearization import ClusterSample
from warner.results import typeset

if TYPE_CHECKING:
    from warner.designs.facts import Drawn, SamplingModel

CASES = reference("small_domains")["cases"]


def of(kind: str) -> Any:
    return [case for case in CASES if case["kind"] == kind]


def asked(truth: float) -> RandomizedResponse:
    """Make the design under which a respondent gives the true answer with this probability."""
    return RandomizedResponse(["yes", "no"], truth=str(truth) if truth < 1 else 1)


def stratified(domains: list[tuple[int, int]], strata: int, sample: int = 400) -> dict[str, list[Any]]:
    """Return rows of domains of so many respondents, so many of whom report yes, and of the rest, which alternates."""
    reports, names = [], []
    for place, (size, yes) in enumerate(domains):
        reports += ["yes"] * yes + ["no"] * (size - yes)
        names += [place] * size
    rest = sample - len(reports)
    reports += (["yes", "no"] * rest)[:rest]
    return {"y": reports, "g": names + [-1] * rest, "h": [row % strata for row in range(sample)]}


def shown(counted: Any, groups: Any) -> tuple[SamplingModel, Drawn]:
    """Return how the share of yes shows in some groups."""
    found = counted.readout(groups, [[0]])
    assert found.drawn is not None
    return found, found.drawn


def agrees_unless_moved(low: float, high: float, expected: dict[str, float], share: float) -> None:
    """Compare limits; a share below 0 is moved there for the upper end, which the reference does not do."""
    assert_allclose(low, expected["low"], atol=1e-9)
    assert high > expected["high"] if share < 0 else abs(high - expected["high"]) < 1e-9


@pytest.mark.parametrize("case", of("share"), ids=lambda case: f"{case['yes']} of {case['domain']}, {case['truth']}")
def test_shares_of_small_domains_in_strata_are_those_of_the_reference(case: dict[str, Any]) -> None:
    data = stratified([(case["domain"], case["yes"])], case["strata"])
    counted = warner.tally(data, asked(case["truth"]), column="y", by="g", strata="h")
    found, drawn = shown(counted, [1])
    assert_allclose(found.trials[0, 0], case["effective"])
    assert_allclose(drawn.freedom[0, 0], min(case["freedom"], case["domain"] - 1))
    interval = warner.estimate(counted).interval("yes")
    agrees_unless_moved(interval.low[1], interval.high[1], case, found.share()[0, 0])


@pytest.mark.parametrize("case", of("weighted"), ids=lambda case: str(case["domain"]))
def test_shares_of_weighted_domains_are_those_of_the_reference(case: dict[str, Any]) -> None:
    rows = len(case["report"])
    data = {
        "y": ["yes" if one else "no" for one in case["report"]],
        "w": case["weight"],
        "h": [row % 3 for row in range(rows)],
        "g": [int(row < case["domain"]) for row in range(rows)],
    }
    counted = warner.tally(data, asked(case["truth"]), column="y", by="g", strata="h", weights="w")
    found, drawn = shown(counted, [1])
    assert_allclose([found.trials[0, 0], drawn.worth[0, 0]], [case["effective"], case["kish"]])
    assert_allclose(drawn.freedom[0, 0], min(case["freedom"], case["kish"] - 1))
    interval = warner.estimate(counted).interval("yes")
    agrees_unless_moved(interval.low[1], interval.high[1], case, found.share()[0, 0])


def agrees(compared: Any, expected: dict[str, float]) -> None:
    assert_allclose([compared.low, compared.high], [expected["low"], expected["high"]], atol=1e-9)
    assert_allclose(compared.p_value, expected["p_value"], atol=1e-9)


@pytest.mark.parametrize("case", of("difference"), ids=lambda case: f"{case['yes']} of {case['domain']}")
def test_differences_of_small_domains_are_those_of_the_reference(case: dict[str, Any]) -> None:
    data = stratified([(case["domain"], yes) for yes in case["yes"]], 4)
    counted = warner.tally(data, asked(case["truth"]), column="y", by="g", strata="h")
    agrees(warner.estimate(counted).compare("yes", between=(0, 1)), case)
    if case["truth"] == 1:  # the mean of a number that is 1 for yes and 0 for no is the same
        agrees(warner.estimate(counted).compare_means((0, 1), {"yes": 1, "no": 0}), case)


def test_degrees_of_freedom_of_a_difference_are_welchs_where_groups_are_unequal() -> None:
    # Variances 4 and 1 with 2 and 8 degrees of freedom, and those of equally variable respondents, 1 and 1/2
    sample: Any = SimpleNamespace(units=SimpleNamespace(freedom_of=lambda weight: 10.0))
    moments: Any = [SimpleNamespace(everybody=np.ones(2))] * 2
    found = ClusterSample._freedom_of_difference(sample, moments, [4.0, 1.0], [2.0, 8.0], [1.0, 2.0])
    assert_allclose(found, min(25 / (16 / 2 + 1 / 8), 1.5**2 / (1 / 2 + 0.5**2 / 8)))
    assert found == 25 / 8.125
    alike = ClusterSample._freedom_of_difference(sample, moments, [1.0, 1.0], [2.0, 8.0], [1.0, 2.0])
    assert_allclose(alike, min(4 / (1 / 2 + 1 / 8), 1.5**2 / (1 / 2 + 0.5**2 / 8)))
    assert ClusterSample._freedom_of_difference(sample, moments, [4.0, 1.0], [10.0, 12.0], [1.0, 2.0]) == 10


def in_clusters(cells: dict[str, list[int]]) -> dict[str, list[Any]]:
    """Return the counts of tables whose cells are named by a cluster and a group, such as 0f."""
    rows = [(name[:-1], name[-1], report) for name in cells for report in ("yes", "no")]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("c", "g", "y"))}
    return columns | {"n": [number for pair in cells.values() for number in pair]}


@pytest.mark.parametrize("case", of("clusters"), ids=lambda case: f"{case['name']}, {case['truth']}")
def test_groups_in_few_clusters_are_those_of_the_reference(case: dict[str, Any]) -> None:
    counted = warner.tally(
        in_clusters(case["cells"]), asked(case["truth"]), column="y", by="g", clusters="c", counts="n"
    )
    result = warner.estimate(counted)
    interval, (found, drawn) = result.interval("yes"), shown(counted, None)
    for place, group in enumerate("fm"):
        expected = case[group]
        assert_allclose([interval.low[place], interval.high[place]], [expected["low"], expected["high"]], atol=1e-9)
        assert_allclose(drawn.freedom[place, 0], expected["freedom"])
        assert_allclose(found.trials[place, 0], expected["effective"])
    apart = result.compare("yes", between=("f", "m"))
    if (
        "one of four" in case["name"]
    ):  # f is not known, and m as in the table: the reference takes Welch's degrees of freedom
        assert_allclose([apart.low, apart.high], [-case["m"]["high"], 1 - case["m"]["low"]], atol=1e-9)
        assert apart.p_value == 1
    else:
        agrees(apart, case["difference"])


# Groups in one cluster

SCHOOLS = in_clusters({"0f": [15, 35], "1m": [16, 34], "2r": [9, 11], "3r": [8, 12], "4r": [7, 13], "5r": [9, 11]})


@pytest.mark.parametrize("truth", [1, 0.9])
@pytest.mark.parametrize("how", [None, "jackknife"])
def test_every_result_says_that_a_group_in_one_cluster_is_not_known(truth: float, how: str | None) -> None:
    counted = warner.tally(SCHOOLS, asked(truth), column="y", by="g", clusters="c", counts="n", replicates=how)
    result = warner.estimate(counted)
    table = result.table()
    assert_allclose([table["low"][:4], table["high"][:4]], [[0] * 4, [1] * 4])
    assert [text.endswith("; lies in one cluster") for text in table["sample"]] == [True] * 4 + [False] * 2
    said = "one cluster does not show how clusters vary, so the interval is the whole range: f, m"
    assert said in " ".join(result.text().split())
    assert said in result._repr_html_()
    assert said in result.to_dict()["sample_notes"]
    assert any(said in note for note in map(str.casefold, typeset(result).notes))
    assert result.interval("yes").methods[-1] == "one_cluster"
    for one in (result.mean({"yes": 1, "no": 0}), result.interval("yes")):
        assert_allclose([one.low[0], one.high[0], one.low[1], one.high[1]], [0, 1, 0, 1])
    deviation = result.standard_deviation({"yes": 1, "no": 0})
    assert_allclose([deviation.low[0], deviation.high[0]], [0, 0.5])
    assert result.quantile(0.3, {"yes": 1, "no": 0}).high[0] == 1
    assert not np.any(result.commonest(1).certain[:2])
    for two in (result.compare("yes", between=("f", "m")), result.compare_means(("f", "m"), {"yes": 1, "no": 0})):
        assert (two.low, two.high, two.p_value) == (-1, 1, 1)
        assert said in two.text().replace("One", "one")
        assert two.to_dict()["note"] == said
    other = result.compare("yes", between=("f", "r"))
    assert other.p_value == 1
    assert -1 < other.low < other.high < 1  # what is known of r is known
    assert "so the interval is the whole range: f" in other.note
    same = result.compare("yes", "no")
    assert_allclose([same.low[:2], same.high[:2], same.p_value[:2]], [[-1, -1], [1, 1], [1, 1]])
    assert same.p_value[2] < 1


def test_numbers_of_a_group_in_one_cluster_are_not_known_whatever_rounding_says() -> None:
    design = SquareWave(11, epsilon=3)
    for seed in range(6):
        reports = design.randomize(np.random.default_rng(seed).integers(0, 11, 60).tolist())
        data = {"y": reports, "c": np.arange(60) // 10, "g": [0] * 10 + [1] * 50}
        result = warner.estimate(warner.tally(data, design, column="y", by="g", clusters="c"), method="inv")
        mean, deviation = result.mean(), result.standard_deviation()
        assert (mean.low[0], mean.high[0], deviation.low[0], deviation.high[0]) == (0, 10, 0, 5)
        assert 0 < mean.low[1] < mean.high[1] < 10


def test_a_cluster_beside_certainty_strata_is_one_cluster() -> None:
    """All clusters of stratum 0 were asked, so that only those of stratum 1 vary: the group has one of these."""
    cells = {"0a": [9, 1], "1a": [8, 2], "2a": [3, 7], "3b": [4, 6]}
    data = in_clusters(cells) | {"h": [0] * 4 + [1] * 4, "part": [1.0] * 4 + [0.5] * 4}
    asked_of: dict[str, Any] = {"column": "y", "by": "g", "clusters": "c", "strata": "h", "counts": "n"}
    counted = warner.tally(data, asked(1), **asked_of, sampled="part", whole=True)
    assert counted.drawn.drawn is not None
    assert counted.drawn.drawn.blind[:, 0].tolist() == [True, True]


# Intervals and tests agree


@pytest.mark.parametrize("truth", [1, 0.9])
@pytest.mark.parametrize("yes", [(0, 0), (0, 5), (1, 8), (3, 19), (10, 11), (20, 20)])
def test_tests_invert_their_intervals(truth: float, yes: tuple[int, int]) -> None:
    counted = warner.tally(stratified([(20, y) for y in yes], 4), asked(truth), column="y", by="g", strata="h")
    result = warner.estimate(counted, method="inv")
    p_value = result.compare("yes", between=(0, 1)).p_value
    p_values = result.compare("yes", "no").p_value
    for level in (0.5, 0.9, 0.95, 0.99, 0.999):
        apart = result.compare("yes", between=(0, 1), level=level)
        assert (apart.low > 0 or apart.high < 0) == (p_value < 1 - level)
        share = result.interval("yes", level=level)
        outside = (np.asarray(share.low) > 0.5) | (np.asarray(share.high) < 0.5)
        assert (outside == (p_values < 1 - level)).all()


def test_an_interval_beyond_minus_one_mirrors_one_beyond_one() -> None:
    # Of 20 respondents none and all report yes: shares of -1/2 and 3/2, whose difference is -2 or 2.
    counted = warner.tally(stratified([(20, 0), (20, 20)], 4), asked(0.75), column="y", by="g", strata="h")
    below, above = (domain_difference(counted, [[0]], rows) for rows in ([1, 2], [2, 1]))
    assert below.middle == -2
    (low, high), (other_low, other_high) = (each.limits(0.025) for each in (below, above))
    assert (low, other_high) == (-1, 1)
    assert -1 < high == pytest.approx(-other_low, rel=1e-12)


@pytest.mark.parametrize(("level", "noted"), [(0.5, False), (0.8, False), (0.9, True), (0.95, True)])
def test_a_note_names_the_variance_that_an_interval_rests_on(level: float, noted: bool) -> None:
    # A quarter of the group reports yes, as noise alone does; of the rest half do, which is a share of one half.
    counted = warner.tally(stratified([(20, 5), (20, 5)], 4), asked(0.75), column="y", by="g", strata="h")
    found = warner.estimate(counted, method="inv").compare("yes", between=(-1, 0), level=level)
    least = norm.isf((1 - level) / 2) * np.sqrt(domain_difference(counted, [[0]], [0, 1]).floor)
    assert (found.high == pytest.approx(0.5 + least, rel=1e-9)) == noted
    assert (FLOORED in " ".join(found.text().split()).lower()) == noted


def test_no_interval_has_width_zero_where_nothing_varies() -> None:
    design = RandomizedResponse(["a", "b", "c"], odds=(1, 0))
    data = {"y": ["a"] * 3 + ["b"] * 3 + ["c"] * 34, "g": [0] * 3 + [1] * 3 + [2] * 34, "h": [0, 1] * 20}
    data |= {"k": list(range(40))}
    for strata, clusters in (("h", None), (None, "k")):
        counted = warner.tally(data, design, column="y", by="g", strata=strata, clusters=clusters)
        result = warner.estimate(counted)
        mean, number = result.mean({"a": 0, "b": 1, "c": 5}), {"a": 0, "b": 1, "c": 5}
        assert (np.asarray(mean.high) - np.asarray(mean.low) > 0.3).all()
        assert result.compare_means((0, 1), number).p_value > 0.05
        apart, answers = result.compare("a", between=(0, 1)), result.compare("a", "b")
        assert apart.high - apart.low > 1  # three against three
        assert (np.asarray(answers.high) - np.asarray(answers.low) > 0.05).all()


def test_one_respondent_of_a_stratified_sample_tells_hardly_anything() -> None:
    design = RandomizedResponse(["a", "b", "c"], epsilon=1)
    data = {"y": ["a", "b", "c", "a"] * 10, "g": [0] + [1] * 39, "h": [0, 1] * 20}
    counted = warner.tally(data, design, column="y", by="g", strata="h")
    mean = warner.estimate(counted, method="inv").mean({"a": 0, "b": 1, "c": 5})
    assert (mean.low[0], mean.high[0]) == (0, 5)
    assert warner.estimate(counted).compare_means((0, 1), {"a": 0, "b": 1, "c": 5}).p_value == 1


# Everybody was asked


@pytest.mark.parametrize("truth", [1, 0.9])
def test_a_census_has_the_error_of_the_randomization_alone(truth: float) -> None:
    data = {"y": ["yes"] * 36 + ["no"] * 64, "g": [0, 1] * 50}
    ends = []
    for part in (0.999, 1.0):
        result = warner.estimate(warner.tally(data, asked(truth), column="y", sampled=part), method="inv")
        table, mean = result.table(), result.mean({"yes": 3, "no": 1})
        ends.append([table["low"][0], table["high"][0], mean.low, mean.high])
        assert (table["se"][0] == 0) == (truth == 1 and part == 1)
    assert_allclose(ends[0], ends[1], atol=0.02)
    if truth < 1:
        assert ends[1][1] - ends[1][0] > 0.1
        return
    assert_allclose(ends[1], [0.36, 0.36, 1.72, 1.72])
    apart = warner.estimate(warner.tally(data, asked(1), column="y", by="g", sampled=1.0)).compare(
        "yes", between=(0, 1)
    )
    assert (apart.low, apart.high, apart.p_value) == (0, 0, 1)


def test_an_answer_that_nobody_gave_is_not_certain_in_a_sample() -> None:
    for part, high in ((0.5, 0.036), (1.0, 0.0)):
        result = warner.estimate(warner.tally(["no"] * 100, asked(1), sampled=part))
        assert_allclose(result.table()["high"][0], high, atol=0.001)  # 1 - 0.025^(1/100) = 0.0362


# Coverage, by enumeration


def coverage(design: Any, size: int, strata: int) -> float:
    """Return the least coverage over all shares of a domain in a stratified sample of 400."""
    ends = []
    for yes in range(size + 1):
        counted = warner.tally(stratified([(size, yes)], strata), design, column="y", by="g", strata="h")
        ends.append([float(end[1, 0]) for end in limits(counted, Confidence(), sets=[[0]])[:2]])
    low, high = np.array(ends).T
    shares = np.linspace(0, 1, 101)
    reported = design.symmetry.base + design.symmetry.gain * shares
    inside = (low[:, np.newaxis] <= shares + 1e-12) & (shares - 1e-12 <= high[:, np.newaxis])
    return float((binom.pmf(np.arange(size + 1)[:, np.newaxis], size, reported) * inside).sum(axis=0).min())


@pytest.mark.parametrize(("truth", "least"), [(1, 0.95), (0.9, 0.95)])
@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
def test_least_coverage_of_domains_of_a_stratified_sample(truth: float, least: float, size: int) -> None:
    assert coverage(asked(truth), size, 4) >= least  # Korn and Graubard's without the bounds: 0 to 0.92


@pytest.mark.long
@pytest.mark.parametrize("truth", [1, 0.9, 0.75])
@pytest.mark.parametrize("strata", [2, 4, 20])
@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 20, 50])
def test_least_coverage_of_all_domains_of_a_stratified_sample(truth: float, strata: int, size: int) -> None:
    assert coverage(asked(truth), size, strata) >= 0.95


@pytest.mark.parametrize(("truth", "size"), [(0.9, 2), (1, 3), pytest.param(1, 8, marks=pytest.mark.long)])
def test_least_coverage_of_differences_of_two_domains(truth: float, size: int) -> None:
    design = asked(truth)
    low, high, p_value = np.zeros((3, size + 1, size + 1))
    for a, b in np.ndindex(low.shape):
        counted = warner.tally(stratified([(size, a), (size, b)], 4), design, column="y", by="g", strata="h")
        apart = domain_difference(counted, [[0]], [1, 2])
        (low[a, b], high[a, b]), p_value[a, b] = apart.limits(0.025), apart.p_value
    shares = np.linspace(0, 1, 21)
    counts = binom.pmf(np.arange(size + 1)[:, np.newaxis], size, design.symmetry.base + design.symmetry.gain * shares)
    apart_by = shares[:, np.newaxis] - shares
    inside = (low[..., np.newaxis, np.newaxis] <= apart_by + 1e-9) & (
        apart_by - 1e-9 <= high[..., np.newaxis, np.newaxis]
    )
    assert np.einsum("ai,bj,abij->ij", counts, counts, inside).min() >= 0.93
    assert np.einsum("ai,bi,ab->i", counts, counts, p_value < 0.05).max() <= 0.05


# Coverage, by simulation: all surveys are domains of one sample of ten clusters


def in_some_of_ten(
    rng: np.random.Generator, design: Any, inside: int, correlation: float, runs: int
) -> dict[str, list[Any]]:
    """Return surveys of 10 clusters of 50 respondents, `inside` of which are in group 0; the true share is 0.3."""
    shares = rng.beta(0.3 * (1 / correlation - 1), 0.7 * (1 / correlation - 1), (runs, 10))
    truly = rng.binomial(50, shares)
    yes = rng.binomial(truly, design.symmetry.p) + rng.binomial(50 - truly, design.symmetry.base)
    survey, cluster = (np.repeat(place.ravel(), 2) for place in np.indices(yes.shape))
    return {
        "survey": survey.tolist(),
        "g": (cluster >= inside).astype(int).tolist(),
        "c": cluster.tolist(),
        "y": ["yes", "no"] * yes.size,
        "n": np.stack([yes, 50 - yes], axis=-1).ravel().tolist(),
    }


def held(truth: float, inside: int, correlation: float, runs: int, **options: Any) -> tuple[float, float]:
    """Return how often the interval of the group, and of its difference to the others, holds."""
    data = in_some_of_ten(np.random.default_rng(11), asked(truth), inside, correlation, runs)
    counted = warner.tally(data, asked(truth), column="y", by=["survey", "g"], clusters="c", counts="n", **options)
    low, high = limits(counted, Confidence(), sets=[[0]])[:2]
    own = ((low <= 0.3) & (high >= 0.3))[::2].mean()
    ends = np.array([domain_difference(counted, [[0]], [2 * run, 2 * run + 1]).limits(0.025) for run in range(runs)])
    assert (np.append(high - low, ends[:, 1] - ends[:, 0]) > 0.05).all()
    return float(own), float(((ends[:, 0] <= 0) & (ends[:, 1] >= 0)).mean())


@pytest.mark.parametrize("inside", [1, 2, 3, 5])
def test_groups_in_some_of_ten_clusters_are_covered(inside: int) -> None:
    """Without the bounds, differences covered 0.49, 0.88, 0.93 and 0.96."""
    assert min(held(0.9, inside, 0.2, 60)) >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 60)  # a false alarm in 30,000


@pytest.mark.long
@pytest.mark.parametrize("how", [None, "jackknife"])
@pytest.mark.parametrize("truth", [1, 0.9, 0.75])
@pytest.mark.parametrize("correlation", [1e-6, 0.05, 0.2])
@pytest.mark.parametrize("inside", [1, 2, 3, 5])
def test_groups_in_some_of_ten_clusters_are_covered_by_all_methods(
    inside: int, correlation: float, truth: float, how: str | None
) -> None:
    least = 0.95 - 4 * np.sqrt(0.95 * 0.05 / 400)  # four standard errors: a false alarm in 30,000
    assert min(held(truth, inside, correlation, 400, replicates=how)) >= least


@pytest.mark.parametrize("clusters", [[0] * 20 + [1, 2, 3] * 10, [0, 1] * 10 + [2, 3, 4] * 10])
def test_standard_errors_do_not_depend_on_the_level(clusters: list[int]) -> None:
    """Clusters of group a show no variance: its standard error is that of 20 respondents drawn alone."""
    data = {"y": ["yes", "yes", "no", "no"] * 5 + ["yes", "no", "no"] * 10, "g": ["a"] * 20 + ["b"] * 30, "c": clusters}
    found = warner.estimate(warner.tally(data, asked(0.9), column="y", by="g", clusters="c"))
    for level in (0.5, 0.95, 0.999):
        assert_allclose(found.table(level)["se"][0], np.sqrt(0.25 / 20) / 0.8)


def test_a_census_of_noisy_reports_that_are_all_equal_is_not_certain() -> None:
    # Half of the respondents with "yes" are told to say "no": 4 of 4 do with probability 1/16, if all have "yes".
    forced, rows = warner.surveys.forced_response(truth="1/2", yes=0), {"c": [0, 0, 1, 1], "w": [2.0] * 4}
    samples: list[dict[str, Any]] = [{}, {"clusters": "c", "whole": True}]
    for sample in samples:
        result = warner.estimate(
            warner.tally(rows | {"y": ["no"] * 4}, forced, column="y", weights="w", sampled=1.0, **sample)
        )
        share, total = result.interval("yes"), result.totals()
        assert (share.low, share.high) == (0, 1)
        assert (total.low[0, 0], total.high[0, 0]) == (0, 8)
    # The score of a middle report is the same for the first and the last answer.
    counted = warner.tally([4] * 40, SquareWave(range(8), epsilon=2), sampled=1.0)
    result = warner.estimate(counted)
    ends = result.interval()
    assert (np.asarray(ends.high) - np.asarray(ends.low) > 0.01).all()
    mean = result.mean()
    assert mean.high - mean.low > 0.1


def test_the_unit_of_weights_does_not_decide_how_many_respondents_are_whole() -> None:
    design = RandomizedResponse([0, 1, 5], epsilon=2)
    weights = np.array([896892263.2601135, 803680420.4792784, *np.linspace(1e9, 3e9, 20)])
    rows = {"y": [0, 0] + [0, 1, 5, 1] * 5, "g": [1, 1] + [0] * 20, "s": [0] * 22}
    ends = []
    for unit in (1.0, 1e3, 1e-3, 3e-9, 7.0):
        counted = warner.tally(rows | {"w": weights * unit}, design, column="y", by="g", weights="w", strata="s")
        ends.append(np.asarray(warner.estimate(counted).interval().low)[1, 0])
    # The exact limit of 2 of 2 is .025^(1/2), with p = e^2 / (e^2 + 2) and q = 1 / (e^2 + 2).
    total = np.exp(2) + 2
    assert_allclose(ends, (np.sqrt(0.025) - 1 / total) / ((np.exp(2) - 1) / total), rtol=1e-9)


def test_a_difference_of_means_lies_in_its_interval() -> None:
    design = RandomizedResponse([0, 1, 5], epsilon=2)
    rows = {"y": [0, 0] + [0, 1, 5] * 60, "g": ["a"] * 2 + ["b"] * 180, "c": [0, 0, *np.arange(180) % 60]}
    found = warner.estimate(warner.tally(rows, design, column="y", by="g", clusters="c")).compare_means(("b", "a"))
    assert found.p_value == 1
    assert found.low <= found.difference <= found.high
