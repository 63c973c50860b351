"""Nodes on loopback that do what a test says, and a fleet that dials them on a clock that the test moves."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from random import random
from typing import Any

from iop_edge.clock import Clock
from iop_edge.ids import EdgeId, EdgeInstanceId, NodeId, ProviderId, Revision
from iop_edge.net import Address, Tls, server_context
from iop_edge.node.node import Node
from iop_edge.payload import encode
from iop_edge.pool.status import Health, NodeConnection
from iop_edge.push.fleet import Fleet
from iop_edge.push.model import (
    Caller,
    Desired,
    NodeState,
    Pushed,
    PushSettings,
    ReportedHealth,
    Target,
)
from iop_edge.transport.server import BoundedServer
from iop_pb.iop.runtime.v1 import (
    HandshakeRequest,
    HandshakeResponse,
    NodeConfigRefreshMode,
    NodeConfigRefreshRequest,
    NodeConfigRefreshResponse,
)
from iop_pb.trees import NodeConfigPayload, Resource
from tests.clock import ManualClock

EDGE_ID = EdgeId("edge-1")
KEY = b"key of the state directory"
TOKEN = "n0de-t0ken"

Refresh = Callable[[NodeConfigRefreshRequest], Awaitable[NodeConfigRefreshResponse]]
Handshake = Callable[[HandshakeRequest], Awaitable[HandshakeResponse]]


class Scripted(Node):
    """A reference Node that notes what it is sent; its methods can be replaced."""

    def __init__(self, node_id: str, **options: Any) -> None:
        super().__init__(NodeId(node_id), **options)
        self.pushes: list[NodeConfigRefreshRequest] = []
        self.handshakes = 0
        self.refresh: Refresh = super().node_config_refresh
        self.shake: Handshake = super().handshake

    @property
    def commits(self) -> list[int]:
        """The concurrency, which tells contents apart, of each payload that was to be run."""
        commits = [push for push in self.pushes if push.mode is NodeConfigRefreshMode.COMMIT]
        return [push.payload.runtime.concurrency for push in commits if push.payload and push.payload.runtime]

    async def handshake(self, message: HandshakeRequest) -> HandshakeResponse:
        self.handshakes += 1
        return await self.shake(message)

    async def node_config_refresh(self, message: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
        self.pushes.append(message)
        return await self.refresh(message)


class Station:
    """A machine at one address, on which Nodes come and go."""

    def __init__(self, name: str, tls: Tls | None = None, tokens: Sequence[str] = (TOKEN,), **options: Any) -> None:
        self.name = name
        self.address = Address(host="127.0.0.1")
        self.node = Scripted(name)
        self._tls = tls
        self._tokens = tokens
        self._options = options
        self._server: BoundedServer | None = None

    async def start(self, node: Scripted | None = None) -> Scripted:
        """Serve a Node, a fresh one unless one is given, at the address of before."""
        self.node = node or Scripted(self.name)
        self._server = BoundedServer([self.node], tokens=self._tokens, **self._options)
        self.address = await self._server.start(self.address, server_context(self._tls) if self._tls else None)
        return self.node

    async def stop(self) -> None:
        """Stop serving in good form."""
        if self._server is not None:
            await self.node.close()
            await self._server.drain(0)
            self._server = None

    def cut(self) -> None:
        """Cut all connections, as a broken network does; the Node knows nothing of it."""
        assert self._server is not None
        self._server._server.abort_connections()

    def target(self, **changes: Any) -> Target:
        """Return the Node as a config would name it."""
        return replace(Target(NodeId(self.name), str(self.address), TOKEN), **changes)


@asynccontextmanager
async def station(name: str = "a", *, tls: Tls | None = None, **options: Any) -> AsyncIterator[Station]:
    """Have a Node serve for as long as the block runs."""
    made = Station(name, tls, **options)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


def desired(name: str, concurrency: int, revision: int = 0, *, padding: int = 0) -> Desired:
    """Return a payload; the concurrency tells one content from another, the padding makes it large."""
    resource: Resource = {"provider_id": f"{name}-p", "models": ["m" * (padding + 1)], "health": {"mode": "none"}}
    payload: NodeConfigPayload = {"node_id": name, "resources": [resource], "runtime": {"concurrency": concurrency}}
    return Desired(encode(payload, KEY), Revision(revision or concurrency))


def all_desired(concurrency: int, *names: str) -> dict[NodeId, Desired]:
    """Return the same content for all of these Nodes."""
    return {NodeId(name): desired(name, concurrency) for name in names}


class Sleeper(ManualClock):
    """A clock whose sleeps end when the test says so; it notes how long they were to be."""

    def __init__(self, *, awake: bool = False) -> None:
        super().__init__()
        self.delays: list[float] = []
        self._awake = awake
        self._asleep = asyncio.Event()
        self._alarm = asyncio.Event()

    async def sleep(self, delay: float) -> None:
        self.delays.append(delay)
        self._asleep.set()
        if self._awake:
            await asyncio.sleep(0)
        else:
            await self._alarm.wait()

    async def asleep(self) -> None:
        """Wait until somebody sleeps."""
        await self._asleep.wait()

    async def wake(self) -> None:
        """End the next sleep, or the one that is being slept."""
        await self.asleep()
        self._asleep.clear()
        alarm, self._alarm = self._alarm, asyncio.Event()
        alarm.set()


class Watcher:
    """Notes what a fleet tells, and waits for it."""

    def __init__(self) -> None:
        self.states: dict[str, NodeState] = {}
        self.health: dict[str, Health] = {}
        self.details: dict[str, str] = {}
        self.history: list[tuple[str, NodeConnection]] = []
        self.pushed: list[tuple[str, Pushed]] = []
        self.fails = False
        self._news = asyncio.Event()

    def take_state(self, node_id: NodeId, state: NodeState) -> None:
        self.states[node_id] = state
        self.history.append((node_id, state.connection))
        self._news.set()
        if self.fails:
            raise ValueError("a listener's own fault")

    def take_push(self, node_id: NodeId, pushed: Pushed) -> None:
        self.pushed.append((node_id, pushed))

    def take_health(self, _: NodeId, health: Mapping[ProviderId, ReportedHealth]) -> None:
        self.health.update({str(provider_id): reported.state for provider_id, reported in health.items()})
        self.details.update({str(provider_id): reported.detail for provider_id, reported in health.items()})
        self._news.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that depends on what the fleet tells."""
        while not holds():
            self._news.clear()
            await self._news.wait()

    async def in_sync(self, revision: int, *names: str) -> None:
        """Wait until Nodes run what they should, at this revision."""
        await self.until(lambda: all(self._runs(name, revision) for name in names))

    async def connection(self, name: str, connection: NodeConnection) -> NodeState:
        """Wait until the Edge stands like this with a Node."""
        await self.until(lambda: name in self.states and self.states[name].connection is connection)
        return self.states[name]

    def _runs(self, name: str, revision: int) -> bool:
        state = self.states.get(name)
        return state is not None and state.in_sync and state.revision == revision


@dataclass(frozen=True)
class Pace:
    """How a fleet waits."""

    settings: PushSettings
    clock: Clock
    chance: Callable[[], float]


def awake(**changes: Any) -> Pace:
    """Return a pace without pauses."""
    settings = {"push_deadline": 30, "handshake_deadline": 30, "connect_timeout": 30, **changes}
    return Pace(PushSettings(**settings), Sleeper(awake=True), random)


def patient(sleeper: Sleeper, chance: Callable[[], float] = lambda: 1.0, **changes: Any) -> Pace:
    """Return a pace whose pauses the test ends, at their longest."""
    return replace(awake(**changes), clock=sleeper, chance=chance)


@asynccontextmanager
async def fleet(
    *targets: Target,
    wanted: Mapping[NodeId, Desired] | None = None,
    pace: Pace | None = None,
    edge_id: EdgeId = EDGE_ID,
    instance: str = "instance-1",
    take_over: bool = False,
) -> AsyncIterator[tuple[Fleet, Watcher]]:
    """Run a fleet for as long as the block runs."""
    watcher = Watcher()
    pace = pace or awake()
    made = Fleet(
        Caller(edge_id, EdgeInstanceId(instance), take_over),
        settings=pace.settings,
        clock=pace.clock,
        chance=pace.chance,
        on_state_change=watcher.take_state,
        on_health=watcher.take_health,
        on_push=watcher.take_push,
    )
    made.start(targets, wanted or {})
    try:
        yield made, watcher
    finally:
        await made.close()
