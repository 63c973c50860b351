"""The client's end of a connection."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar, cast

import betterproto2
from grpclib.client import Channel, Handler, Stream
from grpclib.config import Configuration
from grpclib.const import Cardinality
from grpclib.exceptions import StreamTerminatedError
from grpclib.protocol import H2Protocol
from h2.exceptions import H2Error

from iop_edge.net import Address
from iop_edge.schema.wire import WireError
from iop_edge.transport import hooks
from iop_edge.transport.connection import BoundedProtocol, Codec

_R = TypeVar("_R", bound=betterproto2.Message)
_Metadata = tuple[tuple[str, str], ...]
_DEADLINE_SLACK: Final = 1.0
"""The peer is sent a deadline that is this many seconds later than the real one, which is kept at this end."""


class TlsRefusedError(ConnectionError):
    """The peer ended a TLS connection before it sent anything: it does not accept the certificate, or requires one.

    With TLS 1.3 a server verifies the client's certificate after the client's handshake is complete.
    """


class _ClientProtocol(BoundedProtocol):
    """A connection whose running calls outlive the peer's GOAWAY, and that `abort` ends at once."""

    def __init__(self, channel: "ClientChannel") -> None:
        super().__init__(Handler(), channel._config, channel._h2_config)  # noqa: SLF001
        self.lost = asyncio.Event()
        self.refusal: OSError | None = None
        self._is_tls = False
        self._has_heard = False
        self._aborted = False
        self._leaving = False
        self._on_leave = channel.on_leave
        self._open = channel.open_connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._is_tls = transport.get_extra_info("ssl_object") is not None
        super().connection_made(transport)
        self._open.add(self)
        hooks.on_goaway(self.processor, self._leave)
        self.processor.on_release = self._close_when_left

    def connection_lost(self, exc: BaseException | None) -> None:
        if isinstance(exc, ssl.SSLError):
            self.refusal = exc
        elif self._is_tls and not (self._has_heard or self._aborted):
            self.refusal = TlsRefusedError("the peer does not accept the certificate")
        super().connection_lost(exc)
        self._open.discard(self)
        self.lost.set()

    def data_received(self, data: bytes) -> None:
        self._has_heard = True
        super().data_received(data)

    def _leave(self, last_stream_id: int) -> None:
        self._leaving = True
        self.handler.close()  # new calls dial again
        for stream_id, stream in list(self.processor.streams.items()):
            if stream_id > last_stream_id:
                stream.__terminated__("the peer is leaving and has not started this call")
        self._on_leave()
        self._close_when_left()

    def _close_when_left(self) -> None:
        if self._leaving and not self.processor.streams:
            self.abort("the peer has left")

    def abort(self, reason: str) -> None:
        """Drop the connection now: closing it gracefully can wait for a dead peer forever."""
        self._aborted = True
        self.processor.close(reason)
        self.transport.abort()


class ClientChannel(Channel):
    """A channel for generated stubs that bounds dialling and replies, keeps deadlines, and stays closed once closed.

    Args:
        address: the peer.
        tls: the TLS context; None: plain text.
        server_name: the name that the peer's certificate must carry; empty: the host of the address.
        connect_timeout: the longest that dialling may take, in seconds.
        max_reply_bytes: the largest message that is accepted.
        max_reply_fields: the maximum number of fields in a message, without those of nested messages; None: unlimited.
        on_leave: called when the peer announces that it stops; running calls still end.
    """

    def __init__(
        self,
        address: Address,
        *,
        tls: ssl.SSLContext | None = None,
        server_name: str = "",
        connect_timeout: float = 3.0,
        max_reply_bytes: int = 16 << 20,
        max_reply_fields: int | None = None,
        on_leave: Callable[[], None] = lambda: None,
    ) -> None:
        expected_name = server_name or address.host or "localhost"
        super().__init__(
            None if address.is_unix else address.host,
            None if address.is_unix else address.port,
            path=address.path or None,
            codec=Codec(max_reply_fields),
            ssl=tls,
            config=Configuration(ssl_target_name_override=expected_name if tls else None),
        )
        self.on_leave = on_leave
        self.open_connections: set[_ClientProtocol] = set()
        self._connect_timeout = connect_timeout
        self._max_reply_bytes = max_reply_bytes
        self._closed = False

    def _protocol_factory(self) -> H2Protocol:
        return _ClientProtocol(self)

    async def _create_connection(self) -> H2Protocol:
        if self._closed:
            raise StreamTerminatedError("the channel is closed")
        async with asyncio.timeout(self._connect_timeout):
            protocol = await super()._create_connection()
        if self._closed:
            cast("_ClientProtocol", protocol).abort("the channel is closed")
            raise StreamTerminatedError("the channel is closed")
        return protocol

    async def connect(self) -> None:
        """Dial unless there is a connection."""
        await self.__connect__()

    @asynccontextmanager
    async def request(  # type: ignore[override]  # grpclib returns a context manager of its own
        self,
        name: str,
        cardinality: Cardinality,
        request_type: type[Any],
        reply_type: type[_R],
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - what a stub passes
        deadline: None = None,  # noqa: ARG002 - what a stub passes
        metadata: Any = None,
    ) -> AsyncIterator[Stream[Any, _R]]:
        """Open a call, as generated stubs do.

        Raises:
            TimeoutError: the call did not end before the timeout, in seconds.
            GRPCError: the peer refused.
            WireError: the answer is missing, too large, or not a message of the type.
            StreamTerminatedError: the connection was lost or is closed.
            OSError: the peer cannot be dialled or refuses the certificate.
        """
        try:
            async with (
                asyncio.timeout(timeout),
                super().request(name, cardinality, request_type, reply_type, metadata=metadata) as call,
            ):
                if timeout is not None:
                    hooks.send_deadline(call, timeout + _DEADLINE_SLACK)
                await call.send_request()
                hooks.send_in_batches(call)
                hooks.bound_messages(call, self._max_reply_bytes, lambda _, why: WireError(why))
                yield call
        except H2Error:
            raise StreamTerminatedError("the connection broke the protocol") from None
        except StreamTerminatedError:
            if refusal := self._refusal():
                raise refusal from None
            raise
        except AttributeError:
            # A connection that is lost between dialling and sending has already dropped its parts.
            if self._connected:
                raise
            raise StreamTerminatedError("the connection was lost") from None
        if not (cardinality.server_streaming or call._messages_received):  # noqa: SLF001
            raise WireError(f"{reply_type.__name__}: no message in the answer")

    async def unary(
        self,
        route: str,
        request: betterproto2.Message | bytes,
        reply_type: type[_R],
        *,
        deadline: float,
        metadata: _Metadata = (),
        sent: Callable[[], None] = lambda: None,
    ) -> _R:
        """Make a call with one answer, whose request may be encoded already. Raises as `request` does.

        `sent` is called once the whole request is on its way.
        """
        async with self.request(
            route, Cardinality.UNARY_UNARY, type(request), reply_type, timeout=deadline, metadata=metadata
        ) as call:
            await call.send_message(request, end=True)
            sent()
            reply = await call.recv_message()
        return cast("_R", reply)

    async def server_stream(
        self, route: str, request: betterproto2.Message, reply_type: type[_R], *, metadata: _Metadata = ()
    ) -> AsyncGenerator[_R, None]:
        """Make a call with many answers, and yield them until the peer ends it. Raises as `request` does."""
        async with self.request(route, Cardinality.UNARY_STREAM, type(request), reply_type, metadata=metadata) as call:
            await call.send_message(request, end=True)
            async for reply in call:
                yield reply

    def _refusal(self) -> OSError | None:
        protocol = cast("_ClientProtocol | None", self._protocol)
        return protocol.refusal if protocol else None

    def close(self) -> None:
        """Drop the connection for good: later calls raise `StreamTerminatedError`."""
        self._closed = True
        super().close()
        for protocol in tuple(self.open_connections):
            protocol.abort("the channel is closed")

    async def finish(self) -> None:
        """Close and wait until the sockets are closed too."""
        lost = [protocol.lost.wait() for protocol in self.open_connections]
        self.close()
        await asyncio.gather(*lost)
