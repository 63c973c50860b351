"""Addresses, and TLS from PEM texts.

Nothing here opens a connection: it only says what an address means and what a connection must prove.
"""

import ipaddress
import os
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from iop_edge.errors import EdgeError

if TYPE_CHECKING:
    import ssl  # imported by what makes a context: a check of a config needs none

UNIX_PREFIX: Final = "unix:"
MAX_UNIX_PATH: Final = 107
"""The most bytes that the path of a unix socket may have on Linux."""

_MAX_PORT: Final = 65535
_LABEL: Final = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.*")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WILDCARDS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104


class AddressError(ValueError):
    """A text that is no address. The message says why, and names the text's fault rather than the text."""


class Address(NamedTuple):
    """Where somebody listens: a host and a port, or the path of a unix socket.

    `host` is without brackets; an address of a unix socket has no host. Port 0 asks the system for a free one.
    """

    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def is_unix(self) -> bool:
        """Whether this is a unix socket."""
        return bool(self.path)

    @property
    def is_wildcard(self) -> bool:
        """Whether this stands for every address of the machine."""
        return _same_host(self.host) in _WILDCARDS

    @property
    def is_local(self) -> bool:
        """Whether nothing but this machine can reach it: a unix socket, or a loopback address."""
        return self.is_unix or is_loopback(self.host)

    @property
    def canonical(self) -> "Address":
        """The address as all spellings of it are compared (VAL-02, VAL-10): it is not looked up."""
        if self.is_unix:
            # Unlike `..`, which may follow a link, a dot and a second slash mean nothing.
            root = "/" if self.path.startswith("/") else ""
            return Address(path=f"{root}{PurePosixPath(self.path.lstrip('/'))}")
        return Address(host=_same_host(self.host), port=self.port)

    def __str__(self) -> str:
        if self.is_unix:
            return f"{UNIX_PREFIX}{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read `host:port`, `[v6]:port` or `unix:PATH` (VAL-10).

    Raises:
        AddressError: the text is none of them.
    """
    if text.startswith(UNIX_PREFIX):
        return _unix_address(text.removeprefix(UNIX_PREFIX))
    if "//" in text:
        raise AddressError("must be host:port, [v6]:port or unix:PATH, without a scheme")
    host, colon, port = text.rpartition(":")
    if not colon or not host:
        raise AddressError("must be host:port, [v6]:port or unix:PATH")
    return Address(host=_host(host), port=_port(port))


def _unix_address(path: str) -> Address:
    if not path:
        raise AddressError("unix: needs the path of a socket")
    if _CONTROL.search(path):
        raise AddressError("the path of a socket holds no control character")
    if len(path.encode()) > MAX_UNIX_PATH:
        raise AddressError(f"the path of a socket has at most {MAX_UNIX_PATH} bytes")
    return Address(path=path)


def _host(text: str) -> str:
    if text.startswith("[") and text.endswith("]"):
        try:
            return str(ipaddress.IPv6Address(text[1:-1]))
        except ValueError:
            raise AddressError("there is no IPv6 address between the brackets") from None
    if ":" in text:
        raise AddressError("an IPv6 address stands in brackets: [::1]:7400")
    if not _is_host_name(text):
        raise AddressError("the host is neither a name nor an IP address")
    return text


def _is_host_name(text: str) -> bool:
    return len(text) <= 253 and _HOST_NAME.fullmatch(text) is not None


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= _MAX_PORT):
        raise AddressError(f"the port must be a number from 0 to {_MAX_PORT}")
    return int(text)


def _same_host(host: str) -> str:
    """Return one spelling for all of a host: of its name, or of an IPv4 address that is mapped into IPv6."""
    if ":" in host:
        mapped = ipaddress.IPv6Address(host).ipv4_mapped
        return host if mapped is None else str(mapped)
    return host.lower().rstrip(".")


def is_loopback(host: str) -> bool:
    """Tell whether a host can only be this machine."""
    try:
        host = _same_host(host)
        if ":" in host or host[:1].isdigit():
            return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
    return host == "localhost"


def overlap(first: Address, second: Address) -> bool:
    """Tell whether two listeners would claim one address (VAL-10).

    A wildcard claims its port on every host; `localhost` stands for the loopback addresses.
    """
    if first.is_unix is not second.is_unix or first.port != second.port or not (first.port or first.is_unix):
        return False
    first, second = first.canonical, second.canonical
    if first.is_unix:
        return first.path == second.path
    if first.is_wildcard or second.is_wildcard:
        return True
    if "localhost" in (first.host, second.host):
        return is_loopback(first.host) and is_loopback(second.host)
    return first.host == second.host


@dataclass(frozen=True, slots=True)
class Tls:
    """What one end of a connection proves and asks for, as PEM texts. Empty texts are not given.

    `server_name` is the name that a server's certificate must carry, where it is not the host of its address.
    """

    ca: str = ""
    cert: str = ""
    key: str = field(default="", repr=False)
    server_name: str = ""


class TlsError(EdgeError):
    """PEM texts that make no TLS context. The message holds nothing of them."""


def client_context(tls: Tls) -> "ssl.SSLContext":
    """Return the context of the end that dials: it verifies the server, and shows its own certificate where it has one.

    Raises:
        TlsError: a text cannot be used.
    """
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls.ca:
        _trust(context, tls.ca)
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    if tls.cert or tls.key:
        _show(context, tls)
    return _for_http2(context)


def server_context(tls: Tls) -> "ssl.SSLContext":
    """Return the context of the end that listens; with `ca` it asks every client for a certificate (mutual TLS).

    Raises:
        TlsError: a text cannot be used.
    """
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _show(context, tls)
    if tls.ca:
        _trust(context, tls.ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return _for_http2(context)


def _for_http2(context: "ssl.SSLContext") -> "ssl.SSLContext":
    import ssl

    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    return context


def _trust(context: "ssl.SSLContext", ca: str) -> None:
    try:
        context.load_verify_locations(cadata=ca)
    except (OSError, ValueError, TypeError):  # the errors of ssl are among the first
        raise TlsError("tls: ca holds no usable PEM certificate") from None


def _show(context: "ssl.SSLContext", tls: Tls) -> None:
    if not (tls.cert and tls.key):
        raise TlsError("tls: cert and key are given together")
    # OpenSSL reads a key from a file only; a file in memory keeps it off every disk.
    descriptor = os.memfd_create("tls", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, f"{tls.cert}\n{tls.key}\n".encode())
        # An encrypted key would ask the terminal for its password; the empty one is refused at once.
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password="")
    except (OSError, ValueError):  # the errors of ssl are among the first
        raise TlsError("tls: cert and key are no usable PEM certificate chain and its unencrypted key") from None
    finally:
        os.close(descriptor)


def os_error_text(error: OSError) -> str:
    """Return the system's text for an error of a connection; asyncio's own text repeats the address."""
    number = error.errno or 0
    # Failed name resolution has negative numbers, for which the system has no text.
    return os.strerror(number) if number > 0 else error.strerror or type(error).__name__
