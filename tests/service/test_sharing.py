"""Sharing on a local network: address, certificate, QR code, and links that cannot work elsewhere."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import socket
import stat
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("cryptography", reason="sharing is an extra, and not installed")
pytest.importorskip("segno", reason="sharing is an extra, and not installed")

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from service.browsers import chromium, wait_until
from service.dashboards import nothing
from service.respondents import choose, driving, heading, press
from service.serving import collecting, survey_of
from warner.service import server, sharing
from warner.service.server import Address, Places, Settings, _Door, _on_local_network, opening, tls
from warner.service.sharing import identity, local_address, qr_svg, qr_text, shareable_address, unshareable
from warner.service.stores import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.browsers import FirefoxPage, Page

ADDRESS = "192.168.1.5"
LINK = f"https://{ADDRESS}:8000/s/drinking"


def certificate(file: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(file.read_bytes())


def test_certificate_names_address_and_hosts_and_lasts_at_most_90_days(tmp_path: Path) -> None:
    made = identity(tmp_path / "share.pem", ADDRESS)
    found = certificate(made.file)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address(ADDRESS)]
    host = socket.gethostname().partition(".")[0].lower()
    assert names.get_values_for_type(x509.DNSName) == [host, f"{host}.local"]
    assert found.not_valid_after_utc - found.not_valid_before_utc <= timedelta(days=90)
    assert found.not_valid_before_utc < datetime.now(UTC) < found.not_valid_after_utc
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert made.fingerprint == ":".join(f"{byte:02X}" for byte in found.fingerprint(hashes.SHA256()))
    assert stat.S_IMODE(made.file.stat().st_mode) == 0o600


def test_certificate_is_kept_until_the_address_changes(tmp_path: Path) -> None:
    file = tmp_path / "share.pem"
    first = identity(file, ADDRESS)
    assert identity(file, ADDRESS) == first
    assert identity(file, "192.168.1.6") != first
    assert identity(file, ADDRESS) != first


def test_certificate_is_replaced_before_it_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "share.pem"
    monkeypatch.setattr(sharing, "CERTIFICATE_LIFETIME", timedelta(days=7))
    short = identity(file, ADDRESS)
    monkeypatch.undo()
    assert identity(file, ADDRESS) != short


@pytest.mark.parametrize("content", [b"", b"no PEM", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_file_that_is_no_certificate_is_replaced_and_private(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "share.pem"
    file.write_bytes(content)
    file.chmod(0o644)
    assert identity(file, ADDRESS).fingerprint
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_local_address_is_one_of_this_computer() -> None:
    try:
        address = local_address()
    except ValueError as error:
        pytest.skip(str(error))
    with socket.socket() as listening:
        listening.bind((address, 0))
    assert not ipaddress.ip_address(address).is_loopback


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://localhost:8000/s/x", "this computer only"),
        ("https://127.0.0.1:8000/s/x", "this computer only"),
        ("https://[::1]:8000/s/x", "this computer only"),
        ("http://0.0.0.0:8000/s/x", "this computer only"),
        ("http://192.168.1.5:8000", "without HTTPS"),
        ("http://survey.example.org", "without HTTPS"),
    ],
)
def test_links_that_work_nowhere_else_are_rejected(url: str, reason: str) -> None:
    assert reason in unshareable(url)
    with pytest.raises(ValueError, match=f"url must be an address that works on the devices of .*{reason}"):
        shareable_address(url.removesuffix("/s/x"))


def test_links_that_work_elsewhere_pass() -> None:
    assert not unshareable(LINK)
    assert shareable_address("https://survey.example.org/") == "https://survey.example.org"


def test_the_qr_codes_of_terminal_and_dashboard_have_the_modules_of_the_link() -> None:
    segno = pytest.importorskip("segno")
    modules = [list(map(bool, row)) for row in segno.make_qr(LINK, error="m").matrix_iter(border=4)]
    halves = {" ": (False, False), "▄": (False, True), "▀": (True, False), "█": (True, True)}
    lines = [line.removeprefix(sharing.QR_COLORS[0]).removesuffix(sharing.QR_COLORS[1]) for line in qr_text(LINK)]
    shown = [[halves[block][half] for block in line] for line in lines for half in (0, 1)]
    assert shown[: len(modules)] == modules
    assert not any(map(any, shown[len(modules) :]))
    assert b'fill="#fff"' in qr_svg(LINK)


@pytest.mark.parametrize("access", ["open", "invited"])
def test_the_operator_sees_link_fingerprint_and_code_of_a_shared_survey(access: str, tmp_path: Path) -> None:
    survey, made = survey_of(access=access), identity(tmp_path / "share.pem", "127.0.0.1")
    with Address("127.0.0.1", 0).bound() as public, Address("127.0.0.1", 0).bound() as private:
        shared, mine = _Door(ADDRESS, public, tls(made.file, None)), _Door("127.0.0.1", private, None)
        lines = opening(nothing(survey), Places("x.db", shared, mine, made), "key")
        link = f"https://{ADDRESS}:{public.getsockname()[1]}/s/test"
    assert lines[0] == f"survey     {link}"
    code = [line for line in lines if sharing.QR_COLORS[0] in line]
    assert code == ([] if access == "invited" else [f"{'':11}{line}" for line in qr_text(link)])
    told = lines[1 + len(code) : next(i for i, line in enumerate(lines) if line.startswith("dashboard"))]
    assert all(len(line) <= 80 for line in told)
    words = " ".join(line.strip() for line in told)
    assert made.fingerprint in words.replace(": ", ":")
    assert "each browser warns before the first visit" in words
    assert words.endswith("survey.example.org reverse_proxy 127.0.0.1:8000")


def test_a_host_of_this_computer_becomes_its_address_on_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "local_address", lambda: ADDRESS)
    for host, shared in (
        ("127.0.0.1", ADDRESS),
        ("0.0.0.0", ADDRESS),
        ("localhost", ADDRESS),
        ("10.0.0.7", "10.0.0.7"),
    ):
        found = _on_local_network(Settings(respondents=Address(host, 8123), share=Path("share.pem")))
        assert (found.respondents.host, found.respondents.port) == (shared, 8123)
        assert found.dashboard.host == "127.0.0.1"
    with pytest.raises(ValueError, match="share must be left out where a certificate is given"):
        _on_local_network(Settings(certificate=Path("own.pem"), share=Path("share.pem")))


# Another device: a browser in a network namespace of its own


HERE, THERE = "10.211.77.1", "10.211.77.2"  # both ends of a cable


@pytest.fixture
def namespace() -> Iterator[str]:
    """Make a network namespace that is connected to this one; skipped where that is not allowed."""
    name = f"warner{os.getpid() % 10**6}"
    here, there = f"wh{os.getpid() % 10**6}", f"wt{os.getpid() % 10**6}"
    inside = f"ip netns exec {name}"
    commands = [
        f"ip netns add {name}",
        f"ip link add {here} type veth peer name {there}",
        f"ip link set {there} netns {name}",
        f"ip addr add {HERE}/24 dev {here}",
        f"ip link set {here} up",
        f"{inside} ip addr add {THERE}/24 dev {there}",
        f"{inside} ip link set {there} up",
        f"{inside} ip link set lo up",
    ]
    if shutil.which("ip") is None:
        pytest.skip("there is no command ip here; on Debian: apt install iproute2")
    try:
        for command in commands:
            done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"network namespaces are not available: {command}: {done.stderr.strip()}")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)  # and the cable with it


def respond(page: Page, url: str) -> None:
    """Answer a shared survey as a respondent does who accepts its certificate."""
    page.goto(url)
    wait_until(lambda: page.evaluate("document.querySelectorAll('fieldset').length") == 4)
    assert page.evaluate("isSecureContext && location.protocol") == "https:"
    choose(page, 0, 1, 0, 2)
    press(page)
    heading(page, "Your response has arrived")
    assert [request.url for request in page.requests if request.method == "POST"][-1] == f"{url}/report"


def test_a_browser_on_another_device_warns_accepts_randomizes_and_sends(namespace: str, tmp_path: Path) -> None:
    survey = driving()
    with collecting(tmp_path, survey, "--share", "--host", HERE) as running:
        url = f"https://{HERE}:{running.port}/s/{survey.id}"
        assert f"survey     {url}\n" in running.said  # without a remark
        fingerprint = "".join(line.strip() for line in running.said.split("SHA-256):\n")[1].splitlines()[:2])
        with chromium(namespace=namespace) as page:
            for address, error in (
                (url, "ERR_CERT_AUTHORITY_INVALID"),  # of an unknown authority, for the right address
                (f"http://{HERE}:{running.dashboard_port}/dashboard", "ERR_CONNECTION_REFUSED"),
            ):
                with pytest.raises(Exception, match=error):
                    page.goto(address)
        with chromium(namespace=namespace, ignore_https_errors=True) as page:
            respond(page, url)
        with chromium(ignore_https_errors=True) as page:  # the dashboard, on this computer
            page.goto(re.findall(r"dashboard +(\S+)", running.said)[0])
            wait_until(lambda: page.evaluate("document.querySelector('img.code')?.naturalWidth"))
            page.evaluate("document.querySelector('[data-name=certificate]').open = true")
            assert fingerprint in page.evaluate("document.querySelector('.summary').innerText")
        assert running.stop() == 0
    store = opened(str(tmp_path / f"{survey.id}.db"), survey)
    store.close()
    assert store.collected().responses == 1
    store.release()


def test_firefox_accepts_the_certificate_randomizes_and_sends(
    firefox_page: FirefoxPage, namespace: str, tmp_path: Path
) -> None:
    survey = driving()
    with collecting(tmp_path, survey, "--share", "--host", HERE) as running:
        respond(firefox_page, f"https://{HERE}:{running.port}/s/{survey.id}")
