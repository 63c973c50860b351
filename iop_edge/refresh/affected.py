"""Which items of the config a set of differences touches (REF-06)."""

from collections.abc import Iterable, Iterator

from iop_edge.refresh.diff import Difference
from iop_edge.schema import table
from iop_edge.schema.values import ReadTree


def affected(differences: Iterable[Difference], type_name: str) -> tuple[str, ...]:
    """Return the sorted identities of the messages of a type with a change in them.

    A message that came or went with the one that holds it counts too.
    """
    found: set[str] = set()
    for difference in differences:
        found.update(_on_the_way(difference, type_name))
        if difference.field.is_message_list:
            for item in (difference.before, difference.after):
                found.update(_inside(difference.field.message(), item or {}, type_name))
    return tuple(sorted(found))


def _on_the_way(difference: Difference, type_name: str) -> Iterator[str]:
    message, field = table.root(), None
    for path in difference.path.steps():
        if path.is_key:
            if field is not None and field.type_name == type_name:
                yield str(path.step)
            continue
        field = message.fields[str(path.step)]
        if field.kind is table.Kind.MESSAGE:
            message = field.message()


def _inside(message: table.Message, tree: ReadTree, type_name: str) -> Iterator[str]:
    for name, value in tree.items():
        field = message.fields[name]
        if field.kind is not table.Kind.MESSAGE:
            continue
        inner = field.message()
        for item in value if field.repeated else (value,):
            if field.type_name == type_name and inner.identity is not None:
                yield item[inner.identity.name]
            yield from _inside(inner, item, type_name)
