"""The private parts of grpclib and h2 that are touched, one function each."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, cast

from grpclib.protocol import H2Protocol
from h2.connection import H2Connection
from hyperframe.frame import Frame, GoAwayFrame

_KEEPALIVE_IDLE: Final = 15
_KEEPALIVE_INTERVAL: Final = 5
_KEEPALIVE_PROBES: Final = 3
_USER_TIMEOUT_MS: Final = 20_000
_TLS_BUFFER_BYTES: Final = 1 << 15
_DATA_FRAME: Final = b"\0\0"
_BATCH_BYTES: Final = 1 << 18
"""So much is handed to the system at once; then it may say that it has enough."""


_FrameDispatch = dict[type[Frame], Callable[[Any], tuple[list[Frame], list[Any]]]]


class HasH2Stream(Protocol):
    """A call, at either end."""

    _stream: Any


def bound_messages(call: HasH2Stream, limit: int, refuse: Callable[[int], Exception]) -> None:
    """Refuse a message that announces more bytes than `limit`, before any of them is kept.

    grpclib reads a length, then asks its stream for that many bytes: the second reading is where it can be stopped.
    """
    stream = call._stream  # noqa: SLF001
    read: Callable[[int], Awaitable[bytes]] = stream.recv_data

    async def bounded(size: int) -> bytes:
        if size > limit:
            raise refuse(size)
        return await read(size)

    stream.recv_data = bounded


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
    return cast("_FrameDispatch", protocol.connection._connection._frame_dispatch_table)  # noqa: SLF001


def ignore_unknown_events(protocol: H2Protocol) -> None:
    """Let frames of an unknown type pass, as RFC 9113 (4.1) wants it; grpclib would end the connection."""
    lenient = _Lenient(cast("dict[type, Callable[[Any], None]]", protocol.processor.processors))
    protocol.processor.processors = lenient  # type: ignore[assignment]


class _Lenient(dict[type, Callable[[Any], None]]):
    def __missing__(self, _event: type) -> Callable[[Any], None]:
        return lambda _event: None


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
        connection._connection.close_connection()  # noqa: SLF001
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
