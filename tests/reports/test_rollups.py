"""Roll-ups and selections of saved counts: equal to tallies made at once, for every engine and every kind of tally."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cases import COIN, NINE, THREE
from engines import ENGINES, in_engine
from warner import OpenDomain, OpenTally, Pool, SubsetSelection, Tally, UnaryEncoding, estimate, pool, tally

if TYPE_CHECKING:
    from pathlib import Path

WORDS = OpenDomain(epsilon=2, letters="a-z", length=6, step=3)
SETS = SubsetSelection(["never", "once", "often", "daily"], odds=(3, 1), size=2)
N = 240
ROLLUPS = [(), ("day",), ("country",), ("country", "day")]
every_rollup = pytest.mark.parametrize("by", ROLLUPS)


def survey(n: int = N) -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    schools = rng.integers(12, size=n)
    return {
        "answer": [None if i % 11 == 0 else THREE.domain[j] for i, j in enumerate(rng.integers(3, size=n).tolist())],
        "day": (1 + rng.integers(3, size=n)).tolist(),
        "country": [("FR", "IT", None)[i] for i in rng.integers(3, size=n).tolist()],
        "weight": (rng.integers(1, 9, n) / 4).tolist(),
        "times": rng.integers(0, 4, n).tolist(),
        "school": schools.tolist(),
        "region": (schools % 3).tolist(),
        **{f"rw{r}": (rng.integers(1, 9, n) / 4).tolist() for r in range(4)},
    }


DATA = survey()
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weights": {"weights": "weight"},
    "counts": {"counts": "times"},
    "strata and clusters": {"strata": "region", "clusters": "school", "weights": "weight"},
    "finite population": {"clusters": "school", "sampled": 0.25},
    "jackknife": {"clusters": "school", "replicates": "jackknife"},
    "replicate weights": {"weights": "weight", "replicates": "rw*", "scale": 0.25},
}
COMPLEX = [kind for kind, options in KINDS.items() if {"clusters", "replicates"} & set(options)]


@pytest.mark.parametrize("engine", ENGINES)
def test_roll_ups_in_every_engine_equal_tallies_made_at_once(engine: str, tmp_path: Path) -> None:
    table = {name: DATA[name] for name in ("answer", "day", "country")}
    source = in_engine(engine, table, tmp_path)
    fine = tally(source, THREE, column="answer", by=["day", "country"])
    for by in ROLLUPS:
        assert fine.aggregate(by) == tally(source, THREE, column="answer", by=list(by) or None)
    french = tally(source, THREE, column="answer", by=["day", "country"], where={"country": "FR"})
    assert fine.filter(country="FR") == french
    assert fine.filter(country="FR").aggregate("day") == french.aggregate("day")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plain"])
@pytest.mark.parametrize("engine", ENGINES)
def test_roll_ups_of_every_kind_in_every_engine(engine: str, kind: str, tmp_path: Path) -> None:
    source = in_engine(engine, DATA, tmp_path)
    fine = tally(source, THREE, column="answer", by=["day", "country"], **KINDS[kind])
    for by in ((), ("country",)):
        coarse, once = fine.aggregate(by), tally(source, THREE, column="answer", by=list(by) or None, **KINDS[kind])
        if kind == "jackknife":  # whose sums of weights are of ones
            assert_allclose(coarse.counts, once.counts, rtol=1e-12)
            assert_allclose(estimate(coarse).table()["se"], estimate(once).table()["se"], rtol=1e-9)
        else:
            assert coarse == once


@every_rollup
@pytest.mark.parametrize("kind", KINDS)
def test_roll_ups_of_every_kind_equal_tallies_made_at_once(kind: str, by: tuple[str, ...]) -> None:
    fine = tally(DATA, THREE, column="answer", by=["day", "country"], **KINDS[kind])
    once = tally(DATA, THREE, column="answer", by=list(by) or None, **KINDS[kind])
    coarse = fine.aggregate(by)
    assert (coarse.by, coarse.groups) == (once.by, once.groups)
    for name in ("counts", "n", "missing", "unknown"):
        assert_allclose(getattr(coarse, name), getattr(once, name), rtol=1e-12)
    ours, theirs = estimate(coarse).table(), estimate(once).table()
    for name in ("share", "se", "low", "high"):
        assert_allclose(ours[name], theirs[name], rtol=1e-9)
    if kind != "jackknife":  # whose sums of weights are of ones
        assert coarse == once
    assert Tally.from_json(coarse.to_json()) == coarse


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in COMPLEX])
def test_selections_equal_tallies_of_these_rows(kind: str) -> None:
    fine = tally(DATA, THREE, column="answer", by=["day", "country"], **KINDS[kind])
    for day in (2, "2", 2.0):
        once = tally(DATA, THREE, column="answer", by=["day", "country"], where={"day": "2"}, **KINDS[kind])
        assert fine.filter(day=day) == once
    missing = fine.filter(day=3, country=None)
    assert missing.groups == ((3, None),)
    assert fine.filter() is fine


@pytest.mark.parametrize("kind", COMPLEX)
def test_groups_of_complex_samples_are_not_selected(kind: str) -> None:
    fine = tally(DATA, THREE, column="answer", by=["day", "country"], **KINDS[kind])
    with pytest.raises(ValueError, match=r"filter must be left out for a tally with .*; estimate by group, or add"):
        fine.filter(day=2)


def test_stored_reports_follow_their_groups() -> None:
    rng = np.random.default_rng(2)
    reports = SETS.randomize([SETS.domain[i] for i in rng.integers(4, size=N).tolist()])
    columns = {"report": reports, "day": DATA["day"], "country": DATA["country"]}
    fine = tally(columns, SETS, column="report", by=["day", "country"], keep=True)
    for coarse, options in (
        (fine.aggregate("day"), {"by": "day"}),
        (fine.aggregate(), {}),
        (fine.filter(country="IT").aggregate("day"), {"by": "day", "where": {"country": "IT"}}),
        (fine.filter(country="IT").aggregate(), {"where": {"country": "IT"}}),
    ):
        once = tally(columns, SETS, column="report", keep=True, **options)
        assert_array_equal(coarse.counts, once.counts)
        assert_allclose(estimate(coarse, method="mle").shares, estimate(once, method="mle").shares, atol=1e-6)


def test_support_counts_and_histograms_add_up() -> None:
    design = UnaryEncoding(list("abc"), epsilon=1)
    reports = design.randomize(list("abc") * 80)
    columns = {"report": reports, "day": DATA["day"], "country": DATA["country"]}
    fine = tally(columns, design, column="report", by=["day", "country"])
    assert fine.aggregate("country") == tally(columns, design, column="report", by="country")


def test_pools_roll_up_in_every_collection() -> None:
    yes = {**DATA, "report": ["yes" if i % 3 else "no" for i in range(N)], "version": ["a", "b"] * (N // 2)}
    designs = {"a": COIN, "b": NINE}
    fine = tally(yes, designs, column="report", by=["version", "day", "country"])
    assert isinstance(fine, Pool)
    assert fine.aggregate("day") == tally(yes, designs, column="report", by=["version", "day"])
    french = tally(yes, designs, column="report", by=["version", "day", "country"], where={"country": "FR"})
    assert fine.filter(country="FR") == french
    assert fine.aggregate() == pool([part.aggregate() for part in fine.parts])


def test_open_tallies_roll_up() -> None:
    rng = np.random.default_rng(1)
    blocks = WORDS.values.encoded(rng.choice(["one", "two", "three"], size=N).tolist()).blocks
    reports = WORDS.report_form.written(WORDS.draw(blocks, rng.bytes)).tolist()
    reports[7] = None
    columns = {"report": reports, "day": DATA["day"], "country": DATA["country"]}
    fine = tally(columns, WORDS, column="report", by=["day", "country"])
    assert isinstance(fine, OpenTally)
    for by in ROLLUPS:
        assert fine.aggregate(by) == tally(columns, WORDS, column="report", by=list(by) or None)
    once = tally(columns, WORDS, column="report", by=["day", "country"], where={"country": "FR"})
    assert fine.filter(country="FR") == once


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.aggregate("year"),
            "by must name columns that the tally is grouped by, but got 'year' for a tally ",
        ),
        (lambda t: t.aggregate(["day", "day"]), "by must name each column once, but got 'day', 'day'"),
        (lambda t: t.filter(year=1), "filter must name columns that the tally is grouped by, but got 'year'"),
        (lambda t: t.filter(country="XX"), "country must be one of the tally's values, 'FR', 'IT', None, but got 'XX'"),
        (lambda t: t.aggregate().filter(day=1), "for a tally without groups; count the reports again"),
    ],
)
def test_errors_name_the_groups_that_there_are(change: Any, message: str) -> None:
    fine = tally(DATA, THREE, column="answer", by=["day", "country"])
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        change(fine)
