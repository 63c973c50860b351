"""Where the admin service listens."""

from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from iop_edge.client.admin import MAX_MESSAGE_BYTES
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.running import tls_source
from iop_edge.errors import EdgeError
from iop_edge.net import Address, AddressError, parse_address
from iop_edge.schema.values import plain
from iop_edge.transport.renewal import RenewingServerContext, TlsSource
from iop_edge.transport.server import BoundedServer, Service

_GRACE_SECONDS: Final = 30.0
"""How long a stop waits for calls that run: a refresh is carried out to its end."""


@dataclass(frozen=True, slots=True)
class Listener:
    """An address, and what reads what it proves and asks for; without TLS only this machine's users can reach it."""

    address: Address
    tls: TlsSource | None = field(default=None, repr=False)


def listeners(snapshot: Snapshot, admin: str = "") -> tuple[Listener, ...]:
    """Return the listeners of a config; `admin` replaces its address for the command line.

    Raises:
        EdgeError: an address is none, or would let others than this machine's users in without a certificate.
    """
    listen = snapshot.tree["listen"]
    tls, asks_for_certificates = tls_source(listen), bool(plain(listen.get("tls", {}).get("ca", "")))
    texts = (admin or plain(listen["admin"]), plain(listen.get("grpc", "")))
    return tuple(_listener(text, tls, is_open=not asks_for_certificates) for text in texts if text)


def _listener(text: str, tls: TlsSource | None, *, is_open: bool) -> Listener:
    try:
        address = parse_address(text)
    except AddressError as error:
        raise EdgeError(f"{text}: {error}") from None
    if address.is_unix:
        return Listener(address)
    if not address.is_local and is_open:
        raise EdgeError(
            f"the admin service at {text} can be reached from other machines: "
            "listen.tls must give a certificate, and the authority (ca) of its clients"
        )
    return Listener(address, tls)


@asynccontextmanager
async def listening(wanted: Collection[Listener], services: Collection[Service]) -> AsyncIterator[tuple[Address, ...]]:
    """Serve on all listeners for as long as the block runs; yield the real addresses.

    At the end no new call is taken, and those that run end first.

    Raises:
        EdgeError: an address cannot be listened on; then none is.
    """
    async with AsyncExitStack() as stack:
        addresses = []
        for listener in wanted:
            server = BoundedServer(services, max_request_bytes=MAX_MESSAGE_BYTES)
            _make_room(listener.address)
            context = RenewingServerContext(listener.tls) if listener.tls else None
            addresses.append(await server.start(listener.address, context))
            stack.push_async_callback(server.drain, _GRACE_SECONDS)
        yield tuple(addresses)


def _make_room(address: Address) -> None:
    """Create the directory of a unix socket, for the own user alone, where it is missing."""
    if not address.is_unix:
        return
    parent = Path(address.path).parent
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EdgeError(f"cannot listen on {address}: {parent}: {error.strerror}") from None
