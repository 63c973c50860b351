"""Peers at a Node's address that are no Nodes, or broken ones."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from grpclib.const import Cardinality, Handler
from grpclib.server import Stream

from iop_edge.net import Address
from iop_edge.transport import PROTOCOL_VERSION
from iop_edge.transport.server import BoundedServer
from iop_pb.iop.runtime.v1 import HandshakeResponse, NodeConfigRefreshRequest

SERVICE = "/iop.runtime.v1.NodeConfigService"


@contextmanager
def never_accepting() -> Iterator[Address]:
    """A listener whose queue is full: the system answers no further dial."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        queued = [socket.socket() for _ in range(2)]
        for each in queued:
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        yield Address(host="127.0.0.1", port=listener.getsockname()[1])
        for each in queued:
            each.close()


@asynccontextmanager
async def saying(data: bytes, *, hang_up: bool) -> AsyncIterator[Address]:
    """A peer that says this to everybody who connects, and hangs up or not."""
    writers: list[asyncio.StreamWriter] = []

    def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(data)
        if hang_up:
            writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    try:
        yield Address(host="127.0.0.1", port=server.sockets[0].getsockname()[1])
    finally:
        for writer in writers:
            writer.close()
        server.close()
        await server.wait_closed()


class _Answering:
    def __init__(self, answers: dict[str, bytes]) -> None:
        self._answers = answers

    def __mapping__(self) -> dict[str, Handler]:
        return {
            f"{SERVICE}/{method}": Handler(_answer(data), Cardinality.UNARY_UNARY, NodeConfigRefreshRequest, bytes)
            for method, data in self._answers.items()
        }


def _answer(data: bytes) -> Callable[[Stream[NodeConfigRefreshRequest, bytes]], Awaitable[None]]:
    async def answer(call: Stream[NodeConfigRefreshRequest, bytes]) -> None:
        await call.send_message(data)

    return answer


@asynccontextmanager
async def answering(node_id: str, push_answer: bytes, handshake_answer: bytes | None = None) -> AsyncIterator[Address]:
    """A gRPC server that greets like a Node and answers a push with these bytes."""
    greeting = bytes(HandshakeResponse(protocol_version=PROTOCOL_VERSION, node_id=node_id))
    answers = {
        "Handshake": greeting if handshake_answer is None else handshake_answer,
        "NodeConfigRefresh": push_answer,
    }
    server = BoundedServer([_Answering(answers)])
    address = await server.start(Address(host="127.0.0.1"))
    try:
        yield address
    finally:
        await server.drain(0)
