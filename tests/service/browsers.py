"""Real browsers for the tests: Chromium by Playwright, Firefox by Marionette; both from Debian's packages.

Marionette, Firefox's own remote protocol, is JSON with its length in front, on a socket: it needs neither geckodriver
nor any package. Where a browser is absent its tests are skipped, and say so.

    with firefox() as page:
        page.goto("http://127.0.0.1:8000/")
        page.click("button")
        assert page.evaluate("document.title") == "Thanks"
        assert [request.method for request in page.requests] == ["GET", "POST"]
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

BROWSERS = ("chromium", "firefox")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FIREFOX = ("firefox-esr", "firefox")
AXE = Path(os.environ.get("AXE", Path(sys.prefix) / "npm/node_modules/axe-core/axe.min.js"))  # by `make test-collect`
STARTED = 60.0  # seconds that a browser may take to start on a busy machine
ANSWERED = 60.0  # seconds that it may take to answer
CHROMIUM_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Request:
    """Request of a browser: address with query, headers by lower-case name, and body."""

    method: str
    url: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = b""


class Page(Protocol):
    """One page of a browser; `name` says of which."""

    name: str

    @property
    def requests(self) -> list[Request]:
        """Requests of any page up to now."""

    @property
    def console(self) -> list[str]:
        """Console of the page: messages, errors and violations of the content security policy."""

    def goto(self, url: str) -> None: ...
    def reload(self) -> None: ...
    def back(self) -> None: ...
    def evaluate(self, expression: str, *values: Any) -> Any:
        """Return the value of an expression, or of an async function that is called with these values; as JSON."""

    def click(self, selector: str) -> None: ...
    def type(self, selector: str, text: str) -> None: ...
    def resize(self, width: int, height: int) -> None: ...
    def screenshot(self, path: Path) -> None: ...


def browser(name: str, profile: Path | None = None, **options: Any) -> AbstractContextManager[Page]:
    """Start the browser of this name, one of `BROWSERS`, in a profile of its own."""
    return chromium(profile, **options) if name == "chromium" else firefox(profile, **options)


def wait_until(true: Callable[[], Any], seconds: float = 20.0, *, pause: float = 0.02) -> Any:
    """Poll until the value is true, and return it."""
    end = time.monotonic() + seconds
    while not (answer := true()):
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(pause)
    return answer


def _program(names: tuple[str, ...]) -> str:
    for name in names:
        if path := shutil.which(name):
            return path
    pytest.skip(f"there is no browser called {' or '.join(names)} here; on Debian: apt install {names[0]}")


# Chromium


@dataclass
class ChromiumPage:
    """A page of Chromium; `page` is Playwright's own, for what only that can do (offline, dark, several tabs)."""

    page: Any
    requests: list[Request] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    name: str = "chromium"

    def __post_init__(self) -> None:
        self.page.on("request", self._keep)
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))

    def _keep(self, request: Any) -> None:
        self.requests.append(Request(request.method, request.url, request.headers, request.post_data_buffer or b""))

    def goto(self, url: str) -> None:
        self.page.goto(url)

    def reload(self) -> None:
        self.page.reload()

    def back(self) -> None:
        self.page.go_back()

    def evaluate(self, expression: str, *values: Any) -> Any:
        return self.page.evaluate(_asked(expression), list(values))

    def click(self, selector: str) -> None:
        self.page.click(selector)

    def type(self, selector: str, text: str) -> None:
        self.page.locator(selector).press_sequentially(text)

    def resize(self, width: int, height: int) -> None:
        self.page.set_viewport_size({"width": width, "height": height})

    def screenshot(self, path: Path) -> None:
        self.page.screenshot(path=path, full_page=True)


@contextmanager
def chromium(profile: Path | None = None, *, namespace: str = "", **options: Any) -> Iterator[ChromiumPage]:
    """Start Chromium, in a network namespace if one is named.

    `options` are those of a context of Playwright, such as ``color_scheme="dark"``.
    """
    program = _program(CHROMIUM)
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("Playwright drives Chromium, and is not installed; its own browsers are not needed")
    from playwright.sync_api import sync_playwright

    with ExitStack() as stack:
        folder = profile or Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        if namespace:
            command = f'#!/bin/sh\nexec ip netns exec {namespace} {program} "$@"\n'
            program = str(stack.enter_context(_script(command)))
        playwright = stack.enter_context(sync_playwright())
        context = playwright.chromium.launch_persistent_context(
            folder, executable_path=program, headless=True, args=CHROMIUM_OPTIONS, **options
        )
        stack.callback(context.close)
        yield ChromiumPage(context.pages[0])


@contextmanager
def _script(text: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "browser"
        file.write_text(text)
        file.chmod(0o755)
        yield file


def _asked(expression: str) -> str:
    value = "typeof asked === 'function' ? await asked(...values) : await asked"
    return f"async (values) => {{ const asked = ({expression}); return {value}; }}"


# Firefox

# All that Firefox sends, kept by Firefox itself: this runs with its own rights, not with those of a page.
OBSERVER = """
if (!window.warnerRequests) {
  const kept = window.warnerRequests = [];
  window.warnerObserver = { observe(subject) {
    const channel = subject.QueryInterface(Ci.nsIHttpChannel), headers = {};
    channel.visitRequestHeaders({ visitHeader(name, value) { headers[name.toLowerCase()] = value; } });
    let body = "";
    const stream = subject instanceof Ci.nsIUploadChannel ? subject.uploadStream : null;
    if (stream instanceof Ci.nsISeekableStream) {
      const reader = Cc["@mozilla.org/binaryinputstream;1"].createInstance(Ci.nsIBinaryInputStream);
      reader.setInputStream(stream);
      body = btoa(reader.readBytes(reader.available()));
      stream.seek(Ci.nsISeekableStream.NS_SEEK_SET, 0);
    }
    // What Firefox sends for itself comes from its own rights, and from no page.
    const { browsingContextID, loadingPrincipal } = channel.loadInfo;
    if (!browsingContextID && loadingPrincipal?.isSystemPrincipal) return;
    kept.push([channel.requestMethod, channel.URI.spec, headers, body]);
  } };
  Services.obs.addObserver(window.warnerObserver, "http-on-modify-request");
}
return window.warnerRequests;
"""
ERRORS = """
return Services.console.getMessageArray()
  .filter((message) => message instanceof Ci.nsIScriptError && /^http/.test(message.sourceName))
  .map((message) => message.errorMessage);
"""
VIEWPORT = """
const style = gBrowser.selectedBrowser.style;
const size = { width: "%dpx", height: "%dpx" };
for (const side of ["width", "height"])
  for (const which of [side, `min-${side}`, `max-${side}`]) style.setProperty(which, size[side]);
"""
PREFERENCES = {
    "devtools.console.stdout.content": True,
    "devtools.console.stdout.chrome": False,
    "marionette.port": 0,  # any that is free; it is written to the profile
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "browser.newtabpage.enabled": False,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.enabled": False,
}


class FirefoxPage:
    """A page of Firefox."""

    name = "firefox"

    def __init__(self, port: int, output: Path) -> None:
        self._output = output  # of Firefox, in which it writes what pages say to their consoles
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWERED)
        self._stream = self._socket.makefile("rb")
        self._number = 0
        self._read()  # Firefox says what it is
        self.command("WebDriver:NewSession", {"acceptInsecureCerts": True})
        self._within(OBSERVER)

    def command(self, name: str, parameters: dict[str, Any] | None = None) -> Any:
        """Send a command of Marionette, and give its answer."""
        self._number += 1
        message = json.dumps([0, self._number, name, parameters or {}]).encode()
        self._socket.sendall(b"%d:%b" % (len(message), message))
        _, number, error, answer = self._read()
        assert number == self._number
        assert error is None, f"{name}: {error}"
        return answer["value"] if isinstance(answer, dict) and answer.keys() == {"value"} else answer

    def _read(self) -> Any:
        size = b""
        while (byte := self._stream.read(1)) != b":":
            assert byte, "Firefox is gone"
            size += byte
        return json.loads(self._stream.read(int(size)))

    def _within(self, script: str) -> Any:
        """Run a script with the rights of the browser."""
        self.command("Marionette:SetContext", {"value": "chrome"})
        try:
            return self.command("WebDriver:ExecuteScript", {"script": script, "args": [], "newSandbox": False})
        finally:
            self.command("Marionette:SetContext", {"value": "content"})

    @property
    def requests(self) -> list[Request]:
        return [
            Request(method, url, headers, base64.b64decode(body))
            for method, url, headers, body in self._within(OBSERVER)
        ]

    @property
    def console(self) -> list[str]:
        lines = self._output.read_text(encoding="utf-8", errors="replace").splitlines()
        spoken = ("console.", "JavaScript error: http", "JavaScript warning: http")
        said = [line for line in lines if line.startswith(spoken) and "RSLoader" not in line]  # Firefox's own settings
        return [*said, *self._within(ERRORS)]

    def goto(self, url: str) -> None:
        self.command("WebDriver:Navigate", {"url": url})

    def reload(self) -> None:
        self.command("WebDriver:Refresh")

    def back(self) -> None:
        self.command("WebDriver:Back")

    def evaluate(self, expression: str, *values: Any) -> Any:
        # The values come as JSON, and the result goes as such, as with Playwright.
        script = (
            "const done = arguments[arguments.length - 1]; const values = JSON.parse(arguments[0]);"
            f"({_asked(expression)})(values).then((value) => done([JSON.stringify(value ?? null), null]),"
            "(error) => done([null, String(error)]));"
        )
        parameters = {"script": script, "args": [json.dumps(values)], "scriptTimeout": int(1000 * ANSWERED)}
        answer, error = self.command("WebDriver:ExecuteAsyncScript", {**parameters, "sandbox": None})
        assert error is None, error
        return json.loads(answer)

    def _element(self, selector: str) -> str:
        found = self.command("WebDriver:FindElement", {"using": "css selector", "value": selector})
        return str(*found.values())

    def click(self, selector: str) -> None:
        self.command("WebDriver:ElementClick", {"id": self._element(selector)})

    def type(self, selector: str, text: str) -> None:
        self.command("WebDriver:ElementSendKeys", {"id": self._element(selector), "text": text})

    def resize(self, width: int, height: int) -> None:
        # Windows cannot be as narrow as a telephone; the page within them can.
        self._within(VIEWPORT % (width, height))
        wait_until(lambda: self.evaluate("[innerWidth, innerHeight]") == [width, height])

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.command("WebDriver:TakeScreenshot", {"full": True})))

    def close(self) -> None:
        """Quit Firefox, so that it writes its profile down."""
        self.command("Marionette:Quit", {"flags": ["eForceQuit"]})
        self._stream.close()
        self._socket.close()


@contextmanager
def firefox(profile: Path | None = None, **preferences: Any) -> Iterator[FirefoxPage]:
    """Start Firefox; `preferences` are those of about:config, with underscores for full stops."""
    program = _program(FIREFOX)
    with ExitStack() as stack:
        folder = profile or Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        folder.mkdir(exist_ok=True)
        chosen = PREFERENCES | {name.replace("_", "."): value for name, value in preferences.items()}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in chosen.items()]
        (folder / "user.js").write_text("".join(lines), encoding="utf-8")
        port = folder / "MarionetteActivePort"
        port.unlink(missing_ok=True)
        output = stack.enter_context(tempfile.NamedTemporaryFile())
        command = [program, "--headless", "--no-remote", "--marionette", "--remote-allow-system-access"]
        process = subprocess.Popen(
            [*command, "--profile", str(folder)], stdout=output, stderr=output, env=os.environ | {"MOZ_HEADLESS": "1"}
        )
        try:
            wait_until(lambda: process.poll() is not None or (port.exists() and port.read_text()), STARTED)
            assert process.poll() is None, "Firefox did not start"
            page = FirefoxPage(int(port.read_text()), Path(output.name))
            yield page
            page.close()
            process.wait(ANSWERED)
        finally:
            process.kill()
            process.wait()


def accessibility_findings(page: ChromiumPage) -> list[Any]:
    """Return the accessibility violations that axe finds on the current page."""
    if not AXE.exists():
        pytest.skip(f"axe-core is not installed: npm install --prefix {AXE.parents[2]} axe-core")
    page.page.evaluate(AXE.read_text(encoding="utf-8"))
    asked = "async () => (await axe.run()).violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])"
    found: list[Any] = page.page.evaluate(asked)
    return found
