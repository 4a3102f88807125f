"""Respondents for the tests: a server whose book can be read, and what a person does on its page."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from collecting_cases import open_survey
from service.browsers import wait_until
from service.serving import listening
from warner import Channel, RandomizedResponse
from warner.service.app import Rate, survey_app
from warner.service.stores.contract import Outcome
from warner.service.survey import survey_from_json
from warner.service.writer import NotKeptError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from service.browsers import Page
    from warner.service.responses import Bundle
    from warner.service.survey import Survey

# Words that stand nowhere but in the answers
LABELS = ["zanzibar", "quokka", "fjord", "yurt", "pumice"]
CROSSWISE = Channel([["1/4", "3/4"], ["3/4", "1/4"]], ["yes", "no"], ["same", "differ"])
TOKEN = "AAECAwQFBgcICQoLDA0ODw"
WORDS = "[...document.querySelectorAll('h1')].map((heading) => heading.innerText).join()"


def driving(**fields: Any) -> Survey:
    """Return a survey with a group, a question for the browser, one for the person, and an optional one."""
    response = RandomizedResponse(LABELS, odds=(3, 1)).to_dict()
    text = {"often": "How often?", "both": "Are both answers the same?", "maybe": "And how often before?"}
    labels = {"same": "Both the same", "differ": "One yes, one no"}
    questions = [
        {"id": "often", "text": text["often"], "help": "A help.", "mode": "device", "design": response},
        {"id": "both", "text": text["both"], "mode": "person", "labels": labels, "design": CROSSWISE.to_dict()},
        {"id": "maybe", "text": text["maybe"], "mode": "device", "optional": True, "design": response},
    ]
    groups = [{"id": "region", "text": "Where do you live?", "values": ["north", "south"]}]
    texts = {"title": "A survey", "intro": "An introduction.", "consent": "A consent.", "thanks": "Many thanks."}
    return survey_from_json(json.dumps(open_survey(**texts, groups=groups, questions=questions) | fields))


@dataclass
class Book:
    """Stand-in for the writer that accepts responses and can be read."""

    kept: dict[bytes, Bundle] = field(default_factory=dict)  # by nonce
    tokens: dict[bytes, bytes] = field(default_factory=dict)  # invitations, and the nonces that spent them
    invited: bool = False
    reachable: bool = True
    closed: bool = False
    early: bool = False

    async def keep(self, bundle: Bundle) -> Outcome:
        if not self.reachable:
            raise NotKeptError
        if self.closed or self.early:
            return Outcome.CLOSED if self.closed else Outcome.EARLY
        if self.invited:
            if bundle.token not in self.tokens:
                return Outcome.UNINVITED
            spent = self.tokens[bundle.token] or bundle.nonce
            self.tokens[bundle.token] = spent
            if spent != bundle.nonce:
                return Outcome.USED
        self.kept.setdefault(bundle.nonce, bundle)
        return Outcome.KEPT

    async def standing(self, token: bytes | None) -> Outcome | None:
        if not self.reachable:
            raise NotKeptError
        if self.closed or self.early:
            return Outcome.CLOSED if self.closed else Outcome.EARLY
        return Outcome.USED if token is not None and self.tokens.get(token) else None

    async def healthy(self) -> bool:
        return self.reachable

    @property
    def bundles(self) -> list[Bundle]:
        return list(self.kept.values())


@contextmanager
def served(survey: Survey, book: Book, origins: Collection[str] = ()) -> Iterator[str]:
    """Serve a survey, and give the address of its page."""
    with listening(survey_app(survey, book, rate=Rate(0), origins=origins)) as listener:
        yield f"http://127.0.0.1:{listener.port}/s/{survey.id}"


def opened(page: Page, url: str) -> None:
    """Open a survey, and wait for its questions."""
    page.goto(url)
    wait_until(lambda: page.evaluate("document.querySelectorAll('fieldset').length"))


def choose(page: Page, *places: int) -> None:
    """Choose an answer to each group and question, by its place."""
    for number, place in enumerate(places, 1):
        page.click(f"fieldset:nth-of-type({number}) .choice:nth-child({place + 1})")


def press(page: Page) -> None:
    page.click("main > button")


def heading(page: Page, *words: str) -> None:
    """Wait until the page has this heading."""
    wait_until(lambda: page.evaluate(WORDS) in words)


def posts(page: Page, door: str = "report") -> list[Any]:
    """Return the requests by which responses were sent, or what was asked before (`standing`)."""
    return [request for request in page.requests if request.method == "POST" and request.url.endswith(f"/{door}")]
