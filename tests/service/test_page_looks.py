"""Accessibility of the page: screen readers (axe), keyboards, narrow screens, dark mode, languages; and its words."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from collecting_cases import open_survey
from service.browsers import accessibility_findings, wait_until
from service.respondents import Book, choose, driving, heading, opened, press, served
from warner import Channel, RandomizedResponse
from warner.designs import MECHANISMS
from warner.designs.facts import full_symmetry
from warner.service.pages import assets
from warner.service.survey import survey_from_json
from warner.text import certainty

if TYPE_CHECKING:
    from service.browsers import ChromiumPage
    from warner.designs import Design

LANGUAGES = json.loads(assets()["words.js"].decode().split("export default ")[1].rstrip(";\n"))["languages"]
ARRIVED = "Your response has arrived"
OPENED = "document.querySelectorAll('details').forEach((fold) => (fold.open = true))"
# What can be pressed, apart from links in a sentence, and how high it is
SMALL = """[...document.querySelectorAll('.choice, button, summary, input[type=text]')]
  .filter((element) => element.getBoundingClientRect().height < 44).map((element) => element.outerHTML)"""
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def long_survey(**fields: Any) -> Any:
    """Return a survey with all kinds of controls and explanations."""
    wide = [[8, 1, 1], [1, 8, 1], [1, 1, 8]]
    outputs = [f"a rather long report number {place}" for place in range(3)]
    designs = [RandomizedResponse([f"town {place}" for place in range(300)], epsilon=5)]
    designs += [Channel([[f"{weight}/10" for weight in row] for row in wide], ["a", "b", "c"], outputs)]  # type: ignore[list-item]
    document = open_survey(designs)
    document["questions"] = [*driving().to_dict()["questions"], *document["questions"]]
    return survey_from_json(json.dumps(document | {"access": "invited", "title": "A survey"} | fields))


@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(tab: ChromiumPage, language: str, scheme: Any) -> None:
    tab.page.emulate_media(color_scheme=scheme)
    words = LANGUAGES[language]
    book = Book(reachable=False)
    with served(driving(language=language), book) as url:
        opened(tab, url)
        press(tab)  # and all is missing
        tab.evaluate(OPENED)
        tab.click(".quiet")
        assert accessibility_findings(tab) == []
        choose(tab, 0, 0, 0, 0)
        press(tab)
        heading(tab, words["waiting"])
        assert accessibility_findings(tab) == []
        book.reachable = True
        press(tab)
        heading(tab, words["arrived"])
        tab.evaluate(OPENED)
        assert accessibility_findings(tab) == []
    with served(long_survey(language=language), Book()) as url:
        opened(tab, url)
        tab.evaluate(OPENED)
        assert accessibility_findings(tab) == []
    tab.page.emulate_media(color_scheme="light")


def test_the_keyboard_is_enough(tab: ChromiumPage) -> None:
    book = Book()
    keyboard = tab.page.keyboard
    with served(driving(), book) as url:
        opened(tab, url)
        for moves in (1, 2, 0, 5):  # within a question by arrows, to the next one past its fold by tab
            while tab.evaluate("document.activeElement.type") != "radio" or tab.evaluate(
                "document.activeElement.closest('fieldset').querySelector(':checked') !== null"
            ):
                keyboard.press("Tab")
            keyboard.press("Space")
            for _ in range(moves):
                keyboard.press("ArrowDown")
        while not tab.evaluate("document.activeElement.matches('main > button')"):
            keyboard.press("Tab")
        keyboard.press("Enter")
        heading(tab, ARRIVED)
        assert tab.evaluate("document.activeElement.tagName") == "H1"  # what is new is read out
        (bundle,) = book.bundles
        assert bundle.cells[1] == (2 + 0,)  # south; both the same
        assert bundle.cells[2] == (6 + 5,)  # skipped


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_narrow_screens_need_no_scrolling(tab: ChromiumPage, language: str) -> None:
    words = LANGUAGES[language]
    tab.resize(320, 640)
    with served(long_survey(language=language), Book()) as url:
        opened(tab, url)
        press(tab)
        tab.evaluate(OPENED)
        assert tab.evaluate(WIDE) == 0
        assert tab.evaluate(SMALL) == []
        assert tab.evaluate("document.documentElement.dir") == ("rtl" if language == "ar" else "ltr")
    with served(driving(language=language), Book()) as url:
        opened(tab, url)
        choose(tab, 0, 0, 0, 0)
        press(tab)
        heading(tab, words["arrived"])
        tab.evaluate(OPENED)
        assert tab.evaluate(WIDE) == 0
    tab.resize(1000, 800)


@pytest.mark.parametrize(
    ("language", "spoken"), [("fr", "fr"), ("es-MX", "es"), ("he", "en"), ("DE", "de"), ("de-DEU", "de")]
)
def test_own_words_are_in_the_language_of_the_survey(tab: ChromiumPage, language: str, spoken: str) -> None:
    words = LANGUAGES[spoken]
    with served(driving(language=language), Book()) as url:
        opened(tab, url)
        assert tab.page.inner_text("main > button") == words["button"]
        assert tab.evaluate("[document.documentElement.lang, document.documentElement.dir]") == [
            language,
            "rtl" if language == "he" else "ltr",
        ]
        # Hebrew is read from the right, but our English within it from the left, and by an English voice.
        own = "(button) => [button.closest('[lang]').lang, getComputedStyle(button).direction]"
        assert tab.evaluate(f"({own})(document.querySelector('main > button'))") == (
            ["en", "ltr"] if language == "he" else [language, "ltr"]
        )


def test_a_long_list_is_searched(tab: ChromiumPage) -> None:
    towns = RandomizedResponse([f"Town {place}" for place in range(300)], odds=(1, 0))
    survey, book = survey_from_json(json.dumps(open_survey([towns]))), Book()
    with served(survey, book) as url:
        opened(tab, url)
        shown = "[...document.querySelectorAll('.choice')].map((choice) => choice.innerText)"
        assert len(tab.evaluate(shown)) == 5  # before anything is typed
        tab.page.fill("input[type=text]", "town")
        assert len(tab.evaluate(shown)) == 20
        tab.page.fill("input[type=text]", "town 29")
        assert tab.evaluate(shown) == ["Town 29", *(f"Town 29{digit}" for digit in range(10))]
        tab.click(".choice:nth-child(3)")
        tab.page.fill("input[type=text]", "no such town")
        assert tab.evaluate(shown) == ["Town 291"]  # what was chosen stays in sight
        press(tab)
        heading(tab, ARRIVED)
        assert book.bundles[0].cells == ((291,),)


def test_every_answer_can_be_found(tab: ChromiumPage) -> None:
    # Each of these is part of twenty others or more, which come before it.
    jobs = [*(f"Engineer, kind {place}" for place in range(25)), "Engineer", *(f"Other {place}" for place in range(9))]
    designs = [RandomizedResponse(jobs, odds=(30, 1)), RandomizedResponse(range(-300, 300), odds=(30, 1))]
    with served(survey_from_json(json.dumps(open_survey(designs))), Book()) as url:
        opened(tab, url)
        for number, wanted in enumerate(["engineer", "1"], 1):
            tab.page.fill(f"fieldset:nth-of-type({number}) input[type=text]", wanted)
            first = tab.page.inner_text(f"fieldset:nth-of-type({number}) .choice:first-child")
            assert first.lower() == wanted


def symmetric_designs() -> list[Design]:
    designs = [example for mechanism in MECHANISMS.values() for example in mechanism.examples()]
    return [design for design in designs if full_symmetry(design.law) is not None and design.k < 500]


def test_the_odds_on_the_page_are_those_of_the_design(tab: ChromiumPage) -> None:
    designs = symmetric_designs()
    assert len({design.mechanism for design in designs}) > 5
    told = "[...document.querySelectorAll('.fold')].map((fold) => fold.innerText)"
    with served(survey_from_json(json.dumps(open_survey(designs))), Book()) as url:
        opened(tab, url)
        tab.evaluate(OPENED)
        texts = tab.evaluate(told)
    for design, text in zip(designs, texts, strict=False):
        assert design.law.symmetry is not None
        if design.law.symmetry.base == 0 and design.law.exclusive:
            assert "is not randomized" in text
            continue
        sentences = re.findall(r"Of ([\d,]+) people .*?, about ([\d,]+) send", text)
        (base, truth), (_, other) = [tuple(int(number.replace(",", "")) for number in pair) for pair in sentences]
        assert truth == pytest.approx(base * float(design.law.symmetry.p), abs=0.5001)
        assert other == pytest.approx(base * design.law.symmetry.base, abs=0.5001)
        if design.law.exclusive:
            assert other >= 1


@pytest.mark.parametrize("odds", [(3, 1), (999, 1), (1, 4), (7, 2)])
def test_privacy_is_explained_with_the_sensitive_answer_as_in_the_notice(
    tab: ChromiumPage, odds: tuple[int, int]
) -> None:
    coin, towns = RandomizedResponse(["yes", "no"], odds=odds), RandomizedResponse(["a", "b", "c"], odds=odds)
    fields = open_survey([coin, towns, towns, RandomizedResponse(range(30), odds=odds)])
    for place, answer in ((2, "b"), (3, "7")):
        fields["questions"][place]["sensitive"] = answer
    survey = survey_from_json(json.dumps(fields))
    with served(survey, Book()) as url:
        opened(tab, url)
        folds = tab.evaluate("[...document.querySelectorAll('fieldset details')].map((fold) => fold.textContent)")
        footer = tab.page.inner_text("footer")
    for question, answer, text in zip(survey.questions, ("yes", "c", "b", "7"), folds, strict=True):
        assert str(question.sensitive_answer) == answer
        assert f"true answer is {answer}, about" in text
        bounds = [certainty(question.design.epsilon, prior).replace(" ", "\N{NO-BREAK SPACE}") for prior in (0.5, 0.1)]
        assert f"thinks that your answer is {answer}, with" in text
        assert f"probability is at most {bounds[0]}. If it was 10 % before, it is at most {bounds[1]}." in text
    assert f"the probability is at most {certainty(survey.epsilon, 0.5)}." in footer.replace("\N{NO-BREAK SPACE}", " ")


def test_lines_of_a_question_stand_apart_and_progress_is_shown(tab: ChromiumPage) -> None:
    fields = driving().to_dict()
    fields["questions"][1]["text"] = "A: Born in May?\nB: Ever cheated?"
    with served(survey_from_json(json.dumps(fields)), Book()) as url:
        opened(tab, url)
        shown = "document.querySelector('.progress').innerText"
        (first, second) = tab.evaluate(
            "[...document.querySelectorAll('fieldset:nth-of-type(3) .wording > *')].map((line) => "
            "[line.innerText, line.getBoundingClientRect().top, line.getBoundingClientRect().bottom])"
        )
        assert (first[0], second[0]) == ("A: Born in May?", "B: Ever cheated?")
        assert first[2] < second[1]
        assert tab.evaluate(shown) == "0 of 4 answered"
        choose(tab, 0, 0)
        assert tab.evaluate(shown) == "2 of 4 answered"
        assert tab.evaluate("document.querySelector('progress').value / document.querySelector('progress').max") == 0.5
        tab.evaluate("window.scrollTo(0, 600)")
        assert tab.evaluate("document.querySelector('.progress').getBoundingClientRect().top") == 0
        choose(tab, 0, 0, 0, 5)  # skipped
        assert tab.evaluate(shown) == "4 of 4 answered"


def test_practice_draws_are_never_sent_and_follow_the_odds(tab: ChromiumPage) -> None:
    # 500 draws at 3/4: the bound is six standard errors, exceeded once in 5e8 runs.
    survey = survey_from_json(json.dumps(open_survey([RandomizedResponse(["yes", "no"], odds=(3, 1))])))
    with served(survey, Book()) as url:
        opened(tab, url)
        before = len(tab.requests)
        tab.evaluate("(() => { for (let i = 0; i < 500; i++) document.querySelector('.quiet').click(); })()")
        said = tab.evaluate("document.querySelector('.drawn').textContent")
        assert len(tab.requests) == before
    found = re.search(r"Of (\d+) practice draws, (\d+) gave B", said)
    assert found is not None
    assert int(found[1]) == 500
    assert abs(int(found[2]) - 375) < 6 * (500 * 3 / 16) ** 0.5


def test_a_table_of_odds_is_that_of_the_channel(tab: ChromiumPage) -> None:
    cells = "[...document.querySelectorAll('td')].map((cell) => cell.innerText)"
    with served(driving(), Book()) as url:
        opened(tab, url)
        tab.evaluate(OPENED)
        wait_until(lambda: tab.evaluate(cells))
        assert tab.evaluate(cells) == ["25", "75", "75", "25"]
        assert tab.evaluate("[...document.querySelectorAll('thead th')].map((cell) => cell.innerText)") == [
            "True answer",
            "Both the same",
            "One yes, one no",
        ]


def test_true_answers_are_not_called_by_the_labels_of_reports(tab: ChromiumPage) -> None:
    crosswise = Channel([["1/4", "3/4"], ["3/4", "1/4"]], ["yes", "no"], ["yes", "no"])
    labels = {"yes": "Both the same", "no": "Different"}
    question = {"id": "both", "text": "Both?", "mode": "person", "labels": labels, "design": crosswise.to_dict()}
    with served(survey_from_json(json.dumps(open_survey(questions=[question]))), Book()) as url:
        opened(tab, url)
        tab.evaluate(OPENED)
        heads = tab.evaluate("[...document.querySelectorAll('th')].map((cell) => cell.innerText)")
    assert heads == ["True answer", "Both the same", "Different", "yes", "no"]


def test_a_channel_without_chance_is_not_called_random(tab: ChromiumPage) -> None:
    designs = [Channel([[1, 0], [0, 1]], ["yes", "no"], ["yes", "no"]), RandomizedResponse(["yes", "no"], odds=(1, 0))]
    with served(survey_from_json(json.dumps(open_survey(designs))), Book()) as url:
        opened(tab, url)
        tab.evaluate(OPENED)
        for text in tab.evaluate("[...document.querySelectorAll('fieldset')].map((field) => field.innerText)"):
            assert "It is not randomized." in text
            assert "draws lots" not in text
