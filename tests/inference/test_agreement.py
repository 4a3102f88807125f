"""Agreement of pooled collections: exact p-values, their size by enumeration, and every place that shows them."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, chi2, multinomial

from references import reference
from tables import grouped
from warner import Channel, RandomizedResponse, SubsetSelection, Tally, check, compare_samples, estimate, pool, surveys
from warner.inference.agreement import MOST_REPORTS_OF_GROUPS, agreement_evidence, agreement_test
from warner.inference.exact_tests import MOST_REPORTS

if TYPE_CHECKING:
    from pathlib import Path

RARELY, MOSTLY = surveys.crosswise("1/5"), surveys.crosswise("4/5")
FORCED, DIRECT = surveys.forced_response(truth="3/4", yes="1/6"), surveys.direct()
SURVEYS: dict[str, dict[str, Any]] = reference("agreement")["extended_crosswise"]
DOPING = SURVEYS["doping C"]


def crosswise(survey: dict[str, Any]) -> Any:
    pairs = zip((RARELY, MOSTLY), survey["same"], survey["differ"], strict=True)
    return pool([Tally(design, counts) for design, *counts in pairs])


def probability_of_yes(design: Any, share: float) -> float:
    return float(design.law.probabilities([share, 1 - share])[0])


@pytest.mark.parametrize("name", SURVEYS)
def test_surveys_in_a_published_package(name: str) -> None:
    survey = SURVEYS[name]
    test = check(crosswise(survey)).tests[-1]
    assert test.name == "same population"
    assert_allclose(test.p_value, survey["p_exact"], rtol=1e-9 if name != "doping C" else 2e-3)
    assert_allclose(test.p_value, chi2.sf(survey["G2"], 1), rtol=0.15)  # of 280 to 950 reports; not where G2 is small


def test_thirteen_surveys_together() -> None:
    rejected = {name for name, survey in SURVEYS.items() if check(crosswise(survey)).tests[-1].p_value[0] < 0.05}
    assert rejected == {"medicine B", "medicine C", "doping A", "doping C", "doping D"}
    assert rejected == {name for name, survey in SURVEYS.items() if survey["G2"] > chi2.isf(0.05, 1)}


def test_the_exact_p_value_by_brute_force() -> None:
    # All tables of two binomial counts whose pooled score is at least the observed one, at 2,000 common shares.
    (n, m), (c, d) = (40, 30), (31, 12)  # of a share of yes: "same" under the first, "differ" under the second
    design, other = RARELY, MOSTLY
    found = agreement_test(pool([Tally(design, [n - c, c]), Tally(other, [d, m - d])]))
    assert found is not None
    x, y = np.arange(n + 1)[:, np.newaxis], np.arange(m + 1)  # both counts have the probability 1/5 + 3/5 share
    yes = probability_of_yes(design, 1.0), probability_of_yes(design, 0.0)
    low, high = min(1 - yes[0], 1 - yes[1]), max(1 - yes[0], 1 - yes[1])
    share = np.clip((x + y) / (n + m), low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.nan_to_num((x / n - y / m) / np.sqrt(share * (1 - share) * (1 / n + 1 / m)))
    at_least = score >= score[c, d] * (1 - 1e-11)
    grid = np.linspace(low, high, 2001)
    law = np.einsum("gx,gy->gxy", binom.pmf(x.ravel(), n, grid[:, None]), binom.pmf(y, m, grid[:, None]))
    assert_allclose(found.p_value, 2 * law[:, at_least].sum(axis=1).max(), rtol=1e-5)


@pytest.mark.parametrize("designs", [(RARELY, MOSTLY), (FORCED, DIRECT), (FORCED, RARELY)])
def test_size_of_two_answers_by_enumeration(designs: Any) -> None:
    n, m = 11, 14
    tables = np.array([(x, y) for x in range(n + 1) for y in range(m + 1)])
    parts = [grouped(one, np.stack([c, k - c], 1)) for one, c, k in zip(designs, tables.T, (n, m), strict=True)]
    found = agreement_test(pool(parts))
    assert found is not None
    assert not found.approximate.any()
    for share in np.linspace(0, 1, 41):
        law = np.prod(
            [
                binom.pmf(c, k, probability_of_yes(one, share))
                for one, c, k in zip(designs, tables.T, (n, m), strict=True)
            ],
            axis=0,
        )
        for level in (0.05, 0.01, 0.2):
            assert law[found.p_value <= level].sum() <= level * (1 + 1e-9)


@pytest.mark.parametrize("shares", [(1, 0, 0), (0, 0, 1), (0.5, 0.5, 0), (1 / 3, 1 / 3, 1 / 3), (0.1, 0, 0.9)])
def test_size_of_three_answers_by_enumeration(shares: tuple[float, ...]) -> None:
    # Where shares are 0, the likelihood ratio against chi-squared rejects 13 to 14 % at 5 %.
    designs, n = [RandomizedResponse(3, odds=(odds, 1)) for odds in (6, 3)], 5
    each = np.array([(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)])
    both = np.array(list(itertools.product(range(len(each)), repeat=2)))
    found = agreement_test(pool([grouped(one, each[rows]) for one, rows in zip(designs, both.T, strict=True)]))
    assert found is not None
    law = np.prod(
        [
            multinomial.pmf(each, n, one.law.probabilities(np.array(shares)))[rows]
            for one, rows in zip(designs, both.T, strict=True)
        ],
        axis=0,
    )
    assert law.sum() == pytest.approx(1)
    assert_array_equal(found.comparisons, 3)
    for level in (0.05, 0.01, 0.2):
        assert law[found.p_value <= level].sum() <= level * (1 + 1e-9)


def test_the_smallest_p_value_of_all_pairs_and_answers_times_their_number() -> None:
    rng = np.random.default_rng(1)
    designs = [RandomizedResponse(4, odds=(odds, 1)) for odds in (3, 6, 9)]
    for _ in range(8):
        parts = [
            Tally(one, rng.multinomial(120, one.law.probabilities(rng.dirichlet(np.full(4, 20))))) for one in designs
        ]
        each = [
            compare_samples(one, two, answer).p_value
            for one, two in itertools.combinations(parts, 2)
            for answer in range(4)
        ]
        found = agreement_test(pool(parts))
        assert found is not None
        assert_allclose(found.p_value, min(1, 12 * min(each)), rtol=1e-9)
        assert found.comparisons == [12]


def test_sets_have_exact_counts_and_channels_the_normal_distribution() -> None:
    sets = Tally(SubsetSelection(4, epsilon=1, size=2), [60, 50, 50, 40], n=100)
    response = Tally(RandomizedResponse(4, odds=(6, 1)), [90, 40, 40, 30])
    table = [[0.7, 0.1, 0.1, 0.1], [0.2, 0.6, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1], [0.3, 0.1, 0.1, 0.5]]
    channel = Tally(Channel(table, 4, 4), [30, 60, 60, 50])
    found = [agreement_test(pool([response, other])) for other in (sets, channel)]
    assert [test is not None and test.approximate.tolist() for test in found] == [[False], [True]]
    assert "(approximate, multiplied by 4)" in check(pool([response, channel])).text().replace("\n", " ")
    each = [compare_samples(response, channel, answer).p_value for answer in range(4)]
    assert found[1] is not None
    assert_allclose(found[1].p_value, 4 * min(each))


def test_answers_that_are_not_identified_are_not_compared() -> None:
    blurred = Channel([[0.6, 0.2, 0.2], [0.2, 0.4, 0.4], [0.2, 0.4, 0.4]], 3, 3)
    found = agreement_test(
        pool([Tally(RandomizedResponse(3, odds=(6, 1)), [90, 40, 20]), Tally(blurred, [20, 40, 40])])
    )
    assert found is not None
    assert found.comparisons == [1]
    silent = Tally(RandomizedResponse(3, odds=(1, 1)), [1, 2, 3])
    assert agreement_test(pool([Tally(blurred, [20, 40, 40]), silent])) is None


def test_many_reports_and_weights_are_approximate() -> None:
    few, many = crosswise(DOPING), crosswise({name: np.multiply(DOPING[name], 20) for name in ("same", "differ")})
    assert sum(part.n for part in many.parts) > MOST_REPORTS
    weighted = pool(
        [Tally(part.design, np.array(part.counts) * 1.5, squares=2.25 * float(part.n)) for part in few.parts]
    )
    exact, approximate, of_weights = map(agreement_test, (few, many, weighted))
    assert exact is not None
    assert approximate is not None
    assert of_weights is not None
    assert [test.approximate.tolist() for test in (exact, approximate, of_weights)] == [[False], [True], [True]]
    assert_allclose(np.log(of_weights.p_value), np.log(exact.p_value), rtol=0.03)
    assert approximate.p_value[0] < 1e-60
    for tally in (many, weighted):
        found = check(tally)
        assert "(approximate)" in " ".join(found.text().split())
        assert "The test of one population is approximate" in found.to_markdown()
        assert json.loads(found.to_json())["groups"][0]["same_population"]["approximate"] is True


def test_groups_are_tested_one_by_one() -> None:
    same, differ = (np.array(DOPING[name]) for name in ("same", "differ"))
    first = Tally(RARELY, [[same[0], differ[0]], [270, 192], [40, 60]], by=("g",), groups=(("a",), ("b",), ("c",)))
    second = Tally(MOSTLY, [[same[1], differ[1]], [192, 270]], by=("g",), groups=(("a",), ("b",)))
    found = check(pool([first, second]))
    assert found.agreement is not None
    alone = check(crosswise(DOPING)).agreement
    assert alone is not None
    assert_allclose(found.agreement.p_value[:2], [alone.p_value[0], 1.0])
    assert np.isnan(found.agreement.p_value[2])  # one collection alone
    assert_array_equal(found.group_fits, [False, True, True])
    text = " ".join(found.text().split())
    assert text.startswith("The collections do not seem to come from one population in 1 of 3 groups: p < 0.001")
    assert "p same" in text
    assert "a: Same population: the unbiased share of 'yes' is" in text
    assert [group["same_population"] is None for group in found.to_dict()["groups"]] == [False, False, True]
    assert agreement_evidence(pool([first, second]))


def test_many_reports_in_many_groups_are_approximate() -> None:
    rows = np.repeat([[270, 192]], 2 + MOST_REPORTS_OF_GROUPS // (462 * 2), axis=0)
    found = agreement_test(pool([grouped(RARELY, rows), grouped(MOSTLY, rows[:, ::-1])]))
    assert found is not None
    assert found.approximate.all()
    assert "(approximate)" in found.say(0)


def test_one_voice_everywhere(tmp_path: Path) -> None:
    tally = crosswise(DOPING)
    found = check(tally)
    assert not found.fits
    assert found.p_value == pytest.approx(3 * 3.43e-5, rel=2e-3)  # two tests of the collections besides
    text = " ".join(found.text().split())
    assert text.startswith("The collections do not seem to come from one population (p < 0.001, below 0.05).")
    assert "is 35.93 % in collection 1 and 14.13 % in collection 2: p < 0.001 (exact)." in text
    assert "noncompliance" in text
    assert "less noise than claimed" not in text
    (group,) = json.loads(found.to_json())["groups"]
    told = group["same_population"]
    assert told | {"p_value": 0, "shares": 0} == {
        "p_value": 0,
        "approximate": False,
        "comparisons": 1,
        "answer": "yes",
        "collections": [1, 2],
        "shares": 0,
    }
    assert found.table()["same population"][0] == told["p_value"] == found.tests[-1].p_value[0]
    assert "p same" in found.to_html()
    with pytest.warns(UserWarning, match="do not seem to come from one population") as warned:
        result = estimate(tally)
    assert "(p < 0.001)" in str(warned[0].message)
    result.save_page(tmp_path / "page.html")
    assert "do not seem to come from one population" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_misfit_and_a_disagreement_have_both_causes() -> None:
    tally = pool(
        [
            Tally(RandomizedResponse(3, odds=(6, 1)), [190, 10, 0]),
            Tally(RandomizedResponse(3, odds=(3, 1)), [40, 80, 80]),
        ]
    )
    text = " ".join(check(tally).text().split())
    assert text.startswith("The reports do not fit their designs")
    assert "less noise than claimed" in text
    assert "Possible causes of different shares" in text


def test_direct_questions_of_two_samples_are_compared() -> None:
    forms = [surveys.direct(reports=reports) for reports in (["yes", "no"], ["A", "B"])]
    found = check(pool([Tally(forms[0], [10, 90]), Tally(forms[1], [40, 60])]))
    assert not found.fits
    assert found.tests[-1].p_value[0] == pytest.approx(found.p_value)
    alike = check(pool([Tally(forms[0], [10, 90]), Tally(forms[1], [10, 90])]))
    assert alike.fits
    assert alike.p_value == 1


def test_power_against_respondents_who_always_say_differ() -> None:
    # 13 % of 460 + 460: power .993; of 100 surveys, 95 or fewer fail with probability 1e-4.
    rng, n = np.random.default_rng(1), 460
    shares = [0.87 * probability_of_yes(one, 0.14) for one in (RARELY, MOSTLY)]  # of "same"
    drawn = [rng.binomial(n, share, 100) for share in shares]
    parts = [grouped(one, np.stack([c, n - c], 1)) for one, c in zip((RARELY, MOSTLY), drawn, strict=True)]
    found = agreement_test(pool(parts))
    assert found is not None
    assert (found.p_value <= 0.05).mean() >= 0.95


def test_the_warning_computes_no_p_value_that_cannot_be_small() -> None:
    rng = np.random.default_rng(2)
    designs = [RandomizedResponse(20, odds=(odds, 1)) for odds in (3, 6)]
    truth = rng.dirichlet(np.ones(20), 30)
    parts = [
        grouped(one, np.array([rng.multinomial(400, one.law.probabilities(row)) for row in truth])) for one in designs
    ]
    evidence = agreement_evidence(pool(parts))
    assert evidence is not None
    assert evidence[0] == 1.0 or evidence[0] < 0.1
