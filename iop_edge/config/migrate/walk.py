"""Finds the messages of a config among the nodes of its file."""

from collections.abc import Iterator
from dataclasses import dataclass

from iop_edge.config.nodes import Mapping, Node, Scalar, Sequence, items_of
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.table import Field, Kind, Message


@dataclass(frozen=True, slots=True)
class Place:
    """A mapping that is read as a message, or merged into one, at a path of the decoded tree.

    One mapping has several places where aliases bring it to several paths.
    """

    message: Message
    node: Mapping
    path: Path

    def pair(self, name: str) -> tuple[Scalar, Node] | None:
        """Return the key and the value of a field, in whatever spelling."""
        return next((pair for pair in self.node.fields if self.field(pair[0]) == name), None)

    def field(self, key: Scalar) -> str:
        """Return the name of the field that a key spells; empty where it spells none."""
        field = self.message.keys.get(key.value)
        return field.name if field else ""


def places(root: Node) -> Iterator[Place]:
    """Yield every place where a file holds a message, a message before those in it."""
    return _message(root, table.root(), ROOT)


def _message(node: Node, message: Message, path: Path) -> Iterator[Place]:
    mapping = node.target
    if not isinstance(mapping, Mapping):
        return
    yield Place(message, mapping, path)
    for key, value in mapping.fields:
        field = message.keys.get(key.value)
        if field is not None and field.kind is Kind.MESSAGE:
            yield from _field(value, field, path.child(field.name))
    for merged in mapping.merged:
        yield from _message(merged, message, path)


def _field(node: Node, field: Field, path: Path) -> Iterator[Place]:
    value = node.target
    if not field.repeated:
        yield from _message(node, field.message(), path)
    elif isinstance(value, Sequence):
        for index, item in enumerate(value.items):
            yield from _message(item, field.message(), path.index(index))
    elif isinstance(value, Mapping) and field.mapping_form is not None and field.mapping_form.name_field:
        instances = (instance for _, entry in value.fields for instance in items_of(entry))
        for index, instance in enumerate(instances):
            yield from _message(instance, field.message(), path.index(index))
