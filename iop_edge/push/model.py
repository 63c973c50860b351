"""What a push is about: whom it goes to, what it carries, and what is known of a Node."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from iop_edge.ids import NodeId, ProviderId, Revision
from iop_edge.payload import EncodedPayload
from iop_edge.refresh.result import Mode, NodeOutcome
from iop_edge.transport.renewal import TlsSource


@dataclass(frozen=True, slots=True)
class Target:
    """A Node as the Edge dials it. Without `tls` the connection is plain text; an empty token is not shown.

    `tls` is asked anew each time that the Node is dialled: renewed certificates count from then on.
    """

    node_id: NodeId
    address: str
    token: str = field(default="", repr=False)
    tls: TlsSource | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Desired:
    """What a Node should run: a payload, encoded once, and the revision of the config that it belongs to."""

    encoded: EncodedPayload
    revision: Revision


class Connection(StrEnum):
    """How the Edge stands with a Node."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    DIVERGED = "diverged"


@dataclass(frozen=True, slots=True)
class NodeState:
    """What the Edge knows of a Node. `generation` and `revision` are what the Node runs, 0 while that is not known.

    A revision whose payload for the Node is the one that it runs already counts as running (PSH-01). `last_error` is
    for a person and holds no secret; it is empty where all is well.
    """

    connection: Connection = Connection.CONNECTING
    generation: int = 0
    revision: int = 0
    in_sync: bool = False
    last_error: str = ""


class HealthState(StrEnum):
    """The health of a resource, as its Node sees it."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


class ReportedHealth(NamedTuple):
    """What a Node reports of a resource; `detail`, for a person, is what it has seen last."""

    state: HealthState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Pushed:
    """One push that was sent: how it ended, and after how many seconds. Without an outcome its answer was lost."""

    mode: Mode
    outcome: NodeOutcome | None
    seconds: float


StateListener = Callable[[NodeId, NodeState], None]
"""Called when a Node's state has changed, in the event loop; it must not block."""

PushListener = Callable[[NodeId, Pushed], None]
"""Called when a push has ended, in the event loop; it must not block."""

HealthListener = Callable[[NodeId, Mapping[ProviderId, ReportedHealth]], None]
"""Called with the resources whose health a Node has reported, in the event loop; it must not block."""
