"""What a Node is told of a config: built, encoded, and tagged (PAY-01).

The payload's protos decide what that is: a field of theirs is filled from the field of the same name in the config, so
that what the Edge keeps to itself (capacity, priority, queues, policy) is left out by having no place to go.
"""

import hashlib
import hmac
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from iop_edge.config.snapshot import Snapshot
from iop_edge.errors import PortableError
from iop_edge.ids import NodeId
from iop_edge.schema import table
from iop_edge.schema.values import ReadTree, ReferenceTree, Tree, below

if TYPE_CHECKING:
    from iop_pb import trees
    from iop_pb.iop.runtime.v1 import NodeConfigPayload

PAYLOAD: Final = table.message("NodeConfigPayload")


class UnknownNodeError(PortableError, LookupError):
    """A Node that the config does not have."""

    def __init__(self, node_id: str) -> None:
        super().__init__(f"no node {node_id!r} in this config")
        self.node_id = node_id


@dataclass(frozen=True, slots=True)
class EncodedPayload:
    """A payload as it goes over the wire, encoded once however often it is sent. The bytes hold secrets."""

    node_id: NodeId
    data: bytes = field(repr=False)
    tag: bytes

    def __str__(self) -> str:
        return f"payload of {self.node_id}, {len(self.data)} bytes"


def node_payload(snapshot: Snapshot, node_id: str) -> "NodeConfigPayload":
    """Return the payload of one Node. It holds secrets.

    Raises:
        UnknownNodeError: the config has no such Node.
    """
    from iop_edge.schema.messages import build, without_unresolved

    payload: ReadTree = payload_tree(snapshot, node_id)
    if snapshot.is_offline:
        payload = without_unresolved(payload, PAYLOAD, payload_references(snapshot, node_id))
    return cast("NodeConfigPayload", build(payload, PAYLOAD))


def payload_trees(snapshot: Snapshot, node_ids: Collection[str]) -> "dict[NodeId, trees.NodeConfigPayload]":
    """Return the payloads, as `payload_tree` does, of those of the Nodes that the config has, in one pass over it."""
    return {NodeId(node["id"]): _payload_tree(node) for node in _nodes(snapshot) if node["id"] in node_ids}


def payload_tree(snapshot: Snapshot, node_id: str) -> "trees.NodeConfigPayload":
    """Return the payload of one Node as a tree of the message.

    Raises:
        UnknownNodeError: the config has no such Node.
    """
    for node in _nodes(snapshot):
        if node["id"] == node_id:
            return _payload_tree(node)
    raise UnknownNodeError(node_id)


def payload_references(snapshot: Snapshot, node_id: str) -> ReferenceTree:
    """Return the references that the values in a Node's payload came from, in the shape of `payload_tree`."""
    node: Any = below(snapshot.references.tree, "nodes", node_id)
    payload = payload_tree(snapshot, node_id)
    configs = table.message("AdapterConfig").fields
    references: dict[str, Any] = {
        "adapters": {
            index: {
                kind: _project(configs[kind].message(), below(node, "adapters", adapter["name"]))
                for kind in adapter
                if kind != "name"
            }
            for index, adapter in enumerate(payload.get("adapters", ()))
        },
        "resources": {
            index: _project(table.message("Resource"), below(node, "providers", resource["provider_id"]))
            for index, resource in enumerate(payload.get("resources", ()))
        },
        "runtime": _project(table.message("NodeRuntimeConfig"), below(node, "runtime")),
    }
    return cast("ReferenceTree", references)


def encode(payload: "trees.NodeConfigPayload", key: bytes) -> EncodedPayload:
    """Encode the tree of a payload; equal payloads give equal bytes, and with the same key equal tags.

    The tag is keyed, so that a Node's peers cannot find out a secret by trying: without the key nobody can compute it.
    """
    from iop_edge.schema.encoding import encode_tree

    data = encode_tree(payload, PAYLOAD)
    return EncodedPayload(NodeId(payload["node_id"]), data, hmac.new(key, data, hashlib.sha256).digest())


def _nodes(snapshot: Snapshot) -> "Sequence[trees.Node]":
    return snapshot.tree.get("nodes", ())


def _payload_tree(node: "trees.Node") -> "trees.NodeConfigPayload":
    instances = sorted((item for item in node.get("adapters", ()) if item["enabled"]), key=lambda item: item["name"])
    adapters = [_adapter(instance) for instance in instances]
    running = {instance["name"] for instance in instances}
    providers = sorted(node.get("providers", ()), key=lambda item: item["id"])
    resources = [_resource(provider, running) for provider in providers]
    runtime = _project(table.message("NodeRuntimeConfig"), node["runtime"])
    payload: trees.NodeConfigPayload = {
        "node_id": node["id"],
        "runtime": cast("trees.NodeRuntimeConfig", runtime),
    }
    if adapters:
        payload["adapters"] = adapters
    if resources:
        payload["resources"] = resources
    return payload


def _adapter(instance: "trees.AdapterInstance") -> "trees.AdapterConfig":
    """Return an instance with the one config of its type: the members of the oneof are named like the types."""
    adapter: Tree = {"name": instance["name"]}
    config = table.message("AdapterConfig").fields.get(instance["type"])
    if config is not None:  # not so where the type is a reference that is left unresolved
        adapter[config.name] = _project(config.message(), instance)
    return cast("trees.AdapterConfig", adapter)


def _resource(provider: "trees.Provider", running: Collection[str]) -> "trees.Resource":
    resource = cast("trees.Resource", _project(table.message("Resource"), provider))
    resource["provider_id"] = provider["id"]
    if resource.get("adapter") not in running:
        # Only a disabled provider may name an instance that does not run; its Node could make nothing of the name.
        resource.pop("adapter", None)
    return resource


def _project(message: table.Message, source: Mapping[Any, Any]) -> Tree:
    return {name: _value(field, source[name]) for name, field in message.fields.items() if name in source}


def _value(field: table.Field, value: Any) -> Any:
    if field.is_message:
        return _project(field.message(), value)
    if field.kind is table.Kind.MAP:
        # Messages are encoded with their map keys as they come.
        return dict(sorted(value.items()))
    return value
