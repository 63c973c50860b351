"""One session with a Node, from handshake to loss, and what its faults mean (PSH-03)."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from iop_edge.errors import EdgeError
from iop_edge.ids import Generation, ProviderId
from iop_edge.net import AddressError, Tls, client_context, os_error_text, parse_address
from iop_edge.pool.status import Health, NodeConnection
from iop_edge.push.gate import SendGate
from iop_edge.push.model import Caller, Desired, PushSettings, ReportedHealth, Target
from iop_edge.refresh.result import Mode, NodeOutcome
from iop_edge.schema import table
from iop_edge.schema.values import REDACTED
from iop_edge.schema.wire import WireError, bytes_field, number_field
from iop_edge.transport import PROTOCOL_VERSION
from iop_edge.transport.channel import ClientChannel, TlsRefusedError
from iop_edge.transport.reload import ReloadedContext
from iop_pb.iop.runtime.v1 import (
    HandshakeRequest,
    NodeConfigRefreshMode,
    NodeConfigRefreshOutcome,
    NodeConfigRefreshRequest,
    NodeConfigRefreshResponse,
    NodeConfigServiceStub,
    NodeConfigStatusRequest,
    NodeConfigStatusResponse,
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
_HEALTH: Final = {
    ResourceHealthState.HEALTHY: Health.HEALTHY,
    ResourceHealthState.UNHEALTHY: Health.UNHEALTHY,
}
_REFUSALS: Final = {
    Status.UNAUTHENTICATED: "the Node does not accept the token",
    Status.PERMISSION_DENIED: "the Node refuses this Edge",
    Status.FAILED_PRECONDITION: "the Node refuses the session",
    Status.UNIMPLEMENTED: "the Node does not speak this protocol",
    Status.INVALID_ARGUMENT: "the Node does not understand the Edge",
    Status.RESOURCE_EXHAUSTED: "the request is too large for the Node",
}
_PAYLOAD_REFUSALS: Final = (Status.RESOURCE_EXHAUSTED, Status.INVALID_ARGUMENT)
_SESSION_REFUSALS: Final = (Status.UNAUTHENTICATED, Status.PERMISSION_DENIED, Status.ABORTED)
_CALL_ERRORS: Final = (
    TimeoutError,
    OSError,
    GRPCError,
    StreamTerminatedError,
    WireError,
    EdgeError,
    AddressError,
)
_NO_OUTCOME: Final = "the Node's answer has no outcome"
_MAX_QUOTED: Final = 200


class SessionError(Exception):
    """A session that failed or could not begin.

    `permanent` faults do not pass by themselves: the Edge retries slowly, or when the desired payload changes. A fault
    is `answered` if the Node sent it, as an error or as an answer that says nothing, instead of falling silent.
    """

    def __init__(
        self,
        reason: str,
        connection: NodeConnection = NodeConnection.UNREACHABLE,
        *,
        permanent: bool = False,
        answered: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.connection = connection
        self.permanent = permanent
        self.answered = answered


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a push, and why: `checked` or `committed`, `unchanged`, `restart_required` or `rejected`."""

    outcome: NodeOutcome
    reason: str = ""


class Link:
    """A connection after its handshake. A lost link is not dialled again but replaced.

    Every method raises `SessionError` when the session is over, or must end. `leaving` is set when the Node announces
    that it stops; `fault` is why the link was closed. `node_instance` identifies the Node's process; it may be empty.
    """

    def __init__(
        self, target: Target, caller: Caller, settings: PushSettings, tls: tuple[Tls, ssl.SSLContext] | None
    ) -> None:
        self.running = RunningPayload()
        self.node_instance = ""
        self._newest_sent = 0
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
        cls, target: Target, caller: Caller, settings: PushSettings, context: ReloadedContext | None = None
    ) -> "Link":
        """Dial a Node, with TLS if there is a context, and shake hands.

        Raises:
            SessionError: the Node cannot be reached, refuses, or is not the expected one.
        """
        with _session_errors(target.token):
            # In a thread: certificate files may be many, and slow to read and parse.
            tls = await asyncio.to_thread(context.current) if context else None
            link = cls(target, caller, settings, tls)
        try:
            await link._shake_hands()
        except BaseException:
            await link.close()
            raise
        return link

    async def push(self, mode: Mode, desired: Desired, generation: Generation, gate: SendGate) -> Answer:
        """Send a payload and return the answer; `running` is then what the Node reports to run."""
        request = _request(self._caller, mode, desired, generation)
        self._newest_sent = max(self._newest_sent, generation)
        try:
            async with gate.slot(len(request)) as sent:
                reply = await self._channel.unary(
                    f"{_SERVICE}/NodeConfigRefresh",
                    request,
                    NodeConfigRefreshResponse,
                    deadline=self._settings.push_deadline,
                    metadata=self._metadata,
                    sent=sent,
                )
        except _CALL_ERRORS as error:
            fault = fault_of(error, self._target.token)
            if isinstance(error, GRPCError) and _refuses_payload(error.status, mode):
                return Answer(NodeOutcome.REJECTED, fault.reason)
            raise fault from None
        self.running = reply.running or RunningPayload()
        return self._answer(mode, desired, reply)

    async def health(self) -> AsyncGenerator[Mapping[ProviderId, ReportedHealth], None]:
        """Yield the health that the Node reports. The session lives as long as this is read.

        A report of an older generation is skipped: a report of all resources follows.
        """
        request = WatchHealthRequest(edge_id=self._caller.edge_id, edge_instance_id=self._caller.instance_id)
        reports = self._channel.server_stream(
            f"{_SERVICE}/WatchHealth", request, WatchHealthResponse, metadata=self._metadata
        )
        with _session_errors(self._target.token):
            async with contextlib.aclosing(reports):
                async for report in reports:
                    self._require_own(report.generation)
                    if report.generation >= self.running.generation:
                        yield {ProviderId(item.provider_id): self._health(item) for item in report.resources}

    async def require_answer(self) -> None:
        """Ask the Node what it runs. Any answer will do, also that it does not know the question.

        Raises:
            SessionError: it is silent, or runs what another Edge has sent.
        """
        try:
            reply = await self._channel.unary(
                f"{_SERVICE}/NodeConfigStatus",
                NodeConfigStatusRequest(),
                NodeConfigStatusResponse,
                deadline=self._settings.handshake_deadline,
                metadata=self._metadata,
            )
        except GRPCError:
            return
        except _CALL_ERRORS as error:
            raise fault_of(error, self._target.token) from None
        self._require_own(reply.running.generation if reply.running else 0)

    def _require_own(self, generation: int) -> None:
        """Refuse a generation that this Edge neither found nor sent: the next handshake says whose it is."""
        if generation > self._newest_sent:
            raise SessionError(f"the Node runs generation {generation}, which this Edge has not sent")

    def _health(self, reported: ResourceHealth) -> ReportedHealth:
        state = _HEALTH.get(reported.state, Health.UNKNOWN)
        return ReportedHealth(state, _quoted(reported.detail, self._target.token))

    async def close(self, fault: SessionError | None = None) -> None:
        """Drop the connection, because of a fault if one is given."""
        self.fault = self.fault or fault
        await self._channel.finish()

    async def _shake_hands(self) -> None:
        request = HandshakeRequest(
            protocol_version=PROTOCOL_VERSION,
            edge_id=self._caller.edge_id,
            edge_instance_id=self._caller.instance_id,
            take_over=self._caller.take_over,
        )
        with _session_errors(self._target.token):
            await self._channel.connect()
            reply = await NodeConfigServiceStub(self._channel).handshake(
                request, timeout=self._settings.handshake_deadline, metadata=self._metadata
            )
        if reply.protocol_version != PROTOCOL_VERSION:
            raise _refused(f"the Node speaks protocol version {reply.protocol_version}, the Edge {PROTOCOL_VERSION}")
        if reply.node_id != self._target.node_id:
            other = _quoted(reply.node_id, self._target.token)
            raise _refused(f"another Node answers at this address: {other}")
        self.running = reply.running or RunningPayload()
        self.node_instance = reply.node_instance_id
        self._newest_sent = self.running.generation

    def _answer(self, mode: Mode, desired: Desired, reply: NodeConfigRefreshResponse) -> Answer:
        outcome = _OUTCOMES.get(reply.outcome)
        if outcome is None:
            if mode is Mode.DRY_RUN:
                return Answer(NodeOutcome.REJECTED, _NO_OUTCOME)
            raise _contradiction(_NO_OUTCOME)
        if mode is Mode.DRY_RUN and outcome is NodeOutcome.COMMITTED:
            outcome = NodeOutcome.CHECKED
        taken = outcome in (NodeOutcome.COMMITTED, NodeOutcome.UNCHANGED)
        if taken and mode is Mode.APPLY and self.running.payload_hash != desired.encoded.tag:
            raise _contradiction("the Node reports that it took the payload, but runs another")
        reasons = (f"{item.path} {item.message} [{item.rule}]" for item in reply.violations)
        return Answer(outcome, _quoted("; ".join(reasons), self._target.token))


def _refuses_payload(status: Status, mode: Mode) -> bool:
    """Whether an error refuses the payload alone. A check leaves the Node as it is, so its session can go on."""
    return status in _PAYLOAD_REFUSALS or (mode is Mode.DRY_RUN and status not in _SESSION_REFUSALS)


def _request(caller: Caller, mode: Mode, desired: Desired, generation: Generation) -> bytes:
    """Assemble a request around the encoded payload: encoding it as a whole would cost more than sending it."""
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


@lru_cache(maxsize=64)
def shared_context(tls: Tls) -> ssl.SSLContext:
    """Return the TLS context of these texts, which Nodes share: a context is large and slow to make."""
    return client_context(tls)


@contextlib.contextmanager
def _session_errors(token: str) -> Iterator[None]:
    try:
        yield
    except _CALL_ERRORS as error:
        raise fault_of(error, token) from None


def fault_of(error: Exception, token: str) -> SessionError:
    """Return what an error of a call means. Texts of the Node are quoted, cut short, and never hold the token."""
    if isinstance(error, GRPCError):
        return _grpc_fault(error, token)
    if isinstance(error, ssl.SSLError):
        return _refused(_tls_fault(error))
    if isinstance(error, WireError):
        return SessionError(f"the Node sent a broken message: {error}", answered=True)
    if isinstance(error, TlsRefusedError):
        return _refused("the Node does not accept the Edge's certificate")
    if isinstance(error, EdgeError | AddressError):
        return _refused(str(error))
    return SessionError(_connection_fault(error))


def _tls_fault(error: ssl.SSLError) -> str:
    # Errors that the ssl module raises itself lack the attributes of those from OpenSSL.
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the Node's certificate does not verify: {getattr(error, 'verify_message', 'invalid')}"
    return f"TLS fails: {getattr(error, 'reason', None) or 'broken'}"


def _connection_fault(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError):
        return f"cannot connect: {os_error_text(error)}"
    return "the connection was lost"


def _grpc_fault(error: GRPCError, token: str) -> SessionError:
    told = _quoted(error.message or error.status.name, token)
    if error.status in _REFUSALS:
        return _refused(f"{_REFUSALS[error.status]}: {told}", answered=True)
    if error.status is Status.ABORTED:
        return SessionError(f"the Node is held by another session: {told}", NodeConnection.REFUSED, answered=True)
    return SessionError(f"the Node failed: {told}", answered=True)


def _refused(reason: str, *, answered: bool = False) -> SessionError:
    return SessionError(reason, NodeConnection.REFUSED, permanent=True, answered=answered)


def _contradiction(reason: str) -> SessionError:
    return SessionError(reason, NodeConnection.DIVERGED, permanent=True, answered=True)


def _quoted(text: str, token: str) -> str:
    """Return a Node's text as it may be shown: printable, cut short, and without the token."""
    if token and token in text:
        return REDACTED
    printable = "".join(char if char.isprintable() else "?" for char in text[:_MAX_QUOTED])
    return printable if len(text) <= _MAX_QUOTED else f"{printable}..."
