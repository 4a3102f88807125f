"""Server with two listeners in one process: one for respondents, one for the dashboard.

Addresses, certificate and database are checked before it starts. Its output contains nothing of a request: uvicorn's
logs are off, and errors within the event loop are counted, not shown.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import signal
import socket
import ssl
import sys
import textwrap
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from warner.documents import save_text
from warner.service.app import REPORTS_PER_MINUTE, Rate, survey_app
from warner.service.connections import MOST_CONNECTIONS, REQUEST_SECONDS, ConnectionLimits, Listener
from warner.service.dashboard import admission, dashboard_app
from warner.service.dashboard_data import doubts, prospects
from warner.service.sharing import (
    BROWSER_WARNING,
    CADDY_LINES,
    REAL_CERTIFICATE,
    Identity,
    identity,
    is_loopback,
    is_unspecified,
    local_address,
    qr_text,
    unshareable,
)
from warner.service.stores import opened, without_password
from warner.service.stores.contract import closing_words, now
from warner.service.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from warner.service.dashboard import Admission
    from warner.service.stores.contract import Collected, Store
    from warner.service.survey import Survey

SHARED_COLUMNS = 69  # of the lines on a shared survey, beside their names
OTHER_OPEN_FILES = 64  # besides connections
MOST_DASHBOARD_CONNECTIONS = 256


@dataclass(frozen=True)
class Address:
    """Address of a listener."""

    host: str
    port: int  # 0 for any unused one
    option: str = "port"  # of the command, for messages

    def bound(self) -> socket.socket:
        """Bind the address, or raise an error that explains why it is not available."""
        try:
            family, kind, protocol, _, place = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except OSError as error:
            raise ValueError(f"there is no address {self.host!r} to listen at: {error.strerror}") from None
        made = socket.socket(family, kind, protocol)
        if os.name == "posix":  # on Windows it would let two programs share a port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(place)
        except OSError as error:
            made.close()
            raise ValueError(self._explanation(error)) from None
        return made

    def _explanation(self, error: OSError) -> str:
        if error.errno == errno.EADDRINUSE:
            return f"port {self.port} of {self.host} is in use; give another --{self.option}, or 0 for any free one"
        if error.errno == errno.EACCES:
            return f"port {self.port} is not open to this user; give a --{self.option} of 1024 or more"
        if error.errno == errno.EADDRNOTAVAIL:
            return f"{self.host} is not an address of this computer; 0.0.0.0 is all of its addresses"
        return f"cannot listen at {self.host}, port {self.port}: {error.strerror}"


@dataclass(frozen=True)
class Settings:
    """Settings of a survey server.

    `share` is the file of a self-signed certificate, to share the survey on the local network: a loopback host is
    replaced by the address of this computer there. The dashboard is not shared.
    """

    respondents: Address = field(default_factory=lambda: Address("127.0.0.1", 8000))
    dashboard: Address = field(default_factory=lambda: Address("127.0.0.1", 8001, "dashboard-port"))
    origins: tuple[str, ...] = ()  # sites whose pages may send responses
    limit: int | None = None  # largest number of responses
    rate: int = REPORTS_PER_MINUTE  # from one address; 0 for no limit
    certificate: Path | None = None  # for TLS without a proxy
    key: Path | None = None
    share: Path | None = None
    key_file: Path | None = None  # with a reusable key of the dashboard, in place of a link that works once
    link_file: Path | None = None  # through which `warner survey link` makes a new link; it is removed at the end
    deadline: float = REQUEST_SECONDS  # of a request


def serve(survey: Survey, place: str, settings: Settings, say: Callable[[str], object]) -> None:
    """Serve a survey with the database at `place` until a signal stops it; `say` gets the lines for the operator."""
    settings = _on_local_network(settings)
    context = tls(settings.certificate, settings.key)
    door, key = admission(settings.key_file, settings.link_file)
    with closing(settings.respondents.bound()) as public, closing(settings.dashboard.bound()) as private:
        certificate = None
        if settings.share is not None:
            certificate = identity(settings.share, public.getsockname()[0])
            context = tls(certificate.file, None)
        places = Places(
            place,
            _Door(settings.respondents.host, public, context),
            _Door(settings.dashboard.host, private, None if is_loopback(settings.dashboard.host) else context),
            certificate,
        )
        for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
            logging.getLogger(name).disabled = True
        store = opened(place, survey)
        free = True
        try:
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                free = runner.run(_served(survey, store, settings, places, (door, key), say))
        finally:
            if settings.link_file is not None:
                with suppress(OSError):
                    settings.link_file.unlink()
            if free:
                store.release()


def _on_local_network(settings: Settings) -> Settings:
    """Return the settings with the address of this computer on its network, if the survey is shared there."""
    if settings.share is None:
        return settings
    if settings.certificate is not None:
        raise ValueError("share must be left out where a certificate is given: it makes one of its own")
    host = settings.respondents.host
    if is_loopback(host) or is_unspecified(host):
        host = local_address()
    return replace(settings, respondents=replace(settings.respondents, host=host))


@dataclass(frozen=True)
class _Door:
    """Bound socket with the host name that the operator gave."""

    host: str
    listening: socket.socket
    context: ssl.SSLContext | None

    @property
    def url(self) -> str:
        """Address for a browser on this computer."""
        at, port, *_ = self.listening.getsockname()
        shown = "localhost" if is_unspecified(at) else self.host
        return f"{'http' if self.context is None else 'https'}://{f'[{shown}]' if ':' in shown else shown}:{port}"

    @property
    def safe(self) -> bool:
        """True if browsers treat the address as a secure context: this computer, or TLS."""
        return self.context is not None or is_loopback(self.host)


class Places(NamedTuple):
    """Database and listeners of a server."""

    database: str
    respondents: _Door
    dashboard: _Door
    certificate: Identity | None = None  # self-signed, of a survey on the local network


async def _served(
    survey: Survey,
    store: Store,
    settings: Settings,
    places: Places,
    admitted: tuple[Admission, str],
    say: Callable[[str], object],
) -> bool:
    """Serve until a signal comes; return False if a transaction that does not end still holds the store."""
    mistakes = Mistakes()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(mistakes.in_loop)
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows: Ctrl-C is a KeyboardInterrupt there
            loop.add_signal_handler(number, stopping.set)
    door, key = admitted
    writer = Writer(store, limit=settings.limit, log=mistakes.complain)
    try:
        app = survey_app(survey, writer, rate=Rate(settings.rate), origins=settings.origins, complain=mistakes.complain)
        results = dashboard_app(
            survey,
            writer,
            door,
            public=f"{places.respondents.url}/s/{survey.id}",
            stopping=stopping,
            hosts=(places.dashboard.host,),
            certificate=places.certificate.fingerprint if places.certificate else "",
            complain=mistakes.complain,
        )
        limits = ConnectionLimits(deadline=settings.deadline, connections=_connections())
        patient = ConnectionLimits(
            deadline=settings.deadline, reply_deadline=float("inf"), connections=MOST_DASHBOARD_CONNECTIONS
        )
        listeners = [
            Listener(app, places.respondents.listening, limits, places.respondents.context),
            Listener(results, places.dashboard.listening, patient, places.dashboard.context),
        ]
        running = [asyncio.create_task(listener.serve()) for listener in listeners]
        while not all(one.started or task.done() for one, task in zip(listeners, running, strict=True)):
            await asyncio.sleep(0.001)  # addresses are printed when they work
        if settings.link_file is not None:
            with suppress(OSError):  # a folder that cannot be written to has no new links
                save_text(settings.link_file, json.dumps({"url": f"{places.dashboard.url}/dashboard"}), private=True)
        for line in opening(writer.latest, places, key, settings.limit):
            say(line)
        stopped = asyncio.create_task(stopping.wait())
        await asyncio.wait((stopped, *running), return_when=asyncio.FIRST_COMPLETED)  # a failure stops both
        stopping.set()
        for listener in listeners:
            listener.should_exit = True
        await asyncio.gather(stopped, *running)
    finally:
        await writer.stop()
    if writer.stuck:
        say("The database does not answer. Responses that it has not stored were not acknowledged.")
    return not writer.stuck


def opening(collected: Collected, places: Places, key: str, limit: int | None = None) -> list[str]:
    survey = collected.survey
    link = f"{places.respondents.url}/s/{survey.id}"
    reason = unshareable(link)
    lines = [
        f"survey     {link}{f' ({reason})' if reason else ''}",
        *_shared(link, places.certificate, invited=survey.invited),
        f"dashboard  {places.dashboard.url}/dashboard?key={key}",
        f"database   {without_password(places.database)}",
        f"privacy    a response spends at most epsilon {survey.shown_epsilon}, for all questions together",
        *_ahead(collected, limit),
    ]
    if not places.respondents.safe:
        lines.append(
            "warning    on other computers the page refuses to draw, because it is not served over HTTPS: "
            "share it with --share, put a proxy with TLS in front of it, or give --certificate and --key"
        )
    if not places.dashboard.safe:
        lines.append(
            "warning    on other computers no browser opens the dashboard without HTTPS: reach it through a tunnel, "
            "such as ssh -L, or give --certificate and --key"
        )
    return [*lines, "Press Ctrl-C to stop. Every response that was acknowledged is on disk."]


def _shared(link: str, certificate: Identity | None, *, invited: bool) -> list[str]:
    """Return the lines on a survey that is shared on the local network."""
    if certificate is None:
        return []
    code = [] if invited else [f"           {line}" for line in qr_text(link)]
    digits = certificate.fingerprint
    lines = ["Fingerprint of the certificate (SHA-256):", digits[:48], digits[48:]]
    lines += [line for text in (BROWSER_WARNING, REAL_CERTIFICATE) for line in textwrap.wrap(text, SHARED_COLUMNS)]
    lines += [f"  {line}" for line in CADDY_LINES]
    return [*code, *(f"{'share' if not number else '':11}{line}" for number, line in enumerate(lines))]


def _ahead(collected: Collected, limit: int | None) -> list[str]:
    """Return the lines on schedule and expected precision of an open survey, or on the state of a closed one."""
    survey, invited = collected.survey, collected.invited
    if collected.state == "closed":
        return [f"state      {closing_words(collected)}"]
    if survey.over(now()):
        return [f"state      closed: {survey.closes} is over, and no more responses are accepted"]
    ends = [f"at {survey.closes}"] * bool(survey.closes)
    ends += [f"with {survey.stop:,} responses"] if survey.stop else []
    parts = [f"opens {survey.opens}"] * bool(survey.opens) + [f"closes by itself {' or '.join(ends)}"] * bool(ends)
    return [
        *([f"schedule   {', and '.join(parts)}"] if parts else []),
        *(f"precision  {name}: {words}" for name, words in prospects(survey, invited).items()),
        *(f"warning    {doubt}" for doubt in doubts(survey, invited, limit)),
    ]


def tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """Return the TLS context of a certificate and its key; None without a certificate."""
    if certificate is None:
        if key is not None:
            raise ValueError("a key needs its certificate: give --certificate as well")
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    for file in (certificate, key):
        if file is not None and not file.exists():
            raise FileNotFoundError(f"there is no file {file}")
    try:
        context.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise ValueError(
            f"{certificate} and its key cannot be used for TLS: {getattr(error, 'reason', None) or error}; "
            "both must be PEM files, and belong together"
        ) from None
    return context


def origin(text: str) -> str:
    """Return the origin of a site; raise an error unless it is written as browsers write it.

    >>> origin("https://survey.example:8443")
    'https://survey.example:8443'
    """
    remedy = "must be an origin as browsers write it, such as https://www.example.org, without a path"
    try:
        parts = urlsplit(text)
        usual = {"http": 80, "https": 443}.get(parts.scheme)
        host = parts.hostname or ""
        plain = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}"
        written = plain if parts.port in {None, usual} else f"{plain}:{parts.port}"
    except ValueError:
        raise ValueError(f"--allow-origin {remedy}, but got {text!r}") from None
    if usual is None or not host or not text.isascii() or "*" in text or written != text:
        hint = f"; did you mean {written}?" if usual and host and host.isascii() and "*" not in host else ""
        raise ValueError(f"--allow-origin {remedy}, but got {text!r}{hint}")
    return text


class Mistakes:
    """Internal errors, counted by kind, without any content of requests."""

    def __init__(self) -> None:
        self.number = 0

    def complain(self, line: str) -> None:
        with suppress(OSError):
            sys.stderr.write(line)
            sys.stderr.flush()

    def in_loop(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Count an exception of the event loop without printing it, because it may contain bytes of a request."""
        error = context.get("exception")
        if isinstance(error, OSError | asyncio.CancelledError):
            return  # a broken connection
        self.number += 1
        self.complain(f"warner: mistake {self.number} in the loop: {type(error).__name__}\n")


def _connections() -> int:
    """Raise the limit of open files; return the number of connections that it allows."""
    try:
        import resource
    except ImportError:  # Windows
        return 256
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    others = MOST_DASHBOARD_CONNECTIONS + OTHER_OPEN_FILES
    files = MOST_CONNECTIONS + others
    if soft != resource.RLIM_INFINITY and soft < files:
        soft = files if hard == resource.RLIM_INFINITY else min(files, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(16, min(MOST_CONNECTIONS, soft - others))


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # Windows
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
