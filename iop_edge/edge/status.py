"""What an Edge says of itself, put together from those who know."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from iop_edge.client.status import NodeConnection, NodeStatus, StatusSnapshot
from iop_edge.edge.confirmation import Awaited
from iop_edge.edge.own_files import OwnFiles
from iop_edge.edge.renewed import with_renewed
from iop_edge.edge.running import Running, nodes
from iop_edge.errors import ConfigError
from iop_edge.ids import EdgeId, NodeId
from iop_edge.pool.status import ProviderStatus
from iop_edge.push.model import NodeState
from iop_edge.refresh.plan import plan
from iop_edge.refresh.result import Change
from iop_edge.schema.values import Sourced


@dataclass(frozen=True, slots=True)
class Drift:
    """Whether what runs differs from what the Edge's own files say, and why they could not be read (REF-10)."""

    differs: bool = False
    error: str = ""


def drift(running: Running, files: OwnFiles | None) -> Drift:
    """Compare what runs with the own files. Reads them: call it in a thread."""
    if files is None:
        return Drift()
    try:
        own = files.load()
    except ConfigError as error:
        # What runs is valid, so files that are not say something else.
        return Drift(differs=True, error=f"{error.total} violations, the first: {error.violations[0]}")
    return Drift(differs=bool(plan(with_renewed(running.snapshot, own), own).changes))


def status_of(
    running: Running,
    started_at_ms: int,
    pending: tuple[Change, ...],
    states: Mapping[NodeId, NodeState],
    providers: Iterable[ProviderStatus],
    drifted: Drift,
    awaited: Awaited | None = None,
) -> StatusSnapshot:
    """Return the status snapshot."""
    return StatusSnapshot(
        edge_id=EdgeId(running.snapshot.tree["edge"]["id"]),
        revision=running.revision,
        config_hash=running.config_hash,
        started_at_ms=started_at_ms,
        drift=drifted.differs,
        drift_error=drifted.error,
        pending=pending,
        nodes=_node_statuses(running, states),
        providers=tuple(sorted(providers, key=lambda provider: provider.provider_id)),
        confirm_until_ms=awaited.until_ms if awaited else 0,
        reverts_to=awaited.reverts_to.revision if awaited else 0,
    )


def _node_statuses(running: Running, states: Mapping[NodeId, NodeState]) -> tuple[NodeStatus, ...]:
    unknown = NodeState()
    return tuple(
        NodeStatus(
            node_id=node["id"],
            alias=_shown(node.get("alias", "")),
            address=_shown(node["address"]),
            connection=NodeConnection(state.connection.value),
            generation=state.generation,
            revision=state.revision,
            in_sync=state.in_sync,
            last_error=state.last_error,
        )
        for node in sorted(nodes(running.snapshot), key=lambda node: str(node["id"]))
        for state in (states.get(node["id"], unknown),)
    )


def _shown(value: Any) -> str:
    return value.reference if isinstance(value, Sourced) else str(value)
