"""The operator's web application, on a separate listener.

It reads only published steps, so that no number changes by one response. Without a session, only the script and the
style sheet are accessible. A request must name a known host, or the page of another site could reach a server on this
machine under its own name (DNS rebinding). Requests from pages of other sites are rejected.

**Access.** The key in a printed link starts a session, once and within ten minutes; the browser keeps the session as a
cookie. The server stores only hashes of keys and sessions, and compares them in constant time. A service that starts
unattended reads a reusable key from a file that only its owner can read.

**New links.** The server writes its address to a private file beside the survey. The command for a new link writes the
hash of a new key there, and the server reads it when it is given a key that it does not know.
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
import socket
import stat
import sys
import threading
import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, Router

from warner.documents import save_text
from warner.service.app import Guard
from warner.service.dashboard_data import legible, reading, version
from warner.service.exports import exported
from warner.service.pages import CONTENT_TYPES, assets
from warner.service.sharing import BROWSER_WARNING, CADDY_LINES, REAL_CERTIFICATE, qr_svg, unshareable
from warner.service.writer import StoppedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from warner.documents import Document
    from warner.service.stores.contract import Collected
    from warner.service.survey import Survey


MOST_STREAMS = 64
STREAM_PAUSE_SECONDS = 2.0  # between two checks of session and server
HEARTBEAT_SECONDS = 15.0  # after which a stream sends a comment
RECONNECT_MILLISECONDS = 2_000  # until a browser reconnects
RETRY_MILLISECONDS = 30_000  # until a browser reconnects if there are too many streams
LARGEST_REQUEST_BYTES = 1024
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
HOST_HEADER = re.compile(r"(?P<name>[a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE)
DASHBOARD_FILES = ("dashboard.js", "dashboard.css")
DASHBOARD_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0072b2" '
    'd="M2 9h3v5H2zm5-4h3v9H7zm5-3h3v12h-3z"/></svg>'
)
STRANGER_TEXT = "You need a valid link to open this dashboard. `warner survey link` prints a new one.\n"
STRANGER_PAGE = Path(__file__).with_name("stranger.html").read_text(encoding="utf-8")
WRONG_ADDRESS_TEXT = (
    "There is no dashboard at this address. Use 127.0.0.1 or localhost, through an SSH tunnel if necessary.\n"
)
DASHBOARD_SHELL = Path(__file__).with_name("dashboard.html").read_text(encoding="utf-8")


class StepSource(Protocol):
    """Interface of a source of published steps: the writer (see `Writer`), or a substitute in tests."""

    trouble: str

    async def collected(self) -> Collected: ...
    async def news(self, after: Collected | None = None) -> Collected: ...
    async def close(self) -> Collected: ...


def dashboard_app(
    survey: Survey,
    source: StepSource,
    admission: Admission,
    *,
    public: str,
    stopping: asyncio.Event,
    hosts: Collection[str] = (),
    certificate: str = "",
    complain: Callable[[str], object] | None = None,
) -> ASGIApp:
    """Return the web application of the dashboard.

    `public` is the address of the survey for respondents, `certificate` the fingerprint of its self-signed certificate.
    All streams end when `stopping` is set. Names of `hosts`, besides those of this machine, need https, or browsers do
    not keep the session.
    """
    pages = Pages(survey, Board(source, stopping), admission, public, certificate)
    routes = [
        Route("/", pages.shell, methods=["GET"]),
        Route("/dashboard", pages.shell, methods=["GET"]),
        Route("/dashboard/live", pages.within(pages.live), methods=["GET"]),
        Route("/dashboard/export", pages.within(pages.export), methods=["GET"]),
        Route("/dashboard/close", pages.within(pages.close), methods=["POST"]),
        Route("/dashboard/code.svg", pages.within(pages.code), methods=["GET"]),
        Route("/dashboard/{name}", _asset, methods=["GET"]),
        Route("/favicon.ico", Response(DASHBOARD_ICON, media_type="image/svg+xml"), methods=["GET"]),
    ]
    names = LOOPBACK_NAMES | {f"[{host}]" if ":" in host else host.lower() for host in hosts}
    return Guard(Doorkeeper(Router(routes, redirect_slashes=False), names), complain or sys.stderr.write)


class Update(NamedTuple):
    """Version of a published step, and its content as JSON."""

    version: str
    text: str


class Board:
    """Content of the dashboard, computed once for each step in a separate thread."""

    def __init__(self, source: StepSource, stopping: asyncio.Event) -> None:
        self.source, self.stopping = source, stopping
        self.streams = 0
        self._update: Update | None = None
        self._working = asyncio.Lock()

    async def update(self, collected: Collected) -> Update:
        async with self._working:
            if self._update is None or self._update.version != version(collected):
                self._update = await _in_thread(lambda: _computed(collected))
            return self._update

    async def events(self, last: str | None, admitted: Callable[[], bool]) -> AsyncIterator[str]:
        """Yield the steps after `last` as server-sent events, until server or session end."""
        if self.streams >= MOST_STREAMS:  # one step, and reconnect later
            update = await self.update(await self.source.collected())
            yield f"retry: {RETRY_MILLISECONDS}\n{_event(update)}"
            return
        self.streams += 1
        try:
            yield f"retry: {RECONNECT_MILLISECONDS}\n\n"
            seen, trouble, sent = None, "", time.monotonic()
            while not self.stopping.is_set() and admitted():
                news, event = await self._unless_stopping(self.source.news(seen), STREAM_PAUSE_SECONDS), ""
                if news is not None:
                    seen = news
                    update = await self._unless_stopping(self.update(news))
                    if update is not None and update.version != last:
                        last, event = update.version, _event(update)
                if self.source.trouble != trouble:
                    trouble = self.source.trouble
                    event += f"event: trouble\ndata: {json.dumps(trouble)}\n\n"
                if event or time.monotonic() - sent >= HEARTBEAT_SECONDS:
                    sent = time.monotonic()
                    yield event or ": still here\n\n"
        except StoppedError:
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


def _computed(collected: Collected) -> Update:
    text = json.dumps(reading(collected), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Update(version(collected), text)


def _event(update: Update) -> str:
    return f"id: {update.version}\ndata: {update.text}\n\n"


async def _in_thread(work: Callable[[], Any]) -> Any:
    """Return the result of a task in a daemon thread, which does not delay the end of the program."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_result(value) if error is None else future.set_exception(error)

    def run() -> None:
        value, failure = None, None
        try:
            value = work()
        except Exception as error:  # noqa: BLE001 (raised by the awaiting coroutine)
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=run, daemon=True).start()
    return await future


class Pages:
    """Endpoints of the dashboard."""

    def __init__(self, survey: Survey, board: Board, admission: Admission, public: str, certificate: str) -> None:
        self.survey, self.board, self.admission = survey, board, admission
        # The code is the public link: an invitation is for one respondent, and never on a wall.
        self.code_link = public if certificate and not survey.invited else ""
        sharing = {"reason": unshareable(public), "certificate": certificate, "code": bool(self.code_link)}
        if certificate:
            sharing |= {"warning": BROWSER_WARNING, "proxy": REAL_CERTIFICATE, "lines": CADDY_LINES}
        # Cookies are shared by all ports, so the dashboards of two surveys on one machine need two names.
        self.cookie = f"__Host-warner-{survey.fingerprint[:8]}"
        fields = {"title": survey.title, "language": survey.language, "link": public, "sharing": json.dumps(sharing)}
        self.html = DASHBOARD_SHELL.format(**{name: escape(legible(value)) for name, value in fields.items()})
        self.exporting = asyncio.Lock()

    def admitted(self, request: Request) -> bool:
        return self.admission.admits(request.cookies.get(self.cookie, ""))

    def within(self, endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that needs a session."""

        async def admitted(request: Request) -> Response:
            return await endpoint(request) if self.admitted(request) else PlainTextResponse(STRANGER_TEXT, 403)

        return admitted

    async def shell(self, request: Request) -> Response:
        """Return the page; a request with the key starts a session.

        There is no redirection: after a click on a link in the page of another site, browsers would not send a strict
        cookie to the target.
        """
        if self.admitted(request):
            return HTMLResponse(self.html)
        key = request.query_params.get("key", "")
        session = self.admission.enter(key) if request.method == "GET" else None
        if session is None:
            return HTMLResponse(STRANGER_PAGE, 403)
        reply = HTMLResponse(self.html)
        reply.set_cookie(self.cookie, session, path="/", secure=True, httponly=True, samesite="strict")
        return reply

    async def live(self, request: Request) -> Response:
        events = self.board.events(request.headers.get("last-event-id"), lambda: self.admitted(request))
        return StreamingResponse(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def export(self, request: Request) -> Response:
        ending, question = request.query_params.get("format", ""), request.query_params.get("question")
        async with self.exporting:
            collected = await self.board.source.collected()
            try:
                export = await _in_thread(lambda: exported(collected, ending, question))
            except ValueError as error:
                return PlainTextResponse(f"{error}\n", 400)
            except ImportError as error:
                return PlainTextResponse(f"{ending} needs {error.name}, which is not installed\n", 501)
        disposition = f'attachment; filename="{export.name}"'
        return Response(export.content, media_type=export.kind, headers={"content-disposition": disposition})

    async def code(self, request: Request) -> Response:
        if not self.code_link:
            return PlainTextResponse("there is no such file\n", 404)
        return Response(qr_svg(self.code_link), media_type="image/svg+xml")

    async def close(self, request: Request) -> Response:
        """Close the survey permanently; the request must name its fingerprint."""
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_REQUEST_BYTES:
                return JSONResponse({"closed": False}, 413)
        if body != json.dumps({"survey": self.survey.fingerprint}, separators=(",", ":")).encode():
            return JSONResponse({"closed": False}, 400)
        await self.board.source.close()
        return JSONResponse({"closed": True})


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in DASHBOARD_FILES:
        return PlainTextResponse("there is no such file\n", 404)
    return Response(assets()[name], media_type=CONTENT_TYPES[name[name.rindex(".") :]])


class Doorkeeper:
    """Middleware that rejects requests under other host names, and from pages of other sites."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[str, str] = {}
        for name, value in ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]):
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        error = self._error(scope["method"], headers)
        await (PlainTextResponse(error, 403) if error else self.app)(scope, receive, send)

    def _error(self, method: str, headers: dict[str, str]) -> str:
        host = HOST_HEADER.fullmatch(headers.get("host", ""))  # a tunnel may change the port
        if host is None or host["name"].lower() not in self.hosts:
            return WRONG_ADDRESS_TEXT
        # Browsers state where a request comes from. Pages of other sites or ports may only link to the dashboard.
        site = headers.get("sec-fetch-site")
        if method in {"GET", "HEAD"}:
            allowed = site in {None, "same-origin", "none"} or headers.get("sec-fetch-mode") == "navigate"
        elif site is None:
            allowed = headers.get("origin") in {f"{scheme}://{headers['host']}" for scheme in ("http", "https")}
        else:
            allowed = site == "same-origin"
        return "" if allowed else STRANGER_TEXT


# Dashboard access


LINK_SECONDS = 600.0  # until an unused link expires
UNUSED_SESSION_SECONDS = 86_400.0  # until an unused session ends; an open page uses it
SESSION_SECONDS = 7 * 86_400.0  # until any session ends
SERVER_SECONDS = 5.0  # in which a server accepts a connection
MOST_SESSIONS = 64  # the oldest ones end
ACCESS_KEY = re.compile(r"[A-Za-z0-9_-]{22,256}")  # at least 128 bits, in characters that are not escaped in a URL
RIGHTS_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def new_key() -> str:
    return secrets.token_urlsafe(32)


def admission(key_file: str | os.PathLike[str] | None = None, renewals: Path | None = None) -> tuple[Admission, str]:
    """Return the access with a new key or the key of a file, and the text of the key in the printed link.

    A reusable key is not printed, because logs would keep it; there the link has a substitution for a shell. `renewals`
    is the file in which `new_link` leaves the hashes of further keys.
    """
    if key_file is not None:
        return Admission.from_file(key_file, renewals), f"$(cat {shlex.quote(os.fspath(key_file))})"
    key = new_key()
    return Admission(key, renewals=renewals), key


def link_file(survey: Path, name: str) -> Path:
    """Return the file beside a survey in which its server and the command for new links meet."""
    return survey.parent / f"{name}.dashboard.json"


def new_link(file: Path) -> str:
    """Return a new link to the dashboard of a running server, which finds the hash of its key in this file."""
    remedy = "is the survey served from this folder, by this user? Start it with `warner survey serve`"
    try:
        url = str(_private_fields(file)["url"])
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"there is no running dashboard in {file}: {remedy}") from None
    at = urlsplit(url)
    try:
        socket.create_connection((at.hostname or "", at.port or 0), timeout=SERVER_SECONDS).close()
    except OSError:
        raise ValueError(f"the dashboard at {url} does not answer: {remedy}") from None
    key = new_key()
    fields = {"url": url, "key": _hashed(key).hex(), "until": time.time() + LINK_SECONDS}
    save_text(file, json.dumps(fields), private=True)
    return f"{url}?key={key}"


def _private_fields(file: Path) -> Document:
    """Read a JSON object from a file that no other user can have written."""
    with file.open(encoding="utf-8") as opened:
        state = os.fstat(opened.fileno())
        if os.name == "posix" and (state.st_uid != os.geteuid() or state.st_mode & RIGHTS_OF_OTHERS):
            raise PermissionError(f"{file} must belong to this user alone")
        fields: Document = json.loads(opened.read(LARGEST_REQUEST_BYTES))
    return fields


class Admission:
    """Keys and sessions of the dashboard; a reusable key does not expire, and a newer key in `renewals` works once.

    >>> key = new_key()
    >>> admission = Admission(key)
    >>> session = admission.enter(key)
    >>> admission.admits(session)
    True
    >>> admission.enter(key) is None  # it was used
    True
    """

    def __init__(
        self,
        key: str,
        *,
        reusable: bool = False,
        renewals: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not ACCESS_KEY.fullmatch(key):
            raise ValueError("key must be 22 to 256 letters, digits, hyphens and underscores")
        self._key: bytes | None = _hashed(key)
        self._reusable, self._renewals, self._clock = reusable, renewals, clock
        self._end = clock() + LINK_SECONDS
        self._sessions: dict[bytes, _Session] = {}

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], renewals: Path | None = None) -> Admission:
        """Read a reusable key from a file that only its owner can read."""
        file = Path(path)
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):  # reading a pipe would block
            raise ValueError(f"the key file must be a regular file, but {file} is not; write the key to a file")
        if os.name == "posix" and mode & RIGHTS_OF_OTHERS:
            raise ValueError(f"the key file must be readable by its owner alone, but {file} is not; chmod 600 {file}")
        try:
            return cls(file.read_text(encoding="ascii").strip(), reusable=True, renewals=renewals)
        except ValueError:  # which could contain the key
            raise ValueError(
                f"the key file must hold 22 to 256 letters, digits, hyphens and underscores, but {file} does not; make "
                f"one with: (umask 077; openssl rand -hex 32 > {file})"
            ) from None

    def enter(self, key: str) -> str | None:
        """Return a session for the key; None if the key is wrong, used, or expired."""
        if not self._reusable and self._clock() >= self._end:
            self._key = None
        if self._key is not None and hmac.compare_digest(self._key, _hashed(key)):
            self._key = self._key if self._reusable else None
        elif not self._renewed(key):
            return None
        session = new_key()
        self._sessions[_hashed(session)] = _Session(self._clock(), self._clock())
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return session

    def _renewed(self, key: str) -> bool:
        """Return True if a file has the hash of this key, which is then removed from it."""
        if self._renewals is None or not key:
            return False
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            fields = _private_fields(self._renewals)
            valid = 0 < float(fields["until"]) - time.time() <= LINK_SECONDS
            if valid and hmac.compare_digest(bytes.fromhex(fields["key"]), _hashed(key)):
                save_text(self._renewals, json.dumps({"url": fields["url"]}), private=True)
                return True
        return False

    def admits(self, session: str) -> bool:
        """Return True if a session was started and has not ended; this counts as a use of it."""
        now, digest = self._clock(), _hashed(session)
        self._sessions = {key: one for key, one in self._sessions.items() if not one.ended(now)}
        found = [key for key in self._sessions if hmac.compare_digest(digest, key)]
        for key in found:
            self._sessions[key] = self._sessions[key]._replace(used=now)
        return bool(found)


class _Session(NamedTuple):
    started: float
    used: float

    def ended(self, now: float) -> bool:
        return now - self.started >= SESSION_SECONDS or now - self.used >= UNUSED_SESSION_SECONDS


def _hashed(secret: str) -> bytes:
    return hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=32, person=b"dashboard").digest()
