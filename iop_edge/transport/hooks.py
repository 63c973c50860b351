"""The private parts of grpclib, h2 and asyncio that are touched, one function each."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Any, Final, Protocol, cast

from grpclib.client import Stream
from grpclib.metadata import Deadline
from grpclib.protocol import EventsProcessor
from grpclib.server import Handler
from h2.connection import H2Connection
from hyperframe.frame import Frame, GoAwayFrame

_TLS_BUFFER_BYTES: Final = 1 << 15
_DATA_FRAME: Final = b"\0\0"
_CONTENT_TYPE: Final = ("content-type", "application/grpc+proto")
_BATCH_BYTES: Final = 1 << 18
"""The maximum size of one write; after it the transport may ask for a pause."""

_FrameDispatch = dict[type[Frame], Callable[[Any], tuple[list[Frame], list[Any]]]]


class HasH2Stream(Protocol):
    """A call, at either end."""

    _stream: Any


class Flaw(Enum):
    """What can be wrong with a message before its content is decoded."""

    TOO_LARGE = "at most {limit} bytes are accepted"
    COMPRESSED = "a message is compressed"
    CUT_OFF = "a message is cut off"


def h2_connection(processor: EventsProcessor) -> H2Connection:
    """Return the h2 connection under grpclib's."""
    return processor.connection._connection  # noqa: SLF001


def bound_messages(call: HasH2Stream, limit: int, refuse: Callable[[Flaw, str], Exception]) -> None:
    """Refuse a message that cannot be read, or announces more than `limit` bytes, before any of them are kept.

    grpclib reads a prefix, which holds the length, then asks its stream for that many bytes: it is stopped there.
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


class _SentDeadline(Deadline):
    """Encodes as the same text for every call, which header compression then sends as one byte."""

    def __init__(self, seconds: float) -> None:
        super().__init__(_timestamp=0)
        self._seconds = seconds

    def time_remaining(self) -> float:
        return self._seconds


def send_deadline(call: Stream[Any, Any], seconds: float) -> None:
    """Send the peer a deadline that is not kept at this end. Called before the request is sent.

    grpclib keeps each deadline that it is given with a timer that swallows cancellations close to its time.
    """
    call._deadline = _SentDeadline(seconds)  # noqa: SLF001


def send_in_batches(call: HasH2Stream) -> None:
    """Send the call's messages many frames at a time: grpclib and h2 are slow at single ones.

    It also bounds what is written before the transport may ask for a pause: grpclib writes frames as large as the peer
    allows.
    """
    stream = call._stream  # noqa: SLF001
    connection, transport = stream._h2_connection, stream._transport  # noqa: SLF001

    def write(data: bytes, size: int) -> None:
        transport.write(data)
        stream.connection.data_sent += size

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
            write(data_frames(connection, stream.id, batch), len(batch))
        # The last frame is left to h2, which notes the end of the stream.
        begun = max(len(batch) - 1, 0) // connection.max_outbound_frame_size * connection.max_outbound_frame_size
        if begun:
            write(data_frames(connection, stream.id, batch[:begun]), begun)
        connection.send_data(stream.id, batch[begun:], end_stream=end_stream)
        write(connection.data_to_send(), len(batch) - begun)

    stream.send_data = send_data


def data_frames(connection: H2Connection, stream_id: int, data: memoryview) -> bytes:
    """Return data as frames that do not end their stream, and count it as sent.

    The data must fit into the stream's window, and h2 must have nothing left to send.
    """
    connection.outbound_flow_control_window -= len(data)
    connection.streams[stream_id].outbound_flow_control_window -= len(data)
    frame_size = connection.max_outbound_frame_size
    parts: list[bytes | memoryview] = []
    for start in range(0, len(data), frame_size):
        part = data[start : start + frame_size]
        parts += (len(part).to_bytes(3), _DATA_FRAME, stream_id.to_bytes(4), part)
    return b"".join(parts)


def on_goaway(processor: EventsProcessor, leave: Callable[[int], None]) -> None:
    """Call `leave` with the last stream that the peer will serve when it announces its end without an error.

    h2 would close the connection at once, and lose the answers that are still on their way.
    """
    # h2 types its table as one that can hold nothing.
    dispatch = cast("_FrameDispatch", h2_connection(processor)._frame_dispatch_table)  # noqa: SLF001
    fail = dispatch[GoAwayFrame]

    def handle(frame: GoAwayFrame) -> tuple[list[Frame], list[Any]]:
        if frame.error_code:
            return fail(frame)
        leave(frame.last_stream_id)
        return [], []

    dispatch[GoAwayFrame] = handle


def send_goaway(processor: EventsProcessor) -> None:
    """Send GOAWAY without an error if the connection is still open."""
    if not processor.connection.is_closing():
        h2_connection(processor).close_connection()
        processor.connection.flush()


def release_when_done(handler: Handler) -> None:
    """Release a server's calls when their tasks are done.

    grpclib releases a call at the end of its task, which a task that is cancelled before its first step never reaches.
    """
    accept = handler.accept

    def accept_and_release(stream: Any, headers: Any, release: Callable[[], Any]) -> None:
        accept(stream, headers, release)
        handler._tasks[stream].add_done_callback(lambda _: release())  # noqa: SLF001

    handler.accept = accept_and_release  # type: ignore[assignment, method-assign]


def name_content_type(handler: Handler) -> None:
    """Name the content type in every answer that is a refusal alone, without which gRPC clients do not read it.

    grpclib leaves it out where it refuses a call before it begins, such as one of an unknown method.
    """
    accept = handler.accept

    def accept_and_name(stream: Any, headers: Any, release: Callable[[], Any]) -> None:
        send_headers = stream.send_headers

        async def send_named(sent: Sequence[tuple[str, str]], *, end_stream: bool = False) -> None:
            names = {name for name, _ in sent}
            if ":status" in names and "content-type" not in names:
                sent = (*sent, _CONTENT_TYPE)
            await send_headers(sent, end_stream=end_stream)

        stream.send_headers = send_named
        accept(stream, headers, release)

    handler.accept = accept_and_name  # type: ignore[method-assign, assignment]


def running_calls(handler: Handler) -> set[asyncio.Task[None]]:
    """Return the tasks of a server's calls that still run on one connection."""
    return {task for task in handler._tasks.values() if not task.done()}  # noqa: SLF001


def shrink_tls_buffer(transport: asyncio.BaseTransport) -> None:
    """Make a TLS connection read into less memory: asyncio reserves 256 KiB for each, idle or not."""
    tls = getattr(transport, "_ssl_protocol", None)
    if tls is not None:
        tls.max_size = _TLS_BUFFER_BYTES
        tls._ssl_buffer = bytearray(_TLS_BUFFER_BYTES)  # noqa: SLF001
        tls._ssl_buffer_view = memoryview(tls._ssl_buffer)  # noqa: SLF001
