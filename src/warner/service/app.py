"""The respondents' web application: page, files, and the endpoint for responses.

Nothing of a request is stored, printed or logged. A response is checked against the survey and handed to the writer; it
is acknowledged when it is on disk. There is no cookie, nothing is loaded from other servers, and pages of other sites
may send responses only if the operator has allowed their origin.

**Rate limit.** Each address has a token bucket, in memory only, with as many tokens as reports are allowed in a minute.
Buckets are kept under a hash of the address with a salt that changes every hour, so that the server holds no addresses.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
import secrets
import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from warner.service.pages import CONTENT_TYPES, SURVEY_STATES, assets, page, policy, replies, version
from warner.service.responses import Bodies, RefusedError
from warner.service.stores import contract
from warner.service.stores.contract import Outcome
from warner.service.writer import NotKeptError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from warner.service.responses import Bundle
    from warner.service.survey import Survey


# Rate limit


RATE_SECONDS = 60  # reports of one address that are taken in this many seconds
SALT_SECONDS = 3600  # until the salt changes
MOST_BUCKETS = 100_000
REPORTS_PER_MINUTE = 300  # reports per minute from one address: a classroom shares one


class Rate:
    """Limit on the reports per minute from one address; 0 for no limit.

    >>> rate = Rate(2, clock=lambda: 0.0)
    >>> [rate.takes("192.0.2.1") for _ in range(3)], rate.takes("192.0.2.2")
    ([True, True, False], True)
    """

    def __init__(self, per_minute: int = REPORTS_PER_MINUTE, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute, self.clock = per_minute, clock
        self.buckets: dict[bytes, tuple[float, float]] = {}  # tokens, and the time of this count
        self.salt, self.salted = secrets.token_bytes(16), clock()

    @property
    def wait(self) -> int:
        """Seconds until an empty bucket holds a token again."""
        return math.ceil(RATE_SECONDS / self.per_minute) if self.per_minute else 1

    def takes(self, address: str | None) -> bool:
        """Remove a token from the bucket of an address; False if the bucket is empty."""
        if not self.per_minute or address is None:
            return True
        now = self.clock()
        if now - self.salted >= SALT_SECONDS:
            self.salt, self.salted = secrets.token_bytes(16), now
            self.buckets.clear()
        key = hashlib.blake2b(_network(address), key=self.salt, digest_size=16).digest()
        tokens, then = self.buckets.pop(key, (float(self.per_minute), now))
        tokens = min(self.per_minute, tokens + (now - then) * self.per_minute / RATE_SECONDS)
        taken = tokens >= 1
        self._remember(key, (tokens - taken, now))
        return taken

    def _remember(self, key: bytes, bucket: tuple[float, float]) -> None:
        # The least recently used bucket comes first; after a minute it is full and can be dropped.
        while self.buckets:
            oldest = next(iter(self.buckets))
            if len(self.buckets) < MOST_BUCKETS and bucket[1] - self.buckets[oldest][1] < RATE_SECONDS:
                break
            del self.buckets[oldest]
        self.buckets[key] = bucket


def _network(address: str) -> bytes:
    """Return the network of one subscriber: an IPv4 address, or the first 64 bits of an IPv6 address."""
    try:
        read = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address.encode()
    if isinstance(read, ipaddress.IPv6Address):
        if read.ipv4_mapped is None:
            return read.packed[:8]
        read = read.ipv4_mapped
    return read.packed


# App


RETRY_SECONDS = 10  # until a page may try again
CONTENT_LENGTH_DIGITS = 18
MOST_REQUESTS_AT_ONCE = 1000
CACHE_FOR_EVER = "public, max-age=31536000, immutable"
PAGE_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="#3b6ea5"/>'
    '<circle cx="8" cy="8" r="3" fill="#fff"/></svg>'
)
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"
)
PAGE_HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}
REPLY_WORDS: dict[Outcome | None, str] = {None: "open"} | {outcome: outcome.value for outcome in Outcome}
JSON_TYPES = (b"application/json", b"application/json;charset=utf-8")


class Keeper(Protocol):
    """Interface of an object that accepts responses: the writer (see `Writer`), or a substitute in tests."""

    async def keep(self, bundle: Bundle) -> Outcome: ...
    async def standing(self, token: bytes | None) -> Outcome | None: ...
    async def healthy(self) -> bool: ...
    @property
    def closed(self) -> bool: ...


def survey_app(
    survey: Survey,
    keeper: Keeper,
    *,
    rate: Rate | None = None,
    origins: Collection[str] = (),
    complain: Callable[[str], object] | None = None,
) -> ASGIApp:
    """Return the web application of a survey, whose responses the keeper accepts.

    Pages of the `origins` may send responses and load the script. `complain` is called with a line for each internal
    error, which holds nothing of the request.
    """
    rate, endpoints = rate or Rate(), Endpoints(survey, keeper, origins)
    limit = endpoints.bodies.limit
    routes = [
        Route("/", endpoints.home),
        Route(f"/s/{survey.id}", endpoints.page),
        Route(f"/s/{survey.id}/survey.json", endpoints.file),
        Route(f"/s/{survey.id}/report", Posted(endpoints.keep, limit, rate, origins)),
        # A separate limit, so that questions about an invitation never prevent a response.
        Route(f"/s/{survey.id}/standing", Posted(endpoints.standing, limit, Rate(rate.per_minute), origins)),
        Route("/static/{version}/{name}", endpoints.static),
        Route("/health", endpoints.health),
        Route("/favicon.ico", Response(PAGE_ICON, media_type="image/svg+xml"), methods=["GET"]),
        Route("/robots.txt", PlainTextResponse("User-agent: *\nDisallow: /\n"), methods=["GET"]),
    ]
    return Guard(Router(routes, redirect_slashes=False), complain or sys.stderr.write)


class Endpoints:
    """Endpoints of a survey, all public except those that receive responses from pages."""

    def __init__(self, survey: Survey, keeper: Keeper, origins: Collection[str]) -> None:
        self.survey, self.keeper, self.bodies = survey, keeper, Bodies(survey)
        self.pages = {state: page(survey, state) for state in SURVEY_STATES}
        self.json = survey.to_json() + "\n"
        self.shared, self.epsilon_headers = dict[str, str](), {"epsilon": survey.shown_epsilon}
        if origins:  # pages of other sites may load the script and read epsilon
            self.shared = {"cross-origin-resource-policy": "cross-origin", "access-control-allow-origin": "*"}
            self.epsilon_headers["access-control-expose-headers"] = "epsilon"

    async def home(self, request: Request) -> Response:
        return RedirectResponse(f"/s/{self.survey.id}", 303)

    async def page(self, request: Request) -> Response:
        closed = self.keeper.closed or self.survey.over(contract.now())
        state = "closed" if closed else "early" if self.survey.early(contract.now()) else "open"
        return HTMLResponse(self.pages[state], headers={"content-security-policy": policy()})

    async def file(self, request: Request) -> Response:
        return Response(self.json, media_type="application/json", headers=self.shared | self.epsilon_headers)

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if request.path_params["version"] != version() or name not in assets():
            return PlainTextResponse("there is no such file\n", 404)
        kind = CONTENT_TYPES[name[name.rindex(".") :]]
        return Response(assets()[name], media_type=kind, headers={"cache-control": CACHE_FOR_EVER, **self.shared})

    async def health(self, request: Request) -> Response:
        healthy = await self.keeper.healthy()
        return PlainTextResponse("well\n" if healthy else "the database cannot be written\n", 200 if healthy else 503)

    async def keep(self, body: bytes) -> Outcome | None:
        return await self.keeper.keep(self.bodies.read(body))

    async def standing(self, body: bytes) -> Outcome | None:
        """Return the certain outcome of a response before it is made; None if it may be kept."""
        return await self.keeper.standing(self.bodies.read_standing(body))


class Posted:
    """Endpoint of POST requests: `/s/ID/report` for responses, `/s/ID/standing` for the state of an invitation.

    `outcome` gets the body, of at most `limit` bytes, and may raise `RefusedError` and `NotKeptError`.
    """

    def __init__(
        self, outcome: Callable[[bytes], Awaitable[Outcome | None]], limit: int, rate: Rate, origins: Collection[str]
    ) -> None:
        self.outcome, self.limit, self.rate = outcome, limit, rate
        self.origins = {origin.encode(): origin for origin in origins}
        self.replies = replies({"rate": rate.wait, "busy": RETRY_SECONDS})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            headers[name] = value if name not in headers else headers[name] + b", " + value
        cors = self._cors(headers)
        if scope["method"] == "OPTIONS" and b"access-control-allow-origin" in dict(cors):
            await _preflight(cors, send)
            return
        word = self._rejected(scope, headers) or await self._received(headers, receive)
        if word is None:
            return  # the client has disconnected
        start, body = self.replies[word]
        await send({**start, "headers": [*start["headers"], *cors]})
        await send(body)

    def _cors(self, headers: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        """Return the headers that let the page of an allowed origin read the reply."""
        if not self.origins:
            return []
        origin = headers.get(b"origin", b"")
        allowed = [(b"access-control-allow-origin", origin), (b"access-control-expose-headers", b"retry-after")]
        return [(b"vary", b"origin"), *(allowed if origin in self.origins else [])]

    def _rejected(self, scope: Scope, headers: dict[bytes, bytes]) -> str | None:
        """Return the error of a request that is known before its body is read."""
        if scope["method"] != "POST":
            return "method"
        # Browsers state where a request comes from; other programs carry no user's rights that could be abused.
        site = headers.get(b"sec-fetch-site", b"none")
        if site not in {b"same-origin", b"none"} and headers.get(b"origin") not in self.origins:
            return "origin"
        if headers.get(b"content-type", b"").lower().replace(b" ", b"") not in JSON_TYPES:
            return "type"
        if not self.rate.takes(scope["client"][0] if scope.get("client") else None):
            return "rate"
        return None

    async def _received(self, headers: dict[bytes, bytes], receive: Receive) -> str | None:
        """Read the body and return the word of its outcome; None if the client disconnects."""
        length = headers.get(b"content-length", b"0")
        if len(length) > CONTENT_LENGTH_DIGITS or not length.isdigit() or int(length) > self.limit:
            return "large"
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.limit:
                return "large"
        try:
            return REPLY_WORDS[await self.outcome(bytes(body))]
        except RefusedError:
            return "refused"
        except (NotKeptError, OSError):  # the database cannot be read or written
            return "busy"


async def _preflight(cors: list[tuple[bytes, bytes]], send: Send) -> None:
    """Reply to a preflight request: the page of an allowed origin may send JSON."""
    headers = [
        *cors,
        (b"access-control-allow-methods", b"POST"),
        (b"access-control-allow-headers", b"content-type"),
        (b"access-control-max-age", b"600"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


class Guard:
    """Middleware of a web application: headers on every reply, and numbered errors without tracebacks."""

    def __init__(self, app: ASGIApp, complain: Callable[[str], object]) -> None:
        self.app, self.complain = app, complain
        self.headers = [(name.encode(), value.encode()) for name, value in PAGE_HEADERS.items()]
        self.under_way = self.mistakes = 0
        self.replies = replies({"busy": RETRY_SECONDS})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = False

        async def sent(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                names = {name for name, _ in message["headers"]}
                added = [header for header in self.headers if header[0] not in names]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        async def answered(word: str) -> None:
            for message in self.replies[word]:
                await sent(message)

        if self.under_way >= MOST_REQUESTS_AT_ONCE:
            await answered("busy")
            return
        self.under_way += 1
        try:
            await self.app(scope, receive, sent)
        except Exception as error:  # noqa: BLE001 (its message could hold parts of the request)
            self.mistakes += 1
            self.complain(f"warner: mistake {self.mistakes}: {type(error).__name__} {_origin(error)}\n")
            if started:
                raise RuntimeError(f"mistake {self.mistakes}") from None  # which closes the connection
            await answered("error")
        finally:
            self.under_way -= 1


def _origin(error: BaseException) -> str:
    """Return the last position of an error in a file of this package, without message or values."""
    traces: list[Any] = []
    trace = error.__traceback__
    while trace is not None:
        traces.append(trace)
        trace = trace.tb_next
    ours = [trace for trace in traces if "warner" in trace.tb_frame.f_code.co_filename] or traces
    if not ours:
        return "nowhere"
    name = ours[-1].tb_frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"in {name}, line {ours[-1].tb_lineno}"
