"""The listeners of the admin service."""

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
from iop_edge.schema.values import below
from iop_edge.transport.reload import ReloadingServerContext, TlsSource
from iop_edge.transport.server import BoundedServer, Service

_GRACE_SECONDS: Final = 30.0
"""How long a stop waits for running calls: a refresh is carried out to its end."""


@dataclass(frozen=True, slots=True)
class Listener:
    """An address and the source of its certificates; without TLS only users of this machine can reach it."""

    address: Address
    tls: TlsSource | None = field(default=None, repr=False)


def listeners(snapshot: Snapshot, admin: str = "") -> tuple[Listener, ...]:
    """Return the listeners of a config; `admin` replaces the address of `listen.admin`.

    Raises:
        EdgeError: an address is invalid, or other machines could use it without a certificate.
    """
    listen = snapshot.tree["listen"]
    tls = tls_source(listen["tls"], below(snapshot.references.tree, "listen", "tls"))
    asks_for_certificates = bool(listen["tls"].get("ca"))
    texts = (admin or listen["admin"], listen.get("grpc", ""))
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
            "listen.tls must have a certificate, and the authority (ca) of its clients"
        )
    return Listener(address, tls)


@asynccontextmanager
async def listening(wanted: Collection[Listener], services: Collection[Service]) -> AsyncIterator[tuple[Address, ...]]:
    """Serve on all listeners while the block runs; yield the real addresses.

    At the end no new call is accepted, and running calls end first.

    Raises:
        EdgeError: an address cannot be listened on. Then none is.
    """
    async with AsyncExitStack() as stack:
        addresses = []
        for listener in wanted:
            server = BoundedServer(services, max_request_bytes=MAX_MESSAGE_BYTES)
            _make_socket_directory(listener.address)
            context = ReloadingServerContext(listener.tls) if listener.tls else None
            addresses.append(await server.start(listener.address, context))
            stack.push_async_callback(server.drain, _GRACE_SECONDS)
        yield tuple(addresses)


def _make_socket_directory(address: Address) -> None:
    """Create a missing directory of a unix socket, for this user only."""
    if not address.is_unix:
        return
    parent = Path(address.path).parent
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EdgeError(f"cannot listen on {address}: {parent}: {error.strerror}") from None
