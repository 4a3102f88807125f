"""Replies to responses: all of one length, headers and status line included, so that the length tells nothing.

The body says in JSON whether the response was kept, and if not, why; spaces after it fill it up. The words of the
status line and ``Retry-After`` have lengths of their own, which the header ``Padding`` evens out.
"""

from __future__ import annotations

import http
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Message = dict[str, Any]

STATUS = {
    "kept": 200,
    "open": 200,  # nothing was sent yet, and nothing stands in its way
    "refused": 400,  # no page of this survey has sent it
    "uninvited": 403,  # there is no such invitation
    "revoked": 403,  # the invitation was withdrawn
    "early": 403,  # the survey is not open yet
    "origin": 403,  # it comes from the page of somebody else
    "method": 405,
    "used": 409,  # the invitation was spent on another response
    "closed": 410,
    "large": 413,
    "type": 415,  # not JSON
    "rate": 429,  # too many from one address
    "error": 500,
    "busy": 503,  # not kept, but it may be later
}


def replies(wait: Mapping[str, int]) -> dict[str, tuple[Message, Message]]:
    """Give the two messages of each reply, for ASGI; `wait` has the seconds for those that may be tried again.

    >>> sent = replies({"rate": 1, "busy": 15})
    >>> sent["kept"][0]["status"], sent["kept"][1]["body"].rstrip(), sent["used"][1]["body"].rstrip()
    (200, b'{"kept":true}', b'{"kept":false,"why":"used"}')
    >>> len({len(body["body"]) for _, body in sent.values()})
    1
    """
    bodies = {word: _body(word) for word in STATUS}
    longest = max(map(len, bodies.values()))
    heads = {word: _head(word, wait.get(word), longest) for word in STATUS}
    lengths = {word: len(_phrase(word)) + _length(head) for word, head in heads.items()}
    result = {}
    for word, head in heads.items():
        head.append((b"padding", b"." * (max(lengths.values()) - lengths[word] + 1)))
        start = {"type": "http.response.start", "status": STATUS[word], "headers": head}
        result[word] = (start, {"type": "http.response.body", "body": bodies[word].ljust(longest)})
    return result


def _body(word: str) -> bytes:
    fields = {"kept": True} if word == "kept" else {"kept": False, "why": word}
    return json.dumps(fields, separators=(",", ":")).encode()


def _head(word: str, wait: int | None, length: int) -> list[tuple[bytes, bytes]]:
    head = [(b"content-type", b"application/json"), (b"content-length", str(length).encode())]
    if wait is not None:
        head.append((b"retry-after", str(wait).encode()))
    if word == "method":
        head.append((b"allow", b"POST"))
    return head


def _phrase(word: str) -> str:
    return http.HTTPStatus(STATUS[word]).phrase


def _length(head: list[tuple[bytes, bytes]]) -> int:
    return sum(len(name) + len(value) + 4 for name, value in head)  # a colon, a space, and the end of the line
