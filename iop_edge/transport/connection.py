"""One end of a connection whose peer may be hostile: what it sends is bounded, and only its own connection breaks."""

import asyncio
import contextlib
import logging
import re
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import betterproto2
from grpclib.config import Configuration
from grpclib.encoding.base import CodecBase
from grpclib.protocol import AbstractHandler, Connection, EventsProcessor, H2Protocol
from h2.config import H2Configuration
from h2.errors import ErrorCodes
from h2.events import DataReceived, RemoteSettingsChanged, RequestReceived, ResponseReceived, TrailersReceived
from h2.exceptions import DenialOfServiceError, ProtocolError, StreamClosedError
from h2.frame_buffer import FrameBuffer
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    HeadersFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
)

from iop_edge.clock import SYSTEM_CLOCK, Clock
from iop_edge.schema.wire import decode, require_few
from iop_edge.transport import hooks

_log = logging.getLogger(__name__)

_ANY_BYTES: Final = "latin-1"
"""The encoding of headers, which decodes any bytes; non-ASCII headers are refused call by call."""

_MAX_UNREAD_BYTES: Final = 8 << 20
"""Calls stop writing long before this. Replies to frames of a peer that reads nothing would not."""

_CLOSE_SECONDS: Final = 1.0
"""How long a peer may take to read the last frames, which say why the connection ends."""

_HEADER_TABLE_BYTES: Final = 4096
_REQUIRED_HEADERS: Final[dict[type, set[str]]] = {
    RequestReceived: {":method", ":path"},
    ResponseReceived: {":status"},
    TrailersReceived: set(),
}
_BASE64: Final = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3})?={0,2}")
_NO_TIME: Final = re.compile("0+[HMSmun]")

_SMALL_BYTES: Final = 256
_RESET_COST: Final = 10
"""A request that is reset at once costs more here than it costs its caller."""

_SETTINGS_COST: Final = 20
"""Peers send their settings once, and hardly ever again."""

_BURST: Final = 10_000
_PER_SECOND: Final = 2_000
_BYTES_PER_FRAME: Final = 1 << 10
"""A peer acknowledges what it is sent frame by frame, so sent bytes pay for frames."""

_KEEPALIVE_IDLE: Final = 15
_KEEPALIVE_INTERVAL: Final = 5
_KEEPALIVE_PROBES: Final = 3
_USER_TIMEOUT_MS: Final = 20_000


class Codec(CodecBase):
    """Encodes messages and strictly decodes them; what is not a message of its type raises `WireError`.

    Args:
        max_fields: the maximum number of fields in a message; None: unlimited.
    """

    __content_subtype__ = "proto"

    def __init__(self, max_fields: int | None = None) -> None:
        self._max_fields = max_fields

    def encode(self, message: betterproto2.Message | bytes, message_type: Any) -> bytes:  # noqa: ARG002
        """Return the bytes of a message, which may be encoded already."""
        return message if isinstance(message, bytes) else bytes(message)

    def decode(self, data: bytes, message_type: type[betterproto2.Message]) -> Any:
        """Decode a message, or raise `WireError`."""
        if self._max_fields is not None:
            require_few(message_type, data, self._max_fields)
        return decode(message_type, data)


class FrameBudget:
    """How many frames without content a peer may still send.

    Args:
        clock: time earns frames.
        sent: returns how many bytes the peer has been sent so far.
    """

    def __init__(self, clock: Clock, sent: Callable[[], int]) -> None:
        self._clock = clock
        self._sent = sent
        self._left: float = _BURST
        self._last_time = clock.monotonic()
        self._last_sent = sent()

    def spend(self, cost: int) -> None:
        """Take the cost of a frame.

        Raises:
            DenialOfServiceError: the budget is exhausted.
        """
        if self._left < cost:
            self._earn()
        if self._left < cost:
            raise DenialOfServiceError("too many frames without content")
        self._left -= cost

    def _earn(self) -> None:
        now, sent = self._clock.monotonic(), self._sent()
        earned = (now - self._last_time) * _PER_SECOND + (sent - self._last_sent) / _BYTES_PER_FRAME
        self._last_time, self._last_sent = now, sent
        self._left = min(self._left + earned, _BURST)


class BoundedFrames(FrameBuffer):
    """Refuses an oversized frame as soon as its header arrives: h2 would wait for all of it."""

    def __init__(self, budget: FrameBudget, *, server: bool) -> None:
        super().__init__(server=server)
        self._budget = budget

    def __next__(self) -> Frame:
        """Return the next complete frame."""
        if len(self._data) >= 3:
            self._validate_frame_length(int.from_bytes(self._data[:3]))
        frame = super().__next__()
        if cost := _cost(frame):
            self._budget.spend(cost)
        return frame


def _cost(frame: Frame) -> int:
    match frame:
        case HeadersFrame() | ContinuationFrame():
            return 0
        case DataFrame():
            return int(len(frame.data) < _SMALL_BYTES and "END_STREAM" not in frame.flags)
        case RstStreamFrame():
            return _RESET_COST
        case PushPromiseFrame():
            raise ProtocolError("gRPC has no server push")
        case SettingsFrame():
            return _SETTINGS_COST + len(frame.settings)
        case _:
            return 1


class BoundedProcessor(EventsProcessor):
    """Ignores or refuses events that grpclib would fail on. `on_release` is called when a call has ended."""

    def __init__(self, handler: AbstractHandler, connection: Connection) -> None:
        super().__init__(handler, connection)
        self.on_release: Callable[[], None] = lambda: None

    def process(self, event: Any) -> None:
        """Process an event of h2."""
        if not hasattr(self, "processors"):  # the connection is closed
            return
        if isinstance(event, DataReceived) and not event.flow_controlled_length:
            return  # grpclib would take empty data for the end of the message that it reads
        if (required := _REQUIRED_HEADERS.get(type(event))) is not None and not _well_formed(event.headers, required):
            self._refuse(event.stream_id)
            return
        if isinstance(event, RemoteSettingsChanged):
            # The peer may offer a larger table for the headers that it is sent, but does not decide our memory.
            encoder = hooks.h2_connection(self).encoder
            encoder.header_table_size = min(encoder.header_table_size, _HEADER_TABLE_BYTES)
        # Frames of an unknown type are ignored (RFC 9113, 4.1).
        with contextlib.suppress(NotImplementedError):
            super().process(event)

    def register(self, stream: Any) -> Callable[[], None]:
        """Return what releases a call. It may be called twice: grpclib never calls it for a call that did not begin."""
        release = super().register(stream)

        def release_once() -> None:
            if self.streams.get(stream.id) is stream:
                release()
                self.on_release()

        return release_once

    def _refuse(self, stream_id: int) -> None:
        if (stream := self.streams.get(stream_id)) is not None:
            stream.__terminated__("malformed headers")
        with contextlib.suppress(StreamClosedError):
            hooks.h2_connection(self).reset_stream(stream_id, ErrorCodes.PROTOCOL_ERROR)


def _well_formed(headers: Sequence[tuple[str, str]], required: set[str]) -> bool:
    """Tell whether headers are those of gRPC, which grpclib takes for granted."""
    for name, value in headers:
        if not (name.isascii() and value.isascii()):
            return False
        if name.endswith("-bin") and not _BASE64.fullmatch(value):
            return False
        if name == "grpc-timeout" and _NO_TIME.fullmatch(value):
            return False
    return not required or {name for name, _ in headers} >= required


class BoundedProtocol(H2Protocol):
    """One end of a connection."""

    transport: asyncio.Transport
    processor: BoundedProcessor

    def __init__(
        self, handler: AbstractHandler, config: Configuration, h2_config: H2Configuration, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        super().__init__(handler, config, h2_config)
        self._clock = clock

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to speak HTTP/2."""
        self.transport = cast("asyncio.Transport", transport)
        self.h2_config.header_encoding = _ANY_BYTES
        super().connection_made(transport)
        self.processor = BoundedProcessor(self.handler, self.connection)
        h2 = hooks.h2_connection(self.processor)
        budget = FrameBudget(self._clock, lambda: self.connection.data_sent)
        h2.incoming_buffer = BoundedFrames(budget, server=not h2.config.client_side)
        hooks.shrink_tls_buffer(transport)
        _detect_dead_peer(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """Process what the peer has sent."""
        if self.transport.is_closing():
            return
        try:
            self._process(data)
        except ProtocolError:
            self.connection.flush()  # h2 has queued a GOAWAY that says why
            self.end("the peer broke the protocol")
        except Exception as error:  # noqa: BLE001
            _log.error("a connection ends: %s", type(error).__name__)
            self.end("the connection failed")
        else:
            if self.transport.get_write_buffer_size() > _MAX_UNREAD_BYTES:
                self.end("the peer does not read")

    def _process(self, data: bytes) -> None:
        events = self.connection.feed(data)
        self.connection.flush()
        for event in events:
            self.processor.process(event)
        if not self.connection.is_closing():
            self.connection.flush()

    def end(self, reason: str) -> None:
        """Close the connection, even if the peer does not read what is left to send."""
        self.processor.close(reason)
        asyncio.get_running_loop().call_later(_CLOSE_SECONDS, self.transport.abort)


def _detect_dead_peer(sock: socket.socket | None) -> None:
    """Have the kernel detect within about 30 seconds that the other machine is gone, idle or not."""
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_IDLE)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_INTERVAL)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_PROBES)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _USER_TIMEOUT_MS)
