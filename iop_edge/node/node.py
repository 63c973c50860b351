"""The service of a Node, and how it is served."""

import asyncio
import logging
import random
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from importlib.metadata import version
from typing import Final

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from iop_edge.clock import SYSTEM_CLOCK, Clock
from iop_edge.errors import EdgeError
from iop_edge.ids import EdgeId, EdgeInstanceId, Generation, NodeId
from iop_edge.net import Address, AddressError, parse_address
from iop_edge.node.adapters import AdapterSet, Builder, BuildError, Connector, build
from iop_edge.node.health import HealthMonitor, HealthRegistry, monitored_resources
from iop_edge.node.inspect import BUILT_IN_PROFILES, inspect, violation
from iop_edge.node.probe import HttpProber, Prober
from iop_edge.node.session import AnotherEdgeError, Session, Sessions
from iop_edge.rules import Rule
from iop_edge.schema.paths import ROOT
from iop_edge.transport import PROTOCOL_VERSION
from iop_edge.transport.reload import ReloadingServerContext, RotatedTokens, TlsSource
from iop_edge.transport.server import BoundedServer, Tokens
from iop_pb.iop.runtime.v1 import (
    HandshakeRequest,
    HandshakeResponse,
    NodeConfigPayload,
    NodeConfigRefreshMode,
    NodeConfigRefreshOutcome,
    NodeConfigRefreshRequest,
    NodeConfigRefreshResponse,
    NodeConfigServiceBase,
    NodeConfigStatusRequest,
    NodeConfigStatusResponse,
    NodeViolation,
    RunningPayload,
    WatchHealthRequest,
    WatchHealthResponse,
)

_log = logging.getLogger(__name__)

DRAIN_SECONDS: Final = 5.0
"""How long running calls may take to end when the Node stops."""

_MAX_VIOLATIONS: Final = 100
"""The maximum number of violations in one answer: more would help nobody."""


class Node(NodeConfigServiceBase):
    """A Node that takes everything it runs from one Edge (PSH-02).

    Args:
        node_id: the Node's id; a payload for another one is refused.
        profiles: the profiles of command-line agents that it can run.
        builder: builds an adapter from its config.
        prober: sends the probes of active health checks; None sends them over HTTP.
        clock: times sessions and health checks.
        chance: returns a random number from 0 to 1, which spreads the first probes.
    """

    def __init__(
        self,
        node_id: NodeId,
        *,
        profiles: Collection[str] = BUILT_IN_PROFILES,
        builder: Builder = Connector,
        prober: Prober | None = None,
        clock: Clock = SYSTEM_CLOCK,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.health = HealthRegistry()
        self._monitor = HealthMonitor(self.health, prober or HttpProber(), clock, chance)
        self._node_id = node_id
        self._instance_id = secrets.token_hex(16)
        self._software_version = version("iop_edge")
        self._profiles = profiles
        self._builder = builder
        self._sessions = Sessions(clock)
        self._running = RunningPayload()
        self._payload = NodeConfigPayload()
        self._set = AdapterSet({}, {})
        self._drains: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()
        self._stopping = asyncio.Event()

    @property
    def running_set(self) -> AdapterSet:
        """The adapters and resources that new requests run on."""
        return self._set

    async def handshake(self, message: HandshakeRequest) -> HandshakeResponse:
        """Open a session for an Edge process, or refuse it."""
        if message.protocol_version != PROTOCOL_VERSION:
            versions = f"protocol version {message.protocol_version}; this Node speaks {PROTOCOL_VERSION}"
            raise GRPCError(Status.FAILED_PRECONDITION, versions)
        if not (message.edge_id and message.edge_instance_id):
            raise GRPCError(Status.INVALID_ARGUMENT, "an Edge gives its id and that of its process")
        self._sessions.open(
            EdgeId(message.edge_id), EdgeInstanceId(message.edge_instance_id), take_over=message.take_over
        )
        return HandshakeResponse(
            protocol_version=PROTOCOL_VERSION,
            node_id=self._node_id,
            running=self._running,
            software_version=self._software_version,
            node_instance_id=self._instance_id,
        )

    async def node_config_refresh(self, message: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
        """Check a payload and, in a commit, swap to it as a whole."""
        try:
            self._require_session(message)
        except AnotherEdgeError as error:
            return self._rejected([violation(Rule.NODE_EDGE, ROOT.child("edge_id"), str(error.message))])
        async with self._one_at_a_time:
            return await self._refresh(message)

    async def node_config_status(self, message: NodeConfigStatusRequest) -> NodeConfigStatusResponse:  # noqa: ARG002
        """Return what runs now."""
        return NodeConfigStatusResponse(
            node_id=self._node_id,
            edge_id=self._sessions.edge_id,
            running=self._running,
            adapters=sorted(self._set.adapters),
            resources=sorted(self._set.resources),
            draining_sets=len(self._drains),
        )

    async def watch_health(self, message: WatchHealthRequest) -> AsyncIterator[WatchHealthResponse]:
        """Stream the health of the resources, which keeps the caller's session alive (PSH-05)."""
        session = self._require_session(message)
        with self._sessions.stream(session):
            async for report in _until(self.health.watch(), session.ended, self._stopping):
                yield report
        if session.ended.is_set():
            raise AnotherEdgeError("another Edge has taken this Node over")

    async def close(self) -> None:
        """End all sessions and health checks, and close all adapters, also those that still drain."""
        self._stopping.set()
        await self._monitor.close()
        for task in self._drains:
            task.cancel()
        await asyncio.gather(*self._drains, return_exceptions=True)
        await self._set.close()

    def _require_session(self, message: NodeConfigRefreshRequest | WatchHealthRequest) -> Session:
        return self._sessions.require(EdgeId(message.edge_id), EdgeInstanceId(message.edge_instance_id))

    async def _refresh(self, request: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
        violations = inspect(request, self._node_id, self._profiles)
        if violations or request.payload is None:
            return self._rejected(violations)
        same = request.payload == self._payload
        if out_of_order := self._out_of_order(request.generation, same=same):
            return self._rejected([violation(Rule.NODE_GENERATION, ROOT.child("generation"), out_of_order)])
        commit = request.mode is NodeConfigRefreshMode.COMMIT
        if same:
            if commit:
                self._acknowledge(request)
            return self._answer(NodeConfigRefreshOutcome.UNCHANGED)
        try:
            built = await build(request.payload, self._builder)
        except BuildError as error:
            if error.restart:
                return self._answer(NodeConfigRefreshOutcome.RESTART_REQUIRED, error.violations)
            return self._rejected(error.violations)
        if commit:
            self._swap(built, request.payload)
            self._acknowledge(request)
        else:
            await built.close()
        return self._answer(NodeConfigRefreshOutcome.COMMITTED)

    def _out_of_order(self, generation: int, *, same: bool) -> str:
        newest = self._running.generation
        if generation > newest or (generation == newest and same):
            return ""
        relation = "older than" if generation < newest else "that of other content,"
        return f"{generation} is {relation} {newest}, which runs"

    def _swap(self, built: AdapterSet, payload: NodeConfigPayload) -> None:
        old, self._set, self._payload = self._set, built, payload
        drain = asyncio.create_task(old.drain())
        self._drains.add(drain)
        drain.add_done_callback(self._drains.discard)

    def _acknowledge(self, request: NodeConfigRefreshRequest) -> None:
        self._running = RunningPayload(
            generation=request.generation, payload_hash=request.payload_hash, revision=request.revision
        )
        resources = tuple(monitored_resources(self._payload))
        self.health.replace(Generation(request.generation), resources)
        self._monitor.replace(resources)
        _log.info("running revision %d, generation %d", request.revision, request.generation)

    def _rejected(self, violations: list[NodeViolation]) -> NodeConfigRefreshResponse:
        return self._answer(NodeConfigRefreshOutcome.REJECTED, violations)

    def _answer(
        self, outcome: NodeConfigRefreshOutcome, violations: Sequence[NodeViolation] = ()
    ) -> NodeConfigRefreshResponse:
        told = list(violations[:_MAX_VIOLATIONS])
        for item in told:
            _log.warning("push refused: %s %s [%s]", item.path, item.message, item.rule)
        return NodeConfigRefreshResponse(outcome=outcome, running=self._running, violations=told)


async def _until(
    reports: AsyncIterator[WatchHealthResponse], *ends: asyncio.Event
) -> AsyncIterator[WatchHealthResponse]:
    """Yield reports until one of the events is set."""
    stops = [asyncio.ensure_future(end.wait()) for end in ends]
    upcoming = asyncio.ensure_future(anext(reports))
    try:
        while True:
            await asyncio.wait([upcoming, *stops], return_when=asyncio.FIRST_COMPLETED)
            if any(stop.done() for stop in stops):
                return
            report, upcoming = upcoming.result(), asyncio.ensure_future(anext(reports))
            yield report
    finally:
        for waiting in (upcoming, *stops):
            waiting.cancel()
        await asyncio.gather(upcoming, *stops, return_exceptions=True)


async def run_node(
    node_id: NodeId,
    address: str,
    tokens: Tokens,
    tls: TlsSource | None = None,
    ready: Callable[[Address], None] | None = None,
) -> None:
    """Serve as a Node until cancelled, then let running calls end and release everything (PAY-02).

    Args:
        node_id: the Node's id.
        address: where it listens; with port 0 the system chooses one. A unix socket gets mode 0600.
        tokens: the tokens that an Edge may show: one or, during a rotation, two. `RotatedTokens` are read at each call.
        tls: reads the Node's certificate and, with `ca`, the authority of the Edge's, at each handshake. None: plain
            text.
        ready: called with the real address once the Node listens.

    Raises:
        EdgeError: there is no token, the address cannot be listened on, or the TLS texts cannot be used.
    """
    if not (isinstance(tokens, RotatedTokens) or (tokens and all(tokens))):
        raise EdgeError("a Node needs a token")
    try:
        wanted = parse_address(address)
    except AddressError as error:
        raise EdgeError(f"the address of the Node: {error}") from None
    node = Node(node_id)
    server = BoundedServer([node], tokens=tokens)
    listening = await server.start(wanted, ReloadingServerContext(tls) if tls else None)
    try:
        if ready is not None:
            ready(listening)
        await asyncio.Event().wait()
    finally:
        await node.close()
        await server.drain(DRAIN_SECONDS)
