"""Merges layers of config into one tree (CFG-05).

Messages and maps merge by key, lists of things with an identity merge by it, and all else is replaced by the later
layer. The trees that come in stay as they are: what only one layer has is shared with it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from iop_edge.config.marks import INVALID, UNSET, fill_gaps
from iop_edge.config.problems import Problem, Problems
from iop_edge.rules import Rule
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import Tree


class Layer(NamedTuple):
    """The tree of one file. In a private layer, `UNSET` removes what the layers before it have set."""

    tree: Tree
    private: bool = False


class Part(NamedTuple):
    """What one layer, by its number, has for one place: a value, and its path in that layer's file."""

    layer: int
    value: Any
    path: Path


def merge(layers: Sequence[Layer], message: Message, problems: Problems) -> Tree:
    """Return the layers as one tree without `UNSET`; a scalar that tracked layers set differently is a problem."""
    parts = [Part(number, layer.tree, ROOT) for number, layer in enumerate(layers)]
    private = frozenset(number for number, layer in enumerate(layers) if layer.private)
    return _Merger(private, problems).message(parts, message)


def effective(parts: Iterable[Part]) -> list[Part]:
    """Return the parts that count: those after the last one that unsets the place."""
    counting: list[Part] = []
    for part in parts:
        if part.value is UNSET:
            counting.clear()
        else:
            counting.append(part)
    return counting


def children(parts: Sequence[Part], name: str) -> list[Part]:
    """Return what the parts, all of one message, have for one of its fields."""
    return effective(
        Part(part.layer, part.value[name], part.path.child(name))
        for part in parts
        if part.value.__class__ is dict and name in part.value
    )


def entries(parts: Sequence[Part], field: Field) -> list[list[Part]]:
    """Return the entries of a map: for each key, what the parts have for it."""
    rows: dict[str, list[Part]] = {}
    for part in parts:
        for key, value in part.value.items():
            row = rows.setdefault(field.folded(key), [])
            row.append(Part(part.layer, value, part.path.key(key)))
    return [counting for row in rows.values() if (counting := effective(row))]


def align(parts: Sequence[Part], identity: str) -> list[list[Part]]:
    """Return the items of a list: for each, what the parts have for its identity, in the order of first sight.

    An item without a usable identity stands alone, and so does the second one of an identity in one file: validation
    finds both.
    """
    rows: list[list[Part]] = []
    by_identity: dict[str, list[Part]] = {}
    for part in parts:
        seen: set[str] = set()
        for index, item in enumerate(part.value):
            entry = Part(part.layer, item, part.path.index(index))
            key = item.get(identity) if item.__class__ is dict else None
            if key.__class__ is not str or key in seen:
                rows.append([entry])
                continue
            seen.add(key)
            row = by_identity.get(key)
            if row is None:
                row = by_identity[key] = []
                rows.append(row)
            row.append(entry)
    return rows


class _Merger:
    def __init__(self, private: frozenset[int], problems: Problems) -> None:
        self._private = private
        self._problems = problems

    def message(self, parts: Sequence[Part], message: Message) -> Tree:
        if len(parts) == 1 and parts[0].layer not in self._private:
            tree: Tree = parts[0].value
            return tree
        merged: Tree = {}
        for name in dict.fromkeys(name for part in parts for name in part.value):
            counting = children(parts, name)
            if counting:
                merged[name] = self._field(counting, message.fields[name])
        return merged

    def _field(self, parts: Sequence[Part], field: Field) -> Any:
        if field.kind is Kind.MAP or field.kind is Kind.MESSAGE:
            if any(part.value is INVALID for part in parts):
                return INVALID
            return self._container(parts, field)
        return parts[-1].value if field.repeated else self._scalar(parts, field)

    def _container(self, parts: Sequence[Part], field: Field) -> Any:
        if field.kind is Kind.MAP:
            rows = entries(parts, field)
            return {row[-1].path.step: self._scalar(row, field) for row in rows}
        message = field.message()
        if not field.repeated:
            return self.message(parts, message)
        if message.identity is None:
            return parts[-1].value
        return self._items(align(parts, message.identity.name), message, message.identity.name)

    def _items(self, rows: Iterable[Sequence[Part]], message: Message, identity: str) -> list[Any]:
        items: list[Any] = []
        seen: set[str] = set()
        for row in rows:
            item = INVALID if row[0].value is INVALID else self.message(row, message)
            key = item.get(identity) if item is not INVALID else None
            if key.__class__ is str:
                if key in seen:
                    # That its identity is taken is the fault; what the layers below say of it is not missing here.
                    item = dict(item)
                    fill_gaps(item, message)
                seen.add(key)
            items.append(item)
        return items

    def _scalar(self, parts: Sequence[Part], field: Field) -> Any:
        tracked = [part for part in parts if part.layer not in self._private and part.value is not INVALID]
        for part in tracked[1:]:
            if not _is_same(part.value, tracked[0].value, field):
                self._conflict(tracked[0], part)
        return parts[-1].value

    def _conflict(self, first: Part, second: Part) -> None:
        problem = Problem(
            rule=Rule.LAYER_CONFLICT,
            path=second.path,
            message="two tracked files set this differently",
            hint="set it in one of them, or in a private overlay",
            layer=second.layer,
            other=first.path,
            other_layer=first.layer,
        )
        self._problems.add(problem)


def _is_same(one: Any, other: Any, field: Field) -> bool:
    """Tell whether two values of a field are one; the case of a hash means nothing (NRM-06)."""
    if field.format == "sha256_hex" and one.__class__ is other.__class__ is str:
        return bool(one.lower() == other.lower())
    return bool(one == other)
