"""Finds where a value of a normalized config was written: its file, the path in that file, and the line and column.

Nothing of this is recorded during a load, since almost every load needs none of it. It follows from the layers and the
nodes of their files, so it is traced for the few paths that violations need.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from iop_edge.config.layers import Layer, Part, align, children, entries
from iop_edge.config.marks import UNSET
from iop_edge.config.nodes import MAPPING, SCALAR, SEQUENCE, TAGGED, Document, Node
from iop_edge.config.roles import Role
from iop_edge.errors import Span
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.table import Field, Kind, Message


@dataclass(slots=True)
class Moves:
    """Adapter instances that normalizing made of a provider's own fields: (node, instance) -> provider, by indexes."""

    made: dict[tuple[int, int], int] = field(default_factory=dict)

    def original(self, path: Path) -> Path:
        """Return the path before the move of what stands at a path after it."""
        steps = [step.step for step in path.steps()]
        if len(steps) < 4 or (steps[0], steps[2]) != ("nodes", "adapters"):
            return path
        node, instance = steps[1], steps[3]
        if not isinstance(node, int) or not isinstance(instance, int):
            return path
        provider = self.made.get((node, instance))
        if provider is None:
            return path
        start = ROOT.child("nodes").index(node).child("providers").index(provider)
        if steps[4:] == [_identity("AdapterInstance")]:
            return start.child(_identity("Provider"))
        return _append(start, path.steps()[4:])


class Origin(NamedTuple):
    """A path in the file of a layer, by the layer's number."""

    layer: int
    path: Path


class Origins:
    """Traces the layers and paths that values came from. What paths share is traced once: there may be many layers."""

    def __init__(self, layers: Sequence[Layer], moves: Moves) -> None:
        self._parts = [Part(number, layer.tree, ROOT) for number, layer in enumerate(layers)]
        self._moves = moves
        self._children: dict[Path, Sequence[Part]] = {}
        self._lists: dict[Path | None, Sequence[Sequence[Part]]] = {}
        self._maps: dict[Path | None, dict[str, list[Part]]] = {}

    def of(self, path: Path) -> Origin:
        """Return the layer whose value won, and the path in its file.

        A path that no file has (a field that is missing) is in the first file that has the nearest parent.
        """
        path = self._moves.original(path)
        steps = path.steps()
        parts, depth, is_leaf = self._descend(steps)
        part = parts[-1] if is_leaf else parts[0]
        return Origin(part.layer, _append(part.path, steps[depth:]))

    def _descend(self, steps: Sequence[Path]) -> tuple[Sequence[Part], int, bool]:
        parts: Sequence[Part] = self._parts
        below: Sequence[Part]
        message: Message | None = table.root()
        here: Field | None = None
        for depth, step in enumerate(steps):
            if message is not None:
                here = message.fields[str(step.step)]
                below = self._of_field(parts, here, step)
                removed = [] if below else _unset(parts, here.name)
                if removed:
                    return removed[-1:], depth + 1, True
                message = here.message() if here.is_message else None
            else:
                assert here is not None
                below = self._of_map(parts, here, step) if here.kind is Kind.MAP else self._of_list(parts, here, step)
                message = here.message() if here.is_message_list else None
            if not below:
                return parts, depth, False
            parts = below
        return parts, len(steps), message is None

    def _of_field(self, parts: Sequence[Part], field: Field, step: Path) -> Sequence[Part]:
        known = self._children.get(step)
        if known is None:
            known = self._children[step] = children(parts, field.name)
        return known

    def _of_list(self, parts: Sequence[Part], owner: Field, step: Path) -> Sequence[Part]:
        """Return what the parts, all of one list, have for an item of it."""
        rows = self._lists.get(step.parent)
        if rows is None:
            rows = self._lists[step.parent] = _rows([part for part in parts if part.value.__class__ is list], owner)
        return rows[step.step] if isinstance(step.step, int) and step.step < len(rows) else ()

    def _of_map(self, parts: Sequence[Part], owner: Field, step: Path) -> Sequence[Part]:
        """Return what the parts, all of one map, have for a key of it."""
        rows = self._maps.get(step.parent)
        if rows is None:
            found = entries([part for part in parts if part.value.__class__ is dict], owner)
            rows = self._maps[step.parent] = {owner.folded(str(row[-1].path.step)): row for row in found}
        return rows.get(owner.folded(str(step.step)), ())


class _Found(NamedTuple):
    """What a path leads to: a node, aliases followed, as what it is read, and where its value and its key begin.

    `given` has the fields of an item that stand elsewhere, as the key of a mapping form does.
    """

    node: Node | None
    value: int
    key: int
    role: Role | None = None
    given: Mapping[str, "_Found | None"] = MappingProxyType({})


class Positions:
    """Finds the positions of values and keys in one file. What paths share is looked up once."""

    def __init__(self, document: Document, name: str) -> None:
        self._document = document
        self._name = name
        start = document.starts[0] if document.starts else 0
        self._root = _Found(0 if document.starts else None, start, start, Role("config"))
        self._found: dict[Path, _Found | None] = {ROOT: self._root}
        self._items: dict[tuple[Node, Role], Sequence[_Found | None]] = {}
        self._pairs: dict[tuple[Node, Message | None], Mapping[str, tuple[Node, Node]]] = {}

    def of_value(self, path: Path) -> Span:
        """Return where a value begins; for one that is not there, where the nearest value around it does."""
        return self._span(self._nearest(path).value)

    def of_key(self, path: Path) -> Span:
        """Return where the key of a field or of a map's value stands; for an item of a list, where the item begins."""
        return self._span(self._nearest(path).key)

    def _span(self, offset: int) -> Span:
        return Span(self._name, self._document.line(offset) + 1, self._document.column(offset) + 1)

    def _nearest(self, path: Path) -> _Found:
        found = self._find(path)
        while found is None and path.parent is not None:
            path = path.parent
            found = self._find(path)
        return found or self._root

    def _find(self, path: Path) -> _Found | None:
        if path not in self._found:
            above = self._find(path.parent or ROOT)
            self._found[path] = above and self._below(above, path)
        return self._found[path]

    def _below(self, found: _Found, path: Path) -> _Found | None:
        """Return what a step leads to, in whatever form it is written."""
        node, role, step = found.node, found.role, path.step
        if step in found.given:
            return found.given[str(step)]
        if node is None or role is None:
            return None
        if isinstance(step, int):
            items = self._items_of(node, role)
            return items[step] if step < len(items) else None
        if role.message is not None and self._document.has(node, SCALAR):
            return _Found(None, found.value, found.value) if step == role.message.scalar_form else None
        key, value = self._pairs_of(node, role.message).get(step, (None, None))
        if key is None or value is None:
            return None
        return self._at(value, role.below_key(self._document.values[key]), self._document.starts[key])

    def _pairs_of(self, node: Node, message: Message | None) -> Mapping[str, tuple[Node, Node]]:
        """Return the keys and values of a mapping, merged ones too, by the names of fields where it is a message."""
        pairs = self._pairs.get((node, message))
        if pairs is None:
            pairs = self._pairs[node, message] = {}
            document = self._document
            for mapping in document.with_merged(node) if document.has(node, MAPPING) else ():
                for key, value in document.fields(mapping):
                    name = document.values[key]
                    field = message.keys.get(name) if message else None
                    pairs.setdefault(field.name if field else name, (key, value))
        return pairs

    def _items_of(self, node: Node, role: Role) -> Sequence[_Found | None]:
        items = self._items.get((node, role))
        if items is None:
            items = self._items[node, role] = list(self._each_item(node, role))
        return items

    def _each_item(self, node: Node, role: Role) -> Iterator[_Found | None]:
        """Yield the items of a list, which may be written as a mapping (NRM-01, NRM-08)."""
        document = self._document
        form = role.field.mapping_form if role.field else None
        if document.has(node, SEQUENCE):
            yield from (self._at(item, role.of_item()) for item in document.children(node))
        elif form is not None:
            for key, value in self._pairs_of(node, None).values():
                at_key = _Found(None, document.starts[key], document.starts[key])
                if form.value_field:
                    yield at_key._replace(given={form.key_field: at_key, form.value_field: self._at(value, None)})
                    continue
                instances = [self._at(item, role.below_key("")) for item in document.items(value)]
                for item in instances:
                    given = {form.key_field: at_key}
                    if len(instances) == 1 and item and not self._names(item, form.name_field):
                        given[form.name_field] = at_key
                    yield item and item._replace(given=given)

    def _names(self, item: _Found, name: str) -> bool:
        """Tell whether an item has a name of its own."""
        message = item.role.message if item.role else None
        return item.node is not None and name in self._pairs_of(item.node, message)

    def _at(self, node: Node, role: Role | None, key: int | None = None) -> _Found | None:
        """Return a node in a role, whose key may stand somewhere; None for an alias of nothing."""
        target = self._document.target(node)
        if target is None:
            return None
        start = self._document.starts[target]
        is_read = not self._document.has(target, TAGGED)
        return _Found(target, start, start if key is None else key, role if is_read else None)


def _rows(lists: Sequence[Part], owner: Field) -> Sequence[Sequence[Part]]:
    """Return the items of a list, as they merge: for each, what the parts have for it."""
    if len(lists) > 1 and owner.is_message_list:
        return align(lists, _identity(owner.type_name))
    return [
        [Part(last.layer, item, last.path.index(index))] for last in lists[-1:] for index, item in enumerate(last.value)
    ]


def _unset(parts: Sequence[Part], name: str) -> list[Part]:
    """Return where a field is unset."""
    messages = [part for part in parts if part.value.__class__ is dict]
    return [Part(p.layer, UNSET, p.path.child(name)) for p in messages if p.value.get(name) is UNSET]


def _append(path: Path, steps: Sequence[Path]) -> Path:
    for step in steps:
        path = Path(path, step.step, step.is_key)
    return path


def _identity(message: str) -> str:
    identity = table.message(message).identity
    assert identity is not None
    return identity.name
