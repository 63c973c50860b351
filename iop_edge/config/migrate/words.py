"""Types by their aliases, and references by a type's bare name, as normalizing reads them (NRM-03, VAL-03, VAL-09)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from iop_edge.config.marks import INVALID
from iop_edge.config.migrate.edits import Change, Edit, added_behind
from iop_edge.config.migrate.meaning import Meaning
from iop_edge.config.migrate.walk import Place, places
from iop_edge.config.nodes import Document, Node, Scalar
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.values import ReadTree

_TYPES: Final = table.enum("AdapterType")


def name_instances(root: Node, meaning: Meaning) -> Iterator[Change]:
    """Yield what puts the name of an adapter instance where its type stands for it."""
    for place in places(root):
        for name, field in place.message.fields.items():
            pair = place.pair(name) if field.refers_to and field.is_scalar else None
            if pair is None:
                continue
            written, meant = (_at(tree, place.path).get(name) for tree in (meaning.written, meaning.normalized))
            if isinstance(written, str) and isinstance(meant, str) and written != meant:
                edits = _replaced(pair[1], meant)
                yield Change(edits, place.path.child(name), f"the reference {written}")


def resolve_aliases(root: Node, text: Document, meaning: Meaning) -> Iterator[Change]:
    """Yield what writes the types of an adapter instance and of its providers without aliases.

    What the alias says of the service becomes the label of the instance, so that the Node is told the same. A provider
    whose instance stands in another file keeps its alias: nobody can tell here whether that one has a label.
    """
    if "adapter.label" in meaning.broken:
        return
    where: dict[Path, list[Place]] = {}
    for place in places(root):
        where.setdefault(place.path, []).append(place)
    nodes = meaning.written.get("nodes", ())
    for index, written in enumerate(nodes if nodes is not INVALID else ()):
        if written is not INVALID:
            path = ROOT.child("nodes").index(index)
            yield from _Aliases(path, written, _at(meaning.normalized, path), where, text).changes(
                {instance: provider for (node, instance), provider in meaning.moves.made.items() if node == index}
            )


class _Aliases:
    """The aliases on one Node."""

    def __init__(
        self, path: Path, written: ReadTree, meant: ReadTree, where: Mapping[Path, list[Place]], text: Document
    ) -> None:
        self._path = path
        self._written = written
        self._meant = meant
        self._where = where
        self._text = text

    def changes(self, moved: Mapping[int, int]) -> Iterator[Change]:
        """Yield one change for each instance; `moved` has the provider that an instance is written as."""
        instances, providers = (self._meant.get(name, ()) for name in ("adapters", "providers"))
        if INVALID in (instances, providers):
            return
        running = _running(providers)
        for number, instance in enumerate(instances):
            if instance is INVALID:
                continue
            own = ("providers", moved[number]) if number in moved else ("adapters", number)
            users = [("providers", place) for place in running.get(_key(instance, "name"), ())]
            aliased = [item for item in dict.fromkeys([own, *users]) if self._alias(*item)]
            if aliased:
                edits = [edit for item in aliased for edit in self._canonical(*item)]
                edits += self._labelled(instance, *own)
                yield Change(
                    tuple(edits), self._path_of(*aliased[0]).child("type"), f"the type {self._alias(*aliased[0])}"
                )

    def _path_of(self, name: str, index: int) -> Path:
        return self._path.child(name).index(index)

    def _item(self, name: str, index: int) -> ReadTree:
        item = self._written[name][index]
        return {} if item is INVALID else item

    def _alias(self, name: str, index: int) -> str:
        word = self._item(name, index).get("type")
        return word if isinstance(word, str) and word in _TYPES.aliases else ""

    def _canonical(self, name: str, index: int) -> Iterator[Edit]:
        for place in self._where.get(self._path_of(name, index), ()):
            pair = place.pair("type")
            if pair is not None:
                yield from _replaced(pair[1], _TYPES.aliases[self._alias(name, index)])

    def _labelled(self, instance: ReadTree, name: str, index: int) -> Iterator[Edit]:
        label = instance.get("provider")
        if label is None or "provider" in self._item(name, index):
            return
        for place in self._where.get(self._path_of(name, index), ())[:1]:
            pair = place.pair("type")
            if pair is not None:
                yield added_behind(pair[1], place.node, [f"provider: {label}"], self._text)


def _running(providers: Sequence[Any]) -> Mapping[tuple[Any, Any], list[int]]:
    """Return the places of the providers that run on an instance, by its name and type."""
    running: dict[tuple[Any, Any], list[int]] = {}
    for place, provider in enumerate(providers):
        key = _key(provider, "adapter") if provider is not INVALID else (None, None)
        if None not in key:
            running.setdefault(key, []).append(place)
    return running


def _key(tree: ReadTree, name: str) -> tuple[Any, Any]:
    return tree.get(name), tree.get("type")


def _replaced(value: Node, word: str) -> tuple[Edit, ...]:
    """Return the edit that puts a word in the place of a scalar; nothing where it is an alias or has an anchor."""
    return (Edit(value.start, value.stop, word),) if isinstance(value, Scalar) and value.is_bare else ()


def _at(tree: ReadTree, path: Path) -> ReadTree:
    """Return the message at a path, or an empty one where there is none."""
    value: Any = tree
    for step in path.steps():
        try:
            value = value[step.step]
        except (KeyError, IndexError, TypeError):
            return {}
    return value if isinstance(value, dict) else {}
