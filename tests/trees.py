"""Normalized trees made from the field table, so that a new field is in every test that walks the schema."""

from collections.abc import Iterator
from typing import Any

from iop_edge.config.marks import UNRESOLVED, Sourced
from iop_edge.config.snapshot import Snapshot
from iop_edge.schema import table
from iop_edge.schema.paths import schema_names
from iop_edge.schema.values import Reference, References, ReferenceTree, Tree, entries


def snapshot(tree: Tree) -> Snapshot:
    """A snapshot of a tree, in which `Sourced` stands for a value that came from a reference."""
    values, references = apart(tree, table.root())
    return Snapshot(values, References(references), is_offline=any(value is UNRESOLVED for value in _sources(tree)))


def apart(tree: Tree, message: table.Message) -> tuple[Tree, ReferenceTree]:
    """The values of a tree, and the references that they came from."""
    both = {name: _apart(value, message.fields[name]) for name, value in tree.items()}
    references: dict[str | int, Any] = {name: found for name, (_, found) in both.items() if found}
    return {name: value for name, (value, _) in both.items()}, references


def _apart(value: Any, field: table.Field) -> tuple[Any, Any]:
    if isinstance(value, Sourced):
        return value.plain(), Reference(value.reference, value.base_dir)
    if field.is_message:
        return apart(value, field.message())
    if not isinstance(value, list | dict):
        return value, {}
    both = {
        step: apart(item, field.message()) if field.kind is table.Kind.MESSAGE else _apart(item, field)
        for step, item in entries(field, value).items()
    }
    values = {step: item for step, (item, _) in both.items()}
    found = {step: references for step, (_, references) in both.items() if references}
    return (list(values.values()) if isinstance(value, list) else values), found


def _sources(value: Any) -> Iterator[object]:
    if isinstance(value, Sourced):
        yield value.value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _sources(item)


def full_tree(message: table.Message | None = None) -> Tree:
    """A tree in which every field is set that a normalized config can hold; every list and map has one entry."""
    message = table.root() if message is None else message
    return {name: full_value(field, "old") for name, field in message.fields.items() if not field.shorthand_for}


def full_value(field: table.Field, mark: str) -> Any:
    """A value of the field's type; for a scalar, one that differs with the mark."""
    if field.kind is table.Kind.MESSAGE:
        tree = full_tree(field.message())
        return [tree] if field.repeated else tree
    if field.kind is table.Kind.MAP:
        return {"entry": f"{field.name}-{mark}"}
    value = _scalar(field, mark)
    return [value] if field.repeated else value


def _scalar(field: table.Field, mark: str) -> Any:
    if field.kind is table.Kind.BOOL:
        return mark == "old"
    if field.kind is table.Kind.ENUM:
        words = list(field.enum().words)
        return words[0] if mark == "old" else words[-1]
    if field.kind.is_integer:
        return 1 if mark == "old" else 2
    return f"{field.name}-{mark}"


def holder(tree: Tree, pattern: str) -> Tree:
    """The message that holds the leaf of a pattern, in the first item of each list on the way."""
    message, here = table.root(), tree
    for name in schema_names(pattern)[:-1]:
        field = message.fields[name]
        message = field.message()
        here = here[name][0] if field.repeated else here[name]
    return here


def items(tree: Tree, message: table.Message | None = None) -> Iterator[tuple[table.Field, list[Any]]]:
    """Every list of messages in a tree, with its field."""
    message = table.root() if message is None else message
    for name, value in tree.items():
        field = message.fields[name]
        if field.is_message_list:
            yield field, value
            for item in value:
                yield from items(item, field.message())
        elif field.is_message:
            yield from items(value, field.message())


def normal(message: str, **given: Any) -> Tree:
    """A message as normalizing leaves it: what is given, the defaults of the rest, and every message in it."""
    tree: Tree = {}
    for name, field in table.message(message).fields.items():
        if name in given:
            tree[name] = given[name]
        elif field.is_message:
            tree[name] = normal(field.type_name)
        elif field.default is not None and not field.default_if:
            tree[name] = field.default
    return tree


def adapter(name: str, type_: str = "vllm", **given: Any) -> Tree:
    """An adapter instance."""
    return normal("AdapterInstance", name=name, type=type_, **given)


def provider(id_: str, **given: Any) -> Tree:
    """A provider of one model on the adapter instance `main`."""
    fields = {"type": "vllm", "category": "local_inference", "adapter": "main", "models": ["m"], **given}
    return normal("Provider", id=id_, **fields)


def node(id_: str, *providers: Tree, **given: Any) -> Tree:
    """A Node with an adapter instance `main`."""
    fields = {
        "address": f"{id_}.test:7501",
        "adapters": [adapter("main", base_url="http://127.0.0.1:8000/v1")],
        **given,
    }
    return normal("Node", id=id_, **fields, **({"providers": list(providers)} if providers else {}))


def model(id_: str, *providers: str, **given: Any) -> Tree:
    """A model group on the providers of these ids."""
    return normal("Model", id=id_, providers=[{"id": provider_id, "target": "m"} for provider_id in providers], **given)


def edge(*nodes: Tree, **given: Any) -> Tree:
    """A whole config."""
    return normal("EdgeConfig", edge={"id": "e"}, **({"nodes": list(nodes)} if nodes else {}), **given)
