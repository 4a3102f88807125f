"""Sharing a survey on a local network: the address of this computer, a certificate made on the spot, and a QR code.

Browsers randomize only on pages that came over HTTPS, or from the same computer. A self-signed certificate gives phones
on the same network such a page without a domain or a certificate authority. It encrypts the connection, but no
authority vouches for it: the browser warns, and only the fingerprint distinguishes this server from an impostor.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from warner.documents import save_text
from warner.service.pages import split_address
from warner.text import not_installed

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.x509 import Certificate, GeneralName

CERTIFICATE_LIFETIME = timedelta(days=90)  # the most that it is valid
CERTIFICATE_REMAINDER = timedelta(days=7)  # a certificate that is valid for less is replaced
CLOCK_SKEW = timedelta(days=1)  # phones whose clocks are late accept it all the same
# Addresses that are routed on any network; no packet is sent to them.
ROUTED_ADDRESSES = ("192.0.2.1", "192.168.255.254", "10.255.255.254", "172.31.255.254")
BROWSER_WARNING = (
    "The certificate is self-signed, so each browser warns before the first visit that the connection is not private. "
    "Respondents choose Advanced (or Details) and continue. If this network might have hostile users, let them "
    "compare the fingerprint first."
)
REAL_CERTIFICATE = (
    "You need a real certificate for a survey on the internet, for one that runs for days, and where respondents "
    "should not get used to such warnings. A proxy such as Caddy obtains one; its Caddyfile has these lines:"
)
QR_BORDER = 4  # modules of light around a QR code, as its standard demands
QR_COLORS = ("\x1b[38;5;16;48;5;231m", "\x1b[0m")  # black on white, whatever the colors of the terminal are
QR_BLOCKS = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}
CADDY_LINES = ("survey.example.org", "reverse_proxy 127.0.0.1:8000")


class Identity(NamedTuple):
    """Self-signed certificate of this computer."""

    file: Path  # PEM, with the key and the certificate, readable by its owner only
    fingerprint: str  # SHA-256 as browsers show it: pairs of hexadecimal digits with colons


def local_address() -> str:
    for address in ROUTED_ADDRESSES:
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
            route.connect((address, 9))
            found = str(route.getsockname()[0])
            if not ipaddress.ip_address(found).is_loopback:
                return found
    raise ValueError(
        "host must be given: this computer has no address on a local network; connect it to the network of the "
        "respondents, or give the address that other devices reach"
    )


def identity(file: Path, address: str) -> Identity:
    """Return the certificate of an IP address and of this computer's names: that in the file if valid, or a new one."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
    except ImportError as error:
        raise ImportError(not_installed(f"sharing needs {error.name}", "collect")) from None
    names = _names(address)
    certificate = None
    with suppress(FileNotFoundError, ValueError):
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
    if certificate is None or not _is_usable(certificate, names):
        certificate, text = _made(names)
        file.unlink(missing_ok=True)  # whose rights may be those of another
        save_text(file, text, private=True)
    file.chmod(0o600)
    return Identity(file, certificate.fingerprint(hashes.SHA256()).hex(":").upper())


def _names(address: str) -> list[GeneralName]:
    """Return the IP address and the host names of this computer as subject alternative names."""
    from cryptography import x509

    host = socket.gethostname().partition(".")[0].lower()
    names: list[GeneralName] = [x509.IPAddress(ipaddress.ip_address(address.partition("%")[0]))]
    if host.isascii() and host.replace("-", "").isalnum():
        names += [x509.DNSName(host), x509.DNSName(f"{host}.local")]
    return names


def _is_usable(certificate: Certificate, names: list[GeneralName]) -> bool:
    from cryptography import x509

    try:
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    return list(alternatives) == names and certificate.not_valid_after_utc - datetime.now(UTC) > CERTIFICATE_REMAINDER


def _made(names: list[GeneralName]) -> tuple[Certificate, str]:
    """Make a key and a certificate that it signs itself; return the certificate, and both as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key, start = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC) - CLOCK_SKEW
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "warner survey, self-signed")])
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + CERTIFICATE_LIFETIME)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    pem = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain) + certificate.public_bytes(encoding)
    return certificate, pem.decode().rstrip("\n")


def unshareable(url: str) -> str:
    """Return the reason why a link cannot work on another device; empty if it can.

    >>> unshareable("https://192.168.1.5:8000/s/drinking")
    ''
    >>> unshareable("http://192.168.1.5:8000/s/drinking")
    'without HTTPS, browsers on other devices do not randomize, and the page takes no answers'
    >>> unshareable("http://localhost:8000/s/drinking")
    'it works on this computer only'
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or is_unspecified(host):
        return "it works on this computer only"
    if parts.scheme != "https":
        return "without HTTPS, browsers on other devices do not randomize, and the page takes no answers"
    return ""


def shareable_address(url: str) -> str:
    """Return the address of a survey's server without a slash at the end; reject one that other devices cannot use."""
    address = "".join(split_address(url))
    if reason := unshareable(address):
        raise ValueError(
            f"url must be an address that works on the devices of respondents, but got {url!r}: {reason}; give the "
            "https address of the server, such as the link that `warner survey serve --share` prints"
        )
    return address


def is_unspecified(host: str) -> bool:
    """Return whether an address represents all addresses of this computer."""
    with suppress(ValueError):
        return ipaddress.ip_address(host.partition("%")[0]).is_unspecified
    return False


def is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def qr_text(url: str) -> list[str]:
    """Return a QR code for a terminal, with two rows of modules in each line.

    >>> len(qr_text("https://192.168.1.5:8000/s/drinking"))
    19
    """
    rows = [list(map(bool, row)) for row in _qr(url).matrix_iter(border=QR_BORDER)]
    pairs = zip(rows[::2], [*rows[1::2], [False] * len(rows[0])], strict=True)
    on, off = QR_COLORS
    return [f"{on}{''.join(QR_BLOCKS[pair] for pair in zip(*both, strict=True))}{off}" for both in pairs]


def qr_svg(url: str) -> bytes:
    """Return a QR code as an SVG image, dark on light whatever stands around it."""
    import io

    image = io.BytesIO()
    _qr(url).save(image, kind="svg", border=QR_BORDER, light="white", dark="black", omitsize=True, xmldecl=False)
    return image.getvalue()


def _qr(url: str) -> Any:
    try:
        import segno
    except ImportError as error:
        raise ImportError(not_installed(f"sharing needs {error.name}", "collect")) from None
    return segno.make_qr(url, error="m")
