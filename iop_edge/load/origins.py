"""Finds the file, and the path in it, that a value of a normalized config came from.

Nothing is recorded while layers merge: how they do follows from the layers, so it is traced again for the few paths
that violations need.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from iop_edge.load.layers import Layer, Part, align, children, entries
from iop_edge.load.marks import UNSET
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


class Place(NamedTuple):
    """A path in the file of a layer, by the layer's number."""

    layer: int
    path: Path


class Origins:
    """Answers where a path came from."""

    def __init__(self, layers: Sequence[Layer], moves: Moves) -> None:
        self._parts = [Part(number, layer.tree, ROOT) for number, layer in enumerate(layers)]
        self._moves = moves
        self._rows: dict[tuple[int, ...], list[list[Part]]] = {}
        self._entries: dict[tuple[int, ...], dict[str, list[Part]]] = {}

    def place(self, path: Path) -> Place:
        """Return the layer whose value won, and the path in its file.

        A path that no file has (a field that is missing) is in the first file that has the nearest parent.
        """
        path = self._moves.original(path)
        steps = path.steps()
        parts, depth, is_leaf = self._descend(steps)
        part = parts[-1] if is_leaf else parts[0]
        return Place(part.layer, _append(part.path, steps[depth:]))

    def _descend(self, steps: Sequence[Path]) -> tuple[Sequence[Part], int, bool]:
        parts: Sequence[Part] = self._parts
        below: Sequence[Part]
        message: Message | None = table.root()
        here: Field | None = None
        for depth, step in enumerate(steps):
            if message is not None:
                here = message.fields[str(step.step)]
                below = children(parts, here.name)
                removed = [] if below else _unset(parts, here.name)
                if removed:
                    return removed[-1:], depth + 1, True
                message = here.message() if here.is_message else None
            else:
                assert here is not None
                below = self._items(parts, here, step)
                message = here.message() if here.is_message_list else None
            if not below:
                return parts, depth, False
            parts = below
        return parts, len(steps), message is None

    def _items(self, parts: Sequence[Part], owner: Field, step: Path) -> Sequence[Part]:
        if owner.kind is Kind.MAP:
            return self._entry([part for part in parts if part.value.__class__ is dict], owner, str(step.step))
        lists = [part for part in parts if part.value.__class__ is list]
        index = step.step
        if not isinstance(index, int) or not lists:
            return ()
        if len(lists) > 1 and owner.is_message_list:
            rows = self._aligned(lists, owner)
            return rows[index] if index < len(rows) else ()
        last = lists[-1]
        return [Part(last.layer, last.value[index], last.path.index(index))] if index < len(last.value) else ()

    def _aligned(self, lists: Sequence[Part], owner: Field) -> list[list[Part]]:
        key = tuple(id(part.value) for part in lists)
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = align(lists, _identity(owner.type_name))
        return rows

    def _entry(self, maps: Sequence[Part], owner: Field, wanted: str) -> Sequence[Part]:
        fold = str.lower if owner.caseless_keys else str
        key = tuple(id(part.value) for part in maps)
        rows = self._entries.get(key)
        if rows is None:
            rows = self._entries[key] = {fold(str(row[-1].path.step)): row for row in entries(maps, owner)}
        return rows.get(fold(wanted), ())


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
