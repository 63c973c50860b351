"""Gives a resolved tree the one shape that all later steps rely on (NRM).

The tree that comes in stays as it is. What is wrong does not stop the step: a field that cannot be normalized stays as
it is written.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from iop_edge.config import adapters
from iop_edge.config.marks import INVALID, Sourced
from iop_edge.config.positions import Moves
from iop_edge.config.problems import Problems, known
from iop_edge.schema import table
from iop_edge.schema.formats import has_format
from iop_edge.schema.paths import ROOT
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import Tree

_Fill = Callable[[Tree], Tree]
_Step = Callable[[Tree], None]
"""Changes a message that has been copied already, in place."""


def normalize(tree: Tree, problems: Problems) -> tuple[Tree, Moves]:
    """Return the normalized tree, and which adapter instances were made of providers' fields.

    Lists whose order means nothing keep it until `sort_unordered`, so that paths still lead to where things were
    written.
    """
    filled = _filler(table.root())(tree)
    fill_adapter = _filler(table.message("AdapterInstance"))
    moves = Moves()
    for index, node in _placed(filled, "nodes"):
        made = adapters.normalize_node(node, ROOT.child("nodes").index(index), fill_adapter, problems)
        moves.made.update({(index, instance): provider for instance, provider in made.items()})
    _name_routes(filled)
    for _, model in _placed(filled, "models"):
        _fill_targets(model)
    return filled, moves


def sort_unordered(tree: Tree) -> None:
    """Sort, in place, the lists whose order means nothing: words in the order of their enum, texts by code point."""
    _sorter(table.root())(tree)


def _placed(tree: Tree, name: str) -> Iterator[tuple[int, Tree]]:
    """Yield the messages of a list with their indexes, without what is no message."""
    items = tree.get(name)
    if items.__class__ is list:
        for index, item in enumerate(items):
            if item is not INVALID:
                yield index, item


def _name_routes(config: Tree) -> None:
    """Name the instances that routes mean by their type, but those whose name would mean others too (VAL-09)."""
    if config["openai"] is INVALID:
        return
    routes = [route for _, route in _placed(config["openai"], "model_routes")]
    if routes:
        instances = [item for _, node in _placed(config, "nodes") for _, item in _placed(node, "adapters")]
        names = Counter(instance.get("name") for instance in instances)
        unnamed = [route for route in routes if route.get("adapter") not in names]
        for route, instance in adapters.meant_by_type(unnamed, instances):
            if names[instance["name"]] == 1:
                route["adapter"] = instance["name"]


def _fill_targets(model: Tree) -> None:
    """Name the model itself as the target of the providers that have none (VAL-07)."""
    identity = model.get("id")
    if identity.__class__ is str and has_format("identifier", identity):
        for _, entry in _placed(model, "providers"):
            entry.setdefault("target", identity)


@cache
def _filler(message: Message) -> _Fill:
    """Return the function that fills in one message and all below it."""
    fields = message.fields.values()
    defaults = {field.name: field.default for field in fields if field.default is not None and not field.default_if}
    steps = [
        step for make in (_fills_singular, _drops_empty, _fills_lists, _fills_if, _lowers) for step in make(message)
    ]

    def fill(tree: Tree) -> Tree:
        filled = {**defaults, **tree}
        for step in steps:
            step(filled)
        return filled

    return fill


def _fills_singular(message: Message) -> Iterator[_Step]:
    """Make every message present."""
    below = [(field.name, _filler(field.message())) for field in message.fields.values() if field.is_message]
    # Shared by all that leave it out: nothing changes a tree once it is normalized.
    singular = [(name, fill, fill({})) for name, fill in below]

    def step(filled: Tree) -> None:
        for name, fill, empty in singular:
            value = filled.get(name)
            if value is None:
                filled[name] = empty
            elif value is not INVALID:
                filled[name] = fill(value)

    if singular:
        yield step


def _drops_empty(message: Message) -> Iterator[_Step]:
    """Leave out empty lists and maps, but where being empty is against a rule."""
    fields = message.fields.values()
    names = [field.name for field in fields if (field.repeated or field.kind is Kind.MAP) and not field.min_items]

    def step(filled: Tree) -> None:
        for name in names:
            if name in filled and not filled[name]:
                del filled[name]

    if names:
        yield step


def _fills_lists(message: Message) -> Iterator[_Step]:
    lists = [(field.name, _filler(field.message())) for field in message.fields.values() if field.is_message_list]

    def step(filled: Tree) -> None:
        for name, fill in lists:
            items = filled.get(name)
            if items.__class__ is list:
                filled[name] = [item if item is INVALID else fill(item) for item in items]

    if lists:
        yield step


def _fills_if(message: Message) -> Iterator[_Step]:
    """Give the defaults that hang on a sibling."""
    conditional = [field for field in message.fields.values() if field.default_if]

    def step(filled: Tree) -> None:
        for field in conditional:
            if field.name not in filled and known(filled.get(field.default_if)) is True:
                filled[field.name] = field.default

    if conditional:
        yield step


def _lowers(message: Message) -> Iterator[_Step]:
    """Write hashes in lower case (NRM-06)."""
    names = [field.name for field in message.fields.values() if field.format == "sha256_hex"]

    def step(filled: Tree) -> None:
        for name in names:
            if name in filled:
                filled[name] = _lower(filled[name])

    if names:
        yield step


def _lower(value: Any) -> Any:
    if value.__class__ is str:
        return value.lower()
    if value.__class__ is Sourced and value.value.__class__ is str:
        return Sourced(value.reference, value.value.lower(), value.base_dir)
    return value


@cache
def _sorter(message: Message) -> Callable[[Tree], None]:
    plain = [(field.name, _sort_key(field)) for field in message.fields.values() if field.unordered]
    below = [
        field for field in message.fields.values() if field.kind is Kind.MESSAGE and _has_unordered(field.message())
    ]
    deeper = [(field.name, _sorter(field.message()), field.repeated) for field in below]

    def sort(tree: Tree) -> None:
        for name, key in plain:
            if name in tree:
                tree[name] = sorted(tree[name], key=key)
        for name, sort_below, repeated in deeper:
            value = tree.get(name)
            if value:
                for item in value if repeated else (value,):
                    sort_below(item)

    return sort


@cache
def _has_unordered(message: Message) -> bool:
    return any(
        field.unordered or (field.kind is Kind.MESSAGE and _has_unordered(field.message()))
        for field in message.fields.values()
    )


def _sort_key(field: Field) -> Callable[[Any], tuple[bool, int, str]]:
    words = field.enum().words if field.kind is Kind.ENUM else {}

    def key(value: Any) -> tuple[bool, int, str]:
        text = known(value)
        if text is None:
            return True, 0, value.reference
        return False, words[text].number if words else 0, text

    return key
