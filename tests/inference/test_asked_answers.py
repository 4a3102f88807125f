"""Number of respondents asked about each answer: exact p-values, the level, and clients that choose the question."""

from __future__ import annotations

import json
from fractions import Fraction
from math import comb

import numpy as np
import pytest

import warner
from warner import BitFlips, Memoized, Tally, UnaryEncoding, check

ANSWERS = ["a", "b", "c", "d", "e", "f"]
DESIGN = BitFlips(ANSWERS, odds=(3, 1), size=2)


def drawn(n: int, seed: int, design: BitFlips = DESIGN) -> np.ndarray:
    """Draw reports of people most of whom hold the same answer."""
    rng = np.random.default_rng(seed)
    return design.draw(rng.choice(design.k, p=[0.7, *[0.3 / (design.k - 1)] * (design.k - 1)], size=n), rng.bytes)


def test_the_p_value_is_that_of_the_binomial_law() -> None:
    # Six people, one of three answers each: a was asked about 5 times, b once, c never. By hand, in fractions:
    # P(Bin(6, 1/3) >= 5) = (6 * 2 + 1) / 3^6 = 13/729 and P(Bin(6, 1/3) <= 0) = 64/729; so 2 * 3 * 13/729.
    design = BitFlips(["a", "b", "c"], odds=(2, 1), size=1)
    (findings,) = check(Tally(design, [3, 1, 0, 2, 0, 0])).findings
    (test,) = [test for test in findings.tests if test.name == "answers asked about"]
    tail = sum(Fraction(comb(6, times) * 2 ** (6 - times), 3**6) for times in (5, 6))
    assert tail == Fraction(13, 729)
    assert test.p_value[0] == pytest.approx(float(6 * tail), rel=1e-12)
    assert "'a' 5 times, where 2.0 are expected whatever the true answers are: p = 0.107 (exact)" in test.say(0)


def test_reports_that_fit_are_rarely_refused_and_nearly_as_often_as_they_may() -> None:
    # The p-value of the test alone is below 0.2 in at most 20 % of 400 surveys: 112 or more have a probability of 1e-4.
    p_values = []
    for seed in range(400):
        (findings,) = check(warner.tally(drawn(300, seed), DESIGN, codes=True), simulations=1).findings
        p_values += [test.p_value[0] for test in findings.tests if test.name == "answers asked about"]
    assert len(p_values) == 400
    assert 20 < sum(p < 0.2 for p in p_values) < 112


@pytest.mark.parametrize("kind", ["prefers", "truth"])
def test_a_client_that_chooses_is_found(kind: str) -> None:
    reports = drawn(4000, 1)
    rng = np.random.default_rng(2)
    asked = np.unpackbits(reports[:, :1], axis=1, count=6).astype(bool)
    # It asks more often about b; or it asks about a more often, which most respondents have.
    kept = asked[:, 1 if kind == "prefers" else 0] | (rng.random(4000) < 0.8)
    result = check(warner.tally(reports[kept], DESIGN, codes=True))
    assert not result.fits
    assert "How often each answer was asked about: 'b'" in result.text() or kind == "truth"
    tests = json.loads(result.to_json())["groups"][0]["collections"][0]["tests"]
    assert {test["name"] for test in tests} == {"possible range", "answers asked about"}
    assert min(tests, key=lambda test: test["p_value"])["name"] == "answers asked about"
    with pytest.warns(UserWarning, match="asked about more or less often than by chance"):
        warner.estimate(warner.tally(reports[kept], DESIGN, codes=True))


def test_groups_are_tested_apart() -> None:
    reports = drawn(4000, 3)
    asked = np.unpackbits(reports[:, :1], axis=1, count=6).astype(bool)
    rows = np.concatenate([reports, reports[asked[:, 2]]])
    place = ["all"] * 4000 + ["c alone"] * int(asked[:, 2].sum())
    table = {"report": DESIGN.report_form.written(rows).tolist(), "place": place}
    result = check(warner.tally(table, DESIGN, column="report", by="place"))
    assert result.group_fits.tolist() == [True, False]
    assert "p asked" in result.text()


def test_with_weights_it_is_approximate() -> None:
    table = {"report": DESIGN.report_form.written(drawn(300, 4)).tolist(), "weight": [1.0, 2.0, 3.0] * 100}
    (findings,) = check(warner.tally(table, DESIGN, column="report", weights="weight")).findings
    (test,) = [test for test in findings.tests if test.name == "answers asked about"]
    assert "(approximate)" in test.say(0)


def test_it_is_for_those_designs_alone_that_ask_about_some_answers() -> None:
    everything = BitFlips(ANSWERS, odds=(3, 1), size=6)
    for design in (everything, UnaryEncoding(ANSWERS, odds=(3, 1))):
        result = check(
            warner.tally(design.draw(np.zeros(50, dtype=int), np.random.default_rng(1).bytes), design, codes=True)
        )
        assert "answers asked about" not in {test.name for part in result.findings for test in part.tests}
    kept = Memoized.bit_flips(ANSWERS, eps_infinity=2, size=2)
    counts = [20, 20, 20, 20, 20, 20, 47, 47, 47, 46, 46, 47]
    (findings,) = check(Tally(kept, counts, n=200)).findings
    assert "answers asked about" in {test.name for test in findings.tests}
