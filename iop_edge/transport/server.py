"""The server's end: where it listens, what it takes, and how it ends."""

import asyncio
import errno
import hmac
import logging
import os
import socket
import ssl
import stat
import traceback
from collections.abc import Callable, Collection, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, cast

from grpclib.const import Handler, Status
from grpclib.events import RecvRequest, listen
from grpclib.exceptions import GRPCError, StreamTerminatedError
from grpclib.protocol import H2Protocol
from grpclib.server import Handler as ServerHandler
from grpclib.server import Server, Stream
from h2.exceptions import StreamClosedError

from iop_edge.errors import EdgeError
from iop_edge.net import Address
from iop_edge.transport import hooks
from iop_edge.transport.arrivals import Arrival, Strangers
from iop_edge.transport.codec import ServerCodec
from iop_edge.transport.guarded import GuardedProtocol
from iop_edge.transport.tokens import RotatedTokens

_log = logging.getLogger(__name__)

Tokens = Sequence[str] | RotatedTokens
"""Tokens that are accepted."""

_BEARER = "Bearer "
_SOCKET_MODE = 0o600
_FLAWS: Final = {
    hooks.Flaw.TOO_LARGE: Status.RESOURCE_EXHAUSTED,
    hooks.Flaw.COMPRESSED: Status.UNIMPLEMENTED,
    hooks.Flaw.CUT_OFF: Status.INVALID_ARGUMENT,
}


class Service(Protocol):
    """What is served: generated service classes are."""

    def __mapping__(self) -> dict[str, Handler]:
        """Return the methods by their routes."""


class BoundedServer:
    """A gRPC server on one address, whose requests are checked and bounded, and which ends without cutting calls.

    Args:
        services: what is served.
        max_request_bytes: the largest message that is taken.
        tokens: bearer tokens of which a caller must show one, those of its moment where they are rotated; None: callers
            show none.
        strangers: bounds connections of which no call has been let in yet.
    """

    def __init__(
        self,
        services: Collection[Service],
        *,
        max_request_bytes: int = 16 << 20,
        tokens: Tokens | None = None,
        strangers: Strangers | None = None,
    ) -> None:
        self._strangers = strangers or Strangers()
        self._server = _TrackingServer(services, self._strangers)
        self._max_request_bytes = max_request_bytes
        self._draining = False
        self._socket_path: Path | None = None
        listen(self._server, RecvRequest, self._refuse_while_draining)
        if tokens is not None:
            listen(self._server, RecvRequest, _token_check(tokens))
        listen(self._server, RecvRequest, self._guard)

    async def start(self, address: Address, tls: ssl.SSLContext | None = None) -> Address:
        """Listen, and return the real address: with port 0 the system has chosen one.

        A unix socket is created with mode 0600; one that nobody listens on any more is replaced.

        Raises:
            EdgeError: the address cannot be listened on.
        """
        sock = _unix_socket(address.path) if address.is_unix else await _tcp_socket(address)
        try:
            await self._server.serve(sock, tls)
        except OSError as error:
            sock.close()
            raise EdgeError(f"cannot listen on {address}: {_reason(error)}") from None
        if address.is_unix:
            self._socket_path = Path(address.path)
            return address
        return Address(host=address.host, port=sock.getsockname()[1])

    async def drain(self, grace: float) -> None:
        """Take no new call, let running ones end for `grace` seconds, then end every connection."""
        self._draining = True
        self._server.stop_listening()
        if running := self._server.running_calls():
            await asyncio.wait(running, timeout=grace)
        for protocol in self._server.connections():
            hooks.say_goodbye(protocol)
            protocol.processor.close("the server stops")
        self._server.abort_connections()
        self._strangers.end()
        self._server.close()
        await self._server.wait_closed()
        if self._socket_path is not None:
            self._socket_path.unlink(missing_ok=True)

    async def _refuse_while_draining(self, _event: RecvRequest) -> None:
        if self._draining:
            raise GRPCError(Status.UNAVAILABLE, "the server stops")

    async def _guard(self, event: RecvRequest) -> None:
        method, name, limit = event.method_func, event.method_name, self._max_request_bytes
        self._strangers.welcome(event.peer._transport)  # noqa: SLF001

        async def guarded(stream: Stream[Any, Any]) -> None:
            hooks.bound_messages(stream, limit, lambda flaw, why: GRPCError(_FLAWS[flaw], why))
            # Not for speed alone: grpclib writes frames as large as the caller allows, and they would count as unread.
            hooks.send_in_batches(stream)
            try:
                await method(stream)
            except (GRPCError, StreamTerminatedError, TimeoutError):
                raise
            except StreamClosedError:
                raise GRPCError(Status.CANCELLED, "the caller has ended the call") from None
            except Exception as error:  # noqa: BLE001
                # An error's text may quote the values of a message, and those may be secret: only its place is logged.
                _log.error("%s: %s at %s", name, type(error).__name__, _place(error))
                raise GRPCError(Status.INTERNAL, "internal fault") from None

        event.method_func = guarded


def _place(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _token_check(tokens: Tokens) -> Callable[[RecvRequest], Coroutine[Any, Any, None]]:
    async def check(event: RecvRequest) -> None:
        # Read here and not in a thread: look-ups of names that do not answer can hold all threads for a long time.
        accepted = tokens.current() if isinstance(tokens, RotatedTokens) else tokens
        shown = str(event.metadata.get("authorization", ""))
        presented = shown.removeprefix(_BEARER).encode()
        # Every token is compared, so that the time tells nothing about which one was near.
        matches = [hmac.compare_digest(presented, token.encode()) for token in accepted]
        if not (shown.startswith(_BEARER) and any(matches)):
            raise GRPCError(Status.UNAUTHENTICATED, "the token is not accepted")

    return check


class _TrackingServer(Server):
    """Knows its connections: grpclib's server forgets them, and serves old ones on after it was closed."""

    def __init__(self, services: Collection[Service], strangers: Strangers) -> None:
        super().__init__(services, codec=ServerCodec())
        self._open: set[_ServerProtocol] = set()
        self._strangers = strangers
        self._tls: ssl.SSLContext | None = None

    async def serve(self, sock: socket.socket, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        await self.start(sock=sock)

    def _protocol_factory(self) -> H2Protocol:
        protocol = _ServerProtocol(super()._protocol_factory(), self._open)
        return cast("H2Protocol", Arrival(protocol, self._tls, self._strangers))

    def stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()

    def running_calls(self) -> set[asyncio.Task[None]]:
        return {task for handler in self._handlers for task in handler._tasks.values() if not task.done()}  # noqa: SLF001

    def connections(self) -> tuple["_ServerProtocol", ...]:
        return tuple(self._open)

    def abort_connections(self) -> None:
        for protocol in self._open:
            protocol.transport.abort()


class _ServerProtocol(GuardedProtocol):
    def __init__(self, made: H2Protocol, connections: set["_ServerProtocol"]) -> None:
        super().__init__(made.handler, made.config, made.h2_config)
        self._connections = connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connections.add(self)
        hooks.always_release(self, cast("ServerHandler", self.handler))

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self.resume_writing()  # a call that waits until it may write again would wait for ever
        self._connections.discard(self)


async def _tcp_socket(address: Address) -> socket.socket:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise EdgeError(f"cannot listen on {address}: {_reason(error)}") from None
    family, kind, protocol, _, sockaddr = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(sockaddr)
    except OSError as error:
        sock.close()
        raise EdgeError(f"cannot listen on {address}: {_reason(error)}") from None
    return sock


def _unix_socket(path: str) -> socket.socket:
    _remove_dead_socket(Path(path))
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # The file takes the mode of the socket that is bound to it: at no moment can others open it.
        os.fchmod(sock.fileno(), _SOCKET_MODE)
        sock.bind(path)
    except OSError as error:
        sock.close()
        raise EdgeError(f"cannot listen on unix:{path}: {_reason(error)}") from None
    return sock


def _remove_dead_socket(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return
    except OSError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # noqa: FBT003
        if probe.connect_ex(str(path)) == errno.ECONNREFUSED:
            path.unlink(missing_ok=True)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
