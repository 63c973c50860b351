"""What dispatch needs of a config: its providers and model groups, without files, trees or references."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from iop_edge.ids import AdapterName, ModelId, NodeId, ProviderId, Target
from iop_edge.schema.values import ReadTree, plain

_UNWATCHED = "none"
"""The health mode of a provider that counts as healthy whatever happens."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider as the config in force describes it."""

    id: ProviderId
    node_id: NodeId
    adapter: AdapterName
    models: tuple[str, ...]
    enabled: bool
    capacity: int
    priority: int
    watched: bool


@dataclass(frozen=True, slots=True)
class Member:
    """A provider's place in a model group, with the name that its backend knows the model by."""

    provider_id: ProviderId
    target: Target


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All providers, and all model groups with their members in the order of the config."""

    providers: Mapping[ProviderId, Provider]
    groups: Mapping[ModelId, tuple[Member, ...]]


EMPTY = Catalogue(MappingProxyType({}), MappingProxyType({}))


def read(tree: ReadTree) -> Catalogue:
    """Read the catalogue from the tree of a normalized, validated config whose references are resolved."""
    return Catalogue(
        providers=MappingProxyType({provider.id: provider for provider in _providers(tree)}),
        groups=MappingProxyType({ModelId(model["id"]): _members(model) for model in tree.get("models", ())}),
    )


def _providers(tree: ReadTree) -> Iterator[Provider]:
    for node in tree.get("nodes", ()):
        for provider in node.get("providers", ()):
            yield Provider(
                id=ProviderId(provider["id"]),
                node_id=NodeId(node["id"]),
                adapter=AdapterName(provider.get("adapter", "")),
                models=tuple(plain(name) for name in provider["models"]),
                enabled=plain(provider["enabled"]),
                capacity=plain(provider["capacity"]),
                priority=plain(provider["priority"]),
                watched=plain(provider["health"]["mode"]) != _UNWATCHED,
            )


def _members(model: ReadTree) -> tuple[Member, ...]:
    return tuple(Member(ProviderId(item["id"]), Target(plain(item["target"]))) for item in model.get("providers", ()))
