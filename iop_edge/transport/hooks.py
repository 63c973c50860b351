"""The private parts of grpclib and h2 that are touched, one function each."""

import asyncio
import contextlib
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Any, Final, Protocol, cast

from grpclib.client import Stream
from grpclib.metadata import Deadline
from grpclib.protocol import H2Protocol
from grpclib.server import Handler
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, RemoteSettingsChanged, RequestReceived, ResponseReceived, TrailersReceived
from h2.exceptions import StreamClosedError
from hyperframe.frame import Frame, GoAwayFrame

from iop_edge.transport.frames import BoundedFrames, FrameBudget

_KEEPALIVE_IDLE: Final = 15
_KEEPALIVE_INTERVAL: Final = 5
_KEEPALIVE_PROBES: Final = 3
_USER_TIMEOUT_MS: Final = 20_000
_TLS_BUFFER_BYTES: Final = 1 << 15
_HEADER_TABLE_BYTES: Final = 4096
_OF_A_REQUEST: Final = (":method", ":path")
_OF_A_RESPONSE: Final = (":status",)
_BASE64: Final = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3})?={0,2}")
_NO_TIME: Final = re.compile("0+[HMSmun]")
_DATA_FRAME: Final = b"\0\0"
_BATCH_BYTES: Final = 1 << 18
"""So much is handed to the system at once; then it may say that it has enough."""


_FrameDispatch = dict[type[Frame], Callable[[Any], tuple[list[Frame], list[Any]]]]


class HasH2Stream(Protocol):
    """A call, at either end."""

    _stream: Any


class Flaw(Enum):
    """What can be wrong with a message before its content is looked at."""

    TOO_LARGE = "at most {limit} bytes are taken"
    COMPRESSED = "a message is compressed"
    CUT_OFF = "a message is cut off"


def bound_messages(call: HasH2Stream, limit: int, refuse: Callable[[Flaw, str], Exception]) -> None:
    """Refuse a message that announces more bytes than `limit`, before any of them is kept, or that cannot be read.

    grpclib reads a prefix, which tells the length, then asks its stream for that many bytes: there it can be stopped.
    """
    stream = call._stream  # noqa: SLF001
    read: Callable[[int], Awaitable[bytes]] = stream.recv_data
    is_prefix = False

    def flawed(flaw: Flaw) -> Exception:
        return refuse(flaw, flaw.value.format(limit=limit))

    async def bounded(size: int) -> bytes:
        nonlocal is_prefix
        is_prefix = not is_prefix
        if not is_prefix and size > limit:
            raise flawed(Flaw.TOO_LARGE)
        try:
            data = await read(size)
        except AssertionError:
            raise flawed(Flaw.CUT_OFF) from None
        if is_prefix and data[:1] not in (b"", b"\0"):
            raise flawed(Flaw.COMPRESSED)
        if not is_prefix and len(data) < size:
            raise flawed(Flaw.CUT_OFF)
        return data

    stream.recv_data = bounded


class _ToldDeadline(Deadline):
    """The same words for every call: what is sent often is remembered, and then sent as one byte."""

    def __init__(self, seconds: float) -> None:
        super().__init__(_timestamp=0)
        self._seconds = seconds

    def time_remaining(self) -> float:
        return self._seconds


def tell_deadline(call: Stream[Any, Any], seconds: float) -> None:
    """Tell the peer a deadline that nobody keeps at this end. Called before the request is sent.

    A deadline that grpclib is given it also keeps, with a timer that swallows cancellations that come near its time.
    """
    call._deadline = _ToldDeadline(seconds)  # noqa: SLF001


def send_in_batches(call: HasH2Stream) -> None:
    """Have the call's messages sent many frames at a time: grpclib and h2 take their time over each single one."""
    stream = call._stream  # noqa: SLF001
    connection, transport = stream._h2_connection, stream._transport  # noqa: SLF001

    async def send_data(data: bytes, *, end_stream: bool = False) -> None:
        rest = memoryview(data)
        while True:
            await stream.connection.write_ready.wait()
            window = connection.local_flow_control_window(stream.id)
            if window <= 0:
                stream.window_updated.clear()
                await stream.window_updated.wait()
                continue
            batch, rest = rest[: min(window, _BATCH_BYTES)], rest[min(window, _BATCH_BYTES) :]
            if not rest:
                break
            transport.write(data_frames(connection, stream.id, batch))
        begun = max(len(batch) - 1, 0) // connection.max_outbound_frame_size * connection.max_outbound_frame_size
        transport.write(data_frames(connection, stream.id, batch[:begun]))
        connection.send_data(stream.id, batch[begun:], end_stream=end_stream)
        transport.write(connection.data_to_send())

    stream.send_data = send_data


def data_frames(connection: H2Connection, stream_id: int, data: memoryview) -> bytes:
    """Return data as frames that do not end their stream, and count it as sent.

    The data must fit into the stream's window, and what h2 has to send must be sent already.
    """
    connection.outbound_flow_control_window -= len(data)
    connection.streams[stream_id].outbound_flow_control_window -= len(data)
    frame_size = connection.max_outbound_frame_size
    parts: list[bytes | memoryview] = []
    for start in range(0, len(data), frame_size):
        part = data[start : start + frame_size]
        parts += (len(part).to_bytes(3), _DATA_FRAME, stream_id.to_bytes(4), part)
    return b"".join(parts)


def on_goaway(protocol: H2Protocol, leave: Callable[[int], None]) -> None:
    """Call `leave` with the last stream that the peer will serve, when it says goodbye without an error.

    h2 would close the connection for good there and then, and with it the calls whose answers are on their way.
    """
    dispatch = _frame_dispatch(protocol)
    fail = dispatch[GoAwayFrame]

    def handle(frame: GoAwayFrame) -> tuple[list[Frame], list[Any]]:
        if frame.error_code:
            return fail(frame)
        leave(frame.last_stream_id)
        return [], []

    dispatch[GoAwayFrame] = handle


def _frame_dispatch(protocol: H2Protocol) -> _FrameDispatch:
    # h2 types its table as one that can hold nothing.
    return cast("_FrameDispatch", _h2(protocol)._frame_dispatch_table)  # noqa: SLF001


def _h2(protocol: H2Protocol) -> H2Connection:
    return protocol.connection._connection  # noqa: SLF001


def ignore_unknown_events(protocol: H2Protocol) -> None:
    """Let frames of an unknown type pass, as RFC 9113 (4.1) wants it; grpclib would end the connection."""
    protocol.processor.processors = _Lenient(_processes(protocol))  # type: ignore[assignment]


def _processes(protocol: H2Protocol) -> dict[type, Callable[[Any], None]]:
    """Return what is done with each kind of event."""
    return cast("dict[type, Callable[[Any], None]]", protocol.processor.processors)


class _Lenient(dict[type, Callable[[Any], None]]):
    def __missing__(self, _event: type) -> Callable[[Any], None]:
        return lambda _event: None


def bound_frames(protocol: H2Protocol, budget: FrameBudget) -> None:
    """Bound what the peer's frames may be, and how many may carry nothing. Called before the first one has come."""
    connection = _h2(protocol)
    connection.incoming_buffer = BoundedFrames(budget, server=not connection.config.client_side)


def bound_header_table(protocol: H2Protocol) -> None:
    """Remember sent headers in no larger a table than usual, however large a one the peer would keep."""
    encoder = _h2(protocol).encoder
    process = _processes(protocol)[RemoteSettingsChanged]

    def bound(event: RemoteSettingsChanged) -> None:
        encoder.header_table_size = min(encoder.header_table_size, _HEADER_TABLE_BYTES)
        process(event)

    _processes(protocol)[RemoteSettingsChanged] = bound


def skip_empty_data(protocol: H2Protocol) -> None:
    """Let frames of no data pass: grpclib would take one for the end of the message that it reads."""
    process = _processes(protocol)[DataReceived]

    def skip(event: DataReceived) -> None:
        if event.flow_controlled_length:
            process(event)

    _processes(protocol)[DataReceived] = skip


def refuse_malformed_headers(protocol: H2Protocol) -> None:
    """End a call whose headers are none of gRPC's: grpclib takes them on trust, and fails on them later."""
    for kind, needed in ((RequestReceived, _OF_A_REQUEST), (ResponseReceived, _OF_A_RESPONSE), (TrailersReceived, ())):
        _refuse_malformed(protocol, kind, needed)


def _refuse_malformed(protocol: H2Protocol, kind: type[Any], needed: Sequence[str]) -> None:
    process = _processes(protocol)[kind]

    def check(event: Any) -> None:
        if _are_well_formed(event.headers, needed):
            process(event)
            return
        if (stream := protocol.processor.streams.get(event.stream_id)) is not None:
            stream.__terminated__("malformed headers")
        with contextlib.suppress(StreamClosedError):
            _h2(protocol).reset_stream(event.stream_id, ErrorCodes.PROTOCOL_ERROR)

    _processes(protocol)[kind] = check


def _are_well_formed(headers: Sequence[tuple[str, str]], needed: Sequence[str]) -> bool:
    for name, value in headers:
        if not (name.isascii() and value.isascii()):
            return False
        if name.endswith("-bin") and not _BASE64.fullmatch(value):
            return False
        if name == "grpc-timeout" and _NO_TIME.fullmatch(value):
            return False
    return not needed or {name for name, _ in headers}.issuperset(needed)


def always_release(protocol: H2Protocol, handler: Handler) -> None:
    """Have a server's calls let go of when they are over, also those that were taken back before they began.

    A task that is cancelled before its first step never comes to its end, where grpclib would let go of the call.
    """
    register, accept = protocol.processor.register, handler.accept

    def register_once(stream: Any) -> Callable[[], None]:
        release = register(stream)

        def release_once() -> None:
            if protocol.processor.streams.get(stream.id) is stream:
                release()

        return release_once

    def accept_and_release(stream: Any, headers: Any, release: Callable[[], Any]) -> None:
        accept(stream, headers, release)
        handler._tasks[stream].add_done_callback(lambda _: release())  # noqa: SLF001

    protocol.processor.register = register_once  # type: ignore[method-assign]
    handler.accept = accept_and_release  # type: ignore[assignment, method-assign]


def on_stream_release(protocol: H2Protocol, released: Callable[[], None]) -> None:
    """Call `released` whenever a call on the connection has ended."""
    register = protocol.processor.register

    def hooked(stream: Any) -> Callable[[], None]:
        release = register(stream)

        def release_and_tell() -> None:
            release()
            released()

        return release_and_tell

    protocol.processor.register = hooked  # type: ignore[method-assign]


def say_goodbye(protocol: H2Protocol) -> None:
    """Send GOAWAY without an error, where the connection is still open."""
    connection = protocol.connection
    if not connection.is_closing():
        _h2(protocol).close_connection()
        connection.flush()


def shrink_tls_buffer(transport: asyncio.BaseTransport) -> None:
    """Have a TLS connection read into less memory: asyncio sets 256 KiB aside for each, idle or not."""
    tls = getattr(transport, "_ssl_protocol", None)
    if tls is not None:
        tls.max_size = _TLS_BUFFER_BYTES
        tls._ssl_buffer = bytearray(_TLS_BUFFER_BYTES)  # noqa: SLF001
        tls._ssl_buffer_view = memoryview(tls._ssl_buffer)  # noqa: SLF001


def watch_liveness(sock: socket.socket | None) -> None:
    """Have the kernel find out in some 30 seconds that the other machine is gone, idle or not."""
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_IDLE)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_INTERVAL)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_PROBES)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _USER_TIMEOUT_MS)
