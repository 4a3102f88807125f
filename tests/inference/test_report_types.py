"""Tests of the types of reports: values of reports, sizes of sets, and what no answer changes."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import factorial, prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from tables import whole
from warner import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    check,
    estimate,
    pool,
)
from warner.designs import MECHANISMS
from warner.inference.checking import fit_warning
from warner.inference.report_types import g_squared, sum_tail, sum_test

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner import Check

KEPT_APART = [
    design for mechanism in MECHANISMS.values() for design in mechanism.examples() if design.law.types is not None
]
BITS = UnaryEncoding.optimal(16, odds=(3, 1))
HASHED = LocalHashing(27, odds=(3, 1), field=3)
PLANE = ProjectiveGeometry(13, odds=(3, 1), field=3)


def drawn(design: Any, n: int = 2000, seed: int = 1, **options: Any) -> Tally:
    rng = np.random.default_rng(seed)
    return whole(design, design.draw(rng.integers(design.k, size=n), rng.bytes), **options)


def p_values(found: Check) -> dict[str, float]:
    return {test.name: float(test.p_value[0]) for test in found.tests}


def histograms(n: int, kinds: int) -> Iterator[tuple[int, ...]]:
    return (counts for counts in product(range(n + 1), repeat=kinds) if sum(counts) == n)


# The law of a sum


@pytest.mark.parametrize("law", [[0.5, 0.2, 0.3], [0.9, 0.1], [0.05, 0.0, 0.9, 0.0, 0.05], [0.01, 0.01, 0.08, 0.9]])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_the_tail_of_a_sum_is_that_of_the_convolution(law: list[float], n: int) -> None:
    exact = [Fraction(1)]
    step = [Fraction(p).limit_denominator(1000) for p in law]
    for _ in range(n):
        exact = [
            sum((exact[u - x] * p for x, p in enumerate(step) if 0 <= u - x < len(exact)), Fraction(0))
            for u in range(len(exact) + len(law) - 1)
        ]
    mean = n * sum(x * p for x, p in enumerate(law))
    for total in range(len(exact)):
        if total > mean:
            assert sum_tail(total, n, np.array(law)) == pytest.approx(float(sum(exact[total:])), rel=1e-11)
        both = min(
            1, 2 * min(sum(exact[total:]) if total > mean else 1, sum(exact[: total + 1]) if total < mean else 1)
        )
        assert sum_test(total, n, np.array(law)) == pytest.approx(float(both), rel=1e-11)


def test_the_tail_of_a_sum_of_very_many_is_binomial() -> None:
    n, p = 10**6, 0.3
    for z in (0.5, 3, 10, 30):
        total = round(n * p + z * np.sqrt(n * p * (1 - p)))
        exact = binom.sf(total - 1, n, p)
        assert sum_tail(total, n, np.array([1 - p, p])) == pytest.approx(exact, rel=1e-8)
        bound = sum_tail(total, n, np.array([1 - p, p]), longest=1)  # Chernoff's: never too small, never much too large
        assert exact <= bound <= exact * (2 + z) * np.sqrt(2 * np.pi)


def test_impossible_sums_and_numbers() -> None:
    law = np.array([0.0, 0.5, 0.5, 0.0])
    assert sum_test(3, 4, law) == 0  # at least 4
    assert sum_test(9, 4, law) == 0  # at most 8
    assert sum_test(8, 4, law) == pytest.approx(2 / 16)
    assert g_squared(np.array([1, 3]), np.array([0.0, 4.0])) == np.inf


# Exactness, by enumeration


@pytest.mark.parametrize(
    "design",
    [
        UnaryEncoding.symmetric(2, odds=(9, 1)),
        UnaryEncoding.optimal(2, odds=(3, 1)),
        ProjectiveGeometry(2, odds=(3, 1), field=2),
    ],
    ids=lambda design: design.summary(),
)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_reports_that_fit_fail_as_rarely_as_the_level_says(design: Any, share: float) -> None:
    n, kinds = 12, len(design.law.types)
    assert kinds == 3
    shares = np.array([share, 1 - share])
    law = np.array(design.law.types.bounds().most)
    if design.law.sufficient == "histogram":
        law = shares @ np.array([design.law.likelihood().forward(vertex) for vertex in np.eye(2)])
    found, chances = [], []
    for histogram in histograms(n, kinds):
        chances.append(factorial(n) / prod(map(factorial, histogram)) * prod(law**histogram))
        total = histogram[1] + 2 * histogram[2]
        # Support has tests of its own.
        counts = [total // 2, total - total // 2] if design.law.sufficient is None else None
        tests = check(Tally(design, counts, histogram=histogram, n=n), simulations=1).tests
        found.append(next(float(test.p_value[0]) for test in tests if test.name == "kinds of reports"))
    law_of_p, p = np.array(chances), np.array(found)
    assert law_of_p.sum() == pytest.approx(1)
    for level in np.unique(p):
        assert law_of_p[p <= level].sum() <= level * (1 + 1e-9)
    assert p.min() < 0.01  # it can speak


@pytest.mark.parametrize("design", [BITS, HASHED], ids=lambda design: design.summary())
def test_the_test_of_a_known_law_errs_as_rarely_as_it_says(design: Any) -> None:
    rng, times, n = np.random.default_rng(5), 600, 60
    reports = design.draw(rng.integers(design.k, size=times * n), rng.bytes)
    found = check(whole(design, reports, np.repeat(np.arange(times), n)), simulations=39, rng=rng)
    (p,) = (test.p_value for test in found.tests if test.name == "known law")
    for level in (0.05, 0.1, 0.25):
        assert (p <= level).mean() <= level + 4 * np.sqrt(level * (1 - level) / times)
    assert (p <= 0.25).mean() >= 0.1  # not so careful that it never speaks


@pytest.mark.parametrize("design", KEPT_APART, ids=lambda design: design.summary())
def test_good_reports_of_every_mechanism_fit(design: Any) -> None:
    if design.epsilon in {0, np.inf}:
        return
    found = check(drawn(design, 500), level=1 - 1e-6, simulations=99)  # one chance in a million each
    assert found.fits
    assert fit_warning(found.tally) == ""  # one in a hundred each, by chance


# What it sees


def test_too_much_noise_shows_in_the_sizes_and_nowhere_else() -> None:
    noisier = UnaryEncoding.optimal(16, odds=(2, 1))
    rng = np.random.default_rng(2)
    reports = noisier.draw(rng.integers(16, size=2000), rng.bytes)
    found = check(whole(BITS, reports))
    assert not found.fits
    assert p_values(found)["possible range"] == 1  # support between the least and the most possible
    assert p_values(found)["known law"] < 1e-20
    # Without the sizes this is not identified
    counts, n, _ = BITS.law.count(reports)
    assert check(Tally(BITS, counts, n=n)).fits
    assert fit_warning(Tally(BITS, counts, n=n)) == ""
    assert "the set sizes are smaller or larger than the noise explains" in fit_warning(found.tally)
    with pytest.warns(UserWarning, match="set sizes"):
        estimate(found.tally)


@pytest.mark.parametrize(
    "fake", [[1] * 16, [0] * 16, [1] + [0] * 15], ids=["everything", "nothing", "one answer, as if in the clear"]
)
def test_constant_reports_show_in_the_sizes(fake: list[int]) -> None:
    rng = np.random.default_rng(3)
    honest = BITS.draw(rng.integers(16, size=950), rng.bytes)
    found = check(whole(BITS, np.concatenate([honest, np.packbits([fake] * 50, axis=1)])))
    assert not found.fits
    assert found.findings[0].misfit_kinds is not None
    assert found.findings[0].misfit_kinds[0, sum(fake)]
    assert check(whole(BITS, honest)).fits


def test_too_little_noise_shows_in_the_sizes() -> None:
    rng = np.random.default_rng(4)
    clearer = UnaryEncoding.optimal(16, odds=(4, 1))
    assert not check(whole(BITS, clearer.draw(rng.integers(16, size=2000), rng.bytes))).fits


def test_a_hash_function_that_all_share_is_seen() -> None:
    # A tenth of the clients never choose a function: all hash by the first.
    rng = np.random.default_rng(6)
    reports = HASHED.draw(rng.integers(27, size=2000), rng.bytes)
    reports[:200] %= HASHED.field
    found = check(whole(HASHED, reports))
    assert not found.fits
    values = p_values(found)
    assert values["known law"] == 1 / 1000
    assert values["possible range"] > 0.1  # no answer alone tells
    assert check(drawn(HASHED)).fits


def test_values_that_never_come_are_seen() -> None:
    reports = drawn(PLANE)
    histogram = reports.histogram.copy()
    histogram[4] = 0
    found = check(Tally(PLANE, histogram=histogram))
    assert not found.fits
    assert_array_equal(np.flatnonzero(found.findings[0].misfit_kinds), [4])  # type: ignore[arg-type]
    assert json.loads(found.to_json())["groups"][0]["collections"][0]["misfit_kinds"] == [4]
    joined = " ".join(found.text().split())
    assert "Each kind of report (report values): 4 came 0 times," in joined
    assert "More or less frequent than the design can explain: 4." in joined


def test_the_report_that_supports_everything_comes_as_often_as_the_noise_says() -> None:
    # Under Hadamard response the report 0 supports every answer: its probability does not depend on the answers.
    design = HadamardResponse(7, odds=(3, 1))
    assert design.law.types is not None
    bounds = design.law.types.bounds()
    assert bounds.least[0] == bounds.most[0] == pytest.approx(3 / 16)  # type: ignore[index]
    histogram = np.full(8, 200)
    histogram[0] = 100
    assert check(Tally(design, histogram=histogram)).findings[0].misfit_kinds[0, 0]  # type: ignore[index]


# By hand


def test_the_sizes_by_hand() -> None:
    # K = 2, p = 3/4, q = 1/4: no bit, one or two with 3/16, 10/16, 3/16. Ten reports, all with one bit.
    design = UnaryEncoding.symmetric(["yes", "no"], odds=(9, 1))
    found = check(Tally(design, [6, 4], n=10, histogram=[0, 10, 0]), simulations=99)
    assert p_values(found)["kinds of reports"] == pytest.approx(6 * (10 / 16) ** 10)
    g2 = 2 * 10 * np.log(16 / 10)
    (law,) = (test for test in found.tests if test.name == "known law")
    assert law.statistic is not None
    assert_allclose(law.statistic[0], g2)
    assert "1 on average, where 1 are expected; G2 = 9.4" in law.say(0)


# What is said


def test_every_door_tells_the_tests_of_the_kinds() -> None:
    grouped = whole(BITS, drawn(BITS).kept.sources[0]().__next__().reports, np.arange(2000) % 2)  # type: ignore[union-attr]
    found = check(grouped)
    names = ["possible range", "kinds of reports", "known law", "pairs of answers"]
    assert [test.name for test in found.tests] == names
    assert list(found.table()) == ["group", "reports", *names, "p_value", "fits"]
    told = json.loads(found.to_json())
    for place, group in enumerate(told["groups"]):
        (collection,) = group["collections"]
        assert [test["name"] for test in collection["tests"]] == names
        assert [test["p_value"] for test in collection["tests"]] == [test.p_value[place] for test in found.tests]
        assert group["p_value"] == min(1, 4 * min(test.p_value[place] for test in found.tests))
        assert collection["misfit_kinds"] == []
    lines = found.text().splitlines()
    assert any(" ".join(line.split()) == "g reports p range p kinds p law p pairs p verdict" for line in lines)


def test_what_people_read_of_kinds() -> None:
    text = " ".join(check(drawn(BITS)).text().split())
    assert "Each kind of report (set sizes): " in text
    assert "This is the only test that sees too much noise as well as too little." in text
    assert "multiplied by the number of tests." in text
    assert "more noise than claimed" not in text
    assert "fabricated reports that follow the design" in text
    hashed = " ".join(check(drawn(HASHED)).text().split())
    assert "Independent of the answers (hash functions): G2 = " in hashed
    assert "No such check can detect more noise than claimed" in hashed
    assert "too much noise" not in hashed
    both = " ".join(check(pool([drawn(BITS), drawn(SubsetSelection(16, odds=(3, 1), size=4))])).text().split())
    assert "No such check can detect more noise than claimed" in both  # of the other collection


def test_without_a_histogram_there_is_one_test() -> None:
    counts, n, _ = PLANE.law.count(np.arange(13).repeat(20))
    found = check(Tally(PLANE, counts, n=n))
    assert [test.name for test in found.tests] == ["possible range"]
    assert found.findings[0].misfit_kinds is None
    assert "misfit_kinds" not in found.to_json()


def test_weights_that_are_all_equal_change_nothing() -> None:
    plain = drawn(BITS)
    weighted = Tally(
        BITS,
        plain.counts * 2.0,
        n=plain.n * 2.0,
        histogram=plain.histogram * 2.0,
        squares=plain.n * 4.0,
    )
    assert_allclose(list(p_values(check(weighted)).values())[:2], list(p_values(check(plain)).values())[:2])
    assert check(weighted).fits


def test_very_many_classes_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = p_values(check(drawn(HASHED)))["known law"]
    monkeypatch.setattr("warner.inference.report_types.CLASSES_SIMULATED", 4)  # of 13 functions
    coarse = check(drawn(HASHED))
    assert p_values(coarse)["known law"] != fine
    assert coarse.fits
