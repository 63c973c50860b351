"""Finds the file, and the path in it, that a value of a normalized config came from.

Nothing is recorded while layers merge: how they do follows from the layers, so it is traced again for the few paths
that violations need.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from iop_edge.config.layers import Layer, Part, align, children, entries
from iop_edge.config.marks import UNSET
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
    """Answers where a path came from. What many paths go through is traced once: there may be thousands of layers."""

    def __init__(self, layers: Sequence[Layer], moves: Moves) -> None:
        self._parts = [Part(number, layer.tree, ROOT) for number, layer in enumerate(layers)]
        self._moves = moves
        self._children: dict[Path, Sequence[Part]] = {}
        self._lists: dict[Path | None, Sequence[Sequence[Part]]] = {}
        self._maps: dict[Path | None, dict[str, list[Part]]] = {}

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
        fold = str.lower if owner.caseless_keys else str
        rows = self._maps.get(step.parent)
        if rows is None:
            found = entries([part for part in parts if part.value.__class__ is dict], owner)
            rows = self._maps[step.parent] = {fold(str(row[-1].path.step)): row for row in found}
        return rows.get(fold(str(step.step)), ())


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
