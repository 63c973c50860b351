"""Normalizes what ties providers to the adapter instances of their Node (NRM-02, NRM-03, NRM-05, VAL-03)."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from iop_edge.config.marks import INVALID, Sourced
from iop_edge.config.problems import Problem, Problems, known, told
from iop_edge.rules import Rule
from iop_edge.schema import table
from iop_edge.schema.formats import has_format
from iop_edge.schema.paths import Path
from iop_edge.schema.values import ReadTree, Tree

FillAdapter = Callable[[Tree], Tree]
"""Gives an adapter instance its defaults."""

_Referrer = TypeVar("_Referrer", bound=ReadTree)
_Instance = TypeVar("_Instance", bound=ReadTree)

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
        for tree in (*_messages(node, "adapters"), *_messages(node, "providers")):
            _make_canonical(tree)
        return {}
    providers = [(place, item) for place, item in enumerate(node.get("providers", ())) if item is not INVALID]
    moves = _move_shorthands(node, path, providers, fill_adapter, problems)
    instances = [item for item in node.get("adapters", ()) if item is not INVALID]
    names = {instance.get("name") for instance in instances}
    unnamed = [item for _, item in providers if item.get("adapter") not in names]
    for provider, instance in meant_by_type(unnamed, instances):
        provider["adapter"] = instance["name"]
    aliased = [tree for tree in (*instances, *(item for _, item in providers)) if tree.get("type") in _TYPES.aliases]
    if aliased:
        _label(node, path, problems)
    for tree in aliased:
        _make_canonical(tree)
    for instance in instances:
        _fill_profile(instance)
    return moves


def _messages(node: Tree, name: str) -> list[Tree]:
    """Return the messages of a list that may be invalid itself."""
    items = node.get(name)
    return [item for item in items if item is not INVALID] if items.__class__ is list else []


def _move_shorthands(
    node: Tree, path: Path, providers: list[tuple[int, Tree]], fill_adapter: FillAdapter, problems: Problems
) -> dict[int, int]:
    own = [(place, item) for place, item in providers if not _SHORTHANDS.isdisjoint(item)]
    moves: dict[int, int] = {}
    if own:
        mover = _Shorthands(node, path, problems)
        for place, provider in own:
            mover.move(provider, place, fill_adapter, moves)
    return moves


class _Shorthands:
    """Makes adapter instances of the providers of a Node that describe their backend themselves (NRM-02)."""

    def __init__(self, node: Tree, path: Path, problems: Problems) -> None:
        self._node = node
        self._path = path
        self._problems = problems
        self._taken: dict[Any, int] = {}
        for place, instance in enumerate(node.get("adapters", ())):
            if instance is not INVALID:
                self._taken.setdefault(instance.get("name"), place)

    def move(self, provider: Tree, place: int, fill_adapter: FillAdapter, moves: dict[int, int]) -> None:
        """Move the fields to a new instance; where that cannot be, they stay, and so do their positions."""
        path = self._path.child("providers").index(place)
        written = [name for name in provider if name in _SHORTHANDS]
        if provider.get("adapter") is INVALID:
            return
        if "adapter" in provider:
            message = f'{", ".join(map(told, written))} beside "adapter"'
            hint = 'set this on the adapter instance, or leave "adapter" out'
            self._problems.add(Problem(Rule.PROVIDER_SHORTHAND, path.child(written[0]), message, hint))
            return
        identity = provider.get("id")
        if not self._can_name(identity, path, moves) or not self._can_have_a_backend(provider, path, written[0]):
            # The reason is reported; that the provider has no adapter now is not another one.
            provider["adapter"] = INVALID
            return
        moved = {name: provider.pop(name) for name in written}
        provider["adapter"] = identity
        instances = self._node.setdefault("adapters", [])
        self._taken[identity] = len(instances)
        moves[len(instances)] = place
        instances.append(fill_adapter({"name": identity, "type": provider.get("type", INVALID), **moved}))

    def _can_name(self, identity: Any, path: Path, moves: dict[int, int]) -> bool:
        """Tell whether a provider's id can be the name of an instance; what validation will not find is reported."""
        if identity.__class__ is not str or not has_format("identifier", identity):
            return False
        place = self._taken.get(identity)
        if place is None:
            return True
        if place not in moves:
            message = (
                f"an adapter instance is already named {told(identity)}; this provider's own would get the same name"
            )
            other = self._path.child("adapters").index(place).child("name")
            self._problems.add(Problem(Rule.ID_DUPLICATE, path.child("id"), message, other=other))
        return False

    def _can_have_a_backend(self, provider: Tree, path: Path, name: str) -> bool:
        """Tell whether a provider can give an instance of its type all that it needs."""
        word = canonical_type(provider)
        needed = [] if word is None else [each for each in _TYPES.words[word].requires if each not in _SHORTHANDS]
        if needed:
            message = f'a provider of type {word} has no "{needed[0]}" of its own'
            hint = f'give the Node an adapter instance of type {word}, and name it in "adapter"'
            self._problems.add(Problem(Rule.PROVIDER_SHORTHAND, path.child(name), message, hint))
        return not needed


def meant_by_type(
    referrers: Iterable[_Referrer], instances: Iterable[_Instance]
) -> Iterator[tuple[_Referrer, _Instance]]:
    """Yield what names an adapter instance by its bare type, and the only enabled one of it (VAL-03, VAL-09)."""
    enabled: dict[str | None, list[_Instance]] = {}
    for referrer in referrers:
        word = referrer.get("adapter")
        if word.__class__ is not str:
            continue
        if not enabled:
            for instance in instances:
                if known(instance["enabled"]) is True:
                    enabled.setdefault(canonical_type(instance), []).append(instance)
        found = enabled.get(_TYPES.aliases.get(word, word), ())
        if len(found) == 1 and found[0].get("name").__class__ is str:
            yield referrer, found[0]


def canonical_type(tree: ReadTree) -> str | None:
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
            problems.add(Problem(Rule.ADAPTER_LABEL, where, message, hint, other=first[1]))


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
