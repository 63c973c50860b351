"""A connection whose peer may be anyone: what it sends is bounded, and what it breaks is its own connection."""

import asyncio
import logging
from typing import Final, cast

from grpclib.protocol import H2Protocol
from h2.exceptions import ProtocolError

from iop_edge.transport import hooks
from iop_edge.transport.cork import CorkedTransport
from iop_edge.transport.frames import FrameBudget

_log = logging.getLogger(__name__)

_ANY_BYTES: Final = "latin-1"
"""Headers are read as this, since any bytes can be; what is beyond ASCII in them is refused call by call."""

_MAX_UNREAD_BYTES: Final = 8 << 20
"""Calls stop writing long before; answers to what the peer sends while it reads nothing would not."""

_CLOSE_PATIENCE: Final = 1.0
"""So many seconds a peer has to take the last frames, which say why the connection ends."""


class GuardedProtocol(H2Protocol):
    """One end of a connection. Its transport is the real one; grpclib writes to a corked one."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to speak HTTP/2."""
        self.transport = cast("asyncio.Transport", transport)
        corked = CorkedTransport(self.transport)
        self.h2_config.header_encoding = _ANY_BYTES
        super().connection_made(corked)
        hooks.watch_liveness(transport.get_extra_info("socket"))
        hooks.shrink_tls_buffer(transport)
        loop = asyncio.get_running_loop()
        hooks.bound_frames(self, FrameBudget(loop.time, lambda: corked.written))
        hooks.bound_header_table(self)
        hooks.ignore_unknown_events(self)
        hooks.refuse_malformed_headers(self)
        hooks.skip_empty_data(self)

    def data_received(self, data: bytes) -> None:
        """Take what the peer has sent."""
        if self.transport.is_closing():
            return
        try:
            self._process(data)
        except ProtocolError:
            self.connection.flush()  # h2 has put a goodbye there that says why
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
        """Close the connection, also under a peer that does not read what is left to send."""
        self.processor.close(reason)
        asyncio.get_running_loop().call_later(_CLOSE_PATIENCE, self.transport.abort)
