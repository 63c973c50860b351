"""What an Edge runs, and what follows from it for its Nodes."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.certificates import tls_source
from iop_edge.ids import NodeId, Revision
from iop_edge.payload import EncodedPayload, encode, payload_trees
from iop_edge.push.model import Desired, Target
from iop_edge.schema.values import plain


@dataclass(frozen=True, slots=True)
class Running:
    """A config in force with its payloads, replaced as a whole or not at all (REF-08)."""

    snapshot: Snapshot
    revision: Revision
    config_hash: str
    payloads: Mapping[NodeId, EncodedPayload]

    def desired(self, node_ids: Collection[NodeId] | None = None) -> dict[NodeId, Desired]:
        """Return what these Nodes, or all, should run."""
        chosen = self.payloads if node_ids is None else node_ids
        return {node_id: Desired(self.payloads[node_id], self.revision) for node_id in chosen}


def encode_payloads(
    snapshot: Snapshot, key: bytes, node_ids: Collection[str] | None = None
) -> dict[NodeId, EncodedPayload]:
    """Encode the payloads of these Nodes, or of all, each once."""
    chosen = {node["id"] for node in nodes(snapshot)} if node_ids is None else node_ids
    return {node_id: encode(payload, key) for node_id, payload in payload_trees(snapshot, chosen).items()}


def targets(snapshot: Snapshot) -> Iterator[Target]:
    """Yield the Nodes as they are dialled."""
    for node in nodes(snapshot):
        yield Target(
            node_id=NodeId(node["id"]),
            address=plain(node["address"]),
            token=plain(node.get("token", "")),
            tls=tls_source(node),
        )


def nodes(snapshot: Snapshot) -> tuple[Mapping[str, Any], ...]:
    """Return the trees of the Nodes."""
    return tuple(snapshot.tree.get("nodes", ()))
