"""The service of a Node."""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Collection
from importlib.metadata import version
from typing import Final

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from iop_edge.ids import EdgeId, EdgeInstanceId, Generation, NodeId
from iop_edge.node.adapters import AdapterSet, Builder, BuildError, Connector, build
from iop_edge.node.backends import Backends
from iop_edge.node.health import HealthBook
from iop_edge.node.inspect import inspect
from iop_edge.node.keeper import Asker, HealthKeeper, Pace
from iop_edge.node.profiles import BUILT_IN
from iop_edge.node.refusal import Refusal
from iop_edge.node.session import AnotherEdgeError, Session, SessionHeldError, Sessions
from iop_edge.node.subject import subjects_of
from iop_edge.transport.protocol import PROTOCOL_VERSION
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

_PACE: Final = Pace()
_MOST_REFUSALS: Final = 100
"""So many refusals of one payload are told: more would help nobody."""


class Node(NodeConfigServiceBase):
    """A Node that takes all it runs from one Edge (PSH-02).

    Args:
        node_id: the Node's id; a payload for another one is refused.
        profiles: the profiles of command-line agents that it can run.
        builder: builds an adapter from its config.
        clock: a monotonic clock, in seconds.
        asker: asks backends how they are, for active health checks; None asks over HTTP.
        pace: time and chance of health checks.
    """

    def __init__(
        self,
        node_id: NodeId,
        *,
        profiles: Collection[str] = BUILT_IN,
        builder: Builder = Connector,
        clock: Callable[[], float] = time.monotonic,
        asker: Asker | None = None,
        pace: Pace = _PACE,
    ) -> None:
        self.health = HealthBook()
        self._keeper = HealthKeeper(self.health, asker or Backends(), pace)
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
        """The adapters and resources that new requests are run on."""
        return self._set

    async def handshake(self, message: HandshakeRequest) -> HandshakeResponse:
        """Open a session for an Edge process, or refuse it."""
        if message.protocol_version != PROTOCOL_VERSION:
            said = f"protocol version {message.protocol_version}; this Node speaks {PROTOCOL_VERSION}"
            raise GRPCError(Status.FAILED_PRECONDITION, said)
        if not (message.edge_id and message.edge_instance_id):
            raise GRPCError(Status.INVALID_ARGUMENT, "an Edge gives its id and that of its process")
        try:
            self._sessions.open(
                EdgeId(message.edge_id), EdgeInstanceId(message.edge_instance_id), take_over=message.take_over
            )
        except AnotherEdgeError as error:
            raise GRPCError(Status.PERMISSION_DENIED, str(error)) from None
        except SessionHeldError as error:
            raise GRPCError(Status.ABORTED, str(error)) from None
        return HandshakeResponse(
            protocol_version=PROTOCOL_VERSION,
            node_id=self._node_id,
            running=self._running,
            software_version=self._software_version,
            node_instance_id=self._instance_id,
        )

    async def node_config_refresh(self, message: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
        """Check a payload, and where it is asked for, swap to it whole."""
        try:
            self._require_session(message)
        except AnotherEdgeError as error:
            return self._refused([Refusal("node.edge", "edge_id", str(error))])
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
        """Stream the health of the resources, and keep the caller's session alive meanwhile (PSH-05)."""
        try:
            session = self._require_session(message)
        except AnotherEdgeError as error:
            raise GRPCError(Status.PERMISSION_DENIED, str(error)) from None
        with self._sessions.stream(session):
            async for report in _until(self.health.watch(), session.ended, self._stopping):
                yield report
        if session.ended.is_set():
            raise GRPCError(Status.PERMISSION_DENIED, "another Edge has taken this Node over")

    async def close(self) -> None:
        """End all sessions and health checks, and close what runs. Sets that still drain are closed too."""
        self._stopping.set()
        await self._keeper.close()
        for task in self._drains:
            task.cancel()
        await asyncio.gather(*self._drains, return_exceptions=True)
        await self._set.close()

    def _require_session(self, message: NodeConfigRefreshRequest | WatchHealthRequest) -> Session:
        try:
            return self._sessions.require(EdgeId(message.edge_id), EdgeInstanceId(message.edge_instance_id))
        except SessionHeldError as error:
            raise GRPCError(Status.ABORTED, str(error)) from None

    async def _refresh(self, request: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
        refusals = inspect(request, self._node_id, self._profiles)
        if refusals or request.payload is None:
            return self._refused(refusals)
        same = request.payload == self._payload
        if out_of_order := self._out_of_order(Generation(request.generation), same=same):
            return self._refused([out_of_order])
        commit = request.mode is NodeConfigRefreshMode.COMMIT
        if same:
            if commit:
                self._acknowledge(request)
            return self._answer(NodeConfigRefreshOutcome.UNCHANGED)
        return await self._take(request, request.payload, commit=commit)

    def _out_of_order(self, generation: Generation, *, same: bool) -> Refusal | None:
        newest = self._running.generation
        if generation > newest or (generation == newest and same):
            return None
        relation = "older than" if generation < newest else "that of other content,"
        return Refusal("node.generation", "generation", f"{generation} is {relation} {newest}, which runs")

    async def _take(
        self, request: NodeConfigRefreshRequest, payload: NodeConfigPayload, *, commit: bool
    ) -> NodeConfigRefreshResponse:
        try:
            built = await build(payload, self._builder)
        except BuildError as error:
            outcome = NodeConfigRefreshOutcome.REJECTED
            if error.restart:
                outcome = NodeConfigRefreshOutcome.RESTART_REQUIRED
            return self._answer(outcome, error.refusals)
        if commit:
            self._swap(built, payload)
            self._acknowledge(request)
        else:
            await built.close()
        return self._answer(NodeConfigRefreshOutcome.COMMITTED)

    def _swap(self, built: AdapterSet, payload: NodeConfigPayload) -> None:
        old, self._set, self._payload = self._set, built, payload
        drain = asyncio.create_task(old.drain())
        self._drains.add(drain)
        drain.add_done_callback(self._drains.discard)

    def _acknowledge(self, request: NodeConfigRefreshRequest) -> None:
        self._running = RunningPayload(
            generation=request.generation, payload_hash=request.payload_hash, revision=request.revision
        )
        subjects = tuple(subjects_of(self._payload))
        self.health.follow(Generation(request.generation), subjects)
        self._keeper.follow(subjects)
        _log.info("revision %d runs, generation %d", request.revision, request.generation)

    def _refused(self, refusals: list[Refusal]) -> NodeConfigRefreshResponse:
        return self._answer(NodeConfigRefreshOutcome.REJECTED, refusals)

    def _answer(
        self, outcome: NodeConfigRefreshOutcome, refusals: Collection[Refusal] = ()
    ) -> NodeConfigRefreshResponse:
        told = list(refusals)[:_MOST_REFUSALS]
        for refusal in told:
            _log.warning("push refused: %s %s [%s]", refusal.path, refusal.message, refusal.rule)
        return NodeConfigRefreshResponse(
            outcome=outcome,
            running=self._running,
            violations=[NodeViolation(rule=r.rule, path=r.path, message=r.message) for r in told],
        )


async def _until(
    reports: AsyncIterator[WatchHealthResponse], *ends: asyncio.Event
) -> AsyncIterator[WatchHealthResponse]:
    """Yield reports until one of the events is set."""
    stops = [asyncio.ensure_future(end.wait()) for end in ends]
    following = asyncio.ensure_future(anext(reports))
    try:
        while True:
            await asyncio.wait([following, *stops], return_when=asyncio.FIRST_COMPLETED)
            if any(stop.done() for stop in stops):
                return
            report, following = following.result(), asyncio.ensure_future(anext(reports))
            yield report
    finally:
        for waiting in (following, *stops):
            waiting.cancel()
        await asyncio.gather(following, *stops, return_exceptions=True)
