"""What dispatch needs of a config: its providers, and who serves each model group and route."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from iop_edge.config.adapters import meant_by_type
from iop_edge.ids import AdapterName, ModelId, NodeId, ProviderId, RouteId, Target
from iop_edge.pool.keys import DispatchKey, ModelKey, RouteKey
from iop_edge.pool.queue_policy import QueuePolicy, policy_of
from iop_edge.schema.values import ReadTree, Tree, plain

_UNWATCHED: Final = "none"
"""The health mode of a provider that counts as healthy whatever happens."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider as the config in force describes it."""

    id: ProviderId
    node_id: NodeId
    adapter: AdapterName
    category: str
    models: tuple[str, ...]
    enabled: bool
    capacity: int
    priority: int
    watched: bool
    queue: QueuePolicy


@dataclass(frozen=True, slots=True)
class Member:
    """A provider's place in a model group or route, with the name that its backend knows the model by."""

    provider_id: ProviderId
    target: Target


Members = tuple[Member, ...]
_ReadNode = tuple[ReadTree, tuple[Provider, ...]]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All providers, and for each model group and route its members, in the order of the config.

    `nodes` keeps each node's tree with what was read of it: one that stays as it is need not be read again.
    """

    providers: Mapping[ProviderId, Provider]
    groups: Mapping[DispatchKey, Members]
    nodes: Mapping[NodeId, _ReadNode] = field(repr=False)


EMPTY: Final = Catalogue(MappingProxyType({}), MappingProxyType({}), MappingProxyType({}))


def read(tree: ReadTree, before: Catalogue = EMPTY) -> Catalogue:
    """Read the catalogue from the tree of a normalized, validated config whose references are resolved.

    Args:
        tree: the config.
        before: the catalogue before; the providers of a node that has not changed are taken over as the same objects.
    """
    nodes = {NodeId(node["id"]): _read_node(node, before) for node in tree.get("nodes", ())}
    providers = {provider.id: provider for _, of_node in nodes.values() for provider in of_node}
    groups: dict[DispatchKey, Members] = {
        ModelKey(ModelId(model["id"])): _model_members(model) for model in tree.get("models", ())
    }
    groups.update(_routes(tree, nodes))
    return Catalogue(MappingProxyType(providers), MappingProxyType(groups), MappingProxyType(nodes))


def _read_node(node: ReadTree, before: Catalogue) -> _ReadNode:
    known = before.nodes.get(NodeId(node["id"]))
    return known if known is not None and known[0] == node else (node, tuple(_providers(node)))


def _providers(node: ReadTree) -> Iterator[Provider]:
    instances = {instance["name"]: instance for instance in node.get("adapters", ())}
    for provider in node.get("providers", ()):
        adapter = provider.get("adapter", "")
        yield Provider(
            id=ProviderId(provider["id"]),
            node_id=NodeId(node["id"]),
            adapter=AdapterName(adapter),
            category=plain(provider["category"]),
            models=tuple(plain(name) for name in provider["models"]),
            enabled=plain(provider["enabled"]),
            capacity=plain(provider["capacity"]),
            priority=plain(provider["priority"]),
            watched=plain(provider["health"]["mode"]) != _UNWATCHED,
            queue=policy_of(provider, instances.get(adapter, {})),
        )


def _model_members(model: ReadTree) -> Members:
    return tuple(Member(ProviderId(item["id"]), Target(plain(item["target"]))) for item in model.get("providers", ()))


def _routes(tree: ReadTree, nodes: Mapping[NodeId, _ReadNode]) -> Iterator[tuple[RouteKey, Members]]:
    """Yield each route with the providers on its adapter instance that list its target (POL-10)."""
    routes: list[Tree] = tree.get("openai", {}).get("model_routes", [])
    if not routes:
        return
    instances = [(node_id, item) for node_id, (node, _) in nodes.items() for item in node.get("adapters", ())]
    named = {item["name"]: (node_id, item["name"]) for node_id, item in instances if plain(item["enabled"])}
    every_name = {item["name"] for _, item in instances}
    by_type = meant_by_type(
        [route for route in routes if route["adapter"] not in every_name], [item for _, item in instances]
    )
    homes = {id(item): (node_id, item["name"]) for node_id, item in instances}
    typed = {route["model"]: homes[id(item)] for route, item in by_type}
    for route in routes:
        node_id, adapter = typed.get(route["model"]) or named[route["adapter"]]
        target = plain(route["target"])
        yield (
            RouteKey(RouteId(route["model"])),
            tuple(
                Member(provider.id, Target(target))
                for provider in nodes[node_id][1]
                if provider.adapter == adapter and target in provider.models
            ),
        )
