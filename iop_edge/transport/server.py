"""A gRPC server that bounds and authenticates its callers."""

import asyncio
import errno
import hmac
import logging
import os
import pwd
import socket
import ssl
import stat
import struct
import traceback
from collections.abc import Callable, Collection, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, cast

import betterproto2
from grpclib.const import Handler, Status
from grpclib.events import RecvRequest, listen
from grpclib.exceptions import GRPCError, StreamTerminatedError
from grpclib.protocol import H2Protocol
from grpclib.server import Handler as ServerHandler
from grpclib.server import Server, Stream
from h2.exceptions import StreamClosedError

from iop_edge.errors import EdgeError
from iop_edge.net import Address
from iop_edge.schema.wire import WireError
from iop_edge.transport import hooks
from iop_edge.transport.connection import BoundedProtocol, Codec
from iop_edge.transport.pending import Acceptor, PendingConnections
from iop_edge.transport.reload import RotatedTokens

_log = logging.getLogger(__name__)

Tokens = Sequence[str] | RotatedTokens
"""Accepted tokens."""

_BEARER = "Bearer "
_SOCKET_MODE = 0o600
_FLAWS: Final = {
    hooks.Flaw.TOO_LARGE: Status.RESOURCE_EXHAUSTED,
    hooks.Flaw.COMPRESSED: Status.UNIMPLEMENTED,
    hooks.Flaw.CUT_OFF: Status.INVALID_ARGUMENT,
}
_PEER_CREDENTIALS: Final = struct.Struct("3i")
"""The pid, uid and gid of the process at the other end of a unix socket (Linux)."""


class Service(Protocol):
    """A service, such as an instance of a generated service class."""

    def __mapping__(self) -> dict[str, Handler]:
        """Return the methods by route."""


class BoundedServer:
    """A gRPC server on one address that checks and bounds requests, and drains when it stops.

    Args:
        services: the services.
        max_request_bytes: the largest message that is accepted.
        tokens: the bearer tokens of which a caller must present one, read for each call if they are rotated; None:
            callers need none.
        pending: bounds the connections on which no call has been authenticated yet.
    """

    def __init__(
        self,
        services: Collection[Service],
        *,
        max_request_bytes: int = 16 << 20,
        tokens: Tokens | None = None,
        pending: PendingConnections | None = None,
    ) -> None:
        self._pending = pending or PendingConnections()
        self._server = _TrackingServer(services, self._pending)
        self._max_request_bytes = max_request_bytes
        self._draining = False
        self._socket_path: Path | None = None
        listen(self._server, RecvRequest, self._refuse_while_draining)
        if tokens is not None:
            listen(self._server, RecvRequest, _token_check(tokens))
        listen(self._server, RecvRequest, self._guard)

    async def start(self, address: Address, tls: ssl.SSLContext | None = None) -> Address:
        """Listen, and return the real address: with port 0 the system chooses one.

        A unix socket is created with mode 0600; a stale one is replaced.

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
        """Accept no new call, let running ones end within `grace` seconds, then end every connection."""
        self._draining = True
        self._server.stop_listening()
        if running := self._server.running_calls():
            await asyncio.wait(running, timeout=grace)
        for protocol in self._server.connections():
            hooks.send_goaway(protocol.processor)
            protocol.processor.close("the server is stopping")
        self._server.abort_connections()
        self._pending.close()
        self._server.close()
        await self._server.wait_closed()
        if self._socket_path is not None:
            self._socket_path.unlink(missing_ok=True)

    async def _refuse_while_draining(self, _event: RecvRequest) -> None:
        if self._draining:
            raise GRPCError(Status.UNAVAILABLE, "the server is stopping")

    async def _guard(self, event: RecvRequest) -> None:
        method, name, limit = event.method_func, event.method_name, self._max_request_bytes
        self._pending.authenticated(event.peer._transport)  # noqa: SLF001

        async def guarded(stream: Stream[Any, Any]) -> None:
            hooks.bound_messages(stream, limit, lambda flaw, why: GRPCError(_FLAWS[flaw], why))
            hooks.send_in_batches(stream)
            try:
                await method(stream)
            except (GRPCError, StreamTerminatedError, TimeoutError):
                raise
            except StreamClosedError:
                raise GRPCError(Status.CANCELLED, "the caller ended the call") from None
            except Exception as error:  # noqa: BLE001
                # Only the location: an error's text may quote secret values of a message.
                _log.error("%s: %s at %s", name, type(error).__name__, _location(error))
                raise GRPCError(Status.INTERNAL, "internal fault") from None

        event.method_func = guarded


def _location(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _token_check(tokens: Tokens) -> Callable[[RecvRequest], Coroutine[Any, Any, None]]:
    async def check(event: RecvRequest) -> None:
        # Not in a thread: name lookups that hang can occupy all threads for a long time.
        accepted = tokens.current() if isinstance(tokens, RotatedTokens) else tokens
        shown = str(event.metadata.get("authorization", ""))
        presented = shown.removeprefix(_BEARER).encode()
        # Every token is compared, so that timing reveals nothing.
        matches = [hmac.compare_digest(presented, token.encode()) for token in accepted]
        if not (shown.startswith(_BEARER) and any(matches)):
            raise GRPCError(Status.UNAUTHENTICATED, "the token is not accepted")

    return check


class _TrackingServer(Server):
    """Tracks its connections: grpclib's server forgets them, and goes on serving them after it was closed."""

    def __init__(self, services: Collection[Service], pending: PendingConnections) -> None:
        super().__init__(services, codec=_ServerCodec())
        self._open: set[_ServerProtocol] = set()
        self._pending = pending
        self._tls: ssl.SSLContext | None = None

    async def serve(self, sock: socket.socket, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        await self.start(sock=sock)

    def _protocol_factory(self) -> H2Protocol:
        protocol = _ServerProtocol(super()._protocol_factory(), self._open)
        return cast("H2Protocol", Acceptor(protocol, self._tls, self._pending))

    def stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()

    def running_calls(self) -> set[asyncio.Task[None]]:
        return {task for handler in self._handlers for task in hooks.running_calls(handler)}

    def connections(self) -> tuple["_ServerProtocol", ...]:
        return tuple(self._open)

    def abort_connections(self) -> None:
        for protocol in self._open:
            protocol.transport.abort()


class _ServerCodec(Codec):
    """A request that cannot be decoded ends its call as the caller's fault."""

    def decode(self, data: bytes, message_type: type[betterproto2.Message]) -> Any:
        try:
            return super().decode(data, message_type)
        except WireError as error:
            raise GRPCError(Status.INVALID_ARGUMENT, str(error)) from None


class _ServerProtocol(BoundedProtocol):
    def __init__(self, made: H2Protocol, connections: set["_ServerProtocol"]) -> None:
        super().__init__(made.handler, made.config, made.h2_config)
        self._connections = connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connections.add(self)
        hooks.release_when_done(cast("ServerHandler", self.handler))
        hooks.name_content_type(cast("ServerHandler", self.handler))

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self.resume_writing()  # or a call that waits until it may write would wait forever
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
        # The file takes the mode of the socket that is bound to it, so others can never open it.
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


def peer_name(call: Stream[Any, Any]) -> str:
    """Return the caller's name: from its certificate, else its user on this machine, else empty."""
    subject = (call.peer.cert() or {}).get("subject", ())
    for key, value in (pair for part in subject for pair in part):
        if key == "commonName":
            return str(value)
    sock: socket.socket | None = call.peer._transport.get_extra_info("socket")  # noqa: SLF001
    if sock is None or sock.family != socket.AF_UNIX:
        return ""
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
    _, uid, _ = _PEER_CREDENTIALS.unpack(credentials)
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
