"""Comparisons of all answers in two samples: the tests of single answers, adjusted, and their family-wise error."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, false_discovery_control, hypergeom, multinomial

from references import reference
from warner import (
    RandomizedResponse,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    compare_samples,
    pool,
    surveys,
    tally,
)
from warner.inference.presence import adjusted
from warner.results import typeset

CASES = reference("sample_comparisons")["cases"]
BROWSER = RandomizedResponse(["A", "B", "C"], odds=(6, 1))
MARCH, APRIL = Tally(BROWSER, [500, 300, 200]), Tally(BROWSER, [430, 300, 270])


def in_domain(count: int, n: int, k: int = 3) -> Tally:
    """Return a tally in which the first of k answers has this count."""
    rest = np.full(k - 1, (n - count) // (k - 1))
    rest[0] += n - count - rest.sum()
    return Tally(RandomizedResponse(k, odds=(6, 1)), [count, *rest])


def sampled(design: Any, shares: Any, n: int, rng: np.random.Generator) -> Tally:
    return Tally(design, design.law.simulate(shares, n, rng=rng), n=n)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_reference_p_values(case: dict[str, Any]) -> None:
    first, second = map(in_domain, case["input"]["counts"], case["input"]["n"])
    assert_allclose(compare_samples(first, second).p_value[0], case["value"], rtol=case["tolerance"])


def test_p_values_are_twice_the_smaller_hypergeometric_tail() -> None:
    found = compare_samples(MARCH, APRIL)
    for answer, (one, two) in enumerate(zip(MARCH.counts, APRIL.counts, strict=True)):
        law = hypergeom(2000, one + two, 1000)
        assert_allclose(found.p_value[answer], min(1, 2 * min(law.cdf(one), law.sf(one - 1))), rtol=1e-9)


def test_shares_differences_and_corrections() -> None:
    found = compare_samples(MARCH, APRIL, names=("March", "April"))
    assert_allclose(found.shares, [[0.6, 0.28, 0.12], [0.488, 0.28, 0.232]])  # (c/1000 - 1/8) 8/5
    assert_allclose(found.difference, [0.112, 0, -0.112], atol=1e-15)
    assert_allclose(found.unbiased, found.difference, atol=1e-15)
    assert_allclose(found.adjusted, np.array([2, 1, 3]) * found.p_value)  # Holm, the smallest times 3
    assert_array_equal(found.changed, [True, False, True])
    assert_array_equal(found.changed, (found.low > 0) | (found.high < 0))  # also without the correction
    discovery = compare_samples(MARCH, APRIL, correction="bh")
    assert_allclose(discovery.adjusted, false_discovery_control(discovery.p_value))
    back = compare_samples(APRIL, MARCH)
    assert_allclose([back.difference, back.low, back.high], [-found.difference, -found.high, -found.low], atol=1e-15)


def test_intervals_exclude_zero_exactly_where_the_test_rejects() -> None:
    design, rng = RandomizedResponse(30, epsilon=3), np.random.default_rng(4)
    one, two = rng.dirichlet(np.ones(30), 2)
    found = compare_samples(sampled(design, one, 3000, rng), sampled(design, two, 2000, rng))
    apart = found.p_value < 0.05
    assert 2 < apart.sum() < 28
    assert_array_equal((found.low > 0) | (found.high < 0), apart)


def test_two_groups_of_one_tally_are_two_samples() -> None:
    both = Tally(BROWSER, [[430, 300, 270], [500, 300, 200]], by=("month",), groups=(("April",), ("March",)))
    found, samples = compare_samples(both, between=("March", "April")), compare_samples(MARCH, APRIL)
    assert (found.first, found.second) == ("March", "April")
    for name in ("shares", "unbiased", "low", "high", "p_value", "adjusted"):
        assert_allclose(getattr(found, name), getattr(samples, name))
    one = compare_samples(both, answer="A", between=("March", "April"))
    assert one.test == "Barnard's exact"
    with pytest.raises(ValueError, match="there is no group May; there are April, March"):
        compare_samples(both, between=("March", "May"))


def test_answers_of_different_designs_have_the_tests_of_single_answers() -> None:
    sets = Tally(SubsetSelection(4, epsilon=1, size=2), [60, 50, 50, 40], n=100)
    response = Tally(RandomizedResponse(4, odds=(6, 1)), [90, 40, 40, 30])
    found = compare_samples(response, sets)
    assert (found.test, found.approximate) == ("Barnard's exact", False)
    each = [compare_samples(response, sets, answer) for answer in range(4)]
    assert_allclose(found.p_value, [one.p_value for one in each])
    assert_allclose(found.difference, [one.difference for one in each])
    many = compare_samples(Tally(response.design, np.multiply(response.counts, 60)), sets)
    assert (many.test, many.approximate) == ("approximate", True)
    assert "the family-wise error rate is about 5 %" in many.text().replace("\n", " ")


def test_two_answers_are_one_comparison() -> None:
    dice = Tally(surveys.forced_response(truth="3/4", yes="1/6"), [160, 440])
    found = compare_samples(dice, Tally(dice.design, [100, 500]))
    assert found.answers == ("yes",)
    assert_array_equal(found.adjusted, found.p_value)
    sets = Tally(UnaryEncoding(["a", "b"], epsilon=1), [50, 60], n=100)  # two counts, which need not agree
    assert compare_samples(sets, sets).answers == ("a", "b")


def test_weights_and_pools_are_approximate() -> None:
    weighted = Tally(BROWSER, np.array(MARCH.counts) * 1.0, squares=2000.0)  # worth 500 reports
    found, unweighted = compare_samples(weighted, APRIL), compare_samples(MARCH, APRIL)
    assert (found.test, found.approximate) == ("approximate", True)
    assert (found.high - found.low > unweighted.high - unweighted.low).all()
    both = pool([MARCH, Tally(RandomizedResponse(["A", "B", "C"], odds=(3, 1)), [400, 300, 300])])
    assert compare_samples(both, APRIL).approximate
    assert json.loads(compare_samples(both, APRIL).to_json())["approximate"] is True


def test_complex_samples_are_compared_between_groups_of_one_tally() -> None:
    rng = np.random.default_rng(5)
    n = 600
    school, sex = np.repeat(np.arange(30), 20), np.tile(["f", "m"], n // 2)
    answers = np.where(rng.random(n) < np.where(sex == "f", 0.6, 0.2), "A", rng.choice(["B", "C"], n))
    rows = {"answer": BROWSER.randomize(answers), "school": school, "sex": sex}
    by_sex = tally(rows, BROWSER, column="answer", by="sex", clusters="school")
    found = compare_samples(by_sex, between=("f", "m"))
    assert (found.test, found.approximate) == ("Student's t", True)
    each = [compare_samples(by_sex, answer=answer, between=("f", "m")) for answer in "ABC"]
    assert_allclose(found.p_value, [one.p_value for one in each])
    assert_allclose([found.low, found.high], np.transpose([[one.low, one.high] for one in each]))
    alone = tally(rows, BROWSER, column="answer", clusters="school")
    with pytest.raises(ValueError, match="samples with strata, clusters or replicate weights are compared in one answ"):
        compare_samples(alone, MARCH)


def test_samples_that_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match=r"samples must have the same answers, in the same order.* but got 3 answers"):
        compare_samples(MARCH, Tally(RandomizedResponse(["A", "C", "B"], odds=(6, 1)), [1, 2, 3]))
    with pytest.raises(ValueError, match=r"the second sample must have no groups.*between=\(group, group\)"):
        compare_samples(MARCH, Tally(BROWSER, [[1, 2, 3]], by=("g",), groups=(("x",),)))
    with pytest.raises(ValueError, match="the second sample must have reports, but has none"):
        compare_samples(MARCH, Tally(BROWSER, [0, 0, 0]))
    with pytest.raises(ValueError, match='correction must be "holm" or "bh", but got'):
        compare_samples(MARCH, APRIL, correction="none")
    names: Any
    for names in (("March",), "AB"):
        with pytest.raises(ValueError, match="names must be two texts, one for each sample, but got"):
            compare_samples(MARCH, APRIL, names=names)
    with pytest.raises(TypeError, match=r"needs a second sample, or between=\(group, group\)"):
        compare_samples(MARCH)  # type: ignore[call-overload]
    silent = Tally(RandomizedResponse(["A", "B", "C"], odds=(1, 1)), [1, 2, 3])
    with pytest.raises(ValueError, match="the design of the second sample must identify the share of 'A'"):
        compare_samples(MARCH, silent)


def test_forms() -> None:
    found = compare_samples(MARCH, APRIL, names=("March", "April"))
    fields = json.loads(found.to_json())
    assert (fields["format"], fields["version"], fields["changed"]) == ("warner comparisons", 1, ["A", "C"])
    assert (fields["first"], fields["second"], fields["correction"]) == ("March", "April", "holm")
    names = ["value", "first", "second", "difference", "unbiased", "low", "high", "p_value", "adjusted", "changed"]
    assert [list(row) for row in fields["comparisons"]] == [names] * 3
    assert list(found.to_frame("pandas").columns) == names
    assert "| A | 60.00 | 48.80 | +11.20 |" in found.to_markdown()
    assert r"\toprule" in found.to_latex()
    assert "<td>A</td>" in found._repr_html_()


def test_the_text_of_many_answers_shows_the_smallest_p_values() -> None:
    design, rng = RandomizedResponse(200, epsilon=4), np.random.default_rng(7)
    shares = np.full(200, 1 / 200)
    moved = shares + 0.06 * (np.arange(200) == 150)
    found = compare_samples(sampled(design, shares, 20_000, rng), sampled(design, moved / moved.sum(), 20_000, rng))
    lines = found.text().splitlines()
    assert lines[2].split()[0] == "150"
    assert "... and 180 more answers with larger p-values." in lines
    assert "Shares that differ: 1 of 200 answers: 150." in lines
    assert len(found.text(rows=None).splitlines()) > 200
    assert len(typeset(found).columns["value"]) == 200


def test_family_wise_error_by_enumeration() -> None:
    # All pairs of tables of 5 and 3 reports among three answers; both corrections bound the error without a change.
    design, sizes = RandomizedResponse(3, odds=(4, 1)), (5, 3)
    tables = [[(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)] for n in sizes]
    p_values = np.array(
        [[compare_samples(Tally(design, x), Tally(design, y)).p_value for y in tables[1]] for x in tables[0]]
    )
    for shares in np.array([[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.1, 0.7]]):
        law = [
            multinomial.pmf(each, n, design.law.probabilities(shares)) for each, n in zip(tables, sizes, strict=True)
        ]
        for level in (0.05, 0.2, 0.5):
            any_change = (adjusted(p_values, "holm") <= level).any(axis=-1)
            assert law[0] @ any_change @ law[1] <= level
    assert any_change.any()


@pytest.mark.long
@pytest.mark.parametrize(
    "design", [RandomizedResponse(10, epsilon=1), UnaryEncoding(50, epsilon=2)], ids=lambda one: one.mechanism
)
@pytest.mark.parametrize("shape", ["uniform", "zipf", "one"])
def test_family_wise_error_of_400_surveys_without_a_change(design: Any, shape: str) -> None:
    ranks = np.arange(1, design.k + 1)
    shares = {"uniform": np.ones(design.k), "zipf": 1 / ranks, "one": np.where(ranks == 1, 1.0, 0.0)}[shape]
    rng = np.random.default_rng(2)
    errors = 0
    for _ in range(400):
        first, second = (sampled(design, shares / shares.sum(), n, rng) for n in (2000, 3000))
        errors += bool(compare_samples(first, second).changed.any())
    assert errors <= binom.isf(1e-4, 400, 0.05)  # 37: a false alarm has probability 1e-4 or less


@pytest.mark.long
def test_two_changes_of_six_points_are_found() -> None:
    rng = np.random.default_rng(3)
    # The difference of two shares has a standard error of 0.5 points, so that 6 points are 12 of them; Holm needs 3.3.
    design, before = SubsetSelection(50, epsilon=3), np.full(50, 0.02)
    after = before + np.where(np.arange(50) == 3, 0.06, np.where(np.arange(50) == 30, 0.06, -0.0025))
    for _ in range(15):
        first, second = (sampled(design, shares, 20_000, rng) for shares in (before, after))
        found = compare_samples(first, second)
        assert found.changed[[3, 30]].all()
