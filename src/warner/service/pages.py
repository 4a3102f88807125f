"""The respondents' page, its static files, and replies of one length.

The page holds the survey as JSON; its script builds the questions. It has no form and no named field that a browser
could submit, so nothing can be filled in without the script. `hosted_page` is a single file for another host, whose
hash can be published, so that the operator of the server cannot change it. Its policy allows only its own script, and
connections to the collecting server, in whose address characters of a policy are rejected.

Replies to responses have one length, including headers and status line. The body is JSON with the outcome, filled up
with spaces. The header ``Padding`` compensates for the lengths of the status line and of ``Retry-After``.
"""

from __future__ import annotations

import base64
import hashlib
import http
import json
import re
from datetime import datetime
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warner.service.survey import Survey


# Assets


WEB_FOLDER = Path(__file__).parent / "web"
CONTENT_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def assets() -> dict[str, bytes]:
    """Return the files that browsers may request, by name."""
    files = [path for path in WEB_FOLDER.iterdir() if path.suffix in CONTENT_TYPES and path.name != "package.json"]
    return {path.name: path.read_bytes() for path in sorted(files)}


@cache
def version() -> str:
    """Return one hash of all files, so that modules import modules of the same version."""
    spelled = b"".join(
        name.encode() + b"\0" + hashlib.sha256(content).digest() for name, content in sorted(assets().items())
    )
    return hashlib.sha256(spelled).hexdigest()[:16]


def address(name: str) -> str:
    return f"/static/{version()}/{name}"


# Addresses


ADDRESS = re.compile(
    r"(?P<origin>https?://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?)"
    r"(?P<path>(?:/[A-Za-z0-9._~-]+)*)/?"
)
LAST_PORT = 65535


def split_address(url: str) -> tuple[str, str]:
    """Return the origin of a survey's server and the path prefix.

    >>> split_address("https://survey.example.org:8443/surveys/")
    ('https://survey.example.org:8443', '/surveys')
    """
    found = ADDRESS.fullmatch(url)
    if not found or not 0 < int(found["port"] or 1) <= LAST_PORT:
        raise ValueError(
            f"url must be the address of the survey's server, such as https://survey.example.org, but got {url!r}"
        )
    return found["origin"], found["path"]


# Pages


SURVEY_STATES = ("early", "open", "closed")
# Imported modules come first.
PAGE_MODULES = ("warner.js", "fingerprint.js", "numbers.js", "open.js", "sets.js", "page.js")
MODULES_ALWAYS_LOADED = ("page.js", "warner.js", "fingerprint.js", "numbers.js")
IMPORT_STATEMENT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT_STATEMENT = re.compile(r"^export ((?:async )?function|const) (\w+)", re.MULTILINE)


def page(survey: Survey, state: str = "open") -> str:
    """Return the page of a survey on its own server, with questions only in the state "open".

    >>> from warner.service.survey import load_survey
    >>> text = page(load_survey("examples/survey.json"))
    >>> text.count("<script"), "<form" in text, "<input" in text  # the survey, and the script
    (2, False, False)
    """
    preloaded = "".join(f'<link rel="modulepreload" href="{address(name)}">\n' for name in MODULES_ALWAYS_LOADED[1:])
    script = f'{preloaded}<script type="module" src="{address(MODULES_ALWAYS_LOADED[0])}"></script>\n'
    return _shell(survey, place=f"/s/{survey.id}", head=script if state == "open" else "", state=state)


def policy() -> str:
    """Return the content security policy of the page: files of its own server and one inline style."""
    return "; ".join((*_rules(script="'self'", connect="'self'", image="'self'"), "frame-ancestors 'none'"))


def hosted_page(survey: Survey, server: str) -> str:
    """Return the page of a survey as a single file for another host, whose origin the collecting server must allow."""
    origin, path = split_address(server)
    script = _bundled()
    rules = _rules(script=_source(script), connect=origin, image="data:")
    head = (
        f'<meta http-equiv="content-security-policy" content="{escape("; ".join(rules))}">\n'
        '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n'
    )
    place = f"{origin}{path}/s/{survey.id}"
    return _shell(survey, place=place, head=head, foot=f'<script type="module">{script}</script>\n')


def page_words(survey: Survey) -> dict[str, str]:
    """Return the words of the page in the language of a survey, or in English."""
    language = _page_language(survey.language)
    informal = _table()["informal"].get(language, {}) if survey.address == "informal" else {}
    words: dict[str, str] = _table()["languages"][language] | informal
    return words


def _shell(survey: Survey, *, place: str, head: str, foot: str = "", state: str = "open") -> str:
    language = _page_language(survey.language)
    words, right_to_left = page_words(survey), _table()["rightToLeft"]
    direction = "rtl" if _primary(survey.language) in right_to_left else "ltr"
    if state != "open":
        main, data = "", ""
        # A time is written from left to right in all languages.
        text = escape(words[f"{state}Text"]).replace("{opens}", f'<bdi dir="ltr">{_clock(survey.opens)}</bdi>')
        content = f'<p role="status">{escape(words[state])}. {text}</p>\n'
    else:
        table = {"rightToLeft": right_to_left, "languages": {language: words}}
        main = f' data-warner="{escape(place)}" data-words="{escape(_json(table))}"'
        intro = "".join(f'<p dir="auto">{escape(line)}</p>\n' for line in survey.intro.split("\n") if line.strip())
        content = (
            f"{intro}<p>{escape(words['loading'])}</p>\n"
            f'<noscript><p class="notice">{escape(words["noscript"])}</p></noscript>\n'
        )
        fields = {"fingerprint": survey.fingerprint, "epsilon": survey.shown_epsilon, "survey": survey.to_dict()}
        text = _json(fields).replace("<", r"\u003c")
        data = f'<div id="warner-survey" hidden><script type="application/json">{text}</script></div>\n'
    return (
        f'<!doctype html>\n<html lang="{escape(survey.language)}" dir="{direction}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{head}<title>{escape(survey.title)}</title>\n<style>{_style()}</style>\n</head>\n"
        f'<body class="warner-page">\n<main class="warner"{main}>\n'
        f'<h1 dir="auto">{escape(survey.title)}</h1>\n{content}</main>\n{data}{foot}</body>\n</html>\n'
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
    """Return the hash source of an inline text for a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@cache
def _style() -> str:
    return (WEB_FOLDER / "page.css").read_text(encoding="utf-8")


@cache
def _bundled() -> str:
    """Bundle all modules as one script: each becomes a function that returns its exports and receives its imports."""
    texts = {
        name: (WEB_FOLDER / name).read_text(encoding="utf-8") for name in PAGE_MODULES if (WEB_FOLDER / name).exists()
    }
    return "".join(_module_function(name.removesuffix(".js"), text) for name, text in texts.items())


def _module_function(name: str, text: str) -> str:
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


def _page_language(language: str) -> str:
    languages = _table()["languages"]
    return next(tag for tag in (language.lower(), _primary(language), "en") if tag in languages)


def _clock(moment: str | None) -> str:
    """Format a time with its offset, because a page without script does not know its reader's time zone.

    >>> _clock("2026-12-01T08:00+01:00")
    '2026-12-01, 08:00 (UTC+01:00)'
    """
    if moment is None:
        return ""
    time = datetime.fromisoformat(moment)
    return f"{time:%Y-%m-%d, %H:%M} ({time.tzinfo})"


# Replies


Message = dict[str, Any]

STATUS = {
    "kept": 200,
    "open": 200,  # a response may be kept
    "refused": 400,  # no page of this survey can have sent it
    "uninvited": 403,  # there is no such invitation
    "revoked": 403,  # the invitation was revoked
    "early": 403,  # the survey is not open yet
    "origin": 403,  # it comes from the page of another site
    "method": 405,
    "used": 409,  # the invitation was spent on another response
    "closed": 410,
    "large": 413,
    "type": 415,  # not JSON
    "rate": 429,  # too many from one address
    "error": 500,
    "busy": 503,  # not kept; a retry may succeed
}


def replies(wait: Mapping[str, int]) -> dict[str, tuple[Message, Message]]:
    """Return the two ASGI messages of each reply; `wait` has the seconds until a request may be repeated.

    >>> sent = replies({"rate": 1, "busy": 15})
    >>> sent["kept"][0]["status"], sent["kept"][1]["body"].rstrip(), sent["used"][1]["body"].rstrip()
    (200, b'{"kept":true}', b'{"kept":false,"why":"used"}')
    >>> len({len(body["body"]) for _, body in sent.values()})
    1
    """
    bodies = {word: _json({"kept": False, "why": word}).encode() for word in STATUS} | {"kept": b'{"kept":true}'}
    longest = max(map(len, bodies.values()))
    heads = {word: _head(word, wait.get(word), longest) for word in STATUS}
    # Each header has a colon, a space, and two characters at the end of the line.
    lengths = {
        word: len(http.HTTPStatus(STATUS[word]).phrase) + sum(len(name) + len(value) + 4 for name, value in head)
        for word, head in heads.items()
    }
    result = {}
    for word, head in heads.items():
        head.append((b"padding", b"." * (max(lengths.values()) - lengths[word] + 1)))
        start = {"type": "http.response.start", "status": STATUS[word], "headers": head}
        result[word] = (start, {"type": "http.response.body", "body": bodies[word].ljust(longest)})
    return result


def _head(word: str, wait: int | None, length: int) -> list[tuple[bytes, bytes]]:
    head = [(b"content-type", b"application/json"), (b"content-length", str(length).encode())]
    if wait is not None:
        head.append((b"retry-after", str(wait).encode()))
    if word == "method":
        head.append((b"allow", b"POST"))
    return head
