"""Messages of the page before its questions: used invitations, opening times; the same epsilon everywhere."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING

import pytest

from collecting_cases import open_survey
from service.browsers import wait_until
from service.dashboards import dashboard, nothing
from service.respondents import TOKEN, Book, driving, heading, opened, posts, served
from warner import RandomizedResponse
from warner.service.dashboard_data import reading
from warner.service.pages import hosted_page
from warner.service.server import Places, _Door, opening
from warner.service.survey import Survey, survey_from_json

if TYPE_CHECKING:
    from pathlib import Path

    from service.browsers import Page

USED = "This invitation has already been used"
TOKEN_BYTES = base64.urlsafe_b64decode(f"{TOKEN}==")
FIELDS = "document.querySelectorAll('fieldset').length"
TEXT = "document.querySelector('main').innerText"


def test_a_used_invitation_says_so_before_anything_is_asked(page: Page) -> None:
    book = Book(tokens={TOKEN_BYTES: b"spent"}, invited=True)
    with served(driving(access="invited"), book) as url:
        before = len(posts(page))
        page.goto(f"{url}#t={TOKEN}")
        heading(page, USED)
        assert page.evaluate(FIELDS) == 0
        assert "nothing left to fill in here" in page.evaluate(TEXT)
        assert page.evaluate("sessionStorage.length") == 0
        assert len(posts(page)) == before  # no response was sent
        asked = json.loads(posts(page, "standing")[-1].body)
        assert (sorted(asked), asked["token"]) == (["survey", "token"], TOKEN)


def test_a_code_that_was_used_says_so_as_soon_as_it_is_typed(page: Page) -> None:
    book = Book(tokens={TOKEN_BYTES: b"spent"}, invited=True)
    with served(driving(access="invited"), book) as url:
        opened(page, url)
        page.type("input.code", TOKEN)
        page.evaluate("document.querySelector('input.code').dispatchEvent(new Event('change'))")
        heading(page, USED)
        assert page.evaluate(FIELDS) == 0


def test_a_server_that_does_not_answer_beforehand_keeps_nobody_from_answering(page: Page) -> None:
    book = Book(tokens={TOKEN_BYTES: b""}, invited=True, reachable=False)
    with served(driving(access="invited"), book) as url:
        opened(page, f"{url}#t={TOKEN}")
        assert page.evaluate(FIELDS) == 4


def test_a_survey_that_is_open_to_all_asks_nothing_beforehand(page: Page) -> None:
    with served(driving(), Book()) as url:
        before = len(posts(page, "standing"))
        opened(page, url)
        assert len(posts(page, "standing")) == before


def test_the_page_says_until_when_the_survey_is_open(page: Page) -> None:
    with served(driving(opens="2001-12-01T08:00Z", closes="2101-12-01T08:00Z"), Book()) as url:
        opened(page, url)
        assert re.search(r"This survey is open until (December 1|November 30), 2101", page.evaluate(TEXT))


def test_a_page_that_lies_elsewhere_hears_that_the_survey_is_closed(page: Page, tmp_path: Path) -> None:
    survey, book = driving(closes="2101-12-01T08:00Z"), Book(closed=True)
    with served(survey, book, origins=("null",)) as url:
        path = tmp_path / "page.html"
        path.write_text(hosted_page(survey, url.rsplit("/s/", 1)[0]), encoding="utf-8")
        page.goto(path.as_uri())
        wait_until(lambda: "closed" in page.evaluate(TEXT) or page.evaluate(FIELDS))
        assert page.evaluate(FIELDS) == 0


@pytest.mark.parametrize("epsilons", [("6.5",), ("3", "3.5"), ("0.1", "1.0986"), ("2.2222222",)])
def test_epsilon_is_one_number_on_page_dashboard_and_screen(page: Page, epsilons: tuple[str, ...]) -> None:
    designs = [RandomizedResponse(["yes", "no"], epsilon=epsilon) for epsilon in epsilons]
    survey = survey_from_json(json.dumps(open_survey(designs)))
    shown = survey.shown_epsilon
    assert float(shown) >= survey.epsilon  # never less than what is spent
    with served(survey, Book()) as url:
        opened(page, url)
        (on_page,) = re.findall(r"epsilon ([0-9.]+) for all", page.evaluate(TEXT))
    assert on_page == shown
    board = nothing(survey)
    assert reading(board)["epsilon"] == shown
    assert _said(survey) == shown
    with dashboard(board) as running:
        page.goto(running.link)
        wait_until(lambda: "Epsilon of all questions together" in page.evaluate(TEXT))
        assert re.search(rf"Epsilon of all questions together\s+{re.escape(shown)}\s", page.evaluate(TEXT))


def _said(survey: Survey) -> str:
    """Return the epsilon that the operator is told at the start."""
    from warner.service.server import Address

    with Address("127.0.0.1", 0).bound() as listening:
        door = _Door("127.0.0.1", listening, None)
        lines = opening(nothing(survey), Places("x.db", door, door), "key")
    (found,) = re.findall(r"at most epsilon ([0-9.]+), for", "\n".join(lines))
    return str(found)


def test_a_wrong_epsilon_from_the_server_is_not_believed(page: Page) -> None:
    survey = survey_from_json(json.dumps(open_survey([RandomizedResponse(["yes", "no"], epsilon="6.5")])))
    with served(survey, Book()) as url:
        opened(page, url)
        script = page.evaluate("document.querySelector('script[type=module]').src")
        for told in ("6.4", "0.1", "9", "x", ""):
            found = page.evaluate(
                f"import({script!r}).then(({{ opened }}) => opened(JSON.parse(document.getElementById('warner-survey')"
                f".textContent).survey, undefined, {told!r})).then((form) => form.shown)"
            )
            assert 6.5 <= found < 6.51


@pytest.mark.parametrize(
    ("address", "said", "unsaid"), [("informal", "Dein Browser", "Ihr"), ("formal", "Ihr Browser", "dein")]
)
def test_a_german_page_says_du_or_sie(page: Page, address: str, said: str, unsaid: str) -> None:
    with served(driving(language="de", address=address), Book()) as url:
        opened(page, url)
        text = page.evaluate("document.querySelector('main').textContent")
        assert said in text
        assert not re.search(rf"\b{unsaid}(e|em|en|er|es)?\b", text, re.IGNORECASE if unsaid == "dein" else 0)
