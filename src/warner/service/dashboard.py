"""The dashboard: what can be said so far, for whoever runs the survey, on a listener of its own.

Only published steps are ever read here, so that nothing on these pages moves by one person. Strangers are told nothing
of the survey: without the session that the printed link bought, every address but the script and the style sheet is
closed. A request must name a host that is ours, or the page of another site could reach a server on this machine under
a name of its own (DNS rebinding); and requests that pages of other sites make are refused, whatever they carry.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
import time
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, Router

from warner.service.exports import exported
from warner.service.readings import reading, version

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from warner.service.admission import Admission
    from warner.service.stores.contract import Collected
    from warner.service.survey import Survey

MOST_STREAMS = 64  # pages that are kept up to date at once
LOOK = 2.0  # seconds from one look at the database to the next
HEARTBEAT = 15.0  # seconds of silence after which a stream says that it is alive
RECONNECT = 2_000  # milliseconds after which a browser tries again
LATER = 30_000  # milliseconds after which it looks again, where there are too many
LARGEST_REQUEST = 1024  # bytes of the body of a request
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
HOST = re.compile(r"(?P<name>[a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE)
WEB = files("warner.service") / "web"
KINDS = {"dashboard.js": "text/javascript; charset=utf-8", "dashboard.css": "text/css; charset=utf-8"}
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0072b2" '
    'd="M2 9h3v5H2zm5-4h3v9H7zm5-3h3v12h-3z"/></svg>'
)
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}
STRANGER = (
    "This page is closed. Open the link that `warner collect` printed when it started: it works once, within ten "
    "minutes. A new start prints a new one.\n"
)
ELSEWHERE = "There is no dashboard under this name. Use 127.0.0.1 or localhost, through an SSH tunnel if need be.\n"
SHELL = """<!doctype html>
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


def dashboard_app(
    survey: Survey,
    latest: Callable[[], Collected],
    close: Callable[[], Awaitable[None]],
    *,
    admission: Admission,
    public: str,
    hosts: Collection[str] = (),
    stopped: asyncio.Event | None = None,
) -> ASGIApp:
    """Give the web application of the dashboard.

    Parameters
    ----------
    survey : Survey
        What is asked.
    latest : callable
        Tells what was published; called in a thread of its own, about every two seconds while somebody watches.
    close : coroutine function
        Closes the survey for good.
    admission : Admission
        Who may see it.
    public : str
        The address of the server that respondents reach.
    hosts : collection of str
        Names, beside those of this machine itself, under which the dashboard may be reached. That must be by https, or
        no browser keeps the session.
    stopped : asyncio.Event, optional
        Set when the server stops: then all streams end at once.
    """
    board = Board(latest, asyncio.Event() if stopped is None else stopped)
    pages = Pages(survey, board, close, admission, f"{public.rstrip('/')}/s/{survey.id}")
    routes = [
        Route("/", pages.shell, methods=["GET"]),
        Route("/dashboard", pages.shell, methods=["GET"]),
        Route("/dashboard/live", pages.live, methods=["GET"]),
        Route("/dashboard/export", pages.export, methods=["GET"]),
        Route("/dashboard/close", pages.close, methods=["POST"]),
        Route("/dashboard/{name}", _asset, methods=["GET"]),
        Route("/favicon.ico", _icon, methods=["GET"]),
    ]
    return Doorkeeper(Router(routes, redirect_slashes=False), frozenset(host.lower() for host in hosts) | LOOPBACK)


class Update(NamedTuple):
    """What was published last: its version, and all that is shown of it."""

    version: str
    text: str


class Board:
    """What is shown, worked out once for each step however many watch, and never by the thread that serves."""

    def __init__(self, latest: Callable[[], Collected], stopped: asyncio.Event) -> None:
        self.latest, self.stopped = latest, stopped
        self.streams = 0
        self._update: Update | None = None
        self._looked = -float("inf")
        self._looking = asyncio.Lock()

    async def current(self, *, anew: bool = False) -> Update:
        """Give the last step, by a look at the database that is at most two seconds old; at once if `anew`."""
        async with self._looking:
            if anew or self._update is None or time.monotonic() - self._looked >= LOOK:
                self._update = await _apart(lambda: self._read(self._update))
                self._looked = time.monotonic()
            return self._update

    def _read(self, last: Update | None) -> Update:
        collected = self.latest()
        name = version(collected)
        if last is not None and last.version == name:
            return last
        return Update(name, json.dumps(reading(collected), ensure_ascii=False, allow_nan=False, separators=(",", ":")))

    async def events(self, last: str | None) -> AsyncIterator[str]:
        """Go through the steps as server-sent events, from the one after `last`, until the server stops."""
        if self.streams >= MOST_STREAMS:  # one look, and come back later
            update = await self.current()
            yield f"retry: {LATER}\n{_event(update)}"
            return
        self.streams += 1
        try:
            yield f"retry: {RECONNECT}\n\n"
            spoken = time.monotonic()
            while not self.stopped.is_set():
                message = await self._message(last)
                if message is not None:
                    last, text = message
                    spoken = time.monotonic()
                    yield text
                elif time.monotonic() - spoken >= HEARTBEAT:
                    spoken = time.monotonic()
                    yield ": still here\n\n"
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.stopped.wait(), LOOK)
        finally:
            self.streams -= 1

    async def _message(self, last: str | None) -> tuple[str | None, str] | None:
        """Give what is new since `last`; nothing if there is nothing, or if the server stops meanwhile."""
        look, stop = asyncio.ensure_future(self.current()), asyncio.ensure_future(self.stopped.wait())
        try:
            await asyncio.wait({look, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not look.done():
                return None
            if look.exception() is not None:  # of the database, which may be back at the next look
                return None, "event: trouble\ndata:\n\n"
            update = look.result()
            return None if update.version == last else (update.version, _event(update))
        finally:
            look.cancel()
            stop.cancel()


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

    def __init__(
        self, survey: Survey, board: Board, close: Callable[[], Awaitable[None]], admission: Admission, link: str
    ) -> None:
        self.survey, self.board, self.closing, self.admission = survey, board, close, admission
        # Cookies do not tell ports apart: the dashboards of two surveys on one machine must not undo each other.
        self.cookie = f"__Host-warner-{survey.fingerprint[:8]}"
        fields = {"title": survey.title, "language": survey.language, "link": link}
        self.html = SHELL.format(**{name: escape(value) for name, value in fields.items()})
        self.exporting = asyncio.Lock()

    def admitted(self, request: Request) -> bool:
        """Tell whether a request comes with a session."""
        return self.admission.admits(request.cookies.get(self.cookie, ""))

    async def shell(self, request: Request) -> Response:
        """Give the page, and a session to whoever has the key.

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
        """Give the steps as they are published, as server-sent events."""
        if not self.admitted(request):
            return _stranger()
        events = self.board.events(request.headers.get("last-event-id"))
        return StreamingResponse(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def export(self, request: Request) -> Response:
        """Give what was published as a file."""
        if not self.admitted(request):
            return _stranger()
        ending, question = request.query_params.get("format", ""), request.query_params.get("question")
        async with self.exporting:
            try:
                export = await _apart(lambda: exported(self.board.latest(), ending, question))
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
            if len(body) > LARGEST_REQUEST:
                return JSONResponse({"closed": False}, 413)
        if body != json.dumps({"survey": self.survey.fingerprint}, separators=(",", ":")).encode():
            return JSONResponse({"closed": False}, 400)
        await self.closing()
        await self.board.current(anew=True)
        return JSONResponse({"closed": True})


def _stranger() -> Response:
    return PlainTextResponse(STRANGER, 403)


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in KINDS:
        return PlainTextResponse("there is no such file\n", 404)
    return Response(WEB.joinpath(name).read_bytes(), media_type=KINDS[name])


async def _icon(request: Request) -> Response:
    return Response(ICON, media_type="image/svg+xml")


class Doorkeeper:
    """Refuses requests under names that are not ours, and from the pages of others; puts headers on every reply."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                added = [header for header in ours if header[0] not in given]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        heads: dict[str, str] = {}
        for name, value in ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]):
            heads[name] = f"{heads[name]}, {value}" if name in heads else value
        refused = self._refused(scope, heads)
        await (PlainTextResponse(refused, 403) if refused else self.app)(scope, receive, sent)

    def _refused(self, scope: Scope, heads: dict[str, str]) -> str:
        """Say what is wrong with where a request goes, or comes from."""
        if _host(heads.get("host", "")) not in self.hosts:
            return ELSEWHERE
        # Browsers say where a request comes from. A page of another site, or of another port, may only lead here.
        site = heads.get("sec-fetch-site", "none")
        leads = scope["method"] in {"GET", "HEAD"} and heads.get("sec-fetch-mode") == "navigate"
        if site not in {"same-origin", "none"} and not leads:
            return STRANGER
        if scope["method"] not in {"GET", "HEAD"} and urlsplit(heads.get("origin", "")).netloc != heads["host"]:
            return STRANGER
        return ""


def _host(given: str) -> str:
    """Give the name in a Host header without its port, which a tunnel may change."""
    match = HOST.fullmatch(given)
    return match["name"].lower() if match else ""
