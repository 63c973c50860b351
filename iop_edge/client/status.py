"""What an Edge reports about itself."""

from dataclasses import dataclass

from iop_edge.ids import EdgeId, NodeId
from iop_edge.pool.status import NodeConnection, ProviderStatus
from iop_edge.refresh.result import Change


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One Node. `generation` and `revision` are those that it acknowledged last."""

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

    `drift` is true when that differs from the Edge's own files, or when they cannot be read, for the reason in
    `drift_error`. `pending` lists the changes that need a restart (REF-07, REF-10). A revision that awaits confirmation
    is reverted at `confirm_until_ms` (since 1970 UTC) to the config of revision `reverts_to`; otherwise both are 0.
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
    """Whether the running revision is confirmed; if not, it was not the expected one or not awaiting confirmation."""

    revision: int
    confirmed: bool
