"""The dashboard: what can be said so far, for whoever runs the survey, on a listener of its own.

Only published steps are ever read here, so that nothing on these pages moves by one person. Strangers are told nothing
of the survey: without the session that the printed link bought, every address but the script and the style sheet is
closed. A request must name a host that is ours, or the page of another site could reach a server on this machine under
a name of its own (DNS rebinding); and requests that pages of other sites make are refused, whatever they carry.

Access to the dashboard: a link that is printed at the start and works once, within ten minutes; sessions, which end.

The link's key buys a session, which the browser keeps as a cookie. Neither key nor session is kept here, only hashes of
both, and they are compared in constant time. For a service that starts without anybody looking, the key comes from a
file that only its owner can read; such a key may be used again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import shlex
import stat
import sys
import threading
import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, Router

from warner.service.app import Guard
from warner.service.dashboard_data import legible, reading, version
from warner.service.exports import exported
from warner.service.pages import CONTENT_TYPES, assets
from warner.service.writer import StoppedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from warner.service.stores.contract import Collected
    from warner.service.survey import Survey


# Dashboard


MOST_STREAMS = 64  # pages that are kept up to date at once
STREAM_PAUSE_SECONDS = 2.0  # seconds after which a stream looks round, if nothing was published
HEARTBEAT_SECONDS = 15.0  # seconds of silence after which a stream says that it is alive
RECONNECT_MILLISECONDS = 2_000  # milliseconds after which a browser tries again
RETRY_MILLISECONDS = 30_000  # milliseconds after which it looks again, where there are too many
LARGEST_REQUEST_BYTES = 1024  # bytes of the body of a request
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
HOST_HEADER = re.compile(r"(?P<name>[a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE)
DASHBOARD_FILES = ("dashboard.js", "dashboard.css")
DASHBOARD_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0072b2" '
    'd="M2 9h3v5H2zm5-4h3v9H7zm5-3h3v12h-3z"/></svg>'
)
STRANGER_TEXT = (
    "You need a valid link to open this dashboard. `warner collect` prints one when it starts: it works once, within "
    "ten minutes. A session ends after a day without use, and after a week. Restart `warner collect` for a new link.\n"
)
WRONG_ADDRESS_TEXT = (
    "There is no dashboard at this address. Use 127.0.0.1 or localhost, through an SSH tunnel if necessary.\n"
)
DASHBOARD_SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="/favicon.ico" type="image/svg+xml">
<link rel="stylesheet" href="/dashboard/dashboard.css">
<script type="module" src="/dashboard/dashboard.js"></script>
</head>
<body data-link="{link}">
<main id="dashboard">
<h1 lang="{language}" dir="auto">{title}</h1>
<p id="connection" role="status">Connecting.</p>
<noscript><p>The dashboard needs JavaScript. <code>warner estimate</code> reads the same numbers.</p></noscript>
</main>
</body>
</html>
"""


class StepSource(Protocol):
    """Where published steps come from: the writer, or a stand-in."""

    trouble: str

    async def collected(self) -> Collected:
        """Return the published responses."""

    async def news(self, after: Collected | None = None) -> Collected:
        """Wait until something else is published than `after`, and give it."""

    async def close(self) -> Collected:
        """Close the survey for good."""


def dashboard_app(
    survey: Survey,
    source: StepSource,
    admission: Admission,
    *,
    public: str,
    stopping: asyncio.Event,
    hosts: Collection[str] = (),
    complain: Callable[[str], object] | None = None,
) -> ASGIApp:
    """Return the web application of the dashboard.

    Parameters
    ----------
    survey : Survey
        What is asked.
    source : StepSource
        Tells what is published, and closes the survey.
    admission : Admission
        Who may see it.
    public : str
        The address of the survey, for respondents.
    stopping : asyncio.Event
        Set when the server stops: then all streams end at once.
    hosts : collection of str
        Names under which the dashboard may be reached, beside those of this machine itself. That must be by https, or
        no browser keeps the session.
    complain : callable, optional
        Is told a line for every mistake of ours.
    """
    pages = Pages(survey, Board(source, stopping), admission, public)
    routes = [
        Route("/", pages.shell, methods=["GET"]),
        Route("/dashboard", pages.shell, methods=["GET"]),
        Route("/dashboard/live", pages.live, methods=["GET"]),
        Route("/dashboard/export", pages.export, methods=["GET"]),
        Route("/dashboard/close", pages.close, methods=["POST"]),
        Route("/dashboard/{name}", _asset, methods=["GET"]),
        Route("/favicon.ico", _icon, methods=["GET"]),
    ]
    names = {f"[{host}]" if ":" in host else host.lower() for host in hosts}
    return Guard(
        Doorkeeper(Router(routes, redirect_slashes=False), LOOPBACK_NAMES | names), complain or sys.stderr.write
    )


class Update(NamedTuple):
    """A published step: its version, and all that is shown of it."""

    version: str
    text: str


class Board:
    """Content of the dashboard, computed once for each step in a separate thread, for any number of viewers."""

    def __init__(self, source: StepSource, stopping: asyncio.Event) -> None:
        self.source, self.stopping = source, stopping
        self.streams = 0
        self._update: Update | None = None
        self._working = asyncio.Lock()

    async def update(self, collected: Collected) -> Update:
        """Return the content of a step."""
        async with self._working:
            if self._update is None or self._update.version != version(collected):
                self._update = await _apart(lambda: _shown(collected))
            return self._update

    async def events(self, last: str | None, admitted: Callable[[], bool]) -> AsyncIterator[str]:
        """Go through the steps as server-sent events, from the one after `last`, until server or session end."""
        if self.streams >= MOST_STREAMS:  # one look, and come back later
            update = await self.update(await self.source.collected())
            yield f"retry: {RETRY_MILLISECONDS}\n{_event(update)}"
            return
        self.streams += 1
        try:
            yield f"retry: {RECONNECT_MILLISECONDS}\n\n"
            seen, trouble, spoken = None, "", time.monotonic()
            while not self.stopping.is_set() and admitted():
                news, said = await self._unless_stopping(self.source.news(seen), STREAM_PAUSE_SECONDS), ""
                if news is not None:
                    seen = news
                    update = await self._unless_stopping(self.update(news))
                    if update is not None and update.version != last:
                        last, said = update.version, _event(update)
                if self.source.trouble != trouble:
                    trouble = self.source.trouble
                    said += f"event: trouble\ndata: {json.dumps(trouble)}\n\n"
                if said or time.monotonic() - spoken >= HEARTBEAT_SECONDS:
                    spoken = time.monotonic()
                    yield said or ": still here\n\n"
        except StoppedError:  # there will be no news any more
            return
        finally:
            self.streams -= 1

    async def _unless_stopping(self, work: Any, seconds: float | None = None) -> Any:
        """Return the result of a task; None if it takes longer than the time limit or the server stops first."""
        task, stop = asyncio.ensure_future(work), asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait({task, stop}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            task.cancel()
            stop.cancel()


def _shown(collected: Collected) -> Update:
    text = json.dumps(reading(collected), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Update(version(collected), text)


def _event(update: Update) -> str:
    return f"id: {update.version}\ndata: {update.text}\n\n"


async def _apart(work: Callable[[], Any]) -> Any:
    """Do work in a thread that does not hold up the end of the program."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_result(value) if error is None else future.set_exception(error)

    def run() -> None:
        value, failure = None, None
        try:
            value = work()
        except Exception as error:  # noqa: BLE001 (raised where it is waited for)
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=run, daemon=True).start()
    return await future


class Pages:
    """The addresses of the dashboard."""

    def __init__(self, survey: Survey, board: Board, admission: Admission, public: str) -> None:
        self.survey, self.board, self.admission = survey, board, admission
        # Cookies do not tell ports apart: the dashboards of two surveys on one machine must not undo each other.
        self.cookie = f"__Host-warner-{survey.fingerprint[:8]}"
        fields = {"title": survey.title, "language": survey.language, "link": public}
        self.html = DASHBOARD_SHELL.format(**{name: escape(legible(value)) for name, value in fields.items()})
        self.exporting = asyncio.Lock()

    def admitted(self, request: Request) -> bool:
        """Return whether a request belongs to a session."""
        return self.admission.admits(request.cookies.get(self.cookie, ""))

    async def shell(self, request: Request) -> Response:
        """Return the page; a request with the key starts a session.

        The page comes at once and not by a redirection: after a click on the link in another site's page, browsers
        would not send a strict cookie to the place that they are redirected to.
        """
        if self.admitted(request):
            return HTMLResponse(self.html)
        key = request.query_params.get("key", "")
        session = self.admission.enter(key) if request.method == "GET" else None
        if session is None:
            return _stranger()
        reply = HTMLResponse(self.html)
        reply.set_cookie(self.cookie, session, path="/", secure=True, httponly=True, samesite="strict")
        return reply

    async def live(self, request: Request) -> Response:
        """Send each step as a server-sent event when it is published."""
        if not self.admitted(request):
            return _stranger()
        events = self.board.events(request.headers.get("last-event-id"), lambda: self.admitted(request))
        return StreamingResponse(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def export(self, request: Request) -> Response:
        """Return the published responses as a file."""
        if not self.admitted(request):
            return _stranger()
        ending, question = request.query_params.get("format", ""), request.query_params.get("question")
        async with self.exporting:
            collected = await self.board.source.collected()
            try:
                export = await _apart(lambda: exported(collected, ending, question))
            except ValueError as error:
                return PlainTextResponse(f"{error}\n", 400)
            except ImportError as error:
                return PlainTextResponse(f"{ending} needs {error.name}, which is not installed\n", 501)
        disposition = f'attachment; filename="{export.name}"'
        return Response(export.content, media_type=export.kind, headers={"content-disposition": disposition})

    async def close(self, request: Request) -> Response:
        """Close the survey for good: this very survey, if asked by our own page."""
        if not self.admitted(request):
            return _stranger()
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_REQUEST_BYTES:
                return JSONResponse({"closed": False}, 413)
        if body != json.dumps({"survey": self.survey.fingerprint}, separators=(",", ":")).encode():
            return JSONResponse({"closed": False}, 400)
        await self.board.source.close()
        return JSONResponse({"closed": True})


def _stranger() -> Response:
    return PlainTextResponse(STRANGER_TEXT, 403)


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in DASHBOARD_FILES:
        return PlainTextResponse("there is no such file\n", 404)
    return Response(assets()[name], media_type=CONTENT_TYPES[name[name.rindex(".") :]])


async def _icon(request: Request) -> Response:
    return Response(DASHBOARD_ICON, media_type="image/svg+xml")


class Doorkeeper:
    """Refuses requests under names that are not ours, and from the pages of others."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        given: dict[str, str] = {}
        for name, value in ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]):
            given[name] = f"{given[name]}, {value}" if name in given else value
        refused = self._refused(scope["method"], given)
        await (PlainTextResponse(refused, 403) if refused else self.app)(scope, receive, send)

    def _refused(self, method: str, given: dict[str, str]) -> str:
        """Return the error of a request with a wrong host or origin."""
        if _host(given.get("host", "")) not in self.hosts:
            return WRONG_ADDRESS_TEXT
        # Browsers say where a request comes from. The page of another site, or of another port, may only lead here.
        site = given.get("sec-fetch-site")
        if method in {"GET", "HEAD"}:
            ours = site in {None, "same-origin", "none"} or given.get("sec-fetch-mode") == "navigate"
        elif site is None:
            ours = given.get("origin") in {f"{scheme}://{given['host']}" for scheme in ("http", "https")}
        else:
            ours = site == "same-origin"
        return "" if ours else STRANGER_TEXT


def _host(given: str) -> str:
    """Return the name in a Host header without its port, which a tunnel may change."""
    match = HOST_HEADER.fullmatch(given)
    return match["name"].lower() if match else ""


# Dashboard access


LINK_SECONDS = 600.0  # seconds after which an unused link is dead
UNUSED_SESSION_SECONDS = 86_400.0  # seconds after which an unused session ends; an open page uses it
SESSION_SECONDS = 7 * 86_400.0  # seconds after which any session ends
MOST_SESSIONS = 64  # with a key that may be used again; then the oldest one ends
ACCESS_KEY = re.compile(r"[A-Za-z0-9_-]{22,256}")  # at least 128 bits, in characters that an address takes as they are
RIGHTS_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO  # the rights of a file that nobody but its owner must have


def new_key() -> str:
    """Draw a key of 256 bits."""
    return secrets.token_urlsafe(32)


def admission(key_file: str | os.PathLike[str] | None = None) -> tuple[Admission, str]:
    """Open a door with a new key, or with that of a file; and give what stands for the key in the link that is printed.

    A key that may be used again is not printed, where a log would keep it: there the link is for a shell.
    """
    if key_file is not None:
        return Admission.from_file(key_file), f"$(cat {shlex.quote(os.fspath(key_file))})"
    key = new_key()
    return Admission(key), key


class Admission:
    """The door of the dashboard.

    Parameters
    ----------
    key : str
        What the link holds.
    reusable : bool
        Whether the key may be used again, and never expires.
    clock : callable
        Tells the time in seconds.

    Examples
    --------
    >>> key = new_key()
    >>> admission = Admission(key)
    >>> session = admission.enter(key)
    >>> admission.admits(session)
    True
    >>> admission.enter(key) is None  # it was used
    True
    """

    def __init__(self, key: str, *, reusable: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        if not ACCESS_KEY.fullmatch(key):
            raise ValueError("key must be 22 to 256 letters, digits, hyphens and underscores")
        self._key: bytes | None = _hashed(key)
        self._reusable, self._clock = reusable, clock
        self._end = clock() + LINK_SECONDS
        self._sessions: dict[bytes, _Session] = {}

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Admission:
        """Read a key that may be used again from a file that only its owner can read."""
        file = Path(path)
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):  # reading a pipe would wait for somebody who writes to it
            raise ValueError(f"the key file must be a regular file, but {file} is not; write the key to a file")
        if os.name == "posix" and mode & RIGHTS_OF_OTHERS:
            raise ValueError(f"the key file must be readable by its owner alone, but {file} is not; chmod 600 {file}")
        try:
            return cls(file.read_text(encoding="ascii").strip(), reusable=True)
        except ValueError:  # which would name the key, if it cannot be decoded
            raise ValueError(
                f"the key file must hold 22 to 256 letters, digits, hyphens and underscores, but {file} does not; make "
                f"one with: (umask 077; openssl rand -hex 32 > {file})"
            ) from None

    def enter(self, key: str) -> str | None:
        """Return a session for the key; None if the key is wrong, used, or expired."""
        if self._key is None or (not self._reusable and self._clock() >= self._end):
            self._key = None
            return None
        if not hmac.compare_digest(self._key, _hashed(key)):
            return None
        if not self._reusable:
            self._key = None
        session = new_key()
        self._sessions[_hashed(session)] = _Session(self._clock(), self._clock())
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return session

    def admits(self, session: str) -> bool:
        """Return True if a session was bought with the key and has not ended; this counts as a use of it."""
        now, given = self._clock(), _hashed(session)
        self._sessions = {key: one for key, one in self._sessions.items() if not one.ended(now)}
        found = [key for key in self._sessions if hmac.compare_digest(given, key)]
        for key in found:
            self._sessions[key] = self._sessions[key]._replace(used=now)
        return bool(found)


class _Session(NamedTuple):
    """When a session began, and when it was last used."""

    began: float
    used: float

    def ended(self, now: float) -> bool:
        return now - self.began >= SESSION_SECONDS or now - self.used >= UNUSED_SESSION_SECONDS


def _hashed(secret: str) -> bytes:
    return hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=32, person=b"dashboard").digest()
