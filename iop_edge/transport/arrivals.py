"""Connections that have just come, and have not shown yet that they may call."""

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from typing import Any, Final, cast

_MOST: Final = 256
_PATIENCE: Final = 10.0


class Strangers:
    """Ends connections whose first call is not let in within a time, and the oldest of them where they are too many.

    A stranger costs memory and a descriptor, handshake or not; who may call does so at once.

    Args:
        most: how many there may be.
        patience: how long one may stay a stranger, in seconds.
    """

    def __init__(self, most: int = _MOST, patience: float = _PATIENCE) -> None:
        self.patience = patience
        self._most = most
        self._known: dict[Any, tuple[asyncio.Transport, asyncio.TimerHandle]] = {}

    def add(self, transport: asyncio.Transport) -> None:
        """Watch a connection that has come."""
        expiry = asyncio.get_running_loop().call_later(self.patience, self._expire, _socket(transport))
        self._known[_socket(transport)] = transport, expiry
        if len(self._known) > self._most:
            self._make_room()

    def welcome(self, transport: asyncio.BaseTransport) -> None:
        """Watch a connection no longer: a call of it has been let in."""
        if (watched := self._known.pop(_socket(transport), None)) is not None:
            watched[1].cancel()

    def end(self) -> None:
        """End all of them."""
        for sock in tuple(self._known):
            self._expire(sock)

    def _expire(self, sock: Any) -> None:
        transport, expiry = self._known.pop(sock)
        expiry.cancel()
        transport.abort()

    def _make_room(self) -> None:
        for sock, (transport, expiry) in tuple(self._known.items()):
            if transport.is_closing():
                expiry.cancel()
                del self._known[sock]
        while len(self._known) > self._most:
            self._expire(next(iter(self._known)))


class Arrival(asyncio.Protocol):
    """Takes a connection as it comes, before its handshake, and hands it on."""

    def __init__(self, protocol: asyncio.Protocol, tls: ssl.SSLContext | None, strangers: Strangers) -> None:
        self._protocol = protocol
        self._tls = tls
        self._strangers = strangers

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake, where there is one, else the conversation."""
        made = cast("asyncio.Transport", transport)
        self._strangers.add(made)
        protocol: asyncio.BaseProtocol = self._protocol
        if self._tls is not None:
            # As asyncio's servers do it, which tell nothing of a connection before its handshake is over.
            loop = asyncio.get_running_loop()
            patience: Any = self._strangers.patience
            nobody_waits: Any = None
            protocol = SSLProtocol(
                loop, self._protocol, self._tls, nobody_waits, server_side=True, ssl_handshake_timeout=patience
            )
        made.set_protocol(protocol)
        protocol.connection_made(made)


def _socket(transport: asyncio.BaseTransport) -> Any:
    """Return what a connection and the one that is encrypted within it have in common."""
    return transport.get_extra_info("socket")
