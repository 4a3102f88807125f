"""The command `warner collect` as an operator meets it: what it says, how it stops, what it survives, what it hides.

It tests cli/collecting.py as well.
"""

from __future__ import annotations

import base64
import csv
import http.client
import json
import os
import random
import signal
import socket
import sqlite3
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from service.databases import postgres
from service.serving import Running, body_of, collecting, exchanged, posted, survey_of, until
from warner.__main__ import main
from warner.service.responses import Bodies
from warner.service.stores import backup, collected, opened
from warner.service.stores.contract import added
from warner.text import not_installed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warner.service.survey import Survey

SURVEY = survey_of(batch=2)
INVITED = survey_of(batch=2, access="invited")


class Shell:
    """The command in this process, in a folder: most of what an operator types is over at once."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys

    def _run(self, folder: Path | None, arguments: tuple[str, ...]) -> tuple[object, str, str]:
        self.monkeypatch.chdir(folder or self.folder)
        self.monkeypatch.setattr(sys, "argv", ["warner", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code, *self.capsys.readouterr()

    def prints(self, *arguments: str, folder: Path | None = None) -> str:
        """Run what must succeed, and give what it prints."""
        code, out, err = self._run(folder, arguments)
        assert (code, err) == (0, "")
        return out

    def complains(self, *arguments: str, folder: Path | None = None) -> str:
        """Run what must fail: one line, exit code 2, nothing new on disk."""
        before = sorted((folder or self.folder).iterdir())
        code, out, err = self._run(folder, arguments)
        assert (code, out) == (2, "")
        picture = 2 * ("a survey must be JSON, but line" in err)
        assert len(err.splitlines()) == 1 + picture
        assert err.startswith("warner: ")
        assert sorted((folder or self.folder).iterdir()) == before
        return err


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, monkeypatch, capsys)


def status(running: Running, body: bytes, survey: Survey = SURVEY) -> int:
    received = exchanged(running.port, posted(survey, body))
    return int(received.split(b" ")[1])


def responses(place: str) -> int:
    """Count the responses that are kept, published or not."""
    with tempfile.TemporaryDirectory() as folder:
        backup(place, f"{folder}/copy.db")
        with closing(sqlite3.connect(f"{folder}/copy.db")) as connection:
            return int(connection.execute("select total(pending) + total(published) from days").fetchone()[0])


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Serve an open survey."""
    with collecting(tmp_path_factory.mktemp("running"), SURVEY) as process:
        yield process


def test_the_operator_is_told_where_everything_is(running: Running) -> None:
    lines = running.said.splitlines()
    named = ["survey", "dashboard", "database", "privacy", "precision", "precision", "Press"]
    assert [line.split()[0] for line in lines] == named
    assert lines[0] == f"survey     http://127.0.0.1:{running.port}/s/test (it works on this computer only)"
    assert f"http://127.0.0.1:{running.dashboard_port}/dashboard?key=" in lines[1]
    assert lines[2] == "database   test.db"
    assert lines[3].startswith("privacy    a response spends at most epsilon 2.198,")  # ln 3 twice, rounded up
    assert lines[4].startswith("precision  q1: 95 % any-time intervals of at most ±5 percentage points take ")
    assert stat.S_IMODE((running.folder / "test.db").stat().st_mode) == 0o600


def test_a_response_is_counted_once_however_often_it_is_sent(running: Running) -> None:
    place = str(running.folder / "test.db")
    before = responses(place)
    body = body_of(SURVEY)
    assert [status(running, body) for _ in range(3)] == [200] * 3
    assert responses(place) == before + 1
    assert status(running, body_of(SURVEY)) == 200
    assert responses(place) == before + 2


def test_a_second_process_is_refused(running: Running, shell: Shell) -> None:
    told = shell.complains("collect", "survey.json", "--port", "0", "--dashboard-port", "0", folder=running.folder)
    assert "another process is collecting into" in told
    told = shell.complains("survey", "close", "test.db", folder=running.folder)
    assert "this survey is running: close it on its dashboard, or stop it first" in told


def test_a_port_in_use_is_refused_before_the_database_is_made(running: Running, shell: Shell) -> None:
    SURVEY.save(shell.folder / "survey.json")
    options = ("collect", "survey.json", "--database", "other.db")
    told = shell.complains(*options, "--port", str(running.port), "--dashboard-port", "0")
    assert f"port {running.port} of 127.0.0.1 is in use; give another --port, or 0 for any free one" in told
    told = shell.complains(*options, "--port", "0", "--dashboard-port", str(running.port))
    assert "give another --dashboard-port" in told


def test_a_backup_is_made_beside_a_running_survey(running: Running, shell: Shell) -> None:
    assert status(running, body_of(SURVEY)) == 200
    place = str(running.folder / "test.db")
    assert shell.prints("survey", "backup", place, "-o", "copy.db") == f"copy.db: a copy of {place}\n"
    assert responses(str(shell.folder / "copy.db")) == responses(place)
    assert "already" in shell.complains("survey", "backup", place, "-o", "copy.db")


MARKER = "MARKERmarkerMARKERmark"  # 22 characters that are a nonce or a token as well


def marked() -> list[bytes]:
    """Return requests that carry the marker in every place that a request has."""
    whole = json.loads(body_of(SURVEY))
    bodies = [
        json.dumps(whole | {"nonce": MARKER[:-1] + "w"}).encode(),  # 16 bytes in their one spelling: it is kept
        json.dumps(whole | {"token": MARKER}).encode(),
        json.dumps(whole | {"survey": MARKER}).encode(),
        json.dumps(whole | {"reports": [MARKER, MARKER]}).encode(),
        json.dumps(whole | {MARKER: 1}).encode(),
        MARKER.encode() * 500,
        MARKER.encode(),
    ]
    requests = [posted(SURVEY, body) for body in bodies]
    names = ("Cookie", "Referer", "User-Agent", "Accept-Language", "X-Forwarded-For", "Authorization", "Host", "Origin")
    extra = [f"{name}: {MARKER}" for name in names]
    requests.append(posted(SURVEY, body_of(SURVEY), "Content-Type: application/json", *extra, f"X-{MARKER}: 1"))
    requests.append(posted(SURVEY, b"", f"Content-Type: {MARKER}"))
    requests.append(posted(SURVEY, b"", f"Sec-Fetch-Site: {MARKER}"))
    requests.append(posted(SURVEY, b"", method=MARKER.upper()))
    paths = (f"/{MARKER}", f"/health?{MARKER}", f"/static/{MARKER}/{MARKER}")
    requests += [f"GET {path} HTTP/1.1\r\nHost: {MARKER}\r\nConnection: close\r\n\r\n".encode() for path in paths]
    requests.append(f"{MARKER}\r\n\r\n".encode())
    requests.append(f"GET / HTTP/1.1\r\n{MARKER}\r\n\r\n".encode())
    requests.append(f"GET / HTTP/1.1\r\nX: {MARKER * 2000}\r\n\r\n".encode())
    requests.append(f"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: {MARKER}\r\nConnection: Upgrade, close\r\n\r\n".encode())
    return requests


def test_nothing_of_a_request_is_found_anywhere(tmp_path: Path) -> None:
    secret = base64.urlsafe_b64decode(MARKER[:-1] + "w==")
    with collecting(tmp_path, SURVEY) as process:
        for request in marked():
            exchanged(process.port, request)
            exchanged(process.dashboard_port, request)
        assert responses(str(tmp_path / "test.db")) == 2
        found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        assert process.stop(signal.SIGTERM) == 0
        found |= {f"{path.name} afterwards": path.read_bytes() for path in tmp_path.iterdir()}
    assert found["stderr.txt afterwards"] == b""
    assert found["stdout.txt afterwards"] == process.said.encode()
    for name, content in found.items():
        assert MARKER.lower().encode() not in content.lower(), name
        assert secret not in content, name
        assert secret.hex().encode() not in content, name


def test_it_stops_within_three_seconds_with_a_stream_open(tmp_path: Path) -> None:
    with collecting(tmp_path, SURVEY) as process, socket.create_connection(("127.0.0.1", process.port)) as idle:
        key = process.said.partition("?key=")[2].split()[0]
        client = http.client.HTTPConnection("127.0.0.1", process.dashboard_port, timeout=20)
        client.request("GET", f"/dashboard?key={key}")
        entered = client.getresponse()
        assert entered.status == 200
        entered.read()
        cookie = str(entered.headers["set-cookie"]).split(";")[0]
        client.request("GET", "/dashboard/live", headers={"cookie": cookie})
        stream = client.getresponse()
        assert stream.status == 200
        assert stream.read(1)
        idle.sendall(b"POST /s/test/report HTTP/1.1\r\n")  # and a request that never ends
        assert status(process, body_of(SURVEY)) == 200
        start = time.monotonic()
        assert process.stop(signal.SIGINT) == 0
        assert time.monotonic() - start < 3
        client.close()
    assert responses(str(tmp_path / "test.db")) == 1
    assert (tmp_path / "stderr.txt").read_text() == ""
    assert sorted(path.name for path in tmp_path.glob("test.db*")) == ["test.db"]  # no log and no lock beside it


def test_invitations_from_the_command_to_the_last_response(tmp_path: Path, shell: Shell) -> None:
    INVITED.save(tmp_path / "survey.json")
    invite = ("survey", "invite", "survey.json", "3", "--url", "https://survey.example.org/", "-o", "links.csv")
    made, *prospects = shell.prints(*invite).splitlines()
    assert made == "links.csv: 3 links, valid for one response each; only this file has them"
    assert [line.partition(": ")[0] for line in prospects] == ["q1", "q2"]
    assert all(" 3 reports carry almost no information: " in line for line in prospects)
    assert stat.S_IMODE((tmp_path / "links.csv").stat().st_mode) == 0o600
    links = [row["link"] for row in csv.DictReader((tmp_path / "links.csv").read_text().splitlines())]
    assert len(links) == 3
    assert all(link.startswith("https://survey.example.org/s/test#t=") for link in links)
    tokens = [link.partition("#t=")[2] for link in links]
    stored = (tmp_path / "test.db").read_bytes()
    assert not any(base64.urlsafe_b64decode(token + "==") in stored or token.encode() in stored for token in tokens)
    assert "links.csv already exists, and is not overwritten" in shell.complains(*invite)
    assert collected(str(tmp_path / "test.db")).invited == 3

    def sent(process: Running, token: str, nonce: bytes | None = None) -> int:
        return status(process, body_of(INVITED, nonce, token), INVITED)

    with collecting(tmp_path, INVITED) as process:
        nonce = os.urandom(16)
        body = body_of(INVITED, nonce, tokens[0])
        assert [status(process, body, INVITED) for _ in range(2)] == [200, 200]  # a retry is thanked for again
        assert sent(process, tokens[0]) == 409
        assert sent(process, tokens[1]) == 200
        assert sent(process, base64.urlsafe_b64encode(bytes(16))[:22].decode()) == 403
        assert status(process, body_of(SURVEY), INVITED) == 400  # of another survey, and without an invitation
        told = shell.complains("survey", "invite", "survey.json", "3", "--url", "https://x.example", "-o", "more.csv")
        assert "this survey is running: stop it, invite, and start it again" in told
        assert process.stop() == 0
    assert shell.prints("survey", "close", "test.db") == (
        "test.db: closed with 2 responses, a number that the survey file does not fix: the intervals remain those that "
        "hold however often you look\n"
    )
    assert "closed already" in shell.complains("survey", "close", "test.db")
    with collecting(tmp_path, INVITED) as process:
        assert sent(process, tokens[2]) == 410
        assert status(process, body, INVITED) == 200  # it was counted when the survey was open
        page = exchanged(process.port, b"GET /s/test HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b"<script" not in page
        assert process.stop() == 0
    told = shell.complains("survey", "invite", "survey.json", "1", "--url", "https://x.example", "-o", "more.csv")
    assert "closed" in told


def test_https_without_a_proxy_and_limits_that_the_operator_sets(tmp_path: Path, shell: Shell) -> None:
    if subprocess.run(["which", "openssl"], capture_output=True, check=False).returncode:
        pytest.skip("there is no openssl to make a certificate")
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", *name]
    subprocess.run(made, cwd=tmp_path, capture_output=True, check=True)
    SURVEY.save(tmp_path / "survey.json")
    told = shell.complains("collect", "survey.json", "--certificate", "cert.pem", "--key", "survey.json")
    assert "cert.pem and its key cannot be used for TLS" in told
    limits = ("--limit", "3", "--rate", "5", "--allow-origin", "https://a.example")
    with collecting(tmp_path, SURVEY, "--certificate", "cert.pem", "--key", "key.pem", *limits) as process:
        assert f"survey     https://127.0.0.1:{process.port}/s/test (it works on this computer only)\n" in process.said
        trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        client = http.client.HTTPSConnection("127.0.0.1", process.port, context=trusting, timeout=20)
        headers = {"content-type": "application/json", "origin": "https://a.example", "sec-fetch-site": "cross-site"}
        statuses = []
        for _ in range(6):
            client.request("POST", "/s/test/report", body_of(SURVEY), headers)
            reply = client.getresponse()
            assert reply.headers["access-control-allow-origin"] == "https://a.example"
            statuses.append(reply.status)
            reply.read()
        assert statuses == [200, 200, 200, 410, 410, 429]
        client.close()
        assert process.stop() == 0
    assert responses(str(tmp_path / "test.db")) == 3


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("nope.json",), "there is no file nope.json"),
        (("broken.json",), "broken.json: a survey must be JSON"),
        (("design.json",), 'a survey must say "format": "warner survey"'),
        (("survey.json", "--database", "nowhere/x.db"), "nothing can be written beside nowhere/x.db"),
        (("survey.json", "--database", "survey.json"), "is not a database of warner collect, and is left as it is"),
        (("survey.json", "--database", "other.db"), "belongs to another survey, or to another version of it"),
        (("survey.json", "--allow-origin", "*"), "must be an origin as browsers write it"),
        (("survey.json", "--allow-origin", "https://a.example/"), "did you mean https://a.example?"),
        (("survey.json", "--allow-origin", "https://a.example:443"), "did you mean https://a.example?"),
        (("survey.json", "--allow-origin", "HTTPS://A.example"), "did you mean https://a.example?"),
        (("survey.json", "--allow-origin", "null"), "but got 'null'"),
        (("survey.json", "--host", "192.0.2.1"), "192.0.2.1 is not an address of this computer"),
        (("survey.json", "--host", "nowhere.invalid"), "there is no address 'nowhere.invalid' to listen at"),
        (("survey.json", "--certificate", "nope.pem"), "there is no file nope.pem"),
        (("survey.json", "--key", "nope.pem"), "give --certificate as well"),
        (("survey.json", "--key-file", "nope.txt"), "nope.txt"),
        (("survey.json", "--page", "page.html"), "--page needs --url"),
        (("survey.json", "--url", "https://a.example"), "--url is for --page"),
        (("survey.json", "--page", "page.html", "--url", "a.example"), "--url must be the address"),
        (("survey.json", "--page", "survey.json", "--url", "https://a.example"), "would be lost"),
        (("survey.json", "--rate", "-1"), "--rate"),
        (("survey.json", "--limit", "0"), "--limit"),
        (("survey.json", "--database", "postgresql://u:secret@/x?host=/nowhere"), "/nowhere"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, shell: Shell, options: tuple[str, ...], complaint: str) -> None:
    if "postgresql" in options[-1]:
        pytest.importorskip("psycopg", reason="psycopg is not installed")
    SURVEY.save(tmp_path / "survey.json")
    SURVEY.questions[0].design.save(tmp_path / "design.json")
    (tmp_path / "broken.json").write_text("{")
    opened(str(tmp_path / "other.db"), INVITED).release()
    told = shell.complains("collect", "--port", "0", "--dashboard-port", "0", *options)
    assert complaint in told
    assert "secret" not in told


def test_a_missing_extra_is_named(tmp_path: Path, shell: Shell) -> None:
    SURVEY.save(tmp_path / "survey.json")
    for name in [name for name in sys.modules if name.startswith("warner.service.server")]:
        shell.monkeypatch.delitem(sys.modules, name)
    shell.monkeypatch.delattr("warner.service.server", raising=False)
    shell.monkeypatch.setitem(sys.modules, "uvicorn", None)
    shell.monkeypatch.delitem(sys.modules, "warner.service.connections")
    told = shell.complains("collect", "survey.json")
    assert told == f"warner: {not_installed('collecting needs uvicorn', 'collect')}\n"


def test_importing_warner_and_its_help_loads_no_server(tmp_path: Path) -> None:
    look = (
        "import sys, warner.cli; [warner.cli.command_named(name) for name in warner.cli.COMMANDS]; "
        "print({name.split('.')[0] for name in sys.modules} & {'starlette', 'uvicorn', 'psycopg', 'sqlite3', 'uvloop'})"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "set()\n"


def test_the_page_for_another_host_is_one_file(tmp_path: Path, shell: Shell) -> None:
    SURVEY.save(tmp_path / "survey.json")
    told = shell.prints("collect", "survey.json", "--page", "page.html", "--url", "https://survey.example.org/")
    assert "serve the survey there with --allow-origin" in told
    page = (tmp_path / "page.html").read_text()
    assert SURVEY.fingerprint in page
    assert "https://survey.example.org/s/test" in page
    assert not list(tmp_path.glob("*.db"))


# The death of the process under load


class Client(threading.Thread):
    """Client that sends responses and tries again, with the same bytes, until each is confirmed."""

    def __init__(self, port: int, bodies: list[bytes], deadline: float) -> None:
        super().__init__(daemon=True)
        self.port, self.bodies, self.deadline = port, bodies, deadline
        self.kept: list[bytes] = []
        self.start()

    def run(self) -> None:
        for body in self.bodies:
            while time.monotonic() < self.deadline and not self._thanked(body):
                time.sleep(0.02)

    def _thanked(self, body: bytes) -> bool:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            client.request("POST", "/s/test/report", body, {"content-type": "application/json"})
            reply = client.getresponse()
            thanked = reply.status == 200 and json.loads(reply.read()) == {"kept": True}
        except (OSError, http.client.HTTPException, ValueError):
            return False
        finally:
            client.close()
        if thanked:
            self.kept.append(body)
        return thanked


def killed(tmp_path: Path, place: str, rounds: int, *, clients: int = 8, each: int = 40) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rng = random.Random(rounds)
    # Some responses belong to one round only; nothing of them is lost, and nothing is counted twice.
    options = ("--database", place, "--port", str(port), "--rate", "0")
    with collecting(tmp_path, SURVEY, *options) as process:
        everybody = [[body_of(SURVEY) for _ in range(each * rounds)] for _ in range(clients)]
        senders = [Client(port, bodies, time.monotonic() + 60 + 10 * rounds) for bodies in everybody]
        running: Running = process
        for _ in range(rounds):
            time.sleep(rng.uniform(0.05, 0.4))
            running.process.kill()
            running.process.wait()
            acknowledged = {body for sender in senders for body in list(sender.kept)}
            assert responses(place) >= len(acknowledged)
            running = Running(tmp_path, *options)
        try:
            for sender in senders:
                sender.join()
            assert running.stop() == 0
        finally:
            running.process.kill()
            running.process.wait()
    sent = [body for bodies in everybody for body in bodies]
    assert sorted(body for sender in senders for body in sender.kept) == sorted(sent)
    store = opened(place, SURVEY)
    store.close()  # so that all is published
    store.release()
    bodies = Bodies(SURVEY)
    expected = added(SURVEY, [bodies.read(body) for body in sent])
    for counters, cells in zip(collected(place).cells, expected, strict=True):
        assert np.array_equal(counters.ravel(), cells)
    assert (tmp_path / "stderr.txt").read_text() == ""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_killed_under_load_nothing_is_lost_and_nothing_counted_twice(tmp_path: Path, kind: str) -> None:
    killed(tmp_path, str(tmp_path / "test.db") if kind == "sqlite" else postgres().database(), 1)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_killed_fifty_times_nothing_is_lost_and_nothing_counted_twice(tmp_path: Path, kind: str) -> None:
    killed(tmp_path, str(tmp_path / "test.db") if kind == "sqlite" else postgres().database(), 50)


def test_two_processes_share_a_database_of_postgresql(tmp_path: Path) -> None:
    place = postgres().database()
    (tmp_path / "second").mkdir()
    with (
        collecting(tmp_path, SURVEY, "--database", place) as first,
        collecting(tmp_path / "second", SURVEY, "--database", place) as second,
    ):
        body = body_of(SURVEY)
        assert [status(process, body) for process in (first, second)] == [200, 200]
        assert status(second, body_of(SURVEY)) == 200
        until(lambda: responses(place) == 2)


# A survey that closes by itself, and invitations that are taken back


def test_a_survey_closes_by_itself_at_the_number_that_its_file_fixes(tmp_path: Path, shell: Shell) -> None:
    fixed = survey_of(batch=10, stop=25)
    with collecting(tmp_path, fixed) as process:
        assert "schedule   closes by itself with 25 responses\n" in process.said
        assert "precision  q1: 25 reports carry almost no information: the 95 % intervals leave" in process.said
        bodies = [body_of(fixed) for _ in range(40)]
        statuses: list[int] = []

        def respond(some: list[bytes]) -> None:
            statuses.extend(status(process, body, fixed) for body in some for _ in range(2))  # each is sent twice

        threads = [threading.Thread(target=respond, args=(bodies[start::4],)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (statuses.count(200), statuses.count(410)) == (50, 30)
        until(lambda: "the survey is closed with 25 responses, the number that the survey file fixes" in _err(process))
        page = exchanged(process.port, b"GET /s/test HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b"<script" not in page
        assert process.stop() == 0
    found = collected(str(tmp_path / "test.db"))
    assert (found.state, found.responses, found.fixed) == ("closed", 25, True)
    # The commands take the interval for one look, without a word of others; and the survey is closed already.
    told = json.loads(shell.prints("estimate", "test.db", "--question", "q1", "--json"))
    assert (told["anytime"], told["interval"]) == (False, "clopper_pearson")
    assert "closed already" in shell.complains("survey", "close", "test.db")


def _err(process: Running) -> str:
    return process.err.read_text()


def test_invitations_are_revoked_and_counted_by_the_command(tmp_path: Path, shell: Shell) -> None:
    INVITED.save(tmp_path / "survey.json")
    invite = ("survey", "invite", "survey.json")
    assert "there is no file" in shell.complains(*invite)
    shell.prints(*invite, "4", "--url", "https://survey.example.org", "-o", "links.csv")
    links = (tmp_path / "links.csv").read_text().splitlines()[1:]
    tokens = [link.partition("#t=")[2] for link in links]
    asked = json.dumps({"survey": INVITED.fingerprint, "token": tokens[0]}).encode()
    standing = posted(INVITED, asked).replace(b"/report ", b"/standing ", 1)
    with collecting(tmp_path, INVITED) as process:
        assert "precision  q1: 4 reports carry almost no information" in process.said
        assert b'"why":"open"' in exchanged(process.port, standing)
        assert [status(process, body_of(INVITED, None, token), INVITED) for token in tokens[:2]] == [200, 200]
        assert b'"why":"used"' in exchanged(process.port, standing)
        (tmp_path / "gone.csv").write_text(f"link\n{links[0]}\n{tokens[2]}\n\n")
        told = shell.complains(*invite, "--revoke", "gone.csv")
        assert "this survey is running: stop it, revoke, and start it again" in told
        until(lambda: "2 responses published; at most 2 are left" in shell.prints(*invite))
        assert process.stop() == 0
    said = "test.db: 1 invitation is revoked; 1 was used before, and what was reported stays counted\n"
    assert shell.prints(*invite, "--revoke", "gone.csv") == said
    assert (
        shell.prints(*invite) == "test.db: 3 invitations, besides 1 revoked; 2 responses published; at most 1 is left\n"
    )
    with collecting(tmp_path, INVITED) as process:
        assert status(process, body_of(INVITED, None, tokens[2]), INVITED) == 403
        assert status(process, body_of(INVITED, None, tokens[3]), INVITED) == 200
        assert process.stop() == 0
    shell.prints("survey", "close", "test.db")
    assert shell.prints(*invite).endswith("none can be used any more, because the survey is closed\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--revoke", "nope.csv"), "there is no file nope.csv"),
        (
            ("--revoke", "bad.csv"),
            "bad.csv: line 2 must be a link of `warner survey invite`, or its code of 22 characters",
        ),
        (("--revoke", "empty.csv"), "empty.csv must hold at least one invitation"),
        (("--revoke", "foreign.csv"), "only invitations to this survey can be revoked, but 1 of these 1 are none"),
        (("3", "--revoke", "foreign.csv"), "give a number of respondents to invite, or --revoke, not both"),
        (("3", "-o", "more.csv"), "--url must be given for new invitations"),
        (("--url", "https://x.example"), "--url is for new invitations"),
    ],
)
def test_what_cannot_be_invited_or_revoked(
    tmp_path: Path, shell: Shell, arguments: tuple[str, ...], words: str
) -> None:
    INVITED.save(tmp_path / "survey.json")
    opened(str(tmp_path / "test.db"), INVITED).release()
    secret = base64.urlsafe_b64encode(bytes(range(16)))[:22].decode()
    for name, lines in {"bad": ["link", f"{secret}x"], "empty": ["link"], "foreign": ["link", secret]}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    told = shell.complains("survey", "invite", "survey.json", *arguments)
    assert words in told
    assert secret not in told


@pytest.mark.parametrize("batch", [1, 10**9])
def test_steps_that_show_one_person_or_nothing_at_all_are_refused(tmp_path: Path, shell: Shell, batch: int) -> None:
    survey_of(batch=batch).save(tmp_path / "survey.json")
    told = shell.complains("collect", "survey.json", "--port", "0", "--dashboard-port", "0")
    assert f"batch must be a whole number from 2 to 1,000,000, but got {batch:,}" in told
