"""Tables for papers: the digits that mean something, and every label as it is."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from warner import RandomizedResponse, Tally, estimate, plan, surveys
from warner.typesetting import html, latex, markdown

SURVEY = RandomizedResponse(["50 % & more", "a_b|c", "<none>"], odds=(6, 1))
COUNTS = [400, 350, 250]


def test_every_form_has_the_numbers_of_the_table() -> None:
    result = estimate(Tally(SURVEY, COUNTS))
    table = result.table(level=0.9)
    for text in (result.to_markdown(level=0.9), result.to_latex(level=0.9), result.to_html(level=0.9)):
        for share, low, high in zip(table["share"], table["low"], table["high"], strict=True):
            assert f"{100 * share:.2f}" in text
            assert f"{100 * low:.2f} to {100 * high:.2f}" in text
        assert "90" in text
        assert "outside" not in text


def test_wide_intervals_have_fewer_digits() -> None:
    text = estimate(Tally(surveys.crosswise("1/4"), [30, 50])).to_markdown()
    assert re.search(r"\| \d+\.\d \|", text)
    assert not re.search(r"\.\d\d", text)


def test_what_is_approximate_says_so() -> None:
    weighted = estimate(Tally(SURVEY, [400.0, 350.0, 250.0], squares=1200.0))
    assert "approximate 95 % interval" in weighted.to_markdown()
    assert "approximate" not in estimate(Tally(SURVEY, COUNTS)).to_latex()


def test_groups_and_groups_without_reports() -> None:
    grouped = estimate(Tally(SURVEY, [COUNTS, [0, 0, 0]], by=("region",), groups=(("north",), (None,))))
    assert grouped.to_markdown().splitlines()[0].startswith("| region | value | reports | share (%) |")
    assert grouped.to_markdown().splitlines()[-1] == "| None | <none> | 0 |  |  |"


def test_labels_survive() -> None:
    columns = {"value": ["50 % & more", "a_b|c", "<none>", "a\nb", "x\\y^z~"], "n": ["1", "2", "3", "4", "5"]}
    assert r"50 \% \& more & 1 \\" in latex(columns)
    assert r"x\textbackslash{}y\textasciicircum{}z\textasciitilde{} & 5 \\" in latex(columns)
    assert r"| a_b\|c | 2 |" in markdown(columns)
    assert len(markdown(columns).splitlines()) == 7
    cells: list[str] = []

    class Cells(HTMLParser):
        def handle_data(self, data: str) -> None:
            cells.append(data)

    Cells().feed(html(columns))
    assert {"50 % & more", "<none>"} <= set(cells)


@pytest.mark.parametrize("form", ["to_markdown", "to_latex", "to_html"])
def test_every_result_has_these_tables(form: str) -> None:
    assert "half" in getattr(plan(SURVEY, people=1000), form)()
