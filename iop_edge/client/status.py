"""What an Edge says of itself."""

from dataclasses import dataclass
from enum import StrEnum

from iop_edge.ids import EdgeId, NodeId
from iop_edge.pool.status import ProviderStatus
from iop_edge.refresh.result import Change


class NodeConnection(StrEnum):
    """How a Node is connected."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    DIVERGED = "diverged"


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One Node: `generation` and `revision` are what it acknowledged last."""

    node_id: NodeId
    alias: str
    address: str
    connection: NodeConnection
    generation: int
    revision: int
    in_sync: bool
    last_error: str


@dataclass(frozen=True, slots=True)
class StatusSnapshot:
    """What an Edge runs at one moment.

    `drift` tells that it is not what the Edge's own files say; `drift_error` why they could not be read. `pending` is
    what waits for a restart (REF-07, REF-10). A running revision that has to be confirmed is reverted at
    `confirm_until_ms` to the config of revision `reverts_to`; both are 0 where it stays.
    """

    edge_id: EdgeId
    revision: int
    config_hash: str
    started_at_ms: int
    drift: bool
    drift_error: str
    pending: tuple[Change, ...]
    nodes: tuple[NodeStatus, ...]
    providers: tuple[ProviderStatus, ...]
    confirm_until_ms: int = 0
    reverts_to: int = 0


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Whether the running revision has been confirmed; where not, it is another one, or none that waited for it."""

    revision: int
    confirmed: bool
