"""What dispatch reads of a config: the providers, their queues, and which of them serve each model group and route."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

from iop_edge.config.adapters import meant_by_type
from iop_edge.config.snapshot import Snapshot
from iop_edge.ids import AdapterName, DispatchKey, ModelId, ModelKey, NodeId, ProviderId, RouteId, RouteKey, Target
from iop_edge.schema import table
from iop_edge.schema.values import ReferenceTree, as_written, below

if TYPE_CHECKING:
    from iop_pb import trees

_NO_HEALTH_CHECK: Final = "none"
_FIELDS: Final = table.message("Provider").fields


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """The maximum number of queued requests of a provider, and how long they wait (POL-03).

    `timeout` is in seconds; None: a request waits until its caller cancels it.
    """

    limit: int
    timeout: float | None

    @classmethod
    def of(cls, provider: "trees.Provider", instance: "trees.AdapterInstance | None") -> Self:
        """Read a provider's policy: each field is its own, else that of its adapter instance."""
        limit = provider.get("max_queue", instance.get("max_queue") if instance else None)
        timeout_ms = provider.get("queue_timeout_ms", instance.get("queue_timeout_ms") if instance else None)
        if limit is None and timeout_ms is None:
            timeout_ms = _FIELDS["queue_timeout_ms"].runtime_default
        if limit is None:
            limit = _FIELDS["max_queue"].runtime_default or 0
        return cls(limit, timeout_ms / 1000 if timeout_ms else None)


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider as the config describes it. `watched` tells whether its health counts.

    `shown_models` is what may be printed of `models`: the reference in place of what came from one (CFG-08).
    """

    id: ProviderId
    node_id: NodeId
    adapter: AdapterName
    category: str
    models: tuple[str, ...]
    shown_models: tuple[str, ...]
    enabled: bool
    capacity: int
    priority: int
    watched: bool
    queue: QueuePolicy


@dataclass(frozen=True, slots=True)
class Member:
    """A provider that serves a model group or route, and the name by which its backend knows the model.

    `shown_target` is what may be printed of `target`: the reference, where it came from one (CFG-08).
    """

    provider_id: ProviderId
    target: Target
    shown_target: str


Members = tuple[Member, ...]
_ReadNode = tuple["trees.Node", ReferenceTree, tuple[Provider, ...]]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All providers, and the members of each model group and route, in the order of the config.

    `nodes` keeps the tree and the references of each Node with the providers read from them, so that an unchanged Node
    is not read again.
    """

    providers: Mapping[ProviderId, Provider]
    groups: Mapping[DispatchKey, Members]
    nodes: Mapping[NodeId, _ReadNode] = field(repr=False)

    @classmethod
    def of(cls, snapshot: Snapshot, before: "Catalogue | None" = None) -> Self:
        """Read the catalogue of a config whose references are resolved.

        Args:
            snapshot: the config.
            before: an earlier catalogue; it makes reading faster, and changes nothing else.
        """
        tree, references = snapshot.tree, snapshot.references.tree
        known = before.nodes if before is not None else {}
        of_nodes, of_models = below(references, "nodes"), below(references, "models")
        nodes = {
            NodeId(node["id"]): _read_node(node, below(of_nodes, node["id"]), known) for node in tree.get("nodes", ())
        }
        providers = {provider.id: provider for _, _, of_node in nodes.values() for provider in of_node}
        groups: dict[DispatchKey, Members] = {
            ModelKey(ModelId(model["id"])): _model_members(model, below(of_models, model["id"]))
            for model in tree.get("models", ())
        }
        groups.update(_routes(tree, below(references, "openai", "model_routes"), nodes))
        return cls(MappingProxyType(providers), MappingProxyType(groups), MappingProxyType(nodes))


EMPTY: Final = Catalogue({}, {}, {})


def _read_node(node: "trees.Node", references: ReferenceTree, known: Mapping[NodeId, _ReadNode]) -> _ReadNode:
    read = known.get(NodeId(node["id"]))
    is_same = read is not None and read[0] == node and read[1] == references
    return read if read is not None and is_same else (node, references, tuple(_providers(node, references)))


def _providers(node: "trees.Node", references: ReferenceTree) -> Iterator[Provider]:
    instances = {instance["name"]: instance for instance in node.get("adapters", ())}
    for provider in node.get("providers", ()):
        adapter = provider.get("adapter", "")
        of_models = below(references, "providers", provider["id"], "models")
        yield Provider(
            id=ProviderId(provider["id"]),
            node_id=NodeId(node["id"]),
            adapter=AdapterName(adapter),
            category=provider["category"],
            models=tuple(provider["models"]),
            shown_models=tuple(as_written(of_models, index, model) for index, model in enumerate(provider["models"])),
            enabled=provider["enabled"],
            capacity=provider["capacity"],
            priority=provider["priority"],
            watched=provider["health"]["mode"] != _NO_HEALTH_CHECK,
            queue=QueuePolicy.of(provider, instances.get(adapter)),
        )


def _model_members(model: "trees.Model", references: ReferenceTree) -> Members:
    return tuple(
        Member(
            ProviderId(item["id"]),
            Target(item["target"]),
            as_written(below(references, "providers", item["id"]), "target", item["target"]),
        )
        for item in model.get("providers", ())
    )


def _routes(
    config: "trees.EdgeConfig", references: ReferenceTree, nodes: Mapping[NodeId, _ReadNode]
) -> Iterator[tuple[RouteKey, Members]]:
    """Yield each route with the providers on its adapter instance that list its target (POL-10)."""
    routes = config.get("openai", {}).get("model_routes", [])
    if not routes:
        return
    instances = [(NodeId(node["id"]), item) for node in config.get("nodes", ()) for item in node.get("adapters", ())]
    enabled = {item["name"]: (node_id, item["name"]) for node_id, item in instances if item["enabled"]}
    every_name = {item["name"] for _, item in instances}
    by_type = meant_by_type(
        [route for route in routes if route["adapter"] not in every_name], [item for _, item in instances]
    )
    homes = {id(item): (node_id, item["name"]) for node_id, item in instances}
    typed = {route["model"]: homes[id(item)] for route, item in by_type}
    for route in routes:
        node_id, adapter = typed.get(route["model"]) or enabled[route["adapter"]]
        target = route["target"]
        shown = as_written(below(references, route["model"]), "target", target)
        yield (
            RouteKey(RouteId(route["model"])),
            tuple(
                Member(provider.id, Target(target), shown)
                for provider in nodes[node_id][2]
                if provider.adapter == adapter and target in provider.models
            ),
        )
