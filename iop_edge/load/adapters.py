"""Normalizes what ties providers to the adapter instances of their Node (NRM-02, NRM-03, NRM-05, VAL-03)."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from iop_edge.load.marks import INVALID
from iop_edge.load.problems import Problem, Problems, known, told
from iop_edge.schema import table
from iop_edge.schema.paths import Path
from iop_edge.schema.values import Sourced, Tree

FillAdapter = Callable[[Tree], Tree]
"""Gives an adapter instance its defaults."""

_TYPES: Final = table.enum("AdapterType")
_SHORTHANDS: Final = frozenset(
    field.name for field in table.message("Provider").fields.values() if field.shorthand_for == "AdapterInstance"
)


def normalize_node(node: Tree, path: Path, fill_adapter: FillAdapter, problems: Problems) -> dict[int, int]:
    """Normalize the adapters and providers of one Node, in place.

    Returns:
        The index of each adapter instance that was made of a provider's own fields, with that provider's index.
    """
    if INVALID in (node.get("adapters"), node.get("providers")):
        return {}
    providers = [(place, item) for place, item in enumerate(node.get("providers", ())) if item is not INVALID]
    moves: dict[int, int] = {}
    for place, provider in providers:
        if not _SHORTHANDS.isdisjoint(provider):
            _Shorthand(node, path, provider, place, problems).move(fill_adapter, moves)
    instances = [item for item in node.get("adapters", ()) if item is not INVALID]
    names = _by_name(instances)
    for _, provider in providers:
        if provider.get("adapter") not in names:
            name_instance(provider, instances)
    _label(node, path, problems)
    for instance in instances:
        _make_canonical(instance)
        _fill_profile(instance)
    for _, provider in providers:
        _make_canonical(provider)
    return moves


class _Shorthand:
    """A provider that describes its backend itself, to become an adapter instance of its Node (NRM-02)."""

    def __init__(self, node: Tree, path: Path, provider: Tree, place: int, problems: Problems) -> None:
        self._node = node
        self._path = path
        self._provider = provider
        self._place = place
        self._problems = problems

    def move(self, fill_adapter: FillAdapter, moves: dict[int, int]) -> None:
        """Move the fields to a new instance; where that cannot be, they stay, and so do their positions."""
        written = [name for name in self._provider if name in _SHORTHANDS]
        if "adapter" in self._provider:
            fields = ", ".join(f'"{name}"' for name in written)
            self._fail(
                "provider.shorthand",
                written[0],
                f'{fields} beside "adapter"',
                'set this on the adapter instance, or leave "adapter" out',
            )
            return
        identity = self._provider.get("id")
        if identity.__class__ is not str or self._is_taken(identity):
            # The reason is reported; that the provider has no adapter now is not another one.
            self._provider["adapter"] = INVALID
            return
        moved = {name: self._provider.pop(name) for name in written}
        instance = fill_adapter({"name": identity, "type": self._provider.get("type", INVALID), **moved})
        self._provider["adapter"] = identity
        instances = self._node.setdefault("adapters", [])
        moves[len(instances)] = self._place
        instances.append(instance)

    def _is_taken(self, name: str) -> bool:
        for place, instance in enumerate(self._node.get("adapters", ())):
            if instance is not INVALID and instance.get("name") == name:
                self._fail(
                    "id.duplicate",
                    "id",
                    f"an adapter instance is named {told(name)}, as the one that this provider's fields would become",
                    other=self._path.child("adapters").index(place).child("name"),
                )
                return True
        return False

    def _fail(self, rule: str, name: str, message: str, hint: str = "", other: Path | None = None) -> None:
        path = self._path.child("providers").index(self._place).child(name)
        self._problems.add(Problem(rule, path, message, hint, other=other))


def _by_name(instances: Iterable[Tree]) -> dict[str, Tree]:
    """Return the instances by name, the first of each."""
    names: dict[str, Tree] = {}
    for instance in instances:
        if instance.get("name").__class__ is str:
            names.setdefault(instance["name"], instance)
    return names


def name_instance(referrer: Tree, instances: Iterable[Tree]) -> None:
    """Replace a bare type name by the name of the only enabled instance of that type, in place (VAL-03, VAL-09)."""
    word = referrer.get("adapter")
    if word.__class__ is not str:
        return
    kind = _TYPES.aliases.get(word, word)
    found = [item for item in instances if known(item["enabled"]) is True and canonical_type(item) == kind]
    if len(found) == 1 and found[0].get("name").__class__ is str:
        referrer["adapter"] = found[0]["name"]


def canonical_type(tree: Tree) -> str | None:
    """Return the type of an adapter instance or a provider without aliases, or None where it is not known."""
    word = known(tree.get("type"))
    return None if word is None else _TYPES.aliases.get(word, word)


def _alias(tree: Tree) -> str | None:
    """Return the alias that a type is written as."""
    word = known(tree.get("type"))
    return word if word in _TYPES.aliases else None


def _label(node: Tree, path: Path, problems: Problems) -> None:
    """Keep, as the label of an instance without one, the alias that it or its providers are written with (NRM-03).

    Providers that are disabled count too, so that enabling one changes nothing else.
    """
    labels: dict[str, tuple[str, Path]] = {}
    for instance, alias, where in _aliases(node, path):
        if "provider" in instance and instance.get("name") not in labels:
            continue
        first = labels.setdefault(instance["name"], (alias, where))
        instance["provider"] = first[0]
        if alias != first[0]:
            message = (
                f"adapter instance {told(instance['name'])} has no label, and is {alias} here but {first[0]} elsewhere"
            )
            hint = 'set "provider" on the adapter instance'
            problems.add(Problem("adapter.label", where, message, hint, other=first[1]))


def _aliases(node: Tree, path: Path) -> Iterable[tuple[Tree, str, Path]]:
    """Yield each instance that is meant by an alias, with the alias and the path where it stands."""
    names: dict[str, Tree] = {}
    for place, instance in enumerate(node.get("adapters", ())):
        if instance is INVALID or instance.get("name").__class__ is not str:
            continue
        names.setdefault(instance["name"], instance)
        alias = _alias(instance)
        if alias is not None:
            yield instance, alias, path.child("adapters").index(place).child("type")
    for place, provider in enumerate(node.get("providers", ())):
        if provider is INVALID:
            continue
        alias = _alias(provider)
        instance = names.get(provider.get("adapter", "")) if alias is not None else None
        if alias is not None and instance is not None and canonical_type(instance) == canonical_type(provider):
            yield instance, alias, path.child("providers").index(place).child("type")


def _make_canonical(tree: Tree) -> None:
    value = tree.get("type")
    word = known(value)
    if word in _TYPES.aliases:
        canonical: Any = _TYPES.aliases[word]
        if value.__class__ is Sourced:
            canonical = Sourced(value.reference, canonical, value.base_dir)
        tree["type"] = canonical


def _fill_profile(instance: Tree) -> None:
    """Name the protocol that the type speaks unless another one is asked for (NRM-05)."""
    word = known(instance.get("type"))
    if word is not None and "protocol_profile" not in instance:
        instance["protocol_profile"] = _TYPES.words[word].profiles[0]
