"""The Nodes, adapter instances and providers of a config, for the rules that tie them together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from iop_edge.config.marks import INVALID
from iop_edge.config.problems import known
from iop_edge.net import Address, AddressError, parse_address
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.values import ReadTree

_TYPES: Final = table.enum("AdapterType")


class NodeEntry(NamedTuple):
    """A Node. `is_complete` tells whether all its adapter instances are there and have names that are known."""

    place: int
    tree: ReadTree
    instances: dict[str, "InstanceEntry"]
    providers: list["ProviderEntry"]
    is_complete: bool

    @property
    def path(self) -> Path:
        """The path of the Node."""
        return ROOT.child("nodes").index(self.place)


class InstanceEntry(NamedTuple):
    """An adapter instance."""

    node: int
    place: int
    tree: ReadTree

    @property
    def path(self) -> Path:
        """The path of the instance."""
        return ROOT.child("nodes").index(self.node).child("adapters").index(self.place)

    @property
    def type(self) -> str | None:
        """The word of the instance's type, where it is known."""
        word: str | None = known(self.tree.get("type"))
        return word


class ProviderEntry(NamedTuple):
    """A provider."""

    node: int
    place: int
    tree: ReadTree

    @property
    def path(self) -> Path:
        """The path of the provider."""
        return ROOT.child("nodes").index(self.node).child("providers").index(self.place)


class Choice:
    """The instances that a name is looked up among; sorted out when the first name is not found."""

    def __init__(self, instances: Iterable[InstanceEntry]) -> None:
        self._given = instances

    @cached_property
    def instances(self) -> Sequence[InstanceEntry]:
        """All of them."""
        return list(self._given)

    @cached_property
    def enabled(self) -> Mapping[str | None, Sequence[InstanceEntry]]:
        """Those that are enabled, by type."""
        by_type: dict[str | None, list[InstanceEntry]] = {}
        for instance in self.instances:
            if known(instance.tree.get("enabled")) is True:
                by_type.setdefault(instance.type, []).append(instance)
        return by_type

    def of_type(self, name: str) -> Sequence[InstanceEntry]:
        """Return those that are enabled and have the type of this bare name, an alias of it included."""
        return self.enabled.get(_TYPES.aliases.get(name, name), ())


class Inventory(NamedTuple):
    """All Nodes, and all providers by id; the first where an id is taken twice.

    `is_complete` tells whether every provider is there and has an id that is known: else an id that is not found may be
    one that could not be read, which is reported already.
    """

    nodes: tuple[NodeEntry, ...]
    providers: dict[str, ProviderEntry]
    is_complete: bool

    def instances(self) -> Iterator[InstanceEntry]:
        """Yield the adapter instances of all Nodes."""
        for node in self.nodes:
            yield from node.instances.values()


def take(config: ReadTree) -> Inventory:
    """Return the inventory of a normalized config."""
    nodes: list[NodeEntry] = []
    providers: dict[str, ProviderEntry] = {}
    is_complete = _is_sound(config, "nodes")
    for place, tree in placed(config, "nodes"):
        instances, all_named = _instances(tree, place)
        entries = [ProviderEntry(place, index, provider) for index, provider in placed(tree, "providers")]
        nodes.append(NodeEntry(place, tree, instances, entries, all_named))
        is_complete = is_complete and _is_sound(tree, "providers")
        for provider in entries:
            identity = provider.tree.get("id")
            if identity.__class__ is str:
                providers.setdefault(identity, provider)
            else:
                is_complete = False
    return Inventory(tuple(nodes), providers, is_complete)


def placed(tree: ReadTree, name: str) -> Iterable[tuple[int, ReadTree]]:
    """Return the messages of a list with their indexes, without what could not be read."""
    items = tree.get(name)
    if items.__class__ is not list:
        return ()
    return [(place, item) for place, item in enumerate(items) if item is not INVALID]


def section(tree: ReadTree, name: str) -> ReadTree:
    """Return a message of a normalized tree; empty where it could not be read."""
    value: Any = tree[name]
    return {} if value is INVALID else value


def _instances(node: ReadTree, place: int) -> tuple[dict[str, InstanceEntry], bool]:
    instances: dict[str, InstanceEntry] = {}
    is_complete = _is_sound(node, "adapters")
    for index, instance in placed(node, "adapters"):
        name = instance.get("name")
        if name.__class__ is str:
            instances.setdefault(name, InstanceEntry(place, index, instance))
        else:
            is_complete = False
    return instances, is_complete


def _is_sound(tree: ReadTree, name: str) -> bool:
    items = tree.get(name)
    return items is not INVALID and (items is None or INVALID not in items)


def address_of(value: object) -> Address | None:
    """Return the address that a value is, where it is known and is one."""
    text = known(value)
    if not isinstance(text, str):
        return None
    try:
        return parse_address(text)
    except AddressError:
        return None
