"""What a push is about: its target, its content, its bounds, and what is known of a Node."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Final, NamedTuple

from iop_edge.ids import EdgeId, EdgeInstanceId, NodeId, ProviderId, Revision
from iop_edge.payload import EncodedPayload
from iop_edge.pool.status import Health, NodeConnection
from iop_edge.refresh.result import Mode, NodeOutcome
from iop_edge.transport.reload import TlsSource


@dataclass(frozen=True, slots=True)
class PushSettings:
    """Time limits, retries and bounds of the Edge's sessions with its Nodes. Times are in seconds.

    Args:
        connect_timeout: the longest that dialling a Node may take.
        handshake_deadline: the longest that a handshake may take.
        push_deadline: the longest that a push may take, from its first byte to the Node's answer.
        dials_at_once: the maximum number of concurrent dials and handshakes.
        sends_at_once: the maximum number of pushes being sent; those that wait for an answer do not count.
        bytes_at_once: the maximum number of bytes being sent.
        send_hold: the longest that one Node, which does not answer or read, keeps others waiting (PSH-04).
        heartbeat: the pause before a Node is asked whether it still answers. One that is silent for the handshake's
            deadline then has lost its session.
        steady_after: how long a session lasts before the faults that preceded it are forgotten.
        backoff_base: the first pause after a fault that may pass; it doubles with each further fault.
        backoff_cap: the longest pause after a fault that may pass.
        slow_retry: the pause after a fault that does not pass by itself.
        max_reply_bytes: the largest message that is accepted from a Node.
        max_reply_fields: the maximum number of fields in a message of a Node, which bounds its lists.

    Raises:
        ValueError: a value is not a positive number.
    """

    connect_timeout: float = 3.0
    handshake_deadline: float = 5.0
    push_deadline: float = 10.0
    dials_at_once: int = 64
    sends_at_once: int = 16
    bytes_at_once: int = 64 << 20
    send_hold: float = 0.5
    heartbeat: float = 20.0
    steady_after: float = 30.0
    backoff_base: float = 0.1
    backoff_cap: float = 15.0
    slow_retry: float = 60.0
    max_reply_bytes: int = 1 << 20
    max_reply_fields: int = 4000

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            kinds = (int,) if setting.type is int else (int, float)
            if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value < math.inf:
                kind = "whole number" if setting.type is int else "number"
                raise ValueError(f"{setting.name} must be a positive {kind}, got {value!r}")


DEFAULT_SETTINGS: Final = PushSettings()


@dataclass(frozen=True, slots=True)
class Caller:
    """The dialling Edge and its process, and whether it takes Nodes over from another Edge."""

    edge_id: EdgeId
    instance_id: EdgeInstanceId
    take_over: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """A Node as the Edge dials it. Without `tls` the connection is plain text; an empty token is not sent.

    `tls` is read each time that the Node is dialled, so that new certificates are used from then on.
    """

    node_id: NodeId
    address: str
    token: str = field(default="", repr=False)
    tls: TlsSource | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Desired:
    """What a Node should run: a payload, encoded once, and the revision of its config."""

    encoded: EncodedPayload
    revision: Revision


@dataclass(frozen=True, slots=True)
class NodeState:
    """What the Edge knows of a Node. `generation` and `revision` are what the Node runs, or 0 if unknown.

    A revision counts as running when its payload for the Node is the one that the Node runs (PSH-01). `last_error` is
    for a person and holds no secret; it is empty when all is well.
    """

    connection: NodeConnection = NodeConnection.CONNECTING
    generation: int = 0
    revision: int = 0
    in_sync: bool = False
    last_error: str = ""


class ReportedHealth(NamedTuple):
    """The health of a resource as its Node reports it; `detail`, for a person, describes the last result."""

    state: Health
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Pushed:
    """A push that was sent: its outcome, None if the answer was lost, and how many seconds it took."""

    mode: Mode
    outcome: NodeOutcome | None
    seconds: float


StateListener = Callable[[NodeId, NodeState], None]
"""Called in the event loop when a Node's state has changed; it must not block."""

PushListener = Callable[[NodeId, Pushed], None]
"""Called in the event loop when a push has ended; it must not block."""

HealthListener = Callable[[NodeId, Mapping[ProviderId, ReportedHealth]], None]
"""Called in the event loop with the health that a Node has reported; it must not block."""
