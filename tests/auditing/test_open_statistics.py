"""Statistics of open reports in an audit: distributions by enumeration, and clients that violate them."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from warner import OpenDomain, audit
from warner.auditing.statistics import answers_tried, open_statistics

SURE = 1 - 1e-6  # a level at which an honest client is accused in one of a million audits, at most
WORDS = OpenDomain(epsilon=1, letters="a-z", length=8, step=4)


def all_reports(design: OpenDomain, blocks: Any) -> list[tuple[list[int], Fraction]]:
    """List every report with its probability after one value, in fractions, by the definition of the design."""
    (a, b), g = design.odds, design.field
    listed = []
    for level, weight in enumerate(design.weights, start=1):
        directions = [range(points) if place < level else [0] for place, points in enumerate(design.report_form.points)]
        for direction in itertools.product(*directions):
            product = 0
            for place, (part, block) in enumerate(zip(direction, blocks, strict=True)):
                for power in (g**digit for digit in range(design.digits[place])):
                    product += part // power % g * (block // power % g)
            number = np.prod([design.report_form.points[place] for place in range(level)])
            for s in range(g):
                chance = Fraction(a if s == product % g else b, a + (g - 1) * b)
                listed.append(
                    ([level, *direction, s], Fraction(weight, sum(design.weights)) * chance / Fraction(int(number)))
                )
    return listed


@pytest.mark.parametrize("design", OpenDomain.examples(), ids=repr)
def test_every_law_is_that_of_all_reports(design: OpenDomain) -> None:
    labels, blocks = answers_tried(design, None)
    statistics = open_statistics(design, labels, blocks)
    for answer, row in enumerate(blocks.tolist()):
        listed = all_reports(design, row)
        assert sum(chance for _, chance in listed) == 1
        for statistic in statistics:
            counts = np.array([statistic.count(np.array([report])) for report, _ in listed])
            if statistic.exclusive:
                assert (counts.sum(axis=1) == 1).all()
            if statistic.law is not None:
                expected = np.array([float(chance) for _, chance in listed]) @ counts
                assert_allclose(statistic.law(answer), expected, rtol=1e-12)


def test_an_honest_client_passes_and_shows_nearly_what_it_spends() -> None:
    found = audit(WORDS.randomize, WORDS, runs=20_000, level=SURE)
    assert found.passed
    assert 0.75 < found.epsilon_at_least <= WORDS.epsilon
    assert found.answers == ("a", "zzzzzzzz", "aaaaaaaaa")
    assert "support 'a' but not" in found.text()


def test_a_client_with_other_odds_spends_more_than_it_claims() -> None:
    careless = OpenDomain(epsilon=2, letters="a-z", length=8, step=4, field=WORDS.field)
    found = audit(careless.randomize, WORDS, runs=20_000, level=SURE)
    assert found.exceeds
    assert not found.fits


def test_levels_and_directions_that_are_not_the_designs_are_seen() -> None:
    rng = random.SystemRandom()

    def only_the_last_level(answers: list[str]) -> list[str]:
        blocks = WORDS.values.encoded(answers).blocks
        rows = WORDS.draw_last(blocks, rng.randbytes)
        return list(WORDS.report_form.written(rows))

    def even_directions(answers: list[str]) -> list[str]:
        reports: list[str] = []
        while len(reports) < len(answers):
            more = WORDS.randomize(answers)
            reports += [report for report in more if int(report.split(":")[1], 16) % WORDS.field]
        return reports[: len(answers)]

    found = audit(only_the_last_level, WORDS, runs=2000, level=SURE)
    assert not found.fits
    assert "level 1" in found.text()
    found = audit(even_directions, WORDS, runs=4000, level=SURE)
    assert not found.fits
    assert "of the direction in part 1" in found.text()


def test_numbers_and_bytes_have_answers_to_try() -> None:
    for design in (OpenDomain(epsilon=1, bits=20), OpenDomain(epsilon=1, bytes=4)):
        labels, blocks = answers_tried(design, None)
        assert len(labels) == len(np.unique(blocks, axis=0)) == 3


@pytest.mark.parametrize(
    ("answers", "message"),
    [(["a"], "two or more"), (["a", "A"], "differ once they are normalized"), (["a", " "], "but got ' '")],
)
def test_answers_that_cannot_be_tried_are_one_clear_line(answers: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        audit(WORDS.randomize, WORDS, answers=answers)
