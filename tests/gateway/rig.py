"""The example gateway in one event loop: an Edge, its Nodes, fake backends that wait for the test, and a client."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import httpx
import pytest

_MISSING: Final = "the extra `gateway` is not installed"
pytest.importorskip("starlette", reason=_MISSING)
pytest.importorskip("uvicorn", reason=_MISSING)

import uvicorn  # noqa: E402
from starlette.types import ASGIApp, Receive, Scope, Send  # noqa: E402 - it comes with the extra

from examples.gateway.backend import Backend  # noqa: E402
from examples.gateway.backends import Backends  # noqa: E402
from examples.gateway.front import Bounds, Gateway  # noqa: E402
from iop_edge import Edge, Snapshot  # noqa: E402
from iop_edge.config.pipeline import load_sources  # noqa: E402
from iop_edge.config.source import Source  # noqa: E402
from iop_edge.ids import NodeId  # noqa: E402
from iop_edge.net import Address  # noqa: E402
from iop_edge.node.node import run_node  # noqa: E402

__all__ = [
    "Bounds",
    "Edge",
    "Gate",
    "Receive",
    "Rig",
    "Scope",
    "Send",
    "Snapshot",
    "loaded",
    "request",
    "rig",
    "text_of",
]

NODE_TOKEN: Final = "s3cr3t-node"
BOUNDS: Final = Bounds()


class Gate:
    """Lets each stream make so many tokens: all of them, until the test says less."""

    def __init__(self) -> None:
        self._most = float("inf")
        self._more = asyncio.Event()
        self._news = asyncio.Event()
        self._made: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
        self.waiting = 0

    async def __call__(self) -> None:
        """Wait until the stream, which is made by a task of its own, may make its next token."""
        task = asyncio.current_task()
        assert task is not None
        token = self._made[task] = self._made.get(task, -1) + 1
        self.waiting += 1
        self._news.set()
        try:
            while token >= self._most:
                await self._more.wait()
        finally:
            self.waiting -= 1
            self._news.set()

    def let(self, tokens: float) -> None:
        """Let each stream make so many tokens in all."""
        self._most = tokens
        self._more.set()
        self._more = asyncio.Event()

    async def until_waiting(self, streams: int) -> None:
        """Wait until so many streams wait here."""
        while self.waiting != streams:
            self._news.clear()
            await self._news.wait()


@dataclass(frozen=True, slots=True)
class Rig:
    """What a test has in its hands. `backends` are by provider id."""

    edge: Edge
    gate: Gate
    backends: Mapping[str, Backend]
    config: dict[str, Any]
    client: httpx.AsyncClient

    async def ask(self, *, headers: Mapping[str, str] | None = None, **fields: Any) -> httpx.Response:
        """Ask for a chat completion, and return the whole answer."""
        return await self.client.post("/chat/completions", json=request(**fields), headers=headers)

    @asynccontextmanager
    async def streaming(self, **fields: Any) -> AsyncIterator[httpx.Response]:
        """Ask for a chat completion that comes in parts."""
        body = request(stream=True, **fields)
        async with self.client.stream("POST", "/chat/completions", json=body) as response:
            yield response

    async def streamed(self, **fields: Any) -> str:
        """Ask for a chat completion in parts, and return what it says; with little work, where there are hundreds.

        To a client of HTTP/1.0 the body has no frame: it ends with the connection, and [DONE] says that it is whole.
        """
        body = json.dumps(request(stream=True, **fields)).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.client.base_url.port)
        with closing(writer):
            writer.write(b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            head, _, stream = (await reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), (head, stream)
        return text_of(stream.decode())

    def in_flight(self) -> int:
        """Return how many leases are held."""
        return sum(status.in_flight for status in self.edge.pool.statuses())


def request(**fields: Any) -> dict[str, Any]:
    """Return the body of a request."""
    return {"model": "m", "messages": [{"role": "user", "content": "hello"}], **fields}


def text_of(stream: str) -> str:
    """Return what a stream of events says, which must be complete."""
    events = [line.removeprefix("data: ") for line in stream.splitlines() if line]
    assert events[-1] == "[DONE]", stream
    return "".join(json.loads(event)["choices"][0]["delta"]["content"] for event in events[:-1])


def loaded(config: Mapping[str, Any]) -> Snapshot:
    """Load a config."""
    return load_sources([Source("edge.yaml", json.dumps(config).encode(), private=True)], None)


@asynccontextmanager
async def rig(
    *nodes: int,
    change: Callable[[dict[str, Any]], None] = lambda _: None,
    others: Mapping[str, ASGIApp] | None = None,
    bounds: Bounds = BOUNDS,
    silence_seconds: float = 60.0,
) -> AsyncIterator[Rig]:
    """Have a gateway whose Nodes have so many providers each: `p0`, `p1` and so on, all with the model `m`.

    Args:
        nodes: how many providers each Node has.
        change: what the test wants otherwise in the config.
        others: what stands in for fake backends, by provider id.
        bounds: of the front.
        silence_seconds: how long a backend may send nothing.
    """
    gate = Gate()
    async with AsyncExitStack() as stack:
        made, described, backends = 0, [], {}
        for number, providers in enumerate(nodes):
            node = {"id": f"n{number}", "token": NODE_TOKEN, "adapters": [], "providers": []}
            node["address"] = str(await stack.enter_async_context(running_node(f"n{number}")))
            for provider_id in (f"p{made + index}" for index in range(providers)):
                backends[provider_id] = Backend(provider_id, gate)
                app = (others or {}).get(provider_id, backends[provider_id].app)
                port = await stack.enter_async_context(serving(app))
                _add_provider(node, provider_id, port)
            made += providers
            described.append(node)
        config = {
            "edge": {"id": "e"},
            "models": [{"id": "m", "providers": list(backends)}],
            "nodes": described,
        }
        change(config)
        edge = await stack.enter_async_context(Edge.start(loaded(config)))
        facing = Backends(edge, silence_seconds=silence_seconds)
        stack.push_async_callback(facing.close)
        port = await stack.enter_async_context(serving(Gateway(edge, facing, bounds).app))
        await edge.settled()
        client = await stack.enter_async_context(
            httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}/v1",
                trust_env=False,
                timeout=None,
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            )
        )
        try:
            yield Rig(edge, gate, backends, config, client)
        finally:
            gate.let(float("inf"))


def _add_provider(node: dict[str, Any], provider_id: str, port: int) -> None:
    node["adapters"].append({"name": provider_id, "type": "vllm", "base_url": f"http://127.0.0.1:{port}/v1"})
    node["providers"].append(
        {"id": provider_id, "type": "vllm", "category": "api", "adapter": provider_id, "models": ["m"]}
    )


@asynccontextmanager
async def running_node(node_id: str) -> AsyncIterator[Address]:
    """Run a Node in this loop, and yield where it listens."""
    ready: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
    node = asyncio.create_task(run_node(NodeId(node_id), "127.0.0.1:0", [NODE_TOKEN], ready=ready.set_result))
    try:
        yield await ready
    finally:
        node.cancel()
        with suppress(asyncio.CancelledError):
            await node


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[int]:
    """Serve for as long as the block runs, and yield the port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=5,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve([listener]))
    try:
        yield int(listener.getsockname()[1])
    finally:
        server.should_exit = True
        await task


class _Server(uvicorn.Server):
    """A server among others in one process, whose signals are the program's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield
