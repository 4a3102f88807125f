"""Complex samples from any data: engines, arrays, replicate weights, adding, files, and errors.

Also tests `reports/linearization.py`, `reports/replicates.py` and
`reports/design_based.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import warner
from engines import ENGINES, in_engine
from warner import RandomizedResponse, Tally, UnaryEncoding
from warner.estimation import estimated
from warner.inference.differences import domain_difference
from warner.inference.intervals import Confidence
from warner.results import typeset

if TYPE_CHECKING:
    from pathlib import Path

SURVEY = RandomizedResponse(["yes", "no"], truth="3/4")
ASKED: dict[str, Any] = {"column": "answer", "weights": "w", "strata": "region", "clusters": "school"}


def errors(counted: Tally) -> Any:
    """Return the standard errors of all shares."""
    return counted.readout().error


def pupils() -> dict[str, list[Any]]:
    """Return 120 pupils of twelve schools in two regions, of both sexes, with weights and replicate weights."""
    rng = np.random.default_rng(1)
    school = np.repeat(np.arange(12), 10)
    weight = rng.integers(1, 5, 120) / 2  # whose sums are exact in any order
    columns: dict[str, list[Any]] = {
        "answer": rng.choice(["yes", "no"], 120, p=[0.4, 0.6]).tolist(),
        "w": weight.tolist(),
        "region": [("north", "south")[place % 2] for place in school],
        "school": [f"s{place}" for place in school],
        "part": [(0.25, 0.5)[place % 2] for place in school],
        "sex": rng.choice(["m", "f"], 120).tolist(),
    }
    for left in range(12):
        size = np.where(school % 2 == left % 2, 6 / 5, 1.0)
        columns[f"rw{left}"] = np.where(school == left, 0.0, size * weight).tolist()
    return columns


@pytest.mark.parametrize("engine", ENGINES)
def test_strata_and_clusters_come_from_every_engine(engine: str, tmp_path: Path) -> None:
    expected = warner.tally(pupils(), SURVEY, **ASKED, by="sex", sampled="part")
    assert expected.sample is not None
    assert expected.sample.described() == "12 schools in 2 regions"
    table = in_engine(engine, pupils(), tmp_path)
    assert warner.tally(table, SURVEY, **ASKED, by="sex", sampled="part") == expected


def test_arrays_are_counted_as_columns_are() -> None:
    data = pupils()
    named = {"weights": "w", "strata": "region", "clusters": "school", "sampled": "part"}
    arrays: dict[str, Any] = {name: data[column] for name, column in named.items()}
    counted = warner.tally(data["answer"], SURVEY, by={"sex": data["sex"]}, **arrays)
    expected = warner.tally(data, SURVEY, **ASKED, by="sex", sampled="part")
    assert_allclose(errors(counted), errors(expected), rtol=1e-12)
    assert counted.sample is not None
    assert counted.sample.described() == "12 clusters in 2 strata"  # arrays have no names


def test_a_column_may_be_domain_and_stratum_at_once() -> None:
    counted = warner.tally(pupils(), SURVEY, **ASKED, by="region")
    alone = warner.tally(pupils(), SURVEY, **ASKED, where={"region": "north"})
    assert_allclose(errors(counted)[0], errors(alone)[0], rtol=1e-12)


def test_domains_count_all_clusters_of_the_sample() -> None:
    """A domain that lives in one school of each region varies with who was drawn: six of twelve schools lack it."""
    data = pupils()
    data["sex"] = ["rare" if school in {"s0", "s1"} else "other" for school in data["school"]]
    counted = warner.tally(data, SURVEY, **ASKED, by="sex")
    assert counted.sample is not None
    assert counted.sample.described() == "12 schools in 2 regions"
    rare = counted.groups.index(("rare",))
    assert errors(counted)[rare, 0] > 0
    assert np.ravel(counted.readout().freedom)[rare] < 3  # which unequal clusters leave


def test_parts_of_a_sample_add_up_to_the_whole() -> None:
    data = pupils()
    whole = warner.tally(data, SURVEY, **ASKED, by="sex", sampled="part")
    halves = [{name: column[start::2] for name, column in data.items()} for start in (0, 1)]  # each in all schools
    first, second = (warner.tally(half, SURVEY, **ASKED, by="sex", sampled="part") for half in halves)
    assert first + second == whole
    ends = [{name: column[part] for name, column in data.items()} for part in (slice(10), slice(10, None))]
    one, others = (warner.tally(end, SURVEY, **ASKED, by="sex", sampled="part") for end in ends)  # one school alone
    assert sum([one, others]) == whole


def test_a_saved_sample_is_the_same_sample(tmp_path: Path) -> None:
    for options in ({}, {"by": "sex"}, {"sampled": "part", "whole": True}, {"sampled": 0.5}):
        counted = warner.tally(pupils(), SURVEY, **ASKED, **options)
        counted.save(tmp_path / "tally.json")
        read = Tally.load(tmp_path / "tally.json")
        assert read == counted
        assert warner.estimate(read).to_json() == warner.estimate(counted).to_json()
    plain = warner.tally(pupils(), SURVEY, column="answer", sampled=0.1)  # neither strata nor clusters
    assert Tally.from_json(plain.to_json()) == plain
    assert plain != warner.tally(pupils(), SURVEY, column="answer", sampled=0.2)


def test_replicate_weights_are_those_of_the_jackknife_that_made_them(tmp_path: Path) -> None:
    """Replicates that leave out one of six schools in each of two regions: JKn has the scale 5/6."""
    data = pupils()
    asked: dict[str, Any] = {"column": "answer", "weights": "w", "replicates": "rw*", "scale": 5 / 6}
    for by in (None, "sex"):
        replicated = warner.tally(data, SURVEY, **asked, by=by)
        jackknife = warner.tally(data, SURVEY, **ASKED, by=by, replicates="jackknife")
        assert_allclose(errors(replicated), errors(jackknife), rtol=1e-9)
        assert np.all(replicated.readout().freedom == 11)
        assert Tally.from_json(replicated.to_json()) == replicated
    compared = [warner.estimate(one).compare("yes", between=("m", "f")) for one in (replicated, jackknife)]
    assert_allclose(*(one.difference for one in compared))
    one, other = (domain_difference(tally, [[0]], [0, 1]).together for tally in (replicated, jackknife))
    assert_allclose(one.covariance, other.covariance, rtol=1e-9)
    assert (one.freedom, other.freedom) == (11, 10)
    assert "12 sets of replicate weights" in warner.estimate(replicated).text()
    table = in_engine("csv", data, tmp_path)
    assert_allclose(errors(warner.tally(table, SURVEY, **asked, by="sex")), errors(replicated), rtol=1e-12)
    arrays = [data[f"rw{place}"] for place in range(12)]
    plain = warner.tally(data["answer"], SURVEY, weights=data["w"], replicates=arrays, scale=5 / 6)
    whole = warner.tally(data, SURVEY, **asked)
    assert_allclose(errors(plain), errors(whole), rtol=1e-12)
    halves = [{name: column[start::2] for name, column in data.items()} for start in (0, 1)]
    total = warner.tally(halves[0], SURVEY, **asked) + warner.tally(halves[1], SURVEY, **asked)
    assert_allclose(errors(total), errors(whole), rtol=1e-12)
    # The total of the weights varies with the replicates, too.
    assert warner.estimate(whole).totals().se[0, 0] > 0


def replicated_in_ten(inside: int, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return ten clusters of 20, with group 1 in `inside` of them, and columns of replicate weights."""
    rng, cluster = np.random.default_rng(2), np.repeat(np.arange(10), 20)
    data: dict[str, Any] = {"y": rng.choice(["yes", "no"], 200).tolist(), "g": (cluster < inside).astype(int).tolist()}
    columns = 10 if kind == "jackknife" else 200
    drawn = rng.multinomial(9, np.full(10, 0.1), columns) * 10 / 9  # a bootstrap of 9 of 10 clusters
    factor = (1 - np.eye(10)) * 10 / 9 if kind == "jackknife" else drawn
    data |= {"w": [1.0] * 200} | {f"rw{column}": factor[column][cluster].tolist() for column in range(columns)}
    asked = {"column": "y", "by": "g", "weights": "w", "replicates": "rw*"}
    return data, asked | {"scale": 0.9 if kind == "jackknife" else 1 / columns}


@pytest.mark.parametrize(("inside", "freedom"), [(1, 0), (2, 1), (3, 2), (5, 4), (10, 9)])
def test_columns_of_a_jackknife_show_in_how_many_clusters_a_group_lies(inside: int, freedom: int) -> None:
    data, asked = replicated_in_ten(inside, "jackknife")
    counted = warner.tally(data, SURVEY, **asked)
    drawn = counted.drawn.drawn
    assert drawn is not None
    assert_allclose(drawn.freedom[-1], freedom, atol=1e-9)
    assert drawn.blind[-1, 0] == (inside == 1)


@pytest.mark.parametrize("inside", [1, 2, 3, 5])
def test_the_number_of_clusters_makes_up_for_what_bootstrap_columns_do_not_show(inside: int, tmp_path: Path) -> None:
    """Without it 1/K - 1/m is taken for 1/K; the number comes within a third of the 9/10 K that are drawn."""
    data, asked = replicated_in_ten(inside, "bootstrap")
    found = {}
    for clusters in (None, 10):
        counted = warner.tally(data, SURVEY, **asked, replicate_clusters=clusters)
        assert Tally.from_json(counted.to_json()) == counted
        assert counted.drawn.drawn is not None
        found[clusters] = counted.drawn.drawn.freedom[1, 0] + 1
        assert (counted.drawn.drawn.blind[1, 0]) == (inside == 1)
    assert found[10] < found[None]
    assert 0.6 * inside < found[10] < 1.4 * inside
    assert "200 sets of replicate weights of 10 clusters" in warner.estimate(counted).text()


@pytest.mark.parametrize("clusters", [1, 2.5, "10", True])
def test_what_is_no_number_of_clusters_is_rejected(clusters: Any) -> None:
    data, asked = replicated_in_ten(3, "jackknife")
    with pytest.raises(ValueError, match="replicate_clusters must be the number of clusters in the sample, at least 2"):
        warner.tally(data, SURVEY, **asked, replicate_clusters=clusters)


@pytest.mark.parametrize("engine", ENGINES)
def test_respondents_without_weight_do_not_count(engine: str, tmp_path: Path) -> None:
    """Zero of ten reports are "yes", beside 90 with a weight of zero: as much information as ten."""
    direct = RandomizedResponse(["yes", "no"], odds=(1, 0))
    data: dict[str, list[Any]] = {
        "y": ["no"] * 100 + ["yes", "no"] * 50,
        "g": ["a"] * 100 + ["b"] * 100,
        "h": [0, 1] * 100,
        "w": [0.0] * 90 + [1.0] * 110,
    }
    kept = {name: column[90:] for name, column in data.items()}
    asked: dict[str, Any] = {"column": "y", "by": "g", "strata": "h", "weights": "w"}
    counted = warner.tally(in_engine(engine, data, tmp_path), direct, **asked)
    expected = warner.estimate(warner.tally(kept, direct, **asked)).interval("yes")
    # Of the strata, 100 and not 55 respondents were sampled, which changes the degrees of freedom by 0.04.
    assert_allclose(warner.estimate(counted).interval("yes").high, expected.high, rtol=0.002)
    assert expected.high[0] > 0.3  # 1 - 0.025^(1/10)


@pytest.mark.parametrize("engine", ENGINES)
def test_respondents_without_weight_were_sampled(engine: str, tmp_path: Path) -> None:
    """Standard errors are those of a domain of everybody who was sampled, as where each respondent is a cluster."""
    direct, n = RandomizedResponse(["yes", "no"], odds=(1, 0)), 40
    yes, weight, stratum = np.arange(n) % 3 == 0, np.arange(n) % 4 / 2, np.arange(n) % 2
    data = {"y": np.where(yes, "yes", "no").tolist(), "w": weight.tolist(), "h": stratum.tolist()}
    asked: dict[str, Any] = {"column": "y", "strata": "h", "weights": "w"}
    counted = warner.tally(in_engine(engine, data, tmp_path), direct, **asked)
    parts = [{name: column[part] for name, column in data.items()} for part in (slice(16), slice(16, n))]
    added = warner.tally(parts[0], direct, **asked) + warner.tally(parts[1], direct, **asked)
    share = weight @ yes / weight.sum()

    def error(scores: Any) -> float:
        return float(np.sqrt(sum((stratum == h).sum() * np.var(scores[stratum == h], ddof=1) for h in (0, 1))))

    for tally in (counted, added, Tally.from_json(counted.to_json())):
        found = warner.estimate(tally)
        assert_allclose(found.table()["se"][0], error(weight * (yes - share) / weight.sum()))
        assert_allclose(found.totals().table()["se"][0], error(weight * yes))
        assert "40 respondents in 2 strata" in found.text()


def test_clusters_of_a_census_need_no_degrees_of_freedom() -> None:
    """In a census of 8 clusters of 30, respondents of one or two clusters vary by the randomization alone."""
    cluster = np.repeat(np.arange(8), 30)
    data = {"y": (["yes"] * 11 + ["no"] * 19) * 8, "c": cluster.tolist()}
    for inside in (1, 2):
        data["g"] = np.where(cluster < inside, "a", "b").tolist()
        asked: dict[str, Any] = {"column": "y", "by": "g", "clusters": "c", "sampled": 1.0, "whole": True}
        found = warner.estimate(warner.tally(data, RandomizedResponse(["yes", "no"], truth="0.9"), **asked))
        interval, n = found.interval("yes"), 30 * inside
        width = interval.high[0] - interval.low[0]
        noise, alone = (2 * 1.96 * np.sqrt(part / n) / 0.8 for part in (0.9 * 0.1, 11 / 30 * 19 / 30))
        assert noise < width < 1.2 * alone  # that of n respondents drawn alone; it was the whole range
        assert found.compare("yes", between=("a", "b")).p_value > 0.9
        assert "one cluster" not in found.text()


def test_sets_of_answers_are_counted_by_cluster_in_batches(tmp_path: Path) -> None:
    design = UnaryEncoding(5, epsilon=1)
    rng = np.random.default_rng(3)
    reports = design.randomize(rng.integers(0, 5, 200).tolist())
    data = {"r": reports, "c": (np.arange(200) // 10).tolist(), "w": (rng.integers(1, 4, 200) / 2).tolist()}
    asked: dict[str, Any] = {"column": "r", "clusters": "c", "weights": "w", "sampled": 0.5}
    expected = warner.tally(data, design, **asked)
    assert errors(expected).shape == (1, 5)
    for engine in ("polars", "duckdb", "dask", "parquet"):
        counted = warner.tally(in_engine(engine, data, tmp_path), design, **asked)
        assert_allclose(errors(counted), errors(expected), rtol=1e-12)
        assert warner.estimate(counted, method="inv_p")._limits(Confidence()).method.startswith("korn_graubard")


def test_kept_reports_stay_with_their_groups() -> None:
    design = UnaryEncoding(3, epsilon=2)
    reports = design.randomize([0, 1, 2] * 40)
    by, clusters = {"g": [place % 2 for place in range(120)]}, [place // 12 for place in range(120)]
    kept, plain = (warner.tally(reports, design, keep=True, by=by, clusters=drawn) for drawn in (clusters, None))
    # Without the warning of `estimate`: one survey in a hundred seems not to fit its design.
    assert_allclose(estimated(kept, method="mle").shares, estimated(plain, method="mle").shares, atol=1e-6)


def test_weights_alone_stay_as_they_are_and_say_what_they_do_not_know() -> None:
    notes = " ".join(typeset(warner.estimate(warner.tally(pupils(), SURVEY, column="answer", weights="w"))).notes)
    assert "sampled together, such as pupils of a school, count as if sampled independently." in notes
    assert "design-based" not in notes.lower()


# Errors


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"region": [*["lone"] * 10, *pupils()["region"][10:]]}, {}, "every stratum must have at least two clusters"),
        ({"region": ["lone", *pupils()["region"][1:]]}, {}, "clusters must lie in one stratum each, but 1 lies in"),
        (
            {"school": ["all"] * 120, "region": ["one"] * 120},
            {},
            "clusters must be at least two, but all",
        ),
        ({"school": [None, *pupils()["school"][1:]]}, {}, "clusters must be known for all respondents, but some rows"),
        ({"w": [-1.0, *pupils()["w"][1:]]}, {}, "weights must be"),
        ({"w": [None, *pupils()["w"][1:]]}, {}, "weights must be"),
        ({}, {"sampled": 0}, "sampled must be the part of a stratum's clusters"),
        ({}, {"sampled": 1.5}, "above 0 and at most 1, but got 1.5"),
        ({"part": ["all"] * 120}, {"sampled": "part"}, "above 0 and at most 1, but got 'all'"),
        (
            {"part": [0.3, *pupils()["part"][1:]]},
            {"sampled": "part"},
            "sampled must be the same for all respondents of a",
        ),
    ],
)
def test_samples_that_do_not_show_how_they_vary_are_refused(change: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        warner.estimate(warner.tally(pupils() | change, SURVEY, **ASKED, **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": "school", "whole": True}, "whole must be left out without clusters and sampled"),
        ({"replicates": "jackknife"}, "replicates must come with clusters, and without"),
        ({"replicates": "rw*", "scale": 1.0}, "replicates must come with weights"),
        ({"replicates": "rw*", "weights": "w"}, "replicates must come with weights, those of"),
        (
            {"replicates": "rw*", "weights": "w", "scale": 1.0, "clusters": "school"},
            "must come without strata",
        ),
        ({"scale": 1.0}, "scale must be left out without replicates"),
        ({"replicate_clusters": 10}, "replicate_clusters must be left out without replicates"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        warner.tally(pupils(), SURVEY, column="answer", **options)


def test_replicates_must_be_there_and_have_a_scale() -> None:
    asked: dict[str, Any] = {"column": "answer", "weights": "w"}
    with pytest.raises(ValueError, match="replicates must name at least two columns of weights, such as rw"):
        warner.tally(pupils(), SURVEY, **asked, replicates="boot*", scale=1.0)
    with pytest.raises(ValueError, match="scale must be a positive number"):
        warner.tally(pupils(), SURVEY, **asked, replicates="rw*", scale=-1.0)


def test_what_is_not_known_for_complex_samples_is_refused() -> None:
    result = warner.estimate(warner.tally(pupils(), SURVEY, **ASKED))
    with pytest.raises(ValueError, match="anytime must be left out with strata"):
        result.table(anytime=True)
    with pytest.raises(ValueError, match='target must be "population" with strata, clusters or replicate weights'):
        result.interval("yes", target="realised")
    halves = warner.estimate(warner.tally(pupils(), SURVEY, **ASKED, by="sex"))
    with pytest.raises(ValueError, match='target must be "population" with strata'):
        halves.compare("yes", between=("f", "m"), target="realised")
    with pytest.raises(ValueError, match="method must be left out with strata, clusters"):
        result.interval("yes", method="wilson")
    with pytest.raises(TypeError, match="for reports of one design"):
        warner.tally(pupils(), {"north": SURVEY, "south": SURVEY}, by="region", column="answer", clusters="school")
    other = warner.tally(pupils(), RandomizedResponse(["yes", "no"], truth="4/5"), **ASKED)
    with pytest.raises(ValueError, match="must be of one design to be put together"):
        warner.pool([result.tally.parts[0], other])
    with pytest.raises(TypeError, match="data must not be a tally with strata"):
        warner.regress("~ sex", warner.tally(pupils(), SURVEY, column="answer", by="sex", clusters="school"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": None}, "clusters"),
        ({"sampled": None}, "tallies must both have sampled"),
        ({"sampled": 0.5}, "tallies must agree on the part of each stratum"),
        ({"replicates": "rw*", "scale": 1.0, "strata": None, "clusters": None, "sampled": None}, "same kind of sample"),
    ],
)
def test_samples_of_different_kinds_do_not_add_up(options: Any, message: str) -> None:
    asked = ASKED | {"sampled": "part"}
    with pytest.raises(ValueError, match=message):
        warner.tally(pupils(), SURVEY, **asked) + warner.tally(pupils(), SURVEY, **(asked | options))
    with pytest.raises(ValueError, match="tallies must both have strata, clusters or replicate weights to add up"):
        warner.tally(pupils(), SURVEY, **asked) + warner.tally(pupils(), SURVEY, column="answer", weights="w")


@pytest.mark.parametrize(
    "damage",
    [
        {"sampled": [0.5]},
        {"sampled": [0.5, 2]},
        {"variance": "guessed"},
        {"whole": 1},
        {"strata": 3},
        {"cells": []},
        {"cells": {"counts": []}},
        {"more": 1},
    ],
)
def test_a_damaged_sample_is_refused(damage: dict[str, Any]) -> None:
    fields = json.loads(warner.tally(pupils(), SURVEY, **ASKED, sampled="part").to_json())
    fields["sample"] |= damage
    with pytest.raises(ValueError, match="this tally is damaged"):
        Tally.from_dict(fields)
    fields = json.loads(warner.tally(pupils(), SURVEY, **ASKED).to_json())
    fields["sample"]["cells"]["counts"][0][0] += 1
    with pytest.raises(ValueError, match="must add up to those of the tally"):
        Tally.from_dict(fields)


@pytest.mark.parametrize(
    "damage", [{"people": None}, {"kind_squares": None}, {"people": [0] * 12}, {"people": [0.5] * 12}]
)
def test_a_damaged_number_of_people_is_refused(damage: dict[str, Any]) -> None:
    fields = json.loads(warner.tally(pupils(), SURVEY, **ASKED, sampled="part").to_json())
    cells = fields["sample"]["cells"] | damage
    fields["sample"]["cells"] = {name: value for name, value in cells.items() if value is not None}
    with pytest.raises(ValueError, match=r"this tally is damaged: (cells must have|people must be)"):
        Tally.from_dict(fields)


def test_several_designs_are_not_pooled_in_whatever_order() -> None:
    clustered = warner.tally(pupils(), SURVEY, **ASKED)
    simple = warner.tally(pupils(), RandomizedResponse(["yes", "no"], truth="2/3"), column="answer", weights="w")
    for parts in ([clustered, simple], [simple, clustered]):
        with pytest.raises(ValueError, match="must be of one design to be put together"):
            warner.pool(parts)


def test_clusters_that_only_look_alike_do_not_add_up_as_others() -> None:
    texts = warner.tally(pupils() | {"school": [str(place // 10) for place in range(120)]}, SURVEY, **ASKED)
    numbers = warner.tally(pupils() | {"school": [place // 10 for place in range(120)]}, SURVEY, **ASKED)
    assert (texts + texts).sample.described() == "12 schools in 2 regions"
    with pytest.raises(ValueError, match="clusters of tallies that add up must be all numbers or all texts, but got"):
        numbers + texts


def test_a_pattern_of_replicates_leaves_out_the_weights_of_the_whole_sample() -> None:
    replicates = {name.replace("rw", "w"): column for name, column in pupils().items()}
    asked: dict[str, Any] = {"column": "answer", "weights": "w", "scale": 1.0}
    listed = warner.tally(replicates, SURVEY, **asked, replicates=[f"w{left}" for left in range(12)])
    assert warner.tally(replicates, SURVEY, **asked, replicates="w*") == listed


def test_totals_lie_between_none_and_all_and_in_their_intervals() -> None:
    answers = pupils() | {"answer": ["no"] * 115 + ["yes"] * 5}  # fewer than noise alone explains
    result = warner.estimate(warner.tally(answers, SURVEY, **ASKED))
    totals = result.totals()
    assert_allclose(totals.value[0], [0, sum(answers["w"])])
    assert (totals.low <= totals.value).all()
    assert (totals.value <= totals.high).all()


def test_a_damaged_sample_is_said_to_be_damaged_once() -> None:
    fields = json.loads(warner.tally(pupils(), SURVEY, **ASKED).to_json())
    del fields["sample"]["cells"]["squares"]
    with pytest.raises(ValueError, match=r"^this tally is damaged: counts must be whole numbers, or come with"):
        Tally.from_dict(fields)
