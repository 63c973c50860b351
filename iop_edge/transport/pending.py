"""Connections on which no call has been authenticated yet."""

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from typing import Any, Final, cast

_MAX_PENDING: Final = 256
_TIMEOUT_SECONDS: Final = 10.0


class PendingConnections:
    """Drops connections that are not authenticated in time, and the oldest of them if they are too many.

    Each costs memory and a descriptor, even during its TLS handshake; a legitimate caller authenticates at once.

    Args:
        max_pending: the maximum number of pending connections.
        timeout: the longest that a connection may be pending, in seconds.
    """

    def __init__(self, max_pending: int = _MAX_PENDING, timeout: float = _TIMEOUT_SECONDS) -> None:
        self.timeout = timeout
        self._max_pending = max_pending
        self._pending: dict[Any, tuple[asyncio.Transport, asyncio.TimerHandle]] = {}

    def add(self, transport: asyncio.Transport) -> None:
        """Track a new connection."""
        sock = _socket(transport)
        self._pending[sock] = transport, asyncio.get_running_loop().call_later(self.timeout, self._drop, sock)
        if len(self._pending) > self._max_pending:
            self._make_room()

    def authenticated(self, transport: asyncio.BaseTransport) -> None:
        """Stop tracking a connection: one of its calls has been authenticated."""
        if (pending := self._pending.pop(_socket(transport), None)) is not None:
            pending[1].cancel()

    def close(self) -> None:
        """Drop all of them."""
        for sock in tuple(self._pending):
            self._drop(sock)

    def _drop(self, sock: Any) -> None:
        transport, expiry = self._pending.pop(sock)
        expiry.cancel()
        transport.abort()

    def _make_room(self) -> None:
        for sock, (transport, expiry) in tuple(self._pending.items()):
            if transport.is_closing():
                expiry.cancel()
                del self._pending[sock]
        while len(self._pending) > self._max_pending:
            self._drop(next(iter(self._pending)))


class Acceptor(asyncio.Protocol):
    """Tracks a connection from its first moment, before its TLS handshake, and then hands it to its protocol."""

    def __init__(self, protocol: asyncio.Protocol, tls: ssl.SSLContext | None, pending: PendingConnections) -> None:
        self._protocol = protocol
        self._tls = tls
        self._pending = pending

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the TLS handshake, if there is one, or the protocol."""
        raw = cast("asyncio.Transport", transport)
        self._pending.add(raw)
        protocol: asyncio.BaseProtocol = self._protocol
        if self._tls is not None:
            # As in asyncio's own servers, which report a connection only after its handshake.
            loop = asyncio.get_running_loop()
            timeout: Any = self._pending.timeout
            waiter: Any = None
            protocol = SSLProtocol(
                loop, self._protocol, self._tls, waiter, server_side=True, ssl_handshake_timeout=timeout
            )
        raw.set_protocol(protocol)
        protocol.connection_made(raw)


def _socket(transport: asyncio.BaseTransport) -> Any:
    """Return what a connection shares with the TLS connection inside it."""
    return transport.get_extra_info("socket")
