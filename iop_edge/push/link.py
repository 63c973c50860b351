"""One session with a Node, from handshake to loss."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from iop_edge.ids import EdgeId, EdgeInstanceId, Generation, ProviderId
from iop_edge.net import Tls, client_context, parse_address
from iop_edge.push.fault import CALL_ERRORS, SessionError, fault_of, quoted
from iop_edge.push.gate import SendGate
from iop_edge.push.model import Connection, Desired, HealthState, ReportedHealth, Target
from iop_edge.push.settings import Settings
from iop_edge.refresh.result import Mode, NodeOutcome
from iop_edge.schema import table
from iop_edge.schema.wire import bytes_field, number_field
from iop_edge.transport.channel import ClientChannel
from iop_edge.transport.protocol import PROTOCOL_VERSION
from iop_edge.transport.renewal import RenewedContext
from iop_pb.iop.runtime.v1 import (
    HandshakeRequest,
    HandshakeResponse,
    NodeConfigRefreshMode,
    NodeConfigRefreshOutcome,
    NodeConfigRefreshRequest,
    NodeConfigRefreshResponse,
    ResourceHealth,
    ResourceHealthState,
    RunningPayload,
    WatchHealthRequest,
    WatchHealthResponse,
)

_SERVICE: Final = "/iop.runtime.v1.NodeConfigService"
_REQUEST: Final = {
    name: field.number for name, field in table.message(NodeConfigRefreshRequest.__name__).fields.items()
}

_MODES: Final = {Mode.DRY_RUN: NodeConfigRefreshMode.DRY_RUN, Mode.APPLY: NodeConfigRefreshMode.COMMIT}
_OUTCOMES: Final = {
    NodeConfigRefreshOutcome.COMMITTED: NodeOutcome.COMMITTED,
    NodeConfigRefreshOutcome.UNCHANGED: NodeOutcome.UNCHANGED,
    NodeConfigRefreshOutcome.RESTART_REQUIRED: NodeOutcome.RESTART_REQUIRED,
    NodeConfigRefreshOutcome.REJECTED: NodeOutcome.REJECTED,
}
_PAYLOAD_REFUSALS: Final = (Status.RESOURCE_EXHAUSTED, Status.INVALID_ARGUMENT)
_HEALTH: Final = {
    ResourceHealthState.HEALTHY: HealthState.HEALTHY,
    ResourceHealthState.UNHEALTHY: HealthState.UNHEALTHY,
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who dials: the Edge and its process, and whether it takes Nodes over from another Edge."""

    edge_id: EdgeId
    instance_id: EdgeInstanceId
    take_over: bool = False


@dataclass(frozen=True, slots=True)
class Running:
    """What a Node runs, as it says itself."""

    generation: int = 0
    revision: int = 0
    tag: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a push ended: one of `committed`, `unchanged`, `restart_required`, `rejected`, and why."""

    outcome: NodeOutcome
    reason: str = ""


class Link:
    """A connection that has been shaken hands on. It is used up once: what is lost is dialled anew, as another one.

    Every method raises `SessionError` where the session is over, or must be. `leaving` is set when the Node says
    goodbye, `fault` is what made somebody close the link. `node_instance` names the Node's process, where it has said.
    """

    def __init__(
        self, target: Target, caller: Caller, settings: Settings, tls: tuple[Tls, ssl.SSLContext] | None
    ) -> None:
        self.running = Running()
        self.node_instance = ""
        self.fault: SessionError | None = None
        self.leaving = asyncio.Event()
        self._target = target
        self._caller = caller
        self._settings = settings
        self._channel = ClientChannel(
            parse_address(target.address),
            tls=tls[1] if tls else None,
            server_name=tls[0].server_name if tls else "",
            connect_timeout=settings.connect_timeout,
            max_reply_bytes=settings.max_reply_bytes,
            max_reply_fields=settings.max_reply_fields,
            on_leave=self.leaving.set,
        )
        self._metadata = (("authorization", f"Bearer {target.token}"),) if target.token else ()

    @classmethod
    async def open(
        cls, target: Target, caller: Caller, settings: Settings, context: RenewedContext | None = None
    ) -> "Link":
        """Dial a Node, with TLS where there is a context, and shake hands.

        Raises:
            SessionError: the Node cannot be reached, refuses, or is another one than it should be.
        """
        with _faults(target.token):
            # Certificates are read and understood beside the event loop: the files may be slow, and they may be many.
            tls = await asyncio.to_thread(context.current) if context else None
            link = cls(target, caller, settings, tls)
        try:
            await link._shake_hands()
        except BaseException:
            await link.close()
            raise
        return link

    async def push(self, mode: Mode, desired: Desired, generation: Generation, gate: SendGate) -> Answer:
        """Send a payload and return how that ended; `running` then is what the Node says to run."""
        request = _request(self._caller, mode, desired, generation)
        try:
            async with gate.place(len(request)) as sent:
                reply = await self._channel.unary(
                    f"{_SERVICE}/NodeConfigRefresh",
                    request,
                    NodeConfigRefreshResponse,
                    deadline=self._settings.push_deadline,
                    metadata=self._metadata,
                    sent=sent,
                )
        except CALL_ERRORS as error:
            fault = fault_of(error, self._target.token)
            if isinstance(error, GRPCError) and error.status in _PAYLOAD_REFUSALS:
                return Answer(NodeOutcome.REJECTED, fault.reason)
            raise fault from None
        self.running = _running(reply.running)
        return self._answer(mode, desired, reply)

    async def health(self) -> AsyncGenerator[Mapping[ProviderId, ReportedHealth], None]:
        """Yield what the Node says of its resources' health. The session lives as long as this is read.

        A report of a generation that is past is about what runs no more: the next one has all resources anew.
        """
        request = WatchHealthRequest(edge_id=self._caller.edge_id, edge_instance_id=self._caller.instance_id)
        reports = self._channel.server_stream(
            f"{_SERVICE}/WatchHealth", request, WatchHealthResponse, metadata=self._metadata
        )
        with _faults(self._target.token):
            async with contextlib.aclosing(reports):
                async for report in reports:
                    if report.generation >= self.running.generation:
                        yield {ProviderId(item.provider_id): self._health(item) for item in report.resources}

    def _health(self, said: ResourceHealth) -> ReportedHealth:
        state = _HEALTH.get(said.state, HealthState.UNKNOWN)
        return ReportedHealth(state, quoted(said.detail, self._target.token))

    async def close(self, fault: SessionError | None = None) -> None:
        """Drop the connection, where that is so because of this fault."""
        self.fault = self.fault or fault
        await self._channel.finish()

    async def _shake_hands(self) -> None:
        request = HandshakeRequest(
            protocol_version=PROTOCOL_VERSION,
            edge_id=self._caller.edge_id,
            edge_instance_id=self._caller.instance_id,
            take_over=self._caller.take_over,
        )
        with _faults(self._target.token):
            await self._channel.connect()
            reply = await self._channel.unary(
                f"{_SERVICE}/Handshake",
                request,
                HandshakeResponse,
                deadline=self._settings.handshake_deadline,
                metadata=self._metadata,
            )
        if reply.protocol_version != PROTOCOL_VERSION:
            said = f"the Node speaks protocol version {reply.protocol_version}, the Edge {PROTOCOL_VERSION}"
            raise SessionError(said, Connection.REFUSED, permanent=True)
        if reply.node_id != self._target.node_id:
            said = f"another Node answers at this address: {quoted(reply.node_id, self._target.token)}"
            raise SessionError(said, Connection.REFUSED, permanent=True)
        self.running = _running(reply.running)
        self.node_instance = reply.node_instance_id

    def _answer(self, mode: Mode, desired: Desired, reply: NodeConfigRefreshResponse) -> Answer:
        outcome = _OUTCOMES.get(reply.outcome)
        if outcome is None:
            raise SessionError("the Node's answer has no outcome", Connection.DIVERGED, permanent=True)
        took_it = outcome in (NodeOutcome.COMMITTED, NodeOutcome.UNCHANGED)
        if took_it and mode is Mode.APPLY and self.running.tag != desired.encoded.tag:
            raise SessionError(
                "the Node says that it took the payload, and runs another", Connection.DIVERGED, permanent=True
            )
        reasons = (f"{item.path} {item.message} [{item.rule}]" for item in reply.violations)
        return Answer(outcome, quoted("; ".join(reasons), self._target.token))


def _request(caller: Caller, mode: Mode, desired: Desired, generation: Generation) -> bytes:
    """Put a request together from what is encoded already: to encode it as a whole costs more than to send it."""
    return b"".join(
        (
            _head(caller, mode),
            number_field(_REQUEST["generation"], generation),
            number_field(_REQUEST["revision"], desired.revision),
            *bytes_field(_REQUEST["payload_hash"], desired.encoded.tag),
            *bytes_field(_REQUEST["payload"], desired.encoded.data),
        )
    )


@lru_cache(maxsize=16)
def _head(caller: Caller, mode: Mode) -> bytes:
    return bytes(
        NodeConfigRefreshRequest(edge_id=caller.edge_id, edge_instance_id=caller.instance_id, mode=_MODES[mode])
    )


def _running(said: RunningPayload | None) -> Running:
    if said is None:
        return Running()
    return Running(said.generation, said.revision, said.payload_hash)


@lru_cache(maxsize=64)
def shared_context(tls: Tls) -> ssl.SSLContext:
    """Return the context of these texts: one for all Nodes that share them, for each is large and slow to make."""
    return client_context(tls)


@contextlib.contextmanager
def _faults(token: str) -> Iterator[None]:
    try:
        yield
    except CALL_ERRORS as error:
        raise fault_of(error, token) from None
