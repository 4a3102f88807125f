"""Files of the browser's profile during and after a response: no trace of the answers.

Chromium saves the state of every control of a page unless it has ``autocomplete="off"``; Firefox saves it all the same
wherever it differs from the default. So the whole folder is searched, once a browser has written what was typed last,
into a field that the test adds to the page, and that has nothing of this.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cases import COIN
from collecting_cases import open_survey
from service.browsers import browser, wait_until
from service.respondents import Book, choose, heading, opened, press, served
from warner import RandomizedResponse, SquareWave
from warner.service.pages import assets
from warner.service.survey import survey_from_json

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = 60.0  # seconds within which a browser writes the state of its tabs
ARRIVED = "Your response has arrived"
NAMES = "[...new Set([...document.querySelectorAll('input')].map((input) => input.name).filter(Boolean))]"
TYPED = "TOwn 2"  # not as in the survey itself
NUMBER = "7.3219864243"
WATCHED = "pumpernickel 5"
FIELD = (
    "(() => { const field = document.createElement('input'); field.id = 'watched'; document.body.append(field); })()"
)
MOZILLA = b"mozLz40\0"


def unpacked(block: bytes) -> bytes:
    """Unpack a block of LZ4, in which Firefox keeps its sessions: literal bytes, and copies of what came before."""
    out, place = bytearray(), 0

    def extended(length: int, place: int) -> tuple[int, int]:
        if length == 15:
            while True:
                more, place = block[place], place + 1
                length += more
                if more < 255:
                    break
        return length, place

    while place < len(block):
        token = block[place]
        literals, place = extended(token >> 4, place + 1)
        out += block[place : place + literals]
        place += literals
        if place >= len(block):
            break
        distance = int.from_bytes(block[place : place + 2], "little")
        copied, place = extended(token & 15, place + 2)
        for _ in range(copied + 4):
            out.append(out[-distance])
    return bytes(out)


def found(folder: Path, texts: list[str]) -> dict[str, list[str]]:
    """Search all files of a folder for texts, in UTF-8 and UTF-16."""
    where: dict[str, list[str]] = {}
    for path in folder.rglob("*"):
        try:
            content = path.read_bytes() if path.is_file() else b""
        except OSError:
            continue
        if content.startswith(MOZILLA):
            content = unpacked(content[12:])
        for text in texts:
            if text.encode() in content or text.encode("utf-16-le") in content:
                where.setdefault(text, []).append(str(path.relative_to(folder)))
    return where


def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve the script without what keeps browsers from writing choices down."""
    script = assets()["page.js"].decode()
    defaults = ("input.defaultChecked = input.checked;", "input.defaultValue = input.value")
    for precaution in ('autocomplete: "off", ', *defaults):
        assert precaution in script
        script = script.replace(precaution, "")
    monkeypatch.setattr("warner.service.app.assets", lambda: {**assets(), "page.js": script.encode()})


@pytest.mark.parametrize("careful", [True, False])
@pytest.mark.parametrize("name", ["chromium", "firefox"])
def test_no_answer_is_written_to_the_profile(
    name: str, careful: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not careful:
        careless(monkeypatch)
    options = {"browser_sessionstore_interval": 500} if name == "firefox" else {}
    towns = RandomizedResponse([f"town {place}" for place in range(30)], odds=(9, 1))
    wave = SquareWave(range(30), epsilon=1)
    survey = survey_from_json(json.dumps(open_survey([COIN, towns, wave])))
    with served(survey, Book()) as url, browser(name, tmp_path, **options) as page:
        opened(page, url)
        choose(page, 1)
        page.type("fieldset:nth-of-type(2) input[type=text]", TYPED)
        page.click("fieldset:nth-of-type(2) .choice")
        page.type(".typed", NUMBER)
        names: list[str] = [*page.evaluate(NAMES), TYPED, NUMBER]
        assert all(len(group) > 5 for group in names)
        page.evaluate(FIELD)
        page.type("#watched", WATCHED)
        # Once it is there, the browser has written, and the search can see it.
        wait_until(lambda: found(tmp_path, [WATCHED]), WRITTEN, pause=0.2)
        if careful:
            assert found(tmp_path, names) == {}
        else:  # and this is what it would find
            wait_until(lambda: len(found(tmp_path, names)) == len(names), WRITTEN, pause=0.2)
        press(page)
        heading(page, ARRIVED)
    if careful:
        assert found(tmp_path, [*names, '"reports":["', r"\"reports\":[\""]) == {}
