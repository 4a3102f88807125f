"""The respondents' page: a shell in HTML that holds the survey as JSON; what is asked is built by its script.

There is no form and no named field in it that a browser could submit: without script nothing can be filled in, and the
page says so. It comes in two kinds. The one that the collecting server sends (`page`) loads its script from there. The
other (`hosted_page`) is a single file for another host, with everything inside, so that its hash can be published: then
the people who run the server cannot alter what the respondents' browsers do. Its policy allows this very script and
no other, and connections to the collecting server only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import datetime
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from warner.service.addresses import split_address
from warner.service.assets import WEB_FOLDER, address

if TYPE_CHECKING:
    from warner.service.survey import Survey

SURVEY_STATES = ("early", "open", "closed")
PAGE_MODULES = (
    "warner.js",
    "fingerprint.js",
    "numbers.js",
    "open.js",
    "sets.js",
    "page.js",
)  # those that are imported come first
MODULES_ALWAYS_LOADED = ("page.js", "warner.js", "fingerprint.js", "numbers.js")  # the only ones for labels
IMPORT_STATEMENT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT_STATEMENT = re.compile(r"^export ((?:async )?function|const) (\w+)", re.MULTILINE)


def page(survey: Survey, state: str = "open") -> str:
    """Give the page of a survey on its own server.

    Parameters
    ----------
    survey : Survey
        What is asked.
    state : {"early", "open", "closed"}
        Before and after it is open, the page says so, and asks nothing.

    Examples
    --------
    >>> from warner.service.survey import load_survey
    >>> text = page(load_survey("examples/survey.json"))
    >>> text.count("<script"), "<form" in text, "<input" in text  # the survey, and what builds the questions
    (2, False, False)
    """
    preloaded = "".join(f'<link rel="modulepreload" href="{address(name)}">\n' for name in MODULES_ALWAYS_LOADED[1:])
    script = f'{preloaded}<script type="module" src="{address(MODULES_ALWAYS_LOADED[0])}"></script>\n'
    return _shell(survey, place=f"/s/{survey.id}", head=script if state == "open" else "", state=state)


def policy() -> str:
    """Give the content policy of the page: files of its own server, and the one style that stands in it."""
    return "; ".join((*_rules(script="'self'", connect="'self'", image="'self'"), "frame-ancestors 'none'"))


def hosted_page(survey: Survey, server: str) -> str:
    """Give the page of a survey as a single file for another host, whose origin the server must allow.

    Parameters
    ----------
    survey : Survey
        What is asked.
    server : str
        The address of the collecting server, such as ``https://collect.example.org``.
    """
    origin, path = split_address(server)
    script = _bundled()
    rules = _rules(script=_source(script), connect=origin, image="data:")
    head = (
        f'<meta http-equiv="content-security-policy" content="{escape("; ".join(rules))}">\n'
        '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n'
    )
    place = f"{origin}{path}/s/{survey.id}"
    return _shell(survey, place=place, head=head, foot=f'<script type="module">{script}</script>\n')


def _shell(survey: Survey, *, place: str, head: str, foot: str = "", state: str = "open") -> str:
    words, right_to_left = _spoken(survey), _table()["rightToLeft"]
    direction = "rtl" if _primary(survey.language) in right_to_left else "ltr"
    if state != "open":
        main, held = "", ""
        # A time is read from left to right, in words that are not as well.
        text = escape(words[f"{state}Text"]).replace("{opens}", f'<bdi dir="ltr">{_clock(survey.opens)}</bdi>')
        told = f'<p role="status">{escape(words[state])}. {text}</p>\n'
    else:
        table = {"rightToLeft": right_to_left, "languages": {_known(survey.language): words}}
        main = f' data-warner="{escape(place)}" data-words="{escape(_spelled(table))}"'
        intro = "".join(f'<p dir="auto">{escape(line)}</p>\n' for line in survey.intro.split("\n") if line.strip())
        told = (
            f"{intro}<p>{escape(words['loading'])}</p>\n"
            f'<noscript><p class="notice">{escape(words["noscript"])}</p></noscript>\n'
        )
        given = {"fingerprint": survey.fingerprint, "epsilon": survey.shown_epsilon, "survey": survey.to_dict()}
        spelled = _spelled(given).replace("<", r"\u003c")
        held = f'<div id="warner-survey" hidden><script type="application/json">{spelled}</script></div>\n'
    return (
        f'<!doctype html>\n<html lang="{escape(survey.language)}" dir="{direction}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{head}<title>{escape(survey.title)}</title>\n<style>{_style()}</style>\n</head>\n"
        f'<body class="warner-page">\n<main class="warner"{main}>\n'
        f'<h1 dir="auto">{escape(survey.title)}</h1>\n{told}</main>\n{held}{foot}</body>\n</html>\n'
    )


def _rules(*, script: str, connect: str, image: str) -> tuple[str, ...]:
    return (
        "default-src 'none'",
        f"script-src {script}",
        f"style-src 'self' {_source(_style())}" if script == "'self'" else f"style-src {_source(_style())}",
        f"connect-src {connect}",
        f"img-src {image}",
        "form-action 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
    )


def _source(text: str) -> str:
    """Give a text as the source of a content policy, by its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@cache
def _style() -> str:
    return (WEB_FOLDER / "page.css").read_text(encoding="utf-8")


@cache
def _bundled() -> str:
    """Give all modules as one: each is a function that gives what it exports, and takes what it imports from others."""
    texts = {
        name: (WEB_FOLDER / name).read_text(encoding="utf-8") for name in PAGE_MODULES if (WEB_FOLDER / name).exists()
    }
    return "".join(_closed(name.removesuffix(".js"), text) for name, text in texts.items())


def _closed(name: str, text: str) -> str:
    exported = ", ".join(match[2] for match in EXPORT_STATEMENT.finditer(text))
    within = IMPORT_STATEMENT.sub(r"const {\1} = \2Module;", EXPORT_STATEMENT.sub(r"\1 \2", text))
    return f"const {name}Module = (() => {{\n{within}\nreturn {{ {exported} }};\n}})();\n"


@cache
def _table() -> dict[str, Any]:
    text = (WEB_FOLDER / "words.js").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return table


def _primary(language: str) -> str:
    return language.split("-")[0].lower()


def _known(language: str) -> str:
    """Give the language that the page's own words are in: that of the survey, or English."""
    languages = _table()["languages"]
    return next(tag for tag in (language.lower(), _primary(language), "en") if tag in languages)


def _spoken(survey: Survey) -> dict[str, str]:
    """Give the page's own words, in the survey's language and form of address."""
    words: dict[str, str] = _table()["languages"][_known(survey.language)]
    informal: dict[str, str] = _table()["informal"].get(_known(survey.language), {})
    return words | informal if survey.address == "informal" else words


def _clock(moment: str | None) -> str:
    """Write a time so that it is read alike everywhere: a page without a script does not know its reader's zone.

    >>> _clock("2026-12-01T08:00+01:00")
    '2026-12-01, 08:00 (UTC+01:00)'
    """
    if moment is None:
        return ""
    time = datetime.fromisoformat(moment)
    return f"{time:%Y-%m-%d, %H:%M} ({time.tzinfo})"
