"""Questions that are answered by a number: what the page understands, rounds, sends and says; that it keeps nothing."""

from __future__ import annotations

import json
import random
import subprocess
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from collecting_cases import open_survey
from service.browsers import accessibility_findings
from service.nodes import HERE, WEB, node
from service.respondents import Book, heading, opened, posts, press, served
from warner import CutoffResponse, SquareWave, grid
from warner.designs import MECHANISMS
from warner.designs.facts import full_symmetry
from warner.designs.ordered import nearest
from warner.service.responses import Bodies
from warner.service.survey import survey_from_json

if TYPE_CHECKING:
    from service.browsers import ChromiumPage, Page
    from warner.service.survey import Survey

ARRIVED = "Your response has arrived"
INCOMES = SquareWave(grid(0, 200_000, 1_000), epsilon=1, quantity="mean")
AGES = CutoffResponse(range(18, 100), epsilon=1)
LEFT = """async () => [sessionStorage.length, localStorage.length, document.cookie, history.state, location.hash,
  (await indexedDB.databases?.() ?? []).length, (await caches.keys()).length]"""
NOTHING_LEFT = [0, 0, "", None, "", 0, 0]
TYPED = "73219.8642"  # a number that stands nowhere else


def asked(cases: list[dict[str, Any]]) -> list[Any]:
    """Call the page's own modules in Node."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    command = [node(), str(HERE / "numbers.mjs"), str(WEB)]
    done = subprocess.run(command, check=True, input=lines, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


# What is understood, and rounded


READINGS: list[tuple[str, str, str | None]] = [
    ("en", "36499.5", "36499.5"),
    ("en", " 12,000 ", "12000"),
    ("en", "1,234,567.25", "1234567.25"),
    ("en", "12,5", "12.5"),  # a decimal comma, which groups nothing
    ("en", "0,500", "0.500"),
    ("en", "12.000", "12.000"),
    ("de", "12.000", "12000"),
    ("de", "12.000,5", "12000.5"),
    ("de", "12.5", "12.5"),
    ("fr", "12\u202f000", "12000"),
    ("de-CH", "12’000", "12000"),
    ("es", "1 234,5", "1234.5"),
    ("ar", "٣٦٬٥٠٠", "36500"),
    ("ar", "٣٦٫٥", "36.5"),
    ("en", "\u221231", "-31"),
    ("en", "+7", "7"),
    ("en", "１２", "12"),
    ("en", "5.", "5"),
    ("en", "007", "7"),
    *[("en", wrong, None) for wrong in ("", "-", "abc", "1e5", "1 2", "1,23,456", "12 0000", "NaN", "0x10", "1/2")],
    *[("en", wrong, None) for wrong in ("1.2.3", "--1", "9" * 41, ".")],
]


@cache
def readings() -> dict[tuple[str, str], str | None]:
    """Read all numbers with the page's modules, in one process."""
    cases = [{"what": "read", "text": written, "languages": [language, "en"]} for language, written, _ in READINGS]
    return dict(zip(((language, written) for language, written, _ in READINGS), asked(cases), strict=True))


@pytest.mark.parametrize(("language", "written", "number"), READINGS)
def test_numbers_are_read_as_people_write_them(language: str, written: str, number: str | None) -> None:
    assert readings()[language, written] == number


def test_the_browser_rounds_as_python_does() -> None:
    rng = random.Random(1)
    domains: list[Any] = [
        *(range(0, 200_001, 1_000), range(18, 100), range(-7, 30, 3)),
        *(grid(-1, 1, "0.05"), grid(0, 2, "0.125"), grid("0.5", 20, "0.5"), [5, 7, 9]),
    ]
    cases, expected = [], []
    for domain in domains:
        first, step = Decimal(str(domain[0])), Decimal(str(domain[1])) - Decimal(str(domain[0]))
        last = Decimal(str(domain[-1]))
        for _ in range(60):
            halves = first + step * rng.randrange(-5, 2 * len(domain) + 5) / 2  # at and between the answers
            number = halves + Decimal(rng.choice(["0", "0.0001", "-0.0001"]))
            listed: Any = list(domain) if len(domain) < 200 else {"first": 0, "size": len(domain), "step": 1000}
            cases.append({"what": "nearest", "domain": listed, "text": f"{number:f}"})
            place = list(domain).index(nearest(domain, number))
            expected.append({"beyond": not first <= number <= last, "place": place})
    assert asked(cases) == expected


def test_labels_that_are_no_even_grid_are_not_rounded_to() -> None:
    wrong: list[Any] = [["a", "b"], [1, 2, 4], ["0.5", "1", "2"], [3, 2, 1], ["1", "x"], ["1", "2", "3.5"]]
    assert asked([{"what": "nearest", "domain": domain, "text": "1"} for domain in wrong]) == [None] * len(wrong)


def test_what_a_design_tells_in_javascript_is_its_law() -> None:
    designs = [design for mechanism in MECHANISMS.values() for design in mechanism.examples() if design.k < 100]
    told = asked([{"what": "facts", "design": design.to_dict()} for design in designs])
    for design, facts in zip(designs, told, strict=True):
        assert ("chances" in facts) != ("held" in facts), design  # one of them
        if "chances" in facts:
            np.testing.assert_allclose(facts["chances"], design.as_channel().channel(), rtol=1e-14, atol=1e-16)
        elif (symmetry := full_symmetry(design.law)) is not None:  # no other facts of all answers alike to compare with
            np.testing.assert_allclose(facts["held"], [float(symmetry.p), symmetry.base], rtol=1e-14)


# The page


def numbers(**fields: Any) -> Survey:
    """Return a survey that asks for an income and an age, of which the age may be skipped."""
    document = open_survey([INCOMES, AGES])
    document["questions"][1]["optional"] = True
    return survey_from_json(json.dumps(document | fields))


def used(page: Page) -> list[str]:
    said: list[str] = page.evaluate("[...document.querySelectorAll('.used')].map((said) => said.innerText)")
    return said


def test_a_number_is_rounded_drawn_and_forgotten(page: Page) -> None:
    survey, book = numbers(), Book()
    with served(survey, book) as url:
        before, said = len(page.requests), len(page.console)
        opened(page, url)
        page.type("fieldset:nth-of-type(1) .typed", TYPED)
        page.type("fieldset:nth-of-type(2) .typed", "17")
        assert used(page) == ["Your browser will use 73,000.", "This is outside the range. Your browser will use 18."]
        assert page.evaluate(LEFT) == NOTHING_LEFT
        press(page)
        heading(page, ARRIVED)
        requests = page.requests[before:]
        (sent,) = [request for request in requests if request.method == "POST"]
        everything = json.dumps([[request.url, request.headers, request.body.decode()] for request in requests])
        assert not any(part in everything for part in (TYPED, "73219", "73000", "73,000"))
        assert book.bundles == [Bodies(survey).read(sent.body)]
        assert json.loads(sent.body).keys() == {"survey", "nonce", "token", "reports"}
        assert page.evaluate(LEFT) == NOTHING_LEFT
        assert page.evaluate("document.querySelectorAll('input, .used').length") == 0
        (income,), (age,) = book.bundles[0].cells
        page.click("summary")
        texts = page.evaluate("[...document.querySelectorAll('dd')].map((said) => said.innerText)")
        report = int(INCOMES.law.columns[income])
        shown = f"{report:,}" if abs(report) >= 10_000 else str(report)
        kind, limit = str(AGES.law.columns[age]).split()
        word = {"<": "below", ">=": "at least"}[kind]
        assert texts == [
            f"{shown} (a number drawn at random, near your own or further away)",
            f"“{word} {limit}” (which may or may not be true)",
        ]
        assert page.console[said:] == []


def test_what_is_no_number_is_asked_for_again_and_a_question_can_be_skipped(page: Page) -> None:
    survey, book = numbers(), Book()
    with served(survey, book) as url:
        before = len(posts(page))
        opened(page, url)
        page.type("fieldset:nth-of-type(1) .typed", "a lot")
        press(page)
        invalid = "[...document.querySelectorAll('.typed')].map((input) => input.getAttribute('aria-invalid'))"
        assert page.evaluate(invalid) == ["true", "true"]
        assert page.evaluate("document.activeElement === document.querySelector('.typed')")
        wrong = "[...document.querySelectorAll('fieldset .error')].map((error) => error.innerText)"
        assert page.evaluate(wrong)[1] == "Please enter a number from 18 to 99."
        assert len(posts(page)) == before
        page.evaluate("void (document.querySelector('.typed').value = '')")
        page.type("fieldset:nth-of-type(1) .typed", "5")
        assert used(page) == ["Your browser will use 0.", ""]
        page.click("fieldset:nth-of-type(2) .choice")
        assert page.evaluate(invalid) == [None, None]
        press(page)
        heading(page, ARRIVED)
        assert book.bundles[0].cells[1] == (survey.layouts[1].width - 1,)


def test_reload_and_back_restore_no_number(page: Page) -> None:
    values = "[...document.querySelectorAll('.typed')].map((input) => input.value)"
    with served(numbers(), Book()) as url:
        opened(page, url)
        page.type("fieldset:nth-of-type(1) .typed", TYPED)
        assert page.evaluate(values) == [TYPED, ""]
        page.reload()
        opened(page, url)
        assert page.evaluate(values) == ["", ""]
        page.type("fieldset:nth-of-type(1) .typed", TYPED)
        page.goto(url.rsplit("/s/", 1)[0] + "/health")
        page.back()
        opened(page, url)
        assert page.evaluate(values) == ["", ""]


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_a_number_for_everybody(tab: ChromiumPage, language: str) -> None:
    tab.resize(320, 640)
    with served(numbers(language=language), Book()) as url:
        opened(tab, url)
        press(tab)
        tab.type("fieldset:nth-of-type(2) .typed", "44")
        tab.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
        tab.click(".quiet")
        assert accessibility_findings(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        assert tab.evaluate("[...document.querySelectorAll('.used')].every((said) => said.translate === false)")
    tab.resize(1000, 800)


def test_the_keyboard_is_enough_for_numbers(tab: ChromiumPage) -> None:
    book = Book()
    with served(numbers(), book) as url:
        opened(tab, url)
        for number in ("36500", "40"):
            while not tab.evaluate("document.activeElement.matches('.typed') && !document.activeElement.value"):
                tab.page.keyboard.press("Tab")
            tab.page.keyboard.type(number)
        while not tab.evaluate("document.activeElement.matches('main > button')"):
            tab.page.keyboard.press("Tab")
        tab.page.keyboard.press("Enter")
        heading(tab, ARRIVED)
        assert len(book.bundles) == 1


def test_numbers_in_few_steps_and_those_with_labels_are_chosen(tab: ChromiumPage) -> None:
    document = open_survey([SquareWave(range(1, 8), epsilon=1), SquareWave(range(20), epsilon=1)])
    document["questions"][1]["labels"] = {str(place): f"{place} times" for place in range(20)}
    with served(survey_from_json(json.dumps(document)), Book()) as url:
        opened(tab, url)
        assert tab.evaluate("document.querySelectorAll('.typed').length") == 0
        assert tab.evaluate("document.querySelectorAll('fieldset:nth-of-type(1) .choice').length") == 7
