"""A service whose methods do what a test says."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from grpclib.const import Cardinality, Handler
from grpclib.server import Stream

from iop_edge.net import Address, Tls, client_context, server_context
from iop_edge.transport.channel import ClientChannel
from iop_edge.transport.pending import PendingConnections
from iop_edge.transport.server import BoundedServer, Tokens
from iop_pb.iop.runtime.v1 import HandshakeRequest, HandshakeResponse

UNARY = "/test.Service/Unary"
STREAM = "/test.Service/Stream"

LOOPBACK = Address(host="127.0.0.1")
REQUEST = HandshakeRequest(edge_id="edge")
REPLY = HandshakeResponse(node_id="node")

Call = Stream[HandshakeRequest, HandshakeResponse]
Method = Callable[[Call], Awaitable[None]]


async def answer(call: Call) -> None:
    """Take the request and answer it."""
    await call.recv_message()
    await call.send_message(REPLY)


class Service:
    """Answers unless told otherwise."""

    def __init__(self, unary: Method = answer, stream: Method = answer) -> None:
        self._unary = unary
        self._stream = stream

    def __mapping__(self) -> dict[str, Handler]:
        types = (HandshakeRequest, HandshakeResponse)
        return {
            UNARY: Handler(self._unary, Cardinality.UNARY_UNARY, *types),
            STREAM: Handler(self._stream, Cardinality.UNARY_STREAM, *types),
        }


class Pause:
    """A method that waits, once begun, until it is let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.call: Call | None = None

    async def __call__(self, call: Call) -> None:
        self.call = call
        await call.recv_message()
        self.begun.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        await call.send_message(REPLY)

    def write_raw(self, data: bytes) -> None:
        """Write bytes on the connection of the waiting call."""
        assert self.call is not None
        self.call._stream._transport.write(data)


@asynccontextmanager
async def serving(
    service: Service,
    address: Address = LOOPBACK,
    *,
    tls: Tls | None = None,
    max_request_bytes: int = 1 << 20,
    tokens: Tokens | None = None,
    pending: PendingConnections | None = None,
) -> AsyncIterator[tuple[BoundedServer, Address]]:
    """Serve for as long as the block runs."""
    server = BoundedServer([service], max_request_bytes=max_request_bytes, tokens=tokens, pending=pending)
    listening = await server.start(address, server_context(tls) if tls else None)
    try:
        yield server, listening
    finally:
        await server.drain(0)


@asynccontextmanager
async def dialled(address: Address, *, tls: Tls | None = None, **options: Any) -> AsyncIterator[ClientChannel]:
    """Have a channel for as long as the block runs."""
    server_name = tls.server_name if tls else ""
    channel = ClientChannel(address, tls=client_context(tls) if tls else None, server_name=server_name, **options)
    try:
        yield channel
    finally:
        await channel.finish()


async def ask(channel: ClientChannel, deadline: float = 30.0, **options: Any) -> HandshakeResponse:
    """Make the unary call."""
    return await channel.unary(UNARY, REQUEST, HandshakeResponse, deadline=deadline, **options)
